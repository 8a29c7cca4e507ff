"""ONNX as skl2onnx writes it: columns that are prepared one by one, then a linear model or trees.

The graph is walked once, to the model. Each tensor before it is a row of columns, each a function of one input column
(`onnx_columns`); the model is then put behind them as one of scikit-learn is put behind its transformers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.adapters.behind import put_behind
from suffice.adapters.column import Column, Columns, Raw
from suffice.adapters.draft import FLOAT32, MOST_UNNAMED, Draft, Link, Options, name_features, renamed
from suffice.adapters.onnx_columns import KINDS, MOST_COLUMNS, OPERATIONS, TEXT, WHOLE, Table, Tensor, row_of
from suffice.adapters.onnx_operations import OPERATIONS as OF_NETWORKS
from suffice.adapters.onnx_running import DOMAINS, Feed, is_told, labels, live
from suffice.adapters.onnx_trees import trees_of
from suffice.adapters.parts import Part, new_model
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.shapes import Pieces

_MOST_MADE = 2 * MOST_COLUMNS  # in all steps together, which are also run, to compare
_CLASSIFIERS = ("LinearClassifier", "TreeEnsembleClassifier")
_REGRESSORS = ("LinearRegressor", "TreeEnsembleRegressor")
_LINKS: Mapping[bytes, Link] = {b"NONE": "score", b"LOGISTIC": "sigmoid", b"SOFTMAX": "softmax"}


def is_one(model: Any) -> bool:
    """Whether a graph prepares columns for a model, more than a network's own operations could."""
    nodes = list(model.graph.node)
    place = next((k for k, node in enumerate(nodes) if node.op_type in (*_CLASSIFIERS, *_REGRESSORS)), None)
    if place is None:
        return False
    known = {one.name for one in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in known]
    is_linear = nodes[place].op_type.startswith("Linear")
    return not (is_linear and len(inputs) == 1 and all(node.op_type in OF_NETWORKS for node in nodes[:place]))


def convert(obj: Any, options: Options, source: str) -> Draft:
    """Return the draft of such a graph."""
    inputs = _inputs(obj, source)
    names, kinds = _columns(inputs, source)
    table = Table(kinds, [])
    place, row = _walk(obj, inputs, table, source)
    node = obj.graph.node[place]
    attributes = _attributes(node)
    inner, link = _model(obj.graph.node, node, attributes, len(row), source)
    scores = node.output[1 if node.op_type in _CLASSIFIERS else 0]
    if not is_told(obj, scores, place + 1):
        raise AdapterError(
            f"{source} does something to the scores of its {node.op_type} before it returns them, which is not read; "
            "export the model itself"
        )
    columns: Columns = [*row, *table.needed]
    called = None if len(inputs) == 1 else names
    draft = put_behind(Draft(inner, source), columns, called, len(kinds), lambda given: given, source)
    assert draft.table is not None
    feed = _feed(inputs, kinds, draft.table)
    model = _with_kinds(draft.model, kinds, names, options)
    known = model.classes
    answers = None if model.task == "regression" else labels(obj, place + 1, inner.classes, source, feed)
    asked = live(obj, scores, range(place + 1), feed)
    named = renamed(model, model.features, options.classes or known or None)
    return replace(draft, model=named, live=asked, link=link, precision=FLOAT32, answers=answers)


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {one.name: helper.get_attribute_value(one) for one in node.attribute}


def _inputs(model: Any, source: str) -> list[tuple[str, int, int]]:
    """Return the inputs of a graph: name, number of columns, type."""
    known = {one.name for one in model.graph.initializer}
    found = []
    for one in model.graph.input:
        if one.name in known:
            continue
        kind = one.type.tensor_type
        shape = [dimension.dim_value for dimension in kind.shape.dim]
        if len(shape) != 2 or shape[1] < 1:
            raise AdapterError(f"{source} does not say how many columns its input {one.name!r} has; export it with one")
        if kind.elem_type not in KINDS:
            raise AdapterError(
                f"{source} has an input {one.name!r} that is not of float32, whole numbers or text; export it with "
                "FloatTensorType, Int64TensorType or StringTensorType"
            )
        found.append((str(one.name), int(shape[1]), int(kind.elem_type)))
    if not 1 <= sum(width for _, width, _ in found) <= MOST_UNNAMED:
        raise AdapterError(f"{source} has no columns, or more than the {MOST_UNNAMED} that are read")
    return found


def _columns(inputs: Sequence[tuple[str, int, int]], source: str) -> tuple[list[str], list[int]]:
    """Return the name and the type of each column of the table."""
    if len(inputs) > 1 and any(width > 1 for _, width, _ in inputs):
        raise AdapterError(f"{source} has several inputs of several columns; export it with one column each")
    names = [name if width == 1 else f"x{k}" for name, width, _ in inputs for k in range(width)]
    return names, [kind for _, width, kind in inputs for _ in range(width)]


