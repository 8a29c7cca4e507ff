"""How far a deployed model, computed in floats, can be from the exact one: a rigorous bound over a region.

In: a model, a region, and the float type of the deployed forward pass. Out: for each score a bound on the difference.
The deployed pass rounds its input and parameters to the type, scales the input, runs each layer and sums the features'
parts, each sum in any order (with or without fused multiply-add). With `u` half the distance from 1 to the next float,
a sum of `n` products is then off by at most `γ_n Σ|w||h|`, where `γ_n = n·u / (1 − n·u)` (Higham, *Accuracy and
Stability of Numerical Algorithms*, section 3.1), and by the smallest float for each operation that underflows.

Bounds are sums and products of numbers that are not negative, computed in float64 and then made larger by more than
float64 can be off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.errors import ClaimError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import Label
from suffice.shapes import ReluNetwork, Shape, Table
from suffice.shapes.activations import Activation
from suffice.shapes.network import Readout
from suffice.shapes.parameters import rounded_exp
from suffice.shapes.shape import Rescaled, Scaled, Sum

Floats: TypeAlias = NDArray[np.float64]

_GROW = 1 + 2.0**-30  # more than float64 loses in any sum here
_WIDEST = 2**20  # terms of one sum, so that the line above is true


class _Type(NamedTuple):
    """A float type: half the distance from 1 to the next float, the smallest float, the largest."""

    name: str
    unit: float
    smallest: float
    largest: float

    def holds(self, value: Rational) -> bool:
        """Whether a number is a float of this type."""
        near = nearest_float(value)
        is_double = math.isfinite(near) and rational(near) == value
        return is_double and (self.name == "float64" or (abs(near) < self.largest and float(np.float32(near)) == near))

    def gamma(self, count: int) -> float:
        assert count < _WIDEST
        return count * self.unit / (1 - count * self.unit) * _GROW


_TYPES = {
    "float32": _Type("float32", 2.0**-24, 2.0**-149, 2.0**127),
    "float64": _Type("float64", 2.0**-53, 2.0**-1074, 2.0**1023),
}


@dataclass(frozen=True, slots=True)
class _Range:
    """Where some exact numbers lie, and how far the computed ones can be from them."""

    low: Floats
    high: Floats
    error: Floats

    @property
    def size(self) -> Floats:
        """A bound on the absolute values, computed ones included."""
        return (np.maximum(np.abs(self.low), np.abs(self.high)) + self.error) * _GROW


def rounding_errors(model: AdditiveModel, region: Sequence[Domain], arithmetic: str) -> tuple[Rational, ...]:
    """Return for each score how far its computed value can be from the exact one, anywhere in the region.

    Raises
    ------
    ClaimError
        If a shape is not computed by a network or a table, so that rounding is not small, or if floats overflow.
    """
    kind = _TYPES[arithmetic]
    parts = [
        _over_region(kind, feature, term.shape, reach)
        for feature, term, reach in zip(model.features, model.terms, region, strict=True)
    ]
    start = np.array([abs(nearest_float(value)) for value in model.intercept])
    sizes = (sum((part.size for part in parts), start)) * _GROW
    errors = sum((part.error for part in parts), np.zeros(len(start)))
    every = (errors + kind.gamma(len(parts) + 2) * sizes + (len(parts) + 2) * kind.smallest) * _GROW
    _checked(kind, -sizes, sizes, every)
    return tuple(rational(float(error)) for error in every)


def _over_region(kind: _Type, feature: Feature, shape: Shape, region: Domain) -> _Range:
    """Return the range of a feature's part over its region."""
    found = []
    for value in (*region.categories_, *region.codes_):
        found.append(
            _over_span(kind, feature, shape, Span(value, value)) if isinstance(value, fmpq) else _at(kind, shape, value)
        )
    found += [_over_span(kind, feature, shape, span) for span in region.spans]
    low, high = np.min([one.low for one in found], axis=0), np.max([one.high for one in found], axis=0)
    return _Range(low, high, np.max([one.error for one in found], axis=0))


