"""Answers as pandas tables and as pictures: both libraries are looked for when they are asked for.

Pictures belong to a later room. They are found by name, as plotting backends are elsewhere, so that rooms still depend
on each other in one direction.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from flint import fmpq

from suffice.errors import DataError
from suffice.numbers.exact import nearest_float
from suffice.numbers.values import Missing, Value


def to_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns as a pandas DataFrame."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise DataError(f"tables need pandas ({error}): pip install 'suffice[data]'") from None
    return pandas.DataFrame(dict(columns))


def plain(value: Value) -> Any:
    """Return a value as a table holds it: a float, text, or None for a missing cell."""
    return nearest_float(value) if isinstance(value, fmpq) else None if isinstance(value, Missing) else value


def draw(kind: str, *given: Any, **options: Any) -> Any:
    """Return what a function of `suffice.present.plots` draws."""
    return getattr(importlib.import_module("suffice.present.plots"), kind)(*given, **options)
