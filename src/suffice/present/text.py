"""An explanation in words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from suffice.domain import show
from suffice.rational import rational

if TYPE_CHECKING:
    from suffice.explain import Contrast, Explanation

_MOST_ROWS = 12


def describe(why: Explanation) -> str:
    """Return a few lines that say what was predicted, what suffices, and what is proven."""
    total, freed = len(why.model.features), len(why.freed)
    lines = [_headline(why)]
    if not why.size:
        lines.append("Proven: no feature needs to be fixed; whatever moves within the region, the prediction stays.")
    elif not freed and why.lower_bound == why.size:
        lines.append("Proven: every feature is needed; with any one of them free the prediction can change.")
    else:
        verb = "fixes" if why.size == 1 else "fix"
        others = "the other one does" if freed == 1 else f"the other {freed} do"
        least = "no smaller set does."
        if why.lower_bound < why.size:
            least = f"no set of fewer than {why.lower_bound} does (the search ended at its budget)."
        lines.append(f"Proven: {why.size} of {total} features {verb} it, whatever {others} within the region; {least}")
    lines += _table(why)
    if why.float_prediction != why.prediction:
        what = "overflows" if why.float_prediction is None else f"predicts {why.float_prediction} here, by rounding"
        lines.append(f"Note: float arithmetic {what}; the proof is about the exact model.")
    if freed:
        lines.append(f"Slack: {_number(why.slack)} of the margin is left when all free features do their worst.")
    return "\n".join(lines)


def describe_contrast(contrast: Contrast) -> str:
    """Return a few lines that say what would change the prediction."""
    if not contrast.is_possible:
        return f"Prediction: {contrast.prediction}\nProven: nothing within the region changes it."
    noun = "feature" if contrast.size == 1 else "features"
    lines = [f"Prediction: {contrast.prediction}", f"Proven: {contrast.size} {noun} can change it; no fewer can."]
    point, names = contrast.counterexample, contrast.model.names
    width = max(len(names[i]) for i in contrast.moved)
    for i in contrast.moved:
        new = point[names[i]]
        shown = show(rational(new)) if isinstance(new, Fraction) else str(new)
        lines.append(f"  {names[i]:<{width}}  {show(contrast.row[i])} -> {shown}")
    return "\n".join(lines)


def _headline(why: Explanation) -> str:
    """Return what was predicted and, unless the claim is just the sign of a score, what must stay true."""
    prediction = _number(why.prediction) if isinstance(why.prediction, Fraction) else why.prediction
    if why.model.task == "binary" and why.inequalities[0].constant == 0:
        return f"Prediction: {prediction} (margin {_number(why.margin)})"
    parts = [inequality.meaning for inequality in why.inequalities]
    what = " and ".join(parts) if len(parts) < 3 else f"ahead of all {len(parts)} others"
    return f"Prediction: {prediction}; to stay {what} (tightest margin {_number(why.margin)})"


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


def _number(value: Fraction | float) -> str:
    return "any amount" if value == math.inf else show(rational(value))
