"""Where a smooth function is lowest: the line in cells on which it is monotone, or turns once.

In: the function and its Taylor coefficients over any cell, in balls. Out: its infimum over an interval, enclosed as
closely as one likes.
Guaranteed: by flint's ball arithmetic. A cell is known to *rise* or to *fall* by the sign of the derivative all over
it, to be a *valley* (convex, with its lowest place enclosed) or a *hill* (concave) by that of the second one. A cell of
which none is known is cut in two; one that hardly varies, or is very short, stays in *doubt*, with a bound of its
values from below. So over an interval the function is lowest at an end, between a cell that falls and one that rises,
in a valley or in doubt. NaN means that nothing is known.

Cells are those of a grid of powers of two and of the function's corners, so that rows share what is known of them.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from flint import arb, fmpq, fmpz

from suffice.numbers.enclosure import Enclosure, of_ball, working
from suffice.numbers.exact import ZERO, Rational
from suffice.shapes.chains import Chains
from suffice.shapes.jets import Jet

GUARD_BITS = 32
_CELLS_AT_FIRST = 8  # that an interval is cut into before anything is known of it
_DEEPEST = 20  # how often a cell is halved before it is left in doubt, until it matters
_ROUNDING = 4  # times what the value in the middle of a cell is off by: one that varies no more is left in doubt
_MOST_CELLS = 4_000  # looked at for one infimum; what is beyond stays in doubt

ValueAt = Callable[[Rational, int, int], Enclosure | None]


class Lowpoint(NamedTuple):
    """What is known of an infimum: a bound from below, and a place whose value is hardly above it."""

    low: Rational | None  # None where no bound is known
    high: Rational  # the value at `at` is not above
    at: Rational

    @classmethod
    def of(cls, value: Enclosure, at: Rational) -> Lowpoint:
        """Return what a value at a place is."""
        return cls(value.low, value.high, at)

    def or_lower(self, other: Lowpoint) -> Lowpoint:
        """Return what is known of the lower of two infima."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        return (self if self.high <= other.high else other)._replace(low=low)


class Kind(Enum):
    """What is known of a cell."""

    RISES = "rises"
    FALLS = "falls"
    VALLEY = "valley"  # convex, and lowest somewhere in the closed cell
    HILL = "hill"  # concave
    DOUBT = "doubt"

    @property
    def may_rise_first(self) -> bool:
        """Whether it may rise from its left end, which its own lowest point does not tell."""
        return self in (Kind.RISES, Kind.HILL)

    @property
    def may_fall_last(self) -> bool:
        """Whether it may fall towards its right end, which its own lowest point does not tell."""
        return self in (Kind.FALLS, Kind.HILL)


@dataclass(eq=False, slots=True)
class Cell:
    """An interval, and what is known of the function on it; or its two halves."""

    low: Rational
    high: Rational
    depth: int = 0  # how often it was halved
    kind: Kind | None = None
    bits: int = 0  # that were computed with
    bottom: Rational | None = None  # no value is below; None where nothing is known
    spread: Rational | None = None  # how far values may be apart
    is_hopeless: bool = False  # whether halving does not tell more: what is left is rounding
    place: tuple[Rational, Rational] | None = None  # of a valley: between them it is lowest
    deepest: Lowpoint | None = None  # of a valley
    halves: tuple[Cell, ...] = ()

    @property
    def middle(self) -> Rational:
        """Its middle."""
        return (self.low + self.high) / 2


