"""What models of few columns cost in loss: our choice of columns beside other ways to choose them.

    python benchmarks/feature_budget.py --data FOLDER [--sets a,b] [--budgets 5,8] [--repeats 3] [--methods a,b]

On `--repeats` random splits of each data set into training rows and a fifth of test rows, the columns are chosen from
the training rows by `feature_budget` ("ours"), by the mean size of what each column adds to the score of the model of
all columns ("contributions"), by the place at which a column enters the path of an L1-penalised linear model ("lasso"),
by scikit-learn's mutual information with the target ("information"), and at random ("random", one draw a split). The
same `NAMClassifier` or `NAMRegressor` is then fitted to the columns chosen. Shown are the mean loss on the test rows
(cross-entropy or squared error) and how much it exceeds that of all columns, with the standard error over splits, and
CPU seconds of choosing and fitting. A model of no column at all is the floor.

The splits have seeds from 100 up: none of them is a fold of `accuracy.py`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np
import torch
from accuracy import HELD, LOADERS, TUNED, limit_threads, load_sets, nam, names_from, numbers_of
from sklearn.compose import make_column_transformer
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import l1_min_c

METHODS = ("ours", "contributions", "lasso", "information", "random")
FIRST_SEED = 100


# --- ways to choose ---------------------------------------------------------------------------------------------------


def by_contributions(data, table, target, budget, seed, options, full):
    """Return the columns whose parts of the full model's scores are largest, on average over the training rows."""
    numbers, slots = full._encode(full._read_table(table, is_new=False))
    _, parts = full.network_(torch.from_numpy(numbers).float(), torch.from_numpy(slots))
    sizes = parts.detach().mean(1).numpy()  # rows, columns, outputs
    sizes = np.abs(sizes - sizes.mean(axis=0)).mean(axis=(0, 2))
    return np.argsort(-sizes, kind="stable")[:budget]


def by_lasso(data, table, target, budget, seed, options, full):
    """Return the columns that enter the path of a penalised linear model first."""
    names = [name for name in table if table[name].dtype.kind not in "fiu"]
    numbers = [name for name in table if name not in names]
    transform = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler(with_std=False)), names),
    )
    matrix = transform.fit_transform(table)
    owners = list(numbers)
    if names:
        owners += [name for name, kinds in zip(names, _categories(transform), strict=True) for _ in kinds]
    if data.task == "regression":
        _, weights, _ = lasso_path(matrix, target - target.mean(), alphas=60)
    else:
        model = LogisticRegression(l1_ratio=1, solver="liblinear", warm_start=True, random_state=0)
        paths = []
        for strength in l1_min_c(matrix, target, loss="log") * np.logspace(0.05, 2.5, 30):
            paths.append(model.set_params(C=strength).fit(matrix, target).coef_[0].copy())
        weights = np.array(paths).T
    enters = dict.fromkeys(table, weights.shape[1])
    for owner, line in zip(owners, weights, strict=True):
        places = np.flatnonzero(line)
        enters[owner] = min(enters[owner], int(places[0]) if len(places) else weights.shape[1])
    ordered = sorted(table.columns, key=lambda name: enters[name])
    return [table.columns.get_loc(name) for name in ordered[:budget]]


def _categories(transform):
    return transform.named_transformers_["pipeline-2"][0].categories_


def by_information(data, table, target, budget, seed, options, full):
    """Return the columns that each for itself tells most of the target."""
    names = [name for name in table if table[name].dtype.kind not in "fiu"]
    codes = table.copy()
    if names:
        codes[names] = OrdinalEncoder(encoded_missing_value=-1).fit_transform(table[names])
    measure = mutual_info_regression if data.task == "regression" else mutual_info_classif
    shares = measure(codes.fillna(codes.median()), target, discrete_features=table.columns.isin(names), random_state=0)
    return np.argsort(-shares, kind="stable")[:budget]


def by_chance(data, table, target, budget, seed, options, full):
    """Return random columns."""
    return np.random.default_rng(seed).permutation(table.shape[1])[:budget]


