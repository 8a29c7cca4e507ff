"""Places that show how far features can lower a claim's score: at the question's radius, at another, or just beyond it.

In: a case, or its constraints as functions of the radius. Out: for each constraint and feature a fall, as certificates
count it, and the place that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from flint import fmpq, fmpz

from suffice.certificate.cells import Seen
from suffice.core.case import Case
from suffice.core.constraint import Constraint, Drop
from suffice.core.drops import Worst, bound_drops, enclose_drops
from suffice.core.enclosed_path import EnclosedPath
from suffice.core.extent import goes_on
from suffice.core.radius_path import RadiusPath
from suffice.numbers.enclosure import FIRST_BITS
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.surd import upper
from suffice.numbers.values import Missing, Value
from suffice.question.documents import Json
from suffice.question.region import Region
from suffice.shapes.pieces import Pieces

Ordered: TypeAlias = tuple[Rational, Rational]  # value + edge · ε
NOTHING: Ordered = (ZERO, ZERO)


class NotShownError(Exception):
    """Something is so, but no place that was looked at shows it: closer ones may."""


def total(numbers: Sequence[Ordered]) -> Ordered:
    """Return the sum of ordered numbers."""
    return sum((one[0] for one in numbers), ZERO), sum((one[1] for one in numbers), ZERO)


class Shown(NamedTuple):
    """For each constraint and feature a fall, and the place that shows it as it is written; None for the row."""

    falls: tuple[tuple[Ordered, ...], ...]
    places: tuple[tuple[Json | None, ...], ...]


def place_document(value: Value, side: int = 0) -> Json:
    """Return a value of a feature, or one infinitely close to it on a side, as certificates write it."""
    if isinstance(value, fmpq):
        return {"number": f"{value}{'+e' if side > 0 else '-e' if side < 0 else ''}"}
    return {"missing": True} if isinstance(value, Missing) else {"label": value}


def loose_limits(constraints: Sequence[Constraint], charges: Sequence[Rational]) -> list[Ordered]:
    """Return for each constraint what a sum of falls must exceed to break it for certain."""
    return [
        (one.margin + one.gap + charge, fmpq(-1 if one.is_strict else 0))
        for one, charge in zip(constraints, charges, strict=True)
    ]


def shown_at(case: Case) -> Shown:
    """Return what is in reach at the question's own radius."""
    if case.compiled.is_enclosed:
        return _enclosed(Seen.of(case), [one.outer.drops for one in case.constraints], case.worst, case.row, case.bits)
    found = []
    for constraint, cases, (enough, _) in zip(
        case.constraints, case.worst, loose_limits(case.constraints, case.charges), strict=True
    ):
        row = zip(constraint.drops, cases, case.row, strict=True)
        found.append([_inside(drop, worst, x, enough, len(case.row), case.bits) for drop, worst, x in row])
    return _shown(found)


def shown_within(path: RadiusPath, radius: Rational | None, bits: int) -> Shown:
    """Return what is in reach at a radius, least values that no number attains to so many bits."""
    return _shown([[_by(path, way, bits) for way in ways] for ways in _ways(path, path.region(radius))])


def shown_smooth(case: Case, path: EnclosedPath, radius: Rational | None) -> Shown:
    """Return what is in reach at a radius, for a model with smooth shapes."""
    each = zip(path.functions, path.known, strict=True)
    found = [enclose_drops(functions, here, path.row, path.region(radius), path.bits) for functions, here in each]
    return _enclosed(Seen.of(case), [one.floors for one in found], [one.worst for one in found], path.row, path.bits)


def _enclosed(
    seen: Seen, drops: Sequence[Sequence[Drop]], worst: Sequence[Sequence[Worst]], row: Sequence[Value], bits: int
) -> Shown:
    """Return falls at places as the checker counts them, whose numbers are not quite those of the search."""
    found = []
    for c, (some, cases) in enumerate(zip(drops, worst, strict=True)):
        falls: list[Fall] = []
        for i, (drop, case, x) in enumerate(zip(some, cases, row, strict=True)):
            if case.function.is_exact:
                falls.append(_inside(drop, case, x, ZERO, len(row), bits))
                continue
            fall, place = seen.fall(c, i, case.infimum.at), place_document(case.infimum.at)
            falls.append((fall, place) if fall > NOTHING else (NOTHING, None))
        found.append(falls)
    return _shown(found)


