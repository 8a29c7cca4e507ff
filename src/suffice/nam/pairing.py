"""Terms over two columns, once the shapes of single columns are there: which, how many, and fitted together.

Every two columns are ranked by what a table of their cells would take from the loss beyond what each column alone can.
The strongest get a surface, bilinear between the knots of both columns, all of them fitted together with lines that
move the columns' shapes. How many, how fine and how smooth, is chosen on rows that they were not fitted to. Last, what
a surface says of one column alone is moved into that column's line: a pair term is left with what only the two say
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from suffice.gam.hats import Floats, Grid, Places, fewer
from suffice.gam.purifying import deviations, purified
from suffice.gam.ranking import Two, rank_pairs
from suffice.gam.solving import FEW_JUDGES, Curve, Data, Fit, Lines, Pulls, Tried, Wishes, best_penalty, exceeds
from suffice.gam.terms import Terms

_KNOTS = 16  # of a column in a surface, about
_FINE = 64  # in the strongest surfaces, where that helps
_FINEST = 2  # so many of them
_WORTH = 1e-3  # share of the loss that finer knots must save
_PENALTIES = (3000.0, 300.0, 30.0, 3.0)
_UNTRIED = 300.0
_FOLDS = 5
_MOST_COLUMNS = 120  # that are ranked in pairs: those whose shapes vary most
_TOLERANCE = 1e-2
_ROUNDS = 2  # in which surfaces that say more get weaker penalties
_KEPT = 0.6  # share of the surfaces that is left when the weakest are dropped


def add_pairs(
    data: Data,
    held: Places,
    curve: Curve,
    own: Sequence[Floats],
    corrections: Terms,
    wishes: Wishes,
    wanted: int | Sequence[Two] | None,
    free: Places,
) -> Terms:
    """Return corrections with surfaces over two columns.

    Parameters
    ----------
    data : Data
        All rows, with the scores of the model so far, corrections included.
    held : array of int
        The validation rows.
    curve : Curve
        The loss.
    own : sequence of arrays (size, outputs)
        What the networks themselves say at each knot and slot.
    corrections : Corrections
        Lines so far; what surfaces say of single columns is added to them.
    wishes : Wishes
        The weight for short explanations acts on lines and on surfaces. Monotone columns keep the lines they have.
    wanted : int, sequence of two places, or None
        How many surfaces, or over which columns; None chooses how many, none included.
    free : array of int
        The columns that may be in a pair.
    """
    surfaces = _Surfaces(data, curve, own, corrections, wishes, free)
    folds = [fold for fold in _folds(len(data.targets), held) if all(data.weights[rows].any() for rows in fold)]
    if len(surfaces.free) < 2 or not folds:
        return corrections
    trials = [_Trial(surfaces, data.take(a), data.take(b)) for a, b in folds]
    if isinstance(wanted, Sequence):
        grids = [surfaces.grid(pair) for pair in wanted]
        stages = [trial.refined(trial.fitted(grids)) for trial in trials[:1]]
    elif wanted is not None:
        rows = trials[0].rows if len(trials) == 1 else data
        grids = surfaces.strongest(rows, wanted)
        stages = [trial.refined(trial.fitted(grids)) for trial in trials[:1]] if grids else []
    else:
        paths = [trial.path(len(surfaces.free)) for trial in trials]
        stages = _fewest(paths, trials)
        if len(paths) > 1 and not _is_confirmed(surfaces, stages, [path[-1] for path in paths]):
            return corrections
    if not stages or not stages[0].lines.grids:
        return corrections
    if len(stages) > 1:  # each part of the rows has chosen pairs of its own; now all choose together
        lines, values = surfaces.chosen(data, len(stages[0].lines.grids), _penalty(stages))
    else:
        lines, best = stages[0].lines, stages[0].best
        values = surfaces.fit(lines, data).solve(best.penalty, best.strength, best.values)
    return purified(lines, values, data, corrections)


def _folds(rows: int, held: Places) -> Iterator[tuple[Places, Places]]:
    """Return rows to fit to and rows that judge: the validation rows, or where they are few all rows in turn."""
    everything = np.arange(rows)
    if len(held) >= FEW_JUDGES or rows < 2 * _FOLDS:
        yield np.setdiff1d(everything, held), held if len(held) else everything
        return
    yield from KFold(_FOLDS, shuffle=True, random_state=0).split(everything)


class _Surfaces:
    """The knots of surfaces that a table can have, coarse and fine; and how they are fitted, with lines."""

    def __init__(
        self,
        data: Data,
        curve: Curve,
        own: Sequence[Floats],
        corrections: Terms,
        wishes: Wishes,
        free: Places,
    ) -> None:
        self.data, self.curve, self.wishes = data, curve, replace(wishes, monotone={})
        self.below = [a + b for a, b in zip(own, corrections.values, strict=True)]
        self.hats, self.columns = corrections.hats, np.flatnonzero(~np.array(corrections.is_whole)).tolist()
        self.coarse = {int(k): fewer(self.hats[k], data.numbers[:, k], data.slots[:, k], _KNOTS) for k in free}
        self.fine = {int(k): fewer(self.hats[k], data.numbers[:, k], data.slots[:, k], _FINE) for k in free}
        self.free = [int(k) for k in free if self.coarse[int(k)].size > 1]

    def grid(self, pair: Two, *, is_fine: bool = False) -> Grid:
        """Return the knots of a surface."""
        axes = self.fine if is_fine else self.coarse
        return Grid(pair, (axes[pair[0]], axes[pair[1]]))

    def lines(self, grids: Sequence[Grid]) -> Lines:
        """Return lines for all columns, and surfaces."""
        below = [self.below[k] for k in self.columns]
        below.append(np.zeros((sum(grid.size for grid in grids), self.data.scores.shape[1])))
        return Lines([self.hats[k] for k in self.columns], np.concatenate(below), self.columns, grids)

    def fit(self, lines: Lines, rows: Data) -> Fit:
        """Return lines and surfaces to fit to some rows."""
        pulls = Pulls(lines, self.data, self.wishes) if self.wishes.weight else None
        return Fit(lines, rows, self.curve, pulls, tolerance=_TOLERANCE)

    def strongest(self, data: Data, most: int) -> list[Grid]:
        """Return the pairs with most to say: half of them at first, the rest by what these leave over."""
        columns = self.free[:_MOST_COLUMNS]
        chosen = self._ranked(data, columns)[: -(-most // 2)] if len(columns) > 1 else []
        if chosen and len(chosen) < most:
            lines = self.lines([self.grid(pair) for pair in chosen])
            fit, start = self.fit(lines, data), np.zeros((lines.size, data.scores.shape[1]))
            values = fit.solve(_UNTRIED, np.ones(lines.blocks), start)
            left = data._replace(scores=data.scores + fit.matrix @ values)
            chosen += self._ranked(left, columns, chosen)[: most - len(chosen)]
        return [self.grid(pair) for pair in chosen]

    def _ranked(self, data: Data, columns: Sequence[int], but: Sequence[Two] = ()) -> list[Two]:
        return [pair for gain, pair in rank_pairs(data, self.curve, self.coarse, columns, but) if gain > 0]

    def chosen(self, data: Data, number: int, penalty: float) -> tuple[Lines, Floats]:
        """Return lines and so many surfaces, chosen and fitted by some rows, with a penalty that is known."""
        lines = self.lines(self.strongest(data, number) if number else [])
        fit, start = self.fit(lines, data), np.zeros((lines.size, data.scores.shape[1]))
        strength = _strengths(lines, fit.solve(penalty, np.ones(lines.blocks), start), data)
        return lines, fit.solve(penalty, strength, start)


# --- how many, how fine and how smooth --------------------------------------------------------------------------------


class _Stage(NamedTuple):
    """Lines and surfaces as they were fitted, and the loss of each row that judges them, with what steps cost."""

    lines: Lines
    best: Tried
    losses: Floats


class _Trial:
    """Rows to fit surfaces to, and rows to judge them by."""

    def __init__(self, surfaces: _Surfaces, rows: Data, judges: Data) -> None:
        self.surfaces, self.rows, self.judges = surfaces, rows, judges

    def path(self, most: int) -> list[_Stage]:
        """Return fits with fewer and fewer surfaces, the weakest dropped each time; the last has none."""
        none = self.fitted([])
        grids = self.surfaces.strongest(self.rows, most)
        if not grids:
            return [none]
        all_of_them = self.fitted(grids)
        if not exceeds(none.losses - all_of_them.losses, self.judges.weights, 1.0):
            return [none]
        stages = [self.refined(all_of_them)]
        while (number := len(stages[-1].lines.grids)) > 1:
            stages.append(self.fitted(self._ordered(stages[-1])[: int(_KEPT * number) or 1], stages[-1]))
        return [*stages, none]

    def fitted(self, grids: Sequence[Grid], after: _Stage | None = None) -> _Stage:
        """Return lines and surfaces with the penalties that suit the rows that judge."""
        lines = self.surfaces.lines(grids)
        fit, judge = (self.surfaces.fit(lines, rows) for rows in (self.rows, self.judges))
        start = np.zeros((lines.size, self.rows.scores.shape[1]))
        if after is None:
            best = best_penalty(fit, judge, np.ones(lines.blocks), start, _PENALTIES)
        else:
            _carry(after, lines, start)
            strength = _strengths(lines, start, self.rows)
            weaker = [penalty for penalty in _PENALTIES if penalty < after.best.penalty]
            best = best_penalty(fit, judge, strength, start, (after.best.penalty, *weaker))
        near = best
        for _ in range(_ROUNDS if grids else 0):
            near = best_penalty(fit, judge, _strengths(lines, near.values, self.rows), near.values, (near.penalty,))
            best = min(best, near, key=lambda one: one.loss)
        return _Stage(lines, best, judge.each(best.values) + judge.cost(best.values))

    def refined(self, stage: _Stage) -> _Stage:
        """Return the strongest surfaces with finer knots, if the rows that judge are better off."""
        grids = self._ordered(stage)
        finer = [
            self.surfaces.grid(grid.columns, is_fine=True) if k < _FINEST else grid for k, grid in enumerate(grids)
        ]
        if all(a.size == b.size for a, b in zip(grids, finer, strict=True)):
            return stage
        tried = self.fitted(finer, stage)
        return tried if tried.best.loss < (1 - _WORTH) * stage.best.loss else stage

    def _ordered(self, stage: _Stage) -> list[Grid]:
        """Return the surfaces, those first that vary most."""
        sizes = deviations(stage.lines, stage.best.values, self.rows)
        return [stage.lines.grids[k] for k in np.argsort(-sizes, kind="stable")]


def _carry(stage: _Stage, lines: Lines, values: Floats) -> None:
    """Write the values of a fit into those of another with some of the same surfaces, be it at other knots."""
    own = len(lines.hats)
    values[: lines.starts[own]] = stage.best.values[: lines.starts[own]]
    before = {
        grid.columns: (grid, stage.best.values[start : start + grid.size])
        for grid, start in zip(stage.lines.grids, stage.lines.starts[own:], strict=False)
    }
    for grid, start in zip(lines.grids, lines.starts[own:], strict=False):
        if grid.columns in before:
            values[start : start + grid.size] = grid.resampled(*before[grid.columns])


def _strengths(lines: Lines, values: Floats, data: Data) -> Floats:
    """Return stronger penalties for surfaces that vary less."""
    sizes, strength = deviations(lines, values, data), np.ones(lines.blocks)
    if len(sizes) and sizes.any():
        share = np.mean(sizes**2) / np.maximum(sizes, 1e-9) ** 2
        strength[len(lines.hats) :] = np.clip(share, 0.01, 100.0)
    return strength


def _penalty(stages: Sequence[_Stage]) -> float:
    return float(np.exp(np.mean([np.log(stage.best.penalty) for stage in stages])))


def _is_confirmed(surfaces: _Surfaces, stages: Sequence[_Stage], without: Sequence[_Stage]) -> bool:
    """Whether other parts of the table are better off with surfaces, too, by two standard errors.

    Each part has chosen the penalty and the number that suit itself, and so gains from noise as well. Here both are
    settled for all parts.
    """
    data, gains = surfaces.data, np.zeros(len(surfaces.data.targets))
    settled = [(len(some[0].lines.grids), _penalty(some)) for some in (without, stages)]
    for rows, judges in KFold(_FOLDS, shuffle=True, random_state=1).split(gains):
        losses = []
        for number, penalty in settled:
            lines, values = surfaces.chosen(data.take(rows), number, penalty)
            judge = surfaces.fit(lines, data.take(judges))
            losses.append(judge.each(values) + judge.cost(values))
        gains[judges] = losses[0] - losses[1]
    return exceeds(gains, data.weights, 2.0)


def _fewest(paths: Sequence[list[_Stage]], trials: Sequence[_Trial]) -> list[_Stage]:
    """Return from each trial the fit with the fewest surfaces that does as well as the best number of them.

    As well: no worse than by half the standard error of the difference, on rows that judge. None where the best number
    is not better by two standard errors than lines alone.
    """
    weights = np.concatenate([trial.judges.weights for trial in trials])
    numbers = sorted({len(stage.lines.grids) for path in paths for stage in path})
    tried = []
    for number in numbers:
        chosen = [next(stage for stage in path if len(stage.lines.grids) <= number) for path in paths]
        tried.append((chosen, np.concatenate([stage.losses for stage in chosen])))
    _, least = min(tried, key=lambda one: float(weights @ one[1]))
    none, without = tried[0]
    if not exceeds(without - least, weights, 2.0):
        return none
    return next(chosen for chosen, losses in tried[1:] if not exceeds(losses - least, weights, 0.5))
