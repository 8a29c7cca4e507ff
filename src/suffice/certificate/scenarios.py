"""Trees of scenarios: why no cheaper set suffices in a model with terms over two features, as a certificate writes it.

In: the scenarios and the tree of a search. Out: the places of the scenarios that are used, and nodes in preorder. Every
leaf is tried here by the checker's own rule before it is written; one that does not close is branched on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flint import fmpq

from suffice.certificate.trees import Nodes, rounded
from suffice.certificate.witnesses import NOTHING, Ordered, place_document, total
from suffice.core.constraint import Scenario
from suffice.core.joint import Joint
from suffice.core.joint_inputs import breaking_point
from suffice.core.landscape import Spot
from suffice.errors import CertificateError
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float
from suffice.question.documents import Json
from suffice.question.preferences import Choices
from suffice.shapes.infimum import Infimum
from suffice.solvers.knapsacks import SHARES
from suffice.solvers.proofs import Branch, Few, Scenarios, Surrogate, Tree

_DIGITS = (8, 12, 20, 30, 60)  # bits of multipliers that are tried before exact ones


class Seen(NamedTuple):
    """A scenario of an inequality, and its places as they are written."""

    part: int
    alone: dict[int, Ordered]
    both: dict[tuple[int, int], Rational]
    places: list[Json | None]

    def fall(self, features: Collection[int]) -> Ordered:
        """Return how far the inequality falls if just these features change so."""
        some = set(features)
        both = (value for (i, j), value in self.both.items() if i in some and j in some)
        return total([*(fall for i, fall in self.alone.items() if i in some), (sum(both, ZERO), ZERO)])


class _Sum(NamedTuple):
    """One linear inequality over items, which follows from scenarios at a node: loads of open items, and the room."""

    loads: dict[int, Ordered]
    room: Ordered


class ScenarioTree:
    """Proofs that no other set can be sufficient, from scenarios.

    Parameters
    ----------
    constraints : sequence of Joint
        What must be broken for certain, in the true region.
    choices : Choices
    few : int, optional
        How many features may change at once.
    proof : Scenarios, optional
        What a search has left.
    """

    def __init__(
        self, constraints: Sequence[Joint], choices: Choices, few: int | None, proof: Scenarios | None = None
    ) -> None:
        self.constraints, self.choices, self.few = constraints, choices, few
        self.item_of = {i: k for k, item in enumerate(choices.items) for i in item}
        self.limits = [(one.margin + one.gap, fmpq(-1 if one.is_strict else 0)) for one in constraints]
        self.narrow = [self._seen(part, one) for part, one in (proof.scenarios if proof else ())]
        self.wide = [self._seen(part, one) for part, one in (proof.wide if proof else ())]
        self.proof = proof
        self.base = choices.features(sorted(choices.free))
        self.open = frozenset(range(len(choices.items))) - choices.fix - choices.free
        self.everything = sum(choices.costs) - sum(choices.costs[k] for k in choices.free)
        self.used: list[Seen] = []

    # --- scenarios ----------------------------------------------------------------------------------------------------

    def _seen(self, part: int, scenario: Scenario) -> Seen:
        ground = self.constraints[part].ground
        spots = {i: ground.spot(i, label) for i, label in enumerate(scenario.labels) if label}
        alone = {i: (scenario.weights[i].value, self._edge(spot)) for i, spot in spots.items()}
        return Seen(part, alone, dict(scenario.products), self._places(part, spots))

    def _edge(self, spot: Spot) -> Rational:
        # What is about to fall further outweighs all that is only approached.
        return fmpq(spot.edge if spot.edge <= 0 else len(self.item_of) + 1)

    def _places(self, part: int, spots: Mapping[int, Spot]) -> list[Json | None]:
        row = self.constraints[part].ground.row
        return [
            place_document(spots[i].infimum.at, spots[i].infimum.side) if i in spots else None for i in range(len(row))
        ]

    def _at(self, part: int, spots: Mapping[int, Spot]) -> Seen:
        """Return the scenario in which features go to spots."""
        ground = self.constraints[part].ground
        landscape = ground.landscape

        def fall(*some: int) -> Rational:
            value = sum((ground.spot(i, 0).infimum.value - spots[i].infimum.value for i in some), ZERO)
            for e in {e for i in some for e, _ in landscape.around[i]}:
                here = [ground.spot(i, 0) for i in landscape.pairs[e][0]]
                there = [spots[i] if i in some else ground.spot(i, 0) for i in landscape.pairs[e][0]]
                value += landscape.pair_at(e, *here) - landscape.pair_at(e, *there)
            return value

        alone = {i: fall(i) for i in spots}
        pairs = [pair for pair, _ in landscape.pairs if pair[0] in alone and pair[1] in alone]
        both = {(i, j): fall(i, j) - alone[i] - alone[j] for i, j in pairs}
        edged = {i: (value, self._edge(spots[i])) for i, value in alone.items()}
        return Seen(part, edged, both, self._places(part, spots))

    def _index(self, one: Seen) -> int:
        """Return where a scenario is written."""
        if one not in self.used:
            self.used.append(one)
        return self.used.index(one)

    @property
    def written(self) -> list[Any]:
        """The scenarios that the trees so far use."""
        return [[one.part, one.places] for one in self.used]

    def breaks(self, freed: Collection[int]) -> bool:
        """Whether a scenario that is written shows that items freed together break the claim."""
        features = [*self.base, *self.choices.features(freed)]
        return any(self._is_narrow(one) and one.fall(features) > self.limits[one.part] for one in self.used)

    def _is_narrow(self, one: Seen) -> bool:
        return self.few is None or len(one.alone) <= self.few

    def show_break(self, freed: Collection[int]) -> bool:
        """Have it shown that items freed together break the claim, if they do."""
        if self.show_known_break(freed):
            return True
        found = self._breaking([*self.base, *self.choices.features(freed)])
        if found is not None:
            self._index(self._at(*found))
            assert self.breaks(freed), "what breaks the claim is shown to break it"
        return found is not None

    def show_known_break(self, freed: Collection[int]) -> bool:
        """Have it shown that items freed together break the claim, if a scenario of the search does."""
        if self.breaks(freed):
            return True
        features = [*self.base, *self.choices.features(freed)]
        for one in self.narrow:
            if one.fall(features) > self.limits[one.part]:
                self._index(one)
                return True
        return False

    def _breaking(self, features: Collection[int]) -> tuple[int, dict[int, Spot]] | None:
        """Return a constraint, and where some features go to break it; None if they cannot."""
        for part, constraint in enumerate(self.constraints):
            moved = None if constraint.admits(features) else constraint.broken_by((), features)
            if moved is not None:
                ground = constraint.ground
                if ground.infinite.isdisjoint(moved):
                    labels = constraint.breaking_labels(moved)
                    return part, {i: ground.spot(i, labels[i]) for i in moved if labels[i]}
                point, ladders = breaking_point(constraint, moved), ground.landscape.ladders
                return part, {
                    i: Spot.of(
                        ladders[i].axis.cell_of(point[i]), Infimum.attained(ladders[i].function(point[i]), point[i])
                    )
                    for i in moved
                    if point[i] != ground.row[i]
                }
        return None

    def show_needed(self, items: Sequence[int]) -> None:
        """Have it shown that each of some items alone breaks the claim: by one scenario, which says it of each."""
        if self.few is not None or self.base:  # then it changes too many, or others too
            return
        points: dict[int, dict[int, Spot]] = {}
        for k in items:
            found = self._breaking(self.choices.items[k])
            if found is not None:
                points.setdefault(found[0], {}).update(found[1])
        for part, point in points.items():
            self._index(self._at(part, point))

    # --- no cheaper set -----------------------------------------------------------------------------------------------

    def cheapest(self, lower_bound: int) -> list[Json]:
        """Return the tree which shows that no set costs less than a bound."""
        assert self.proof is not None
        nodes, most, root = Nodes(), self.everything - lower_bound, self.proof.tree
        first, needed = root, list[int]()
        while isinstance(first, Branch) and first.freed is None:
            needed.append(first.item)
            first = first.fixed
        self.show_needed(needed)
        stack: list[tuple[Tree, frozenset[int], frozenset[int]]] = [(root, frozenset(), self.open)]
        while stack:
            tree, freed, open_ = stack.pop()
            if not isinstance(tree, Branch):
                self.close(nodes, freed, open_, tree, most)
                continue
            more = freed | {tree.item}
            if tree.freed is None:
                is_broken = self.show_break(more)
                assert is_broken, "an item that a search has ruled out breaks the claim"
            is_fixed = tree.freed is None or self._is_ruled_out(more, open_ - more, tree.freed, most)
            nodes.add("fix" if is_fixed else "branch", tree.item)
            if not is_fixed and tree.freed is not None:
                stack.append((tree.freed, more, open_ - more))
            stack.append((tree.fixed, freed, open_ - more))
        return nodes.written

    def complete(self, listed: Sequence[frozenset[int]], bound: int | None) -> list[Json]:
        """Return the tree which shows that every sufficient set (that costs less than a bound) holds a listed one."""
        nodes, most = Nodes(), None if bound is None else self.everything - bound
        stack = [(frozenset[int](), self.open)]
        while stack:
            freed, open_ = stack.pop()
            left = [j for j, one in enumerate(listed) if one.isdisjoint(freed)]
            done = next((j for j in left if listed[j].isdisjoint(open_)), None)
            if done is not None:
                nodes.add("listed", done)
                continue
            leaf = None if most is None else self.leaf(freed, open_, None, most)
            if leaf is not None:
                nodes.add(*leaf)
                continue
            if not open_:
                raise CertificateError("the list of sets is not complete")
            pool = min((listed[j] & open_ for j in left), key=len) if left else open_
            item = self.heaviest(pool)
            more = freed | {item}
            is_fixed = self.show_break(more)
            nodes.add("fix" if is_fixed else "branch", item)
            stack += [] if is_fixed else [(more, open_ - more)]
            stack.append((freed, open_ - more))
        return nodes.written

    def irrelevant(
        self, item: int, admits: Callable[[Collection[int]], bool], prove: Callable[[Collection[int]], object]
    ) -> list[Json]:
        """Return the tree which shows that freeing an item never breaks what holds with others freed.

        Its leaves have what proves that items may be freed together.
        """
        nodes, stack = Nodes(), [(frozenset[int](), self.open - {item})]
        while stack:
            freed, open_ = stack.pop()
            every = [*self.base, *self.choices.features([*freed, *open_, item])]
            if admits(every):
                nodes.add("fits", prove(every))
                continue
            assert open_, "an irrelevant item breaks nothing that holds without it"
            first = self.heaviest(open_)
            more = freed | {first}
            is_fixed = self.show_break(more)
            nodes.add("fix" if is_fixed else "branch", first)
            stack += [] if is_fixed else [(more, open_ - more)]
            stack.append((freed, open_ - more))
        return nodes.written

    def close(self, nodes: Nodes, freed: frozenset[int], open_: frozenset[int], hint: Tree | None, most: int) -> None:
        """Write a leaf if some scenarios close the node, else branch on an item and close both sides."""
        stack = [(freed, open_)]
        while stack:
            freed, open_ = stack.pop()
            leaf = self.leaf(freed, open_, hint, most)
            if leaf is not None:
                nodes.add(*leaf)
                continue
            if not open_:
                raise AssertionError("a set that would refute the bound is not shown to be insufficient")
            item = self.heaviest(open_)
            more = freed | {item}
            is_fixed = self._is_ruled_out(more, open_ - more, hint, most)
            nodes.add("fix" if is_fixed else "branch", item)
            stack += [] if is_fixed else [(more, open_ - more)]
            stack.append((freed, open_ - more))

    def _is_ruled_out(self, freed: frozenset[int], open_: frozenset[int], hint: Tree | None, most: int) -> bool:
        """Have it shown that items freed together break the claim, if that is known, or nothing else can show it.

        A strict claim may break by less than any number: then no bound rules a set out.
        """
        if self.show_known_break(freed):
            return True
        is_beyond = sum(self.choices.costs[k] for k in freed) > most
        return is_beyond and self.leaf(freed, open_, hint, most) is None and self.show_break(freed)

    def heaviest(self, items: Collection[int]) -> int:
        """Return the item that does most alone in some scenario."""

        def weight(k: int) -> float:
            some = self.choices.items[k]
            return max((nearest_float(one.fall(some)[0]) for one in (*self.used, *self.narrow)), default=0.0)

        return max(items, key=lambda k: (weight(k), -k))

    def leaf(
        self, freed: frozenset[int], open_: frozenset[int], hint: Tree | None, most: int
    ) -> tuple[str, object] | None:
        """Return a leaf that shows that no set below a node frees more, with scenarios of a search; None if none do."""
        if isinstance(hint, Few):
            wide = self.wide[hint.scenario]
            return ("few", self._index(wide)) if self._most_of_few(wide, freed, open_) <= most else None
        tried = [hint] if isinstance(hint, Surrogate) else []
        tried += [Surrogate(((t, 1),)) for t in range(len(self.narrow))]
        for one in (Surrogate(()), *tried):
            found = self._scaled(one, freed, open_, most)
            if found is not None:
                used = [[self._index(self.narrow[t]), str(value)] for t, value in found]
                return "surrogate", {"scenarios": used, "shares": [list(share) for share in one.shares]}
        return None

    def _scaled(
        self, leaf: Surrogate, freed: frozenset[int], open_: frozenset[int], most: int
    ) -> list[tuple[int, Rational]] | None:
        """Return multipliers in the proportions of a leaf that close a node, of few digits if they do."""
        parts = [(t, fmpq(value)) for t, value in leaf.multipliers]
        plain = self._sum(parts, leaf, freed, open_)
        for factor in self._factors(plain, open_):
            scaled = [(t, factor * value) for t, value in parts]
            if self._most(scaled, leaf, freed, open_) <= most:
                short = [scaled, *([(t, rounded(value, bits)) for t, value in scaled] for bits in _DIGITS)]
                closing = (some for some in short if self._most(some, leaf, freed, open_) <= most)
                return min(closing, key=lambda some: sum(len(str(value)) for _, value in some))
        return None

    def _factors(self, one: _Sum, open_: frozenset[int]) -> Iterator[Rational]:
        """Yield factors at which the bound may be best: those of the items with which the room is filled."""
        yield ONE  # as good as any where there are no scenarios
        costs, room = self.choices.costs, one.room[0]
        loads = {k: one.loads[k][0] for k in open_}
        room -= sum((load for load in loads.values() if load < 0), ZERO)
        if room < 0:  # nothing below is possible at all
            yield fmpq(self.everything + 1) / -room
            return
        for k in sorted((k for k in open_ if loads[k] > 0), key=lambda k: (loads[k] / costs[k], k)):
            if loads[k] >= room:
                yield costs[k] / loads[k]
                if loads[k] > room:
                    return
            room -= loads[k]

    def _most(
        self, parts: Sequence[tuple[int, Rational]], leaf: Surrogate, freed: frozenset[int], open_: frozenset[int]
    ) -> int:
        one, costs = self._sum(parts, leaf, freed, open_), self.choices.costs
        sums = [one.room, (fmpq(sum(costs[k] for k in freed)), ZERO)]
        for k in open_:
            value, edge = one.loads[k]
            sums.append(max(NOTHING, (costs[k] - value, -edge)))
        value, edge = total(sums)
        return int(value.floor()) - (value.q == 1 and edge < 0)

    def _sum(
        self, parts: Sequence[tuple[int, Rational]], leaf: Surrogate, freed: frozenset[int], open_: frozenset[int]
    ) -> _Sum:
        gone = freed | self.choices.free
        loads = dict.fromkeys(gone | open_, NOTHING)
        room: Ordered = NOTHING
        products: dict[tuple[int, int], Rational] = {}
        shares = {(k, other): share for k, other, share in leaf.shares}
        for t, multiplier in parts:
            one = self.narrow[t]
            room = total([room, _times(multiplier, self.limits[one.part])])
            for i, fall in one.alone.items():
                k = self.item_of[i]
                if k in loads:
                    loads[k] = total([loads[k], _times(multiplier, fall)])
            for (i, j), value in one.both.items():
                pair = min(self.item_of[i], self.item_of[j]), max(self.item_of[i], self.item_of[j])
                if pair[0] in loads and pair[1] in loads:
                    products[pair] = products.get(pair, ZERO) + multiplier * value
        for (k, other), value in products.items():
            share = fmpq(shares.get((k, other), 0 if value > 0 else SHARES // 2), SHARES)
            if k == other or other in gone:
                add = [(k, ONE)]
            elif k in gone:
                add = [(other, ONE)]
            elif value > 0:
                add = [(k, share), (other, share)]
                room = total([room, (share * value, ZERO)])
            else:
                add = [(k, share), (other, 1 - share)]
            for item, part in add:
                loads[item] = total([loads[item], (part * value, ZERO)])
        room = total([room, *(_times(-ONE, loads[k]) for k in gone)])
        return _Sum(loads, room)

    def _most_of_few(self, one: Seen, freed: frozenset[int], open_: frozenset[int]) -> int:
        assert self.few is not None
        features = {*self.base, *self.choices.features([*freed, *open_])}
        below: dict[int, list[Rational]] = {}
        for pair, value in one.both.items():
            for i in pair if value < 0 and features.issuperset(pair) else ():
                below.setdefault(i, []).append(value)
        falls = {
            i: max(NOTHING, total([fall, (sum(sorted(below.get(i, []))[: self.few - 1], ZERO) / 2, ZERO)]))
            for i, fall in one.alone.items()
        }
        moving = [falls.get(i, NOTHING) for i in (*self.base, *self.choices.features(sorted(freed)))]
        fitting, costs = 0, self.choices.costs
        for load in sorted(max(falls.get(i, NOTHING) for i in self.choices.items[k]) for k in open_):
            moving = sorted([*moving, load], reverse=True)[: self.few]
            if total(moving) > self.limits[one.part]:
                break
            fitting += 1
        return sum(costs[k] for k in freed) + sum(sorted((costs[k] for k in open_), reverse=True)[:fitting])


def _times(factor: Rational, one: Ordered) -> Ordered:
    return factor * one[0], factor * one[1]
