"""The smallest set of features that suffices for several constraints at once, to proven optimality.

With several constraints no single order of the features is right: it is a covering problem. A float solver (SciPy's
HiGHS) proposes sets and multipliers; exact arithmetic decides. What is proven rests on two facts alone:

- *A set is sufficient* if every constraint admits the features it frees: exact sums.
- *No set frees more than u features* if some multipliers `λ ≥ 0` say so: any allowed set satisfies the one *surrogate*
  constraint `Σ_c λ_c · (constraint c)`, and the smallest surrogate drops, added up in order, count how many can fit.

Branch and bound closes the gap between the two: a node fixes some features and frees others; it is done when its
surrogate bound shows that it frees no more than the best set known. Floats never end a node.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.drops import Constraint
from suffice.rational import ZERO, Rational, nearest_float


@dataclass(frozen=True, slots=True)
class Cover:
    """A sufficient set, and a proven bound on how small one can be.

    `kept` is sufficient; no sufficient set has fewer than `lower_bound` features. The two meet where it is smallest.
    """

    kept: tuple[int, ...]
    lower_bound: int
    nodes: int

    @property
    def is_smallest(self) -> bool:
        """Whether `kept` is proven to be a smallest sufficient set."""
        return len(self.kept) == self.lower_bound


def smallest_cover(constraints: Sequence[Constraint], *, max_nodes: int = 100_000, max_seconds: float = 60.0) -> Cover:
    """Return a smallest set of features that suffices for all constraints, or the best known when a budget ends.

    Parameters
    ----------
    constraints : sequence of Constraint
        One or more, over the same features; each holds at the row itself.
    max_nodes, max_seconds : int, float
        Budgets of the search; past either the bound may lie below the size of the set.

    Notes
    -----
    Of several smallest sets the one found depends on the solver's proposals, which are deterministic for a version of
    SciPy; its size does not.
    """
    return _Search(tuple(constraints), max_nodes, max_seconds).run()


class _Search:
    """State of one branch and bound."""

    def __init__(self, constraints: tuple[Constraint, ...], max_nodes: int, max_seconds: float) -> None:
        self.constraints, self.max_nodes = constraints, max_nodes
        self.deadline = time.monotonic() + max_seconds
        count = len(constraints[0].drops)
        # A feature that alone breaks a constraint is in every sufficient set.
        self.free = [i for i in range(count) if all(c.admits([i]) for c in constraints)]
        self.count, self.nodes = count, 0
        self.drops = np.array([[nearest_float(c.drops[i].value) for i in self.free] for c in constraints]).reshape(
            len(constraints), len(self.free)
        )
        self.margins = np.array([nearest_float(c.margin) for c in constraints])
        self.best: frozenset[int] = frozenset()  # the freed features of the best set known

    def run(self) -> Cover:
        self._offer(self._greedy())
        self._offer(self._proposed())
        bound = self._explore(frozenset(), frozenset())
        drops = [max(self._weight(c, i) for c in self.constraints) for i in range(self.count)]
        kept = sorted((i for i in range(self.count) if i not in self.best), key=lambda i: (-drops[i], i))
        return Cover(tuple(kept), self.count - max(bound, len(self.best)), self.nodes)

    @staticmethod
    def _weight(constraint: Constraint, feature: int) -> float:
        """Return a drop as a share of the margin, to order features for people."""
        drop = constraint.drops[feature]
        return np.inf if drop.is_infinite else nearest_float(drop.value) / max(nearest_float(constraint.margin), 1e-300)

    # --- sets that free many ----------------------------------------------------------------------------------------

    def _admits(self, freed: frozenset[int]) -> bool:
        return all(constraint.admits(freed) for constraint in self.constraints)

    def _offer(self, freed: frozenset[int]) -> None:
        """Take a proposed set if it is better; features that floats freed by mistake are fixed again first."""
        while not self._admits(freed):
            freed -= {max(freed, key=lambda i: max(self._weight(c, i) for c in self.constraints))}
        for i in self.free:  # what still fits is freed too
            if i not in freed and self._admits(freed | {i}):
                freed |= {i}
        if len(freed) > len(self.best):
            self.best = freed

    def _greedy(self) -> frozenset[int]:
        freed: frozenset[int] = frozenset()
        for i in sorted(self.free, key=lambda i: max(self._weight(c, i) for c in self.constraints)):
            if self._admits(freed | {i}):
                freed |= {i}
        return freed

    def _proposed(self) -> frozenset[int]:
        """Return what HiGHS thinks is the best set."""
        if not self.free or len(self.constraints) < 2:
            return frozenset()
        from scipy.optimize import Bounds, LinearConstraint, milp

        scaled, limits = self._scaled()
        found = milp(
            -np.ones(len(self.free)),
            constraints=LinearConstraint(scaled, -np.inf, limits),
            integrality=np.ones(len(self.free)),
            bounds=Bounds(0, 1),
            options={"time_limit": max(0.1, min(10.0, self.deadline - time.monotonic()))},
        )
        return (
            frozenset() if found.x is None else frozenset(i for i, x in zip(self.free, found.x, strict=True) if x > 0.5)
        )

    def _scaled(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return float drops and margins with each constraint divided by its largest drop."""
        largest = np.maximum(self.drops.max(axis=1, initial=0.0), 1e-300)
        return self.drops / largest[:, None], np.minimum(self.margins / largest, 1e6)

    # --- bounds on how many can be freed ------------------------------------------------------------------------------

    def _explore(self, freed: frozenset[int], fixed: frozenset[int]) -> int:
        """Return a proven bound on how many features any allowed set frees, below a node of the tree."""
        stack = [(freed, fixed)]
        while stack:
            if self.nodes >= self.max_nodes or time.monotonic() > self.deadline:
                return max(self._bound(*node)[0] for node in stack)
            self.nodes += 1
            node_freed, node_fixed = stack.pop()
            bound, branch = self._bound(node_freed, node_fixed)
            if bound <= len(self.best) or branch is None:
                continue
            stack.append((node_freed, node_fixed | {branch}))
            if self._admits(node_freed | {branch}):
                self._offer(node_freed | {branch})
                stack.append((node_freed | {branch}, node_fixed))
        return len(self.best)

    def _bound(self, freed: frozenset[int], fixed: frozenset[int]) -> tuple[int, int | None]:
        """Return how many features a node can free at most, and the feature to branch on."""
        places = [k for k, i in enumerate(self.free) if i not in freed and i not in fixed]
        open_ = [self.free[k] for k in places]
        rest = [_remaining(constraint, freed) for constraint in self.constraints]
        if not open_:
            return len(freed), None
        multipliers, shares = self._relax(places, [nearest_float(value) for value in rest])
        fits = min(
            [self._fitting(open_, rest, multipliers)]
            + [self._fitting(open_, rest, _only(c, len(rest))) for c in range(len(rest))]
        )
        return len(freed) + fits, open_[int(np.argmin(np.abs(shares - 0.5)))]

    def _fitting(self, open_: list[int], rest: list[Rational], multipliers: list[Rational]) -> int:
        """Return how many of the open features fit into the surrogate constraint."""
        used = [c for c, value in enumerate(multipliers) if value]
        room = sum((multipliers[c] * rest[c] for c in used), ZERO)
        weights = sorted(sum((multipliers[c] * self.constraints[c].drops[i].value for c in used), ZERO) for i in open_)
        # Where a strict constraint takes part and none of its drops is merely approached, the surrogate is strict.
        is_strict = any(
            self.constraints[c].is_strict and all(self.constraints[c].drops[i].is_attained for i in self.free)
            for c in used
        )
        total, fits = ZERO, 0
        for weight in weights:
            total = total + weight
            if total > room or (is_strict and total == room):
                break
            fits += 1
        return fits

    def _relax(self, places: list[int], rest: list[float]) -> tuple[list[Rational], NDArray[np.float64]]:
        """Return multipliers and fractional shares from the linear relaxation, as HiGHS sees it."""
        if len(self.constraints) == 1:
            return [fmpq(1)], np.full(len(places), 0.5)
        from scipy.optimize import linprog

        drops = self.drops[:, places]
        largest = np.maximum(drops.max(axis=1), 1e-300)
        limits = np.clip(np.array(rest) / largest, 0.0, 1e6)
        found = linprog(
            -np.ones(len(places)), A_ub=drops / largest[:, None], b_ub=limits, bounds=(0, 1), method="highs"
        )
        if found.x is None:
            return [fmpq(1)] * len(self.constraints), np.full(len(places), 0.5)
        duals = np.maximum(-found.ineqlin.marginals, 0.0) / largest
        return [_rationalised(value) for value in duals.tolist()], found.x


def _remaining(constraint: Constraint, freed: frozenset[int]) -> Rational:
    return constraint.margin - sum((constraint.drops[i].value for i in freed), ZERO)


def _only(c: int, count: int) -> list[Rational]:
    return [fmpq(1) if k == c else ZERO for k in range(count)]


def _rationalised(value: float) -> Rational:
    """Return a rational of few digits near a float; any that is not negative will do."""
    near = Fraction(value).limit_denominator(10**9) if np.isfinite(value) and value < 1e9 else Fraction(0)
    return fmpq(near.numerator, near.denominator)
