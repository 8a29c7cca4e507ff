"""Algorithms 2 and 4 to the letter, to show where the letter cannot be followed.

`tests/paper/test_printed.py` runs each on the smallest instance that it fails on; `docs/paper.md` says why, and what
is done instead. Nothing else uses this module.
"""

from __future__ import annotations

from collections.abc import Sequence

from suffice.errors import SufficeError
from suffice.paper.run import Run
from suffice.paper.verifiers.propagation import outer_bounds


class DoesNotEndError(SufficeError, RuntimeError):
    """A printed loop has run for as many rounds as were allowed, and would for ever."""


def printed_sorting(run: Run, max_rounds: int) -> list[int]:
    """Sort by importance as Algorithm 2 is printed: bisect every component until no two intervals overlap."""
    features = range(run.instance.size)
    (side,) = run.instance.sides
    bounds = [outer_bounds(part) for part in side.parts]
    lower, upper = [low for low, _ in bounds], [high for _, high in bounds]
    running = set(features)
    for _ in range(max_rounds):
        for i in sorted(running):
            middle = (lower[i] + upper[i]) / 2
            (answer,) = run.components([run.instance.component_at_least(i, middle)])
            if answer.holds:
                lower[i] = middle
            else:
                upper[i] = middle
        delta_l = [part.here - low for part, low in zip(side.parts, lower, strict=True)]
        delta_u = [part.here - high for part, high in zip(side.parts, upper, strict=True)]
        running -= {
            i for i in features if all(delta_u[i] >= delta_l[j] or delta_u[j] >= delta_l[i] for j in features if j != i)
        }
        if not running:
            return sorted(features, key=lambda i: (delta_l[i], delta_u[i]))
    raise DoesNotEndError(f"intervals still overlap after {max_rounds} rounds")


def printed_logarithmic_search(run: Run, order: Sequence[int], max_rounds: int) -> tuple[int, ...]:
    """Search as Algorithm 4 is printed, with `F` any order of the features; `m` is 1 if the loop never runs."""
    low, high, middle = 1, len(order), 1
    for _ in range(max_rounds):
        if low == high:
            return tuple(order[:middle])
        middle = (low + high) // 2
        if run.suffices(order[: max(middle, 0)]).holds:
            low = middle
        else:
            high = middle - 1
    raise DoesNotEndError(f"l = {low} and u = {high} after {max_rounds} rounds")
