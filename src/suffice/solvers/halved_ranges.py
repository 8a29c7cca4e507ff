"""How far a fixed feature may go where its function is not made of lines: ends of ranges, enclosed by halving.

Such are features of models with curved and smooth shapes, and with networks past the budget. How far a score can fall
while a feature is between its value and another one never shrinks as that one moves away. So up to where constraints
hold lies between the last number tried at which they do for certain and the first at which they do not for certain.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from flint import fmpq

from suffice.core.constraint import Constraint, Drop, total
from suffice.core.drops import Worst, enclose_drops
from suffice.core.joint import Joint
from suffice.core.room import no_range, only
from suffice.core.tangents import Tangents
from suffice.errors import RadiusError
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, Rational
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.solvers.ranges import AllowedRange, End

_CLOSE = fmpq(1, 2**32)  # how closely an end is enclosed, relative to how far away it is
_MOST_ROUNDS = 6  # how often tangents are taken to tell whether constraints hold within a part of a domain
_FARTHEST = 24  # doublings of the distance before a domain without end is given up


@dataclass(frozen=True)
class HalvedRoom(ABC):
    """What is left for a fixed feature beside the free ones, and beside those that were let go before.

    Parameters
    ----------
    row, domains : the row, and all values of the features
    """

    row: Row
    domains: tuple[Domain, ...]

    @abstractmethod
    def holds(self, i: int, reach: Domain) -> bool:
        """Whether every constraint is known to hold within a part of the feature's domain."""

    @abstractmethod
    def breaks(self, i: int, reach: Domain) -> bool:
        """Whether some constraint is known to break there."""

    @abstractmethod
    def without(self, i: int, reach: Domain) -> HalvedRoom:
        """Return what is left once a feature is let go within a part of its domain."""

    def widest(self, i: int) -> tuple[AllowedRange, Domain]:
        """Return values around a feature's own for which every constraint holds, as a range and as a domain.

        The range is open where the constraints are known neither to hold nor to break further out.
        """
        value, domain = self.row[i], self.domains[i]
        if not isinstance(value, fmpq) or value in (*domain.categories_, *domain.codes_):
            labels, is_open = self._labels(i)
            none = End(None, False)
            return AllowedRange(none, none, False, labels, (), is_open), Domain(categories_=labels)
        (low, is_low_open), (high, is_high_open) = (self._end(i, side) for side in (-1, 1))
        reach = domain_part(domain, low.at, high.at)
        is_integers = all(span.is_integers for span in reach.spans)
        return AllowedRange(low, high, is_integers, (), (), is_low_open or is_high_open), reach

    def _labels(self, i: int) -> tuple[tuple[Value, ...], bool]:
        """Return labels that a feature may take, and whether that leaves others open."""
        value, domain = self.row[i], self.domains[i]
        allowed, is_open = [], False
        for label in domain.categories_ if value in domain.categories_ else (value,):
            only = Domain(categories_=(label,))
            if label == value or self.holds(i, only):
                allowed.append(label)
            else:
                is_open |= not self.breaks(i, only)
        return tuple(allowed), is_open

    def _end(self, i: int, side: int) -> tuple[End, bool]:
        """Return how far a feature may go towards a side, and whether that leaves open how much further."""
        value, domain = self.row[i], self.domains[i]
        assert isinstance(value, fmpq)
        limit = _limit(domain, side)
        is_integers = all(span.is_integers for span in domain_part(domain, *_sided(value, limit, side)).spans)

        def within(at: Rational | None) -> Domain:
            return domain_part(domain, *_sided(value, at, side))

        is_endless = limit is None
        if limit is None:
            limit = self._far(i, value, side, within)
        broken = limit if self.breaks(i, within(limit)) else None
        if is_endless and broken is None and self.holds(i, within(None)):
            return End(None, is_included=False), False
        if broken is None and self.holds(i, within(limit)):
            return End(limit, is_included=True), is_endless

        def is_safe(at: Rational) -> bool:
            nonlocal broken
            if self.holds(i, within(at)):
                return True
            broken = at if self.breaks(i, within(at)) else broken
            return False

        safe, bad = _halved(is_safe, value, limit, is_integers=is_integers)
        if broken is None:
            return End(safe, is_included=True), True
        if broken != bad:
            _, broken = _halved(lambda at: not self.breaks(i, within(at)), safe, broken, is_integers=is_integers)
        if is_integers:
            return End(safe, is_included=True), broken != bad
        return End(safe, is_included=True, more=abs(broken - safe)), False

    def _far(self, i: int, value: Rational, side: int, within: Callable[[Rational | None], Domain]) -> Rational:
        """Return a number at which some constraint is known to break, or one far away."""
        step = ONE
        for _ in range(_FARTHEST):
            if self.breaks(i, within(value + side * step)):
                break
            step *= 2
        return value + side * step


