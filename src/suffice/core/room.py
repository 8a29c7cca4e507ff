"""What a fixed feature may do beside all others: levels that its value takes the claim's score to, at worst.

In: constraints, and the features that are free. Out: for each fixed feature and each constraint a `Level`. Once it is
known how far a feature may go, it is let go, and goes there in whatever way is worst for those that come after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from flint import fmpq

from suffice.core.constraint import NO_DROP, Constraint, Drop, total
from suffice.core.drops import Worst
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.landscape import Landscape, Spot
from suffice.core.worst_case import worst
from suffice.errors import ClaimError
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes.axis import Axis, Cut, Interval
from suffice.shapes.combining import straight
from suffice.shapes.infimum import Infimum
from suffice.shapes.pieces import Pieces


class Level(NamedTuple):
    """How low a constraint's score gets at worst, as a function of one feature's value.

    Parameters
    ----------
    constraint : Constraint
    function, here : Pieces, Rational
        A value lowers the score by `here - function(value)`, beside `fall`.
    fall : Drop
    edge : callable
        For a value whether other features attain the level there (0) or only come close to it (-1).
    cuts : tuple of Cut
        Between which the edge is the same.
    """

    constraint: Constraint
    function: Pieces
    here: Rational
    fall: Drop
    edge: Callable[[Value], int]
    cuts: tuple[Cut, ...] = ()

    def drop(self, level: Rational, edge: int = 0) -> Drop:
        """Return how far the score falls at a level."""
        return total((self.fall, Drop(False, self.here - level, edge)))


class Reach(NamedTuple):
    """Values that a feature may take: numbers of some intervals, perhaps integers only, or labels."""

    intervals: tuple[tuple[Interval, bool], ...]  # with whether only integers are meant
    labels: tuple[Value, ...]


class Room(ABC):
    """What is left for a fixed feature beside the free ones, and beside those that were let go before."""

    @abstractmethod
    def levels(self, i: int) -> list[Level]:
        """Return the level of each constraint as a function of a fixed feature."""

    @abstractmethod
    def without(self, i: int, drops: Sequence[Drop], reach: Reach) -> Room:
        """Return what is left once a feature is let go: how far it alone lowers each score, and where it may go."""


@dataclass(frozen=True)
class SeparableRoom(Room):
    """The room of features that act each for itself: what others take adds up."""

    constraints: tuple[Constraint, ...]
    worst: tuple[tuple[Worst, ...], ...]
    row: Row
    falls: tuple[Drop, ...]

    def levels(self, i: int) -> list[Level]:
        """Return each constraint's part of the feature."""
        functions = straight(case.function for cases in self.worst for case in cases)
        if functions is None:
            raise ClaimError(
                "there are no ranges yet for models with curved shapes or networks of more than max_pieces pieces; ask "
                "for a radius instead"
            )
        functions = tuple(functions[k] for k in range(i, len(functions), len(self.row)))
        return [
            Level(constraint, function, function(self.row[i]), fall, lambda _: 0)
            for constraint, function, fall in zip(self.constraints, functions, self.falls, strict=True)
        ]

    def without(self, i: int, drops: Sequence[Drop], reach: Reach) -> SeparableRoom:
        """Return what is left once a feature is let go."""
        falls = tuple(total((fall, drop)) for fall, drop in zip(self.falls, drops, strict=True))
        return replace(self, falls=falls)


