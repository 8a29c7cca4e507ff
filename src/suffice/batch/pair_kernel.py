"""The compiled loop over rows of a model with pair terms: labels, worst cases, scenarios, smallest set.

In: `Steps`, the model in whole units, and cells. Out: for each row its margin in units and what to keep; a size of -1
where units leave anything open. Every number is within half a unit of the exact one, so that what a labelling lowers
the score by is off by at most a unit for each feature and each pair: sums that far from the margin are decided.
Guaranteed: a row that is not left open has a smallest set, and none smaller suffices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.core.anchor import anchored, dominated, restricted
from suffice.core.graph import Graph, climb
from suffice.core.labelling import DONE, ENOUGH, search
from suffice.numbers.compiling import compiled
from suffice.solvers.knapsack_kernel import FOUND, NONE, Knapsacks, Limits
from suffice.solvers.knapsack_kernel import search as search_sets

OPEN = -1
FAR = 1 << 61
_MOST_WORK = 2_000_000  # entries of tables that a worst case may visit
_MOST_NODES = 2_000  # of a search among sets
_MOST_SCENARIOS = 16
_LABELS = 2.0**1000  # the k-th label of a feature sits at (k + 1) times this


class Steps(NamedTuple):
    """Functions that are constant between cuts, one feature after the other: where a row is, and where it may go.

    A number is past a cut if it is at least `here` of the cut; so is the least number of its region past it for
    `least`, the largest for `most`. Cells of numbers come first, then those of labels.
    """

    first_cut: Any  # where the cuts of each feature begin
    here: Any
    least: Any
    most: Any
    first_cell: Any  # where the cells of each feature begin
    main: Any  # the feature's own part in a cell, in units
    wide: Any  # the cell of the feature's pair terms that a cell lies in
    has_value: Any  # whether the domain has a value in it
    ends: Any  # by feature: the first and the last cell of numbers of the domain
    low: Any  # the least and the largest float of the domain
    high: Any
    is_integral: Any
    missing: Any  # the label of missing cells, -1 if there is none
    categories: Any  # labels that may turn into one another: so many, the first ones
    reach: Any  # 0: a feature stays; 1: within its radius; 2: anywhere


@compiled
def count_past(cuts: Any, x: float) -> Any:
    """Return how many of some ascending cuts a number is past."""
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) >> 1
        if cuts[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def cell_of(steps: Any, i: int, x: float) -> Any:
    """Return the cell of a feature's value, counted from its first one; -1 where it is none."""
    cuts = steps.first_cut[i + 1] - steps.first_cut[i]
    if np.isnan(x):
        return cuts + 1 + steps.missing[i] if steps.missing[i] >= 0 else -1
    if x >= _LABELS:
        label = int(x / _LABELS) - 1 if x < np.inf else -1
        return cuts + 1 + label if 0 <= label < steps.first_cell[i + 1] - steps.first_cell[i] - cuts - 1 else -1
    if not steps.low[i] <= x <= steps.high[i] or (steps.is_integral[i] and x != np.floor(x)):
        return -1
    return count_past(steps.here[steps.first_cut[i] : steps.first_cut[i + 1]], x)


@compiled
def write_labels(steps: Any, i: int, x: float, sign: int, at: int, cells: Any, mains: Any) -> Any:
    """Write the labels of a feature's region from a place on, the row's own value first; return the place after them.

    -1 if the value is none of the feature's.
    """
    own, begin, cut = cell_of(steps, i, x), steps.first_cell[i], steps.first_cut[i]
    if own < 0:
        return -1
    numbers = steps.first_cut[i + 1] - cut + 1
    home, here = steps.wide[begin + own], sign * steps.main[begin + own]
    cells[at], mains[at] = home, here
    at += 1
    if steps.reach[i] == 0:
        return at
    low, high = steps.ends[i, 0], steps.ends[i, 1]  # no numbers where the first is after the last
    labels, last = numbers, steps.first_cell[i + 1] - begin
    if steps.reach[i] == 1 and own < numbers:
        low = max(low, count_past(steps.least[cut : steps.first_cut[i + 1]], x))
        high = min(high, count_past(steps.most[cut : steps.first_cut[i + 1]], x))
        last = labels
    elif steps.reach[i] == 1:  # categories may turn into one another, a code stays
        low, high = 1, 0
        last = numbers + steps.categories[i] if own - numbers < steps.categories[i] else labels
    k = low
    while k <= high:
        wide, lowest, is_any = steps.wide[begin + k], here, False
        while k <= high and steps.wide[begin + k] == wide:
            if steps.has_value[begin + k]:
                value = sign * steps.main[begin + k]
                if not is_any or value < lowest:
                    lowest, is_any = value, True
            k += 1
        if is_any and (wide != home or lowest < here):
            cells[at], mains[at] = wide, lowest
            at += 1
    for k in range(labels, last):
        if k != own:
            cells[at], mains[at] = steps.wide[begin + k], sign * steps.main[begin + k]
            at += 1
    return at


