"""Boosted trees of XGBoost, LightGBM and CatBoost with one feature or two each, trained by the packages themselves."""

import json
import re

import numpy as np
import pytest
from peers import check, same_functions

import suffice
from suffice import MISSING, AdapterError, Explainer

NAMES = ["a", "b", "c", "d"]


def data(n=500, missing=0.1):
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(n, 4)), 2)
    X[:, 1] = random.integers(-2, 3, n)
    X[random.random((n, 4)) < missing] = np.nan
    return X


def target(X, classes=2):
    filled = np.nan_to_num(X)
    score = filled[:, 0] + np.abs(filled[:, 1]) - filled[:, 2] * 0.4 + np.isnan(X[:, 3])
    return score if classes == 0 else np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def numbers(rows):
    return np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=np.float64)


ALONE, PAIRS = [[0], [1], [2], [3]], [[0, 1], [1, 2], [2, 3], [0, 3]]
SHAPES = [("stumps", 2), ("stumps", 3), ("stumps", 0), ("constrained", 2)]
SHAPES += [("depth 2", 2), ("depth 2", 3), ("depth 2", 0), ("pairs", 2), ("pairs", 3)]


# --- XGBoost ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def xgboost():
    return pytest.importorskip("xgboost", reason="XGBoost is not installed")


def xgb(xgboost, kind, classes, **options):
    depth = {
        "stumps": {"max_depth": 1},
        "constrained": {"max_depth": 4, "interaction_constraints": str(ALONE)},
        "depth 2": {"max_depth": 2},
        "pairs": {"max_depth": 4, "interaction_constraints": str(PAIRS)},
    }[kind]
    make = xgboost.XGBRegressor if classes == 0 else xgboost.XGBClassifier
    return make(n_estimators=40, n_jobs=1, **depth, **options).fit(data(), target(data(), classes))


@pytest.mark.parametrize(("kind", "classes"), SHAPES)
def test_xgboost(xgboost, kind, classes):
    fitted = xgb(xgboost, kind, classes)
    model = suffice.from_model(fitted)
    check(
        f"XGBoost {kind} {classes}",
        model,
        lambda rows: fitted.predict(numbers(rows), output_margin=True),
        package="xgboost-cpu",
        precision=1e-6,
    )
    document = json.loads(bytes(fitted.get_booster().save_raw("json")))
    X = data()[:200]
    again = suffice.from_model(document, (X, fitted.predict(X, output_margin=True)))
    assert same_functions(again, model)
    assert bool(model.pairs) == (kind in ("depth 2", "pairs"))
    booster = suffice.from_model(fitted.get_booster())
    assert booster.intercept == model.intercept


def test_xgboost_jumps_where_float32_does(xgboost):
    fitted = xgb(xgboost, "stumps", 2)
    model = suffice.from_model(fitted)
    explainer = Explainer(model)
    knots = [float(int(k.p) / int(k.q)) for k in explainer.pieces["x0"][0].knots]
    assert knots
    for knot in knots:
        assert float(np.float32(knot)) != knot  # a jump lies between two float32 numbers
        row = [np.nextafter(knot, np.inf), 0.0, 0.0, 0.0]
        before = [np.nextafter(knot, -np.inf), 0.0, 0.0, 0.0]
        own = fitted.predict(np.array([before, [knot, 0, 0, 0], row]), output_margin=True)
        ours = [float(explainer.score(x)) for x in (before, [knot, 0.0, 0.0, 0.0], row)]
        assert np.abs(own - ours).max() < 1e-6
        assert own[0] != own[2]


