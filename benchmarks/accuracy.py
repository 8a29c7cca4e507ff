"""Cross-validated scores, fit times and sizes of explanations: our models and their rivals, side by side.

    python benchmarks/accuracy.py --data FOLDER [--sets a,b] [--methods a,b] [--folds 5] [--threads 1] [--explained 200]
                                  [--output results.json] [--epochs N] [--rows N] [--processes 1]

Methods: `GAMClassifier` / `GAMRegressor` with defaults ("gam"), without pairs ("gam-mains"), fitted for short
explanations at half a standard deviation, with a weight that gives up at most .002 of the score ("gam-short"), and of
at most eight columns ("gam-budget"); `NAMClassifier` / `NAMRegressor` with defaults ("nam"), with pairs ("pairs") and
with four members ("nam4");
interpret's explainable boosting machine with its defaults, pairs among them ("ebm"), and without pairs ("ebm-mains");
LightGBM ("lightgbm"); dnamite, main effects only ("dnamite", which knows two classes and regression); logistic or
linear regression ("linear"); and a single network of the paper's size, whose accuracy is set beside the published one
("paper"). All else stays at each package's defaults, and every method sees the same folds. Whatever ours choose (how
many pairs, how smooth, which weight), they choose within the training rows of each fold.

The defaults of our estimators were tuned on the sets in TUNED and on some thirty others that are not reported; nothing
was chosen by those in HELD. Adult and CDC Diabetes are cut to 20,000 rows each, to save the rivals' time.

HELOC's special codes (-9 "no record") are declared to our models. Linear regression gets a column for each code, and
the median in its place. EBM, LightGBM and dnamite cut a column into bins and get the table as it is; most codes have a
bin of their own there, but dnamite's 32 bins put some rare ones together with other values.

The size is the mean over proven smallest explanations of `--explained` test rows of each fold, at half a standard
deviation, with domains learned from the training rows: of the class predicted, or, of a regression, of the side of the
training rows' median that the prediction is on. "off" is how far predicted probabilities are from what happened: the
mean distance over ten groups of rows with like predictions.

A category that no training row has (a single row of Adult) is refused by our estimators; such a test row is scored
with the most frequent category instead.

FOLDER holds the CSV files that `suffice.datasets` reads; Breast Cancer needs none. Times are CPU seconds of `fit`
alone, on `--threads` threads; the methods take turns on each fold, so that a busy machine slows them all. With
`--processes` so many fits run at a time, each in a process of its own.

With `--output`, every finished fit is written at once, and a run that was ended goes on from there. A fit is used again
only if the estimator's parameters, and for ours the code that fits it, are still the same; other settings or
versions of a package need another file.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import itertools
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import suffice
from suffice import AtLeast, AtMost, Explainer, Status, datasets
from suffice.gam import GAMClassifier, GAMRegressor, choose_explanation_weight
from suffice.nam import NAMClassifier, NAMRegressor

LOADERS = {
    "breast_cancer": lambda folder: datasets.load_breast_cancer(),
    "german_credit": datasets.load_german_credit,
    "heloc": datasets.load_heloc,
    "california_housing": datasets.load_california_housing,
    "dry_bean": datasets.load_dry_bean,
    "adult": datasets.load_adult,
    "credit_default": datasets.load_credit_default,
    "compas": datasets.load_compas,
    "cdc_diabetes": datasets.load_cdc_diabetes,
}
TUNED = ("german_credit", "heloc", "california_housing", "adult")
HELD = ("compas", "credit_default", "cdc_diabetes")
MOST_ROWS = {"adult": 20_000, "cdc_diabetes": 20_000}
SCORES = {"binary": "AUC", "regression": "R²", "multiclass": "accuracy"}
PAPER_LAYERS = (64, 64, 32)
PAPER_ACCURACY = {"breast_cancer": 0.9737, "heloc": 0.6902}  # as published: Bassan et al., ICLR 2026
PACKAGES = ("suffice", "torch", "scikit-learn", "pandas", "numpy", "interpret-core", "lightgbm", "dnamite")
RADIUS = 0.5


# --- methods ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A line of the tables: `build` makes its estimator, or None where it has none for the task."""

    label: str
    package: str
    build: Callable[[datasets.Dataset, argparse.Namespace], Any]


