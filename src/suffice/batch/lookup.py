"""Exact lines as flat float64 tables, with an error bound on every entry.

In: for each feature its domain, its radius, and functions of it in exact arithmetic. Out: `Tables`, arrays that the
kernel looks values and drops up in.
Guaranteed: where an entry is a number, the kernel's `base + slope · (x - anchor)` differs from the exact value or
drop of the row by at most the entry's error, for every row that is looked up there. An error of 0 means: exact. An
entry that is NaN leaves the row to exact arithmetic.

Cells are floats on one line: a number below `LABELS` stands for the rationals that round to it, labels (categories,
"missing") have places of their own from `LABELS` up. Between two breaks lies a stretch, at a break a point, so `m`
breaks make `2m + 1` entries. A float that is equal to the float of a break says on which side the row lies only if the
break is that float; otherwise its point is NaN. All other floats are sure, for rounding is monotone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.batch.drop_lines import Line, Lines, drop_lines, far_points, is_integral, on_domain, value_lines
from suffice.core.constraint import Drop
from suffice.core.drops import bound_drops
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational, nearest_float, rational
from suffice.numbers.values import Value
from suffice.shapes.pieces import Pieces

Floats = NDArray[np.float64]

LABELS = 2.0**1000  # the k-th label of a feature sits at (k + 1) times this
ROUNDING = 2.0**-53  # rounding to nearest changes a float64 by at most this share of it
TINY = 2.0**-1060  # more than all underflow in one entry
WIDER = 1.0 + 2.0**-20  # covers products of rounding errors, and the rounding of a bound itself
_MOST_GRID = 1 << 20


class Tables(NamedTuple):
    """Look-up tables of all features, end to end.

    `entries` has for each stretch and point, and for each column, an anchor, base, slope and error. These four begin at
    a multiple of their 32 bytes, so that they lie in one line of the cache.
    """

    breaks: Floats  # of each feature in order, and after them NaN
    first_break: NDArray[np.int64]  # of each feature, and the number of all
    entries: Floats
    grid: NDArray[np.int32]  # for each cell of a uniform grid, the first break that can be at or above a number there
    first_cell: NDArray[np.int64]
    grid_low: Floats
    grid_rate: Floats  # cells per unit
    missing: Floats  # where a missing cell sits; infinity where the feature has no such label
    is_integral: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """Breaks and entries of one feature, and the range in which nearly all rows will be."""

    breaks: Floats
    entries: Floats
    low: float
    high: float
    missing: float
    is_integral: bool


def place_of_label(k: int) -> float:
    """Return where on the line of cells the `k`-th label of a domain sits."""
    return LABELS * (k + 1)


def exact_table(
    domain: Domain,
    radius: Rational | None,
    *,
    values: Sequence[Pieces] = (),
    drops: Sequence[Pieces] = (),
    terms: int,
) -> FeatureTable:
    """Return the table of one feature, worked out in exact arithmetic throughout.

    Parameters
    ----------
    domain, radius : Domain, Rational or None
        What the feature can be, and how far it may move (None: anywhere).
    values, drops : sequences of Pieces
        Functions to look up the value of, and functions to look up the drop of: columns of the table, in this order.
    terms : int
        How many values will be added up; the errors of `values` cover the rounding of such a sum.
    """
    functions = [on_domain(function, domain) for function in (*values, *drops)]
    marks = _marks(domain, functions)
    met = sorted(marks if radius is None else {m + s for m in marks for s in (-radius, radius)})
    far = far_points(met)
    if not far or (met and not far[0] < met[0] <= met[-1] < far[-1]):  # too large for floats beside the labels
        return _open_table(len(functions))
    columns: list[Lines | None] = [value_lines(function) for function in functions[: len(values)]]
    columns += [drop_lines(function, domain, radius, far) for function in functions[len(values) :]]
    jumps = {knot for function in functions for knot in _jumps(function)}
    kept = marks if radius is None else marks | {jump + shift for jump in jumps for shift in (-radius, radius)}
    breaks, stretches = _join(columns, domain, kept, far)
    points = [_at_point(domain, radius, values, drops, point) for point in breaks]
    places = [nearest_float(point) for point in breaks]
    sums = np.array([terms + 3.0] * len(values) + [0.0] * len(drops)) * ROUNDING
    entries = np.empty((2 * len(breaks) + 1, 1 + 3 * len(columns)))
    entries[::2] = _stretch_entries(places, stretches, len(columns), sums)
    entries[1::2] = point_entries(places, points, len(columns), sums)
    outer = set(far)
    inner = [place for place, point in zip(places, breaks, strict=True) if point not in outer] or [0.0]
    line, rows = _merge_equal(np.array(places), entries)
    labels = [at_value(radius, values, drops, domain, label) for label in domain.labels]
    table = FeatureTable(line, rows, inner[0], inner[-1], np.inf, is_integral(domain))
    return with_labels(table, domain, labels, sums, has_marks=bool(marks))


def with_labels(
    table: FeatureTable, domain: Domain, labels: Sequence[list[Drop]], sums: Floats, *, has_marks: bool = True
) -> FeatureTable:
    """Return a table of numbers with the entries of the labels behind it."""
    if not labels:
        return table
    seats = [place_of_label(k) for k in range(len(labels))]
    columns = (table.entries.shape[1] - 1) // 3
    between = np.full((len(labels), table.entries.shape[1]), np.nan)
    added = np.stack([point_entries(seats, labels, columns, sums), between], axis=1)
    rows = np.concatenate([table.entries, added.reshape(2 * len(labels), -1)])
    missing = [place_of_label(k) for k, label in enumerate(domain.labels) if not isinstance(label, str)]
    low, high = (table.low, table.high) if domain.spans or has_marks else (seats[0], seats[-1])
    line = np.append(table.breaks, seats)
    return FeatureTable(line, rows, low, high, missing[0] if missing else np.inf, table.is_integral)


def _open_table(count: int) -> FeatureTable:
    """Return a table that leaves every row to exact arithmetic."""
    return FeatureTable(np.empty(0), np.full((1, 1 + 3 * count), np.nan), 0.0, 0.0, np.inf, is_integral=False)


def _marks(domain: Domain, functions: Iterable[Pieces]) -> set[Rational]:
    """Return the breaks that the functions and the domain bring themselves: knots, ends, codes."""
    ends = {end for span in domain.spans for end in (span.low, span.high) if end is not None}
    numbers = {value for value in (*domain.categories_, *domain.codes_) if isinstance(value, fmpq)}
    return ends | numbers | {knot for function in functions for knot in function.knots}


def _jumps(function: Pieces) -> Iterator[Rational]:
    """Yield the knots at which a function is not continuous."""
    for k, (knot, value) in enumerate(zip(function.knots, function.values, strict=True)):
        if any(function.slopes[side] * knot + function.offsets[side] != value for side in (k, k + 1)):
            yield knot


def _join(
    columns: Sequence[Lines | None], domain: Domain, kept: set[Rational], far: Sequence[Rational]
) -> tuple[list[Rational], list[tuple[Line | None, ...]]]:
    """Return breaks that serve all columns, among them all in `kept`, and all lines on the stretches between them."""
    kept = kept | set(far)
    breaks = sorted(kept.union(*(column.breaks for column in columns if column is not None)))
    found: list[tuple[Line | None, ...]] = [(None,) * len(columns)]  # beyond the far points there is no error bound
    places = [0] * len(columns)
    # Where all spans hold integers alone, other numbers are left open before they are looked up; else they are not.
    spans = [span for span in domain.spans if not span.is_integers or is_integral(domain)]
    ends: list[Rational] = []
    for low, high in pairwise(breaks):
        lines: list[Line | None] = []
        is_inside = any((s.low is None or s.low <= low) and (s.high is None or high <= s.high) for s in spans)
        for c, column in enumerate(columns):
            if column is None or not is_inside:
                lines.append(None)
                continue
            while places[c] < len(column.breaks) and column.breaks[places[c]] <= low:
                places[c] += 1
            lines.append(column.lines[places[c]])
        # At a break where nothing changes, and no function jumps at the row nor at an end of its region, the row's drop
        # is the same line too, for it is continuous there. At a jump it need not be: a low stretch that has just left
        # the region, and one that is about to enter, can give rows on both sides a drop that the row itself has not.
        if low in kept or tuple(lines) != found[-1]:
            ends.append(low)
            found.append(tuple(lines))
    return [*ends, breaks[-1]], [*found, (None,) * len(columns)]


def _at_point(
    domain: Domain, radius: Rational | None, values: Sequence[Pieces], drops: Sequence[Pieces], point: Rational
) -> list[Drop] | None:
    """Return all columns at a number; None if its float may stand for other numbers, or it is not in the domain."""
    if rational_or_none(nearest_float(point)) != point or not domain.holds(point):
        return None
    return at_value(radius, values, drops, domain, point)


def rational_or_none(value: float) -> Rational | None:
    """Return the exact value of a float, None for an infinity."""
    return rational(value) if np.isfinite(value) else None


def at_value(
    radius: Rational | None, values: Sequence[Pieces], drops: Sequence[Pieces], domain: Domain, at: Value
) -> list[Drop]:
    """Return all columns at a value of the domain, by the way of one row."""
    found = [Drop.of(function(at)) for function in values]
    if drops:
        region = domain.around(at, radius)
        count = len(drops)
        found += bound_drops(drops, [function(at) for function in drops], (at,) * count, (region,) * count)[0]
    return found


def point_entries(places: Sequence[float], points: Sequence[list[Drop] | None], count: int, sums: Floats) -> Floats:
    """Return the entries at single numbers or labels; open where there is none."""
    entries = np.full((len(places), 1 + 3 * count), np.nan)
    for row, (place, point) in enumerate(zip(places, points, strict=True)):
        if point is None:
            continue
        entries[row, 0] = place
        for c, drop in enumerate(point):
            base, error = _rounded(drop.value, is_exact=drop.is_attained)
            base = np.inf if drop.is_infinite else base if np.isfinite(base) else np.nan
            error += sums[c] * abs(base) * WIDER if np.isfinite(base) else 0.0
            entries[row, 1 + 3 * c : 4 + 3 * c] = base, 0.0, 0.0 if drop.is_infinite else error
    return entries


def _rounded(value: Rational, *, is_exact: bool) -> tuple[float, float]:
    """Return the nearest float and how far it may be off; one that must not count as exact is off by something."""
    near = nearest_float(value)
    if is_exact and rational_or_none(near) == value:
        return near, 0.0
    return near, ROUNDING * abs(near) * WIDER + TINY


def _stretch_entries(
    places: Sequence[float], stretches: Sequence[tuple[Line | None, ...]], count: int, sums: Floats
) -> Floats:
    """Return the entries of all stretches."""
    entries = np.full((len(stretches), 1 + 3 * count), np.nan)
    anchors, largest, reach = anchored(np.array(places))
    entries[:, 0] = anchors
    for row, lines in enumerate(stretches):
        if not np.isfinite(anchors[row]):
            continue
        anchor = rational(float(anchors[row]))
        for c, line in enumerate(lines):
            if line is not None:
                entries[row, 1 + 3 * c : 4 + 3 * c] = line_entry(line, anchor)
    return with_errors(entries, largest, reach, sums)


def anchored(places: Floats) -> tuple[Floats, Floats, Floats]:
    """Return for each stretch a float in its middle, its largest number, and how far from the middle it reaches."""
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = np.append(np.nan, places), np.append(places, np.nan)
        anchors = low + (high - low) / 2
        largest = np.maximum(np.abs(low), np.abs(high))
        # A cell of text is not a float: the number it stands for may be further away by half a place.
        return anchors, largest, (np.maximum(high - anchors, anchors - low) + largest * 4 * ROUNDING) * WIDER


def with_errors(entries: Floats, largest: Floats, reach: Floats, sums: Floats) -> Floats:
    """Return entries in which the error of each column is that of the kernel's sum, on the whole stretch."""
    # What is off by rounding: x itself (a cell of text is not a float), x - anchor, slope, product, base, sum.
    for c in range(len(sums)):
        base, slope, own = (entries[:, k] for k in range(1 + 3 * c, 4 + 3 * c))
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.abs(slope) * reach
            rounding = ROUNDING * (2 * np.abs(base) + 4 * moved + 2 * np.abs(slope) * largest) + TINY * (1 + reach)
            error = np.where(slope == 0, own, rounding * WIDER) + sums[c] * (np.abs(base) + moved) * WIDER
        entries[:, 3 + 3 * c] = np.where(np.isinf(base), own, error)
    return entries


