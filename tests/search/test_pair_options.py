"""Options, claims and kinds of pair terms beyond tables: what is exact, what is enclosed, and what is refused."""

import json
import random
from fractions import Fraction
from itertools import combinations, product

import pytest

import suffice
import suffice_check
from suffice import (
    AdditiveModel,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairLinear,
    PairSteps,
    ProbabilityAtLeast,
    Status,
    Steps,
    Table,
)
from suffice.model.writing import to_bytes
from suffice.present import plots
from suffice.present.report import Decision, report
from suffice.shapes import PiecewiseLinear, Product


def linear(slope: object) -> PiecewiseLinear:
    return PiecewiseLinear([0], [0], slope, slope)


def steps_model() -> AdditiveModel:
    """Two features that do harm only together, and a third for itself."""
    features = [Feature(name, Domain.interval(0, 10), deviation=1) for name in ("a", "b", "c")]
    shapes = [Steps([5], [0, 0]), Steps([5], [0, 0]), Steps([5], [1, 0])]
    pairs = {("a", "b"): PairSteps([5], [5], [[0, 0], [0, -3]])}
    return AdditiveModel(shapes, "3/2", features=features, pairs=pairs)


ROW = {"a": 4, "b": 4, "c": 4}


def test_features_that_do_harm_only_together_are_told_so() -> None:
    why = Explainer(steps_model()).explain(ROW, radius=2, unit="raw")
    assert (why.size, why.status) == (1, Status.PROVEN)
    assert why.drops == {"a": 0, "b": 0, "c": 1}
    assert why.slack == Fraction(3, 2)
    assert f"{why.features[0]}  = 4  could alone lower the margin by 0" in str(why)
    assert "Strongest free, each alone: c (1)." in str(why)
    broken = why.counterexample(why.features[0])
    assert broken["a"] >= 5
    assert broken["b"] >= 5


def test_in_a_ball_only_one_feature_is_sure_to_move() -> None:
    explainer = Explainer(steps_model())
    why = explainer.explain(ROW, radius=2, unit="raw", norm=2)
    assert (why.size, why.lower_bound, why.status) == (1, 0, Status.BOUNDED)
    with pytest.raises(suffice.UnsettledError):
        explainer.is_sufficient(ROW, [], radius=2, unit="raw", norm=2)
    assert explainer.is_sufficient(ROW, ["a"], radius=2, unit="raw", norm=2)


def test_a_threshold_that_is_not_rational_is_enclosed_until_it_decides() -> None:
    explainer = Explainer(steps_model())
    claim = ProbabilityAtLeast("0.9")  # log 9 = 2.197...; the row's score is 2.5
    assert explainer.explain(ROW, radius=2, unit="raw", claim=claim).size == 2
    assert explainer.is_sufficient(ROW, ["a", "c"], radius=2, unit="raw", claim=claim)
    assert not explainer.is_sufficient(ROW, ["a"], radius=2, unit="raw", claim=claim)
    assert explainer.radius(ROW, ["c"], unit="raw", claim=claim).limit == (1, False)


def test_floats_of_terms_that_jump_are_refused() -> None:
    with pytest.raises(suffice.ClaimError, match="the term over 'a' and 'b' is not a network, and rounding in float32"):
        Explainer(steps_model()).explain(ROW, radius=2, unit="raw", arithmetic="float32")


def test_pictures_and_reports_count_what_features_do_together() -> None:
    why = Explainer(steps_model()).explain(ROW, radius=2, unit="raw")
    bars = plots._bars(why)
    ends = [bar.start + bar.length for bar in bars if not bar.is_fixed]
    assert ends[-1] == float(why.margin - why.slack)
    (fixed,) = [bar for bar in bars if bar.is_fixed]
    assert fixed.start + fixed.length == 4  # with all of them free
    assert "alone lowers the margin by at most" in report([Decision("Row 0", why)], {})


def test_classes_with_and_without_pair_terms_are_told_apart() -> None:
    features = [Feature(name, Domain.interval(0, 10)) for name in ("a", "b")]
    shapes = [Steps([5], [[3, 0, 0], [0, 0, 0]]), Steps([5], [[0, 0, 0], [0, 0, 1]])]
    pairs = {("a", "b"): PairSteps([5], [5], [[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 5, 0]]])}
    model = AdditiveModel(shapes, [0, 0, 0], "multiclass", features, pairs=pairs)
    explainer = Explainer(model)

    def winner(a: int, b: int) -> int:
        scores = [3 if a < 5 else 0, 5 if a >= 5 and b >= 5 else 0, 1 if b >= 5 else 0]
        return scores.index(max(scores))

    why = explainer.explain([4, 4], radius=3, unit="raw")
    assert why.prediction == winner(4, 4) == 0
    assert why.features == ("a",) if all(winner(4, b) == 0 for b in range(1, 8)) else why.size == 2
    point = why.counterexample("a")
    assert winner(point["a"], point["b"]) != 0


