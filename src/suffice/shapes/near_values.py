"""A network in floats at some numbers, with a rigorous bound of the error: enough to tell most signs.

In: layers whose parameters are integers over powers of two, and exact numbers. Out: what the units of the last layer
are before its activation, as floats, and how far these may be off.

Errors. A parameter is within 2^-52 of its float, and each product and each of `n` additions, in any order, off by at
most 2^-53 of its size: a layer's sums are off by at most `(n + 8) · 2^-52` of the sum of sizes, plus the weights' sizes
times what their inputs are off. An activation is continuous, so that it is off by its steepest slope times that, and
its own rounding. Bounds are rounded themselves, which the share `1 + 2^-20` covers; `_TINY` is more than all underflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.numbers.exact import Rational, nearest_float
from suffice.shapes.activations import Activation
from suffice.shapes.matrices import product

if TYPE_CHECKING:
    from suffice.shapes.tabulate import IntegerLayer

Floats = NDArray[np.float64]

_TINY = 1e-290
_LARGE = 1e290  # far from overflow
_OUTWARD = 1 + 2.0**-20


class Near(NamedTuple):
    """Values by unit and number, and how far they may be off."""

    values: Floats
    errors: Floats


class FloatLayer(NamedTuple):
    """Parameters of a layer, each within 2^-52 of the exact one, or far below all that counts."""

    weights: Floats
    biases: Floats
    activation: Activation

    @classmethod
    def of(cls, layer: IntegerLayer) -> FloatLayer:
        """Return a layer in floats."""
        with np.errstate(all="ignore"):
            weights = np.ldexp(_floats(layer.weights), -layer.weight_scale)
            return cls(weights, np.ldexp(_floats(layer.biases), -layer.bias_scale), layer.activation)


def _floats(integers: NDArray[np.object_]) -> Floats:
    try:
        return integers.astype(np.float64)
    except OverflowError:  # infinite ones leave every sign open
        return np.full(integers.shape, np.inf)


def near_values(layers: Sequence[FloatLayer], skips: Mapping[int, int], at: Sequence[Rational]) -> Near | None:
    """Return the units of the last layer at some numbers, before its activation; None where floats do not reach."""
    points = np.array([[nearest_float(one) for one in at]])
    here = Near(points, np.abs(points) * 2.0**-52 + _TINY)
    outputs = [here]
    with np.errstate(all="ignore"):
        for number, layer in enumerate(layers, start=1):
            here = _layer(layer, here)
            if not (np.abs(here.values) + here.errors < _LARGE).all():
                return None
            if number < len(layers):
                here = _activated(layer.activation, here)
                if number in skips:
                    here = _sum(here, outputs[skips[number]])
            outputs.append(here)
    return here


def _layer(layer: FloatLayer, inputs: Near) -> Near:
    weights, biases = layer.weights, layer.biases
    # A sum of products is at most the sum of the weights' sizes times the largest of the others.
    size = np.abs(weights).sum(axis=1)[:, None]
    off = inputs.errors.max(axis=0)
    total = size * (np.abs(inputs.values).max(axis=0) + off) + np.abs(biases)[:, None]
    errors = (size * off + (weights.shape[1] + 8) * 2.0**-52 * total) * _OUTWARD + _TINY
    return Near(product(weights, inputs.values) + biases[:, None], errors)


def _activated(activation: Activation, inputs: Near) -> Near:
    if activation.is_identity:
        return inputs
    values, units = inputs.values, len(inputs.values)
    slopes, offsets = (
        np.broadcast_to(activation.slopes, (len(activation.slopes), units))[:, :, None],
        activation.offsets,
    )
    steepest = np.abs(slopes).max(axis=0)
    scaled, shift = slopes[0] * values, np.full((1, 1), offsets[0])
    for zone, threshold in enumerate(activation.thresholds, start=1):
        is_beyond = values >= threshold
        scaled = np.where(is_beyond, slopes[zone] * values, scaled)
        shift = np.where(is_beyond, offsets[zone], shift) if offsets.any() else shift
    errors = (steepest * inputs.errors + (np.abs(scaled) + np.abs(shift)) * 2.0**-51) * _OUTWARD + _TINY
    return Near(scaled + shift, errors)


def _sum(one: Near, other: Near) -> Near:
    values = one.values + other.values
    return Near(values, (one.errors + other.errors + np.abs(values) * 2.0**-52) * _OUTWARD + _TINY)
