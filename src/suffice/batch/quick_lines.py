"""The drop of a feature as lines on all stretches at once: what `drop_lines` finds, in twofold numbers.

In: a function on a span (`OnSpan`), a radius, and the stretches between places at which the row, or an end of its
region, meets a knot. Out: `Segments`, which say of each stretch which line is the lowest: a knot's, or one that moves
with an end of the region.
Guaranteed: the same lines as `drop_lines`. Each comparison is settled by a bound on its error; where one is not, the
stretch is left to `drop_lines` itself.

Let the region of a row be `[x - r, x + r]`, and `L(x)`, `c` and `R(x)` the function at its left end, the lowest of the
knots inside, and the function at its right end. `L` matters only where it rises, `R` only where it falls. The next knot
to the right of the left end is inside, so that `c ≤ L` once the left end gets there; in the same way `c ≤ R` where the
right end comes from. So `L` can be below `c` only before some place, `R` only after some place, and which of the three
is lowest follows from their order at the two ends of a stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.batch.drop_lines import Line, drop_of, stretch_lines
from suffice.batch.on_span import Indices, OnSpan
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.twofold import Floats, Mask, Twofold
from suffice.shapes.pieces import Pieces

KNOT, LEFT, RIGHT, NOTHING, GIVEN = range(5)  # what the lowest line is; NOTHING: no drop at all; GIVEN: an exact line

Kinds = NDArray[np.int8]


class Shifted(NamedTuple):
    """Where an end of a row's region meets a knot, the left one and the right: numbers, floats, and whether exact."""

    ups: Twofold
    downs: Twofold
    up: Floats
    down: Floats
    is_up: Mask
    is_down: Mask

    @classmethod
    def of(cls, shape: OnSpan, radius: Rational) -> Shifted:
        """Return the knots of a function moved by a radius."""
        amount = Twofold.of([radius])
        ups, downs = shape.places.plus(amount), shape.places.minus(amount)
        up, is_up = ups.rounded(lambda k: shape.knots[k] + radius)
        down, is_down = downs.rounded(lambda k: shape.knots[k] - radius)
        return cls(ups, downs, up, down, is_up, is_down)


class Stretches(NamedTuple):
    """Neighbouring places, inside the span, between which no end of a region meets a knot."""

    low: Floats
    lows: Twofold
    highs: Twofold
    exactly: Callable[[int], tuple[Rational, Rational]]  # the ends of a stretch


class Segments(NamedTuple):
    """Parts of stretches in order: where each begins, the piece of the row, and the lowest line."""

    starts: Floats
    own: Indices
    kinds: Kinds
    where: Indices  # the knot, or the piece
    given: dict[int, Line]  # drops that were found in exact arithmetic
    cuts: Floats  # places between parts of one stretch
    is_exact: Mask  # whether a cut is that float

    @classmethod
    def alike(cls, starts: Floats, own: Indices, kind: int, given: Line | None = None) -> Segments:
        """Return stretches with one kind of line."""
        count = len(starts)
        lines = {} if given is None else dict.fromkeys(range(count), given)
        kinds, index = np.full(count, kind, np.int8), np.zeros(count, np.int64)
        return cls(starts, own, kinds, index, lines, np.empty(0), np.empty(0, np.bool_))


class Wanted(NamedTuple):
    """Drops whose lines are to be found: a function, its radius, and the stretches, which are in order."""

    shape: OnSpan
    shifted: Shifted
    stretches: Stretches
    function: Pieces
    domain: Domain
    radius: Rational

    def exact(self, s: int) -> list[tuple[Rational, Line]]:
        """Return the lines on a stretch by exact arithmetic, each with its end."""
        parts = stretch_lines(self.function, self.domain, self.radius, *self.stretches.exactly(s))
        return [(end, line) for end, line in parts if line is not None]


def quick_segments(wanted: Sequence[Wanted]) -> list[Segments]:
    """Return the lowest lines on all stretches of some functions; all at once, for each has few."""
    if not wanted:
        return []
    found = _Lowest(wanted)
    return found.segments({s: found.exact(s) for s in np.flatnonzero(found.is_doubtful).tolist()})