def bilinear() -> tuple[AdditiveModel, object]:
    """Return `2 + x - x·y/4 + g(y, z)` and the same as a plain function; `g` is bilinear between its corners."""
    features = [Feature(name, Domain.interval(-8, 8)) for name in ("x", "y", "z")]
    pairs = {
        ("x", "y"): Product(linear(1), linear("-1/4")),
        ("y", "z"): PairLinear([0, 4], [0, 4], [[0, 0], [0, -2]]),
    }
    model = AdditiveModel([linear(1), linear(0), linear(0)], 2, features=features, pairs=pairs)

    def score(x: Fraction, y: Fraction, z: Fraction) -> Fraction:
        inside = [min(max(value, Fraction(0)), Fraction(4)) for value in (y, z)]
        return 2 + x - x * y / 4 - inside[0] * inside[1] / 8

    return model, score


@pytest.mark.parametrize("radius", [Fraction(1), Fraction(2), Fraction(3)])
def test_bilinear_terms_are_worst_at_corners(radius: Fraction) -> None:
    model, score = bilinear()
    explainer = Explainer(model)
    row = (Fraction(1), Fraction(2), Fraction(3))
    corners = [sorted({-8, 8, 0, 4, x, x - radius, x + radius}) for x in row]
    places = [[v for v in some if abs(v - x) <= radius] for some, x in zip(corners, row, strict=True)]
    for fixed in ([], ["x"], ["y"], ["x", "y"], ["y", "z"]):
        free = [name not in fixed for name in model.names]
        values = [some if is_free else [x] for some, is_free, x in zip(places, free, row, strict=True)]
        holds = all(score(*point) >= 0 for point in product(*values))
        assert explainer.is_sufficient(row, fixed, radius=radius, unit="raw") == holds


def test_the_radius_of_bilinear_terms_is_enclosed() -> None:
    model, score = bilinear()
    largest = Explainer(model).radius([1, 2, 3], ["z"], unit="raw")
    # x falls and y rises: 2 + (1 - r) - (1 - r)(2 + r)/4 - (2 + r)·3/8, the least corner as long as 1 - r >= 0.
    assert largest.status is Status.BOUNDED
    assert "lies less than" in str(largest)
    r, more = largest.limit.radius, Fraction(1, 10**9)

    def is_safe(reach: Fraction) -> bool:
        corners = [[v + s * reach for s in (-1, 1)] for v in (1, 2)]
        inside = [*corners[1], *(v for v in (Fraction(0), Fraction(4)) if abs(v - 2) <= reach)]
        return all(score(x, y, Fraction(3)) >= 0 for x in corners[0] for y in inside)

    assert is_safe(r)
    assert not is_safe(r + more)


def test_a_term_that_goes_on_for_ever_needs_an_end() -> None:
    model = AdditiveModel([linear(1), linear(1)], 2, pairs={("x0", "x1"): Product(linear(1), linear(1))})
    explainer = Explainer(model)
    assert explainer.is_sufficient([1, 1], [], radius=1, unit="raw")
    with pytest.raises(suffice.RadiusError, match=r"'x0' goes on for ever .* a domain with ends"):
        explainer.explain([1, 1], radius="inf")


def test_a_part_that_falls_for_ever_must_be_fixed() -> None:
    pairs = {("x0", "x1"): PairSteps([0], [0], [[1, 0], [0, 1]])}
    model = AdditiveModel([linear(1), Steps([0], [0, 1])], 2, pairs=pairs)
    why = Explainer(model).explain([1, 1], radius="inf")
    assert why.features == ("x0",)
    assert why.drops["x0"] == float("inf")
    point = why.counterexample("x0")
    assert model_score(point["x0"], point["x1"]) < 0


def model_score(x: Fraction, y: Fraction) -> Fraction:
    return 2 + x + (1 if y >= 0 else 0) + (1 if (x >= 0) == (y >= 0) else 0)


def test_ranges_beside_bilinear_terms_end_where_others_just_leave_room() -> None:
    model, _ = bilinear()
    explainer = Explainer(model)
    found = explainer.inflate([1, 2, 3], radius=1, unit="raw", features=["x", "y", "z"])
    # 5/4 + x/2 at y = 2, z = 3; then -1/2 + y/4 at x = -5/2, 17/2 - 2y at x = 8; then 3/4 - z/4 at the least of both
    assert {name: str(one) for name, one in found.ranges.items()} == {
        "x": "[-2.5, 8]",
        "y": "[2, 4.25]",
        "z": "[-8, 3]",
    }
    beside = explainer.inflate([1, 2, 3], radius=1, unit="raw", features=["x", "z"])
    assert beside.ranges["x"].low == Fraction(-13, 6)  # y = 1 is worst: 13/8 + 3x/4
    endless = AdditiveModel([linear(1), linear(1)], 2, pairs={("x0", "x1"): Product(linear(1), linear(1))})
    with pytest.raises(suffice.ClaimError, match=r"no range for 'x0': .* give it a domain with ends"):
        Explainer(endless).inflate([1, 1], radius=1, unit="raw", features=["x0"])


