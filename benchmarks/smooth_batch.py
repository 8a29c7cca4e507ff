"""Many rows of curved and smooth shapes: tables against rows one by one, and whether both say the same.

    python benchmarks/smooth_batch.py [--sets breast heloc] [--kinds splines pygam bayes tanh elu gelu] [--alone 40]
        [--identical 0] [--data FOLDER]

Models are cubic splines before a logistic regression, pyGAM's cubic terms, Gaussian naive Bayes, and NAMs of one
64-64-32 network a feature, at a radius of half a standard deviation. Each line has the CPU time of making the tables;
rows a second in a batch of 20,000 (rows of the table, numbers of columns that are not whole moved by a thousandth of a
deviation), and the share of them that is left to exact arithmetic; rows a second alone, by the search, in the same run;
the ratio of both rates; and that ratio for the table itself, making its tables included. With `--identical N` rows are
then asked alone and in a batch, N of each kind shared out among options, and sets, statuses and predictions compared; a
difference is an error.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import torch
from identity import alone
from pygam import LogisticGAM, s
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from smooth import exact, spent, table, trained

from suffice import Explainer, from_model
from suffice.batch.run import batch_question
from suffice.search.explain import explain

KINDS = ("splines", "pygam", "bayes", "tanh", "elu", "gelu")
MANY = 20_000


def made(kind: str, inputs: np.ndarray, y: np.ndarray) -> tuple[object, np.ndarray]:
    """Return a model and the table that it is asked about."""
    if kind in ("tanh", "elu", "gelu"):
        scaled = (inputs - inputs.mean(axis=0)) / np.maximum(inputs.std(axis=0), 1e-9)
        return exact(trained(scaled, y, [64, 64, 32], kind), scaled, kind), scaled
    if kind == "splines":
        steps = StandardScaler(), SplineTransformer(n_knots=10, degree=3), LogisticRegression(max_iter=500)
        model = make_pipeline(*steps).fit(inputs, y)
    elif kind == "bayes":
        model = GaussianNB().fit(inputs, y)
    else:
        terms = s(0, n_splines=12)
        for i in range(1, inputs.shape[1]):
            terms += s(i, n_splines=12)
        model = LogisticGAM(terms, max_iter=25).fit(inputs, y)
    return from_model(model, reference=inputs), inputs


def options_for(names: tuple[str, ...]) -> list[dict[str, object]]:
    return [
        {},
        {"fix": list(names[:2])},
        {"free": [names[-1]]},
        {"immutable": list(names[1:4])},
        {"max_changed": 3},
        {"norm": 2},
        {"cost": {names[0]: 2, names[1]: 3}},
        {"groups": [list(names[:3])]},
    ]


def compare(explainer: Explainer, rows: np.ndarray, count: int) -> tuple[int, int]:
    """Ask rows in a batch and alone; return how many there were, and how many the tables settled."""
    rng, asked, settled = np.random.default_rng(1), 0, 0
    every = options_for(explainer.model.names)
    for options in every:
        question = explainer.question(0.5, **options)
        some = rows[rng.permutation(len(rows))]
        some = some[rng.integers(len(some), size=max(1000, count // len(every)))]
        result = explainer.explain_batch(some, question, threads=1)
        for k in range(count // len(every)):
            why = alone(explainer, question, some[k].tolist())
            if isinstance(why, str):
                assert result.messages[k] == why, (options, k)
                continue
            found = result.fixed_of(k), result.statuses[k], result.predictions[k]
            assert found == (why.fixed, why.status.value, why.prediction), (options, k, found, why.fixed)
            asked, settled = asked + 1, settled + (not result.was_exact[k])
    return asked, settled


def measure(name: str, kind: str, inputs: np.ndarray, y: np.ndarray, count: int, identical: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, rows = made(kind, inputs, y)
    explainer = Explainer(model)
    question = explainer.question(0.5)
    rng = np.random.default_rng(0)
    chosen = rows[rng.permutation(len(rows))]
    for row in chosen[: count // 2].tolist():  # the first rows find cells that later ones share
        explain(explainer.compiled, question, row)
    began = time.process_time()
    for row in chosen[count // 2 : count // 2 + count].tolist():
        explain(explainer.compiled, question, row)
    one = count / (time.process_time() - began)
    ready = batch_question(explainer.compiled, question)
    tables, _ = spent(lambda: ready.plan)
    many = rows[rng.integers(len(rows), size=MANY)]
    is_whole = (rows == np.floor(rows)).all(axis=0)  # such columns have whole numbers for their domain, and stay
    moved = many + rng.normal(size=many.shape) * rows.std(axis=0) / 1000
    many = np.where(is_whole, many, np.clip(moved, rows.min(axis=0), rows.max(axis=0)))
    ready.answer(many[:1000], threads=1)  # compiled loops are loaded
    taken, result = spent(lambda: ready.answer(many, threads=1))
    whole = len(rows) / one / (tables + taken * len(rows) / MANY)
    print(
        f"{name:7} {kind:8} {tables:7.2f} s {MANY / taken:10,.0f} {result.was_exact.mean():8.2%} {one:8.1f} "
        f"{MANY / taken / one:9,.0f} {whole:9.1f}",
        flush=True,
    )
    if identical:
        asked, settled = compare(explainer, rows, identical)
        print(
            f"{name:7} {kind:8} {asked:,} rows asked twice, none differs; {settled / asked:.1%} by tables", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=["breast", "heloc"], choices=["breast", "heloc"])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--alone", type=int, default=40)
    parser.add_argument("--identical", type=int, default=0)
    parser.add_argument("--data")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'data':7} {'model':8} {'tables':>9} {'rows/s':>10} {'exact':>8} {'alone/s':>8} {'ratio':>9} {'whole':>9}")
    for name in asked.sets:
        inputs, y = table(name, asked.data)
        for kind in asked.kinds:
            measure(name, kind, inputs, y, asked.alone, asked.identical)


if __name__ == "__main__":
    main()
