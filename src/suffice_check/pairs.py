"""Terms over two features, at places: what they add where both are values, or approach numbers from one side.

A shape offers `grid(firsts, seconds)`, its outputs at all places of two lists; `cuts(side)`, between which it is one
polynomial along a variable, affine in it; and `varies(side, at)`, whether it may be anything but constant along that
variable around a place. A cut is an ordered number: a place is past it if it is not below it. So a place infinitely
close to a number finds its side of each cut, and a polynomial at the number itself is then the limit.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

from suffice_check.ordered import Number
from suffice_check.reading import RejectedError, Value
from suffice_check.shapes import ONE, ZERO, NoValueError, Outputs, Pieces, Shape

Grid = list[list[Outputs]]  # a row for each place of the first variable, in it an entry for each of the second


class PairShape(Protocol):
    """A function of two variables."""

    outputs: int

    def grid(self, firsts: Sequence[Value], seconds: Sequence[Value]) -> Grid:
        """Return the value, or the limit, at every two places."""

    def cuts(self, side: int) -> list[Number]:
        """Return between which numbers of the first (0) or second (1) variable it is one polynomial."""

    def varies(self, side: int, at: Value) -> bool:
        """Whether it may not be constant along a variable in the cell of a place."""


class Bins:
    """How a table cuts up a variable: bins between cuts, then one for each key. Numbers among the keys come first."""

    def __init__(self, cuts: list[Fraction] | None, keys: list[Value], closed: list[str]) -> None:
        if len(closed) != len(cuts or ()) or not {*closed} <= {"left", "right"} or (cuts is None and not keys):
            raise ValueError("bins need cuts or keys, and for each cut the side on which bins are closed")
        if any(a >= b for a, b in pairwise(cuts or ())):
            raise ValueError("cuts are not in order")
        self.cuts = [Number(t, int(side == "right")) for t, side in zip(cuts or (), closed, strict=True)]
        self.first_key = 0 if cuts is None else len(self.cuts) + 1
        self.count = self.first_key + len(keys)
        each = list(enumerate(keys, self.first_key))
        self.points = sorted((key, k) for k, key in each if isinstance(key, Number))
        self.labels = {key: k for k, key in each if not isinstance(key, Number)}
        if len(self.points) + len(self.labels) < len(keys) or any(a[0] == b[0] for a, b in pairwise(self.points)):
            raise ValueError("a key of bins is listed twice")

    def bin(self, at: Value) -> int:
        """Return the bin of a place."""
        if not isinstance(at, Number):
            if at not in self.labels:
                raise NoValueError
            return self.labels[at]
        k = bisect_left(self.points, (at, 0))
        if k < len(self.points) and self.points[k][0] == at:
            return self.points[k][1]
        if not self.first_key:
            raise NoValueError
        return bisect_right(self.cuts, at)

    def edges(self) -> list[Number]:
        """Return all cuts, those around keys that are numbers too."""
        return [*self.cuts, *(Number(key.value, side) for key, _ in self.points for side in (0, 1))]


class Entries:
    """Rows of a table with an entry for each output; floats are turned into fractions where they are used."""

    def __init__(self, rows: Sequence[Sequence[Fraction | float]], count: int) -> None:
        if len(rows) != count or len({len(row) for row in rows}) != 1 or not rows[0]:
            raise ValueError("a table of a pair does not have as many rows as cells, or outputs")
        self.rows, self.outputs = rows, len(rows[0])
        self._exact: dict[int, Outputs] = {}

    def __getitem__(self, k: int) -> Outputs:
        if k not in self._exact:
            self._exact[k] = tuple([Fraction(one) for one in self.rows[k]])
        return self._exact[k]


class PairSteps:
    """A constant for each bin of one variable and each bin of the other."""

    def __init__(self, rows: Bins, columns: Bins, values: Sequence[Sequence[Fraction | float]]) -> None:
        self.bins, self.values = (rows, columns), Entries(values, rows.count * columns.count)
        self.outputs = self.values.outputs

    def grid(self, firsts: Sequence[Value], seconds: Sequence[Value]) -> Grid:
        """Return the entries of bins."""
        rows, columns = self.bins
        inner = [columns.bin(at) for at in seconds]
        return [[self.values[start + c] for c in inner] for start in (rows.bin(at) * columns.count for at in firsts)]

    def cuts(self, side: int) -> list[Number]:
        """Return where bins meet."""
        return self.bins[side].edges()

    def varies(self, side: int, at: Value) -> bool:
        """Whether it is not constant: never."""
        return False


class PairLinear:
    """A surface that is bilinear between neighbouring knots, and constant in a variable beyond its knots."""

    def __init__(
        self, rows: list[Fraction], columns: list[Fraction], values: Sequence[Sequence[Fraction | float]]
    ) -> None:
        if not rows or not columns or any(a >= b for knots in (rows, columns) for a, b in pairwise(knots)):
            raise ValueError("a surface needs knots of both variables, in order")
        self.knots, self.values = (rows, columns), Entries(values, len(rows) * len(columns))
        self.outputs = self.values.outputs

    def grid(self, firsts: Sequence[Value], seconds: Sequence[Value]) -> Grid:
        """Return what the corners around each place give."""
        rows, columns = self.knots
        inner = [_shares(columns, at) for at in seconds]
        return [[self._at(outer, shares) for shares in inner] for outer in (_shares(rows, at) for at in firsts)]

    def _at(self, outer: list[tuple[int, Fraction]], inner: list[tuple[int, Fraction]]) -> Outputs:
        width = len(self.knots[1])
        parts = [(share * other, self.values[r * width + c]) for r, share in outer for c, other in inner]
        return tuple(sum((share * entry[j] for share, entry in parts), ZERO) for j in range(self.outputs))

    def cuts(self, side: int) -> list[Number]:
        """Return the knots."""
        return [Number(t) for t in self.knots[side]]

    def varies(self, side: int, at: Value) -> bool:
        """Whether it is not constant: between the first knot and the last."""
        knots = self.knots[side]
        return isinstance(at, Number) and Number(knots[0]) <= at < Number(knots[-1])


def _shares(knots: list[Fraction], at: Value) -> list[tuple[int, Fraction]]:
    """Return which knots a place lies between, and how much of each it has."""
    if not isinstance(at, Number):
        raise NoValueError
    k = bisect_right(knots, at.value)
    if k in (0, len(knots)):
        return [(max(k - 1, 0), ONE)]
    share = (at.value - knots[k - 1]) / (knots[k] - knots[k - 1])
    return [(k - 1, ONE - share), (k, share)]


class Product:
    """A shape of one variable times a shape of the other."""

    def __init__(self, first: Shape, second: Shape) -> None:
        self.shapes = first, second
        (self.outputs,) = {first.outputs, second.outputs}

    @cached_property
    def pieces(self) -> tuple[Pieces, Pieces]:
        """Both shapes on all numbers."""
        first, second = (shape.pieces(None, None) for shape in self.shapes)
        if any(any(map(any, line.more)) for one in (first, second) for line in one.cells if line is not None):
            raise RejectedError("model", "a factor of a product is curved")
        return first, second

    def _value(self, side: int, at: Value) -> Outputs:
        if not isinstance(at, Number):
            return self.shapes[side].label(at)
        return self.pieces[side].cell(at.value, int(at.edge)).at(at.value)

    def grid(self, firsts: Sequence[Value], seconds: Sequence[Value]) -> Grid:
        """Return the products, output by output."""
        inner = [self._value(1, at) for at in seconds]
        outer = [self._value(0, at) for at in firsts]
        return [[tuple(a * b for a, b in zip(one, two, strict=True)) for two in inner] for one in outer]

    def cuts(self, side: int) -> list[Number]:
        """Return the knots, each a cell of its own."""
        return [Number(t, edge) for t in self.pieces[side].knots for edge in (0, 1)]

    def varies(self, side: int, at: Value) -> bool:
        """Whether the shape of that variable has a slope."""
        return isinstance(at, Number) and any(self.pieces[side].cell(at.value, int(at.edge)).slopes)


class PairSum:
    """Sum of pair shapes."""

    def __init__(self, parts: list[PairShape]) -> None:
        self.parts = parts
        (self.outputs,) = {part.outputs for part in parts}

    def grid(self, firsts: Sequence[Value], seconds: Sequence[Value]) -> Grid:
        """Return the sum of the parts' values."""
        found = [part.grid(firsts, seconds) for part in self.parts]
        return [
            [tuple(map(sum, zip(*entry, strict=True))) for entry in zip(*rows, strict=True)]  # type: ignore[arg-type]
            for rows in zip(*found, strict=True)
        ]

    def cuts(self, side: int) -> list[Number]:
        """Return the cuts of all parts."""
        return [cut for part in self.parts for cut in part.cuts(side)]

    def varies(self, side: int, at: Value) -> bool:
        """Whether a part does."""
        return any(part.varies(side, at) for part in self.parts)


