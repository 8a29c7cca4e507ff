"""Networks with smooth activations in floats: balls of a middle and a radius, rounded outwards in compiled loops.

In: the layers of a network, and the Taylor coefficients of its input at the middle of a cell and over it. Out: those of
its output; NaN or infinite where nothing is known.
Guaranteed: the number meant lies within the radius of the middle. `docs/smooth-floats.md` derives each bound. Every sum
has one order, and rows and cells do not touch each other: the same input gives the same bits on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from suffice.numbers.compiling import compiled, has_compiler
from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.twofold import Floats
from suffice.shapes.activations import Activation
from suffice.shapes.float_tables import BINS, DEGREE, FARTHEST, TINY, UNIT, FloatTable, float_table
from suffice.shapes.smooth_functions import SmoothFunction

FLOAT_PRECISION = 72  # working precisions of flint up to this one are left to floats, where these can
_MOST_UNITS = 4_000  # of a layer: sums of more terms may need more than `OUTWARD`
OUTWARD = 1.0 + 2.0**-40  # covers the rounding of a radius itself
_WIDE = FARTHEST * BINS


Readout: TypeAlias = tuple[Floats, Floats]


class Packed(NamedTuple):
    """A network as the compiled loops take it."""

    weights: Floats  # of all layers, one after the other, each unit's input after the other
    biases: Floats
    sizes: NDArray[np.int64]  # units of the input and of each layer
    functions: NDArray[np.int64]  # which table follows each layer; -1 for none
    skips: NDArray[np.int64]  # for each layer the earlier one that is added to it; -1 for none
    polynomials: Floats  # of all tables, as `FloatTable` has them
    errors: Floats
    lows: Floats
    highs: Floats
    sizes_over: Floats
    smoothness: NDArray[np.int64]


class FloatNetwork:
    """The layers of a network, in floats.

    Parameters
    ----------
    weights, biases, activations, skips
        As a `SmoothNetwork` has them; `None` in place of a bias of zeros.
    """

    def __init__(
        self,
        weights: Sequence[NDArray[Any]],
        biases: Sequence[NDArray[Any] | None],
        activations: Sequence[Activation | SmoothFunction],
        skips: Mapping[int, int],
    ) -> None:
        self._given = weights, biases, activations, skips

    @cached_property
    def packed(self) -> Packed | None:
        """The network, packed; None where floats are of no use."""
        weights, biases, activations, skips = self._given
        if not has_compiler() or max(one.shape[0] for one in weights) > _MOST_UNITS:
            return None
        tables: dict[SmoothFunction, FloatTable] = {}
        functions = []
        for one in activations:
            if isinstance(one, Activation):
                if not one.is_identity:
                    return None
                functions.append(-1)
                continue
            table = float_table(one)
            if table is None:
                return None
            tables.setdefault(one, table)
            functions.append(list(tables).index(one))
        each = list(tables.values())
        zeros = (np.zeros(len(weight)) if bias is None else bias for weight, bias in zip(weights, biases, strict=True))
        return Packed(
            np.concatenate([np.ascontiguousarray(one.T, dtype=float).ravel() for one in weights]),
            np.concatenate([np.asarray(one, dtype=float) for one in zeros]),
            np.array([1, *(len(one) for one in weights)]),
            np.array(functions),
            np.array([skips.get(k, -1) for k in range(1, len(weights) + 1)]),
            np.array([one.polynomials for one in each]),
            np.array([one.errors for one in each]),
            np.array([one.lows for one in each]),
            np.array([one.highs for one in each]),
            np.array([one.sizes for one in each]),
            np.array([one.smoothness for one in each]),
        )

    def jet(
        self, middle: Sequence[arb], cell: Sequence[arb], half: arb, readout: Readout
    ) -> tuple[list[arb], list[arb]] | None:
        """Return the coefficients of a combination of outputs, at the middle and over the cell; None if not known."""
        if self.packed is None:
            return None
        start = _floats([*middle, *cell])
        found = _forward(self.packed, *start, _up(half), *readout)
        balls = _balls(found)
        # Over a cell higher coefficients may be unknown; at its middle nothing may.
        if not all(one.is_finite() for one in (*balls[: len(middle)], balls[len(middle)])):
            return None
        return balls[: len(middle)], balls[len(middle) :]

    def value(self, at: arb, readout: Readout) -> arb | None:
        """Return the value of a combination of outputs over a ball; None if it is not known."""
        if self.packed is None:
            return None
        start = _floats([at])
        (ball,) = _balls(_forward(self.packed, *start, 0.0, *readout))
        return ball if ball.is_finite() else None


def read_by(readout: Sequence[Rational]) -> Readout:
    """Return factors of outputs as floats, and what these are off by."""
    near = np.array([nearest_float(one) for one in readout])
    is_exact = [math.isfinite(a) and arb(a) == arb(b) for a, b in zip(near.tolist(), readout, strict=True)]
    return near, np.where(is_exact, 0.0, np.abs(near) * 2 * UNIT + TINY)


def _floats(balls: Sequence[arb]) -> tuple[Floats, Floats]:
    """Return balls as middles and radii in floats."""
    middles = np.array([float(one.mid()) for one in balls])  # off by less than its last place
    radii = np.array([float(one.rad()) for one in balls])
    return middles, (radii + np.abs(middles) * 2 * UNIT) * OUTWARD + TINY


def _balls(found: Floats) -> list[arb]:
    each = zip(found[0].tolist(), found[1].tolist(), strict=True)
    return [arb(m, r) if math.isfinite(m) and math.isfinite(r) else arb.nan() for m, r in each]


def _up(number: arb) -> float:
    return float(number.upper()) * OUTWARD + TINY


# --- compiled ---------------------------------------------------------------------------------------------------------


@compiled
def _times(am: float, ar: float, bm: float, br: float) -> tuple[float, float]:
    """Multiply two balls."""
    m = am * bm
    return m, (abs(am) * br + ar * (abs(bm) + br) + abs(m) * UNIT) * OUTWARD + TINY


@compiled
def _plus(am: float, ar: float, bm: float, br: float) -> tuple[float, float]:
    """Add two balls."""
    m = am + bm
    return m, (ar + br + abs(m) * UNIT) * OUTWARD + TINY


@compiled
def _bins(m: float, r: float) -> tuple[int, int, int]:
    """Return the first and the last bin of a ball and that of its middle; -1 where it is out of the table, or NaN."""
    low, high = m - r, m + r
    low -= abs(low) * 2 * UNIT + TINY
    high += abs(high) * 2 * UNIT + TINY
    if not (low > -FARTHEST and high < FARTHEST):
        return -1, -1, -1
    first, last = math.floor(low * BINS), math.ceil(high * BINS) - 1  # multiplied exactly
    here = min(max(math.floor(m * BINS), first), last)
    return first + _WIDE, last + _WIDE, here + _WIDE


@compiled
def _function(net: Packed, f: int, m: float, r: float, terms: int, out: Any) -> None:
    """Write the first coefficients of a tabulated function over a ball: middles, then radii."""
    first, last, here = _bins(m, r)
    if first < 0:
        for k in range(terms):
            out[0, k], out[1, k] = 0.0, np.inf
        return
    is_cut = first < _WIDE <= last
    t = m - (here - _WIDE + 0.5) / BINS
    start = 0
    for k in range(terms):
        end = start + DEGREE + 1 - k
        middle = net.polynomials[f, here, end - 1]
        for i in range(end - 2, start - 1, -1):
            middle = middle * t + net.polynomials[f, here, i]
        start = end
        low, high, size = net.lows[f, first, k], net.highs[f, first, k], net.sizes_over[f, first, k + 1]
        for b in range(first + 1, last + 1):
            low, high = min(low, net.lows[f, b, k]), max(high, net.highs[f, b, k])
            size = max(size, net.sizes_over[f, b, k + 1])
        radius = (net.errors[f, here, k] + (k + 1) * size * r) * OUTWARD + TINY
        wide = (high - low) * 0.5 * OUTWARD + TINY
        if is_cut and k > net.smoothness[f] + 1:
            middle, radius = 0.0, np.inf  # there is no such derivative where both sides meet
        elif wide < radius or (is_cut and k > net.smoothness[f]):
            middle = low * 0.5 + high * 0.5
            radius = (wide + (abs(low) + abs(high)) * 2 * UNIT) * OUTWARD
        out[0, k], out[1, k] = middle, radius


@compiled
def _cut_down(middles: Any, radii: Any, i: int, half: float) -> None:
    """Make what is known of a unit over a cell no wider than the mean value theorem allows."""
    for k in range(2, -1, -1):
        near = (radii[k, i] + (k + 1) * half * (abs(middles[k + 5, i]) + radii[k + 5, i])) * OUTWARD + TINY
        if near == near and not radii[k + 4, i] <= near:
            middles[k + 4, i], radii[k + 4, i] = middles[k, i], near


@compiled
def _chained(g: Any, middles: Any, radii: Any, i: int, o: int) -> None:
    """Put a function behind what a unit has, in place."""
    z1, s1, z2, s2 = middles[o + 1, i], radii[o + 1, i], middles[o + 2, i], radii[o + 2, i]
    square, off = _times(z1, s1, z1, s1)
    middles[o, i], radii[o, i] = g[0, 0], g[1, 0]
    middles[o + 1, i], radii[o + 1, i] = _times(g[0, 1], g[1, 1], z1, s1)
    am, ar = _times(g[0, 1], g[1, 1], z2, s2)
    bm, br = _times(g[0, 2], g[1, 2], square, off)
    middles[o + 2, i], radii[o + 2, i] = _plus(am, ar, bm, br)
    am, ar = _times(g[0, 1], g[1, 1], middles[o + 3, i], radii[o + 3, i])
    bm, br = _times(z1, s1, z2, s2)
    bm, br = _times(2.0 * g[0, 2], 2.0 * g[1, 2], bm, br)
    am, ar = _plus(am, ar, bm, br)
    bm, br = _times(square, off, z1, s1)
    bm, br = _times(g[0, 3], g[1, 3], bm, br)
    middles[o + 3, i], radii[o + 3, i] = _plus(am, ar, bm, br)


@compiled
def _sums(
    weights: Any, first: int, biases: Any, first_bias: int, inputs: Any, spans: Any, out_m: Any, out_r: Any
) -> None:
    """Multiply columns by weights and add biases; a column is that of all units."""
    columns, count, units = inputs.shape[0], inputs.shape[1], out_m.shape[1]
    rounding = (count + 3) * UNIT
    for c in range(columns):
        for i in range(units):
            offset = biases[first_bias + i] if c % 4 == 0 else 0.0
            out_m[c, i], out_r[c, i] = offset, abs(offset) * rounding
        for k in range(count):
            x = inputs[c, k]
            off = spans[c, k] + rounding * abs(x)
            start = first + k * units
            for i in range(units):
                w = weights[start + i]
                out_m[c, i] += w * x
                out_r[c, i] += abs(w) * off
        for i in range(units):
            out_r[c, i] = out_r[c, i] * OUTWARD + TINY


@compiled
def _forward(net: Packed, start_m: Any, start_r: Any, half: float, factors: Any, off: Any) -> Any:
    """Return a combination of the outputs of a network: middles and radii of one column, or of eight."""
    count, most, columns = len(net.sizes) - 1, net.sizes.max(), len(start_m)
    middles, radii = np.zeros((count + 1, columns, most)), np.zeros((count + 1, columns, most))
    middles[0, :, 0], radii[0, :, 0] = start_m, start_r
    g = np.empty((2, 4))
    first_weight, first_bias = 0, 0
    for layer in range(count):
        ins, units, f = net.sizes[layer], net.sizes[layer + 1], net.functions[layer]
        ms, rs = middles[layer + 1, :, :units], radii[layer + 1, :, :units]
        before = middles[layer, :, :ins], radii[layer, :, :ins]
        _sums(net.weights, first_weight, net.biases, first_bias, before[0], before[1], ms, rs)
        first_weight, first_bias = first_weight + ins * units, first_bias + units
        if f >= 0 and columns == 8:
            for i in range(units):
                _cut_down(ms, rs, i, half)
                for o in range(0, 8, 4):
                    _function(net, f, ms[o, i], rs[o, i], 4, g)
                    _chained(g, ms, rs, i, o)
                _cut_down(ms, rs, i, half)
        elif f >= 0:
            for i in range(units):
                _function(net, f, ms[0, i], rs[0, i], 1, g)
                ms[0, i], rs[0, i] = g[0, 0], g[1, 0]
        back = net.skips[layer]
        if back >= 0:
            for c in range(columns):
                for i in range(units):
                    ms[c, i], rs[c, i] = _plus(ms[c, i], rs[c, i], middles[back, c, i], radii[back, c, i])
    found = np.zeros((2, columns))
    rounding = (len(factors) + 3) * UNIT
    for c in range(columns):
        for i in range(len(factors)):
            m, r = middles[count, c, i], radii[count, c, i]
            found[0, c] += factors[i] * m
            found[1, c] += abs(factors[i]) * (r + rounding * abs(m)) + off[i] * (abs(m) + r)
        found[1, c] = found[1, c] * OUTWARD + TINY
    return found
