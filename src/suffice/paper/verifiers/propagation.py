"""Rigorous linear bounds on networks of one input, for many boxes at once, in float64 with outward rounding.

In: layers, and boxes `[low, high]` of their input. Out: for each box a lower and an upper bound of the output.
Guaranteed: the exact function lies between the bounds, whatever the rounding of the machine and the order in which a
matrix product is summed.

How. On each box the input is `middle + reach · s` with `-1 ≤ s ≤ 1`, and every unit lies between two lines in `s`. A
linear layer combines lines by the signs of its weights (the forward form of CROWN). An activation is enclosed by two
parallel lines `λ z + e`: for any slope λ whatever, `σ(z) - λ z` is extreme at an end of `z`'s range or at a corner of
σ. The rounding error of each step is bounded a priori and taken off the lower line's offset, added to the upper one's;
an error in a slope counts there too, since `|s| ≤ 1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.core.drops import bound_drops
from suffice.errors import VerifierError
from suffice.numbers.exact import Rational, nearest_float, rational
from suffice.numbers.values import Value
from suffice.paper.instance import Component, Part
from suffice.paper.layers import Floats, Layers
from suffice.shapes import Activation
from suffice.shapes.pieces import combine

_ULP = 2.0**-53
_FEW = 32  # values that are all evaluated exactly
_TINY = 1e-300  # more than all that underflow can lose in one step


class Lines(NamedTuple):
    """Units between lines: `low_slope · s + low_offset ≤ unit ≤ high_slope · s + high_offset`; (units, boxes)."""

    low_slope: Floats
    low_offset: Floats
    high_slope: Floats
    high_offset: Floats

    def range(self) -> tuple[Floats, Floats]:
        """Return numbers that every unit lies between."""
        low, high = self.low_offset - np.abs(self.low_slope), self.high_offset + np.abs(self.high_slope)
        low_slack = 4 * _ULP * (np.abs(self.low_offset) + np.abs(self.low_slope)) + _TINY
        high_slack = 4 * _ULP * (np.abs(self.high_offset) + np.abs(self.high_slope)) + _TINY
        return low - low_slack, high + high_slack

    def widened(self, by: Floats) -> Lines:
        """Return lines that are further apart by some error on either side."""
        return Lines(self.low_slope, self.low_offset - by, self.high_slope, self.high_offset + by)


def bound(layers: Layers, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return bounds of the output on each box; infinite where numbers overflow."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        outputs = [_input(low, high)]
        for number, (weight, bias, activation) in enumerate(
            zip(layers.weights, layers.biases, layers.activations, strict=True), start=1
        ):
            lines = _affine(outputs[-1], weight, bias)
            outputs.append(lines if activation.is_identity else _activate(lines, activation))
            if number in layers.skips:
                outputs[-1] = _sum(outputs[-1], outputs[layers.skips[number]])
        bottom, top = outputs[-1].range()
    return np.where(np.isnan(bottom[0]), -np.inf, bottom[0]), np.where(np.isnan(top[0]), np.inf, top[0])


def _input(low: Floats, high: Floats) -> Lines:
    middle = low / 2 + high / 2
    reach = np.nextafter(np.maximum(high - middle, middle - low), np.inf)
    return Lines(reach[None], middle[None], reach[None], middle[None])


def _affine(lines: Lines, weight: Floats, bias: Floats) -> Lines:
    _units, inputs = weight.shape
    boxes = lines.low_slope.shape[1]
    rising, falling = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    lower = np.concatenate([lines.low_slope, lines.low_offset], axis=1)
    upper = np.concatenate([lines.high_slope, lines.high_offset], axis=1)
    low, high = rising @ lower + falling @ upper, rising @ upper + falling @ lower
    # Any way to sum n products errs by at most n ulps of the sum of their absolute values; twice that and some more
    # covers the two sums, the bias, and the rounding of the error itself.
    sizes = np.maximum(np.abs(lower), np.abs(upper))
    scale = np.abs(weight) @ (sizes[:, :boxes] + sizes[:, boxes:]) + np.abs(bias)[:, None]
    error = (8 * inputs + 32) * _ULP * scale + _TINY
    offsets = bias[:, None]
    return Lines(low[:, :boxes], low[:, boxes:] + offsets, high[:, :boxes], high[:, boxes:] + offsets).widened(error)


def _sum(one: Lines, other: Lines) -> Lines:
    added = Lines(*(a + b for a, b in zip(one, other, strict=True)))
    sizes = [np.maximum(np.abs(a), np.abs(b)) for a, b in zip(one, other, strict=True)]
    return added.widened(8 * _ULP * sum(sizes[1:], sizes[0]) + _TINY)


def _activate(lines: Lines, activation: Activation) -> Lines:
    low, high = lines.range()
    slope, below, above = _enclose(activation, low, high)
    is_rising = slope >= 0
    low_slope = slope * np.where(is_rising, lines.low_slope, lines.high_slope)
    low_offset = slope * np.where(is_rising, lines.low_offset, lines.high_offset)
    high_slope = slope * np.where(is_rising, lines.high_slope, lines.low_slope)
    high_offset = slope * np.where(is_rising, lines.high_offset, lines.low_offset)
    sizes = np.maximum(np.abs(low_slope), np.abs(high_slope)) + np.maximum(np.abs(low_offset), np.abs(high_offset))
    error = 8 * _ULP * (sizes + np.maximum(np.abs(below), np.abs(above))) + _TINY
    return Lines(low_slope, low_offset + below, high_slope, high_offset + above).widened(error)


def _enclose(activation: Activation, low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return λ, and bounds of `σ(z) - λ z` for z from `low` to `high`."""
    thresholds = activation.thresholds
    slopes = np.broadcast_to(activation.slopes, (len(activation.slopes), low.shape[0]))
    units = np.arange(low.shape[0])[:, None]
    first, last = (sum((z > t).astype(np.int64) for t in thresholds) for z in (low, high))
    at_low = slopes[first, units] * low + activation.offsets[first]
    at_high = slopes[last, units] * high + activation.offsets[last]
    chord = (at_high - at_low) / (high - low)  # any slope will do: its rounding needs no bound
    slope = np.where(first == last, slopes[first, units], np.where(np.isfinite(chord), chord, 0.0))
    below, above = np.full_like(low, np.inf), np.full_like(low, -np.inf)
    everywhere = np.full(low.shape, True)
    ends: list[tuple[Any, Floats, NDArray[np.bool_]]] = [(first, low, everywhere), (last, high, everywhere)]
    ends += [(np.full_like(first, q), np.full_like(low, t), (low < t) & (t < high)) for q, t in enumerate(thresholds)]
    for zone, z, is_inside in ends:
        steep = slopes[zone, units] - slope
        value = steep * z + activation.offsets[zone]
        error = 8 * _ULP * (np.abs(steep * z) + np.abs(activation.offsets[zone])) + np.where(steep == 0, 0.0, _TINY)
        below = np.where(is_inside, np.minimum(below, value - error), below)
        above = np.where(is_inside, np.maximum(above, value + error), above)
    return slope, below, above


