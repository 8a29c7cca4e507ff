"""Polynomials between knots, evaluated in fractions and minimised in decimals of many digits."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from decimal import Context, Decimal
from fractions import Fraction

DIGITS = 150
_CONTEXT = Context(prec=DIGITS)
CLOSE = Decimal(10) ** -100


def decimal(value):
    """A fraction in many digits."""
    return _CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator))


def value_of(powers, at):
    """The polynomial with these factors of 1, x, x², ... at a fraction."""
    total = Fraction(0)
    for factor in reversed(powers):
        total = total * at + factor
    return total


class PlainCurve:
    """Polynomials between knots; the value at a knot is that of the piece which begins there, if not given."""

    def __init__(self, knots, coefficients, values=None):
        self.knots = [Fraction(knot) for knot in knots]
        self.coefficients = [[Fraction(factor) for factor in powers] for powers in coefficients]
        begins = zip(self.coefficients[1:], self.knots, strict=True)
        self.values = [value_of(*one) for one in begins] if values is None else [Fraction(v) for v in values]

    def __call__(self, at):
        k = bisect_left(self.knots, at)
        if k < len(self.knots) and self.knots[k] == at:
            return self.values[k]
        return value_of(self.coefficients[k], at)

    def lowest(self, low, high):
        """The infimum over [low, high], in many digits: of ends, knots, limits beside them, and roots of f'."""
        if low == high:
            return decimal(self(low))
        stops = [low, *(knot for knot in self.knots if low < knot < high), high]
        found = [decimal(self(stop)) for stop in stops]
        for left, right in itertools.pairwise(stops):
            powers = self.coefficients[bisect_left(self.knots, (left + right) / 2)]
            found += [decimal(value_of(powers, end)) for end in (left, right)]
            found += [
                self._at(powers, root)
                for root in _roots([k * factor for k, factor in enumerate(powers)][1:])
                if decimal(left) < root < decimal(right)
            ]
        return min(found)

    @staticmethod
    def _at(powers, at):
        total = Decimal(0)
        for factor in reversed(powers):
            total = _CONTEXT.add(_CONTEXT.multiply(total, at), decimal(factor))
        return total


def _roots(powers):
    """The real roots of a polynomial of degree 2 at most that is not constant."""
    while powers and powers[-1] == 0:
        powers = powers[:-1]
    if len(powers) == 2:
        return [decimal(-powers[0] / powers[1])]
    if len(powers) < 3:
        return []
    below = powers[1] ** 2 - 4 * powers[2] * powers[0]
    if below < 0:
        return []
    root = _CONTEXT.sqrt(decimal(below))
    tops = [_CONTEXT.add(decimal(-powers[1]), one) for one in (root, _CONTEXT.minus(root))]
    return [_CONTEXT.divide(top, decimal(2 * powers[2])) for top in tops]
