"""From a table as users have it to what models are fitted to, and back to features of the exact model.

A numeric column is standardised; a missing cell and each declared special code has a *slot*, a learned value of its
own. In a categorical column every category has a slot. Which kind a column is, its scaling and its categories are
learned from the training table and never change afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import CellTypeError, DataError, SufficeError
from suffice.model.additive import Feature
from suffice.model.domain import Domain, is_missing
from suffice.model.observed import Observed, is_limit, narrowed, reals_without
from suffice.numbers.exact import brief, rational
from suffice.numbers.values import MISSING

Cells = NDArray[Any]  # one column: float64 with NaN for missing, or objects with None for missing

_TOO_LARGE = 2**53  # from here up, floats do not tell whole numbers apart


@dataclass(frozen=True)
class Numeric:
    """Numbers, and codes among them that are not quantities."""

    name: str
    center: float
    scale: float
    codes: tuple[float, ...]
    has_missing: bool
    is_flat: bool  # ordinary numbers do not vary: they share one slot, and the shape is constant
    unseen_codes: tuple[float, ...] = ()  # declared, but without a training row to learn a value from
    observed: Observed | None = None  # ordinary numbers of the training rows; None if there were none

    @property
    def slots(self) -> int:
        """How many values of their own the column has."""
        return len(self.codes) + self.has_missing + self.is_flat

    @property
    def keys(self) -> list[Any]:
        """What each slot stands for."""
        return [*self.codes, *([MISSING] if self.has_missing else [])]

    def encode(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return standardised numbers, and the slot of each cell (-1: an ordinary number)."""
        numbers = _as_numbers(self.name, cells)
        slots = np.full(len(numbers), -1)
        if self.is_flat:
            slots[:] = self.slots - 1
        for k, code in enumerate(self.codes):
            slots[numbers == code] = k
        unseen = np.isin(numbers, self.unseen_codes)
        if unseen.any():
            row = int(np.argmax(unseen))
            raise DataError(
                f"column {self.name!r} is the special code {numbers[row]:g} in row {row}, but never was in "
                "training: the model has no value for that code"
            )
        absent = np.isnan(numbers)
        if absent.any() and not self.has_missing:
            row = int(np.argmax(absent))
            raise DataError(
                f"column {self.name!r} is missing in row {row}, but it never was in training: "
                "the model has no value for a missing cell there"
            )
        slots[absent] = len(self.codes)
        return np.where(slots < 0, (numbers - self.center) / self.scale, 0.0), slots

    def feature(self, *, is_learned: bool = True) -> Feature:
        """Return the column as a feature of the exact model: the numbers learned of it, or all."""
        domain = reals_without(self.codes + self.unseen_codes)
        if is_learned and self.observed is not None:
            domain = narrowed(domain, self.observed)
        if self.keys:
            domain |= Domain.codes(*self.keys)
        return Feature(self.name, domain, self.center, self.scale, self.scale)


