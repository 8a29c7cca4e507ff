"""Which features matter at all: in every sufficient set, in some minimal one, or in none."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, TypeAlias

from suffice.core.constraint import NO_DROP
from suffice.errors import BudgetEnded
from suffice.solvers.problem import Problem

Verdict: TypeAlias = bool | Literal["tied"] | None


class Roles(NamedTuple):
    """Items by what minimal sufficient sets make of them; undecided are those on which the budget ended."""

    necessary: tuple[int, ...]  # in every one
    relevant: tuple[int, ...]  # in some, but not in every one
    irrelevant: tuple[int, ...]  # in none
    undecided: tuple[int, ...]  # not in every one; whether in some is not known
    tied: tuple[int, ...] = ()  # numbers that are only enclosed leave the role open


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
    alone = {k: problem.may_admit([k]) for k in problem.open}
    necessary = tuple(k for k in problem.open if alone[k] is False)
    unsure = {k for k in problem.open if alone[k] is None}
    others = [k for k in problem.open if alone[k] is not False]
    found: dict[int, Verdict] = {}
    is_simple = len(problem.constraints) == 1 and problem.max_changed is None and problem.adds_up and not unsure
    ascending = problem.in_order(others) if is_simple else None
    if ascending is not None:
        _settle_in_order(problem, ascending, found, max_nodes, deadline)
    else:
        found = dict.fromkeys(_shown_by_filling(problem, others, deadline), True)
        for k in others:
            if k not in found:
                found[k] = completes(problem, k, others, max_nodes, deadline)
    found |= dict.fromkeys(unsure, "tied")  # in some or in every one
    pick = {verdict: tuple(k for k in others if found[k] is verdict) for verdict in (True, False, None, "tied")}
    return Roles(necessary, pick[True], pick[False], pick[None], pick["tied"])


def _settle_in_order(
    problem: Problem, ascending: Sequence[int], found: dict[int, Verdict], max_nodes: int, deadline: float
) -> None:
    """Find where relevance begins among items in the order of their drops, by halving."""
    low, high = 0, len(ascending)  # below low: irrelevant; from high on: relevant
    unknown: list[int] = []
    while low < high:
        middle = (low + high) // 2
        verdict = completes(problem, ascending[middle], ascending, max_nodes, deadline)
        if not isinstance(verdict, bool):
            unknown = list(range(low, high))
            break
        low, high = (low, middle) if verdict else (middle + 1, high)
    for k in range(len(ascending)):
        found[ascending[k]] = k >= high
    for k in unknown:
        found[ascending[k]] = completes(problem, ascending[k], ascending, max_nodes, deadline)


def _shown_by_filling(problem: Problem, others: Sequence[int], deadline: float) -> set[int]:
    """Return items that are fixed by some set which is filled up until nothing more fits: they are relevant."""
    orders = _orders(problem, others)
    found: set[int] = set()
    with suppress(BudgetEnded):
        for order in orders:
            found.update(_filled(problem, order)[1])
        for k in others:  # to show an item, fill up with all others first
            for order in orders:
                if k not in found and time.monotonic() < deadline:
                    found.update(_filled(problem, [*(other for other in order if other != k), k])[1])
    return found


def _orders(problem: Problem, others: Sequence[int]) -> list[list[int]]:
    """Return orders to fill sets up in: by each constraint, and by the largest drop, down and up."""
    rows = [*problem.floats, problem.floats.max(axis=0)]
    return [sorted(others, key=row.__getitem__, reverse=is_down) for row in rows for is_down in (True, False)]


def _filled(problem: Problem, order: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return what is freed in an order, and what does not fit any more; what numbers leave open is in neither."""
    freed: list[int] = []
    blocked: list[int] = []
    for k in order:
        verdict = problem.may_admit([*freed, k])
        if verdict:
            freed.append(k)
        elif verdict is False:
            blocked.append(k)
    return freed, blocked


def completes(problem: Problem, item: int, others: Sequence[int], max_nodes: int, deadline: float) -> Verdict:
    """Whether freeing an item makes some allowed set of the others forbidden; None if the budget ends first."""
    found = completed_by(problem, item, others, max_nodes, deadline)
    return True if isinstance(found, tuple) else found


def completed_by(
    problem: Problem, item: int, others: Sequence[int], max_nodes: int, deadline: float
) -> tuple[int, ...] | Literal[False, "tied"] | None:
    """Return an allowed set of the others that freeing an item makes forbidden, False if there is none.

    Notes
    -----
    Depth first, weightiest first: an item is freed if it fits, then left out. A branch ends where all that is left,
    freed together with the item, still fits: nothing below it can be forbidden. None if the budget ends first, "tied"
    if numbers that are only enclosed leave some set open and no other shows it.
    """
    features = problem.choices.items[item]
    if all(constraint.ceilings[i] == NO_DROP for constraint in problem.constraints for i in features):
        return False  # it changes nothing
    with suppress(BudgetEnded):
        return _completed_by(problem, item, others, max_nodes, deadline)
    return None


def _completed_by(
    problem: Problem, item: int, others: Sequence[int], max_nodes: int, deadline: float
) -> tuple[int, ...] | Literal[False, "tied"] | None:
    rest = sorted((k for k in others if k != item), key=lambda k: (-problem.weight(k), k))
    stack: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    is_open = False
    for _ in range(max_nodes):
        if not stack:
            break
        if time.monotonic() > deadline:
            return None
        place, freed = stack.pop()
        verdict = problem.may_admit((*freed, item))
        if verdict is False:
            return freed
        is_open |= verdict is None
        if place == len(rest) or problem.may_admit((*freed, *rest[place:], item)):
            continue
        stack.append((place + 1, freed))
        verdict = problem.may_admit((*freed, rest[place]))
        is_open |= verdict is None
        if verdict:
            stack.append((place + 1, (*freed, rest[place])))
    if stack:
        return None
    return "tied" if is_open else False


def set_that_needs(problem: Problem, item: int, *, max_nodes: int = 20_000) -> tuple[int, ...] | None:
    """Return items which may be freed together, but not with one more item that is relevant; None if none is found."""
    others = [k for k in problem.open if problem.admits([k])]
    for order in _orders(problem, others):
        freed, _ = _filled(problem, [k for k in order if k != item])
        if not problem.admits([*freed, item]):
            return tuple(freed)
    found = completed_by(problem, item, others, max_nodes, math.inf)
    return found if isinstance(found, tuple) else None