def _over_span(kind: _Type, feature: Feature, shape: Shape, span: Span) -> _Range:
    """Return the range of a feature's part over a span of numbers, which the deployed model rounds and scales."""
    if span.low is None or span.high is None:
        raise ClaimError(f"the region of {feature.name!r} is unbounded, so rounding has no bound; give a finite radius")
    is_scaled = (feature.center, feature.scale) != (ZERO, ONE)
    if not is_scaled and span.low == span.high and kind.holds(span.low):
        exact = np.array([nearest_float(span.low)])
        return _shape(kind, feature.name, shape, _Range(exact, exact, np.zeros(1)))
    ends = sorted((end - feature.center) / feature.scale for end in (span.low, span.high))
    low, high = (nearest_float(end) for end in ends)
    size = max(abs(nearest_float(end)) for end in (span.low, span.high))
    error = size * kind.unit
    if is_scaled:
        error = kind.gamma(6) * (size + abs(nearest_float(feature.center))) / abs(nearest_float(feature.scale))
    here = np.array([error + 2.0**-50 * max(abs(low), abs(high)) + 4 * kind.smallest]) * _GROW
    return _shape(kind, feature.name, shape, _checked(kind, np.array([low]) - here, np.array([high]) + here, here))


def _at(kind: _Type, shape: Shape, label: Label) -> _Range:
    """Return the range of a shape at a label, which it looks up."""
    match shape:
        case Table() if label in shape.labels:
            return _entry(kind, shape.labels[label])
        case Table() if shape.otherwise is not None:
            return _at(kind, shape.otherwise, label)
        case Sum():
            return _total(kind, [_at(kind, part, label) for part in shape.parts])
        case Scaled():
            return _multiple(kind, shape, _at(kind, shape.shape, label))
        case Rescaled():
            return _at(kind, shape.shape, label)
        case _:  # no other shape has labels
            raise AssertionError(shape)


def _entry(kind: _Type, entry: Sequence[Rational]) -> _Range:
    exact = np.array([nearest_float(value) for value in entry])
    return _checked(kind, exact, exact, np.abs(exact) * kind.gamma(2) + kind.smallest)


def _shape(kind: _Type, name: str, shape: Shape, z: _Range) -> _Range:
    """Return the range of a shape where its input is in a range."""
    match shape:
        case ReluNetwork():
            return _network(kind, shape, z)
        case Readout():
            return _layer(kind, shape.weights, None, _network(kind, shape.basis, z))
        case Sum():
            return _total(kind, [_shape(kind, name, part, z) for part in shape.parts])
        case Scaled():
            return _multiple(kind, shape, _shape(kind, name, shape.shape, z))
        case Rescaled():
            factor, center = nearest_float(1 / shape.scale), np.array([nearest_float(shape.center)])
            scaled = _layer(kind, np.array([[factor]]), -center * factor, z)
            more = kind.gamma(4) * (z.size + np.abs(center)) * abs(factor) * _GROW
            return _shape(kind, name, shape.shape, _widened(scaled, more))
        case Table() if not z.error.any() and z.low == z.high and rational(z.low[0]) in shape.points:
            return _entry(kind, shape.points[rational(z.low[0])])
        case Table() if shape.otherwise is not None and not _holds(z, shape.points):
            return _shape(kind, name, shape.otherwise, z)
        case _:
            raise ClaimError(
                f"the shape of {name!r} jumps or is not a network, so a rounded input can change it a lot; "
                "only networks can be asked about with arithmetic 'float32' or 'float64'"
            )


def _multiple(kind: _Type, shape: Scaled, inner: _Range) -> _Range:
    return _layer(kind, np.diag(np.full(shape.outputs, nearest_float(shape.factor))), None, inner)


def _holds(z: _Range, points: Any) -> bool:
    return any(z.low[0] <= nearest_float(point) <= z.high[0] for point in points)


def _widened(range_: _Range, more: Floats) -> _Range:
    return _Range(range_.low - more, range_.high + more, range_.error + more)


