"""Which sets of features suffice, given a margin and what each feature can take from it: by trying all sets."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations


def fraction(value):
    """An exact number of the library as a `Fraction`."""
    return Fraction(int(value.p), int(value.q))


def plain(constraint):
    """The numbers of a constraint: margin, drops as (value, is attained), is strict, how many may move at once."""
    drops = [(math.inf, False) if d.is_infinite else (fraction(d.value), d.edge == 0) for d in constraint.drops]
    return fraction(constraint.margin), drops, constraint.is_strict, constraint.max_changed


def subsets(count):
    """All sets of so many features, smaller ones first."""
    return chain.from_iterable(combinations(range(count), size) for size in range(count + 1))


def sufficient(fixed, margin, drops, is_strict, max_changed=None):
    """By definition. A drop is (value, is attained); the joint fall is attained if every part of it is.

    Where only so many of the free features may differ from the row at once, whichever they are.
    """
    freed = [i for i in range(len(drops)) if i not in fixed]
    if max_changed is not None and max_changed < len(freed):
        every = range(len(drops))
        return all(
            sufficient([i for i in every if i not in moving], margin, drops, is_strict)
            for moving in combinations(freed, max_changed)
        )
    fall = sum((drops[i][0] for i in freed), Fraction(0))
    if fall == math.inf:
        return False
    lowest = margin - fall
    if is_strict:
        return lowest > 0 or (lowest == 0 and not all(drops[i][1] for i in freed))
    return lowest >= 0


def sufficient_for_all(fixed, constraints):
    """Whether some features suffice for several constraints of the library at once."""
    return all(sufficient(fixed, *plain(constraint)) for constraint in constraints)


def smallest_size(margin, drops, is_strict, max_changed=None):
    """Size of a smallest sufficient set."""
    return next(len(s) for s in subsets(len(drops)) if sufficient(s, margin, drops, is_strict, max_changed))


def least_cost(sets, costs):
    """What the cheapest of some sets of items costs."""
    return min(sum(costs[k] for k in one) for one in sets)
