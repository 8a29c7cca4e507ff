"""The cheapest choice, against trying all."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from suffice.solvers.choosing import Group, cheapest_choice


def some_groups(rng, largest):
    """Groups of options with costs and gains that rise, and a need."""
    groups = []
    for _ in range(rng.randint(1, 6)):
        count = rng.randint(0, 3)
        costs = sorted(rng.sample(range(30), count))
        gains = [gain * largest + rng.randint(0, largest - 1) for gain in sorted(rng.sample(range(1, 25), count))]
        groups.append(
            Group(np.array(costs, dtype=np.int64), np.array(gains, dtype=object if largest > 1 else np.int64))
        )
    return groups, rng.randint(1, 60) * largest


def total(groups, picks, field):
    return sum(int(getattr(group, field)[pick]) for group, pick in zip(groups, picks, strict=True) if pick >= 0)


@pytest.mark.parametrize("largest", [1, 10**40])
def test_no_other_choice_is_cheaper(largest):
    possible = 0
    for seed in range(1500):
        groups, need = some_groups(random.Random(seed), largest)
        every = itertools.product(*(range(-1, len(group.costs)) for group in groups))
        best = min((total(groups, one, "costs") for one in every if total(groups, one, "gains") >= need), default=None)
        found = cheapest_choice(groups, need, math.inf)
        assert (found is None) == (best is None), seed
        if found is None:
            continue
        possible += 1
        assert found.cost == found.bound == best == total(groups, found.picks, "costs"), seed
        assert total(groups, found.picks, "gains") >= need
        ended = cheapest_choice(groups, need, -math.inf)  # its time is up at once
        assert ended.bound <= best <= ended.cost == total(groups, ended.picks, "costs"), seed
        assert total(groups, ended.picks, "gains") >= need
    assert possible > 500
