"""Trees of certificates: the solver's own, with leaves scaled to what the checker wants, and grown where it wants more.

In: falls that places show, limits, choices. Out: nodes in preorder. Every leaf is tried here by the checker's own rule
before it is written; one that does not close is branched on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from flint import fmpq

from suffice.certificate.witnesses import NOTHING, NotShownError, Ordered, Shown, total
from suffice.errors import CertificateError
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float
from suffice.question.documents import Json
from suffice.question.preferences import Choices
from suffice.solvers.proofs import Bound, Branch, Grown, Multipliers, Proof, Scenarios, Tree

_MOST_NODES = 50_000
_DIGITS = (12, 30, 60)  # bits of multipliers that are tried before exact ones


class Nodes:
    """Nodes of a tree as they are written, of which all trees of a certificate together may not have too many."""

    def __init__(self, before: int = 0) -> None:
        self.written: list[Json] = []
        self.before = before  # nodes of other trees

    def add(self, kind: str, content: object) -> None:
        """Write a node."""
        self.written.append({kind: content})
        if self.before + len(self.written) > _MOST_NODES:
            raise CertificateError(
                f"the proof would have more than {_MOST_NODES:,} steps; ask about a smaller radius, or fewer sets"
            )


class CoverTree:
    """Proofs that no other set can be sufficient, from falls that places show."""

    def __init__(self, shown: Shown, limits: Sequence[Ordered], choices: Choices, few: int | None) -> None:
        self.falls, self.limits, self.choices, self.few = shown.falls, list(limits), choices, few
        self.base = choices.features(sorted(choices.free))
        self.sums = [[total([row[i] for i in item]) for item in choices.items] for row in self.falls]
        self.open = frozenset(range(len(choices.items))) - choices.fix - choices.free
        self.everything = sum(choices.costs) - sum(choices.costs[k] for k in choices.free)

    def breaks(self, freed: Collection[int]) -> bool:
        """Whether items freed together are shown to break the claim."""
        features = [*self.base, *self.choices.features(freed)]
        return any(
            total(sorted((row[i] for i in features), reverse=True)[: self.few]) > limit
            for row, limit in zip(self.falls, self.limits, strict=True)
        )

    # --- no cheaper set -----------------------------------------------------------------------------------------------

    def cheapest(self, lower_bound: int, proof: Proof | None) -> list[Json]:
        """Return the tree which shows that no set costs less than a bound; a search may have left one to start from."""
        assert not isinstance(proof, Scenarios), "those are of features that act together"
        nodes, most = Nodes(), self.everything - lower_bound
        # Without a tree, one inequality is its own surrogate: the smallest drops are past its margin.
        root = proof.tree if isinstance(proof, Grown) else Bound((ONE,) * len(self.limits)) if proof is None else proof
        stack: list[tuple[Tree, frozenset[int], frozenset[int]]] = [(root, frozenset(), self.open)]
        while stack:
            tree, freed, open_ = stack.pop()
            if isinstance(tree, Bound):
                self._close(nodes, freed, open_, tree.multipliers, most)
                continue
            assert isinstance(tree, Branch), "the other leaves are of features that act together"
            if tree.item not in open_:  # decided already, with another item that is better or worse
                child = tree.freed if tree.item in freed else tree.fixed
                stack.append((child or Bound((ONE,) * len(self.limits)), freed, open_))
                continue
            kept, more = self._decide(tree.item, freed, open_)
            if self.breaks(more):
                nodes.add("fix", tree.item)
            else:
                nodes.add("branch", tree.item)
                stack.append((tree.freed or Bound((ONE,) * len(self.limits)), more, open_ - more))
            stack.append((tree.fixed, freed, kept))
        return nodes.written

    def _decide(self, item: int, freed: frozenset[int], open_: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:
        """Return what stays open if an item is fixed, and what is freed if it is freed."""
        more = freed | {item} | {k for k in open_ if self._is_better(k, item)}
        return frozenset(k for k in open_ if k != item and not self._is_better(item, k)), more

    def _is_better(self, a: int, b: int) -> bool:
        if self.few is not None and self.choices.has_groups:
            return False
        costs, falls = self.choices.costs, [(row[a], row[b]) for row in self.sums]
        if costs[a] == costs[b] and all(x == y for x, y in falls):
            return a < b
        return costs[a] >= costs[b] and all(x <= y for x, y in falls)

    def _close(self, nodes: Nodes, freed: frozenset[int], open_: frozenset[int], hint: Multipliers, most: int) -> None:
        """Write a leaf if some multipliers close the node, else branch on an item and close both sides."""
        stack = [(freed, open_)]
        count = len(self.limits)
        alone = [tuple(ONE if k == c else ZERO for k in range(count)) for c in range(count)]
        while stack:
            freed, open_ = stack.pop()
            found = next(filter(None, (self._leaf(freed, open_, one, most) for one in (hint, *alone))), None)
            if found is not None:
                nodes.add("bound", [str(one) for one in found])
                continue
            if not open_:
                raise NotShownError("a set that would refute the bound is not shown to be insufficient")
            item = max(open_, key=lambda k: (max(nearest_float(row[k][0]) for row in self.sums), -k))
            kept, more = self._decide(item, freed, open_)
            is_fixed = self.breaks(more)
            nodes.add("fix" if is_fixed else "branch", item)
            stack += [] if is_fixed else [(more, open_ - more)]
            stack.append((freed, kept))

    def _leaf(
        self, freed: frozenset[int], open_: frozenset[int], relative: Multipliers, most: int
    ) -> Multipliers | None:
        """Return multipliers in these proportions that close a node, of few digits if they do; None if none do."""
        if self.few is not None:
            return relative if self._most_of_few(freed, open_, relative) <= most else None
        for factor in self._scales(freed, open_, relative):
            scaled = tuple(factor * one for one in relative)
            if self._most(freed, open_, scaled) <= most:
                short = [scaled, *(tuple(rounded(one, bits) for one in scaled) for bits in _DIGITS)]
                closing = (one for one in short if self._most(freed, open_, one) <= most)
                return min(closing, key=lambda some: sum(len(str(one)) for one in some))
        return None

    def _scales(self, freed: frozenset[int], open_: frozenset[int], relative: Multipliers) -> Iterator[Rational]:
        """Yield factors at which the bound may be best: those of the items with which the room is filled."""
        yield ZERO
        weigh = [
            (sum((one * row[k][0] for one, row in zip(relative, self.sums, strict=True)), ZERO), self.choices.costs[k])
            for k in range(len(self.choices.items))
        ]
        room = sum((one * limit[0] for one, limit in zip(relative, self.limits, strict=True)), ZERO)
        for one, row in zip(relative, self.falls, strict=True):
            room -= sum((one * row[i][0] for i in self.base), ZERO)
        room -= sum((weigh[k][0] for k in freed), ZERO)
        if room < 0:  # nothing below is possible at all
            yield fmpq(self.everything + 1) / -room
        for weight, cost in sorted((weigh[k] for k in open_ if weigh[k][0]), key=lambda pair: pair[0] / pair[1]):
            if weight >= room:
                yield cost / weight
                if weight > room:
                    break
            room -= weight

    def _most(self, freed: frozenset[int], open_: frozenset[int], multipliers: Multipliers) -> int:
        parts = []
        used = [c for c, one in enumerate(multipliers) if one]
        for c in used:
            parts.append(_times(multipliers[c], self.limits[c]))
            parts += [_times(-multipliers[c], self.falls[c][i]) for i in self.base]
        for k in (*freed, *open_):
            rest = total(
                [(fmpq(self.choices.costs[k]), ZERO), *(_times(-multipliers[c], self.sums[c][k]) for c in used)]
            )
            parts.append(rest if k in freed else max(NOTHING, rest))
        value, edge = total(parts)
        return int(value.floor()) - (value.q == 1 and edge < 0)

    def _most_of_few(self, freed: frozenset[int], open_: frozenset[int], multipliers: Multipliers) -> int:
        def weight(i: int) -> Ordered:
            return total([_times(one, row[i]) for one, row in zip(multipliers, self.falls, strict=True)])

        room = total([_times(one, limit) for one, limit in zip(multipliers, self.limits, strict=True)])
        moving, fits = [weight(i) for i in (*self.base, *self.choices.features(freed))], 0
        for load in sorted(max(weight(i) for i in self.choices.items[k]) for k in open_):
            moving = sorted([*moving, load], reverse=True)[: self.few]
            if total(moving) > room:
                break
            fits += 1
        dearest = sorted((self.choices.costs[k] for k in open_), reverse=True)
        return sum(self.choices.costs[k] for k in freed) + sum(dearest[:fits])

    # --- no other set -------------------------------------------------------------------------------------------------

    def complete(self, listed: Sequence[frozenset[int]], bound: int | None) -> list[Json]:
        """Return the tree which shows that every sufficient set (that costs less than a bound) holds a listed one."""
        nodes, most = Nodes(), None if bound is None else self.everything - bound
        count = len(self.limits)
        hints = [
            tuple(ONE for _ in range(count)),
            *(tuple(ONE if k == c else ZERO for k in range(count)) for c in range(count)),
        ]
        stack = [(frozenset[int](), self.open)]
        while stack:
            freed, open_ = stack.pop()
            left = [j for j, one in enumerate(listed) if one.isdisjoint(freed)]
            undecided = {j: one & open_ for j in left if (one := listed[j]) is not None}
            done = next((j for j in left if not undecided[j]), None)
            if done is not None:
                nodes.add("listed", done)
                continue
            if most is not None:
                found = next(filter(None, (self._leaf(freed, open_, one, most) for one in hints)), None)
                if found is not None:
                    nodes.add("bound", [str(one) for one in found])
                    continue
            if not open_:
                raise NotShownError("the list of sets is not shown to be complete")
            pool = min(undecided.values(), key=len) if left else open_
            item = max(pool, key=lambda k: (max(nearest_float(row[k][0]) for row in self.sums), -k))
            more = freed | {item}
            is_fixed = self.breaks(more)
            nodes.add("fix" if is_fixed else "branch", item)
            stack += [] if is_fixed else [(more, open_ - more)]
            stack.append((freed, open_ - {item}))
        return nodes.written

    # --- no use -------------------------------------------------------------------------------------------------------

    def irrelevant(
        self, items: Sequence[int], is_idle: Callable[[int], bool], fits: Callable[[Collection[int]], bool]
    ) -> list[list[Json]]:
        """Return for each item the tree which shows that freeing it never breaks what holds with others freed.

        Of an item that can lower nothing there is nothing to show.
        """
        trees: list[list[Json]] = []
        for item in items:
            nodes = Nodes(sum(map(len, trees)))
            trees.append([] if is_idle(item) else self._irrelevant(item, fits, nodes))
        return trees

    def _irrelevant(self, item: int, fits: Callable[[Collection[int]], bool], nodes: Nodes) -> list[Json]:
        order = sorted(self.open - {item}, key=lambda k: (-max(nearest_float(row[k][0]) for row in self.sums), k))
        stack = [(0, frozenset[int]())]
        while stack:
            place, freed = stack.pop()
            if fits([*self.base, *self.choices.features([*freed, *order[place:], item])]):
                nodes.add("fits", True)
                continue
            if place == len(order):
                raise NotShownError("an item that no set needs is not shown to be such")
            more = freed | {order[place]}
            is_fixed = self.breaks(more)
            nodes.add("fix" if is_fixed else "branch", order[place])
            stack += [] if is_fixed else [(place + 1, more)]
            stack.append((place + 1, freed))
        return nodes.written


# --- no cheap change --------------------------------------------------------------------------------------------------


def change_tree(
    drops: Sequence[Ordered], margin: Ordered, choices: Choices, budget: int, most: int | None
) -> list[Json] | None:
    """Return the tree which shows that changes of items within a budget cannot lower a score past its margin.

    None if they can, as far as drops tell.
    """
    nodes = Nodes()
    base = choices.features(sorted(choices.free))
    stack = [(frozenset[int](), frozenset(range(len(choices.items))) - choices.fix - choices.free)]
    while stack:
        changed, open_ = stack.pop()
        spent = sum(choices.costs[k] for k in changed)
        found = None
        for each in _prices(drops, [*base, *choices.features([*changed, *open_])], most):
            loads = {k: total([_above(drops[i], each) for i in choices.items[k]]) for k in (*changed, *open_)}
            start = total(
                [(each * (most or 0), ZERO), *(_above(drops[i], each) for i in base), *(loads[k] for k in changed)]
            )
            for price in _rates(loads, choices.costs, open_, budget - spent):
                parts = [start, (price * (budget - spent), ZERO)]
                parts += [_above(loads[k], price * choices.costs[k]) for k in open_]
                if total(parts) <= margin:
                    found = [str(each), str(price)]
        if found is not None:
            nodes.add("bound", found)
            continue
        if not open_:
            return None
        item = max(open_, key=lambda k: (nearest_float(total([drops[i] for i in choices.items[k]])[0]), -k))
        is_fixed = spent + choices.costs[item] > budget
        nodes.add("fix" if is_fixed else "branch", item)
        stack += [] if is_fixed else [(changed | {item}, open_ - {item})]
        stack.append((changed, open_ - {item}))
    return nodes.written


def _prices(drops: Sequence[Ordered], features: Sequence[int], most: int | None) -> list[Rational]:
    """Return what a change may be said to cost where few are allowed: nothing, or what the last that counts lowers."""
    falls = sorted((drops[i] for i in features), reverse=True)
    return [ZERO] if most is None or most >= len(falls) else [falls[most - 1][0], falls[most][0], ZERO]


def _rates(loads: dict[int, Ordered], costs: Sequence[int], open_: Collection[int], room: int) -> Iterator[Rational]:
    """Yield rates of fall for cost at which the bound may be best."""
    yield ZERO
    for k in sorted(open_, key=lambda k: loads[k][0] / costs[k], reverse=True):
        if costs[k] >= room:
            yield loads[k][0] / costs[k]
            if costs[k] > room:
                break
        room -= costs[k]


def _above(one: Ordered, level: Rational) -> Ordered:
    return max(NOTHING, (one[0] - level, one[1]))


def _times(factor: Rational, one: Ordered) -> Ordered:
    return factor * one[0], factor * one[1]


def rounded(number: Rational, bits: int) -> Rational:
    """Return a number near another one, of so many bits."""
    if not number:
        return ZERO
    shift = bits - int(number.p).bit_length() + int(number.q).bit_length()
    scaled = number * fmpq(2) ** shift
    return fmpq((scaled + fmpq(1, 2)).floor()) / fmpq(2) ** shift
