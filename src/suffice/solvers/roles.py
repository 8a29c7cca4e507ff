"""Which features matter at all: in every sufficient set, in some minimal one, or in none."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from suffice.core.constraint import NO_DROP
from suffice.errors import BudgetEnded
from suffice.solvers.problem import Problem


class Roles(NamedTuple):
    """Items by what minimal sufficient sets make of them; undecided are those on which the budget ended."""

    necessary: tuple[int, ...]  # in every one
    relevant: tuple[int, ...]  # in some, but not in every one
    irrelevant: tuple[int, ...]  # in none
    undecided: tuple[int, ...]  # not in every one; whether in some is not known


def roles(problem: Problem, *, max_nodes: int = 2_000, max_seconds: float = 60.0) -> Roles:
    """Return the role of each item that may be fixed or freed.

    Parameters
    ----------
    max_nodes, max_seconds : int, float
        Budgets: of steps for each question "is there a set that this item completes?", and of time for all.

    Notes
    -----
    An item is necessary if it alone breaks a constraint. It is relevant if some allowed set of other items becomes
    forbidden by freeing the item too: such a set can be filled up with all that still fits, and what it then keeps is
    minimal and holds the item. With one constraint whose drops add up, an item with a larger drop is relevant whenever
    one with a smaller drop is, so that few questions settle all. Else sets filled up greedily in many orders show most
    relevant items, and what is left is searched for.
    """
    deadline = time.monotonic() + max_seconds
    necessary = tuple(k for k in problem.open if not problem.admits([k]))
    others = [k for k in problem.open if k not in set(necessary)]
    found: dict[int, bool | None] = {}
    if len(problem.constraints) == 1 and problem.max_changed is None and problem.adds_up:
        _settle_in_order(problem, sorted(others, key=problem.drops[0].__getitem__), found, max_nodes, deadline)
    else:
        found = dict.fromkeys(_shown_by_filling(problem, others, deadline), True)
        for k in others:
            if k not in found:
                found[k] = completes(problem, k, others, max_nodes, deadline)
    pick = {verdict: tuple(k for k in others if found[k] is verdict) for verdict in (True, False, None)}
    return Roles(necessary, pick[True], pick[False], pick[None])


def _settle_in_order(
    problem: Problem, ascending: Sequence[int], found: dict[int, bool | None], max_nodes: int, deadline: float
) -> None:
    """Find where relevance begins among items in the order of their drops, by halving."""
    low, high = 0, len(ascending)  # below low: irrelevant; from high on: relevant
    unknown: list[int] = []
    while low < high:
        middle = (low + high) // 2
        verdict = completes(problem, ascending[middle], ascending, max_nodes, deadline)
        if verdict is None:
            unknown = list(range(low, high))
            break
        low, high = (low, middle) if verdict else (middle + 1, high)
    for k in range(len(ascending)):
        found[ascending[k]] = k >= high
    for k in unknown:
        found[ascending[k]] = completes(problem, ascending[k], ascending, max_nodes, deadline)


def _shown_by_filling(problem: Problem, others: Sequence[int], deadline: float) -> set[int]:
    """Return items that are fixed by some set which is filled up until nothing more fits: they are relevant."""
    rows = [*problem.floats, problem.floats.max(axis=0)]
    orders = [sorted(others, key=row.__getitem__, reverse=is_down) for row in rows for is_down in (True, False)]
    found: set[int] = set()
    with suppress(BudgetEnded):
        for order in orders:
            found |= _left_out(problem, order)
        for k in others:  # to show an item, fill up with all others first
            for order in orders:
                if k not in found and time.monotonic() < deadline:
                    found |= _left_out(problem, [*(other for other in order if other != k), k])
    return found


def _left_out(problem: Problem, order: Sequence[int]) -> set[int]:
    freed: list[int] = []
    for k in order:
        if problem.admits([*freed, k]):
            freed.append(k)
    return set(order).difference(freed)


def completes(problem: Problem, item: int, others: Sequence[int], max_nodes: int, deadline: float) -> bool | None:
    """Whether freeing an item makes some allowed set of the others forbidden; None if the budget ends first.

    Notes
    -----
    Depth first, weightiest first: an item is freed if it fits, then left out. A branch ends where all that is left,
    freed together with the item, still fits: nothing below it can be forbidden.
    """
    features = problem.choices.items[item]
    if all(constraint.ceilings[i] == NO_DROP for constraint in problem.constraints for i in features):
        return False  # it changes nothing
    with suppress(BudgetEnded):
        return _completes(problem, item, others, max_nodes, deadline)
    return None


def _completes(problem: Problem, item: int, others: Sequence[int], max_nodes: int, deadline: float) -> bool | None:
    rest = sorted((k for k in others if k != item), key=lambda k: (-problem.weight(k), k))
    stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    for _ in range(max_nodes):
        if not stack:
            return False
        if time.monotonic() > deadline:
            return None
        place, freed = stack.pop()
        if not problem.admits((*freed, item)):
            return True
        if problem.admits((*freed, *rest[place:], item)):
            continue
        stack.append((place + 1, freed))
        if problem.admits((*freed, rest[place])):
            stack.append((place + 1, (*freed, rest[place])))
    return None if stack else False
