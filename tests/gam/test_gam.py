"""Generalized additive models: exact, fitted without PyTorch, and what they are asked for and refuse."""

import math
import os
import pickle
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

pandas = pytest.importorskip("pandas", reason="tables come from pandas (pip install 'suffice[gam]')")
pytest.importorskip("sklearn", reason="additive models are trained with scikit-learn (pip install 'suffice[gam]')")

from oracles.terms import scores_of  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_iris  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.metrics import log_loss  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from suffice import MISSING, DataError, Domain, Explainer, FeatureNameError, RowError, load  # noqa: E402
from suffice.gam import GAMClassifier, GAMRegressor, choose_explanation_weight  # noqa: E402

CODES = {"months": (-9, -8)}


MORE_ROWS = "weights say what rows count beside each other, not how many there are: a row given twice is more evidence"


@parametrize_with_checks(
    [GAMClassifier(), GAMRegressor()],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": MORE_ROWS},
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def mixed(rows=200, seed=0):
    """A table of all kinds of columns, and a score that most of them have a part in."""
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "age": random.integers(18, 90, rows).astype(float),
            "colour": pandas.Categorical(random.choice(["red", "green", "blue"], rows)),
            "grade": pandas.Categorical(random.choice([1, 2, 3], rows)),
            "member": random.random(rows) < 0.5,
            "months": random.choice([-9.0, -8.0, 0.0, 3.0, 12.0, 30.0], rows),
            "town": random.choice(["north", "south"], rows),
            "debt": random.normal(size=rows),
            "same": 7.0,
        }
    )
    table.loc[::7, "age"] = np.nan
    table.loc[::11, "town"] = None
    score = (table["age"].fillna(70) > 50) * 1.5 + 2.0 * (table["colour"] == "red") + (table["months"] < 0)
    return table, (score + table["debt"] * np.where(table["member"], 1, -1) - 2).to_numpy(), random


def targets(score, task, random):
    if task == "regression":
        return 1000 + 50 * score + random.normal(size=len(score))
    noisy = score + random.logistic(size=len(score)) / 2
    return np.digitize(noisy, [0] if task == "binary" else [-0.5, 1]).astype(str)


def fitted(task, rows=200, seed=0, **options):
    table, score, random = mixed(rows, seed)
    kind = GAMRegressor if task == "regression" else GAMClassifier
    return table, kind(**{"special_codes": CODES, **options}).fit(table, targets(score, task, random))


def floats_of(gam, table):
    """Return the scores of rows in floats (rows, outputs)."""
    found = gam.decision_function(table) if hasattr(gam, "classes_") else gam.predict(table)
    return np.reshape(found, (len(table), -1))


def exact_of(explainer, row):
    found = explainer.score(row)
    return list(found) if isinstance(found, tuple) else [found]


# --- exactness --------------------------------------------------------------------------------------------------------

