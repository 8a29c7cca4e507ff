"""The model file: safetensors with one JSON document in its header. Nothing in it is ever executed.

`docs/model-file.md` describes the format for a second reader. Every number is exact: arrays of binary floats are
tensors, all other numbers are written as text, `"p/q"`. The same model always gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialise

from suffice.domain import Domain, Span
from suffice.errors import ModelFileError, SufficeError
from suffice.labels import MISSING, Missing, Value
from suffice.model import AdditiveModel, Feature, Term
from suffice.rational import Rational, nearest_float
from suffice.shapes import Activation, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.shape import Rescaled, Scaled, Sum

VERSION = 1
_KEY = "suffice"
_NUMBER = re.compile(r"-?[0-9]{1,4000}(/[1-9][0-9]{0,3999})?", re.ASCII)

Tensors = dict[str, NDArray[Any]]
Json = dict[str, Any]


class _Parts(NamedTuple):
    """What shapes are read from."""

    tensors: Tensors
    bases: list[ReluNetwork]


def save_model(model: AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write a model file; an earlier file of that name is replaced only once the new one is whole."""
    content = to_bytes(model)
    try:
        target = Path(path)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            part.write_bytes(content)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise ModelFileError(path, f"cannot be written: {getattr(error, 'strerror', None) or error}") from None


def to_bytes(model: AdditiveModel) -> bytes:
    """Return the content of a model file."""
    tensors: Tensors = {}
    bases: list[ReluNetwork] = []
    terms = [
        {"features": list(term.features), "shape": _shape_out(term.shape, _Store(tensors, bases, f"terms.{k}"))}
        for k, term in enumerate(model.terms)
    ]
    document = {
        "version": VERSION,
        "task": model.task,
        "ties": model.ties,
        "classes": [_class_out(name) for name in model.classes],
        "intercept": [_number_out(value) for value in model.intercept],
        "features": [_feature_out(f, d) for f, d in zip(model.features, model.domains, strict=True)],
        "bases": [_shape_out(basis, _Store(tensors, [], f"bases.{k}")) for k, basis in enumerate(bases)],
        "terms": terms,
    }
    return serialise(tensors, {_KEY: json.dumps(document, ensure_ascii=True, separators=(",", ":"))})


