"""Lines over single columns, fitted together: how rough each may be, the rows say.

A line is a sum: of a slope, of a *trend* over few knots, whose bends are penalised, and of a *walk* over all knots,
whose steps are. What is smooth needs no steps, and what is sharp gets them. Categories, codes and missing cells are
drawn towards 0. Each of these has a precision of its own (`evidence`), but for the slopes: they share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse

from suffice.gam.evidence import Evidence, Penalty
from suffice.gam.hats import Floats, Hats, Places, design, fewer
from suffice.gam.solving import Curve, Data

_TREND = 8  # knots of a trend, about
_RIDGE = 1e-3  # precision of a line's level
_LEVEL = 0.1  # penalty on the values of a trend beside that on its bends
_START = 10.0  # precision
_ROUNDS = 20


class Mains(NamedTuple):
    """The intercept (outputs,), all lines below one another (values, outputs), and the penalty that they had."""

    intercept: Floats
    values: Floats
    penalty: scipy.sparse.csr_matrix
    noise: float


def fit_mains(data: Data, curve: Curve, hats: Sequence[Hats], *, is_squared: bool) -> Mains:
    """Return the intercept and the lines of all columns, added to the scores that rows have."""
    lines = design(hats, data.numbers, data.slots)
    trends = [_trend(one, data.numbers[:, k], data.slots[:, k]) for k, one in enumerate(hats)]
    bends = scipy.sparse.block_diag([one.onto for one in trends], format="csr")
    # Parameters: the intercept, then of each column the values of its walk and slots, and those of its trend.
    order, starts, penalties, at = [np.zeros(1, np.int64)], [0, 1], list[Penalty](), 1
    first, second = 1, 1 + lines.shape[1]
    for one, trend in zip(hats, trends, strict=True):
        count = trend.onto.shape[1]
        order += [first + np.arange(one.size), second + np.arange(count)]
        penalties += _penalties(one, trend, at)
        first, second, at = first + one.size, second + count, at + one.size + count
        starts.append(at)
    matrix = scipy.sparse.hstack([np.ones((len(data.targets), 1)), lines], format="csr")
    values_of = scipy.sparse.hstack([scipy.sparse.identity(lines.shape[1]), bends])
    onto = scipy.sparse.block_diag([np.ones((1, 1)), values_of], format="csc")[:, np.concatenate(order)].tocsr()
    ridge = np.full(onto.shape[1], _RIDGE)
    ridge[0] = 0.0
    fixed = scipy.sparse.diags(ridge, format="csr")
    evidence = Evidence(matrix, starts, onto, fixed, penalties, curve, is_squared=is_squared)
    outputs = data.scores.shape[1]
    values, precisions = evidence.run(
        data.scores,
        data.targets,
        data.weights,
        np.zeros((onto.shape[1], outputs)),
        np.full(len(penalties), _START),
        _ROUNDS,
    )
    return _summed(values, precisions, hats, trends, evidence.noise)


class _Trend(NamedTuple):
    """The knots of a trend, and the matrix that takes its values, and the slope, to those of the line."""

    knots: Floats
    onto: scipy.sparse.csr_matrix


def _trend(line: Hats, numbers: Floats, slots: Places) -> _Trend:
    knots = fewer(line, numbers, slots, _TREND).knots
    if not 3 <= len(knots) < len(line.knots):
        return _Trend(knots[:0], scipy.sparse.csr_matrix((line.size, 0)))
    slope = np.linspace(-1, 1, len(knots))
    onto = np.zeros((line.size, len(knots) + 1))
    parts = [np.interp(line.knots, knots, part) for part in (*np.eye(len(knots)), slope)]
    onto[: len(line.knots)] = np.stack(parts, axis=1)
    return _Trend(knots, scipy.sparse.csr_matrix(onto))


def _penalties(line: Hats, trend: _Trend, start: int) -> list[Penalty]:
    """Return the penalties on steps, on slots and on bends, in units that do not depend on the number of knots."""
    count, end, found = len(line.knots), start + line.size, list[Penalty]()
    if count > 1:
        found.append(Penalty(start, start + count, _differences(count, 1), count - 1, "walk"))
    if line.slots:
        kind = "code" if count else "category"
        found.append(Penalty(start + count, end, scipy.sparse.identity(line.slots, format="csr"), line.slots, kind))
    if bends := len(trend.knots):
        found.append(Penalty(end, end + bends, _differences(bends, 2), bends, "trend"))
        found.append(
            Penalty(end + bends, end + bends + 1, scipy.sparse.identity(1, format="csr"), 1, "slope", is_shared=True)
        )
    return found


def _differences(count: int, order: int) -> scipy.sparse.csr_matrix:
    steps = np.diff(np.eye(count), order, axis=0) * (count - 1) ** (order - 0.5)
    level = (order == 2) * _LEVEL * np.eye(count)  # else a trend could have a slope of its own
    return scipy.sparse.csr_matrix(steps.T @ steps + level)


def _summed(values: Floats, precisions: Floats, hats: Sequence[Hats], trends: Sequence[_Trend], noise: float) -> Mains:
    """Return walks and trends as one line each, and the penalty that makes the same line as theirs together."""
    found, penalties, at, left = [], [], 1, iter(precisions.tolist())
    for one, trend in zip(hats, trends, strict=True):
        count, bends, more = len(one.knots), len(trend.knots), trend.onto.shape[1]
        found.append(values[at : at + one.size] + trend.onto @ values[at + one.size : at + one.size + more])
        own = [next(left) for _ in _penalties(one, trend, 0)]
        if count:
            walk = _differences(count, 1).toarray() * own.pop(0) if count > 1 else np.zeros((1, 1))
            spread = np.linalg.inv(walk + _RIDGE * np.eye(count))
            if bends:
                slope, bend = own.pop(), _differences(bends, 2).toarray() * own.pop()
                both = scipy.linalg.block_diag(bend + _RIDGE * np.eye(bends), slope + _RIDGE)
                onto = trend.onto.toarray()[:count]
                spread += onto @ np.linalg.solve(both, onto.T)
            inverse = np.linalg.inv(spread)
            penalties.append((inverse + inverse.T) / 2)
        penalties += [scipy.sparse.identity(one.slots) * (own.pop() + _RIDGE)] if one.slots else []
        at += one.size + more
    return Mains(values[0], np.concatenate(found), scipy.sparse.block_diag(penalties, format="csr"), noise)
