"""From the integer layers of a network to its exact pieces, over all of ℝ or an interval.

In: layers whose parameters are integers over powers of two. Out: `Pieces`, one for each output.
Guaranteed: every knot, slope and offset is exact. Floats only tell signs, with a rigorous bound of their error.

How. A layer's units are functions `(A·t + B) / 2^s` of the input `t` with integers `A`, `B` that change at knots. A
vector of such functions is kept as its leftmost pieces and the *changes* of `A` and `B` at each knot (`Lines`), because
a knot made by one unit changes only that unit. A linear layer maps changes to changes: by one integer matrix product
for the knots of earlier layers, and a multiple of one column of weights for each knot of the last one. An activation
looks at the signs of `z - threshold` at all knots and puts a new knot wherever the sign flips strictly between two
neighbours. The signs are those of the network's floats at the knots (`near_values`) where these are further from the
threshold than their error; the others are signs of `A·p + B·q - threshold·q` at `p/q`: integers again. So the pieces
of a unit are added up from its changes only where it bends or is in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from suffice.numbers.exact import Rational
from suffice.shapes.activations import Activation
from suffice.shapes.limbs import Limbs, concatenate, interleaved, scattered
from suffice.shapes.near_values import FloatLayer, Near, near_values
from suffice.shapes.parameters import as_integers, as_whole
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import PieceBudget

Integers = NDArray[Any]  # object arrays of integers of Python or flint


@dataclass(frozen=True, slots=True)
class IntegerLayer:
    """`z = weights / 2^weight_scale · h + biases / 2^bias_scale`, then an activation."""

    weights: Integers
    weight_scale: int
    biases: Integers
    bias_scale: int
    activation: Activation


class Changes(NamedTuple):
    """What single units do at knots: the piece `(A, B)` of a unit changes by so much."""

    knots: NDArray[np.int64]
    units: NDArray[np.int64]
    rises: Limbs
    shifts: Limbs


_NO_CHANGES = Changes(np.zeros(0, np.int64), np.zeros(0, np.int64), Limbs.zeros(0), Limbs.zeros(0))


@dataclass(frozen=True, slots=True)
class Lines:
    """Units as functions of the input: leftmost pieces, and their changes at knots.

    `rises` and `shifts` have a column for each knot listed in `inner`; the other knots have `changes`.
    """

    knots: list[Rational]
    scale: int  # every integer is to be divided by 2^scale
    slopes: Limbs  # (units,)
    offsets: Limbs  # (units,)
    inner: NDArray[np.int64]
    rises: Limbs  # (units, len(inner))
    shifts: Limbs  # (units, len(inner))
    changes: Changes

    @property
    def units(self) -> int:
        """How many units there are."""
        return self.slopes.shape[0]


def tabulate(layers: Sequence[IntegerLayer], skips: Mapping[int, int], budget: PieceBudget) -> Lines:
    """Return the exact outputs of a network."""
    one, none = Limbs.of(np.array([1], dtype=object)), Limbs.zeros(1)
    lines = Lines([], 0, one, none, np.zeros(0, np.int64), Limbs.zeros(1, 0), Limbs.zeros(1, 0), _NO_CHANGES)
    outputs = [lines]
    floats = [FloatLayer.of(layer) for layer in layers]
    for number, layer in enumerate(layers, start=1):
        near = None if layer.activation.is_identity else near_values(floats[:number], skips, lines.knots)
        lines = _activate(propagate(lines, layer), layer.activation, budget.low, budget.high, near)
        budget.check(len(lines.knots) + 1, number)
        if number in skips:
            lines = _add(lines, outputs[skips[number]])
        outputs.append(lines)
    return lines


def propagate(lines: Lines, layer: IntegerLayer) -> Lines:
    """Apply the linear part of a layer; afterwards every knot has a column."""
    weights, knots, changes = Limbs.of(layer.weights), len(lines.knots), lines.changes
    product = weights @ concatenate([lines.slopes[:, None], lines.rises, lines.offsets[:, None], lines.shifts])
    half = product.shape[1] // 2
    columns = weights[:, changes.units]
    rises = interleaved(product[:, 1:half], lines.inner, columns * changes.rises, changes.knots, knots)
    shifts = interleaved(product[:, half + 1 :], lines.inner, columns * changes.shifts, changes.knots, knots)
    # Biases, thresholds and offsets must be integers on the new scale; where they are not, refine it.
    scale = lines.scale + layer.weight_scale
    finer = max(layer.bias_scale, *(as_integers(part)[1] for part in _constants(layer.activation)), scale) - scale
    scale += finer
    slopes, offsets, rises, shifts = (one << finer for one in (product[:, 0], product[:, half], rises, shifts))
    offsets = offsets + (Limbs.of(layer.biases) << (scale - layer.bias_scale))
    return Lines(lines.knots, scale, slopes, offsets, np.arange(knots), rises, shifts, _NO_CHANGES)


def _activate(
    lines: Lines, activation: Activation, low: Rational | None, high: Rational | None, near: Near | None
) -> Lines:
    """Apply an activation to lines that have a column for every knot, between two ends (None: without end)."""
    if activation.is_identity:
        return lines
    added = _Added(lines)
    thresholds = [_exactly(threshold, lines.scale) for threshold in activation.thresholds]
    each = zip(activation.thresholds, thresholds, strict=True)
    signs = np.array([_signs(lines, added, rough, exact, (low, high), near) for rough, exact in each], dtype=np.int8)
    units, pieces = lines.units, len(lines.knots) + 1
    signs = signs.reshape(len(thresholds), units, pieces + 1)
    before, after = signs[:, :, :-1], signs[:, :, 1:]  # at the two ends of each piece
    starts = np.where(before != 0, before, after)  # just inside its left end; 0 only where z is the threshold itself
    ends = np.where(after != 0, after, before)

    slopes, slope_scale = as_whole(activation.slopes)
    slopes = np.broadcast_to(slopes, (len(slopes), units))  # (zones, units)
    factor = [[fmpz(one) for one in zone] for zone in slopes.tolist()]
    offsets = [_exactly(offset, lines.scale + slope_scale) for offset in activation.offsets.tolist()]

    # The zone of each piece just right of its left end, and just left of its right end; they differ only where a
    # threshold is crossed inside. Where the two sides of a knot are in one zone, the change is a multiple of what it
    # was; where they are not, it is made anew of the pieces on both sides.
    zones, last_zones = ((side >= 0).sum(axis=0) for side in (starts, ends))
    here, there = last_zones[:, :-1], zones[:, 1:]
    is_same = here == there
    factors = np.where(is_same, _chosen(slopes, here), 0)
    rises, shifts = _scaled(factors, lines.rises, lines.shifts)
    anew = []
    units_anew, knots_anew = np.nonzero(~is_same)
    both = zip(added.pieces(units_anew, knots_anew), added.pieces(units_anew, knots_anew + 1), strict=True)
    for unit, knot, ((rise, shift), (next_rise, next_shift)) in zip(
        units_anew.tolist(), knots_anew.tolist(), both, strict=True
    ):
        left, right = factor[here[unit, knot]][unit], factor[there[unit, knot]][unit]
        step = offsets[there[unit, knot]] - offsets[here[unit, knot]]
        anew.append((unit, knot, right * next_rise - left * rise, right * next_shift - left * shift + step))
    rises, shifts = _with_entries(rises, anew, 2), _with_entries(shifts, anew, 3)

    crossings = []
    crossed = np.nonzero(before * after < 0)
    each_place = zip(*(one.tolist() for one in crossed), strict=True)
    for (r, unit, piece), (rise, shift) in zip(each_place, added.pieces(*crossed[1:]), strict=True):
        crossing = fmpq(thresholds[r] - shift, rise)
        step = factor[r + 1][unit] - factor[r][unit]
        rise, shift = step * rise, step * shift + offsets[r + 1] - offsets[r]
        is_upward = after[r, unit, piece] > 0
        crossings.append((piece, crossing, unit, rise if is_upward else -rise, shift if is_upward else -shift))
    knots, inner, changes = _insert(lines.knots, crossings)
    first = Limbs.of(slopes[zones[:, 0], np.arange(units)])
    start = Limbs.of(_integers([offsets[zone] for zone in zones[:, 0].tolist()]))
    return Lines(
        knots,
        lines.scale + slope_scale,
        first * lines.slopes,
        first * lines.offsets + start,
        inner,
        rises,
        shifts,
        changes,
    )


def _chosen(slopes: Integers, zones: NDArray[np.int64]) -> Integers:
    """Return the slope of each unit in each of its zones."""
    found = np.broadcast_to(slopes[0][:, None], zones.shape)
    for zone in range(1, len(slopes)):
        found = np.where(zones == zone, slopes[zone][:, None], found)
    return found


def _scaled(factors: Integers, *arrays: Limbs) -> tuple[Limbs, ...]:
    """Return the products; most factors are 0 or 1."""
    is_kept = (factors != 0).astype(bool)
    if ((factors == 1) == is_kept).all():
        return tuple(one.only(is_kept) for one in arrays)
    scale = Limbs.of(factors)
    return tuple(one * scale for one in arrays)


def _with_entries(array: Limbs, entries: Sequence[tuple[Any, ...]], field: int) -> Limbs:
    """Return an array with integers added at (unit, knot), the first two of each entry."""
    if not entries:
        return array
    more = Limbs.of(_integers([one[field] for one in entries]))
    found = np.zeros((len(more.digits), *array.shape), np.int64)
    found[:, [one[0] for one in entries], [one[1] for one in entries]] = more.digits
    return array + Limbs(found)


class _Added:
    """The pieces of units, added up from their changes where somebody asks."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def pieces(self, units: NDArray[np.int64], pieces: NDArray[np.int64]) -> list[tuple[fmpz, fmpz]]:
        """Return `A` and `B` of some units, each between two knots."""
        if not len(units):
            return []
        chosen, rows = np.unique(units, return_inverse=True)
        both = (self.lines.slopes, self.lines.rises), (self.lines.offsets, self.lines.shifts)
        rises, shifts = (
            Limbs(concatenate([first[chosen, None], more[chosen]]).digits.cumsum(axis=-1)[:, rows, pieces])
            for first, more in both
        )
        return list(zip(rises.integers(), shifts.integers(), strict=True))

    def last(self) -> tuple[Limbs, Limbs]:
        """Return `A` and `B` of all units after the last knot."""
        lines = self.lines
        return lines.slopes + lines.rises.sum(), lines.offsets + lines.shifts.sum()


