"""What the library proves, the checker accepts: all shapes, claims, preferences and regions."""

import json
import math
import random
import re
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import networks
from typer.testing import CliRunner

import suffice
import suffice_check
from suffice import (
    MISSING,
    Activation,
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Readout,
    ReluNetwork,
    Same,
    Status,
    Steps,
    Table,
    Within,
)
from suffice.certificate import document, limits, trees
from suffice.cli.app import app
from suffice.model.writing import to_bytes
from suffice.shapes.parameters import rounded_exp
from suffice_check.exponential import exp_bounds
from suffice_check.network import rounded_exp as checker_exp

LEAKY_UNITS = Activation.leaky_relu([0.1, 3])
BASIS = ReluNetwork([[[1.0], [-0.5]], [[1.0, 0.5], [2.0, -1.0]]], [[1.0, 0.25], None])
ZOO = AdditiveModel(
    shapes=[
        ReluNetwork([np.ones((2, 1), np.float16), np.ones((1, 2), np.float16)], [[0.5, 0.25], None], LEAKY_UNITS),
        ReluNetwork([[[1.0]], [[2.0]], [[3.0]]], [None, [1.0], None], ["hard_tanh", "relu6"], skips={2: 1, 3: 0}),
        ReluNetwork([np.array([[0.5], [-1.25]], np.float32), [[1.0, -2.0]]], [[0.1, 0.5], None], exu=True),
        ReluNetwork([np.array([[0.75]], np.float16), [[0.5]]], [np.array([0.5], np.float16), None], "relu6", exu=True),
        Table({"a": "1/3", "b": 2, MISSING: 2}),
        Readout(BASIS, [[1.0, 2.0]]) + Readout(BASIS, [[0.5, 0.0]]),
        Table({-9: 1, MISSING: 0}, otherwise=Steps([1, 2], ["1/3", 2, 3], closed="right")),
        (PiecewiseLinear(["1/3"], [1], left_slope=0.1) * "2/7" - Steps([], [5])).rescaled(1, "-2/3"),
        Table({k: (k * 7) % 5 for k in range(6)}),
    ],
    intercept="1/7",
    features=[
        "n",
        Feature("s", center=0.1, scale=-3, deviation=2),
        Feature("e", Domain.interval(-2, 4)),
        "f",
        "c",
        Feature("r", Domain.integers(-10, 10)),
        Feature("codes", Domain.integers(0) | Domain.codes(MISSING, -9)),
        Feature("p", Domain.interval("1/3", 5) | Domain.points(-1) | Domain.categories(-7)),
        Feature("k", Domain.integers(0, 5)),
    ],
    classes=["bad", "good"],
    ties="negative",
)


def checked(model, result, **options):
    """Certify a result, check it, and return what the checker says."""
    return suffice_check.check(to_bytes(model), result.certificate(**options).text.encode())


def rows_of(count, seed=0):
    rng = random.Random(seed)
    for _ in range(count):
        yield [
            rng.uniform(-3, 3),
            rng.choice([0, 0.5, -3, rng.uniform(-9, 9)]),
            rng.uniform(-2, 4),
            rng.uniform(-1, 3),
            rng.choice(["a", "b", None]),
            rng.randint(-10, 10),
            rng.choice([-9, None, 0, 1, 2, 3, 1000]),
            rng.choice([-7, -1, 1, "1/3", 5]),
            rng.randint(0, 5),
        ]


def test_every_kind_of_shape_is_certified():
    explainer, sizes = Explainer(ZOO), set()
    for row in rows_of(20):
        for radius in (0, "1/2", 3, math.inf):
            why = explainer.explain(row, radius, unit="raw")
            assert ("; no smaller set is enough. " in checked(ZOO, why)) == (why.size > 0)
            sizes.add(why.size)
            assert checked(ZOO, explainer.contrast(row, radius, unit="raw")).startswith("Proven: ")
    assert len(sizes) > 3


