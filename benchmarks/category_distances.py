"""What distances of categories do to `radius` and `curve` on tables of numbers and categories.

    SUFFICE_DATA=FOLDER python benchmarks/category_distances.py [--rows 100]

A boosted additive model is fitted to two thirds of each table. Of some other rows it prints how far all features may
move before the decision can change (`radius` with nothing fixed), and how explanations grow with the radius (`curve` up
to 2): with categories that have no distances, as before; with the order that some columns have; with that order and all
other categories a step apart; and with categories held.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from suffice import Explainer
from suffice.datasets import load_adult, load_german_credit

ORDERS = {
    "German Credit": {
        "employment": ["unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"],
        "job": ["unemp/unskilled non res", "unskilled resident", "skilled", "high qualif/self emp/mgmt"],
    },
    "Adult": {
        "education": [
            "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
            "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
        ]
    },
}  # fmt: skip
RADII = (0.25, 0.5, 1, 2)
UNTIL = 2


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100, help="held-out rows that are asked about")
    given = parser.parse_args()
    sizes = " | ".join(f"size at {radius}" for radius in RADII)
    print(f"| table | categories | radius is 0 | median radius | steps of the curve | {sizes} |")
    print(f"| {' | '.join(['---'] * (5 + len(RADII)))} |")
    began = time.process_time()
    for name, load in (("German Credit", load_german_credit), ("Adult", load_adult)):
        data = load(os.environ.get("SUFFICE_DATA"))
        frame = data.frame.copy()
        named = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
        frame[named] = frame[named].astype("category")
        ordered = frame.copy()
        for column, order in ORDERS[name].items():
            ordered[column] = frame[column].cat.set_categories(order, ordered=True)
        train, test, target, _ = train_test_split(frame.index, data.target, test_size=1 / 3, random_state=0)
        fitted = HistGradientBoostingClassifier(
            interaction_cst="no_interactions", categorical_features="from_dtype", max_iter=60, random_state=0
        ).fit(frame.loc[train], target)
        plain, ranked = Explainer(fitted, frame.loc[train[:3000]]), Explainer(fitted, ordered.loc[train[:3000]])
        held: dict[str, Any] = {"immutable": plain.model.categorical}
        for said, explainer, options in (
            ("free", plain, {}),
            ("free, some ordered", ranked, {}),
            ("a step apart, some ordered", ranked, {"categories": "step"}),
            ("held", plain, held),
        ):
            rows = [frame.loc[k].to_dict() for k in test[: given.rows]]
            radii = [float(explainer.radius(row, [], **options).radius) for row in rows]
            curves = [explainer.curve(row, UNTIL, **options) for row in rows]
            means = [np.mean([curve.at(radius).cost for curve in curves]) for radius in RADII]
            cells = [
                f"{np.mean(np.array(radii) == 0):.0%}",
                f"{np.median(radii):.2f}",
                f"{np.mean([len(curve.steps) for curve in curves]):.1f}",
                *(f"{mean:.2f}" for mean in means),
            ]
            print(f"| {name} | {said} | {' | '.join(cells)} |", flush=True)
    print(f"{time.process_time() - began:.0f} s CPU")


if __name__ == "__main__":
    main()
