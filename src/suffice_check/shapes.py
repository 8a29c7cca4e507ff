"""Shapes of a model file: exact values, one-sided limits, and whether a shape is affine between two points.

`at(z, side)` is the value at `z` for side 0, the limit from the left for -1, from the right for 1. `is_affine(left,
right)` says whether the shape is proven affine on the open interval; None is an end at infinity, and one end is finite.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from operator import itemgetter, mul
from typing import NamedTuple, Protocol

from suffice_check.exponential import exp_bounds, nearest
from suffice_check.reading import Value

Outputs = tuple[Fraction, ...]
ZERO, ONE = Fraction(0), Fraction(1)
FLOATS = {"F16": ("e", 2, 11, -24, 16), "F32": ("f", 4, 24, -149, 128), "F64": ("d", 8, 53, -1074, 1024)}
_REMEMBERED = 4  # places of a network: proofs go from point to point, and back to the row


class NoValueError(Exception):
    """A shape has no value at some place of a region."""


class Shape(Protocol):
    """A function of one variable with one or more outputs."""

    outputs: int

    def at(self, z: Value, side: int) -> Outputs:
        """Return the value, or a one-sided limit."""

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether the shape is proven affine on an open interval."""


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
        scale = max((q.bit_length() - 1 for _, q in ratios), default=0)
        if any(q & (q - 1) for _, q in ratios):
            raise ValueError("parameters of a network must be binary fractions")
        return cls([p << (scale + 1 - q.bit_length()) for p, q in ratios], scale)

    def over(self, scale: int, factor: int = 1) -> list[int]:
        """Return the numbers times `factor`, as integers over 2^scale."""
        return [(number * factor) << (scale - self.scale) for number in self.integers]


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
        self.units = len(slopes[0])
        self.thresholds, self.offsets = Dyadic.of(thresholds), Dyadic.of(offsets)
        flat = Dyadic.of([slope for row in slopes for slope in row])
        self.slopes, self.scale = (
            [flat.integers[k * self.units : (k + 1) * self.units] for k in range(zones)],
            flat.scale,
        )

    def apply(self, y: list[int], thresholds: list[int], scale: int, q: int) -> tuple[list[int], int]:
        """Return the activation of integers over `q · 2^scale`, and the scale of the result."""
        finer = max(scale + self.scale, self.offsets.scale)
        offsets, shift = self.offsets.over(finer, q), finer - scale - self.scale
        zones = [bisect_right(thresholds, a) for a in y]
        slopes = [self.slopes[zone][k % self.units] for k, zone in enumerate(zones)]
        return [(slope * a << shift) + offsets[zone] for a, slope, zone in zip(y, slopes, zones, strict=True)], finer


class Layer(NamedTuple):
    """`y = weights · h + biases`, then an activation."""

    weights: list[list[int]]
    scale: int  # of the weights
    biases: Dyadic
    activation: Activation


