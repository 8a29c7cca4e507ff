"""No smaller set is sufficient: a tree over which features are kept or freed, each leaf closed by a bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.drops import Constraint, Drop
from suffice_check.reading import RejectedError, items, number, only_field, whole


class Node(NamedTuple):
    """A node of the tree; nodes come in preorder, the side where the feature is kept first."""

    kind: str  # "bound": a leaf; "branch": two subtrees; "fix": one subtree, for the feature cannot be freed here
    item: int
    multipliers: list[Fraction]


def read_node(document: Any) -> Node:
    """Return a node."""
    kind, content = only_field(document)
    if kind == "bound":
        return Node(kind, 0, [number(text) for text in items(content)])
    if kind in ("branch", "fix"):
        return Node(kind, whole(content, 10**6), [])
    raise ValueError(f"{kind!r} is not a kind of node")


class Cover(NamedTuple):
    """What is to be shown: any allowed set of features leaves at most `most` of them free.

    `drops[c][i]` are witnessed: a set of freed features whose drops break a constraint is not allowed.
    """

    constraints: list[Constraint]
    drops: list[list[Drop]]
    at_most: int | None
    most: int

    def check(self, tree: Iterable[Node]) -> None:
        """Walk through the tree; every node must hold, and no subtree may be missing."""
        stack: list[tuple[frozenset[int], frozenset[int]]] = [(frozenset(), frozenset(range(len(self.drops[0]))))]
        for node in tree:
            if not stack:
                raise RejectedError("tree", "there are nodes after its end")
            freed, open_ = stack.pop()
            if node.kind == "bound":
                self._check_bound(freed, open_, node.multipliers)
                continue
            if node.item not in open_:
                raise RejectedError("tree", f"feature {node.item} is decided twice, or does not exist")
            rest = open_ - {node.item}
            if node.kind == "branch":
                stack.append((freed | {node.item}, rest))
            elif not self._breaks(freed | {node.item}):
                raise RejectedError("tree", f"freeing feature {node.item} is not shown to break the claim")
            stack.append((freed, rest))
        if stack:
            raise RejectedError("tree", "a subtree is missing")

    def _breaks(self, freed: frozenset[int]) -> bool:
        """Whether inputs that move only freed features are shown to break the claim."""
        most = len(freed) if self.at_most is None else self.at_most
        return any(
            not constraint.allows(sorted((drops[i] for i in freed), reverse=True)[:most])
            for constraint, drops in zip(self.constraints, self.drops, strict=True)
        )

    def _check_bound(self, freed: frozenset[int], open_: frozenset[int], multipliers: Sequence[Fraction]) -> None:
        """Check that the sum of the constraints, each times its multiplier, leaves no room for more than `most`."""
        if len(multipliers) != len(self.constraints) or min(multipliers) < 0:
            raise RejectedError("tree", "a leaf needs a multiplier from 0 up for each inequality")
        used = [c for c, multiplier in enumerate(multipliers) if multiplier]
        weight = {i: sum((multipliers[c] * self.drops[c][i].value for c in used), Fraction(0)) for i in freed | open_}
        room = sum((multipliers[c] * self.constraints[c].margin for c in used), Fraction(0))
        lightest = sorted(open_, key=weight.__getitem__)[: max(0, self.most + 1 - len(freed))]
        if len(freed) + len(lightest) <= self.most:
            return  # there are not that many features
        load = sum(sorted((weight[i] for i in (*freed, *lightest)), reverse=True)[: self.at_most], Fraction(0))
        if load < room or (load == room and not any(self._is_strict(c, freed, open_, weight) for c in used)):
            raise RejectedError("tree", f"a leaf leaves room for {self.most + 1} free features")

    def _is_strict(self, c: int, freed: frozenset[int], open_: frozenset[int], weight: dict[int, Fraction]) -> bool:
        """Whether a sum equal to the room still breaks the claim: inequality c is strict, and its drops are attained.

        Any other set of as many features and the same weight has the same weights, so that only features no heavier
        than the heaviest of the lightest matter.
        """
        drops = self.drops[c]
        needed = self.most + 1 - len(freed)
        heaviest = sorted(weight[i] for i in open_)[needed - 1] if needed > 0 else Fraction(-1)
        matter = freed | {i for i in open_ if self.at_most is not None or weight[i] <= heaviest}
        return self.constraints[c].inequality.is_strict and all(drops[i].is_attained for i in matter)
