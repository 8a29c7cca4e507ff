"""Terms over two columns, once the shapes of single columns are there: which, how many, and fitted together.

Every two columns are ranked by what a table of their cells would take from the loss beyond what each column alone can.
The strongest get a surface, bilinear between the knots of both columns, all of them fitted together with lines for the
columns they are of. How many, and how smooth, is chosen on rows that they were not fitted to. Last, what a surface says
of one column alone is moved into that column's line: a pair term is left with what only the two say together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy.sparse
from sklearn.model_selection import KFold

from suffice.nam.corrections import Corrections
from suffice.nam.hats import Floats, Grid, Hats, Places, place_knots
from suffice.nam.solving import Curve, Data, Fit, Lines, Tried, best_penalty

_KNOTS = 16  # of a column in a surface, about
_PENALTIES = (3000.0, 300.0, 30.0, 3.0)
_FEWEST = 300  # validation rows; with fewer all rows judge in turn
_FOLDS = 5
_DOUBT = 30.0  # rows of noise that a cell is thought to hold when pairs are ranked
_MOST_COLUMNS = 120  # that are ranked in pairs: those whose shapes vary most
_TOLERANCE = 1e-2

Two = tuple[int, int]


def add_pairs(
    data: Data, held: Places, curve: Curve, corrections: Corrections, wanted: int | Sequence[Two] | None, free: Places
) -> Corrections:
    """Return corrections with surfaces over two columns.

    Parameters
    ----------
    data : Data
        All rows, with the scores of the model so far, corrections included.
    held : array of int
        The validation rows.
    curve : Curve
        The loss.
    corrections : Corrections
        Lines so far; what surfaces say of single columns is added to them.
    wanted : int, sequence of two places, or None
        How many surfaces, or over which columns; None chooses how many, none included.
    free : array of int
        The columns that may be in a pair.
    """
    axes = {int(k): _coarse(corrections.hats[k], data.numbers[:, k], data.slots[:, k]) for k in free}
    free = np.array([k for k in free if axes[int(k)].size > 1], dtype=np.int64)
    folds = list(_folds(len(data.targets), held))
    everything = np.arange(len(data.targets))
    if isinstance(wanted, Sequence):
        pairs, best = list(wanted), None
    else:
        most = len(free) if wanted is None else wanted
        fitted = folds[0][0] if len(folds) == 1 else everything
        pairs = _strongest(data.take(fitted), curve, axes, free, most)
        best = _fewest(data, folds, curve, axes, pairs) if pairs and wanted is None else None
        pairs = pairs if best is None else pairs[: best.number]
    if not pairs:
        return corrections
    grown = _growth(axes, pairs)
    best = best or _chosen(data, folds, curve, grown)
    values = Fit(grown, data, curve, tolerance=_TOLERANCE).solve(best.penalty, best.strength, _zeros(grown, data))
    return _purified(grown, values, data, corrections)


def _coarse(fine: Hats, numbers: Floats, slots: Places) -> Hats:
    """Return fewer knots of a column, of those that its line has."""
    ordinary = numbers[slots < 0]
    if not len(fine.knots) or not len(ordinary):
        return Hats(fine.knots[:1], fine.first, fine.slots)
    nearest = np.abs(place_knots(ordinary, _KNOTS)[:, None] - fine.knots).argmin(axis=1)
    return Hats(fine.knots[np.unique(nearest)], fine.first, fine.slots)


def _folds(rows: int, held: Places) -> Iterator[tuple[Places, Places]]:
    """Return rows to fit to and rows that judge: the validation rows, or where they are few all rows in turn."""
    everything = np.arange(rows)
    if len(held) >= _FEWEST or rows < 2 * _FOLDS:
        yield np.setdiff1d(everything, held), held if len(held) else everything
        return
    yield from KFold(_FOLDS, shuffle=True, random_state=0).split(everything)


# --- which ------------------------------------------------------------------------------------------------------------


def rank_pairs(
    data: Data, curve: Curve, axes: dict[int, Hats], columns: Sequence[int], but: Sequence[Two] = ()
) -> list[Two]:
    """Return pairs of columns, those first whose cells would take most from the loss beyond what either column can."""
    _, slope, bend = curve(data.scores, data.targets)
    places = {k: axes[k].locate(data.numbers[:, k], data.slots[:, k])[0] for k in columns}
    found: list[tuple[float, Two]] = []
    total = np.zeros((len(columns),) * 2)
    offsets = np.concatenate([[0], np.cumsum([axes[k].size for k in columns])])
    flat = np.stack([places[k] + start for k, start in zip(columns, offsets, strict=False)], axis=1)
    one_hot = scipy.sparse.csr_matrix(
        (np.ones(flat.size), flat.ravel(), np.arange(0, flat.size + 1, len(columns))), shape=(len(flat), offsets[-1])
    )
    for output in range(slope.shape[1]):
        pull, weight = -data.weights * slope[:, output], data.weights * np.maximum(bend[:, output], 1e-4)
        noise, doubt = float(pull @ pull / weight.sum()), _DOUBT * float(weight.mean())
        for a in range(len(columns) - 1):
            mine = one_hot[:, offsets[a] : offsets[a + 1]].T.tocsr()
            sums, masses = ((mine @ scipy.sparse.diags(each) @ one_hot).toarray() for each in (pull, weight))
            for b in range(a + 1, len(columns)):
                cells = slice(offsets[b], offsets[b + 1])
                total[a, b] += _gain(sums[:, cells], masses[:, cells], noise, doubt)
    for a, b in combinations(range(len(columns)), 2):
        pair = min(columns[a], columns[b]), max(columns[a], columns[b])
        if pair not in but:
            found.append((-total[a, b], pair))
    return [pair for gain, pair in sorted(found) if gain < 0]


def _gain(sums: Floats, masses: Floats, noise: float, doubt: float) -> float:
    """Return what a table would take from the loss, without what a sum of its rows and columns would."""
    rows, columns = np.zeros(sums.shape[0]), np.zeros(sums.shape[1])
    by_row, by_column = masses.sum(axis=1) + 1e-9, masses.sum(axis=0) + 1e-9
    for _ in range(4):
        rows = (sums.sum(axis=1) - masses @ columns) / by_row
        columns = (sums.sum(axis=0) - rows @ masses) / by_column
    left = sums - masses * (rows[:, None] + columns)
    return float(np.sum((left**2 - noise * masses) / (masses + doubt)))


def _strongest(data: Data, curve: Curve, axes: dict[int, Hats], free: Places, most: int) -> list[Two]:
    """Return the pairs with most to say: half of them at first, the rest by what these leave over."""
    columns = [int(k) for k in free[:_MOST_COLUMNS]]
    chosen = rank_pairs(data, curve, axes, columns)[: -(-most // 2)] if len(columns) > 1 else []
    if not chosen or len(chosen) == most:
        return chosen
    grown = _growth(axes, chosen)
    values = Fit(grown, data, curve, tolerance=_TOLERANCE).solve(300.0, np.ones(_blocks(grown)), _zeros(grown, data))
    left = data._replace(scores=data.scores + grown.design(data) @ values)
    return chosen + rank_pairs(left, curve, axes, columns, but=chosen)[: most - len(chosen)]


# --- how many, and how smooth -----------------------------------------------------------------------------------------


class _Choice(NamedTuple):
    number: int  # of pairs
    penalty: float
    strength: Floats


def _growth(axes: dict[int, Hats], pairs: Sequence[Two], surfaces: int | None = None) -> Lines:
    """Return a line for each column that is in a pair, and a surface for each pair, or for the first so many."""
    columns = sorted({k for pair in pairs for k in pair})
    lines = [axes[k] for k in columns]
    grids = [Grid(pair, (axes[pair[0]], axes[pair[1]])) for pair in pairs[:surfaces]]
    return Lines(lines, np.zeros((0, 0)), columns, grids)


def _blocks(lines: Lines) -> int:
    return len(lines.hats) + len(lines.grids)


def _zeros(lines: Lines, data: Data) -> Floats:
    return np.zeros((lines.size, data.scores.shape[1]))


def _judged(data: Data, folds: Sequence[tuple[Places, Places]], curve: Curve, lines: Lines) -> list[tuple[Fit, Fit]]:
    return [
        (
            Fit(lines, data.take(fitted), curve, tolerance=_TOLERANCE),
            Fit(lines, data.take(judging), curve, tolerance=_TOLERANCE),
        )
        for fitted, judging in folds
    ]


def _chosen(data: Data, folds: Sequence[tuple[Places, Places]], curve: Curve, lines: Lines) -> _Choice:
    """Return how smooth lines and surfaces are to be."""
    fit, judge = _judged(data, folds[:1], curve, lines)[0]
    best = best_penalty(fit, judge, np.ones(_blocks(lines)), _zeros(lines, data), _PENALTIES)
    best = _reweighted(fit, judge, best)
    return _Choice(len(lines.grids), best.penalty, best.strength)


def _reweighted(fit: Fit, judge: Fit, best: Tried) -> Tried:
    """Return the same with weaker penalties for what varies most, where the rows that judge are better off."""
    sizes = fit.deviations(best.values)
    strength = np.clip(np.mean(sizes) / np.maximum(sizes, 1e-9), 0.2, 20.0)
    again = best_penalty(fit, judge, strength, best.values, (best.penalty,))
    return again if again.loss < best.loss else best


def _fewest(
    data: Data, folds: Sequence[tuple[Places, Places]], curve: Curve, axes: dict[int, Hats], pairs: Sequence[Two]
) -> _Choice:
    """Return how many of some pairs, strongest first: the fewest that do as well as the best number of them.

    As well: no worse than by the standard error of the difference, on rows that judge. None where the best number is
    not better by two standard errors than lines for the same columns without any surface.
    """
    counts = sorted({min(2**k, len(pairs)) for k in range(len(pairs).bit_length() + 1)})
    weights = np.concatenate([data.weights[judging] for _, judging in folds])
    weights = weights / weights.sum()
    tried: list[tuple[_Choice, Floats]] = []
    for count in (0, *counts):
        lines = _growth(axes, pairs[: count or None], count)
        choice = _chosen(data, folds, curve, lines)
        judged = _judged(data, folds, curve, lines)
        found = [fit.solve(choice.penalty, choice.strength, _zeros(lines, data)) for fit, _ in judged]
        losses = [judge.each(values) for (_, judge), values in zip(judged, found, strict=True)]
        tried.append((choice, np.concatenate(losses)))
    _, least = min(tried, key=lambda one: float(weights @ one[1]))
    none, without = tried[0]
    if not _exceeds(without - least, weights, 2.0):
        return none
    return next(choice for choice, losses in tried[1:] if not _exceeds(losses - least, weights, 1.0))


def _exceeds(differences: Floats, weights: Floats, errors: float) -> bool:
    """Whether the mean of differences is above 0 by so many of its standard errors."""
    mean = float(weights @ differences)
    return mean > errors * float(np.sqrt(np.sum(weights**2 * (differences - mean) ** 2)))


# --- what only the two say --------------------------------------------------------------------------------------------


def _purified(lines: Lines, values: Floats, data: Data, corrections: Corrections) -> Corrections:
    """Return corrections with surfaces, and with lines that have what surfaces and their lines say of one column."""
    columns = list(lines.columns or ())
    parts = [values[start:end] for start, end in zip(lines.starts[:-1], lines.starts[1:], strict=True)]
    added = {k: part.copy() for k, part in zip(columns, parts, strict=False)}
    masses = lines.design(data).T @ data.weights
    surfaces = []
    for grid, part, start in zip(lines.grids, parts[len(columns) :], lines.starts[len(columns) :], strict=False):
        shape = (grid.axes[0].size, grid.axes[1].size)
        mass = masses[start : start + grid.size].reshape(shape)
        surface = np.empty_like(part)
        for output in range(part.shape[1]):
            left, rows, across = purify(part[:, output].reshape(shape), mass)
            surface[:, output] = left.ravel()
            added[grid.columns[0]][:, output] += rows
            added[grid.columns[1]][:, output] += across
        surfaces.append(surface.astype(np.float32).astype(np.float64))
    kept = list(corrections.values)
    for k, axis in zip(columns, lines.hats, strict=True):
        fine = corrections.hats[k]
        more = np.concatenate([_between(axis, added[k], fine.knots), added[k][len(axis.knots) :]])
        kept[k] = (kept[k] + more).astype(np.float32).astype(np.float64)
    return Corrections(corrections.hats, tuple(kept), corrections.is_whole, lines.grids, tuple(surfaces))


def _between(axis: Hats, values: Floats, knots: Floats) -> Floats:
    """Return a line at other knots."""
    if not len(knots):
        return np.zeros((0, values.shape[1]))
    return np.stack([np.interp(knots, axis.knots, column[: len(axis.knots)]) for column in values.T], axis=1)


def purify(table: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a table whose rows and columns have weighted means of about 0, and what was taken from each of them."""
    left, rows, columns = table.copy(), np.zeros(table.shape[0]), np.zeros(table.shape[1])
    weights = mass + 1e-3 * mass.mean() + 1e-12
    for _ in range(50):
        mean = (left * weights).sum(axis=1) / weights.sum(axis=1)
        left, rows = left - mean[:, None], rows + mean
        other = (left * weights).sum(axis=0) / weights.sum(axis=0)
        left, columns = left - other, columns + other
        if np.abs(other).max() < 1e-9 * max(float(np.abs(table).max()), 1e-300):
            break
    return left, rows, columns
