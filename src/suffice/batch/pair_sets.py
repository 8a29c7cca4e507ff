"""The compiled search for the smallest set of a row, in a graph of labels in whole units.

In: a `Graph` with the features of each part of a claim one part after the other, and what sums each part surely
allows and surely does not. Out: what to fix; -1 where units leave anything open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.graph import climb
from suffice.core.labelling import DONE, ENOUGH, search
from suffice.numbers.compiling import compiled
from suffice.solvers.knapsack_kernel import FOUND, NONE, UNFINISHED, Knapsacks, Limits
from suffice.solvers.knapsack_kernel import search as search_sets

OPEN = -1
FAR = 1 << 61
_MOST_WORK = 2_000_000  # entries of tables that a worst case may visit
_MOST_NODES = 2_000  # of a search among sets
_MOST_SCENARIOS = 16


@compiled
def worst_of(
    graph: Any, base: int, items: Any, freed: Any, low: int, high: int, limit: int, labels: Any, alive: Any
) -> Any:
    """Return 0 if a part surely allows items to be freed, 1 if a labelling, which is written, breaks it, else -1.

    The features of the part begin at `base`.
    """
    is_free = np.zeros(len(graph.first) - 1, np.bool_)
    for p in range(len(items)):
        is_free[base + items[p]] = freed[p]
    most = len(is_free)
    how, is_above, best, _, _, _ = search(graph, is_free, most, low, FAR, False, _MOST_WORK, limit, labels, alive)
    if how != DONE and how != ENOUGH:
        return OPEN
    if not is_above:
        return 0
    if best <= high:
        return OPEN
    for p in range(len(items)):
        is_free[base + items[p]] = not freed[p]
    climb(graph, labels, is_free, most, np.empty_like(graph.own))
    return 1


@compiled
def broken_part(graph: Any, bounds: Any, items: Any, freed: Any, limit: int, labels: Any, alive: Any) -> Any:
    """Return which part a labelling surely breaks; as many as there are if none does, -1 where that is left open."""
    parts = len(bounds)
    features = (len(graph.first) - 1) // parts
    for c in range(parts):
        verdict = worst_of(graph, c * features, items, freed, bounds[c, 0], bounds[c, 1], limit, labels, alive)
        if verdict < 0:
            return OPEN
        if verdict == 1:
            return c
    return parts


@compiled
def add_scenario(
    graph: Any, base: int, items: Any, place: Any, labels: Any, weights: Any, products: Any, parts: Any, appeal: Any
) -> None:
    """Write what a labelling says of all sets of items: weights, products, and the halves of negative ones."""
    products[:] = 0
    parts[:] = 0
    for p in range(len(items)):
        weights[p] = graph.own[graph.first[base + items[p]] + labels[base + items[p]]]
        appeal[p] = abs(float(weights[p]))
    for e in range(len(graph.ends)):
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        if i < base or i >= base + len(place):
            continue
        p, q = place[i - base], place[j - base]
        if p < 0 or q < 0:
            continue
        width = graph.first[j + 1] - graph.first[j]
        value = graph.both[graph.start[e] + labels[i] * width + labels[j]]
        products[p, q] += value
        products[q, p] += value
        appeal[p] += abs(float(value))
        appeal[q] += abs(float(value))
        if products[p, q] < 0:
            parts[p, q] = parts[q, p] = products[p, q] >> 1
        else:
            parts[p, q] = parts[q, p] = 0


@compiled
def load_of(weights: Any, products: Any, freed: Any) -> Any:
    """Return what some items take of a scenario's room."""
    total = 0
    for p in range(len(freed)):
        if freed[p]:
            total += weights[p]
            for q in range(p):
                if freed[q]:
                    total += products[p, q]
    return total


@compiled
def in_order(graph: Any, bounds: Any, error: int, order: Any, is_near: Any) -> None:
    """Write the features by the largest share of a margin that each takes alone, equal ones as they come.

    And for each whether it may in truth come before the one that it is written after.
    """
    parts = len(bounds)
    features = len(order)
    shares, is_zero = np.zeros(features), np.ones(features, np.bool_)
    off = 0.0
    for c in range(parts):
        margin = 0.5 * (float(bounds[c, 0]) + float(bounds[c, 1]))
        off = max(off, 4.0 * error / margin)
        for i in range(features):
            node = c * features + i
            for a in range(graph.first[node] + 1, graph.first[node + 1]):
                is_zero[i] &= graph.own[a] <= -2 * error
                shares[i] = max(shares[i], float(graph.own[a]) / margin)
    order[:] = np.argsort(-shares, kind="mergesort")
    for place in range(features):
        i, is_near[place] = order[place], False
        if place:
            before = order[place - 1]
            slack = off * (1.0 + shares[before]) + 2.0**-45 * shares[before]
            is_near[place] = shares[before] - shares[i] <= slack and not (is_zero[before] and is_zero[i])


@compiled
def is_unsure(order: Any, is_near: Any, is_fixed: Any) -> Any:
    """Whether features that may in truth be ordered otherwise, and of which some are fixed, stand beside one another.

    Where all of them are free no other order of them has another first set.
    """
    for place in range(1, len(order)):
        if is_near[place]:
            start = place - 1
            while start > 0 and is_near[start]:
                start -= 1
            for k in range(start, place + 1):
                if is_fixed[order[k]]:
                    return True
    return False


