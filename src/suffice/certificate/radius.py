"""Certificates of radii: some features suffice up to a radius, and no further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from flint import fmpq

from suffice.breaking import breaking_input, easiest_break
from suffice.certificate.certify import witness
from suffice.certificate.document import Certificate, Json, PathLike, value_document, write
from suffice.certificate.points import affine_points, bends_of
from suffice.claims import ProbabilityAtLeast
from suffice.drops import Drop, Worst, bound_drops
from suffice.errors import CertificateError
from suffice.growth import Growth, Reach, goes_on
from suffice.labels import Value
from suffice.model import AdditiveModel
from suffice.rational import ONE, ZERO, Rational
from suffice.regions import Region
from suffice.results import Statement
from suffice.shapes.pieces import Pieces


def certify_radius(
    model: AdditiveModel,
    statement: Statement,
    growth: Growth,
    reach: Reach,
    kept: Sequence[int],
    model_file: PathLike | None,
) -> Certificate:
    """Return the proof that a set suffices up to a radius, and no further."""
    if isinstance(statement.claim, ProbabilityAtLeast):
        raise CertificateError(
            "there are no certificates yet for radii of ProbabilityAtLeast, whose threshold is not rational"
        )
    free = [i for i in range(len(growth.row)) if i not in set(kept)]
    end, region = reach.radius, growth.region(reach.radius)
    number = None if end is None else str(end)
    result = {"kind": "radius", "kept": list(kept), "radius": number, "is_attained": reach.is_attained}
    # At no finite radius does a number become a special code or a category, or one of these a number.
    numbers = [i for i in free if end is not None or reach.is_attained or _is_in_span(growth, i)]
    evidence: Json = {
        "points": affine_points(model, region, numbers, has_ends=reach.is_attained),
        "input": [],
        "beyond": [],
    }
    if not reach.is_attained:
        evidence["input"] = [value_document(x) for x in _breaking_at(growth, region, free)]
    elif end is not None:
        evidence["beyond"] = _beyond(model, growth, end, free)
    return write(model, statement, growth.row, result=result, evidence=evidence, model_file=model_file)


def _is_in_span(growth: Growth, i: int) -> bool:
    x = growth.row[i]
    return isinstance(x, fmpq) and any(span.holds(x) for span in growth.domains[i].spans)


def _breaking_at(growth: Growth, region: Region, free: Sequence[int]) -> list[Value]:
    """Return an input of a region that breaks the claim by changing free features only."""
    for functions, here, constraint in zip(growth.functions, growth.here, growth.constraints, strict=True):
        drops, worst = bound_drops(functions, here, growth.row, region)
        now = replace(constraint, drops=drops)
        broken = easiest_break([now], (), free)
        if broken is not None:
            return breaking_input(now, worst, growth.row, region, broken[1])
    raise AssertionError("nothing breaks the claim at a radius that is not attained")


def _beyond(model: AdditiveModel, growth: Growth, radius: Rational, free: Sequence[int]) -> list[Json | None]:
    """Return values that break the claim just beyond a radius: limits past the margin, or at it and falling."""
    # Beyond any radius a category may become any other, so that a tiny one tells what is in reach.
    region = tuple(
        domain.around(x, unit and ONE) if x in domain.categories_ else domain.around(x, radius * unit)
        for domain, x, unit in zip(growth.domains, growth.row, growth.units, strict=True)
    )
    for functions, here, constraint in zip(growth.functions, growth.here, growth.constraints, strict=True):
        drops, worst = bound_drops(functions, here, growth.row, region)
        ways = [
            _lowest_way(model, growth, i, functions[i], here[i] - drops[i].value, worst[i], radius)
            if i in free
            else None
            for i in range(len(drops))
        ]
        fall = sum((here[i] - way.level for i, way in enumerate(ways) if way is not None), ZERO)
        is_tie = constraint.is_strict and all(way is None or way.is_attained for way in ways)
        grows = any(way is not None and way.is_falling for way in ways)
        if fall > constraint.margin or (fall == constraint.margin and (grows or is_tie)):
            return [None if way is None else way.document for way in ways]
    raise AssertionError("nothing breaks the claim beyond a radius that is attained")


class _Way(NamedTuple):
    """Where a feature's part of the claim is lowest within a radius, or just beyond it."""

    level: Rational
    is_falling: bool  # lower still beyond
    is_attained: bool
    document: Json | None


def _lowest_way(
    model: AdditiveModel, growth: Growth, i: int, function: Pieces, level: Rational, worst: Worst, radius: Rational
) -> _Way:
    attained = not worst.infimum.is_approached
    best = _Way(level, False, attained, witness(Drop(False, ONE, 0 if attained else -1), worst, growth.row[i], ZERO))
    x, unit = growth.row[i], growth.units[i]
    if worst.infimum.at == x and worst.infimum.side == 0:
        best = best._replace(document=None)
    if not isinstance(x, fmpq) or not unit or not _is_in_span(growth, i):  # a code stays as it is
        return best
    for side in (-1, 1):
        end = x + side * radius * unit
        for span in growth.domains[i].spans:
            if not goes_on(span, end, side):
                continue
            k = function.segment_after(end) if side > 0 else function.segment_before(end)
            limit = function.slopes[k] * end + function.offsets[k]
            is_falling = function.slopes[k] * side < 0
            if (limit, not is_falling) < (best.level, not best.is_falling):
                beyond = [bend for bend in bends_of(model, i) if (bend - end) * side > 0]
                last = span.high if side > 0 else span.low
                ends = [*beyond, *([] if last is None else [last])]
                to = (min if side > 0 else max)(ends, default=end + side)
                document = {"number": str(end), "side": side, "to": str(to)}
                best = _Way(limit, is_falling, False, document)
    return best
