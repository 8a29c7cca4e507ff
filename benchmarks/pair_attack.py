"""Explanations of models with terms over two features, attacked through the models' own `predict`.

    python benchmarks/pair_attack.py [--rows 20] [--changes 10000] [--only WORD ...]

Thirteen models of other packages are fitted and taken over. Of each, explanations of so many
rows are attacked: so many changes of the free features at once, on cuts and one float beside them as well as between,
go to the original's own `predict`, which must answer as for the row (of a regression: within what was claimed). Every
counterexample must change its answer. The first failure ends the run; it prints a line for each model that held.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "adapters"))
from attack import Original, attack
from configurations import data, make, pipe

PRE = "sklearn.preprocessing"


def table(name):
    """Return a table and a target: one that comes with scikit-learn, or the mixed one of the adapters' tests."""
    from sklearn import datasets

    if name == "mixed":
        return data()["gaps"], data()["bits"]
    if name == "categories":
        return data()["categories"], data()["bits"]
    found = getattr(datasets, f"load_{name}")(as_frame=True)
    spaced = {name: name.replace(" ", "_") for name in found.data.columns}  # LightGBM takes no spaces
    return found.data.rename(columns=spaced).astype(np.float64), found.target.to_numpy()


def fitted(model, name):
    rows, y = table(name)
    return Original(model.fit(rows, y), rows)


def aplr():
    rows, y = table("diabetes")
    model = make("aplr.APLRRegressor", m=60)
    model.fit(rows.to_numpy(), y.astype(np.float64))
    rows = rows.set_axis([f"x{k}" for k in range(rows.shape[1])], axis=1)  # it knows no names
    return Original(model, rows, predict=lambda asked: model.predict(asked.to_numpy(), False))


def catboost():
    rows, y = table("breast_cancer")
    model = make("catboost.CatBoostClassifier", depth=2, iterations=100, verbose=0, allow_writing_files=False)
    return Original(model.fit(rows, y), rows)


def pairwise(rows):
    names = list(rows.columns)
    return [[one, other] for k, one in enumerate(names) for other in names[k + 1 :]]


def ebm(kind, **options):
    """Return an EBM with its usual interactions; few bags, for speed: with more, tables are smoother."""
    return make(f"interpret.glassbox.ExplainableBoosting{kind}", n_jobs=1, outer_bags=2, **options)


SK = "sklearn.ensemble"
MODELS = {
    "EBM, default: breast cancer": lambda: fitted(ebm("Classifier"), "breast_cancer"),
    "EBM, default: diabetes": lambda: fitted(ebm("Regressor"), "diabetes"),
    "EBM, 6 pairs: text, missing cells": lambda: fitted(ebm("Classifier", interactions=6), "mixed"),
    "XGBoost, depth 2: breast cancer": lambda: fitted(
        make("xgboost.XGBClassifier", max_depth=2, n_estimators=100), "breast_cancer"
    ),
    "XGBoost, depth 2, 3 classes: wine": lambda: fitted(
        make("xgboost.XGBClassifier", max_depth=2, n_estimators=40), "wine"
    ),
    "XGBoost, depth 5 in pairs: diabetes": lambda: fitted(
        make(
            "xgboost.XGBRegressor",
            max_depth=5,
            n_estimators=60,
            interaction_constraints=pairwise(table("diabetes")[0])[::5],
        ),
        "diabetes",
    ),
    "LightGBM, depth 2: breast cancer": lambda: fitted(
        make("lightgbm.LGBMClassifier", max_depth=2, n_estimators=100, verbose=-1), "breast_cancer"
    ),
    "CatBoost, depth 2: breast cancer": catboost,
    "HistGradientBoosting, pairwise: categories": lambda: fitted(
        make(f"{SK}.HistGradientBoostingClassifier", interaction_cst="pairwise", max_iter=60), "categories"
    ),
    "GradientBoosting, depth 2, 3 classes: wine": lambda: fitted(
        make(f"{SK}.GradientBoostingClassifier", max_depth=2, n_estimators=40), "wine"
    ),
    "APLR, default: diabetes": aplr,
    "products and logistic regression: breast cancer": lambda: fitted(
        pipe(
            make(f"{PRE}.StandardScaler"),
            make(f"{PRE}.PolynomialFeatures", interaction_only=True),
            make(f"{PRE}.StandardScaler"),
            make("sklearn.linear_model.LogisticRegression", max_iter=300),
        ),
        "breast_cancer",
    ),
    "squares, products and logistic regression: wine": lambda: fitted(
        pipe(
            make(f"{PRE}.StandardScaler"),
            make(f"{PRE}.PolynomialFeatures"),
            make("sklearn.linear_model.LogisticRegression", max_iter=300),
        ),
        "wine",
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--only", nargs="*", default=[""], help="words of the models to attack")
    arguments = parser.parse_args()
    print("| model | features | pairs | decisions compared | explanations held | changes each | counterexamples |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, fit in MODELS.items():
        if not any(word in name for word in arguments.only):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            original = fit()
            precision = 1e-4 if name.startswith("XGBoost") else 1e-6  # it adds up in float32
            found = attack(original, precision=precision, explained=arguments.rows, changes=arguments.changes)
        over = {frozenset(term.features) for term in found.model.pairs}
        print(
            f"| {name} | {len(found.model.names)} | {len(over)} | {found.rows} | {found.explanations} | "
            f"{arguments.changes:,} | {found.counterexamples} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
