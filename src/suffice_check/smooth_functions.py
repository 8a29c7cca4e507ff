"""Smooth functions by name: value, derivative and half the second derivative `(g, g', g''/2)` over a ball, as balls.

The formulas are those of calculus; what they are made of is in `balls.py`. At a corner inside the ball a coefficient
holds for both sides; where the derivative jumps, the second is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from suffice_check.balls import (
    BITS,
    ONE,
    Ball,
    density,
    exp,
    exp_minus,
    hull,
    inverse,
    log_of,
    logarithm,
    minus,
    most,
    normal,
    normal_at,
    of,
    of_ends,
    plus,
    quantile,
    root,
    sine_at,
    square,
    times,
)

Taylor = tuple[Ball, Ball, Ball | None]  # None: not bounded, or not known
Formula = Callable[[Ball], Taylor]
UNIT: Ball = (ONE, 0)
NONE: Ball = (0, 0)
SELU_ALPHA, SELU_SCALE = Fraction(1.6732632423543772848), Fraction(1.0507009873554804934)  # as PyTorch has them


def half(a: Ball) -> Ball:
    """Return a half."""
    return a[0] >> 1, (a[1] >> 1) + 1


def negative(a: Ball) -> Ball:
    """Return the same with the other sign."""
    return -a[0], a[1]


def chained(outer: Taylor, inner: Taylor) -> Taylor:
    """Return the coefficients of a function of a function."""
    (g, slope, bend), (_, first, second) = outer, inner
    if bend is None or second is None:
        return g, times(slope, first), None
    return g, times(slope, first), plus(times(slope, second), times(bend, square(first)))


def times_itself(z: Ball, g: Taylor) -> Taylor:
    """Return the coefficients of `z · g(z)`."""
    bend = None if g[2] is None else plus(g[1], times(z, g[2]))
    return times(z, g[0]), plus(g[0], times(z, g[1])), bend


def widened(at: Taylor, r: int, third: int) -> tuple[Ball, Ball, Ball]:
    """Return the coefficients within `r` of a number: those at it, given what the third derivative is not beyond."""
    value, slope, bend = at
    assert bend is not None
    change = (third * r >> (BITS + 1)) + 1  # of half the second derivative
    slopes = slope[0], slope[1] + ((2 * most(bend) + change) * r >> BITS) + 1
    return (value[0], value[1] + (most(slopes) * r >> BITS) + 1), slopes, (bend[0], bend[1] + change)


def larger(a: int, t: int) -> int:
    """Return a number times e^t, or more, for t from 0 to 1: e^t is at most 1 + t + t²."""
    return (a * (ONE + t + (t * t >> BITS) + 1) >> BITS) + 1


@lru_cache(maxsize=1)
def _sigmoid_at(m: int) -> tuple[Ball, Ball, Ball]:
    e, off = exp_minus(abs(m))
    low, high = ((end << BITS) // (ONE + end) for end in (e - off, e + off))
    small = of_ends(low, high + 1)  # e / (1 + e)
    s, rest = (small, minus(UNIT, small)) if m < 0 else (minus(UNIT, small), small)
    u = times(s, rest)
    return s, u, half(times(u, minus(rest, s)))


def sigmoid(z: Ball) -> tuple[Ball, Ball, Ball]:
    """Return those of s = 1 / (1 + e^-z); s' = s · (1 - s) is at most 1/4, |s''| at most s', |s'''| s' and 1/8."""
    m, r = z
    if r <= ONE:
        at = _sigmoid_at(m)
        # |s''| ≤ s', so that s' grows by no more than e^r
        return widened(at, r, min(ONE >> 3, larger(most(at[1]), r))) if r else at
    steep = most(_sigmoid_at(max(abs(m) - r, 0))[1])  # s' is largest where z is nearest to 0
    return hull(_sigmoid_at(m - r)[0], _sigmoid_at(m + r)[0]), of_ends(0, steep), (0, (steep >> 1) + 1)


def tanh(z: Ball) -> Taylor:
    """Return those of the hyperbolic tangent, 2 / (1 + e^-2z) - 1."""
    s, u, v = sigmoid((2 * z[0], 2 * z[1]))
    return (2 * s[0] - ONE, 2 * s[1]), (4 * u[0], 4 * u[1]), (8 * v[0], 8 * v[1])


def silu(z: Ball) -> Taylor:
    """Return those of z / (1 + e^-z)."""
    return times_itself(z, sigmoid(z))


def gelu(z: Ball) -> Taylor:
    """Return those of z · Φ(z), whose third derivative is z · (z² - 4) · φ(z)."""
    m, r = z
    if r > ONE:
        dense = density(z)
        return times_itself(z, (normal(z), dense, negative(half(times(z, dense)))))
    share, dense = normal_at(m)
    at = times_itself((m, 0), (share, dense, negative(half(times((m, 0), dense)))))
    if not r:
        return at
    third, far, grown = 4 * ONE // 5, abs(m) + r, (abs(m) * r >> BITS) + 1
    if grown <= ONE:  # nowhere above 4/5; and φ grows by no more than e^(|m| · r)
        third = min(third, (larger(most(dense), grown) * far * (far * far + (4 << 2 * BITS)) >> 3 * BITS) + 1)
    return widened(at, r, third)


def gelu_tanh(z: Ball) -> Taylor:
    """Return those of z times the sigmoid of 2 · √(2/π) · (z + 0.044715 · z³)."""
    factor = times((4 * ONE, 0), density(NONE))  # 2 · √(2/π) = 4 / √(2π)
    cubic = times(factor, of(Fraction(44715, 10**6)))
    triple = (3 * cubic[0], 3 * cubic[1])
    power = square(z)
    inner = times(z, plus(factor, times(cubic, power))), plus(factor, times(triple, power)), times(triple, z)
    return times_itself(z, chained(sigmoid(inner[0]), inner))


def sine(z: Ball) -> Taylor:
    """Return those of the sine, whose derivatives are nowhere beyond 1."""
    m, r = z
    if abs(m) >> 40 >= ONE or r > ONE:
        return (0, ONE), (0, ONE), (0, ONE >> 1)
    sin, cos = sine_at(m)
    return widened((sin, cos, negative(half(sin))), r, ONE)


def normal_quantile(z: Ball) -> Taylor:
    """Return those of y with Φ(y) = z: y' = 1 / φ(y) and y'' = y / φ(y)²."""
    y = quantile(z)
    slope = inverse(density(y))
    return y, slope, half(times(y, square(slope)))


@lru_cache(maxsize=1)
def _softplus_at(m: int) -> tuple[Ball, Ball, Ball]:
    (s, u, _), (e, off) = _sigmoid_at(m), exp_minus(abs(m))
    value, error = log_of(ONE + e)  # log(1 + e^-|m|), whose slope is at most 1 along e
    return (value + max(m, 0), error + off), s, half(u)


def softplus(z: Ball, beta: Fraction) -> Taylor:
    """Return those of log(1 + e^w) / beta, w = beta · z: along w its derivatives are those of the sigmoid."""
    factor = of(beta)
    w = times(factor, z)
    m, r = w
    if r <= ONE:
        at, u = _softplus_at(m), most(_sigmoid_at(m)[1])
        value, s, bend = widened(at, r, min(ONE // 10, larger(u, r))) if r else at
    else:  # it rises from end to end
        value, (s, steep, _) = hull(_softplus_at(m - r)[0], _softplus_at(m + r)[0]), sigmoid(w)
        bend = half(steep)
    return times(value, inverse(factor)), s, times(factor, bend)


def mish(z: Ball) -> Taylor:
    """Return those of z · tanh(log(1 + e^z))."""
    inner = softplus(z, Fraction(1))
    return times_itself(z, chained(tanh(inner[0]), inner))


def exponential(z: Ball) -> Taylor:
    """Return those of e^z."""
    e = exp(z)
    return e, e, half(e)


def log(z: Ball) -> Taylor:
    """Return those of the natural logarithm."""
    slope = inverse(z)
    return logarithm(z), slope, negative(half(square(slope)))


def sqrt(z: Ball) -> Taylor:
    """Return those of the square root."""
    value, below = root(z), inverse(z)
    slope = half(times(value, below))
    return value, slope, negative(half(half(times(slope, below))))


def box_cox(z: Ball, exponent: Fraction) -> Taylor:
    """Return those of (z^exponent - 1) / exponent, or log z."""
    if not exponent:
        return log(z)
    power, below = of(exponent), inverse(z)
    value = exp(times(power, logarithm(z)))
    slope = times(value, below)
    bend = half(times(times(slope, below), minus(power, UNIT)))
    return times(minus(value, UNIT), inverse(power)), slope, bend


def elu(alpha: Fraction, scale: Fraction = Fraction(1)) -> Formula:
    """Return ELU: `scale · z` from 0 up, `scale · alpha · (e^z - 1)` below."""
    steep = of(scale * alpha)

    def below(z: Ball) -> Taylor:
        e = exp(z)
        return times(steep, minus(e, UNIT)), times(steep, e), half(times(steep, e))

    return zones([Fraction(0)], [below, line(scale, Fraction(0))], is_smooth=alpha == 1)


def celu(alpha: Fraction) -> Formula:
    """Return CELU: `z` from 0 up, `alpha · (e^(z / alpha) - 1)` below."""
    factor = of(alpha)

    def below(z: Ball) -> Taylor:
        e = exp(times(z, inverse(factor)))
        return times(factor, minus(e, UNIT)), e, half(times(e, inverse(factor)))

    return zones([Fraction(0)], [below, line(Fraction(1), Fraction(0))], is_smooth=True)


def hardswish() -> Formula:
    """Return z · (z + 3) / 6 between -3 and 3, 0 below and z above."""
    sixth = of(Fraction(1, 6))

    def between(z: Ball) -> Taylor:
        g = plus(z, (3 * ONE, 0))
        return times_itself(z, (times(sixth, g), sixth, NONE))

    zero, one = Fraction(0), Fraction(1)
    return zones([Fraction(-3), Fraction(3)], [line(zero, zero), between, line(one, zero)], is_smooth=False)


def yeo_johnson(exponent: Fraction) -> Formula:
    """Return Box-Cox of 1 + z from 0 up, and of 1 - z, with 2 - exponent and the other sign, below."""

    def below(z: Ball) -> Taylor:
        g = box_cox(minus(UNIT, z), 2 - exponent)
        return negative(g[0]), g[1], None if g[2] is None else negative(g[2])

    return zones([Fraction(0)], [below, lambda z: box_cox(plus(UNIT, z), exponent)], is_smooth=True)


def line(slope: Fraction, offset: Fraction) -> Formula:
    """Return an affine function."""
    steep, start = of(slope), of(offset)
    return lambda z: (plus(times(steep, z), start), steep, NONE)


def joined(one: Taylor, other: Taylor) -> Taylor:
    """Return coefficients that hold on either side."""
    bend = None if one[2] is None or other[2] is None else hull(one[2], other[2])
    return hull(one[0], other[0]), hull(one[1], other[1]), bend


def zones(thresholds: Sequence[Fraction], formulas: Sequence[Formula], is_smooth: bool) -> Formula:
    """Return formulas on either side of thresholds; smooth, if the derivative is continuous there."""
    cuts = [of(threshold) for threshold in thresholds]

    def formula(z: Ball) -> Taylor:
        low, high = z[0] - z[1], z[0] + z[1]
        first = sum(low >= cut[0] + cut[1] for cut in cuts)
        last = sum(high > cut[0] - cut[1] for cut in cuts)
        if first >= last:
            return formulas[first](z)
        ends = [low, *(cut[0] for cut in cuts[first:last]), high]
        found: Taylor | None = None
        for q in range(first, last + 1):
            start, end = ends[q - first] - 1, ends[q - first + 1] + 1  # a cut may be off by 1
            part = formulas[q](of_ends(start, max(start, end)))
            found = part if found is None else joined(found, part)
        assert found is not None
        return found if is_smooth else (found[0], found[1], None)

    return formula


_PLAIN: dict[str, Formula] = {
    "tanh": tanh,
    "sigmoid": sigmoid,
    "silu": silu,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "mish": mish,
    "hardswish": hardswish(),
    "exp": exponential,
    "log": log,
    "sqrt": sqrt,
    "sine": sine,
    "normal_quantile": normal_quantile,
    "selu": elu(SELU_ALPHA, SELU_SCALE),
}
_MADE: dict[str, Callable[[Fraction], Formula]] = {
    "softplus": lambda beta: lambda z: softplus(z, beta),
    "box_cox": lambda exponent: lambda z: box_cox(z, exponent),
    "elu": elu,
    "celu": celu,
    "yeo_johnson": yeo_johnson,
}


def function(name: str, parameters: Sequence[Fraction]) -> Formula:
    """Return the formula of a function by its name."""
    if name in _PLAIN and not parameters:
        return _PLAIN[name]
    if name in _MADE and len(parameters) == 1:
        (parameter,) = parameters
        if name in ("softplus", "elu", "celu") and parameter <= 0:
            raise ValueError(f"the parameter of {name!r} must be above 0")
        return _MADE[name](parameter)
    raise ValueError(f"{name!r} is not a smooth function that is checked, or has another number of parameters")
