"""The compiled loops that look cells up, a column at a time: which entry of the tables, what value, what drop.

In: `Tables`, a column of cells. Out: the entries, sums of values, drops; each with the error that its entry states.
Loops that do one thing are shared out among the lanes of a processor; indices are unsigned, for a signed one is first
compared with 0, in case that it counts from the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.batch.lookup import Tables
from suffice.numbers.compiling import compiled, inlined


@compiled
def locate(tables: Tables, i: int, column: Any, vague: Any, entry: Any) -> None:
    """Write the entry of each cell of a column; a vague cell stands for any number that rounds to it."""
    breaks = tables.breaks[tables.first_break[i] : tables.first_break[i + 1]]
    grid = tables.grid[tables.first_cell[i] : tables.first_cell[i + 1]]
    grid_low, rate, last_cell = tables.grid_low[i], tables.grid_rate[i], float(len(grid) - 2)
    first = 2 * tables.first_break[i] - i  # a feature has one entry less than twice its breaks, the last of them NaN
    if tables.is_integral[i] or tables.missing[i] < np.inf:
        column = read_cells(column, tables.missing[i], tables.is_integral[i])
    for r in range(len(column)):
        place = (column[r] - grid_low) * rate
        # A missing cell that has no place of its own is NaN here: it gets the first entry of all, which is NaN too.
        place = place if place > 0.0 else 0.0
        place = place if place < last_cell else last_cell
        entry[r] = np.int32(place)
    for r in range(len(column)):
        # In most cells of the grid a number is past one break or none. The break after all others is NaN: none is past
        # that.
        x, cell = column[r], np.uint32(entry[r])
        k = np.uint32(grid[cell])
        k += np.uint32(breaks[k] < x)
        if breaks[k] < x:
            k = np.uint32(search(breaks, x, k, np.uint32(grid[cell + np.uint32(1)])))
        entry[r] = first + 2 * np.int64(k) + (breaks[k] == x)
    for r in range(len(vague)):
        # Of a vague cell at a break it is not sure on which side of it the number lies: the first entry is NaN.
        if vague[r] and (entry[r] - first) % 2 == 1:
            entry[r] = first


@compiled
def read_cells(column: Any, missing: float, is_integral: bool) -> Any:
    """Return cells with missing ones at their place, and with infinity for what is no integer where one must be."""
    read = np.empty(len(column))
    for r in range(len(column)):
        x = missing if np.isnan(column[r]) else column[r]
        read[r] = np.inf if is_integral and x != np.floor(x) else x
    return read


@inlined
def search(breaks: Any, x: float, low: Any, high: Any) -> Any:
    """Return the first break from `low` on that is not below a number, `high` if there is none before that."""
    while low < high:
        middle = (low + high) >> np.uint32(1)
        if breaks[middle] < x:
            low = middle + np.uint32(1)
        else:
            high = middle
    return low


@inlined
def column_of(vague: Any, i: int) -> Any:
    """Return the marks of a column, none if there are no marks at all."""
    return vague[i] if len(vague) > 0 else vague.reshape(-1)


@compiled
def add_values(entries: Any, column: Any, entry: Any, which: int, sums: Any, off: Any) -> None:
    """Add the values of a column of cells, as a column of the tables gives them, and their errors."""
    c = np.uint32(which)
    for r in range(len(column)):
        at, x = np.uint32(entry[r]), column[r]
        away = x - entries[at, c, 0] if x == x else 0.0  # a missing cell lies on its anchor
        sums[r] += entries[at, c, 1] + entries[at, c, 2] * away
        off[r] += entries[at, c, 3]


@compiled
def write_drops(entries: Any, column: Any, entry: Any, side: Any, drops: Any, bounds: Any) -> None:
    """Write the drops of a column of cells, each for the side its row is on, and their errors."""
    for r in range(len(column)):
        at, c, x = np.uint32(entry[r]), np.uint32(1 + max(side[r], 0)), column[r]
        away = x - entries[at, c, 0] if x == x else 0.0
        drop = entries[at, c, 1] + entries[at, c, 2] * away
        drops[r] = 0.0 if drop < 0.0 else drop  # below 0 by rounding alone: no drop is
        bounds[r] = entries[at, c, 3]
