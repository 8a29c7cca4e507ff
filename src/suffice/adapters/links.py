"""How what a package predicts follows from a score, in floats: for comparison only."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import nearest_float


def _score(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores themselves."""
    return scores


def _sigmoid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logistic function of scores of any size."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1 / (1 + small), small / (1 + small))


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities that scores of several classes stand for, a row for each."""
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=1, keepdims=True))


LINKS: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "score": _score,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "exp": np.exp,
}


def probability_links(model: AdditiveModel) -> dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
    """Return how the probabilities of a classifier follow from its scores, by name; nothing for a regression."""
    if model.task == "binary":
        offset = 0.0 if model.logit_offset is None else nearest_float(model.logit_offset)
        return {"sigmoid": lambda scores: _sigmoid(scores + offset)}
    return {"softmax": _softmax} if model.task == "multiclass" else {}
