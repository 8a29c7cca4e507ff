"""Values that are not numbers: names of categories, and the mark for a missing cell."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias

from flint import fmpq

from suffice.numbers.exact import Rational, to_fraction


class Missing(Enum):
    """The one value of a cell that holds nothing (None, NaN, pandas' NA)."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "suffice.MISSING"

    def __str__(self) -> str:
        return "missing"


MISSING: Final = Missing.MISSING

# The label of a category that a model never saw, where its package scores such values instead of refusing them.
UNSEEN: Final = "(unseen)"

Label: TypeAlias = str | Missing
Value: TypeAlias = Rational | Label  # what a feature can be: a number, or a label


def is_writable(text: str) -> bool:
    """Whether text can be written at all; half of a surrogate pair cannot, though JSON can spell it.

    Examples
    --------
    >>> is_writable("é"), is_writable("\\ud800")
    (True, False)
    """
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_user(value: Value) -> Fraction | Label:
    """Return a value as users see it: numbers as `Fraction`."""
    return to_fraction(value) if isinstance(value, fmpq) else value
