"""Tables to learn from: each column numbers or names, and a target without gaps.

In comes a `DataTable`, out goes a `TrainingData`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from suffice.errors import DataError
from suffice.model.domain import is_missing
from suffice.tables.reading import DataTable

FEW = 20  # so many different numbers may still be names of something


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Columns to learn from, and what to learn.

    Parameters
    ----------
    columns : mapping of name to cells
        Floats with NaN for a missing cell, or names (text, truth values) with None for one.
    names : tuple of str
        The columns that hold names.
    target : list
        Classes (integers, text, truth values), or floats.
    is_classification : bool
        Whether the target is one of classes.
    """

    columns: dict[str, list[Any]]
    names: tuple[str, ...]
    target: list[Any]
    is_classification: bool


def training_data(
    table: DataTable,
    target: str,
    drop: Sequence[str] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
    categories: Sequence[str] = (),
) -> TrainingData:
    """Return what there is to learn from a table.

    Parameters
    ----------
    target : str
        Column to predict.
    drop : sequence of str
        Columns to leave out.
    task : {"auto", "classification", "regression"}
        By itself a target is one of classes if it is names, or 20 different integers at most.
    categories : sequence of str
        Columns whose numbers are names.

    Raises
    ------
    DataError
        If a column is neither numbers nor names, the target has gaps or never changes, or no column is left.

    Examples
    --------
    >>> table = DataTable("t.csv", ("age", "sex", "y"), (("40", "f", "1"), ("0.5", None, "0")))
    >>> data = training_data(table, "y")
    >>> data.columns, data.names, data.target
    ({'age': [40.0, 0.5], 'sex': ['f', None]}, ('sex',), [1, 0])
    """
    for name in (target, *drop, *categories):
        table.place(name)
    kept = [name for name in table.columns if name != target and name not in drop]
    if target in drop:
        raise DataError(f"{table.path}: the target {target!r} is dropped; keep it")
    if not kept:
        raise DataError(f"{table.path}: no column is left to learn from; drop fewer columns")
    if "" in kept:
        raise DataError(f"{table.path}: column {table.place('') + 1} has no name; give it one, or drop the column ''")
    labels, is_classification = _read_target(target, table.column(target), task)
    columns, names = {}, []
    for name in kept:
        cells = table.column(name)
        if name in categories:
            cells = [None if is_missing(cell) else cell if isinstance(cell, bool) else str(cell) for cell in cells]
        read = None if name in categories else _numbers(name, cells)
        columns[name] = cells if read is None else read
        names += [name] if read is None else []
    return TrainingData(columns, tuple(names), labels, is_classification)


def _read_target(name: str, cells: list[Any], task: str) -> tuple[list[Any], bool]:
    """Return the target, and whether it is one of classes."""
    missing = [row for row, cell in enumerate(cells) if is_missing(cell)]
    if missing:
        raise DataError(f"the target {name!r} is missing in row {missing[0]} ({len(missing)} in all); drop those rows")
    read = _numbers(name, cells)
    if read is None and task == "regression":
        raise DataError(f"the target {name!r} holds names, such as {cells[0]!r}; a regression needs numbers")
    are_integers = read is not None and all(value.is_integer() and abs(value) < 2**53 for value in read)
    is_few = read is None or (are_integers and len(set(read)) <= FEW)
    is_classification = task == "classification" or (task == "auto" and is_few)
    values: list[Any] = cells if read is None else read
    if is_classification:
        values = [int(value) for value in values] if are_integers else [_class_name(cell) for cell in cells]
    if len(set(values)) < 2:
        what = f"is {values[0]} in every row" if values else "has no rows"
        raise DataError(f"the target {name!r} {what}; there is nothing to learn")
    return values, is_classification


def _class_name(cell: Any) -> str | bool:
    return cell if isinstance(cell, bool) else str(cell)


def _numbers(name: str, cells: Sequence[Any]) -> list[float] | None:
    """Return a column of numbers as floats, NaN where a cell is missing; None if the column holds names.

    Text that spells a number is one. Names among a few numbers make the numbers names too ("0", "1", "2+"); a name
    among many is a mistake.
    """
    read = [math.nan if is_missing(cell) else _number(name, k, cell) for k, cell in enumerate(cells)]
    found = [number for number in read if number is not None]
    if len(found) == len(read):
        return found
    row = next(k for k, number in enumerate(read) if number is None)
    different = {number for number in found if not math.isnan(number)}
    if len(different) > FEW or (different and _is_spelled_nan(cells[row])):
        raise DataError(
            f"column {name!r} holds numbers, but in row {row} it is {cells[row]!r}; correct it, "
            "leave the cell empty if it is missing, or drop the column"
        )
    return None


def _number(name: str, row: int, cell: Any) -> float | None:
    """Return the finite number that a cell holds, None for a name."""
    if isinstance(cell, bool):
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    except TypeError:
        raise DataError(f"column {name!r} is {cell!r} in row {row}, neither a number nor text; drop it") from None
    if not math.isfinite(value) and not isinstance(cell, str):
        raise DataError(f"column {name!r} is {cell!r} in row {row}; give finite numbers, or drop it")
    return value if math.isfinite(value) else None


def _is_spelled_nan(cell: Any) -> bool:
    """Whether text such as "nan" or "inf" stands in a cell."""
    try:
        return not math.isfinite(float(cell))
    except ValueError:
        return False
