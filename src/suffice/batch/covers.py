"""Rows whose claim has several parts, or whose features have costs or groups: `cover_kernel` on rounded drops.

In: drops and margins of many rows with bounds on their errors, and the items. Out: what each row fixes; a size of -1
where the error bounds leave anything open.
Guaranteed: a row that is not left open has exactly the fixed features, in the order, of `smallest_cover`. Each drop is
counted in parts of what is left of its margin, once rounded down and once rounded up. Every set that suffices fits by
the drops rounded down, so the first best choice among those that fit is no worse than the first that suffices; where it
fits by the drops rounded up too, it suffices, and is that one. Tests are written so that a NaN leaves the row open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.batch.kernel import OPEN, REFUSED, exceeds, holds, slack_error, tightest_part
from suffice.batch.lookup import ROUNDING, WIDER
from suffice.numbers.compiling import compiled
from suffice.solvers.cover_kernel import FREED, KEPT, first_best
from suffice.solvers.cover_kernel import OPEN as UNDECIDED
from suffice.solvers.covers import PARTS, UNIT

LEAST, MOST = 1e-250, 1e250  # what is left of a margin lies between, far from the ends of floats
TINY = 1e-300
BELOW, EQUAL, IN_DOUBT = (
    0,
    1,
    2,
)  # an item weighs less than all before it, as much as the last, or it is not sure
BUDGET = 5_000  # nodes for a row; one that takes more is left to the search for single rows


@compiled
def cover_rows(
    drops: Any, bounds: Any, margins: Any, errors: Any, first: Any, members: Any, costs: Any, decided: Any
) -> Any:
    """Return sizes, the tightest part of each row, and the fixed features of all rows.

    Parameters
    ----------
    drops, bounds : arrays of shape (parts, rows, features)
        How far each feature can lower each part, and how far that may be off.
    margins, errors : arrays of shape (parts, rows)
    first, members : arrays of int64
        The features of item `k` are `members[first[k] : first[k + 1]]`.
    costs, decided : arrays of int64 and of int8
        What fixing an item costs; whether it is always `FREED`, always `KEPT`, or `UNDECIDED`.
    """
    _, rows, features = drops.shape
    sizes, tightest = np.full(rows, OPEN, np.int32), np.zeros(rows, np.int64)
    fixed = np.empty(rows * features, np.int32)
    used = 0
    for r in range(rows):
        place = fixed[used : used + features]
        size = cover_row(drops[:, r], bounds[:, r], margins[:, r], errors[:, r], first, members, costs, decided, place)
        if size == REFUSED:
            sizes[r] = REFUSED
        elif size != OPEN:
            tightest[r] = tightest_part(drops[:, r], bounds[:, r], margins[:, r], errors[:, r], place[:size])
            if tightest[r] >= 0:
                sizes[r] = size
                used += size
    return sizes, tightest, fixed[:used].copy()


@compiled
def cover_row(
    drops: Any, bounds: Any, margins: Any, errors: Any, first: Any, members: Any, costs: Any, decided: Any, fixed: Any
) -> int:
    """Write the features that one row fixes; return how many, or `OPEN`, or `REFUSED`."""
    parts, features = drops.shape
    items = len(costs)
    state = decided.copy()
    low, high = np.zeros((parts, items)), np.zeros((parts, items))  # between these lies the drop of an item
    for c in range(parts):
        if not holds(margins[c], errors[c]):
            return OPEN
        for k in range(items):
            total, doubt, largest = 0.0, 0.0, 0.0
            for i in members[first[k] : first[k + 1]]:
                total += drops[c, i]
                doubt += bounds[c, i]
                largest = max(largest, drops[c, i])
            count = first[k + 1] - first[k]
            if total < np.inf and count > 1:
                doubt = (doubt + count * ROUNDING * total) * WIDER
            is_beyond = total == np.inf and largest < np.inf  # finite, but not as a float
            if is_beyond or not (total >= 0.0 and doubt >= 0.0):
                return OPEN
            is_exact = doubt == 0.0 or total == np.inf
            low[c, k] = total if is_exact else max(total - doubt, 0.0) * (1.0 - 2.0**-50)
            high[c, k] = total if is_exact else (total + doubt) * (1.0 + 2.0**-50)
    order = np.empty(items, np.int64)
    follows = np.empty(items, np.int8)
    rank(low, high, margins, errors, order, follows)
    most, least = np.zeros((parts, items), np.int64), np.zeros((parts, items), np.int64)
    for c in range(parts):
        total, doubt = 0.0, 0.0
        for k in range(items):
            if state[k] == FREED:
                for i in members[first[k] : first[k + 1]]:
                    total += drops[c, i]
                    doubt += bounds[c, i]
        if exceeds(total, doubt, margins[c], errors[c], features):
            return REFUSED
        error = slack_error(total, doubt, margins[c], errors[c], features)
        room, more = margins[c] - total - error, margins[c] - total + error
        if not (room > LEAST and more < MOST):
            return OPEN
        for k in range(items):
            # Past twice the room it does not matter by how much.
            share = min(low[c, k] / more * (1.0 - 2.0**-50), 2.0) * PARTS
            least[c, k] = int(share)
            share = min(high[c, k] / room * (1.0 + 2.0**-50), 2.0) * PARTS
            most[c, k] = int(np.ceil(share))
    choose(least, costs, order, state)
    for c in range(parts):
        taken = 0
        for k in range(items):
            if state[k] == UNDECIDED:  # the budget ended
                return OPEN
            if state[k] == FREED and decided[k] != FREED:  # what is free in any case is off the room already
                taken += most[c, k]
        if not taken < PARTS:  # also at a tie
            return OPEN
    size, is_doubtful, is_one_kept = 0, False, False
    for place in range(items):
        k = order[place]
        if follows[place] == BELOW:
            is_doubtful, is_one_kept = False, False
        is_doubtful |= follows[place] == IN_DOUBT
        is_one_kept |= state[k] == KEPT
        if is_doubtful and is_one_kept:
            return OPEN  # in another order another set may be the first; not if all of them are freed
        if state[k] == KEPT:
            for i in members[first[k] : first[k + 1]]:
                fixed[size] = i
                size += 1
    return size


@compiled
def choose(least: Any, costs: Any, order: Any, state: Any) -> None:
    """Decide all items that are open, by the drops rounded down; none where the budget ends."""
    parts = least.shape[0]
    some = np.empty(len(order), np.int64)
    count = 0
    for k in order:
        if state[k] != UNDECIDED:
            continue
        breaks = False
        for c in range(parts):
            breaks |= least[c, k] > PARTS
        if breaks:  # alone: it is in every set that suffices
            state[k] = KEPT
        else:
            some[count] = k
            count += 1
    if count == 0:
        return
    weights, rooms = np.empty((parts, count), np.int64), np.full(parts, PARTS)
    gains, found = np.empty(count, np.int64), np.zeros(count, np.int8)
    for place in range(count):
        gains[place] = costs[some[place]]
        for c in range(parts):
            weights[c, place] = least[c, some[place]]
    reached, _ = first_best(weights, rooms, gains, np.full(parts, UNIT / PARTS), UNIT, BUDGET, found)
    if reached >= 0:
        for place in range(count):
            state[some[place]] = found[place]


@compiled
def rank(low: Any, high: Any, margins: Any, errors: Any, order: Any, follows: Any) -> None:
    """Write items by their largest share of a margin, as `Problem.ranked` has them, and how each follows the others."""
    parts, items = low.shape
    least, most = np.zeros(items), np.zeros(items)
    for k in range(items):
        for c in range(parts):
            least[k] = max(least[k], low[c, k] / (margins[c] + errors[c]) * (1.0 - 2.0**-40))
            most[k] = max(most[k], high[c, k] / (margins[c] - errors[c]) * (1.0 + 2.0**-40))
    order[:] = np.argsort(-least, kind="mergesort")
    follows[0] = BELOW
    highest = 0.0  # of this item and of those after it, one of which may be far less sure than its neighbours
    for place in range(items - 1, 0, -1):
        a, b = order[place - 1], order[place]
        highest = max(highest, most[b])
        is_below = least[a] > highest + TINY  # quotients below the least normal float are off by more than their share
        follows[place] = BELOW if is_below else EQUAL if is_equal(low, high, a, b) else IN_DOUBT


@compiled
def is_equal(low: Any, high: Any, a: int, b: int) -> bool:
    """Whether two items surely have the same drops in all parts: then they come as they are."""
    is_same = True
    for c in range(len(low)):
        is_same &= low[c, a] == high[c, a] == low[c, b] == high[c, b]
    return is_same
