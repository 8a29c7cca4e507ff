"""How far the steps of a network, computed in floats, can be off: rigorous bounds for many intervals of inputs at once.

In: where the exact inputs of a step can lie and how far the computed ones can be from them, by number and *cell* (an
interval of the network's input). Out: the same of its outputs.

The model of an operation. With `u` half the distance from 1 to the next float and `s` the smallest float above 0, every
product, quotient and conversion is `fl(a) = a(1 + d) + e` with `|d| ≤ u`, `|e| ≤ s/2`, unless it overflows; a sum or a
difference of floats has `e = 0`, for where it is tiny it is exact (Higham, *Accuracy and Stability of Numerical
Algorithms*, sections 2.1 and 3.1). Each function below says how its bound follows. Where a number on the way could
overflow there is no bound: the error of such a cell is infinite, and stays so in all that follows.

Sums. Of terms `t_k`, let `P` be the sum of the positive ones and `N` that of the others, without sign. In any order,
every partial sum of the terms is in `[-N, P]`, so with `M = max(P, N)` an addition is off by at most `u(M + E)` if all
of them together are off by `E`. So `E ≤ m·u(M + E)` for `m` additions, `E ≤ m·u·M / (1 - m·u)`. Adding a zero does not
round: `m` is one less than the number of terms that are not 0.

Bounds are sums and products of numbers that are not negative, computed in float64 and then made larger by more than
float64 can be off: relatively by `GROW`, and where float64 itself underflows by some of the type's smallest floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.core.float_types import GROW, Floats, FloatType
from suffice.errors import ClaimError
from suffice.numbers.exact import Rational, nearest_float
from suffice.shapes.activations import Activation
from suffice.shapes.parameters import rounded_exp


@dataclass(frozen=True)
class Range:
    """Where some exact numbers lie and how far the computed ones can be from them, by number and cell."""

    low: Floats
    high: Floats
    error: Floats

    @cached_property
    def below(self) -> Floats:
        """How far computed numbers can be below 0."""
        result: Floats = np.maximum(self.error - self.low, 0) * GROW
        return result

    @cached_property
    def above(self) -> Floats:
        """How far computed numbers can be above 0."""
        result: Floats = np.maximum(self.error + self.high, 0) * GROW
        return result

    @cached_property
    def size(self) -> Floats:
        """A bound on the absolute values of computed numbers."""
        result: Floats = np.maximum(self.below, self.above)
        return result

    def within(self, kind: FloatType, *sizes: Floats) -> Range:
        """Return the range without a bound in cells where something in it, or of these sizes, may overflow."""
        fits = np.ones(self.low.shape[1], dtype=bool)
        for size in (np.abs(self.low) + self.error, np.abs(self.high) + self.error, *sizes):
            fits &= (size < kind.largest).all(axis=0)  # false for what is not a number too
        return self if fits.all() else Range(self.low, self.high, np.where(fits, self.error, np.inf))


class Layer(Protocol):
    """A layer before its activation."""

    def __call__(self, h: Range) -> Range:
        """Return the range of its outputs."""


class Affine:
    """The layer `weight · h + bias`, with what its bounds need of the parameters.

    A product of a weight off by `e` and an input off by `f` is off by `|w|f + e|h|`, rounds by `u|w||h|` and underflows
    by at most `s/2`; a fused one does so when it is added. Then all are summed: see the top.
    """

    def __init__(self, kind: FloatType, weight: NDArray[Any], bias: NDArray[Any] | None) -> None:
        w: Floats = weight.astype(np.float64)
        self.kind = kind
        self.bias: Floats = np.zeros((len(w), 1)) if bias is None else bias.astype(np.float64)[:, np.newaxis]
        self.above, self.below, self.off = np.maximum(w, 0), np.maximum(-w, 0), kind.offs(w)
        # A weight and its float have the same sign, or are 0.
        self.high, self.low = self.above + self.off * (w > 0), self.below + self.off * (w < 0)
        self.is_term = (w != 0).astype(np.float64)
        self.bias_off = kind.offs(self.bias)
        self.under = (4 * w.shape[1] + 16) * kind.smallest

    def __call__(self, h: Range) -> Range:
        """Return the range of its outputs."""
        kind, b, under = self.kind, self.bias, self.under
        positive = self.high @ h.above + self.low @ h.below + np.maximum(b, 0)
        negative = self.high @ h.below + self.low @ h.above + np.maximum(-b, 0)
        sizes = (self.high + self.low) @ h.size
        terms = self.is_term @ (h.size > 0).astype(np.float64) + (b != 0)
        most = np.maximum(positive, negative) * (1 + 2 * kind.unit) * GROW + under + self.bias_off
        products = (self.above + self.below) @ h.error + self.off @ h.size + kind.unit * sizes
        error = products + self.bias_off + kind.adding(terms, most)
        slack = (sizes + np.abs(b)) * 2.0**-30 + under
        low = self.above @ h.low - self.below @ h.high + b - slack
        high = self.above @ h.high - self.below @ h.low + b + slack
        return Range(low, high, error * GROW + under).within(kind, sizes + np.abs(b), h.size)


class Exponential:
    """The layer `exp(weight) · (x - bias)`, computed as it stands or multiplied out.

    The exponential of the exact model is rounded to the type of the weights. The computed one may be off by some units
    in the last place (of the smallest floats, where it is tiny), and by what its rounded exponent makes of it.
    """

    def __init__(self, kind: FloatType, weight: NDArray[Any], bias: NDArray[Any] | None) -> None:
        exponent = weight[:, :1].astype(np.float64)
        self.kind = kind
        self.grown: Floats = rounded_exp(weight)[:, :1].astype(np.float64)
        self.shift: Floats = np.zeros((1, 1)) if bias is None else bias.astype(np.float64).reshape(-1, 1)
        true = self.grown if weight.dtype == np.float64 else rounded_exp(weight.astype(np.float64))[:, :1]
        own = np.abs(self.grown - true) + true * 2.0**-51 + 2.0**-1073  # what the type of the weights makes of it
        moved = kind.offs(exponent)
        relative = (16 * kind.unit + np.expm1(2 * moved)) * (1 + 2.0**-8)
        self.off: Floats = (relative * np.maximum(self.grown, true) + own + 8 * kind.smallest) * GROW
        self.most: Floats = np.exp(np.abs(moved)) * (self.grown + self.off) * 2
        self.shift_off = kind.offs(self.shift)

    def __call__(self, h: Range) -> Range:
        """Return the range of its outputs."""
        kind, grown, off = self.kind, self.grown, self.off
        size = (h.size + np.abs(self.shift) + self.shift_off) * GROW
        # Two products and a difference, or a difference and a product: no more than four factors 1 + d.
        error = off * size + grown * (h.error + self.shift_off) + 5 * kind.unit * (grown + off) * size
        most = (grown + off) * size * 2
        ends = grown * (h.low - self.shift), grown * (h.high - self.shift)
        slack = most * 2.0**-48 + 4 * kind.smallest
        found = Range(ends[0] - slack, ends[1] + slack, (error + 16 * kind.smallest) * GROW)
        return found.within(kind, most, self.most, h.size)


def activated(kind: FloatType, activation: Activation, y: Range) -> Range:
    """Return the range of an activation.

    On each zone it is affine, so its ends and thresholds tell. Of zones that neither the exact number nor the computed
    one can be in nothing is charged. The steepest of the others says how far apart the exact activation is at the two.
    The computed one then differs from it by its rounded slope and offset, by the rounding of a product (a slope of 0 or
    ±1 makes none) and of a sum, and, between a threshold and its float, by the difference of two slopes.
    """
    if activation.is_identity:
        return y
    thresholds, offsets = np.array(activation.thresholds), np.array(activation.offsets)
    slopes = np.broadcast_to(activation.slopes, (len(activation.slopes), len(y.low)))
    moved, u, size = kind.offs(thresholds), kind.unit, y.size
    slope_off, offset_off = kind.offs(slopes), kind.offs(offsets)
    lowest, highest = y.low - y.error * GROW, y.high + y.error * GROW
    leap = np.abs(np.diff(slopes, axis=0)).sum(axis=0)[:, np.newaxis] * moved.sum()
    leap = leap + 4 * kind.smallest if moved.any() else leap
    error, most, steepest = np.zeros(y.low.shape), np.zeros(y.low.shape), np.zeros(y.low.shape)
    for q, (slope, offset) in enumerate(zip(slopes, offsets, strict=True)):
        is_met = np.ones(y.low.shape, dtype=bool)
        if q > 0:
            is_met &= highest >= thresholds[q - 1] - moved[q - 1] * GROW
        if q < len(thresholds):
            is_met &= lowest <= thresholds[q] + moved[q] * GROW
        column = np.abs(slope)[:, np.newaxis]
        multiplies = (column != 0) & (column != 1)
        value = column * size * is_met
        own = np.zeros(y.low.shape)
        if multiplies.any():
            slanted = slope_off[q][:, np.newaxis] * size
            own = multiplies * (slanted + u * (value + slanted) + 8 * kind.smallest)
        if offset:
            own = own + offset_off[q] + (column != 0) * u * (value + own + abs(offset) + offset_off[q])
        error = np.maximum(error, (own + leap) * is_met * GROW)
        most = np.maximum(most, value + abs(offset))
        steepest = np.maximum(steepest, column * is_met)
    points = [y.low, y.high, *(np.clip(threshold, y.low, y.high) for threshold in thresholds)]
    values = [_apply(slopes, offsets, thresholds, point) for point in points]
    rounds = ((slopes != 0) & (np.abs(slopes) != 1)).any(axis=0)[:, np.newaxis] | bool(offsets.any())
    slack = most * 2.0**-48 + rounds * 4 * kind.smallest
    found = Range(np.min(values, axis=0) - slack, np.max(values, axis=0) + slack, (steepest * y.error + error) * GROW)
    return found.within(kind, most, size)


def _apply(slopes: Floats, offsets: Floats, thresholds: Floats, y: Floats) -> Floats:
    """Return the exact activation, but for the rounding of float64."""
    result: Floats = slopes[0][:, np.newaxis] * y + offsets[0]
    for threshold, slope, offset in zip(thresholds, slopes[1:], offsets[1:], strict=True):
        result = np.where(y > threshold, slope[:, np.newaxis] * y + offset, result)
    return result


def added(kind: FloatType, one: Range, other: Range) -> Range:
    """Return the range of a sum of two computed numbers, as a skip makes it: their errors, and that of the addition."""
    above, below = one.above + other.above, one.below + other.below
    terms: Floats = (one.size > 0).astype(np.float64) + (other.size > 0)
    error = one.error + other.error + kind.adding(terms, np.maximum(above, below) * GROW)
    slack = (above + below) * 2.0**-30 + 4 * kind.smallest
    low, high = one.low + other.low - slack, one.high + other.high + slack
    return Range(low, high, error * GROW + 4 * kind.smallest).within(kind, above, below)


def scaled(kind: FloatType, name: str, center: Rational, scale: Rational, x: Range) -> Range:
    """Return the range of `(x - center) / scale`, a feature's scaled input.

    The difference: `x` and the center are off, their difference once more by `u`. The quotient: the scale is off
    relatively by `r`, dividing costs one factor `1 + d`, multiplying by the rounded reciprocal two, and the reciprocal
    may underflow (by `s/2`, which the difference multiplies), as may the result.
    """
    kind.near(scale)  # refuses one that is too large
    at, inverse, u = nearest_float(center), nearest_float(1 / scale), kind.unit
    if not abs(inverse) * GROW < kind.largest:
        raise ClaimError(f"{kind.name} cannot divide by the scale of {name!r}, which is too small for it")
    relative = kind.off(scale) * abs(inverse) * GROW
    assert relative < 0.5, "a normal number is off by a factor 1 + d"
    factor = (2 * u + u * u + relative) / (1 - relative) * GROW  # (1 + u)² / (1 - r) - 1
    wider = (np.abs(x.low) + np.abs(x.high) + kind.near(center)) * 2.0**-48 + 4 * kind.smallest
    low, high = x.low - at - wider, x.high - at + wider
    farthest = np.maximum(np.abs(low), np.abs(high)) * GROW
    difference = ((x.error + kind.off(center)) * (1 + u) + u * farthest) * GROW
    quotient = (difference * (1 + factor) + farthest * factor) * abs(inverse)
    error = (quotient + kind.smallest * (farthest + difference) + 8 * kind.smallest) * GROW
    ends = low * inverse, high * inverse
    slack = farthest * abs(inverse) * 2.0**-48 + 4 * kind.smallest
    found = Range(np.minimum(*ends) - slack, np.maximum(*ends) + slack, error)
    return found.within(kind, farthest + difference + kind.near(center))
