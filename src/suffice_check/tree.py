"""No cheaper set is sufficient, none is missing, no cheap change breaks the claim: trees over what is fixed and freed.

Nodes come in preorder. A node decides one item, first that it is fixed, then that it is freed; a leaf shows that
nothing below it is an exception to what is said. All sums are those of ordered numbers, so that ties need no care.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from suffice_check.ordered import ZERO, Number, floor, times, total
from suffice_check.reading import RejectedError, items, number, only_field, whole

Items = frozenset[int]


class Node(NamedTuple):
    """A node: "branch" on an item, "fix" one that cannot be freed here, or a leaf: "bound", "listed" or "fits"."""

    kind: str
    item: int = 0  # or the place of a listed set
    multipliers: list[Fraction] = []  # noqa: RUF012
    more: Any = None  # what a leaf of scenarios says


def read_tree(document: Any) -> list[Node]:
    """Return the nodes of a tree."""
    return [read_node(node) for node in items(document)]


def read_node(document: Any) -> Node:
    """Return one node."""
    kind, content = only_field(document)
    if kind == "bound":
        return Node(kind, 0, [number(text) for text in items(content)])
    if kind in ("branch", "fix", "listed"):
        return Node(kind, whole(content, 10**6))
    if kind == "fits" and content is True:
        return Node(kind)
    raise ValueError(f"{kind!r} is not a kind of node")


class Choices(NamedTuple):
    """Items to fix or to free, each of one or more features; what fixing one costs; what is decided already."""

    items: list[list[int]]
    costs: list[int]
    fix: set[int]
    free: set[int]
    unit: Fraction = Fraction(1)  # what a cost of 1 stands for

    @property
    def all(self) -> Items:
        """All items."""
        return frozenset(range(len(self.items)))

    @property
    def open(self) -> Items:
        """The items that are not decided."""
        return self.all - self.fix - self.free

    @property
    def has_groups(self) -> bool:
        """Whether features are tied together."""
        return any(len(item) > 1 for item in self.items)

    def is_plain(self, most: int | None) -> bool:
        """Whether changes can be compared by counting items: all cost the same, and no limit counts features apart."""
        return {*self.costs} <= {1} and not (self.has_groups and most is not None)

    def held(self, fixed: Collection[int]) -> set[int]:
        """Return the items of some features, after checking that they are an allowed choice."""
        kept = {*fixed}
        held = {k for k, item in enumerate(self.items) if not kept.isdisjoint(item)}
        if len(kept) != len(fixed) or len(kept) != sum(len(self.items[k]) for k in held):
            raise RejectedError("choices", "an item is fixed in part")
        if self.fix - held or self.free & held:
            raise RejectedError("choices", "the fixed features are not among the sets allowed")
        return held

    def cost(self, chosen: Iterable[int]) -> int:
        """Return what fixing some items costs."""
        return sum(self.costs[k] for k in chosen)

    def members(self, chosen: Iterable[int]) -> list[int]:
        """Return the features of some items."""
        return [i for k in chosen for i in self.items[k]]

    def features(self, chosen: Iterable[int]) -> list[int]:
        """Return the features of some items, and of those that are free in any case."""
        return self.members([*self.free, *chosen])


def walk(
    tree: Sequence[Node], open_: Items, breaks: Callable[[Items], bool], close: Callable[[Node, Items, Items], None],
    is_better: Callable[[int, int], bool] = lambda a, b: False,
) -> None:  # fmt: skip
    """Walk through a tree: `breaks` says whether items cannot be freed together, `close` checks a leaf.

    Below a node an item is fixed with all open ones that it is better than, then freed with all that are better.
    """
    stack: list[tuple[Items, Items]] = [(frozenset(), open_)]  # items freed, and items open
    for node in tree:
        if not stack:
            raise RejectedError("tree", "there are nodes after its end")
        freed, rest = stack.pop()
        if node.kind not in ("branch", "fix"):
            close(node, freed, rest)
            continue
        if node.item not in rest:
            raise RejectedError("tree", f"item {node.item} is decided twice, or does not exist")
        more = freed | {node.item} | {k for k in rest if is_better(k, node.item)}
        if node.kind == "branch":
            stack.append((more, rest - more))
        elif not breaks(more):
            raise RejectedError("tree", f"freeing item {node.item} is not shown to be impossible")
        stack.append((freed, frozenset(k for k in rest if k != node.item and not is_better(node.item, k))))
    if stack:
        raise RejectedError("tree", "a subtree is missing")


def leaf(
    bound: Callable[[Node, Items, Items], int], most: int | None, listed: Sequence[Items], choices: Choices
) -> Callable[[Node, Items, Items], None]:
    """Return how a leaf is closed: it names a listed set, all of which is fixed, or frees no more than `most`."""

    def close(node: Node, freed: Items, open_: Items) -> None:
        if node.kind == "listed":
            if node.item >= len(listed) or listed[node.item] & (freed | open_ | choices.free):
                raise RejectedError("tree", "a leaf does not fix all items of the set that it names")
        elif most is None or bound(node, freed, open_) > most:
            raise RejectedError("tree", "a leaf does not rule out a cheaper set")

    return close


class Sets(Protocol):
    """Which sets can be sufficient, as far as some evidence tells."""

    def breaks(self, freed: Collection[int]) -> bool:
        """Whether items that are freed together, with those that are free in any case, are shown to break the claim."""

    def check(self, tree: Sequence[Node], most: int | None, listed: Sequence[Items] = ()) -> None:
        """Check that no set that may be sufficient frees more than `most`; or (None) that there is no such set.

        Exceptions are sets in which all items of a listed set are fixed.
        """


class Cover:
    """Which sets can be sufficient, as far as falls that witnesses show can tell.

    `falls[c][i]` of feature i is shown by values of its region. Features whose falls add up to more than `loose[c]`
    cannot be free together; with `few` given, only that many of them move at once.
    """

    def __init__(
        self, loose: Sequence[Number], falls: Sequence[Sequence[Number]], choices: Choices, few: int | None
    ) -> None:
        self.loose, self.falls, self.choices, self.few = loose, falls, choices, few
        self.sums = [[total(row[i] for i in item) for item in choices.items] for row in falls]
        self.base = [total(row[i] for i in choices.features(())) for row in falls]

    def breaks(self, freed: Collection[int]) -> bool:
        """Whether items that are freed together, with those that are free in any case, are shown to break the claim."""
        features = self.choices.features(freed)
        for row, limit in zip(self.falls, self.loose, strict=True):
            falls = [row[i] for i in features]
            if total(falls if self.few is None else sorted(falls, reverse=True)[: self.few]) > limit:
                return True
        return False

    def check(self, tree: Sequence[Node], most: int | None, listed: Sequence[Items] = ()) -> None:
        """Check that no set that may be sufficient frees more than `most`, but for those that hold a listed one."""

        def bound(node: Node, freed: Items, open_: Items) -> int:
            if node.kind != "bound":
                raise RejectedError("tree", "a leaf has no bound")
            return self._most(freed, open_, node.multipliers)

        # Some best set frees an item only with all better ones, and fixes one only with all worse ones. But if sets
        # are listed, all others are ruled out one by one.
        order = {} if listed else {"is_better": self._is_better}
        walk(tree, self.choices.open, self.breaks, leaf(bound, most, listed, self.choices), **order)

    def _is_better(self, a: int, b: int) -> bool:
        """Whether an item has no larger fall in any inequality and no smaller cost; of twins the earlier one has."""
        if self.few is not None and self.choices.has_groups:
            return False  # then items do not simply add up
        costs, falls = self.choices.costs, [(row[a], row[b]) for row in self.sums]
        if costs[a] == costs[b] and all(x == y for x, y in falls):
            return a < b
        return costs[a] >= costs[b] and all(x <= y for x, y in falls)

    def _most(self, freed: Items, open_: Items, multipliers: Sequence[Fraction]) -> int:
        """Return a bound on the cost of all that is freed, by the duality of linear programs."""
        if len(multipliers) != len(self.loose) or min(multipliers) < 0:
            raise RejectedError("tree", "a leaf needs a multiplier from 0 up for each inequality")
        if self.few is not None:
            return self._most_of_few(freed, open_, multipliers)
        used = [c for c, multiplier in enumerate(multipliers) if multiplier]
        parts = [times(multipliers[c], self.loose[c]) for c in used]
        parts += [times(-multipliers[c], self.base[c]) for c in used]
        for k in freed | open_:
            cost = Number(Fraction(self.choices.costs[k]))
            rest = total([cost, *(times(-multipliers[c], self.sums[c][k]) for c in used)])
            parts.append(rest if k in freed else max(ZERO, rest))
        return floor(total(parts))

    def _most_of_few(self, freed: Items, open_: Items, multipliers: Sequence[Fraction]) -> int:
        """Return the bound where few features move at once: only the largest weights of a set count."""

        def weight(i: int) -> Number:
            return total(times(multiplier, row[i]) for multiplier, row in zip(multipliers, self.falls, strict=True))

        room = total(times(multiplier, limit) for multiplier, limit in zip(multipliers, self.loose, strict=True))
        moving, fits = [weight(i) for i in self.choices.features(freed)], 0
        for load in sorted(max(weight(i) for i in self.choices.items[k]) for k in open_):
            moving = sorted([*moving, load], reverse=True)[: self.few]
            if total(moving) > room:
                break
            fits += 1
        dearest = sorted((self.choices.costs[k] for k in open_), reverse=True)
        return self.choices.cost(freed) + sum(dearest[:fits])


def check_irrelevant(
    tree: Sequence[Node], item: int, sets: Sets, choices: Choices, enough: Callable[[list[int], Any], None]
) -> None:
    """Check that freeing an item never breaks a claim that holds with other items freed.

    `enough` checks that fixing some features suffices, given what a leaf says.
    """

    def close(node: Node, freed: Items, open_: Items) -> None:
        if node.kind != "fits":
            raise RejectedError("tree", "a leaf does not show that the claim holds with all that is left freed")
        enough(choices.members(choices.all - choices.free - freed - open_ - {item}), node.more)

    walk(tree, choices.open - {item}, sets.breaks, close)


def check_few(margin: Number, drops: Sequence[Number], choices: Choices, budget: int, most: int | None) -> None:
    """Check that so many items, and those that change at no cost, cannot lower an inequality past its margin."""
    falls = sorted((total(drops[i] for i in choices.items[k]) for k in choices.open), reverse=True)[:budget]
    every = sorted([*falls, *(drops[i] for i in choices.features(()))], reverse=True)
    if total(every[:most]) > margin:
        raise RejectedError("lower bound", "changes below it may be able to break the claim")


def check_changes(
    tree: Sequence[Node], margin: Number, drops: Sequence[Number], choices: Choices, budget: int, most: int | None
) -> None:
    """Check that changes of items which cost no more than a budget cannot lower one inequality by more than its margin.

    Features that are free in any case change at no cost; at most so many features change at once, if that is given.
    """

    def close(node: Node, changed: Items, open_: Items) -> None:
        if node.kind != "bound" or len(node.multipliers) != 2 or min(node.multipliers) < 0:
            raise RejectedError("tree", "a leaf needs two multipliers from 0 up")
        each, price = node.multipliers
        if most is None and each:
            raise RejectedError("tree", "a leaf counts changes, though any number is allowed")

        def load(features: Iterable[int]) -> Number:
            return total(max(ZERO, total([drops[i], Number(-each)])) for i in features)

        parts = [Number(each * (most or 0)), load(choices.features(changed))]
        parts += [Number(price * (budget - choices.cost(changed)))]
        parts += [max(ZERO, total([load(choices.items[k]), Number(-price * choices.costs[k])])) for k in open_]
        if total(parts) > margin:
            raise RejectedError("tree", "a leaf does not rule out a cheaper change")

    walk(tree, choices.open, lambda changed: choices.cost(changed) > budget, close)
