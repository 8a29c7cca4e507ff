"""A model of lines and surfaces, from rows to terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from suffice.gam.curves import squared_curve
from suffice.gam.hats import Floats, Hats, Places, hats_of
from suffice.gam.mains import fit_mains
from suffice.gam.monotone import monotone_line
from suffice.gam.purifying import purified
from suffice.gam.ranking import Two
from suffice.gam.shortening import Shortening
from suffice.gam.solving import Curve, Data, Lines, Pulls, Wishes
from suffice.gam.surfaces import Surfaces, add_surfaces
from suffice.gam.terms import Terms

_LEAST_KNOTS, _MOST_KNOTS, _ALL_KNOTS = 32, 256, 1024  # of a column, about, and of all columns


class Freely(NamedTuple):
    """Rows, and lines and surfaces as these alone would have them, whatever is wished for."""

    data: Data
    curve: Curve
    hats: tuple[Hats, ...]
    found: Surfaces


def fit_freely(
    data: Data, curve: Curve, slots: Sequence[int], wanted: int | Sequence[Two] | None, free: Places
) -> Freely:
    """Return lines and surfaces that the rows ask for.

    Parameters
    ----------
    data : Data
        Rows, with scores that the model is added to.
    curve : Curve
        The loss.
    slots : sequence of int
        How many slots each column has.
    wanted : int, sequence of two places, or None
        How many surfaces, or over which columns; None: as many as the rows ask for.
    free : array of int
        The columns that may be in a pair.
    """
    numeric = max(int((data.slots < 0).any(axis=0).sum()), 1)
    hats = hats_of(data.numbers, data.slots, slots, int(np.clip(_ALL_KNOTS // numeric, _LEAST_KNOTS, _MOST_KNOTS)))
    is_squared = curve is squared_curve
    mains = fit_mains(data, curve, hats, is_squared=is_squared)
    return Freely(data, curve, hats, add_surfaces(data, curve, hats, mains, wanted, free, is_squared=is_squared))


def finish(freely: Freely, wishes: Wishes) -> tuple[Floats, Terms, float]:
    """Return the intercept (outputs,), lines and surfaces as they are wished for, and how far they move in a region.

    The latter is the mean over the rows. Wishes are monotone columns, and what short explanations are worth.
    """
    data, curve, hats, found = freely
    lines = Lines(hats, np.zeros_like(found.values), range(len(hats)), found.grids)
    pulls = Pulls(lines, data._replace(scores=found.scores), wishes)
    intercept, values = found.intercept, found.values
    if pulls.is_active:
        noise = 2 * found.noise if curve is squared_curve else 1.0
        intercept, values = Shortening(lines, data, curve, found.penalty * noise, pulls).run(intercept, values)
    for k, direction in wishes.monotone.items():
        place = slice(lines.starts[k], lines.starts[k + 1])
        column = data.numbers[:, k], data.slots[:, k]
        values[place] = monotone_line(values[place], hats[k], *column, data.weights, direction)
    nothing = Terms(hats, tuple(np.zeros((one.size, values.shape[1])) for one in hats), (True,) * len(hats))
    intercept, terms = _centered(intercept, purified(lines, values, data, nothing), data)
    moved = pulls.widths(np.concatenate([*terms.values, *terms.surfaces]))  # after surfaces gave lines what is theirs
    order = [k for k in np.argsort(-found.gains, kind="stable").tolist() if terms.surfaces[k].any()]
    grids, surfaces = (tuple(part[k] for k in order) for part in (terms.grids, terms.surfaces))
    return intercept, replace(terms, grids=grids, surfaces=surfaces), float(moved.sum())


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
