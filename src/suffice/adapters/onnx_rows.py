"""Rows of ONNX graphs: blocks that are chains of layers over one column, or sums of features' parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes import Activation, PiecewiseLinear, ReluNetwork, Shape, SmoothFunction, SmoothNetwork

Array = NDArray[Any]

_SIGMOID, _SOFTPLUS, _TANH = (SmoothFunction(name) for name in ("sigmoid", "softplus", "tanh"))
_FROM_0_TO_1 = Activation.hard_tanh(0, 1)

# Far more than any graph of a model has; without a limit, a file of some bytes could ask for any amount of memory.
MOST_PARTS = 100_000
_MOST_MADE = 2 * MOST_PARTS  # columns, in all steps together
_MOST_WEIGHTS = 100_000_000
_WIDEST = 4096


@lru_cache(maxsize=4)
def unit_matrix(width: int) -> Array:
    """Return the matrix of a layer that changes nothing; layers share it."""
    if width > _WIDEST:
        raise AdapterError(f"a layer of {width} units is wider than the {_WIDEST} that are read")
    unit = np.eye(width, dtype=np.float32)
    unit.flags.writeable = False
    return unit


@dataclass(frozen=True, slots=True)
class Chain:
    """Layers over one column: `W h + b`, then an activation; the first reads `(x - center) / scale`."""

    column: int
    width: int = 1
    layers: tuple[tuple[Array, Array | None, Activation | SmoothFunction], ...] = ()
    center: Rational = ZERO
    scale: Rational = ONE

    def linear(self, weight: Array, bias: Array | None = None) -> Chain:
        """Return the chain with one more layer; `weight` has a row for each output."""
        layer = (weight, bias, Activation.identity())
        return replace(self, width=len(weight), layers=(*self.layers, layer))

    def plus(self, bias: Array) -> Chain:
        """Return the chain with a constant added."""
        bias = np.broadcast_to(bias, (self.width,))
        if self.layers and self.layers[-1][1] is None and self.layers[-1][2].is_identity:
            weight, _, activation = self.layers[-1]
            return replace(self, layers=(*self.layers[:-1], (weight, bias, activation)))
        return self.linear(unit_matrix(self.width), bias)

    def then(self, activation: Activation | SmoothFunction) -> Chain:
        """Return the chain with an activation at its end."""
        chain = self if self.layers and self.layers[-1][2].is_identity else self.linear(unit_matrix(self.width))
        weight, bias, _ = chain.layers[-1]
        return replace(chain, layers=(*chain.layers[:-1], (weight, bias, activation)))

    def hard_sigmoid(self, alpha: float, beta: float) -> Chain:
        """Return the chain with `max(0, min(1, alpha * x + beta))` at its end."""
        return self.linear(unit_matrix(self.width) * alpha, np.full(self.width, beta)).then(_FROM_0_TO_1)

    def shape(self) -> Shape:
        """Return the function of the column."""
        if not self.layers:
            line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
            return line.rescaled(self.center, self.scale)
        last = self if self.layers[-1][2].is_identity else self.linear(unit_matrix(self.width))
        weights, biases, activations = zip(*last.layers, strict=True)
        lines = [one for one in activations[:-1] if isinstance(one, Activation)]
        if len(lines) < len(activations) - 1:
            return SmoothNetwork(weights, biases, activations[:-1]).rescaled(self.center, self.scale)
        return ReluNetwork(weights, biases, lines).rescaled(self.center, self.scale)

    def times(self, other: Chain) -> Chain | None:
        """Return the chain times another one, if that is a known activation's other factor; None if it is not."""
        sixth = float(np.float32(1 / 6))
        for name, mine in (
            ("silu", self.then(_SIGMOID)),
            ("mish", self.then(_SOFTPLUS).then(_TANH)),
            ("hardswish", self.hard_sigmoid(sixth, 0.5)),
        ):
            if replace(mine, layers=()) == replace(other, layers=()) and len(mine.layers) == len(other.layers):
                pairs = zip(mine.layers, other.layers, strict=True)
                if all(np.array_equal(a[0], b[0]) and _is_same(a[1], b[1]) and a[2] == b[2] for a, b in pairs):
                    return self.then(SmoothFunction(name))
        return None


