"""XGBoost: boosters, its scikit-learn estimators, and models saved as JSON, if no tree uses more than two features.

XGBoost rounds every cell to float32 and sends `x < threshold` left. Over the real numbers the jump therefore lies
halfway between the threshold and the float32 below it, and the half itself goes where rounding to even takes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import to_shape
from suffice.adapters.cells import class_places, float_table, plain_classes
from suffice.adapters.draft import FLOAT32, UNSEEN, Draft, Link, Live, Options, name_features, with_domain
from suffice.adapters.floats import float32_bins, float32_steps
from suffice.adapters.tree_categories import Categories, pandas_categories
from suffice.adapters.trees import Leaf, Side, Split, Tree, by_feature, by_names, goes_below, pair_shapes, stair
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Pieces

_OBJECTIVES: Mapping[str, tuple[str, Link]] = {  # what the score decides, and how the base score becomes a margin
    "binary:logistic": ("binary", "sigmoid"),
    "binary:logitraw": ("binary", "score"),
    "reg:logistic": ("regression", "sigmoid"),
    "reg:squarederror": ("regression", "score"),
    "reg:absoluteerror": ("regression", "score"),
    "reg:quantileerror": ("regression", "score"),
    "reg:pseudohubererror": ("regression", "score"),
    "count:poisson": ("regression", "exp"),
    "reg:gamma": ("regression", "exp"),
    "reg:tweedie": ("regression", "exp"),
    "multi:softmax": ("multiclass", "score"),
    "multi:softprob": ("multiclass", "score"),
}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a booster, an estimator, or a JSON model as Python's `json` reads it."""
    source = "the XGBoost JSON" if isinstance(obj, Mapping) else f"the {type(obj).__name__}"
    document, rounds = (obj, _told_rounds(obj, source)) if isinstance(obj, Mapping) else _saved(obj, source)
    categories = _categories(document["learner"], options.rows, source)
    read = _linear if document["learner"]["gradient_booster"]["name"] == "gblinear" else _model
    model = read(document["learner"], rounds, options, getattr(obj, "classes_", None), categories, source)
    objective = document["learner"]["objective"]["name"]
    _, predicts = _OBJECTIVES[objective]
    if isinstance(obj, Mapping):
        return Draft(model, source, None, "score", FLOAT32, predicts=predicts)
    table = _tables(obj, categories)
    chances = _chances(obj, table) if objective in ("binary:logistic", "multi:softprob") else None
    answers = _answers(obj, table, model.task)
    return Draft(
        model,
        source,
        lambda rows: np.asarray(obj.predict(table(rows), output_margin=True)),
        "score",
        FLOAT32,
        predicts=predicts,
        chances=chances,
        answers=answers,
        table=table,
    )


def _saved(obj: Any, source: str) -> tuple[dict[str, Any], int | None]:
    """Return a live model as its own JSON, and how many rounds of it its predictions use."""
    rounds = None
    if hasattr(obj, "get_booster"):
        missing = getattr(obj, "missing", np.nan)
        if missing is not None and not np.isnan(missing):
            raise AdapterError(f"{source} treats {missing} as missing; fit it with missing=nan")
        if not obj.__sklearn_is_fitted__():
            raise AdapterError(f"{source} is not fitted; fit it first")
        best = getattr(obj, "best_iteration", None)  # an estimator that stopped early predicts with its best rounds
        rounds = None if best is None else int(best) + 1
        obj = obj.get_booster()
    return json.loads(bytes(obj.save_raw("json"))), rounds


def _told_rounds(document: Mapping[str, Any], source: str) -> int | None:
    """Return how many rounds of a saved model its predictions use, None for all of them."""
    learner = document["learner"]
    told = learner.get("attributes", {})
    if "best_iteration" not in told:
        return None
    if learner["gradient_booster"]["name"] == "gblinear":
        return None
    rounds, last = int(told["best_iteration"]) + 1, len(_ends(learner)) - 1
    if rounds < last and "scikit_learn" not in told:
        raise AdapterError(
            f"{source} stopped early, and does not say whether all of its {last} rounds predict, as in a Booster, or "
            f"the best {rounds}, as in XGBoost's estimators; save booster[:{rounds}] for the best ones, or call "
            "booster.set_attr(best_iteration=None) before saving it for all"
        )
    return rounds


