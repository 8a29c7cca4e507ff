"""Tables and columns that are unlike those of a textbook: types, names, orders, markers; asked through `predict`."""

import numpy as np
import pytest
from attack import Original, attack

import suffice
from suffice import MISSING, AdapterError

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.impute import MissingIndicator, SimpleImputer  # noqa: E402
from sklearn.linear_model import LogisticRegression, RANSACRegressor  # noqa: E402
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV  # noqa: E402
from sklearn.pipeline import FeatureUnion, make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

ROWS = 300


def frame():
    random = np.random.default_rng(3)
    table = pandas.DataFrame(
        {
            "count": random.integers(-3, 4, ROWS).astype(np.int8),
            "size": random.normal(0, 3, ROWS).astype(np.float32),
            "gap": np.where(random.random(ROWS) < 0.2, np.nan, random.normal(0, 2, ROWS)),
            "city": random.choice(np.array(["Ulm", "Köln", "", "a,b"], dtype=object), ROWS),
            "rank": pandas.Categorical(
                random.choice(["low", "mid", "high"], ROWS), categories=["low", "mid", "high", "never"], ordered=True
            ),
            "code": random.integers(0, 3, ROWS),
        }
    )
    score = table["count"] / 2 + table["size"] / 2 + table.gap.fillna(2) / 3 + 2.0 * (table.city == "Köln")
    score += 1.5 * (table["rank"] == "high") - 2.0 * (table.code == 1) + random.normal(0, 0.4, ROWS)
    return table, (score > score.median()).astype(int).to_numpy(), score.to_numpy()


def holds(fitted, table, precision=1e-6, **options):
    """Take a model over, and see users' own rows, explanations and counterexamples hold in the original."""
    found = attack(Original(fitted, table), precision=precision, **options)
    explainer = suffice.Explainer(found.model)
    if found.model.task != "regression":
        assert [explainer.predict(table.iloc[k]) for k in range(60)] == list(fitted.predict(table.iloc[:60]))
        assert found.counterexamples
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("marker", [0, np.nan])
def test_an_imputer_of_a_float32_table_fills_in_a_float32(marker):
    table, y, _ = frame()
    table = table[["count", "size"]].astype(np.float32).where(table["count"] != 0, np.float32(marker))
    fitted = make_pipeline(SimpleImputer(missing_values=marker), StandardScaler(), LogisticRegression()).fit(table, y)
    assert fitted[0].statistics_[0] != np.float32(fitted[0].statistics_[0])
    holds(fitted, table)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("options", [{}, {"error_on_new": False}, {"features": "all"}])
def test_a_missing_indicator_is_a_column_of_its_own(options):
    table, y, _ = frame()
    both = FeatureUnion([("fill", SimpleImputer()), ("mark", MissingIndicator(**options))])
    table = table[["gap", "size"]]
    fitted = make_pipeline(both, StandardScaler(), LogisticRegression(C=100)).fit(table, y)
    holds(fitted, table)
    wide = suffice.from_model(fitted, table, domains="model")
    assert [MISSING in domain for domain in wide.domains] == [True, bool(options)]


@pytest.mark.filterwarnings("ignore")
def test_the_model_inside_a_ransac_is_read():
    table, _, score = frame()
    table = table[["count", "size"]].astype(float)
    holds(make_pipeline(StandardScaler(), RANSACRegressor(random_state=0)).fit(table, score), table)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fill", ["Ulm", "none"])
def test_an_imputer_of_text_comes_before_a_model_that_takes_text(fill):
    glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")
    table, y, _ = frame()
    table = table[["city", "size"]].assign(city=table.city.where(table.code != 0, np.nan))
    fills = SimpleImputer(strategy="constant", fill_value=fill)
    before = ColumnTransformer([("fill", fills, ["city"])], remainder="passthrough", verbose_feature_names_out=False)
    ebm = glassbox.ExplainableBoostingClassifier(interactions=0, max_rounds=40, outer_bags=2, n_jobs=1)
    found = holds(make_pipeline(before.set_output(transform="pandas"), ebm).fit(table, y), table)
    explainer = suffice.Explainer(found.model)
    row = {"size": 0.5}
    if fill == "Ulm":
        assert explainer.score({**row, "city": None}) == explainer.score({**row, "city": fill})


