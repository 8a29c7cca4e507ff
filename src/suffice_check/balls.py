"""Numbers that are only enclosed, in integers: a ball `(m, r)` holds what is within `r / 2^BITS` of `m / 2^BITS`.

Every function takes balls and returns a ball that holds the result for all numbers in them. What is rounded off is
added to the radius where it happens. The bounds used are proven in docs/certificate.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt, log
from statistics import NormalDist

from suffice_check.exponential import exp_bounds
from suffice_check.reading import RejectedError

BITS = 80
ONE = 1 << BITS
FAR = 60 << BITS  # e^60 is taken for too large
_MORE = 16  # digits more, inside of the exponential function
Ball = tuple[int, int]


class UnknownError(RejectedError):
    """A function has no value, or none that is known, at some number of a ball."""

    def __init__(self) -> None:
        super().__init__("cells", "a shape has no value, or none that is known, somewhere in a cell")


def of_ends(low: int, high: int) -> Ball:
    """Return the ball between two ends."""
    middle = (low + high) >> 1
    return middle, high - middle


def of(number: Fraction) -> Ball:
    """Return a ball around a fraction."""
    scaled = number.numerator << BITS
    return scaled // number.denominator, int(bool(scaled % number.denominator))


def plus(a: Ball, b: Ball) -> Ball:
    """Return the sum."""
    return a[0] + b[0], a[1] + b[1]


def minus(a: Ball, b: Ball) -> Ball:
    """Return the difference."""
    return a[0] - b[0], a[1] + b[1]


def times(a: Ball, b: Ball) -> Ball:
    """Return the product."""
    (m, r), (n, s) = a, b
    return m * n >> BITS, ((abs(m) * s + abs(n) * r + r * s) >> BITS) + 2


def square(a: Ball) -> Ball:
    """Return the square, which is not below 0."""
    low, high = least(a), abs(a[0]) + a[1]
    return of_ends(low * low >> BITS, -(-high * high >> BITS))


def inverse(a: Ball) -> Ball:
    """Return 1 divided by a ball that does not hold 0."""
    low, high = a[0] - a[1], a[0] + a[1]
    if low <= 0 <= high:
        raise UnknownError
    return of_ends((1 << 2 * BITS) // high, -(-(1 << 2 * BITS) // low))


def least(a: Ball) -> int:
    """Return the least absolute value."""
    return max(abs(a[0]) - a[1], 0)


def most(a: Ball) -> int:
    """Return the largest absolute value."""
    return abs(a[0]) + a[1]


def narrower(a: Ball, b: Ball) -> Ball:
    """Return the narrower of two balls that hold the same number."""
    return a if a[1] <= b[1] else b


def hull(a: Ball, b: Ball) -> Ball:
    """Return a ball that holds two others."""
    return of_ends(min(a[0] - a[1], b[0] - b[1]), max(a[0] + a[1], b[0] + b[1]))


# --- functions --------------------------------------------------------------------------------------------------------


_DIGITS = 256
_LOG_2 = 0xB17217F7D1CF79ABC9E3B39803F2F6AF40F343267298B62D8A0D175B8BAAFA2B  # ln 2 · 2^256, rounded down
if (
    not exp_bounds(Fraction(_LOG_2, 1 << _DIGITS), 320)[1]
    <= 2
    <= exp_bounds(Fraction(_LOG_2 + 1, 1 << _DIGITS), 320)[0]
):
    raise ArithmeticError("the logarithm of 2 is not what it should be")


@lru_cache(maxsize=256)
def _of_256ths(i: int) -> int:
    """Return e^(-i / 256), over 2^256; off by less than 4, from below."""
    return int(exp_bounds(Fraction(-i, 256), _DIGITS + 16)[0] * 2**_DIGITS)


def exp_minus(x: int, bits: int = BITS) -> Ball:
    """Return e^-x for one number from 0 up; all over 2^bits."""
    if x > bits << bits:
        return 0, 1  # e^-x < 2^-bits
    fine = bits + _MORE
    log_2 = _LOG_2 >> (_DIGITS - fine)  # off by less than 1
    halvings, rest = divmod(x << _MORE, log_2)
    i = rest >> (fine - 8)
    rest -= i << (fine - 8)  # e^-x = 2^-halvings · e^(-i / 256) · e^-rest, where rest is off by less than halvings
    total, term, k = 1 << fine, 1 << fine, 0
    while term:  # below 1/256 of the one before, with signs in turn; each is off by less than 3
        k += 1
        term = (term * rest >> fine) // k
        total += -term if k & 1 else term
    by = _MORE + halvings
    return (total * _of_256ths(i) >> _DIGITS) >> by, ((3 * k + halvings + 8) >> by) + 2


def exp(a: Ball) -> Ball:
    """Return the exponential function of a ball that is not far above 0."""
    m, r = a
    if m + r > FAR:
        raise UnknownError
    if r > ONE:
        (low, s), (high, t) = exp((m - r, 0)), exp((m + r, 0))
        return of_ends(max(low - s, 0), high + t)
    at = exp_minus(-m) if m <= 0 else _exp_plus(m)
    # e^±r is within r + r² of 1, for r ≤ 1.
    return at[0], at[1] + (((at[0] + at[1]) * (r + (r * r >> BITS) + 1)) >> BITS) + 1 if r else at[1]


def _exp_plus(x: int) -> Ball:
    """Return e^x for one number from 0 to 60, by that of -x to so many digits more."""
    more = 90
    e, off = exp_minus(x << more, BITS + more)
    whole = 1 << (2 * BITS + more)
    return of_ends(whole // (e + off), -(-whole // (e - off)))


def logarithm(a: Ball) -> Ball:
    """Return the natural logarithm, of numbers above 0."""
    low, high = a[0] - a[1], a[0] + a[1]
    if low <= 0:
        raise UnknownError
    first, second = log_of(low), log_of(high)
    return of_ends(first[0] - first[1], second[0] + second[1])


def log_of(x: int) -> Ball:
    """Return the logarithm of one number above 0: a guess, and what the exponential function says it lacks."""
    shift = x.bit_length() - BITS  # x = 2^shift · y with 1/2 ≤ y < 1
    y = x >> shift if shift > 0 else x << -shift
    guess = int(log(y / ONE) * 2**40) << (BITS - 40)
    ratio = times((y, int(shift > 0)), inverse(exp((guess, 0))))
    rest, error = ratio[0] - ONE, ratio[1]
    if 4 * (abs(rest) + error) > ONE:
        raise UnknownError
    # log(1 + q) is within q² of q, for |q| ≤ 1/2.
    off = (rest * rest >> BITS) + 1 + 2 * error
    return guess + rest + (shift * _LOG_2 >> (_DIGITS - BITS)), off + 3


@lru_cache(maxsize=1)
def sine_at(m: int) -> tuple[Ball, Ball]:
    """Return sine and cosine of one number below 2^40."""
    long, fine = _DIGITS - 16, BITS + _MORE
    quarters, rest = divmod(m << (long - BITS), _PI >> 17)  # π / 2 is off by less than 1, and rest by less than 2^41
    x = rest >> (long - fine)  # off by less than 2
    power, found = x * x >> fine, []
    for start, first in ((1, x), (0, 1 << fine)):
        total, term, k = first, first, start
        while term:  # each is off by less than 3, and from the second on below the one before, with signs in turn
            k += 2
            term = (term * power >> fine) // (k * (k - 1))
            total += -term if k & 2 else term
        found.append((total >> _MORE, ((3 * k + 8) >> _MORE) + 2))
    (sine, error), (cosine, off) = found
    turned = (sine, error), (cosine, off), (-sine, error), (-cosine, off)
    return turned[quarters % 4], turned[(quarters + 1) % 4]


def root(a: Ball) -> Ball:
    """Return the square root, of numbers from 0 up."""
    low, high = a[0] - a[1], a[0] + a[1]
    if low < 0:
        raise UnknownError
    return of_ends(isqrt(low << BITS), isqrt(high << BITS) + 1)


_PI = 0x3243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89  # π · 2^256, rounded down
_SPARE, _LAST = 28, 2  # digits more in sums that cancel, which end at a term that is no larger


@lru_cache(maxsize=2)
def _density(bits: int) -> Ball:
    """Return 1 / √(2π), over 2^bits."""
    low, high = (isqrt((1 << (2 * bits + _DIGITS)) // (2 * pi)) for pi in (_PI + 1, _PI))
    return of_ends(low, high + 1)


def density(a: Ball) -> Ball:
    """Return the density of the normal distribution."""
    power, off = square(a)
    return times(_density(BITS), exp((-(power >> 1), (off >> 1) + 1)))


def normal(a: Ball) -> Ball:
    """Return the distribution function of the normal distribution."""
    m, r = a
    at = normal_at(m)[0]
    if not r:
        return at
    steep = most(density((max(abs(m) - r, 0), 0)))  # Φ changes by no more than the largest density on the way
    return at[0], at[1] + (r * steep >> BITS) + 1


@lru_cache(maxsize=1)
def normal_at(m: int) -> tuple[Ball, Ball]:
    """Return the distribution function of the normal distribution, and its density, at one number."""
    x = abs(m)
    if x < 10 * ONE:
        above, dense = _above(x)
    else:
        dense = density((x, 0))
        above = of_ends(0, most(dense))  # 1 - Φ(x) ≤ φ(x), for x ≥ 1
    return above if m < 0 else (ONE - above[0], above[1]), dense


def quantile(a: Ball) -> Ball:
    """Return the number at which the normal distribution function has a value, for values between 0 and 1."""
    low, high = _quantile(a[0] - a[1]), _quantile(a[0] + a[1])
    return of_ends(low[0] - low[1], high[0] + high[1])


def _quantile(p: int) -> Ball:
    """Return that of one value: a guess by floats, one step of Newton's, and a look at both sides of it."""
    less = min(p, ONE - p)
    if less <= 0:
        raise UnknownError
    guess = int(NormalDist().inv_cdf(less / ONE) * 2**40) << (BITS - 40)
    (share, _), (dense, _) = normal_at(guess)
    if dense <= 0:
        raise UnknownError
    y, off = guess + ((less - share) << BITS) // dense, (256 << BITS) // dense
    (below, r), (above, s) = normal_at(y - off)[0], normal_at(y + off)[0]
    if not below + r <= less <= above - s:
        raise UnknownError
    return y if p == less else -y, off


