"""What is the nearest input with another answer?"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from suffice.answers.contrast import Counterfactual
from suffice.core.case import Case
from suffice.core.constraint import Constraint
from suffice.core.radius_path import RadiusPath
from suffice.model.domain import format_value
from suffice.numbers.exact import ONE, ZERO
from suffice.numbers.values import Value
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, search
from suffice.search.contrast import NODES, OUT_OF_BUDGET, why_open
from suffice.solvers.cheapest_break import Break, cheapest_break
from suffice.solvers.radii import Nearest, nearest_break

_CLOSE = fmpq(1, 2**10)  # how far beyond a change that does not break the claim an input may go, in radii


@search(
    "counterfactual", honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed", "arithmetic"}, refuses={"norm": BOX_ONLY}
)
def counterfactual(case: Case) -> Counterfactual:
    """Return the nearest input that breaks the claim by changing as few features as can be.

    Of all inputs that break the claim at the cost of a cheapest contrast, it has the smallest largest change, counted
    in radii.
    """
    clock, choices = case.clock(NODES), case.question.choices

    def cheapest(constraints: Sequence[Constraint]) -> Break | None:
        return cheapest_break(constraints, choices, clock)

    path, closest = case.paths
    found = nearest_break(path, cheapest)
    possible = found if closest is path else nearest_break(closest, cheapest)
    first, least = (None if one is None else one.cheapest for one in (found, possible))
    caveat = why_open(case, first, least)
    case.settle(caveat in (None, OUT_OF_BUDGET))
    if found is None or first is None:
        return Counterfactual(case, (), None, 0, 0 if least is None else least.lower_bound, caveat)
    assert possible is not None
    assert least is not None
    if case.compiled.is_enclosed:  # an input is known to break it there, and none before
        possible = possible._replace(more=found.radius + found.more - possible.radius)
    if possible.more:
        more = format_value(possible.more)
        kind = "" if case.has_pairs or case.compiled.is_curved else ", which is not rational,"
        caveat = caveat or f"the true least change{kind} is less than {more} larger"
    if any(case.charges):
        if first.cost > least.cost:  # how near an input of this cost may be, not one that changes less
            possible = nearest_break(closest, cheapest, first.cost)
            assert possible is not None
        caveat = caveat or f"nearer ones are within the rounding error of {case.question.arithmetic}"
    point = tuple(_point(path, found))
    if found.is_open or possible.is_open:
        caveat, possible = OUT_OF_BUDGET, possible._replace(radius=ZERO, is_attained=False)
    # A change of category is one of size 0, which is enough wherever no number has to change.
    has_spans = [isinstance(point[i], fmpq) and bool(case.model.domains[i].spans) for i in first.moved]
    is_size_0 = not possible.radius and not any(has_spans)
    return Counterfactual(
        case=case,
        changed=first.moved,
        point=point,
        units=choices.cost(i for i in first.moved if i not in choices.features(choices.free)),
        bound=least.lower_bound,
        caveat=caveat,
        least=possible.radius,
        is_attained=possible.is_attained or is_size_0,
    )


def _point(path: RadiusPath, nearest: Nearest) -> list[Value]:
    """Return an input at the nearest break, or as little beyond it as makes no difference."""
    radius = nearest.radius
    reach = radius if nearest.is_attained else max(radius + (1 - radius) * _CLOSE, min(ONE, radius + 2 * nearest.more))
    return path.breaking_input(nearest.cheapest.part, reach, nearest.cheapest.moved)
