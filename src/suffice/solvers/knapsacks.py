"""Scenarios as quadratic knapsacks over items, and what follows from several of them.

A scenario says of every set that may be freed: what its items lower the score by, each alone and two together, leaves
the claim true. So with 1 for a freed item and 0 for a kept one, and whole numbers throughout,

    Σ weights[k]·y[k] + Σ products[k, l]·y[k]·y[l] ≤ room.

Some of what is approached but not attained is no reason for fractions: values are multiples of some unit, so that a
thousandth of it, say, tells "just below" from "exactly" as well as an infinitesimal would.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from suffice.core.constraint import Constraint, Scenario
from suffice.solvers.problem import Problem

SHARES = 16  # shares of products are counted in sixteenths
_STEPS = 2**20  # so many times more steps to the unit than needed: sums of knapsacks tell steps from units too


class Knapsack(NamedTuple):
    """`Σ weights + Σ products ≤ room` for every allowed set of items; all numbers are whole and count 1 / `scale`."""

    weights: tuple[int, ...]
    products: Mapping[tuple[int, int], int]  # the smaller item first; none is 0
    room: int
    scale: int

    def load(self, freed: Collection[int]) -> int:
        """Return what some items take of the room."""
        some = set(freed)
        both = sum(value for (k, other), value in self.products.items() if k in some and other in some)
        return sum(self.weights[k] for k in some) + both

    def most(self, freed: Collection[int], open_: Collection[int], costs: Sequence[int]) -> int:
        """Return a bound on what undecided items cost that fit beside freed ones; below 0 where these do not fit.

        A product of two undecided items counts as 0 if it takes room; if it makes room, each bears half of it.
        """
        some, rest = set(freed), set(open_)
        loads = {k: 2 * self.weights[k] for k in open_}
        room = 2 * (self.room - self.load(some))
        for (k, other), value in self.products.items():
            for one, two in ((k, other), (other, k)):
                if one in rest and two in some:
                    loads[one] += 2 * value
                elif one in rest and two in rest:
                    loads[one] += min(value, 0)
        # What makes room is taken first: sums of the lightest fall before they rise.
        room -= sum(load for load in loads.values() if load < 0)
        if room < 0:
            return -1
        gain = sum(costs[k] for k, load in loads.items() if load <= 0)
        for k in sorted((k for k, load in loads.items() if load > 0), key=lambda k: (fmpq(loads[k], costs[k]), k)):
            if loads[k] > room:
                return gain + room * costs[k] // loads[k]
            room -= loads[k]
            gain += costs[k]
        return gain

    def allows(self, freed: Collection[int]) -> bool:
        """Whether some items fit."""
        return self.load(freed) <= self.room


class Limit(NamedTuple):
    """The largest few `weights` of freed items are no more than the `room` together, beside those of the `base`."""

    weights: tuple[int, ...]
    base: tuple[int, ...]
    room: int


def combined(knapsacks: Sequence[Knapsack], multipliers: Collection[tuple[int, int]]) -> Knapsack:
    """Return the sum of some knapsacks times multipliers: one that holds too."""
    scale = math.lcm(*(knapsacks[t].scale for t, _ in multipliers))
    weights, products, room = [0] * len(knapsacks[0].weights), dict[tuple[int, int], int](), 0
    for t, multiplier in multipliers:
        one = knapsacks[t]
        factor = multiplier * (scale // one.scale)
        room += factor * one.room
        weights = [total + factor * value for total, value in zip(weights, one.weights, strict=True)]
        for pair, value in one.products.items():
            products[pair] = products.get(pair, 0) + factor * value
    return Knapsack(tuple(weights), {pair: value for pair, value in products.items() if value}, room, scale)


def knapsack(scenario: Scenario, constraint: Constraint, problem: Problem, items: Sequence[int]) -> Knapsack:
    """Return what a scenario says of the sets of some items that may be freed, beside those freed in any case.

    Notes
    -----
    All values are multiples of a unit. An edge counts as a whole number of steps so small that those of all `n`
    features together stay far below it: -1 step where a value is only approached, `n + 1` steps where it is about
    to grow, so that one of these outweighs all of those, as in `total`. A strict inequality leaves one step of the
    room.
    """
    place = {i: p for p, k in enumerate(items) for i in problem.choices.items[k]}
    base = set(problem.base)
    room = constraint.margin + constraint.gap
    drops = [(i, scenario.weights[i]) for i in (*problem.base, *place)]
    products = [
        (i, j, value)
        for (i, j), value in scenario.products.items()
        if (i in place or i in base) and (j in place or j in base)
    ]
    unit = math.lcm(int(room.q), *(int(drop.value.q) for _, drop in drops), *(int(v.q) for _, _, v in products))
    steps = 1
    if constraint.is_strict or any(drop.edge for _, drop in drops):
        steps = (len(scenario.weights) + 1) ** 2 * _STEPS
    scale = unit * steps

    left = int(room.p) * (scale // int(room.q)) - constraint.is_strict
    weights, both = [0] * len(items), dict[tuple[int, int], int]()
    for i, drop in drops:
        assert not drop.is_infinite, "an item that lowers the score without bound is kept in any case"
        value = int(drop.value.p) * (scale // int(drop.value.q)) + _steps(drop.edge, len(scenario.weights))
        if i in place:
            weights[place[i]] += value
        else:
            left -= value
    for i, j, exact in products:
        value = int(exact.p) * (scale // int(exact.q))
        one, two = sorted((place.get(i, -1), place.get(j, -1)))
        if two < 0:
            left -= value
        elif one < 0 or one == two:
            weights[two] += value
        else:
            both[one, two] = both.get((one, two), 0) + value
    return Knapsack(tuple(weights), {pair: value for pair, value in both.items() if value}, left, scale)


def _steps(edge: int, count: int) -> int:
    return edge if edge <= 0 else edge * (count + 1)


def limit(scenario: Scenario, constraint: Constraint, problem: Problem, items: Sequence[int], most: int) -> Limit:
    """Return what a scenario of any number of changes says where only `most` features may change at once.

    Notes
    -----
    Let `u` be the scenario's weights, `q` its products. If a set of features may be freed, any `most` or fewer of them,
    a set `M`, may change as they do in the scenario: `Σ_M u + Σ_M q ≤ room`. Each product is at least half of its
    negative part for either end, and a feature of `M` has at most `most - 1` others there, so that

        Σ_{i,j ∈ M} q_ij ≥ Σ_{i ∈ M} ½·(the sum of the most - 1 lowest of min(q_ij, 0)).

    With these halves added, weights `w` of single features have `Σ_M w ≤ room` for all such `M`: the largest few of
    what is freed are no more than the room. A group's largest weight stands for it, as if its others stayed: `M`
    may be so.
    """
    open_ = problem.choices.features(items)
    moving = [*problem.base, *open_]
    alone = knapsack(scenario, constraint, Problem(problem.constraints), moving)
    below: dict[int, list[int]] = {}
    for pair, value in alone.products.items():
        for p in pair if value < 0 else ():
            below.setdefault(p, []).append(value)
    twice = {i: 2 * alone.weights[p] + sum(sorted(below.get(p, ()))[: max(most - 1, 0)]) for p, i in enumerate(moving)}
    base = sorted((max(twice[i], 0) for i in problem.base), reverse=True)[:most]
    weights = tuple(max(twice[i] for i in problem.choices.items[k]) for k in items)
    return Limit(weights, (*base, *(0,) * (most - len(base))), 2 * alone.room)


# --- as arrays --------------------------------------------------------------------------------------------------------


class Arrays(NamedTuple):
    """One knapsack as arrays over items: what `knapsack_kernel.Knapsacks` has for several."""

    weights: Any
    products: Any
    parts: Any
    spare: Any
    room: int
    is_exact: bool


def arrays(one: Knapsack, shares: Collection[tuple[int, int, int]], bits: int | None) -> Arrays:
    """Return a knapsack in whole numbers whose sum stays below so many bits: weights rounded down, the room up.

    Numbers are 16 times as large, so that every share of a product is whole too. Without `bits` nothing is rounded.
    """
    kind: Any = object if bits is None else np.int64
    size = sum(map(abs, one.weights)) + 2 * sum(map(abs, one.products.values())) + abs(one.room)
    shift = 0 if bits is None else max(0, (SHARES * size).bit_length() + 1 - bits)
    count = len(one.weights)
    weights = np.array([(SHARES * value) >> shift for value in one.weights], dtype=kind)
    products, parts, spare = (np.zeros((count, count), dtype=kind) for _ in range(3))
    given = {(k, other): share for k, other, share in shares}
    for (k, other), value in one.products.items():
        share = given.get((k, other), SHARES // 2 if value < 0 else 0)
        products[k, other] = products[other, k] = (SHARES * value) >> shift
        parts[k, other] = (share * value) >> shift
        parts[other, k] = ((share if value > 0 else SHARES - share) * value) >> shift
        spare[k, other] = spare[other, k] = -(-(share * value) >> shift) if value > 0 else 0
    return Arrays(weights, products, parts, spare, -(-(SHARES * one.room) >> shift), shift == 0)