class PairChanged:
    """`factor · shape((z - center) / scale, (w - center') / scale')`; labels stay as they are."""

    def __init__(
        self, shape: PairShape, factor: Fraction = ONE, centers: Sequence[Fraction] = (ZERO, ZERO),
        scales: Sequence[Fraction] = (ONE, ONE),
    ) -> None:  # fmt: skip
        if len(centers) != 2 or len(scales) != 2 or 0 in scales:
            raise ValueError("a pair has two centers and two scales, none of them 0")
        self.shape, self.factor, self.centers, self.scales = shape, factor, tuple(centers), tuple(scales)
        self.outputs = shape.outputs

    def _inner(self, side: int, at: Value) -> Value:
        center, scale = self.centers[side], self.scales[side]
        if not isinstance(at, Number) or (center, scale) == (ZERO, ONE):
            return at
        return Number((at.value - center) / scale, at.edge if scale > 0 else -at.edge)

    def grid(self, firsts: Sequence[Value], seconds: Sequence[Value]) -> Grid:
        """Return the changed values."""
        inner = self.shape.grid([self._inner(0, at) for at in firsts], [self._inner(1, at) for at in seconds])
        if self.factor == ONE:
            return inner
        return [[tuple(self.factor * one for one in entry) for entry in row] for row in inner]

    def cuts(self, side: int) -> list[Number]:
        """Return the cuts moved; turned round, what was at a cut or above it is now at it or below."""
        center, scale = self.centers[side], self.scales[side]
        inner = self.shape.cuts(side)
        return [Number(t * scale + center, edge if scale > 0 else 1 - edge) for t, edge in inner]

    def varies(self, side: int, at: Value) -> bool:
        """Whether the shape does."""
        return self.shape.varies(side, self._inner(side, at))


class PairTerm(NamedTuple):
    """A term over two features, as a function of the user's own values."""

    features: tuple[int, int]
    shape: PairShape

    def at(self, row: Sequence[Value]) -> Outputs:
        """Return the part of each score at a row."""
        first, second = self.features
        ((found,),) = self.shape.grid([row[first]], [row[second]])
        return found
