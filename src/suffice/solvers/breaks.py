"""All smallest sets of items whose change breaks a claim.

In: constraints, items, and the least number of items that break one. Out: the sets of that size that do, the strongest
first, up to a limit. A set breaks the claim if it breaks one constraint, so that each is gone through alone. A branch
is left when what its items and the strongest of the rest can lower the score by, which is no less than what they do, is
within the margin; whether a set of full size breaks the constraint is for the constraint to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suffice.core.constraint import Constraint, total
from suffice.errors import BudgetEnded
from suffice.question.budget import Clock
from suffice.question.preferences import Choices


def smallest_breaks(
    constraints: Sequence[Constraint], choices: Choices, size: int, limit: int, clock: Clock
) -> tuple[list[tuple[int, ...]], bool]:
    """Return sets of so many items that break a constraint, and whether these are all.

    Parameters
    ----------
    constraints : sequence of Constraint
    choices : Choices
        Items of equal cost, none of which is fixed or free.
    size : int
        Of which no smaller set breaks a constraint.
    limit : int
        How many sets to return at most.
    clock : Clock
        Budget; past it the sets may not be all.
    """
    found: dict[frozenset[int], tuple[int, ...]] = {}
    nodes = 0
    try:
        for constraint in constraints:
            for items in _breaks(constraint, choices, size):
                nodes += 1
                if nodes > clock.nodes or clock.is_over:
                    return list(found.values()), False
                if items is not None and frozenset(items) not in found:
                    if len(found) == limit:
                        return list(found.values()), False
                    found[frozenset(items)] = items
    except BudgetEnded:
        return list(found.values()), False
    return list(found.values()), True


def _breaks(constraint: Constraint, choices: Choices, size: int) -> Iterator[tuple[int, ...] | None]:
    """Yield the sets that break a constraint, and None for every branch that was looked at."""
    falls = [total(constraint.ceilings[i] for i in item) for item in choices.items]
    order = sorted(range(len(falls)), key=lambda k: (falls[k], -k), reverse=True)
    stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    while stack:
        place, chosen = stack.pop()
        if len(chosen) == size:
            is_broken = not constraint.admits(choices.features(chosen))
            yield chosen if is_broken else None
            continue
        yield None
        rest = order[place : place + size - len(chosen)]
        if len(chosen) + len(rest) < size or constraint.allows(total(falls[k] for k in (*chosen, *rest))):
            continue
        stack.append((place + 1, chosen))
        stack.append((place + 1, (*chosen, order[place])))
