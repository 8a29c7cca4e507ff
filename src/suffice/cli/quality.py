"""How good a model that was just trained is, beside a linear one and the simplest guess."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from suffice.tables.quality import Score, classification_scores, regression_scores
from suffice.tables.training import TrainingData

_HELD_BACK = 0.15  # of the rows


class Compared(NamedTuple):
    """A score of the model, of a linear model, and of the simplest guess."""

    name: str
    model: float
    linear: float
    guess: float


def held_back_scores(estimator: Any, frame: Any, training: TrainingData) -> list[Compared]:
    """Return scores of a model that is fitted anew, in the same way, to all but some rows, on these rows.

    There are none where the rows are too few to hold any back. Rows with what no other row has are left out: there is
    no value for it.
    """
    from sklearn.base import clone

    from suffice.gam.splitting import split_rows
    from suffice.gam.tuning import known_rows

    target = np.asarray(training.target, dtype=None if training.is_classification else float)
    classes = np.unique(target, return_inverse=True)[1] if training.is_classification else None
    kept, held = split_rows(len(frame), _HELD_BACK, classes, 0)
    if not len(held) or (training.is_classification and len(set(target[kept].tolist())) < 2):
        return []
    silent = {"verbose": False} if hasattr(estimator, "verbose") else {}
    model = clone(estimator).set_params(**silent).fit(frame.iloc[kept], target[kept])
    held = known_rows(model, frame, held)
    if not len(held):
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a rival that does not converge, or meets a new category
        rival = _linear(training).fit(frame.iloc[kept], target[kept])
        own, other = (_scores(one, frame.iloc[held], target[held], training) for one in (model, rival))
    return [Compared(a.name, a.model, b.model, a.guess) for a, b in zip(own, other, strict=True)]


def _scores(model: Any, frame: Any, target: Any, training: TrainingData) -> list[Score]:
    predictions = model.predict(frame)
    if not training.is_classification:
        return regression_scores(target.tolist(), predictions.tolist())
    chances = model.predict_proba(frame)[:, 1] if len(model.classes_) == 2 else None
    return classification_scores(target.tolist(), predictions.tolist(), chances, model.classes_.tolist())


def _linear(training: TrainingData) -> Any:
    """Return a linear model of all columns: numbers scaled, names one by one, missing cells filled in."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [name for name in training.columns if name not in training.names]
    fill = SimpleImputer(keep_empty_features=True)
    columns = make_column_transformer(
        (make_pipeline(fill, StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), list(training.names)),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000) if training.is_classification else Ridge())
