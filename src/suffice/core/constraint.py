"""What every search sees of a claim's inequality: which features may be freed together, and how far they lower it.

`Separable` (in `drops.py`) is the constraint of a model whose features act each for itself, `Joint` (in `joint.py`)
that of a model with pair terms. No search asks which of the two it has.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.errors import Undecided
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.later import Later


class Drop(NamedTuple):
    """How far the claim's score can be lowered: a supremum, attained or only approached.

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


@dataclass(frozen=True)
class Scenario:
    """One input of the region, or what inputs come close to: by how much each feature's change lowers the score.

    Every set that a constraint admits leaves room for the falls of its scenarios: `constraint.admits(freed)` implies
    `constraint.allows(scenario.fall(freed))`, for the freed features alone may move as they do here.

    Parameters
    ----------
    weights : tuple of Drop
        What each feature's change lowers the score by, all others being at the row; below 0 where it raises it. No drop
        for a feature that stays.
    products : mapping of two features, the smaller first, to Rational
        What the changes of two features lower it by beyond that, if both change; only what is not 0.
    labels : tuple of int
        Which of the values that a `Joint` constraint tells apart each feature has.
    """

    weights: tuple[Drop, ...]
    products: Mapping[tuple[int, int], Rational] = field(default_factory=dict)
    labels: tuple[int, ...] = ()

    def fall(self, freed: Collection[int]) -> Drop:
        """Return how far the score falls if the freed features change so and the others stay."""
        alone = total(self.weights[i] for i in freed)
        if alone.is_infinite or not self.products:
            return alone
        some = set(freed)
        both = (value for (i, j), value in self.products.items() if i in some and j in some)
        return alone._replace(value=sum(both, alone.value))


def _nearest(drop: Drop) -> float:
    return math.inf if drop.is_infinite else nearest_float(drop.value)


class KnownFall(NamedTuple):
    """How far some features can lower the score: the fall itself, or one that it is proven not to exceed."""

    fall: Drop
    is_exact: bool


Self = TypeVar("Self", bound="Constraint")


class Constraint(ABC):
    """One inequality `score ≥ 0` (`> 0` where strict) seen from a row. An immutable value, a frozen dataclass.

    Freeing more never makes a set admissible that was not. What is asked of sets (`admits`, `fall`, `scenario`,
    `broken_by`) raises `Undecided` where the gap of the margin leaves it open, and `BudgetEnded` where the worst case
    of a set is itself searched for and the search takes too long.

    Attributes
    ----------
    margin : Rational
        The claim's score at the row.
    is_strict : bool
        Whether a score of 0 breaks the claim.
    max_changed : int, optional
        How many of the free features may differ from the row at once; all of them if not given.
    gap : Rational
        The true margin lies between `margin` and `margin + gap`; more than 0 where it is only enclosed.
    drops : sequence of Drop
        How far each feature alone can lower the score, the others being at the row; they need not add up.
    """

    margin: Rational
    is_strict: bool
    max_changed: int | None
    gap: Rational
    drops: Sequence[Drop]

    @property
    @abstractmethod
    def ceilings(self) -> Sequence[Drop]:
        """For each feature a bound such that no set of features lowers the score by more than the sum of theirs.

        There is no drop for a feature that changes nothing, and only for such a one.
        """

    @abstractmethod
    def admits(self, freed: Collection[int]) -> bool:
        """Whether the claim holds whatever the freed features do."""

    @abstractmethod
    def fall(self, freed: Collection[int]) -> Drop:
        """Return how far the freed features together can lower the score."""

    def known_fall(self, freed: Collection[int]) -> KnownFall:
        """Return `fall`, or a bound on it where that takes too long: what can always be told, whatever the clock."""
        return KnownFall(self.fall(freed), True)

    @abstractmethod
    def scenario(self, freed: Collection[int]) -> Scenario | None:
        """Return an input that breaks the constraint by changing freed features; None if there is none.

        The other features change in it too, so as to lower the score; `max_changed` is respected.
        """

    @abstractmethod
    def broken_by(self, first: Collection[int], others: Iterable[int]) -> list[int] | None:
        """Return `first`, and few of the others that together with it can break the constraint; None if all cannot."""

    @property
    def inner(self: Self) -> Self:
        """The constraint with every number at the end that makes it harder to hold: what it admits is admitted."""
        return self

    @property
    def outer(self: Self) -> Self:
        """The constraint with every number at the end that makes it easier to hold: what it refuses is refused."""
        return self

    @property
    def features(self) -> int:
        """How many features there are."""
        return len(self.drops)

    @cached_property
    def floats(self) -> Sequence[float]:
        """The drops, rounded to the nearest floats."""
        if isinstance(self.drops, Later):
            return Later(len(self.drops), lambda i: _nearest(self.drops[i]))
        return [_nearest(drop) for drop in self.drops]

    @property
    def bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Floats between which the drops lie, none of which is below 0."""
        near = np.array(self.floats)
        return np.nextafter(near, 0.0), np.nextafter(near, np.inf)

    def allows(self, fall: Drop) -> bool:
        """Whether the score may fall so far: the one place where ties are decided."""
        # One that is only approached never uses the margin up, which is what its place in the order of drops says.
        limit = Drop.of(self.margin)
        if self.gap and limit < fall <= Drop.of(self.margin + self.gap):
            raise Undecided
        return fall < limit if self.is_strict else fall <= limit

    def with_slack(self: Self, more: Rational) -> Self:
        """Return the constraint with something added to its margin."""
        return self._replace(margin=self.margin + more) if more else self

    def with_max_changed(self: Self, most: int | None) -> Self:
        """Return the constraint where so many of the free features may differ from the row at once."""
        return self if most == self.max_changed else self._replace(max_changed=most)

    @abstractmethod
    def _replace(self: Self, **changes: Any) -> Self:
        """Return the constraint with some attributes changed."""
