"""The drop of a feature as a function of the row's value: affine between breaks, in exact arithmetic.

In: a feature's part of a claim's score, its domain, and its radius. Out: `Lines`, breaks and the drop on each open
stretch between them.
Guaranteed: for a number strictly inside a stretch, and in the domain, the line of the stretch is the drop that
`bound_drops` finds for it. At a break itself nothing is said.

Why the drop is affine in pieces: with the radius fixed, the ends of the region move with the row. While neither of them
meets a knot or an end of the domain, the lowest value over the region is the least of a few lines: the function at the
left end, the function at the right end, and a constant, the lowest of the knots inside.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from flint import fmpq

from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes.infimum import Infimum
from suffice.shapes.pieces import Pieces

_FAR_STEPS = 20  # the outermost stretch is cut where its length has grown by a factor of 4, so often


class Line(NamedTuple):
    """`slope · x + offset`; as a drop also whether it is attained, or infinite (then the line says nothing)."""

    slope: Rational
    offset: Rational
    is_attained: bool = True
    is_infinite: bool = False

    def at(self, x: Rational) -> Rational:
        """Return the value at a number."""
        return self.slope * x + self.offset


NO_LINE = Line(ZERO, ZERO)
INFINITE = Line(ZERO, ZERO, is_attained=False, is_infinite=True)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines on the open stretches between breaks, one more than breaks; None where the domain has no number."""

    breaks: tuple[Rational, ...]
    lines: tuple[Line | None, ...]


def on_domain(function: Pieces, domain: Domain) -> Pieces:
    """Return a function that is the same on the domain; affine between integers where it holds no other numbers."""
    return function.on_integers if is_integral(domain) else function


def is_integral(domain: Domain) -> bool:
    """Whether all numbers of the spans are integers."""
    return bool(domain.spans) and all(span.is_integers for span in domain.spans)


def value_lines(function: Pieces) -> Lines:
    """Return the pieces of a function as lines."""
    return Lines(function.knots, tuple(map(Line, function.slopes, function.offsets)))


def far_points(breaks: Sequence[Rational]) -> list[Rational]:
    """Return floats ever further out on both sides, so that a stretch is about as long as its distance from the rest.

    An error bound that holds on a whole stretch then says something everywhere; beyond the last there is none.
    """
    low, high = (min(breaks), max(breaks)) if breaks else (ZERO, ZERO)
    unit = max(high - low, abs(low) / 2**20, abs(high) / 2**20) or ONE
    steps = [unit * 4**k for k in range(_FAR_STEPS)]
    floats = {nearest_float(point) for step in steps for point in (high + step, low - step)}
    return [rational(point) for point in sorted(floats) if abs(point) < 2.0**1000]


def drop_lines(function: Pieces, domain: Domain, radius: Rational | None, far: Sequence[Rational]) -> Lines | None:
    """Return the drop of a feature as lines; None where integers and other numbers make up the domain together.

    Parameters
    ----------
    function : Pieces
        The feature's part of a claim's score, as `on_domain` gives it.
    domain : Domain
        All values of the feature.
    radius : Rational or None
        How far it may move; None for anywhere.
    far : sequence of Rational
        Further breaks; outside the first and the last of them there are no lines.
    """
    if radius is None:
        return _from_anywhere(function, domain)
    if is_integral(domain):
        radius = fmpq(radius.floor())
    elif radius and any(span.is_integers for span in domain.spans):
        return None
    if not radius:
        return Lines((), (NO_LINE,))
    breaks: list[Rational] = [far[0]]
    lines: list[Line | None] = [None]
    for low, high in pairwise(_breaks(function, domain, radius, far)):
        for end, line in stretch_lines(function, domain, radius, low, high):
            breaks.append(end)
            lines.append(line)
    return Lines(tuple(breaks), (*lines, None))


def _from_anywhere(function: Pieces, domain: Domain) -> Lines:
    """Return the drops where the whole domain is within reach: the least value of all is the same for every row."""
    least = least_anywhere(function, domain)
    if least.is_infinite:
        return Lines((), (INFINITE,))
    lines = [drop_of(Line(*one), least) for one in zip(function.slopes, function.offsets, strict=True)]
    return Lines(function.knots, tuple(lines))


