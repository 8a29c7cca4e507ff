"""An explanation in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from suffice.claims import Inequality, Same
from suffice.domain import show
from suffice.present.facts import breaks, strongest_free
from suffice.rational import rational, to_fraction

if TYPE_CHECKING:
    from suffice.results import Contrast, Counterfactual, Curve, Explanation, Inflated, Range, Relevance, Statement

_MOST_ROWS = 12
_MOST_BREAKS, _MOST_MOVES = 5, 2


def describe(why: Explanation) -> str:
    """Return a few lines that say what was predicted, what suffices, what is proven, and what would break it."""
    return "\n".join([*statement(why), *_table(why), *notes(why), *_breaks(why)])


def statement(why: Explanation) -> tuple[str, str]:
    """Return what was predicted, and what is proven, a sentence each."""
    total, freed = len(why.model.features), len(why.freed)
    if not why.size:
        moves = f"whatever moves within the region{_few(why)}"
        proven = f"Proven: no feature needs to be fixed; {moves}, {_stays(why.statement)}."
    elif not freed and why.choices.is_plain and why.lower_bound == why.cost:
        proven = f"Proven: every feature is needed; with any one of them free {_may_fail(why.statement)}."
    elif not freed:
        proven = f"Proven: all {total} features are fixed, so that nothing moves; {_least(why)}"
    else:
        verb = "fixes" if why.size == 1 else "fix"
        others = "the other one does" if freed == 1 else f"the other {freed} do"
        proven = (
            f"Proven: {why.size} of {total} features {verb} it, whatever {others} within the region{_few(why)}; "
            f"{_least(why)}"
        )
    return _headline(why), proven


def notes(why: Explanation) -> list[str]:
    """Return what else is worth a sentence: charges, other predictions in floats, the slack, strong free features."""
    lines = []
    if any(why.charged):
        lines.append(f"Charged: up to {_number(max(to_fraction(c) for c in why.charged))} of the margin, for rounding.")
    if why.float_prediction != why.prediction:
        what = "overflows" if why.float_prediction is None else f"predicts {why.float_prediction} here, by rounding"
        lines.append(f"Note: float arithmetic {what}; the proof is about the exact model.")
    if why.freed:
        lines.append(f"Slack: {_number(why.slack)} of the margin is left when all free features do their worst.")
    return [*lines, *_strongest(why)]


def _strongest(why: Explanation) -> list[str]:
    """Return which free features take most of the margin."""
    drops = why.drops
    named = [f"{name} ({_number(drops[name])})" for name in strongest_free(why)]
    return [f"Strongest free: {', '.join(named)}."] if named else []


def _breaks(why: Explanation) -> list[str]:
    """Return for each kept feature what would break the claim, were it free too."""
    told = ((name, describe_break(why, name)) for name in why.features[:_MOST_BREAKS])
    return [f"If {name} were free: {what} would break it." for name, what in told if what]


def describe_break(why: Explanation, without: str) -> str:
    """Return what breaks the claim once a kept feature is free too; nothing where nothing is known to."""
    found = breaks(why, without)
    if not found:
        return ""
    first, *others = found
    told = [f"{move.name} {move.old} -> {move.new}" for move in others[:_MOST_MOVES]]
    more = f" and {len(others) - _MOST_MOVES} more" if len(others) > _MOST_MOVES else ""
    return f"{first.old} -> {first.new}" + (f" with {', '.join(told)}{more}" if told else "")


def _few(why: Explanation) -> str:
    most = why.constraints[0].at_most
    return "" if most is None else f", {most} of them at once"


def _least(why: Explanation) -> str:
    """Return what is known of other sets."""
    has_prices = not why.choices.is_counting or any(len(item) > 1 for item in why.choices.items)
    among = " that the preferences allow" if not why.choices.is_plain else ""
    if why.lower_bound == why.cost:
        return f"no set{among} costs less than their {why.cost}." if has_prices else f"no smaller set{among} does."
    if not why.lower_bound:
        return f"whether a smaller set{among} does is not known ({why.caveat})."
    fewer = f"costs less than {why.lower_bound}" if has_prices else f"of fewer than {why.lower_bound} does"
    return f"no set{among} {fewer} ({why.caveat})."


def _stays(statement: Statement) -> str:
    return "the prediction stays" if isinstance(statement.claim, Same) else "the claim stays true"


def _may_fail(statement: Statement) -> str:
    return "the prediction can change" if isinstance(statement.claim, Same) else "the claim can fail"


def _changed(contrast: Contrast) -> tuple[str, str]:
    """Return what a contrast is about, and what its inputs do to it."""
    if isinstance(contrast.statement.claim, Same):
        return "", "change it"
    return f"; to stay {_parts(contrast.inequalities)}", "break the claim"


def describe_contrast(contrast: Contrast) -> str:
    """Return a few lines that say what would change the prediction."""
    about, what = _changed(contrast)
    headline = f"Prediction: {_value(contrast.prediction)}{about}"
    if not contrast.is_possible:
        return f"{headline}\nProven: nothing within the region can {what}."
    noun = "feature" if contrast.size == 1 else "features"
    return "\n".join([headline, f"Proven: {contrast.size} {noun} can {what}; no fewer can.", *_moves(contrast)])


def describe_counterfactual(contrast: Counterfactual) -> str:
    """Return a few lines that say which is the nearest change of the prediction."""
    if not contrast.is_possible:
        return describe_contrast(contrast)
    noun = "feature" if contrast.size == 1 else "features"
    least = f"{float(contrast.least_change):.6g}"
    how_far = f"by {least} radii" if contrast.is_attained else f"by little more than {least} radii"
    about, what = _changed(contrast)
    lines = [
        f"Prediction: {_value(contrast.prediction)}{about}",
        f"Proven: {contrast.size} {noun} can {what}, moving {how_far} at most; no fewer can, nor with less.",
    ]
    return "\n".join(lines + _moves(contrast))


def describe_relevance(relevance: Relevance) -> str:
    """Return a line for each kind of feature."""
    parts = {
        "Necessary (in every sufficient set)": relevance.necessary,
        "Relevant (in some minimal set)": relevance.relevant,
        "Irrelevant (in no minimal set)": relevance.irrelevant,
        "Undecided (the search ended at its budget)": relevance.undecided,
    }
    lines = [f"{what}: {', '.join(names)}" for what, names in parts.items() if names]
    return "\n".join([f"Prediction: {_value(relevance.prediction)}", *lines])


def describe_curve(curve: Curve) -> str:
    """Return a line for each stretch of radii."""
    lines = [f"Prediction: {_value(curve.prediction)}"]
    for step in curve.steps:
        noun = "feature" if step.cost == 1 else "features"
        names = f": {', '.join(step.features)}" if step.features else ""
        lines.append(f"  radius {step.limit}: {step.cost} {noun}{names}")
    return "\n".join(lines)


def describe_range(range_: Range) -> str:
    """Return an interval or a set in words."""
    if range_.values:
        return "one of " + ", ".join(_value(value) for value in range_.values)
    low = "-∞" if range_.low is None else _number(range_.low)
    high = "∞" if range_.high is None else _number(range_.high)
    if range_.is_integers:
        return f"the integers from {low} to {high}"
    return f"{'[' if range_.has_low else '('}{low}, {high}{']' if range_.has_high else ')'}"


def describe_inflated(inflated: Inflated) -> str:
    """Return the range of each kept feature."""
    lines = [
        f"Prediction: {_value(inflated.prediction)}",
        f"Proven: it stays so while these hold, whatever the other {len(inflated.freed)} do within the region:",
    ]
    width = max((len(name) for name in inflated.ranges), default=0)
    return "\n".join(lines + [f"  {name:<{width}}  in {range_}" for name, range_ in inflated.ranges.items()])


def _moves(contrast: Contrast) -> list[str]:
    point, names = contrast.counterexample, contrast.model.names
    width = max(len(names[i]) for i in contrast.moved)
    return [f"  {names[i]:<{width}}  {show(contrast.row[i])} -> {_value(point[names[i]])}" for i in contrast.moved]


def _headline(why: Explanation) -> str:
    """Return what was predicted and, unless the claim is just the sign of a score, what must stay true."""
    prediction = _value(why.prediction)
    if why.model.task == "binary" and isinstance(why.statement.claim, Same):
        return f"Prediction: {prediction} (margin {_number(why.margin)})"
    what = _parts(why.inequalities)
    return f"Prediction: {prediction}; to stay {what} (tightest margin {_number(why.margin)})"


def _parts(inequalities: Sequence[Inequality]) -> str:
    parts = [inequality.meaning for inequality in inequalities]
    return " and ".join(parts) if len(parts) < 3 else f"ahead of all {len(parts)} others"


def _table(why: Explanation) -> list[str]:
    drops = why.drops
    rows = []
    for i in why.kept[:_MOST_ROWS]:
        name = why.model.names[i]
        rows.append((name, f"= {show(why.row[i])}", f"could lower the margin by {_number(drops[name])}"))
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
    lines = [f"  {name:<{widths[0]}}  {value:<{widths[1]}}  {effect}" for name, value, effect in rows]
    if why.size > _MOST_ROWS:
        lines.append(f"  ... and {why.size - _MOST_ROWS} more")
    return lines


def _value(value: Any) -> str:
    return _number(value) if isinstance(value, Fraction) else str(value)


def _number(value: Fraction | float) -> str:
    return "any amount" if value == math.inf else show(rational(value))
