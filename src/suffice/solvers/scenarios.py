"""A set of least cost that suffices where features act together, to proven optimality.

The worst case of a set is for its constraints to say; each says it by a scenario, which bounds every other set too
(`knapsacks.py`). So sets that the scenarios known so far allow are proposed (`master.py`) and asked about; what breaks
one is the next scenario. It ends when nothing better is allowed: scenarios and a tree over items are the proof.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from suffice.core.constraint import Scenario
from suffice.errors import BudgetEnded
from suffice.question.budget import Clock
from suffice.solvers.knapsacks import knapsack, limit
from suffice.solvers.master import Master, prepare
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Branch, Cover, Scenarios, Surrogate, Tree

_EXTENDED = 3  # rounds in which a set that suffices is extended by all that still fits


class ScenarioSearch:
    """State of one search.

    Parameters
    ----------
    problem : Problem
        Constraints of which some do not add up; each admits what the choices free in any case.
    max_nodes, max_seconds : int, float
        Budget, which begins once everything that this process runs for the first time is compiled.
    """

    def __init__(self, problem: Problem, max_nodes: int, max_seconds: float) -> None:
        self.problem = problem
        # An item that alone breaks a constraint is in every sufficient set.
        self.needed = tuple(k for k in problem.open if self._is_needed(k))
        self.items = tuple(k for k in problem.open if k not in set(self.needed))
        self.costs = tuple(problem.costs[k] for k in self.items)
        prepare()
        self.master = Master(self.costs, Clock(max_nodes, time.monotonic() + max_seconds))
        self.scenarios: list[tuple[int, Scenario]] = []
        self.wide: list[tuple[int, Scenario]] = []
        self.best: tuple[int, ...] = ()  # the freed ones of the best set known, by their places among the items
        self.most = 0  # and their cost

    def _is_needed(self, item: int) -> bool:
        with suppress(BudgetEnded):
            return not self.problem.admits([item])
        return False

    def run(self) -> Cover:
        """Return a best set, or the best one known when the budget ends."""
        with suppress(BudgetEnded):
            self._search()
        with suppress(BudgetEnded):
            self._take_first()
        problem, master = self.problem, self.master
        everything = problem.cost([k for k in range(len(problem.costs)) if k not in problem.choices.free])
        freed = problem.choices.free.union(self.items[p] for p in self.best)
        kept = problem.ranked([k for k in range(len(problem.costs)) if k not in freed])
        proof = Scenarios(tuple(self.scenarios), tuple(self.wide), partial(self._tree, master.bound))
        fixed = tuple(problem.choices.features(kept))
        return Cover(fixed, everything - self.most, everything - master.bound, int(master.nodes), proof)

    def _search(self) -> None:
        everything, master = range(len(self.items)), self.master
        if self._breaks(everything) is None:
            return self._offer(everything)
        self._widen()
        self._extend(self._repaired(self._light()))
        rounds = 0
        while self.most < master.bound:
            enough = self.most + (master.bound - self.most) // 2
            found = master.find(enough).freed
            if found is None:
                master.bound = min(master.bound, enough)
                continue
            rounds += 1
            left = self._repaired(found)
            if len(left) < len(found) and rounds <= _EXTENDED:
                self._extend(left)
        return None

    def _take_first(self) -> None:
        """Take of all best sets the one that keeps the weightiest items, in turn; if there is time to find it.

        Scenarios allow what suffices, and more: if the first set that they allow suffices, it is the first of all.
        """
        if self.most < self.master.bound or not self.scenarios or not self.most:
            return
        place = {k: p for p, k in enumerate(self.items)}
        order = [place[k] for k in self.problem.ranked(self.items)]
        while (found := self.master.first(self.most - 1, order)) is not None:
            if self._breaks(found) is None:
                self.best = found
                return

    # --- scenarios ----------------------------------------------------------------------------------------------------

    def _breaks(self, freed: Iterable[int]) -> int | None:
        """Return the number of a new scenario that breaks a set; None if nothing does."""
        some = tuple(freed)
        features = self.problem.base + self.problem.choices.features(self.items[p] for p in some)
        for part, constraint in enumerate(self.problem.constraints):
            scenario = constraint.scenario(features)
            if scenario is not None:
                self.scenarios.append((part, scenario))
                self.master.add(knapsack(scenario, constraint, self.problem, self.items))
                assert not self.master.knapsacks[-1].allows(some), "a scenario rules out the set that it breaks"
                return len(self.scenarios) - 1
        return None

    def _widen(self) -> None:
        """Add what scenarios of any number of changes say where only few features may change at once."""
        problem = self.problem
        if problem.max_changed is None:
            return
        features = problem.base + problem.choices.features(self.items)
        for part, constraint in enumerate(problem.constraints):
            scenario = constraint.with_max_changed(None).scenario(features)
            if scenario is not None:
                one = limit(scenario, constraint, problem, self.items, problem.max_changed)
                self.master.limits.append((len(self.wide), one))
                self.wide.append((part, scenario))

    # --- sets ---------------------------------------------------------------------------------------------------------

    def _light(self) -> list[int]:
        """Return items that the first scenario allows, the lightest for their cost first."""
        one, left = self.master.knapsacks[0], list[int]()
        for p in sorted(range(len(self.items)), key=lambda p: (_ratio(one.weights[p], self.costs[p]), p)):
            if one.allows([*left, p]):
                left.append(p)
        return left

    def _repaired(self, freed: Iterable[int]) -> tuple[int, ...]:
        """Return those of some items that may be freed; of what breaks them, the item that adds most is kept."""
        left = list(freed)
        while (number := self._breaks(left)) is not None:
            one, some = self.master.knapsacks[number], set(left)
            lost = {p: one.weights[p] for p in left}
            for (p, other), value in one.products.items():
                if p in some and other in some:
                    lost[p] += value
                    lost[other] += value
            left.remove(max(left, key=lambda p: (_ratio(lost[p], self.costs[p]), p)))
        self._offer(left)
        return tuple(left)

    def _extend(self, freed: Sequence[int]) -> None:
        """Free whatever still fits, the lightest first."""
        problem, left = self.problem, list(freed)
        others = sorted(set(range(len(self.items))).difference(left), key=lambda p: (problem.weight(self.items[p]), p))
        for p in others:
            if self.master.allows([*left, p]) and self._breaks([*left, p]) is None:
                left.append(p)
        self._offer(left)

    def _offer(self, freed: Sequence[int]) -> None:
        cost = sum(self.costs[p] for p in freed)
        if cost > self.most:
            self.best, self.most = tuple(freed), cost

    # --- the proof ----------------------------------------------------------------------------------------------------

    def _tree(self, bound: int) -> Tree:
        """Return a tree over all items that shows that nothing which may be freed costs more than the bound."""
        tree = self._named(self.master.prove(bound))
        for k in reversed(self.needed):
            tree = Branch(k, tree, None)
        return tree

    def _named(self, tree: Tree) -> Tree:
        """Return a tree with items by their numbers in place of their places."""
        match tree:
            case Branch(place, fixed, freed):
                return Branch(self.items[place], self._named(fixed), None if freed is None else self._named(freed))
            case Surrogate(multipliers, shares):
                return Surrogate(multipliers, tuple((self.items[p], self.items[q], s) for p, q, s in shares))
        return tree


def _ratio(weight: int, cost: int) -> int:
    """Return a weight for its cost, as a whole number fine enough to compare."""
    return (weight << 64) // cost
