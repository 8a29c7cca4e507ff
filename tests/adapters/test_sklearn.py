import warnings

import numpy as np
import pytest
from peers import check

import suffice
from suffice import MISSING, AdapterError, Explainer

pandas = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis  # noqa: E402
from sklearn.ensemble import (  # noqa: E402
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import (  # noqa: E402
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.multioutput import MultiOutputClassifier  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, OneClassSVM  # noqa: E402
from sklearn.tree import DecisionTreeRegressor  # noqa: E402

NAMES = ["age", "job", "income", "visits", "plan"]


def frame(n=400, seed=0, missing=True):
    random = np.random.default_rng(seed)
    table = pandas.DataFrame(
        {
            "age": random.integers(18, 70, n).astype(float),
            "job": random.choice(
                np.array(["clerk", "nurse", "smith", "cook"], dtype=object), n, p=[0.4, 0.3, 0.27, 0.03]
            ),
            "income": np.round(random.lognormal(3, 0.6, n), 1),
            "visits": random.integers(0, 6, n).astype(float),
            "plan": random.choice([10.0, 20.0, 50.0], n),
        }
    )
    if missing:
        table["plan"] = table["plan"].replace({"???": 77.0})
        for name in ("age", "job", "income"):
            table.loc[random.random(n) < 0.08, name] = np.nan
    return table


def target(X, classes=2):
    score = X["age"].fillna(40) / 20 + (X["job"] == "nurse") - X["income"].fillna(20) / 25 + X["visits"] * 0.2
    if classes == 0:
        return score
    return np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def asking(estimator, is_array=False):
    def ask(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about unknown categories
            return own(rows)

    def own(rows):
        table = pandas.DataFrame(rows, columns=NAMES)
        table["plan"] = table["plan"].replace({"???": 77.0})
        for name in ("age", "income", "visits", "plan"):
            table[name] = table[name].astype(float)
        table["job"] = table["job"].astype(object).where(table["job"].notna(), np.nan)
        given = table.drop(columns="job").to_numpy() if is_array else table
        return estimator.decision_function(given) if hasattr(estimator, "classes_") else estimator.predict(given)

    return ask


def encoder(**options):
    return OneHotEncoder(**{"handle_unknown": "ignore", "sparse_output": False, **options})


def mixed(numeric, jobs=None, plan=None):
    """Numbers last, so that the pipeline reorders the columns; `plan` has numbers for categories."""
    return ColumnTransformer(
        [
            ("plan", plan or encoder(handle_unknown="error"), ["plan"]),
            ("job", jobs or make_pipeline(SimpleImputer(strategy="most_frequent"), encoder()), ["job"]),
            ("numbers", numeric, ["visits", "income", "age"]),
        ]
    )


def scaled(*steps):
    return make_pipeline(SimpleImputer(strategy="median"), *steps)


PIPELINES = {
    "scaled logistic": (mixed(scaled(StandardScaler())), LogisticRegression(), 2),
    "three classes": (mixed(scaled(MinMaxScaler(clip=True))), LogisticRegression(), 3),
    "ridge on one-hot, scaled after": (
        make_pipeline(mixed(scaled()), StandardScaler(with_mean=False), MaxAbsScaler()),
        Ridge(),
        0,
    ),
    "dropped first category": (
        mixed(scaled(RobustScaler()), jobs=encoder(drop="first"), plan=encoder(drop="if_binary")),
        RidgeClassifier(),
        2,
    ),
    "infrequent categories": (
        mixed(scaled(StandardScaler()), jobs=encoder(min_frequency=0.1, handle_unknown="infrequent_if_exist")),
        SGDClassifier(random_state=0),
        2,
    ),
    "ordinal codes": (
        mixed(
            scaled(StandardScaler()),
            jobs=OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
        ),
        LinearDiscriminantAnalysis(),
        2,
    ),
    "bins": (mixed(scaled(StandardScaler(), KBinsDiscretizer(5, quantile_method="linear"))), LogisticRegression(), 2),
    "ordinal bins": (
        mixed(scaled(KBinsDiscretizer(4, encode="ordinal", quantile_method="linear"), StandardScaler())),
        LinearSVC(),
        2,
    ),
    "splines": (mixed(scaled(StandardScaler(), SplineTransformer(degree=1, n_knots=4))), LogisticRegression(), 2),
    "splines of degree 5": (mixed(scaled(StandardScaler(), SplineTransformer(degree=5))), LogisticRegression(), 2),
    "splines that go on": (
        mixed(scaled(SplineTransformer(degree=1, n_knots=5, extrapolation="continue", include_bias=False))),
        LinearRegression(),
        0,
    ),
    "splines with ends": (
        mixed(scaled(StandardScaler(), SplineTransformer(degree=1, knots="quantile", extrapolation="error"))),
        Ridge(),
        0,
    ),
    "periodic splines": (
        mixed(scaled(StandardScaler(), SplineTransformer(extrapolation="periodic", include_bias=False))),
        LogisticRegression(),
        2,
    ),
    "periodic lines": (
        mixed(scaled(SplineTransformer(degree=1, n_knots=4, extrapolation="periodic"))),
        LogisticRegression(),
        2,
    ),
    "cubic splines": (mixed(scaled(StandardScaler(), SplineTransformer(n_knots=4))), LogisticRegression(), 2),
    "cubic splines with tangents": (
        mixed(scaled(SplineTransformer(knots="quantile", extrapolation="linear", include_bias=False))),
        LinearRegression(),
        0,
    ),
    "parabolas that go on, scaled again": (
        mixed(scaled(SplineTransformer(degree=2, extrapolation="continue"), StandardScaler())),
        LogisticRegression(),
        3,
    ),
    "parabolas with ends": (
        mixed(scaled(StandardScaler(), SplineTransformer(degree=2, extrapolation="error"))),
        Ridge(),
        0,
    ),
    "quantiles": (mixed(scaled(QuantileTransformer(n_quantiles=20))), LogisticRegression(), 2),
    "missing flags": (
        mixed(make_pipeline(SimpleImputer(strategy="mean", add_indicator=True), StandardScaler())),
        LogisticRegression(),
        2,
    ),
    "selected and joined": (
        make_pipeline(
            mixed(
                scaled(
                    FeatureUnion([("as is", StandardScaler()), ("bins", KBinsDiscretizer(3, quantile_method="linear"))])
                )
            ),
            SelectKBest(k=9),
        ),
        LogisticRegression(),
        2,
    ),
}

STEPPED = {
    "boosting after scaling": (mixed(StandardScaler(), jobs=OrdinalEncoder()), 2),
    "boosting after powers": (mixed(PowerTransformer(), jobs=OrdinalEncoder()), 2),
    "boosting after normal quantiles": (
        mixed(QuantileTransformer(n_quantiles=30, output_distribution="normal"), jobs=OrdinalEncoder()),
        3,
    ),
}


@pytest.mark.filterwarnings("ignore:Bins whose width")
@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_is_taken_over_in_the_users_columns(name):
    steps, final, classes = PIPELINES[name]
    X = frame()
    pipeline = make_pipeline(steps, final).fit(X, target(X, classes))
    model = suffice.from_model(pipeline)
    assert model.names == tuple(NAMES)
    check(f"scikit-learn {name}", model, asking(pipeline), package="scikit-learn", radii=(3.0, np.inf))


@pytest.mark.parametrize(
    ("last", "classes"),
    [
        ([LogisticRegression(max_iter=300)], 2),
        ([LogisticRegression(max_iter=300)], 3),
        ([Ridge()], 0),
        ([StandardScaler(), LogisticRegression()], 2),
        ([VarianceThreshold(0.2), MinMaxScaler(), LogisticRegression()], 2),
    ],
)
def test_products_of_columns_are_terms_over_two_features(last, classes):
    X = frame()
    products = PolynomialFeatures(2, interaction_only=True)
    pipeline = make_pipeline(mixed(scaled(StandardScaler())), products, *last).fit(X, target(X, classes))
    model = suffice.from_model(pipeline)
    assert model.names == tuple(NAMES)
    over = {frozenset(model.names[k] for k in term.features) for term in model.pairs}
    # Every two of the five columns, one-hot groups too, unless some are left out.
    assert len(over) == 10 if len(last) < 3 else 0 < len(over) < 10
    check(f"scikit-learn products {classes}", model, asking(pipeline), package="scikit-learn", radii=(1.0, 3.0))


@pytest.mark.parametrize(("last", "classes"), [([LogisticRegression(max_iter=300)], 2), ([Ridge()], 0)])
def test_squares_stand_beside_products(last, classes):
    X = frame()
    steps = mixed(scaled(StandardScaler())), PolynomialFeatures(2), *last
    pipeline = make_pipeline(*steps).fit(X, target(X, classes))
    model = suffice.from_model(pipeline)
    assert len({frozenset(term.features) for term in model.pairs}) == 10
    assert Explainer(model).compiled.has_tangents
    check(f"scikit-learn squares {classes}", model, asking(pipeline), package="scikit-learn", radii=(1.0,))


@pytest.mark.parametrize(
    ("kind", "classes", "options"),
    [
        (GradientBoostingClassifier, 2, {"max_depth": 1}),
        (GradientBoostingClassifier, 2, {"max_depth": 2}),
        (GradientBoostingClassifier, 3, {"max_depth": 2}),
        (GradientBoostingClassifier, 2, {"max_depth": 2, "init": "zero", "loss": "exponential"}),
        (GradientBoostingRegressor, 0, {"max_depth": 2}),
    ],
)
def test_gradient_boosting(kind, classes, options):
    X = frame()
    boosting = kind(n_estimators=20, random_state=0, **options)
    pipeline = make_pipeline(mixed(scaled(StandardScaler())), boosting).fit(X, target(X, classes))
    model = suffice.from_model(pipeline)
    assert bool(model.pairs) == (options["max_depth"] == 2)
    assert model.ties == "positive"
    told = " ".join(map(str, options.values()))
    ask = asking(pipeline)
    check(f"GradientBoosting {classes} {told}", model, ask, package="scikit-learn", radii=(3.0, np.inf))


@pytest.mark.parametrize(
    ("kind", "depth"),
    [(DecisionTreeRegressor, 1), (DecisionTreeRegressor, 2), (RandomForestRegressor, 2), (ExtraTreesRegressor, 1)],
)
def test_trees_and_forests_that_predict_numbers(kind, depth):
    X = frame().drop(columns="job")
    options = {} if kind is DecisionTreeRegressor else {"n_estimators": 7}
    fitted_ = kind(max_depth=depth, random_state=0, **options).fit(X, target(frame(), 0))
    model = suffice.from_model(fitted_)
    assert bool(model.pairs) == (depth == 2)
    assert all(MISSING in domain.codes_ for domain in model.domains)

    def ask(rows):
        return fitted_.predict(pandas.DataFrame(rows, columns=X.columns).astype(float))

    check(f"{kind.__name__} of depth {depth}", model, ask, package="scikit-learn", radii=(3.0, np.inf))
    with pytest.raises(AdapterError, match="a path of a tree uses three features or more"):
        suffice.from_model(kind(max_depth=4, random_state=0).fit(X, target(frame(), 0)))


def test_gradient_boosting_rounds_to_float32_and_takes_no_missing_cells():
    X, y = frame(missing=False)[["age", "income"]], target(frame(missing=False))
    boosting = GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0).fit(X, y)
    model = suffice.from_model(boosting)
    assert all(MISSING not in domain.codes_ for domain in model.domains)
    explainer = Explainer(model)
    cuts = {cut.place for pieces in explainer.pairs.values() for one in pieces for cut in one.axes[1].cuts}
    places = [float(int(cut.p) / int(cut.q)) for cut in cuts]
    rows = [[30.0, np.nextafter(place, side)] for place in places for side in (-np.inf, place, np.inf)]
    own = boosting.decision_function(pandas.DataFrame(rows, columns=["age", "income"]))
    assert [float(explainer.score(row)) for row in rows] == pytest.approx(own, abs=1e-12)
    started = GradientBoostingClassifier(n_estimators=3, max_depth=1, init=LogisticRegression()).fit(X, y)
    with pytest.raises(AdapterError, match="starts from a LogisticRegression; leave init= out"):
        suffice.from_model(started)


def test_squares_of_categories_are_categories():
    X = frame(missing=False)[["job", "plan"]]
    pipeline = make_pipeline(encoder(), PolynomialFeatures(2), Ridge()).fit(X, target(frame(missing=False), 0))
    model = suffice.from_model(pipeline)
    assert {term.features for term in model.pairs} == {(0, 1)}
    explainer, own = Explainer(model), pipeline.predict(X)
    assert [float(explainer.score(X.iloc[k])) for k in range(40)] == pytest.approx(own[:40], abs=1e-9)


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("constraint", ["no_interactions", "pairwise"])
def test_boosting_sees_increasing_maps_only_through_its_thresholds(name, constraint):
    steps, classes = STEPPED[name]
    X = frame()
    boosting = HistGradientBoostingClassifier(max_iter=25, interaction_cst=constraint, random_state=0)
    pipeline = make_pipeline(steps, boosting).fit(X, target(X, classes))
    check(
        f"scikit-learn {name}{' with pairs' if constraint == 'pairwise' else ''}",
        suffice.from_model(pipeline),
        asking(pipeline),
        package="scikit-learn",
        radii=(3.0, np.inf),
    )


@pytest.mark.parametrize(
    ("kind", "classes", "options"),
    [
        (HistGradientBoostingClassifier, 2, {}),
        (HistGradientBoostingClassifier, 3, {}),
        (HistGradientBoostingRegressor, 0, {}),
        (HistGradientBoostingClassifier, 2, {"max_depth": 1, "interaction_cst": None}),
        (HistGradientBoostingClassifier, 2, {"interaction_cst": "pairwise"}),
        (HistGradientBoostingClassifier, 3, {"interaction_cst": "pairwise"}),
        (HistGradientBoostingRegressor, 0, {"max_leaf_nodes": 3, "max_depth": 2, "interaction_cst": None}),
    ],
)
def test_bare_boosting_with_categories_and_missing_cells(kind, classes, options):
    X = frame()
    X["job"] = X["job"].astype("category")
    options = {"interaction_cst": "no_interactions", "max_iter": 30, "random_state": 0, **options}
    boosting = kind(categorical_features="from_dtype", **options).fit(X, target(X, classes))
    model = suffice.from_model(boosting)
    assert model.names == tuple(NAMES)
    assert bool(model.pairs) == (options["interaction_cst"] == "pairwise" or options.get("max_depth") == 2)
    assert MISSING in model.domains[0].codes_
    assert "(unseen)" in model.domains[1]
    check(
        f"HistGradientBoosting {classes} {len(options)}{' with pairs' if model.pairs else ''}",
        model,
        asking(boosting),
        package="scikit-learn",
        radii=(3.0, np.inf),
    )


def test_models_are_averaged_on_the_values_that_all_of_them_take():
    X, y = frame(missing=False)[["age", "job", "plan"]], target(frame(missing=False), 0)

    def over(numbers, jobs, final, **options):
        encode = encoder(categories=[np.array(jobs, dtype=object)], **options)
        return make_pipeline(ColumnTransformer([("job", encode, ["job"]), ("n", numbers, ["age"])]), final)

    boosting = HistGradientBoostingRegressor(max_iter=10, interaction_cst="no_interactions")
    voting = VotingRegressor(
        [
            ("known", over(SimpleImputer(), ["clerk", "nurse", "smith", "cook"], Ridge(), handle_unknown="ignore")),
            ("others", over("passthrough", ["cook"], boosting, handle_unknown="ignore")),
            ("plan", make_pipeline(ColumnTransformer([("plan", "passthrough", ["plan"])]), boosting)),
        ]
    ).fit(X, y)
    model = suffice.from_model(voting)
    assert model.names == ("age", "job", "plan")
    assert [str(domain) for domain in model.domains] == [
        "(-∞, ∞), or one of missing",
        "one of clerk, nurse, smith, cook, (unseen)",  # two of which the second model never saw
        "(-∞, ∞), or one of missing",
    ]
    check("scikit-learn voting", model, lambda rows: asking_voting(voting, rows), package="scikit-learn")
    strict = VotingRegressor([("linear", Ridge()), ("gaps", boosting)]).fit(X[["age", "plan"]], y)
    assert {str(domain) for domain in suffice.from_model(strict).domains} == {"(-∞, ∞)"}
    apart = [over("passthrough", jobs, Ridge(), handle_unknown="error") for jobs in (["clerk"], ["nurse"])]
    fitted_apart = [
        one.fit(X[X["job"] == name], y[X["job"] == name]) for one, name in zip(apart, ("clerk", "nurse"), strict=True)
    ]
    voting.estimators_ = fitted_apart
    with pytest.raises(AdapterError, match="take no value of a column in common"):
        suffice.from_model(voting)


def asking_voting(voting, rows):
    table = pandas.DataFrame(rows, columns=["age", "job", "plan"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return voting.predict(table.astype({"age": float, "plan": float}))


def test_a_column_that_no_tree_uses_is_a_feature_that_does_nothing():
    X = frame(missing=False)[["age", "income"]].assign(always=1.0)
    boosting = HistGradientBoostingClassifier(max_iter=5, max_depth=1)
    model = suffice.from_model(make_pipeline(StandardScaler(), boosting).fit(X, target(frame(missing=False))))
    assert model.names == ("age", "income", "always")
    assert model.compile()[2][0].knots == ()


def test_arrays_have_numbered_columns():
    X = frame(missing=False).drop(columns="job").to_numpy()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, target(frame(missing=False)))
    model = suffice.from_model(pipeline)
    assert model.names == ("x0", "x1", "x2", "x3")
    assert MISSING not in model.domains[0].codes_
    assert float(Explainer(model).score(X[5])) == pytest.approx(pipeline.decision_function(X[5:6])[0], abs=1e-12)


def test_a_log_link_and_a_finished_search():
    X = frame(missing=False).drop(columns="job")
    y = target(frame(missing=False), 0)
    model = suffice.from_model(make_pipeline(StandardScaler(), PoissonRegressor()).fit(X, np.exp(y / 4)))
    assert model.task == "regression"
    search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1]}).fit(X, y)
    assert suffice.from_model(search).names == tuple(X.columns)


