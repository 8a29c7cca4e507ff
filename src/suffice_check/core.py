"""How far features can lower each inequality, and what an input shows: that these features do not suffice.

This layer sees pieces only. A *place* is a number, a number infinitely close to another one, or a label. Its *fall* is
by how much it lowers an inequality compared with the row: a number, or just below it where values near the place fall a
little less, or just above it where they fall a little more.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

from suffice_check.claims import Inequality
from suffice_check.curves import below, lowest, value, way
from suffice_check.domain import Domain, Span
from suffice_check.model import Feature, Model
from suffice_check.ordered import ZERO, Number
from suffice_check.reading import RejectedError, Value
from suffice_check.roots import Exact
from suffice_check.shapes import Line, Outputs, Pieces
from suffice_check.tree import Choices


class Constraint(NamedTuple):
    """An inequality seen from the row: it holds where falls add up to at most `margin`, and breaks above `loose`.

    Both are the same but for charges and numbers that are only enclosed. Where a fall of exactly the margin breaks the
    inequality, both are infinitely little below it.
    """

    inequality: Inequality
    margin: Number
    loose: Number


class Part:
    """One feature around the row: how far each inequality falls at a place, and at most over a region."""

    def __init__(self, feature: Feature, here: Outputs, inequalities: Sequence[Inequality], many: int) -> None:
        self.name, self.shape, self.inequalities, self.many = feature.name, feature.shape, inequalities, many
        self.here, self.count = [inequality.of(here) for inequality in inequalities], range(len(inequalities))

    def fall(self, c: int, at: Value) -> Number:
        """Return by how much an inequality falls at a place."""
        if not isinstance(at, Number):
            return Number(self.here[c] - self.inequalities[c].of(self.shape.label(at)))
        low, high = sorted([at.value, at.value + at.edge])  # some way on to its side
        line = self.shape.pieces(low, high).cell(at.value, int(at.edge))
        powers = [self.inequalities[c].of(row) for row in line.powers]
        return self._fall(c, value(powers, at.value), way(powers, at))

    def below(
        self, c: int, low: Fraction, high: Fraction, places: Sequence[Fraction], is_integers: bool
    ) -> list[tuple[Number, Number]]:
        """Return points between two numbers with no knot in between, and what an inequality falls by there at most.

        Between neighbouring ones, or one and an end, the fall is nowhere above the straight line: see `below`.
        """
        line = self.shape.pieces(low, high).cell((low + high) / 2, 0)
        found = below([self.inequalities[c].of(row) for row in line.powers], low, high, places, is_integers)
        return [(Number(t), Number(self.here[c] - least)) for t, least in found]

    def _fall(self, c: int, low: Exact, way: int) -> Number:
        """Return by how much an inequality falls at a place, given its value there and whether values rise from there.

        One that comes close from below loses an ε, and one that goes beyond gains as many as there are features: where
        one goes beyond, others that come close enough do not make up for it.
        """
        return Number(self.here[c] - low, -way if way >= 0 else self.many)  # type: ignore[arg-type]

    def drops(self, region: Domain) -> list[Number | None]:
        """Return the largest fall of each inequality over a region; None where there is none."""
        labels = [[ZERO, *(self.fall(c, at) for at in (*region.categories, *region.codes))] for c in self.count]
        each = [*zip(*labels, strict=True), *(self.over(span) for span in region.spans)]
        return [None if None in falls else max(falls) for falls in zip(*each, strict=True)]

    def over(self, span: Span) -> list[Number | None]:
        """Return the largest fall of each inequality over a span; None where there is none."""
        low = None if span.low is None else span.low.value + min(span.low.edge, 0)  # some way on, if just beyond an end
        high = None if span.high is None else span.high.value + max(span.high.edge, 0)
        pieces = self.shape.pieces(low, high)
        falls: list[list[Number]] = [[] for _ in self.count]
        endless = set[int]()
        for first, last, line in _stretches(span, pieces):
            for c, inequality in enumerate(self.inequalities):
                found = lowest([inequality.of(row) for row in line.powers], first, last, span.is_integers)
                if found is None:
                    endless.add(c)
                else:
                    falls[c] += [self._fall(c, low, way) for low, way in found]
        return [None if c in endless else max(falls[c], default=ZERO) for c in self.count]


def _stretches(span: Span, pieces: Pieces) -> Iterator[tuple[Number | None, Number | None, Line]]:
    """Yield where a function is affine on a span: the first place, the last one (None: without end), and its line."""
    for first, last, k in _intervals(span, pieces.knots):
        if k is not None:
            yield first, last, pieces.line(2 * k)
        elif first is not None:
            yield first, last, pieces.cell(first.value, int(first.edge))


def places(span: Span, knots: list[Fraction]) -> Iterator[Number]:
    """Yield places of a span of which one has the largest fall, for a function that is affine between knots."""
    for first, last, k in _intervals(span, knots):
        ends = (first,) if k is None else (first, last)
        yield from (end for end in ends if end is not None)
        if first is None and last is None:
            yield ZERO


def _intervals(span: Span, knots: list[Fraction]) -> Iterator[tuple[Number | None, Number | None, int | None]]:
    """Yield the knots and ends that belong to a span, each for itself, then what lies between them, with its number."""
    start = 0 if span.low is None else bisect_right(knots, span.low.value)
    stop = len(knots) if span.high is None else bisect_left(knots, span.high.value)
    marks = [span.low, *map(Number, knots[start:stop]), span.high]
    for mark in marks:
        if mark is not None and span.holds(Number(mark.value)):
            for at in (mark, Number(mark.value)) if mark.edge else (mark,):  # just beyond a number, and the number
                yield at, at, None
    for k, (left, right) in enumerate(pairwise(marks), start=start):
        for first, last in _between(left, right, span.is_integers):
            yield first, last, k


def _between(
    left: Number | None, right: Number | None, is_integers: bool
) -> Iterator[tuple[Number | None, Number | None]]:
    """Yield the first and the last place of an open interval, if it has any: limits, or integers."""
    if is_integers:
        first = None if left is None else Number(Fraction(floor(left.value) + 1))
        last = None if right is None else Number(Fraction(ceil(right.value) - 1))
    else:
        first = None if left is None else Number(left.value, 1)
        last = None if right is None else Number(right.value, -1)
    if first is None or last is None or first <= last:
        yield first, last


class Case(NamedTuple):
    """A row and what is asked of it: all but the region."""

    model: Model
    row: Sequence[Value]
    parts: Sequence[Part]
    constraints: Sequence[Constraint]
    choices: Choices
    most: int | None  # how many features may change at once in the box,
    few: int | None  # and in the true region, which may be a ball in it


class Around:
    """The row and its region at some radius. What features can do there: `alone.py`, or `together.py`."""

    def __init__(self, case: Case, region: Sequence[Domain]) -> None:
        self.region = region
        _, self.row, self.parts, self.constraints, self.choices, self.most, self.few = case

    def fall(self, c: int, places: Sequence[Value], changed: Collection[int]) -> Number:
        """Return by how much an inequality falls if some features go to places of theirs."""
        raise NotImplementedError

    def check_input(self, places: Sequence[Value], may_change: Collection[int], always: Collection[int] = ()) -> None:
        """Check that an input lies in the region, changes only what it may, and breaks the claim.

        Those that may always move are not counted among those that change.
        """
        allowed = {*may_change, *always}
        if len(places) != len(self.row):
            raise RejectedError("input", f"it has {len(places)} values, the model has {len(self.row)} features")
        changed = [i for i, (x, place) in enumerate(zip(self.row, places, strict=True)) if x != place]
        for i in changed:
            if i not in allowed:
                raise RejectedError("input", f"it changes {self.parts[i].name!r}, which is fixed")
            if not self.region[i].holds(places[i]):
                raise RejectedError("input", f"{self.parts[i].name!r} is outside its region")
        counted = len({*changed} - {*always})
        if self.few is not None and counted > self.few:
            raise RejectedError("input", f"it changes {counted} features, more than are allowed to change at once")
        if not any(self.fall(c, places, changed) > one.loose for c, one in enumerate(self.constraints)):
            raise RejectedError("input", "the claim holds there, or does not fail by enough")
