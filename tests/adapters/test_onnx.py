import io
import warnings

import numpy as np
import pytest
from peers import check, one_thread  # noqa: F401  (for every test here)

import suffice
from suffice import AdapterError
from suffice.shapes import Pieces

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402


class Nam(nn.Module):
    """Three ways to take columns apart and to add up again."""

    def __init__(self, way, outputs=1, activation=nn.ReLU):
        super().__init__()
        self.way = way
        self.nets = nn.ModuleList(
            nn.Sequential(
                nn.Linear(1, 8),
                nn.BatchNorm1d(8),
                activation(),
                nn.Dropout(0.2),
                nn.Linear(8, 6),
                nn.LeakyReLU(),
                nn.Linear(6, outputs),
            )
            for _ in range(3)
        )
        self.offset = nn.Parameter(torch.randn(outputs))
        self.register_buffer("mean", torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, x):
        if self.way == "gather":
            return torch.sigmoid(sum(net(x[:, i].unsqueeze(1)) for i, net in enumerate(self.nets)) + self.offset)
        x = (x - self.mean) * 0.7
        parts = [net(x[:, i : i + 1]) for i, net in enumerate(self.nets)]
        if self.way == "concat":
            return torch.cat(parts, dim=1).sum(dim=1) + self.offset
        if self.way == "mixed":
            return torch.relu(sum(parts))
        return sum(parts) + self.offset


def trained(module):
    X = torch.randn(200, 3)
    y = (X[:, :1] - X[:, 1:2].abs() > 0).float()
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    for _ in range(30):
        loss = ((module(X).reshape(200, -1)[:, :1] - y) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return module.eval()


def exported(module):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (torch.randn(4, 3),), file, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "n"}}
        )
    return onnx.load_from_string(file.getvalue())


def asking(model):
    """The graph run by onnxruntime where that is there, by onnx's own evaluator where not."""
    try:
        import onnxruntime

        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        return lambda rows: session.run(None, {name: np.array(rows, dtype=np.float32)})[-1]
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return lambda rows: ReferenceEvaluator(model).run(None, {"x": np.array(rows, dtype=np.float32)})[-1]


@pytest.mark.parametrize(
    ("way", "outputs", "task"), [("concat", 1, "binary"), ("add", 1, "regression"), ("add", 3, "multiclass")]
)
def test_exported_networks(way, outputs, task):
    torch.manual_seed(0)
    graph = exported(trained(Nam(way, outputs)))
    model = suffice.from_model(graph, task=task)
    check(f"ONNX {way} {outputs}", model, asking(graph), package="onnx", precision=1e-5, single=True)


def test_a_sigmoid_at_the_end_is_a_link():
    torch.manual_seed(0)
    graph = exported(trained(Nam("gather")))
    model = suffice.from_model(graph)
    assert model.task == "binary"
    X = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    explainer = suffice.Explainer(model)
    ours = [1 / (1 + np.exp(-float(explainer.score(row)))) for row in X]
    assert np.allclose(ours, asking(graph)(X)[:, 0], atol=1e-6)


def test_exported_pipelines_of_scikit_learn():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.random.default_rng(0).normal(3, 2, size=(200, 3)).astype(np.float32)
    y = (X[:, 0] > 3).astype(int)
    for final, task in ((LogisticRegression(), None), (Ridge(), "regression")):
        pipeline = make_pipeline(StandardScaler(), final).fit(X, y)
        graph = skl2onnx.to_onnx(pipeline, X[:1], options={} if task else {"zipmap": False})
        model = suffice.from_model(graph)
        score = float(suffice.Explainer(model).score(X[4]))
        own = pipeline.predict(X[4:5])[0] if task else pipeline.decision_function(X[4:5])[0]
        assert score == pytest.approx(own, abs=1e-5)
        assert model.classes == (() if task else (0, 1))


