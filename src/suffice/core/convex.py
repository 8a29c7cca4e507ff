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


def on_lower_hull(points: Sequence[tuple[Rational, Rational]]) -> list[bool]:
    """Return for each point whether it is on the lower convex hull of all; its corners and what lies between them are.

    Whatever affine function of the place is added to the heights, a point above the hull stays above the lowest.

    Examples
    --------
    >>> from flint import fmpq
    >>> on_lower_hull([(fmpq(0), fmpq(1)), (fmpq(1), fmpq(1)), (fmpq(2), fmpq(0)), (fmpq(2), fmpq(3))])
    [True, False, True, False]
    """
    hull: list[tuple[Rational, Rational]] = []
    for point in sorted(points):  # of equal places the lowest comes first
        if hull and hull[-1][0] == point[0]:
            continue
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    kept, at = [False] * len(points), 0
    for k in sorted(range(len(points)), key=points.__getitem__):
        while at < len(hull) and hull[at] < points[k]:
            at += 1
        kept[k] = at < len(hull) and hull[at] == points[k]
    return kept


def _is_above(
    left: tuple[Rational, Rational], middle: tuple[Rational, Rational], right: tuple[Rational, Rational]
) -> bool:
    """Whether the middle one of three points is above the line through the others."""
    return bool((middle[1] - left[1]) * (right[0] - left[0]) > (right[1] - left[1]) * (middle[0] - left[0]))
