"""Curved and smooth functions as broken lines with a proven error: what the tables of many rows are made of.

In: compiled functions of all features, domains and radii. Out: for each a `Chord`, a function of affine pieces, and for
each stretch of the line how far it is from the function at most.
Guaranteed: at every number of the domain the broken line is within the error of its stretch of the function, and equals
it where that error is 0.

Why. Let `P` be a cubic on a cell, `q` its highest coefficient, `a` and `b` neighbouring knots, `s` the step in which
the cell is cut and `l` the largest distance of two knots. At a knot the line has the value `P - σP''` with `σ = s²/16`,
but for some `ρ`. Between them, since `P''` is affine, it differs by `σP''(x)`, within `ρ`, from the chord of `P`
itself, and that differs from `P` by `(x - a)(b - x)/2 · P''((a + b + x)/3)`, for a cubic exactly. The two arguments of
`P''` are no more than `l/3` apart. So `P` less the line is `P''(x) · (σ - (x - a)(b - x)/2)`, within
`ρ + l²/8 · 2 |q| l`, and the bracket lies between `σ - l²/8` and `σ`:

    |P - line| ≤ max |P''| · max(σ, l²/8 - σ) + |q| l³ / 4 + ρ.

With `σ = 0` this would be the usual bound of chords, twice as large.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.batch.cubics import (
    MOST,
    Cubic,
    Point,
    SmoothCells,
    corners_of,
    exact_cubics,
    line_beyond,
    stretches,
    value_at,
)
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.values import Label, Value
from suffice.shapes.curves import Curves
from suffice.shapes.enclosed import Enclosed
from suffice.shapes.function import Function
from suffice.shapes.pieces import Pieces, combine

Floats = NDArray[np.float64]

CURVE_CHORDS = 1_024  # of a feature, on average over the model, where it is made of polynomials
SMOOTH_CHORDS = 256  # and where it is smooth, so that looking at a cell takes a fifth of a millisecond
_MOST_CHORDS = 4_096  # of one feature
_MOST_KEPT = 4  # of one model, by radii
_FAR = 2.0**1000
# What is known of a smooth function at a single row is some 2^-40 wide. Sets are proven either way; but only where that
# is less than what separates drops here can the same of several sets, in the same order, be counted on.
_LEAST_ERROR = 2.0**-32


@dataclass(frozen=True)
class Chord:
    """A broken line in place of a function.

    Parameters
    ----------
    pieces : Pieces
        The line.
    low, high, error : arrays of float
        Closed stretches, in order, and how far the line is off there; beyond them it is the function itself, or there
        is no number of the domain.
    labels : mapping
        How far it is off at labels.
    """

    pieces: Pieces
    low: Floats
    high: Floats
    error: Floats
    labels: Mapping[Label, float]

    @classmethod
    def exact(cls, pieces: Pieces) -> Chord:
        """Return a function of affine pieces as it is."""
        none = np.empty(0)
        return cls(pieces, none, none, none, {})

    @property
    def is_exact(self) -> bool:
        """Whether the line is the function."""
        return not len(self.error) and not self.labels

    @cached_property
    def negated(self) -> Chord:
        """The same of the function times -1."""
        return Chord(self.pieces.negated, self.low, self.high, self.error, self.labels)

    @classmethod
    def combined(cls, parts: Sequence[tuple[int, Chord]]) -> Chord:
        """Return a linear combination; errors add up."""
        pieces = combine((fmpq(factor), one.pieces) for factor, one in parts)
        ends = np.unique(np.concatenate([end for _, one in parts for end in (one.low, one.high)]))
        low, high = ends[:-1], ends[1:]
        # A sum of so few is too small by a share of 2^-50 at most, and the tables widen it by more (`WIDER`).
        # What is off in the middle, or wherever between, is off all the way.
        middle = np.clip(np.maximum(low, -_FAR) / 2 + np.minimum(high, _FAR) / 2, low, high)
        error = sum((abs(factor) * one.between(middle, middle) for factor, one in parts), np.zeros(len(low)))
        named = {label for _, one in parts for label in one.labels}
        labels = {label: sum(abs(factor) * one.labels.get(label, 0.0) for factor, one in parts) for label in named}
        return cls(pieces, low, high, error, labels)

    @cached_property
    def _windows(self) -> list[Floats]:
        """The largest errors of 1, 2, 4, ... stretches in a row."""
        windows = [self.error]
        while 2 ** len(windows) <= len(self.error):
            width = 2 ** (len(windows) - 1)
            windows.append(np.maximum(windows[-1][:-width], windows[-1][width:]))
        return windows

    def between(self, low: Floats, high: Floats) -> Floats:
        """Return the largest error between numbers, and one step of floats beyond both."""
        first = np.searchsorted(self.high, np.nextafter(low, -np.inf), "left")
        last = np.searchsorted(self.low, np.nextafter(high, np.inf), "right")
        found, length = np.zeros(len(low)), last - first
        level = np.frexp(np.maximum(length, 1).astype(np.float64))[1] - 1
        for width, window in enumerate(self._windows):
            chosen = np.flatnonzero((length > 0) & (level == width))
            found[chosen] = np.maximum(window[first[chosen]], window[last[chosen] - 2**width])
        return found

    @cached_property
    def largest(self) -> float:
        """The largest error of all."""
        return float(max([0.0, *self.error.tolist(), *self.labels.values()]))

    def of_values(self, values: Sequence[Value]) -> float:
        """Return the largest error at labels and at single numbers."""
        places = np.array([nearest_float(one) for one in values if isinstance(one, fmpq)])
        named = [self.labels.get(one, 0.0) for one in values if not isinstance(one, fmpq)]
        return float(max([0.0, *named, *self.between(places, places).tolist()]))


class Chords:
    """The parts of scores and claims that features have, as broken lines; made when they are first asked for.

    Parameters
    ----------
    compiled : Compiled
        A model of which each function is affine in pieces, curved or smooth (`can_be_made`).
    radii : sequence of Rational or None
        How far features may move: where a domain has no end, they tell how far out is far.
    """

    def __init__(self, compiled: Compiled, radii: Sequence[Rational | None]) -> None:
        self.compiled, self.radii = compiled, radii

    @classmethod
    def kept(cls, compiled: Compiled, radii: tuple[Rational | None, ...]) -> Chords:
        """Return the chords of a model, made once for all questions with the same radii."""
        found: Chords = compiled.chords.setdefault(radii, cls(compiled, radii))
        while len(compiled.chords) > _MOST_KEPT:
            compiled.chords.pop(next(iter(compiled.chords)))
        return found

    @staticmethod
    def can_be_made(compiled: Compiled) -> bool:
        """Whether all functions of a model are known as a whole."""
        every = (one for functions in compiled.pieces for one in functions)
        return all(isinstance(one, Pieces | Curves | Enclosed) for one in every)

    @cached_property
    def outputs(self) -> list[tuple[Chord, ...]]:
        """For each score the parts that features have in it."""
        each = zip(*self.compiled.pieces, strict=True)
        return [chords_of(functions, self.compiled.model.domains, self.radii) for functions in each]

    def of(self, factors: tuple[int, ...]) -> tuple[Chord, ...]:
        """Return each feature's own part of `Σ_j factors[j] · score_j`."""
        if not self.compiled.is_curved:
            return tuple(Chord.exact(one) for one in self.compiled.lines(factors))
        used = [(factor, some) for factor, some in zip(factors, self.outputs, strict=True) if factor]
        if len(used) == 1 and abs(used[0][0]) == 1:
            return tuple(one if used[0][0] > 0 else one.negated for one in used[0][1])
        features = range(len(self.radii))
        return tuple(Chord.combined([(factor, some[i]) for factor, some in used]) for i in features)


