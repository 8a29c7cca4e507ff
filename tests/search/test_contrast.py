"""Smallest changes that break a claim, against trying all inputs."""

import pytest
from builders import drop_model
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Wishes, subsets
from strategies import finite_cases, wishes

import suffice
from suffice import AdditiveModel, Explainer, Status


@settings(max_examples=250)
@given(finite_cases(), st.sampled_from([1, 2]), st.sampled_from([None, None, 1, 2]), st.booleans(), st.data())
def test_the_cheapest_change_is_that_of_trying_all_inputs(case, radius, max_changed, has_wishes, data):
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names))) if has_wishes else Wishes()
    immutable = data.draw(st.sets(st.sampled_from(range(len(model.names))), max_size=1)) - wished.free
    breaking = oracle.breaks(
        claim, [0 if i in immutable else radius for i in range(len(model.names))], wished, max_changed
    )
    found = Explainer(model).contrast(
        oracle.row,
        radius,
        claim=claim,
        max_changed=max_changed,
        unit="raw",
        immutable=[model.names[i] for i in immutable],
        **wished.options(model.names),
    )
    assert (found.is_possible, found.status) == (bool(breaking), Status.PROVEN)
    if not breaking:
        return
    point = tuple(found.counterexample.values())
    least = min(wished.cost(oracle.changed(p)) for p in breaking)
    assert point in breaking
    assert set(oracle.changed(point)) <= set(found.changed)
    assert (found.cost, found.lower_bound, wished.cost(found.changed)) == (least, least, least)
    if not has_wishes:
        assert found.size == least
    assert max_changed is None or found.size <= max_changed


def test_falls_without_bound_break_any_claim():
    line = suffice.PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    explainer = Explainer(AdditiveModel([line, line], 0, features=["a", "b"]))
    contrast = explainer.contrast([1, 1], radius={"a": "inf", "b": 1}, unit="raw")
    assert contrast.features == ("a",)
    assert explainer.predict(contrast.counterexample) == 0
    none = explainer.contrast([1, 1], radius=0, unit="raw")
    assert (none.is_possible, none.features, none.size) == (False, (), 0)
    assert str(none).splitlines() == [
        "Prediction: 1 (probability 0.881)",
        "Region: within 0 of the row's value",
        "Proven: no change within the region can change the prediction.",
    ]
    with pytest.raises(suffice.ClaimError, match="no input in the region is known to break the claim"):
        none.counterexample  # noqa: B018


@settings(max_examples=200)
@given(finite_cases(), st.integers(0, 2), st.data())
def test_a_budget_that_ends_leaves_a_true_bound_on_the_cost(case, nodes, data):
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names)))
    found = Explainer(model).contrast(
        oracle.row, 1, claim=claim, unit="raw", max_nodes=nodes, **wished.options(model.names)
    )
    breaking = oracle.breaks(claim, 1, wished)
    assert found.is_possible == bool(breaking)
    if breaking:
        least = min(wished.cost(oracle.changed(p)) for p in breaking)
        assert found.lower_bound <= least <= found.cost
        assert tuple(found.counterexample.values()) in breaking
        assert (found.status is Status.PROVEN) == (found.lower_bound == found.cost)


def test_a_search_that_ends_says_so():
    drops = (7, 9, 5, 9, 3, 6, 1, 3, 3, 8)
    prices = (3, 4, 2, 4, 1, 3, 1, 1, 2, 3)
    explainer, row = drop_model(*drops, margin=22), ["a"] * 10
    cost = {f"x{i}": price for i, price in enumerate(prices)}
    least = min(sum(prices[i] for i in s) for s in subsets(10) if sum(drops[i] for i in s) > 22)
    proven = explainer.contrast(row, 1, unit="raw", cost=cost)
    assert (proven.cost, proven.lower_bound, proven.status) == (least, least, Status.PROVEN)
    hasty = explainer.contrast(row, 1, unit="raw", cost=cost, max_nodes=1)
    assert hasty.lower_bound <= least < hasty.cost
    assert (hasty.status, hasty.caveat) == (Status.BOUNDED, "the search ran out of its budget")
    bound = f"no set of changes that costs less than {hasty.lower_bound} can (the search ran out of its budget)."
    assert str(hasty).splitlines()[2] == (f"Proven: changing {hasty.size} features can change the prediction; {bound}")
