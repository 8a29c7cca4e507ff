"""Modules of one's own: what is read, and what is refused with which words."""

from fractions import Fraction

import numpy as np
import pytest
from peers import check, one_thread  # noqa: F401  (for every test here)

import suffice
from suffice import AdapterError, Explainer, Feature, Layout

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch import nn  # noqa: E402


class Nam(nn.Module):
    """A network of one's own for each feature; `answer` tells what it does with the sum."""

    def __init__(self, features=3, activation=nn.ReLU, outputs=1, norm=True):
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(
                nn.Linear(1, 8),
                *([nn.BatchNorm1d(8)] if norm else []),
                activation(),
                nn.Dropout(0.3),
                nn.Linear(8, 8),
                activation(),
                nn.Linear(8, outputs),
            )
            for _ in range(features)
        )
        self.offset = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return sum(net(x[:, i : i + 1]) for i, net in enumerate(self.nets)) + self.offset


def trained(module, steps=40):
    torch.manual_seed(1)
    X = torch.randn(300, len(module.nets))
    y = (X[:, :1] - X[:, 1:2].abs() > 0).float()
    optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
    module.train()
    for _ in range(steps):
        loss = nn.functional.binary_cross_entropy_with_logits(module(X)[:, :1], y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return module.eval()


@pytest.fixture(scope="module")
def nam():
    torch.manual_seed(0)
    return trained(Nam())


def ask(module):
    def answer(rows):
        with torch.no_grad():
            return module(torch.tensor(rows, dtype=torch.float32)).double().numpy()

    return answer


ROWS = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)


def named(name, make):
    make.__name__ = name
    return make


SMOOTH = [
    nn.Tanh, nn.Sigmoid, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Softplus, nn.Mish, nn.Hardswish,
    named("GELU(tanh)", lambda: nn.GELU(approximate="tanh")), named("ELU(0.5)", lambda: nn.ELU(0.5)),
]  # fmt: skip


@pytest.mark.parametrize("activation", [nn.ReLU, nn.LeakyReLU, nn.PReLU, nn.ReLU6, nn.Hardtanh])
def test_activations_and_normalisation_are_read(activation):
    torch.manual_seed(0)
    module = trained(Nam(activation=activation))
    check(f"PyTorch {activation.__name__}", suffice.from_model(module, task="binary"), ask(module), package="torch",
          precision=1e-5, single=True)  # fmt: skip


@pytest.mark.parametrize("activation", SMOOTH)
def test_smooth_activations_are_read(activation):
    torch.manual_seed(0)
    module = trained(Nam(activation=activation))
    model = suffice.from_model(module, task="binary")
    check(f"PyTorch {activation.__name__}", model, ask(module), package="torch", precision=1e-5, single=True,
          radii=(0.5, 2.0))  # fmt: skip


def test_a_state_dict_needs_rows(nam):
    with pytest.raises(AdapterError, match="does not say which activations"):
        suffice.from_model(nam.state_dict(), task="binary")


def test_a_lightning_checkpoint_is_the_state_dict_below_a_prefix(nam):
    checkpoint = {"epoch": 3, "state_dict": {f"model.{key}": value for key, value in nam.state_dict().items()}}
    model = suffice.from_model(checkpoint, (ROWS, ask(nam)(ROWS)), task="binary")
    assert Explainer(model).score(ROWS[0]) == Explainer(suffice.from_model(nam, task="binary")).score(ROWS[0])


def test_a_layout_can_be_said(nam):
    layout = Layout("nets.{i}", "{k}", intercept="offset")
    assert suffice.from_model(nam.state_dict(), (ROWS, ask(nam)(ROWS)), task="binary", layout=layout).names == (
        "x0",
        "x1",
        "x2",
    )


