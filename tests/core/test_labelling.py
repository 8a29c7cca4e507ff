"""The worst labelling of a graph, against trying every labelling."""

import random
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
from oracles.labellings import sums_of_labellings

from suffice.core.anchor import dominated, shared, without
from suffice.core.graph import Graph, graph
from suffice.core.labelling import DONE, ENOUGH, OVERFLOW, WORK_ENDED, exact_search, search

Tables = dict[tuple[int, int], list[list[int]]]


def random_tables(rng: random.Random) -> tuple[list[list[int]], Tables]:
    """Return features with numbers for their labels, and tables for pairs; 0 for first labels. Ties are common."""
    count, most = rng.randint(1, 6), rng.choice([1, 3, 1000])
    own = [[0, *(rng.randint(-most, most) for _ in range(rng.randint(0, 3)))] for _ in range(count)]
    density = rng.choice([0, 0.3, 0.6, 1])
    ends = [(i, j) for i in range(count) for j in range(i + 1, count) if rng.random() < density]
    return own, {
        (i, j): [[rng.randint(-most, most) if a and b else 0 for b in range(len(own[j]))] for a in range(len(own[i]))]
        for i, j in ends
    }


def as_graph(own: list[list[int]], tables: Tables, dtype: Any = np.int64, uncounted: Collection[int] = ()) -> Graph:
    """Return a graph; changes of some features are not counted."""
    first = np.concatenate([[0], np.cumsum([len(one) for one in own])])
    counts = [label != 0 and i not in uncounted for i, one in enumerate(own) for label in range(len(one))]
    moves = np.array(counts, dtype=np.int64)
    both = [value for table in tables.values() for row in table for value in row]
    return graph(
        first,
        np.array([value for one in own for value in one], dtype=dtype),
        moves,
        list(tables),
        np.array(both, dtype=dtype),
    )


def run(how: Any, of: Graph, is_free: list[bool], most: int, threshold: int, **options: Any) -> Any:
    labels, listed = np.zeros(of.features, dtype=np.int64), np.zeros(len(of.own), dtype=np.bool_)
    given = {"enough": 1 << 40, "is_listing": False, "max_work": 10**9, "limit": 1 << 50} | options
    return how(of, np.array(is_free), most, threshold, *given.values(), labels, listed), labels, listed


@pytest.mark.parametrize("seed", range(8))
def test_the_best_labelling_is_found_and_none_above_it(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(120):
        own, tables = random_tables(rng)
        count = len(own)
        is_free = [rng.random() < 0.8 for _ in own]
        most = rng.choice([count, count, 0, 1, 2])
        uncounted = {i for i in range(count) if rng.random() < 0.2}
        sums = dict(sums_of_labellings(own, tables, {i for i in range(count) if is_free[i]}, most, uncounted))
        best = max(sums.values())
        threshold = rng.choice([-1, best - 3, best - 1, best, best + 1])
        for how, dtype in ((search, np.int64), (exact_search, object)):
            of = as_graph(own, tables, dtype, uncounted)
            (end, is_found, found, bound, _, _), labels, _ = run(how, of, is_free, most, threshold)
            assert (end, is_found) == (DONE, best > threshold)
            assert found == bound == max(best, threshold)
            assert not is_found or sums[tuple(labels.tolist())] == best
            (end, *_), _, listed = run(how, of, is_free, most, threshold, is_listing=True)
            assert end == DONE
            above = [labels for labels, value in sums.items() if value > threshold]
            wanted = {of.first[i] + one for labels in above for i, one in enumerate(labels) if is_free[i]}
            assert set(np.flatnonzero(listed).tolist()) == wanted


@pytest.mark.parametrize("seed", range(4))
def test_a_label_that_another_beats_changes_no_best_labelling(seed: int) -> None:
    rng = random.Random(seed)
    left = 0
    for _ in range(100):
        own, tables = random_tables(rng)
        of = as_graph(own, tables)
        fewer, kept = without(of, dominated(of, 0))
        left += len(of.own) - len(kept)
        for _ in range(4):
            is_free, most = [rng.random() < 0.7 for _ in own], rng.randint(0, len(own))
            sums = dict(sums_of_labellings(own, tables, {i for i, one in enumerate(is_free) if one}, most))
            (_, _, found, *_), labels, _ = run(search, fewer, is_free, most, -1)
            assert found == max(sums.values())
            whole = [int(kept[fewer.first[i] + k]) - int(of.first[i]) for i, k in enumerate(labels)]
            assert sums[tuple(whole)] == found
    assert left > 50  # some were taken out


@pytest.mark.parametrize("seed", range(4))
def test_shares_add_up_to_at_least_what_any_set_can_do(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(80):
        own, tables = random_tables(rng)
        shares = shared(as_graph(own, tables))
        free = {i for i in range(len(own)) if rng.random() < 0.6}
        sums = dict(sums_of_labellings(own, tables, free, len(own)))
        assert (shares >= 0).all()
        assert max(sums.values()) <= sum(shares[i] for i in free)


def test_a_search_ends_early_where_it_may() -> None:
    rng = random.Random(5)
    own = [[0, *(rng.randint(-9, 9) for _ in range(4))] for _ in range(9)]
    tables = {
        (i, j): [[rng.randint(-99, 99) if a and b else 0 for b in range(5)] for a in range(5)]
        for i in range(9)
        for j in range(i + 1, 9)
    }
    of, everything = as_graph(own, tables), [True] * 9
    (end, is_found, best, *_), _, _ = run(search, of, everything, 9, -1)
    assert (end, is_found) == (DONE, True)
    (end, is_found, found, *_), _, _ = run(search, of, everything, 9, -1, enough=best // 2)
    assert (end, is_found) == (ENOUGH, True)
    assert best // 2 < found <= best
    (end, _, found, bound, *_), _, _ = run(search, of, everything, 9, -1, max_work=10)
    assert end == WORK_ENDED
    assert found <= best <= bound


def test_numbers_near_the_end_of_64_bits_end_the_search() -> None:
    own, tables = [[0, 5], [0, 7]], {(0, 1): [[0, 0], [0, 1 << 30]]}
    (end, *_), _, _ = run(search, as_graph(own, tables), [True, True], 2, -1, limit=1 << 20)
    assert end == OVERFLOW
