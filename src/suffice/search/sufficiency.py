"""Do these features suffice?"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.answers.sufficiency import Sufficiency
from suffice.answers.words import tie
from suffice.core.case import Case
from suffice.core.counterexamples import easiest_break
from suffice.search.asking import ALWAYS, NO_NODES, PREFERENCES, SET_IS_GIVEN, refuse, search


@search(
    "sufficiency",
    honours=ALWAYS | {"max_changed", "norm", "arithmetic", "max_seconds"},
    refuses=refuse(PREFERENCES, SET_IS_GIVEN) | {"max_nodes": NO_NODES},
    takes_set=True,
)
def sufficiency(case: Case, fixed: Sequence[int]) -> Sufficiency:
    """Return whether fixing some features keeps the claim true, whatever the others do in the region."""
    case = case.with_fixed(fixed)
    freed = [i for i in case.features if i not in set(fixed)]
    if all(constraint.admits(freed) for constraint in case.inner):
        return Sufficiency(case, tuple(fixed), None)
    broken = easiest_break(case.outer, (), freed)
    case.settle(broken is not None)
    if broken is None:
        return Sufficiency(case, tuple(fixed), None, _caveat(case))
    part, moved = broken
    point = case.breaking_input(part, moved)
    return Sufficiency(case, tuple(fixed), tuple(point))


def _caveat(case: Case) -> str:
    """Return what decides where neither is proven."""
    if case.question.arithmetic != "exact":
        return "it depends on rounding"
    ball = "it depends on the difference between the ball and its box" if case.question.is_ball else ""
    close = f"it is {tie(case)}" if case.compiled.is_enclosed else ""
    return ", or ".join(one for one in (ball, close) if one)
