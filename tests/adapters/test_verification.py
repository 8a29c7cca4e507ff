"""What a live model is asked: at rows of our own and at the user's, for scores, probabilities and labels."""

from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import AdapterError, Domain, Explainer, Feature

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def rows(n=200):
    return np.random.default_rng(0).normal(size=(n, 3))


def decided(X, classes=2):
    return np.digitize(X[:, 0] - X[:, 1] / 2, [0.0] if classes == 2 else [-0.5, 0.5])


class Strict(LogisticRegression):
    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.3).astype(int)]


class Softer(LogisticRegression):
    def predict_proba(self, X):
        return 0.5 + (super().predict_proba(X) - 0.5) / 2


class Reluctant(LogisticRegression):
    def predict(self, X):
        return np.where(np.abs(X).max(axis=1) > 3, "unsure", super().predict(X).astype(str))


class Cut(LinearRegression):
    def predict(self, X):
        return np.maximum(super().predict(X), 0)


class Halted(LogisticRegression):
    """Its score stands still outside the range of the training rows."""

    def decision_function(self, X):
        return super().decision_function(np.clip(X, -4, 4))


class Slack(FixedThresholdClassifier):
    """A threshold that its own `predict` does not keep to."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] >= 0.6).astype(int)]


CHANGED = [
    (Strict(), "predicts 1 in row .* decision threshold of its own"),
    (make_pipeline(StandardScaler(), Strict()), "predicts 1 in row .* decision threshold of its own"),
    (GridSearchCV(Strict(), {"C": [1.0, 2.0]}), "decision threshold of its own"),
    (Softer(), "the probabilities of the Softer say"),
    (Reluctant(), "predicts 'another class'"),
    (Halted(), "but the Halted says"),
    (OneVsRestClassifier(Halted()), "but the OneVsRestClassifier says"),
    (Slack(LogisticRegression(), threshold=0.3), "the Slack predicts 0 in row .* decision threshold of its own"),
]


@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize(("model", "words"), CHANGED, ids=lambda value: type(value).__name__)
def test_a_model_that_says_anything_else_than_its_score_is_refused(model, words, with_reference):
    X = rows()
    fitted = model.fit(X, decided(X))
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(fitted, X if with_reference else None)


def test_the_labels_of_several_classes_are_compared():
    class Biased(LogisticRegression):
        def predict(self, X):
            return self.classes_[np.argmax(self.predict_proba(X) * [1.0, 1.0, 1.5], axis=1)]

    X = rows()
    suffice.from_model(LogisticRegression().fit(X, decided(X, 3)), X)
    with pytest.raises(AdapterError, match="predicts 2 in row"):
        suffice.from_model(Biased().fit(X, decided(X, 3)), X)


def test_labels_in_the_place_of_scores_and_a_list_of_models_are_named():
    X = rows()
    model = LogisticRegression().fit(X, decided(X))
    with pytest.raises(AdapterError, match="as labels are: give scores or probabilities"):
        suffice.from_model(model, (X, model.predict(X)))
    with pytest.raises(AdapterError, match="a list is an ensemble of PyTorch networks, but it holds the Logistic"):
        suffice.from_model([model, model])


def test_other_names_of_classes_do_not_hide_the_labels():
    X = rows()
    suffice.from_model(LogisticRegression().fit(X, decided(X)), X, classes=["no", "yes"])
    with pytest.raises(AdapterError, match="predicts 'yes' in row"):
        suffice.from_model(Strict().fit(X, decided(X)), X, classes=["no", "yes"])


def test_a_regression_whose_predict_is_cut_is_refused_though_the_rows_do_not_show_it():
    X = rows()
    fitted = Cut().fit(X, 100 + X[:, 0])
    assert np.array_equal(fitted.predict(X), LinearRegression.predict(fitted, X))
    fitted.intercept_ = 1.0
    with pytest.raises(AdapterError, match="but the Cut says 0"):
        suffice.from_model(fitted, X[X[:, 0] > 0])


def test_reference_rows_do_not_replace_our_own():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Clamped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            make = torch.nn.Linear, torch.nn.ReLU
            self.nets = torch.nn.ModuleList(
                torch.nn.Sequential(make[0](1, 8), make[1](), make[0](8, 1)) for _ in range(3)
            )

        def forward(self, x):
            x = x.clamp(0.0, 1.0)
            return sum(net(x[:, i : i + 1]) for i, net in enumerate(self.nets))[:, 0]

    torch.manual_seed(0)
    module, X = Clamped().eval(), np.random.default_rng(0).random((100, 3))
    for reference in (None, X):
        with pytest.raises(AdapterError, match="but the Clamped says"):
            suffice.from_model(module, reference, task="binary")
    # On the domain where the two agree, it is the model that was read.
    domains = {f"x{k}": Domain.interval(0, 1) for k in range(3)}
    model = suffice.from_model(module, X, task="binary", domains=domains)
    assert model.domains == tuple(domains.values())
    features = [Feature(f"x{k}", Domain.interval(0, 1)) for k in range(3)]
    assert suffice.from_model(module, X, task="binary", features=features).domains == model.domains


def test_every_knot_its_neighbours_and_every_label_are_asked():
    from suffice.adapters.draft import Draft
    from suffice.adapters.verification import verify

    shapes = [
        suffice.Steps([k / 8 for k in range(100)], list(range(101))),
        suffice.Table({"a": 1, "b": 2, suffice.MISSING: 3}),
    ]
    model = suffice.AdditiveModel(shapes, 0, "regression")
    explainer, seen = Explainer(model), []

    def live(cells):
        seen.extend(cells)
        return np.array([float(explainer.score(row)) for row in cells])

    check = verify(Draft(model, "the model", live), [[0.5, "a"]])
    numbers, labels = (set(column) for column in zip(*seen, strict=True))
    assert labels == {"a", "b", suffice.MISSING}
    knots = [k / 8 for k in range(100)]
    wanted = {*knots, *np.nextafter(knots, np.inf).tolist(), *np.nextafter(knots, -np.inf).tolist()}
    assert wanted <= numbers
    assert min(numbers) < -100
    assert max(numbers) > 112
    assert check.rows > 400


def test_a_label_on_the_boundary_may_be_rounded():
    """Where the exact score is 0 to within rounding, either class is right."""
    X = np.array([[0.1], [0.2], [0.3], [0.4]])
    fitted = LogisticRegression().fit(X, [0, 0, 1, 1])
    fitted.coef_[:], fitted.intercept_[:] = 10.0, -3.0  # 10 * 0.3 - 3 is 0 in floats, and a little less exactly
    suffice.from_model(fitted, X)


@pytest.mark.parametrize("threshold", [0.49, 0.499, 0.4999, 0.5001, 0.501, 0.51])
def test_a_threshold_that_is_only_a_little_off_is_noticed(threshold):
    """Rows drawn by chance have scores far from 0; some are put together to be close to it."""

    class Shifted(LogisticRegression):
        def predict(self, X):
            return self.classes_[(self.predict_proba(X)[:, 1] > threshold).astype(int)]

    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) * [1, 50, 0.01]
    y = np.where(X[:, 0] + X[:, 1] / 100 > 0.3, "yes", "no")
    assert suffice.from_model(LogisticRegression().fit(X, y)).classes == ("no", "yes")
    with pytest.raises(AdapterError, match="decision threshold of its own"):
        suffice.from_model(Shifted().fit(X, y))


def test_domains_can_be_learned_from_the_reference():
    from sklearn.ensemble import HistGradientBoostingClassifier

    from suffice import MISSING, Domain

    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(18, 70, 200), random.normal(size=200).round(3), random.normal(size=200)])
    X[5, 2] = np.nan
    fitted = HistGradientBoostingClassifier(max_depth=1, max_iter=20).fit(X, X[:, 0] > 40)
    model = suffice.from_model(fitted, X)
    low, high = Fraction(X[:, 1].min()), Fraction(X[:, 1].max())
    slack = (high - low) / 4
    ages = X[:, 0].astype(int)
    assert min((ages == end).sum() for end in (ages.min(), ages.max())) >= 5  # so many make limits of them
    assert model.domains[0] == Domain.integers(int(ages.min()), int(ages.max()))
    assert model.domains[1] == Domain.interval(low - slack, high + slack)
    assert MISSING in model.domains[2].codes_
    assert float(model.features[1].deviation) == pytest.approx(X[:, 1].std())
    assert suffice.from_model(fitted, X, domains="reference").domains == model.domains
    assert suffice.from_model(fitted, X, domains="model").domains == suffice.from_model(fitted).domains
    stated = suffice.from_model(fitted, X, domains={"x0": Domain.integers(0, 120)})
    assert stated.domains == (Domain.integers(0, 120), *model.domains[1:])
    assert suffice.from_model(fitted, X[:99]).domains == suffice.from_model(fitted).domains  # too few rows
    assert len(suffice.from_model(fitted, X[:99], domains="reference").domains[0].codes_) == 0
    with pytest.raises(suffice.AdapterError, match="takes domains from the reference rows, and there are none"):
        suffice.from_model(fitted, domains="reference")
    with pytest.raises(suffice.AdapterError, match="got 'rows'"):
        suffice.from_model(fitted, X, domains="rows")
