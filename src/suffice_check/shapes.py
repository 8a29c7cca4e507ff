"""This shape is these pieces: the layer that knows kinds of shapes. Networks are in `network.py`.

Every shape becomes `Pieces`: knots, and an affine function, or a polynomial of degree 3 or less, on each knot and on
each open interval between them. The pieces are computed here from the model file; nothing about them is taken on trust.
A shape offers `pieces(low, high)`, right for all numbers from `low` to `high` (None: without end), and `label(value)`,
its value at what is no number.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, zip_longest
from operator import add
from typing import NamedTuple, Protocol

from suffice_check import curves

Outputs = tuple[Fraction, ...]
ZERO, ONE = Fraction(0), Fraction(1)


class NoValueError(Exception):
    """A shape has no value at some place of a region."""


class Line(NamedTuple):
    """`slopes · t + offsets`, an entry for each output; and `more[k] · t^(k + 2)`, where it is curved."""

    slopes: Outputs
    offsets: Outputs
    more: tuple[Outputs, ...] = ()

    @property
    def powers(self) -> tuple[Outputs, ...]:
        """The coefficients of 1, t and so on."""
        return (self.offsets, self.slopes, *self.more)

    def at(self, t: Fraction) -> Outputs:
        """Return the value at a number."""
        if self.more:
            return tuple(curves.value(column, t) for column in zip(*self.powers, strict=True))
        return tuple([slope * t + offset if slope else offset for slope, offset in zip(*self[:2], strict=True)])


def of_powers(powers: Sequence[Outputs]) -> Line:
    """Return a polynomial given by the coefficients of 1, t and so on."""
    return Line(powers[1], powers[0], tuple(powers[2:]))


def constant(value: Outputs) -> Line:
    """Return a line without slope."""
    return Line((ZERO,) * len(value), value)


class Pieces(NamedTuple):
    """A function of one number: on the interval before each knot, on the knot, and on the interval after the last."""

    knots: list[Fraction]  # increasing
    cells: list[Line | None]  # 2 · knots + 1 of them, from left to right; None where there is no value

    def cell(self, t: Fraction, side: int) -> Line:
        """Return the line on a number (side 0), or beside it on the left (-1) or right (1)."""
        k = bisect_left(self.knots, t)
        is_knot = self.knots[k : k + 1] == [t]
        return self.line(2 * k + 1 + side if is_knot else 2 * k)

    def line(self, k: int) -> Line:
        """Return the line on a cell."""
        found = self.cells[k]
        if found is None:
            raise NoValueError
        return found

    def cut(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the same function without the knots outside of an interval."""
        first = 0 if low is None else bisect_left(self.knots, low)
        last = len(self.knots) if high is None else bisect_right(self.knots, high)
        return Pieces(self.knots[first:last], self.cells[2 * first : 2 * last + 1])

    def mapped(self, knot: Callable[[Fraction], Fraction], line: Callable[[Line], Line]) -> Pieces:
        """Return the function with all knots and lines changed, from right to left if knots come to fall."""
        knots, cells = [knot(t) for t in self.knots], [None if one is None else line(one) for one in self.cells]
        return Pieces(knots, cells) if knot(ONE) > knot(ZERO) else Pieces(knots[::-1], cells[::-1])


def merged(one: Pieces, other: Pieces, join: Callable[[Line | None, Line | None], Line | None]) -> Pieces:
    """Return two functions joined on every knot of either and on every interval between them."""
    i = j = 0
    knots, cells = [], [join(one.cells[0], other.cells[0])]
    while i < len(one.knots) or j < len(other.knots):
        t = min([*one.knots[i : i + 1], *other.knots[j : j + 1]])
        is_one, is_other = one.knots[i : i + 1] == [t], other.knots[j : j + 1] == [t]
        knots.append(t)
        cells.append(join(one.cells[2 * i + is_one], other.cells[2 * j + is_other]))
        i, j = i + is_one, j + is_other
        cells.append(join(one.cells[2 * i], other.cells[2 * j]))
    return Pieces(knots, cells)


