"""The best set for several constraints, in whole numbers: what a problem is to `cover_kernel`.

In: a problem whose drops add up, without a limit on changes. Out: the first of its best sets.
Guaranteed: exact. The kernel first sees each drop as so many parts of the margin, rounded down. Then every set that the
constraints admit fits, so that nothing better is missed; and if the first best choice is itself admitted, it is the
first of the admitted ones too. If not (a tie, or nearly one), no choice that has all of its items is admitted, which is
a knapsack more for the same search; after some such rounds it runs on the exact numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.errors import Undecided
from suffice.numbers.compiling import as_python
from suffice.numbers.exact import Rational, nearest_float
from suffice.solvers import cover_kernel as kernel
from suffice.solvers.problem import Problem

PARTS = 2**36  # of what is left of a margin
UNIT = 2**50  # of multipliers: beside the parts, large; times all costs, below 2^61
MOST_COST = 2**11  # of all items together
MOST_NODES = 100_000
_MOST_CUTS = 8  # choices that turn out not to be admitted before the search runs on exact numbers
_FINER = 2**14  # how much larger than the rooms a unit is
_LEAST, _MOST = 1e-250, 1e250  # margins between are far from the ends of floats


def first_best_cover(problem: Problem, open_: Sequence[int], max_nodes: int) -> tuple[frozenset[int], int] | None:
    """Return the items that the first best set frees, of those that are open and fit alone, and the nodes looked at.

    None where the budget of nodes ends, costs are too large for it, few features may change at once, or the answer is a
    near tie of margins that are enclosed or of drops that are not rational.
    """
    if problem.max_changed is not None:
        return None
    order = problem.ranked(open_)
    costs = [problem.costs[k] for k in order]
    if not order:
        return frozenset(), 0
    if sum(costs) > MOST_COST:
        return None
    budget = min(max_nodes, MOST_NODES)
    rooms = [problem.room(c) + constraint.gap for c, constraint in enumerate(problem.constraints)]
    used = [c for c, room in enumerate(rooms) if room > 0 and _weighs(problem, c, order)]
    if not used:
        return frozenset(order), 0
    rounded, nodes = _rounded_down(problem, order, [(c, rooms[c]) for c in used]), 0
    for _ in range(_MOST_CUTS):
        if rounded is None:
            break
        found = np.zeros(len(order), np.int8)
        scales, all_rooms = np.full(len(rounded), UNIT / PARTS), np.full(len(rounded), PARTS)
        most, more = kernel.first_best(
            rounded, all_rooms, np.array(costs), scales, np.int64(UNIT), budget - nodes, found
        )
        nodes += more
        if most == kernel.ENDED:
            return None
        freed = _freed(order, found)
        try:
            if problem.admits(freed):
                return freed, nodes
        except Undecided:
            break
        rounded = np.vstack([rounded, _cut(found)])
    drops = (problem.drops[c][k].value for c in used for k in order)
    if any(c.gap for c in problem.constraints) or not all(isinstance(one, fmpq) for one in (*rooms, *drops)):
        return None
    return _exactly(problem, order, [(c, rooms[c]) for c in used], budget - nodes, nodes)


def _weighs(problem: Problem, c: int, order: Sequence[int]) -> bool:
    """Whether some item uses up something of a margin."""
    return bool(problem.bounds[0][c, list(order)].any()) or any(problem.drops[c][k].value for k in order)


def _cut(found: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the weights of a knapsack that holds all but one of the items of a choice, whichever, but not all of them.

    A choice that the constraints do not admit is in none that they admit, so that each of these fits. With `n` items of
    `⌊P / (n - 1)⌋` parts of `P` each, `n - 1` are at most `P`, and all are `P + P / (n - 1) - n` or more, above `P`.
    """
    is_in = found == kernel.FREED
    count = int(is_in.sum())
    assert 1 < count < 2**16, "each item fits alone"
    return np.where(is_in, PARTS // (count - 1), 0)


def _freed(order: Sequence[int], found: NDArray[np.int8]) -> frozenset[int]:
    return frozenset(k for k, said in zip(order, found.tolist(), strict=True) if said == kernel.FREED)


def _rounded_down(
    problem: Problem, order: Sequence[int], rooms: Sequence[tuple[int, Rational]]
) -> NDArray[np.int64] | None:
    """Return the share of what is left of a margin that each item uses up, in parts, at most; None beyond floats."""
    weights = problem.bounds[0][[c for c, _ in rooms]][:, list(order)]
    near = np.array([nearest_float(room) for _, room in rooms])
    if not (np.isfinite(weights).all() and (near > _LEAST).all() and (near < _MOST).all()):
        return None
    # Bounds from below, and three roundings, each by at most 2^-53 of its result, or far less than a part.
    shares = weights / near[:, None] * PARTS * (1 - 2.0**-50)
    parts: NDArray[np.int64] = np.maximum(np.floor(shares).astype(np.int64) - 1, 0)
    return parts


def _exactly(
    problem: Problem, order: Sequence[int], rooms: Sequence[tuple[int, Rational]], budget: int, nodes: int
) -> tuple[frozenset[int], int] | None:
    """Return the first best set by the same search on exact numbers of any size."""
    weights, limits = _exact_knapsacks(problem, order, rooms)
    costs = np.array([problem.costs[k] for k in order], dtype=object)
    found = np.zeros(len(order), np.int8)
    unit = max(limits) * _FINER
    scales = np.array([unit / limit for limit in limits])
    most, more = _plainly(weights, np.array(limits, dtype=object), costs, scales, unit, budget, found)
    return None if most == kernel.ENDED else (_freed(order, found), nodes + more)


def _exact_knapsacks(
    problem: Problem, order: Sequence[int], rooms: Sequence[tuple[int, Rational]]
) -> tuple[NDArray[np.object_], list[int]]:
    """Return whole weights and rooms such that items fit if and only if the constraints admit them.

    The score may fall by a sum of drops up to what is left; not by all of it where the constraint is strict, unless
    some drop is only approached, and none grows beyond. A number counts `whole` for each unit of a common denominator,
    one that is approached a little less, one that grows more than all those can make up for.
    """
    few = len(order) + 1
    whole = 2 * few * few
    weights = np.empty((len(rooms), len(order)), dtype=object)
    limits = []
    for row, (c, room) in enumerate(rooms):
        drops = [problem.drops[c][k] for k in order]
        base = problem.fall_of_base(c)
        common = lcm(int(room.q), *(int(drop.value.q) for drop in drops))
        for column, drop in enumerate(drops):
            edge = drop.edge if drop.edge <= 0 else few
            weights[row, column] = int(drop.value * common) * whole + edge
        edge = base.edge if base.edge <= 0 else few
        limits.append(int(room * common) * whole - edge - (1 if problem.constraints[c].is_strict else 0))
    longest = max(limit.bit_length() for limit in limits)
    for row, limit in enumerate(limits):  # all of about the same size, so that floats can tell them apart
        shift = longest - limit.bit_length()
        weights[row] *= 2**shift
        limits[row] = limit << shift
    return weights, limits


_plainly = as_python(
    kernel.first_best, kernel.search, kernel.propose, kernel.bound, kernel.fill, kernel.fits, kernel.fix_by_bound
)
