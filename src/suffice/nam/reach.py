"""How far shapes can move within a radius of the training rows: what makes explanations long, as a penalty.

A feature can be left free if its drop is small. The penalty is the sum over features of the mean width of the shape
over the region around a training row: largest minus smallest value, over evenly spaced offsets of the whole radius
rather than random ones.

Regions are those of the exact model with the domains that it learns: they end where a domain ends, whole numbers stay
whole, ordered categories move by rank, other categories become any other, and special codes and missing cells stay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from suffice.nam.columns import Categorical, Column, Numeric
from suffice.numbers.exact import nearest_float


class Shapes(Protocol):
    """A network, or one with corrections."""

    @property
    def table(self) -> Tensor:
        """The values of all slots (members, slots, outputs)."""

    def shapes(self, numbers: Tensor) -> Tensor:
        """Evaluate every feature's shape: (features, points) to (members, features, points, outputs)."""


_CENTERS, _OFFSETS = 32, 9


class Reach:
    """Measures a network on freshly drawn training rows at every call.

    Parameters
    ----------
    columns : sequence of Column
        What is known of each.
    numbers, slots : tensors (rows, features)
        Encoded training rows.
    radius : float
        In standard deviations.
    """

    def __init__(
        self, columns: Sequence[Column], numbers: Tensor, slots: Tensor, radius: float, generator: torch.Generator
    ) -> None:
        self.numbers, self.slots, self.generator = numbers, slots, generator
        self.offsets = torch.stack([_offsets(column, radius) for column in columns])
        ends = [_ends(column) for column in columns]
        self.low, self.high = (torch.tensor(side)[:, None, None] for side in zip(*ends, strict=True))
        self.groups, first = list[tuple[int, int, Tensor]](), 0  # column, its first slot, which category becomes which
        for k, column in enumerate(columns):
            if isinstance(column, Categorical) and column.categories:
                self.groups.append((k, first, _neighbours(column, radius)))
            first += column.slots

    def __call__(self, network: Shapes) -> Tensor:
        """Return the sum over features of the mean width, averaged over members and summed over outputs."""
        rows = torch.randint(len(self.numbers), (_CENTERS,), generator=self.generator)
        centers, slots = self.numbers[rows].T, self.slots[rows].T  # (features, centers)
        points = (centers[:, :, None] + self.offsets[:, None]).clamp(self.low, self.high).flatten(1)
        values = network.shapes(points).unflatten(
            2, (_CENTERS, _OFFSETS)
        )  # members, features, centers, offsets, outputs
        widths = (values.amax(3) - values.amin(3)) * (slots < 0)[None, :, :, None]
        total = widths.mean(2).sum((1, 2)).mean()
        for k, first, neighbours in self.groups:
            places = slots[k] - first
            near = neighbours[places[places < len(neighbours)]][
                :, :, None
            ]  # centers that have a category, categories, 1
            table = network.table[:, None, first : first + len(neighbours)]  # members, 1, categories, outputs
            high, low = (table.masked_fill(~near, end) for end in (-torch.inf, torch.inf))
            total = total + (high.amax(2) - low.amin(2)).sum((1, 2)).mean() / _CENTERS
        return total


def reach_of(column: Column, radius: float) -> float:
    """Return how far numbers of a column can move within a radius, both standardised: whole ones by whole ones."""
    if isinstance(column, Numeric) and column.observed is not None and column.observed.is_whole:
        return math.floor(radius * column.scale) / column.scale
    return radius


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


def _neighbours(column: Categorical, radius: float) -> Tensor:
    """Return which categories each may become (categories, categories)."""
    ranks = torch.arange(len(column.categories))
    apart = (ranks[:, None] - ranks).abs()
    return apart <= (torch.inf if column.deviation is None else radius * column.deviation)