def _ends(learner: Mapping[str, Any]) -> list[int]:
    """Return how many trees there are after each round."""
    model = _booster(learner, "the model")[0]["model"]
    if "iteration_indptr" in model:
        return [int(end) for end in model["iteration_indptr"]]
    facts = model.get("gbtree_model_param", {})
    size = max(int(facts.get("num_parallel_tree", 1)), 1) * max(int(learner["learner_model_param"]["num_class"]), 1)
    return list(range(0, len(model["trees"]) + 1, size))


def _model(
    learner: Mapping[str, Any],
    rounds: int | None,
    options: Options,
    classes: Any,
    categories: Mapping[int, Categories],
    source: str,
) -> AdditiveModel:
    booster, shares = _booster(learner, source)
    objective = learner["objective"]["name"]
    if objective not in _OBJECTIVES:
        raise AdapterError(f"{source} has the objective {objective!r}; those read are {', '.join(_OBJECTIVES)}")
    task, link = _OBJECTIVES[objective]
    facts = learner["learner_model_param"]
    if int(facts.get("num_target", "1")) > 1:
        raise AdapterError(f"{source} predicts {facts['num_target']} targets at once; fit one model for each")
    outputs = max(int(facts["num_class"]), 1)
    count = int(facts["num_feature"])
    trees, places = booster["model"]["trees"], booster["model"]["tree_info"]
    told = int(booster["model"].get("gbtree_model_param", {}).get("num_trees", len(places)))
    if not len(trees) == len(places) == told:
        raise AdapterError(
            f"{source} says that it has {max(told, len(places))} trees, but has {len(trees)}: it is damaged"
        )
    names = learner.get("feature_names") or None
    if outputs > max(len(trees), 1) or (names is not None and len(names) != count):
        raise AdapterError(
            f"{source} says that it has {count} features and {outputs} scores, but has {len(names or ())} names and "
            f"{len(trees)} trees: it is damaged"
        )
    features = name_features(names, count, options.features)
    if rounds is not None:
        trees = trees[: _ends(learner)[rounds]]
    read = [(int(k), _tree(tree, share, source)) for k, tree, share in zip(places, trees, shares, strict=False)]
    found = by_feature(read, outputs, [feature.name for feature in features])
    shapes, named = [], []
    for k, feature in enumerate(features):
        known = categories.get(k)
        named.append(with_domain(feature, Domain.reals() | Domain.codes(MISSING) if known is None else known.domain))
        if known is not None:
            shapes.append(known.shape(found.alone.get(k, ()), outputs, goes_below))
            continue
        steps = stair(found.alone.get(k, ()), outputs, "left")
        pieces = [float32_steps(steps.thresholds, [row[j] for row in steps.values]) for j in range(outputs)]
        shapes.append(to_shape(pieces, {MISSING: steps.missing}))
    base = _base(facts["base_score"], outputs, link)

    def side(k: int, splits: Sequence[Split]) -> Side:
        return categories[k].side() if k in categories else _side(splits)

    pairs = pair_shapes(found.pairs, outputs, side, goes_below)
    return AdditiveModel(
        shapes,
        [a + b for a, b in zip(base, found.constant, strict=True)],
        task,
        named,
        None if task == "regression" else options.classes or (None if classes is None else plain_classes(classes)),
        ties="negative",  # probability > 0.5; argmax takes the first of the largest
        pairs=by_names(pairs, features),
    )


def _side(splits: Sequence[Split]) -> Side:
    thresholds = sorted({split.threshold for split in splits if np.isfinite(split.threshold)})
    return Side(float32_bins(thresholds, [MISSING]), [-np.inf, *thresholds, np.nan])


def _base(text: str, outputs: int, link: Link) -> list[Rational]:
    """Return the margins that a model starts from; it saves them on the scale of its predictions, in float32."""
    given = np.array([float(value) for value in text.strip("[]").split(",")], dtype=np.float32)
    if link == "sigmoid":
        given = -np.log(np.float32(1) / given - np.float32(1))
    elif link == "exp":
        given = np.log(given)
    return [rational(float(value)) for value in np.broadcast_to(given, (outputs,))]


