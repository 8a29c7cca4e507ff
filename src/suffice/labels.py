"""Values that are not numbers: names of categories, and the mark for a missing cell."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from suffice.rational import Rational


class Missing(Enum):
    """The one value of a cell that holds nothing (None, NaN, pandas' NA)."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "suffice.MISSING"

    def __str__(self) -> str:
        return "missing"


MISSING: Final = Missing.MISSING

Label: TypeAlias = str | Missing
Value: TypeAlias = Rational | Label  # what a feature can be: a number, or a label
