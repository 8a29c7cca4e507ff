"""The look-up table of one feature: in twofold numbers where that will do, in exact arithmetic throughout elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from flint import fmpq

from suffice.batch.chords import Chord
from suffice.batch.drop_lines import is_integral
from suffice.batch.lookup import WIDER, FeatureTable, Floats, exact_table, place_of_label
from suffice.batch.quick_tables import FeatureAsked, quick_tables
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational, nearest_float


class FeatureChords(NamedTuple):
    """A feature of which a table is to be made: values and drops of these lines, as `exact_table` takes them."""

    domain: Domain
    radius: Rational | None
    values: Sequence[Chord] = ()
    drops: Sequence[Chord] = ()

    @property
    def lines(self) -> FeatureAsked:
        """The lines alone."""
        values, drops = [one.pieces for one in self.values], [one.pieces for one in self.drops]
        is_rough = not any(one.is_exact for one in (*self.values, *self.drops))
        return FeatureAsked(self.domain, self.radius, values, drops, is_rough)


def tabulate(features: Sequence[FeatureChords], terms: int) -> list[FeatureTable]:
    """Return the table of each feature; see `exact_table`.

    What chords are off by is added to the errors: of a value, once; of a drop, at the row and at most as much again
    anywhere in its region. For `|f - line| ≤ e` at every number of a region, the infima of both are within `e`.
    """
    asked, found = [one.lines for one in features], []
    for one, lines, quick in zip(features, asked, quick_tables(asked, terms), strict=True):
        table = quick
        if table is None:
            table = exact_table(one.domain, one.radius, values=lines.values, drops=lines.drops, terms=terms)
        for c, chord in enumerate((*one.values, *one.drops)):
            if not chord.is_exact:
                _widen(table, one.domain, one.radius, chord, 1 + 3 * c, is_drop=c >= len(one.values))
        found.append(table)
    return found


def _widen(
    table: FeatureTable, domain: Domain, radius: Rational | None, chord: Chord, column: int, *, is_drop: bool
) -> None:
    """Add what a chord is off by to the errors of a column."""
    if not len(table.breaks):  # every row is left to exact arithmetic
        return
    # In order: the stretch before a break, the break, and after the last of them one more stretch.
    low = np.repeat(table.breaks, 2)
    high = np.append(low, np.inf)
    low = np.append(-np.inf, low)
    error = chord.between(low, high)
    if is_drop:
        error = _of_drops(domain, radius, chord, low, high, error)
    for value in (*domain.categories_, *domain.codes_):
        place = nearest_float(value) if isinstance(value, fmpq) else place_of_label(domain.labels.index(value))
        own, reach = chord.of_values([value]), domain.around(value, radius)
        others = [one for one in (*reach.categories_, *reach.codes_) if one != value]
        away = chord.largest if reach.spans else chord.of_values(others)
        stays = is_drop and not others and not reach.spans
        error[1 + 2 * int(np.searchsorted(table.breaks, place))] = 0.0 if stays else own + away if is_drop else own
    base, off = table.entries[:, column], table.entries[:, column + 2]
    with np.errstate(invalid="ignore"):
        off += np.where(np.isinf(base), 0.0, error * WIDER)
    base[~np.isfinite(error)] = np.nan


def _of_drops(domain: Domain, radius: Rational | None, chord: Chord, low: Floats, high: Floats, own: Floats) -> Floats:
    """Return what drops are off by, of numbers between others: as much as the row, and the lowest point, may be."""
    if radius is None:
        return own + chord.largest
    if not (radius.floor() if is_integral(domain) else radius):
        return np.zeros(len(own))  # a row that stays has no drop
    # A break is within half a step of its float, and the differences round once more, which `between` covers.
    most = np.nextafter(nearest_float(radius), np.inf)
    return own + chord.between(np.nextafter(low, -np.inf) - most, np.nextafter(high, np.inf) + most)
