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
