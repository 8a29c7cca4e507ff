"""LightGBM: boosters, its scikit-learn estimators, and models saved as text, if no tree uses more than two features.

LightGBM compares in float64 and sends `x <= threshold` left. A split says where missing cells go; some take numbers
next to 0 for missing ones too. Before that, every number within 1e-35 of 0 becomes 0, as LightGBM reads a row as the
list of its other numbers. Categories of pandas columns are in the file, in the order of their codes: the code of a
category is its place there, whether it is a name or a number. A column that was categorical without pandas holds codes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.adapters.assemble import to_shape
from suffice.adapters.cells import class_places, float_table, plain_classes
from suffice.adapters.draft import UNSEEN, Cell, Draft, Link, Live, Options, Saturation, name_features, with_domain
from suffice.adapters.tree_categories import pandas_categories
from suffice.adapters.trees import Leaf, Side, Split, Tree, by_feature, by_names, nodes, pair_shapes, total
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, Pieces, Shape, Table
from suffice.shapes.pieces import combine

_OBJECTIVES: Mapping[str, str] = {
    "binary": "binary",
    "cross_entropy": "regression",
    "multiclass": "multiclass",
    "multiclassova": "multiclass",
    "regression": "regression",
    "regression_l1": "regression",
    "huber": "regression",
    "fair": "regression",
    "quantile": "regression",
    "mape": "regression",
    "poisson": "regression",
    "gamma": "regression",
    "tweedie": "regression",
}
_PREDICTS: Mapping[str, Link] = {  # what `predict` makes of raw scores
    "cross_entropy": "sigmoid",
    "multiclassova": "sigmoid",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
}
_NEAR_ZERO = float(np.float32(1e-35))
_NONE, _ZERO, _NAN = range(3)  # what counts as missing at a split


@dataclass(frozen=True, slots=True)
class _Categories:
    """The categories of a feature: their names in the user's table, and the code of each."""

    names: Sequence[Any]
    codes: Sequence[int]
    is_pandas: bool

    @property
    def keys(self) -> list[str | float]:
        """What the categories are called here."""
        return [name if isinstance(name, str) else float(name) for name in self.names]

    @property
    def unseen(self) -> float:
        """What LightGBM makes of a category that it never saw."""
        return np.nan if self.is_pandas else -1.0


