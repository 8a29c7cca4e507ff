"""Parameters of networks: arrays of binary floats, kept at their exact values, and as integers times a power of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from suffice.errors import ShapeError
from suffice.numbers.enclosure import exp_bounds
from suffice.numbers.exact import Rational

# flint keeps one working precision for the whole process; nobody else's may change under them.
_KINDS = "float16, bfloat16, float32 or float64"


def exact_array(what: str, given: Any) -> NDArray[Any]:
    """Return a read-only float array with exactly the given values.

    NumPy arrays, nested lists and PyTorch tensors are taken; bfloat16 becomes float32, which holds each of its values.
    Anything that would have to be rounded, or is not finite, is refused.
    """
    if hasattr(given, "detach"):
        given = _from_tensor(what, given)
    try:
        array = np.array(given)
    except (ValueError, TypeError):
        raise ShapeError(f"{what} is not a rectangular array of numbers") from None
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    elif array.dtype.kind in "iu":
        array = array.astype(np.float64)
    elif array.dtype not in (np.float16, np.float32, np.float64) or isinstance(given, np.ma.MaskedArray):
        kind = "masked entries" if isinstance(given, np.ma.MaskedArray) else f"entries of type {array.dtype}"
        raise ShapeError(f"{what} has {kind}; give {_KINDS}")
    if not isinstance(given, np.ndarray) or given.dtype.kind in "iu":
        _check_unrounded(what, np.array(given, dtype=object), array)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = ", ".join(str(int(k)) for k in bad[0])
        raise ShapeError(f"{what}[{place}] is {array[tuple(bad[0])]}; every parameter must be a finite number")
    array.flags.writeable = False
    return array


def _from_tensor(what: str, tensor: Any) -> NDArray[Any]:
    """Return a PyTorch tensor as an array, without importing PyTorch."""
    try:
        tensor = tensor.detach().cpu()
        tensor = tensor.float() if "bfloat16" in str(tensor.dtype) else tensor
        return np.asarray(tensor.resolve_neg().numpy())
    except (TypeError, NotImplementedError, RuntimeError, AttributeError) as error:
        raise ShapeError(f"{what} is a tensor that cannot be read ({str(error).splitlines()[0][:100]})") from None


def _check_unrounded(what: str, given: NDArray[Any], taken: NDArray[Any]) -> None:
    """Refuse numbers that became other numbers on the way into the array, as integers beyond 2^53 do."""
    for before, after in zip(given.flat, taken.flat, strict=True):
        if isinstance(before, (int, np.integer)) and int(before) != int(after):
            raise ShapeError(f"{what} holds the integer {before}, which a float64 cannot hold")


def rounded_exp(exponents: NDArray[Any]) -> NDArray[Any]:
    """Return `exp` of each entry, rounded to the nearest float of the array's own type.

    NumPy's and PyTorch's `exp` differ in the last bit from machine to machine; correct rounding does not.
    """
    flat = [_exp_as(array_type=exponents.dtype.type, exponent=float(value)) for value in exponents.flat]
    return np.array(flat, dtype=exponents.dtype).reshape(exponents.shape)


def _exp_as(array_type: type[np.floating[Any]], exponent: float) -> np.floating[Any]:
    if abs(exponent) > 800:  # beyond all floats, on either side
        return array_type(0.0 if exponent < 0 else np.inf)
    precision = 48
    while True:  # e^w is irrational for rational w other than 0: some precision tells which float is nearest
        ends = exp_bounds(fmpq(*exponent.as_integer_ratio()), precision)
        low, high = (_nearest(array_type, end) for end in ends)
        if low == high:
            return low
        precision *= 2


def _nearest(array_type: type[np.floating[Any]], value: Rational) -> np.floating[Any]:
    """Round a positive number over a power of two to the nearest float of a type, in one step."""
    mantissa, exponent = value.p, 1 - int(value.q).bit_length()
    bits = {np.float16: 11, np.float32: 24, np.float64: 53}[array_type]
    lowest = {np.float16: -24, np.float32: -149, np.float64: -1074}[array_type]
    shift = max(int(mantissa).bit_length() + int(exponent) - bits, lowest) - int(exponent)
    if shift > 0:
        whole, rest = divmod(int(mantissa), 1 << shift)
        half = 1 << (shift - 1)
        whole += rest > half or (rest == half and whole % 2 == 1)
    else:
        whole, shift = int(mantissa), 0
    with np.errstate(over="ignore"):
        return array_type(np.ldexp(float(whole), shift + int(exponent)))


def as_integers(array: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return integers (of Python or flint) and the smallest `e >= 0` with `array == integers / 2**e`."""
    integers, scale = as_whole(array)
    return integers.astype(object), scale


def as_whole(array: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return the same, as 64-bit integers if all of them fit: to be turned into others, not to be computed with."""
    mantissas, exponents = np.frexp(array.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    # Strip trailing zero bits: the lowest set bit is a power of two, which frexp reads off exactly.
    lowest = np.where(whole != 0, whole & -whole, 1)
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1
    powers = np.where(whole != 0, exponents.astype(np.int64) - 53 + zeros, 0)
    scale = max(0, -int(powers.min(initial=0)))
    odd, shifts = whole >> zeros, powers + scale
    if (shifts + 53 - zeros).max(initial=0) < 63:
        return odd << shifts, scale
    integers = np.empty(array.size, dtype=object)
    integers[:] = [
        fmpz(number) << shift for number, shift in zip(odd.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    ]
    return integers.reshape(array.shape), scale
