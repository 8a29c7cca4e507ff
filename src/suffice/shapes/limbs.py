"""Arrays of integers of any size, as NumPy has none: digits to base 2^22, each in an array of its own.

Sums, products and matrix products of whole arrays are then a few operations of NumPy on the digits, and exact: digits
are between -2^21 and 2^21, so that a product of two is at most 2^42, and 2^11 of them add up to 2^53 at most, which
floats hold exactly (matrix products go through them), and 2^20 of them to 2^62, which 64-bit integers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from suffice.shapes.matrices import product

_BITS = 22
_HALF = 1 << (_BITS - 1)
_MOST_TERMS = 2**11  # of a sum of products in floats
_COLUMNS = 64
_CARRIED = 3  # digits beyond those there are, for 2^62 has three


class Limbs:
    """An array of integers.

    Parameters
    ----------
    digits : array of int64, of shape (digits, *shape)
        The lowest digit first. They are brought between -2^21 and 2^21 here; no sum of them may be beyond 2^62 before.
    """

    __slots__ = ("digits",)

    def __init__(self, digits: NDArray[np.int64]) -> None:
        self.digits = _carried(digits)

    @classmethod
    def of(cls, integers: NDArray[Any]) -> Limbs:
        """Return an array of integers of Python or flint."""
        try:
            small = integers.astype(np.int64, copy=False)
            return cls(small[None]) if (np.abs(small) < 2**61).all() else cls._of_large(integers)
        except OverflowError:
            return cls._of_large(integers)

    @classmethod
    def _of_large(cls, integers: NDArray[Any]) -> Limbs:
        flat = [int(one) for one in integers.ravel()]
        groups = max(one.bit_length() for one in flat) // (4 * _BITS) + 1  # four digits are eleven bytes
        content = b"".join([abs(one).to_bytes(11 * groups, "little") for one in flat])
        bits = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")
        digits = bits.reshape(len(flat), 4 * groups, _BITS) @ (np.int64(1) << np.arange(_BITS, dtype=np.int64))
        digits[[one < 0 for one in flat]] *= -1
        return cls(digits.T.reshape(4 * groups, *integers.shape))

    @classmethod
    def zeros(cls, *shape: int) -> Limbs:
        """Return as many zeros."""
        return cls(np.zeros((1, *shape), np.int64))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of integers."""
        return self.digits.shape[1:]

    @classmethod
    def _carried(cls, digits: NDArray[np.int64]) -> Limbs:
        """Return digits that are small already."""
        found = cls.__new__(cls)
        found.digits = digits
        return found

    def __getitem__(self, index: Any) -> Limbs:
        return Limbs._carried(self.digits[(slice(None), *(index if isinstance(index, tuple) else (index,)))])

    def __add__(self, other: Limbs) -> Limbs:
        count = max(len(self.digits), len(other.digits))
        return Limbs(_padded(self.digits, count) + _padded(other.digits, count))

    def __mul__(self, other: Limbs) -> Limbs:
        """Return the products, element by element; shapes are brought together as NumPy does."""
        shape = np.broadcast_shapes(self.shape, other.shape)
        found = np.zeros((len(self.digits) + len(other.digits), *shape), np.int64)
        each = np.empty(shape, np.int64)
        for k, digit in enumerate(self.digits):
            if digit.any():
                for m, one in enumerate(other.digits):
                    found[k + m] += np.multiply(digit, one, out=each)
        return Limbs(found)

    def __matmul__(self, other: Limbs) -> Limbs:
        """Return the product of two matrices."""
        (few, rows, inner), (more, _, columns) = self.digits.shape, other.digits.shape
        found = np.zeros((few + more + _CARRIED, rows, columns), np.int64)
        left, most = self.digits.astype(np.float64), max(_MOST_TERMS // min(few, more), 1)
        for start in range(0, columns, _COLUMNS):  # so few that they stay in the cache
            right = other.digits[:, :, start : start + _COLUMNS].astype(np.float64)
            total = np.zeros((few + more, rows, right.shape[2]), np.int64)
            for first in range(0, inner, most):
                sums = np.zeros((few + more, rows, right.shape[2]))
                for k, digit in enumerate(left):
                    for m, one in enumerate(right):
                        sums[k + m] += product(digit[:, first : first + most], one[first : first + most])
                total += sums.astype(np.int64)
            small = _carried(total)
            found[: len(small), :, start : start + _COLUMNS] = small
        return Limbs(found)

    def __lshift__(self, bits: int) -> Limbs:
        if not bits:
            return self
        count, rest = divmod(bits, _BITS)
        return Limbs(np.concatenate([np.zeros((count, *self.shape), np.int64), self.digits << rest]))

    def only(self, mask: NDArray[np.bool_]) -> Limbs:
        """Return the integers where a mask is true, and 0 elsewhere."""
        return Limbs._carried(self.digits * mask)

    def sum(self) -> Limbs:
        """Return the sums over the last axis."""
        return Limbs(self.digits.sum(axis=-1))

    def signs(self) -> NDArray[np.int8]:
        """Return the sign of each integer."""
        found = np.zeros(self.shape, np.int64)
        for digit in self.digits:  # all lower digits together are less than the next one
            found = np.where(digit != 0, digit, found)
        signs: NDArray[np.int8] = np.sign(found).astype(np.int8)
        return signs

    def integers(self) -> list[fmpz]:
        """Return an array of one axis as integers."""
        even, odd = self.digits[::2].copy(), self.digits[1::2]
        even[: len(odd)] += odd << _BITS
        return [_join(column) for column in even.T.tolist()]


def _join(digits: Sequence[int]) -> fmpz:
    """Return an integer of its digits to base 2^44, the lowest first; they need not be small."""
    found = 0
    for digit in reversed(digits):
        found = (found << (2 * _BITS)) + digit
    return fmpz(found)


def concatenate(parts: Sequence[Limbs]) -> Limbs:
    """Return arrays joined along the last axis."""
    count = max(len(one.digits) for one in parts)
    return Limbs._carried(np.concatenate([_padded(one.digits, count) for one in parts], axis=-1))


def interleaved(first: Limbs, at: NDArray[np.int64], second: Limbs, places: NDArray[np.int64], width: int) -> Limbs:
    """Return so many columns: those of the first, each at its place, and those of the second, at all the other places.

    Both ascend; columns of the second that have the same place are added up.
    """
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    if len(starts) < len(places):
        second, places = Limbs(np.add.reduceat(second.digits, starts, axis=-1)), places[starts]
    count = max(len(first.digits), len(second.digits))
    found = np.empty((count, *first.shape[:-1], width), np.int64)
    for k, row in enumerate(found):
        for one, where in ((first.digits, at), (second.digits, places)):
            row[..., where] = one[k] if k < len(one) else 0
    return Limbs._carried(found)


def scattered(parts: Limbs, places: NDArray[np.int64], width: int) -> Limbs:
    """Return so many columns, each the sum of those parts (columns too) that have its place; these ascend."""
    found = np.zeros((*parts.digits.shape[:-1], width), np.int64)
    if len(places):
        starts = np.flatnonzero(np.diff(places, prepend=-1))
        found[..., places[starts]] = np.add.reduceat(parts.digits, starts, axis=-1)
    return Limbs(found)


def _padded(digits: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    more = count - len(digits)
    return np.concatenate([digits, np.zeros((more, *digits.shape[1:]), np.int64)]) if more else digits


def _carried(digits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same integers with every digit between -2^21 and 2^21, and no digit too many."""
    if not digits.size or (digits.min() >= -_HALF and digits.max() <= _HALF):
        found = digits
    else:
        found = _padded(digits, len(digits) + _CARRIED)  # a copy
        carry, kept = np.empty_like(found[0]), np.empty_like(found[0])
        for k in range(len(found) - 1):
            np.add(found[k], _HALF, out=carry)
            carry >>= _BITS
            if k >= len(digits) and not carry.any():
                break
            np.left_shift(carry, _BITS, out=kept)
            found[k] -= kept
            found[k + 1] += carry
    count = len(found)
    while count > 1 and not found[count - 1].any():
        count -= 1
    return found[:count]