@settings(max_examples=80)
@given(st.data())
def test_random_networks_are_certified(data):
    count = data.draw(st.integers(1, 4))
    shapes = [ReluNetwork(*data.draw(networks(outputs=1))) for _ in range(count)]
    places = st.fractions(-4, 4, max_denominator=6)
    scales = data.draw(st.lists(places.filter(bool), min_size=count, max_size=count))
    domains = data.draw(st.lists(st.sampled_from([Domain.reals(), Domain.integers()]), min_size=count, max_size=count))
    features = [
        Feature(f"f{i}", domain, 1, scale) for i, (domain, scale) in enumerate(zip(domains, scales, strict=True))
    ]
    model = AdditiveModel(shapes, data.draw(places), "regression", features)
    row = [data.draw(st.integers(-3, 3)) for _ in range(count)]
    radius = data.draw(st.sampled_from([1, "5/2", math.inf]))
    claim = Within(data.draw(st.fractions(0, 9, max_denominator=3)))
    explainer = Explainer(model)
    asked = {"claim": claim, "unit": data.draw(st.sampled_from(["raw", "model"]))}
    why = explainer.explain(row, radius, **asked)
    assert checked(model, why).startswith("Proven: ")
    assert checked(model, explainer.contrast(row, radius, **asked)).startswith("Proven: ")
    if why.size:
        less = explainer.sufficiency(row, why.features[1:], radius, **asked).certificate()
        assert less.document["result"]["kind"] == "insufficient"
        assert "is not enough" in suffice_check.check(to_bytes(model), less.text.encode())


def test_every_claim_is_certified():
    explainer = Explainer(ZOO)
    row = next(rows_of(1))
    score = explainer.score(row)
    claims = [Same(), AtLeast(score - 1), AtMost(score + 1), Within("1/2"), ProbabilityAtLeast("1/2")]
    other = next(name for name in ZOO.classes if name != explainer.predict(row))
    for claim in [*claims, Beats(other), ProbabilityAtLeast("1/3")]:
        why = explainer.explain(row, 6, unit="raw", claim=claim)
        assert why.size
        assert "; no smaller set is enough. " in checked(ZOO, why)
        assert "; no fewer features can. " in checked(ZOO, explainer.contrast(row, 6, unit="raw", claim=claim))


WISHES = [
    {"cost": {"n": 3, "s": "1/2", "p": 2}},
    {"cost": {"n": 0.1, "s": "0.3"}},
    {"cost": dict.fromkeys(ZOO.names, "5/3")},
    {"fix": ["n"], "free": ["k"]},
    {"groups": [["n", "s"], ["e", "c", "p"]]},
    {"groups": {"both": ["n", "s"]}, "cost": {"both": 5, "e": "1/3"}, "fix": ["c"]},
    {"groups": {"alone": ["n"], "s": ["s"]}, "cost": {"alone": 2}},
    {"groups": [["k", "n"], ["s", "e"]], "fix": ["n"], "free": ["s"]},
    {"max_changed": 1},
    {"max_changed": 10**7},
    {"max_changed": 2, "groups": [["n", "s"], ["e", "p"]], "cost": {"k": 2}},
    {"norm": 1},
    {"norm": 2, "fix": ["n"]},
    {"immutable": ["e", "c", "codes"]},
    {"unit": "model", "immutable": ["p"]},
]


def test_preferences_budgets_and_norms_are_certified():
    explainer = Explainer(ZOO)
    for row in rows_of(12, seed=1):
        for wish in WISHES:
            try:
                why = explainer.explain(row, 1, **({"unit": "raw", "claim": Within(2)} | wish))
            except suffice.PreferenceError:  # what must be free breaks the claim
                continue
            said = checked(ZOO, why)
            assert said.startswith("Proven: ")
            least = re.search("no (cheaper|smaller) set|costs less than ([0-9/]+)|fewer than ([0-9]+) features", said)
            assert (least is not None) == (why.lower_bound > 0)
            assert least is None or Fraction(least[2] or least[3] or str(why.lower_bound)) == why.lower_bound


