"""The constraint of a model with pair terms: what features lower the score by does not add up.

In: a margin, and a `Ground`. Out: what every search asks of a constraint, by the worst labelling of some features.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from suffice.core.anchor import shared
from suffice.core.constraint import INFINITE, NO_DROP, Constraint, Drop, KnownFall, Scenario, total
from suffice.core.graph import climb
from suffice.core.ground import Ground
from suffice.core.worst_case import FAR, LEAST_WORK, Found, ceiling, free_features, sight, worst
from suffice.errors import BudgetEnded, Undecided
from suffice.numbers.exact import ZERO, Rational


@dataclass(frozen=True)
class Joint(Constraint):
    """The constraint of a model with pair terms.

    Parameters
    ----------
    margin, is_strict, max_changed, gap
        See `Constraint`.
    ground : Ground
        The labels of all features around the row, and what they lower the score by; at most so far, where there are
        `floors`.
    floors : Ground, optional
        Labels that lower the score at least so far, where what features do is known between two numbers only: see
        `Tangents`. Then `admits` raises `Undecided` between what is admitted and what is refused for certain. `inner`
        and `outer` have one ground each.
    """

    margin: Rational
    ground: Ground
    is_strict: bool
    max_changed: int | None = None
    gap: Rational = ZERO
    floors: Ground | None = None

    @cached_property
    def inner(self) -> Joint:
        """The ground where features do most beside the least margin."""
        return self if self.floors is None else replace(self, gap=ZERO, floors=None)

    @cached_property
    def outer(self) -> Joint:
        """The ground where features do least beside the largest margin."""
        if self.floors is None:
            return self
        return replace(self, margin=self.margin + self.gap, ground=self.floors, gap=ZERO, floors=None)

    @cached_property
    def drops(self) -> tuple[Drop, ...]:  # type: ignore[override]
        """How far each feature alone can lower the score, pair terms with the others' own values included."""
        return tuple(self._drop(i) for i in range(len(self.ground.row)))

    def _drop(self, i: int) -> Drop:
        ground = self.ground
        if i in ground.infinite:
            return INFINITE
        first, near = ground.graph.first, ground.landscape.around[i]
        own = ground.graph.own[first[i] : first[i + 1]]
        # One feature's fall is off by a unit for itself and one for each pair at most.
        off = 0 if ground.is_exact else 2 * (1 + len(near))
        able = np.flatnonzero(own >= own.max() - off).tolist()
        return max(ground.own_fall(i, label) for label in able)

    @cached_property
    def ceilings(self) -> tuple[Drop, ...]:
        """For each feature its worst label with a share of what its pairs can add, rounded up."""
        ground, graph = self.ground, self.ground.graph
        found = []
        for i, (size, units) in enumerate(zip(np.diff(graph.first), shared(graph).tolist(), strict=True)):
            slack = ground.landscape.steps if ground.is_exact else 1 + len(ground.landscape.around[i])
            most = Drop.of(fmpq(units + slack) * fmpq(2) ** -ground.landscape.bits)
            found.append(INFINITE if i in ground.infinite else NO_DROP if size == 1 else most)
        return tuple(found)

    def admits(self, freed: Collection[int]) -> bool:
        """Whether the claim holds whatever the freed features do."""
        some = frozenset(freed)
        if self.floors is not None:
            if self.inner.admits(some):
                return True
            if self.outer.admits(some):
                raise Undecided
            return False
        if some not in self._admitted:
            self._admitted[some] = self._admits(some)
        return self._admitted[some]

    def _admits(self, freed: frozenset[int]) -> bool:
        if self._is_endless(freed):
            return self.allows(INFINITE)
        low, high = self._limits
        # The very worst labelling is what most can be learned of; otherwise any that breaks the constraint will do.
        enough, fair = (FAR, high) if self.ground.landscape.is_learned else (high, FAR)
        seen = sight(self.ground, freed, self._most, low, enough, fair=fair)
        if seen is not None and not seen.is_above:
            return True
        if seen is not None and seen.sum > high:
            self.ground.visited.add(tuple(seen.labels.tolist()))
            return False
        found = self.worst(freed)
        is_allowed = self.allows(found.fall)
        if not is_allowed:
            self.ground.visited.add(found.labels)
        return is_allowed

    def fall(self, freed: Collection[int]) -> Drop:
        """Return how far the freed features together can lower the score."""
        some = frozenset(freed)
        return INFINITE if self._is_endless(some) else self.worst(some).fall

    def known_fall(self, freed: Collection[int]) -> KnownFall:
        """Return `fall`, or a bound on it where that takes long: by its work, so that no clock decides what is told."""
        some = frozenset(freed)
        key = "known", some, self._most
        if self._is_endless(some):
            return KnownFall(INFINITE, True)
        if key not in self.ground.known:
            self.ground.known[key] = self._known_fall(some)
        found: KnownFall = self.ground.known[key]
        return found

    def _known_fall(self, freed: frozenset[int]) -> KnownFall:
        try:
            return KnownFall(self.worst(freed, work=LEAST_WORK).fall, True)
        except BudgetEnded:
            most = ceiling(self.ground, freed, self._most, work=LEAST_WORK)
        return KnownFall(total(self.ceilings[i] for i in freed) if most is None else Drop.of(most), False)

    def scenario(self, freed: Collection[int]) -> Scenario | None:
        """Return a bad labelling of the freed features, the others changed one by one to lower the score further.

        It is the worst one unless that takes long to find.
        """
        some, ground = frozenset(freed), self.ground
        if self.floors is not None:  # only what inputs do tells of all sets
            return None if self.admits(some) else self.outer.scenario(some)
        if self._is_endless(some):
            weights = [NO_DROP] * len(ground.row)
            for i in some & ground.infinite:
                weights[i] = INFINITE
            return Scenario(tuple(weights), {}, (0,) * len(ground.row))
        low, high = self._limits
        seen = sight(ground, some, self._most, low, FAR, fair=high)
        if seen is not None and not seen.is_above:
            return None
        if seen is not None and seen.sum > high:
            labels = seen.labels
        else:
            found = self.worst(some)
            if self.allows(found.fall):
                return None
            labels = np.array(found.labels)
        others = free_features(ground, [i for i in range(len(ground.row)) if i not in some])
        climb(ground.graph, labels, others, self._most, np.empty_like(ground.graph.own))
        ground.visited.add(tuple(labels.tolist()))
        return ground.scenario(labels)

    def broken_by(self, first: Collection[int], others: Iterable[int]) -> list[int] | None:
        """Return `first`, and the fewest of the others that together with it can break the constraint.

        With `max_changed`, or where the search takes too long, they are few but perhaps not the fewest.
        """
        if self.floors is not None:
            every = [*first, *others]
            return None if self.admits(every) else self.outer.broken_by(first, every)
        ground, begin = self.ground, list(first)
        rest = [i for i in others if i not in set(begin)]
        for endless in [i for i in (*begin, *rest) if i in ground.infinite][:1]:
            return begin if endless in begin else [*begin, endless]
        scenario = self.scenario([*begin, *rest])
        if scenario is None:
            return None
        few = self._reduced(scenario, begin, rest)
        if self.max_changed is not None:
            return few
        moves = ground.graph.moves.copy()
        for i in begin:
            moves[ground.graph.first[i] : ground.graph.first[i + 1]] = 0
        try:
            for count in range(len(few) - len(begin)):
                found = self._breaking([*begin, *rest], count, moves)
                if found is not None:
                    return self._ordered(found, begin, rest)
        except BudgetEnded:
            pass
        return few

    def holds(self, freed: Collection[int], always: Collection[int]) -> bool:
        """Whether the claim holds whatever freed features do, beside some that move and do not count as changes."""
        moving = [*freed, *always]
        if self._is_endless(frozenset(freed)) or not self.ground.infinite.isdisjoint(always):
            return self.allows(INFINITE)
        moves = self.ground.graph.moves.copy()
        for i in always:
            moves[self.ground.graph.first[i] : self.ground.graph.first[i + 1]] = 0
        return self._breaking(moving, self._most, moves) is None

    def breaking_labels(self, moved: Collection[int]) -> tuple[int, ...]:
        """Return a labelling that breaks the constraint by changing some features that can."""
        found = self._breaking(list(moved), self._most, None)
        assert found is not None
        return found

    def _breaking(self, freed: Collection[int], most: int, moves: Any) -> tuple[int, ...] | None:
        """Return a labelling with few changes that breaks the constraint; None if there is none."""
        low, high = self._limits
        seen = sight(self.ground, freed, most, low, FAR, moves, fair=high)
        if seen is not None and not seen.is_above:
            return None
        found = tuple(seen.labels.tolist()) if seen is not None and seen.sum > high else None
        if found is None:
            labels, fall = worst(self.ground, freed, most, moves)
            found = None if self.allows(fall) else labels
        if found is not None:
            self.ground.visited.add(found)
        return found

    def _reduced(self, scenario: Scenario, first: Collection[int], others: Collection[int]) -> list[int]:
        """Return some features without which a scenario would not break the constraint, after `first`."""
        moved = [i for i in others if scenario.labels[i]]
        value, lost = scenario.fall([*first, *moved]).value, self._lost(scenario, {*first, *moved})
        while True:
            edges = {i: Drop(False, ZERO, scenario.weights[i].edge) for i in (*first, *moved)}
            falls = {
                i: Drop(False, value - lost[i], total(one for j, one in edges.items() if j != i).edge) for i in moved
            }
            spare = [i for i in moved if not self.allows(falls[i])]
            if not spare:
                return self._ordered(scenario.labels, first, moved)
            gone = max(spare, key=lambda i: (falls[i], i))
            moved.remove(gone)
            value = falls[gone].value
            for ends, product in scenario.products.items():
                if gone in ends:
                    other = sum(ends) - gone
                    lost[other] = lost.get(other, ZERO) - product  # what stays anyway is never asked

    @staticmethod
    def _lost(scenario: Scenario, moved: set[int]) -> dict[int, Rational]:
        """Return for each of some features by how much less the score falls if it alone of them stays."""
        found = {i: scenario.weights[i].value for i in moved}
        for (i, j), product in scenario.products.items():
            if i in moved and j in moved:
                found[i] += product
                found[j] += product
        return found

    def _ordered(self, labels: Collection[int], first: Collection[int], others: Collection[int]) -> list[int]:
        """Return `first`, then those of the others that a labelling changes, the ones that do most alone first."""
        each = dict(enumerate(labels))
        moved = sorted(
            (i for i in others if each[i]), key=lambda i: (self.ground.own_fall(i, each[i]), -i), reverse=True
        )
        return [*first, *moved]

    def _replace(self, **changes: Any) -> Joint:
        return replace(self, **changes)

    def worst(self, freed: Collection[int], *, work: int | None = None) -> Found:
        """Return the labelling of freed features with the largest fall, as far as there are labels.

        It may take so much work, by default as much as there is time for.
        """
        some = frozenset(freed)
        key = some, self._most
        if key not in self.ground.known:
            self.ground.known[key] = worst(self.ground, some, self._most, work=work)
        found: Found = self.ground.known[key]
        return found

    def _is_endless(self, freed: frozenset[int]) -> bool:
        """Whether some of the features, changing alone, lower the score for ever."""
        return self._most > 0 and not freed.isdisjoint(self.ground.infinite)

    @property
    def _most(self) -> int:
        return len(self.ground.row) if self.max_changed is None else self.max_changed

    @cached_property
    def _admitted(self) -> dict[frozenset[int], bool]:
        return {}

    @cached_property
    def _limits(self) -> tuple[int, int]:
        """The sums in units up to which a fall is allowed for certain, and above which it is not."""
        ground = self.ground
        scale = fmpq(2) ** ground.landscape.bits
        margin, beyond = self.margin * scale, (self.margin + self.gap) * scale
        if not ground.is_exact:
            limits = int(margin.ceil()) - 1 - ground.error, int(beyond.floor()) + ground.error
        else:
            steps = ground.landscape.steps
            low, high = margin / steps, beyond / steps
            # A sum is a multiple of the steps, and less than half of them more or less for its edges.
            limits = (
                int(low.floor()) * steps + (steps // 2 - 1 if low.q != 1 else -1 if self.is_strict else 0),
                int(high.floor()) * steps
                + (steps // 2 - 1 if high.q != 1 else -1 if self.is_strict and not self.gap else 0),
            )
        return max(min(limits[0], FAR), -FAR), max(min(limits[1], FAR), -FAR)
