"""Algorithm 1: greedy subset-minimal explanations, the baseline of the paper, in two orders of features."""

from __future__ import annotations

import math
from collections.abc import Sequence

from suffice.numbers.exact import ZERO, Rational
from suffice.paper.instance import Instance
from suffice.paper.run import Minimality, Result, Run
from suffice.paper.verifiers.interface import Verifier


def greedy_subset_minimal(
    instance: Instance,
    verifier: Verifier,
    order: Sequence[int] | None = None,
    *,
    timeout: float = 60.0,
    limit: float = math.inf,
) -> Result:
    """Try to free each feature in turn; what cannot be freed stays (Algorithm 1).

    Parameters
    ----------
    instance : Instance
        The row, its region and claim.
    verifier : Verifier
        Asked once for each feature.
    order : sequence of int, optional
        Which feature to try first. Default: `lexicographic`; `by_sensitivity` is the paper's other one.
    timeout, limit : float
        CPU seconds for one query, and for all queries of the run.

    Notes
    -----
    A feature whose query is unknown stays: the set suffices all the same, but it is not called minimal. With a verifier
    that proves, a set without unknowns is subset-minimal because what failed once fails again when more is free.
    """
    run = Run(instance, verifier, timeout, limit)
    kept = list(range(instance.size))
    for processed, feature in enumerate(lexicographic(instance) if order is None else order, start=1):
        without = [i for i in kept if i != feature]
        if run.suffices(without).holds:
            kept = without
        run.note(len(kept), processed)
    return run.finish(kept, Minimality.NONE if run.unknown else Minimality.SUBSET)


def lexicographic(instance: Instance) -> list[int]:
    """Return the features as they stand."""
    return list(range(instance.size))


def by_sensitivity(instance: Instance) -> list[int]:
    """Return the features, least sensitive first: by how far the component moves to the ends of its region.

    The paper calls it reverse sensitivity and gives no formula; this is VeriX's idea, one step away from the row in
    either direction, taken as far as the region goes.
    """
    return sorted(range(instance.size), key=lambda feature: (_sensitivity(instance, feature), feature))


def _sensitivity(instance: Instance, feature: int) -> Rational:
    moves = [ZERO]
    for side in instance.sides:
        part = side.parts[feature]
        moves += [abs(part.component(end) - part.here) for end in part.ends]
    return max(moves)
