"""Shapes that are polynomials between knots: splines, quadratic terms, the parts of Gaussian naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq_poly

from suffice.errors import ShapeError
from suffice.numbers.exact import Number, Rational
from suffice.shapes.enclosed import piecewise
from suffice.shapes.function import Function
from suffice.shapes.given import Outputs, check_list, increasing, output_row, output_rows
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Shape, Support

HIGHEST_DEGREE = 20


@dataclass(frozen=True, slots=True, init=False)
class PiecewisePolynomial(Shape):
    """Polynomials, one between each two knots: exact up to degree 3, enclosed as closely as one likes up to degree 20.

    Parameters
    ----------
    knots : sequence of numbers
        Where the pieces meet, strictly increasing; none for a polynomial.
    coefficients : sequence of sequences of numbers
        For each piece, so one more than knots, the factors of 1, x, x², x³ and so on, as many as there are. With
        several outputs a sequence of such sequences.
    values : sequence of numbers, or of sequences of numbers, optional
        The value at each knot. Default: that of the piece which begins there.

    Examples
    --------
    The square of what is above 1:

    >>> from suffice.numbers.exact import rational
    >>> curve, = PiecewisePolynomial([1], [[0], [1, -2, 1]]).compile()
    >>> curve(rational(0)), curve(rational(3))
    (0, 4)
    """

    knots: tuple[Rational, ...]
    coefficients: tuple[tuple[Outputs, ...], ...]  # by piece, by output, by power
    values: tuple[Outputs, ...]

    def __init__(
        self,
        knots: Sequence[Number],
        coefficients: Sequence[Sequence[Number] | Sequence[Sequence[Number]]],
        values: Sequence[Number] | Sequence[Sequence[Number]] | None = None,
    ) -> None:
        object.__setattr__(self, "knots", increasing("knots", knots))
        check_list("coefficients", coefficients)
        pieces = tuple(_piece(f"coefficients[{k}]", one) for k, one in enumerate(coefficients))
        if len(pieces) != len(self.knots) + 1:
            raise ShapeError(f"{len(self.knots)} knots make {len(self.knots) + 1} pieces, got {len(pieces)}")
        if len({len(piece) for piece in pieces}) > 1:
            raise ShapeError(f"all pieces need the same number of outputs, got {sorted({len(p) for p in pieces})}")
        object.__setattr__(self, "coefficients", pieces)
        if values is None:
            at = zip(self.knots, pieces[1:], strict=True)
            exact = tuple(tuple(fmpq_poly(list(powers))(knot) for powers in piece) for knot, piece in at)
        else:
            exact = output_rows("values", values)
        if len(exact) != len(self.knots) or any(len(row) != self.outputs for row in exact):
            raise ShapeError(f"need {self.outputs} values at each of {len(self.knots)} knots")
        object.__setattr__(self, "values", exact)

    @property
    def outputs(self) -> int:
        return len(self.coefficients[0])

    @property
    def support(self) -> Support:
        return Support(is_everywhere=True)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        return tuple(self._output(j, budget) for j in range(self.outputs))

    def _output(self, j: int, budget: PieceBudget) -> Function:
        polynomials = [fmpq_poly(list(piece[j])) for piece in self.coefficients]
        values = [row[j] for row in self.values]
        return piecewise(self.knots, polynomials, values, budget.feature)


def _piece(what: str, given: Sequence[Number] | Sequence[Sequence[Number]]) -> tuple[Outputs, ...]:
    """Return the coefficients of each output on one piece, without the highest powers whose factor is 0."""
    check_list(what, given)
    is_one = not any(isinstance(one, (Sequence, np.ndarray)) and not isinstance(one, str) for one in given)
    rows = [given] if is_one else given
    return tuple(_shortened(what, output_row(what, row)) for row in rows)  # type: ignore[arg-type]


def _shortened(what: str, row: Outputs) -> Outputs:
    power = max((power for power, factor in enumerate(row) if factor), default=0)
    if power > HIGHEST_DEGREE:
        raise ShapeError(f"{what} has the power {power}; polynomials are taken up to degree {HIGHEST_DEGREE}")
    return row[: power + 1]
