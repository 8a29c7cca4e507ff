"""Ranges of the fixed features, against plain evaluation."""

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import RISING
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import numeric_cases

import suffice
from suffice import (
    AdditiveModel,
    Explainer,
    Feature,
    Table,
)

TINY = Fraction(1, 10**12)


def ends_of(range_, value, plain):
    """Values of a range that can be worst, and values just outside it."""
    if range_.values:
        return list(range_.values), [label for label in plain.labels if label not in range_.values]
    if range_.is_integers:
        whole = [Fraction(k) for k in range(-12, 13) if Fraction(k) in range_]
        outside = [end + step for end, step in ((range_.low, -1), (range_.high, 1)) if end is not None]
        return whole, outside
    inside = [p for place in plain.places for p in (place, place - TINY, place + TINY) if p in range_] + [value]
    outside = []
    for end, has_end, step in ((range_.low, range_.has_low, TINY), (range_.high, range_.has_high, -TINY)):
        if end is not None:
            inside += [end] if has_end else []
            inside += [end + step] if end + step in range_ else []
            outside.append(end - step if has_end else end)
    return inside, outside


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numeric_cases(), st.sampled_from([Fraction(0), Fraction(1), Fraction(2)]))
def test_ranges_hold_together_and_none_can_be_wider(case, radius):
    model, row, claim, plains, parts = case
    explainer = Explainer(model)
    inflated = explainer.inflate(row, radius, claim=claim, unit="raw")
    kept = [model.names.index(name) for name in inflated.ranges]
    assert set(inflated.ranges) == set(explainer.explain(row, radius, claim=claim, unit="raw").features)

    def slack(values):
        """The least that is left of each margin, with kept features at these values."""
        left = []
        for fs, margin, is_strict in parts:
            fall, is_attained = Fraction(0), True
            for i, (plain, at) in enumerate(zip(plains, row, strict=True)):
                if i in values:
                    new, old = (sum(f * o for f, o in zip(fs, plain.evaluate(v), strict=True)) for v in (values[i], at))
                    fall += old - new
                elif i not in kept:
                    amount, attained = plain.drop(fs, at, radius)
                    fall, is_attained = fall + amount, is_attained and attained
            left.append((margin - fall, is_strict and is_attained))
        return left

    choice = dict(zip(kept, (ends_of(inflated.ranges[model.names[i]], row[i], plains[i]) for i in kept), strict=True))
    worst = dict.fromkeys(kept)
    for part in range(len(parts)):
        for i in kept:  # features are independent: each at its own worst
            worst[i] = min(choice[i][0], key=lambda v, i=i: slack({i: v})[part][0])
        value, is_open = slack(worst)[part]
        assert value > 0 if is_open else value >= 0
    for place, i in enumerate(kept):
        for beyond in choice[i][1]:
            if not explainer.model.domains[i].__contains__(beyond):
                continue
            tries = []
            for part in range(len(parts)):
                others = {j: min(choice[j][0], key=lambda v, j=j: slack({j: v})[part][0]) for j in kept[:place]}
                tries.append(slack({**others, i: beyond})[part][0])
            assert min(tries) <= 1000 * TINY, (model.names[i], beyond)


def test_ranges_by_hand():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3, Table({"u": 0, "v": -1, "w": -9})], 0))
    inflated = explainer.inflate([1, 1, "u"], radius=2, features=["x1", "x2"], unit="raw")
    assert inflated.ranges["x1"] == suffice.Range(Fraction(1, 3), None, True, False, False, ())
    assert inflated.ranges["x2"].values == ("u",)  # the first range left no room
    assert str(inflated.ranges["x1"]) == "[0.333334, ∞)"  # rounded inward: 0.333333 is below a third
    inflated = explainer.inflate([1, 1, "u"], radius=2, features=["x2", "x1"], unit="raw")
    assert inflated.ranges["x2"].values == ("u", "v")
    assert inflated.ranges["x1"].low == Fraction(2, 3)
    with pytest.raises(suffice.ClaimError, match="'x0' does not suffice at this radius"):
        explainer.inflate([1, 1, "u"], radius=2, features=["x0"], unit="raw")


def test_a_range_knows_its_numbers():
    explainer = Explainer(AdditiveModel([RISING], 0, features=[Feature("a", suffice.Domain.integers(-9, 9))]))
    found = explainer.inflate([3], radius=9, unit="raw").ranges["a"]
    assert [k for k in (-1, 0, 9, 10, 2.5, np.int64(3), np.float32(3), math.nan, math.inf, "3") if k in found] == [
        0,
        9,
        3,
        3,
    ]
    with pytest.raises(suffice.PreferenceError, match="'a' is named twice"):
        explainer.inflate([3], radius=9, features=["a", "a"], unit="raw")
    points = Explainer(AdditiveModel([RISING], 0, features=[Feature("a", suffice.Domain.points(-1, 1, 2, 3))]))
    assert str(points.inflate([2], radius=9, unit="raw").ranges["a"]) == "[1, 3]"
    joined = suffice.Domain.interval(0, 2) | suffice.Domain.interval(1, 3)
    overlapping = Explainer(AdditiveModel([RISING], 0, features=[Feature("a", joined)]))
    assert str(overlapping.inflate(["1/2"], 9, features=["a"], unit="raw").ranges["a"]) == "[0, 3]"
