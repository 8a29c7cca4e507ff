"""How does the size of the smallest explanation grow with the radius?"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.answers.radius import Curve, Limit, Step
from suffice.answers.words import listed, true_end
from suffice.core.case import Case, cost_of
from suffice.core.constraint import Constraint
from suffice.errors import BudgetError, PreferenceError, Undecided
from suffice.numbers.exact import Rational
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

    def solve(constraints: Sequence[Constraint]) -> Cover:
        if clock.is_over:
            raise BudgetError("the time is up; raise max_seconds")
        if not all(constraint.admits(freed) for constraint in constraints):
            what = f"{listed([names[i] for i in freed])} cannot {'be' if len(freed) == 1 else 'all be'} free"
            raise PreferenceError(f"{what} at every radius of the curve; free fewer, or choose a smaller `until`")
        cover = smallest_cover([one.inner for one in constraints], choices, **clock.budget)
        if case.compiled.is_enclosed and cover.is_best:
            bound = smallest_cover([one.outer for one in constraints], choices, **clock.budget)
            if bound.is_best and bound.cost < cover.cost:
                raise Undecided
        return cover

    stretches, is_complete = sizes_by_radius(case.path(), solve, until)
    steps = [
        Step(Limit.of(one.reach), cost_of(one.cover.cost, choices.unit), tuple(names[i] for i in one.cover.fixed))
        for one in stretches
    ]
    caveat = true_end(case, max(one.reach.more for one in stretches))
    return Curve(case, tuple(steps), stretches, caveat, is_complete)