def test_columns_that_are_dropped_are_no_features():
    X = frame(missing=False)
    pipeline = make_pipeline(
        ColumnTransformer([("scale", StandardScaler(), ["visits", "age"])], remainder="drop"), LogisticRegression()
    ).fit(X, target(X))
    model = suffice.from_model(pipeline)
    assert model.names == ("age", "visits")
    explainer = Explainer(model)
    with pytest.warns(UserWarning, match="does not use it: job, income, plan"):
        score = explainer.score(X.iloc[0])
    with pytest.warns(UserWarning, match="does not use it: job"):
        assert explainer.score(X.iloc[[0]]) == score == explainer.score(X[["age", "visits"]].iloc[0])
    with pytest.raises(suffice.FeatureNameError, match="'job' is not a feature"):
        explainer.score(dict(X.iloc[0]))


def test_an_explainer_takes_whatever_is_read():
    X = frame(missing=False)[["age", "income", "visits"]]
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, target(frame(missing=False)))
    why = Explainer(pipeline, X).explain(X.iloc[0])
    assert why.prediction == pipeline.predict(X.iloc[[0]])[0]
    assert Explainer(pipeline).score(X.iloc[0]) == Explainer(suffice.from_model(pipeline)).score(X.iloc[0])


def fitted(*steps, columns=("age", "income", "visits"), classes=2):
    X = frame(missing=False)
    return make_pipeline(*steps).fit(X[list(columns)], target(X, classes))


