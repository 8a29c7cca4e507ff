"""The networks of a neural additive model, one for each feature, evaluated all at once.

A model may have several *members* (an ensemble; its score is their mean). Networks of all features and members are
stacked, so that a layer is one batched matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


class StackedNetworks(nn.Module):
    """A stack of networks of one input with the same hidden layers.

    Parameters
    ----------
    corners, steepness : tensors (stack, units of the first layer)
        Where the first layer's units have their corners, and how steep they are: both follow the data, so that no
        unit is wasted far away and crowded values can be told apart.
    hidden : sequence of int
        Units of each hidden layer.
    outputs : int
        Outputs of each network.
    exu : bool
        Whether the first layer has exponential units, clipped to [0, 1].
    """

    def __init__(
        self,
        corners: Tensor,
        steepness: Tensor,
        hidden: Sequence[int],
        outputs: int,
        *,
        exu: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        stack = corners.shape[0]
        self.exu = exu
        sizes = [1, *hidden, outputs]
        weights, biases = [], []
        for layer, (inputs, units) in enumerate(pairwise(sizes)):
            noise = torch.randn(stack, inputs, units, generator=generator)
            if layer == 0 and exu:
                weights.append(1.5 + 0.5 * noise)
                biases.append(corners[:, None, :].clone())
            elif layer == 0:
                slopes = torch.where(noise > 0, 1.0, -1.0) * steepness[:, None, :]
                weights.append(slopes)
                biases.append(-slopes * corners[:, None, :])
            else:
                gain = 2.0 if layer < len(sizes) - 2 else 1.0
                weights.append(noise * (gain / inputs) ** 0.5)
                biases.append(torch.zeros(stack, 1, units))
        self.weights = nn.ParameterList(weights)
        self.biases = nn.ParameterList(biases)

    def forward(self, inputs: Tensor, dropout: Dropout) -> Tensor:
        """Map (stack, rows, 1) to (stack, rows, outputs)."""
        h = inputs
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if layer == 0 and self.exu:
                h = ((h - bias) * weight.exp()).clamp(0.0, 1.0)
            elif layer == 0:
                h = torch.addcmul(bias, h, weight).relu_()
            else:
                h = torch.baddbmm(bias, h, weight)
                h = h.relu_() if layer < last else h
            if layer < last:
                h = dropout(h)
        return h


class Dropout:
    """Sets entries to 0 with a probability, from its own stream of random numbers; off outside training."""

    def __init__(self, rate: float, generator: torch.Generator) -> None:
        self.rate, self.generator, self.is_on = rate, generator, False

    def __call__(self, h: Tensor) -> Tensor:
        """Return the entries with some set to 0 and the others enlarged to make up for it."""
        if not self.is_on or self.rate == 0.0:
            return h
        kept = torch.rand(h.shape, generator=self.generator) >= self.rate
        return h * kept / (1.0 - self.rate)


class AdditiveNetwork(nn.Module):
    """Sum over features of a network's output or, for cells with a slot, of a learned value.

    Parameters
    ----------
    corners, steepness : tensors (columns with a network, units of the first layer)
        See `StackedNetworks`.
    features : int
        Number of columns.
    own : sequence of int
        The columns that have a network, one or more; all cells of the others have slots.
    slots : int
        Number of cells' values of their own, over all features.
    members : int
        Size of the ensemble.
    bases : int, optional
        If given, all features share one network with so many outputs, and each mixes these in its own way.
    """

    def __init__(
        self,
        corners: Tensor,
        steepness: Tensor,
        hidden: Sequence[int],
        outputs: int,
        *,
        features: int,
        own: Sequence[int],
        slots: int,
        members: int,
        bases: int | None,
        exu: bool,
        dropout: float,
        feature_dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.features, self.own, self.members, self.outputs = features, list(own), members, outputs
        self.dropout, self.feature_dropout = Dropout(dropout, generator), Dropout(feature_dropout, generator)
        if bases is None:
            first = corners.repeat(members, 1), steepness.repeat(members, 1)
            self.networks = StackedNetworks(*first, hidden, outputs, exu=exu, generator=generator)
            self.mix: nn.Parameter | None = None
        else:
            some = torch.randperm(corners.numel(), generator=generator)[: corners.shape[1]]
            first = corners.flatten()[some].repeat(members, 1), steepness.flatten()[some].repeat(members, 1)
            self.networks = StackedNetworks(*first, hidden, bases, exu=exu, generator=generator)
            noise = torch.randn(members, len(self.own), bases, outputs, generator=generator)
            self.mix = nn.Parameter(noise * bases**-0.5)
        self.table = nn.Parameter(torch.zeros(members, slots, outputs))
        self.bias = nn.Parameter(torch.zeros(members, outputs))

    def train_mode(self, is_on: bool) -> None:
        """Switch dropout on or off."""
        self.dropout.is_on = self.feature_dropout.is_on = is_on

    def shapes(self, numbers: Tensor) -> Tensor:
        """Evaluate every network, 0 without one: (features, points) to (members, features, points, outputs)."""
        own = numbers[self.own]
        networks, points = own.shape
        if self.mix is None:
            inputs = own.repeat(self.members, 1)[:, :, None]
            found = self.networks(inputs, self.dropout).view(self.members, networks, points, self.outputs)
        else:
            inputs = own.reshape(1, -1, 1).expand(self.members, -1, -1)
            found = self.networks(inputs, self.dropout).view(self.members, networks, points, -1) @ self.mix
        if networks == self.features:
            return found
        every = found.new_zeros(self.members, self.features, points, self.outputs)
        every[:, self.own] = found
        return every

    def forward(self, numbers: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        """Map rows (rows, features) to scores (rows, members, outputs) and the parts they are made of.

        `slots` holds the place of a cell's value in the table, or -1 where the network counts.
        """
        parts = self.shapes(numbers.T).permute(2, 0, 1, 3)  # rows, members, features, outputs
        if self.table.shape[1]:
            looked_up = self.table[:, slots.clamp(min=0)].permute(1, 0, 2, 3)
            parts = torch.where((slots >= 0)[:, None, :, None], looked_up, parts)
        if self.feature_dropout.is_on and self.feature_dropout.rate:
            parts = parts * self.feature_dropout(torch.ones(*parts.shape[:3], 1))
        return parts.sum(dim=2) + self.bias, parts
