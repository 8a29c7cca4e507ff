"""What is charged for rounding, against forward passes in floats."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    Explainer,
    Feature,
    ReluNetwork,
    Status,
    Steps,
    Table,
)


def forward(network, x, kind, rng):
    """The network's forward pass in a float type, every sum in a random order."""
    h = np.array([x], dtype=kind)
    for k, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        rows = []
        for w, b in zip(weight.astype(kind), bias.astype(kind), strict=True):
            terms = np.append(w * h, b)
            total = kind(0)
            for term in rng.permutation(terms):
                total = kind(total + term)
            rows.append(total)
        h = np.array(rows, dtype=kind)
        if k < len(network.weights) - 1:
            h = np.maximum(h, kind(0))
    return h


@pytest.mark.parametrize(("name", "kind"), [("float32", np.float32), ("float64", np.float64)])
def test_rounding_stays_within_the_charge(name, kind):
    rng = np.random.default_rng(0)
    for _ in range(20):
        widths = [1, *rng.integers(1, 9, size=rng.integers(1, 4)), 1]
        weights = [rng.normal(size=(o, i)).astype(kind) for i, o in pairwise(widths)]
        network = ReluNetwork(weights, [rng.normal(size=o).astype(kind) for o in widths[1:]])
        center, scale = float(rng.normal()), float(rng.uniform(0.5, 3))
        model = AdditiveModel([network] * 2, 0.1, features=[Feature("a", center=center, scale=scale), "b"])
        explainer = Explainer(model)
        row = rng.normal(size=2).tolist()
        why = explainer.explain(row, 1, unit="raw", claim=AtLeast(-1000), arithmetic=name)
        (charge,) = why.charged
        charge = Fraction(str(charge))
        assert charge < (1e-3 if kind is np.float32 else 1e-11)
        for _ in range(50):
            a, b = (np.array(row) + rng.uniform(-1, 1, size=2)).tolist()
            scaled = kind((kind(a) - kind(center)) / kind(scale))
            parts = [forward(network, scaled, kind, rng)[0], forward(network, kind(b), kind, rng)[0], kind(0.1)]
            computed = kind(0)
            for part in rng.permutation(np.array(parts, dtype=kind)):
                computed = kind(computed + part)
            assert abs(Fraction(float(computed)) - explainer.score([a, b])) <= charge


def test_the_charge_is_taken_from_the_margin_and_reported():
    network = ReluNetwork([np.ones((3, 1), np.float32), np.ones((1, 3), np.float32)], [np.zeros(3, np.float32), None])
    explainer = Explainer(AdditiveModel([network] * 2, 0))
    exact, deployed = (
        explainer.explain([1, 1], radius=1, arithmetic=kind, unit="raw") for kind in ("exact", "float32")
    )
    assert exact.size == 0  # both may fall to a score of exactly 0, which is positive
    assert (deployed.size, deployed.lower_bound, deployed.status) == (1, 0, Status.BOUNDED)
    assert exact.margin - deployed.margin == Fraction(str(deployed.charged[0])) > 0
    assert "Charged: up to" in str(deployed)
    assert "a bound on float32 rounding was subtracted" in str(deployed)
    with pytest.raises(suffice.ClaimError, match="rounding alone may break the claim"):
        explainer.explain([0, 0], radius=1, arithmetic="float32", unit="raw")


def charge(shapes, row, *, radius=0, intercept=0, kind="float32", features=None, **question):
    """What is charged for a regression, and its exact score."""
    explainer = Explainer(AdditiveModel(shapes, intercept, "regression", features=features))
    low = question.pop("claim", AtLeast(explainer.score(row) - 10**30))
    (found, *_) = explainer.explain(row, radius, claim=low, arithmetic=kind, unit="raw", **question).charged
    return Fraction(str(found)), explainer.score(row)


def summed(terms):
    """A sum in float32, from left to right."""
    total = np.float32(0)
    for term in terms:
        total = np.float32(total + np.float32(term))
    return Fraction(float(total))


TINY = 2.0**-24  # 1 + TINY is 1 in float32, again and again


def test_the_charge_covers_a_sum_that_loses_every_term():
    """The bounds are nearly attained: a 1 swallows a thousand tiny terms, in a layer and in the sum over features."""
    weights = np.array([[1.0] + [TINY] * 1000], dtype=np.float32)
    ones = ReluNetwork([np.zeros((1001, 1), np.float32), weights], [np.ones(1001, np.float32), None])
    found, exact = charge([ones], [0])
    assert exact - summed(weights[0]) <= found < 4 * (exact - summed(weights[0]))
    constants = [ReluNetwork([np.zeros((1, 1), np.float32)], [np.array([w], np.float32)]) for w in weights[0, :200]]
    found, exact = charge(constants, [0] * 200)
    assert exact - summed(weights[0, :200]) <= found < 4 * (exact - summed(weights[0, :200]))


