"""The cheapest features whose change breaks a claim.

A claim breaks as soon as one of its constraints does, so that each constraint is looked at alone. Without preferences
the least number of changes under which it breaks is found by halving. With costs or groups it is a knapsack to be
filled past the margin at least cost: branch and bound, with exact sums of the features' ceilings; whether a set breaks
the constraint is for the constraint to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from suffice.core.constraint import NO_DROP, Constraint, Drop, total
from suffice.errors import BudgetEnded
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.surd import lower, upper
from suffice.question.budget import Clock
from suffice.question.preferences import Choices


class Break(NamedTuple):
    """Features that can break a constraint, what they cost, and a proven bound on how little any such set costs."""

    part: int  # which constraint breaks
    moved: tuple[int, ...]  # features that change, those with larger drops first
    cost: int
    lower_bound: int


def cheapest_break(constraints: Sequence[Constraint], choices: Choices, clock: Clock) -> Break | None:
    """Return features of least cost that can break one of the constraints; None if all together cannot.

    Parameters
    ----------
    constraints : sequence of Constraint
        Over the same features.
    choices : Choices
        Items that are fixed do not change; those that are free change at no cost; a group costs as much as one item.
    clock : Clock
        Budget; past it the set found may not be the cheapest, and `lower_bound` says what is known.
    """
    if choices.is_plain:
        return _fewest_changes(constraints)
    found = [
        one
        for part, constraint in enumerate(constraints)
        if (one := _Search(constraint, choices, clock).run(part)) is not None
    ]
    if not found:
        return None
    return min(found, key=lambda one: one.cost)._replace(lower_bound=min(one.lower_bound for one in found))


def _fewest_changes(constraints: Sequence[Constraint]) -> Break | None:
    """Return the fewest features that break one of the constraints: the least limit on changes under which one breaks.

    A set of so many features that breaks a constraint exists if and only if the constraint breaks when all features are
    free and so many of them may change at once. Under a limit found so, it breaks with no fewer.
    """
    best: Break | None = None
    known = len(constraints[0].drops) + 1  # fewer than this many changes are known not to suffice
    for part, constraint in enumerate(constraints):
        everything = range(constraint.features)
        moved = constraint.broken_by((), everything)
        if moved is None:
            continue
        # No `low` changes break it, those of `moved` do; charged for rounding, it may not even hold at the row.
        low, high = 0 if constraint.allows(NO_DROP) else -1, len(moved)
        with suppress(BudgetEnded):
            while low + 1 < high:
                middle = (low + high) // 2
                fewer = constraint.with_max_changed(middle).broken_by((), everything)
                if fewer is None:
                    low = middle
                else:
                    moved, high = fewer, len(fewer)
        known = min(known, low + 1)
        if best is None or high < best.cost:
            best = Break(part, tuple(moved), high, high)
    return None if best is None else best._replace(lower_bound=known)


class _Item(NamedTuple):
    """Something that may change: its features, what they lower the score by together at most, and what it costs."""

    features: tuple[int, ...]
    fall: Rational  # no more than what is missing; all of that where without bound
    cost: int


class _Search:
    """Branch and bound for one constraint."""

    def __init__(self, constraint: Constraint, choices: Choices, clock: Clock) -> None:
        self.constraint, self.clock, self.nodes = constraint, clock, 0
        self.base = choices.features(sorted(choices.free))
        fall = total(constraint.ceilings[i] for i in self.base)
        self.missing = ZERO if fall.is_infinite else max(lower(constraint.margin - fall.value), ZERO)
        # A fall beyond what is missing does not help more: capped so, the relaxation is tighter and still one.
        items = [
            _Item(item, self._capped(total(constraint.ceilings[i] for i in item)), choices.costs[k])
            for k, item in enumerate(choices.items)
            if k not in choices.fix and k not in choices.free
        ]
        self.items = sorted(items, key=lambda one: (-one.fall / one.cost, one.features))

    def _capped(self, fall: Drop) -> Rational:
        return self.missing if fall.is_infinite else min(upper(fall.value), self.missing)

    def run(self, part: int) -> Break | None:
        """Return the cheapest break of this constraint."""
        if not self._breaks(self.items):
            return None
        self.best, self.cost = tuple(self.items), sum(item.cost for item in self.items)
        least, is_done = self._bound(0, ZERO), False
        with suppress(BudgetEnded):
            is_done = self._search()
        features = [i for item in self.best for i in item.features]
        moved = self.constraint.broken_by((), [*self.base, *features])
        assert moved is not None
        cost = sum(item.cost for item in self.best if not {*item.features}.isdisjoint(moved))
        return Break(part, tuple(moved), cost, cost if is_done else min(least, cost))

    def _breaks(self, chosen: Sequence[_Item]) -> bool:
        return not self.constraint.admits([*self.base, *(i for item in chosen for i in item.features)])

    def _search(self) -> bool:
        """Look through all sets of items; whether the budget sufficed."""
        stack: list[tuple[int, tuple[_Item, ...], Rational, int]] = [(0, (), ZERO, 0)]
        while stack:
            self.nodes += 1
            if self.nodes > self.clock.nodes or self.clock.is_over:
                return False
            place, chosen, fall, cost = stack.pop()
            if cost >= self.cost or cost + self._bound(place, fall) >= self.cost:
                continue
            if self._breaks(chosen):
                self.best, self.cost = chosen, cost
                continue
            if place < len(self.items):
                item = self.items[place]
                stack.append((place + 1, chosen, fall, cost))
                stack.append((place + 1, (*chosen, item), fall + item.fall, cost + item.cost))
        return True

    def _bound(self, place: int, fall: Rational) -> int:
        """Return the least cost at which the rest can make up for what is missing, if items could be cut in parts."""
        missing, cost = self.missing - fall, ZERO
        for item in self.items[place:]:
            if missing <= 0:
                break
            if item.fall:
                part = min(missing / item.fall, ZERO + 1)
                missing, cost = missing - part * item.fall, cost + part * item.cost
        return int(cost.ceil()) if missing <= 0 else self.cost
