"""ONNX: graphs that are additive by their structure.

The graph is walked once. Each tensor is a row of blocks: a `Chain` of layers over one input column, or a `Sum` of
functions of columns. Linear operations go through both; any other needs a chain. Where a graph mixes columns before a
nonlinearity it is not additive, and that operation is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import class_places, float_table
from suffice.adapters.draft import FLOAT32, MOST_UNNAMED, Cell, Draft, Link, Live, Options, name_features
from suffice.adapters.onnx_operations import OPERATIONS, Chain, Row, Sum, Tensor, as_sum, linear, plus
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import ZERO
from suffice.shapes import PiecewiseLinear, Shape

Array = NDArray[Any]

_DOMAINS = ("", "ai.onnx", "ai.onnx.ml")  # of operations; others mean what their owners like

# What makes labels of scores. It is only run, to compare; so none of it may loop, or make much of little: one tensor
# goes through, beside single numbers and, once, a table of names.
_RESHAPING = {
    "ArgMax",
    "Binarizer",
    "Cast",
    "Flatten",
    "Identity",
    "LabelEncoder",
    "Neg",
    "Normalizer",
    "Not",
    "Reshape",
}
_RESHAPING |= {"Round", "Softmax", "Squeeze", "Unsqueeze"}
_COMPARING = {"Add", "Mul", "Sub", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Where"}
_NAMING = {"ArrayFeatureExtractor", "Gather"}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of an ONNX model, as `onnx.load` returns it."""
    source = "the ONNX graph"
    walk = _Walk(obj, source)
    row, link = walk.result
    total = as_sum(row)
    count = walk.columns
    shapes = _column_shapes(total, count)
    outputs = total.width
    task = _task(outputs, link, options.task, walk.classes)
    features = name_features(None, count, options.features)
    classes = options.classes or (None if task == "regression" else walk.classes)
    # A graph returns scores or probabilities; where it returns labels too, they are those of a score above 0.
    ties: Any = "negative" if walk.classes else "positive"
    model = AdditiveModel(shapes, list(total.constant), task, features, classes, ties)
    answers = None if task == "regression" else _labels(obj, walk, walk.classes or range(len(model.classes)), source)
    return Draft(model, source, _live(obj, walk.output, range(walk.nodes)), link, FLOAT32, answers=answers)


def _task(outputs: int, link: Link, given: str | None, classes: Sequence[Any] | None) -> str:
    if given is None and outputs == 1 and link == "score" and classes is None:
        raise AdapterError("the ONNX graph does not say what its score decides; give task='binary' or 'regression'")
    if given is None and outputs > 1 and link == "score" and classes is None:
        raise AdapterError(f"the ONNX graph has {outputs} outputs; if the largest one wins, give task='multiclass'")
    return given or ("binary" if outputs == 1 else "multiclass")


class _Walk:
    """One way through the graph, from its inputs to its score."""

    def __init__(self, model: Any, source: str) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError as error:
            raise AdapterError(f"{source} needs the package onnx ({error}): pip install 'suffice[onnx]'") from None
        self.classes: list[Any] | None = None
        graph = model.graph
        _check_contained(model, source)
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
        self.nodes = 0  # how many lead to the score
        for node in graph.node:
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            if link != "score":
                break  # what comes after the link (labels, maps of probabilities) is no longer the score
            self.nodes += 1
            if node.domain not in _DOMAINS:
                raise AdapterError(f"{source} has a {node.op_type} of {node.domain!r}, which is not read")
            if node.op_type in ("Sigmoid", "Softmax"):
                link = "sigmoid" if node.op_type == "Sigmoid" else "softmax"
                self._known[node.output[0]] = self._known[node.input[0]]
            elif node.op_type == "LinearClassifier":
                link = self._classifier(node, attributes)
            else:
                self._step(node, attributes, source)
        names = [one.name for one in graph.output]
        self.output = next((name for name in reversed(names) if isinstance(self._known.get(name), tuple)), "")
        if not self.output:
            raise AdapterError(f"{source} has no output that is a score; export the score, not labels alone")
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
                f"{source} has a {node.op_type} ({node.name or node.output[0]}), which is not read; those read are "
                f"{', '.join(sorted(OPERATIONS))}"
            )
        try:
            self._known[node.output[0]] = OPERATIONS[node.op_type](given, attributes)
        except AdapterError as error:
            raise AdapterError(f"{source}, {node.op_type} ({node.name or node.output[0]}): {error}") from None

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


