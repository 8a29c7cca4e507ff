"""How far a fixed feature may go: the widest interval, or set of labels, over which constraints still hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flint import fmpq

from suffice.core.constraint import NO_DROP, Drop
from suffice.core.landscape import within
from suffice.core.room import Level, Reach
from suffice.errors import Undecided
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.shapes.axis import Interval
from suffice.shapes.pieces import Pieces


class End(NamedTuple):
    """An end of an interval (None: without end), and whether it belongs to it."""

    at: Rational | None
    is_included: bool
    more: Rational = ZERO  # the true end is no rational number, and less than this beyond the one given


class AllowedRange(NamedTuple):
    """Values that a feature may take: from `low` to `high`, or some labels; and its drop over them by constraint."""

    low: End
    high: End
    is_integers: bool
    values: tuple[Value, ...]
    drops: tuple[Drop, ...]
    is_open: bool = False  # whether a tie leaves open that more values are allowed

    def reach(self, domain: Domain) -> Reach:
        """Return which values of the feature's domain these are."""
        if self.values:
            return Reach((), self.values)
        allowed = Interval(self.low.at, self.low.is_included, self.high.at, self.high.is_included)
        each = [
            (within(Interval(low, True, high, True), allowed, is_integers=is_integers), is_integers)
            for low, high, is_integers in domain.spans
        ]
        return Reach(tuple((one, is_integers) for one, is_integers in each if one is not None), ())


def widest_range(levels: Sequence[Level], value: Value, domain: Domain) -> AllowedRange:
    """Return the values around a feature's own for which every constraint holds.

    Parameters
    ----------
    levels : for each constraint how low its score gets at a value of the feature
    value, domain : the feature's value, and all that it can be
    """
    if not isinstance(value, fmpq) or value in (*domain.categories_, *domain.codes_):
        return _labels(levels, value, domain)
    spans = _split(disjoint(domain.spans), levels)
    left, right = (_walk(levels, value, spans, side) for side in (-1, 1))
    drops = tuple(max(stretch.drop(level.function, level.here) for stretch in (*left, *right)) for level in levels)
    is_integers = all(stretch.is_integers for stretch in (*left, *right))
    return AllowedRange(left[-1].low, right[-1].high, is_integers, (), drops)


def _split(spans: Sequence[Span], levels: Sequence[Level]) -> list[Span]:
    """Return the same spans, those of integers apart where the edge of a level may change."""
    found = []
    firsts = {fmpq(place.floor() + 1 if side or place.q != 1 else place) for one in levels for place, side in one.cuts}
    for span in spans:
        inside = [
            first
            for first in sorted(firsts)
            if span.is_integers and (span.low is None or span.low < first) and (span.high is None or first <= span.high)
        ]
        starts, ends = [span.low, *inside], [*(first - 1 for first in inside), span.high]
        found += [Span(low, high, span.is_integers) for low, high in zip(starts, ends, strict=True)]
    return found


class _Stretch(NamedTuple):
    """Part of a span over which every constraint holds."""

    low: End
    high: End
    is_integers: bool

    def drop(self, function: Pieces, here: Rational) -> Drop:
        """Return how far a function falls below its value at the row."""
        return _drop(function.on_integers if self.is_integers else function, here, self.low, self.high)


def disjoint(spans: Iterable[Span]) -> list[Span]:
    """Return the same numbers as spans of which no two overlap, in ascending order: integers only between intervals."""
    intervals = _merged([span for span in spans if not span.is_integers], 0)
    found = list(intervals)
    for whole in _merged([span for span in spans if span.is_integers], 1):
        rest = [whole]
        for interval in intervals:
            rest = [part for one in rest for part in _without(one, interval)]
        found += rest
    return sorted(found, key=_from)


def _from(span: Span) -> tuple[bool, Rational]:
    return span.low is not None, ZERO if span.low is None else span.low


def _merged(spans: Iterable[Span], apart: int) -> list[Span]:
    """Return spans of one kind in ascending order, with those joined that are no further apart."""
    found: list[Span] = []
    for span in sorted(spans, key=_from):
        last = found[-1] if found else None
        if last is None or (last.high is not None and span.low is not None and span.low > last.high + apart):
            found.append(span)
        else:
            high = None if last.high is None or span.high is None else max(last.high, span.high)
            found[-1] = last._replace(high=high)
    return found


def _without(whole: Span, interval: Span) -> list[Span]:
    """Return the integers of a span that are not in an interval."""
    left = whole.high if interval.low is None else fmpq(interval.low.ceil() - 1)
    right = whole.low if interval.high is None else fmpq(interval.high.floor() + 1)
    parts = []
    if interval.low is not None:
        parts.append((whole.low, left if whole.high is None or left is None else min(left, whole.high)))
    if interval.high is not None:
        parts.append((right if whole.low is None or right is None else max(right, whole.low), whole.high))
    return [Span(low, high, True) for low, high in parts if low is None or high is None or low <= high]


def _walk(levels: Sequence[Level], value: Rational, spans: Sequence[Span], side: int) -> list[_Stretch]:
    """Return the stretches from the value towards a side, from one span to the next, until a constraint breaks.

    The spans do not overlap, so that each is walked after the one before, and no number of the domain is passed over.
    """
    found: list[_Stretch] = []
    at = value
    place = next(k for k, span in enumerate(spans) if span.holds(value))
    while True:
        span = spans[place]
        ends = [_first_break(level, at, side, is_integers=span.is_integers) for level in levels]
        end = _nearest(ends, span, side)
        near = End(at, is_included=True)
        found.append(_Stretch(near, end, span.is_integers) if side > 0 else _Stretch(end, near, span.is_integers))
        place += side
        if end.at is None or not end.is_included or end.at != (span.high if side > 0 else span.low):
            return found
        if not 0 <= place < len(spans):
            return found
        entry = spans[place].low if side > 0 else spans[place].high
        assert entry is not None, "a span beyond another one begins somewhere"
        at = entry
        if not all(level.constraint.allows(level.drop(level.function(at), level.edge(at))) for level in levels):
            return found