def test_xgboost_predicts_with_its_best_rounds(xgboost, tmp_path):
    X, y = data(), target(data())
    fitted = xgboost.XGBClassifier(n_estimators=200, max_depth=1, early_stopping_rounds=3, n_jobs=1, learning_rate=1.0)
    fitted.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    assert fitted.best_iteration + 1 < len(fitted.get_booster().get_dump())
    model = suffice.from_model(fitted)
    path = tmp_path / "model.json"
    fitted.save_model(path)
    again, loaded = suffice.from_model(path, X[:200]), xgboost.XGBClassifier()
    loaded.load_model(path)
    explainer = Explainer(again)
    assert [explainer.predict(row) for row in X[:200]] == loaded.predict(X[:200]).tolist()
    for other in (again, suffice.from_model(loaded)):
        assert [term.shape.compile() for term in other.terms] == [term.shape.compile() for term in model.terms]
    stopping = xgboost.callback.EarlyStopping(rounds=3)
    called = xgboost.XGBClassifier(n_estimators=200, max_depth=1, n_jobs=1, learning_rate=1.0, callbacks=[stopping])
    called.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
    assert suffice.from_model(called).intercept == model.intercept
    # A Booster uses all rounds, whatever it says of the best one; its file does not say what will read it.
    booster = fitted.get_booster()
    every = suffice.from_model(booster)
    assert [term.shape.compile() for term in every.terms] != [term.shape.compile() for term in model.terms]
    booster.save_model(path)
    with pytest.raises(AdapterError, match=r"stopped early.*set_attr\(best_iteration=None\)"):
        suffice.from_model(path)
    booster.set_attr(best_iteration=None)
    booster.save_model(path)
    assert suffice.from_model(path).intercept == every.intercept


def test_xgboost_with_a_log_link(xgboost):
    X = data()
    fitted = xgboost.XGBRegressor(n_estimators=20, max_depth=1, objective="count:poisson", n_jobs=1)
    fitted.fit(X, np.exp(target(X, 0) / 3))
    assert suffice.from_model(fitted).task == "regression"
    suffice.from_model(json.loads(bytes(fitted.get_booster().save_raw("json"))), (X, fitted.predict(X)))


def test_xgboost_refusals(xgboost):
    X, y = data(), target(data())
    cases = [
        (xgboost.XGBClassifier(), "not fitted"),
        (
            xgboost.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1).fit(X, y),
            r"three features or more \(tree 0 asks about x",
        ),
        (xgboost.XGBClassifier(n_estimators=3, max_depth=1, missing=-1.0).fit(X, y), "treats -1.0 as missing"),
        (xgboost.XGBRanker(n_estimators=3, max_depth=1).fit(X, y, qid=np.arange(len(y)) // 50), "objective 'rank:"),
    ]
    for model, words in cases:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(model)
    with pytest.raises(AdapterError, match="is incomplete or inconsistent"):
        suffice.from_model({"learner": {"gradient_booster": {}}})


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("values", [["blue", "green", "grey", "red"], [10, 20, 30, 40]])
def test_xgboost_categories_have_their_names(xgboost, values, depth):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(0)
    X = pandas.DataFrame({"a": data()[:, 0], "b": pandas.Categorical(random.choice(values, 500), categories=values)})
    X.loc[random.random(500) < 0.1, "b"] = None
    y = (np.nan_to_num(X["a"]) + X["b"].isin(values[1:3]) + 2 * X["b"].isna() > 0.7).astype(int)
    options = {"max_depth": depth, "n_estimators": 30, "enable_categorical": True, "max_cat_to_onehot": 1}
    fitted = xgboost.XGBClassifier(n_jobs=1, **options).fit(X, y)
    model = suffice.from_model(fitted)
    assert {float(v) if isinstance(v, int) else v for v in values} <= {
        v if isinstance(v, str) else float(v) for v in model.domains[1].categories_
    }
    assert bool(model.pairs) == (depth == 2)

    def ask(rows):
        table = pandas.DataFrame(rows, columns=["a", "b"])
        table["a"] = table["a"].astype(float)
        table["b"] = pandas.Categorical(table["b"], categories=values)
        return fitted.predict(table, output_margin=True)

    name = f"XGBoost categories {'named' if isinstance(values[0], str) else 'of numbers'}, depth {depth}"
    check(name, model, ask, package="xgboost-cpu", precision=1e-6)
    saved = json.loads(bytes(fitted.get_booster().save_raw("json")))
    assert same_functions(suffice.from_model(saved), model)
    assert same_functions(suffice.from_model(fitted.get_booster(), task="binary"), model)


@pytest.mark.parametrize("depth", [1, 2])
def test_xgboost_codes_are_categories_too(xgboost, depth):
    X = np.column_stack([data()[:, 0], np.random.default_rng(0).integers(0, 6, 500)])
    y = (np.nan_to_num(X[:, 0]) + np.isin(X[:, 1], [1, 4]) > 0.5).astype(int)
    options = {"max_depth": depth, "n_estimators": 20, "enable_categorical": True, "max_cat_to_onehot": 1}
    fitted = xgboost.XGBClassifier(n_jobs=1, feature_types=["q", "c"], **options).fit(X, y)
    model = suffice.from_model(fitted)

    def ask(rows):
        cells = [[np.nan if c is None else 40.0 if c == "???" else c for c in row] for row in rows]
        return fitted.predict(np.array(cells, dtype=float), output_margin=True)

    check(f"XGBoost codes, depth {depth}", model, ask, package="xgboost-cpu", precision=1e-6)


# --- LightGBM ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def lightgbm():
    return pytest.importorskip("lightgbm", reason="LightGBM is not installed")


FOREST = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}  # the mean of its trees


