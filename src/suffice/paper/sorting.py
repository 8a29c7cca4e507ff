"""Algorithm 2: parallel interval importance sorting.

In: an instance and a verifier. Out: for each feature an interval that its drop lies in, narrow enough to tell the
features apart, and the order that follows. Guaranteed, as far as the verifier's "holds" is true: every drop lies in its
interval. Rounds are the same whatever the number of workers, so the answer is too.

Two corrections, because the printed form does not end on equal minima and calls the bounds by each other's names: an
interval as narrow as `precision` is not refined further, and here `low` and `high` bound the *drop* (the paper's Δu_i
and Δl_i).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.paper.instance import Instance
from suffice.paper.run import Run
from suffice.paper.verifiers.interface import Answer, Verdict
from suffice.paper.verifiers.propagation import outer_bounds

PRECISION = 2.0**-20  # float verifiers mean nothing below about 1e-7


@dataclass(frozen=True, slots=True)
class Interval:
    """What is known of one component's minimum `f_i(x_i*)` over the region: `lower ≤ minimum ≤ upper`."""

    here: Rational  # f_i at the row
    lower: Rational
    upper: Rational
    is_open: bool = True  # whether further queries could narrow it
    is_stalled: bool = False  # whether the last query raised `lower`: then try just below `upper` next

    @property
    def low(self) -> Rational:
        """The least the drop can be (Δu_i in the paper)."""
        return self.here - self.upper

    @property
    def high(self) -> Rational:
        """The most the drop can be (Δl_i in the paper)."""
        return self.here - self.lower

    @property
    def width(self) -> Rational:
        """How much is not known of the minimum."""
        return self.upper - self.lower

    def is_apart_from(self, other: Interval) -> bool:
        """Whether the two drops are in a known order."""
        return self.low >= other.high or other.low >= self.high


@dataclass(frozen=True, slots=True)
class Refinement:
    """How intervals are narrowed, a query for each in every round; parameters as of `parallel_interval_sorting`."""

    precision: float
    use_counterexamples: bool
    test_upper: bool

    def narrowed(self, run: Run, intervals: Sequence[Interval], features: Sequence[int]) -> list[Interval]:
        """Ask once about each of some features, and return all intervals with theirs narrower."""
        thresholds = [_threshold(intervals[i], self.precision if self.test_upper else 0.0) for i in features]
        questions = [run.instance.component_at_least(i, m) for i, m in zip(features, thresholds, strict=True)]
        narrower = list(intervals)
        for i, m, answer in zip(features, thresholds, run.components(questions), strict=True):
            refined = _refined(intervals[i], m, answer, self.use_counterexamples)
            narrower[i] = _closed_if_narrow(refined, self.precision)
        return narrower


@dataclass(frozen=True, slots=True)
class Sorting:
    """The features by importance, least first, and the intervals that say so."""

    ascending: tuple[int, ...]
    intervals: tuple[Interval, ...]
    initial_width: float  # max_i (β_i - α_i)
    rounds: int
    refinement: Refinement

    def refined(self, run: Run, features: Sequence[int]) -> Sorting:
        """Return the same order with narrower intervals of some features, after a query about each."""
        return replace(self, intervals=tuple(self.refinement.narrowed(run, self.intervals, features)))

    @property
    def descending(self) -> tuple[int, ...]:
        """Most important first: kept prefixes come from this order."""
        return self.ascending[::-1]

    @property
    def precisions(self) -> tuple[float, ...]:
        """The paper's ξ_i in ascending order: the gap to the nearer neighbour; 0 where intervals touch or overlap."""
        ordered = [self.intervals[i] for i in self.ascending]
        gaps = [max(nearest_float(b.low - a.high), 0.0) for a, b in itertools.pairwise(ordered)]
        return tuple(min(pair) for pair in zip([math.inf, *gaps], [*gaps, math.inf], strict=True))

    @property
    def is_total(self) -> bool:
        """Whether all drops are in a known order."""
        ordered = [self.intervals[i] for i in self.ascending]
        return all(b.low >= a.high for a, b in itertools.pairwise(ordered))

    def separates(self, kept: Sequence[int]) -> bool:
        """Whether no freed feature can have a larger drop than a kept one."""
        inside = set(kept)
        freed = [interval.high for i, interval in enumerate(self.intervals) if i not in inside]
        return not kept or not freed or min(self.intervals[i].low for i in kept) >= max(freed)

    def least_fall(self, freed: int) -> Rational:
        """Return a lower bound on how far any `freed` features together lower the score."""
        return sum(sorted(interval.low for interval in self.intervals)[:freed], ZERO)

    def allowed_rounds(self, precision: float) -> float:
        """Return Proposition 2's bound on the queries of one component, with its constant (see docs/paper.md)."""
        finest = min([xi for xi in self.precisions if xi > 0], default=math.inf)
        finest = min(finest, precision) if not self.is_total or 0.0 in self.precisions else finest
        return 2 + math.log2(self.initial_width / finest) if self.initial_width > finest else 2.0


