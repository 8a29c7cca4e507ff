"""Certificates of explanations, sets and contrasts.

In: the case of a row, and what is said of it. Out: a certificate whose evidence is only what the proof needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.certificate.document import Certificate, PathLike, value_document, write
from suffice.certificate.points import affine_points
from suffice.core.case import Case
from suffice.core.constraint import Drop
from suffice.core.drops import Worst
from suffice.errors import CertificateError
from suffice.numbers.exact import Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.solvers.proofs import Bound, Branch, Scenarios, Tree


def certify_explanation(
    case: Case, fixed: Sequence[int], lower_bound: int, proof: Tree | Scenarios | None, model_file: PathLike | None
) -> Certificate:
    """Return the proof that a set suffices, and that no allowed one below a cost, counted in units, does."""
    case.model.refuse_pairs("certificates", CertificateError)
    free = [i for i in case.features if i not in set(fixed)]
    result = {
        "kind": "explanation",
        "fixed": list(fixed),
        "lower_bound": str(case.question.choices.unit * lower_bound),
    }
    evidence: Json = {"points": affine_points(case.compiled, case.region, free), "witnesses": [], "tree": []}
    if lower_bound:
        # Without a tree, one inequality is its own surrogate: the smallest drops are past its margin.
        assert not isinstance(proof, Scenarios), "those are of models with pair terms"
        tree = [{"bound": ["1"]}] if proof is None else _tree(proof)
        evidence |= {"witnesses": _witnesses(case), "tree": tree}
    return write(case, result=result, evidence=evidence, model_file=model_file)


def certify_sufficient(case: Case, fixed: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices."""
    return certify_explanation(case, fixed, 0, None, model_file)


def certify_insufficient(
    case: Case, fixed: Sequence[int], point: Sequence[Value], model_file: PathLike | None
) -> Certificate:
    """Return the proof that a set does not suffice: an input that breaks the claim."""
    case.model.refuse_pairs("certificates", CertificateError)
    evidence = {"input": [value_document(x) for x in point]}
    return write(case, result={"kind": "insufficient", "fixed": list(fixed)}, evidence=evidence, model_file=model_file)


def certify_contrast(
    case: Case, changed: Sequence[int], point: Sequence[Value] | None, lower_bound: int, model_file: PathLike | None
) -> Certificate:
    """Return the proof that some features can break a claim and fewer than a bound cannot; or that nothing can."""
    case.model.refuse_pairs("certificates", CertificateError)
    given = sorted(case.question.given & {"free", "cost", "groups"})
    if given:
        raise CertificateError(f"there are no certificates yet for contrasts with the option {given[0]!r}")
    fixed = case.question.choices.features(sorted(case.question.choices.fix))
    if point is None:
        return certify_sufficient(case, fixed, model_file)
    others = [i for i in case.features if i not in set(fixed)]
    evidence = {
        "points": affine_points(case.compiled, case.region, others) if lower_bound > 1 else [],
        "input": [value_document(x) for x in point],
    }
    result = {"kind": "contrast", "changed": list(changed), "lower_bound": lower_bound}
    return write(case, result=result, evidence=evidence, model_file=model_file)


def _witnesses(case: Case) -> list[list[Json | None]]:
    """Return for each constraint and feature a value that attains the drop, or where it is approached."""
    found = []
    for constraint, cases, charge in zip(case.constraints, case.worst, case.charges, strict=True):
        enough = constraint.margin + constraint.gap + charge + 1  # more than any margin that rules out counts
        found.append([witness(*each, enough) for each in zip(constraint.drops, cases, case.row, strict=True)])
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
    """Return the nodes of a tree in preorder, the side where an item is fixed first."""
    nodes: list[Json] = []
    stack = [proof]
    while stack:
        node = stack.pop()
        if not isinstance(node, Branch):
            assert isinstance(node, Bound)
            nodes.append({"bound": [str(multiplier) for multiplier in node.multipliers]})
            continue
        nodes.append({"fix" if node.freed is None else "branch": node.item})
        stack += [node.fixed] if node.freed is None else [node.freed, node.fixed]
    return nodes
