"""What learned domains do to explanations: size, impossible values in counterfactuals, rows that lie outside.

    SUFFICE_DATA=FOLDER python benchmarks/domains.py

A neural additive model is trained on two thirds of each table; the others are explained at half a standard deviation,
once with every number possible and once with the domains learned in training. An impossible value is a number of a
nearest counterfactual that is negative, or not whole, in a column that never was.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from sklearn.model_selection import train_test_split

from suffice import Explainer, SufficeError
from suffice.datasets import load_adult, load_german_credit, load_heloc
from suffice.nam import NAMClassifier


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="held-out rows that are explained")
    parser.add_argument(
        "--changes", type=int, default=100, help="of these, rows whose nearest counterfactual is looked at"
    )
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args()
    heads = ["size, any number", "size, learned", "impossible, any number", "impossible, learned", "rows outside"]
    print(f"| table | rows | {' | '.join(heads)} |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, load in (("German Credit", load_german_credit), ("HELOC", load_heloc), ("Adult", load_adult)):
        data = load(os.environ.get("SUFFICE_DATA"))
        train, test, target, _ = train_test_split(data.frame, data.target, test_size=1 / 3, random_state=0)
        nam = NAMClassifier(max_epochs=given.epochs, random_state=0).fit(train, target)
        rows = test.iloc[: given.rows]
        any_number, learned = Explainer(nam, domains="model"), Explainer(nam)
        there = np.asarray(learned.explain_batch(rows).statuses) != "failed"
        sizes = [explainer.explain_batch(rows[there]).sizes.mean() for explainer in (any_number, learned)]
        some = rows[there].iloc[: given.changes]
        wrong = [
            sum(is_impossible(one, some.iloc[k], train) for k in range(len(some))) for one in (any_number, learned)
        ]
        cells = (*(f"{size:.2f}" for size in sizes), *(f"{count} of {len(some)}" for count in wrong))
        print(f"| {name} | {there.sum():,} | {' | '.join(cells)} | {(~there).sum()} of {len(rows):,} |", flush=True)


def is_impossible(explainer: Explainer, row: object, train: object) -> bool:
    """Whether the nearest counterfactual of a row has a value that no row can have."""
    try:
        found = explainer.counterfactual(row, radius=2)
    except SufficeError:
        return False
    for name in found.features:
        column, new = train[name], found.counterexample[name]
        if column.dtype.kind in "iuf" and not isinstance(new, str) and new is not None:
            known = column.dropna()
            is_whole = bool((known == known.round()).all())
            if (is_whole and float(new) != round(float(new))) or (known.min() >= 0 and new < 0):
                return True
    return False


if __name__ == "__main__":
    main()
