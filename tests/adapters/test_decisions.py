"""Thresholds of one's own: the exact model decides as `predict` does, its probability is that of `predict_proba`."""

import math
import random
import warnings
from contextlib import suppress
from itertools import product

import numpy as np
import pytest

import suffice
import suffice_check
from suffice import AdditiveModel, ClaimError, Explainer, ProbabilityAtLeast, Steps

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier  # noqa: E402
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV  # noqa: E402
from sklearn.multiclass import OneVsRestClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, LinearSVC  # noqa: E402


def data(n=300):
    random_ = np.random.default_rng(0)
    X = pandas.DataFrame(np.round(random_.normal(size=(n, 3)), 2), columns=["a", "b", "c"])
    y = np.where(X.a - X.b * 0.7 + 0.5 * X.a * X.c + random_.normal(0, 0.7, n) > 0, "yes", "no")
    return X, y


def ebm():
    glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")
    return glassbox.ExplainableBoostingClassifier(interactions=2, max_rounds=40, outer_bags=1, random_state=0)


INSIDE = {
    "linear": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "stumps": lambda: GradientBoostingClassifier(max_depth=1, n_estimators=40),
    "pairs": lambda: HistGradientBoostingClassifier(max_depth=2, max_iter=30),
    "EBM with pairs": ebm,
    "naive Bayes": GaussianNB,
}
AROUND = {
    "fixed": lambda model: FixedThresholdClassifier(model, threshold=0.3, pos_label="yes"),
    "fixed for the first class": lambda model: FixedThresholdClassifier(model, threshold=0.3, pos_label="no"),
    "fixed on the score": lambda model: FixedThresholdClassifier(
        model, threshold=0.4, response_method="decision_function", pos_label="yes"
    ),
    "tuned": lambda model: TunedThresholdClassifierCV(model, cv=2, scoring="balanced_accuracy"),
    "twice": lambda model: FixedThresholdClassifier(
        FixedThresholdClassifier(model, threshold=0.8, pos_label="yes"), threshold=0.35, pos_label="yes"
    ),
    "calibrated, then fixed": lambda model: FixedThresholdClassifier(
        CalibratedClassifierCV(model, ensemble=False, cv=2), threshold=0.6, pos_label="yes"
    ),
}


# The calibrated probability of an EBM or of naive Bayes, a sigmoid of a probability, is no logistic function of its
# score; and naive Bayes has no decision_function.
NOT = {
    ("calibrated, then fixed", "EBM with pairs"),
    ("calibrated, then fixed", "naive Bayes"),
    ("fixed on the score", "naive Bayes"),
}
BOTH = [both for both in product(AROUND, INSIDE) if both not in NOT]


@pytest.mark.parametrize(("around", "inside"), BOTH)
@pytest.mark.filterwarnings("ignore")
def test_a_threshold_moves_the_decision_and_not_the_probability(around, inside):
    X, y = data()
    fitted = AROUND[around](INSIDE[inside]()).fit(X, y)
    explainer = Explainer(suffice.from_model(fitted, X))
    assert bool(explainer.model.pairs) == ("pairs" in inside)
    chances, labels = fitted.predict_proba(X), fitted.predict(X)
    told = dict(zip(fitted.classes_, chances.T, strict=True))
    tried = {True: 0, False: 0}
    assert [explainer.predict(row) for row in X.to_numpy().tolist()] == labels.tolist()
    for k, row in enumerate(X.to_numpy()[:40].tolist()):
        for p in (0.25, 0.5, 0.75):
            chance = told[labels[k]][k]
            if abs(chance - p) < 1e-6:
                continue
            holds = _holds(explainer, row, p)
            assert holds == (chance >= p), (row, labels[k], chance, p)
            tried[holds] += 1
    assert tried[True]
    assert tried[False]


def _holds(explainer, row, p):
    """Whether a row has the probability that is claimed of it: fixing all features then suffices."""
    with suppress(ClaimError):
        return explainer.is_sufficient(row, ["a", "b", "c"], 0, claim=ProbabilityAtLeast(p), unit="raw")
    with pytest.raises(ClaimError, match="the claim is false at the row itself"):
        explainer.is_sufficient(row, ["a", "b", "c"], 0, claim=ProbabilityAtLeast(p), unit="raw")
    return False


