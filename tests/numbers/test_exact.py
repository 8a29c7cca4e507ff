"""Exact numbers: what a float, a text or a fraction stands for, and what has no value."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.errors import NumberError
from suffice.numbers.enclosure import exp_bounds, log_bounds, logit_bounds
from suffice.numbers.exact import nearest_float, rational, to_fraction


@given(st.fractions())
def test_fractions_come_back(value):
    assert to_fraction(rational(value)) == value
    assert to_fraction(rational(str(value))) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_count_at_their_exact_value(value):
    assert to_fraction(rational(value)) == Fraction(value)
    assert nearest_float(rational(value)) == value
    assert to_fraction(rational(np.float64(value))) == Fraction(value)


@given(st.fractions(min_value=-(10**40), max_value=10**40))
def test_the_nearest_float_is_the_one_that_division_rounds_to(value):
    assert nearest_float(rational(value)) == value.numerator / value.denominator


@pytest.mark.parametrize(("value", "near"), [(10**400, math.inf), (-(10**400), -math.inf), (Fraction(1, 10**400), 0.0)])
def test_numbers_beyond_all_floats(value, near):
    assert nearest_float(rational(value)) == near


@pytest.mark.parametrize(
    ("given_", "value"),
    [("0.1", Fraction(1, 10)), ("1e-3", Fraction(1, 1000)), ("2/6", Fraction(1, 3)), (Decimal("0.25"), Fraction(1, 4))],
)
def test_text_counts_at_the_value_it_spells(given_, value):
    assert to_fraction(rational(given_)) == value


@pytest.mark.parametrize("given_", [math.nan, math.inf, "nan", "word", "1/0", None, [1], "1e99999999"])
def test_what_is_no_number_is_refused(given_):
    with pytest.raises(NumberError):
        rational(given_)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=1000), st.sampled_from([32, 128, 300]))
def test_enclosures_are_narrow_and_hold_the_number(value, bits):
    for bounds, near in ((log_bounds, math.log(value)), (exp_bounds, math.exp(min(value, 20)))):
        low, high = map(to_fraction, bounds(rational(min(value, 20) if bounds is exp_bounds else value), bits))
        assert low <= high
        assert float(low) <= near + 1e-9 * max(1, abs(near))
        assert float(high) >= near - 1e-9 * max(1, abs(near))
        assert high - low <= Fraction(1, 2 ** (bits - 8)) * max(1, abs(high))


def test_a_closer_enclosure_lies_inside():
    wide, close = (logit_bounds(rational("0.8"), bits) for bits in (64, 256))
    assert wide[0] <= close[0] < close[1] <= wide[1]
    assert logit_bounds(rational("1/2"), 64) == (0, 0)
