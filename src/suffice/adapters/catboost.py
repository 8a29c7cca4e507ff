"""CatBoost: fitted models and models saved as JSON, with symmetric trees that use one feature or two each.

CatBoost rounds every cell to float32 and asks `x > border`. Of categories see `catboost_categories`.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import to_shape
from suffice.adapters.catboost_categories import Asked, asked_categories, has_categories, tables
from suffice.adapters.cells import class_places, plain_classes
from suffice.adapters.decisions import with_cut
from suffice.adapters.draft import Cell, Draft, Link, Live, Options, name_features, with_domain
from suffice.adapters.floats import float32_bins, float32_steps
from suffice.adapters.trees import Leaf, Side, Split, Tree, by_feature, by_names, goes_below, pair_shapes, stair
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import rational
from suffice.numbers.values import MISSING

_DEEPEST = 16  # splits of a tree; CatBoost makes no more
_LOG_LINK = ("Poisson", "Tweedie", "LogLinQuantile")


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted model, or of a JSON model as Python's `json` reads it."""
    source = "the CatBoost JSON" if isinstance(obj, Mapping) else f"the {type(obj).__name__}"
    document = obj if isinstance(obj, Mapping) else _saved(obj, source)
    found = asked_categories(obj, document, options.rows, source) if has_categories(document) else Asked({}, {})
    model = _model(document, found, options, source)
    loss = document["model_info"]["params"]["loss_function"]["type"]
    predicts: Link = "exp" if loss in _LOG_LINK else "score"
    if isinstance(obj, Mapping):
        return _decided(Draft(model, source, predicts=predicts), document)
    table = tables(found.categories)
    chances = _asking(obj, "Probability", table) if loss in ("Logloss", "CrossEntropy", "MultiClass") else None
    answers = _answers(obj, model.task, table)
    draft = Draft(
        model,
        source,
        _asking(obj, "RawFormulaVal", table),
        predicts=predicts,
        chances=chances,
        answers=answers,
        table=table,
    )
    return _decided(draft, document)


def _decided(draft: Draft, document: Mapping[str, Any]) -> Draft:
    """Return a draft that decides at the model's own threshold: where the score passes the float of its logit."""
    threshold = float(document["model_info"].get("binclass_probability_threshold", "0.5"))
    if draft.model.task != "binary" or threshold == 0.5:
        return draft
    if not 0 < threshold < 1:
        raise AdapterError(f"{draft.source} has the decision threshold {threshold}, so that one class is never left")
    level = -math.log(1 / threshold - 1)
    return with_cut(draft, draft.source, lambda scores: scores > level)


def _saved(obj: Any, source: str) -> dict[str, Any]:
    if not obj.is_fitted():
        raise AdapterError(f"{source} is not fitted; fit it first")
    for kind in ("text", "embedding"):
        found: list[int] = getattr(obj, f"get_{kind}_feature_indices", list)()
        if found:
            named = ", ".join(repr(obj.feature_names_[k]) for k in found)
            raise AdapterError(
                f"{source} makes many numbers of each cell of its {kind}_features ({named}); leave these columns out, "
                "or give it numbers made of them"
            )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        obj.save_model(str(path), format="json")
        document: dict[str, Any] = json.loads(path.read_text())
    return document