def test_the_charge_covers_rounded_inputs_and_scalings():
    identity = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    found, exact = charge([identity], [1000000.03])
    assert abs(exact - Fraction(float(np.float32(1000000.03)))) <= found
    scaled = [Feature("a", center=1000000.03, scale=3)]
    found, exact = charge([identity], [1000000.0], features=scaled)
    assert abs(exact - Fraction(float(np.float32(1000000.0) - np.float32(1000000.03))) / 3) <= found
    code = [Feature("a", suffice.Domain.interval(0, 1) | suffice.Domain.codes(1000000.03))]
    found, exact = charge([identity], [1000000.03], features=code)
    assert abs(exact - Fraction(float(np.float32(1000000.03)))) <= found


def test_the_charge_covers_exponential_and_leaky_units():
    exu = ReluNetwork([np.array([[60.3]]), np.array([[1.0]])], [np.zeros(1), np.zeros(1)], exu=True)
    found, exact = charge([exu], [1])
    assert abs(exact - Fraction(float(np.exp(np.float32(60.3))))) <= found
    leaky = ReluNetwork([np.array([[1.0]]), np.array([[1.0]])], [np.zeros(1), np.zeros(1)], "leaky_relu")
    found, exact = charge([leaky], [-1000003])
    assert abs(exact - Fraction(float(np.float32(0.01) * np.float32(-1000003)))) <= found


def test_the_charge_covers_tables_and_their_sums():
    thirds = Table({"a": Fraction(1, 3), "b": 5}) + Table({"a": Fraction(-1, 3), "b": 5})
    found, exact = charge([thirds * Fraction(1, 7)], ["a"])
    assert exact == 0 < found
    found, exact = charge([Table({7: Fraction(1, 3)})], [7])
    assert abs(exact - Fraction(float(np.float32(1 / 3)))) <= found


def test_every_side_of_a_claim_is_charged():
    identity = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    at_least, _ = charge([identity], [3], radius=1)
    at_most, _ = charge([identity], [3], radius=1, claim=suffice.AtMost(100))
    within, _ = charge([identity], [3], radius=1, claim=suffice.Within(100))
    assert at_least == at_most == within / 2 > 0  # within compares two computed scores
    two = ReluNetwork([np.ones((2, 1), np.float32)], [np.array([0, 5], np.float32)])
    why = Explainer(AdditiveModel([two], [0, 0], "multiclass")).explain([3], 1, arithmetic="float32", unit="raw")
    assert Fraction(str(why.charged[0])) > at_least  # both scores are computed
    negative = Explainer(AdditiveModel([identity], -100)).explain([3], 1, arithmetic="float32", unit="raw")
    assert Fraction(str(negative.charged[0])) > 0


OVERFLOWS = [
    ([np.array([[1e30]]), np.array([[1e20]]), np.array([[1e-45]])], "float32"),
    ([np.array([[1e39]]), np.array([[1e-39]])], "float32"),
    ([np.array([[1e200]]), np.array([[1e200]]), np.array([[1e-300]])], "float64"),
]


@pytest.mark.parametrize(("weights", "kind"), OVERFLOWS, ids=range(3))
def test_floats_that_overflow_on_the_way_have_no_bound(weights, kind):
    network = ReluNetwork(weights, [np.zeros(1)] * len(weights))
    with pytest.raises(suffice.ClaimError, match=f"{kind} may overflow within this region"):
        charge([network], [1], radius=1, kind=kind)


def test_shapes_that_jump_have_no_small_rounding_error():
    explainer = Explainer(AdditiveModel([Steps([0], [1, 2])], 0))
    with pytest.raises(suffice.ClaimError, match="the shape of 'x0' jumps or is not a network"):
        explainer.explain([1], radius=1, arithmetic="float32", unit="raw")
    inside = Table({2: 3}, otherwise=ReluNetwork([[[1.0]]], [[0.0]]))
    with pytest.raises(suffice.ClaimError, match="the shape of 'x0' jumps"):
        Explainer(AdditiveModel([inside], 5, features=[Feature("x0", suffice.Domain.reals())])).explain(
            [1], radius=2, arithmetic="float32", unit="raw"
        )
    with pytest.raises(suffice.ClaimError, match="the region of 'x0' is unbounded"):
        explainer.explain([1], radius=math.inf, arithmetic="float32", unit="raw")
