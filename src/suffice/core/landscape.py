"""A claim's score as an exact function of all features: parts of one feature, and parts of two.

In: for each feature its own part, and the parts of pairs of features. Out: for each feature the cells between which its
pair terms change, what is worst within a cell, and every number rounded to whole units of one power of two. None of it
depends on a row: a `Landscape` is made once for a claim's factors and kept with the compiled model.

Where all pair terms of a feature are constant along it, one place in a cell stands for the whole cell: the one where
the feature's own part is lowest. Where one of them is not, the score is affine along the feature between its own knots,
whatever the others do, so that it is lowest at one of these or at an end of the cell. If such a place does not belong
to the cell, values come as close to it as one likes; a place between two such ends attains what both only approach,
should the score be constant there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.errors import RadiusError
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Value
from suffice.shapes.axis import Axis, Interval, united
from suffice.shapes.combining import combined
from suffice.shapes.function import Function
from suffice.shapes.infimum import Infimum
from suffice.shapes.pair_pieces import PairPieces
from suffice.shapes.pieces import Pieces
from suffice.shapes.slices import sliced

_BITS = 62  # of a whole number that is safely within 64 bits
_ROOM = 8  # bits that messages may need beyond the numbers they are made of


class Spot(NamedTuple):
    """A place of a feature that stands for others: where it is, and the lowest that the feature's own part gets there.

    Where the infimum is approached, values as close to it as one likes are in the cell.
    """

    cell: int  # of the feature's axis
    infimum: Infimum
    within: Interval | None  # the numbers that it stands for; None for a single value
    edge: int  # as of a drop: -1 where it is only approached, 1 where it is about to fall further

    @classmethod
    def of(cls, cell: int, infimum: Infimum, within: Interval | None = None) -> Spot:
        """Return a spot at an infimum."""
        return cls(cell, infimum, within, -1 if infimum.is_approached else 0)


class Ladder:
    """One feature: its own part, and the cells between which its pair terms change.

    A part that is a curve has a ladder of its own: see `CurvedLadder`.
    """

    def __init__(self, function: Function, axis: Axis, varies: NDArray[np.bool_]) -> None:
        self.function, self.axis = function, axis
        self.varies = varies.tolist()  # for each cell whether a pair term is not constant along the feature there
        self._whole: dict[tuple[int, bool], Spot | None] = {}

    @property
    def line(self) -> Pieces:
        """Its own part, which is straight between knots."""
        assert isinstance(self.function, Pieces)
        return self.function

    def spots(self, name: str, cell: int, reach: Interval, *, is_integers: bool) -> list[Spot]:
        """Return places such that nothing in a cell and an interval, or its integers, is worse than the worst."""
        inside = within(self.axis.interval(cell), reach, is_integers=is_integers)
        if inside is None:
            return []
        if self.varies[cell]:
            found = _corners(self.line, inside, name, is_integers=is_integers)
            return [Spot.of(cell, one, inside) for one in found]
        return [Spot.of(cell, _lowest(self.line, inside, is_integers=is_integers), inside)]

    def whole(self, cell: int, *, is_integers: bool) -> Spot | None:
        """Return the worst place of a whole cell with two ends, along which no pair term varies; found once.

        None where there is none, and of a curve, of which only what is learned is known.
        """
        if not isinstance(self.function, Pieces):
            return None
        key = cell, is_integers
        if key not in self._whole:
            found = self.spots("", cell, Interval(None, True, None, True), is_integers=is_integers)
            self._whole[key] = found[0] if found else None
        return self._whole[key]


class Landscape:
    """A claim's score as a function of all features.

    Parameters
    ----------
    mains : sequence of Function
        For each feature its own part: `Pieces`, or `Curves`, of which `Tangents` make spots.
    pairs : sequence of two features, the smaller first, and PairPieces
        The part of each two features that have one.
    names : sequence of str
        What the features are called.
    """

    def __init__(
        self, mains: Sequence[Function], pairs: Sequence[tuple[tuple[int, int], PairPieces]], names: Sequence[str]
    ) -> None:
        self.mains, self.pairs, self.names = tuple(mains), tuple(pairs), tuple(names)
        self.around: list[list[tuple[int, int]]] = [[] for _ in mains]  # for each feature its pairs, and its side there
        for e, (ends, _) in enumerate(self.pairs):
            for side, i in enumerate(ends):
                self.around[i].append((e, side))
        axes = [united([self.pairs[e][1].axes[side] for e, side in near]) if near else None for near in self.around]
        self.cells: list[list[NDArray[np.int64]]] = []  # for each pair and side the pair's cell for each of the feature
        for (i, j), pair in self.pairs:
            self.cells.append([_cells_in(pair.axes[side], axes[k]) for side, k in enumerate((i, j))])
        self.ladders = tuple(self._ladder(i, axis) for i, axis in enumerate(axes))
        self.is_learned = False  # whether it is known better by and by, where labellings break a constraint
        self._scaled: dict[int, Landscape] = {}  # the same in other units

    def _ladder(self, i: int, axis: Axis | None) -> Ladder:
        if axis is None:
            axis = Axis((), tuple(self.mains[i].labels))
        varies = np.zeros(len(axis), dtype=bool)
        for e, side in self.around[i]:
            varies |= self.pairs[e][1].varies[side][self.cells[e][side]]
        return Ladder(self.mains[i], axis, varies)

    def with_ladders(self, ladders: Iterable[Ladder]) -> Landscape:
        """Return the same landscape where other places of features stand for all of them."""
        self.tables  # noqa: B018  (made once for all)
        found = copy(self)
        found.ladders, found.is_learned, found._scaled = tuple(ladders), True, {}
        return found

    def pair_at(self, e: int, first: Spot, second: Spot) -> Rational:
        """Return the part of a pair at two spots."""
        (_, pair), (rows, columns) = self.pairs[e], self.cells[e]
        return pair.limit(rows[first.cell], first.infimum.at, columns[second.cell], second.infimum.at)

    def alone(self, i: int, row: Sequence[Value]) -> Function:
        """Return the score as a function of one feature, up to a constant, all others being at a row."""
        ends = ((self.pairs[e], side) for e, side in self.around[i])
        slices = [sliced(pair, side, row[both[1 - side]]) for (both, pair), side in ends]
        return combined([(ONE, self.mains[i]), *((ONE, one) for one in slices)]) if slices else self.mains[i]

    def change(self, old: Sequence[Value], new: Sequence[Value]) -> Rational:
        """Return by how much the score differs from one input to another."""
        moved = [i for i, (before, after) in enumerate(zip(old, new, strict=True)) if before != after]
        found = sum((self.mains[i](new[i]) - self.mains[i](old[i]) for i in moved), ZERO)
        for e in {e for i in moved for e, _ in self.around[i]}:
            (i, j), pair = self.pairs[e]
            found += pair(new[i], new[j]) - pair(old[i], old[j])
        return found

    # --- in whole units -----------------------------------------------------------------------------------------------

    @cached_property
    def limit(self) -> int:
        """How large a number of the search may become in units: sums of all of them are then within 64 bits."""
        return (1 << _BITS) // (8 * (len(self.mains) + len(self.pairs) + 1))

    @cached_property
    def steps(self) -> int:
        """How many units make up the smallest difference that is told apart where all numbers are exact.

        More than twice what the edges of all features add up to: see `Ground`.
        """
        count = len(self.mains)
        return 1 << (2 * count * (count + 2)).bit_length()

    @cached_property
    def bits(self) -> int:
        """The unit is `2^-bits`: small, but the sum of all parts leaves room within `limit`, as far as cells tell.

        Where parts go on beyond them, a region may need larger units: see `scaled`.
        """
        size = ZERO
        for ladder in self.ladders:
            known = [abs(one.infimum.value) for one in self._whole_cells(ladder) if one is not None]
            size += max([*known, *(abs(value) for value in ladder.function.labels.values())], default=ZERO)
        for _, pair in self.pairs:
            size += 4 * max((abs(value) for value in pair.constants.flat), default=ZERO)
        room = fmpq(self.limit >> _ROOM) / max(size, fmpq(1, 2**200))
        return int(room.floor()).bit_length() - 1 if room >= 1 else 1 - int((1 / room).ceil()).bit_length()

    def scaled(self, bits: int) -> Landscape:
        """Return the same in units of `2^-bits`; made once."""
        if bits == self.bits:
            return self
        if bits not in self._scaled:
            found = copy(self)
            for made in ("tables", "_rounded"):
                found.__dict__.pop(made, None)
            found.__dict__["bits"] = bits
            self._scaled[bits] = found
        return self._scaled[bits]

    @staticmethod
    def _whole_cells(ladder: Ladder) -> list[Spot | None]:
        inner = range(1, ladder.axis.numbers - 1)
        return [None if ladder.varies[cell] else ladder.whole(cell, is_integers=False) for cell in inner]

    def in_units(self, value: Rational) -> int:
        """Return the nearest whole number of units."""
        over, under = int(value.p), int(value.q)
        if self.bits >= 0:
            over <<= self.bits
        else:
            under <<= -self.bits
        return (2 * over + under) // (2 * under)

    def is_exact(self, value: Rational) -> bool:
        """Whether a number is a whole multiple of `steps` units."""
        return bool((value * fmpq(2) ** (self.bits - self.steps.bit_length() + 1)).q == 1)

    def whole_cells(self, i: int, *, is_integers: bool) -> WholeCells:
        """Return the lowest of each whole cell of a feature's numbers, in units; found once."""
        key = i, is_integers
        if key not in self._rounded:
            ladder = self.ladders[i]
            count = ladder.axis.numbers
            spots = [
                ladder.whole(cell, is_integers=is_integers)
                if 0 < cell < count - 1 and not ladder.varies[cell]
                else None
                for cell in range(count)
            ]
            values = [ZERO if spot is None else spot.infimum.value for spot in spots]
            self._rounded[key] = WholeCells(
                [self.in_units(value) for value in values],
                [self.is_exact(value) for value in values],
                [spot is not None for spot in spots],
            )
        return self._rounded[key]

    @cached_property
    def _rounded(self) -> dict[tuple[int, bool], WholeCells]:
        return {}

    @cached_property
    def tables(self) -> Tables:
        """The parts of pairs that are constant on their cells, in units."""
        parts, start, maps, map_at, fixed = [], [0], [], [], []
        position = 0
        for (_, pair), (rows, columns) in zip(self.pairs, self.cells, strict=True):
            is_table = pair.is_constant_in_cells
            fixed.append(is_table)
            table = pair.constants if is_table else pair.constants[:0]
            parts.append(np.array([self.in_units(value) for value in table.flat], dtype=np.int64))
            start.append(start[-1] + table.size)
            map_at.append((position, position + len(rows)))
            maps += [rows, columns]
            position += len(rows) + len(columns)
        tables = [pair.constants for _, pair in self.pairs if pair.is_constant_in_cells]
        is_exact = all(self.is_exact(value) for table in tables for value in table.flat)
        return Tables(
            np.array([ends for ends, _ in self.pairs], dtype=np.int64).reshape(-1, 2),
            np.array([pair.constants.shape[1] for _, pair in self.pairs], dtype=np.int64),
            np.array(start, dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *parts]),
            np.array(map_at, dtype=np.int64).reshape(-1, 2),
            np.concatenate([np.zeros(0, dtype=np.int64), *maps]).astype(np.int64),
            np.array(fixed, dtype=np.bool_),
            is_exact,
        )