def test_standard_deviations_are_those_of_the_model_file():
    shapes = [PiecewiseLinear([0], [0], 1, 1), PiecewiseLinear([0], [0], 2, 2), Table({"a": 1, "b": 0})]
    features = [Feature("one", scale=-3, deviation="1/2"), Feature("still", deviation=0), "label"]
    explainer = Explainer(AdditiveModel(shapes, 1, features=features))
    row = [1, 1, "a"]
    for radius, expected in ((1, set()), (16, set()), (17, {"one"}), (math.inf, {"one", "still"})):
        why = explainer.explain(row, radius, claim=AtLeast(0))
        assert set(why.features) == expected
        assert checked(explainer.model, why).startswith("Proven: ")
    for unit in ("std", "model"):
        assert checked(explainer.model, explainer.contrast(row, 30, unit=unit, claim=AtLeast(0))).startswith("Proven: ")
    unknown = AdditiveModel(shapes, 1, features=["one", "two", "label"])
    document = json.loads(Explainer(unknown).explain(row, 9, unit="raw").certificate().text)
    document["question"]["unit"] = "std"
    with pytest.raises(suffice_check.RejectedError, match="no standard deviation for 'one'"):
        suffice_check.check(to_bytes(unknown), json.dumps(document).encode())


def test_immutable_features_need_not_be_fixed_and_cannot_change():
    explainer = Explainer(ZOO)
    for row in rows_of(8, seed=4):
        for immutable in (["n"], ["s", "c"], ["e", "f", "r", "codes", "p"], list(ZOO.names)):
            asked = {"unit": "raw", "claim": Within("1/2"), "immutable": immutable}
            why = explainer.explain(row, math.inf, **asked)
            assert not set(why.features) & set(immutable)
            assert f"{'and ' if why.size else 'with '}{immutable[0]!r}" in checked(ZOO, why)
            assert checked(ZOO, explainer.contrast(row, math.inf, **asked)).startswith("Proven: ")
            assert checked(ZOO, explainer.radius(row, [], **asked)).startswith("Proven: ")


def test_contrasts_with_fixed_features_are_certified():
    explainer, kinds = Explainer(ZOO), set()
    for row in rows_of(10, seed=5):
        for fix in (["n"], ["s", "c", "p"], ["n", "s", "e", "f", "c", "r"]):
            contrast = explainer.contrast(row, 3, unit="raw", claim=Within(3), fix=fix)
            certificate = contrast.certificate()
            assert suffice_check.check(to_bytes(ZOO), certificate.text.encode()).startswith(
                f"Proven: with {fix[0]!r} = "
            )
            kinds.add(certificate.document["result"]["kind"])
            assert not set(contrast.features) & set(fix)
    assert kinds == {"contrast", "explanation"}
    for option in ({"free": ["k"]}, {"cost": {"n": 2}}, {"groups": [["n", "s"]]}):
        assert checked(ZOO, explainer.contrast(row, 3, unit="raw", **option)).startswith("Proven: ")


def test_that_features_do_not_suffice_in_a_ball_is_certified():
    explainer, kinds = Explainer(ZOO), Counter()
    for row in rows_of(10, seed=6):
        for norm in (1, 2):
            found = explainer.sufficiency(row, ["c", "p"], 2, unit="raw", claim=Within(1), norm=norm)
            if found.caveat:
                with pytest.raises(suffice.CertificateError, match="the difference between the ball and its box"):
                    found.certificate()
                continue
            certificate = found.certificate()
            said = suffice_check.check(to_bytes(ZOO), certificate.text.encode())
            assert f"all changes in the ball of the {norm}-norm" in said
            kinds[certificate.document["result"]["kind"]] += 1
    assert kinds["insufficient"]


