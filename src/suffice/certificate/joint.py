"""Certificates about models with terms over two features: explanations, sets, contrasts.

In: the case of a row, and what is said of it. Out: evidence by messages that something holds, and by scenarios that
nothing cheaper does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from suffice.certificate.document import Certificate, PathLike, write
from suffice.certificate.messages import Close, Proof, Sender, fits
from suffice.certificate.scenarios import ScenarioTree
from suffice.certificate.trees import change_tree
from suffice.certificate.witnesses import NOTHING, Ordered, place_document, total
from suffice.certificate.written_messages import Written
from suffice.core.case import Case, landscape_of
from suffice.core.constraint import Constraint
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.errors import BudgetEnded, CertificateError
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json
from suffice.question.preferences import Choices
from suffice.shapes.pair_shape import PairRescaled, PairScaled, PairShape, PairSum
from suffice.shapes.pair_tables import PairSteps
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Cover, Scenarios
from suffice.solvers.proofs import Proof as CoverProof
from suffice.solvers.roles import set_that_needs
from suffice.solvers.scenarios import ScenarioSearch

_NODES, _SECONDS = 100_000, 60.0  # of a search that is made anew


class Sides(NamedTuple):
    """The constraints of a case: what must hold, and what must be broken for certain."""

    inner: tuple[Joint, ...]
    outer: tuple[Joint, ...]


def sides(case: Case) -> Sides:
    """Return the constraints of a case, as joint ones also where all pair terms leave the claim alone."""

    def joint(constraints: Sequence[Constraint], side: int) -> tuple[Joint, ...]:
        return tuple(
            one
            if isinstance(one, Joint)
            else Joint(one.margin, _grounds(case, about.factors)[side], one.is_strict, one.max_changed, one.gap)
            for one, about in zip(constraints, case.inequalities, strict=True)
        )

    return Sides(touched(case, joint(case.inner, 0)), joint(case.outer, 1))


def _grounds(case: Case, factors: tuple[int, ...]) -> tuple[Ground, Ground]:
    """Return the inner and the outer ground of an inequality that pair terms leave alone."""
    if case.compiled.has_tangents:
        return case.tangents(factors).grounds(case.region, math.inf)
    ground = Ground(landscape_of(case.compiled, factors), case.row, case.region)
    return ground, ground


def touched(
    case: Case, constraints: Sequence[Joint], *others: Sequence[Domain], within: Sequence[Domain] | None = None
) -> tuple[Joint, ...]:
    """Return what must hold, with tangents of curves at the same places for all inequalities, as the checker has it.

    They are about their own region, or one that is given. Tangents of other regions are taken too, about which the same
    certificate speaks.
    """
    if not case.compiled.has_tangents:
        return tuple(constraints)
    region = constraints[0].ground.region if within is None else within
    each = [case.tangents(inequality.factors) for inequality in case.inequalities]
    listed = zip(*(one.touching(some) for one in each for some in (region, *others)), strict=True)
    places = [set[Rational]().union(*some) for some in listed]
    return tuple(
        replace(one.inner, ground=tangents.touched(region, places, one.ground.deadline))
        for one, tangents in zip(constraints, each, strict=True)
    )


def enough(constraints: Sequence[Joint], free: Collection[int]) -> list[Proof]:
    """Return for each constraint why it holds whatever free features do."""
    return [Sender(one, free, fits(one.max_changed)).prove() for one in constraints]


def written(case: Case, result: Json, evidence: Json, model_file: PathLike | None) -> Certificate:
    """Return a certificate.

    Where a pair term has slopes, the checker may have labels between those of the search: it is asked itself. It may
    also take one for varying that happens not to.
    """
    certificate = write(case, result=result, evidence=evidence, model_file=model_file)
    if case.compiled.has_tangents or any(_has_slopes(term.shape) for term in case.model.pairs):
        from suffice_check import RejectedError, UnreadableError, check

        content = case.compiled.content
        document = {**certificate.document, "model": case.compiled.file_hash()}
        try:
            check(content, json.dumps(document).encode())
        except RejectedError as error:
            raise CertificateError(
                f"the proof by messages is not close enough where a pair term varies ({error}); ask about a smaller "
                "radius"
            ) from None
        except UnreadableError as error:
            raise CertificateError(f"the checker cannot deal with this model: {error}") from None
    return certificate


def _has_slopes(shape: PairShape) -> bool:
    match shape:
        case PairSum(parts):
            return any(map(_has_slopes, parts))
        case PairScaled() | PairRescaled():
            return _has_slopes(shape.shape)
    return not isinstance(shape, PairSteps)


def in_time(case: Case) -> CertificateError:
    """Return the error that says that a worst case took too long."""
    seconds = case.question.budget.max_seconds
    return CertificateError(f"the proof was not found within the question's {seconds:g} seconds; allow more")


# --- kinds ------------------------------------------------------------------------------------------------------------


def certify_explanation(
    case: Case, fixed: Sequence[int], lower_bound: int, proof: CoverProof | None, model_file: PathLike | None
) -> Certificate:
    """Return the proof that a set suffices, and that no allowed one below a cost, counted in units, does."""
    both, choices = sides(case), case.question.choices
    result = {"kind": "explanation", "fixed": list(fixed), "lower_bound": str(choices.unit * lower_bound)}
    try:
        holds = enough(both.inner, [i for i in case.features if i not in set(fixed)])
        scenarios, tree = no_cheaper(case, both.outer, lower_bound, proof) if lower_bound else ([], [])
    except BudgetEnded:
        raise in_time(case) from None
    how = Written(case.model, holds)
    evidence = {
        "bins": how.bins,
        "messages": [how.steps(one) for one in holds],
        "scenarios": scenarios,
        "tree": tree,
    }
    return written(case, result, evidence, model_file)


def no_cheaper(
    case: Case, constraints: Sequence[Joint], lower_bound: int, proof: CoverProof | None
) -> tuple[list[Any], list[Json]]:
    """Return scenarios, and the tree which shows by them that no allowed set costs less than a bound."""
    choices = case.question.choices
    if not isinstance(proof, Scenarios):
        found = ScenarioSearch(Problem(constraints, choices), _NODES, _SECONDS).run()
        if found.lower_bound < lower_bound or not isinstance(found.proof, Scenarios):
            raise CertificateError("no scenarios were found in time that show that no cheaper set suffices")
        proof = found.proof
    trees = ScenarioTree(constraints, choices, few(case), proof)
    tree = trees.cheapest(lower_bound)
    return trees.written, tree


def few(case: Case) -> int | None:
    """Return how many features may change at once for certain."""
    # A change of one feature lies in the ball of any norm; changes of several at once need not.
    return 1 if case.question.is_ball else case.question.max_changed


def certify_contrast(
    case: Case, changed: Sequence[int], point: Sequence[Value] | None, lower_bound: int, model_file: PathLike | None
) -> Certificate:
    """Return the proof that some features can break a claim and changes below a bound cannot; or that nothing can."""
    choices = case.question.choices
    if point is None:  # what cannot change anyway suffices
        return certify_explanation(case, choices.features(sorted(choices.fix)), 0, None, model_file)
    try:
        fewer = unchanged(sides(case).inner, choices, lower_bound - 1)
    except BudgetEnded:
        raise in_time(case) from None
    how = Written(case.model, fewer)
    result = {"kind": "contrast", "changed": list(changed), "lower_bound": str(choices.unit * lower_bound)}
    evidence = {
        "input": [place_document(x) for x in point],
        "bins": how.bins,
        "fewer": [how.steps(one) for one in fewer],
    }
    return written(case, result, evidence, model_file)


def unchanged(constraints: Sequence[Joint], choices: Choices, budget: int) -> list[Proof]:
    """Return for each constraint why changes within a budget do not break it; nothing where there is no change."""
    if budget < 0:
        return []
    moving = [
        i
        for k, item in enumerate(choices.items)
        if k in choices.free or (k not in choices.fix and choices.costs[k] <= budget)
        for i in item
    ]
    return [Sender(one, moving, _within(choices, budget, one.max_changed, one)).prove() for one in constraints]


def _within(choices: Choices, budget: int, most: int | None, constraint: Joint) -> Close:
    """Return what closes a proof that changes within a budget, at most so many at once, do not break a claim."""
    is_plain = choices.is_counting and not (choices.has_groups and most is not None)
    count = len(constraint.ground.row)

    def close(margin: Ordered, drops: Mapping[int, Ordered], forced: Collection[int]) -> list[Json] | None:
        open_ = [k for k in range(len(choices.items)) if k not in choices.fix and k not in choices.free]
        touched = {k for k in open_ if not set(forced).isdisjoint(choices.items[k])}
        left = None if most is None else most - len(forced)
        rest = budget - sum(choices.costs[k] for k in touched)
        if rest < 0 or (left is not None and left < 0):
            return []
        paid = replace(choices, free=choices.free | touched)
        every = [drops.get(i, NOTHING) for i in range(count)]
        if not is_plain:
            return change_tree(every, margin, paid, rest, left)
        falls = sorted((total([every[i] for i in choices.items[k]]) for k in open_ if k not in touched), reverse=True)
        base = [every[i] for i in paid.features(sorted(paid.free))]
        return [] if total(sorted([*falls[:rest], *base], reverse=True)[:left]) <= margin else None

    return close


def certify_sets(
    case: Case,
    problem: Problem,
    cover: Cover | None,
    sets: Sequence[Sequence[int]],
    is_complete: bool,
    model_file: PathLike | None,
) -> Certificate:
    """Return the proof that sets are minimal, and that there are no others if they are all there are."""
    choices, both = problem.choices, sides(case)
    held = [frozenset(k for k, item in enumerate(choices.items) if item[0] in set(one)) for one in sets]
    proof = cover.proof if cover is not None and isinstance(cover.proof, Scenarios) else None
    trees, tree = ScenarioTree(both.outer, choices, few(case), proof), list[Json]()
    try:
        holds = [enough(both.inner, [i for i in case.features if i not in set(one)]) for one in sets]
        if cover is None:
            for kept in held:
                for k in sorted(kept - choices.fix):
                    trees.show_break((trees.open - kept) | {k})
        if is_complete:
            tree = trees.complete(held, None if cover is None else cover.cost + 1)
        elif cover is not None:
            if proof is None:
                raise CertificateError("there are no scenarios that show that no cheaper set suffices")
            tree = trees.cheapest(cover.cost)
    except BudgetEnded:
        raise in_time(case) from None
    how = Written(case.model, [one for proofs in holds for one in proofs])
    result = {
        "kind": "explanations",
        "minimal": "subset" if cover is None else "size",
        "sets": [list(one) for one in sets],
        "is_complete": is_complete,
    }
    evidence = {
        "bins": how.bins,
        "messages": [[how.steps(one) for one in proofs] for proofs in holds],
        "scenarios": trees.written,
        "tree": tree,
    }
    return written(case, result, evidence, model_file)


def certify_relevance(
    case: Case, problem: Problem, roles: Mapping[str, Sequence[int]], model_file: PathLike | None
) -> Certificate:
    """Return the proof of each item's role: alone it breaks the claim, some set needs it, or none does."""
    choices, both = problem.choices, sides(case)
    trees = ScenarioTree(both.outer, choices, few(case))
    every = frozenset(range(len(choices.items))) - choices.free
    sets: list[list[int]] = []

    def free_without(items: Collection[int]) -> list[int]:
        kept = set(choices.features(items))
        return [i for i in case.features if i not in kept]

    try:
        holds = [enough(both.inner, free_without(every))]
        trees.show_needed(roles["necessary"])
        for k in roles["necessary"]:
            trees.show_break({k})
        for k in roles["relevant"]:
            freed = set_that_needs(problem, k)
            if freed is None:
                raise CertificateError(f"no set was found in time that shows the relevance of {choices.names[k]!r}")
            trees.show_break({*freed, k})
            kept = every.difference(freed)
            sets.append(sorted(choices.features(kept)))
            holds += [enough(both.inner, free_without(kept)), enough(both.inner, free_without(every - {k}))]
        leaves: list[list[Proof]] = []

        def prove(freed: Collection[int]) -> int:
            leaves.append(enough(both.inner, freed))
            return len(leaves) - 1

        def admits(freed: Collection[int]) -> bool:
            return all(constraint.admits(freed) for constraint in both.inner)

        shown = [trees.irrelevant(k, admits, prove) for k in roles["irrelevant"]]
    except BudgetEnded:
        raise in_time(case) from None
    how = Written(case.model, [one for proofs in (*holds, *leaves) for one in proofs])
    for node in (node for tree in shown for node in tree if "fits" in node):
        node["fits"] = [how.steps(one) for one in leaves[node["fits"]]]
    evidence = {
        "bins": how.bins,
        "messages": [[how.steps(one) for one in proofs] for proofs in holds],
        "scenarios": trees.written,
        "sets": sets,
        "trees": shown,
    }
    said = {role: choices.features(items) for role, items in roles.items()}
    return written(case, {"kind": "relevance", **said}, evidence, model_file)
