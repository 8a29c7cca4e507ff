"""Rows of a batch against the same rows alone: the same sets, in the same order, whatever is asked.

    python benchmarks/identity.py [--rows 100000] [--seed 0] [--processes 2]

Models are drawn at random and made to be awkward: values on grids, so that drops tie and sums meet margins; cuts at
thirds, which are no floats; denormal and huge numbers; shapes that fall for ever, so that drops are infinite; integers,
categories, codes and missing cells. Of every claim and option rows are explained in one batch, with one thread, with
three, and in other processes, which must give the same bytes; and each row alone by the search, in exact arithmetic,
which must give the same prediction, status, bound and fixed features in the same order, or the same error.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

import suffice
from suffice import AtLeast, AtMost, Beats, Domain, Explainer, Feature, PiecewiseLinear, Same, Steps, Table, Within
from suffice.search.explain import explain

ROWS = 200  # of each question
GRID = [-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3]
ODD = [1 / 3, 0.1, 0.2, 0.3, 5e-324, -5e-324, 1e-310, 1e-17, 1e15, -1e200, 1e300, 1 + 2**-52, 7e-9]


def drawn_number(rng):
    """Draw a number: of a grid, an odd one, or any."""
    return rng.choice([rng.choice(GRID), rng.choice(GRID), rng.choice(ODD), rng.uniform(-3, 3)])


def drawn_shape(rng, outputs):
    """Draw a shape, its domain, and a function that draws cells."""
    height = [0, 0.5, 1, -1, 2, 1 / 3, 0.1] if rng.random() < 0.6 else [rng.uniform(-1, 1) for _ in range(9)]

    def value():
        return rng.choice(height) if outputs == 1 else [rng.choice(height) for _ in range(outputs)]

    kind = rng.choice(["line", "line", "steps", "steps", "integers", "bounded", "codes", "labels", "steep"])
    knots = sorted({rng.choice([*GRID, *GRID, 1 / 3, 0.1, rng.uniform(-3, 3)]) for _ in range(rng.randint(1, 6))})
    steps = Steps(knots, [value() for _ in range(len(knots) + 1)], closed=rng.choice(["left", "right"]))
    flat = 0 if outputs == 1 else [0] * outputs
    ends = (
        {"left_slope": value(), "right_slope": value()}
        if kind == "steep"
        else {"left_slope": flat, "right_slope": flat}
    )
    line = PiecewiseLinear(knots, [value() for _ in knots], **ends)
    if kind == "labels":
        table = Table({name: value() for name in "abc"})
        return table, Domain.categories("a", "b", "c"), lambda: rng.choice(["a", "b", "c", "a", "z"])
    if kind == "codes":
        table = Table({-9: value(), "odd": value(), suffice.MISSING: value()}, otherwise=line)
        domain = Domain.interval(-4, 4) | Domain.codes(-9, "odd", suffice.MISSING)
        return table, domain, lambda: rng.choice([rng.uniform(-4, 4), rng.choice(GRID), -9, "odd", None])
    if kind == "integers":
        return (
            rng.choice([line, steps]),
            Domain.integers(-3, 4),
            lambda: rng.choice([*range(-3, 5), *range(-3, 5), 0.5]),
        )
    if kind == "bounded":
        return (
            rng.choice([line, steps]),
            Domain.interval(-2, 3),
            lambda: rng.choice([-2, 3, rng.uniform(-2, 3), 0.5, 1]),
        )
    return (steps if kind == "steps" else line), Domain.reals(), lambda: drawn_number(rng)


def drawn_question(rng, count):
    """Draw a model, rows of it, a radius and options."""
    task = rng.choice(["binary", "binary", "regression", "multiclass"])
    outputs = 3 if task == "multiclass" else 1
    made = [drawn_shape(rng, outputs) for _ in range(rng.randint(1, 9))]
    features = [Feature(f"f{i}", domain, deviation=1) for i, (_, domain, _) in enumerate(made)]
    intercept = rng.choice([0, 0.1, -1]) if outputs == 1 else [0, 0.1, rng.choice([0, 0.2])]
    ties = rng.choice(["positive", "negative"])
    model = suffice.AdditiveModel([shape for shape, *_ in made], intercept, task, features, ties=ties)
    claims = {
        "binary": [Same(), Same(), Beats(0), AtLeast(-1), AtMost(0.5), Within(0.5)],
        "regression": [AtLeast(-1), AtMost(1), Within(1), Within("1/3"), Within(0)],
        "multiclass": [Same(), Same(), Beats(1)],
    }
    options = {"claim": rng.choice(claims[task]), **drawn_options(rng, [one.name for one in features])}
    radius = [rng.choice([0.5, 1, 0.1, 2, rng.uniform(0, 2), 0]) for _ in made]
    if "norm" not in options and rng.random() < 0.2:
        radius[0] = float("inf")
    rows = np.empty((count, len(made)), dtype=object)
    for k in range(count):
        rows[k] = [cell() for *_, cell in made]
    return model, radius, options, rows


def drawn_options(rng, names):
    """Draw one option, or none."""
    some = rng.sample(names, max(1, len(names) // 3))
    kind = rng.choice(["", "", "fix", "free", "both", "cost", "groups", "immutable", "max_changed", "norm"])
    return {
        "": {},
        "fix": {"fix": some},
        "free": {"free": some[:1]},
        "both": {"fix": some[:1], "free": some[1:2]},
        "cost": {"cost": {name: rng.choice([1, 2, 3]) for name in names}},
        "groups": {"groups": [rng.sample(names, 2)]} if len(names) > 1 else {},
        "immutable": {"immutable": some},
        "max_changed": {"max_changed": rng.randint(1, 3)},
        "norm": {"norm": rng.choice([1, 2])},
    }[kind]


def alone(explainer, question, row):
    """Return what the search answers for a row, or the words of its error."""
    try:
        return explain(explainer.compiled, question, list(row))
    except suffice.SufficeError as error:
        return str(error)


def digest(result):
    """Return a hash of everything that a batch says."""
    columns = [*result.answers, result.status_codes, result.lower_bounds, result.was_exact]
    told = hashlib.sha256(repr(sorted(result.messages.items())).encode())
    for column in columns:
        told.update(np.ascontiguousarray(column).tobytes())
    return told.hexdigest()


def compare(seed, count=ROWS):
    """Compare the rows of one question; return how many there are, how many bounds settled, and the batch's digest."""
    model, radius, options, rows = drawn_question(random.Random(seed), count)
    explainer = Explainer(model)
    question = explainer.question(radius, unit="raw", **options)
    result = explainer.explain_batch(rows, question, threads=1)
    told = digest(result)
    for k, row in enumerate(rows):
        why = alone(explainer, question, row)
        if isinstance(why, str):
            assert result.messages.get(k) == why, (seed, k)
            continue
        bound = why.bound if why.choices.is_counting and not why.choices.has_groups else 0
        found = result.fixed_of(k), result.statuses[k], result.lower_bounds[k]
        assert found == (why.fixed, why.status.value, bound), (seed, k, found, why.fixed)
        if model.classes:
            assert result.predictions[k] == why.prediction, (seed, k)
    return len(rows), int((~result.was_exact).sum()), told


