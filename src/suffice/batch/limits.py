"""Claims of one part where features are always fixed or always free, only so many may change at once, or in a ball.

In and out as in `kernel`. Freeing the smallest drops first frees the most features here too: of the sets of one size,
the one with the smallest drops has the least sum, and the least sum of its largest drops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.batch.kernel import (
    LEAST_FLOAT,
    OPEN,
    REFUSED,
    Sides,
    Slack,
    bits_for,
    exceeds,
    fits,
    holds,
    is_before,
    measure,
    order_keys,
    scratch_of,
)
from suffice.batch.lookup import ROUNDING, Tables
from suffice.numbers.compiling import compiled, inlined


def decide_limited(
    tables: Tables, sides: Sides, cells: Any, vague: Any, slack: Slack, decided: Any, most: int, is_ball: bool
) -> Any:
    """Answer the same where some features are always fixed or always free, or only so many may change at once.

    Returns the same, and in a ball how many features break the claim each alone.
    """
    scratch = scratch_of(*cells.shape)
    sums, off, margins, errors = measure(tables, sides, cells, vague, *scratch[:-1])
    _, drops, bounds, keys = scratch
    order_keys(drops, keys)
    keys.sort(axis=1)
    sizes, fixed, alone = cut_limited(keys, drops, bounds, *slack.on(margins, errors), decided, most, is_ball)
    return sums, off, sizes, margins, errors, fixed, alone


@compiled
def cut_limited(
    keys: Any, drops: Any, bounds: Any, margins: Any, errors: Any, decided: Any, most: int, is_ball: bool
) -> Any:
    """Return the same as `cut_rows`, and in a ball how many features break the claim each alone.

    Features are always fixed where `decided` is above 0 and always free where it is below; of the free ones only `most`
    may change at once, if none is always free. A row is left open as in `cut_rows`, and in a ball where it is not sure
    whether some feature breaks the claim alone.
    """
    features, rows = drops.shape
    sizes, alone = np.full(rows, OPEN, np.int32), np.zeros(rows, np.int32)
    fixed = np.empty(rows * features, np.int32)
    mask = bits_for(features)
    own, off = np.empty(features), np.empty(features)  # drops and errors of a row
    order = np.empty(features, np.int64)  # of those that are not decided, from the smallest drop
    is_free = np.empty(features, np.bool_)
    used = 0
    for r in range(rows):
        margin, error = margins[r], errors[r]
        if not holds(margin, error):
            continue
        for i in range(features):
            own[i], off[i] = drops[i, r], bounds[i, r]
        total, doubt, count, is_sure = 0.0, 0.0, 0, True
        for place in range(features):
            i = features - 1 - (keys[r, place] & (mask - 1))
            if decided[i] < 0:
                total += own[i]
                doubt += off[i]
            elif decided[i] == 0:
                order[count] = i
                count += 1
            if is_ball:
                breaks = exceeds(own[i], off[i], margin, error, features)
                alone[r] += breaks
                is_sure &= breaks or fits(own[i], off[i], margin, error, features)
        if exceeds(
            total, doubt, margin, error, features
        ):  # what is free in any case: most is no less than their number
            sizes[r] = REFUSED
            continue
        freed, fall, more = fit_most(order[:count], own, off, total, doubt, margin, most, mask)
        if not fits(fall, more, margin, error, features):
            continue
        highest, earliest, all_off = -np.inf, features, 0.0  # the most that a freed drop can be, and the first of those
        is_free[:] = decided < 0
        for place in range(freed):
            i = order[place]
            is_free[i] = True
            all_off += off[i]
            top = own[i] + off[i]
            earliest = i if top > highest else min(i, earliest) if top == highest else earliest
            highest = max(top, highest)
        size, last = 0, -1
        for place in range(features - 1, -1, -1):
            i = features - 1 - (keys[r, place] & (mask - 1))
            if is_free[i]:
                continue
            fixed[used + size] = i
            if size > 0:
                j = fixed[used + size - 1]
                is_sure &= is_before(own[j], off[j], j, own[i], off[i], i)
            size += 1
            last = i if decided[i] == 0 else last
        if last >= 0:
            fall, more = fall_of(order[: freed + 1], own, off, total, doubt, most, mask)
            is_sure &= exceeds(fall, more, margin, error, features)
            is_sure &= is_before(own[last], off[last], last, highest, all_off, earliest)
        if is_sure:
            sizes[r] = size
            used += size
    return sizes, fixed[:used].copy(), alone


@inlined
def fall_of(order: Any, drops: Any, bounds: Any, total: float, doubt: float, most: int, mask: Any) -> Any:
    """Return how far features in order of their drops can lower the score, the last `most` of them, and its error.

    What others do in any case is in `total` and `doubt`. The order is that of keys, which leave out the last bits of
    drops: the largest drops are above those at the end by no more than a share of `mask` units in the last place, or so
    many of the least float. A drop that is off may put others there, but each sum is off by no more than all errors
    together.
    """
    first = max(len(order) - most, 0)
    for place in range(len(order)):
        if place >= first:
            total += drops[order[place]]
        doubt += bounds[order[place]]
    if first > 0 and 0.0 < total < np.inf:
        doubt += mask * (total * 4 * ROUNDING + len(order) * LEAST_FLOAT)
    return total, doubt


@inlined
def fit_most(
    order: Any, drops: Any, bounds: Any, total: float, doubt: float, margin: float, most: int, mask: Any
) -> Any:
    """Return how many features can be freed, about; how far they lower the score, and its error."""
    low, high = 0, len(order)
    while low < high:  # the more, the further: look for the last number that fits
        middle = (low + high + 1) // 2
        fall, _ = fall_of(order[:middle], drops, bounds, total, doubt, most, mask)
        if fall <= margin:
            low = middle
        else:
            high = middle - 1
    fall, more = fall_of(order[:low], drops, bounds, total, doubt, most, mask)
    return low, fall, more
