"""Boosted trees that use one feature or two each: their sum is a step function of every feature and of every two.

Trees are read into one form whatever the package; which features a tree uses is found by looking at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from suffice.errors import AdapterError
from suffice.model.additive import Feature
from suffice.numbers.exact import ONE, ZERO, Rational, rational
from suffice.shapes import Bins, PairPieces, PairShape, PairSteps
from suffice.shapes.axis import united
from suffice.shapes.pair_pieces import combine_pairs

Closed = Literal["left", "right"]

# Trees of some thousand splits can tell apart as many millions of cells, which no file should ask for.
_MOST_CELLS = 4_000_000  # of all trees over two columns


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where a tree ends: what it adds to which score."""

    value: float | Rational


@dataclass(frozen=True, slots=True)
class Split:
    """A question about one feature.

    Parameters
    ----------
    feature : int
        Which one.
    threshold : float
        Numbers below it go left; the number itself goes left too if the tree closes bins on the right.
    categories : frozenset of int, or None
        Codes that go left, of a categorical split; `threshold` then has no meaning.
    missing_left : bool
        Where a missing cell goes.
    """

    feature: int
    threshold: float
    missing_left: bool
    left: Tree
    right: Tree
    categories: frozenset[int] | None = None


Tree: TypeAlias = Leaf | Split

_NOTHING = Leaf(0.0)


@dataclass(frozen=True, slots=True)
class Stair:
    """The sum of one feature's trees: thresholds, the scores in between, and the scores of a missing cell."""

    thresholds: tuple[float, ...]
    values: tuple[tuple[Rational, ...], ...]
    missing: tuple[Rational, ...]


