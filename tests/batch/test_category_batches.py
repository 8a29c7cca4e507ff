"""Batches of models with ordered categories and steps, in the compiled loops, against their rows asked one by one."""

import random

import numpy as np
import pytest

from suffice import AdditiveModel, Bins, Domain, Explainer, Feature, PairSteps, PiecewiseLinear, Table

NAMES = ["a", "b", "c", "d"]


def model(rng, *, has_pair):
    def value():
        return rng.choice([-2, -1, 0, 1, 2])

    keys = Bins(keys=NAMES)
    grid = [[value() for _ in NAMES] for _ in NAMES]
    number = Table({name: value() for name in NAMES}) if has_pair else PiecewiseLinear([-2, 2], [value(), value()])
    shapes = [*(Table({name: value() for name in NAMES}) for _ in range(3)), number]
    features = [
        Feature("ranks", Domain.ordered(*NAMES), deviation=1),
        "names",
        Feature("more", Domain.ordered(*NAMES), deviation=2),
        "others" if has_pair else Feature("others", deviation=1),
    ]
    pairs = {("ranks", "names"): PairSteps(keys, keys, grid)} if has_pair else {}
    return AdditiveModel(shapes, rng.choice([0, 1, 2]), features=features, pairs=pairs)


@pytest.mark.parametrize("has_pair", [False, True])
def test_a_batch_is_what_its_rows_are(has_pair):
    left_open = rows_asked = 0
    for seed in range(6):
        rng = random.Random(seed)
        explainer = Explainer(model(rng, has_pair=has_pair))
        last = NAMES if has_pair else [-1.5, 0.0, 1.0]
        rows = [[*(rng.choice(NAMES) for _ in range(3)), rng.choice(last)] for _ in range(25)]
        for categories in ("free", "step"):
            for radius in (0.5, 1, 2):
                batch = explainer.explain_batch(np.array(rows, dtype=object), radius, categories=categories)
                left_open, rows_asked = left_open + int(batch.was_exact.sum()), rows_asked + len(rows)
                sizes = [explainer.explain(row, radius, categories=categories).size for row in rows]
                assert batch.sizes.tolist() == sizes
    assert left_open < rows_asked  # the compiled loops have something to say
