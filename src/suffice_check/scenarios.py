"""Which sets can be sufficient in a model with terms over two features, as far as scenarios can tell.

A scenario is an input of the region, seen from an inequality: by how much each of its changes lowers it alone, and each
two of them beyond that. Whatever a sufficient set frees may change as it does there: what the freed features do alone
and two together leaves the inequality true. That is linear but for products of two choices, which a leaf replaces by
lines below them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.joint import Edge, Joint, read_steps
from suffice_check.ordered import ZERO, Number, floor, times, total
from suffice_check.reading import RejectedError, Value, fields, items, number, only_field, place, whole
from suffice_check.tree import Choices, Cover, Items, Node, leaf, read_node, walk

_SHARES = 16  # of a product: shares are counted in sixteenths
Seen = tuple[int, list[list[Value]]]  # an inequality, and for each feature a place, or nothing where it stays


class Surrogate(NamedTuple):
    """A leaf: scenarios with multipliers, and shares of products of two items."""

    multipliers: list[tuple[int, Fraction]]
    shares: dict[Edge, int]


def read_seen(document: Any) -> Seen:
    """Return a scenario."""
    inequality, places = items(document)
    return whole(inequality, 10**6), [[] if one is None else [place(one)] for one in items(places)]


def read_scenario_tree(document: Any) -> list[Node]:
    """Return the nodes of a tree whose leaves are made of scenarios."""
    return [_read_node(node) for node in items(document)]


def _read_node(document: Any) -> Node:
    kind, content = only_field(document)
    if kind == "few":
        return Node(kind, whole(content, 10**6))
    if kind == "fits":  # items may be freed together, by messages
        return Node(kind, more={"messages": [read_steps(steps) for steps in items(content)]})
    if kind != "surrogate":
        return read_node(document)
    scenarios, shares = fields(content, "scenarios", "shares")
    used = [(whole(t, 10**6), number(text)) for t, text in map(items, items(scenarios))]
    given = {(whole(k, 10**6), whole(other, 10**6)): whole(s, _SHARES + 1) for k, other, s in map(items, items(shares))}
    return Node(kind, more=Surrogate(used, given))


class Scenario(NamedTuple):
    """What an input shows: for an inequality, each feature's change alone, and two changes beyond that."""

    inequality: int
    alone: dict[int, Number]
    both: dict[Edge, Fraction]

    def fall(self, features: Collection[int]) -> Number:
        """Return how far the inequality falls if just these features change so."""
        some = self.alone.keys() & {*features}
        both = (value for (i, j), value in self.both.items() if i in some and j in some)
        return total([*(self.alone[i] for i in some), Number(sum(both, Fraction(0)))])


