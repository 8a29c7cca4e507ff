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
from suffice.core.later_drops import Floats, LaterDrops
from suffice.errors import Undecided
from suffice.model.domain import Domain, Span
from suffice.numbers.enclosure import FIRST_BITS, Real, ends
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.later import Later
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.function import Function, Lowest
from suffice.shapes.infimum import Infimum


@dataclass(frozen=True)
class Separable(Constraint):
    """The constraint of a model whose features act each for itself: how far each lowers the score adds up.

    Parameters
    ----------
    margin, is_strict, max_changed, gap
        See `Constraint`.
    drops : sequence of Drop
        How far each feature can lower the score; at most so far, where there are `floors`.
    floors : tuple of Drop, optional
        How far each feature can lower the score at least, where drops are known between two numbers only. Then
        `admits` raises `Undecided` between what is admitted and what is refused for certain. No search may order
        features by such drops: a set that is best by one end need not be best. `inner` and `outer` have one each.

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> tie = Separable(rational(1), (Drop.of(rational(1)),), is_strict=True)
    >>> tie.admits([0])
    False
    """

    margin: Rational
    drops: Sequence[Drop]
    is_strict: bool
    max_changed: int | None = None
    gap: Rational = ZERO
    floors: tuple[Drop, ...] | None = None

    @cached_property
    def inner(self) -> Separable:
        """Ceilings of drops beside the least margin."""
        return self if self.floors is None else replace(self, gap=ZERO, floors=None)

    @cached_property
    def outer(self) -> Separable:
        """Floors of drops beside the largest margin."""
        if self.floors is None:
            return self
        return replace(self, margin=self.margin + self.gap, drops=self.floors, gap=ZERO, floors=None)

    @property
    def ceilings(self) -> Sequence[Drop]:
        """The drops, which add up."""
        return self.drops

    @cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Floats between which the drops lie, close beside the margin."""
        if not isinstance(self.drops, LaterDrops):
            return super().bounds
        self.drops.tighten(self._float_margin, range(len(self.drops)))
        return self.drops.low, self.drops.high

    def admits(self, freed: Collection[int]) -> bool:
        """Whether the claim holds whatever the freed features do."""
        if self.floors is not None:
            if self.inner.admits(freed):
                return True
            if self.outer.admits(freed):
                raise Undecided
            return False
        if isinstance(self.drops, LaterDrops) and self.max_changed is None and not self.gap:
            told = self.drops.told(freed, self._float_margin)
            return self.allows(total(self.drops[i] for i in freed)) if told is None else told
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
            return Scenario(tuple(self.drops))
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
    infimum: Infimum  # of a function whose values are enclosed: a place, and what its value is not above
    span: Span | None  # the part of the region that the infimum is over; None for a single value
    bits: int = FIRST_BITS  # how closely such values are enclosed

    def value_at_most(self, target: Rational) -> Value:
        """Return a value of the region at which the function is at most `target`, which must be within reach."""
        if self.span is None:
            return self.infimum.at
        return _over(self.function, self.span).point_below(self.infimum, target, self.span.low, self.span.high)

    def is_at_most(self, at: Value, target: Rational) -> bool:
        """Whether the function is known to be at most `target` at a value."""
        return ends(self.function.value(at, self.bits))[1] <= target

    def at_least(self, at: Value) -> Rational:
        """Return a number that the function is not below at a value; its value if that is known exactly."""
        return ends(self.function.value(at, self.bits))[0]

    def rise(self, old: Value, new: Value) -> Rational:
        """Return what the function rises by from one value to another, at most."""
        if old == new:
            return ZERO
        return ends(self.function.value(new, self.bits))[1] - self.at_least(old)


def bound_drops(
    functions: Sequence[Function], values: Sequence[Rational], row: Row, region: Sequence[Domain]
) -> tuple[tuple[Drop, ...], tuple[Worst, ...]]:
    """Return each feature's drop from its value at the row, and the worst case that it comes from."""
    drops, worst = [], []
    for function, here, at, reach in zip(functions, values, row, region, strict=True):
        case = _worst(function, at, here, reach)
        worst.append(case)
        drops.append(_drop(case, here))
    return tuple(drops), tuple(worst)


def _drop(worst: Worst, here: Rational) -> Drop:
    if not worst.infimum.is_bounded:
        return INFINITE
    return Drop(False, here - worst.infimum.value, -1 if worst.infimum.is_approached else 0)


def later_drops(
    functions: Sequence[Function], values: Sequence[Rational], row: Row, region: Sequence[Domain]
) -> tuple[Sequence[Drop], Sequence[Worst]]:
    """Return the same, each when it is looked at; the drop of a feature that stays where it is needs no function."""
    worst = Later(len(row), lambda i: _worst(functions[i], row[i], values[i], region[i]))
    drops = Later(len(row), lambda i: _drop(worst[i], values[i]) if region[i].is_more_than(row[i]) else NO_DROP)
    return drops, worst


class EnclosedDrops(NamedTuple):
    """Drops between two numbers, and for each feature an input that shows the lower one."""

    ceilings: tuple[Drop, ...]
    floors: tuple[Drop, ...]
    worst: tuple[Worst, ...]


def enclose_drops(
    functions: Sequence[Function], values: Sequence[Real], row: Row, region: Sequence[Domain], bits: int
) -> EnclosedDrops:
    """Return how far each feature lowers the score at most and at least, of functions known to about so many bits."""
    ceilings, floors, worst = [], [], []
    for function, here, at, reach in zip(functions, values, row, region, strict=True):
        if function.is_exact:
            exact, _ = ends(here)
            (drop,), (case,) = bound_drops([function], [exact], (at,), [reach])
            ceilings.append(drop)
            floors.append(drop)
            worst.append(case)
            continue
        assert isinstance(function, Enclosed)
        low, high = ends(here)
        bottoms, case = _enclosed_worst(function, at, here, reach, bits)
        known = [one for one in bottoms if one is not None]
        # What is not known to be attained counts as attained above; what some input shows is attained.
        ceilings.append(INFINITE if len(known) < len(bottoms) else Drop.of(max([ZERO, *(high - one for one in known)])))
        floors.append(Drop.of(max(low - case.infimum.value, ZERO)))
        worst.append(case)
    return EnclosedDrops(tuple(ceilings), tuple(floors), tuple(worst))


def _enclosed_worst(
    function: Enclosed, at: Value, here: Real, reach: Domain, bits: int
) -> tuple[list[Rational | None], Worst]:
    """Return bounds from below of a function over parts of a region, and where it is lowest as far as that is known."""
    bottoms: list[Rational | None] = []
    best, part = Infimum.attained(ends(here)[1], at), None
    for span in reach.spans:
        if span.low == span.high == at:
            continue  # the row itself
        found = function.lowpoint(span.low, span.high, bits, is_integers=span.is_integers)
        bottoms.append(found.low)
        if found.high < best.value:
            best, part = Infimum.attained(found.high, found.at), span
    for label in (*reach.categories_, *reach.codes_):
        if label == at:
            continue
        least, most = ends(function.value(label, bits))
        bottoms.append(least)
        if most < best.value:
            best, part = Infimum.attained(most, label), None
    return bottoms, Worst(function, best, part, bits)


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
