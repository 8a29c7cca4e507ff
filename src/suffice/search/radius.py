"""Up to which radius do these features suffice?"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.answers.radius import LargestRadius
from suffice.answers.words import tie, true_end
from suffice.core.case import Case
from suffice.search.asking import ALWAYS, BOX_ONLY, NO_NODES, PREFERENCES, SET_IS_GIVEN, refuse, search
from suffice.search.explain import check_charged


@search(
    "radius",
    honours=ALWAYS | {"max_changed", "arithmetic", "max_seconds"},
    refuses=refuse(PREFERENCES, SET_IS_GIVEN) | {"max_nodes": NO_NODES, "norm": BOX_ONLY},
    takes_radius=False,
)
def radius(case: Case, fixed: Sequence[int]) -> LargestRadius:
    """Return the largest radius, the same for all features in the question's unit, for which these features suffice.

    The answer is exact: a drop is a piecewise-linear function of the radius, with jumps.
    """
    case = case.with_fixed(fixed)
    freed = [i for i in case.features if i not in set(fixed)]
    path = case.path()
    exact = path.reach(freed)
    if case.question.arithmetic == "exact":
        case.settle(not exact.is_open)
        caveat = f"how much further is {tie(case)}" if exact.is_open else true_end(case, exact.more)
        return LargestRadius(case, tuple(fixed), exact, caveat)
    # What rounding takes within the exact radius bounds what it takes within any smaller one.
    charges = case.charges_over(path.region(exact.radius))
    charged = case.path([-charge for charge in charges])
    check_charged(charged.constraints)
    safe = charged.reach(freed)
    caveat = f"how much further depends on the rounding error of {case.question.arithmetic}"
    return LargestRadius(case, tuple(fixed), safe, caveat)
