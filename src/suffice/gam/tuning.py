"""Choosing how much accuracy to give up for short explanations."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from suffice.answers.answer import Status
from suffice.answers.frames import draw, to_frame
from suffice.errors import DataError, RowError
from suffice.explainer import Explainer
from suffice.gam.columns import as_table
from suffice.gam.hats import Places
from suffice.gam.parameters import check_seed, is_from_to
from suffice.gam.wanted import is_whole
from suffice.numbers.exact import brief
from suffice.question.claims import SAME, AtLeast, AtMost

_SHARE = 0.25  # of the rows, held back in each split
_ENOUGH, _FEWEST, _MOST = 2500, 3, 10  # rows held back in all splits together; splits
_FAR = 10.0  # times smaller than the smallest weight, where that costs too much


class TriedWeight(NamedTuple):
    """A weight, and means over splits: score, mean width of the shapes, mean proven size of explanations (or NaN)."""

    weight: float
    score: float
    width: float
    size: float


@dataclass(frozen=True)
class WeightChoice:
    """A weight, and the trade-off it was chosen from.

    Parameters
    ----------
    weight : float
        The largest tried whose mean score is at most `give_up` below that without one; 0 if none is.
    tried : tuple of TriedWeight
        All that were tried, smallest weight first.
    scoring : str
        What the score is.
    """

    weight: float
    tried: tuple[TriedWeight, ...]
    scoring: str

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row for each weight tried."""
        columns = {name: [getattr(one, name) for one in self.tried] for name in TriedWeight._fields}
        return to_frame(columns | {"is_chosen": [one.weight == self.weight for one in self.tried]})

    def plot(self, ax: Any = None) -> Any:
        """Draw scores against sizes of explanations (`suffice.present.plots.trade_off`)."""
        return draw("trade_off", self, ax)


