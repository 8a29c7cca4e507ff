"""What are all minimal explanations, and how many are there?"""

from __future__ import annotations

from typing import Literal

from suffice.answers.explanations import Explanations
from suffice.core.case import Case, cost_of
from suffice.errors import BudgetError
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, ROUNDED_MINIMA, search
from suffice.search.explain import NODES, check_free
from suffice.solvers.covering import smallest_cover
from suffice.solvers.problem import Problem
from suffice.solvers.proofs import Cover


@search(
    "explanations",
    honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed"},
    refuses={"norm": BOX_ONLY, "arithmetic": ROUNDED_MINIMA},
    takes_smooth=False,
)
def explanations(case: Case, minimal: Literal["size", "subset"]) -> Explanations:
    """Return all minimal explanations, to be iterated over: each comes as soon as it is found."""
    check_free(case)
    problem = Problem(case.constraints, case.question.choices)
    return Explanations(case, problem, _smallest(case) if minimal == "size" else None)


def _smallest(case: Case) -> Cover:
    choices = case.question.choices
    cover = smallest_cover(case.constraints, choices, **case.clock(NODES).budget)
    if not cover.is_best:
        low, high = (cost_of(cost, choices.unit) for cost in (cover.lower_bound, cover.cost))
        raise BudgetError(
            f"the least cost is only known to lie between {low} and {high}; raise max_nodes or max_seconds"
        )
    return cover