def load_model(path: str | os.PathLike[str]) -> AdditiveModel:
    """Read a model file.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, of a newer version, or not a model file of suffice.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if _KEY not in metadata:
                raise ModelFileError(path, "is a safetensors file, but not a model of suffice")
            document = json.loads(metadata[_KEY], object_pairs_hook=_no_duplicates, parse_constant=_refuse_constant)
            _check_version(path, document)
            return _model_in(document, {name: _tensor_in(file, name) for name in file.keys()})  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError(path, "there is no such file") from None
    except OSError as error:
        raise ModelFileError(path, f"cannot be read: {error.strerror or error}") from None
    except SafetensorError as error:
        raise ModelFileError(path, f"is damaged, or not a safetensors file ({error})") from None
    except ModelFileError:
        raise
    except (SufficeError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(path, f"does not describe a model: {_one_line(error)}") from None


def file_hash(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, which certificates name a model by."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tensor_in(file: Any, name: str) -> NDArray[Any]:
    kind = file.get_slice(name).get_dtype()
    if kind not in ("F16", "F32", "F64"):
        raise ValueError(f"tensor {name!r} has type {kind}; float16, float32 and float64 are known")
    return np.asarray(file.get_tensor(name))


# --- numbers, labels, classes ---------------------------------------------------------------------------------------


def _number_out(value: Rational) -> str:
    text = str(value)
    if not _NUMBER.fullmatch(text):
        raise ModelFileError("the model", f"a number of {len(text)} digits cannot be saved; 4000 are allowed")
    return text


def _number_in(text: Any) -> Rational:
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise ValueError(f'{str(text)[:40]!r} is not a number written as "p/q"')
    numerator, _, denominator = text.partition("/")
    return fmpq(int(numerator), int(denominator or 1))


def _value_out(value: Value) -> Json:
    if isinstance(value, fmpq):
        return {"number": _number_out(value)}
    return {"missing": True} if isinstance(value, Missing) else {"label": value}


def _value_in(document: Any) -> Value:
    kind, content = _only_field(document)
    if kind == "number":
        return _number_in(content)
    if kind == "missing" and content is True:
        return MISSING
    if kind == "label" and isinstance(content, str):
        return content
    raise ValueError(f"{kind!r} is not a kind of value")


def _class_out(name: Any) -> Any:
    plain = name.item() if isinstance(name, np.generic) else name
    if not isinstance(plain, (str, int, float)) or (isinstance(plain, float) and not np.isfinite(plain)):
        raise ModelFileError("the model", f"a class of type {type(name).__name__} cannot be saved; use text or numbers")
    return plain


def _class_in(name: Any) -> Any:
    if not isinstance(name, (str, int, float)) or (isinstance(name, float) and not np.isfinite(name)):
        raise TypeError(f"{name!r} is not a class")
    return name


# --- features ---------------------------------------------------------------------------------------------------------


def _feature_out(feature: Feature, domain: Domain) -> Json:
    return {
        "name": feature.name,
        "center": _number_out(feature.center),
        "scale": _number_out(feature.scale),
        "deviation": None if feature.deviation is None else _number_out(feature.deviation),
        "domain": {
            "spans": [
                [*(None if end is None else _number_out(end) for end in span[:2]), span.is_integers]
                for span in domain.spans
            ],
            "categories": [_value_out(name) for name in domain.categories_],
            "codes": [_value_out(code) for code in domain.codes_],
        },
    }


def _feature_in(document: Json) -> Feature:
    name, center, scale, deviation, domain = _fields(document, "name", "center", "scale", "deviation", "domain")
    spread = None if deviation is None else _number_in(deviation)
    return Feature(name, _domain_in(domain), _number_in(center), _number_in(scale), spread)


def _domain_in(document: Json) -> Domain:
    spans, categories, codes = _fields(document, "spans", "categories", "codes")
    names, special = (tuple(_value_in(value) for value in values) for values in (categories, codes))
    return Domain(tuple(_span_in(*span) for span in spans), names, special)


def _span_in(low: Any, high: Any, is_integers: Any) -> Span:
    span = Span(None if low is None else _number_in(low), None if high is None else _number_in(high), is_integers)
    ends = [end for end in span[:2] if end is not None]
    if not isinstance(is_integers, bool) or ends != sorted(ends) or (is_integers and any(end.q != 1 for end in ends)):
        raise ValueError(f"{low} to {high} is not a span")
    return span


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
        return {"numbers": [[_number_out(value) for value in row] for row in rows]}


@singledispatch
def _shape_out(shape: Shape, store: _Store) -> Json:
    raise ModelFileError("the model", f"a shape of type {type(shape).__name__} cannot be saved")


@_shape_out.register
def _(shape: ReluNetwork, store: _Store) -> Json:
    return {
        "kind": "network",
        "weights": [store.put(f"weights.{k}", weight) for k, weight in enumerate(shape.weights)],
        "biases": [None if b is None else store.put(f"biases.{k}", b) for k, b in enumerate(shape.biases)],
        "activations": [_activation_out(activation) for activation in shape.activations],
        "skips": sorted([to, source] for to, source in shape.skips.items()),
        "exu": shape.exu,
    }


@_shape_out.register
def _(shape: Readout, store: _Store) -> Json:
    return {"kind": "readout", "basis": store.place_of(shape.basis), "weights": store.put("weights", shape.weights)}


@_shape_out.register
def _(shape: Steps, store: _Store) -> Json:
    cuts, values = store.put_numbers("cuts", [shape.cuts]), store.put_numbers("values", shape.values)
    return {"kind": "steps", "cuts": cuts, "values": values, "closed": shape.closed}


@_shape_out.register
def _(shape: PiecewiseLinear, store: _Store) -> Json:
    return {
        "kind": "piecewise_linear",
        "knots": store.put_numbers("knots", [shape.knots]),
        "values": store.put_numbers("values", shape.values),
        "slopes": store.put_numbers("slopes", [shape.left_slope, shape.right_slope]),
    }


@_shape_out.register
def _(shape: Table, store: _Store) -> Json:
    entries: dict[Any, tuple[Rational, ...]] = {**shape.points, **shape.labels}
    return {
        "kind": "table",
        "keys": [_value_out(key) for key in entries],
        "values": store.put_numbers("values", list(entries.values())),
        "otherwise": None if shape.otherwise is None else _shape_out(shape.otherwise, store.below("otherwise")),
    }


@_shape_out.register
def _(shape: Sum, store: _Store) -> Json:
    parts = [_shape_out(part, store.below(str(k))) for k, part in enumerate(shape.parts)]
    return {"kind": "sum", "parts": parts}


@_shape_out.register
def _(shape: Scaled, store: _Store) -> Json:
    return {"kind": "scaled", "shape": _shape_out(shape.shape, store), "factor": _number_out(shape.factor)}


@_shape_out.register
def _(shape: Rescaled, store: _Store) -> Json:
    inner = _shape_out(shape.shape, store)
    return {"kind": "rescaled", "shape": inner, "center": _number_out(shape.center), "scale": _number_out(shape.scale)}


def _activation_out(activation: Activation) -> Json:
    def exact(value: float) -> str:
        return str(Fraction(value))

    return {
        "name": activation.name,
        "thresholds": [exact(value) for value in activation.thresholds],
        "slopes": [[exact(value) for value in row] for row in activation.slopes.tolist()],
        "offsets": [exact(value) for value in activation.offsets.tolist()],
    }


def _activation_in(document: Json) -> Activation:
    name, thresholds, slopes, offsets = _fields(document, "name", "thresholds", "slopes", "offsets")
    if not isinstance(name, str):
        raise TypeError("the name of an activation must be text")
    return Activation(
        name,
        tuple(_float_in(value) for value in thresholds),
        np.array([[_float_in(value) for value in row] for row in slopes], dtype=np.float64),
        np.array([_float_in(value) for value in offsets], dtype=np.float64),
    )


def _float_in(text: Any) -> float:
    exact = _number_in(text)
    near = nearest_float(exact)
    if not np.isfinite(near) or fmpq(*near.as_integer_ratio()) != exact:
        raise ValueError(f"{text} is not a float64")
    return near


def _network_in(document: Json, parts: _Parts) -> ReluNetwork:
    names = _fields(document, "weights", "biases", "activations", "skips", "exu")
    weights, biases, activations, skips, exu = names
    if not isinstance(exu, bool):
        raise TypeError("exu must be true or false")
    return ReluNetwork(
        [parts.tensors[name] for name in weights],
        [None if name is None else parts.tensors[name] for name in biases],
        [_activation_in(activation) for activation in activations],
        _no_duplicates([(to, source) for to, source in skips]),
        exu,
    )


def _readout_in(document: Json, parts: _Parts) -> Shape:
    basis, weights = _fields(document, "basis", "weights")
    if type(basis) is not int or not 0 <= basis < len(parts.bases):
        raise ValueError(f"there is no basis {basis!r}")
    return Readout(parts.bases[basis], parts.tensors[weights])


def _basis_in(document: Json, tensors: Tensors) -> ReluNetwork:
    basis = _shape_in(document, _Parts(tensors, []))
    if not isinstance(basis, ReluNetwork):
        raise TypeError("a basis must be a network")
    return basis


def _steps_in(document: Json, parts: _Parts) -> Shape:
    cuts, values, closed = _fields(document, "cuts", "values", "closed")
    return Steps(_numbers_in(cuts, parts)[0], _numbers_in(values, parts), closed)


def _piecewise_linear_in(document: Json, parts: _Parts) -> Shape:
    knots, values, slopes = _fields(document, "knots", "values", "slopes")
    left, right = _numbers_in(slopes, parts)
    return PiecewiseLinear(_numbers_in(knots, parts)[0], _numbers_in(values, parts), left, right)


def _table_in(document: Json, parts: _Parts) -> Shape:
    keys, values, otherwise = _fields(document, "keys", "values", "otherwise")
    rest = None if otherwise is None else _shape_in(otherwise, parts)
    entries: dict[Any, Any] = dict(zip((_value_in(key) for key in keys), _numbers_in(values, parts), strict=True))
    if len(entries) != len(keys):
        raise ValueError("a table has the same key twice")
    return Table(entries, rest)


def _sum_in(document: Json, parts: _Parts) -> Shape:
    (summands,) = _fields(document, "parts")
    return Sum(tuple(_shape_in(summand, parts) for summand in summands))


def _scaled_in(document: Json, parts: _Parts) -> Shape:
    shape, factor = _fields(document, "shape", "factor")
    return Scaled(_shape_in(shape, parts), _number_in(factor))


def _rescaled_in(document: Json, parts: _Parts) -> Shape:
    shape, center, scale = _fields(document, "shape", "center", "scale")
    return Rescaled(_shape_in(shape, parts), _number_in(center), _number_in(scale))


_READERS: Mapping[str, Callable[[Json, _Parts], Shape]] = {
    "network": _network_in,
    "readout": _readout_in,
    "steps": _steps_in,
    "piecewise_linear": _piecewise_linear_in,
    "table": _table_in,
    "sum": _sum_in,
    "scaled": _scaled_in,
    "rescaled": _rescaled_in,
}


def _shape_in(document: Json, parts: _Parts) -> Shape:
    rest = dict(document)
    kind = rest.pop("kind")
    if kind not in _READERS:
        raise ValueError(f"{kind!r} is not a kind of shape")
    return _READERS[kind](rest, parts)


def _numbers_in(document: Json, parts: _Parts) -> list[list[Rational]]:
    kind, content = _only_field(document)
    if kind == "tensor":
        table = parts.tensors[content]
        if table.ndim != 2 or table.dtype != np.float64 or not np.isfinite(table).all():
            raise ValueError(f"{content!r} is not a table of finite float64 numbers")
        return [[fmpq(*value.as_integer_ratio()) for value in row] for row in table.tolist()]
    if kind == "numbers":
        return [[_number_in(value) for value in row] for row in content]
    raise ValueError(f"{kind!r} is not a way to list numbers")


# --- the document -----------------------------------------------------------------------------------------------------


def _model_in(document: Json, tensors: Tensors) -> AdditiveModel:
    _, task, ties, classes, intercept, features, bases, terms = _fields(
        document, "version", "task", "ties", "classes", "intercept", "features", "bases", "terms"
    )
    parts = _Parts(tensors, [_basis_in(basis, tensors) for basis in bases])
    shapes = [_term_in(term, parts, place) for place, term in enumerate(terms)]
    return AdditiveModel(
        shapes=[term.shape for term in shapes],
        intercept=[_number_in(value) for value in intercept],
        task=task,
        features=[_feature_in(feature) for feature in features],
        classes=[_class_in(name) for name in classes],
        ties=ties,
    )


def _term_in(document: Json, parts: _Parts, place: int) -> Term:
    features, shape = _fields(document, "features", "shape")
    if features != [place]:
        raise ValueError(
            f"term {place} is over features {features}; this version knows one term for each feature, in order"
        )
    return Term((place,), _shape_in(shape, parts))


def _only_field(document: Any) -> tuple[str, Any]:
    if not isinstance(document, dict) or len(document) != 1:
        raise TypeError("expected an object with one field")
    return next(iter(document.items()))


def _fields(document: Json, *names: str) -> list[Any]:
    """Return the fields of an object, all of them and no others."""
    if not isinstance(document, dict):
        raise TypeError(f"expected an object with {', '.join(names)}")
    unknown, absent = [key for key in document if key not in names], [name for name in names if name not in document]
    if unknown or absent:
        raise ValueError(f"field {absent[0]!r} is missing" if absent else f"unknown field {unknown[0]!r}")
    return [document[name] for name in names]


def _check_version(path: object, document: Any) -> None:
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError(path, "does not say which version of the format it has")
    if version > VERSION:
        raise ModelFileError(path, f"has format version {version}, this suffice reads up to {VERSION}; upgrade suffice")


def _no_duplicates(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("an object has the same field twice")
    return dict(pairs)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _one_line(error: Exception) -> str:
    text = f"no {error} there" if isinstance(error, KeyError) else str(error)
    return " ".join(text.split())[:200]
