"""How a function of one variable goes: the line cut into legs on which it never falls, never rises, or turns.

In: a compiled function of any kind, without a jump between two numbers. Out: `Leg`s from the one to the other.
Guaranteed: on a leg that rises the function never falls, on one that falls it never rises. A leg that turns is short:
it holds one turn, and a neighbour on which the function is strictly monotone shows whatever falls or rises in it. Of a
leg in doubt nothing is known.

Polynomials are decided exactly: their slope changes its sign at its roots of odd multiplicity alone, which flint
factors out and isolates. Other smooth functions are followed cell by cell; see `monotone`.
"""

from __future__ import annotations

from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple

from flint import arb, fmpq_poly

from suffice.numbers.enclosure import of_ball, working
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.shapes.curves import Curves, added
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.function import Function
from suffice.shapes.lazy import Lazy
from suffice.shapes.monotone import GUARD_BITS, Cell, Kind, Monotone
from suffice.shapes.pieces import Pieces

_BITS = 64  # how closely the place of a turn is enclosed
_MOST_BITS = 4_096
_DEEPEST = 12  # how often a cell in doubt is halved
_MOST_CELLS = 400  # looked at beside those that are known


class Way(Enum):
    """How a function goes on a leg."""

    RISES = 1  # it never falls
    FALLS = -1  # it never rises
    TURNS = 0
    DOUBT = None


class Leg(NamedTuple):
    """The numbers between two others (None: without end), and how a function goes there."""

    low: Rational | None
    high: Rational | None
    way: Way


def marks_of(function: Function, low: Rational | None, high: Rational | None) -> list[Rational]:
    """Return the numbers between two others at which a function may jump or bend, so that `legs` do not hold them."""
    if isinstance(function, Lazy):
        parts = function.over(low, high)
        every = {at for _, _, pieces in parts for at in pieces.knots}
        every |= {end for start, end, _ in parts[:-1] if end is not None}
    elif isinstance(function, Enclosed):
        every = set(function.chains.places)
    else:
        every = set(function.knots)
    return sorted(at for at in every if (low is None or low < at) and (high is None or at < high))


def legs(function: Function, low: Rational | None, high: Rational | None, tilt: Rational = ZERO) -> list[Leg]:
    """Return how `function(t) + tilt · t` goes between two numbers that have no mark between them.

    A function of lines is one leg there, which values at its ends tell all of.
    """
    if isinstance(function, Pieces | Lazy):
        return []
    polynomial = _polynomial(function, low, high)
    if polynomial is not None:
        return _polynomial_legs(polynomial + fmpq_poly([ZERO, tilt]), low, high)
    assert isinstance(function, Enclosed)
    assert not tilt, "smooth shapes are not beside terms over two features"
    return _smooth_legs(function, low, high)


def _inside(low: Rational | None, high: Rational | None) -> Rational:
    """Return a number strictly between two others."""
    if low is not None:
        return low + 1 if high is None else (low + high) / 2
    return ZERO if high is None else high - 1


# --- polynomials ------------------------------------------------------------------------------------------------------


def _polynomial(function: Function, low: Rational | None, high: Rational | None) -> fmpq_poly | None:
    """Return the polynomial that a function is between two numbers; None if it is none."""
    if isinstance(function, Enclosed):
        each = function.chains.each
        if any(chain.stages or chain.first is None for chain in each):
            return None
        parts = [(chain.factor, chain.first.rescaled(chain.center, chain.scale)) for chain in each if chain.first]
        curves = [(factor, part) for factor, part in parts if isinstance(part, Curves)]
        knots, polynomials, values, _ = added(curves)
        function = Curves(tuple(knots), tuple(polynomials), tuple(values))
    if not isinstance(function, Curves):
        return None
    return function.polynomials[function.segment_after(_inside(low, high))]


def _polynomial_legs(one: fmpq_poly, low: Rational | None, high: Rational | None) -> list[Leg]:
    slope = one.derivative()
    turns = _sign_changes(slope, low, high)
    found: list[Leg] = []
    start = low
    for first, last in turns:
        found.append(Leg(start, first, _sign(slope, start, first)))
        if first < last:
            found.append(Leg(first, last, Way.TURNS))
        start = last
    return [*found, Leg(start, high, _sign(slope, start, high))]


def _sign(slope: fmpq_poly, low: Rational | None, high: Rational | None) -> Way:
    """Return the sign of a slope that does not change it between two numbers; a root in the middle is none."""
    at = _inside(low, high)
    while slope.degree() >= 0 and slope(at) == 0:
        at = _inside(at, high)
    return Way.FALLS if slope(at) < 0 else Way.RISES


def _sign_changes(slope: fmpq_poly, low: Rational | None, high: Rational | None) -> list[tuple[Rational, Rational]]:
    """Return the roots of odd multiplicity strictly between two numbers, each between two rationals, in order."""
    if slope.degree() < 1:
        return []
    _, factors = slope.factor()
    odd = fmpq_poly([ONE])
    for factor, multiplicity in factors:
        odd = odd * factor if multiplicity % 2 else odd
    ends, bits = [end for end in (low, high) if end is not None], _BITS
    while True:
        found = _real_roots(odd, bits)
        # A root at an end is rational, and not inside; of every other one it must be known on which side of ends it is.
        is_apart = all(a[1] < b[0] for a, b in pairwise(found))
        if is_apart and not any(a <= end <= b and a < b for a, b in found for end in ends):
            return [(a, b) for a, b in found if (low is None or low < a) and (high is None or b < high)]
        bits *= 2
        assert bits <= _MOST_BITS, "different roots are apart"