def least_anywhere(function: Pieces, domain: Domain) -> Line:
    """Return the least value on the whole domain, as a constant; infinite where there is no bound."""
    found = [(function.on_integers if s.is_integers else function).infimum(s.low, s.high) for s in domain.spans]
    found += [Infimum.attained(function(value), value) for value in (*domain.categories_, *domain.codes_)]
    least = min(found, key=lambda one: one.rank)
    return Line(ZERO, least.value, not least.is_approached) if least.is_bounded else INFINITE


def _breaks(function: Pieces, domain: Domain, radius: Rational, far: Sequence[Rational]) -> list[Rational]:
    """Return all numbers where an end of the region, or the row itself, meets a knot or an end of the domain."""
    ends = {end for span in domain.spans for end in (span.low, span.high) if end is not None}
    marks = {*function.knots, *ends}
    found = {*marks, *(mark - radius for mark in marks), *(mark + radius for mark in marks), *far}
    return sorted(point for point in found if far[0] <= point <= far[-1])


def stretch_lines(
    function: Pieces, domain: Domain, radius: Rational, low: Rational, high: Rational
) -> Iterator[tuple[Rational, Line | None]]:
    """Yield the drop on one stretch as its parts: the end of each, and the line there."""
    middle = (low + high) / 2
    if not any(_covers(span, middle) for span in domain.spans):
        yield high, None
        return
    here = bisect_right(function.knots, low)
    own = Line(function.slopes[here], function.offsets[here])
    lowest = [line for span in domain.spans for line in _lowest_lines(function, span, radius, middle)]
    for end, line in _envelope(lowest, low, high):
        yield end, drop_of(own, line)


def drop_of(own: Line, lowest: Line) -> Line:
    """Return how far the lowest value lies below the row's own."""
    drop = Line(own.slope - lowest.slope, own.offset - lowest.offset, lowest.is_attained)
    return NO_LINE if not drop.slope and not drop.offset else drop  # the row itself attains a drop of 0


def _covers(span: Span, point: Rational) -> bool:
    """Whether a point that is no end of a span lies between its ends."""
    return (span.low is None or span.low < point) and (span.high is None or point < span.high)


def _lowest_lines(function: Pieces, span: Span, radius: Rational, middle: Rational) -> list[Line]:
    """Return lines whose least is the infimum over the span within the radius, for rows on the stretch of `middle`."""
    left, right = middle - radius, middle + radius
    if (span.high is not None and left > span.high) or (span.low is not None and right < span.low):
        return []
    if span.low is not None and span.low == span.high:
        return [Line(ZERO, function(span.low))]
    left_end = None if span.low is None or left > span.low else span.low  # None: it moves with the row
    right_end = None if span.high is None or right < span.high else span.high
    first = bisect_right(function.knots, left if left_end is None else left_end)
    last = bisect_left(function.knots, right if right_end is None else right_end)
    lines = []
    inner = function.lowest_knot(first, last)
    if inner is not None:
        lines.append(Line(ZERO, inner.value, not inner.is_approached))
    # A piece that falls away from an end of the region is lower further inside, where another candidate is.
    if function.slopes[first] >= 0:
        lines.append(_at_end(function, first, left_end, -radius))
    if function.slopes[last] <= 0:
        lines.append(_at_end(function, last, right_end, radius))
    lines += [Line(ZERO, function(end)) for end in (left_end, right_end) if end is not None]
    return lines


def _at_end(function: Pieces, k: int, end: Rational | None, shift: Rational) -> Line:
    """Return what piece `k` offers at an end of the region: one that moves with the row, or one of the domain."""
    slope, offset = function.slopes[k], function.offsets[k]
    if end is None:
        return Line(slope, offset + slope * shift)
    limit = slope * end + offset
    return Line(ZERO, limit, is_attained=not slope or limit == function(end))


def _envelope(lines: Sequence[Line], low: Rational, high: Rational) -> Iterator[tuple[Rational, Line]]:
    """Yield the least of some lines from `low` to `high` as its parts: the end of each, and the line there."""
    # Of lines that meet at an end, the one that is lower inside; of equal lines, one that is attained.
    first = min(lines, key=lambda line: (line.at(low), line.slope, not line.is_attained))
    last = min(lines, key=lambda line: (line.at(high), -line.slope, not line.is_attained))
    if first == last or first.at(high) == last.at(high):
        yield high, first  # lowest at both ends, so everywhere between
        return
    crossing = (last.offset - first.offset) / (first.slope - last.slope)
    assert low < crossing < high
    yield from _envelope(lines, low, crossing)
    yield from _envelope(lines, crossing, high)
