"""250 common configurations: models as working data scientists fit them, and whether they are taken over.

Each is a package, what it is, a function that fits it, and, where it is refused, words of the message. "pairs" and
"curves" mark refusals because of terms over two columns and of shapes without exact pieces.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pandas
from attack import Original

ROWS = 400


@dataclass(frozen=True)
class Configuration:
    """A way to fit a model of a package."""

    package: str
    name: str
    fit: Callable[[], Original]
    refused: str = ""
    because: str = ""  # "pairs" or "curves", of a refusal
    options: dict[str, Any] = field(default_factory=dict)
    precision: float = 1e-6


@cache
def data():
    """A table of numbers, categories and missing cells, and targets."""
    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "age": random.normal(40, 12, ROWS).round(1),
            "income": random.lognormal(3, 0.6, ROWS).round(1),
            "visits": random.integers(0, 6, ROWS).astype(float),
            "job": random.choice(np.array(["clerk", "nurse", "smith"], dtype=object), ROWS),
        }
    )
    score = table.age / 20 - table.income / 25 + table.visits * 0.2 + (table.job == "nurse")
    score = score + random.normal(0, 0.3, ROWS)
    gaps = table.copy()
    gaps.loc[random.random(ROWS) < 0.1, "age"] = np.nan
    return {
        "mixed": table,
        "numbers": table[["age", "income", "visits"]],
        "positive": table[["age", "income", "visits"]].abs(),
        "gaps": gaps,
        "number gaps": gaps[["age", "income", "visits"]],
        "codes": table[["age", "income", "visits"]].where(table.visits != 2, -9.0),
        "categories": table.assign(job=table.job.astype("category")),
        "counted": table[["visits"]].assign(odd=table.visits % 2),
        "names": np.where(score > score.median(), "yes", "no"),
        "bits": (score > score.median()).astype(int).to_numpy(),
        "three": np.digitize(score, np.quantile(score, [0.33, 0.66])),
        "number": score.to_numpy(),
        "count": np.exp(score / 3).round().to_numpy(),
    }


def get(path):
    """A class or function by its dotted name, imported when it is needed."""
    module, _, name = path.rpartition(".")
    if name in ("HalvingGridSearchCV", "HalvingRandomSearchCV"):
        import_module("sklearn.experimental.enable_halving_search_cv")
    return getattr(import_module(module), name)


def make(path, *inside, **options):
    return get(path)(*inside, **options)


def pipe(*steps):
    return make("sklearn.pipeline.make_pipeline", *steps)


def columns(numbers=None, jobs=None, **options):
    scale = numbers or make("sklearn.preprocessing.StandardScaler")
    encode = jobs or make("sklearn.preprocessing.OneHotEncoder", handle_unknown="ignore")
    steps = [("numbers", scale, ["age", "income", "visits"]), ("job", encode, ["job"])]
    return make("sklearn.compose.ColumnTransformer", steps, **options)


def fitted(model, table="numbers", target="names", **ask):
    """What is asked about later: a fitted model with the table that it was fitted on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = data()[table], data()[target]
        return Original(model().fit(X, y), X, **ask)


ALL: list[Configuration] = []


def add(package, name, model, table="numbers", target="names", refused="", because="", precision=1e-6, **ask):
    def fit():
        return fitted(model, table, target, **ask)

    ALL.append(Configuration(package, name, fit, refused, because, {}, precision))


def add_fit(package, name, fit, refused="", because="", precision=1e-6, **options):
    ALL.append(Configuration(package, name, fit, refused, because, options, precision))


# --- scikit-learn -----------------------------------------------------------------------------------------------------

SK = "scikit-learn"
LINEAR, PRE, ENS = "sklearn.linear_model", "sklearn.preprocessing", "sklearn.ensemble"


def lr(**options):
    return make(f"{LINEAR}.LogisticRegression", max_iter=300, **options)


def scaled(model):
    return pipe(make(f"{PRE}.StandardScaler"), model)


for kind in ("LogisticRegression", "RidgeClassifier", "SGDClassifier", "Perceptron"):
    add(SK, kind, lambda kind=kind: scaled(make(f"{LINEAR}.{kind}")))
add(SK, "LogisticRegressionCV", lambda: make(f"{LINEAR}.LogisticRegressionCV", cv=2, Cs=2))
add(SK, "LogisticRegression, 3 classes", lr, target="three")
add(SK, "LinearSVC", lambda: scaled(make("sklearn.svm.LinearSVC")))
add(SK, "SVC(kernel='linear')", lambda: scaled(make("sklearn.svm.SVC", kernel="linear")))
add(SK, "SVR(kernel='linear')", lambda: scaled(make("sklearn.svm.SVR", kernel="linear")), target="number")
add(SK, "SVC(), RBF kernel", lambda: scaled(make("sklearn.svm.SVC")), refused="by the kernel 'rbf'")
add(
    SK,
    "SVC(kernel='linear'), 3 classes",
    lambda: make("sklearn.svm.SVC", kernel="linear"),
    target="three",
    refused="vote",
)
add(SK, "LinearDiscriminantAnalysis", lambda: make("sklearn.discriminant_analysis.LinearDiscriminantAnalysis"))
for kind in ("LinearRegression", "Ridge", "HuberRegressor", "BayesianRidge", "LassoCV"):
    add(SK, kind, lambda kind=kind: scaled(make(f"{LINEAR}.{kind}")), target="number")
for kind in ("Lasso", "ElasticNet", "QuantileRegressor"):
    add(SK, kind, lambda kind=kind: scaled(make(f"{LINEAR}.{kind}", alpha=0.01)), target="number")
for kind in ("PoissonRegressor", "TweedieRegressor"):
    add(
        SK,
        kind,
        lambda kind=kind: scaled(make(f"{LINEAR}.{kind}", **({"power": 1.5} if "Tweedie" in kind else {}))),
        target="count",
        means=np.exp,
    )
add(SK, "GaussianNB", lambda: make("sklearn.naive_bayes.GaussianNB"))
add(SK, "BernoulliNB", lambda: make("sklearn.naive_bayes.BernoulliNB", binarize=20.0))
add(SK, "MultinomialNB", lambda: make("sklearn.naive_bayes.MultinomialNB"), table="positive")
add(SK, "ComplementNB, 3 classes", lambda: make("sklearn.naive_bayes.ComplementNB"), table="positive", target="three")
add(SK, "CategoricalNB", lambda: make("sklearn.naive_bayes.CategoricalNB"), table="counted", target="three")
add(
    SK,
    "KBins (ordinal) + CategoricalNB",
    lambda: pipe(make(f"{PRE}.KBinsDiscretizer", 4, encode="ordinal"), make("sklearn.naive_bayes.CategoricalNB")),
)
for kind, target in (("Classifier", "names"), ("Regressor", "number")):
    add(
        SK,
        f"HistGradientBoosting{kind}, no interactions",
        lambda kind=kind: make(
            f"{ENS}.HistGradientBoosting{kind}", interaction_cst="no_interactions", max_iter=30, random_state=0
        ),
        target=target,
        table="number gaps",
    )
    add(
        SK,
        f"GradientBoosting{kind}(max_depth=1)",
        lambda kind=kind: make(f"{ENS}.GradientBoosting{kind}", max_depth=1, n_estimators=40),
        target=target,
    )
    add(
        SK,
        f"GradientBoosting{kind}()",
        lambda kind=kind: make(f"{ENS}.GradientBoosting{kind}", n_estimators=10),
        target=target,
        refused="uses three features or more",
        because="pairs",
    )
