"""Drops that are known between floats, and made exactly only where somebody looks at them.

In: for each feature two floats between which its drop lies, and how to make the drop itself. Out: a sequence of drops,
of which most are never made: bounds mostly tell whether features are admitted, and which of two drops is larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.core.constraint import Drop
from suffice.numbers.exact import nearest_float
from suffice.numbers.later import Later

Floats = NDArray[np.float64]

_LOOSE = 2.0**-40  # of a margin: bounds that are further apart are made exact first


class LaterDrops(Later[Drop]):
    """Drops of all features, each between two floats until it is made.

    Parameters
    ----------
    low, high : arrays
        Between what the value of each drop lies. They are tightened as drops are made.
    make : callable
        Returns the drop of a feature.
    """

    def __init__(self, low: Floats, high: Floats, make: Callable[[int], Drop]) -> None:
        def made(i: int) -> Drop:
            drop = make(i)
            self.low[i], self.high[i] = _around(math.inf if drop.is_infinite else nearest_float(drop.value))
            return drop

        super().__init__(len(low), made)
        self.low, self.high = low, high

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
