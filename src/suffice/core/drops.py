"""Margins and drops: all that the searches need to know of a model, a row, a region and a claim.

In: a function of each feature, its value at the row, and the region. Out: drops (numbers alone) and for each feature
its `Worst` case (where the drop comes from). A margin and drops make a `Constraint`.
Guaranteed: with the features of `S` fixed and all others free, the claim holds everywhere in the region if and only if
`constraint.admits` the others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from typing import NamedTuple

from suffice.errors import Undecided
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes.infimum import Infimum
from suffice.shapes.pieces import Pieces


class Drop(NamedTuple):
    """How far a feature can lower the claim's score: a supremum, attained or only approached.

    Drops are ordered by their fields, in this order: an approached supremum is below an attained one of
    the same value, for no input reaches it; infinity is above all. A drop of 0 is attained, by the row itself.
    """

    is_infinite: bool
    value: Rational  # 0 where infinite
    edge: int  # 0: attained; -1: just below the value; 1: just above it (at a radius that is about to grow)

    @classmethod
    def of(cls, value: Rational) -> Drop:
        """Return a finite drop that is attained."""
        return cls(False, value, 0)

    @property
    def is_attained(self) -> bool:
        """Whether some input has exactly this drop."""
        return not self.is_infinite and self.edge == 0


NO_DROP = Drop.of(ZERO)
INFINITE = Drop(True, ZERO, 0)


@dataclass(frozen=True)
class Constraint:
    """One inequality `score ≥ 0` (`> 0` where strict) seen from a row.

    Parameters
    ----------
    margin : Rational
        The claim's score at the row.
    drops : tuple of Drop
        How far each feature can lower it.
    is_strict : bool
        Whether a score of 0 breaks the claim.
    max_changed : int, optional
        How many of the free features may differ from the row at once; all of them if not given.
    gap : Rational
        The true margin lies between `margin` and `margin + gap`; more than 0 where it is only enclosed.

    Examples
    --------
    >>> from suffice.numbers.exact import rational
    >>> tie = Constraint(rational(1), (Drop.of(rational(1)),), is_strict=True)
    >>> tie.admits([0])
    False
    """

    margin: Rational
    drops: tuple[Drop, ...]
    is_strict: bool
    max_changed: int | None = None
    gap: Rational = ZERO

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

    def _movers(self, freed: Collection[int]) -> Collection[int]:
        """Return the freed features that lower the score most, as many as may move at once."""
        if self.max_changed is None or len(freed) <= self.max_changed:
            return freed
        return nlargest(self.max_changed, freed, key=self.drops.__getitem__)

    @cached_property
    def floats(self) -> list[float]:
        """The drops, rounded to the nearest floats."""
        return [math.inf if drop.is_infinite else nearest_float(drop.value) for drop in self.drops]

    @cached_property
    def _float_margin(self) -> float:
        return nearest_float(self.margin)

    @cached_property
    def _float_gap(self) -> float:
        return 2 * nearest_float(self.gap)

    def allows(self, fall: Drop) -> bool:
        """Whether the score may fall so far: the one place where ties are decided."""
        # One that is only approached never uses the margin up, which is what its place in the order of drops says.
        limit = Drop.of(self.margin)
        if self.gap and limit < fall <= Drop.of(self.margin + self.gap):
            raise Undecided
        return fall < limit if self.is_strict else fall <= limit


def total(drops: Iterable[Drop]) -> Drop:
    """Return the supremum of the joint fall of independent features."""
    # Features move independently, so a sum of suprema is attained exactly if each of them is. A part that is about
    # to grow takes the sum above its value, however little others stay below theirs.
    is_infinite, value, low, high = False, ZERO, 0, 0
    for drop in drops:
        is_infinite |= drop.is_infinite
        value = value + drop.value
        low, high = min(low, drop.edge), max(high, drop.edge)
    return INFINITE if is_infinite else Drop(False, value, high or low)


class Worst(NamedTuple):
    """Where a feature lowers the claim's score most."""

    function: Pieces  # the feature's part of the claim's score
    infimum: Infimum
    span: Span | None  # the part of the region that the infimum is over; None for a single value

    def value_at_most(self, target: Rational) -> Value:
        """Return a value of the region at which the function is at most `target`, which must be within reach."""
        if self.span is None:
            return self.infimum.at
        return _over(self.function, self.span).point_below(self.infimum, target, self.span.low, self.span.high)


def bound_drops(
    functions: Sequence[Pieces], values: Sequence[Rational], row: Row, region: Sequence[Domain]
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


def _worst(function: Pieces, at: Value, here: Rational, reach: Domain) -> Worst:
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


def _over(function: Pieces, span: Span) -> Pieces:
    return function.on_integers if span.is_integers else function