@dataclass(frozen=True)
class Categorical:
    """Categories by name (text or numbers), each with a value of its own."""

    name: str
    categories: tuple[str | float, ...]
    has_missing: bool
    deviation: float | None = None  # of the ranks, where the table's categories are in order

    @property
    def slots(self) -> int:
        """How many values of their own the column has."""
        return len(self.categories) + self.has_missing

    @property
    def keys(self) -> list[Any]:
        """What each slot stands for."""
        return [*self.categories, *([MISSING] if self.has_missing else [])]

    def encode(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return zeros, and the slot of each cell."""
        place: dict[Any, int] = {category: k for k, category in enumerate(self.categories)}
        if self.has_missing:
            place[None] = len(self.categories)
        names = _as_categories(self.name, cells)
        try:
            slots = np.array([place[name] for name in names], dtype=np.int64)
        except KeyError:
            row, name = next((row, name) for row, name in enumerate(names) if name not in place)
            what = "missing" if name is None else repr(name)
            known = ", ".join(str(category) for category in self.categories[:8]) or "always missing"
            raise DataError(f"column {self.name!r} is {what} in row {row}; in training it was one of {known}") from None
        return np.zeros(len(slots)), slots

    def feature(self, *, is_learned: bool = True) -> Feature:
        """Return the column as a feature of the exact model, with the categories that it had in training."""
        named = Domain.categories if self.deviation is None else Domain.ordered
        parts = [named(*self.categories)] if self.categories else []
        parts += [Domain.codes(MISSING)] if self.has_missing else []
        return Feature(self.name, reduce(Domain.__or__, parts), deviation=self.deviation)


Column = Numeric | Categorical


def reach_of(column: Column, radius: float) -> float:
    """Return how far numbers of a column can move within a radius, both standardised: whole ones by whole ones."""
    if isinstance(column, Numeric) and column.observed is not None and column.observed.is_whole:
        reach = radius * column.scale
        return math.floor(reach) / column.scale if math.isfinite(reach) else radius
    return radius


def ranks_of(column: Column, radius: float) -> int | None:
    """Return how many ranks categories can move within a radius, or None where there is no order."""
    if isinstance(column, Numeric) or column.deviation is None:
        return None
    return math.floor(min(radius * column.deviation, len(column.categories) - 1))


def learn_columns(
    names: Sequence[str],
    columns: Sequence[Cells],
    weights: NDArray[np.float64],
    special_codes: Any,
    orders: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Column, ...]:
    """Return what there is to know of each column of a training table; `orders` has those of ordered categories."""
    codes = _codes_by_name(names, special_codes)
    learned = tuple(
        _learn_numeric(name, cells, weights, codes.get(name, ()))
        if cells.dtype != object
        else _learn_categorical(name, cells, weights, (orders or {}).get(name))
        for name, cells in zip(names, columns, strict=True)
    )
    for column in learned:
        try:
            column.feature()
        except SufficeError as error:
            raise DataError(f"column {column.name!r}: {error}") from None
        if isinstance(special_codes, Mapping) and isinstance(column, Categorical) and codes.get(column.name):
            raise DataError(f"column {column.name!r} holds categories; special codes are for numbers")
    return learned


def read_table(table: Any) -> list[Cells]:
    """Return the columns of a table: numbers as float64, all else as objects."""
    if hasattr(table, "iloc"):  # a pandas DataFrame
        return [_read_series(table.iloc[:, j]) for j in range(table.shape[1])]
    array = np.asarray(table)
    if array.dtype.kind in "fiu":
        return list(array.T.astype(np.float64))
    return [_read_objects(array[:, j]) for j in range(array.shape[1])]


def as_table(given: Any) -> Any:
    """Return lists of rows as an array whose cells stay what they are: beside text, NumPy would make numbers text."""
    return np.asarray(given, dtype=object) if isinstance(given, (list, tuple)) else given


def read_orders(names: Sequence[str], table: Any) -> dict[str, list[Any]]:
    """Return the categories, in their order, of the ordered Categorical columns of a pandas frame, by their names."""
    if not hasattr(table, "iloc"):
        return {}
    kinds = zip(names, table.dtypes, strict=True)  # not the frame's own names, which scikit-learn knows only as text
    ordered = {name: kind.categories.to_numpy(dtype=object) for name, kind in kinds if getattr(kind, "ordered", False)}
    return {name: _as_categories(name, _as_objects(cells)) for name, cells in ordered.items()}


def _read_series(series: Any) -> Cells:
    kind = str(series.dtype)
    if kind in ("bool", "boolean", "category"):
        return _as_objects(series.to_numpy(dtype=object))
    if kind in ("object", "string", "str"):
        return _read_objects(series.to_numpy(dtype=object))
    if getattr(series.dtype, "kind", "") not in "fiu":
        raise DataError(f"column {series.name!r} has type {kind}; give numbers, text, categories or booleans")
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _read_objects(cells: NDArray[Any]) -> Cells:
    """Return float64 if all cells are numbers or missing (but not all truth values), objects otherwise."""
    cells = _as_objects(cells)
    known = [cell for cell in cells.tolist() if cell is not None]
    if known and all(isinstance(cell, (int, float)) and not isinstance(cell, bool) for cell in known):
        return np.array([np.nan if cell is None else _as_float(cell) for cell in cells.tolist()])
    return cells


def _as_objects(cells: NDArray[Any]) -> Cells:
    plain = np.empty(len(cells), dtype=object)
    plain[:] = [_plain_cell(cell) for cell in cells.tolist()]
    return plain


def _plain_cell(cell: Any) -> str | bool | int | float | None:
    """Return a cell as text or a number of Python's own, None where it is missing."""
    if is_missing(cell):
        return None
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, (str, bool, int, float)):
        return cell
    if isinstance(cell, (Fraction, Decimal)):
        return _as_float(cell)
    # scikit-learn's own words, which its tools look for
    raise CellTypeError(f"argument must be a string or a number, not {type(cell).__name__!r}")


def _as_numbers(name: str, cells: Cells) -> NDArray[np.float64]:
    if cells.dtype == object:
        row, cell = next(((row, cell) for row, cell in enumerate(cells) if isinstance(cell, (str, bool))), (0, None))
        if cell is not None:
            raise DataError(f"column {name!r} is {cell!r} in row {row}; in training it held numbers")
        cells = np.array([np.nan if cell is None else _as_float(cell) for cell in cells])
    infinite = np.isinf(cells)
    if infinite.any():
        raise DataError(
            f"column {name!r} is infinity (inf) in row {int(np.argmax(infinite))}, or larger than any float; give "
            "finite numbers"
        )
    return cells


