"""Drops that are known between floats, and made exactly only where somebody looks at them.

In: for each feature two floats between which its drop lies, and how to make the drop itself. Out: a sequence of drops,
of which most are never made: bounds mostly tell whether features are admitted, and which of two drops is larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from suffice.core.constraint import Drop
from suffice.numbers.exact import nearest_float

Floats = NDArray[np.float64]

_LOOSE = 2.0**-40  # of a margin: bounds that are further apart are made exact first


class LaterDrops(Sequence[Drop]):
    """Drops of all features, each between two floats until it is made.

    Parameters
    ----------
    low, high : arrays
        Between what the value of each drop lies. They are tightened as drops are made.
    make : callable
        Returns the drop of a feature.
    """

    def __init__(self, low: Floats, high: Floats, make: Callable[[int], Drop]) -> None:
        self.low, self.high = low, high
        self._make = make
        self._made: dict[int, Drop] = {}

    def __len__(self) -> int:
        return len(self.low)

    @overload
    def __getitem__(self, index: int) -> Drop: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Drop, ...]: ...
    def __getitem__(self, index: int | slice) -> Drop | tuple[Drop, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        if index not in self._made:
            drop = self._made[index] = self._make(index)
            self.low[index], self.high[index] = _around(math.inf if drop.is_infinite else nearest_float(drop.value))
        return self._made[index]

    def __iter__(self) -> Iterator[Drop]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)

    def told(self, freed: Collection[int], limit: float) -> bool | None:
        """Whether the drops of some features add up to less than a limit, given as its nearest float; None in doubt."""
        chosen = list(freed)
        for is_again in (False, True):
            least, most = float(self.low[chosen].sum()), float(self.high[chosen].sum())
            # A sum of n floats that are not below 0 is off by n times 2^-53 of it; so is the limit, or by a denormal.
            share, doubt = (len(chosen) + 4) * 2.0**-51, abs(limit) * 2.0**-51 + (len(chosen) + 1) * 1e-320
            if most * (1 + share) + doubt < limit:
                return True
            if least * (1 - share) - doubt > limit and least < math.inf:
                return False
            if is_again or not self.tighten(limit, chosen):
                break
        return None

    def tighten(self, limit: float, features: Sequence[int]) -> bool:
        """Make those drops whose bounds leave open much of a margin; return whether there are any."""
        with np.errstate(invalid="ignore"):
            is_close = self.high[features] - self.low[features] <= abs(limit) * _LOOSE
        wide = [i for i, close in zip(features, is_close.tolist(), strict=True) if not close and i not in self._made]
        for i in wide:
            self[i]
        return bool(wide)


def sorted_by_bounds(
    items: Iterable[int], low: Sequence[float], high: Sequence[float], key: Callable[[int], Any]
) -> list[int]:
    """Return items in ascending order of a key whose first part lies between two bounds, asking for few keys."""
    found: list[int] = []
    group: list[int] = []
    top = -math.inf
    for k in sorted(items, key=low.__getitem__):
        if low[k] > top:
            found += sorted(group, key=key) if len(group) > 1 else group
            group = []
        group.append(k)
        top = max(top, high[k])
    return found + (sorted(group, key=key) if len(group) > 1 else group)


def _around(near: float) -> tuple[float, float]:
    return math.nextafter(near, 0.0), math.nextafter(near, math.inf)
