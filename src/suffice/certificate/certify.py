"""Certificates of answers about one radius: explanations, sets, contrasts, enumerations, relevance.

In: the case of a row, and what is said of it. Out: a certificate whose evidence is only what the proof needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from flint import fmpq

from suffice.certificate import joint
from suffice.certificate.cells import Seen
from suffice.certificate.document import Certificate, PathLike, closely, write
from suffice.certificate.trees import CoverTree, change_tree
from suffice.certificate.witnesses import NOTHING, NotShownError, Ordered, loose_limits, place_document, shown_at
from suffice.core.case import Case
from suffice.core.constraint import NO_DROP, Constraint
from suffice.errors import CertificateError, Undecided
from suffice.numbers.surd import upper
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.question.region import Region
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Cover, Proof
from suffice.solvers.roles import set_that_needs


@closely
def certify_explanation(
    case: Case,
    fixed: Sequence[int],
    lower_bound: int,
    proof: Proof | None,
    model_file: PathLike | None,
) -> Certificate:
    """Return the proof that a set suffices, and that no allowed one below a cost, counted in units, does."""
    if case.model.pairs:
        return joint.certify_explanation(case, fixed, lower_bound, proof, model_file)
    result = {
        "kind": "explanation",
        "fixed": list(fixed),
        "lower_bound": str(case.question.choices.unit * lower_bound),
    }
    cover_sets(case, [fixed])
    evidence: Json = {"witnesses": [], "tree": []}
    if lower_bound:
        cover, witnesses = cover_of(case)
        evidence = {"witnesses": witnesses, "tree": cover.cheapest(lower_bound, proof)}
    return write(case, result=result, evidence=evidence, model_file=model_file)


def cover_sets(case: Case, sets: Sequence[Sequence[int]]) -> None:
    """Find cells over which the checker sees that some sets suffice, where shapes are smooth."""
    if not case.compiled.is_enclosed:
        return
    for fixed in sets:
        free = [i for i in case.features if i not in set(fixed)]
        spare = [one.margin - one.fall(free).value for one in case.inner]
        Seen.of(case).cover(case.region, free, [one.drops for one in case.inner], spare, case.question.max_changed)


def cover_changes(case: Case, region: Region, constraints: Sequence[Constraint]) -> None:
    """Find cells over which the checker sees what changes of any features can do, where shapes are smooth."""
    if case.compiled.is_enclosed:
        inner = [one.inner for one in constraints]
        spare = [one.margin / (1 << (case.bits // 8)) for one in inner]
        Seen.of(case).cover(region, case.features, [one.drops for one in inner], spare)


def cover_of(case: Case) -> tuple[CoverTree, list[list[Json | None]]]:
    """Return what proves that other sets do not suffice, and the places that it rests on."""
    shown, limits = shown_at(case), loose_limits(case.constraints, case.charges)
    # A change of one feature lies in the ball of any norm; changes of several at once need not.
    few = 1 if case.question.is_ball else case.question.max_changed
    return CoverTree(shown, limits, case.question.choices, few), [list(row) for row in shown.places]


def certify_sufficient(case: Case, fixed: Sequence[int], model_file: PathLike | None) -> Certificate:
    """Return the proof that a set suffices."""
    return certify_explanation(case, fixed, 0, None, model_file)


@closely
def certify_insufficient(
    case: Case, fixed: Sequence[int], point: Sequence[Value], model_file: PathLike | None
) -> Certificate:
    """Return the proof that a set does not suffice: an input that breaks the claim."""
    evidence = {"input": [place_document(x) for x in point]}
    return write(case, result={"kind": "insufficient", "fixed": list(fixed)}, evidence=evidence, model_file=model_file)


@closely
def certify_contrast(
    case: Case, changed: Sequence[int], point: Sequence[Value] | None, lower_bound: int, model_file: PathLike | None
) -> Certificate:
    """Return the proof that some features can break a claim and changes below a bound cannot; or that nothing can."""
    if case.model.pairs:
        return joint.certify_contrast(case, changed, point, lower_bound, model_file)
    if point is None:  # what cannot change anyway suffices
        choices = case.question.choices
        return certify_sufficient(case, choices.features(sorted(choices.fix)), model_file)
    result, evidence = contrast_parts(case, changed, point, lower_bound)
    return write(case, result={"kind": "contrast", **result}, evidence=evidence, model_file=model_file)


def contrast_parts(case: Case, changed: Sequence[int], point: Sequence[Value], lower_bound: int) -> tuple[Json, Json]:
    """Return what a contrast says, and its evidence."""
    cover_changes(case, case.region, case.constraints)
    fewer = change_trees(case, case.region, case.constraints, lower_bound - 1)
    result = {"changed": list(changed), "lower_bound": str(case.question.choices.unit * lower_bound)}
    return result, {"input": [place_document(x) for x in point], "fewer": fewer}


def change_trees(case: Case, region: Region, constraints: Sequence[Constraint], budget: int) -> list[list[Json]]:
    """Return for each constraint a proof that changes within a budget do not break it; none where the sum is plain."""
    choices, most = case.question.choices, case.question.max_changed
    if budget < 0 or (choices.is_counting and not (choices.has_groups and most is not None)):
        return []
    moving = {
        i
        for k, item in enumerate(choices.items)
        if k in choices.free or (k not in choices.fix and choices.costs[k] <= budget)
        for i in item
    }
    found = []
    for c, (constraint, charge) in enumerate(zip(constraints, case.charges, strict=True)):
        drops: list[Ordered] = [
            (upper(drop.value, case.bits), fmpq(drop.edge)) if i in moving else NOTHING
            for i, drop in enumerate(constraint.drops)
        ]
        if case.compiled.is_enclosed:
            seen = Seen.of(case)
            drops = [seen.drops(i, region[i])[c] or NOTHING if i in moving else NOTHING for i in case.features]
        margin = constraint.margin - charge, fmpq(-1 if constraint.is_strict else 0)
        tree = change_tree(drops, margin, choices, budget, most)
        if tree is None:
            raise NotShownError("changes that cost less than a proven bound are not shown to break nothing")
        found.append(tree)
    return found


@closely
def certify_sets(
    case: Case,
    problem: Problem,
    cover: Cover | None,
    sets: Sequence[Sequence[int]],
    is_complete: bool,
    model_file: PathLike | None,
) -> Certificate:
    """Return the proof that sets are minimal, and that there are no others if they are all there are."""
    if case.model.pairs:
        return joint.certify_sets(case, problem, cover, sets, is_complete, model_file)
    choices = problem.choices
    held = [frozenset(k for k, item in enumerate(choices.items) if item[0] in set(one)) for one in sets]
    cover_sets(case, sets)
    proof, witnesses = cover_of(case)
    tree: list[Json] = []
    if cover is not None:
        tree = proof.complete(held, cover.cost + 1) if is_complete else proof.cheapest(cover.cost, cover.proof)
    elif is_complete:
        tree = proof.complete(held, None)
    minimal = "subset" if cover is None else "size"
    result = {
        "kind": "explanations",
        "minimal": minimal,
        "sets": [list(one) for one in sets],
        "is_complete": is_complete,
    }
    return write(case, result=result, evidence={"witnesses": witnesses, "tree": tree}, model_file=model_file)


@closely
def certify_relevance(
    case: Case, problem: Problem, roles: Mapping[str, Sequence[int]], model_file: PathLike | None
) -> Certificate:
    """Return the proof of each item's role: alone it breaks the claim, some set needs it, or none does."""
    if case.model.pairs:
        return joint.certify_relevance(case, problem, roles, model_file)
    choices, seen = problem.choices, None
    if case.compiled.is_enclosed:
        cover_changes(case, case.region, case.constraints)
        problem, seen = Problem(case.constraints, choices), Seen.of(case)
    cover, witnesses = cover_of(case)
    sets = []
    for k in roles["relevant"]:
        try:
            freed = set_that_needs(problem, k)
        except Undecided:
            raise NotShownError("a set that shows the relevance of a feature is not known closely enough") from None
        if freed is None:
            raise CertificateError(f"no set was found in time that shows the relevance of {choices.names[k]!r}")
        kept = [j for j in range(len(choices.items)) if j not in choices.free.union(freed)]
        sets.append(sorted(choices.features(kept)))

    def fits(features: Collection[int]) -> bool:
        if seen is None:
            return all(constraint.admits(features) for constraint in case.constraints)
        return seen.fits(features, case.region, case.inner, case.question.max_changed)

    def is_idle(item: int) -> bool:
        if seen is not None:
            drops = [drop for i in choices.items[item] for drop in seen.drops(i, case.region[i])]
            return all(drop is not None and drop <= NOTHING for drop in drops)
        return all(one.ceilings[i] == NO_DROP for one in case.constraints for i in choices.items[item])

    trees = cover.irrelevant(roles["irrelevant"], is_idle, fits)
    said = {role: choices.features(items) for role, items in roles.items()}
    evidence = {"witnesses": witnesses, "sets": sets, "trees": trees}
    return write(case, result={"kind": "relevance", **said}, evidence=evidence, model_file=model_file)