def _real_roots(odd: fmpq_poly, bits: int) -> list[tuple[Rational, Rational]]:
    """Return the real roots of a polynomial without multiple ones, in order, each between two rationals."""
    found: list[tuple[Rational, Rational]] = []
    _, factors = odd.factor()
    for factor, _ in factors:
        if factor.degree() == 1:
            root = -factor[0] / factor[1]
            found.append((root, root))
            continue
        with working(bits):
            every: Any = factor.numer().complex_roots()  # isolated; the imaginary part of a real one is exactly 0
            for root, _ in every:
                if root.imag == 0:
                    bounds = of_ball(root.real)
                    assert bounds is not None
                    found.append((bounds.low, bounds.high))
    return sorted(found)


# --- smooth functions -------------------------------------------------------------------------------------------------


def _smooth_legs(function: Enclosed, low: Rational | None, high: Rational | None) -> list[Leg]:
    ends, outside = [low, high], dict[int, Leg]()
    for k, side in enumerate((-1, 1)):
        if ends[k] is None:
            other = ends[1 - k]
            start, _ = function.chains.tail(side)
            edge = side * max([side * start, *([] if other is None else [side * other])]) + side
            ends[k] = edge
            # Beyond the last corner, what stages are tells of all numbers alike.
            trend = function.chains.trend(*sorted((edge, edge + side)))
            known = Way.RISES if trend > 0 else Way.FALLS if trend < 0 else Way.DOUBT
            outside[side] = Leg(edge, None, known) if side > 0 else Leg(None, edge, known)
    first, last = ends
    assert first is not None
    assert last is not None
    inside = _followed(function, first, last)
    return [*([outside[-1]] if -1 in outside else []), *inside, *([outside[1]] if 1 in outside else [])]


def _followed(function: Enclosed, low: Rational, high: Rational) -> list[Leg]:
    """Return the legs between two numbers, cell by cell; cells in doubt are halved until little is left of them."""
    budget, found = [_MOST_CELLS], list[Leg]()
    for cell in function.monotone.cells(low, high, _BITS):
        start, end = max(cell.low, low), min(cell.high, high)
        if start < end:
            found += _of_cell(function, cell, start, end, 0, budget)
    return found


def _of_cell(
    function: Enclosed, cell: Cell, start: Rational, end: Rational, depth: int, budget: list[int]
) -> list[Leg]:
    """Return the legs of a part of a cell."""
    known = {Kind.RISES: Way.RISES, Kind.FALLS: Way.FALLS}.get(cell.kind) if cell.kind is not None else None
    if known is not None:
        return [Leg(start, end, known)]
    if cell.kind in (Kind.VALLEY, Kind.HILL) and cell.place is not None:
        before, after = (Way.FALLS, Way.RISES) if cell.kind is Kind.VALLEY else (Way.RISES, Way.FALLS)
        place = _closer(function, *cell.place)
        first, last = max(start, min(place[0], end)), min(end, max(place[1], start))
        parts = [Leg(start, first, before), Leg(last, end, after)]
        # What a turn hides, the strictly monotone leg on both of its sides shows.
        turn = Leg(first, last, Way.TURNS)
        if first >= last:
            return [one for one in parts if one.low < one.high]  # type: ignore[operator]
        if start < first and last < end:
            return [parts[0], turn, parts[1]]
        if depth >= _DEEPEST or budget[0] <= 0:
            around = [one for one in parts if one.low < one.high]  # type: ignore[operator]
            return sorted([*around, turn._replace(way=Way.DOUBT)], key=lambda one: one.low or ZERO)
    if depth >= _DEEPEST or budget[0] <= 0:
        return [Leg(start, end, Way.DOUBT)]
    middle, found = (start + end) / 2, list[Leg]()
    for left, right in ((start, middle), (middle, end)):
        budget[0] -= 1
        half = Cell(left, right)
        bits = 4 * _BITS
        with working(bits + GUARD_BITS):
            Monotone.read(half, function.chains.jet(left, right), bits)
        found += _of_cell(function, half, left, right, depth + 1, budget)
    return found


def _closer(function: Enclosed, low: Rational, high: Rational) -> tuple[Rational, Rational]:
    """Return two numbers closer together between which a slope is 0, if it is so anywhere between those given.

    Newton's step from the middle leads there, with some bend between them.
    """
    with working(_BITS + GUARD_BITS):
        while (high - low) * 2**_BITS > 1:
            jet = function.chains.jet(low, high)
            zero = of_ball(arb((low + high) / 2) - jet.middle[1] / (2 * jet.cell[2]))
            if zero is None or not 0 <= 2 * (min(high, zero.high) - max(low, zero.low)) <= high - low:
                break
            low, high = max(low, zero.low), min(high, zero.high)
    return low, high
