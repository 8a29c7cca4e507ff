"""How far a forward pass in floats can be from the exact model: a rigorous bound over a region.

In: a model, a region, and the float type of the deployed forward pass. Out: for each score a bound on the difference.
The deployed pass rounds its input and parameters to the type, takes the center off the input and divides by the scale
(or multiplies by its reciprocal), runs each layer and sums the features' parts, each sum in any order (with or without
fused multiply-add), in IEEE arithmetic with gradual underflow.

The model of an operation. With `u` half the distance from 1 to the next float and `s` the smallest float above 0, every
product, quotient and conversion is `fl(a) = a(1 + d) + e` with `|d| ≤ u`, `|e| ≤ s/2`, unless it overflows; a sum or a
difference of floats has `e = 0`, for where it is tiny it is exact (Higham, *Accuracy and Stability of Numerical
Algorithms*, sections 2.1 and 3.1). Each function below says how its bound follows. Where a number on the way could
overflow, or a scale is too small to divide by, there is no bound and the question is refused.

Sums. Of terms `t_k`, let `P` be the sum of the positive ones and `N` that of the others, without sign. In any order,
every partial sum of the terms is in `[-N, P]`, so with `M = max(P, N)` an addition is off by at most `u(M + E)` if all
of them together are off by `E`. So `E ≤ m·u(M + E)` for `m` additions, `E ≤ m·u·M / (1 - m·u)`. Adding a zero does not
round: `m` is one less than the number of terms that are not 0.

Where the input of a shape is in an interval, it is cut into cells, and each cell is bounded for itself: what a unit can
be is then close to what it is, and units that are off stay out.

Bounds are sums and products of numbers that are not negative, computed in float64 and then made larger by more than
float64 can be off: relatively by `_GROW`, and where float64 itself underflows by some of the type's smallest floats.
"""

from __future__ import annotations

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
_CELLS = 64  # into which an interval is cut


class _Type(NamedTuple):
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
        # It may become a float64 first, which rounds twice: `_GROW`, and two halves of the smallest.
        return 0.0 if self.holds(value) else (self.near(value) * self.unit + self.smallest) * _GROW

    def near(self, value: Rational) -> float:
        """Return a bound on the absolute value of a number, which must be well within the type."""
        size = abs(nearest_float(value))
        if not size < self.largest:
            raise self.overflow()
        return (size + self.smallest if value else 0.0) * _GROW

    def offs(self, values: Floats) -> Floats:
        """Return exactly how far each of some float64 is from the float it becomes."""
        if values.size and not np.abs(values).max() < self.largest:
            raise self.overflow()
        return np.abs(values - values.astype(self.dtype).astype(np.float64))  # the rounded-off bits are a float64

    def adding(self, terms: Floats, most: Floats) -> Floats:
        """Return how far sums of so many terms can be off, whose partial sums are at most so large."""
        assert not terms.size or terms.max() < _WIDEST
        steps = np.maximum(terms - 1, 0) * self.unit
        return steps / (1 - steps) * most * _GROW

    def overflow(self) -> ClaimError:
        """Return the error of a number that may be too large."""
        return ClaimError(f"{self.name} may overflow within this region; make the region smaller")


_TYPES = {
    "float32": _Type("float32", np.float32, 2.0**-24, 2.0**-149, 2.0**127),
    "float64": _Type("float64", np.float64, 2.0**-53, 2.0**-1074, 2.0**1023),
}


@dataclass(frozen=True, slots=True)
class _Range:
    """Where some exact numbers lie and how far the computed ones can be from them, by number and cell."""

    low: Floats
    high: Floats
    error: Floats

    @property
    def below(self) -> Floats:
        """How far computed numbers can be below 0."""
        return np.maximum(self.error - self.low, 0) * _GROW

    @property
    def above(self) -> Floats:
        """How far computed numbers can be above 0."""
        return np.maximum(self.error + self.high, 0) * _GROW

    @property
    def size(self) -> Floats:
        """A bound on the absolute values of computed numbers."""
        return np.maximum(self.below, self.above)


