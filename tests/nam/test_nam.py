import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip(
    "torch", reason="neural additive models are trained by PyTorch (pip install 'suffice[nam]')"
)
pandas = pytest.importorskip("pandas", reason="tables come from pandas")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import load_breast_cancer, load_iris  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, ShuffleSplit, train_test_split  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import suffice  # noqa: E402
from suffice import MISSING, DataError, Domain, Explainer  # noqa: E402
from suffice.nam import NAMClassifier, NAMRegressor, choose_explanation_weight  # noqa: E402

QUICK = {"hidden_layers": (8, 4), "max_epochs": 3, "random_state": 0}
ROWS_ARE_DRAWN = "batches and the validation split are drawn row by row, so a weight of 2 is not a row given twice"


def expected_failures(estimator):
    return {
        "check_sample_weight_equivalence_on_dense_data": ROWS_ARE_DRAWN,
        "check_sample_weight_equivalence_on_sparse_data": ROWS_ARE_DRAWN,
    }


@parametrize_with_checks(
    [
        NAMClassifier((16,), learning_rate=0.02, weight_decay=0.01, max_epochs=80, random_state=0),
        NAMRegressor((16,), learning_rate=0.02, max_epochs=80, random_state=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def mixed_table(rows=200):
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "age": random.integers(18, 90, rows).astype(float),
            "colour": pandas.Categorical(random.choice(["red", "green", "blue"], rows)),
            "grade": pandas.Categorical(random.choice([1, 2, 3], rows)),
            "member": random.random(rows) < 0.5,
            "months": random.choice([-9.0, -8.0, 0.0, 3.0, 12.0, 30.0], rows),
            "town": random.choice(["north", "south"], rows),
        }
    )
    table.loc[::7, "age"] = np.nan
    table.loc[::11, "town"] = None
    score = (table["age"].fillna(70) > 50) * 1.0 + (table["colour"] == "red") + (table["months"] < 0) - 1.2
    return table, np.where(score > 0, "yes", "no")


@pytest.fixture(scope="module")
def mixed():
    table, target = mixed_table()
    nam = NAMClassifier(
        (16, 8),
        max_epochs=40,
        learning_rate=0.01,
        weight_decay=0.01,
        special_codes={"months": (-9, -8)},
        random_state=0,
    ).fit(table, target)
    return table, target, nam


def test_mixed_tables_need_no_hand_work(mixed):
    table, target, nam = mixed
    assert (nam.predict(table) == target).mean() > 0.9
    assert nam.feature_names_in_.tolist() == list(table.columns)
    model = nam.to_additive()
    assert model.classes == ("no", "yes")
    assert [str(domain) for domain in model.domains[1:4]] == [
        "one of blue, green, red",
        "one of 1, 2, 3",
        "one of 0, 1",
    ]
    assert MISSING in model.domains[0]
    assert -9 in model.domains[4]
    assert float(model.features[0].center) == pytest.approx(table["age"].mean())


def test_the_exact_model_scores_as_the_floats_do(mixed):
    table, _, nam = mixed
    explainer = Explainer(nam)
    floats = nam.decision_function(table.iloc[:60])
    exact = [float(explainer.score(table.iloc[k])) for k in range(60)]
    assert np.abs(floats - exact).max() < 1e-9
    assert [explainer.predict(table.iloc[k]) for k in range(60)] == nam.predict(table.iloc[:60]).tolist()


def test_a_nam_is_explained_directly(mixed):
    table, _, nam = mixed
    explainer = Explainer(nam)
    row = table.iloc[1]
    why = explainer.explain(row, radius=0.5, unit="std")
    assert why.float_prediction == why.prediction == nam.predict(table.iloc[[1]])[0]
    for name in why.features:
        point = why.counterexample(without=name)
        frame = pandas.DataFrame([{k: float(v) if isinstance(v, Fraction) else v for k, v in point.items()}])
        frame = frame.astype({"member": bool}).replace({MISSING: None})
        assert nam.predict(frame[table.columns])[0] != why.prediction


def test_a_disagreement_of_floats_and_exact_arithmetic_is_reported():
    X = np.linspace(-1, 1, 60).reshape(-1, 1)
    nam = NAMClassifier(**QUICK).fit(X, X[:, 0] > 0)
    # Move the bias so that the exact score at 0 is a hair below 0, where float32 cannot see it.
    with torch.no_grad():
        nam.network_.bias -= float(nam.decision_function([[0.0]])[0])
    exact = Explainer(nam).score([0.0])
    floats = float(nam.decision_function([[0.0]])[0])
    explainer = Explainer(nam)
    why = explainer.explain([0.0], radius=0, unit="raw")
    assert (why.prediction == why.float_prediction) == ((exact >= 0) == (floats >= 0))
    explainer.compiled.float_predict = lambda cells: not why.prediction
    again = explainer.explain([0.0], radius=0, unit="raw")
    assert again.float_prediction != again.prediction
    assert "float arithmetic predicts" in str(again)
    assert "float arithmetic" not in str(Explainer(nam.to_additive()).explain([0.0], radius=0, unit="raw"))


@pytest.mark.parametrize("options", [{"first_layer": "exu"}, {"basis": "shared", "n_bases": 7}, {"n_members": 3}])
def test_kinds_of_networks(options, tmp_path):
    X, y = load_iris(return_X_y=True)
    nam = NAMClassifier((16, 8), learning_rate=0.02, weight_decay=0.01, random_state=0, **options).fit(X, y)
    assert nam.score(X, y) > 0.8
    model = nam.to_additive()
    assert model.task == "multiclass"
    model.save(tmp_path / "m.safetensors")
    explainer = Explainer(suffice.load(tmp_path / "m.safetensors"))
    floats = nam.decision_function(X[:10])
    exact = np.array([[float(score) for score in explainer.score(row)] for row in X[:10]])
    assert np.abs(floats - exact).max() < 1e-9


def test_regression_in_the_targets_own_units():
    X = np.linspace(-2, 2, 300).reshape(-1, 1)
    y = 1000 + 50 * np.abs(X[:, 0])
    nam = NAMRegressor((16, 8), learning_rate=0.01, random_state=0).fit(X, y)
    assert nam.score(X, y) > 0.95
    explainer = Explainer(nam.to_additive())
    assert float(explainer.predict([1.0])) == pytest.approx(float(nam.predict([[1.0]])[0]), abs=1e-3)


def test_the_same_state_gives_the_same_model():
    X, y = load_breast_cancer(return_X_y=True)
    first, second = (NAMClassifier(**QUICK).fit(X, y).decision_function(X[:5]) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert NAMClassifier(**{**QUICK, "random_state": 1}).fit(X, y).decision_function(X[:5]).tolist() != first.tolist()


def test_random_numbers_of_others_are_left_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    NAMClassifier(**QUICK, dropout=0.3).fit(np.arange(20.0).reshape(-1, 1), [0, 1] * 10)
    assert torch.equal(before, torch.get_rng_state())


def test_pipelines_grids_and_clones():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), NAMClassifier(**QUICK))
    grid = GridSearchCV(pipeline, {"namclassifier__weight_decay": [0.0, 1.0]}, cv=2).fit(X, y)
    assert grid.best_params_["namclassifier__weight_decay"] in (0.0, 1.0)
    assert clone(NAMClassifier(dropout=0.2)).dropout == 0.2