def shown_beyond(path: RadiusPath, radius: Rational) -> Shown:
    """Return what is in reach at every larger radius, however little."""
    found = []
    for c, ways in enumerate(_ways(path, path.beyond(radius))):
        best = [_further(path, c, i, way, radius) for i, way in enumerate(ways)]
        found.append([_by(path, way, FIRST_BITS) for way in best])
    return _shown(found)


class _Way(NamedTuple):
    """How far a feature can lower a constraint, and by what: a worst case, or a place."""

    drop: Drop
    by: Worst | tuple[Rational, int]
    x: Value
    enough: Rational


Fall: TypeAlias = tuple[Ordered, Json | None]


def _shown(found: Sequence[Sequence[Fall]]) -> Shown:
    falls = tuple(tuple(fall for fall, _ in row) for row in found)
    return Shown(falls, tuple(tuple(place for _, place in row) for row in found))


def _ways(path: RadiusPath, region: Region) -> list[list[_Way]]:
    found = []
    for functions, here, constraint in zip(path.functions, path.here, path.constraints, strict=True):
        enough = constraint.margin + constraint.gap
        drops, worst = bound_drops(functions, here, path.row, region)
        each = zip(drops, worst, path.row, strict=True)
        found.append([_Way(drop, case, x, enough) for drop, case, x in each])
    return found


def _further(path: RadiusPath, c: int, i: int, within: _Way, radius: Rational) -> _Way:
    """Return the way that lowers most; of equal ones one that falls on, then one whose drop is attained."""
    x, unit, function = path.row[i], path.units[i], path.functions[c][i]
    spans = path.domains[i].spans
    if not isinstance(x, fmpq) or not unit or not any(span.holds(x) for span in spans):  # a code stays as it is
        return within
    assert isinstance(function, Pieces)
    ways = [within]
    for side in (-1, 1):
        end = x + side * radius * unit
        if any(goes_on(span, end, side) for span in spans):
            k = function.segment_after(end) if side > 0 else function.segment_before(end)
            slope = function.slopes[k]
            edge = 0 if not slope else 1 if slope * side < 0 else -1
            drop = Drop(False, path.here[c][i] - slope * end - function.offsets[k], edge)
            ways.append(within._replace(drop=drop, by=(end, side)))
    return max(ways, key=lambda way: way.drop)  # the first of equal ones


def _by(path: RadiusPath, way: _Way, bits: int) -> Fall:
    if isinstance(way.by, Worst):
        return _inside(way.drop, way.by, way.x, way.enough, len(path.row), bits)
    fall = way.drop.value, _edge(way.drop.edge, len(path.row))
    return (fall, place_document(*way.by)) if fall > NOTHING else (NOTHING, None)


def _inside(drop: Drop, worst: Worst, x: Value, enough: Rational, count: int, bits: int) -> Fall:
    """Return where a drop is attained or approached; for an infinite one, a value that lowers by more than `enough`.

    For one that is approached beside a number that is not rational: a value that lowers as much, to so many bits.
    """
    if drop.is_infinite:  # any value that breaks the constraint all by itself
        here = worst.function(x)
        value = worst.value_at_most(here - enough - 1)
        return (here - worst.function(value), ZERO), place_document(value)
    if not drop.value:
        return NOTHING, None
    if drop.is_attained:
        return (drop.value, ZERO), place_document(worst.value_at_most(worst.infimum.value))
    assert isinstance(worst.infimum.at, fmpq)
    if not worst.infimum.side:
        value = worst.value_at_most(upper(worst.infimum.value, bits) + fmpq(1, fmpz(1) << bits))
        return (worst.function(x) - worst.function(value), ZERO), place_document(value)
    return (drop.value, _edge(drop.edge, count)), place_document(worst.infimum.at, worst.infimum.side)


def _edge(edge: int, count: int) -> Rational:
    # As the checker counts: one that falls on outweighs all that only come close.
    return fmpq(count if edge > 0 else edge)


def breaking_places(
    shown: Shown, limits: Sequence[Ordered], row: Sequence[Value], free: Sequence[int], most: int | None
) -> list[Json] | None:
    """Return an input that breaks a constraint by changing free features only; None if none is shown."""
    for falls, places, limit in zip(shown.falls, shown.places, limits, strict=True):
        movers = sorted((i for i in free if places[i] is not None), key=falls.__getitem__, reverse=True)[:most]
        for count in range(len(movers) + 1):
            if total([falls[i] for i in movers[:count]]) > limit:
                moved = set(movers[:count])
                return [places[i] if i in moved else place_document(x) for i, x in enumerate(row)]  # type: ignore[misc]
    return None
