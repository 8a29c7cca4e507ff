"""The lines of one column of a feature's table: as numbers, as floats with errors, and where one line ends."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from suffice.batch.drop_lines import Line
from suffice.batch.lookup import ROUNDING, TINY, WIDER, line_entry
from suffice.batch.on_span import Indices, OnSpan
from suffice.batch.quick_lines import GIVEN, KNOT, LEFT, RIGHT, Segments, exact_line
from suffice.numbers.exact import Rational, rational
from suffice.numbers.twofold import Floats, Mask, Twofold


class Column:
    """A function's values, or its drops for a radius, on segments.

    Parameters
    ----------
    shape : OnSpan
        The function.
    segments : Segments
        Which line is where.
    radius : Rational, optional
        That of the drops; None for values.
    """

    def __init__(self, shape: OnSpan, segments: Segments, radius: Rational | None) -> None:
        self.shape, self.segments, self.radius = shape, segments, radius

    def line(self, k: int) -> Line:
        """Return the line of a segment, exactly."""
        shape, own, kind = self.shape, int(self.segments.own[k]), int(self.segments.kinds[k])
        if self.radius is None:
            return Line(shape.slopes[own], shape.offsets[own])
        if kind == GIVEN:
            return self.segments.given[k]
        return exact_line(shape, self.radius, own, kind, int(self.segments.where[k]))

    @cached_property
    def _numbers(self) -> tuple[Twofold, Twofold, Mask]:
        """Slopes and offsets of all segments, and whether they are attained; nothing where the line is given."""
        shape, (_, own, kinds, index, *_) = self.shape, self.segments
        if self.radius is None:
            return shape.rates.take(own), shape.shifts.take(own), np.ones(len(own), np.bool_)
        is_knot, is_left, is_right = kinds == KNOT, kinds == LEFT, kinds == RIGHT
        moves = is_left | is_right
        is_same = moves & (index == own)  # the row and the end of its region are on one piece
        piece = np.where(moves, index, own)
        nothing = Twofold.zeros(len(own))
        rates, ends = shape.rates.take(own), shape.rates.take(piece)
        slopes = rates.minus(ends.where(moves & ~is_same, nothing))
        slopes = slopes.where(is_knot | (moves & ~is_same), nothing)
        way = ends.times(Twofold.of([self.radius]))
        way = way.where(is_left, -way)  # the drop grows by what the end lies lower
        knots = np.where(is_knot, index, 0)
        depths = shape.depths.take(knots) if len(shape.knots) else nothing
        offsets = shape.shifts.take(own).minus(depths.where(is_knot, shape.shifts.take(piece)))
        offsets = way.where(is_same, offsets.plus(way).where(moves, offsets))
        offsets = offsets.where(is_knot | moves, nothing)
        is_attained = ~(is_knot & shape.is_approached[knots]) if len(shape.knots) else ~is_knot
        return slopes, offsets, is_attained

    def entries(self, chosen: Indices, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Return bases at some places, each on a segment, slopes, and the errors of the bases where a slope is 0."""
        slopes, offsets, is_attained = self._numbers
        slopes = slopes.take(chosen)
        slope, is_slope = slopes.rounded(lambda k: self.line(chosen[k]).slope)
        found = slopes.times(Twofold.exact(at)).plus(offsets.take(chosen))
        base, is_base = found.rounded(lambda k: self.line(chosen[k]).at(rational(float(at[k]))))
        error = np.where(is_base & is_attained[chosen], 0.0, ROUNDING * np.abs(base) * WIDER + TINY)
        error[(base == 0) & is_base & (slope == 0)] = 0.0  # the row itself attains a drop of 0
        bad = ~np.isfinite(base) | ~np.isfinite(slope) | ((slope == 0) & ~is_slope)
        base[bad] = slope[bad] = error[bad] = np.nan
        for k in np.flatnonzero(self.segments.kinds[chosen] == GIVEN).tolist():
            base[k], slope[k], error[k] = line_entry(self.line(chosen[k]), rational(float(at[k])))
        return base, slope, error

    def changes(self, where: Indices, is_known: Mask) -> Mask:
        """Return at which places, on whose right side the segments `where` lie, another line begins, or is known to."""
        found = is_known.copy()
        found[0] = True
        places = 1 + np.flatnonzero(~found[1:])
        before, after = where[places - 1], where[places]
        is_other = np.zeros(len(places), np.bool_)
        for part in (self.segments.own, self.segments.kinds, self.segments.where):
            is_other |= part[before] != part[after]
        is_other |= (self.segments.kinds[after] == GIVEN) & (before != after)
        places, before, after = places[is_other], before[is_other], after[is_other]
        found[places] = True
        slopes, offsets, _ = self._numbers
        is_told = np.zeros(len(places), np.bool_)
        for numbers in (slopes, offsets):
            difference = numbers.take(before).minus(numbers.take(after))
            is_told |= difference.is_positive | difference.is_negative
        is_told &= (self.segments.kinds[before] != GIVEN) & (self.segments.kinds[after] != GIVEN)
        for k in np.flatnonzero(~is_told).tolist():
            found[places[k]] = self.line(before[k]) != self.line(after[k])
        return found
