"""What answers say, for no, one and two features, several parts, limits and very large numbers."""

from fractions import Fraction

import pytest

import suffice
from suffice import AdditiveModel, AtLeast, Explainer, PiecewiseLinear, Steps, Table

ASKED = {"unit": "raw"}


def colours(count):
    names = ["colour", "hue"][:count]
    return Explainer(AdditiveModel([Table({"r": 1, "g": -3})] * count, features=names)), ["r"] * count, names


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "'colour' cannot be free: it can"), (2, "'colour', 'hue' cannot all be free: together they can")],
)
def test_features_that_cannot_be_free_are_counted(count, words):
    explainer, row, names = colours(count)
    for ask in (explainer.explain, explainer.inflate, explainer.relevance):
        with pytest.raises(suffice.PreferenceError, match=words):
            ask(row, 1, free=names, **ASKED)
    with pytest.raises(suffice.PreferenceError, match="cannot be free at" if count == 1 else "cannot all be free at"):
        explainer.curve(row, free=names, **ASKED)


@pytest.mark.parametrize(("fixed", "words"), [([], "fixing nothing does"), (["colour"], "'colour' does")])
def test_a_set_that_does_not_suffice_is_counted(fixed, words):
    explainer, row, _ = colours(2)
    with pytest.raises(suffice.ClaimError, match=f"{words} not suffice at this radius"):
        explainer.inflate(row, 1, features=fixed, **ASKED)


@pytest.mark.parametrize(("count", "words"), [(1, "with the one feature fixed"), (2, "with all 2 features fixed")])
def test_all_features_are_counted(count, words):
    explainer, row, names = colours(count)
    assert words in str(explainer.explain(row, 1, fix=names, **ASKED))


def test_what_is_said_under_a_limit_of_changes_names_the_limit():
    explainer = Explainer(AdditiveModel([Table({"a": 1, "b": -1}), Steps([0], [1, -1])], intercept=0.5))
    row = ["a", -1]
    assert explainer.predict(["b", 0]) != explainer.predict(row)
    text = str(explainer.contrast(row, 1, max_changed=1, **ASKED))
    assert "no change of at most 1 feature within the region can change the prediction" in text
    text = str(explainer.explain(row, 1, max_changed=1, **ASKED))
    assert "in the worst case 1 of the free features uses 2 of the margin; 0.5 is left." in text


def test_every_answer_names_its_claim():
    price = AdditiveModel([PiecewiseLinear([0, 100], [0, 300]), Steps([1950], [0, 20])], 50, "regression")
    explainer, row, asked = Explainer(price), [80, 1990], {"claim": AtLeast(250), "unit": "raw"}
    answers = [
        explainer.explain(row, 5, **asked),
        explainer.contrast(row, 50, **asked),
        explainer.counterfactual(row, 50, **asked),
        explainer.inflate(row, 5, features=["x0"], **asked),
        explainer.relevance(row, 5, **asked),
        explainer.curve(row, until=5, **asked),
        explainer.radius(row, [], **asked),
        explainer.sufficiency(row, [], 5, **asked),
        explainer.explanations(row, 5, **asked).listing(),
        explainer.explanations(row, 5, **asked).counted(),
    ]
    for answer in answers:
        assert "Claim: the prediction stays at or above 250" in str(answer)
        assert "the prediction stays the same" not in str(answer)


def test_one_stretch_is_not_larger_than_another():
    explainer, row, names = colours(1)
    assert "any radius, and the whole domain:" in str(explainer.curve(row, fix=names, **ASKED))


def test_numbers_beyond_all_floats_are_shown():
    why = Explainer(AdditiveModel([Steps([0], [Fraction(10) ** 400, -(Fraction(10) ** 450)])])).explain(
        [-1], 2, **ASKED
    )
    assert "margin a number near 1e+400" in str(why)
    assert "1e+400" in why._repr_html_()
    assert "inf" not in str(why)
