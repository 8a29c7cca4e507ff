"""Broken lines that correct the networks' shapes: what they add, where they are left out, and that they are exact."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')")
pandas = pytest.importorskip("pandas", reason="tables come from pandas")

from sklearn.metrics import log_loss, r2_score  # noqa: E402

from suffice import DataError, Explainer  # noqa: E402
from suffice.gam.curves import logistic_curve, softmax_curve, squared_curve  # noqa: E402
from suffice.nam import NAMClassifier, NAMRegressor  # noqa: E402

QUICK = {"hidden_layers": (8,), "max_epochs": 4, "random_state": 0}
ROWS = 2400


def spiky(rows=ROWS, seed=0):
    """A column of which one value says much, one with codes and gaps, and one of categories."""
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "gain": random.choice([0, 0, 0, 3, 7, 7.5, 8, 20], rows) + np.where(random.random(rows) < 0.3, 0.25, 0),
            "months": random.choice([-9.0, 0, 1, 2, 3, np.nan], rows),
            "town": random.choice(["north", "south", "east"], rows),
        }
    )
    score = 4.0 * (table["gain"] == 7) - 2.0 * (table["gain"] == 7.5) + 1.5 * (table["months"] == -9) - 1
    return table, score + (table["town"] == "east"), random


def classes_of(score, random):
    return np.where(random.random(len(score)) < 1 / (1 + np.exp(-score)), "yes", "no")


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_exact_model_scores_as_the_corrected_estimator_does(task):
    table, score, random = spiky()
    target = classes_of(score, random)
    if task == "multiclass":
        target = np.where(table["town"] == "south", target, "other")
    if task == "regression":
        target = score + random.normal(0, 0.1, ROWS)
    kind = NAMRegressor if task == "regression" else NAMClassifier
    nam = kind(**QUICK, n_members=2, corrections=True, special_codes={"months": [-9]}).fit(table, target)
    assert nam.corrections_ is not None
    explainer = Explainer(nam.to_additive(domains="model"))
    some = table.iloc[:25]
    theirs = nam.predict(some) if task == "regression" else nam.decision_function(some)
    ours = [np.ravel(explainer.score(row)).astype(float) for _, row in some.iterrows()]
    np.testing.assert_allclose(np.reshape(theirs, (len(some), -1)), ours, rtol=1e-10, atol=1e-10)


def test_what_a_single_value_says_is_found():
    table, score, random = spiky()
    target = classes_of(score, random)
    held, held_score, again = spiky(seed=1)
    truth = classes_of(held_score, again)
    losses = [
        log_loss(truth, NAMClassifier(**QUICK, corrections=on).fit(table, target).predict_proba(held)[:, 1])
        for on in (False, True)
    ]
    best = log_loss(truth, 1 / (1 + np.exp(-held_score)))
    assert losses[1] - best < 0.2 * (losses[0] - best)


def test_noise_makes_no_model_worse():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"a": random.normal(size=ROWS), "b": random.integers(0, 40, ROWS).astype(float)})
    noise, fresh = random.random((2, ROWS)) < 0.5
    plain, corrected = (NAMClassifier(**QUICK, corrections=on).fit(table, noise) for on in (False, True))
    assert log_loss(fresh, corrected.predict_proba(table)[:, 1]) < log_loss(fresh, plain.predict_proba(table)[:, 1])


def test_few_rows_get_no_corrections():
    table, score, random = spiky(300)
    assert NAMClassifier(**QUICK, corrections=True).fit(table, classes_of(score, random)).corrections_ is None


@pytest.mark.parametrize("rows", [120, ROWS])
@pytest.mark.parametrize("direction", [1, -1])
def test_a_monotone_column_is_proven_to_be_so(direction, rows):
    random = np.random.default_rng(rows)
    table = pandas.DataFrame({"x": random.uniform(-3, 3, rows).round(1), "z": random.normal(size=rows)})
    table.loc[::9, "x"] = np.nan
    wave = direction * table["x"].fillna(0) + 1.5 * np.sin(3 * table["x"].fillna(0))
    target = wave + table["z"] + random.normal(0, 0.3, rows)
    free, held = (
        NAMRegressor(**QUICK | {"max_epochs": 20}, corrections=True, monotone=wish).fit(table, target)
        for wish in (None, {"x": direction})
    )
    way = "up" if direction > 0 else "down"
    assert Explainer(held.to_additive()).monotone("x", way)
    assert not Explainer(free.to_additive()).monotone("x", way)
    assert r2_score(target, held.predict(table)) > 0.5


def test_the_penalty_for_long_explanations_acts_on_corrections():
    table, score, random = spiky()
    target = classes_of(score, random)
    widths = []
    for weight in (0.0, 0.01, 0.3):
        nam = NAMClassifier(**QUICK, corrections=True, explanation_radius=0.5, explanation_weight=weight)
        widths.append(nam.fit(table, target).explanation_width_)
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < widths[0] / 4


def test_the_same_state_gives_the_same_corrections():
    table, score, random = spiky()
    target = classes_of(score, random)
    first, second = (NAMClassifier(**QUICK, corrections=True).fit(table, target).corrections_ for _ in range(2))
    for a, b in zip(first.values, second.values, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"nothing": 1}, "which the table does not have"),
        ({"town": 1}, "holds categories"),
        ({"gain": 2}, "must be 1"),
        ({"gain": True}, "must be 1"),
        (["gain"], "must map names"),
    ],
)
def test_a_bad_direction_is_refused(wish, words):
    table, score, random = spiky(60)
    with pytest.raises(DataError, match=words):
        NAMClassifier(**QUICK, monotone=wish).fit(table, classes_of(score, random))


def test_of_several_classes_no_score_is_monotone():
    table, _, random = spiky(60)
    with pytest.raises(DataError, match="two classes"):
        NAMClassifier(**QUICK, monotone={"gain": 1}).fit(table, random.choice(["a", "b", "c"], 60))


@pytest.mark.parametrize("curve", [squared_curve, logistic_curve, softmax_curve])
def test_derivatives_of_losses_are_those_of_small_differences(curve):
    random = np.random.default_rng(0)
    scores = random.normal(size=(6, 3 if curve is softmax_curve else 1))
    targets = random.integers(0, 3 if curve is softmax_curve else 2, 6).astype(float)
    _, slope, bend = curve(scores, targets)
    for k in range(scores.shape[1]):
        step = np.zeros_like(scores)
        step[:, k] = 1e-4
        low, middle, high = (curve(scores + sign * step, targets)[0] for sign in (-1, 0, 1))
        np.testing.assert_allclose(slope[:, k], (high - low) / 2e-4, atol=1e-6)
        np.testing.assert_allclose(bend[:, k], (high - 2 * middle + low) / 1e-8, atol=1e-5)
