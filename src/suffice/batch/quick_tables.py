"""Tables of features in twofold numbers: what `lookup.exact_table` makes, at a tenth of the time or less.

In: as `exact_table`, of many features at once. Out: its tables, but for breaks at which nothing changes, which may be
kept here.
Guaranteed: as there. Every number in a table is the float nearest to an exact one, and counts as exact only if it is:
where the bound of a twofold number does not tell, exact arithmetic does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import fmpq

from suffice.batch.drop_lines import INFINITE, Line, drop_of, far_points, is_integral, least_anywhere, on_domain
from suffice.batch.lookup import (
    ROUNDING,
    TINY,
    WIDER,
    FeatureTable,
    anchored,
    at_value,
    point_entries,
    with_errors,
    with_labels,
)
from suffice.batch.on_span import Indices, OnSpan
from suffice.batch.quick_columns import Column
from suffice.batch.quick_lines import GIVEN, NOTHING, Segments, Shifted, Stretches, Wanted, quick_segments
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.twofold import Floats, Mask, Twofold
from suffice.shapes.pieces import Pieces


class FeatureAsked(NamedTuple):
    """A feature of which a table is to be made, as `exact_table` takes it.

    Where functions are rough, that is off by more than rounding, nothing that is told of a break is exact: if they are
    continuous, a row at a break has the line of the stretch beside it.
    """

    domain: Domain
    radius: Rational | None
    values: Sequence[Pieces] = ()
    drops: Sequence[Pieces] = ()
    is_rough: bool = False


def quick_tables(features: Sequence[FeatureAsked], terms: int) -> list[FeatureTable | None]:
    """Return the tables of features; None where the domain or the numbers ask for exact arithmetic throughout."""
    tables = [_Table(*one) if _is_one_span(one.domain) else None for one in features]
    with np.errstate(all="ignore"):
        ready = {k: _Begun(table) for k, table in enumerate(tables) if table is not None and table.is_in_reach}
        found = iter(quick_segments([one for begun in ready.values() for one in begun.wanted]))
        return [
            ready[k].made([next(found) for _ in ready[k].wanted], terms) if k in ready else None
            for k in range(len(tables))
        ]


def _is_one_span(domain: Domain) -> bool:
    return len(domain.spans) == 1 and not domain.spans[0].low == domain.spans[0].high is not None


class _Source(NamedTuple):
    """Some breaks: as numbers, as floats, whether these are the same, which are kept, and how to get one exactly."""

    numbers: Twofold
    floats: Floats
    is_exact: Mask
    is_kept: Mask
    exactly: Callable[[int], Rational]
    is_far: bool = False


class _Breaks(NamedTuple):
    """Breaks in order, those of one float together."""

    places: Floats
    is_exact: Mask  # all breaks of the place are this float
    is_kept: Mask
    is_far: Mask  # nothing happens there: the place only cuts a long stretch
    is_before: Mask  # all breaks of the place are below this float
    is_after: Mask  # or above it
    first: Indices  # of the breaks of each place, in the order of all
    last: Indices
    order: Indices  # from this order to the sources, end to end


class _Table:
    def __init__(
        self,
        domain: Domain,
        radius: Rational | None,
        values: Sequence[Pieces],
        drops: Sequence[Pieces],
        is_rough: bool,
    ) -> None:
        self.domain, self.values, self.drops = domain, values, drops
        self.wide = radius  # as it was asked; integers move by whole steps only
        self.radius = fmpq(radius.floor()) if radius is not None and is_integral(domain) else radius
        self.span: Span = domain.spans[0]
        self.functions = [on_domain(function, domain) for function in (*values, *drops)]
        self.shapes = [OnSpan.of(function, self.span) for function in self.functions]
        ends = [knot for shape in self.shapes for knot in (*shape.knots[:1], *shape.knots[-1:])]
        numbers = [value for value in (*domain.categories_, *domain.codes_) if isinstance(value, fmpq)]
        reach = ZERO if radius is None else radius
        met = [*(end - reach for end in (*ends, *numbers)), *(end + reach for end in (*ends, *numbers))]
        self.numbers, self.far = numbers, far_points(met)
        is_around = bool(self.far) and (not met or self.far[0] < min(met) <= max(met) < self.far[-1])
        self.is_in_reach = is_around and all(shape.has_sure_signs for shape in self.shapes)
        self.is_rough = is_rough and not any(shape.jumps.any() for shape in self.shapes)

    # --- breaks -------------------------------------------------------------------------------------------------------

    def sources(self, moves: Sequence[Shifted | None]) -> list[_Source]:
        """Return all breaks."""
        found = []
        for shape in self.shapes:
            exact = (shape.places.low == 0) & (shape.places.error == 0)
            every = np.ones(len(exact), np.bool_)
            found.append(_Source(shape.places, shape.places.high, exact, every, shape.knots.__getitem__))
        for shape, moved in zip(self.shapes[len(self.values) :], moves, strict=True):
            if moved is not None and self.radius is not None:
                up, down = partial(_moved, shape.knots, self.radius), partial(_moved, shape.knots, -self.radius)
                found.append(_Source(moved.ups, moved.up, moved.is_up, shape.jumps, up))
                found.append(_Source(moved.downs, moved.down, moved.is_down, shape.jumps, down))
        for some, is_far in ((self.numbers, False), (self.far, True)):
            numbers = Twofold.of(some)
            exact, every = (numbers.low == 0) & (numbers.error == 0), np.ones(len(some), np.bool_)
            found.append(_Source(numbers, numbers.high, exact, every, some.__getitem__, is_far))
        return found

    # --- entries ------------------------------------------------------------------------------------------------------

    def stretches(self, places: Floats, columns: Sequence[Column], where: Sequence[Indices], sums: Floats) -> Floats:
        """Return the entries between places; none before the first, after the last, and outside the span."""
        anchors, largest, reach = anchored(places)
        entries = np.full((len(places) + 1, 1 + 3 * len(columns)), np.nan)
        entries[:, 0] = anchors
        low = -np.inf if self.span.low is None else nearest_float(self.span.low)
        high = np.inf if self.span.high is None else nearest_float(self.span.high)
        rows = 1 + np.flatnonzero((places[:-1] >= low) & (places[1:] <= high))
        at = anchors[rows]
        for c, column in enumerate(columns):
            for k, numbers in enumerate(column.entries(where[c][rows - 1], at)):
                entries[rows, 1 + 3 * c + k] = numbers
        return with_errors(entries, largest, reach, sums)

    def points(self, places: Floats, is_exact: Mask, moves: Sequence[Shifted | None], sums: Floats) -> Floats:
        """Return the entries at places that are the very break, and in the domain."""
        entries = np.full((len(places), 1 + 3 * len(self.shapes)), np.nan)
        exact = [rational(float(place)) if is_it else None for place, is_it in zip(places, is_exact, strict=True)]
        rows = np.array([k for k, x in enumerate(exact) if x is not None and self.domain.holds(x)], np.int64)
        if not len(rows):
            return entries
        entries[rows, 0] = at = places[rows]
        is_open = np.array([exact[k] in self.numbers for k in rows.tolist()], np.bool_)
        for c, shape in enumerate(self.shapes):
            own, knot = _own_values(shape, at)
            if c < len(self.values):
                found, is_attained = own, np.ones(len(at), np.bool_)
            else:
                found = _point_drops(shape, moves[c - len(self.values)], own, knot, at, self.radius)
                is_attained = found.error == 0  # else what is attained is told by exact arithmetic
            doubtful: list[int] = []
            base, is_base = found.rounded(partial(_noted, doubtful))
            is_open[doubtful] = True
            is_open |= ~np.isfinite(base) | (is_base & ~is_attained)
            error = np.where(is_base, 0.0, ROUNDING * np.abs(base) * WIDER + TINY) + sums[c] * np.abs(base) * WIDER
            entries[rows, 1 + 3 * c], entries[rows, 2 + 3 * c], entries[rows, 3 + 3 * c] = base, 0.0, error
        again = rows[is_open].tolist()
        points = [at_value(self.wide, self.values, self.drops, self.domain, rational(float(places[k]))) for k in again]
        entries[again] = point_entries(places[again].tolist(), points, len(self.shapes), sums)
        return entries


class _Begun:
    """A table whose breaks are known, and of which lines are still to be found: `wanted`, one for each drop or none."""

    def __init__(self, table: _Table) -> None:
        self.table = table
        self.moves = [
            Shifted.of(shape, table.radius) if table.radius else None for shape in table.shapes[len(table.values) :]
        ]
        self.sources = table.sources(self.moves)
        breaks, span, given = _breaks(self.sources), table.span, len(table.values)
        low, high = breaks.places[:-1], breaks.places[1:]
        is_inside = np.ones(len(low), np.bool_)
        if span.low is not None:
            is_inside &= low >= nearest_float(span.low)
        if span.high is not None:
            is_inside &= high <= nearest_float(span.high)
        chosen = np.flatnonzero(is_inside)
        starts = low[chosen]
        own = [np.searchsorted(shape.places.high, starts, "right") for shape in table.shapes]
        self.known = [Segments.alike(starts, one, NOTHING) for one in own[:given]]  # on all stretches inside the span
        self.wanted: list[Wanted] = []
        drops = list(zip(table.functions, table.shapes, own, strict=True))[given:]
        if table.radius is None:
            self.known += [_from_anywhere(function, shape, table.domain, starts, one) for function, shape, one in drops]
        elif not table.radius:
            self.known += [Segments.alike(starts, one, NOTHING) for _, _, one in drops]
        else:
            lasts, firsts = breaks.order[breaks.last[chosen]], breaks.order[breaks.first[chosen + 1]]
            numbers = Twofold.joined([one.numbers for one in self.sources])
            exactly = partial(_ends, breaks, self.sources, chosen)
            stretches = Stretches(starts, numbers.take(lasts), numbers.take(firsts), exactly)
            for (function, shape, _), moved in zip(drops, self.moves, strict=True):
                assert moved is not None
                self.wanted.append(Wanted(shape, moved, stretches, function, table.domain, table.radius))

    def made(self, found: Sequence[Segments], terms: int) -> FeatureTable:
        """Return the table, with the lines that were wanted."""
        table, lines, moves = self.table, [*self.known, *found], self.moves
        cuts = [
            _Source(
                Twofold(one.cuts, np.zeros(len(one.cuts)), np.where(one.is_exact, 0.0, np.nan)),
                one.cuts,
                one.is_exact,
                np.zeros(len(one.cuts), np.bool_),
                lambda _: ZERO,
            )
            for one in lines
        ]
        breaks = _breaks([*self.sources, *cuts])
        columns = [
            Column(shape, one, None if c < len(table.values) else table.radius or ZERO)
            for c, (shape, one) in enumerate(zip(table.shapes, lines, strict=True))
        ]
        where = [np.searchsorted(one.starts, breaks.places, "right") - 1 for one in lines]
        is_needed = breaks.is_kept
        for column, at in zip(columns, where, strict=True):
            is_needed = column.changes(at, is_needed)
        kept = np.flatnonzero(is_needed)
        places = breaks.places[kept]
        sums = np.array([terms + 3.0] * len(table.values) + [0.0] * len(table.drops)) * ROUNDING
        entries = np.full((2 * len(places) + 1, 1 + 3 * len(columns)), np.nan)
        entries[::2] = table.stretches(places, columns, [at[kept] for at in where], sums)
        # At a place where nothing happens the row has the line on either side of it.
        entries[1::2] = entries[2::2]
        is_special = ~breaks.is_far[kept]
        if table.is_rough:  # the stretch after it, or before it where the span ends
            is_last = np.isnan(entries[2::2, 1])
            entries[1::2][is_last] = entries[0:-1:2][is_last]
            is_special &= ~breaks.is_exact[kept] | np.isin(places, [nearest_float(one) for one in table.numbers])
        special = np.flatnonzero(is_special)
        entries[1 + 2 * special] = table.points(places[special], breaks.is_exact[kept][special], moves, sums)
        # A float is on one side of a break that is not a float.
        for is_beside, stretches in ((breaks.is_before[kept], entries[2::2]), (breaks.is_after[kept], entries[0:-1:2])):
            entries[1::2][is_beside] = stretches[is_beside]
        outer = {nearest_float(point) for point in table.far}
        inner = [place for place in places.tolist() if place not in outer] or [0.0]
        return with_labels(
            FeatureTable(places, entries, inner[0], inner[-1], np.inf, is_integral(table.domain)),
            table.domain,
            [at_value(table.wide, table.values, table.drops, table.domain, label) for label in table.domain.labels],
            sums,
        )


def _noted(doubtful: list[int], k: int) -> Rational:
    doubtful.append(k)
    return ZERO


def _own_values(shape: OnSpan, at: Floats) -> tuple[Twofold, Indices]:
    """Return the function at floats of the span, and which knot each is, -1 for none."""
    x = Twofold.exact(at)
    before, after = (np.searchsorted(shape.places.high, at, side) for side in ("left", "right"))
    knot = np.where(after > before, before, -1)
    line = shape.rates.take(before).times(x).plus(shape.shifts.take(before))
    if not len(shape.knots):
        return line, knot
    return shape.heights.take(np.maximum(knot, 0)).where(knot >= 0, line), knot


def _point_drops(
    shape: OnSpan, moved: Shifted | None, own: Twofold, knot: Indices, at: Floats, radius: Rational | None
) -> Twofold:
    """Return how far the lowest value of the region lies below the row's own, for floats of the span.

    Where it is 0 for certain its error is 0; nothing else is said to be exact.
    """
    if moved is None:  # the radius is 0 (or the whole domain, which exact arithmetic does)
        return Twofold.zeros(len(at)) if radius is not None else Twofold.exact(np.full(len(at), np.nan))
    x, amount, last = Twofold.exact(at), Twofold.of([radius or ZERO]), len(shape.knots) - 1
    low_before, left = (np.searchsorted(moved.up, at, side) for side in ("left", "right"))
    right, high_after = (np.searchsorted(moved.down, at, side) for side in ("left", "right"))
    inner = shape.lowest_knots(left, right)
    none = np.full(len(at), np.nan)
    absent = Twofold(-np.abs(none), none, none)
    found: list[tuple[Twofold, Mask]] = []  # falls, and whether they are there

    def add(numbers: Twofold, is_there: Mask) -> None:
        found.append((own.minus(numbers), is_there))

    rates, shifts = shape.rates, shape.shifts
    is_left_knot, is_right_knot = left > low_before, high_after > right
    add(rates.take(left).times(x.minus(amount)).plus(shifts.take(left)), ~((left == 0) & shape.has_low) & ~is_left_knot)
    add(
        rates.take(right).times(x.plus(amount)).plus(shifts.take(right)),
        ~((right == last + 1) & shape.has_high) & ~is_right_knot,
    )
    if last >= 0:
        is_itself = (inner >= 0) & (inner == knot) & shape.is_value_lowest[np.maximum(inner, 0)]
        add(shape.depths.take(np.maximum(inner, 0)), (inner >= 0) & ~is_itself)
        for numbers in (shape.heights, shape.rights):
            add(numbers.take(np.clip(left - 1, 0, last)), is_left_knot)
        for numbers in (shape.heights, shape.lefts):
            add(numbers.take(np.clip(right, 0, last)), is_right_knot)
    best = Twofold.zeros(len(at))
    error = np.zeros(len(at))
    for fall, is_there in found:
        fall = fall.where(is_there, absent)
        is_more = is_there & ((fall.high > best.high) | ((fall.high == best.high) & (fall.low > best.low)))
        matters = is_there & ~fall.is_negative
        error = np.where(matters, np.fmax(error, np.where(np.isnan(fall.high), np.nan, fall.error)), error)
        error = np.where(is_there & np.isnan(fall.high + fall.error), np.nan, error)
        best = fall.where(is_more, best)
    # A fall that is not below the best is above it by no more than the largest error of all that matter. A number that
    # looks exact is left to exact arithmetic, which also tells whether it is attained.
    return Twofold(best.high, best.low, np.where(best.high != 0, np.maximum(error, TINY), error))


def _moved(knots: Sequence[Rational], shift: Rational, k: int) -> Rational:
    return knots[k] + shift


def _ends(breaks: _Breaks, sources: Sequence[_Source], chosen: Indices, s: int) -> tuple[Rational, Rational]:
    """Return the ends of a stretch: the last of the breaks before it, and the first after it."""
    starts = np.cumsum([0, *(len(one.floats) for one in sources)])

    def number(place: int) -> Rational:
        source = int(np.searchsorted(starts, place, "right")) - 1
        return sources[source].exactly(place - int(starts[source]))

    def group(k: int) -> list[Rational]:
        return [number(int(place)) for place in breaks.order[breaks.first[k] : breaks.last[k] + 1]]

    place = int(chosen[s])
    return max(group(place)), min(group(place + 1))


def _breaks(sources: Sequence[_Source]) -> _Breaks:
    floats = np.concatenate([one.floats for one in sources])
    order = np.lexsort((np.concatenate([one.numbers.low for one in sources]), floats))
    ordered = floats[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    last = np.append(first[1:], len(ordered)) - 1
    is_exact = np.concatenate([one.is_exact for one in sources])[order]
    is_kept = np.concatenate([one.is_kept for one in sources])[order]
    is_far = np.concatenate([np.full(len(one.floats), one.is_far) for one in sources])[order]
    low, error = (np.concatenate([getattr(one.numbers, part) for one in sources])[order] for part in ("low", "error"))
    return _Breaks(
        ordered[first],
        np.logical_and.reduceat(is_exact, first),
        np.logical_or.reduceat(is_kept, first),
        np.logical_and.reduceat(is_far, first),
        np.logical_and.reduceat(low < -error, first),
        np.logical_and.reduceat(low > error, first),
        first,
        last,
        order,
    )


def _from_anywhere(function: Pieces, shape: OnSpan, domain: Domain, starts: Floats, own: Indices) -> Segments:
    """Return the drops where the whole domain is within reach."""
    least = least_anywhere(function, domain)
    made = Segments.alike(starts, own, GIVEN)
    for k, piece in enumerate(own.tolist()):
        line = Line(shape.slopes[piece], shape.offsets[piece])
        made.given[k] = INFINITE if least.is_infinite else drop_of(line, least)
    return made
