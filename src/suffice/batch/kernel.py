"""The compiled loops: look every cell up, add up, sort as far as needed, cut. Float64 with error bounds throughout.

In: `Tables` and cells. Out: for each row the part of the claim that it falls under, its margin, and what to keep; a size of
-1 where the error bounds leave anything open. Every test below is written so that a NaN leaves the row open.
Guaranteed: a row that is not left open has exactly the kept features, in the order, of `smallest_sufficient`.
Rows do not touch each other, so results do not depend on how rows are shared out among threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from suffice.batch.tables import ROUNDING, WIDER, Tables
from suffice.errors import DataError

try:
    from numba import njit
except ImportError as error:  # pragma: no cover - the extra is installed wherever tests run
    raise DataError(f"explaining many rows needs numba ({error}): pip install 'suffice[batch]'") from None

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function at its first call, or take it from the cache on disk; it runs beside other threads."""
    return cast(Function, njit(nogil=True, cache=True)(function))


BLOCK = 256  # rows whose drops fit into the cache together
OPEN = -1  # size of a row that is left to exact arithmetic


class Sides(NamedTuple):
    """The one-part claims that rows can fall under: margin `sign · Σ values + constant`, drops in some column."""

    signs: Any
    constants: Any
    errors: Any  # of the constants, with their share in the rounding of the sum


@compiled
def locate(tables: Tables, i: int, x: float, is_vague: bool) -> int:
    """Return the entry of a cell; a vague one stands for any number that rounds to it."""
    if x != x:
        x = tables.missing[i]
    if tables.is_integral[i] and x != np.floor(x):
        x = np.inf
    first = tables.first_break[i]
    count = tables.first_break[i + 1] - first
    start = tables.first_cell[i]
    last_cell = tables.first_cell[i + 1] - start - 2
    if x <= tables.grid_low[i]:
        cell = 0
    elif x >= tables.grid_high[i]:
        cell = last_cell
    else:
        cell = min(int((x - tables.grid_low[i]) * tables.grid_rate[i]), last_cell)
    low = tables.grid[start + cell]
    high = tables.grid[start + cell + 1]
    while low < high:
        middle = (low + high) >> 1
        if tables.breaks[first + middle] < x:
            low = middle + 1
        else:
            high = middle
    if low == count or tables.breaks[first + low] != x:
        return 2 * (first + low) + i
    if is_vague:
        return 2 * first + i  # beyond all breaks: such an entry is NaN
    return 2 * (first + low) + i + 1


@compiled
def offset(tables: Tables, entry: int, x: float) -> float:
    """Return how far a cell lies from the anchor of its entry; a label lies on it."""
    return x - tables.entries[entry, 0] if x == x else 0.0


@compiled
def decide_one(tables: Tables, sides: Sides, cells: Any, vague: Any) -> Any:
    """Answer rows whose claim has one part; columns of the tables: the value, then the drop for each side."""
    features, rows = cells.shape
    side = np.full(rows, -1, np.int8)
    sizes = np.full(rows, OPEN, np.int32)
    sums = np.zeros(rows)
    off = np.zeros(rows)
    margins = np.full(rows, np.nan)
    errors = np.full(rows, np.nan)
    kept = np.empty(rows * features, np.int32)
    used = 0
    entry = np.empty((features, BLOCK), np.int64)
    drops = np.empty((BLOCK, features))
    bounds = np.empty((BLOCK, features))
    heap = np.empty(features, np.int32)
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        for i in range(features):
            for r in range(count):
                x = cells[i, start + r]
                at = locate(tables, i, x, len(vague) > 0 and vague[i, start + r])
                entry[i, r] = at
                sums[start + r] += tables.entries[at, 1] + tables.entries[at, 2] * offset(tables, at, x)
                off[start + r] += tables.entries[at, 3]
        for r in range(count):
            for s in range(len(sides.signs)):
                margin = sides.signs[s] * sums[start + r] + sides.constants[s]
                bound = (off[start + r] + sides.errors[s]) * WIDER
                if margin > bound:
                    side[start + r] = s
                    margins[start + r] = margin
                    errors[start + r] = bound
                    break
        for i in range(features):
            for r in range(count):
                if side[start + r] >= 0:
                    at = entry[i, r]
                    column = 4 + 3 * side[start + r]
                    moved = tables.entries[at, column + 1] * offset(tables, at, cells[i, start + r])
                    drops[r, i] = tables.entries[at, column] + moved
                    bounds[r, i] = tables.entries[at, column + 2]
        for r in range(count):
            if side[start + r] >= 0:
                row = start + r
                sizes[row] = cut(drops[r], bounds[r], margins[row], errors[row], heap, kept[used : used + features])
                if sizes[row] != OPEN:
                    used += sizes[row]
    return sums, off, sizes, margins, errors, kept[:used].copy()


