"""The smallest set of features that suffices for one constraint."""

from __future__ import annotations

import math
from itertools import accumulate

from suffice.drops import NO_DROP, Constraint, total
from suffice.rational import nearest_float


def smallest_sufficient(constraint: Constraint) -> tuple[int, ...]:
    """Return a smallest set of features that suffices, largest drop first.

    Notes
    -----
    Drops add up, so freeing the smallest first frees the most features: in any sufficient set, a kept feature may be
    swapped for a freed one of larger or equal drop. Equal drops may come in any order; here the later feature is freed
    first. The constraint must hold at the row itself.
    """
    assert constraint.allows(NO_DROP)
    sizes = [math.inf if drop.is_infinite else nearest_float(drop.value) for drop in constraint.drops]
    # Rounding is monotone: floats order what they can tell apart, exact drops the rest.
    ascending = sorted(range(len(sizes)), key=lambda i: (sizes[i], constraint.drops[i], -i))
    # Floats guess how many features can be freed; exact sums decide, one feature up or down until it is right.
    margin = nearest_float(constraint.margin)
    freed = sum(fall <= margin and fall < math.inf for fall in accumulate(sizes[i] for i in ascending))
    fall = total(constraint.drops[i] for i in ascending[:freed])
    while not constraint.allows(fall):
        freed -= 1
        fall = total(constraint.drops[i] for i in ascending[:freed])
    while freed < len(ascending):
        fall = total((fall, constraint.drops[ascending[freed]]))
        if not constraint.allows(fall):
            break
        freed += 1
    return tuple(reversed(ascending[freed:]))