class _Lowest:
    """Which of the three lines is the lowest at the two ends of each stretch, and where they meet.

    Stretches of all functions stand end to end, and so do knots and pieces: `left`, `right` and `knot` count among
    those of a stretch's own function, from which `knots_before` and `pieces_before` lead to their place among all.
    """

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.wanted = wanted
        lows = [one.stretches.low for one in wanted]
        self.starts = np.cumsum([0, *map(len, lows)])
        each = [(one.shape, one.shifted, low) for one, low in zip(wanted, lows, strict=True)]
        own = [np.searchsorted(shape.places.high, low, "right") for shape, _, low in each]
        left = [np.searchsorted(shifted.up, low, "right") for _, shifted, low in each]
        right = [np.searchsorted(shifted.down, low, "right") for _, shifted, low in each]
        knot = [shape.lowest_knots(*ends) for (shape, *_), *ends in zip(each, left, right, strict=True)]
        self.own, self.left, self.right, self.knot = (np.concatenate(one) for one in (own, left, right, knot))
        self.low = np.concatenate(lows)
        self.lows = Twofold.joined([one.stretches.lows for one in wanted])
        self.highs = Twofold.joined([one.stretches.highs for one in wanted])
        shapes = [one.shape for one in wanted]
        self.rates, self.lefts, self.rights, self.depths = (
            Twofold.joined(one)
            for one in zip(*((shape.rates, shape.lefts, shape.rights, shape.depths) for shape in shapes), strict=True)
        )
        self.ups = Twofold.joined([one.shifted.ups for one in wanted])
        self.downs = Twofold.joined([one.shifted.downs for one in wanted])
        self.is_left_lowest = np.concatenate([shape.is_left_lowest for shape in shapes])
        self.is_right_lowest = np.concatenate([shape.is_right_lowest for shape in shapes])
        counts, lengths = [len(shape.knots) for shape in shapes], np.diff(self.starts)
        self.knots_before = np.repeat(np.cumsum([0, *counts[:-1]]), lengths)
        self.pieces_before = self.knots_before + np.repeat(np.arange(len(shapes)), lengths)
        has_low, has_high = (
            np.repeat([getattr(one, end) for one in shapes], lengths) for end in ("has_low", "has_high")
        )
        count = len(self.knot)
        self.is_doubtful = np.zeros(count, np.bool_)
        slope_left, slope_right = (self.rates.high[self.pieces_before + one] for one in (self.left, self.right))
        self.first = np.full(count, KNOT, np.int8)
        self.last = np.full(count, KNOT, np.int8)
        # With no knot inside, the whole region is on the row's own piece.
        alone = self.knot < 0
        kinds = np.where(slope_left > 0, LEFT, np.where(slope_left < 0, RIGHT, NOTHING))
        self.first[alone] = self.last[alone] = kinds[alone]
        rises = ~alone & (slope_left > 0) & ~((self.left == 0) & has_low)
        falls = ~alone & (slope_right < 0) & ~((self.right == np.repeat(counts, lengths)) & has_high)
        self.cuts: list[tuple[Indices, Floats, int]] = []  # stretches, places, what is lowest from there on
        with np.errstate(all="ignore"):
            self._order(rises, falls)
            self._meet()

    def exact(self, s: int) -> list[tuple[Rational, Line]]:
        """Return the lines on one of all stretches by exact arithmetic."""
        one = int(np.searchsorted(self.starts, s, "right")) - 1
        return self.wanted[one].exact(s - int(self.starts[one]))

    def _order(self, rises: Mask, falls: Mask) -> None:
        """Find what is lowest at both ends."""
        count = len(self.knot)
        left_first, left_last = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        right_first, right_last = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
        some = np.flatnonzero(rises)
        # Where the lowest knot is the very one that the left end comes to next, L has not yet risen to it.
        is_next = (self.knot[some] == self.left[some]) & self.is_left_lowest[self._left_knot(some)]
        left_first[some[is_next]] = left_last[some[is_next]] = True
        some = some[~is_next]
        left_first[some] = self._is_below(some, self._left_over_knot(some, self.lows.take(some)))
        left_last[some] = self._is_below(some, self._left_over_knot(some, self.highs.take(some)))
        some = np.flatnonzero(falls)
        is_last = (self.knot[some] == self.right[some] - 1) & self.is_right_lowest[self._right_knot(some)]
        right_first[some[is_last]] = right_last[some[is_last]] = True
        some = some[~is_last]
        right_first[some] = self._is_below(some, -self._knot_over_right(some, self.lows.take(some)))
        right_last[some] = self._is_below(some, -self._knot_over_right(some, self.highs.take(some)))
        for is_left, is_right, kinds, ends in (
            (left_first, right_first, self.first, self.lows),
            (left_last, right_last, self.last, self.highs),
        ):
            kinds[is_left] = LEFT
            kinds[is_right] = RIGHT
            both = np.flatnonzero(is_left & is_right)
            is_below = self._is_below(both, self._left_over_right(both, ends.take(both)))
            kinds[both[is_below]] = LEFT

    def _meet(self) -> None:
        """Find where lines meet inside stretches."""
        lows = self.lows
        both = np.flatnonzero((self.first == LEFT) & (self.last == RIGHT))
        place, is_sure = _crossing(
            lambda x, s=both: self._left_over_right(s, x),  # type: ignore[misc]
            lows.take(both).minus(
                self._left_over_right(both, lows.take(both)).over(self._left_rate(both).minus(self._right_rate(both)))
            ),
        )
        above = self._left_over_knot(both, Twofold.exact(place))
        # The knot is above where the two meet; the place is next to that, so what L rises by in half a step is let be.
        room = self._left_over_knot(both, Twofold.exact(np.nextafter(place, np.inf)))
        is_one = is_sure & room.is_negative
        is_two = above.is_positive & self._left_over_knot(both, Twofold.exact(np.nextafter(place, -np.inf))).is_positive
        self.is_doubtful[both[~is_one & ~is_two]] = True
        self._cut(both[is_one], place[is_one], RIGHT)
        two = np.zeros(len(self.knot), np.bool_)
        two[both[is_two & ~is_one]] = True
        chosen = np.flatnonzero(((self.first == LEFT) & (self.last == KNOT)) | two)
        rise = self._left_rate(chosen)
        gap = self.lefts.take(self._left_knot(chosen)).minus(self._depth(chosen))
        place, is_sure = _crossing(
            lambda x, s=chosen: self._left_over_knot(s, x),  # type: ignore[misc]
            self.ups.take(self._left_knot(chosen)).minus(gap.over(rise)),
        )
        self.is_doubtful[chosen[~is_sure]] = True
        self._cut(chosen, place, KNOT)
        chosen = np.flatnonzero(((self.first == KNOT) & (self.last == RIGHT)) | two)
        fall = self._right_rate(chosen)
        gap = self.rights.take(self._right_knot(chosen)).minus(self._depth(chosen))
        place, is_sure = _crossing(
            lambda x, s=chosen: self._knot_over_right(s, x),  # type: ignore[misc]
            self.downs.take(self._right_knot(chosen)).minus(gap.over(fall)),
        )
        self.is_doubtful[chosen[~is_sure]] = True
        self._cut(chosen, place, RIGHT)

    def _cut(self, stretches: Indices, places: Floats, kind: int) -> None:
        self.cuts.append((stretches, places, kind))

    def _is_below(self, chosen: Indices, difference: Twofold) -> Mask:
        """Whether a difference is below 0; where that is not sure its stretch is doubtful."""
        is_below = difference.is_negative
        self.is_doubtful[chosen[~is_below & ~difference.is_positive]] = True
        return is_below

    def _left_knot(self, chosen: Indices) -> Indices:
        """The knot that the left end comes to next, among all."""
        return self.knots_before[chosen] + self.left[chosen]

    def _right_knot(self, chosen: Indices) -> Indices:
        """The knot that the right end came from, among all."""
        return self.knots_before[chosen] + self.right[chosen] - 1

    def _left_rate(self, chosen: Indices) -> Twofold:
        return self.rates.take(self.pieces_before[chosen] + self.left[chosen])

    def _right_rate(self, chosen: Indices) -> Twofold:
        return self.rates.take(self.pieces_before[chosen] + self.right[chosen])

    def _depth(self, chosen: Indices) -> Twofold:
        return self.depths.take(self.knots_before[chosen] + self.knot[chosen])

    def _left_at(self, chosen: Indices, x: Twofold) -> Twofold:
        knot = self._left_knot(chosen)
        return self.lefts.take(knot).minus(self._left_rate(chosen).times(self.ups.take(knot).minus(x)))

    def _right_at(self, chosen: Indices, x: Twofold) -> Twofold:
        knot = self._right_knot(chosen)
        return self.rights.take(knot).plus(self._right_rate(chosen).times(x.minus(self.downs.take(knot))))

    # All three rise with x.

    def _left_over_knot(self, chosen: Indices, x: Twofold) -> Twofold:
        return self._left_at(chosen, x).minus(self._depth(chosen))

    def _knot_over_right(self, chosen: Indices, x: Twofold) -> Twofold:
        return self._depth(chosen).minus(self._right_at(chosen, x))

    def _left_over_right(self, chosen: Indices, x: Twofold) -> Twofold:
        return self._left_at(chosen, x).minus(self._right_at(chosen, x))

    def segments(self, exact: dict[int, list[tuple[Rational, Line]]]) -> list[Segments]:
        """Return the parts in order, function by function; those of some stretches as exact arithmetic found them."""
        low, is_kept = self.low, ~self.is_doubtful
        whole = np.flatnonzero(is_kept)
        stretch, starts, kinds, is_cut = [whole], [low[whole]], [self.first[whole]], [np.zeros(len(whole), np.bool_)]
        for chosen, places, kind in self.cuts:
            kept = is_kept[chosen]
            stretch.append(chosen[kept])
            starts.append(places[kept])
            kinds.append(np.full(int(kept.sum()), kind, np.int8))
            is_cut.append(np.ones(int(kept.sum()), np.bool_))
        lines: list[Line] = []
        sure: list[bool] = []
        for s, parts in exact.items():
            begin, is_exact = float(low[s]), True
            for place, (end, line) in enumerate(parts):
                stretch.append(np.array([s]))
                starts.append(np.array([begin]))
                kinds.append(np.array([GIVEN], np.int8))
                is_cut.append(np.array([place > 0]))
                sure.append(is_exact)
                lines.append(line)
                begin = nearest_float(end)
                is_exact = rational(begin) == end
        joined, begins = np.concatenate(stretch), np.concatenate(starts)
        every, cut = np.concatenate(kinds), np.concatenate(is_cut)
        exactly = np.zeros(len(joined), np.bool_)
        given_at = len(joined) - len(lines)
        exactly[given_at:] = sure
        # Parts of one stretch as they follow each other: exact ones keep their order, for sorting is stable.
        order = np.lexsort((begins, joined))
        of = joined[order]
        kind_in_order = every[order]
        index = np.select(
            [kind_in_order == KNOT, kind_in_order == LEFT, kind_in_order == RIGHT],
            [self.knot[of], self.left[of], self.right[of]],
            0,
        )
        given = {int(place): lines[k - given_at] for place, k in enumerate(order.tolist()) if k >= given_at}
        begins, cut, exactly = begins[order], cut[order], exactly[order]
        found = []
        for first, last in pairwise(np.searchsorted(of, self.starts).tolist()):
            some = slice(first, last)
            mine = {place - first: line for place, line in given.items() if first <= place < last}
            cuts, is_exact = begins[some][cut[some]], exactly[some][cut[some]]
            found.append(
                Segments(begins[some], self.own[of[some]], kind_in_order[some], index[some], mine, cuts, is_exact)
            )
        return found


def _crossing(rising: Callable[[Twofold], Twofold], guess: Twofold) -> tuple[Floats, Mask]:
    """Return the float nearest to where a rising affine function is 0; whether that is sure, and it is not 0 there."""
    near = guess.high
    up, down = (np.nextafter(near, np.inf) - near) / 2, (near - np.nextafter(near, -np.inf)) / 2
    nothing = np.zeros(len(near))
    at = rising(Twofold.exact(near))
    is_between = rising(Twofold(near, -down, nothing)).is_negative & rising(Twofold(near, up, nothing)).is_positive
    return near, is_between & (at.is_negative | at.is_positive)


def exact_line(shape: OnSpan, radius: Rational, own: int, kind: int, index: int) -> Line:
    """Return the drop on a segment, exactly."""
    if kind == NOTHING:
        return Line(ZERO, ZERO)
    here = Line(shape.slopes[own], shape.offsets[own])
    if kind == KNOT:
        return drop_of(here, Line(ZERO, shape.lowest[index], not shape.is_approached[index]))
    slope = shape.slopes[index]
    shift = -radius if kind == LEFT else radius
    return drop_of(here, Line(slope, shape.offsets[index] + slope * shift))