def _signs(
    lines: Lines,
    added: _Added,
    rough: float,
    threshold: fmpz,
    ends: tuple[Rational | None, Rational | None],
    near: Near | None,
) -> NDArray[np.int8]:
    """Return the signs of `A·t + B - threshold` for each unit at the lower end, at each knot, at the upper end.

    An end of None is infinite. Knots are strictly between ends, for new ones are put only where a sign flips strictly.
    """
    units, knots = lines.units, lines.knots
    found = np.zeros((units, len(knots) + 2), np.int8)
    is_open = np.ones((units, len(knots)), bool)
    if near is not None:
        with np.errstate(invalid="ignore", over="ignore"):
            away = near.values - rough
            # The difference is off by 2^-53 of itself, and its bound by less than the added share of it.
            is_open = ~(np.abs(away) > near.errors * (1 + 2.0**-20) + (np.abs(near.values) + abs(rough)) * 2.0**-51)
        found[:, 1:-1] = np.where(is_open, 0, np.sign(np.where(is_open, 0.0, away)))
    open_units, open_knots = np.nonzero(is_open)
    # The functions are continuous: the piece right of a knot gives its value.
    beside = zip(open_units.tolist(), open_knots.tolist(), added.pieces(open_units, open_knots + 1), strict=True)
    for unit, knot, (rise, shift) in beside:
        found[unit, knot + 1] = _sign(rise * knots[knot].p + (shift - threshold) * knots[knot].q)
    first, last = (lines.slopes, lines.offsets), added.last()
    for column, way, (rises, shifts), end in ((0, -1, first, ends[0]), (-1, 1, last, ends[1])):
        less = shifts + Limbs.of(_integers([-threshold] * units))
        if end is None:
            signs = rises.signs()
            found[:, column] = np.where(signs != 0, way * signs, less.signs())
        else:
            scaled = (Limbs.of(_integers([one] * units)) for one in (end.p, end.q))
            by_rise, by_shift = scaled
            found[:, column] = (rises * by_rise + less * by_shift).signs()
    return found