def test_scaling_before_the_model_belongs_to_its_features(nam):
    features = [Feature("a", center=10, scale=4), Feature("b", center=-3, scale=0.5), "c"]
    model = suffice.from_model(nam, features=features, task="binary")
    raw = ROWS * np.array([4, 0.5, 1], dtype=np.float32) + np.array([10, -3, 0], dtype=np.float32)
    score = Explainer(model).score({"a": float(raw[0, 0]), "b": float(raw[0, 1]), "c": float(raw[0, 2])})
    assert float(score) == pytest.approx(float(ask(nam)(ROWS)[0, 0]), abs=1e-5)
    scores = ask(nam)(ROWS)
    suffice.from_model(nam.state_dict(), (raw, scores), features=features, task="binary")
    with pytest.raises(AdapterError, match="a scaler that is not part of the model"):
        suffice.from_model(nam.state_dict(), (raw, scores), task="binary")


def test_probabilities_are_a_reference_too(nam):
    probabilities = 1 / (1 + np.exp(-ask(nam)(ROWS)))
    suffice.from_model(nam.state_dict(), (ROWS, probabilities), task="binary")
    suffice.from_model(nam.state_dict(), (ROWS, np.hstack([1 - probabilities, probabilities])), task="binary")
    with pytest.raises(AdapterError, match="gives"):
        suffice.from_model(nam.state_dict(), (ROWS, probabilities > 0.5), task="binary")
    with pytest.raises(AdapterError, match="not labels"):
        suffice.from_model(nam.state_dict(), (ROWS, ["good"] * len(ROWS)), task="binary")


def test_columns_in_another_order_are_refused(nam):
    with pytest.raises(AdapterError, match="another column order"):
        suffice.from_model(nam.state_dict(), (ROWS[:, ::-1], ask(nam)(ROWS)), task="binary")


def test_a_square_matrix_turned_round_is_refused(nam):
    turned = {
        key: value.T.contiguous() if key.endswith(".4.weight") else value for key, value in nam.state_dict().items()
    }
    assert turned["nets.0.4.weight"].shape == (8, 8)
    with pytest.raises(AdapterError, match="look for"):
        suffice.from_model(turned, (ROWS, ask(nam)(ROWS)), task="binary")


def test_training_mode_is_refused():
    with pytest.raises(AdapterError, match=r"training mode.*model.eval\(\)"):
        suffice.from_model(Nam(), task="binary")


def test_an_activation_that_is_not_known_is_refused_by_name():
    with pytest.raises(AdapterError, match=r"'nets.0.2' is a Softsign"):
        suffice.from_model(Nam(activation=nn.Softsign).eval(), task="binary")


def test_a_smooth_activation_outside_of_the_networks_is_refused():
    module = Nam(norm=False)
    module.last = nn.Sigmoid()
    module.eval()
    with pytest.raises(AdapterError, match=r"'last' is a Sigmoid outside of the networks.*give the module without it"):
        suffice.from_model(module, task="binary")


def test_an_unread_layer_is_refused_by_name():
    module = Nam(norm=False)
    module.extra = nn.Linear(3, 1)
    module.eval()
    with pytest.raises(AdapterError, match=r"leaves \d+ parameters unread, '(extra|offset)"):
        suffice.from_model(module, task="binary")


def test_an_unknown_layer_is_refused_by_name():
    class Twice(nn.Module):
        def forward(self, x):
            return x * x

    with pytest.raises(AdapterError, match="type Twice is not supported"):
        suffice.from_model(Nam(activation=Twice).eval(), task="binary")


def test_functions_that_the_keys_do_not_show_are_refused():
    class Squared(Nam):
        def forward(self, x):
            return super().forward(x) ** 2

    with pytest.raises(AdapterError, match="look for"):
        suffice.from_model(Squared().eval(), task="binary")


def test_answers_that_depend_on_other_rows_are_refused():
    class Batched(Nam):
        def forward(self, x):
            return super().forward(x - x.mean(0))

    with pytest.raises(AdapterError, match="among other rows"):
        suffice.from_model(Batched().eval(), task="binary")


def test_answers_that_change_are_refused():
    class Noisy(Nam):
        def forward(self, x):
            return super().forward(x) + torch.randn(1)

    with pytest.raises(AdapterError, match="gave two different answers for the same rows"):
        suffice.from_model(Noisy().eval(), task="binary")


def test_what_the_score_decides_must_be_said(nam):
    with pytest.raises(AdapterError, match="what the score decides; give task='binary' or 'regression'"):
        suffice.from_model(nam)
    with pytest.raises(AdapterError, match="3 outputs"):
        suffice.from_model(Nam(outputs=3).eval())


