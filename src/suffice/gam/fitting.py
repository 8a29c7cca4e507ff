"""A model of lines and surfaces, from rows to terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse

from suffice.gam.curves import squared_curve
from suffice.gam.hats import Floats, Hats, Places, hats_of
from suffice.gam.mains import fit_mains
from suffice.gam.monotone import monotone_line
from suffice.gam.normal import NormalEquations
from suffice.gam.purifying import purified
from suffice.gam.ranking import Two
from suffice.gam.solving import Curve, Data, Lines, Pulls, Wishes
from suffice.gam.surfaces import add_surfaces
from suffice.gam.terms import Terms

_LEAST_KNOTS, _MOST_KNOTS, _ALL_KNOTS = 32, 256, 1024  # of a column, about, and of all columns
_STEPS = 20  # towards short explanations, or monotone lines
_CLOSE = 1e-6  # change of a row's loss below which values stay as they are


def fit_terms(
    data: Data,
    curve: Curve,
    slots: Sequence[int],
    wishes: Wishes,
    wanted: int | Sequence[Two] | None,
    free: Places,
) -> tuple[Floats, Terms, float]:
    """Return the intercept (outputs,), lines and surfaces, and how far these move within a row's region on average.

    Parameters
    ----------
    data : Data
        Rows, with scores that the model is added to.
    curve : Curve
        The loss.
    slots : sequence of int
        How many slots each column has.
    wishes : Wishes
        Monotone columns, and what short explanations are worth.
    wanted : int, sequence of two places, or None
        How many surfaces, or over which columns; None: as many as the rows ask for.
    free : array of int
        The columns that may be in a pair.
    """
    numeric = max(int((data.slots < 0).any(axis=0).sum()), 1)
    hats = hats_of(data.numbers, data.slots, slots, int(np.clip(_ALL_KNOTS // numeric, _LEAST_KNOTS, _MOST_KNOTS)))
    is_squared = curve is squared_curve
    mains = fit_mains(data, curve, hats, is_squared=is_squared)
    found = add_surfaces(data, curve, hats, mains, wanted, free, is_squared=is_squared)
    lines = Lines(hats, np.zeros_like(found.values), range(len(hats)), found.grids)
    pulls = Pulls(lines, data, wishes)
    intercept, values = found.intercept, found.values
    if pulls.is_active:
        noise = 2 * found.noise if is_squared else 1.0
        intercept, values = _pulled(lines, data, curve, found.penalty * noise, pulls, intercept, values)
    for k, direction in wishes.monotone.items():
        place = slice(lines.starts[k], lines.starts[k + 1])
        column = data.numbers[:, k], data.slots[:, k]
        values[place] = monotone_line(values[place], hats[k], *column, data.weights, direction)
    nothing = Terms(hats, tuple(np.zeros((one.size, values.shape[1])) for one in hats), (True,) * len(hats))
    intercept, terms = _centered(intercept, purified(lines, values, data, nothing), data)
    order = np.argsort(-found.gains, kind="stable").tolist()
    grids, surfaces = (tuple(part[k] for k in order) for part in (terms.grids, terms.surfaces))
    return intercept, replace(terms, grids=grids, surfaces=surfaces), float(pulls.widths(values).sum())


def _pulled(
    lines: Lines,
    data: Data,
    curve: Curve,
    penalty: scipy.sparse.csr_matrix,
    pulls: Pulls,
    intercept: Floats,
    values: Floats,
) -> tuple[Floats, Floats]:
    """Return the intercept and values that minimise the loss with what steps cost, from some on."""
    matrix = scipy.sparse.hstack([np.ones((len(data.targets), 1)), lines.design(data)], format="csr")
    equations = NormalEquations(matrix, [0, *(1 + lines.starts)])
    rows, seen = float(data.weights.sum()), np.maximum(data.weights, 1e-9)
    free = scipy.sparse.csr_matrix((1, 1))
    stiff = scipy.sparse.block_diag([free, penalty], format="csr")
    both = np.concatenate([intercept[None], values])

    def objective(at: Floats) -> float:
        loss = float(data.weights @ curve(data.scores + matrix @ at, data.targets)[0])
        wrong = rows * (pulls.cost(at[1:]) + pulls.wrong(at[1:]))
        return loss + 0.5 * float(np.sum(at * (stiff @ at))) + wrong

    now = objective(both)
    for _ in range(_STEPS):
        _, slope, bend = curve(data.scores + matrix @ both, data.targets)
        move = np.zeros_like(both)
        for output in range(both.shape[1]):
            pull, more = pulls.quadratic(both[1:], output)
            pull = scipy.sparse.block_diag([free, rows * pull], format="csr")
            right = -(equations.back @ (data.weights * slope[:, output])) - stiff @ both[:, output]
            right[1:] -= rows * more
            curvature = equations.curvature(seen * np.maximum(bend[:, output], 1e-6))
            move[:, output] = curvature.penalised(1.0, stiff, pull).solve(right)
        share = 1.0
        while share > 0.01 and not objective(both + share * move) < now:
            share /= 2
        if share <= 0.01:
            break
        both, before = both + share * move, now
        now = objective(both)
        if before - now < _CLOSE * rows:
            break
    return both[0], both[1:]


def _centered(intercept: Floats, terms: Terms, data: Data) -> tuple[Floats, Terms]:
    """Return lines with a mean of 0 over the rows; rounded to float32, so that a model's exact numbers stay short."""
    kept, total = [], intercept.copy()
    for k, (one, line) in enumerate(zip(terms.hats, terms.values, strict=True)):
        mean = _means(one, line, data, k)
        kept.append((line - mean).astype(np.float32).astype(np.float64))
        total += mean
    rounded = total.astype(np.float32).astype(np.float64)
    return rounded, Terms(terms.hats, tuple(kept), terms.is_whole, terms.grids, terms.surfaces)


def _means(hats: Hats, line: Floats, data: Data, column: int) -> Floats:
    alone = Terms((hats,), (line,), (True,))
    scores = alone.scores(data.numbers[:, column : column + 1], data.slots[:, column : column + 1])
    return np.asarray(data.weights @ scores / data.weights.sum())
