"""Model files of every kind that is read, and damaged copies of them, by chance but the same in every run."""

from __future__ import annotations

import copy
import json
import random
import re
import struct
import tempfile
from pathlib import Path

import numpy as np
from test_files import EBM, LIGHTGBM, XGBOOST
from test_scorecard import CARD, CHARACTERISTICS, pmml, regression, table_of
from test_ubjson import write as write_ubjson

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Bins,
    Domain,
    Feature,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    PiecewisePolynomial,
    Product,
    ReluNetwork,
    Steps,
    Table,
)

CATBOOST = {
    "features_info": {
        "float_features": [
            {"feature_id": name, "flat_feature_index": k, "has_nans": True, "nan_value_treatment": "AsFalse"}
            for k, name in enumerate("ab")
        ]
    },
    "model_info": {"params": {"loss_function": {"type": "Logloss"}}, "class_params": {"class_names": [0, 1]}},
    "oblivious_trees": [
        {
            "splits": [{"split_type": "FloatFeature", "float_feature_index": k, "border": 0.5}],
            "leaf_values": [1.5, -1.0],
        }
        for k in (0, 1)
    ],
    "scale_and_bias": [1, [0.25]],
}
ODD = [0, -1, 2**31, 10**18, 1e308, 5e-324, float("nan"), "nan", "1e999999999", "", None, True, [], {}, [1], 10**400]
ODD_TEXTS = ["", "0", "-1", "nan", "inf", "1e999", "2147483648", "9" * 5000, "\x1b[2Jx", "é\u202e", "a", "1/0", "\0"]


def own_models():
    """Models that between them have every kind of shape."""
    net = ReluNetwork([[[1.0], [-2.0]], [[0.5, 1.0]]], [[0.0, 1.0], [0.25]])
    curve = PiecewisePolynomial([0, 2], [[0, 1], [0, 1, 1, "1/3"], [1]])
    kinds = Bins(keys=["red", "blue", MISSING])
    yield AdditiveModel([net, Steps([1, 2], [0, 1, -1]), Table({"a": 1, "b": -2, MISSING: 0})])
    yield AdditiveModel([curve, PiecewiseLinear([0, 1], [0, 2], left_slope=1) * "1/3"], "1/7", task="regression")
    yield AdditiveModel(
        [Steps([0], [[0, 1, 2], [2, 1, 0]]), (Steps([0], [[1, 0, 0], [0, 0, 1]])).rescaled(1, 2)],
        task="multiclass",
        intercept=[0, 1, "1/2"],
        classes=["x", "y", "z"],
        features=[Feature("u", Domain.integers(0, 9) | Domain.codes(-9)), Feature("v", deviation=2, center=1, scale=3)],
    )
    yield AdditiveModel(
        [Table({"red": 1, "blue": 2, MISSING: 0}), net, Steps([5], [0, 1])],
        features=["paint", "pay", "age"],
        pairs={
            ("paint", "age"): PairSteps(kinds, [18, 30], [[k + j for j in range(3)] for k in range(3)]) * "2/7",
            ("pay", "age"): PairLinear([0, 1], [0, 2, 4], [[0, 1, 2], [3, 4, 5]]).rescaled((1, 2), (3, -1)),
            ("age", "pay"): Product(Steps([1], [0, 1]), PiecewiseLinear([0], [0], right_slope=1)),
        },
    )


