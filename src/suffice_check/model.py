"""The model file (docs/model-file.md): safetensors with a JSON document. Read from scratch, exactly."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check import shapes
from suffice_check.network import FLOATS, IDENTITY, Activation, Network, Tensor, read_layer
from suffice_check.ordered import ZERO, Number, ceil, floor
from suffice_check.pairs import Bins, PairChanged, PairLinear, PairShape, PairSteps, PairSum, PairTerm, Product
from suffice_check.reading import (
    MISTAKES,
    Value,
    fields,
    has_repeats,
    items,
    number,
    only_field,
    parse,
    texts,
    unreadable,
    value,
    whole,
)
from suffice_check.shapes import ONE, Changed, Outputs, Remembered, Shape

_MOST_HEADER = 10**8
_MOST_TENSOR = 2**40
_MOST_BITS = 2**17
_CHANGES = {"scaled": ["factor"], "rescaled": ["center", "scale"]}


class Span(NamedTuple):
    """The numbers from `low` to `high` (None: without end), or only the integers among them."""

    low: Number | None
    high: Number | None
    is_integers: bool

    def cut(self, low: Number | None, high: Number | None) -> Span | None:
        """Return the part between two ends, or nothing where that is empty."""
        start = self.low if low is None else low if self.low is None else max(low, self.low)
        end = self.high if high is None else high if self.high is None else min(high, self.high)
        if self.is_integers:
            start = None if start is None else Number(Fraction(ceil(start)))
            end = None if end is None else Number(Fraction(floor(end)))
        return Span(start, end, self.is_integers) if start is None or end is None or start <= end else None

    def holds(self, x: Number) -> bool:
        """Whether a number is in the span."""
        is_above, is_below = self.low is None or self.low <= x, self.high is None or x <= self.high
        return is_above and is_below and not (self.is_integers and (x.edge or x.value.denominator != 1))


class Domain(NamedTuple):
    """The values a feature can take, or those in reach of one of them."""

    spans: list[Span]
    categories: list[Value]
    codes: list[Value]

    def holds(self, x: Value) -> bool:
        """Whether a value is in the domain."""
        listed = x in self.categories or x in self.codes
        return listed or (isinstance(x, Number) and any(span.holds(x) for span in self.spans))

    def around(self, x: Value, radius: Number | None) -> Domain:
        """Return what is within a radius of a value (None: within some finite one): the region of a free feature."""
        if x in self.codes:
            return Domain([], [], [x])
        if x in self.categories:
            return Domain([], [x] if radius == ZERO else self.categories, [])
        if radius is None or not isinstance(x, Number):
            return Domain(self.spans, [], [])
        first, last = Number(x.value - radius.value, -radius.edge), Number(x.value + radius.value, radius.edge)
        return Domain([cut for span in self.spans if (cut := span.cut(first, last)) is not None], [], [])


class Feature(NamedTuple):
    """A feature, and its shape as a function of the user's own values."""

    name: str
    domain: Domain
    shape: Remembered
    deviation: Fraction | None

    def part(self, x: Value) -> Outputs:
        """Return the feature's part of each score at a value."""
        if not isinstance(x, Number):
            return self.shape.label(x)
        return self.shape.pieces(x.value, x.value).cell(x.value, 0).at(x.value)


class Model(NamedTuple):
    """`score_j(x) = intercept_j + Σ_i shape_ij(x_i) + Σ_p pair_pj(x_i, x_k)`, and what the scores decide."""

    task: str
    ties: str
    classes: list[Any]
    intercept: list[Fraction]
    features: list[Feature]
    pairs: list[PairTerm]
    logit_offset: Fraction | None  # added to the score of two classes it is the logit; None: no such probability