def chords_of(
    functions: Sequence[Function], domains: Sequence[Domain], radii: Sequence[Rational | None]
) -> tuple[Chord, ...]:
    """Return functions of all features of a model, so that they are about equally far off."""
    makers = {
        i: _Maker(one, domain, radius)
        for i, (one, domain, radius) in enumerate(zip(functions, domains, radii, strict=True))
        if not isinstance(one, Pieces)
    }
    # In steps of s a chord is off by |P''| s² / 16, so that an error e takes the integral of √(|P''| / 16 e) of them.
    chords = sum(SMOOTH_CHORDS if one.is_smooth else CURVE_CHORDS for one in makers.values())
    share = sum(one.bends for one in makers.values()) / max(chords, 1)
    wanted = min(share * share, MOST)
    return tuple(
        Chord.exact(one) if isinstance(one, Pieces) else makers[i].chord(wanted) for i, one in enumerate(functions)
    )


class _Maker:
    """Makes the chord of one function."""

    def __init__(self, function: Function, domain: Domain, radius: Rational | None) -> None:
        self.function, self.domain = function, domain
        self.is_smooth = isinstance(function, Enclosed)
        parts = stretches(function, domain, radius)
        self.smooth = SmoothCells(function, parts) if isinstance(function, Enclosed) else None
        self.exact = [] if self.smooth else exact_cubics(function, parts)
        self.corners = frozenset(corners_of(function))

    @property
    def bends(self) -> float:
        """The integral of √(|P''| / 16), about."""
        cells = self.exact if self.smooth is None else self.smooth.cells
        each = (math.sqrt(_bend(one, self.is_smooth) / 16 / one.ease) * _width(one) for one in cells)
        return sum(one for one in each if math.isfinite(one))

    def chord(self, wanted: float) -> Chord:
        """Return the chord, with errors about as large as wanted."""
        wanted = max(wanted, _LEAST_ERROR) if self.is_smooth else wanted
        cubics = self.exact if self.smooth is None else self.smooth.refined(rational(wanted) / 2)
        counts = [_count(one, wanted) for one in cubics]
        while wanted < MOST and sum(counts) > max(_MOST_CHORDS, 2 * len(cubics)):
            wanted *= 2
            counts = [_count(one, wanted) for one in cubics]
        cells = [_Cell(one, _knots(one, count)) for one, count in zip(cubics, counts, strict=True)]
        for left, right in pairwise(cells):
            if left.knots[-1] == right.knots[0] and self._is_continuous(right.knots[0]):
                left.join(right)
        for side, k in ((-1, 0), (1, -1)):  # a line that goes on for ever keeps its value at the last knot
            if cells and self._goes_on(side) and cells[k].knots[k] == self.function.knots[k]:
                cells[k].values[k] = self.function(cells[k].knots[k])
        return self._made(cells)

    def _goes_on(self, side: int) -> bool:
        """Whether the domain has no end on a side, and the function is a line there."""
        return _has_no_end(self.domain, side) and line_beyond(self.function, side) is not None

    def _is_cut(self, side: int) -> bool:
        """Whether the domain has no end on a side, and nothing is known beyond the last cell."""
        return _has_no_end(self.domain, side) and not self._goes_on(side)

    def _is_lost(self, at: Rational, cells: Sequence[_Cell]) -> bool:
        """Whether a number lies where nothing is known."""
        return (self._is_cut(-1) and at < cells[0].cubic.low) or (self._is_cut(1) and at > cells[-1].cubic.high)

    def _is_continuous(self, at: Rational) -> bool:
        if at not in self.corners:
            return True
        if isinstance(self.function, Enclosed):
            return self.function.chains.is_continuous(at)
        assert isinstance(self.function, Curves)
        k = bisect_left(self.function.knots, at)
        value = self.function.values[k]
        return all(self.function.polynomials[side](at) == value for side in (k, k + 1))

    def _made(self, cells: Sequence[_Cell]) -> Chord:
        alone = {one for one in (*self.domain.categories_, *self.domain.codes_) if isinstance(one, fmpq)}
        alone |= {span.low for span in self.domain.spans if span.low is not None and span.low == span.high}
        # Single numbers may lie among others, such as a code between integers: cells say what is known there.
        numbers = {at for at in alone if not self._is_lost(at, cells)}
        numbers -= {at for at in numbers for cell in cells if cell.cubic.low <= at <= cell.cubic.high}
        numbers |= {at for at in self.corners if self.domain.holds(at) and not self._is_continuous(at)}
        points = {at: value_at(self.function, at) for at in numbers}
        errors = [(cell.cubic.low, cell.cubic.high, self._rounded_up(cell.error)) for cell in cells]
        errors += [(at, at, self._rounded_up(point.off)) for at, point in points.items()]
        errors.sort()
        low = [float(np.nextafter(nearest_float(one), -np.inf)) for one, *_ in errors]
        high = [float(np.nextafter(nearest_float(one), np.inf)) for _, one, _ in errors]
        off = [one for *_, one in errors]
        if self._is_cut(-1):
            low, high, off = [-math.inf, *low], [low[0], *high], [math.inf, *off]
        if self._is_cut(1):
            low, high, off = [*low, high[-1]], [*high, math.inf], [*off, math.inf]
        named = {label: value_at(self.function, label) for label in self.domain.labels}
        pieces = self._pieces(cells, points).with_labels({label: point.value for label, point in named.items()})
        labels = {label: self._rounded_up(point.off) for label, point in named.items()}
        return Chord(pieces, np.array(low), np.array(high), np.array(off), labels)

    def _pieces(self, cells: Sequence[_Cell], points: Mapping[Rational, Point]) -> Pieces:
        """Return the line through the knots of the cells.

        Where there is no cell it is the function itself, if that goes on for ever as a line; else there is no number of
        the domain, but for single ones.
        """
        rows: list[_Knot] = []
        for cell in cells:
            if rows and rows[-1].at == cell.knots[0]:
                rows.pop()
            each = zip(cell.knots, cell.values, cell.slopes, strict=False)
            rows += [_Knot(at, value, slope, value - slope * at) for at, value, slope in each]
            rows.append(_Knot(cell.knots[-1], cell.values[-1], *self._beside(cell.knots[-1])))
            for place in (-len(cell.knots), -1):
                if rows[place].at in points:
                    rows[place] = rows[place]._replace(value=points[rows[place].at].value)
        ends = {end for cell in cells for end in (cell.knots[0], cell.knots[-1])}
        single = {at: point.value for at, point in points.items()}
        single |= {at: self.function(at) for at in self._where_lines_begin}
        rows += [_Knot(at, value, *self._beside(at)) for at, value in single.items() if at not in ends]
        rows.sort(key=lambda row: row.at)
        slope, offset = self._line(-1)
        return Pieces(
            tuple(row.at for row in rows),
            (slope, *(row.slope for row in rows)),
            (offset, *(row.offset for row in rows)),
            tuple(row.value for row in rows),
            {},
        )

    @property
    def _where_lines_begin(self) -> list[Rational]:
        """The knots from which on outwards the function is a line, on the sides on which the domain has no end."""
        return [self.function.knots[k] for side, k in ((-1, 0), (1, -1)) if self._goes_on(side)]

    def _line(self, side: int) -> tuple[Rational, Rational]:
        """Return slope and offset of the function beyond its knots, where the domain has no end; else 0."""
        line = line_beyond(self.function, side) if self._goes_on(side) else None
        return (ZERO, ZERO) if line is None else (line[1], line[0])

    def _beside(self, at: Rational) -> tuple[Rational, Rational]:
        """Return slope and offset of the piece after a number with which no cell begins."""
        knots = self.function.knots
        return (
            self._line(1) if knots and at >= knots[-1] else self._line(-1) if knots and at < knots[0] else (ZERO, ZERO)
        )

    def _rounded_up(self, error: Rational | None) -> float:
        if error is None:
            return math.inf
        found = float(np.nextafter(nearest_float(error), np.inf)) if error else 0.0
        return max(found, _LEAST_ERROR) if self.is_smooth else found