@dataclass(frozen=True)
class SeparableHalvedRoom(HalvedRoom):
    """The room of features that act each for itself: what others take adds up.

    Parameters
    ----------
    inner, outer : constraints that admit, and that refuse, only what is certain
    taken, spared : for each constraint how far the others lower the score at most, and at least
    worst : for each constraint the function of each feature
    bits : how closely values are enclosed
    """

    inner: tuple[Constraint, ...]
    outer: tuple[Constraint, ...]
    taken: tuple[Drop, ...]
    spared: tuple[Drop, ...]
    worst: tuple[Sequence[Worst], ...]
    bits: int

    def without(self, i: int, reach: Domain) -> SeparableHalvedRoom:
        """Return what is left once a feature is let go."""
        ceilings, floors = self._drops(i, reach)
        taken = tuple(total((one, drop)) for one, drop in zip(self.taken, ceilings, strict=True))
        spared = tuple(total((one, drop)) for one, drop in zip(self.spared, floors, strict=True))
        return replace(self, taken=taken, spared=spared)

    def holds(self, i: int, reach: Domain) -> bool:
        """Whether every constraint is known to hold."""
        ceilings, _ = self._drops(i, reach)
        each = zip(self.inner, self.taken, ceilings, strict=True)
        return all(constraint.allows(total((taken, drop))) for constraint, taken, drop in each)

    def breaks(self, i: int, reach: Domain) -> bool:
        """Whether some constraint is known to break."""
        _, floors = self._drops(i, reach)
        each = zip(self.outer, self.spared, floors, strict=True)
        return any(not constraint.allows(total((spared, drop))) for constraint, spared, drop in each)

    def _drops(self, i: int, reach: Domain) -> tuple[tuple[Drop, ...], tuple[Drop, ...]]:
        """Return how far a feature lowers each score at most, and at least, within a part of its domain."""
        ceilings, floors = list[Drop](), list[Drop]()
        for cases in self.worst:
            function = cases[i].function
            here = function.value(self.row[i], self.bits)
            found = enclose_drops([function], [here], (self.row[i],), [reach], self.bits)
            ceilings += found.ceilings
            floors += found.floors
        return tuple(ceilings), tuple(floors)


@dataclass(frozen=True)
class JointHalvedRoom(HalvedRoom):
    """The room of features that act together, some of them along curves: worst cases lie between two grounds.

    Parameters
    ----------
    limits : for each constraint its margin, and how many features may change
    tangents : for each constraint what is learned of its curves
    region, free : where features may go, and which of them are free
    deadline : when to stop learning
    gone : where features may go that were let go
    """

    limits: tuple[Joint, ...]
    tangents: tuple[Tangents, ...]
    region: tuple[Domain, ...]
    free: frozenset[int]
    deadline: float
    gone: tuple[tuple[int, Domain], ...] = ()
    _known: dict[tuple[int, Domain], tuple[bool, bool]] = field(default_factory=dict, compare=False, repr=False)

    def without(self, i: int, reach: Domain) -> JointHalvedRoom:
        """Return what is left once a feature is let go."""
        return replace(self, gone=(*self.gone, (i, reach)), _known={})

    def holds(self, i: int, reach: Domain) -> bool:
        """Whether every constraint is known to hold."""
        return self._told(i, reach)[0]

    def breaks(self, i: int, reach: Domain) -> bool:
        """Whether some constraint is known to break."""
        return self._told(i, reach)[1]

    def _told(self, i: int, reach: Domain) -> tuple[bool, bool]:
        """Return both, with tangents taken until one of them is so, or no more tell."""
        key = i, reach
        if key not in self._known:
            always = dict((*self.gone, key))
            region = [
                self.region[k] if k in self.free else always[k] if k in always else only(x)
                for k, x in enumerate(self.row)
            ]
            try:
                self._known[key] = self._closest(region, always)
            except RadiusError:  # what is free has been looked at before
                raise no_range(self.tangents[0].landscape.names[i]) from None
        return self._known[key]

    def _closest(self, region: Sequence[Domain], always: Collection[int]) -> tuple[bool, bool]:
        found = self._seen(region, always)
        for _ in range(_MOST_ROUNDS):
            if any(found) or time.monotonic() >= self.deadline or not any(one.has_more for one in self.tangents):
                break
            for one in self.tangents:
                one.learn()
            found = self._seen(region, always)
        return found

    def _seen(self, region: Sequence[Domain], always: Collection[int]) -> tuple[bool, bool]:
        """Return whether all constraints hold, and whether some break, by what is learned so far."""
        sides = []
        for limit, tangents in zip(self.limits, self.tangents, strict=True):
            inner, outer = tangents.grounds(region, self.deadline)
            both = Joint(limit.margin, inner, limit.is_strict, limit.max_changed, limit.gap, outer)
            sides.append((both.inner.holds(self.free, always), both.outer.holds(self.free, always)))
        return all(inner for inner, _ in sides), not all(outer for _, outer in sides)


def _halved(
    is_fine: Callable[[Rational], bool], fine: Rational, bad: Rational, *, is_integers: bool
) -> tuple[Rational, Rational]:
    """Return two numbers close to each other, at the first of which something is fine, and at the second not."""
    start = fine
    while abs(bad - fine) > (ONE if is_integers else _CLOSE * max(ONE, abs(bad - start))):
        middle = (fine + bad) / 2
        middle = fmpq(middle.floor()) if is_integers else middle
        fine, bad = (middle, bad) if is_fine(middle) else (fine, middle)
    return fine, bad


def _sided(value: Rational, at: Rational | None, side: int) -> tuple[Rational | None, Rational | None]:
    return (value, at) if side > 0 else (at, value)


def _limit(domain: Domain, side: int) -> Rational | None:
    """Return the end of a domain on a side; None where it has none."""
    ends = [span.high if side > 0 else span.low for span in domain.spans]
    known = [end for end in ends if end is not None]
    return None if len(known) < len(ends) else max(known) if side > 0 else min(known)


def domain_part(domain: Domain, low: Rational | None, high: Rational | None) -> Domain:
    """Return the numbers of a domain between two."""
    found = []
    for span in domain.spans:
        lows = [one for one in (low, span.low) if one is not None]
        highs = [one for one in (high, span.high) if one is not None]
        start, end = max(lows, default=None), min(highs, default=None)
        if span.is_integers:
            start, end = (None if start is None else fmpq(start.ceil())), (None if end is None else fmpq(end.floor()))
        if start is None or end is None or start <= end:
            found.append(Span(start, end, span.is_integers))
    return Domain(tuple(found))