def test_class_weights_and_sample_weights_count():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 1))
    y = (X[:, 0] + random.normal(size=300) > 1.5).astype(int)
    plain = NAMClassifier((8,), max_epochs=20, random_state=0).fit(X, y).predict(X).mean()
    balanced = NAMClassifier((8,), max_epochs=20, random_state=0, class_weight="balanced").fit(X, y).predict(X).mean()
    weighted = NAMClassifier((8,), max_epochs=20, random_state=0).fit(X, y, sample_weight=1 + 9 * y).predict(X).mean()
    assert plain < balanced
    assert plain < weighted


def test_training_for_short_explanations_narrows_the_shapes():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
    sizes, widths = [], []
    for weight in (0.0, 0.1):
        nam = NAMClassifier((16, 8), max_epochs=25, explanation_radius=0.5, explanation_weight=weight, random_state=0)
        explainer = Explainer(nam.fit(X_train, y_train).to_additive())
        sizes.append(np.mean([explainer.explain(X_test.iloc[k], radius=0.5, unit="std").size for k in range(40)]))
        widths.append(nam.explanation_width_)
    assert widths[1] < widths[0]
    assert sizes[1] < sizes[0]


def test_choosing_the_weight_for_what_is_given_up():
    X, y = load_breast_cancer(return_X_y=True)
    nam = NAMClassifier((8,), max_epochs=8, explanation_radius=0.5, random_state=0)
    choice = choose_explanation_weight(nam, X, y, give_up=0.05, weights=(0.01, 0.1), n_splits=1, explained=5)
    scores = {one.weight: one.score for one in choice.tried}
    assert choice.weight == max(weight for weight, score in scores.items() if score >= scores[0.0] - 0.05)
    nothing = choose_explanation_weight(nam, X, y, give_up=-1.0, weights=(0.01,), n_splits=1, explained=0)
    assert nothing.weight == 0.0
    assert math.isnan(nothing.tried[0].size)
    frame = choice.to_frame()
    assert frame["weight"].tolist() == list(scores)
    assert frame.loc[frame["is_chosen"], "weight"].tolist() == [choice.weight]
    assert frame["size"].between(0, X.shape[1]).all()
    axis = choice.plot()
    assert [text.get_text() for text in axis.texts] == [f"{weight:g}" for weight in scores]
    assert axis.get_ylabel() == "roc_auc on rows held back"
    with pytest.raises(DataError, match="only for an explanation_radius"):
        choose_explanation_weight(NAMClassifier(), X, y)


