"""Whether named features suffice."""

import pytest
from builders import RISING

import suffice
from suffice import (
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    Table,
)

MODEL = AdditiveModel(
    [RISING, Table({"red": 1, "blue": 2})], 0, features=[Feature("age", Domain.interval(0, 120)), "colour"]
)
EXPLAINER = Explainer(MODEL)
ROW = {"age": 40, "colour": "red"}


def test_feature_lists():
    with pytest.raises(suffice.FeatureNameError, match="'agee' is not a feature; did you mean 'age'"):
        EXPLAINER.is_sufficient(ROW, ["agee"], radius=1, unit="raw")
    with pytest.raises(suffice.FeatureNameError, match="'age' is one name; give a list of names"):
        EXPLAINER.is_sufficient(ROW, "age", radius=1, unit="raw")
    why = EXPLAINER.explain(ROW, radius=1, unit="raw")
    with pytest.raises(suffice.FeatureNameError, match="'age' is not a fixed feature; there are none"):
        why.counterexample(without="age")
