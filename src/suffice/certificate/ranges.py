"""Certificates of ranges: fixed features may move in them together, and each is as wide as those before it allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import fmpq

from suffice.certificate import joint
from suffice.certificate.cells import Seen
from suffice.certificate.document import Certificate, PathLike, closely, write
from suffice.certificate.joint_ranges import Place, range_evidence, varies_along
from suffice.certificate.witnesses import Ordered, Shown, loose_limits, place_document, shown_at, total
from suffice.core.case import Case
from suffice.core.constraint import Drop
from suffice.core.constraint import total as total_drop
from suffice.core.drops import enclose_drops
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.question.documents import Json
from suffice.shapes.combining import straight
from suffice.shapes.pieces import Pieces
from suffice.solvers.halved_ranges import domain_part
from suffice.solvers.ranges import AllowedRange


@closely
def certify_ranges(
    case: Case, ranges: Sequence[tuple[int, AllowedRange]], is_widest: bool, model_file: PathLike | None
) -> Certificate:
    """Return the proof that features may move in ranges; just beyond each end an input breaks the claim.

    The second is not shown where a pair term varies along one of the features within its cells, nor where ends are
    looked for by halving, as those of curved and smooth shapes are.
    """
    if case.compiled.is_curved:
        is_widest = False
        _cover(case, ranges)
    is_widest = is_widest and not (case.model.pairs and varies_along(case, [i for i, _ in ranges]))
    beyond = [
        (place, at)
        for place, (i, one) in enumerate(ranges)
        for at in (just_beyond(case.model.domains[i], one) if is_widest else ())
    ]
    result = {
        "kind": "inflation",
        "ranges": [{"feature": i, **_range_document(one)} for i, one in ranges],
        "is_widest": is_widest,
    }
    if case.model.pairs:
        return joint.written(case, result, range_evidence(case, ranges, beyond), model_file)
    ranged = [i for i, _ in ranges]
    free, shown = [i for i in case.features if i not in set(ranged)], shown_at(case)
    inputs = [_breaking(case, shown, free, ranges[:place], (ranged[place], at)) for place, at in beyond]
    return write(case, result=result, evidence={"inputs": inputs}, model_file=model_file)


def _cover(case: Case, ranges: Sequence[tuple[int, AllowedRange]]) -> None:
    """Find cells over which the checker sees that smooth features may move in ranges, the others in the region."""
    if not case.compiled.is_enclosed or case.compiled.has_tangents:
        return
    region, ranged = list(case.region), [i for i, _ in ranges]
    for i, one in ranges:
        domain = case.model.domains[i]
        region[i] = Domain(categories_=one.values) if one.values else domain_part(domain, one.low.at, one.high.at)
    free = [i for i in case.features if i not in set(ranged)]
    drops: list[list[Drop]] = []
    spare: list[Rational] = []
    for constraint, worst in zip(case.inner, case.worst, strict=True):
        functions = [one.function for one in worst]
        here = [one.value(x, case.bits) for one, x in zip(functions, case.row, strict=True)]
        drops.append(list(enclose_drops(functions, here, case.row, region, case.bits).ceilings))
        taken = total_drop([constraint.fall(free), *(drops[-1][i] for i in ranged)])
        spare.append(constraint.margin - taken.value)
    half, seen = [one / 2 for one in spare], Seen.of(case)
    seen.cover(tuple(region), free, drops, half, case.question.max_changed)
    seen.cover(tuple(region), ranged, drops, half)


def _range_document(one: AllowedRange) -> Json:
    if one.values:
        return {"values": [place_document(value) for value in one.values]}
    low, high = one.low, one.high
    return {
        "low": None if low.at is None else f"{low.at}{'' if low.is_included else '+e'}",
        "high": None if high.at is None else f"{high.at}{'' if high.is_included else '-e'}",
    }


def just_beyond(domain: Domain, one: AllowedRange) -> Iterator[Place]:
    """Yield what a range would have to hold if it were any wider: the next number on each side, or each category."""
    if one.values:
        if all(value in domain.categories_ for value in one.values):
            yield from ((value, 0) for value in domain.categories_ if value not in one.values)
        return
    for side, end in ((-1, one.low), (1, one.high)):
        if end.at is not None:
            found = [_next(span, end.at, end.is_included, side) for span in domain.spans]
            known = [place for place in found if place is not None]
            if known:
                yield (max if side < 0 else min)(known)


def _next(span: Span, end: Rational, is_included: bool, side: int) -> Place | None:
    """Return the first number of a span beyond an end towards a side, or one infinitely close to that end."""
    near, far = (span.low, span.high) if side > 0 else (span.high, span.low)
    if near is not None and (near - end) * side > 0:
        return near, 0
    if span.is_integers and (is_included or end.q != 1):
        place = fmpq(end.floor() + 1 if side > 0 else end.ceil() - 1), 0
    else:
        place = end, 0 if span.is_integers or not is_included else side
    is_past = far is not None and ((far - place[0]) * side < 0 or (far == place[0] and place[1] != 0))
    return None if is_past else place


def _breaking(
    case: Case, shown: Shown, free: Sequence[int], before: Sequence[tuple[int, AllowedRange]], leaves: tuple[int, Place]
) -> list[Json]:
    """Return an input outside a range, others in theirs or in the region, that breaks the claim."""
    i, beyond = leaves
    for c, limit in enumerate(loose_limits(case.constraints, case.charges)):
        movers = sorted(free, key=shown.falls[c].__getitem__, reverse=True)[: case.question.max_changed]
        falls = {k: (shown.falls[c][k], shown.places[c][k]) for k in movers if shown.places[c][k] is not None}
        functions = straight(worst.function for worst in case.worst[c])
        assert functions is not None
        for k, one in before:
            around = [(case.row[k], 0), *_places(functions[k], case.model.domains[k], one)]
            shown_there = [(_fall(case, functions[k], k, at), place_document(*at)) for at in around]
            falls[k] = max(shown_there, key=lambda pair: pair[0])
        falls[i] = _fall(case, functions[i], i, beyond), place_document(*beyond)
        if total([fall for fall, _ in falls.values()]) > limit:
            row = enumerate(case.row)
            return [falls[k][1] or place_document(x) if k in falls else place_document(x) for k, x in row]
    raise AssertionError("nothing breaks the claim beyond a range that is said to be widest")


def _places(function: Pieces, domain: Domain, one: AllowedRange) -> Iterator[Place]:
    """Yield places of a range of which one has the lowest value."""
    if one.values:
        yield from ((value, 0) for value in one.values)
        return
    for span in domain.spans:
        low, high = span.low, span.high
        is_low, is_high = True, True
        if one.low.at is not None and (low is None or one.low.at >= low):
            low, is_low = one.low.at, one.low.is_included
        if one.high.at is not None and (high is None or one.high.at <= high):
            high, is_high = one.high.at, one.high.is_included
        if low is not None and high is not None and low > high:
            continue
        inside = [t for t in function.knots if (low is None or low < t) and (high is None or t < high)]
        marks = [*([low] if low is not None else []), *inside, *([high] if high is not None else [])]
        for t in marks:
            belongs = (t != low or is_low) and (t != high or is_high)
            if belongs and span.holds(t):
                yield t, 0
            if not span.is_integers:
                yield from ((t, side) for side in (-1, 1) if t != (low if side < 0 else high))
        if span.is_integers:
            for t in marks:
                for n in (fmpq(t.ceil() - 1), fmpq(t.floor() + 1)):
                    is_above = low is None or n > low or (n == low and is_low)
                    if is_above and (high is None or n < high or (n == high and is_high)):
                        yield n, 0


def _fall(case: Case, function: Pieces, i: int, place: Place) -> Ordered:
    """Return by how much a function falls at a place, as the checker counts it."""
    at, side = place
    here = function(case.row[i])
    if not side:
        return here - function(at), ZERO
    assert isinstance(at, fmpq)
    k = function.segment_after(at) if side > 0 else function.segment_before(at)
    slope = function.slopes[k]
    growth = -slope * side
    edge = fmpq(len(case.row)) if growth > 0 else -ONE if growth < 0 else ZERO
    return here - slope * at - function.offsets[k], edge
