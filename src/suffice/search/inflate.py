"""How far may the fixed features move themselves?"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.answers.inflated import Inflated, Range
from suffice.answers.words import listed, true_end
from suffice.core.case import Case
from suffice.errors import ClaimError, OptionError
from suffice.numbers.exact import ZERO
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, SET_IS_GIVEN, search
from suffice.search.explain import explain
from suffice.solvers.ranges import widest_range


@search(
    "inflate",
    honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed"},
    refuses={"norm": BOX_ONLY, "arithmetic": "ranges extend beyond the region, and rounding is bounded only within it"},
    takes_smooth=False,
)
def inflate(case: Case, fixed: Sequence[int] | None) -> Inflated:
    """Return for each fixed feature the widest range over which the claim still holds.

    The ranges are found one after the other: each is the widest interval around the row's value (or set of categories)
    that the ranges before it, and the free features in their region, leave room for.
    """
    if fixed is None:
        return _inflated(case, explain.run(case).fixed)
    for name in sorted(case.question.given & (PREFERENCES | {"max_nodes"})):
        raise OptionError(f"'inflate' does not take the option {name!r} together with features: {SET_IS_GIVEN}")
    return _inflated(case, fixed)


def _inflated(case: Case, fixed: Sequence[int]) -> Inflated:
    names, freed = case.model.names, [i for i in case.features if i not in set(fixed)]
    for constraint in case.constraints:
        if not constraint.admits(freed):
            what = listed([names[i] for i in fixed]) if fixed else "fixing nothing"
            do = "do" if len(fixed) > 1 else "does"
            raise ClaimError(f"{what} {do} not suffice at this radius, so there are no ranges to find")
    ranges, ends, allowed, room = {}, [], [], case.room(freed)
    for i in fixed:
        domain = case.model.domains[i]
        found = widest_range(room.levels(i), case.row[i], domain)
        room = room.without(i, found.drops, found.reach(domain))
        ranges[names[i]] = Range.of(found, domain)
        allowed.append((i, found))
        ends += [found.low, found.high]
    more = max((end.more for end in ends), default=ZERO)
    return Inflated(case, ranges, tuple(names[i] for i in freed), tuple(allowed), true_end(case, more))
