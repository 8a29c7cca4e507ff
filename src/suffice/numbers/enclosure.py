"""Numbers that are not rational, enclosed between rationals as closely as one likes.

flint's working precision belongs to the whole process; `working` is the one place where it is changed, under a lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias

from flint import arb, ctx, fmpq, fmpz

from suffice.errors import Undecided
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational

FIRST_BITS = 128  # how closely a number that is not rational is enclosed at first
_PRECISION = threading.RLock()
_GUARD_BITS = 32
_PLAIN = (fmpq, fmpz, int, Fraction)
# Beyond these, such as exp(-10^8) and exp(10^8), are rationals of millions of digits, and some that no memory can hold.
_LEAST, _MOST = arb(2) ** -(1 << 14), arb(2) ** (1 << 20)


@contextmanager
def working(bits: int, *, terms: int = 10) -> Iterator[None]:
    """Compute with balls of so many bits, and with power series of so many terms."""
    with _PRECISION:
        before = ctx.prec, ctx.cap
        ctx.prec, ctx.cap = bits, terms
        try:
            yield
        finally:
            ctx.prec, ctx.cap = before


class Enclosure:
    """A number known to lie between two rationals; it is added up, and compared where these allow it.

    A comparison that the two leave open raises `Undecided`: whoever asked encloses the number more closely and asks
    again.

    Parameters
    ----------
    low, high : Rational
        The number is neither below `low` nor above `high`.

    Examples
    --------
    >>> root = Enclosure(fmpq(7, 5), fmpq(3, 2))
    >>> root > 1, 2 * root - 3
    (True, Enclosure(-1/5, 0))
    """

    __slots__ = ("high", "low")

    def __init__(self, low: Rational, high: Rational) -> None:
        assert low <= high
        self.low, self.high = low, high

    @property
    def width(self) -> Rational:
        """How far the ends are apart."""
        return self.high - self.low

    # --- arithmetic ---------------------------------------------------------------------------------------------------

    def __add__(self, other: Real | int | Fraction) -> Enclosure:
        if isinstance(other, Enclosure):
            return Enclosure(self.low + other.low, self.high + other.high)
        if isinstance(other, _PLAIN):
            more = rational(other)
            return Enclosure(self.low + more, self.high + more)
        return NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.high, -self.low)

    def __sub__(self, other: Real | int | Fraction) -> Enclosure:
        return self + -other if isinstance(other, (Enclosure, *_PLAIN)) else NotImplemented

    def __rsub__(self, other: Rational | int | Fraction) -> Enclosure:
        return -self + other

    def __mul__(self, other: Rational | int | Fraction) -> Enclosure:
        if not isinstance(other, _PLAIN):
            return NotImplemented
        factor = rational(other)
        ends = self.low * factor, self.high * factor
        return Enclosure(min(ends), max(ends))

    __rmul__ = __mul__

    # --- order --------------------------------------------------------------------------------------------------------

    def __gt__(self, other: Real | int) -> bool:
        low, high = ends(other)
        if self.low > high:
            return True
        if self.high <= low:
            return False
        raise Undecided

    def __ge__(self, other: Real | int) -> bool:
        low, high = ends(other)
        if self.low >= high:
            return True
        if self.high < low:
            return False
        raise Undecided

    def __lt__(self, other: Real | int) -> bool:
        return not self >= other

    def __le__(self, other: Real | int) -> bool:
        return not self > other

    def __eq__(self, other: object) -> bool:
        """Whether both are known equally well; not whether the numbers are equal."""
        return isinstance(other, Enclosure) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    # --- as others see it ---------------------------------------------------------------------------------------------

    def near(self) -> Rational:
        """Return the middle."""
        return (self.low + self.high) / 2

    def __float__(self) -> float:
        """Return the float nearest to the middle."""
        return nearest_float(self.near())

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"

    def __repr__(self) -> str:
        return f"Enclosure({self.low}, {self.high})"


Real: TypeAlias = "Rational | Enclosure"


def ends(value: Real | int) -> tuple[Rational, Rational]:
    """Return what a number is known not to be below, and not to be above: twice itself if it is known exactly."""
    if isinstance(value, Enclosure):
        return value.low, value.high
    exact = value if type(value) is not int else fmpq(value)  # a `Surd` as it is
    return exact, exact  # type: ignore[return-value]


def exactly(value: Real) -> Rational:
    """Return a number that is known exactly."""
    assert not isinstance(value, Enclosure)
    return value


def middle(value: Real) -> Rational:
    """Return a number, or the middle of what it is known to lie between: for pictures."""
    return value.near() if isinstance(value, Enclosure) else value


def of_ball(ball: arb) -> Enclosure | None:
    """Return the dyadic ends of a ball; None where nothing is known: for NaN, and where an end is infinite or huge."""
    ball = trimmed(ball)
    if not ball.is_finite():
        return None
    return Enclosure(dyadic(ball.lower()), dyadic(ball.upper()))


def trimmed(ball: arb) -> arb:
    """Return a ball that holds another one, and that rationals can be made of: wider near 0, NaN where it is huge."""
    if not ball.abs_upper() < _MOST:
        return arb.nan()
    if ball.abs_upper() < _LEAST:
        return ball if ball.is_zero() else arb(0, _LEAST)
    return ball + arb(0, _LEAST) if not ball.is_exact() and ball.rad() < _LEAST else ball


def dyadic(end: arb) -> Rational:
    """Return the value of an exact finite ball."""
    mantissa, exponent = end.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def log_bounds(value: Rational, bits: int) -> tuple[Rational, Rational]:
    """Return two rationals with the natural logarithm of a positive number between them, about `2^-bits` apart."""
    return _enclosed(lambda: arb(value).log(), bits)


def exp_bounds(value: Rational, bits: int) -> tuple[Rational, Rational]:
    """Return two rationals with `e^value` between them, relatively about `2^-bits` apart."""
    return _enclosed(lambda: arb(value).exp(), bits)


def logit_bounds(p: Rational, bits: int) -> tuple[Rational, Rational]:
    """Return two rationals with `log(p / (1 - p))` between them; equal for p = 1/2, where it is 0."""
    odds = p / (1 - p)
    return (ZERO, ZERO) if odds == 1 else log_bounds(odds, bits)


def _enclosed(compute: Callable[[], arb], bits: int) -> tuple[Rational, Rational]:
    with working(bits + _GUARD_BITS):
        found = of_ball(compute())
    assert found is not None
    return found.low, found.high
