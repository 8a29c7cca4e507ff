"""Calibrated probabilities: closer to what happens on fresh rows, left out where they do not help, and exact."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')")
pandas = pytest.importorskip("pandas", reason="tables come from pandas")

from sklearn.metrics import log_loss  # noqa: E402

from suffice import Explainer, load  # noqa: E402
from suffice.gam.calibrating import _line  # noqa: E402
from suffice.gam.curves import logistic_curve, softmax_curve  # noqa: E402
from suffice.nam import NAMClassifier, NAMRegressor  # noqa: E402

QUICK = {"hidden_layers": (8,), "max_epochs": 8, "random_state": 0}
ROWS = 900
RARE = {"no": 1, "yes": 8}  # weights that make "yes" look far likelier than it is


def drawn(rows=ROWS, seed=0, classes=2):
    """Return a table, classes drawn by known probabilities, and these probabilities."""
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "a": random.normal(size=rows),
            "b": random.normal(size=rows),
            "months": random.choice([-9.0, 0, 1, 2, np.nan], rows),
            "town": random.choice(["north", "south", "east"], rows),
        }
    )
    score = table["a"] + 1.0 * (table["town"] == "east") - 2.0
    scores = np.stack([0 * score, score, table["b"] - 2.0][:classes], axis=1)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    places = (random.random((rows, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    return table, np.array(["no", "yes", "later"])[places], chances


def both(table, target, weights=None, **options):
    return (NAMClassifier(**QUICK | options, calibrated=wanted).fit(table, target, weights) for wanted in (False, True))


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_weighted_classes_are_brought_back(classes):
    table, target, _ = drawn(classes=classes)
    plain, calibrated = both(table, target, class_weight=RARE | ({"later": 4} if classes == 3 else {}))
    assert calibrated.is_calibrated_
    assert not plain.is_calibrated_
    fresh, truth, chances = drawn(4000, seed=1, classes=classes)
    order = [["no", "yes", "later"].index(name) for name in calibrated.classes_]
    best = log_loss(truth, chances[:, order], labels=list(calibrated.classes_))
    losses = [log_loss(truth, nam.predict_proba(fresh), labels=list(nam.classes_)) for nam in (plain, calibrated)]
    assert losses[1] - best < 0.2 * (losses[0] - best)
    shares = [(truth == name).mean() for name in calibrated.classes_]
    assert np.abs(calibrated.predict_proba(fresh).mean(axis=0) - shares).max() < 0.03
    assert np.abs(plain.predict_proba(fresh).mean(axis=0) - shares).max() > 0.2


def test_weights_of_rows_say_how_often_something_happens():
    table, target, _ = drawn()
    weights = np.where(target == "yes", 8.0, 1.0)
    plain, calibrated = both(table, target, weights)
    share = weights[target == "yes"].sum() / weights.sum()
    for nam in (plain, calibrated):  # unlike weights of classes: these rows do count eight times
        assert abs(np.average(nam.predict_proba(table)[:, 1], weights=weights) - share) < 0.05


def test_a_model_that_is_too_sure_gets_flatter_shapes():
    random = np.random.default_rng(0)
    table, fresh = (pandas.DataFrame(random.normal(size=(rows, 12))) for rows in (300, 4000))
    target, truth = ((one[0] / 2 + random.normal(size=len(one)) > 0).to_numpy() for one in (table, fresh))
    greedy = {"validation_fraction": 0.0, "max_epochs": 60, "learning_rate": 0.05, "corrections": False}
    greedy |= {"weight_decay": 0.0, "output_penalty": 0.0, "feature_dropout": 0.0}
    table.columns = fresh.columns = [f"x{k}" for k in range(12)]
    plain, calibrated = both(table, target, **greedy)
    assert 0 < calibrated.scale_ < 0.7
    assert log_loss(truth, calibrated.predict_proba(fresh)) < log_loss(truth, plain.predict_proba(fresh)) - 0.1


def test_a_calibration_is_a_line_of_the_same_scores():
    table, target, _ = drawn()
    plain, calibrated = both(table, target, class_weight=RARE, explanation_radius=0.5)
    line = plain.decision_function(table) * calibrated.scale_ + calibrated.center_
    np.testing.assert_array_equal(calibrated.decision_function(table), line)
    assert calibrated.explanation_width_ == plain.explanation_width_ * calibrated.scale_
    again = NAMClassifier(**QUICK, class_weight=RARE, calibrated=True).fit(table, target)
    assert (again.scale_, *again.center_) == (calibrated.scale_, *calibrated.center_)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_exact_model_has_the_calibrated_probabilities(classes, tmp_path):
    table, target, _ = drawn(classes=classes)
    options = {"pairs": [("a", "town")], "special_codes": {"months": [-9]}, "class_weight": RARE, "n_members": 2}
    nam = NAMClassifier(**QUICK, **options, calibrated=True).fit(table, target)
    assert nam.is_calibrated_
    assert nam.pairs_ == (("a", "town"),)
    nam.to_additive(domains="model").save(tmp_path / "model.safetensors")
    explainer, some = Explainer(load(tmp_path / "model.safetensors")), table.iloc[:25]
    ours = [np.ravel(explainer.score(row)).astype(float) for _, row in some.iterrows()]
    np.testing.assert_allclose(nam.decision_function(some).reshape(25, -1), ours, rtol=1e-10, atol=1e-10)
    chances = [np.array(explainer.predict_proba(row), dtype=float) for _, row in some.iterrows()]
    np.testing.assert_allclose(nam.predict_proba(some), chances, atol=1e-9)
    assert nam.predict(some).tolist() == [explainer.predict(row) for _, row in some.iterrows()]


def test_what_needs_no_calibration_gets_none():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"a": random.normal(size=2000)})
    target = random.random(2000) < 1 / (1 + np.exp(-table["a"]))
    nam = NAMClassifier(**QUICK | {"max_epochs": 30}, calibrated=True).fit(table, target)
    assert (nam.is_calibrated_, nam.scale_, nam.center_.tolist()) == (False, 1.0, [0.0])


def test_a_class_of_few_rows_gets_no_calibration():
    table, target, _ = drawn(60)
    target = np.where(np.arange(60) < 3, "yes", "no")
    assert not NAMClassifier(**QUICK, class_weight=RARE, calibrated=True).fit(table, target).is_calibrated_


@pytest.mark.parametrize("classes", [2, 3])
def test_the_line_is_the_best_one_and_never_too_steep(classes):
    random = np.random.default_rng(0)
    scores = random.normal(size=(4000, classes if classes > 2 else 1))
    shift = np.array([0.5, -1.0, 0.5])[: scores.shape[1]]
    noise = random.logistic(size=4000) if classes == 2 else random.gumbel(size=scores.shape)
    true = 0.4 * scores + shift
    targets = (true[:, 0] + noise > 0) if classes == 2 else (true + noise).argmax(axis=1)
    curve = logistic_curve if classes == 2 else softmax_curve
    slope, found = _line(scores, targets.astype(float), np.ones(4000), curve)
    assert abs(slope - 0.4) < 0.08
    assert np.abs(found - shift).max() < 0.12
    apart = np.where(np.arange(40) < 20, -1.0, 1.0)
    assert 1 < _line(apart[:, None], (apart > 0).astype(float), np.ones(40), logistic_curve).slope < 6


def test_regressions_have_no_probabilities():
    with pytest.raises(TypeError, match="calibrated"):
        NAMRegressor(calibrated=True)
