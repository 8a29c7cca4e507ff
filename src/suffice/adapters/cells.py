"""Cells and classes as other packages write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.draft import Cell
from suffice.errors import AdapterError, NumberError
from suffice.numbers.exact import Rational, rational
from suffice.numbers.values import MISSING


def category_keys(texts: Sequence[str]) -> dict[str, tuple[str | Rational, ...]]:
    """Return for each name of a category the values that are this category here.

    A package that turns categories into text calls the number 2 "2". Such a category is the number, so that a row may
    hold 2, 2.0 or "2"; where any name is only almost a number ("02", "2.0"), all stay text. The category "0.1" is one
    tenth, as a CSV file has it, and also the float beside it, as a table in memory has it.

    Examples
    --------
    >>> category_keys(["1", "2.5", "more"])
    {'1': (1,), '2.5': (5/2,), 'more': ('more',)}
    >>> category_keys(["0.1"])
    {'0.1': (1/10, 3602879701896397/36028797018963968)}
    >>> category_keys(["1", "01"])
    {'1': ('1',), '01': ('01',)}
    """
    numbers: dict[str, Rational] = {}
    for text in texts:
        try:
            numbers[text] = rational(text)
        except NumberError:
            continue
        if text not in (str(numbers[text]), repr(float(text))) or text.endswith(".0"):
            return {text: (text,) for text in texts}
    both = {text: (exact, rational(float(text))) for text, exact in numbers.items()}
    return {text: tuple(dict.fromkeys(both.get(text, (text,)))) for text in texts}


def plain_classes(classes: Iterable[Any]) -> list[Any]:
    """Return classes as Python's own text, numbers and truth values."""
    return [name.item() if isinstance(name, np.generic) else name for name in classes]


def class_places(labels: Any, classes: Iterable[Any]) -> NDArray[np.int64]:
    """Return the place of each label among classes, -1 for a label that is none of them.

    Examples
    --------
    >>> class_places(np.array([["yes"], ["no"], ["?"]]), ["no", "yes"]).tolist()
    [1, 0, -1]
    """
    places = {name: k for k, name in enumerate(plain_classes(classes))}
    return np.array([places.get(label, -1) for label in np.ravel(np.asarray(labels)).tolist()], dtype=np.int64)


def listed(rows: Any) -> list[Any]:
    """Return the rows of a reference one by one, as mappings where they have names."""
    for method in ("to_dicts", "to_pylist"):  # of a Polars or an Arrow table
        if hasattr(rows, method) and (hasattr(rows, "columns") or hasattr(rows, "column_names")):
            return list(getattr(rows, method)())
    if hasattr(rows, "index") and hasattr(rows, "to_numpy") and getattr(rows, "ndim", 2) == 1:
        raise AdapterError("a reference must be rows, got a Series, which is one row or one column; give X.iloc[[k]]")
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):  # a pandas table, without importing pandas
        return [dict(zip(rows.columns, cells, strict=True)) for cells in rows.to_numpy(dtype=object).tolist()]
    array = rows.detach().cpu().numpy() if hasattr(rows, "detach") else rows
    if isinstance(array, (str, bytes, Mapping)) or not isinstance(array, Iterable) or getattr(array, "ndim", 2) == 0:
        raise AdapterError(f"a reference must be rows, or a pair (rows, predictions), got a {type(rows).__name__}")
    return list(array)


def object_table(rows: Sequence[Sequence[Cell]] | NDArray[Any]) -> NDArray[Any]:
    """Return rows as an array of objects, None where a cell is missing; an array is one already."""
    if isinstance(rows, np.ndarray):
        return rows
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for k, row in enumerate(rows):
        table[k] = [None if cell is MISSING else cell for cell in row]
    return table


def float_table(rows: Sequence[Sequence[Cell]] | NDArray[Any]) -> NDArray[np.float64]:
    """Return rows as an array of floats, NaN where a cell is missing; an array is one already."""
    if isinstance(rows, np.ndarray):
        return rows.astype(np.float64, copy=False)
    return np.array([[np.nan if cell is MISSING else cell for cell in row] for row in rows], dtype=np.float64)


def _is_object(cell: Any) -> bool:
    """Whether a column with this cell is one of objects: text, truth values beside missing cells, decimals."""
    return cell is not None and (isinstance(cell, bool) or not isinstance(cell, (int, float, np.number)))


def table_maker(
    names: Sequence[str] | None, count: int, sources: Sequence[int], originals: Sequence[Mapping[Cell, Any]]
) -> Callable[[Any], Any]:
    """Return how rows of cells become a table as the user has it: a DataFrame if `names` are given, else an array.

    Parameters
    ----------
    count : int
        Columns of the table; those that are no features are left empty.
    sources : sequence of int
        The column of each feature.
    originals : sequence of mappings
        How a feature's categories are written in the table, where that differs.
    """

    def table(rows: Any) -> Any:
        columns: list[Any] = [np.full(len(rows), np.nan)] * count
        for place, (k, known) in enumerate(zip(sources, originals, strict=True)):
            cells = [known.get(row[place], np.nan if row[place] is MISSING else row[place]) for row in rows]
            is_text = any(isinstance(cell, str) for cell in cells) or any(map(_is_object, known.values()))
            columns[k] = np.array(cells, dtype=object if is_text else np.float64)
        if names is not None:
            import pandas

            # As Series, for pandas would read a None among objects as NaN.
            return pandas.DataFrame(
                {name: pandas.Series(one, dtype=one.dtype) for name, one in zip(names, columns, strict=True)}
                if any(one.dtype == object and None in one.tolist() for one in columns)
                else dict(zip(names, columns, strict=True))
            )
        is_mixed = any(column.dtype == object for column in columns)
        return np.stack([column.astype(object if is_mixed else np.float64) for column in columns], axis=1)

    def wide(rows: Any) -> Any:
        if isinstance(rows, np.ndarray) and list(sources) == list(range(count)) and not any(originals):
            if names is None:
                return rows
            import pandas

            return pandas.DataFrame(rows, columns=list(names))
        return table(rows)

    return wide
