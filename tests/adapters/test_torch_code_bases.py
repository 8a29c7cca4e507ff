"""The public NAM code bases: their own classes, trained here, against what is read from them."""

from types import SimpleNamespace

import numpy as np
import pytest
from peers import check, code_base, one_thread  # noqa: F401  (for every test here)

import suffice
from suffice import AdapterError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:mean is more than 2 std")


def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 4)).astype(np.float32)
    return X, (X[:, 0] + np.abs(X[:, 1]) - X[:, 2] * 0.5 > 0.4).astype(np.float32)


def train(module, steps=80):
    """A short loop around the code base's own model class."""
    X, y = (torch.tensor(part) for part in data())
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    module.train()
    for _ in range(steps):
        answer = module(X)
        answer = (answer[0] if isinstance(answer, tuple) else answer).reshape(len(X), -1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(answer, y[:, None].expand_as(answer))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return module.eval()


def asking(module):
    def ask(rows):
        with torch.no_grad():
            answer = module(torch.tensor(rows, dtype=torch.float32))
        return (answer[0] if isinstance(answer, tuple) else answer).double().numpy()

    return ask


def build(name):
    if name.startswith("nam "):
        from nam.models.nam import NAM

        config = SimpleNamespace(dropout=0.1, hidden_sizes=[64, 32], activation=name.split()[1])
        return NAM(config, "nam", num_inputs=4, num_units=64)
    if name.startswith("lemeln"):
        from nam.models.nam import NAM

        return NAM(4, [64] * 4, [64, 32], 0.1, 0.05, activation=name.split()[1])
    if name.startswith("nam-pt"):
        from nam.model import ExULayer, NeuralAdditiveModel, ReLULayer

        first = {"exu": ExULayer, "relu": ReLULayer, "hidden-exu": ExULayer}[name.split()[1]]
        hidden = ExULayer if name.endswith("hidden-exu") else ReLULayer
        return NeuralAdditiveModel(4, 32, (16,), shallow_layer=first, hidden_layer=hidden)
    if name == "pytorch-nam":
        from nam.model import NAM

        return NAM(4, 32)
    from nbm_spam.models import ConceptNBMNary

    return ConceptNBMNary(4, 1, hidden_dims=(32, 16), num_bases=10, num_subnets=2 if name.endswith("subnets") else 1)


@pytest.mark.parametrize(
    "name",
    [
        "nam relu",
        "nam exu",
        "lemeln relu",
        "lemeln exu",
        "nam-pt relu",
        "nam-pt exu",
        "nam-pt hidden-exu",
        "pytorch-nam",
        "nbm-spam",
        "nbm-spam subnets",
    ],
)
def test_a_trained_model_is_taken_over(name):
    with code_base(name.split()[0]):
        torch.manual_seed(0)
        module = train(build(name))
        task = "regression" if name == "pytorch-nam" else "binary"
        model = suffice.from_model(module, task=task)
        check(name, model, asking(module), package=name.split()[0], precision=1e-5, single=True)
        # The weights alone say it too, once rows tell which activation was meant.
        rows = data()[0][:100]
        layout = {"exu": f"{name.split()[0].replace('lemeln', 'nam')}-exu", "hidden-exu": "nam-pt-exu-hidden"}
        again = suffice.from_model(
            module.state_dict(), (rows, asking(module)(rows)), task=task, layout=layout.get(name.split()[-1])
        )
        assert suffice.Explainer(again).score(rows[0]) == suffice.Explainer(model).score(rows[0])


def test_the_sigmoid_inside_a_module_is_seen():
    with code_base("nam-pytorch"):
        from nam_pytorch import NAM

        torch.manual_seed(0)
        module = NAM(2).eval()
        model = suffice.from_model(module)
        assert model.task == "binary"
        X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
        ours = [1 / (1 + np.exp(-float(suffice.Explainer(model).score(X[k])))) for k in range(3)]
        assert np.allclose(ours, asking(module)(X)[:3, 0], atol=1e-6)


def test_several_tasks_and_ensembles():
    with code_base("lemeln"):
        from nam.models.nam import NAM, MultiTaskNAM

        torch.manual_seed(0)
        tasks = train(MultiTaskNAM(4, [16] * 4, 3, 2, [16, 8], 0.1, 0.0))
        check(
            "lemeln several tasks",
            suffice.from_model(tasks, task="multiclass"),
            asking(tasks),
            package="lemeln",
            precision=1e-5,
            single=True,
        )
        members = [train(NAM(4, [16] * 4, [16], 0.1, 0.0)) for _ in range(3)]
        model = suffice.from_model(members, task="binary")
        check(
            "lemeln ensemble",
            model,
            lambda rows: np.mean([asking(member)(rows) for member in members], axis=0),
            package="lemeln",
            precision=1e-5,
            single=True,
        )


def test_the_estimator_around_an_ensemble(tmp_path, monkeypatch):
    pytest.importorskip("loguru", reason="loguru, which lemeln's trainer imports, is not installed")
    pytest.importorskip("tensorboard", reason="tensorboard, which lemeln's trainer imports, is not installed")
    monkeypatch.chdir(tmp_path)
    with code_base("lemeln"):
        from nam.wrapper import NAMClassifier

        with pytest.raises(AdapterError, match="not be fitted"):
            suffice.from_model(NAMClassifier())
        X, y = data()
        fitted = NAMClassifier(num_epochs=2, num_learners=2, metric="auroc", n_jobs=1, hidden_sizes=[16]).fit(X, y)
        for network in fitted.models:
            network.train()
        with pytest.raises(AdapterError, match="training mode"):
            suffice.from_model(fitted)
        for network in fitted.models:
            network.eval()
        explainer = suffice.Explainer(suffice.from_model(fitted))
        assert explainer.model.task == "binary"
        ours = [1 / (1 + np.exp(-float(explainer.score(row)))) for row in X[:30]]
        assert np.allclose(ours, fitted.predict_proba(X[:30]).reshape(30, -1)[:, -1], atol=1e-5)


def test_the_wrong_activation_is_refused():
    with code_base("nam"):
        torch.manual_seed(0)
        module = train(build("nam exu"))
        rows = data()[0][:50]
        with pytest.raises(AdapterError, match="another activation"):
            suffice.from_model(module.state_dict(), (rows, asking(module)(rows)), task="binary", layout="nam")
