"""Polynomials between knots: exact values, exact infima, attained or approached."""

from fractions import Fraction

import numpy as np
import pytest
from builders import sentence
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from oracles.curves import CLOSE, PlainCurve, decimal
from oracles.sets import fraction

from suffice import PiecewiseLinear, PiecewisePolynomial, ShapeError, Steps, Table
from suffice.numbers.exact import rational
from suffice.numbers.surd import Surd
from suffice.shapes import Curves, Pieces

small = st.fractions(-3, 3, max_denominator=4)


@st.composite
def curves(draw):
    """Knots, coefficients and values of up to four pieces; many are constant, jump, or have turns at their ends."""
    knots = sorted(draw(st.sets(st.fractions(-2, 2, max_denominator=3), max_size=3)))
    pieces = [draw(st.lists(small | st.just(Fraction(0)), min_size=1, max_size=4)) for _ in range(len(knots) + 1)]
    values = [draw(small) for _ in knots] if draw(st.booleans()) else None
    return knots, pieces, values


def made(given):
    (function,) = PiecewisePolynomial(*given).compile()
    return function, PlainCurve(*given)


def digits(value):
    """An exact number in many digits."""
    if isinstance(value, Surd):
        return decimal(fraction(value.bounds(500)[0]))
    return decimal(fraction(value))


@given(curves(), small, small)
def test_the_infimum_is_that_of_the_decimals(given, one, other):
    function, plain = made(given)
    low, high = sorted((one, other))
    found = function.infimum(rational(low), rational(high))
    assert abs(digits(found.value) - plain.lowest(low, high)) < CLOSE
    if not found.is_approached:
        assert fraction(found.value) == plain(fraction(found.at) if found.side == 0 else _beside(found, low, high))


def _beside(found, low, high):
    """A point on the constant piece beside a jump."""
    at = fraction(found.at)
    return at + found.side * Fraction(1, 10**6) if low < at + found.side * Fraction(1, 10**6) < high else at


@given(curves(), small, small, st.integers(0, 60))
def test_a_point_below_is_inside_and_low_enough(given, one, other, closeness):
    function, plain = made(given)
    low, high = sorted((one, other))
    found = function.infimum(rational(low), rational(high))
    target = found.value + fmpq(1, 10**closeness) if found.is_approached else found.value
    at = fraction(function.point_below(found, target, rational(low), rational(high)))
    assert low <= at <= high
    assert decimal(plain(at)) - digits(target) < CLOSE
    assert digits(found.value) - decimal(plain(at)) < CLOSE


@given(curves(), st.integers(-6, 6), st.integers(-6, 6))
def test_integers_are_looked_through(given, one, other):
    function, plain = made(given)
    low, high = sorted((one, other))
    found = function.on_integers.infimum(rational(low), rational(high))
    assert fraction(found.value) == min(plain(Fraction(k)) for k in range(low, high + 1))
    assert plain(fraction(found.at)) == fraction(found.value)


@given(curves())
def test_without_ends_it_falls_for_ever_or_has_the_infimum_of_a_long_interval(given):
    function, plain = made(given)
    for low, high in ((None, rational(1)), (rational(1), None), (None, None)):
        for lowest in (function, function.on_integers):
            found = lowest.infimum(low, high)
            far = 10**9
            start, end = -far if low is None else 1, far if high is None else 1
            if lowest is function:
                sure = plain.lowest(Fraction(start), Fraction(end))
            else:
                sure = min(decimal(plain(Fraction(k))) for k in (*range(max(start, -9), min(end, 9) + 1), start, end))
            if not found.is_bounded:
                assert sure < -1000
                target = rational(-(10**40))
                at = lowest.point_below(found, target, low, high)
                assert function(at) <= target
                assert low is None or at >= low
                assert high is None or at <= high
            else:
                assert abs(digits(found.value) - sure) < CLOSE


@given(curves(), curves(), small, small.filter(bool), small)
def test_sums_multiples_and_other_units_are_those_of_the_values(one, other, factor, scale, center):
    shape = PiecewisePolynomial(*one) + PiecewisePolynomial(*other).rescaled(center, scale) * factor
    (function,) = (shape + PiecewiseLinear([0], [1], 2, -1) + Table({7: 3}, otherwise=Steps([1], [0, 1]))).compile()
    first, second = PlainCurve(*one), PlainCurve(*other)

    def plain(x):
        line = 3 if x == 7 else int(x >= 1)
        return first(x) + factor * second((x - center) / scale) + (1 + 2 * x if x < 0 else 1 - x) + line

    near = {
        x for knot in (*first.knots, *second.knots, 0, 1, 7) for x in (Fraction(knot), Fraction(knot) * scale + center)
    }
    for x in {*near, *(x + step for x in near for step in (Fraction(1, 97), Fraction(-1, 97)))}:
        assert fraction(function(rational(x))) == plain(x)