@compiled
def pair_score(tables: Any, first: Any, cells: Any) -> Any:
    """Return the sum of the pair terms at the row."""
    total = 0
    for e in range(len(tables.ends)):
        row = tables.maps[tables.map_at[e, 0] + cells[first[tables.ends[e, 0]]]]
        column = tables.maps[tables.map_at[e, 1] + cells[first[tables.ends[e, 1]]]]
        total += tables.values[tables.start[e] + row * tables.width[e] + column]
    return total


@compiled
def graph_of(first: Any, own: Any, ends: Any, both: Any) -> Any:
    """Return the graph of some labels; the first of each feature is no change."""
    features, pairs = len(first) - 1, len(ends)
    moves = np.ones(len(own), np.int64)
    near = np.zeros(features + 1, np.int64)
    start, slot = np.zeros(pairs + 1, np.int64), np.zeros(pairs + 1, np.int64)
    for i in range(features):
        moves[first[i]] = 0
    for e in range(pairs):
        left, right = first[ends[e, 0] + 1] - first[ends[e, 0]], first[ends[e, 1] + 1] - first[ends[e, 1]]
        start[e + 1], slot[e + 1] = start[e] + left * right, slot[e] + left + right
        near[ends[e, 0] + 1] += 1
        near[ends[e, 1] + 1] += 1
    for i in range(features):
        near[i + 1] += near[i]
    around, place = np.empty(2 * pairs, np.int64), near.copy()
    for e in range(pairs):
        for side in range(2):
            around[place[ends[e, side]]] = e
            place[ends[e, side]] += 1
    return Graph(first, own, moves, ends, start, both, slot, near, around)


@compiled
def worst_of(graph: Any, items: Any, freed: Any, low: int, high: int, limit: int, labels: Any, alive: Any) -> Any:
    """Return 0 if some items may surely be freed, 1 if a labelling, which is written, surely breaks it, else -1."""
    is_free = np.zeros(len(graph.first) - 1, np.bool_)
    for p in range(len(items)):
        is_free[items[p]] = freed[p]
    most = len(is_free)
    how, is_above, best, _, _, _ = search(graph, is_free, most, low, FAR, False, _MOST_WORK, limit, labels, alive)
    if how != DONE and how != ENOUGH:
        return OPEN
    if not is_above:
        return 0
    if best <= high:
        return OPEN
    for p in range(len(items)):
        is_free[items[p]] = not freed[p]
    climb(graph, labels, is_free, most, np.empty_like(graph.own))
    return 1


@compiled
def add_scenario(
    graph: Any, items: Any, place: Any, labels: Any, weights: Any, products: Any, parts: Any, appeal: Any
) -> None:
    """Write what a labelling says of all sets of items: weights, products, and the halves of negative ones."""
    products[:] = 0
    parts[:] = 0
    for p in range(len(items)):
        weights[p] = graph.own[graph.first[items[p]] + labels[items[p]]]
        appeal[p] = abs(float(weights[p]))
    for e in range(len(graph.ends)):
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        p, q = place[i], place[j]
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
def smallest(graph: Any, low: int, high: int, room: int, limit: int, is_fixed: Any) -> Any:
    """Write which features a smallest set fixes; return how many, -1 where that is left open.

    Sums up to `low` are surely allowed, sums above `high` are not. What a scenario says holds with `room`.
    """
    features = len(graph.first) - 1
    place, items, count, needed = np.full(features, -1), np.empty(features, np.int64), 0, 0
    for i in range(features):
        is_fixed[i] = False
        best = graph.own[graph.first[i] : graph.first[i + 1]].max()
        if best > high:
            is_fixed[i] = True
            needed += 1
        elif best > low:
            return OPEN
        elif graph.first[i + 1] - graph.first[i] > 1:
            place[i], items[count] = count, i
            count += 1
    items = items[:count]
    labels, alive = np.zeros(features, np.int64), np.zeros(len(graph.own), np.bool_)
    freed = np.ones(count, np.bool_)
    verdict = worst_of(graph, items, freed, low, high, limit, labels, alive)
    if verdict <= 0:
        return needed if verdict == 0 else OPEN
    weights = np.zeros((_MOST_SCENARIOS, count), np.int64)
    products, parts = (
        np.zeros((_MOST_SCENARIOS, count, count), np.int64),
        np.zeros((_MOST_SCENARIOS, count, count), np.int64),
    )
    spare, appeal = np.zeros((_MOST_SCENARIOS, count, count), np.int64), np.zeros((_MOST_SCENARIOS, count))
    rooms, costs = np.full(_MOST_SCENARIOS, room), np.ones(count, np.int64)
    limits = Limits(np.zeros((0, count), np.int64), np.zeros((0, 0), np.int64), np.zeros(0, np.int64))
    order, is_freed, record = np.empty(count, np.int64), np.empty(count, np.bool_), np.empty(_MOST_NODES, np.int32)
    add_scenario(graph, items, place, labels, weights[0], products[0], parts[0], appeal[0])
    known, best, is_extended = 1, -1, False
    best_freed = np.zeros(count, np.bool_)
    # The first proposal: the lightest that the first scenario allows.
    freed[:] = False
    for p in np.argsort(weights[0]):
        freed[p] = True
        if load_of(weights[0], products[0], freed) > room:
            freed[p] = False
    while True:
        while True:  # keep items until the rest may surely be freed
            verdict = worst_of(graph, items, freed, low, high, limit, labels, alive)
            if verdict == 0:
                break
            if verdict < 0 or known == _MOST_SCENARIOS:
                return OPEN
            add_scenario(graph, items, place, labels, weights[known], products[known], parts[known], appeal[known])
            heaviest, most = -1, 0
            for p in range(count):
                if freed[p]:
                    lost = weights[known, p]
                    for q in range(count):
                        if freed[q]:
                            lost += products[known, p, q]
                    if heaviest < 0 or lost > most:
                        heaviest, most = p, lost
            freed[heaviest] = False
            known += 1
        if not is_extended:  # free what still fits, the lightest first
            is_extended = True
            for p in np.argsort(weights[0]):
                if freed[p]:
                    continue
                freed[p] = True
                is_allowed = True
                for t in range(known):
                    is_allowed &= load_of(weights[t], products[t], freed) <= room
                if is_allowed:
                    verdict = worst_of(graph, items, freed, low, high, limit, labels, alive)
                    if verdict < 0 or known == _MOST_SCENARIOS:
                        return OPEN
                    if verdict == 1:
                        is_allowed = False
                        add_scenario(
                            graph, items, place, labels, weights[known], products[known], parts[known], appeal[known]
                        )
                        known += 1
                if not is_allowed:
                    freed[p] = False
        if freed.sum() > best:
            best = freed.sum()
            best_freed[:] = freed
        end, _ = search_sets(
            Knapsacks(weights[:known], products[:known], parts[:known], spare[:known], rooms[:known], appeal[:known]),
            limits, costs, 0, best, _MOST_NODES, order, is_freed, record,
        )  # fmt: skip
        if end == NONE:
            break
        if end != FOUND:
            return OPEN
        for p in range(count):
            freed[order[p]] = is_freed[p]
    for p in range(count):
        is_fixed[items[p]] = not best_freed[p]
    return needed + count - best


