"""Scores against scikit-learn's, and doubts about tables."""

import math

import numpy as np
import pytest

from suffice.tables.quality import (
    Group,
    auc,
    classification_scores,
    doubts,
    probability_scores,
    regression_scores,
    reliability,
)

metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")


@pytest.mark.parametrize("seed", range(10))
def test_scores_are_those_of_scikit_learn(seed):
    random = np.random.default_rng(seed)
    scores, is_second = random.integers(0, 9, 60) / 4, random.random(60) < 0.4
    assert auc(scores, is_second) == pytest.approx(metrics.roc_auc_score(is_second, scores))
    true, said = random.normal(size=50), random.normal(size=50)
    explained, error = regression_scores(true.tolist(), said.tolist())
    assert explained.model == pytest.approx(metrics.r2_score(true, said))
    assert error.model == pytest.approx(metrics.mean_absolute_error(true, said))
    assert error.guess == pytest.approx(metrics.mean_absolute_error(true, np.full(50, np.median(true))))
    names = random.choice(["a", "b"], 60).tolist()
    guesses = random.choice(["a", "b"], 60).tolist()
    ranked, right = classification_scores(names, guesses, scores, ["a", "b"])
    assert (ranked.name, ranked.guess, right.name) == ("AUC", 0.5, "accuracy")
    assert ranked.model == pytest.approx(metrics.roc_auc_score([one == "b" for one in names], scores))
    assert right.model == pytest.approx(metrics.accuracy_score(names, guesses))
    assert right.guess == max(names.count("a"), names.count("b")) / 60


@pytest.mark.parametrize("seed", range(5))
def test_scores_of_probabilities_are_those_of_scikit_learn(seed):
    random = np.random.default_rng(seed)
    chances, is_second = random.random(200).round(3), random.random(200) < 0.4
    loss, brier, error = probability_scores(chances, is_second)
    share = np.full(200, is_second.mean())
    for one, measure in ((loss, metrics.log_loss), (brier, metrics.brier_score_loss)):
        assert one.model == pytest.approx(measure(is_second, chances))
        assert one.guess == pytest.approx(measure(is_second, share))
    assert error.guess == 0
    assert error.model > 0


def test_probabilities_are_compared_with_what_happened_in_groups():
    chances, is_second = np.repeat([0.1, 0.5, 0.9], [20, 20, 60]), np.arange(100) % 2 == 0
    assert [tuple(map(pytest.approx, one)) for one in reliability(chances, is_second)] == [
        (20, 0.1, 0.5),
        (20, 0.5, 0.5),
        (60, 0.9, 0.5),
    ]
    error = probability_scores(chances, is_second)[2]
    assert error.model == pytest.approx(0.2 * 0.4 + 0.6 * 0.4)
    many = reliability(np.linspace(0, 1, 1000), np.ones(1000, dtype=bool))
    assert [one.rows for one in many] == [100] * 10
    assert reliability(np.array([0.25]), np.array([True])) == [Group(1, 0.25, 1.0)]
    wrong = probability_scores(np.array([0.0, 1.0]), np.array([True, True]))[0].model
    assert wrong == pytest.approx(-math.log(2.0**-52) / 2)


def test_doubts_name_identifiers_constants_leaks_and_small_classes():
    random = np.random.default_rng(0)
    target = [0] * 80 + [1] * 20
    columns = {
        "age": random.integers(18, 90, 100).astype(float).tolist(),
        "id": [float(k) for k in range(100)],
        "name": [f"person {k}" for k in range(100)],
        "same": [1.0] * 99 + [math.nan],
        "outcome": ["paid"] * 80 + ["late"] * 20,
        "score": [k / 100 for k in target],
    }
    told = doubts(columns, target, is_classification=True)
    assert told == [
        "'id' counts the rows, like an identifier; drop it.",
        "'name' has 100 different texts in 100 rows, like an identifier; drop it.",
        "'same' is the same in every row; drop it.",
        "the class 1 has 20 rows only; what is learned of it is hardly more than those.",
        *(
            f"{name!r} alone tells the classes apart (AUC 1.000); is it known beforehand?"
            for name in ("id", "outcome", "score")
        ),
    ]
    fine = {"age": columns["age"]}
    assert doubts(fine, [0, 1] * 50, is_classification=True) == []
    assert doubts(fine, [0.5] * 100, is_classification=False) == []
