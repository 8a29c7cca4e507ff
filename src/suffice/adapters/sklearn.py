"""scikit-learn: linear models and histogram boosting of one feature or two a tree, bare or at the end of a pipeline.

The model speaks of the columns that the user has: what a pipeline scales, splits, encodes and reorders is put together
again, one function for each of the user's columns. Columns that a pipeline drops are no features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import to_shape
from suffice.adapters.cells import class_places, plain_classes
from suffice.adapters.draft import UNSEEN, Cell, Draft, Link, Options, name_features, part, with_domain
from suffice.adapters.sklearn_column import Column, Columns, Finite, Numeric, Raw, Unused, as_number, used, value_of
from suffice.adapters.sklearn_columns import transform
from suffice.adapters.sklearn_products import Weights, expanded, product_terms
from suffice.adapters.sklearn_trees import boosted, preprocessed, tree_pairs
from suffice.adapters.trees import Placed
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span
from suffice.model.term import Term
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.numbers.values import MISSING, Label
from suffice.shapes import Pieces, Shape, Table
from suffice.shapes.pieces import combine

_LOG_LINK = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")


class Ending(Protocol):
    """What the last step of a model makes of one of its columns."""

    def pieces(self, column: Numeric) -> list[Pieces]:
        """Return what it adds to each score, as functions of the user's number."""

    def at(self, value: float) -> list[Rational] | None:
        """Return what it adds at one value of its column; None if it takes no such value."""


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted estimator or pipeline."""
    whole, obj = obj, getattr(obj, "best_estimator_", obj)  # a finished search holds its best model
    columns, powers, final = _unroll(obj)
    source = f"the {type(obj).__name__}"
    trees: Mapping[tuple[int, int], Sequence[Placed]] = {}
    products: Sequence[tuple[Column, Column, Weights]] = ()
    endings: Sequence[Ending]
    if _home(final).startswith("sklearn.ensemble._hist"):
        columns = preprocessed(final, columns)
        endings, trees, intercept = boosted(final, len(used(columns)), f"the {type(final).__name__}")
    else:
        count = len(used(columns)) if powers is None else int(powers.n_output_features_)
        weights, intercept = _linear(final, count, f"the {type(final).__name__}")
        if powers is not None:
            unused = [column for column in columns if isinstance(column, Unused)]
            many = expanded(powers, used(columns), weights)
            columns, weights, products = [*many.columns, *unused], many.weights, many.products
            intercept = [a + b for a, b in zip(intercept, many.constant, strict=True)]
        endings = [_Weights(one) for one in weights]
    nothing = _Weights((ZERO,) * len(intercept))
    ended: list[tuple[Column, Ending]] = list(zip(used(columns), endings, strict=True))
    ended += [(column.column, nothing) for column in columns if isinstance(column, Unused)]
    sources = sorted({column.source for column in columns})
    shapes, domains, originals = [], [], {}
    for k in sources:
        mine = [(column, ending) for column, ending in ended if column.source == k]
        shape, domain, cells = _assemble(mine, len(intercept))
        shapes.append(shape)
        domains.append(domain)
        originals[k] = cells
    names = _names(obj)
    features = name_features([names[k] for k in sources], len(sources), options.features)
    features = [with_domain(feature, domain) for feature, domain in zip(features, domains, strict=True)]
    task, classes, link = _task(final, len(intercept))
    terms = [Term(place, shape) for place, shape in enumerate(shapes)]
    by_source = dict(zip(sources, domains, strict=True))
    terms += tree_pairs(trees, used(columns), endings, by_source, len(intercept))
    terms += product_terms(products, by_source)
    # decision_function > 0 is the positive class, so a tie is the negative one; argmax takes the first of the largest.
    model = AdditiveModel.of_terms(terms, intercept, task, features, options.classes or classes, ties="negative")
    table = _tables(obj, sources, originals)
    return Draft(
        model,
        source,
        lambda rows: np.asarray(
            obj.predict(table(rows)) if task == "regression" else obj.decision_function(table(rows))
        ),
        link,
        chances=(lambda rows: np.asarray(whole.predict_proba(table(rows)))) if _has_chances(final, task) else None,
        answers=lambda rows: _answer(whole.predict(table(rows)), classes),
    )


def _home(obj: Any) -> str:
    """Return the module of scikit-learn that a class comes from, or one that it derives from."""
    modules = (kind.__module__ for kind in type(obj).__mro__)
    return next((module for module in modules if module.startswith("sklearn.")), "")


def _unroll(obj: Any) -> tuple[Columns, Any, Any]:
    """Return the columns that come to the last step, polynomial features of them if any, and that step."""
    count = getattr(obj, "n_features_in_", None)
    if count is None:
        raise AdapterError(f"the {type(obj).__name__} is not fitted; fit it first")
    columns: Columns = [Raw(k) for k in range(int(count))]
    steps = [step for _, step in obj.steps] if type(obj).__name__ == "Pipeline" else [obj]
    *before, final = steps
    powers = before.pop() if before and type(before[-1]).__name__ == "PolynomialFeatures" else None
    for step in before:
        columns = transform(step, columns)
    if powers is not None and _home(final).startswith("sklearn.ensemble"):
        raise AdapterError("boosted trees after PolynomialFeatures are not read; give them the columns themselves")
    return columns, powers, final


def _names(obj: Any) -> list[str]:
    names = getattr(obj, "feature_names_in_", None)
    if names is None and type(obj).__name__ == "Pipeline":
        names = getattr(obj.steps[0][1], "feature_names_in_", None)
    return [f"x{k}" for k in range(obj.n_features_in_)] if names is None else [str(name) for name in names]


def _task(final: Any, outputs: int) -> tuple[str, list[Any] | None, Link]:
    classes = getattr(final, "classes_", None)
    if classes is None:
        is_log = type(final).__name__ in _LOG_LINK or getattr(final, "loss", None) in ("poisson", "gamma")
        return "regression", None, "exp" if is_log else "score"
    return "binary" if outputs == 1 else "multiclass", plain_classes(classes), "score"


# --- linear models ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Weights:
    """A linear model's weights for one column."""

    weights: tuple[Rational, ...]

    def pieces(self, column: Numeric) -> list[Pieces]:
        if column.pieces is None:
            if any(self.weights):
                raise AdapterError(
                    f"{column.smooth}, so the model has no exact pieces; use QuantileTransformer with uniform output, "
                    "KBinsDiscretizer, SplineTransformer(degree=1), or boosted trees after it"
                )
            return [Pieces.affine(ZERO, ZERO)] * len(self.weights)
        return [combine([(weight, column.pieces)]) for weight in self.weights]

    def at(self, value: float) -> list[Rational] | None:
        return None if np.isnan(value) else [weight * rational(value) for weight in self.weights]