@compiled
def smallest(graph: Any, bounds: Any, limit: int, ranked: Any, is_fixed: Any) -> Any:
    """Write which features the first smallest set fixes; return how many, -1 where that is left open.

    Of each part, the features of which come one part after the other, sums up to the first of its bounds are surely
    allowed, sums above the second are not; what a scenario says holds with the second. Of several smallest sets it is
    the one that fixes the first of the ranked features, then the next that it can, and so on.
    """
    parts, features = len(bounds), len(ranked)
    place, items, count, needed = np.full(features, -1), np.empty(features, np.int64), 0, 0
    for i in ranked:
        is_fixed[i], is_open, can_move = False, False, False
        for c in range(parts):
            node = c * features + i
            best = graph.own[graph.first[node] : graph.first[node + 1]].max()
            is_fixed[i] |= best > bounds[c, 1]
            is_open |= best > bounds[c, 0]
            can_move |= graph.first[node + 1] - graph.first[node] > 1
        if is_fixed[i]:
            needed += 1
        elif is_open:
            return OPEN
        elif can_move:
            place[i], items[count] = count, i
            count += 1
    items = items[:count]
    labels, alive = np.zeros(parts * features, np.int64), np.zeros(len(graph.own), np.bool_)
    freed = np.ones(count, np.bool_)
    part = broken_part(graph, bounds, items, freed, limit, labels, alive)
    if part < 0 or part == parts:
        return needed if part == parts else OPEN
    weights = np.zeros((_MOST_SCENARIOS, count), np.int64)
    products, shares = (
        np.zeros((_MOST_SCENARIOS, count, count), np.int64),
        np.zeros((_MOST_SCENARIOS, count, count), np.int64),
    )
    spare, appeal = np.zeros((_MOST_SCENARIOS, count, count), np.int64), np.zeros((_MOST_SCENARIOS, count))
    rooms, costs = np.zeros(_MOST_SCENARIOS, np.int64), np.ones(count, np.int64)
    limits = Limits(np.zeros((0, count), np.int64), np.zeros((0, 0), np.int64), np.zeros(0, np.int64))
    order, is_freed, record = np.empty(count, np.int64), np.empty(count, np.bool_), np.empty(_MOST_NODES, np.int32)
    add_scenario(graph, part * features, items, place, labels, weights[0], products[0], shares[0], appeal[0])
    rooms[0] = bounds[part, 1]
    known, best, is_extended, is_last = 1, -1, False, False
    # The first proposal: the lightest that the first scenario allows.
    freed[:] = False
    for p in np.argsort(weights[0]):
        freed[p] = True
        if load_of(weights[0], products[0], freed) > rooms[0]:
            freed[p] = False
    while True:
        while True:  # keep items until the rest may surely be freed
            part = broken_part(graph, bounds, items, freed, limit, labels, alive)
            if part == parts:
                break
            if part < 0 or known == _MOST_SCENARIOS:
                return OPEN
            add_scenario(
                graph, part * features, items, place, labels,
                weights[known], products[known], shares[known], appeal[known],
            )  # fmt: skip
            rooms[known] = bounds[part, 1]
            known += 1
            if is_last:  # another one is to be found first
                break
            heaviest, most = -1, 0
            for p in range(count):
                if freed[p]:
                    lost = weights[known - 1, p]
                    for q in range(count):
                        if freed[q]:
                            lost += products[known - 1, p, q]
                    if heaviest < 0 or lost > most:
                        heaviest, most = p, lost
            freed[heaviest] = False
        if is_last and part == parts:
            break
        if not is_extended:  # free what still fits, the lightest first
            is_extended = True
            for p in np.argsort(weights[0]):
                if freed[p]:
                    continue
                freed[p] = True
                is_allowed = True
                for t in range(known):
                    is_allowed &= load_of(weights[t], products[t], freed) <= rooms[t]
                if is_allowed:
                    part = broken_part(graph, bounds, items, freed, limit, labels, alive)
                    if part < 0 or known == _MOST_SCENARIOS:
                        return OPEN
                    if part < parts:
                        is_allowed = False
                        add_scenario(
                            graph, part * features, items, place, labels,
                            weights[known], products[known], shares[known], appeal[known],
                        )  # fmt: skip
                        rooms[known] = bounds[part, 1]
                        known += 1
                if not is_allowed:
                    freed[p] = False
        if not is_last:
            best = max(best, freed.sum())
        end = UNFINISHED
        while end != FOUND:
            end, _ = search_sets(
                Knapsacks(
                    weights[:known], products[:known], shares[:known], spare[:known], rooms[:known], appeal[:known]
                ),
                limits, costs, 0, best - is_last, _MOST_NODES, order, is_freed, record,
            )  # fmt: skip
            if end == UNFINISHED or (end == NONE and is_last):
                return OPEN
            if end == NONE:  # none is smaller: of those as small the first is looked for, by what is ranked first
                is_last = True
                for p in range(count):
                    appeal[:, p] = -p
        for p in range(count):
            freed[order[p]] = is_freed[p]
    for p in range(count):
        is_fixed[items[p]] = not freed[p]
    return needed + count - best