class Shape(Protocol):
    """A function of one variable."""

    outputs: int

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the pieces, right from `low` to `high`."""

    def label(self, value: str | None) -> Outputs:
        """Return the value at a label, or at a missing value."""


class Listed:
    """Pieces that a model file lists itself, and values of labels."""

    def __init__(self, pieces: Pieces, labels: dict[str | None, Outputs]) -> None:
        self.listed, self.labels = pieces, labels
        (self.outputs,) = {len(row) for row in labels.values()} | {
            len(part) for line in pieces.cells if line is not None for part in line.powers
        }
        if not self.outputs or any(a >= b for a, b in pairwise(pieces.knots)):
            raise ValueError("cuts, knots and keys must differ and be in order, and have outputs")

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the pieces."""
        return self.listed.cut(low, high)

    def label(self, value: str | None) -> Outputs:
        """Return the value at a label."""
        if value not in self.labels:
            raise NoValueError
        return self.labels[value]


def steps(cuts: list[Fraction], values: list[Outputs], closed: str) -> Listed:
    """Return constants between cuts; a cut belongs to the bin above it (closed on the left) or below it."""
    if len(values) != len(cuts) + 1 or closed not in ("left", "right"):
        raise ValueError("steps need one more value than cuts, and a side on which bins are closed")
    bins = [constant(value) for value in values]
    cells = [line for pair in pairwise(bins) for line in (pair[0], pair[closed == "left"])]
    return Listed(Pieces(cuts, [*cells, bins[-1]]), {})


def broken_line(knots: list[Fraction], values: list[Outputs], slopes: list[Outputs]) -> Listed:
    """Return what is affine between knots, and has given slopes outside of them."""
    if len(values) != len(knots) or not knots or len(slopes) != 2:
        raise ValueError("a broken line needs knots, a value for each and two slopes")
    inner = [
        tuple((b - a) / (right - left) for a, b in zip(*ends, strict=True))
        for (left, right), ends in zip(pairwise(knots), pairwise(values), strict=True)
    ]
    through = [(slopes[0], knots[0], values[0]), *zip([*inner, slopes[1]], knots, values, strict=True)]
    lines: list[Line | None] = [
        Line(each, tuple(v - s * t for v, s in zip(value, each, strict=True))) for each, t, value in through
    ]
    return Listed(Pieces(knots, [line for line in lines for _ in range(2)][1:]), {})


def polynomials(knots: list[Fraction], coefficients: list[Outputs], values: list[Outputs]) -> Listed:
    """Return polynomials between knots, output by output and piece by piece; the value at a knot is given."""
    outputs, rest = divmod(len(coefficients), len(knots) + 1)
    widths = {len(row) for row in coefficients}
    if rest or not outputs or len(widths) != 1 or not 1 <= max(widths) <= curves.MOST_POWERS:
        raise ValueError(f"polynomials need as many coefficients, {curves.MOST_POWERS} or fewer, on every piece")
    if [len(row) for row in values] != [outputs] * len(knots):
        raise ValueError("polynomials need a value for each knot and output")
    cells: list[Line | None] = []
    for k in range(len(knots) + 1):
        rows = [*zip(*coefficients[k * outputs : (k + 1) * outputs], strict=True), (ZERO,) * outputs]
        cells += [of_powers(rows[:-1] if len(rows) > 2 else rows), *map(constant, values[k : k + 1])]
    return Listed(Pieces(knots, cells), {})


