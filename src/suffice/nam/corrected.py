"""Networks with their corrections: scores and shapes, in float64 arithmetic."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from suffice.gam.hats import Floats, Hats, Places
from suffice.gam.terms import Terms
from suffice.nam.network import AdditiveNetwork

_CHUNK = 8192


def corrected_scores(network: AdditiveNetwork, corrections: Terms | None, numbers: Floats, slots: Places) -> Floats:
    """Return the scores of encoded rows (rows, outputs)."""
    exact, found = copy.deepcopy(network).double(), []
    dropped = [] if corrections is None else np.flatnonzero(corrections.is_whole).tolist()
    with torch.no_grad():
        for start in range(0, len(numbers), _CHUNK):
            rows = slice(start, start + _CHUNK)
            scores, parts = exact(torch.from_numpy(numbers[rows]), torch.from_numpy(slots[rows]))
            found.append((scores - parts[:, :, dropped].sum(2) if dropped else scores).mean(1).numpy())
    total = np.concatenate(found)
    return total if corrections is None else total + corrections.scores(numbers, slots)


def part_of(network: AdditiveNetwork, column: int, numbers: Floats, slots: Places) -> Floats:
    """Return what one column adds to the scores of rows of that column alone (rows, outputs)."""
    exact = copy.deepcopy(network).double()
    wide = torch.zeros(len(numbers), network.features, dtype=torch.float64)
    places = torch.full((len(numbers), network.features), -1)
    wide[:, column], places[:, column] = torch.from_numpy(numbers[:, 0]), torch.from_numpy(slots[:, 0])
    with torch.no_grad():
        return np.asarray(exact(wide, places)[1][:, :, column].mean(1).numpy())


def values_at(network: AdditiveNetwork, hats: Sequence[Hats]) -> tuple[Floats, ...]:
    """Return what the networks themselves say at every knot and slot of each column (size, outputs)."""
    most = max(len(one.knots) for one in hats)
    points = torch.zeros(len(hats), most, dtype=torch.float64)
    for k, one in enumerate(hats):
        points[k, : len(one.knots)] = torch.from_numpy(one.knots)
    exact = copy.deepcopy(network).double()
    with torch.no_grad():
        lines = exact.shapes(points).mean(0).numpy() if most else np.zeros((len(hats), 0, network.outputs))
        table = exact.table.mean(0).numpy()
    return tuple(
        np.concatenate([lines[k, : len(one.knots)], table[one.first : one.first + one.slots]])
        for k, one in enumerate(hats)
    )


class Corrected:
    """What `Reach` asks of a network: shapes at points, and the table of slots."""

    def __init__(self, network: AdditiveNetwork, corrections: Terms | None) -> None:
        self.network, self.corrections = network, corrections

    @property
    def table(self) -> Tensor:
        """The values of all slots (members, slots, outputs)."""
        table = self.network.table
        if self.corrections is None:
            return table
        lines = [values[len(one.knots) :] for one, values in self._lines()]
        kept = [0.0 if whole else 1.0 for one, whole in self._whole() for _ in range(one.slots)]
        return table * torch.tensor(kept)[:, None] + torch.from_numpy(np.concatenate(lines)).float()

    def shapes(self, numbers: Tensor) -> Tensor:
        """Evaluate every feature's shape: (features, points) to (members, features, points, outputs)."""
        found = self.network.shapes(numbers)
        if self.corrections is None:
            return found
        added = []
        for at, (one, values) in zip(numbers.detach().double().numpy(), self._lines(), strict=True):
            places, shares = one.locate(at, np.full(len(at), -1))
            low, high = (values[np.minimum(place, one.size - 1)] for place in (places, places + 1))
            added.append(low + shares[:, None] * (high - low))
        kept = torch.tensor([0.0 if whole else 1.0 for _, whole in self._whole()])
        return found * kept[:, None, None] + torch.from_numpy(np.stack(added)).float()

    def _lines(self) -> list[tuple[Hats, Floats]]:
        assert self.corrections is not None
        return list(zip(self.corrections.hats, self.corrections.values, strict=True))

    def _whole(self) -> list[tuple[Hats, bool]]:
        assert self.corrections is not None
        return list(zip(self.corrections.hats, self.corrections.is_whole, strict=True))
