"""Certificates of ranges in models with terms over two features.

In: the ranges of features, and what lies just beyond their ends. Out: evidence by messages that the claim holds within
all ranges together, and for each end an input that breaks it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace

from flint import fmpq

from suffice.certificate.joint import in_time, sides, touched
from suffice.certificate.messages import Sender, fits
from suffice.certificate.witnesses import place_document
from suffice.certificate.written_messages import Written
from suffice.core.case import Case
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.landscape import Landscape, Spot
from suffice.core.room import only, spots_of
from suffice.core.worst_case import worst
from suffice.errors import BudgetEnded
from suffice.model.domain import Domain
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.shapes.infimum import Infimum
from suffice.solvers.halved_ranges import domain_part
from suffice.solvers.ranges import AllowedRange

Place = tuple[Value, int]  # a value, and on which side of it, infinitely close


def range_evidence(case: Case, ranges: Sequence[tuple[int, AllowedRange]], beyond: Sequence[tuple[int, Place]]) -> Json:
    """Return why features may move in ranges; `beyond`: which ranges end, each by its number, and what comes then."""
    ranged, both = [i for i, _ in ranges], sides(case)
    free = [i for i in case.features if i not in set(ranged)]
    try:
        holds = [
            Sender(one, [*free, *ranged], fits(one.max_changed, ranged)).prove()
            for one in _in_ranges(case, both.inner, free, ranges)
        ]
        inputs = [_breaking(case, both.outer, free, ranges[:place], (ranged[place], at)) for place, at in beyond]
    except BudgetEnded:
        raise in_time(case) from None
    how = Written(case.model, holds, is_short=False)
    return {"inputs": inputs, "bins": how.bins, "messages": [how.steps(one) for one in holds]}


def _in_ranges(
    case: Case, constraints: Sequence[Joint], free: Sequence[int], ranges: Sequence[tuple[int, AllowedRange]]
) -> tuple[Joint, ...]:
    """Return what must hold while features are in ranges."""
    if not case.compiled.has_tangents:
        return tuple(replace(one, ground=_within(case, one, free, ranges)) for one in constraints)
    region = [case.region[k] if k in free else only(x) for k, x in enumerate(case.row)]
    for i, one in ranges:  # ends that are found by halving belong to a range
        whole = case.model.domains[i]
        region[i] = Domain(categories_=one.values) if one.values else domain_part(whole, one.low.at, one.high.at)
    return touched(case, constraints, within=region)


def varies_along(case: Case, features: Sequence[int]) -> bool:
    """Whether a pair term varies along one of some features within its cells."""
    ladders = [one.ground.landscape.ladders for one in sides(case).inner]
    return any(any(some[i].varies) for some in ladders for i in features)


def _within(
    case: Case,
    constraint: Joint,
    free: Sequence[int],
    ranges: Sequence[tuple[int, AllowedRange]],
    extra: Mapping[int, Spot] | None = None,
) -> Ground:
    """Return the row with features free in their region or in ranges; of some, one more spot."""
    landscape, region, more = constraint.ground.landscape, list[Domain](), list[list[Spot]]()
    known, others = dict(ranges), extra or {}
    for k, x in enumerate(case.row):
        one, spots = known.get(k), [others[k]] if k in others else []
        if one is not None and not one.values:
            spots += spots_of(landscape, case.row, k, one.reach(case.model.domains[k]))
        labelled = None if one is None or not one.values else Domain(categories_=one.values)
        region.append(labelled or (case.region[k] if k in free else only(x)))
        more.append(spots)
    return Ground(landscape, case.row, region, deadline=constraint.ground.deadline, extra=more)


def _breaking(
    case: Case,
    constraints: Sequence[Joint],
    free: Sequence[int],
    before: Sequence[tuple[int, AllowedRange]],
    leaves: tuple[int, Place],
) -> list[Json]:
    """Return an input outside a range, others in theirs or in the region, that breaks the claim."""
    i, at = leaves
    always = [i, *(k for k, _ in before)]
    for constraint in constraints:
        spot = _spot(constraint.ground.landscape, i, at)
        ground = _within(case, constraint, free, before, {i: spot})
        moves = ground.graph.moves.copy()
        for k in always:  # they do not count among the changes
            moves[ground.graph.first[k] : ground.graph.first[k + 1]] = 0
        most = len(case.row) if constraint.max_changed is None else constraint.max_changed
        found = worst(ground, [*free, *always], most, moves)
        if not constraint.allows(found.fall):
            spots = [ground.spot(k, label).infimum for k, label in enumerate(found.labels)]
            return [place_document(one.at, one.side) for one in spots]
    raise AssertionError("nothing breaks the claim beyond a range that is said to be widest")


def _spot(landscape: Landscape, i: int, place: Place) -> Spot:
    """Return a place of a feature along which no pair term varies."""
    ladder, (at, side) = landscape.ladders[i], place
    if not side:
        return Spot.of(ladder.axis.cell_of(at), Infimum.attained(ladder.function(at), at))
    assert isinstance(at, fmpq)
    cuts, function = ladder.axis.cuts, ladder.line
    cell = bisect_right(cuts, (at, 1)) if side > 0 else bisect_left(cuts, (at, 0))
    k = function.segment_after(at) if side > 0 else function.segment_before(at)
    slope = function.slopes[k]
    edge = 0 if not slope else 1 if slope * side < 0 else -1
    return Spot(cell, Infimum.limit(slope * at + function.offsets[k], at, side, slope), None, edge)
