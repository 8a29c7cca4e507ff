"""What a picture of two features shows: what the terms over both add to the claim's score, around the row.

In: an explanation and two features. Out: a `PairOutline`, all floats, for plots and for the page alike. It is cut where
the function is cut, and each cell has the exact change of the margin, rounded once; only a cell in which the function
is not constant is drawn as some smaller ones, each with the value at its middle. Heights are changes of the margin by
this pair alone: 0 at the row. The worst case is that of all free features together, and the same in all pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from flint import fmpq

from suffice.answers import Explanation
from suffice.core.joint import Joint
from suffice.core.landscape import Spot
from suffice.errors import BudgetEnded, FeatureNameError
from suffice.model.domain import Domain, format_value
from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.values import Value
from suffice.present.outline import Tick, labels_of, places_of, shown_span, shown_window, window_of
from suffice.shapes import PairPieces

_FINE = 8  # so many smaller cells a side make up one in which the function varies


class Side(NamedTuple):
    """One of the two features, along its axis."""

    name: str
    is_fixed: bool
    edges: tuple[tuple[float, float], ...]  # where each strip begins and ends: numbers, then labels
    region: tuple[tuple[float, float], ...]  # stretches of numbers that the feature may take when free
    ticks: tuple[Tick, ...]
    window: tuple[float, float]
    row: float
    worst: float | None  # None where it is not known, or not among the places shown


class PairOutline(NamedTuple):
    """All that is drawn of two features: a strip of the second for each strip of the first."""

    sides: tuple[Side, Side]
    heights: tuple[tuple[float, ...], ...]  # a row for each strip of the first feature
    worst: float | None  # the change of the margin by this pair in the worst case; None if that is not known
    is_attained: bool  # whether some input takes the worst case, or values only come close to it


class _Strips(NamedTuple):
    """Strips of one axis: which cell of the function each lies in, a value inside, and where it is drawn."""

    cells: list[int]
    inside: list[Value]
    edges: list[tuple[float, float]]


def pair_outline(why: Explanation, features: tuple[str, str], part: int | None = None) -> PairOutline:
    """Return what to draw of two features with a term over both, for one part of the claim (default: the tightest)."""
    part = why.tightest if part is None else part
    first, second = sorted(why.model.indices(features))
    known = dict(why.case.compiled.oriented_pairs(why.inequalities[part].factors))
    if (first, second) not in known:
        names = [f"{why.model.names[i]} & {why.model.names[j]}" for i, j in known]
        raise FeatureNameError(" & ".join(features), names, "pair of features with a term over both")
    function = known[first, second]
    here = function(why.row[first], why.row[second])
    worst = _worst(why, part, (first, second))
    sides, strips = [], []
    for axis, i in enumerate((first, second)):
        side, strip = _side(why, i, function, axis, None if worst is None else worst.spots[axis].infimum.at)
        sides.append(side)
        strips.append(strip)
    heights = tuple(
        tuple(
            nearest_float(function.limit(row, x, column, y) - here)
            for column, y in zip(strips[1].cells, strips[1].inside, strict=True)
        )
        for row, x in zip(strips[0].cells, strips[0].inside, strict=True)
    )
    if worst is None:
        return PairOutline((sides[0], sides[1]), heights, None, is_attained=False)
    is_attained = all(spot.edge == 0 for spot in worst.spots)
    return PairOutline((sides[0], sides[1]), heights, nearest_float(worst.value - here), is_attained)


class _Worst(NamedTuple):
    """Where two features are when all free ones together do their worst, and what their terms are there."""

    spots: tuple[Spot, Spot]
    value: Rational


def _worst(why: Explanation, part: int, pair: tuple[int, int]) -> _Worst | None:
    """Return the worst case of all free features, as two of them see it; None if it takes too long to find."""
    constraint = why.case.constraints[
        part
    ].outer  # on whose ground every label is one that inputs have, or come close to
    assert isinstance(constraint, Joint)
    ground, free = constraint.ground, frozenset(range(len(why.row))) - set(why.fixed)
    try:
        labels = constraint.worst(free).labels
    except BudgetEnded:
        return None
    first, second = (ground.spot(i, labels[i] if i in free else 0) for i in pair)  # label 0 is the row
    place = [ends for ends, _ in ground.landscape.pairs].index(pair)
    return _Worst((first, second), ground.landscape.pair_at(place, first, second))


def strongest_pairs(why: Explanation, most: int, part: int | None = None) -> list[tuple[str, str]]:
    """Return the pairs that the claim's score depends on, those first that vary most over the region."""
    part = why.tightest if part is None else part
    names = why.model.names
    spread = []
    every = why.case.compiled.oriented_pairs(why.inequalities[part].factors) if most else ()
    for (i, j), function in every:
        rows, columns = (_reached(function, axis, why.region[k]) for axis, k in enumerate((i, j)))
        values = [function.limit(row, x, column, y) for row, x in rows for column, y in columns]
        spread.append((max(values) - min(values), (names[i], names[j])))
    spread.sort(key=lambda one: one[0], reverse=True)
    return [pair for _, pair in spread[:most]]


