"""Certificates of explanations, sets and contrasts.

In: a result, and where its drops come from. Out: its certificate, whose evidence is only what the proof needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from suffice.breaking import breaking_input, easiest_break
from suffice.certificate.document import Certificate, Json, PathLike, value_document, write
from suffice.certificate.points import affine_points
from suffice.drops import Constraint, Drop, Worst
from suffice.labels import Value
from suffice.model import AdditiveModel
from suffice.rational import Rational, rational
from suffice.regions import Region
from suffice.results import Contrast, Explanation, Statement
from suffice.rows import Row
from suffice.search.covering import Bound, Tree


class Case(NamedTuple):
    """A question about a row, and what follows for each feature."""

    statement: Statement
    row: Row
    region: Region
    constraints: tuple[Constraint, ...]
    worst: tuple[tuple[Worst, ...], ...]


def certify_explanation(why: Explanation, model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices, and that none below its proven bound does."""
    free = [i for i in range(len(why.row)) if i not in set(why.kept)]
    lower_bound = rational(why.lower_bound) / why.choices.unit
    result = {"kind": "explanation", "kept": list(why.kept), "lower_bound": int(lower_bound.p)}
    evidence: Json = {"points": affine_points(why.model, why.region, free), "witnesses": [], "tree": []}
    if lower_bound:
        # Without a tree, one inequality is its own surrogate: the smallest drops are past its margin.
        tree = [{"bound": ["1"]}] if why.proof is None else _tree(why.proof)
        evidence |= {"witnesses": _witnesses(why), "tree": tree}
    return write(
        why.model,
        why.statement,
        why.row,
        result=result,
        evidence=evidence,
        model_file=model_file,
        choices=why.choices,
        charged=why.charged,
    )


def certify_set(model: AdditiveModel, case: Case, kept: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices, or the input that shows that it does not."""
    free = [i for i in range(len(case.row)) if i not in set(kept)]
    broken = easiest_break(case.constraints, (), free)
    if broken is None:
        result: Json = {"kind": "explanation", "kept": list(kept), "lower_bound": 0}
        evidence: Json = {"points": affine_points(model, case.region, free), "witnesses": [], "tree": []}
    else:
        c, moved = broken
        point = breaking_input(case.constraints[c], case.worst[c], case.row, case.region, moved)
        result, evidence = {"kind": "insufficient", "kept": list(kept)}, {"input": [value_document(x) for x in point]}
    return write(model, case.statement, case.row, result=result, evidence=evidence, model_file=model_file)


def certify_contrast(contrast: Contrast, model_file: PathLike | None) -> Certificate:
    """Return the proof that some features can break a claim and no fewer can; or that nothing can."""
    every = range(len(contrast.row))
    if contrast.point is None:
        result: Json = {"kind": "explanation", "kept": [], "lower_bound": 0}
        evidence: Json = {"points": affine_points(contrast.model, contrast.region, every), "witnesses": [], "tree": []}
    else:
        result = {"kind": "contrast", "moved": list(contrast.moved), "lower_bound": contrast.size}
        points = affine_points(contrast.model, contrast.region, every) if contrast.size > 1 else []
        evidence = {"points": points, "input": [value_document(x) for x in contrast.point]}
    model, statement, row = contrast.model, contrast.statement, contrast.row
    return write(model, statement, row, result=result, evidence=evidence, model_file=model_file)


def _witnesses(why: Explanation) -> list[list[Json | None]]:
    """Return for each constraint and feature a value that attains the drop, or where it is approached."""
    found = []
    for constraint, cases, charge in zip(why.constraints, why.worst, why.charged, strict=True):
        enough = constraint.margin + constraint.gap + 2 * charge + 1  # more than any margin that rules out counts
        found.append([witness(*each, enough) for each in zip(constraint.drops, cases, why.row, strict=True)])
    return found


def witness(drop: Drop, worst: Worst, x: Value, enough: Rational) -> Json | None:
    """Return where a drop is attained or approached; for an infinite one, a value that lowers by `enough`."""
    if drop.is_infinite:  # any value that breaks the constraint all by itself
        return value_document(worst.value_at_most(worst.function(x) - enough))
    if not drop.value:
        return None
    if drop.is_attained:
        return value_document(worst.value_at_most(worst.infimum.value))
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
