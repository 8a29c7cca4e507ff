"""The bisection verifier: branch and bound over the input, with rigorous linear bounds. Its "holds" is a proof.

It tabulates nothing, so it takes networks with any number of pieces. What it cannot settle is what hangs on less than
the rounding of float64: a minimum that equals the threshold, or differs from it by some 1e-12 of the network's sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from suffice.numbers.exact import Rational, nearest_float, rational
from suffice.numbers.values import Value
from suffice.paper.instance import Part, Query
from suffice.paper.layers import Floats
from suffice.paper.verifiers.interface import HOLDS, Reply, Trust, Verdict, Verifier, unknown
from suffice.paper.verifiers.propagation import bound, enclosing_floats

_FIRST, _MOST, _WAYS = 16, 512, 4  # boxes to begin with, boxes bounded at a time, parts that a box is cut into


Bounds: TypeAlias = Callable[[Floats, Floats], Floats]  # lower and upper ends of boxes -> lower bounds of the output


def rigorous_bounds(part: Part) -> Bounds:
    """Return our own bounds, outward rounding included."""
    layers = part.component.layers
    return lambda low, high: bound(layers, low, high)[0]


class BisectionVerifier(Verifier):
    """Cuts the box until bounds prove the claim, or a point breaks it.

    Parameters
    ----------
    max_boxes : int
        How many boxes may be bounded for one query; past them it is unknown.
    """

    name = "bisection"
    trust = Trust.PROVEN

    def __init__(self, max_boxes: int = 1_000_000) -> None:
        super().__init__()
        self.max_boxes = max_boxes

    def reply(self, query: Query, seconds: float) -> Reply:
        """Return a proof, a point, or what ended the search."""
        deadline = time.process_time() + seconds
        searches = [_Search(part, self.bounds_of(part)) for part in query.parts]
        tried: list[float] = []
        while True:
            lows = [search.lower_bound for search in searches]
            total = sum((rational(low) for low in lows), query.constant) if all(map(np.isfinite, lows)) else None
            # Floats are summed as rationals: what is compared with 0 is a true lower bound.
            if total is not None and (total > 0 or (total == 0 and not query.is_strict)):
                return HOLDS
            reached = [search.reached_at for search in searches]
            guess = nearest_float(query.constant) + sum(search.reached for search in searches)
            if guess <= 0 and reached != tried:
                tried = reached
                point: tuple[Value, ...] = tuple(s.part.value_of(rational(s.reached_at)) for s in searches)
                if query.is_broken_by(point):
                    return Reply(Verdict.COUNTEREXAMPLE, point)
            if time.process_time() > deadline:
                return unknown(f"time-out after {seconds:.3g} CPU s")
            if sum(search.boxes for search in searches) > self.max_boxes:
                return unknown(f"more than {self.max_boxes} boxes")
            if not self._refine(searches, total, query.constant):
                return unknown("the boxes are as narrow as floats allow")

    def bounds_of(self, part: Part) -> Bounds:
        """Return the function that bounds a component from below on many boxes at a time."""
        return rigorous_bounds(part)

    @staticmethod
    def _refine(searches: list[_Search], total: Rational | None, constant: Rational) -> bool:
        """Cut boxes of the parts whose bounds are loosest; whether there were any to cut."""
        gaps = [search.reached - search.lower_bound for search in searches]
        widest = max(gaps)
        chosen = [s for s, gap in zip(searches, gaps, strict=True) if not gap < widest / 4]
        slack = -np.inf if total is None else nearest_float(total)
        # A box whose bound would do even with all other parts at their bounds needs no further look.
        return any(search.refine(search.lower_bound - slack) for search in chosen)


@dataclass
class _Level:
    """Boxes still to be looked at, with their lower bounds."""

    low: Floats
    high: Floats
    bottom: Floats


class _Search:
    """The boxes of one part, and the lowest value met so far (a guess in floats; only bounds are rigorous)."""

    def __init__(self, part: Part, bounds: Bounds) -> None:
        self.part, self.layers, self.bounds = part, part.component.layers, bounds
        low, high = enclosing_floats(part)
        self.boxes, self.floor = 0, np.inf  # lowest bound among boxes that were set aside
        self.reached, self.reached_at = np.inf, low
        self.open = _Level(*(np.empty(0) for _ in range(3)))
        edges = np.linspace(low, high, _FIRST + 1)
        edges[[0, -1]] = low, high
        self._look_at(np.append(edges, low))
        self._add(edges[:-1], edges[1:])

    @property
    def lower_bound(self) -> float:
        """A rigorous lower bound of the component over its region."""
        return float(min(self.open.bottom.min(initial=np.inf), self.floor))

    def refine(self, enough: float) -> bool:
        """Cut the lowest boxes; those with a bound of `enough`, or above a value already met, are set aside."""
        level = self.open
        is_done = (level.bottom >= enough) | (level.bottom >= self.reached)
        middle = level.low / 2 + level.high / 2
        is_done |= ~((level.low < middle) & (middle < level.high))  # as narrow as can be
        self.floor = float(min(self.floor, level.bottom[is_done].min(initial=np.inf)))
        low, high, bottom = (part[~is_done] for part in (level.low, level.high, level.bottom))
        first = np.argsort(bottom, kind="stable")[:_MOST]
        rest = np.setdiff1d(np.arange(len(low)), first)
        self.open = _Level(low[rest], high[rest], bottom[rest])
        if not len(first):
            return False
        cuts = np.linspace(low[first], high[first], _WAYS + 1, axis=1)
        cuts[:, 0], cuts[:, -1] = low[first], high[first]
        cuts = np.maximum.accumulate(cuts, axis=1)  # equal neighbours are harmless, a gap would not be
        self._look_at(cuts.ravel())
        self._add(cuts[:, :-1].ravel(), cuts[:, 1:].ravel())
        return True

    def _add(self, low: Floats, high: Floats) -> None:
        bottom = self.bounds(low, high)
        self.boxes += len(low)
        self.open = _Level(
            *(
                np.concatenate(pair)
                for pair in ((self.open.low, low), (self.open.high, high), (self.open.bottom, bottom))
            )
        )

    def _look_at(self, points: Floats) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.nan_to_num(self.layers.near(points), nan=np.inf)
        best = int(values.argmin())
        if values[best] < self.reached:
            self.reached, self.reached_at = float(values[best]), float(points[best])


def enclose_minimum(part: Part, width: float, seconds: float) -> tuple[Rational, Rational]:
    """Return proven bounds of a component's minimum over its region, `width` apart if time allows.

    The upper one is the exact value at a point of the region. This is how a network past its budget of pieces is
    bounded.
    """
    deadline = time.process_time() + seconds
    multiple = part.component.multiplier
    search, width = _Search(part.times(multiple), rigorous_bounds(part.times(multiple))), multiple * width
    while search.reached - search.lower_bound > width and time.process_time() < deadline:
        if not search.refine(search.reached - width):
            break
    return rational(search.lower_bound) / multiple, part.component(part.value_of(rational(search.reached_at)))
