"""Algorithms 3 and 4: cardinally-minimal explanations from the sorted features, by linear and by binary search.

`interval_search` is ours: it asks nothing about several features at once, for intervals of single features already say
how far the sum can fall.

Kept prefixes come from the *descending* order (most important first), and the empty set and the full one are among the
candidates; printed, Algorithm 4 does neither and may not end (see docs/paper.md and `suffice.paper.printed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter

from suffice.errors import VerifierError
from suffice.numbers.exact import ZERO
from suffice.paper.instance import Instance
from suffice.paper.run import Minimality, Result, Run
from suffice.paper.sorting import PRECISION, Sorting, parallel_interval_sorting
from suffice.paper.verifiers.interface import Verdict, Verifier


def linear_search(run: Run, sorting: Sorting) -> Result:
    """Try to free every feature, least important first (Algorithm 3): n queries."""
    kept = list(sorting.descending)
    failed: set[int] = set()
    for processed, feature in enumerate(sorting.ascending, start=1):
        without = [i for i in kept if i != feature]
        answer = run.suffices(without)
        if answer.holds:
            kept = without
        elif answer.verdict is Verdict.COUNTEREXAMPLE:
            failed.add(len(without))
        run.note(len(kept), processed)
    return run.finish(kept, _minimality(run, sorting, kept, failed))


def logarithmic_search(run: Run, sorting: Sorting) -> Result:
    """Find the shortest sufficient prefix of the descending order by bisection (Algorithm 4): ⌈log2(n + 1)⌉ queries.

    Every prefix that holds some sufficient prefix suffices too, so one point of change is to be found. All n features
    suffice without a query.
    """
    low, high = 0, len(sorting.descending)
    failed: set[int] = set()
    while low < high:
        middle = (low + high) // 2
        answer = run.suffices(sorting.descending[:middle])
        if answer.holds:
            high = middle
        else:  # unknown counts as failed: the set found suffices, though a smaller one may
            low = middle + 1
            if answer.verdict is Verdict.COUNTEREXAMPLE:
                failed.add(middle)
        run.note(high, run.instance.size - (high - low))
    kept = sorting.descending[:high]
    return run.finish(kept, _minimality(run, sorting, kept, failed))


def interval_search(run: Run, sorting: Sorting) -> Result:
    """Find the same prefix as Algorithm 4 without a query about several features.

    The lower ends of the freed features' intervals, added up, prove that a prefix suffices; the upper ends that it does
    not. Where neither does, the widest of these intervals are refined, by queries about one feature each.
    """
    low, high = 0, len(sorting.descending)
    failed: set[int] = set()
    while low < high:
        middle = (low + high) // 2
        sorting, verdict = _settle(run, sorting, sorting.descending[middle:])
        if verdict is Verdict.HOLDS:
            high = middle
        else:
            low = middle + 1
            if verdict is Verdict.COUNTEREXAMPLE:
                failed.add(middle)
        run.note(high, run.instance.size - (high - low))
    kept = sorting.descending[:high]
    return run.finish(kept, _minimality(run, sorting, kept, failed))


def _settle(run: Run, sorting: Sorting, freed: Sequence[int]) -> tuple[Sorting, Verdict]:
    if not run.instance.is_additive:
        raise VerifierError("intervals of single features settle one score only; search with the verifier instead")
    (side,) = run.instance.sides
    while True:
        least, most = (
            side.margin - sum((fall(sorting.intervals[i]) for i in freed), ZERO)
            for fall in (attrgetter("high"), attrgetter("low"))
        )
        if least > 0 or (least == 0 and not side.is_strict):
            return sorting, Verdict.HOLDS
        if most < 0 or (most == 0 and side.is_strict):
            return sorting, Verdict.COUNTEREXAMPLE
        open_ones = [i for i in freed if sorting.intervals[i].is_open]
        if not open_ones:
            run.unknown += 1
            return sorting, Verdict.UNKNOWN
        widest = max(sorting.intervals[i].width for i in open_ones)
        sorting = sorting.refined(run, [i for i in open_ones if 4 * sorting.intervals[i].width >= widest])


def _minimality(run: Run, sorting: Sorting, kept: Sequence[int], failed: set[int]) -> Minimality:
    """Return what is known of a prefix of the descending order that suffices."""
    if not kept:
        return Minimality.CARDINAL
    if not run.instance.is_additive or tuple(kept) != sorting.descending[: len(kept)]:
        return Minimality.NONE
    smaller = len(kept) - 1
    # Either the next shorter prefix failed and no freed feature could take the place of a kept one, or the drops
    # witnessed so far already show that so many features cannot be freed, in whatever order they come.
    (side,) = run.instance.sides
    if smaller in failed and sorting.separates(sorting.descending[:smaller]):
        return Minimality.CARDINAL
    return Minimality.CARDINAL if sorting.least_fall(run.instance.size - smaller) > side.margin else Minimality.NONE


def cardinally_minimal(
    instance: Instance,
    verifier: Verifier,
    *,
    search: Callable[[Run, Sorting], Result] = logarithmic_search,
    precision: float = PRECISION,
    use_counterexamples: bool = True,
    test_upper: bool = True,
    timeout: float = 60.0,
    limit: float = math.inf,
) -> tuple[Result, Sorting]:
    """Return what the paper's method finds: Algorithm 2, then Algorithm 4 (or 3).

    Parameters
    ----------
    instance : Instance
        The row, its region and claim. With one side the set is cardinally-minimal, as far as the verifier can be
        trusted; with several (a winner against all others) this is the published reduction, whose sets suffice but
        need not be smallest.
    verifier : Verifier
        Behind every query.
    search : {logarithmic_search, linear_search, interval_search}
        Algorithm 4 or 3, or our own without joint queries.
    precision, use_counterexamples, test_upper
        Of the sorting; see `parallel_interval_sorting`.
    timeout, limit : float
        CPU seconds for one query, and for all queries of the run.

    Examples
    --------
    >>> from suffice import AdditiveModel, ReluNetwork
    >>> from suffice.paper import ExactVerifier, Problem
    >>> hat = ReluNetwork([[[1.0], [1.0]], [[1.0, -2.0]]], [[0.0, -1.0], [0.0]])
    >>> instance = Problem(AdditiveModel([hat, hat * 2], intercept=-1)).instance([1, 1], radius=1)
    >>> result, sorting = cardinally_minimal(instance, ExactVerifier())
    >>> result.features, result.trust, result.minimality.value
    (('x1',), <Trust.PROVEN: 'proven'>, 'cardinally-minimal')
    """
    run = Run(instance, verifier, timeout, limit)
    sorting = parallel_interval_sorting(
        run, precision=precision, use_counterexamples=use_counterexamples, test_upper=test_upper
    )
    return search(run, sorting), sorting