def lgb(lightgbm, kind, classes, X=None, **options):
    depth = {
        "stumps": {"max_depth": 1},
        "constrained": {"interaction_constraints": ALONE, "num_leaves": 8},
        "depth 2": {"max_depth": 2},
        "pairs": {"interaction_constraints": PAIRS, "num_leaves": 8},
    }[kind]
    make = lightgbm.LGBMRegressor if classes == 0 else lightgbm.LGBMClassifier
    fitted = make(n_estimators=40, n_jobs=1, verbose=-1, random_state=0, **depth, **options)
    return fitted.fit(data() if X is None else X, target(data(), classes))


@pytest.mark.parametrize(
    ("kind", "classes", "options"),
    [(*shape, {}) for shape in SHAPES]
    + [
        (kind, 2, option)
        for kind in ("stumps", "depth 2")
        for option in ({"zero_as_missing": True}, {"use_missing": False})
    ]
    + [("stumps", 2, FOREST), ("depth 2", 3, FOREST), ("stumps", 0, FOREST)],
)
def test_lightgbm(lightgbm, kind, classes, options):
    fitted = lgb(lightgbm, kind, classes, **options)
    model = suffice.from_model(fitted)
    trees = 40 if options is FOREST else 1

    def ask(rows):
        return fitted.booster_.predict(numbers(rows), raw_score=True) / trees

    check(f"LightGBM {kind} {classes} {' '.join(options)}".strip(), model, ask, package="lightgbm")
    X, text = data()[:200], fitted.booster_.model_to_string()
    again = suffice.from_model(text, (X, ask(X)), classes=model.classes or None)
    if options is FOREST:
        with pytest.raises(AdapterError, match=r"a score is the raw score times 0\.025"):
            suffice.from_model(text, (X, ask(X) * trees))
    assert same_functions(again, model)
    assert bool(model.pairs) == (kind in ("depth 2", "pairs"))


@pytest.mark.parametrize("depth", [1, 2])
def test_lightgbm_categories_have_their_names(lightgbm, depth):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(1)
    X = pandas.DataFrame(data(), columns=NAMES)
    X["b"] = pandas.Categorical(random.choice(["red", "green", "blue", "grey"], len(X)))
    y = (np.nan_to_num(X["a"]) + (X["b"] == "red") * 2 - (X["b"] == "grey") > 0.3).astype(int)
    quiet = {"n_jobs": 1, "verbose": -1, "min_data_per_group": 5}
    fitted = lightgbm.LGBMClassifier(n_estimators=30, max_depth=depth, **quiet).fit(X, y)
    model = suffice.from_model(fitted)
    assert bool(model.pairs) == (depth == 2)
    assert str(model.domains[1]) == "one of blue, green, grey, red, missing, (unseen)"

    def ask(rows):
        table = pandas.DataFrame(rows, columns=NAMES)
        table["b"] = pandas.Categorical(table["b"].replace({"???": None}), categories=["blue", "green", "grey", "red"])
        for name in ("a", "c", "d"):
            table[name] = table[name].astype(float)
        return fitted.booster_.predict(table, raw_score=True)

    check(f"LightGBM categories{' depth 2' if depth == 2 else ''}", model, ask, package="lightgbm")


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("values", [[10, 20, 30, 40], [2, 0, 1, 3], [0.1, 0.5, 0.7, 0.9], [3, 1, 0, 7]])
def test_lightgbm_categories_that_are_numbers_are_no_codes(lightgbm, values, depth):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(1)
    X = pandas.DataFrame(data(), columns=NAMES)
    X["b"] = pandas.Categorical(random.choice(values, len(X)), categories=values)
    y = (np.nan_to_num(X["a"]) + (X["b"] == values[1]) * 2 - (X["b"] == values[3]) > 0.3).astype(int)
    quiet = {"n_jobs": 1, "verbose": -1, "min_data_per_group": 5}
    fitted = lightgbm.LGBMClassifier(n_estimators=30, max_depth=depth, **quiet).fit(X, y)
    own = fitted.predict(X, raw_score=True)
    for model in (
        suffice.from_model(fitted),
        suffice.from_model(fitted, X),
        suffice.from_model(fitted.booster_.model_to_string(), (X, own), classes=[0, 1]),
    ):
        explainer = Explainer(model)
        ours = [float(explainer.score(row)) for row in X.astype(object).to_numpy()]
        assert np.abs(own - ours).max() < 1e-12