def nam(data, options, **parameters):
    if options.epochs:
        parameters["max_epochs"] = options.epochs
    kind = NAMRegressor if data.task == "regression" else NAMClassifier
    return kind(special_codes=data.special_codes or None, random_state=0, **parameters)


def gam(data, options, **parameters):
    kind = GAMRegressor if data.task == "regression" else GAMClassifier
    return kind(special_codes=data.special_codes or None, **parameters)


def paper(data, options):
    is_in_paper = data.name in PAPER_ACCURACY
    return nam(data, options, hidden_layers=PAPER_LAYERS, n_members=1, corrections=False) if is_in_paper else None


def ebm(data, options, **parameters):
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingRegressor if data.task == "regression" else ExplainableBoostingClassifier
    return kind(n_jobs=options.threads, **parameters)


def lightgbm(data, options):
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if data.task == "regression" else LGBMClassifier
    return kind(n_jobs=options.threads, verbose=-1)


def dnamite(data, options):
    from dnamite.models import DNAMiteBinaryClassifier, DNAMiteRegressor

    kind = {"binary": DNAMiteBinaryClassifier, "regression": DNAMiteRegressor}.get(data.task)
    epochs = {"max_epochs": options.epochs} if options.epochs else {}
    return kind and kind(random_state=0, **epochs)


def linear(data, options):
    categories = list(data.frame.select_dtypes("category"))
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), categories), remainder=numbers)
    last = LinearRegression() if data.task == "regression" else LogisticRegression(max_iter=2000)
    return make_pipeline(CodesApart(dict(data.special_codes)), columns, last)


class CodesApart(TransformerMixin, BaseEstimator):
    """Makes special codes missing, and adds a column for each that says where it was."""

    def __init__(self, codes):
        self.codes = codes

    def fit(self, table, target=None):
        return self

    def transform(self, table):
        pairs = [(name, code) for name, codes in self.codes.items() for code in codes]
        flags = {f"{name} is {code:g}": (table[name] == code).astype(float) for name, code in pairs}
        plain = {name: table[name].mask(table[name].isin(codes)) for name, codes in self.codes.items()}
        return table.assign(**plain, **flags)


class Short(BaseEstimator):
    """One of our estimators, trained for short explanations with a weight chosen within the training rows."""

    def __init__(self, estimator, give_up=0.002):
        self.estimator, self.give_up = estimator, give_up

    def fit(self, table, target):
        estimator = clone(self.estimator).set_params(explanation_radius=RADIUS)
        self.choice_ = choose_explanation_weight(estimator, table, target, give_up=self.give_up, explained=0)
        self.model_ = estimator.set_params(explanation_weight=self.choice_.weight).fit(table, target)
        return self

    def predict(self, table):
        return self.model_.predict(table)

    def predict_proba(self, table):
        return self.model_.predict_proba(table)


METHODS = {
    "gam": Method("GAM", "suffice", gam),
    "gam-mains": Method("GAM, no pairs", "suffice", lambda data, options: gam(data, options, pairs=0)),
    "gam-short": Method("GAM, short", "suffice", lambda data, options: Short(gam(data, options))),
    "gam-budget": Method("GAM, 8 columns", "suffice", lambda data, options: gam(data, options, feature_budget=8)),
    "nam": Method("NAM", "suffice", nam),
    "nam4": Method("NAM, 4 members", "suffice", lambda data, options: nam(data, options, n_members=4)),
    "pairs": Method("NAM, pairs", "suffice", lambda data, options: nam(data, options, pairs="auto")),
    "ebm": Method("EBM", "interpret", ebm),
    "ebm-mains": Method("EBM, no pairs", "interpret", lambda data, options: ebm(data, options, interactions=0)),
    "lightgbm": Method("LightGBM", "lightgbm", lightgbm),
    "dnamite": Method("dnamite", "dnamite", dnamite),
    "linear": Method("linear", "sklearn", linear),
    "paper": Method("NAM, paper's size", "suffice", paper),
}
NOT_INSTALLED, NO_SUCH_TASK = "not installed", "–"


# --- measuring --------------------------------------------------------------------------------------------------------


def load_sets(names, folder, rows=None):
    """Yield the data sets, each cut to some of its rows if asked."""
    for name in names:
        data = LOADERS[name](folder)
        most = min(rows or len(data.frame), MOST_ROWS.get(name, len(data.frame)))
        if most < len(data.frame):
            kept = np.random.default_rng(0).choice(len(data.frame), most, replace=False)
            frame, target = (table.iloc[kept].reset_index(drop=True) for table in (data.frame, data.target))
            data = datasets.Dataset(name, frame, target, data.task, data.classes, data.special_codes)
        yield data


