"""The other kind of compiled function: polynomials of degree 3 or less between rational knots, with jumps, on all of ℝ.

In: knots and the polynomials between them, or a linear combination of functions of both kinds.
Out: exact values, and the exact infimum over an interval with the place where it lies.
Guaranteed: no rounding anywhere.

Why the infimum is exact. Inside a piece the function is lowest at an end, or where it *turns*: where its derivative, of
degree 2 at most, is 0 and rises. That place is `u + w·√D` with rational u, w, D, and the value there, the remainder of
the piece by its derivative, is `A + B·√D`: a rational or a `Surd`, which compare exactly.

Inputs are rational numbers. A minimum at a place that is not rational is approached by them and never attained.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, cast

from flint import fmpq, fmpq_poly

from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.surd import Exact, Surd, square_root
from suffice.numbers.values import Label, Value
from suffice.shapes.function import Function
from suffice.shapes.infimum import Infimum, RangeMinimum
from suffice.shapes.pieces import Pieces

MOST_DEGREE = 3


class Turn(NamedTuple):
    """A place strictly inside a piece where the function stops falling and rises."""

    place: Exact
    infimum: Infimum  # what there is; at a place that is not rational it is approached, and `at` lies beside it


@dataclass(frozen=True)
class Curves(Function):
    """Function of one variable in exact arithmetic, a polynomial between knots.

    Parameters
    ----------
    knots : tuple of Rational
        Strictly increasing.
    polynomials : tuple of fmpq_poly
        One more than knots, each of degree 3 or less, in powers of the variable itself. One of a higher degree has
        values, but no infima; such a function is the start of a `Chain`.
    values : tuple of Rational
        The value at each knot; where the function jumps it may differ from the pieces on either side.
    labels : mapping of Label to Rational
        Values beside the real line.

    Examples
    --------
    >>> cubic = Curves((), (fmpq_poly([0, -2, 0, 1]),), ())  # t³ - 2t falls up to √(2/3)
    >>> cubic.infimum(fmpq(0), fmpq(2)).value
    -2/9*sqrt(24)
    >>> cubic.infimum(fmpq(-2), fmpq(2)).value
    -4
    """

    knots: tuple[Rational, ...]
    polynomials: tuple[fmpq_poly, ...]
    values: tuple[Rational, ...]
    labels: Mapping[Label, Rational] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert len(self.polynomials) == len(self.knots) + 1 == len(self.values) + 1

    def __call__(self, at: Value) -> Rational:
        """Return the exact value at a number or a label."""
        if not isinstance(at, fmpq):
            return self.labels[at]
        k = self.segment_before(at)
        if k < len(self.knots) and self.knots[k] == at:
            return self.values[k]
        return self.polynomials[k](at)

    def rescaled(self, center: Rational, scale: Rational) -> Function:
        """Return `x -> self((x - center) / scale)` for a scale other than 0; labels keep their values."""
        inner = fmpq_poly([-center / scale, ONE / scale])
        knots = tuple(knot * scale + center for knot in self.knots)
        polynomials = tuple(one(inner) for one in self.polynomials)
        if scale > 0:
            return Curves(knots, polynomials, self.values, self.labels)
        return Curves(knots[::-1], polynomials[::-1], self.values[::-1], self.labels)

    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Function:
        """Return the function with other values at some numbers and labels."""
        knots = sorted({*self.knots, *points})
        polynomials = [self.polynomials[k] for k in (0, *map(self.segment_after, knots))]
        values = [points[knot] if knot in points else self(knot) for knot in knots]
        return tidy(knots, polynomials, values, {**self.labels, **labels})

    def with_labels(self, labels: Mapping[Label, Rational]) -> Curves:
        """Return the function with these labels in place of its own."""
        return Curves(self.knots, self.polynomials, self.values, labels)

    @cached_property
    def on_integers(self) -> AtIntegers:
        """The function where only integers count."""
        return AtIntegers(self)

    # --- where it is lowest -------------------------------------------------------------------------------------------

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the closed interval from `low` to `high` (None: without end on that side).

        Between the ends of the interval, the knots and the turns inside it the function is monotone. Of several places
        with the same value an attained one is reported, and the leftmost of these.
        """
        if low is not None and low == high:
            return Infimum.attained(self(low), low)
        if (side := self.falls_for_ever(low is None, high is None)) != 0:
            return Infimum.unbounded(side)
        first = 0 if low is None else self.segment_after(low)
        last = len(self.knots) if high is None else self.segment_before(high)
        found = [self._lowest.best(first, last)] if first < last else []
        start = 0 if low is None else bisect_right(self._places, low)
        stop = len(self.turns) if high is None else bisect_left(self._places, high)
        if start < stop:
            found.append(self._deepest.best(start, stop))
        if low is not None:
            found += self._at_end(low, first, 1)
        if high is not None:
            found += self._at_end(high, last, -1)
        # With no candidate at all this is one constant piece without ends.
        return min(found) if found else Infimum.attained(self.polynomials[0][0], ZERO)

    def falls_for_ever(self, to_left: bool, to_right: bool) -> int:
        """Return the side on which the function falls without bound, of those that are asked about; 0 if on none."""
        last, first = self.polynomials[-1], self.polynomials[0]
        if to_right and last.degree() > 0 and last[last.degree()] < 0:
            return 1
        if to_left and first.degree() > 0 and first[first.degree()] * (-1) ** first.degree() < 0:
            return -1
        return 0

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The local minima inside pieces, from left to right."""
        ends = [None, *self.knots, None]
        found = (_turn(one, ends[k], ends[k + 1]) for k, one in enumerate(self.polynomials))
        return tuple(one for one in found if one is not None)

    @cached_property
    def _places(self) -> list[Exact]:
        return [turn.place for turn in self.turns]

    @cached_property
    def _deepest(self) -> RangeMinimum:
        return RangeMinimum([turn.infimum for turn in self.turns])

    @cached_property
    def _lowest(self) -> RangeMinimum:
        return RangeMinimum(
            [min([*self._at_end(t, k, -1), *self._at_end(t, k + 1, 1)]) for k, t in enumerate(self.knots)]
        )

    def _at_end(self, end: Rational, k: int, side: int) -> list[Infimum]:
        """Return the value at an end of an interval, and the limit there of the piece `k` on the inner side of it."""
        one, value = self.polynomials[k], self(end)
        limit = one(end)
        here = Infimum.attained(value, end)
        return [here] if limit == value else [here, Infimum.limit(limit, end, side, fmpq(one.degree() > 0))]

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a point of the interval whose value is at most `target`; see `Lowest`."""
        assert isinstance(infimum.at, fmpq)
        if not infimum.is_bounded:
            return self.far_point(infimum.side, target, low if infimum.side > 0 else high)
        if infimum.side == 0 and not infimum.is_approached:
            return infimum.at
        if infimum.side == 0:
            (place,) = (turn.place for turn in self.turns if turn.infimum == infimum)
            return self._beside(place, target, low, high)
        # On the open piece beside a jump, ever closer to it.
        k = self.segment_after(infimum.at) if infimum.side > 0 else self.segment_before(infimum.at)
        ends = (*self.knots[k : k + 1], high) if infimum.side > 0 else (*self.knots[max(k - 1, 0) : k], low)
        step = min((abs(end - infimum.at) for end in ends if end is not None), default=ONE) / 2
        while self(infimum.at + infimum.side * step) > target:
            step = step / 2
        return infimum.at + infimum.side * step

    def _beside(self, place: Exact, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a rational next to a place that is not rational, inside the interval and with a value low enough."""
        assert isinstance(place, Surd)
        bits = 8
        while True:
            for end in place.bounds(bits):
                if (low is None or low <= end) and (high is None or end <= high) and self(end) <= target:
                    return end
            bits *= 2

    def far_point(self, side: int, target: Rational, start: Rational | None) -> Rational:
        """Return an integer towards a side on which the function falls for ever, with a value of at most `target`."""
        inner = [side * end for end in (start, self.knots[-1 if side > 0 else 0] if self.knots else None) if end]
        at = max([ZERO, *inner]).floor() + 1
        while self(fmpq(side * at)) > target:
            at *= 2
        return fmpq(side * at)


class AtIntegers:
    """A curve where only integers count.

    Between two stops (knots and turns) the curve is monotone or rises before it falls, so that of the integers between
    them the first or the last is lowest.
    """

    def __init__(self, curve: Curves) -> None:
        self.curve = curve
        stops: list[Exact] = [*curve.knots, *(turn.place for turn in curve.turns)]
        near = sorted({fmpq(one) for stop in stops for one in (stop.ceil() - 1, stop.floor(), stop.floor() + 1)})
        self._near = near
        self._lowest = RangeMinimum([Infimum.attained(curve(one), one) for one in near])

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the integers from `low` to `high`, of which there is one."""
        if (side := self.curve.falls_for_ever(low is None, high is None)) != 0:
            return Infimum.unbounded(side)
        ends = [fmpq(low.ceil())] if low is not None else []
        ends += [fmpq(high.floor())] if high is not None else []
        first = 0 if low is None else bisect_left(self._near, low)
        last = len(self._near) if high is None else bisect_right(self._near, high)
        found = [Infimum.attained(self.curve(end), end) for end in ends]
        found += [self._lowest.best(first, last)] if first < last else []
        return min(found) if found else Infimum.attained(self.curve(ZERO), ZERO)

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return an integer of the interval whose value is at most `target`."""
        assert isinstance(infimum.at, fmpq)
        if infimum.is_bounded:
            return infimum.at
        return self.curve.far_point(infimum.side, target, low if infimum.side > 0 else high)


def _turn(one: fmpq_poly, low: Rational | None, high: Rational | None) -> Turn | None:
    """Return where a polynomial turns from falling to rising, if it does so strictly between two places."""
    slope = one.derivative()
    if slope.degree() == 1:
        if slope[1] < 0:
            return None
        place: Exact = -slope[0] / slope[1]
    elif slope.degree() == 2:
        discriminant = slope[1] ** 2 - 4 * slope[2] * slope[0]
        if discriminant <= 0:  # it never falls, or never rises
            return None
        # Of the two roots the one at which the second derivative, 2·a·t + b, is √D and not -√D.
        place = (square_root(discriminant) - slope[1]) / (2 * slope[2])
    else:
        return None
    if (low is not None and place <= low) or (high is not None and place >= high):
        return None
    if not isinstance(place, Surd):
        return Turn(place, Infimum.attained(one(place), place))
    rest = one % slope  # of degree 1, and equal to the polynomial wherever its derivative is 0
    # What is only added up and compared may be a `Surd` wherever a rational is.
    value = cast(Rational, place * rest[1] + rest[0])
    return Turn(place, Infimum(True, value, True, _inside(place, low, high), 0))


def turn_between(one: fmpq_poly, low: Rational, high: Rational) -> Rational | None:
    """Return a rational at or beside the place where a polynomial of degree 3 or less turns from falling to rising."""
    turn = _turn(one, low, high)
    if turn is None:
        return None
    assert isinstance(turn.infimum.at, fmpq)
    return turn.infimum.at


def _inside(place: Surd, low: Rational | None, high: Rational | None) -> Rational:
    """Return a rational beside a place, within the same piece."""
    bits = 64
    while True:
        near, _ = place.bounds(bits)
        if (low is None or low < near) and (high is None or near < high):
            return near
        bits *= 2


# --- making functions -------------------------------------------------------------------------------------------------


def tidy(
    knots: Sequence[Rational],
    polynomials: Sequence[fmpq_poly],
    values: Sequence[Rational],
    labels: Mapping[Label, Rational] | None = None,
) -> Function:
    """Return a function without the knots where nothing happens; as `Pieces` where nothing is curved."""
    kept = [
        k for k, knot in enumerate(knots) if polynomials[k] != polynomials[k + 1] or values[k] != polynomials[k](knot)
    ]
    each = [polynomials[k] for k in (0, *(k + 1 for k in kept))]
    places, heights, named = tuple(knots[k] for k in kept), tuple(values[k] for k in kept), dict(labels or {})
    if all(one.degree() < 2 for one in each):
        return Pieces(places, tuple(one[1] for one in each), tuple(one[0] for one in each), heights, named)
    return Curves(places, tuple(each), heights, named)


def added(
    parts: Sequence[tuple[Rational, Curves]],
) -> tuple[list[Rational], list[fmpq_poly], list[Rational], dict[Label, Rational]]:
    """Return knots, polynomials, values and labels of a linear combination; a label must be known to all."""
    knots = sorted({knot for _, part in parts for knot in part.knots})
    polynomials = [fmpq_poly()] * (len(knots) + 1)
    for factor, part in parts:
        for k, segment in enumerate((0, *map(part.segment_after, knots))):
            polynomials[k] = polynomials[k] + factor * part.polynomials[segment]
    values = [sum((factor * part(knot) for factor, part in parts), ZERO) for knot in knots]
    known = [label for label in parts[0][1].labels if all(label in part.labels for _, part in parts)]
    labels = {label: sum((factor * part.labels[label] for factor, part in parts), ZERO) for label in known}
    return knots, polynomials, values, labels


def curved_form(function: Function) -> Curves:
    """Return a function as polynomials, of degree 1 or less where it is affine."""
    if isinstance(function, Curves):
        return function
    assert isinstance(function, Pieces)
    lines = zip(function.offsets, function.slopes, strict=True)
    return Curves(function.knots, tuple(fmpq_poly(list(line)) for line in lines), function.values, function.labels)