REFUSED = {
    "a high degree": (
        lambda: fitted(SplineTransformer(degree=21), LogisticRegression()),
        r"degree=21\) is not read; use a degree from 1 to 20",
    ),
    "a defect": (
        lambda: fitted(SplineTransformer(degree=1, extrapolation="linear"), Ridge()),
        "extrapolation='continue'",
    ),
    "products of one column's splines": (
        lambda: fitted(SplineTransformer(degree=1), PolynomialFeatures(2, interaction_only=True), LogisticRegression()),
        "multiplies two columns that an earlier step made of one",
    ),
    "products of three": (
        lambda: fitted(PolynomialFeatures(3, interaction_only=True), Ridge()),
        "multiplies 3 columns; squares, cubes and products of two can be explained",
    ),
    "products before another map": (
        lambda: fitted(PolynomialFeatures(2, interaction_only=True), SplineTransformer(degree=1), Ridge()),
        "the SplineTransformer reads a product of two columns",
    ),
    "products before quantiles": (
        lambda: fitted(
            PolynomialFeatures(2, interaction_only=True, include_bias=False),
            QuantileTransformer(n_quantiles=9),
            Ridge(),
        ),
        "the QuantileTransformer reads a product of two columns",
    ),
    "products before trees": (
        lambda: fitted(
            PolynomialFeatures(2, interaction_only=True), HistGradientBoostingClassifier(max_iter=3, max_depth=1)
        ),
        "only linear models can be explained after it",
    ),
    "products of a smooth map": (
        lambda: fitted(PowerTransformer(), PolynomialFeatures(2, interaction_only=True), Ridge()),
        "smooth curve",
    ),
    "any function": (
        lambda: fitted(FunctionTransformer(np.arctan), LogisticRegression()),
        r"FunctionTransformer\(arctan\)",
    ),
    "kernel": (lambda: fitted(StandardScaler(), SVC()), "compares whole rows by the kernel 'rbf'"),
    "interactions": (
        lambda: fitted(HistGradientBoostingClassifier(max_iter=3)),
        r"a path of a tree uses three features or more \(tree 0 asks about .*, .*\)",
    ),
    "discriminants": (
        lambda: fitted(QuadraticDiscriminantAnalysis()),
        "the QuadraticDiscriminantAnalysis multiplies columns with each other; use LinearDiscriminantAnalysis",
    ),
    "outliers": (lambda: fitted(StandardScaler(), OneClassSVM(kernel="linear")), "OneClassSVM tells outliers from"),
    "groups": (lambda: fitted(KMeans(2)), "KMeans puts rows into groups"),
    "several targets": (
        lambda: MultiOutputClassifier(LogisticRegression()).fit([[0.0], [1.0]], [[0, 1], [1, 0]]),
        "MultiOutputClassifier predicts several targets at once; convert one of its models",
    ),
    "unfitted": (lambda: make_pipeline(StandardScaler(), LogisticRegression()), "not fitted"),
    "unfitted model": (lambda: LogisticRegression(), "not fitted"),
    "several numbers": (
        lambda: LinearRegression().fit(frame(missing=False)[["age"]], frame(missing=False)[["visits", "income"]]),
        "predicts 2 numbers at once",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_additive_or_not_exact_is_refused(name):
    make, words = REFUSED[name]
    with pytest.raises(AdapterError, match=words):
        suffice.from_model(make())


@pytest.mark.parametrize("labels", [2, 3])
def test_several_labels_at_once_are_refused(labels):
    X = frame(missing=False)[["age", "income"]]
    y = target(frame(missing=False)).astype(int)
    many = RidgeClassifier().fit(X, np.stack([y, 1 - y, y], axis=1)[:, :labels])
    with pytest.raises(AdapterError, match=rf"decides {labels} labels at once \(multilabel\)"):
        suffice.from_model(many)


def test_a_model_that_lies_about_itself_is_refused():
    class Doubling(LogisticRegression):
        def decision_function(self, X):
            return 2 * super().decision_function(X)

    X = frame(missing=False)[["age", "income"]]
    with pytest.raises(AdapterError, match="what was read from the Doubling"):
        suffice.from_model(Doubling().fit(X, target(frame(missing=False))))


def test_a_nested_pipeline_is_read_like_a_flat_one():
    X = frame(missing=False)[["age", "income", "visits"]]
    y = target(frame(missing=False))
    flat = make_pipeline(StandardScaler(), MinMaxScaler(), LogisticRegression()).fit(X, y)
    nested = Pipeline([("first", make_pipeline(StandardScaler(), MinMaxScaler())), ("last", LogisticRegression())]).fit(
        X, y
    )
    scores = [Explainer(suffice.from_model(one)).score(X.iloc[3]) for one in (flat, nested)]
    assert scores[0] == scores[1]


SMOOTH = {
    "powers": ([PowerTransformer()], LogisticRegression(), 2),
    "positive powers": ([PowerTransformer(method="box-cox", standardize=False)], LogisticRegression(), 2),
    "normal quantiles": ([QuantileTransformer(n_quantiles=9, output_distribution="normal")], Ridge(), 0),
    "logarithms": ([FunctionTransformer(np.log1p), StandardScaler()], LogisticRegression(), 3),
    "roots": ([FunctionTransformer(np.sqrt)], LogisticRegression(), 2),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_maps_before_a_linear_model(name):
    steps, final, classes = SMOOTH[name]
    columns = ["age", "income"]
    X = frame(missing=False)[columns].abs() + 0.5
    pipeline = make_pipeline(*steps, final).fit(X, target(frame(missing=False), classes))
    model = suffice.from_model(pipeline)

    def ask(rows):
        table = pandas.DataFrame(rows, columns=columns).astype(float)
        return pipeline.decision_function(table) if classes else pipeline.predict(table)

    check(f"scikit-learn {name}", model, ask, package="scikit-learn", radii=(0.5, 3.0))


def test_powers_of_one_column_and_normal_columns_are_curves():
    X = frame(missing=False)
    for steps, columns, classes in (
        ((StandardScaler(), PolynomialFeatures(3), LogisticRegression()), ["age"], 2),
        ((StandardScaler(), PolynomialFeatures(5), LogisticRegression()), ["age"], 2),
        ((StandardScaler(), GaussianNB()), ["age", "income", "visits"], 3),
    ):
        pipeline = fitted(*steps, columns=columns, classes=classes)
        explainer = Explainer(suffice.from_model(pipeline))
        assert explainer.compiled.is_curved
        rows = X[columns].head(40)
        assert [explainer.predict(row) for _, row in rows.iterrows()] == pipeline.predict(rows).tolist()
    pipeline = fitted(StandardScaler(), PolynomialFeatures(3), LogisticRegression(), columns=["age", "income"])
    with pytest.raises(AdapterError, match="multiplies 3 columns"):
        suffice.from_model(pipeline)


@pytest.mark.parametrize("container", ["pandas", "default"])
def test_steps_that_were_asked_for_data_frames_are_read(container):
    X = frame(missing=False)[["age", "income", "job"]]
    names = OneHotEncoder(sparse_output=False, handle_unknown="ignore", feature_name_combiner=lambda c, v: f"{c}={v}")
    steps = ColumnTransformer([("n", StandardScaler(), ["age", "income"]), ("j", names, ["job"])])
    fitted = make_pipeline(steps, LogisticRegression()).set_output(transform=container).fit(X, X.income > 20)
    explainer = Explainer(suffice.from_model(fitted, X))
    assert [explainer.predict(row) for _, row in X[:30].iterrows()] == fitted.predict(X[:30]).tolist()


@pytest.mark.parametrize(("options", "is_log"), [({"power": 0}, 0), ({"link": "identity"}, 0), ({"power": 1.5}, 1)])
def test_a_tweedie_regressor_has_the_link_that_it_says(options, is_log):
    X = np.random.default_rng(0).uniform(1, 3, (100, 2))
    fitted = TweedieRegressor(**options).fit(X, X.sum(axis=1))
    scores = [float(Explainer(suffice.from_model(fitted)).score(row)) for row in X[:9]]
    assert (np.exp(scores) if is_log else scores) == pytest.approx(fitted.predict(X[:9]))