def _labels(levels: Sequence[Level], value: Value, domain: Domain) -> AllowedRange:
    """Return the categories that do no harm; a special code stands alone."""

    def is_allowed(other: Value) -> bool:
        # A category may also raise the score: as no drop it leaves the room that there was.
        drops = (max(level.fall, level.drop(level.function(other), level.edge(other))) for level in levels)
        return all(level.constraint.allows(drop) for level, drop in zip(levels, drops, strict=True))

    values = [other for other in domain.categories_ if is_allowed(other)] if value in domain.categories_ else [value]
    largest = tuple(max(NO_DROP, *(Drop.of(one.here - one.function(other)) for other in values)) for one in levels)
    return AllowedRange(End(None, False), End(None, False), False, tuple(values), largest)


def _first_break(level: Level, value: Rational, side: int, *, is_integers: bool) -> End:
    """Return how far from the value, towards a side, the constraint holds.

    Whether it holds at a level is for the constraint to say, which may need a closer enclosure of its margin. Only
    where a slope crosses a margin that is not rational, the last rational level known to be safe stands for it.
    """
    constraint, function = level.constraint, level.function.on_integers if is_integers else level.function
    lowest = level.here - (constraint.margin - level.fall.value)  # a level below may hold too, by less than the gap

    def is_allowed(height: Rational, near: Rational) -> bool:
        return constraint.allows(level.drop(height, level.edge(near)))

    def comes_close(height: Rational) -> bool:
        """Whether levels above this one, as close to it as one likes, are allowed."""
        return constraint.allows(level.drop(height, -1))

    at = value
    while True:
        k = function.segment_after(at) if side > 0 else function.segment_before(at)
        slope, offset = function.slopes[k], function.offsets[k]
        start, falling = slope * at + offset, slope * side < 0
        is_last = k == (len(function.knots) if side > 0 else 0)
        knot = None if is_last else function.knots[k if side > 0 else k - 1]
        # The edge is the same all along a piece; of integers, all along a span.
        inside = at if is_integers else at + side if knot is None else (at + knot) / 2
        if not (comes_close(start) if slope else is_allowed(start, inside)):
            return End(at, is_included=True)  # just beyond it breaks
        if falling and start <= lowest:  # so it does here, or less than the gap further on
            return End(at, is_included=True, more=constraint.gap / abs(slope))
        if falling and (knot is None or not comes_close(slope * knot + offset)):
            crossing = (lowest - offset) / slope
            return End(crossing, is_allowed(lowest, inside), constraint.gap / abs(slope))
        if knot is None:
            return End(None, is_included=False)
        if not is_allowed(function(knot), at if is_integers else knot):
            return End(knot, is_included=False)
        at = knot


def _nearest(ends: Sequence[End], span: Span, side: int) -> End:
    """Return the end nearest to the value among those of all constraints and of the span."""
    limit = span.high if side > 0 else span.low
    known = [(end.at, end) for end in (*ends, End(limit, is_included=True)) if end.at is not None]
    if not known:
        return End(None, is_included=False)
    at = (min if side > 0 else max)(place for place, _ in known)
    is_included = all(end.is_included for place, end in known if place == at)
    more = min(end.more for place, end in known if place == at)  # an end that is rational is the true one
    furthest = at + side * more
    if more and any(at != place and (furthest - place) * side >= 0 for place, _ in known):
        raise Undecided  # another end may be nearer than the true one
    if span.is_integers:  # between integers the function is affine: those up to the break are allowed
        whole, last = (fmpq(one.floor() if side > 0 else one.ceil()) for one in (at, furthest))
        if whole != last:
            raise Undecided
        return End(whole if is_included or whole != at else whole - side, is_included=True)
    return End(at, is_included, more)


def _drop(function: Pieces, here: Rational, low: End, high: End) -> Drop:
    """Return how far the function falls below its value at the row between two ends."""
    # An end that does not belong to the interval is left out, but not what the piece before it comes close to.
    first, limit = _inner(function, here, low, high, 1)
    last, other = _inner(function, here, high, low, -1)
    infimum = function.infimum(first, last)
    assert infimum.is_bounded
    return max(NO_DROP, limit, other, Drop(False, here - infimum.value, -1 if infimum.is_approached else 0))


def _inner(function: Pieces, here: Rational, end: End, opposite: End, side: int) -> tuple[Rational | None, Drop]:
    """Return a point of the interval on the piece beside an end that is left out, and the drop at its limit."""
    if end.at is None or end.is_included:
        return end.at, NO_DROP
    k = function.segment_after(end.at) if side > 0 else function.segment_before(end.at)
    beside = function.knots[k : k + 1] if side > 0 else function.knots[max(k - 1, 0) : k]
    others = [place for place in (*beside, opposite.at) if place is not None]
    piece_end = (min if side > 0 else max)(others) if others else end.at + side
    slope = function.slopes[k]
    limit = Drop(False, here - slope * end.at - function.offsets[k], -1 if slope else 0)
    return (end.at + piece_end) / 2, limit
