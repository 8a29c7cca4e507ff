"""The cheapest choice of at most one option from each group whose gains add up to a need: a multiple-choice knapsack.

In: whole costs and whole gains. Out: a `Choice`, or None where even the largest gains do not reach the need. Groups are
decided one after the other; of partial choices only those are kept that no other one beats in both cost and gain, and
that can still lead to something cheaper than what is known. The last is decided by the multiplier of the linear
relaxation: with a price for gain, no later group gives more than its best option is worth. Any price gives
a valid bound, so that it may be a float; the bound is lowered by more than what rounding can take.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST_STATES = 4_000_000
_SLACK = 1e-12  # far more than the rounding of a few sums of floats of one size


class Group(NamedTuple):
    """Options in order: each costs more than the one before and gains more; both from 1 up for the gains."""

    costs: NDArray[Any]
    gains: NDArray[Any]


class _Step(NamedTuple):
    """A step along a hull: what the need would cost at its rate, the group, the option it leads to, and the gain."""

    ratio: float
    group: int
    to: int
    gain: int


class Choice(NamedTuple):
    """An option for each group (-1 for none), what they cost, and what nothing that does costs less than."""

    cost: int
    picks: tuple[int, ...]
    bound: int


def cheapest_choice(groups: Sequence[Group], need: int, deadline: float) -> Choice | None:
    """Return a cheapest choice that reaches a need above 0; when the time is up, a good one and a bound.

    Parameters
    ----------
    groups : sequence of Group
        With whole numbers as int64, or as Python's own where they are large.
    need : int
        What the gains must add up to at least.
    deadline : float
        As `time.monotonic` counts.

    Examples
    --------
    >>> import numpy as np
    >>> groups = [Group(np.array([2, 5]), np.array([1, 4])), Group(np.array([3]), np.array([3]))]
    >>> cheapest_choice(groups, 4, float("inf"))
    Choice(cost=5, picks=(0, 0), bound=5)
    >>> cheapest_choice(groups, 8, float("inf")) is None
    True
    """
    if any(group.costs.dtype == object or group.gains.dtype == object for group in groups):
        groups = [Group(group.costs.astype(object), group.gains.astype(object)) for group in groups]
    if sum(_largest(group) for group in groups) < need:
        return None
    steps = _hull_steps(groups, need)
    known = _greedy(groups, steps, need)
    price = _price(steps, need)
    worth = [_worth(group, price, need) for group in groups]
    # Groups that give most for their price come first, so that little is left open by the others.
    order = sorted((k for k, group in enumerate(groups) if len(group.gains)), key=lambda k: -worth[k])
    found = _decide(groups, order, need, known.cost, price, worth, deadline)
    if found is None:
        bound = price - sum(worth) - _SLACK * (price + sum(worth))
        return known._replace(bound=min(known.cost, max(0, math.ceil(bound))))
    return known._replace(bound=known.cost) if found.cost >= known.cost else found


def _decide(
    groups: Sequence[Group],
    order: Sequence[int],
    need: int,
    best: int,
    price: float,
    worth: Sequence[float],
    deadline: float,
) -> Choice | None:
    """Return a choice that costs less than `best`, or one of that cost if there is none; None when time is up."""
    kind = groups[order[0]].costs.dtype
    cost, gain = np.zeros(1, dtype=kind), np.zeros(1, dtype=kind)
    trail: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    most = [sum(_largest(groups[k]) for k in order[place:]) for place in range(len(order) + 1)]
    later = [sum(worth[k] for k in order[place:]) for place in range(len(order) + 1)]
    least = best
    for place, k in enumerate(order):
        if time.monotonic() > deadline or len(cost) * (len(groups[k].costs) + 1) > _MOST_STATES:
            return None
        options = len(groups[k].costs) + 1
        new_cost = (cost[:, None] + np.concatenate([np.zeros(1, dtype=kind), groups[k].costs])).ravel()
        new_gain = (gain[:, None] + np.concatenate([np.zeros(1, dtype=kind), groups[k].gains])).ravel()
        done = new_gain >= need
        if done.any():
            least = min(least, int(new_cost[done].min()))
        new_gain = np.minimum(new_gain, need)  # what is more is worth nothing
        size = new_cost.astype(float) + price * _share(need - new_gain, need)
        bound = size - later[place + 1] - _SLACK * (size + later[place + 1])
        kept = np.flatnonzero((new_gain + most[place + 1] >= need) & (bound <= least))
        kept = kept[np.argsort(-new_gain[kept], kind="stable")]
        kept = kept[np.argsort(new_cost[kept], kind="stable")]  # by cost, then the largest gain first
        gains = new_gain[kept]
        is_better = np.ones(len(kept), dtype=bool)
        is_better[1:] = gains[1:] > np.maximum.accumulate(gains)[:-1]
        kept = kept[is_better]
        trail.append((kept // options, kept % options))
        cost, gain = new_cost[kept], new_gain[kept]
    done = np.flatnonzero(gain >= need)
    if not len(done):
        return Choice(best, (), best)
    state = int(done[0])  # states are in the order of their costs
    total, picks = int(cost[state]), [-1] * len(groups)
    for place in range(len(order) - 1, -1, -1):
        before, option = trail[place]
        picks[order[place]] = int(option[state]) - 1
        state = int(before[state])
    return Choice(total, tuple(picks), total)


def _share(gains: NDArray[Any], need: int) -> NDArray[np.float64]:
    """Return gains as parts of the need, which floats can hold however many digits they have."""
    return (gains / need).astype(float)


def _hull_steps(groups: Sequence[Group], need: int) -> list[_Step]:
    """Return steps along the lower hulls of costs over gains, the cheapest a unit first."""
    steps = []
    for k, group in enumerate(groups):
        points = [(0, 0), *zip(group.gains.tolist(), group.costs.tolist(), strict=True)]
        hull: list[int] = []
        for j, (gain, cost) in enumerate(points):
            while len(hull) > 1:
                (g0, c0), (g1, c1) = points[hull[-2]], points[hull[-1]]
                if (c1 - c0) * (gain - g1) < (cost - c1) * (g1 - g0):
                    break
                hull.pop()
            hull.append(j)
        for a, b in pairwise(hull):
            gain = points[b][0] - points[a][0]
            steps.append(_Step((points[b][1] - points[a][1]) / (gain / need), k, b - 1, gain))
    return sorted(steps)


def _greedy(groups: Sequence[Group], steps: Sequence[_Step], need: int) -> Choice:
    """Return a choice that reaches the need: whole steps along the hulls, then each pick as small as can be."""
    picks, got = [-1] * len(groups), 0
    for step in steps:
        if got >= need:
            break
        got, picks[step.group] = got + step.gain, step.to
    for k, pick in enumerate(picks):
        if pick >= 0:
            others = got - int(groups[k].gains[pick])
            picks[k] = -1 if others >= need else int(np.searchsorted(groups[k].gains, need - others))
            got = others + (int(groups[k].gains[picks[k]]) if picks[k] >= 0 else 0)
    cost = sum(int(groups[k].costs[pick]) for k, pick in enumerate(picks) if pick >= 0)
    return Choice(cost, tuple(picks), 0)


def _price(steps: Sequence[_Step], need: int) -> float:
    """Return the price of the whole need at which the linear relaxation just reaches it."""
    got = 0
    for step in steps:
        got += step.gain
        if got >= need:
            return step.ratio
    raise AssertionError("the largest gains reach the need")


def _largest(group: Group) -> int:
    return int(group.gains[-1]) if len(group.gains) else 0


def _worth(group: Group, price: float, need: int) -> float:
    """Return at least what the best option is worth at a price, above its cost."""
    if not len(group.gains):
        return 0.0
    gains = _share(group.gains, need) * price
    return max(0.0, float((gains - group.costs.astype(float) + _SLACK * gains).max()))
