"""What would change it? A smallest set of features whose change alone breaks the claim."""

from __future__ import annotations

from suffice.answers.contrast import Contrast
from suffice.answers.words import tie
from suffice.core.case import Case
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, search
from suffice.solvers.cheapest_break import Break, cheapest_break

NODES = 100_000
OUT_OF_BUDGET = "the search ran out of its budget"


@search("contrast", honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed", "arithmetic"}, refuses={"norm": BOX_ONLY})
def contrast(case: Case) -> Contrast:
    """Return a smallest set of features whose change alone can break the claim, with an input that does."""
    clock, choices = case.clock(NODES), case.question.choices
    found = cheapest_break(case.outer, choices, clock)
    possible = found if case.inner == case.outer else cheapest_break(case.inner, choices, clock)
    case.settle(why_open(case, found, possible) in (None, OUT_OF_BUDGET))
    if found is None:
        bound = 0 if possible is None else possible.lower_bound
        return Contrast(case, (), None, 0, bound, why_open(case, None, possible))
    assert possible is not None
    point = case.breaking_input(found.part, found.moved)
    caveat = why_open(case, found, possible)
    return Contrast(case, found.moved, tuple(point), found.cost, possible.lower_bound, caveat)


def why_open(case: Case, found: Break | None, possible: Break | None) -> str | None:
    """Return why less may break the claim than what is known to break it for certain; None where that is ruled out."""
    if possible is None or (found is not None and found.cost == possible.lower_bound):
        return None
    if any(one is not None and one.lower_bound < one.cost for one in (found, possible)):
        return OUT_OF_BUDGET
    if case.compiled.is_enclosed:
        return f"whether less does is {tie(case)}"
    return f"whether less does is within the rounding error of {case.question.arithmetic}"
