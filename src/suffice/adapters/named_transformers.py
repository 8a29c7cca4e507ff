"""Transformers of other packages that work on the columns of a DataFrame by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.adapters.column import Column

NAMED: tuple[str, ...] = ()


def named(step: Any, columns: Sequence[Column]) -> list[Column]:
    """Return the columns that a transformer makes."""
    raise NotImplementedError
