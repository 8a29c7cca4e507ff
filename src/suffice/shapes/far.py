"""What functions of one variable are far out: lines, and how far they may be off.

In: what a unit of a network is beyond some number, and its activation. Out: what comes out of the activation there.
Guaranteed: slopes are exact, since parameters are; offsets are balls of flint. Beyond `Z >= 1` on either side every
activation that is listed in `LINES` differs from its line by no more than `2 (1 + Z) exp(-Z)`, which falls as `Z`
grows; docs/guarantees.md has the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flint import arb, fmpq, fmpq_poly

from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.shapes.smooth_functions import SELU_ALPHA, SELU_SCALE, SmoothFunction, Zones


class Far(NamedTuple):
    """A function beyond some number: `slope * x + offset`, where the offset may vary within a ball."""

    slope: Rational
    offset: arb

    def times(self, factor: Rational) -> Far:
        """Return a multiple."""
        return Far(self.slope * factor, self.offset * arb(factor))

    def plus(self, other: Far) -> Far:
        """Return a sum."""
        return Far(self.slope + other.slope, self.offset + other.offset)

    def distance(self, start: Rational) -> arb:
        """Return how far from 0 the function is at least, from `start` on outwards, if its slope is not 0."""
        return (arb(abs(self.slope * start)) - self.offset.abs_upper()).lower()

    def is_upwards(self, start: Rational) -> bool:
        """Whether it rises from `start` on outwards; if not, it falls."""
        return bool(self.slope * start > 0)


# For each activation its lines far to the left and far to the right: slope and offset.
_RAMP = ((ZERO, ZERO), (ONE, ZERO))
LINES: Mapping[str, tuple[tuple[Rational, Rational], tuple[Rational, Rational]]] = {
    "tanh": ((ZERO, -ONE), (ZERO, ONE)),
    "sigmoid": ((ZERO, ZERO), (ZERO, ONE)),
    "silu": _RAMP,
    "gelu": _RAMP,
    "gelu_tanh": _RAMP,
    "mish": _RAMP,
    "hardswish": _RAMP,
    "softplus": _RAMP,
    "elu": ((ZERO, -ONE), (ONE, ZERO)),
    "celu": ((ZERO, -ONE), (ONE, ZERO)),
    "selu": ((ZERO, -SELU_ALPHA * SELU_SCALE), (SELU_SCALE, ZERO)),
}


def activated(z: Far, activation: SmoothFunction | Zones, start: Rational) -> Far | None:
    """Return an activation of what is known beyond `start`; None where that tells nothing, or only further out."""
    if not z.slope:
        return Far(ZERO, activation.value(z.offset))
    if isinstance(activation, Zones):
        return _in_last_zone(z, activation, start)
    if activation.name == "sine":
        return Far(ZERO, arb(0, 1))
    if activation.name not in LINES or any(one != 1 for one in activation.parameters):
        return None
    least = z.distance(start)
    if not least >= 1:
        return None
    slope, offset = LINES[activation.name][z.is_upwards(start)]
    off = arb(0, 1) * (2 * (1 + least) * (-least).exp())
    return Far(slope * z.slope, arb(slope) * z.offset + arb(offset) + off)


def _in_last_zone(z: Far, zones: Zones, start: Rational) -> Far | None:
    is_up = z.is_upwards(start)
    if zones.thresholds:
        cut = arb(zones.thresholds[-1 if is_up else 0])
        if not (z.distance(start) >= cut if is_up else -z.distance(start) <= cut):
            return None
    value, slope, *_ = zones.formulas[-1 if is_up else 0](arb(0))
    return Far(slope.fmpq() * z.slope, slope * z.offset + value) if slope.is_exact() else None


def polynomial(z: Far, knots: tuple[Rational, ...], polynomials: tuple[fmpq_poly, ...], start: Rational) -> Far | None:
    """Return a function made of polynomials between knots of what is known beyond `start`, if it ends in a line."""
    is_up = z.is_upwards(start)
    if knots:
        cut = arb(knots[-1 if is_up else 0])
        if not (z.distance(start) > cut if is_up else -z.distance(start) < cut):
            return None
    last = polynomials[-1 if is_up else 0]
    if last.degree() > 1:
        return None
    slope, offset = fmpq(last[1]), fmpq(last[0])
    return Far(slope * z.slope, arb(slope) * z.offset + arb(offset))
