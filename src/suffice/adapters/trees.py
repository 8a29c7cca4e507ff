"""Boosted trees that use one feature each: their sum is a step function of every feature.

Trees are read into one form whatever the package; those with two features are found by looking at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from suffice.errors import AdapterError
from suffice.numbers.exact import ZERO, Rational, rational

Closed = Literal["left", "right"]


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


def by_feature(
    trees: Iterable[tuple[int, Tree]], outputs: int, names: Sequence[str]
) -> tuple[dict[int, list[tuple[int, Tree]]], list[Rational]]:
    """Sort trees, given with the score that each adds to, by their feature; a tree without splits adds a constant."""
    found: dict[int, list[tuple[int, Tree]]] = {}
    constant = [ZERO] * outputs
    pairs: list[str] = []
    for number, (output, tree) in enumerate(trees):
        used = sorted({split.feature for split in nodes(tree)})
        if not 0 <= output < outputs or any(not 0 <= feature < len(names) for feature in used):
            raise AdapterError(
                f"tree {number} is about a feature or a score that the model does not have; it is damaged"
            )
        if len(used) > 1:
            pairs.append(f"tree {number} uses {' and '.join(names[k] for k in used[:3])}")
        elif used:
            found.setdefault(used[0], []).append((output, tree))
        else:
            assert isinstance(tree, Leaf)
            constant[output] += rational(tree.value)
    if pairs:
        raise AdapterError(
            f"{len(pairs)} trees use several features ({pairs[0]}), so the model is not additive; fit it with depth 1, "
            "or with an interaction constraint for every single feature"
        )
    return found, constant


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