def _walk(
    model: Any, inputs: Sequence[tuple[str, int, int]], table: Table, source: str
) -> tuple[int, tuple[Column, ...]]:
    """Return the place of the model's node, and the columns that come to it."""
    from onnx import numpy_helper

    known: dict[str, Tensor] = {one.name: numpy_helper.to_array(one) for one in model.graph.initializer}
    first = made = 0
    for name, width, _ in inputs:
        known[name] = tuple(Raw(first + k) for k in range(width))
        first += width
    for place, node in enumerate(model.graph.node):
        if node.domain not in DOMAINS:
            raise AdapterError(f"{source} has a {node.op_type} of {node.domain!r}, which is not read")
        if node.op_type in (*_CLASSIFIERS, *_REGRESSORS):
            row = row_of(known.get(node.input[0]))
            return place, tuple(one if not isinstance(one, Raw) else table.number(one) for one in row)
        attributes = _attributes(node)
        what = f"{source}, {node.op_type} ({node.name or node.output[0]})"
        if node.op_type == "Constant":
            known[node.output[0]] = numpy_helper.to_array(attributes["value"])
            continue
        if node.op_type not in OPERATIONS:
            raise AdapterError(
                f"{what}, is not read before a model; convert the fitted pipeline itself, or use "
                f"{', '.join(sorted(OPERATIONS))}"
            )
        try:
            result = OPERATIONS[node.op_type](
                table, [known.get(name) if name else None for name in node.input], attributes
            )
        except AdapterError as error:
            raise AdapterError(f"{what}: {error}") from None
        made += len(result) if isinstance(result, tuple) else 0
        if made > _MOST_MADE:
            raise AdapterError(f"{what}: more than {_MOST_MADE} columns are made up to here, which are not read")
        known[node.output[0]] = result
    raise AssertionError  # `is_one` has seen the model


def _model(
    nodes: Sequence[Any], node: Any, attributes: Mapping[str, Any], count: int, source: str
) -> tuple[AdditiveModel, Link]:
    """Return the model of a node over the columns that come to it, and what the node makes of its scores."""
    transform = attributes.get("post_transform", b"NONE")
    if transform not in _LINKS:
        raise AdapterError(f"{source} has a {node.op_type} with post_transform {transform.decode()}, which is not read")
    is_classifier = node.op_type in _CLASSIFIERS
    classes = _classes(attributes) if is_classifier else None
    outputs = (len(classes) if len(classes) > 2 else 1) if classes else int(attributes.get("n_targets", 1))
    outputs = outputs if is_classifier else int(attributes.get("targets", outputs))
    if not is_classifier and outputs != 1:
        raise AdapterError(f"{source} predicts {outputs} targets at once; export one model for each")
    if is_classifier and sum(one.op_type in _CLASSIFIERS for one in nodes) > 1:
        raise AdapterError(
            f"{source} lets several classifiers vote, as AdaBoost does; GradientBoosting is read, and AdaBoost as the "
            "fitted object"
        )
    read = trees_of if node.op_type.startswith("Tree") else _linear
    parts, intercept, pairs = read(attributes, count, outputs, source)
    kind = "regression" if not is_classifier else "binary" if outputs == 1 else "multiclass"
    features = [Feature(f"x{k}") for k in range(count)]
    return new_model(parts, intercept, kind, features, classes, "negative", pairs), _LINKS[transform]


def _classes(attributes: Mapping[str, Any]) -> list[Any]:
    names = ("classlabels_int64s", "classlabels_ints", "classlabels_strings")
    found: Sequence[Any] = next((attributes[name] for name in names if attributes.get(name)), [])
    classes = [one.decode() if isinstance(one, bytes) else int(one) for one in found]
    if len(classes) < 2:
        raise AdapterError("the classifier of the ONNX graph has less than two classes")
    return classes


def _linear(
    attributes: Mapping[str, Any], count: int, outputs: int, source: str
) -> tuple[list[Part], list[Rational], list[Term]]:
    weights = np.array(attributes["coefficients"], dtype=np.float32)
    rows = weights.reshape(-1, count) if len(weights) % count == 0 else weights[None]
    bias = np.array(attributes.get("intercepts") or [0.0] * len(rows), dtype=np.float32)
    if rows.shape != (len(bias), count) or len(rows) < outputs:
        raise AdapterError(f"{source} has {len(weights)} weights and {len(bias)} intercepts for {count} columns")
    rows, bias = rows[-outputs:], bias[-outputs:]  # of two classes, each row is the other's opposite
    parts = [Part(tuple(Pieces.affine(rational(float(w)), ZERO) for w in rows[:, k])) for k in range(count)]
    return parts, [rational(float(b)) for b in bias], []


def _feed(inputs: Sequence[tuple[str, int, int]], kinds: Sequence[int], table: Any) -> Feed:
    """Return how rows of cells become the inputs of the graph."""

    def cast(block: Any, kind: int) -> Any:
        if kind == TEXT:
            return np.array([["" if isinstance(cell, float) else str(cell) for cell in row] for row in block])
        numbers = np.asarray(block, dtype=np.float64)
        return np.nan_to_num(numbers).astype(np.int64) if kind in WHOLE else numbers.astype(np.float32)

    def feed(rows: Any) -> dict[str, Any]:
        made = table(rows)
        if len(inputs) == 1:
            return {inputs[0][0]: cast(made, kinds[0])}
        return {name: cast(made[[name]].to_numpy(), kind) for name, _, kind in inputs}

    return feed


def _with_kinds(model: AdditiveModel, kinds: Sequence[int], names: Sequence[str], options: Options) -> AdditiveModel:
    """Return the model under the user's names, with columns of whole numbers as such."""
    features = name_features(model.names, len(model.names), options.features)
    places = {name: k for k, name in enumerate(names)} if len(names) == len(set(names)) else {}
    made = []
    for own, feature, domain in zip(model.names, features, model.domains, strict=True):
        kind = kinds[places[own]] if own in places else kinds[0]
        is_whole = kind in WHOLE and domain.spans
        kept = feature.domain or (Domain.integers() if is_whole else domain)
        made.append(Feature(feature.name, kept, feature.center, feature.scale, feature.deviation))
    return renamed(model, made, model.classes or None)