def _is_same(one: Array | None, other: Array | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


@dataclass(frozen=True, slots=True)
class Sum:
    """Functions of columns, and constants; `width` outputs each."""

    width: int
    parts: tuple[tuple[int, Shape], ...]
    constant: tuple[Rational, ...]


Block: TypeAlias = Chain | Sum
Row: TypeAlias = tuple[Block, ...]
Tensor: TypeAlias = Array | Row


def check_size(made: int, tensor: Tensor) -> None:
    """Refuse a graph that has made more columns up to here, or more layers for these, than any model needs."""
    if made > _MOST_MADE:
        raise AdapterError(f"more than {_MOST_MADE} columns are made up to here, which are not read")
    chains = [block for block in tensor if isinstance(block, Chain)] if isinstance(tensor, tuple) else []
    if sum(weight.size for chain in chains for weight, *_ in chain.layers) > _MOST_WEIGHTS:
        raise AdapterError(f"layers of more than {_MOST_WEIGHTS} weights are not read")


def rows_of(given: Tensor | None) -> Row:
    """Return what stands for columns of the table."""
    if not isinstance(given, tuple):
        raise AdapterError("a constant stands where the table's columns are expected")
    return given


def constant_of(given: Tensor | None) -> Array:
    """Return what stands for numbers of the file."""
    if not isinstance(given, np.ndarray):
        raise AdapterError(
            "columns, or functions of a column, are multiplied or divided by each other, which is not read but for "
            "SiLU, Mish and Hardswish"
        )
    return given


def linear(row: Row, weight: Array) -> Row:
    """Return `row @ weight.T`: one chain stays one, several become a sum."""
    width = sum(block.width for block in row)
    if weight.ndim != 2 or weight.shape[1] != width or not len(weight):
        raise AdapterError(f"weights of shape {weight.shape} are applied to {width} columns")
    if len(row) == 1 and isinstance(row[0], Chain):
        return (row[0].linear(weight),)
    first, sums = 0, []
    for block in row:
        mine = weight[:, first : first + block.width]
        first += block.width
        sums.append(as_sum((block.linear(mine),)) if isinstance(block, Chain) else _mixed(block, mine))
    return (added(sums),)


def _mixed(block: Sum, weight: Array) -> Sum:
    if block.width != 1:
        raise AdapterError("a layer reads several sums of columns; only one score for each output is read")
    factors = [rational(float(value)) for value in weight[:, 0]]
    if len(factors) != 1:
        raise AdapterError("a layer makes several outputs of one sum of columns")
    return Sum(1, tuple((k, shape * factors[0]) for k, shape in block.parts), (block.constant[0] * factors[0],))


def as_sum(row: Row) -> Sum:
    """Return a row that is one block as a sum of features' parts."""
    if len(row) != 1:
        raise AdapterError("the score is several blocks of columns side by side, not their sum")
    (block,) = row
    return (
        block if isinstance(block, Sum) else Sum(block.width, ((block.column, block.shape()),), (ZERO,) * block.width)
    )


def added(sums: Sequence[Sum]) -> Sum:
    """Return the sum of several; all at once, for there may be one for each of thousands of columns."""
    width = sums[0].width
    other = next((one.width for one in sums if one.width != width), None)
    if other is not None:
        raise AdapterError(f"{width} and {other} outputs are added")
    if sum(len(one.parts) for one in sums) > MOST_PARTS:
        raise AdapterError(f"more than {MOST_PARTS} functions of columns are added")
    constants = zip(*(one.constant for one in sums), strict=True)
    return Sum(width, tuple(part for one in sums for part in one.parts), tuple(sum(each, ZERO) for each in constants))


def plus(row: Row, constant: Array) -> Row:
    """Return a row with a constant added to each of its columns."""
    width = sum(block.width for block in row)
    values = np.broadcast_to(np.ravel(constant), (width,))
    first = 0
    made: list[Block] = []
    for block in row:
        mine = values[first : first + block.width]
        first += block.width
        if isinstance(block, Sum):
            moved = tuple(c + rational(float(v)) for c, v in zip(block.constant, mine, strict=True))
            made.append(replace(block, constant=moved))
        elif not block.layers:  # a shift of the input itself is exact
            made.append(replace(block, center=block.center - rational(float(mine[0])) * block.scale))
        else:
            made.append(block.plus(mine))
    return tuple(made)


def scaled(row: Row, constant: Array, *, is_division: bool = False) -> Row:
    """Return a row whose columns are multiplied, or divided, by a constant each."""
    width = sum(block.width for block in row)
    values = [rational(float(v)) for v in np.broadcast_to(np.ravel(constant), (width,))]
    factors = [1 / value for value in values] if is_division else values
    first = 0
    made: list[Block] = []
    for block in row:
        mine = factors[first : first + block.width]
        first += block.width
        if isinstance(block, Chain) and not block.layers:
            made.append(replace(block, scale=block.scale / mine[0]))
        elif isinstance(block, Sum):
            if len(set(mine)) != 1:
                raise AdapterError("the outputs of a sum are scaled differently")
            parts = tuple((k, shape * mine[0]) for k, shape in block.parts)
            made.append(Sum(block.width, parts, tuple(c * mine[0] for c in block.constant)))
        else:
            floats = np.array([nearest_float(value) for value in mine])
            if any(rational(float(f)) != value for f, value in zip(floats, mine, strict=True)):
                raise AdapterError("hidden units are divided by a number that is not a power of two; multiply instead")
            made.append(block.linear(unit_matrix(len(floats)) * floats))
    return tuple(made)