WITH = [("debt", "member"), ("age", "colour"), ("colour", "grade"), ("age", "debt"), ("months", "town")]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("pairs", [0, "auto", WITH], ids=["no pairs", "auto", "named"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_the_model_file_scores_exactly_what_the_knots_say(task, pairs, seed, tmp_path):
    table, gam = fitted(task, rows=110 + 30 * seed, seed=seed, pairs=pairs)
    if isinstance(pairs, list):
        assert {frozenset(pair) for pair in gam.pairs_} == {frozenset(pair) for pair in pairs}
    gam.to_additive(domains="model").save(tmp_path / "model.safetensors")
    explainer = Explainer(load(tmp_path / "model.safetensors"))
    some = table.iloc[::9].copy()
    some.loc[some.index[0], ["age", "debt", "months"]] = [1e6, -50.0, 1.5]  # beyond the knots, and between them
    some.loc[some.index[1], ["age", "debt", "months"]] = [-1e-9, 50.0, -8.5]
    floats = floats_of(gam, some)
    for k in range(len(some)):
        row = some.iloc[k]
        exact = exact_of(explainer, row)
        assert exact == scores_of(gam, row)
        np.testing.assert_allclose(floats[k], [float(one) for one in exact], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_all_parameters_are_numbers_of_32_bits(task):
    _, gam = fitted(task)
    for values in (gam.intercept_, *gam.terms_.values, *gam.terms_.surfaces):
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, values.astype(np.float32).astype(np.float64))
    outputs = 3 if task == "multiclass" else 1
    assert gam.intercept_.shape == (outputs,)
    assert [values.shape[1] for values in gam.terms_.values] == [outputs] * 8
    assert all(gam.terms_.is_whole)


def test_probabilities_and_classes_follow_from_the_scores():
    table, gam = fitted("binary")
    score = gam.decision_function(table)
    np.testing.assert_allclose(gam.predict_proba(table)[:, 1], 1 / (1 + np.exp(-score)), rtol=1e-12)
    np.testing.assert_array_equal(gam.predict(table), np.where(score >= 0, "1", "0"))
    table, gam = fitted("multiclass")
    each = np.exp(gam.decision_function(table))
    np.testing.assert_allclose(gam.predict_proba(table), each / each.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_array_equal(gam.predict(table), np.array(["0", "1", "2"])[each.argmax(axis=1)])


def test_a_gam_is_explained_directly():
    table, gam = fitted("binary")
    explainer, row = Explainer(gam), table.iloc[1]
    why = explainer.explain(row, radius=0.5, unit="std")
    assert why.float_prediction == why.prediction == gam.predict(table.iloc[[1]])[0]
    for name in why.features:
        point = why.counterexample(without=name)
        frame = pandas.DataFrame([{k: float(v) if isinstance(v, Fraction) else v for k, v in point.items()}])
        frame = frame.astype({"member": bool}).replace({MISSING: None})
        assert gam.predict(frame[table.columns])[0] != why.prediction


# --- what is learned --------------------------------------------------------------------------------------------------


def test_kinds_of_columns_and_pairs_are_learned():
    table, score, random = mixed(1200)
    fresh, fresh_score, again = mixed(1200, seed=1)
    gam = GAMClassifier(special_codes=CODES).fit(table, targets(score, "binary", random))
    assert ("member", "debt") in gam.pairs_
    truth = targets(fresh_score, "binary", again)
    best = log_loss(truth, 1 / (1 + np.exp(-2 * fresh_score)))
    guess = log_loss(truth, np.full(len(truth), (truth == "1").mean()))
    assert log_loss(truth, gam.predict_proba(fresh)[:, 1]) - best < 0.15 * (guess - best)
    domains = gam.to_additive().domains
    assert [str(domain) for domain in domains[1:4]] == ["one of blue, green, red", "one of 1, 2, 3", "one of 0, 1"]
    assert MISSING in domains[0]
    assert -9 in domains[4]


def test_the_same_rows_give_the_same_model():
    table, first = fitted("multiclass")
    second = clone(first).fit(table, first.predict(table))
    third = clone(first).fit(table, first.predict(table))
    assert second.decision_function(table).tolist() == third.decision_function(table).tolist()


def test_pickles_and_clones():
    table, gam = fitted("binary", monotone={"age": 1}, pairs=2)
    again = pickle.loads(pickle.dumps(gam))
    np.testing.assert_array_equal(again.decision_function(table), gam.decision_function(table))
    assert clone(gam).get_params() == gam.get_params()
    with pytest.raises(NotFittedError):
        clone(gam).predict(table)


def test_pipelines_and_grids():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), GAMClassifier())
    grid = GridSearchCV(pipeline, {"gamclassifier__pairs": [0, 1]}, cv=2).fit(X, y)
    assert grid.best_score_ > 0.85
    with pytest.raises(TypeError):
        GAMClassifier("auto")


def test_class_weights_and_sample_weights_count():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 1))
    y = (X[:, 0] + random.normal(size=300) > 1.5).astype(int)
    plain = GAMClassifier().fit(X, y).predict(X).mean()
    balanced = GAMClassifier(class_weight="balanced").fit(X, y).predict(X).mean()
    weighted = GAMClassifier().fit(X, y, sample_weight=1 + 9 * y).predict(X).mean()
    assert plain < balanced
    assert plain < weighted


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_rows_without_weight_teach_nothing(task):
    table, score, random = mixed(300)
    target = targets(score, task, random)
    weights = np.where(np.arange(300) < 240, 1.0, 0.0)
    wrong = target.copy()
    wrong[240:] = wrong[240:][::-1] if task == "binary" else -1e4
    wild = table.copy()
    wild.loc[240:, "debt"] *= 100
    kind = GAMRegressor if task == "regression" else GAMClassifier
    weighted = kind(special_codes=CODES).fit(wild, wrong, weights)
    alone = kind(special_codes=CODES).fit(table.iloc[:240], target[:240])
    # The mean of a target is summed in another order with the rows without weight, so its last digit can differ.
    np.testing.assert_allclose(floats_of(weighted, table), floats_of(alone, table), rtol=1e-6)