class Table:
    """A value for each of some numbers and labels; another shape, if any, for the rest."""

    def __init__(self, entries: list[tuple[Fraction | str | None, Outputs]], otherwise: Shape | None) -> None:
        numbers = sorted((key, constant(row)) for key, row in entries if isinstance(key, Fraction))
        labels = {key: row for key, row in entries if not isinstance(key, Fraction)}
        cells = [cell for _, line in numbers for cell in (None, line)]
        self.entries, self.otherwise = Listed(Pieces([key for key, _ in numbers], [*cells, None]), labels), otherwise
        self.outputs = self.entries.outputs
        if len(numbers) + len(labels) != len(entries) or (otherwise and otherwise.outputs != self.outputs):
            raise ValueError("a table has a label twice, or another number of outputs than the shape for the rest")

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the pieces of the rest, with the entries put in."""
        entries = self.entries.pieces(low, high)
        if self.otherwise is None:
            return entries
        return merged(entries, self.otherwise.pieces(low, high), lambda entry, rest: entry or rest)

    def label(self, value: str | None) -> Outputs:
        """Return the entry of a label, or what the rest says."""
        is_rest = self.otherwise is not None and value not in self.entries.labels
        return self.otherwise.label(value) if is_rest and self.otherwise else self.entries.label(value)


class Sum:
    """Sum of shapes."""

    def __init__(self, parts: list[Shape]) -> None:
        self.parts = parts
        (self.outputs,) = {part.outputs for part in parts}

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the sum, two and two at a time."""
        found = [part.pieces(low, high) for part in self.parts]
        while len(found) > 1:
            found = [merged(*pair, _plus) for pair in zip(found[::2], found[1::2], strict=False)] + found[
                len(found) & ~1 :
            ]
        return found[0]

    def label(self, value: str | None) -> Outputs:
        """Return the sum of the parts' values."""
        return tuple(sum(column, ZERO) for column in zip(*(part.label(value) for part in self.parts), strict=True))


def _plus(one: Line | None, other: Line | None) -> Line | None:
    if one is None or other is None:
        return None
    zeros = (ZERO,) * len(one.offsets)
    rows = zip_longest(one.powers, other.powers, fillvalue=zeros)
    return of_powers([tuple(map(add, a, b)) for a, b in rows])


class Changed:
    """`factor · shape((z - center) / scale)` for a number, `factor · shape(z)` for a label."""

    def __init__(self, shape: Shape, factor: Fraction = ONE, center: Fraction = ZERO, scale: Fraction = ONE) -> None:
        if scale == 0:
            raise ValueError("a scale is 0")
        self.shape, self.factor, self.center, self.scale = shape, factor, center, scale
        self.outputs = shape.outputs

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the pieces with knots moved and lines changed."""
        if (self.factor, self.center, self.scale) == (ONE, ZERO, ONE):
            return self.shape.pieces(low, high)
        ends = [None if end is None else (end - self.center) / self.scale for end in (low, high)]
        steep, factor, center = self.factor / self.scale, self.factor, self.center

        def line(one: Line) -> Line:
            if one.more:
                return of_powers(curves.composed(one.powers, factor, center, self.scale))
            slopes = tuple(steep * slope for slope in one.slopes)
            return Line(slopes, tuple(factor * b - a * center for a, b in zip(slopes, one.offsets, strict=True)))

        inner = self.shape.pieces(*(ends if self.scale > 0 else ends[::-1]))
        return inner.mapped(lambda t: t * self.scale + center, line)

    def label(self, value: str | None) -> Outputs:
        """Return the changed value."""
        return tuple(self.factor * entry for entry in self.shape.label(value))


class Remembered:
    """A shape that remembers the pieces it was asked for last: they are right on every part of their interval too."""

    def __init__(self, shape: Changed) -> None:
        self.shape, self.outputs, self.center, self.scale = shape, shape.outputs, shape.center, shape.scale
        self.last: tuple[Fraction | None, Fraction | None, Pieces] | None = None

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return pieces over an interval at least as wide."""
        if self.last is not None:
            start, stop, known = self.last
            if (start is None or (low is not None and start <= low)) and (
                stop is None or (high is not None and high <= stop)
            ):
                return known
        found = self.shape.pieces(low, high)
        self.last = low, high, found
        return found

    def label(self, value: str | None) -> Outputs:
        """Return the value at a label."""
        return self.shape.label(value)
