"""Parameters of networks: arrays of binary floats, kept at their exact values, and as integers times a power of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx, fmpz
from numpy.typing import NDArray

from suffice.errors import ShapeError

_KINDS = "float16, bfloat16, float32 or float64"


def exact_array(what: str, given: Any) -> NDArray[Any]:
    """Return a read-only float array with exactly the given values.

    NumPy arrays, nested lists and PyTorch tensors are taken; bfloat16 becomes float32, which holds each of its values.
    Anything that would have to be rounded, or is not finite, is refused.
    """
    if hasattr(given, "detach"):  # a PyTorch tensor, without importing PyTorch
        given = given.detach().cpu()
        given = (given.float() if "bfloat16" in str(given.dtype) else given).numpy()
    try:
        array = np.array(given)
    except (ValueError, TypeError):
        raise ShapeError(f"{what} is not a rectangular array of numbers") from None
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    elif array.dtype.kind in "iu":
        whole, array = array, array.astype(np.float64)
        if any(int(a) != int(b) for a, b in zip(whole.flat, array.flat, strict=True)):
            raise ShapeError(f"{what} holds integers beyond 2^53, which a float cannot hold")
    elif array.dtype not in (np.float16, np.float32, np.float64):
        raise ShapeError(f"{what} has entries of type {array.dtype}; give {_KINDS}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        place = ", ".join(str(int(k)) for k in bad[0])
        raise ShapeError(f"{what}[{place}] is {array[tuple(bad[0])]}; every parameter must be a finite number")
    array.flags.writeable = False
    return array


def rounded_exp(exponents: NDArray[Any]) -> NDArray[Any]:
    """Return `exp` of each entry, rounded to the nearest float of the array's own type.

    NumPy's and PyTorch's `exp` differ in the last bit from machine to machine; correct rounding does not.
    """
    flat = [_exp_as(array_type=exponents.dtype.type, exponent=float(value)) for value in exponents.flat]
    return np.array(flat, dtype=exponents.dtype).reshape(exponents.shape)


def _exp_as(array_type: type[np.floating[Any]], exponent: float) -> np.floating[Any]:
    precision, before = 80, ctx.prec
    try:
        while True:  # e^w is irrational for rational w other than 0: some precision tells which float is nearest
            ctx.prec = precision
            ball = arb(exponent).exp()
            low, high = (_nearest(array_type, end) for end in (ball.lower(), ball.upper()))
            if low == high:
                return low
            precision *= 2
    finally:
        ctx.prec = before


def _nearest(array_type: type[np.floating[Any]], value: arb) -> np.floating[Any]:
    """Round an exactly known number to the nearest float of a type, in one step."""
    mantissa, exponent = value.man_exp()
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
    mantissas, exponents = np.frexp(array.astype(np.float64))
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    # Strip trailing zero bits: the lowest set bit is a power of two, which frexp reads off exactly.
    lowest = np.where(whole != 0, whole & -whole, 1)
    zeros = np.frexp(lowest.astype(np.float64))[1] - 1
    powers = np.where(whole != 0, exponents.astype(np.int64) - 53 + zeros, 0)
    scale = max(0, -int(powers.min(initial=0)))
    odd, shifts = (whole >> zeros).ravel(), (powers + scale).ravel()
    integers = np.empty(array.size, dtype=object)
    if (shifts + 53 - zeros.ravel()).max(initial=0) < 63:
        integers[:] = (odd << shifts).tolist()
    else:
        integers[:] = [fmpz(number) << shift for number, shift in zip(odd.tolist(), shifts.tolist(), strict=True)]
    return integers.reshape(array.shape), scale