@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1, 2]])
@pytest.mark.parametrize("kind", ["LogisticRegression", "GradientBoostingClassifier"])
def test_probabilities_in_a_column_for_each_class_are_read(kind, classes):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(0).normal(3, 2, size=(200, 3)).astype(np.float32)
    y = np.array(classes)[np.digitize(X[:, 0], [2, 4][: len(classes) - 1])]
    stumps = GradientBoostingClassifier(max_depth=1, n_estimators=4)
    fitted = (stumps if kind.startswith("G") else LogisticRegression()).fit(X, y)
    graph = skl2onnx.to_onnx(fitted, X[:1], options={"zipmap": "columns"})
    assert len(graph.graph.output) == 1 + len(classes)
    explainer = suffice.Explainer(suffice.from_model(graph))
    assert [explainer.predict(row) for row in X[:50]] == fitted.predict(X[:50]).tolist()


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("sklearn.naive_bayes.GaussianNB", "joins columns in a way that is not read; convert the fitted model instead"),
        (
            "sklearn.calibration.CalibratedClassifierCV",
            r"what is not read is done to its score \(.*\); export",
        ),
    ],
)
def test_graphs_of_other_models_are_not_called_damaged(kind, words):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from importlib import import_module

    from sklearn.linear_model import LogisticRegression

    module, _, name = kind.rpartition(".")
    inside = [LogisticRegression()] if name == "CalibratedClassifierCV" else []
    X = np.random.default_rng(0).normal(3, 2, size=(200, 2)).astype(np.float32)
    fitted = getattr(import_module(module), name)(*inside).fit(X, X[:, 0] > 3)
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(skl2onnx.to_onnx(fitted, X[:1]))


@pytest.mark.parametrize(
    "activation", [nn.Tanh, nn.Sigmoid, nn.ELU, nn.SELU, nn.Softplus, nn.SiLU, nn.Mish, nn.Hardswish]
)
def test_smooth_activations_are_read(activation):
    torch.manual_seed(0)
    graph = exported(trained(Nam("add", activation=activation)))
    model = suffice.from_model(graph, task="regression")
    X = np.random.default_rng(1).normal(size=(40, 3)).astype(np.float32)
    explainer = suffice.Explainer(model)
    ours = [float(explainer.score(row)) for row in X]
    assert np.allclose(ours, asking(graph)(X)[:, 0], atol=1e-5)


@pytest.mark.parametrize("activation", [nn.Hardsigmoid, nn.ReLU6, nn.PReLU, lambda: nn.PReLU(8)])
def test_activations_of_lines_are_read_exactly(activation):
    torch.manual_seed(0)
    graph = exported(trained(Nam("add", activation=activation)))
    model = suffice.from_model(graph, task="binary")
    assert all(isinstance(one, Pieces) for pieces in model.compile() for one in pieces)
    check(f"ONNX {activation().__class__.__name__}", model, asking(graph), package="onnx", precision=1e-5, single=True)


def test_a_hardswish_in_two_nodes_is_one():
    from onnx import TensorProto, helper, numpy_helper

    weights = {"w": np.array([[1.5], [-2.0]], np.float32), "b": np.array([0.5, 1.0], np.float32)}
    weights |= {"v": np.array([[1.0, -0.75]], np.float32)}

    def graph(**options):
        nodes = [
            helper.make_node("Gemm", ["x", "w", "b"], ["h"], transB=1),
            helper.make_node("HardSigmoid", ["h"], ["g"], **options),
            helper.make_node("Mul", ["h", "g"], ["a"]),
            helper.make_node("Gemm", ["a", "v"], ["y"], transB=1),
        ]
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in ("x", "y")]
        held = [numpy_helper.from_array(value, name) for name, value in weights.items()]
        return helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], held))

    explainer = suffice.Explainer(suffice.from_model(graph(alpha=1 / 6), task="regression"))
    for x in (-4.0, -1.3, 0.0, 0.4, 2.0, 7.0):
        first, second = 1.5 * x + 0.5, 1.0 - 2.0 * x
        swish = [one * min(max(one / 6 + 0.5, 0), 1) for one in (first, second)]
        assert float(explainer.score([x])) == pytest.approx(swish[0] - 0.75 * swish[1], abs=1e-5)
    with pytest.raises(AdapterError, match="multiplied or divided by each other, which is not read but for SiLU"):
        suffice.from_model(graph(alpha=0.2), task="regression")


def test_refusals():
    cases = [
        (Nam("mixed"), r"Relu \(.*\): it is applied to a sum of columns 0, 1, 2, so the model is not additive"),
        (
            Nam("add", activation=nn.Softsign),
            r"Div \(.*\): columns, or functions of a column, are multiplied or divided",
        ),
        (Nam("add", activation=nn.LogSigmoid), r"what is not read is done to its score \(Log\)"),
        (Nam("add"), "does not say what its score decides"),
    ]
    for module, words in cases:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(exported(module.eval()))