class _Knot(NamedTuple):
    """A knot of the line, its value there, and slope and offset of the piece after it."""

    at: Rational
    value: Rational
    slope: Rational
    offset: Rational


class _Cell:
    """A cubic, the knots that it is cut at, and the values of the line there."""

    def __init__(self, cubic: Cubic, knots: list[Rational]) -> None:
        self.cubic, self.knots = cubic, knots
        step = (cubic.high - cubic.low) / (len(knots) - 1)
        self.shift = ZERO if cubic.is_line else step**2 / 16
        self.aims = [cubic.at(knot) - self.shift * cubic.bend(knot) for knot in knots]
        near = [nearest_float(one) for one in self.aims]
        self.is_known = cubic.off is not None and (cubic.is_line or max(map(abs, near)) < MOST)
        self.values = [ZERO] * len(knots)
        if self.is_known:
            self.values = list(self.aims) if cubic.is_line else [rational(one) for one in near]

    @property
    def slopes(self) -> list[Rational]:
        """The slopes of the line between the knots."""
        each = pairwise(zip(self.knots, self.values, strict=True))
        return [(right - left) / (b - a) for (a, left), (b, right) in each]

    def join(self, other: _Cell) -> None:
        """Give the line one value where this cell ends and the other begins."""
        if self.cubic.is_line or not other.is_known:
            value = self.values[-1]
        elif other.cubic.is_line or not self.is_known:
            value = other.values[0]
        else:
            value = rational(nearest_float((self.values[-1] + other.values[0]) / 2))
        self.values[-1] = other.values[0] = value

    @property
    def error(self) -> Rational | None:
        """How far the line is off at most, over the closed cell; None where that is not known."""
        cubic = self.cubic
        if not self.is_known or cubic.off is None:
            return None
        rest = max(abs(value - aim) for value, aim in zip(self.values, self.aims, strict=True))
        longest = max(b - a for a, b in pairwise(self.knots))
        bend = max(abs(cubic.bend(cubic.low)), abs(cubic.bend(cubic.high)))
        bracket = max(self.shift, longest**2 / 8 - self.shift)
        return cubic.off + bend * bracket + abs(cubic.terms[3]) * longest**3 / 4 + rest


