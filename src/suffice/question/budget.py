"""How long a search may go on."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import BudgetError
from suffice.numbers.exact import brief

MAX_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Budgets of one question: nodes of its search (None: as many as the search takes by itself), and seconds."""

    max_nodes: int | None = None
    max_seconds: float = MAX_SECONDS

    def __post_init__(self) -> None:
        nodes, seconds = whole_number(self.max_nodes), self.max_seconds
        if self.max_nodes is not None and (nodes is None or nodes < 0):
            raise BudgetError(f"max_nodes must be a whole number, 0 or more, got {brief(self.max_nodes)}")
        is_number = isinstance(seconds, (int, float, np.number)) and not isinstance(seconds, bool)
        if not is_number or not 0 <= seconds < 1e9:
            raise BudgetError(f"max_seconds must be a number of seconds, 0 or more, got {brief(seconds)}")
        object.__setattr__(self, "max_nodes", nodes)
        object.__setattr__(self, "max_seconds", float(seconds))


def whole_number(given: Any) -> int | None:
    """Return a whole number of Python's or NumPy's as Python's own; None for anything else."""
    return int(given) if isinstance(given, (int, np.integer)) and not isinstance(given, bool) else None


@dataclass(frozen=True, slots=True)
class Clock:
    """A budget of which the time runs."""

    nodes: int
    end: float = math.inf

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.end

    @property
    def budget(self) -> dict[str, Any]:
        """What is left, as solvers take it."""
        return {"max_nodes": self.nodes, "max_seconds": max(0.0, self.end - time.monotonic())}
