"""Radii, units and what cannot change."""

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import AGE_AND_COLOUR, AGED_40_AND_RED, RISING, sentence

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    Feature,
    Table,
)

EXPLAINER = Explainer(AGE_AND_COLOUR)
RADII = [
    (-1, "is -1; it cannot be negative"),
    (math.nan, "nan is not a finite number"),
    (-math.inf, "-inf is not a finite number"),
    ("wide", "'wide' is not a number"),
    ({"age": 1}, "'colour' is missing.*a radius of 0 keeps a feature at its value"),
    ({"age": 1, "colour": 1, "size": 1}, "'size' is not a feature"),
    ([1, -2], "radius of 'colour' is -2"),
    ([1], "got 1"),
    (-(10**5000), r"is a number near -1e\+5000; it cannot be negative"),
    (None, "None is not a number"),
]


@pytest.mark.parametrize(("radius", "words"), RADII, ids=lambda v: v if isinstance(v, str) else "given")
def test_radii(radius, words):
    with pytest.raises((suffice.RadiusError, suffice.FeatureNameError), match=words) as error:
        EXPLAINER.explain(AGED_40_AND_RED, radius=radius, unit="raw")
    sentence(error)


def test_units_and_immutable_features():
    with pytest.raises(suffice.RadiusError, match="unit must be one of 'raw', 'std', 'model', got 'sd'"):
        EXPLAINER.explain(AGED_40_AND_RED, radius=1, unit="sd")
    with pytest.raises(suffice.RadiusError, match="in standard deviations, but the model has none for 'age'"):
        EXPLAINER.explain(AGED_40_AND_RED, radius=1, unit="std")
    with pytest.raises(suffice.FeatureNameError, match="'sex' is not a feature"):
        EXPLAINER.explain(AGED_40_AND_RED, radius=1, immutable=["sex"], unit="raw")
    with pytest.raises(suffice.FeatureNameError, match="'age' is one name; give a list of names"):
        EXPLAINER.explain(AGED_40_AND_RED, radius=1, immutable="age", unit="raw")


def test_immutable_features_cannot_change():
    explainer = Explainer(AdditiveModel([RISING, RISING], 0, features=["a", "b"]))
    assert explainer.explain([1, 1], radius=3, unit="raw").features == ("a", "b")
    assert explainer.explain([1, 1], radius=3, immutable=["a"], unit="raw").features == ("b",)
    assert explainer.is_sufficient([1, 1], ["b"], radius=3, immutable=["a"], unit="raw")
    assert explainer.explain([1, 1], radius={"a": 0, "b": 3}, unit="raw").features == ("b",)


def test_units_of_the_radius():
    age = Feature("age", center=40, scale=-10, deviation=12)
    explainer = Explainer(AdditiveModel([RISING], 1, features=[age]))
    assert explainer.explain([40], radius=1, unit="raw").drops == {"age": Fraction(1, 10)}
    assert explainer.explain([40], radius=1, unit="model").drops == {"age": 1}
    assert explainer.explain([40], radius=1, unit="std").drops == {"age": Fraction(12, 10)}


@pytest.mark.parametrize("infinity", [math.inf, np.float32("inf"), np.inf, "inf"])
def test_infinity_is_spelled_in_many_ways(infinity):
    explainer = Explainer(AdditiveModel([RISING]))
    assert explainer.explain([1], radius=infinity, unit="raw").drops == {"x0": math.inf}
    assert explainer.explain([1], radius=[infinity], unit="raw").drops == {"x0": math.inf}


def test_a_unit_is_not_needed_where_there_are_no_distances():
    model = AdditiveModel([RISING, Table({"u": 1, "v": -1})], features=[Feature("a", deviation=2), "b"])
    why = Explainer(model).explain([1, "u"], radius=1, unit="std")
    assert why.drops == {"a": 2, "b": 2}
