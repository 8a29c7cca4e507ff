"""The paper's set-up: data sets, models, claims, rows and verifiers.

Every column is one number, as the paper's networks need it: categories by their place in alphabetical order, HELOC's
special codes as the numbers they are; and a free feature may be any number within ε. Inputs are standardised; ε is a
radius in standard deviations of the training rows (the paper does not say how it normalises). Networks have hidden
layers 64-64-32; a fifth of the rows is held out, and rows to explain come from there in a fixed random order. Rows
whose smallest explanation is empty, or has all features, are left out.

The paper speaks of a fourth set with a regression, without a name or numbers; here that is California Housing, with
the paper's two one-sided claims (Algorithms 6 to 8) as two benchmarks: the prediction falls, or rises, by at most δ
standard deviations of the target.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import plain

import suffice
from suffice import datasets
from suffice.numbers.exact import rational
from suffice.paper import BisectionVerifier, ExactVerifier, GridSampling, JointSampling, Problem
from suffice.question.row import read_row

DELTA = 0.5  # of a regression; ours, as the paper gives none
HIDDEN = (64, 64, 32)

# What is claimed of a row, given its exact score (a function, for that takes time) and δ in the target's own unit.
CLAIMS = {
    "same": lambda score, delta: suffice.Same(),
    "at_least": lambda score, delta: suffice.AtLeast(score() - delta),
    "at_most": lambda score, delta: suffice.AtMost(score() + delta),
    "within": lambda score, delta: suffice.Within(delta),  # two-sided: ours, the paper's method has none
}


@dataclass(frozen=True)
class Data:
    """Where a table comes from, and how its model is made."""

    load: Callable[[str | None], datasets.Dataset]
    is_deployed: bool = False  # categories and integers as they are, an ensemble: as people would use it


_DATA = {
    "breast_cancer": Data(lambda folder: datasets.load_breast_cancer()),
    "german_credit": Data(datasets.load_german_credit),
    "heloc": Data(datasets.load_heloc),
    "california": Data(datasets.load_california_housing),
    "breast_cancer_deployed": Data(lambda folder: datasets.load_breast_cancer(), is_deployed=True),
    "german_credit_deployed": Data(datasets.load_german_credit, is_deployed=True),
}
MEMBERS = 3  # of a deployed ensemble


@dataclass(frozen=True)
class Benchmark:
    """A data set, and what is claimed of its rows."""

    data: str
    title: str
    claim: str = "same"
    delta: float | None = None  # of a regression, in standard deviations of the target


BENCHMARKS = {
    "breast_cancer": Benchmark("breast_cancer", "Breast Cancer"),
    "german_credit": Benchmark("german_credit", "CREDIT"),
    "heloc": Benchmark("heloc", "FICO HELOC"),
    "california_at_least": Benchmark("california", f"California Housing, ≥ -δ, δ = {DELTA}", "at_least", DELTA),
    "california_at_most": Benchmark("california", f"California Housing, ≤ +δ, δ = {DELTA}", "at_most", DELTA),
    "breast_cancer_deployed": Benchmark("breast_cancer_deployed", f"Breast Cancer, {MEMBERS} members"),
    "german_credit_deployed": Benchmark("german_credit_deployed", f"CREDIT, categories, {MEMBERS} members"),
    "california_within": Benchmark("california", f"California Housing, ± δ, δ = {DELTA}", "within", DELTA),
}
TITLES = {name: benchmark.title for name, benchmark in BENCHMARKS.items()}
EPSILON = dict.fromkeys(BENCHMARKS, 0.5)  # the paper's, where it names no other
DEFAULT = ("breast_cancer", "german_credit", "heloc", "california_at_least", "california_at_most")


def named(name):
    """Return a benchmark by its name; `california_at_most:0.1` is the one with δ = 0.1."""
    known, _, delta = name.partition(":")
    if known not in BENCHMARKS or (delta and BENCHMARKS[known].delta is None):
        raise SystemExit(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    benchmark = BENCHMARKS[known]
    return replace(benchmark, delta=float(delta)) if delta else benchmark


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model with its test rows."""

    explainer: suffice.Explainer
    problem: Problem
    rows: list[list[float]]
    quality: str  # on the test rows, as a page says it
    deviation: float  # of the target, over the training rows; 1 for classes


