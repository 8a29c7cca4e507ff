"""CatBoost: fitted models and models saved as JSON, with symmetric trees that use one number each.

CatBoost rounds every cell to float32 and asks `x > border`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.assemble import to_shape
from suffice.adapters.cells import class_places, float_table, plain_classes
from suffice.adapters.draft import Cell, Draft, Link, Live, Options, name_features, with_domain
from suffice.adapters.floats import float32_steps
from suffice.adapters.trees import Leaf, Split, Tree, by_feature, stair
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
    model = _model(document, options, source)
    threshold = document["model_info"].get("binclass_probability_threshold", "0.5")
    if float(threshold) != 0.5:  # the score at any other one is irrational
        raise AdapterError(
            f"{source} has a decision threshold of its own, a probability of {threshold}; call "
            "set_probability_threshold(0.5) before, and ask about the probability instead"
        )
    loss = document["model_info"]["params"]["loss_function"]["type"]
    predicts: Link = "exp" if loss in _LOG_LINK else "score"
    if isinstance(obj, Mapping):
        return Draft(model, source, predicts=predicts)
    chances = _asking(obj, "Probability") if loss in ("Logloss", "CrossEntropy", "MultiClass") else None
    answers = _answers(obj, model.task)
    return Draft(
        model,
        source,
        _asking(obj, "RawFormulaVal"),
        predicts=predicts,
        chances=chances,
        answers=answers,
        table=float_table,
    )


def _saved(obj: Any, source: str) -> dict[str, Any]:
    if not obj.is_fitted():
        raise AdapterError(f"{source} is not fitted; fit it first")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        obj.save_model(str(path), format="json")
        document: dict[str, Any] = json.loads(path.read_text())
    return document


def _model(document: Mapping[str, Any], options: Options, source: str) -> AdditiveModel:
    if "oblivious_trees" not in document:
        raise AdapterError(f"{source} has no symmetric trees; train it with grow_policy='SymmetricTree'")
    info = document["features_info"]
    others = [kind for kind in info if kind != "float_features" and info[kind]]
    if others:
        raise AdapterError(f"{source} has {others[0].replace('_', ' ')}; encode them as numbers before training")
    floats = info["float_features"]
    names = [one["feature_id"] or f"x{one['flat_feature_index']}" for one in floats]
    features = name_features(names, len(floats), options.features)
    scale, bias = document["scale_and_bias"]
    outputs = len(bias)
    # A border is the last float32 on its left, so the first on its right is the one after it.
    read = [tree for one in document["oblivious_trees"] for tree in _trees(one, outputs, floats, source)]
    found, constant = by_feature(read, outputs, [feature.name for feature in features])
    shapes, named = [], []
    for k, (feature, one) in enumerate(zip(features, floats, strict=True)):
        steps = stair(found.get(k, ()), outputs, "left")
        factor = rational(scale)
        rows = [[factor * value for value in row] for row in steps.values]
        pieces = [float32_steps(steps.thresholds, [row[j] for row in rows]) for j in range(outputs)]
        domain, labels = Domain.reals(), {}
        if one["has_nans"]:  # cells missing only after the training are refused by CatBoost itself
            domain, labels = domain | Domain.codes(MISSING), {MISSING: [factor * value for value in steps.missing]}
        shapes.append(to_shape(pieces, labels))
        named.append(with_domain(feature, domain))
    intercept = [rational(b) + rational(scale) * c for b, c in zip(bias, constant, strict=True)]
    task, classes = _task(document, outputs, source)
    return AdditiveModel(shapes, intercept, task, named, options.classes or classes, ties="negative")


def _trees(tree: Mapping[str, Any], outputs: int, floats: list[dict[str, Any]], source: str) -> list[tuple[int, Tree]]:
    """Return a symmetric tree as one for each score: leaf `k` is where split `i` answers the i-th bit of `k`."""
    splits = tree["splits"] or []
    for split in splits:
        if split["split_type"] != "FloatFeature":
            raise AdapterError(f"{source} has a split of type {split['split_type']}; encode categories as numbers")
    values = tree["leaf_values"]
    if len(splits) > _DEEPEST or len(values) != outputs << len(splits):
        raise AdapterError(f"{source} has a tree of {len(splits)} splits with {len(values)} values: it is damaged")

    def read(output: int, depth: int, leaf: int) -> Tree:
        if depth < 0:
            return Leaf(float(values[leaf * outputs + output]))
        feature = int(splits[depth]["float_feature_index"])
        border = np.nextafter(np.float32(splits[depth]["border"]), np.float32(np.inf))
        is_left = floats[feature]["nan_value_treatment"] != "AsTrue"
        below, above = read(output, depth - 1, leaf), read(output, depth - 1, leaf | 1 << depth)
        return Split(feature, float(border), is_left, below, above)

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


def _asking(obj: Any, kind: str) -> Live:
    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        return np.asarray(obj.predict(float_table(rows), prediction_type=kind))

    return predict


def _answers(obj: Any, task: str) -> Live | None:
    """Return how to ask for labels; a bare CatBoost object, which knows no labels, is asked for its classes."""
    if task == "regression":
        return None if type(obj).__name__ == "CatBoost" else _plain(obj)
    is_bare = not len(getattr(obj, "classes_", ())) or type(obj).__name__ == "CatBoost"

    def predict(rows: list[list[Cell]]) -> NDArray[Any]:
        table = float_table(rows)
        return class_places(obj.predict(table, "Class") if is_bare else obj.predict(table), obj.classes_)

    return predict


def _plain(obj: Any) -> Live:
    return lambda rows: np.asarray(obj.predict(float_table(rows)))
