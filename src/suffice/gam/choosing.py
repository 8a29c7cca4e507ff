"""Which columns a model of few columns is made of: those that together leave the smallest loss on rows held back.

Columns are judged by broken lines, also where networks are trained then, for lines are fitted in no time. From none on,
the column is added that helps most beside those already there; then each is exchanged for another as long as that
helps. How much a column would help is first estimated from what the others leave over, and settled among the few most
promising by fitting all lines anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from suffice.gam.hats import Floats, Hats, Places, place_knots
from suffice.gam.solving import Curve, Data, Fit, Lines

_KNOTS = 32  # of a column, about
_PENALTY = 30.0
_DOUBT = 30.0  # rows of noise that a bin is thought to hold
_PROMISING = 4  # columns that are fitted at every step
_ROUNDS = 3  # of exchanges, at most
_MOST_ROWS = 20_000  # that are looked at
_FEW_ROWS = 3000  # all of which judge in turn; of more, a fifth does
_FOLDS = 5
_TOLERANCE = 1e-3


class _Set(NamedTuple):
    """Columns, their lines on each fold, and the mean loss of the rows that judge."""

    columns: tuple[int, ...]
    lines: tuple[Floats, ...]
    loss: float


def choose_columns(
    data: Data, curve: Curve, slots: Sequence[int], number: int, named: Sequence[int] = ()
) -> tuple[int, ...]:
    """Return the places of so many columns, in the order of the table.

    Parameters
    ----------
    data : Data
        Rows with the scores of a model without any column.
    curve : Curve
        The loss.
    slots : sequence of int
        How many slots each column has.
    number : int
        How many columns are chosen; fewer where no others vary.
    named : sequence of int
        Columns that are among them in any case.
    """
    if len(data.targets) > _MOST_ROWS:
        data = data.take(np.sort(np.random.default_rng(0).choice(len(data.targets), _MOST_ROWS, replace=False)))
    search = _Search(data, curve, slots)
    best = search.fitted(tuple(named))
    while len(best.columns) < number:
        grown = search.grown(best)
        if grown is None:
            break
        best = grown
    for _ in range(_ROUNDS):
        before = best
        for column in [k for k in best.columns if k not in named]:
            rest = search.fitted(tuple(k for k in best.columns if k != column))
            other = search.grown(rest, but=column)
            if other is not None and other.loss < best.loss:
                best = other
        if best is before:
            break
    return tuple(sorted(best.columns)) or (0,)  # a model has a column, be it one that says nothing


class _Search:
    """Rows to fit to and rows that judge, and a line for each column."""

    def __init__(self, data: Data, curve: Curve, slots: Sequence[int]) -> None:
        self.data, self.curve = data, curve
        first = np.concatenate([[0], np.cumsum(slots)])
        self.hats = [
            Hats(place_knots(numbers[places < 0], _KNOTS), int(first[k]), int(slots[k]))
            for k, (numbers, places) in enumerate(zip(data.numbers.T, data.slots.T, strict=True))
        ]
        self.bins = [
            one.locate(data.numbers[:, k], data.slots[:, k])[0] if one.size > 1 else None
            for k, one in enumerate(self.hats)
        ]
        rows = len(data.targets)
        folds = [(np.zeros(1, np.int64),) * 2]  # of one row
        if rows > 1:
            folds = list(KFold(min(_FOLDS, rows), shuffle=True, random_state=0).split(np.arange(rows)))
        self.folds = folds if rows <= _FEW_ROWS else folds[:1]

    def fitted(self, columns: tuple[int, ...], start: _Set | None = None) -> _Set:
        """Return the lines of some columns, fitted together; the last one anew to lines there are."""
        hats = [self.hats[k] for k in columns]
        lines, total, weight = [], 0.0, 0.0
        model = Lines(hats, np.zeros((0, 0)), columns) if hats else None
        for number, (fit, judge) in enumerate(self.folds):
            judging = self.data.take(judge)
            scores, values = judging.scores, np.zeros((0, self.data.scores.shape[1]))
            if model is not None:
                values = np.zeros((model.size, self.data.scores.shape[1]))
                if start is not None:
                    values[: len(start.lines[number])] = start.lines[number]
                fitting = Fit(model, self.data.take(fit), self.curve, tolerance=_TOLERANCE)
                values = fitting.solve(_PENALTY, np.ones(len(hats)), values)
                scores = scores + model.design(judging) @ values
            lines.append(values)
            total += float(self.curve(scores, judging.targets)[0] @ judging.weights)
            weight += float(judging.weights.sum())
        return _Set(columns, tuple(lines), total / max(weight, 1e-12))

    def grown(self, now: _Set, but: int | None = None) -> _Set | None:
        """Return the best set with one column more, of those that promise most; None if there is no such column."""
        gains = self._gains(now)
        open_ = [k for k, bins in enumerate(self.bins) if bins is not None and k not in (*now.columns, but)]
        promising = sorted(open_, key=lambda k: (-gains[k], k))[:_PROMISING]
        found = [self.fitted((*now.columns, k), now) for k in promising]
        return min(found, key=lambda one: (one.loss, one.columns), default=None)

    def _gains(self, now: _Set) -> Floats:
        """Return what a table of each column's bins would take from the loss."""
        fit = self.folds[0][0]
        rows = self.data.take(fit)
        scores = rows.scores
        if now.columns:
            model = Lines([self.hats[k] for k in now.columns], np.zeros((0, 0)), now.columns)
            scores = scores + model.design(rows) @ now.lines[0]
        _, slope, bend = self.curve(scores, rows.targets)
        found = np.zeros(len(self.hats))
        for output in range(slope.shape[1]):
            pull, mass = rows.weights * slope[:, output], rows.weights * np.maximum(bend[:, output], 1e-4)
            noise, doubt = float(pull @ pull / mass.sum()), _DOUBT * float(mass.mean())
            pull = pull - mass * (pull.sum() / mass.sum())
            for k, bins in enumerate(self.bins):
                if bins is not None:
                    found[k] += _gain(bins[fit], pull, mass, noise, doubt)
        return found


def _gain(bins: Places, pull: Floats, mass: Floats, noise: float, doubt: float) -> float:
    sums, masses = np.bincount(bins, pull), np.bincount(bins, mass)
    return float(np.sum((sums**2 - noise * masses) / (masses + doubt)))


def constant_scores(curve: Curve, targets: Floats, weights: Floats, outputs: int) -> Floats:
    """Return the scores of the best model without any column (rows, outputs)."""
    scores = np.zeros((len(targets), outputs))
    for _ in range(10):  # Newton steps, the scores of all rows together
        _, slope, bend = curve(scores, targets)
        scores = scores - (weights @ slope) / np.maximum(weights @ bend, 1e-12)
    return scores