def _sign(value: fmpz) -> int:
    return 1 if value > 0 else -1 if value < 0 else 0


def _insert(
    old: Sequence[Rational], crossings: list[tuple[int, Rational, int, fmpz, fmpz]]
) -> tuple[list[Rational], NDArray[np.int64], Changes]:
    """Merge crossings into the knots: all knots, the new places of the old ones, the changes at the crossings."""
    knots: list[Rational] = []
    inner: list[int] = []
    places: list[int] = []
    crossings.sort(key=lambda crossing: crossing[:3])  # piece by piece, there by place
    for piece, at, *_ in crossings:
        while len(inner) < piece:
            inner.append(len(knots))
            knots.append(old[len(inner) - 1])
        if not (knots and knots[-1] == at):  # two units may cross at the same place
            knots.append(at)
        places.append(len(knots) - 1)
    while len(inner) < len(old):
        inner.append(len(knots))
        knots.append(old[len(inner) - 1])
    units = np.array([one[2] for one in crossings], dtype=np.int64)
    rises, shifts = (Limbs.of(_integers([one[k] for one in crossings])) for k in (3, 4))
    changes = Changes(np.array(places, dtype=np.int64), units, rises, shifts) if crossings else _NO_CHANGES
    return knots, np.array(inner, dtype=np.int64), changes


