"""Functions of all kinds as polynomials of degree 3 or less, each within a proven distance of the function.

In: a compiled function, the spans of its domain. Out: `Cubic`s, end to end over the spans, and single points where the
function jumps.
Guaranteed: over its closed stretch a cubic is within `off` of the function, or of its limits where that jumps at an
end. Polynomials between knots are themselves, but for coefficients cut to floats where they bend. For smooth functions
this is Taylor's theorem: `t` away from the middle `c` of a cell, `f` is `f(c) + f'(c) t + f''(c)/2 t² + q t³`, where
`q` lies between the values of `f'''/6` over the cell; balls hold all four numbers, and what they leave open is in
`off`. Where a derivative jumps inside the cell the same holds of the orders below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from flint import arb, fmpq, fmpq_poly

from suffice.model.domain import Domain
from suffice.numbers.enclosure import dyadic, of_ball, trimmed, working
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes.chains import Chains
from suffice.shapes.curves import Curves, curved_form
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.float_network import FLOAT_PRECISION
from suffice.shapes.function import Function
from suffice.shapes.smooth_functions import TERMS

MOST = 2.0**500  # numbers from here up are left alone
LEVELS = 8  # stretches, each twice as long as the one before, that cover a span without an end
_CELLS = 16  # that a stretch of a smooth function is cut into at first
_FINEST = 2**24  # what is less than this part of a stretch is not halved
_MOST_CELLS = 1_500  # of one function that are looked at


class Cubic(NamedTuple):
    """A stretch of a function: within `off` of a polynomial of `x - center`."""

    low: Rational
    high: Rational
    center: Rational
    terms: tuple[Rational, Rational, Rational, Rational]
    off: Rational | None  # None: nothing is known
    ease: int = 1  # as many times as elsewhere may a chord be off here: far out rows are few, and numbers large

    @property
    def is_line(self) -> bool:
        """Whether the function is this very polynomial, and affine."""
        return self.off == 0 and not self.terms[2] and not self.terms[3]

    def at(self, x: Rational) -> Rational:
        """Return the polynomial at a number."""
        t, (a, b, c, d) = x - self.center, self.terms
        return ((d * t + c) * t + b) * t + a

    def bend(self, x: Rational) -> Rational:
        """Return its second derivative at a number."""
        return 2 * self.terms[2] + 6 * self.terms[3] * (x - self.center)


class Stretch(NamedTuple):
    """Part of a span, without a corner of the function inside."""

    low: Rational
    high: Rational
    ease: int


def stretches(function: Function, domain: Domain, radius: Rational | None) -> list[Stretch]:
    """Return the parts of the spans of a domain over which a function is looked at, from left to right.

    A span without an end is looked at up to the first knot, or after the last, where the function is affine beyond;
    else as far as some multiples of the radius, or of what is known of the function, beyond its knots and centers.
    """
    corners = corners_of(function)
    known = sorted(_places(function, corners))
    width = max([known[-1] - known[0], radius or ZERO, *_scales(function)]) or ONE
    goes_straight = {side: line_beyond(function, side) is not None for side in (-1, 1)}
    found: list[Stretch] = []
    for span_low, span_high in _joined(domain):
        ends = [one for one in (span_low, span_high) if one is not None]
        first, last = min([known[0], *ends]) - width, max([known[-1], *ends]) + width
        low, high, cuts = span_low, span_high, set(corners)
        if low is None:
            low = min([corners[0], *ends]) if goes_straight[-1] else first - width * 2**LEVELS
            cuts |= {first, *(first - width * 2**k for k in range(LEVELS))}
        if high is None:
            high = max([corners[-1], low]) if goes_straight[1] else last + width * 2**LEVELS
            cuts |= {last, *(last + width * 2**k for k in range(LEVELS))}
        for start, end in pairwise(sorted({low, high, *(one for one in cuts if low < one < high)})):
            beyond = max(ZERO, first - start, end - last) / width
            found.append(Stretch(start, end, 4 ** (int(beyond.ceil()) - 1).bit_length() if beyond > 1 else 1))
    return found


def corners_of(function: Function) -> list[Rational]:
    """Return where formulas meet, from left to right."""
    return list(function.chains.places) if isinstance(function, Enclosed) else list(function.knots)


def line_beyond(function: Function, side: int) -> fmpq_poly | None:
    """Return the line that a function is before its first knot (-1), or after its last one (1); None if it is none."""
    if isinstance(function, Enclosed):
        return None
    one: fmpq_poly = curved_form(function).polynomials[0 if side < 0 else -1]
    return one if one.degree() < 2 and function.knots else None


def _joined(domain: Domain) -> list[tuple[Rational | None, Rational | None]]:
    """Return the spans of more than one number, from left to right, those that overlap as one."""
    spans = [span for span in domain.spans if span.low is None or span.low != span.high]
    found: list[tuple[Rational | None, Rational | None]] = []
    for span in sorted(spans, key=lambda one: (one.low is not None, one.low or ZERO)):
        low, high = found[-1] if found else (None, None)
        if found and (high is None or span.low is None or span.low <= high):
            found[-1] = low, None if high is None or span.high is None else max(high, span.high)
        else:
            found.append((span.low, span.high))
    return found


def _places(function: Function, corners: Sequence[Rational]) -> list[Rational]:
    """Return numbers near which the function is likely to be asked about."""
    if isinstance(function, Enclosed):
        return [*corners, *(chain.center for chain in function.chains.each)]
    turns = function.turns if isinstance(function, Curves) else ()
    near = [nearest_float(turn.place) for turn in turns]  # type: ignore[arg-type]
    return [*corners, *(rational(one) for one in near if abs(one) < MOST)] or [ZERO]


def _scales(function: Function) -> list[Rational]:
    return [abs(chain.scale) for chain in function.chains.each] if isinstance(function, Enclosed) else []


def exact_cubics(function: Function, parts: Sequence[Stretch]) -> list[Cubic]:
    """Return the polynomials of a function that is made of them."""
    curve, found = curved_form(function), []
    for low, high, ease in parts:
        one, center = curve.polynomials[curve.segment_after(low)], _middle(low, high)
        moved = one(fmpq_poly([center, 1]))
        terms = moved[0], moved[1], moved[2], moved[3]
        near = [nearest_float(term) for term in terms]
        off = ZERO
        if one.degree() > 1 and max(map(abs, near)) < MOST:  # short numbers, for there is an error anyway
            away = max(high - center, center - low)
            off = sum(
                (abs(term - rational(x)) * away**k for k, (term, x) in enumerate(zip(terms, near, strict=True))), ZERO
            )
            terms = rational(near[0]), rational(near[1]), rational(near[2]), rational(near[3])
        found.append(Cubic(low, high, center, terms, off, ease))
    return found


def _middle(low: Rational, high: Rational) -> Rational:
    """Return the float nearest to the middle of a stretch; the middle itself where that is too large for floats."""
    near = nearest_float((low + high) / 2)
    return rational(near) if abs(near) < MOST else (low + high) / 2


class SmoothCells:
    """A smooth function in cells, which are halved until their polynomials are close enough."""

    def __init__(self, function: Enclosed, parts: Sequence[Stretch]) -> None:
        self.chains: Chains = function.chains
        self.looked = 0
        self.least = min(part.high - part.low for part in parts) / _FINEST if parts else ZERO
        with working(FLOAT_PRECISION):
            self.cells = [self._cubic(one) for part in parts for one in _cut(part)]

    def refined(self, wanted: Rational) -> list[Cubic]:
        """Return cubics that are off by no more than is wanted, or as little as is found out in some time."""
        found: list[Cubic] = []
        todo = self.cells[::-1]
        with working(FLOAT_PRECISION):
            while todo:
                cell = todo.pop()
                is_close = cell.off is not None and cell.off <= wanted * cell.ease
                if is_close or self.looked > _MOST_CELLS or cell.high - cell.low < self.least:
                    found.append(cell)
                    continue
                middle = (cell.low + cell.high) / 2
                halves = Stretch(cell.low, middle, cell.ease), Stretch(middle, cell.high, cell.ease)
                todo += [self._cubic(half) for half in reversed(halves)]
        return found

    def _cubic(self, part: Stretch) -> Cubic:
        self.looked += 1
        low, high, ease = part
        jet, half = self.chains.jet(low, high), (high - low) / 2
        best = Cubic(low, high, low + half, (ZERO,) * 4, None, ease)
        # Of the orders at which the rest is known the one with the closest polynomial: near a corner there is no third.
        known = list(takewhile(arb.is_finite, map(trimmed, jet.middle)))
        near = [dyadic(ball.mid()) for ball in known]
        away = [dyadic(ball.rad()) * half**k for k, ball in enumerate(known)]
        for order in range(min(len(known), TERMS - 1), -1, -1):
            rest = trimmed(jet.cell[order])
            if not rest.is_finite():
                continue
            off = sum(away[:order], dyadic(rest.rad()) * half**order)
            if best.off is None or off < best.off:
                a, b, c, d = [*near[:order], dyadic(rest.mid()), ZERO, ZERO, ZERO][:TERMS]
                best = best._replace(terms=(a, b, c, d), off=off)
        return best


def _cut(part: Stretch) -> Iterator[Stretch]:
    """Yield parts of a stretch between multiples of a power of two, which other stretches share."""
    step = (part.high - part.low) / _CELLS
    width = fmpq(2) ** (int(step.p).bit_length() - int(step.q).bit_length())
    first, last = int((part.low / width).floor()) + 1, int((part.high / width).ceil())
    for low, high in pairwise([part.low, *(width * k for k in range(first, last)), part.high]):
        yield Stretch(low, high, part.ease)


class Point(NamedTuple):
    """A value at a number or a label, within `off` of the function's; None where nothing is known."""

    value: Rational
    off: Rational | None


def value_at(function: Function, at: object) -> Point:
    """Return a value at a number or a label."""
    if not isinstance(function, Enclosed):
        return Point(function(at), ZERO)  # type: ignore[arg-type]
    with working(FLOAT_PRECISION):
        found = of_ball(function.chains.value(at))  # type: ignore[arg-type]
    return Point(ZERO, None) if found is None else Point(found.near(), found.width / 2)