def rounding_errors(model: AdditiveModel, region: Sequence[Domain], arithmetic: str) -> tuple[Rational, ...]:
    """Return for each score how far its computed value can be from the exact one, anywhere in the region.

    Raises
    ------
    ClaimError
        If a shape is not computed by a network or a table, so that rounding is not small, or if floats overflow.
    """
    kind = _TYPES[arithmetic]
    model.refuse_pairs(f"arithmetic={arithmetic!r}", ClaimError)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        parts = [
            _anywhere(_over_region(kind, feature, term.shape, reach))
            for feature, term, reach in zip(model.features, model.mains, region, strict=True)
        ]
        every = _total(kind, [_entry(kind, model.intercept), *parts]).error[:, 0] * _GROW
    return tuple(rational(float(error)) for error in every)


def _anywhere(part: _Range) -> _Range:
    """Return one cell for all."""
    low, high, error = part.low.min(axis=1), part.high.max(axis=1), part.error.max(axis=1)
    return _Range(low[:, np.newaxis], high[:, np.newaxis], error[:, np.newaxis])


def _over_region(kind: _Type, feature: Feature, shape: Shape, region: Domain) -> _Range:
    """Return the range of a feature's part over its region."""
    found = []
    for value in (*region.categories_, *region.codes_):
        found.append(
            _over_span(kind, feature, shape, Span(value, value)) if isinstance(value, fmpq) else _at(kind, shape, value)
        )
    found += [_over_span(kind, feature, shape, span) for span in region.spans]
    return _Range(*(np.concatenate([getattr(one, name) for one in found], axis=1) for name in ("low", "high", "error")))


def _over_span(kind: _Type, feature: Feature, shape: Shape, span: Span) -> _Range:
    """Return the range of a feature's part over a span of numbers, which the deployed model rounds and scales."""
    if span.low is None or span.high is None:
        raise ClaimError(f"the region of {feature.name!r} is unbounded, so rounding has no bound; give a finite radius")
    size = max(kind.near(span.low), kind.near(span.high))
    if span.low == span.high:
        error = kind.off(span.low)
    else:  # integers that are not too large are floats
        error = 0.0 if span.is_integers and size <= 1 / kind.unit else (size * kind.unit + kind.smallest) * _GROW
    first, last = span.low, span.high
    if (feature.center, feature.scale) != (ZERO, ONE):
        farthest = max(kind.near(end - feature.center) for end in (first, last))
        error = float(_scaling(kind, feature.name, feature.center, feature.scale, np.array(farthest), np.array(error)))
        first, last = sorted((end - feature.center) / feature.scale for end in (first, last))
    low, high = _cells(kind, first, last)
    return _shape(kind, feature.name, shape, _checked(kind, _Range(low, high, np.full(low.shape, error))))


def _cells(kind: _Type, low: Rational, high: Rational) -> tuple[Floats, Floats]:
    """Return cells that cover an interval."""
    sizes = kind.near(low) + kind.near(high)
    first, last = nearest_float(low), nearest_float(high)
    if low == high and rational(first) == low:
        return np.full((1, 1), first), np.full((1, 1), first)
    places = np.linspace(first, last, (1 if low == high else _CELLS) + 1)[np.newaxis]
    wider = sizes * 2.0**-48 + 4 * kind.smallest  # more than the places are off
    return places[:, :-1] - wider, places[:, 1:] + wider


