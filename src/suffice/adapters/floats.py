"""Where a package's own float arithmetic crosses a threshold, as an exact number.

A model with jumps compares rounded numbers: `float32(x) < t`, or `(x - mean) / scale <= t` in float64. The jump lies
where the *rounded* value crosses, which no formula over the reals gives. Rounded increasing functions are increasing,
so the crossing is found by halving over the float64 numbers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.values import Missing
from suffice.shapes import Bins, Pieces

Floats: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

_TOP = np.int64(0x7FEFFFFFFFFFFFFF)  # the largest finite float64


def first_at_least(function: Floats, levels: NDArray[np.float64]) -> list[Rational]:
    """Return for each level the smallest float64 `x` with `function(x) >= level`.

    Where there is none, the number beyond all floats is returned; where all are, the one below all. `function` must be
    increasing.
    """
    levels = np.asarray(levels, dtype=np.float64)
    if not len(levels):
        return []
    reached = function(np.zeros(len(levels))) >= levels
    # Ranks of floats: below the level at `low`, not below it at `high`; the outermost two are no floats.
    low, high = np.where(reached, -_TOP - 1, 0), np.where(reached, 0, _TOP + 1)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        with np.errstate(over="ignore", invalid="ignore"):
            reached = function(_to_float(np.clip(middle, -_TOP, _TOP))) >= levels
        is_open = high - low > 1
        high = np.where(is_open & reached, middle, high)
        low = np.where(is_open & ~reached, middle, low)
    return [_number(int(place)) for place in high]


def last_at_most(function: Floats, levels: NDArray[np.float64]) -> list[Rational]:
    """Return for each level the largest float64 `x` with `function(x) <= level`; see `first_at_least`."""
    mirrored = first_at_least(lambda values: -function(-values), -np.asarray(levels, dtype=np.float64))
    return [-value for value in mirrored]


def float32_cut(threshold: float) -> tuple[Rational, bool]:
    """Return where the rounding of a number to float32 reaches a threshold, and whether that point is included.

    `float32(x) >= t` for all `x` above the midpoint of `t` and the float32 below it, and at the midpoint itself if the
    rounding of ties, which goes to the even one, goes to `t`.

    Examples
    --------
    >>> float32_cut(1.0)  # just below 1 lies 1 - 2**-24; the tie between goes up, as 1 is even
    (33554431/33554432, True)
    """
    at = np.float32(threshold)
    below = np.nextafter(at, np.float32(-np.inf))
    middle = (rational(float(at)) + rational(float(below))) / 2
    return middle, bool(np.float32(nearest_float(middle)) == at)


def _to_float(places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return floats by their rank: 0 is 0.0, 1 the smallest positive one, -1 the largest negative one."""
    bits = np.abs(places).view(np.int64)
    return np.where(places < 0, -bits.view(np.float64), bits.view(np.float64))


def _number(place: int) -> Rational:
    top = int(_TOP)
    if abs(place) > top:
        return rational(2**1024 if place > 0 else -(2**1024))
    return rational(float(_to_float(np.array([place], dtype=np.int64))[0]))


def float32_bins(thresholds: Sequence[float], keys: Sequence[Missing] = ()) -> Bins:
    """Return bins that meet where the float32 of a number reaches each threshold, and such for keys."""
    found = [float32_cut(threshold) for threshold in thresholds]
    return Bins([cut for cut, _ in found], keys, ["left" if is_included else "right" for _, is_included in found])


def float32_steps(thresholds: Sequence[float], values: Sequence[Rational]) -> Pieces:
    """Return the step function that jumps where the float32 of its input reaches each threshold."""
    found = [float32_cut(threshold) for threshold in thresholds]
    knots = [cut for cut, _ in found]
    at_knots = [values[k + 1] if is_included else values[k] for k, (_, is_included) in enumerate(found)]
    return Pieces.tidy(knots, [ZERO] * len(values), values, at_knots)
