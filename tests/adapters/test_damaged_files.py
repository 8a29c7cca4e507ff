"""Files that are damaged, or made to do harm: each is refused in a sentence, at once, whatever it asks for."""

import copy
import json
from itertools import pairwise

import numpy as np
import pytest
from mutants import CATBOOST, ML
from test_files import LIGHTGBM, XGBOOST
from test_scorecard import pmml

import suffice
from suffice import ModelFileError
from suffice.adapters.files import load_any


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


def grid(depth, below):
    """Children, features and conditions of a tree that asks about one feature, then in each leaf about the other."""
    nodes = []

    def grow(low, high, levels, feature):
        if levels == 0 and feature == 0:
            return grow(low, high, below, 1)
        at, middle = len(nodes), (low + high) / 2
        nodes.append([-1, -1, feature, middle])
        if levels:
            nodes[at][:2] = grow(low, middle, levels - 1, feature), grow(middle, high, levels - 1, feature)
        return at

    grow(0.0, 1.0, depth, 0)
    return [list(column) for column in zip(*nodes, strict=True)]


LEFT, RIGHT, ASKED, CUTS = grid(10, 3)  # 16,383 nodes, but 1,024 times 8,192 cells
GRID = {
    TREE + "left_children": LEFT,
    TREE + "right_children": RIGHT,
    TREE + "split_indices": ASKED,
    TREE + "split_conditions": CUTS,
    TREE + "default_left": [0] * len(LEFT),
    TREE + "split_type": [0] * len(LEFT),
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
    "a grid": (edited(XGBOOST, **GRID), "tell more than 4000000 cells apart"),
    "a circle": (edited(XGBOOST, **{TREE + "left_children": [0, -1, -1]}), "comes to its node 0 twice"),
    "no such feature": (
        edited(XGBOOST, **{TREE + "split_indices": [2, 0, 0]}),
        "a feature or a score that the model does not have",
    ),
    "no such score": (
        edited(XGBOOST, learner__gradient_booster__model__tree_info=[0, -1]),
        "a feature or a score that the model does not have",
    ),
    "a leaf beyond float32": (edited(XGBOOST, **{TREE + "split_conditions": [0.5, 1e308, 1.5]}), "inf is not a finite"),
    "a probability beyond 1": (edited(XGBOOST, learner__learner_model_param__base_score="2"), "nan is not a finite"),
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


WIDE = [("Concat", ["x"] * 999, ["c"], {"axis": 1})]


def repeated(operation, before, start, count):
    steps = [start, *(f"d{k}" for k in range(count))]
    return [*before, *((operation, [a], [b], {}) for a, b in pairwise(steps))]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": 2**40}, "has 1099511627776 columns; up to 10000 are read"),
        ({"more": doubling("Add")}, "more than 100000 functions of columns are added"),
        ({"more": doubling("Concat", axis=1)}, "more than 100000 columns stand side by side"),
        ({"more": [("Relu", ["s"], ["r"], {"domain": "my.own"})]}, "a Relu of 'my.own', which is not read"),
        ({"more": repeated("Identity", WIDE, "c", 300)}, "more than 200000 columns are made up to here"),
        (
            {"more": repeated("Relu", [], "s", 9), "columns": 1, "weights": [[1.0] * 4000]},
            "more than 100000000 weights",
        ),
        ({"columns": 3}, r"weights of shape \(1, 2\) are applied to 3 columns"),
    ],
)
def test_a_graph_that_asks_for_too_much_is_refused(tmp_path, options, words):
    onnx, model = graph(**options)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(ModelFileError, match=words):
        load_any(tmp_path / "model.onnx")


def prepared(nodes, kind=1, constants=()):
    """Some steps on one column, then a linear model."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx import TensorProto, helper, numpy_helper

    model = ("LinearRegressor", [nodes[-1][2][0]], ["y"], {"coefficients": [1.0]})
    graph = helper.make_graph(
        [helper.make_node(*one[:3], domain="ai.onnx.ml" if one[0] in ML else "", **one[3]) for one in (*nodes, model)],
        "g",
        [helper.make_tensor_value_info("x", kind, [None, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(np.array(value, dtype=np.float32), name) for name, value in constants],
    )
    return onnx, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def trees(left, right, asked, cuts):
    """A tree ensemble of ONNX over two columns."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from onnx import TensorProto, helper

    count = len(left)
    leaves = [k for k in range(count) if left[k] < 0]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        nodes_treeids=[0] * count,
        nodes_nodeids=range(count),
        nodes_featureids=asked,
        nodes_values=cuts,
        nodes_modes=["LEAF" if child < 0 else "BRANCH_LEQ" for child in left],
        nodes_truenodeids=[max(child, 0) for child in left],
        nodes_falsenodeids=[max(child, 0) for child in right],
        target_treeids=[0] * len(leaves),
        target_nodeids=leaves,
        target_ids=[0] * len(leaves),
        target_weights=[float(k % 7) for k in leaves],
    )
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])])
    return onnx, helper.make_model(graph)


LARGEST = ("ArgMax", ["g"], ["a"], {"axis": 1})
ONE_HOT = ("OneHotEncoder", ["c"], ["h"], {"cats_int64s": range(1000), "zeros": 1})


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: trees([*CHAIN, -1], [*CHAIN, -1], [0] * 61, [0.5] * 61), "comes to its node 60 twice"),
        (lambda: trees(*grid(10, 3)), "tell more than 4000000 cells apart"),
        (lambda: prepared([*WIDE, ONE_HOT], kind=7), "makes more than 100000 columns"),
        (lambda: prepared(repeated("Identity", WIDE, "c", 300)), "more than 200000 columns are made up to here"),
        (
            lambda: prepared([("Greater", ["x", "b"], ["g"], {}), LARGEST], constants=[("b", range(2000))]),
            "chooses between 2000 columns with 2000 steps, more than are read",
        ),
    ],
)
def test_a_pipeline_that_asks_for_too_much_is_refused(tmp_path, made, words):
    onnx, model = made()
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


# --- cards ------------------------------------------------------------------------------------------------------------


def test_a_card_that_asks_for_too_much_is_refused(tmp_path):
    below = '<Attribute partialScore="{0}"><SimplePredicate field="age" operator="lessThan" value="{0}"/></Attribute>'
    attributes = "".join(below.format(k) for k in range(3000))
    path = tmp_path / "card.pmml"
    path.write_text(
        pmml(f"<Scorecard><Characteristics><Characteristic>{attributes}</Characteristic></Characteristics></Scorecard>")
    )
    with pytest.raises(ModelFileError, match="6002 values of 'age' meet 6000 predicates, more than are read"):
        load_any(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feature,values,points\na," + "x" * 200_000 + ",1\n", "table cannot be read: field larger than field limit"),
        ("feature,points,other\na,1,2\n", "has the column 'other'"),
    ],
)
def test_a_table_of_a_card_that_cannot_be_one_is_refused(tmp_path, text, words):
    (tmp_path / "card.csv").write_text(text)
    with pytest.raises(ModelFileError, match=words):
        load_any(tmp_path / "card.csv")


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
