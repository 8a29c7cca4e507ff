"""How far shapes can move within a radius of the training rows: what makes explanations long, as a penalty.

A feature can be left free if its drop is small. The penalty is what the mean widths of the shapes cost (`widths`), over
the region around a training row: largest minus smallest value, over evenly spaced offsets of the whole radius rather
than random ones; of categories, over all rows at once.

Regions are those of the exact model with the domains that it learns: they end where a domain ends, whole numbers stay
whole, ordered categories move by rank, other categories become any other, and special codes and missing cells stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import max_pool1d

from suffice.gam.columns import Categorical, Column, Numeric, ranks_of, reach_of
from suffice.gam.widths import cost_of
from suffice.numbers.exact import nearest_float


class Shapes(Protocol):
    """A network, or one with corrections."""

    @property
    def table(self) -> Tensor:
        """The values of all slots (members, slots, outputs)."""

    def shapes(self, numbers: Tensor) -> Tensor:
        """Evaluate every feature's shape: (features, points) to (members, features, points, outputs)."""


_CENTERS, _OFFSETS = 32, 9
_JUDGES = 512  # rows at which shapes are measured once they are trained, or between epochs


class Reach:
    """Measures shapes around training rows.

    Parameters
    ----------
    columns : sequence of Column
        What is known of each.
    numbers, slots : tensors (rows, features)
        Encoded training rows.
    radius : float
        In standard deviations.
    generator : torch.Generator
        Draws the rows that `cost` looks at.
    """

    def __init__(
        self, columns: Sequence[Column], numbers: Tensor, slots: Tensor, radius: float, generator: torch.Generator
    ) -> None:
        self.numbers, self.slots, self.generator = numbers, slots, generator
        self.offsets = torch.stack([_offsets(column, radius) for column in columns])
        ends = [_ends(column) for column in columns]
        self.low, self.high = (torch.tensor(side)[:, None, None] for side in zip(*ends, strict=True))
        self.judges = torch.linspace(0, len(numbers) - 1, min(_JUDGES, len(numbers))).long()
        self.choices = _Choices(columns, slots, radius)

    def cost(self, network: Shapes) -> Tensor:
        """Return what the widths of a network cost, on freshly drawn training rows."""
        rows = torch.randint(len(self.numbers), (_CENTERS,), generator=self.generator)
        return cost_of(self._widths(network, rows))

    def judged_cost(self, network: Shapes) -> Tensor:
        """Return what the widths of a network cost, always on the same rows."""
        return cost_of(self._widths(network, self.judges))

    def width(self, network: Shapes) -> Tensor:
        """Return the sum over features of the mean width, always on the same rows."""
        return self._widths(network, self.judges).sum()

    def _widths(self, network: Shapes, rows: Tensor) -> Tensor:
        """Return each feature's mean width (features,), averaged over members and summed over outputs."""
        centers, slots = self.numbers[rows].T, self.slots[rows].T  # (features, centers)
        points = (centers[:, :, None] + self.offsets[:, None]).clamp(self.low, self.high).flatten(1)
        # members, features, centers, offsets, outputs
        values = network.shapes(points).unflatten(2, (len(rows), _OFFSETS))
        widths = (values.amax(3) - values.amin(3)) * (slots < 0)[None, :, :, None]
        return widths.mean((0, 2)).sum(1) + self.choices.widths(network.table)


class _Choices:
    """Which categories those of a column may become, and how many rows have them."""

    def __init__(self, columns: Sequence[Column], slots: Tensor, radius: float) -> None:
        counts, first = torch.bincount(slots.flatten() + 1)[1:].double() / len(slots), 0
        self.features = len(columns)
        # The place of a column and of its categories, the share of rows with each, how many ranks they move (or None).
        self.groups = list[tuple[int, slice, Tensor, int | None]]()
        for k, column in enumerate(columns):
            if isinstance(column, Categorical) and (count := len(column.categories)):
                own = slice(first, first + count)
                shares = torch.zeros(count)
                if radius > 0:  # else all stay as they are
                    shares[: len(counts[own])] = counts[own].float()
                self.groups.append((k, own, shares, ranks_of(column, radius)))
            first += column.slots

    def widths(self, table: Tensor) -> Tensor:
        """Return the mean width of each feature's categories (features,), from the table of slots."""
        found = list(table.new_zeros(self.features).unbind())
        for k, own, shares, by in self.groups:
            values = table[:, own].transpose(1, 2)  # members, outputs, categories
            if by is None:
                width = (values.amax(2) - values.amin(2)) * shares.sum()
            else:  # largest and smallest of all that are so many ranks away, or fewer
                high, low = (max_pool1d(way * values, 2 * by + 1, 1, by) for way in (1, -1))
                width = ((high + low) * shares).sum(2)
            found[k] = width.mean(0).sum()
        return torch.stack(found)


def _offsets(column: Column, radius: float) -> Tensor:
    """Return offsets of numbers within a radius."""
    each = torch.linspace(-radius, radius, _OFFSETS)
    if reach_of(column, radius) == radius:
        return each
    assert isinstance(column, Numeric)
    return (each * column.scale).trunc() / column.scale


def _ends(column: Column) -> tuple[float, float]:
    """Return from where to where the learned domain goes, in standardised numbers."""
    if not isinstance(column, Numeric) or column.observed is None:
        return -math.inf, math.inf
    low, high = (nearest_float(end) for end in column.observed.ends())
    return (low - column.center) / column.scale, (high - column.center) / column.scale
