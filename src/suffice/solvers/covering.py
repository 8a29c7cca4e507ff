"""A best set of features that suffices for several constraints at once, to proven optimality.

With several constraints no single order of the features is right: it is a covering problem. So it is with costs. Most
are settled by `covers`, in whole numbers. For the tree that a certificate needs, for limits on changes, and where that
takes too long, a float solver (SciPy's HiGHS) proposes sets and multipliers here, and exact arithmetic decides. What is
proven rests on three facts:

- *A set is sufficient* if every constraint admits the features it frees: exact sums.
- *No set frees more than this* if some multipliers `λ ≥ 0` say so (`Problem.most`).
- *A better item is freed first* (`Problem.better`).

Branch and bound closes the gap between a set and a bound: a node keeps some items and frees others; it is done when its
bound shows that it frees no more than the best set known. A float ends a
node only with a rigorous bound of its error. The tree is the proof.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.core.constraint import Constraint
from suffice.numbers.exact import nearest_float
from suffice.question.preferences import Choices
from suffice.solvers.covers import first_best_cover
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Bound, Branch, Cover, Grown, Multipliers, Tree
from suffice.solvers.scenarios import ScenarioSearch
from suffice.solvers.smallest import smallest_sufficient

_DEEPEST = 200  # levels of the tree; a node below counts as past the budget


def smallest_cover(
    constraints: Sequence[Constraint],
    choices: Choices | None = None,
    *,
    max_nodes: int = 100_000,
    max_seconds: float = 60.0,
) -> Cover:
    """Return a set of least cost that suffices for all constraints, or the best known when a budget ends.

    Parameters
    ----------
    constraints : sequence of Constraint
        One or more, over the same features; each admits what the choices free in any case.
    choices : Choices, optional
        Items and their costs. Default: each feature for itself, so that the cost is the number of features.
    max_nodes, max_seconds : int, float
        Budgets of the search; past either the bound may lie below the cost of the set.

    Notes
    -----
    Of several best sets it is the one that keeps the weightiest items: with the items sorted by the largest share of a
    margin that they use up, equal ones in the order of their features, each item in turn is kept if some best set keeps
    it beside those kept before. Where that search would take more than some 100,000 nodes, and with a limit on changes
    where drops add up, it is some best set; which, may depend on the version of SciPy.
    """
    problem = Problem(constraints, choices)
    if not problem.adds_up:
        return ScenarioSearch(problem, max_nodes, max_seconds).run()
    if len(problem.constraints) == 1 and problem.choices.is_plain:
        fixed = smallest_sufficient(problem.constraints[0])
        return Cover(fixed, len(fixed), len(fixed), 0, Bound((fmpq(1),)))
    search = _Search(problem, max_nodes, max_seconds)
    found = first_best_cover(problem, search.open, max_nodes)
    if found is None:
        return search.run()
    freed, nodes = found
    return search.known(freed, nodes)


class _Search:
    """State of one branch and bound."""

    def __init__(self, problem: Problem, max_nodes: int, max_seconds: float) -> None:
        self.problem, self.max_nodes = problem, max_nodes
        self.deadline = time.monotonic() + max_seconds
        self.nodes = 0
        # An item that alone breaks a constraint is in every sufficient set.
        self.needed = [k for k in problem.doubtful() if not problem.admits([k])]
        self.open = tuple(k for k in problem.open if k not in set(self.needed))
        self.best: frozenset[int] = frozenset()  # the freed items of the best set known
        self.most = 0  # and their cost

    def run(self) -> Cover:
        """Return the best set that is found within the budgets, with a proven bound."""
        self._offer(self._greedy())
        tree, bound = self._grown()
        return self._cover(tree, bound, self.nodes)

    def known(self, freed: frozenset[int], nodes: int) -> Cover:
        """Return the cover that frees a set of items which is known to be best; its proof is made when asked for."""
        self.best, self.most = freed, self.problem.cost(freed)
        seconds = self.deadline - time.monotonic()
        return self._cover(Grown(lambda: self._again(seconds)), self.most, nodes)

    def _again(self, seconds: float) -> Tree:
        """Return the tree of a search that starts from the best set."""
        self.deadline = time.monotonic() + seconds
        return self._grown()[0]

    def _grown(self) -> tuple[Tree, int]:
        problem = self.problem
        count = len(problem.constraints)
        alone = [tuple(fmpq(k == c) for k in range(count)) for c in range(count)]
        first = min(alone, key=lambda one: problem.most((), self.open, one, enough=0))
        tree, bound = self._prove(frozenset(), self.open, first, depth=0)
        for k in reversed(self.needed):
            tree = Branch(k, tree, None)
        return tree, bound

    def _cover(self, proof: Tree | Grown, bound: int, nodes: int) -> Cover:
        problem = self.problem
        everything = problem.cost([k for k in range(len(problem.costs)) if k not in problem.choices.free])
        freed = problem.choices.free | self.best
        items = problem.ranked([k for k in range(len(problem.costs)) if k not in freed])
        fixed = tuple(problem.choices.features(items))
        return Cover(fixed, everything - self.most, everything - max(bound, self.most), nodes, proof)

    # --- sets that free much ----------------------------------------------------------------------------------------

    def _offer(self, freed: frozenset[int]) -> None:
        """Take a proposed set if it is better; items that floats freed by mistake are fixed again first."""
        problem = self.problem
        while not problem.admits(freed):
            freed -= {max(freed, key=lambda k: (problem.weight(k) / problem.costs[k], k))}
        for k in self.open:  # what still fits is freed too
            if k not in freed and problem.admits(freed | {k}):
                freed |= {k}
        if problem.cost(freed) > self.most:
            self.best, self.most = freed, problem.cost(freed)

    def _greedy(self) -> frozenset[int]:
        problem = self.problem
        freed: frozenset[int] = frozenset()
        for k in sorted(self.open, key=lambda k: problem.weight(k) / problem.costs[k]):
            if problem.admits(freed | {k}):
                freed |= {k}
        return freed

    def _solved(self) -> frozenset[int]:
        """Return what HiGHS thinks is the best set."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        drops, rest, _ = self._scaled((), self.open)
        if not (np.isfinite(drops).all() and np.isfinite(rest).all()):
            return frozenset()
        found = milp(
            -np.array([float(self.problem.costs[k]) for k in self.open]),
            constraints=LinearConstraint(drops, -np.inf, rest),
            integrality=np.ones(len(self.open)),
            bounds=Bounds(0, 1),
            options={"time_limit": max(0.1, min(10.0, self.deadline - time.monotonic()))},
        )
        shares = np.zeros(len(self.open)) if found.x is None else found.x
        return frozenset(k for k, share in zip(self.open, shares, strict=True) if share > 0.5)

    # --- the proof --------------------------------------------------------------------------------------------------

    def _prove(
        self, freed: frozenset[int], open_: tuple[int, ...], multipliers: Multipliers, depth: int
    ) -> tuple[Tree, int]:
        """Return a tree below a node, and its bound on the cost that any allowed set frees there."""
        self.nodes += 1
        start = self.problem.cost(freed)
        bound = start + self.problem.most(freed, open_, multipliers, self.most - start)
        if bound <= self.most or self.nodes > self.max_nodes or depth > _DEEPEST or time.monotonic() > self.deadline:
            return Bound(multipliers), bound
        tighter, shares = self._relax(freed, open_)
        self._offer(freed | {k for k, share in zip(open_, shares.tolist(), strict=True) if share > 0.999})
        again = start + self.problem.most(freed, open_, tighter, self.most - start)
        if depth == 0 and again > self.most and self.problem.max_changed is None:
            self._offer(self._solved())
        if again <= self.most:
            return Bound(tighter), again
        return self._branch(freed, open_, tighter, open_[int(np.argmin(np.abs(shares - 0.5)))], depth)

    def _branch(
        self, freed: frozenset[int], open_: tuple[int, ...], multipliers: Multipliers, item: int, depth: int
    ) -> tuple[Tree, int]:
        problem = self.problem
        more = freed | {item} | problem.better[item].intersection(open_)
        freed_tree, freed_bound = None, 0
        if problem.admits(more):
            self._offer(more)
            rest = tuple(k for k in open_ if k not in more)
            freed_tree, freed_bound = self._prove(more, rest, multipliers, depth + 1)
        rest = tuple(k for k in open_ if k != item and k not in problem.worse[item])
        kept_tree, kept_bound = self._prove(freed, rest, multipliers, depth + 1)
        return Branch(item, kept_tree, freed_tree), max(kept_bound, freed_bound)

    def _relax(self, freed: Collection[int], open_: Sequence[int]) -> tuple[Multipliers, NDArray[np.float64]]:
        """Return multipliers and fractional shares from the linear relaxation, as HiGHS sees it."""
        from scipy.optimize import linprog

        halves = np.full(len(open_), 0.5)
        if len(self.problem.constraints) == 1:
            return (fmpq(1),), halves
        drops, rest, largest = self._scaled(freed, open_)
        if not (np.isfinite(drops).all() and np.isfinite(rest).all()):  # beyond floats
            return (fmpq(1),) * len(self.problem.constraints), halves
        costs = np.array([float(self.problem.costs[k]) for k in open_])
        found = linprog(-costs, A_ub=drops, b_ub=np.maximum(rest, 0.0), bounds=(0, 1), method="highs")
        if found.x is None:
            return (fmpq(1),) * len(self.problem.constraints), halves
        with np.errstate(over="ignore"):
            duals = np.maximum(-found.ineqlin.marginals, 0.0) / largest
        return _rationalised(duals), found.x

    def _scaled(
        self, freed: Collection[int], open_: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return float drops and what is left of the margins, each divided by the largest drop, and that drop."""
        problem = self.problem
        features = problem.base + problem.choices.features(freed)
        left = np.array([nearest_float(c.margin) - sum(c.floats[i] for i in features) for c in problem.constraints])
        drops = problem.floats[:, list(open_)]
        largest = np.maximum(drops.max(axis=1, initial=0.0), 1e-300)
        with np.errstate(over="ignore", invalid="ignore"):
            return drops / largest[:, None], np.minimum(left / largest, 1e6), largest


def _rationalised(duals: NDArray[np.float64]) -> Multipliers:
    """Return rationals of few digits in the proportions of the duals; any that are not negative will do."""
    top = float(duals.max(initial=0.0))
    if not (np.isfinite(top) and top > 0):
        return (fmpq(1),) * len(duals)
    return tuple(fmpq(round(float(dual) / top * 2**40), 2**40) for dual in duals)
