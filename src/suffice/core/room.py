"""What a fixed feature may do beside all others: levels that its value takes the claim's score to, at worst.

In: constraints, and the features that are free. Out: for each fixed feature and each constraint a `Level`. Once it is
known how far a feature may go, it is let go, and goes there in whatever way is worst for those that come after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from flint import fmpq

from suffice.core.constraint import NO_DROP, Constraint, Drop, total
from suffice.core.convex import Line, kinks, largest, tangents
from suffice.core.drops import Worst
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.landscape import Landscape, Spot, within
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
    worst: tuple[Sequence[Worst], ...]
    row: Row
    falls: tuple[Drop, ...]

    def levels(self, i: int) -> list[Level]:
        """Return each constraint's part of the feature."""
        functions = straight(case.function for cases in self.worst for case in cases)
        assert functions is not None, "ranges of other functions are found by halving"
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
        ladder, domain = joint.ground.landscape.ladders[i], self.domains[i]
        axis, main = ladder.axis, ladder.line
        points = {axis.cell_of(value) for value in (*domain.categories_, *domain.codes_)}
        reached = points.union(*(axis.cells_between(span.low, span.high) for span in domain.spans))
        around = {cell: _Around(self, joint, i, cell) for cell in reached}
        falls = {cell: one.falls() for cell, one in around.items()}
        bends = {bend for lines in falls.values() for bend in kinks(lines)}
        knots = sorted({*main.knots, *(cut.place for cut in axis.cuts), *bends})
        beside = [_just_below(axis, knot) for knot in knots] + [axis.numbers - 1]
        pieces = [main.segment_before(knot) for knot in knots] + [len(main.knots)]
        lines = [largest(falls.get(cell, _NOTHING), inside) for cell, inside in zip(beside, _inner(knots), strict=True)]
        function = Pieces(
            tuple(knots),
            tuple(main.slopes[k] - line.slope for k, line in zip(pieces, lines, strict=True)),
            tuple(main.offsets[k] - line.offset for k, line in zip(pieces, lines, strict=True)),
            tuple(main(knot) - largest(falls.get(axis.cell_of(knot), _NOTHING), knot)(knot) for knot in knots),
            {
                label: value - falls.get(axis.cell_of(label), _NOTHING)[0].offset
                for label, value in main.labels.items()
                if label in axis.labels
            },
        )

        def edge(at: Value) -> int:
            cell = axis.cell_of(at)
            return around[cell].edge(at) if cell in around else 0

        cuts = {*axis.cuts, *(Cut(bend, side) for bend in bends for side in (0, 1))}
        return Level(joint, function, main(self.row[i]), NO_DROP, edge, tuple(sorted(cuts)))


_NOTHING = (Line(ZERO, ZERO),)