class Network:
    """A network of one input with piecewise-linear activations."""

    def __init__(
        self, weights: list[Tensor], biases: list[Tensor | None], activations: list[Activation],
        skips: dict[int, int], exu: bool,
    ) -> None:  # fmt: skip
        widths = [1, *(weight.shape[0] for weight in weights)]
        identity = Activation([], [[Fraction(1)]], [Fraction(0)])
        self.layers: list[Layer] = []
        for k, (weight, bias, activation) in enumerate(zip(weights, biases, [*activations, identity], strict=True)):
            units = widths[k + 1]
            if weight.shape != (units, widths[k]) or not units or activation.units not in (1, units):
                raise ValueError("the layers of a network do not fit together")
            if bias is not None and bias.shape != (units,) and not (exu and k == 0 and bias.shape == (1,)):
                raise ValueError("the biases of a network do not fit its layers")
            offsets: list[Fraction] = [Fraction(b) for b in bias.entries] if bias else [Fraction(0)] * units
            entries: Sequence[float | Fraction] = weight.entries
            if exu and k == 0:
                entries = grown = [rounded_exp(w, weight.kind) for w in weight.entries]
                offsets = [-w * b for w, b in zip(grown, offsets * (units if len(offsets) == 1 else 1), strict=True)]
            flat = Dyadic.of(entries)
            rows = [flat.integers[i * widths[k] : (i + 1) * widths[k]] for i in range(units)]
            self.layers.append(Layer(rows, flat.scale, Dyadic.of(offsets), activation))
        for to, source in skips.items():
            if not 0 <= source < to <= len(weights) or widths[source] != widths[to]:
                raise ValueError(f"a skip from layer {source} to layer {to} does not fit")
        self.skips, self.outputs = skips, widths[-1]
        self._runs: list[tuple[Fraction, Outputs, tuple[int, ...]]] = []  # the latest few, the last one first

    def at(self, z: Value, side: int) -> Outputs:
        """Return the value; a network is continuous, so limits are values."""
        if not isinstance(z, Fraction):
            raise NoValueError
        return self._run(z)[1]

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether every unit stays between two neighbouring thresholds: then, layer by layer, all are affine."""
        if left is not None and right is not None:
            places = zip(self._run(left)[2], self._run(right)[2], strict=True)
            return all(max(a, b) // 2 <= (min(a, b) + 1) // 2 for a, b in places if a != b)
        anchor, step = (left, 1) if left is not None else (right, -1)
        assert anchor is not None
        here, further = self._evaluate(anchor)[1], self._evaluate(anchor + step)[1]
        # On a ray a unit that rises must start at or above all thresholds, one that falls at or below all.
        return all(
            a == b or (bisect_right(thresholds, a) == len(thresholds) if b > a else bisect_left(thresholds, a) == 0)
            for (before, thresholds), (after, _) in zip(here, further, strict=True)
            for a, b in zip(before, after, strict=True)
        )

    def _run(self, z: Fraction) -> tuple[Fraction, Outputs, tuple[int, ...]]:
        """Return `z`, the outputs, and each unit's place: 2k above exactly k thresholds, 2k + 1 on the next one."""
        run = next((run for run in self._runs if run[0] == z), None)
        if run is None:
            outputs, layers = self._evaluate(z)
            places = (bisect_left(edges, a) + bisect_right(edges, a) for y, edges in layers for a in y)
            run = z, outputs, tuple(places)
        self._runs = [run, *(other for other in self._runs if other is not run)][:_REMEMBERED]
        return run

    def _evaluate(self, z: Fraction) -> tuple[Outputs, list[tuple[list[int], list[int]]]]:
        """Return the outputs, and for each layer `y` and the thresholds as integers over one common number."""
        q, scale, h = z.denominator, 0, [z.numerator]  # everywhere below: integers over q · 2^scale
        before, seen = [(h, scale)], []
        for number, (weights, weight_scale, biases, activation) in enumerate(self.layers, start=1):
            finer = max(scale + weight_scale, biases.scale, activation.thresholds.scale)
            offsets = biases.over(finer, q)
            shift = finer - scale - weight_scale
            y = [(dot << shift) + offset for dot, offset in zip(_products(weights, h), offsets, strict=True)]
            seen.append((y, activation.thresholds.over(finer, q)))
            h, scale = activation.apply(*seen[-1], finer, q)
            if number in self.skips:
                other, other_scale = before[self.skips[number]]
                common = max(scale, other_scale)
                h = [(a << common - scale) + (b << common - other_scale) for a, b in zip(h, other, strict=True)]
                scale = common
            before.append((h, scale))
        return tuple(Fraction(a, q << scale) for a in h), seen


def _products(weights: list[list[int]], h: list[int]) -> list[int]:
    """Return `weights · h`, passing over the units that are 0."""
    active = [k for k, a in enumerate(h) if a]
    if len(active) < 2:
        return [sum(row[k] * h[k] for k in active) for row in weights]
    choose = itemgetter(*active)
    values = choose(h)
    return [sum(map(mul, choose(row), values)) for row in weights]


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


class Readout:
    """Linear combinations of the outputs of a network."""

    def __init__(self, basis: Network, weights: Tensor) -> None:
        self.basis, self.outputs = basis, weights.shape[0]
        if weights.shape != (self.outputs, basis.outputs) or not self.outputs:
            raise ValueError("the weights of a readout do not fit its basis")
        self.weights = [[Fraction(w) for w in row] for row in weights.rows()]

    def at(self, z: Value, side: int) -> Outputs:
        """Return the value."""
        basis = self.basis.at(z, side)
        return tuple(sum(map(mul, row, basis), Fraction(0)) for row in self.weights)

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether the basis is affine."""
        return self.basis.is_affine(left, right)


class Steps:
    """A constant on each bin; a cut belongs to the bin above it (closed on the left) or below it."""

    def __init__(self, cuts: list[Fraction], values: list[Outputs], closed: str) -> None:
        if len(values) != len(cuts) + 1 or closed not in ("left", "right") or not is_increasing(cuts):
            raise ValueError("steps need increasing cuts and one more value than cuts")
        self.cuts, self.values, self.closed, self.outputs = cuts, values, closed, width(values)

    def at(self, z: Value, side: int) -> Outputs:
        """Return the value, or that of the bin on one side."""
        if not isinstance(z, Fraction):
            raise NoValueError
        is_above = side > 0 or (side == 0 and self.closed == "left")
        return self.values[(bisect_right if is_above else bisect_left)(self.cuts, z)]

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether there is no cut in between."""
        return not has_inside(self.cuts, left, right)


