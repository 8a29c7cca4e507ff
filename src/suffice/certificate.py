"""The written proof of a result: a JSON document that `suffice_check` checks without any help of ours.

In: a result with the row, radii and claim it is about, and where its drops come from. Out: a `Certificate`, whose
evidence is only what the proof needs: points between which shapes are affine, values that attain drops, the tree of a
covering search, inputs that break a claim. `docs/certificate.md` has the format and the theorem behind each of them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from flint import fmpq

from suffice.breaking import breaking_input, easiest_break
from suffice.claims import AtLeast, AtMost, Beats, Claim, ProbabilityAtLeast, Same, Within, logit
from suffice.domain import Domain, Span
from suffice.drops import Constraint, Drop, Worst, bound_drops
from suffice.errors import CertificateError, ModelFileError
from suffice.growth import Growth, Reach, goes_on
from suffice.labels import Missing, Value
from suffice.model import AdditiveModel
from suffice.model_file import load_model, to_bytes
from suffice.preferences import Choices
from suffice.rational import ONE, ZERO, Rational, rational
from suffice.regions import Region
from suffice.results import Contrast, Explanation, Statement
from suffice.rows import Row
from suffice.search.covering import Bound, Tree
from suffice.shapes import PieceBudget, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.pieces import Pieces
from suffice.shapes.shape import Rescaled, Scaled, Sum

VERSION = 1
Json = dict[str, Any]
PathLike: TypeAlias = str | os.PathLike[str]

_ANY_PIECES = PieceBudget(2**62)  # what a certificate lists was compiled before, within the user's own budget


@dataclass(frozen=True, slots=True, repr=False)
class Certificate:
    """A proof that can be checked by someone who trusts neither us nor this library: see `suffice-check`.

    `text` is the file's content, the same bytes for the same result; `save` writes it.
    """

    document: Json

    @property
    def text(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.document, ensure_ascii=True, separators=(",", ":")) + "\n"

    def save(self, path: PathLike) -> None:
        """Write the certificate to a file."""
        try:
            Path(path).write_text(self.text, encoding="ascii")
        except (OSError, ValueError) as error:
            raise CertificateError(f"{path}: cannot be written: {getattr(error, 'strerror', None) or error}") from None

    def __repr__(self) -> str:
        return f"<Certificate: {self.document['result']['kind']}, {len(self.text)} bytes>"


class Question(Protocol):
    """What was asked of a row, and what follows for each feature."""

    @property
    def statement(self) -> Statement: ...  # noqa: D102
    @property
    def row(self) -> Row: ...  # noqa: D102
    @property
    def region(self) -> Region: ...  # noqa: D102
    @property
    def constraints(self) -> tuple[Constraint, ...]: ...  # noqa: D102
    @property
    def worst(self) -> tuple[tuple[Worst, ...], ...]: ...  # noqa: D102


def certify_explanation(why: Explanation, model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices, and that none below its proven bound does."""
    free = [i for i in range(len(why.row)) if i not in set(why.kept)]
    lower_bound = rational(why.lower_bound) / why.choices.unit
    result = {"kind": "explanation", "kept": list(why.kept), "lower_bound": int(lower_bound.p)}
    evidence: Json = {"points": _points(why.model, why.region, free), "witnesses": [], "tree": []}
    if lower_bound:
        # Without a tree, one inequality is its own surrogate: the smallest drops are past its margin.
        tree = [{"bound": ["1"]}] if why.proof is None else _tree(why.proof)
        evidence |= {"witnesses": _witnesses(why, why.charged), "tree": tree}
    charges = [str(one) for one in why.charged] if any(why.charged) else None
    return _certificate(why.model, why, result, evidence, model_file, _choices(why.choices), charges)