def _linear(
    learner: Mapping[str, Any],
    rounds: int | None,
    options: Options,
    classes: Any,
    categories: Mapping[int, Categories],
    source: str,
) -> AdditiveModel:
    """Return a gblinear model: a weight for each feature and score, features first; a missing cell adds nothing."""
    if categories:
        raise AdapterError(f"{source} multiplies the codes of categories by weights; encode them one-hot before")
    objective, facts = learner["objective"]["name"], learner["learner_model_param"]
    if objective not in _OBJECTIVES:
        raise AdapterError(f"{source} has the objective {objective!r}; those read are {', '.join(_OBJECTIVES)}")
    task, link = _OBJECTIVES[objective]
    outputs, count = max(int(facts["num_class"]), 1), int(facts["num_feature"])
    weights = np.array(learner["gradient_booster"]["model"]["weights"], dtype=np.float32)
    if len(weights) != (count + 1) * outputs:
        raise AdapterError(
            f"{source} has {len(weights)} weights for {count} features and {outputs} scores: it is damaged"
        )
    features = name_features(learner.get("feature_names") or None, count, options.features)
    table = [[rational(float(weight)) for weight in row] for row in weights.reshape(count + 1, outputs)]
    missing: dict[Any, Any] = {MISSING: [ZERO] * outputs}
    shapes = [to_shape([Pieces.affine(weight, ZERO) for weight in row], missing) for row in table[:-1]]
    base = _base(facts["base_score"], outputs, link)[:1] * outputs  # of several, gblinear adds the first to every score
    domain = Domain.reals() | Domain.codes(MISSING)
    return AdditiveModel(
        shapes,
        [a + b for a, b in zip(base, table[-1], strict=True)],
        task,
        [with_domain(feature, domain) for feature in features],
        None if task == "regression" else options.classes or (None if classes is None else plain_classes(classes)),
        ties="negative",
    )


def _booster(learner: Mapping[str, Any], source: str) -> tuple[Mapping[str, Any], list[Rational]]:
    """Return the trees of a booster, and by what the leaves of each are multiplied: dart weighs them."""
    booster = learner["gradient_booster"]
    if booster["name"] == "gbtree":
        return booster, [ONE] * len(booster["model"]["trees"])
    if booster["name"] != "dart":
        raise AdapterError(f"{source} was trained with booster={booster['name']!r}; gbtree, dart and gblinear are read")
    weights = np.array(booster["weight_drop"], dtype=np.float32).tolist()
    if len(weights) != len(booster["gbtree"]["model"]["trees"]):
        raise AdapterError(f"{source} has {len(weights)} weights for its trees, which are not as many: it is damaged")
    return booster["gbtree"], [rational(weight) for weight in weights]


def _tree(tree: Mapping[str, Any], share: Rational, source: str) -> Tree:
    if int(tree.get("tree_param", {}).get("size_leaf_vector", 1)) > 1:
        raise AdapterError(
            f"{source} has trees with a score for each class in every leaf, which are not read; fit it with "
            "multi_strategy='one_output_per_tree'"
        )
    sets = _sets(tree)
    left, right = tree["left_children"], tree["right_children"]
    conditions = np.array(tree["split_conditions"], dtype=np.float32).tolist()

    todo = set(range(len(left)))

    def read(at: int) -> Tree:
        if at not in todo:
            raise AdapterError(f"{source} has a tree that comes to its node {at} twice, or has none: it is damaged")
        todo.remove(at)
        if left[at] == -1:
            return Leaf(share * rational(conditions[at]))  # of a leaf its value stands where others have a threshold
        is_left, feature = bool(tree["default_left"][at]), int(tree["split_indices"][at])
        first, second = read(left[at]), read(right[at])
        if at in sets:  # the categories that go right
            return Split(feature, np.inf, not is_left, second, first, sets[at])
        return Split(feature, conditions[at], is_left, first, second)

    return read(0)


