"""Running a part of an ONNX graph, and no more than that: a graph may ask for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import class_places, float_table
from suffice.adapters.draft import MOST_UNNAMED, Live
from suffice.errors import AdapterError

Array = NDArray[Any]
Feed: TypeAlias = Callable[[Any], dict[str, Array]]  # rows of cells as the inputs of a graph

DOMAINS = ("", "ai.onnx", "ai.onnx.ml")  # of operations; others mean what their owners like

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
# What hands scores or probabilities on: as a map, of one class, a column for each, divided by their sum.
_TELLING = {
    "ArrayFeatureExtractor",
    "Cast",
    "Flatten",
    "Identity",
    "Normalizer",
    "Reshape",
    "Slice",
    "Squeeze",
    "ZipMap",
}


def check_contained(model: Any, source: str) -> None:
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


def is_told(model: Any, scores: str, nodes: int) -> bool:
    """Whether a graph, after its first `nodes`, returns some scores, with nothing more done to them."""
    constants = {one.name for one in model.graph.initializer}
    names = {scores}
    for node in model.graph.node[nodes:]:
        given, *rest = node.input or [""]
        if node.op_type in _TELLING and node.domain in DOMAINS and given in names and constants.issuperset(rest):
            names.update(node.output)
    return any(one.name in names for one in model.graph.output)


def done_to(model: Any, scores: str, nodes: int) -> str:
    """Return the first operation, after the first `nodes`, that does more to some scores than hand them on."""
    names = {scores}
    for node in model.graph.node[nodes:]:
        if not names.isdisjoint(node.input):
            if node.op_type not in _TELLING:
                return str(node.op_type)
            names.update(node.output)
    return ""


def labels(model: Any, nodes: int, classes: Iterable[Any], source: str, feed: Feed) -> Live | None:
    """Return how to ask for the labels that a graph returns beside its score; None if it returns none.

    The first `nodes` of the graph lead to the score, and were read.
    """
    from onnx import TensorProto

    kinds = (TensorProto.INT64, TensorProto.INT32, TensorProto.STRING, TensorProto.BOOL)
    output = next((one.name for one in model.graph.output if one.type.tensor_type.elem_type in kinds), None)
    if output is None:
        return None
    sizes = _constant_sizes(model)
    places, wanted, tables = set[int](), {output}, 0
    for place in reversed(range(len(model.graph.node))):
        node = model.graph.node[place]
        if wanted.isdisjoint(node.output) or not sizes.keys().isdisjoint(node.output):
            continue
        tables += node.op_type in _NAMING
        if place >= nodes and (not _is_plain(node, sizes) or tables > 1):
            raise AdapterError(
                f"{source} makes its labels ({output}) with a {node.op_type} that is not read; leave that output out"
            )
        places.add(place)
        wanted.update(node.input)
    kept = [k for k, node in enumerate(model.graph.node) if k in places or node.op_type == "Constant"]
    ask = live(model, output, kept, feed)
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
    if node.domain not in DOMAINS or constants.count(None) != 1:
        return False
    if node.op_type in _NAMING:
        return constants[0] is not None and constants[0] <= MOST_UNNAMED
    return node.op_type in _RESHAPING or (node.op_type in _COMPARING and all(one in (None, 1) for one in constants))


def live(model: Any, output: str, places: Iterable[int], feed: Feed) -> Live:
    """Return how to ask for an output of a graph, of which only some nodes are run: it may do anything besides."""

    from onnx import TensorProto, helper

    def predict(rows: Any) -> Array:
        from onnx.reference import ReferenceEvaluator

        (answer,) = ReferenceEvaluator(scoring).run([output], feed(rows))
        return np.asarray(answer)

    scoring = type(model)()
    scoring.CopyFrom(model)
    del scoring.graph.node[:]
    scoring.graph.node.extend(model.graph.node[k] for k in places)
    unnamed = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
    returned = [one for one in model.graph.output if one.name == output] or [unnamed]
    del scoring.graph.output[:]
    scoring.graph.output.extend(returned)
    return predict


def one_table(model: Any) -> Feed:
    """Return how rows become the one input of a graph, a table of float32."""
    known = {one.name for one in model.graph.initializer}
    (name,) = [one.name for one in model.graph.input if one.name not in known]
    return lambda rows: {name: float_table(rows).astype(np.float32)}
