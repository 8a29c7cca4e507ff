"""Tables of pair terms, seen from a row: what each label adds alone, and what two labels add beyond that.

In: the labels of each feature, the first of which is the row's own value, with their cells and own parts in whole
units. Out: a `Graph` whose sums are how far the score falls: a label's own number is the fall if its feature alone
changes, pair terms included; that of two labels is what is left of the fall if both change. It is 0 where one of them
is the first, so that a feature that stays leaves the sum. Labels that another one beats, whatever all other features
do, are taken out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.core.graph import Graph, graph
from suffice.numbers.compiling import compiled


@compiled
def anchored(first: Any, cells: Any, mains: Any, tables: Any, row_tables: Any, row_start: Any) -> Any:
    """Return what each label adds, and the tables of what two add beyond that, one after the other.

    Pairs that are not constant on their cells have a table of their own for this row, by label.
    """
    pairs = len(tables.ends)
    own = np.empty(len(mains), np.int64)
    for i in range(len(first) - 1):
        for a in range(first[i], first[i + 1]):
            own[a] = mains[first[i]] - mains[a]
    size = 0
    for e in range(pairs):
        i, j = tables.ends[e, 0], tables.ends[e, 1]
        size += (first[i + 1] - first[i]) * (first[j + 1] - first[j])
    both = np.empty(size, np.int64)
    widest = 1
    for i in range(len(first) - 1):
        widest = max(widest, first[i + 1] - first[i])
    rows, columns = np.empty(widest, np.int64), np.empty(widest, np.int64)
    at = 0
    for e in range(pairs):
        i, j = tables.ends[e, 0], tables.ends[e, 1]
        height, width = first[i + 1] - first[i], first[j + 1] - first[j]
        if tables.is_table[e]:
            values, start, step = tables.values, tables.start[e], tables.width[e]
            for a in range(height):
                rows[a] = tables.maps[tables.map_at[e, 0] + cells[first[i] + a]]
            for b in range(width):
                columns[b] = tables.maps[tables.map_at[e, 1] + cells[first[j] + b]]
        else:
            values, start, step = row_tables, row_start[e], width
            for a in range(height):
                rows[a] = a
            for b in range(width):
                columns[b] = b
        corner = values[start + rows[0] * step + columns[0]]
        for a in range(height):
            for b in range(width):
                both[at + a * width + b] = corner - values[start + rows[a] * step + columns[b]]
        for a in range(1, height):
            own[first[i] + a] += both[at + a * width]
        for b in range(1, width):
            own[first[j] + b] += both[at + b]
        for a in range(1, height):
            for b in range(1, width):
                both[at + a * width + b] -= both[at + a * width] + both[at + b]
        for a in range(height):
            both[at + a * width] = 0
        for b in range(width):
            both[at + b] = 0
        at += height * width
    return own, both


@compiled
def dominated(graph: Any, slack: Any) -> Any:
    """Return for each label whether it stays: whether no other label of its feature is better whatever the others do.

    `slack` times one more than the number of pairs of the feature is what numbers may be off. A first label stays.
    """
    first, ends, both = graph.first, graph.ends, graph.both
    stays = np.ones(len(graph.own), np.bool_)
    is_open = np.ones(len(first) - 1, np.bool_)
    rounds = 1
    while rounds:
        rounds = 0
        for i in range(len(first) - 1):
            if not is_open[i]:
                continue
            is_open[i] = False
            error = slack * (1 + graph.near[i + 1] - graph.near[i])
            is_changed = False
            for a in range(first[i] + 1, first[i + 1]):
                if not stays[a]:
                    continue
                for b in range(first[i], first[i + 1]):
                    # The most by which `a` can be better than `b`; each pair adds 0 at least, for its other may stay.
                    lead = graph.own[a] - graph.own[b] + error
                    if a == b or not stays[b] or lead > 0 or (slack and lead == 0):
                        continue
                    for k in range(graph.near[i], graph.near[i + 1]):
                        e = graph.around[k]
                        j = ends[e, 1] if ends[e, 0] == i else ends[e, 0]
                        width = first[ends[e, 1] + 1] - first[ends[e, 1]]
                        is_row = ends[e, 0] == i
                        step = 1 if is_row else width
                        one = graph.start[e] + (a - first[i]) * (width if is_row else 1)
                        two = graph.start[e] + (b - first[i]) * (width if is_row else 1)
                        most = 0
                        for c in range(first[j + 1] - first[j]):
                            if stays[first[j] + c]:
                                most = max(most, both[one + c * step] - both[two + c * step])
                        lead += most
                        if lead > 0:
                            break
                    if lead < 0 or (lead == 0 and not slack):
                        stays[a] = False
                        is_changed = True
                        break
            if is_changed:
                for k in range(graph.near[i], graph.near[i + 1]):
                    e = graph.around[k]
                    is_open[ends[e, 0]] = True
                    is_open[ends[e, 1]] = True
                rounds += 1
    return stays


@compiled
def restricted(graph: Any, stays: Any) -> Any:
    """Return the labels that stay by feature, their own numbers, which pairs are not 0 among them, and their tables."""
    first = graph.first
    fewer = np.zeros(len(first), np.int64)
    for i in range(len(first) - 1):
        fewer[i + 1] = fewer[i]
        for a in range(first[i], first[i + 1]):
            fewer[i + 1] += stays[a]
    kept, at = np.empty(fewer[-1], np.int64), 0
    for a in range(len(stays)):
        if stays[a]:
            kept[at] = a
            at += 1
    is_used = np.zeros(len(graph.ends), np.bool_)
    both = np.empty(len(graph.both), graph.both.dtype)
    at = 0
    for e in range(len(graph.ends)):
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        width, begin = first[j + 1] - first[j], at
        for s in range(fewer[i], fewer[i + 1]):
            line = graph.start[e] + (kept[s] - first[i]) * width - first[j]
            for t in range(fewer[j], fewer[j + 1]):
                both[at] = graph.both[line + kept[t]]
                if both[at] != 0:
                    is_used[e] = True
                at += 1
        if not is_used[e]:
            at = begin
    return fewer, kept, is_used, both[:at]


@compiled
def shared(graph: Any) -> Any:
    """Return numbers for each feature whose sums over a set of features no labelling of these is above.

    Of each pair's table, which is 0 for first labels, the second feature takes half of what a label can add at most,
    the first what is then left. No share is below 0, so that a set may have only one of the two.
    """
    first, both = graph.first, graph.both
    own = np.empty(len(graph.own), graph.own.dtype)
    for a in range(len(own)):
        own[a] = graph.own[a]
    widest = 1
    for i in range(len(first) - 1):
        widest = max(widest, first[i + 1] - first[i])
    half = np.empty(widest, own.dtype)
    for e in range(len(graph.ends)):
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        height, width, at = first[i + 1] - first[i], first[j + 1] - first[j], graph.start[e]
        for b in range(width):
            most = both[at + b]
            for a in range(height):
                most = max(most, both[at + a * width + b])
            half[b] = (most + 1) >> 1
            own[first[j] + b] += half[b]
        for a in range(height):
            most = both[at + a * width] * 0
            for b in range(width):
                most = max(most, both[at + a * width + b] - half[b])
            own[first[i] + a] += most
    found = np.empty(len(first) - 1, own.dtype)
    for i in range(len(first) - 1):
        found[i] = own[first[i]]
        for a in range(first[i], first[i + 1]):
            found[i] = max(found[i], own[a])
    return found


def without(whole: Graph, stays: Any) -> tuple[Graph, Any]:
    """Return the graph of the labels that stay, and which labels of the whole graph these are."""
    fewer, kept, is_used, both = restricted(whole, stays)
    return graph(fewer, whole.own[kept], whole.moves[kept], whole.ends[is_used], both), kept