class BrokenLine:
    """Affine between knots and outside of them."""

    def __init__(self, knots: list[Fraction], values: list[Outputs], slopes: list[Outputs]) -> None:
        self.outputs = width(values)
        if len(values) != len(knots) or not is_increasing(knots) or [len(row) for row in slopes] != [self.outputs] * 2:
            raise ValueError("a broken line needs increasing knots, a value for each and two slopes")
        self.knots, self.values, self.slopes = knots, values, slopes

    def at(self, z: Value, side: int) -> Outputs:
        """Return the value; it is continuous, so limits are values."""
        if not isinstance(z, Fraction):
            raise NoValueError
        k = bisect_right(self.knots, z)
        if 0 < k < len(self.knots):
            share = (z - self.knots[k - 1]) / (self.knots[k] - self.knots[k - 1])
            return tuple(a + share * (b - a) for a, b in zip(self.values[k - 1], self.values[k], strict=True))
        end, slopes = (0, self.slopes[0]) if k == 0 else (-1, self.slopes[1])
        return tuple(a + slope * (z - self.knots[end]) for a, slope in zip(self.values[end], slopes, strict=True))

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether there is no knot in between."""
        return not has_inside(self.knots, left, right)


class Table:
    """A value for each of some numbers and labels; another shape, if any, for the rest."""

    def __init__(self, entries: list[tuple[Value, Outputs]], otherwise: Shape | None) -> None:
        widths = {len(row) for _, row in entries} | ({otherwise.outputs} if otherwise else set())
        if len(widths) != 1 or 0 in widths:
            raise ValueError("the entries of a table need the same number of outputs")
        self.otherwise, (self.outputs,) = otherwise, widths
        # Numbers are found by their order: fractions can be made to share one hash.
        listed = sorted(((key, row) for key, row in entries if isinstance(key, Fraction)), key=itemgetter(0))
        self.numbers, self.rows = [key for key, _ in listed], [row for _, row in listed]
        self.labels = {key: row for key, row in entries if not isinstance(key, Fraction)}
        if not is_increasing(self.numbers) or len(self.numbers) + len(self.labels) != len(entries):
            raise ValueError("a table has a key twice")

    def at(self, z: Value, side: int) -> Outputs:
        """Return the entry of a value; beside an entry there is only the other shape."""
        found = self._entry(z) if side == 0 else None
        if found is not None:
            return found
        if self.otherwise is None:
            raise NoValueError
        return self.otherwise.at(z, side)

    def _entry(self, z: Value) -> Outputs | None:
        if not isinstance(z, Fraction):
            return self.labels.get(z)
        k = bisect_left(self.numbers, z)
        return self.rows[k] if self.numbers[k : k + 1] == [z] else None

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether there is no entry in between, and the other shape is affine there."""
        if self.otherwise is None or has_inside(self.numbers, left, right):
            return False
        return self.otherwise.is_affine(left, right)


class Sum:
    """Sum of shapes."""

    def __init__(self, parts: list[Shape]) -> None:
        if len({part.outputs for part in parts}) != 1:
            raise ValueError("the parts of a sum need the same number of outputs")
        self.parts, self.outputs = parts, parts[0].outputs

    def at(self, z: Value, side: int) -> Outputs:
        """Return the sum of the parts' values."""
        values = zip(*(part.at(z, side) for part in self.parts), strict=True)
        return tuple(sum(column, Fraction(0)) for column in values)

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether all parts are affine."""
        return all(part.is_affine(left, right) for part in self.parts)


class Changed:
    """`factor · shape((z - center) / scale)` for a number, `factor · shape(z)` for a label."""

    def __init__(self, shape: Shape, factor: Fraction = ONE, center: Fraction = ZERO, scale: Fraction = ONE) -> None:
        if scale == 0:
            raise ValueError("a scale is 0")
        self.shape, self.factor, self.center, self.scale = shape, factor, center, scale
        self.outputs = shape.outputs

    def at(self, z: Value, side: int) -> Outputs:
        """Return the value; a negative scale turns sides round."""
        place = (z - self.center) / self.scale if isinstance(z, Fraction) else z
        return tuple(self.factor * a for a in self.shape.at(place, side if self.scale > 0 else -side))

    def is_affine(self, left: Fraction | None, right: Fraction | None) -> bool:
        """Whether the shape is affine between the changed ends."""
        ends = [None if end is None else (end - self.center) / self.scale for end in (left, right)]
        return self.shape.is_affine(*(ends if self.scale > 0 else ends[::-1]))


def has_inside(numbers: list[Fraction], left: Fraction | None, right: Fraction | None) -> bool:
    """Whether one of some increasing numbers lies strictly between two ends."""
    first = 0 if left is None else bisect_right(numbers, left)
    return first < (len(numbers) if right is None else bisect_left(numbers, right))


def is_increasing(numbers: list[Fraction]) -> bool:
    """Whether each number is larger than the one before."""
    return all(a < b for a, b in pairwise(numbers))


def width(rows: list[Outputs]) -> int:
    """Return how many entries each row has, all the same."""
    (found,) = {len(row) for row in rows}
    if not found:
        raise ValueError("a row of values is empty")
    return found
