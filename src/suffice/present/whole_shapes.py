"""The shapes of a whole model over the rows of a table: what each feature adds where, and how many rows are there.

In: the rows of a table. Out: `WholeShapes`, for the page. Heights are contributions, of which 0 is the average of the
rows, as in `suffice.decisions.contributions`. Lines are drawn from the exact pieces, curves through points of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from flint import fmpq

from suffice.decisions.contributions import averages, score_of
from suffice.decisions.rows import Portfolio
from suffice.decisions.words import class_index
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.domain import Domain, format_value
from suffice.numbers.exact import ONE, Rational, nearest_float, to_fraction
from suffice.numbers.values import Value
from suffice.present.outline import Point, Window, height_at, labels_of, places_of, shown_window, trace
from suffice.question.documents import Json, class_document
from suffice.shapes import Function

_BINS = 30


class Heap(NamedTuple):
    """How many rows have a value from one place of the axis to another."""

    start: float
    end: float
    rows: int


class WholeShape(NamedTuple):
    """All that is drawn of one feature."""

    name: str
    lines: tuple[tuple[Point, ...], ...]
    dots: tuple[Point, ...]
    ticks: tuple[tuple[float, str], ...]  # categories and codes
    window: tuple[float, float]
    heaps: tuple[Heap, ...]
    weight: Fraction  # how far it moves the score on average, up or down


class WholeShapes(Told):
    """What each feature adds to the score of a class, wherever it can be; the one that adds most comes first.

    Parameters
    ----------
    portfolio : Portfolio
        The model, and the rows that are counted.
    outcome : a class of the model
        Whose score is shown; by default the second of two, or the first of several. A regression has none.
    """

    def __init__(self, portfolio: Portfolio, outcome: Any = None) -> None:
        model = portfolio.compiled.model
        if outcome is None and model.classes:
            outcome = model.classes[1 if model.task == "binary" else 0]
        winner = class_index(model, outcome, "the outcome")
        self.portfolio, self.outcome = portfolio, outcome if not model.classes else model.classes[winner]
        self._factors = score_of(model, winner)

    @property
    def shapes(self) -> list[WholeShape]:
        """The features, the one that moves the score most first."""
        model = self.portfolio.compiled.model
        functions = self.portfolio.compiled.oriented(self._factors)
        means = averages(self.portfolio, self._factors)
        each = zip(model.names, model.domains, functions, strict=True)
        found = [
            _shape(name, domain, function, self.portfolio.values(i), means[i])
            for i, (name, domain, function) in enumerate(each)
        ]
        return sorted(found, key=lambda one: -one.weight)

    def facts(self) -> Facts:
        """Return how far each feature moves the score on average."""
        what = f"the score for {self.outcome}" if self.portfolio.compiled.model.classes else "the prediction"
        shapes = self.shapes
        widest = max((one.weight for one in shapes), default=Fraction(0)) or Fraction(1)
        rows = [Row((one.name, f"{float(one.weight):.4g}"), float(one.weight / widest)) for one in shapes]
        return (
            Fact("Moves", f"how far each feature moves {what} on average, up or down, from what it adds on average."),
            Grid(("feature", "moves it by"), tuple(rows)),
        )

    def document(self) -> Json:
        """Return the same as JSON, with what is drawn."""
        return {
            "outcome": class_document(self.outcome) if self.portfolio.compiled.model.classes else None,
            "shapes": [one._asdict() | {"weight": float(one.weight)} for one in self.shapes if _can_be_drawn(one)],
        }


def _can_be_drawn(one: WholeShape) -> bool:
    points = [*one.dots, *(point for line in one.lines for point in line)]
    return all(math.isfinite(number) for number in (*one.window, *(y for _, y in points)))


def _shape(name: str, domain: Domain, function: Function, values: Sequence[Value], mean: Rational) -> WholeShape:
    counts = Counter(values)
    numbers = sorted(x for x in counts if isinstance(x, fmpq) and any(span.holds(x) for span in domain.spans))
    window = _window(domain, numbers)
    labels = labels_of(domain, *(label for label, _ in counts.most_common(_BINS)))
    places = places_of(labels, window)
    runs, singles = trace(function, domain, window)
    height = {x: height_at(function, x) - mean for x in (*singles, *labels, *counts)}

    def point(x: Value) -> Point:
        at = places[x] if x in places else nearest_float(x) if isinstance(x, fmpq) else 0.0
        return Point(at, nearest_float(height[x]))

    return WholeShape(
        name=name,
        lines=tuple(tuple(Point(nearest_float(x), nearest_float(y - mean)) for x, y in run) for run in runs),
        dots=tuple(point(x) for x in (*singles, *labels)),
        ticks=tuple((places[label], format_value(label)) for label in labels),
        window=shown_window(window, places),
        heaps=(*_heaps(numbers, counts), *_at_labels(labels, places, counts)),
        weight=to_fraction(sum((abs(height[x]) * count for x, count in counts.items()), fmpq(0)) / len(values)),
    )


def _window(domain: Domain, numbers: Sequence[Rational]) -> Window | None:
    """Return which numbers are shown: those that occur."""
    if not domain.spans:
        return None
    if not numbers:
        ends = [end for span in domain.spans for end in (span.low, span.high) if end is not None]
        return (min(ends), max(ends)) if len(set(ends)) > 1 else (-ONE, ONE)
    low, high = numbers[0], numbers[-1]
    return (low, high) if low < high else (low - ONE, high + ONE)


def _heaps(numbers: Sequence[Rational], counts: Counter[Value]) -> list[Heap]:
    if len(numbers) < 2:
        return [Heap(nearest_float(x) - 0.5, nearest_float(x) + 0.5, counts[x]) for x in numbers]
    low, high = nearest_float(numbers[0]), nearest_float(numbers[-1])
    bins = Counter[int]()
    for x in numbers:
        bins[min(int((nearest_float(x) - low) / (high - low) * _BINS), _BINS - 1)] += counts[x]
    ends = [low + (high - low) * k / _BINS for k in range(_BINS + 1)]
    return [Heap(start, end, bins[k]) for k, (start, end) in enumerate(pairwise(ends)) if bins[k]]


def _at_labels(labels: Sequence[Value], places: dict[Value, float], counts: Counter[Value]) -> list[Heap]:
    across = sorted(places.values())
    half = min((b - a for a, b in pairwise(across)), default=1.0) / 3
    return [Heap(places[label] - half, places[label] + half, counts[label]) for label in labels if counts[label]]