@pytest.mark.filterwarnings("ignore")
def test_none_where_the_original_does_not_take_it_for_missing_is_refused():
    glassbox = pytest.importorskip("interpret.glassbox", reason="interpret is not installed")
    table, y, _ = frame()
    city = table.city.astype(object).where(table.code != 0, None)  # the imputer below fills NaN, and lets None pass
    table = pandas.DataFrame({"city": pandas.Series(city, dtype=object), "size": table["size"]})
    fills = SimpleImputer(strategy="constant", fill_value="Ulm")
    before = ColumnTransformer([("fill", fills, ["city"])], remainder="passthrough", verbose_feature_names_out=False)
    ebm = glassbox.ExplainableBoostingClassifier(interactions=0, max_rounds=40, outer_bags=2, n_jobs=1)
    fitted = make_pipeline(before.set_output(transform="pandas"), ebm).fit(table, y)
    with pytest.raises(AdapterError, match=r"write missing cells as NaN|alone and among other rows"):
        suffice.from_model(fitted, table)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("marker", [None, np.nan])
def test_truth_values_beside_missing_cells_are_categories(marker):
    table, y, _ = frame()
    flag = pandas.Series((table.code == 1).astype(object).where(table.code != 2, marker), dtype=object)
    table = pandas.DataFrame({"flag": flag, "size": table["size"].astype(float)})
    before = ColumnTransformer([("flag", OneHotEncoder(), ["flag"])], remainder="passthrough")
    fitted = make_pipeline(before, LogisticRegression(C=100)).fit(table, y)
    model = suffice.from_model(fitted, table)
    assert model.domains[0].categories_ == (0, 1)
    assert MISSING in model.domains[0]
    explainer = suffice.Explainer(model)
    assert [explainer.predict(table.iloc[k]) for k in range(60)] == list(fitted.predict(table.iloc[:60]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("column", "words"),
    [
        (lambda code: pandas.Timestamp("2020-01-01") + pandas.to_timedelta(code, unit="D"), "a column of dates"),
        (lambda code: code + 2**60, "two categories that are the same float, .*; write such numbers as text"),
        (
            lambda code: pandas.Series([("a", None, np.nan)[k] for k in code], dtype=object),
            "two kinds of missing cells",
        ),
    ],
)
def test_categories_that_cannot_be_told_apart_here_are_named(column, words):
    table, y, _ = frame()
    table = pandas.DataFrame({"odd": column(table.code)})
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(make_pipeline(OneHotEncoder(), LogisticRegression()).fit(table, y), table)


# --- categories of boosted trees --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_xgboost_categories_that_are_not_ascii_are_those_of_the_reference():
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    table, y, _ = frame()
    table = table[["city", "size"]].assign(city=table.city.astype("category"))
    model = xgboost.XGBClassifier(max_depth=1, n_estimators=20, enable_categorical=True).fit(table, y)
    with pytest.raises(AdapterError, match="not plain ASCII only in part; give reference rows"):
        suffice.from_model(model)
    with pytest.raises(AdapterError, match="not plain ASCII only in part; give reference rows"):
        suffice.from_model(model, table.astype({"city": object}))
    found = holds(model, table, precision=1e-4)
    assert found.model.domains[0].categories_ == ("", "Köln", "Ulm", "a,b")
    holds(FixedThresholdClassifier(model, threshold=0.3).fit(table, y), table, precision=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("codes", [None, ["code"]])
def test_ordered_categories_of_lightgbm_are_told_by_the_reference(codes):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    table, y, _ = frame()
    columns = ["size", "rank", "code"] if codes else ["size", "rank", "city"]
    table = table[columns].assign(**{} if codes else {"city": table.city.astype("category")})
    model = lightgbm.LGBMClassifier(max_depth=1, n_estimators=20, min_child_samples=5, verbose=-1, n_jobs=1)
    model.fit(table, y, **({"categorical_feature": codes} if codes else {}))
    if codes is None:
        with pytest.raises(AdapterError, match=r"ordered pandas categories.*give reference rows"):
            suffice.from_model(model)
    found = holds(model, table)
    assert found.model.domains[1].categories_ == ("low", "mid", "high", "never")
    search = GridSearchCV(model, {"n_estimators": [10, 20]}, cv=2)
    holds(search.fit(table, y, **({"categorical_feature": codes} if codes else {})), table)


@pytest.mark.filterwarnings("ignore")
def test_catboost_categories_after_other_steps_are_those_of_the_reference():
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    table, y, _ = frame()
    table = table[["gap", "city"]]
    before = ColumnTransformer([("fill", SimpleImputer(), ["gap"]), ("rest", "passthrough", ["city"])])
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(depth=1, iterations=30, cat_features=[1], **quiet)
    fitted = make_pipeline(before, model).fit(table, y)
    with pytest.raises(AdapterError, match="give the fitted model with reference rows"):
        suffice.from_model(fitted)
    holds(fitted, table)


@pytest.mark.filterwarnings("ignore")
def test_columns_of_all_types_go_into_one_pipeline():
    table, y, _ = frame()
    names = np.where(y == 1, True, False)
    cells = ["city", "rank", "code"]
    before = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), cells), ("fill", SimpleImputer(), ["gap", "count"])],
        remainder="passthrough",
    )
    holds(make_pipeline(before, StandardScaler(with_mean=False), LogisticRegression()).fit(table, names), table)


