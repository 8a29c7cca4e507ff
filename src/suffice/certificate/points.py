"""Points that cut a region into pieces on which shapes are affine, unit by unit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from functools import singledispatch
from typing import NamedTuple
from weakref import WeakKeyDictionary

from flint import fmpq

from suffice.errors import CertificateError
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational
from suffice.question.region import Region
from suffice.shapes import PieceBudget, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.shape import Rescaled, Scaled, Sum

_ANY_PIECES = PieceBudget(2**62)  # what is listed was compiled before, within the user's own budget


class Bends(NamedTuple):
    """Where a feature's shape may bend or jump, in ascending order, and the same numbers as certificates write them."""

    places: tuple[Rational, ...]  # in the user's units
    texts: tuple[str, ...]  # in the units of the shape, which are shorter

    def between(self, low: Rational | None, high: Rational | None) -> slice:
        """Return which of them lie between two numbers (None: without end)."""
        first = 0 if low is None else bisect_right(self.places, low)
        return slice(first, len(self.places) if high is None else bisect_left(self.places, high))


_BENDS: WeakKeyDictionary[Compiled, dict[int, Bends]] = WeakKeyDictionary()  # made once for each model and feature


def affine_points(
    compiled: Compiled, region: Region, features: Collection[int], *, has_ends: bool = True
) -> list[list[str]]:
    """Return for each feature the points inside its region that cut it into affine pieces; none for other features.

    Where the ends do not belong to the region, the integers next to them are listed too.
    """
    chosen = set(features)
    return [_cuts(compiled, i, region[i], has_ends) if i in chosen else [] for i in range(len(region))]


def _cuts(compiled: Compiled, i: int, region: Domain, has_ends: bool) -> list[str]:
    """Return a feature's points in the order of its own values, but in the units of its shape, which are shorter."""
    feature, known = compiled.model.features[i], bends_of(compiled, i)
    if len(region.spans) == 1 and not region.spans[0].is_integers:
        (span,) = region.spans
        found = (
            [] if span.low is not None and span.low == span.high else known.texts[known.between(span.low, span.high)]
        )
        if found or span.low is not None or span.high is not None:
            return list(found)
    points = {point for span in region.spans for point in _inside(span, known, has_ends)}
    return [str((point - feature.center) / feature.scale) for point in sorted(points)]


def bends_of(compiled: Compiled, i: int) -> Bends:
    """Return where a feature's shape may bend or jump; sorted once, for all certificates of the model."""
    kept = _BENDS.setdefault(compiled, {})
    if i not in kept:
        feature = compiled.model.features[i]
        places = {z * feature.scale + feature.center: z for z in bends(compiled.model.mains[i].shape)}
        ascending = tuple(sorted(places))
        kept[i] = Bends(ascending, tuple(str(places[place]) for place in ascending))
    return kept[i]


def _inside(span: Span, known: Bends, has_ends: bool) -> Iterable[Rational]:
    """Return the bends inside a span, or the integers next to them; some point at all if it has no ends."""
    if span.low is not None and span.low == span.high:
        return []
    near: Iterable[Rational] = known.places[known.between(span.low, span.high)]
    if span.is_integers:
        ends = [] if has_ends else [end for end in (span.low, span.high) if end is not None]
        low, high = None if span.low is None else span.low - 1, None if span.high is None else span.high + 1
        beside = known.places[known.between(low, high)]
        # As in `Pieces.on_integers`: a function may bend or jump at an integer itself, so both neighbours matter.
        near = (fmpq(n) for bend in (*beside, *ends) for n in (bend.ceil() - 1, bend.floor(), bend.floor() + 1))
    found = [x for x in near if (span.low is None or x > span.low) and (span.high is None or x < span.high)]
    return found or ([ZERO] if span.low is None and span.high is None else [])


@singledispatch
def bends(shape: Shape) -> Iterable[Rational]:
    """Yield all inputs where a shape, or a unit inside it, may bend or jump."""
    raise CertificateError(f"there are no certificates yet for shapes of type {type(shape).__name__}")


@bends.register
def _(shape: ReluNetwork) -> Iterable[Rational]:
    return shape.lines(_ANY_PIECES).knots


@bends.register
def _(shape: Readout) -> Iterable[Rational]:
    return shape.basis.lines(_ANY_PIECES).knots


@bends.register
def _(shape: Steps) -> Iterable[Rational]:
    return shape.cuts


@bends.register
def _(shape: PiecewiseLinear) -> Iterable[Rational]:
    return shape.knots


@bends.register
def _(shape: Table) -> Iterable[Rational]:
    return [*shape.points, *(bends(shape.otherwise) if shape.otherwise is not None else ())]


@bends.register
def _(shape: Sum) -> Iterable[Rational]:
    return [bend for part in shape.parts for bend in bends(part)]


@bends.register
def _(shape: Scaled) -> Iterable[Rational]:
    return bends(shape.shape)


@bends.register
def _(shape: Rescaled) -> Iterable[Rational]:
    return [bend * shape.scale + shape.center for bend in bends(shape.shape)]