def test_weights_of_rows_scale_the_target_too():
    y = np.r_[np.linspace(0, 1, 50), np.full(50, 100.0)]
    weights = np.r_[np.ones(50), np.zeros(50)]
    gam = GAMRegressor().fit(np.arange(100.0).reshape(-1, 1), y, weights)
    assert (gam.center_, gam.scale_) == (pytest.approx(0.5), pytest.approx(y[:50].std()))
    assert np.abs(gam.predict(np.arange(50.0).reshape(-1, 1)) - y[:50]).max() < 0.05


@pytest.mark.parametrize("rows", [120, 2400])
@pytest.mark.parametrize("direction", [1, -1])
def test_a_monotone_column_is_proven_to_be_so(direction, rows):
    random = np.random.default_rng(rows)
    table = pandas.DataFrame({"x": random.uniform(-3, 3, rows).round(1), "z": random.normal(size=rows)})
    table.loc[::9, "x"] = np.nan
    wave = direction * table["x"].fillna(0) + 1.5 * np.sin(3 * table["x"].fillna(0))
    target = wave + table["z"] + random.normal(0, 0.3, rows)
    free, held = (GAMRegressor(monotone=wish).fit(table, target) for wish in (None, {"x": direction}))
    way = "up" if direction > 0 else "down"
    assert Explainer(held.to_additive()).monotone("x", way)
    assert not Explainer(free.to_additive()).monotone("x", way)
    assert held.score(table, target) > 0.7
    assert held.pairs_ == ()


def test_a_monotone_column_of_two_classes_is_proven_to_be_so():
    _, gam = fitted("binary", monotone={"debt": -1, "age": 1})
    explainer = Explainer(gam.to_additive())
    assert explainer.monotone("debt", "down", "1")
    assert explainer.monotone("age", "up", "1")
    assert not {"debt", "age"} & {name for pair in gam.pairs_ for name in pair}


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_columns_beyond_the_budget_count_for_nothing(task, tmp_path):
    table, gam = fitted(task, 600, feature_budget=3)
    assert len(gam.features_) == 3
    assert set(gam.features_) < {"age", "colour", "months", "debt", "member"}
    gam.to_additive(domains="model").save(tmp_path / "model.safetensors")
    explainer, some = Explainer(load(tmp_path / "model.safetensors")), table.iloc[:20]
    for k in range(20):
        assert exact_of(explainer, some.iloc[k]) == scores_of(gam, some.iloc[k])
    others = {name: table[name].to_numpy()[100:120] for name in table if name not in gam.features_}
    np.testing.assert_array_equal(floats_of(gam, some.assign(**others)), floats_of(gam, some))
    with pytest.raises(DataError, match="'town' is 'east' in row 0"):
        gam.predict(some.assign(town="east"))  # what is new is refused anywhere


def test_a_model_of_chosen_columns_is_that_of_a_table_of_these_alone():
    table, score, random = mixed(600)
    target = targets(score, "regression", random)
    few = GAMRegressor(feature_budget=3).fit(table, target)
    alone = GAMRegressor().fit(table[list(few.features_)], target)
    np.testing.assert_array_equal(few.predict(table), alone.predict(table[list(few.features_)]))


def test_named_pairs_are_within_the_budget():
    _, gam = fitted("binary", feature_budget=3, pairs=[("town", "grade")])
    assert {"town", "grade"} < set(gam.features_)
    assert set(gam.pairs_[0]) == {"town", "grade"}
    with pytest.raises(DataError, match="pairs names 2 columns and feature_budget allows 1"):
        fitted("binary", feature_budget=1, pairs=[("town", "grade")])


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_a_calibration_is_a_line_of_the_same_scores(task, tmp_path):
    weights = {"0": 1, "1": 8} | ({"2": 4} if task == "multiclass" else {})
    options = {"class_weight": weights, "explanation_radius": 0.5, "pairs": 0}
    table, plain = fitted(task, 500, **options)
    _, gam = fitted(task, 500, calibrated=True, **options)
    assert (plain.is_calibrated_, gam.is_calibrated_) == (False, True)
    line = plain.decision_function(table) * gam.scale_ + gam.center_
    np.testing.assert_array_equal(gam.decision_function(table), line)
    assert gam.explanation_width_ == plain.explanation_width_ * gam.scale_
    _, score, random = mixed(500)
    shares = [np.mean(targets(score, task, random) == name) for name in gam.classes_]
    before, after = (np.abs(one.predict_proba(table).mean(axis=0) - shares).max() for one in (plain, gam))
    assert before > 0.15
    assert after < before / 3
    gam.to_additive(domains="model").save(tmp_path / "model.safetensors")
    explainer = Explainer(load(tmp_path / "model.safetensors"))
    for k in range(8):
        assert exact_of(explainer, table.iloc[k]) == scores_of(gam, table.iloc[k])


