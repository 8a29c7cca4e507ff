"""Smallest sets, against trying all sets and all inputs."""

from fractions import Fraction
from itertools import combinations

import pytest
from builders import RISING, drop_model
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Wishes
from strategies import finite_cases, small_models, wishes

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    Domain,
    Explainer,
    Feature,
    Status,
    Table,
    Within,
)


@settings(max_examples=250)
@given(small_models())
def test_the_explanation_is_what_trying_all_sets_finds(case):
    model, x, radius, intercept, plain, ties = case
    explainer = Explainer(model)
    why = explainer.explain(x, radius=radius, unit="raw")
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
    assert why.slack == abs(score) - sum(why.drops[name] for name in why.free)
    for fixed in list(combinations(features, max(sizes[0] - 1, 0)))[:5]:
        assert explainer.is_sufficient(x, [names[i] for i in fixed], radius=radius, unit="raw") == suffices(fixed)
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


@settings(max_examples=250)
@given(finite_cases(), st.sampled_from([1, 2]), st.data())
def test_smallest_sets_are_those_of_trying_everything(case, radius, data):
    model, oracle, claim = case
    names, row = model.names, oracle.row
    sufficient = [tuple(sorted(s)) for s in oracle.sufficient_sets(claim, radius, Wishes())]
    explainer = Explainer(model)
    why = explainer.explain(row, radius=radius, claim=claim, unit="raw")
    assert why.status is Status.PROVEN
    assert (why.size, why.lower_bound) == (len(sufficient[0]), len(sufficient[0]))
    assert tuple(sorted(why.fixed)) in sufficient
    for fixed in combinations(range(len(row)), data.draw(st.integers(0, len(row)))):
        asked = [names[i] for i in fixed]
        assert explainer.is_sufficient(row, asked, radius=radius, claim=claim, unit="raw") == (fixed in sufficient)
    for name in why.features:
        point = why.counterexample(without=name)
        assert not oracle.holds(claim, tuple(point.values()))
        assert tuple(point.values()) in oracle.points(radius)
        assert all(point[other] == row[names.index(other)] for other in why.features if other != name)


@settings(max_examples=150)
@given(finite_cases(), st.sampled_from([1, 2]), st.sampled_from([None, None, 1, 2]), st.data())
def test_preferences_are_met_at_least_cost(case, radius, max_changed, data):
    model, oracle, claim = case
    wished = data.draw(wishes(len(model.names)))
    options = wished.options(model.names)
    allowed = oracle.sufficient_sets(claim, radius, wished, max_changed)
    explainer = Explainer(model)
    asked = {"claim": claim, "max_changed": max_changed, "unit": "raw", **options}
    if not allowed:
        refused = oracle.refusal(claim, model.names, wished.free, radius, max_changed)
        with pytest.raises(suffice.PreferenceError) as error:
            explainer.explain(oracle.row, radius, **asked)
        assert str(error.value) == refused
        return
    why = explainer.explain(oracle.row, radius, **asked)
    least = min(map(wished.cost, allowed))
    assert set(why.fixed) in allowed
    assert (why.cost, why.lower_bound, wished.cost(why.fixed), why.status) == (least, least, least, Status.PROVEN)


