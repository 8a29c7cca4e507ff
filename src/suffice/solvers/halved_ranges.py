"""How far a fixed feature may go where its function is not made of lines: ends of ranges, enclosed by halving.

Such are features of models with curved and smooth shapes, and with networks past the budget. What a feature lowers the
score by between its value and another one never falls as that one moves away. So up to where the constraints hold lies
between the last number tried at which they do for certain and the first at which they do not for certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flint import fmpq

from suffice.core.constraint import Constraint, Drop, total
from suffice.core.drops import Worst, enclose_drops
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.question.row import Row
from suffice.solvers.ranges import AllowedRange, End

_CLOSE = fmpq(1, 2**32)  # how closely an end is enclosed, relative to how far away it is
_FARTHEST = 24  # doublings of the distance before a domain without end is given up


@dataclass(frozen=True)
class HalvedRoom:
    """What is left for a fixed feature beside the free ones, and beside those that were let go before.

    Parameters
    ----------
    inner, outer : constraints that admit, and that refuse, only what is certain
    taken, spared : for each constraint how far the others lower the score at most, and at least
    worst : for each constraint the function of each feature
    row, domains : the row, and all values of the features
    bits : how closely values are enclosed
    """

    inner: tuple[Constraint, ...]
    outer: tuple[Constraint, ...]
    taken: tuple[Drop, ...]
    spared: tuple[Drop, ...]
    worst: tuple[tuple[Worst, ...], ...]
    row: Row
    domains: tuple[Domain, ...]
    bits: int

    def without(self, found: AllowedRange, floors: Sequence[Drop]) -> HalvedRoom:
        """Return what is left once a feature is let go within a range."""
        taken = tuple(total((one, drop)) for one, drop in zip(self.taken, found.drops, strict=True))
        spared = tuple(total((one, drop)) for one, drop in zip(self.spared, floors, strict=True))
        return replace(self, taken=taken, spared=spared)

    def widest(self, i: int) -> tuple[AllowedRange, tuple[Drop, ...]]:
        """Return values around a feature's own for which every constraint holds, and its floors over them.

        The range is open where the constraints are known neither to hold nor to break further out.
        """
        value, domain = self.row[i], self.domains[i]
        if not isinstance(value, fmpq) or value in (*domain.categories_, *domain.codes_):
            return self._labels(i)
        (low, is_low_open), (high, is_high_open) = (self._end(i, side) for side in (-1, 1))
        reach = _part(domain, low.at, high.at)
        ceilings, floors = self._drops(i, reach)
        is_integers = all(span.is_integers for span in reach.spans)
        return AllowedRange(low, high, is_integers, (), ceilings, is_low_open or is_high_open), floors

    def _labels(self, i: int) -> tuple[AllowedRange, tuple[Drop, ...]]:
        value, domain = self.row[i], self.domains[i]
        others = domain.categories_ if value in domain.categories_ else (value,)
        allowed, is_open = [], False
        for label in others:
            only = Domain(categories_=(label,))
            if label == value or self._holds(i, only):
                allowed.append(label)
            else:
                is_open |= not self._breaks(i, only)
        ceilings, floors = self._drops(i, Domain(categories_=tuple(allowed)))
        return AllowedRange(End(None, False), End(None, False), False, tuple(allowed), ceilings, is_open), floors

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

    def _holds(self, i: int, reach: Domain) -> bool:
        """Whether every constraint is known to hold within a part of the feature's domain."""
        ceilings, _ = self._drops(i, reach)
        each = zip(self.inner, self.taken, ceilings, strict=True)
        return all(constraint.allows(total((taken, drop))) for constraint, taken, drop in each)

    def _breaks(self, i: int, reach: Domain) -> bool:
        """Whether some constraint is known to break there."""
        _, floors = self._drops(i, reach)
        each = zip(self.outer, self.spared, floors, strict=True)
        return any(not constraint.allows(total((spared, drop))) for constraint, spared, drop in each)

    def _end(self, i: int, side: int) -> tuple[End, bool]:
        """Return how far a feature may go towards a side, and whether that leaves open how much further."""
        value, domain = self.row[i], self.domains[i]
        assert isinstance(value, fmpq)
        limit = _limit(domain, side)
        is_integers = all(span.is_integers for span in _part(domain, *_sided(value, limit, side)).spans)

        def within(at: Rational | None) -> Domain:
            return _part(domain, *_sided(value, at, side))

        is_endless = limit is None
        if limit is None:
            limit = self._far(i, value, side, within)
            if not self._breaks(i, within(limit)) and self._holds(i, within(None)):
                return End(None, is_included=False), False
        if self._holds(i, within(limit)):
            return End(limit, is_included=True), is_endless
        safe, bad = _halved(lambda at: self._holds(i, within(at)), value, limit, is_integers=is_integers)
        if not self._breaks(i, within(limit)):
            return End(safe, is_included=True), True
        _, broken = _halved(lambda at: not self._breaks(i, within(at)), safe, limit, is_integers=is_integers)
        if is_integers:
            return End(safe, is_included=True), broken != bad
        return End(safe, is_included=True, more=abs(broken - safe)), False

    def _far(self, i: int, value: Rational, side: int, within: Callable[[Rational | None], Domain]) -> Rational:
        """Return a number at which some constraint is known to break, or one far away."""
        step = ONE
        for _ in range(_FARTHEST):
            if self._breaks(i, within(value + side * step)):
                break
            step *= 2
        return value + side * step


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


def _part(domain: Domain, low: Rational | None, high: Rational | None) -> Domain:
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
