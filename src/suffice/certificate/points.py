"""Points that cut a region into pieces on which shapes are affine, unit by unit."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import singledispatch

from flint import fmpq

from suffice.errors import CertificateError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational
from suffice.question.region import Region
from suffice.shapes import PieceBudget, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.shape import Rescaled, Scaled, Sum

_ANY_PIECES = PieceBudget(2**62)  # what is listed was compiled before, within the user's own budget


def affine_points(
    model: AdditiveModel, region: Region, features: Collection[int], *, has_ends: bool = True
) -> list[list[str]]:
    """Return for each feature the points inside its region that cut it into affine pieces; none for other features.

    Where the ends do not belong to the region, the integers next to them are listed too.
    """
    return [_cuts(model, i, region[i], has_ends) if i in features else [] for i in range(len(model.features))]


def _cuts(model: AdditiveModel, i: int, region: Domain, has_ends: bool) -> list[str]:
    """Return a feature's points in the order of its own values, but in the units of its shape, which are shorter."""
    feature, places = model.features[i], bends_of(model, i)
    points = {point for span in region.spans for point in _inside(span, places, has_ends)}
    return [str((point - feature.center) / feature.scale) for point in sorted(points)]


def bends_of(model: AdditiveModel, i: int) -> set[Rational]:
    """Return where a feature's shape may bend or jump, in the user's units."""
    feature = model.features[i]  # today its one term is the term of the same place
    return {z * feature.scale + feature.center for z in bends(model.terms[i].shape)}


def _inside(span: Span, places: Iterable[Rational], has_ends: bool) -> Iterable[Rational]:
    """Return the bends inside a span, or the integers next to them; some point at all if it has no ends."""
    if span.low is not None and span.low == span.high:
        return []
    near: Iterable[Rational] = places
    if span.is_integers:
        ends = [] if has_ends else [end for end in (span.low, span.high) if end is not None]
        # As in `Pieces.on_integers`: a function may bend or jump at an integer itself, so both neighbours matter.
        near = (fmpq(n) for bend in (*places, *ends) for n in (bend.ceil() - 1, bend.floor(), bend.floor() + 1))
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
