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
    AtLeast,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    Product,
    Status,
    Steps,
    Table,
    Within,
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
    # Labels change by nothing, but only where a radius lets them.
    inside, outside = (least, least - TINY) if found.is_attained and least else (least + TINY, least)
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
        "Prediction: 1 (probability 0.982)",
        "Region: within 10 of the row's value; b cannot change",
        "Proven: changing 1 feature can change the prediction; no fewer can; with so few changes, the largest change "
        "must exceed 0.4 radii.",
        "  a  1 -> -3.005859375",
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
    assert set(oracle.changed(point)) == set(found.changed)
    assert (found.cost, found.lower_bound, wished.cost(found.changed)) == (least, least, least)
    assert (found.least_change, found.is_attained) == (nearest, True)
    assert max(found.changes.values()) == largest_change(point) == nearest
    assert max_changed is None or found.size <= max_changed


@settings(max_examples=200)
@given(finite_cases(most=5), st.sampled_from([0, 1, 2, 4]), st.data())
def test_a_budget_that_ends_leaves_true_bounds(case, max_nodes, data):
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names)))
    found = Explainer(model).counterfactual(
        oracle.row, 2, claim=claim, unit="raw", max_nodes=max_nodes, **wished.options(model.names)
    )
    breaking = oracle.breaks(claim, 2, wished)
    assert found.is_possible == bool(breaking)
    if not breaking:
        return
    least = min(wished.cost(oracle.changed(p)) for p in breaking)
    changes = {p: max((oracle.change(i, p[i]) for i in oracle.changed(p)), default=Fraction(0)) / 2 for p in breaking}
    affordable = [change for p, change in changes.items() if wished.cost(oracle.changed(p)) <= found.cost]
    assert tuple(found.counterexample.values()) in breaking
    assert found.cost == wished.cost(found.changed)
    assert found.lower_bound <= least <= found.cost
    assert found.least_change <= min(affordable)
    if found.status is Status.PROVEN:
        assert (found.cost, found.least_change) == (least, min(affordable))


def test_a_search_that_ended_early_rules_nothing_out():
    falls = [[0, 0, -9], [0, -6, -8], [0, -9, -9]]
    features = [Feature(name, Domain.integers(0, 2)) for name in "abc"]
    explainer = Explainer(AdditiveModel([Steps([1, 2], f) for f in falls], task="regression", features=features))
    asked = {"unit": "raw", "claim": AtLeast(-5), "cost": {"c": 2}}
    best = explainer.counterfactual([0, 0, 0], 2, **asked)
    assert (best.status, best.features, best.least_change) == (Status.PROVEN, ("b",), Fraction(1, 2))
    early = explainer.counterfactual([0, 0, 0], 2, max_nodes=0, **asked)
    assert (early.status, early.features, early.least_change) == (Status.BOUNDED, ("a",), 0)
    assert "radi" not in str(early)


def test_a_change_of_category_is_one_of_size_0():
    found = Explainer(AdditiveModel([Table({"p": 1, "q": -1})], features=["a"])).counterfactual(["p"], 1)
    assert (found.least_change, found.is_attained, found.changes) == (0, True, {"a": 0})
    assert str(found).splitlines()[2] == "Proven: changing 1 feature can change the prediction; no fewer can."


def test_only_what_changes_is_said_to_change():
    shapes = [Table({"p": 0, "q": -3, "r": 9}), Steps([1], [0, -3])]
    model = AdditiveModel(shapes, task="regression", features=["a", Feature("c", Domain.integers(0, 1))])
    found = Explainer(model).counterfactual(["p", 0], 1, unit="raw", claim=Within(5), free=["a", "c"])
    assert (found.features, found.cost) == (("a",), 0)


def test_with_costs_the_least_change_is_that_of_changes_that_cost_no_more():
    shapes = [Steps([1], [0, -9]), Steps([3], [0, -5]), Steps([3], [0, -5])]
    features = [Feature(name, Domain.integers(0, 3)) for name in "abc"]
    explainer = Explainer(AdditiveModel(shapes, task="regression", features=features))
    text = str(explainer.counterfactual([0, 0, 0], 3, unit="raw", claim=AtLeast(-8), cost={"a": 5}))
    assert "costs less than 2 can; at this cost, the largest change must be at least 1 radius." in text


def test_a_break_at_the_very_end_of_the_region_is_found_though_its_radius_is_only_enclosed():
    line = PiecewiseLinear([0], [0], 1, 1)
    pairs = {("a", "b"): Product(line, line * "1/8")}
    model = AdditiveModel([Steps([1], [1, -1]), Steps([5], [0, 0])], features=["a", "b"], pairs=pairs)
    nearest = Explainer(model).counterfactual([0, 0], 1, unit="raw")
    assert (nearest.features, nearest.counterexample) == (("a",), {"a": 1, "b": 0})
    assert 1 - TINY < nearest.least_change <= 1


def test_a_feature_whose_pair_term_alone_falls_may_be_the_nearest():
    # Up to 1 the own part of `a` is flat, but its pair term falls; `c` jumps at 1, as cheaply but further away.
    domain, line, flat = Domain.interval(-3, 3), PiecewiseLinear([0], [0], 1, 1), Steps([3], [0, 0])
    features, pairs = [Feature(name, domain) for name in "abc"], {("a", "b"): Product(line, Steps([3], ["-10/9"] * 2))}
    model = AdditiveModel([flat, flat, Steps([1], [0, -5])], 1, features=features, pairs=pairs)
    nearest = Explainer(model).counterfactual([0, 0, 0], 1, unit="raw")
    assert nearest.features == ("a",)
    assert Fraction(9, 10) - TINY < nearest.least_change <= Fraction(9, 10)
    assert nearest.status is Status.BOUNDED