def threads_and_processes(count, processes):
    """Return on how many questions threads and processes gave the same bytes."""
    seeds = range(count)
    here = [compare(seed)[2] for seed in seeds]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        assert [told for *_, told in pool.map(compare, seeds)] == here
    rng = np.random.default_rng(0)
    shapes = [PiecewiseLinear([-1, 0, 1], rng.normal(size=3).tolist()) for _ in range(6)]
    explainer, rows = Explainer(suffice.AdditiveModel(shapes, 0)), rng.normal(size=(20_000, 6))
    for options in ({}, {"fix": ["x1"]}, {"max_changed": 2}, {"cost": {"x2": 2}}):
        question = explainer.question(0.5, unit="raw", **options)
        assert len({digest(explainer.explain_batch(rows, question, threads=n)) for n in (1, 2, 3)}) == 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    began, rows, settled, seed = time.process_time(), 0, 0, given.seed
    while rows < given.rows:
        found, by_bounds, _ = compare(seed)
        rows, settled, seed = rows + found, settled + by_bounds, seed + 1
        if seed % 50 == 0:
            print(f"  {rows:,} rows of {seed - given.seed:,} questions, none differs", flush=True)
    print(
        f"{rows:,} rows of {seed - given.seed:,} questions: none differs; {settled / rows:.1%} settled by error bounds"
    )
    print(f"{time.process_time() - began:.0f} s of the processor")
    count = threads_and_processes(20, given.processes)
    print(f"threads and processes give the same bytes ({count} questions, and four of 20,000 rows)")


if __name__ == "__main__":
    main()