def graphs():
    """ONNX graphs: a network, columns prepared for a linear model, for trees, and categories."""
    from onnx import TensorProto, helper, numpy_helper

    def made(nodes, inputs, outputs, constants=()):
        graph = helper.make_graph(
            [helper.make_node(*one[:3], domain="ai.onnx.ml" if one[0] in ML else "", **one[3]) for one in nodes],
            "g",
            [helper.make_tensor_value_info(name, kind, [None, width]) for name, kind, width in inputs],
            [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
            [numpy_helper.from_array(np.asarray(value, dtype=kind), name) for name, value, kind in constants],
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=opsets).SerializeToString()

    number, whole, text = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
    linear = {"coefficients": [-0.5, 1.0, 0.5, -1.0], "intercepts": [-0.25, 0.25], "classlabels_ints": [0, 1]}
    tree = {
        "nodes_treeids": [0, 0, 0, 1, 1, 1],
        "nodes_nodeids": [0, 1, 2] * 2,
        "nodes_featureids": [0, 0, 0, 1, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 2,
        "nodes_values": [0.5, 0.0, 0.0] * 2,
        "nodes_truenodeids": [1, 0, 0] * 2,
        "nodes_falsenodeids": [2, 0, 0] * 2,
        "nodes_hitrates": [1.0] * 6,
        "nodes_missing_value_tracks_true": [0] * 6,
    }
    leaves = {"treeids": [0, 0, 1, 1], "nodeids": [1, 2, 1, 2], "ids": [0] * 4, "weights": [1.0, -2.0, 0.5, 1.5]}
    layers = [("Gemm", ["x", "w"], ["h"], {}), ("Relu", ["h"], ["r"], {}), ("Gemm", ["r", "v", "b"], ["s"], {})]
    weights = [("w", [[1.0, -1.0, 0.5]], "f4"), ("v", [[1.0], [2.0], [-3.0]], "f4"), ("b", [0.5], "f4")]
    yield made([*layers, ("Sigmoid", ["s"], ["p"], {})], [("x", number, 1)], [("p", number)], weights)
    label = [("Round", ["p"], ["r"], {}), ("Cast", ["r"], ["l"], {"to": whole})]
    sums = [("MatMul", ["x", "w"], ["m"], {}), ("Add", ["m", "b"], ["s"], {}), ("Sigmoid", ["s"], ["p"], {}), *label]
    two = [("w", [[2.0], [-1.0]], "f4"), ("b", [0.25], "f4")]
    yield made(sums, [("x", number, 2)], [("p", number), ("l", whole)], two)
    scaled = [
        ("Imputer", ["x"], ["i"], {"imputed_value_floats": [1.0, 2.0], "replaced_value_float": float("nan")}),
        ("Scaler", ["i"], ["z"], {"offset": [1.0, 0.0], "scale": [0.5, 2.0]}),
        ("LinearClassifier", ["z"], ["l", "p"], {**linear, "post_transform": "LOGISTIC"}),
        ("ZipMap", ["p"], ["q"], {"classlabels_int64s": [0, 1]}),
    ]
    yield made(scaled, [("x", number, 2)], [("l", whole), ("p", number)])
    regressor = {**tree, **{f"target_{key}": value for key, value in leaves.items()}, "n_targets": 1}
    yield made([("TreeEnsembleRegressor", ["x"], ["y"], regressor)], [("x", number, 2)], [("y", number)])
    chosen = {**tree, **{f"class_{key}": value for key, value in leaves.items()}, "classlabels_strings": ["no", "yes"]}
    chosen |= {"post_transform": "LOGISTIC", "base_values": [0.25]}
    returned = [("l", text), ("p", number)]
    yield made([("TreeEnsembleClassifier", ["x"], ["l", "p"], chosen)], [("x", number, 2)], returned)
    mixed = [
        ("OneHotEncoder", ["job"], ["h"], {"cats_strings": ["cook", "clerk"], "zeros": 1}),
        ("Reshape", ["h", "size"], ["flat"], {}),
        ("Binarizer", ["age"], ["old"], {"threshold": 40.0}),
        ("Concat", ["flat", "old"], ["all"], {"axis": 1}),
        ("LinearRegressor", ["all"], ["y"], {"coefficients": [1.0, -2.0, 0.5], "intercepts": [0.5]}),
    ]
    inputs = [("job", text, 1), ("age", number, 1)]
    yield made(mixed, inputs, [("y", number)], [("size", [-1, 2], "i8")])


ML = {
    "Binarizer",
    "Imputer",
    "LinearClassifier",
    "LinearRegressor",
    "OneHotEncoder",
    "Scaler",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "ZipMap",
}


def originals():
    """Yield kind, name of the file and content of files that are read as they are."""
    with tempfile.TemporaryDirectory() as folder:
        for model in own_models():
            path = Path(folder) / "m.safetensors"
            model.save(path)
            yield "suffice", path.name, path.read_bytes()
    for kind, document in (("ebm", EBM), ("xgboost", XGBOOST), ("catboost", CATBOOST)):
        yield kind, "m.json", json.dumps(document).encode()
    yield "ubjson", "m.ubj", write_ubjson(XGBOOST)
    yield "lightgbm", "m.txt", LIGHTGBM.encode()
    yield "card", "m.json", json.dumps(CARD).encode()
    yield "card table", "m.csv", table_of(CARD).encode()
    yield "pmml card", "m.pmml", pmml(CHARACTERISTICS).encode()
    for classes, how in (([None], "exp"), (["yes", "no"], "logit"), (["a", "b", "c"], "softmax")):
        rows = [[0.5 * k, 1.0 - k] for k in range(len(classes))]
        yield "pmml lines", "m.pmml", pmml(regression(classes, rows, how, [0.25] * len(classes))).encode()
    for graph in graphs():
        yield "onnx", "m.onnx", graph


# --- damage -----------------------------------------------------------------------------------------------------------


def flipped(content, draw):
    """A copy with some bits turned, bytes put in, parts doubled, or the end cut off."""
    made = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 5, 20])):
        place, kind = draw.randrange(len(made)), draw.randrange(5)
        if kind < 2:
            made[place] ^= 1 << draw.randrange(8)
        elif kind == 2:
            made[place] = draw.choice([0, 255, 34, 44, 10, 13, 128, 127, 27])
        elif kind == 3:
            made[place:place] = draw.randbytes(draw.randrange(5))
        else:
            made[place:place] = made[place : place + draw.randrange(40)]
    return bytes(made if draw.random() < 0.9 else made[: draw.randrange(len(made))])


