import math
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainNetwork
from strategies import networks, small_rationals

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ReluNetwork,
    Status,
    Steps,
    Table,
)

SLOPE = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)  # the identity


@st.composite
def small_models(draw):
    """A model of up to ten features, as our own and as plain functions with their worst values."""
    count = draw(st.integers(1, 10))
    kinds = [draw(st.sampled_from(["network", "integers", "steps", "points", "copy"])) for _ in range(count)]
    shapes, features, plain = [], [], []
    radius = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(0)]))
    for i, kind in enumerate(kinds):
        x = draw(st.sampled_from([Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2)]))
        if kind == "copy" and i:
            shapes.append(shapes[-1])
            features.append(Feature(f"f{i}", features[-1].domain, features[-1].center, features[-1].scale))
            plain.append(plain[-1])
            continue
        domain, center, scale = Domain.reals(), draw(small_rationals), draw(small_rationals.filter(bool))
        if kind in ("network", "copy"):
            weights, biases, activations, skips = draw(networks(outputs=1))
            shape, network = (
                ReluNetwork(weights, biases, activations, skips),
                PlainNetwork(weights, biases, activations, skips),
            )
            ends = sorted([(x - radius - center) / scale, (x + radius - center) / scale])
            worst = [ends[0], *network.corners(*ends), ends[1]]
            values = [network(z)[0] for z in worst]
            here = network((x - center) / scale)[0]
        else:
            center, scale = Fraction(0), Fraction(1)
            slope, jump = draw(small_rationals), draw(small_rationals)
            shape = SLOPE * slope + Steps([Fraction(1, 3)], [0, jump])

            def line(z, slope=slope, jump=jump):
                return slope * z + (jump if z >= Fraction(1, 3) else 0)

            x = Fraction(math.floor(x)) if kind == "integers" else x
            if kind == "integers":
                domain = Domain.integers()
                places = [Fraction(n) for n in range(math.ceil(x - radius), math.floor(x + radius) + 1)]
            elif kind == "points":
                every = {x, *draw(st.sets(small_rationals, max_size=4))}
                domain = Domain.points(*every)
                places = [p for p in every if abs(p - x) <= radius]
            else:
                shape, domain = Steps([Fraction(1, 3)], [slope, jump]), Domain.reals()
                line = lambda z, a=slope, b=jump: b if z >= Fraction(1, 3) else a  # noqa: E731
                places = [x - radius, x + radius, x]
            values, here = [line(p) for p in places], line(x)
        shapes.append(shape)
        features.append(Feature(f"f{i}", domain, center, scale))
        plain.append((x, here, min(values), max(values)))
    intercept = draw(small_rationals)
    if draw(st.booleans()):  # a row exactly on the boundary
        intercept = -sum((here for _, here, _, _ in plain), Fraction(0))
    ties = draw(st.sampled_from(["positive", "negative"]))
    model = AdditiveModel(shapes, intercept, "binary", features, ties=ties)
    return model, [x for x, *_ in plain], radius, intercept, plain, ties


@settings(max_examples=250)
@given(small_models())
def test_the_explanation_is_what_trying_all_sets_finds(case):
    model, x, radius, intercept, plain, ties = case
    explainer = Explainer(model)
    why = explainer.explain(x, radius=radius)
    score = intercept + sum(here for _, here, _, _ in plain)
    is_positive = score > 0 or (score == 0 and ties == "positive")
    drops = [here - low if is_positive else high - here for _, here, low, high in plain]

    def suffices(fixed):
        lowest = abs(score) - sum(drop for i, drop in enumerate(drops) if i not in fixed)
        keeps_zero = is_positive == (ties == "positive")
        return lowest >= 0 if keeps_zero else lowest > 0

    names, features = model.names, range(len(drops))
    sizes = [size for size in range(len(drops) + 1) if any(suffices(fixed) for fixed in combinations(features, size))]
    assert why.prediction == int(is_positive) == explainer.predict(x)
    assert why.margin == abs(score)
    assert explainer.score(x) == score
    assert why.drops == dict(zip(names, drops, strict=True))
    assert why.size == len(why.features) == sizes[0]
    assert why.status is Status.PROVEN
    assert suffices([names.index(name) for name in why.features])
    assert why.slack == abs(score) - sum(why.drops[name] for name in why.freed)
    for fixed in list(combinations(features, max(sizes[0] - 1, 0)))[:5]:
        assert explainer.is_sufficient(x, [names[i] for i in fixed], radius=radius) == suffices(fixed)
    check_counterexamples(explainer, why, dict(zip(names, x, strict=True)), radius)