def _reached(function: PairPieces, axis: int, region: Domain) -> list[tuple[int, Value]]:
    """Return the cells of an axis that a region reaches, each with one of its values or the end of the region."""
    cuts = function.axes[axis]
    found: list[tuple[int, Value]] = [(cuts.cell_of(label), label) for label in (*region.categories_, *region.codes_)]
    for span in region.spans:
        for cell in cuts.cells_between(span.low, span.high):
            ends = [end for end in (cuts.interval(cell).low, span.low, cuts.interval(cell).high) if end is not None]
            found.append((cell, ends[0] if ends else fmpq(0)))
    return found


def _side(why: Explanation, i: int, function: PairPieces, axis: int, worst: Value | None) -> tuple[Side, _Strips]:
    domain, region, cuts = why.model.domains[i], why.region[i], function.axes[axis].cuts
    window = window_of([cut.place for cut in (*cuts[:1], *cuts[-1:])], domain, region, why.row[i])
    labels = labels_of(domain, why.row[i], worst)
    places = places_of(labels, window)
    strips = _Strips([], [], [])
    if window is not None:
        _add_numbers(strips, function, axis, window)
    half = _half(places, window)
    for label in labels:
        _add(strips, function.axes[axis].cell_of(label), label, (places[label] - half, places[label] + half))

    def place(at: Value | None) -> float | None:
        return places[at] if at in places else nearest_float(at) if isinstance(at, fmpq) else None

    shown = shown_window(window, places)
    marked = place(worst)
    here = place(why.row[i])
    assert here is not None
    side = Side(
        name=why.model.names[i],
        is_fixed=i in why.fixed,
        edges=tuple(strips.edges),
        region=tuple(shown_span(span, window) for span in region.spans) if window else (),
        ticks=tuple(Tick(places[label], format_value(label), region.holds(label)) for label in labels),
        window=shown,
        row=here,
        worst=marked if marked is not None and shown[0] <= marked <= shown[1] else None,
    )
    return side, strips


def _half(places: dict[Value, float], window: tuple[Rational, Rational] | None) -> float:
    return 0.5 if window is None else nearest_float(window[1] - window[0]) / 12


def _add_numbers(strips: _Strips, function: PairPieces, axis: int, window: tuple[Rational, Rational]) -> None:
    low, high = window
    cuts = sorted({cut.place for cut in function.axes[axis].cuts if low < cut.place < high})
    for left, right in pairwise([low, *cuts, high]):
        cell = function.axes[axis].cell_of((left + right) / 2)
        count = _FINE if function.varies[axis][cell] else 1
        steps: Sequence[Rational] = [left + (right - left) * k / count for k in range(count + 1)]
        for start, end in pairwise(steps):
            _add(strips, cell, (start + end) / 2, (nearest_float(start), nearest_float(end)))


def _add(strips: _Strips, cell: int, inside: Value, edges: tuple[float, float]) -> None:
    strips.cells.append(cell)
    strips.inside.append(inside)
    strips.edges.append(edges)
