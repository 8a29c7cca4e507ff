"""A function on one span of numbers as the tables need it: exact, in twofold numbers, its knots in order of height.

In: a function in exact arithmetic, and a span. Out: `OnSpan`, in which the ends of the span are knots too, so that the
lowest value over a part of the span is found among knots inside and the two ends of the part.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suffice.model.domain import Span
from suffice.numbers.exact import Rational
from suffice.numbers.twofold import Mask, Twofold
from suffice.shapes.pieces import Pieces

Indices = NDArray[np.int64]


class OnSpan:
    """Knots (with the ends of the span), the pieces between them, and values at the knots.

    Piece `k` lies before knot `k`. Beyond an end of the span there is a piece in name only.
    """

    def __init__(self, function: Pieces, span: Span) -> None:
        self.has_low, self.has_high = span.low is not None, span.high is not None
        first = 0 if span.low is None else bisect_right(function.knots, span.low)
        last = len(function.knots) if span.high is None else bisect_left(function.knots, span.high)
        low = () if span.low is None else (span.low,)
        high = () if span.high is None else (span.high,)
        used = [*([first] * len(low)), *range(first, last + 1), *([last] * len(high))]
        self.knots: tuple[Rational, ...] = (*low, *function.knots[first:last], *high)
        self.slopes = tuple(function.slopes[k] for k in used)
        self.offsets = tuple(function.offsets[k] for k in used)
        self.values: tuple[Rational, ...] = (
            *map(function, low),
            *function.values[first:last],
            *map(function, high),
        )
        self._mirrored = function.mirrored
        self._span = span

    @classmethod
    def of(cls, function: Pieces, span: Span) -> OnSpan:
        """Return a function on a span, made once and kept with the function."""
        if span not in function.on_spans:
            function.on_spans[span] = cls(function, span)
        found: OnSpan = function.on_spans[span]
        return found

    @cached_property
    def _other(self) -> OnSpan | None:
        """The same of the function that this one is the negative of, if there is one: it has most numbers already."""
        return None if self._mirrored is None else OnSpan.of(self._mirrored, self._span)

    # --- in twofold numbers -------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> Twofold:
        """The knots."""
        return Twofold.of(self.knots) if self._other is None else self._other.places

    @cached_property
    def rates(self) -> Twofold:
        """The slopes."""
        return Twofold.of(self.slopes) if self._other is None else -self._other.rates

    @cached_property
    def shifts(self) -> Twofold:
        """The offsets."""
        return Twofold.of(self.offsets) if self._other is None else -self._other.shifts

    @cached_property
    def heights(self) -> Twofold:
        """The values at the knots."""
        return Twofold.of(self.values) if self._other is None else -self._other.heights

    @cached_property
    def has_sure_signs(self) -> bool:
        """Whether the sign of each slope is that of its float."""
        return bool(np.all((self.rates.high != 0) | ((self.rates.low == 0) & (self.rates.error == 0))))

    # --- knots --------------------------------------------------------------------------------------------------------

    @cached_property
    def before(self) -> tuple[Rational, ...]:
        """At each knot the limit from the left; at the low end of the span, which has none, that from the right."""
        found = [self.slopes[k] * knot + self.offsets[k] for k, knot in enumerate(self.knots)]
        if self.has_low:
            found[0] = self.slopes[1] * self.knots[0] + self.offsets[1]
        return tuple(found)

    @cached_property
    def after(self) -> tuple[Rational, ...]:
        """At each knot the limit from the right; at the high end of the span, which has none, that from the left."""
        found = [self.slopes[k + 1] * knot + self.offsets[k + 1] for k, knot in enumerate(self.knots)]
        if self.has_high:
            found[-1] = self.slopes[-2] * self.knots[-1] + self.offsets[-2]
        return tuple(found)

    @cached_property
    def jumps(self) -> Mask:
        """The knots at which the function is not continuous."""
        if self._other is not None:
            return self._other.jumps
        each = zip(self.before, self.values, self.after, strict=True)
        return np.array([not before == value == after for before, value, after in each], np.bool_)

    @cached_property
    def lowest(self) -> tuple[Rational, ...]:
        """At each knot the lowest of its value and the limits on both sides."""
        found = list(self.values)
        for k in np.flatnonzero(self.jumps).tolist():
            found[k] = min(found[k], self.before[k], self.after[k])
        return tuple(found)

    @cached_property
    def is_approached(self) -> Mask:
        """Whether that is a limit which is not attained: a constant piece attains its limits."""
        found = np.zeros(len(self.knots), np.bool_)
        for k in np.flatnonzero(self.jumps).tolist():
            least = self.lowest[k]
            left = self.before[k] == least and not self.slopes[k + (k == 0 and self.has_low)]
            right = self.after[k] == least and not self.slopes[k + 1 - (k == len(found) - 1 and self.has_high)]
            found[k] = not (self.values[k] == least or left or right)
        return found

    @cached_property
    def depths(self) -> Twofold:
        """The lowest at each knot, in twofold numbers."""
        if not self.jumps.any():
            return self.heights
        return self._where_jumps(self.lowest)

    @cached_property
    def lefts(self) -> Twofold:
        """The limits from the left, in twofold numbers."""
        return self._where_jumps(self.before) if self.jumps.any() else self.heights

    @cached_property
    def rights(self) -> Twofold:
        """The limits from the right, in twofold numbers."""
        return self._where_jumps(self.after) if self.jumps.any() else self.heights

    def _where_jumps(self, numbers: tuple[Rational, ...]) -> Twofold:
        chosen = np.flatnonzero(self.jumps)
        some = Twofold.of([numbers[k] for k in chosen.tolist()])
        return self.heights.replaced(chosen, some)

    @cached_property
    def is_left_lowest(self) -> Mask:
        """Whether the limit from the left is the lowest at a knot."""
        return self._equals_lowest(self.before)

    @cached_property
    def is_right_lowest(self) -> Mask:
        """Whether the limit from the right is the lowest at a knot."""
        return self._equals_lowest(self.after)

    @cached_property
    def is_value_lowest(self) -> Mask:
        """Whether the value is the lowest at a knot."""
        return self._equals_lowest(self.values)

    def _equals_lowest(self, numbers: tuple[Rational, ...]) -> Mask:
        found = np.ones(len(self.knots), np.bool_)
        for k in np.flatnonzero(self.jumps).tolist():
            found[k] = numbers[k] == self.lowest[k]
        return found

    @cached_property
    def _order(self) -> Indices:
        """The knots by what is lowest there, attained before approached, then from left to right."""
        depths, approached = self.depths, self.is_approached
        order = np.lexsort((depths.low, depths.high))
        high, low, error = depths.take(order).columns
        # Nearest floats are in the order of what they stand for; where they are equal, the rest must tell.
        is_told = (high[1:] > high[:-1]) | (low[1:] - low[:-1] > (error[1:] + error[:-1]) * 2)
        if is_told.all():
            return order
        least = self.lowest
        ranked = sorted(range(len(least)), key=lambda k: (depths.high[k], least[k], approached[k], k))
        return np.array(ranked, np.int64)

    @cached_property
    def _windows(self) -> list[Indices]:
        """Least places in that order over windows of 1, 2, 4, ... knots."""
        rank = np.empty(len(self._order), np.int64)
        rank[self._order] = np.arange(len(rank))
        windows = [rank]
        while 2 ** len(windows) <= len(rank):
            width = 2 ** (len(windows) - 1)
            windows.append(np.minimum(windows[-1][:-width], windows[-1][width:]))
        return windows

    def lowest_knots(self, first: Indices, last: Indices) -> Indices:
        """Return the lowest of the knots from each first to before each last; -1 where there is none."""
        found = np.full(len(first), -1, np.int64)
        length = last - first
        level = np.frexp(np.maximum(length, 1).astype(np.float64))[1] - 1
        for width in range(len(self._windows)):
            chosen = np.flatnonzero((length > 0) & (level == width))
            if len(chosen):
                window = self._windows[width]
                ranks = np.minimum(window[first[chosen]], window[last[chosen] - 2**width])
                found[chosen] = self._order[ranks]
        return found
