"""From a user's table to cells: floats that the kernel looks up, and the original cells for all else.

In: a NumPy array, a pandas or Polars DataFrame, an Arrow table. Out: a `Source`.
Guaranteed of its cells: a number is the float nearest to what the user's cell says, and marked *vague* if it is not
exactly that; a label sits at its place; a cell that is anything else is an infinity, which the kernel leaves open, so
that the way of one row reads it again and says what is wrong with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.batch.lookup import LABELS, Floats, place_of_label
from suffice.errors import DataError, FeatureNameError, NumberError, RowError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, is_missing
from suffice.numbers.exact import brief, nearest_float, rational
from suffice.numbers.values import Missing

Mask = NDArray[np.bool_]

# What `rational` surely takes: at most `_MOST_LENGTH` characters and 3 digits of exponent are well below its limit.
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_MOST_LENGTH = 1000
_SURE_LENGTH = 15  # two decimals of so many digits are never nearest to the same float


@dataclass(frozen=True, slots=True)
class Source:
    """The columns of a table, in the order of the model's features: NumPy arrays of one dimension, or Arrow arrays."""

    model: AdditiveModel
    columns: tuple[Any, ...]
    rows: int
    table: Floats | None = None  # the same, where each cell is the float that it stands for

    def row(self, k: int) -> list[Any]:
        """Return the original cells of a row; `RowError` if Python has no value for one of them."""
        cells = []
        for name, column in zip(self.model.names, self.columns, strict=True):
            try:
                cells.append(_plain(column[k]))
            except (ValueError, ArithmeticError):  # a date beyond the year 9999, text that is not UTF-8
                raise RowError(f"feature {name!r} has a cell of type {column.type} that cannot be read") from None
        return cells

    def cells(self, start: int, stop: int) -> tuple[Floats, Mask]:
        """Return the cells of some rows, of shape (features, rows), and which are vague (empty if none is)."""
        vague: Mask = np.zeros((0, 0), dtype=bool)
        if self.table is not None:  # all at once, many times faster
            return np.ascontiguousarray(self.table[start:stop].T), vague
        cells = np.empty((len(self.columns), stop - start))
        for i, (domain, column) in enumerate(zip(self.model.domains, self.columns, strict=True)):
            marks = _encode(domain, column[start:stop], cells[i])
            if marks is not None and marks.any():
                vague = vague if len(vague) else np.zeros(cells.shape, dtype=bool)
                vague[i] = marks
        return cells, vague


def _plain(cell: Any) -> Any:
    return cell.as_py() if hasattr(cell, "as_py") else cell


# --- tables -----------------------------------------------------------------------------------------------------------


def read_source(model: AdditiveModel, table: Any) -> Source:
    """Return the columns of a table; by position for an array, else by name."""
    if isinstance(table, Source):
        return table
    if isinstance(table, np.ma.MaskedArray):
        raise DataError("the array is masked; pass table.filled(numpy.nan) to treat masked cells as missing")
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.shape[1] != len(model.features):
            raise DataError(
                f"need an array of shape (rows, {len(model.features)}), one column for each feature, got {table.shape}"
            )
        is_plain = table.dtype == np.float64 and all(_has_numbers(one) and not one.labels for one in model.domains)
        return Source(model, tuple(table.T), len(table), np.asarray(table) if is_plain else None)
    names, column, rows = _named_columns(table)
    known = set(model.names)
    if names == list(range(len(model.features))):  # a DataFrame made from an array
        return Source(model, tuple(column(name) for name in names), rows)
    for name in names:
        if name not in known:
            raise FeatureNameError(name, model.names)
    return Source(model, tuple(column(name) for name in _checked(model, names)), rows)


