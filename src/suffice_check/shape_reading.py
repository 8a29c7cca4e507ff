"""Shapes as a model file describes them (docs/model-file.md)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from suffice_check import shapes
from suffice_check.network import IDENTITY, Activation, Network, read_layer
from suffice_check.ordered import Number
from suffice_check.reading import fields, items, number, value, whole
from suffice_check.shapes import Changed, Shape
from suffice_check.tensors import Tensors

MOST_BITS = 2**17
CHANGES = {"scaled": ["factor"], "rescaled": ["center", "scale"]}


def kind_of(document: Any) -> tuple[Any, dict[str, Any]]:
    """Return the kind of a shape, and its other fields."""
    return document["kind"], {name: content for name, content in document.items() if name != "kind"}


def is_curved(document: Any) -> bool:
    """Whether a document describes a curved shape somewhere."""
    inside = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    return (isinstance(document, dict) and document.get("kind") == "piecewise_polynomial") or any(
        map(is_curved, inside)
    )


def bits_left(bits: int, numbers: Iterable[Fraction]) -> int:
    """Return how many bits more the numbers of shapes inside others may have."""
    bits -= sum(part.bit_length() for one in numbers for part in one.as_integer_ratio())
    if bits < 0:  # evaluation multiplies them: a few hundred long ones would take hours
        raise ValueError("the numbers of nested scaled and rescaled shapes are too long in total")
    return bits


def read_shape(document: Any, tensors: Tensors, bases: list[Network], bits: int = MOST_BITS) -> Shape:
    """Return a shape; the numbers that change it and the shapes inside it have so many bits in all, at most."""
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
        return shapes.polynomials(tensors.row(knots), tensors.numbers(coefficients), tensors.numbers(values))
    if kind == "smooth" or kind == "smooth_network" or kind == "composed":
        raise ValueError("this model has smooth shapes, of which certificates are not checked yet")
    if kind == "table":
        keys, values, otherwise = fields(rest, "keys", "values", "otherwise")
        listed = [one.value if isinstance(one, Number) else one for one in map(value, items(keys))]
        entries = list(zip(listed, tensors.numbers(values), strict=True))
        return shapes.Table(entries, None if otherwise is None else read_shape(otherwise, tensors, bases, bits))
    if kind == "sum":
        (parts,) = fields(rest, "parts")
        return shapes.Sum([read_shape(part, tensors, bases, bits) for part in items(parts)])
    if kind in CHANGES:
        shape, *texts = fields(rest, "shape", *CHANGES[kind])
        change = {name: number(text) for name, text in zip(CHANGES[kind], texts, strict=True)}
        return Changed(read_shape(shape, tensors, bases, bits_left(bits, change.values())), **change)
    raise ValueError(f"{kind!r} is not a kind of shape")


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
