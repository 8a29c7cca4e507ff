"""How far may the fixed features move themselves?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suffice.answers.inflated import Inflated, Range
from suffice.answers.words import listed, tie, true_end
from suffice.core.case import Case
from suffice.core.joint import Joint
from suffice.errors import ClaimError, OptionError
from suffice.numbers.exact import ZERO
from suffice.search.asking import ALWAYS, BOX_ONLY, BUDGET, PREFERENCES, SET_IS_GIVEN, search
from suffice.search.explain import explain
from suffice.solvers.halved_ranges import HalvedRoom, JointHalvedRoom, SeparableHalvedRoom
from suffice.solvers.ranges import AllowedRange, widest_range


@search(
    "inflate",
    honours=ALWAYS | PREFERENCES | BUDGET | {"max_changed"},
    refuses={"norm": BOX_ONLY, "arithmetic": "ranges extend beyond the region, and rounding is bounded only within it"},
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
    what = listed([names[i] for i in fixed]) if fixed else "fixing nothing"
    for inner, outer in zip(case.inner, case.outer, strict=True):
        if not inner.admits(freed):
            is_tie = case.compiled.is_enclosed and outer.admits(freed)
            case.settle(not is_tie)
            do, suffice = ("do", "suffice") if len(fixed) > 1 else ("does", "suffices")
            told = f"that {what} {suffice} at this radius is {tie(case)}" if is_tie else ""
            raise ClaimError(f"{told or f'{what} {do} not suffice at this radius'}, so there are no ranges to find")
    allowed = tuple((_halved if case.compiled.is_curved else _walked)(case, fixed, freed))
    ranges = {names[i]: Range.of(found, case.model.domains[i]) for i, found in allowed}
    more = max((end.more for _, found in allowed for end in (found.low, found.high)), default=ZERO)
    open_ = [names[i] for i, found in allowed if found.is_open]
    caveats = [f"whether {listed(open_)} may go further is {tie(case)}"] if open_ else []
    caveats += [end] if (end := true_end(case, more)) else []
    return Inflated(case, ranges, tuple(names[i] for i in freed), allowed, "; ".join(caveats) or None)


def _walked(case: Case, fixed: Sequence[int], freed: Sequence[int]) -> Iterator[tuple[int, AllowedRange]]:
    """Yield the ranges of features whose functions are made of lines: exactly."""
    room = case.room(freed)
    for i in fixed:
        domain = case.model.domains[i]
        found = widest_range(room.levels(i), case.row[i], domain)
        room = room.without(i, found.drops, found.reach(domain))
        yield i, found


def _halved(case: Case, fixed: Sequence[int], freed: Sequence[int]) -> Iterator[tuple[int, AllowedRange]]:
    """Yield the ranges of features of other functions, with ends between two numbers."""
    room = _room(case, freed)
    for i in fixed:
        found, reach = room.widest(i)
        case.settle(not found.is_open)
        room = room.without(i, reach)
        yield i, found


def _room(case: Case, freed: Sequence[int]) -> HalvedRoom:
    """Return what free features leave for the others."""
    around = case.row, case.model.domains
    joint = tuple(one for one in case.constraints if isinstance(one, Joint))
    if joint:
        tangents = tuple(case.tangents(one.factors) for one in case.inequalities)
        end = case.began + case.question.budget.max_seconds
        return JointHalvedRoom(*around, joint, tangents, case.region, frozenset(freed), end)
    taken, spared = (tuple(one.fall(freed) for one in some) for some in (case.inner, case.outer))
    return SeparableHalvedRoom(*around, case.inner, case.outer, taken, spared, case.worst, case.bits)
