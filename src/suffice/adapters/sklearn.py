"""scikit-learn's own models: linear ones, support vectors with a linear kernel, naive Bayes, boosted trees.

Each is read over the columns that it is given itself; what comes before it is peeled off by `wrappers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import class_places, plain_classes, table_maker
from suffice.adapters.draft import Cell, Draft, Link, Options, name_features, part
from suffice.adapters.pair_parts import pairs_behind
from suffice.adapters.parts import Part, assemble, new_model
from suffice.adapters.sklearn_bare import Bare, home_of
from suffice.adapters.sklearn_bayes import bayes
from suffice.adapters.sklearn_trees import ada_boost, forest, gradient_boosting, hist_boosting
from suffice.errors import AdapterError
from suffice.numbers.exact import ZERO, rational
from suffice.shapes import Pieces

_LOG_LINK = {"PoissonRegressor", "GammaRegressor"}

# What cannot be read, with the nearest thing that can.
_REFUSED: Mapping[str, str] = {
    "sklearn.neighbors": "compares whole rows; use an additive model, such as ExplainableBoostingClassifier",
    "sklearn.gaussian_process": "compares whole rows by a kernel; use SplineTransformer(degree=1) and a linear model",
    "sklearn.kernel_ridge": "compares whole rows by a kernel; use SplineTransformer(degree=1) and Ridge",
    "sklearn.neural_network": "mixes all columns in its first layer; use suffice's NAMClassifier or NAMRegressor",
    "sklearn.dummy": "looks at no column, so there is nothing to explain",
    "sklearn.cross_decomposition": "is not read here; its coef_ and intercept_ make a LinearRegression that is",
    "sklearn.isotonic": "is a function of one column, not a model of a table",
}

_SEVERAL = "predicts several targets at once; convert one of its models (estimators_)"

# The same for classes of modules, or bases of classes, of which others are read.
_REFUSED_KINDS: Mapping[str, str] = {
    "OutlierMixin": "tells outliers from the rest, which is no class or number that was learned; use a classifier of "
    "rows that are labelled so",
    "ClusterMixin": "puts rows into groups, and predicts no class or number that was learned; use a classifier",
    "QuadraticDiscriminantAnalysis": "multiplies columns with each other; use LinearDiscriminantAnalysis, or "
    "GaussianNB, which squares each by itself",
    "_MultiOutputEstimator": _SEVERAL,
    "_BaseChain": _SEVERAL,
    "OutputCodeClassifier": "compares a row's scores with a code for each class; use OneVsRestClassifier",
}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted estimator."""
    source = f"the {type(obj).__name__}"
    count = getattr(obj, "n_features_in_", None)
    if count is None:
        raise AdapterError(f"{source} is not fitted; fit it first")
    named = getattr(obj, "feature_names_in_", None)
    names = [f"x{k}" for k in range(int(count))] if named is None else [str(name) for name in named]
    bare = _read(obj, source, names)
    parts, pairs = bare.parts, bare.pairs
    originals: list[Mapping[Cell, Any]] = [{}] * len(bare.parts)
    if bare.columns is not None:  # what the model does to its columns itself, before anything else
        sources, made = assemble(bare.columns, bare.parts, len(bare.intercept), names)
        if sources != list(range(len(names))):
            raise AdapterError(f"{source} leaves columns out by itself, which is not read here")
        parts, originals = [one.part for one in made], [one.originals for one in made]
        pairs = pairs_behind(pairs, bare.columns, sources, parts, names)
    features = name_features(names, len(names), options.features)
    task, classes, link = _task(obj, len(bare.intercept))
    # decision_function > 0 is the positive class, so a tie is the negative one; argmax takes the first of the largest.
    has_chances = _has_chances(obj, task)
    offset = None if task == "binary" and not has_chances else ZERO
    model = new_model(parts, bare.intercept, task, features, options.classes or classes, bare.ties, pairs, offset)
    table = table_maker(None if named is None else names, len(names), range(len(names)), originals)
    return Draft(
        model,
        source,
        lambda rows: bare.score(obj, table(rows)) if bare.score is not None else _score(obj, table(rows), task),
        link,
        chances=(lambda rows: np.asarray(obj.predict_proba(table(rows)))) if has_chances else None,
        answers=lambda rows: _answer(obj.predict(table(rows)), classes),
        table=table,
    )


def _read(obj: Any, source: str, names: Sequence[str]) -> Bare:
    module = home_of(obj)
    for kind in type(obj).__mro__:
        if kind.__name__ in _REFUSED_KINDS:
            raise AdapterError(f"{source} {_REFUSED_KINDS[kind.__name__]}")
    for prefix, reader in _READERS.items():
        if module.startswith(prefix):
            return reader(obj, source, names)
    for prefix, reason in _REFUSED.items():
        if module.startswith(prefix):
            raise AdapterError(f"{source} {reason}")
    raise AdapterError(
        f"{source} is not read here; of scikit-learn linear models, linear support vectors, naive Bayes over counts or "
        "categories, and boosted trees of one column each are, inside pipelines, searches and other wrappers too"
    )


