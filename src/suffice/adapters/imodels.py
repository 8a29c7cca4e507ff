"""imodels: SLIM (linear, with whole weights), TreeGAM (boosted trees of one feature each), FIGS (sums of few trees)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters import sklearn
from suffice.adapters.assemble import step_pieces
from suffice.adapters.cells import class_places, plain_classes, table_maker
from suffice.adapters.draft import Draft, Live, Options, name_features, part
from suffice.adapters.parts import Part, new_model
from suffice.adapters.sklearn_bare import Bare, home_of
from suffice.adapters.sklearn_trees import boosted, float32_tree
from suffice.adapters.trees import Leaf, Placed, Side, Split, Tree, by_feature, pair_shapes, stair
from suffice.errors import AdapterError
from suffice.model.term import Term
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.shapes import Bins

_HALF = rational("1/2")
_INSTEAD = "SLIM, TreeGAM and FIGS of imodels are, and InterpretML's ExplainableBoostingMachine"


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted model of imodels."""
    source, name = f"the {type(obj).__name__}", type(obj).__name__
    kinds = [kind.__name__ for kind in type(obj).__mro__]
    if name.startswith("SLIM"):
        inner = part(obj, "model_", source)
        bare = sklearn.linear(inner, source, _names(obj))
        scores = inner.decision_function if hasattr(obj, "classes_") else inner.predict
        return _draft(obj, bare, options, source, _of_arrays(scores), has_chances=hasattr(obj, "classes_"))
    if "TreeGAM" in kinds:
        return _draft(obj, _tree_gam(obj, source), options, source, _unclipped(obj), has_chances=False)
    if "FIGS" in kinds:
        bare, scores = _figs(obj, source)
        return _draft(obj, bare, options, source, scores, has_chances=hasattr(obj, "classes_"))
    if home_of(obj).startswith(("sklearn.ensemble", "sklearn.linear_model")):
        return sklearn.convert(obj, options)  # a subclass of a model that is read
    raise AdapterError(f"{source} decides by rules or trees over several columns, or is not read here; {_INSTEAD}")


def _names(obj: Any) -> list[str]:
    named = getattr(obj, "feature_names_in_", None)
    count = int(part(obj, "n_features_in_", f"the {type(obj).__name__}"))
    return [f"x{k}" for k in range(count)] if named is None else [str(name) for name in named]


def _of_arrays(scores: Any) -> Any:
    return lambda table: np.asarray(scores(np.asarray(table, dtype=np.float64)))


def _draft(obj: Any, bare: Bare, options: Options, source: str, scores: Any, *, has_chances: bool) -> Draft:
    names = _names(obj)
    features = name_features(names, len(names), options.features)
    classes = plain_classes(obj.classes_) if hasattr(obj, "classes_") else None
    task = "regression" if classes is None else "binary" if len(bare.intercept) == 1 else "multiclass"
    offset = None if task == "binary" and not has_chances else ZERO
    known = options.classes or classes
    model = new_model(bare.parts, bare.intercept, task, features, known, bare.ties, bare.pairs, offset)
    named = names if hasattr(obj, "feature_names_in_") else None
    table = table_maker(named, len(names), range(len(names)), [{}] * len(names))
    chances: Live | None = (lambda rows: np.asarray(obj.predict_proba(table(rows)))) if has_chances else None

    def answers(rows: Any) -> NDArray[Any]:
        given = obj.predict(table(rows))
        return np.asarray(given) if classes is None else class_places(given, classes)

    return Draft(model, source, lambda rows: scores(table(rows)), chances=chances, answers=answers, table=table)


# --- TreeGAM ----------------------------------------------------------------------------------------------------------


