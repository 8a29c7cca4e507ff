"""Transformers of category_encoders, feature_engine and optbinning, which work on columns of a table by name.

What they do to a column is found by asking them: at every category, or in every bin between the cuts that they have
learned. Only fills, caps and cuts are read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from suffice.adapters.assemble import step_pieces
from suffice.adapters.column import Column, Finite, Numeric, Raw, as_number
from suffice.adapters.draft import UNSEEN, Cell, part
from suffice.adapters.functions import clipped
from suffice.adapters.imputers import filled
from suffice.errors import AdapterError
from suffice.model.domain import is_missing
from suffice.numbers.exact import rational
from suffice.numbers.values import MISSING

NAMED = ("category_encoders", "feature_engine", "optbinning")


@dataclass(frozen=True, slots=True)
class Names:
    """A column of categories, each asked about."""

    known: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Bins:
    """A column of numbers: constant between cuts, `closed` on one side, with values of their own at some points."""

    cuts: Sequence[float]
    closed: str
    points: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Fill:
    """A column whose missing cells are filled."""

    value: Any


@dataclass(frozen=True, slots=True)
class Clip:
    """A column of numbers cut off at its ends."""

    low: float | None
    high: float | None


Treatment: TypeAlias = Names | Bins | Fill | Clip


@dataclass(frozen=True, slots=True)
class Treated:
    """What a transformer does to which of its columns, and how to ask it about a table."""

    names: Sequence[str]
    columns: Mapping[str, Treatment]
    transform: Callable[[Any], Any]


def named(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns that a transformer makes, in the order of its table."""
    home, name = type(step).__module__.split(".")[0], type(step).__name__
    readers = {
        "category_encoders": _category_encoders,
        "feature_engine": _feature_engine,
        "optbinning": binning_process,
    }
    return made_by(readers[home](step), columns, f"the {name}")


def made_by(treated: Treated, columns: Sequence[Column], source: str) -> list[Column]:
    """Return the columns that a transformer makes of others."""
    if len(treated.names) != len(columns):
        raise AdapterError(f"{source} was fitted to {len(treated.names)} columns, but {len(columns)} come in")
    outputs = [str(one) for one in _ask(treated, {}, 1).columns]
    made: dict[str, Column] = {}
    for k, (name, column) in enumerate(zip(treated.names, columns, strict=True)):
        how = treated.columns.get(name)
        if how is None or isinstance(how, Fill | Clip):
            made[name] = _simple(column, how)
        elif isinstance(how, Bins):
            made[name] = _binned(treated, name, as_number(column, source), how)
        else:
            for output, finite in _named(treated, k, column, how, outputs, source).items():
                if output in made:
                    raise AdapterError(f"{source} makes {output!r} of several columns, which is not additive")
                made[output] = finite
    lost = [output for output in outputs if output not in made]
    if lost:
        raise AdapterError(f"{source} makes {lost[0]!r}, and it is not known of which column; leave that out")
    return [made[output] for output in outputs]


def _simple(column: Column, how: Fill | Clip | None) -> Column:
    if isinstance(how, Fill):
        return filled(column, MISSING, how.value)
    return clipped(column, how.low, how.high) if isinstance(how, Clip) else column