def _scaling(kind: _Type, name: str, center: Rational, scale: Rational, farthest: Floats, error: Floats) -> Floats:
    """Return how far `(x - center) / scale` is off, where `x` is off by `error` and `|x - center|` up to `farthest`.

    The difference: `x` and the center are off, their difference once more by `u`. The quotient: the scale is off
    relatively by `r`, dividing costs one factor `1 + d`, multiplying by the rounded reciprocal two, and the reciprocal
    may underflow (by `s/2`, which the difference multiplies), as may the result.
    """
    kind.near(scale)  # refuses one that is too large
    inverse = abs(nearest_float(1 / scale))
    if not inverse * _GROW < kind.largest:
        raise ClaimError(f"{kind.name} cannot divide by the scale of {name!r}, which is too small for it")
    u = kind.unit
    relative = kind.off(scale) * inverse * _GROW
    assert relative < 0.5, "a normal number is off by a factor 1 + d"
    factor = (2 * u + u * u + relative) / (1 - relative) * _GROW  # (1 + u)² / (1 - r) - 1
    difference = ((error + kind.off(center)) * (1 + u) + u * farthest) * _GROW
    if not (farthest + difference + kind.near(center)).max() < kind.largest:
        raise kind.overflow()
    quotient = (difference * (1 + factor) + farthest * factor) * inverse
    result: Floats = (quotient + kind.smallest * (farthest + difference) + 8 * kind.smallest) * _GROW
    return result


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
    """Return the range of numbers that are written down."""
    error = np.array([[kind.off(value)] for value in entry])
    exact = np.array([[nearest_float(value)] for value in entry])
    wider = np.array([[kind.near(value)] for value in entry]) * 2.0**-50
    return _checked(kind, _Range(exact - wider, exact + wider, error))


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
            return _shape(kind, name, shape.shape, _rescaled(kind, name, shape, z))
        case Table() if (key := _key(z)) is not None and [key] == _keys(kind, z, shape.points):
            return _entry(kind, shape.points[key])
        case Table() if shape.otherwise is not None and not _keys(kind, z, shape.points):
            return _shape(kind, name, shape.otherwise, z)
        case _:
            raise ClaimError(
                f"the shape of {name!r} jumps or is not a network, so a rounded input can change it a lot; "
                "only networks can be asked about with arithmetic 'float32' or 'float64'"
            )


def _key(z: _Range) -> Rational | None:
    """Return the one number that an input is, if it is known exactly."""
    is_exact = z.low.size == 1 and not z.error.any() and z.low[0, 0] == z.high[0, 0]
    return rational(float(z.low[0, 0])) if is_exact else None


def _keys(kind: _Type, z: _Range, points: Any) -> list[Rational]:
    """Return the keys of a table that a computed input may be equal to, once they are rounded."""
    low, high = float((z.low - z.error).min()), float((z.high + z.error).max())
    near = [(point, nearest_float(point), abs(nearest_float(point)) * kind.unit + kind.smallest) for point in points]
    return [point for point, at, off in near if low <= at + 2 * off and at - 2 * off <= high]


def _rescaled(kind: _Type, name: str, shape: Rescaled, x: _Range) -> _Range:
    """Return the range of the scaled input; see `_scaling`."""
    center, inverse = nearest_float(shape.center), nearest_float(1 / shape.scale)
    wider = (np.abs(x.low) + np.abs(x.high) + kind.near(shape.center)) * 2.0**-48 + 4 * kind.smallest
    low, high = x.low - center - wider, x.high - center + wider
    farthest = np.maximum(np.abs(low), np.abs(high)) * _GROW
    error = _scaling(kind, name, shape.center, shape.scale, farthest, x.error)
    ends = low * inverse, high * inverse
    slack = farthest * abs(inverse) * 2.0**-48 + 4 * kind.smallest
    return _checked(kind, _Range(np.minimum(*ends) - slack, np.maximum(*ends) + slack, error))


def _multiple(kind: _Type, shape: Scaled, inner: _Range) -> _Range:
    """Return the range of a multiple: the factor is off, and the product rounds and may underflow."""
    size, off, near = kind.near(shape.factor), kind.off(shape.factor), nearest_float(shape.factor)
    product = 0.0 if abs(shape.factor) == 1 else kind.unit * (size + off)
    error = size * inner.error + (off + product) * inner.size + 8 * kind.smallest
    ends = near * inner.low, near * inner.high
    slack = size * inner.size * 2.0**-48 + 4 * kind.smallest
    return _checked(kind, _Range(np.minimum(*ends) - slack, np.maximum(*ends) + slack, error * _GROW))


