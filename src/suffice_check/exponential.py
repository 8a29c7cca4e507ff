"""The exponential function between rational bounds, as tight as asked for."""

from __future__ import annotations

from fractions import Fraction


def exp_bounds(exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals `low ≤ e^exponent ≤ high`; more bits bring them closer together."""
    if exponent < 0:
        low, high = exp_bounds(-exponent, bits)
        return 1 / high, 1 / low
    # e^w = (e^v)^(2^n) with v = w / 2^n ≤ 1/2. Below, integers over 2^bits, rounded down or (by two signs) up.
    halvings = (2 * exponent).__ceil__().bit_length()
    first, second = _taylor(exponent / 2**halvings, bits)
    for _ in range(halvings):
        first, second = first * first >> bits, -(-second * second >> bits)
    return Fraction(first, 2**bits), Fraction(second, 2**bits)


def _taylor(small: Fraction, bits: int) -> tuple[int, int]:
    """Return bounds of e^small for 0 ≤ small ≤ 1/2: a lower and an upper sum of Taylor's terms."""
    p, q = small.as_integer_ratio()
    low = high = low_term = high_term = 2**bits
    k = 0
    while high_term > 2:
        k += 1
        low_term, high_term = low_term * p // (q * k), -(-high_term * p // (q * k))
        low, high = low + low_term, high + high_term
    # Every later term is at most half the one before: all of them together are at most the last one added.
    return low, high + high_term


def nearest(number: Fraction, digits: int, lowest: int) -> Fraction:
    """Return the binary float nearest to a number from 0 up: so many digits, the last no finer than 2^lowest."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    if number and number < Fraction(2) ** exponent:
        exponent -= 1  # now 2^exponent ≤ number < 2^(exponent + 1)
    unit = Fraction(2) ** max(exponent - digits + 1, lowest)
    return round(number / unit) * unit  # ties to even