def test_an_irrational_minimum_is_approached_and_a_rational_one_attained():
    cubic, _ = made(([], [[0, -2, 0, 1]], None))
    found = cubic.infimum(rational(0), rational(2))
    assert found.is_approached
    assert found.value < -1
    assert found.value * found.value.sign > 1
    square, _ = made(([], [[1, -2, 1]], None))
    assert square.infimum(rational(0), rational(2))[:4] == (True, 0, False, 1)


def test_a_turn_on_a_knot_or_at_an_end_is_that_knot_or_end():
    halves, _ = made(([1], [[1, -2, 1], [3, -2, 1]], [5]))  # both turn at the knot itself
    found = halves.infimum(rational(0), rational(2))
    assert (found.value, found.is_approached, found.at, found.side) == (0, True, 1, -1)
    square, _ = made(([], [[0, 0, 1]], None))
    assert square.infimum(rational(0), rational(1))[:4] == (True, 0, False, 0)


def test_what_is_not_curved_compiles_to_pieces():
    (flat,) = (PiecewisePolynomial([], [[0, 0, 1]]) + PiecewisePolynomial([], [[1, 2, -1]])).compile()
    assert isinstance(flat, Pieces)
    assert flat.slopes == (2,)
    (dead,) = (PiecewisePolynomial([0], [[0, 1, 1, 1], [0, 0, 5]]) * 0).compile()
    assert isinstance(dead, Pieces)
    assert dead.knots == ()


def test_several_outputs_and_special_values():
    shape = Table(
        {-9: [1, 2], "none": [3, 4]}, otherwise=PiecewisePolynomial([0], [[[1], [0, 1]], [[1, 0, 1], [0, 1]]])
    )
    first, second = shape.compile()
    assert isinstance(first, Curves)
    assert isinstance(second, Pieces)
    assert [first(rational(-9)), first(rational(2)), first("none")] == [1, 5, 3]
    assert [second(rational(-9)), second(rational(2)), second("none")] == [2, 2, 4]
    assert first.infimum(rational(-10), rational(-8)).value == 1


def test_more_than_a_million_samples_are_not_below_the_infimum():
    """Evaluated by NumPy in floats with a bound on their error, which decides nothing but what is reported."""
    random = np.random.default_rng(7)
    count = 0
    for _ in range(260):
        knots = np.sort(random.choice(np.arange(-16, 17), 6, replace=False)) / 8.0
        pieces = random.integers(-24, 25, (7, 4)) / 8.0
        function, plain = made((knots.tolist(), pieces.tolist(), None))
        low, high = np.sort(random.integers(-32, 33, 2)) / 8.0
        places = np.concatenate([np.linspace(low, high, 4000), knots[(knots >= low) & (knots <= high)]])
        k = np.searchsorted(knots, places, "right")
        values = ((pieces[k, 3] * places + pieces[k, 2]) * places + pieces[k, 1]) * places + pieces[k, 0]
        infimum = function.infimum(rational(low), rational(high))
        assert values.min() >= float(digits(infimum.value)) - 1e-10  # of numbers below 1000: 7 roundings
        assert abs(digits(infimum.value) - plain.lowest(Fraction(low), Fraction(high))) < CLOSE
        count += len(places)
    assert count > 10**6


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (([0, 0], [[1], [1], [1]]), "knots must increase"),
        (([0], [[1]]), "1 knots make 2 pieces, got 1"),
        (([], [[0] * 21 + [1]]), "power 21; polynomials are taken up to degree 20"),
        (([], [[]]), "coefficients[0] is empty"),
        (([], [[float("nan")]]), "not a finite number"),
        (([0], [[[1], [2]], [[1]]]), "same number of outputs"),
        (([0], [[1], [2]], [1, 2]), "need 1 values at each of 1 knots"),
        (("abc", [[1]]), "knots must be a list"),
        (([], "abc"), "coefficients must be a list"),
    ],
)
def test_bad_polynomials_are_refused_in_one_sentence(given, told):
    with pytest.raises(ShapeError) as error:
        PiecewisePolynomial(*given)
    assert told in sentence(error)


def test_leading_zeros_are_no_degree():
    (line,) = PiecewisePolynomial([], [[1, 2, 0, 0, 0, 0]]).compile()
    assert isinstance(line, Pieces)
