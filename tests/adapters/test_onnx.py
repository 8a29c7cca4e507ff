import io
import warnings

import numpy as np
import pytest
from peers import check, one_thread  # noqa: F401  (for every test here)

import suffice
from suffice import AdapterError

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
        model = suffice.from_model(graph, task=task)
        score = float(suffice.Explainer(model).score(X[4]))
        own = pipeline.predict(X[4:5])[0] if task else pipeline.decision_function(X[4:5])[0]
        assert score == pytest.approx(own, abs=1e-5)
        assert model.classes == (() if task else (0, 1))


def test_refusals():
    cases = [
        (Nam("mixed"), r"Relu \(.*\): it is applied to a sum of columns 0, 1, 2, so the model is not additive"),
        (Nam("add", activation=nn.Tanh), r"has a Tanh \("),
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
    from suffice.adapters.onnx_operations import Sum

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