def _network(kind: _Type, network: ReluNetwork, z: _Range) -> _Range:
    outputs = [z]
    activations = (*network.activations, Activation.identity())
    for k, (weight, bias, activation) in enumerate(zip(network.weights, network.biases, activations, strict=True)):
        if network.exu and k == 0:
            layer = _exponential(kind, weight, bias, z)
        else:
            layer = _layer(kind, weight, bias, outputs[-1])
        after = _activated(kind, activation, layer)
        if k + 1 in network.skips:
            after = _total(kind, [after, outputs[network.skips[k + 1]]])
        outputs.append(after)
    return outputs[-1]


def _exponential(kind: _Type, weight: NDArray[Any], bias: NDArray[Any] | None, x: _Range) -> _Range:
    """Return the range of `exp(weight) · (x - bias)`, computed as it stands or multiplied out.

    The exponential of the exact model is rounded to the type of the weights. The computed one may be off by some units
    in the last place (of the smallest floats, where it is tiny), and by what its rounded exponent makes of it.
    """
    exponent = weight[:, :1].astype(np.float64)
    grown = rounded_exp(weight)[:, :1].astype(np.float64)
    shift = np.zeros((1, 1)) if bias is None else bias.astype(np.float64).reshape(-1, 1)
    true = grown if weight.dtype == np.float64 else rounded_exp(weight.astype(np.float64))[:, :1]
    own = np.abs(grown - true) + true * 2.0**-51 + 2.0**-1073  # what the type of the weights makes of it
    moved, u = kind.offs(exponent), kind.unit
    off = ((16 * u + np.expm1(2 * moved)) * np.maximum(grown, true) * (1 + 2.0**-8) + own + 8 * kind.smallest) * _GROW
    size = (x.size + np.abs(shift) + kind.offs(shift)) * _GROW
    # Two products and a difference, or a difference and a product: no more than four factors 1 + d.
    error = off * size + grown * (x.error + kind.offs(shift)) + 5 * u * (grown + off) * size
    most = (grown + off) * size * 2
    ends = grown * (x.low - shift), grown * (x.high - shift)
    slack = most * 2.0**-48 + 4 * kind.smallest
    found = _Range(ends[0] - slack, ends[1] + slack, (error + 16 * kind.smallest) * _GROW)
    return _checked(kind, found, most, np.exp(np.abs(moved)) * (grown + off) * 2)


def _layer(kind: _Type, weight: NDArray[Any], bias: NDArray[Any] | None, h: _Range) -> _Range:
    """Return the range of `weight · h + bias`.

    A product of a weight off by `e` and an input off by `f` is off by `|w|f + e|h|`, rounds by `u|w||h|` and underflows
    by at most `s/2`; a fused one does so when it is added. Then all are summed: see the top.
    """
    w = weight.astype(np.float64)
    b = np.zeros((len(w), 1)) if bias is None else bias.astype(np.float64)[:, np.newaxis]
    width, above, below = w.shape[1], np.maximum(w, 0), np.maximum(-w, 0)
    off, u, tiny = kind.offs(w), kind.unit, kind.smallest
    high_w, low_w = above + off * (w > 0), below + off * (w < 0)  # a weight and its float have the same sign, or are 0
    high, low = h.above, h.below
    positive = high_w @ high + low_w @ low + np.maximum(b, 0)
    negative = high_w @ low + low_w @ high + np.maximum(-b, 0)
    sizes = (high_w + low_w) @ h.size
    terms = (w != 0).astype(np.float64) @ (h.size > 0).astype(np.float64) + (b != 0)
    under = (4 * width + 16) * tiny
    most = np.maximum(positive, negative) * (1 + 2 * u) * _GROW + under + kind.offs(b)
    error = np.abs(w) @ h.error + off @ h.size + kind.offs(b) + u * sizes + kind.adding(terms, most)
    slack = (sizes + np.abs(b)) * 2.0**-30 + under
    found = _Range(
        above @ h.low - below @ h.high + b - slack,
        above @ h.high - below @ h.low + b + slack,
        error * _GROW + under,
    )
    return _checked(kind, found, sizes + np.abs(b))