add(
    SK,
    "HistGradientBoostingClassifier()",
    lambda: make(f"{ENS}.HistGradientBoostingClassifier", max_iter=10),
    refused="uses three features or more",
    because="pairs",
)
add(
    SK,
    "GradientBoosting stumps, 3 classes",
    lambda: make(f"{ENS}.GradientBoostingClassifier", max_depth=1),
    target="three",
)
add(SK, "AdaBoostClassifier", lambda: make(f"{ENS}.AdaBoostClassifier", n_estimators=30))
add(
    SK,
    "AdaBoostRegressor",
    lambda: make(f"{ENS}.AdaBoostRegressor"),
    target="number",
    refused="the median of its trees",
)
for kind in ("RandomForestClassifier", "ExtraTreesClassifier"):
    add(SK, kind, lambda kind=kind: make(f"{ENS}.{kind}", n_estimators=5), refused="shares of classes in leaves")
add(
    SK,
    "RandomForestRegressor(max_depth=2)",
    lambda: make(f"{ENS}.RandomForestRegressor", max_depth=2, n_estimators=20, random_state=0),
    target="number",
    table="number gaps",
)
add(
    SK,
    "DecisionTreeClassifier",
    lambda: make("sklearn.tree.DecisionTreeClassifier"),
    refused="shares of classes in leaves",
)
add(SK, "KNeighborsClassifier", lambda: make("sklearn.neighbors.KNeighborsClassifier"), refused="compares whole rows")
add(SK, "MLPClassifier", lambda: make("sklearn.neural_network.MLPClassifier", max_iter=20), refused="mixes all columns")
add(
    SK,
    "categories: OrdinalEncoder + HistGradientBoosting",
    lambda: pipe(
        columns("passthrough", make(f"{PRE}.OrdinalEncoder")),
        make(f"{ENS}.HistGradientBoostingClassifier", categorical_features=[3], interaction_cst="no_interactions"),
    ),
    table="mixed",
)
add(
    SK,
    "categories: HistGradientBoosting(from_dtype)",
    lambda: make(f"{ENS}.HistGradientBoostingClassifier", interaction_cst="no_interactions", max_iter=20),
    table="categories",
)

# --- scikit-learn's transformers --------------------------------------------------------------------------------------

for kind in ("MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer"):
    options = {"n_quantiles": 50} if kind == "QuantileTransformer" else {}
    add(SK, f"{kind} + LR", lambda kind=kind, options=options: pipe(make(f"{PRE}.{kind}", **options), lr()))
add(SK, "KBinsDiscretizer + LR", lambda: pipe(make(f"{PRE}.KBinsDiscretizer", 5), lr()))
add(SK, "Binarizer + LR", lambda: pipe(make(f"{PRE}.Binarizer", threshold=30.0), lr()))
add(SK, "SplineTransformer(degree=1) + LR", lambda: pipe(make(f"{PRE}.SplineTransformer", degree=1), lr()))
add(SK, "SplineTransformer() + LR", lambda: pipe(make(f"{PRE}.SplineTransformer"), lr()))
for kind in ("PowerTransformer", "QuantileTransformer"):
    options = {} if kind == "PowerTransformer" else {"n_quantiles": 50, "output_distribution": "normal"}
    add(
        SK,
        f"{kind}{'(normal)' if options else ''} + LR",
        lambda kind=kind, options=options: pipe(make(f"{PRE}.{kind}", **options), lr()),
    )
add(
    SK,
    "PowerTransformer + KBins + LR",
    lambda: pipe(make(f"{PRE}.PowerTransformer"), make(f"{PRE}.KBinsDiscretizer"), lr()),
)
add(SK, "PolynomialFeatures(1) + LR", lambda: pipe(make(f"{PRE}.PolynomialFeatures", 1), scaled(lr())))
add(
    SK,
    "PolynomialFeatures(interaction_only=True) + LR",
    lambda: pipe(make(f"{PRE}.PolynomialFeatures", interaction_only=True), scaled(lr())),
)
add(SK, "PolynomialFeatures() + LR", lambda: pipe(make(f"{PRE}.PolynomialFeatures"), lr()))
for name in ("log1p", "sqrt"):
    add(
        SK,
        f"FunctionTransformer(np.{name}) + LR",
        lambda name=name: pipe(make(f"{PRE}.FunctionTransformer", getattr(np, name)), lr()),
        table="positive",
    )
add(
    SK,
    "FunctionTransformer(np.log1p) + boosted stumps",
    lambda: pipe(make(f"{PRE}.FunctionTransformer", np.log1p), make(f"{ENS}.GradientBoostingClassifier", max_depth=1)),
    table="positive",
)
add(
    SK,
    "FunctionTransformer(np.clip) + LR",
    lambda: pipe(make(f"{PRE}.FunctionTransformer", np.clip, kw_args={"a_min": 10, "a_max": 50}), lr()),
)
add(
    SK,
    "FunctionTransformer(lambda) + LR",
    lambda: pipe(make(f"{PRE}.FunctionTransformer", lambda x: x), lr()),
    refused="can be any function",
)
add(SK, "SimpleImputer + LR", lambda: pipe(make("sklearn.impute.SimpleImputer"), scaled(lr())), table="number gaps")
add(
    SK,
    "SimpleImputer(add_indicator=True) + LR",
    lambda: pipe(make("sklearn.impute.SimpleImputer", add_indicator=True), scaled(lr())),
    table="number gaps",
)
add(
    SK,
    "SimpleImputer(missing_values=-9) + LR",
    lambda: pipe(make("sklearn.impute.SimpleImputer", missing_values=-9), lr()),
    table="codes",
)
add(
    SK,
    "KNNImputer + LR",
    lambda: pipe(make("sklearn.impute.KNNImputer"), lr()),
    table="number gaps",
    refused="whole rows next to it",
)
add(SK, "PCA + LR", lambda: pipe(make("sklearn.decomposition.PCA"), lr()), refused="mixes all columns")
add(SK, "SelectKBest + LR", lambda: pipe(make("sklearn.feature_selection.SelectKBest", k=2), lr()))
add(SK, "RFE(LR)", lambda: make("sklearn.feature_selection.RFE", lr(), n_features_to_select=2))
add(SK, "ColumnTransformer + OneHotEncoder + LR", lambda: pipe(columns(), lr()), table="mixed")
add(
    SK,
    "OneHotEncoder(drop='first') + LR",
    lambda: pipe(columns(jobs=make(f"{PRE}.OneHotEncoder", drop="first")), lr()),
    table="mixed",
)
add(
    SK,
    "OneHotEncoder(min_frequency) + Ridge",
    lambda: pipe(
        columns(jobs=make(f"{PRE}.OneHotEncoder", min_frequency=0.3, handle_unknown="infrequent_if_exist")),
        make(f"{LINEAR}.Ridge"),
    ),
    table="mixed",
    target="number",
)
add(SK, "OrdinalEncoder + LR", lambda: pipe(columns(jobs=make(f"{PRE}.OrdinalEncoder")), lr()), table="mixed")
add(SK, "TargetEncoder + LR", lambda: pipe(columns(jobs=make(f"{PRE}.TargetEncoder", cv=2)), lr()), table="mixed")
add(
    SK,
    "TargetEncoder + LR, 3 classes",
    lambda: pipe(columns(jobs=make(f"{PRE}.TargetEncoder", cv=2)), lr()),
    table="mixed",
    target="three",
)