def _ask(treated: Treated, changed: Mapping[str, Sequence[Any]], count: int) -> Any:
    """Return what a transformer makes of a table whose other columns are something that it knows."""
    import pandas

    table = {}
    for name in treated.names:
        how = treated.columns.get(name)
        usual = how.known[0] if isinstance(how, Names) else 1.0
        cells = changed.get(name, [usual] * count)
        is_text = any(isinstance(cell, str) for cell in cells)
        table[name] = pandas.Series(list(cells), dtype=object if is_text else np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about categories that were never seen
        return treated.transform(pandas.DataFrame(table))


def _binned(treated: Treated, name: str, number: Numeric, how: Bins) -> Numeric:
    if not number.is_plain:
        raise AdapterError(f"{name!r} is binned after a step that changes it; bin it first")
    cuts = sorted({float(cut) for cut in how.cuts if math.isfinite(cut)})
    # One float of each bin stands for all: the one next to its lower end, which is none of the points.
    places = [math.nextafter(cuts[0], -math.inf), *(math.nextafter(cut, math.inf) for cut in cuts)] if cuts else [1.0]
    values = [float(value) for value in _ask(treated, {name: places}, len(places))[name]]
    points = {at: value for at, value in number.points.items() if at not in how.points}
    asked = _asked_points(treated, name, [*how.points, *points.values()])
    missing = number.missing
    if missing is not None:
        missing = _asked_points(treated, name, [missing])[0]
    return Numeric(
        number.source,
        step_pieces([rational(cut) for cut in cuts], [rational(value) for value in values], how.closed),
        None,
        missing,
        points={at: value for at, value in zip([*how.points, *points], asked, strict=True) if value is not None},
    )


def _asked_points(treated: Treated, name: str, values: Sequence[float]) -> list[float | None]:
    found: list[float | None] = []
    for value in values:
        try:
            found.append(float(_ask(treated, {name: [value]}, 1)[name].iloc[0]))
        except (KeyError, TypeError, ValueError):  # refused
            found.append(None)
    return found


def _named(
    treated: Treated, k: int, column: Column, how: Names, outputs: Sequence[str], source: str
) -> dict[str, Column]:
    """Return the columns that change with one of categories, and the constant ones that are called after it."""
    name = treated.names[k]
    asked, cells = _cells(column, how.known, source)
    for cell in [one for one, value in asked.items() if one in (MISSING, UNSEEN) or value not in how.known]:
        try:  # what was never seen is taken by some, and refused by others
            _ask(treated, {name: [asked[cell]]}, 1)
        except (KeyError, TypeError, ValueError):
            del asked[cell], cells[cell]
    table = _ask(treated, {name: list(asked.values())}, len(asked))
    found: dict[str, Column] = {}
    for output in outputs:
        values = table[output].tolist() if output in table else []
        is_own = output == name or len({value for value in values if not is_missing(value)}) > 1
        if is_own or (output.startswith(f"{name}_") and output not in treated.names):
            found[output] = Finite(column.source, cells, dict(zip(asked, values, strict=True)))
    return found


def _cells(column: Column, known: Sequence[Any], source: str) -> tuple[dict[Cell, Any], dict[Cell, Any]]:
    """Return what is asked about, and how the user's table has it, by the name that each has here."""
    if isinstance(column, Numeric) and column.is_plain:
        fills: dict[Cell, Any] = {MISSING: column.missing}
        fills |= dict[Cell, Any](column.points.items())
        column = Raw(column.source, fills)
    if isinstance(column, Finite):  # categories that an earlier step has joined, or named anew
        values = {cell: column.values.get(cell, column.rest) for cell in column.cells}
        taken = {cell: value for cell, value in values.items() if value is not None}
        return taken, {cell: column.cells[cell] for cell in taken}
    if not isinstance(column, Raw):
        raise AdapterError(f"{source} reads a column that an earlier step has changed; put it first")
    asked: dict[Cell, Any] = {
        (value if isinstance(value, str) else float(value)): value for value in known if not is_missing(value)
    }
    asked[MISSING] = np.nan
    cells = dict(asked)
    for cell, fill in column.fills.items():
        if fill is not None and not is_missing(fill):
            asked[cell] = fill
            cells[cell] = np.nan if cell is MISSING else cell
    numbers = [cell for cell in asked if isinstance(cell, float)]
    is_text = any(isinstance(cell, str) for cell in asked)
    asked[UNSEEN] = cells[UNSEEN] = UNSEEN if is_text else max(numbers) + 1.0
    return asked, cells


# --- what each package has learned ------------------------------------------------------------------------------------


def _category_encoders(step: Any) -> Treated:
    name = type(step).__name__
    columns: dict[str, Treatment] = {}
    for column in step.cols or ():
        columns[str(column)] = Names(_categories(step, column, name))
    return Treated([str(one) for one in part(step, "feature_names_in_", f"the {name}")], columns, step.transform)


def _categories(step: Any, column: Any, name: str) -> list[Any]:
    """Return the categories that an encoder has learned, wherever it keeps them."""
    for holder in (getattr(step, "ordinal_encoder", None), step):
        listed = getattr(holder, "mapping", None)
        if isinstance(listed, list):
            for one in listed:
                mapping = one.get("mapping")
                if one.get("col") == column and hasattr(mapping, "index") and not hasattr(mapping, "columns"):
                    return [value for value in mapping.index if not is_missing(value)]
        if isinstance(listed, Mapping) and column in listed:
            return [value for value in listed[column].index if not is_missing(value)]
    raise AdapterError(
        f"the {name} does not tell the categories of {column!r}; use TargetEncoder, WOEEncoder or OneHotEncoder"
    )


def _feature_engine(step: Any) -> Treated:
    name = type(step).__name__
    names = [str(one) for one in part(step, "feature_names_in_", f"the {name}")]
    columns: dict[str, Treatment] = {}
    for column, known in (getattr(step, "encoder_dict_", None) or {}).items():
        columns[str(column)] = Names(list(known))
    for column, value in (getattr(step, "imputer_dict_", None) or {}).items():
        columns[str(column)] = Fill(value)
    for column, cuts in (getattr(step, "binner_dict_", None) or {}).items():
        if not isinstance(cuts, Iterable):
            raise AdapterError(
                f"the {name} of feature_engine keeps a {type(cuts).__name__} for {column!r}, which is not read; use "
                "EqualFrequencyDiscretiser, or KBinsDiscretizer of scikit-learn"
            )
        columns[str(column)] = Bins(list(cuts), "right")
    lows, highs = (getattr(step, f"{side}_tail_caps_", None) or {} for side in ("left", "right"))
    for column in {**lows, **highs}:
        columns[str(column)] = Clip(lows.get(column), highs.get(column))
    is_known = columns or name in ("DropFeatures", "DropConstantFeatures", "DropDuplicateFeatures", "DropMissingData")
    if not is_known and getattr(step, "variables_", None):
        raise AdapterError(
            f"the {name} of feature_engine is not read here; its encoders, imputers, discretisers, Winsorizer and "
            "DropFeatures are"
        )
    return Treated(names, columns, step.transform)


def binning_process(step: Any, **metrics: Any) -> Treated:
    """Return what optbinning's BinningProcess does; `metrics` say what it makes of a bin, its own choice by default."""
    name = type(step).__name__
    if name != "BinningProcess":
        raise AdapterError(f"the {name} of optbinning is not read here; BinningProcess is")
    columns: dict[str, Treatment] = {}
    for variable in step.get_support(names=True):
        binned = step.get_binned_variable(variable)
        codes = binned.special_codes
        codes = [one for group in codes.values() for one in np.ravel(group)] if isinstance(codes, Mapping) else codes
        if binned.dtype == "numerical":
            points = [float(code) for code in codes or ()]
            columns[str(variable)] = Bins([float(cut) for cut in binned.splits], "left", points)
        else:
            known = [one for group in (*binned.splits, binned._cat_others, codes or ()) for one in np.ravel(group)]
            columns[str(variable)] = Names([one.item() if isinstance(one, np.generic) else one for one in known])
    return Treated([str(one) for one in step.variable_names], columns, lambda table: step.transform(table, **metrics))
