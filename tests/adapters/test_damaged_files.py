"""Files that are damaged, or made to do harm: each is refused in a sentence, at once, whatever it asks for."""

import copy
import json
import random
from itertools import pairwise

import numpy as np
import pytest
from test_files import EBM, LIGHTGBM, XGBOOST

import suffice
from suffice import ModelFileError
from suffice.adapters.files import load_any

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


def edited(document, **changes):
    """A copy with other values at paths such as `learner__objective__name`."""
    made = copy.deepcopy(document)
    for path, value in changes.items():
        *before, last = path.split("__")
        at = made
        for key in before:
            at = at[int(key) if key.isdigit() else key]
        at[last] = value
    return made


TREE = "learner__gradient_booster__model__trees__0__"
CHAIN = list(range(1, 61))  # each node has the next for both children: 60 nodes, 2 ** 60 ways through them
LADDER = {
    TREE + "left_children": [*CHAIN, -1],
    TREE + "right_children": [*CHAIN, -1],
    TREE + "split_indices": [0] * 61,
    TREE + "split_conditions": [0.5] * 61,
    TREE + "default_left": [0] * 61,
    TREE + "split_type": [0] * 61,
}
HARMFUL = {
    "unnamed features": (
        edited(XGBOOST, learner__feature_names=[], learner__learner_model_param__num_feature=str(2**31)),
        "has 2147483648 features, and names none",
    ),
    "features without names": (
        edited(XGBOOST, learner__learner_model_param__num_feature=str(2**31)),
        "2147483648 features and 1 scores, but has 2 names",
    ),
    "scores": (edited(XGBOOST, learner__learner_model_param__num_class=str(2**31)), "2147483648 scores"),
    "a ladder": (edited(XGBOOST, **LADDER), "comes to its node 60 twice"),
    "a circle": (edited(XGBOOST, **{TREE + "left_children": [0, -1, -1]}), "comes to its node 0 twice"),
    "no such feature": (
        edited(XGBOOST, **{TREE + "split_indices": [2, 0, 0]}),
        "a feature or a score that the model does not have",
    ),
    "no such score": (
        edited(XGBOOST, learner__gradient_booster__model__tree_info=[0, -1]),
        "a feature or a score that the model does not have",
    ),
    "no such round": (edited(XGBOOST, learner__attributes={"best_iteration": "9", "scikit_learn": ""}), "incomplete"),
    "deep": (
        edited(CATBOOST, oblivious_trees__0__splits=CATBOOST["oblivious_trees"][0]["splits"] * 40),
        "a tree of 40 splits with 2 values",
    ),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_a_document_that_asks_for_too_much_is_refused(tmp_path, name):
    document, words = HARMFUL[name]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelFileError, match=words):
        load_any(tmp_path / "model.json")


@pytest.mark.parametrize(
    ("line", "other", "words"),
    [
        ("max_feature_idx=1", f"max_feature_idx={2**31}", "2 names for 2147483649 features"),
        ("num_class=1", f"num_class={2**31}", "1 trees for 2147483648 scores"),
        ("left_child=-1", "left_child=0", "comes to its split 0 twice"),
        ("split_feature=0", "split_feature=2", "a feature or a score that the model does not have"),
    ],
)
def test_a_text_that_asks_for_too_much_is_refused(tmp_path, line, other, words):
    (tmp_path / "model.txt").write_text(LIGHTGBM)
    load_any(tmp_path / "model.txt")
    (tmp_path / "model.txt").write_text(LIGHTGBM.replace(line, other))
    with pytest.raises(ModelFileError, match=words):
        load_any(tmp_path / "model.txt")


# --- ONNX -------------------------------------------------------------------------------------------------------------


