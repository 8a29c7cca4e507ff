"""How far features can lower a claim's score within a radius, in floats with bounds: enough to tell most radii.

In: the functions of a claim around a row, as a `RadiusPath` has them. Out: whether some freed features are admitted at
a radius, where the bounds tell; None where they do not.

From the row a function is followed to both sides. On each, distances to its knots are counted in radii; between two
knots the function is a line in the radius, and what is behind has a lowest value. The fall within a radius is what the
lowest of these, and of the lines at the two ends, lies below the row's own value. Whether a knot is within reach is in
doubt where its distance is about the radius: then the fall lies between those with and without it. Where only integers
count, the radius is a whole number of steps, and in doubt about one of them the fall lies between those of both.

Errors: every float below is nearest to its exact number, or the result of at most four operations on such, each off by
at most 2^-53 of its result. `SHARE` of the sizes of all numbers that take part is more than their sum. This holds of
numbers that are not near the least or the largest floats; where others take part, nothing is told.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.model.domain import Span
from suffice.numbers.exact import ONE, Rational, nearest_float, rational
from suffice.shapes.pieces import Pieces

if TYPE_CHECKING:
    from suffice.core.radius_path import RadiusPath

Floats = NDArray[np.float64]

SHARE = 2.0**-48
_LEAST, _MOST = 2.0**-300, 2.0**300  # of a number other than 0, so that a product of three is far from all limits
_SMALL = 1e-290  # more than all underflow
_LARGE = 1e290  # less than any overflow
_MOST_STEPS = 1000  # integers of one side that are looked at one by one


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
        units = {i: nearest_float(path.units[i]) for i in self.moving}
        whole = {i: path.domains[i].spans[0].is_integers for i in self.moving}
        for functions in path.functions:
            for i in self.moving:
                (span,) = path.domains[i].spans
                function = functions[i]
                assert isinstance(function, Pieces)
                at = path.row[i]
                assert isinstance(at, fmpq)
                over, unit = (function.on_integers, 1.0) if whole[i] else (function, units[i])
                sides += [_followed(over, at, unit, span, side) for side in (-1, 1)]
        self.is_whole = np.repeat([whole[i] for i in self.moving] * len(path.functions), 2)
        self.units = np.repeat([units[i] for i in self.moving] * len(path.functions), 2)
        self.probes = _between(_marks(path, self.moving, units, sides))
        widest = max((len(one.base) for one in sides), default=1)
        columns = [np.array([_padded(one[k], widest - (k < 2)) for one in sides]) for k in range(8)]
        self.table = _Side(*columns)
        self.here = np.array([[nearest_float(row[i]) for i in self.moving] for row in path.here])
        self.margins = np.array([nearest_float(one.margin) for one in path.constraints])
        self.path, self.stepping = path, tuple(path.stepping)
        others = [i for i in range(len(path.row)) if i not in {*self.moving, *self.stepping}]
        self.others = [one.floats for one in path.exactly_at(ONE, others)] if others else []
        self.place = {i: k for k, i in enumerate(self.moving)}

    @classmethod
    def of(cls, path: RadiusPath, moving: Sequence[int]) -> FloatFalls | None:
        """Return the falls of moving features; None where gaps, curves or limits need exact arithmetic."""
        is_plain = bool(moving) and all(len(path.domains[i].spans) == 1 for i in moving)
        is_plain &= all(isinstance(row[i], Pieces) for row in path.functions for i in moving)
        is_plain &= all(one.max_changed is None and not one.gap for one in path.constraints)
        return cls(path, moving) if is_plain and _is_moderate(path, moving) else None

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
        low, high = self.falls(radius)
        chosen = [self.place[i] for i in freed if i in self.place]
        least, most = low[:, chosen].sum(axis=1), high[:, chosen].sum(axis=1)
        near = [one.floats for one in self.path.exactly_at(radius, self.stepping)] if self.stepping else []
        for some in (self.others, near):  # each knows nothing of the features of the other: there they are 0
            for c, floats in enumerate(some):
                more = sum(floats[i] for i in freed if i not in self.place)
                least[c], most[c] = least[c] + more, most[c] + more
        # A sum of n floats that are not below 0 is off by n times 2^-53 of it, as is the margin.
        return least, most, (len(freed) + 4) * SHARE, np.abs(self.margins) * SHARE + _SMALL

    def falls(self, radius: Rational) -> tuple[Floats, Floats]:
        """Return bounds on the fall of each moving feature (second index) within a radius, for each constraint.

        They hold just above the radius and just below it too.
        """
        near = nearest_float(radius)
        if not _LEAST <= near <= _MOST:
            return np.zeros(self.here.shape), np.full(self.here.shape, np.inf)
        with np.errstate(all="ignore"):  # what is NaN then leaves a doubt
            steps = near * self.units
            is_far = self.is_whole & ~(steps < 2.0**40)
            fewest, most = (np.where(self.is_whole, np.floor(steps * by), near) for by in (1 - SHARE, 1 + SHARE))
            lowest, highest = self._infima(most)
            if (fewest != most).any():
                _, highest = self._infima(fewest)
        lowest, highest = np.where(is_far, -np.inf, lowest), np.where(is_far, np.inf, highest)
        shape = (len(self.margins), len(self.moving), 2)
        down, up = lowest.reshape(shape).min(axis=2), highest.reshape(shape).min(axis=2)
        slip = np.abs(self.here) * SHARE
        return np.maximum(self.here - up - slip, 0.0), np.maximum(self.here - down + slip, 0.0)

    def _infima(self, radius: Floats) -> tuple[Floats, Floats]:
        """Return bounds on the infimum over each side, up to a distance of its own."""
        table, rows = self.table, np.arange(len(self.table.base))
        step = radius * 2.0**-50
        # After so many steps a knot on the last integer has been passed; the function is continuous there.
        reached = radius + self.is_whole / 2
        sure = (table.far < (reached - step)[:, None]).sum(axis=1)
        may = (table.near <= (reached + step)[:, None]).sum(axis=1)
        ends = []
        for piece in (sure, may):
            value = table.base[rows, piece] + table.slope[rows, piece] * radius
            ends.append((value, table.error[rows, piece] + table.rate[rows, piece] * radius))
        (first, first_off), (last, last_off) = ends
        lowest = np.minimum(first - first_off, last - last_off)
        lowest = np.minimum(lowest, table.lowest[rows, may] - table.off[rows, may])
        highest = np.maximum(first + first_off, last + last_off)
        highest = np.minimum(highest, table.lowest[rows, sure] + table.off[rows, sure])
        # Between two knots that are both in doubt anything may be.
        is_lost = (may - sure > 1) | np.isnan(lowest) | np.isnan(highest)
        return np.where(is_lost, -np.inf, lowest), np.where(is_lost, np.inf, highest)

    def drops(self, radius: Rational) -> tuple[Floats, Floats]:
        """Return bounds on the drops of all features (second index), for each constraint, at a radius above 0.

        They hold just above the radius and just below it too.
        """
        count = len(self.moving) + (len(self.others[0]) - len(self.moving) if self.others else 0)
        low, high = np.zeros((2, len(self.margins), count))
        for c, floats in enumerate(self.others):
            low[c], high[c] = np.nextafter(floats, 0.0), np.nextafter(floats, np.inf)
        low[:, self.moving], high[:, self.moving] = self.falls(radius)
        return low, high

    def between(self, known: Rational, freed: Collection[int]) -> tuple[Rational, Rational | None]:
        """Return two radii, mostly close: at the first, `known` or above, the features are admitted, at the other not.

        None as the second where floats tell of no such radius. At the one known the features are admitted.
        """
        probes = self.probes

        def told(place: int) -> bool | None:
            return self.admits(rational(float(probes[place])), freed)

        first = low = int(np.searchsorted(probes, nearest_float(known) * (1 + 1e-9), "right"))
        step = 1
        while low + step - 1 < len(probes) and told(low + step - 1):
            low, step = low + step, 2 * step
        high = min(low + step - 1, len(probes))
        while low < high:
            middle = (low + high) // 2
            if told(middle):
                low = middle + 1
            else:
                high = middle
        beyond = next((k for k in range(low, min(low + 3, len(probes))) if told(k) is False), None)
        return (
            known if low == first else rational(float(probes[low - 1])),
            None if beyond is None else rational(float(probes[beyond])),
        )


def _is_moderate(path: RadiusPath, moving: Sequence[int]) -> bool:
    """Whether all numbers that products and quotients are made of are 0, or far from the limits of floats."""
    found = [np.array([nearest_float(row[i]) for row in path.here for i in moving])]
    for i in moving:
        (span,) = path.domains[i].spans
        ends = [end for end in (span.low, span.high) if end is not None]
        found.append(np.array([nearest_float(one) for one in (path.row[i], path.units[i], *ends)]))  # type: ignore[arg-type]
        for functions in path.functions:
            function = functions[i]
            assert isinstance(function, Pieces)
            over = function.on_integers if span.is_integers else function
            found += [*over.near, np.array([nearest_float(over(end)) for end in ends])]
    sizes = np.abs(np.concatenate(found))
    return bool(((sizes == 0) | ((sizes >= _LEAST) & (sizes <= _MOST))).all())


def _marks(path: RadiusPath, moving: Sequence[int], units: Mapping[int, float], sides: Sequence[_Side]) -> Floats:
    """Return about where something happens: the distances of knots and ends in radii, and of integers if not many."""
    found = []
    for k, side in enumerate(sides):
        i = moving[k // 2 % len(moving)]
        (span,) = path.domains[i].spans
        if not span.is_integers:
            found.append((side.near + side.far) / 2)
        elif k < 2 * len(moving):
            end = span.low if k % 2 == 0 else span.high
            far = _MOST_STEPS if end is None else nearest_float(abs(end - path.row[i]))  # type: ignore[operator]
            found.append(np.arange(1.0, min(far, _MOST_STEPS) + 1) / units[i])
    marks: Floats = np.unique(np.concatenate(found))
    return marks[np.isfinite(marks)]


def _between(marks: Floats) -> Floats:
    """Return radii between those marks that are far enough apart for floats to tell, and one beyond all."""
    if not len(marks):
        return marks
    middles: Floats = marks[:-1] + np.diff(marks) / 2
    return np.append(middles[np.diff(marks) > marks[1:] * 1e-9], 2 * marks[-1])


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
