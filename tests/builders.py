"""Small models that many tests ask, and what all errors must look like."""

from suffice import AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, Table

RISING = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)  # the identity
AGE_AND_COLOUR = AdditiveModel(
    [RISING, Table({"red": 1, "blue": 2})], 0, features=[Feature("age", Domain.interval(0, 120)), "colour"]
)
AGED_40_AND_RED = {"age": 40, "colour": "red"}


def drop_model(*drops, margin):
    """A binary model whose features can lower the score by given amounts, from the row of all "a"."""
    return Explainer(AdditiveModel([Table({"a": 0, "b": -drop}) for drop in drops], margin))


def sentence(error):
    """The text of an error, having checked that it is one sentence."""
    text = str(error.value)
    assert "\n" not in text
    assert len(text) < 300
    return text
