"""How smooth lines and surfaces shall be: as smooth as makes the rows most probable, no rows held back.

Every penalty is the logarithm of a normal prior with a precision of its own. The precisions are those that maximise the
marginal likelihood (restricted maximum likelihood, or evidence): by Laplace's approximation, each is updated to the
number of parameters that the rows determine, over the penalty of their values (MacKay; Fellner and Schall). All is
repeated with Newton steps of the values until neither changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from suffice.gam.hats import Floats
from suffice.gam.normal import Blocked, Curvature, Dense, NormalEquations
from suffice.gam.solving import Curve

_LEAST, _MOST = 1e-4, 1e5  # precision
_HASTE, _LEAP = 1.5, 3.0  # a precision moves farther than the update, which is slow, but not by more than a factor
_POOLED = 0.1  # how many parameters known by the rows what others of its kind say counts as
_SOME = 0.3  # parameters known by the rows, below which it does not matter how many
_STEADY = 0.2  # change of a precision's logarithm below which it stays as it is
_CLOSE = 0.01  # change of scores, in their unit, below which values stay as they are
_FAR = 0.1  # change of a score from which the second derivatives are computed anew
_FLAT = 1e-6  # bend of the loss
_NOTHING = 1e-9


@dataclass(frozen=True)
class Penalty:
    """A penalty on some parameters, up to its precision.

    Parameters
    ----------
    start, end : int
        The parameters.
    matrix : sparse matrix
        Of a quadratic form of these.
    rank : int
        Its rank.
    kind : str
        Precisions of one kind are drawn a little towards what all rows of that kind say together, if it has a name.
    is_shared : bool
        Whether all penalties of its kind have one precision.
    """

    start: int
    end: int
    matrix: scipy.sparse.csr_matrix
    rank: int
    kind: str = ""
    is_shared: bool = False


class Evidence:
    """Values and precisions for a design.

    Parameters
    ----------
    matrix, starts, onto
        See `NormalEquations`.
    fixed : sparse matrix (parameters, parameters)
        A penalty whose precision is known.
    penalties : sequence of Penalty
        Those whose precisions are chosen; no two on the same parameters.
    curve : Curve
        The loss: half the squared error times two, or a logarithm of a probability.
    is_squared : bool
        Whether the loss is squared errors, whose noise is estimated; a probability's is known.
    """

    def __init__(
        self,
        matrix: scipy.sparse.csr_matrix,
        starts: Sequence[int],
        onto: scipy.sparse.csr_matrix | None,
        fixed: scipy.sparse.csr_matrix,
        penalties: Sequence[Penalty],
        curve: Curve,
        *,
        is_squared: bool,
    ) -> None:
        self.equations, self.fixed, self.penalties = NormalEquations(matrix, starts, onto), fixed, penalties
        self.curve, self.is_squared, self.noise = curve, is_squared, 1.0
        named = [one.kind or str(k) for k, one in enumerate(penalties)]
        self.kinds = np.array([named.index(name) for name in named], dtype=np.int64)
        self.pooled = np.array([np.inf if one.is_shared else _POOLED if one.kind else 0.0 for one in penalties])
        self.solved = list[Dense | Blocked]()  # the equations of each output, as they were last
        self.used = np.zeros(0)  # the precisions that they had

    def run(
        self,
        offset: Floats,
        targets: Floats,
        weights: Floats,
        values: Floats,
        precisions: Floats,
        rounds: int,
    ) -> tuple[Floats, Floats]:
        """Return values (parameters, outputs) and precisions, from some on, after so many rounds at most."""
        matrix, seen = self.equations.matrix, np.maximum(weights, _NOTHING)
        scores, rows = offset + matrix @ values, float(weights.sum())
        curvatures, known_at = dict[int, Curvature](), dict[int, Floats]()
        for _ in range(rounds):
            chosen, before, largest = self._chosen(precisions), values, 0.0
            penalty = (self.fixed + chosen).tocsr()
            shares, squares = np.zeros(len(precisions)), np.zeros(len(precisions))
            if self.is_squared and self.solved:
                used = sum(float(one.influences.sum()) for one in self.solved)
                left = float(weights @ self.curve(scores, targets)[0])
                self.noise = max(left / max(rows - used, 1.0), 1e-12)
            self.solved, self.used, values = [], precisions, values.copy()
            for output in range(values.shape[1]):
                _, slope, bend = self.curve(scores, targets)
                half = 2 * self.noise if self.is_squared else 1.0
                if output not in curvatures or np.abs(scores - known_at[output]).max() > _FAR:
                    curvatures[output] = self.equations.curvature(seen * np.maximum(bend[:, output], _FLAT))
                    known_at[output] = scores.copy()
                solved = curvatures[output].penalised(1 / half, self.fixed, chosen)
                right = -(self.equations.back @ (weights * slope[:, output])) / half - penalty @ before[:, output]
                move = solved.solve(right)
                change = matrix @ move
                share = self._share(scores, targets, weights, output, change, (before[:, output], move, penalty))
                values[:, output] += share * move
                scores[:, output] += share * change
                largest = max(largest, share * float(np.abs(change).max()))
                self.solved.append(solved)
                for k, one in enumerate(self.penalties):
                    part = values[one.start : one.end, output]
                    free = float(solved.shares[one.start : one.end].sum()) - (one.end - one.start - one.rank)
                    shares[k] += max(free, _NOTHING)
                    squares[k] += float(part @ (one.matrix @ part))
            ahead = np.log(self._updated(shares, squares) / precisions)
            found = np.clip(precisions * np.exp(np.clip(_HASTE * ahead, -_LEAP, _LEAP)), _LEAST, _MOST)
            moved = np.abs(np.log(found / precisions))[shares > _SOME]
            precisions = found
            if largest < _CLOSE and (not len(moved) or moved.max() < _STEADY):
                break
        return values, precisions

    def _updated(self, shares: Floats, squares: Floats) -> Floats:
        """Return the precisions that parameters known by the rows, and their penalties, speak for."""
        all_shares, all_squares = (np.bincount(self.kinds, one)[self.kinds] for one in (shares, squares))
        common = all_shares / np.maximum(all_squares, _NOTHING)
        pooled = np.where(np.isinf(self.pooled), 0.0, self.pooled)
        own = (shares + pooled) / np.maximum(squares + pooled / np.maximum(common, _NOTHING), _NOTHING)
        return np.asarray(np.where(np.isinf(self.pooled), common, own))

    def penalty(self, precisions: Floats) -> scipy.sparse.csr_matrix:
        """Return all penalties, the known one included, as one matrix."""
        return (self.fixed + self._chosen(precisions)).tocsr()

    def _chosen(self, precisions: Floats) -> scipy.sparse.csr_matrix:
        """Return the penalties, times their precisions, as one matrix."""
        size = self.equations.size
        rows, columns, entries = [], [], []
        for one, precision in zip(self.penalties, precisions, strict=True):
            part = one.matrix.tocoo()
            rows.append(part.row + one.start)
            columns.append(part.col + one.start)
            entries.append(part.data * precision)
        if not rows:
            return scipy.sparse.csr_matrix((size, size))
        where = np.concatenate(rows), np.concatenate(columns)
        return scipy.sparse.csr_matrix((np.concatenate(entries), where), shape=(size, size))

    def _share(
        self,
        scores: Floats,
        targets: Floats,
        weights: Floats,
        output: int,
        change: Floats,
        quadratic: tuple[Floats, Floats, scipy.sparse.csr_matrix],
    ) -> float:
        """Return how much of a Newton step to take: all of it, or a half or less until the objective falls."""
        before, move, penalty = quadratic
        half = 2 * self.noise if self.is_squared else 1.0

        def objective(share: float) -> float:
            moved, values = scores.copy(), before + share * move
            moved[:, output] += share * change
            return float(weights @ self.curve(moved, targets)[0]) / half + 0.5 * float(values @ (penalty @ values))

        now, share = objective(0.0), 1.0
        while share > 0.01 and not objective(share) <= now:
            share /= 2
        return share if share > 0.01 else 0.0