def test_fitting_for_short_explanations_narrows_the_shapes():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :10]
    sizes, widths = [], []
    for weight in (0.0, 0.1):
        gam = GAMClassifier(pairs=0, explanation_radius=0.5, explanation_weight=weight).fit(X[::2], y[::2])
        explainer = Explainer(gam.to_additive())
        sizes.append(np.mean([explainer.explain(X.iloc[k], radius=0.5, unit="std").size for k in range(0, 60, 2)]))
        widths.append(gam.explanation_width_)
    assert widths[1] < widths[0] / 2
    assert sizes[1] < sizes[0]


def test_without_a_radius_there_is_no_width():
    _, gam = fitted("binary", 60)
    assert math.isnan(gam.explanation_width_)
    assert gam.fit_seconds_ > 0
    assert (gam.scale_, gam.center_.tolist()) == (1.0, [0.0])


def test_choosing_the_weight_for_what_is_given_up():
    X, y = load_breast_cancer(return_X_y=True)
    gam = GAMClassifier(pairs=0, explanation_radius=0.5)
    choice = choose_explanation_weight(
        gam, X[::3, :6], y[::3], give_up=0.05, weights=(0.01, 0.1), n_splits=1, explained=3
    )
    scores = {one.weight: one.score for one in choice.tried}
    assert choice.weight == max(weight for weight, score in scores.items() if score >= scores[0.0] - 0.05)


# --- odd tables -------------------------------------------------------------------------------------------------------


def test_what_does_not_vary_cannot_matter():
    x = np.random.default_rng(0).normal(size=80)
    table = pandas.DataFrame({"x": x, "constant": 3.0, "nothing": np.nan, "code": -9.0, "none": [None] * 80})
    gam = GAMClassifier(special_codes=[-9]).fit(table, x > 0)
    why = Explainer(gam).explain(
        table.iloc[0], radius={"x": 1, "constant": "inf", "nothing": 5, "code": 5, "none": 1}, unit="raw"
    )
    assert [why.drops[name] for name in table.columns[1:]] == [0, 0, 0, 0]
    for k in range(5):
        assert exact_of(Explainer(gam), table.iloc[k]) == scores_of(gam, table.iloc[k])


@pytest.mark.parametrize(
    "column",
    [
        np.arange(40.0),
        np.full(40, 3.0),
        np.full(40, np.nan),
        np.array(["a", "b"] * 20, dtype=object),
        np.where(np.arange(40) % 3 == 0, np.nan, np.arange(40.0)),
        np.where(np.arange(40) % 4 == 0, -9.0, 5.0),
        np.array([1e300, -1e300] * 20),
        np.arange(40.0) * 1e-310,
    ],
    ids=["numbers", "constant", "nothing", "names", "gaps", "code or constant", "huge", "tiny"],
)
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_tables_of_one_column(task, column):
    table = pandas.DataFrame({"x": column})
    kind = GAMRegressor if task == "regression" else GAMClassifier
    target = np.arange(40) % (3 if task == "multiclass" else 2)
    gam = kind(special_codes=None if column.dtype == object else [-9]).fit(table, target)
    floats, explainer = floats_of(gam, table), Explainer(gam.to_additive())
    for k in range(8):
        exact = exact_of(explainer, table.iloc[k])
        assert exact == scores_of(gam, table.iloc[k])
        np.testing.assert_allclose(floats[k], [float(one) for one in exact], rtol=1e-9, atol=1e-9)


def test_lists_of_rows_are_the_table_that_they_spell():
    table, score, random = mixed(60)
    table, target = table[["debt", "colour"]], targets(score, "binary", random)
    rows = table.to_numpy(dtype=object).tolist()
    framed, listed = (GAMClassifier(pairs=0).fit(one, target) for one in (table, rows))
    assert listed.decision_function(rows[:9]).tolist() == framed.decision_function(table[:9]).tolist()
    gam = GAMClassifier(pairs=0, explanation_radius=0.5)
    choices = [
        choose_explanation_weight(gam, one, target, weights=(0.1,), n_splits=1, explained=2) for one in (table, rows)
    ]
    assert choices[0] == choices[1]


@pytest.mark.parametrize("rows", [2, 3, 5, 12])
def test_few_rows_are_enough_to_fit(rows):
    table = pandas.DataFrame({"x": np.arange(float(rows)), "y": [*"ab" * 6][:rows]})
    for gam in (GAMClassifier(), GAMRegressor()):
        assert np.isfinite(floats_of(gam.fit(table, np.arange(rows) % 2), table)).all()


