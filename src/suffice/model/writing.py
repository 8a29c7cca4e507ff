"""Writing the model file: safetensors with one JSON document in its header.

`docs/model-file.md` describes the format for a second reader. Every number is exact: arrays of binary floats are
tensors, all other numbers are written as text, `"p/q"`. The same model always gives the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from safetensors.numpy import save as serialise

from suffice.errors import ModelFileError
from suffice.model.domain import Domain
from suffice.model.file_format import KEY, NUMBER, VERSION, Json, Tensors, is_class
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.values import Missing, Value
from suffice.shapes import (
    Activation,
    Bins,
    Composed,
    PairLinear,
    PairShape,
    PairSteps,
    PiecewiseLinear,
    PiecewisePolynomial,
    Product,
    Readout,
    ReluNetwork,
    Shape,
    Smooth,
    SmoothFunction,
    SmoothNetwork,
    Steps,
    Table,
)
from suffice.shapes.network import Network
from suffice.shapes.pair_pieces import Grid
from suffice.shapes.pair_shape import PairRescaled, PairScaled, PairSum
from suffice.shapes.shape import Rescaled, Scaled, Sum

if TYPE_CHECKING:
    from suffice.model.additive import AdditiveModel, Feature


def save_model(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write a model file; an earlier file of that name is replaced only once the new one is whole."""
    content = to_bytes(model)
    try:
        write_whole(Path(path), content)
    except (OSError, ValueError) as error:
        raise ModelFileError(path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; its name stands for what it held before until all of the new content is there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def to_bytes(model: AdditiveModel) -> bytes:
    """Return the content of a model file."""
    tensors: Tensors = {}
    bases: list[ReluNetwork] = []
    terms = [
        {"features": list(term.features), "shape": shape_document(term.shape, _Store(tensors, bases, f"terms.{k}"))}
        for k, term in enumerate(model.terms)
    ]
    document = {
        "version": VERSION if model.pairs else 1,
        "task": model.task,
        "ties": model.ties,
        "classes": [_class_out(name) for name in model.classes],
        "intercept": [number_out(value) for value in model.intercept],
        "features": [_feature_out(f, d) for f, d in zip(model.features, model.domains, strict=True)],
        "bases": [shape_document(basis, _Store(tensors, [], f"bases.{k}")) for k, basis in enumerate(bases)],
        "terms": terms,
    }
    if model.logit_offset != 0:
        document["logit_offset"] = None if model.logit_offset is None else number_out(model.logit_offset)
    return serialise(tensors, {KEY: json.dumps(document, ensure_ascii=True, separators=(",", ":"))})


# --- numbers, labels, classes ---------------------------------------------------------------------------------------


def number_out(value: Rational) -> str:
    """Return a number as text, "p/q"."""
    text = str(value)
    if not NUMBER.fullmatch(text):
        raise ModelFileError("the model", f"a number of {len(text)} digits cannot be saved; 4000 are allowed")
    return text


def value_out(value: Value) -> Json:
    """Return a number or a label, with its kind."""
    if isinstance(value, fmpq):
        return {"number": number_out(value)}
    return {"missing": True} if isinstance(value, Missing) else {"label": value}


def _class_out(name: Any) -> Any:
    plain = name.item() if isinstance(name, np.generic) else name
    if not is_class(plain):
        raise ModelFileError("the model", f"a class of type {type(name).__name__} cannot be saved; use text or numbers")
    if isinstance(plain, int) and abs(plain) >= 10**4000:
        raise ModelFileError("the model", "a class of more than 4000 digits cannot be saved; use text")
    return plain


# --- features ---------------------------------------------------------------------------------------------------------


def _feature_out(feature: Feature, domain: Domain) -> Json:
    return {
        "name": feature.name,
        "center": number_out(feature.center),
        "scale": number_out(feature.scale),
        "deviation": None if feature.deviation is None else number_out(feature.deviation),
        "domain": {
            "spans": [
                [*(None if end is None else number_out(end) for end in span[:2]), span.is_integers]
                for span in domain.spans
            ],
            "categories": [value_out(name) for name in domain.categories_],
            "codes": [value_out(code) for code in domain.codes_],
            **({"ordered": True} if domain.is_ordered else {}),
        },
    }


# --- shapes -----------------------------------------------------------------------------------------------------------


class _Store:
    """Where the arrays of one shape go; names tell the place in the document."""

    def __init__(self, tensors: Tensors, bases: list[ReluNetwork], prefix: str) -> None:
        self.tensors, self.bases, self.prefix = tensors, bases, prefix

    def below(self, part: str) -> _Store:
        return _Store(self.tensors, self.bases, f"{self.prefix}.{part}")

    def place_of(self, basis: ReluNetwork) -> int:
        """Return the place of a shared network among all of them."""
        if not any(basis is known for known in self.bases):
            self.bases.append(basis)
        return next(k for k, known in enumerate(self.bases) if basis is known)

    def put(self, part: str, array: NDArray[Any]) -> str:
        name = f"{self.prefix}.{part}"
        self.tensors[name] = np.ascontiguousarray(array)
        return name

    def put_numbers(self, part: str, rows: Sequence[Sequence[Rational]]) -> Json:
        """Store rationals as float64 where that is exact, as text where it is not."""
        floats = [[nearest_float(value) for value in row] for row in rows]
        flat = [(f, v) for fs, vs in zip(floats, rows, strict=True) for f, v in zip(fs, vs, strict=True)]
        if flat and all(np.isfinite(f) and fmpq(*f.as_integer_ratio()) == v for f, v in flat):
            return {"tensor": self.put(part, np.array(floats, dtype=np.float64))}
        return {"numbers": [[number_out(value) for value in row] for row in rows]}


@singledispatch
def shape_document(shape: Shape | PairShape, store: _Store) -> Json:
    """Return how a shape is written down; its arrays go to the store."""
    raise ModelFileError("the model", f"a shape of type {type(shape).__name__} cannot be saved")


@shape_document.register
def _(shape: ReluNetwork, store: _Store) -> Json:
    activations = [_activation_out(activation) for activation in shape.activations]
    return {"kind": "network", **_layers_out(shape, activations, store), "exu": shape.exu}


def _layers_out(shape: Network, activations: list[Json], store: _Store) -> Json:
    return {
        "weights": [store.put(f"weights.{k}", weight) for k, weight in enumerate(shape.weights)],
        "biases": [None if b is None else store.put(f"biases.{k}", b) for k, b in enumerate(shape.biases)],
        "activations": activations,
        "skips": sorted([to, source] for to, source in shape.skips.items()),
    }


@shape_document.register
def _(shape: Readout, store: _Store) -> Json:
    return {"kind": "readout", "basis": store.place_of(shape.basis), "weights": store.put("weights", shape.weights)}


@shape_document.register
def _(shape: Steps, store: _Store) -> Json:
    cuts, values = store.put_numbers("cuts", [shape.cuts]), store.put_numbers("values", shape.values)
    return {"kind": "steps", "cuts": cuts, "values": values, "closed": shape.closed}


@shape_document.register
def _(shape: PiecewiseLinear, store: _Store) -> Json:
    return {
        "kind": "piecewise_linear",
        "knots": store.put_numbers("knots", [shape.knots]),
        "values": store.put_numbers("values", shape.values),
        "slopes": store.put_numbers("slopes", [shape.left_slope, shape.right_slope]),
    }


@shape_document.register
def _(shape: PiecewisePolynomial, store: _Store) -> Json:
    powers = max(len(row) for piece in shape.coefficients for row in piece)
    rows = [(*row, *[ZERO] * (powers - len(row))) for piece in shape.coefficients for row in piece]
    return {
        "kind": "piecewise_polynomial",
        "knots": store.put_numbers("knots", [shape.knots]),
        "coefficients": store.put_numbers("coefficients", rows),
        "values": store.put_numbers("values", shape.values),
    }


@shape_document.register
def _(shape: Smooth, store: _Store) -> Json:
    return {"kind": "smooth", "function": _smooth_out(shape.function)}


@shape_document.register
def _(shape: SmoothNetwork, store: _Store) -> Json:
    activations = [
        _smooth_out(one) if isinstance(one, SmoothFunction) else _activation_out(one) for one in shape.activations
    ]
    return {"kind": "smooth_network", **_layers_out(shape, activations, store)}


@shape_document.register
def _(shape: Composed, store: _Store) -> Json:
    outer = shape_document(shape.outer, store.below("outer"))
    return {"kind": "composed", "outer": outer, "inner": shape_document(shape.inner, store.below("inner"))}


@shape_document.register
def _(shape: Table, store: _Store) -> Json:
    entries: dict[Any, tuple[Rational, ...]] = {**shape.points, **shape.labels}
    return {
        "kind": "table",
        "keys": [value_out(key) for key in entries],
        "values": store.put_numbers("values", list(entries.values())),
        "otherwise": None if shape.otherwise is None else shape_document(shape.otherwise, store.below("otherwise")),
    }


@shape_document.register
def _(shape: Sum, store: _Store) -> Json:
    parts = [shape_document(part, store.below(str(k))) for k, part in enumerate(shape.parts)]
    return {"kind": "sum", "parts": parts}


@shape_document.register
def _(shape: Scaled, store: _Store) -> Json:
    return {"kind": "scaled", "shape": shape_document(shape.shape, store), "factor": number_out(shape.factor)}


@shape_document.register
def _(shape: Rescaled, store: _Store) -> Json:
    inner = shape_document(shape.shape, store)
    return {"kind": "rescaled", "shape": inner, "center": number_out(shape.center), "scale": number_out(shape.scale)}


@shape_document.register
def _(shape: PairSteps, store: _Store) -> Json:
    return {
        "kind": "pair_steps",
        "rows": _bins_out(shape.rows, store.below("rows")),
        "columns": _bins_out(shape.columns, store.below("columns")),
        "values": _table_out(shape.values, store),
    }


@shape_document.register
def _(shape: PairLinear, store: _Store) -> Json:
    return {
        "kind": "pair_linear",
        "rows": store.put_numbers("rows", [shape.rows]),
        "columns": store.put_numbers("columns", [shape.columns]),
        "values": _table_out(shape.values, store),
    }


@shape_document.register
def _(shape: Product, store: _Store) -> Json:
    first, second = (
        shape_document(shape.first, store.below("first")),
        shape_document(shape.second, store.below("second")),
    )
    return {"kind": "product", "first": first, "second": second}


@shape_document.register
def _(shape: PairSum, store: _Store) -> Json:
    parts = [shape_document(part, store.below(str(k))) for k, part in enumerate(shape.parts)]
    return {"kind": "pair_sum", "parts": parts}


@shape_document.register
def _(shape: PairScaled, store: _Store) -> Json:
    return {"kind": "pair_scaled", "shape": shape_document(shape.shape, store), "factor": number_out(shape.factor)}


@shape_document.register
def _(shape: PairRescaled, store: _Store) -> Json:
    return {
        "kind": "pair_rescaled",
        "shape": shape_document(shape.shape, store),
        "centers": [number_out(center) for center in shape.centers],
        "scales": [number_out(scale) for scale in shape.scales],
    }


def _bins_out(bins: Bins, store: _Store) -> Json:
    cuts = None if bins.cuts is None else store.put_numbers("cuts", [bins.cuts])
    closed = bins.closed if isinstance(bins.closed, str) else list(bins.closed)
    return {"cuts": cuts, "keys": [value_out(key) for key in bins.keys], "closed": closed}


def _table_out(values: Grid, store: _Store) -> Json:
    """Store a table as one row of outputs for each of its cells, row by row."""
    return store.put_numbers("values", values.reshape(-1, values.shape[2]).tolist())


def _smooth_out(function: SmoothFunction) -> Json:
    return {"name": function.name, "parameters": [number_out(one) for one in function.parameters]}


def _activation_out(activation: Activation) -> Json:
    def exact(value: float) -> str:
        return str(Fraction(value))

    return {
        "name": activation.name,
        "thresholds": [exact(value) for value in activation.thresholds],
        "slopes": [[exact(value) for value in row] for row in activation.slopes.tolist()],
        "offsets": [exact(value) for value in activation.offsets.tolist()],
    }