def line_entry(line: Line, anchor: Rational) -> tuple[float, float, float]:
    """Return base, slope, and the error of the base where the slope is 0."""
    if line.is_infinite:
        return np.inf, 0.0, 0.0
    base, error = _rounded(line.at(anchor), is_exact=line.is_attained)
    slope = nearest_float(line.slope)
    if not np.isfinite(base) or not np.isfinite(slope) or (slope == 0 and line.slope):
        return np.nan, np.nan, np.nan
    return base, slope, error


def _merge_equal(places: Floats, entries: Floats) -> tuple[Floats, Floats]:
    """Return the table with breaks whose floats are equal made one, which leaves its rows to exact arithmetic."""
    groups = [list(group) for _, group in groupby(range(len(places)), key=lambda k: places[k])]
    rows = [entries[0]]
    for group in groups:
        shared = np.full(entries.shape[1], np.nan)
        rows += [entries[2 * group[0] + 1] if len(group) == 1 else shared, entries[2 * group[-1] + 2]]
    return places[[group[0] for group in groups]], np.array(rows)


def flatten(features: Sequence[FeatureTable]) -> Tables:
    """Return the tables of all features end to end, with a grid that narrows each search to a few breaks."""
    grids = [_grid(feature) for feature in features]
    return Tables(
        np.concatenate([[*feature.breaks, np.nan] for feature in features]),
        np.cumsum([0, *(len(feature.breaks) + 1 for feature in features)]),
        _records(np.concatenate([feature.entries for feature in features])),
        np.concatenate([cells for cells, *_ in grids]).astype(np.int32),
        np.cumsum([0, *(len(cells) for cells, *_ in grids)]),
        np.array([low for _, low, _ in grids]),
        np.array([rate for *_, rate in grids]),
        np.array([feature.missing for feature in features]),
        np.array([feature.is_integral for feature in features]),
    )