def test_more_columns_than_rows():
    random = np.random.default_rng(0)
    gam = GAMClassifier().fit(random.normal(size=(12, 40)), [0, 1] * 6)
    assert gam.n_features_in_ == 40
    assert np.isfinite(gam.decision_function(random.normal(size=(5, 40)))).all()


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-3, 1e200])
def test_columns_and_targets_of_any_size_are_learned(size):
    x = np.linspace(-1, 1, 60)
    frame = pandas.DataFrame({"x": size * x})
    gam = GAMRegressor().fit(frame, size * x)
    predicted = gam.predict(frame) / size
    assert np.abs(predicted - x).max() < 0.1
    exact = Explainer(gam.to_additive()).score({"x": float(size * x[7])})
    assert float(exact) / size == pytest.approx(predicted[7], rel=1e-6)


def test_a_target_that_never_changes_is_predicted():
    gam = GAMRegressor().fit(np.arange(30.0).reshape(-1, 1), np.full(30, 5.0))
    np.testing.assert_allclose(gam.predict([[3.0], [99.0]]), 5.0, atol=1e-6)


def test_an_ordered_column_of_the_training_table_moves_by_rank():
    sizes, ranks = ["small", "medium", "large", "huge"], np.arange(90) % 3  # nothing is huge
    column = pandas.Categorical([sizes[k] for k in ranks], sizes, ordered=True)
    frame = pandas.DataFrame({"size": column, "age": np.arange(90.0)})
    frame.loc[0, "size"] = None
    model = GAMClassifier().fit(frame, ranks > 1).to_additive()
    assert model.domains[0] == Domain.ordered(*sizes[:3]) | Domain.codes(MISSING)
    assert float(model.features[0].deviation) == pytest.approx(np.std(ranks[1:]))


def test_a_declared_code_without_training_rows_has_no_value():
    table = pandas.DataFrame({"x": np.arange(-4.0, 56.0)})
    gam = GAMClassifier(special_codes=[-9]).fit(table, table["x"] > 30)
    with pytest.raises(DataError, match="'x' is the special code -9 in row 0, but never was in training"):
        gam.predict(pandas.DataFrame({"x": [-9.0]}))
    assert -9 not in gam.to_additive().domains[0]


def test_domains_can_be_narrowed():
    gam = GAMRegressor().fit(pandas.DataFrame({"age": np.arange(40.0)}), np.arange(40.0))
    assert str(gam.to_additive(domains={"age": Domain.integers(0, 120)}).domains[0]) == "the integers from 0 to 120"
    with pytest.raises(FeatureNameError, match="did you mean 'age'"):
        gam.to_additive(domains={"ag": Domain.reals()})
    with pytest.raises(DataError, match="domains must be a mapping of names to Domain, or 'model', got 'learned'"):
        gam.to_additive("learned")


def test_numbers_beyond_floats_are_explained_and_said_to_overflow():
    gam = GAMClassifier().fit(pandas.DataFrame({"x": np.arange(60.0)}), np.arange(60) > 30)
    why = Explainer(gam, domains={"x": Domain.reals()}).explain({"x": "1e400"}, radius=1, unit="raw")
    assert why.float_prediction is None
    assert "float arithmetic overflows" in str(why)


def test_bad_rows_at_prediction():
    table, gam = fitted("binary")
    with pytest.raises(DataError, match="'colour' is 'pink' in row 0; in training it was one of blue, green, red"):
        gam.predict(table.assign(colour="pink"))
    with pytest.raises(DataError, match="'months' is missing in row 0, but it never was in training"):
        gam.predict(table.assign(months=np.nan))
    with pytest.raises(DataError, match="'age' is 'old' in row 0; in training it held numbers"):
        gam.predict(table.assign(age="old"))
    with pytest.raises(DataError, match=r"'age' is infinity .* or larger than any float"):
        gam.predict(table.assign(age=10**400))
    with pytest.raises(ValueError, match="feature names"):
        gam.predict(table[table.columns[::-1]])
    with pytest.raises(RowError, match="'colour' is 'pink', outside its domain"):
        Explainer(gam).explain(table.assign(colour="pink").iloc[0], radius=1, unit="raw")


# --- what is refused --------------------------------------------------------------------------------------------------

