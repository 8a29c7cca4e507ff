"""No cheaper set is sufficient: a tree over which items are fixed or freed, each leaf closed by a bound."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from suffice_check.drops import Constraint, Drop, total
from suffice_check.reading import RejectedError, items, number, only_field, whole


class Node(NamedTuple):
    """A node of the tree; nodes come in preorder, the side where the item is fixed first."""

    kind: str  # "bound": a leaf; "branch": two subtrees; "fix": one subtree, for the item cannot be freed here
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


class Choices(NamedTuple):
    """Items to fix or to free, each of one or more features; what fixing one costs; what is decided already."""

    items: list[list[int]]
    costs: list[int]
    fix: set[int]
    free: set[int]
    unit: Fraction = Fraction(1)  # what a cost of 1 stands for

    def check(self, fixed: Collection[int]) -> int:
        """Return what some features cost, after checking that they are an allowed choice."""
        held = {k for k, item in enumerate(self.items) if not {*item}.isdisjoint(fixed)}
        if len(fixed) != sum(len(self.items[k]) for k in held):
            raise RejectedError("choices", "an item is fixed in part")
        if self.fix - held or self.free & held:
            raise RejectedError("choices", "the fixed features are not among the sets allowed")
        return self.cost(held)

    def cost(self, chosen: Iterable[int]) -> int:
        """Return what fixing some items costs."""
        return sum(self.costs[k] for k in chosen)


class Cover:
    """A proof that no allowed set of items costs less than a bound, from drops that witnesses show.

    `drops[c][i]` of feature i is attained or approached by values of its region. Items whose features break a
    constraint together cannot be freed together. What is shown holds for all sets that this alone does not rule out.
    """

    def __init__(
        self, constraints: list[Constraint], drops: list[list[Drop]], choices: Choices, max_changed: int | None
    ) -> None:
        self.constraints, self.drops, self.choices, self.max_changed = constraints, drops, choices, max_changed
        self.open = frozenset(range(len(choices.items))) - choices.fix - choices.free

    def check(self, tree: Sequence[Node], lower_bound: int) -> None:
        """Walk through the tree; every node must hold, and no subtree may be missing."""
        most = self.choices.cost({*range(len(self.choices.items))} - self.choices.free) - lower_bound
        nothing: frozenset[int] = frozenset()
        stack = [(nothing, self.open)]
        for node in tree:
            if not stack:
                raise RejectedError("tree", "there are nodes after its end")
            freed, open_ = stack.pop()
            if node.kind == "bound":
                if self.choices.cost(freed) + self._most(freed, open_, node.multipliers) > most:
                    raise RejectedError("tree", f"a leaf does not rule out a cost below {lower_bound}")
                continue
            if node.kind == "fix" and node.item in self.open - open_ - freed:
                stack.append((freed, open_))  # it is fixed already, being worse than one that is
                continue
            if node.item not in open_:
                raise RejectedError("tree", f"item {node.item} is decided twice, or does not exist")
            # Some best set frees an item only with all better ones, and fixes one only with all worse ones.
            more = freed | {node.item} | (self._better[node.item] & open_)
            if node.kind == "branch":
                stack.append((more, open_ - more))
            elif not self._breaks(more):
                raise RejectedError("tree", f"freeing item {node.item} is not shown to break the claim")
            stack.append((freed, frozenset(k for k in open_ - {node.item} if node.item not in self._better[k])))
        if stack:
            raise RejectedError("tree", "a subtree is missing")

    def _features(self, freed: Iterable[int]) -> list[int]:
        return [i for k in (*self.choices.free, *freed) for i in self.choices.items[k]]

    def _breaks(self, freed: Iterable[int]) -> bool:
        """Whether inputs that move only freed features are shown to break the claim."""
        features = self._features(freed)
        return any(
            constraint.breaks(sorted((drops[i] for i in features), reverse=True)[: self.max_changed])
            for constraint, drops in zip(self.constraints, self.drops, strict=True)
        )

    @cached_property
    def _better(self) -> list[frozenset[int]]:
        """For each item those with no larger drop in any constraint and no smaller cost; of twins the earlier one."""
        count, costs = len(self.choices.items), self.choices.costs
        if self.max_changed is not None and any(len(item) > 1 for item in self.choices.items):
            return [frozenset()] * count  # then items do not simply add up
        falls = [[total(drops[i] for i in item) for drops in self.drops] for item in self.choices.items]

        def is_better(a: int, b: int) -> bool:
            if (falls[a], costs[a]) == (falls[b], costs[b]):
                return a < b
            return costs[a] >= costs[b] and all(x <= y for x, y in zip(falls[a], falls[b], strict=True))

        return [frozenset(a for a in self.open if is_better(a, b)) for b in range(count)]

    def _most(self, freed: frozenset[int], open_: frozenset[int], multipliers: Sequence[Fraction]) -> int:
        """Return a bound on the cost of open items that can be freed too: what fits into the sum of all constraints."""
        if len(multipliers) != len(self.constraints) or min(multipliers) < 0:
            raise RejectedError("tree", "a leaf needs a multiplier from 0 up for each inequality")
        used = [c for c, multiplier in enumerate(multipliers) if multiplier]
        base = self._features(freed)
        weight = {
            i: sum((multipliers[c] * self.drops[c][i].value for c in used), Fraction(0))
            for i in [*base, *(i for k in open_ for i in self.choices.items[k])]
        }
        room = sum((multipliers[c] * self.constraints[c].loose for c in used), Fraction(0))
        if self.max_changed is not None:
            return self._most_of_few(open_, [weight[i] for i in base], weight, room, used)
        room -= sum((weight[i] for i in base), Fraction(0))
        if room < 0:
            return 0
        # A knapsack: filled in the order of weight for cost, the last item in part, it holds at least as much.
        loads = {k: sum((weight[i] for i in self.choices.items[k]), Fraction(0)) for k in open_}
        costs, value, last = self.choices.costs, Fraction(0), Fraction(-1)
        for k in sorted(open_, key=lambda k: loads[k] / costs[k]):
            if room == 0 and loads[k]:
                break
            part = min(Fraction(1), room / loads[k]) if loads[k] else Fraction(1)
            value, room, last = value + part * costs[k], room - part * loads[k], loads[k] / costs[k]
        # Full to the brim, a whole value is reached only by items no heavier for their cost than the last: all
        # inequalities used are then tight, which a strict one rules out unless one of its drops is only approached.
        if room == 0 and value.denominator == 1:
            tight = base + [i for k in open_ if loads[k] / costs[k] <= last for i in self.choices.items[k]]
            if self._is_strict(used, tight):
                return int(value) - 1
        return math.floor(value)

    def _most_of_few(
        self, open_: Iterable[int], moving: list[Fraction], weight: dict[int, Fraction], room: Fraction, used: list[int]
    ) -> int:
        """Return the bound where few features move at once: only the largest weights of a set count."""
        fits, is_strict = 0, self._is_strict(used, list(weight))
        for load in sorted(max(weight[i] for i in self.choices.items[k]) for k in open_):
            moving = sorted([*moving, load], reverse=True)[: self.max_changed]
            if sum(moving) > room or (is_strict and sum(moving) == room):
                break
            fits += 1
        return sum(sorted((self.choices.costs[k] for k in open_), reverse=True)[:fits])

    def _is_strict(self, used: Iterable[int], features: Iterable[int]) -> bool:
        tight = list(features)
        return any(
            self.constraints[c].inequality.is_strict and all(self.drops[c][i].edge == 0 for i in tight) for c in used
        )