def _linear(final: Any, columns: int, source: str) -> tuple[list[Weights], list[Rational]]:
    """Return the weights of each column, and where the scores start."""
    module = _home(final)
    if module.startswith("sklearn.model_selection._classification_threshold"):
        raise AdapterError(
            f"{source} decides at a threshold of its own; convert its estimator_, and ask about the score: "
            "claim=AtLeast(threshold)"
        )
    if not module.startswith(("sklearn.linear_model", "sklearn.svm", "sklearn.discriminant_analysis")):
        raise AdapterError(
            f"{source} is not read here; linear models are, and HistGradientBoosting with one feature or two a tree"
        )
    if module.startswith("sklearn.svm") and not type(final).__name__.startswith("Linear"):
        raise AdapterError(f"{source} compares whole rows by a kernel, which is not additive; use LinearSVC")
    link = getattr(final, "link", "auto")
    if link not in ("auto", "log") or (
        type(final).__name__ == "TweedieRegressor" and link == "auto" and final.power <= 0
    ):
        raise AdapterError(f"{source} has the link {link!r}; the log link is supported")
    weights = np.atleast_2d(np.asarray(part(final, "coef_", source)))
    offsets = np.broadcast_to(np.atleast_1d(np.asarray(final.intercept_)), (len(weights),))
    if weights.shape[1] != columns:
        raise AdapterError(f"{source} has {weights.shape[1]} weights for {columns} columns")
    if getattr(final, "classes_", None) is None and len(weights) > 1:
        raise AdapterError(f"{source} predicts {len(weights)} numbers at once; fit one model for each")
    # Of several labels, classes_ numbers the labels: only what was binarised tells them from classes.
    trained = str(getattr(getattr(final, "_label_binarizer", None), "y_type_", ""))
    if trained.startswith("multilabel") or (len(weights) > 1 and len(getattr(final, "classes_", ())) == 2):
        raise AdapterError(f"{source} decides {len(weights)} labels at once (multilabel); fit one model for each")
    if hasattr(final, "classes_") and len(weights) > 1 and len(weights) != len(final.classes_):
        raise AdapterError(f"{source} has {len(weights)} scores for {len(final.classes_)} classes")
    every = [tuple(rational(float(w)) for w in column) for column in weights.T]
    return every, [rational(float(offset)) for offset in offsets]