def _network(kind: _Type, network: ReluNetwork, z: _Range) -> _Range:
    outputs = [z]
    activations = (*network.activations, Activation.identity())
    for k, (weight, bias, activation) in enumerate(zip(network.weights, network.biases, activations, strict=True)):
        if network.exu and k == 0:
            grown = rounded_exp(weight).astype(np.float64)
            shift = np.zeros(len(grown)) if bias is None else np.broadcast_to(bias.astype(np.float64), (len(grown),))
            layer = _layer(kind, grown, -grown[:, 0] * shift, z)
            # The exponential may be off by some units in the last place, and by what its rounded exponent makes of it.
            off = kind.gamma(8) + np.expm1(np.abs(weight[:, 0].astype(np.float64)) * kind.unit * _GROW) * _GROW
            layer = _widened(layer, off * np.abs(grown[:, 0]) * (z.size + np.abs(shift)) * _GROW)
        else:
            layer = _layer(kind, weight, bias, outputs[-1])
        after = _activated(kind, activation, layer)
        if k + 1 in network.skips:
            after = _total(kind, [after, outputs[network.skips[k + 1]]])
        outputs.append(after)
    return outputs[-1]


def _layer(kind: _Type, weight: NDArray[Any], bias: NDArray[Any] | None, h: _Range) -> _Range:
    """Return the range of `weight · h + bias`."""
    w = weight.astype(np.float64)
    b = np.zeros(len(w)) if bias is None else bias.astype(np.float64)
    above, below = np.maximum(w, 0), np.minimum(w, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = above @ h.low + below @ h.high + b, above @ h.high + below @ h.low + b
        sizes = (np.abs(w) @ h.size + np.abs(b)) * _GROW
        slack = sizes * 2.0**-30
        # The parameters may be rounded to the type first: one more factor for each product.
        error = np.abs(w) @ h.error + kind.gamma(w.shape[1] + 3) * sizes + (w.shape[1] + 2) * kind.smallest
    return _checked(kind, low - slack, high + slack, error * _GROW, sizes, np.abs(w))


def _checked(kind: _Type, low: Floats, high: Floats, error: Floats, *sizes: Floats) -> _Range:
    """Return a range, having made sure that nothing in it, nor on the way to it, overflows."""
    for size in (np.abs(low) + error, np.abs(high) + error, *sizes):
        if size.size and not size.max() < kind.largest:
            raise ClaimError(f"{kind.name} may overflow within this region; make the region smaller")
    return _Range(low, high, error)


def _activated(kind: _Type, activation: Activation, y: _Range) -> _Range:
    """Return the range of an activation; on each zone it is affine, so its ends and thresholds tell."""
    points = [y.low, y.high, *(np.clip(threshold, y.low, y.high) for threshold in activation.thresholds)]
    values = [_apply(activation, point) for point in points]
    low, high = np.min(values, axis=0), np.max(values, axis=0)
    steepest = np.abs(activation.slopes).max(axis=0)
    error = steepest * y.error
    if not set(np.abs(activation.slopes).ravel()) <= {0.0, 1.0}:  # a product; a choice or a clip does not round
        error = error + kind.gamma(3) * steepest * y.size
    error = error + np.abs(activation.offsets).max() * kind.unit
    slack = (np.abs(low) + np.abs(high)) * 2.0**-30
    return _Range(low - slack, high + slack, error * _GROW)


def _apply(activation: Activation, y: Floats) -> Floats:
    zone = np.zeros(y.shape, dtype=int)
    for threshold in activation.thresholds:
        zone += y > threshold
    slopes = np.broadcast_to(activation.slopes, (len(activation.slopes), len(y)))
    result: Floats = slopes[zone, np.arange(len(y))] * y + activation.offsets[zone]
    return result


def _total(kind: _Type, parts: Sequence[_Range]) -> _Range:
    sizes = np.sum([part.size for part in parts], axis=0) * _GROW
    error = np.sum([part.error for part in parts], axis=0) + kind.gamma(len(parts)) * sizes + kind.smallest
    low, high = np.sum([part.low for part in parts], axis=0), np.sum([part.high for part in parts], axis=0)
    return _checked(kind, low - sizes * 2.0**-30, high + sizes * 2.0**-30, error * _GROW, sizes)