def certify_set(model: AdditiveModel, asked: Question, kept: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices, or the input that shows that it does not."""
    free = [i for i in range(len(asked.row)) if i not in set(kept)]
    broken = easiest_break(asked.constraints, (), free)
    if broken is None:
        result: Json = {"kind": "explanation", "kept": list(kept), "lower_bound": 0}
        evidence: Json = {"points": _points(model, asked.region, free), "witnesses": [], "tree": []}
    else:
        c, moved = broken
        point = breaking_input(asked.constraints[c], asked.worst[c], asked.row, asked.region, moved)
        result, evidence = {"kind": "insufficient", "kept": list(kept)}, {"input": [_value(x) for x in point]}
    return _certificate(model, asked, result, evidence, model_file)


def certify_contrast(contrast: Contrast, model_file: PathLike | None) -> Certificate:
    """Return the proof that some features can break a claim and no fewer can; or that nothing can."""
    every = range(len(contrast.row))
    if contrast.point is None:
        result: Json = {"kind": "explanation", "kept": [], "lower_bound": 0}
        evidence: Json = {"points": _points(contrast.model, contrast.region, every), "witnesses": [], "tree": []}
    else:
        result = {"kind": "contrast", "moved": list(contrast.moved), "lower_bound": contrast.size}
        points = _points(contrast.model, contrast.region, every) if contrast.size > 1 else []
        evidence = {"points": points, "input": [_value(x) for x in contrast.point]}
    return _certificate(contrast.model, contrast, result, evidence, model_file)


def certify_radius(
    model: AdditiveModel,
    asked: Question,
    growth: Growth,
    reach: Reach,
    kept: Sequence[int],
    model_file: PathLike | None,
) -> Certificate:
    """Return the proof that a set suffices up to a radius, and no further."""
    if any(constraint.gap for constraint in asked.constraints):
        raise CertificateError("there are no certificates for a radius whose claim has a number that is not rational")
    free = [i for i in range(len(asked.row)) if i not in set(kept)]
    end, region = reach.radius, growth.region(reach.radius)
    number = None if end is None else str(end)
    result = {"kind": "radius", "kept": list(kept), "radius": number, "is_attained": reach.is_attained}
    # At no finite radius does a number become a special code or a category, or one of these a number.
    numbers = [i for i in free if end is not None or reach.is_attained or _is_in_span(growth, i)]
    evidence: Json = {"points": _points(model, region, numbers, has_ends=reach.is_attained), "input": [], "beyond": []}
    if not reach.is_attained:
        evidence["input"] = [_value(x) for x in _breaking_at(growth, region, free)]
    elif end is not None:
        evidence["beyond"] = _beyond(model, growth, end, free)
    return _certificate(model, asked, result, evidence, model_file)


def _certificate(
    model: AdditiveModel,
    asked: Question | Contrast,
    result: Json,
    evidence: Json,
    model_file: PathLike | None,
    choices: Json | None = None,
    charges: list[str] | None = None,
) -> Certificate:
    radii, claim, bits, at_most, norm = asked.statement
    return Certificate(
        {
            "version": VERSION,
            "model": _model_hash(model, model_file),
            "row": [_value(x) for x in asked.row],
            "radii": [None if radius is None else str(radius) for radius in radii],
            "norm": None if norm == math.inf else int(norm),
            "at_most": at_most,
            "claim": _claim(claim, model, bits),
            "charges": charges,
            "choices": choices,
            "result": result,
            "evidence": evidence,
        }
    )


def _model_hash(model: AdditiveModel, path: PathLike | None) -> str:
    """Return the SHA-256 of the model's file: of the one given, if that is this very model."""
    content = to_bytes(model)
    if path is not None and to_bytes(load_model(path)) != content:
        raise ModelFileError(path, "holds another model than the one explained")
    return hashlib.sha256(content if path is None else Path(path).read_bytes()).hexdigest()


@singledispatch
def _claim(claim: Claim, model: AdditiveModel, bits: int) -> Json:
    raise CertificateError(f"there are no certificates yet for the claim {claim!r}")


@_claim.register
def _(claim: Same, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "same"}


@_claim.register
def _(claim: Beats, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "beats", "other": model.classes.index(claim.other)}


@_claim.register
def _(claim: Within, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "within", "delta": str(claim.delta)}


@_claim.register
def _(claim: AtLeast, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "at_least", "value": str(claim.value)}


@_claim.register
def _(claim: AtMost, model: AdditiveModel, bits: int) -> Json:
    return {"kind": "at_most", "value": str(claim.value)}


@_claim.register
def _(claim: ProbabilityAtLeast, model: AdditiveModel, bits: int) -> Json:
    low, high = logit(claim.p, bits)
    return {"kind": "probability_at_least", "p": str(claim.p), "low": str(low), "high": str(high)}


def _choices(choices: Choices | None) -> Json | None:
    if choices is None or choices.is_plain:
        return None
    return {
        "items": [list(item) for item in choices.items],
        "costs": list(choices.costs),
        "keep": sorted(choices.keep),
        "free": sorted(choices.free),
    }


def _value(value: Value) -> Json:
    if isinstance(value, fmpq):
        return {"number": str(value)}
    return {"missing": True} if isinstance(value, Missing) else {"label": value}


# --- points between which shapes are affine ---------------------------------------------------------------------------


def _points(
    model: AdditiveModel, region: Region, features: Collection[int], *, has_ends: bool = True
) -> list[list[str]]:
    """Return for each feature the points inside its region that cut it into affine pieces; none for other features.

    Where the ends do not belong to the region, the integers next to them are listed too.
    """
    return [_cuts(model, i, region[i], has_ends) if i in features else [] for i in range(len(model.features))]


def _cuts(model: AdditiveModel, i: int, region: Domain, has_ends: bool) -> list[str]:
    """Return a feature's points in the order of its own values, but in the units of its shape, which are shorter."""
    feature, bends = model.features[i], _bends_of(model, i)
    points = {point for span in region.spans for point in _inside(span, bends, has_ends)}
    return [str((point - feature.center) / feature.scale) for point in sorted(points)]


def _bends_of(model: AdditiveModel, i: int) -> set[Rational]:
    """Return where a feature's shape may bend or jump, in the user's units."""
    feature = model.features[i]  # today its one term is the term of the same place
    return {z * feature.scale + feature.center for z in _bends(model.terms[i].shape)}


def _inside(span: Span, bends: Iterable[Rational], has_ends: bool) -> Iterable[Rational]:
    """Return the bends inside a span, or the integers next to them; some point at all if it has no ends."""
    if span.low is not None and span.low == span.high:
        return []
    near: Iterable[Rational] = bends
    if span.is_integers:
        ends = [] if has_ends else [end for end in (span.low, span.high) if end is not None]
        # As in `Pieces.on_integers`: a function may bend or jump at an integer itself, so both neighbours matter.
        near = (fmpq(n) for bend in (*bends, *ends) for n in (bend.ceil() - 1, bend.floor(), bend.floor() + 1))
    found = [x for x in near if (span.low is None or x > span.low) and (span.high is None or x < span.high)]
    return found or ([ZERO] if span.low is None and span.high is None else [])


@singledispatch
def _bends(shape: Shape) -> Iterable[Rational]:
    """Yield all inputs where a shape, or a unit inside it, may bend or jump."""
    raise CertificateError(f"there are no certificates yet for shapes of type {type(shape).__name__}")


@_bends.register
def _(shape: ReluNetwork) -> Iterable[Rational]:
    return shape.lines(_ANY_PIECES).knots


@_bends.register
def _(shape: Readout) -> Iterable[Rational]:
    return shape.basis.lines(_ANY_PIECES).knots


@_bends.register
def _(shape: Steps) -> Iterable[Rational]:
    return shape.cuts


@_bends.register
def _(shape: PiecewiseLinear) -> Iterable[Rational]:
    return shape.knots


@_bends.register
def _(shape: Table) -> Iterable[Rational]:
    return [*shape.points, *(_bends(shape.otherwise) if shape.otherwise is not None else ())]


@_bends.register
def _(shape: Sum) -> Iterable[Rational]:
    return [bend for part in shape.parts for bend in _bends(part)]


@_bends.register
def _(shape: Scaled) -> Iterable[Rational]:
    return _bends(shape.shape)


@_bends.register
def _(shape: Rescaled) -> Iterable[Rational]:
    return [bend * shape.scale + shape.center for bend in _bends(shape.shape)]


# --- values that attain drops, and the tree over them -----------------------------------------------------------------


def _witnesses(asked: Question, charged: Sequence[Rational]) -> list[list[Json | None]]:
    """Return for each constraint and feature a value that attains the drop, or where it is approached."""
    found = []
    for constraint, cases, charge in zip(asked.constraints, asked.worst, charged, strict=True):
        enough = constraint.margin + constraint.gap + 2 * charge + 1  # more than any margin that rules out counts
        found.append([_witness(*each, enough) for each in zip(constraint.drops, cases, asked.row, strict=True)])
    return found


def _witness(drop: Drop, worst: Worst, x: Value, enough: Rational) -> Json | None:
    if drop.is_infinite:  # any value that breaks the constraint all by itself
        return _value(worst.value_at_most(worst.function(x) - enough))
    if not drop.value:
        return None
    if drop.is_attained:
        return _value(worst.value_at_most(worst.infimum.value))
    return {"number": str(worst.infimum.at), "side": worst.infimum.side}


def _tree(proof: Tree) -> list[Json]:
    """Return the nodes of a tree in preorder, the side where an item is kept first."""
    nodes: list[Json] = []
    stack = [proof]
    while stack:
        node = stack.pop()
        if isinstance(node, Bound):
            nodes.append({"bound": [str(multiplier) for multiplier in node.multipliers]})
            continue
        nodes.append({"fix" if node.freed is None else "branch": node.item})
        stack += [node.kept] if node.freed is None else [node.freed, node.kept]
    return nodes


# --- what lies beyond a radius ----------------------------------------------------------------------------------------


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
    best = _Way(level, False, attained, _witness(Drop(False, ONE, 0 if attained else -1), worst, growth.row[i], ZERO))
    x, unit = growth.row[i], growth.units[i]
    if worst.infimum.at == x and worst.infimum.side == 0:
        best = best._replace(document=None)
    if not isinstance(x, fmpq) or not unit:
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
                beyond = [bend for bend in _bends_of(model, i) if (bend - end) * side > 0]
                last = span.high if side > 0 else span.low
                ends = [*beyond, *([] if last is None else [last])]
                to = (min if side > 0 else max)(ends, default=end + side)
                document = {"number": str(end), "side": side, "to": str(to)}
                best = _Way(limit, is_falling, False, document)
    return best