def _tree_gam(obj: Any, source: str) -> Bare:
    """Return a bias and trees; a classifier decides for its second class where their sum is above one half."""
    trees = part(obj, "estimators_", source)
    if obj.estimators_marginal:
        raise AdapterError(f"{source} was fitted with marginal trees; leave n_boosting_rounds_marginal= out")
    if any(type(one).__name__ != "DecisionTreeRegressor" for one in trees):
        raise AdapterError(
            f"{source} was fitted with reg_param > 0, whose trees are not read here; leave reg_param= out"
        )
    weights = [float(one) for one in getattr(obj, "cyclic_coef_", [obj.learning_rate] * len(trees))]
    if obj.decay_rate_towards_marginal < 1.0:
        raise AdapterError(f"{source} was fitted with decay_rate_towards_marginal below 1; leave that out")
    read_ = []
    for one, weight in zip(trees, weights, strict=True):
        share = rational(weight)
        read_.append((0, float32_tree(one.tree_, [share * rational(float(v)) for v in one.tree_.value[:, 0, 0]])))
    start = rational(float(obj.bias_)) - (_HALF if hasattr(obj, "classes_") else ZERO)
    return boosted(read_, [start], _names(obj))


def _unclipped(obj: Any) -> Any:
    """Return how to ask for the sum itself: a classifier cuts it off at 0 and 1."""
    base: Any = next(kind for kind in type(obj).__mro__ if kind.__name__ == "TreeGAM")
    plain = base()
    plain.__dict__.update(vars(obj))
    offset = 0.5 if hasattr(obj, "classes_") else 0.0
    return lambda table: plain.predict_proba(table)[:, 1] - offset


# --- FIGS -------------------------------------------------------------------------------------------------------------


def _figs(obj: Any, source: str) -> tuple[Bare, Any]:
    """Return trees over float64 numbers; of two classes, the score is what one has more than the other."""
    roots = part(obj, "trees_", source)
    if hasattr(obj, "_encoder"):
        raise AdapterError(f"{source} encodes categories itself; encode them before, in a pipeline")
    width = int(obj.n_outputs)
    is_two = hasattr(obj, "classes_") and width == 2
    outputs = 1 if is_two else width
    if not hasattr(obj, "classes_") and width > 1:
        raise AdapterError(f"{source} predicts {width} numbers at once; fit one model for each")

    def leaf(values: Any, output: int) -> Rational:
        each = [rational(float(value)) for value in np.broadcast_to(np.ravel(values), (width,))]
        return each[1] - each[0] if is_two else each[output]

    def tree(node: Any, output: int) -> Tree:
        if node.left is None or node.right is None:
            return Leaf(leaf(node.value, output))
        below, above = tree(node.left, output), tree(node.right, output)
        return Split(int(node.feature), float(node.threshold), False, below, above)

    read_: list[Placed] = [(output, tree(root, output)) for root in roots for output in range(outputs)]
    found = by_feature(read_, outputs, _names(obj))
    parts = []
    for k in range(len(_names(obj))):
        steps = stair(found.alone.get(k, ()), outputs, "right")
        cuts = [rational(threshold) for threshold in steps.thresholds]
        parts.append(Part(tuple(step_pieces(cuts, [row[j] for row in steps.values], "right") for j in range(outputs))))
    pairs = [Term(two, shape) for two, shape in pair_shapes(found.pairs, outputs, _side, _goes_left).items()]

    def scores(table: Any) -> NDArray[Any]:
        given = np.asarray(table, dtype=np.float64)
        total = sum(np.asarray(obj._predict_tree(root, given), dtype=np.float64) for root in roots)
        summed = np.asarray(total).reshape(len(given), width)
        return summed[:, 1] - summed[:, 0] if is_two else summed

    return Bare(parts, found.constant, pairs=pairs), scores


def _side(feature: int, splits: Sequence[Split]) -> Side:
    cuts = sorted({split.threshold for split in splits})
    return Side(Bins([rational(cut) for cut in cuts], [], "right"), [*cuts, np.inf])


def _goes_left(split: Split, cell: float) -> bool:
    return cell <= split.threshold
