"""Probabilities that agree with what happens: a rising straight line of the scores, from rows they were not fitted to.

Of two classes it is a slope and a shift of the log-odds (Platt), of several one slope (a temperature) and a shift for
each class. A line of a sum is a sum of lines, so the model stays additive, and exactly what it was explained as.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from suffice.gam.hats import Floats, Places
from suffice.gam.solving import Curve, exceeds

_FOLDS = 5
_LEAST = 0.01  # slope; it stays above 0, so that no order of scores is turned around


class Calibration(NamedTuple):
    """What scores are multiplied by, and what is then added to each output."""

    slope: float
    shift: Floats


def calibrate(
    model: Any,
    X: Any,  # noqa: N803
    targets: Places,
    weights: Floats,
    curve: Curve,
) -> Calibration | None:
    """Return the line that suits a classifier's scores; None if rows that it was not found on are no better off.

    Parameters
    ----------
    model : GAMClassifier or NAMClassifier
        Copies of it are fitted, each without a part of the rows, and score that part.
    X : table
        All rows.
    targets : array of int
        The place of each row's class.
    weights : array
        What each row counts when probabilities are compared with what happened; without weights of classes, which say
        what mistakes cost rather than how often something happens.
    curve : Curve
        The loss.
    """
    rows = np.flatnonzero(weights > 0)
    if np.bincount(targets[rows], minlength=len(model.classes_)).min() < _FOLDS:
        return None  # some part would lack a class
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(rows, targets[rows])
    parts = [rows[held] for _, held in folds]
    scores = _honest_scores(model, X, targets, weights, parts)
    true, counts = targets.astype(np.float64), weights / weights[rows].mean()
    gains = np.zeros(len(targets))
    for held in parts:
        others = np.setdiff1d(rows, held)
        slope, shift = _line(scores[others], true[others], counts[others], curve)
        before, after = (curve(one, true[held])[0] for one in (scores[held], slope * scores[held] + shift))
        gains[held] = before - after
    if not exceeds(gains[rows], counts[rows], 2.0):
        return None
    slope, shift = _line(scores[rows], true[rows], counts[rows], curve)
    # Rounded to float32, as all parameters are, so that the exact numbers of a model stay short.
    return Calibration(float(np.float32(slope)), shift.astype(np.float32).astype(np.float64))


def _honest_scores(
    model: Any,
    X: Any,  # noqa: N803
    targets: Places,
    weights: Floats,
    parts: list[Places],
) -> Floats:
    """Return the scores of rows by copies that they had no weight in (rows, outputs)."""
    found = None
    for held in parts:
        # With a weight of 0 a row teaches nothing, but the copy knows its categories, and can score it.
        others = weights.copy()
        others[held] = 0
        copy = clone(model).set_params(calibrated=False).fit(X, model.classes_[targets], others)
        scores: Floats = copy.decision_function(X).reshape(len(targets), -1)
        found = np.zeros_like(scores) if found is None else found
        found[held] = scores[held]
    assert found is not None
    return found


def _line(scores: Floats, targets: Floats, weights: Floats, curve: Curve) -> Calibration:
    """Return the line of the scores with the smallest loss.

    As much as one row can, a penalty holds it near the scores themselves: where they tell all rows apart, steeper would
    always be better.
    """
    size = float(np.mean(scores**2))

    def objective(line: Floats) -> tuple[float, Floats]:
        slope, shift = line[0], line[1:]
        losses, pulls, _ = curve(slope * scores + shift, targets)
        pulls = weights[:, None] * pulls
        value = float(weights @ losses) + 0.5 * (size * (slope - 1) ** 2 + float(shift @ shift))
        return value, np.concatenate([[np.sum(pulls * scores) + size * (slope - 1)], pulls.sum(axis=0) + shift])

    outputs = scores.shape[1]
    bounds = [(_LEAST, None)] + [(None, None)] * outputs
    found = minimize(objective, np.array([1.0] + [0.0] * outputs), jac=True, method="L-BFGS-B", bounds=bounds).x
    return Calibration(float(found[0]), found[1:])
