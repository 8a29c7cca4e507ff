"""Products of two shapes, each of a variable of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.errors import ShapeError
from suffice.numbers.exact import ZERO, Rational
from suffice.shapes.axis import Axis, Cut
from suffice.shapes.combining import straight
from suffice.shapes.pair_pieces import Grid, PairPieces
from suffice.shapes.pair_shape import PairShape, Supports
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Shape


@dataclass(frozen=True, slots=True)
class Product(PairShape):
    """`(x, y) -> first(x) · second(y)`, of shapes with the same number of outputs, output by output.

    Parameters
    ----------
    first, second : Shape
        Functions of one variable each: steps, tables, broken lines, networks, and what they are combined to.

    Examples
    --------
    >>> from suffice import PiecewiseLinear, Product, Steps
    >>> line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    >>> (after_noon,) = Product(line, Steps([12], [0, 1])).compile()
    >>> from suffice.numbers.exact import rational
    >>> after_noon(rational(7), rational(13)), after_noon(rational(7), rational(11))
    (7, 0)
    """

    first: Shape
    second: Shape

    def __post_init__(self) -> None:
        for factor in (self.first, self.second):
            if not isinstance(factor, Shape):
                raise ShapeError(f"a product is of two shapes of one variable each, got a {type(factor).__name__}")
        if self.first.outputs != self.second.outputs:
            raise ShapeError(
                f"cannot multiply shapes with {self.first.outputs} and {self.second.outputs} outputs; "
                "both need the same number"
            )

    @property
    def outputs(self) -> int:
        return self.first.outputs

    @property
    def supports(self) -> Supports:
        return self.first.support, self.second.support

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        first, second = straight(self.first.compile(budget)), straight(self.second.compile(budget))
        if first is None or second is None:
            raise ShapeError("a product with a curved shape cannot be dealt with yet; use broken lines")
        return tuple(_product(*factors, budget) for factors in zip(first, second, strict=True))


def _product(first: Pieces, second: Pieces, budget: PieceBudget) -> PairPieces:
    (rows, offsets, slopes), (columns, others, climbs) = _cells(first), _cells(second)
    budget.check_cells(len(rows), len(columns))
    return PairPieces(
        (rows, columns),
        np.multiply.outer(offsets, others),
        (np.multiply.outer(slopes, others), np.multiply.outer(offsets, climbs)),
        np.multiply.outer(slopes, climbs),
    ).tidied()


def _cells(function: Pieces) -> tuple[Axis, Grid, Grid]:
    """Return a function of one variable on cells: offset and slope of each; where it jumps a knot is its own cell."""
    cuts: list[Cut] = []
    offsets: list[Rational] = [function.offsets[0]]
    slopes: list[Rational] = [function.slopes[0]]
    for k, (knot, value) in enumerate(zip(function.knots, function.values, strict=True)):
        before, after = ((function.slopes[m] * knot + function.offsets[m]) == value for m in (k, k + 1))
        if before and not after:
            cuts.append(Cut(knot, 1))
        else:
            cuts.append(Cut(knot, 0))
        if not before and not after:
            cuts.append(Cut(knot, 1))
            offsets.append(value)
            slopes.append(ZERO)
        offsets.append(function.offsets[k + 1])
        slopes.append(function.slopes[k + 1])
    axis = Axis(tuple(cuts), tuple(function.labels))
    offsets += function.labels.values()
    slopes += [ZERO for _ in function.labels]
    return axis, np.array(offsets, dtype=object), np.array(slopes, dtype=object)
