"""Reading the model file. Nothing in it is ever executed, and loading checks as strictly as building by hand."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from suffice.errors import ModelFileError, SufficeError
from suffice.model.additive import AdditiveModel, Feature, Term
from suffice.model.domain import Domain, Span
from suffice.model.file_format import KEY, NUMBER, VERSION, Json, Tensors, is_class
from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.values import MISSING, Value
from suffice.shapes import Activation, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.shape import Rescaled, Scaled, Sum


class _Parts(NamedTuple):
    """What shapes are read from."""

    tensors: Tensors
    bases: list[ReluNetwork]


def load_model(path: str | os.PathLike[str]) -> AdditiveModel:
    """Read a model file.

    Parameters
    ----------
    path : path
        A file that `AdditiveModel.save` wrote.

    Returns
    -------
    AdditiveModel

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, of a newer version, or not a model file of suffice.

    Examples
    --------
    >>> import pathlib, tempfile, suffice
    >>> model = suffice.AdditiveModel([suffice.Steps([18], [-1, 2])], features=["age"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.safetensors"
    ...     model.save(path)
    ...     suffice.load(path).names
    ('age',)
    """
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise ModelFileError(path, "is a safetensors file, but not a model of suffice")
            document = json.loads(metadata[KEY], object_pairs_hook=_no_duplicates, parse_constant=_refuse_constant)
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


def _number_in(text: Any) -> Rational:
    if not isinstance(text, str) or not NUMBER.fullmatch(text):
        raise ValueError(f'{str(text)[:40]!r} is not a number written as "p/q"')
    numerator, _, denominator = text.partition("/")
    return fmpq(int(numerator), int(denominator or 1))


def _value_in(document: Any) -> Value:
    kind, content = _only_field(document)
    if kind == "number":
        return _number_in(content)
    if kind == "missing" and content is True:
        return MISSING
    if kind == "label" and isinstance(content, str):
        return content
    raise ValueError(f"{kind!r} is not a kind of value")


def _class_in(name: Any) -> Any:
    if not is_class(name):
        raise TypeError(f"{name!r} is not a class")
    return name


# --- features ---------------------------------------------------------------------------------------------------------


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


READERS: Mapping[str, Callable[[Json, _Parts], Shape]] = {
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
    if kind not in READERS:
        raise ValueError(f"{kind!r} is not a kind of shape")
    return READERS[kind](rest, parts)


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
        raise ModelFileError(path, "does not state its format version")
    if version > VERSION:
        raise ModelFileError(path, f"has format version {version}, but this suffice reads up to {VERSION}; upgrade it")


def _no_duplicates(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("an object has the same field twice")
    return dict(pairs)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _one_line(error: Exception) -> str:
    text = f"no {error} there" if isinstance(error, KeyError) else str(error)
    return " ".join(text.split())[:200]
