"""Whether a table is fit to learn from, and whether a model is any good: what `suffice fit` and `evaluate` say.

In: columns, a target, and a model's predictions. Out: scores beside those of simple rivals, and doubts in sentences.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.model.domain import is_missing

FEW_ROWS = 30  # of a class
GROUPS = 10  # of rows with like probabilities
LEAK = 0.99  # of the ranking that one column alone gets right


class Score(NamedTuple):
    """How well something predicts, and how well the simplest guess does."""

    name: str
    model: float
    guess: float


def classification_scores(
    target: Sequence[Any], predictions: Sequence[Any], chances: NDArray[np.float64] | None, classes: Sequence[Any]
) -> list[Score]:
    """Return accuracy beside that of the most frequent class and, of two classes with probabilities, the AUC."""
    most = Counter(target).most_common(1)[0][1] / len(target)
    right = sum(a == b for a, b in zip(target, predictions, strict=True)) / len(target)
    scores = [Score("accuracy", right, most)]
    if chances is not None and len(classes) == 2 and len(set(target)) == 2:
        is_second = np.array([one == classes[1] for one in target])
        scores.insert(0, Score("AUC", auc(chances, is_second), 0.5))
    return scores


def probability_scores(chances: NDArray[np.float64], is_second: NDArray[np.bool_]) -> list[Score]:
    """Return log loss, Brier score and calibration error of probabilities, beside those of the share of all rows.

    The calibration error is the mean distance over groups of rows, as in `reliability`.
    """
    constant = np.full(len(chances), is_second.mean())
    return [
        Score("log loss", _log_loss(chances, is_second), _log_loss(constant, is_second)),
        Score("Brier score", _brier(chances, is_second), _brier(constant, is_second)),
        Score("calibration error", _calibration_error(chances, is_second), 0.0),  # what is said of all happens to all
    ]


class Group(NamedTuple):
    """Rows with like probabilities: how many, what was predicted on average, and how often it happened."""

    rows: int
    predicted: float
    happened: float


def reliability(chances: NDArray[np.float64], is_second: NDArray[np.bool_]) -> list[Group]:
    """Return up to ten groups of rows, by the probability predicted; rows with the same one stay together."""
    _, places, counts = np.unique(chances, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2)[places]
    groups = np.floor(GROUPS * middle / len(chances)).astype(int)
    return [
        Group(int((groups == k).sum()), float(chances[groups == k].mean()), float(is_second[groups == k].mean()))
        for k in np.unique(groups)
    ]


def _log_loss(chances: NDArray[np.float64], is_second: NDArray[np.bool_]) -> float:
    least = float(np.finfo(np.float64).eps)  # so that what was said to be impossible has a finite cost
    return float(-np.log(np.clip(np.where(is_second, chances, 1 - chances), least, 1)).mean())


def _brier(chances: NDArray[np.float64], is_second: NDArray[np.bool_]) -> float:
    return float(((chances - is_second) ** 2).mean())


def _calibration_error(chances: NDArray[np.float64], is_second: NDArray[np.bool_]) -> float:
    groups = reliability(chances, is_second)
    return sum(one.rows * abs(one.predicted - one.happened) for one in groups) / len(chances)


def regression_scores(target: Sequence[float], predictions: Sequence[float]) -> list[Score]:
    """Return the share of the variance that is explained, and the mean absolute error beside that of the median."""
    true, said = np.asarray(target, dtype=float), np.asarray(predictions, dtype=float)
    spread = float(((true - true.mean()) ** 2).sum())
    explained = 1 - float(((true - said) ** 2).sum()) / spread if spread else math.nan
    error, guess = float(np.abs(true - said).mean()), float(np.abs(true - np.median(true)).mean())
    return [Score("R²", explained, 0.0), Score("mean absolute error", error, guess)]


def auc(scores: NDArray[np.float64], is_second: NDArray[np.bool_]) -> float:
    """Return how often a row of the second class has a higher score than one of the first; ties count half."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    second, first = int(is_second.sum()), int((~is_second).sum())
    return float((ranks[is_second].sum() - second * (second + 1) / 2) / (second * first))


def doubts(columns: Mapping[str, Sequence[Any]], target: Sequence[Any], *, is_classification: bool) -> list[str]:
    """Return what is odd about a table to learn from: a sentence each."""
    found = []
    for name, cells in columns.items():
        known = [cell for cell in cells if not is_missing(cell)]
        different = set(known)
        if len(different) < 2:
            found.append(f"{name!r} is the same in every row; drop it.")
        elif isinstance(known[0], str) and len(different) > 20 and len(different) > 0.5 * len(known):
            found.append(
                f"{name!r} has {len(different):,} different texts in {len(known):,} rows, like an identifier; drop it."
            )
        elif _counts_rows(known):
            found.append(f"{name!r} counts the rows, like an identifier; drop it.")
    if is_classification:
        counts = Counter(target)
        found += [
            f"the class {label!r} has {count} rows only; what is learned of it is hardly more than those."
            for label, count in sorted(counts.items(), key=lambda one: (one[1], str(one[0])))
            if count < FEW_ROWS
        ]
        found += _leaks(columns, target, counts)
    return found


def _counts_rows(known: Sequence[Any]) -> bool:
    """Whether a column of numbers goes up by one from row to row."""
    if len(known) < 10 or isinstance(known[0], (str, bool)):
        return False
    numbers = np.asarray(known, dtype=float)
    return bool((np.diff(numbers) == 1).all())


def _leaks(columns: Mapping[str, Sequence[Any]], target: Sequence[Any], counts: Counter[Any]) -> list[str]:
    """Return the columns that alone tell two classes apart."""
    if len(counts) != 2:
        return []
    is_second = np.array([one == max(counts, key=str) for one in target])
    found = []
    for name, cells in columns.items():
        known = np.array([not is_missing(cell) for cell in cells])
        if known.sum() < 20 or len(set(is_second[known].tolist())) < 2:
            continue
        values = [cell for cell, is_known in zip(cells, known, strict=True) if is_known]
        alone = auc(_ranked(values, is_second[known]), is_second[known])
        if max(alone, 1 - alone) >= LEAK:
            found.append(
                f"{name!r} alone tells the classes apart (AUC {max(alone, 1 - alone):.3f}); is it known beforehand?"
            )
    return found


def _ranked(values: Sequence[Any], is_second: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return numbers as they are, and for a name the share of its rows that are of the second class."""
    if not isinstance(values[0], (str, bool)):
        return np.asarray(values, dtype=float)
    rows: dict[Any, list[bool]] = {}
    for value, one in zip(values, is_second.tolist(), strict=True):
        rows.setdefault(value, []).append(one)
    # A name of a single row says nothing of others: each row counts by those that share its name.
    return np.array(
        [
            (sum(rows[value]) - one) / (len(rows[value]) - 1) if len(rows[value]) > 1 else 0.5
            for value, one in zip(values, is_second.tolist(), strict=True)
        ]
    )
