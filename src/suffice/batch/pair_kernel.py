"""The compiled loop over rows of a model with pair terms: cells, labels, the graph of a row.

In: `Steps`, the model in whole units, and cells. Out: for each row its margin in units and what to keep; a size of -1
where units leave anything open. Every number is within half a unit of the exact one, so that what a labelling lowers
the score by is off by at most a unit for each feature and each pair: sums that far from the margin are decided.
Guaranteed: a row that is not left open has a smallest set, none smaller suffices, and of several it is the one that
the search for a single row takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.batch.pair_sets import OPEN, in_order, is_unsure, smallest
from suffice.core.anchor import anchored, dominated, restricted
from suffice.core.graph import Graph
from suffice.numbers.compiling import compiled

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
    categories: Any  # so many labels, the first ones, are categories
    ranks: Any  # how many places away those are that a category may become
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
    elif steps.reach[i] == 1:  # categories may turn into those within their radius, a code stays
        low, high = 1, 0
        is_category = own - numbers < steps.categories[i]
        labels = max(numbers, own - steps.ranks[i])
        last = min(numbers + steps.categories[i], own + steps.ranks[i] + 1) if is_category else labels
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
def settle(steps: Any, tables: Any, turned: Any, sides: Any, error: int, limit: int, columns: Any, vague: Any) -> Any:
    """Return for each row its score in units, whether its cells could be read, its size; and what all fix, in order.

    `sides` has for a row with a positive score, and for one with a negative, the parts of the claim: the sign of each,
    what is added to the score for its margin, in units, and whether it is counted from the row's own score; a sign of 0
    where there is none. Last comes the intercept. `turned` are the tables of the other sign.
    """
    features, rows = columns.shape
    widest = len(steps.main) + features
    cells, mains, first = np.empty(widest, np.int64), np.empty(widest, np.int64), np.zeros(features + 1, np.int64)
    scores, sizes, is_read = np.zeros(rows, np.int64), np.full(rows, OPEN, np.int32), np.zeros(rows, np.bool_)
    fixed, written = np.empty(features * rows, np.int32), 0
    is_fixed, order, is_near = np.zeros(features, np.bool_), np.empty(features, np.int64), np.zeros(features, np.bool_)
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
        score += pair_score(tables, first, cells) + sides[2, 0, 0]
        scores[r], is_read[r] = score, True
        ours = sides[0 if score > 0 else 1]
        parts = 0
        for c in range(len(ours)):
            parts += ours[c, 0] != 0
        if parts == 0 or abs(score) <= error:
            continue
        bounds, is_good = np.empty((parts, 2), np.int64), True
        for c in range(parts):
            margin = ours[c, 1] if ours[c, 2] else ours[c, 0] * score + ours[c, 1]
            bounds[c, 0], bounds[c, 1] = margin - 2 * error - 1, margin + 2 * error
            is_good &= margin > 2 * error
        if not is_good:
            continue
        graph = graph_of_part(steps, tables if ours[0, 0] > 0 else turned, columns, r, ours[0, 0], first, cells, mains)
        for c in range(1, parts):
            signed = tables if ours[c, 0] > 0 else turned
            graph = side_by_side(graph, graph_of_part(steps, signed, columns, r, ours[c, 0], first, cells, mains))
        in_order(graph, bounds, error, order, is_near)
        size = smallest(graph, bounds, limit, order, is_fixed)
        if size > 0 and is_unsure(order, is_near, is_fixed):
            size = OPEN
        sizes[r] = size
        if size > 0:
            for i in order:
                if is_fixed[i]:
                    fixed[written] = i
                    written += 1
    return scores, is_read, sizes, fixed[:written]


@compiled
def graph_of_part(steps: Any, tables: Any, columns: Any, r: int, sign: int, first: Any, cells: Any, mains: Any) -> Any:
    """Return the graph of a row's labels for one part, without what other labels beat; all cells can be read."""
    features, at = len(first) - 1, 0
    for i in range(features):
        first[i] = at
        at = write_labels(steps, i, columns[i, r], sign, at, cells, mains)
    first[features] = at
    nothing, starts = np.zeros(0, np.int64), np.zeros(len(tables.ends) + 1, np.int64)
    own, both = anchored(first, cells[:at], mains[:at], tables, nothing, starts)
    whole = graph_of(first, own, tables.ends, both)
    fewer, kept, is_used, rest = restricted(whole, dominated(whole, 1))
    return graph_of(fewer, own[kept], tables.ends[is_used], rest)


@compiled
def side_by_side(one: Any, other: Any) -> Any:
    """Return two graphs as one, the features of the other after those of the one."""
    features, labels = len(one.first) - 1, len(one.own)
    return graph_of(
        np.concatenate((one.first, other.first[1:] + labels)),
        np.concatenate((one.own, other.own)),
        np.concatenate((one.ends, other.ends + features)),
        np.concatenate((one.both, other.both)),
    )
