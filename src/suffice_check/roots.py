"""Numbers `whole + Σ factor · √radicand`, which add up and compare exactly: the least values of cubic polynomials."""

from __future__ import annotations

from fractions import Fraction
from functools import total_ordering
from math import isqrt

from suffice_check.reading import RejectedError

_MOST_BITS = 2**16


@total_ordering
class Roots:
    """A sum of square roots, of which no two are multiples of each other by a fraction, and of a fraction.

    A sum in which all roots cancel is made a fraction again (`plus`), so that equal numbers are always found to be. The
    sign of any other is found by enclosing it ever more closely. (That this ends is a theorem of Besicovitch: such
    roots and 1 are linearly independent. Nothing rests on it: past a limit a proof is rejected.)
    """

    def __init__(self, whole: Fraction, roots: dict[int, Fraction]) -> None:
        self.whole, self.roots = whole, roots

    def __add__(self, other: Exact) -> Exact:
        return plus(self, other)

    __radd__ = __add__

    def __neg__(self) -> Roots:
        return Roots(-self.whole, {radicand: -factor for radicand, factor in self.roots.items()})

    def __sub__(self, other: Exact) -> Exact:
        return plus(self, -other)

    def __rsub__(self, other: Fraction) -> Exact:
        return plus(-self, other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Roots) and not isinstance(plus(self, -other), Roots)

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Exact) -> bool:
        rest = plus(self, -other)
        return rest.is_negative() if isinstance(rest, Roots) else rest < 0

    def is_negative(self) -> bool:
        """Whether the number, which is not 0, is below it."""
        bits = 128
        while bits <= _MOST_BITS:
            low, high = self.bounds(bits)
            if low > 0 or high < 0:
                return high < 0
            bits *= 2
        raise RejectedError("numbers", f"sums of square roots differ by too little, if at all: {_MOST_BITS} bits agree")

    def bounds(self, bits: int) -> tuple[Fraction, Fraction]:
        """Return two fractions with the number between them."""
        low = high = self.whole
        for radicand, factor in self.roots.items():
            root = isqrt(radicand << 2 * bits)  # root / 2^bits ≤ √radicand < (root + 1) / 2^bits
            ends = factor * Fraction(root, 2**bits), factor * Fraction(root + 1, 2**bits)
            low, high = low + min(ends), high + max(ends)
        return low, high


Exact = Fraction | Roots


def plus(one: Exact, other: Exact) -> Exact:
    """Return a sum; multiples of one root become one, or cancel."""
    parts = [part if isinstance(part, Roots) else Roots(part, {}) for part in (one, other)]
    roots = dict(parts[0].roots)
    for radicand, factor in parts[1].roots.items():
        for known in roots:
            common = isqrt(radicand * known)
            if common**2 == radicand * known:  # √radicand = common / known · √known
                roots[known] += factor * Fraction(common, known)
                break
        else:
            roots[radicand] = factor
    left = {radicand: factor for radicand, factor in roots.items() if factor}
    whole = parts[0].whole + parts[1].whole
    return Roots(whole, left) if left else whole


def with_root(whole: Fraction, factor: Fraction, square: Fraction) -> Exact:
    """Return `whole + factor · √square`, for a square from 0 up: a fraction, if it is one."""
    radicand, below = square.numerator * square.denominator, square.denominator  # √(p / q) = √(p · q) / q
    root = isqrt(radicand)
    if root**2 == radicand or not factor:
        return whole + factor * Fraction(root, below)
    return Roots(whole, {radicand: factor / below})