def test_sizes_told_with_a_weight_are_those_of_rows_held_back():
    random = np.random.default_rng(0)
    table = pandas.DataFrame(random.normal(size=(200, 3)), columns=list("abc"))
    target = table["a"] + table["b"]
    nam = NAMRegressor((8,), max_epochs=8, explanation_radius=0.5, random_state=0)
    choice = choose_explanation_weight(nam, table, target, weights=(), n_splits=1, explained=4)
    train, test = next(ShuffleSplit(1, test_size=0.25, random_state=0).split(table))
    model = nam.fit(table.iloc[train], target.iloc[train])
    explainer, middle = Explainer(model.to_additive()), float(target.iloc[train].mean())
    sizes = []
    for k in test[:4]:
        row = table.iloc[k]
        claim = suffice.AtLeast(middle) if float(explainer.predict(row)) >= middle else suffice.AtMost(middle)
        sizes.append(explainer.explain(row, 0.5, unit="std", claim=claim).size)
    assert choice.tried[0].size == np.mean(sizes)
    assert choice.scoring == "r2"


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        (np.arange(50.0), {}, "X has 60 rows and y has 50"),
        (None, {}, "X has 60 rows and y has 0"),
        (np.arange(60.0), {"n_splits": 0}, "n_splits must be a whole number from 1 up, got 0"),
        (np.arange(60.0), {"give_up": math.nan}, "give_up must be a finite number, got nan"),
        (np.arange(60.0), {"give_up": "little"}, "give_up must be a finite number, got 'little'"),
        (np.arange(60.0), {"scoring": "best"}, "scoring: 'best' is not a valid scoring value"),
    ],
)
def test_no_weight_is_chosen_by_what_cannot_be_read(target, options, words):
    estimator = NAMRegressor(**QUICK, explanation_radius=0.5)
    with pytest.raises(DataError, match=words):
        choose_explanation_weight(estimator, np.arange(120.0).reshape(60, 2), target, **options)


def test_rows_held_back_with_what_no_other_row_has_choose_no_weight():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"x": random.normal(size=60), "name": ["often"] * 50 + [f"only {k}" for k in range(10)]})
    estimator = NAMRegressor(**QUICK, explanation_radius=0.5)
    choice = choose_explanation_weight(estimator, table, table["x"], weights=(0.1,), n_splits=2, explained=3)
    assert all(math.isfinite(one.score) for one in choice.tried)
    with pytest.raises(DataError, match="every row held back has a category that no other has"):
        choose_explanation_weight(estimator, table.assign(name=[f"only {k}" for k in range(60)]), table["x"])