@dataclass(frozen=True)
class JointRoom(Room):
    """The room of features that act together: what others take depends on the cell that the feature is in.

    Parameters
    ----------
    constraints : tuple of Joint
    row, domains, region : the row, all values of the features, and where free ones may go
    free : features that are free
    gone : for features that were let go, where they may go
    """

    constraints: tuple[Joint, ...]
    row: Row
    domains: tuple[Domain, ...]
    region: tuple[Domain, ...]
    free: frozenset[int]
    gone: tuple[tuple[int, Reach], ...] = ()

    def without(self, i: int, drops: Sequence[Drop], reach: Reach) -> JointRoom:
        """Return what is left once a feature is let go."""
        return replace(self, gone=(*self.gone, (i, reach)))

    def levels(self, i: int) -> list[Level]:
        """Return the feature's own part, lowered in each cell by what all others can do while it is there."""
        return [self._level(joint, i) for joint in self.constraints]

    def _level(self, joint: Joint, i: int) -> Level:
        landscape = joint.ground.landscape
        ladder, domain = landscape.ladders[i], self.domains[i]
        if any(ladder.varies):
            raise ClaimError(
                f"there are no ranges for {landscape.names[i]!r}: a pair term of it varies within its cells, so that "
                "how much room others leave is no piecewise linear function of it"
            )
        axis, main = ladder.axis, ladder.function
        points = {axis.cell_of(value) for value in (*domain.categories_, *domain.codes_)}
        reached = points.union(*(axis.cells_between(span.low, span.high) for span in domain.spans))
        falls = {cell: self._fall(joint, i, _inside(axis, cell)) for cell in reached}
        knots = sorted({*main.knots, *(cut.place for cut in axis.cuts)})
        beside = [_just_below(axis, knot) for knot in knots] + [axis.numbers - 1]
        pieces = [main.segment_before(knot) for knot in knots] + [len(main.knots)]
        function = Pieces(
            tuple(knots),
            tuple(main.slopes[k] for k in pieces),
            tuple(main.offsets[k] - falls.get(cell, NO_DROP).value for k, cell in zip(pieces, beside, strict=True)),
            tuple(main(knot) - falls.get(axis.cell_of(knot), NO_DROP).value for knot in knots),
            {
                label: value - falls.get(axis.cell_of(label), NO_DROP).value
                for label, value in main.labels.items()
                if label in axis.labels
            },
        )
        edges = {cell: fall.edge for cell, fall in falls.items()}
        return Level(joint, function, main(self.row[i]), NO_DROP, lambda at: edges.get(axis.cell_of(at), 0), axis.cuts)

    def _fall(self, joint: Joint, i: int, value: Value) -> Drop:
        """Return how far all others can lower the score where a feature has a value, its own part aside."""
        landscape = joint.ground.landscape
        row = (*self.row[:i], value, *self.row[i + 1 :])
        region = [self.region[k] if k in self.free else only(x) for k, x in enumerate(row)]
        gone = dict(self.gone)
        extra = [spots_of(landscape, self.row, k, gone[k]) if k in gone else [] for k in range(len(row))]
        ground = Ground(landscape, row, region, deadline=joint.ground.deadline, extra=extra)
        moves = ground.graph.moves.copy()
        for k in gone:  # those that were let go do not count among the changes
            moves[ground.graph.first[k] : ground.graph.first[k + 1]] = 0
        most = len(row) if joint.max_changed is None else joint.max_changed
        found = worst(ground, [*self.free, *gone], most, moves).fall
        own = landscape.mains[i]
        before = landscape.change(self.row, row) - own(value) + own(self.row[i])
        return found._replace(value=found.value - before)


def spots_of(landscape: Landscape, row: Row, k: int, reach: Reach) -> list[Spot]:
    """Return the spots of a feature that may go where it is let go."""
    ladder = landscape.ladders[k]
    found = [
        Spot.of(ladder.axis.cell_of(label), Infimum.attained(ladder.function(label), label))
        for label in reach.labels
        if label != row[k]
    ]
    for interval, is_integers in reach.intervals:
        for cell in ladder.axis.cells_between(interval.low, interval.high):
            found += ladder.spots(landscape.names[k], cell, interval, is_integers=is_integers)
    return found


def only(value: Value) -> Domain:
    """Return the domain of one value."""
    return Domain((Span(value, value),)) if isinstance(value, fmpq) else Domain(codes_=(value,))


def _inside(axis: Axis, cell: int) -> Value:
    """Return a value of a cell."""
    if cell >= axis.numbers:
        return axis.labels[cell - axis.numbers]
    low, _, high, _ = axis.interval(cell)
    if low is None or high is None:
        return ZERO if low is high else (low + ONE if low is not None else _below(high))
    return (low + high) / 2


def _below(high: Rational | None) -> Rational:
    assert high is not None
    return high - ONE


def _just_below(axis: Axis, knot: Rational) -> int:
    """Return the cell of the numbers just below a knot."""
    return sum(cut.place < knot for cut in axis.cuts)
