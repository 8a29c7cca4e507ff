"""scikit-learn's boosting, with histograms or without: trees over one of the columns that they see, or over two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from flint import fmpq

from suffice.adapters.assemble import step_pieces
from suffice.adapters.draft import part
from suffice.adapters.floats import last_at_most
from suffice.adapters.sklearn_column import Column, Columns, Numeric, as_number, value_of
from suffice.adapters.sklearn_columns import transform
from suffice.adapters.trees import Leaf, Placed, Side, Split, Stair, Tree, by_feature, nodes, pair_shapes, stair, total
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, Pieces


@dataclass(frozen=True, slots=True)
class TreeSteps:
    """What boosted trees make of one column."""

    stair: Stair
    trees: tuple[tuple[int, Tree], ...]
    outputs: int
    known: frozenset[int] | None = None  # codes of a categorical column
    is_single: bool = False  # whether cells are rounded to float32, and missing ones refused

    def pieces(self, column: Numeric) -> list[Pieces]:
        """Return what the trees add to each score, as functions of the user's number."""
        cuts = self.cuts(column, self.stair.thresholds)
        return [step_pieces(cuts, [row[j] for row in self.stair.values], "right") for j in range(self.outputs)]

    def cuts(self, column: Numeric, thresholds: Sequence[float]) -> list[Rational]:
        """Return the last of the user's numbers that is at each threshold or below it."""
        if self.known is not None:
            raise AdapterError("a categorical column of HistGradientBoosting must come from an encoder")
        floats = column.floats
        if floats is None:
            raise AdapterError("boosted trees read a column that does not increase with the user's")
        if not self.is_single:
            return last_at_most(floats, np.array(thresholds))
        return last_at_most(lambda values: floats(values).astype(np.float32).astype(np.float64), np.array(thresholds))

    def at(self, value: float) -> list[Rational] | None:
        """Return what the trees add to each score at one value of their column; None if they take no such value."""
        if self.is_single and np.isnan(value):
            return None
        seen = self.seen(value)
        return list(total(self.trees, self.outputs, lambda split: self.goes_left(split, seen)))

    def seen(self, value: float) -> float:
        """Return a value of the column as the trees see it."""
        return float(np.float32(value)) if self.is_single else value

    def goes_left(self, split: Split, value: float) -> bool:
        """Whether a value of the column goes left; an unknown category goes where missing ones go."""
        if np.isnan(value) or (self.known is not None and int(value) not in self.known):
            return split.missing_left
        return value <= split.threshold if split.categories is None else int(value) in split.categories


def preprocessed(final: Any, columns: Columns) -> Columns:
    """Return the columns that trees see: histogram boosting encodes categories itself."""
    part(final, "_predictors", f"the {type(final).__name__}")
    step = getattr(final, "_preprocessor", None)
    return columns if step is None else transform(step, columns)


def boosted(
    final: Any, columns: int, source: str
) -> tuple[list[TreeSteps], Mapping[tuple[int, int], Sequence[Placed]], list[Rational]]:
    """Return what trees make of each of their columns alone, the trees over two columns, and where scores start."""
    base = np.ravel(part(final, "_baseline_prediction", source))
    read = [(k, _read_tree(predictor, 0)) for iteration in final._predictors for k, predictor in enumerate(iteration)]
    found = by_feature(read, len(base), [f"column {k}" for k in range(columns)])
    is_categorical = getattr(final, "_is_categorical_remapped", None)
    endings = []
    for k in range(columns):
        trees = tuple(found.alone.get(k, ()))
        known = None
        if is_categorical is not None and is_categorical[k]:
            known = frozenset(int(code) for code in final._bin_mapper.bin_thresholds_[k])
        endings.append(TreeSteps(stair(trees, len(base), "right"), trees, len(base), known))
    return endings, found.pairs, [rational(float(b)) + c for b, c in zip(base, found.constant, strict=True)]


