"""One kind of number for all that is exact, strict, approached or just beyond: `value + edge · ε`.

ε is above 0 and below every positive fraction, so that numbers are ordered like pairs. A fraction `v` is at most
`a - ε` where it is below `a`, and at least `a + ε` where it is above `a`: ends that do not belong to a region, limits
that no input reaches and inequalities that must not be tight are plain comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple


class Number(NamedTuple):
    """`value + edge · ε`; pairs compare as such numbers do."""

    value: Fraction
    edge: Fraction | int = 0


ZERO = Number(Fraction(0))


def total(numbers: Iterable[Number]) -> Number:
    """Return the sum."""
    every = list(numbers)
    return Number(sum((one.value for one in every), Fraction(0)), sum(one.edge for one in every))


def times(factor: Fraction, one: Number) -> Number:
    """Return a multiple."""
    return Number(factor * one.value, factor * one.edge)


def floor(one: Number) -> int:
    """Return the largest integer that is not above a number."""
    return math.floor(one.value) - (one.value.denominator == 1 and one.edge < 0)


def ceil(one: Number) -> int:
    """Return the smallest integer that is not below a number."""
    return math.ceil(one.value) + (one.value.denominator == 1 and one.edge > 0)