def words():
    texts = data()["mixed"].job.tolist()
    model = pipe(make("sklearn.feature_extraction.text.CountVectorizer"), lr()).fit(texts, data()["names"])
    return Original(model, data()["mixed"][["job"]])


add_fit(SK, "CountVectorizer + LR", words, refused="counts words, each a column of its own")

# --- scikit-learn's wrappers ------------------------------------------------------------------------------------------

SEARCH, MULTI = "sklearn.model_selection", "sklearn.multiclass"
C_VALUES = {"logisticregression__C": [0.1, 1.0]}
for kind, options in (("GridSearchCV", {}), ("RandomizedSearchCV", {"n_iter": 2}), ("HalvingGridSearchCV", {})):
    add(
        SK,
        f"{kind}(pipeline)",
        lambda kind=kind, options=options: make(f"{SEARCH}.{kind}", pipe(columns(), lr()), C_VALUES, cv=2, **options),
        table="mixed",
    )
add(SK, "FixedThresholdClassifier(LR)", lambda: make(f"{SEARCH}.FixedThresholdClassifier", lr(), threshold=0.3))
add(
    SK,
    "TunedThresholdClassifierCV(pipeline)",
    lambda: make(f"{SEARCH}.TunedThresholdClassifierCV", pipe(columns(), lr()), cv=2),
    table="mixed",
)
CAL = "sklearn.calibration.CalibratedClassifierCV"
add(
    SK,
    "CalibratedClassifierCV(LinearSVC, ensemble=False)",
    lambda: make(CAL, make("sklearn.svm.LinearSVC"), ensemble=False),
)
add(SK, "CalibratedClassifierCV(isotonic, ensemble=False)", lambda: make(CAL, lr(), method="isotonic", ensemble=False))
add(
    SK,
    "CalibratedClassifierCV(LinearSVC)",
    lambda: make(CAL, make("sklearn.svm.LinearSVC")),
    refused="averages the probabilities of 5",
)
add(SK, "OneVsRestClassifier(LR)", lambda: make(f"{MULTI}.OneVsRestClassifier", lr()), target="three")
add(
    SK,
    "OneVsOneClassifier(LR)",
    lambda: make(f"{MULTI}.OneVsOneClassifier", lr()),
    target="three",
    refused="vote in pairs",
)
add(
    SK,
    "VotingClassifier",
    lambda: make(f"{ENS}.VotingClassifier", [("a", lr()), ("b", make("sklearn.naive_bayes.GaussianNB"))]),
    refused="averages probabilities, or counts votes",
)
add(
    SK,
    "VotingRegressor",
    lambda: make(
        f"{ENS}.VotingRegressor",
        [("a", make(f"{LINEAR}.Ridge")), ("b", make(f"{ENS}.GradientBoostingRegressor", max_depth=1))],
        weights=[1, 3],
    ),
    target="number",
)
add(
    SK,
    "VotingRegressor of models with and without missing cells",
    lambda: make(
        f"{ENS}.VotingRegressor",
        [
            ("filled", pipe(make("sklearn.impute.SimpleImputer"), make(f"{LINEAR}.Ridge"))),
            ("gaps", make(f"{ENS}.HistGradientBoostingRegressor", interaction_cst="no_interactions", max_iter=20)),
        ],
    ),
    table="number gaps",
    target="number",
)
add(
    SK,
    "VotingRegressor of pipelines over different columns",
    lambda: make(
        f"{ENS}.VotingRegressor",
        [
            ("all", pipe(columns(), make(f"{LINEAR}.Ridge"))),
            (
                "some",
                pipe(
                    make("sklearn.compose.ColumnTransformer", [("age", "passthrough", ["age"])]),
                    make(f"{LINEAR}.Ridge"),
                ),
            ),
        ],
    ),
    table="mixed",
    target="number",
)
add(
    SK,
    "BaggingRegressor(Ridge)",
    lambda: make(f"{ENS}.BaggingRegressor", make(f"{LINEAR}.Ridge"), max_features=2),
    target="number",
)
add(SK, "BaggingClassifier(LR)", lambda: make(f"{ENS}.BaggingClassifier", lr()), refused="averages the probabilities")
add(SK, "StackingClassifier", lambda: make(f"{ENS}.StackingClassifier", [("a", lr())], cv=2), refused="to another one")
TARGET = "sklearn.compose.TransformedTargetRegressor"
add(
    SK,
    "TransformedTargetRegressor(StandardScaler)",
    lambda: make(TARGET, make(f"{LINEAR}.Ridge"), transformer=make(f"{PRE}.StandardScaler")),
    target="number",
)
add(
    SK,
    "TransformedTargetRegressor(log1p)",
    lambda: make(TARGET, make(f"{LINEAR}.Ridge"), func=np.log1p, inverse_func=np.expm1),
    target="count",
    means=np.expm1,
)
add(
    SK,
    "SelfTrainingClassifier(LR)",
    lambda: make("sklearn.semi_supervised.SelfTrainingClassifier", lr()),
    target="bits",
)

# --- InterpretML ------------------------------------------------------------------------------------------------------

EBM, GLASS = "interpret-core", "interpret.glassbox"


def ebm(kind="Classifier", **options):
    return make(
        f"{GLASS}.ExplainableBoosting{kind}", **{"interactions": 0, "max_rounds": 60, "outer_bags": 2, **options}
    )