def _as_float(number: Any) -> float:
    """Return the nearest float; an infinity where a number is larger than any."""
    try:
        return float(number)
    except OverflowError:  # a whole number, or a fraction
        return math.inf if number > 0 else -math.inf


def _as_categories(name: str, cells: Cells) -> list[str | float | None]:
    names = [
        None if is_missing(cell) else cell if isinstance(cell, str) else _as_float(cell) for cell in cells.tolist()
    ]
    for row, category in enumerate(names):
        if isinstance(category, float) and abs(category) >= _TOO_LARGE:
            raise DataError(
                f"column {name!r} has the category {brief(cells[row])}, and numbers from 2**53 up are not told apart; "
                "give such categories as text"
            )
    return names


def _learn_numeric(name: str, cells: Cells, weights: NDArray[np.float64], codes: Sequence[float]) -> Numeric:
    numbers = _as_numbers(name, cells)
    absent = np.isnan(numbers)
    present = tuple(code for code in codes if (numbers == code).any())
    unseen = tuple(code for code in codes if code not in present)
    ordinary = ~absent & ~np.isin(numbers, present) & (weights > 0)
    if not ordinary.any():  # nothing but missing cells and codes
        return Numeric(name, 0.0, 1.0, present, bool(absent.any()), True, unseen)
    values, share = numbers[ordinary], weights[ordinary]
    center, scale = mean_and_deviation(values, share)
    if not np.isfinite([center, scale]).all():
        raise DataError(f"column {name!r} holds numbers too large to standardise; rescale it first")
    # A constant column, up to the rounding of its mean, has no scale of its own.
    is_flat = bool(scale <= 10 * np.finfo(np.float64).eps * max(abs(center), float(np.abs(values).max())))
    observed = _observed(values)
    return Numeric(name, center, 1.0 if is_flat else scale, present, bool(absent.any()), is_flat, unseen, observed)


def mean_and_deviation(values: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the standard deviation of values, not finite if they are too large.

    Squares are taken of numbers near 1, the values times a power of two, so that those of small values do not vanish.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center = np.average(values, weights=weights)
        size = np.frexp(np.abs(values - center).max())[1]
        deviation = np.sqrt(np.average(np.ldexp(values - center, -size) ** 2, weights=weights))
        return float(center), float(np.ldexp(deviation, size))


def _observed(numbers: NDArray[np.float64]) -> Observed:
    ends = [float(numbers.min()), float(numbers.max())]
    low, high = (is_limit(int((numbers == end).sum()), len(numbers)) for end in ends)
    return Observed(rational(ends[0]), rational(ends[1]), bool((numbers == np.floor(numbers)).all()), low, high)


def _learn_categorical(
    name: str, cells: Cells, weights: NDArray[np.float64], order: Sequence[Any] | None
) -> Categorical:
    names = _as_categories(name, cells)
    known = {category for category in names if category is not None}
    if order is None or not known:
        ordered = sorted(known, key=lambda category: (isinstance(category, str), category))
        return Categorical(name, tuple(ordered), None in names)
    seen = tuple(category for category in order if category in known)
    rank = {category: float(k) for k, category in enumerate(seen)}
    ranks, share = np.array([(rank[one], w) for one, w in zip(names, weights, strict=True) if one is not None]).T
    mean = np.average(ranks, weights=share) if share.any() else 0.0
    deviation = float(np.sqrt(np.average((ranks - mean) ** 2, weights=share))) if share.any() else 0.0
    return Categorical(name, seen, None in names, deviation)


def _codes_by_name(names: Sequence[str], special_codes: Any) -> dict[str, tuple[float, ...]]:
    if special_codes is None:
        return {}
    if isinstance(special_codes, Mapping):
        unknown = [name for name in special_codes if name not in names]
        if unknown:
            raise DataError(f"special_codes names the column {unknown[0]!r}, which the table does not have")
        return {name: _codes(codes) for name, codes in special_codes.items()}
    return dict.fromkeys(names, _codes(special_codes))


def _codes(given: Any) -> tuple[float, ...]:
    must = "special_codes must be a list of numbers, or a mapping to such lists"
    is_list = isinstance(given, Collection) and getattr(given, "ndim", 1) > 0  # not what can be read only once
    if isinstance(given, (str, bytes)) or not is_list:
        raise DataError(f"{must}, got {brief(given)}")
    for code in given:
        if isinstance(code, bool) or not isinstance(code, (int, float, np.integer, np.floating, Fraction, Decimal)):
            raise DataError(f"{must}, got {brief(code)} among them")
        if not math.isfinite(_as_float(code)):
            raise DataError(f"special_codes must be finite numbers, got {brief(code)}; missing cells need no code")
    return tuple(dict.fromkeys(map(_as_float, given)))