def test_progress_is_shown_only_if_asked_for(capsys):
    X = np.arange(30.0).reshape(-1, 1)
    NAMClassifier(**QUICK).fit(X, [0, 1] * 15)
    assert capsys.readouterr().out == ""
    NAMClassifier(**QUICK, verbose=True).fit(X, [0, 1] * 15)
    assert "fitting" in capsys.readouterr().out


@pytest.mark.parametrize(("rows", "is_taught_by_all"), [(200, True), (2200, False)])
def test_networks_of_small_tables_are_taught_by_all_rows_in_the_end(rows, is_taught_by_all):
    random = np.random.default_rng(0)
    table, target = random.normal(size=(rows, 2)), random.random(rows) < 0.5
    options = {"hidden_layers": (4,), "max_epochs": 1, "corrections": False, "random_state": 0}
    nam = NAMRegressor(**options).fit(table, target.astype(float))
    changed = target.astype(float)
    one, other = np.flatnonzero(np.isin(np.arange(rows), nam.validation_rows_) & target)[0], nam.validation_rows_
    kept = np.flatnonzero(np.isin(np.arange(rows), other) & ~target)[0]
    changed[[one, kept]] = changed[[kept, one]]  # two rows that are held back change places: mean and spread do not
    again = NAMRegressor(**options).fit(table, changed)
    assert (nam.predict(table) != again.predict(table)).any() == is_taught_by_all


def test_history_is_kept():
    nam = NAMClassifier(**QUICK).fit(np.arange(60.0).reshape(-1, 1), [0, 1] * 30)
    assert len(nam.validation_curve_) == nam.n_iter_ == 3
    assert nam.fit_seconds_ > 0
    assert nam.has_validation_
    assert math.isnan(nam.explanation_width_)


def test_domains_can_be_narrowed():
    nam = NAMRegressor(**QUICK).fit(pandas.DataFrame({"age": np.arange(40.0)}), np.arange(40.0))
    assert str(nam.to_additive(domains={"age": Domain.integers(0, 120)}).domains[0]) == "the integers from 0 to 120"
    with pytest.raises(suffice.FeatureNameError, match="did you mean 'age'"):
        nam.to_additive(domains={"ag": Domain.reals()})


def test_odd_tables_that_work():
    random = np.random.default_rng(0)
    table = pandas.DataFrame({"constant": 7.0, "nothing": np.nan, "x": random.normal(size=60)})
    nam = NAMClassifier(**QUICK).fit(table, table["x"] > 0)
    explainer = Explainer(nam.to_additive())
    assert explainer.explain(table.iloc[0], radius=1, unit="std").size <= 3
    ten = NAMClassifier(**QUICK).fit(table.iloc[:10, 2:], np.array([0, 1] * 5))
    assert not ten.has_validation_
    wide = NAMClassifier((4,), max_epochs=1, random_state=0).fit(random.normal(size=(20, 2000)), [0, 1] * 10)
    assert wide.n_features_in_ == 2000