def graph(more=(), columns=2, weights=((2.0,), (-1.0,))):
    """A linear score of its columns, some nodes more, and its sigmoid."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"]), *(helper.make_node(*one[:3], **one[3]) for one in more)]
    nodes.append(helper.make_node("Sigmoid", [nodes[-1].output[0]], ["p"]))
    made = helper.make_graph(
        nodes,
        "score",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, columns])],
        [helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(np.array(weights, dtype=np.float32), "w")],
    )
    return onnx, helper.make_model(made, opset_imports=[helper.make_opsetid("", 18)])


def doubling(operation, **attributes):
    steps = ["s", *(f"d{k}" for k in range(60))]
    return [(operation, [a, a], [b], attributes) for a, b in pairwise(steps)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": 2**40}, "has 1099511627776 columns; up to 10000 are read"),
        ({"more": doubling("Add")}, "more than 100000 functions of columns are added"),
        ({"more": doubling("Concat", axis=1)}, "more than 100000 columns stand side by side"),
        ({"more": [("Relu", ["s"], ["r"], {"domain": "my.own"})]}, "a Relu of 'my.own', which is not read"),
        ({"columns": 3}, r"weights of shape \(1, 2\) are applied to 3 columns"),
    ],
)
def test_a_graph_that_asks_for_too_much_is_refused(tmp_path, options, words):
    onnx, model = graph(**options)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(ModelFileError, match=words):
        load_any(tmp_path / "model.onnx")


def test_a_graph_reads_no_other_file(tmp_path):
    onnx, model = graph()
    onnx.save(model, tmp_path / "model.onnx")
    assert load_any(tmp_path / "model.onnx").task == "binary"
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    path = tmp_path / "outside.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    with pytest.raises(ModelFileError, match="keeps 'w' in another file, which is not read"):
        load_any(path)
    assert suffice.from_model(onnx.load(path)).intercept == suffice.from_model(whole).intercept


def test_nothing_after_the_score_is_run(tmp_path):
    onnx, model = graph()
    from onnx import helper, numpy_helper

    size = numpy_helper.from_array(np.array([2**50]), "size")
    model.graph.initializer.append(size)
    model.graph.node.append(helper.make_node("ConstantOfShape", ["size"], ["much"]))
    onnx.save(model, tmp_path / "model.onnx")
    assert load_any(tmp_path / "model.onnx").task == "binary"


# --- by chance --------------------------------------------------------------------------------------------------------


def changed(document, draw):
    """A copy with one or more values, anywhere, replaced by odd ones, lost or doubled."""
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
            where[key] = str(odd) if isinstance(where[key], str) else odd
        elif kind < 0.85 or isinstance(where, dict):
            where.pop(key)
        else:
            where += copy.deepcopy(where)
    return made


@pytest.mark.parametrize("kind", ["ebm", "xgboost", "catboost"])
def test_any_document_is_read_or_refused(tmp_path, kind):
    original, draw = {"ebm": EBM, "xgboost": XGBOOST, "catboost": CATBOOST}[kind], random.Random(0)
    path, refused = tmp_path / "model.json", 0
    for _ in range(200):
        path.write_text(json.dumps(changed(original, draw)))
        try:
            load_any(path)
        except ModelFileError:
            refused += 1
    assert 0 < refused < 200


@pytest.mark.parametrize("kind", ["safetensors", "lightgbm", "onnx"])
def test_any_bytes_are_read_or_refused(tmp_path, kind):
    draw, path = (
        random.Random(0),
        tmp_path / {"safetensors": "m.safetensors", "lightgbm": "m.txt", "onnx": "m.onnx"}[kind],
    )
    if kind == "lightgbm":
        path.write_text(LIGHTGBM)
    elif kind == "onnx":
        onnx, model = graph()
        onnx.save(model, path)
    else:
        suffice.AdditiveModel([suffice.Steps([1, 2], [0, 1, -1]), suffice.Table({"a": 1, "b": -2})]).save(path)
    original, refused = path.read_bytes(), 0
    for _ in range(200):
        damaged = bytearray(original)
        for _ in range(draw.choice([1, 2, 5])):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged[: draw.choice([len(damaged), draw.randrange(len(damaged))])])
        try:
            load_any(path)
        except ModelFileError:
            refused += 1
    assert refused > 0


# --- classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [[3, 7], ["no", "yes"], [False, True], [0.5, 1.5]])
def test_classes_of_numpy_are_those_of_python(tmp_path, classes):
    shapes = [suffice.Steps([1], [-1, 1])]
    plain, made, mixed = (
        suffice.AdditiveModel(shapes, classes=given) for given in (classes, np.array(classes), list(np.array(classes)))
    )
    assert plain.classes == made.classes == mixed.classes
    assert [type(one) for one in made.classes] == [type(one) for one in mixed.classes] == [type(one) for one in classes]
    for name, model in (("plain", plain), ("made", made)):
        model.save(tmp_path / name)
        suffice.Explainer(model).explain([2.0], 3, unit="raw").certificate().save(tmp_path / f"{name}.json")
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "made").read_bytes()
    assert (tmp_path / "plain.json").read_bytes() == (tmp_path / "made.json").read_bytes()
