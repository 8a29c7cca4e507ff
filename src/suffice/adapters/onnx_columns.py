"""Operations of ONNX graphs on columns: what skl2onnx writes before a model, each column a function of one input.

Numbers are float32. A column is followed exactly (`pieces`) and as the graph computes it (`floats`), so that a jump
lies where the graph's own rounding has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import compose, step_pieces
from suffice.adapters.column import Column, Finite, Numeric, Raw, Unused, as_number, mapped, value_at
from suffice.adapters.draft import UNSEEN, Cell
from suffice.adapters.floats import first_at_least
from suffice.adapters.imputers import filled
from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Pieces

Array = NDArray[Any]
Row: TypeAlias = tuple[Column, ...]
Tensor: TypeAlias = Array | Row

_FLOAT, _INT32, _INT64, _STRING, _BOOL = 1, 6, 7, 8, 9  # as ONNX numbers the types of tensors
WHOLE = (_INT32, _INT64, _BOOL)
TEXT = _STRING
KINDS = (_FLOAT, *WHOLE, _STRING)
_MOST_COMPARED = 1_000_000  # columns with steps, where the largest is chosen
MOST_COLUMNS = 100_000  # that a graph makes; without a limit, a file of some bytes could ask for any amount of memory


@dataclass(slots=True)
class Table:
    """The columns that a graph is given: the type of each, and those that may not be missing."""

    kinds: Sequence[int]
    needed: list[Unused]

    def number(self, column: Column) -> Numeric:
        """Return a column as the numbers that the graph has for it."""
        if isinstance(column, Raw) and self.kinds[column.source] == _STRING:
            raise AdapterError("it reads a column of text; encode it first")
        found = as_number(column, "graph")
        return replace(found, floats=_single) if found.is_plain else found


def _single(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(values, dtype=np.float32).astype(np.float64)


def row_of(given: Tensor | None) -> Row:
    """Return columns, where columns are expected."""
    if not isinstance(given, tuple):
        raise AdapterError("a constant stands where the table's columns are expected")
    return given


def _constant(given: Tensor | None) -> Array:
    if not isinstance(given, np.ndarray):
        raise AdapterError("columns are combined with each other, so what comes out is no function of one of them")
    return given


# --- one number at a time ---------------------------------------------------------------------------------------------


def _apply(table: Table, column: Column, floats: Callable[[Array], Array], slope: Any, offset: Any) -> Column:
    """Return `slope * x + offset` of a column, which the graph computes by `floats`, in float32."""

    def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.asarray(floats(np.asarray(values, dtype=np.float32)), dtype=np.float64)

    if isinstance(column, Finite):
        return mapped(column, rounded, "graph")
    number = table.number(column)
    before, line = number.floats, Pieces.affine(slope, offset)
    return replace(
        number,
        pieces=None if number.pieces is None else compose(line, number.pieces),
        floats=None if before is None or slope <= 0 else lambda values: rounded(before(values)),
        missing=value_at(rounded, number.missing),
        points={at: float(rounded(np.array([value]))[0]) for at, value in number.points.items()},
    )


def _spread(values: Any, width: int) -> list[np.float32]:
    given = np.ravel(np.asarray(values, dtype=np.float32))
    if len(given) not in (1, width):
        raise AdapterError(f"{len(given)} numbers stand beside {width} columns")
    return list(np.broadcast_to(given, (width,)))


def _scaler(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Row:
    row = row_of(given[0])
    each = zip(row, _spread(attributes["offset"], len(row)), _spread(attributes["scale"], len(row)), strict=True)
    return tuple(
        _apply(
            table,
            one,
            lambda x, o=o, s=s: (x - o) * s,  # type: ignore[misc]
            rational(float(s)),
            -rational(float(s)) * rational(float(o)),
        )
        for one, o, s in each
    )


def _arithmetic(name: str) -> Callable[[Table, Sequence[Tensor | None], Mapping[str, Any]], Tensor]:
    def apply(table: Table, given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
        a, b = given
        if isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and name in ("Add", "Mul"):
            a, b = b, a
        row, constant = row_of(a), _constant(b)
        made = []
        for column, value in zip(row, _spread(constant, len(row)), strict=True):
            exact = rational(float(value))
            slope, offset, floats = {
                "Add": (ONE, exact, lambda x, v=value: x + v),
                "Sub": (ONE, -exact, lambda x, v=value: x - v),
                "Mul": (exact, ZERO, lambda x, v=value: x * v),
                "Div": (ONE / exact if exact else ZERO, ZERO, lambda x, v=value: x / v),
            }[name]
            if name == "Div" and not exact:
                raise AdapterError("a column is divided by 0")
            made.append(_apply(table, column, floats, slope, offset))
        return tuple(made)

    return apply


def _steps(number: Numeric, bounds: Sequence[float], values: Sequence[Any], at: Callable[[float], float]) -> Numeric:
    """Return a step function of a number: `values` between `bounds`, the upper one from each bound on."""
    if number.floats is None:
        raise AdapterError("it compares a column that does not increase with that of the table")
    cuts = first_at_least(number.floats, np.array(bounds))
    return replace(
        number,
        pieces=step_pieces(cuts, values, "left"),
        floats=None,
        smooth="",
        missing=None if number.missing is None else at(number.missing),
        points={place: at(value) for place, value in number.points.items()},
    )


def _comparison(name: str) -> Callable[[Table, Sequence[Tensor | None], Mapping[str, Any]], Tensor]:
    is_greater, is_equal = name.startswith("Greater"), name.endswith("OrEqual")

    def holds(value: float, bound: float) -> float:
        if is_greater:
            return float(value >= bound if is_equal else value > bound)
        return float(value <= bound if is_equal else value < bound)

    def apply(table: Table, given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
        row, bounds = row_of(given[0]), np.ravel(_constant(given[1])).astype(np.float32).tolist()
        each = list(row) * len(bounds) if len(row) == 1 else list(row)  # one column with several bounds, or one each
        made: list[Column] = []
        for column, bound in zip(each, _spread(bounds, len(each)), strict=True):
            if isinstance(column, Finite):
                made.append(mapped(column, lambda x, b=bound: np.array([holds(v, b) for v in x]), "graph"))  # type: ignore[misc]
                continue
            # From the first number that passes the bound on, which is the bound itself or what follows it.
            first = float(bound) if is_greater == is_equal else float(np.nextafter(float(bound), np.inf))
            values = (ZERO, ONE) if is_greater else (ONE, ZERO)
            made.append(_steps(table.number(column), [first], values, lambda v, b=bound: holds(v, b)))  # type: ignore[misc]
        return tuple(made)

    return apply


def _binarizer(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    threshold = np.array([attributes.get("threshold", 0.0)], dtype=np.float32)
    row = row_of(given[0])
    made = row_of(_comparison("Greater")(table, [row, np.broadcast_to(threshold, (len(row),))], {}))
    # onnxruntime takes no missing cells here.
    return tuple(
        replace(new, missing=None) if isinstance(new, Numeric) and np.isnan(table.number(old).missing or 0) else new
        for old, new in zip(row, made, strict=True)
    )


def _imputer(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    row = row_of(given[0])
    marker = attributes.get("replaced_value_float", attributes.get("replaced_value_int64", 0.0))
    fills = attributes.get("imputed_value_floats") or attributes.get("imputed_value_int64s") or []
    target: Cell = MISSING if np.isnan(marker) else float(marker)
    return tuple(
        filled(column, target, float(fill)) for column, fill in zip(row, _spread(fills, len(row)), strict=True)
    )


# --- categories -------------------------------------------------------------------------------------------------------


def _is_flat(column: Column) -> bool:
    return isinstance(column, Numeric) and isinstance(column.pieces, Pieces) and not any(column.pieces.slopes)


def _look_up(
    table: Table, column: Column, outputs: Mapping[Any, Sequence[float]], otherwise: Sequence[float] | None
) -> list[Column]:
    """Return what a table says for each category of a column; None for what it refuses."""

    def found(value: Any) -> Sequence[float] | None:
        return outputs.get(value, otherwise)

    width = len(next(iter(outputs.values())))
    if isinstance(column, Numeric) and _is_flat(column):
        return [_look_up_steps(column, found, k) for k in range(width)]
    if isinstance(column, Numeric):
        raise AdapterError("it reads numbers that an earlier step has changed; encode the column as it is")
    if isinstance(column, Finite):
        cells, values = column.cells, {cell: column.values.get(cell, column.rest) for cell in column.cells}
    else:
        known: dict[Cell, Any] = {key: key for key in outputs}
        fills = {cell: fill for cell, fill in column.fills.items() if fill is not None}
        values = {**known, **fills}
        cells = {**known, **{cell: np.nan if cell is MISSING else cell for cell in fills}}
        if otherwise is not None:
            unseen: Any = UNSEEN if table.kinds[column.source] == _STRING else max(outputs) + 1.0
            cells, values = {**cells, UNSEEN: unseen}, {**values, UNSEEN: unseen}
    rows = {cell: None if value is None else found(value) for cell, value in values.items()}
    return [
        Finite(column.source, cells, {cell: None if row is None else row[k] for cell, row in rows.items()})
        for k in range(width)
    ]


def _look_up_steps(number: Numeric, found: Callable[[Any], Sequence[float] | None], k: int) -> Column:
    pieces = number.pieces
    assert isinstance(pieces, Pieces)

    def at(value: float) -> float:
        row = found(value)
        if row is None:
            raise AdapterError(f"it refuses the value {value:g} that an earlier step makes")
        return float(row[k])

    offsets, values = ([rational(at(nearest_float(v))) for v in some] for some in (pieces.offsets, pieces.values))
    gone = number.missing
    return replace(
        number,
        pieces=Pieces.tidy(pieces.knots, pieces.slopes, offsets, values),
        missing=None if gone is None or np.isnan(gone) else at(gone),
        points={place: at(value) for place, value in number.points.items()},
    )


def _keys(attributes: Mapping[str, Any], *names: str) -> list[Any]:
    given: Sequence[Any] = next((attributes[name] for name in names if attributes.get(name)), [])
    keys = [key.decode() if isinstance(key, bytes) else float(key) for key in given]
    if not keys or any(isinstance(key, float) and not key.is_integer() for key in keys):
        raise AdapterError("it has no categories, or such that are no whole numbers and no texts")
    if len(keys) > MOST_COLUMNS:
        raise AdapterError(f"it has more than {MOST_COLUMNS} categories")
    return keys


def _one_hot(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    keys, row = _keys(attributes, "cats_strings", "cats_int64s"), row_of(given[0])
    if len(row) * len(keys) > MOST_COLUMNS:
        raise AdapterError(f"it makes more than {MOST_COLUMNS} columns")
    numbered = {key: (float(k),) for k, key in enumerate(keys)}
    made: list[Column] = []
    for column in row:
        if isinstance(column, (Raw, Finite)):  # one place of each category is 1, which says it in one number
            (places,) = _look_up(table, column, numbered, (-1.0,))
            assert isinstance(places, Finite)
            ones: dict[Any, dict[Cell, float]] = {}
            for cell, place in places.values.items():
                ones.setdefault(place, {})[cell] = 1.0
            refused = dict.fromkeys(ones.pop(None, {}))
            if not attributes.get("zeros", 1):
                refused |= dict.fromkeys(ones.pop(-1.0, {}))
            cells = {cell: value for cell, value in places.cells.items() if cell not in refused}
            made += [Finite(column.source, cells, ones.get(float(k), {}), 0.0) for k in range(len(keys))]
            continue
        (steps,) = _look_up(table, column, numbered, (-1.0,) if attributes.get("zeros", 1) else None)
        assert isinstance(steps, Numeric)
        made += [_look_up_steps(steps, lambda place, k=k: (float(place == k),), 0) for k in range(len(keys))]  # type: ignore[misc]
    return tuple(made)


def _labels(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    keys = _keys(attributes, "keys_strings", "keys_int64s", "keys_floats")
    values = attributes.get("values_floats") or attributes.get("values_int64s")
    if not values or len(values) != len(keys):
        raise AdapterError("it makes text of its column, or has no value for each category")
    otherwise = attributes.get("default_float", -0.0) if attributes.get("values_floats") else None
    if otherwise is None:
        otherwise = attributes.get("default_int64", -1)
    rows = {key: (float(np.float32(value)),) for key, value in zip(keys, values, strict=True)}
    found = (_look_up(table, column, rows, (float(np.float32(otherwise)),)) for column in row_of(given[0]))
    return tuple(column for some in found for column in some)


def _largest(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    """Return which of some columns is the largest, where all are steps of one: so skl2onnx writes bins."""
    row = row_of(given[0])
    if attributes.get("axis", 0) not in (1, -1) or not all(map(_is_flat, row)):
        raise AdapterError("it chooses between columns that are no steps of one column")
    numbers = [column for column in row if isinstance(column, Numeric) and column.pieces is not None]
    varying = {column.source for column in numbers if column.pieces and column.pieces.knots}
    if len(varying) != 1 or any(column.points for column in numbers):
        raise AdapterError("it chooses between columns that are no steps of one column")
    (source,) = varying
    # A constant is made of a column too, here of 0 times another; where that is missing, so is the constant.
    table.needed += [Unused(one.source, replace(one, missing=None)) for one in numbers if one.source != source]
    knots = sorted({knot for one in numbers if one.pieces for knot in one.pieces.knots})
    if len(knots) * len(numbers) > _MOST_COMPARED:
        raise AdapterError(f"it chooses between {len(numbers)} columns with {len(knots)} steps, more than are read")
    between = [knots[0] - 1, *((a + b) / 2 for a, b in pairwise(knots)), knots[-1] + 1]

    def at(place: Any) -> Any:
        values = [one.pieces(place) for one in numbers if one.pieces]
        return rational(values.index(max(values)))

    pieces = Pieces.tidy(knots, [ZERO] * len(between), [at(place) for place in between], [at(knot) for knot in knots])
    return (Numeric(source, pieces, None, None),)


# --- rows -------------------------------------------------------------------------------------------------------------


def _same(table: Table, given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    first = given[0]
    assert first is not None
    return first


def _cast(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    if isinstance(given[0], np.ndarray):
        return given[0]
    to = int(attributes["to"])
    if to not in (_FLOAT, *WHOLE):
        raise AdapterError(f"it casts columns to type {to}; export the model with FloatTensorType")
    row = row_of(given[0])
    if to == _FLOAT or all(isinstance(one, Finite) or _is_flat(one) for one in row):
        return row
    if any(not isinstance(one, Raw) or table.kinds[one.source] not in WHOLE for one in row):
        raise AdapterError("it cuts decimals off; give the column as whole numbers (Int64TensorType)")
    return row


def _concat(table: Table, given: Sequence[Tensor | None], _: Mapping[str, Any]) -> Tensor:
    made = tuple(column for one in given for column in row_of(one))
    if len(made) > MOST_COLUMNS:
        raise AdapterError(f"more than {MOST_COLUMNS} columns stand side by side")
    return made


def _pick(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    row, places = row_of(given[0]), np.ravel(_constant(given[1])).astype(np.int64).tolist()
    if len(places) > MOST_COLUMNS:
        raise AdapterError(f"it picks more than {MOST_COLUMNS} columns")
    return tuple(row[k] for k in places)


def _gather(table: Table, given: Sequence[Tensor | None], attributes: Mapping[str, Any]) -> Tensor:
    if attributes.get("axis", 0) not in (1, -1):
        raise AdapterError("it picks rows, not columns")
    return _pick(table, given, attributes)


OPERATIONS: Mapping[str, Callable[[Table, Sequence[Tensor | None], Mapping[str, Any]], Tensor]] = {
    **{name: _arithmetic(name) for name in ("Add", "Div", "Mul", "Sub")},
    "ArgMax": _largest,
    "ArrayFeatureExtractor": _pick,
    "Binarizer": _binarizer,
    "Cast": _cast,
    "Concat": _concat,
    "Flatten": _same,
    "Gather": _gather,
    **{name: _comparison(name) for name in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual")},
    "Identity": _same,
    "Imputer": _imputer,
    "LabelEncoder": _labels,
    "OneHotEncoder": _one_hot,
    "Reshape": _same,
    "Scaler": _scaler,
    "Squeeze": _same,
    "Unsqueeze": _same,
}