def grown(
    final: Any, columns: int, source: str
) -> tuple[list[TreeSteps], Mapping[tuple[int, int], Sequence[Placed]], list[Rational]]:
    """Return the same of boosting without histograms, which rounds cells to float32 and takes no missing ones."""
    trees = part(final, "estimators_", source)
    if final.init_ != "zero" and not type(final.init_).__module__.startswith("sklearn.dummy"):
        raise AdapterError(f"{source} starts from another model (init=); fit it without, or add that model's score")
    base = np.ravel(final._raw_predict_init(np.zeros((1, columns), dtype=np.float32)))
    rate = rational(float(final.learning_rate))
    read = [(k, _grown_tree(tree.tree_, 0, rate)) for stage in trees for k, tree in enumerate(stage)]
    found = by_feature(read, len(base), [f"column {k}" for k in range(columns)])
    endings = []
    for k in range(columns):
        own = tuple(found.alone.get(k, ()))
        endings.append(TreeSteps(stair(own, len(base), "right"), own, len(base), is_single=True))
    return endings, found.pairs, [rational(float(b)) + c for b, c in zip(base, found.constant, strict=True)]


def _grown_tree(tree: Any, at: int, rate: Rational) -> Tree:
    if tree.children_left[at] == -1:
        return Leaf(rate * rational(float(tree.value[at, 0, 0])))
    left, right = (_grown_tree(tree, int(side[at]), rate) for side in (tree.children_left, tree.children_right))
    return Split(int(tree.feature[at]), float(tree.threshold[at]), False, left, right)


def _read_tree(predictor: Any, at: int) -> Tree:
    node = predictor.nodes[at]
    if node["is_leaf"]:
        return Leaf(float(node["value"]))
    left, right = _read_tree(predictor, int(node["left"])), _read_tree(predictor, int(node["right"]))
    codes = None
    if node["is_categorical"]:
        words = predictor.raw_left_cat_bitsets[int(node["bitset_idx"])].tolist()
        codes = frozenset(32 * k + bit for k, word in enumerate(words) for bit in range(32) if word >> bit & 1)
    threshold = np.inf if codes is not None else float(node["num_threshold"])
    return Split(int(node["feature_idx"]), threshold, bool(node["missing_go_to_left"]), left, right, codes)


def tree_pairs(
    trees: Mapping[tuple[int, int], Sequence[Placed]],
    columns: Sequence[Column],
    endings: Sequence[Any],
    domains: Mapping[int, Domain],
    outputs: int,
) -> list[Term]:
    """Return what trees over two columns are as terms over the two features that these come from."""
    for i, j in trees:
        if columns[i].source == columns[j].source:
            raise AdapterError(
                "a tree uses two columns that were made of the same one of yours; give the trees that column as it is"
            )

    thresholds: dict[int, set[float]] = {}
    for some in trees.values():
        for split in (split for _, tree in some for split in nodes(tree)):
            thresholds.setdefault(split.feature, set()).add(split.threshold)
    # The cuts of a column are found all at once, which takes as long as for one of them.
    cuts: dict[int, dict[float, Rational]] = {}
    for k, places in thresholds.items():
        if domains[columns[k].source].spans:
            ascending = sorted(places)
            found = endings[k].cuts(as_number(columns[k], "model"), ascending)
            cuts[k] = dict(zip(ascending, found, strict=True))

    def side(k: int, splits: Sequence[Split]) -> Side:
        return _side(columns[k], endings[k], domains[columns[k].source], splits, cuts.get(k, {}))

    shapes = pair_shapes(trees, outputs, side, lambda split, cell: endings[split.feature].goes_left(split, cell))
    place = {source: k for k, source in enumerate(domains)}
    return [Term((place[columns[i].source], place[columns[j].source]), shape) for (i, j), shape in shapes.items()]


def _side(
    column: Column, ending: TreeSteps, domain: Domain, splits: Sequence[Split], cuts: Mapping[float, Rational]
) -> Side:
    """Return what splits on a column tell apart of the user's column that it comes from."""
    if not domain.spans:
        keys = [*domain.categories_, *domain.codes_]
        found = (value_of(column, nearest_float(key) if isinstance(key, fmpq) else key) for key in keys)
        return Side(Bins(keys=keys), [np.nan if cell is None else ending.seen(cell) for cell in found])
    number = as_number(column, "model")
    thresholds = sorted({split.threshold for split in splits})
    # A value on a threshold goes left; of thresholds with equal cuts the values between them are nowhere taken.
    last = {cuts[threshold]: above for threshold, above in pairwise([*thresholds, np.inf])}
    missing = [ending.seen(number.missing)] if number.missing is not None and MISSING in domain.codes_ else []
    cells = [thresholds[0] if thresholds else np.inf, *last.values(), *missing]
    return Side(Bins(list(last), [MISSING for _ in missing], "right"), cells)
