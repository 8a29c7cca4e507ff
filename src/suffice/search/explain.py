"""Why this decision? A smallest set of features that fixes it."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.answers.explanation import Explanation
from suffice.answers.words import listed, tie
from suffice.core.case import Case
from suffice.core.constraint import NO_DROP, Constraint
from suffice.errors import ClaimError, PreferenceError
from suffice.model.domain import format_value
from suffice.question.question import OPTIONS
from suffice.search.asking import search
from suffice.solvers.covering import smallest_cover
from suffice.solvers.proofs import Cover, Scenarios

NODES = 100_000


@search("explain", honours=OPTIONS)
def explain(case: Case) -> Explanation:
    """Return a smallest set of features that keeps a claim true whatever the others do in the region."""
    check_free(case)
    clock, choices = case.clock(NODES), case.question.choices
    cover = smallest_cover(case.inner, choices, **clock.budget)
    # What is ruled out must be ruled out for the true region and the true scores.
    bound = cover if case.inner == case.outer else smallest_cover(case.outer, choices, **clock.budget)
    is_best = bound.lower_bound == cover.cost
    case.settle(is_best or case.question.is_ball or not (cover.is_best and bound.is_best))
    needs_proof = len(case.outer) > 1 or not choices.is_plain or isinstance(bound.proof, Scenarios)
    return Explanation(
        case=case,
        fixed=cover.fixed,
        bound=bound.lower_bound,
        proof=bound.proof if needs_proof else None,
        caveat=None if is_best else _caveat(case, cover),
    )


def check_free(case: Case) -> None:
    """Raise an error if the features that are free in any case break the claim."""
    choices = case.question.choices
    freed = choices.features(sorted(choices.free))
    check_charged(case.inner)
    for constraint, outer in zip(case.inner, case.outer, strict=True):
        if not constraint.admits(freed):
            if case.compiled.is_enclosed and outer.admits(freed):
                case.settle(False)
                raise PreferenceError(
                    f"whether {listed([case.model.names[i] for i in freed])} can be free is {tie(case)}; free fewer, "
                    "or make the radius smaller"
                )
            fall, is_exact = constraint.known_fall(freed)
            by = f"by {format_value(fall.value)}" if is_exact else "by more than that"
            amount = "without bound" if fall.is_infinite else by
            names = listed([case.model.names[i] for i in freed])
            what = f"{names} cannot be free: it" if len(freed) == 1 else f"{names} cannot all be free: together they"
            raise PreferenceError(
                f"{what} can lower the margin of {format_value(constraint.margin)} {amount}; free fewer, or make the "
                "radius smaller"
            )


def check_charged(constraints: Sequence[Constraint]) -> None:
    """Raise an error if what is charged for rounding uses a margin up."""
    for constraint in constraints:
        if not constraint.allows(NO_DROP):
            raise ClaimError(
                f"rounding alone may break the claim: it leaves a margin of {format_value(constraint.margin)}"
            )


def _caveat(case: Case, cover: Cover) -> str:
    """Return why no smaller set is ruled out."""
    if not cover.is_best:
        return "the search ran out of its budget"
    question = case.question
    if question.is_ball:
        return f"the box around the {int(question.norm)}-norm ball was searched; the ball itself may need fewer"
    if case.compiled.is_enclosed:
        return f"whether a smaller one is enough is {tie(case)}"
    return f"a bound on {question.arithmetic} rounding was subtracted; the deployed model may need fewer features"