def _sets(tree: Mapping[str, Any]) -> dict[int, frozenset[int]]:
    """Return the categories that go right, of each node that asks for them."""
    if not any(tree["split_type"]) and not tree["categories"]:
        return {}
    places = (tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"])
    found = {
        int(node): frozenset(int(code) for code in tree["categories"][int(first) : int(first) + int(size)])
        for node, first, size in zip(*places, strict=True)
    }
    asked = {node for node, kind in enumerate(tree["split_type"]) if kind and tree["left_children"][node] != -1}
    if asked != set(found):
        raise AdapterError("the XGBoost model has a split by categories that lists none: it is damaged")
    return found


def _categories(learner: Mapping[str, Any], rows: Any, source: str) -> dict[int, Categories]:
    """Return the categories of each feature that has some: their names if the model keeps them, else their codes."""
    kinds = learner.get("feature_types") or []
    places = [k for k, kind in enumerate(kinds) if kind == "c"]
    if learner["gradient_booster"]["name"] == "gblinear":
        return {k: Categories([], []) for k in places}
    model = _booster(learner, source)[0]["model"]
    listed = (model.get("cats") or {}).get("enc") or []
    if listed:
        columns = learner.get("feature_names") or [None] * len(kinds)
        named = {k: _names(listed[k], pandas_categories(rows, columns[k], k), source) for k in places}
        # XGBoost itself refuses names that it never saw.
        return {k: Categories(names, range(len(names))) for k, names in named.items()}
    codes: dict[int, set[int]] = {k: set() for k in places}
    for tree in model["trees"]:
        for node, some in _sets(tree).items():
            codes.setdefault(int(tree["split_indices"][node]), set()).update(some)
    return {k: Categories(sorted(some), sorted(some), max(some, default=0) + 1.0) for k, some in codes.items()}


def _names(listed: Mapping[str, Any], told: list[Any] | None, source: str) -> list[Any]:
    """Return the names of categories; `told` are those of the reference."""
    if "offsets" not in listed:
        return list(listed["values"])
    text = bytes(value % 256 for value in listed["values"])
    if not text.isascii():  # XGBoost counts letters and cuts off as many bytes: other names are not whole
        if told is None or len(told) != len(listed["offsets"]) - 1:
            raise AdapterError(
                f"{source} keeps the names of categories that are not plain ASCII only in part; give reference rows in "
                "which that column has the categories of the training: from_model(fitted, X)"
            )
        return told
    return [text[a:b].decode() for a, b in pairwise(listed["offsets"])]


def _chances(obj: Any, table: Callable[[Any], Any]) -> Live:
    return lambda rows: np.asarray((obj.predict_proba if hasattr(obj, "predict_proba") else obj.predict)(table(rows)))


def _answers(obj: Any, table: Callable[[Any], Any], task: str) -> Live | None:
    if task == "regression":
        return lambda rows: np.asarray(obj.predict(table(rows)))
    if not hasattr(obj, "classes_"):  # a booster predicts probabilities
        return None
    return lambda rows: class_places(obj.predict(table(rows)), obj.classes_)


def _tables(obj: Any, categories: Mapping[int, Categories]) -> Callable[[Any], Any]:
    """Return how rows become a table that an estimator or a booster predicts for."""
    is_named = any(known.unseen is None for known in categories.values())

    def numbers(rows: Any) -> NDArray[np.float64]:
        if not categories or isinstance(rows, np.ndarray):
            return float_table(rows)
        cells: Any = [[categories[k].unseen if c == UNSEEN else c for k, c in enumerate(row)] for row in rows]
        return float_table(cells)

    def frame(rows: Any) -> Any:
        import pandas

        columns: dict[str, Any] = {}
        for k, name in enumerate(names):
            cells = [row[k] for row in rows]
            if k in categories:
                originals = [categories[k].original(cell, None) for cell in cells]
                columns[name] = pandas.Categorical(originals, categories=list(categories[k].names))
            else:
                columns[name] = float_table([[cell] for cell in cells])[:, 0]
        return pandas.DataFrame(columns)

    def table(rows: Any) -> Any:
        given = frame(rows) if is_named else numbers(rows)
        if hasattr(obj, "get_booster"):
            return given if is_named else _named(given, getattr(obj, "feature_names_in_", None))
        import xgboost

        if is_named:
            return xgboost.DMatrix(given, enable_categorical=True)
        kinds = obj.feature_types if categories else None
        return xgboost.DMatrix(given, feature_names=obj.feature_names, feature_types=kinds, enable_categorical=True)

    names = list((obj.get_booster() if hasattr(obj, "get_booster") else obj).feature_names or ())
    return table


def _named(table: NDArray[np.float64], names: Any) -> Any:
    if names is None:
        return table
    import pandas

    return pandas.DataFrame(table, columns=list(names))
