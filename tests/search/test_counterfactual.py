"""Nearest inputs that break a claim, against plain evaluation."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from builders import RISING
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import enough
from strategies import finite_cases, numeric_cases, wishes

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    Status,
)

TINY = Fraction(1, 10**12)


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numeric_cases(), st.sampled_from([Fraction(1), Fraction(2), Fraction(3)]))
def test_a_counterfactual_is_the_nearest_with_fewest_changes(case, radius):
    model, row, claim, plains, parts = case
    found = Explainer(model).counterfactual(row, radius, claim=claim, unit="raw")
    everything = set(range(len(row)))

    def fewest(reach):
        sizes = [
            size
            for size in range(len(row) + 1)
            for moving in combinations(sorted(everything), size)
            if not enough(everything - set(moving), row, plains, parts, reach)
        ]
        return min(sizes, default=math.inf)

    assert found.is_possible == (fewest(radius) < math.inf)
    if not found.is_possible:
        return
    assert found.size == fewest(radius)
    least = found.least_change * radius
    inside, outside = (least, least - TINY) if found.is_attained else (least + TINY, least)
    assert fewest(inside) == found.size
    assert outside < 0 or fewest(outside) > found.size
    point = [found.counterexample[name] for name in model.names]
    there = [
        [sum(f * out for f, out in zip(fs, p.evaluate(v), strict=True)) for p, v in zip(plains, where, strict=True)]
        for fs, _, _ in parts
        for where in (row, point)
    ]
    values = [m + sum(there[2 * k + 1]) - sum(there[2 * k]) for k, (_, m, _) in enumerate(parts)]
    assert any(value < 0 or (value == 0 and strict) for value, (_, _, strict) in zip(values, parts, strict=True))
    assert max(found.changes.values()) <= found.least_change + (0 if found.is_attained else Fraction(1, 1000))
    assert {name for name, old, new in zip(model.names, row, point, strict=True) if old != new} <= set(found.features)


def test_counterfactuals_count_changes_in_radii_and_leave_held_features_alone():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3], 0, features=["a", "b"]))
    free = explainer.counterfactual([1, 1], radius={"a": 10, "b": 10}, unit="raw")
    assert (free.features, free.least_change, free.is_attained) == (("b",), Fraction(4, 30), False)
    held = explainer.counterfactual([1, 1], radius=10, immutable=["b"], unit="raw")
    assert (held.features, held.least_change) == (("a",), Fraction(4, 10))
    assert held.counterexample["b"] == 1
    assert str(held).splitlines() == [
        "Prediction: 1",
        "Region: within 10 of the row's value; b cannot change",
        "Proven: changing 1 feature can change the prediction; no fewer can; with so few changes, the largest must "
        "exceed 0.4 radii.",
        "  a  1 -> -3.00586",
    ]
    assert not explainer.counterfactual([1, 1], radius=1, unit="raw").is_possible
    with pytest.raises(suffice.RadiusError, match="every radius must be finite"):
        explainer.counterfactual([1, 1], radius=math.inf, unit="raw")


@settings(max_examples=300)
@given(finite_cases(most=4), st.sampled_from([1, 2, 3]), st.sampled_from([None, None, 1, 2]), st.data())
def test_the_nearest_cheapest_input_is_that_of_trying_all_inputs(case, radius, max_changed, data):
    """Inputs are finitely many, so that cost first and the largest change second can be compared one by one."""
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names)))
    asked = {"claim": claim, "max_changed": max_changed, "unit": "raw", **wished.options(model.names)}
    found = Explainer(model).counterfactual(oracle.row, radius, **asked)
    breaking = oracle.breaks(claim, radius, wished, max_changed)
    assert (found.is_possible, found.status) == (bool(breaking), Status.PROVEN)
    if not breaking:
        return

    def largest_change(point):
        return max((oracle.change(i, point[i]) for i in oracle.changed(point)), default=Fraction(0)) / radius

    least = min(wished.cost(oracle.changed(p)) for p in breaking)
    nearest = min(largest_change(p) for p in breaking if wished.cost(oracle.changed(p)) == least)
    point = tuple(found.counterexample.values())
    assert point in breaking
    assert set(oracle.changed(point)) <= set(found.changed)
    assert (found.cost, found.lower_bound, wished.cost(found.changed)) == (least, least, least)
    assert (found.least_change, found.is_attained) == (nearest, nearest > 0)
    if found.is_attained:  # else labels alone change, which is no distance, but needs a radius above 0
        assert max(found.changes.values()) == largest_change(point) == nearest
    assert max_changed is None or found.size <= max_changed


@settings(max_examples=100)
@given(finite_cases(most=5), st.data())
def test_a_budget_that_ends_leaves_a_true_bound(case, data):
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names)))
    found = Explainer(model).counterfactual(
        oracle.row, 2, claim=claim, unit="raw", max_nodes=1, **wished.options(model.names)
    )
    breaking = oracle.breaks(claim, 2, wished)
    assert found.is_possible == bool(breaking)
    if breaking:
        least = min(wished.cost(oracle.changed(p)) for p in breaking)
        assert found.lower_bound <= least <= found.cost
        assert (found.status is Status.PROVEN) == (found.lower_bound == found.cost)
        assert tuple(found.counterexample.values()) in breaking
