"""Reading shapes from a model file, as strictly as they are made by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from suffice.model.fields import fields, no_duplicates, number_in, only_field, value_in
from suffice.model.file_format import Json, Tensors
from suffice.numbers.exact import Rational, nearest_float
from suffice.shapes import (
    Activation,
    Bins,
    Composed,
    PairLinear,
    PairShape,
    PairSteps,
    PiecewiseLinear,
    PiecewisePolynomial,
    Product,
    Readout,
    ReluNetwork,
    Shape,
    Smooth,
    SmoothFunction,
    SmoothNetwork,
    Steps,
    Table,
)
from suffice.shapes.pair_pieces import Grid
from suffice.shapes.pair_shape import PairRescaled, PairScaled, PairSum
from suffice.shapes.shape import Rescaled, Scaled, Sum


class Parts(NamedTuple):
    """What shapes are read from."""

    tensors: Tensors
    bases: list[ReluNetwork]


def _activation_in(document: Json) -> Activation:
    name, thresholds, slopes, offsets = fields(document, "name", "thresholds", "slopes", "offsets")
    if not isinstance(name, str):
        raise TypeError("the name of an activation must be text")
    return Activation(
        name,
        tuple(_float_in(value) for value in thresholds),
        np.array([[_float_in(value) for value in row] for row in slopes], dtype=np.float64),
        np.array([_float_in(value) for value in offsets], dtype=np.float64),
    )


def _float_in(text: Any) -> float:
    exact = number_in(text)
    near = nearest_float(exact)
    if not np.isfinite(near) or fmpq(*near.as_integer_ratio()) != exact:
        raise ValueError(f"{text} is not a float64")
    return near


def _network_in(document: Json, parts: Parts) -> ReluNetwork:
    names = fields(document, "weights", "biases", "activations", "skips", "exu")
    weights, biases, activations, skips, exu = names
    if not isinstance(exu, bool):
        raise TypeError("exu must be true or false")
    return ReluNetwork(
        [parts.tensors[name] for name in weights],
        [None if name is None else parts.tensors[name] for name in biases],
        [_activation_in(activation) for activation in activations],
        no_duplicates([(to, source) for to, source in skips]),
        exu,
    )


def _smooth_function_in(document: Json) -> SmoothFunction:
    name, parameters = fields(document, "name", "parameters")
    return SmoothFunction(name, *(number_in(one) for one in parameters))


def _smooth_in(document: Json, parts: Parts) -> Shape:
    (function,) = fields(document, "function")
    return Smooth(_smooth_function_in(function))


def _smooth_network_in(document: Json, parts: Parts) -> Shape:
    weights, biases, activations, skips = fields(document, "weights", "biases", "activations", "skips")
    return SmoothNetwork(
        [parts.tensors[name] for name in weights],
        [None if name is None else parts.tensors[name] for name in biases],
        [_smooth_function_in(one) if "parameters" in one else _activation_in(one) for one in activations],
        no_duplicates([(to, source) for to, source in skips]),
    )


def _composed_in(document: Json, parts: Parts) -> Shape:
    outer, inner = fields(document, "outer", "inner")
    return Composed(shape_in(outer, parts), shape_in(inner, parts))


def _readout_in(document: Json, parts: Parts) -> Shape:
    basis, weights = fields(document, "basis", "weights")
    if type(basis) is not int or not 0 <= basis < len(parts.bases):
        raise ValueError(f"there is no basis {basis!r}")
    return Readout(parts.bases[basis], parts.tensors[weights])


def basis_in(document: Json, tensors: Tensors) -> ReluNetwork:
    """Return a network that shapes share."""
    basis = shape_in(document, Parts(tensors, []))
    if not isinstance(basis, ReluNetwork):
        raise TypeError("a basis must be a network")
    return basis


def _steps_in(document: Json, parts: Parts) -> Shape:
    cuts, values, closed = fields(document, "cuts", "values", "closed")
    return Steps(_numbers_in(cuts, parts)[0], _numbers_in(values, parts), closed)


def _piecewise_linear_in(document: Json, parts: Parts) -> Shape:
    knots, values, slopes = fields(document, "knots", "values", "slopes")
    left, right = _numbers_in(slopes, parts)
    return PiecewiseLinear(_numbers_in(knots, parts)[0], _numbers_in(values, parts), left, right)


def _piecewise_polynomial_in(document: Json, parts: Parts) -> Shape:
    knots, coefficients, values = fields(document, "knots", "coefficients", "values")
    places, rows = _one_row_in(knots, parts), _numbers_in(coefficients, parts)
    outputs, rest = divmod(len(rows), len(places) + 1)
    if rest:
        raise ValueError(f"{len(rows)} rows of coefficients are not as many for each of {len(places) + 1} pieces")
    pieces = [rows[k * outputs : (k + 1) * outputs] for k in range(len(places) + 1)]
    return PiecewisePolynomial(places, pieces, _numbers_in(values, parts))


def _table_in(document: Json, parts: Parts) -> Shape:
    keys, values, otherwise = fields(document, "keys", "values", "otherwise")
    rest = None if otherwise is None else shape_in(otherwise, parts)
    entries: dict[Any, Any] = dict(zip((value_in(key) for key in keys), _numbers_in(values, parts), strict=True))
    if len(entries) != len(keys):
        raise ValueError("a table has the same key twice")
    return Table(entries, rest)


def _sum_in(document: Json, parts: Parts) -> Shape:
    (summands,) = fields(document, "parts")
    return Sum(tuple(shape_in(summand, parts) for summand in summands))


def _scaled_in(document: Json, parts: Parts) -> Shape:
    shape, factor = fields(document, "shape", "factor")
    return Scaled(shape_in(shape, parts), number_in(factor))


def _rescaled_in(document: Json, parts: Parts) -> Shape:
    shape, center, scale = fields(document, "shape", "center", "scale")
    return Rescaled(shape_in(shape, parts), number_in(center), number_in(scale))


READERS: Mapping[str, Callable[[Json, Parts], Shape]] = {
    "network": _network_in,
    "readout": _readout_in,
    "steps": _steps_in,
    "piecewise_linear": _piecewise_linear_in,
    "piecewise_polynomial": _piecewise_polynomial_in,
    "smooth": _smooth_in,
    "smooth_network": _smooth_network_in,
    "composed": _composed_in,
    "table": _table_in,
    "sum": _sum_in,
    "scaled": _scaled_in,
    "rescaled": _rescaled_in,
}


def shape_in(document: Json, parts: Parts) -> Shape:
    """Return a shape of one feature."""
    kind, rest = _kind(document, READERS, "a kind of shape")
    return READERS[kind](rest, parts)


def _kind(document: Json, known: Mapping[str, object], what: str) -> tuple[str, Json]:
    rest = dict(document)
    kind = rest.pop("kind")
    if kind not in known:
        raise ValueError(f"{kind!r} is not {what}")
    return kind, rest


def _pair_steps_in(document: Json, parts: Parts) -> PairShape:
    rows, columns, values = fields(document, "rows", "columns", "values")
    first, second = _bins_in(rows, parts), _bins_in(columns, parts)
    return PairSteps(first, second, _grid_in(values, len(first), len(second), parts))


def _pair_linear_in(document: Json, parts: Parts) -> PairShape:
    rows, columns, values = fields(document, "rows", "columns", "values")
    first, second = _one_row_in(rows, parts), _one_row_in(columns, parts)
    return PairLinear(first, second, _grid_in(values, len(first), len(second), parts))


def _product_in(document: Json, parts: Parts) -> PairShape:
    first, second = fields(document, "first", "second")
    return Product(shape_in(first, parts), shape_in(second, parts))


def _pair_sum_in(document: Json, parts: Parts) -> PairShape:
    (summands,) = fields(document, "parts")
    return PairSum(tuple(pair_shape_in(summand, parts) for summand in summands))


def _pair_scaled_in(document: Json, parts: Parts) -> PairShape:
    shape, factor = fields(document, "shape", "factor")
    return PairScaled(pair_shape_in(shape, parts), number_in(factor))


def _pair_rescaled_in(document: Json, parts: Parts) -> PairShape:
    shape, centers, scales = fields(document, "shape", "centers", "scales")
    (first, second), (third, fourth) = ([number_in(value) for value in values] for values in (centers, scales))
    return PairRescaled(pair_shape_in(shape, parts), (first, second), (third, fourth))


PAIR_READERS: Mapping[str, Callable[[Json, Parts], PairShape]] = {
    "pair_steps": _pair_steps_in,
    "pair_linear": _pair_linear_in,
    "product": _product_in,
    "pair_sum": _pair_sum_in,
    "pair_scaled": _pair_scaled_in,
    "pair_rescaled": _pair_rescaled_in,
}


def pair_shape_in(document: Json, parts: Parts) -> PairShape:
    """Return a shape of two features."""
    kind, rest = _kind(document, PAIR_READERS, "a kind of shape of two features")
    return PAIR_READERS[kind](rest, parts)


def _bins_in(document: Json, parts: Parts) -> Bins:
    cuts, keys, closed = fields(document, "cuts", "keys", "closed")
    exact: list[Any] = [value_in(key) for key in keys]
    return Bins(None if cuts is None else _one_row_in(cuts, parts), exact, closed)


def _grid_in(document: Json, rows: int, columns: int, parts: Parts) -> Grid:
    """Return a row of outputs for each cell of a table, which the file lists row by row."""
    cells = _numbers_in(document, parts)
    if len(cells) != rows * columns:
        raise ValueError(f"a table of {rows} times {columns} cells has {len(cells)} values")
    if len({len(cell) for cell in cells}) != 1 or not cells[0]:
        raise ValueError("the cells of a table must all have the same number of outputs, one or more")
    return np.array(cells, dtype=object).reshape(rows, columns, -1)


def _one_row_in(document: Json, parts: Parts) -> list[Rational]:
    (row,) = _numbers_in(document, parts)
    return row


def _numbers_in(document: Json, parts: Parts) -> list[list[Rational]]:
    kind, content = only_field(document)
    if kind == "tensor":
        table = parts.tensors[content]
        if table.ndim != 2 or table.dtype != np.float64 or not np.isfinite(table).all():
            raise ValueError(f"{content!r} is not a table of finite float64 numbers")
        return [[fmpq(*value.as_integer_ratio()) for value in row] for row in table.tolist()]
    if kind == "numbers":
        return [[number_in(value) for value in row] for row in content]
    raise ValueError(f"{kind!r} is not a way to list numbers")