@pytest.mark.parametrize("depth", [1, 2])
def test_lightgbm_codes_are_categories_too(lightgbm, depth):
    X = data()
    X[:, 1] = np.random.default_rng(2).integers(0, 7, len(X))
    y = np.isin(X[:, 1], [1, 4, 5]).astype(int)
    fitted = lightgbm.LGBMClassifier(n_estimators=20, max_depth=depth, n_jobs=1, verbose=-1, min_data_per_group=5)
    fitted.fit(X, y, categorical_feature=[1])
    model = suffice.from_model(fitted)

    def ask(rows):
        return fitted.booster_.predict(
            numbers([[-1 if c == "???" else c for c in row] for row in rows]), raw_score=True
        )

    check(f"LightGBM codes{' depth 2' if depth == 2 else ''}", model, ask, package="lightgbm")


@pytest.mark.parametrize("sigmoid", [0.7, 2.0])
def test_a_score_of_lightgbm_is_the_logit_whatever_its_sigmoid(lightgbm, sigmoid):
    fitted, X = lgb(lightgbm, "stumps", 2, sigmoid=sigmoid), data()[:100]
    chances = fitted.predict_proba(X)
    text = fitted.booster_.model_to_string()
    for model in (suffice.from_model(fitted), suffice.from_model(text, (X, chances), classes=[0, 1])):
        scores = [float(Explainer(model).score(row)) for row in X]
        assert 1 / (1 + np.exp(-np.array(scores))) == pytest.approx(chances[:, 1], abs=1e-12)
    with pytest.raises(AdapterError, match=re.escape(f"a score is the raw score times {sigmoid:g}")):
        suffice.from_model(text, (X, fitted.predict(X, raw_score=True)))


def test_lightgbm_with_a_log_link(lightgbm):
    X = data()
    fitted = lightgbm.LGBMRegressor(n_estimators=20, max_depth=1, objective="poisson", n_jobs=1, verbose=-1)
    fitted.fit(X, np.exp(target(X, 0) / 3))
    text, means = fitted.booster_.model_to_string(), fitted.predict(X)
    model = suffice.from_model(text, (X, means))
    assert float(Explainer(model).score(X[0])) == pytest.approx(np.log(means[0]), abs=1e-12)
    with pytest.raises(AdapterError, match="its link is the logarithm"):
        suffice.from_model(text, (X, means + 1))


def test_lightgbm_text_that_lacks_trees_is_refused(lightgbm):
    text = lgb(lightgbm, "stumps", 2).booster_.model_to_string()
    head, *trees = text.split("\n\nTree=")
    suffice.from_model(text)
    cases = [
        ("\n\nTree=".join([head, *trees[:20]]), "cut off"),
        (text[: text.index("end of trees")], "cut off"),
        ("\n\nTree=".join([head, *trees[:20], trees[-1]]), "says that it has 40 trees, but has 21"),
        (head + "\n", "says that it has 40 trees, but has 0"),
        (text.replace("leaf_value=", "leaf_value=1", 1), r"bytes of trees.*edited"),
    ]
    for damaged, words in cases:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(damaged)


