"""The paper's set-up: data sets, models, rows and verifiers.

Every column is one number, as the paper's networks need it: categories by their place in alphabetical order, HELOC's
special codes as the numbers they are. Inputs are standardised; ε is a radius in standard deviations of the training
rows (the paper does not say how it normalises). Networks have hidden layers 64-64-32; a fifth of the rows is held out,
and rows to explain come from there in a fixed random order. Rows whose smallest explanation is empty, or has all
features, are left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import suffice
from suffice import datasets
from suffice.paper import BisectionVerifier, ExactVerifier, GridSampling, JointSampling, Problem

TITLES = {"breast_cancer": "Breast Cancer", "german_credit": "CREDIT", "heloc": "FICO HELOC"}
EPSILON = {"breast_cancer": 0.5, "german_credit": 0.5, "heloc": 0.5}
PAPER_EPSILON = {"breast_cancer": 0.01, "german_credit": 0.5, "heloc": 0.5}
PAPER_ACCURACY = {"breast_cancer": 97.37, "german_credit": 94.92, "heloc": 69.02}
HIDDEN = (64, 64, 32)


@dataclass(frozen=True, eq=False)
class Setting:
    """A trained model with its test rows, ready to be explained by anybody."""

    name: str
    explainer: suffice.Explainer
    problem: Problem
    rows: list[list[float]]
    accuracy: float

    @property
    def features(self):
        return len(self.problem.model.features)

    @cache  # noqa: B019  settings live as long as the program
    def chosen(self, epsilon, count):
        """Return the first `count` rows whose explanation is neither empty nor everything, and how many were tried."""
        found = []
        for tried, row in enumerate(self.rows, start=1):
            if len(found) == count:
                return found, tried - 1
            if 0 < self.explainer.explain(row, epsilon, unit="model").size < self.features:
                found.append(tried - 1)
        return found, len(self.rows)


@cache
def load(name, folder, store, hidden=HIDDEN):
    """Return a setting; its model is trained on the first call and kept in the folder `store`."""
    import pandas
    from sklearn.model_selection import train_test_split

    data = _read(name, folder)
    frame = pandas.DataFrame(
        {c: data.frame[c].cat.codes if data.frame[c].dtype == "category" else data.frame[c] for c in data.frame}
    ).astype(float)
    target = (data.target == data.classes[1]).astype(int).to_numpy()
    train, test, train_target, test_target = train_test_split(
        frame, target, test_size=0.2, random_state=0, stratify=target
    )
    layers = "" if hidden == HIDDEN else "-" + "-".join(map(str, hidden))
    file = Path(store) / f"{name}{layers}.safetensors"
    if not file.exists():
        _train(train, train_target, file, hidden)
    model = suffice.load(file)
    explainer = suffice.Explainer(model)
    table = test.to_numpy()
    right = [explainer.predict(row) == truth for row, truth in zip(table, test_target, strict=True)]
    rows = table[np.random.default_rng(0).permutation(len(table))].tolist()
    return Setting(name, explainer, Problem(model), rows, 100 * float(np.mean(right)))


def _read(name, folder):
    if name == "breast_cancer":
        return datasets.load_breast_cancer()
    loader = {"german_credit": datasets.load_german_credit, "heloc": datasets.load_heloc}[name]
    return loader(folder)


def _train(table, target, file, hidden):
    import torch

    from suffice.nam import NAMClassifier

    torch.set_num_threads(1)
    nam = NAMClassifier(hidden, random_state=0).fit(table, target)
    file.parent.mkdir(parents=True, exist_ok=True)
    nam.to_additive().save(file)


def available(name, folder):
    """Whether the data of a set is at hand."""
    try:
        _read(name, folder)
    except suffice.DataError:
        return False
    return True


def verifier_of(name):
    """Return a new verifier by the name it has on the command line."""
    if name == "marabou":
        from suffice.paper.verifiers.marabou import MarabouVerifier

        return MarabouVerifier()
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


# What a verifier can tell apart: δ of the sorting. Float32 means nothing below about 1e-7.
PRECISION = {"abcrown": 1e-4, "lirpa": 1e-5, "marabou": 1e-4, "vnnlib": 1e-4}
