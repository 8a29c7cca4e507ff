"""Would our networks gain by smooth activations? The same estimator with ReLU and with others in its place.

    python benchmarks/activations.py --data FOLDER [--sets breast_cancer heloc] [--folds 3] [--rows 3000]
        [--explained 60]

`NAMClassifier` is fitted with hidden layers of 64, 64 and 32 units and its other defaults, but for the activation of
its networks, which is changed here: it is no option. Each line has, as means over the folds: the score of the held-out
rows (AUC), the mean proven size of their explanations at half a standard deviation, the share of rows proven, and CPU
seconds of fitting and of a row. What corrects networks after training (lines on single columns) stays as it is. Rows
with special codes are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import contextmanager

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from suffice import Explainer, SmoothNetwork, Status
from suffice.datasets import load_breast_cancer, load_heloc
from suffice.nam import NAMClassifier, convert
from suffice.nam.network import StackedNetworks

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
    "tanh": torch.tanh,
    "elu": torch.nn.functional.elu,
}
LOADERS = {"breast_cancer": lambda folder: load_breast_cancer(), "heloc": load_heloc}


@contextmanager
def networks_of(activation: str) -> object:
    """Let our networks have another activation while they are trained and converted."""
    apply, forward, network = ACTIVATIONS[activation], StackedNetworks.forward, convert._network

    def changed(self: StackedNetworks, inputs: torch.Tensor, dropout: object) -> torch.Tensor:
        h, last = inputs, len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h * weight + bias if layer == 0 else torch.baddbmm(bias, h, weight)
            h = dropout(apply(h)) if layer < last else h
        return h

    def converted(stack: object, k: int) -> object:
        plain = network(stack, k)
        return plain if activation == "relu" else SmoothNetwork(plain.weights, plain.biases, activation)

    StackedNetworks.forward, convert._network = changed, converted
    try:
        yield
    finally:
        StackedNetworks.forward, convert._network = forward, network


def measured(data: object, rows: np.ndarray, activation: str, folds: int, explained: int) -> list[float]:
    frame, y = data.frame.iloc[rows].reset_index(drop=True), np.array(data.target)[rows]
    found = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(frame, y):
        with networks_of(activation):
            start = time.process_time()
            model = NAMClassifier((64, 64, 32), random_state=0).fit(frame.iloc[train], y[train])
            fitted = time.process_time() - start
            score = roc_auc_score(y[test] == model.classes_[1], model.predict_proba(frame.iloc[test])[:, 1])
            explainer = Explainer(model)
        asked, sizes, proven = frame.iloc[test[:explained]], [], []
        start = time.process_time()
        for _, row in asked.iterrows():
            why = explainer.explain(row.to_dict(), 0.5)
            sizes.append(why.size)
            proven.append(why.status is Status.PROVEN)
        taken = (time.process_time() - start) / len(asked)
        found.append([score, np.mean(sizes), np.mean(proven), fitted, taken])
    return [*np.mean(found, axis=0), np.std([one[0] for one in found]), np.std([one[1] for one in found])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--sets", nargs="+", default=list(LOADERS), choices=list(LOADERS))
    parser.add_argument("--activations", nargs="+", default=list(ACTIVATIONS), choices=list(ACTIVATIONS))
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--explained", type=int, default=60, help="rows explained of each fold")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    print(f"{'data':14} {'network':7} {'AUC':>16} {'size':>14} {'proven':>7} {'fit':>8} {'a row':>9}")
    for name in asked.sets:
        data = LOADERS[name](asked.data)
        coded = [data.frame[column].isin(codes) for column, codes in data.special_codes.items()]
        plain = np.flatnonzero(~np.any(coded, axis=0)) if coded else np.arange(len(data.frame))
        rows = np.random.default_rng(0).permutation(plain)[: asked.rows]
        for activation in asked.activations:
            found = measured(data, rows, activation, asked.folds, asked.explained)
            score, size, proven, fitted, taken, score_off, size_off = found
            print(
                f"{name:14} {activation:7} {score:8.4f} ± {score_off:.4f} {size:7.2f} ± {size_off:.2f} {proven:7.0%} "
                f"{fitted:6.1f} s {taken * 1e3:6.1f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