def numbers_of(data):
    """Return the target as numbers: 1 for the positive of two classes, the place of one of many."""
    if data.task == "regression":
        return data.target.to_numpy()
    return data.target.map({name: place for place, name in enumerate(data.classes)}).to_numpy()


def folds_of(data, target, count):
    kind = KFold if data.task == "regression" else StratifiedKFold
    return kind(count, shuffle=True, random_state=0).split(data.frame, target)


def measure(estimator, data, target, train, test, options):
    """Fit on one part, score on the other, and explain some rows of it."""
    table, held = data.frame.iloc[train], data.frame.iloc[test]
    if is_ours(estimator):
        held = with_known_categories(table, held)
    began, cpu_began = time.perf_counter(), time.process_time()
    estimator.fit(table, target[train])
    cell = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu_began}
    cell |= scores(estimator, data, held, target[test])
    return cell | explained(estimator, data, target, train, test, options)


def scores(estimator, data, held, target):
    """Return how well rows are predicted, and the loss: squared errors, or the cross-entropy."""
    if data.task == "regression":
        predicted = estimator.predict(held)
        return {"score": r2_score(target, predicted), "loss": float(np.mean((target - predicted) ** 2))}
    chances = np.asarray(estimator.predict_proba(held), dtype=float)
    if chances.ndim == 1:  # dnamite's are those of the second class alone
        chances = np.stack([1 - chances, chances], axis=1)
    accuracy = accuracy_score(target, chances.argmax(axis=1))
    found = {"accuracy": accuracy, "loss": log_loss(target, chances, labels=range(chances.shape[1]))}
    if data.task == "multiclass":
        return {"score": accuracy, **found}
    return {"score": roc_auc_score(target, chances[:, 1]), **found, "calibration": calibration(target, chances[:, 1])}


def calibration(target, chance, bins=10):
    """Return the mean distance of predicted probabilities from what happened, over groups of rows of equal size."""
    order = np.array_split(np.argsort(chance, kind="stable"), bins)
    return float(np.mean([abs(chance[group].mean() - target[group].mean()) for group in order]))


def explained(estimator, data, target, train, test, options):
    """Return the sizes of proven explanations of some test rows, and how many pair terms the model has."""
    if not options.explained or isinstance(estimator, Pipeline) or type(estimator).__module__.startswith("lightgbm"):
        return {}
    began, estimator = time.process_time(), getattr(estimator, "model_", estimator)
    explainer, middle = Explainer(estimator, data.frame.iloc[train]), float(np.median(target[train]))
    rows = data.frame.iloc[np.random.default_rng(0).permutation(test)[: options.explained]]
    parts = [(rows, {})]
    if data.task == "regression":
        is_high = np.asarray(estimator.predict(rows)) >= middle
        parts = [(rows[is_high], {"claim": AtLeast(middle)}), (rows[~is_high], {"claim": AtMost(middle)})]
    sizes, proven = [], 0
    for part, claim in parts:
        found = explainer.explain_batch(part, RADIUS, threads=options.threads, **claim)
        known = found.statuses != "failed"  # the others have a value beyond what the training rows make possible
        sizes += found.sizes[known].tolist()
        proven += int(np.sum(found.statuses == Status.PROVEN.value))
    return {
        "sizes": sizes,
        "proven": proven,
        "pairs": len(explainer.model.pairs),
        "explain_seconds": time.process_time() - began,
    }


def is_ours(estimator):
    return type(getattr(estimator, "estimator", estimator)).__module__.startswith("suffice.")


def with_known_categories(table, held):
    """Return rows with the most frequent category in place of one that no training row has: ours refuse those."""
    held = held.copy()
    for name in table.select_dtypes("category"):
        is_new = ~held[name].isin(table[name].dropna().unique()) & held[name].notna()
        held.loc[is_new, name] = table[name].mode().iloc[0]
    return held


