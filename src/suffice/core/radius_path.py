"""A region whose radius grows: margins and drops at every radius, just above and just below it.

In: the functions of a claim, a row, and how far each feature moves for a radius of 1. Out: constraints at a radius, and
the radii at which anything happens.

A drop is a function of the radius that never falls. It changes only as the ends of the region move: over a knot of the
feature's function, over an end of its domain, or over an integer it *jumps or bends*; in between it is the largest of
what it was before and what the two ends offer, each affine in the radius. Of categories it jumps where one more of them
comes within reach, and is constant in between. So finitely many radii cut the line into
cells on which every drop is affine, and every question about radii has an exact answer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from flint import fmpq, fmpz

from suffice.core.constraint import NO_DROP, Constraint, Drop, total
from suffice.core.counterexamples import breaking_input
from suffice.core.drops import Separable, bound_drops
from suffice.core.extent import Cell, Extent, goes_on, inside, leaps
from suffice.core.float_falls import FloatFalls
from suffice.core.later_drops import LaterDrops
from suffice.errors import Undecided
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes.function import Function
from suffice.shapes.pieces import Pieces

_FEW = 8  # features of which drops are made at once: bounds are worked out for all together


@dataclass(frozen=True)
class RadiusPath:
    """The constraints of a claim around a row, as functions of the radius.

    Parameters
    ----------
    functions : for each constraint the part of each feature
    here : for each constraint the value of each part at the row
    constraints : for each constraint its margin and strictness; the drops do not matter
    row, domains : the row, and what each feature can be
    units : how far each feature moves for a radius of 1; 0 for one that moves at no radius
    immutable : features that stay even where the whole domain is asked about
    """

    functions: tuple[tuple[Function, ...], ...]
    here: tuple[tuple[Rational, ...], ...]
    constraints: tuple[Constraint, ...]
    row: Row
    domains: tuple[Domain, ...]
    units: tuple[Rational, ...]
    immutable: frozenset[int]

    @cached_property
    def _kept(self) -> dict[tuple[int, ...], Drop]:
        """Drops that are asked for again, by constraint, feature and region."""
        return {}

    def at(self, radius: Rational | None, features: Collection[int] | None = None) -> tuple[Constraint, ...]:
        """Return the constraints at a radius (None: the whole domain); only these features move, if any are named."""
        chosen = frozenset(range(len(self.row)) if features is None else features)
        if not radius or len(chosen) < _FEW or self.stepping or self._falls is None:
            return self.exactly_at(radius, features)
        return self._later(radius, chosen, self._drop)

    def exactly_at(self, radius: Rational | None, features: Collection[int] | None = None) -> tuple[Constraint, ...]:
        """Return the same with every drop made at once."""
        chosen = frozenset(range(len(self.row)) if features is None else features)
        return self._with_drops(
            tuple(self._drop(c, i, radius) if i in chosen else NO_DROP for i in range(len(self.row)))
            for c in range(len(self.functions))
        )

    def _drop(self, c: int, i: int, radius: Rational | None) -> Drop:
        key = self._key(c, i, radius) if radius else None
        if key is None or key not in self._kept:
            region = [self._around(i, radius)]
            (drop,), _ = bound_drops([self.functions[c][i]], [self.here[c][i]], (self.row[i],), region)
            if key is None:
                return drop
            self._kept[key] = drop
        return self._kept[key]

    def _key(self, c: int, i: int, radius: Rational) -> tuple[int, ...] | None:
        """Return what tells the drop of a feature whose region stays the same over many radii; None for others."""
        if i not in self._moving:
            return None if i in self.stepping else (c, i)
        return (c, i, int((radius * self.units[i]).floor())) if self.domains[i].is_whole else None

    def _later(
        self, radius: Rational, chosen: Collection[int], make: Callable[[int, int, Rational], Drop]
    ) -> tuple[Constraint, ...]:
        """Return constraints at or just above a radius whose drops are made when they are looked at."""
        assert self._falls is not None
        low, high = self._falls.drops(radius)
        others = [i for i in range(len(self.row)) if i not in chosen]
        low[:, others] = high[:, others] = 0.0

        def later(c: int) -> LaterDrops:
            return LaterDrops(low[c], high[c], lambda i: make(c, i, radius) if i in chosen else NO_DROP)

        return self._with_drops(later(c) for c in range(len(self.functions)))

    def region(self, radius: Rational | None) -> tuple[Domain, ...]:
        """Return where each feature may go."""
        return tuple(self._around(i, radius) for i in range(len(self.row)))

    def _around(self, i: int, radius: Rational | None) -> Domain:
        # A feature with a unit of 0 (a constant column) moves at no radius, but is free on the whole domain.
        reach = ZERO if i in self.immutable else None if radius is None else radius * self.units[i]
        return self.domains[i].around(self.row[i], reach)

    def beyond(self, radius: Rational) -> tuple[Domain, ...]:
        """Return where each feature may go at every radius above one: a category without distances to any other."""
        each = zip(self.row, self.domains, self.units, strict=True)
        return tuple(
            domain.around(value, ZERO if i in self.immutable else unit if leaps(domain, value) else radius * unit)
            for i, (value, domain, unit) in enumerate(each)
        )

    def above(self, radius: Rational) -> tuple[Constraint, ...]:
        """Return the constraints just above a radius: limits, with an edge of 1 where the drop keeps growing."""
        if type(self) is not RadiusPath:
            first, second = inside(radius, self._next(radius))
            return self._limit(radius, first, second, rising=1)
        if not radius or self.stepping or self._falls is None:
            each = [[self._drop_above(c, i, radius) for i in range(len(self.row))] for c in range(len(self.functions))]
            return self._with_drops(map(tuple, each))
        return self._later(radius, range(len(self.row)), self._drop_above)

    def _drop_above(self, c: int, i: int, radius: Rational) -> Drop:
        """Return a drop just above a radius."""
        # A category without distances may become any other as soon as the radius is above 0 (`beyond`).
        if i not in self._moving:
            return self._drop(c, i, radius if i in self.stepping else radius or ONE)
        # What lies just beyond an end is in the region then: where it falls the drop keeps growing, where it
        # rises the drop is approached at the end, and where it is level it is attained.
        lines = self._lines(self.functions[c][i], self.here[c][i], i, radius) if i not in self.immutable else ()
        beyond = (Drop(False, value, (slope > 0) - (slope < 0)) for value, slope in lines)
        return max([self._drop(c, i, radius), *beyond])

    def below(self, radius: Rational) -> tuple[Constraint, ...]:
        """Return the constraints just below a radius above 0: limits, with an edge of -1 where the drop still grows."""
        start = self._previous(radius)
        first, second = inside(max([start, *self.bends(self._moving, start, radius)]), radius)
        return self._limit(radius, first, second, rising=-1)

    def breaking_input(self, part: int, radius: Rational | None, moved: Sequence[int]) -> list[Value]:
        """Return an input within a radius that breaks a constraint and differs from the row in the moved features."""
        region, limit = self.region(radius), self.constraints[part]
        drops, worst = bound_drops(self.functions[part], self.here[part], self.row, region)
        constraint = Separable(limit.margin, drops, limit.is_strict, limit.max_changed, limit.gap)
        constraint.admits(moved)  # an enclosed threshold may need more bits
        return breaking_input(constraint, worst, self.row, region, moved)

    def end_of_stretch(self, reach: Extent) -> Extent:
        """Return up to which radius something holds, as exactly as it can be told what is best right after it."""
        return reach

    def _with_drops(self, drops: Iterable[Sequence[Drop]]) -> tuple[Constraint, ...]:
        return tuple(
            Separable(c.margin, row, c.is_strict, c.max_changed, c.gap)
            for c, row in zip(self.constraints, drops, strict=True)
        )

    def _limit(self, radius: Rational, first: Rational, second: Rational, *, rising: int) -> tuple[Constraint, ...]:
        """Return the constraints of a cell, continued to its end from two radii inside it."""

        def continued(one: Drop, other: Drop) -> Drop:
            slope = (other.value - one.value) / (second - first)
            return Drop(False, one.value + slope * (radius - first), rising if slope else one.edge)

        pairs = zip(self.at(first), self.at(second), strict=True)
        return self._with_drops(tuple(map(continued, one.drops, other.drops)) for one, other in pairs)

    # --- where something happens ----------------------------------------------------------------------------------

    @cached_property
    def _moving(self) -> tuple[int, ...]:
        """The features whose region grows with the radius: numbers of a span, with a unit above 0."""
        return tuple(
            i
            for i, (value, domain, unit) in enumerate(zip(self.row, self.domains, self.units, strict=True))
            if unit and isinstance(value, fmpq) and any(span.holds(value) for span in domain.spans)
        )

    @cached_property
    def stepping(self) -> dict[int, list[Rational]]:
        """For each feature whose category has distances to others the radii at which more of these are within reach."""
        return {
            i: [distance / unit for distance in domain.distances(value)]
            for i, (value, domain, unit) in enumerate(zip(self.row, self.domains, self.units, strict=True))
            if unit and i not in self.immutable and value in domain.categories_ and domain.distances(value)
        }

    @cached_property
    def events(self) -> dict[int, list[Rational]]:
        """For each feature the radii above 0 at which something happens; a feature without any is left out.

        They are those at which an end of its region meets a knot or an end of a span, or a category is within reach.
        """
        return self._ends_meet() | self.stepping

    def _ends_meet(self) -> dict[int, list[Rational]]:
        """Return for each moving feature the radii above 0 at which an end of its region meets a knot or an end."""
        found = {}
        for i in self._moving:
            places = [end for span in self.domains[i].spans for end in (span.low, span.high) if end is not None]
            seen: list[tuple[Rational, ...]] = []
            for functions in self.functions:  # parts of one network's outputs mostly have the same knots
                if functions[i].knots not in seen:
                    seen.append(functions[i].knots)
                    places += functions[i].knots
            distances = (abs(place - self._value(i)) / self.units[i] for place in places)
            found[i] = sorted((one for one in distances if one), key=lambda one: (nearest_float(one), one))
        return found

    def _events_between(self, i: int, low: Rational, high: Rational | None) -> list[Rational]:
        """Return the events of a feature between two radii (None: without end), and perhaps some others."""
        if high is not None and any(span.is_integers for span in self.domains[i].spans):
            return []  # `_cut_at_integers` does the same
        value, unit = self._value(i), self.units[i]
        places = [end for span in self.domains[i].spans for end in (span.low, span.high) if end is not None]
        seen: list[tuple[Rational, ...]] = []
        for side in (-1, 1):
            start, stop = value + side * low * unit, None if high is None else value + side * high * unit
            for function in (functions[i] for functions in self.functions):
                first, last = (start, stop) if side > 0 else (stop, start)
                begin = 0 if first is None else function.segment_before(first)
                end = len(function.knots) if last is None else function.segment_after(last)
                if function.knots[begin:end] not in seen:  # parts of one network's outputs mostly have the same knots
                    seen.append(function.knots[begin:end])
                    places += function.knots[begin:end]
        return [abs(place - value) / unit for place in places]

    def _value(self, i: int) -> Rational:
        value = self.row[i]
        assert isinstance(value, fmpq)
        return value

    def _next(self, radius: Rational) -> Rational:
        """Return the end of the cell that begins at a radius; one further on where it never ends."""
        ends = [*self._steps_after(radius)]
        for events in self.events.values():
            place = bisect_right(events, radius)
            ends += events[place : place + 1]
        end = min(ends, default=radius + 1)
        return min([end, *self.bends(self._moving, radius, end)])

    def _previous(self, radius: Rational) -> Rational:
        """Return a radius below, with no knot, end of a span or integer in between."""
        starts = [ZERO]
        for events in self.events.values():
            place = bisect_left(events, radius)
            starts += events[max(place - 1, 0) : place]
        for i, first in self._steps:
            count = ((radius - first) * self.units[i]).ceil() - 1  # steps are 1 apart in the feature's own units
            if count >= 0:
                starts.append(first + fmpq(count) / self.units[i])
        return max(starts)

    def _steps_after(self, radius: Rational) -> Iterator[Rational]:
        for i, first in self._steps:
            count = max(((radius - first) * self.units[i]).floor() + 1, fmpz(0))
            yield first + fmpq(count) / self.units[i]

    @cached_property
    def _steps(self) -> list[tuple[int, Rational]]:
        """For each moving feature with integers the first radius above 0 at which an end of its region meets one."""
        found = []
        for i in self._moving:
            if any(span.is_integers for span in self.domains[i].spans):
                value = self._value(i)
                ahead = {fmpq(value.floor() + 1) - value, value - fmpq(value.ceil() - 1)}  # to the right, to the left
                found += [(i, distance / self.units[i]) for distance in sorted(ahead)]
        return found

    def bends(self, features: Collection[int], low: Rational, high: Rational | None) -> list[Rational]:
        """Return the radii inside a cell at which a drop changes its slope; the cell has no event inside."""
        found: list[Rational] = []
        for i in features:
            if i not in self._moving:
                continue
            for c, (functions, here) in enumerate(zip(self.functions, self.here, strict=True)):
                lines = self._lines(functions[i], here[i], i, low)
                if not lines:
                    continue
                before = max([self._drop(c, i, low).value, *(value for value, _ in lines)])
                found += (low + (before - value) / slope for value, slope in lines if slope > 0)
                if len(lines) == 2 and lines[0][1] != lines[1][1]:
                    found.append(low + (lines[1][0] - lines[0][0]) / (lines[0][1] - lines[1][1]))
        return sorted(radius for radius in found if low < radius and (high is None or radius < high))

    def _goes_on(self, i: int, radius: Rational) -> bool:
        """Whether an end of a moving feature's region goes on beyond a radius, other than by whole steps."""
        ends, spans = (
            [(self._value(i) + side * radius * self.units[i], side) for side in (-1, 1)],
            self.domains[i].spans,
        )
        return any(goes_on(span, end, side) for span in spans for end, side in ends)

    def _lines(self, function: Function, here: Rational, i: int, radius: Rational) -> list[tuple[Rational, Rational]]:
        """Return what the two ends of a region offer just above a radius: a drop, and its slope in the radius."""
        assert isinstance(function, Pieces)
        found = []
        for side in (-1, 1):
            end = self._value(i) + side * radius * self.units[i]
            if any(goes_on(span, end, side) for span in self.domains[i].spans):
                k = function.segment_after(end) if side > 0 else function.segment_before(end)
                slope = function.slopes[k]
                found.append((here - slope * end - function.offsets[k], -side * slope * self.units[i]))
        return found

    # --- how far a property holds -----------------------------------------------------------------------------------

    @cached_property
    def _falls(self) -> FloatFalls | None:
        """What tells most radii in floats, where features act each for itself."""
        return FloatFalls.of(self, self._moving) if type(self) is RadiusPath else None

    def reach(self, freed: Collection[int], known: Rational = ZERO) -> Extent:
        """Return up to which radius the constraints admit some freed features; they do at the one known."""

        # Floats are told of all features at once: of few of them exact arithmetic is as fast.
        falls = self._falls if 2 * len(freed) > len(self.row) else None

        def holds(radius: Rational | None) -> bool:
            told = falls.admits(radius, freed) if radius and falls is not None else None
            return told if told is not None else all(constraint.admits(freed) for constraint in self.at(radius, freed))

        cell = Cell(holds, known)
        features = [i for i in (*self._moving, *self.stepping) if i in set(freed)]
        if falls is not None and not self.stepping:
            cell.low, cell.high = falls.between(known, freed)
            cell.cut([event for i in features for event in self._events_between(i, cell.low, cell.high)])
        else:
            for i in features[:1]:  # a few events of one feature leave few of the others to sort
                cell.cut(self.events[i])
            cell.cut(event for i in features for event in cell.inside(self.events[i]))
        for i, first in self._steps:
            if i in features:
                self._cut_at_integers(cell, i, first)
        part = self if falls is None or cell.high is None else self._only(falls.tight(cell.high, freed))
        cell.cut(part.bends(features, cell.low, cell.high))
        cell.cut(part._overtaken(freed, cell))
        used_up = part._used_up(freed, cell)
        cell.cut(used_up)
        # A margin that is not rational is used up at a radius that is not: the last one that is safe stands for it.
        more = used_up.get(cell.low, ZERO)
        if more and cell.high is not None and cell.low + 2 * more >= cell.high:
            raise Undecided
        extent = cell.result()
        return replace(extent, more=more) if extent.radius == cell.low else extent

    def _only(self, parts: Sequence[int]) -> RadiusPath:
        """Return the path of some of the constraints."""
        if len(parts) == len(self.constraints):
            return self
        functions, here = tuple(self.functions[c] for c in parts), tuple(self.here[c] for c in parts)
        return replace(self, functions=functions, here=here, constraints=tuple(self.constraints[c] for c in parts))

    def _cut_at_integers(self, cell: Cell, i: int, first: Rational) -> None:
        """Narrow a cell to one between two of the radii `first`, `first + 1 / unit`, ..."""
        unit = self.units[i]

        def step(count: int) -> Rational:
            return first + fmpq(count) / unit

        begin = max(int(((cell.low - first) * unit).floor()) + 1, 0)
        if cell.high is not None:
            end = int(((cell.high - first) * unit).ceil())
        else:  # beyond all knots: a drop that does not grow for ever changes at the next integers at most
            end = begin
            while self._grows_for_ever(i) and cell.holds(step(end)):
                end = 2 * end + 1
            end += 1
        cell.cut_range(begin, end, step)

    def _grows_for_ever(self, i: int) -> bool:
        """Whether some drop of a feature grows without end with the radius."""
        return any(functions[i].falls_for_ever(*self.domains[i].has_no_end) for functions in self.functions)

    def _overtaken(self, freed: Collection[int], cell: Cell) -> list[Rational]:
        """Return the radii at which one drop overtakes another, where only the largest few count."""
        few = self.constraints[0].max_changed
        if few is None or few >= len(freed):
            return []
        first, second = inside(cell.low, cell.low + 1 if cell.high is None else cell.high)
        found = set()
        for one, other in zip(self.exactly_at(first, freed), self.exactly_at(second, freed), strict=True):
            lines = {
                (one.drops[i].value, (other.drops[i].value - one.drops[i].value) / (second - first)) for i in freed
            }
            found |= {first + (b - a) / (m - n) for (a, m), (b, n) in combinations(lines, 2) if m != n}
        return sorted(found)

    def _used_up(self, freed: Collection[int], cell: Cell) -> dict[Rational, Rational]:
        """Return the radii inside a cell at which a margin is used up, every drop being affine there.

        With each, how much further its gap may reach.
        """
        found: dict[Rational, Rational] = {}
        changing = [i for i in freed if i in self._moving and self._goes_on(i, cell.low)]
        if not changing:
            return found
        some = changing if self.constraints[0].max_changed is None else freed
        first, second = inside(cell.low, cell.low + 1 if cell.high is None else cell.high)
        for c, (one, other) in enumerate(zip(self.exactly_at(first, some), self.exactly_at(second, some), strict=True)):
            slope = (other.fall(some).value - one.fall(some).value) / (second - first)
            if not slope:
                continue
            others = (self._drop(c, i, first) for i in freed if i not in some)
            fall = total((one.fall(some), *others)).value
            radius, more = first + (one.margin - fall) / slope, one.gap / slope
            if radius <= cell.low < radius + more:
                raise Undecided
            if cell.low < radius and (cell.high is None or radius < cell.high):
                found[radius] = max(more, found.get(radius, ZERO))
        return found