def _records(entries: Floats) -> Floats:
    """Return entries as the kernel reads them: the anchor beside each column, at a multiple of 32 bytes."""
    columns = (entries.shape[1] - 1) // 3
    memory = np.empty(len(entries) * columns * 4 + 4)
    start = -memory.ctypes.data % 32 // memory.itemsize
    records = memory[start : start + len(entries) * columns * 4].reshape(len(entries), columns, 4)
    records[:, :, 0] = entries[:, :1]
    records[:, :, 1:] = entries[:, 1:].reshape(len(entries), columns, 3)
    return records


def _grid(feature: FeatureTable) -> tuple[NDArray[np.int64], float, float]:
    """Return for each cell the first break that can be at or above a number in it; the grid's start, cells per unit.

    The cell of a number is a monotone function of it, the very one of the kernel: breaks of lower cells are below it,
    breaks of higher cells above. Of some ranges the one that leaves least to search is taken, for rows that are where
    breaks are; what lies outside belongs to the first cell or the last.
    """
    inner = feature.breaks[(feature.breaks >= feature.low) & (feature.breaks <= feature.high)]
    inner = inner if len(inner) else np.array([feature.low])
    last = len(inner) - 1
    ends = {round(share * last) for share in (0.0, 0.01, 0.03, 0.1, 0.2)}
    made = [_cells(feature.breaks, float(inner[end]), float(inner[last - end])) for end in sorted(ends)]
    return min(made, key=lambda one: float(np.mean(np.log2(1.0 + np.diff(one[0])) * np.diff(one[0]))))


def _cells(breaks: Floats, low: float, high: float) -> tuple[NDArray[np.int64], float, float]:
    count = min(16 * len(breaks) + 1, _MOST_GRID)
    with np.errstate(all="ignore"):
        rate = float(np.float64(count) / (high - low))
        rate = rate if np.isfinite(rate) and rate > 0 else 0.0
        cells = np.clip((breaks - low) * rate, 0.0, count - 1.0).astype(np.int64)
    return np.searchsorted(cells, np.arange(count + 1)), low, rate
