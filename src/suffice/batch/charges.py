"""What rounding may take from the scores of many rows: one number for each feature and cell, at most what it says.

In: a model, a question about it in float32 or float64, cells. Out: for each row and score a number that is no less than
what `Rounding.errors` charges around that row; NaN where there is none.
Guaranteed: the charge of a row is made of the cells of a grid that its region meets, by sums and by the largest of
some numbers. The same cells, and some more on both sides, are looked at here for all rows in a cell at once. With
`m` at most as many additions as the score has terms, `Σ error + m·u / (1 - m·u) · max(Σ above, Σ below)` is no more
than the sum over the features of `error + m·u / (1 - m·u) · max(above, below)`, which is what is kept for a cell. What
rounding upwards adds in `Rounding` (some factors `GROW`, and 16 bits at the end) is less than the factor `SURPLUS`.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from flint import fmpq

from suffice.batch.answering import Mask
from suffice.batch.lookup import Floats, place_of_label
from suffice.core.float_types import GROW
from suffice.core.rounding import Rounding, Terms, is_constant
from suffice.errors import ClaimError
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.question.question import Question
from suffice.shapes import Table
from suffice.shapes.shape import Rescaled, Scaled, Shape, Sum

SURPLUS = 1 + 2.0**-13
_BLOCK = 128  # cells that are kept together
_MOST_BLOCKS = 64  # of a feature that rows of one chunk may lie in; rows beyond are left open
_MOST_LEVELS = 6
_FARTHEST = 2.0**20  # cells from 0, so that the width of one is more than rounding an input can move it
_LARGE = 2.0**100  # numbers below are far from the largest of any float type
_STRIDE = 8  # cells that are asked about together whether a number in them may be looked up


class Charges:
    """What rounding may take from each score of a row, at most."""

    def __init__(self, compiled: Compiled, question: Question) -> None:
        model, kept = compiled.model, compiled.roundings
        if question.arithmetic not in kept:
            kept[question.arithmetic] = Rounding(model, question.arithmetic)
        rounding: Rounding = kept[question.arithmetic]
        still = set(question.choices.features(sorted(question.choices.fix)))
        radii = [ZERO if i in still else radius for i, radius in enumerate(question.radii)]
        terms = 1 + sum(_leaves(term.shape) for term in model.mains)
        self.weigh = _Weigh(rounding, terms, len(model.features) + 1)
        each = enumerate(zip(question.domains(model), radii, strict=True))
        self.each = [_OneFeature(self.weigh, i, domain, radius) for i, (domain, radius) in each]
        self.intercept = self.weigh(rounding.entry(model.intercept))[:, 0]
        self.smallest = 8 * rounding.kind.smallest
        self.times = 2 if question.claim.reads_own_score else 1

    @classmethod
    def made(cls, compiled: Compiled, question: Question) -> Charges | None:
        """Return the charges of a question; None where the model is computed exactly."""
        return None if question.arithmetic == "exact" else cls(compiled, question)

    def of(self, cells: Floats, vague: Mask) -> Floats:
        """Return the charges on each score (first index) of rows."""
        total = np.repeat(self.intercept[:, None], cells.shape[1], axis=1)
        for i, one in enumerate(self.each):
            total += one.of(cells[i], vague[i] if len(vague) else None)
        return self.times * (total + self.smallest) * SURPLUS


class _Weigh:
    """Turns terms into one number for each output and cell: NaN where there is no bound, or a sum may overflow."""

    def __init__(self, rounding: Rounding, terms: int, sums: int) -> None:
        steps = terms * rounding.kind.unit
        self.rounding, self.share = rounding, steps / (1 - steps) * GROW
        self.most = rounding.kind.largest / (4 * sums)

    def __call__(self, terms: Terms) -> Floats:
        weight = terms.error + self.share * np.maximum(terms.above, terms.below)
        fits = (terms.most < self.most) & (weight < self.most)
        return np.where(fits, weight, np.nan)


class _OneFeature:
    """The charges on a feature, by the cell of a grid that it is in, and by labels and codes."""

    def __init__(self, weigh: _Weigh, i: int, domain: Domain, radius: Rational | None) -> None:
        self.weigh, self.i, self.domain, self.radius = weigh, i, domain, radius
        self.rounding = weigh.rounding
        self.outputs = len(self.rounding.model.intercept)
        self.everywhere = self._over(self.domain) if radius is None else None
        self.levels = () if radius is None else self._levels()
        self.named = {} if radius is None else dict(self._named())
        self.constant = self._constant()
        self.blocks: dict[int, Floats] = {}
        self.lock = threading.Lock()
        if self.levels:
            self.reach = int((radius / fmpq(2) ** self.levels[-1]).ceil()) + 2 if radius else 2

    def of(self, column: Floats, vague: Mask | None) -> Floats:
        """Return the charges on each output (first index) of the cells of a column."""
        if self.everywhere is not None:
            return self.everywhere[:, None]
        found = self._on_grid(column) if self.levels else np.where(np.abs(column) < _LARGE, self.constant, np.nan)
        for place, charge in self.named.items():
            is_here = np.isnan(column) if math.isnan(place) else column == place
            found[:, is_here] = charge[:, None]
            if vague is not None:  # it may be the code, or another number that rounds to it
                found[:, is_here & vague] = np.nan
        return found

    def _on_grid(self, column: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            cell = np.floor(np.ldexp(column, -self.levels[-1]))
        is_far = not (np.abs(cell) < _FARTHEST).all()
        if is_far:
            cell = np.where(np.abs(cell) < _FARTHEST, cell, np.nan)
        if np.isnan(cell).all():
            return np.full((self.outputs, len(column)), np.nan)
        low, high = (int(end) // _BLOCK for end in (np.nanmin(cell), np.nanmax(cell)))
        if high - low >= _MOST_BLOCKS:
            middle = int(np.nanmedian(cell)) // _BLOCK
            low, high = max(low, middle - _MOST_BLOCKS // 2), min(high, middle + _MOST_BLOCKS // 2)
        with self.lock:
            table = np.concatenate([self._block(block) for block in range(low, high + 1)], axis=1)
        place = cell - low * _BLOCK
        is_in = (place >= 0) & (place < table.shape[1])
        return np.where(is_in, table[:, np.where(is_in, place, 0).astype(np.int64)], np.nan)

    def _block(self, block: int) -> Floats:
        """Return what is kept for some cells: the most of the cells that the region of a number in each can meet."""
        if block not in self.blocks:
            first, last = block * _BLOCK - self.reach, (block + 1) * _BLOCK + self.reach  # the last is not in it
            kinds = {span.is_integers for span in self.domain.spans}
            each = [self._cells(level, first, last, is_integers=kind) for level in self.levels for kind in kinds]
            windows = np.lib.stride_tricks.sliding_window_view(np.max(each, axis=0), 2 * self.reach + 1, axis=1)
            self.blocks[block] = np.asarray(windows.max(axis=2))
        return self.blocks[block]

    def _cells(self, level: int, first: int, last: int, *, is_integers: bool) -> Floats:
        """Return the charges in cells of the widest level, each the most of those of a level that lie in it."""
        finer = 2 ** (self.levels[-1] - level)
        try:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                found = self.rounding.cells(self.i, level, first * finer, last * finer - 1, is_integers=is_integers)
                weights = np.concatenate([self.weigh(terms) for terms in found], axis=1)
        except ClaimError:
            return np.full((self.outputs, last - first), np.nan)
        found_here = np.asarray(weights.reshape(self.outputs, last - first, finer).max(axis=2))
        return self._without_looked_up(found_here, first)

    def _without_looked_up(self, found: Floats, first: int) -> Floats:
        """Return charges without those in cells where a number may be looked up, as special codes are."""
        width = fmpq(2) ** self.levels[-1]
        for start in range(0, found.shape[1], _STRIDE) if self.rounding.has_tables(self.i) else ():
            stop = min(start + _STRIDE, found.shape[1])
            if self.rounding.may_look_up(self.i, (first + start) * width, (first + stop) * width):
                found[:, start:stop] = np.nan
        return found

    def _levels(self) -> tuple[int, ...]:
        """Return how wide the cells can be into which a region is cut, as powers of two; none where that is not known.

        A region is as wide as its row and the domain let it be: between two ends, which are those of the levels too.
        """
        assert self.radius is not None
        if not self.domain.spans or not self.rounding.is_network(self.i):
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

    def _constant(self) -> Floats:
        """Return the charge on all numbers that are not too large where the shape is constant, NaN where it is not."""
        is_small = self.radius is not None and self.radius < 2**100
        if not (is_small and is_constant(self.rounding.model.mains[self.i].shape)):
            return np.full((self.outputs, 1), np.nan)
        return self._over(Domain.points(0))[:, None]

    def _named(self) -> Any:
        """Yield the places of labels, codes and categories on the line of cells, and their charges."""
        for k, label in enumerate(self.domain.labels):
            place = place_of_label(k) if isinstance(label, str) else math.nan
            yield place, self._over(self.domain.around(label, self.radius))
        for value in (*self.domain.categories_, *self.domain.codes_):
            if isinstance(value, fmpq):
                near = nearest_float(value)
                is_exact = math.isfinite(near) and rational(near) == value
                yield (
                    near,
                    self._over(self.domain.around(value, self.radius)) if is_exact else np.full(self.outputs, np.nan),
                )

    def _over(self, region: Domain) -> Floats:
        """Return the charge over a region, as it is for a single row; NaN where that is refused."""
        try:
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                return self.weigh(self.rounding.over_region(self.i, region))[:, 0]
        except ClaimError:
            return np.full(self.outputs, np.nan)


def _leaves(shape: Shape) -> int:
    """Return how many terms of a score a shape has at most."""
    match shape:
        case Sum():
            return sum(map(_leaves, shape.parts))
        case Scaled() | Rescaled():
            return _leaves(shape.shape)
        case Table() if shape.otherwise is not None:
            return _leaves(shape.otherwise)
        case _:
            return 1
