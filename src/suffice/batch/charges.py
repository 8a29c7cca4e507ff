"""What rounding may take from the scores of many rows: between two numbers for each row, close to each other.

In: a model, a question about it in float32 or float64, cells. Out: for each row and score two numbers between which
lies what `Rounding.errors` charges around that row; NaN where they are not known.
Guaranteed: the charge of a row is made of the cells of a grid that its region meets: the largest of their numbers for
each feature, then sums. The very cells are kept here, with the largest of 2, 4, 8, ... of them in a row, so that a
region takes two look-ups (`charge_kernel`). Which cells it meets is sure but for ends within rounding of a cell's edge;
there the larger charge counts one cell more than the smaller one. What `Rounding` rounds upwards afterwards (some
factors `GROW`, and 16 bits at the end) is less than the factor `SURPLUS`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.batch.answering import Mask
from suffice.batch.charge_kernel import FIELDS, LAYERS, Grid, add_terms, extent
from suffice.batch.kernel import Slack
from suffice.batch.lookup import WIDER, Floats, place_of_label
from suffice.core.float_types import GROW
from suffice.core.rounding import CELLS, Rounding, Terms, is_constant
from suffice.errors import ClaimError
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.question.question import Question

SURPLUS = 2.0**-13
_BLOCK = 128  # cells that are worked out together
_MOST_CELLS = 1 << 14  # of a feature that are kept at once,
_LEAST_CELLS = 1 << 11  # or so many of the widest where there are several levels
_MOST_LEVELS = 6
_MOST_SPANS = 32
_LARGE = 2.0**100  # numbers below are far from the largest of any float type
_STRIDE = 8  # cells that are asked about together whether a number in them may be looked up
_NONE: Mask = np.zeros(0, np.bool_)


class Charge(NamedTuple):
    """What rounding may take from each score (first index) of rows: `middle`, more or less by `off` at most."""

    middle: Floats
    off: Floats

    def cut(self, rows: NDArray[np.int64]) -> Charge:
        """Return the charges on some rows."""
        return Charge(self.middle[:, rows], self.off[:, rows])

    def slack(self, factors: Sequence[int], side: int) -> Slack:
        """Return what is added to the margin of a part with some factors: `INNER`, `OUTER`, or anything between."""
        each = np.abs(np.array(factors, float))
        middle, off = each @ self.middle, (each @ self.off) * WIDER
        return Slack(0.0, (middle + off) * WIDER) if side == EITHER else Slack(side * middle, off)


INNER, EITHER, OUTER = -1, 0, 1


class Charges:
    """What rounding may take from each score of a row."""

    def __init__(self, compiled: Compiled, question: Question) -> None:
        model, kept = compiled.model, compiled.roundings
        if question.arithmetic not in kept:
            kept[question.arithmetic] = Rounding(model, question.arithmetic)
        rounding: Rounding = kept[question.arithmetic]
        still = set(question.choices.features(sorted(question.choices.fix)))
        radii = [ZERO if i in still else radius for i, radius in enumerate(question.radii)]
        self.kind, self.outputs = rounding.kind, len(model.intercept)
        record = partial(_records, most=rounding.kind.largest / (4 * (len(model.features) + 1)))
        each = enumerate(zip(question.domains(model), radii, strict=True))
        self.each = [_OneFeature(rounding, i, domain, radius, record) for i, (domain, radius) in each]
        self.base = record(rounding.entry(model.intercept))[0]
        self.times = 2 if question.claim.reads_own_score else 1

    @classmethod
    def made(cls, compiled: Compiled, question: Question) -> Charges | None:
        """Return the charges of a question; None where the model is computed exactly."""
        return None if question.arithmetic == "exact" else cls(compiled, question)

    def of(self, cells: Floats, vague: Mask) -> Charge:
        """Return the charges on rows, NaN where they are not known."""
        shape = (cells.shape[1], self.outputs, FIELDS)
        most, more = np.empty(shape), np.zeros(shape)
        most[:] = self.base
        lows, highs = cells.min(axis=1, initial=math.inf).tolist(), cells.max(axis=1, initial=-math.inf).tolist()
        for i, one in enumerate(self.each):
            one.add(cells[i], vague[i] if len(vague) else _NONE, lows[i], highs[i], most, more)
        # Counts are rounded upwards too, and less 1 that may be any share of them: a single term counts a little then.
        added = self._added_up(most, GROW * GROW)
        least = self._added_up(most - more if more.any() else most, 1.0)
        high = added * (1 + SURPLUS) + 4 * self.kind.smallest
        low = np.maximum(least * (1 - SURPLUS) - 4 * self.kind.smallest, 0.0)
        high[~np.isfinite(high)] = np.nan
        return Charge(self.times * (high + low) / 2, self.times * ((high - low) / 2 + high * 2.0**-50))

    def _added_up(self, terms: Floats, grown: float) -> Floats:
        """Return the charge of terms, as `Rounding.errors` has it but for what is rounded upwards there."""
        above, below, count, error = (terms[:, :, field].T for field in range(FIELDS))
        steps = np.maximum(count * grown - 1, 0) * self.kind.unit
        with np.errstate(invalid="ignore"):  # infinity where it is not known
            return np.asarray(error + steps / (1 - steps) * np.maximum(above, below) + 4 * self.kind.smallest)


def _records(terms: Terms, most: float) -> Floats:
    """Return the numbers of cells (first index) for each output; infinity where a sum of them may overflow."""
    fits = (terms.most < most) & (terms.error < most)
    columns = (terms.above, terms.below, terms.count, terms.error)
    return np.stack([np.where(fits, column, np.inf).T for column in columns], axis=2)


class _OneFeature:
    """The cells of a feature, its labels and codes."""

    def __init__(
        self, rounding: Rounding, i: int, domain: Domain, radius: Rational | None, record: partial[Floats]
    ) -> None:
        self.rounding, self.i, self.domain, self.radius, self.record = rounding, i, domain, radius, record
        self.unknown = np.full((1, len(rounding.model.intercept), FIELDS), np.inf)
        self.everywhere = self._over(self.domain) if radius is None else self._constant()
        self.levels = () if radius is None else self._levels()
        self.most = max(_MOST_CELLS >> max(len(self.levels) - 1, 0), _LEAST_CELLS)
        self.lock = threading.Lock()
        # The grid, `_clear` of it, and between which numbers it has all cells that regions meet.
        self.ready: tuple[Grid | None, Mask, float, float] = None, np.ones(0, np.bool_), 0.0, 0.0
        if self.radius is not None:
            self.near = nearest_float(self.radius)
            named = list(self._named())
            self.named = np.array([place for place, _ in named])
            self.named_records = np.array([record for _, record in named]).reshape(-1, *self.unknown.shape[1:])

    def add(self, column: Floats, vague: Mask, low: float, high: float, most: Floats, more: Floats) -> None:
        """Add the numbers of each row and output, of cells that its region may meet, and how much less is sure.

        The cells are between `low` and `high`, which are NaN where one of them is.
        """
        if self.radius is None:
            most += self.everywhere
        elif not self.levels:
            most += self._constants(column, vague)
        else:
            self._add_cells(column, vague, low, high, most, more)

    def _add_cells(self, column: Floats, vague: Mask, low: float, high: float, most: Floats, more: Floats) -> None:
        low, high, grid, clear = self._grid_over(column, low, high)
        add_terms(column, vague, low, high, grid, most, more)
        if len(clear):
            with np.errstate(over="ignore", invalid="ignore"):
                cell = np.floor(column * grid.rates[-1]) - grid.first[-1]
            is_in = (cell >= 0) & (cell < len(clear))
            is_named = np.isin(column, self.named) | np.isnan(column)
            most[is_in & ~is_named & ~clear[np.where(is_in, cell, 0).astype(np.int64)]] = np.inf

    def _constants(self, column: Floats, vague: Mask) -> Floats:
        own = np.where(np.abs(column) < _LARGE, 0.0, np.inf)[:, None, None] + self.everywhere
        for place, record in zip(self.named, self.named_records, strict=True):
            is_here = np.isnan(column) if math.isnan(place) else column == place
            own[is_here] = record
            if len(vague):  # it may be the code, or another number that rounds to it
                own[is_here & vague] = np.inf
        return own

    # --- the grid -----------------------------------------------------------------------------------------------------

    def _grid_over(self, column: Floats, low: float, high: float) -> tuple[float, float, Grid, Mask]:
        """Return which numbers of a column are answered, a grid with all cells that their regions meet, and `_clear`.

        Where these are too many, those in the middle. What is answered depends on the column alone.
        """
        grid, clear, from_here, to_here = self.ready
        width = 2.0 ** self.levels[-1]
        room = (self.most // 2 - 4 * _BLOCK) * width - self.near  # on both sides of the middle
        is_ready = from_here <= low and high <= to_here and high - low < 2 * room and not len(self.named)
        if grid is not None and is_ready:
            return low, high, grid, clear
        if len(self.named) or not (low > -_LARGE and high < _LARGE):  # there are labels, codes, or what is no number
            low, high = extent(column, self.named, _LARGE)
        if not low <= high:
            low, high = 0.0, 0.0
        if not high - low < 2 * room:
            middle = float(np.median(column[np.abs(column) < _LARGE]))
            low, high = max(low, middle - room), min(high, middle + room)
        begin, end = (low - self.near) / width, (high + self.near) / width
        finest = 2.0 ** (self.levels[-1] - self.levels[0])  # cells of the finest level in one of the widest
        if not max(abs(begin), abs(end)) * finest < 2**50:  # places must be floats
            begin, end, low, high = 0.0, 0.0, math.inf, -math.inf
        with self.lock:
            grid, clear, from_here, to_here = self.ready
            if grid is None or begin - 2 < grid.first[-1] or end + 2 > grid.first[-1] + grid.count[-1]:
                grid, clear = self._made(grid, math.floor(begin), math.ceil(end))
                from_here = to_here = low
            self.ready = grid, clear, min(low, from_here), max(high, to_here)
            return low, high, grid, clear

    def _made(self, known: Grid | None, begin: int, end: int) -> tuple[Grid, Mask]:
        """Return the grid from a cell of the widest level to another, and some more on both sides."""
        assert self.radius is not None
        if known is not None:  # with the cells that were there, if they are not too many
            old, old_end = int(known.first[-1]), int(known.first[-1] + known.count[-1])
            if max(end, old_end) - min(begin, old) <= self.most:
                begin, end = min(begin, old), max(end, old_end)
        first, last = (begin // _BLOCK - 1) * _BLOCK, (end // _BLOCK + 2) * _BLOCK  # the last is not in it
        finer = [2 ** (self.levels[-1] - level) for level in self.levels]
        each = [
            _layers(self._cells(level, first * factor, last * factor, is_integers=kind))
            for kind in sorted({span.is_integers for span in self.domain.spans})
            for level, factor in zip(self.levels, finer, strict=True)
        ]
        spans = [self._span(span) for span in self.domain.spans]
        grid = Grid(
            self.near,
            rational(self.near) == self.radius,
            np.array(spans),
            np.array([0.0, *(CELLS * 2.0**level for level in self.levels[1:])]),
            np.array([2.0**-level for level in self.levels]),
            np.array([first * factor for factor in finer]),
            np.array([(last - first) * factor for factor in finer]),
            np.concatenate(each),
            sum(map(len, each[: -len(finer)])),
            self.named,
            self.named_records,
        )
        return grid, self._clear(first, last)

    def _span(self, span: Span) -> list[float]:
        """Return a span as the kernel takes it."""
        assert self.radius is not None
        whole = 2 * self.radius
        if span.low is not None and span.high is not None:
            whole = span.high - span.low
        levels = [self.rounding.level(self.i, width) for width in (2 * self.radius, whole)]
        indices = [self.levels.index(level) if level in self.levels else -1 for level in levels]  # none is so wide
        low = (-math.inf, -math.inf) if span.low is None else _around(span.low)
        high = (math.inf, math.inf) if span.high is None else _around(span.high)
        return [*low, *high, float(span.is_integers), *map(float, indices)]

    def _cells(self, level: int, first: int, last: int, *, is_integers: bool) -> Floats:
        """Return the numbers of cells; infinity where there is no bound."""
        records = np.empty((last - first, *self.unknown.shape[1:]))
        for start in range(0, last - first, _BLOCK):
            block = records[start : start + _BLOCK]
            begin, end = first + start, first + start + len(block)
            try:
                with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                    found = self.rounding.cells(self.i, level, begin, end - 1, is_integers=is_integers)
                    block[:] = np.concatenate([self.record(terms) for terms in found])
            except ClaimError:
                block[:] = np.inf
        return np.where(np.isfinite(records).all(axis=2, keepdims=True), records, np.inf)

    def _clear(self, first: int, last: int) -> Mask:
        """Return for each cell of the widest level whether no number within a radius of it may be looked up."""
        assert self.radius is not None
        if not self.rounding.has_tables(self.i):
            return np.ones(0, np.bool_)
        width, clear = fmpq(2) ** self.levels[-1], np.ones(last - first, np.bool_)
        for start in range(0, last - first, _STRIDE):
            # A cell more on both sides, so that rounding makes no difference: what is asked about holds every region.
            ends = (first + start - 1) * width - self.radius, (first + start + _STRIDE + 1) * width + self.radius
            clear[start : start + _STRIDE] = not self.rounding.may_look_up(self.i, *ends)
        return clear

    def _levels(self) -> tuple[int, ...]:
        """Return how wide the cells can be into which a region is cut, as powers of two; none where that is not known.

        A region is as wide as its row and the domain let it be: between two ends, which are those of the levels too.
        """
        assert self.radius is not None
        if not 0 < len(self.domain.spans) <= _MOST_SPANS or not self.rounding.is_network(self.i):
            return ()
        least, most = ZERO, 2 * self.radius
        if len(self.domain.spans) == 1 and not self.domain.spans[0].is_integers:
            (span,) = self.domain.spans
            if span.low is None and span.high is None:
                least = most
            elif span.low is None or span.high is None:
                least = self.radius
            else:
                least, most = min(self.radius, span.high - span.low), min(most, span.high - span.low)
        levels = range(self.rounding.level(self.i, least), self.rounding.level(self.i, most) + 1)
        is_known = len(levels) <= _MOST_LEVELS and abs(levels[0]) <= 900 and abs(levels[-1]) <= 900
        return tuple(levels) if is_known else ()

    # --- elsewhere ----------------------------------------------------------------------------------------------------

    def _constant(self) -> Floats:
        """Return the numbers everywhere where the shape is constant, infinity where it is not."""
        is_small = self.radius is not None and self.radius < 2**100
        if not (is_small and is_constant(self.rounding.model.mains[self.i].shape)):
            return self.unknown
        return self._over(Domain.points(0))

    def _named(self) -> Iterator[tuple[float, Floats]]:
        """Yield the places of labels, codes and categories on the line of cells, and their numbers."""
        for k, label in enumerate(self.domain.labels):
            place = place_of_label(k) if isinstance(label, str) else math.nan
            yield place, self._over(self.domain.around(label, self.radius))
        for value in (*self.domain.categories_, *self.domain.codes_):
            if isinstance(value, fmpq):
                near = nearest_float(value)
                is_exact = math.isfinite(near) and rational(near) == value
                yield near, self._over(self.domain.around(value, self.radius)) if is_exact else self.unknown

    def _over(self, region: Domain) -> Floats:
        """Return the numbers over a region, as they are for a single row; infinity where that is refused."""
        try:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                return np.asarray(self.record(self.rounding.over_region(self.i, region)))
        except ClaimError:
            return self.unknown


def _layers(records: Floats) -> Floats:
    """Return the largest numbers of 1, 2, 4, ... cells from each cell on, end to end."""
    layers = [records]
    for k in range(LAYERS - 1):
        after = np.concatenate([layers[-1][1 << k :], layers[-1][-(1 << k) :]])
        layers.append(np.maximum(layers[-1], after))
    return np.concatenate(layers)


def _around(value: Rational) -> tuple[float, float]:
    """Return two floats between which a number lies; equal ones where it is a float."""
    near = nearest_float(value)
    if math.isfinite(near) and rational(near) == value:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)
