"""Normal equations of penalised fits: solved as one dense matrix where that is small, else by conjugate gradients.

The parameters come in *blocks*, one for each line or surface; a penalty ties only parameters of one block. Gradients
are preconditioned by the factored diagonal blocks, which are banded or small, so that a few steps do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.sparse.linalg import LinearOperator, cg, splu

from suffice.errors import DataError

Floats = NDArray[np.float64]

_DENSE = 2000  # parameters; more are solved by conjugate gradients
_DAMPING = (1e-9, 1e-6, 1e-3)  # relative; more where rounding makes a matrix negative
_MOST_ITERATIONS = 25  # a step need not be exact: another follows
_PROBES = 32


class NormalEquations:
    """A design matrix cut into blocks.

    Parameters
    ----------
    matrix : sparse matrix (rows, values)
        The design.
    starts : sequence of int
        Where blocks of parameters start, and the end.
    onto : sparse matrix (values, parameters), optional
        Takes parameters to the values that the design is of; without it, they are these values.
    """

    def __init__(
        self, matrix: scipy.sparse.csr_matrix, starts: Sequence[int], onto: scipy.sparse.csr_matrix | None = None
    ) -> None:
        self.values, self.onto = matrix, onto
        self.matrix = matrix if onto is None else (matrix @ onto).tocsr()
        self.back, self.size = self.matrix.T.tocsr(), self.matrix.shape[1]
        self.is_dense = self.size <= _DENSE
        if not self.is_dense:
            columns = self.matrix.tocsc()
            self.blocks = [columns[:, a:b].tocsr() for a, b in pairwise(starts)]

    def curvature(self, weights: Floats) -> Curvature:
        """Return the matrix of the equations for rows of some weights (each above 0), as far as it is computed."""
        if self.is_dense:
            rows = _weighted(self.values, weights)
            product = (rows.T @ rows).tocsr()
            return Curvature(self, weights, product if self.onto is None else self.onto.T @ product @ self.onto)
        own = [_weighted(block, weights) for block in self.blocks]
        blocks = scipy.sparse.block_diag([block.T @ block for block in own], format="csc")
        return Curvature(self, weights, blocks)


class Curvature(NamedTuple):
    """Equations, weights of their rows, and the whole matrix that these make, or its diagonal blocks."""

    equations: NormalEquations
    weights: Floats
    matrix: scipy.sparse.csr_matrix

    def penalised(
        self, scale: float, fixed: scipy.sparse.csr_matrix, chosen: scipy.sparse.csr_matrix
    ) -> Dense | Blocked:
        """Return equations to solve: rows times a scale, and two penalties."""
        if self.equations.is_dense:
            return Dense(scale * self.matrix.toarray(), fixed, chosen)
        return Blocked(self.equations, scale * self.weights, scale * self.matrix, fixed, chosen)


class Dense:
    """Equations as one matrix."""

    def __init__(self, curvature: Floats, fixed: scipy.sparse.csr_matrix, chosen: scipy.sparse.csr_matrix) -> None:
        self.curvature, self.fixed = curvature, fixed
        self.whole = curvature + (fixed + chosen).toarray()
        self.factor = self._factored()

    def _factored(self) -> tuple[Floats, bool]:
        for damping in _DAMPING:
            damped = self.whole.copy()
            damped[np.diag_indices_from(damped)] *= 1 + damping
            try:
                factor: tuple[Floats, bool] = cho_factor(damped, lower=True, overwrite_a=True)
            except np.linalg.LinAlgError:
                continue
            return factor
        raise DataError("the table's columns cannot be told apart by floating point; drop those that repeat others")

    def solve(self, right: Floats) -> Floats:
        """Return the solution."""
        return np.asarray(cho_solve(self.factor, right))

    @cached_property
    def shares(self) -> Floats:
        """How far the chosen penalty leaves each parameter to the rows and to the fixed one, from 0 to 1."""
        return np.asarray(self.influences + np.ravel(self.fixed.multiply(self._inverse).sum(axis=1)))

    @cached_property
    def influences(self) -> Floats:
        """How far rows determine each parameter, from 0 to 1."""
        return np.asarray(np.sum(self._inverse * self.curvature, axis=1))

    def gain(self, place: slice, values: Floats, precision: float, logarithm: float) -> float:
        """Return what a block adds to the logarithm of the marginal likelihood, given other blocks."""
        own = self.whole[place, place]
        return 0.5 * (
            float(values @ own @ values) - self.determinant(place) + logarithm + len(values) * float(np.log(precision))
        )

    def determinant(self, place: slice) -> float:
        """Return the logarithm of the determinant of a diagonal block."""
        return float(np.linalg.slogdet(self.whole[place, place])[1])

    def loss_without(self, places: NDArray[np.int64], values: Floats) -> float:
        """Return what the quadratic grows by if values at some places become 0 and all others make up for it."""
        spread, part = self._inverse[np.ix_(places, places)], values[places]
        return 0.5 * float(part @ np.linalg.lstsq(spread, part, rcond=None)[0])

    @cached_property
    def _inverse(self) -> Floats:
        lower = np.tril(lapack.dpotri(self.factor[0], lower=1)[0])
        return np.asarray(lower + np.tril(lower, -1).T)


class Blocked:
    """Equations whose diagonal blocks are factored; what ties the blocks together is left to conjugate gradients."""

    def __init__(
        self,
        equations: NormalEquations,
        weights: Floats,
        blocks: scipy.sparse.csc_matrix,
        fixed: scipy.sparse.csr_matrix,
        chosen: scipy.sparse.csr_matrix,
    ) -> None:
        self.equations, self.weights, self.blocks = equations, weights, blocks
        self.fixed, self.penalty = fixed, (fixed + chosen).tocsr()
        self.factor = splu(
            (blocks + self.penalty).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

    def solve(self, right: Floats) -> Floats:
        """Return the solution."""
        size, one = (self.equations.size,) * 2, self.equations
        whole = LinearOperator(
            size, lambda v: one.back @ (self.weights * (one.matrix @ v)) + self.penalty @ v, dtype=np.float64
        )
        ahead = LinearOperator(size, self.factor.solve, dtype=np.float64)
        # To SciPy's relative tolerance, 1e-5; what it is called depends on the version.
        return np.asarray(cg(whole, right, atol=0.0, maxiter=_MOST_ITERATIONS, M=ahead)[0])

    @cached_property
    def shares(self) -> Floats:
        """How far the chosen penalty leaves each parameter to the rows and to the fixed one, given other blocks."""
        return self._diagonal(self.blocks + self.fixed)

    @cached_property
    def influences(self) -> Floats:
        """How far rows determine each parameter, given other blocks."""
        return self._diagonal(self.blocks)

    def _diagonal(self, matrix: scipy.sparse.csc_matrix) -> Floats:
        """Return the diagonal of the inverse times a matrix, by random probes."""
        probes = np.random.default_rng(0).choice([-1.0, 1.0], (self.equations.size, _PROBES))
        return np.asarray(np.mean(probes * self.factor.solve(matrix @ probes), axis=1))

    def gain(self, place: slice, values: Floats, precision: float, logarithm: float) -> float:
        """Return what a block adds to the logarithm of the marginal likelihood, given other blocks.

        `logarithm` is that of the determinant of its penalty, up to the precision.
        """
        bend = float(values @ ((self.blocks + self.penalty)[place, place] @ values))
        return 0.5 * (bend - self.determinant(place) + logarithm + len(values) * float(np.log(precision)))

    def determinant(self, place: slice) -> float:
        """Return the logarithm of the determinant of a diagonal block."""
        return float(self._logarithms[place].sum())

    def loss_without(self, places: NDArray[np.int64], values: Floats) -> float:
        """Return what the quadratic grows by if values at some places become 0, given other blocks, but for a level."""
        own, part = (self.blocks + self.penalty)[places][:, places], values[places]
        pull = np.asarray(own.sum(axis=0)).ravel()
        level = float(pull @ part) / max(float(pull.sum()), 1e-300)
        return 0.5 * float((part - level) @ (own @ (part - level)))

    @cached_property
    def _logarithms(self) -> Floats:
        """For each parameter a term, those of a block adding up to the logarithm of its determinant."""
        return np.asarray(np.log(np.abs(self.factor.U.diagonal()))[self.factor.perm_c])


def _weighted(matrix: scipy.sparse.csr_matrix, weights: Floats) -> scipy.sparse.csr_matrix:
    """Return the matrix with its rows times the square roots of weights."""
    scale = np.repeat(np.sqrt(weights), np.diff(matrix.indptr))
    return scipy.sparse.csr_matrix((matrix.data * scale, matrix.indices, matrix.indptr), matrix.shape)
