"""Columns that scikit-learn's transformers make: each is a function of one column that the user has.

- `Raw`: as the user has it, nothing known yet;
- `Numeric`: a function of a number, exactly (`pieces`) and as the package computes it in floats (`floats`);
- `Finite`: a value for each of the categories of its source.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY
from suffice.adapters.draft import Cell
from suffice.adapters.floats import Floats
from suffice.errors import AdapterError
from suffice.numbers.exact import Rational
from suffice.numbers.values import MISSING
from suffice.shapes import Pieces


@dataclass(frozen=True, slots=True)
class Raw:
    """A column as the user has it; `fill` stands for a missing cell, if not None."""

    source: int
    fill: Any = None


@dataclass(frozen=True, slots=True)
class Numeric:
    """A function of one number.

    Parameters
    ----------
    pieces : Pieces or None
        The exact function; None where it has no pieces, for the reason `smooth`.
    floats : function or None
        What the package computes; None where it is not increasing.
    missing : float or None
        The value for a missing cell, NaN if that stays missing; None where it is refused.
    low, high : Rational or None
        Ends of the numbers that are taken.
    """

    source: int
    pieces: Pieces | None = IDENTITY
    floats: Floats | None = lambda values: values
    missing: float | None = np.nan
    smooth: str = ""
    low: Rational | None = None
    high: Rational | None = None


@dataclass(frozen=True, slots=True)
class Finite:
    """A value for each category of a column; `originals` are the categories as the user's table has them."""

    source: int
    values: Mapping[Cell, Any]
    originals: Mapping[Cell, Any]


@dataclass(frozen=True, slots=True)
class Unused:
    """A column that a selector left out: the model must be given it, and does nothing with it."""

    source: int
    column: Raw | Numeric | Finite


Column: TypeAlias = Raw | Numeric | Finite
Columns: TypeAlias = Sequence[Column | Unused]


def used(columns: Columns) -> list[Column]:
    """Return the columns that go on."""
    return [column for column in columns if not isinstance(column, Unused)]


def own(step: Any, j: int, values: NDArray[Any], filler: Sequence[Any] | float = 1.0) -> NDArray[Any]:
    """Return what a transformer itself makes of values of its j-th column, all columns it makes."""
    count = step.n_features_in_
    table = np.empty((len(values), count), dtype=values.dtype)
    for k in range(count):
        table[:, k] = filler if isinstance(filler, float) else filler[k]
    table[:, j] = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that an array does not have, and about unknown categories
        made = step.transform(table)
    if hasattr(made, "toarray"):
        made = made.toarray()
    return np.asarray(made)


def as_number(column: Column, reader: str) -> Numeric:
    """Return a column as numbers."""
    if isinstance(column, Numeric):
        return column
    if isinstance(column, Finite):
        raise AdapterError(f"the {reader} reads a column of categories; encode it first")
    if isinstance(column.fill, str):
        raise AdapterError(f"the {reader} reads a column of text; encode it first")
    return Numeric(column.source, missing=np.nan if column.fill is None else float(column.fill))


def mapped(values: Mapping[Cell, Any], floats: Floats, name: str) -> dict[Cell, float]:
    """Return a function's value for each category; those that the package refuses are left out."""
    try:
        table = np.array(list(values.values()), dtype=np.float64)
    except (TypeError, ValueError):
        raise AdapterError(f"the {name} reads a column of text; encode it first") from None
    found = {cell: value_at(floats, value) for cell, value in zip(values, table.tolist(), strict=True)}
    return {cell: value for cell, value in found.items() if value is not None}


def value_at(floats: Floats, value: float | None) -> float | None:
    """Return a function's value at one number or NaN; None where the package refuses it."""
    if value is None:
        return None
    try:
        return float(floats(np.array([value]))[0])
    except ValueError:
        return None


def value_of(column: Column, cell: Cell) -> float | None:
    """Return what a column is at a cell of its source; None if it takes no such cell."""
    if isinstance(column, Finite):
        value = column.values.get(cell)
        return None if value is None else float(value)
    number = as_number(column, "model")
    if cell is MISSING:
        return number.missing
    if not isinstance(cell, float) or number.floats is None:
        raise AdapterError(f"the column of {cell!r} is used both by its categories and as a number")
    return float(number.floats(np.array([cell]))[0])
