"""An explanation in words: the short sentence, what is proven, the fixed features, the slack, what would break it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from suffice.answers.answer import Status
from suffice.answers.likelihood import unit_of_margin
from suffice.answers.words import amount, can_fail, counted, others, spoken, stays
from suffice.layout.facts import Fact, Grid, Row
from suffice.model.domain import format_value
from suffice.numbers.exact import Rational, nearest_float, to_fraction
from suffice.numbers.surd import Surd, exact

if TYPE_CHECKING:
    from suffice.answers.explanation import Counterexample, Explanation

_MOST_BREAKS, _MOST_MOVES, _MOST_TOLD = 5, 2, 4


def in_short(why: Explanation) -> Fact:
    """Return the answer in a sentence that needs no other."""
    told = [f"{name} ({format_value(why.row[i])})" for name, i in zip(why.features, why.fixed, strict=True)]
    if len(told) > _MOST_TOLD + 1:
        told = [*told[:_MOST_TOLD], f"{len(told) - _MOST_TOLD} more"]
    if not why.free:
        every = "the one feature there is" if why.size == 1 else f"all {why.size} features"
        is_needed = why.choices.is_plain and why.status is Status.PROVEN  # else some are fixed because you said so
        rests = f"this rests on {every}" if is_needed else f"with {every} fixed, nothing can change"
        return Fact("In short", f"{spoken(why.prediction)}; {rests}.")
    settle = "settles" if why.size == 1 else "settle"
    what = f"{' and '.join([', '.join(told[:-1]), told[-1]] if told[1:] else told)} {settle} this: " if told else ""
    whatever = "whatever else changes" if told else "whatever changes"
    stays = why.case.question.claim.sentence(why.model, why.prediction)
    sentence = f"{what}{whatever} within the region, {stays}."
    return Fact("In short", f"{spoken(why.prediction)}; {sentence}")


def proven(why: Explanation) -> Fact:
    """Return what is proven, in a sentence."""
    total, free = len(why.row), len(why.free)
    if not why.size:
        return Fact("Proven", f"no feature needs to be fixed: whatever changes within the region, {stays(why.case)}.")
    if not free and why.choices.is_plain and why.status is Status.PROVEN:
        return Fact("Proven", f"every feature is needed: if any one of them is free, {can_fail(why.case)}.")
    if not free:
        fixed = "the one feature" if total == 1 else f"all {total} features"
        return Fact("Proven", f"with {fixed} fixed, nothing can change; {_least(why)}")
    fix = "fixing 1 of" if why.size == 1 else f"fixing {why.size} of"
    return Fact(
        "Proven",
        f"{fix} {counted(total, 'feature')} is enough: whatever {others(free)} within the region, "
        f"{stays(why.case)}; {_least(why)}",
    )


def _least(why: Explanation) -> str:
    """Return what is known of other sets."""
    has_costs = not why.choices.is_counting or why.choices.has_groups
    among = "" if why.choices.is_plain else " that the preferences allow"
    if why.status is Status.PROVEN:
        return f"no set{among} costs less than {why.cost}." if has_costs else f"no smaller set{among} is enough."
    if not why.bound:
        return f"whether a smaller set{among} is enough is not known ({why.caveat})."
    if has_costs:
        return f"no set{among} costs less than {why.lower_bound} ({why.caveat})."
    return f"no set of fewer than {why.lower_bound}{among} is enough ({why.caveat})."


def margin_words(why: Explanation) -> str:
    """Return the margin with its unit, and of how many parts it is the tightest."""
    margin, parts = f"{amount(why.margin)}{unit_of_margin(why.model)}", len(why.inequalities)
    return f"margin {margin}" if parts == 1 else f"tightest margin {margin}, of {parts}"


def fixed_grid(why: Explanation) -> Grid:
    """Return the fixed features as a table: value, and what each could do to the margin."""
    drops = why.drops
    near = (nearest_float(cast(Rational, exact(drop))) for drop in drops.values() if drop != math.inf)
    widest = max((one for one in near if math.isfinite(one)), default=0.0) or 1.0
    could = "could alone lower" if why.case.has_pairs else "could lower"
    rows = [
        Row(
            (name, f"= {format_value(why.row[i])}", f"{could} the margin by {amount(drops[name])}"),
            _share(drops[name], widest),
        )
        for name, i in zip(why.features, why.fixed, strict=True)
    ]
    return Grid(("fixed feature", "value", "effect"), tuple(rows))


def notes(why: Explanation) -> list[Fact]:
    """Return what else is worth a sentence: charges, other predictions in floats, the slack, strong free ones."""
    facts = []
    if any(why.charged):
        most = amount(max(to_fraction(charge) for charge in why.charged))
        facts.append(Fact("Charged", f"up to {most} of the margin, for rounding in {why.case.question.arithmetic}."))
    if why.float_prediction != why.prediction:
        other = why.float_prediction
        what = "overflows" if other is None else f"predicts {other} here, because of rounding"
        facts.append(Fact("Note", f"float arithmetic {what}; the proof is about the exact model."))
    if why.free:
        used, few = amount(why.margin - why.slack), why.case.question.max_changed
        some = "the free features" if few is None or few >= len(why.free) else f"{few} of the free features"
        use = "uses" if some.startswith("1 ") else "use"
        told = f"in the worst case {some} {use} {used} of the margin; {amount(why.slack)} is left."
        if not why.has_exact_slack:
            told = f"{some} {use} at most {used} of the margin; at least {amount(why.slack)} is left."
        facts.append(Fact("Slack", told))
    strong = [f"{name} ({amount(why.drops[name])})" for name in why.strongest_free]
    each = ", each alone" if why.case.has_pairs else ""
    return [*facts, *([Fact(f"Strongest free{each}", f"{', '.join(strong)}.")] if strong else [])]


def breaks(why: Explanation) -> list[Fact]:
    """Return for each fixed feature what would break the claim, were it free too."""
    shown = [why.broken_without(name) for name in why.features[:_MOST_BREAKS]]
    facts = [Fact(f"If {one.without} could also change", f"{_break_words(why, one)}.") for one in shown if one]
    more = why.size - _MOST_BREAKS
    return [*facts, *([Fact("Not shown", f"{counted(more, 'more feature')}.")] if facts and more > 0 else [])]


def _break_words(why: Explanation, found: Counterexample) -> str:
    first, *rest = found.moves
    told = [f"{move.name} {move.old} -> {move.new}" for move in rest[:_MOST_MOVES]]
    more = f" and {len(rest) - _MOST_MOVES} more" if len(rest) > _MOST_MOVES else ""
    how = f"{first.old} -> {first.new}" + (f" with {', '.join(told)}{more}" if told else "")
    if why.model.task != "regression" and found.prediction != why.prediction:
        return f"{how} would change the prediction to {spoken(found.prediction)}"
    return f"{how} would break the claim"


def _share(drop: Fraction | Surd | float, widest: float) -> float:
    if drop == math.inf:
        return 1.0
    return min(nearest_float(cast(Rational, exact(drop))) / widest, 1.0)
