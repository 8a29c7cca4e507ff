"""Certificates of radii: some features suffice up to a radius, and no further."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flint import fmpq

from suffice.certificate.certify import witness
from suffice.certificate.document import Certificate, PathLike, value_document, write
from suffice.certificate.points import affine_points, bends_of
from suffice.core.case import Case
from suffice.core.constraint import Drop, total
from suffice.core.drops import Worst, bound_drops
from suffice.core.radius_path import Extent, RadiusPath, goes_on
from suffice.errors import CertificateError
from suffice.model.compiled import Compiled
from suffice.model.domain import Span
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.shapes.pieces import Pieces


def certify_radius(case: Case, reach: Extent, fixed: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices up to a radius, and no further."""
    case.model.refuse_pairs("certificates", CertificateError)
    if any(one.gap for one in case.inequalities):
        raise CertificateError(
            f"there are no certificates yet for radii of {type(case.question.claim).__name__}, whose threshold is not "
            "rational"
        )
    given = sorted(case.question.given & {"max_changed", "arithmetic"})
    if given:
        raise CertificateError(f"there are no certificates yet for radii with the option {given[0]!r}")
    compiled, path = case.compiled, case.path()
    free = [i for i in case.features if i not in set(fixed)]
    end, region = reach.radius, path.region(reach.radius)
    number = None if end is None else str(end)
    result = {"kind": "radius", "fixed": list(fixed), "radius": number, "is_attained": reach.is_attained}
    # At no finite radius does a number become a special code or a category, or one of these a number; nor does a
    # feature move at all whose unit is 0.
    numbers = [i for i in free if end is not None or reach.is_attained or (path.units[i] and _is_in_span(path, i))]
    evidence: Json = {
        "points": affine_points(compiled, region, numbers, has_ends=reach.is_attained),
        "input": [],
        "beyond": [],
    }
    if not reach.is_attained:
        evidence["input"] = [value_document(x) for x in _breaking_at(path, end, free)]
    elif end is not None:
        evidence["beyond"] = _beyond(compiled, path, end, free)
    return write(case, result=result, evidence=evidence, model_file=model_file)


def _is_in_span(path: RadiusPath, i: int) -> bool:
    x = path.row[i]
    return isinstance(x, fmpq) and any(span.holds(x) for span in path.domains[i].spans)


def _breaking_at(path: RadiusPath, radius: Rational | None, free: Sequence[int]) -> list[Value]:
    """Return an input within a radius that breaks the claim by changing free features only."""
    for part, constraint in enumerate(path.at(radius)):
        moved = constraint.broken_by((), free)
        if moved is not None:
            return path.breaking_input(part, radius, moved)
    raise AssertionError("nothing breaks the claim at a radius that is not attained")


def _beyond(compiled: Compiled, path: RadiusPath, radius: Rational, free: Sequence[int]) -> list[Json | None]:
    """Return values that break the claim just beyond a radius: limits past the margin, or at it and falling."""
    # Beyond any radius a category may become any other, so that a tiny one tells what is in reach.
    region = tuple(
        domain.around(x, unit and ONE) if x in domain.categories_ else domain.around(x, radius * unit)
        for domain, x, unit in zip(path.domains, path.row, path.units, strict=True)
    )
    for functions, here, constraint in zip(path.functions, path.here, path.constraints, strict=True):
        drops, worst = bound_drops(functions, here, path.row, region)
        ways = {i: _best_way(path, i, functions[i], here[i], _Way(drops[i], worst[i]), radius) for i in free}
        if not constraint.allows(total(way.drop for way in ways.values())):
            return [_document(compiled, path, i, ways[i]) if i in ways else None for i in range(len(path.row))]
    raise AssertionError("nothing breaks the claim beyond a radius that is attained")


class _Beside(NamedTuple):
    """Numbers of a span beyond one end of a region, as close to it as one likes."""

    end: Rational
    side: int
    span: Span


class _Way(NamedTuple):
    """How far a feature can lower the claim's score, and by what values: within a radius, or just beyond it."""

    drop: Drop  # just beyond: attained where the score is constant, exceeded where it falls on
    by: Worst | _Beside


def _best_way(path: RadiusPath, i: int, function: Pieces, here: Rational, within: _Way, radius: Rational) -> _Way:
    """Return the way that lowers most; of equal ones one that falls on, then one whose drop is attained."""
    x, unit, ways = path.row[i], path.units[i], [within]
    if not isinstance(x, fmpq) or not unit or not _is_in_span(path, i):  # a code stays as it is
        return within
    for side in (-1, 1):
        end = x + side * radius * unit
        for span in path.domains[i].spans:
            if goes_on(span, end, side):
                k = function.segment_after(end) if side > 0 else function.segment_before(end)
                slope = function.slopes[k]
                edge = 0 if not slope else 1 if slope * side < 0 else -1
                drop = Drop(False, here - slope * end - function.offsets[k], edge)
                ways.append(_Way(drop, _Beside(end, side, span)))
    return max(ways, key=lambda way: way.drop)  # the first of equal ones


def _document(compiled: Compiled, path: RadiusPath, i: int, way: _Way) -> Json | None:
    """Return where a way leads; of one beyond a radius also how far the shape stays affine."""
    if isinstance(way.by, Worst):
        return witness(way.drop, way.by, path.row[i], ZERO)
    end, side, span = way.by
    last = span.high if side > 0 else span.low
    known = bends_of(compiled, i)
    beyond = known.places[known.between(end, None) if side > 0 else known.between(None, end)]
    nearest = beyond[:1] if side > 0 else beyond[-1:]
    to = (min if side > 0 else max)([*nearest, *([] if last is None else [last])], default=end + side)
    return {"number": str(end), "side": side, "to": str(to)}
