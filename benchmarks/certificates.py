"""Ask every question about rows of trained models, certify and check: is all accepted, and what does checking cost?

    python benchmarks/certificates.py --data FOLDER [--sets a,b] [--rows 200] [--others 20] [--curves 4] [--epochs N]

For each data set a network of the published size (64-64-32) is trained on four fifths of the rows. Rows are drawn from
all: `--rows` of them are explained, the first `--others` are asked every other question, and the first `--curves` are
asked for a curve. The class stays (three binary models, one of seven classes against all others), or the value stays
within a tenth of its standard deviation both ways (regression). Every answer is certified, and `suffice_check` checks
all certificates of a model with one reading of its file, as `suffice-check MODEL FILE...` does; pieces that it found
for one question about a row serve the next one. What ends at a budget or has no certificate is counted. Last come
random networks of two sizes, each checked by itself, reading included, and models that grow in one respect (`--growth`:
these alone).

Times are CPU seconds of one thread. FOLDER holds the CSV files that `suffice.datasets` reads; Breast Cancer needs none.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from accuracy import LOADERS, folds_of, limit_threads, nam, names_from, numbers_of

import suffice
import suffice_check
from suffice.model.writing import to_bytes
from suffice_check.checker import Checker

RADIUS = 0.5  # standard deviations
GROWTH = (30, [64, 64, 32]), (10, [1024])  # features, and units of each one's hidden layers
LISTED = 20  # sets of an enumeration


class Measured(NamedTuple):
    """One certificate: its kind, its size, and what answering, certifying and checking took."""

    kind: str
    size: int
    answer: float
    certify: float
    check: float


def clock(function, *arguments, **options):
    began = time.process_time()
    result = function(*arguments, **options)
    return time.process_time() - began, result


def fitted(name, options):
    """Return a trained model, some rows, and the spread of a regression's target."""
    data = LOADERS[name](options.data)
    train, _ = next(iter(folds_of(data, numbers_of(data), 5)))
    estimator = nam(data, options, hidden_layers=(64, 64, 32), n_members=1, corrections=False)
    estimator.fit(data.frame.iloc[train], numbers_of(data)[train])
    chosen = np.random.default_rng(0).permutation(len(data.frame))[: options.rows]
    spread = float(np.std(numbers_of(data)[train])) if data.task == "regression" else None
    return estimator.to_additive(), data.frame.iloc[chosen], spread


def questions(explainer, row, asked):
    """Yield every question about a row: its name, and how to ask it."""
    why = explainer.explain(row, RADIUS, **asked)
    limited = {**asked, "max_seconds": 5.0}
    yield "explain", lambda: explainer.explain(row, RADIUS, **asked)
    yield "sufficiency, one less", lambda: explainer.sufficiency(row, why.features[1:], RADIUS, **asked)
    yield "contrast", lambda: explainer.contrast(row, RADIUS, **asked)
    yield "counterfactual", lambda: explainer.counterfactual(row, RADIUS, **limited)
    yield "relevance", lambda: explainer.relevance(row, RADIUS, **limited)
    for minimal in ("size", "subset"):
        yield (
            f"explanations, {minimal}",
            lambda minimal=minimal: explainer.explanations(row, RADIUS, minimal=minimal, **limited).listing(LISTED),
        )
    yield "radius", lambda: explainer.radius(row, why.features, **asked)
    yield "curve", lambda: explainer.curve(row, until=RADIUS, **limited)
    yield "inflate", lambda: explainer.inflate(row, RADIUS, **limited)


def measure(name, options, found, open_):
    model, table, spread = fitted(name, options)
    content, explainer, checks = to_bytes(model), suffice.Explainer(model), []
    reading, checker = clock(Checker, content)
    asked = {"unit": "std", "claim": suffice.Same() if spread is None else suffice.Within(spread / 10)}
    for place, (_, row) in enumerate(table.iterrows()):
        for question, ask in questions(explainer, row, asked):
            if place >= {"explain": options.rows, "curve": options.curves}.get(question, options.others):
                continue
            try:
                answering, answer = clock(ask)
                certifying, certificate = clock(answer.certificate)
            except suffice.BudgetError:
                open_[name, question, "not answered in 5 seconds"] += 1
                continue
            except suffice.CertificateError as error:
                reason = "a code in a range" if "between the ends" in str(error) else str(error).partition(";")[0]
                open_[name, question, reason] += 1
                continue
            text = certificate.text.encode()
            checking, _ = clock(checker.check, text)  # raises if it is not accepted
            checks.append(checking)
            kind = certificate.document["result"]["kind"]
            found[question].append(Measured(kind, len(text), answering, certifying, checking))
    print(
        f"{name}: {model.task}, {len(model.features)} features, {len(content):,} bytes; reading the model took "
        f"{reading:.2f} s, checking {len(checks)} certificates {sum(checks):.1f} s",
        flush=True,
    )


