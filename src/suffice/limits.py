"""Limits of a question as users give them: how many features move, in which ball, for how long a search may go on."""

from __future__ import annotations

import math
import time
from typing import Any

from suffice.errors import BudgetError, PreferenceError, RadiusError
from suffice.rational import brief
from suffice.rounding import read_semantics


class Clock:
    """Budgets of a question, of which the time runs."""

    def __init__(self, nodes: Any, seconds: Any) -> None:
        if type(nodes) is not int or nodes < 0:
            raise BudgetError(f"max_nodes must be a whole number from 0 up, got {brief(nodes)}")
        if not isinstance(seconds, (int, float)) or not 0 <= seconds < 1e9:
            raise BudgetError(f"max_seconds must be a number of seconds from 0 up, got {brief(seconds)}")
        self.nodes, self.end = nodes, time.monotonic() + seconds

    @property
    def budget(self) -> dict[str, Any]:
        """What is left, as searches take it."""
        return {"max_nodes": self.nodes, "max_seconds": max(0.0, self.end - time.monotonic())}


def read_at_most(at_most: int | None) -> int | None:
    """Return how many features may move at once; None for all."""
    if at_most is not None and (type(at_most) is not int or at_most < 1):
        raise PreferenceError(f"at_most must be a whole number of features from 1 up, got {brief(at_most)}")
    return at_most


def read_norm(norm: float) -> bool:
    """Return whether the region is smaller than the box."""
    if not isinstance(norm, (int, float)) or norm not in (1, 2, math.inf):
        raise RadiusError(f"norm must be 1, 2 or math.inf, got {brief(norm)}")
    return norm != math.inf


def check_limits(*, at_most: Any, norm: Any, semantics: Any, max_nodes: Any, max_seconds: Any) -> None:
    """Refuse, before any row, what `explain` would refuse for every row."""
    read_at_most(at_most)
    read_norm(norm)
    Clock(max_nodes, max_seconds)
    read_semantics(semantics)
