"""Smooth and curved shapes: how much they cost beside the same networks with ReLU, and what is proven.

    python benchmarks/smooth.py [--parts networks splines deep] [--rows 20] [--certificates 3] [--sets breast heloc]
        [--activations relu tanh gelu silu softplus elu] [--knots 5 10 25 50] [--data FOLDER] [--units 64 64 32]

NAMs of one network a feature are trained with each activation on two data sets, and logistic regressions on cubic
splines of 5 to 50 knots. For rows of the table, at a radius of half a standard deviation, each line says how many cells
of a feature were looked at in all, the CPU time of the first row (which finds most cells) and of each row of the last
half (which find few), the share of rows proven and the mean size; then, for some rows, the CPU time of writing and of
checking a certificate, and its bytes. Networks of 4 x 256 ReLU units are tabulated over the regions of rows and as a
whole; both explain the same rows, and their answers are compared.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import pairwise

import numpy as np
import pandas
import torch
from flint import fmpq
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from suffice import AdditiveModel, Domain, Explainer, Feature, ReluNetwork, SmoothNetwork, Status, from_model
from suffice.datasets import load_breast_cancer, load_heloc
from suffice.shapes import PieceBudget
from suffice.shapes.lazy import Lazy
from suffice_check.checker import Checker

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "softplus": torch.nn.functional.softplus,
    "elu": torch.nn.functional.elu,
}


def table(name: str, folder: str | None) -> tuple[np.ndarray, np.ndarray]:
    data = load_breast_cancer() if name == "breast" else load_heloc(folder)
    inputs = data.frame.apply(pandas.to_numeric, errors="coerce").to_numpy(float)
    inputs = np.where(inputs < -6, np.nan, inputs)  # special codes of HELOC count as the median
    inputs = inputs[:, ~np.isnan(inputs).all(axis=0)]  # columns of names are left out
    inputs = np.where(np.isnan(inputs), np.nanmedian(inputs, axis=0), inputs)
    y = np.array(data.target)
    return inputs, (y == sorted(set(y.tolist()))[1]).astype(np.float32)


class Stack(torch.nn.Module):
    """All networks of all features, one batched product a layer."""

    def __init__(self, features: int, units: list[int], activation: str) -> None:
        super().__init__()
        sizes = [1, *units, 1]
        self.weights = torch.nn.ParameterList(
            [torch.nn.Parameter(torch.randn(features, b, a) * (2 / a) ** 0.5) for a, b in pairwise(sizes)]
        )
        self.biases = torch.nn.ParameterList([torch.nn.Parameter(torch.randn(features, b, 1) * 0.3) for b in sizes[1:]])
        self.offset = torch.nn.Parameter(torch.zeros(()))
        self.activation = ACTIVATIONS[activation]

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        h = inputs.T[:, None, :]
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = weight @ h + bias
            h = self.activation(h) if k + 1 < len(self.weights) else h
        return h.sum(dim=(0, 1)) + self.offset


def trained(inputs: np.ndarray, y: np.ndarray, units: list[int], activation: str, steps: int = 120) -> Stack:
    torch.manual_seed(0)
    stack = Stack(inputs.shape[1], units, activation)
    optimiser = torch.optim.Adam(stack.parameters(), lr=3e-3, weight_decay=1e-4)
    rows, goals = torch.tensor(inputs, dtype=torch.float32), torch.tensor(y)
    for _ in range(steps):
        some = torch.randint(len(rows), (256,))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(stack(rows[some]), goals[some])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return stack


def exact(stack: Stack, inputs: np.ndarray, activation: str) -> AdditiveModel:
    shapes, features = [], []
    for i in range(inputs.shape[1]):
        weights = [weight[i].detach().numpy() for weight in stack.weights]
        biases = [bias[i, :, 0].detach().numpy() for bias in stack.biases]
        kind = ReluNetwork if activation == "relu" else SmoothNetwork
        shapes.append(kind(weights, biases, activation))
        low, high = float(inputs[:, i].min()), float(inputs[:, i].max())
        features.append(Feature(f"x{i}", domain=Domain.interval(low, high), deviation=1))
    return AdditiveModel(shapes, stack.offset.item(), features=features)


def spent(ask: object) -> tuple[float, object]:
    start = time.process_time()
    found = ask()
    return time.process_time() - start, found


def ask_rows(explainer: Explainer, rows: np.ndarray) -> tuple[float, float, float, float]:
    """CPU time of the first row and of each of the last half, the share proven, and the mean size."""
    asked = [spent(lambda row=row: explainer.explain(row, radius=0.5)) for row in rows.tolist()]
    times, answers = zip(*asked, strict=True)
    proven = np.mean([why.status is Status.PROVEN for why in answers])
    return (
        times[0],
        float(np.mean(times[-(len(times) // 2) :])),
        float(proven),
        float(np.mean([why.size for why in answers])),
    )


def certified(explainer: Explainer, rows: np.ndarray) -> str:
    """CPU time of writing and of checking a certificate, and its bytes, on average over rows."""
    if not len(rows):
        return ""
    checker, told = Checker(explainer.compiled.content), []
    for row in rows.tolist():
        why = explainer.explain(row, radius=0.5)
        written, certificate = spent(why.certificate)
        checked, _ = spent(lambda: checker.check(certificate.text.encode()))  # noqa: B023
        told.append((written, checked, len(certificate.text)))
    written, checked, size = np.mean(told, axis=0)
    return f"{written:6.2f} s {checked:6.2f} s {size:7,.0f}"


def networks(
    name: str,
    inputs: np.ndarray,
    y: np.ndarray,
    activations: list[str],
    units: list[int],
    count: int,
    certificates: int,
) -> None:
    scaled = (inputs - inputs.mean(axis=0)) / np.maximum(inputs.std(axis=0), 1e-9)
    chosen = scaled[np.random.default_rng(0).permutation(len(scaled))[:count]]
    usual = None
    for activation in activations:
        stack = trained(scaled, y, units, activation)
        with torch.no_grad():
            right = ((stack(torch.tensor(scaled, dtype=torch.float32)) > 0).numpy() == (y > 0.5)).mean()
        made, explainer = spent(lambda: Explainer(exact(stack, scaled, activation)))  # noqa: B023
        first, later, proven, size = ask_rows(explainer, chosen)
        usual = usual or (made + first, later)
        pieces = [one for functions in explainer.compiled.pieces for one in functions]
        looked = [one.monotone.looked if hasattr(one, "monotone") else one.count for one in pieces]
        print(
            f"{name:7} {activation:9} {right:6.1%} {np.mean(looked):7.0f} {made + first:8.2f} s {later * 1e3:8.1f} ms "
            f"{proven:7.0%} {size:6.2f} {(made + first) / usual[0]:8.1f} {later / usual[1]:8.1f} "
            f"{certified(explainer, chosen[:certificates])}"
        )


def splines(inputs: np.ndarray, y: np.ndarray, every: list[int], count: int, certificates: int) -> None:
    for knots in every:
        steps = StandardScaler(), SplineTransformer(n_knots=knots, degree=3), LogisticRegression(max_iter=500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline = make_pipeline(*steps).fit(inputs, y)
        made, model = spent(lambda: from_model(pipeline, reference=inputs))  # noqa: B023
        explainer = Explainer(model)
        first, later, proven, size = ask_rows(explainer, inputs[:count])
        told = f"{made:8.2f} s read {first * 1e3:8.1f} ms first {later * 1e3:8.1f} ms {proven:7.0%} {size:6.2f}"
        print(f"splines {knots:3d} knots {told} {certified(explainer, inputs[:certificates])}")


def deep(inputs: np.ndarray, y: np.ndarray, count: int) -> None:
    scaled = (inputs[:, :5] - inputs[:, :5].mean(axis=0)) / inputs[:, :5].std(axis=0)
    stack = trained(scaled, y, [256] * 4, "relu", steps=60)
    with torch.no_grad():
        right = ((stack(torch.tensor(scaled, dtype=torch.float32)) > 0).numpy() == (y > 0.5)).mean()
    rows = scaled[np.random.default_rng(0).permutation(len(scaled))[:count]]
    model, found = exact(stack, scaled, "relu"), {}
    for name, most in (("whole", 100_000), ("lazily", 100)):
        made, explainer = spent(lambda: Explainer(model, max_pieces=most))  # noqa: B023
        asked = [spent(lambda row=row: explainer.explain(row, radius=0.1)) for row in rows.tolist()]  # noqa: B023
        times = [taken for taken, _ in asked]
        found[name] = [(why.features, why.status, why.margin, why.slack) for _, why in asked]
        kinds = {type(one).__name__ for functions in explainer.compiled.pieces for one in functions}
        print(
            f"5 networks of 4 x 256 ReLU, {right:.1%} right, {name:6} ({', '.join(sorted(kinds))}): "
            f"made {made:6.2f} s, first row {times[0]:6.2f} s, "
            f"each of {len(times) - 1} more {np.mean(times[1:]) * 1e3:7.1f} ms"
        )
    print(f"  the same sets, margins and slack in all {len(rows)} rows: {found['whole'] == found['lazily']}")
    weights = [weight[0].detach().numpy() for weight in stack.weights]
    biases = [bias[0, :, 0].detach().numpy() for bias in stack.biases]
    shape = ReluNetwork(weights, biases)
    budget = PieceBudget(100_000)
    for half in (fmpq(1, 10), fmpq(1, 2), fmpq(2)):
        (lazy,) = Lazy.outputs(shape, fmpq(0), fmpq(1), budget)
        taken, (pieces, *_) = spent(lambda: lazy.over(-half, half))  # noqa: B023
        print(f"4 x 256 ReLU, region of half-width {float(half):4.1f}: {len(pieces[2].knots):6d} knots {taken:7.2f} s")
    taken, (whole,) = spent(lambda: ReluNetwork(weights, biases).compile(budget))
    print(f"4 x 256 ReLU, whole line: {len(whole.knots):22d} knots {taken:7.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ["networks", "splines", "deep"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--certificates", type=int, default=3)
    parser.add_argument("--sets", nargs="+", default=["breast", "heloc"], choices=["breast", "heloc"])
    parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS), choices=list(ACTIVATIONS))
    parser.add_argument("--knots", nargs="+", type=int, default=[5, 10, 25, 50])
    parser.add_argument("--data")
    parser.add_argument("--units", nargs="+", type=int, default=[64, 64, 32])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(
        f"{'data':7} {'network':9} {'right':>6} {'cells':>7} {'first row':>10} {'a row':>11} {'proven':>7} {'size':>6} "
        f"{'/ relu':>8} {'/ relu':>8} {'written':>8} {'checked':>8} {'bytes':>7}"
    )
    for name in asked.sets if "networks" in asked.parts else ():
        inputs, y = table(name, asked.data)
        networks(name, inputs, y, asked.activations, asked.units, asked.rows, asked.certificates)
    inputs, y = table("breast", asked.data)
    if "splines" in asked.parts:
        splines(inputs, y, asked.knots, asked.rows, asked.certificates)
    if "deep" in asked.parts:
        deep(inputs, y, asked.rows)


if __name__ == "__main__":
    main()