def read_model(content: bytes) -> Model:
    """Return the model of a file's content."""
    try:
        (length,) = struct.unpack_from("<Q", content)
        if length > min(_MOST_HEADER, len(content) - 8):
            raise ValueError("the header is longer than the file")
        header = parse(content[8 : 8 + length])
        (document,) = fields(header.pop("__metadata__"), "suffice")
        tensors = Tensors(header, memoryview(content)[8 + length :])
        return _model(parse(document.encode()), tensors)
    except (*MISTAKES, struct.error) as error:
        raise unreadable("the model file", error) from None


class _Place(NamedTuple):
    """Where an array lies in the data of a file."""

    start: int
    end: int
    kind: str
    shape: tuple[int, ...]

    @classmethod
    def read(cls, document: Any) -> _Place:
        kind, lengths, offsets = fields(document, "dtype", "shape", "data_offsets")
        if len(items(lengths)) not in (1, 2):
            raise ValueError("a tensor does not have one or two dimensions")
        shape = tuple(whole(length, _MOST_TENSOR, start=1) for length in lengths)
        start, end = (whole(offset, _MOST_TENSOR) for offset in items(offsets))
        if end - start != FLOATS[kind][1] * math.prod(shape):
            raise ValueError("a tensor does not have the bytes of its shape")
        return cls(start, end, kind, shape)


class Tensors:
    """The arrays of a file, side by side from the first byte to the last; each is read once, where it is used."""

    def __init__(self, header: dict[str, Any], data: memoryview) -> None:
        self.places, self.data, end = {name: _Place.read(entry) for name, entry in header.items()}, data, 0
        for place in sorted(self.places.values()):
            if place.start != end:
                raise ValueError("the tensors do not lie side by side")
            end = place.end
        if end != len(data):
            raise ValueError("the tensors do not cover the data")

    def take(self, name: Any) -> Tensor:
        """Return an array that has not been taken yet."""
        if not isinstance(name, str) or name not in self.places:
            raise ValueError(f"there is no tensor {str(name)[:40]!r}, or it is used twice")
        start, end, kind, shape = self.places.pop(name)
        entries = struct.unpack(f"<{math.prod(shape)}{FLOATS[kind][0]}", self.data[start:end])
        if not all(map(math.isfinite, entries)):
            raise ValueError("a tensor contains something other than finite numbers")
        return Tensor(kind, shape, entries)


def _model(document: Any, tensors: Tensors) -> Model:
    if isinstance(document, dict):
        document = {"logit_offset": "0", **document}
    version, task, ties, classes, intercept, features, bases, terms, offset = fields(
        document, "version", "task", "ties", "classes", "intercept", "features", "bases", "terms", "logit_offset"
    )
    if version not in (1, 2) or type(version) is not int:
        raise ValueError(f"version {version} of the format is not known")
    scores = [number(text) for text in items(intercept)]
    wanted = {"binary": 2, "multiclass": len(scores), "regression": 0}[task]
    fits = len(scores) > 1 if task == "multiclass" else len(scores) == 1
    if ties not in ("positive", "negative") or len(items(classes)) != wanted or not fits:
        raise ValueError("task, ties, classes and intercept do not fit together")
    if not all(type(name) in (str, int, float, bool) for name in classes) or has_repeats(classes):
        raise ValueError("classes are text, numbers or truth values, and no two are equal")
    shared = [_network(basis, tensors) for basis in items(bases)]
    read = []
    mains, rest = items(terms)[: len(items(features))], items(terms)[len(features) :]
    if bool(rest) != (version == 2):
        raise ValueError("there are terms over two features in version 2, and in no other")
    for i, (term, feature) in enumerate(zip(mains, features, strict=True)):
        over, shape = fields(term, "features", "shape")
        if [whole(place, 10**6) for place in items(over)] != [i]:
            raise ValueError(f"term {i} is not over feature {i} alone")
        read.append(_feature(feature, _shape(shape, tensors, shared)))
    pairs = [_pair(term, tensors, shared, read) for term in rest]
    if len({pair.features for pair in pairs}) < len(pairs):
        raise ValueError("two terms are over the same two features, in the same order")
    outputs = {feature.shape.outputs for feature in read} | {pair.shape.outputs for pair in pairs}
    if outputs != {len(scores)} or len({feature.name for feature in read}) != len(read):
        raise ValueError("shapes need an output for each score, and features names of their own")
    logit_offset = None if offset is None else number(offset)
    if task != "binary" and logit_offset != 0:
        raise ValueError("a logit_offset is for models of two classes")
    return Model(task, ties, classes, scores, read, pairs, logit_offset)


