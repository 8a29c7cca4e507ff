"""Largest radii on numeric models, against plain evaluation.

All parameters are small rationals, so that anything that happens happens at a rational of small height: within TINY of
it on either side nothing else does.
"""

import math
from fractions import Fraction

from builders import RISING
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import enough
from strategies import numeric_cases

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
)

TINY = Fraction(1, 10**12)


def sides(limit):
    """Radii just inside and just outside a limit."""
    if limit.is_attained:
        return [limit.radius], [limit.radius + TINY]
    return [limit.radius - TINY], [limit.radius]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numeric_cases(), st.data())
def test_the_radius_is_the_last_that_suffices(case, data):
    model, row, claim, plains, parts = case
    fixed = data.draw(st.sets(st.sampled_from(range(len(row)))))
    limit = Explainer(model).radius(row, [model.names[i] for i in sorted(fixed)], claim=claim, unit="raw")
    if limit.radius == math.inf:
        assert all(enough(fixed, row, plains, parts, radius) for radius in (1, 10, 1000))
        return
    inside, outside = sides(limit)
    assert all(enough(fixed, row, plains, parts, radius) for radius in inside)
    assert not any(enough(fixed, row, plains, parts, radius) for radius in outside)


def test_a_radius_by_hand():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3], 0, features=["a", "b"]))
    assert explainer.radius([1, 1], ["b"], unit="raw").limit == suffice.Limit(Fraction(4), is_attained=True)
    assert explainer.radius([1, 1], [], unit="raw").limit == suffice.Limit(Fraction(1), is_attained=True)
    assert explainer.radius([1, 1], ["a", "b"], unit="raw").limit == suffice.Limit(math.inf, is_attained=True)
    negative = Explainer(AdditiveModel([RISING], -2))
    assert negative.radius([1], [], unit="raw").limit == suffice.Limit(
        Fraction(1), is_attained=False
    )  # a score of 0 is positive
    assert str(negative.radius([1], [], unit="raw").limit) == "below 1"
    assert str(negative.radius([1], [], unit="raw")).splitlines() == [
        "Prediction: 0 (probability 0.731)",
        "Proven: with nothing fixed, the prediction stays the same at every radius below 1 (in the features' own "
        "units), but not beyond.",
    ]


def test_a_radius_for_a_probability_is_just_inside():
    explainer = Explainer(AdditiveModel([RISING], 0))
    limit = explainer.radius([4], [], claim=ProbabilityAtLeast("0.9"), unit="raw")
    assert abs(float(limit.radius) - (4 - math.log(9))) < 1e-14
    assert explainer.is_sufficient([4], [], limit.radius, claim=ProbabilityAtLeast("0.9"), unit="raw")


def test_a_radius_on_reals_and_integers():
    domain = suffice.Domain.interval(0, 1) | suffice.Domain.integers(3, 10)
    explainer = Explainer(AdditiveModel([RISING * -1], "4.2", features=[Feature("a", domain)]))
    assert explainer.radius(["1/2"], [], unit="raw").limit == suffice.Limit(Fraction(9, 2), is_attained=False)
    assert explainer.counterfactual(["1/2"], radius=9, unit="raw").least_change == Fraction(1, 2)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numeric_cases(), st.sampled_from([1, 2, 3]), st.data())
def test_the_radius_is_the_last_that_suffices_where_few_may_change(case, max_changed, data):
    model, row, claim, plains, parts = case
    fixed = data.draw(st.sets(st.sampled_from(range(len(row)))))
    names, explainer = [model.names[i] for i in sorted(fixed)], Explainer(model)
    asked = {"claim": claim, "max_changed": max_changed, "unit": "raw"}
    limit = explainer.radius(row, names, **asked).limit
    far = limit.radius == math.inf
    inside, outside = ([Fraction(1), Fraction(10), Fraction(1000)], []) if far else sides(limit)
    for radius in (*inside, *outside):
        if radius < 0:
            continue
        is_enough = enough(fixed, row, plains, parts, radius, max_changed)
        assert is_enough == (radius in inside)
        assert explainer.is_sufficient(row, names, radius, **asked) == is_enough


def test_drops_that_overtake_each_other_by_hand():
    """Of a slow start and a steep one only the larger counts: the margin is used up where the steep one has passed."""
    slow, steep = PiecewiseLinear([0], [0], 1, 1), PiecewiseLinear([-1, 0], [0, 0], left_slope=3)
    explainer = Explainer(AdditiveModel([slow, steep], 4, features=["slow", "steep"]))
    row = [0, 0]
    both = explainer.radius(row, [], unit="raw")
    assert both.limit == suffice.Limit(Fraction(7, 4), is_attained=True)  # r + 3 (r - 1) = 4
    one = explainer.radius(row, [], unit="raw", max_changed=1)
    assert one.limit == suffice.Limit(Fraction(7, 3), is_attained=True)  # 3 (r - 1) = 4
    assert explainer.radius(row, ["steep"], unit="raw", max_changed=1).limit == suffice.Limit(Fraction(4), True)
