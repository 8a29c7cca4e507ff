"""What users give as the parameters of a shape, read once: every number exact, every complaint with its place."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from suffice.errors import NumberError, ShapeError
from suffice.numbers.exact import Number, Rational, brief, rational

Outputs: TypeAlias = tuple[Rational, ...]


def exact_number(what: str, value: object) -> Rational:
    """Return the exact value of a number that a user gave."""
    try:
        return rational(value)
    except NumberError as error:
        raise ShapeError(f"{what}: {error}") from None


def check_list(what: str, given: object) -> None:
    """Refuse what is not a list."""
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)):
        raise ShapeError(f"{what} must be a list of numbers, got {brief(given)}")


def increasing(what: str, numbers: Sequence[Number]) -> tuple[Rational, ...]:
    """Return numbers that must increase strictly."""
    check_list(what, numbers)
    exact = tuple(exact_number(f"{what}[{k}]", number) for k, number in enumerate(numbers))
    for k, (left, right) in enumerate(pairwise(exact)):
        if left >= right:
            raise ShapeError(f"{what} must increase: {what}[{k}] = {brief(left)} is followed by {brief(right)}")
    return exact


def output_row(what: str, value: Number | Sequence[Number]) -> Outputs:
    """Return the value of each output at one place: a number, or a sequence of numbers."""
    if (
        isinstance(value, (Sequence, np.ndarray))
        and not isinstance(value, (str, bytes))
        and getattr(value, "ndim", 1) != 0
    ):
        if not len(value):
            raise ShapeError(f"{what} is empty; give one number for each output")
        return tuple(exact_number(f"{what}[{j}]", number) for j, number in enumerate(value))
    return (exact_number(what, value),)


def output_rows(what: str, values: Sequence[Number] | Sequence[Sequence[Number]]) -> tuple[Outputs, ...]:
    """Return the values of each output at several places."""
    check_list(what, values)
    rows = tuple(output_row(f"{what}[{k}]", value) for k, value in enumerate(values))
    if len({len(row) for row in rows}) > 1:
        raise ShapeError(f"{what} must all have the same number of outputs, got {sorted({len(row) for row in rows})}")
    return rows
