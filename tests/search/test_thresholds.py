"""Radii, curves, ranges and counterfactuals of a threshold that is not rational: decided, or enclosed and said so."""

from decimal import Context, Decimal
from fractions import Fraction

import pytest

from suffice import AdditiveModel, Explainer, PiecewiseLinear, ProbabilityAtLeast, Status, Steps, Table

DIGITS = Context(prec=150)


def sigmoid(score, digits, up=False):
    """A decimal just below (or above) 1 / (1 + e^-score)."""
    value = DIGITS.divide(Decimal(1), DIGITS.add(Decimal(1), Decimal(-score).exp(DIGITS)))
    step = Decimal(1).scaleb(-digits)
    return Fraction(value.quantize(step, rounding="ROUND_FLOOR", context=DIGITS)) + (Fraction(step) if up else 0)


def logit(p):
    odds = DIGITS.divide(Decimal(p.numerator), Decimal(p.denominator - p.numerator))
    return Fraction(odds.ln(DIGITS))


@pytest.mark.parametrize("is_above", [False, True])
def test_a_jump_close_to_the_threshold_is_decided(is_above):
    """The threshold is within 10^-80 of the score after the jump, far closer than the first enclosure."""
    explainer = Explainer(AdditiveModel([Steps([1], [2, 1]), Steps([3], [0, -9])], features=["a", "b"]))
    asked = {"claim": ProbabilityAtLeast(sigmoid(1, 80, up=is_above)), "unit": "raw"}
    row = [0, 0]
    assert explainer.is_sufficient(row, ["b"], 5, **asked) is not is_above
    largest = explainer.radius(row, ["b"], **asked)
    assert (largest.radius, largest.is_attained, largest.status) == (
        (1, False, Status.PROVEN) if is_above else (float("inf"), True, Status.PROVEN)
    )
    curve = explainer.curve(row, until=2, **asked)
    assert [(step.limit.radius, step.limit.is_attained, step.cost) for step in curve.steps] == (
        [(1, False, 0), (2, True, 1)] if is_above else [(2, True, 0)]
    )
    assert curve.status is Status.PROVEN
    ranges = explainer.inflate(row, 0, features=["a", "b"], **asked).ranges
    assert str(ranges["a"]) == ("(-∞, 1)" if is_above else "(-∞, ∞)")
    near = explainer.counterfactual(row, 5, **asked)
    assert (near.features, near.least_change) == (("a",), Fraction(1, 5)) if is_above else (("b",), Fraction(3, 5))
    assert near.status is Status.PROVEN


def test_a_slope_that_crosses_the_threshold_ends_at_a_bound_and_says_so():
    p = Fraction(9, 10)
    explainer = Explainer(AdditiveModel([PiecewiseLinear([0], [10], right_slope=-2), Table({"q": 1})]))
    asked, true = {"claim": ProbabilityAtLeast(p), "unit": "raw"}, (11 - logit(p)) / 2
    largest = explainer.radius([0, "q"], [], **asked)
    assert largest.status is Status.BOUNDED
    assert 0 < true - largest.radius < Fraction(1, 10**30)
    assert "which is not rational, lies less than" in str(largest)
    curve = explainer.curve([0, "q"], until=9, **asked)
    assert [step.cost for step in curve.steps] == [0, 1]
    assert curve.steps[0].limit.radius == largest.radius
    assert curve.status is Status.BOUNDED
    assert "Note: of a stretch, the true end, which is not rational" in str(curve)
    inflated = explainer.inflate([0, "q"], 0, features=["x0"], **asked)
    assert 0 < true - inflated.ranges["x0"].high < Fraction(1, 10**30)
    assert inflated.status is Status.BOUNDED
    assert "Note: the true end, which is not rational" in str(inflated)
    near = explainer.counterfactual([0, "q"], 10, **asked)
    assert near.status is Status.BOUNDED
    assert 0 < true / 10 - near.least_change < Fraction(1, 10**30)
    assert explainer.score([near.counterexample["x0"], "q"]) < logit(p)


def test_two_features_that_share_an_irrational_end_are_told_apart_from_later_ones():
    p = Fraction(4, 5)
    falling = PiecewiseLinear([0], [1], right_slope=-1)
    explainer = Explainer(AdditiveModel([falling, falling, PiecewiseLinear([0], [1], right_slope=-3)]))
    asked = {"claim": ProbabilityAtLeast(p), "unit": "raw"}
    curve = explainer.curve([0, 0, 0], until=100, **asked)
    room = 3 - logit(p)
    assert [step.cost for step in curve.steps] == [0, 1, 2, 3]
    for step, slope in zip(curve.steps, (5, 2, 1), strict=False):
        assert 0 < room / slope - step.limit.radius < Fraction(1, 10**30)
    inflated = explainer.inflate([0, 0, 0], 0, features=["x0", "x1", "x2"], **asked)
    assert 0 < room - inflated.ranges["x0"].high < Fraction(1, 10**30)
    assert (inflated.ranges["x1"].high, inflated.ranges["x2"].high) == (0, 0)
    near = explainer.counterfactual([0, 0, 0], 100, **asked)
    assert near.features == ("x2",)
