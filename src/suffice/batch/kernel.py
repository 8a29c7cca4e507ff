"""The compiled loops: look every cell up, add up, sort as far as needed, cut. Float64 with error bounds throughout.

In: `Tables` and cells. Out: for each row its margin, and what to keep; a size of -1 where the error bounds leave
anything open. Every test below is written so that a NaN leaves the row open, and no row is settled unless its claim
surely holds at the row itself (`holds`): every other test takes that for granted.
Guaranteed: a row that is not left open has exactly the fixed features, in the order, of `smallest_sufficient`.
Rows do not touch each other, so results do not depend on how rows are shared out among threads.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from suffice.batch.lookup import ROUNDING, WIDER, Tables
from suffice.errors import DataError
from suffice.numbers.compiling import compiled, has_compiler, inlined

if not has_compiler():  # pragma: no cover - the extra is installed wherever tests run
    raise DataError("explaining many rows needs numba: pip install 'suffice[batch]'")

OPEN = -1  # size of a row that is left to exact arithmetic
REFUSED = -2  # and of one at which features that are free in any case surely break the claim
MOST = 2.0**1000  # a margin from here up is left open: near the largest float, sums overflow


class Sides(NamedTuple):
    """The one-part claims that rows can fall under: margin `sign · Σ values + constant`, drops in some column."""

    signs: Any
    constants: Any
    errors: Any  # of the constants, with their share in the rounding of the sum


class Slack(NamedTuple):
    """What is added to the margins of rows before they are decided, and how far off that may be."""

    shift: Any = 0.0
    doubt: Any = 0.0

    def on(self, margins: Any, errors: Any) -> tuple[Any, Any]:
        """Return margins and their errors with it."""
        if self is NO_SLACK:
            return margins, errors
        rounding = 2 * ROUNDING * (np.abs(margins) + np.abs(self.shift))
        return margins + self.shift, (errors + self.doubt + rounding) * WIDER


NO_SLACK = Slack()


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
        x = column[r]
        # A missing cell that has no place of its own is NaN here: it gets the first entry of all, which is NaN too.
        place = (x - grid_low) * rate
        place = place if place > 0.0 else 0.0
        place = place if place < last_cell else last_cell
        cell = int(place)
        # Most cells of the grid hold a break or two: two steps that do nothing where there is none to take are faster
        # than asking. The break after all others is NaN, so no step is taken past it.
        k = np.int64(grid[cell])
        k += breaks[k] < x
        k += breaks[k] < x
        if breaks[k] < x:
            k = search(breaks, x, k + 1, np.int64(grid[cell + 1]))
        entry[r] = first + 2 * k + (breaks[k] == x)
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
        middle = (low + high) >> 1
        if breaks[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def column_of(vague: Any, i: int) -> Any:
    """Return the marks of a column, none if there are no marks at all."""
    return vague[i] if len(vague) > 0 else vague.reshape(-1)


def decide_one(tables: Tables, sides: Sides, cells: Any, vague: Any, slack: Slack) -> Any:
    """Answer rows whose claim has one part; columns of the tables: the value, then the drop for each side.

    Rows are decided with the slack added to their margins; the margins returned are without it.
    Returns the sums of the values and their errors, sizes, margins and their errors, and what all rows fix.
    """
    scratch = scratch_of(*cells.shape)
    sums, off, margins, errors = measure(tables, sides, cells, vague, *scratch[:-1])
    _, drops, bounds, keys = scratch
    sizes, fixed = decide_rows(drops, bounds, *slack.on(margins, errors), keys)
    return sums, off, sizes, margins, errors, fixed


@compiled
def decide_single(tables: Tables, sides: Sides, cells: Any, vague: Any, charge: float) -> Any:
    """Answer one row whose claim has one part: the sum of its values, its error, the size, and what is fixed."""
    features = len(cells)
    entry, keys = np.empty((features, 1), np.int32), np.empty((1, features), np.int64)
    drops, bounds = np.empty((1, features)), np.empty((1, features))
    sums, off, margins, errors = measure(tables, sides, cells, vague, entry, drops, bounds)
    order_keys(drops, keys)
    keys[0].sort()
    sizes, fixed = cut_rows(keys, drops, bounds, margins, errors + charge)
    return sums[0], off[0], sizes[0], fixed


_LOCAL = threading.local()


def scratch_of(features: int, rows: int, items: int = 0) -> tuple[Any, ...]:
    """Return arrays for entries, drops, errors and keys of a chunk, the same memory at each call from a thread.

    For items there are four more: two of floats, two of integers. Fresh memory would be cleared by the system first,
    which takes as long as all look-ups.
    """
    size, more = rows * features, rows * items
    kept = getattr(_LOCAL, "kept", None)
    if kept is None or len(kept) < 4 * size + 4 * more:
        kept = _LOCAL.kept = np.empty(4 * size + 4 * more)
    drops, bounds, keys, entry = (kept[k * size : (k + 1) * size] for k in range(4))
    entry = entry.view(np.int32)[:size].reshape(features, rows)
    by_row = drops.reshape(rows, features), bounds.reshape(rows, features), keys.view(np.int64).reshape(rows, features)
    if not items:
        return entry, *by_row
    low, high, first, second = (kept[4 * size + k * more : 4 * size + (k + 1) * more] for k in range(4))
    shape = rows, items
    others = low.reshape(shape), high.reshape(shape), first.view(np.int64).reshape(shape)
    return entry, *by_row, *others, second.view(np.int64).reshape(shape)


@compiled
def measure(tables: Tables, sides: Sides, cells: Any, vague: Any, entry: Any, drops: Any, bounds: Any) -> Any:
    """Write drops and their errors; return sums and their errors, margins and their errors (NaN if no side is sure)."""
    features, rows = cells.shape
    sums, off = np.zeros(rows), np.zeros(rows)
    margins, errors = np.full(rows, np.nan), np.full(rows, np.nan)
    side = np.empty(rows, np.int64)
    for i in range(features):
        locate(tables, i, cells[i], column_of(vague, i), entry[i])
        add_values(tables.entries, cells[i], entry[i], 1, sums, off)
    choose_side(sides, sums, off, side, margins, errors)
    for i in range(features):
        write_drops(tables.entries, cells[i], entry[i], side, drops[:, i], bounds[:, i])
    return sums, off, margins, errors


def decide_rows(drops: Any, bounds: Any, margins: Any, errors: Any, keys: Any) -> Any:
    """Return sizes, and the fixed features of all rows; rows are the first index of drops."""
    order_keys(drops, keys)
    keys.sort(axis=1)  # NumPy sorts short rows of integers several at a time, far faster than a compiled loop
    return cut_rows(keys, drops, bounds, margins, errors)


@compiled
def order_keys(drops: Any, keys: Any) -> None:
    """Write integers that order features by their drops, and tell the feature in their last bits.

    Floats that are not negative are ordered as their bits are. The last bits give way to the feature, the later first
    among equal drops; so drops that differ in those bits alone may be out of order, which leaves the row open.
    """
    rows, features = drops.shape
    mask = np.int64(1)
    while mask < features:
        mask *= 2
    for r in range(rows):
        for i in range(features):
            if drops[r, i] < 0.0:  # by rounding alone: no drop is
                drops[r, i] = 0.0
    bits = drops.view(np.int64)
    for r in range(rows):
        for i in range(features):
            keys[r, i] = (bits[r, i] & -mask) | (features - 1 - i)


@compiled
def add_values(entries: Any, column: Any, entry: Any, start: int, sums: Any, off: Any) -> None:
    """Add the values of a column of cells, as the columns of the tables from `start` give them, and their errors."""
    for r in range(len(column)):
        at, x = entry[r], column[r]
        away = x - entries[at, 0] if x == x else 0.0  # a missing cell lies on its anchor
        sums[r] += entries[at, start] + entries[at, start + 1] * away
        off[r] += entries[at, start + 2]


@compiled
def choose_side(sides: Sides, sums: Any, off: Any, side: Any, margins: Any, errors: Any) -> None:
    """Write the side that each row surely is on, -1 if on none, and its margin there."""
    for r in range(len(sums)):
        side[r] = -1
        for s in range(len(sides.signs)):
            margin = sides.signs[s] * sums[r] + sides.constants[s]
            error = (off[r] + sides.errors[s]) * WIDER
            if holds(margin, error):
                side[r], margins[r], errors[r] = s, margin, error


@compiled
def write_drops(entries: Any, column: Any, entry: Any, side: Any, drops: Any, bounds: Any) -> None:
    """Write the drops of a column of cells, each for the side its row is on, and their errors."""
    for r in range(len(column)):
        at, x = entry[r], column[r]
        start = 4 + 3 * max(side[r], 0)
        away = x - entries[at, 0] if x == x else 0.0
        drops[r] = entries[at, start] + entries[at, start + 1] * away
        bounds[r] = entries[at, start + 2]


@compiled
def cut_rows(keys: Any, drops: Any, bounds: Any, margins: Any, errors: Any) -> Any:
    """Return how many features each row fixes, and which: all that do not fit, largest drop first.

    A row is left open unless the bounds prove that the smallest drops fit, that one more would not, and that the order
    of those fixed is right.
    """
    rows, features = drops.shape
    sizes = np.full(rows, OPEN, np.int32)
    fixed = np.empty(rows * features, np.int32)
    mask = np.int64(1)
    while mask < features:
        mask *= 2
    used = 0
    for r in range(rows):
        margin, error = margins[r], errors[r]
        if not holds(margin, error):
            continue
        total, doubt, freed = 0.0, 0.0, 0
        highest, earliest = -np.inf, features  # the most that a freed drop can be, and the first feature of those
        while freed < features:
            i = features - 1 - (keys[r, freed] & (mask - 1))
            if not total + drops[r, i] <= margin:
                break
            total += drops[r, i]
            doubt += bounds[r, i]
            most = drops[r, i] + bounds[r, i]
            earliest = i if most > highest else min(i, earliest) if most == highest else earliest
            highest = max(most, highest)
            freed += 1
        if not fits(total, doubt, margin, error, features):
            continue
        size = features - freed
        is_sure = True
        for place in range(size):
            i = features - 1 - (keys[r, features - 1 - place] & (mask - 1))
            fixed[used + place] = i
            if place > 0:
                j = fixed[used + place - 1]
                is_sure &= is_before(drops[r, j], bounds[r, j], j, drops[r, i], bounds[r, i], i)
        if size > 0:
            i = fixed[used + size - 1]
            is_sure &= exceeds(total + drops[r, i], doubt + bounds[r, i], margin, error, features)
            is_sure &= is_before(drops[r, i], bounds[r, i], i, highest, doubt, earliest)
        if is_sure:
            sizes[r] = size
            used += size
    return sizes, fixed[:used].copy()


@inlined
def holds(margin: float, error: float) -> bool:
    """Whether a claim surely holds at the row; not where a sum has overflowed, for then its error bound is void."""
    return error < margin < MOST


@inlined
def slack_error(total: float, doubt: float, margin: float, error: float, count: int) -> float:
    """Return how far `margin - total` may be off: both were rounded, and the sum of up to `count` drops with them."""
    return (doubt + error + (count + 8) * ROUNDING * (total + margin)) * WIDER


@inlined
def fits(total: float, doubt: float, margin: float, error: float, count: int) -> bool:
    """Whether a fall is surely allowed; one of exactly 0 always is where the claim `holds` at the row."""
    is_nothing = total == 0.0 and doubt == 0.0
    return is_nothing or margin - total > slack_error(total, doubt, margin, error, count)


@inlined
def exceeds(total: float, doubt: float, margin: float, error: float, count: int) -> bool:
    """Whether a fall surely breaks the claim; one that is infinite, or overflows, is above any margin that `holds`."""
    return total == np.inf or total - margin > slack_error(total, doubt, margin, error, count)


@inlined
def is_before(drop: float, bound: float, i: int, other: float, other_bound: float, j: int) -> bool:
    """Whether feature `i` surely comes before `j`: the larger drop first, of equal ones the earlier feature."""
    if bound == 0.0 and other_bound == 0.0:
        return drop > other or (drop == other and i < j)
    return drop - other > (bound + other_bound) * WIDER


# --- claims of several parts ------------------------------------------------------------------------------------------


@compiled
def add_up(tables: Tables, outputs: int, cells: Any, vague: Any) -> Any:
    """Return the sum of each value column (first index) over the features of each row, and its error."""
    features, rows = cells.shape
    sums, errors = np.zeros((outputs, rows)), np.zeros((outputs, rows))
    entry = np.empty(rows, np.int32)
    for i in range(features):
        locate(tables, i, cells[i], column_of(vague, i), entry)
        for j in range(outputs):
            add_values(tables.entries, cells[i], entry, 1 + 3 * j, sums[j], errors[j])
    return sums, errors


@compiled
def all_drops(tables: Tables, cells: Any, vague: Any) -> Any:
    """Return the drop of each feature of each row (first index), and its error, from tables of one column."""
    features, rows = cells.shape
    drops, bounds = np.zeros((rows, features)), np.zeros((rows, features))
    entry = np.empty(rows, np.int32)
    for i in range(features):
        locate(tables, i, cells[i], column_of(vague, i), entry)
        add_values(tables.entries, cells[i], entry, 1, drops[:, i], bounds[:, i])
    for r in range(rows):
        for i in range(features):
            if drops[r, i] < 0.0:  # by rounding alone: no drop is
                drops[r, i] = 0.0
    return drops, bounds


@compiled
def free_all_but(drops: Any, bounds: Any, fixed: Any) -> Any:
    """Return the sum of the drops of all features that are not fixed (indices ascend), and of their errors."""
    total, doubt, place = 0.0, 0.0, 0
    for i in range(len(drops)):
        if place < len(fixed) and fixed[place] == i:
            place += 1
        else:
            total += drops[i]
            doubt += bounds[i]
    return total, doubt


@compiled
def tightest_part(drops: Any, bounds: Any, margins: Any, errors: Any, fixed: Any) -> int:
    """Return the part with the least slack once the others are freed; -1 if that is not sure."""
    in_order = np.sort(fixed)
    slacks = np.empty(len(margins))
    doubts = np.empty(len(margins))
    for c in range(len(margins)):
        total, doubt = free_all_but(drops[c], bounds[c], in_order)
        slacks[c] = margins[c] - total
        doubts[c] = slack_error(total, doubt, margins[c], errors[c], drops.shape[1])
    best = int(np.argmin(slacks))
    for c in range(len(margins)):
        same_margin = errors[c] == 0.0 and errors[best] == 0.0 and margins[c] == margins[best]
        if c != best and not same_margin and not slacks[c] - slacks[best] > (doubts[c] + doubts[best]) * WIDER:
            return -1
    return best
