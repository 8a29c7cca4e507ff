"""The compiled loops: add up what was looked up, sort, cut. Float64 with error bounds throughout.

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
from suffice.batch.lookup_kernel import add_values, column_of, locate, write_drops
from suffice.errors import DataError
from suffice.numbers.compiling import compiled, has_compiler, inlined

if not has_compiler():  # pragma: no cover - the extra is installed wherever tests run
    raise DataError("explaining many rows needs numba: pip install 'suffice[batch]'")

OPEN = -1  # size of a row that is left to exact arithmetic
REFUSED = -2  # and of one at which features that are free in any case surely break the claim
LEAST_FLOAT = 2.0**-1074
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
    drops, bounds = np.empty((features, 1)), np.empty((features, 1))
    sums, off, margins, errors = measure(tables, sides, cells, vague, entry, drops, bounds)
    order_keys(drops, keys)
    keys[0].sort()
    sizes, fixed = cut_rows(keys, drops, bounds, margins, errors + charge)
    return sums[0], off[0], sizes[0], fixed


_LOCAL = threading.local()


def scratch_of(features: int, rows: int, items: int = 0) -> tuple[Any, ...]:
    """Return arrays for entries, drops, errors and keys of a chunk, the same memory at each call from a thread.

    Of the first three the first index is the feature, of keys the row. For items there are four more, with the row
    first: two of floats, two of integers. Fresh memory would be cleared by the system first,
    which takes as long as all look-ups.
    """
    size, more = rows * features, rows * items
    kept = getattr(_LOCAL, "kept", None)
    if kept is None or len(kept) < 4 * size + 4 * more:
        kept = _LOCAL.kept = np.empty(4 * size + 4 * more)
    drops, bounds, keys, entry = (kept[k * size : (k + 1) * size] for k in range(4))
    entry = entry.view(np.int32)[:size].reshape(features, rows)
    by_feature = entry, drops.reshape(features, rows), bounds.reshape(features, rows)
    keys = keys.view(np.int64).reshape(rows, features)
    if not items:
        return *by_feature, keys
    low, high, first, second = (kept[4 * size + k * more : 4 * size + (k + 1) * more] for k in range(4))
    shape = rows, items
    others = low.reshape(shape), high.reshape(shape), first.view(np.int64).reshape(shape)
    return *by_feature, keys, *others, second.view(np.int64).reshape(shape)


@compiled
def measure(tables: Tables, sides: Sides, cells: Any, vague: Any, entry: Any, drops: Any, bounds: Any) -> Any:
    """Write drops and their errors; return sums and their errors, margins and their errors (NaN if no side is sure)."""
    features, rows = cells.shape
    sums, off = np.zeros(rows), np.zeros(rows)
    margins, errors = np.full(rows, np.nan), np.full(rows, np.nan)
    side = np.empty(rows, np.int32)
    for i in range(features):
        locate(tables, i, cells[i], column_of(vague, i), entry[i])
        add_values(tables.entries, cells[i], entry[i], 0, sums, off)
    choose_side(sides, sums, off, side, margins, errors)
    for i in range(features):
        write_drops(tables.entries, cells[i], entry[i], side, drops[i], bounds[i])
    return sums, off, margins, errors


def decide_rows(drops: Any, bounds: Any, margins: Any, errors: Any, keys: Any) -> Any:
    """Return sizes, and the fixed features of all rows; features are the first index of drops, rows that of keys."""
    order_keys(drops, keys)
    keys.sort(axis=1)  # NumPy sorts short rows of integers several at a time, far faster than a compiled loop
    return cut_rows(keys, drops, bounds, margins, errors)


@compiled
def order_keys(drops: Any, keys: Any) -> None:
    """Write integers that order features by their drops, and tell the feature in their last bits.

    Floats that are not negative are ordered as their bits are. The last bits give way to the feature, the later first
    among equal drops; so drops that differ in those bits alone may be out of order, which leaves the row open.
    """
    features, rows = drops.shape
    mask = bits_for(features)
    bits = drops.view(np.int64)
    together = rows - rows % 8  # of so many rows the drops of a feature lie in one line of the cache
    for start in range(0, together, 8):
        for i in range(features):
            for r in range(8):
                keys[start + r, i] = (bits[i, start + r] & -mask) | (features - 1 - i)
    for r in range(together, rows):
        for i in range(features):
            keys[r, i] = (bits[i, r] & -mask) | (features - 1 - i)


@inlined
def bits_for(count: int) -> Any:
    """Return the power of two from a number up: the last bits of a key tell so many apart."""
    mask = np.int64(1)
    while mask < count:
        mask *= 2
    return mask


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
def cut_rows(keys: Any, drops: Any, bounds: Any, margins: Any, errors: Any) -> Any:
    """Return how many features each row fixes, and which: all that do not fit, largest drop first.

    A row is left open unless the bounds prove that the smallest drops fit, that one more would not, and that the order
    of those fixed is right.
    """
    features, rows = drops.shape
    sizes = np.full(rows, OPEN, np.int32)
    fixed = np.empty(rows * features, np.int32)
    mask = bits_for(features)
    doubts = np.zeros(rows)
    for i in range(features):
        for r in range(rows):
            doubts[r] += bounds[i, r]
    own, off = np.empty(features), np.empty(features)
    used = 0
    for r in range(rows):
        if not holds(margins[r], errors[r]):
            continue
        size = cut_by_keys(keys[r], mask, doubts[r], margins[r], errors[r], fixed[used:])
        if size == OPEN:
            for i in range(features):
                own[i], off[i] = drops[i, r], bounds[i, r]
            size = cut_row(keys[r], mask, own, off, margins[r], errors[r], fixed[used:])
        sizes[r] = size
        used += max(size, 0)
    return sizes, fixed[:used].copy()


@inlined
def cut_by_keys(keys: Any, mask: Any, doubt: float, margin: float, error: float, fixed: Any) -> int:
    """Cut a row by its sorted keys alone: with drops less their last bits, and the errors of all drops for any.

    That settles nearly all rows, and reads nothing else. `OPEN` where it does not, which says nothing of the row.
    """
    features = len(keys)
    share = mask * 4 * ROUNDING  # of a drop, at most: what its last bits are, and rounding below
    doubt = (doubt + features * mask * LEAST_FLOAT) * WIDER
    total, freed = 0.0, 0
    while freed < features:
        drop = np.int64(keys[freed] & -mask).view(np.float64)
        if not total + drop <= margin:
            break
        total += drop
        freed += 1
    is_sure = fits(total, doubt + share * total, margin, error, features)
    # The last one that is freed and those that are fixed must come in this order for certain; all others are below.
    least = np.int64(keys[max(freed - 1, 0)] & -mask).view(np.float64)
    if freed < features:
        fall = total + np.int64(keys[freed] & -mask).view(np.float64)
        is_sure &= exceeds(fall, doubt + share * fall, margin, error, features)
        fixed[features - 1 - freed] = features - 1 - (keys[freed] & (mask - 1))
    for place in range(max(freed, 1), features):
        drop = np.int64(keys[place] & -mask).view(np.float64)
        is_sure &= drop * (1.0 - share) - least > doubt
        fixed[features - 1 - place] = features - 1 - (keys[place] & (mask - 1))
        least = drop
    return features - freed if is_sure else OPEN


@inlined
def cut_row(keys: Any, mask: Any, drops: Any, bounds: Any, margin: float, error: float, fixed: Any) -> int:
    """Cut a row by the errors of the very drops, for which equal drops may be known to be equal."""
    features = len(keys)
    total, doubt, freed = 0.0, 0.0, 0
    highest, earliest = -np.inf, features  # the most that a freed drop can be, and the first feature of those
    while freed < features:
        i = features - 1 - (keys[freed] & (mask - 1))
        if not total + drops[i] <= margin:
            break
        total += drops[i]
        doubt += bounds[i]
        most = drops[i] + bounds[i]
        earliest = i if most > highest else min(i, earliest) if most == highest else earliest
        highest = max(most, highest)
        freed += 1
    is_sure = fits(total, doubt, margin, error, features)
    size = features - freed
    for place in range(size):
        i = features - 1 - (keys[features - 1 - place] & (mask - 1))
        fixed[place] = i
        if place > 0:
            j = fixed[place - 1]
            is_sure &= is_before(drops[j], bounds[j], j, drops[i], bounds[i], i)
    if size > 0:
        i = fixed[size - 1]
        is_sure &= exceeds(total + drops[i], doubt + bounds[i], margin, error, features)
        is_sure &= is_before(drops[i], bounds[i], i, highest, doubt, earliest)
    return size if is_sure else OPEN


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
            add_values(tables.entries, cells[i], entry, j, sums[j], errors[j])
    return sums, errors


@compiled
def all_drops(tables: Tables, cells: Any, vague: Any) -> Any:
    """Return the drop of each feature of each row (first index), and its error, from tables of one column."""
    features, rows = cells.shape
    drops, bounds = np.zeros((rows, features)), np.zeros((rows, features))
    entry = np.empty(rows, np.int32)
    for i in range(features):
        locate(tables, i, cells[i], column_of(vague, i), entry)
        add_values(tables.entries, cells[i], entry, 0, drops[:, i], bounds[:, i])
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
