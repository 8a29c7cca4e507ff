"""Deployed arithmetic: what is said holds for the exact model with the charge on either side, or is left open.

A linear model with weights that are floats: a feature's drop is |weight| · radius, by hand. What is charged for
rounding is taken as it is reported; that it covers forward passes in floats is tested in core/test_rounding.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from builders import RISING
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import fraction, subsets

import suffice
from suffice import AdditiveModel, AtLeast, Explainer, ReluNetwork, Status

# Beside a tie by nothing, by less than any charge here, by about one, and by far more.
OFFSETS = [Fraction(sign, 2**bits) for bits in (40, 19) for sign in (1, -1)] + [Fraction(0), Fraction(1, 3)]
WEIGHTS = (-4, -3, -1, 0, 1, 2, 2, 5)


def network(weight):
    return ReluNetwork([np.array([[weight]], np.float32)], [np.zeros(1, np.float32)])


@st.composite
def near_ties(draw):
    """A linear model whose margin is near a sum of some of its drops: (explainer, row, drops, margin)."""
    weights = [Fraction(draw(st.sampled_from(WEIGHTS))) for _ in range(draw(st.integers(1, 4)))]
    tied = draw(st.sets(st.sampled_from(range(len(weights)))))
    margin = sum((abs(weights[i]) for i in tied), Fraction(0)) + draw(st.sampled_from(OFFSETS))
    assume(margin >= 0)
    row = [Fraction(draw(st.integers(-2, 2))) for _ in weights]
    intercept = margin - sum((w * x for w, x in zip(weights, row, strict=True)), Fraction(0))
    explainer = Explainer(AdditiveModel([network(w) for w in weights], intercept))
    return explainer, row, [abs(w) for w in weights], margin


def charge_of(explainer, row, fixed):
    """What is charged where some features are fixed: that of a claim which is true by far."""
    found = explainer.sufficiency(row, fixed, 1, claim=AtLeast(-(10**6)), **ASKED)
    return fraction(found.case.charges[0])


ASKED = {"unit": "raw", "arithmetic": "float32"}


@settings(max_examples=250)
@given(near_ties(), st.sampled_from([None, 1, 2]))
def test_sufficiency_is_proven_refuted_or_left_open(case, max_changed):
    explainer, row, drops, margin = case
    names = explainer.model.names
    for fixed in subsets(len(row)):
        free = sorted((drops[i] for i in range(len(row)) if i not in fixed), reverse=True)[:max_changed]
        lowest = margin - sum(free, Fraction(0))
        asked = [names[i] for i in fixed]
        charge = charge_of(explainer, row, asked)
        if -charge <= lowest < charge:
            found = explainer.sufficiency(row, asked, 1, max_changed=max_changed, **ASKED)
            assert (found.status, found.caveat, found.point) == (Status.BOUNDED, "it depends on rounding", None)
            with pytest.raises(suffice.UnsettledError, match="neither proven nor refuted: it depends on rounding"):
                bool(found)
            continue
        found = explainer.sufficiency(row, asked, 1, max_changed=max_changed, **ASKED)
        assert bool(found) == (lowest >= charge)
        if not found:
            point = found.counterexample
            assert explainer.score(point) < -charge
            assert all(point[name] == row[names.index(name)] for name in asked)


@settings(max_examples=250)
@given(near_ties())
def test_a_contrast_breaks_the_claim_by_more_than_the_charge(case):
    explainer, row, drops, margin = case
    count = len(row)
    found = explainer.contrast(row, 1, **ASKED)
    charge = fraction(found.case.charges[0])
    certain = [len(s) for s in subsets(count) if sum((drops[i] for i in s), Fraction(0)) > margin + charge]
    possible = [len(s) for s in subsets(count) if sum((drops[i] for i in s), Fraction(0)) > margin - charge]
    assert charge > 0
    assert found.is_possible == bool(certain)
    if certain:
        assert explainer.score(found.counterexample) < -charge
        assert all(abs(value - x) <= 1 for value, x in zip(found.counterexample.values(), row, strict=True))
        assert (found.size, found.lower_bound) == (certain[0], possible[0])
        assert (found.status is Status.PROVEN) == (certain[0] == possible[0])
    else:
        assert (found.status is Status.PROVEN) == (not possible)
        assert found.lower_bound == (possible[0] if possible else 0)
    if found.status is Status.BOUNDED:
        assert found.caveat == "whether less does is within the rounding error of float32"


@settings(max_examples=200)
@given(near_ties())
def test_a_counterfactual_breaks_the_claim_by_more_than_the_charge(case):
    explainer, row, drops, margin = case
    found = explainer.counterfactual(row, 1, **ASKED)
    charge = fraction(found.case.charges[0])
    sums = [(len(s), sum((drops[i] for i in s), Fraction(0))) for s in subsets(len(row))]
    certain = [size for size, fall in sums if fall > margin + charge]
    possible = [(size, fall) for size, fall in sums if fall > margin - charge]
    assert found.is_possible == bool(certain)
    if not certain:
        assert (found.status is Status.PROVEN) == (not possible)
        return
    assert explainer.score(found.counterexample) < -charge
    assert (found.size, found.lower_bound) == (certain[0], possible[0][0])
    # Below this change so many features do not even use up what the charge leaves of the margin.
    steepest = max(fall for size, fall in sums if size <= found.size)
    assert found.least_change == max((margin - charge) / steepest, Fraction(0))
    assert max(found.changes.values()) >= found.least_change
    assert found.status is Status.BOUNDED


@settings(max_examples=250)
@given(near_ties(), st.sampled_from([None, 1, 2]), st.data())
def test_a_radius_is_safe_with_the_charge_and_says_that_more_may_be(case, max_changed, data):
    explainer, row, drops, margin = case
    names = explainer.model.names
    fixed = data.draw(st.sets(st.sampled_from(range(len(row)))))
    asked = [names[i] for i in sorted(fixed)]
    free = sorted((drops[i] for i in range(len(row)) if i not in fixed), reverse=True)[:max_changed]
    slope = sum(free, Fraction(0))
    assume(slope)
    exact = margin / slope
    options = {"max_changed": max_changed, "unit": "raw"}
    assert explainer.radius(row, asked, **options).limit == suffice.Limit(exact, is_attained=True)
    try:
        found = explainer.radius(row, asked, arithmetic="float32", **options)
    except suffice.ClaimError:  # rounding alone decides at the row
        assert margin <= charge_bound(row, drops)
        return
    assert 0 <= found.radius < exact
    assert (found.status, found.caveat) == (
        Status.BOUNDED,
        "how much further depends on the rounding error of float32",
    )
    assert explainer.is_sufficient(row, asked, found.radius, arithmetic="float32", **options)
    assert exact - found.radius <= charge_bound(row, drops) * (1 + exact) / slope


def charge_bound(row, drops):
    """More than any charge of these models: a thousand roundings of the largest numbers they meet."""
    return 1000 * (10 + sum(drops, Fraction(0)) * 40) * Fraction(1, 2**24)


def test_an_answer_between_inner_and_outer_by_hand():
    explainer = Explainer(AdditiveModel([network(1), network(1)], 0))
    row = [1, 1]
    assert explainer.is_sufficient(row, [], 1, unit="raw")  # down to a score of exactly 0, which is positive
    with pytest.raises(suffice.UnsettledError, match="it depends on rounding"):
        explainer.is_sufficient(row, [], 1, **ASKED)
    assert explainer.is_sufficient(row, [], "0.999", **ASKED)
    assert not explainer.is_sufficient(row, [], "1.001", **ASKED)
    open_ = explainer.contrast(row, 1, **ASKED)
    assert (open_.is_possible, open_.lower_bound, open_.status) == (False, 2, Status.BOUNDED)
    assert str(open_).splitlines()[-1] == (
        "Open: no input is known to change the prediction: whether less does is within the rounding error of float32."
    )
    with pytest.raises(
        suffice.ClaimError,
        match="there is no proof to certify: whether less does is within the rounding error of float32",
    ):
        open_.certificate()
    largest = explainer.radius(row, [], **ASKED)
    assert Fraction(9999, 10000) < largest.radius < 1


def test_a_shape_that_is_no_network_has_no_bound_for_any_search():
    explainer = Explainer(AdditiveModel([RISING + suffice.Steps([0], [0, 1])], 3))
    for ask in (explainer.contrast, explainer.counterfactual, explainer.explain):
        with pytest.raises(suffice.ClaimError, match="jumps or is not a network"):
            ask([1], 1, **ASKED)
    for ask in (explainer.sufficiency, explainer.is_sufficient):
        with pytest.raises(suffice.ClaimError, match="jumps or is not a network"):
            ask([1], [], 1, **ASKED)
    with pytest.raises(suffice.ClaimError, match="jumps or is not a network"):
        explainer.radius([1], [], **ASKED)
