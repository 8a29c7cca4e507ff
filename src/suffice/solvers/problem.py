"""Constraints over items, as the searches see them: which sets may be freed, and how much freeing is possible at most.

In: constraints over features, and the choices among them. Out: exact answers. What floats say is taken only where a
rigorous bound of their error leaves no doubt. Which sets may be freed is for the constraints to say; dominance and
bounds are for constraints whose drops add up (`Problem.adds_up`), others have scenarios instead.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from suffice.core.constraint import Constraint, Drop, total
from suffice.core.drops import Separable
from suffice.core.later_drops import sorted_by_bounds
from suffice.errors import Undecided
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.surd import lower, upper
from suffice.question.preferences import Choices
from suffice.solvers.proofs import Multipliers


class Problem:
    """Which items can be freed together.

    Parameters
    ----------
    constraints : sequence of Constraint
        One or more, over the same features; each holds at the row itself.
    choices : Choices, optional
        The items and their costs. Default: each feature for itself.
    """

    def __init__(self, constraints: Sequence[Constraint], choices: Choices | None = None) -> None:
        self.constraints = tuple(constraints)
        self.choices = Choices.single(len(constraints[0].drops)) if choices is None else choices
        self.max_changed = self.constraints[0].max_changed
        self.costs = self.choices.costs
        self.base = self.choices.features(sorted(self.choices.free))  # features that are freed in any case
        decided = self.choices.fix | self.choices.free
        self.open = tuple(k for k in range(len(self.costs)) if k not in decided)
        self._weights: dict[int, float] = {}

    @property
    def adds_up(self) -> bool:
        """Whether the falls of items are the sums of their drops, for every constraint."""
        return all(isinstance(constraint, Separable) for constraint in self.constraints)

    def admits(self, freed: Collection[int]) -> bool:
        """Whether the claim holds whatever the freed items do, beside those freed in any case."""
        features = self.base + self.choices.features(freed)
        return all(constraint.admits(features) for constraint in self.constraints)

    def doubtful(self) -> tuple[int, ...]:
        """Return the open items that floats do not show to be admitted alone, beside those freed in any case."""
        if self.base or not self.adds_up or self.max_changed is not None:
            return self.open
        margins = np.array([[nearest_float(c.margin)] for c in self.constraints])
        # A margin is within 2^-53 of its float, and a drop, were it a denormal, within its bounds.
        is_sure: NDArray[np.bool_] = np.all(self.bounds[1] * (1 + 2.0**-50) + 1e-320 < margins, axis=0)
        return tuple(k for k in self.open if not is_sure[k])

    def may_admit(self, freed: Collection[int]) -> bool | None:
        """Return the same; None where numbers that are only enclosed leave it open."""
        try:
            return self.admits(freed)
        except Undecided:
            return None

    @cached_property
    def outer(self) -> Problem:
        """What refuses only what is refused for certain; the problem itself where all numbers are known."""
        outer = tuple(constraint.outer for constraint in self.constraints)
        return (
            self if all(a is b for a, b in zip(outer, self.constraints, strict=True)) else Problem(outer, self.choices)
        )

    def in_order(self, items: Collection[int]) -> list[int] | None:
        """Return items by their drops in the only constraint, ascending; None where that order is not known."""
        ascending = sorted(items, key=self.drops[0].__getitem__)
        least = self.outer.drops[0]
        is_known = self.outer is self or all(self.drops[0][a] <= least[b] for a, b in pairwise(ascending))
        return ascending if is_known else None

    def cost(self, items: Collection[int]) -> int:
        """Return what keeping some items costs."""
        return sum(self.costs[k] for k in items)

    @cached_property
    def drops(self) -> tuple[Sequence[Drop], ...]:
        """For each constraint a drop of each item: that of all its features, or their largest if few may move."""
        items = self.choices.items
        if items == tuple((i,) for i in range(len(items))):
            return tuple(c.drops for c in self.constraints)
        # Where few features may move, the largest drop of a group stands for it: a bound, for more could move.
        join = total if self.max_changed is None else max
        return tuple(tuple(join(c.drops[i] for i in item) for item in items) for c in self.constraints)

    @cached_property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Floats between which the drops lie, by constraint and item."""
        if self.drops and self.drops[0] is self.constraints[0].drops:
            low, high = zip(*(c.bounds for c in self.constraints), strict=True)
            return np.array(low), np.array(high)
        return np.nextafter(self.floats, 0.0), np.nextafter(self.floats, np.inf)

    @cached_property
    def floats(self) -> NDArray[np.float64]:
        """The drops as the nearest floats, by constraint and item; infinities stay."""
        rows = [[np.inf if drop.is_infinite else nearest_float(drop.value) for drop in row] for row in self.drops]
        return np.array(rows, dtype=float).reshape(len(self.constraints), len(self.costs))

    def fall_of_base(self, c: int) -> Drop:
        """Return how far the features that are freed in any case lower the score of a constraint."""
        return total(self.constraints[c].drops[i] for i in self.base)

    def room(self, c: int) -> Rational:
        """Return what these leave of its margin."""
        return self.constraints[c].margin - self.fall_of_base(c).value

    def weight(self, item: int) -> float:
        """Return the largest share of a margin that an item uses up: an order for guesses and for people."""
        if item not in self._weights:
            self._weights[item] = max(
                (math.inf if row[item].is_infinite else nearest_float(row[item].value))
                / max(nearest_float(c.margin), 1e-300)
                for row, c in zip(self.drops, self.constraints, strict=True)
            )
        return self._weights[item]

    def ranked(self, items: Collection[int]) -> list[int]:
        """Return items by their weight, the weightiest first; of equal ones by drop, then as they come."""
        # The weight is off by far less than the share; what bounds do not tell apart is looked at exactly.
        margins = np.array([[max(nearest_float(c.margin), 1e-300)] for c in self.constraints])
        with np.errstate(all="ignore"):
            low, high = ((bound / margins).max(axis=0) for bound in self.bounds)
            low = np.nan_to_num(low * (1 - 2.0**-50))
            high = np.nan_to_num(high * (1 + 2.0**-50), nan=np.inf, posinf=np.inf) + 1e-320
        ascending = sorted_by_bounds(
            items, low.tolist(), high.tolist(), lambda k: (self.weight(k), *(row[k] for row in self.drops), -k)
        )
        return ascending[::-1]

    # --- dominance ------------------------------------------------------------------------------------------------

    @cached_property
    def better(self) -> tuple[frozenset[int], ...]:
        """For each open item those that are freed before it: no larger drop anywhere, no smaller cost.

        In an allowed set a freed item may be swapped for a better one that is fixed: the set stays allowed and frees no
        less cost. So some best set frees an item only together with all that are better. Of equal items the earlier
        one counts as better.
        """
        nobody: frozenset[int] = frozenset()
        if self.max_changed is not None and any(len(item) > 1 for item in self.choices.items):
            return (nobody,) * len(self.costs)  # then a drop is only a bound, and tells nothing of a swap
        ranks = np.array([_ranks(row, near.tolist()) for row, near in zip(self.drops, self.floats, strict=True)])
        costs = np.array(self.costs, dtype=object)
        found = [nobody] * len(self.costs)
        for k in self.open:
            no_worse = (ranks <= ranks[:, [k]]).all(axis=0) & (costs >= costs[k])
            is_twin = (ranks == ranks[:, [k]]).all(axis=0) & (costs == costs[k])
            found[k] = frozenset(i for i in self.open if no_worse[i] and (not is_twin[i] or i < k))
        return tuple(found)

    @cached_property
    def worse(self) -> tuple[frozenset[int], ...]:
        """For each open item those that are fixed whenever it is."""
        return tuple(frozenset(k for k in self.open if i in self.better[k]) for i in range(len(self.costs)))

    # --- how much can be freed ------------------------------------------------------------------------------------

    def most(self, freed: Collection[int], open_: Sequence[int], multipliers: Multipliers, enough: int) -> int:
        """Return a bound on the cost of the open items that can be freed beside those freed already.

        Any multipliers λ ≥ 0 turn the constraints into one, the *surrogate* `Σ_c λ_c · (constraint c)`, which holds for
        every allowed set. How much fits into it is a knapsack, bounded by filling it in the order of cost for weight
        with the last item in part. A bound above `enough` need not be the best these multipliers give.
        """
        used = [c for c, value in enumerate(multipliers) if value]
        if not used:
            return self.cost(open_)
        if self.max_changed is not None:
            return self._most_of_few(freed, open_, multipliers, used)
        if self.choices.is_counting:
            fits, can_be_less = self._most_by_floats(freed, open_, multipliers)
            if fits <= enough or not can_be_less:
                return fits
        features = self.base + self.choices.features(freed)
        room = sum((multipliers[c] * self._rest(c, features) for c in used), ZERO)
        weights = [(sum((multipliers[c] * self.drops[c][k].value for c in used), ZERO), self.costs[k]) for k in open_]
        rounded = [(lower(weight), cost) for weight, cost in weights]  # as rationals are already
        return _knapsack(rounded, upper(room), is_strict=self._is_strict(used))

    def _rest(self, c: int, features: Sequence[int]) -> Rational:
        constraint = self.constraints[c]
        return constraint.margin + constraint.gap - sum((constraint.drops[i].value for i in features), ZERO)

    def _is_strict(self, used: Sequence[int]) -> bool:
        """Whether an allowed set never uses up the room of the surrogate."""
        # Used up, every constraint that takes part is tight; a strict one allows that only if a drop is approached.
        return any(self.constraints[c].is_strict and all(d.edge >= 0 for d in self.constraints[c].drops) for c in used)

    def _most_by_floats(
        self, freed: Collection[int], open_: Sequence[int], multipliers: Multipliers
    ) -> tuple[int, bool]:
        """Return a bound on how many open items fit, and whether exact arithmetic might find a smaller one."""
        features = self.base + self.choices.features(freed)
        factors = np.array([nearest_float(value) for value in multipliers])
        with np.errstate(over="ignore", invalid="ignore"):
            return self._count_by_floats(features, open_, factors)

    def _count_by_floats(
        self, features: Sequence[int], open_: Sequence[int], factors: NDArray[np.float64]
    ) -> tuple[int, bool]:
        weights = np.sort(factors @ self.floats[:, list(open_)]) if len(open_) else np.zeros(0)
        taken = np.array([[c.floats[i] for i in features] for c in self.constraints]).reshape(len(factors), -1)
        margins = np.array([nearest_float(c.margin + c.gap) for c in self.constraints])
        room = float(factors @ margins - factors @ taken.sum(axis=1))
        # All numbers are sums of products of non-negative floats, each within 2^-53 of the exact one: n operations
        # leave a sum within n · 2^-52 of its own size, and the sizes are those of margins and drops.
        size = float(factors @ np.abs(margins) + factors @ taken.sum(axis=1))
        count = len(factors) + len(features) + len(weights) + 8
        sums = np.cumsum(weights)
        error = (sums + size) * count * 2.0**-51 + count * 1e-310
        if not (np.isfinite(size) and np.isfinite(sums).all()):
            return len(weights), True
        return int((sums - error <= room).sum()), bool(((sums - error <= room) != (sums + error < room)).any())

    def _most_of_few(
        self, freed: Collection[int], open_: Sequence[int], multipliers: Multipliers, used: Sequence[int]
    ) -> int:
        """Return the bound where only some of the freed features may move at once."""
        # The largest drops of a sum of constraints are no more than the sum of their largest drops: the surrogate
        # holds with its own largest drops. The smallest weights fill it slowest.
        assert self.max_changed is not None
        features = self.base + self.choices.features(freed)
        moving = [sum((multipliers[c] * self.constraints[c].drops[i].value for c in used), ZERO) for i in features]
        room = sum((multipliers[c] * self._rest(c, ()) for c in used), ZERO)
        is_strict, fits = self._is_strict(used), 0
        for weight in sorted(self._largest_weight(k, multipliers, used) for k in open_):
            moving = sorted([*moving, weight], reverse=True)[: self.max_changed]
            fall = sum(moving, ZERO)
            if fall > room or (is_strict and fall == room):
                break
            fits += 1
        return sum(sorted((self.costs[k] for k in open_), reverse=True)[:fits])

    def _largest_weight(self, item: int, multipliers: Multipliers, used: Sequence[int]) -> Rational:
        return max(
            sum((multipliers[c] * self.constraints[c].drops[i].value for c in used), ZERO)
            for i in self.choices.items[item]
        )


def _ranks(drops: Sequence[Drop], near: Sequence[float]) -> list[int]:
    """Return each drop's place in the order of all, equal drops at the same place."""
    order = sorted(range(len(drops)), key=lambda i: (near[i], drops[i]))
    steps = [0, *(drops[b] != drops[a] for a, b in pairwise(order))]
    ranks = [0] * len(drops)
    for i, rank in zip(order, accumulate(steps), strict=False):
        ranks[i] = rank
    return ranks


def _knapsack(weights: Sequence[tuple[Rational, int]], room: Rational, *, is_strict: bool) -> int:
    """Return a bound on the whole-numbered cost of items that fit into the room, for weights and costs."""
    if room < 0:
        return 0
    cost = 0
    for weight, gain in sorted(weights, key=lambda pair: pair[0] / pair[1]):
        if weight > room:
            # Filled to the brim, by part of this item; where the brim cannot be reached the cost stays below.
            brim = room * gain / weight
            return cost + (int(brim.ceil()) - 1 if is_strict else int(brim.floor()))
        if is_strict and weight and weight == room:
            return cost + gain - 1
        room -= weight
        cost += gain
    return cost
