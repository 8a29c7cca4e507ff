"""How a function of two variables cuts up each of them: cells of numbers, and one cell for each label."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.values import Label, Value


class Cut(NamedTuple):
    """Where one cell of numbers ends and the next begins: at or above `place` (side 0), or above it (side 1)."""

    place: Rational
    side: int


class Interval(NamedTuple):
    """The numbers of a cell: its ends (None: without end), and whether they belong to it."""

    low: Rational | None
    has_low: bool
    high: Rational | None
    has_high: bool

    @property
    def is_point(self) -> bool:
        """Whether there is only one number in it."""
        return self.low is not None and self.low == self.high


@dataclass(frozen=True)
class Axis:
    """One variable of a function of two, in cells: numbers between cuts, in order, then one cell for each label.

    Parameters
    ----------
    cuts : tuple of Cut
        Strictly increasing. A number is past the cut `(t, 0)` if it is at least `t`, past `(t, 1)` if it is above `t`;
        so `(t, 0)` and `(t, 1)` together make a cell of the single number `t`.
    labels : tuple of Label
        Values beside the real line, all different.

    Examples
    --------
    >>> from suffice.numbers.values import MISSING
    >>> axis = Axis((Cut(fmpq(18), 0), Cut(fmpq(65), 1)), (MISSING,))
    >>> [axis.cell_of(value) for value in (fmpq(17), fmpq(18), fmpq(65), fmpq(66), MISSING)]
    [0, 1, 1, 2, 3]
    >>> axis.interval(1)
    Interval(low=18, has_low=True, high=65, has_high=True)
    """

    cuts: tuple[Cut, ...] = ()
    labels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        assert all(before < after for before, after in pairwise(self.cuts))
        assert len(set(self.labels)) == len(self.labels)

    def __len__(self) -> int:
        """How many cells there are."""
        return self.numbers + len(self.labels)

    @property
    def numbers(self) -> int:
        """How many cells are of numbers: these come first."""
        return len(self.cuts) + 1

    def cell_of(self, value: Value) -> int:
        """Return the cell of a number or a label."""
        if not isinstance(value, fmpq):
            return self._label_cells[value]
        # Rounding is monotone: floats tell apart what they can, exact numbers the rest.
        near = nearest_float(value)
        first = bisect_left(self._float_places, near)
        return bisect_right(self.cuts, (value, 0), first, bisect_right(self._float_places, near, first))

    def interval(self, cell: int) -> Interval:
        """Return the numbers of a cell that is not a label's."""
        low = self.cuts[cell - 1] if cell else None
        high = self.cuts[cell] if cell < len(self.cuts) else None
        return Interval(
            None if low is None else low.place,
            low is not None and low.side == 0,
            None if high is None else high.place,
            high is not None and high.side == 1,
        )

    def cells_between(self, low: Rational | None, high: Rational | None) -> range:
        """Return the cells that hold a number of the closed interval from `low` to `high` (None: without end)."""
        first = 0 if low is None else self.cell_of(low)
        return range(first, self.numbers if high is None else self.cell_of(high) + 1)

    def rescaled(self, center: Rational, scale: Rational) -> Axis:
        """Return the axis of `x` where this one is of `(x - center) / scale`; below 0 it turns the numbers round."""
        if scale > 0:
            return Axis(tuple(Cut(place * scale + center, side) for place, side in self.cuts), self.labels)
        # What was at or above a place is now at or below its image: the cut lies on the other side of it.
        turned = tuple(Cut(place * scale + center, 1 - side) for place, side in reversed(self.cuts))
        return Axis(turned, self.labels)

    def starts_in(self, finer: Axis) -> NDArray[np.intp]:
        """Return for each cell the first cell of a finer axis that lies in it (-1 for a label that it has not)."""
        place = finer._cut_places
        numbers = [0, *(place[cut] + 1 for cut in self.cuts)]
        return np.array(numbers + [finer._label_cells.get(label, -1) for label in self.labels], dtype=np.intp)

    def cells_in(self, finer: Axis) -> NDArray[np.intp]:
        """Return for each cell of a finer axis the cell of this one that it lies in."""
        starts = self.starts_in(finer)[: self.numbers]
        numbers = np.searchsorted(starts, np.arange(finer.numbers), side="right") - 1
        labels = [self._label_cells[label] for label in finer.labels]
        return np.concatenate([numbers, np.array(labels, dtype=np.intp)])

    @cached_property
    def _float_places(self) -> list[float]:
        return [nearest_float(place) for place, _ in self.cuts]

    @cached_property
    def _cut_places(self) -> dict[Cut, int]:
        return {cut: k for k, cut in enumerate(self.cuts)}

    @cached_property
    def _label_cells(self) -> dict[Label, int]:
        return {label: self.numbers + k for k, label in enumerate(self.labels)}


def united(axes: Sequence[Axis]) -> Axis:
    """Return the coarsest axis that is finer than all of the given ones, with the labels that all of them know."""
    if all(axis == axes[0] for axis in axes[1:]):
        return axes[0]
    known = reduce(set.intersection, (set(axis.labels) for axis in axes))
    cuts = sorted({cut for axis in axes for cut in axis.cuts})
    return Axis(tuple(cuts), tuple(label for label in axes[0].labels if label in known))
