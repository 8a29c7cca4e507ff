"""Broken lines over the columns of a table: knots, slots, and where a row lies between them.

A line has a value at each *knot* of a column and runs straight in between; beyond the first and the last knot it stays
where it is. Each slot (a category, a special code, a missing cell) has a value of its own, after those of the knots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Hats:
    """The knots and slots of one column.

    Parameters
    ----------
    knots : array
        Increasing, in the column's standardised numbers; none if it has no ordinary numbers.
    first : int
        Place of the column's first slot among those of all columns.
    slots : int
        How many slots it has.
    """

    knots: Floats
    first: int
    slots: int

    @property
    def size(self) -> int:
        """How many values a line has."""
        return len(self.knots) + self.slots

    def locate(self, numbers: Floats, slots: Places) -> tuple[Places, Floats]:
        """Return for each row the place of its value or of the knot before it, and the share of the next knot."""
        places, shares = len(self.knots) + slots - self.first, np.zeros(len(numbers))
        ordinary = slots < 0
        places[ordinary] = 0
        if len(self.knots) > 1:
            inside = np.clip(numbers[ordinary], self.knots[0], self.knots[-1])
            before = np.clip(np.searchsorted(self.knots, inside, side="right") - 1, 0, len(self.knots) - 2)
            places[ordinary] = before
            shares[ordinary] = (inside - self.knots[before]) / (self.knots[before + 1] - self.knots[before])
        return places, shares

    @cached_property
    def roughness(self) -> scipy.sparse.csr_matrix:
        """The sum of squared steps from knot to knot and of squared values of slots, as a matrix."""
        steps = np.diff(np.eye(len(self.knots)), axis=0)
        blocks = [steps.T @ steps, np.eye(self.slots)]
        return scipy.sparse.block_diag([block for block in blocks if len(block)], format="csr")


def place_knots(numbers: Floats, most: int) -> Floats:
    """Return all values of a column if they are few; else those that many rows share, and quantiles of the rest.

    They are rounded to float32, so that the exact numbers of a model stay short.
    """
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) > most + 1:
        is_heavy = counts > len(numbers) / most
        rest = numbers[~np.isin(numbers, values[is_heavy])]
        left = max(most - int(is_heavy.sum()), most // 2)
        shares = np.linspace(0, 1, left + 1)
        shares[0], shares[-1] = 0.002, 0.998  # a few far values are no reason to bend a line
        values = np.concatenate([values[is_heavy], np.quantile(rest, shares, method="inverted_cdf")])
    return np.unique(values.astype(np.float32).astype(np.float64))


def design(hats: Sequence[Hats], numbers: Floats, slots: Places) -> scipy.sparse.csr_matrix:
    """Return the matrix that takes the values of all lines, one column's after the other, to their sum in each row."""
    columns, shares, offset = [], [], 0
    for k, one in enumerate(hats):
        places, share = one.locate(numbers[:, k], slots[:, k])
        columns.append(places + offset)
        shares.append(1 - share)
        if share.any():
            columns.append(np.minimum(places + 1, one.size - 1) + offset)
            shares.append(share)
        offset += one.size
    indices, entries = np.stack(columns, axis=1), np.stack(shares, axis=1)
    starts = np.arange(0, indices.size + 1, indices.shape[1])
    matrix = scipy.sparse.csr_matrix((entries.ravel(), indices.ravel(), starts), shape=(len(numbers), offset))
    matrix.sum_duplicates()
    return matrix
