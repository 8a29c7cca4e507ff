"""Explaining many rows, all in one run on one thread unless said otherwise.

    python benchmarks/batch.py [--data FOLDER] [--only speed,options,single,parquet,...]

Times are CPU times, the least of several rounds in which the rivals take turns, so that a busy machine hurts all alike.

speed     rows a second against PyTorch's forward pass of the same model at its best batch size, and against a floor for
          any table method: `np.searchsorted` of every column in its knots plus `np.sort` of every row
options   the same with each option, and two-sided claims about 20 features
single    one row at a time through a kept question, against the search in exact arithmetic
parquet   a million rows of 10 features from Parquet to Parquet, and what writing such results takes by itself
rows      time a row, for 10^3 to 10^7 rows
features  time a cell, for 10 to 1,000 features
pieces    time a cell, for 10^2 to 10^5 pieces a feature
threads   wall time with 1 and 2 threads
stress    rows made of ties and boundaries, most of which need exact arithmetic
memory    peak memory of `suffice batch` over a Parquet file of 10 million rows, above the interpreter with its imports
classes   Dry Bean, 7 classes, and Digits, 10 classes, the winner against all: rows a second, and the share that error
          bounds leave open
data      every row of HELOC, Adult and the CDC data explained; 2,000 drawn at random compared with the one-row path
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

import suffice
from suffice.batch import one_row
from suffice.batch.cells import read_source
from suffice.batch.run import batch_question
from suffice.search.explain import explain as exact_search

SECTIONS = (
    "speed",
    "options",
    "single",
    "parquet",
    "rows",
    "features",
    "pieces",
    "threads",
    "stress",
    "memory",
    "data",
    "classes",
)


def asked(explainer, radius, **options):
    """Return a question, compiled for many rows."""
    return batch_question(explainer.compiled, explainer.question(radius, **options))


def cpu_times(functions, rounds=5):
    """Return the least CPU time of each function; they take turns."""
    best = [np.inf] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            began = time.process_time()
            function()
            best[k] = min(best[k], time.process_time() - began)
    return best


# --- models -----------------------------------------------------------------------------------------------------------


def stacked_weights(rng, features, hidden):
    """Draw weights of one network for each feature, as PyTorch draws them, a little larger: one array a layer."""
    layers = []
    for inputs, outputs in pairwise([1, *hidden, 1]):
        bound = 1 / np.sqrt(inputs)
        weights = rng.uniform(-bound, bound, (features, inputs, outputs)).astype(np.float32) * np.float32(1.7)
        layers.append((weights, rng.uniform(-bound, bound, (features, 1, outputs)).astype(np.float32)))
    return layers


def network_model(rng, features=30, hidden=(64, 64, 32)):
    layers = stacked_weights(rng, features, hidden)
    shapes = [suffice.ReluNetwork([w[i].T for w, _ in layers], [b[i, 0] for _, b in layers]) for i in range(features)]
    named = [suffice.Feature(f"f{i}", deviation=1) for i in range(features)]
    return suffice.AdditiveModel(shapes, 0.1, "binary", named), layers


def line_model(rng, features, knots):
    shapes = [
        suffice.PiecewiseLinear(np.sort(rng.normal(size=knots)), rng.normal(size=knots) / features)
        for _ in range(features)
    ]
    return suffice.AdditiveModel(shapes, 0.1, "binary")


def forward_pass(layers):
    """Return the forward pass: all networks as one batched product a layer, which is how they run fastest."""
    import torch

    tensors = [(torch.from_numpy(weights), torch.from_numpy(biases)) for weights, biases in layers]

    def run(columns):  # features, rows, 1
        hidden = columns
        for k, (weights, biases) in enumerate(tensors):
            hidden = torch.baddbmm(biases, hidden, weights)
            if k < len(tensors) - 1:
                hidden = hidden.relu_()
        return hidden.sum(0)

    return run


# --- sections ---------------------------------------------------------------------------------------------------------


def speed(*_):
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    model, layers = network_model(rng)
    began = time.process_time()
    explainer = suffice.Explainer(model)
    explainer.compile()
    compiled = time.process_time()
    rows = rng.normal(size=(100_000, 30))
    print(f"30 features, networks 64-64-32, {len(rows):,} rows; model compiled in {compiled - began:.1f} s")
    run = forward_pass(layers)
    columns = torch.from_numpy(rows.T[:, :, None].astype(np.float32)).contiguous()
    per_row = {}
    with torch.inference_mode():
        for batch in (64, 256, 1024, 4096, 16384):
            part = columns[:, :batch].contiguous()
            run(part)
            repeats = max(1, 16384 // batch)
            (taken,) = cpu_times([lambda p=part, n=repeats: [run(p) for _ in range(n)]], rounds=5)
            per_row[batch] = taken / (batch * repeats)
    batch = min(per_row, key=per_row.get)
    knots = [np.array([float(knot.p) / float(knot.q) for knot in one.knots]) for (one,) in explainer.pieces.values()]
    tall = np.ascontiguousarray(rows.T)
    part = columns[:, :batch].contiguous()
    repeats = max(1, 16384 // batch)

    def floor():
        for column, places in zip(tall, knots, strict=True):
            np.searchsorted(places, column)
        np.sort(rows, axis=1)

    def forward():
        with torch.inference_mode():
            for _ in range(repeats):
                run(part)

    print(f"PyTorch at its best batch size, {batch}: {1 / per_row[batch]:,.0f} rows/s")
    asked(suffice.Explainer(line_model(rng, 2, 3)), 0.3, unit="raw").answer(
        rows[:9, :2], threads=1
    )  # compiles the loops
    for radius in (0.1, 0.5, 0.3):
        began = time.process_time()
        question = asked(explainer, radius, unit="std")
        took = time.process_time() - began
        result = question.answer(rows, threads=1)
        ours, theirs, least = cpu_times([lambda q=question: q.answer(rows, threads=1), forward, floor])
        ours, theirs, least = ours / len(rows), theirs / (batch * repeats), least / len(rows)
        which = "first" if radius == 0.1 else "next"
        print(f"radius {radius}: question compiled in {took:.2f} s ({which}); mean size {result.sizes.mean():.1f}")
        print(f"  explanations            {1 / ours:,.0f} a second, {1e6 * ours:.2f} µs each")
        print(f"  against PyTorch         {theirs / ours:.1f} times its rows a second")
        print(f"  against the floor       {ours / least:.2f} times its time ({1e6 * least:.2f} µs a row)")
        print(f"  sent to exact path      {result.was_exact.mean():.4%}")


def options_(*_):
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    model, layers = network_model(rng)
    explainer, rows = suffice.Explainer(model), rng.normal(size=(20_000, 30))
    explainer.compile()
    run, count = forward_pass(layers), 256
    part = torch.from_numpy(rows[:count].T[:, :, None].astype(np.float32)).contiguous()

    def forward():
        with torch.inference_mode():
            for _ in range(16):
                run(part)

    every = {
        "none": {},
        "immutable": {"immutable": ["f3"]},
        "fix": {"fix": ["f0"]},
        "free": {"free": ["f29"]},
        "cost": {"cost": {"f1": 3, "f2": 2}},
        "groups": {"groups": [["f1", "f2"]]},
        "max_changed": {"max_changed": 3},
        "norm 1": {"norm": 1},
        "probability": {"claim": suffice.ProbabilityAtLeast(0.4)},
        "float32": {"arithmetic": "float32"},
        "float64": {"arithmetic": "float64"},
        "all costs": {"cost": {f"f{i}": 1 + i % 4 for i in range(30)}},
    }
    print(f"30 features, networks 64-64-32, radius 0.5, against PyTorch's forward pass in batches of {count}")
    for name, options in every.items():
        question = asked(explainer, 0.5, unit="std", **options)
        result = question.answer(rows, threads=1)
        ours, theirs = cpu_times([lambda q=question: q.answer(rows, threads=1), forward], rounds=3)
        ours, theirs = ours / len(rows), theirs / (16 * count)
        exact, failed = (result.was_exact & (result.status_codes < 2)).mean(), len(result.failed_rows) / len(rows)
        print(
            f"  {name:12} {1 / ours:>11,.0f} rows/s, {theirs / ours:7.2f} times PyTorch; "
            f"exact path {exact:.2%}, refused {failed:.2%}",
            flush=True,
        )
    shapes = [suffice.PiecewiseLinear(np.sort(rng.normal(size=50)), rng.normal(size=50) / 4) for _ in range(20)]
    explainer = suffice.Explainer(suffice.AdditiveModel(shapes, 0, "regression"))
    explainer.compile()
    table = rng.normal(size=(5_000, 20))
    print("two-sided regression, 20 features")
    for distance in (0.1, 0.5, 1.5):
        question = asked(explainer, 0.3, unit="raw", claim=suffice.Within(distance))
        result = question.answer(table, threads=1)
        (ours,) = cpu_times([lambda q=question: q.answer(table, threads=1)], rounds=3)
        rate, exact = len(table) / ours, result.was_exact.mean()
        print(f"  Within({distance})  {rate:,.0f} rows/s; exact path {exact:.2%}", flush=True)


def single(*_):
    rng = np.random.default_rng(0)
    model, _ = network_model(rng)
    explainer, rows = suffice.Explainer(model), rng.normal(size=(400, 30))
    explainer.compile()
    question = explainer.question(0.5, unit="std")
    for row in rows[: one_row.ASKED + 1]:
        explainer.explain(row, question)
    quick, plain = cpu_times(
        [
            lambda: [explainer.explain(row, question) for row in rows],
            lambda: [exact_search(explainer.compiled, question, row) for row in rows[:100]],
        ]
    )
    read = [exact_search(explainer.compiled, question, row).document() for row in rows[:100]]
    assert [explainer.explain(row, question).document() for row in rows[:100]] == read
    quick, plain = quick / len(rows), plain / 100
    print(f"30 features, networks 64-64-32: {1e3 * quick:.3f} ms a row by tables, {1e3 * plain:.3f} ms by the search")
    print(f"  the search takes {plain / quick:.0f} times as long; 100 answers read in full are the same")


def parquet_(*_):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from suffice.batch.arrow import ArrowExplainer
    from suffice.batch.files import TableFile
    from suffice.batch.stream import explain_file

    rng, count = np.random.default_rng(6), 10**6
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line_model(rng, 10, 100).save(folder / "model.safetensors")
        columns = {f"x{i}": rng.normal(size=count) for i in range(10)}
        parquet.write_table(pa.table({"id": np.arange(count), **columns}), folder / "rows.parquet")
        ask = ArrowExplainer(str(folder / "model.safetensors"), 0.3, unit="raw", threads=1, carry=["id"])
        source, output = TableFile(folder / "rows.parquet"), folder / "out.parquet"

        def run():
            explain_file(ask, source, output, progress=lambda _: None)

        run()
        found = parquet.read_table(output)
        whole, written = cpu_times([run, lambda: parquet.write_table(found, folder / "again.parquet")], rounds=3)
    whole, written = 1e6 * whole / count, 1e6 * written / count
    print(f"a million rows of 10 features: {whole:.2f} µs a row; writing its results alone takes {written:.2f}")


def rows_(*_):
    rng = np.random.default_rng(1)
    question = asked(suffice.Explainer(line_model(rng, 10, 100)), 0.3, unit="raw")
    table = rng.normal(size=(10**7, 10))
    question.answer(table[:1000], threads=1)
    print("10 features, 100 knots each")
    for count in (10**3, 10**4, 10**5, 10**6, 10**7):
        part = table[:count]
        (taken,) = cpu_times([lambda p=part: question.answer(p, threads=1)], rounds=3 if count > 10**6 else 5)
        print(f"  {count:>10,} rows  {1e6 * taken / count:.3f} µs a row")


def features_(*_):
    rng = np.random.default_rng(2)
    print("100 knots a feature")
    for count in (10, 30, 100, 300, 1000):
        question = asked(suffice.Explainer(line_model(rng, count, 100)), 0.3, unit="raw")
        table = rng.normal(size=(2_000_000 // count, count))
        question.answer(table[:10], threads=1)
        (taken,) = cpu_times([lambda q=question, t=table: q.answer(t, threads=1)])
        print(f"  {count:>5} features  {1e9 * taken / table.size:.1f} ns a cell")


def pieces_(*_):
    rng = np.random.default_rng(3)
    print("2 features")
    for count in (10**2, 10**3, 10**4, 10**5):
        explainer = suffice.Explainer(line_model(rng, 2, count))
        began = time.process_time()
        question = asked(explainer, 0.3, unit="raw")
        took = time.process_time() - began
        table = rng.normal(size=(300_000, 2))
        question.answer(table[:10], threads=1)
        (taken,) = cpu_times([lambda q=question, t=table: q.answer(t, threads=1)])
        print(f"  {count:>7,} pieces  {1e9 * taken / table.size:.1f} ns a cell; tables made in {took:.2f} s")


def threads_(*_):
    rng = np.random.default_rng(4)
    question = asked(suffice.Explainer(line_model(rng, 30, 100)), 0.3, unit="raw")
    table = rng.normal(size=(1_000_000, 30))
    question.answer(table[:1000])
    walls = {}
    for _ in range(5):
        for count in (1, 2):
            began = time.perf_counter()
            question.answer(table, threads=count)
            walls[count] = min(walls.get(count, np.inf), time.perf_counter() - began)
    print(f"30 features, a million rows: 2 threads are {walls[1] / walls[2]:.2f} times as fast as 1 (wall time)")


def stress(*_):
    """Identical features, values on a grid, radii that end at knots: drops tie, sums meet margins."""
    rng = np.random.default_rng(5)
    step = suffice.Steps(["1/3", 1, 2], [0, 1, 2, 4])
    line = suffice.PiecewiseLinear([0, 1, 2], [0, 1, 3], left_slope=1, right_slope=1)
    explainer = suffice.Explainer(suffice.AdditiveModel([step, line] * 5, -12, "binary"))
    question = asked(explainer, 1, unit="raw")
    table = rng.choice([0.0, 1 / 3, 0.5, 1.0, 1.5, 2.0], size=(4_000, 10))
    smooth = rng.normal(size=table.shape) + 1
    result = question.answer(table, threads=1)
    for k, row in enumerate(table):
        why = explainer.explain(row, 1, unit="raw")
        assert (result.fixed_of(k), result.predictions[k], result.statuses[k]) == (why.fixed, why.prediction, "proven")
    tied, plain, one_by_one = cpu_times(
        [
            lambda: question.answer(table, threads=1),
            lambda: question.answer(smooth, threads=1),
            lambda: [explainer.explain(row, 1, unit="raw") for row in table[:400]],
        ],
        rounds=2,
    )
    share = question.answer(smooth, threads=1).was_exact.mean()
    print(
        f"{len(table):,} rows of ties: {result.was_exact.mean():.1%} by exact arithmetic, all equal to the one-row path"
    )
    print(f"  {tied / plain:.0f} times the time of as many plain rows ({share:.1%} of those by exact arithmetic)")
    print(f"  {tied / (one_by_one * 10):.2f} times the time of the one-row path over the same rows")


def memory(*_):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        line_model(rng, 10, 100).save(folder / "model.safetensors")
        schema = pa.schema([("id", pa.int64()), *((f"x{i}", pa.float64()) for i in range(10))])
        with parquet.ParquetWriter(folder / "rows.parquet", schema) as writer:
            for start in range(0, 10**7, 10**6):
                columns = [np.arange(start, start + 10**6), *rng.normal(size=(10, 10**6))]
                writer.write_table(pa.table(columns, schema=schema))
        imports = "import suffice.cli.app, suffice.batch.stream, suffice.batch.files"
        base = peak([sys.executable, "-c", imports])
        script = "from suffice.cli.app import main; main()"
        command = ["batch", "model.safetensors", "rows.parquet", "-o", "out.parquet", "--radius", "0.3"]
        command += ["--unit", "raw", "--carry", "id"]
        began = time.perf_counter()
        most = peak([sys.executable, "-c", script, *command], cwd=folder)
        took = time.perf_counter() - began
        size = (folder / "rows.parquet").stat().st_size
        assert parquet.ParquetFile(folder / "out.parquet").metadata.num_rows == 10**7
    print(f"10 million rows of 10 features, a file of {size / 1e6:,.0f} MB: {took:.0f} s of wall time, all threads")
    above = f"{(most - base) / 1e6:,.0f} MB above the interpreter with its imports, {base / 1e6:,.0f} MB"
    print(f"  peak memory {most / 1e6:,.0f} MB, {above}")


def peak(command, cwd=None):
    """Return the peak memory of a process in bytes."""
    watch = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); sys.exit(done.returncode)"
    )
    command = [sys.executable, "-c", watch, *command]
    return int(subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout)


def data(folder, sets):
    import torch

    from suffice import datasets
    from suffice.nam import NAMClassifier

    torch.set_num_threads(1)
    for name in sets.split(","):
        found = getattr(datasets, f"load_{name}")(folder)
        few = np.random.default_rng(0).permutation(len(found.frame))[:8000]
        estimator = NAMClassifier(max_epochs=8, random_state=0, special_codes=found.special_codes or None)
        estimator.fit(found.frame.iloc[few], found.target.iloc[few])
        explainer = suffice.Explainer(estimator)
        explainer.compile()
        for radius in (0.1, 0.5):
            compare(found, explainer, radius)


def classes(folder, _):
    import torch
    from sklearn.datasets import load_digits

    from suffice import datasets
    from suffice.nam import NAMClassifier

    torch.set_num_threads(1)
    found = datasets.load_dry_bean(folder)
    digits, target = load_digits(return_X_y=True, as_frame=True)
    measure_classes(
        found.name, found.frame, found.target, NAMClassifier((32, 16), max_epochs=4, random_state=0), (0.1, 0.5)
    )
    measure_classes("Digits", digits, target, NAMClassifier((32, 16), max_epochs=4, random_state=0), (0.1, 0.5))


def measure_classes(name, frame, target, estimator, radii):
    order = np.random.default_rng(0).permutation(len(frame))
    few = order[:3000]
    explainer = suffice.Explainer(estimator.fit(frame.iloc[few], target.iloc[few]))
    explainer.compile()
    cells = read_source(explainer.model, frame).cells(0, len(frame))
    for radius in radii:
        question = asked(explainer, radius, unit="std")
        answers = question.plan.answer(*cells)
        (all_rows,) = cpu_times([lambda plan=question.plan: plan.answer(*cells)], rounds=3)
        some = order[:20].tolist()
        (taken,) = cpu_times(
            [lambda r=radius, s=some: [explainer.explain(frame.iloc[k], r, unit="std") for k in s]], rounds=1
        )
        share, count = (answers.sizes < 0).mean(), len(answers.sizes)
        print(f"{name}, radius {radius}: {share:.1%} of {count:,} rows are left open")
        print(f"  {count / all_rows:,.0f} rows a second; one row alone takes {1e3 * taken / len(some):.1f} ms")


def compare(found, explainer, radius):
    question = asked(explainer, radius, unit="std")
    result = question.answer(found.frame, threads=1)
    (taken,) = cpu_times([lambda: question.answer(found.frame, threads=1)], rounds=2)
    is_answered = result.status_codes == 0
    exact = (result.was_exact & is_answered).mean()
    chosen = np.random.default_rng(1).permutation(len(result))[:2000]
    wrong = sum(not same_as_one_row(explainer, result, found.frame, k, radius) for k in chosen.tolist())
    print(
        f"{found.name}, radius {radius}: {len(result):,} rows at {len(result) / taken:,.0f} a second, "
        f"mean size {result.sizes[is_answered].mean():.2f}; exact path {exact:.4%}, "
        f"failed {len(result.failed_rows)}; {wrong} of 2,000 differ from the one-row path",
        flush=True,
    )


def same_as_one_row(explainer, result, frame, k, radius):
    try:
        why = exact_search(explainer.compiled, explainer.question(radius, unit="std"), frame.iloc[k])
    except suffice.RowError as error:
        return result.messages.get(k) == str(error)
    found = (result.fixed_of(k), result.predictions[k], result.statuses[k])
    return found == (why.fixed, why.prediction, why.status.value)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--only", default=",".join(SECTIONS))
    parser.add_argument("--sets", default="heloc,adult,cdc_diabetes", help="for the section data")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, NumPy {np.__version__}")
    each = (speed, options_, single, parquet_, rows_, features_, pieces_, threads_, stress, memory, data, classes)
    functions = dict(zip(SECTIONS, each, strict=True))
    for name in arguments.only.split(","):
        if name in ("data", "classes") and arguments.data is None:
            print(f"\n{name}: left out, give --data")
            continue
        print(f"\n{name}")
        functions[name](arguments.data, arguments.sets)
    print(f"\npeak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB")


if __name__ == "__main__":
    main()
