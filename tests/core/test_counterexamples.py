"""Inputs that break a claim: near limits, short, and for certain."""

from fractions import Fraction

import numpy as np
import pytest
from builders import RISING

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    ReluNetwork,
    Steps,
)
from suffice.numbers.exact import rational


def test_a_counterexample_near_a_limit_that_is_not_attained():
    falling = RISING * -1 + Steps([1], [0, 5])
    model = AdditiveModel([falling], "0.9999", features=["a"])
    explainer = Explainer(model)
    why = explainer.explain([0], radius=1, unit="raw")
    point = why.counterexample(without="a")
    assert Fraction("0.9999") < point["a"] < 1
    assert explainer.predict(point) == 0


def test_counterexamples_are_short_floats_where_there_is_room():
    network = ReluNetwork([[[1.0], [3.0]], [[-1.0, 0.7]]], [[0.1, -0.7], None])
    explainer = Explainer(AdditiveModel([network], 0.3, features=["a"]))
    why = explainer.explain([0.123456789], radius=1, unit="raw")
    assert why.counterexample(without="a")["a"] == Fraction(0.23)


def test_counterexamples_break_the_claim_for_certain():
    network = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    deployed = Explainer(AdditiveModel([network] * 2, 0)).explain([1, 1], radius=1, arithmetic="float32", unit="raw")
    for name in deployed.features:  # by rounding alone, if at all
        with pytest.raises(suffice.ClaimError, match="no input is known to break the claim"):
            deployed.counterexample(name)
    ball = Explainer(AdditiveModel([RISING] * 3, 0)).explain([1, 1, 1], radius=1.6, norm=1, unit="raw")
    for name in ball.features:  # two full steps leave the ball
        with pytest.raises(suffice.ClaimError, match="the box around the 1-norm ball was searched"):
            ball.counterexample(name)
    alone = Explainer(AdditiveModel([RISING] * 3, 0)).explain([1, 1, 1], radius=4, norm=1, unit="raw")
    point = alone.counterexample("x0")
    assert sum(value != 1 for value in point.values()) == 1


def test_a_feature_that_was_to_be_fixed_is_charged_for_its_rounding_once_it_moves():
    line = ReluNetwork([np.ones((1, 1), np.float32)], [np.zeros(1, np.float32)])
    wide = 2**20
    explainer = Explainer(AdditiveModel([line, line], wide - 1 / 128, features=["a", "b"]))
    asked = {"unit": "raw", "arithmetic": "float32", "immutable": ["b"]}
    charged = explainer.explain([0, 0], wide, **asked).charged[0]
    assert charged > rational(1 / 128)  # so that a fall just past the margin shows nothing of the deployed model
    why = explainer.explain([0, 0], wide, fix=["a"], **asked)
    with pytest.raises(suffice.ClaimError, match="no input is known to break the claim without 'a'"):
        why.counterexample("a")
    assert "If a could also change" not in str(why)