def _add(lines: Lines, earlier: Lines) -> Lines:
    """Add the output of an earlier layer, whose knots are among those of the later one."""
    place = {knot: k for k, knot in enumerate(lines.knots)}
    columns = np.array([place[knot] for knot in earlier.knots], dtype=np.int64)
    scale, count = max(lines.scale, earlier.scale), len(lines.knots)
    total, other = _spread(lines), _spread(earlier)
    later, before = scale - lines.scale, scale - earlier.scale
    rises, shifts = (
        (one << later) + scattered(more << before, columns, count) for one, more in zip(total, other, strict=True)
    )
    slopes = (lines.slopes << later) + (earlier.slopes << before)
    offsets = (lines.offsets << later) + (earlier.offsets << before)
    return Lines(lines.knots, scale, slopes, offsets, np.arange(count), rises, shifts, _NO_CHANGES)


def _spread(lines: Lines) -> tuple[Limbs, Limbs]:
    """Return rises and shifts with a column for every knot."""
    count, changes = len(lines.knots), lines.changes
    found = []
    for columns, single in ((lines.rises, changes.rises), (lines.shifts, changes.shifts)):
        more = np.zeros((len(single.digits), lines.units, count), np.int64)
        more[:, changes.units, changes.knots] = single.digits  # a unit changes once at a knot
        found.append(scattered(columns, lines.inner, count) + Limbs(more))
    rises, shifts = found
    return rises, shifts


def to_pieces(lines: Lines) -> tuple[Pieces, ...]:
    """Return each unit as pieces, with the knots where it changes."""
    rises, shifts = _spread(lines)
    one = fmpz(1) << lines.scale
    pieces = []
    for unit in range(lines.units):
        kept = np.flatnonzero((rises[unit].signs() != 0) | (shifts[unit].signs() != 0))
        knots = [lines.knots[k] for k in kept]
        each = ((lines.slopes, rises), (lines.offsets, shifts))
        slopes, offsets = (
            [fmpq(a, one) for a in accumulate(concatenate([first[unit : unit + 1], rest[unit, kept]]).integers())]
            for first, rest in each
        )
        values = [slope * knot + offset for slope, knot, offset in zip(slopes, knots, offsets, strict=False)]
        pieces.append(Pieces(tuple(knots), tuple(slopes), tuple(offsets), tuple(values)))
        pieces[-1].__dict__["has_no_jumps"] = True  # activations are continuous
    return tuple(pieces)


def _constants(activation: Activation) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.array(activation.thresholds), activation.offsets


def _exactly(value: float, scale: int) -> fmpz:
    """Return the integer `value * 2^scale`."""
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator << scale, denominator)
    assert rest == 0
    return fmpz(whole)


def _integers(entries: Sequence[Any]) -> Integers:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array
