"""Polynomials of degree 3 or less: values, ways on from a place, and the least value between two places.

A polynomial is a list of its coefficients, that of 1 first. It is lowest at an end of an interval, or inside where it
turns: where its derivative, of degree 2 at most, is 0 and rises. There is one such number at most, `u + w · √D`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from suffice_check.ordered import Number
from suffice_check.roots import Exact, Roots, with_root

EXACT_POWERS, MOST_POWERS = 4, 64  # of polynomials whose least values are exact, and of any
Polynomial = Sequence[Fraction]
Found = tuple[
    Exact, int
]  # a value; and whether those beside it that count are below (-1), above (1) or it is taken (0)


def value(powers: Polynomial, t: Fraction) -> Fraction:
    """Return the value at a number."""
    found = Fraction(0)
    for power in reversed(powers):
        found = found * t + power
    return found


def derivative(powers: Polynomial) -> list[Fraction]:
    """Return the derivative."""
    return [k * power for k, power in enumerate(powers)][1:]


def way(powers: Polynomial, at: Number) -> int:
    """Return 1 where values rise from a number towards its side, -1 where they fall, 0 where they stay."""
    sign = side = (at.edge > 0) - (at.edge < 0)
    slope = derivative(powers) if side else []
    while any(slope):  # the first derivative that is not 0 there tells
        steep = value(slope, at.value)
        if steep:
            return sign if steep > 0 else -sign
        sign, slope = sign * side, derivative(slope)
    return 0


def lowest(powers: Polynomial, first: Number | None, last: Number | None, is_integers: bool) -> list[Found] | None:
    """Return values between two places (None: without end) of which one is the least; None if there is no least one.

    A least value at a number that is no fraction is approached, for values of features are fractions.
    """
    if len(powers) == 2 and powers[1]:  # a line is lowest at one end
        at = first if powers[1] > 0 else last
        return None if at is None else [(powers[0] + powers[1] * at.value, way(powers, at))]
    degree = max((k for k, power in enumerate(powers) if power), default=0)
    falls = powers[degree] < 0
    if degree and ((last is None and falls) or (first is None and falls ^ degree % 2)):
        return None
    places = [at for at in (first, last) if at is not None] if degree else [first or last or Number(Fraction(0))]
    found: list[Found] = [(value(powers, at.value), way(powers, at)) for at in places]
    turn = _turn(powers)
    if turn is None:
        return found
    place, least = turn
    is_inside = (first is None or first < Number(place)) and (last is None or Number(place) < last)  # type: ignore[arg-type]
    if not is_inside:
        return found
    if (
        is_integers
    ):  # it falls up to the turn and rises from there, as far as the next turn: those next to it are lowest
        near = floor(place)
        beside = [Number(Fraction(k)) for k in (near, near + 1)]
        return found + [
            (value(powers, at.value), 0)
            for at in beside
            if (first is None or first <= at) and (last is None or at <= last)
        ]
    return [*found, (least, 1 if isinstance(place, Roots) else 0)]


def below(
    powers: Polynomial, low: Fraction, high: Fraction, places: Sequence[Fraction], is_integers: bool
) -> list[tuple[Fraction, Fraction]]:
    """Return points between two numbers, at some of which a polynomial is replaced by something that is not above it.

    From `low` to the first of them, from each to the next, and from the last to `high`, the polynomial is nowhere below
    the straight line; of integers, as far as there are any strictly in between. Where it bends upwards, the points are
    where its tangents cross that touch it at the places; elsewhere a straight line from end to end is below it.
    """
    _, _, square, cube, *_ = (*powers, Fraction(0), Fraction(0), Fraction(0), Fraction(0))
    turn = -square / (3 * cube) if cube else low
    marks = [low, *([turn] if low < turn < high else []), high]
    found = [(t, value(powers, t)) for t in marks[1:-1] if not is_integers or t.denominator == 1]
    for first, last in pairwise(marks):
        ends = first, last
        if is_integers:
            ends = Fraction(first.__floor__() + 1), Fraction(last.__ceil__() - 1)
            if ends[0] > ends[1]:
                continue
            found += [(t, value(powers, t)) for t in sorted({*ends})]
        if square + 3 * cube * (first + last) / 2 > 0:  # half of the second derivative, of one sign in between
            found += _crossings(powers, *ends, places, is_integers)
    return sorted(found)


def _crossings(
    powers: Polynomial, low: Fraction, high: Fraction, places: Sequence[Fraction], is_integers: bool
) -> list[tuple[Fraction, Fraction]]:
    """Return where neighbouring tangents of a part that bends upwards cross; of integers, these places as well."""
    near = [t for place in places for t in ((place.__floor__(), place.__ceil__()) if is_integers else (place,))]
    touching, slope = sorted({low, *(Fraction(t) for t in near if low < t < high), high}), derivative(powers)
    found = [(t, value(powers, t)) for t in touching[1:-1] if is_integers]
    for s, t in pairwise(touching):
        if s < t and not (is_integers and t - s == 1):
            steep, steeper = value(slope, s), value(slope, t)
            at = (value(powers, t) - value(powers, s) + steep * s - steeper * t) / (steep - steeper)
            found.append((at, value(powers, s) + steep * (at - s)))
    return found


def _turn(powers: Polynomial) -> tuple[Exact, Exact] | None:
    """Return where a polynomial stops falling and rises, and its value there; None where it does not."""
    c, b, a, *_ = (*derivative(powers), Fraction(0), Fraction(0), Fraction(0))  # its derivative is a · t² + b · t + c
    if not a:
        return (-c / b, value(powers, -c / b)) if b > 0 else None
    square = b * b - 4 * a * c
    if square <= 0:
        return None  # the derivative has one sign
    u, w = -b / (2 * a), 1 / (2 * a)  # at u + w · √square the second derivative is √square
    whole, factor = Fraction(0), Fraction(0)
    for power in reversed(powers):  # (whole + factor · √square) · (u + w · √square) + power
        whole, factor = whole * u + factor * w * square + power, whole * w + factor * u
    return with_root(u, w, square), with_root(whole, factor, square)


def floor(number: Exact) -> int:
    """Return the largest integer that is not above a number."""
    if isinstance(number, Fraction):
        return number.__floor__()
    bits = 64
    while True:  # a root that is no fraction is no integer either
        low, high = (end.__floor__() for end in number.bounds(bits))
        if low == high:
            return low
        bits *= 2


def composed(
    powers: Sequence[tuple[Fraction, ...]], factor: Fraction, center: Fraction, scale: Fraction
) -> list[tuple[Fraction, ...]]:
    """Return `factor · p((t - center) / scale)`, for a polynomial of several outputs."""
    found: list[tuple[Fraction, ...]] = []
    for row in reversed(powers):  # p = q · (t - center) / scale + row
        slid = [tuple(-center / scale * one for one in power) for power in found]
        lifted = [tuple(one / scale for one in power) for power in found]
        start = tuple(factor * one for one in row)
        low = [tuple(a + b for a, b in zip(start, slid[0], strict=True)), *slid[1:]] if slid else [start]
        found = [tuple(a + b for a, b in zip(x, y, strict=True)) for x, y in zip(low[1:], lifted, strict=False)]
        found = [low[0], *found, *lifted[len(low) - 1 :]]
    return found
