"""Shapes of two variables given by listing their values: grids of steps, tables over categories, bilinear grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Literal, TypeAlias

import numpy as np
from flint import fmpq

from suffice.errors import ShapeError
from suffice.numbers.exact import ONE, ZERO, Number, Rational, brief
from suffice.numbers.values import Missing, Value
from suffice.shapes.axis import Axis, Cut, united
from suffice.shapes.given import check_list, exact_number, increasing, output_row
from suffice.shapes.pair_pieces import Grid, PairPieces
from suffice.shapes.pair_shape import PairShape, Supports
from suffice.shapes.shape import DEFAULT_BUDGET, PieceBudget, Support

Closed: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True, init=False)
class Bins:
    """How a table cuts up one of its two features: bins of numbers, then bins of a single value each.

    Parameters
    ----------
    cuts : sequence of numbers, optional
        Where bins of numbers meet, strictly increasing; so there is one more bin than cuts. Without it there are no
        bins of numbers: only `keys` have values.
    keys : sequence of str, number or MISSING
        Values with a bin of their own: names of categories, MISSING, or numbers that stand for themselves (special
        codes, categories that are numbers). Their bins come after those of numbers, in this order.
    closed : {"left", "right"}, or a sequence of these
        Which bin a cut belongs to: "left" for bins `[a, b)` (the cut opens the upper bin), "right" for `(a, b]`; one
        for all cuts or one for each.

    Examples
    --------
    >>> from suffice import MISSING
    >>> len(Bins([18, 65], keys=[MISSING])), len(Bins(keys=["red", "green"]))
    (4, 2)
    """

    cuts: tuple[Rational, ...] | None
    keys: tuple[Value, ...]
    closed: Closed | tuple[Closed, ...]  # one for all cuts, or one for each if they differ

    def __init__(
        self,
        cuts: Sequence[Number] | None = None,
        keys: Sequence[str | Number | Missing] = (),
        closed: Closed | Sequence[Closed] = "left",
    ) -> None:
        check_list("keys", keys)
        exact = [key if isinstance(key, (str, Missing)) else exact_number("a key of bins", key) for key in keys]
        object.__setattr__(self, "cuts", None if cuts is None else increasing("cuts", cuts))
        object.__setattr__(self, "keys", tuple(exact))
        object.__setattr__(self, "closed", _closed(closed, len(self.cuts or ())))
        if len(set(exact)) < len(exact):
            twice = next(key for k, key in enumerate(exact) if key in exact[:k])
            raise ShapeError(f"{brief(twice)} is listed twice among the keys; each has one bin")
        if cuts is None and not exact:
            raise ShapeError("there are no bins; give cuts between numbers, or keys")

    def __len__(self) -> int:
        return len(self.keys) + (0 if self.cuts is None else len(self.cuts) + 1)

    @property
    def support(self) -> Support:
        """Which values have a bin."""
        points = frozenset(key for key in self.keys if isinstance(key, fmpq))
        labels = tuple(key for key in self.keys if not isinstance(key, fmpq))
        return Support(self.cuts is not None, points, labels)

    def cells(self) -> tuple[Axis, list[int]]:
        """Return the cells that the bins make, and the bin of each; -1 for numbers that have none."""
        cuts = self.cuts or ()
        sides = [self.closed] * len(cuts) if isinstance(self.closed, str) else self.closed
        ours = {Cut(cut, int(side == "right")) for cut, side in zip(cuts, sides, strict=True)}
        numbers = {key: self._first_key + k for k, key in enumerate(self.keys) if isinstance(key, fmpq)}
        labels = {key: self._first_key + k for k, key in enumerate(self.keys) if not isinstance(key, fmpq)}
        axis = Axis(tuple(sorted(ours.union(*((Cut(p, 0), Cut(p, 1)) for p in numbers)))), tuple(labels))
        bins, here = [], -1 if self.cuts is None else 0
        for k in range(axis.numbers):
            here += k > 0 and axis.cuts[k - 1] in ours
            place = axis.interval(k)
            is_key = place.is_point and place.low in numbers
            bins.append(numbers[place.low] if is_key and place.low is not None else here)
        return axis, [*bins, *labels.values()]

    @classmethod
    def of_axis(cls, axis: Axis) -> tuple[Bins, list[int]]:
        """Return bins for the cells of an axis, and the cell of each."""
        lower = dict(reversed(axis.cuts))  # of two cuts at one place the lower; the number between them is a key
        points = {k: axis.interval(k).low for k in range(axis.numbers) if axis.interval(k).is_point}
        closed: list[Closed] = ["left" if lower[place] == 0 else "right" for place in sorted(lower)]
        keys: list[Any] = [*points.values(), *axis.labels]
        spans = [k for k in range(axis.numbers) if k not in points]
        return cls(sorted(lower), keys, closed), [*spans, *points, *range(axis.numbers, len(axis))]

    @property
    def _first_key(self) -> int:
        return len(self) - len(self.keys)


def _closed(given: Any, cuts: int) -> Closed | tuple[Closed, ...]:
    """Return one side for all cuts, or one for each if they differ."""
    if given in ("left", "right"):
        return "left" if given == "left" else "right"
    if isinstance(given, str) or not isinstance(given, Sequence) or any(one not in ("left", "right") for one in given):
        raise ShapeError(f"closed must be 'left' or 'right', or a list of these, got {brief(given)}")
    if len(given) != cuts:
        raise ShapeError(f"closed lists {len(given)} sides for {cuts} cuts; give one for each, or one for all")
    return tuple(given) if len(set(given)) > 1 else _closed(given[0] if cuts else "left", cuts)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PairSteps(PairShape):
    """Table over two features: one constant for each bin of the first and each bin of the second.

    Parameters
    ----------
    rows, columns : Bins, or sequence of numbers
        How the first feature and the second are cut up; a plain list is one of cuts.
    values : sequence of sequences of numbers, or of sequences of sequences of numbers
        A row for each bin of the first feature, in it an entry for each bin of the second; where an entry is a
        sequence it gives several outputs.

    Examples
    --------
    A score for the young who earn much, and one for each combination of two categories:

    >>> from suffice import Bins, PairSteps
    >>> young = PairSteps([30], [50_000], [[0, 1], [0, 0]])
    >>> young.compile()[0](fmpq(29), fmpq(60_000))
    1
    >>> paint = PairSteps(Bins(keys=["red", "blue"]), Bins(keys=["car", "bike"]), [[0, 1], [2, 3]])
    >>> paint.compile()[0]("blue", "car")
    2
    """

    rows: Bins
    columns: Bins
    values: Grid  # rows × columns × outputs

    def __init__(self, rows: Bins | Sequence[Number], columns: Bins | Sequence[Number], values: Any) -> None:
        for name, bins in (("rows", rows), ("columns", columns)):
            object.__setattr__(self, name, bins if isinstance(bins, Bins) else Bins(increasing(name, bins)))
        object.__setattr__(self, "values", _table(values, len(self.rows), len(self.columns), "bins"))

    @classmethod
    def of_entries(cls, entries: Mapping[tuple[Any, Any], Any]) -> PairSteps:
        """Return the table of some categories with others, from a value for every combination.

        Parameters
        ----------
        entries : mapping of (key of the first, key of the second) to a number or a sequence of numbers

        Examples
        --------
        >>> paint = PairSteps.of_entries({("red", "car"): 1, ("red", "bike"): 0})
        >>> paint.compile()[0]("red", "car")
        1
        """
        if not isinstance(entries, Mapping) or not all(isinstance(key, tuple) and len(key) == 2 for key in entries):
            raise ShapeError("give a mapping from pairs of values, such as ('red', 'car'), to numbers")
        rows, columns = (Bins(keys=tuple(dict.fromkeys(key[axis] for key in entries))) for axis in range(2))
        firsts, seconds = (list(dict.fromkeys(key[axis] for key in entries)) for axis in range(2))
        for key in product(firsts, seconds):
            if key not in entries:
                raise ShapeError(f"there is no value for {brief(key)}; a table needs one for every combination")
        return cls(rows, columns, [[entries[first, second] for second in seconds] for first in firsts])

    @classmethod
    def of_pieces(
        cls, pieces: Sequence[PairPieces], categories: Sequence[Sequence[Value] | None] = (None, None)
    ) -> PairSteps:
        """Return the table of functions that are constant in cells, one for each output.

        A feature whose categories are given has values at these only.
        """
        axes = united([one.axes[0] for one in pieces]), united([one.axes[1] for one in pieces])
        assert all(one.is_constant_in_cells for one in pieces)
        (rows, first), (columns, second) = (
            Bins.of_axis(axis) if keys is None else (Bins(keys=keys), [axis.cell_of(key) for key in keys])
            for axis, keys in zip(axes, categories, strict=True)
        )
        grids = [one.on(axes).constants for one in pieces]
        return cls(rows, columns, np.stack([grid[np.ix_(first, second)] for grid in grids], axis=2))

    @property
    def outputs(self) -> int:
        return int(self.values.shape[2])

    @property
    def supports(self) -> Supports:
        return self.rows.support, self.columns.support

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        (first, rows), (second, columns) = self.rows.cells(), self.columns.cells()
        budget.check_cells(len(first), len(second))
        # Numbers without a bin: the support says that there is no value, and no region goes there.
        padded = np.full((len(self.rows) + 1, len(self.columns) + 1, self.outputs), ZERO, dtype=object)
        padded[:-1, :-1] = self.values
        cells = padded[np.ix_(rows, columns)]
        return tuple(PairPieces((first, second), cells[:, :, j]).tidied() for j in range(self.outputs))


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PairLinear(PairShape):
    """Piecewise-bilinear surface through the points of a grid, constant in a variable beyond its first and last knot.

    Parameters
    ----------
    rows, columns : sequence of numbers
        The knots of the first variable and of the second: one or more, strictly increasing.
    values : sequence of sequences of numbers, or of sequences of sequences of numbers
        A row for each knot of the first variable, in it an entry for each knot of the second; where an entry is a
        sequence it gives several outputs.

    Examples
    --------
    >>> from suffice import PairLinear
    >>> saddle = PairLinear([0, 1], [0, 1], [[0, 0], [0, 1]])
    >>> saddle.compile()[0](fmpq(1, 2), fmpq(1, 2)), saddle.compile()[0](fmpq(7), fmpq(1, 2))
    (1/4, 1/2)
    """

    rows: tuple[Rational, ...]
    columns: tuple[Rational, ...]
    values: Grid  # rows × columns × outputs

    def __init__(self, rows: Sequence[Number], columns: Sequence[Number], values: Any) -> None:
        for name, knots in (("rows", rows), ("columns", columns)):
            object.__setattr__(self, name, increasing(name, knots))
            if not len(knots):
                raise ShapeError(f"{name} needs one knot or more")
        object.__setattr__(self, "values", _table(values, len(self.rows), len(self.columns), "knots"))

    @property
    def outputs(self) -> int:
        return int(self.values.shape[2])

    @property
    def supports(self) -> Supports:
        return Support(is_everywhere=True), Support(is_everywhere=True)

    def compile(self, budget: PieceBudget = DEFAULT_BUDGET) -> tuple[PairPieces, ...]:
        budget.check_cells(len(self.rows) + 1, len(self.columns) + 1)
        first, second = (Axis(tuple(Cut(knot, 0) for knot in knots)) for knots in (self.rows, self.columns))
        (across, rising), (along, climbing) = _hats(self.rows), _hats(self.columns)
        made = []
        for j in range(self.outputs):
            table = self.values[:, :, j]
            constants, slope = across @ table @ along.T, rising @ table @ along.T
            other, twists = across @ table @ climbing.T, rising @ table @ climbing.T
            made.append(PairPieces((first, second), constants, (slope, other), twists).tidied())
        return tuple(made)


def _hats(knots: tuple[Rational, ...]) -> tuple[Grid, Grid]:
    """Return what each knot's value contributes to the line in each cell: to its constant, and to its slope."""
    constants, slopes = (np.full((len(knots) + 1, len(knots)), ZERO, dtype=object) for _ in range(2))
    constants[0, 0] = constants[-1, -1] = ONE
    for k, (left, right) in enumerate(pairwise(knots)):
        wide = right - left
        constants[k + 1, k], constants[k + 1, k + 1] = right / wide, -left / wide
        slopes[k + 1, k], slopes[k + 1, k + 1] = -1 / wide, 1 / wide
    return constants, slopes