def changed(document, draw):
    """A copy of a JSON document with one or more values, anywhere, replaced by odd ones, lost or doubled."""
    made = copy.deepcopy(document)
    for _ in range(draw.choice([1, 1, 2, 3])):
        at, path = made, []
        while isinstance(at, (dict, list)) and at and (not path or draw.random() > 0.15):
            key = draw.choice(list(at)) if isinstance(at, dict) else draw.randrange(len(at))
            path.append((at, key))
            at = at[key]
        if not path:
            continue
        (where, key), kind = path[-1], draw.random()
        if kind < 0.7:
            odd = copy.deepcopy(draw.choice(ODD))
            if isinstance(where[key], str):
                odd = draw.choice([*ODD_TEXTS, str(odd)])
            where[key] = odd
        elif kind < 0.85 or isinstance(where, dict):
            where.pop(key)
        else:
            where += copy.deepcopy(where)
    return made


_WORDS = re.compile(r'"[^"]*"|[\w.+-]+')


def reworded(text, draw):
    """A copy of a text with words replaced by odd ones or by others of it, or with lines lost or doubled."""
    for _ in range(draw.choice([1, 1, 2, 4])):
        words = list(_WORDS.finditer(text))
        if draw.random() < 0.2 or not words:
            lines = text.splitlines(keepends=True)
            k = draw.randrange(len(lines))
            lines[k : k + 1] = draw.choice([[], [lines[k]] * 2])
            text = "".join(lines) or text
            continue
        word, other = draw.choice(words), draw.choice(words).group().strip('"')
        odd = draw.choice([*ODD_TEXTS, other, other])
        quote = '"' if word.group().startswith('"') else ""
        text = text[: word.start()] + quote + odd + quote + text[word.end() :]
    return text


