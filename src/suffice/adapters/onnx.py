"""ONNX: graphs that are additive by their structure.

The graph is walked once. Each tensor is a row of blocks: a `Chain` of layers over one input column, or a `Sum` of
functions of columns. Linear operations go through both; any other needs a chain. Where a graph mixes columns before a
nonlinearity it is not additive, and that operation is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from suffice.adapters import onnx_pipelines
from suffice.adapters.draft import FLOAT32, MOST_UNNAMED, Draft, Link, Options, name_features
from suffice.adapters.onnx_operations import OPERATIONS
from suffice.adapters.onnx_rows import Chain, Row, Sum, Tensor, as_sum, check_size, linear, plus
from suffice.adapters.onnx_running import DOMAINS, check_contained, done_to, is_told, labels, live, one_table
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import ZERO
from suffice.shapes import PiecewiseLinear, Shape

_LAYERS = ("Gemm", "MatMul", "Mul")  # what comes after an activation, but not after a score
_LINKS: Mapping[str, Link] = {"Sigmoid": "sigmoid", "Softmax": "softmax", "Exp": "exp"}  # what ends a score


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of an ONNX model, as `onnx.load` returns it."""
    source = "the ONNX graph"
    check_contained(obj, source)
    if onnx_pipelines.is_one(obj):
        return onnx_pipelines.convert(obj, options, source)
    walk = _Walk(obj, source)
    row, link = walk.result
    total = as_sum(row)
    count = walk.columns
    shapes = _column_shapes(total, count)
    outputs = total.width
    task = _task(outputs, link, options.task or walk.told_task, walk.classes)
    features = name_features(None, count, options.features)
    classes = options.classes or (None if task == "regression" else walk.classes)
    # A graph returns scores or probabilities; where it returns labels too, they are those of a score above 0.
    ties: Any = "negative" if walk.classes else "positive"
    model = AdditiveModel(shapes, list(total.constant), task, features, classes, ties)
    feed, known = one_table(obj), walk.classes or range(len(model.classes))
    answers = None if task == "regression" else labels(obj, walk.nodes, known, source, feed)
    return Draft(model, source, live(obj, walk.output, range(walk.nodes), feed), link, FLOAT32, answers=answers)


def _task(outputs: int, link: Link, given: str | None, classes: Sequence[Any] | None) -> str:
    if given is None and outputs == 1 and link == "score" and classes is None:
        raise AdapterError("the ONNX graph does not say what its score decides; give task='binary' or 'regression'")
    if given is None and outputs > 1 and link == "score" and classes is None:
        raise AdapterError(f"the ONNX graph has {outputs} outputs; if the largest one wins, give task='multiclass'")
    if link == "exp":
        return "regression"
    return given or ("binary" if outputs == 1 else "multiclass")


