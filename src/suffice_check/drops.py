"""How far a feature can lower each inequality: proven bounds from listed points, and values seen at witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from suffice_check.claims import Inequality, show
from suffice_check.model import Domain, Feature, Span
from suffice_check.reading import RejectedError, Value
from suffice_check.shapes import Outputs


class Drop(NamedTuple):
    """A supremum of falls, ordered: infinity above all; approached below attained, for no input reaches it."""

    is_infinite: bool
    value: Fraction
    is_attained: bool


INFINITE = Drop(True, Fraction(0), False)
NONE = Drop(False, Fraction(0), True)


class Constraint(NamedTuple):
    """An inequality seen from the row: by how much it holds there.

    Where that is known between two bounds only, it must hold with the smaller margin and break with the larger one.
    """

    inequality: Inequality
    margin: Fraction
    loose: Fraction

    def holds(self, drops: Iterable[Drop]) -> bool:
        """Whether it is proven to hold even if features that move independently fall so far together."""
        return not self._breaks(total(drops), self.margin)

    def breaks(self, drops: Iterable[Drop]) -> bool:
        """Whether it is proven to break somewhere, if features that move independently can fall so far."""
        return self._breaks(total(drops), self.loose)

    def _breaks(self, fall: Drop, margin: Fraction) -> bool:
        is_tie = fall.value == margin and self.inequality.is_strict and fall.is_attained
        return fall.is_infinite or fall.value > margin or is_tie


def total(drops: Iterable[Drop]) -> Drop:
    """Return the supremum of the sum; it is attained where every part is."""
    every = list(drops)
    value = sum((drop.value for drop in every), Fraction(0))
    return Drop(any(d.is_infinite for d in every), value, all(d.is_attained for d in every))


def fall(inequality: Inequality, before: Outputs, after: Outputs) -> Fraction:
    """Return how much an inequality loses where a feature's outputs change."""
    return inequality.of(before) - inequality.of(after)


def bound_drops(
    feature: Feature,
    x: Value,
    region: Domain,
    listed: Sequence[Fraction],
    inequalities: Sequence[Inequality],
    excluded: Sequence[Fraction] = (),
) -> list[Drop]:
    """Return each inequality's exact drop over a region, after proving that the shape is affine between points.

    Excluded points are ends of the region that do not belong to it.
    """
    shape, here = feature.shape, feature.shape.at(x, 0)
    points = [z * shape.scale + shape.center for z in listed]
    for left, right in pairwise(points):
        if left >= right:
            raise RejectedError("points", f"those of {feature.name!r} do not increase")
    for point in points:
        if not region.holds(point):
            raise RejectedError("points", f"one of {feature.name!r} lies outside its region")
    found = [[NONE] for _ in inequalities]

    def add(first: Outputs, second: Outputs, *, is_ray: bool = False) -> None:
        # An open piece comes as near as one likes to its ends, and attains what is between them only if constant.
        for drops, inequality in zip(found, inequalities, strict=True):
            a, b = fall(inequality, here, first), fall(inequality, here, second)
            if is_ray:
                drops.append(INFINITE if b > a else Drop(False, a, a == b))
            else:
                drops.append(Drop(False, max(a, b), a == b))

    for value in (*region.categories, *region.codes):
        add(shape.at(value, 0), shape.at(value, 0))
    for span in region.spans:
        nodes = _nodes(feature, span, points)
        for before, node in zip([None, *nodes], nodes, strict=False):  # in order: networks remember few places
            if node not in excluded:
                add(shape.at(node, 0), shape.at(node, 0))
            if before is not None and not (span.is_integers and node - before == 1):  # no integer between neighbours
                _check_affine(feature, before, node)
                add(shape.at(before, 1), shape.at(node, -1))
        if span.low is None:
            _check_affine(feature, None, nodes[0])
            add(shape.at(nodes[0], -1), shape.at(nodes[0] - 1, 0), is_ray=True)
        if span.high is None:
            _check_affine(feature, nodes[-1], None)
            add(shape.at(nodes[-1], 1), shape.at(nodes[-1] + 1, 0), is_ray=True)
    return [max(drops) for drops in found]


def _nodes(feature: Feature, span: Span, points: Sequence[Fraction]) -> list[Fraction]:
    # Merged in order, points increasing: in a set, fractions made to share one hash take quadratic time.
    nodes = [point for point in points if span.holds(point)]
    if span.low is not None and nodes[:1] != [span.low]:
        nodes.insert(0, span.low)
    if span.high is not None and nodes[-1:] != [span.high]:
        nodes.append(span.high)
    if not nodes:
        raise RejectedError("points", f"{feature.name!r} needs one in a span without ends")
    return nodes


def _check_affine(feature: Feature, left: Fraction | None, right: Fraction | None) -> None:
    if not feature.shape.is_affine(left, right):
        ends = " and ".join("infinity" if end is None else show(end) for end in (left, right))
        raise RejectedError("points", f"{feature.name!r} is not proven affine between {ends}: a breakpoint is missing")


class Witness(NamedTuple):
    """A value of a feature, or (side -1 or 1) values as close to it as one likes on one side.

    Where the shape is affine up to `to` and falls on the way, values on that side are lower than their limit.
    """

    value: Value
    side: int
    to: Fraction | None = None


def witness_drop(
    feature: Feature,
    x: Value,
    region: Domain,
    witness: Witness | None,
    inequality: Inequality,
    *,
    is_beyond: bool = False,
) -> Drop:
    """Return a drop that values of the region (or beyond: as close to it as one likes) attain or approach."""
    if witness is None:
        return NONE
    value, side, to = witness
    beside = feature.domain if is_beyond else region
    if to is not None and not is_beyond:
        raise RejectedError("witnesses", f"that of {feature.name!r} goes on, and only beyond a radius may one")
    if not region.holds(value) or (side and not _has_beside(beside, value, side)):
        raise RejectedError("witnesses", f"that of {feature.name!r} lies outside its region")
    seen = fall(inequality, feature.shape.at(x, 0), feature.shape.at(value, side))
    return max(NONE, Drop(False, seen, side == 0))


def _has_beside(region: Domain, value: Value, side: int) -> bool:
    """Whether all numbers close enough to a value on one side are in a region."""
    return isinstance(value, Fraction) and any(
        not span.is_integers and span.holds(value) and value != (span.high if side > 0 else span.low)
        for span in region.spans
    )


def grows(feature: Feature, x: Value, witness: Witness | None, inequality: Inequality) -> bool:
    """Whether an inequality is proven to fall further just beside a witness than at it, and not to rise before."""
    if witness is None or witness.to is None or not isinstance(witness.value, Fraction):
        return False
    at, side, to = witness.value, witness.side, witness.to
    if (to - at) * side <= 0 or not any(
        span.holds(at) and span.holds(to) and not span.is_integers for span in feature.domain.spans
    ):
        raise RejectedError("beyond", f"the way of {feature.name!r} leaves its domain")
    _check_affine(feature, min(at, to), max(at, to))
    shape, start = feature.shape, feature.shape.at(at, side)
    return fall(inequality, shape.at(x, 0), start) >= 0 and fall(inequality, start, shape.at(to, -side)) > 0
