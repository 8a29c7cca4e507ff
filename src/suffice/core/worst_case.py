"""The worst that free features can do together, in units where these decide and exactly where they do not.

In: a `Ground`, which features are free, and how many may change at once. Out: the labelling with the largest fall; or
whether any falls further than a margin leaves room for.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.core.constraint import Drop
from suffice.core.graph import Graph
from suffice.core.ground import Ground
from suffice.core.labelling import DONE, ENOUGH, OVERFLOW, exact_search, search
from suffice.errors import BudgetEnded
from suffice.numbers.compiling import has_compiler
from suffice.numbers.exact import Rational

FAR = 1 << 61  # beyond every sum in units

_MOST_WORK = 2_000_000_000  # entries of tables that one search may visit: seconds
_FAIR_WORK = 10_000_000  # and before it takes what it has found, where that will do
LEAST_WORK = 40_000_000  # and what it may visit however late it is
_RATE, _PLAIN_RATE = 200_000_000, 500_000  # entries visited in a second, compiled and in plain Python


class Found(NamedTuple):
    """A labelling with the largest fall."""

    labels: tuple[int, ...]
    fall: Drop


class Sighted(NamedTuple):
    """What units say: whether a sum is above the lower limit, the labelling with the largest such sum, and that sum."""

    is_above: bool
    labels: NDArray[np.int64]
    sum: int


def free_features(ground: Ground, freed: Collection[int]) -> NDArray[np.bool_]:
    """Return for each feature whether it is freed and has a label other than the row's own value."""
    mask = np.zeros(ground.graph.features, dtype=np.bool_)
    mask[list(freed)] = True
    mask &= np.diff(ground.graph.first) > 1
    return mask


def sight(
    ground: Ground,
    freed: Collection[int],
    most: int,
    low: int,
    enough: int,
    moves: Any = None,
    *,
    fair: int = FAR,
    work: int | None = None,
) -> Sighted | None:
    """Return what units say of sums above `low`; None where 64 bits do not suffice.

    Parameters
    ----------
    freed, most : the features that may change, and how many at once
    low, enough : sums up to the first do not matter; above the second any will do
    moves : which labels count as changes, if not all but the first of each feature
    fair : a sum above it will do if the largest takes long to find
    work : how many entries of tables may be visited; default: as many as the time that is left allows
    """
    if len(freed) == 1 and most > 0 and enough < FAR:
        return _alone(ground, next(iter(freed)), low)
    graph = ground.graph if moves is None else ground.graph._replace(moves=moves)
    labels, listed = np.zeros(graph.features, dtype=np.int64), np.zeros(len(graph.own), dtype=np.bool_)
    is_free, limit, whole = free_features(ground, freed), ground.landscape.limit, _work(ground, work)
    for within in (whole,) if fair == FAR else (min(_work(ground, _FAIR_WORK), whole), whole):
        how, is_above, best, *_ = search(graph, is_free, most, low, enough, False, within, limit, labels, listed)
        if how == OVERFLOW:
            return None
        if how in (DONE, ENOUGH) or (is_above and best > fair):
            return Sighted(bool(is_above), labels, int(best))
    raise BudgetEnded


def _alone(ground: Ground, i: int, low: int) -> Sighted:
    """Return what units say of the labels of one feature, which need no search."""
    own = ground.graph.own[ground.graph.first[i] : ground.graph.first[i + 1]]
    labels = np.zeros(ground.graph.features, dtype=np.int64)
    labels[i] = own.argmax()
    best = int(own[labels[i]])
    return Sighted(best > low, labels, max(best, low))


def worst(ground: Ground, freed: Collection[int], most: int, moves: Any = None, *, work: int | None = None) -> Found:
    """Return the labelling of freed features with the largest fall; what falls for ever is no label.

    Parameters
    ----------
    freed, most, moves
        See `sight`.
    work : how many entries of tables may be visited, compiled; default: as many as the time that is left allows
    """
    seen = sight(ground, freed, most, -1, FAR, moves, work=work)
    if seen is None:
        return _exactly(ground, freed, most, np.ones(len(ground.graph.own), dtype=np.bool_), moves, work)
    if ground.is_exact:
        return Found(tuple(seen.labels.tolist()), ground.fall(seen.labels))
    # Among labellings within the error of the largest sum, units do not tell: only labels of such are left.
    graph = ground.graph if moves is None else ground.graph._replace(moves=moves)
    is_free, listed = free_features(ground, freed), np.zeros(len(graph.own), dtype=np.bool_)
    low, within = seen.sum - 2 * ground.error - 1, _work(ground, work)
    how, *_ = search(graph, is_free, most, low, FAR, True, within, ground.landscape.limit, seen.labels.copy(), listed)
    if how != DONE:  # then only some of them are listed
        listed[:] = True
    counts = np.add.reduceat(listed, graph.first[:-1])
    if (counts[is_free] == 1).all():
        return Found(tuple(seen.labels.tolist()), ground.fall(seen.labels))
    return _exactly(ground, freed, most, listed, moves, work)


def ceiling(ground: Ground, freed: Collection[int], most: int, *, work: int) -> Rational | None:
    """Return how far the score falls at most, by messages alone and exactly; None where 64 bits do not suffice."""
    graph = ground.graph
    labels, listed = np.zeros(graph.features, dtype=np.int64), np.zeros(len(graph.own), dtype=np.bool_)
    limit, is_free, within = ground.landscape.limit, free_features(ground, freed), _work(ground, work)
    how, _, _, bound, *_ = search(graph, is_free, most, -1, FAR, False, within, limit, labels, listed)
    if how == OVERFLOW:
        return None
    # In exact whole numbers labels that are approached take a little away; a whole step makes up for it.
    more = ground.landscape.steps if ground.is_exact else ground.error
    return (int(bound) + more) * fmpq(2) ** -ground.landscape.bits


def _exactly(
    ground: Ground, freed: Collection[int], most: int, alive: NDArray[np.bool_], moves: Any, work: int | None
) -> Found:
    """Return the labelling with the largest fall among those of some labels, in exact whole numbers."""
    first, is_free = ground.graph.first, free_features(ground, freed)
    for i in np.flatnonzero(~is_free):
        alive[first[i] : first[i + 1]] = False
        alive[first[i]] = True
    graph, labels = ground.exact_graph(alive)
    if moves is not None:
        graph = graph._replace(moves=moves[alive])
    chosen, left = np.zeros(graph.features, dtype=np.int64), np.zeros(len(graph.own), dtype=np.bool_)
    beyond, within = _beyond(graph), _work(ground, work, is_plain=True)
    how, is_above, *_ = exact_search(graph, is_free, most, -1, beyond, False, within, beyond, chosen, left)
    if how != DONE:
        raise BudgetEnded
    assert is_above, "the row itself does not fall at all"
    found = tuple(some[k] for some, k in zip(labels, chosen.tolist(), strict=True))
    return Found(found, ground.fall(found))


def _beyond(graph: Graph) -> int:
    """Return more than any number of a search over a graph of exact whole numbers can be."""
    size: int = sum(map(abs, graph.own)) + sum(map(abs, graph.both)) + 1
    return size << 64


def _work(ground: Ground, work: int | None, *, is_plain: bool = False) -> int:
    """Return how many entries of tables a search may visit: so many, or in the time left; fewer in plain Python."""
    rate = _PLAIN_RATE if is_plain or not has_compiler() else _RATE
    if work is not None:
        return work * rate // _RATE
    left = ground.deadline - time.monotonic()
    most = _MOST_WORK * rate // _RATE
    return most if left * rate > most else max(int(left * rate), LEAST_WORK * rate // _RATE)
