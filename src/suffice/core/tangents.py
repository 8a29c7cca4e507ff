"""Curves beside pair terms: what a feature can do there, between places of the curve and tangents below it.

In: a landscape in which some features' own parts are curves, a row and a region. Out: two grounds around the row.
On the *outer* one a curve is known at some places only, so that its labellings are inputs and what they break is
broken. On the *inner* one it is replaced by something that is nowhere above it and straight between labels, so that
what it admits is admitted.

Where pair terms are constant or affine along a feature, the score is its own part plus an affine function, whatever the
others do. Where that part is concave the score is lowest at an end, on both grounds. Where it is convex it is nowhere
below its tangents, and the score is not lower than at the corners of the broken line that a few of them make. Places at
which tangents are taken are *learned*: where a labelling of the inner ground breaks the claim, the feature's own best
place beside the others of that labelling is the next one. On the curve itself both grounds agree there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

from flint import fmpq, fmpq_poly

from suffice.core.ground import Ground
from suffice.core.landscape import Ladder, Landscape, Spot, refuse_endless, within
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.question.row import Row
from suffice.shapes.axis import Interval
from suffice.shapes.curves import Curves, turn_between
from suffice.shapes.infimum import Infimum

_AT_FIRST = 4  # parts of equal width that a convex part is cut into
_CLOSER = 16  # how many times as close as before a curve is known beside a place
_SHORT = 256  # bits of a numerator or denominator that is not rounded
_ROUNDED = 40  # bits of a place within its part, if it is


Others: TypeAlias = Callable[[fmpq_poly, Rational, Rational], list[Rational]]  # places of a convex part


class CurvedLadder(Ladder):
    """One feature whose own part is a curve, with the places at which it is known.

    Parameters
    ----------
    like : Ladder
        The feature.
    places : sequence of Rational
        Where to take tangents.
    is_inner : bool
        Whether spots are to be corners of tangents, below the curve, or places on it.
    has_others : bool
        Whether to take some tangents that every region has, too.
    """

    def __init__(self, like: Ladder, places: Iterable[Rational], *, is_inner: bool, has_others: bool = True) -> None:
        self.__dict__.update(like.__dict__)
        self.places, self.is_inner, self.has_others = tuple(places), is_inner, has_others

    def spots(self, name: str, cell: int, reach: Interval, *, is_integers: bool) -> list[Spot]:
        """Return places such that nothing in a cell and an interval, or its integers, is worse than the worst.

        On the outer ground: such that each of them is in it.
        """
        inside = within(self.axis.interval(cell), reach, is_integers=is_integers)
        if inside is None:
            return []
        assert isinstance(self.function, Curves)
        if not self.varies[cell]:
            side = self.function.falls_for_ever(inside.low is None, inside.high is None)
            if side:
                return [Spot.of(cell, Infimum.unbounded(side), inside)]
            inside = _ended(self.function, inside)
        refuse_endless(name, inside)
        others = _first if self.has_others or not self.varies[cell] else _none
        found = _corners(self.function, inside, self.places, others, is_integers=is_integers, is_inner=self.is_inner)
        return [Spot.of(cell, one, inside) for one in (found if self.varies[cell] else [min(found)])]


def _ended(curve: Curves, inside: Interval) -> Interval:
    """Return an interval with ends, beyond which a curve that does not fall for ever does not fall."""
    low, has_low, high, has_high = inside
    stops = (*curve.knots, *(turn.infimum.at for turn in curve.turns), low, high)
    numbers = [stop for stop in stops if isinstance(stop, fmpq)] or [ZERO]
    if low is None:
        low, has_low = fmpq((min(numbers) - 1).floor()), True
    if high is None:
        high, has_high = fmpq((max(numbers) + 1).ceil()), True
    return Interval(low, has_low, high, has_high)


def _corners(
    curve: Curves, inside: Interval, places: Sequence[Rational], others: Others, *, is_integers: bool, is_inner: bool
) -> list[Infimum]:
    """Return places of an interval with ends at which a curve beside an affine function can be lowest, as is known."""
    low, has_low, high, has_high = inside
    assert low is not None
    assert high is not None
    if low == high:
        return [Infimum.attained(curve(low), low)]
    knots = curve.knots[curve.segment_after(low) : curve.segment_before(high)]
    has = {low: has_low, high: has_high}
    stops = [at for at in (low, *knots, high) if has.get(at, True) and not (is_integers and at.q != 1)]
    found = [Infimum.attained(curve(at), at) for at in stops]
    for left, right in pairwise((low, *knots, high)):
        one = curve.polynomials[curve.segment_after(left)]
        ends = [left, *_inflection(one, left, right), right]
        found += [Infimum.attained(one(at), at) for at in ends[1:-1] if not (is_integers and at.q != 1)]
        if is_integers:
            for start, end in pairwise(ends):
                found += _on_integers(one, start, end, places, others, is_inner=is_inner)
            continue
        # A limit that does not belong to the curve, or to the interval, is approached from inside.
        opened = [(at, side) for at, side in ((left, 1), (right, -1)) if not has.get(at, True) or curve(at) != one(at)]
        found += [Infimum(True, one(at), True, at, side) for at, side in opened]
        if len(opened) == 2 and one.degree() < 2:
            found.append(Infimum.attained(one((left + right) / 2), (left + right) / 2))
        for start, end in pairwise(ends):
            if _is_convex(one, start, end):
                chosen = sorted({start, *others(one, start, end), *(at for at in places if start < at < end), end})
                found += (
                    [_crossing(one, a, b) for a, b in pairwise(chosen)]
                    if is_inner
                    else [Infimum.attained(one(at), at) for at in chosen[1:-1]]
                )
    return found


def _on_integers(
    one: fmpq_poly, start: Rational, end: Rational, places: Sequence[Rational], others: Others, *, is_inner: bool
) -> list[Infimum]:
    """Return the same of the integers strictly inside a part that is convex, concave or affine."""
    first, last = fmpq(start.floor() + 1), fmpq(end.ceil() - 1)
    if first > last:
        return []
    if not _is_convex(one, start, end):
        return [Infimum.attained(one(at), at) for at in sorted({first, last})]
    near = (fmpq(n) for at in (*others(one, first, last), *places) for n in (at.floor(), at.ceil()))
    chosen = sorted({first, *(at for at in near if first < at < last), last})
    crossings = [_crossing(one, a, b) for a, b in pairwise(chosen) if b - a > 1] if is_inner else []
    return [*(Infimum.attained(one(at), at) for at in chosen), *crossings]


def _inflection(one: fmpq_poly, low: Rational, high: Rational) -> list[Rational]:
    """Return where a polynomial of degree 3 or less changes between convex and concave, between two places."""
    if one.degree() < 3:
        return []
    at = -one[2] / (3 * one[3])
    return [at] if low < at < high else []


def _is_convex(one: fmpq_poly, low: Rational, high: Rational) -> bool:
    """Whether a polynomial without an inflection between two places is convex and not affine there."""
    return bool(one.derivative().derivative()((low + high) / 2) > 0)


def _first(one: fmpq_poly, low: Rational, high: Rational) -> list[Rational]:
    """Return the places of a convex part at which it is always known: some that cut it evenly, and its lowest."""
    if low >= high:
        return []
    even = [low + (high - low) * k / _AT_FIRST for k in range(1, _AT_FIRST)]
    turn = turn_between(one, low, high)
    return even if turn is None else [*even, turn]


def _none(one: fmpq_poly, low: Rational, high: Rational) -> list[Rational]:
    """Return no places."""
    return []


def _crossing(one: fmpq_poly, first: Rational, second: Rational) -> Infimum:
    """Return where the tangents at two places of a convex part cross, below it."""
    slope, other = one.derivative()(first), one.derivative()(second)
    at = (one(second) - one(first) + first * slope - second * other) / (slope - other)
    return Infimum.attained(one(first) + slope * (at - first), at)


def _touching(curve: Curves, inside: Interval, places: Iterable[Rational], *, is_integers: bool) -> set[Rational]:
    """Return where `_corners` takes tangents, and the ends of parts."""
    low, _, high, _ = inside
    assert low is not None
    assert high is not None
    knots = curve.knots[curve.segment_after(low) : curve.segment_before(high)] if low < high else ()
    found = {low, high, *(at for at in places if low < at < high)}
    for left, right in pairwise((low, *knots, high)):
        one = curve.polynomials[curve.segment_after(left)]
        for start, end in pairwise([left, *_inflection(one, left, right), right]):
            first, last = (fmpq(start.floor() + 1), fmpq(end.ceil() - 1)) if is_integers else (start, end)
            found |= {start, end, first, last}
            if _is_convex(one, start, end):
                found.update(_first(one, first, last))
    return {fmpq(n) for at in found for n in (at.floor(), at.ceil())} if is_integers else found


class Tangents:
    """What was learned of the curves of a landscape around a row.

    Parameters
    ----------
    landscape : Landscape
        Some of its features' own parts are curves.
    row : Row
    """

    def __init__(self, landscape: Landscape, row: Row) -> None:
        self.landscape, self.row = landscape, row
        self._places: list[set[Rational]] = [set() for _ in row]
        self._inner: list[Ground] = []  # that were made since something was learned

    def grounds(self, region: Sequence[Domain], deadline: float) -> tuple[Ground, Ground]:
        """Return the inner and the outer ground of a region, by what is known so far."""
        inner, outer = (
            Ground(self._landscape(is_inner=is_inner), self.row, region, deadline=deadline)
            for is_inner in (True, False)
        )
        self.landscape = self.landscape.scaled(min(one.landscape.bits for one in (inner, outer)))  # for the next ones
        self._inner.append(inner)
        return inner, outer

    def _landscape(self, *, is_inner: bool) -> Landscape:
        known = zip(self.landscape.ladders, self._places, strict=True)
        return self.landscape.with_ladders(
            CurvedLadder(one, sorted(places), is_inner=is_inner) if isinstance(one.function, Curves) else one
            for one, places in known
        )

    def touching(self, region: Sequence[Domain]) -> list[set[Rational]]:
        """Return for each feature all places of a region at which tangents are taken, or a curve's part ends."""
        found: list[set[Rational]] = [set() for _ in self.row]
        for i, ladder in enumerate(self.landscape.ladders):
            curve = ladder.function
            if not isinstance(curve, Curves):
                continue
            for span in region[i].spans:
                reach = Interval(span.low, True, span.high, True)
                for cell in ladder.axis.cells_between(span.low, span.high):
                    inside = within(ladder.axis.interval(cell), reach, is_integers=span.is_integers)
                    if inside is not None and ladder.varies[cell]:
                        found[i] |= _touching(curve, inside, self._places[i], is_integers=span.is_integers)
        return found

    def touched(self, region: Sequence[Domain], places: Sequence[Iterable[Rational]], deadline: float) -> Ground:
        """Return the inner ground of a region whose tangents are taken at given places and no others."""
        ladders = (
            CurvedLadder(one, sorted(some), is_inner=True, has_others=False)
            if isinstance(one.function, Curves)
            else one
            for one, some in zip(self.landscape.ladders, places, strict=True)
        )
        return Ground(self.landscape.with_ladders(ladders), self.row, region, deadline=deadline)

    @property
    def count(self) -> int:
        """At how many places tangents are taken."""
        return sum(map(len, self._places))

    @property
    def has_more(self) -> bool:
        """Whether there is anything to learn of labellings that broke a constraint."""
        return any(new - known for new, known in zip(self._new(), self._places, strict=True))

    def learn(self) -> None:
        """Take tangents where inner grounds were broken so far."""
        for known, new in zip(self._places, self._new(), strict=True):
            known |= new
        self._inner.clear()

    def _new(self) -> list[set[Rational]]:
        found: list[set[Rational]] = [set() for _ in self.row]
        for ground in self._inner:
            for labels in sorted(ground.visited):
                for i, label in enumerate(labels):
                    if label and isinstance(self.landscape.mains[i], Curves):
                        found[i] |= self._next(ground, labels, i)
        return found

    def _next(self, ground: Ground, labels: Sequence[int], i: int) -> set[Rational]:
        """Return where a curve should be known better: its lowest place beside the others of a labelling."""
        spot = ground.spot(i, labels[i])
        at, curve = spot.infimum.at, self.landscape.mains[i]
        assert isinstance(curve, Curves)
        if not isinstance(at, fmpq) or spot.infimum.side or curve(at) == spot.infimum.value:
            return set()  # known exactly
        k, within = curve.segment_before(at), spot.within
        assert within is not None
        low = max(end for end in (within.low, *curve.knots[max(k - 1, 0) : k]) if end is not None)
        high = min(end for end in (within.high, *curve.knots[k : k + 1]) if end is not None)
        slope = fmpq_poly([ZERO, self._slope(ground, labels, i, spot)])
        best = turn_between(curve.polynomials[k] + slope, low, high)
        if best is None:
            return {_rounded(at, high - low)}
        # The corners beside a place are half as far from it as the next places: closer ones bring them nearer.
        known = (abs(best - place) for place in (*self._places[i], low, high))
        step = min(one for one in known if one) / _CLOSER
        return {_rounded(place, high - low) for place in (best, best - step, best + step)}

    def _slope(self, ground: Ground, labels: Sequence[int], i: int, spot: Spot) -> Rational:
        """Return the slope of all pair terms along a feature at a labelling."""
        at = spot.infimum.at
        assert isinstance(at, fmpq)
        beside = spot._replace(infimum=spot.infimum._replace(at=at + ONE))
        found = ZERO
        for e, side in self.landscape.around[i]:
            j = self.landscape.pairs[e][0][1 - side]
            other = ground.spot(j, labels[j])
            for one, sign in ((beside, 1), (spot, -1)):
                found += sign * self.landscape.pair_at(e, *((other, one) if side else (one, other)))
        return found


def _rounded(at: Rational, width: Rational) -> Rational:
    """Return a place, or one close to it that takes fewer digits."""
    if max(int(at.p).bit_length(), int(at.q).bit_length()) <= _SHORT:
        return at
    bits = _ROUNDED - (int(width.p).bit_length() - int(width.q).bit_length())
    unit = fmpq(2) ** bits
    return fmpq((at * unit).floor()) / unit