def test_charges_for_rounding_are_certified_as_a_margin_to_spare():
    model = AdditiveModel([BASIS_OF_ONE * 1, BASIS_OF_ONE * -1], "1/8")
    explainer, asked = Explainer(model), {"unit": "raw", "arithmetic": "float32"}
    why = explainer.explain([0.5, 0.25], "1/2", **asked)
    document = why.certificate().document
    assert [Fraction(one) for one in document["charges"]] == [Fraction(int(c.p), int(c.q)) for c in why.charged]
    said = checked(model, why)
    assert "of score to spare" in said
    assert said.endswith("Not checked: whether this covers the rounding of float32.")
    for result in (
        explainer.contrast([0.5, 0.25], "1/2", **asked),
        explainer.sufficiency([0.5, 0.25], [], "1/2", **asked),
    ):
        assert result.certificate().document["charges"] == document["charges"]
        assert " by at least " in checked(model, result)
    assert "of score to spare" in checked(model, explainer.contrast([0.5, 0.25], "1/100", **asked))


BASIS_OF_ONE = ReluNetwork([[[1.0], [-0.5]], [[1.0, 0.5]]], [[1.0, 0.25], None])


def test_a_bounded_result_proves_its_bound_and_no_more():
    rng = random.Random(3)
    count = 14
    slopes = [(rng.randint(1, 40), rng.randint(1, 40)) for _ in range(count)]
    model = AdditiveModel([PiecewiseLinear([0], [0], *pair) for pair in slopes], 0, "regression")
    explainer = Explainer(model)
    for delta in range(40, 200, 10):
        why = explainer.explain([0] * count, 1, unit="raw", claim=Within(delta), max_nodes=1)
        if why.status is Status.BOUNDED:
            break
    assert why.lower_bound < why.size
    assert f"; no set of fewer than {why.lower_bound} features is enough. " in checked(model, why)
    more = json.loads(why.certificate().text)
    more["result"]["lower_bound"] = str(why.lower_bound + 1)
    with pytest.raises(suffice_check.RejectedError, match="tree"):
        suffice_check.check(to_bytes(model), json.dumps(more).encode())


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_the_checker_rounds_exponentials_as_the_library_does(kind):
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.normal(size=200), rng.uniform(-18, 11, size=200), [0.0, -1e-30, 1e-8, -40.0, -800.0]])
    weights = drawn.astype(kind)
    name = {np.float16: "F16", np.float32: "F32", np.float64: "F64"}[kind]
    ours = [Fraction(float(value)) for value in rounded_exp(weights)]
    assert [checker_exp(float(weight), name) for weight in weights] == ours


@given(st.fractions(-30, 30, max_denominator=50), st.integers(20, 300))
def test_bounds_of_the_exponential_enclose_it(exponent, bits):
    low, high = exp_bounds(exponent, bits)
    with localcontext() as context:
        context.prec = 200
        true = Fraction((Decimal(exponent.numerator) / exponent.denominator).exp())
    slack = Fraction(1, 10**150) * true  # the decimal itself is rounded
    assert low - slack <= true <= high + slack
    assert (high - low) / true < Fraction(1, 2) ** (bits - 60 if bits > 70 else -40)


def limit_of(result):
    """The radius of a result and whether it is attained, after a look at where it fails: right after it."""
    holds, fails = result["holds_at"], result["fails_at"]
    if holds in ("finite", "inf"):
        assert fails == {"finite": "inf", "inf": None}[holds]
        return math.inf, holds == "inf"
    assert fails == (holds[:-2] if holds.endswith("-e") else f"{holds}+e")
    return Fraction(holds.removesuffix("-e")), not holds.endswith("-e")


def test_radii_are_certified():
    explainer, kinds, rng = Explainer(ZOO), set(), random.Random(2)
    for row in rows_of(12, seed=2):
        for fixed in ([], ["n", "s", "c"], ["n", "s", "e", "f", "p", "r"]):
            asked = {"unit": rng.choice(["raw", "model"]), "claim": Within(3), "immutable": rng.sample(ZOO.names, 2)}
            certificate = explainer.radius(row, fixed, **asked).certificate()
            found, limit = limit_of(certificate.document["result"]), explainer.radius(row, fixed, **asked).limit
            assert found == limit
            assert suffice_check.check(to_bytes(ZOO), certificate.text.encode()).startswith("Proven: ")
            kinds.add((found[0] == math.inf, found[1]))
    assert len(kinds) > 1


