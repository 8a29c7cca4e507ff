"""Which lines a card should have: cells put together so that little is left open, and lines shared out among features.

In: the cells of each feature. Out: for each feature its lines. What is made small is what the lines leave open of a
row's score, added up over the rows of a table: neighbouring ranges are put together by dynamic programming, labels in
the order of what they add, and the lines are shared out among features by another. Both are exact for that aim, in
floats, which decide nothing but which lines there are; what lines are worth is worked out exactly afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.decisions.cells import Cell, together
from suffice.numbers.exact import nearest_float

_MOST_LINES = 24  # of one feature


class Cut(NamedTuple):
    """Lines of a feature, and what they leave open."""

    lines: tuple[Cell, ...]
    left_open: float


def cuts_of(ranges: Sequence[Cell], labels: Sequence[Cell]) -> list[Cut]:
    """Return the best lines of a feature for each number of them, from none on."""
    every = [*ranges, *labels]
    whole = together(every)
    found = [Cut((), _width(whole) * max(1, whole.rows))]
    first, second = _segments(ranges), _segments(labels)
    best: dict[int, Cut] = {}
    for one in first or [Cut((), 0.0)]:
        for other in second or [Cut((), 0.0)]:
            count, left_open = len(one.lines) + len(other.lines), one.left_open + other.left_open
            if count <= _MOST_LINES and (count not in best or left_open < best[count].left_open):
                best[count] = Cut(one.lines + other.lines, left_open)
    return found + [best[count] for count in sorted(best) if count > 1]


def shared_out(cuts: Sequence[Sequence[Cut]], lines: int) -> list[Cut]:
    """Return a cut for each feature, with so many lines together at most, that leave least open."""
    best = np.zeros(lines + 1)
    picks: list[NDArray[np.int64]] = []
    for options in cuts:
        costs = np.full((len(options), lines + 1), np.inf)
        for k, cut in enumerate(options):
            if len(cut.lines) <= lines:
                costs[k, len(cut.lines) :] = best[: lines + 1 - len(cut.lines)] + cut.left_open
        picks.append(costs.argmin(axis=0))
        best = costs.min(axis=0)
    found, left = [], lines
    for options, pick in zip(reversed(cuts), reversed(picks), strict=True):
        found.append(options[int(pick[left])])
        left -= len(found[-1].lines)
    return found[::-1]


def _segments(cells: Sequence[Cell]) -> list[Cut]:
    """Return the best way to put neighbours together, for each number of lines."""
    count = len(cells)
    if not count:
        return []
    low, high = np.array([(nearest_float(cell.least), nearest_float(cell.most)) for cell in cells]).T
    rows = np.concatenate([[0], np.cumsum([cell.rows for cell in cells])])
    # left_open[a, b]: of the line from cell a to cell b
    left_open = np.full((count, count), np.inf)
    for a in range(count):
        width = np.maximum.accumulate(high[a:]) - np.minimum.accumulate(low[a:])
        left_open[a, a:] = width * np.maximum(rows[a + 1 :] - rows[a], 1e-3)
    best, starts = [left_open[0]], [np.zeros(count, dtype=np.int64)]
    for _ in range(1, min(count, _MOST_LINES)):
        # A line from a to b after the best lines up to a - 1.
        costs = np.full((count, count), np.inf)
        costs[1:] = best[-1][:-1, None] + left_open[1:]
        best.append(costs.min(axis=0))
        starts.append(costs.argmin(axis=0))
    found = []
    for lines in range(len(best)):
        ends, end = list[Cell](), count - 1
        for place in range(lines, -1, -1):
            start = int(starts[place][end])
            ends.append(together(cells[start : end + 1]))
            end = start - 1
        if end == -1:  # as many lines as that, and no fewer
            found.append(Cut(tuple(ends[::-1]), float(best[lines][count - 1])))
    return found


def _width(cell: Cell) -> float:
    return nearest_float(cell.most) - nearest_float(cell.least)
