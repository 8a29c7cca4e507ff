"""Smooth functions by name as tables of polynomials in floats, with proven bounds of what these leave out.

In: a function. Out: for each *bin* of width 1/16 around 0 its Taylor polynomial, bounds on the error of its value and
of its first three coefficients computed in floats, and what coefficients lie between over the bin.
Guaranteed: `docs/smooth-floats.md` derives each bound. The polynomials and the remainders come from flint's balls, so
that no function has an error analysis of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
from flint import arb, arb_series, fmpq

from suffice.numbers.enclosure import working
from suffice.numbers.exact import ONE, Rational
from suffice.numbers.twofold import Floats
from suffice.shapes.smooth_functions import GELU_CUBIC, SELU_ALPHA, SELU_SCALE, TERMS, SmoothFunction

BINS = 16  # in 1; a corner at an integer lies between two bins
FARTHEST = 40  # beyond it nothing is known
DEGREE = 13
UNIT = 2.0**-53  # what an operation in floats is off by at most, relative to its result
TINY = 2.0**-1000  # more than all that products lose below the least float
_HALF = fmpq(1, 2 * BINS)
_BITS = 160
_OFFSETS = [0, *np.cumsum([DEGREE + 1 - k for k in range(TERMS)]).tolist()]


class FloatTable(NamedTuple):
    """A function over bins from `-FARTHEST` to `FARTHEST`; coefficients are `g, g', g''/2, g'''/6` and `g''''/24`."""

    polynomials: Floats  # (bins, 50): for each coefficient those of a polynomial in the distance from the middle
    errors: Floats  # (bins, 4): what the value of such a polynomial, in floats, is off by at most
    lows: Floats  # (bins, 4): no coefficient is below over the bin
    highs: Floats  # (bins, 4)
    sizes: Floats  # (bins, 5): nor larger, whatever its sign
    smoothness: int  # how many derivatives are continuous at 0, where bins meet; 9 stands for all


Series = Callable[[arb_series], arb_series]


def _sigmoid(s: arb_series) -> arb_series:
    if s[0] < 0:  # so that the exponential is small
        small = s.exp()
        return small / (1 + small)
    return 1 / (1 + (-s).exp())


def _gelu_tanh(s: arb_series) -> arb_series:
    factor = 2 * (2 / arb.pi()).sqrt()
    return s * _sigmoid(factor * (s + arb(GELU_CUBIC) * s * s * s))


def _exponential(alpha: Rational, scale: Rational = ONE) -> Series:
    return lambda s: arb(scale) * (s.exp() - 1) * arb(alpha)


_ONE_FORMULA: dict[str, Callable[..., arb_series]] = {
    "tanh": lambda s: 2 * _sigmoid(2 * s) - 1,
    "sigmoid": _sigmoid,
    "silu": lambda s: s * _sigmoid(s),
    "gelu": lambda s: s * (-s / arb(2).sqrt()).erfc() / 2,
    "gelu_tanh": _gelu_tanh,
    "mish": lambda s: s * (1 - 2 / (1 + (1 + s.exp()) * (1 + s.exp()))),
    "sine": lambda s: s.sin(),
    "exp": lambda s: s.exp(),
    "softplus": lambda s, beta: (1 + (arb(beta) * s).exp()).log() / arb(beta),
}


def _formulas(function: SmoothFunction) -> tuple[Series, Series, int] | None:
    """Return a function below 0 and above, as power series, and how smooth it is at 0; None if it has no table."""
    name, given = function.name, function.parameters
    if name in _ONE_FORMULA:
        both: Series = lambda s: _ONE_FORMULA[name](s, *given)  # noqa: E731
        return both, both, 9
    if name == "elu":
        return _exponential(given[0]), lambda s: s, 1 if given[0] == 1 else 0
    if name == "selu":
        return _exponential(SELU_ALPHA, SELU_SCALE), lambda s: arb(SELU_SCALE) * s, 0
    if name == "celu":
        return lambda s: _exponential(given[0])(s / arb(given[0])), lambda s: s, 1
    return None


@cache
def float_table(function: SmoothFunction) -> FloatTable | None:
    """Return the table of a function, made once; None if it is not one that has values everywhere."""
    formulas = _formulas(function)
    if formulas is None:
        return None
    below, above, smoothness = formulas
    count = 2 * FARTHEST * BINS
    shapes = (_OFFSETS[-1], TERMS, TERMS, TERMS, TERMS + 1)
    polynomials, errors, lows, highs, sizes = (np.empty((count, width)) for width in shapes)
    with working(_BITS, terms=DEGREE + 2):
        for b in range(count):
            _fill(below if b < count // 2 else above, b, polynomials[b], errors[b], lows[b], highs[b], sizes[b])
    return FloatTable(polynomials, errors, lows, highs, sizes, smoothness)


def _fill(
    formula: Series, b: int, polynomials: Floats, errors: Floats, lows: Floats, highs: Floats, sizes: Floats
) -> None:
    """Write what is known of a bin."""
    middle, half = fmpq(2 * b + 1, 2 * BINS) - FARTHEST, arb(_HALF)
    at = formula(arb_series([arb(middle), arb(1)]))
    over = formula(arb_series([arb(middle - _HALF).union(arb(middle + _HALF)), arb(1)]))[DEGREE + 1].abs_upper()
    for k in range(TERMS + 1):
        own = [comb(j, k) * at[j] for j in range(k, DEGREE + 1)]
        rest = comb(DEGREE + 1, k) * over * half ** (DEGREE + 1 - k)
        spread = sum((abs(one) * half**i for i, one in enumerate(own) if i), rest)
        sizes[k] = _up(abs(own[0]) + spread)
        if k == TERMS:
            break
        # The middle of a ball is stored, rounded; see `docs/smooth-floats.md` for the count of roundings.
        rounding = sum((((3 * i + 4) * UNIT * abs(one) + one.rad()) * half**i for i, one in enumerate(own)), rest)
        polynomials[_OFFSETS[k] : _OFFSETS[k + 1]] = [float(one.mid()) for one in own]
        errors[k] = _up(rounding + TINY)
        lows[k], highs[k] = -_up(spread - own[0]), _up(spread + own[0])


def _up(number: arb) -> float:
    """Return a float that a number is not above; infinity where nothing is known."""
    top = number.upper()
    return math.nextafter(float(top), math.inf) if top.is_finite() else math.inf