def _checked(model: AdditiveModel, names: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of the features, after checking that a table has each of them once."""
    times = Counter(names)
    absent = [name for name in model.names if name not in times]
    if absent:
        more = f" ({len(absent)} are missing in all)" if len(absent) > 1 else ""
        raise DataError(f"the table has no column {absent[0]!r}, a feature of the model{more}")
    twice = [name for name in model.names if times[name] > 1]
    if twice:
        raise DataError(f"two columns are called {twice[0]!r}; give each its own name")
    return model.names


def _named_columns(table: Any) -> tuple[list[Any], Any, int]:
    """Return names, a function from name to column, and the number of rows."""
    if hasattr(table, "num_rows") and hasattr(table, "schema"):  # Arrow: a table or a batch
        return list(table.schema.names), lambda name: _one_chunk(table.column(name)), table.num_rows
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas
        return list(table.columns), lambda name: _pandas_column(table[name]), len(table)
    if hasattr(table, "to_arrow"):  # Polars
        return _named_columns(table.to_arrow())
    raise DataError(f"rows must be a NumPy array, a pandas or Polars DataFrame, or an Arrow table; got {brief(table)}")


def _one_chunk(column: Any) -> Any:
    """Return an Arrow column as one array, of a type that Arrow can compute with; of numbers as it is."""
    arrow = _arrow()
    kind = str(column.type)
    if arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type):
        return column  # some rows of several chunks are read as fast, and a copy of all takes fresh memory
    if kind in ("string_view", "binary_view"):
        column = column.cast(arrow.large_string() if kind == "string_view" else arrow.large_binary())
    elif kind.startswith("run_end_encoded"):
        column = arrow.compute.run_end_decode(column)
        return _one_chunk(column)
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def _pandas_column(series: Any) -> Any:
    """Return a column as NumPy has it if that is plain numbers, else as Arrow or as objects."""
    if getattr(series, "ndim", 1) != 1:
        raise DataError(f"two columns are called {series.columns[0]!r}; give each its own name")
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiub":
        return series.to_numpy()
    if not isinstance(series.dtype, np.dtype):
        arrow = _arrow()
        try:
            column = arrow.array(series, from_pandas=True)
        except (arrow.ArrowException, ValueError, TypeError):
            pass
        else:
            if _is_plain_type(column.type):  # a Period is an ordinal there, which is not what its cells are
                return _one_chunk(column)
    return series.to_numpy(dtype=object)


def _is_plain_type(kind: Any) -> bool:
    """Whether Arrow's cells of a type are what pandas' are: numbers, truth values, text, or an index of such."""
    types = _arrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    is_number = types.is_integer(value) or types.is_floating(value) or types.is_boolean(value)
    return is_number or str(value) in ("string", "large_string", "string_view")


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError as error:
        raise DataError(f"such columns need pyarrow ({error}): pip install 'suffice[batch]'") from None
    return pyarrow


# --- columns ----------------------------------------------------------------------------------------------------------


def _encode(domain: Domain, column: Any, cells: Floats) -> Mask | None:
    """Write the cells of a column; return which are vague, None if none is."""
    if isinstance(column, np.ndarray):
        if column.dtype.kind in "fiub" and column.dtype != np.longdouble:
            _encode_numbers(domain, column, cells)
            return None
        return _encode_objects(domain, column.tolist() if column.dtype == object else list(column), cells)
    try:
        return _encode_arrow(domain, column, cells)
    except (_arrow().ArrowException, ValueError, ArithmeticError):  # some cell cannot be read: each by itself then
        return _encode_objects(domain, [_plain_or_none_such(cell) for cell in column], cells)


def _plain_or_none_such(cell: Any) -> Any:
    try:
        return _plain(cell)
    except (ValueError, ArithmeticError):
        return math.inf  # the way of one row says what is wrong with it


def _encode_arrow(domain: Domain, column: Any, cells: Floats) -> Mask | None:
    types = _arrow().types
    kind = column.type
    if types.is_dictionary(kind):
        return _encode_dictionary(domain, column, cells)
    if types.is_string(kind) or types.is_large_string(kind):
        return _encode_text(domain, column, cells)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        is_null = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
        filled = column.fill_null(False if types.is_boolean(kind) else 0) if column.null_count else column
        _encode_numbers(domain, filled.to_numpy(zero_copy_only=False), cells)
        if is_null is not None:
            cells[is_null] = np.nan
        return None
    return _encode_objects(domain, column.to_pylist(), cells)


def _encode_numbers(domain: Domain, numbers: NDArray[Any], cells: Floats) -> None:
    if not _has_numbers(domain):
        # Every cell must be a label here, so a number is none; a missing cell is.
        cells[:] = np.where(np.isnan(numbers), np.nan, np.inf) if numbers.dtype.kind == "f" else np.inf
        return
    cells[:] = numbers
    if numbers.dtype.itemsize == 8 and numbers.dtype.kind in "iu":
        cells[np.abs(cells) >= 2.0**53] = np.inf  # the float may be another number
    if domain.labels:
        cells[np.abs(cells) >= LABELS] = np.inf  # where labels sit


def _encode_text(domain: Domain, column: Any, cells: Floats) -> Mask | None:
    """Write a column of text: Arrow reads what plainly spells a number, we read each distinct one of the rest."""
    compute = _arrow().compute
    if not _has_numbers(domain):
        return _encode_dictionary(domain, column.dictionary_encode(), cells)
    is_short = compute.less_equal(compute.binary_length(column), _MOST_LENGTH)
    is_plain = compute.and_(compute.match_substring_regex(column, _NUMBER), is_short)
    for label in domain.labels:  # "1" may be the name of a category
        if isinstance(label, str):
            is_plain = compute.and_(is_plain, compute.not_equal(column, label))
    if column.null_count or compute.all(is_plain, min_count=0).as_py() is not True:
        plain = is_plain.fill_null(False).to_numpy(zero_copy_only=False)
        odd = column.filter(_arrow().array(~plain))
        rest = np.empty(len(odd))
        marks = _encode_dictionary(domain, odd.dictionary_encode(), rest)
        cells[~plain] = rest
        numbers = np.empty(int(plain.sum()))
        vague = np.zeros(len(cells), dtype=bool)
        vague[plain] = _encode_plain(domain, column.filter(_arrow().array(plain)), numbers)
        cells[plain] = numbers
        vague[~plain] = False if marks is None else marks
        return vague
    return _encode_plain(domain, column, cells)


def _encode_plain(domain: Domain, column: Any, cells: Floats) -> Mask:
    """Write text that spells numbers; Arrow rounds correctly, as Python does."""
    compute = _arrow().compute
    cells[:] = column.cast("float64").to_numpy(zero_copy_only=False)
    cells[np.abs(cells) >= LABELS] = np.inf
    # An integer and a short decimal that are nearest to the same float are equal. With an exponent they need not be.
    is_short = compute.less_equal(compute.utf8_length(column), _SURE_LENGTH).to_numpy(zero_copy_only=False)
    has_exponent = compute.match_substring_regex(column, "[eE]").to_numpy(zero_copy_only=False)
    vague = ~(is_short & ~has_exponent & (cells == np.floor(cells)))
    if domain.spans and all(span.is_integers for span in domain.spans):
        cells[vague] = np.inf
    return np.asarray(vague)


def _encode_dictionary(domain: Domain, column: Any, cells: Floats) -> Mask:
    distinct = column.dictionary.to_pylist()
    places = np.full(len(distinct) + 1, np.nan)  # the last is for missing cells
    marks = np.zeros(len(distinct) + 1, dtype=bool)
    for k, cell in enumerate(distinct):
        places[k], marks[k] = _encode_cell(domain, cell)
    indices = column.indices.cast("int64")  # an index of 8 bits may have no number left for missing cells
    codes = indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    cells[:] = places[codes]
    return np.asarray(marks[codes])


def _encode_objects(domain: Domain, column: Sequence[Any], cells: Floats) -> Mask:
    known: dict[Any, tuple[float, bool]] = {}
    vague = np.zeros(len(column), dtype=bool)
    for r, cell in enumerate(column):
        try:
            found = known.get(cell)
            if found is None:
                found = known[cell] = _encode_cell(domain, cell)
        except TypeError:  # a list, say: it cannot be looked up, and it is no cell
            found = (math.inf, False)
        cells[r], vague[r] = found
    return vague


def _encode_cell(domain: Domain, cell: Any) -> tuple[float, bool]:
    """Return the place of a cell, and whether it is vague."""
    if is_missing(cell):
        return math.nan, False
    try:
        value = domain.parse(cell)
    except NumberError:
        return math.inf, False
    if isinstance(value, (str, Missing)):
        return (place_of_label(domain.labels.index(value)) if value in domain.labels else math.inf), False
    near = nearest_float(value)
    if not abs(near) < LABELS:
        return math.inf, False
    is_vague = rational(near) != value
    if is_vague and domain.spans and all(span.is_integers for span in domain.spans):
        return math.inf, False
    return near, is_vague


def _has_numbers(domain: Domain) -> bool:
    values = (*domain.categories_, *domain.codes_)
    return bool(domain.spans) or any(value not in domain.labels for value in values)
