"""Smooth functions of one number by name: activations of networks, and maps that people put before a model.

In: a ball, an interval that holds a number. Out: the Taylor coefficients `g, g', g''/2, g'''/6` of the function, each a
ball that holds the coefficient at every number of the interval; NaN where nothing is known.
Guaranteed: by flint's ball arithmetic, which rounds outwards; no error constant of our own takes part.

Where a function has a corner inside the interval, a coefficient holds for both sides. A function whose first `m`
derivatives are continuous there has the next one on both sides between the same bounds, and beyond that nothing is
said. So each derivative that is bounded is that of a function which is its integral, and what follows from bounds of
derivatives (monotone, convex, the mean value theorem) holds at corners too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

from flint import arb, fmpq

from suffice.errors import ShapeError
from suffice.numbers.exact import ONE, ZERO, Number, Rational, rational

Taylor: TypeAlias = list[arb]
TERMS = 4
_UNKNOWN = arb.nan()

# PyTorch's constants of SELU, as float64 has them.
SELU_ALPHA, SELU_SCALE = rational(1.6732632423543772848), rational(1.0507009873554804934)
GELU_CUBIC = fmpq(44715, 10**6)


def chained(outer: Taylor, inner: Taylor) -> Taylor:
    """Return the coefficients of `outer(inner)`, those of `outer` being taken where `inner` is."""
    g0, g1, g2, g3 = outer
    _, z1, z2, z3 = inner
    square = z1 * z1
    return [g0, g1 * z1, g1 * z2 + g2 * square, g1 * z3 + 2 * g2 * z1 * z2 + g3 * square * z1]


def _times_itself(z: arb, g: Taylor) -> Taylor:
    """Return the coefficients of `z · g(z)`."""
    return [z * g[0], g[0] + z * g[1], g[1] + z * g[2], g[2] + z * g[3]]


# --- one formula each -------------------------------------------------------------------------------------------------


def _share(z: arb) -> arb:
    """Return the sigmoid, which rises; of a wide ball by its ends, for that of an exponential may reach below 0."""
    if z.rad() < 1:
        return 1 / (1 + (-z).exp())
    return (1 / (1 + (-z.lower()).exp())).union(1 / (1 + (-z.upper()).exp()))


def _sigmoid(z: arb) -> Taylor:
    s, rest = _share(z), _share(-z)
    u = s * rest
    return [s, u, u * (rest - s) / 2, u * (1 - 6 * u) / 6]


def _tanh(z: arb) -> Taylor:
    y = z.tanh()
    u = (1 - y) * (1 + y)
    return [y, u, -y * u, u * (3 * y * y - 1) / 3]


def _sine(z: arb) -> Taylor:
    sin, cos = z.sin_cos()
    return [sin, cos, -sin / 2, -cos / 6]


def _exp(z: arb) -> Taylor:
    e = z.exp()
    return [e, e, e / 2, e / 6]


def _log(z: arb) -> Taylor:
    inverse = 1 / z
    square = inverse * inverse
    return [z.log(), inverse, -square / 2, square * inverse / 3]


def _sqrt(z: arb) -> Taylor:
    root = z.sqrt()
    inverse = 1 / z
    slope = root * inverse / 2
    return [root, slope, -slope * inverse / 4, slope * inverse * inverse / 8]


def _silu(z: arb) -> Taylor:
    return _times_itself(z, _sigmoid(z))


def _gelu(z: arb) -> Taylor:
    density = (-z * z / 2).exp() / (2 * arb.pi()).sqrt()
    share = (-z / arb(2).sqrt()).erfc() / 2
    return _times_itself(z, [share, density, -z * density / 2, (z * z - 1) * density / 6])


def _gelu_tanh(z: arb) -> Taylor:
    # (1 + tanh(w)) / 2 is the sigmoid of 2w.
    factor = 2 * (2 / arb.pi()).sqrt()
    cubic = arb(GELU_CUBIC) * factor
    inner = [z * (factor + cubic * z * z), factor + 3 * cubic * z * z, 3 * cubic * z, cubic]
    return _times_itself(z, chained(_sigmoid(inner[0]), inner))


def _softplus(z: arb, beta: Rational) -> Taylor:
    factor = arb(beta)
    w = factor * z
    s = _sigmoid(w)
    # log(1 + e^w), from the side on which the exponential is small.
    value = (w + (-w).exp().log1p()) / factor if w > 0 else w.exp().log1p() / factor
    return [value, s[0], factor * s[1] / 2, factor * factor * s[2] / 3]


def _mish(z: arb) -> Taylor:
    inner = _softplus(z, ONE)
    return _times_itself(z, chained(_tanh(inner[0]), inner))


def _power(z: arb, exponent: Rational) -> Taylor:
    power, inverse = arb(exponent), 1 / z
    value = (power * z.log()).exp()
    first = power * value * inverse
    second = first * (power - 1) * inverse / 2
    return [value, first, second, second * (power - 2) * inverse / 3]


def _box_cox(z: arb, exponent: Rational) -> Taylor:
    if not exponent:
        return _log(z)
    value, *rest = _power(z, exponent)
    return [(value - 1) / arb(exponent), *(one / arb(exponent) for one in rest)]


def _normal_quantile(z: arb) -> Taylor:
    # It increases, so that its values at the ends of the interval are those of a ball's ends.
    low, high = ((2 * end - 1).erfinv() * arb(2).sqrt() for end in (z.lower(), z.upper()))
    y = low.union(high)
    density = (2 * arb.pi()).sqrt() * (y * y / 2).exp()
    return [y, density, y * density * density / 2, (1 + 2 * y * y) * density * density * density / 6]


def line(slope: Rational, offset: Rational = ZERO) -> Callable[[arb], Taylor]:
    """Return the formula of an affine function."""
    return lambda z: [arb(slope) * z + arb(offset), arb(slope), arb(0), arb(0)]


def _scaled(g: Taylor, factor: arb) -> Taylor:
    return [factor * one for one in g]


# --- functions by name ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Zones:
    """Formulas on either side of thresholds."""

    thresholds: tuple[Rational, ...]
    formulas: tuple[Callable[[arb], Taylor], ...]  # one more than thresholds
    smoothness: int = 9  # how many derivatives are continuous at the thresholds

    def value(self, z: arb) -> arb:
        """Return the value over a ball."""
        return self.taylor(z)[0]

    def taylor(self, z: arb) -> Taylor:
        """Return the coefficients over a ball."""
        if not self.thresholds:
            return self.formulas[0](z)
        cuts = [arb(threshold) for threshold in self.thresholds]
        first = sum(1 for cut in cuts if z >= cut)
        last = len(cuts) - sum(1 for cut in cuts if z <= cut)
        if first >= last:
            return self.formulas[min(first, last)](z)
        if not z.is_finite():
            return [_UNKNOWN] * TERMS
        low, high = z.lower(), z.upper()
        ends = [low, *cuts[first:last], high]
        parts = [self.formulas[q](start.union(end)) for q, (start, end) in enumerate(pairwise(ends), first)]
        known = min(self.smoothness + 2, TERMS)
        return [hull_of([part[k] for part in parts]) for k in range(known)] + [_UNKNOWN] * (TERMS - known)


def hull_of(balls: Sequence[arb]) -> arb:
    """Return a ball around some others; NaN if one of them is."""
    hull = balls[0]
    for ball in balls[1:]:
        hull = hull.union(ball)
    return hull


def _elu(alpha: Rational, scale: Rational = ONE) -> Zones:
    def below(z: arb) -> Taylor:
        e = z.exp()
        return _scaled([z.expm1(), e, e / 2, e / 6], arb(alpha * scale))

    return Zones((ZERO,), (below, line(scale)), 1 if alpha == 1 else 0)


def _celu(alpha: Rational) -> Zones:
    def below(z: arb) -> Taylor:
        w, factor = z / arb(alpha), arb(alpha)
        e = w.exp()
        return [factor * w.expm1(), e, e / (2 * factor), e / (6 * factor * factor)]

    return Zones((ZERO,), (below, line(ONE)), 1)


def _hardswish() -> Zones:
    def between(z: arb) -> Taylor:
        return [z * (z + 3) / 6, (2 * z + 3) / 6, arb(1) / 6, arb(0)]

    return Zones((rational(-3), rational(3)), (line(ZERO), between, line(ONE)), 0)


def _yeo_johnson(exponent: Rational) -> Zones:
    def above(z: arb) -> Taylor:
        return _box_cox(1 + z, exponent)

    def below(z: arb) -> Taylor:
        g = _box_cox(1 - z, 2 - exponent)
        return [-g[0], g[1], -g[2], g[3]]

    return Zones((ZERO,), (below, above), 2)


def _plain(formula: Callable[..., Taylor]) -> Callable[..., Zones]:
    return lambda *parameters: Zones((), (lambda z: formula(z, *parameters),))


@dataclass(frozen=True)
class _Kind:
    make: Callable[..., Zones]
    defaults: tuple[Rational, ...] = ()  # of parameters
    needs: str = ""  # what a parameter must be
    is_fit: Callable[[Rational], bool] = lambda _: True
    is_increasing: bool = False
    is_partial: bool = False  # whether there are numbers at which it has no value
    value: Callable[[arb], arb] | None = None  # the function alone, where that is less work than its derivatives too


_POSITIVE = ("above 0", lambda value: value > 0)

KINDS: Mapping[str, _Kind] = {
    "tanh": _Kind(_plain(_tanh), is_increasing=True, value=lambda z: z.tanh()),
    "sigmoid": _Kind(_plain(_sigmoid), is_increasing=True, value=_share),
    "silu": _Kind(_plain(_silu), value=lambda z: z / (1 + (-z).exp())),
    "gelu": _Kind(_plain(_gelu), value=lambda z: z * (-z / arb(2).sqrt()).erfc() / 2),
    "gelu_tanh": _Kind(_plain(_gelu_tanh)),
    "mish": _Kind(_plain(_mish)),
    "hardswish": _Kind(_hardswish),
    "sine": _Kind(_plain(_sine), value=lambda z: z.sin()),
    "softplus": _Kind(_plain(_softplus), (ONE,), *_POSITIVE, is_increasing=True),
    "elu": _Kind(_elu, (ONE,), *_POSITIVE, is_increasing=True),
    "celu": _Kind(_celu, (ONE,), *_POSITIVE, is_increasing=True),
    "selu": _Kind(lambda: _elu(SELU_ALPHA, SELU_SCALE), is_increasing=True),
    "exp": _Kind(_plain(_exp), is_increasing=True),
    "log": _Kind(_plain(_log), is_increasing=True, is_partial=True),
    "sqrt": _Kind(_plain(_sqrt), is_increasing=True, is_partial=True),
    "box_cox": _Kind(_plain(_box_cox), (ONE,), is_increasing=True, is_partial=True),
    "yeo_johnson": _Kind(_yeo_johnson, (ONE,), is_increasing=True),
    "normal_quantile": _Kind(_plain(_normal_quantile), is_increasing=True, is_partial=True),
}


@dataclass(frozen=True, init=False)
class SmoothFunction:
    """A smooth function by its name: an activation of a `SmoothNetwork`, or the function of a `Smooth` shape.

    Parameters
    ----------
    name : str
        One of "tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "mish", "hardswish", "sine", "softplus", "elu", "celu",
        "selu", "exp", "log", "sqrt", "box_cox", "yeo_johnson" and "normal_quantile".
    parameter : number, optional
        The `beta` of softplus, the `alpha` of elu and celu, the exponent of box_cox and yeo_johnson; 1 by default.

    Examples
    --------
    >>> SmoothFunction("elu", 0.5).parameters
    (1/2,)
    """

    name: str
    parameters: tuple[Rational, ...]

    def __init__(self, name: str, *parameters: Number) -> None:
        kind = KINDS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ShapeError(f"unknown smooth function {name!r}; use one of {', '.join(KINDS)}")
        given = tuple(rational(one) for one in parameters) or kind.defaults
        if len(given) != len(kind.defaults):
            raise ShapeError(f"{name!r} takes {len(kind.defaults) or 'no'} parameter, got {len(given)}")
        if not all(kind.is_fit(one) for one in given):
            raise ShapeError(f"the parameter of {name!r} must be {kind.needs}, got {parameters[0]}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "parameters", given)

    @classmethod
    def of(cls, given: Any) -> SmoothFunction:
        """Return the function of a name, or the one given."""
        return given if isinstance(given, SmoothFunction) else cls(given)

    @cached_property
    def _zones(self) -> Zones:
        return KINDS[self.name].make(*self.parameters)

    @property
    def is_increasing(self) -> bool:
        """Whether it rises wherever it has a value."""
        return KINDS[self.name].is_increasing

    @property
    def is_partial(self) -> bool:
        """Whether there are numbers at which it has no value."""
        return KINDS[self.name].is_partial

    @property
    def is_unbounded(self) -> bool:
        """Whether it is known to grow beyond all bounds with its input, and to fall so where it has values for ever."""
        if self.name == "box_cox":
            return self.parameters[0] >= 0
        return self.name in ("log", "sqrt") or (self.name == "yeo_johnson" and 0 <= self.parameters[0] <= 2)

    @property
    def is_identity(self) -> bool:
        """Whether nothing changes: never."""
        return False

    def fits(self, units: int) -> bool:
        """Whether it can follow a layer of so many units: always."""
        return True

    def taylor(self, z: arb) -> Taylor:
        """Return the Taylor coefficients over a ball."""
        return self._zones.taylor(z)

    def value(self, z: arb) -> arb:
        """Return the value over a ball."""
        alone = KINDS[self.name].value
        return self._zones.taylor(z)[0] if alone is None else alone(z)

    def __repr__(self) -> str:
        return f"SmoothFunction({', '.join([repr(self.name), *map(str, self.parameters)])})"
