"""Terms over two features as a model file describes them (docs/model-file.md)."""

from __future__ import annotations

from typing import Any

from suffice_check.network import Network
from suffice_check.pairs import Bins, PairChanged, PairLinear, PairShape, PairSteps, PairSum, PairTerm, Product
from suffice_check.reading import fields, items, number, texts, value, whole
from suffice_check.shape_reading import MOST_BITS, bits_left, kind_of, read_shape
from suffice_check.shapes import ONE, Remembered
from suffice_check.tensors import Tensors


def read_pair(document: Any, tensors: Tensors, bases: list[Network], shapes: list[Remembered]) -> PairTerm:
    """Return a term over two features, given the shapes of all features."""
    over, shape = fields(document, "features", "shape")
    first, second = (whole(place, len(shapes)) for place in items(over))
    if first == second:
        raise ValueError("a term is over a feature and itself")
    inner = _pair_shape(shape, tensors, bases)
    each = shapes[first], shapes[second]
    changed = PairChanged(inner, centers=[one.center for one in each], scales=[one.scale for one in each])
    return PairTerm((first, second), changed)


def _pair_shape(document: Any, tensors: Tensors, bases: list[Network], bits: int = MOST_BITS) -> PairShape:
    """Return a shape of two features; see `read_shape`."""
    kind, rest = kind_of(document)
    if kind == "pair_steps":
        rows, columns, values = fields(rest, "rows", "columns", "values")
        return PairSteps(_bins(rows, tensors), _bins(columns, tensors), tensors.rows(values))
    if kind == "pair_linear":
        rows, columns, values = fields(rest, "rows", "columns", "values")
        return PairLinear(tensors.row(rows), tensors.row(columns), tensors.rows(values))
    if kind == "product":
        return Product(*[read_shape(part, tensors, bases, bits) for part in fields(rest, "first", "second")])
    if kind == "pair_sum":
        (parts,) = fields(rest, "parts")
        return PairSum([_pair_shape(part, tensors, bases, bits) for part in items(parts)])
    if kind == "pair_scaled":
        shape, text = fields(rest, "shape", "factor")
        factor = number(text)
        return PairChanged(_pair_shape(shape, tensors, bases, bits_left(bits, [factor])), factor)
    if kind == "pair_rescaled":
        shape, *lists = fields(rest, "shape", "centers", "scales")
        centers, scales = ([number(text) for text in items(part)] for part in lists)
        inner = _pair_shape(shape, tensors, bases, bits_left(bits, [*centers, *scales]))
        return PairChanged(inner, ONE, centers, scales)
    raise ValueError(f"{kind!r} is not a kind of shape of two features")


def _bins(document: Any, tensors: Tensors) -> Bins:
    cuts, keys, closed = fields(document, "cuts", "keys", "closed")
    places = None if cuts is None else tensors.row(cuts)
    sides = texts(closed) if isinstance(closed, list) else [closed] * len(places or ())
    return Bins(places, [value(key) for key in items(keys)], sides)