class WholeCells(NamedTuple):
    """The lowest of each whole cell of a feature's numbers, in units, and whether that is exact.

    Not usable are cells without integers, cells along which a pair term varies, and those without an end.
    """

    values: list[int]
    is_exact: list[bool]
    is_usable: list[bool]


class Tables(NamedTuple):
    """The pair terms in units, one after the other: see `Landscape.tables`."""

    ends: Any  # the two features of each pair
    width: Any  # columns of each table
    start: Any  # where each table begins
    values: Any
    map_at: Any  # where the cells of each pair's two features begin in `maps`
    maps: Any  # for each cell of a feature the pair's own cell
    is_table: Any  # whether a pair is constant on its cells, so that it is here at all
    is_exact: bool  # whether every number is a whole multiple of the unit's steps


def _cells_in(axis: Axis, finer: Axis | None) -> NDArray[np.int64]:
    assert finer is not None
    return axis.cells_in(finer).astype(np.int64)


def within(cell: Interval, reach: Interval, *, is_integers: bool) -> Interval | None:
    """Return the numbers of a cell that are in an interval; of integers from the first to the last."""
    low, has_low = (cell.low, cell.has_low) if cell.low is not None else (reach.low, reach.has_low)
    if reach.low is not None and low is not None and reach.low >= low:
        low, has_low = reach.low, reach.has_low and (has_low or reach.low > low)
    high, has_high = (cell.high, cell.has_high) if cell.high is not None else (reach.high, reach.has_high)
    if reach.high is not None and high is not None and reach.high <= high:
        high, has_high = reach.high, reach.has_high and (has_high or reach.high < high)
    if is_integers:
        if low is not None:
            low = fmpq(low.ceil() + (0 if has_low or low.q != 1 else 1))
        if high is not None:
            high = fmpq(high.floor() - (0 if has_high or high.q != 1 else 1))
        has_low = has_high = True
    if low is not None and high is not None and (low > high or (low == high and not (has_low and has_high))):
        return None
    return Interval(low, has_low, high, has_high)