@dataclass(frozen=True, slots=True)
class _Split(Split):
    """A split that also says what counts as missing."""

    missing_type: int = _NONE

    def goes_left(self, value: float) -> bool:
        """Whether a cell, NaN if it is missing, goes left."""
        if self.categories is not None:
            return not np.isnan(value) and value >= 0 and int(value) in self.categories
        if abs(value) <= _NEAR_ZERO or (np.isnan(value) and self.missing_type != _NAN):
            value = 0.0
        if (self.missing_type == _ZERO and value == 0) or np.isnan(value):
            return self.missing_left
        return value <= self.threshold


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a booster, an estimator, or the text of a saved model."""
    source = "the LightGBM text" if isinstance(obj, str) else f"the {type(obj).__name__}"
    booster = obj if not hasattr(obj, "booster_") else obj.booster_
    if not isinstance(obj, str) and not hasattr(booster, "model_to_string"):
        raise AdapterError(f"{source} is not fitted; fit it first")
    text = obj if isinstance(obj, str) else booster.model_to_string()
    model, categories = _model(text, options, getattr(obj, "classes_", None), source)
    objective, factor = _objective(text, source)
    raw, predicts = rational(factor) / _averaged(text), _PREDICTS.get(objective)
    multiple = nearest_float(raw)
    saturates: Saturation | None = "above" if objective == "multiclassova" else None
    if isinstance(obj, str):
        return Draft(model, source, predicts=predicts, raw=raw, saturates=saturates)
    table = _tables(booster, categories)
    return Draft(
        model,
        source,
        lambda rows: np.asarray(booster.predict(table(rows), raw_score=True) * multiple),
        predicts=predicts,
        raw=raw,
        chances=_chances(obj, table) if objective in ("binary", "multiclass") else None,
        answers=_answers(obj, table, model.task),
        saturates=saturates,
        table=table,
    )


def _model(text: str, options: Options, classes: Any, source: str) -> tuple[AdditiveModel, dict[int, _Categories]]:
    header, *blocks = text.split("\n\nTree=")
    facts = _facts(header)
    _check_whole(facts, blocks, source)
    objective, factor = _objective(header, source)
    outputs, count = int(facts["num_class"]), int(facts["max_feature_idx"]) + 1
    names = facts["feature_names"].split()
    if len(names) != count or not 1 <= outputs <= max(len(blocks), 1):
        raise AdapterError(
            f"{source} has {len(names)} names for {count} features, {len(blocks)} trees for {outputs} scores"
        )
    features = name_features(names, count, options.features)
    share = rational(factor) / _averaged(text)
    read = [(k % outputs, _tree(_facts(block), share, source)) for k, block in enumerate(blocks)]
    found = by_feature(read, outputs, [feature.name for feature in features])
    categories = _categories(text, facts, [tree for _, tree in read], options.rows)
    shapes, named = [], []
    for k, feature in enumerate(features):
        shape, domain = _shape(found.alone.get(k, ()), outputs, categories.get(k))
        shapes.append(shape)
        named.append(with_domain(feature, domain))
    task = _OBJECTIVES[objective]
    if objective == "cross_entropy" and classes is not None:  # of a classifier, which decides at one half
        task = "binary"
    known = None if task == "regression" else options.classes or (None if classes is None else plain_classes(classes))
    # argmax of (1 - p, p): a tie is the first class, the negative one.
    tables = pair_shapes(found.pairs, outputs, lambda k, splits: _side(splits, categories.get(k)), _goes_left)
    pairs = by_names(tables, named)
    return AdditiveModel(shapes, found.constant, task, named, known, ties="negative", pairs=pairs), categories


def _check_whole(facts: Mapping[str, str], blocks: Sequence[str], source: str) -> None:
    """Refuse a text that lacks trees: it ends with a line of its own, and its head tells the bytes of each tree."""
    *before, last = blocks or [""]
    last, end, _ = last.partition("\nend of trees")
    if blocks and not end:
        raise AdapterError(f"{source} ends before its line 'end of trees': it is cut off; save the model again")
    if "tree_sizes" not in facts:
        return
    told = [int(size) for size in facts["tree_sizes"].split()]
    # Splitting took away "\n\nTree=" between two trees, and "\n" before the end: the bytes of a tree include these.
    found = [len(f"Tree={block}\n\n".encode()) for block in before] + [len(f"Tree={last}\n".encode())] * bool(blocks)
    if told != found:
        what = f"{len(told)} trees, but has {len(found)}"
        if len(told) == len(found):
            what = f"{sum(told)} bytes of trees, but has {sum(found)}"
        raise AdapterError(f"{source} says that it has {what}: it is damaged or was edited; save the model again")


def _facts(block: str) -> dict[str, str]:
    lines = (line.split("=", 1) for line in block.splitlines() if "=" in line)
    return dict(lines)


def _objective(text: str, source: str) -> tuple[str, float]:
    """Return the name of the objective, and by what a raw score is multiplied to be a logit."""
    facts = _facts(text.partition("\n\n")[0])
    if "objective" not in facts and "num_class" in facts:
        raise AdapterError(
            f"{source} was trained with an objective of your own, which it does not keep, so what its score means is "
            f"not known; train with one of {', '.join(_OBJECTIVES)}"
        )
    line = facts["objective"]
    objective, *more = line.split()
    if objective not in _OBJECTIVES or "sqrt" in more:
        raise AdapterError(f"{source} has the objective {line!r}; those read are {', '.join(_OBJECTIVES)}")
    # probability = 1 / (1 + exp(-sigmoid * raw score))
    (factor,) = [float(word.removeprefix("sigmoid:")) for word in more if word.startswith("sigmoid:")] or [1.0]
    return objective, factor


def _averaged(text: str) -> int:
    """Return by how many rounds a sum is divided: those of a random forest, 1 otherwise."""
    header, *blocks = text.split("\n\nTree=")
    if "average_output" not in header.splitlines():
        return 1
    return max(len(blocks) // max(int(_facts(header)["num_class"]), 1), 1)


def _tree(facts: Mapping[str, str], factor: Rational, source: str) -> Tree:
    if facts.get("is_linear", "0") != "0":
        raise AdapterError(
            f"{source} has linear functions in its leaves (linear_tree), which are not read here; use linear_tree=False"
        )
    values = [factor * rational(float(value)) for value in facts["leaf_value"].split()]
    if int(facts["num_leaves"]) == 1:
        return Leaf(values[0])
    left, right = ([int(child) for child in facts[f"{side}_child"].split()] for side in ("left", "right"))
    feature, kind = ([int(value) for value in facts[key].split()] for key in ("split_feature", "decision_type"))
    threshold = [float(value) for value in facts["threshold"].split()]
    bounds = [int(value) for value in facts.get("cat_boundaries", "").split()]
    words = [int(value) for value in facts.get("cat_threshold", "").split()]

    todo = set(range(len(feature)))

    def read(at: int) -> Tree:
        if at < 0:
            return Leaf(values[~at])
        if at not in todo:
            raise AdapterError(f"{source} has a tree that comes to its split {at} twice, or has none: it is damaged")
        todo.remove(at)
        codes = None
        if kind[at] & 1:  # the threshold of a categorical split says which of the sets of categories it is about
            place = int(threshold[at])
            some = words[bounds[place] : bounds[place + 1]]
            codes = frozenset(32 * k + bit for k, word in enumerate(some) for bit in range(32) if word >> bit & 1)
        is_left, missing = bool(kind[at] & 2), kind[at] >> 2 & 3
        return _Split(feature[at], threshold[at], is_left, read(left[at]), read(right[at]), codes, missing)

    return read(0)


def _categories(text: str, facts: Mapping[str, str], trees: Sequence[Tree], rows: Any) -> dict[int, _Categories]:
    """Return the categories of each categorical feature.

    The file lists those of all pandas columns that have some, in their order, but not which columns these are: an
    ordered one is no categorical feature, for LightGBM takes the places of its categories for numbers.
    """
    line = next(
        (line for line in text.splitlines() if line.startswith("pandas_categorical:")), "pandas_categorical:null"
    )
    named = json.loads(line.removeprefix("pandas_categorical:")) or []
    split = {one.feature for tree in trees for one in nodes(tree) if one.categories is not None}
    # The file lists the values of a categorical feature with colons between, of a number its range in brackets.
    listed = {k: info for k, info in enumerate(facts["feature_infos"].split()) if not info.startswith(("[", "none"))}
    codes = {k: sorted(int(code) for code in info.split(":") if int(code) >= 0) for k, info in listed.items()}
    own = {k: _Categories(some, some, is_pandas=False) for k, some in codes.items() if k in split or some}
    if not named:
        return own
    told = [(k, pandas_categories(rows, name, k)) for k, name in enumerate(facts["feature_names"].split())]
    pairs = [(k, names) for k, names in told if names is not None]
    if [names for _, names in pairs] != named:
        pairs = list(zip(sorted(listed), named, strict=False))
        if len(named) != len(listed) or any(codes[k] and codes[k][-1] >= len(names) for k, names in pairs):
            raise AdapterError(
                "the LightGBM model has ordered pandas categories, and does not tell in which columns; give reference "
                "rows with the columns of the training: from_model(fitted, X)"
            )
    return own | {k: _Categories(names, range(len(names)), is_pandas=True) for k, names in pairs}


def _shape(trees: Sequence[tuple[int, Tree]], outputs: int, categories: _Categories | None) -> tuple[Shape, Domain]:
    missing = total(trees, outputs, lambda split: _goes_left(split, np.nan))
    if categories is None:
        pieces = _pieces(trees, outputs)
        return to_shape(pieces, {MISSING: missing}), Domain.reals() | Domain.codes(MISSING)
    entries: dict[Any, Any] = {
        key: total(trees, outputs, lambda split, code=code: _goes_left(split, float(code)))  # type: ignore[misc]
        for key, code in zip(categories.keys, categories.codes, strict=True)
    }
    if len(entries) < len(categories.codes):
        raise AdapterError(f"two categories are the same number in {categories.names!r}; give them names of their own")
    domain = Domain.categories(*entries) | Domain.codes(MISSING, UNSEEN)
    # What was never seen goes right everywhere.
    unseen = total(trees, outputs, lambda split: _goes_left(split, categories.unseen))
    return Table({**entries, MISSING: missing, UNSEEN: unseen}), domain


def _goes_left(split: Split, value: float) -> bool:
    assert isinstance(split, _Split)
    return split.goes_left(value)


def _pieces(trees: Sequence[tuple[int, Tree]], outputs: int) -> list[Pieces]:
    parts: list[list[tuple[Rational, Pieces]]] = [[(ONE, Pieces.affine(ZERO, ZERO))] for _ in range(outputs)]
    for output, tree in trees:
        parts[output].append((ONE, _one(tree)))
    return [combine(part) for part in parts]


def _one(tree: Tree) -> Pieces:
    """Return one tree as a step function: its value at each threshold, and on the stretches between."""
    knots, between = _places(nodes(tree))
    values = [_at(tree, place) for place in between]
    return Pieces.tidy([rational(k) for k in knots], [ZERO] * len(values), values, [_at(tree, k) for k in knots])


def _places(splits: Iterable[Split]) -> tuple[list[float], list[float]]:
    """Return the floats where splits may change their mind, and one for each stretch between."""
    knots = sorted({-_NEAR_ZERO, _NEAR_ZERO, *(split.threshold for split in splits if np.isfinite(split.threshold))})
    # Beside each knot is a float that no other knot lies before.
    return knots, [float(np.nextafter(knots[0], -np.inf)), *(float(np.nextafter(knot, np.inf)) for knot in knots)]


def _side(splits: Sequence[Split], categories: _Categories | None) -> Side:
    """Return what splits on a feature tell apart of it: each knot by itself, what lies between, missing, categories."""
    if categories is None:
        knots, between = _places(splits)
        return Side(Bins(knots, keys=[MISSING, *knots]), [*between, np.nan, *knots])
    bins = Bins(keys=[*categories.keys, MISSING, UNSEEN])
    return Side(bins, [*map(float, categories.codes), np.nan, categories.unseen])


def _at(tree: Tree, value: float) -> Rational:
    (score,) = total([(0, tree)], 1, lambda split: _goes_left(split, value))
    return score


def _tables(booster: Any, categories: Mapping[int, _Categories]) -> Callable[[list[list[Cell]]], Any]:
    """Return how rows become a table that the booster, or an estimator, predicts for."""

    def table(rows: list[list[Cell]]) -> Any:
        if not any(known.is_pandas for known in categories.values()):
            return float_table([[-1.0 if cell == UNSEEN else cell for cell in row] for row in rows])
        import pandas

        columns: dict[str, Any] = {}
        for k, name in enumerate(booster.feature_name()):
            cells = [row[k] for row in rows]
            if k in categories and not categories[k].is_pandas:
                columns[name] = float_table([[-1.0 if cell == UNSEEN else cell] for cell in cells])[:, 0]
            elif k in categories:  # by the name that the user's table has, so that LightGBM finds the code itself
                known: dict[Cell, Any] = dict(zip(categories[k].keys, categories[k].names, strict=True))
                columns[name] = pandas.Categorical([known.get(c) for c in cells], categories=list(categories[k].names))
            else:
                columns[name] = np.array([np.nan if c is MISSING else c for c in cells], dtype=np.float64)
        return pandas.DataFrame(columns)

    return table


def _chances(obj: Any, table: Callable[[list[list[Cell]]], Any]) -> Live:
    return lambda rows: np.asarray((obj.predict_proba if hasattr(obj, "predict_proba") else obj.predict)(table(rows)))


def _answers(obj: Any, table: Callable[[list[list[Cell]]], Any], task: str) -> Live | None:
    if task == "regression":
        return lambda rows: np.asarray(obj.predict(table(rows)))
    if not hasattr(obj, "classes_"):  # a booster predicts probabilities
        return None
    return lambda rows: class_places(obj.predict(table(rows)), obj.classes_)