def _feature(document: Any, shape: Shape) -> Feature:
    name, center, scale, deviation, domain = fields(document, "name", "center", "scale", "deviation", "domain")
    spans, *lists = fields(domain, "spans", "categories", "codes")
    categories, codes = ([value(v) for v in items(part)] for part in lists)
    read = Domain([_span(*items(span)) for span in items(spans)], categories, codes)
    spread = None if deviation is None else number(deviation)
    listed = [*read.categories, *read.codes]
    if not isinstance(name, str) or not name or has_repeats(listed) or (spread is not None and spread < 0):
        raise ValueError("a feature needs a name, values that are listed once, and no deviation below 0")
    if any(isinstance(v, Number) and span.holds(v) for v in listed for span in read.spans):
        raise ValueError("a value is both a number and a category or code")
    changed = Changed(shape, center=number(center), scale=number(scale))
    return Feature(name, read, Remembered(changed), spread)


def _span(low: Any, high: Any, is_integers: Any) -> Span:
    first, last = (None if end is None else Number(number(end)) for end in (low, high))
    known = [end for end in (first, last) if end is not None]
    if type(is_integers) is not bool or known != sorted(known):
        raise ValueError("a span needs a low end, a high end, and whether it holds integers only")
    if is_integers and any(end.value.denominator != 1 for end in known):
        raise ValueError("a span of integers has ends that are not integers")
    return Span(first, last, is_integers)


def _shape(document: Any, tensors: Tensors, bases: list[Network], bits: int = _MOST_BITS) -> Shape:
    """Return a shape; the numbers that change it and the shapes inside it have so many bits in all, at most."""
    kind = document["kind"]
    rest = {name: content for name, content in document.items() if name != "kind"}
    if kind == "network":
        return _network(document, tensors)
    if kind == "readout":
        basis, weights = fields(rest, "basis", "weights")
        inner = bases[whole(basis, len(bases))]  # with one more linear layer
        return Network([*inner.layers, read_layer(tensors.take(weights), None)], inner.skips)
    if kind == "steps":
        cuts, values, closed = fields(rest, "cuts", "values", "closed")
        return shapes.steps(_row(_numbers(cuts, tensors)), _numbers(values, tensors), closed)
    if kind == "piecewise_linear":
        knots, values, slopes = (_numbers(part, tensors) for part in fields(rest, "knots", "values", "slopes"))
        return shapes.broken_line(_row(knots), values, slopes)
    if kind == "piecewise_polynomial":
        raise ValueError("this model has curved shapes, of which certificates are not checked yet")
    if kind == "table":
        keys, values, otherwise = fields(rest, "keys", "values", "otherwise")
        listed = [one.value if isinstance(one, Number) else one for one in map(value, items(keys))]
        entries = list(zip(listed, _numbers(values, tensors), strict=True))
        return shapes.Table(entries, None if otherwise is None else _shape(otherwise, tensors, bases, bits))
    if kind == "sum":
        (parts,) = fields(rest, "parts")
        return shapes.Sum([_shape(part, tensors, bases, bits) for part in items(parts)])
    if kind in _CHANGES:
        shape, *texts = fields(rest, "shape", *_CHANGES[kind])
        change = {name: number(text) for name, text in zip(_CHANGES[kind], texts, strict=True)}
        bits -= sum(part.bit_length() for one in change.values() for part in one.as_integer_ratio())
        if bits < 0:  # evaluation multiplies them: a few hundred long ones would take hours
            raise ValueError("the numbers of nested scaled and rescaled shapes are too long in total")
        return Changed(_shape(shape, tensors, bases, bits), **change)
    raise ValueError(f"{kind!r} is not a kind of shape")