class Monotone:
    """A function, cell by cell.

    Parameters
    ----------
    function : Chains
    value : callable
        Returns its value, for a place, a number of bits and a side (0: at the place; -1 or 1: the limit); None where
        nothing is known.
    """

    def __init__(self, function: Chains, value: ValueAt) -> None:
        self.function, self.value = function, value
        self.looked = 0  # how many cells were looked at
        self._until = _MOST_CELLS
        self._roots: dict[int, dict[int, Cell]] = {}
        self._lock = threading.RLock()

    # --- cells --------------------------------------------------------------------------------------------------------

    def cells(self, low: Rational, high: Rational, bits: int) -> list[Cell]:
        """Return cells that cover an interval with an inside, from left to right, with what is known of each."""
        step = (high - low) / _CELLS_AT_FIRST
        level = int(step.p).bit_length() - int(step.q).bit_length()
        width, found = fmpq(2) ** level, list[Cell]()
        with self._lock:
            roots = self._roots.setdefault(level, {})
            for j in range(int((low / width).floor()), int((high / width).ceil())):
                root = roots.setdefault(j, Cell(width * j, width * (j + 1)))
                found += self._below(root, low, high, bits)
        return found

    def _below(self, root: Cell, low: Rational, high: Rational, bits: int) -> Iterator[Cell]:
        stack = [root]
        while stack:
            cell = stack.pop()
            if cell.high <= low or cell.low >= high:
                continue
            if cell.kind is None and not cell.halves:
                self._look(cell, bits, _DEEPEST)
            if cell.halves:
                stack += reversed(cell.halves)
            else:
                yield cell

    def _look(self, cell: Cell, bits: int, deepest: int) -> None:
        """Find out what a cell is, or cut it: at a corner, or in halves."""
        places = self.function.places
        start, stop = bisect_right(places, cell.low), bisect_left(places, cell.high)
        if start < stop:
            cut = places[(start + stop) // 2]
            cell.halves = Cell(cell.low, cut, cell.depth), Cell(cut, cell.high, cell.depth)
            return
        trend = self.function.trend(cell.low, cell.high)
        if trend:
            cell.kind = Kind.RISES if trend > 0 else Kind.FALLS
            return
        self.looked += 1
        with working(bits + GUARD_BITS):
            self.read(cell, self.function.jet(cell.low, cell.high), bits)
        if cell.kind is None and (cell.depth >= deepest or self.looked > self._until):
            cell.kind = Kind.DOUBT
        if cell.kind is None:
            self._halve(cell)

    @staticmethod
    def _halve(cell: Cell) -> None:
        cell.halves = Cell(cell.low, cell.middle, cell.depth + 1), Cell(cell.middle, cell.high, cell.depth + 1)

    @staticmethod
    def read(cell: Cell, jet: Jet, bits: int) -> None:
        """Note what the coefficients over a cell say of it."""
        value, slope, bend = jet.cell[:3]
        cell.bits, bounds = bits, of_ball(value)
        if bounds is not None:
            cell.bottom, cell.spread = bounds.low, bounds.width
        if slope >= 0 or slope <= 0:
            cell.kind = Kind.RISES if slope >= 0 else Kind.FALLS
        elif bend > 0 or bend < 0:
            # Where the slope is 0, Newton's step from the middle leads to, with some bend of the cell.
            zero, is_convex = of_ball(arb(cell.middle) - jet.middle[1] / (2 * bend)), bool(bend > 0)
            if zero is not None and (zero.high < cell.low or zero.low > cell.high):
                cell.kind = Kind.RISES if is_convex == (zero.high < cell.low) else Kind.FALLS
            elif zero is not None:
                cell.kind = Kind.VALLEY if is_convex else Kind.HILL
                cell.place = max(zero.low, cell.low), min(zero.high, cell.high)
        elif cell.spread is not None and cell.spread <= max(_unit(bits), _rounding(jet)):
            cell.kind, cell.is_hopeless = Kind.DOUBT, True

    def _look_closer(self, cell: Cell, bits: int) -> None:
        """Look at a cell in doubt with more bits, or at its halves."""
        with self._lock:
            cell.kind = None
            if cell.bits < bits:
                self._look(cell, bits, max(cell.depth, _DEEPEST))
                return
            self._halve(cell)
            for half in cell.halves:
                self._look(half, bits, half.depth)
                is_better = half.spread is not None and (cell.spread is None or 4 * half.spread <= 3 * cell.spread)
                half.is_hopeless = half.spread is not None and not is_better

    # --- where it is lowest -------------------------------------------------------------------------------------------

    def has_values(self, low: Rational, high: Rational, bits: int) -> bool:
        """Whether the function has a value at both ends of an interval, and beside each corner inside."""
        # Of a cell whose trend follows from its formulas nothing is computed. Between corners these are monotone, and
        # each has values on an interval; so where all of them do is an interval too, and its ends tell of it all.
        if not self.function.is_partial:
            return True
        inside = (place for place in self.function.places if low < place < high)
        ends = ((at, side) for pair in pairwise([low, *inside, high]) for at, side in zip(pair, (1, -1), strict=True))
        sides = ((at, 0 if self.function.is_continuous(at) else side) for at, side in ends)
        return all(any(self._at(at, bits, (side,), (high - low) / 2)) for at, side in sides)

    def lowpoint(self, low: Rational, high: Rational, bits: int) -> Lowpoint | None:
        """Return the infimum over a closed interval with an inside, to about `2^-bits`; None where nothing is known."""
        self._until = self.looked + _MOST_CELLS
        while True:
            cells = self.cells(low, high, bits)
            best = self._at_ends(cells, low, high, bits)
            doubtful = []
            for cell in sorted((one for one in cells if one.kind in (Kind.VALLEY, Kind.DOUBT)), key=_by_bottom):
                if best is not None and cell.bottom is not None and cell.bottom > best.high:
                    break
                part = max(cell.low, low), min(cell.high, high)
                found = (
                    self._in_valley(cell, *part, bits)
                    if cell.kind is Kind.VALLEY
                    else self._in_doubt(cell, *part, bits)
                )
                if cell.kind is Kind.DOUBT:
                    doubtful.append(cell)
                if found is not None:
                    best = found if best is None else best.or_lower(found)
            unsure = [cell for cell in doubtful if self._matters(cell, best, bits)]
            if not unsure:
                is_unknown = best is not None and any(cell.bottom is None for cell in doubtful)
                return best._replace(low=None) if best is not None and is_unknown else best
            for cell in unsure:
                self._look_closer(cell, bits)

    def _matters(self, cell: Cell, best: Lowpoint | None, bits: int) -> bool:
        """Whether a cell in doubt keeps the infimum from being known, and may be known better."""
        if cell.is_hopeless and cell.bits >= bits:
            return False
        if cell.depth >= _DEEPEST + bits or self.looked > self._until:
            return False
        return best is None or cell.bottom is None or best.high - cell.bottom > _unit(bits)

    def _at_ends(self, cells: Sequence[Cell], low: Rational, high: Rational, bits: int) -> Lowpoint | None:
        """Return what is lowest at ends: those of the interval, corners where it jumps, and between fall and rise."""
        is_continuous = self.function.is_continuous
        room = (high - low) / 2
        found: list[Lowpoint] = []
        if _kind(cells[0]).may_rise_first or not is_continuous(low):
            found += self._at(low, bits, (0, 1), room)
        if _kind(cells[-1]).may_fall_last or not is_continuous(high):
            found += self._at(high, bits, (0, -1), room)
        for left, right in pairwise(cells):
            if not is_continuous(left.high):
                found += self._at(left.high, bits, (0, -1, 1), room)
            elif _kind(left).may_fall_last and _kind(right).may_rise_first:
                found += self._at(left.high, bits, (0,), room)
        return _lowest(found)

    def _at(self, at: Rational, bits: int, sides: Iterable[int], room: Rational) -> Iterator[Lowpoint]:
        """Yield the value at a place, and the limits there from some sides where the function jumps."""
        for side in sides:
            if side and self.function.is_continuous(at):
                continue
            limit = self.value(at, bits, side)
            place = at + side * min(_unit(bits), self.function.distance_beside(at), room) if side else at
            near = self.value(place, bits, 0) if side else limit
            if near is not None:
                yield Lowpoint(None if limit is None else limit.low, near.high, place)

    def _in_doubt(self, cell: Cell, start: Rational, end: Rational, bits: int) -> Lowpoint | None:
        middle = (start + end) / 2
        value = self.value(middle, bits, 0)
        return None if value is None else Lowpoint(cell.bottom, value.high, middle)

    def _in_valley(self, cell: Cell, start: Rational, end: Rational, bits: int) -> Lowpoint | None:
        """Return the infimum over the part of a valley from `start` to `end`."""
        assert cell.place is not None
        if cell.place[0] < end and start < cell.place[1]:  # the lowest place may be inside
            best = self.deepest(cell, bits)
        left, right = cell.place
        if start >= right or end <= left:  # beyond the lowest place it rises, before it falls
            at, side = (start, 1) if start >= right else (end, -1)
            is_jump = not self.function.is_continuous(at)
            return _lowest(self._at(at, bits, (side if is_jump else 0,), (end - start) / 2))
        if start <= best.at <= end and self.function.is_continuous(best.at):
            return best
        at = max(start, min(best.at, end))
        if not self.function.is_continuous(at):
            at = (start + end) / 2
        value = self.value(at, bits, 0)
        return None if value is None else Lowpoint(best.low, value.high, at)

    def deepest(self, cell: Cell, bits: int) -> Lowpoint:
        """Return the lowest value of a valley, found by Newton's method and kept."""
        assert cell.place is not None
        if cell.deepest is not None and cell.bits >= bits:
            return cell.deepest
        with self._lock, working(bits + GUARD_BITS):
            while True:
                low, high = cell.place
                middle, width = (low + high) / 2, high - low
                jet = self.function.jet(low, high)
                value, slope = of_ball(jet.middle[0]), of_ball(jet.middle[1])
                assert value is not None
                assert slope is not None
                # A convex function is nowhere below its tangents, and lowest within half the width of the middle.
                depth = max(abs(slope.low), abs(slope.high)) * width / 2
                found = Lowpoint(value.low - depth, value.high, middle)
                if cell.deepest is None or found.high < cell.deepest.high or width == 0:
                    cell.deepest = found
                elif cell.deepest.low is not None:
                    cell.deepest = cell.deepest._replace(low=max(cell.deepest.low, value.low - depth))
                zero = of_ball(arb(middle) - jet.middle[1] / (2 * jet.cell[2])) if jet.cell[2] > 0 else None
                if depth <= _unit(bits) or zero is None:
                    break
                cell.place = max(low, zero.low), min(high, zero.high)
                if cell.place[0] > cell.place[1]:  # the slope is 0 beyond the cell, which is lowest at that end
                    cell.place = (cell.low, cell.low) if zero.high < low else (cell.high, cell.high)
                    cell.deepest = None
                elif 2 * (cell.place[1] - cell.place[0]) > width:
                    break
            cell.bits = max(cell.bits, bits)
        return cell.deepest

    # --- integers -----------------------------------------------------------------------------------------------------

    def lowest_integer(self, low: Rational, high: Rational, bits: int) -> Lowpoint | None:
        """Return the infimum over the integers between two different ones, both included."""
        self._until = self.looked + _MOST_CELLS
        candidates, bottoms = {low, high}, list[Rational | None]()
        for cell in self.cells(low, high, bits):
            start, end = max(cell.low, low), min(cell.high, high)
            bottom = cell.bottom
            if cell.kind is Kind.VALLEY:
                bottom = self.deepest(cell, bits).low
                assert cell.place is not None
                start, end = max(start, cell.place[0]), min(end, cell.place[1])
            candidates |= {fmpq(near) for one in (start, end) for near in (one.floor(), one.ceil())}
            if cell.kind in (Kind.VALLEY, Kind.DOUBT) and end.floor() - start.ceil() > 1:
                bottoms.append(bottom)
        inside = (at for at in sorted(candidates) if low <= at <= high)
        best = _lowest(one for at in inside for one in self._at(at, bits, (0,), ZERO))
        if best is None or not bottoms:
            return best
        known = [one for one in (best.low, *bottoms) if one is not None]
        return best._replace(low=min(known) if len(known) == len(bottoms) + 1 else None)


def _unit(bits: int) -> Rational:
    return fmpq(1, fmpz(1) << bits)


def _rounding(jet: Jet) -> Rational:
    """Return how far apart values may be found though they are equal."""
    return _ROUNDING * fmpq(*float(jet.middle[0].rad()).as_integer_ratio())


def _kind(cell: Cell) -> Kind:
    assert cell.kind is not None
    return cell.kind


def _lowest(found: Iterable[Lowpoint]) -> Lowpoint | None:
    best: Lowpoint | None = None
    for one in found:
        best = one if best is None else best.or_lower(one)
    return best


def _by_bottom(cell: Cell) -> tuple[bool, Rational]:
    return cell.bottom is not None, ZERO if cell.bottom is None else cell.bottom
