"""Numbers as sums of two floats, with a bound on what is left out: about 100 bits, many at once.

In: rationals. Out: `Twofold` arrays; sums and products of these.
Guaranteed: the number meant differs from `high + low` by at most `error`, and `high` is the float nearest to
`high + low`. Where a number is too large or too small for that, something is NaN or infinite and no comparison below is
sure. The constants are derived in `docs/batch.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.numbers.compiling import compiled
from suffice.numbers.exact import Rational, nearest_float, rational

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SUM_ERROR = 2.0**-104  # of |a| + |b|: what a sum leaves out at most
PRODUCT_ERROR = 2.0**-102  # of |a| · |b|
UNDERFLOW = 2.0**-1000  # more than all that products lose below the least float
OUTWARD = 1.0 + 2.0**-40  # covers the rounding of a bound itself
_NO_UNDERFLOW = 2.0**-900  # a product from here up has no part below the least float
_SPLITTER = 2.0**27 + 1.0


class Twofold(NamedTuple):
    """Numbers `high + low`, each off by at most `error`."""

    high: Floats
    low: Floats
    error: Floats

    @classmethod
    def of(cls, numbers: Sequence[Rational]) -> Twofold:
        """Return rationals to about 107 bits."""
        high, low, error = np.empty(len(numbers)), np.zeros(len(numbers)), np.zeros(len(numbers))
        for k, number in enumerate(numbers):
            high[k] = near = nearest_float(number)
            if not math.isfinite(near):
                low[k] = error[k] = math.nan
                continue
            above, below = near.as_integer_ratio()
            p, q = int(number.p), int(number.q)
            if rest := p * below - above * q:
                low[k] = rest / (q * below)  # rounds correctly, as `nearest_float` does
                error[k] = abs(low[k]) * 2.0**-53 * OUTWARD + UNDERFLOW
        return cls(high, low, error)

    @classmethod
    def exact(cls, floats: Floats) -> Twofold:
        """Return floats as they are."""
        return cls(floats, np.zeros(floats.shape), np.zeros(floats.shape))

    @classmethod
    def zeros(cls, count: int) -> Twofold:
        """Return so many zeros."""
        return cls(np.zeros(count), np.zeros(count), np.zeros(count))

    def take(self, index: Any) -> Twofold:
        """Return some of the numbers."""
        return Twofold(self.high[index], self.low[index], self.error[index])

    def where(self, chosen: Mask, other: Twofold) -> Twofold:
        """Return these numbers where chosen, others elsewhere."""
        return Twofold(*(np.where(chosen, one, two) for one, two in zip(self, other, strict=True)))

    def __neg__(self) -> Twofold:
        return Twofold(-self.high, -self.low, self.error)

    def plus(self, other: Twofold) -> Twofold:
        """Return the sums."""
        return Twofold(*_sums(*_alike(self, other)))

    def over(self, other: Twofold) -> Twofold:
        """Return about the quotients; nothing is said of their errors."""
        first = self.high / other.high
        rest = self.minus(Twofold.exact(first).times(other))
        return Twofold.exact(first).plus(Twofold.exact(rest.high / other.high))

    def minus(self, other: Twofold) -> Twofold:
        """Return the differences."""
        return self.plus(-other)

    def times(self, other: Twofold) -> Twofold:
        """Return the products."""
        return Twofold(*_products(*_alike(self, other)))

    @property
    def is_positive(self) -> Mask:
        """Whether a number is surely above 0."""
        return np.asarray(self.high + self.low > self.error * OUTWARD)

    @property
    def is_negative(self) -> Mask:
        """Whether a number is surely below 0."""
        return np.asarray(-self.high - self.low > self.error * OUTWARD)

    def rounded(self, exactly: Callable[[int], Rational]) -> tuple[Floats, Mask]:
        """Return the nearest float of each number, and whether it is the number itself.

        `exactly` gives the number at an index, which is asked for where the bounds do not tell.
        """
        near = self.high.copy()
        with np.errstate(invalid="ignore", over="ignore"):
            # The floats beside it are at least this far away: below a power of two they are nearer than above it.
            apart = np.minimum(np.spacing(np.abs(near)), np.abs(near) - np.nextafter(np.abs(near), 0.0))
            off, doubt = np.abs(self.low), self.error * OUTWARD
            is_near = (off + doubt) * OUTWARD < apart / 2
            is_other = off > doubt
            is_itself = (self.low == 0) & (self.error == 0) & np.isfinite(near)
        for k in np.flatnonzero(~is_itself & ~(is_near & is_other)).tolist():
            number = exactly(k)
            near[k] = nearest_float(number)
            is_itself[k] = np.isfinite(near[k]) and rational(float(near[k])) == number
        return near, is_itself


def _alike(one: Twofold, other: Twofold) -> tuple[Floats, ...]:
    """Return the columns of both, a single number repeated as often as the other has numbers."""
    if one.high.shape == other.high.shape:
        return (*one, *other)
    shape = np.broadcast_shapes(one.high.shape, other.high.shape)
    return tuple(np.array(np.broadcast_to(column, shape)) for column in (*one, *other))


@compiled
def _sums(a_high: Any, a_low: Any, a_error: Any, b_high: Any, b_low: Any, b_error: Any) -> Any:
    high, low, error = np.empty(len(a_high)), np.empty(len(a_high)), np.empty(len(a_high))
    for k in range(len(a_high)):
        a, b = a_high[k], b_high[k]
        total = a + b
        part = total - a
        rest = ((a - (total - part)) + (b - part)) + (a_low[k] + b_low[k])  # of the sum: exactly (Knuth)
        a, b = total, rest
        total = a + b
        part = total - a
        high[k], low[k] = total, (a - (total - part)) + (b - part)
        # Two floats and what rounding leaves out of their sum are the sum itself.
        is_short = a_low[k] == 0.0 and b_low[k] == 0.0
        left_out = 0.0 if is_short else SUM_ERROR * (abs(a_high[k]) + abs(b_high[k]))
        error[k] = (a_error[k] + b_error[k] + left_out) * OUTWARD
    return high, low, error


@compiled
def _products(a_high: Any, a_low: Any, a_error: Any, b_high: Any, b_low: Any, b_error: Any) -> Any:
    high, low, error = np.empty(len(a_high)), np.empty(len(a_high)), np.empty(len(a_high))
    for k in range(len(a_high)):
        a, b = a_high[k], b_high[k]
        product = a * b
        shifted = _SPLITTER * a  # two halves of 26 bits each (Veltkamp), whose products are exact (Dekker)
        a_top = shifted - (shifted - a)
        a_rest = a - a_top
        shifted = _SPLITTER * b
        b_top = shifted - (shifted - b)
        b_rest = b - b_top
        rest = ((a_top * b_top - product) + a_top * b_rest + a_rest * b_top) + a_rest * b_rest
        rest += a * b_low[k] + a_low[k] * b
        total = product + rest
        part = total - product
        high[k], low[k] = total, (product - (total - part)) + (rest - part)
        mine, theirs = abs(a), abs(b)
        if (a == 0.0 and a_error[k] == 0.0) or (b == 0.0 and b_error[k] == 0.0):
            error[k] = 0.0
            continue
        # |high + low| is at most |high| (1 + 2^-53), which OUTWARD covers.
        is_short = a_low[k] == 0.0 and b_low[k] == 0.0 and mine * theirs > _NO_UNDERFLOW
        left_out = 0.0 if is_short else PRODUCT_ERROR * (mine * theirs) + UNDERFLOW
        error[k] = (mine * b_error[k] + theirs * a_error[k] + a_error[k] * b_error[k] + left_out) * OUTWARD
    return high, low, error