add(EBM, "EBM(interactions=0)", ebm, table="gaps")
add(EBM, "EBM(interactions=0), 3 classes", ebm, target="three")
add(EBM, "EBM(interactions=0), regression", lambda: ebm("Regressor"), target="number", table="mixed")
add(
    EBM,
    "EBM(interactions=0), poisson",
    lambda: ebm("Regressor", objective="poisson_deviance"),
    target="count",
    means=np.exp,
)
add(EBM, "EBM(), binary", lambda: ebm(interactions="3x"))
add(
    EBM,
    "EBM(), regression",
    lambda: ebm("Regressor", interactions="5x"),
    target="number",
)
add(
    EBM,
    "VotingRegressor(EBM with interactions, Ridge)",
    lambda: make(
        f"{ENS}.VotingRegressor", [("a", ebm("Regressor", interactions="2x")), ("b", make(f"{LINEAR}.Ridge"))]
    ),
    target="number",
)
add(
    EBM,
    "TransformedTargetRegressor(EBM with interactions)",
    lambda: make(TARGET, ebm("Regressor", interactions="2x"), transformer=make(f"{PRE}.StandardScaler")),
    target="number",
)
add(EBM, "Pipeline(StandardScaler, EBM)", lambda: scaled(ebm()))
add(EBM, "Pipeline(ColumnTransformer, EBM)", lambda: pipe(columns(sparse_threshold=0), ebm()), table="mixed")
add(EBM, "GridSearchCV(EBM)", lambda: make(f"{SEARCH}.GridSearchCV", ebm(), {"max_rounds": [20, 30]}, cv=2))
add(
    EBM,
    "TunedThresholdClassifierCV(EBM)",
    lambda: make(f"{SEARCH}.TunedThresholdClassifierCV", ebm(max_rounds=20), cv=2),
)
add(EBM, "CalibratedClassifierCV(EBM, ensemble=False)", lambda: make(CAL, ebm(max_rounds=20), ensemble=False, cv=2))
add(EBM, "interpret's LogisticRegression", lambda: make(f"{GLASS}.LogisticRegression"))
add(EBM, "interpret's APLRClassifier", lambda: make(f"{GLASS}.APLRClassifier", m=20, max_interaction_level=0))
add(EBM, "interpret's LinearRegression", lambda: make(f"{GLASS}.LinearRegression"), target="number")
add(
    EBM,
    "interpret's ClassificationTree",
    lambda: make(f"{GLASS}.ClassificationTree"),
    refused="by rules over several columns",
)

# --- boosted trees ----------------------------------------------------------------------------------------------------

XGB, LGB, CAT = "xgboost-cpu", "lightgbm", "catboost"


def xgb(kind="Classifier", **options):
    return make(f"xgboost.XGB{kind}", **{"max_depth": 1, "n_estimators": 40, **options})


def lgb(kind="Classifier", **options):
    return make(f"lightgbm.LGBM{kind}", **{"max_depth": 1, "n_estimators": 40, "verbose": -1, **options})


def cat(kind="Classifier", **options):
    return make(
        f"catboost.CatBoost{kind}",
        **{"depth": 1, "iterations": 40, "verbose": 0, "allow_writing_files": False, **options},
    )


for package, model in ((XGB, xgb), (LGB, lgb), (CAT, cat)):
    single = 1e-4 if package == XGB else 1e-6
    add(package, "depth 1, binary", model, target="bits", table="number gaps", precision=single)
    add(package, "depth 1, 3 classes", model, target="three", precision=single)
    add(package, "depth 1, regression", lambda model=model: model("Regressor"), target="number", precision=single)
    add(
        package,
        "default depth",
        lambda model=model, package=package: model(
            **{"depth" if package == CAT else "max_depth": 4, "random_state": 0}
        ),
        target="bits",
        refused="uses three features or more",
        because="pairs",
    )
    add(
        package, "Pipeline(StandardScaler, model)", lambda model=model: scaled(model()), target="bits", precision=single
    )
    add(
        package,
        "Pipeline(ColumnTransformer, model)",
        lambda model=model: pipe(columns(), model()),
        table="mixed",
        target="bits",
        precision=single,
    )
    add(
        package,
        "FixedThresholdClassifier(pipeline)",
        lambda model=model: make(f"{SEARCH}.FixedThresholdClassifier", pipe(columns(), model()), threshold=0.7),
        table="mixed",
        target="bits",
        precision=single,
    )
for package, model, option in ((XGB, xgb, "n_estimators"), (LGB, lgb, "n_estimators")):
    single = 1e-4 if package == XGB else 1e-6
    add(
        package,
        "GridSearchCV(model)",
        lambda model=model, option=option: make(f"{SEARCH}.GridSearchCV", model(), {option: [10, 20]}, cv=2),
        target="bits",
        precision=single,
    )
    add(
        package,
        "CalibratedClassifierCV(model, isotonic, ensemble=False)",
        lambda model=model: make(CAL, model(), method="isotonic", ensemble=False, cv=2),
        target="bits",
        precision=single,
    )
add(
    XGB,
    "sparse one-hot before it",
    lambda: pipe(columns(sparse_threshold=1.0), xgb()),
    table="mixed",
    target="bits",
    precision=1e-4,
)


def stopped(reload=False):
    import xgboost

    X, y = data()["numbers"], data()["bits"]
    callback = xgboost.callback.EarlyStopping(5)
    model = xgb(n_estimators=200, learning_rate=0.5, callbacks=[callback])
    model.fit(X[:250], y[:250], eval_set=[(X[250:], y[250:])], verbose=False)
    if reload:
        again = xgboost.XGBClassifier()
        again.load_model(model.get_booster().save_raw("ubj"))
        model = again
    return Original(model, X)


add_fit(XGB, "early stopping by callback", stopped, precision=1e-4)
add_fit(XGB, "early stopping, after load_model", lambda: stopped(reload=True), precision=1e-4)
add(XGB, "dart", lambda: xgb(booster="dart", rate_drop=0.2), target="bits", precision=1e-4)
add(XGB, "gblinear", lambda: scaled(xgb(booster="gblinear")), target="bits", precision=1e-4)
add(XGB, "gblinear, 3 classes", lambda: scaled(xgb(booster="gblinear")), target="three", precision=1e-4)
add(
    XGB,
    "multi_strategy='multi_output_tree'",
    lambda: xgb(multi_strategy="multi_output_tree"),
    target="three",
    refused="a score for each class in every leaf",
)
add(XGB, "poisson", lambda: xgb("Regressor", objective="count:poisson"), target="count", means=np.exp, precision=1e-4)
add(
    XGB,
    "categories",
    lambda: xgb(enable_categorical=True),
    table="categories",
    target="bits",
    precision=1e-4,
)
add(
    XGB,
    "categories, depth 2",
    lambda: xgb(enable_categorical=True, max_depth=2, n_estimators=10, max_cat_to_onehot=1),
    table="categories",
    target="bits",
    precision=1e-4,
)
FOREST = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
for name, target in (("binary", "bits"), ("3 classes", "three")):
    add(LGB, f"random forest of stumps, {name}", lambda: lgb(**FOREST), target=target, table="number gaps")
