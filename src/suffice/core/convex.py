"""Convex functions made of finitely many affine ones, found from their values and tangents alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from suffice.numbers.exact import Rational


class Line(NamedTuple):
    """An affine function."""

    slope: Rational
    offset: Rational

    def __call__(self, at: Rational) -> Rational:
        """Return its value at a number."""
        return self.slope * at + self.offset


def tangents(touching: Callable[[Rational], Line], low: Rational, high: Rational) -> list[Line]:
    """Return affine functions whose largest is a convex function between two numbers, in ascending order of slopes.

    Parameters
    ----------
    touching : returns one of these that has the function's value at a number, and is nowhere above it
    low, high : the numbers, the first at most the second

    Examples
    --------
    >>> from flint import fmpq
    >>> lines = [Line(fmpq(slope), fmpq(-slope * slope)) for slope in (-2, -1, 0, 1, 2)]
    >>> def touching(at):
    ...     return max(lines, key=lambda line: line(at))
    >>> [int(line.slope) for line in tangents(touching, fmpq(-2), fmpq(4))]
    [-1, 0, 1, 2]
    """
    first, last = touching(low), touching(high)
    found, open_ = [first], [(first, last)]
    while open_:
        left, right = open_.pop()
        if left == right:
            continue
        (meet,) = kinks([left, right])
        middle = touching(meet) if low < meet < high else right
        if middle(meet) == left(meet):  # nothing is above where the two meet
            found.append(right)
        else:
            open_ += [(middle, right), (left, middle)]
    return found


def largest(lines: Iterable[Line], at: Rational) -> Line:
    """Return the affine function that is largest at a number."""
    return max(lines, key=lambda line: line(at))


def kinks(lines: Sequence[Line]) -> list[Rational]:
    """Return where each affine function meets the next one."""
    return [(one.offset - other.offset) / (other.slope - one.slope) for one, other in pairwise(lines)]