def _table(given: Any, rows: int, columns: int, what: str) -> Grid:
    """Return values as rows × columns × outputs, each exact."""
    # Large tables come from files and adapters as what is wanted; to name the place of every number takes far longer.
    if isinstance(given, np.ndarray) and given.ndim == 3 and all(type(one) is fmpq for one in given.flat):
        if given.shape[:2] != (rows, columns) or not given.size:
            raise ShapeError(f"values needs {rows} × {columns} entries, one for each two {what}, got {given.shape}")
        return _frozen(np.array(given))
    check_list("values", given)
    if len(given) != rows:
        raise ShapeError(f"values needs {rows} rows, one for each of the {what} of the first feature, got {len(given)}")
    cells = []
    for i, row in enumerate(given):
        check_list(f"values[{i}]", row)
        if len(row) != columns:
            raise ShapeError(
                f"values[{i}] needs {columns} entries, one for each of the {what} of the second feature, got {len(row)}"
            )
        cells += [output_row(f"values[{i}][{j}]", value) for j, value in enumerate(row)]
    widths = sorted({len(cell) for cell in cells})
    if len(widths) > 1:
        raise ShapeError(f"values must all have the same number of outputs, got {widths}")
    table = np.empty((rows, columns, widths[0]), dtype=object)
    table.reshape(rows * columns, widths[0])[:] = cells
    return _frozen(table)


def _frozen(table: Grid) -> Grid:
    table.flags.writeable = False
    return table