add(
    LGB,
    "CalibratedClassifierCV(random forest of stumps, ensemble=False)",
    lambda: make(CAL, lgb(**FOREST), ensemble=False, cv=2),
    target="bits",
)
add(
    LGB,
    "FixedThresholdClassifier(model(sigmoid=0.7), response_method='decision_function')",
    lambda: make(
        f"{SEARCH}.FixedThresholdClassifier", lgb(sigmoid=0.7), threshold=0.4, response_method="decision_function"
    ),
    target="bits",
)
add(
    LGB,
    "OneVsRestClassifier(random forest of stumps)",
    lambda: make(f"{MULTI}.OneVsRestClassifier", lgb(**FOREST)),
    target="three",
)
add(LGB, "dart", lambda: lgb(boosting_type="dart"), target="bits")
add(LGB, "categories", lgb, table="categories", target="bits")
add(LGB, "poisson", lambda: lgb("Regressor", objective="poisson"), target="count", means=np.exp)
add(CAT, "cat_features", lambda: cat(cat_features=["job"]), table="mixed", target="bits")
add(
    CAT,
    "cat_features, one-hot, depth 2",
    lambda: cat(cat_features=["job"], one_hot_max_size=9, depth=2, max_ctr_complexity=1),
    table="mixed",
    target="bits",
)

# --- ONNX -------------------------------------------------------------------------------------------------------------

ONNX = "skl2onnx"


def onnx(model, table="numbers", target="bits", means=None):
    """A pipeline as skl2onnx exports it, with the labels or numbers that onnxruntime gives for it."""
    import onnxruntime
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    X, y = data()[table], data()[target]
    X = X.assign(**{name: X[name].astype(np.float32) for name in X if name != "job"})
    is_mixed = "job" in X
    X = X if is_mixed else X.set_axis([f"x{k}" for k in range(X.shape[1])], axis=1)
    types = [(name, (StringTensorType if name == "job" else FloatTensorType)([None, 1])) for name in X]
    given = X if is_mixed else X.to_numpy()
    graph = to_onnx(model.fit(given, y), None if is_mixed else given[:1], initial_types=types if is_mixed else None)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])

    def feed(rows):
        if not is_mixed:
            return {"X": rows.to_numpy(dtype=np.float32)}
        return {name: rows[[name]].to_numpy(dtype=object if name == "job" else np.float32) for name in X}

    return Original(graph, X.astype({name: float for name in X if name != "job"}),
                    predict=lambda rows: session.run(None, feed(rows))[0], means=means)  # fmt: skip


GB = f"{ENS}.GradientBoosting"
for name, model, ask in (
    ("LogisticRegression", lr, {}),
    ("LogisticRegression, 3 classes", lr, {"target": "three"}),
    ("LinearSVC", lambda: make("sklearn.svm.LinearSVC"), {}),
    ("GradientBoosting stumps", lambda: make(f"{GB}Classifier", max_depth=1), {}),
    ("GradientBoosting stumps, 3 classes", lambda: make(f"{GB}Classifier", max_depth=1), {"target": "three"}),
    ("GradientBoosting of depth 2", lambda: make(f"{GB}Classifier", max_depth=2, n_estimators=20), {}),
    ("scaler + GradientBoosting", lambda: scaled(make(f"{GB}Classifier", max_depth=2, n_estimators=20)), {}),
    ("KBins (ordinal) + LR", lambda: pipe(make(f"{PRE}.KBinsDiscretizer", 4, encode="ordinal"), lr()), {}),
    ("KBins (one-hot) + LR", lambda: pipe(make(f"{PRE}.KBinsDiscretizer", 4, encode="onehot-dense"), lr()), {}),
    ("Binarizer + LR", lambda: pipe(make(f"{PRE}.Binarizer", threshold=30.0), lr()), {}),
    ("SimpleImputer + LR", lambda: pipe(make("sklearn.impute.SimpleImputer"), scaled(lr())), {"table": "number gaps"}),
    ("ColumnTransformer + LR", lambda: pipe(columns(), lr()), {"table": "mixed"}),
    (
        "OrdinalEncoder + GradientBoosting",
        lambda: pipe(columns(jobs=make(f"{PRE}.OrdinalEncoder")), make(f"{GB}Classifier", max_depth=1)),
        {"table": "mixed"},
    ),
    ("GradientBoostingRegressor stumps", lambda: make(f"{GB}Regressor", max_depth=1), {"target": "number"}),
    ("OneHotEncoder + Ridge", lambda: pipe(columns(), make(f"{LINEAR}.Ridge")), {"table": "mixed", "target": "number"}),
    ("PoissonRegressor", lambda: make(f"{LINEAR}.PoissonRegressor"), {"target": "count", "means": np.exp}),
):
    add_fit(ONNX, name, lambda model=model, ask=ask: onnx(model(), **ask), precision=1e-4)
add_fit(
    ONNX,
    "RandomForestClassifier",
    lambda: onnx(make(f"{ENS}.RandomForestClassifier", n_estimators=3)),
    refused="averages probabilities of trees",
)

# --- statsmodels ------------------------------------------------------------------------------------------------------

STATS = "statsmodels"


def stats(kind, target, table="numbers", **options):
    import statsmodels.api

    X, y = data()[table], data()[target]
    options = {key: make(value) if isinstance(value, str) else value for key, value in options.items()}
    model = getattr(statsmodels.api, kind)(y, statsmodels.api.add_constant(X), **options)
    found = model.fit(disp=0) if kind in ("Logit", "Probit", "Poisson", "MNLogit") else model.fit()

    def predict(table):
        return np.asarray(found.predict(statsmodels.api.add_constant(table, has_constant="add")))

    if kind in ("Logit", "Probit") or (kind == "GLM" and target == "bits"):
        return Original(
            found, X, predict=lambda t: (predict(t) > 0.5).astype(int), chances=None if kind == "Probit" else predict
        )
    if kind == "MNLogit":
        return Original(found, X, predict=lambda t: predict(t).argmax(axis=1))
    return Original(found, X, predict=predict, means=np.exp if target == "count" else None)


for kind, target, options in (
    ("Logit", "bits", {}),
    ("Probit", "bits", {}),
    ("OLS", "number", {}),
    ("WLS", "number", {"weights": np.linspace(1, 2, ROWS)}),
    ("RLM", "number", {}),
    ("QuantReg", "number", {}),
    ("Poisson", "count", {}),
    ("MNLogit", "three", {}),
    ("GLM", "bits", {"family": "statsmodels.genmod.families.Binomial"}),
    ("GLM", "count", {"family": "statsmodels.genmod.families.Poisson"}),
):
    name = f"{kind}({options['family'].rpartition('.')[2]})" if "family" in options else kind
    add_fit(STATS, name, lambda kind=kind, target=target, options=options: stats(kind, target, **options))


def formula(text, kind="logit"):
    import statsmodels.formula.api as formulas

    X = data()["mixed"]
    D = X.assign(bits=data()["bits"], number=data()["number"])
    found = getattr(formulas, kind)(text, D).fit(**({"disp": 0} if kind == "logit" else {}))
    if kind == "ols":
        return Original(found, X, predict=lambda t: np.asarray(found.predict(t)))
    return Original(
        found,
        X,
        predict=lambda t: (np.asarray(found.predict(t)) > 0.5).astype(int),
        chances=lambda t: np.asarray(found.predict(t)),
    )