BAD = [
    (lambda t, y: NAMClassifier(**QUICK).fit(t, np.zeros(len(t))), "one class only"),
    (lambda t, y: NAMClassifier(**QUICK).fit(t, [None, *y[1:]]), "Input y contains NaN"),
    (lambda t, y: NAMRegressor(**QUICK).fit(t, [math.nan, *range(len(t) - 1)]), "Input y contains NaN"),
    (lambda t, y: NAMRegressor(**QUICK).fit(t, y), "must hold numbers; use NAMClassifier"),
    (lambda t, y: NAMClassifier(**QUICK).fit(t.assign(age=math.inf), y), r"'age' is infinity \(inf\) in row 0"),
    (
        lambda t, y: NAMClassifier(**QUICK).fit(t.assign(age=1e308 * np.linspace(-1, 1, len(t))), y),
        "too large to standard",
    ),
    (lambda t, y: NAMClassifier(**QUICK).fit(t.iloc[:0], y[:0]), "at least one row"),
    (lambda t, y: NAMClassifier(**QUICK).fit(t, y[:-1]), "inconsistent numbers of samples"),
    (lambda t, y: NAMClassifier(**QUICK, special_codes={"ages": [1]}).fit(t, y), "the column 'ages', which the table"),
    (lambda t, y: NAMClassifier(**QUICK, basis="mixed").fit(t, y), "'separate' or 'shared', got 'mixed'"),
    (lambda t, y: NAMClassifier(**QUICK, first_layer="sigmoid").fit(t, y), "'relu' or 'exu', got 'sigmoid'"),
    (lambda t, y: NAMClassifier(**{**QUICK, "hidden_layers": ()}).fit(t, y), "hidden_layers must list"),
    (lambda t, y: NAMClassifier(**QUICK, dropout=1.0).fit(t, y), "dropout must be at least 0 and below 1"),
    (lambda t, y: NAMClassifier(**QUICK, n_members=0).fit(t, y), "n_members must be a whole number from 1 up"),
    (
        lambda t, y: NAMClassifier(**QUICK, explanation_weight=0.1).fit(t, y),
        "explanation_weight needs an explanation_radius",
    ),
    (lambda t, y: NAMClassifier(**QUICK).fit(t, y, sample_weight=np.zeros(len(t))), "at least one"),
    (lambda t, y: NAMClassifier(**QUICK).fit(t.assign(age=pandas.Timestamp("2020")), y), "'age' has type datetime64"),
    (lambda t, y: NAMClassifier(**QUICK).fit(pandas.concat([t, t], axis=1), y), "two columns named 'age'"),
    (lambda t, y: NAMClassifier(**QUICK).fit(t, np.linspace(0, 1, len(t))), "Unknown label type"),
    (lambda t, y: NAMClassifier(**QUICK).fit(t, np.stack([y, y], axis=1)), "y should be a 1d array"),
    (lambda t, y: NAMRegressor(**QUICK).fit(t, np.ones((len(t), 2))), "y should be a 1d array"),
]


@pytest.mark.parametrize(("build", "words"), BAD, ids=lambda v: v if isinstance(v, str) else "given")
def test_bad_training_data(build, words):
    with pytest.raises(DataError, match=words) as error:
        build(*mixed_table(40))
    assert "\n" not in str(error.value)


MORE_BAD = [
    ({"hidden_layers": 64}, "hidden_layers must list"),
    ({"batch_size": 0}, "batch_size must be 'auto' or"),
    ({"batch_size": "foo"}, "batch_size must be 'auto' or"),
    ({"learning_rate": -1}, "learning_rate must be a finite number from 0 up"),
    ({"explanation_radius": math.inf}, "explanation_radius must be None or"),
    ({"explanation_weight": math.nan, "explanation_radius": 1}, "explanation_weight must be a finite"),
    ({"special_codes": -9}, "special_codes must be a list of numbers"),
    ({"special_codes": [math.nan]}, "special_codes must be finite"),
    ({"special_codes": {"town": [1]}}, "'town' holds categories"),
    ({"class_weight": {"maybe": 1}}, "the class 'maybe', which the target does not have"),
    ({"class_weight": {"no": -1, "yes": 1}}, "class_weight must hold finite numbers"),
    ({"random_state": "x"}, "random_state"),
    ({"special_codes": "19"}, "special_codes must be a list of numbers, or a mapping to such lists, got '19'"),
    ({"calibrated": "x"}, "calibrated must be True or False, got 'x'"),
    ({"corrections": "no"}, "corrections must be True or False, got 'no'"),
    ({"verbose": "no"}, "verbose must be True or False, got 'no'"),
    ({"first_layer": np.array(["relu", "exu"])}, "first_layer must be 'relu' or 'exu'"),
    ({"basis": np.array(["shared"] * 2)}, "basis must be 'separate' or 'shared'"),
    ({"batch_size": np.array([8, 8])}, "batch_size must be 'auto' or"),
    ({"learning_rate": 10**5000}, "learning_rate must be a finite number from 0 up, got a number near 1e"),
    ({"learning_rate": 1e30}, "training diverged"),
]


