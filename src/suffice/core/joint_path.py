"""A region whose radius grows, for a model with pair terms: joint constraints at every radius, just above and below it.

Between two radii at which an end of a region meets a knot, a cut of a pair term, an end of a domain or an integer,
each label is either as it was or at an end that moves, where its feature's own part is affine in the radius. Pair terms
that are constant on their cells do not change, so that the fall of a set is the largest of finitely many affine
functions: it is convex. Where the margin is used up is then found by Newton's steps from above: the line of the worst
labelling at a radius is nowhere above the fall, so that the radius where that line meets the margin is never too small,
and each step takes another line. Where a pair term varies within its cells the fall is no such function, and the radius
is enclosed by halving.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from flint import fmpq

from suffice.core.extent import Cell, Extent, goes_on
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.joint_inputs import breaking_point
from suffice.core.landscape import Landscape, Spot
from suffice.core.radius_path import RadiusPath
from suffice.errors import Undecided
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float
from suffice.numbers.values import Value
from suffice.shapes.axis import Interval
from suffice.shapes.infimum import Infimum

_CLOSE = fmpq(1, 2**40)  # how closely a radius is enclosed by halving, relative to where it is


@dataclass(frozen=True)
class JointPath(RadiusPath):
    """The constraints of a claim about a model with pair terms, as functions of the radius.

    Parameters
    ----------
    functions, here, constraints, row, domains, units, immutable
        See `RadiusPath`; the functions are the features' own parts.
    landscapes : for each constraint its landscape
    deadline : float
        When searches should end.
    """

    landscapes: tuple[Landscape, ...] = ()
    deadline: float = 0.0
    _grounds: dict[object, tuple[Joint, ...]] = field(default_factory=dict, compare=False, repr=False)

    def at(self, radius: Rational | None, features: Collection[int] | None = None) -> tuple[Joint, ...]:
        """Return the constraints at a radius (None: the whole domain); only these features move, if any are named."""
        moving = frozenset(range(len(self.row)) if features is None else features)
        key = radius, moving, self._learned
        if key not in self._grounds:
            region = tuple(
                self._around(i, radius) if i in moving else domain.around(value, ZERO)
                for i, (value, domain) in enumerate(zip(self.row, self.domains, strict=True))
            )
            self._grounds[key] = self._on(region, None)
        return self._grounds[key]

    @property
    def _learned(self) -> tuple[int, ...]:
        """What is known of the constraints beside themselves: those of a radius are made anew once it is more."""
        return ()

    def at_finite(self) -> tuple[Joint, ...]:
        """Return the constraints at all finite radii together: codes are not reached from numbers, nor left."""
        region = []
        for i, (value, domain, unit) in enumerate(zip(self.row, self.domains, self.units, strict=True)):
            moves = unit and i not in self.immutable
            region.append(domain.within_finite(value) if moves else domain.around(value, ZERO))
        return self._on(region, None)

    def above(self, radius: Rational) -> tuple[Joint, ...]:
        """Return the constraints just above a radius: limits, with an edge of 1 where a label is about to fall on.

        Only of features along which no pair term varies: whether others fall on depends on where their partners are.
        """
        return self._on(self.beyond(radius), lambda landscape, i: self._beside(landscape, i, radius, 1))

    def below(self, radius: Rational) -> tuple[Joint, ...]:
        """Return the constraints just below a radius above 0: limits, with an edge of -1 where a label still falls."""
        return self._up_to(self._previous(radius), radius)

    def breaking_input(self, part: int, radius: Rational | None, moved: Sequence[int]) -> list[Value]:
        """Return an input within a radius that breaks a constraint and differs from the row in the moved features."""
        constraint = self.at(radius)[part]
        constraint.admits(moved)  # an enclosed threshold may need more bits
        return breaking_point(constraint, moved)

    def _on(self, region: Sequence[Domain], extra: Callable[[Landscape, int], list[Spot]] | None) -> tuple[Joint, ...]:
        found = []
        for landscape, limit in zip(self.landscapes, self.constraints, strict=True):
            more = None if extra is None else [extra(landscape, i) for i in range(len(self.row))]
            ground = Ground(landscape, self.row, region, deadline=self.deadline, extra=more)
            found.append(Joint(limit.margin, ground, limit.is_strict, limit.max_changed, limit.gap))
        return tuple(found)

    def _up_to(self, start: Rational, radius: Rational) -> tuple[Joint, ...]:
        """Return the limits of the constraints as the radius grows to one, with no event since another."""

        def extra(landscape: Landscape, i: int) -> list[Spot]:
            beside, ends = self._beside(landscape, i, start, -1), self._ends(landscape, i, start, radius)
            return [*beside, *ends, *self._corners(landscape, i, start, radius)]

        return self._on(self.beyond(start), extra)

    def _beside(self, landscape: Landscape, i: int, radius: Rational, rising: int) -> list[Spot]:
        """Return the spots just beyond the ends of a feature's region; `rising` is the edge of those that fall on."""
        found = []
        for side, end, cell, slope, offset in self._beyond(landscape, i, radius):
            edge = 0 if not slope else rising if slope * side < 0 else -1
            found.append(Spot(cell, Infimum.limit(slope * end + offset, end, side, slope), None, edge))
        return found

    def _ends(self, landscape: Landscape, i: int, start: Rational, radius: Rational) -> list[Spot]:
        """Return the spots that the moving ends of a feature's region come to as the radius grows, where they fall."""
        found = []
        for side, _, cell, slope, offset in self._beyond(landscape, i, start):
            if slope * side < 0:
                end = self._value(i) + side * radius * self.units[i]
                found.append(Spot(cell, Infimum.limit(slope * end + offset, end, -side, slope), None, -1))
        return found

    def _corners(self, landscape: Landscape, i: int, start: Rational, radius: Rational) -> list[Spot]:
        """Return the spots of what a feature's region gains as the radius grows, where a pair term varies along it."""
        ladder, found = landscape.ladders[i], []
        for side, end, cell, _, _ in self._beyond(landscape, i, start):
            if ladder.varies[cell]:
                low, high = sorted([end, self._value(i) + side * radius * self.units[i]])
                gained = Interval(low, False, high, False)
                found += ladder.spots(landscape.names[i], cell, gained, is_integers=False)
        return found

    def _beyond(
        self, landscape: Landscape, i: int, radius: Rational
    ) -> list[tuple[int, Rational, int, Rational, Rational]]:
        """Return for each end that goes on its side, its place, and the cell, slope and offset just beyond it."""
        if i not in self._moving or i in self.immutable:
            return []
        ladder, found = landscape.ladders[i], []
        for side in (-1, 1):
            end = self._value(i) + side * radius * self.units[i]
            if any(goes_on(span, end, side) for span in self.domains[i].spans):
                cuts = ladder.axis.cuts
                cell = bisect_right(cuts, (end, 1)) if side > 0 else bisect_left(cuts, (end, 0))
                k = ladder.function.segment_after(end) if side > 0 else ladder.function.segment_before(end)
                found.append((side, end, cell, ladder.line.slopes[k], ladder.line.offsets[k]))
        return found

    # --- where something happens --------------------------------------------------------------------------------------

    def _ends_meet(self) -> dict[int, list[Rational]]:
        """Return for each moving feature the radii above 0 at which an end meets a knot, a cut or an end of a span."""
        found = {}
        for i in self._moving:
            ladders = [landscape.ladders[i] for landscape in self.landscapes]
            places = {end for span in self.domains[i].spans for end in (span.low, span.high) if end is not None}
            places.update(place for ladder in ladders for place in ladder.function.knots)
            places.update(cut.place for ladder in ladders for cut in ladder.axis.cuts)
            distances = {abs(place - self._value(i)) / self.units[i] for place in places}
            found[i] = sorted(distances - {ZERO}, key=lambda one: (nearest_float(one), one))
        return found

    def bends(self, features: Collection[int], low: Rational, high: Rational | None) -> list[Rational]:
        """Return nothing: what bends a drop is a label of its own here."""
        return []

    # --- how far a property holds -------------------------------------------------------------------------------------

    def reach(self, freed: Collection[int], known: Rational = ZERO) -> Extent:
        """Return up to which radius the constraints admit some freed features; they do at the one known."""
        return self.by_halving(freed, known) if self._varies(freed) else super().reach(freed, known)

    def by_halving(self, freed: Collection[int], known: Rational, tried: Sequence[Rational] = ()) -> Extent:
        """Return the same, enclosed by halving; some radii are tried first, beyond which nothing turns."""
        cell = Cell(lambda radius: all(one.admits(freed) for one in self.at(radius, freed)), known)
        cell.cut(tried)
        cell.cut(event for i in self.events if i in set(freed) for event in self.events[i])
        while cell.high is None and self._falls_for_ever(freed):  # then it ends, however far out
            cell.cut([max(2 * cell.low, ONE)])
        if cell.high is None:  # nothing happens any more, and terms that vary for ever have been refused
            return cell.result()
        while cell.high - cell.low > max(cell.high, ONE) * _CLOSE:
            cell.cut([(cell.low + cell.high) / 2])
        return Extent(cell.low, is_attained=True, more=cell.high - cell.low)

    def _falls_for_ever(self, freed: Collection[int]) -> bool:
        """Whether a free feature that moves with the radius lowers a score without bound."""
        return any(one.drops[i].is_infinite for one in self.at(None, freed) for i in self._moving if i in set(freed))

    def end_of_stretch(self, reach: Extent) -> Extent:
        """Return an end, enclosed if it is not told what is best right after it: where a pair term varies."""
        if reach.radius is None or not reach.is_attained or reach.more or not self._varies(range(len(self.row))):
            return reach
        return replace(reach, more=max(reach.radius, ONE) * _CLOSE)

    def _varies(self, freed: Collection[int]) -> bool:
        """Whether a pair term of two features that are free varies along one that moves."""
        some = set(freed)
        return any(any(landscape.ladders[i].varies) for landscape in self.landscapes for i in self._moving if i in some)

    def _overtaken(self, freed: Collection[int], cell: Cell) -> list[Rational]:
        return []

    def _used_up(self, freed: Collection[int], cell: Cell) -> dict[Rational, Rational]:
        """Return the radii inside a cell at which a margin is used up, with how much further its gap may reach."""
        found: dict[Rational, Rational] = {}
        for part, constraint in enumerate(self.constraints):
            start = self._first_line(part, freed, cell)
            if start is None:
                continue
            radius, slope = start
            while slope and radius > cell.low:
                fall = self.at(radius, freed)[part].worst(freed)
                if fall.fall.value <= constraint.margin:
                    break
                slope = self._slope(part, fall.labels, self.at(radius, freed)[part], radius)
                radius -= (fall.fall.value - constraint.margin) / slope if slope else ZERO
            if not slope:  # beyond the margin, however little the radius is above the cell's beginning
                continue
            more = constraint.gap / slope
            if radius <= cell.low < radius + more:
                raise Undecided
            if cell.low < radius and (cell.high is None or radius < cell.high):
                found[radius] = max(more, found.get(radius, ZERO))
        return found

    def _first_line(self, part: int, freed: Collection[int], cell: Cell) -> tuple[Rational, Rational] | None:
        """Return where a line that the fall is nowhere below meets the margin, and its slope; None if none is above it.

        The line is that of the worst labelling at the end of the cell, or far out where it has none.
        """
        margin = self.constraints[part].margin
        if cell.high is not None:
            at, radius = self._up_to(cell.low, cell.high)[part], cell.high
        else:
            radius = cell.low + ONE
            while self._falls_on(part, freed, radius) and self.at(radius, freed)[part].fall(freed).value <= margin:
                radius = 2 * radius
            at = self.at(radius, freed)[part]
        worst = at.worst(freed)
        if worst.fall.value <= margin:
            return None
        slope = self._slope(part, worst.labels, at, radius)
        return (radius - (worst.fall.value - margin) / slope if slope else radius), slope

    def _falls_on(self, part: int, freed: Collection[int], radius: Rational) -> bool:
        """Whether a free feature goes on lowering the score as the radius grows beyond all events."""
        beyond = (one for i in freed for one in self._beyond(self.landscapes[part], i, radius))
        return any(slope * side < 0 for side, _, _, slope, _ in beyond)

    def _slope(self, part: int, labels: Sequence[int], joint: Joint, radius: Rational) -> Rational:
        """Return how fast the fall of a labelling grows with the radius, just below one."""
        found = ZERO
        for i, label in enumerate(labels):
            if label and i in self._moving:
                function, at = self.landscapes[part].ladders[i].line, joint.ground.spot(i, label).infimum.at
                for side in (-1, 1):
                    end = self._value(i) + side * radius * self.units[i]
                    if at == end:
                        k = function.segment_before(end) if side > 0 else function.segment_after(end)
                        found -= side * function.slopes[k] * self.units[i]
        return found