@compiled
def settle(steps: Any, tables: Any, turned: Any, sides: Any, error: int, limit: int, columns: Any, vague: Any) -> Any:
    """Return for each row its score in units, whether its cells could be read, its size; and what all fix, in order.

    `sides` has for a row with a positive score, and for one with a negative, the sign of the claim and what is added to
    the score for its margin, in units; a sign of 0 where no claim is made. `turned` are the tables of the other sign.
    """
    features, rows = columns.shape
    widest = len(steps.main) + features
    cells, mains, first = np.empty(widest, np.int64), np.empty(widest, np.int64), np.zeros(features + 1, np.int64)
    scores, sizes, is_read = np.zeros(rows, np.int64), np.full(rows, OPEN, np.int32), np.zeros(rows, np.bool_)
    fixed, written = np.empty(features * rows, np.int32), 0
    is_fixed, heaviest = np.zeros(features, np.bool_), np.empty(features, np.int64)
    nothing, starts = np.zeros(0, np.int64), np.zeros(len(tables.ends) + 1, np.int64)
    for r in range(rows):
        score, is_good = 0, True
        for i in range(features):
            own = cell_of(steps, i, columns[i, r])
            if own < 0 or (len(vague) > 0 and vague[i, r]):
                is_good = False
                break
            first[i] = i
            cells[i] = steps.wide[steps.first_cell[i] + own]
            score += steps.main[steps.first_cell[i] + own]
        if not is_good:
            continue
        score += pair_score(tables, first, cells) + sides[2, 0]
        scores[r], is_read[r] = score, True
        side = 0 if score > 0 else 1
        sign = sides[side, 0]
        if sign == 0 or abs(score) <= error:
            continue
        margin = sign * score + sides[side, 1]
        at = 0
        for i in range(features):
            first[i] = at
            at = write_labels(steps, i, columns[i, r], sign, at, cells, mains)
        first[features] = at
        ours = tables if sign > 0 else turned
        own, both = anchored(first, cells[:at], mains[:at], ours, nothing, starts)
        whole = graph_of(first, own, ours.ends, both)
        fewer, kept, is_used, rest = restricted(whole, dominated(whole, 1))
        graph = graph_of(fewer, own[kept], ours.ends[is_used], rest)
        size = OPEN
        if margin > 2 * error:
            size = smallest(graph, margin - 2 * error - 1, margin + 2 * error, margin + 2 * error, limit, is_fixed)
        sizes[r] = size
        if size > 0:
            for i in range(features):
                heaviest[i] = -graph.own[graph.first[i] : graph.first[i + 1]].max()
            for i in np.argsort(heaviest, kind="mergesort"):
                if is_fixed[i]:
                    fixed[written] = i
                    written += 1
    return scores, is_read, sizes, fixed[:written]
