"""What the scenarios known so far allow: a set that frees more than some cost, or the proof that there is none.

A compiled search with linear bounds visits thousands of nodes in a hundredth of a second. Where that does not end, the
linear relaxation of a node gives a closer bound (its multipliers and shares), and an item to branch on. Relaxations are
floats, which propose; bounds are sums of whole numbers, which decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.errors import BudgetEnded
from suffice.question.budget import Clock
from suffice.solvers.knapsacks import Arrays, Knapsack, Limit, arrays, combined
from suffice.solvers.proofs import Branch, Few, Surrogate, Tree
from suffice.solvers.relaxation import Floats, Relaxed, relax

_QUICK = 2_000  # nodes of the compiled search before a relaxation is asked
_DEEP = 5_000  # and below one
_FIRST = 200_000  # nodes of a search for the first of the best sets
_STEP = 100  # so many of them count as one node of the budget
_KEPT = 6  # surrogates of earlier relaxations that are tried again
_DEEPEST = 100  # levels of relaxations
_MANY, _LATEST = 10, 3  # past so many knapsacks, only those that matter are looked at first, and so many of the latest


class Outcome(NamedTuple):
    """Items that all knapsacks allow to be freed, or a tree that shows that none of them cost enough."""

    freed: tuple[int, ...] | None
    tree: Tree | None


class Master:
    """Quadratic knapsacks over items, all of which hold.

    Parameters
    ----------
    costs : sequence of int
        What each item costs.
    clock : Clock
        Budget of nodes and time.
    """

    def __init__(self, costs: Sequence[int], clock: Clock) -> None:
        self.costs, self.clock, self.nodes = tuple(costs), clock, 0.0
        self.bound = sum(costs)  # nothing that may be freed costs more
        self.knapsacks: list[Knapsack] = []
        self.limits: list[tuple[int, Limit]] = []  # with the numbers of their scenarios
        self.surrogates: list[Surrogate] = []  # of relaxations, the latest last
        # Sums of whole numbers stay below 62 bits, those times costs too.
        self._bits = 60 - (0 if set(costs) <= {1} else sum(costs).bit_length())
        self._arrays: dict[tuple[Surrogate, int | None], Arrays] = {}
        self._floats: Floats | None = None
        self._wanted: set[int] = set()  # knapsacks without which a search found what is not allowed

    def add(self, one: Knapsack) -> None:
        """Add a knapsack."""
        self.knapsacks.append(one)
        self._floats = None
        self._tighten(Surrogate(((len(self.knapsacks) - 1, 1),)))

    def allows(self, freed: Sequence[int]) -> bool:
        """Whether all knapsacks allow some items to be freed."""
        return all(one.allows(freed) for one in self.knapsacks)

    def _tighten(self, row: Surrogate) -> None:
        """Take what one inequality says of the cost that can be freed."""
        from suffice.solvers.knapsack_kernel import most_below

        one, count = self._as_arrays(row, self._bits), len(self.costs)
        loads, room = one.weights + one.parts.sum(axis=1), one.room + np.triu(one.spare).sum()
        order, light, which = np.arange(count), np.empty(count, np.int64), np.empty(count, np.int64)
        costs, is_counting = np.array(self.costs, dtype=np.int64), set(self.costs) <= {1}
        most = most_below(loads, room, order, 0, costs, is_counting, 0, light, which)
        self.bound = min(self.bound, max(int(most), 0))

    def find(self, enough: int) -> Outcome:
        """Return items that cost more than `enough`, or why there are none.

        Raises
        ------
        BudgetEnded
            If neither is known when the budget ends.
        """
        everything = tuple(range(len(self.costs)))
        found = self._search((), everything, enough, _QUICK, self.surrogates[-_KEPT:])
        return self._grow((), everything, enough, 0, _DEEP) if found is None else found

    def first(self, enough: int, order: Sequence[int]) -> tuple[int, ...] | None:
        """Return items that cost more than `enough`: of all such sets the one that keeps the first items it can.

        Each item in the order is kept if some set keeps it beside those kept before. None past a number of nodes, which
        no budget changes, so that one row gets one answer.
        """
        clock, spent = self.clock, self.nodes
        self.clock = Clock(2**62)
        everything = tuple(range(len(self.costs)))
        found = self._search((), everything, enough, _FIRST, self.surrogates[-_KEPT:], order)
        self.clock, self.nodes = clock, spent
        assert found is None or found.freed is not None, "one such set is known"
        return None if found is None else found.freed

    def prove(self, enough: int) -> Tree:
        """Return a small tree that shows that no items cost more than `enough`, which must be so."""
        everything = tuple(range(len(self.costs)))
        if enough >= sum(self.costs):
            return Surrogate(())
        for nodes, deep in ((100, 10), (2**62, _DEEP)):
            self.clock, self.nodes = Clock(nodes), 0.0
            try:
                tree = self._grow((), everything, enough, 0, deep).tree
            except BudgetEnded:
                continue
            assert tree is not None, "there is no such set"
            return tree
        raise AssertionError("a budget without end ended")

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _grow(self, freed: tuple[int, ...], open_: tuple[int, ...], enough: int, depth: int, deep: int) -> Outcome:
        """Look below a node, with the help of its relaxation."""
        self._check_budget()
        self.nodes += 1
        relaxed = self._relax(freed, open_)
        earlier = self.surrogates[-_KEPT:]
        if relaxed.surrogate is not None:
            self.surrogates.append(relaxed.surrogate)
            if depth == 0:
                self._tighten(relaxed.surrogate)
            earlier = [relaxed.surrogate, *earlier]
        most = deep if depth < _DEEPEST and open_ else 2**40
        found = self._search(freed, open_, enough, most, earlier)
        if found is not None:
            return found
        item = open_[int(np.argmin(np.abs(relaxed.freed - 0.5)))]
        rest = tuple(k for k in open_ if k != item)
        kept = self._grow(freed, rest, enough, depth + 1, deep)
        if kept.tree is None:
            return kept
        other = self._grow((*freed, item), rest, enough, depth + 1, deep)
        return other if other.tree is None else Outcome(None, Branch(item, kept.tree, other.tree))

    def _check_budget(self) -> None:
        if self.nodes >= self.clock.nodes or self.clock.is_over:
            raise BudgetEnded

    def _relax(self, freed: Sequence[int], open_: Sequence[int]) -> Relaxed:
        if not self.knapsacks:  # nothing stands against freeing all
            return Relaxed(float(sum(self.costs[k] for k in open_)), None, np.ones(len(open_)))
        if self._floats is None:
            self._floats = Floats.of(self.knapsacks)
        return relax(self._floats, self.costs, freed, open_)

    def _search(
        self, freed: tuple[int, ...], open_: tuple[int, ...], enough: int, most: int, more: Sequence[Surrogate],
        decided: Sequence[int] = (),
    ) -> Outcome | None:  # fmt: skip
        """Search below a node, with some surrogates beside the knapsacks themselves; None past so many nodes.

        Items are decided in an order that may be given, first that they are kept; else as seems best.
        """
        from suffice.solvers import knapsack_kernel as kernel

        self._check_budget()
        most = min(most, int((self.clock.nodes - self.nodes) * _STEP) + 1, 2**24)
        used, bits = self._first_used(more), cast("int | None", self._bits)
        while True:
            rows = list(dict.fromkeys([*more, *(Surrogate(((t, 1),)) for t in used)]))
            order, is_freed = np.empty(len(open_), np.int64), np.empty(len(open_), np.bool_)
            record = np.empty(most, np.int32)
            knapsacks, shift = self._below(freed, open_, rows, bits)
            if decided:
                ranks = np.array([-float(decided.index(k)) for k in open_])
                knapsacks = knapsacks._replace(appeal=np.tile(ranks, (len(rows), 1)))
            costs = np.array([self.costs[k] for k in open_], dtype=object if bits is None else np.int64)
            run = kernel.exact_search if bits is None else kernel.search
            missing = enough - sum(self.costs[k] for k in freed)
            end, nodes = run(
                knapsacks, self._limits(freed, open_, bits), costs, shift, missing, most, order, is_freed, record
            )
            self.nodes += nodes / _STEP
            if end == kernel.UNFINISHED:
                return None
            if end == kernel.NONE:
                return Outcome(None, self._tree(record[:nodes].tolist(), rows, open_))
            found = (*freed, *(open_[i] for i in order[is_freed].tolist()))
            broken = [t for t, one in enumerate(self.knapsacks) if not one.allows(found)]
            if not broken:
                return Outcome(found, None)
            others = [t for t in broken if t not in used]
            self._wanted.update(others)
            used += others
            if not others:  # only rounded numbers allow what exact ones do not
                assert bits is not None
                bits = None

    def _first_used(self, more: Sequence[Surrogate]) -> list[int]:
        """Return the knapsacks to begin with: all if they are few, else those that mattered, and the latest."""
        count = len(self.knapsacks)
        if count <= _MANY:
            return list(range(count))
        mattered = self._wanted.union(t for row in more for t, _ in row.multipliers)
        return sorted(mattered.union(range(count - _LATEST, count)))

    def _tree(self, record: Sequence[int], rows: Sequence[Surrogate], open_: Sequence[int]) -> Tree:
        """Return the tree that a record in preorder stands for."""
        leaves: list[Tree] = [*rows, *(Few(scenario) for scenario, _ in self.limits), Surrogate(())]
        stack: list[Tree] = []
        for entry in reversed(record):
            stack.append(leaves[entry] if entry >= 0 else Branch(open_[-1 - entry], stack.pop(), stack.pop()))
        (tree,) = stack
        return tree

    # --- as arrays ----------------------------------------------------------------------------------------------------

    def _as_arrays(self, row: Surrogate, bits: int | None) -> Arrays:
        if (row, bits) not in self._arrays:
            self._arrays[row, bits] = arrays(combined(self.knapsacks, row.multipliers), row.shares, bits)
        return self._arrays[row, bits]

    def _below(self, freed: Sequence[int], open_: Sequence[int], rows: Sequence[Surrogate], bits: int | None) -> Any:
        """Return inequalities over undecided items, and by how many bits their numbers are too long for floats."""
        from suffice.solvers.knapsack_kernel import Knapsacks

        each = [self._as_arrays(row, bits) for row in rows]
        kind: Any = object if bits is None else np.int64
        count, some, inside = len(each), list(freed), np.ix_(open_, open_)
        shape = (count, len(open_), len(open_))
        weights = np.array([one.weights[list(open_)] for one in each], dtype=kind).reshape(shape[:2])
        products, parts, spare = (
            np.array([table[inside] for table in tables], dtype=kind).reshape(shape)
            for tables in ([one.products for one in each], [one.parts for one in each], [one.spare for one in each])
        )
        rooms = np.array([one.room for one in each], dtype=kind)
        if some:
            weights += np.array([one.products[np.ix_(open_, some)].sum(axis=1) for one in each], dtype=kind)
            rooms -= np.array(
                [one.weights[some].sum() + np.triu(one.products[np.ix_(some, some)]).sum() for one in each], dtype=kind
            )
        size = np.abs(weights) + np.abs(products).sum(axis=2)
        longest = max((int(value).bit_length() for value in size.ravel()), default=0) if bits is None else 0
        shift = max(0, longest - 1000)
        appeal = (size >> shift).astype(float)
        return Knapsacks(weights, products, parts, spare, rooms, appeal), shift

    def _limits(self, freed: Sequence[int], open_: Sequence[int], bits: int | None) -> Any:
        """Return the inequalities over few items; rounded, weights are lower and rooms higher."""
        from suffice.solvers.knapsack_kernel import Limits

        kind: Any = object if bits is None else np.int64
        weights, bases, rooms = [], [], []
        for _, one in self.limits:
            size = sum(map(abs, one.weights)) + sum(map(abs, one.base)) + abs(one.room)
            shift = 0 if bits is None else max(0, size.bit_length() + 1 - bits)
            moving = sorted((*one.base, *(one.weights[k] for k in freed)), reverse=True)[: len(one.base)]
            weights.append([one.weights[k] >> shift for k in open_])
            bases.append([value >> shift for value in moving])
            rooms.append(-(-one.room >> shift))
        few = len(bases[0]) if bases else 0
        return Limits(
            np.array(weights, dtype=kind).reshape(len(rooms), len(open_)),
            np.array(bases, dtype=kind).reshape(len(rooms), few),
            np.array(rooms, dtype=kind),
        )


def prepare() -> None:
    """Compile the search, unless that is done already, so that no budget pays for it."""
    Master((1,), Clock(1))._search((), (0,), enough=1, most=1, more=())
