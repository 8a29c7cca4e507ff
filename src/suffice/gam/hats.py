"""Broken lines over the columns of a table, and bilinear surfaces over two: where a row lies between their knots.

A line has a value at each *knot* of a column and runs straight in between; beyond the first and the last knot it stays
where it is. Each slot (a category, a special code, a missing cell) has a value of its own, after those of the knots. A
surface has a value for each two knots or slots of its columns, and runs straight along either of them.
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

    def resampled(self, other: Hats, values: Floats) -> Floats:
        """Return what a line with the knots of another says at these knots and slots (size, outputs)."""
        if not len(self.knots):
            return values[len(other.knots) :]
        lines = [np.interp(self.knots, other.knots, one[: len(other.knots)]) for one in values.T]
        return np.concatenate([np.stack(lines, axis=1), values[len(other.knots) :]])

    @cached_property
    def roughness(self) -> scipy.sparse.csr_matrix:
        """The sum of squared steps from knot to knot and of squared values of slots, as a matrix."""
        steps = scipy.sparse.csr_matrix(np.diff(np.eye(len(self.knots)), axis=0))
        blocks = [steps.T @ steps, scipy.sparse.identity(self.slots)]
        return scipy.sparse.block_diag([block for block in blocks if block.shape[0]], format="csr")


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


def hats_of(numbers: Floats, slots: Places, counts: Sequence[int], most: int) -> tuple[Hats, ...]:
    """Return the knots of every column, about so many at most, with so many slots each."""
    first = np.concatenate([[0], np.cumsum(counts)])
    return tuple(
        Hats(place_knots(column[place < 0], most), int(first[k]), int(counts[k]))
        for k, (column, place) in enumerate(zip(numbers.T, slots.T, strict=True))
    )


def fewer(fine: Hats, numbers: Floats, slots: Places, most: int) -> Hats:
    """Return fewer knots of a column, of those that its line has."""
    ordinary = numbers[slots < 0]
    if not len(fine.knots) or not len(ordinary):
        return Hats(fine.knots[:1], fine.first, fine.slots)
    nearest = np.abs(place_knots(ordinary, most)[:, None] - fine.knots).argmin(axis=1)
    return Hats(fine.knots[np.unique(nearest)], fine.first, fine.slots)


@dataclass(frozen=True)
class Grid:
    """A surface over two columns.

    Parameters
    ----------
    columns : two int
        Their places in the table.
    axes : two Hats
        Their knots and slots.
    """

    columns: tuple[int, int]
    axes: tuple[Hats, Hats]

    @property
    def size(self) -> int:
        """How many values a surface has: a row of them for each knot and slot of the first column."""
        return self.axes[0].size * self.axes[1].size

    def resampled(self, other: Grid, values: Floats) -> Floats:
        """Return what a surface with the knots of another says at these knots and slots (size, outputs)."""
        (first, second), outputs = self.axes, values.shape[1]
        rows = first.resampled(other.axes[0], values.reshape(other.axes[0].size, -1)).reshape(first.size, -1, outputs)
        across = second.resampled(other.axes[1], rows.transpose(1, 0, 2).reshape(other.axes[1].size, -1))
        return across.reshape(second.size, first.size, outputs).transpose(1, 0, 2).reshape(-1, outputs)

    @cached_property
    def roughness(self) -> scipy.sparse.csr_matrix:
        """The sum of squared steps along either column and of squared values of slots, as a matrix."""
        first, second = self.axes
        along = scipy.sparse.kron(first.roughness, scipy.sparse.identity(second.size))
        across = scipy.sparse.kron(scipy.sparse.identity(first.size), second.roughness)
        return (along + across).tocsr()


def design(
    hats: Sequence[Hats],
    numbers: Floats,
    slots: Places,
    columns: Sequence[int] | None = None,
    grids: Sequence[Grid] = (),
) -> scipy.sparse.csr_matrix:
    """Return the matrix that takes the values of lines, then those of surfaces, to their sum in each row.

    The lines are of all columns of the table, or of those named.
    """
    indices, entries, offset = [], [], 0

    def add(places: Places, shares: Floats) -> None:
        indices.append(places + offset)
        entries.append(shares)

    for k, one in zip(range(len(hats)) if columns is None else columns, hats, strict=True):
        for places, share in _corners(one, numbers[:, k], slots[:, k]):
            add(places, share)
        offset += one.size
    for grid in grids:
        ends = [_corners(axis, numbers[:, k], slots[:, k]) for axis, k in zip(grid.axes, grid.columns, strict=True)]
        for rows, share in ends[0]:
            for places, other in ends[1]:
                add(rows * grid.axes[1].size + places, share * other)
        offset += grid.size
    width = len(indices)
    starts = np.arange(0, width * len(numbers) + 1, width)
    matrix = scipy.sparse.csr_matrix(
        (np.stack(entries, axis=1).ravel(), np.stack(indices, axis=1).ravel(), starts), shape=(len(numbers), offset)
    )
    matrix.sum_duplicates()
    return matrix


def _corners(hats: Hats, numbers: Floats, slots: Places) -> list[tuple[Places, Floats]]:
    """Return the values of a line that rows are between, and their shares."""
    places, share = hats.locate(numbers, slots)
    if not share.any():
        return [(places, 1 - share)]
    return [(places, 1 - share), (np.minimum(places + 1, hats.size - 1), share)]
