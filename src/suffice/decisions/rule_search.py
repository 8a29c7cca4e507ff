"""The rule of few conditions that covers most rows.

In: what the cells of each feature add towards a decision, and rows as cells. Out: the best `Box` of cells, or a bound
on what any covers. A rule holds if its conditions make up for the worst that all features can do; a condition that
guarantees some gain is widest where it takes in every cell around it that gains as much, so that only such *options*
count: neighbouring ranges, and all labels. Best first: a partial rule covers no more rows than those in it that could
make up for the rest with their own largest gains. Whole numbers, rounded so that nothing is missed, bound; exact sums
decide whether a rule holds.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.numbers.exact import ZERO, Rational

_PARTS = 1 << 40  # of the largest gain: gains are counted in these, rounded up
_Rows = NDArray[np.int64]


class Option(NamedTuple):
    """Cells that a condition allows, and what each of them gains at least."""

    cells: NDArray[np.bool_]
    gain: Rational


class Found(NamedTuple):
    """An option for each feature of a rule, how many rows it covers, and a bound on what any rule does."""

    picks: tuple[tuple[int, Option], ...]
    rows: _Rows
    bound: int


def options_of(gains: Sequence[Rational], ranges: int) -> list[Option]:
    """Return the widest conditions on a feature: of its cells the first are ranges in order, the others labels."""
    found: dict[bytes, Option] = {}
    for level in sorted(set(gains)):
        on = np.array([gain >= level for gain in gains])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], on[:ranges].astype(int), [0]])))
        stretches = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)) or [(0, 0)]
        for start, end in stretches:
            cells = on.copy()
            cells[:start], cells[end:ranges] = False, False
            if cells.any():
                least = min(gain for gain, is_in in zip(gains, cells.tolist(), strict=True) if is_in)
                found.setdefault(cells.tobytes(), Option(cells, least))
    return [one for one in found.values() if not one.cells.all()]


class Finder:
    """Looks for rules among rows, given as the cell of each feature.

    Parameters
    ----------
    gains : for each feature what its cells gain over its worst
    ranges : how many cells of each are ranges
    need : what the gains must add up to
    is_strict : whether to more than that
    cells : array of int, features by rows
    """

    def __init__(
        self,
        gains: Sequence[Sequence[Rational]],
        ranges: Sequence[int],
        need: Rational,
        is_strict: bool,
        cells: NDArray[np.int64],
    ) -> None:
        self.need, self.is_strict, self.cells = need, is_strict, cells
        self.options = [options_of(one, count) for one, count in zip(gains, ranges, strict=True)]
        largest = max((gain for one in gains for gain in one), default=ZERO)
        self.scale = fmpq(_PARTS) / (largest or fmpq(1))
        self.least = int((need * self.scale).floor())
        self.whole = [[self.parts(option.gain) for option in options] for options in self.options]
        rounded = [np.array([self.parts(gain) for gain in one], dtype=np.int64) for one in gains]
        self.row_gains = np.array([one[cell] for one, cell in zip(rounded, cells, strict=True)]).reshape(cells.shape)

    def parts(self, gain: Rational) -> int:
        """Return a gain in whole parts, rounded up."""
        return int((gain * self.scale).ceil())

    def coverable(self, own: Sequence[Sequence[Rational]], conditions: int) -> NDArray[np.bool_]:
        """Return which rows any rule can cover: the largest that they gain by themselves reach the need."""
        known = [{gain: self.parts(gain) for gain in set(one)} for one in own]
        parts = np.array([[each[gain] for gain in one] for each, one in zip(known, own, strict=True)], dtype=np.int64)
        sums = _largest_sums(parts, conditions)[conditions, 0]
        found = np.asarray(sums >= self.least)
        for row in np.flatnonzero(found & (sums <= self.least + conditions + 1)).tolist():  # rounding may have done it
            found[row] = self.suffices(sum(sorted((one[row] for one in own), reverse=True)[:conditions], ZERO))
        return found

    def suffices(self, total: Rational) -> bool:
        """Whether gains make up for the worst, exactly."""
        return bool(total > self.need or (total == self.need and not self.is_strict))

    def reaches(self, picks: Sequence[tuple[int, Option]]) -> bool:
        """Whether conditions make up for the worst."""
        return self.suffices(sum((option.gain for _, option in picks), ZERO))

    def best(self, among: _Rows, conditions: int, through: int | None, deadline: float) -> Found | None:
        """Return the rule that covers most of some rows, through one of them if asked; None if there is none."""
        top = _largest_sums(self.row_gains, conditions)
        chain = [
            [k for k, one in enumerate(options) if through is None or one.cells[self.cells[i, through]]]
            for i, options in enumerate(self.options)
        ]
        # A node: features chosen so far, the rows of the one before it, and whether they were looked at yet.
        heap: list[tuple[int, int, tuple[tuple[int, int], ...], _Rows, bool]] = [(-len(among), 0, (), among, False)]
        best: Found | None = None
        count = 0
        while heap:
            bound, _, chosen, rows, is_looked_at = heapq.heappop(heap)
            if best is not None and -bound <= len(best.rows):
                return best._replace(bound=len(best.rows))
            picks = [(i, self.options[i][k]) for i, k in chosen]
            if not is_looked_at:
                rows = rows if not chosen else rows[picks[-1][1].cells[self.cells[picks[-1][0], rows]]]
                if self.reaches(picks):
                    if len(rows) and (best is None or len(rows) > len(best.rows)):
                        best = Found(tuple(picks), rows, len(among))
                    continue
                have, after = sum(self.whole[i][k] for i, k in chosen), chosen[-1][0] + 1 if chosen else 0
                rows = rows[have + top[conditions - len(chosen), after, rows] >= self.least]
                if len(rows):
                    count += 1
                    heapq.heappush(heap, (-len(rows), count, chosen, rows, True))
                continue
            if time.monotonic() > deadline:
                return Found((), among[:0], -bound) if best is None else best._replace(bound=-bound)
            if len(chosen) == conditions:
                continue
            for i in range(chosen[-1][0] + 1 if chosen else 0, len(self.options)):
                for k, size in self._children(i, chain[i], rows):
                    count += 1
                    heapq.heappush(heap, (-size, count, (*chosen, (i, k)), rows, False))
        return best if best is None else best._replace(bound=len(best.rows))

    def _children(self, i: int, usable: Sequence[int], rows: _Rows) -> list[tuple[int, int]]:
        """Return options and how many rows each leaves; of those that leave the same, the one that gains most."""
        if not usable:
            return []
        options = self.options[i]
        here = np.bincount(self.cells[i, rows], minlength=len(options[0].cells))
        seen: dict[bytes, int] = {}
        for k in usable:
            key = options[k].cells[here > 0].tobytes()
            if key not in seen or options[k].gain > options[seen[key]].gain:
                seen[key] = k
        return [(k, size) for k in seen.values() if (size := int(here[options[k].cells].sum()))]

    def widened(self, picks: Sequence[tuple[int, Option]], through: int | None) -> tuple[tuple[int, Option], ...]:
        """Return a rule with each condition, one after the other, as wide as the others leave room for."""
        found = list(picks)
        for place, (i, old) in enumerate(picks):
            wider = [
                one
                for one in self.options[i]
                if (one.cells | old.cells).tobytes() == one.cells.tobytes()
                and (through is None or one.cells[self.cells[i, through]])
            ]
            for one in sorted(wider, key=lambda one: (-int(one.cells.sum()), one.gain)):
                if self.reaches([*found[:place], (i, one), *found[place + 1 :]]):
                    found[place] = (i, one)
                    break
        return tuple(found)


def _largest_sums(gains: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the sum of the so many largest gains of each row (last index) among features from one on (second)."""
    features, rows = gains.shape
    found = np.zeros((most + 1, features + 1, rows), dtype=np.int64)
    for i in range(features - 1, -1, -1):
        for count in range(1, most + 1):
            found[count, i] = np.maximum(found[count, i + 1], found[count - 1, i + 1] + gains[i])
    return found
