"""The usual kind of compiled function: affine between rational knots, with jumps, on all of ℝ.

In: knots and the affine pieces between them, or a linear combination of such functions.
Out: exact values, and the exact infimum over an interval with the place where it lies.
Guaranteed: no rounding anywhere; two equal functions have equal knots and pieces.

A function may also have values at labels (categories, "missing"), which lie beside the real line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import sub
from typing import Any

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float
from suffice.numbers.values import Label, Value
from suffice.shapes.function import Function
from suffice.shapes.infimum import Infimum, RangeMinimum


@dataclass(frozen=True)
class Pieces(Function):
    """Function of one variable in exact arithmetic.

    Parameters
    ----------
    knots : tuple of Rational
        Strictly increasing; none at all for an affine function.
    slopes, offsets : tuple of Rational
        One more than knots: between knots `k - 1` and `k` the function is `slopes[k] * t + offsets[k]`.
    values : tuple of Rational
        The value at each knot; where the function jumps it may differ from the pieces on either side.
    labels : mapping of Label to Rational
        Values beside the real line.

    Examples
    --------
    >>> relu = Pieces((ZERO,), (ZERO, ONE), (ZERO, ZERO), (ZERO,))
    >>> relu(fmpq(-1)), relu(fmpq(1, 3))
    (0, 1/3)
    >>> relu.infimum(fmpq(1), fmpq(2)).value
    1
    """

    knots: tuple[Rational, ...]
    slopes: tuple[Rational, ...]
    offsets: tuple[Rational, ...]
    values: tuple[Rational, ...]
    labels: Mapping[Label, Rational] = field(default_factory=dict)

    def __post_init__(self) -> None:
        assert len(self.slopes) == len(self.offsets) == len(self.knots) + 1 == len(self.values) + 1

    @cached_property
    def negated(self) -> Pieces:
        """The function times -1; what is worked out for one of the two serves the other (`mirrored`)."""
        turned = ([-one for one in column] for column in (self.slopes, self.offsets, self.values))
        slopes, offsets, values = map(tuple, turned)
        found = Pieces(self.knots, slopes, offsets, values, {label: -value for label, value in self.labels.items()})
        found.__dict__.update(mirrored=self, has_no_jumps=self.has_no_jumps, _float_knots=self._float_knots)
        return found

    @cached_property
    def mirrored(self) -> Pieces | None:
        """The function of which this one is the `negated`."""
        return None

    @cached_property
    def sum_of(self) -> tuple[tuple[Rational, Pieces], ...] | None:
        """The factors and functions of which this one is the sum, where that is known."""
        return None

    @cached_property
    def has_no_jumps(self) -> bool:
        """Whether the function is known to be continuous; where it is not known, it may be all the same."""
        return False

    @cached_property
    def near(self) -> tuple[NDArray[np.float64], ...]:
        """The nearest floats of knots, slopes, offsets, and of the lowest at each knot and on either side of it."""
        slopes, offsets = ([nearest_float(one) for one in column] for column in (self.slopes, self.offsets))
        return tuple(np.array(one, np.float64) for one in (self._float_knots, slopes, offsets, self._lowest.floats))

    @cached_property
    def on_spans(self) -> dict[Any, Any]:
        """What many rows need of the function, by span; kept here by `batch.on_span`."""
        return {}

    @classmethod
    def affine(cls, slope: Rational, offset: Rational) -> Pieces:
        """Return `t -> slope * t + offset`."""
        return cls((), (slope,), (offset,), ())

    @classmethod
    def tidy(
        cls,
        knots: Sequence[Rational],
        slopes: Sequence[Rational],
        offsets: Sequence[Rational],
        values: Sequence[Rational],
        labels: Mapping[Label, Rational] | None = None,
    ) -> Pieces:
        """Return the function without the knots where nothing happens."""
        kept = [
            k
            for k, knot in enumerate(knots)
            if slopes[k] != slopes[k + 1] or offsets[k] != offsets[k + 1] or values[k] != slopes[k] * knot + offsets[k]
        ]
        if len(kept) == len(knots):
            return cls(tuple(knots), tuple(slopes), tuple(offsets), tuple(values), dict(labels or {}))
        after = [0, *(k + 1 for k in kept)]
        return cls(
            tuple(knots[k] for k in kept),
            tuple(slopes[k] for k in after),
            tuple(offsets[k] for k in after),
            tuple(values[k] for k in kept),
            dict(labels or {}),
        )

    def __call__(self, at: Value) -> Rational:
        """Return the exact value at a number or a label."""
        if not isinstance(at, fmpq):
            return self.labels[at]
        k = self.segment_before(at)
        if k < len(self.knots) and self.knots[k] == at:
            return self.values[k]
        return self.slopes[k] * at + self.offsets[k]

    def rescaled(self, center: Rational, scale: Rational) -> Pieces:
        """Return `x -> self((x - center) / scale)` for a scale other than 0; labels keep their values."""
        knots = tuple(knot * scale + center for knot in self.knots)
        slopes = tuple(slope / scale for slope in self.slopes)
        offsets = tuple(
            offset - slope * center if center else offset for slope, offset in zip(slopes, self.offsets, strict=True)
        )
        way = 1 if scale > 0 else -1
        found = Pieces(knots[::way], slopes[::way], offsets[::way], self.values[::way], self.labels)
        found.__dict__["has_no_jumps"] = self.has_no_jumps
        return found

    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Pieces:
        """Return the function with other values at some numbers and labels."""
        knots = sorted({*self.knots, *points})
        # The piece between two of the new knots is the one whose range holds a point just after the first.
        segments = [0, *(self.segment_after(knot) for knot in knots)]
        values = [points[knot] if knot in points else self(knot) for knot in knots]
        slopes, offsets = [self.slopes[k] for k in segments], [self.offsets[k] for k in segments]
        return Pieces.tidy(knots, slopes, offsets, values, {**self.labels, **labels})

    def with_labels(self, labels: Mapping[Label, Rational]) -> Pieces:
        """Return the function with these labels in place of its own."""
        return Pieces(self.knots, self.slopes, self.offsets, self.values, labels)

    @cached_property
    def on_integers(self) -> Pieces:
        """The continuous function that agrees with this one on the integers and is affine between them.

        Its knots are integers, so its infimum between two integers is attained at an integer. Only the
        integers next to a knot can be knots: elsewhere three neighbours lie on one piece.
        """
        if not self.knots:
            return self
        if self.sum_of is not None:  # sums of what agrees on the integers do, and are affine between them
            if all(part.on_integers is part for _, part in self.sum_of):
                return _on_integers(self)
            return _on_integers(combine((factor, part.on_integers) for factor, part in self.sum_of))
        near: set[fmpz] = set()
        for knot in self.knots:
            # A piece may end, or the value may jump, at an integer knot: then its two neighbours matter too.
            below, above = knot.ceil() - 1, knot.floor() + 1
            near.update((below, knot.floor(), above))
        knots = [fmpq(integer) for integer in sorted(near)]
        values = [self(knot) for knot in knots]
        slopes, offsets = [self.slopes[0]], [self.offsets[0]]
        for (left, low), (right, high) in pairwise(zip(knots, values, strict=True)):
            slopes.append((high - low) / (right - left))
            offsets.append(low - slopes[-1] * left)
        slopes.append(self.slopes[-1])
        offsets.append(self.offsets[-1])
        return _on_integers(Pieces.tidy(knots, slopes, offsets, values, self.labels))

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the closed interval from `low` to `high` (None: without end on that side).

        An affine piece is lowest at one of its ends, so only the two ends of the interval and the knots
        inside it can matter. Of several places with the same value an attained one is reported, and the
        leftmost of these. A function without jumps always gets a point, never the end of an open piece.
        """
        if low is not None and low == high:
            return Infimum.attained(self(low), low)
        first = 0 if low is None else self.segment_after(low)
        last = len(self.knots) if high is None else self.segment_before(high)
        if (side := self.falls_for_ever(low is None, high is None)) != 0:
            return Infimum.unbounded(side)
        found = [self._lowest.best(first, last)] if first < last else []
        # A piece that falls away from an end of the interval is lower further inside, where another candidate is.
        if low is not None:
            is_knot = first > 0 and self.knots[first - 1] == low
            if is_knot:
                found.append(Infimum.attained(self.values[first - 1], low))
            if self.slopes[first] >= 0:
                found.append(self._at_end(low, first, 1, is_knot=is_knot))
        if high is not None:
            is_knot = last < len(self.knots) and self.knots[last] == high
            if is_knot:
                found.append(Infimum.attained(self.values[last], high))
            if self.slopes[last] <= 0:
                found.append(self._at_end(high, last, -1, is_knot=is_knot))
        # With no candidate at all this is one constant piece without ends.
        return min(found) if found else Infimum.attained(self.offsets[0], ZERO)

    def falls_for_ever(self, to_left: bool, to_right: bool) -> int:
        """Return the side on which the function falls without bound, of those that are asked about; 0 if on none."""
        return 1 if to_right and self.slopes[-1] < 0 else -1 if to_left and self.slopes[0] > 0 else 0

    def lowest_knot(self, first: int, last: int) -> Infimum | None:
        """Return the lowest of the values at knots `first` to `last - 1` and the limits on either side of these."""
        return self._lowest.best(first, last) if first < last else None

    def _at_end(self, end: Rational, k: int, side: int, *, is_knot: bool) -> Infimum:
        """Return what piece `k` offers at an end of the interval: its value there, or its limit where a knot is."""
        value = self.slopes[k] * end + self.offsets[k]
        if is_knot and value != self.values[k - 1 if side > 0 else k]:
            return Infimum.limit(value, end, side, self.slopes[k])
        return Infimum.attained(value, end)

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a point of the interval whose value is at most `target`.

        `infimum` is that of the interval; `target` lies above it, or equals it where it is attained.
        """
        assert isinstance(infimum.at, fmpq)
        if not infimum.is_bounded:
            return self._far_point(infimum.side, target, low if infimum.side > 0 else high)
        if infimum.side == 0:
            return infimum.at
        # The open piece beside `at` ends at the next knot or at the end of the interval, whichever comes first.
        k = self.segment_after(infimum.at) if infimum.side > 0 else self.segment_before(infimum.at)
        if infimum.side > 0:
            ends = [end for end in (*self.knots[k : k + 1], high) if end is not None]
            room = min(ends) - infimum.at if ends else ONE
        else:
            ends = [end for end in (*self.knots[max(k - 1, 0) : k], low) if end is not None]
            room = infimum.at - max(ends) if ends else ONE
        step = room / 2
        if infimum.is_approached:
            step = min(step, (target - infimum.value) / abs(self.slopes[k]))
        return infimum.at + step if infimum.side > 0 else infimum.at - step

    def _far_point(self, side: int, target: Rational, start: Rational | None) -> Rational:
        """Return an integer on the last piece towards a side, beyond `start`, with a value of at most `target`."""
        slope, offset = (self.slopes[-1], self.offsets[-1]) if side > 0 else (self.slopes[0], self.offsets[0])
        inner = [end for end in (start, self.knots[-1 if side > 0 else 0] if self.knots else None) if end is not None]
        crossing = (target - offset) / slope
        if side > 0:
            return fmpq(max([*inner, crossing]).floor() + 1)
        return fmpq(min([*inner, crossing]).ceil() - 1)

    @cached_property
    def _lowest(self) -> RangeMinimum:
        return RangeMinimum([self._lowest_at_knot(k) for k in range(len(self.knots))])

    def _lowest_at_knot(self, k: int) -> Infimum:
        """Return the lowest of the value at a knot and the limits of the pieces on either side."""
        knot, value = self.knots[k], self.values[k]
        here = Infimum.attained(value, knot)
        if self.has_no_jumps:
            return here
        left = self.slopes[k] * knot + self.offsets[k]
        right = self.slopes[k + 1] * knot + self.offsets[k + 1]
        if left >= value and right >= value:
            return here
        beside = (Infimum.limit(left, knot, -1, self.slopes[k]), Infimum.limit(right, knot, 1, self.slopes[k + 1]))
        return min(here, *beside)


def _on_integers(function: Pieces) -> Pieces:
    """Return a function that is affine between integers, and continuous, which says so of itself."""
    function.__dict__.update(on_integers=function, has_no_jumps=True)
    return function


def combine(parts: Iterable[tuple[Rational, Pieces]]) -> Pieces:
    """Return the linear combination `Σ factor · part`; a label must be known to all parts.

    A function is its leftmost piece and what changes at each knot: by how much slope and offset jump, and by
    how much the value at the knot departs from the piece before it. Changes at equal knots add up.
    """
    parts = list(parts)
    found = _combined(parts)
    if len(parts) > 1:
        found.__dict__["sum_of"] = tuple(parts)
    found.__dict__["has_no_jumps"] = all(part.has_no_jumps for _, part in parts)
    if parts and found.knots is parts[0][1].knots:
        found.__dict__["_float_knots"] = parts[0][1]._float_knots
    return found


def _combined(parts: Sequence[tuple[Rational, Pieces]]) -> Pieces:
    if parts and all(part.knots == parts[0][1].knots for _, part in parts):
        return _combine_alike(parts)
    slope, offset = ZERO, ZERO
    changes: dict[Rational, tuple[Rational, Rational, Rational]] = {}
    labels: dict[Label, Rational] | None = None
    for factor, part in parts:
        slope += factor * part.slopes[0]
        offset += factor * part.offsets[0]
        for k, knot in enumerate(part.knots):
            rise = factor * (part.slopes[k + 1] - part.slopes[k])
            shift = factor * (part.offsets[k + 1] - part.offsets[k])
            spike = factor * (part.values[k] - part.slopes[k] * knot - part.offsets[k])
            if knot in changes:
                before = changes[knot]
                rise, shift, spike = rise + before[0], shift + before[1], spike + before[2]
            changes[knot] = (rise, shift, spike)
        if labels is None:
            labels = dict.fromkeys(part.labels, ZERO)
        labels = {name: value + factor * part.labels[name] for name, value in labels.items() if name in part.labels}
    knots = sorted(changes)
    slopes, offsets, values = [slope], [offset], []
    for knot in knots:
        rise, shift, spike = changes[knot]
        values.append(slopes[-1] * knot + offsets[-1] + spike)
        slopes.append(slopes[-1] + rise)
        offsets.append(offsets[-1] + shift)
    return Pieces.tidy(knots, slopes, offsets, values, labels)


def _combine_alike(parts: Sequence[tuple[Rational, Pieces]]) -> Pieces:
    """Return the linear combination of functions with the same knots, as the outputs of one network are."""

    factors = [factor for factor, _ in parts]

    def weighted(columns: Iterable[Sequence[Rational]]) -> list[Rational]:
        if sorted(factors) == [-ONE, ONE]:  # one class against another
            return list(map(sub, *(columns if factors[0] == ONE else [*columns][::-1])))
        return [
            sum((factor * one for factor, one in zip(factors, row, strict=True)), ZERO)
            for row in zip(*columns, strict=True)
        ]

    _, first = parts[0]
    known = [label for label in first.labels if all(label in part.labels for _, part in parts)]
    labels = weighted([part.labels[label] for label in known] for _, part in parts)
    return Pieces.tidy(
        first.knots,
        weighted(part.slopes for _, part in parts),
        weighted(part.offsets for _, part in parts),
        weighted(part.values for _, part in parts),
        dict(zip(known, labels, strict=True)),
    )