RIVALS = {"contributions": by_contributions, "lasso": by_lasso, "information": by_information, "random": by_chance}


# --- measuring --------------------------------------------------------------------------------------------------------


def loss_of(estimator, data, table, target):
    if data.task == "regression":
        return float(np.mean((estimator.predict(table) - target) ** 2))
    return log_loss(target, estimator.predict_proba(table), labels=range(len(data.classes)))


def floor_of(data, train, test):
    """Return the loss of a model without any column."""
    if data.task == "regression":
        return float(np.mean((test - train.mean()) ** 2))
    shares = np.bincount(train, minlength=len(data.classes)) / len(train)
    return float(-np.log(shares[test]).mean())


def measure(data, seed, options):
    """Return the losses and CPU seconds of one split, by method and budget; budget 0 stands for all columns."""
    target = numbers_of(data)
    groups = None if data.task == "regression" else target
    train, test = train_test_split(np.arange(len(target)), test_size=0.2, random_state=seed, stratify=groups)
    table, held = data.frame.iloc[train], data.frame.iloc[test]

    def build(**more):
        return nam(data, options, **more).set_params(random_state=seed)

    began = time.process_time()
    full = build().fit(table, target[train])
    found = {("all", 0): (loss_of(full, data, held, target[test]), time.process_time() - began)}
    found["none", 0] = floor_of(data, target[train], target[test]), 0.0
    for budget in options.budgets:
        for method in options.methods:
            began = time.process_time()
            if method == "ours":
                few, names = build(feature_budget=budget).fit(table, target[train]), list(table.columns)
            else:
                places = RIVALS[method](data, table, target[train], budget, seed, options, full)
                names = [table.columns[k] for k in sorted(places)]
                codes = {name: one for name, one in (data.special_codes or {}).items() if name in names}
                few = build().set_params(special_codes=codes or None).fit(table[names], target[train])
            seconds = time.process_time() - began
            found[method, budget] = loss_of(few, data, held[names], target[test]), seconds
            print(f"{data.name}, split {seed}, {method}, {budget}: {found[method, budget][0]:.4f}", file=sys.stderr)
    return found


def show(data, found, options):
    everything = [one["all", 0][0] for one in found]
    print(f"\n{data.name}: {data.frame.shape[1]} columns, {len(data.frame)} rows, {len(found)} splits")
    print(f"  {'columns':>8} {'chosen by':15} {'loss':>8} {'above all (± s.e.)':>19} {'CPU s':>7}")
    for method, budget in found[0]:
        losses, seconds = zip(*(one[method, budget] for one in found), strict=True)
        over = [a - b for a, b in zip(losses, everything, strict=True)]
        error = statistics.stdev(over) / len(over) ** 0.5 if len(over) > 1 else 0.0
        label = {"all": str(data.frame.shape[1]), "none": "0"}.get(method, str(budget))
        way = "–" if method in ("all", "none") else method
        line = (
            f"  {label:>8} {way:15} {statistics.mean(losses):8.4f} {f'{statistics.mean(over):+.4f} ± {error:.4f}':>19}"
        )
        print(f"{line} {statistics.mean(seconds):7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder of the CSV files")
    parser.add_argument("--sets", type=names_from(LOADERS), default=list(TUNED))
    parser.add_argument("--methods", type=names_from(METHODS), default=list(METHODS))
    parser.add_argument("--budgets", type=lambda text: [int(one) for one in text.split(",")], default=[5, 8])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="most epochs (default: the estimator's own)")
    parser.add_argument("--rows", type=int, help="use only so many rows of each set, to try things out")
    options = parser.parse_args()
    limit_threads(1)
    for data in load_sets(options.sets, options.data, options.rows):
        if data.name in HELD:
            print(f"{data.name} is held for the end; nothing is chosen by looking at it", file=sys.stderr)
        show(data, [measure(data, FIRST_SEED + k, options) for k in range(options.repeats)], options)


if __name__ == "__main__":
    main()
