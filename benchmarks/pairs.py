"""Models with pair terms: how hard the smallest explanation is, all in one run.

    python benchmarks/pairs.py [--stress 30 60 100] [--instances 8] [--seconds 10]

Stress: categorical features with random tables, six labels each, every feature in six pairs on average, and pair terms as
strong as the features' own. The row's score is a third of the worst fall, so that about half of the features are needed.
For each size: how many answers are proven within the time, CPU time of these, and how far apart set and bound are in the
others.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from itertools import combinations

import numpy as np

import suffice

LABELS, DEGREE, PART = 6, 6, 0.35


def lowest(mains, tables):
    """Return a low score of random tables: from many starts, one feature after the other goes where it is lowest."""
    rng = np.random.default_rng(0)
    around = [[] for _ in mains]
    for (i, j), table in tables.items():
        around[i].append((j, table))
        around[j].append((i, table.T))
    best = np.inf
    for _ in range(50):
        labels, before = rng.integers(LABELS, size=len(mains)), np.inf
        while True:
            for i, main in enumerate(mains):
                labels[i] = np.argmin(main + sum(table[:, labels[j]] for j, table in around[i]))
            score = sum(main[a] for main, a in zip(mains, labels, strict=True))
            score += sum(table[labels[i], labels[j]] for (i, j), table in tables.items())
            if score >= before:
                break
            before = score
        best = min(best, before)
    return best


def random_model(count, strength, seed):
    """Return an explainer of random tables, and a row whose score is a third of what all features can do together."""
    rng = np.random.default_rng(seed)
    names, values = [f"f{i}" for i in range(count)], [f"c{a}" for a in range(LABELS)]
    every = list(combinations(range(count), 2))
    chosen = rng.choice(len(every), size=min(len(every), count * DEGREE // 2), replace=False)
    mains = rng.normal(size=(count, LABELS))
    tables = {every[k]: strength * rng.normal(size=(LABELS, LABELS)) for k in sorted(chosen.tolist())}
    score = mains[:, 0].sum() + sum(table[0, 0] for table in tables.values())
    intercept = -score + PART * (score - lowest(mains, tables))
    bins = suffice.Bins(keys=values)
    model = suffice.AdditiveModel(
        [suffice.Table(dict(zip(values, main.tolist(), strict=True))) for main in mains],
        intercept,
        "binary",
        [suffice.Feature(name, suffice.Domain.categories(*values)) for name in names],
        pairs={
            (names[i], names[j]): suffice.PairSteps(bins, bins, table.tolist()) for (i, j), table in tables.items()
        },
    )
    return suffice.Explainer(model), [values[0]] * count


def stress(sizes, instances, seconds, strengths=(0.3, 1.0)):
    """Print what is proven of random tables within a time."""
    print(f"random tables, {LABELS} labels, degree {DEGREE}, at most {seconds:g} s each, {instances} of each kind:")
    for count in sizes:
        for strength in strengths:
            times, gaps, kept, proven = [], [], [], 0
            for seed in range(instances):
                explainer, row = random_model(count, strength, seed)
                began = time.process_time()
                why = explainer.explain(row, radius="inf", max_seconds=seconds, max_nodes=10**9)
                if why.status is suffice.Status.PROVEN:
                    proven += 1
                    times.append(time.process_time() - began)
                else:
                    gaps.append(why.size - why.lower_bound)
                kept.append(why.size)
            said = f"{statistics.median(times):.2f} s of CPU (at most {max(times):.2f})" if times else "-"
            left = f"{statistics.median(gaps):g} (at most {max(gaps)})" if gaps else "-"
            print(
                f"  {count:3d} features, pairs x{strength:g}: {proven} of {instances} proven in {said}; size "
                f"{statistics.median(kept):g}; size less bound in the others {left}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stress", type=int, nargs="*", default=[30, 60, 100])
    parser.add_argument("--instances", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, one core")
    stress(arguments.stress, arguments.instances, arguments.seconds)


if __name__ == "__main__":
    main()