def _score(obj: Any, table: Any, task: str) -> NDArray[Any]:
    return np.asarray(obj.predict(table) if task == "regression" else obj.decision_function(table))


def _task(obj: Any, outputs: int) -> tuple[str, list[Any] | None, Link]:
    classes = getattr(obj, "classes_", None)
    if classes is None:
        is_log = _has_log_link(obj) or getattr(obj, "loss", None) in ("poisson", "gamma")
        return "regression", None, "exp" if is_log else "score"
    return "binary" if outputs == 1 else "multiclass", plain_classes(classes), "score"


def _has_log_link(obj: Any) -> bool:
    kinds = {kind.__name__ for kind in type(obj).__mro__}
    if "TweedieRegressor" in kinds:
        return bool(obj.link == "log" or (obj.link == "auto" and obj.power > 0))
    return bool(kinds & _LOG_LINK)


# --- linear models ----------------------------------------------------------------------------------------------------


def linear(obj: Any, source: str, names: Sequence[str]) -> Bare:
    """Return the parts of a linear model."""
    weights = part(obj, "coef_", source)
    weights = np.atleast_2d(np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights))
    offsets = np.broadcast_to(np.atleast_1d(np.asarray(obj.intercept_)), (len(weights),))
    if weights.shape[1] != len(names):
        raise AdapterError(f"{source} has {weights.shape[1]} weights for {len(names)} columns")
    if getattr(obj, "classes_", None) is None and len(weights) > 1:
        raise AdapterError(f"{source} predicts {len(weights)} numbers at once; fit one model for each")
    # Of several labels, classes_ numbers the labels: only what was binarised tells them from classes.
    trained = str(getattr(getattr(obj, "_label_binarizer", None), "y_type_", ""))
    if trained.startswith("multilabel") or (len(weights) > 1 and len(getattr(obj, "classes_", ())) == 2):
        raise AdapterError(f"{source} decides {len(weights)} labels at once (multilabel); fit one model for each")
    if hasattr(obj, "classes_") and len(weights) > 1 and len(weights) != len(obj.classes_):
        raise AdapterError(f"{source} has {len(weights)} scores for {len(obj.classes_)} classes")
    parts = [Part(tuple(Pieces.affine(rational(float(w)), ZERO) for w in column)) for column in weights.T]
    return Bare(parts, [rational(float(offset)) for offset in offsets])


def _support_vectors(obj: Any, source: str, names: Sequence[str]) -> Bare:
    if type(obj).__name__.startswith("Linear"):
        return linear(obj, source, names)
    if getattr(obj, "kernel", None) != "linear":
        raise AdapterError(
            f"{source} compares whole rows by the kernel {obj.kernel!r}, which is not additive; use kernel='linear'"
        )
    if len(getattr(obj, "classes_", ())) > 2:
        raise AdapterError(
            f"{source} lets its {len(obj.classes_)} classes vote in pairs, so no score decides; use LinearSVC, or "
            "OneVsRestClassifier around it"
        )
    bare = linear(obj, source, names)
    # Its library gives a score of exactly 0 to the second class.
    return Bare(bare.parts, bare.intercept, ties="positive")


_READERS: Mapping[str, Callable[[Any, str, Sequence[str]], Bare]] = {
    "sklearn.linear_model": linear,
    "sklearn.svm": _support_vectors,
    "sklearn.discriminant_analysis": linear,
    "sklearn.naive_bayes": bayes,
    "sklearn.ensemble._hist": hist_boosting,
    "sklearn.ensemble._gb": gradient_boosting,
    "sklearn.ensemble._weight_boosting": ada_boost,
    "sklearn.ensemble._forest": forest,
    "sklearn.tree": forest,
}


def _has_chances(obj: Any, task: str) -> bool:
    """Whether probabilities are the logistic function or the softmax of the scores."""
    kinds = {kind.__name__ for kind in type(obj).__mro__}
    if "SGDClassifier" in kinds:
        return bool(task == "binary" and obj.loss == "log_loss")
    if "LogisticRegression" in kinds:  # some versions and solvers have a model for each class against the rest
        is_joint = getattr(obj, "multi_class", "auto") != "ovr" and obj.solver != "liblinear"
        return task == "binary" or is_joint
    if "GradientBoostingClassifier" in kinds:
        return bool(obj.loss == "log_loss")
    if "AdaBoostClassifier" in kinds:
        return task == "binary"
    known = {"HistGradientBoostingClassifier", "LinearDiscriminantAnalysis", "GaussianNB", "_BaseDiscreteNB"}
    return bool(kinds & known)


def _answer(given: Any, classes: list[Any] | None) -> NDArray[Any]:
    return np.asarray(given) if classes is None else class_places(given, classes)
