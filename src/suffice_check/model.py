"""The model file (docs/model-file.md), read from scratch: features, domains, shapes, and what scores decide."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.balls import ONE
from suffice_check.domain import Domain, read_domain
from suffice_check.ordered import Number
from suffice_check.pair_reading import read_pair
from suffice_check.pairs import PairTerm
from suffice_check.reading import MISTAKES, Value, fields, has_repeats, items, number, unreadable, whole
from suffice_check.shape_reading import changed, read_any, read_network
from suffice_check.shapes import Changed, Outputs, Remembered, Shape
from suffice_check.smooth import SmoothChanged, SmoothShape
from suffice_check.tensors import Tensors, open_file


class Feature(NamedTuple):
    """A feature, and its shape as a function of the user's own values."""

    name: str
    domain: Domain
    shape: Remembered | SmoothChanged
    deviation: Fraction | None

    def part(self, x: Value) -> Outputs:
        """Return the feature's part of each score at a value."""
        if not isinstance(x, Number):
            return self.shape.label(x)
        if isinstance(self.shape, SmoothChanged):
            raise TypeError("a smooth shape is known between two numbers only")
        return self.shape.pieces(x.value, x.value).cell(x.value, 0).at(x.value)

    def ends(self, x: Value) -> tuple[Outputs, Outputs]:
        """Return what the feature's part of each score is not below, and not above, at a value."""
        if isinstance(self.shape, SmoothChanged) and isinstance(x, Number):
            balls = self.shape.values(x.value)
            return tuple(Fraction(m - r, ONE) for m, r in balls), tuple(Fraction(m + r, ONE) for m, r in balls)
        exact = self.part(x)
        return exact, exact


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
        return _model(*open_file(content))
    except (*MISTAKES, struct.error) as error:
        raise unreadable("the model file", error) from None


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
    shared = [read_network(basis, tensors) for basis in items(bases)]
    read = []
    mains, rest = items(terms)[: len(items(features))], items(terms)[len(features) :]
    if bool(rest) != (version == 2):
        raise ValueError("there are terms over two features in version 2, and in no other")
    for i, (term, feature) in enumerate(zip(mains, features, strict=True)):
        over, shape = fields(term, "features", "shape")
        if [whole(place, 10**6) for place in items(over)] != [i]:
            raise ValueError(f"term {i} is not over feature {i} alone")
        read.append(_feature(feature, read_any(shape, tensors, shared)))
    exact = [one.shape for one in read if isinstance(one.shape, Remembered)]
    if rest and len(exact) < len(read):
        raise ValueError("terms over two features are not checked beside smooth shapes")
    pairs = [read_pair(term, tensors, shared, exact) for term in rest]
    if len({pair.features for pair in pairs}) < len(pairs):
        raise ValueError("two terms are over the same two features, in the same order")
    outputs = {feature.shape.outputs for feature in read} | {pair.shape.outputs for pair in pairs}
    if outputs != {len(scores)} or len({feature.name for feature in read}) != len(read):
        raise ValueError("shapes need an output for each score, and features names of their own")
    logit_offset = None if offset is None else number(offset)
    if logit_offset != 0 and (task == "regression" or (task == "multiclass" and logit_offset is not None)):
        raise ValueError("a logit_offset is for models of two classes")
    return Model(task, ties, classes, scores, read, pairs, logit_offset)


def _feature(document: Any, shape: Shape | SmoothShape) -> Feature:
    name, center, scale, deviation, domain = fields(document, "name", "center", "scale", "deviation", "domain")
    spread = None if deviation is None else number(deviation)
    if not isinstance(name, str) or not name or (spread is not None and spread < 0):
        raise ValueError("a feature needs a name, and no deviation below 0")
    own = changed(shape, center=number(center), scale=number(scale))
    return Feature(name, read_domain(domain), Remembered(own) if isinstance(own, Changed) else own, spread)
