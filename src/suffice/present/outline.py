"""What a picture of one feature shows: its part of the claim's score, from the exact pieces, around the row.

In: an explanation and a feature. Out: an `Outline`, all floats, for plots and for the page alike. Every line ends where
a piece ends, at the exact value rounded once; only a curved piece is drawn through some points of it. Heights are
changes of the margin: 0 at the row, minus the drop at the worst case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from flint import fmpq

from suffice.answers import Explanation
from suffice.model.domain import Domain, Span, format_value
from suffice.numbers.enclosure import middle
from suffice.numbers.exact import ONE, ZERO, Rational, in_digits, nearest_float
from suffice.numbers.values import Value
from suffice.shapes import Curves, Enclosed, Function, Pieces
from suffice.shapes.curves import curved_form
from suffice.shapes.lazy import Lazy

_MOST_DOTS = 60  # so many single numbers are drawn one by one
_MOST_LABELS = 10
_BITS = 64  # how closely the heights of smooth functions are known before they are rounded
_MOST_CHORDS = 200  # that a curve is drawn with, beside its knots


class Point(NamedTuple):
    """A place and the change of the margin there."""

    x: float
    y: float


class Tick(NamedTuple):
    """A value that has no place among the numbers, and where it is put."""

    x: float
    text: str
    is_in_region: bool


class Outline(NamedTuple):
    """All that is drawn of one feature."""

    name: str
    is_fixed: bool
    lines: tuple[tuple[Point, ...], ...]  # unbroken ones; a jump begins a new one
    dots: tuple[Point, ...]  # single values: at jumps, at integers, at labels
    region: tuple[tuple[float, float], ...]  # stretches of numbers that the feature may take when free
    ticks: tuple[Tick, ...]  # categories and codes
    window: tuple[float, float]  # what is shown of the line, ticks included
    row: Point
    worst: Point | None  # None where the margin falls without bound
    is_attained: bool  # whether some input takes the worst case, or values only come close to it
    takes: str  # how far it lowers the margin, in words


def outline(why: Explanation, feature: str, part: int | None = None) -> Outline:
    """Return what to draw of a feature, for one part of the claim (default: the tightest)."""
    part = why.tightest if part is None else part
    i = why.model.index(feature)
    worst, drop = why.worst[part][i], why.constraints[part].drops[i]
    function, here = worst.function, height_at(worst.function, why.row[i])
    domain, region = why.model.domains[i], why.region[i]
    window = window_of([*function.knots[:1], *function.knots[-1:]], domain, region, why.row[i])
    labels = labels_of(domain, why.row[i], worst.infimum.at if not drop.is_infinite else None)
    places = places_of(labels, window)

    runs, singles = trace(function, domain, window)

    def point(at: Value, height: Rational) -> Point:
        # A number may be a code, which stands beside the line.
        x = places[at] if at in places else nearest_float(at) if isinstance(at, fmpq) else 0.0
        return Point(x, nearest_float(height - here))

    return Outline(
        name=feature,
        is_fixed=i in why.fixed,
        lines=tuple(tuple(Point(nearest_float(x), nearest_float(y - here)) for x, y in run) for run in runs),
        dots=tuple(point(at, height_at(function, at)) for at in (*singles, *labels)),
        region=tuple(shown_span(span, window) for span in region.spans) if window else (),
        ticks=tuple(Tick(places[label], format_value(label), region.holds(label)) for label in labels),
        window=shown_window(window, places),
        row=point(why.row[i], here),
        worst=None if drop.is_infinite else point(worst.infimum.at, worst.infimum.value),
        is_attained=drop.is_attained,
        takes="any amount" if drop.is_infinite else in_digits(drop.value, 3 if drop.value < 1000 else 6),
    )


Window = tuple[Rational, Rational]


def window_of(corners: Sequence[Rational], domain: Domain, region: Domain, at: Value) -> Window | None:
    """Return which numbers to show: the region and as much again on either side, within the domain.

    Without ends it goes from the first of the corners, or the row, to the last.
    """
    if not domain.spans:
        return None
    inner = region.spans or domain.spans
    corners = [*corners, *([at] if isinstance(at, fmpq) and at not in domain.codes_ else [])]
    ends = [min(corners, default=ZERO) if span.low is None else span.low for span in inner]
    ends += [max(corners, default=ZERO) if span.high is None else span.high for span in inner]
    low, high = min(ends), max(ends)
    wide = (high - low) or (abs(low) / 10 or ONE)
    low, high = low - wide, high + wide
    firsts, lasts = [span.low for span in domain.spans], [span.high for span in domain.spans]
    start = low if None in firsts else max(low, min(first for first in firsts if first is not None))
    end = high if None in lasts else min(high, max(last for last in lasts if last is not None))
    return (start, end) if start < end else (start - ONE, end + ONE)


Corner = tuple[Rational, Rational]


def trace(function: Function, domain: Domain, window: Window | None) -> tuple[list[list[Corner]], list[Rational]]:
    """Return the unbroken lines of what is shown of a function, and the numbers whose values are drawn as dots.

    Dots are where it jumps, lone numbers, and integers where they are few.
    """
    runs: list[list[Corner]] = []
    singles: list[Rational] = []
    for span in domain.spans if window else ():
        assert window is not None
        shown = span.cut(*window)
        if shown is None:
            continue
        assert shown.low is not None
        assert shown.high is not None
        if _is_dotted(shown):
            singles += [shown.low + k for k in range(int((shown.high - shown.low).p) + 1)]
        elif isinstance(function, Pieces):
            _follow(function.on_integers if span.is_integers else function, shown.low, shown.high, runs, singles)
        elif isinstance(function, Lazy):
            for low, high, pieces in function.over(shown.low, shown.high):
                assert low is not None
                assert high is not None
                _follow(pieces.on_integers if span.is_integers else pieces, low, high, runs, singles)
        elif isinstance(function, Enclosed):
            _follow(_smooth_chords(function, shown.low, shown.high), shown.low, shown.high, runs, singles)
        else:
            _follow(_chords(curved_form(function), shown.low, shown.high), shown.low, shown.high, runs, singles)
    return runs, singles


def height_at(function: Function, at: Value) -> Rational:
    """Return the value of a function, closely enough to be drawn."""
    return middle(function.value(at, _BITS))


def _smooth_chords(function: Enclosed, low: Rational, high: Rational) -> Pieces:
    """Return the broken line through many points of a smooth function, with its jumps; what is drawn of it."""
    step = (high - low) / _MOST_CHORDS
    inside = (corner for corner in function.chains.places if low <= corner <= high)
    knots = sorted({*inside, *(low + k * step for k in range(_MOST_CHORDS + 1))})
    slopes, offsets = [ZERO], [height_at(function, knots[0])]
    for left, right in pairwise(knots):
        start, end = (middle(function.limit(at, _BITS, side)) for at, side in ((left, 1), (right, -1)))
        slopes.append((end - start) / (right - left))
        offsets.append(start - slopes[-1] * left)
    last = height_at(function, knots[-1])
    heights = tuple(height_at(function, knot) for knot in knots)
    return Pieces(tuple(knots), (*slopes, ZERO), (*offsets, last), heights)


def _chords(curve: Curves, low: Rational, high: Rational) -> Pieces:
    """Return the broken line through many points of a curve, with its jumps; what is drawn of it."""
    step = (high - low) / _MOST_CHORDS
    knots = sorted({*curve.knots, *(low + k * step for k in range(_MOST_CHORDS + 1))})
    polynomials = [curve.polynomials[k] for k in (0, *map(curve.segment_after, knots))]
    slopes, offsets = [ZERO], [polynomials[0](knots[0])]
    for (left, right), one in zip(pairwise(knots), polynomials[1:], strict=False):
        slopes.append((one(right) - one(left)) / (right - left))
        offsets.append(one(left) - slopes[-1] * left)
    return Pieces(
        tuple(knots), (*slopes, ZERO), (*offsets, polynomials[-1](knots[-1])), tuple(curve(knot) for knot in knots)
    )


def _follow(function: Pieces, low: Rational, high: Rational, runs: list[list[Corner]], singles: list[Rational]) -> None:
    """Add the lines of a function from `low` to `high`, and the knots where it jumps."""
    first, last, begun = function.segment_after(low), function.segment_before(high), len(runs)
    runs.append([])
    for k, (left, right) in enumerate(pairwise([low, *function.knots[first:last], high]), start=first):
        start = function.slopes[k] * left + function.offsets[k]
        if k > first:
            value, before = function.values[k - 1], runs[-1][-1][1]
            if start != before:
                runs.append([])
            if start != value or before != value:
                singles.append(left)
        if not runs[-1]:
            runs[-1].append((left, start))
        runs[-1].append((right, function.slopes[k] * right + function.offsets[k]))
    singles += [at for at, height in (runs[begun][0], runs[-1][-1]) if function(at) != height]


def _is_dotted(shown: Span) -> bool:
    """Whether the numbers of a span are so few that each is drawn alone."""
    assert shown.low is not None
    assert shown.high is not None
    return shown.low == shown.high or (shown.is_integers and shown.high - shown.low < _MOST_DOTS)


def labels_of(domain: Domain, *needed: Value | None) -> tuple[Value, ...]:
    """Return categories and codes to show: all if they are few, else the first, the row's and the worst."""
    every = (*domain.categories_, *domain.codes_)
    must = [label for label in every if label in needed]
    some = [label for label in every if label not in must][: _MOST_LABELS - len(must)]
    return tuple(label for label in every if label in must or label in some)


def places_of(labels: Sequence[Value], window: Window | None) -> dict[Value, float]:
    """Return where labels are drawn: one after the other, to the right of the numbers if there are any."""
    if window is None:
        return {label: float(k) for k, label in enumerate(labels)}
    start, step = nearest_float(window[1]), _step(window)
    return {label: start + step * (k + 1) for k, label in enumerate(labels)}


def _step(window: Window | None) -> float:
    return 1.0 if window is None else nearest_float(window[1] - window[0]) / 6


def shown_window(window: Window | None, places: Mapping[Value, float]) -> tuple[float, float]:
    """Return from where to where the axis goes, labels included."""
    if window is None:
        return -0.5, len(places) - 0.5
    low, high = (nearest_float(end) for end in window)
    return low, max(places.values()) + _step(window) / 2 if places else high


def shown_span(span: Span, window: Window | None) -> tuple[float, float]:
    """Return what is shown of a span of numbers."""
    assert window is not None
    low, high = window
    start = low if span.low is None else max(low, span.low)
    end = high if span.high is None else min(high, span.high)
    return nearest_float(start), nearest_float(end)
