"""A shape as verifiers want it: layers of float64 arrays, with the exact function they stand for.

In: a shape built from networks, and the factors that make one number of its outputs. Out: `Layers`, of one input and
one output; the members of an ensemble are blocks of one network. Guaranteed: every entry is a float64 at its exact
value, so that `Layers.at` is the exact function, and the piecewise-linear function that a verifier is asked about is
the one that is explained.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray
from scipy.linalg import block_diag

from suffice.errors import VerifierError
from suffice.numbers.exact import ONE, Rational, nearest_float
from suffice.numbers.values import Value
from suffice.shapes import Activation, Readout, ReluNetwork, Shape, Table
from suffice.shapes.parameters import as_integers, rounded_exp
from suffice.shapes.shape import Rescaled, Scaled, Sum

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

    @cached_property
    def fused(self) -> Layers:
        """The network with neighbouring linear layers multiplied into one: rounded, for verifiers that round anyway."""
        weights, biases, activations = list(self.weights), list(self.biases), list(self.activations)
        for k in reversed(range(len(weights) - 1)):
            if not self.skips and activations[k].is_identity:
                following, offset = weights.pop(k + 1), biases.pop(k + 1)
                weights[k], biases[k] = following @ weights[k], following @ biases[k] + offset
                del activations[k]
        return Layers(tuple(weights), tuple(biases), tuple(activations), self.skips)

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
    """Return `Σ_j factors[j] · shape_j` as layers, for every input without a value of its own in a table.

    Raises
    ------
    VerifierError
        If the shape is no network or sum of alike ones, or a factor is no float (see `multiplier_of`): verifiers of
        networks cannot be asked about it.
    """
    members = list(_members(name, shape, ONE))
    bodies = _side_by_side(name, [_body(network, readout) for network, readout, _ in members])
    row = np.array([[_float(name, factor * f) for _, _, factor in members for f in factors]])
    if row.shape == (1, 1) and abs(row[0, 0]) == 1 and len(bodies.weights) not in bodies.skips:  # a sign flip, exact
        weights, biases = (
            (*bodies.weights[:-1], row @ bodies.weights[-1]),
            (*bodies.biases[:-1], row @ bodies.biases[-1]),
        )
        return Layers(weights, biases, bodies.activations, bodies.skips)
    activations = (*bodies.activations, Activation.identity())
    return Layers((*bodies.weights, row), (*bodies.biases, np.zeros(1)), activations, bodies.skips)


def multiplier_of(shape: Shape) -> int:
    """Return the least whole number by which factors inside the shape become floats: 3 for a mean of three networks."""
    try:
        factors = [factor for _, _, factor in _members("", shape, ONE)]
    except VerifierError:
        return 1
    odd = [int(factor.q) // (int(factor.q) & -int(factor.q)) for factor in factors]
    return math.lcm(*odd)


def own_values(shape: Shape) -> Mapping[Value, tuple[Rational, ...]]:
    """Return the values of the input at which a table stands in for the network, and the outputs there."""
    if isinstance(shape, Table):
        found = dict({} if shape.otherwise is None else own_values(shape.otherwise))
        found.update(shape.points.items())
        found.update(shape.labels.items())
        return found
    if isinstance(shape, Scaled):
        return {key: tuple(shape.factor * v for v in row) for key, row in own_values(shape.shape).items()}
    return {}


def _members(name: str, shape: Shape, factor: Rational) -> Iterator[tuple[ReluNetwork, Floats | None, Rational]]:
    """Return the networks that a shape is a sum of: what is read from each, and what it is multiplied by."""
    if isinstance(shape, ReluNetwork):
        yield shape, None, factor
    elif isinstance(shape, Readout):
        yield shape.basis, shape.weights.astype(np.float64), factor
    elif isinstance(shape, Scaled):
        yield from _members(name, shape.shape, factor * shape.factor)
    elif isinstance(shape, Table) and shape.otherwise is not None:
        yield from _members(name, shape.otherwise, factor)
    elif isinstance(shape, Sum) and not any(own_values(part) for part in shape.parts):
        for part in shape.parts:
            yield from _members(name, part, factor)
    else:
        raise VerifierError(
            f"the shape of {name!r} is a {type(shape).__name__}, not a network; ask the exact verifier about it"
        )


def _body(network: ReluNetwork, readout: Floats | None) -> Layers:
    """Return a network with all its outputs, and what is read from them."""
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
    if readout is not None:
        weights.append(readout)
        biases.append(np.zeros(len(readout)))
        activations.append(Activation.identity())
    return Layers(tuple(weights), tuple(biases), tuple(activations), skips)


def _side_by_side(name: str, networks: Sequence[Layers]) -> Layers:
    """Return networks of the same input as one, with the outputs of all: a block for each in every layer."""
    first = networks[0]
    if len(networks) == 1:
        return first
    if any(one.skips or not _are_alike(one.activations, first.activations) for one in networks):
        raise VerifierError(
            f"the shape of {name!r} is a sum of networks that differ in depth or units, or skip layers; ask the exact "
            "verifier about it"
        )
    layers = list(zip(*(one.weights for one in networks), strict=True))
    weights = (np.vstack(layers[0]), *(block_diag(*matrices) for matrices in layers[1:]))
    biases = tuple(np.concatenate(offsets) for offsets in zip(*(one.biases for one in networks), strict=True))
    return Layers(weights, biases, first.activations, {})


def _are_alike(one: Sequence[Activation], other: Sequence[Activation]) -> bool:
    """Whether two networks have the same units layer by layer, the same for all units of a layer."""
    return len(one) == len(other) and all(
        a.slopes.shape[1] == 1 and (a.name, a.thresholds, *a.slopes[:, 0]) == (b.name, b.thresholds, *b.slopes[:, 0])
        for a, b in zip(one, other, strict=True)
    )


def _float(name: str, factor: Rational) -> float:
    near = nearest_float(factor)
    if math.isfinite(near) and fmpq(*near.as_integer_ratio()) == factor:
        return near
    raise VerifierError(f"the shape of {name!r} is multiplied by {factor}, which is no float; ask the exact verifier")


def without_scaling(shape: Shape, center: Rational, scale: Rational) -> tuple[Shape, Rational, Rational]:
    """Return a shape freed of affine changes of its input, and the center and scale that stand for them."""
    while isinstance(shape, Rescaled):  # x -> shape(((x - center) / scale - c) / s)
        center, scale, shape = center + shape.center * scale, scale * shape.scale, shape.shape
    return shape, center, scale
