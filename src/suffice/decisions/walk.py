"""Where a score falls as one feature moves in a direction, whatever the others are.

In: a compiled model, a feature and a score. Out: `Fall`s, and stretches of which nothing is known. Between neighbouring
stations the score is monotone: pieces of lines are, curves and smooth shapes are cut where they turn (`shapes.legs`).

With pair terms the fall between two values of the feature is a sum of functions of one other feature each, for every
two features have one term; so its worst case is the sum of theirs, and exact. Between bends it is a line, of which the
least slope is added to that of the feature's own part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from flint import fmpq

from suffice.core.drops import Worst, bound_drops
from suffice.decisions.stations import Station, stations
from suffice.errors import Undecided
from suffice.model.compiled import Compiled
from suffice.model.domain import Span
from suffice.numbers.enclosure import Real, ends, middle
from suffice.numbers.exact import ONE, ZERO, Rational, to_fraction
from suffice.numbers.values import Value
from suffice.question.box import Box
from suffice.shapes.combining import combined
from suffice.shapes.curves import Curves
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.legs import Leg, Way, legs, marks_of
from suffice.shapes.pieces import Pieces, combine
from suffice.shapes.slices import sliced
from suffice.solvers.ranges import disjoint

Stretch: TypeAlias = tuple[Fraction | None, Fraction | None]
BITS = 256  # how closely values of smooth shapes are enclosed
_FIRST = fmpq(-(2**1100))  # below all floats


@dataclass(frozen=True, slots=True)
class Fall:
    """Over which values of a feature the score can fall, by how much at worst, and two inputs that show it.

    Parameters
    ----------
    start, end : Fraction or None
        Where the fall begins and ends, in the direction asked about, the same number where the score jumps at it; None
        where it has no beginning or no end. Where a curve turns at no rational number, one close by inside the fall.
    amount : Fraction or None
        How far it falls from the one to the other at worst (of a smooth shape to some 70 digits); None without bound.
    before, after : tuple of values
        Inputs that differ in the feature alone, the second with the lower score.
    """

    start: Fraction | None
    end: Fraction | None
    amount: Fraction | None
    before: tuple[Value, ...]
    after: tuple[Value, ...]


class Walk:
    """One score along one feature, in one direction.

    Parameters
    ----------
    compiled : Compiled
    feature : int
    factors : tuple of int
        Which scores count, and how.
    direction : int
        1 if the feature rises, -1 if it falls.
    """

    def __init__(self, compiled: Compiled, feature: int, factors: tuple[int, ...], direction: int) -> None:
        self.compiled, self.feature, self.direction = compiled, feature, direction
        self.own = compiled.oriented(factors)[feature]
        pairs = [(both, pair) for both, pair in compiled.oriented_pairs(factors) if feature in both]
        self.pairs = [(both[1 - both.index(feature)], both.index(feature), pair) for both, pair in pairs]
        self.anchor = Box.read(compiled.model, {}).anchor()
        domain = compiled.model.domains[feature]
        bends = {cut.place for _, side, pair in self.pairs for cut in pair.axes[side].cuts}
        bends |= {at for span in domain.spans for at in marks_of(self.own, span.low, span.high)}
        self.legs = [leg for span in disjoint(domain.spans) for leg in self._legs(span, sorted(bends))]
        turns = {end for leg in self.legs for end in (leg.low, leg.high) if end is not None}
        self.stations = stations(domain, bends | turns)

    def _legs(self, span: Span, bends: list[Rational]) -> Iterator[Leg]:
        """Yield how the score goes between bends, with what pair terms can do at worst."""
        inside = [at for at in bends if (span.low is None or span.low < at) and (span.high is None or at < span.high)]
        for low, high in pairwise([span.low, *inside, span.high]):
            if low is None or high is None or low < high:
                tilt = self._tilt(low, high)
                yield from legs(self.own, low, high, tilt) if tilt is not None else ()

    def _tilt(self, low: Rational | None, high: Rational | None) -> Rational | None:
        """Return the slope that pair terms add at worst between two bends, where all of them are lines.

        That is the least on the way up and the greatest on the way down. None where there is no worst: then the score
        falls between any two numbers, whatever the feature's own part does.
        """
        first = low if low is not None else ZERO if high is None else high - 1
        last = high if high is not None else first + 1
        start, end = (Station(first, 1, last), Station(last, -1, first))[:: self.direction]
        _, worst = self._change(start, end) if self.pairs else (ZERO, [])
        if any(not one.infimum.is_bounded for _, one in worst):
            return None
        return sum((one.infimum.value for _, one in worst), ZERO) / (end.place - start.place)

    def run(self) -> tuple[list[Fall], list[Stretch]]:
        """Return the stretches over which the score can fall, neighbours together, and those of which it is open."""
        line = self.stations[:: self.direction]
        falling: list[tuple[Station, Station]] = []
        doubts: list[Stretch] = []
        for start, end in pairwise(line):
            verdict = self._verdict(start, end)
            if verdict is None:
                doubts.append(self._ends(start, end))
            elif not verdict:
                continue
            elif falling and self._goes_on(*falling[-1], start, end):
                falling[-1] = falling[-1][0], end
            else:
                falling.append((start, end))
        return [self._fall(start, end) for start, end in falling], doubts

    def _goes_on(self, first: Station, last: Station, start: Station, end: Station) -> bool:
        """Whether two stretches are one: nothing rises between them, and some input falls along both."""
        return last.place == start.place and not self._verdict(start, last) and bool(self._verdict(first, end))

    def _verdict(self, start: Station, end: Station) -> bool | None:
        """Whether the score can fall from one station to another; None where that is not known."""
        way, onwards = self._way(start, end), Way.RISES if start.place < end.place else Way.FALLS
        if way in (Way.TURNS, onwards):  # what a turn hides, a neighbour shows
            return False
        try:
            falls = self._falls(start, end)
        except Undecided:
            return None
        return None if way is Way.DOUBT and not falls else falls

    def _way(self, start: Station, end: Station) -> Way | None:
        """Return how the score goes between two stations on one leg; None where values at them tell all."""
        low, high = sorted((start.place, end.place))
        # Between neighbouring integers there is nothing, and the score may jump at either.
        if low == high or (not start.side and not end.side and high - low <= 1):
            return None
        k = bisect_right(self.legs, low, key=lambda leg: _FIRST if leg.low is None else leg.low) - 1
        leg = self.legs[k] if 0 <= k < len(self.legs) else None
        return leg.way if leg is not None and (leg.high is None or high <= leg.high) else None

    def _falls(self, start: Station, end: Station) -> bool:
        rise, worst = self._change(start, end)
        return any(not one.infimum.is_bounded for _, one in worst) or (
            sum((one.infimum.value for _, one in worst), rise) < 0
        )

    def _at(self, station: Station) -> Real:
        """Return the feature's own part at a station."""
        if isinstance(self.own, Curves) and station.side:
            k = self.own.segment_after(station.place) if station.side > 0 else self.own.segment_before(station.place)
            return self.own.polynomials[k](station.place)
        if isinstance(self.own, Enclosed):
            side = 0 if self.own.chains.is_continuous(station.place) else station.side
            return self.own.limit(station.place, BITS, side) if side else self.own.value(station.place, BITS)
        return sum((weight * self.own(at) for weight, at in station.weights), ZERO)

    def _change(self, start: Station, end: Station) -> tuple[Real, list[tuple[int, Worst]]]:
        """Return how the feature's own part changes, and for each other feature the worst change of their pair."""
        one, two = self._at(start), self._at(end)
        # A function that is continuous at a place has one value there, however well that is known.
        rise = ZERO if start.place == end.place and one == two else two - one
        weights = [*end.weights, *((-weight, at) for weight, at in start.weights)]
        found = []
        for other, side, pair in self.pairs:
            change: Pieces = combine([(weight, sliced(pair, 1 - side, at)) for weight, at in weights])
            here, reach = self.anchor[other], self.compiled.model.domains[other]
            _, (worst,) = bound_drops([change], [change(here)], (here,), (reach,))
            found.append((other, worst))
        return rise, found

    def _fall(self, start: Station, end: Station) -> Fall:
        """Return a stretch with two inputs that show the fall."""
        change, worst = self._change(start, end)
        rise = middle(change)
        free = [one for _, one in worst if not one.infimum.is_bounded]
        amount = None if free else -sum((one.infimum.value for _, one in worst), rise)
        point = list(self.anchor)
        for other, one in worst:
            if free:  # what falls without bound makes up for all others at the anchor, and for more than they add
                level = sum((w.function(self.anchor[k]) for k, w in worst if w is not free[0]), rise)
                target = -level - 1
                point[other] = one.value_at_most(target) if one is free[0] else self.anchor[other]
            else:
                assert amount is not None
                target = one.infimum.value + amount / (2 * len(worst))
                point[other] = one.value_at_most(target)
        before, after = self._inputs(point, start, end)
        first, last = self._ends(start, end)
        is_endless = amount is None or first is None or last is None
        return Fall(first, last, None if amount is None or is_endless else to_fraction(amount), before, after)

    @staticmethod
    def _ends(start: Station, end: Station) -> Stretch:
        return tuple(None if one.is_far else to_fraction(one.place) for one in (start, end))  # type: ignore[return-value]

    def _inputs(self, point: Sequence[Value], start: Station, end: Station) -> tuple[tuple[Value, ...], ...]:
        """Return two inputs that differ in the feature alone; ever closer to limits until the score falls."""
        along = combined(
            [(ONE, self.own), *((ONE, sliced(pair, side, point[other])) for other, side, pair in self.pairs)]
        )
        share = ONE / 2
        while True:
            one, two = start.near(share), end.near(share)
            is_lower = ends(along.value(two, BITS))[1] < ends(along.value(one, BITS))[0]
            if is_lower and (two - one) * (end.place - start.place) >= 0:
                found = [[*point], [*point]]
                found[0][self.feature], found[1][self.feature] = one, two
                return tuple(found[0]), tuple(found[1])
            share = share / 4