BAD = [
    (lambda t, y: GAMClassifier().fit(t, None), "requires y to be passed"),
    (lambda t, y: GAMClassifier().fit(t, np.zeros(len(t))), "one class only"),
    (lambda t, y: GAMClassifier().fit(t, [None, *y[1:]]), "Input y contains NaN"),
    (lambda t, y: GAMRegressor().fit(t, [math.nan, *range(len(t) - 1)]), "Input y contains NaN"),
    (lambda t, y: GAMRegressor().fit(t, ["much"] * len(t)), "must hold numbers; use GAMClassifier for classes"),
    (lambda t, y: GAMRegressor().fit(t, 1e308 * np.linspace(-1, 1, len(t))), "target y holds numbers too large"),
    (lambda t, y: GAMClassifier().fit(t.assign(age=math.inf), y), r"'age' is infinity \(inf\) in row 0"),
    (lambda t, y: GAMClassifier().fit(t.assign(age=1e308 * np.linspace(-1, 1, len(t))), y), "too large to standard"),
    (
        lambda t, y: GAMClassifier().fit(t.assign(age=pandas.Series([10**400, *t["age"][1:]], dtype=object)), y),
        "larger than any float; give",
    ),
    (lambda t, y: GAMClassifier().fit(np.array([[0, -(10**400)]] * len(t)), y), "'x1' is infinity .* larger than any"),
    (
        lambda t, y: GAMClassifier().fit(t.assign(age=Fraction(10**400)), y),
        "'age' is infinity .* larger than any float",
    ),
    (
        lambda t, y: GAMClassifier().fit(t.assign(town=["north", *[10**400] * 39]), y),
        "'town' has the category a number",
    ),
    (lambda t, y: GAMClassifier().fit(t, y, [10**400] * len(t)), "sample_weight: int too large"),
    (lambda t, y: GAMRegressor().fit(t, [10**400] * len(t)), "target y holds a number larger than any float; rescale"),
    (lambda t, y: GAMClassifier().fit(t, scipy.sparse.eye(len(t), 1, format="csr")), "Sparse data was passed for y"),
    (lambda t, y: GAMClassifier().fit(t.iloc[:0], y[:0]), "at least one row"),
    (lambda t, y: GAMClassifier().fit(t, y[:-1]), "inconsistent numbers of samples"),
    (lambda t, y: GAMClassifier().fit(t, y, sample_weight=np.zeros(len(t))), "at least one"),
    (lambda t, y: GAMClassifier().fit(t.assign(age=pandas.Timestamp("2020")), y), "'age' has type datetime64"),
    (lambda t, y: GAMClassifier().fit(pandas.concat([t, t], axis=1), y), "two columns named 'age'"),
    (lambda t, y: GAMClassifier().fit(t, np.linspace(0, 1, len(t))), "Unknown label type"),
    (lambda t, y: GAMClassifier().fit(t, np.stack([y, y], axis=1)), "y should be a 1d array"),
]


@pytest.mark.parametrize(("build", "words"), BAD, ids=lambda v: v if isinstance(v, str) else "given")
def test_bad_training_data(build, words):
    table, score, random = mixed(40)
    with pytest.raises(DataError, match=words) as error:
        build(table, targets(score, "binary", random))
    assert "\n" not in str(error.value)


