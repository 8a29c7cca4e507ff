"""Cells and classes as other packages write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.draft import Cell
from suffice.errors import NumberError
from suffice.numbers.exact import Rational, rational
from suffice.numbers.values import MISSING


def category_keys(texts: Sequence[str]) -> dict[str, tuple[str | Rational, ...]]:
    """Return for each name of a category the values that are this category here.

    A package that turns categories into text calls the number 2 "2". Such a category is the number, so that a row may
    hold 2, 2.0 or "2"; where any name is only almost a number ("02", "2.0"), all stay text. The category "0.1" is one
    tenth, as a CSV file has it, and also the float beside it, as a table in memory has it.

    Examples
    --------
    >>> category_keys(["1", "2.5", "more"])
    {'1': (1,), '2.5': (5/2,), 'more': ('more',)}
    >>> category_keys(["0.1"])
    {'0.1': (1/10, 3602879701896397/36028797018963968)}
    >>> category_keys(["1", "01"])
    {'1': ('1',), '01': ('01',)}
    """
    numbers: dict[str, Rational] = {}
    for text in texts:
        try:
            numbers[text] = rational(text)
        except NumberError:
            continue
        if text not in (str(numbers[text]), repr(float(text))) or text.endswith(".0"):
            return {text: (text,) for text in texts}
    both = {text: (exact, rational(float(text))) for text, exact in numbers.items()}
    return {text: tuple(dict.fromkeys(both.get(text, (text,)))) for text in texts}


def plain_classes(classes: Iterable[Any]) -> list[Any]:
    """Return classes as Python's own text, numbers and truth values."""
    return [name.item() if isinstance(name, np.generic) else name for name in classes]


def class_places(labels: Any, classes: Iterable[Any]) -> NDArray[np.int64]:
    """Return the place of each label among classes, -1 for a label that is none of them.

    Examples
    --------
    >>> class_places(np.array([["yes"], ["no"], ["?"]]), ["no", "yes"]).tolist()
    [1, 0, -1]
    """
    places = {name: k for k, name in enumerate(plain_classes(classes))}
    return np.array([places.get(label, -1) for label in np.ravel(np.asarray(labels)).tolist()], dtype=np.int64)


def object_table(rows: Sequence[Sequence[Cell]]) -> NDArray[Any]:
    """Return rows as an array of objects, None where a cell is missing."""
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for k, row in enumerate(rows):
        table[k] = [None if cell is MISSING else cell for cell in row]
    return table


def float_table(rows: Sequence[Sequence[Cell]]) -> NDArray[np.float64]:
    """Return rows as an array of floats, NaN where a cell is missing."""
    return np.array([[np.nan if cell is MISSING else cell for cell in row] for row in rows], dtype=np.float64)