def nodes(tree: Tree) -> Iterable[Split]:
    """Yield all splits of a tree."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Split):
            yield node
            todo += [node.left, node.right]


Placed: TypeAlias = tuple[int, Tree]  # which score a tree adds to


class Sorted(NamedTuple):
    """Trees by the features that they use, and what those without splits add to each score."""

    alone: Mapping[int, list[Placed]]
    pairs: Mapping[tuple[int, int], list[Placed]]
    constant: list[Rational]


def by_feature(trees: Iterable[Placed], outputs: int, names: Sequence[str]) -> Sorted:
    """Sort trees, given with the score that each adds to, by their features.

    A tree is the sum of its leaves, each where its path leads. So it is taken apart by the features that its paths use:
    one that asks about `a`, then about `b` on the one side and about `c` on the other, is a sum of terms over `a` and
    `b` and over `a` and `c`. A tree without splits adds a constant.
    """
    alone: dict[int, list[Placed]] = {}
    pairs: dict[tuple[int, int], list[Placed]] = {}
    constant = [ZERO] * outputs
    larger: list[str] = []
    for number, (output, tree) in enumerate(trees):
        if not 0 <= output < outputs or any(not 0 <= split.feature < len(names) for split in nodes(tree)):
            raise AdapterError(
                f"tree {number} is about a feature or a score that the model does not have; it is damaged"
            )
        for used in sorted(_paths(tree, frozenset()), key=sorted):
            chosen = tuple(sorted(used))
            if len(chosen) > 2:
                larger.append(f"tree {number} asks about {', '.join(names[k] for k in chosen[:3])}")
            elif len(chosen) == 2:
                pairs.setdefault((chosen[0], chosen[1]), []).append((output, _only(tree, used)))
            elif chosen:
                alone.setdefault(chosen[0], []).append((output, _only(tree, used)))
            else:
                assert isinstance(tree, Leaf)
                constant[output] += rational(tree.value)
    if larger:
        raise AdapterError(
            f"a path of a tree uses three features or more ({larger[0]}; {len(larger)} in all do), so the model is no "
            "sum of terms over one or two; fit it with depth 2 at most, or with interaction constraints of two each"
        )
    return Sorted(alone, pairs, constant)


def _paths(tree: Tree, used: frozenset[int]) -> set[frozenset[int]]:
    """Return which features the way to each leaf asks about."""
    if isinstance(tree, Leaf):
        return {used}
    below = used | {tree.feature}
    return _paths(tree.left, below) | _paths(tree.right, below)


def _only(tree: Tree, features: frozenset[int], used: frozenset[int] = frozenset()) -> Tree:
    """Return a tree with the leaves that just these features lead to, and 0 elsewhere."""
    if isinstance(tree, Leaf):
        return tree if used == features else _NOTHING
    below = used | {tree.feature}
    left, right = _only(tree.left, features, below), _only(tree.right, features, below)
    return _NOTHING if left is right is _NOTHING else replace(tree, left=left, right=right)


class Side(NamedTuple):
    """What a tree tells apart of one feature: its bins, and for each bin a cell that stands for all of it."""

    bins: Bins
    cells: Sequence[float]  # NaN for a missing cell


def pair_shapes(
    trees: Mapping[tuple[int, int], Sequence[Placed]],
    outputs: int,
    side: Callable[[int, Sequence[Split]], Side],
    goes_left: Callable[[Split, float], bool],
) -> dict[tuple[int, int], PairShape]:
    """Return the table that the trees over each two features add up to.

    Parameters
    ----------
    side : function
        Returns what splits on a feature tell apart of it; without splits, the categories of one that has no numbers.
    goes_left : function
        Where a split sends a cell.
    """
    found: dict[tuple[int, int], PairShape] = {}
    count = 0
    for (first, second), some in trees.items():
        parts: list[list[tuple[Rational, PairPieces]]] = [[] for _ in range(outputs)]
        for output, tree in some:
            splits = list(nodes(tree))
            rows, columns = (side(k, [split for split in splits if split.feature == k]) for k in (first, second))
            count += len(rows.cells) * len(columns.cells)
            _check_cells(count, _MOST_CELLS)
            leaves = [
                [rational(_leaf(tree, {first: x, second: y}, goes_left)) for y in columns.cells] for x in rows.cells
            ]
            (pieces,) = PairSteps(rows.bins, columns.bins, leaves).compile()
            parts[output].append((ONE, pieces))
        across, along = (len(united([one.axes[k] for part in parts for _, one in part])) for k in (0, 1))
        _check_cells(across * along, _MOST_CELLS // outputs)
        zero = combine_pairs([(ZERO, next(one for part in parts for _, one in part))])
        sides = [side(k, []).bins for k in (first, second)]
        keys = [bins.keys if bins.cuts is None else None for bins in sides]
        found[first, second] = PairSteps.of_pieces([combine_pairs(part) if part else zero for part in parts], keys)
    return found


def _check_cells(count: int, most: int) -> None:
    if count > most:
        raise AdapterError(
            f"trees over two columns tell more than {most} cells apart, which are not read; fit fewer or smaller ones, "
            "or with fewer bins"
        )


def goes_below(split: Split, cell: float) -> bool:
    """Whether a cell goes left where what is below the threshold does, and a missing one as the split says."""
    if np.isnan(cell):
        return split.missing_left
    return cell < split.threshold if split.categories is None else int(cell) in split.categories


def by_names(
    pairs: Mapping[tuple[int, int], PairShape], features: Sequence[Feature]
) -> dict[tuple[str, str], PairShape]:
    """Return the shapes of pairs by the names of their features."""
    return {(features[i].name, features[j].name): shape for (i, j), shape in pairs.items()}


def _leaf(tree: Tree, cells: Mapping[int, float], goes_left: Callable[[Split, float], bool]) -> float | Rational:
    node = tree
    while isinstance(node, Split):
        node = node.left if goes_left(node, cells[node.feature]) else node.right
    return node.value


def stair(trees: Sequence[tuple[int, Tree]], outputs: int, closed: Closed) -> Stair:
    """Return the step function that one feature's trees add up to."""
    first = [ZERO] * outputs
    changes: dict[float, list[Rational]] = {}
    for output, tree in trees:
        own = sorted({split.threshold for split in nodes(tree) if np.isfinite(split.threshold)})
        # One number of each bin stands for all: the end that belongs to it.
        places = [*own, np.inf] if closed == "right" else [-np.inf, *own]
        values = [rational(_at_number(tree, place, closed)) for place in places]
        first[output] += values[0]
        for threshold, (below, above) in zip(own, pairwise(values), strict=True):
            changes.setdefault(threshold, [ZERO] * outputs)[output] += above - below
    rows = [tuple(first)]
    for threshold in sorted(changes):
        rows.append(tuple(a + b for a, b in zip(rows[-1], changes[threshold], strict=True)))
    return Stair(tuple(sorted(changes)), tuple(rows), total(trees, outputs, lambda split: split.missing_left))


def _at_number(tree: Tree, at: float, closed: Closed) -> float | Rational:
    node = tree
    while isinstance(node, Split):
        goes_left = at <= node.threshold if closed == "right" else at < node.threshold
        node = node.left if goes_left else node.right
    return node.value


def total(trees: Sequence[tuple[int, Tree]], outputs: int, goes_left: Callable[[Split], bool]) -> tuple[Rational, ...]:
    """Return the exact sum of the leaves that are reached."""
    sums = [ZERO] * outputs
    for output, tree in trees:
        node = tree
        while isinstance(node, Split):
            node = node.left if goes_left(node) else node.right
        sums[output] += rational(node.value)
    return tuple(sums)