class _Around:
    """How far all others can lower the score where a feature is in a cell, its own part aside.

    With all others anywhere, the score is affine along the feature within the cell: what others can do at most is the
    largest of affine functions. A cell along which a pair term varies is taken for one that goes on for ever, so that
    its ends, too, are in it.
    """

    def __init__(self, room: JointRoom, joint: Joint, i: int, cell: int) -> None:
        self.room, self.joint, self.i = room, joint, i
        landscape = joint.ground.landscape
        axis = landscape.ladders[i].axis
        self.varies = landscape.ladders[i].varies[cell]
        self.landscape = _held(landscape, i, cell) if self.varies else landscape
        self.axis, self.cell = axis, cell
        self.inside = _inside(axis, cell)
        self.before = sum((pair(*(room.row[k] for k in ends)) for ends, pair in landscape.pairs if i in ends), ZERO)
        self._found: dict[Value, tuple[Line, int]] = {}

    def falls(self) -> list[Line]:
        """Return affine functions the largest of which is how far others lower the score."""
        if not self.varies:
            return [self._worst(self.inside)[0]]
        spans = self.room.domains[self.i].spans
        cell = self.axis.interval(self.cell)
        reach = [within(cell, Interval(low, True, high, True), is_integers=False) for low, high, _ in spans]
        ends = [end for one in reach if one is not None for end in (one.low, one.high)]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            raise no_range(self.landscape.names[self.i])
        labels = (*self.room.domains[self.i].categories_, *self.room.domains[self.i].codes_)
        known += [x for x in labels if isinstance(x, fmpq) and self.axis.cell_of(x) == self.cell]
        return tangents(lambda at: self._worst(at)[0], min(known), max(known)) if known else list(_NOTHING)

    def edge(self, at: Value) -> int:
        """Return whether others attain what they can do at most (0), or only come close to it (-1)."""
        return self._worst(at if self.varies else self.inside)[1]

    def _worst(self, at: Value) -> tuple[Line, int]:
        if at not in self._found:
            self._found[at] = self._find(at)
        return self._found[at]

    def _find(self, at: Value) -> tuple[Line, int]:
        room, landscape, i = self.room, self.landscape, self.i
        row = (*room.row[:i], at, *room.row[i + 1 :])
        region = [room.region[k] if k in room.free else only(x) for k, x in enumerate(row)]
        gone = dict(room.gone)
        extra = [spots_of(landscape, room.row, k, gone[k]) if k in gone else [] for k in range(len(row))]
        ground = Ground(landscape, row, region, deadline=self.joint.ground.deadline, extra=extra)
        moves = ground.graph.moves.copy()
        for k in gone:  # those that were let go do not count among the changes
            moves[ground.graph.first[k] : ground.graph.first[k + 1]] = 0
        most = len(row) if self.joint.max_changed is None else self.joint.max_changed
        labels, fall = worst(ground, [*room.free, *gone], most, moves)
        there = sum((pair(*(row[k] for k in ends)) for ends, pair in landscape.pairs if i in ends), ZERO)
        value = fall.value - there + self.before
        if not self.varies:
            return Line(ZERO, value), fall.edge
        assert isinstance(at, fmpq)
        slope = -sum((self._slope(ground, labels, e, side) for e, side in landscape.around[i]), ZERO)
        return Line(slope, value - slope * at), fall.edge

    def _slope(self, ground: Ground, labels: Sequence[int], e: int, side: int) -> Rational:
        """Return how steep a pair term is along the feature, the other one being at its label."""
        other = self.landscape.pairs[e][0][1 - side]
        spot = ground.spot(other, labels[other])
        low, high = (Spot.of(0, Infimum.attained(ZERO, at)) for at in (ZERO, ONE))
        ends = [(one, spot) if side == 0 else (spot, one) for one in (low, high)]
        return self.landscape.pair_at(e, *ends[1]) - self.landscape.pair_at(e, *ends[0])


def _held(landscape: Landscape, i: int, cell: int) -> Landscape:
    """Return a score without a feature's own part, with one cell of its pair terms for all its values."""
    mains = list(landscape.mains)
    mains[i] = Pieces((), (ZERO,), (ZERO,), (), dict.fromkeys(mains[i].labels, ZERO))
    pairs = list(landscape.pairs)
    for e, side in landscape.around[i]:
        ends, pair = pairs[e]
        pairs[e] = ends, pair.held(side, int(landscape.cells[e][side][cell]))
    return Landscape(mains, pairs, landscape.names)


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


def no_range(name: str) -> ClaimError:
    """Return the error that says that a feature has no end where a pair term of it varies."""
    return ClaimError(
        f"there is no range for {name!r}: a pair term of it goes on for ever along it, and nothing bounds it there; "
        "give it a domain with ends"
    )


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


def _inner(knots: Sequence[Rational]) -> list[Rational]:
    """Return a number before the first of some knots, one between each two, and one after the last."""
    if not knots:
        return [ZERO]
    return [knots[0] - ONE, *((low + high) / 2 for low, high in pairwise(knots)), knots[-1] + ONE]


def _below(high: Rational | None) -> Rational:
    assert high is not None
    return high - ONE


def _just_below(axis: Axis, knot: Rational) -> int:
    """Return the cell of the numbers just below a knot."""
    return sum(cut.place < knot for cut in axis.cuts)