def identity(estimator):
    """Return all that tells an estimator from others, for ours with a digest of the code that trains it."""
    text = f"{type(estimator).__name__} {estimator.get_params(deep=False)}"
    if not is_ours(estimator):
        return text
    packages = ("gam", "nam") if isinstance(estimator, NAMClassifier | NAMRegressor) else ("gam",)
    files = [file for name in packages for file in sorted((Path(suffice.__file__).parent / name).glob("*.py"))]
    return f"{text} {hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:16]}"


class Results:
    """Cells of a run, kept in a file if there is one; a cell is found again by all that went into it."""

    def __init__(self, path, settings):
        self.path, self.settings, self.cells = path and Path(path), settings, []
        if self.path and self.path.exists():
            kept = json.loads(self.path.read_text())
            if kept["settings"] != settings:
                sys.exit(f"{path} holds another run: {kept['settings']}, now {settings}; give another --output")
            self.cells = kept["cells"]

    def find(self, **key):
        return next((cell for cell in self.cells if key.items() <= cell.items()), None)

    def add(self, cell):
        self.cells.append(cell)
        if self.path:
            draft = self.path.with_name(self.path.name + ".part")  # a run ended while it writes leaves the file whole
            cells = ",\n".join(map(json.dumps, self.cells))
            draft.write_text(f'{{"settings": {json.dumps(self.settings)}, "cells": [\n{cells}\n]}}\n')
            draft.replace(self.path)


def fit_one(name, method, fold, options):
    """Fit a method to a fold of a data set; return its cell, or in words why there is none."""
    (data,) = load_sets([name], options.data, options.rows)
    target = numbers_of(data)
    train, test = list(folds_of(data, target, options.folds))[fold]
    estimator = METHODS[method].build(data, options)
    cell = {"set": name, "fold": fold, "model": identity(estimator), "method": method}
    try:
        return cell | measure(estimator, data, target, train, test, options)
    except Exception as error:  # whatever a method trips over belongs in the table
        return f"fails: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def run(sets, results, options):
    """Return for each data set, and each method, the cells of its folds, or in words why there are none."""
    found = {data.name: {method: [] for method in options.methods} for data in sets}
    wanted = []
    for data, fold, method in itertools.product(sets, range(options.folds), options.methods):
        if importlib.util.find_spec(METHODS[method].package) is None:
            found[data.name][method] = NOT_INSTALLED
        elif (estimator := METHODS[method].build(data, options)) is None:
            found[data.name][method] = NO_SUCH_TASK
        else:
            cell = results.find(set=data.name, fold=fold, model=identity(estimator))
            wanted.append((data.name, method, fold, cell))
    missing = [each[:3] for each in wanted if each[3] is None]
    cells = [cell for *_, cell in wanted if cell is not None]
    with ProcessPoolExecutor(options.processes, get_context("spawn"), limit_threads, (options.threads,)) as pool:
        futures = {pool.submit(fit_one, *each, options): each for each in missing}
        for future in as_completed(futures):
            (name, method, fold), cell = futures[future], future.result()
            if isinstance(cell, str):
                found[name][method] = line = cell
            else:
                cells.append(cell)
                results.add(cell)
                line = f"{cell['score']:.4f}, {cell['seconds']:.1f} s"
            print(f"{name}, fold {fold}, {METHODS[method].label}: {line}", file=sys.stderr, flush=True)
    for cell in sorted(cells, key=lambda cell: cell["fold"]):
        if not isinstance(of_set := found[cell["set"]][cell["method"]], str):
            of_set.append(cell)
    return found


# --- showing ----------------------------------------------------------------------------------------------------------


def spread(values, sign=""):
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):{sign}.4f} ± {deviation:.4f}"


def column(cells, key, default=None):
    return [] if isinstance(cells, str) else [cell.get(key, default) for cell in cells]


def versus(own, other, key="score"):
    """Return the mean difference of scores, fold by fold, and its standard error."""
    pairs = zip(column(own, key), column(other, key), strict=False)
    differences = [a - b for a, b in pairs]
    if len(differences) < 2:
        return "–"
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{statistics.mean(differences):+.4f} ± {error:.4f}"


def mean_of(cells, key):
    """Return the mean over folds, of lists over all that is in them; None where a method has none."""
    found = [value for cell in cells if key in cell for value in np.atleast_1d(cell[key])]
    return statistics.mean(map(float, found)) if found else None


def written(number, digits, unit=""):
    return "–" if number is None else f"{number:.{digits}f}{unit}"


