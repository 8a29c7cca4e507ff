"""A shape as verifiers want it: layers of float64 arrays, with the exact function they stand for.

In: a shape built from a network, and the factors that make one number of its outputs. Out: `Layers`, of one input and
one output. Guaranteed: every entry is a float64 at its exact value, so that `Layers.at` is the exact function, and the
piecewise-linear function that a verifier is asked about is the one that is explained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from suffice.errors import VerifierError
from suffice.numbers.exact import Rational, nearest_float
from suffice.shapes import Activation, Readout, ReluNetwork, Shape
from suffice.shapes.parameters import as_integers, rounded_exp
from suffice.shapes.shape import Rescaled, Scaled

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Layers:
    """Network of one input and one output; layer `k` is `activations[k](weights[k] · h + biases[k])`.

    Parameters
    ----------
    weights, biases : tuple of float64 arrays
        In PyTorch's layout `(units out, units in)`.
    activations : tuple of Activation
        One for each layer; the last is the identity.
    skips : mapping of int to int
        `{to: source}` adds the output of layer `source` (0 is the input) to that of layer `to`.
    """

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    activations: tuple[Activation, ...]
    skips: Mapping[int, int]

    @property
    def is_relu(self) -> bool:
        """Whether every layer but the last is followed by max(z, 0), without skips: what most verifiers take."""
        return not self.skips and all(one.name == "relu" for one in self.activations[:-1])

    def at(self, point: Rational) -> Rational:
        """Return the exact value at a number, in integers over a common denominator."""
        outputs = [([fmpz(point.p)], fmpz(point.q))]
        for number, layer in enumerate(self._integers, start=1):
            outputs.append(layer.apply(*outputs[-1]))
            if number in self.skips:
                outputs[-1] = _add(outputs[-1], outputs[self.skips[number]])
        (numerator,), denominator = outputs[-1]
        return fmpq(numerator, denominator)

    def near(self, points: Floats) -> Floats:
        """Return float64 values at many numbers: to guess with, never to decide."""
        outputs = [points[None, :]]
        for number, (weight, bias, activation) in enumerate(
            zip(self.weights, self.biases, self.activations, strict=True), start=1
        ):
            outputs.append(activate(activation, weight @ outputs[-1] + bias[:, None]))
            if number in self.skips:
                outputs[-1] = outputs[-1] + outputs[self.skips[number]]
        return np.asarray(outputs[-1][0])

    @cached_property
    def _integers(self) -> list[_IntegerLayer]:
        return [_IntegerLayer(*each) for each in zip(self.weights, self.biases, self.activations, strict=True)]


class _IntegerLayer:
    """One layer on vectors of integers over a common denominator."""

    def __init__(self, weight: Floats, bias: Floats, activation: Activation) -> None:
        whole, self.scale = as_integers(weight)
        offset, self.bias_scale = as_integers(bias)
        self.matrix = fmpz_mat(weight.shape[0], weight.shape[1], [fmpz(w) for w in whole.ravel().tolist()])
        self.bias = [fmpz(b) for b in offset.tolist()]
        self.activation = activation

    def apply(self, numerators: list[fmpz], denominator: fmpz) -> tuple[list[fmpz], fmpz]:
        finer = max(self.scale, self.bias_scale)
        product = (self.matrix * fmpz_mat(len(numerators), 1, numerators)).entries()
        sums = [(z << (finer - self.scale)) + (b << (finer - self.bias_scale)) * denominator
                for z, b in zip(product, self.bias, strict=True)]  # fmt: skip
        denominator = denominator << finer
        if self.activation.is_identity:
            return sums, denominator
        if self.activation.name == "relu":
            return [z if z > 0 else fmpz(0) for z in sums], denominator
        return self._general(sums, denominator)

    def _general(self, sums: list[fmpz], denominator: fmpz) -> tuple[list[fmpz], fmpz]:
        activation = self.activation
        slopes, slope_scale = as_integers(np.broadcast_to(activation.slopes, (len(activation.slopes), len(sums))))
        offsets, offset_scale = as_integers(activation.offsets)
        scale = max(slope_scale, offset_scale)
        thresholds = [fmpq(*threshold.as_integer_ratio()) for threshold in activation.thresholds]
        results = []
        for unit, z in enumerate(sums):
            zone = sum(fmpq(z, denominator) > threshold for threshold in thresholds)
            steep = fmpz(slopes[zone, unit]) << (scale - slope_scale)
            results.append(steep * z + (fmpz(offsets[zone]) << (scale - offset_scale)) * denominator)
        return results, denominator << scale


def _add(one: tuple[list[fmpz], fmpz], other: tuple[list[fmpz], fmpz]) -> tuple[list[fmpz], fmpz]:
    (left, p), (right, q) = one, other
    return [a * q + b * p for a, b in zip(left, right, strict=True)], p * q


def activate(activation: Activation, z: Floats) -> Floats:
    """Apply an activation in float64; units are the first axis."""
    if activation.is_identity:
        return z
    if activation.name == "relu":
        return np.maximum(z, 0.0)
    zones = sum((z > threshold).astype(np.int64) for threshold in activation.thresholds)
    slopes = np.broadcast_to(activation.slopes, (len(activation.slopes), z.shape[0]))
    units = np.arange(z.shape[0]).reshape(-1, *([1] * (z.ndim - 1)))
    return np.asarray(slopes[zones, units] * z + activation.offsets[zones])


def layers_of(name: str, shape: Shape, factors: tuple[int, ...]) -> Layers:
    """Return `Σ_j factors[j] · shape_j` as layers.

    Raises
    ------
    VerifierError
        If the shape is no single network: verifiers of networks cannot be asked about it.
    """
    network, mixes = _unwrap(name, shape)
    weights, biases = [], []
    for weight, bias in zip(network.weights, network.biases, strict=True):
        weights.append(weight.astype(np.float64))
        biases.append(np.zeros(len(weight)) if bias is None else bias.astype(np.float64))
    activations = [*network.activations, Activation.identity()]
    skips = dict(network.skips)
    if network.exu:  # exp(w) · (x - b): subtract b, then scale, each exact
        steep = rounded_exp(network.weights[0]).astype(np.float64)[:, 0]
        weights[:1] = [np.ones((len(steep), 1)), np.diag(steep)]
        biases[:1] = [-np.broadcast_to(biases[0], steep.shape), np.zeros(len(steep))]
        activations.insert(0, Activation.identity())
        skips = {to + 1: source + (source > 0) for to, source in skips.items()}
    last = len(weights)
    for mix in [*mixes, np.array([factors], dtype=np.float64)]:
        if last not in skips and len(weights) == last and _is_signs(mix):
            weights[-1], biases[-1] = mix @ weights[-1], mix @ biases[-1]  # a sign flip, exact
        else:
            weights.append(mix)
            biases.append(np.zeros(len(mix)))
            activations.append(Activation.identity())
    return Layers(tuple(weights), tuple(biases), tuple(activations), skips)


def _is_signs(mix: Floats) -> bool:
    return mix.shape == (1, 1) and abs(mix[0, 0]) == 1


def _unwrap(name: str, shape: Shape) -> tuple[ReluNetwork, list[Floats]]:
    """Return the network inside a shape, and the linear maps applied to its outputs."""
    if isinstance(shape, ReluNetwork):
        return shape, []
    if isinstance(shape, Readout):
        return shape.basis, [shape.weights.astype(np.float64)]
    if isinstance(shape, Scaled):
        network, mixes = _unwrap(name, shape.shape)
        factor = nearest_float(shape.factor)
        if math.isfinite(factor) and fmpq(*factor.as_integer_ratio()) == shape.factor:
            return network, [*mixes, factor * np.eye(shape.outputs)]
    raise VerifierError(
        f"the shape of {name!r} is a {type(shape).__name__}, not a single network; ask the exact verifier about it"
    )


def without_scaling(shape: Shape, center: Rational, scale: Rational) -> tuple[Shape, Rational, Rational]:
    """Return a shape freed of affine changes of its input, and the center and scale that stand for them."""
    while isinstance(shape, Rescaled):  # x -> shape(((x - center) / scale - c) / s)
        center, scale, shape = center + shape.center * scale, scale * shape.scale, shape.shape
    return shape, center, scale
