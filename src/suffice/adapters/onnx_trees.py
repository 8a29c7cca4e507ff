"""Tree ensembles of ONNX: nodes as lists, one entry for each, with the tree and the place that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from suffice.adapters.assemble import step_pieces
from suffice.adapters.parts import Part
from suffice.adapters.trees import Leaf, Placed, Side, Split, Tree, by_feature, goes_below, pair_shapes, stair
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import ZERO, Rational, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Bins, Pieces

_MODES = {b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_GT", b"BRANCH_GTE", b"LEAF"}
_DEEPEST = 200


def trees_of(
    attributes: Mapping[str, Any], count: int, outputs: int, source: str
) -> tuple[list[Part], list[Rational], list[Term]]:
    """Return what the trees of an ensemble add up to: for each column, the constant, and for each two columns."""
    kind = "class" if "class_treeids" in attributes else "target"
    ids = [int(k) for k in attributes[f"{kind}_ids"]]
    if attributes.get("aggregate_function", b"SUM") != b"SUM":
        raise AdapterError(
            f"{source} takes the {attributes['aggregate_function'].decode()} of its trees, not their sum"
        )
    if outputs == 1 and len(set(ids)) != 1:
        raise AdapterError(
            f"{source} has a score for each of two classes, as forests have; one score is read, as boosted trees have"
        )
    weights = np.array(attributes[f"{kind}_weights"], dtype=np.float32).tolist()
    if kind == "class" and outputs == 1 and attributes.get("post_transform", b"NONE") == b"NONE" and min(weights) >= 0:
        raise AdapterError(f"{source} averages probabilities of trees, as forests do; boosted trees are read")
    base = [rational(float(np.float32(b))) for b in attributes.get("base_values") or [0.0] * outputs]
    if len(base) != outputs:
        raise AdapterError(f"{source} starts from {len(base)} scores, but has {outputs}")
    read = _read(attributes, kind, [0] * len(ids) if outputs == 1 else ids, weights, outputs, source)
    found = by_feature(read, outputs, [f"column {k}" for k in range(count)])
    parts = []
    for k in range(count):
        steps = stair(found.alone.get(k, ()), outputs, "left")
        cuts = [rational(threshold) for threshold in steps.thresholds]
        pieces = [step_pieces(cuts, [row[j] for row in steps.values], "left") for j in range(outputs)]
        labelled = [
            Pieces(one.knots, one.slopes, one.offsets, one.values, {MISSING: gone})
            for one, gone in zip(pieces, steps.missing, strict=True)
        ]
        parts.append(Part(tuple(labelled), Domain.reals() | Domain.codes(MISSING)))
    pairs = pair_shapes(found.pairs, outputs, _side, goes_below)
    intercept = [a + b for a, b in zip(base, found.constant, strict=True)]
    return parts, intercept, [Term(two, shape) for two, shape in pairs.items()]


def _side(feature: int, splits: Sequence[Split]) -> Side:
    thresholds = sorted({split.threshold for split in splits if np.isfinite(split.threshold)})
    return Side(Bins([rational(cut) for cut in thresholds], [MISSING], "left"), [-np.inf, *thresholds, np.nan])


def _read(
    attributes: Mapping[str, Any], kind: str, ids: Sequence[int], weights: Sequence[float], outputs: int, source: str
) -> list[Placed]:
    """Return the trees, each once for every score that its leaves add to."""
    modes = list(attributes["nodes_modes"])
    strange = next((mode for mode in modes if mode not in _MODES), None)
    if strange is not None:
        raise AdapterError(f"{source} has nodes of mode {strange.decode()}, which are not read")
    trees, nodes = attributes["nodes_treeids"], attributes["nodes_nodeids"]
    places = {(int(tree), int(node)): k for k, (tree, node) in enumerate(zip(trees, nodes, strict=True))}
    leaves: dict[tuple[int, int, int], Rational] = {}
    for tree, node, output, weight in zip(
        attributes[f"{kind}_treeids"], attributes[f"{kind}_nodeids"], ids, weights, strict=True
    ):
        at = (int(tree), int(node), output)
        leaves[at] = leaves.get(at, ZERO) + rational(weight)
    roots: dict[int, int] = {}
    for tree, node in places:
        roots.setdefault(tree, node)  # the first node that is listed
    used = {(tree, output) for tree, _, output in leaves}
    todo = [(output, tree, root) for tree, root in roots.items() for output in range(outputs) if (tree, output) in used]
    tree_of = _reader(attributes, places, leaves, source)
    return [(output, tree_of(tree, root, output)) for output, tree, root in todo]


def _reader(
    attributes: Mapping[str, Any],
    places: Mapping[tuple[int, int], int],
    leaves: Mapping[tuple[int, int, int], Rational],
    source: str,
) -> Callable[[int, int, int], Tree]:
    """Return how a tree is read for a score: from its number, its root and the score's number."""
    modes, features = list(attributes["nodes_modes"]), list(attributes["nodes_featureids"])
    values = np.array(attributes["nodes_values"], dtype=np.float32)
    truly, falsely = list(attributes["nodes_truenodeids"]), list(attributes["nodes_falsenodeids"])
    tracks = list(attributes.get("nodes_missing_value_tracks_true") or [0] * len(modes))

    def read(tree: int, node: int, output: int, depth: int, seen: set[int]) -> Tree:
        if depth > _DEEPEST or (tree, node) not in places:
            raise AdapterError(f"{source} has a tree with a node {node} that is not there, or too deep: it is damaged")
        if node in seen:
            raise AdapterError(f"{source} has a tree that comes to its node {node} twice: it is damaged")
        seen.add(node)
        k = places[tree, node]
        if modes[k] == b"LEAF":
            return Leaf(leaves.get((tree, node, output), ZERO))
        first, second = (read(tree, int(to[k]), output, depth + 1, seen) for to in (truly, falsely))
        is_true = bool(tracks[k])
        # Numbers are float32, so those up to a threshold are those below the next one.
        is_strict = modes[k] in (b"BRANCH_LT", b"BRANCH_GTE")
        bound = float(values[k] if is_strict else np.nextafter(values[k], np.float32(np.inf)))
        if modes[k] in (b"BRANCH_LEQ", b"BRANCH_LT"):
            return Split(int(features[k]), bound, is_true, first, second)
        return Split(int(features[k]), bound, not is_true, second, first)

    return lambda tree, root, output: read(tree, root, output, 0, set())
