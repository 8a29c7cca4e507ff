"""Imputers and indicators of missing cells: what stands for a missing cell, or for a value that means as much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.adapters.column import Column, Finite, Numeric, Raw, Unused, as_number
from suffice.adapters.draft import Cell
from suffice.errors import AdapterError
from suffice.model.domain import is_missing
from suffice.numbers.exact import ZERO
from suffice.numbers.values import MISSING
from suffice.shapes import Pieces


def imputer(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns of a SimpleImputer, with those of its indicator last."""
    target = _target(step)
    made: list[Column] = []
    # What was learned from a float32 table is filled in as a float32, into a table of any type.
    fills = step.statistics_.astype(getattr(step, "_fill_dtype", step.statistics_.dtype))
    for column, fill in zip(columns, fills.tolist(), strict=True):
        if is_missing(fill):
            if not step.keep_empty_features:
                continue  # the imputer leaves a column out that was always missing
            fill = 0.0
        made.append(filled(column, target, fill))
    if step.add_indicator:
        made += [_indicator(columns[k], target) for k in step.indicator_.features_.tolist()]
    return made


def indicator(step: Any, columns: Sequence[Column]) -> list[Column | Unused]:
    """Return the columns of a MissingIndicator; it may refuse missing cells where it has seen none."""
    target = _target(step)
    chosen = step.features_.tolist()
    made: list[Column | Unused] = [_indicator(columns[k], target) for k in chosen]
    if step.features == "missing-only" and step.error_on_new:
        others = [column for k, column in enumerate(columns) if k not in chosen]
        made += [Unused(column.source, _never(column, target)) for column in others]
    return made


def _target(step: Any) -> Cell:
    """Return which cells a step takes for missing."""
    marker = step.missing_values
    return MISSING if is_missing(marker) else marker if isinstance(marker, str) else float(marker)


def _never(column: Column, target: Cell) -> Column:
    """Return a column without the cells that are taken for missing."""
    if target is not MISSING:
        raise AdapterError(
            f"MissingIndicator(missing_values={target!r}) refuses that value in columns where it has not seen it; use "
            "error_on_new=False"
        )
    if isinstance(column, Finite):
        values = {cell: None if _is(value, target) else value for cell, value in column.values.items()}
        return replace(column, values=values)
    number = as_number(column, "MissingIndicator")
    is_gone = number.missing is not None and np.isnan(number.missing)
    return replace(number, missing=None) if is_gone else number


def filled(column: Column, target: Cell, fill: Any) -> Column:
    """Return a column with something in place of a missing cell, or of a value that means as much."""
    if isinstance(column, Raw):
        # An imputer of another value refuses missing cells, unless they were filled before.
        refused: dict[Cell, Any] = {} if target is MISSING or MISSING in column.fills else {MISSING: None}
        kept = {at: fill if _is(value, target) else value for at, value in column.fills.items()}
        return replace(column, fills={target: fill, **refused, **kept})
    if isinstance(column, Finite):
        values = {cell: fill if _is(value, target) else value for cell, value in column.values.items()}
        return replace(column, values=values, rest=fill if _is(column.rest, target) else column.rest)
    if target is MISSING:
        points = {at: float(fill) if np.isnan(value) else value for at, value in column.points.items()}
        return replace(column, missing=_stand_in(column.missing, fill), points=points)
    if not column.is_plain:
        raise AdapterError(
            f"SimpleImputer(missing_values={target!r}) comes after a step that changes the column; put it first"
        )
    missing = None if column.missing is not None and np.isnan(column.missing) else column.missing
    return replace(column, missing=missing, points={float(target): float(fill), **column.points})


def _is(value: Any, target: Cell) -> bool:
    if value is None:  # refused before
        return False
    return is_missing(value) if target is MISSING else bool(value == target)


def _stand_in(missing: float | None, fill: Any) -> float | None:
    return float(fill) if missing is not None and np.isnan(missing) else missing


def _indicator(column: Column, target: Cell) -> Column:
    if isinstance(column, Finite):
        values = {cell: None if v is None else float(_is(v, target)) for cell, v in column.values.items()}
        return replace(column, values=values, rest=None if column.rest is None else float(_is(column.rest, target)))
    number = as_number(column, "MissingIndicator")
    nothing = Pieces.affine(ZERO, ZERO)
    if target is not MISSING:
        points = {float(target): 1.0, **{at: float(_is(v, target)) for at, v in number.points.items()}}
        missing = None if number.missing is None or np.isnan(number.missing) else float(number.missing == target)
        return Numeric(column.source, nothing, None, missing, points=points)
    is_gone = number.missing is not None and np.isnan(number.missing)
    points = {at: float(np.isnan(value)) for at, value in number.points.items()}
    return Numeric(column.source, nothing, None, float(is_gone), points=points)