def _model(document: Mapping[str, Any], asked: Asked, options: Options, source: str) -> AdditiveModel:
    if "oblivious_trees" not in document:
        raise AdapterError(f"{source} has no symmetric trees; train it with grow_policy='SymmetricTree'")
    info = document["features_info"]
    others = [kind for kind in ("text_features", "embedding_features") if info.get(kind)]
    if others:
        raise AdapterError(f"{source} has {others[0].replace('_', ' ')}; encode them as numbers before training")
    floats = info.get("float_features") or []
    both = sorted([*floats, *(info.get("categorical_features") or [])], key=lambda one: one["flat_feature_index"])
    if [one["flat_feature_index"] for one in both] != list(range(len(both))):
        raise AdapterError(f"{source} does not describe all of its columns: it is damaged")
    names = [one["feature_id"] or f"x{one['flat_feature_index']}" for one in both]
    features = name_features(names, len(both), options.features)
    places = {id(one): k for k, one in enumerate(both)}
    columns = [places[id(one)] for one in floats]  # the column of each feature of numbers
    scale, bias = document["scale_and_bias"]
    outputs = len(bias)
    # A border is the last float32 on its left, so the first on its right is the one after it.
    read = [
        tree
        for number, one in enumerate(document["oblivious_trees"])
        for tree in _trees(one, outputs, floats, columns, asked.splits.get(number, {}), source)
    ]
    found = by_feature(read, outputs, [feature.name for feature in features])
    shapes, named, factor = [], [], rational(scale)
    for k, (feature, one) in enumerate(zip(features, both, strict=True)):
        if k in asked.categories:
            known = asked.categories[k]
            shapes.append(known.shape(found.alone.get(k, ()), outputs, goes_below) * factor)
            named.append(with_domain(feature, known.domain))
            continue
        steps = stair(found.alone.get(k, ()), outputs, "left")
        rows = [[factor * value for value in row] for row in steps.values]
        pieces = [float32_steps(steps.thresholds, [row[j] for row in rows]) for j in range(outputs)]
        domain, labels = Domain.reals(), {}
        if one["has_nans"]:  # cells missing only after the training are refused by CatBoost itself
            domain, labels = domain | Domain.codes(MISSING), {MISSING: [factor * value for value in steps.missing]}
        shapes.append(to_shape(pieces, labels))
        named.append(with_domain(feature, domain))
    intercept = [rational(b) + factor * c for b, c in zip(bias, found.constant, strict=True)]
    task, classes = _task(document, outputs, source)

    def side(k: int, splits: Sequence[Split]) -> Side:
        if k in asked.categories:
            return asked.categories[k].side()
        thresholds = sorted({split.threshold for split in splits})
        missing = [MISSING] if both[k]["has_nans"] else []
        return Side(float32_bins(thresholds, missing), [-np.inf, *thresholds, *(np.nan for _ in missing)])

    tables = pair_shapes(found.pairs, outputs, side, goes_below)
    pairs = by_names({pair: shape * factor if factor != 1 else shape for pair, shape in tables.items()}, named)
    return AdditiveModel(shapes, intercept, task, named, options.classes or classes, ties="negative", pairs=pairs)


def _trees(
    tree: Mapping[str, Any],
    outputs: int,
    floats: list[dict[str, Any]],
    columns: Sequence[int],
    asked: Mapping[int, tuple[int, frozenset[int]]],
    source: str,
) -> list[tuple[int, Tree]]:
    """Return a symmetric tree as one for each score: leaf `k` is where split `i` answers the i-th bit of `k`."""
    splits = tree["splits"] or []
    values = tree["leaf_values"]
    if len(splits) > _DEEPEST or len(values) != outputs << len(splits):
        raise AdapterError(f"{source} has a tree of {len(splits)} splits with {len(values)} values: it is damaged")

    def read(output: int, depth: int, leaf: int) -> Tree:
        if depth < 0:
            return Leaf(float(values[leaf * outputs + output]))
        below, above = read(output, depth - 1, leaf), read(output, depth - 1, leaf | 1 << depth)
        if depth in asked:
            place, codes = asked[depth]
            return Split(place, np.inf, True, below, above, codes)
        feature = int(splits[depth]["float_feature_index"])
        border = np.nextafter(np.float32(splits[depth]["border"]), np.float32(np.inf))
        is_left = floats[feature]["nan_value_treatment"] != "AsTrue"
        return Split(columns[feature], float(border), is_left, below, above)

    return [(output, read(output, len(splits) - 1, 0)) for output in range(outputs)]


def _task(document: Mapping[str, Any], outputs: int, source: str) -> tuple[str, list[Any] | None]:
    loss = document["model_info"]["params"]["loss_function"]["type"]
    classes = document["model_info"].get("class_params", {}).get("class_names")
    if loss in ("Logloss", "CrossEntropy") and outputs == 1:
        return "binary", plain_classes(classes) if classes else None
    if loss in ("MultiClass", "MultiClassOneVsAll"):
        return "multiclass", plain_classes(classes) if classes else None
    if outputs == 1:
        return "regression", None
    raise AdapterError(f"{source} was trained with {loss} and has {outputs} outputs; that is not read here")


def _asking(obj: Any, kind: str, table: Callable[[Any], Any]) -> Live:
    return lambda rows: np.asarray(obj.predict(table(rows), prediction_type=kind))


def _answers(obj: Any, task: str, table: Callable[[Any], Any]) -> Live | None:
    """Return how to ask for labels; a bare CatBoost object, which knows no labels, is asked for its classes."""
    if task == "regression":
        return None if type(obj).__name__ == "CatBoost" else lambda rows: np.asarray(obj.predict(table(rows)))
    is_bare = not len(getattr(obj, "classes_", ())) or type(obj).__name__ == "CatBoost"

    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        given = table(rows)
        return class_places(obj.predict(given, "Class") if is_bare else obj.predict(given), obj.classes_)

    return predict
