"""Explain, certify and check rows of trained models: is every certificate accepted, and what does checking cost?

    python benchmarks/certificates.py --data FOLDER [--sets a,b] [--rows 200] [--others 20]

For each data set a network of the published size (64-64-32) is trained on four fifths of the rows. Rows drawn from all
are explained: the class stays (three binary models, one of seven classes against all others), or the value stays
within a tenth of its standard deviation both ways (regression). Every result is certified, and `suffice_check` checks
the certificate's bytes against the model file's bytes, both read anew each time, as `suffice-check` does. Of some rows
three other results are certified and checked too: a contrast, the radius up to which the explanation suffices, and
whether it still does without its first feature.

Times are CPU seconds of one thread; the ratio is checking against explaining and certifying, all in one run.
FOLDER holds the CSV files that `suffice.datasets` reads; Breast Cancer needs none.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections import Counter

import numpy as np
from accuracy import LOADERS, folds_of, limit_threads, nam, names_from, numbers_of

import suffice
import suffice_check
from suffice.model.writing import to_bytes

RADIUS = 0.5  # standard deviations


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


def accepted(model, certificate):
    """Return how long the checker takes, and whether it accepts; it says why if not."""
    content = certificate.text.encode()
    began = time.process_time()
    try:
        suffice_check.check(model, content)
    except (suffice_check.RejectedError, suffice_check.UnreadableError) as error:
        print(f"  NOT ACCEPTED: {error}")
        return time.process_time() - began, False
    return time.process_time() - began, True


def measure(name, options):
    model, table, spread = fitted(name, options)
    content, explainer = to_bytes(model), suffice.Explainer(model)
    asked = {"unit": "std", "claim": suffice.Same() if spread is None else suffice.Within(spread / 10)}
    explain, certify, check, sizes, lengths, trees, statuses = [], [], [], [], [], [], Counter()
    others, yes = Counter(), 0
    for place, (_, row) in enumerate(table.iterrows()):
        seconds, why = clock(explainer.explain, row, RADIUS, **asked)
        explain.append(seconds)
        seconds, certificate = clock(why.certificate)
        certify.append(seconds)
        seconds, is_accepted = accepted(content, certificate)
        check.append(seconds)
        yes += is_accepted
        sizes.append(why.size)
        lengths.append(len(certificate.text))
        trees.append(len(certificate.document["evidence"]["tree"]))
        statuses[why.status.value] += 1
        if place < options.others:
            contrast = explainer.contrast(row, RADIUS, **asked).certificate()
            less = explainer.sufficiency(row, why.features[1:], RADIUS, **asked).certificate()
            radius = explainer.radius(row, why.features, **asked).certificate()
            others[all(accepted(content, one)[1] for one in (contrast, less, radius))] += 1
    total = [a + b for a, b in zip(explain, certify, strict=True)]
    print(f"{name}: {model.task}, {len(model.features)} features, {len(content):,} bytes")
    print(f"  accepted              {yes} of {len(check)} ({', '.join(f'{n} {s}' for s, n in statuses.items())})")
    print(f"  other questions       {others[True]} of {sum(others.values())} rows, three each, accepted")
    print(f"  sizes                 {min(sizes)} to {max(sizes)}, mean {statistics.mean(sizes):.1f}")
    print(f"  bytes                 median {statistics.median(lengths):,.0f}, largest {max(lengths):,}")
    print(f"  nodes of the tree     largest {max(trees)}")
    for what, times in (("explain", explain), ("certify", certify), ("check", check)):
        print(f"  {what:21} median {statistics.median(times):.3f} s, largest {max(times):.3f} s")
    ratio = statistics.median(c / t for c, t in zip(check, total, strict=True))
    print(f"  check / (explain + certify), median of the rows: {ratio:.1f}", flush=True)
    return yes == len(check) and not others[False]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the CSV files")
    parser.add_argument("--sets", type=names_from(LOADERS), default=list(LOADERS))
    parser.add_argument("--rows", type=int, default=200, help="rows to explain, certify and check")
    parser.add_argument("--others", type=int, default=20, help="of these, rows to ask other questions about too")
    parser.add_argument("--epochs", type=int, help="most epochs (default: the estimator's own)")
    options = parser.parse_args()
    limit_threads(1)
    print(f"Python {platform.python_version()}, {platform.machine()}, one thread; radius {RADIUS} standard deviations")
    are_accepted = [measure(name, options) for name in options.sets]
    assert all(are_accepted), "a certificate was not accepted"


if __name__ == "__main__":
    main()
