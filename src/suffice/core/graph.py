"""A graph of labels in whole numbers: what each label of a feature adds, and each two labels of two features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from suffice.numbers.compiling import compiled


class Graph(NamedTuple):
    """What each label of each feature adds, and each two labels of two features, as whole numbers.

    The labels of feature `i` are `first[i]` to `first[i + 1] - 1`, in one row of all. Pair `e` joins the features
    `ends[e, 0]` and `ends[e, 1]`; its table begins at `start[e]`, a row for each label of the first of the two. The
    places of its messages begin at `slot[e]`: one for each label of the first, then of the second. The pairs of feature
    `i` are `around[near[i]]` to `around[near[i + 1] - 1]`.
    """

    first: Any
    own: Any  # for each label what it adds
    moves: Any  # for each label whether it is a change from the row
    ends: Any
    start: Any
    both: Any  # for each two labels of a pair what they add together
    slot: Any
    near: Any
    around: Any

    @property
    def features(self) -> int:
        """How many features there are."""
        return len(self.first) - 1


def graph(first: Any, own: Any, moves: Any, ends: Any, both: Any) -> Graph:
    """Return the graph of some labels and pairs; `both` has the tables one after the other."""
    sizes = np.diff(first)
    ends = np.asarray(ends, dtype=np.int64).reshape(-1, 2)
    left, right = sizes[ends[:, 0]], sizes[ends[:, 1]]
    start = np.concatenate([[0], np.cumsum(left * right)]).astype(np.int64)
    slot = np.concatenate([[0], np.cumsum(left + right)]).astype(np.int64)
    joined = np.concatenate([ends[:, 0], ends[:, 1]])
    order = np.argsort(joined, kind="stable")
    near = np.concatenate([[0], np.cumsum(np.bincount(joined, minlength=len(sizes)))]).astype(np.int64)
    around = (np.tile(np.arange(len(ends)), 2)[order] if len(ends) else np.zeros(0)).astype(np.int64)
    return Graph(np.asarray(first, dtype=np.int64), own, moves, ends, start, both, slot, near, around)


@compiled
def copied(source: Any, target: Any) -> Any:
    """Write the numbers of one array into another."""
    for k in range(len(source)):
        target[k] = source[k]


@compiled
def value_of(graph: Any, labels: Any) -> Any:
    """Return the sum of a labelling, one label for each feature."""
    found = graph.own[0] * 0
    for i in range(len(graph.first) - 1):
        found += graph.own[graph.first[i] + labels[i]]
    for e in range(len(graph.ends)):
        i, j = graph.ends[e, 0], graph.ends[e, 1]
        width = graph.first[j + 1] - graph.first[j]
        found += graph.both[graph.start[e] + labels[i] * width + labels[j]]
    return found


@compiled
def climb(graph: Any, labels: Any, is_free: Any, most: Any, local: Any) -> Any:
    """Improve a labelling one free feature at a time, with at most so many changes from the row."""
    first, own, ends, both, start = graph.first, graph.own, graph.ends, graph.both, graph.start
    moved = 0
    for i in range(len(first) - 1):
        moved += graph.moves[first[i] + labels[i]]
        if is_free[i]:
            for a in range(first[i], first[i + 1]):
                local[a] = own[a]
    for e in range(len(ends)):
        i, j = ends[e, 0], ends[e, 1]
        width = first[j + 1] - first[j]
        if is_free[i]:
            for a in range(first[i + 1] - first[i]):
                local[first[i] + a] += both[start[e] + a * width + labels[j]]
        if is_free[j]:
            for b in range(width):
                local[first[j] + b] += both[start[e] + labels[i] * width + b]
    for _ in range(20):
        is_better = False
        for i in range(len(first) - 1):
            if not is_free[i]:
                continue
            old, at = labels[i], first[i]
            best = old
            for a in range(first[i + 1] - at):
                if local[at + a] > local[at + best] and (moved - graph.moves[at + old] + graph.moves[at + a] <= most):
                    best = a
            if best == old:
                continue
            is_better = True
            labels[i] = best
            moved += graph.moves[at + best] - graph.moves[at + old]
            for k in range(graph.near[i], graph.near[i + 1]):
                e = graph.around[k]
                width = first[ends[e, 1] + 1] - first[ends[e, 1]]
                if ends[e, 0] == i:
                    j = ends[e, 1]
                    if is_free[j]:
                        for b in range(width):
                            local[first[j] + b] += both[start[e] + best * width + b] - both[start[e] + old * width + b]
                else:
                    j = ends[e, 0]
                    if is_free[j]:
                        for a in range(first[j + 1] - first[j]):
                            local[first[j] + a] += both[start[e] + a * width + best] - both[start[e] + a * width + old]
        if not is_better:
            break