def regrouped(content, draw):
    """A copy of an ONNX graph with other attributes, inputs, types and sizes, with nodes lost, doubled or exchanged."""
    import onnx

    model = onnx.load_model_from_string(content)
    for _ in range(draw.choice([1, 1, 2, 3])):
        nodes = model.graph.node
        if not nodes:
            break
        node, kind = draw.choice(nodes), draw.randrange(9)
        if kind < 4 and node.attribute:
            one = draw.choice(node.attribute)
            listed = next((field for field in (one.ints, one.floats, one.strings) if len(field)), None)
            if listed is not None and draw.random() < 0.8:
                k = draw.randrange(len(listed))
                if draw.random() < 0.3:
                    del listed[k:]
                elif listed is one.strings:
                    listed[k] = draw.choice([b"", b"LEAF", b"BRANCH_EQ", b"\xff", listed[0]])
                else:
                    odd = draw.choice([0, 1, 2, -1, 2**31, 2**62]) if listed is one.ints else None
                    listed[k] = draw.choice([0.0, float("nan"), float("inf"), 1e38]) if odd is None else odd
            elif draw.random() < 0.5:
                node.attribute.remove(one)
            else:
                one.i, one.f, one.s = draw.choice([0, -1, 2**31]), draw.choice([0.0, float("nan")]), b"\x1b[2J"
        elif kind == 4:
            names = [name for other in nodes for name in (*other.input, *other.output)]
            node.input[:] = [draw.choice(names) if draw.random() < 0.5 else name for name in node.input]
        elif kind == 5:
            node.op_type = draw.choice(["Relu", "Identity", "Loop", "Concat", "Add", "Cast", "", "Expand", "Scaler"])
        elif kind == 6:
            nodes.remove(node)
        elif kind == 7:
            copied = nodes.add()
            copied.CopyFrom(node)
        elif model.graph.input and draw.random() < 0.5:
            shape = draw.choice(model.graph.input).type.tensor_type
            shape.elem_type = draw.choice([0, 1, 7, 8, 10, 11])
            for dimension in shape.shape.dim:
                dimension.dim_value = draw.choice([0, 1, 2, 3, -1, 2**40])
        elif model.graph.initializer:
            tensor = draw.choice(model.graph.initializer)
            tensor.dims[:] = [draw.choice([0, 1, 2, 2**31, -1]) for _ in tensor.dims]
    return model.SerializeToString()


def retold(content, draw):
    """A copy of a file of ours with odd values in the document that describes its model."""
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    document = changed(json.loads(header["__metadata__"]["suffice"]), draw)
    header["__metadata__"]["suffice"] = json.dumps(document)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + content[8 + size :]


def mutant(kind, content, draw):
    """A damaged copy of a file, in a way that its kind may take for a model."""
    if draw.random() < 0.25:
        return flipped(content, draw)
    if kind == "suffice":
        return retold(content, draw)
    if kind in ("ebm", "xgboost", "catboost", "card"):
        return json.dumps(changed(json.loads(content), draw)).encode()
    if kind == "ubjson":
        try:
            return write_ubjson(changed(XGBOOST, draw))
        except (OverflowError, struct.error, AttributeError, TypeError):  # more than the writer can say
            return flipped(content, draw)
    if kind == "onnx":
        return regrouped(content, draw)
    return reworded(content.decode(), draw).encode()


def mutants(seed):
    """Yield kind, name and content of damaged files, each kind in turn, without an end."""
    draw, whole = random.Random(seed), list(originals())
    while True:
        for kind, name, content in whole:
            yield kind, name, mutant(kind, content, draw)


def try_out(path):
    """Do with a model file what a command does first: read it, describe it, and explain a row of its own."""
    from suffice.adapters.files import load_any
    from suffice.adapters.probes import probes
    from suffice.model.compiled import Compiled
    from suffice.present.models import model_document

    model = load_any(path)
    compiled = Compiled(model)
    json.dumps(model_document(compiled))
    row = probes(compiled, model.domains)[0]
    claim = suffice.Within(1) if model.task == "regression" else suffice.Same()
    str(suffice.Explainer(model).explain(row, 1, unit="raw", claim=claim, max_seconds=1))
