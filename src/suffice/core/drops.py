"""Margins and drops: all that the searches need to know of a model whose features act each for itself.

In: a function of each feature, its value at the row, and the region. Out: drops (numbers alone) and for each feature
its `Worst` case (where the drop comes from). A margin and drops make a `Separable` constraint.
Guaranteed: with the features of `S` fixed and all others free, the claim holds everywhere in the region if and only if
`constraint.admits` the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from typing import Any, NamedTuple

from suffice.core.constraint import INFINITE, NO_DROP, Constraint, Drop, Scenario, total
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes.function import Function, Lowest
from suffice.shapes.infimum import Infimum


@dataclass(frozen=True)
class Separable(Constraint):
    """The constraint of a model whose features act each for itself: how far each lowers the score adds up.

    Parameters
    ----------
    margin, is_strict, max_changed, gap
        See `Constraint`.
    drops : tuple of Drop
        How far each feature can lower the score.

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> tie = Separable(rational(1), (Drop.of(rational(1)),), is_strict=True)
    >>> tie.admits([0])
    False
    """

    margin: Rational
    drops: tuple[Drop, ...]
    is_strict: bool
    max_changed: int | None = None
    gap: Rational = ZERO

    @property
    def ceilings(self) -> tuple[Drop, ...]:
        """The drops, which add up."""
        return self.drops

    def admits(self, freed: Collection[int]) -> bool:
        """Whether the claim holds whatever the freed features do."""
        moving = self._movers(freed)
        near, limit = sum([self.floats[i] for i in moving]), self._float_margin
        # Each float is within 2^-53 of its drop, relatively, or within the smallest float; so is each partial sum.
        error = (near + abs(limit)) * (len(moving) + 4) * 2.0**-51 + (len(moving) + 1) * 1e-320 + self._float_gap
        if near + error < limit:
            return True
        if limit < near - error:
            return False
        return self.allows(total(self.drops[i] for i in moving))

    def fall(self, freed: Collection[int]) -> Drop:
        """Return how far the freed features together can lower the score."""
        return total(self.drops[i] for i in self._movers(freed))

    def scenario(self, freed: Collection[int]) -> Scenario | None:
        """Return the worst case of every feature, or of as many freed ones as may change; None if that is allowed."""
        if self.admits(freed):
            return None
        if self.max_changed is None:
            return Scenario(self.drops)
        moving = set(self._movers(freed))
        return Scenario(tuple(drop if i in moving else NO_DROP for i, drop in enumerate(self.drops)))

    def broken_by(self, first: Collection[int], others: Iterable[int]) -> list[int] | None:
        """Return `first`, and the fewest of the others that together with it can break the constraint."""
        drops = self.drops
        moved, fall = list(first), total(drops[i] for i in first)
        for i in sorted(
            (i for i in others if drops[i].is_infinite or drops[i].value), key=lambda i: drops[i], reverse=True
        ):
            if not self.allows(fall):
                break
            moved.append(i)
            fall = total((fall, drops[i]))
        return None if self.admits(moved) else moved

    def _replace(self, **changes: Any) -> Separable:
        return replace(self, **changes)

    def _movers(self, freed: Collection[int]) -> Collection[int]:
        """Return the freed features that lower the score most, as many as may move at once."""
        if self.max_changed is None or len(freed) <= self.max_changed:
            return freed
        return nlargest(self.max_changed, freed, key=self.drops.__getitem__)

    @cached_property
    def _float_margin(self) -> float:
        return nearest_float(self.margin)

    @cached_property
    def _float_gap(self) -> float:
        return 2 * nearest_float(self.gap)


class Worst(NamedTuple):
    """Where a feature lowers the claim's score most."""

    function: Function  # the feature's part of the claim's score
    infimum: Infimum
    span: Span | None  # the part of the region that the infimum is over; None for a single value

    def value_at_most(self, target: Rational) -> Value:
        """Return a value of the region at which the function is at most `target`, which must be within reach."""
        if self.span is None:
            return self.infimum.at
        return _over(self.function, self.span).point_below(self.infimum, target, self.span.low, self.span.high)


def bound_drops(
    functions: Sequence[Function], values: Sequence[Rational], row: Row, region: Sequence[Domain]
) -> tuple[tuple[Drop, ...], tuple[Worst, ...]]:
    """Return each feature's drop from its value at the row, and the worst case that it comes from."""
    drops, worst = [], []
    for function, here, at, reach in zip(functions, values, row, region, strict=True):
        case = _worst(function, at, here, reach)
        worst.append(case)
        if case.infimum.is_bounded:
            drops.append(Drop(False, here - case.infimum.value, -1 if case.infimum.is_approached else 0))
        else:
            drops.append(INFINITE)
    return tuple(drops), tuple(worst)


def _worst(function: Function, at: Value, here: Rational, reach: Domain) -> Worst:
    """Return the worst case over a feature's region; the row's own value where nothing is worse."""
    best, part = Infimum.attained(here, at), None
    for span in reach.spans:
        found = _over(function, span).infimum(span.low, span.high)
        if found.rank < best.rank:
            best, part = found, span
    for label in (*reach.categories_, *reach.codes_):
        found = Infimum.attained(function(label), label)
        if found.rank < best.rank:
            best, part = found, None
    return Worst(function, best, part)


def _over(function: Function, span: Span) -> Lowest:
    return function.on_integers if span.is_integers else function