def test_a_radius_beside_a_special_code_is_certified():
    """A code may be a number whose distance to the others means nothing: it is not left at any finite radius."""
    line = PiecewiseLinear([0], [0], 1, 1)
    features = [Feature("months", Domain.interval(0, 60) | Domain.codes(-8)), "size"]
    model = AdditiveModel([Table({-8: 5}, otherwise=line * -1), line], 1, features=features)
    explainer = Explainer(model)
    certificate = explainer.radius({"months": -8, "size": 4}, [], unit="raw").certificate()
    said = suffice_check.check(to_bytes(model), certificate.text.encode())
    assert " at every radius up to and including 10, but at no larger one. " in said


def test_the_radius_of_a_probability_is_enclosed():
    """Where a slope meets the threshold the end is not rational: one radius holds, and another close to it fails."""
    explainer, gaps = Explainer(ZOO), 0
    for row in rows_of(12, seed=7):
        for p in ("1/3", "2/7"):
            largest = explainer.radius(row, ["c", "k"], unit="raw", claim=ProbabilityAtLeast(p))
            assert checked(ZOO, largest).startswith("Proven: ")
            result = largest.certificate().document["result"]
            if result["holds_at"] in ("finite", "inf"):
                continue
            holds, fails = (
                Fraction(result[name].removesuffix("+e").removesuffix("-e")) for name in ("holds_at", "fails_at")
            )
            assert holds == largest.radius <= fails < holds + Fraction(1, 10**6)
            gaps += holds < fails
    assert gaps


# --- scorecards: constant between cuts, with whole points, so that ties are everywhere --------------------------------


class Scorecard(NamedTuple):
    """Points for each bin; which bin a cut belongs to; what is needed."""

    cuts: list[list[int]]
    points: list[list[int]]
    closed: list[str]
    needed: int
    ties: str

    def model(self):
        shapes = [Steps(*each) for each in zip(self.cuts, self.points, self.closed, strict=True)]
        return AdditiveModel(shapes, -self.needed, ties=self.ties, classes=["no", "yes"])

    def extremes(self, i, x, radius):
        """The fewest and the most points within a radius."""
        cuts, low, high = self.cuts[i], x - radius, x + radius
        places = sorted({x, low, high, *(Fraction(cut) for cut in cuts if low <= cut <= high)})
        places += [(a + b) / 2 for a, b in pairwise(places)]
        bins = [sum(at > cut or (at == cut and self.closed[i] == "left") for cut in cuts) for at in places]
        return min(self.points[i][k] for k in bins), max(self.points[i][k] for k in bins)

    def suffices(self, row, fixed, radius):
        """Whether the decision stays, by looking at every bin in reach."""
        low, high = (
            sum(found) - self.needed
            for found in zip(
                *(self.extremes(i, x, 0 if i in fixed else radius) for i, x in enumerate(row)), strict=True
            )
        )
        here = sum(self.extremes(i, x, 0)[0] for i, x in enumerate(row)) - self.needed

        def accepts(score):
            return score > 0 or (score == 0 and self.ties == "positive")

        return accepts(low) == accepts(high) == accepts(here)


@st.composite
def scorecards(draw):
    count = draw(st.integers(1, 3))
    cuts = [sorted(draw(st.sets(st.integers(-3, 3), min_size=1, max_size=3))) for _ in range(count)]
    points = [draw(st.lists(st.integers(0, 3), min_size=len(some) + 1, max_size=len(some) + 1)) for some in cuts]
    closed = draw(st.lists(st.sampled_from(["left", "right"]), min_size=count, max_size=count))
    return Scorecard(cuts, points, closed, draw(st.integers(0, 6)), draw(st.sampled_from(["positive", "negative"])))


