"""How far features can lower each inequality, and what follows: these features suffice, or they do not.

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
from suffice_check.model import Domain, Feature, Span
from suffice_check.ordered import ZERO, Number, total
from suffice_check.reading import RejectedError, Value
from suffice_check.shapes import Line, Outputs, Pieces

Witness = list[Value]  # a place, or nothing


class Constraint(NamedTuple):
    """An inequality seen from the row: it holds where falls add up to at most `margin`, and breaks above `loose`.

    Both are the same but for charges and numbers that are only enclosed. Where a fall of exactly the margin breaks the
    inequality, both are infinitely little below it.
    """

    inequality: Inequality
    margin: Number
    loose: Number


class Part:
    """One feature around the row: its region, and how far each inequality falls at a place of it."""

    def __init__(self, feature: Feature, x: Value, region: Domain, inequalities: Sequence[Inequality], many: int) -> None:
        self.feature, self.region, self.inequalities, self.many = feature, region, inequalities, many
        ends = [(span.low, span.high) for span in region.spans]
        lows, highs = [low for low, _ in ends], [high for _, high in ends]
        # One further on where values just beyond an end belong to the region.
        self.low = None if None in lows else min((e.value + min(e.edge, 0) for e in lows if e), default=None)
        self.high = None if None in highs else max((e.value + max(e.edge, 0) for e in highs if e), default=None)
        self.pieces: Pieces | None = feature.shape.pieces(self.low, self.high) if ends else None
        self.here = [inequality.of(self._line(x, 0).at(_number(x))) for inequality in inequalities]

    def _line(self, at: Value, edge: int) -> Line:
        """Return the line on a place, or beside it; a constant for a label."""
        if not isinstance(at, Number):
            value = self.feature.shape.label(at)
            return Line((Fraction(0),) * len(value), value)
        is_in = (self.low is None or self.low <= at.value) and (self.high is None or at.value <= self.high)
        if self.pieces is not None and is_in:
            return self.pieces.cell(at.value, edge)
        low, high = sorted([at.value, at.value + edge])
        return self.feature.shape.pieces(low, high).cell(at.value, edge)

    def fall(self, c: int, at: Value) -> Number:
        """Return by how much an inequality falls at a place.

        Those that come close from below lose one ε, and those that go beyond gain as many as there are features: where
        one goes beyond, others that come close enough do not make up for it.
        """
        edge = at.edge if isinstance(at, Number) else 0
        line = self._line(at, int(edge))
        return self._fall(c, line.at(_number(at)), line.slopes, edge)

    def _fall(self, c: int, outputs: Outputs, slopes: Outputs, edge: Fraction | int) -> Number:
        inequality = self.inequalities[c]
        growth = -edge * inequality.of(slopes) if edge else 0
        return Number(self.here[c] - inequality.of(outputs), self.many if growth > 0 else -1 if growth < 0 else 0)

    def drops(self) -> list[Number | None]:
        """Return the largest fall of each inequality over the region; None where there is none."""
        found, count = [ZERO] * len(self.inequalities), range(len(self.inequalities))
        for at in self._places():
            edge = at.edge if isinstance(at, Number) else 0
            line = self._line(at, int(edge))
            outputs = line.at(_number(at))
            found = [max(found[c], self._fall(c, outputs, line.slopes, edge)) for c in count]
        return [None if self._is_endless(inequality) else found[c] for c, inequality in enumerate(self.inequalities)]

    def _is_endless(self, inequality: Inequality) -> bool:
        """Whether an inequality falls without bound, at an end of the region that is none."""
        for side, cell in ((-1, 0), (1, -1)):
            line = self.pieces.cells[cell] if self.pieces else None
            ends = [span.low if side < 0 else span.high for span in self.region.spans]
            if None in ends and line is not None and side * inequality.of(line.slopes) < 0:
                return True
        return False

    def _places(self) -> Iterator[Value]:
        """Yield places of which one has the largest fall, unless an inequality falls without bound."""
        yield from self.region.categories
        yield from self.region.codes
        for span in self.region.spans:
            knots = self.pieces.knots if self.pieces else []
            first = 0 if span.low is None else bisect_right(knots, span.low.value)
            last = len(knots) if span.high is None else bisect_left(knots, span.high.value)
            marks = [span.low, *map(Number, knots[first:last]), span.high]
            yield from (mark for mark in marks if mark is not None and span.holds(Number(mark.value)))
            for left, right in pairwise(marks):
                yield from _between(left, right, span)


def _between(left: Number | None, right: Number | None, span: Span) -> Iterator[Number]:
    """Yield the ends of an open interval on which a function is affine: limits, or the first and last integer."""
    if left is None and right is None:
        yield ZERO
    if span.is_integers:
        first, last = None if left is None else floor(left.value) + 1, None if right is None else ceil(right.value) - 1
        if first is None or last is None or first <= last:
            yield from (Number(Fraction(end)) for end in (first, last) if end is not None)
    elif left is None or right is None or left.value < right.value:
        yield from (Number(end.value, side) for end, side in ((left, 1), (right, -1)) if end is not None)


def _number(at: Value) -> Fraction:
    return at.value if isinstance(at, Number) else Fraction(0)


class Around:
    """The row and its region at some radius; parts are made when they are first asked for."""

    def __init__(
        self, features: Sequence[Feature], row: Sequence[Value], region: Sequence[Domain],
        constraints: Sequence[Constraint], most: int | None, few: int | None,
    ) -> None:  # fmt: skip
        self.features, self.row, self.region, self.constraints = features, row, region, constraints
        self.most, self.few = most, few  # how many features may change at once, in the box and in the true region
        self._parts: dict[int, Part] = {}
        self._drops: dict[int, list[Number | None]] = {}

    def part(self, i: int) -> Part:
        """Return a feature around the row."""
        if i not in self._parts:
            inequalities = [constraint.inequality for constraint in self.constraints]
            self._parts[i] = Part(self.features[i], self.row[i], self.region[i], inequalities, len(self.row))
        return self._parts[i]

    def drop(self, c: int, i: int) -> Number | None:
        """Return the largest fall of an inequality that a feature can cause; None where there is none."""
        if i not in self._drops:
            self._drops[i] = self.part(i).drops()
        return self._drops[i][c]

    def fits(self, free: Collection[int], moving: Collection[int] = ()) -> bool:
        """Whether every inequality holds whatever free features do, no more at once than may, and all those moving."""
        return all(self._fits(c, free, moving) for c in range(len(self.constraints)))

    def _fits(self, c: int, free: Collection[int], moving: Collection[int]) -> bool:
        drops, others = [self.drop(c, i) for i in free], [self.drop(c, i) for i in moving]
        known = [drop for drop in drops if drop is not None]
        if len(known) < len(drops) or None in others:
            return False
        if self.most is not None and self.most < len(known):
            known = sorted(known, reverse=True)[: self.most]
        return total([*known, *(drop for drop in others if drop is not None)]) <= self.constraints[c].margin

    def check_sufficient(self, fixed: Collection[int]) -> None:
        """Check that what all other features can do together leaves every inequality true."""
        kept = {*fixed}
        if not self.fits([i for i in range(len(self.row)) if i not in kept]):
            raise RejectedError("sufficiency", "the free features can break the claim together")

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
                raise RejectedError("input", f"it changes {self.features[i].name!r}, which is fixed")
            if not self.region[i].holds(places[i]):
                raise RejectedError("input", f"{self.features[i].name!r} is outside its region")
        counted = len({*changed} - {*always})
        if self.few is not None and counted > self.few:
            raise RejectedError("input", f"it changes {counted} features, more than are allowed to change at once")
        for c, constraint in enumerate(self.constraints):
            if total(self.part(i).fall(c, places[i]) for i in changed) > constraint.loose:
                return
        raise RejectedError("input", "the claim holds there, or does not fail by enough")

    def witnessed(self, witnesses: Sequence[Sequence[Witness]]) -> list[list[Number]]:
        """Return, for each inequality and feature, a fall that a witness of the region shows; 0 without one."""
        if [len(part) for part in witnesses] != [len(self.row)] * len(self.constraints):
            raise RejectedError("witnesses", "there must be one, or null, for each inequality and feature")
        for i, feature in enumerate(self.features):
            if not all(self.region[i].holds(at) for part in witnesses for at in part[i]):
                raise RejectedError("witnesses", f"that of {feature.name!r} lies outside its region")
        return [
            [max([ZERO, *(self.part(i).fall(c, at) for at in one)]) for i, one in enumerate(part)]
            for c, part in enumerate(witnesses)
        ]
