"""Operations of ONNX graphs, on rows that are chains of layers or sums of features' parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
_MOST_PARTS = 100_000
_MOST_MADE = 2 * _MOST_PARTS  # columns, in all steps together
_MOST_NUMBERS = 10_000_000
_MOST_WEIGHTS = 100_000_000
_WIDEST = 4096


@lru_cache(maxsize=4)
def _unit(width: int) -> Array:
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
        return self.linear(_unit(self.width), bias)

    def then(self, activation: Activation | SmoothFunction) -> Chain:
        """Return the chain with an activation at its end."""
        chain = self if self.layers and self.layers[-1][2].is_identity else self.linear(_unit(self.width))
        weight, bias, _ = chain.layers[-1]
        return replace(chain, layers=(*chain.layers[:-1], (weight, bias, activation)))

    def hard_sigmoid(self, alpha: float, beta: float) -> Chain:
        """Return the chain with `max(0, min(1, alpha * x + beta))` at its end."""
        return self.linear(_unit(self.width) * alpha, np.full(self.width, beta)).then(_FROM_0_TO_1)

    def shape(self) -> Shape:
        """Return the function of the column."""
        if not self.layers:
            line = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
            return line.rescaled(self.center, self.scale)
        last = self if self.layers[-1][2].is_identity else self.linear(_unit(self.width))
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


# --- operations -------------------------------------------------------------------------------------------------------


def _rows(given: Tensor | None) -> Row:
    if not isinstance(given, tuple):
        raise AdapterError("a constant stands where the table's columns are expected")
    return given


def _constant(given: Tensor | None) -> Array:
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
    return (_added(sums),)


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


def _added(sums: Sequence[Sum]) -> Sum:
    """Return the sum of several; all at once, for there may be one for each of thousands of columns."""
    width = sums[0].width
    other = next((one.width for one in sums if one.width != width), None)
    if other is not None:
        raise AdapterError(f"{width} and {other} outputs are added")
    if sum(len(one.parts) for one in sums) > _MOST_PARTS:
        raise AdapterError(f"more than {_MOST_PARTS} functions of columns are added")
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


def _times(row: Row, constant: Array, *, is_division: bool = False) -> Row:
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
            made.append(block.linear(_unit(len(floats)) * floats))
    return tuple(made)


def _do_add(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    a, b = given
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _broadcast(a, b, np.add)
    if isinstance(b, np.ndarray):
        return plus(_rows(a), b)
    if isinstance(a, np.ndarray):
        return plus(_rows(b), a)
    return (_added([as_sum(_rows(a)), as_sum(_rows(b))]),)


def _broadcast(a: Array, b: Array, operation: Callable[[Array, Array], Array]) -> Array:
    if math.prod(np.broadcast_shapes(a.shape, b.shape)) > _MOST_NUMBERS:
        raise AdapterError(f"constants of shapes {a.shape} and {b.shape} make too many numbers")
    return np.asarray(operation(a, b))


def _do_sub(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    a, b = given
    if isinstance(b, np.ndarray):
        return _do_add([a, -b], attributes)
    return _do_add([a, _times(_rows(b), np.array(-1.0))], attributes)


def _do_mul(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    a, b = given if isinstance(given[1], np.ndarray) else (given[1], given[0])
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _broadcast(a, b, np.multiply)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) == 1:
        (first,), (second,) = a, b
        if isinstance(first, Chain) and isinstance(second, Chain):
            found = first.times(second) or second.times(first)
            if found is not None:
                return (found,)
    return _times(_rows(a), _constant(b))


def _do_div(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    return _times(_rows(given[0]), _constant(given[1]), is_division=True)


def _do_matmul(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    return linear(_rows(given[0]), np.atleast_2d(_constant(given[1]).T))


def _do_gemm(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    if attributes.get("transA") or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
        raise AdapterError("alpha, beta and transA other than the usual ones are not read")
    weight = _constant(given[1])
    row = linear(_rows(given[0]), weight if attributes.get("transB") else weight.T)
    return row if len(given) < 3 or given[2] is None else plus(row, _constant(given[2]))


def _do_sum(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    axes = _constant(given[1]).tolist() if len(given) > 1 else list(attributes.get("axes", []))
    row = _rows(given[0])
    if axes not in ([1], [-1]):
        raise AdapterError(f"a sum over axes {axes} is not one over the columns of a row")
    return linear(row, np.ones((1, sum(block.width for block in row)), dtype=np.float32))


def _do_concat(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    rows = [_rows(one) for one in given]
    if sum(map(len, rows)) > _MOST_PARTS:
        raise AdapterError(f"more than {_MOST_PARTS} columns stand side by side")
    return tuple(block for row in rows for block in row)


def _pick(row: Row, places: Sequence[int]) -> Row:
    if any(block.width != 1 for block in row):
        raise AdapterError("units of a layer are picked one by one")
    return tuple(row[k] for k in places)


def _do_slice(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    row = _rows(given[0])
    starts, ends, *rest = ([int(v) for v in np.ravel(_constant(one))] for one in given[1:] if one is not None)
    axes = rest[0] if rest else [0]
    steps = rest[1] if len(rest) > 1 else [1]
    if axes not in ([1], [-1]):
        raise AdapterError(f"a slice of axes {axes} is not one of columns")
    return _pick(row, range(len(row))[starts[0] : ends[0] : steps[0]])


def _do_gather(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    if attributes.get("axis", 0) not in (1, -1):
        raise AdapterError("rows are gathered, not columns")
    row = _rows(given[0])
    places = [int(k) for k in np.ravel(_constant(given[1]))]
    if len(places) > _MOST_PARTS:
        raise AdapterError(f"more than {_MOST_PARTS} columns are gathered")
    return _pick(row, places)


def _do_scaler(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    offset, scale = (np.array(attributes[name], dtype=np.float32) for name in ("offset", "scale"))
    return _times(plus(_rows(given[0]), -offset), scale)


def _do_regressor(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    weights = np.array(attributes["coefficients"], dtype=np.float32).reshape(int(attributes.get("targets", 1)), -1)
    return plus(linear(_rows(given[0]), weights), np.array(attributes.get("intercepts", [0.0]), dtype=np.float32))


def _do_norm(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    row = _rows(given[0])
    gamma, beta, mean, variance = (_constant(one).astype(np.float64) for one in given[1:5])
    # Square roots are irrational: factor and offset count at the float64 that they round to.
    factor = gamma / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    if len(row) != 1 or not isinstance(row[0], Chain):
        raise AdapterError("batch normalisation of several columns at once is not read")
    return (row[0].linear(_unit(len(factor)) * factor, beta - factor * mean),)


def _chains(given: Tensor | None) -> list[Chain]:
    """Return the blocks that an activation is applied to, each a function of one column."""
    made = []
    for block in _rows(given):
        if not isinstance(block, Chain):
            columns = sorted({k for k, _ in block.parts})
            raise AdapterError(
                f"it is applied to a sum of columns {', '.join(map(str, columns[:6]))}, so the model is not additive"
            )
        made.append(block)
    return made


def _activation(
    make: Callable[[Sequence[Tensor | None], Mapping[str, Any]], Activation | SmoothFunction],
) -> Any:
    def apply(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
        return tuple(block.then(make(given, attributes)) for block in _chains(given[0]))

    return apply


def _do_hard_sigmoid(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    alpha, beta = (float(np.float32(attributes.get(name, usual))) for name, usual in (("alpha", 0.2), ("beta", 0.5)))
    return tuple(block.hard_sigmoid(alpha, beta) for block in _chains(given[0]))


def _clip(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Activation:
    ends = [float(_constant(one)) if one is not None else None for one in (*given[1:], None, None)][:2]
    low = ends[0] if ends[0] is not None else attributes.get("min")
    high = ends[1] if ends[1] is not None else attributes.get("max")
    if low is None or high is None:
        if low == 0.0:
            return Activation.relu()
        raise AdapterError("it has one end only")
    return Activation.hard_tanh(float(low), float(high))


def _same(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    (first, *_rest) = given
    assert first is not None
    return first


def _selu(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> SmoothFunction:
    usual = {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805}
    if any(abs(attributes.get(name, value) - value) > 1e-6 for name, value in usual.items()):
        raise AdapterError("it has another alpha or gamma than usual")
    return SmoothFunction("selu")


def _gelu(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> SmoothFunction:
    told = attributes.get("approximate", "none")
    return SmoothFunction("gelu_tanh" if told in ("tanh", b"tanh") else "gelu")


def _smooth(name: str) -> Any:
    return _activation(lambda given, attributes: SmoothFunction(name))


def _smooth_with_alpha(name: str) -> Any:
    return _activation(lambda given, attributes: SmoothFunction(name, float(attributes.get("alpha", 1.0))))


OPERATIONS: Mapping[str, Callable[[Sequence[Tensor | None], Mapping[str, Any]], Tensor]] = {
    "Abs": _activation(lambda given, attributes: Activation.absolute()),
    "Add": _do_add,
    "BatchNormalization": _do_norm,
    "Cast": _same,
    "Celu": _smooth_with_alpha("celu"),
    "Clip": _activation(_clip),
    "Concat": _do_concat,
    "Div": _do_div,
    "Dropout": _same,
    "Elu": _smooth_with_alpha("elu"),
    "Flatten": _same,
    "Gather": _do_gather,
    "Gelu": _activation(_gelu),
    "Gemm": _do_gemm,
    "HardSigmoid": _do_hard_sigmoid,
    "HardSwish": _smooth("hardswish"),
    "Identity": _same,
    "LeakyRelu": _activation(
        lambda given, attributes: Activation.leaky_relu(np.float32(attributes.get("alpha", 0.01)))
    ),
    "LinearRegressor": _do_regressor,
    "MatMul": _do_matmul,
    "Mish": _smooth("mish"),
    "Mul": _do_mul,
    "PRelu": _activation(lambda given, attributes: Activation.leaky_relu(np.ravel(_constant(given[1])))),
    "ReduceSum": _do_sum,
    "Relu": _activation(lambda given, attributes: Activation.relu()),
    "Reshape": _same,
    "Scaler": _do_scaler,
    "Selu": _activation(_selu),
    "Sigmoid": _smooth("sigmoid"),
    "Sin": _smooth("sine"),
    "Slice": _do_slice,
    "Softplus": _smooth("softplus"),
    "Squeeze": _same,
    "Sub": _do_sub,
    "Tanh": _smooth("tanh"),
    "Unsqueeze": _same,
}