def graph_with_labels(deciding, labels="INT64", outputs=1):
    """A linear score of two columns, its sigmoid or softmax, and labels made of it by nodes: (op, inputs, output)."""
    from onnx import TensorProto, helper, numpy_helper

    weight = np.array([[1.0, -2.0], [0.5, 1.0], [0.25, -0.5]], np.float32)[:outputs]
    constants = {"w": weight, "b": np.array([0.1, 0.2, 0.3], np.float32)[:outputs], "half": np.float32(0.5)}
    constants |= {"low": np.float32(0.3), "many": np.full((9, 1), 0.5, np.float32), "names": np.array([0, 1, 2])}
    nodes = [("Gemm", ["x", "w", "b"], "s"), ("Sigmoid" if outputs == 1 else "Softmax", ["s"], "p"), *deciding]
    made = helper.make_graph(
        [
            helper.make_node(op, given, [out], **({"transB": 1} if op == "Gemm" else {}), **dict(more))
            for op, given, out, *more in nodes
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [
            helper.make_tensor_value_info("label", getattr(TensorProto, labels), None),
            helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, outputs]),
        ],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)])


ABOVE_HALF = [("Greater", ["p", "half"], "label")]
LARGEST = [("ArgMax", ["p"], "label", ("axis", 1), ("keepdims", 0))]
SECOND = [("Neg", ["p"], "n"), ("ArgMax", ["n"], "label", ("axis", 1), ("keepdims", 0))]


@pytest.mark.parametrize(
    ("deciding", "labels", "outputs"),
    [
        (ABOVE_HALF, "BOOL", 1),
        ([("Greater", ["p", "half"], "g"), ("Cast", ["g"], "label", ("to", 7))], "INT64", 1),
        ([("Round", ["p"], "r"), ("Cast", ["r"], "label", ("to", 7))], "INT64", 1),
        (LARGEST, "INT64", 3),
        ([*LARGEST[:-1], ("ArgMax", ["p"], "k", ("axis", 1)), ("Gather", ["names", "k"], "label")], "INT64", 3),
    ],
)
def test_labels_that_follow_from_the_score_are_compared_and_taken(deciding, labels, outputs):
    model = suffice.from_model(graph_with_labels(deciding, labels, outputs))
    assert model.classes == tuple(range(max(2, outputs)))


@pytest.mark.parametrize(
    ("deciding", "labels", "outputs"),
    [([("Greater", ["p", "low"], "label")], "BOOL", 1), ([("Less", ["p", "half"], "label")], "BOOL", 1),
     (SECOND, "INT64", 3)],
)  # fmt: skip
def test_labels_with_a_threshold_of_their_own_are_refused(deciding, labels, outputs):
    with pytest.raises(AdapterError, match=r"the ONNX graph predicts \d in row \d+ .* decision threshold of its own"):
        suffice.from_model(graph_with_labels(deciding, labels, outputs))


@pytest.mark.parametrize(
    "deciding",
    [
        [("Concat", ["p", "p"], "d", ("axis", 0)), *[(*ABOVE_HALF[0][:1], ["d", "half"], "label")]],
        [("Greater", ["p", "many"], "label")],
        [("Tile", ["p", "names"], "label")],
        [("Add", ["p", "s"], "d"), ("Greater", ["d", "half"], "label")],
    ],
)
def test_labels_made_by_what_could_grow_are_not_run(deciding):
    with pytest.raises(
        AdapterError, match=r"makes its labels \(label\) with a \w+ that is not read; leave that output"
    ):
        suffice.from_model(graph_with_labels(deciding, "BOOL"))


@pytest.mark.parametrize("names", [[0, 1], ["no", "yes"]])
def test_labels_of_a_classifier_of_scikit_learn_are_compared(names):
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(0)
    X = random.normal(size=(90, 2)).astype(np.float32)
    fitted = LogisticRegression().fit(X, np.array(names)[(X[:, 0] > X[:, 1]).astype(int)])
    model = skl2onnx.to_onnx(fitted, X[:1], options={"zipmap": False})
    assert list(suffice.from_model(model).classes) == names


def test_a_wide_graph_is_read_in_one_pass():
    """Every part of the sum is looked at a few times, not once for each column."""
    from suffice.adapters.onnx import _column_shapes
    from suffice.adapters.onnx_rows import Sum

    class Parts(tuple):
        looked = 0

        def __iter__(self):
            Parts.looked += len(self)
            return super().__iter__()

    line = suffice.ReluNetwork([np.ones((1, 1))], [None])
    parts = Parts((k, line) for k in range(300))
    Parts.looked = 0
    assert len(_column_shapes(Sum(1, parts, (suffice.numbers.exact.ZERO,)), 300)) == 300
    assert Parts.looked <= 600