@settings(max_examples=400)
@given(scorecards(), st.data())
def test_the_radii_of_scorecards_are_certified_and_true(card, data):
    count, model = len(card.cuts), card.model()
    row = [Fraction(data.draw(st.integers(-8, 8)), 2) for _ in range(count)]
    fixed = data.draw(st.sets(st.integers(0, count - 1)))
    certificate = Explainer(model).radius(row, [f"x{i}" for i in sorted(fixed)], unit="raw").certificate()
    assert suffice_check.check(to_bytes(model), certificate.text.encode()).startswith("Proven: ")
    (radius, is_attained), hair = limit_of(certificate.document["result"]), Fraction(1, 1000)
    if radius == math.inf:
        assert is_attained
        assert card.suffices(row, fixed, Fraction(100))
        return
    assert card.suffices(row, fixed, radius - hair if radius else radius)
    assert card.suffices(row, fixed, radius) == is_attained
    assert not card.suffices(row, fixed, radius + hair)


def test_a_radius_that_ends_where_a_plateau_begins_is_certified():
    model = AdditiveModel([Steps([2], [0, 1], closed="right")], -1, features=["points"])
    certificate = Explainer(model).radius([1], [], unit="raw").certificate()
    assert certificate.document["evidence"]["input"] == [{"number": "2+e"}]
    said = suffice_check.check(to_bytes(model), certificate.text.encode())
    assert " stays 0 at every radius up to and including 1, but at no larger one. " in said
    for beyond in ("2", "2-e", "0-e", "0", "1"):
        document = json.loads(certificate.text)
        document["evidence"]["input"] = [{"number": beyond}]
        with pytest.raises(suffice_check.RejectedError, match="input: the claim holds there"):
            suffice_check.check(to_bytes(model), json.dumps(document).encode())


def test_what_rises_beyond_a_radius_does_not_count_as_attained():
    """Forged: just beyond 2 the score comes as close to 0 as one likes, and then rises; it is never 0, nor below."""
    shape = PiecewiseLinear([0], [0], 1, 1) + Steps([2], [0, -2], closed="right")
    for low, ties, place in (
        (1, "negative", "2+e"),
        (0, "positive", "2-e"),
    ):  # the second way leads back, where it falls
        model = AdditiveModel([shape], 0, features=[Feature("x", Domain.interval(low, 5))], ties=ties)
        largest = Explainer(model).radius([1], [], unit="raw")
        assert (largest.radius, largest.is_attained) == (math.inf, True)
        document = json.loads(largest.certificate().text)
        document["result"] |= {"holds_at": "1", "fails_at": "1+e"}
        document["evidence"] = {"input": [{"number": place}]}
        with pytest.raises(suffice_check.RejectedError, match="input: the claim holds there"):
            suffice_check.check(to_bytes(model), json.dumps(document).encode())


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [["a", "b", "c"], [1, 2, 3], [0.5, 1.5, -2.0], ["1", 1, 1.5], np.arange(3)])
def test_a_class_to_beat_is_named_as_in_the_model_file(classes):
    model = AdditiveModel([Steps([0], [[0, 1, 0], [2, 0, 1]])], [0, 0, 0], "multiclass", classes=list(classes))
    explainer = Explainer(model)
    for other in model.classes[1:]:
        said = checked(model, explainer.explain([1], 3, unit="raw", claim=Beats(other)))
        assert "stays ahead of " in said


def test_a_class_of_another_type_is_another_class():
    model = AdditiveModel([Steps([0], [[0, 1], [2, 0]])], [0, 0], "multiclass", classes=[0, 1])
    document = json.loads(Explainer(model).explain([1], 3, unit="raw", claim=Beats(1)).certificate().text)
    for other in (1.0, True, "1", 2, None, [1]):
        document["question"]["claim"]["other"] = other
        with pytest.raises(suffice_check.RejectedError, match="claim: there is no class to beat"):
            suffice_check.check(to_bytes(model), json.dumps(document).encode())


# --- limits -----------------------------------------------------------------------------------------------------------


