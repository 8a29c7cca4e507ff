"""Choosing how much accuracy to give up for short explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit


@dataclass(frozen=True)
class WeightChoice:
    """A weight, and the trade-off it was chosen from: (weight, mean score, mean width of the shapes) for each tried."""

    weight: float
    tried: tuple[tuple[float, float, float], ...]


def choose_explanation_weight(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    *,
    allowed_loss: float = 0.002,
    weights: Sequence[float] = (0.001, 0.003, 0.01, 0.03, 0.1),
    scoring: str | None = None,
    n_splits: int = 3,
    random_state: int = 0,
) -> WeightChoice:
    """Return the largest explanation weight that costs at most `allowed_loss` of the score.

    Parameters
    ----------
    estimator : NAMClassifier or NAMRegressor
        With its `explanation_radius` set; copies of it are fitted.
    X, y : table and target
        Training data only: parts of it are held back to score on.
    allowed_loss : float
        How much lower than without the penalty the mean score may be.
    weights : sequence of float
        Weights to try, smallest first; the first one that costs too much ends the search.
    scoring : str, optional
        Name of a scikit-learn scorer. Default: "roc_auc" for two classes, otherwise the estimator's own score.
    n_splits : int
        How many random splits the score is averaged over.
    random_state : int
        Seed of the splits.
    """
    is_classifier = hasattr(estimator, "predict_proba")
    scoring = scoring or ("roc_auc" if is_classifier and len(np.unique(y)) == 2 else None)
    splitter = StratifiedShuffleSplit if is_classifier else ShuffleSplit
    splits = list(splitter(n_splits, test_size=0.25, random_state=random_state).split(np.zeros(len(y)), y))

    def measure(weight: float) -> tuple[float, float, float]:
        scores, widths = [], []
        for train, test in splits:
            model = clone(estimator).set_params(explanation_weight=weight).fit(_rows(X, train), _rows(y, train))
            score = get_scorer(scoring) if scoring else type(model).score
            scores.append(score(model, _rows(X, test), _rows(y, test)))
            widths.append(model.explanation_width_)
        return weight, float(np.mean(scores)), float(np.mean(widths))

    tried = [measure(0.0)]
    for weight in sorted(weights):
        tried.append(measure(weight))
        if tried[-1][1] < tried[0][1] - allowed_loss:
            break
    allowed = [weight for weight, score, _ in tried if score >= tried[0][1] - allowed_loss]
    return WeightChoice(max(allowed, default=0.0), tuple(tried))


def _rows(table: Any, chosen: Any) -> Any:
    return table.iloc[chosen] if hasattr(table, "iloc") else np.asarray(table)[chosen]
