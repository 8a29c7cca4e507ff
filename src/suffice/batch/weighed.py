"""Claims of one part where features have costs or stand in groups: a knapsack for each row.

In: drops and margins of many rows with bounds on their errors, and the items. Out: what each row fixes; a size of -1
where the error bounds leave anything open.
Guaranteed: as in `covers`, whose argument this is. Only how the first best choice is found is simpler, for there is one
knapsack: one multiplier decides nearly all items, and a table of the least weight for each cost the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.batch.kernel import (
    OPEN,
    REFUSED,
    Sides,
    Slack,
    bits_for,
    exceeds,
    holds,
    measure,
    scratch_of,
    slack_error,
)
from suffice.batch.lookup import ROUNDING, WIDER, Tables
from suffice.numbers.compiling import compiled, inlined
from suffice.solvers.cover_kernel import FREED
from suffice.solvers.cover_kernel import OPEN as UNDECIDED
from suffice.solvers.covers import PARTS, UNIT

LEAST, MOST = 1e-250, 1e250  # what is left of a margin lies between, far from the ends of floats
TOO_HEAVY = 2**61  # above all weights together


def decide_weighed(tables: Tables, sides: Sides, cells: Any, vague: Any, slack: Slack, items: Any) -> Any:
    """Answer rows whose claim has one part: the same as `decide_one`."""
    first, members, costs, decided = items
    features, rows = cells.shape
    entry, drops, bounds, _, low, high, keys, rates = scratch_of(features, rows, len(costs))
    sums, off, margins, errors = measure(tables, sides, cells, vague, entry, drops, bounds)
    weigh_items(drops, bounds, first, members, costs, low, high, keys, rates)
    keys.sort(axis=1)
    rates.sort(axis=1)
    charged = slack.on(margins, errors)
    sizes, fixed = cut_weighed(keys, rates, low, high, drops, bounds, *charged, first, members, costs, decided)
    return sums, off, sizes, margins, errors, fixed


@compiled
def weigh_items(
    drops: Any, bounds: Any, first: Any, members: Any, costs: Any, low: Any, high: Any, keys: Any, rates: Any
) -> None:
    """Write between what the drop of each item lies (NaN where that is not known), and integers that order them.

    The second integers order items by what they weigh for their cost, about.
    """
    rows, items = low.shape
    mask = bits_for(items)
    for start in range(0, rows, 8):  # of so many rows the drops of a feature lie in one line of the cache
        for k in range(items):
            i = members[first[k]]
            for r in range(start, min(start + 8, rows)):
                low[r, k] = drops[i, r]
                high[r, k] = bounds[i, r]
    for k in range(items):
        if first[k + 1] - first[k] > 1:
            add_members(drops, bounds, members[first[k] : first[k + 1]], low[:, k], high[:, k])
    for r in range(rows):
        for k in range(items):
            total, doubt = low[r, k], high[r, k]
            is_exact = (doubt == 0.0) | (total == np.inf)
            is_known = (total >= 0.0) & (doubt >= 0.0)
            least = total if is_exact else max(total - doubt, 0.0) * (1.0 - 2.0**-50)
            most = total if is_exact else (total + doubt) * (1.0 + 2.0**-50)
            low[r, k] = least if is_known else np.nan
            high[r, k] = most if is_known else np.nan
    bits = low.view(np.int64)
    for r in range(rows):
        for k in range(items):
            keys[r, k] = (bits[r, k] & -mask) | (items - 1 - k)
    each = rates.view(np.float64)
    for r in range(rows):
        for k in range(items):
            each[r, k] = low[r, k] / costs[k]
    for r in range(rows):
        for k in range(items):
            rates[r, k] = (rates[r, k] & -mask) | k


@compiled
def add_members(drops: Any, bounds: Any, members: Any, totals: Any, doubts: Any) -> None:
    """Write what the features of a group do together at each row, and how far off that may be; NaN beyond floats."""
    for r in range(len(totals)):
        total, doubt, largest = 0.0, 0.0, 0.0
        for i in members:
            total += drops[i, r]
            doubt += bounds[i, r]
            largest = max(largest, drops[i, r])
        if total < np.inf:
            doubt = (doubt + len(members) * ROUNDING * total) * WIDER
        is_beyond = total == np.inf and largest < np.inf  # finite, but not as a float
        totals[r], doubts[r] = np.nan if is_beyond else total, doubt


@compiled
def cut_weighed(
    keys: Any,
    rates: Any,
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
) -> Any:
    """Return how many features each row fixes, and which."""
    features, rows = drops.shape
    items = len(costs)
    sizes = np.full(rows, OPEN, np.int32)
    fixed = np.empty(rows * features + 1, np.int32)
    mask = bits_for(items)
    order = np.empty(items, np.int64)  # from the lightest item
    by_rate = np.empty(items, np.int64)  # from the least weight for its cost
    light, heavy = np.empty(items, np.int64), np.empty(items, np.int64)
    gains, some = np.empty(items, np.int64), np.empty(items, np.int64)
    least = np.empty((items + 1, costs.sum() + 1), np.int64)
    is_free, lowest = np.empty(items, np.bool_), np.empty(items)
    is_some_free = (decided == FREED).any()
    used = 0
    for r in range(rows):
        margin, error = margins[r], errors[r]
        if not holds(margin, error):
            continue
        total, doubt, is_known = 0.0, 0.0, True
        for k in range(items):
            is_known &= low[r, k] >= 0.0
        for k in range(items if is_some_free else 0):
            if decided[k] == FREED:
                for i in members[first[k] : first[k + 1]]:
                    total += drops[i, r]
                    doubt += bounds[i, r]
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
            by_rate[place] = rates[r, place] & (mask - 1)
        weigh(low, high, r, room, more, order, decided, light, heavy)
        choose(light, costs, decided, order, by_rate, gains, some, least, is_free)
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
            for at in range(first[k], first[k + 1]):  # written over by the next one where it is free: no branch to miss
                fixed[used + size] = members[at]
                size += not is_free[k]
        sizes[r] = size
        used += size
    return sizes, fixed[:used].copy()


@inlined
def weigh(
    low: Any, high: Any, r: int, room: float, more: float, order: Any, decided: Any, light: Any, heavy: Any
) -> None:
    """Write the share of what is left of the margin that each item uses up, in parts: at least, and at most.

    Rounded down, shares never fall along the order, which is that of drops but for their last bits: past a heavier
    item a lighter one lends its own. Items that are decided already are too heavy for any choice.
    """
    down, up = 1.0 / more, 1.0 / room
    for k in range(len(order)):  # past twice the room it does not matter by how much
        light[k] = np.int64(min(low[r, k] * down * (1.0 - 2.0**-50), 2.0) * PARTS)
        heavy[k] = np.int64(np.ceil(min(high[r, k] * up * (1.0 + 2.0**-50), 2.0) * PARTS))
    least = np.int64(2 * PARTS)
    for place in range(len(order) - 1, -1, -1):
        k = order[place]
        least = min(least, light[k])
        light[k] = least if decided[k] == UNDECIDED else 2 * PARTS


@inlined
def choose(
    light: Any,
    costs: Any,
    decided: Any,
    order: Any,
    by_rate: Any,
    gains: Any,
    some: Any,
    least: Any,
    is_free: Any,
) -> None:
    """Write the first best choice of items to free, by shares that are rounded down.

    Items are freed by their rate as long as they fit. The rate at which one no longer does is the multiplier that
    bounds the cost of every choice, as in `cover_kernel`; an item whose other way is bounded below what is reached is
    decided. `least[j, v]` is the least weight of items that cost `v`, of the `j` lightest that are left.
    """
    rest, total, reached, middle = PARTS, 0, 0, -1
    for k in by_rate:  # no branches here and below: they would be missed as often as not
        is_in_reach, fits = light[k] <= PARTS, light[k] <= rest
        total += costs[k] if is_in_reach else 0
        rest -= light[k] if fits else 0
        reached += costs[k] if fits else 0
        middle = k if is_in_reach & (not fits) & (middle < 0) else middle
    # Any multiplier bounds; with this limit no product and no sum below is above 2^62.
    rate = min(UNIT * costs[middle] // light[middle], UNIT * total // PARTS) if middle >= 0 else 0
    bound = rate * PARTS
    for k in range(len(order)):
        gains[k] = costs[k] * UNIT - rate * light[k]
        bound += max(gains[k], 0) if light[k] <= PARTS else 0
    rest, count = PARTS, 0
    for k in range(len(order)):
        is_left = (light[k] <= PARTS) & (bound - abs(gains[k]) >= reached * UNIT)
        is_put_in = (light[k] <= PARTS) & (gains[k] > 0) & (not is_left)
        rest -= light[k] if is_put_in else 0
        is_free[k] = is_put_in | (decided[k] == FREED)
        gains[k] = is_left
    for k in order:
        some[count] = k
        count += gains[k]
    dearest = 0  # what all that are left cost together
    least[0, 0] = 0
    for j in range(count):
        cost, weight = costs[some[j]], light[some[j]]
        for v in range(dearest + 1):
            least[j + 1, v] = least[j, v]
        for v in range(dearest + 1, dearest + cost + 1):
            least[j + 1, v] = TOO_HEAVY
        for v in range(dearest + 1):
            least[j + 1, v + cost] = min(least[j + 1, v + cost], least[j, v] + weight)
        dearest += cost
    value = dearest
    while least[count, value] > rest:
        value -= 1
    for j in range(count - 1, -1, -1):  # from the heaviest: kept if the others cost as much without it
        k = some[j]
        dearest -= costs[k]
        if value > dearest or least[j, value] > rest:
            is_free[k] = True
            value -= costs[k]
            rest -= light[k]


@compiled
def is_in_doubt(low: Any, high: Any, r: int, order: Any, is_free: Any, lowest: Any) -> bool:
    """Whether the order of items is not sure next to one that is fixed: in another order another set may be first."""
    items = len(order)
    highest, is_sure = high[r, order[0]], True
    for place in range(1, items):
        k = order[place]
        is_sure &= low[r, k] > highest
        highest = max(highest, high[r, k])
    if is_sure:
        return False
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
