"""Sums of square roots are added up, compared and rounded exactly."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from flint import fmpq, fmpz
from hypothesis import given
from hypothesis import strategies as st

from suffice.numbers.exact import in_digits, nearest_float, to_fraction
from suffice.numbers.surd import Surd, exact, lower, square_root, upper

CONTEXT = Context(prec=400)
terms = st.lists(
    st.tuples(st.fractions(-3, 3, max_denominator=8), st.fractions(0, 12, max_denominator=6)), min_size=1, max_size=4
)


def made(whole, some):
    """`whole + Σ factor·√radicand`, by the library, and in 400 digits without it."""
    number = fmpq(whole.numerator, whole.denominator)
    digits = CONTEXT.divide(whole.numerator, whole.denominator)
    for factor, radicand in some:
        root = square_root(fmpq(radicand.numerator, radicand.denominator))
        number = number + root * fmpq(factor.numerator, factor.denominator)
        part = CONTEXT.sqrt(CONTEXT.divide(radicand.numerator, radicand.denominator))
        digits = CONTEXT.add(digits, CONTEXT.multiply(part, CONTEXT.divide(factor.numerator, factor.denominator)))
    return number, digits


@given(st.fractions(-3, 3, max_denominator=8), terms, terms)
def test_sums_compare_as_their_digits_do(whole, some, others):
    one, one_digits = made(whole, some)
    other, other_digits = made(Fraction(0), others)
    apart = CONTEXT.subtract(one_digits, other_digits)
    # Numbers of so few bits agree in 300 digits only if they are equal.
    sign = 0 if abs(apart) < Decimal(10) ** -300 else 1 if apart > 0 else -1
    assert ((one > other) - (one < other), one == other, one != other) == (sign, sign == 0, sign != 0)
    assert ((one >= other), (one <= other)) == (sign >= 0, sign <= 0)
    assert sign != 0 or hash(one) == hash(other)
    assert math.isclose(nearest_float(one), float(one_digits), rel_tol=1e-15, abs_tol=1e-300)


@given(st.fractions(-3, 3, max_denominator=8), terms)
def test_what_is_rational_leaves_as_a_rational(whole, some):
    number, _ = made(whole, [*some, *((-factor * 2, radicand / 4) for factor, radicand in some)])
    assert type(number) is fmpq
    assert to_fraction(number) == whole


def test_roots_of_one_class_are_one_root():
    roots = [square_root(fmpq(n)) for n in (2, 8, 18)]
    assert roots[0] + roots[1] - roots[2] == 0
    assert type(roots[0] + roots[1] - roots[2]) is fmpq
    assert square_root(fmpq(1, 2)) * 2 == roots[0]
    assert len((roots[0] + square_root(fmpq(3)) + square_root(fmpq(6)))._roots) == 3  # independent, though 2·3 = 6


@pytest.mark.parametrize("bits", [10, 200, 900, 3000])
def test_a_near_tie_is_told_from_a_tie(bits):
    little = fmpq(1, 2**bits)
    left = square_root(fmpq(2)) + square_root(fmpq(3)) + square_root(fmpq(5, 7))
    right = square_root(fmpq(8)) / 2 + square_root(fmpq(27)) / 3 + square_root(fmpq(35)) / 7
    assert left == right
    assert left < right + little
    assert left > right - little


def test_thirty_long_radicands_are_told_apart():
    radicands = [fmpq(2**700 + 2 * k + 1) for k in range(30)]
    total = sum((square_root(one) for one in radicands), fmpq(0))
    again = sum((square_root(one * 9) for one in reversed(radicands)), fmpq(0))
    assert total * 3 == again
    assert total * 3 < again + fmpq(1, 2**900)


def test_bounds_floor_and_rounding_enclose_the_number():
    root = square_root(fmpq(10**40 + 1))
    low, high = root.bounds(100)
    assert low**2 < 10**40 + 1 < high**2
    assert high - low < fmpq(1, 2**100)
    assert lower(root) < root < upper(root)
    assert (root.floor(), root.ceil()) == (10**20, 10**20 + 1)
    assert (-root).floor() == -(10**20) - 1
    assert float(root) == 1e20
    assert (lower(fmpq(3)), upper(fmpq(3)), exact(3)) == (3, 3, 3)


def test_a_tiny_difference_of_roots_keeps_its_digits():
    tiny = square_root(fmpq(10**800 + 1)) - 10**400
    assert in_digits(tiny) == "5e-401"
    assert nearest_float(tiny) == 0.0
    assert tiny > 0


def test_it_mixes_with_the_numbers_of_users():
    root = square_root(fmpq(2))
    assert isinstance(root + Fraction(1, 3), Surd)
    assert sorted([math.inf, root, Fraction(3, 2), 1, -math.inf]) == [-math.inf, 1, root, Fraction(3, 2), math.inf]
    assert (Fraction(3, 2) > root, root < 1.5, root < 2, root == Fraction(3, 2)) == (True, True, True, False)
    assert (3 - root) + root == 3
    assert abs(-root) == root
    assert repr(3 - root * 2) == "3 - 2*sqrt(2)"
    for wrong in ("1", None):
        with pytest.raises(TypeError):
            root + wrong
        with pytest.raises(TypeError):
            root < wrong  # noqa: B015


def test_a_whole_number_of_flint_is_a_number_to_compare_with():
    root = square_root(fmpq(2))
    assert fmpz(1) < root < fmpz(2)
    assert root > fmpz(1)