def _has_no_end(domain: Domain, side: int) -> bool:
    return any((span.low if side < 0 else span.high) is None for span in domain.spans)


def _width(cubic: Cubic) -> float:
    return nearest_float(cubic.high - cubic.low)


def _bend(cubic: Cubic, is_middle: bool) -> float:
    """Return the size of the second derivative, about: in the middle, or the largest."""
    places = (cubic.center,) if is_middle else (cubic.low, cubic.high)
    return max(abs(nearest_float(cubic.bend(place))) for place in places)


def _count(cubic: Cubic, wanted: float) -> int:
    """Return into how many chords a cubic is cut, so that each is off by about as much as wanted."""
    most = wanted * cubic.ease
    if cubic.is_line or cubic.off is None or not most:
        return 1
    width, cube = _width(cubic), abs(nearest_float(cubic.terms[3]))
    found = width * math.sqrt(_bend(cubic, False) / 16 / most) + width * (cube / 4 / most) ** (1 / 3) / 8
    return max(1, math.ceil(found)) if found < _MOST_CHORDS else _MOST_CHORDS


def _knots(cubic: Cubic, count: int) -> list[Rational]:
    """Return the ends of a cubic, and floats of few bits that cut it into about equal parts."""
    width = (cubic.high - cubic.low) / count
    unit = fmpq(2) ** (int(width.p).bit_length() - int(width.q).bit_length() - 6)
    inner = ((cubic.low + width * k) / unit for k in range(1, count))
    return [cubic.low, *(fmpq((2 * one + 1).floor() // 2) * unit for one in inner), cubic.high]