@compiled
def cut(drops: Any, bounds: Any, margin: float, error: float, heap: Any, kept: Any) -> int:
    """Write the features to keep, largest drop first, and return how many; `OPEN` if the bounds cannot tell."""
    count = len(drops)
    room, doubt = 0.0, 0.0
    for i in range(count):
        if drops[i] < 0.0:  # by rounding alone: no drop is
            drops[i] = 0.0
        if not drops[i] >= 0.0:
            return OPEN
        heap[i] = i
        if drops[i] < np.inf:
            room += drops[i]
            doubt += bounds[i]
        else:
            doubt = np.inf
    if fits(room, doubt, margin, error, count):
        return 0
    for place in range(count // 2 - 1, -1, -1):
        sift(drops, heap, place, count)
    left, size = count, 0
    while left > 0 and (size == 0 or room > margin or drops[heap[0]] == np.inf):
        i = heap[0]
        left -= 1
        heap[0] = heap[left]
        sift(drops, heap, 0, left)
        kept[size] = i
        size += 1
        if drops[i] < np.inf:
            room -= drops[i]
    return size if is_settled(drops, bounds, margin, error, heap[:left], kept[:size]) else OPEN


@compiled
def is_settled(drops: Any, bounds: Any, margin: float, error: float, freed: Any, kept: Any) -> bool:
    """Whether the bounds prove that these are freed and those kept, in this order."""
    total, doubt = 0.0, 0.0
    for i in freed:
        total += drops[i]
        doubt += bounds[i]
    last = kept[-1]
    count = len(drops)
    if not fits(total, doubt, margin, error, count) or not exceeds(
        total + drops[last], doubt + bounds[last], margin, error, count
    ):
        return False
    for place in range(1, len(kept)):
        if not is_before(drops, bounds, kept[place - 1], kept[place]):
            return False
    for i in freed:
        if not is_before(drops, bounds, last, i):
            return False
    return True


@compiled
def slack_error(total: float, doubt: float, margin: float, error: float, count: int) -> float:
    """Return how far `margin - total` may be off: both were rounded, and the sum of up to `count` drops with them."""
    return (doubt + error + (count + 8) * ROUNDING * (total + margin)) * WIDER


@compiled
def fits(total: float, doubt: float, margin: float, error: float, count: int) -> bool:
    """Whether a fall is surely allowed; one of exactly 0 always is, for the claim holds at the row."""
    is_nothing = total == 0.0 and doubt == 0.0
    return is_nothing or margin - total > slack_error(total, doubt, margin, error, count)


@compiled
def exceeds(total: float, doubt: float, margin: float, error: float, count: int) -> bool:
    """Whether a fall surely breaks the claim."""
    return total == np.inf or total - margin > slack_error(total, doubt, margin, error, count)


@compiled
def is_before(drops: Any, bounds: Any, i: int, j: int) -> bool:
    """Whether feature `i` surely comes before `j`: the larger drop first, of equal ones the earlier feature."""
    if bounds[i] == 0.0 and bounds[j] == 0.0:
        return drops[i] > drops[j] or (drops[i] == drops[j] and i < j)
    return drops[i] - drops[j] > (bounds[i] + bounds[j]) * WIDER


@compiled
def sift(drops: Any, heap: Any, place: int, count: int) -> None:
    """Let an index sink until none below it has a larger drop, or the same and an earlier feature."""
    moved = heap[place]
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and comes_first(drops, heap[child + 1], heap[child]):
            child += 1
        if not comes_first(drops, heap[child], moved):
            break
        heap[place] = heap[child]
        place = child
    if count > 0:
        heap[place] = moved


@compiled
def comes_first(drops: Any, i: int, j: int) -> bool:
    """Whether `i` is to leave the heap before `j`."""
    return drops[i] > drops[j] or (drops[i] == drops[j] and i < j)


# --- claims of several parts ------------------------------------------------------------------------------------------


@compiled
def add_up(tables: Tables, outputs: int, cells: Any, vague: Any) -> Any:
    """Return the sum of each value column over the features of each row, and its error."""
    features, rows = cells.shape
    sums = np.zeros((rows, outputs))
    errors = np.zeros((rows, outputs))
    for i in range(features):
        for r in range(rows):
            x = cells[i, r]
            at = locate(tables, i, x, len(vague) > 0 and vague[i, r])
            away = offset(tables, at, x)
            for j in range(outputs):
                sums[r, j] += tables.entries[at, 1 + 3 * j] + tables.entries[at, 2 + 3 * j] * away
                errors[r, j] += tables.entries[at, 3 + 3 * j]
    return sums, errors * WIDER


@compiled
def look_up(tables: Tables, cells: Any, vague: Any, rows: Any, drops: Any, bounds: Any) -> None:
    """Write the drops of some rows, and their errors, from tables of one column."""
    for i in range(len(cells)):
        for place, r in enumerate(rows):
            x = cells[i, r]
            at = locate(tables, i, x, len(vague) > 0 and vague[i, r])
            drops[place, i] = max(tables.entries[at, 1] + tables.entries[at, 2] * offset(tables, at, x), 0.0)
            bounds[place, i] = tables.entries[at, 3]
            if not tables.entries[at, 1] >= -np.inf:
                drops[place, i] = np.nan


@compiled
def decide_several(drops: Any, bounds: Any, margins: Any, errors: Any) -> Any:
    """Answer rows whose claim has several parts (first index), where the answer is plain to see.

    A feature that alone breaks a part is in every sufficient set. Where all others can be freed together, these are
    the only smallest set; elsewhere the row is left open. With one part the answer is always a matter of sorting.
    """
    parts, rows, features = drops.shape
    sizes = np.full(rows, OPEN, np.int32)
    tightest = np.zeros(rows, np.int64)
    kept = np.empty(rows * features, np.int32)
    heap = np.empty(features, np.int32)
    used = 0
    for r in range(rows):
        place = kept[used : used + features]
        if parts == 1:
            sizes[r] = cut(drops[0, r], bounds[0, r], margins[0, r], errors[0, r], heap, place)
        else:
            sizes[r] = keep_necessary(drops[:, r], bounds[:, r], margins[:, r], errors[:, r], place)
            if sizes[r] != OPEN:
                tightest[r] = tightest_part(drops[:, r], bounds[:, r], margins[:, r], errors[:, r], place[: sizes[r]])
                if tightest[r] < 0:
                    sizes[r] = OPEN
        used += max(sizes[r], 0)
    return sizes, tightest, kept[:used].copy()


@compiled
def keep_necessary(drops: Any, bounds: Any, margins: Any, errors: Any, kept: Any) -> int:
    """Write the features that alone break a part, if freeing all others breaks none; `OPEN` if that is not sure."""
    parts, features = drops.shape
    size = 0
    for i in range(features):
        breaks, harmless = False, True
        for c in range(parts):
            breaks |= exceeds(drops[c, i], bounds[c, i], margins[c], errors[c], 1)
            harmless &= fits(drops[c, i], bounds[c, i], margins[c], errors[c], 1)
        if breaks:
            kept[size] = i
            size += 1
        elif not harmless:
            return OPEN
    for c in range(parts):
        total, doubt = free_all_but(drops[c], bounds[c], kept[:size])
        if not fits(total, doubt, margins[c], errors[c], features):
            return OPEN
    return size if sort_by_share(drops, bounds, margins, errors, kept[:size]) else OPEN


@compiled
def free_all_but(drops: Any, bounds: Any, kept: Any) -> Any:
    """Return the sum of the drops of all features that are not kept (indices ascend), and of their errors."""
    total, doubt, place = 0.0, 0.0, 0
    for i in range(len(drops)):
        if place < len(kept) and kept[place] == i:
            place += 1
        else:
            total += drops[i]
            doubt += bounds[i]
    return total, doubt


@compiled
def sort_by_share(drops: Any, bounds: Any, margins: Any, errors: Any, kept: Any) -> bool:
    """Sort kept features as the covering search does, by their largest share of a margin; whether that is sure."""
    low = np.zeros(len(kept))
    high = np.zeros(len(kept))
    for place, i in enumerate(kept):
        for c in range(len(margins)):
            if not margins[c] - errors[c] > 1e-290:
                return False
            low[place] = max(low[place], (drops[c, i] - bounds[c, i]) / (margins[c] + errors[c]))
            high[place] = max(high[place], (drops[c, i] + bounds[c, i]) / (margins[c] - errors[c]))
    order = np.argsort(-low, kind="mergesort")
    kept[:] = kept[order]
    for place in range(1, len(kept)):
        above, below = low[order[place - 1]], high[order[place]]
        both_infinite = above == np.inf and low[order[place]] == np.inf
        if not (both_infinite or above > below * (1 + 2.0**-40)):
            return False
    return True


@compiled
def tightest_part(drops: Any, bounds: Any, margins: Any, errors: Any, kept: Any) -> int:
    """Return the part with the least slack once the others are freed; -1 if that is not sure."""
    in_order = np.sort(kept)
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
