"""Terms over two columns: which, how many, how fine and how smooth, as the rows say; none are held back.

Every two columns are ranked by what a table of their cells would take from the loss beyond what either column can. The
strongest get a surface, bilinear between the knots of both columns, all fitted together with the lines. The precision
of each surface maximises the marginal likelihood (`evidence`), and surfaces stay only if that is larger with them than
without them, by more than the number of choices of so many pairs makes likely by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.special import gammaln

from suffice.gam.evidence import Evidence, Penalty
from suffice.gam.hats import Floats, Grid, Hats, Places, design, fewer
from suffice.gam.mains import Mains
from suffice.gam.purifying import purify
from suffice.gam.ranking import Two, rank_pairs
from suffice.gam.solving import Curve, Data

_KNOTS = (8, 16, 32, 64)  # of a column in a surface, about: few at first, more where the rows ask for them
_FINEST = 4  # so many surfaces are tried with more than the second number of them
_RIDGE = 0.05  # of the penalty, on values rather than on steps
_START = 100.0  # precision
_ROUNDS = 8
_GROWTHS = 4  # how often more pairs are looked for
_MOST_COLUMNS = 120  # that are ranked in pairs: those whose lines vary most


class Surfaces(NamedTuple):
    """Surfaces, and lines moved to suit them: all values below one another, and the penalty that they had.

    `gains` is what each surface adds to the logarithm of the marginal likelihood, and `evidence` that of all of them.
    """

    intercept: Floats
    grids: tuple[Grid, ...]
    values: Floats
    penalty: scipy.sparse.csr_matrix
    precisions: Floats
    gains: Floats
    evidence: float
    noise: float
    scores: Floats


def add_surfaces(
    data: Data,
    curve: Curve,
    hats: Sequence[Hats],
    mains: Mains,
    wanted: int | Sequence[Two] | None,
    free: Places,
    *,
    is_squared: bool,
) -> Surfaces:
    """Return surfaces beside lines.

    Parameters
    ----------
    data : Data
        Rows, with the scores that lines and surfaces are added to.
    curve : Curve
        The loss.
    hats, mains : the knots of all columns, and their lines
        The lines may move with the surfaces, but are as smooth as before.
    wanted : int, sequence of two places, or None
        How many surfaces, or over which columns; None: as many as the rows ask for, up to one for each column.
    free : array of int
        The columns that may be in a pair.
    """
    search = _Search(data, curve, hats, mains, free, is_squared=is_squared)
    if wanted is None:
        return search.chosen()
    if not wanted:
        return search.without()
    if isinstance(wanted, Sequence):
        return search.refined(search.fitted([search.grid(pair) for pair in wanted], search.without()))
    return search.strongest(wanted)


class _Search:
    """Surfaces that a table can have, and how they are fitted."""

    def __init__(
        self, data: Data, curve: Curve, hats: Sequence[Hats], mains: Mains, free: Places, *, is_squared: bool
    ) -> None:
        self.data, self.curve, self.hats, self.mains, self.is_squared = data, curve, hats, mains, is_squared
        self.axes = [
            {int(k): fewer(hats[k], data.numbers[:, k], data.slots[:, k], most) for k in free} for most in _KNOTS
        ]
        self.lines = design(hats, data.numbers, data.slots)
        self.starts = np.concatenate([[0, 1], 1 + np.cumsum([one.size for one in hats])])
        self.free = sorted((k for k, one in self.axes[0].items() if one.size > 1), key=self._spread)[:_MOST_COLUMNS]
        self.pairs = len(self.free) * (len(self.free) - 1) // 2  # to choose from

    def _spread(self, k: int) -> float:
        first, last = self.starts[k + 1] - 1, self.starts[k + 2] - 1
        return -float(np.asarray(self.lines[:, first:last] @ self.mains.values[first:last]).std(axis=0).sum())

    def grid(self, pair: Two, level: int = 0) -> Grid:
        """Return the knots of a surface, more of them at a higher level."""
        return Grid(pair, (self.axes[level][pair[0]], self.axes[level][pair[1]]))

    def ranked(self, found: Surfaces) -> list[tuple[float, Two]]:
        """Return what other pairs promise, and these; those first that promise most."""
        if len(self.free) < 2:
            return []
        left, but = self.data._replace(scores=found.scores), [grid.columns for grid in found.grids]
        return rank_pairs(left, self.curve, self.axes[0], self.free, but)

    def strongest(self, number: int) -> Surfaces:
        """Return so many surfaces: half of them at first, the rest by what these leave over."""
        found = self.without()
        for most in (-(-number // 2), number):
            pairs = [pair for _, pair in self.ranked(found)][: most - len(found.grids)]
            if pairs:
                found = self.fitted([*found.grids, *map(self.grid, pairs)], found)
        return self.refined(found)

    def chosen(self) -> Surfaces:
        """Return as many surfaces as the rows ask for, again and again by what those already there leave over."""
        found, most = self.without(), len(self.free)
        for _ in range(_GROWTHS):
            pairs = [pair for gain, pair in self.ranked(found) if gain > 0][: -(-(most - len(found.grids)) // 2)]
            grown = self.pruned(self.fitted([*found.grids, *map(self.grid, pairs)], found)) if pairs else found
            is_done = len(grown.grids) <= len(found.grids)
            found = grown
            if is_done:
                break
        return self.pruned(self.refined(found))

    def without(self) -> Surfaces:
        """Return the lines alone."""
        scores = self.data.scores + self.mains.intercept + self.lines @ self.mains.values
        nothing = np.zeros(0)
        return Surfaces(
            self.mains.intercept,
            (),
            self.mains.values,
            self.mains.penalty,
            nothing,
            nothing,
            -np.inf,
            self.mains.noise,
            scores,
        )

    def fitted(self, grids: Sequence[Grid], start: Surfaces) -> Surfaces:
        """Return surfaces with the precisions that suit the rows, from some values on."""
        data, outputs = self.data, self.data.scores.shape[1]
        cells = design([], data.numbers, data.slots, [], grids)
        matrix = scipy.sparse.hstack([np.ones((len(data.targets), 1)), self.lines, cells], format="csr")
        own, sizes = 1 + self.lines.shape[1], [grid.size for grid in grids]
        ends = own + np.cumsum(sizes)
        penalties = [
            Penalty(int(end - size), int(end), _roughness(grid), size)
            for grid, size, end in zip(grids, sizes, ends, strict=True)
        ]
        nothing = scipy.sparse.csr_matrix((sum(sizes), sum(sizes)))
        fixed = scipy.sparse.block_diag([scipy.sparse.csr_matrix((1, 1)), self.mains.penalty, nothing], format="csr")
        known = {grid.columns: k for k, grid in enumerate(start.grids)}
        values, precisions = np.zeros((matrix.shape[1], outputs)), np.full(len(grids), _START)
        values[0], values[1:own] = start.intercept, start.values[: own - 1]
        places = own - 1 + np.concatenate([[0], np.cumsum([grid.size for grid in start.grids])]).astype(int)
        for k, (grid, end) in enumerate(zip(grids, ends, strict=True)):
            if grid.columns in known:
                before = known[grid.columns]
                old = start.values[places[before] : places[before + 1]]
                values[end - grid.size : end] = grid.resampled(start.grids[before], old)
                precisions[k] = start.precisions[before]
        evidence = Evidence(
            matrix, [*self.starts, *ends], None, fixed, penalties, self.curve, is_squared=self.is_squared
        )
        evidence.noise = self.mains.noise
        values, precisions = evidence.run(data.scores, data.targets, data.weights, values, precisions, _ROUNDS)
        scores = data.scores + matrix @ values
        gains = self._gains(grids, ends, values, cells, evidence)
        total = self._evidence(grids, ends, values, scores, evidence)
        penalty = evidence.penalty(precisions)[1:, 1:].tocsr()
        return Surfaces(values[0], tuple(grids), values[1:], penalty, precisions, gains, total, evidence.noise, scores)

    def _gains(
        self,
        grids: Sequence[Grid],
        ends: Sequence[int],
        values: Floats,
        cells: scipy.sparse.csr_matrix,
        evidence: Evidence,
    ) -> Floats:
        """Return what each surface adds to the logarithm of the marginal likelihood, beyond what lines could say."""
        gains, masses, own = np.zeros(len(grids)), cells.T @ self.data.weights, 1 + self.lines.shape[1]
        for output, solved in enumerate(evidence.solved):
            for k, (grid, end) in enumerate(zip(grids, ends, strict=True)):
                shape, place = [axis.size for axis in grid.axes], slice(end - grid.size, end)
                mass = masses[end - grid.size - own : end - own].reshape(shape)
                pure = purify(values[place, output].reshape(shape), mass)[0].ravel()
                gains[k] += solved.gain(place, pure, evidence.used[k], _logarithm(grid))
        return gains

    def _evidence(
        self, grids: Sequence[Grid], ends: Sequence[int], values: Floats, scores: Floats, evidence: Evidence
    ) -> float:
        """Return the logarithm of the marginal likelihood, up to what does not depend on the surfaces."""
        data = self.data
        loss = float(data.weights @ self.curve(scores, data.targets)[0])
        if self.is_squared:  # normal noise, of the size that makes the rows most probable
            rows = float(data.weights.sum())
            loss = 0.5 * rows * float(np.log(loss / rows + 1e-300))
        penalty = evidence.penalty(evidence.used)
        total = -loss - 0.5 * float(np.sum(values * (penalty @ values)))
        for solved in evidence.solved:
            for k, (grid, end) in enumerate(zip(grids, ends, strict=True)):
                place, precision = slice(end - grid.size, end), evidence.used[k]
                total += 0.5 * (_logarithm(grid) + grid.size * float(np.log(precision)) - solved.determinant(place))
        return total

    def pruned(self, found: Surfaces) -> Surfaces:
        """Return those surfaces alone that the rows ask for, fitted again.

        Of those that they do not ask for the weaker half is dropped at a time: two that say the same hide each other.
        """
        while weak := self._weak(found.gains):
            dropped = weak[: -(-len(weak) // 2)]
            kept = [grid for k, grid in enumerate(found.grids) if k not in dropped]
            found = self.fitted(kept, found) if kept else self.without()
        return found

    def _weak(self, gains: Floats) -> list[int]:
        """Return the surfaces that the rows do not ask for, the weakest first.

        The strongest are kept, as many as are most probable if all numbers of them are as likely beforehand, and, of
        each number, all choices; none without which the rows are more probable.
        """
        order, worthy = np.argsort(-gains, kind="stable"), int(np.sum(gains > 0))
        chosen = np.arange(worthy + 1)
        choices = gammaln(self.pairs + 1) - gammaln(chosen + 1) - gammaln(self.pairs - chosen + 1)
        best = int(np.argmax(np.concatenate([[0.0], np.cumsum(gains[order[:worthy]])]) - choices))
        weak: list[int] = order[best:][::-1].tolist()
        return weak

    def refined(self, found: Surfaces) -> Surfaces:
        """Return surfaces with more knots, the strongest of them with many, as long as the rows are more probable."""
        for level in range(1, len(_KNOTS)):
            strongest = np.argsort(-found.gains, kind="stable")[: _FINEST if level > 1 else None].tolist()
            grids = [self.grid(grid.columns, level) if k in strongest else grid for k, grid in enumerate(found.grids)]
            if sum(grid.size for grid in grids) <= sum(grid.size for grid in found.grids):
                break
            tried = self.fitted(grids, found)
            if tried.evidence <= found.evidence:
                break
            found = tried
        return found


def _roughness(grid: Grid) -> scipy.sparse.csr_matrix:
    return (grid.roughness + _RIDGE * scipy.sparse.identity(grid.size)).tocsr()


def _logarithm(grid: Grid) -> float:
    """Return the logarithm of the determinant of a surface's roughness, whose eigenvalues are sums of its axes'."""
    first, second = (_eigenvalues(axis) for axis in grid.axes)
    return float(np.log(first[:, None] + second + _RIDGE).sum())


def _eigenvalues(axis: Hats) -> Floats:
    """Return those of an axis' roughness: of a chain of knots, and 1 for each slot."""
    count = len(axis.knots)
    return np.concatenate([2 - 2 * np.cos(np.pi * np.arange(count) / max(count, 1)), np.ones(axis.slots)])
