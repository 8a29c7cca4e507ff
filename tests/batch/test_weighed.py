"""Costs and groups in batches of one-part claims, against every set tried out in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import suffice
from suffice import Explainer, PiecewiseLinear, Steps
from suffice.batch.plan import make_plan
from suffice.batch.weighed import choose
from suffice.solvers.cover_kernel import KEPT
from suffice.solvers.covers import PARTS

plain_choose = choose.py_func

SLOPES = [1, 1, 2, Fraction(1, 2), 3, Fraction(1, 3), 1, Fraction(5, 4)]


def first_best(drops, margin, costs, free):
    """Try every set of items: return those fixed, heaviest first, as the documented rule chooses them."""
    items = range(len(drops))
    in_order = sorted(items, key=lambda k: (-drops[k], k))
    held = [set(freed) for size in range(len(drops) + 1) for freed in combinations(items, size) if free <= set(freed)]
    held = [freed for freed in held if sum(drops[k] for k in freed) < margin]
    if not held:
        return None
    most = max(sum(costs[k] for k in freed) for freed in held)
    best = [freed for freed in held if sum(costs[k] for k in freed) == most]
    first = min(best, key=lambda freed: [k in freed for k in in_order])
    return [k for k in in_order if k not in first]


def model_of(intercept):
    # Around a number each feature can fall by its slope times the radius: drops are the same at all rows.
    lines = [PiecewiseLinear([0, 1], [0, slope], left_slope=slope, right_slope=slope) for slope in SLOPES]
    return suffice.AdditiveModel(lines, intercept, "binary", ties="negative")


@pytest.mark.parametrize("seed", range(12))
def test_the_first_of_the_best_sets_is_chosen(seed):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(len(SLOPES))]
    members = [["x0", "x5"], ["x2", "x4", "x7"], ["x1", "x6"]][seed % 3]
    items = [members if name == members[0] else [name] for name in names if name not in members[1:]]
    if seed % 2:
        members, items = [], [[name] for name in names]
    few = rng.permutation(len(items))[: rng.integers(0, len(items) + 1)]
    dearest = int(rng.choice([5, 40]))
    costs = [Fraction(int(rng.integers(1, dearest)), 2) if k in few else Fraction(1) for k in range(len(items))]
    free = {int(rng.integers(len(items)))} if seed % 4 == 1 else set()
    drops = [sum(Fraction(SLOPES[names.index(name)]) for name in item) / 2 for item in items]
    group_names = {"+".join(members): members} if members else {}
    labels = ["+".join(item) if item == members and members else item[0] for item in items]
    explainer = Explainer(model_of(0))
    rows = []
    for margin in [*rng.uniform(0.01, 7, size=20), *np.arange(1, 28) / 4]:
        rows.append([float(margin), 0, 0, 0, 0, 0, 0, 0])
    options = {
        "cost": dict(zip(labels, costs, strict=True)),
        "groups": group_names,
        "free": [name for k in free for name in items[k]],
    }
    question = explainer.question(0.5, unit="raw", **options)
    if any(cost != 1 for cost in costs) or members:
        assert type(make_plan(explainer.compiled, question)).__name__ == "_Weighed"
    result = explainer.explain_batch(np.array(rows, float), question, threads=1)
    for k, row in enumerate(rows):
        expected = first_best(drops, Fraction(row[0]), costs, free)
        if expected is None:
            assert result.statuses[k] == "failed"
            assert "cannot" in result.messages[k]
        else:
            assert result.features_of(k) == tuple(name for item in expected for name in items[item])


@pytest.mark.parametrize("seed", range(40))
def test_a_knapsack_of_whole_numbers_gets_its_first_best_choice(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    unit = [PARTS // 8, PARTS // 7, 1][seed % 3]  # many ties; the last: all fit, or none
    light = np.sort(rng.integers(0, 9, size=count) * unit + rng.integers(0, 2, size=count) * (seed % 2))
    costs = rng.integers(1, [3, 9, 200][seed % 3], size=count)
    decided = np.where(rng.random(count) < 0.1, KEPT, 0).astype(np.int8)
    light[decided == KEPT] = 2 * PARTS
    by_rate, is_free = np.argsort(light / costs), np.zeros(count, bool)
    gains, some = np.empty(count, np.int64), np.empty(count, np.int64)
    least = np.empty((count + 1, costs.sum() + 1), np.int64)
    plain_choose(light, costs, decided, np.arange(count), by_rate, gains, some, least, is_free)
    heaviest_first = range(count - 1, -1, -1)
    sets = [freed for size in range(count + 1) for freed in combinations(range(count), size)]
    sets = [freed for freed in sets if light[list(freed)].sum() <= PARTS]
    best = min(sets, key=lambda freed: (-costs[list(freed)].sum(), [k in freed for k in heaviest_first]))
    assert np.flatnonzero(is_free).tolist() == sorted(best)


def test_rows_that_what_is_free_breaks_are_refused_with_the_words_of_one_row():
    explainer = Explainer(model_of(0))
    rows = np.array([[0.2] + [0] * 7, [5.0] + [0] * 7, [0.5] + [0] * 7, [np.nan] + [0] * 7])
    for options in ({"free": ["x0"]}, {"free": ["x0"], "cost": {"x1": 2}}, {"free": ["x0"], "groups": [["x1", "x2"]]}):
        result = explainer.explain_batch(rows, 0.5, unit="raw", **options)
        assert result.statuses.tolist() == ["failed", "proven", "failed", "failed"]
        assert result.was_exact[[0, 2]].tolist() == [False, True]  # the third is a tie
        assert result.to_arrow()["message"].null_count == 1
        for k in (0, 2, 3):
            with pytest.raises(suffice.SufficeError) as refused:
                explainer.explain(rows[k], 0.5, unit="raw", **options)
            assert result.messages[k] == str(refused.value)
            with pytest.raises(suffice.RowError):
                result[k]


def test_drops_that_differ_in_their_last_bits_are_in_order():
    near = [1.0, np.nextafter(1, 2), np.nextafter(1, 0), 1.0, np.nextafter(np.nextafter(1, 2), 2)]
    steps = [Steps([0], [0, float(value)]) for value in near]
    for intercept in (-1, -2, -3, 0):
        explainer = Explainer(suffice.AdditiveModel(steps, intercept, "binary"))
        rows = np.full((3, 5), 0.25)
        for cost in ({"x0": 2}, {"x4": "1/2"}, {"x1": 3, "x3": 2}):
            result = explainer.explain_batch(rows, 1, unit="raw", cost=cost)
            why = explainer.explain(rows[0], 1, unit="raw", cost=cost)
            assert {result.fixed_of(k) for k in range(3)} == {why.fixed}
