"""Piecewise-linear activations: zones between thresholds, affine on each.

In zone `q` (above `thresholds[q - 1]`, below `thresholds[q]`) an activation is `slopes[q] * z + offsets[q]`. All
are continuous, so a threshold may be counted to either of its zones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from suffice.errors import ShapeError
from suffice.shapes.parameters import exact_array


@dataclass(frozen=True, eq=False)
class Activation:
    """Continuous piecewise-linear function applied to every unit of a layer.

    Use the constructors `relu`, `relu_n`, `leaky_relu`, `hard_tanh`, `absolute` and `identity`.

    Parameters
    ----------
    name : str
        For messages and files.
    thresholds : tuple of float
        Increasing; where the zones meet.
    slopes : array of shape (zones, 1) or (zones, units)
        Slope in each zone, the same for all units or one for each.
    offsets : array of shape (zones,)
        Offset in each zone.

    Examples
    --------
    >>> Activation.leaky_relu(0.25).thresholds, Activation.relu().slopes.tolist()
    ((0.0,), [[0.0], [1.0]])
    """

    name: str
    thresholds: tuple[float, ...]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]

    def __post_init__(self) -> None:
        for part in (self.slopes, self.offsets):
            part.flags.writeable = False
        zones = len(self.thresholds) + 1
        if self.slopes.ndim != 2 or len(self.slopes) != zones or not self.slopes.size or self.offsets.shape != (zones,):
            raise ShapeError(f"{zones - 1} thresholds need slopes and offsets for {zones} zones")
        if not all(np.isfinite(part).all() for part in (self.thresholds, self.slopes, self.offsets)):
            raise ShapeError("thresholds, slopes and offsets of an activation must be finite numbers")
        if any(a >= b for a, b in pairwise(self.thresholds)):
            raise ShapeError(f"the thresholds of an activation must increase, got {self.thresholds}")
        for q, threshold in enumerate(self.thresholds):
            step = Fraction(float(self.offsets[q + 1])) - Fraction(float(self.offsets[q]))
            for low, high in self.slopes[q : q + 2].T.tolist():
                if (Fraction(high) - Fraction(low)) * Fraction(threshold) + step != 0:
                    raise ShapeError(f"the activation {self.name!r} jumps at {threshold}; it must be continuous")

    @staticmethod
    def relu() -> Activation:
        """Return `max(z, 0)`."""
        return _shared("relu", (0.0,), (0.0, 1.0), (0.0, 0.0))

    @staticmethod
    def relu_n(n: float) -> Activation:
        """Return `min(max(z, 0), n)`, as ReLU-1 and ReLU-6 are."""
        top = _exact_float("n", n)
        if not top > 0:
            raise ShapeError(f"relu_n clips to [0, n] for an n above 0, got n = {n}")
        return _shared(f"relu_n({top!r})", (0.0, top), (0.0, 1.0, 0.0), (0.0, 0.0, top))

    @staticmethod
    def hard_tanh(low: float = -1.0, high: float = 1.0) -> Activation:
        """Return `min(max(z, low), high)`."""
        bottom, top = _exact_float("low", low), _exact_float("high", high)
        if not bottom < top:
            raise ShapeError(f"hard_tanh clips to [low, high] with low < high, got [{low}, {high}]")
        return _shared(f"hard_tanh({bottom!r}, {top!r})", (bottom, top), (0.0, 1.0, 0.0), (bottom, 0.0, top))

    @staticmethod
    def leaky_relu(slope: ArrayLike = 0.01) -> Activation:
        """Return `z` above 0 and `slope * z` below; one slope for all units (leaky ReLU) or one for each (PReLU).

        A Python float counts at its float64 value. PyTorch multiplies float32 activations by the slope
        rounded to float32: pass ``np.float32(0.01)`` for such a model.
        """
        below = np.atleast_1d(exact_array("the slope of leaky_relu", slope)).astype(np.float64)
        if below.ndim != 1 or not below.size:
            raise ShapeError(f"leaky_relu takes one slope or one for each unit, got an array of shape {below.shape}")
        slopes = np.stack([below, np.ones_like(below)])
        return Activation("leaky_relu", (0.0,), slopes, np.zeros(2))

    @staticmethod
    def absolute() -> Activation:
        """Return `|z|`."""
        return _shared("abs", (0.0,), (-1.0, 1.0), (0.0, 0.0))

    @staticmethod
    def identity() -> Activation:
        """Return `z`."""
        return _shared("identity", (), (1.0,), (0.0,))

    @classmethod
    def of(cls, given: str | Activation) -> Activation:
        """Return the activation of a name, or the one given."""
        if isinstance(given, Activation):
            return given
        if not isinstance(given, str) or given not in _BY_NAME:
            raise ShapeError(
                f"unknown activation {given!r}; use one of {', '.join(_BY_NAME)}, or Activation.relu_n(n), "
                "Activation.leaky_relu(slope), Activation.hard_tanh(low, high)"
            )
        return _BY_NAME[given]

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names that `of` knows."""
        return tuple(_BY_NAME)

    @property
    def is_identity(self) -> bool:
        """Whether nothing changes."""
        return not self.thresholds and bool((self.slopes == 1).all()) and not self.offsets.any()

    def fits(self, units: int) -> bool:
        """Whether the slopes are shared, or one for each of so many units."""
        return self.slopes.shape[1] in (1, units)

    def __repr__(self) -> str:
        return f"Activation<{self.name}>"


def _exact_float(what: str, value: object) -> float:
    return float(exact_array(f"the {what} of an activation", [value])[0])


def _shared(name: str, thresholds: Sequence[float], slopes: Sequence[float], offsets: Sequence[float]) -> Activation:
    return Activation(name, tuple(thresholds), np.array(slopes)[:, np.newaxis], np.array(offsets))


_BY_NAME = {
    "relu": Activation.relu(),
    "relu1": Activation.relu_n(1.0),
    "relu6": Activation.relu_n(6.0),
    "leaky_relu": Activation.leaky_relu(),
    "hard_tanh": Activation.hard_tanh(),
    "abs": Activation.absolute(),
    "identity": Activation.identity(),
}
