"""The one kind of compiled function of two variables: bilinear on each cell of a grid.

In: two axes and the coefficients of each product cell, or a linear combination of such functions.
Out: exact values, and exact limits at the border of a cell.
Guaranteed: no rounding anywhere.

Steps and tables, by far the most common, are constant on each cell; the other coefficients are then not kept at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.numbers.values import Value
from suffice.shapes.axis import Axis, Cut, united

Grid: TypeAlias = NDArray[Any]  # of rationals: a row for each cell of the first axis, a column for each of the second


@dataclass(frozen=True, eq=False)
class PairPieces:
    """Function of two variables in exact arithmetic.

    Parameters
    ----------
    axes : pair of Axis
        The cells of the first variable and of the second.
    constants : Grid
        The constant coefficient of each product cell.
    slopes : pair of Grid or None
        The coefficients of the first and of the second variable; None where they are 0 in all cells.
    twists : Grid or None
        The coefficient of the product of both variables. Where a variable is a label its coefficients are 0.

    Examples
    --------
    >>> from flint import fmpq
    >>> from suffice.shapes.axis import Cut
    >>> young_and_rich = PairPieces((Axis((Cut(fmpq(30), 0),)), Axis((Cut(fmpq(1000), 1),))), grid([[0, 2], [0, 0]]))
    >>> young_and_rich(fmpq(29), fmpq(1001)), young_and_rich(fmpq(29), fmpq(1000)), young_and_rich(fmpq(30), fmpq(1001))
    (2, 0, 0)
    """

    axes: tuple[Axis, Axis]
    constants: Grid
    slopes: tuple[Grid | None, Grid | None] = (None, None)
    twists: Grid | None = None

    def __post_init__(self) -> None:
        shape = (len(self.axes[0]), len(self.axes[1]))
        for coefficients in self.coefficients:
            assert coefficients is None or coefficients.shape == shape
            if coefficients is not None:
                coefficients.flags.writeable = False

    @property
    def coefficients(self) -> tuple[Grid, Grid | None, Grid | None, Grid | None]:
        """The coefficients of 1, of the first variable, of the second, and of their product."""
        return self.constants, *self.slopes, self.twists

    def __call__(self, first: Value, second: Value) -> Rational:
        """Return the exact value at numbers or labels."""
        return self.limit(self.axes[0].cell_of(first), first, self.axes[1].cell_of(second), second)

    def limit(self, row: int, first: Value | None, column: int, second: Value | None) -> Rational:
        """Return what the coefficients of a product cell give at a point, which may lie on the border of the cell.

        Where the cell does not vary along an axis the point of that axis does not matter, and may be None.
        """
        value: Rational = self.constants[row, column]
        for coefficients, at in zip(self.slopes, (first, second), strict=True):
            if coefficients is not None and coefficients[row, column]:
                value = value + coefficients[row, column] * at
        if self.twists is not None and self.twists[row, column]:
            value = value + self.twists[row, column] * first * second
        return value

    @property
    def is_zero(self) -> bool:
        """Whether the function is 0 everywhere."""
        return all(one is None or not one.any() for one in self.coefficients)

    @property
    def is_constant_in_cells(self) -> bool:
        """Whether the function is a table: constant on each product cell."""
        return all(one is None for one in self.coefficients[1:])

    @cached_property
    def varies(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For each axis and each of its cells whether the function is anything but constant along that axis there."""
        rows, columns = (np.zeros(len(axis), dtype=bool) for axis in self.axes)
        for moving, axis, varies in ((self.slopes[0], 1, rows), (self.slopes[1], 0, columns)):
            for coefficients in (moving, self.twists):
                if coefficients is not None:
                    varies |= coefficients.astype(bool).any(axis=axis)
        return rows, columns

    def transposed(self) -> PairPieces:
        """Return `(x, y) -> self(y, x)`."""
        constants, first, second, twists = (None if one is None else one.T for one in self.coefficients)
        assert constants is not None
        return PairPieces((self.axes[1], self.axes[0]), constants, (second, first), twists)

    def rescaled(self, centers: Sequence[Rational], scales: Sequence[Rational]) -> PairPieces:
        """Return the function of `(x - center) / scale` in each variable, for scales other than 0; labels stay."""
        first = self._with_rescaled_rows(centers[0], scales[0]).transposed()
        return first._with_rescaled_rows(centers[1], scales[1]).transposed()

    def _with_rescaled_rows(self, center: Rational, scale: Rational) -> PairPieces:
        axis = self.axes[0]
        cells = np.arange(len(axis))
        if scale < 0:
            cells[: axis.numbers] = cells[: axis.numbers][::-1]
        turned = self._of((axis.rescaled(center, scale), self.axes[1]), lambda one: one[cells])
        if turned.slopes[0] is None and turned.twists is None:
            return turned
        # a·(x - center)/scale = (a/scale)·x - (a/scale)·center, and the same with d·y in place of a.
        constants, first, second, twists = turned._full
        first, twists = first / scale, twists / scale
        return PairPieces(turned.axes, constants - first * center, (first, second - twists * center), twists)

    def on(self, axes: tuple[Axis, Axis]) -> PairPieces:
        """Return the same function on finer axes, or on some of the labels."""
        cells = np.ix_(self.axes[0].cells_in(axes[0]), self.axes[1].cells_in(axes[1]))
        return self._of(axes, lambda one: one[cells])

    def held(self, side: int, cell: int) -> PairPieces:
        """Return what a cell of one axis says, for all numbers and labels of that axis."""
        if side:
            return self.transposed().held(0, cell).transposed()
        axis = Axis((), self.axes[0].labels)
        return self._of((axis, self.axes[1]), lambda one: np.repeat(one[[cell]], len(axis), axis=0))

    def tidied(self) -> PairPieces:
        """Return the same function without cuts where nothing happens, and without grids of zeros."""
        flat = self._with_flat_points().transposed()._with_flat_points().transposed()
        first, second, twists = (one if one is not None and one.any() else None for one in flat.coefficients[1:])
        function = PairPieces(flat.axes, flat.constants, (first, second), twists)
        return function._with_fewest_rows().transposed()._with_fewest_rows().transposed()

    def _with_flat_points(self) -> PairPieces:
        """Return the same function with coefficients of 0 for the first variable in cells of a single number."""
        axis = self.axes[0]
        points = [k for k in range(axis.numbers) if axis.interval(k).is_point]
        if not points or (self.slopes[0] is None and self.twists is None):
            return self
        constants, first, second, twists = (np.array(one) for one in self._full)
        for k in points:
            constants[k], second[k] = self._row_at(k, axis.interval(k).low)
            first[k], twists[k] = ZERO, ZERO
        return PairPieces(self.axes, constants, (first, second), twists)

    def _with_fewest_rows(self) -> PairPieces:
        """Return the same function without the cuts of the first axis where nothing happens."""
        axis, cuts, cells = self.axes[0], list[Cut](), [0]
        for k in range(1, axis.numbers):
            before, here = axis.interval(cells[-1]), axis.interval(k)
            if self._is_same_row(cells[-1], k) or (here.is_point and self._agree_at(here.low, cells[-1], k)):
                continue
            if before.is_point and self._agree_at(before.low, cells[-1], k):
                cells[-1] = k  # the single number before this cell repeats what this cell says there
                continue
            cuts.append(axis.cuts[k - 1])
            cells.append(k)
        if len(cells) == axis.numbers:
            return self
        kept = [*cells, *range(axis.numbers, len(axis))]
        return self._of((Axis(tuple(cuts), axis.labels), self.axes[1]), lambda one: one[kept])

    def _is_same_row(self, one: int, other: int) -> bool:
        return all(grid is None or (grid[one] == grid[other]).all() for grid in self.coefficients)

    def _agree_at(self, at: Rational | None, one: int, other: int) -> bool:
        """Whether two cells of the first axis give the same function of the second variable at a number."""
        rows = zip(self._row_at(one, at), self._row_at(other, at), strict=True)
        return all((here == there).all() for here, there in rows)

    def _row_at(self, k: int, at: Rational | None) -> tuple[Grid, Grid]:
        """Return a cell of the first axis at a number: constants, and coefficients of the second variable."""
        constants, first, second, twists = (one[k] for one in self._full)
        return constants + first * at, second + twists * at

    @cached_property
    def _full(self) -> tuple[Grid, Grid, Grid, Grid]:
        """All coefficients, zeros too."""
        zeros = grid(ZERO, self.constants.shape)
        constants, first, second, twists = (zeros if one is None else one for one in self.coefficients)
        return constants, first, second, twists

    def _of(self, axes: tuple[Axis, Axis], change: Callable[[Grid], Grid]) -> PairPieces:
        """Return a function on other axes, each grid of coefficients changed in the same way."""
        constants, first, second, twists = (None if one is None else change(one) for one in self.coefficients)
        assert constants is not None
        return PairPieces(axes, constants, (first, second), twists)


