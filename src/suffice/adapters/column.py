"""Columns that transformers make: each is a function of one column that the user has.

- `Raw`: as the user has it, nothing known yet;
- `Numeric`: a function of a number, exactly (`pieces`) and as the package computes it in floats (`floats`);
- `Finite`: a value for each of the categories of its source;
- `Times`: the product of two of these, which linear models make terms over two features of.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import IDENTITY
from suffice.adapters.draft import Cell
from suffice.adapters.floats import Floats
from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import MISSING
from suffice.shapes import Function

_LARGEST = float(np.finfo(np.float64).max)


def _itself(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values


@dataclass(frozen=True, slots=True)
class Raw:
    """A column as the user has it; `fills` says what stands for a missing cell, and for other values so replaced."""

    source: int
    fills: Mapping[Cell, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Numeric:
    """A function of one number.

    Parameters
    ----------
    pieces : Function or None
        The exact function; None where it has no pieces, for the reason `smooth`.
    floats : function or None
        What the package computes; None where it is not increasing.
    missing : float or None
        The value for a missing cell, NaN if that stays missing; None where it is refused.
    low, high : Rational or None
        Ends of the numbers that are taken.
    points : mapping of float to float
        Single numbers with values of their own, such as a code that an imputer fills.
    """

    source: int
    pieces: Function | None = IDENTITY
    floats: Floats | None = _itself
    missing: float | None = np.nan
    smooth: str = ""
    low: Rational | None = None
    high: Rational | None = None
    points: Mapping[float, float] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether this is the user's number itself."""
        return self.pieces == IDENTITY and self.floats is _itself


@dataclass(frozen=True, slots=True)
class Finite:
    """A value for each category of a column.

    Parameters
    ----------
    cells : mapping
        The categories, each as the user's table has it; shared by all columns that an encoder makes of one.
    values : mapping
        What the column is at a category; None where an earlier step refuses it.
    rest : float or None
        What it is at all categories that `values` does not list; None if there are none.
    order : tuple
        The categories in the order that was given to the encoder; empty where it was given none.
    """

    source: int
    cells: Mapping[Cell, Any]
    values: Mapping[Cell, Any]
    rest: float | None = None
    order: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class Times:
    """`factor · first · second + offset`, of columns with different sources."""

    first: Raw | Numeric | Finite
    second: Raw | Numeric | Finite
    factor: Rational = ONE
    offset: Rational = ZERO


@dataclass(frozen=True, slots=True)
class Unused:
    """A column that a selector left out: the model must be given it, and does nothing with it."""

    source: int
    column: Raw | Numeric | Finite


Column: TypeAlias = Raw | Numeric | Finite
Columns: TypeAlias = Sequence[Column | Unused | Times]


def used(columns: Columns) -> list[Column | Times]:
    """Return the columns that go on."""
    return [column for column in columns if not isinstance(column, Unused)]


def single(columns: Columns, reader: str) -> list[Column]:
    """Return the columns that go on, where what reads them takes no product of two."""
    going = []
    for column in used(columns):
        if isinstance(column, Times):
            raise AdapterError(
                f"the {reader} reads a product of two columns that PolynomialFeatures made; put it before them, "
                "or leave it out"
            )
        going.append(column)
    return going


def own(step: Any, j: int, values: NDArray[Any], filler: Sequence[Any] | float = 1.0) -> Any:
    """Return what a transformer itself makes of values of its j-th column: a table, sparse if it makes those."""
    count = step.n_features_in_
    if values.dtype == np.float64:  # an earlier step may have passed the largest float, which transformers refuse
        values = np.clip(values, -_LARGEST, _LARGEST)
    table = np.empty((len(values), count), dtype=values.dtype)
    for k in range(count):
        table[:, k] = filler if isinstance(filler, float) else filler[k]
    table[:, j] = values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that an array does not have, and about unknown categories
        made = step.transform(table)
    return made.to_numpy() if hasattr(made, "to_numpy") else made  # where set_output asks for a DataFrame


def as_number(column: Column, reader: str) -> Numeric:
    """Return a column as numbers."""
    if isinstance(column, Numeric):
        return column
    if isinstance(column, Finite):
        raise AdapterError(f"the {reader} reads a column of categories; encode it first")
    fills = dict(column.fills)
    missing = fills.pop(MISSING, np.nan)
    if any(isinstance(value, str) for value in (missing, *fills, *fills.values())):
        raise AdapterError(f"the {reader} reads a column of text; encode it first")
    points = {float(at): float(value) for at, value in fills.items()}  # type: ignore[arg-type]
    return Numeric(column.source, missing=None if missing is None else float(missing), points=points)


def mapped(column: Finite, floats: Floats, name: str) -> Finite:
    """Return a function of a column of categories; those that the package refuses are marked as such."""
    try:
        table = {cell: None if value is None else float(value) for cell, value in column.values.items()}
    except (TypeError, ValueError):
        raise AdapterError(f"the {name} reads a column of text; encode it first") from None
    known = {value for value in (*table.values(), column.rest) if value is not None}
    found = _values_at(floats, list(known))
    values = {cell: None if value is None else found[value] for cell, value in table.items()}
    rest = None if column.rest is None else found[column.rest]
    if column.rest is not None and rest is None:  # what most categories have is refused: say so for each
        values = {cell: values.get(cell) for cell in column.cells}
    return replace(column, values=values, rest=rest)


def _values_at(floats: Floats, values: list[float]) -> dict[float, float | None]:
    """Return a function's values, None where the package refuses one."""
    try:
        return dict(zip(values, np.asarray(floats(np.array(values)), dtype=np.float64).tolist(), strict=True))
    except ValueError:
        return {value: value_at(floats, value) for value in values}


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
        raise AdapterError(
            f"the column of {cell!r} is used both by its categories and as a number; encode it one way only"
        )
    return float(number.floats(np.array([cell]))[0])