def _pair(document: Any, tensors: Tensors, bases: list[Network], features: list[Feature]) -> PairTerm:
    over, shape = fields(document, "features", "shape")
    first, second = (whole(place, len(features)) for place in items(over))
    if first == second:
        raise ValueError("a term is over a feature and itself")
    inner = _pair_shape(shape, tensors, bases)
    each = [features[i].shape for i in (first, second)]
    changed = PairChanged(inner, centers=[one.center for one in each], scales=[one.scale for one in each])
    return PairTerm((first, second), changed)


def _pair_shape(document: Any, tensors: Tensors, bases: list[Network], bits: int = _MOST_BITS) -> PairShape:
    """Return a shape of two features; see `_shape`."""
    kind = document["kind"]
    rest = {name: content for name, content in document.items() if name != "kind"}
    if kind == "pair_steps":
        rows, columns, values = fields(rest, "rows", "columns", "values")
        return PairSteps(_bins(rows, tensors), _bins(columns, tensors), _rows(values, tensors))
    if kind == "pair_linear":
        rows, columns, values = fields(rest, "rows", "columns", "values")
        first, second = (_row(_numbers(part, tensors)) for part in (rows, columns))
        return PairLinear(first, second, _rows(values, tensors))
    if kind == "product":
        return Product(*[_shape(part, tensors, bases, bits) for part in fields(rest, "first", "second")])
    if kind == "pair_sum":
        (parts,) = fields(rest, "parts")
        return PairSum([_pair_shape(part, tensors, bases, bits) for part in items(parts)])
    if kind in ("pair_scaled", "pair_rescaled"):
        names = ["factor"] if kind == "pair_scaled" else ["centers", "scales"]
        shape, *content = fields(rest, "shape", *names)
        change = [[number(text) for text in items(part)] for part in ([content] if len(names) == 1 else content)]
        bits -= sum(part.bit_length() for row in change for one in row for part in one.as_integer_ratio())
        if bits < 0:  # as for shapes of one feature
            raise ValueError("the numbers of nested scaled and rescaled shapes are too long in total")
        inner = _pair_shape(shape, tensors, bases, bits)
        return PairChanged(inner, change[0][0]) if len(names) == 1 else PairChanged(inner, ONE, *change)
    raise ValueError(f"{kind!r} is not a kind of shape of two features")


def _bins(document: Any, tensors: Tensors) -> Bins:
    cuts, keys, closed = fields(document, "cuts", "keys", "closed")
    places = None if cuts is None else _row(_numbers(cuts, tensors))
    sides = texts(closed) if isinstance(closed, list) else [closed] * len(places or ())
    return Bins(places, [value(key) for key in items(keys)], sides)


def _rows(document: Any, tensors: Tensors) -> Sequence[Sequence[Fraction | float]]:
    """Return the rows of a table that may be large, as they are in the file."""
    kind, content = only_field(document)
    return _matrix(tensors.take(content)).rows() if kind == "tensor" else _numbers(document, tensors)


def _network(document: Any, tensors: Tensors) -> Network:
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


def _row(rows: list[Outputs]) -> list[Fraction]:
    if len(rows) != 1:
        raise ValueError("cuts and knots have one row")
    return list(rows[0])


def _numbers(document: Any, tensors: Tensors) -> list[Outputs]:
    kind, content = only_field(document)
    if kind == "tensor":
        return [tuple(map(Fraction, row)) for row in _matrix(tensors.take(content)).rows()]
    if kind == "numbers":
        return [tuple(map(number, items(row))) for row in items(content)]
    raise ValueError(f"{kind!r} is not a way to list numbers")


def _matrix(tensor: Tensor) -> Tensor:
    if tensor.kind != "F64" or len(tensor.shape) != 2:
        raise ValueError("a tensor in place of numbers has another type than float64, or not two dimensions")
    return tensor