class Scenarios:
    """Which sets can be sufficient, as far as scenarios can tell; with `few` given, only so many features change."""

    def __init__(self, around: Joint, listed: Sequence[Seen], choices: Choices) -> None:
        self.choices, self.few = choices, around.few
        self.loose = [constraint.loose for constraint in around.constraints]
        self.scenarios = []
        for c, seen in listed:
            if c >= len(self.loose) or len(seen) != len(around.row):
                raise RejectedError("scenarios", "one is not about an inequality, or has not a place for each feature")
            for i, at in enumerate(seen):
                if not all(around.region[i].holds(one) for one in at):
                    raise RejectedError("scenarios", f"{around.parts[i].name!r} is outside its region")
            places = [at[0] if at else x for at, x in zip(seen, around.row, strict=True)]
            changed = [i for i, x in enumerate(around.row) if places[i] != x]
            self.scenarios.append(Scenario(c, *around.scenario(c, places, changed)))
        self.item_of = {i: k for k, item in enumerate(choices.items) for i in item}

    def _is_narrow(self, one: Scenario) -> bool:
        """Whether a scenario changes no more features than may change at once."""
        return self.few is None or len(one.alone) <= self.few

    def breaks(self, freed: Collection[int]) -> bool:
        """Whether items that are freed together, with those that are free in any case, are shown to break the claim."""
        features = self.choices.features(freed)
        return any(self._is_narrow(one) and one.fall(features) > self.loose[one.inequality] for one in self.scenarios)

    def check(self, tree: Sequence[Node], most: int | None, listed: Sequence[Items] = ()) -> None:
        """Check that no set that may be sufficient frees more than `most`, but for those that hold a listed one."""
        walk(tree, self.choices.open, self.breaks, leaf(self._most, most, listed, self.choices))

    def _most(self, node: Node, freed: Items, open_: Items) -> int:
        """Return a bound on the cost of all that is freed at a leaf."""
        if node.kind == "few" and self.few is not None and node.item < len(self.scenarios):
            return self._most_of_few(self.scenarios[node.item], freed, open_)
        if node.kind != "surrogate":
            raise RejectedError("tree", "a leaf has no bound")
        return floor(self._sum(node.more, freed, open_))

    def _sum(self, leaf: Surrogate, freed: Items, open_: Items) -> Number:
        costs, base = self.choices.costs, frozenset(self.choices.free)
        gone = freed | base
        loads = dict.fromkeys(gone | open_, ZERO)
        products: dict[Edge, Fraction] = {}
        parts = [Number(Fraction(self.choices.cost(freed)))]
        for t, multiplier in leaf.multipliers:
            if t >= len(self.scenarios) or multiplier < 0 or not self._is_narrow(self.scenarios[t]):
                raise RejectedError(
                    "tree", "a leaf needs scenarios of as few changes as may be, times numbers from 0 up"
                )
            one = self.scenarios[t]
            parts.append(times(multiplier, self.loose[one.inequality]))
            for i, fall in one.alone.items():
                k = self.item_of[i]
                if k in loads:
                    loads[k] = total([loads[k], times(multiplier, fall)])
            for (i, j), value in one.both.items():
                pair = min(self.item_of[i], self.item_of[j]), max(self.item_of[i], self.item_of[j])
                if pair[0] in loads and pair[1] in loads:
                    products[pair] = products.get(pair, Fraction(0)) + multiplier * value
        for (k, other), value in products.items():
            # Of a product of two choices a line stays below it: all of it where one is decided, else shares of it.
            share = Fraction(leaf.shares.get((k, other), 0 if value > 0 else _SHARES // 2), _SHARES)
            if k == other or other in gone:
                add = [(k, Fraction(1))]
            elif k in gone:
                add = [(other, Fraction(1))]
            elif value > 0:
                add = [(k, share), (other, share)]
                parts.append(Number(share * value))
            else:
                add = [(k, share), (other, 1 - share)]
            for item, part in add:
                loads[item] = total([loads[item], Number(part * value)])
        for k, load in loads.items():
            rest = times(Fraction(-1), load)
            parts.append(rest if k in gone else max(ZERO, total([Number(Fraction(costs[k])), rest])))
        return total(parts)

    def _most_of_few(self, one: Scenario, freed: Items, open_: Items) -> int:
        """Return a bound by a scenario of any number of changes: each few of them fit.

        Of the products of those that change, each feature bears half of the lowest that can be.
        """
        assert self.few is not None
        features = {*self.choices.features([*freed, *open_])}
        below: dict[int, list[Fraction]] = {}
        for (i, j), value in one.both.items():
            if value < 0 and i in features and j in features:
                below.setdefault(i, []).append(value)
                below.setdefault(j, []).append(value)
        falls = [ZERO] * len(self.item_of)
        for i, fall in one.alone.items():
            half = sum(sorted(below.get(i, []))[: self.few - 1], Fraction(0)) / 2
            falls[i] = max(ZERO, total([fall, Number(half)]))
        cover = Cover([self.loose[one.inequality]], [falls], self.choices, self.few)
        return cover._most(freed, open_, [Fraction(1)])
