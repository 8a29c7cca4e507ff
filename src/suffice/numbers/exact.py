"""Exact numbers: every number that comes in becomes a rational here, once, at its exact value.

Inside the library an exact number is a flint rational, `Rational`. `fractions.Fraction` is what users
see; `to_fraction` is the only way out. Floats are made by `nearest_float`, for looking things up and for showing
them; a comparison they settle carries a rigorous bound of their error.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Rational as AbstractRational
from typing import Any, TypeAlias, cast

import numpy as np
from flint import fmpq, fmpz

from suffice.errors import NumberError

Rational: TypeAlias = fmpq
Number: TypeAlias = int | float | Fraction | Decimal | str | np.number | fmpq

ZERO = fmpq(0)
ONE = fmpq(1)

# Ten bytes of text ("1e99999999") can ask for a number of 40 megabytes; no quantity needs that many digits.
_MOST_DIGITS = 5_000
_SMALLEST_NORMAL = 2.0**-1022


def rational(value: object) -> Rational:
    """Return the exact value of a number.

    Parameters
    ----------
    value : int, float, Fraction, Decimal, NumPy scalar or str
        A binary float counts at its exact value, a text such as ``"0.1"`` or ``"1/3"`` at the value it spells.

    Raises
    ------
    NumberError
        If the value is NaN, infinite, or not a number at all.

    Examples
    --------
    >>> rational(0.5), rational("0.1"), rational(0.1) == rational("0.1")
    (1/2, 1/10, False)
    """
    if isinstance(value, fmpq):
        return value
    if isinstance(value, (float, np.floating)):
        if isinstance(value, np.longdouble) and not isinstance(value, np.float64):
            raise NumberError(f"{value} is a long double; give a float64, a Fraction or a decimal string")
        return _from_float(float(value))
    if isinstance(value, (int, np.integer, np.bool_)) and not isinstance(value, np.timedelta64):
        return fmpq(int(value))
    if isinstance(value, AbstractRational) and not isinstance(value, np.generic):
        return fmpq(int(value.numerator), int(value.denominator))
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, Decimal):
        return _from_decimal(value)
    if isinstance(value, fmpz):
        return fmpq(value)
    if getattr(value, "ndim", None) == 0 and not isinstance(value, np.generic):  # an array or tensor of one number
        return rational(value[()] if isinstance(value, np.ndarray) else value.item())  # type: ignore[attr-defined]
    raise NumberError(f"{brief(value)} is not a number; give an int, a float, a Fraction or a decimal string")


def brief(value: object, most: int = 60) -> str:
    """Return a value as it may stand in a message: one line, not too long."""
    if isinstance(value, (int, fmpq, Fraction)) and not isinstance(value, bool):
        exact = rational(value)
        if exact.height_bits() > 200:
            return f"a number near {in_digits(exact)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}..."


def in_digits(value: Rational, digits: int = 6) -> str:
    """Return a number in so many digits, however large or small: one that is not 0 is never written as 0.

    Examples
    --------
    >>> in_digits(rational("1/3")), in_digits(rational("1e400")), in_digits(rational("-2.5e-400"))
    ('0.333333', '1e+400', '-2.5e-400')
    """
    near = nearest_float(value)
    if math.isfinite(near) and (abs(near) > _SMALLEST_NORMAL or not value):
        return f"{near:.{digits}g}"
    if type(value) is not fmpq:
        irrational: Any = value
        value = irrational.near()
    exponent = math.floor((int(value.p).bit_length() - int(value.q).bit_length()) * math.log10(2))
    mantissa, _, rest = f"{nearest_float(value / fmpq(10) ** exponent):.{digits - 1}e}".partition("e")
    whole = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{whole}e{exponent + int(rest):+03d}"


def to_fraction(value: Rational) -> Fraction:
    """Return the same number as a `Fraction`; one that is not rational stays a `Surd`."""
    if type(value) is not fmpq:
        return cast(Fraction, value)
    return Fraction(int(value.p), int(value.q))


def nearest_float(value: Rational) -> float:
    """Return the float64 nearest to a rational (an infinity if it is beyond all floats).

    Correct rounding makes this monotone: `a <= b` implies `nearest_float(a) <= nearest_float(b)`. The same holds of an
    exact number that is not rational, a `Surd`, which rounds itself.
    """
    if type(value) is not fmpq:
        return float(value)
    try:
        return int(value.p) / int(value.q)  # Python's division of integers rounds correctly
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _from_float(value: float) -> Rational:
    if not math.isfinite(value):
        raise NumberError(f"{value!r} is not a finite number")
    numerator, denominator = value.as_integer_ratio()
    return fmpq(numerator, denominator)


def _from_text(text: str) -> Rational:
    try:
        if "/" in text:
            if len(text) > _MOST_DIGITS:
                raise NumberError(f"a number of {len(text)} characters is beyond the {_MOST_DIGITS} allowed")
            fraction = Fraction(text)
            return fmpq(fraction.numerator, fraction.denominator)
        return _from_decimal(Decimal(text))
    except NumberError:
        raise
    except (ArithmeticError, ValueError):  # ArithmeticError: decimal's InvalidOperation, a zero denominator
        raise NumberError(f"{text[:80]!r} is not a number; write it like 12.5, 1e-3 or 1/3") from None


def _from_decimal(value: Decimal) -> Rational:
    if not value.is_finite():
        raise NumberError(f"{value} is not a finite number")
    _, digits, exponent = value.as_tuple()
    if len(digits) + abs(int(exponent)) > _MOST_DIGITS:
        raise NumberError(f"a number of more than {_MOST_DIGITS} digits is not accepted; round it first")
    numerator, denominator = value.as_integer_ratio()
    return fmpq(numerator, denominator)
