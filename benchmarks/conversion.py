"""How long large models of other packages take to convert, and how much memory.

    python benchmarks/conversion.py [--models NAME ...]

Each model is fitted and converted in a process of its own, one thread: `from_model(fitted, rows)` with 200 reference
rows, which is the reading and the comparison with the original. Seconds are of the processor. The ratio is that of the
conversion to the package's own training of the model. Memory is what the process needs at most while it converts,
beyond what it had before; Linux tells, elsewhere it is not shown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import time
from pathlib import Path

import numpy as np

ROWS = 200


def wide():
    """A scaled logistic regression over 2,000 columns."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random = np.random.default_rng(0)
    table = random.normal(3, 2, (4_000, 2_000))
    return make_pipeline(StandardScaler(), LogisticRegression()), table, table[:, :20].sum(axis=1) > 60


def categories():
    """A one-hot logistic regression over three columns of 5,000 categories each."""
    import pandas
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    random = np.random.default_rng(0)
    codes = np.stack([random.permutation(np.arange(25_000) % 5_000) for _ in range(3)], axis=1)
    table = pandas.DataFrame({f"c{k}": [f"name {code}" for code in codes[:, k]] for k in range(3)})
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()), table, codes.sum(axis=1) % 7 > 3


def ebm():
    """An EBM without interactions over 500 columns of 1,024 bins each."""
    from interpret.glassbox import ExplainableBoostingClassifier

    random = np.random.default_rng(0)
    table = random.normal(size=(6_000, 500))
    y = table[:, 0] + np.sin(table[:, 1:30]).sum(axis=1) > 0
    rounds = {"outer_bags": 1, "max_rounds": 20, "validation_size": 0, "n_jobs": 1}
    return ExplainableBoostingClassifier(interactions=0, max_bins=1_024, random_state=0, **rounds), table, y


MODELS = {"wide": wide, "categories": categories, "ebm": ebm}


def measure(name):
    """Print what converting one model took."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from suffice import Explainer, from_model

    model, table, y = MODELS[name]()
    fitting, fitted = timed(lambda: model.fit(table, y))
    rows = table[:ROWS] if isinstance(table, np.ndarray) else table.iloc[:ROWS]
    small = make_pipeline(StandardScaler(), LogisticRegression()).fit([[0.0], [1.0]], [0, 1])
    from_model(small, [[0.0]])  # what is imported on the way is no part of it
    before = _memory("VmRSS")
    _reset()
    converting, converted = timed(lambda: from_model(fitted, rows))
    most = _memory("VmHWM")
    explainer = Explainer(converted)
    row = rows[0] if isinstance(rows, np.ndarray) else rows.iloc[0]
    explainer.explain(row)
    asking, why = timed(lambda: explainer.explain(row))
    memory = f"{(most - before) / 1024:,.0f} MiB" if most else "not known"
    print(f"{name}: {MODELS[name].__doc__}")
    print(f"  converted in {converting:.2f} s, {converting / fitting:.2f} of the training ({fitting:.2f} s); {memory}")
    print(f"  {len(converted.names):,} features; one explanation of {why.size} features in {asking * 1000:.0f} ms")


def timed(ask):
    """Return the seconds of the processor that something takes, and what it returns."""
    begin = time.process_time()
    found = ask()
    return time.process_time() - begin, found


def _memory(what):
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith(what)), 0)  # KiB


def _reset():
    """Let the peak of memory count from here."""
    place = Path("/proc/self/clear_refs")
    if place.exists():
        place.write_text("5")


def main():
    """Measure each model in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded in the processes
    print(platform.platform(), platform.processor())
    start = multiprocessing.get_context("spawn")
    for name in given.models:
        process = start.Process(target=measure, args=(name,))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()
