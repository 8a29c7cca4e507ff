"""How does the size of the smallest explanation grow with the radius?"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.answers.radius import Curve, Limit, Step
from suffice.answers.words import listed, tie, true_end
from suffice.core.case import Case
from suffice.core.constraint import Constraint
from suffice.errors import BudgetError, PreferenceError
from suffice.numbers.exact import ZERO, Rational
from suffice.question.preferences import cost_of
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, ROUNDED_MINIMA, search
from suffice.search.explain import NODES
from suffice.solvers.covering import smallest_cover
from suffice.solvers.proofs import Cover
from suffice.solvers.radii import sizes_by_radius


@search(
    "curve",
    honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed"},
    refuses={"norm": BOX_ONLY, "arithmetic": ROUNDED_MINIMA},
    takes_radius=False,
)
def curve(case: Case, until: Rational | None) -> Curve:
    """Return how the size of the smallest explanation grows with the radius, up to `until` (None: without end).

    The radius is the same for all features in the question's unit. The radii where the size grows are exact, or
    enclosed where they are not rational. Where the budget ends, the curve ends with the last stretch that is known.
    """
    clock, choices, names = case.clock(NODES), case.question.choices, case.model.names
    freed = choices.features(sorted(choices.free))

    def solve(constraints: Sequence[Constraint]) -> tuple[Cover, int]:
        if clock.is_over:
            raise BudgetError("the time is up; raise max_seconds")
        inner, outer = [one.inner for one in constraints], [one.outer for one in constraints]
        if not all(constraint.admits(freed) for constraint in inner):
            is_tie = case.compiled.is_enclosed and all(constraint.admits(freed) for constraint in outer)
            case.settle(not is_tie)
            be, every = "be" if len(freed) == 1 else "all be", "at every radius of the curve"
            named = listed([names[i] for i in freed])
            what = (
                f"whether {named} can {be} free {every} is {tie(case)}"
                if is_tie
                else f"{named} cannot {be} free {every}"
            )
            raise PreferenceError(f"{what}; free fewer, or choose a smaller `until`")
        cover = smallest_cover(inner, choices, **clock.budget)
        if not (case.compiled.is_enclosed and cover.is_best):
            return cover, cover.lower_bound
        bound = smallest_cover(outer, choices, **clock.budget)
        if bound.lower_bound < cover.cost and not bound.is_best:
            raise BudgetError("the search for smaller sets ran out of its budget; raise max_nodes or max_seconds")
        case.settle(bound.cost == cover.cost)
        return cover, bound.cost

    stretches, is_complete = sizes_by_radius(case.path(), solve, until)
    case.settle(not any(one.reach.is_open for one in stretches))
    steps = [
        Step(
            Limit.of(one.reach),
            cost_of(one.cover.cost, choices.unit),
            tuple(names[i] for i in one.cover.fixed),
            cost_of(one.least, choices.unit),
        )
        for one in stretches
    ]
    caveats = [true_end(case, max((one.reach.more for one in stretches if not one.reach.is_open), default=ZERO))]
    if any(one.reach.is_open or one.least < one.cover.cost for one in stretches):
        caveats.append(f"whether less is enough, or the same further on, is {tie(case)}")
    caveat = "; ".join(one for one in caveats if one) or None
    return Curve(case, tuple(steps), stretches, caveat, is_complete)
