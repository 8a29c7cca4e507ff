"""Whether a model taken over decides as its original does, asked as a user would ask: with tables, and `predict`.

Nothing here reads the adapters, but for the difference of scores that they found themselves: rows and changes are
drawn from the features' domains in plain Python, and the original's own `predict` and `predict_proba` answer for them.
"""

from __future__ import annotations

import math
import random
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from peers import UNSEEN, knots_of, pool, reachable

from suffice import MISSING, Explainer, Within
from suffice.adapters import Options, convert
from suffice.errors import RadiusError

ROWS, CHANGES, EXPLAINED = 300, 400, 4
RADIUS = 2.0
NEVER_SEEN = {True: "never seen", False: 77777.0}  # by whether a column holds text


@dataclass(frozen=True)
class Attacked:
    """What was tried, and found to hold."""

    model: Any
    seconds: float
    rows: int
    labels: int
    error: float
    explanations: int
    counterexamples: int


class Original:
    """A fitted model of another package with a table that it was fitted on."""

    def __init__(self, fitted, table, *, predict=None, chances=None, means=None):
        self.fitted, self.table = fitted, table
        self._predict = predict or fitted.predict
        # `means` takes a score to what a regression predicts; `chances` tells the probability of the second class.
        self.means, self.chances = means, chances

    def rows(self, model, rows):
        """Rows of cells as a table like the one that the original was fitted on."""
        columns = {}
        for name in self.table.columns:
            given = self.table[name]
            is_text = not pandas.api.types.is_numeric_dtype(given.dtype)
            if name not in model.names:
                columns[name] = pandas.Series([given.iloc[0]] * len(rows), dtype=given.dtype)
                continue
            k = model.names.index(name)
            cells = [_cell(row[k], is_text) for row in rows]
            if isinstance(given.dtype, pandas.CategoricalDtype):
                known = {float(c) if isinstance(c, (int, float)) else c: c for c in given.cat.categories}
                columns[name] = pandas.Categorical([known.get(c) for c in cells], categories=given.cat.categories)
            elif is_text:
                columns[name] = pandas.Series(cells, dtype=object)
            else:
                columns[name] = pandas.Series(cells, dtype=np.float64)
        return pandas.DataFrame(columns)

    def predict(self, model, rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.ravel(self._predict(self.rows(model, rows))).tolist()


def _cell(cell, is_text):
    if cell is MISSING:
        return np.nan
    return NEVER_SEEN[is_text] if isinstance(cell, str) and cell == UNSEEN else cell


def attack(original, *, reference=True, seed=0, precision=1e-6, explained=EXPLAINED, changes=CHANGES, **options):
    """Take a model over and try to find a row where it decides otherwise than its original."""
    start = time.process_time()
    table = original.table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = convert(original.fitted, table if reference else None, Options(**options))
    model = found.model
    seconds = time.process_time() - start
    explainer, draw = Explainer(model), random.Random(seed)
    pools = [pool(domain, knots) for domain, knots in zip(model.domains, knots_of(explainer), strict=True)]
    rows = [[draw.choice(one) for one in pools] for _ in range(ROWS)]
    rows += [_user_row(model, table, k) for k in draw.sample(range(len(table)), min(60, len(table)))]
    scores = np.array([np.ravel(_floats(explainer.score(row))) for row in rows])
    theirs = original.predict(model, rows)
    error, labels = _compare(model, original, explainer, rows, scores, theirs, precision)
    drawn = rows, scores, theirs, pools, draw
    explanations, counterexamples = _explanations(model, original, explainer, *drawn, explained, changes)
    difference = max(error, found.check.error)
    return Attacked(model, seconds, len(rows), labels, difference, explanations, counterexamples)


def _floats(score):
    return [float(one) for one in score] if isinstance(score, tuple) else [float(score)]


def _user_row(model, table, k):
    cells = []
    for name, domain in zip(model.names, model.domains, strict=True):
        cell = table[name].iloc[k] if name in table.columns else table.iloc[k, model.names.index(name)]
        is_gone = cell is None or (isinstance(cell, float) and math.isnan(cell))
        value = MISSING if is_gone else str(cell) if isinstance(cell, str) else float(cell)
        cells.append(UNSEEN if value not in domain and UNSEEN in domain else value)
    return cells


def _near_tie(model, scores, precision):
    size = np.maximum(np.abs(scores).max(axis=1), 1.0)
    if model.task == "multiclass":
        best = np.sort(scores, axis=1)
        return best[:, -1] - best[:, -2] <= precision * size
    return np.abs(scores[:, 0]) <= precision * size


def _compare(model, original, explainer, rows, scores, theirs, precision):
    if model.task == "regression":
        mine = scores[:, 0] if original.means is None else original.means(scores[:, 0])
        error = float(np.max(np.abs(mine - np.array(theirs, dtype=float)) / np.maximum(np.abs(mine), 1.0)))
        assert error <= precision
        return error, 0
    unclear = _near_tie(model, scores, precision)
    mine = [explainer.predict(row) for row in rows]
    wrong = [k for k in range(len(rows)) if not unclear[k] and mine[k] != theirs[k]]
    assert not wrong, (rows[wrong[0]], mine[wrong[0]], theirs[wrong[0]], scores[wrong[0]])
    error = 0.0
    if original.chances is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = np.asarray(original.chances(original.rows(model, rows)), dtype=float)
        expected = 1 / (1 + np.exp(-np.clip(scores[:, 0], -700, 700)))
        error = float(np.abs(expected - given).max())
        assert error <= precision
    return error, int((~unclear).sum())


def _explanations(model, original, explainer, rows, scores, theirs, pools, draw, most, changes):
    explained = broken = 0
    unclear = _near_tie(model, scores, 1e-4) if model.task != "regression" else np.zeros(len(rows), dtype=bool)
    for k, row in enumerate(rows):
        if unclear[k]:
            continue
        why, radius, spread = _why(model, explainer, row, scores[k])
        if why is None:
            continue
        columns = [
            draw.choices([value] if name in why.features else reachable(value, domain, radius, values, draw), k=changes)
            for name, value, domain, values in zip(model.names, row, model.domains, pools, strict=True)
        ]
        moved = list(zip(*columns, strict=True))
        given = original.predict(model, moved)
        if model.task == "regression":
            mine = np.array([float(explainer.score(one)) for one in moved[:CHANGES]])
            low, high = (np.array(scores[k, 0] + side * spread * (1 + 1e-6)) for side in (-1, 1))
            low, high = (end if original.means is None else original.means(end) for end in (low, high))
            assert ((np.array(given) >= low - 1e-9) & (np.array(given) <= high + 1e-9)).all()
            assert np.isfinite(mine).all()
            broken += _left_range(model, original, why, scores[k, 0], spread)
        else:
            assert set(given) == {theirs[k]}, "an explanation does not hold"
            broken += _counterexamples(model, original, explainer, why, theirs[k])
        explained += 1
        if explained == most:
            break
    return explained, broken


def _left_range(model, original, why, score, spread):
    """How many inputs that break an explanation of a regression were seen to take the original out of its range."""
    low, high = (np.array(score + side * spread * (1 - 1e-6)) for side in (-1, 1))
    low, high = (end if original.means is None else original.means(end) for end in (low, high))
    points = [why.counterexample(name) for name in why.features]
    given = original.predict(model, [[_plain(point[name]) for name in model.names] for point in points])
    assert all(one <= low or one >= high for one in given), "a counterexample changes too little"
    return len(given)


def _why(model, explainer, row, score):
    """An explanation with fixed and free features, and what it was asked with: nearer if functions have no bounds."""
    spreads = [abs(score[0]) / 2, 1.0, 0.1, 0.01] if model.task == "regression" else [None]
    for radius in (math.inf, RADIUS):
        for spread in spreads:
            claim = {} if spread is None else {"claim": Within(spread)}
            try:
                why = explainer.explain(row, radius, unit="raw", **claim)
            except RadiusError:  # what two features add together may go on for ever
                continue
            if 0 < why.size < len(row):
                return why, radius, spread
    return None, None, None


def _counterexamples(model, original, explainer, why, label):
    """How many inputs that break an explanation without one of its features were seen to change the original."""
    seen = 0
    for name in why.features:
        point = why.counterexample(name)
        cells = [_inside(domain, point[name]) for name, domain in zip(model.names, model.domains, strict=True)]
        scores = np.array([_floats(explainer.score(cells))])
        if _near_tie(model, scores, 1e-6)[0]:
            continue
        mine = explainer.predict(cells)
        if mine == label:
            continue  # it lies between two floats
        (given,) = original.predict(model, [cells])
        assert given == mine, "a counterexample changes nothing"
        seen += 1
    return seen


def _inside(domain, value):
    """The float of a cell; where that is beyond an end of the domain, which is no float, the next one inside."""
    cell = _plain(value)
    if cell in domain or not isinstance(cell, float):
        return cell
    return next(near for near in (math.nextafter(cell, end) for end in (-math.inf, math.inf)) if near in domain)


def _plain(value):
    return value if isinstance(value, str) or value is MISSING else float(value)