def _above(x: int) -> tuple[Ball, Ball]:
    """Return 1 - Φ(x) and φ(x) for one number from 0 to 10: Φ is `1/2 + φ(x) · Σ x^(2n+1) / (1·3·…·(2n+1))`.

    The sum is below 1.3 · e^(x²/2) < 2^(3x²/4 + 1): hence so many digits more.
    """
    by = _SPARE + (3 * (x * x >> 2 * BITS) >> 2)
    bits = BITS + by
    x <<= by
    power = x * x >> bits  # off by less than 1
    total, term, short, off, k = x, x, 0, 0, 1  # a term is short by no more than `off`, their sum by `short`
    while term > _LAST or power + 1 > k << (bits - 1):
        k += 2
        off = (off * (power + 1) + term >> bits) // k + 3
        term = (term * power >> bits) // k
        total, short = total + term, short + off
    short += term + off + 1  # every later term is at most half the one before
    even, error = exp_minus(power >> 1, bits)  # the exponent is off by less than 1
    (factor, loose), error = _density(bits), error + 2
    dense = even * factor >> bits, ((even * loose + factor * error + error * loose) >> bits) + 2
    most_of = (dense[0] + dense[1]) * (total + short) >> bits
    first, second = (1 << (bits - 1)) - most_of - 1, (1 << (bits - 1)) - ((dense[0] - dense[1]) * total >> bits)
    return of_ends(first >> by, -(-second >> by)), (dense[0] >> by, (dense[1] >> by) + 2)
