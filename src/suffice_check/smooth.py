"""Smooth shapes: networks with smooth activations, functions by name, and shapes of shapes, enclosed over cells.

Over a cell, an interval, a shape has a *jet*: value and derivative at its middle, and value, derivative and half the
second derivative over all of it, in balls. Where a network or a function has a corner there is no second derivative.
A shape offers `jets(cell)`, one for each output; `values(at)`; and `knots`, of which no cell may have one inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import mul
from typing import NamedTuple

from suffice_check.balls import BITS, ONE, Ball, UnknownError, most, narrower, of, plus, times
from suffice_check.network import Activation, Dyadic, Tensor
from suffice_check.shapes import NoValueError, Outputs, Pieces, Shape, Table, constant
from suffice_check.smooth_functions import NONE, Formula, Taylor, chained, joined, line, negative, zones

MOST_BITS = 2**12  # of a number over a cell


class Cell(NamedTuple):
    """An interval, and a number strictly inside of it, or of the cell that it is an end of."""

    low: Fraction
    high: Fraction
    inside: Fraction

    def changed(self, center: Fraction, scale: Fraction) -> Cell:
        """Return the cell of `(z - center) / scale`."""
        low, high, inside = ((end - center) / scale for end in self)
        return Cell(min(low, high), max(low, high), inside)


class Jet(NamedTuple):
    """A function over a cell."""

    middle: tuple[Ball, Ball]  # value and derivative there
    cell: Taylor  # over all of it
    h: int  # half the width of the cell in the function's own variable, over 2^BITS

    def at_least(self) -> int:
        """Return what no value is below, over 2^BITS: by Taylor's theorem, or by the mean value theorem."""
        (value, slope), (_, steep, bend), h = self
        fall = most(steep) * h
        if bend is not None:  # within h of the middle it falls by no more than |slope| · d - low · d², for some d
            slant, low = most(slope), bend[0] - bend[1]
            if low > 0 and slant << BITS < 2 * low * h:
                fall = min(fall, (slant * slant << BITS) // (4 * low) + 1)
            else:
                fall = min(fall, slant * h - (low * h * h >> BITS))
        return value[0] - value[1] - (fall >> BITS) - 2

    def cut_down(self) -> Jet:
        """Return the same with balls over the cell no wider than the mean value theorem allows."""
        (value, slope), (values, slopes, bend), h = self
        if bend is not None:
            slopes = narrower(slopes, (slope[0], slope[1] + (2 * most(bend) * h >> BITS) + 1))
        values = narrower(values, (value[0], value[1] + (most(slopes) * h >> BITS) + 1))
        return Jet((value, slope), (values, slopes, bend), h)

    def through(self, formula: Formula) -> Jet:
        """Return a function of the function."""
        (value, slope), cell, h = self
        if most(cell[0]).bit_length() > MOST_BITS:
            raise UnknownError
        here = formula(value)
        over = here if cell[0] == value else formula(cell[0])
        return Jet((here[0], times(here[1], slope)), chained(over, cell), h).cut_down()

    def plus(self, other: Jet) -> Jet:
        """Return the sum of two functions over one cell."""
        (value, slope), (values, slopes, bend), h = self
        (more, steeper), (mores, steepers, bends), _ = other
        both = None if bend is None or bends is None else plus(bend, bends)
        return Jet((plus(value, more), plus(slope, steeper)), (plus(values, mores), plus(slopes, steepers), both), h)

    def negative(self) -> Jet:
        """Return the same with the other sign."""
        (value, slope), (values, slopes, bend), h = self
        cell = negative(values), negative(slopes), None if bend is None else negative(bend)
        return Jet((negative(value), negative(slope)), cell, h)

    def times(self, factor: Ball) -> Jet:
        """Return a multiple."""
        (value, slope), (values, slopes, bend), h = self
        cell = times(factor, values), times(factor, slopes), None if bend is None else times(factor, bend)
        return Jet((times(factor, value), times(factor, slope)), cell, h)

    def faster(self, steep: Ball, h: int) -> Jet:
        """Return the same function of another variable, of which its own is `steep` times as fast."""
        (value, slope), (values, slopes, bend), _ = self
        cell = values, times(steep, slopes), None if bend is None else times(times(steep, steep), bend)
        return Jet((value, times(steep, slope)), cell, h)


def variable(cell: Cell) -> Jet:
    """Return the variable itself over a cell."""
    width = cell.high - cell.low
    h = -(-(width.numerator << BITS) // (2 * width.denominator))
    middle = of((cell.low + cell.high) / 2)
    return Jet((middle, (ONE, 0)), ((middle[0], middle[1] + h), (ONE, 0), NONE), h)


class SmoothShape:
    """A shape that is enclosed."""

    outputs: int

    def on(self, inner: Jet) -> list[Jet]:
        """Return each output as a function of a function."""
        raise NotImplementedError

    def jets(self, cell: Cell) -> list[Jet]:
        """Return each output over a cell; with jumps at its ends, on the open interval."""
        return self.on(variable(cell))

    def values(self, at: Fraction) -> list[Ball]:
        """Return each output at a number."""
        return [jet.middle[0] for jet in self.jets(Cell(at, at, at))]

    def knots(self, low: Fraction, high: Fraction) -> list[Fraction]:
        """Return where something happens: no cell may have such a number inside, and it counts for itself."""
        return []

    def label(self, value: str | None) -> Outputs:
        """Fail: there is no value at a label."""
        raise NoValueError

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Fail: there are no pieces."""
        raise ValueError("a smooth shape has no pieces")


class Nothing:
    """0 times a smooth shape: 0 everywhere, exactly, and at the labels of the shape."""

    def __init__(self, shape: SmoothShape) -> None:
        self.shape, self.outputs = shape, shape.outputs

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return one piece."""
        return Pieces([], [constant((Fraction(0),) * self.outputs)])

    def label(self, value: str | None) -> Outputs:
        """Return 0, if there is a value at a label."""
        return tuple(0 * one for one in self.shape.label(value))


class Function(SmoothShape):
    """A function by its formula."""

    def __init__(self, formula: Formula) -> None:
        self.formula, self.outputs = formula, 1

    def on(self, inner: Jet) -> list[Jet]:
        """Return the function of a function."""
        return [inner.through(self.formula)]


class Layer(NamedTuple):
    """A layer of a network; its activation has one formula for all units, or one for each, or none."""

    weights: list[list[int]]
    scale: int
    sizes: list[list[int]]  # absolute values of the weights
    load: int  # no sum of them along a row is larger
    biases: list[Ball]
    formulas: list[Formula]

    def of(self, units: list[Jet]) -> list[Jet]:
        """Return `weights · units + biases`: at the middle, and the highest derivative that is known over the cell.

        Its lower ones follow by the mean value theorem. The three balls of a unit are fields of two integers, so that
        one product with a weight does for all of them. No field overflows: each is wide enough for the largest number
        times the largest sum of weights, and a sign.
        """
        h, has_bend = units[0].h, all(jet.cell[2] is not None for jet in units)
        balls = [(*jet.middle, jet.cell[2] if jet.cell[2] and has_bend else jet.cell[1]) for jet in units]
        width = (max(most(ball) for each in balls for ball in each) * self.load).bit_length() + 2
        if width > MOST_BITS:
            raise UnknownError
        mask, half, far, by = (1 << width) - 1, 1 << (width - 1), 2 * width, self.scale
        mids = [a + (b << width) + (c << far) for (a, _), (b, _), (c, _) in balls]
        radii = [a + (b << width) + (c << far) for (_, a), (_, b), (_, c) in balls]
        lift, found = half + (half << width) + (half << far), []
        for row, sizes, bias in zip(self.weights, self.sizes, self.biases, strict=True):
            mid, off = sum(map(mul, row, mids)) + lift, sum(map(mul, sizes, radii))
            value = (((mid & mask) - half) >> by) + bias[0], ((off & mask) >> by) + 2 + bias[1]
            slope = (((mid >> width) & mask) - half) >> by, (((off >> width) & mask) >> by) + 2
            top = ((mid >> far) - half) >> by, (off >> far >> by) + 2
            slopes = (slope[0], slope[1] + (2 * most(top) * h >> BITS) + 1) if has_bend else top
            values = value[0], value[1] + (most(slopes) * h >> BITS) + 1
            found.append(Jet((value, slope), (values, slopes, top if has_bend else None), h))
        return found

    def at(self, units: list[Ball]) -> list[Ball]:
        """Return the same of numbers."""
        if max(map(most, units)).bit_length() > MOST_BITS:
            raise UnknownError
        (mids, radii), by = zip(*units, strict=True), self.scale
        each = zip(self.weights, self.sizes, self.biases, strict=True)
        return [
            plus(bias, (sum(map(mul, row, mids)) >> by, (sum(map(mul, sizes, radii)) >> by) + 2))
            for row, sizes, bias in each
        ]


def read_layer(weight: Tensor, bias: Tensor | None, formulas: list[Formula]) -> Layer:
    """Return a layer."""
    if len(weight.shape) != 2 or len(formulas) not in (0, 1, weight.shape[0]):
        raise ValueError("the weights of a layer are no matrix, or its activation is for other units")
    units, columns = weight.shape
    if bias is not None and bias.shape != (units,):
        raise ValueError("the biases of a network do not fit its layers")
    flat = Dyadic.of(weight.entries)
    rows = [flat.integers[i * columns : (i + 1) * columns] for i in range(units)]
    sizes = [list(map(abs, row)) for row in rows]
    offsets = [of(Fraction(one)) for one in bias.entries] if bias else [NONE] * units
    return Layer(rows, flat.scale, sizes, max(map(sum, sizes)), offsets, formulas)


def activation_formulas(activation: Activation) -> list[Formula]:
    """Return an activation with corners as formulas: one for all units, or one for each."""
    cuts, offsets = (
        [Fraction(one, 1 << each.scale) for one in each.integers]
        for each in (activation.thresholds, activation.offsets)
    )
    found = []
    for unit in range(activation.units):
        slopes = [Fraction(one, 1 << activation.slopes.scale) for one in activation.of_unit(unit)]
        found.append(zones(cuts, [line(*each) for each in zip(slopes, offsets, strict=True)], is_smooth=False))
    return found


class SmoothNetwork(SmoothShape):
    """A network of one input with smooth activations; a skip adds an earlier layer to a later one."""

    def __init__(self, layers: list[Layer], skips: dict[int, int]) -> None:
        widths = [1, *(len(layer.weights) for layer in layers)]
        if any(len(row) != width for layer, width in zip(layers, widths, strict=False) for row in layer.weights):
            raise ValueError("the layers of a network do not fit together")
        for to, source in skips.items():
            if not 0 <= source < to <= len(layers) or widths[source] != widths[to]:
                raise ValueError(f"a skip from layer {source} to layer {to} does not fit")
        self.layers, self.skips, self.outputs = layers, skips, widths[-1]

    def on(self, inner: Jet) -> list[Jet]:
        """Return the network of a function."""
        states = [[inner]]
        for number, layer in enumerate(self.layers, start=1):
            found, each = layer.of(states[-1]), layer.formulas
            if each:
                found = [jet.through(each[k % len(each)]) for k, jet in enumerate(found)]
            if number in self.skips:
                found = [a.plus(b) for a, b in zip(found, states[self.skips[number]], strict=True)]
            states.append(found)
        return states[-1]

    def values(self, at: Fraction) -> list[Ball]:
        """Return each output at a number: as over a cell, but without derivatives."""
        states = [[of(at)]]
        for number, layer in enumerate(self.layers, start=1):
            found, each = layer.at(states[-1]), layer.formulas
            if each:
                found = [each[k % len(each)](one)[0] for k, one in enumerate(found)]
            if number in self.skips:
                found = list(map(plus, found, states[self.skips[number]]))
            states.append(found)
        return states[-1]


class Exact(SmoothShape):
    """A shape that has pieces."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.outputs = shape, shape.outputs

    def on(self, inner: Jet) -> list[Jet]:
        """Return the shape of a function: a hull over the pieces that it may be on, which must meet at their knots."""
        values = inner.cell[0]
        low, high = (Fraction(end, ONE) for end in (values[0] - values[1], values[0] + values[1]))
        pieces = self.shape.pieces(low, high).cut(low, high)
        for t in pieces.knots:
            if not pieces.cell(t, -1).at(t) == pieces.cell(t, 0).at(t) == pieces.cell(t, 1).at(t):
                raise UnknownError
        lines = [pieces.line(k) for k in range(0, len(pieces.cells), 2)]
        found = []
        for j in range(self.outputs):
            each = [_polynomial([of(power[j]) for power in line.powers]) for line in lines]

            def formula(z: Ball, each: list[Formula] = each) -> Taylor:
                hull = each[0](z)
                for one in each[1:]:
                    hull = joined(hull, one(z))
                return hull if len(each) == 1 else (hull[0], hull[1], None)

            found.append(inner.through(formula))
        return found

    def jets(self, cell: Cell) -> list[Jet]:
        """Return each output over a cell without a knot inside."""
        line = self.shape.pieces(min(cell), max(cell)).cell(cell.inside, 0)
        start = variable(cell)
        each = zip(*line.powers, strict=True)
        return [start.through(_polynomial([of(power) for power in powers])) for powers in each]

    def knots(self, low: Fraction, high: Fraction) -> list[Fraction]:
        """Return the knots of the pieces."""
        return self.shape.pieces(low, high).knots

    def label(self, value: str | None) -> Outputs:
        """Return the value at a label."""
        return self.shape.label(value)


def _polynomial(powers: Sequence[Ball]) -> Formula:
    """Return a polynomial as a formula."""

    def formula(z: Ball) -> Taylor:
        value, slope, bend = NONE, NONE, NONE
        for power in reversed(powers):
            bend = plus(times(bend, z), slope)
            slope = plus(times(slope, z), value)
            value = plus(times(value, z), power)
        return value, slope, bend

    return formula


class Composed(SmoothShape):
    """A shape of a shape of one output."""

    def __init__(self, outer: SmoothShape, inner: SmoothShape) -> None:
        if inner.outputs != 1:
            raise ValueError("the inner shape of a composition has more than one output")
        self.outer, self.inner, self.outputs = outer, inner, outer.outputs

    def on(self, inner: Jet) -> list[Jet]:
        """Return the outer shape of the inner one of a function."""
        return self.outer.on(*self.inner.on(inner))

    def jets(self, cell: Cell) -> list[Jet]:
        """Return each output over a cell."""
        return self.outer.on(*self.inner.jets(cell))

    def values(self, at: Fraction) -> list[Ball]:
        """Return each output at a number."""
        (inner,) = self.inner.values(at)
        return [jet.middle[0] for jet in self.outer.on(Jet((inner, NONE), (inner, NONE, NONE), 0))]

    def knots(self, low: Fraction, high: Fraction) -> list[Fraction]:
        """Return the knots of the inner shape."""
        return self.inner.knots(low, high)


class SmoothSum(SmoothShape):
    """Sum of shapes of which some are smooth."""

    def __init__(self, parts: Sequence[SmoothShape]) -> None:
        self.parts = parts
        (self.outputs,) = {part.outputs for part in parts}

    def on(self, inner: Jet) -> list[Jet]:
        """Return the sum of the parts of a function."""
        return [_sum(column) for column in zip(*(part.on(inner) for part in self.parts), strict=True)]

    def jets(self, cell: Cell) -> list[Jet]:
        """Return the sum of the parts over a cell."""
        return [_sum(column) for column in zip(*(part.jets(cell) for part in self.parts), strict=True)]

    def values(self, at: Fraction) -> list[Ball]:
        """Return the sum of the parts at a number."""
        columns = zip(*(part.values(at) for part in self.parts), strict=True)
        return [(sum(m for m, _ in column), sum(r for _, r in column)) for column in columns]

    def knots(self, low: Fraction, high: Fraction) -> list[Fraction]:
        """Return the knots of all parts."""
        return [t for part in self.parts for t in part.knots(low, high)]

    def label(self, value: str | None) -> Outputs:
        """Return the sum of the parts' values."""
        return tuple(sum(column, Fraction(0)) for column in zip(*(one.label(value) for one in self.parts), strict=True))


def _sum(jets: Sequence[Jet]) -> Jet:
    found = jets[0]
    for jet in jets[1:]:
        found = found.plus(jet)
    return found.cut_down()


class SmoothChanged(SmoothShape):
    """`factor · shape((z - center) / scale)`, with other values at some numbers and labels."""

    def __init__(
        self,
        shape: SmoothShape,
        entries: Table | None = None,
        factor: Fraction = Fraction(1),
        center: Fraction = Fraction(0),
        scale: Fraction = Fraction(1),
    ) -> None:
        if scale == 0 or (entries is not None and entries.outputs != shape.outputs):
            raise ValueError("a scale is 0, or a table has other outputs than the shape for the rest")
        self.shape, self.factor, self.center, self.scale, self.entries = shape, factor, center, scale, entries
        self.outputs = shape.outputs

    def on(self, inner: Jet) -> list[Jet]:
        """Return the changed shape of a function; entries count for numbers that are known exactly, not here."""
        if self.entries is not None and self.entries.entries.listed.knots:
            raise UnknownError
        steep = of(1 / self.scale)
        (value, slope), (values, slopes, bend), h = inner
        value, values = (times(steep, plus(one, of(-self.center))) for one in (value, values))
        cell = values, times(steep, slopes), None if bend is None else times(steep, bend)
        moved = Jet((value, times(steep, slope)), cell, h)
        return [jet.times(of(self.factor)) for jet in self.shape.on(moved)]

    def jets(self, cell: Cell) -> list[Jet]:
        """Return each output over a cell."""
        h = variable(cell).h
        inner = self.shape.jets(cell.changed(self.center, self.scale))
        return [jet.times(of(self.factor)).faster(of(1 / self.scale), h) for jet in inner]

    def values(self, at: Fraction) -> list[Ball]:
        """Return each output at a number."""
        if self.entries is not None and at in self.entries.entries.listed.knots:
            return [of(one) for one in self.entries.entries.pieces(at, at).cell(at, 0).at(at)]
        return [times(of(self.factor), one) for one in self.shape.values((at - self.center) / self.scale)]

    def knots(self, low: Fraction, high: Fraction) -> list[Fraction]:
        """Return the knots of the shape, and the numbers among the entries."""
        ends = sorted((end - self.center) / self.scale for end in (low, high))
        found = [t * self.scale + self.center for t in self.shape.knots(*ends)]
        return found if self.entries is None else [*found, *self.entries.entries.listed.knots]

    def label(self, value: str | None) -> Outputs:
        """Return the entry of a label, or what the shape says."""
        if self.entries is not None and value in self.entries.entries.labels:
            return self.entries.entries.label(value)
        return tuple(self.factor * one for one in self.shape.label(value))