add_fit(STATS, "formula: y ~ age + C(job)", lambda: formula("bits ~ age + income + C(job)"))
add_fit(STATS, "formula: y ~ age + C(job, Sum)", lambda: formula("number ~ age + C(job, Sum)", "ols"))
for text in (
    "age * income",
    "age * C(job)",
    "np.log(income) + age",
    "age + I(age ** 2) + income",
    "scale(age) + np.sqrt(income)",
):
    add_fit(STATS, f"formula: y ~ {text}", lambda text=text: formula(f"number ~ {text}", "ols"))
for text in ("cr(age, df=4) + income", "cc(age, df=4) + income", "cr(income, df=5, constraints='center') + visits"):
    add_fit(STATS, f"formula: y ~ {text}", lambda text=text: formula(f"number ~ {text}", "ols"))
for text in ("bs(age, df=5) + income", "I(age > 40) + np.minimum(income, 30)", "C(job) * C(visits > 2)"):
    add_fit(STATS, f"formula: y ~ {text}", lambda text=text: formula(f"bits ~ {text}"))
add_fit(
    STATS,
    "formula: y ~ age + I(income / age)",
    lambda: formula("number ~ age + I(income / age)", "ols"),
    refused="multiplies or divides functions of variables",
)


def smooth(text=None, kind="BSplines", **options):
    from statsmodels.gam import api
    from statsmodels.gam.api import GLMGam
    from statsmodels.genmod.families import Binomial

    X, splined = data()["mixed"], ["age", "income"]
    X = X[splined] if text is None else X
    options = options or {"df": [6, 6], "degree": [3, 2]}
    splines = getattr(api, kind)(X[splined], **options)
    if text is None:
        found = GLMGam(data()["number"], smoother=splines).fit()
        return Original(found, X, predict=lambda t: np.asarray(found.predict(exog_smooth=t[splined].to_numpy())))
    found = GLMGam.from_formula(text, X.assign(bits=data()["bits"]), smoother=splines, family=Binomial()).fit()

    def chances(t):
        return np.asarray(found.predict(t, t[splined].to_numpy()))

    return Original(found, X, predict=lambda t: (chances(t) > 0.5).astype(int), chances=chances)


add_fit(STATS, "GLMGam, regression", smooth)
add_fit(STATS, "GLMGam.from_formula, binary", lambda: smooth("bits ~ visits + C(job)"))
add_fit(STATS, "GLMGam(CyclicCubicSplines)", lambda: smooth(None, "CyclicCubicSplines", df=[5, 8]))
add_fit(
    STATS,
    "GLMGam.from_formula(CyclicCubicSplines, centred), binary",
    lambda: smooth("bits ~ visits + C(job)", "CyclicCubicSplines", df=[5, 6], constraints="center"),
)

# --- credit scoring ---------------------------------------------------------------------------------------------------

BIN = "optbinning"


def binning(points=False):
    process = make("optbinning.BinningProcess", list(data()["gaps"]), categorical_variables=["job"])
    card = make(
        "optbinning.Scorecard",
        binning_process=process,
        estimator=lr(),
        scaling_method="min_max",
        scaling_method_params={"min": 300, "max": 850},
    ).fit(data()["gaps"], data()["bits"])
    return Original(card, data()["gaps"], **({"predict": card.score} if points else {}))


add_fit(BIN, "Scorecard, its decision", binning)
add_fit(BIN, "Scorecard, its points", lambda: binning(points=True), task="regression")
add(
    BIN,
    "Pipeline(BinningProcess, LR)",
    lambda: pipe(make("optbinning.BinningProcess", list(data()["gaps"]), categorical_variables=["job"]), lr()),
    table="gaps",
    target="bits",
)

# scorecardpy does not run with pandas 3, so it is installed beside dnamite: scripts/test-dnamite.
PY_CARD = "scorecardpy"


def woe_card(table="gaps", binning=(), scaling=(), returned="dict"):
    """A card of scorecardpy, with the points that its own `scorecard_ply` gives."""
    import scorecardpy

    X, quiet = data()[table], {"no_cores": 1, "print_info": False}
    rows = X.assign(y=data()["bits"])
    bins = scorecardpy.woebin(rows, "y", **quiet, **dict(binning))
    if returned == "card and probabilities":
        given = scorecardpy.scorecard2(bins, rows, "y", return_prob=True, **dict(scaling))
        card = given["card"]
    else:
        weights = scorecardpy.woebin_ply(rows, bins, **quiet).drop(columns="y")
        card = scorecardpy.scorecard(bins, lr().fit(weights, rows.y), weights.columns, **dict(scaling))
        given = pandas.concat(card, ignore_index=True) if returned == "table" else card
    return Original(given, X, predict=lambda t: scorecardpy.scorecard_ply(t, card).score)


MERGED = {"age": [26, 35.5, "inf%,%missing"], "income": [20 / 3, 30.1], "job": ["clerk%,%nurse", "smith"]}
for name, options in (
    ("scorecard", {}),
    ("scorecard without missing cells", {"table": "mixed"}),
    ("scorecard, one table", {"returned": "table"}),
    ("scorecard(basepoints_eq0=True)", {"scaling": {"basepoints_eq0": True}}),
    ("scorecard(digits=3, pdo=20)", {"scaling": {"digits": 3, "pdo": 20}}),
    ("woebin(breaks_list=...)", {"binning": {"breaks_list": MERGED}}),
    ("scorecard2(return_prob=True)", {"returned": "card and probabilities"}),
):
    add_fit(PY_CARD, name, lambda options=options: woe_card(**options))
add_fit(
    PY_CARD,
    "woebin(special_values=...)",
    lambda: woe_card("codes", {"special_values": {"age": [-9]}}),
    refused="finds only in columns of some types",
)

# --- other packages ---------------------------------------------------------------------------------------------------

CE, FE = "category_encoders", "feature_engine"
for kind in ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder", "WOEEncoder", "CatBoostEncoder", "BinaryEncoder"):
    add(CE, f"{kind} + LR", lambda kind=kind: pipe(make(f"{CE}.{kind}"), scaled(lr())), table="mixed", target="bits")
for kind, options in (("OneHotEncoder", {}), ("MeanEncoder", {}), ("WoEEncoder", {})):
    add(
        FE,
        f"{kind} + LR",
        lambda kind=kind, options=options: pipe(make(f"{FE}.encoding.{kind}", **options), lr()),
        table="mixed",
        target="bits",
    )
add(
    FE,
    "DecisionTreeDiscretiser + LR",
    lambda: pipe(make(f"{FE}.discretisation.DecisionTreeDiscretiser", regression=False), lr()),
    target="bits",
    refused="keeps a GridSearchCV for 'age'",
)
add(FE, "EqualFrequencyDiscretiser + LR", lambda: pipe(make(f"{FE}.discretisation.EqualFrequencyDiscretiser"), lr()))
add(
    FE,
    "MeanMedianImputer + OneHotEncoder + LR",
    lambda: pipe(make(f"{FE}.imputation.MeanMedianImputer"), make(f"{FE}.encoding.OneHotEncoder"), lr()),
    table="gaps",
)