def grow(features, units):
    """Print what checking an explanation takes for random networks of a size, over a region and over all values."""
    rng, widths, shapes = np.random.default_rng(0), [1, *units, 1], []
    for _ in range(features):
        weights = [rng.normal(0, a**-0.5, (b, a)).astype(np.float32) for a, b in pairwise(widths)]
        shapes.append(suffice.ReluNetwork(weights, [rng.normal(0, 1, b).astype(np.float32) for b in widths[1:]]))
    named = [suffice.Feature(f"x{i}", suffice.Domain.interval(-3, 3), deviation=1) for i in range(features)]
    model = suffice.AdditiveModel(shapes, 0, "binary", named, ["no", "yes"])
    content, row = to_bytes(model), rng.normal(0, 1, features).clip(-3, 3).tolist()
    for radius in (RADIUS, "inf"):
        certificate = suffice.Explainer(model).explain(row, radius, unit="std").certificate()
        seconds, _ = clock(suffice_check.check, content, certificate.text.encode())
        print(f"{features} features of {'-'.join(map(str, units))} units, radius {radius}: checked in {seconds:.2f} s")


def alone(model, row, **asked):
    """Return an explanation's certificate, and what reading the model file and checking it take."""
    certificate = suffice.Explainer(model).explain(row, unit="raw", **asked).certificate()
    reading, checker = clock(Checker, to_bytes(model))
    checking, _ = clock(checker.check, certificate.text.encode())
    return certificate, reading, checking


def wide(units):
    """A network of one hidden layer, over a region in which most of its units bend."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(0, 1, (units, 1)), rng.normal(0, units**-0.5, (1, units))]
    network = suffice.ReluNetwork(weights, [rng.normal(0, 1, units), None])
    return suffice.AdditiveModel([network], 0, "regression"), [0], {"radius": 2, "claim": suffice.Within(1)}


def cut_up(count):
    """Steps with so many cuts, over a domain of as many intervals."""
    values = np.random.default_rng(0).integers(-9, 9, count + 1).tolist()
    spans = [suffice.Domain.interval(k + 0.25, k + 0.75) for k in range(count)]
    while len(spans) > 1:
        spans = [a | b for a, b in zip(spans[::2], spans[1::2], strict=False)] + spans[len(spans) & ~1 :]
    model = suffice.AdditiveModel(
        [suffice.Steps(range(count), values)], 0, "regression", [suffice.Feature("x", spans[0])]
    )
    return model, [0.5], {"radius": "inf", "claim": suffice.AtLeast(-99)}


def covered(items):
    """So many features with costs, one class of four to keep ahead."""
    rng = np.random.default_rng(1)
    shapes = [
        suffice.Steps([0], [(-rng.integers(1, 999, 4)).tolist(), rng.integers(1, 999, 4).tolist()])
        for _ in range(items)
    ]
    cost = {f"x{i}": int(one) for i, one in enumerate(rng.integers(1, 5, items))}
    model = suffice.AdditiveModel(shapes, [50 * items, 0, 0, 0], "multiclass")
    return model, rng.choice([-1, 1], items).tolist(), {"radius": 2, "cost": cost, "max_seconds": 60.0}


def growth():
    """Print how checking grows with units, with spans and cuts, and with items that compare with one another."""
    print("\n| what grows | size | nodes of the tree | read the model | check |\n| --- | --- | --- | --- | --- |")
    for name, make, sizes in (
        ("units of one hidden layer", wide, (512, 2048, 8192)),
        ("cuts, and intervals of the domain", cut_up, (500, 2000, 8000)),
        ("items of an explanation, with costs", covered, (40, 80, 160)),
    ):
        for size in sizes:
            model, row, asked = make(size)
            certificate, reading, checking = alone(model, row, **asked)
            nodes = len(certificate.document["evidence"]["tree"])
            print(f"| {name} | {size:,} | {nodes} | {reading:.3f} s | {checking:.3f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the CSV files")
    parser.add_argument("--sets", type=names_from(LOADERS), default=list(LOADERS))
    parser.add_argument("--rows", type=int, default=200, help="rows of each set to explain")
    parser.add_argument("--others", type=int, default=20, help="of these, rows to ask every other question about")
    parser.add_argument("--curves", type=int, default=4, help="of these, rows to draw a curve of, which takes longest")
    parser.add_argument("--growth", action="store_true", help="only how checking grows, without data sets")
    parser.add_argument("--epochs", type=int, help="most epochs (default: the estimator's own)")
    options = parser.parse_args()
    limit_threads(1)
    print(f"Python {platform.python_version()}, {platform.machine()}, one thread; radius {RADIUS} standard deviations")
    found, open_ = defaultdict(list), defaultdict(int)
    if options.growth:
        for size in GROWTH:
            grow(*size)
        growth()
        return
    for name in options.sets:
        measure(name, options, found, open_)
    heads = "question", "kinds", "certificates", "bytes: median, largest", "answer", "certify", "check: median, largest"
    print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for question, every in found.items():
        kinds = sorted({one.kind for one in every})
        sizes, answer, certify, check = (sorted(part) for part in list(zip(*every, strict=True))[1:])
        cells = [
            question,
            ", ".join(kinds),
            f"{len(every):,}",
            f"{statistics.median(sizes):,.0f}, {sizes[-1]:,}",
            f"{statistics.median(answer):.3f} s",
            f"{statistics.median(certify):.3f} s",
            f"{statistics.median(check):.2f} s, {check[-1]:.2f} s",
        ]
        print(f"| {' | '.join(cells)} |")
    print("All were accepted. Without a certificate:" if open_ else "All were certified and accepted.")
    for (name, question, reason), count in open_.items():
        print(f"  {name}, {question}: {count} ({reason})")
    for size in GROWTH:
        grow(*size)
    growth()


if __name__ == "__main__":
    main()