@dataclass(frozen=True, eq=False)
class Setting:
    """A model and a claim, ready to be asked about by anybody: the same claim for the paper's method and for ours."""

    model: Model
    benchmark: Benchmark

    @property
    def rows(self):
        return self.model.rows

    @property
    def features(self):
        return len(self.model.problem.model.features)

    @cache  # noqa: B019  settings live as long as the program
    def claim(self, place):
        """Return what is claimed of a row, given by its place."""
        problem = self.model.problem

        def score():
            return problem.scores(read_row(problem.model, self.rows[place]))[0]

        return CLAIMS[self.benchmark.claim](score, self.delta)

    @property
    def delta(self):
        """How far a score may move, in the target's own unit; 0 where classes are claimed."""
        return rational(self.benchmark.delta or 0.0) * rational(self.model.deviation)

    def instance(self, place, epsilon):
        """Return a row as the paper's method takes it."""
        return self.model.problem.instance(self.rows[place], epsilon, unit="model", claim=self.claim(place))

    def explain(self, place, epsilon):
        """Return our own explanation of a row."""
        return self.model.explainer.explain(self.rows[place], self.question(self.claim(place), epsilon))

    @cache  # noqa: B019
    def question(self, claim, epsilon):
        """Return our own question, read once for all rows that have the same."""
        return self.model.explainer.question(epsilon, unit="model", claim=claim)

    def explain_seconds(self, place, epsilon):
        """Return the CPU seconds of that: the median of some calls, short enough for a busy machine.

        A question that is asked of many rows is tabulated once; these calls come after that.
        """
        times = []
        for _ in range(141):
            began = time.process_time()
            self.explain(place, epsilon)
            times.append(time.process_time() - began)
        return statistics.median(times[-21:])

    def batch_seconds(self, epsilon, count=500):
        """Return the CPU seconds of a row in a batch; a regression's rows are asked about with "within"."""
        claim = self.claim(0) if self.benchmark.delta is None else CLAIMS["within"](0, self.delta)
        rows = np.array((self.rows * count)[:count])
        times = []
        for _ in range(3):
            began = time.process_time()
            self.model.explainer.explain_batch(rows, epsilon, unit="model", claim=claim)
            times.append(time.process_time() - began)
        return min(times) / count

    def is_sufficient(self, place, fixed, epsilon):
        """Return whether fixing some features is enough, decided exactly."""
        names = [self.model.problem.model.names[i] for i in fixed]
        asked = {"unit": "model", "claim": self.claim(place)}
        return self.model.explainer.is_sufficient(self.rows[place], names, epsilon, **asked)

    @cache  # noqa: B019
    def chosen(self, epsilon, count):
        """Return the first `count` rows whose explanation is neither empty nor everything, and how many were tried."""
        found = []
        for place in range(len(self.rows)):
            if len(found) == count:
                return found, place
            if 0 < self.explain(place, epsilon).size < self.features:
                found.append(place)
        return found, len(self.rows)


@cache
def load(name, folder, store, hidden=HIDDEN, training="own"):
    """Return a setting; its model is trained on the first call and kept in the folder `store`."""
    benchmark = named(name)
    return Setting(_model(benchmark.data, folder, store, hidden, training), benchmark)