IM = "imodels"
for kind, target in (("Classifier", "names"), ("Regressor", "number")):
    add(
        IM,
        f"SLIM{kind}",
        lambda kind=kind: scaled(make(f"imodels.SLIM{kind}")),
        target="bits" if kind[0] == "C" else target,
    )
    add(IM, f"TreeGAM{kind}", lambda kind=kind: make(f"imodels.TreeGAM{kind}"), target=target)
    add(
        IM,
        f"FIGS{kind}(max_rules=5)",
        lambda kind=kind: make(f"imodels.FIGS{kind}", max_rules=5, random_state=0),
        target="bits" if kind[0] == "C" else target,
    )
add(
    IM,
    "RuleFitClassifier",
    lambda: make("imodels.RuleFitClassifier", random_state=0),
    target="bits",
    refused="by rules or trees over several columns",
)


def igann(target, **options):
    """An IGANN, on a table whose column of whole numbers keeps pandas from handing IGANN a reversed view."""
    import igann.igann

    class Regression(igann.igann.LogisticRegression):
        def fit(self, X, y):  # it takes the float of an array, which NumPy no longer gives
            super().fit(X, y)
            self.intercept_ = self.intercept_[0]
            return self

    X = data()["mixed"].assign(visits=data()["mixed"].visits.astype(int))
    X["age"], X["income"] = (X.age - 40) / 12, (X.income - 24) / 16
    kind = "IGANNRegressor" if target == "number" else "IGANNClassifier"
    kept, igann.igann.LogisticRegression = igann.igann.LogisticRegression, Regression
    try:
        model = make(f"igann.{kind}", early_stopping=0, **options)
        model.fit(X.copy(), data()[target].copy())
    finally:
        igann.igann.LogisticRegression = kept
    return Original(model, X)


for kind, target in (("Classifier", "bits"), ("Regressor", "number")):
    add_fit(
        "igann",
        f"IGANN{kind}",
        lambda target=target: igann(target, n_estimators=12, init_reg=0.1),
        precision=1e-4,
    )
add_fit("igann", "IGANNClassifier(act='relu')", lambda: igann("bits", n_estimators=12, act="relu"), precision=1e-4)


def aplr(kind, target, level=0):
    model = make(f"aplr.APLR{kind}", max_interaction_level=level, m=40)
    X = data()["numbers"].set_axis(["x0", "x1", "x2"], axis=1)
    y = data()[target].astype(str) if kind == "Classifier" else data()[target]
    model.fit(X.to_numpy(), y)
    asked = (
        (lambda t: model.predict(t.to_numpy(), False)) if kind == "Regressor" else lambda t: model.predict(t.to_numpy())
    )
    return Original(model, X, predict=asked)


add_fit("aplr", "APLRRegressor(max_interaction_level=0)", lambda: aplr("Regressor", "number"))
add_fit("aplr", "APLRClassifier(max_interaction_level=0)", lambda: aplr("Classifier", "names"))
add(
    "aplr",
    "FixedThresholdClassifier(APLRClassifier)",
    lambda: make(
        f"{SEARCH}.FixedThresholdClassifier",
        make("aplr.APLRClassifier", max_interaction_level=0, m=40),
        threshold=0.3,
        pos_label="yes",
    ),
)
add(
    "aplr",
    "CalibratedClassifierCV(APLRClassifier, isotonic, ensemble=False)",
    lambda: make(
        CAL, make("aplr.APLRClassifier", max_interaction_level=0, m=40), method="isotonic", ensemble=False, cv=2
    ),
)
add_fit("aplr", "APLRClassifier, 3 classes", lambda: aplr("Classifier", "three"))
add_fit("aplr", "APLRRegressor()", lambda: aplr("Regressor", "number", 1))


def gam(kind, target, **options):
    X = data()["numbers"].set_axis(["x0", "x1", "x2"], axis=1)
    terms = make("pygam.s", 0, **options) + make("pygam.s", 1, **options) + make("pygam.l", 2)
    model = make(f"pygam.{kind}", terms).fit(X.to_numpy(), data()[target])
    return Original(
        model, X, predict=lambda t: np.asarray(model.predict(t.to_numpy())).astype(float if target != "bits" else int)
    )


add_fit("pygam", "LogisticGAM(s(spline_order=1))", lambda: gam("LogisticGAM", "bits", spline_order=1))
add_fit("pygam", "LinearGAM(s(spline_order=1))", lambda: gam("LinearGAM", "number", spline_order=1))
add_fit("pygam", "LogisticGAM()", lambda: gam("LogisticGAM", "bits"))
add_fit("pygam", "LinearGAM()", lambda: gam("LinearGAM", "number"))
add_fit("pygam", "LogisticGAM(s(basis='cp'))", lambda: gam("LogisticGAM", "bits", basis="cp"))
add_fit(
    "pygam", "LinearGAM(s(basis='cp', spline_order=5))", lambda: gam("LinearGAM", "number", basis="cp", spline_order=5)
)

# --- PyTorch ----------------------------------------------------------------------------------------------------------

TORCH = "torch"


def networks(kind="Sequential", activation="ReLU", inputs="", output=""):
    """A network for each of three columns, trained for some steps."""
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.out = nn.Linear(1, 6), nn.Linear(6, 5), nn.Linear(5, 1)

        def forward(self, x):
            return self.out(torch.relu(self.fc2(torch.relu(self.fc1(x)))))

    def layers(width=8):
        norm = [getattr(nn, kind)(width)] if kind.endswith(("1d", "Norm")) else []
        return nn.Sequential(nn.Linear(1, width), *norm, getattr(nn, activation)(), nn.Linear(width, 1))

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            if kind == "Conv1d":
                first, last = nn.Conv1d(3, 24, 1, groups=3), nn.Conv1d(24, 3, 1, groups=3)
                self.stack = nn.Sequential(first, getattr(nn, activation)(), last)
            else:
                self.nets = nn.ModuleList([Layers() if kind == "fc1, fc2, out" else layers() for _ in range(3)])
            if inputs == "scaled":
                self.register_buffer("x_mean", torch.tensor([40.0, 24.0, 2.5]))
                self.register_buffer("x_std", torch.tensor([12.0, 16.0, 1.7]))
            self.cut = nn.Hardtanh(-2.0, 3.0) if inputs == "clamped" else nn.Identity()
            self.bias = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            x = self.cut((x - self.x_mean) / self.x_std if inputs == "scaled" else x)
            if kind == "Conv1d":
                score = self.stack(x.unsqueeze(-1)).sum(dim=1) + self.bias
            else:
                score = sum(one(x[:, i : i + 1]) for i, one in enumerate(self.nets)) + self.bias
            return torch.sigmoid(score) if output else score

    X = data()["numbers"].set_axis(["x0", "x1", "x2"], axis=1)
    X = X if inputs == "scaled" else (X - X.mean()) / X.std()
    module, y = Sum(), torch.tensor(data()["bits"], dtype=torch.float32)[:, None]
    rows, optimizer = torch.tensor(X.to_numpy(np.float32)), torch.optim.Adam(module.parameters(), lr=0.02)
    loss = nn.BCELoss() if output else nn.BCEWithLogitsLoss()
    for _ in range(60):
        optimizer.zero_grad()
        loss(module(rows), y).backward()
        optimizer.step()
    module.eval()

    def predict(table):
        with torch.no_grad():
            return (module.double()(torch.tensor(table.to_numpy(np.float64)))[:, 0] > 0).int().numpy()

    return Original(module.float(), X, predict=predict)


