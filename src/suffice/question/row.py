"""From what a user calls a row to one exact value for each feature."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import FeatureNameError, NumberError, RowError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import brief
from suffice.numbers.values import UNSEEN, Missing, Value

Row = tuple[Value, ...]


def read_row(model: AdditiveModel, x: Any) -> Row:
    """Return the values of a row in the order of the model's features.

    Parameters
    ----------
    x : sequence, mapping, NumPy row, pandas Series or DataFrame of one row
        By position, or by feature name. Floats count at their exact value, text such as ``"0.1"`` at the value it
        spells; None and NaN mean "missing". Of a Series or DataFrame, columns that are no features are left out, with a
        warning; a mapping that names one is refused, for it may be a misspelt feature.

    Raises
    ------
    RowError
        If a value is missing, is not a number, or lies outside its feature's domain.
    FeatureNameError
        If a name is not that of a feature.
    """
    cells = by_feature(model.names, _one_row(x, model.names), what="a row")
    return tuple(_read_cell(*each) for each in zip(model.names, model.domains, cells, strict=True))


def _one_row(given: Any, names: Sequence[str]) -> Any:
    """Return the one row of a DataFrame, and a Series without what is no feature."""
    if getattr(given, "ndim", 1) == 2 and hasattr(given, "iloc") and len(given) == 1:
        given = given.iloc[0]
    if not (hasattr(given, "index") and hasattr(given, "reindex")):
        return given
    labels = list(given.index)
    extra = [label for label in labels if label not in names]
    if not extra or not set(names) <= set(labels):
        return given
    shown = ", ".join(str(label) for label in extra[:5]) + (", ..." if len(extra) > 5 else "")
    warnings.warn(f"ignored, for the model does not use it: {shown}", stacklevel=2)
    return given[[label for label in labels if label in names]]


def by_feature(names: Sequence[str], given: Any, what: str) -> list[Any]:
    """Return one entry for each feature from a mapping by name or a sequence by position."""
    if getattr(given, "ndim", 1) != 1:
        shape = tuple(given.shape)
        raise RowError(f"{what} must have one dimension, got a table of shape {shape}; pass one row, X[k] or X.iloc[k]")
    if hasattr(given, "index") and hasattr(given, "to_numpy"):  # a pandas Series, without importing pandas
        labels, cells = list(given.index), given.to_numpy(dtype=object).tolist()
        if len(set(labels)) != len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise RowError(f"{what} names {twice!r} twice; give one value for each feature")
        given = cells if labels == list(range(len(names))) else dict(zip(labels, cells, strict=True))
    if isinstance(given, Mapping):
        known = set(names)
        for name in given:
            if name not in known:
                raise FeatureNameError(name, names)
        absent = [name for name in names if name not in given]
        if absent:
            raise RowError(f"{what} needs a value for every feature; {absent[0]!r} is missing ({len(absent)} in all)")
        return [given[name] for name in names]
    if isinstance(given, (str, bytes, set, frozenset)) or not isinstance(given, Iterable):
        raise RowError(f"{what} must be a sequence, or a mapping by feature name, got {brief(given)}")
    cells = list(given)
    if len(cells) != len(names):
        raise RowError(f"{what} needs {len(names)} values, one for each feature, got {len(cells)}")
    return cells


def _read_cell(name: str, domain: Domain, cell: Any) -> Value:
    try:
        value = domain.parse(cell)
    except NumberError as error:
        raise RowError(f"feature {name!r}: {error}") from None
    if not domain.holds(value):
        is_number = isinstance(cell, (float, np.generic))
        shown = "missing" if isinstance(value, Missing) else str(cell) if is_number else brief(cell)
        hint = f"; write {UNSEEN!r} for a category that the model never saw" if UNSEEN in domain.codes_ else ""
        raise RowError(f"feature {name!r} is {shown}, outside its domain: {domain}{hint}")
    return value
