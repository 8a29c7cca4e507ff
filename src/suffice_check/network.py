"""The pieces of a network of one input with piecewise-linear activations, computed layer by layer.

Between its bends every unit is a line `(slope · t + offset) / 2^scale` in integers, for all parameters are binary
fractions. Lines and changes of slope at bends add up as layers say; an activation is affine between thresholds, so a
unit bends further only where its line crosses one. Units are continuous: a change of slope tells the change of offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import add, itemgetter, mul
from typing import NamedTuple

from suffice_check.exponential import exp_bounds, nearest
from suffice_check.reading import UnreadableError
from suffice_check.shapes import Line, NoValueError, Outputs, Pieces

FLOATS = {"F16": ("e", 2, 11, -24, 16), "F32": ("f", 4, 24, -149, 128), "F64": ("d", 8, 53, -1074, 1024)}
MOST_BENDS = 2**22
Bends = tuple[Fraction, dict[int, int]]  # where, and by how much the slope of each unit changes
Bend = tuple[tuple[int, int], int, dict[int, int]]  # of one unit, and where its change after activation goes


class Tensor(NamedTuple):
    """An array of binary floats."""

    kind: str
    shape: tuple[int, ...]
    entries: tuple[float, ...]

    def rows(self) -> list[tuple[float, ...]]:
        """Return the rows of an array of two dimensions."""
        rows, columns = self.shape
        return [self.entries[k * columns : (k + 1) * columns] for k in range(rows)]


class Dyadic(NamedTuple):
    """Numbers `integers / 2^scale`."""

    integers: list[int]
    scale: int

    @classmethod
    def of(cls, numbers: Sequence[float | Fraction]) -> Dyadic:
        """Return binary fractions over their common power of two."""
        ratios = [number.as_integer_ratio() for number in numbers]
        below = {q for _, q in ratios}
        if any(q & (q - 1) for q in below):
            raise ValueError("parameters of a network must be binary fractions")
        largest = max(below, default=1)
        factors = {q: largest // q for q in below}
        return cls([p * factors[q] for p, q in ratios], largest.bit_length() - 1)

    def over(self, scale: int) -> list[int]:
        """Return the numbers as integers over another 2^scale, which is not smaller."""
        return [number << (scale - self.scale) for number in self.integers]


class Activation:
    """Continuous and affine between thresholds: `slopes[q] · y + offsets[q]` above exactly q thresholds."""

    def __init__(self, thresholds: list[Fraction], slopes: list[list[Fraction]], offsets: list[Fraction]) -> None:
        zones = len(thresholds) + 1
        if len(slopes) != zones or len(offsets) != zones or len({len(row) for row in slopes}) != 1 or not slopes[0]:
            raise ValueError("an activation needs slopes and offsets for each zone")
        for q, threshold in enumerate(thresholds):
            if q and thresholds[q - 1] >= threshold:
                raise ValueError("the thresholds of an activation must increase")
            for low, high in zip(slopes[q], slopes[q + 1], strict=True):
                if (high - low) * threshold + offsets[q + 1] - offsets[q] != 0:
                    raise ValueError("an activation must be continuous")
        self.units, self.zones = len(slopes[0]), zones
        self.thresholds, self.offsets = Dyadic.of(thresholds), Dyadic.of(offsets)
        self.slopes = Dyadic.of([slope for column in zip(*slopes, strict=True) for slope in column])  # unit by unit

    def of_unit(self, unit: int) -> list[int]:
        """Return the slopes of a unit, zone by zone."""
        first = unit % self.units * self.zones
        return self.slopes.integers[first : first + self.zones]


IDENTITY = Activation([], [[Fraction(1)]], [Fraction(0)])


class Layer(NamedTuple):
    """`y = weights · h + biases`, then an activation."""

    weights: list[list[int]]
    scale: int  # of the weights
    biases: Dyadic
    activation: Activation


class Bundle(NamedTuple):
    """Units as functions: their lines before all bends, and what slopes change by at each bend, by unit."""

    slopes: list[int]
    offsets: list[int]
    bends: list[Bends]
    scale: int

    def over(self, scale: int) -> Bundle:
        """Return the same with integers over another 2^scale, which is not smaller."""
        by = scale - self.scale
        if not by:
            return self
        bends = [(t, {unit: change << by for unit, change in changes.items()}) for t, changes in self.bends]
        return Bundle([a << by for a in self.slopes], [b << by for b in self.offsets], bends, scale)


class Network:
    """A network of one input; a skip adds the outputs of an earlier layer to those of a later one."""

    def __init__(self, layers: list[Layer], skips: dict[int, int]) -> None:
        widths = [1, *(len(layer.weights) for layer in layers)]
        if any(len(row) != width for layer, width in zip(layers, widths, strict=False) for row in layer.weights):
            raise ValueError("the layers of a network do not fit together")
        for to, source in skips.items():
            if not 0 <= source < to <= len(layers) or widths[source] != widths[to]:
                raise ValueError(f"a skip from layer {source} to layer {to} does not fit")
        self.layers, self.skips, self.outputs = layers, skips, widths[-1]

    def pieces(self, low: Fraction | None, high: Fraction | None) -> Pieces:
        """Return the pieces from `low` to `high`."""
        if low is not None and low == high:
            high = low + Fraction(1, 2**20)  # an interval, so that units have lines
        bundles = [Bundle([1], [0], [], 0)]
        for number, layer in enumerate(self.layers, start=1):
            found = activate(combine(layer, bundles[-1]), layer.activation, low, high)
            if number in self.skips:
                found = plus(found, bundles[self.skips[number]])
            bundles.append(found)
        return as_pieces(bundles[-1])

    def label(self, value: str | None) -> Outputs:
        """Fail: a network has no value at a label."""
        raise NoValueError


def read_layer(
    weight: Tensor, bias: Tensor | None, activation: Activation = IDENTITY, *, is_exu: bool = False
) -> Layer:
    """Return a layer; that of exponential units is `exp(weight) · (z - bias)`."""
    if len(weight.shape) != 2 or activation.units not in (1, weight.shape[0]):
        raise ValueError("the weights of a layer are no matrix, or its activation is for other units")
    units, columns = weight.shape
    entries: Sequence[float | Fraction] = weight.entries
    biases: Sequence[float | Fraction] = bias.entries if bias else (0.0,) * units
    if is_exu:
        entries = grown = [rounded_exp(w, weight.kind) for w in weight.entries]
        shifts = [Fraction(shift) for shift in biases] * (units if len(biases) == 1 else 1)
        biases = [-w * shift for w, shift in zip(grown, shifts, strict=True)]
    if (bias and len(bias.shape) != 1) or len(biases) != units:
        raise ValueError("the biases of a network do not fit its layers")
    flat = Dyadic.of(entries)
    rows = [flat.integers[i * columns : (i + 1) * columns] for i in range(units)]
    return Layer(rows, flat.scale, Dyadic.of(biases), activation)


def combine(layer: Layer, units: Bundle) -> Bundle:
    """Return `weights · units + biases`."""
    scale = max(units.scale + layer.scale, layer.biases.scale)
    by = scale - units.scale - layer.scale
    slopes = [dot << by for dot in products(layer.weights, dict(enumerate(units.slopes)))]
    dots = products(layer.weights, dict(enumerate(units.offsets)))
    offsets = [(dot << by) + bias for dot, bias in zip(dots, layer.biases.over(scale), strict=True)]
    bends = []
    for t, changes in units.bends:
        dots = products(layer.weights, changes)
        bends.append((t, {unit: dot << by for unit, dot in enumerate(dots) if dot}))
    return Bundle(slopes, offsets, bends, scale)


def products(weights: list[list[int]], entries: dict[int, int]) -> list[int]:
    """Return `weights · entries`, where entries that are not listed are 0."""
    listed = [k for k, entry in entries.items() if entry]
    if len(listed) == 1:
        (k,) = listed
        return [row[k] * entries[k] for row in weights]
    if not listed:
        return [0] * len(weights)
    choose, values = itemgetter(*listed), [entries[k] for k in listed]
    return [sum(map(mul, choose(row), values)) for row in weights]


def activate(units: Bundle, activation: Activation, low: Fraction | None, high: Fraction | None) -> Bundle:
    """Return the units after their activation, right between two ends."""
    if activation is IDENTITY:
        return units
    units = units.over(max(units.scale, activation.thresholds.scale))
    thresholds = activation.thresholds.over(units.scale)
    scale = max(units.scale + activation.slopes.scale, activation.offsets.scale)
    by, constants = scale - units.scale - activation.slopes.scale, activation.offsets.over(scale)
    own: list[list[Bend]] = [[] for _ in units.slopes]
    bends: list[Bends] = []
    for t, changes in units.bends:
        bends.append((t, {}))
        at = t.as_integer_ratio()
        for unit, change in changes.items():
            own[unit].append((at, change, bends[-1][1]))
    start = (-1, 0) if low is None else low.as_integer_ratio()
    stop = (1, 0) if high is None else high.as_integer_ratio()
    slopes, offsets = [], []
    for unit, (slope, offset) in enumerate(zip(units.slopes, units.offsets, strict=True)):
        # Rising, a line that meets a threshold is above it on the right and below it on the left; falling, the other
        # way round.
        steep, (below, upto) = activation.of_unit(unit), place(slope, offset, *start, thresholds)
        zone = below if slope < 0 else upto
        now = steep[zone] * slope << by
        slopes.append(now)
        offsets.append((steep[zone] * offset << by) + constants[zone])
        for (p, q), change, changed in [*own[unit], (stop, 0, {})]:
            below, upto = place(slope, offset, p, q, thresholds)
            last = below if slope > 0 else upto
            while zone != last:  # the line crosses a threshold inside
                edge, zone = (thresholds[zone], zone + 1) if zone < last else (thresholds[zone - 1], zone - 1)
                before, now = now, steep[zone] * slope << by
                if now != before:
                    bends.append((Fraction(edge - offset, slope), {unit: now - before}))
            if change:  # continuous: what the slope gains there, the offset loses
                slope, offset = slope + change, offset - change * p // q
                zone = below if slope < 0 else upto
                before, now = now, steep[zone] * slope << by
                if now != before:
                    changed[unit] = now - before
    return Bundle(slopes, offsets, ordered(bends), scale)


def place(slope: int, offset: int, p: int, q: int, thresholds: list[int]) -> tuple[int, int]:
    """Return how many thresholds a line is above, and how many it meets or is above, at p / q (±1 / 0: far out)."""
    if not slope:
        p, q = 0, 1  # the same everywhere
    at, below, upto = slope * p + offset * q, 0, 0
    for threshold in thresholds:
        below += threshold * q < at
        upto += threshold * q <= at
    return below, upto


def ordered(bends: list[Bends]) -> list[Bends]:
    """Return bends in order, those at the same place together."""
    if sum(len(changes) for _, changes in bends) > MOST_BENDS:
        raise UnreadableError(f"the model file: the units of a layer have more than {MOST_BENDS} bends in a region")
    # Rounded numbers order most; fractions, whose comparison is slow, settle only what these leave equal.
    bends.sort(key=lambda bend: ((bend[0].numerator << 64) // bend[0].denominator, bend[0]))
    found: list[Bends] = []
    for t, changes in bends:
        if found and found[-1][0] == t:
            for unit, change in changes.items():
                found[-1][1][unit] = found[-1][1].get(unit, 0) + change
        else:
            found.append((t, dict(changes)))
    return found


def plus(one: Bundle, other: Bundle) -> Bundle:
    """Return the sums of units."""
    scale = max(one.scale, other.scale)
    one, other = one.over(scale), other.over(scale)
    slopes, offsets = (list(map(add, *pair)) for pair in zip(one[:2], other[:2], strict=True))
    return Bundle(slopes, offsets, ordered([*one.bends, *other.bends]), scale)


def as_pieces(units: Bundle) -> Pieces:
    """Return functions of integers as pieces."""
    below, slopes, offsets = 2**units.scale, list(units.slopes), list(units.offsets)

    def line() -> Line:
        steep, start = (tuple([Fraction(one, below) for one in each]) for each in (slopes, offsets))
        return Line(steep, start)

    cells: list[Line | None] = [line()]
    for t, changes in units.bends:
        for unit, change in changes.items():
            slopes[unit] += change
            offsets[unit] -= change * t.numerator // t.denominator
        cells += [cells[-1], line()]
    return Pieces([t for t, _ in units.bends], cells)


def rounded_exp(exponent: float, kind: str) -> Fraction:
    """Return e^exponent, rounded to the nearest float of a type."""
    _, _, digits, lowest, beyond = FLOATS[kind]
    if abs(exponent) > 800:
        exponent = 800.0 if exponent > 0 else -800.0  # beyond all floats, on either side
    bits = 80
    while True:  # e^w is irrational for rational w other than 0: some precision tells which float is nearest
        low, high = (nearest(end, digits, lowest) for end in exp_bounds(Fraction(exponent), bits))
        if low == high and low < Fraction(2) ** beyond:
            return low
        if low >= Fraction(2) ** beyond:
            raise ValueError("an exponential unit overflows")
        bits *= 2
