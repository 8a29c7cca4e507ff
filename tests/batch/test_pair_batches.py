"""Every row of a batch of a model with pair terms has the answer that it has alone, to the very set."""

import math
from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest

import suffice
from suffice import AtLeast, AtMost, Bins, Domain, Explainer, Feature, PairSteps, Same, Steps, Table, Within
from suffice.batch import pair_kernel

KINDS = ["reals", "reals", "bounded", "integers", "labels", "gaps"]
TIES = [Fraction(k, 2) for k in range(-6, 7)]


def feature(rng, kind, number):
    """Return a shape, a domain, the bins of its pair terms, and likely cells."""
    closed = rng.choice(["left", "right"])
    cuts = sorted(rng.sample([-2, -1, -0.5, 0, 0.1, 1, 1.5, 2, Fraction(1, 3)], rng.randint(1, 4)), key=float)
    some = sorted(rng.sample(cuts, rng.randint(1, len(cuts))), key=float)
    if kind == "labels":
        names = ["a", "b", "c"][: rng.randint(1, 3)]
        shape = Table({**{name: number() for name in names}, suffice.MISSING: number()})
        domain = Domain.categories(*names) | Domain.codes(suffice.MISSING)
        return shape, domain, Bins(keys=[*names, suffice.MISSING]), [*names, None]
    steps = Steps(cuts, [number() for _ in range(len(cuts) + 1)], closed=closed)
    bins = Bins(some, closed=rng.choice(["left", "right"]))
    if kind == "integers":
        return steps, Domain.integers(-3, 3), bins, [-3, -2, -1, 0, 1, 2, 3]
    near = [c + d for c in (-2, -1, -0.5, 0, 0.1, 1, 2) for d in (0, 0.5, -0.5, 0.1, 1e-16, 1.1)]
    if kind == "gaps":  # several spans: left to exact arithmetic
        return steps, Domain.interval(-4, -1) | Domain.interval(0, 2), bins, [-4, -1, 0, 0.1, 2]
    domain = Domain.reals() if kind == "reals" else Domain.interval(-2, 2)
    return steps, domain, bins, [x for x in near if x in domain]


def made(seed, kinds=KINDS):
    rng = Random(seed)
    number = (lambda: rng.choice(TIES)) if seed % 3 == 0 else lambda: rng.gauss(0, 1)
    count = rng.randint(2, 5)
    each = [feature(rng, rng.choice(kinds), number) for _ in range(count)]
    pairs = {
        (f"f{i}", f"f{j}"): PairSteps(
            each[i][2], each[j][2], [[number() for _ in range(len(each[j][2]))] for _ in range(len(each[i][2]))]
        )
        for i, j in combinations(range(count), 2)
        if rng.random() < 0.7
    } or {("f0", "f1"): PairSteps(each[0][2], each[1][2], [[1] * len(each[1][2])] * len(each[0][2]))}
    features = [Feature(f"f{i}", domain, deviation=1) for i, (_, domain, _, _) in enumerate(each)]
    task = rng.choice(["binary", "binary", "regression"])
    claim = rng.choice([Same(), AtLeast(-1), AtMost(2)] if task == "binary" else [AtLeast(-1), AtMost(1), Within(1)])
    model = suffice.AdditiveModel([one[0] for one in each], number(), task, features, pairs=pairs)
    rows = np.array([[rng.choice(cells) for *_, cells in each] for _ in range(8)], dtype=object)
    rows[0, 0] = rng.choice([math.nan, "wrong", 99.5, rows[0, 0], "0.1", "1/3"])
    radius = [rng.choice([0, 0.5, 1, 0.1, Fraction(1, 3), 2, math.inf]) for _ in range(count)]
    return Explainer(model), rows, {"radius": radius, "unit": "raw", "claim": claim}


def alone(explainer, row, asked):
    try:
        return explainer.explain(list(row), **asked), None
    except suffice.SufficeError as error:
        return None, str(error)


@pytest.mark.parametrize("block", range(6))
def test_a_row_is_answered_as_if_it_were_alone(block):
    settled = 0
    for seed in range(25 * block, 25 * (block + 1)):
        explainer, rows, asked = made(seed)
        result = explainer.explain_batch(rows, threads=1, **asked)
        settled += int((~result.was_exact).sum())
        for k, row in enumerate(rows):
            why, message = alone(explainer, row, asked)
            assert result.messages.get(k) == message, (seed, k)
            if why is None:
                continue
            found = (result.sizes[k], result.statuses[k], result.lower_bounds[k])
            assert found == (why.size, why.status.value, why.lower_bound), (seed, k)
            assert abs(Fraction(result.margins[k]) - why.margin) <= Fraction(result.margin_errors[k]), (seed, k)
            if explainer.model.task == "binary":
                assert result.predictions[k] == why.prediction, (seed, k)
            else:
                off = abs(Fraction(result.predictions[k]) - why.prediction)
                assert off <= Fraction(result.prediction_errors[k]), (seed, k)
            assert result.features_of(k) == why.features, (seed, k)
    assert settled > 20  # or nothing was tried


def test_rows_that_no_tie_touches_need_no_exact_arithmetic():
    for seed in range(1, 60, 3):
        explainer, rows, asked = made(seed, kinds=["reals", "bounded", "integers", "labels"])
        result = explainer.explain_batch(rows[1:], threads=1, **asked)
        failed = set(result.failed_rows.tolist())
        open_ = [k for k in result.exact_rows.tolist() if k not in failed]
        assert all(any(not isinstance(x, (str, float, int, type(None))) for x in rows[1 + k]) for k in open_)


def test_threads_do_not_change_what_is_found():
    explainer, rows, asked = made(1, kinds=["reals", "bounded"])
    many, asked["claim"] = np.tile(rows[1:].astype(float), (600, 1)), AtLeast(-50)
    one, two = (explainer.explain_batch(many, threads=threads, **asked) for threads in (1, 2))
    assert not one.was_exact.any()
    assert one.to_arrow() == two.to_arrow()


def test_a_search_that_takes_long_is_left_to_exact_arithmetic(monkeypatch):
    """What the compiled loop gives up on is still answered."""
    explainer, rows, asked = made(4, kinds=["reals", "bounded"])
    expected = explainer.explain_batch(rows[1:], threads=1, **asked)
    monkeypatch.setattr(pair_kernel, "settle", give_up)
    result = Explainer(explainer.model).explain_batch(rows[1:], threads=1, **asked)
    assert result.was_exact.all()
    assert result.sizes.tolist() == expected.sizes.tolist()


def give_up(steps, tables, turned, sides, error, limit, columns, vague):
    rows = columns.shape[1]
    return np.zeros(rows, np.int64), np.zeros(rows, bool), np.full(rows, -1, np.int32), np.zeros(0, np.int32)


@pytest.mark.parametrize("intercept", [10**40, -(10**40), Fraction(1, 10**40)])
def test_numbers_beyond_64_bits_are_left_to_exact_arithmetic(intercept):
    values = ["a", "b"]
    features = [Feature(name, Domain.categories(*values)) for name in "xy"]
    pairs = {("x", "y"): PairSteps(Bins(keys=values), Bins(keys=values), [[0, 1], [1, 0]])}
    model = suffice.AdditiveModel([Table({"a": 0, "b": 1})] * 2, intercept, features=features, pairs=pairs)
    batch = Explainer(model).explain_batch(np.array([["a", "b"], ["b", "a"]]), 1, unit="raw")
    assert [batch.fixed_of(k) for k in range(2)] == [
        Explainer(model).explain(row, 1, unit="raw").fixed for row in (["a", "b"], ["b", "a"])
    ]
