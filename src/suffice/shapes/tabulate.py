"""From the integer layers of a network to its exact pieces, over all of ℝ or an interval.

In: layers whose parameters are integers over powers of two. Out: `Pieces`, one for each output.
Guaranteed: every knot, slope and offset is exact; there is no float and no tolerance in this file.

How. A layer's units are functions `(A·t + B) / 2^s` of the input `t` with integers `A`, `B` that change at knots. A
vector of such functions is kept as its leftmost pieces and the *changes* of `A` and `B` at each knot (`Lines`), because
a knot made by one unit changes only that unit. A linear layer maps changes to changes: by one integer matrix product
for the knots of earlier layers, and a multiple of one column of weights for each knot of the last one. An activation
looks at the signs of `z - threshold` at all knots (the sign of `A·p + B·q - threshold·q` at `p/q`: integers again) and
puts a new knot wherever the sign flips strictly between two neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from suffice.numbers.exact import Rational
from suffice.shapes.activations import Activation
from suffice.shapes.parameters import as_integers
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import PieceBudget

Integers = NDArray[Any]  # object arrays of fmpz

_NOTHING = fmpz(0)


@dataclass(frozen=True, slots=True)
class IntegerLayer:
    """`z = weights / 2^weight_scale · h + biases / 2^bias_scale`, then an activation."""

    weights: Integers
    weight_scale: int
    biases: Integers
    bias_scale: int
    activation: Activation


class Change(NamedTuple):
    """What one unit does at one knot: its piece `(A, B)` changes by so much."""

    knot: int
    unit: int
    rise: fmpz
    shift: fmpz


@dataclass(frozen=True, slots=True)
class Lines:
    """Units as functions of the input: leftmost pieces, and their changes at knots.

    `rises` and `shifts` have a column for each knot listed in `inner`; the other knots have `changes`.
    """

    knots: list[Rational]
    scale: int  # every integer is to be divided by 2^scale
    slopes: Integers  # (units,)
    offsets: Integers  # (units,)
    inner: NDArray[np.int64]
    rises: Integers  # (units, len(inner))
    shifts: Integers  # (units, len(inner))
    changes: Sequence[Change]


def tabulate(layers: Sequence[IntegerLayer], skips: Mapping[int, int], budget: PieceBudget) -> Lines:
    """Return the exact outputs of a network."""
    one, none = _integers([fmpz(1)]), _integers([_NOTHING])
    lines = Lines([], 0, one, none, np.zeros(0, np.int64), _zeros(1, 0), _zeros(1, 0), [])
    outputs = [lines]
    for number, layer in enumerate(layers, start=1):
        lines = _activate(propagate(lines, layer), layer.activation, budget.low, budget.high)
        budget.check(len(lines.knots) + 1, number)
        if number in skips:
            lines = _add(lines, outputs[skips[number]])
        outputs.append(lines)
    return lines


def propagate(lines: Lines, layer: IntegerLayer) -> Lines:
    """Apply the linear part of a layer; afterwards every knot has a column."""
    weights, units, knots = layer.weights, layer.weights.shape[0], len(lines.knots)
    columns = np.concatenate([lines.slopes[:, None], lines.rises, lines.offsets[:, None], lines.shifts], axis=1)
    product = _multiply(weights, columns)
    half = columns.shape[1] // 2
    rises, shifts = _zeros(units, knots), _zeros(units, knots)
    rises[:, lines.inner], shifts[:, lines.inner] = product[:, 1:half], product[:, half + 1 :]
    for change in lines.changes:
        column = weights[:, change.unit]
        rises[:, change.knot] += column * change.rise
        shifts[:, change.knot] += column * change.shift
    # Biases, thresholds and offsets must be integers on the new scale; where they are not, refine it.
    scale = lines.scale + layer.weight_scale
    finer = max(layer.bias_scale, *(as_integers(part)[1] for part in _constants(layer.activation)), scale) - scale
    scale += finer
    slopes, offsets, rises, shifts = (_shifted(a, finer) for a in (product[:, 0], product[:, half], rises, shifts))
    offsets = offsets + (layer.biases << (scale - layer.bias_scale))
    return Lines(lines.knots, scale, slopes, offsets, np.arange(knots), rises, shifts, [])


def _activate(lines: Lines, activation: Activation, low: Rational | None, high: Rational | None) -> Lines:
    """Apply an activation to lines that have a column for every knot, between two ends (None: without end)."""
    if activation.is_identity:
        return lines
    rises = np.cumsum(np.concatenate([lines.slopes[:, None], lines.rises], axis=1), axis=1)  # (units, pieces)
    shifts = np.cumsum(np.concatenate([lines.offsets[:, None], lines.shifts], axis=1), axis=1)
    thresholds = [_exactly(threshold, lines.scale) for threshold in activation.thresholds]
    signs = np.array(
        [_signs(lines.knots, rises, shifts, threshold, low, high) for threshold in thresholds], dtype=np.int8
    )
    signs = signs.reshape(len(thresholds), rises.shape[0], rises.shape[1] + 1)
    before, after = signs[:, :, :-1], signs[:, :, 1:]  # at the two ends of each piece
    starts = np.where(before != 0, before, after)  # just inside its left end; 0 only where z is the threshold itself
    ends = np.where(after != 0, after, before)

    slopes, slope_scale = as_integers(activation.slopes)
    slopes = np.broadcast_to(slopes, (len(slopes), rises.shape[0]))  # (zones, units)
    units = np.arange(rises.shape[0])[:, None]
    offsets = _integers([_exactly(offset, lines.scale + slope_scale) for offset in activation.offsets.tolist()])

    # Each unit's piece after the activation, just right of every knot, and just left of it. The two sides of
    # one piece differ only where a threshold is crossed inside.
    zones, last_zones = ((side >= 0).sum(axis=0) for side in (starts, ends))
    right_rises = slopes[zones, units] * rises
    right_shifts = slopes[zones, units] * shifts + offsets[zones]
    left_rises, left_shifts = right_rises.copy(), right_shifts.copy()
    for unit, piece in np.argwhere(zones != last_zones).tolist():
        slope, offset = slopes[last_zones[unit, piece], unit], offsets[last_zones[unit, piece]]
        left_rises[unit, piece] = slope * rises[unit, piece]
        left_shifts[unit, piece] = slope * shifts[unit, piece] + offset

    crossings = []
    for r, unit, piece in np.argwhere(before * after < 0).tolist():
        crossing = fmpq(thresholds[r] - shifts[unit, piece], rises[unit, piece])
        step = slopes[r + 1, unit] - slopes[r, unit]
        rise = step * rises[unit, piece]
        shift = step * shifts[unit, piece] + offsets[r + 1] - offsets[r]
        is_upward = after[r, unit, piece] > 0
        crossings.append((piece, crossing, unit, rise if is_upward else -rise, shift if is_upward else -shift))
    knots, inner, changes = _insert(lines.knots, crossings)
    return Lines(
        knots,
        lines.scale + slope_scale,
        right_rises[:, 0],
        right_shifts[:, 0],
        inner,
        right_rises[:, 1:] - left_rises[:, :-1],
        right_shifts[:, 1:] - left_shifts[:, :-1],
        changes,
    )


def _signs(
    knots: Sequence[Rational],
    rises: Integers,
    shifts: Integers,
    threshold: fmpz,
    low: Rational | None,
    high: Rational | None,
) -> NDArray[np.int8]:
    """Return the signs of `A·t + B - threshold` for each unit at the lower end, at each knot, at the upper end.

    An end of None is infinite. Knots are strictly between ends, for new ones are put only where a sign flips strictly.
    """
    numerators, denominators = _integers([knot.p for knot in knots]), _integers([knot.q for knot in knots])
    # The functions are continuous: the piece right of a knot gives the value at the knot.
    at_knots = rises[:, 1:] * numerators + (shifts[:, 1:] - threshold) * denominators
    first, last = (
        np.where(rises[:, k] != 0, sign * rises[:, k], shifts[:, k] - threshold)
        if end is None
        else rises[:, k] * end.p + (shifts[:, k] - threshold) * end.q
        for k, sign, end in ((0, -1, low), (-1, 1, high))
    )
    values = np.concatenate([first[:, None], at_knots, last[:, None]], axis=1)
    return (values > 0).astype(np.int8) - (values < 0).astype(np.int8)


def _insert(
    old: Sequence[Rational], crossings: list[tuple[int, Rational, int, fmpz, fmpz]]
) -> tuple[list[Rational], NDArray[np.int64], list[Change]]:
    """Merge crossings into the knots: all knots, the new places of the old ones, the changes at the crossings."""
    knots: list[Rational] = []
    inner: list[int] = []
    changes: list[Change] = []
    crossings.sort(key=lambda crossing: crossing[:3])  # piece by piece, there by place
    for piece, at, unit, rise, shift in crossings:
        while len(inner) < piece:
            inner.append(len(knots))
            knots.append(old[len(inner) - 1])
        if not (knots and knots[-1] == at):  # two units may cross at the same place
            knots.append(at)
        changes.append(Change(len(knots) - 1, unit, rise, shift))
    while len(inner) < len(old):
        inner.append(len(knots))
        knots.append(old[len(inner) - 1])
    return knots, np.array(inner, dtype=np.int64), changes


def _add(lines: Lines, earlier: Lines) -> Lines:
    """Add the output of an earlier layer, whose knots are among those of the later one."""
    place = {knot: k for k, knot in enumerate(lines.knots)}
    columns = [place[knot] for knot in earlier.knots]
    scale = max(lines.scale, earlier.scale)
    total, other = _spread(lines), _spread(earlier)
    later, before = scale - lines.scale, scale - earlier.scale
    rises, shifts = (_shifted(part, later) for part in total)
    rises[:, columns] += _shifted(other[0], before)
    shifts[:, columns] += _shifted(other[1], before)
    slopes = _shifted(lines.slopes, later) + _shifted(earlier.slopes, before)
    offsets = _shifted(lines.offsets, later) + _shifted(earlier.offsets, before)
    return Lines(lines.knots, scale, slopes, offsets, np.arange(len(lines.knots)), rises, shifts, [])


def _spread(lines: Lines) -> tuple[Integers, Integers]:
    """Return rises and shifts with a column for every knot."""
    rises, shifts = _zeros(len(lines.slopes), len(lines.knots)), _zeros(len(lines.slopes), len(lines.knots))
    rises[:, lines.inner], shifts[:, lines.inner] = lines.rises, lines.shifts
    for change in lines.changes:
        rises[change.unit, change.knot] += change.rise
        shifts[change.unit, change.knot] += change.shift
    return rises, shifts


def to_pieces(lines: Lines) -> tuple[Pieces, ...]:
    """Return each unit as pieces, with the knots where it changes."""
    rises, shifts = _spread(lines)
    one = fmpz(1) << lines.scale
    pieces = []
    for unit in range(len(lines.slopes)):
        kept = np.flatnonzero((rises[unit] != 0) | (shifts[unit] != 0))
        knots = [lines.knots[k] for k in kept]
        slopes = [fmpq(a, one) for a in np.cumsum(_integers([lines.slopes[unit], *rises[unit, kept]]))]
        offsets = [fmpq(b, one) for b in np.cumsum(_integers([lines.offsets[unit], *shifts[unit, kept]]))]
        values = [slope * knot + offset for slope, knot, offset in zip(slopes, knots, offsets, strict=False)]
        pieces.append(Pieces(tuple(knots), tuple(slopes), tuple(offsets), tuple(values)))
    return tuple(pieces)


def _constants(activation: Activation) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array(activation.thresholds), activation.offsets


def _exactly(value: float, scale: int) -> fmpz:
    """Return the integer `value * 2^scale`."""
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator << scale, denominator)
    assert rest == 0
    return fmpz(whole)


def _multiply(left: Integers, right: Integers) -> Integers:
    (rows, inner), columns = left.shape, right.shape[1]
    product = fmpz_mat(rows, inner, left.ravel().tolist()) * fmpz_mat(inner, columns, right.ravel().tolist())
    return _integers(product.entries()).reshape(rows, columns)


def _shifted(array: Integers, bits: int) -> Integers:
    return array << bits if bits else array


def _integers(entries: Sequence[fmpz]) -> Integers:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


def _zeros(rows: int, columns: int) -> Integers:
    return np.full((rows, columns), _NOTHING, dtype=object)
