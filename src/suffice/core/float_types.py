"""The float types that deployed models compute in, and how far a number is from the float it becomes."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ClaimError
from suffice.numbers.exact import Rational, nearest_float, rational

Floats: TypeAlias = NDArray[np.float64]

GROW = 1 + 2.0**-30  # more than float64 loses in any sum of bounds
WIDEST = 2**20  # terms of one sum, so that the line above is true


class FloatType(NamedTuple):
    """A float type: half the distance from 1 to the next float, the smallest float, and less than the largest."""

    name: str
    dtype: type[np.floating[Any]]
    unit: float
    smallest: float
    largest: float

    def holds(self, value: Rational) -> bool:
        """Whether a number is a float of this type."""
        near = nearest_float(value)
        return abs(near) < self.largest and rational(near) == value and float(self.dtype(near)) == near

    def off(self, value: Rational) -> float:
        """Return how far a number that is written down exactly can be from the float it becomes."""
        # It may become a float64 first, which rounds twice: `GROW`, and two halves of the smallest.
        return 0.0 if self.holds(value) else (self.near(value) * self.unit + self.smallest) * GROW

    def near(self, value: Rational) -> float:
        """Return a bound on the absolute value of a number, which must be well within the type."""
        size = abs(nearest_float(value))
        if not size < self.largest:
            raise self.overflow()
        return (size + self.smallest if value else 0.0) * GROW

    def offs(self, values: Floats) -> Floats:
        """Return exactly how far each of some float64 is from the float it becomes."""
        if values.size and not np.abs(values).max() < self.largest:
            raise self.overflow()
        return np.abs(values - values.astype(self.dtype).astype(np.float64))  # the rounded-off bits are a float64

    def adding(self, terms: Floats, most: Floats) -> Floats:
        """Return how far sums of so many terms can be off, whose partial sums are at most so large."""
        assert not terms.size or terms.max() < WIDEST
        steps = np.maximum(terms - 1, 0) * self.unit
        return steps / (1 - steps) * most * GROW

    def overflow(self) -> ClaimError:
        """Return the error of a number that may be too large."""
        return ClaimError(f"{self.name} may overflow within this region; make the region smaller")


FLOAT_TYPES = {
    "float32": FloatType("float32", np.float32, 2.0**-24, 2.0**-149, 2.0**127),
    "float64": FloatType("float64", np.float64, 2.0**-53, 2.0**-1074, 2.0**1023),
}