@pytest.mark.filterwarnings("ignore")
def test_explanations_of_a_probability_hold_for_the_model_itself():
    X, y = data()
    fitted = FixedThresholdClassifier(INSIDE["stumps"](), threshold=0.2, pos_label="yes").fit(X, y)
    explainer, draw, tried = Explainer(suffice.from_model(fitted, X)), random.Random(0), 0
    place = list(fitted.classes_).index("yes")
    for row in X.to_numpy().tolist():
        if not fitted.predict_proba(X.head(0).reindex([0]).assign(a=row[0], b=row[1], c=row[2]))[0, place] > 0.62:
            continue
        why = explainer.explain(row, math.inf, claim=ProbabilityAtLeast("0.6"), unit="raw")
        moved = [
            [value if name in why.features else draw.gauss(0, 3) for name, value in zip("abc", row, strict=True)]
            for _ in range(300)
        ]
        assert (fitted.predict_proba(pandas.DataFrame(moved, columns=list("abc")))[:, place] >= 0.6 - 1e-9).all()
        for name in why.features:
            point = {key: float(value) for key, value in why.counterexample(name).items()}
            assert fitted.predict_proba(pandas.DataFrame([point]))[0, place] < 0.6 + 1e-9
        tried += 0 < why.size < 3
        if tried == 5:
            return
    pytest.fail("no explanation with fixed and free features was found")


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(),
        SVC(kernel="linear"),
        Perceptron(),
        RidgeClassifier(),
        FixedThresholdClassifier(LinearSVC(), threshold=0.1, pos_label="yes"),
        CalibratedClassifierCV(LogisticRegression(), method="isotonic", ensemble=False, cv=2),
        GradientBoostingClassifier(loss="exponential", max_depth=1, n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_a_model_without_a_logistic_probability_refuses_claims_about_one(model):
    X, y = data()
    explainer = Explainer(suffice.from_model(model.fit(X, y), X))
    assert explainer.model.logit_offset is None
    with pytest.raises(ClaimError, match="no logistic function of its score"):
        explainer.explain(X.iloc[0], 1, claim=ProbabilityAtLeast("0.6"), unit="raw")
    explainer.explain(X.iloc[0], 1, unit="raw")


def test_the_offset_is_in_the_file_and_in_what_the_checker_checks(tmp_path):
    from suffice.model.writing import to_bytes

    shapes = [Steps([0], [-1, 1]), Steps([0], ["-1/2", "1/2"])]
    made = {
        offset: AdditiveModel(shapes, features=["a", "b"], logit_offset=offset) for offset in (0, "3/4", "-3/4", None)
    }
    for offset, model in made.items():
        path = tmp_path / "model.safetensors"
        model.save(path)
        again = suffice.load(path)
        assert (again.terms, again.logit_offset) == (model.terms, model.logit_offset)
        assert (b"logit_offset" in path.read_bytes()) == (offset != 0)
    # score 3/2, logit 9/4; 0.9 needs log 9 = 2.197..., and without `a`, or without `b`, there is less
    why = Explainer(made["3/4"]).explain([1, 1], math.inf, claim=ProbabilityAtLeast("0.9"))
    assert why.features == ("a", "b")
    proof = why.certificate().text.encode()
    said = suffice_check.check(to_bytes(made["3/4"]), proof)
    assert "the probability of 1 stays at least 9/10 (as 1/(1+exp(-(score+3/4))))" in said
    sizes = {offset: _size(model, "0.75") for offset, model in made.items() if offset is not None}
    assert sizes == {0: 2, "3/4": 1, "-3/4": None}  # log 3 = 1.098...; without `b` the logit is 1 less


def _size(model, p):
    try:
        return Explainer(model).explain([1, 1], math.inf, claim=ProbabilityAtLeast(p)).size
    except ClaimError:
        return None


@pytest.mark.filterwarnings("ignore")
def test_wrappers_around_our_own_networks():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from suffice.nam import NAMClassifier

    X, y = data(120)
    nam = NAMClassifier(hidden_layers=(8,), max_epochs=5, random_state=0)
    wrapped = [
        make_pipeline(StandardScaler(), nam),
        GridSearchCV(nam, {"random_state": [0, 1]}, cv=2),
        FixedThresholdClassifier(nam, threshold=0.3, pos_label="yes"),
        OneVsRestClassifier(nam),
    ]
    for model in wrapped:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(X, y)
            explainer = Explainer(suffice.from_model(fitted, X))
            labels = fitted.predict(X)
        assert [explainer.predict(row) for row in X.to_numpy().tolist()] == labels.tolist()
