"""Exact numbers that are not rational: a rational plus multiples of square roots.

Such are the minima of cubic curves. They add up, and compare with each other and with rationals, without rounding.

Why every comparison ends. The radicands of a `Surd` are whole numbers, none of them a square, and no two of one *class*
(`d·e` is never a square of a whole number). Square roots of different classes, together with 1, are linearly
independent over the rationals (Besicovitch, 1940). So a `Surd` is not rational and in particular not 0: enclosed ever
more closely it shows its sign. Sums in which all roots cancel leave this module as rationals.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

from flint import fmpq, fmpz

from suffice.numbers.exact import ONE, ZERO, Number, Rational, nearest_float, rational

Exact: TypeAlias = "Rational | Surd"

_PLAIN = (fmpq, fmpz, int, Fraction)  # what a `Surd` is added to and multiplied with
_FIRST_BITS = 64
_BOUND_BITS = 96  # how closely `lower` and `upper` bound a number


class Surd:
    """An irrational number `rational + Σ factor · √radicand`, exactly; made by `square_root` and arithmetic alone.

    Parameters
    ----------
    whole : Rational
        The rational part.
    roots : tuple of (fmpz, Rational)
        Radicands, which are of different classes and no squares, with their factors, which are not 0; one or more.

    Examples
    --------
    >>> root = square_root(fmpq(2))
    >>> root + square_root(fmpq(8))
    3*sqrt(2)
    >>> root < fmpq(141422, 100000), root * 2 - square_root(fmpq(8)), float(root)
    (True, 0, 1.4142135623730951)
    """

    __slots__ = ("_roots", "_whole")

    def __init__(self, whole: Rational, roots: tuple[tuple[fmpz, Rational], ...]) -> None:
        assert roots
        self._whole, self._roots = whole, roots

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Exact | int | Fraction) -> Exact:
        if isinstance(other, Surd):
            return _merged(self._whole + other._whole, self._roots, other._roots)
        if isinstance(other, _PLAIN):
            return Surd(self._whole + rational(other), self._roots)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Surd:
        return Surd(-self._whole, tuple((radicand, -factor) for radicand, factor in self._roots))

    def __sub__(self, other: Exact | int | Fraction) -> Exact:
        return self + -other if isinstance(other, (Surd, *_PLAIN)) else NotImplemented

    def __rsub__(self, other: Rational | int | Fraction) -> Exact:
        return -self + other

    def __mul__(self, other: Rational | int | Fraction) -> Exact:
        if not isinstance(other, _PLAIN):
            return NotImplemented
        factor = rational(other)
        if not factor:
            return ZERO
        return Surd(self._whole * factor, tuple((radicand, own * factor) for radicand, own in self._roots))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Rational | int | Fraction) -> Exact:
        return self * (ONE / rational(divisor)) if isinstance(divisor, _PLAIN) else NotImplemented

    def __abs__(self) -> Surd:
        return self if self.sign > 0 else -self

    def __bool__(self) -> bool:
        return True

    # --- order --------------------------------------------------------------------------------------------------------

    def bounds(self, bits: int) -> tuple[Rational, Rational]:
        """Return two rationals with the number between them, less than `2^-bits` apart."""
        size = sum((abs(factor) for _, factor in self._roots), ZERO)
        places = max(bits + max(int(size.ceil()).bit_length(), 1), 1)
        unit = fmpq(1, fmpz(1) << places)
        low = high = self._whole
        for radicand, factor in self._roots:
            # floor(√(d·4^p)) / 2^p is below √d by less than 2^-p.
            start = fmpq((radicand << (2 * places)).isqrt()) * unit
            ends = factor * start, factor * (start + unit)
            low, high = low + min(ends), high + max(ends)
        return low, high

    @property
    def sign(self) -> int:
        """1 or -1; never 0."""
        bits = _FIRST_BITS
        while True:
            low, high = self.bounds(bits)
            if low >= 0:  # the number is not rational, so it is above
                return 1
            if high <= 0:
                return -1
            bits *= 2

    def floor(self) -> fmpz:
        """Return the largest whole number below."""
        bits = _FIRST_BITS
        while True:
            low, high = (end.floor() for end in self.bounds(bits))
            if low == high:
                return low
            bits *= 2

    def ceil(self) -> fmpz:
        """Return the smallest whole number above."""
        return self.floor() + 1

    def _against(self, other: object) -> int | None:
        """Return the sign of the difference to another number; None for what is none."""
        if other in (math.inf, -math.inf):
            return -1 if other == math.inf else 1
        if isinstance(other, (int, float, Fraction, fmpz)):
            other = rational(other)
        if not isinstance(other, (Surd, fmpq)):
            return None
        rest = self - other
        return rest.sign if isinstance(rest, Surd) else (rest > 0) - (rest < 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Surd):
            return False
        rest = self - other
        return not isinstance(rest, Surd) and rest == 0

    def __hash__(self) -> int:
        return hash(float(self))  # of equal numbers the nearest float is the same, however their roots are written

    def __lt__(self, other: object) -> bool:
        sign = self._against(other)
        return NotImplemented if sign is None else sign < 0

    def __le__(self, other: object) -> bool:
        sign = self._against(other)
        return NotImplemented if sign is None else sign <= 0

    def __gt__(self, other: object) -> bool:
        sign = self._against(other)
        return NotImplemented if sign is None else sign > 0

    def __ge__(self, other: object) -> bool:
        sign = self._against(other)
        return NotImplemented if sign is None else sign >= 0

    # --- as others see it ---------------------------------------------------------------------------------------------

    def __float__(self) -> float:
        """Return the nearest float, correctly rounded: no irrational number is halfway between two floats."""
        bits = _FIRST_BITS
        while True:
            low, high = (nearest_float(end) for end in self.bounds(bits))
            if low == high:
                return low
            bits *= 2

    def near(self, bits: int = _BOUND_BITS) -> Rational:
        """Return a rational that is off by less than `2^-bits` of the number itself."""
        places = bits
        while True:
            low, high = self.bounds(places)
            if low * high > 0 and high - low < min(abs(low), abs(high)) * fmpq(1, fmpz(1) << bits):
                return low
            places *= 2

    def __repr__(self) -> str:
        parts = [str(self._whole)] if self._whole else []
        parts += [f"sqrt({d})" if b == 1 else f"{b}*sqrt({d})" for d, b in self._roots]
        return " + ".join(parts).replace("+ -", "- ")


def square_root(value: Rational) -> Exact:
    """Return the square root of a number that is 0 or more.

    Examples
    --------
    >>> square_root(fmpq(9, 4)), square_root(fmpq(1, 2))
    (3/2, 1/2*sqrt(2))
    """
    assert value >= 0
    radicand = value.p * value.q  # √(p/q) = √(p·q) / q
    root = _whole_root(radicand)
    return Surd(ZERO, ((radicand, fmpq(1, value.q)),)) if root is None else fmpq(root, value.q)


def lower(value: Exact) -> Rational:
    """Return a rational that is not above a number, and next to it; a rational itself."""
    return value.bounds(_BOUND_BITS)[0] if isinstance(value, Surd) else value


def upper(value: Exact, bits: int = _BOUND_BITS) -> Rational:
    """Return a rational that is not below a number, and next to it; a rational itself."""
    return value.bounds(bits)[1] if isinstance(value, Surd) else value


def exact(value: Number | Surd) -> Exact:
    """Return the exact value of what users see as a number; one that is not rational as it is."""
    return value if isinstance(value, Surd) else rational(value)


def _merged(
    whole: Rational, roots: tuple[tuple[fmpz, Rational], ...], more: tuple[tuple[fmpz, Rational], ...]
) -> Exact:
    """Return a sum; roots of one class become one, or cancel."""
    found = dict(roots)
    for radicand, factor in more:
        same, share = radicand, fmpq(1)
        if radicand not in found:
            for known in found:
                common = _whole_root(radicand * known)
                if common is not None:  # √d = √(d·e) / e · √e
                    same, share = known, fmpq(common, known)
                    break
        found[same] = found.get(same, ZERO) + factor * share
    left = tuple((radicand, factor) for radicand, factor in found.items() if factor)
    return Surd(whole, left) if left else whole


def _whole_root(value: fmpz) -> fmpz | None:
    root, rest = value.sqrtrem()
    return None if rest else root