for name, options in (
    *((f"nn.Sequential, {kind}", {"activation": kind}) for kind in ("ReLU", "LeakyReLU", "Hardtanh", "Hardsigmoid")),
    *((f"nn.Sequential, {kind}", {"activation": kind}) for kind in ("Hardswish", "ELU", "GELU", "SiLU", "Tanh")),
    ("BatchNorm1d", {"kind": "BatchNorm1d"}),
    ("fc1, fc2, out with functions", {"kind": "fc1, fc2, out"}),
    ("grouped Conv1d", {"kind": "Conv1d"}),
    ("a scaler inside", {"inputs": "scaled"}),
    ("clamped inputs (Hardtanh)", {"inputs": "clamped"}),
):
    add_fit(TORCH, name, lambda options=options: networks(**options), precision=1e-4, task="binary")
for name, options, why in (
    ("LayerNorm", {"kind": "LayerNorm"}, "divides by a length that depends on all units"),
    ("a module that returns a probability", {"output": "sigmoid"}, "give the model without its sigmoid"),
):
    add_fit(TORCH, name, lambda options=options: networks(**options), refused=why, task="binary")

# --- files ------------------------------------------------------------------------------------------------------------


def saved(package, name, model, save, precision=1e-6):
    """A model that is read from a file, and asked as it was before it was saved."""

    def fit():
        from tempfile import mkdtemp

        fitted_ = fitted(model, target="bits").fitted
        path = f"{mkdtemp()}/model.{name.rpartition('.')[2]}"
        save(fitted_, path)
        return Original(path, data()["numbers"], predict=fitted_.predict)

    add_fit(package, f"file {name}", fit, precision=precision)


for ending in ("json", "ubj"):
    saved(XGB, f".{ending}", xgb, lambda model, path: model.save_model(path), precision=1e-4)
saved(LGB, ".txt", lgb, lambda model, path: model.booster_.save_model(path))
saved(CAT, ".cbm", cat, lambda model, path: model.save_model(path))
saved(CAT, ".json", cat, lambda model, path: model.save_model(path, format="json"))
saved(EBM, ".json", ebm, lambda model, path: model.to_json(path))

CARD = """feature,from,to,values,points
age,,25,,-10
age,25,40,,5
age,40,,,20
job,,,clerk|nurse,12
job,,,smith,-3
(base),,,,500
(threshold),,,,511
"""


def points(table):
    age = np.select([table.age < 25, table.age < 40], [-10, 5], 20)
    return 500 + age + np.where(table.job == "smith", -3, 12)


def card(ending):
    import json
    from pathlib import Path
    from tempfile import mkdtemp

    path = Path(mkdtemp()) / f"card.{ending}"
    attributes = [
        {"feature": "age", "to": 25, "points": -10},
        {"feature": "age", "from": 25, "to": 40, "points": 5},
        {"feature": "age", "from": 40, "points": 20},
        {"feature": "job", "values": ["clerk", "nurse"], "points": 12},
        {"feature": "job", "values": ["smith"], "points": -3},
    ]
    document = {"scorecard": 1, "base": 500, "threshold": 511, "attributes": attributes}
    path.write_text(CARD if ending == "csv" else json.dumps(document))
    table = data()["mixed"][["age", "job"]]
    return Original(str(path), table, predict=lambda rows: (points(rows) >= 511).astype(int))


for ending in ("csv", "json"):
    add_fit("suffice", f"scorecard as {ending.upper()}", lambda ending=ending: card(ending))

PMML = """<?xml version="1.0"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>
<DataDictionary><DataField name="age" optype="continuous" dataType="double"/>
<DataField name="job" optype="categorical" dataType="string"><Value value="clerk"/><Value value="nurse"/>
<Value value="smith"/></DataField><DataField name="y" optype="categorical" dataType="string"/></DataDictionary>
{}
</PMML>
"""
PMML_CARD = """<Scorecard functionName="regression" initialScore="500"><MiningSchema/><Characteristics>
<Characteristic name="a"><Attribute partialScore="-10"><SimplePredicate field="age" operator="lessThan" value="25"/>
</Attribute><Attribute partialScore="5"><SimplePredicate field="age" operator="lessThan" value="40"/></Attribute>
<Attribute partialScore="20"><True/></Attribute></Characteristic>
<Characteristic name="j"><Attribute partialScore="-3"><SimplePredicate field="job" operator="equal" value="smith"/>
</Attribute><Attribute partialScore="12"><True/></Attribute></Characteristic></Characteristics></Scorecard>"""
PMML_LINE = """<RegressionModel functionName="classification" normalizationMethod="logit"><MiningSchema/>
<RegressionTable intercept="-2.5" targetCategory="yes"><NumericPredictor name="age" coefficient="0.0625"/>
<CategoricalPredictor name="job" value="smith" coefficient="-1.25"/></RegressionTable>
<RegressionTable intercept="0" targetCategory="no"/></RegressionModel>"""


def pmml(body, predict, document=PMML):
    return Original(document.format(body), data()["mixed"][["age", "job"]], predict=predict)


def pmml_decides(rows):
    return np.where(-2.5 + 0.0625 * rows.age - 1.25 * (rows.job == "smith") > 0, "yes", "no")


add_fit("suffice", "PMML Scorecard", lambda: pmml(PMML_CARD, points))
add_fit("suffice", "PMML RegressionModel", lambda: pmml(PMML_LINE, pmml_decides))
add_fit(
    "suffice",
    "PMML with a document type",
    lambda: pmml("", points, PMML.replace("<PMML", "<!DOCTYPE x><PMML", 1)),
    refused="document type",
)

# --- suffice's own networks inside scikit-learn -----------------------------------------------------------------------


def own(wrap=None):
    def model():
        from suffice.nam import NAMClassifier

        inside = NAMClassifier(max_epochs=3, random_state=0)
        return inside if wrap is None else wrap(inside)

    return model


add("suffice", "Pipeline(StandardScaler, NAMClassifier)", own(scaled), target="bits", precision=1e-4)
add(
    "suffice",
    "FixedThresholdClassifier(NAMClassifier)",
    own(lambda inside: make(f"{SEARCH}.FixedThresholdClassifier", inside, threshold=0.3)),
    target="bits",
    precision=1e-4,
)


def tfidf():
    texts = data()["mixed"].job.tolist()
    model = pipe(make("sklearn.feature_extraction.text.TfidfVectorizer"), lr()).fit(texts, data()["names"])
    return Original(model, data()["mixed"][["job"]])


add_fit(SK, "TfidfVectorizer + LR", tfidf, refused="divides the counts of words by the length of their row")