def show(data, found, folds):
    rows, columns = data.frame.shape
    part = "tuned on" if data.name in TUNED else "held for the end" if data.name in HELD else "seen while tuning"
    print(f"\n{data.name} ({part}): {SCORES[data.task]}, {rows} rows, {columns} columns, {folds} folds")
    print(
        f"  {'':15} {'score':>17} {'loss':>7} {'off':>6} {'CPU s':>8} {'pairs':>6} {'size':>6} {'proven':>7}"
        f" {'score − EBM (± s.e.)':>21} {'loss − EBM (± s.e.)':>21} {'CPU s / EBM':>12}"
    )
    other = found.get("ebm", [])
    for name, cells in found.items():
        if name == "paper":
            continue
        if not column(cells, "score"):
            print(f"  {METHODS[name].label:15} {cells or '–':>17}")
            continue
        seconds = mean_of(cells, "cpu_seconds")
        explained, proven = sum(len(cell.get("sizes", ())) for cell in cells), sum(column(cells, "proven", 0))
        line = f"  {METHODS[name].label:15} {spread(column(cells, 'score')):>17} {mean_of(cells, 'loss'):7.4f}"
        line += (
            f" {written(mean_of(cells, 'calibration'), 4):>6} {seconds:8.2f} {written(mean_of(cells, 'pairs'), 1):>6}"
        )
        line += f" {written(mean_of(cells, 'sizes'), 2):>6} {f'{proven}/{explained}':>7}"
        if name != "ebm" and column(other, "score"):
            ratio = f"{seconds / mean_of(other, 'cpu_seconds'):.3f}"
            line += f" {versus(cells, other):>21} {versus(cells, other, 'loss'):>21} {ratio:>12}"
        print(line)


def show_paper(by_set, folds):
    layers = "-".join(map(str, PAPER_LAYERS))
    print(f"\npaper's architecture: one network of {layers} units a feature, test accuracy, {folds} folds")
    print(f"  {'':15} {'accuracy':>17} {'published':>10} {'difference':>11}")
    for name, cells in by_set.items():
        if not column(cells, "accuracy"):
            print(f"  {name:15} {cells or '–':>17}")
            continue
        values, published = column(cells, "accuracy"), PAPER_ACCURACY[name]
        difference = statistics.mean(values) - published
        print(f"  {name:15} {spread(values):>17} {published:10.4f} {difference:+11.4f}")


# --- command line -----------------------------------------------------------------------------------------------------


def names_from(known):
    def read(text):
        names = text.split(",")
        unknown = [name for name in names if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return names

    return read


def limit_threads(count):
    """Let every library use so many threads, and none be slower the first time."""
    threadpool_limits(count)
    torch.set_num_threads(count)
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # the first optimiser imports a good part of PyTorch


def versions():
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = NOT_INSTALLED
    return found


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the CSV files")
    parser.add_argument("--sets", type=names_from(LOADERS), default=[*TUNED, *HELD])
    parser.add_argument("--methods", type=names_from(METHODS), default=list(METHODS))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1, help="how many fits run at a time")
    parser.add_argument("--explained", type=int, default=200, help="rows of each fold that are explained")
    parser.add_argument("--output", help="JSON file, written after every fit; a run goes on from it")
    parser.add_argument("--epochs", type=int, help="most epochs of all networks (default: each one's own)")
    parser.add_argument("--rows", type=int, help="use only so many rows of each set, to try things out")
    options = parser.parse_args()
    if options.data is None and options.sets != ["breast_cancer"]:
        parser.error("all sets but breast_cancer need --data FOLDER")
    return options


def main():
    options = read_options()
    settings = {
        name: getattr(options, name) for name in ("folds", "threads", "epochs", "rows", "explained")
    } | versions()
    results, paper_cells = Results(options.output, settings), {}
    sets = list(load_sets(options.sets, options.data, options.rows))
    used = ", ".join(f"{name} {version}" for name, version in versions().items())
    print(f"Python {platform.python_version()}, {platform.machine()}, {options.threads} thread(s)\n{used}", flush=True)
    for name, found in run(sets, results, options).items():
        show(next(data for data in sets if data.name == name), found, options.folds)
        if name in PAPER_ACCURACY and "paper" in found:
            paper_cells[name] = found["paper"]
    if paper_cells:
        show_paper(paper_cells, options.folds)


if __name__ == "__main__":
    main()
