"""From what a user calls a row to one exact value for each feature."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.domain import Domain
from suffice.errors import FeatureNameError, NumberError, RowError
from suffice.labels import Value
from suffice.model import AdditiveModel

Row = tuple[Value, ...]


def read_row(model: AdditiveModel, x: Any) -> Row:
    """Return the values of a row in the order of the model's features.

    Parameters
    ----------
    x : sequence, mapping, NumPy row or pandas Series
        By position, or by feature name. Floats count at their exact value, text such as ``"0.1"`` at the value it
        spells; None and NaN mean "missing".

    Raises
    ------
    RowError
        If a value is missing, is no number, or lies outside its feature's domain.
    FeatureNameError
        If a name is not that of a feature.
    """
    cells = by_feature(model.names, x, what="a row")
    return tuple(_read_cell(*each) for each in zip(model.names, model.domains, cells, strict=True))


def by_feature(names: Sequence[str], given: Any, what: str) -> list[Any]:
    """Return one entry for each feature from a mapping by name or a sequence by position."""
    if hasattr(given, "items") and not isinstance(given, Mapping):  # a pandas Series, without importing pandas
        labels = list(given.index)
        given = list(given) if labels == list(range(len(names))) else dict(zip(labels, given, strict=True))
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise FeatureNameError(name, names)
        absent = [name for name in names if name not in given]
        if absent:
            raise RowError(f"{what} needs a value for every feature; {absent[0]!r} is missing ({len(absent)} in all)")
        return [given[name] for name in names]
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise RowError(f"{what} has one dimension, got an array of shape {given.shape}; pass one row, X[k]")
    if isinstance(given, (str, bytes, set, frozenset)) or not isinstance(given, Iterable):
        raise RowError(f"{what} is a sequence or a mapping by feature name, got {given!r}")
    cells = list(given)
    if len(cells) != len(names):
        raise RowError(f"{what} needs {len(names)} values, one for each feature, got {len(cells)}")
    return cells


def _read_cell(name: str, domain: Domain, cell: Any) -> Value:
    try:
        value = domain.parse(cell)
    except NumberError as error:
        raise RowError(f"feature {name!r}: {error}") from None
    if value not in domain:
        shown = repr(cell) if isinstance(cell, str) else str(cell)
        raise RowError(f"feature {name!r} is {shown}, outside its domain: {domain}")
    return value