def test_an_ensemble_is_the_mean_of_its_members(nam):
    torch.manual_seed(5)
    members = [nam, trained(Nam())]
    model = suffice.from_model(members, task="binary")
    parts = [Explainer(suffice.from_model(member, task="binary")).score(ROWS[3]) for member in members]
    assert Explainer(model).score(ROWS[3]) == sum(parts) / Fraction(2)


def test_things_that_are_no_models_are_refused():
    for thing, words in [(3, "builtins.int"), ({}, "holds no parameters"), ([], "list"), (Nam, "is a class")]:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(thing, task="binary")


class Named(nn.Module):
    """A network of one feature whose layers are called fc1, fc2 and out, with activations called as functions."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.out = nn.Linear(1, 6), nn.Linear(6, 5), nn.Linear(5, 1)

    def forward(self, x):
        return self.out(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


class Sums(nn.Module):
    def __init__(self, is_probability=False):
        super().__init__()
        self.feature_nns = nn.ModuleList([Named() for _ in range(3)])
        self.bias = nn.Parameter(torch.tensor([0.25]))
        self.is_probability = is_probability

    def forward(self, x):
        score = sum(one(x[:, i : i + 1]) for i, one in enumerate(self.feature_nns)) + self.bias
        return torch.sigmoid(score) if self.is_probability else score


class Layered(nn.Module):
    """A network whose layers have names without numbers, and a normalisation between them."""

    def __init__(self, turned=False):
        super().__init__()
        self.turned = turned
        self.first, self.norm, self.second = nn.Linear(1, 6), nn.BatchNorm1d(6), nn.Linear(6, 6)
        self.last = nn.Linear(6, 1)

    def forward(self, x):
        if self.turned:
            return self.last(torch.relu(self.norm(torch.relu(self.second(self.first(x))))))
        return self.last(torch.relu(self.second(torch.relu(self.norm(self.first(x))))))


class LayeredSum(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.nets = nn.ModuleList(Layered(**options) for _ in range(3))
        self.bias = nn.Parameter(torch.tensor([0.25]))

    def forward(self, x):
        return sum(one(x[:, i : i + 1]) for i, one in enumerate(self.nets)) + self.bias


def test_layers_with_names_are_taken_in_their_order():
    torch.manual_seed(0)
    module = LayeredSum()
    module(torch.tensor(ROWS))  # some statistics for the normalisation
    module.eval()
    explainer = Explainer(suffice.from_model(module, task="binary"))
    assert [float(explainer.score(row)) for row in ROWS] == pytest.approx(ask(module)(ROWS)[:, 0], abs=1e-5)
    with pytest.raises(AdapterError, match=r"another activation than ReLU as a function"):
        suffice.from_model(LayeredSum(turned=True).eval(), task="binary")


def test_networks_in_a_module_dict_are_told_to_be_numbered():
    module = nn.ModuleDict({"nets": nn.ModuleDict({name: nn.Linear(1, 1) for name in ("age", "income")})})
    with pytest.raises(AdapterError, match=r"numbered as those in an nn\.ModuleList are"):
        suffice.from_model(module.eval(), task="binary")


def test_layers_called_fc1_fc2_and_out_are_found():
    torch.manual_seed(0)
    module = Sums().eval()
    model = suffice.from_model(module, task="binary")
    x = torch.randn(20, 3)
    with torch.no_grad():
        expected = module(x)[:, 0].tolist()
    score = suffice.Explainer(model).score
    assert [float(score(row)) for row in x.numpy()] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("wrap", [lambda layer: layer, nn.Sequential])
def test_one_linear_layer_is_a_linear_model(outputs, wrap):
    torch.manual_seed(0)
    module = wrap(nn.Linear(3, outputs, bias=outputs == 3)).eval()
    model = suffice.from_model(module, task="multiclass" if outputs == 3 else "regression")
    scores = [suffice.Explainer(model).score(row) for row in ROWS]
    expected = ask(module)(ROWS)
    assert np.array(scores, dtype=float).reshape(len(ROWS), -1) == pytest.approx(expected, abs=1e-6)


def test_a_network_that_mixes_columns_is_refused_by_its_layer():
    module = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).eval()
    with pytest.raises(AdapterError, match=r"the first layer, '0\.weight', mixes 3 columns, so the model is no sum"):
        suffice.from_model(module, task="binary")


def test_a_module_that_returns_probabilities_is_told_so():
    torch.manual_seed(0)
    with pytest.raises(AdapterError, match="that is the sigmoid of the score: give the model without its sigmoid"):
        suffice.from_model(Sums(is_probability=True).eval(), task="binary")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (nn.GLU, "multiplies units with each other; train with"),
        (lambda: nn.LayerNorm(4), "depends on all units; train with BatchNorm1d"),
    ],
)
def test_layers_without_exact_pieces_are_refused_with_the_reason(kind, words):
    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            make = lambda: nn.Sequential(nn.Linear(1, 4), kind(), nn.Linear(4, 1))  # noqa: E731
            self.nets = nn.ModuleList([make(), make()])

        def forward(self, x):
            return sum(one(x[:, i : i + 1]) for i, one in enumerate(self.nets))

    with pytest.raises(AdapterError, match=words):
        suffice.from_model(Stack().eval(), task="binary")


class Inputs(nn.Module):
    """Networks behind a scaler, a normalisation or a clamp of the module's own."""

    def __init__(self, way, activation=nn.ReLU):
        super().__init__()
        self.way = way
        make = lambda: nn.Sequential(nn.Linear(1, 6), activation(), nn.Linear(6, 1))  # noqa: E731
        self.nets = nn.ModuleList([make(), make(), make()])
        self.bias = nn.Parameter(torch.tensor([0.25]))
        if way in ("scaled", "wrong"):
            self.register_buffer("x_mean", torch.tensor([1.0, -2.0, 30.0]))
            self.register_buffer("x_std", torch.tensor([0.5, 3.0, 7.0]))
        if way == "normed":
            self.norm = nn.BatchNorm1d(3)
            self.norm.running_mean.copy_(torch.tensor([1.0, -2.0, 30.0]))
            self.norm.running_var.copy_(torch.tensor([0.5, 3.0, 7.0]))
        if way == "clipped":
            self.clip = nn.Hardtanh(-1.5, 2.0)

    def forward(self, x):
        if self.way == "scaled":
            x = (x - self.x_mean) / self.x_std
        if self.way == "wrong":
            x = (x - self.x_mean) * self.x_std
        if self.way == "normed":
            x = self.norm(x)
        if self.way == "clipped":
            x = self.clip(x)
        if self.way == "clamped":
            x = x.clamp(-1.5, 2.0)
        return sum(one(x[:, i : i + 1]) for i, one in enumerate(self.nets)) + self.bias


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Hardsigmoid])
@pytest.mark.parametrize("way", ["plain", "scaled", "normed", "clipped", "clamped"])
def test_what_a_module_does_to_its_columns_is_read(way, activation):
    torch.manual_seed(0)
    module = Inputs(way, activation).eval()
    layout = Layout("nets.{i}", "{k}", intercept="bias", clip=(-1.5, 2.0)) if way == "clamped" else None
    model = suffice.from_model(module, task="binary", layout=layout)
    check(f"torch {way} {activation.__name__}", model, ask(module), package="torch", precision=1e-5, single=True)