def tree_graph(mode, tracks, before=(), width=1):
    """One split of the first column at 0.1, 1 where it is true and 2 where not, after nodes (op, attributes)."""
    from onnx import TensorProto, helper

    nodes, name = [], "x"
    for k, (op, attributes) in enumerate(before):
        nodes.append(helper.make_node(op, [name], [f"t{k}"], domain="ai.onnx.ml", **attributes))
        name = f"t{k}"
    tree = helper.make_node(
        "TreeEnsembleRegressor", [name], ["y"], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0], nodes_values=[0.1, 0.0, 0.0],
        nodes_modes=[mode, "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
        nodes_missing_value_tracks_true=[tracks, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
        target_ids=[0, 0], target_weights=[1.0, 2.0],
    )  # fmt: skip
    graph = helper.make_graph(
        [*nodes, tree],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)])


TENTH = np.float32(0.1)
HOLDS = {
    "BRANCH_LEQ": lambda x: x <= TENTH,
    "BRANCH_LT": lambda x: x < TENTH,
    "BRANCH_GT": lambda x: x > TENTH,
    "BRANCH_GTE": lambda x: x >= TENTH,
}


@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("mode", HOLDS)
def test_a_split_lies_where_float32_has_it(mode, tracks):
    explainer = suffice.Explainer(suffice.from_model(tree_graph(mode, tracks)))
    steps = [np.nextafter(TENTH, np.float32(side)) for side in (-1, 1)]
    half = [(float(TENTH) + float(step)) / 2 for step in steps]  # between two float32 numbers
    places = [0.1, float(TENTH), *map(float, steps), *half, *(np.nextafter(h, side) for h in half for side in (-1, 1))]
    for place in places:
        expected = 1 if HOLDS[mode](np.float32(place)) else 2
        assert explainer.score([place]) == expected, place
    assert explainer.score([suffice.MISSING]) == (1 if tracks else 2)


def test_a_scaler_before_trees_moves_the_split_as_its_rounding_does():
    scaler = ("Scaler", {"offset": [0.3], "scale": [1.7]})
    explainer = suffice.Explainer(suffice.from_model(tree_graph("BRANCH_LEQ", 0, [scaler])))

    def value(place):
        return (np.float32(place) - np.float32(0.3)) * np.float32(1.7)

    near = np.float32(0.1 / 1.7 + 0.3)
    around = [near]
    for side in (-1, 1):
        for _ in range(6):
            around.append(np.nextafter(around[-1] if len(around) % 7 else near, np.float32(side)))
    assert {bool(value(place) <= TENTH) for place in around} == {True, False}
    for place in around:
        assert explainer.score([float(place)]) == (1 if value(place) <= TENTH else 2)


def test_refusals_of_pipelines_name_the_operation():
    label = {"keys_floats": [0.5], "values_floats": [1.0]}
    cases = [
        (
            [("Normalizer", {"norm": "L1"})],
            r"Normalizer \(t0\), is not read before a model; convert the fitted pipeline",
        ),
        ([("LabelEncoder", label)], r"LabelEncoder \(t0\): it has no categories, or such that are no whole numbers"),
    ]
    for before, words in cases:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(tree_graph("BRANCH_LEQ", 0, before))


def test_what_a_graph_does_to_the_score_afterwards_is_not_ignored():
    from onnx import helper

    model = tree_graph("BRANCH_LEQ", 0)
    model.graph.node[0].output[0] = "raw"
    model.graph.node.append(helper.make_node("Neg", ["raw"], ["y"]))
    with pytest.raises(AdapterError, match="does something to the scores of its TreeEnsembleRegressor before it"):
        suffice.from_model(model)


def test_the_number_of_a_poisson_regression_is_the_exponential_of_the_score():
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from sklearn.linear_model import PoissonRegressor

    X = np.random.default_rng(0).normal(size=(90, 2)).astype(np.float32)
    fitted = PoissonRegressor().fit(X, np.exp(X[:, 0]))
    model = suffice.from_model(skl2onnx.to_onnx(fitted, X[:1]))
    assert model.task == "regression"
    assert np.exp(float(suffice.Explainer(model).score(X[3]))) == pytest.approx(fitted.predict(X[3:4])[0], rel=1e-5)
