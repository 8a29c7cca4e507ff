"""Operations of ONNX graphs, on rows that are chains of layers or sums of features' parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.adapters.onnx_rows import (
    MOST_PARTS,
    Array,
    Chain,
    Row,
    Tensor,
    added,
    as_sum,
    constant_of,
    linear,
    plus,
    rows_of,
    scaled,
    unit_matrix,
)
from suffice.errors import AdapterError
from suffice.shapes import Activation, SmoothFunction

_MOST_NUMBERS = 10_000_000


def _do_add(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    a, b = given
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _broadcast(a, b, np.add)
    if isinstance(b, np.ndarray):
        return plus(rows_of(a), b)
    if isinstance(a, np.ndarray):
        return plus(rows_of(b), a)
    return (added([as_sum(rows_of(a)), as_sum(rows_of(b))]),)


def _broadcast(a: Array, b: Array, operation: Callable[[Array, Array], Array]) -> Array:
    if math.prod(np.broadcast_shapes(a.shape, b.shape)) > _MOST_NUMBERS:
        raise AdapterError(f"constants of shapes {a.shape} and {b.shape} make too many numbers")
    return np.asarray(operation(a, b))


def _do_sub(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    a, b = given
    if isinstance(b, np.ndarray):
        return _do_add([a, -b], attributes)
    return _do_add([a, scaled(rows_of(b), np.array(-1.0))], attributes)


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
    return scaled(rows_of(a), constant_of(b))


def _do_div(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    return scaled(rows_of(given[0]), constant_of(given[1]), is_division=True)


def _do_matmul(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    return linear(rows_of(given[0]), np.atleast_2d(constant_of(given[1]).T))


def _do_gemm(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    if attributes.get("transA") or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0:
        raise AdapterError("alpha, beta and transA other than the usual ones are not read")
    weight = constant_of(given[1])
    row = linear(rows_of(given[0]), weight if attributes.get("transB") else weight.T)
    return row if len(given) < 3 or given[2] is None else plus(row, constant_of(given[2]))


def _do_sum(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    axes = constant_of(given[1]).tolist() if len(given) > 1 else list(attributes.get("axes", []))
    row = rows_of(given[0])
    if axes not in ([1], [-1]):
        raise AdapterError(f"a sum over axes {axes} is not one over the columns of a row")
    return linear(row, np.ones((1, sum(block.width for block in row)), dtype=np.float32))


def _do_concat(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    rows = [rows_of(one) for one in given]
    if sum(map(len, rows)) > MOST_PARTS:
        raise AdapterError(f"more than {MOST_PARTS} columns stand side by side")
    return tuple(block for row in rows for block in row)


def _pick(row: Row, places: Sequence[int]) -> Row:
    if any(block.width != 1 for block in row):
        raise AdapterError("units of a layer are picked one by one")
    return tuple(row[k] for k in places)


def _do_slice(given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    row = rows_of(given[0])
    starts, ends, *rest = ([int(v) for v in np.ravel(constant_of(one))] for one in given[1:] if one is not None)
    axes = rest[0] if rest else [0]
    steps = rest[1] if len(rest) > 1 else [1]
    if axes not in ([1], [-1]):
        raise AdapterError(f"a slice of axes {axes} is not one of columns")
    return _pick(row, range(len(row))[starts[0] : ends[0] : steps[0]])


def _do_gather(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    if attributes.get("axis", 0) not in (1, -1):
        raise AdapterError("rows are gathered, not columns")
    row = rows_of(given[0])
    places = [int(k) for k in np.ravel(constant_of(given[1]))]
    if len(places) > MOST_PARTS:
        raise AdapterError(f"more than {MOST_PARTS} columns are gathered")
    return _pick(row, places)


def _do_scaler(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    offset, scale = (np.array(attributes[name], dtype=np.float32) for name in ("offset", "scale"))
    return scaled(plus(rows_of(given[0]), -offset), scale)


def _do_regressor(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    weights = np.array(attributes["coefficients"], dtype=np.float32).reshape(int(attributes.get("targets", 1)), -1)
    return plus(linear(rows_of(given[0]), weights), np.array(attributes.get("intercepts", [0.0]), dtype=np.float32))


def _do_norm(given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    row = rows_of(given[0])
    gamma, beta, mean, variance = (constant_of(one).astype(np.float64) for one in given[1:5])
    # Square roots are irrational: factor and offset count at the float64 that they round to.
    factor = gamma / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    if len(row) != 1 or not isinstance(row[0], Chain):
        raise AdapterError("batch normalisation of several columns at once is not read")
    return (row[0].linear(unit_matrix(len(factor)) * factor, beta - factor * mean),)


def _chains(given: Tensor | None) -> list[Chain]:
    """Return the blocks that an activation is applied to, each a function of one column."""
    made = []
    for block in rows_of(given):
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
    ends = [float(constant_of(one)) if one is not None else None for one in (*given[1:], None, None)][:2]
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
    if any(np.float32(attributes.get(name, value)) != np.float32(value) for name, value in usual.items()):
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
    "PRelu": _activation(lambda given, attributes: Activation.leaky_relu(np.ravel(constant_of(given[1])))),
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
