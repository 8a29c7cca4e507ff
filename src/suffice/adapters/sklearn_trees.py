"""scikit-learn's trees, boosted or averaged, if every path of every tree uses one column or two.

`HistGradientBoosting*` compares float64 numbers. All others round every cell to float32 first,
so over the real numbers a jump lies halfway between two float32 numbers. All send `x <= threshold` left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.adapters.assemble import step_pieces
from suffice.adapters.column import Columns, Raw, single
from suffice.adapters.draft import UNSEEN, part
from suffice.adapters.floats import float32_bins, float32_steps
from suffice.adapters.parts import Part
from suffice.adapters.sklearn_bare import Bare
from suffice.adapters.transformers import transform
from suffice.adapters.trees import Leaf, Placed, Side, Split, Tree, by_feature, goes_below, pair_shapes, stair, total
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import Rational, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, Pieces, Table


def hist_boosting(obj: Any, source: str, names: Sequence[str]) -> Bare:
    """Return the parts of histogram boosting, over the columns that it encodes itself."""
    rounds = part(obj, "_predictors", source)
    raw: Columns = [Raw(k) for k in range(len(names))]
    step = getattr(obj, "_preprocessor", None)
    columns = None if step is None else transform(step, raw)
    own = list(names) if columns is None else [names[one.source] for one in single(columns, "model")]
    base = np.ravel(part(obj, "_baseline_prediction", source))
    read = [(k, _hist_tree(one, 0)) for iteration in rounds for k, one in enumerate(iteration)]
    found = by_feature(read, len(base), own)
    is_categorical = getattr(obj, "_is_categorical_remapped", None)
    known: dict[int, list[int]] = {}
    parts = []
    for k in range(len(own)):
        trees = found.alone.get(k, ())
        if is_categorical is not None and is_categorical[k]:
            known[k] = [int(code) for code in obj._bin_mapper.bin_thresholds_[k]]
            parts.append(_categories(trees, len(base), known[k]))
        else:
            steps = stair(trees, len(base), "right")
            cuts = [rational(threshold) for threshold in steps.thresholds]
            pieces = [step_pieces(cuts, [row[j] for row in steps.values], "right") for j in range(len(base))]
            parts.append(_with_missing(pieces, steps.missing))
    intercept = [rational(float(b)) + c for b, c in zip(base, found.constant, strict=True)]
    return Bare(parts, intercept, columns=columns, pairs=_hist_pairs(found.pairs, len(base), known))


def _hist_pairs(
    trees: Mapping[tuple[int, int], Sequence[Placed]], outputs: int, known: Mapping[int, Sequence[int]]
) -> list[Term]:
    """Return what trees over two columns add up to; `known` has the codes of those that are categorical."""

    def side(k: int, splits: Sequence[Split]) -> Side:
        if k in known:
            return Side(Bins(keys=[*map(float, known[k]), MISSING, UNSEEN]), [*known[k], np.nan, np.nan])
        cuts = sorted({split.threshold for split in splits})
        bins = Bins([rational(cut) for cut in cuts if np.isfinite(cut)], [MISSING], "right")
        return Side(bins, [*(cut for cut in cuts if np.isfinite(cut)), np.inf, np.nan])

    def goes_left(split: Split, cell: float) -> bool:
        if np.isnan(cell):
            return split.missing_left
        return cell <= split.threshold if split.categories is None else int(cell) in split.categories

    return [Term(two, shape) for two, shape in pair_shapes(trees, outputs, side, goes_left).items()]


def _with_missing(pieces: Sequence[Pieces], missing: Sequence[Rational]) -> Part:
    labelled = [
        Pieces(one.knots, one.slopes, one.offsets, one.values, {MISSING: value})
        for one, value in zip(pieces, missing, strict=True)
    ]
    return Part(tuple(labelled), Domain.reals() | Domain.codes(MISSING))


def _categories(trees: Sequence[tuple[int, Tree]], outputs: int, codes: Sequence[int]) -> Part:
    def goes_left(split: Split, code: int | None) -> bool:
        return split.missing_left if code is None else code in (split.categories or ())

    entries: dict[Any, Any] = {
        float(code): total(trees, outputs, lambda split, code=code: goes_left(split, code))  # type: ignore[misc]
        for code in codes
    }
    gone = total(trees, outputs, lambda split: goes_left(split, None))  # where unknown categories go too
    table = Table({**entries, MISSING: gone, UNSEEN: gone})
    return Part(table.compile(), Domain.categories(*entries) | Domain.codes(MISSING, UNSEEN))


def _hist_tree(predictor: Any, at: int) -> Tree:
    node = predictor.nodes[at]
    if node["is_leaf"]:
        return Leaf(float(node["value"]))
    left, right = _hist_tree(predictor, int(node["left"])), _hist_tree(predictor, int(node["right"]))
    codes = None
    if node["is_categorical"]:
        words = predictor.raw_left_cat_bitsets[int(node["bitset_idx"])].tolist()
        codes = frozenset(32 * k + bit for k, word in enumerate(words) for bit in range(32) if word >> bit & 1)
    threshold = np.inf if codes is not None else float(node["num_threshold"])
    return Split(int(node["feature_idx"]), threshold, bool(node["missing_go_to_left"]), left, right, codes)


# --- trees of float32 numbers -----------------------------------------------------------------------------------------


def gradient_boosting(obj: Any, source: str, names: Sequence[str]) -> Bare:
    """Return the parts of gradient boosting."""
    rounds = part(obj, "estimators_", source)
    if not (isinstance(obj.init_, str) or type(obj.init_).__name__ in ("DummyClassifier", "DummyRegressor")):
        raise AdapterError(f"{source} starts from a {type(obj.init_).__name__}; leave init= out")
    base = obj._raw_predict_init(np.zeros((1, len(names)), dtype=np.float32))[0]
    rate = rational(float(obj.learning_rate))
    trees = [
        (k, float32_tree(one.tree_, [rate * rational(float(value)) for value in one.tree_.value[:, 0, 0]]))
        for iteration in rounds
        for k, one in enumerate(iteration)
    ]
    bare = boosted(trees, [rational(float(value)) for value in base], names)
    return replace(bare, ties="positive")  # a raw score from 0 up is the positive class


def ada_boost(obj: Any, source: str, names: Sequence[str]) -> Bare:
    """Return the parts of AdaBoost: every tree votes for one class, with its weight."""
    learners = part(obj, "estimators_", source)
    if not hasattr(obj, "classes_"):
        raise AdapterError(
            f"{source} predicts the median of its trees, which is no sum; use GradientBoostingRegressor(max_depth=1)"
        )
    kinds = {type(one).__name__ for one in learners}
    if kinds != {"DecisionTreeClassifier"}:
        raise AdapterError(f"{source} boosts a {kinds.pop()}; trees of depth 1, its default, are read")
    classes = list(obj.classes_)
    weights = [rational(float(weight)) for weight in obj.estimator_weights_[: len(learners)]]
    whole = rational(float(obj.estimator_weights_.sum()))
    trees = []
    for learner, weight in zip(learners, weights, strict=True):
        chosen = [classes.index(learner.classes_[k]) for k in learner.tree_.value[:, 0, :].argmax(axis=1)]
        share = weight / whole
        if len(classes) == 2:
            trees.append((0, float32_tree(learner.tree_, [2 * share if k else -2 * share for k in chosen])))
            continue
        for j in range(len(classes)):
            less = -share / (len(classes) - 1)
            trees.append((j, float32_tree(learner.tree_, [share if k == j else less for k in chosen])))
    return boosted(trees, [rational(0)] * (1 if len(classes) == 2 else len(classes)), names)


def forest(obj: Any, source: str, names: Sequence[str]) -> Bare:
    """Return the parts of a tree, or of the mean of several, that predicts a number; missing cells have a way too."""
    if hasattr(obj, "classes_"):
        raise AdapterError(
            f"{source} compares shares of classes in leaves, which are no scores, and is not read here; use "
            "HistGradientBoosting with max_depth 1 or 2, or with interaction_cst='no_interactions' or 'pairwise'"
        )
    if part(obj, "n_outputs_", source) != 1:
        raise AdapterError(f"{source} predicts {obj.n_outputs_} targets at once; fit one model for each")
    trees = [one.tree_ for one in getattr(obj, "estimators_", [obj])]
    read = [(0, float32_tree(one, [rational(float(v)) / len(trees) for v in one.value[:, 0, 0]])) for one in trees]
    return boosted(read, [rational(0)], names, takes_missing=True)


def boosted(
    trees: Sequence[tuple[int, Tree]], base: Sequence[Rational], names: Sequence[str], *, takes_missing: bool = False
) -> Bare:
    """Return the parts of a sum of trees over float32 numbers."""
    found = by_feature(trees, len(base), names)
    parts = []
    for k in range(len(names)):
        steps = stair(found.alone.get(k, ()), len(base), "left")
        pieces = [float32_steps(steps.thresholds, [row[j] for row in steps.values]) for j in range(len(base))]
        parts.append(_with_missing(pieces, steps.missing) if takes_missing else Part(tuple(pieces)))
    pairs = pair_shapes(found.pairs, len(base), _side_with_missing if takes_missing else _side, goes_below)
    intercept = [a + b for a, b in zip(base, found.constant, strict=True)]
    return Bare(parts, intercept, pairs=[Term(two, shape) for two, shape in pairs.items()])


def _side(feature: int, splits: Sequence[Split]) -> Side:
    thresholds = sorted({split.threshold for split in splits})
    return Side(float32_bins(thresholds, []), [-np.inf, *thresholds])


def _side_with_missing(feature: int, splits: Sequence[Split]) -> Side:
    thresholds = sorted({split.threshold for split in splits})
    return Side(float32_bins(thresholds, [MISSING]), [-np.inf, *thresholds, np.nan])


def float32_tree(tree: Any, values: Sequence[Rational]) -> Tree:
    """Return a tree with what it adds at each node, were that a leaf."""

    def read(at: int) -> Tree:
        if tree.children_left[at] < 0:
            return Leaf(values[at])
        left, right = read(int(tree.children_left[at])), read(int(tree.children_right[at]))
        goes_left = bool(tree.missing_go_to_left[at])
        return Split(int(tree.feature[at]), _first_right(float(tree.threshold[at])), goes_left, left, right)

    return read(0)


def _first_right(threshold: float) -> float:
    """Return the smallest float32 above a threshold."""
    near = np.float32(threshold)
    return float(near if float(near) > threshold else np.nextafter(near, np.float32(np.inf)))