def test_lightgbm_refusals(lightgbm):
    X, y = data(), target(data())
    quiet = {"verbose": -1, "n_jobs": 1}
    cases = [
        (lightgbm.LGBMClassifier(), "not fitted"),
        (lightgbm.LGBMClassifier(n_estimators=3, **quiet).fit(X, y), "a path of a tree uses three features or more"),
        (lightgbm.LGBMRegressor(n_estimators=3, max_depth=1, linear_tree=True, **quiet).fit(X, y * 1.0), "linear_tree"),
        (lightgbm.LGBMClassifier(n_estimators=3, **FOREST, **quiet).fit(X, y), "uses three features or more"),
        (
            lightgbm.train(
                {"objective": lambda scores, rows: (scores - rows.get_label(), np.ones(len(scores))), "verbose": -1},
                lightgbm.Dataset(X, y),
                num_boost_round=2,
            ),
            "an objective of your own",
        ),
    ]
    for model, words in cases:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(model)
    with pytest.raises(AdapterError, match="is incomplete or inconsistent"):
        suffice.from_model("tree\nversion=v4\n")


# --- CatBoost ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def catboost():
    return pytest.importorskip("catboost", reason="CatBoost is not installed")


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("classes", [2, 3, 0])
def test_catboost(catboost, classes, depth, tmp_path):
    make = catboost.CatBoostRegressor if classes == 0 else catboost.CatBoostClassifier
    X = data()
    X[:, 2] = np.nan_to_num(X[:, 2])
    fitted = make(iterations=60, depth=depth, verbose=0, allow_writing_files=False, thread_count=1).fit(
        X, target(X, classes)
    )
    model = suffice.from_model(fitted)
    assert (MISSING in model.domains[0].codes_, MISSING in model.domains[2].codes_) == (True, False)
    check(
        f"CatBoost {classes}{' depth 2' if depth == 2 else ''}",
        model,
        lambda rows: fitted.predict(numbers(rows), prediction_type="RawFormulaVal"),
        package="catboost",
    )
    path = tmp_path / "model.json"
    fitted.save_model(str(path), format="json")
    again = suffice.from_model(json.loads(path.read_text()), (X, fitted.predict(X, prediction_type="RawFormulaVal")))
    assert same_functions(again, model)
    assert bool(model.pairs) == (depth == 2)
    assert again.classes == model.classes