def _lowest(function: Pieces, inside: Interval, *, is_integers: bool) -> Infimum:
    """Return the infimum of a function over an interval whose ends need not belong to it."""
    low, has_low, high, has_high = inside
    if is_integers:
        return function.on_integers.infimum(low, high)
    if (has_low or low is None) and (has_high or high is None):
        return function.infimum(low, high)
    first = 0 if low is None else function.segment_after(low)
    last = len(function.knots) if high is None else function.segment_before(high)
    if (low is None and function.slopes[0] > 0) or (high is None and function.slopes[-1] < 0):
        return Infimum.unbounded(1 if high is None and function.slopes[-1] < 0 else -1)
    knot = function.lowest_knot(first, last)
    found = [] if knot is None else [knot]
    if low is not None:
        found.append(
            Infimum.limit(function.slopes[first] * low + function.offsets[first], low, 1, function.slopes[first])
        )
        found += [Infimum.attained(function(low), low)] if has_low else []
    if high is not None:
        found.append(
            Infimum.limit(function.slopes[last] * high + function.offsets[last], high, -1, function.slopes[last])
        )
        found += [Infimum.attained(function(high), high)] if has_high else []
    return min(found)


def _corners(function: Pieces, inside: Interval, name: str, *, is_integers: bool) -> list[Infimum]:
    """Return the places of an interval at which a function that is affine between a feature's knots can be lowest."""
    low, has_low, high, has_high = inside
    refuse_endless(name, inside)
    assert low is not None
    assert high is not None
    if is_integers:
        function = function.on_integers
    if low == high:
        return [Infimum.attained(function(low), low)]
    knots = function.knots[function.segment_after(low) : function.segment_before(high)]
    has = {low: has_low, high: has_high}
    found, closed = [Infimum.attained(function(at), at) for at in (low, *knots, high) if has.get(at, True)], set()
    for left, right in pairwise((low, *knots, high)):
        k = function.segment_after(left)
        for at, side in ((left, 1), (right, -1)):
            value = function.slopes[k] * at + function.offsets[k]
            if has.get(at, True) and function(at) == value:
                closed.add((left, right))
            else:
                found.append(Infimum(True, value, True, at, side))
        if (left, right) not in closed:
            found.append(Infimum.attained(function((left + right) / 2), (left + right) / 2))
    return found


def refuse_endless(name: str, inside: Interval) -> None:
    """Raise an error if an interval along which a pair term of a feature varies has no end."""
    if inside.low is None or inside.high is None:
        raise RadiusError(
            f"a pair term of {name!r} goes on for ever along it, and nothing bounds it there; give a finite radius, or "
            "a domain with ends"
        )
