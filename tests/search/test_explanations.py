"""All minimal sets, against trying all sets."""

import math

import pytest
from builders import RISING, drop_model
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import finite_cases, wishes

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    PiecewiseLinear,
    Table,
)


@settings(max_examples=150)
@given(finite_cases(), st.sampled_from([1, 2]), st.sampled_from([None, None, 1, 2]), st.data())
def test_preferences_and_budgets_against_trying_everything(case, radius, max_changed, data):
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names)))
    enough = oracle.sufficient_sets(claim, radius, wished, max_changed)
    asked = {"claim": claim, "max_changed": max_changed, "unit": "raw", **wished.options(model.names)}
    explainer, row = Explainer(model), oracle.row
    if not enough:
        refused = oracle.refusal(claim, model.names, wished.free, radius, max_changed)
        for minimal in ("size", "subset"):
            with pytest.raises(suffice.PreferenceError) as error:
                explainer.explanations(row, radius, minimal=minimal, **asked)
            assert str(error.value) == refused
        return
    least = min(map(wished.cost, enough))
    every = explainer.explanations(row, radius, **asked)
    found = [frozenset(model.names.index(name) for name in names) for names in every]
    assert sorted(map(sorted, found)) == sorted(sorted(fixed) for fixed in enough if wished.cost(fixed) == least)
    assert every.count() == (len(found), len(found))
    assert list(every) == list(every)
    every = explainer.explanations(row, radius, minimal="subset", **asked)
    found = [{model.names.index(name) for name in names} for names in every]
    assert sorted(map(sorted, found)) == sorted(sorted(k) for k in enough if not any(other < k for other in enough))


def test_budgets_that_end_are_said():
    moves = [(7, 9), (9, 9), (5, 2), (9, 8), (3, 2), (6, 1), (1, 1), (3, 3), (3, 7), (8, 3)]
    model = AdditiveModel([Table({"a": 0, "b": -down, "c": up}) for down, up in moves], 0, "regression")
    explainer, question = Explainer(model), {"claim": suffice.Within(11), "max_nodes": 0, "unit": "raw"}
    with pytest.raises(suffice.BudgetError, match="only known to lie between"):
        explainer.explanations(["a"] * 10, 1, **question)
    numbers = [PiecewiseLinear([0], [0], left_slope=down, right_slope=up) for down, up in moves]
    curve = Explainer(AdditiveModel(numbers, 0, "regression")).curve([0] * 10, until=1, **question)
    assert (curve.is_complete, curve.status) == (False, suffice.Status.BOUNDED)
    assert "beyond the radius 11/54 is not known" in str(curve)


def test_counts_of_subset_minimal_sets_keep_to_their_budget():
    found = drop_model(*[1] * 40, margin=20).explanations(["a"] * 40, 1, minimal="subset", unit="raw")
    low, high = found.count(max_nodes=100)
    assert low <= math.comb(40, 20) <= high
    assert drop_model(1, 1, 1, margin=1).explanations(["a"] * 3, 1, minimal="subset", unit="raw").count() == (3, 3)


def test_a_count_keeps_to_the_budget_of_the_question():
    explainer = Explainer(AdditiveModel([RISING] * 12))
    low, high = explainer.explanations([1] * 12, 2, unit="raw", max_nodes=0).counted().number
    assert low < high
    assert explainer.explanations([1] * 12, 2, unit="raw").counted().number == (924, 924)
