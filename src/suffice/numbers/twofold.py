"""Numbers as sums of two floats, with a bound on what is left out: about 100 bits, many at once.

In: rationals. Out: `Twofold` arrays; sums and products of these.
Guaranteed: the number meant differs from `high + low` by at most `error`, and `high` is the float nearest to
`high + low`. Where a number is too large or too small for that, something is NaN or infinite and no comparison below is
sure. The constants are derived in `docs/batch.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

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
_SIGNS = np.array([[-1.0], [-1.0], [1.0]])


class Twofold:
    """Numbers `high + low`, each off by at most `error`: the rows of one array, for most of them are few."""

    __slots__ = ("columns",)

    def __init__(self, high: Floats, low: Floats, error: Floats) -> None:
        self.columns = np.array((high, low, error))

    @classmethod
    def _with(cls, columns: Floats) -> Twofold:
        found = cls.__new__(cls)
        found.columns = columns
        return found

    @classmethod
    def of(cls, numbers: Sequence[Rational]) -> Twofold:
        """Return rationals to about 107 bits."""
        high, low, error = [0.0] * len(numbers), [0.0] * len(numbers), [0.0] * len(numbers)
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
        return cls._with(np.array((high, low, error)))

    @classmethod
    def exact(cls, floats: Floats) -> Twofold:
        """Return floats as they are."""
        columns = np.zeros((3, len(floats)))
        columns[0] = floats
        return cls._with(columns)

    @classmethod
    def zeros(cls, count: int) -> Twofold:
        """Return so many zeros."""
        return cls._with(np.zeros((3, count)))

    @classmethod
    def joined(cls, parts: Sequence[Twofold]) -> Twofold:
        """Return all numbers, end to end."""
        return cls._with(np.concatenate([one.columns for one in parts], axis=1))

    @property
    def high(self) -> Floats:
        """The nearest floats."""
        return np.asarray(self.columns[0])

    @property
    def low(self) -> Floats:
        """What they leave out, as a float."""
        return np.asarray(self.columns[1])

    @property
    def error(self) -> Floats:
        """How far the sum of both may be off."""
        return np.asarray(self.columns[2])

    def take(self, index: NDArray[np.integer[Any]] | Sequence[int]) -> Twofold:
        """Return some of the numbers."""
        return Twofold._with(self.columns.take(index, axis=1))

    def replaced(self, index: NDArray[np.integer[Any]], other: Twofold) -> Twofold:
        """Return these numbers with others in some places."""
        columns = self.columns.copy()
        columns[:, index] = other.columns
        return Twofold._with(columns)

    def where(self, chosen: Mask, other: Twofold) -> Twofold:
        """Return these numbers where chosen, others elsewhere."""
        return Twofold._with(np.where(chosen, self.columns, other.columns))

    def __neg__(self) -> Twofold:
        return Twofold._with(self.columns * _SIGNS)

    # Where one of the two is a single number, it is taken with each of the other.

    def plus(self, other: Twofold) -> Twofold:
        """Return the sums."""
        return Twofold._with(_sums(self.columns, other.columns, 1.0))

    def over(self, other: Twofold) -> Twofold:
        """Return about the quotients; nothing is said of their errors."""
        first = self.high / other.high
        rest = self.minus(Twofold.exact(first).times(other))
        return Twofold.exact(first).plus(Twofold.exact(rest.high / other.high))

    def minus(self, other: Twofold) -> Twofold:
        """Return the differences."""
        return Twofold._with(_sums(self.columns, other.columns, -1.0))

    def times(self, other: Twofold) -> Twofold:
        """Return the products."""
        return Twofold._with(_products(self.columns, other.columns))

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


@compiled
def _sums(ours: Any, others: Any, sign: Any) -> Any:
    count = max(ours.shape[1], others.shape[1]) if min(ours.shape[1], others.shape[1]) else 0
    found = np.empty((3, count))
    for k in range(count):
        i, j = min(k, ours.shape[1] - 1), min(k, others.shape[1] - 1)
        a_high, a_low, b_high, b_low = ours[0, i], ours[1, i], sign * others[0, j], sign * others[1, j]
        total = a_high + b_high
        part = total - a_high
        rest = ((a_high - (total - part)) + (b_high - part)) + (a_low + b_low)  # of the sum: exactly (Knuth)
        a, b = total, rest
        total = a + b
        part = total - a
        found[0, k], found[1, k] = total, (a - (total - part)) + (b - part)
        # Two floats and what rounding leaves out of their sum are the sum itself.
        is_short = a_low == 0.0 and b_low == 0.0
        left_out = 0.0 if is_short else SUM_ERROR * (abs(a_high) + abs(b_high))
        found[2, k] = (ours[2, i] + others[2, j] + left_out) * OUTWARD
    return found


@compiled
def _products(ours: Any, others: Any) -> Any:
    count = max(ours.shape[1], others.shape[1]) if min(ours.shape[1], others.shape[1]) else 0
    found = np.empty((3, count))
    for k in range(count):
        i, j = min(k, ours.shape[1] - 1), min(k, others.shape[1] - 1)
        a, a_low, a_error = ours[0, i], ours[1, i], ours[2, i]
        b, b_low, b_error = others[0, j], others[1, j], others[2, j]
        product = a * b
        shifted = _SPLITTER * a  # two halves of 26 bits each (Veltkamp), whose products are exact (Dekker)
        a_top = shifted - (shifted - a)
        a_rest = a - a_top
        shifted = _SPLITTER * b
        b_top = shifted - (shifted - b)
        b_rest = b - b_top
        rest = ((a_top * b_top - product) + a_top * b_rest + a_rest * b_top) + a_rest * b_rest
        rest += a * b_low + a_low * b
        total = product + rest
        part = total - product
        found[0, k], found[1, k] = total, (product - (total - part)) + (rest - part)
        mine, theirs = abs(a), abs(b)
        if (a == 0.0 and a_error == 0.0) or (b == 0.0 and b_error == 0.0):
            found[2, k] = 0.0
            continue
        # |high + low| is at most |high| (1 + 2^-53), which OUTWARD covers.
        is_short = a_low == 0.0 and b_low == 0.0 and mine * theirs > _NO_UNDERFLOW
        left_out = 0.0 if is_short else PRODUCT_ERROR * (mine * theirs) + UNDERFLOW
        found[2, k] = (mine * b_error + theirs * a_error + a_error * b_error + left_out) * OUTWARD
    return found
