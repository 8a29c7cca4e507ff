"""Which features matter at all?"""

from __future__ import annotations

from suffice.answers.relevance import Relevance
from suffice.core.case import Case
from suffice.errors import Undecided
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, ROUNDED_MINIMA, search
from suffice.search.explain import check_free
from suffice.solvers.problem import Problem
from suffice.solvers.roles import roles

_NODES = 2_000


@search(
    "relevance",
    honours=ALWAYS | BUDGET | {"fix", "free", "groups", "max_changed"},
    refuses={
        "cost": "whether a set is subset-minimal does not depend on costs",
        "norm": BOX_ONLY,
        "arithmetic": ROUNDED_MINIMA,
    },
)
def relevance(case: Case) -> Relevance:
    """Return which features are in every subset-minimal explanation, in some, or in none.

    Whether a feature is in some is a question of subset sums; past the budget it is named undecided.
    """
    check_free(case)
    choices, names = case.question.choices, case.model.names
    problem = Problem(case.constraints, choices)
    found = roles(problem, **case.clock(_NODES).budget)
    if found.tied and not case.compiled.is_enclosed:
        raise Undecided  # a number of the claim is known more closely before long
    case.settle(not found.tied)
    # What is tied once nothing can be enclosed more closely is undecided.
    told = found._replace(undecided=tuple(sorted((*found.undecided, *found.tied))), tied=())
    named = {role: tuple(names[i] for i in sorted(choices.features(items))) for role, items in told._asdict().items()}
    del named["tied"]
    return Relevance(case=case, **named, problem=problem, roles=told)
