"""Ordered categories and steps beside smooth and curved shapes, where radii are enclosed by halving."""

import json
from fractions import Fraction

import pytest

import suffice_check
from suffice import AdditiveModel, Domain, Explainer, Feature, PiecewisePolynomial, Smooth, Table
from suffice.model.writing import to_bytes

NUMBER = Feature("x", Domain.interval(-3, 3), deviation=1)
GRADE = Feature("grade", Domain.ordered("low", "middle", "high"), deviation="0.8")
SHAPES = {
    "smooth": Smooth("tanh"),
    "curved": PiecewisePolynomial([], [[0, 1, 0, "-1/30"]]),
}


def ask(kind, grade, *, intercept):
    shapes = [SHAPES[kind], Table({"low": -3, "middle": grade, "high": 1}), Table({"own": 0, "rent": -4})]
    return Explainer(AdditiveModel(shapes, intercept, features=[NUMBER, GRADE, "housing"]))


def checked(explainer, answer):
    return suffice_check.check(to_bytes(explainer.model), json.dumps(answer.certificate().document).encode())


@pytest.mark.parametrize("kind", SHAPES)
def test_a_rank_comes_into_reach_at_its_distance(kind):
    # At a radius of 1.25 the grade falls by one rank, which takes 2 of a margin of 2.5 or more.
    explainer, row = ask(kind, -1, intercept=1), {"x": "1/2", "grade": "high", "housing": "own"}
    found = explainer.radius(row, [], categories="step")
    assert abs(found.radius - 1) < Fraction(1, 10**6)  # housing is a step away, and breaks it alone
    found = explainer.radius(row, ["housing"], categories="step")
    assert abs(found.radius - Fraction(5, 4)) < Fraction(1, 10**6)
    assert "move by rank" in checked(explainer, found)
    curve = explainer.curve(row, until=3, categories="step")
    assert [curve.at(at).cost for at in ("0.9", "1.1", "1.2", "1.3", "2.9")] == [0, 1, 1, 2, 2]
    assert "a radius of 1 or more" in checked(explainer, curve)


@pytest.mark.parametrize("kind", SHAPES)
def test_the_nearest_change_of_a_rank_is_its_distance(kind):
    explainer, row = ask(kind, -3, intercept="1/2"), {"x": "1/2", "grade": "high", "housing": "own"}
    found = explainer.counterfactual(row, radius=2, categories="step", immutable=["housing"])
    assert found.counterexample["grade"] == "middle"
    assert abs(found.least_change - Fraction(5, 8)) < Fraction(1, 10**6)
    checked(explainer, found)