def _check_contained(model: Any, source: str) -> None:
    """Refuse a graph that reads other files, or brings operations of its own."""
    if model.functions:
        raise AdapterError(f"{source} has functions of its own ({model.functions[0].name}), which are not read")
    tensors = [*model.graph.initializer]
    for node in model.graph.node:
        for one in node.attribute:
            tensors += [one.t, *one.tensors]
    outside = next((one for one in tensors if one.data_location == one.EXTERNAL), None)
    if outside is not None:
        raise AdapterError(
            f"{source} keeps {outside.name or 'a tensor'!r} in another file, which is not read; load it with "
            "onnx.load(path), or save it as one file: onnx.save(model, path, save_as_external_data=False)"
        )


def _labels(model: Any, walk: _Walk, classes: Iterable[Any], source: str) -> Live | None:
    """Return how to ask for the labels that a graph returns beside its score; None if it returns none."""
    from onnx import TensorProto

    kinds = (TensorProto.INT64, TensorProto.INT32, TensorProto.STRING, TensorProto.BOOL)
    output = next((one.name for one in model.graph.output if one.type.tensor_type.elem_type in kinds), None)
    if output is None:
        return None
    sizes = _constant_sizes(model)
    places, wanted, tables = [], {output}, 0
    for place in reversed(range(len(model.graph.node))):
        node = model.graph.node[place]
        if wanted.isdisjoint(node.output) or not sizes.keys().isdisjoint(node.output):
            continue
        tables += node.op_type in _NAMING
        if place >= walk.nodes and (not _is_plain(node, sizes) or tables > 1):
            raise AdapterError(
                f"{source} makes its labels ({output}) with a {node.op_type} that is not read; leave that output out"
            )
        places.append(place)
        wanted.update(node.input)
    ask = _live(
        model, output, [k for k, node in enumerate(model.graph.node) if k in places or node.op_type == "Constant"]
    )
    names = list(classes)
    return lambda rows: class_places(ask(rows).reshape(len(rows)), names)


def _constant_sizes(model: Any) -> dict[str, int]:
    """Return how many numbers each constant of a graph has."""
    from onnx import helper, numpy_helper

    found = {one.name: int(numpy_helper.to_array(one).size) for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            value = helper.get_attribute_value(node.attribute[0])
            found[node.output[0]] = int(np.size(numpy_helper.to_array(value) if hasattr(value, "dims") else value))
    return found


def _is_plain(node: Any, sizes: Mapping[str, int]) -> bool:
    """Whether an operation makes no more of one tensor than there is."""
    constants = [sizes.get(name) for name in node.input if name]
    if node.domain not in _DOMAINS or constants.count(None) != 1:
        return False
    if node.op_type in _NAMING:
        return constants[0] is not None and constants[0] <= MOST_UNNAMED
    return node.op_type in _RESHAPING or (node.op_type in _COMPARING and all(one in (None, 1) for one in constants))


def _live(model: Any, output: str, places: Iterable[int]) -> Live:
    """Return how to ask for an output of a graph, of which only some nodes are run: it may do anything besides."""

    def predict(rows: list[list[Cell]]) -> Array:
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(scoring)
        (answer,) = evaluator.run([output], {evaluator.input_names[0]: float_table(rows).astype(np.float32)})
        return np.asarray(answer)

    scoring = type(model)()
    scoring.CopyFrom(model)
    del scoring.graph.node[:]
    scoring.graph.node.extend(model.graph.node[k] for k in places)
    returned = [one for one in model.graph.output if one.name == output]
    del scoring.graph.output[:]
    scoring.graph.output.extend(returned)
    return predict
