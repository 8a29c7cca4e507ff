"""What every shape of two variables offers, and the ways to make new ones out of old ones.

As with one variable, a shape is a description (parameters at their exact values); `compile` turns it into `PairPieces`,
one per output. It has a value wherever both variables are in their supports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from typing import final

from suffice.errors import ShapeError
from suffice.numbers.exact import ONE, Number, Rational, brief, rational
from suffice.shapes.axis import united
from suffice.shapes.pair_pieces import PairPieces, combine_pairs
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Support

Supports = tuple[Support, Support]


class PairShape(ABC):
    """Function of two variables with one or more outputs, given by exact parameters.

    Examples
    --------
    >>> from suffice import PairSteps
    >>> both = PairSteps([0], [0], [[0, 0], [0, 1]]) + 2 * PairSteps([1], [], [[0], [1]])
    >>> (pieces,) = both.compile()
    >>> pieces(rational(1), rational(-1)), pieces(rational(1), rational(0))
    (2, 3)
    """

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many numbers the function returns."""

    @property
    @abstractmethod
    def supports(self) -> Supports:
        """Where each of the variables may be."""

    @abstractmethod
    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        """Return the function as exact pieces, one for each output."""

    @final
    def __add__(self, other: PairShape) -> PairShape:
        if not isinstance(other, PairShape):
            return NotImplemented
        return PairSum((self, other))

    @final
    def __neg__(self) -> PairShape:
        return PairScaled(self, -ONE)

    @final
    def __sub__(self, other: PairShape) -> PairShape:
        if not isinstance(other, PairShape):
            return NotImplemented
        return PairSum((self, PairScaled(other, -ONE)))

    @final
    def __mul__(self, factor: Number) -> PairShape:
        return PairScaled(self, rational(factor))

    __rmul__ = __mul__

    @final
    def rescaled(self, centers: Sequence[Number] = (0, 0), scales: Sequence[Number] = (1, 1)) -> PairShape:
        """Return the shape as a function of unscaled inputs: each variable `x` enters as `(x - center) / scale`."""
        return PairRescaled(self, _two("centers", centers), _two("scales", scales))


@dataclass(frozen=True, slots=True)
class PairSum(PairShape):
    """Sum of shapes of the same two variables with the same number of outputs, where all have a value."""

    parts: tuple[PairShape, ...]
    _supports: Supports = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len({part.outputs for part in self.parts}) != 1:
            raise ShapeError(
                f"cannot add shapes with {' and '.join(str(part.outputs) for part in self.parts[:3])} outputs; "
                "all need the same number"
            )
        first, second = (reduce(Support.meet, (part.supports[axis] for part in self.parts)) for axis in range(2))
        if first.is_empty or second.is_empty:
            raise ShapeError("cannot add these shapes: there is no number or label where all have a value")
        flat = chain.from_iterable(part.parts if isinstance(part, PairSum) else (part,) for part in self.parts)
        object.__setattr__(self, "parts", tuple(flat))
        object.__setattr__(self, "_supports", (first, second))

    @property
    def outputs(self) -> int:
        return self.parts[0].outputs

    @property
    def supports(self) -> Supports:
        return self._supports

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        return sum_pairs([part.compile(budget) for part in self.parts], budget)


@dataclass(frozen=True, slots=True)
class PairScaled(PairShape):
    """Multiple of a shape of two variables."""

    shape: PairShape
    factor: Rational

    @property
    def outputs(self) -> int:
        return self.shape.outputs

    @property
    def supports(self) -> Supports:
        return self.shape.supports

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        return tuple(combine_pairs([(self.factor, pieces)]) for pieces in self.shape.compile(budget))


@dataclass(frozen=True, slots=True)
class PairRescaled(PairShape):
    """`(x, y) -> shape((x - centers[0]) / scales[0], (y - centers[1]) / scales[1])`; labels keep their values."""

    shape: PairShape
    centers: tuple[Rational, Rational]
    scales: tuple[Rational, Rational]

    def __post_init__(self) -> None:
        if 0 in self.scales:
            raise ShapeError("cannot divide an input by a scale of 0; a constant column needs scale 1")

    @property
    def outputs(self) -> int:
        return self.shape.outputs

    @property
    def supports(self) -> Supports:
        first, second = self.shape.supports
        return first.rescaled(self.centers[0], self.scales[0]), second.rescaled(self.centers[1], self.scales[1])

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        return tuple(pieces.rescaled(self.centers, self.scales) for pieces in self.shape.compile(budget))


def sum_pairs(parts: Iterable[tuple[PairPieces, ...]], budget: PieceBudget) -> tuple[PairPieces, ...]:
    """Return the sum of compiled shapes, output by output, if it has no more cells than the budget allows."""
    sums = []
    for output in zip(*parts, strict=True):
        rows, columns = (len(united([pieces.axes[axis] for pieces in output])) for axis in range(2))
        budget.check_cells(rows, columns)
        sums.append(combine_pairs((ONE, pieces) for pieces in output))
    return tuple(sums)


def _two(what: str, given: Sequence[Number]) -> tuple[Rational, Rational]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise ShapeError(f"{what} must be two numbers, one for each variable, got {brief(given)}")
    return rational(given[0]), rational(given[1])