@pytest.mark.parametrize(("options", "words"), MORE_BAD, ids=lambda v: v if isinstance(v, str) else "given")
def test_bad_parameters(options, words):
    table, target = mixed_table(40)
    with pytest.raises(DataError, match=words):
        NAMClassifier(**{**QUICK, **options}).fit(table, target)


def test_what_does_not_vary_cannot_matter():
    random = np.random.default_rng(0)
    x = random.normal(size=80)
    table = pandas.DataFrame({"x": x, "constant": 3.0, "nothing": np.nan, "code": -9.0, "none": [None] * 80})
    nam = NAMClassifier(**QUICK, special_codes=[-9]).fit(table, x > 0)
    why = Explainer(nam).explain(
        table.iloc[0], radius={"x": 1, "constant": "inf", "nothing": 5, "code": 5, "none": 1}, unit="raw"
    )
    assert [why.drops[name] for name in table.columns[1:]] == [0, 0, 0, 0]
    exact = [float(Explainer(nam).score(table.iloc[k])) for k in range(5)]
    assert np.abs(nam.decision_function(table.iloc[:5]) - exact).max() < 1e-9


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-3, 1e200])
def test_columns_and_targets_of_any_size_are_learned(size):
    x = np.linspace(-1, 1, 60)
    nam = NAMRegressor((8,), max_epochs=40, learning_rate=0.02, random_state=0)
    nam.fit(pandas.DataFrame({"x": size * x}), size * x)
    predicted = nam.predict(pandas.DataFrame({"x": size * x})) / size
    assert np.abs(predicted - x).max() < 0.3
    exact = Explainer(nam.to_additive()).score({"x": float(size * x[7])})
    assert float(exact) / size == pytest.approx(predicted[7], rel=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monotone": {"y": 1}}, "monotone names the column 'y'"),
        ({"monotone": 5, "pairs": [("x", "z")], "feature_budget": 1}, "monotone must map names of columns"),
        ({"pairs": [("x", "y")]}, "pairs names the column 'y'"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_before_the_training(options, words, monkeypatch):
    monkeypatch.setattr("suffice.nam.base.train", None)
    table = pandas.DataFrame({"x": np.arange(60.0), "z": np.arange(60.0)})
    with pytest.raises(DataError, match=words):
        NAMRegressor(**QUICK, **options).fit(table, np.arange(60.0))


def test_what_was_not_fitted_to_the_end_is_not_fitted(monkeypatch):
    table, y = pandas.DataFrame({"x": np.arange(60.0)}), np.arange(60.0)
    nam = NAMRegressor(**QUICK).fit(table, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("suffice.nam.base.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nam.fit(table, -y)
    for use in (lambda: nam.predict(table), nam.to_additive):
        with pytest.raises(NotFittedError):
            use()


def test_a_declared_code_without_training_rows_has_no_value():
    table = pandas.DataFrame({"x": np.arange(-4.0, 56.0)})
    nam = NAMClassifier(**QUICK, special_codes=[-9]).fit(table, table["x"] > 30)
    with pytest.raises(DataError, match="'x' is the special code -9 in row 0, but never was in training"):
        nam.predict(pandas.DataFrame({"x": [-9.0]}))
    assert -9 not in nam.to_additive().domains[0]
    assert -8 in nam.to_additive().domains[0]


def test_weights_of_rows_scale_the_target_too():
    y = np.r_[np.linspace(0, 1, 50), np.full(50, 100.0)]
    weights = np.r_[np.ones(50), np.zeros(50)]
    nam = NAMRegressor(**QUICK).fit(np.arange(100.0).reshape(-1, 1), y, weights)
    assert (nam.center_, nam.scale_) == (pytest.approx(0.5), pytest.approx(y[:50].std()))


def test_what_was_fitted_counts_not_what_was_set_later():
    X, y = load_iris(return_X_y=True)
    nam = NAMClassifier(**QUICK, n_members=2, basis="shared", n_bases=3).fit(X, y)
    before = Explainer(nam.to_additive()).score(X[0])
    assert Explainer(nam.set_params(n_members=1).to_additive()).score(X[0]) == before
    with torch.no_grad():
        nam.network_.networks.weights[0].mul_(2)
    floats = nam.decision_function(X[:1])[0]
    assert np.abs(np.array([float(s) for s in Explainer(nam.to_additive()).score(X[0])]) - floats).max() < 1e-9


def test_counterexamples_can_be_given_back_as_they_are(mixed):
    table, _, nam = mixed
    why = Explainer(nam).explain(table.iloc[2], radius=1, unit="std")
    for name in why.features:
        point = pandas.DataFrame([why.counterexample(without=name)])
        assert nam.predict(point)[0] != why.prediction


def test_numbers_beyond_floats_are_explained_and_said_to_overflow():
    nam = NAMClassifier(**QUICK).fit(pandas.DataFrame({"x": np.arange(60.0)}), np.arange(60) > 30)
    why = Explainer(nam, domains={"x": Domain.reals()}).explain({"x": "1e400"}, radius=1, unit="raw")
    assert why.float_prediction is None
    assert "float arithmetic overflows" in str(why)


def test_bad_rows_at_prediction(mixed):
    table, _, nam = mixed
    with pytest.raises(DataError, match="'colour' is 'pink' in row 0; in training it was one of blue, green, red"):
        nam.predict(table.assign(colour="pink"))
    with pytest.raises(DataError, match="'months' is missing in row 0, but it never was in training"):
        nam.predict(table.assign(months=np.nan))
    with pytest.raises(DataError, match="'age' is 'old' in row 0; in training it held numbers"):
        nam.predict(table.assign(age="old"))
    with pytest.raises(ValueError, match="feature names"):
        nam.predict(table[table.columns[::-1]])
    with pytest.raises(suffice.RowError, match="'colour' is 'pink', outside its domain"):
        Explainer(nam).explain(table.assign(colour="pink").iloc[0], radius=1, unit="raw")


def test_without_pytorch_the_error_names_the_extra():
    code = "import sys; sys.modules['torch'] = None; import suffice.nam"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 1
    assert "pip install 'suffice[nam]'" in done.stderr


def test_an_ordered_column_of_the_training_table_moves_by_rank():
    sizes, ranks = ["small", "medium", "large", "huge"], np.arange(90) % 3  # nothing is huge
    column = pandas.Categorical([sizes[k] for k in ranks], sizes, ordered=True)
    frame = pandas.DataFrame({"size": column, "age": np.arange(90.0)})
    frame.loc[0, "size"] = None
    model = NAMClassifier(**QUICK).fit(frame, ranks > 1).to_additive()
    assert model.domains[0] == Domain.ordered(*sizes[:3]) | Domain.codes(MISSING)
    assert float(model.features[0].deviation) == pytest.approx(np.std(ranks[1:]))
    again = Explainer(NAMClassifier(**QUICK).fit(frame, ranks > 1), frame).model
    assert again.domains[0] == model.domains[0]
    unordered = frame.astype({"size": "object"})
    assert not NAMClassifier(**QUICK).fit(unordered, ranks > 1).to_additive().domains[0].is_ordered


def test_only_columns_of_numbers_have_a_network():
    table, target = mixed_table()
    nam = NAMClassifier(**QUICK, n_members=2, special_codes={"months": (-9, -8)}).fit(table.assign(flat=1.0), target)
    assert [nam.columns_[k].name for k in nam.network_.own] == ["age", "months"]
    assert len(nam.network_.networks.weights[0]) == 2 * 2
    words = table[["colour", "member"]]
    for basis in ("separate", "shared"):
        fitted = NAMClassifier(**QUICK, basis=basis).fit(words, target)
        exact = [float(Explainer(fitted).score(words.iloc[k])) for k in range(6)]
        assert np.abs(fitted.decision_function(words.iloc[:6]) - exact).max() < 1e-9
