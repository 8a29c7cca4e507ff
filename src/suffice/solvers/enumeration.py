"""All minimal sets of features that suffice, one after the other, and how many smallest there are.

Sets come as tuples of the items that are fixed, in the order of the features. Items are decided one after the other,
the weightiest first, so that the order of the sets is fixed and none comes twice; a smallest set that is known comes
first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple, TypeAlias

from suffice.errors import BudgetEnded, Undecided
from suffice.numbers.exact import ONE, ZERO
from suffice.solvers.knapsacks import Knapsack, knapsack
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Bound, Branch, Cover, Multipliers, Scenarios

Items: TypeAlias = tuple[int, ...]


def minimal_sets(problem: Problem) -> Iterator[Items]:
    """Yield every set of fixed items that suffices while none of its proper subsets does, each once.

    Notes
    -----
    An item is freed if that is allowed; it is also fixed if it can still be *blocked*, that is, if with it and all
    later items freed a constraint breaks. With one constraint whose drops add up this test is exact: if later items
    are freed greedily, the first that does not fit blocks all heavier ones, and if all fit the test itself says that
    they block. So every branch leads to a set, and the wait for the next one is polynomial. Else a branch may come to
    nothing.
    """
    return (found for found in _minimal_nodes(problem) if found is not None)


def _minimal_nodes(problem: Problem) -> Iterator[Items | None]:
    """Yield a set, or None, for each node of the search."""
    order = _by_weight(problem)
    stack: list[tuple[int, Items, Items]] = [(0, (), ())]  # place in the order, freed, fixed by choice
    while stack:
        place, freed, chosen = stack.pop()
        rest = order[place:]
        if _is_in_vain(problem, freed, rest, chosen):
            yield None
            continue
        yield None if rest else _kept(problem, freed)
        if rest and problem.admits((*freed, rest[0])):
            stack.append((place + 1, freed, (*chosen, rest[0])))
            stack.append((place + 1, (*freed, rest[0]), chosen))
        elif rest:  # blocked already
            stack.append((place + 1, freed, chosen))


def _is_in_vain(problem: Problem, freed: Items, rest: Items, chosen: Items) -> bool:
    """Whether some item that is fixed by choice could be freed beside all others that are or may be.

    What numbers that are only enclosed leave open is asked again further down; where nothing is left it is `Undecided`.
    """
    is_open = False
    for k in chosen:
        verdict = problem.may_admit((*freed, *rest, k))
        if verdict:
            return True
        is_open |= verdict is None
    if is_open and not rest:
        raise Undecided
    return False


def smallest_sets(problem: Problem, cover: Cover) -> Iterator[Items]:
    """Yield every set of fixed items that suffices and costs as little as a best cover, each once.

    Notes
    -----
    A branch ends where a surrogate, or a scenario, shows that it cannot free as much. One constraint whose drops add
    up is, without costs, its own surrogate, whose bound is exact: then no branch is in vain.
    """
    search = _Smallest(problem, cover)
    known = tuple(k for k, item in enumerate(problem.choices.items) if item[0] in cover.fixed)
    yield known  # at once; the others are searched for
    stack: list[tuple[int, Items]] = [(0, ())]
    while stack:
        place, freed = stack.pop()
        if search.missing(freed) == 0:
            found = _kept(problem, freed)
            if found != known:
                yield found
        else:
            stack.extend(search.below(place, freed))


class Count(NamedTuple):
    """How many there are: at least `low`, at most `high`.

    Parameters
    ----------
    low, high : int
        Proven bounds, equal unless a budget ended, or a tie left some open.

    Examples
    --------
    >>> Count(3, 3).is_exact
    True
    """

    low: int
    high: int

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high


def count_smallest(problem: Problem, cover: Cover, *, max_nodes: int = 100_000) -> Count:
    """Return how many sets `smallest_sets` yields, without making each; bounds, where the budget ends."""
    search = _Smallest(problem, cover)
    stack: list[tuple[int, Items]] = [(0, ())]
    low = 0
    with suppress(BudgetEnded):
        for _ in range(max_nodes):
            if not stack:
                break
            place, freed = stack[-1]
            if search.is_any_choice_allowed(place, freed):
                low += search.choices(*stack.pop())
            else:
                stack[-1:] = search.below(place, freed)
    return Count(low, low + sum(search.choices(*node) for node in stack))


def count_minimal(problem: Problem, *, max_nodes: int = 100_000) -> Count:
    """Return how many sets `minimal_sets` yields, by finding them; bounds, where the budget ends."""
    nodes, low = _minimal_nodes(problem), 0
    with suppress(BudgetEnded):
        for found in islice(nodes, max_nodes):
            low += found is not None
        if next(nodes, False) is False:
            return Count(low, low)
    return Count(low, most_sets(problem))


def count_between(problem: Problem, *, max_nodes: int = 100_000) -> Count:
    """Return bounds on how many minimal sets there are where numbers that are only enclosed leave some sets open.

    Those count that are enough for certain, and no longer, for certain, without any one of their items.
    """
    inner = Problem([one.inner for one in problem.constraints], problem.choices)
    order, nodes, low = set(problem.open), _minimal_nodes(inner), 0
    for found in islice(nodes, max_nodes):
        if found is None:
            continue
        freed = [k for k in problem.open if k not in set(found)]
        low += not any(problem.outer.admits([*freed, k]) for k in order.intersection(found))
    return Count(max(low, 1), most_sets(problem))  # some set is minimal, for all items together are enough


def most_sets(problem: Problem) -> int:
    """Return a bound on how many sets there can be of which none holds another."""
    # Of the subsets of n items at most the middle binomial coefficient are such.
    count = len(problem.open)
    return math.comb(count, count // 2)


class _Smallest:
    """What is known of a node of the search: the items before a place are decided, and these of them freed."""

    def __init__(self, problem: Problem, cover: Cover) -> None:
        assert cover.is_best
        self.problem, self.order = problem, _by_weight(problem)
        everything = problem.cost([k for k in range(len(problem.costs)) if k not in problem.choices.free])
        self.target = everything - cover.cost
        self.surrogates = _surrogates(len(problem.constraints), cover)
        self.knapsacks = [] if problem.adds_up else _knapsacks(problem, self.order, cover)

    def missing(self, freed: Items) -> int:
        return self.target - self.problem.cost(freed)

    def below(self, place: int, freed: Items) -> list[tuple[int, Items]]:
        """Return the nodes that decide the next item, as far as they may lead to a set."""
        missing, rest = self.missing(freed), self.order[place:]
        if self._is_out_of_reach(freed, place, missing):
            return []
        found = [(place + 1, freed)]
        if self.problem.costs[rest[0]] <= missing and self.problem.admits((*freed, rest[0])):
            found.append((place + 1, (*freed, rest[0])))
        return found

    def _is_out_of_reach(self, freed: Items, place: int, missing: int) -> bool:
        """Whether the items from a place on cannot make up what is missing."""
        rest = self.order[place:]
        if self.problem.cost(rest) < missing:
            return True
        if self.problem.adds_up:  # what is ruled out is ruled out for certain
            return any(self.problem.outer.most(freed, rest, one, missing - 1) < missing for one in self.surrogates)
        at, costs = {k: p for p, k in enumerate(self.order)}, [self.problem.costs[k] for k in self.order]
        decided, undecided = [at[k] for k in freed], range(place, len(self.order))
        return any(one.most(decided, undecided, costs) < missing for one in self.knapsacks)

    def choices(self, place: int, freed: Items) -> int:
        """Return how many ways there are to choose what is missing among the rest, allowed or not."""
        rest, missing = self.order[place:], self.missing(freed)
        if missing == 0 or self.problem.choices.is_counting:
            return math.comb(len(rest), missing)
        return 1 << len(rest)

    def is_any_choice_allowed(self, place: int, freed: Items) -> bool:
        """Whether all these ways are allowed: the weightiest choice is, for each constraint."""
        problem, rest, missing = self.problem, self.order[place:], self.missing(freed)
        if missing == 0 or missing > len(rest):
            return missing == 0 or problem.choices.is_counting
        if not problem.adds_up:
            return problem.choices.is_counting and bool(problem.may_admit((*freed, *rest)))
        if not problem.choices.is_counting or (problem.max_changed is not None and not problem.choices.is_plain):
            return False
        moving = problem.base + problem.choices.features(freed)
        return all(  # by the most that each can do
            c.inner.admits(moving + problem.choices.features(sorted(rest, key=row.__getitem__)[-missing:]))
            for c, row in zip(problem.constraints, problem.drops, strict=True)
        )


def _by_weight(problem: Problem) -> Items:
    """Return the items that can be freed at all, weightiest first; with one constraint that is the exact order."""
    possible = [k for k in problem.open if problem.admits([k])]
    if len(problem.constraints) == 1:
        (drops,) = problem.drops
        return tuple(sorted(possible, key=lambda k: (drops[k], -k), reverse=True))
    return tuple(sorted(possible, key=lambda k: (-problem.weight(k), k)))


def _kept(problem: Problem, freed: Sequence[int]) -> Items:
    gone = problem.choices.free.union(freed)
    return tuple(k for k in range(len(problem.costs)) if k not in gone)


def _knapsacks(problem: Problem, items: Items, cover: Cover) -> list[Knapsack]:
    """Return what the scenarios of a proof say of the sets of some items that may be freed."""
    assert isinstance(cover.proof, Scenarios)
    return [knapsack(one, problem.outer.constraints[part], problem, items) for part, one in cover.proof.scenarios]


def _surrogates(count: int, cover: Cover, most: int = 8) -> list[Multipliers]:
    """Return each constraint alone, and some multipliers that the proof of the cover made use of."""
    found: list[Multipliers] = [tuple(ONE if k == c else ZERO for k in range(count)) for c in range(count)]
    if isinstance(cover.proof, Scenarios):
        return found
    stack = [cover.proof]
    while stack and len(found) < count + most:
        tree = stack.pop()
        match tree:
            case Branch():
                stack += [tree.fixed, *([] if tree.freed is None else [tree.freed])]
            case Bound():
                found += [] if tree.multipliers in found else [tree.multipliers]
    return found
