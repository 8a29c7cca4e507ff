"""What are all minimal explanations, and how many are there?"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from suffice.answers.explanations import Explanations
from suffice.answers.words import tie
from suffice.core.case import Case, cost_of
from suffice.errors import BudgetError, UnsettledError
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, ROUNDED_MINIMA, search
from suffice.search.explain import NODES, check_free
from suffice.solvers.covering import smallest_cover
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Cover


@search(
    "explanations",
    honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed"},
    refuses={"norm": BOX_ONLY, "arithmetic": ROUNDED_MINIMA},
)
def explanations(case: Case, minimal: Literal["size", "subset"]) -> Explanations:
    """Return all minimal explanations, to be iterated over: each comes as soon as it is found."""
    check_free(case)
    problem = Problem(case.constraints, case.question.choices)
    cover = _smallest(case) if minimal == "size" else None
    return Explanations(case, problem, cover, closer=lambda: explanations.of(case.refined(), minimal))


def _smallest(case: Case) -> Cover:
    choices, clock = case.question.choices, case.clock(NODES)
    cover = smallest_cover(case.inner, choices, **clock.budget)
    bound = cover if case.inner == case.outer else smallest_cover(case.outer, choices, **clock.budget)
    if not (cover.is_best and bound.is_best):
        low, high = (cost_of(cost, choices.unit) for cost in (bound.lower_bound, cover.cost))
        raise BudgetError(
            f"the least cost is only known to lie between {low} and {high}; raise max_nodes or max_seconds"
        )
    if bound.cost < cover.cost:
        case.settle(False)
        raise UnsettledError(f"whether a set smaller than {cost_of(cover.cost, choices.unit)} is enough is {tie(case)}")
    return replace(cover, proof=bound.proof)  # what it rules out is ruled out for certain
