"""How far a feature can lower each inequality: proven bounds from listed points, and values seen at witnesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from suffice_check.claims import Inequality
from suffice_check.model import Domain, Feature, Span
from suffice_check.reading import RejectedError, Value
from suffice_check.shapes import Outputs, is_increasing
from suffice_check.words import show


class Drop(NamedTuple):
    """A supremum of falls, ordered: infinity above all; approached below attained, for no input reaches it."""

    is_infinite: bool
    value: Fraction
    edge: int  # 0: attained; -1: only approached; 1: exceeded, however little further features may move


INFINITE = Drop(True, Fraction(0), 0)
NONE = Drop(False, Fraction(0), 0)


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
        is_tie = fall.value == margin and fall.edge >= (0 if self.inequality.is_strict else 1)
        return fall.is_infinite or fall.value > margin or is_tie


def total(drops: Iterable[Drop]) -> Drop:
    """Return the supremum of the sum: attained where every part is, exceeded where one is and the others come close."""
    every = list(drops)
    value, edges = sum((drop.value for drop in every), Fraction(0)), [drop.edge for drop in every]
    return Drop(any(drop.is_infinite for drop in every), value, max(edges, default=0) or min(edges, default=0))


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
    if not is_increasing(points):
        raise RejectedError("points", f"those of {feature.name!r} do not increase")
    if not all(map(region.holds, points)):
        raise RejectedError("points", f"one of {feature.name!r} lies outside its region")
    found, levels = [NONE] * len(inequalities), [inequality.of(here) for inequality in inequalities]

    def add(first: Outputs, second: Outputs, *, is_ray: bool = False) -> None:
        # An open piece comes as near as one likes to its ends, and attains what is between them only if constant.
        for c, (inequality, level) in enumerate(zip(inequalities, levels, strict=True)):
            a, b = level - inequality.of(first), level - inequality.of(second)
            seen = INFINITE if is_ray and b > a else Drop(False, a if is_ray else max(a, b), 0 if a == b else -1)
            found[c] = max(found[c], seen)

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
    return found


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

    Beyond a radius, `to` says how far on that side the shape is affine: where it falls on the way, values there are
    lower than their limit; where it is constant, they attain it.
    """

    value: Value
    side: int
    to: Fraction | None = None


def witness_drop(
    feature: Feature, x: Value, region: Domain, witness: Witness | None, inequality: Inequality, is_beyond: bool = False
) -> Drop:
    """Return a drop that values of the region (or beyond: as close to it as one likes) attain, approach or exceed."""
    if witness is None:
        return NONE
    value, side, to = witness
    beside = feature.domain if is_beyond else region
    if to is not None and not is_beyond:
        raise RejectedError("witnesses", f"that of {feature.name!r} goes on, and only beyond a radius may one")
    if not region.holds(value) or (side and not _has_beside(beside, value, side)):
        raise RejectedError("witnesses", f"that of {feature.name!r} lies outside its region")
    level = inequality.of(feature.shape.at(value, side))
    edge = -1 if side else 0
    if to is not None:
        if not isinstance(value, Fraction) or (to - value) * side <= 0:
            raise RejectedError("beyond", f"the way of {feature.name!r} leads back")
        _check_affine(feature, min(value, to), max(value, to))
        end = inequality.of(feature.shape.at(to, -side))
        edge = (end < level) - (end > level)
    return max(NONE, Drop(False, inequality.of(feature.shape.at(x, 0)) - level, edge))


def _has_beside(region: Domain, value: Value, side: int) -> bool:
    """Whether all numbers close enough to a value on one side are in a region."""
    return isinstance(value, Fraction) and any(
        not span.is_integers and span.holds(value) and value != (span.high if side > 0 else span.low)
        for span in region.spans
    )
