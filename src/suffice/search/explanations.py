"""What are all minimal explanations, and how many are there?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from suffice.answers.explanations import Explanations
from suffice.core.case import Case, cost_of
from suffice.errors import BudgetError, Undecided
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, ROUNDED_MINIMA, search
from suffice.search.explain import NODES, check_free
from suffice.solvers.covering import Cover, smallest_cover
from suffice.solvers.enumeration import Count, Items, count_minimal, count_smallest, minimal_sets, smallest_sets
from suffice.solvers.problem import Problem


@search(
    "explanations",
    honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed"},
    refuses={"norm": BOX_ONLY, "arithmetic": ROUNDED_MINIMA},
)
def explanations(case: Case, minimal: Literal["size", "subset"]) -> Explanations:
    """Return all minimal explanations, to be iterated over: each comes as soon as it is found."""
    check_free(case)
    choices = case.question.choices
    problem = Problem(case.constraints, choices)
    cover = _smallest(case) if minimal == "size" else None

    def sets() -> Iterator[tuple[str, ...]]:
        found = minimal_sets(problem) if cover is None else smallest_sets(problem, cover)
        for items in _decided(found):
            yield tuple(case.model.names[i] for i in sorted(choices.features(items)))

    def number(most: int) -> Count:
        if cover is None:
            return count_minimal(problem, max_nodes=most)
        return count_smallest(problem, cover, max_nodes=most)

    return Explanations(case, sets, number)


def _smallest(case: Case) -> Cover:
    choices = case.question.choices
    cover = smallest_cover(case.constraints, choices, **case.clock(NODES).budget)
    if not cover.is_best:
        low, high = (cost_of(cost, choices.unit) for cost in (cover.lower_bound, cover.cost))
        raise BudgetError(
            f"the least cost is only known to lie between {low} and {high}; raise max_nodes or max_seconds"
        )
    return cover


def _decided(sets: Iterator[Items]) -> Iterator[Items]:
    """Pass sets on; a threshold that is not known well enough for the next one ends them with an error."""
    try:
        yield from sets
    except Undecided:
        raise BudgetError("a sum of drops is too close to the threshold; change the threshold slightly") from None