def choose_explanation_weight(
    estimator: Any,
    X: Any,  # noqa: N803
    y: Any,
    *,
    give_up: float = 0.002,
    weights: Sequence[float] = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03),
    scoring: str | None = None,
    between: int = 3,
    n_splits: int | None = None,
    explained: int = 30,
    random_state: int = 0,
) -> WeightChoice:
    """Return the largest explanation weight that costs at most `give_up` of the score.

    Parameters
    ----------
    estimator : GAMClassifier, GAMRegressor, NAMClassifier or NAMRegressor
        With its `explanation_radius` set; copies of it are fitted.
    X, y : table and target
        Training data only: parts of it are held back to score on.
    give_up : float
        How much lower than without the penalty the mean score may be.
    weights : sequence of float
        Weights to try, smallest first, until one costs too much.
    between : int
        How many more are tried then, between that one and the largest that does not cost too much.
    scoring : str, optional
        Name of a scikit-learn scorer. Default: "roc_auc" for two classes, otherwise "accuracy" or "r2".
    n_splits : int, optional
        How many random splits the score is averaged over. Default: 3, and up to 10 where there are few rows.
    explained : int
        How many rows held back in each split are explained, to tell how long explanations are; of a regression, it is
        explained on which side of the mean the prediction is.
    random_state : int
        Seed of the splits.
    """
    if getattr(estimator, "explanation_radius", None) is None:
        raise DataError("a weight can be chosen only for an explanation_radius, in standard deviations; set it first")
    first = clone(estimator)
    rows, targets = len(first._read_table(X, is_new=True)[0]), () if y is None else first._read_target(y)
    if rows != len(targets):
        raise DataError(f"X has {rows} rows and y has {len(targets)}; give a target for each row")
    X = as_table(X)  # noqa: N806
    if n_splits is None:
        n_splits = int(np.clip(_ENOUGH / (_SHARE * rows), _FEWEST, _MOST))
    for name, number, least in (("n_splits", n_splits, 1), ("between", between, 0), ("explained", explained, 0)):
        if not is_whole(number, least):
            raise DataError(f"{name} must be a whole number from {least} up, got {brief(number)}")
    if not is_from_to(give_up, -np.inf, np.inf):
        raise DataError(f"give_up must be a finite number, got {brief(give_up)}")
    check_seed(random_state)
    if isinstance(weights, (str, bytes)) or not isinstance(weights, Iterable) or getattr(weights, "ndim", 1) == 0:
        raise DataError(f"weights must be finite numbers from 0 up, got {brief(weights)}")
    weights = list(weights)  # be it what can be read only once
    for weight in weights:
        if not is_from_to(weight, 0, np.inf):
            raise DataError(f"weights must be finite numbers from 0 up, got {brief(weight)}")
    is_classifier = hasattr(first, "classes_")
    if scoring is None:
        scoring = "r2" if not is_classifier else "roc_auc" if len(first.classes_) == 2 else "accuracy"
    try:
        score = get_scorer(scoring)
    except ValueError as error:
        raise DataError(f"scoring: {error}") from None
    splitter = StratifiedShuffleSplit if is_classifier else ShuffleSplit
    try:
        splits = list(splitter(n_splits, test_size=_SHARE, random_state=random_state).split(targets, targets))
    except ValueError as error:
        raise DataError(f"a weight is chosen on parts of the rows, and there are too few of them: {error}") from None

    fits = [estimator.by_weight(_rows(X, train), _rows(y, train)) for train, _ in splits]

    def measure(weight: float) -> TriedWeight:
        scores, widths, sizes = [], [], list[int]()
        for fitted, (_, test) in zip(fits, splits, strict=True):
            model = fitted(weight)
            known = known_rows(model, X, test)
            if not len(known):
                raise DataError("every row held back has a category that no other has; no weight can be chosen by them")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UndefinedMetricWarning)  # of rows too few: the score is no number
                    scores.append(score(model, _rows(X, known), _rows(y, known)))
            except ValueError as error:
                raise DataError(f"scoring by {scoring}: {error}") from None
            widths.append(model.explanation_width_)
            sizes += _sizes(model, _rows(X, known), explained)
        return TriedWeight(weight, *(float(np.mean(each)) if each else np.nan for each in (scores, widths, sizes)))

    tried = [measure(0.0)]
    if not np.isfinite(tried[0].score):
        raise DataError(f"the {scoring} of rows held back is no number; a weight is chosen on more rows than these")
    enough, best, worst = tried[0].score - give_up, 0.0, np.inf
    for weight in sorted({float(weight) for weight in weights if weight}):
        tried.append(measure(weight))
        if not tried[-1].score >= enough:
            worst = weight
            break
        best = weight
    for _ in range(between if np.isfinite(worst) else 0):
        weight = float(np.sqrt((best or worst / _FAR) * worst))
        tried.append(measure(weight))
        best, worst = (weight, worst) if tried[-1].score >= enough else (best, weight)
    return WeightChoice(best, tuple(sorted(tried)), scoring)


def _sizes(model: Any, table: Any, most: int) -> list[int]:
    """Return the sizes of proven smallest explanations of some rows."""
    explainer, found = Explainer(model.to_additive()), []
    for k in range(min(most, len(table))):
        row = table.iloc[k] if hasattr(table, "iloc") else table[k]
        try:
            claim = SAME if explainer.model.classes else _side(explainer.score(row), model.center_)
            why = explainer.explain(row, model.explanation_radius, unit="std", claim=claim)
        except RowError:  # a value beyond what the training rows make possible
            continue
        found += [why.size] if why.status is Status.PROVEN else []
    return found


def _side(score: Any, middle: float) -> AtLeast | AtMost:
    return AtLeast(middle) if score >= middle else AtMost(middle)


def known_rows(model: Any, table: Any, rows: Places) -> Places:
    """Return those of some rows that a model has values for: all but those with what it never met in training."""
    try:
        model.predict(_rows(table, rows))
    except DataError:
        halves = np.array_split(rows, 2) if len(rows) > 1 else []
        return np.concatenate([rows[:0], *(known_rows(model, table, half) for half in halves)])
    return rows


def _rows(table: Any, chosen: Any) -> Any:
    return table.iloc[chosen] if hasattr(table, "iloc") else np.asarray(table)[chosen]