@cache
def _model(name, folder, store, hidden, training):
    import pandas
    from sklearn.model_selection import train_test_split

    kind, data = _DATA[name], _DATA[name].load(folder)
    frame = data.frame
    if not kind.is_deployed:
        numbers = {c: frame[c].cat.codes if frame[c].dtype == "category" else frame[c] for c in frame}
        frame = pandas.DataFrame(numbers).astype(float)
    target = data.target.to_numpy(float) if data.task == "regression" else (data.target == data.classes[1]).astype(int)
    train, test, train_target, test_target = train_test_split(
        frame, np.asarray(target), test_size=0.2, random_state=0, stratify=None if data.task == "regression" else target
    )
    layers = "" if hidden == HIDDEN else "-" + "-".join(map(str, hidden))
    file = Path(store) / f"{name}{'' if training == 'own' else '-' + training}{layers}.safetensors"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        TRAININGS[training](train, train_target, hidden, data.task, kind.is_deployed).save(file)
    model = suffice.load(file)
    explainer = suffice.Explainer(model)
    table = test.to_numpy(object if kind.is_deployed else float)
    # A deployed model refuses rows outside the domains that it has learned.
    is_inside = [all(cell in domain for cell, domain in zip(row, model.domains, strict=True)) for row in table]
    table, test_target = table[is_inside], test_target[is_inside]
    found = [explainer.predict(row) for row in table]
    if data.task == "regression":
        r2 = 1 - np.mean((np.array(found, float) - test_target) ** 2) / np.var(test_target)
        quality, deviation = f"R² {r2:.3f}", float(np.std(train_target))
    else:
        quality, deviation = f"{100 * float(np.mean(np.array(found) == test_target)):.2f} %", 1.0
    rows = table[np.random.default_rng(0).permutation(len(table))].tolist()
    return Model(explainer, Problem(model), rows, quality, deviation)


def _train(table, target, hidden, task, is_deployed):
    import torch

    from suffice.nam import NAMClassifier, NAMRegressor

    torch.set_num_threads(1)
    estimator = NAMRegressor if task == "regression" else NAMClassifier
    # The paper's models are networks alone.
    nam = estimator(hidden, n_members=MEMBERS if is_deployed else 1, patience=15, corrections=False, random_state=0)
    nam.fit(table, target)
    # In the paper a free feature may be any number; a deployed model knows what its features can be.
    return nam.to_additive(None if is_deployed else "model")


def _train_plainly(table, target, hidden, task, is_deployed):
    if is_deployed:
        raise SystemExit("--training plain is for tables of numbers, not for deployed models")
    return plain.train(table, target, hidden, task)


TRAININGS = {"own": _train, "plain": _train_plainly}


def available(name, folder):
    """Whether the data of a benchmark is at hand."""
    try:
        _DATA[named(name).data].load(folder)
    except suffice.DataError:
        return False
    return True


def verifier_of(name):
    """Return a new verifier by the name it has on the command line."""
    if name == "marabou":
        from suffice.paper.verifiers.marabou import MarabouVerifier

        return MarabouVerifier(tiny=MARABOU_TINY)
    if name in ("lirpa", "abcrown"):
        from suffice.paper.verifiers import lirpa

        return lirpa.LirpaVerifier() if name == "lirpa" else lirpa.AbcrownVerifier()
    if name == "vnnlib":
        from suffice.paper.verifiers.vnnlib import CommandVerifier

        command = os.environ.get("SUFFICE_VNNLIB_COMMAND")
        if not command:
            raise SystemExit("--verifier vnnlib runs the command in SUFFICE_VNNLIB_COMMAND; set it first")
        return CommandVerifier(command, name="VNN-LIB command")
    kinds = {"exact": ExactVerifier, "bisection": BisectionVerifier, "grid": GridSampling, "joint": JointSampling}
    return kinds[name]()


# Marabou misjudges networks with weights smaller than about this. They are left out, which costs some 3e-4 a network.
MARABOU_TINY = 1e-4

# What a verifier can tell apart: δ of the sorting. Float32 means nothing below about 1e-7.
PRECISION = {"abcrown": 1e-4, "lirpa": 1e-5, "marabou": 2e-3, "vnnlib": 1e-4}