def grid(values: Any, shape: tuple[int, int] | None = None) -> Grid:
    """Return numbers as a table of rationals; one number fills a table of a given shape."""
    table = np.array(values, dtype=object) if shape is None else np.full(shape, values, dtype=object)
    return np.vectorize(rational, otypes=[object])(table) if table.size else table


def combine_pairs(parts: Iterable[tuple[Rational, PairPieces]]) -> PairPieces:
    """Return the linear combination `Σ factor · part` of one part or more; a label must be known to all parts.

    A function is what changes from cell to cell along both axes. Changes at equal places add up, so that the sum of
    a thousand small trees takes one pass over its cells, not a thousand.
    """
    parts = list(parts)
    axes = (united([part.axes[0] for _, part in parts]), united([part.axes[1] for _, part in parts]))
    if all(part.axes == axes for _, part in parts):
        sums = [_total((factor, part.coefficients[c]) for factor, part in parts) for c in range(4)]
    else:
        sums = [_merged(axes, [(f, part, part.coefficients[c]) for f, part in parts]) for c in range(4)]
    constants, first, second, twists = sums
    assert constants is not None
    return PairPieces(axes, constants, (first, second), twists).tidied()


def _total(weighted: Iterable[tuple[Rational, Grid | None]]) -> Grid | None:
    grids = [one if factor == ONE else one * factor for factor, one in weighted if one is not None]
    return reduce(np.add, grids) if grids else None


def _merged(axes: tuple[Axis, Axis], parts: Sequence[tuple[Rational, PairPieces, Grid | None]]) -> Grid | None:
    """Return the weighted sum of grids on axes of their own, as a grid on axes finer than all of these."""
    changes = grid(ZERO, (len(axes[0]), len(axes[1])))
    used = [(factor, part, one) for factor, part, one in parts if one is not None]
    for factor, part, one in used:
        rows, columns = (mine.starts_in(finer) for mine, finer in zip(part.axes, axes, strict=True))
        steps = _differences(_differences(one, part.axes[0]).T, part.axes[1]).T * factor
        changes[np.ix_(rows[rows >= 0], columns[columns >= 0])] += steps[np.ix_(rows >= 0, columns >= 0)]
    for axis, table in zip(axes, (changes, changes.T), strict=True):
        table[: axis.numbers] = np.add.accumulate(table[: axis.numbers], axis=0)
    return changes if used else None


def _differences(table: Grid, axis: Axis) -> Grid:
    """Return by how much each row departs from the one before it; the first row and those of labels stay."""
    changed = table.copy()
    changed[1 : axis.numbers] -= table[: axis.numbers - 1]
    return changed