@lru_cache(maxsize=4096)
def outer_bounds(part: Part) -> tuple[Rational, Rational]:
    """Return bounds of a component's lowest value over its region.

    For a network these are the bounds of one propagation (the paper's α_i and β_i); where values are listed, the lowest
    itself; of anything else, the exact extremes.
    """
    if part.values is not None:
        return (lowest(part).value,) * 2
    if not part.component.has_network:
        return _exact_bounds(part)
    low, high = enclosing_floats(part)
    bottom, top = bound(part.component.whole.layers, np.array([low]), np.array([high]))
    if not (np.isfinite(bottom[0]) and np.isfinite(top[0])):
        raise VerifierError(f"the bounds of {part.component.name!r} overflow; its weights or its region are too large")
    return rational(bottom[0]) / part.component.multiplier, rational(top[0]) / part.component.multiplier


class Lowest(NamedTuple):
    """A value of a feature at which its component is lowest, and how low."""

    at: Value
    value: Rational


@lru_cache(maxsize=4096)
def lowest(part: Part) -> Lowest:
    """Return where a component is lowest among the listed values of its region, exactly."""
    assert part.values is not None
    found = [Lowest(value, part.component(value)) for value in _candidates(part.component, part.values)]
    return min(found, key=lambda one: one.value)


def _candidates(component: Component, values: Sequence[Value]) -> Sequence[Value]:
    """Return the values that can be the lowest: of many numbers, bounds at each rule most of them out."""
    numbers = [value for value in values if isinstance(value, fmpq) and component.is_network_on(value, value)]
    if len(numbers) <= _FEW or not component.has_network:
        return values
    ends = [_around((number - component.center) / component.scale) for number in numbers]
    low, high = (np.array(column) for column in zip(*ends, strict=True))
    bottom, top = bound(component.whole.layers, low, high)
    ruled_out = {number for number, low in zip(numbers, bottom, strict=True) if low > top.min()}
    return [value for value in values if value not in ruled_out]


def enclosing_floats(part: Part) -> tuple[float, float]:
    """Return floats around the interval that a part's network sees."""
    low, high = part.scaled
    return _around(low)[0], _around(high)[1]


def _around(number: Rational) -> tuple[float, float]:
    """Return the float itself, or the two that a number lies between."""
    near = nearest_float(number)
    low = near if rational(near) <= number else float(np.nextafter(near, -np.inf))
    return low, near if rational(near) >= number else float(np.nextafter(near, np.inf))


def _exact_bounds(part: Part) -> tuple[Rational, Rational]:
    ends = []
    for sign in (1, -1):
        function = combine([(rational(sign), part.component.pieces)])
        (drop,), _ = bound_drops([function], [sign * part.here], (part.at,), [part.region])
        if drop.is_infinite:
            raise VerifierError(f"{part.component.name!r} is unbounded over its region; give a finite radius")
        ends.append(sign * (sign * part.here - drop.value))
    return ends[0], ends[1]
