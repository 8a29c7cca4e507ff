"""How far a forward pass in floats can be from the exact model: a rigorous bound over a region.

In: a model, a region, and the float type of the deployed forward pass. Out: for each score a bound on the difference.

The pass rounds its input and parameters to the type, takes the center off the input and divides by the scale (or
multiplies by its reciprocal), runs each layer and adds up the terms of the score, with or without fused multiply-add,
in IEEE arithmetic with gradual underflow. Layers add in any order. So does the score: its terms are the outputs of
networks, the entries of tables and the intercept, of all features and of all members of an ensemble, and a factor may
multiply its terms, or any partial sum of terms that have it. Categories and special codes are looked up as they are
written. What a step is off by is in `float_steps`; where a number may overflow, or a scale is too small to divide by,
there is no bound and the question is refused.

Where the input of a feature is in an interval, it is cut into cells, and each cell is bounded for itself: what a unit
can be is then close to what it is, and units that are off stay out. The cells lie on a grid whose width is a power of
two, never much finer than the feature's own unit, and are worked out many at a time and kept, so that regions around
other rows find them done. A bound depends on the region alone, not on what was asked before; it is made of the numbers
of the cells that the region meets, so that more cells give no smaller bound (`batch/charges.py` builds on this).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, TypeGuard

import numpy as np
from flint import fmpq

from suffice.core.float_steps import Affine, Exponential, Layer, Range, activated, added, scaled
from suffice.core.float_types import FLOAT_TYPES, GROW, Floats, FloatType
from suffice.errors import ClaimError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import Value
from suffice.shapes import PiecewiseLinear, Readout, ReluNetwork, Shape, Table
from suffice.shapes.activations import Activation
from suffice.shapes.shape import Rescaled, Scaled, Sum

CELLS = 32  # into which an interval is cut, at least; at most twice as many, unless
_FINEST = 64  # a cell would be less than this part of the feature's unit
_AT_ONCE = 128  # cells that are worked out together
_MOST_KEPT = 1 << 21  # numbers
_SUMMED = 1.1  # what additions can make of a partial sum: 1 + m·u / (1 - m·u) is less


@dataclass(frozen=True)
class Terms:
    """Numbers that are added up, by output and cell.

    Parameters
    ----------
    above, below : what those above 0 add up to at most, as computed, and those below 0, without sign
    count : how many are not 0
    error : how far all of them together can be off, before they are added up
    most : a bound on their partial sums, with their factors or without
    """

    above: Floats
    below: Floats
    count: Floats
    error: Floats
    most: Floats

    @classmethod
    def of(cls, one: Range) -> Terms:
        """Return one term for each output."""
        return cls(one.above, one.below, (one.size > 0).astype(np.float64), one.error, one.size)

    @staticmethod
    def together(found: Sequence[Terms]) -> Terms:
        """Return the terms of several sums as those of one."""
        return Terms(*(reduce(np.add, column) * GROW for column in zip(*map(_arrays, found), strict=True)))

    @staticmethod
    def anywhere(found: Iterable[Terms]) -> Terms:
        """Return one cell for all of several: the largest of each number."""
        columns = zip(*map(_arrays, found), strict=True)
        return Terms(*(np.concatenate(column, axis=1).max(axis=1, keepdims=True) for column in columns))

    def cut(self, cells: slice) -> Terms:
        """Return some of the cells."""
        return Terms(*(one[:, cells] for one in _arrays(self)))


def _arrays(terms: Terms) -> tuple[Floats, ...]:
    return terms.above, terms.below, terms.count, terms.error, terms.most


class Rounding:
    """Bounds on the rounding of a model in a float type. What does not depend on a row is worked out once and kept.

    Parameters
    ----------
    model : AdditiveModel
    arithmetic : {"float32", "float64"}
    """

    def __init__(self, model: AdditiveModel, arithmetic: str) -> None:
        if model.pairs:  # grids, tables, products: none of them a network
            one, other = (model.names[i] for i in model.pairs[0].features)
            raise ClaimError(
                f"the term over {one!r} and {other!r} is not a network, and rounding in {arithmetic} is bounded for "
                "networks alone: where a term jumps, a rounded input can change it a lot; ask in exact arithmetic"
            )
        self.model = model
        self.kind = FLOAT_TYPES[arithmetic]
        self._shapes = [
            term.shape if (one.center, one.scale) == (ZERO, ONE) else term.shape.rescaled(one.center, one.scale)
            for one, term in zip(model.features, model.mains, strict=True)
        ]
        self._networks = [_without_tables(shape) for shape in self._shapes]
        self._layers: dict[int, tuple[Layer, ...]] = {}  # by the id of a shape of the model
        self._cells: dict[tuple[int, bool, int, int], Terms] = {}  # by feature, kind of numbers, width and place
        self._found: dict[tuple[int, Domain], Terms] = {}  # by feature and region
        self._most = max(1, _MOST_KEPT // (_AT_ONCE * 5 * len(model.intercept)))

    def __getstate__(self) -> dict[str, Any]:
        # In a copy, and in another process, other shapes may have the ids that layers are kept by.
        return self.__dict__ | {"_layers": {}}

    def errors(self, region: Sequence[Domain]) -> tuple[Rational, ...]:
        """Return for each score how far its computed value can be from the exact one, anywhere in the region.

        Raises
        ------
        ClaimError
            If a shape is not computed by a network or a table, so that rounding is not small, or if floats overflow.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            parts = [self.over_region(i, reach) for i, reach in enumerate(region)]
            score = Terms.together([self.entry(self.model.intercept), *parts])
            error = score.error + self.kind.adding(score.count, np.maximum(score.above, score.below) * GROW)
            if not (np.maximum(score.most, error) < self.kind.largest).all():
                raise self.kind.overflow()
            every = (error * GROW + 4 * self.kind.smallest) * GROW
        return tuple(_shortened(float(one)) for one in every[:, 0])

    # --- over a region ------------------------------------------------------------------------------------------------

    def over_region(self, i: int, reach: Domain) -> Terms:
        """Return the terms of a feature anywhere in its region."""
        found = self._found.get((i, reach))
        if found is None:
            each = [self._at(i, value) for value in (*reach.categories_, *reach.codes_)]
            found = Terms.anywhere([*each, *(self._over_span(i, span) for span in reach.spans)])
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[i, reach] = found
        return found

    def _at(self, i: int, value: Value) -> Terms:
        """Return the terms of a feature at a category or a special code."""
        found = self._looked_up(self._shapes[i], value)
        if found is None:  # a number that the shape computes with, as it does with others
            assert isinstance(value, fmpq)
            return self._over_span(i, Span(value, value))
        return found

    def _over_span(self, i: int, span: Span) -> Terms:
        """Return the terms of a feature anywhere in a span of numbers."""
        name, shape, network = self.model.features[i].name, self._shapes[i], self._networks[i]
        low, high = span.low, span.high
        if low is None or high is None:
            raise ClaimError(f"the region of {name!r} is unbounded, so rounding has no bound; give a finite radius")
        own = partial(_own_cells, self.kind, low, high, is_integers=span.is_integers)
        if network is not None and (network is shape or not self._may_look_up(name, shape, own(1))):
            cells = list(self._on_grid(i, low, high, is_integers=span.is_integers))
            if cells and np.isfinite((found := Terms.anywhere(cells)).error).all():
                return found
        # Cells of its own reach no further than the span does, to numbers that are looked up or overflow.
        return self._terms(name, shape, own(2 * CELLS))

    def _on_grid(self, i: int, low: Rational, high: Rational, *, is_integers: bool) -> Iterator[Terms]:
        """Return the cells of the grid that a span meets; none if the grid would be too fine for floats."""
        level = self.level(i, high - low)
        if abs(level) > 1000:
            return
        width = fmpq(2) ** level
        first = int((low / width).floor())
        last = max(first, int((high / width).ceil()) - 1)
        if max(abs(first), abs(last)) + _AT_ONCE <= 2**52:  # so that places are floats
            yield from self.cells(i, level, first, last, is_integers=is_integers)

    def level(self, i: int, width: Rational) -> int:
        """Return the power of two that cells of a feature are wide for a span of some width; the wider, the higher."""
        feature = self.model.features[i]
        unit = min(abs(feature.scale), feature.deviation or abs(feature.scale))
        least, step = nearest_float(unit / _FINEST), nearest_float(width / CELLS)
        return max(math.frexp(max(step, least))[1] - 1, -1074)

    def cells(self, i: int, level: int, first: int, last: int, *, is_integers: bool) -> Iterator[Terms]:
        """Return the cells of a grid from the first to the last, of a feature whose shape is a network."""
        network = self._networks[i]
        assert network is not None
        for block in range(first // _AT_ONCE, last // _AT_ONCE + 1):
            key, begin = (i, is_integers, level, block), block * _AT_ONCE
            found = self._cells.get(key)
            if found is None:
                places = np.ldexp(np.arange(begin, begin + _AT_ONCE + 1, dtype=np.float64), level)[np.newaxis]
                x = _input(self.kind, places[:, :-1], places[:, 1:], is_integers=is_integers)
                found = self._terms(self.model.features[i].name, network, x)
                if len(self._cells) >= self._most:
                    self._cells.clear()
                self._cells[key] = found
            yield found.cut(slice(max(first - begin, 0), last + 1 - begin))

    def is_network(self, i: int) -> bool:
        """Whether a feature's shape is a network where it looks nothing up."""
        return self._networks[i] is not None

    def has_tables(self, i: int) -> bool:
        """Whether a feature's shape looks some numbers up."""
        return self._networks[i] is not self._shapes[i]

    def may_look_up(self, i: int, low: Rational, high: Rational) -> bool:
        """Whether a number between two ends, as it is computed, can be one that a feature's shape looks up."""
        name, shape = self.model.features[i].name, self._shapes[i]
        return self._may_look_up(name, shape, _own_cells(self.kind, low, high, 1, is_integers=False))

    # --- through a shape ----------------------------------------------------------------------------------------------

    def _terms(self, name: str, shape: Shape, x: Range) -> Terms:
        """Return the terms of a shape whose input is in a range."""
        match shape:
            case ReluNetwork() | Readout():
                return Terms.of(self._network(shape, x))
            case Sum():
                return Terms.together([self._terms(name, part, x) for part in shape.parts])
            case Scaled():
                return _multiple(self.kind, shape.factor, self._terms(name, shape.shape, x))
            case Rescaled():
                return self._terms(name, shape.shape, scaled(self.kind, name, shape.center, shape.scale, x))
            case PiecewiseLinear() if is_constant(shape):
                return self.entry(shape.values[0], x.low.shape[1])
            case Table() if (key := _key(x)) is not None and [key] == _keys(self.kind, shape, x):
                return self.entry(shape.points[key])
            case Table() if shape.otherwise is not None and not _keys(self.kind, shape, x):
                return self._terms(name, shape.otherwise, x)
            case _:
                raise ClaimError(
                    f"the shape of {name!r} jumps or is not a network, so a rounded input can change it a lot; "
                    "only networks can be asked about with arithmetic 'float32' or 'float64'"
                )

    def _network(self, shape: ReluNetwork | Readout, x: Range) -> Range:
        layers = self._prepared(shape)
        if isinstance(shape, Readout):
            return layers[0](self._network(shape.basis, x))
        outputs = [x]
        for k, (layer, activation) in enumerate(
            zip(layers, (*shape.activations, Activation.identity()), strict=True), start=1
        ):
            after = activated(self.kind, activation, layer(outputs[-1]))
            outputs.append(added(self.kind, after, outputs[shape.skips[k]]) if k in shape.skips else after)
        return outputs[-1]

    def _prepared(self, shape: ReluNetwork | Readout) -> tuple[Layer, ...]:
        if id(shape) not in self._layers:
            if isinstance(shape, Readout):
                self._layers[id(shape)] = (Affine(self.kind, shape.weights, None),)
            else:
                first = Exponential if shape.exu else Affine
                kinds = (first, *[Affine] * (len(shape.weights) - 1))
                each = zip(kinds, shape.weights, shape.biases, strict=True)
                self._layers[id(shape)] = tuple(make(self.kind, weight, bias) for make, weight, bias in each)
        return self._layers[id(shape)]

    def entry(self, entry: Sequence[Rational], cells: int = 1) -> Terms:
        """Return the terms of numbers that are written down."""
        kind = self.kind
        error = np.array([[kind.off(value)] * cells for value in entry])
        exact = np.array([[nearest_float(value)] * cells for value in entry])
        wider = np.array([[kind.near(value)] * cells for value in entry]) * 2.0**-50
        return Terms.of(Range(exact - wider, exact + wider, error).within(kind))

    def _looked_up(self, shape: Shape, value: Value) -> Terms | None:
        """Return the terms of a shape at a value that it looks up; None if it computes with it."""
        match shape:
            case Table() if isinstance(value, fmpq) and value in shape.points:
                return self.entry(shape.points[value])
            case Table() if not isinstance(value, fmpq) and value in shape.labels:
                return self.entry(shape.labels[value])
            case Table() if shape.otherwise is not None:
                return self._looked_up(shape.otherwise, value)
            case Sum():
                found = [self._looked_up(part, value) for part in shape.parts]
                known = [one for one in found if one is not None]
                return Terms.together(known) if len(known) == len(found) else None
            case Scaled():
                inner = self._looked_up(shape.shape, value)
                return None if inner is None else _multiple(self.kind, shape.factor, inner)
            case Rescaled():
                place = (value - shape.center) / shape.scale if isinstance(value, fmpq) else value
                return self._looked_up(shape.shape, place)
            case _:
                return None

    def _may_look_up(self, name: str, shape: Shape, x: Range) -> bool:
        """Whether a computed input in a range can be one of the numbers that a shape looks up."""
        match shape:
            case Sum():
                return any(self._may_look_up(name, part, x) for part in shape.parts)
            case Scaled():
                return self._may_look_up(name, shape.shape, x)
            case Rescaled():
                return self._may_look_up(name, shape.shape, scaled(self.kind, name, shape.center, shape.scale, x))
            case Table():
                rest = shape.otherwise
                return bool(_keys(self.kind, shape, x)) or (rest is not None and self._may_look_up(name, rest, x))
            case _:
                return False


def _shortened(error: float) -> Rational:
    """Return a number of 16 bits that is no smaller: no more than a bound is worth, and the same on every machine."""
    mantissa, exponent = math.frexp(error)
    return fmpq(math.ceil(math.ldexp(mantissa, 16))) * fmpq(2) ** (exponent - 16)


def _without_tables(shape: Shape) -> Shape | None:
    """Return what a shape is where it looks nothing up; None if that is no network."""
    match shape:
        case ReluNetwork() | Readout():
            return shape
        case Sum():
            parts = tuple(part for part in map(_without_tables, shape.parts) if part is not None)
            is_same = all(part is other for part, other in zip(parts, shape.parts, strict=False))
            return None if len(parts) < len(shape.parts) else shape if is_same else Sum(parts)
        case Scaled() | Rescaled():
            inner = _without_tables(shape.shape)
            return None if inner is None else shape if inner is shape.shape else replace(shape, shape=inner)
        case Table() if shape.otherwise is not None:
            return _without_tables(shape.otherwise)
        case _:
            return None


def _input(kind: FloatType, low: Floats, high: Floats, *, is_integers: bool) -> Range:
    """Return the range of numbers that come in between some ends, and are rounded to the type."""
    size = np.maximum(np.abs(low), np.abs(high))
    error = (size * kind.unit + kind.smallest) * GROW
    if is_integers:  # those that are not too large are floats
        error = np.where(size <= 1 / kind.unit, 0.0, error)
    return Range(low, high, error).within(kind)


def _own_cells(kind: FloatType, low: Rational, high: Rational, cells: int, *, is_integers: bool) -> Range:
    """Return the range of numbers that come in from a span, in cells."""
    sizes = kind.near(low) + kind.near(high)
    first, last = nearest_float(low), nearest_float(high)
    if low == high:
        wider = 0.0 if rational(first) == low else sizes * 2.0**-48 + 4 * kind.smallest
        only = np.full((1, 1), first)
        return Range(only - wider, only + wider, np.full((1, 1), kind.off(low)))
    places = np.linspace(first, last, cells + 1)[np.newaxis]
    wider = sizes * 2.0**-48 + 4 * kind.smallest  # more than the places are off
    return _input(kind, places[:, :-1] - wider, places[:, 1:] + wider, is_integers=is_integers)


def _multiple(kind: FloatType, factor: Rational, inner: Terms) -> Terms:
    """Return terms with a factor, which may multiply each of them or any of their partial sums.

    The factor is off by `e`. A number `t` that it multiplies is off by `e|t|`, and the product rounds by
    `u(|f| + e)|t|` and underflows by at most `s/2`. The numbers that are multiplied are disjoint partial sums as they
    were computed, so that together they are at most what all terms add up to without their signs, and what additions
    make of it.
    """
    size, off = kind.near(factor), kind.off(factor)
    product = 0.0 if abs(factor) == 1 else kind.unit * (size + off)
    under = (inner.count + 8) * kind.smallest
    grown = (size + off) * (1 + 2 * kind.unit) * GROW
    sides = inner.above * grown + under, inner.below * grown + under
    above, below = sides if factor > 0 else sides[::-1]
    error = size * inner.error + (off + product) * (inner.above + inner.below) * _SUMMED + under
    most = np.maximum(inner.most, np.maximum(above, below)) * _SUMMED
    return Terms(above * (inner.count > 0), below * (inner.count > 0), inner.count, error * GROW, most)


def is_constant(shape: Shape) -> TypeGuard[PiecewiseLinear]:
    """Whether a shape is a constant."""
    if not isinstance(shape, PiecewiseLinear):
        return False
    is_flat = not any((*shape.left_slope, *shape.right_slope))
    return is_flat and all(row == shape.values[0] for row in shape.values)


def _key(z: Range) -> Rational | None:
    """Return the one number that an input is, if it is known exactly."""
    is_exact = z.low.size == 1 and not z.error.any() and z.low[0, 0] == z.high[0, 0]
    return rational(float(z.low[0, 0])) if is_exact else None


def _keys(kind: FloatType, shape: Table, z: Range) -> list[Rational]:
    """Return the numbers of a table that a computed input may be equal to, once they are rounded."""
    low, high = float((z.low - z.error).min()), float((z.high + z.error).max())
    near = [(key, nearest_float(key), abs(nearest_float(key)) * kind.unit + kind.smallest) for key in shape.points]
    # Written so that what is not a number, in a cell that overflows, may be any key.
    return [key for key, at, off in near if not (at + 2 * off < low or high < at - 2 * off)]
