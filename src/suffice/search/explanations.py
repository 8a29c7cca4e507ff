"""What are all minimal explanations, and how many are there?"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from suffice.answers.explanations import Explanations
from suffice.core.case import Case
from suffice.errors import BudgetError
from suffice.question.preferences import cost_of
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
    cover, bound = _smallest(case) if minimal == "size" else (None, None)
    found = Explanations(case, problem, cover, bound, closer=lambda: explanations.of(case.refined(), minimal))
    return found if cover is None or found.is_smallest else found.bounded()


def _smallest(case: Case) -> tuple[Cover, Cover]:
    """Return a smallest set that is enough for certain, and one that may be."""
    choices, clock = case.question.choices, case.clock(NODES)
    cover = smallest_cover(case.inner, choices, **clock.budget)
    bound = cover if case.inner == case.outer else smallest_cover(case.outer, choices, **clock.budget)
    if not (cover.is_best and bound.is_best):
        low, high = (cost_of(cost, choices.unit) for cost in (bound.lower_bound, cover.cost))
        raise BudgetError(
            f"the least cost is only known to lie between {low} and {high}; raise max_nodes or max_seconds"
        )
    case.settle(bound.cost == cover.cost)
    return replace(cover, proof=bound.proof), bound  # what it rules out is ruled out for certain
