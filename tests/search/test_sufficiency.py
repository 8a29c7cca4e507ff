"""Whether named features suffice."""

import pytest
from builders import AGE_AND_COLOUR, AGED_40_AND_RED

import suffice
from suffice import (
    Explainer,
)

EXPLAINER = Explainer(AGE_AND_COLOUR)


def test_feature_lists():
    with pytest.raises(suffice.FeatureNameError, match="'agee' is not a feature; did you mean 'age'"):
        EXPLAINER.is_sufficient(AGED_40_AND_RED, ["agee"], radius=1, unit="raw")
    with pytest.raises(suffice.FeatureNameError, match="'age' is one name; give a list of names"):
        EXPLAINER.is_sufficient(AGED_40_AND_RED, "age", radius=1, unit="raw")
    why = EXPLAINER.explain(AGED_40_AND_RED, radius=1, unit="raw")
    with pytest.raises(suffice.FeatureNameError, match="'age' is not a fixed feature; there are none"):
        why.counterexample(without="age")
