"""Concrete inputs that break a claim, once enough features are free to move.

In: one constraint, the worst case of each feature, the row and its region, and the features that move. Out: an input of
the region at which the claim is false, checked exactly. Numbers are floats of few digits where the claim leaves room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flint import fmpq

from suffice.core.constraint import Constraint, total
from suffice.core.drops import Worst
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.values import Value
from suffice.question.row import Row


def easiest_break(
    constraints: Sequence[Constraint], first: Sequence[int], others: Sequence[int]
) -> tuple[int, list[int]] | None:
    """Return the constraint that breaks with the fewest movers, and these; None if none can be broken.

    A claim breaks as soon as one of its constraints does: each is looked at alone.
    """
    best: tuple[int, list[int]] | None = None
    for c, constraint in enumerate(constraints):
        moved = constraint.broken_by(first, others)
        if moved is not None and (best is None or len(moved) < len(best[1])):
            best = c, moved
    return best


def breaking_input(
    constraint: Constraint, worst: Sequence[Worst], row: Row, region: Sequence[Domain], moved: Sequence[int]
) -> list[Value]:
    """Return an input that differs from the row in the moved features only and breaks the constraint."""
    point = list(row)
    for i, target in zip(moved, _targets(constraint, worst, row, moved), strict=True):
        point[i] = _short_value(worst[i], region[i], target)
    score = constraint.margin + constraint.gap + sum((worst[i].rise(row[i], point[i]) for i in moved), ZERO)
    assert score < 0 or (score == 0 and constraint.is_strict), "a counterexample must break the claim"
    return point


def _targets(constraint: Constraint, worst: Sequence[Worst], row: Row, moved: Sequence[int]) -> list[Rational]:
    """Return how low each moved feature's part must go, so that together they break the constraint."""
    margin = constraint.margin + constraint.gap
    bounded = [i for i in moved if not constraint.drops[i].is_infinite]
    if len(bounded) < len(moved):  # one that falls without bound makes up for all others, which need not fall at all
        depth = margin + 1
        heres = [worst[i].at_least(row[i]) for i in moved]
        return [here if i in bounded else here - depth for i, here in zip(moved, heres, strict=True)]
    # Half of the excess is shared out; what is left still breaks the claim. Without any excess (a tie under
    # a strict claim) every drop is attained, and every one is needed in full.
    share = (total(constraint.drops[i] for i in moved).value - margin) / (2 * len(moved))
    return [worst[i].infimum.value + share for i in moved]


def _short_value(worst: Worst, region: Domain, target: Rational) -> Value:
    """Return a value of the region with the function at most `target`: a float of few digits if there is one."""
    exact = worst.value_at_most(target)
    if not isinstance(exact, fmpq):
        return exact
    for digits in (2, 3, 4, 6, 9, 12, 17):
        near = float(f"{nearest_float(exact):.{digits}g}")
        # What is shown of a float is a decimal, which whoever reads it may ask about: it has to do as well.
        both = (rational(near), rational(repr(near))) if math.isfinite(near) else (exact,)
        if all(region.holds(short) and worst.is_at_most(short, target) for short in both):
            return both[0]
    return exact