def test_the_certificate_of_a_range_beside_a_bilinear_term_says_that_it_holds_not_that_it_is_widest() -> None:
    features = [Feature(name, Domain.interval(0, 4)) for name in ("x", "y")]
    both = {("x", "y"): PairLinear([0, 4], [0, 4], [[0, 0], [0, -8]])}
    model = AdditiveModel([None, None], 2, features=features, pairs=both)
    found = Explainer(model).inflate([1, 1], radius=1, unit="raw", features=["x"])
    assert str(found.ranges["x"]) == "[0, 2]"  # 2 - x·y/2 with y up to 2
    document = found.certificate().document
    assert document["result"] == {
        "kind": "inflation", "ranges": [{"feature": 0, "low": "0", "high": "2"}], "is_widest": False
    }  # fmt: skip
    suffice_check.check(to_bytes(model), json.dumps(document).encode())
    document["result"]["ranges"][0]["high"] = "2+e"
    with pytest.raises((suffice_check.RejectedError, suffice_check.UnreadableError)):
        suffice_check.check(to_bytes(model), json.dumps(document).encode())


def frustrated(count: int, intercept: Fraction) -> AdditiveModel:
    """Return a model of categories whose pair terms all pull in different ways."""
    rng = random.Random(count)
    keys = ["u", "v", "w"]
    names = [f"x{i}" for i in range(count)]
    pairs = {
        pair: PairSteps(Bins(keys=keys), Bins(keys=keys), [[rng.randint(-9, 9) for _ in keys] for _ in keys])
        for pair in combinations(names, 2)
    }
    shapes = [Table({key: rng.randint(-2, 2) for key in keys}) for _ in names]
    return AdditiveModel(shapes, intercept, features=names, pairs=pairs)


def test_a_budget_that_ends_says_so() -> None:
    row = ["u"] * 10
    spare = Explainer(frustrated(10, Fraction(1000))).explain(row, radius="inf").slack
    explainer = Explainer(frustrated(10, 1000 - spare))  # all features together just do not break it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.core.worst_case._work", lambda *_: 1)
        with pytest.raises(suffice.BudgetError, match="not found within the budget; raise max_seconds"):
            explainer.is_sufficient(row, [], radius="inf")
        early = explainer.explain(row, radius="inf")
    late = explainer.explain(row, radius="inf")
    assert (late.size, late.slack, late.status) == (0, 0, Status.PROVEN)
    assert early.lower_bound == 0 < early.size
    assert early.status is Status.BOUNDED
    assert "ran out of its budget" in str(early)


def test_features_let_go_do_not_count_among_those_that_change() -> None:
    features = [Feature(name, Domain.categories("u", "v")) for name in ("a", "b", "c")]
    shapes = [Table({"u": 0, "v": -1}), Table({"u": 0, "v": "-3/2"}), Table({"u": 0, "v": -1})]
    idle = PairSteps.of_entries({("u", "u"): 0, ("u", "v"): 0, ("v", "u"): 0, ("v", "v"): "1/100"})
    explainer = Explainer(AdditiveModel(shapes, 3, features=features, pairs={("a", "b"): idle}))
    # One free feature at a time may change, c; a goes where it likes; b then has no room: 3 - 1 - 1 - 3/2 < 0.
    found = explainer.inflate(["u"] * 3, radius="inf", features=["a", "b"], max_changed=1)
    assert found.ranges["a"].values == ("u", "v")
    assert found.ranges["b"].values == ("u",)


def test_ranges_of_integers_tell_what_is_attained_from_what_is_only_approached() -> None:
    features = [Feature("count", Domain.integers(0, 3)), Feature("share", Domain.interval(0, 1))]
    shapes = [Steps([2], [0, 0]), linear(-1) + Steps([1], [0, 1])]  # the share comes as close to -1 as one likes
    pairs = {("count", "share"): PairSteps([2], [1], [[0, 0], [0, -1]])}  # and from a count of 2 on it gets there
    explainer = Explainer(AdditiveModel(shapes, 1, features=features, ties="negative", pairs=pairs))
    found = explainer.inflate([0, 0], radius="inf", features=["count"])
    assert str(found.ranges["count"]) == "the integers from 0 to 1"
    assert explainer.is_sufficient([1, 0], ["count"], radius="inf")
    assert not explainer.is_sufficient([2, 0], ["count"], radius="inf")


@pytest.mark.parametrize(("height", "widest"), [("1/2", 2), (1, 2), ("4/3", "3/2"), (4, "1/2")])
@pytest.mark.parametrize("code", ["1/2", "3/2"])
def test_ranges_where_a_code_alone_lies_in_a_cell_along_which_a_pair_term_varies(code, height, widest):
    """At 2 and above the score is 1 - height * b / 2."""
    height = Fraction(height)
    pair = PairLinear([0, 2], [0, 2], [[0, 0], [0, -height]])
    features = [
        Feature("a", Domain.interval(2, 3) | Domain.codes(Fraction(code))),
        Feature("b", Domain.interval(0, 2)),
    ]
    model = AdditiveModel([None, None], 1, features=features, pairs={("a", "b"): pair})
    ranges = Explainer(model).inflate(["5/2", 0], "inf", unit="raw", features=["a", "b"]).ranges
    assert (ranges["a"].low, ranges["a"].high) == (2, 3)
    assert (ranges["b"].low, ranges["b"].high) == (0, Fraction(widest))
