"""What every shape offers, and the ways to make new shapes out of old ones.

A shape is a description (parameters at their exact values); `compile` turns it into functions, one per output:
`Pieces`, or `Curves` where it is curved. Sums, multiples and affine changes of the input are shapes again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import Any, ClassVar, final

from suffice.errors import CellBudgetError, PieceBudgetError, ShapeError
from suffice.numbers.exact import ONE, ZERO, Number, Rational, rational
from suffice.numbers.values import Label
from suffice.shapes.combining import combined
from suffice.shapes.function import Function
from suffice.shapes.pieces import Pieces


@dataclass(frozen=True, slots=True)
class PieceBudget:
    """How many affine pieces one shape may have, whose shape it is, and over which interval it is compiled.

    Without `low` and `high` that is all of ℝ. With one or both, networks are compiled over the interval between them
    alone, and what comes out holds there and nowhere else. If `enclose` is given, they are not tabulated at all: what
    it makes of them takes their place, which is known between two numbers, by bisection.
    """

    most: int = 10_000
    feature: str = "x"
    low: Rational | None = None
    high: Rational | None = None
    enclose: Callable[[Any], Any] | None = None

    @property
    def is_restricted(self) -> bool:
        """Whether an interval is meant."""
        return self.low is not None or self.high is not None

    def inside(self, center: Rational, scale: Rational) -> PieceBudget:
        """Return the budget of a shape that is asked about `(x - center) / scale`."""
        low, high = (None if end is None else (end - center) / scale for end in (self.low, self.high))
        return replace(self, low=low, high=high) if scale > 0 else replace(self, low=high, high=low)

    def check(self, pieces: int, layer: int) -> None:
        """Raise `PieceBudgetError` if there are too many pieces."""
        if pieces > self.most:
            raise PieceBudgetError(self.feature, self.most, layer)

    def check_cells(self, rows: int, columns: int) -> None:
        """Raise `CellBudgetError` if a table of so many cells is too large."""
        if rows * columns > _CELLS_PER_PIECE * self.most:
            raise CellBudgetError(self.feature, rows, columns, _CELLS_PER_PIECE * self.most)


_CELLS_PER_PIECE = 100  # a table may have a million cells by default

DEFAULT_BUDGET = PieceBudget()


@dataclass(frozen=True, slots=True)
class Support:
    """Where a shape has a value: on all of ℝ or at some numbers only, and at which labels."""

    is_everywhere: bool
    points: frozenset[Rational] = frozenset()
    labels: tuple[Label, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no value anywhere."""
        return not (self.is_everywhere or self.points or self.labels)

    def rescaled(self, center: Rational, scale: Rational) -> Support:
        """Return where `x -> shape((x - center) / scale)` has a value."""
        points = frozenset(point * scale + center for point in self.points)
        return Support(self.is_everywhere, points, self.labels)

    def meet(self, other: Support) -> Support:
        """Return where both have a value."""
        if self.is_everywhere:
            points = other.points
        elif other.is_everywhere:
            points = self.points
        else:
            points = self.points & other.points
        theirs = set(other.labels)
        labels = tuple(label for label in self.labels if label in theirs)
        return Support(self.is_everywhere and other.is_everywhere, points, labels)


class Shape(ABC):
    """Function of one variable with one or more outputs, given by exact parameters.

    Examples
    --------
    >>> from suffice import Steps
    >>> both = Steps([0], [0, 1]) + 2 * Steps([1], [0, 1])
    >>> both.outputs, [len(pieces.slopes) for pieces in both.compile()]
    (1, [3])
    """

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many numbers the function returns."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """Where the function has a value."""

    is_straight: ClassVar[bool] = False  # whether it is `Pieces`, if all that it is made of is

    @property
    def made_of(self) -> tuple[Shape, ...]:
        """The shapes that it is made of."""
        return ()

    @abstractmethod
    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        """Return the function as an exact function, one for each output."""

    @final
    def __add__(self, other: Shape) -> Shape:
        if not isinstance(other, Shape):
            return NotImplemented
        return Sum((self, other))

    @final
    def __neg__(self) -> Shape:
        return Scaled(self, -ONE)

    @final
    def __sub__(self, other: Shape) -> Shape:
        if not isinstance(other, Shape):
            return NotImplemented
        return Sum((self, Scaled(other, -ONE)))

    @final
    def __mul__(self, factor: Number) -> Shape:
        return Scaled(self, rational(factor))

    __rmul__ = __mul__

    @final
    def rescaled(self, center: Number = 0, scale: Number = 1) -> Shape:
        """Return `x -> self((x - center) / scale)`, the shape as a function of an unscaled input."""
        return Rescaled(self, rational(center), rational(scale))


@dataclass(frozen=True, slots=True)
class Sum(Shape):
    """Sum of shapes with the same number of outputs, where all have a value."""

    is_straight: ClassVar[bool] = True

    parts: tuple[Shape, ...]
    _support: Support = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A sum among the parts is checked and knows its support, so that adding one summand after the other takes no
        # longer than adding all at once.
        if len({part.outputs for part in self.parts}) != 1:
            raise ShapeError(
                f"cannot add shapes with {' and '.join(str(part.outputs) for part in self.parts[:3])} outputs; "
                "all need the same number"
            )
        support = reduce(Support.meet, (part.support for part in self.parts))
        object.__setattr__(self, "_support", support)
        # One level, however the sum was built up: a thousand boosted stumps are one sum of a thousand.
        flat = chain.from_iterable(part.parts if isinstance(part, Sum) else (part,) for part in self.parts)
        object.__setattr__(self, "parts", tuple(flat))
        if support.is_empty:
            raise ShapeError("cannot add these shapes: there is no number or label where all have a value")

    @property
    def outputs(self) -> int:
        return self.parts[0].outputs

    @property
    def made_of(self) -> tuple[Shape, ...]:
        return self.parts

    @property
    def support(self) -> Support:
        return self._support

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        compiled = [part.compile(budget) for part in self.parts]
        return tuple(combined((ONE, one) for one in output) for output in zip(*compiled, strict=True))


@dataclass(frozen=True, slots=True)
class Scaled(Shape):
    """Multiple of a shape."""

    is_straight: ClassVar[bool] = True

    shape: Shape
    factor: Rational

    @property
    def made_of(self) -> tuple[Shape, ...]:
        return (self.shape,)

    @property
    def outputs(self) -> int:
        return self.shape.outputs

    @property
    def support(self) -> Support:
        return self.shape.support

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        compiled = tuple(combined([(self.factor, pieces)]) for pieces in self.shape.compile(budget))
        if self.factor:
            return compiled
        zeros = dict.fromkeys(self.support.labels, ZERO)  # nothing times a smooth shape has no labels of its own
        return tuple(one.with_labels(zeros) if isinstance(one, Pieces) and not one.labels else one for one in compiled)


@dataclass(frozen=True, slots=True)
class Rescaled(Shape):
    """`x -> shape((x - center) / scale)`; labels keep their values."""

    is_straight: ClassVar[bool] = True

    shape: Shape
    center: Rational
    scale: Rational

    @property
    def made_of(self) -> tuple[Shape, ...]:
        return (self.shape,)

    def __post_init__(self) -> None:
        if self.scale == 0:
            raise ShapeError("cannot divide the input by a scale of 0; a constant column needs scale 1")

    @property
    def outputs(self) -> int:
        return self.shape.outputs

    @property
    def support(self) -> Support:
        return self.shape.support.rescaled(self.center, self.scale)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        inner = budget.inside(self.center, self.scale)
        return tuple(one.rescaled(self.center, self.scale) for one in self.shape.compile(inner))
