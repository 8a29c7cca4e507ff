"""How far features can lower a claim's score within a radius, in floats with bounds: enough to tell most radii.

In: the functions of a claim around a row, as a `RadiusPath` has them. Out: whether some freed features are admitted at
a radius, where the bounds tell; None where they do not.

From the row a function is followed to both sides. On each, distances to its knots are counted in radii; between two
knots the function is a line in the radius, and what is behind has a lowest value. The fall within a radius is what the
lowest of these, and of the lines at the two ends, lies below the row's own value. Whether a knot is within reach is in
doubt where its distance is about the radius: then the fall lies between those with and without it.

Errors: every float below is nearest to its exact number, or the result of at most four operations on such, each off by
at most 2^-53 of its result. `SHARE` of the sizes of all numbers that take part is more than their sum.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.model.domain import Span
from suffice.numbers.exact import ONE, Rational, nearest_float
from suffice.shapes.pieces import Pieces

if TYPE_CHECKING:
    from suffice.core.radius_path import RadiusPath

Floats = NDArray[np.float64]

SHARE = 2.0**-48
_SMALL = 1e-290  # more than all underflow
_LARGE = 1e290  # less than any overflow


class _Side(NamedTuple):
    """One side of a row: distances to knots, and what is before each of them and after the last."""

    near: Floats  # a distance is surely more
    far: Floats  # and surely less
    base: Floats  # of the line in the radius
    slope: Floats
    error: Floats  # of the line at a radius of 0
    rate: Floats  # and how that grows with the radius
    lowest: Floats  # of what is behind
    off: Floats


class FloatFalls:
    """Falls of all features, for each constraint, at any radius above 0."""

    def __init__(self, path: RadiusPath, moving: Sequence[int]) -> None:
        self.moving = tuple(moving)
        sides: list[_Side] = []
        for functions in path.functions:
            for i in self.moving:
                (span,) = path.domains[i].spans
                function = functions[i]
                assert isinstance(function, Pieces)
                at, unit = path.row[i], nearest_float(path.units[i])
                assert isinstance(at, fmpq)
                sides += [_followed(function, at, unit, span, side) for side in (-1, 1)]
        widest = max((len(one.base) for one in sides), default=1)
        columns = [np.array([_padded(one[k], widest - (k < 2)) for one in sides]) for k in range(8)]
        self.table = _Side(*columns)
        self.here = np.array([[nearest_float(row[i]) for i in self.moving] for row in path.here])
        self.margins = np.array([nearest_float(one.margin) for one in path.constraints])
        self.path, self.stepping = path, tuple(path.stepping)
        others = [i for i in range(len(path.row)) if i not in {*self.moving, *self.stepping}]
        self.others = [one.floats for one in path.at(ONE, others)] if others else []
        self.place = {i: k for k, i in enumerate(self.moving)}

    @classmethod
    def of(cls, path: RadiusPath, moving: Sequence[int]) -> FloatFalls | None:
        """Return the falls of moving features; None where integers, gaps, curves or limits need exact arithmetic."""
        is_plain = bool(moving) and all(len(path.domains[i].spans) == 1 for i in moving)
        is_plain &= not any(span.is_integers for i in moving for span in path.domains[i].spans)
        is_plain &= all(isinstance(row[i], Pieces) for row in path.functions for i in moving)
        is_plain &= all(one.max_changed is None and not one.gap for one in path.constraints)
        return cls(path, moving) if is_plain else None

    def admits(self, radius: Rational, freed: Collection[int]) -> bool | None:
        """Whether every constraint admits the freed features within a radius above 0; None if errors leave a doubt."""
        least, most, share, doubt = self._sums(radius, freed)
        if np.all(most * (1 + share) + doubt < self.margins):
            return True
        if np.any((least * (1 - share) - doubt > self.margins) & (least < _LARGE)):
            return False
        return None

    def tight(self, radius: Rational, freed: Collection[int]) -> list[int]:
        """Return the constraints that may not admit the freed features within a radius above 0; the others do."""
        _, most, share, doubt = self._sums(radius, freed)
        return np.flatnonzero(~(most * (1 + share) + doubt < self.margins)).tolist()

    def _sums(self, radius: Rational, freed: Collection[int]) -> tuple[Floats, Floats, float, Floats]:
        """Return between what the fall of each constraint lies, but for a share of it and what its margin is off."""
        with np.errstate(all="ignore"):  # what is NaN then leaves a doubt
            low, high = self._falls(nearest_float(radius))
        chosen = [self.place[i] for i in freed if i in self.place]
        least, most = low[:, chosen].sum(axis=1), high[:, chosen].sum(axis=1)
        near = [one.floats for one in self.path.at(radius, self.stepping)] if self.stepping else []
        for some in (self.others, near):  # each knows nothing of the features of the other: there they are 0
            for c, floats in enumerate(some):
                more = sum(floats[i] for i in freed if i not in self.place)
                least[c], most[c] = least[c] + more, most[c] + more
        # A sum of n floats that are not below 0 is off by n times 2^-53 of it, as is the margin.
        return least, most, (len(freed) + 4) * SHARE, np.abs(self.margins) * SHARE + _SMALL

    def _falls(self, radius: float) -> tuple[Floats, Floats]:
        """Return bounds on the fall of each moving feature (second index), for each constraint."""
        table, rows = self.table, np.arange(len(self.table.base))
        step = radius * 2.0**-50
        sure, may = (table.far < radius - step).sum(axis=1), (table.near <= radius + step).sum(axis=1)
        ends = []
        for piece in (sure, may):
            value = table.base[rows, piece] + table.slope[rows, piece] * radius
            ends.append((value, table.error[rows, piece] + table.rate[rows, piece] * radius))
        (first, first_off), (last, last_off) = ends
        lowest = np.fmin(np.fmin(first - first_off, last - last_off), table.lowest[rows, may] - table.off[rows, may])
        highest = np.fmax(first + first_off, last + last_off)
        highest = np.fmin(highest, table.lowest[rows, sure] + table.off[rows, sure])
        # Between two knots that are both in doubt anything may be.
        is_lost = (may - sure > 1) | np.isnan(lowest) | np.isnan(highest)
        lowest, highest = np.where(is_lost, -np.inf, lowest), np.where(is_lost, np.inf, highest)
        shape = (len(self.margins), len(self.moving), 2)
        down, up = lowest.reshape(shape).min(axis=2), highest.reshape(shape).min(axis=2)
        slip = np.abs(self.here) * SHARE
        return np.maximum(self.here - up - slip, 0.0), np.maximum(self.here - down + slip, 0.0)


def _padded(column: Floats, width: int) -> Floats:
    return np.append(column, np.full(width - len(column), np.inf))


def _followed(function: Pieces, at: Rational, unit: float, span: Span, side: int) -> _Side:
    """Follow a function from a row to one side, up to the end of its span."""
    end = span.low if side < 0 else span.high
    if at == end:
        nothing = np.zeros(1)
        return _Side(np.empty(0), np.empty(0), nothing + np.inf, nothing, nothing, nothing, nothing + np.inf, nothing)
    knots, slopes, offsets, lowest = function.near
    x = nearest_float(at)
    if side > 0:
        first, last = function.segment_after(at), len(knots) if end is None else function.segment_before(end)
        chosen, pieces = np.arange(first, last), np.arange(first, last + 1)
    else:
        first, last = function.segment_before(at), 0 if end is None else function.segment_after(end)
        chosen, pieces = np.arange(first - 1, last - 1, -1), np.arange(first, last - 1, -1)
    ways = side * (knots[chosen] - x) / unit
    off = ((np.abs(knots[chosen]) + abs(x)) / unit + np.abs(ways)) * SHARE + _SMALL
    base, slope = slopes[pieces] * x + offsets[pieces], side * slopes[pieces] * unit
    error = (np.abs(slopes[pieces] * x) + np.abs(offsets[pieces])) * SHARE + _SMALL
    behind = np.append(base[:1], lowest[chosen])
    behind_off = np.append(error[:1], np.abs(lowest[chosen]) * SHARE + _SMALL)
    if end is not None:  # beyond the end there is nothing, and at it the function may have a value of its own
        stop, own = nearest_float(end), nearest_float(function(end))
        far = side * (stop - x) / unit
        ways, off = np.append(ways, far), np.append(off, ((abs(stop) + abs(x)) / unit + abs(far)) * SHARE + _SMALL)
        limit = slopes[pieces[-1]] * stop + offsets[pieces[-1]]
        size = abs(slopes[pieces[-1]] * stop) + abs(offsets[pieces[-1]]) + abs(own)
        behind, behind_off = np.append(behind, min(limit, own)), np.append(behind_off, size * SHARE + _SMALL)
        base, slope, error = np.append(base, np.inf), np.append(slope, 0.0), np.append(error, 0.0)
    so_far = np.minimum.accumulate(behind), np.maximum.accumulate(behind_off)
    return _Side(ways - off, ways + off, base, slope, error, np.abs(slope) * SHARE, *so_far)
