"""Claims of one part where few features or groups cost more or less than the others, which all cost the same.

In: drops and margins of many rows with bounds on their errors, and the items. Out: what each row fixes; a size of -1
where the error bounds leave anything open.
Guaranteed: as in `covers`, whose argument this is. Only how the first best choice is found is simpler. Whichever of the
few odd items are freed, of the others the lightest are freed as far as they fit: no choice with the same odd items
frees more, and none that frees as many keeps heavier items. So each set of odd items is tried in turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.batch.kernel import (
    OPEN,
    REFUSED,
    Sides,
    Slack,
    compiled,
    exceeds,
    holds,
    measure,
    scratch_of,
    slack_error,
)
from suffice.batch.lookup import ROUNDING, WIDER, Tables
from suffice.solvers.cover_kernel import FREED
from suffice.solvers.cover_kernel import OPEN as UNDECIDED
from suffice.solvers.covers import PARTS

MOST_ODD = 6  # items of another cost: 64 sets of them
LEAST, MOST = 1e-250, 1e250  # what is left of a margin lies between, far from the ends of floats


def odd_items(costs: Any, decided: Any) -> Any:
    """Return which of the items that are not decided cost something else than most of them; None if too many do."""
    is_open = decided == UNDECIDED
    values, counts = np.unique(costs[is_open], return_counts=True)
    is_odd = is_open & (costs != (values[np.argmax(counts)] if len(values) else 1))
    return is_odd if is_odd.sum() <= MOST_ODD else None


def decide_weighed(tables: Tables, sides: Sides, cells: Any, vague: Any, slack: Slack, items: Any, is_odd: Any) -> Any:
    """Answer rows whose claim has one part: the same as `decide_one`."""
    entry, drops, bounds, _ = scratch_of(*cells.shape)
    sums, off, margins, errors = measure(tables, sides, cells, vague, entry, drops, bounds)
    first, members, costs, decided = items
    low, high = np.empty((len(drops), len(costs))), np.empty((len(drops), len(costs)))
    keys = np.empty(low.shape, np.int64)
    weigh_items(drops, bounds, first, members, low, high, keys)
    keys.sort(axis=1)
    charged = slack.on(margins, errors)
    sizes, fixed = cut_weighed(keys, low, high, drops, bounds, *charged, first, members, costs, decided, is_odd)
    return sums, off, sizes, margins, errors, fixed


@compiled
def weigh_items(drops: Any, bounds: Any, first: Any, members: Any, low: Any, high: Any, keys: Any) -> None:
    """Write between what the drop of each item lies (NaN where that is not known), and integers that order them."""
    rows, items = low.shape
    mask = np.int64(1)
    while mask < items:
        mask *= 2
    for r in range(rows):
        for k in range(items):
            total, doubt, largest = 0.0, 0.0, 0.0
            count = first[k + 1] - first[k]
            for i in members[first[k] : first[k + 1]]:
                drop = drops[r, i] if not drops[r, i] < 0.0 else 0.0  # below 0 by rounding alone: no drop is
                total += drop
                doubt += bounds[r, i]
                largest = max(largest, drop)
            if total < np.inf and count > 1:
                doubt = (doubt + count * ROUNDING * total) * WIDER
            is_exact = doubt == 0.0 or total == np.inf
            low[r, k] = total if is_exact else max(total - doubt, 0.0) * (1.0 - 2.0**-50)
            high[r, k] = total if is_exact else (total + doubt) * (1.0 + 2.0**-50)
            is_beyond = total == np.inf and largest < np.inf  # finite, but not as a float
            if is_beyond or not (total >= 0.0 and doubt >= 0.0):
                low[r, k], high[r, k] = np.nan, np.nan
    bits = low.view(np.int64)
    for r in range(rows):
        for k in range(items):
            keys[r, k] = (bits[r, k] & -mask) | (items - 1 - k)


@compiled
def cut_weighed(
    keys: Any,
    low: Any,
    high: Any,
    drops: Any,
    bounds: Any,
    margins: Any,
    errors: Any,
    first: Any,
    members: Any,
    costs: Any,
    decided: Any,
    is_odd: Any,
) -> Any:
    """Return how many features each row fixes, and which."""
    rows, features = drops.shape
    items = len(costs)
    sizes = np.full(rows, OPEN, np.int32)
    fixed = np.empty(rows * features, np.int32)
    mask = np.int64(1)
    while mask < items:
        mask *= 2
    order = np.empty(items, np.int64)  # from the lightest item
    usual = 1  # what an item costs that is not odd
    for k in range(items):
        if decided[k] == UNDECIDED and not is_odd[k]:
            usual = costs[k]
    light, heavy = np.empty(items, np.int64), np.empty(items, np.int64)
    sums = np.empty(items + 1, np.int64)
    is_free, lowest = np.empty(items, np.bool_), np.empty(items)
    used = 0
    for r in range(rows):
        margin, error = margins[r], errors[r]
        if not holds(margin, error):
            continue
        total, doubt, is_known = 0.0, 0.0, True
        for k in range(items):
            is_known &= low[r, k] >= 0.0
            if decided[k] == FREED:
                for i in members[first[k] : first[k + 1]]:
                    total += max(drops[r, i], 0.0)
                    doubt += bounds[r, i]
        if not is_known:
            continue
        if exceeds(total, doubt, margin, error, features):
            sizes[r] = REFUSED
            continue
        off = slack_error(total, doubt, margin, error, features)
        room, more = margin - total - off, margin - total + off
        if not (room > LEAST and more < MOST):
            continue
        for place in range(items):
            order[place] = items - 1 - (keys[r, place] & (mask - 1))
        weigh(low, high, r, room, more, order, light, heavy)
        choose(light, costs, decided, is_odd, usual, order, sums, is_free)
        taken = 0
        for k in range(items):
            if is_free[k] and decided[k] != FREED:  # what is free in any case is off the room already
                taken += heavy[k]
        if not taken < PARTS:  # also at a tie
            continue
        if is_in_doubt(low, high, r, order, is_free, lowest):
            continue
        size = 0
        for place in range(items - 1, -1, -1):
            k = order[place]
            if not is_free[k]:
                for i in members[first[k] : first[k + 1]]:
                    fixed[used + size] = i
                    size += 1
        sizes[r] = size
        used += size
    return sizes, fixed[:used].copy()


@compiled
def weigh(low: Any, high: Any, r: int, room: float, more: float, order: Any, light: Any, heavy: Any) -> None:
    """Write the share of what is left of the margin that each item uses up, in parts: at most, and at least.

    Rounded down, shares never fall along the order, which is that of drops but for their last bits: past a heavier
    item a lighter one lends its own.
    """
    least = np.int64(2 * PARTS)  # past twice the room it does not matter by how much
    for place in range(len(order) - 1, -1, -1):
        k = order[place]
        least = min(least, np.int64(min(low[r, k] / more * (1.0 - 2.0**-50), 2.0) * PARTS))
        light[k] = least
        heavy[k] = np.int64(np.ceil(min(high[r, k] / room * (1.0 + 2.0**-50), 2.0) * PARTS))


@compiled
def choose(light: Any, costs: Any, decided: Any, is_odd: Any, usual: int, order: Any, sums: Any, is_free: Any) -> None:
    """Write the first best choice of items to free, by shares that are rounded down."""
    items, count, few = len(order), 0, 0
    odd = np.empty(MOST_ODD, np.int64)
    sums[0] = 0
    for place in range(items):
        k = order[place]
        if decided[k] == UNDECIDED and is_odd[k]:
            odd[few] = k
            few += 1
        elif decided[k] == UNDECIDED:
            sums[count + 1] = sums[count] + light[k]
            count += 1
    best, best_chosen, best_freed = -1, 0, 0
    for chosen in range(1 << few):
        weight, value = 0, 0
        for place in range(few):
            if (chosen >> place) & 1:
                weight += light[odd[place]]
                value += costs[odd[place]]
        if weight > PARTS:
            continue
        low, high = 0, count
        while low < high:
            middle = (low + high + 1) >> 1
            if weight + sums[middle] <= PARTS:
                low = middle
            else:
                high = middle - 1
        value += usual * low
        if value > best or (
            value == best and keeps_first(chosen, low, best_chosen, best_freed, decided, is_odd, order, few, count)
        ):
            best, best_chosen, best_freed = value, chosen, low
    place_odd, place_usual = 0, 0
    for place in range(items):
        k = order[place]
        is_free[k] = decided[k] == FREED
        if decided[k] == UNDECIDED and is_odd[k]:
            is_free[k] = (best_chosen >> place_odd) & 1 == 1
            place_odd += 1
        elif decided[k] == UNDECIDED:
            is_free[k] = place_usual < best_freed
            place_usual += 1


@compiled
def keeps_first(
    chosen: int,
    freed: int,
    other_chosen: int,
    other_freed: int,
    decided: Any,
    is_odd: Any,
    order: Any,
    few: int,
    count: int,
) -> bool:
    """Whether a choice keeps the heaviest item that it and another do not both keep or free."""
    place_odd, place_usual = few, count
    for place in range(len(order) - 1, -1, -1):
        k = order[place]
        if decided[k] != UNDECIDED:
            continue
        if is_odd[k]:
            place_odd -= 1
            is_freed, is_freed_there = (chosen >> place_odd) & 1, (other_chosen >> place_odd) & 1
        else:
            place_usual -= 1
            is_freed, is_freed_there = int(place_usual < freed), int(place_usual < other_freed)
        if is_freed != is_freed_there:
            return is_freed == 0
    return False


@compiled
def is_in_doubt(low: Any, high: Any, r: int, order: Any, is_free: Any, lowest: Any) -> bool:
    """Whether the order of items is not sure next to one that is fixed: in another order another set may be first."""
    items = len(order)
    least = np.inf
    for place in range(items - 1, -1, -1):  # the least that an item from here up can be
        least = min(least, low[r, order[place]])
        lowest[place] = least
    highest, is_doubtful, is_one_kept = 0.0, False, False
    for place in range(items):
        k = order[place]
        if place > 0 and lowest[place] > highest:
            is_doubtful, is_one_kept = False, False
        elif place > 0:
            j = order[place - 1]
            is_doubtful |= not low[r, k] == high[r, k] == low[r, j] == high[r, j]
        is_one_kept |= not is_free[k]
        if is_doubtful and is_one_kept:
            return True
        highest = max(highest, high[r, k])
    return False
