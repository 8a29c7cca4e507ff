"""Taylor coefficients of functions of one variable, at the middle of a cell and over all of it, in balls.

What is made of a cell goes through *stages*, one after the other: networks, smooth functions, exact functions. Each
turns the coefficients of its input into those of its output. After each, what is known over the cell is cut down by
what is known at its middle: a coefficient differs from that at the middle by no more than the distance times the next
derivative (the mean value theorem). So what interval arithmetic overestimates is left to the highest order alone.
Where few bits are asked for, networks are computed in floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import comb
from typing import Any, NamedTuple, Protocol

from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from suffice.numbers.exact import ZERO, Rational
from suffice.shapes.activations import Activation
from suffice.shapes.curves import Curves
from suffice.shapes.far import Far, activated, polynomial
from suffice.shapes.float_network import FLOAT_PRECISION, FloatNetwork, Readout, read_by
from suffice.shapes.smooth_functions import TERMS, SmoothFunction, Taylor, Zones, chained, hull_of, line


class Jet(NamedTuple):
    """Taylor coefficients `f, f', f''/2, f'''/6` of a function."""

    middle: Taylor  # at the middle of the cell
    cell: Taylor  # over the cell
    steps: Sequence[arb]  # balls around 0: for each order how far the mean value theorem reaches

    @classmethod
    def variable(cls, low: Rational, high: Rational, center: Rational, scale: Rational) -> Jet:
        """Return `(x - center) / scale` over a cell, in the variable `x`."""
        none, slope = arb(0), arb(1 / scale)
        middle = arb(((low + high) / 2 - center) / scale)
        ends = arb((low - center) / scale).union(arb((high - center) / scale))
        half = arb((high - low) / 2).upper()
        around = (-half).union(half)
        return cls([middle, slope, none, none], [ends, slope, none, none], [around, 2 * around, 3 * around])

    def with_(self, middle: Taylor, cell: Taylor) -> Jet:
        """Return another function over the same cell, with what is known over the cell cut down."""
        return Jet(middle, cut_down(middle, cell, self.steps), self.steps)


def cut_down(middle: Taylor, cell: Taylor, steps: Sequence[arb]) -> Taylor:
    """Return coefficients over a cell, no wider than the mean value theorem allows."""
    found = cell
    for k in range(TERMS - 2, -1, -1):
        near = middle[k] + steps[k] * found[k + 1]
        if not near.is_finite():
            continue
        if found is cell:
            found = list(cell)
        found[k] = near.intersection(cell[k]) if cell[k].is_finite() else near
    return found


class Stage(Protocol):
    """A function of one number, in balls."""

    @property
    def trend(self) -> int:
        """1 where it is known to rise, or to stay, everywhere; -1 to fall; else 0."""

    @property
    def is_unbounded(self) -> bool:
        """Whether it is known to go beyond all bounds where its input does."""

    def jet(self, inner: Jet) -> Jet:
        """Return the function of a function over a cell."""

    def value(self, at: arb) -> arb:
        """Return its value, or what holds its values over a ball."""

    def far(self, inner: Far, start: Rational) -> Far | None:
        """Return what it is of a function that is known beyond a number; None where that tells nothing yet."""


@dataclass(frozen=True)
class FormulaStage:
    """A smooth function by name."""

    function: SmoothFunction

    @property
    def trend(self) -> int:
        """1 where it is known to rise everywhere; else 0."""
        return int(self.function.is_increasing)

    @property
    def is_unbounded(self) -> bool:
        """Whether it is known to go beyond all bounds where its input does."""
        return self.function.is_unbounded

    def jet(self, inner: Jet) -> Jet:
        """Return the function of a function over a cell."""
        middle = chained(self.function.taylor(inner.middle[0]), inner.middle)
        return inner.with_(middle, chained(self.function.taylor(inner.cell[0]), inner.cell))

    def value(self, at: arb) -> arb:
        """Return its value over a ball."""
        return self.function.value(at)

    def far(self, inner: Far, start: Rational) -> Far | None:
        """Return what it is of a function that is known beyond a number."""
        return activated(inner, self.function, start)


@dataclass(frozen=True)
class ExactStage:
    """A function made of polynomials between knots, where its input is not rational."""

    function: Curves

    @property
    def trend(self) -> int:
        """1 or -1 for a single line; else 0."""
        if self.function.knots or self.function.polynomials[0].degree() > 1:
            return 0
        return 1 if self.function.polynomials[0][1] >= 0 else -1

    @property
    def is_unbounded(self) -> bool:
        """Whether it is a single line that is not constant."""
        return not self.function.knots and self.function.polynomials[0].degree() == 1

    def taylor(self, z: arb) -> Taylor:
        """Return the Taylor coefficients over a ball; only the value where there is a jump inside."""
        knots, values = self.function.knots, self.function.values
        if not z.is_finite():
            return [arb.nan()] * TERMS
        low, high = z.lower(), z.upper()
        first = sum(1 for knot in knots if low > arb(knot))
        last = len(knots) - sum(1 for knot in knots if high < arb(knot))
        if first >= last:
            return self._on(first, z)
        inside = knots[first:last]
        ends = [low, *map(arb, inside), high]
        parts = [self._on(k, a.union(b)) for k, (a, b) in enumerate(pairwise(ends), first)]
        hulls = [hull_of([part[k] for part in parts]) for k in range(2)]
        polynomials = self.function.polynomials
        pairs = range(first, last)
        if any(not polynomials[k](knots[k]) == values[k] == polynomials[k + 1](knots[k]) for k in pairs):
            return [hull_of([hulls[0], *(arb(values[k]) for k in pairs)]), *([arb.nan()] * (TERMS - 1))]
        return [*hulls, *([arb.nan()] * (TERMS - 2))]

    def _on(self, k: int, z: arb) -> Taylor:
        found, one = [], self.function.polynomials[k]
        for j in range(TERMS):
            value = arb(0)
            for power in range(one.degree(), j - 1, -1):  # Horner's rule for the derivative over the factorial
                value = value * z + arb(comb(power, j) * one[power])
            found.append(value)
        return found

    def jet(self, inner: Jet) -> Jet:
        """Return the function of a function over a cell."""
        middle = chained(self.taylor(inner.middle[0]), inner.middle)
        return inner.with_(middle, chained(self.taylor(inner.cell[0]), inner.cell))

    def value(self, at: arb) -> arb:
        """Return its value over a ball."""
        return self.taylor(at)[0]

    def far(self, inner: Far, start: Rational) -> Far | None:
        """Return what it is of a function that is known beyond a number."""
        if not inner.slope:
            return Far(ZERO, self.value(inner.offset))
        return polynomial(inner, self.function.knots, self.function.polynomials, start)


class BallLayer(NamedTuple):
    """A layer of a network in balls."""

    weights: arb_mat
    bias: Sequence[arb] | None
    activation: Sequence[SmoothFunction | Zones] | None  # one for all units or one for each; None: nothing happens


@dataclass(frozen=True, eq=False)
class NetworkStage:
    """A linear combination of the outputs of a network of one input; `shape` is the network as users give it."""

    shape: Any
    layers: tuple[BallLayer, ...]
    floats: FloatNetwork  # the same, for few bits
    skips: dict[int, int]
    readout: tuple[Rational, ...]

    @property
    def trend(self) -> int:
        """0: a network may go anywhere."""
        return 0

    @property
    def is_unbounded(self) -> bool:
        """False: it may have limits."""
        return False

    @cached_property
    def _float_readout(self) -> Readout:
        return read_by(self.readout)

    def read_by(self, readout: Sequence[Rational]) -> NetworkStage:
        """Return another combination of the same outputs."""
        return replace(self, readout=tuple(readout))

    def jet(self, inner: Jet) -> Jet:
        """Return the network of a function over a cell."""
        if ctx.prec <= FLOAT_PRECISION:
            near = self.floats.jet(inner.middle, inner.cell, inner.steps[0], self._float_readout)
            if near is not None:
                return inner.with_(*near)
        steps, width = inner.steps, 2 * TERMS
        states = [arb_mat(1, width, [*inner.middle, *inner.cell])]
        for k, layer in enumerate(self.layers, start=1):
            state = layer.weights * states[-1]
            if layer.bias is not None:
                none = [arb(0)] * (TERMS - 1)
                offsets = [one for b in layer.bias for one in (b, *none, b, *none)]
                state = state + arb_mat(len(layer.bias), width, offsets)
            if layer.activation is not None:
                entries, found = state.entries(), []
                for unit in range(len(entries) // width):
                    start = unit * width
                    middle, cell = entries[start : start + TERMS], entries[start + TERMS : start + width]
                    cell = cut_down(middle, cell, steps)
                    activation = layer.activation[unit % len(layer.activation)]
                    middle = chained(activation.taylor(middle[0]), middle)
                    found += middle
                    found += cut_down(middle, chained(activation.taylor(cell[0]), cell), steps)
                state = arb_mat(state.nrows(), width, found)
            states.append(state + states[self.skips[k]] if k in self.skips else state)
        row = (arb_mat(1, len(self.readout), [arb(one) for one in self.readout]) * states[-1]).entries()
        return inner.with_(row[:TERMS], row[TERMS:])

    def value(self, at: arb) -> arb:
        """Return its value over a ball."""
        if ctx.prec <= FLOAT_PRECISION:
            near = self.floats.value(at, self._float_readout)
            if near is not None:
                return near
        states = [arb_mat(1, 1, [at])]
        for k, layer in enumerate(self.layers, start=1):
            state = layer.weights * states[-1]
            if layer.bias is not None:
                state = state + arb_mat(len(layer.bias), 1, layer.bias)
            if layer.activation is not None:
                each = layer.activation
                entries = [each[unit % len(each)].value(z) for unit, z in enumerate(state.entries())]
                state = arb_mat(len(entries), 1, entries)
            states.append(state + states[self.skips[k]] if k in self.skips else state)
        (found,) = (arb_mat(1, len(self.readout), [arb(one) for one in self.readout]) * states[-1]).entries()
        return found

    @cached_property
    def _weights(self) -> list[fmpq_mat]:
        """The weights as exact numbers."""
        return [
            fmpq_mat(one.weights.nrows(), one.weights.ncols(), [w.fmpq() for w in one.weights.entries()])
            for one in self.layers
        ]

    def far(self, inner: Far, start: Rational) -> Far | None:
        """Return what it is of a function that is known beyond a number."""
        states = [[inner]]
        for k, (layer, weights) in enumerate(zip(self.layers, self._weights, strict=True), start=1):
            count = len(states[-1])
            slopes = (weights * fmpq_mat(count, 1, [one.slope for one in states[-1]])).entries()
            offsets = layer.weights * arb_mat(count, 1, [one.offset for one in states[-1]])
            if layer.bias is not None:
                offsets = offsets + arb_mat(len(layer.bias), 1, layer.bias)
            units = [Far(*one) for one in zip(slopes, offsets.entries(), strict=True)]
            if layer.activation is not None:
                each = layer.activation
                known = [activated(z, each[unit % len(each)], start) for unit, z in enumerate(units)]
                units = [one for one in known if one is not None]
                if len(units) < len(known):
                    return None
            earlier = states[self.skips[k]] if k in self.skips else None
            states.append(units if earlier is None else [a.plus(b) for a, b in zip(units, earlier, strict=True)])
        found = Far(ZERO, arb(0))
        for factor, one in zip(self.readout, states[-1], strict=True):
            found = found.plus(one.times(factor))
        return found


def zones_of(activation: Activation) -> list[Zones]:
    """Return a piecewise-linear activation, for all units or for each, as formulas."""
    cuts = tuple(fmpq(*float(one).as_integer_ratio()) for one in activation.thresholds)
    offsets = [fmpq(*float(one).as_integer_ratio()) for one in activation.offsets]
    found = []
    for column in activation.slopes.T.tolist():
        slopes = [fmpq(*slope.as_integer_ratio()) for slope in column]
        lines = tuple(line(slope, offset) for slope, offset in zip(slopes, offsets, strict=True))
        found.append(Zones(cuts, lines, 0))
    return found