def test_catboost_refusals(catboost):
    X, y = data(missing=0), target(data(missing=0))
    quiet = {"iterations": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    named = np.array([["red", "blue"][k % 2] for k in range(len(y))], dtype=object)[:, None]
    cases = [
        (catboost.CatBoostClassifier(), "not fitted"),
        (catboost.CatBoostClassifier(depth=3, **quiet).fit(X, y), "a path of a tree uses three features or more"),
        (catboost.CatBoostClassifier(depth=1, grow_policy="Lossguide", **quiet).fit(X, y), "no symmetric trees"),
        (catboost.CatBoostClassifier(depth=1, cat_features=[0], **quiet).fit(named, y), "categorical features"),
        (
            catboost.CatBoostClassifier(depth=1, text_features=[0], **quiet).fit(named + " wine", y),
            r"each cell of its text_features \('0'\)",
        ),
    ]
    for model, words in cases:
        with pytest.raises(AdapterError, match=words):
            suffice.from_model(model)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_predictions_are_those_of_the_package(kind, request):
    package = request.getfixturevalue(kind)
    fitted = (xgb if kind == "xgboost" else lgb)(package, "stumps", 3)
    explainer, X = Explainer(suffice.from_model(fitted)), data()[:150]
    assert [explainer.predict(row) for row in X] == fitted.predict(X).tolist()


# --- what decides -----------------------------------------------------------------------------------------------------


def test_lightgbm_predicts_with_its_best_rounds(lightgbm):
    X, y = data(), target(data())
    fitted = lightgbm.LGBMClassifier(n_estimators=200, max_depth=1, learning_rate=1.0, n_jobs=1, verbose=-1)
    stopping = lightgbm.early_stopping(3, verbose=False)
    fitted.fit(X[:300], y[:300], eval_X=X[300:], eval_y=y[300:], callbacks=[stopping])
    assert fitted.best_iteration_ < 200
    text = fitted.booster_.model_to_string()
    for model in (suffice.from_model(fitted, X), suffice.from_model(text, (X, fitted.predict(X, raw_score=True)))):
        explainer = Explainer(model)
        assert [explainer.predict(row) for row in X[:100]] == fitted.predict(X[:100]).tolist()


def test_catboost_predicts_with_its_best_rounds(catboost):
    X, y = data(), target(data())
    fitted = catboost.CatBoostClassifier(
        iterations=200, depth=1, learning_rate=1.0, verbose=0, allow_writing_files=False, thread_count=1
    ).fit(X[:300], y[:300], eval_set=(X[300:], y[300:]), use_best_model=True)
    assert fitted.tree_count_ < 200
    explainer = Explainer(suffice.from_model(fitted, X))
    assert [explainer.predict(row) for row in X[:100]] == fitted.predict(X[:100]).tolist()


@pytest.mark.parametrize(("depth", "onehot"), [(1, 2), (1, 10), (2, 10), (2, 2)])
def test_catboost_categories_are_those_of_the_reference(catboost, depth, onehot):
    """With few categories it asks about each, with more about numbers that it made of the target."""
    random = np.random.default_rng(0)
    columns = [data()[:, 0].tolist(), random.choice(["red", "green", "blue", "grey"], 500).tolist()]
    columns.append(random.integers(1, 6, 500).tolist())
    X = [list(row) for row in zip(*columns, strict=True)]
    y = [int(np.nan_to_num(a) + (b in ("red", "grey")) + (c in (2, 4)) + random.normal(0, 0.2) > 0.9) for a, b, c in X]
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "cat_features": [1, 2]}
    fitted = catboost.CatBoostClassifier(
        iterations=30, depth=depth, one_hot_max_size=onehot, max_ctr_complexity=1, **quiet
    ).fit(X, y)
    model = suffice.from_model(fitted, X)
    assert set(model.domains[1].categories_) == {"red", "green", "blue", "grey"}
    assert {float(c) for c in model.domains[2].categories_} == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert bool(model.pairs) == (depth == 2)

    def ask(rows):
        cells = [
            [np.nan if a is None else a, b, "???" if c == "???" else int(c)]
            for a, b, c in rows
        ]  # fmt: skip
        return fitted.predict(cells, prediction_type="RawFormulaVal")

    name = f"CatBoost categories, depth {depth}, {'one-hot' if onehot > 2 else 'by the target'}"
    check(name, model, ask, package="catboost")


def test_catboost_categories_without_their_names_are_refused(catboost, tmp_path):
    X, y = [["a", 1.0], ["b", 2.0], ["c", 3.0], ["a", 4.0]] * 20, [0, 1, 1, 0] * 20
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "iterations": 5}
    fitted = catboost.CatBoostClassifier(depth=1, cat_features=[0], **quiet).fit(X, y)
    fitted.save_model(str(tmp_path / "model.json"), format="json")
    for given, reference in ((fitted, None), (tmp_path / "model.json", X)):
        with pytest.raises(AdapterError, match=r"keeps no names; give the fitted model with reference rows"):
            suffice.from_model(given, reference)


def test_catboost_categories_that_are_joined_before_a_split_are_refused():
    from suffice.adapters.catboost_categories import _column

    alone = [{"cat_feature_index": 1, "combination_element": "cat_feature_value"}]
    info = {
        "float_features": [{"borders": [1.0, 2.0]}],
        "categorical_features": [{"flat_feature_index": 1, "values": [7]}, {"flat_feature_index": 4}],
        "ctrs": [{"borders": [0.5], "elements": alone}, {"borders": [0.5, 0.7], "elements": [*alone, *alone]}],
    }
    assert _column({"split_type": "OneHotFeature", "cat_feature_index": 0}, info, "it") == 1
    assert _column({"split_type": "OnlineCtr", "split_index": 3}, info, "it") == 4
    for index in (4, 5):
        with pytest.raises(AdapterError, match="joins categories with other features before it splits; train it with"):
            _column({"split_type": "OnlineCtr", "split_index": index}, info, "it")
    with pytest.raises(AdapterError, match="has a split of type OnlineCtr"):
        _column({"split_type": "OnlineCtr", "split_index": 6}, info, "it")