def _checked(kind: _Type, found: _Range, *sizes: Floats) -> _Range:
    """Return a range, having made sure that nothing in it, nor on the way to it, overflows."""
    for size in (np.abs(found.low) + found.error, np.abs(found.high) + found.error, *sizes):
        if size.size and not size.max() < kind.largest:
            raise kind.overflow()
    return found


def _activated(kind: _Type, activation: Activation, y: _Range) -> _Range:
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
    lowest, highest = y.low - y.error * _GROW, y.high + y.error * _GROW
    leap = np.abs(np.diff(slopes, axis=0)).sum(axis=0)[:, np.newaxis] * moved.sum()
    leap = leap + 4 * kind.smallest if moved.any() else leap
    error, most, steepest = np.zeros(y.low.shape), np.zeros(y.low.shape), np.zeros(y.low.shape)
    for q, (slope, offset) in enumerate(zip(slopes, offsets, strict=True)):
        is_met = np.ones(y.low.shape, dtype=bool)
        if q > 0:
            is_met &= highest >= thresholds[q - 1] - moved[q - 1] * _GROW
        if q < len(thresholds):
            is_met &= lowest <= thresholds[q] + moved[q] * _GROW
        column = np.abs(slope)[:, np.newaxis]
        multiplies = ~np.isin(column, (0.0, 1.0))
        value = column * size * is_met
        slanted = slope_off[q][:, np.newaxis] * size
        own = multiplies * (slanted + u * (value + slanted) + 8 * kind.smallest)
        if offset:
            own = own + offset_off[q] + (column != 0) * u * (value + own + abs(offset) + offset_off[q])
        error = np.maximum(error, (own + leap) * is_met * _GROW)
        most = np.maximum(most, value + abs(offset))
        steepest = np.maximum(steepest, column * is_met)
    points = [y.low, y.high, *(np.clip(threshold, y.low, y.high) for threshold in thresholds)]
    values = [_apply(slopes, offsets, thresholds, point) for point in points]
    is_product = ~np.isin(np.abs(slopes), (0.0, 1.0))
    rounds = is_product.any(axis=0, keepdims=True).T | bool(offsets.any())
    slack = most * 2.0**-48 + rounds * 4 * kind.smallest
    found = _Range(np.min(values, axis=0) - slack, np.max(values, axis=0) + slack, (steepest * y.error + error) * _GROW)
    return _checked(kind, found, most)


def _apply(slopes: Floats, offsets: Floats, thresholds: Floats, y: Floats) -> Floats:
    """Return the exact activation, but for the rounding of float64."""
    zone = np.searchsorted(thresholds, y)
    result: Floats = slopes[zone, np.arange(len(y))[:, np.newaxis]] * y + offsets[zone]
    return result


def _total(kind: _Type, parts: Sequence[_Range]) -> _Range:
    """Return the range of a sum of computed numbers: their errors, and those of summing them."""
    above, below = np.sum([part.above for part in parts], axis=0), np.sum([part.below for part in parts], axis=0)
    terms: Floats = np.sum([part.size > 0 for part in parts], axis=0, dtype=np.float64)
    error = np.sum([part.error for part in parts], axis=0) + kind.adding(terms, np.maximum(above, below) * _GROW)
    slack = (above + below) * 2.0**-30 + 4 * kind.smallest
    low, high = np.sum([part.low for part in parts], axis=0), np.sum([part.high for part in parts], axis=0)
    return _checked(kind, _Range(low - slack, high + slack, error * _GROW + 4 * kind.smallest), above, below)