# --- what the reference tells -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_categories_of_the_reference_that_were_never_seen_have_names():
    table, y, _ = frame()
    table = table[["city", "code", "size"]]
    is_known = (table.city != "Köln") & (table.code != 2)
    before = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore"), ["city", "code"])], remainder="passthrough"
    )
    fitted = make_pipeline(before, LogisticRegression()).fit(table[is_known], y[is_known])
    before = suffice.Explainer(suffice.from_model(fitted, table[is_known], domains="model"))
    with pytest.raises(suffice.RowError, match=r"'Köln', outside its domain.*; write '\(unseen\)' for a category that"):
        before.predict({"city": "Köln", "code": 0, "size": 0.0})
    after = suffice.Explainer(holds(fitted, table).model)
    assert after.model.domains[0].categories_ == ("", "Ulm", "a,b", "Köln")
    assert after.model.domains[1].categories_ == (0, 1, 2)
    unseen = before.score({"city": "(unseen)", "code": "(unseen)", "size": 0.25})
    assert after.score({"city": "Köln", "code": 2, "size": 0.25}) == unseen


@pytest.mark.filterwarnings("ignore")
def test_a_category_that_an_encoder_leaves_out_has_its_name():
    encoding = pytest.importorskip("feature_engine.encoding", reason="feature_engine is not installed")
    table, y, _ = frame()
    table = table[["city", "size"]].astype({"size": float})
    found = holds(make_pipeline(encoding.OneHotEncoder(drop_last=True), LogisticRegression()).fit(table, y), table)
    assert sorted(found.model.domains[0].categories_) == ["", "Köln", "Ulm", "a,b"]


def simple():
    table, y, _ = frame()
    table = table[["city", "size"]]
    before = ColumnTransformer([("names", OneHotEncoder(), ["city"])], remainder="passthrough")
    return make_pipeline(before, LogisticRegression()).fit(table, y), table


TABLES = {
    "polars": lambda table: pytest.importorskip("polars").DataFrame(table.to_dict("list")),
    "arrow": lambda table: pytest.importorskip("pyarrow").Table.from_pylist(table.to_dict("records")),
    "mappings": lambda table: table.to_dict("records"),
    "another order": lambda table: table[["size", "city"]].assign(other=0),
    "array": lambda table: table.to_numpy(dtype=object),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TABLES)
def test_a_reference_may_be_any_table(kind):
    fitted, table = simple()
    found, expected = (suffice.from_model(fitted, one) for one in (TABLES[kind](table), table))
    assert found.features == expected.features
    assert found.features[1].deviation is not None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table[["size"]].assign(a=1, b=2), "row 0 of the reference: .*'city' is missing"),
        (
            lambda table: table.assign(size=table["size"].where(table.index != 7)),
            "row 7 of .*'size' is missing",
        ),
        (
            lambda table: table.assign(city="Bonn"),
            "row 0 of .*'city' is 'Bonn', outside its domain",
        ),
        (lambda table: table.iloc[0], "got a Series, which is one row or one column"),
        (lambda table: table.iloc[:0], "the reference has no rows"),
    ],
)
def test_what_is_wrong_with_a_reference_is_said_with_its_row(change, words):
    fitted, table = simple()
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(fitted, change(table))
