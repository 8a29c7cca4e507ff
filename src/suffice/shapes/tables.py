"""Shapes given by listing their values: steps, broken lines, tables over categories and special codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from suffice.errors import ShapeError
from suffice.numbers.exact import ZERO, Number, Rational
from suffice.numbers.values import Label, Missing
from suffice.shapes.function import Function
from suffice.shapes.given import Outputs, exact_number, increasing, output_row, output_rows
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Shape, Support


@dataclass(frozen=True, slots=True, init=False)
class Steps(Shape):
    """Step function: one constant on each bin.

    Parameters
    ----------
    cuts : sequence of numbers
        Where the bins meet, strictly increasing.
    values : sequence of numbers, or of sequences of numbers
        One for each bin, so one more than cuts; a sequence gives several outputs.
    closed : {"left", "right"}
        Which bin a cut belongs to: "left" for bins `[a, b)` (the cut opens the upper bin), "right" for `(a, b]`.

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> step = Steps(cuts=[18], values=[-1, 1])
    >>> step.compile()[0](rational(18))
    1
    """

    is_straight: ClassVar[bool] = True

    cuts: tuple[Rational, ...]
    values: tuple[Outputs, ...]
    closed: Literal["left", "right"]

    def __init__(
        self,
        cuts: Sequence[Number],
        values: Sequence[Number] | Sequence[Sequence[Number]],
        closed: Literal["left", "right"] = "left",
    ) -> None:
        object.__setattr__(self, "cuts", increasing("cuts", cuts))
        object.__setattr__(self, "values", output_rows("values", values))
        object.__setattr__(self, "closed", closed)
        if len(self.values) != len(self.cuts) + 1:
            raise ShapeError(f"{len(self.cuts)} cuts make {len(self.cuts) + 1} bins, got {len(self.values)} values")
        if closed not in ("left", "right"):
            raise ShapeError(f"closed must be 'left' or 'right', got {closed!r}")

    @property
    def outputs(self) -> int:
        return len(self.values[0])

    @property
    def support(self) -> Support:
        return Support(is_everywhere=True)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Pieces, ...]:
        flat = (ZERO,) * len(self.values)
        columns = list(zip(*self.values, strict=True))
        at_cut = slice(1, None) if self.closed == "left" else slice(None, -1)
        return tuple(Pieces.tidy(self.cuts, flat, column, column[at_cut]) for column in columns)


@dataclass(frozen=True, slots=True, init=False)
class PiecewiseLinear(Shape):
    """Broken line through the given points, with given slopes before the first and after the last.

    Parameters
    ----------
    knots : sequence of numbers
        One or more, strictly increasing.
    values : sequence of numbers, or of sequences of numbers
        The value at each knot; a sequence gives several outputs.
    left_slope, right_slope : number or sequence of numbers
        Slope before the first knot and after the last (one for each output, or one for all).

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> relu = PiecewiseLinear([0], [0], right_slope=1)
    >>> relu.compile()[0](rational("1/3"))
    1/3
    """

    is_straight: ClassVar[bool] = True

    knots: tuple[Rational, ...]
    values: tuple[Outputs, ...]
    left_slope: Outputs
    right_slope: Outputs

    def __init__(
        self,
        knots: Sequence[Number],
        values: Sequence[Number] | Sequence[Sequence[Number]],
        left_slope: Number | Sequence[Number] = 0,
        right_slope: Number | Sequence[Number] = 0,
    ) -> None:
        object.__setattr__(self, "knots", increasing("knots", knots))
        object.__setattr__(self, "values", output_rows("values", values))
        if not len(self.knots) == len(self.values) >= 1:
            raise ShapeError(
                f"need one value for each of 1 or more knots, got {len(self.knots)} and {len(self.values)}"
            )
        for name, slope in (("left_slope", left_slope), ("right_slope", right_slope)):
            row = output_row(name, slope)
            row = row * self.outputs if len(row) == 1 else row
            if len(row) != self.outputs:
                raise ShapeError(f"{name} has {len(row)} entries for {self.outputs} outputs")
            object.__setattr__(self, name, row)

    @property
    def outputs(self) -> int:
        return len(self.values[0])

    @property
    def support(self) -> Support:
        return Support(is_everywhere=True)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Pieces, ...]:
        return tuple(self._compile_output(j) for j in range(self.outputs))

    def _compile_output(self, j: int) -> Pieces:
        values = [row[j] for row in self.values]
        inner = [
            (high - low) / (right - left)
            for (left, low), (right, high) in pairwise(zip(self.knots, values, strict=True))
        ]
        slopes = [self.left_slope[j], *inner, self.right_slope[j]]
        anchors = [(self.knots[0], values[0]), *zip(self.knots, values, strict=True)]
        offsets = [value - slope * knot for slope, (knot, value) in zip(slopes, anchors, strict=True)]
        return Pieces.tidy(self.knots, slopes, offsets, values)


@dataclass(frozen=True, slots=True, init=False)
class Table(Shape):
    """A value for each of some categories, numbers or special codes; another shape, if given, for the rest.

    Parameters
    ----------
    entries : mapping of str, number or MISSING to a number or a sequence of numbers
        Text is the name of a category. A number is that very number.
    otherwise : Shape, optional
        What holds for all other numbers and labels. Without it there is no value outside the table.

    Examples
    --------
    A score that falls with age, and a value of its own for the code -9:

    >>> from suffice.numbers.exact import rational
    >>> table = Table({-9: 0.25}, otherwise=PiecewiseLinear([0], [1], right_slope=-1))
    >>> table.compile()[0](rational(-9)), table.compile()[0](rational(2))
    (1/4, -1)
    """

    is_straight: ClassVar[bool] = True

    points: Mapping[Rational, Outputs]
    labels: Mapping[Label, Outputs]
    otherwise: Shape | None

    def __init__(
        self, entries: Mapping[str | Number | Missing, Number | Sequence[Number]], otherwise: Shape | None = None
    ) -> None:
        if not isinstance(entries, Mapping) or not (otherwise is None or isinstance(otherwise, Shape)):
            raise ShapeError("a table takes a mapping of values to numbers and, for the rest, another shape")
        points: dict[Rational, Outputs] = {}
        labels: dict[Label, Outputs] = {}
        for key, value in entries.items():
            row = output_row(f"entry {key!r}", value)
            if isinstance(key, (str, Missing)):
                labels[key] = row
            else:
                points[exact_number("table key", key)] = row
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "otherwise", otherwise)
        widths = {len(row) for row in (*points.values(), *labels.values())}
        widths |= {otherwise.outputs} if otherwise is not None else set()
        if len(widths) != 1:
            what = f"entries of {sorted(widths)} outputs" if widths else "no entries"
            raise ShapeError(f"a table needs entries that all have the same number of outputs, got {what}")

    @property
    def made_of(self) -> tuple[Shape, ...]:
        return () if self.otherwise is None else (self.otherwise,)

    @property
    def outputs(self) -> int:
        rows = (*self.points.values(), *self.labels.values())
        return len(rows[0]) if rows or self.otherwise is None else self.otherwise.outputs

    @property
    def support(self) -> Support:
        rest = self.otherwise.support if self.otherwise is not None else Support(is_everywhere=False)
        labels = (*self.labels, *(label for label in rest.labels if label not in self.labels))
        return Support(rest.is_everywhere, rest.points | self.points.keys(), labels)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[Function, ...]:
        if self.otherwise is not None:
            rest = self.otherwise.compile(budget)
        else:  # off the table there is no value to keep: the support says so, and no region leaves it
            rest = (Pieces.affine(ZERO, ZERO),) * self.outputs
        return tuple(
            function.overwritten(
                {point: row[j] for point, row in self.points.items()},
                {label: row[j] for label, row in self.labels.items()},
            )
            for j, function in enumerate(rest)
        )
