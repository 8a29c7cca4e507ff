"""The smallest set of features that suffices for one constraint."""

from __future__ import annotations

from bisect import bisect_left

from suffice.core.constraint import Constraint
from suffice.core.later_drops import sorted_by_bounds


def smallest_sufficient(constraint: Constraint) -> tuple[int, ...]:
    """Return a smallest set of features that suffices, largest drop first.

    Notes
    -----
    Drops add up, so freeing the smallest first frees the most features: in any sufficient set, a fixed feature may be
    swapped for a freed one of larger or equal drop. Equal drops may come in any order; here the later feature is freed
    first. The constraint must hold at the row itself.
    """
    assert constraint.admits(())
    # Floats order what they can tell apart, exact drops the rest.
    low, high = constraint.bounds
    drops = constraint.drops
    ascending = sorted_by_bounds(range(len(drops)), low.tolist(), high.tolist(), lambda i: (drops[i], -i))
    freed = bisect_left(range(1, len(drops) + 1), True, key=lambda count: not constraint.admits(ascending[:count]))
    return tuple(reversed(ascending[freed:]))