# --- one function for each of the user's columns ----------------------------------------------------------------------


def _assemble(mine: Sequence[tuple[Column, Ending]], outputs: int) -> tuple[Shape, Domain, Mapping[Cell, Any]]:
    """Return the shape of one of the user's columns, its domain, and how its cells are written in the user's table."""
    finite = [column for column, _ in mine if isinstance(column, Finite)]
    if finite:
        return _table(mine, finite, outputs)
    numbers = [(as_number(column, "model"), ending) for column, ending in mine]
    parts = [ending.pieces(number) for number, ending in numbers]
    summed = [combine([(rational(1), pieces[j]) for pieces in parts]) for j in range(outputs)]
    missing = _sum(ending.at(number.missing) if number.missing is not None else None for number, ending in numbers)
    lows = [number.low for number, _ in numbers if number.low is not None]
    highs = [number.high for number, _ in numbers if number.high is not None]
    domain = Domain((Span(max(lows) if lows else None, min(highs) if highs else None),))
    labels: dict[Label, list[Rational]] = {}
    if missing is not None:
        labels[MISSING] = missing
        domain = domain | Domain.codes(MISSING)
    return to_shape(summed, labels), domain, {}


def _table(
    mine: Sequence[tuple[Column, Ending]], finite: Sequence[Finite], outputs: int
) -> tuple[Shape, Domain, Mapping[Cell, Any]]:
    entries: dict[Cell, list[Rational]] = {}
    for cell in finite[0].values:
        parts = [ending.at(value) if (value := value_of(column, cell)) is not None else None for column, ending in mine]
        row = _sum(parts)
        if row is not None:
            entries[cell] = row
    codes = [cell for cell in (MISSING, UNSEEN) if cell in entries]
    names = [cell for cell in entries if cell not in codes]
    domain = Domain.categories(*names)  # type: ignore[arg-type]
    return Table(entries), domain | Domain.codes(*codes) if codes else domain, finite[0].originals  # type: ignore[arg-type]


def _sum(parts: Any) -> list[Rational] | None:
    rows = list(parts)
    if any(row is None for row in rows):
        return None
    return [sum(column, ZERO) for column in zip(*rows, strict=True)]


def _has_chances(final: Any, task: str) -> bool:
    """Whether probabilities are the logistic function or the softmax of the scores."""
    kinds = {kind.__name__ for kind in type(final).__mro__}
    if "SGDClassifier" in kinds:
        return task == "binary" and final.loss == "log_loss"
    if "LogisticRegression" in kinds:  # some versions and solvers have a model for each class against the rest
        is_joint = getattr(final, "multi_class", "auto") != "ovr" and final.solver != "liblinear"
        return task == "binary" or is_joint
    return bool(kinds & {"HistGradientBoostingClassifier", "LinearDiscriminantAnalysis"})


def _answer(given: Any, classes: list[Any] | None) -> NDArray[Any]:
    return np.asarray(given) if classes is None else class_places(given, classes)


def _tables(
    obj: Any, sources: Sequence[int], originals: Mapping[int, Mapping[Cell, Any]]
) -> Callable[[list[list[Cell]]], Any]:
    """Return how rows become a table as the user has it."""

    def table(rows: list[list[Cell]]) -> Any:
        columns: list[list[Any]] = [[np.nan] * len(rows) for _ in range(obj.n_features_in_)]
        for place, k in enumerate(sources):
            known = originals[k]
            columns[k] = [known.get(row[place], np.nan if row[place] is MISSING else row[place]) for row in rows]
        texts = {k for k in sources if any(isinstance(value, str) for value in originals[k].values())}
        return _frame(obj, columns, texts)

    return table


def _frame(obj: Any, columns: list[list[Any]], texts: set[int]) -> Any:
    names = getattr(obj, "feature_names_in_", None)
    arrays = [np.array(column, dtype=object if k in texts else np.float64) for k, column in enumerate(columns)]
    if names is not None or (type(obj).__name__ == "Pipeline" and hasattr(obj.steps[0][1], "feature_names_in_")):
        import pandas

        return pandas.DataFrame(dict(zip(_names(obj), arrays, strict=True)))
    is_text = any(array.dtype == object for array in arrays)
    return np.stack([array.astype(object if is_text else np.float64) for array in arrays], axis=1)