def test_what_a_module_does_otherwise_to_its_columns_is_refused():
    torch.manual_seed(0)
    with pytest.raises(AdapterError, match="look for"):
        suffice.from_model(Inputs("wrong").eval(), task="binary")
    with pytest.raises(AdapterError, match=r"clamps its inputs: layout=Layout\(\.\.\., clip=\(low, high\)\)"):
        suffice.from_model(Inputs("clamped").eval(), task="binary")


class Grouped(nn.Module):
    """All networks in one stack of convolutions, a group for each feature."""

    def __init__(self, features=4, hidden=5, activation=nn.ReLU, mixes=False):
        super().__init__()
        self.stack = nn.Sequential(
            nn.Conv1d(features, features * hidden, 1, groups=features),
            activation(),
            nn.Conv1d(features * hidden, features * 3, 1, groups=features),
            activation(),
            nn.Conv1d(features * 3, features, 1, groups=1 if mixes else features),
        )
        self.bias = nn.Parameter(torch.tensor([0.5]))

    def forward(self, x):
        return self.stack(x.unsqueeze(-1)).sum(dim=1) + self.bias


@pytest.mark.parametrize("activation", [nn.ReLU, nn.Hardsigmoid, nn.LeakyReLU])
def test_grouped_convolutions_are_one_network_for_each_feature(activation):
    torch.manual_seed(0)
    module = Grouped(activation=activation).eval()
    model = suffice.from_model(module, task="binary")
    assert len(model.names) == 4
    check(f"torch grouped {activation.__name__}", model, ask(module), package="torch", precision=1e-5, single=True)


