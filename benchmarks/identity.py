"""Rows of a batch against the same rows alone: the same sets, in the same order, whatever is asked.

    python benchmarks/identity.py [--rows 100000] [--seed 0] [--processes 2] [--same 20]

Models are drawn at random and made to be awkward: values on grids, so that drops tie and sums meet margins; cuts at
thirds, which are no floats; denormal and huge numbers, shapes that are all tiny or all huge; shapes that fall for ever,
so that drops are infinite; integers, gaps, categories, codes and missing cells; numbers as text, which are no floats;
terms over two features; networks in float32 and float64, with rows where rounding may take all of a margin. Of every
claim and option rows are explained in one batch, with one thread, with three, and in other processes, which must give
the same bytes; and each row alone by the search, in exact arithmetic, which must give the same prediction, status,
bound and fixed features in the same order, a margin and a score within the errors that are told, or the same error.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import combinations
from multiprocessing import get_context

import numpy as np

import suffice
from suffice import (
    AtLeast,
    AtMost,
    Beats,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewiseLinear,
    ProbabilityAtLeast,
    ReluNetwork,
    Same,
    Steps,
    Table,
    Within,
)
from suffice.search.explain import explain

ROWS = 200  # of each question
GRID = [-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3]
ODD = [1 / 3, 0.1, 0.2, 0.3, 5e-324, -5e-324, 1e-310, 1e-17, 1e15, -1e200, 1e300, 1 + 2**-52, 7e-9]


def drawn_number(rng):
    """Draw a number: of a grid, an odd one, or any."""
    return rng.choice([rng.choice(GRID), rng.choice(GRID), rng.choice(ODD), rng.uniform(-3, 3)])


def drawn_shape(rng, outputs, size=1):
    """Draw a shape, its domain, and a function that draws cells."""
    height = [0, 0.5, 1, -1, 2, 1 / 3, 0.1] if rng.random() < 0.6 else [rng.uniform(-1, 1) for _ in range(9)]
    height = [size * one for one in height]

    def value():
        return rng.choice(height) if outputs == 1 else [rng.choice(height) for _ in range(outputs)]

    kind = rng.choice(["line", "line", "steps", "steps", "integers", "bounded", "gaps", "codes", "labels", "steep"])
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
            lambda: rng.choice([-2, 3, rng.uniform(-2, 3), 0.5, 1, "1/3", "0.1", "2.99999999999999999999"]),
        )
    if kind == "gaps":
        gaps = Domain.points(-3, "1/3", 7) | Domain.interval(-1, 0) | Domain.integers(2, 5)
        return (
            rng.choice([line, steps]),
            gaps,
            lambda: rng.choice([-3, 7, -1, 0, -0.5, 2, 3, 5, rng.uniform(-1, 0), 2.5]),
        )
    return (steps if kind == "steps" else line), Domain.reals(), lambda: drawn_number(rng)


def drawn_network(rng, outputs):
    """Draw a network, or a table before one, its feature, and a function that draws cells."""

    def weights(rows, columns, size=1.0):
        return np.array([[rng.gauss(0, size) for _ in range(columns)] for _ in range(rows)], np.float32)

    layers = [weights(5, 1), weights(4, 5), weights(outputs, 4, rng.choice([1, 1, 30, 1e-6]))]
    shape = ReluNetwork(layers, [[rng.gauss(0, 1) for _ in layer] for layer in layers])
    kind = rng.choice(["reals", "reals", "scaled", "bounded", "integers", "codes", "gaps"])
    near = [0.0, 1 / 3, -2.0, 1.5, 2**-6, -(2**-6), 0.5 + 2**-53, 1e-30]

    def cell():
        return rng.choice([rng.choice(near), rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1), "0.1", 1e9])

    if kind == "scaled":
        return shape, Feature("f", center=100, scale=7), lambda: 100 + 7 * rng.choice([rng.gauss(0, 1), -1, 0.5])
    if kind == "bounded":
        return (
            shape,
            Feature("f", Domain.interval(-1, "1/3"), deviation=1),
            lambda: rng.choice([-1, 0.25, rng.uniform(-1, 0.3)]),
        )
    if kind == "integers":
        return shape, Feature("f", Domain.integers(-3, 40), deviation=2), lambda: rng.choice([-3, 0, 1, 5, 40, 0.5])
    if kind == "codes":
        table = Table({-9: [0.5] * outputs, suffice.MISSING: [0.25] * outputs}, otherwise=shape)
        domain = Domain.interval("-8.999", 10) | Domain.codes(-9, suffice.MISSING)
        return (
            table,
            Feature("f", domain),
            lambda: rng.choice([-9, None, -8.9, 3, rng.uniform(-8, 9), rng.uniform(-8, 9)]),
        )
    if kind == "gaps":
        gaps = Domain.points(0, 1, 2.5) | Domain.interval(4, 6)
        return shape, Feature("f", gaps), lambda: rng.choice([0, 1, 2.5, 4, 5.5, rng.uniform(4, 6)])
    return shape, Feature("f", deviation="1/3"), cell


def drawn_networks(rng, count):
    """Draw a model of networks, rows of it, a radius and options; half of the time all rows are near a boundary."""
    task = rng.choice(["binary", "binary", "regression", "multiclass"])
    outputs = 3 if task == "multiclass" else 1
    made = [drawn_network(rng, outputs) for _ in range(rng.randint(1, 6))]
    features = [
        Feature(f"f{i}", one.domain, center=one.center, scale=one.scale, deviation=one.deviation)
        for i, (_, one, _) in enumerate(made)
    ]
    shapes, intercept = [shape for shape, *_ in made], [0.25] * outputs
    rows = np.empty((count, len(made)), dtype=object)
    for k in range(count):
        rows[k] = [cell() for *_, cell in made]
    radius = rng.choice([0, "1/1000", 0.1, "1/3", 1])
    if rng.random() < 0.5 and all(one.domain == Domain.reals() for one in features):
        at = [rng.gauss(0, 1) if one.scale == 1 else 100 + rng.gauss(0, 1) for one in features]
        here = Explainer(suffice.AdditiveModel(shapes, intercept, task, features)).scores(at)
        intercept = [0.25 - one for one in (here if outputs > 1 else [here[0]])]
        for k in range(count):
            rows[k] = [x + rng.gauss(0, 1) * 2.0**-12 for x in at]
        radius = "1/16384"
    model = suffice.AdditiveModel(shapes, intercept, task, features)
    options = {
        "claim": rng.choice([Within("1/5"), AtLeast(0)])
        if task == "regression"
        else rng.choice([Same(), Same(), Beats(0)]),
        "arithmetic": rng.choice(["float32", "float64"]),
        **drawn_options(rng, [one.name for one in features]),
    }
    return model, radius, options, rows


def with_pairs(rng, made, names, size):
    """Draw terms over two features, for some pairs whose features have numbers alone."""
    plain = [i for i, (_, domain, _) in enumerate(made) if domain.spans and not (domain.codes_ or domain.categories_)]

    def bins():
        return Bins(sorted(rng.sample([-2, -1, -0.5, 0, 0.1, 1, 1.5, Fraction(1, 3)], rng.randint(1, 3)), key=float))

    found = {}
    for i, j in combinations(plain, 2):
        if rng.random() < 0.5 and len(found) < 5:
            one, other = bins(), bins()
            grid = [
                [size * rng.choice([0, 0.5, 1, -1, 1 / 3, rng.uniform(-1, 1)]) for _ in range(len(other))]
                for _ in range(len(one))
            ]
            found[names[i], names[j]] = PairSteps(one, other, grid)
    return found


def drawn_question(rng, count):
    """Draw a model, rows of it, a radius and options."""
    if rng.random() < 0.25:
        return drawn_networks(rng, count)
    task = rng.choice(["binary", "binary", "regression", "multiclass"])
    outputs = rng.choice([3, 3, 4]) if task == "multiclass" else 1
    size = rng.choice([1, 1, 1, 1e-200, 1e200, 5e-324, 2.0**-1000])
    has_pairs = outputs == 1 and rng.random() < 0.15
    made = [drawn_shape(rng, outputs, size) for _ in range(rng.randint(2, 5) if has_pairs else rng.randint(1, 9))]
    if has_pairs:
        made = [one for one in made if not isinstance(one[0], PiecewiseLinear)]
        made += [(Steps([0], [0, size]), Domain.reals(), lambda: drawn_number(rng)) for _ in range(2)]
    features = [Feature(f"f{i}", domain, deviation=1) for i, (_, domain, _) in enumerate(made)]
    names = [one.name for one in features]
    intercept = (
        size * rng.choice([0, 0.1, -1])
        if outputs == 1
        else [0, 0.1 * size, rng.choice([0, 0.2 * size])] + [0] * (outputs - 3)
    )
    ties = rng.choice(["positive", "negative"])
    pairs = with_pairs(rng, made, names, size) if has_pairs else {}
    model = suffice.AdditiveModel([shape for shape, *_ in made], intercept, task, features, ties=ties, pairs=pairs)
    claims = {
        "binary": [
            Same(),
            Same(),
            Beats(0),
            AtLeast(-size),
            AtMost(0.5 * size),
            Within(0.5 * size),
            ProbabilityAtLeast(0.3),
        ],
        "regression": [AtLeast(-size), AtMost(size), Within(size), Within("1/3"), Within(0)],
        "multiclass": [Same(), Same(), Beats(1)],
    }
    options = {"claim": rng.choice(claims[task]), **drawn_options(rng, names)}
    if has_pairs:
        options = {"claim": options["claim"]} if rng.random() < 0.8 else options
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


def is_near(number, error, exact):
    """Whether a number is as near to an exact one as its error says; both are infinite where no float is near."""
    return abs(number) == error == np.inf or abs(Fraction(number) - exact) <= Fraction(error)


def compare(seed, count=ROWS):
    """Compare the rows of one question; return how many there are, how many bounds settled, statuses, the digest."""
    model, radius, options, rows = drawn_question(random.Random(seed), count)
    explainer = Explainer(model)
    rows = rows[: count // 8] if model.pairs else rows  # alone, each takes long
    try:
        question = explainer.question(radius, unit="raw", **options)
    except suffice.SufficeError:  # asked of no row
        return 0, 0, Counter(), ""
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
        assert is_near(result.margins[k], result.margin_errors[k], why.margin), (seed, k)
        if model.classes:
            assert result.predictions[k] == why.prediction, (seed, k)
        else:
            assert is_near(result.predictions[k], result.prediction_errors[k], why.prediction), (seed, k)
    kind = options.get("arithmetic", "pairs" if model.pairs else model.task)
    return len(rows), int((~result.was_exact).sum()), Counter((kind, one) for one in result.statuses.tolist()), told


def threads_and_processes(count, processes):
    """Return on how many questions threads and processes gave the same bytes."""
    seeds = range(count)
    here = [compare(seed)[-1] for seed in seeds]
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
    parser.add_argument("--same", type=int, default=20, help="questions asked with several threads and processes")
    given = parser.parse_args()
    began, rows, settled, seed, kinds = time.process_time(), 0, 0, given.seed, Counter()
    while rows < given.rows:
        found, by_bounds, statuses, _ = compare(seed)
        rows, settled, seed, kinds = rows + found, settled + by_bounds, seed + 1, kinds + statuses
        if seed % 50 == 0:
            print(f"  {rows:,} rows of {seed - given.seed:,} questions, none differs", flush=True)
    print(
        f"{rows:,} rows of {seed - given.seed:,} questions: none differs; {settled / rows:.1%} settled by error bounds"
    )
    for (kind, status), times in sorted(kinds.items()):
        print(f"  {kind:10} {status:8} {times:,}")
    print(f"{time.process_time() - began:.0f} s of the processor")
    if not given.same:
        return
    count = threads_and_processes(given.same, given.processes)
    print(f"threads and processes give the same bytes ({count} questions, and four of 20,000 rows)")


if __name__ == "__main__":
    main()
