"""How far shapes can move within a radius of the training rows: what makes explanations long, as a penalty.

A feature can be left free if its drop is small. The penalty is the sum over features of the mean width of the shape
over the region around a training row: largest minus smallest value, over evenly spaced offsets of the whole radius
rather than random ones. A category may become any other, so its width is that of the whole table.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


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
    numbers, slots : tensors (rows, features)
        Encoded training rows.
    blocks : tensors of slots
        For each categorical feature, the places of its categories in the table.
    radius : float
        In standard deviations.
    """

    def __init__(
        self, numbers: Tensor, slots: Tensor, blocks: list[Tensor], radius: float, generator: torch.Generator
    ) -> None:
        self.numbers, self.is_ordinary, self.blocks, self.generator = numbers, slots < 0, blocks, generator
        self.offsets = torch.linspace(-radius, radius, _OFFSETS)

    def __call__(self, network: Shapes) -> Tensor:
        """Return the sum over features of the mean width, averaged over members and summed over outputs."""
        rows = torch.randint(len(self.numbers), (_CENTERS,), generator=self.generator)
        centers, counts = self.numbers[rows].T, self.is_ordinary[rows].T  # (features, centers)
        points = (centers[:, :, None] + self.offsets).flatten(1)
        values = network.shapes(points).unflatten(
            2, (_CENTERS, _OFFSETS)
        )  # members, features, centers, offsets, outputs
        widths = (values.amax(3) - values.amin(3)) * counts[None, :, :, None]
        total = widths.mean(2).sum((1, 2)).mean()
        for block in self.blocks:
            table = network.table[:, block]
            total = total + (table.amax(1) - table.amin(1)).sum(1).mean()
        return total