MORE_BAD = [
    ({"pairs": "some"}, "pairs must be 'auto', a number from 0 up or a list of pairs of names, got 'some'"),
    ({"pairs": -1}, "pairs must be 'auto', a number from 0 up"),
    ({"pairs": [("age", "size")]}, "pairs names the column 'size', which the table does not have"),
    ({"pairs": [("age", "same")]}, "the numbers of column 'same' do not vary, so it cannot be part of a pair"),
    ({"pairs": [("age", "debt")], "monotone": {"age": 1}}, "column 'age' shall be monotone, and a pair term could"),
    ({"feature_budget": 0}, "feature_budget must be None or a whole number from 1 up, got 0"),
    ({"monotone": ["age"]}, "monotone must map names of columns to 1 or -1"),
    ({"monotone": {"size": 1}}, "monotone names the column 'size', which the table does not have"),
    ({"monotone": {"town": 1}}, "'town' holds categories, which have no order"),
    ({"monotone": {"age": True}}, r"monotone\['age'\] must be 1"),
    ({"explanation_radius": math.inf}, "explanation_radius must be None or a finite number from 0 up, got inf"),
    ({"explanation_weight": math.nan, "explanation_radius": 1}, "explanation_weight must be a finite number from 0 up"),
    ({"explanation_weight": 0.1}, "explanation_weight needs an explanation_radius"),
    ({"special_codes": -9}, "special_codes must be a list of numbers"),
    ({"special_codes": "19"}, "special_codes must be a list of numbers, or a mapping to such lists, got '19'"),
    ({"special_codes": {"age": "19"}}, "special_codes must be a list of numbers, or a mapping to such lists, got '19'"),
    ({"special_codes": ["19"]}, "special_codes must be a list of numbers, or a mapping to such lists, got '19' among"),
    ({"special_codes": iter([-9])}, "special_codes must be a list of numbers"),
    ({"special_codes": np.array(-9)}, "special_codes must be a list of numbers"),
    ({"special_codes": [-9, 10**400]}, "special_codes must be finite numbers, got a number near 1e.400"),
    ({"special_codes": {"size": [1]}}, "special_codes names the column 'size'"),
    ({"special_codes": {"town": [1]}}, "'town' holds categories"),
    ({"class_weight": {"maybe": 1}}, "the class 'maybe', which the target does not have"),
    ({"class_weight": {"0": -1, "1": 1}}, "class_weight must hold finite numbers"),
    ({"class_weight": {"0": 10**400}}, "class_weight: int too large"),
    ({"pairs": [(np.array(["age", "debt"]), "debt")]}, "a pair is two names of columns, got"),
    ({"pairs": [(pandas.NA, "debt")]}, "a pair is two names of columns, got"),
    ({"pairs": np.array(3)}, r"pairs must be 'auto', a number from 0 up or a list of pairs of names, got array\(3\)"),
    ({"monotone": {"age": np.array([1, 1])}}, r"monotone\['age'\] must be 1 .*, got array\(\[1, 1\]\)"),
    ({"monotone": {"age": np.array([1])}}, r"monotone\['age'\] must be 1 .*, got array\(\[1\]\)"),
    ({"monotone": {"age": pandas.NA}}, r"monotone\['age'\] must be 1"),
    ({"monotone": {"age": np.True_}}, r"monotone\['age'\] must be 1"),
    ({"monotone": {pandas.NA: 1}}, "monotone names the column <NA>, which the table does not have"),
    ({"monotone": np.array([1, 1])}, "monotone must map names of columns to 1 or -1"),
    ({"calibrated": "x"}, "calibrated must be True or False, got 'x'"),
    ({"calibrated": np.array([1, 2])}, "calibrated must be True or False"),
    ({"explanation_radius": 10**5000}, "explanation_radius must be None or a finite number .* a number near 1e"),
]


@pytest.mark.parametrize(("options", "words"), MORE_BAD, ids=lambda v: v if isinstance(v, str) else "given")
def test_a_wish_that_cannot_be_is_refused_before_anything_is_fitted(options, words, monkeypatch):
    monkeypatch.setattr("suffice.gam.estimators.fit_freely", None)
    monkeypatch.setattr("suffice.gam.base.choose_columns", None)
    table, score, random = mixed(40)
    with pytest.raises(DataError, match=words) as error:
        GAMClassifier(**{"feature_budget": 3, **options}).fit(table, targets(score, "binary", random))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("is_ordered", [False, True])
def test_categories_that_floats_do_not_tell_apart_are_refused(is_ordered):
    numbers = [2**53, 2**53 + 1] * 20
    for column in (
        pandas.Categorical(numbers, ordered=is_ordered),
        pandas.Series([*numbers[1:], "none"], dtype=object),
        pandas.Categorical([Decimal(number) for number in numbers], ordered=is_ordered),
    ):
        with pytest.raises(
            DataError, match=r"column 'id' has the category 90071992547409.*; give such categories as text"
        ):
            GAMClassifier().fit(pandas.DataFrame({"id": column}), [0, 1] * 20)
    names = pandas.Categorical([str(number) for number in numbers], ordered=is_ordered)
    gam = GAMClassifier().fit(pandas.DataFrame({"id": names}), [0, 1] * 20)
    assert gam.columns_[0].categories == ("9007199254740992", "9007199254740993")


def test_of_several_classes_no_score_is_monotone():
    with pytest.raises(DataError, match="monotone is for regression and two classes"):
        fitted("multiclass", monotone={"age": 1})


def test_what_was_not_fitted_to_the_end_is_not_fitted(monkeypatch):
    table, gam = fitted("regression", 40)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.gam.estimators.fit_freely", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gam.fit(table, np.arange(40.0))
    for use in (lambda: gam.predict(table), gam.to_additive):
        with pytest.raises(NotFittedError):
            use()


