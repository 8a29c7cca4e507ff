"""An explanation in words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from suffice.domain import show
from suffice.rational import rational

if TYPE_CHECKING:
    from suffice.explain import Explanation

_MOST_ROWS = 12


def describe(why: Explanation) -> str:
    """Return a few lines that say what was predicted, what suffices, and what is proven."""
    total, freed = len(why.model.features), len(why.freed)
    lines = [f"Prediction: {why.prediction} (margin {_number(why.margin)})"]
    if not why.size:
        lines.append("Proven: no feature needs to be fixed; whatever moves within the region, the prediction stays.")
    elif not freed:
        lines.append("Proven: every feature is needed; with any one of them free the prediction can change.")
    else:
        verb = "fixes" if why.size == 1 else "fix"
        others = "the other one does" if freed == 1 else f"the other {freed} do"
        lines.append(
            f"Proven: {why.size} of {total} features {verb} it, whatever {others} within the region; "
            "no smaller set does."
        )
    lines += _table(why)
    if why.float_prediction != why.prediction:
        lines.append(
            f"Note: float arithmetic predicts {why.float_prediction} here, by rounding; "
            "the proof is about the exact model."
        )
    if freed:
        lines.append(f"Slack: {_number(why.slack)} of the margin is left when all free features do their worst.")
    return "\n".join(lines)


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
