"""Lines and surfaces moved from where the rows alone would have them: towards short explanations, or monotone lines.

What steps cost (`solving.Pulls`) is added to the penalised loss, and Newton steps make the sum smaller. They seldom
make a line quite flat, though a flat one is worth most: its feature is in no explanation. So lines and surfaces are
then left out for good, those first that promise most, each if the sum grows by no more than makes no difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from suffice.gam.hats import Floats
from suffice.gam.normal import NormalEquations
from suffice.gam.solving import Curve, Data, Lines, Pulls

_STEPS, _FEW_STEPS = 20, 4  # of Newton's method; after something was left out, to see whether that pays
_CLOSE = 1e-6  # change of a row's loss that makes no difference
_AT_ONCE = 4  # of what promises to pay, one in so many is left out at a time
_FLAT = 1e-6  # bend of the loss


class _Found(NamedTuple):
    """Values, the intercept first, the objective there, and which blocks are kept: those of others are 0."""

    values: Floats
    objective: float
    kept: NDArray[np.bool_]


class Shortening:
    """The penalised loss of lines and surfaces, and what their steps cost.

    Parameters
    ----------
    lines : Lines
        Lines of all columns, and surfaces.
    data : Data
        Rows, with the scores that lines and surfaces are added to.
    curve : Curve
        The loss.
    penalty : sparse matrix (values, values)
        How smooth lines and surfaces shall be, in units of the loss.
    pulls : Pulls
        What steps cost.
    """

    def __init__(self, lines: Lines, data: Data, curve: Curve, penalty: scipy.sparse.csr_matrix, pulls: Pulls) -> None:
        self.lines, self.data, self.curve, self.pulls = lines, data, curve, pulls
        ones = np.ones((len(data.targets), 1))
        self.matrix = scipy.sparse.hstack([ones, lines.design(data)], format="csc")
        self.stiff = scipy.sparse.block_diag([scipy.sparse.csr_matrix((1, 1)), penalty], format="csr")
        self.rows, self.seen = float(data.weights.sum()), np.maximum(data.weights, 1e-9)
        self.close = _CLOSE * self.rows
        self.sizes = np.diff(lines.starts)

    def run(self, intercept: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the intercept and values that make the objective small, from some on."""
        start = np.concatenate([intercept[None], values])
        found = self._moved(_Found(start, self._objective(start), np.ones(self.lines.blocks, dtype=np.bool_)), _STEPS)
        if self.pulls.wishes.weight:
            found = self._moved(self._pruned(found), _STEPS)
        return found.values[0], found.values[1:]

    def _objective(self, at: Floats) -> float:
        loss = float(self.data.weights @ self.curve(self.data.scores + self.matrix @ at, self.data.targets)[0])
        steps = self.rows * (self.pulls.cost(at[1:]) + self.pulls.wrong(at[1:]))
        return loss + 0.5 * float(np.sum(at * (self.stiff @ at))) + steps

    def _is_kept(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each value, the intercept first, is of a block that is kept."""
        return np.concatenate([[True], np.repeat(kept, self.sizes)])

    def _equations(self, kept: NDArray[np.bool_]) -> NormalEquations:
        starts = np.concatenate([[0, 1], 1 + np.cumsum(self.sizes[kept])])
        return NormalEquations(self.matrix[:, self._is_kept(kept)].tocsr(), starts.tolist())

    def _moved(self, start: _Found, most: int) -> _Found:
        """Return what so many Newton steps lead to, at most; blocks left out stay out."""
        at, now = start.values, start.objective
        chosen, equations = self._is_kept(start.kept), self._equations(start.kept)
        stiff = self.stiff[chosen][:, chosen]
        for _ in range(most):
            _, slope, bend = self.curve(self.data.scores + self.matrix @ at, self.data.targets)
            move = np.zeros_like(at)
            for output in range(at.shape[1]):
                pull, more = self.pulls.quadratic(at[1:], output)
                pull = scipy.sparse.block_diag([scipy.sparse.csr_matrix((1, 1)), self.rows * pull], format="csr")
                gradient = self.matrix.T @ (self.data.weights * slope[:, output]) + self.stiff @ at[:, output]
                gradient[1:] += self.rows * more
                curvature = equations.curvature(self.seen * np.maximum(bend[:, output], _FLAT))
                solved = curvature.penalised(1.0, stiff, pull[chosen][:, chosen])
                move[chosen, output] = solved.solve(-gradient[chosen])
            share = 1.0
            while share > 0.01 and not self._objective(at + share * move) < now:
                share /= 2
            if share <= 0.01:
                break
            at, before = at + share * move, now
            now = self._objective(at)
            if before - now < self.close:
                break
        return _Found(at, now, start.kept)

    def _pruned(self, found: _Found) -> _Found:
        """Return lines and surfaces without those that are not worth what they cost."""
        worth_it = list[list[int]]()  # blocks without which the objective is larger
        while promising := [blocks for blocks in self._promising(found) if blocks not in worth_it]:
            count, enough = -(-len(promising) // _AT_ONCE), found.objective + self.close
            while (tried := self._without(found, promising[:count])).objective > enough and count > 1:
                count //= 2
            if tried.objective <= enough:
                found = tried
            else:
                worth_it.append(promising[0])
        return found

    def _without(self, found: _Found, left_out: list[list[int]]) -> _Found:
        """Return what some blocks less lead to."""
        kept = found.kept.copy()
        kept[[block for blocks in left_out for block in blocks]] = False
        values = np.where(self._is_kept(kept)[:, None], found.values, 0.0)
        return self._moved(_Found(values, self._objective(values), kept), _FEW_STEPS)

    def _promising(self, found: _Found) -> list[list[int]]:
        """Return what may be left out together, that first which promises most.

        What its absence would add to the penalised loss is estimated by a quadratic.
        """
        _, _, bend = self.curve(self.data.scores + self.matrix @ found.values, self.data.targets)
        choices = self._choices(found.kept)
        ends, equations = np.concatenate([[0], np.cumsum(found.kept * self.sizes)]), self._equations(found.kept)
        chosen, net = self._is_kept(found.kept), np.zeros(len(choices))
        stiff, none = self.stiff[chosen][:, chosen], scipy.sparse.csr_matrix((int(chosen.sum()),) * 2)
        for output in range(found.values.shape[1]):
            solved = equations.curvature(self.seen * np.maximum(bend[:, output], _FLAT)).penalised(1.0, stiff, none)
            values = found.values[chosen, output]
            for number, blocks in enumerate(choices):
                places = np.concatenate([np.arange(1 + ends[block], 1 + ends[block + 1]) for block in blocks])
                net[number] += solved.loss_without(places, values)
        now = self.pulls.cost(found.values[1:])
        for number, blocks in enumerate(choices):
            values = found.values[1:].copy()
            values[np.isin(self.lines.block, blocks)] = 0
            net[number] -= self.rows * (now - self.pulls.cost(values))
        return [choices[number] for number in np.argsort(net, kind="stable").tolist() if net[number] < self.close]

    def _choices(self, kept: NDArray[np.bool_]) -> list[list[int]]:
        """Return what can be left out: a column, its line with all its surfaces; or one surface alone."""
        own = len(self.lines.hats)
        surfaces: list[tuple[int, tuple[int, int]]] = [
            (own + number, grid.columns) for number, grid in enumerate(self.lines.grids) if kept[own + number]
        ]
        columns = [
            [k, *(block for block, columns in surfaces if k in columns)] for k in np.flatnonzero(kept[:own]).tolist()
        ]
        return columns + [[block] for block, _ in surfaces]