def test_what_the_checker_could_not_read_is_not_written(monkeypatch):
    line = PiecewiseLinear([0], [0], 1, 1)
    explainer = Explainer(AdditiveModel([line, line], features=["a", "b"]))
    long = Fraction(1, 3**9000)
    with pytest.raises(suffice.CertificateError, match="4000 digits"):
        explainer.explain([long, 1], 1, unit="raw").certificate()
    for digits in (4001, 5001):
        named = Explainer(AdditiveModel([line], classes=[0, 10 ** (digits - 1)]))
        with pytest.raises(suffice.ModelFileError, match="a class of more than 4000 digits cannot be saved"):
            named.explain([1], "0.5", unit="raw").certificate()
    monkeypatch.setattr(limits, "MOST_BENDS", 1)
    networks = Explainer(AdditiveModel([BASIS_OF_ONE * 2 + Table({}, BASIS_OF_ONE.rescaled(1, 2)), line]))
    with pytest.raises(suffice.CertificateError, match="'x0' may have 2 bends"):
        networks.explain([0, 0], 1, unit="raw").certificate()
    monkeypatch.setattr(document, "_MOST_BYTES", 100)
    with pytest.raises(suffice.CertificateError, match="at most 100 bytes"):
        explainer.explain([1, 1], 1, unit="raw").certificate()


def test_a_wide_network_of_one_hidden_layer_is_certified():
    """Its units bend once each: there are as many bends as units, not as many as pairs of units."""
    units = 2100
    weights, biases = np.ones((units, 1)), np.arange(units, dtype=float)
    model = AdditiveModel([ReluNetwork([weights, np.full((1, units), 0.5)], [biases, None])], 0, "regression")
    found = Explainer(model).explain([0], 3, unit="raw", claim=AtLeast(-1)).certificate()
    assert suffice_check.check(to_bytes(model), found.text.encode()).startswith("Proven: ")


def test_a_proof_of_too_many_steps_is_not_written(monkeypatch):
    monkeypatch.setattr(trees, "_MOST_NODES", 2)
    shapes = [Steps([1], [0, k]) for k in (3, 4, 5, 6)]
    explainer = Explainer(AdditiveModel(shapes, -9))
    with pytest.raises(suffice.CertificateError, match="more than 2 steps"):
        explainer.explanations([2, 2, 2, 2], 2, unit="raw", minimal="subset").certificate()


def test_ranges_speak_of_nothing_but_what_is_checked():
    """Forged: a range with another code or an unchecked label. Around a code that is a number, the sentence says so."""
    mixed = Domain.categories("a", "b") | Domain.codes(MISSING)
    shapes = [Table({"a": -5, "b": -5, MISSING: 5}), Table({-9: -5}, otherwise=Steps([], [1]))]
    numbers = Domain.interval(-20, -10) | Domain.interval(0, 10) | Domain.codes(-9)
    model = AdditiveModel(shapes, 0, features=[Feature("m", mixed), Feature("n", numbers)])
    explainer = Explainer(model)
    document = explainer.inflate([None, 0], "inf", features=["m"], immutable=["n"]).certificate().document
    assert checked(model, explainer.inflate([None, 0], "inf", features=["m"], immutable=["n"])).startswith("Proven: ")
    missing, label = {"missing": True}, {"label": "a"}
    for values in ([missing, label], [label, missing], [label], [missing, {"label": "c"}], [missing, missing]):
        forged = document | {"result": document["result"] | {"ranges": [{"feature": 0, "values": values}]}}
        with pytest.raises(suffice_check.RejectedError, match="ranges"):
            suffice_check.check(to_bytes(model), json.dumps(forged).encode())
    around = explainer.inflate([None, 0], "1/2", unit="raw", features=["n", "m"])
    wide = around.ranges["n"]
    assert str(wide) == "[-20, 10] without -9"
    assert [x in wide for x in (-20, -9, 10)] == [True, False, True]
    assert [x["exact"] for x in wide.document()["without"]] == ["-9"]
    assert "as long as 'n' is in [-20, 10] (of its domain) without -9 and 'm' is one of missing" in checked(
        model, around
    )


