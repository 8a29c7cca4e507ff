"""Shapes as a model file describes them (docs/model-file.md)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from suffice_check import shapes, smooth
from suffice_check.curves import EXACT_POWERS
from suffice_check.network import IDENTITY, Activation, Network, read_layer
from suffice_check.ordered import Number
from suffice_check.reading import fields, items, number, value, whole
from suffice_check.shapes import Changed, Shape
from suffice_check.smooth import SmoothShape, activation_formulas
from suffice_check.smooth_functions import Formula, function
from suffice_check.tensors import Tensors

MOST_BITS = 2**17
CHANGES = {"scaled": ["factor"], "rescaled": ["center", "scale"]}


def kind_of(document: Any) -> tuple[Any, dict[str, Any]]:
    """Return the kind of a shape, and its other fields."""
    return document["kind"], {name: content for name, content in document.items() if name != "kind"}


def bits_left(bits: int, numbers: Iterable[Fraction]) -> int:
    """Return how many bits more the numbers of shapes inside others may have."""
    bits -= sum(part.bit_length() for one in numbers for part in one.as_integer_ratio())
    if bits < 0:  # evaluation multiplies them: a few hundred long ones would take hours
        raise ValueError("the numbers of nested scaled and rescaled shapes are too long in total")
    return bits


def read_shape(document: Any, tensors: Tensors, bases: list[Network], bits: int = MOST_BITS) -> Shape:
    """Return a shape that has pieces; `bits` are what numbers of shapes inside others may have in all, at most."""
    found = read_any(document, tensors, bases, bits)
    if isinstance(found, SmoothShape):
        raise TypeError("a smooth shape is not checked here")
    return found


def read_any(document: Any, tensors: Tensors, bases: list[Network], bits: int = MOST_BITS) -> Shape | SmoothShape:
    """Return a shape of any kind."""
    kind, rest = kind_of(document)
    if kind == "network":
        return read_network(document, tensors)
    if kind == "readout":
        basis, weights = fields(rest, "basis", "weights")
        inner = bases[whole(basis, len(bases))]  # with one more linear layer
        return Network([*inner.layers, read_layer(tensors.take(weights), None)], inner.skips)
    if kind == "steps":
        cuts, values, closed = fields(rest, "cuts", "values", "closed")
        return shapes.steps(tensors.row(cuts), tensors.numbers(values), closed)
    if kind == "piecewise_linear":
        knots, values, slopes = fields(rest, "knots", "values", "slopes")
        return shapes.broken_line(tensors.row(knots), tensors.numbers(values), tensors.numbers(slopes))
    if kind == "piecewise_polynomial":
        knots, coefficients, values = fields(rest, "knots", "coefficients", "values")
        rows = tensors.numbers(coefficients)
        pieces = shapes.polynomials(tensors.row(knots), rows, tensors.numbers(values))
        return pieces if len(rows[0]) <= EXACT_POWERS else smooth.Exact(pieces)
    if kind == "smooth":
        (named,) = fields(rest, "function")
        return smooth.Function(_smooth_function(named))
    if kind == "smooth_network":
        return read_smooth_network(rest, tensors)
    if kind == "composed":
        pair = fields(rest, "outer", "inner")
        return smooth.Composed(*(_smooth(read_any(one, tensors, bases, bits)) for one in pair))
    if kind == "table":
        keys, values, otherwise = fields(rest, "keys", "values", "otherwise")
        listed = [one.value if isinstance(one, Number) else one for one in map(value, items(keys))]
        entries = list(zip(listed, tensors.numbers(values), strict=True))
        for_rest = None if otherwise is None else read_any(otherwise, tensors, bases, bits)
        if isinstance(for_rest, SmoothShape):
            return smooth.SmoothChanged(for_rest, shapes.Table(entries, None))
        return shapes.Table(entries, for_rest)
    if kind == "sum":
        (parts,) = fields(rest, "parts")
        found = [read_any(part, tensors, bases, bits) for part in items(parts)]
        plain = [part for part in found if not isinstance(part, SmoothShape)]
        return shapes.Sum(plain) if len(plain) == len(found) else smooth.SmoothSum([_smooth(one) for one in found])
    if kind in CHANGES:
        shape, *texts = fields(rest, "shape", *CHANGES[kind])
        change = {name: number(text) for name, text in zip(CHANGES[kind], texts, strict=True)}
        return changed(read_any(shape, tensors, bases, bits_left(bits, change.values())), **change)
    raise ValueError(f"{kind!r} is not a kind of shape")


def _smooth(shape: Shape | SmoothShape) -> SmoothShape:
    return shape if isinstance(shape, SmoothShape) else smooth.Exact(shape)


def changed(shape: Shape | SmoothShape, **change: Fraction) -> Changed | smooth.SmoothChanged:
    """Return a multiple of a shape, or a shape of a changed variable."""
    if isinstance(shape, SmoothShape) and change.get("factor") == 0:
        return Changed(smooth.Nothing(shape))
    if isinstance(shape, SmoothShape):
        return smooth.SmoothChanged(shape, None, **change)
    return Changed(shape, **change)


def _smooth_function(document: Any) -> Formula:
    name, parameters = fields(document, "name", "parameters")
    return function(name, [number(text) for text in items(parameters)])


def read_smooth_network(document: Any, tensors: Tensors) -> smooth.SmoothNetwork:
    """Return a network with smooth activations."""
    weights, biases, activations, skips = fields(document, "weights", "biases", "activations", "skips")
    jumps = {whole(to, 10**6): whole(source, 10**6) for to, source in map(items, items(skips))}
    if len(jumps) != len(skips):
        raise ValueError("this is not a network")
    after = [*(_formulas(one) for one in items(activations)), []]
    each = zip(items(weights), items(biases), after, strict=True)
    layers = [
        smooth.read_layer(tensors.take(weight), None if bias is None else tensors.take(bias), formulas)
        for weight, bias, formulas in each
    ]
    return smooth.SmoothNetwork(layers, jumps)


def _formulas(document: Any) -> list[Formula]:
    """Return the formulas of an activation, smooth or with corners: one for all units, or one for each."""
    if "parameters" in document:
        return [_smooth_function(document)]
    return activation_formulas(_activation(document))


def read_network(document: Any, tensors: Tensors) -> Network:
    """Return a network of one input."""
    kind, weights, biases, activations, skips, exu = fields(
        document, "kind", "weights", "biases", "activations", "skips", "exu"
    )
    jumps = {whole(to, 10**6): whole(source, 10**6) for to, source in map(items, items(skips))}
    if kind != "network" or type(exu) is not bool or len(jumps) != len(skips):
        raise ValueError("this is not a network")
    matrices = [tensors.take(name) for name in items(weights)]
    offsets = [None if name is None else tensors.take(name) for name in items(biases)]
    after = [*(_activation(one) for one in items(activations)), IDENTITY]
    each = enumerate(zip(matrices, offsets, after, strict=True))
    return Network([read_layer(*layer, is_exu=exu and k == 0) for k, layer in each], jumps)


def _activation(document: Any) -> Activation:
    name, thresholds, slopes, offsets = fields(document, "name", "thresholds", "slopes", "offsets")
    if not isinstance(name, str):
        raise TypeError("the name of an activation is text")
    rows = [[number(text) for text in items(row)] for row in items(slopes)]
    return Activation([number(text) for text in items(thresholds)], rows, [number(text) for text in items(offsets)])