def check_counterexamples(explainer, why, row, radius):
    for name in why.features:
        point = why.counterexample(without=name)
        assert explainer.predict(point) != why.prediction
        assert list(point) == list(explainer.model.names)
        assert point[name] != row[name]
        for other, value in point.items():
            assert other not in why.features or other == name or value == row[other]
            assert abs(value - row[other]) <= radius


def test_witnesses_attain_the_drops():
    hat = ReluNetwork([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    explainer = Explainer(AdditiveModel([hat, Steps([0], [-1, 1])], 1, features=["a", "b"]))
    why = explainer.explain([1, 0.5], radius=2)
    assert why.drops == {"a": 2, "b": 2}
    assert why.witnesses == {"a": Fraction(3), "b": Fraction(-3, 2)}


def test_a_drop_that_is_only_approached_has_no_witness_and_a_strict_claim_may_use_it_up():
    falling = SLOPE * -1 + Steps([1], [0, 5])  # comes close to -1 left of 1, never gets there
    model = AdditiveModel([falling], 1, features=["a"], ties="negative")  # the claim is score > 0
    why = Explainer(model).explain([0], radius=1)
    assert (why.prediction, why.drops, why.witnesses) == (1, {"a": 1}, {"a": None})
    assert why.features == ()  # the score comes close to 0 and stays above


def test_a_counterexample_near_a_limit_that_is_not_attained():
    falling = SLOPE * -1 + Steps([1], [0, 5])
    model = AdditiveModel([falling], "0.9999", features=["a"])
    explainer = Explainer(model)
    why = explainer.explain([0], radius=1)
    point = why.counterexample(without="a")
    assert Fraction("0.9999") < point["a"] < 1
    assert explainer.predict(point) == 0


def test_whole_domain_regions_and_drops_without_bound():
    explainer = Explainer(AdditiveModel([SLOPE, Steps([0], [-1, 1])], 1, features=["a", "b"]))
    why = explainer.explain([5, 2], radius=math.inf)
    assert why.drops == {"a": math.inf, "b": 2}
    assert why.features == ("a",)
    assert explainer.predict(why.counterexample(without="a")) == 0
    assert why.witnesses["a"] is None
    assert "any amount" in str(why)


def test_held_features_cannot_change():
    explainer = Explainer(AdditiveModel([SLOPE, SLOPE], 0, features=["a", "b"]))
    assert explainer.explain([1, 1], radius=3).features == ("a", "b")
    assert explainer.explain([1, 1], radius=3, held=["a"]).features == ("b",)
    assert explainer.is_sufficient([1, 1], ["b"], radius=3, held=["a"])
    assert explainer.explain([1, 1], radius={"a": 0, "b": 3}).features == ("b",)


def test_units_of_the_radius():
    age = Feature("age", center=40, scale=-10, deviation=12)
    explainer = Explainer(AdditiveModel([SLOPE], 1, features=[age]))
    assert explainer.explain([40], radius=1).drops == {"age": Fraction(1, 10)}
    assert explainer.explain([40], radius=1, unit="model").drops == {"age": 1}
    assert explainer.explain([40], radius=1, unit="std").drops == {"age": Fraction(12, 10)}


def test_categories_codes_and_missing_values():
    shapes = [Table({"red": 1, "green": -3, "blue": 2}), Table({MISSING: -9, -7: 4}, otherwise=SLOPE)]
    features = ["colour", Feature("months", Domain.integers(0, 100) | Domain.codes(MISSING, -7))]
    explainer = Explainer(AdditiveModel(shapes, 0, features=features))
    why = explainer.explain({"colour": "red", "months": 5}, radius=2)
    assert why.drops == {"colour": 4, "months": 2}  # any colour; 3 to 7 months, never missing
    assert why.witnesses == {"colour": "green", "months": Fraction(3)}
    assert explainer.explain({"colour": "red", "months": 5}, radius=0).drops == {"colour": 0, "months": 0}
    assert explainer.explain({"colour": "red", "months": 5}, radius=math.inf).drops == {"colour": 4, "months": 14}
    for nothing in (None, math.nan, np.nan, MISSING):
        why = explainer.explain({"colour": "blue", "months": nothing}, radius=9)
        assert (why.prediction, why.drops) == (0, {"colour": 0, "months": 0})  # a code stays where it is
    why = explainer.explain({"colour": "blue", "months": math.nan}, radius=math.inf)
    assert why.counterexample(without="months") == {"colour": "blue", "months": Fraction(100)}


def test_dead_features_and_equal_drops_are_ordinary():
    dead = ReluNetwork([[[0.0]], [[0.0]]], [None, None])
    explainer = Explainer(AdditiveModel([dead, SLOPE, SLOPE, dead], 0))
    why = explainer.explain([0, 1, 1, 0], radius=1.5)
    assert why.features == ("x1",)  # of two equal drops the later feature is freed
    assert why.slack == Fraction(1, 2)
    nothing = Explainer(AdditiveModel([dead, dead], 0)).explain([0, 0], radius=math.inf)
    assert (nothing.features, nothing.margin, nothing.prediction) == ((), 0, 1)  # step(0) = 1


@pytest.mark.parametrize(
    "kind", ["list", "tuple", "array", "mapping", "series", "positions", "text", "fraction", "generator"]
)
def test_rows_come_in_many_forms(kind):
    explainer = Explainer(AdditiveModel([SLOPE, SLOPE], 0, features=["a", "b"]))
    if kind in ("series", "positions"):
        pandas = pytest.importorskip("pandas", reason="rows from pandas")
        row = pandas.Series([0.5, 2.0], index=["a", "b"] if kind == "series" else None)
    else:
        row = {
            "list": [0.5, 2],
            "tuple": (0.5, 2),
            "array": np.array([0.5, 2]),
            "mapping": {"b": 2, "a": 0.5},
            "text": ["0.5", "2e0"],
            "fraction": [Fraction(1, 2), Fraction(2)],
            "generator": (v for v in (0.5, 2)),
        }[kind]
    assert explainer.score(row) == Fraction(5, 2)


def test_floats_and_decimal_strings_are_different_numbers():
    explainer = Explainer(AdditiveModel([SLOPE], 0))
    assert explainer.score(["0.1"]) == Fraction(1, 10)
    assert explainer.score([0.1]) == Fraction(0.1) != Fraction(1, 10)
    assert explainer.score([np.float32(0.1)]) == Fraction(float(np.float32(0.1)))


def test_counterexamples_are_short_floats_where_there_is_room():
    network = ReluNetwork([[[1.0], [3.0]], [[-1.0, 0.7]]], [[0.1, -0.7], None])
    explainer = Explainer(AdditiveModel([network], 0.3, features=["a"]))
    why = explainer.explain([0.123456789], radius=1)
    assert why.counterexample(without="a")["a"] == Fraction(0.23)


def test_text_says_what_is_proven():
    explainer = Explainer(AdditiveModel([SLOPE, SLOPE, SLOPE], 0, features=["a", "b", "c"], classes=["no", "yes"]))
    text = str(explainer.explain([3, 1, 1], radius={"a": 4, "b": 3, "c": 1}))
    assert text.splitlines() == [
        "Prediction: yes (margin 5)",
        "Proven: 1 of 3 features fixes it, whatever the other 2 do within the region; no smaller set does.",
        "  a  = 3  could lower the margin by 4",
        "Slack: 1 of the margin is left when all free features do their worst.",
        "Strongest free: b (3), c (1).",
        "If a were free: 3 -> -1 with b 1 -> -2 would break it.",
    ]
    assert "no feature needs to be fixed" in str(explainer.explain([3, 1, 1], radius=0.1))
    assert "every feature is needed" in str(explainer.explain([0, 0, 0], radius=1))


def test_an_explanation_survives_pickling():
    explainer = Explainer(AdditiveModel([SLOPE, Table({"u": 1, MISSING: 0})], 0, features=["a", "b"]))
    why = explainer.explain([1, "u"], radius=3)
    again = pickle.loads(pickle.dumps(why))
    assert str(again) == str(why)
    assert again.counterexample(without="a") == why.counterexample(without="a")


def test_a_model_is_compiled_within_its_budget():
    wide = ReluNetwork([np.ones((20, 1)), np.ones((1, 20))], [np.arange(20.0), None])
    model = AdditiveModel([SLOPE, wide], features=["a", "wide one"])
    assert len(Explainer(model, max_pieces=21).pieces["wide one"][0].knots) == 20
    with pytest.raises(suffice.PieceBudgetError, match=r"'wide one'.*max_pieces = 20"):
        Explainer(model, max_pieces=20)


def test_models_with_several_scores_or_none_to_decide_by():
    three = AdditiveModel([Steps([0], [[1, 2, 2], [3, 1, 0]])], [0, 0, 0], "multiclass", classes=["a", "b", "c"])
    explainer = Explainer(three)
    assert [explainer.predict([x]) for x in (-1, 1)] == ["b", "a"]  # a tie goes to the first
    assert explainer.score([-1]) == (1, 2, 2)
    assert Explainer(AdditiveModel([SLOPE], 1, "regression")).predict([0.5]) == Fraction(3, 2)
    assert explainer.explain([1], radius=1).features == ()
    assert explainer.explain([1], radius=2).features == ("x0",)


@pytest.mark.parametrize("infinity", [math.inf, np.float32("inf"), np.inf, "inf"])
def test_infinity_is_spelled_in_many_ways(infinity):
    explainer = Explainer(AdditiveModel([SLOPE]))
    assert explainer.explain([1], radius=infinity).drops == {"x0": math.inf}
    assert explainer.explain([1], radius=[infinity]).drops == {"x0": math.inf}


def test_single_numbers_of_other_libraries_are_numbers():
    explainer = Explainer(AdditiveModel([SLOPE]))
    assert explainer.explain([np.array(0.5)], radius=np.array(2.0)).margin == Fraction(1, 2)
    torch = pytest.importorskip("torch", reason="tensors of one number")
    assert explainer.explain([torch.tensor(0.5)], radius=torch.tensor(2.0)).drops == {"x0": 2}
    assert explainer.score(torch.tensor([0.5])) == Fraction(1, 2)


def test_a_unit_is_not_needed_where_there_are_no_distances():
    model = AdditiveModel([SLOPE, Table({"u": 1, "v": -1})], features=[Feature("a", deviation=2), "b"])
    why = Explainer(model).explain([1, "u"], radius=1, unit="std")
    assert why.drops == {"a": 2, "b": 2}


def test_domains_answer_for_what_users_write():
    domain = Domain.integers(0, 10) | Domain.codes(MISSING, -9)
    inside, outside = (5, 5.0, "5", -9, None, math.nan, MISSING), (Fraction(1, 2), 11, "x", [])
    assert all(value in domain for value in inside)
    assert not any(value in domain for value in outside)


def test_repr_is_short():
    why = Explainer(AdditiveModel([SLOPE] * 50)).explain([1] * 50, radius=2)
    assert repr(why) == "<Explanation: 1, 25 of 50 features, proven>"
