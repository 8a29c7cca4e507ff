"""What users ask of single columns and of two: read, and refused with a sentence where it cannot be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.errors import DataError
from suffice.gam.columns import Categorical, Column, Numeric
from suffice.numbers.exact import brief


def read_pairs(
    wanted: Any, columns: Sequence[Column], monotone: Mapping[str, int]
) -> int | list[tuple[int, int]] | None:
    """Return how many pairs are wanted, or which columns by their places; None to choose how many."""
    if isinstance(wanted, str) and wanted == "auto":
        return None
    if is_whole(wanted, 0):
        return int(wanted)
    if isinstance(wanted, (str, bytes, np.ndarray)) or not isinstance(wanted, Collection):  # nor what is read only once
        raise DataError(f"pairs must be 'auto', a number from 0 up or a list of pairs of names, got {brief(wanted)}")
    names, found = [column.name for column in columns], list[tuple[int, int]]()
    for pair in wanted:
        is_two = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        if not is_two or not all(isinstance(name, str) for name in pair) or pair[0] == pair[1]:
            raise DataError(f"a pair is two names of columns, got {brief(pair)}")
        for name in pair:
            if name not in names:
                raise DataError(f"pairs names the column {name!r}, which the table does not have")
            if name in monotone:
                raise DataError(
                    f"column {name!r} shall be monotone, and a pair term could make it rise and fall; leave it out"
                )
            if is_flat(columns[names.index(name)]):
                raise DataError(f"the numbers of column {name!r} do not vary, so it cannot be part of a pair")
        ends = sorted(names.index(name) for name in pair)
        if (ends[0], ends[1]) in found:
            raise DataError(f"the pair {pair!r} is listed twice")
        found.append((ends[0], ends[1]))
    return found


def read_directions(monotone: Any, columns: Sequence[Column], classes: int) -> dict[int, int]:
    """Return the columns that shall be monotone by their places, with 1 or -1 for each."""
    names, found = [column.name for column in columns], {}
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        raise DataError(f"monotone must map names of columns to 1 or -1, got {brief(monotone)}")
    for name, direction in monotone.items():
        if not isinstance(name, str) or name not in names:
            raise DataError(f"monotone names the column {name!r}, which the table does not have")
        if isinstance(columns[names.index(name)], Categorical):
            raise DataError(f"column {name!r} holds categories, which have no order; monotone is for numbers")
        is_number = isinstance(direction, (int, float, np.integer, np.floating)) and not isinstance(direction, bool)
        if not is_number or direction not in (1, -1):
            way = "1 (never falls) or -1 (never rises)"
            raise DataError(f"monotone[{name!r}] must be {way}, got {brief(direction)}")
        found[names.index(name)] = int(direction)
    if found and classes > 2:
        raise DataError("monotone is for regression and two classes; of several classes no score decides alone")
    return found


def is_flat(column: Column) -> bool:
    """Whether a column holds numbers that do not vary, codes and missing cells aside."""
    return isinstance(column, Numeric) and column.is_flat


def is_whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number from `least` up."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= least)