def test_regression_on_numbers():
    line = suffice.PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    model = AdditiveModel([line, line * -3], 10, "regression", features=["a", Feature("b", Domain.interval(-5, 5))])
    explainer = Explainer(model)
    row = {"a": 1, "b": 1}
    assert explainer.explain(row, radius=1, claim=Within(4), unit="raw").features == ()
    assert explainer.explain(row, radius=1, claim=Within(3), unit="raw").size == 1  # either will do
    assert explainer.explain(row, radius=1, claim=Within("2.9"), unit="raw").features == ("b",)
    assert explainer.explain(row, radius=1, claim=AtLeast(7), unit="raw").features == ("b",)
    text = str(explainer.explain(row, radius=1, claim=Within(3), unit="raw"))
    assert text.splitlines() == [
        "In short: 8; b (1) settles this: whatever else changes within the region, the prediction stays within 3 of "
        "its value here.",
        "Prediction: 8",
        "Claim: the prediction stays within 3 of its value here (tightest margin 3, of 2)",
        "Region: within 1 of the row's value, inside the domain",
        "Proven: fixing 1 of 2 features is enough: whatever the other one does within the region, the claim stays "
        "true; no smaller set is enough.",
        "  b  = 1  could lower the margin by 3",
        "Range: whatever the free features do within the region, the prediction stays between 7 and 9.",
        "Slack: in the worst case the free features use 1 of the margin; 2 is left.",
        "Strongest free: a (1).",
        "If b could also change: 1 -> 2 with a 1 -> 0 would break the claim.",
    ]
    contrast = explainer.contrast(row, radius=1, claim=AtLeast(7), unit="raw")
    assert contrast.features == ("b",)
    assert explainer.predict(contrast.counterexample) < 7
    assert str(contrast).splitlines() == [
        "Prediction: 8",
        "Claim: the prediction stays at or above 7",
        "Region: within 1 of the row's value, inside the domain",
        "Proven: changing 1 feature can break the claim; no fewer can.",
        "  b  1 -> 2",
    ]


def test_a_budget_that_ends_is_said():
    # How far each feature can lower and raise the score; no bound at the root settles which set is smallest.
    moves = [(7, 9), (9, 9), (5, 2), (9, 8), (3, 2), (6, 1), (1, 1), (3, 3), (3, 7), (8, 3)]
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": -down, "c": up}) for down, up in moves], 0, "regression"))
    proven = explainer.explain(["a"] * 10, radius=1, claim=Within(11), unit="raw")
    assert (proven.status, proven.size, proven.lower_bound) == (Status.PROVEN, 7, 7)
    hasty = explainer.explain(["a"] * 10, radius=1, claim=Within(11), max_nodes=0, unit="raw")
    assert hasty.status is Status.BOUNDED
    assert hasty.lower_bound < 7 <= hasty.size
    assert f"no set of fewer than {hasty.lower_bound} is enough (the search ran out of its budget)." in str(hasty)
    assert explainer.is_sufficient(["a"] * 10, hasty.features, radius=1, claim=Within(11), unit="raw")


def test_costs_by_hand():
    explainer = drop_model(3, 2, 2, margin=4)
    row = ["a"] * 3
    assert explainer.explain(row, 1, unit="raw").features == ("x0",)
    why = explainer.explain(row, 1, cost={"x0": 5, "x1": "0.5"}, unit="raw")
    assert (why.features, why.cost, why.lower_bound) == (("x1", "x2"), Fraction(3, 2), Fraction(3, 2))
    assert "no set that the preferences allow costs less than 3/2." in str(why)
    kept = explainer.explain(row, 1, fix=["x1"], unit="raw")
    assert (kept.size, kept.lower_bound, "x1" in kept.features) == (2, 2, True)
    assert explainer.explain(row, 1, free=["x0"], unit="raw").features == ("x1", "x2")


def test_a_group_counts_as_one():
    explainer = drop_model(3, 3, 1, margin=4)
    why = explainer.explain(["a"] * 3, 1, groups={"address": ["x0", "x1"]}, unit="raw")
    assert (set(why.features), why.size, why.cost, why.status) == ({"x0", "x1"}, 2, 1, Status.PROVEN)
    assert explainer.explain(["a"] * 3, 1, groups=[["x0", "x1"]], unit="raw").cost == 1


def test_a_ball_is_answered_by_its_box_and_says_so():
    explainer = Explainer(AdditiveModel([RISING] * 3, 0))
    why = explainer.explain([1, 1, 1], radius=2, norm=2, unit="raw")
    # The box lets all move by 2 at once, one axis of the ball only one: nothing between 0 and 2 is ruled out.
    assert (why.size, why.lower_bound, why.status) == (2, 0, Status.BOUNDED)
    assert "the box around the 2-norm ball was searched" in str(why)
    assert explainer.explain([1, 1, 1], radius=4, norm=1, unit="raw").status is Status.PROVEN  # each alone breaks it
    assert explainer.explain([1, 1, 1], radius=1, norm=1, unit="raw").size == 0