def test_a_number_of_sets_has_no_certificate():
    every = Explainer(ZOO).explanations(next(rows_of(1)), 1, unit="raw")
    with pytest.raises(suffice.CertificateError, match="list the sets"):
        every.counted().certificate()


def test_steps_of_any_number_of_cuts_are_certified():
    model = AdditiveModel([Steps(list(range(2**15)), [1] * 2**15 + [2])])
    assert checked(model, Explainer(model).explain([0], math.inf)).startswith("Proven: ")


def test_the_same_result_gives_the_same_bytes():
    row = next(rows_of(1))
    first, second = (Explainer(ZOO).explain(row, 1, unit="raw").certificate().text for _ in range(2))
    assert first == second
    assert first == json.dumps(json.loads(first), separators=(",", ":")) + "\n"


def test_a_certificate_is_for_the_file_that_holds_the_model(tmp_path):
    path, row = tmp_path / "zoo.safetensors", next(rows_of(1))
    ZOO.save(path)
    why = Explainer(suffice.load(path)).explain(row, 1, unit="raw")
    why.certificate().save(tmp_path / "why.json")
    assert suffice_check.check_files(path, tmp_path / "why.json").startswith("Proven: ")
    header = int.from_bytes(path.read_bytes()[:8], "little")
    spaced = path.read_bytes()[8 : 8 + header] + b" " * 8  # the same model in other bytes
    other = tmp_path / "spaced.safetensors"
    other.write_bytes((header + 8).to_bytes(8, "little") + spaced + path.read_bytes()[8 + header :])
    with pytest.raises(suffice_check.RejectedError, match="model"):
        suffice_check.check_files(other, tmp_path / "why.json")
    why.certificate(other).save(tmp_path / "other.json")
    assert suffice_check.check_files(other, tmp_path / "other.json").startswith("Proven: ")


def test_a_file_of_another_model_is_refused(tmp_path):
    AdditiveModel([Steps([1], [0, 1])]).save(tmp_path / "m.safetensors")
    with pytest.raises(suffice.ModelFileError, match="holds a different model"):
        Explainer(ZOO).explain(next(rows_of(1)), 1, unit="raw").certificate(tmp_path / "m.safetensors")


def test_a_certificate_that_cannot_be_written_says_so(tmp_path):
    certificate = Explainer(ZOO).explain(next(rows_of(1)), 1, unit="raw").certificate()
    with pytest.raises(suffice.CertificateError, match="cannot be written"):
        certificate.save(tmp_path / "no" / "such" / "folder.json")


def test_the_command_line_writes_and_checks_certificates(tmp_path):
    model = AdditiveModel(
        [PiecewiseLinear([0], [0], 1, 1), Table({"red": 1, "blue": -1})], "1/4", features=["size", "colour"]
    )
    model.save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_text("size,colour\n1,red\n-3,blue\n")
    path, table, why = (str(tmp_path / name) for name in ("m.safetensors", "t.csv", "why.json"))
    run = CliRunner().invoke
    asked = [path, table, "--radius", "1", "--unit", "raw", "--certificate", why]
    for command in ("explain", "contrast"):
        assert run(app, [command, *asked, "--row", "0"]).exit_code == 0
        done = run(app, ["check", path, why])
        assert (done.exit_code, done.output[:8]) == (0, "Proven: ")
    assert run(app, ["explain", *asked, "--row", "0", "--row", "1"]).exit_code == 0
    for row in (0, 1):
        assert run(app, ["check", path, str(tmp_path / f"why-{row}.json")]).exit_code == 0
    text = (tmp_path / "why-0.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"radius":"1"', '"radius":"9"'))
    done = run(app, ["check", path, str(tmp_path / "bad.json")])
    assert (done.exit_code, done.output[:10]) == (1, "Rejected: ")
    (tmp_path / "bad.json").write_text(text[:-20])
    done = run(app, ["check", path, str(tmp_path / "bad.json")])
    assert (done.exit_code, done.output[:12]) == (2, "Cannot read ")
