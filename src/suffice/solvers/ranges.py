"""How far a fixed feature may go: the widest interval, or set of labels, over which constraints still hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import fmpq

from suffice.core.drops import NO_DROP, Constraint, Drop, total
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import Rational
from suffice.numbers.values import Value
from suffice.shapes.pieces import Pieces


class End(NamedTuple):
    """An end of an interval (None: without end), and whether it belongs to it."""

    at: Rational | None
    is_included: bool


class AllowedRange(NamedTuple):
    """Values that a feature may take: from `low` to `high`, or some labels; and its drop over them by constraint."""

    low: End
    high: End
    is_integers: bool
    values: tuple[Value, ...]
    drops: tuple[Drop, ...]


def widest_range(
    functions: Sequence[Pieces],
    here: Sequence[Rational],
    value: Value,
    domain: Domain,
    constraints: Sequence[Constraint],
    falls: Sequence[Drop],
) -> AllowedRange:
    """Return the values around a feature's own for which every constraint holds.

    Parameters
    ----------
    functions, here : for each constraint the feature's part, and its value at the row
    value, domain : the feature's value, and all that it can be
    constraints, falls : margins, and how far all other features may lower each of them
    """
    if not isinstance(value, fmpq) or value in (*domain.categories_, *domain.codes_):
        return _labels(functions, here, value, domain, constraints, falls)
    parts = list(zip(functions, here, constraints, falls, strict=True))
    left, right = (_walk(parts, value, domain.spans, side) for side in (-1, 1))
    drops = tuple(
        max(stretch.drop(function, start) for stretch in (*left, *right))
        for function, start in zip(functions, here, strict=True)
    )
    is_integers = all(stretch.is_integers for stretch in (*left, *right))
    return AllowedRange(left[-1].low, right[-1].high, is_integers, (), drops)


Part = tuple[Pieces, Rational, Constraint, Drop]


class _Stretch(NamedTuple):
    """Part of a span over which every constraint holds."""

    low: End
    high: End
    is_integers: bool

    def drop(self, function: Pieces, here: Rational) -> Drop:
        """Return how far a function falls below its value at the row."""
        return _drop(function.on_integers if self.is_integers else function, here, self.low, self.high)


def _walk(parts: Sequence[Part], value: Rational, spans: Sequence[Span], side: int) -> list[_Stretch]:
    """Return the stretches from the value towards a side, from one span to the next, until a constraint breaks."""
    found: list[_Stretch] = []
    at = value
    span: Span | None = next(span for span in spans if span.holds(value))
    while span is not None:
        is_whole = span.is_integers
        ends = [_first_break(f.on_integers if is_whole else f, h, at, side, c, fall) for f, h, c, fall in parts]
        end = _nearest(ends, span, side)
        near = End(at, is_included=True)
        found.append(_Stretch(near, end, is_whole) if side > 0 else _Stretch(end, near, is_whole))
        if end.at is None or not end.is_included or end.at != (span.high if side > 0 else span.low):
            break
        span, at = _next_span(spans, end.at, side)
        if span is not None and not all(c.allows(total((fall, Drop.of(h - f(at))))) for f, h, c, fall in parts):
            break
    return found


def _next_span(spans: Sequence[Span], at: Rational, side: int) -> tuple[Span | None, Rational]:
    """Return the span that goes on from a point towards a side, across a gap if need be, and where it is entered."""
    found: list[tuple[Rational, Span]] = []
    for span in spans:
        near, far = (span.low, span.high) if side > 0 else (span.high, span.low)
        if far is not None and (far - at) * side <= 0:
            continue
        entry = at if near is None or (at - near) * side >= 0 else near
        if span.is_integers:
            entry = fmpq(entry.ceil() if side > 0 else entry.floor())
        found.append((entry * side, span))
    if not found:
        return None, at
    entry, span = min(found, key=lambda one: one[0])
    return span, entry * side


def _labels(
    functions: Sequence[Pieces],
    here: Sequence[Rational],
    value: Value,
    domain: Domain,
    constraints: Sequence[Constraint],
    falls: Sequence[Drop],
) -> AllowedRange:
    """Return the categories that do no harm; a special code stands alone."""

    def drops(other: Value) -> list[Drop]:
        return [max(NO_DROP, Drop.of(start - function(other))) for function, start in zip(functions, here, strict=True)]

    def is_allowed(other: Value) -> bool:
        each = zip(constraints, falls, drops(other), strict=True)
        return all(constraint.allows(total((fall, drop))) for constraint, fall, drop in each)

    values = [other for other in domain.categories_ if is_allowed(other)] if value in domain.categories_ else [value]
    largest = tuple(max(column) for column in zip(*(drops(other) for other in values), strict=True))
    return AllowedRange(End(None, False), End(None, False), False, tuple(values), largest)


def _first_break(
    function: Pieces, here: Rational, value: Rational, side: int, constraint: Constraint, fall: Drop
) -> End:
    """Return how far from the value, towards a side, the constraint holds."""
    room = constraint.margin - fall.value
    lowest = here - room
    has_lowest = constraint.allows(total((fall, Drop.of(room))))  # whether the lowest level itself is allowed

    def is_allowed(level: Rational) -> bool:
        return level > lowest or (level == lowest and has_lowest)

    at = value
    while True:
        k = function.segment_after(at) if side > 0 else function.segment_before(at)
        slope, offset = function.slopes[k], function.offsets[k]
        start, falling = slope * at + offset, slope * side < 0
        if start < lowest or (start == lowest and (falling or (slope == 0 and not has_lowest))):
            return End(at, is_included=True)  # just beyond it breaks
        is_last = k == (len(function.knots) if side > 0 else 0)
        knot = None if is_last else function.knots[k if side > 0 else k - 1]
        if falling:
            crossing = (lowest - offset) / slope
            if knot is None or (crossing < knot if side > 0 else crossing > knot):
                return End(crossing, has_lowest)
        if knot is None:
            return End(None, is_included=False)
        if not is_allowed(function(knot)):
            return End(knot, is_included=False)
        at = knot


def _nearest(ends: Sequence[End], span: Span, side: int) -> End:
    """Return the end nearest to the value among those of all constraints and of the span."""
    limit = span.high if side > 0 else span.low
    known = [(end.at, end.is_included) for end in (*ends, End(limit, is_included=True)) if end.at is not None]
    if not known:
        return End(None, is_included=False)
    at = (min if side > 0 else max)(place for place, _ in known)
    is_included = all(included for place, included in known if place == at)
    if span.is_integers:  # between integers the function is affine: those up to the break are allowed
        whole = fmpq(at.floor() if side > 0 else at.ceil())
        return End(whole if is_included or whole != at else whole - side, is_included=True)
    return End(at, is_included)


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