@pytest.mark.parametrize("threshold", [0.3, 0.875])
def test_a_catboost_decides_at_its_own_threshold(catboost, threshold, tmp_path):
    X, y = data(), target(data())
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    fitted = catboost.CatBoostClassifier(iterations=30, depth=1, **quiet).fit(X, y)
    usual = fitted.predict(X)
    fitted.set_probability_threshold(threshold)
    fitted.save_model(str(tmp_path / "model.json"), format="json")
    labels = fitted.predict(X)
    assert (labels != usual).any()
    for given, reference in ((fitted, X), (fitted, None), (tmp_path / "model.json", None)):
        model = suffice.from_model(given, reference)
        explainer = suffice.Explainer(model)
        assert [explainer.predict(row) for row in X] == labels.tolist()
        offset = int(model.logit_offset.p) / int(model.logit_offset.q)
        chances = 1 / (1 + np.exp(-np.array([float(explainer.score(row)) + offset for row in X])))
        assert np.abs(chances - fitted.predict_proba(X)[:, 1]).max() < 1e-12


@pytest.mark.parametrize("loss", ["Poisson", "Tweedie:variance_power=1.5", "RMSE"])
def test_catboost_predicts_by_its_link(catboost, loss):
    X = data()
    fitted = catboost.CatBoostRegressor(
        iterations=30, depth=1, loss_function=loss, verbose=0, allow_writing_files=False, thread_count=1
    ).fit(X, np.exp(target(X, 0) / 3))
    suffice.from_model(fitted, (X, fitted.predict(X)))


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_boosting_whose_predict_was_changed_is_refused(kind, request):
    package = request.getfixturevalue(kind)
    classifier, regressor = (
        getattr(package, {"xgboost": "XGB", "lightgbm": "LGBM"}[kind] + what) for what in ("Classifier", "Regressor")
    )

    class Strict(classifier):
        def predict(self, X, **options):
            if options:
                return super().predict(X, **options)
            return (self.predict_proba(X)[:, 1] > 0.2).astype(int)

    class Surer(classifier):
        def predict_proba(self, X, **options):
            return 0.5 + (super().predict_proba(X, **options) - 0.5) / 2

    class Doubled(regressor):
        def predict(self, X, **options):
            return super().predict(X, **options) * (1 if options else 2)

    X, quiet = data(), {"n_estimators": 20, "max_depth": 1, "n_jobs": 1}
    quiet |= {"verbose": -1} if kind == "lightgbm" else {}
    cases = [
        (Strict(**quiet).fit(X, target(X)), "decision threshold of its own"),
        (Surer(**quiet).fit(X, target(X)), "the probabilities of the Surer say"),
        (Doubled(**quiet).fit(X, target(X, 0)), "the predictions of the Doubled say"),
    ]
    for model, words in cases:
        for reference in (None, X):
            with pytest.raises(AdapterError, match=words):
                suffice.from_model(model, reference)


def test_a_margin_that_decides_at_one_half_is_refused(xgboost):
    fitted = xgb(xgboost, "stumps", 2, objective="binary:logitraw")
    with pytest.raises(AdapterError, match="decision threshold of its own"):
        suffice.from_model(fitted)


def test_a_classifier_with_cross_entropy_has_classes(lightgbm):
    fitted, X = lgb(lightgbm, "stumps", 2, objective="cross_entropy"), data()[:100]
    model = suffice.from_model(fitted)
    assert (model.task, model.classes) == ("binary", (0, 1))
    assert [Explainer(model).predict(row) for row in X] == fitted.predict(X).tolist()


def test_one_against_the_rest_is_taken_while_its_sigmoids_differ(lightgbm):
    fitted, X = lgb(lightgbm, "stumps", 3, objective="multiclassova"), data()[:100]
    model = suffice.from_model(fitted)
    assert [Explainer(model).predict(row) for row in X] == fitted.predict(X).tolist()
    steep = lgb(lightgbm, "stumps", 3, objective="multiclassova", learning_rate=1.0, min_child_samples=1, reg_alpha=0.0)
    steep = steep.booster_.model_to_string().replace("sigmoid:1", "sigmoid:40")
    with pytest.raises(AdapterError, match="compares the sigmoids of its scores"):
        suffice.from_model(steep)