def test_no_pytorch_is_needed():
    code = """
import sys
class Absent:
    def find_spec(name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'")
sys.meta_path.insert(0, Absent)
import numpy as np
from suffice import Explainer
from suffice.gam import GAMClassifier
X = np.linspace(-1, 1, 60).reshape(-1, 2)
gam = GAMClassifier(pairs=1, calibrated=True).fit(X, X[:, 0] > 0)
print(gam.predict(X[:1]), Explainer(gam).predict(X[0]), "torch" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert (done.returncode, done.stdout, done.stderr) == (0, "[False] False False\n", "")


@pytest.mark.parametrize("library", ["sklearn", "pandas"])
def test_without_what_it_needs_the_error_names_the_extra(library):
    code = f"import sys; sys.modules[{library!r}] = None; import suffice.gam"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 1
    assert "pip install 'suffice[gam]'" in done.stderr.splitlines()[-1]


def test_what_a_pair_explains_is_no_noise_of_the_lines():
    random = np.random.default_rng(0)
    table = random.normal(size=(1000, 4)).round(6)
    truth = 2 * table[:, 0] * table[:, 1] + 0.3 * table[:, 2] + np.sin(2 * table[:, 3])
    target = truth + 0.1 * random.normal(size=1000)

    def error(**options):
        found = GAMRegressor(**options).fit(table, target)
        assert found.pairs_ == (("x0", "x1"),)
        return np.sqrt(np.mean((found.predict(table) - truth) ** 2))

    plain = error()
    assert error(monotone={"x2": 1}) < 1.2 * plain
    assert error(explanation_radius=0.3, explanation_weight=1e-9) < 1.2 * plain


def test_pairs_are_listed_by_how_far_the_rows_speak_for_them():
    random = np.random.default_rng(0)
    table = random.normal(size=(1000, 4)).round(6)
    target = 0.3 * table[:, 0] * table[:, 1] + 2 * table[:, 2] * table[:, 3] + 0.3 * random.normal(size=1000)
    found = GAMRegressor(pairs=[("x0", "x1"), ("x2", "x3")]).fit(table, target)
    assert found.pairs_ == (("x2", "x3"), ("x0", "x1"))


@pytest.mark.parametrize("seed", range(4))
def test_few_heavy_rows_are_little_evidence(seed):
    random = np.random.default_rng(seed)
    table, target = random.normal(size=(300, 4)), random.normal(size=300)
    weights = 10 ** random.uniform(0, 6, 300)
    assert GAMRegressor().fit(table, target, weights).pairs_ == ()


@pytest.mark.parametrize("pairs", [0, []])
def test_no_pairs_are_none(pairs):
    random = np.random.default_rng(0)
    table = random.normal(size=(200, 2))
    assert GAMRegressor(pairs=pairs).fit(table, table[:, 0] * table[:, 1]).pairs_ == ()


def test_pairs_that_can_be_read_only_once_are_refused():
    table, gam = fitted("binary", 60)
    names = list(table.columns[:2])
    with pytest.raises(DataError, match="pairs must be 'auto', a number from 0 up or a list of pairs of names"):
        GAMClassifier(pairs=iter([names])).fit(table, gam.predict(table))


@pytest.mark.filterwarnings("error")
def test_weights_of_classes_count_beside_each_other_however_large_they_are():
    table, plain = fitted("binary", 60, pairs=0)
    _, heavy = fitted("binary", 60, pairs=0, class_weight={"0": 2.0**1022, "1": 2.0**1022})
    assert heavy.decision_function(table).tolist() == plain.decision_function(table).tolist()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (np.arange(6.0), "Expected 2D array, got 1D array"),
        (pandas.Series(np.arange(6.0)), "Expected (a )?2"),
        (scipy.sparse.identity(6, format="csr"), "Sparse data was passed"),
        (pandas.DataFrame({"x": range(6), 1: range(6)}), "Feature names are only supported if all"),
    ],
)
def test_what_is_no_table_is_refused_by_an_error_of_ours(table, told):
    with pytest.raises(DataError, match=told):
        GAMClassifier(pairs=0).fit(table, [0, 1] * 3)


def test_frames_of_other_packages_are_read_as_arrays():
    class Frame:
        columns, shape = ["a", "b"], (60, 2)  # a list, as polars has it

        def __array__(self, dtype=None, copy=None):
            return numbers

        def __len__(self):
            return 60

    numbers, target = np.random.default_rng(0).normal(size=(60, 2)), [0, 1] * 30
    gams = [GAMClassifier(pairs=0).fit(table, target) for table in (numbers, Frame())]
    assert gams[0].decision_function(numbers).tolist() == gams[1].decision_function(Frame()).tolist()


def test_a_table_without_a_column_of_the_model_is_refused_by_an_error_of_ours():
    table, gam = fitted("binary", 60, pairs=0)
    with pytest.raises(DataError, match="The feature names should match those that were passed during fit"):
        gam.predict(table.iloc[:, 1:])