class Basis(nn.Module):
    """One basis for all features, and a grouped convolution that weighs it, under the names of nbm-spam."""

    def __init__(self, features=3, bases=5):
        super().__init__()
        layers = [nn.Linear(1, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, bases), nn.BatchNorm1d(bases), nn.ReLU()]
        self.bases_nary_models = nn.ModuleDict({"ord1_net0": nn.ModuleDict({"model": nn.Sequential(*layers)})})
        self.featurizer = nn.Conv1d(features * bases, features, 1, groups=features)
        self.classifier = nn.Linear(features, 1)

    def forward(self, x):
        basis = self.bases_nary_models["ord1_net0"]["model"]
        columns = torch.cat([basis(x[:, i : i + 1]) for i in range(x.shape[1])], dim=1)
        return self.classifier(self.featurizer(columns[:, :, None])[:, :, 0])


def test_a_basis_that_features_share_is_no_stack_of_convolutions():
    torch.manual_seed(0)
    module = Basis()
    module(torch.tensor(ROWS))  # some statistics for the normalisation
    module.eval()
    explainer = Explainer(suffice.from_model(module, task="binary"))
    assert [float(explainer.score(row)) for row in ROWS] == pytest.approx(ask(module)(ROWS)[:, 0], abs=1e-5)


def test_convolutions_that_join_features_are_refused():
    torch.manual_seed(0)
    with pytest.raises(AdapterError):
        suffice.from_model(Grouped(mixes=True).eval(), task="binary")


class Estimator:
    """As lemeln's `nam.wrapper.NAMClassifier`: an ensemble in a list, probabilities, and rounded ones."""

    def __init__(self, models, threshold=0.5, power=1.0):
        self.models, self.threshold, self.power, self.num_tasks = models, threshold, power, 1

    def predict_proba(self, table):
        with torch.no_grad():
            scores = [one(torch.tensor(table, dtype=torch.float)).double().numpy() for one in self.models]
        return (1 / (1 + np.exp(-np.mean(scores, axis=0)))) ** self.power

    def predict(self, table):
        chances = self.predict_proba(table)
        return chances.round() if self.threshold == 0.5 else (chances > self.threshold).astype(float)


Estimator.__module__, Estimator.__qualname__, Estimator.__name__ = "nam.wrapper", "NAMClassifier", "NAMClassifier"


def test_probabilities_and_labels_of_an_estimator_around_networks_are_compared():
    class Nam(nn.Module):
        def __init__(self):
            super().__init__()
            self.feature_nns = nn.ModuleList(nn.Sequential(nn.Linear(1, 4), nn.ReLU(), nn.Linear(4, 1)) for _ in "ab")

        def forward(self, x):
            return sum(net(x[:, k : k + 1]) for k, net in enumerate(self.feature_nns))

    torch.manual_seed(0)
    members = [Nam().eval() for _ in range(2)]
    asked = {"layout": suffice.Layout("feature_nns.{i}", "{k}", intercept=None)}
    model = suffice.from_model(Estimator(members), **asked)
    assert (model.task, model.ties) == ("binary", "negative")  # a probability of one half is rounded to 0
    with pytest.raises(AdapterError, match="decision threshold of its own"):
        suffice.from_model(Estimator(members, threshold=0.45), **asked)
    with pytest.raises(AdapterError, match="the probabilities of the NAMClassifier say"):
        suffice.from_model(Estimator(members, power=1.1), **asked)