class _Walk:
    """One way through the graph, from its inputs to its score."""

    def __init__(self, model: Any, source: str) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError as error:
            raise AdapterError(f"{source} needs the package onnx ({error}): pip install 'suffice[onnx]'") from None
        self.classes: list[Any] | None = None
        self.told_task: str | None = None
        graph = model.graph
        self._known: dict[str, Tensor] = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
        inputs = [one for one in graph.input if one.name not in self._known]
        if len(inputs) != 1:
            raise AdapterError(f"{source} has {len(inputs)} inputs; export it with one table of numbers as input")
        shape = [dimension.dim_value for dimension in inputs[0].type.tensor_type.shape.dim]
        if len(shape) != 2 or shape[1] < 1:
            raise AdapterError(f"{source} does not say how many columns its input has; export it with a fixed width")
        self.columns = shape[1]
        if self.columns > MOST_UNNAMED:
            raise AdapterError(f"{source} has {self.columns} columns; up to {MOST_UNNAMED} are read")
        self._known[inputs[0].name] = tuple(Chain(k) for k in range(self.columns))
        link: Link = "score"
        scored = ""
        hidden = {name for node in graph.node if node.op_type in _LAYERS for name in node.input}
        self.nodes = self._made = 0  # how many lead to the score, and how many columns they make
        for node in graph.node:
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            if scored:
                break  # what comes after (labels, maps of probabilities) is no longer the score
            self.nodes += 1
            if node.domain not in DOMAINS:
                raise AdapterError(f"{source} has a {node.op_type} of {node.domain!r}, which is not read")
            is_row = isinstance(self._known.get(node.input[0]) if node.input else None, tuple)
            if node.op_type in _LINKS and is_row and node.output[0] not in hidden:
                link = _LINKS[node.op_type]
                self._known[node.output[0]] = self._known[node.input[0]]
                scored = node.output[0]
            elif node.op_type == "LinearClassifier":
                link, scored = self._classifier(node, attributes), node.output[1]
            else:
                self._step(node, attributes, source)
        names = [one.name for one in graph.output]
        self.output = next((name for name in reversed(names) if isinstance(self._known.get(name), tuple)), "")
        if not self.output and scored and is_told(model, scored, self.nodes):
            self.output = scored
        if not self.output:
            after = done_to(model, scored, self.nodes)
            raise AdapterError(
                f"{source} returns labels alone, or what is not read is done to its score"
                f"{after and f' ({after})'}; export the score itself, or convert the fitted model"
            )
        found = self._known[self.output]
        assert isinstance(found, tuple)
        self.result: tuple[Row, Link] = (found, link)

    def _step(self, node: Any, attributes: Mapping[str, Any], source: str) -> None:
        given = [self._known.get(name) if name else None for name in node.input]
        if node.op_type == "Constant":
            from onnx import numpy_helper

            self._known[node.output[0]] = numpy_helper.to_array(attributes["value"])
            return
        if node.op_type not in OPERATIONS:
            raise AdapterError(
                f"{source} has the operation {node.op_type} ({node.name or node.output[0]}), which is not read; "
                f"convert the fitted model itself, or use {', '.join(sorted(OPERATIONS))}"
            )
        try:
            result = OPERATIONS[node.op_type](given, attributes)
            self._made += len(result) if isinstance(result, tuple) else 0
            check_size(self._made, result)
        except AdapterError as error:
            raise AdapterError(f"{source}, {node.op_type} ({node.name or node.output[0]}): {error}") from None
        except (IndexError, ValueError) as error:  # tables of more dimensions, as for distances between rows
            raise AdapterError(
                f"{source}, {node.op_type} ({node.name or node.output[0]}): it joins columns in a way that is not "
                "read; convert the fitted model instead"
            ) from error
        if node.op_type == "LinearRegressor" and isinstance(result, tuple):
            self.told_task = "regression"
        self._known[node.output[0]] = result

    def _classifier(self, node: Any, attributes: Mapping[str, Any]) -> Link:
        labels = attributes.get("classlabels_ints") or attributes.get("classlabels_strings") or []
        self.classes = [label.decode() if isinstance(label, bytes) else int(label) for label in labels]
        row = self._known[node.input[0]]
        weights = np.array(attributes["coefficients"], dtype=np.float32).reshape(len(self.classes), -1)
        bias = np.array(attributes.get("intercepts", [0.0] * len(self.classes)), dtype=np.float32)
        if len(self.classes) == 2:  # two rows, each the other's opposite
            weights, bias = weights[1:], bias[1:]
        assert isinstance(row, tuple)
        self._known[node.output[1]] = plus(linear(row, weights), bias)
        transform = attributes.get("post_transform", b"NONE")
        return {b"LOGISTIC": "sigmoid", b"SOFTMAX": "softmax"}.get(transform, "score")  # type: ignore[return-value]


def _column_shapes(total: Sum, columns: int) -> list[Shape]:
    """Return what each column adds to the sum."""
    parts: list[list[Shape]] = [[] for _ in range(columns)]
    for column, shape in total.parts:
        parts[column].append(shape)
    nothing = PiecewiseLinear([0], [[ZERO] * total.width])
    return [reduce(Shape.__add__, some) if some else nothing for some in parts]
