"""Numbers that are not rational, enclosed between rationals as closely as one likes.

flint's working precision belongs to the whole process; `_PRECISION` is the one lock under which it is changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from flint import arb, ctx, fmpq

from suffice.numbers.exact import ZERO, Rational

_PRECISION = threading.Lock()


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
    with _PRECISION:
        before, ctx.prec = ctx.prec, bits + 32
        try:
            ball = compute()
            ends = ball.lower(), ball.upper()
        finally:
            ctx.prec = before
    return _dyadic(ends[0]), _dyadic(ends[1])


def _dyadic(end: arb) -> Rational:
    mantissa, exponent = end.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)
