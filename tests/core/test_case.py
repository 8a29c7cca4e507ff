"""Thresholds that are not rational are enclosed as closely as a decision needs."""

from fractions import Fraction

import pytest
from builders import drop_model

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    ProbabilityAtLeast,
    Table,
)
from suffice.numbers.enclosure import logit_bounds
from suffice.numbers.exact import rational


def test_a_probability_that_a_score_nearly_has_is_decided():
    """A threshold 1e-30 beside a sum of drops: the first enclosure does not tell, a closer one does."""
    for step, size in ((Fraction(1, 10**60), 1), (Fraction(-1, 10**60), 0)):
        low, high = logit_bounds(rational("0.8"), 400)
        near = Fraction(int(low.p), int(low.q))
        explainer = drop_model(Fraction(2), margin=near + 2 - step)
        assert explainer.explain(["a"], 1, claim=ProbabilityAtLeast("0.8"), unit="raw").size == size
        assert high > low


def test_an_enclosure_that_does_not_tell_is_never_passed_on():
    """A sum of drops that lies between the first enclosure's ends: every question is decided, or says why not."""
    (_, first), (_, closer) = (logit_bounds(rational("0.8"), bits) for bits in (128, 512))
    between = (first + closer) / 2
    fall = Fraction(int(between.p), int(between.q)) - 3
    explainer = Explainer(AdditiveModel([Table({"a": 0, "b": fall}), Table({"a": 0, "b": "-1/1000"})], 3))
    row, claim = ["a", "a"], ProbabilityAtLeast("0.8")
    assert explainer.is_sufficient(row, ["x1"], 1, claim=claim, unit="raw")
    assert explainer.contrast(row, 1, claim=claim, unit="raw").size == 2
    assert explainer.counterfactual(row, 1, claim=claim, unit="raw").size == 2
    assert set(explainer.inflate(row, 1, claim=claim, unit="raw").ranges) <= {"x0", "x1"}
    assert explainer.explain(row, 1, claim=claim, unit="raw").size == 1
    for minimal in ("size", "subset"):
        with pytest.raises(suffice.BudgetError, match="is too close to the threshold"):
            list(explainer.explanations(row, 1, claim=claim, minimal=minimal, unit="raw"))
