"""Ask every question about rows of trained models, certify and check: is all accepted, and what does checking cost?

    python benchmarks/certificates.py --data FOLDER [--sets a,b] [--rows 200] [--others 20] [--curves 4] [--epochs N]

For each data set a network of the published size (64-64-32) is trained on four fifths of the rows. Rows are drawn from
all: `--rows` of them are explained, the first `--others` are asked every other question, and the first `--curves` are
asked for a curve. The class stays (three binary models, one of seven classes against all others), or the value stays
within a tenth of its standard deviation both ways (regression). Every answer is certified, and `suffice_check` checks
all certificates of a model with one reading of its file, as `suffice-check MODEL FILE...` does; pieces that it found
for one question about a row serve the next one. What ends at a budget or has no certificate is counted. Last come
random networks of two sizes, each checked by itself, reading included.

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
    estimator = nam(data, options, hidden_layers=(64, 64, 32), n_members=1)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the CSV files")
    parser.add_argument("--sets", type=names_from(LOADERS), default=list(LOADERS))
    parser.add_argument("--rows", type=int, default=200, help="rows of each set to explain")
    parser.add_argument("--others", type=int, default=20, help="of these, rows to ask every other question about")
    parser.add_argument("--curves", type=int, default=4, help="of these, rows to draw a curve of, which takes longest")
    parser.add_argument("--epochs", type=int, help="most epochs (default: the estimator's own)")
    options = parser.parse_args()
    limit_threads(1)
    print(f"Python {platform.python_version()}, {platform.machine()}, one thread; radius {RADIUS} standard deviations")
    found, open_ = defaultdict(list), defaultdict(int)
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
    print("All were accepted. Without a certificate:")
    for (name, question, reason), count in open_.items():
        print(f"  {name}, {question}: {count} ({reason})")
    for size in GROWTH:
        grow(*size)


if __name__ == "__main__":
    main()
