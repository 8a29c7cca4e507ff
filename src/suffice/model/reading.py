"""Reading the model file. Nothing in it is ever executed, and loading checks as strictly as building by hand."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from suffice.errors import ModelFileError, SufficeError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain, Span
from suffice.model.fields import fields, no_duplicates, number_in, value_in
from suffice.model.file_format import KEY, VERSION, Json, Tensors, is_class
from suffice.model.shape_reading import Parts, basis_in, pair_shape_in, shape_in
from suffice.shapes import PairShape, Shape


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
            document = json.loads(metadata[KEY], object_pairs_hook=no_duplicates, parse_constant=_refuse_constant)
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


def _class_in(name: Any) -> Any:
    if not is_class(name):
        raise TypeError(f"{name!r} is not a class")
    return name


# --- features ---------------------------------------------------------------------------------------------------------


def _feature_in(document: Json) -> Feature:
    name, center, scale, deviation, domain = fields(document, "name", "center", "scale", "deviation", "domain")
    spread = None if deviation is None else number_in(deviation)
    return Feature(name, _domain_in(domain), number_in(center), number_in(scale), spread)


def _domain_in(document: Json) -> Domain:
    if isinstance(document, dict):
        document = {"ordered": False, **document}
    spans, categories, codes, is_ordered = fields(document, "spans", "categories", "codes", "ordered")
    names, special = (tuple(value_in(value) for value in values) for values in (categories, codes))
    if not isinstance(is_ordered, bool) or (is_ordered and not names):
        raise ValueError("a domain is ordered or not, and one that is has categories")
    return Domain(tuple(_span_in(*span) for span in spans), names, special, is_ordered)


def _span_in(low: Any, high: Any, is_integers: Any) -> Span:
    span = Span(None if low is None else number_in(low), None if high is None else number_in(high), is_integers)
    ends = [end for end in span[:2] if end is not None]
    if not isinstance(is_integers, bool) or ends != sorted(ends) or (is_integers and any(end.q != 1 for end in ends)):
        raise ValueError(f"{low} to {high} is not a span")
    return span


# --- the document -----------------------------------------------------------------------------------------------------


def _model_in(document: Json, tensors: Tensors) -> AdditiveModel:
    if isinstance(document, dict):
        document = {"logit_offset": "0", **document}
    version, task, ties, classes, intercept, features, bases, terms, offset = fields(
        document, "version", "task", "ties", "classes", "intercept", "features", "bases", "terms", "logit_offset"
    )
    parts = Parts(tensors, [basis_in(basis, tensors) for basis in bases])
    named = [_feature_in(feature) for feature in features]
    mains = terms if version == 1 else terms[: len(named)]
    shapes = [_main_in(term, parts, place) for place, term in enumerate(mains)]
    pairs = [_pair_in(term, parts, named) for term in terms[len(mains) :]]
    return AdditiveModel(
        shapes=shapes,
        intercept=[number_in(value) for value in intercept],
        task=task,
        features=named,
        classes=[_class_in(name) for name in classes],
        ties=ties,
        logit_offset=None if offset is None else number_in(offset),
        pairs=no_duplicates(pairs, "two terms are over the same two features, in the same order"),
    )


def _main_in(document: Json, parts: Parts, place: int) -> Shape:
    features, shape = fields(document, "features", "shape")
    if features != [place] or type(features[0]) is not int:
        raise ValueError(
            f"term {place} is over features {features}; the first terms are over one feature each, in order"
        )
    return shape_in(shape, parts)


def _pair_in(document: Json, parts: Parts, features: Sequence[Feature]) -> tuple[tuple[str, str], PairShape]:
    places, shape = fields(document, "features", "shape")
    if len(places) != 2 or not all(type(k) is int and 0 <= k < len(features) for k in places):
        raise ValueError(f"a term is over features {places}; after one for each feature, terms are over two of them")
    return (features[places[0]].name, features[places[1]].name), pair_shape_in(shape, parts)


def _check_version(path: object, document: Any) -> None:
    version = document.get("version") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ModelFileError(path, "does not state its format version")
    if version > VERSION:
        raise ModelFileError(path, f"has format version {version}, but this suffice reads up to {VERSION}; upgrade it")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _one_line(error: Exception) -> str:
    text = f"no {error} there" if isinstance(error, KeyError) else str(error)
    return " ".join(text.split())[:200]