def parallel_interval_sorting(
    run: Run, *, precision: float = PRECISION, use_counterexamples: bool = True, test_upper: bool = True
) -> Sorting:
    """Refine the components' minima by bisection until their order is known (Algorithm 2).

    Parameters
    ----------
    run : Run
        Asks the verifier; its `Parallel` form asks several components at a time.
    precision : float
        Intervals as narrow as this are left alone, and `δ` of the second optimisation.
    use_counterexamples : bool
        First practical optimisation: the value at a counterexample is the new upper bound.
    test_upper : bool
        Second practical optimisation: where a query held, ask next whether the minimum lies within `precision` of the
        upper bound, instead of bisecting towards it.
    """
    refinement = Refinement(precision, use_counterexamples, test_upper)
    intervals = [_initial(run.instance, feature) for feature in range(run.instance.size)]
    width = max(nearest_float(one.width) for one in intervals)
    intervals = [_closed_if_narrow(one, precision) for one in intervals]
    rounds = 0
    while active := [i for i, one in enumerate(intervals) if one.is_open and _overlaps(i, intervals)]:
        intervals = refinement.narrowed(run, intervals, active)
        rounds += 1
        run.note(run.instance.size, 0)
    ascending = sorted(range(len(intervals)), key=lambda i: (intervals[i].low + intervals[i].high, i))
    return Sorting(tuple(ascending), tuple(intervals), width, rounds, refinement)


def _initial(instance: Instance, feature: int) -> Interval:
    """Return the interval that one bound propagation gives (α_i, β_i)."""
    bounds = [outer_bounds(side.parts[feature]) for side in instance.sides]
    return Interval(instance.here(feature), min(low for low, _ in bounds), min(high for _, high in bounds))


def _overlaps(feature: int, intervals: Sequence[Interval]) -> bool:
    one = intervals[feature]
    return any(j != feature and not one.is_apart_from(other) for j, other in enumerate(intervals))


def _threshold(interval: Interval, delta: float) -> Rational:
    """Return what to ask next: the middle as a float, or just below the upper bound."""
    if delta and interval.is_stalled:
        near = _float_below(interval.upper - rational(delta))
        if near > interval.lower:
            return near
    return rational(nearest_float((interval.lower + interval.upper) / 2))


def _refined(interval: Interval, threshold: Rational, answer: Answer, use_counterexamples: bool) -> Interval:
    if answer.verdict is Verdict.UNKNOWN:
        return replace(interval, is_open=False)
    if answer.holds:
        return replace(interval, lower=max(interval.lower, threshold), is_stalled=True)
    assert answer.value is not None
    reached = _float_above(threshold + answer.value) if use_counterexamples else threshold
    return replace(interval, upper=min(interval.upper, threshold, reached), is_stalled=False)


def _closed_if_narrow(interval: Interval, precision: float) -> Interval:
    # Where no float lies strictly between the bounds, no further threshold does.
    middle = rational(nearest_float((interval.lower + interval.upper) / 2))
    if interval.width <= rational(precision) or not interval.lower < middle < interval.upper:
        return replace(interval, is_open=False)
    return interval


def _float_above(value: Rational) -> Rational:
    near = rational(nearest_float(value))
    return near if near >= value else rational(math.nextafter(nearest_float(value), math.inf))


def _float_below(value: Rational) -> Rational:
    return -_float_above(-value)
