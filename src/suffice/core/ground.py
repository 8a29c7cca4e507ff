"""A landscape seen from a row: the labels of each feature in its region, and how far a labelling lowers the score.

In: a landscape, a row and its region. Out: a `Graph` in whole units, and the exact fall of any labelling.

The first label of a feature is the row's own value, every other one a spot. The fall of a labelling is how far the
score is then below that of the row. Every number is rounded to units once, so that a sum of the graph is off by at most
`error` units from the fall that it stands for.

Falls are ordered as drops are: of equal values the one that is about to grow is largest, and one that is attained is
larger than one that is only approached. In exact whole numbers a value is a multiple of `Landscape.steps`; a label that
is approached takes one away, and one that is about to grow adds more than all others can take away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from suffice.core.anchor import anchored, dominated, without
from suffice.core.constraint import NO_DROP, Drop, Scenario
from suffice.core.convex import on_lower_hull
from suffice.core.graph import Graph, graph
from suffice.core.landscape import Landscape, Spot
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ZERO, Rational
from suffice.question.row import Row
from suffice.shapes.axis import Interval
from suffice.shapes.infimum import Infimum

_SCALE = 8  # bits by which units become larger at once


class Ground:
    """A landscape seen from a row.

    Parameters
    ----------
    landscape : Landscape
    row : Row
    region : sequence of Domain
        Where each feature may go; it holds the row's value.
    deadline : float
        When searches should end, as `time.monotonic` counts.
    extra : sequence of spots, optional
        For each feature further spots, beside those of its region.
    has_all : bool
        Keep labels that another one beats: they are part of a proof that trusts no search.
    """

    def __init__(
        self,
        landscape: Landscape,
        row: Row,
        region: Sequence[Domain],
        *,
        deadline: float = math.inf,
        extra: Sequence[Sequence[Spot]] | None = None,
        has_all: bool = False,
    ) -> None:
        self.row, self.region, self.deadline = row, tuple(region), deadline
        self._extra, self._has_all = extra, has_all
        size = self._label(landscape)
        if size > (most := landscape.limit >> 5):  # larger units, in steps that rows share
            larger = -(-(size // most).bit_length() // _SCALE) * _SCALE
            self._label(landscape.scaled(landscape.bits - larger))
        self.known: dict[Any, Any] = {}  # worst labellings that were found, kept for all constraints on this ground
        self.visited: set[tuple[int, ...]] = set()  # labellings that were found to break a constraint
        self.graph, self._kept = self._anchored()

    # --- labels -------------------------------------------------------------------------------------------------------

    def _label(self, landscape: Landscape) -> int:
        """Find the labels of all features; return a bound on what parts come to together, in units."""
        self.landscape = landscape
        self.infinite: set[int] = set()  # features whose own part falls for ever
        self._entries: list[list[Spot | int]] = []  # a whole cell by its number; of integers by the complement of that
        self._cells: list[int] = []
        self._mains: list[int] = []
        self._is_exact = landscape.tables.is_exact
        self._first = [0]
        for i in range(len(self.row)):
            self._add_feature(i)
            for spot in () if self._extra is None else self._extra[i]:
                self._put(i, spot)
            self._first.append(len(self._cells))
        self._rows = self._row_tables()
        size = sum(max(map(abs, self._mains[a:b])) for a, b in pairwise(self._first))
        return size + sum(4 * max(map(abs, self._rows[0][a:b]), default=0) for a, b in pairwise(self._rows[1]))

    def _add_feature(self, i: int) -> None:
        ladder, value, reach = self.landscape.ladders[i], self.row[i], self.region[i]
        own = Spot.of(ladder.axis.cell_of(value), Infimum.attained(ladder.function(value), value))
        self._entries.append([])
        self._put(i, own)
        for span in reach.spans:
            # The row alone is no change, but a checker has a label for it, beside those of other spans.
            if self._has_all or span.low is None or span.low != span.high or span.low != value:
                self._add_span(i, own, span)
        for label in (*reach.categories_, *reach.codes_):
            if label != value:
                self._put(i, Spot.of(ladder.axis.cell_of(label), Infimum.attained(ladder.function(label), label)))

    def _add_span(self, i: int, own: Spot, span: Span) -> None:
        """Add the labels of a span: of the cells at its ends, of the row's own cell, and of whole cells between."""
        ladder = self.landscape.ladders[i]
        cells, reach = ladder.axis.cells_between(span.low, span.high), Interval(span.low, True, span.high, True)
        first, last, apart = cells[0], cells[-1], {cells[0], own.cell, cells[-1]}
        whole = self.landscape.whole_cells(i, is_integers=span.is_integers) if len(cells) > 2 else None
        at = first
        while at <= last:
            if whole is not None and at not in apart and whole.is_usable[at]:
                end = at + 1
                while end not in apart and whole.is_usable[end]:
                    end += 1
                self._entries[i] += range(~at, ~end, -1) if span.is_integers else range(at, end)
                self._cells += range(at, end)
                self._mains += whole.values[at:end]
                self._is_exact = self._is_exact and all(whole.is_exact[at:end])
                at = end
                continue
            spots = ladder.spots(self.landscape.names[i], at, reach, is_integers=span.is_integers)
            if ladder.varies[at] and not self._has_all:
                # Pair terms are affine along the feature here: whatever the others do, it is lowest on its convex hull.
                kept = on_lower_hull([(cast(Rational, spot.infimum.at), spot.infimum.value) for spot in spots])
                spots = [spot for spot, is_kept in zip(spots, kept, strict=True) if is_kept]
            for spot in spots:
                # In the row's own cell only what is lower than the row is worth a label, unless a pair varies there.
                if self._has_all or at != own.cell or ladder.varies[at] or spot.infimum.rank < own.infimum.rank:
                    self._put(i, spot)
            at += 1

    def _put(self, i: int, spot: Spot) -> None:
        if not spot.infimum.is_bounded:
            self.infinite.add(i)
            return
        self._entries[i].append(spot)
        self._cells.append(spot.cell)
        self._mains.append(self.landscape.in_units(spot.infimum.value))
        self._is_exact = self._is_exact and self.landscape.is_exact(spot.infimum.value)

    def _resolved(self, i: int, entry: Spot | int) -> Spot:
        if isinstance(entry, Spot):
            return entry
        found = self.landscape.ladders[i].whole(max(entry, ~entry), is_integers=entry < 0)
        assert found is not None
        return found

    def spot(self, i: int, label: int) -> Spot:
        """Return what a label of a feature stands for."""
        return self._resolved(i, self._entries[i][int(self._kept[self.graph.first[i] + label]) - self._first[i]])

    # --- in units -----------------------------------------------------------------------------------------------------

    def _anchored(self) -> tuple[Graph, NDArray[np.int64]]:
        """Return the graph in units without labels that another one beats, and which labels are left."""
        tables, first = self.landscape.tables, np.array(self._first)
        self.is_exact = self._is_exact
        self.error = 0 if self.is_exact else len(self.row) + len(tables.ends)
        moves = np.ones(len(self._cells), dtype=np.int64)
        moves[first[:-1]] = 0
        row_tables = np.array(self._rows[0], dtype=np.int64), np.array(self._rows[1], dtype=np.int64)
        own, both = anchored(first, np.array(self._cells), np.array(self._mains), tables, *row_tables)
        if self.is_exact:
            own += self.weights()
        whole = graph(first, own, moves, tables.ends, both)
        if self._has_all:
            return whole, np.arange(len(self._cells))
        return without(whole, dominated(whole, 0 if self.is_exact else 1))

    def whole(self) -> Ground:
        """Return the same with all labels, those too that another one beats."""
        given = self.landscape, self.row, self.region
        return Ground(*given, deadline=self.deadline, extra=self._extra, has_all=True)

    def _row_tables(self) -> tuple[list[int], list[int]]:
        """Return the pair terms that are not constant on cells, by label, in units, and where each table begins."""
        landscape, values, starts = self.landscape, list[int](), [0]
        for e, ((i, j), pair) in enumerate(landscape.pairs):
            if not pair.is_constant_in_cells:
                spots = [[self._resolved(k, entry) for entry in self._entries[k]] for k in (i, j)]
                exact = [landscape.pair_at(e, one, other) for one in spots[0] for other in spots[1]]
                values += map(landscape.in_units, exact)
                self._is_exact = self._is_exact and all(map(landscape.is_exact, exact))
            starts.append(len(values))
        return values, starts

    def weights(self) -> NDArray[np.int64]:
        """Return what the edges of all labels count in units where these are exact, also of labels that are beaten."""
        each = ((i, entry) for i, entries in enumerate(self._entries) for entry in entries)
        return np.array([self._weight(self._resolved(i, entry).edge) for i, entry in each], dtype=np.int64)

    def _weight(self, edge: int) -> int:
        return edge if edge <= 0 else len(self.row) + 1

    # --- exactly ------------------------------------------------------------------------------------------------------

    def own_fall(self, i: int, label: int) -> Drop:
        """Return by how much the score falls if a feature alone takes a label."""
        if not label:
            return NO_DROP
        landscape, new, old = self.landscape, self.spot(i, label), self.spot(i, 0)
        value = old.infimum.value - new.infimum.value
        for e, side in landscape.around[i]:
            ends = landscape.pairs[e][0]
            other = self.spot(ends[1 - side], 0)
            value += self._pair_at(e, side, old, other) - self._pair_at(e, side, new, other)
        return Drop(False, value, new.edge)

    def _pair_at(self, e: int, side: int, spot: Spot, other: Spot) -> Rational:
        return self.landscape.pair_at(e, other, spot) if side else self.landscape.pair_at(e, spot, other)

    def product(self, e: int, first: int, second: int) -> Rational:
        """Return by how much the score falls, beyond their own falls, if both features of a pair take a label."""
        i, j = self.landscape.pairs[e][0]
        if not (first and second):
            return ZERO
        (old, new), (before, after) = (
            (self.spot(i, 0), self.spot(i, first)),
            (self.spot(j, 0), self.spot(j, second)),
        )
        at = self.landscape.pair_at
        return at(e, new, before) + at(e, old, after) - at(e, old, before) - at(e, new, after)

    def scenario(self, labels: Iterable[int]) -> Scenario:
        """Return what a labelling does, feature by feature and pair by pair."""
        each = tuple(int(label) for label in labels)
        weights = tuple(self.own_fall(i, label) for i, label in enumerate(each))
        both = {(i, j): self.product(e, each[i], each[j]) for e, ((i, j), _) in enumerate(self.landscape.pairs)}
        return Scenario(weights, {ends: value for ends, value in both.items() if value}, each)

    def fall(self, labels: Iterable[int]) -> Drop:
        """Return how far the score falls at a labelling."""
        landscape = self.landscape
        spots, moved = list[Spot](), set[int]()
        for i, label in enumerate(labels):
            spots.append(self.spot(i, int(label)))
            moved |= {i} if label else set()
        here = [self.spot(i, 0) if i in moved else spot for i, spot in enumerate(spots)]
        value = sum((here[i].infimum.value - spots[i].infimum.value for i in moved), ZERO)
        for e in {e for i in moved for e, _ in landscape.around[i]}:
            i, j = landscape.pairs[e][0]
            value += landscape.pair_at(e, here[i], here[j]) - landscape.pair_at(e, spots[i], spots[j])
        edges = [spots[i].edge for i in moved]
        return Drop(False, value, max(edges, default=0) if 1 in edges else min(edges, default=0))

    def exact_graph(self, alive: Any) -> tuple[Graph, list[list[int]]]:
        """Return the graph of some labels in exact whole numbers, and which labels of each feature these are."""
        first = self.graph.first
        labels = [[a for a in range(first[i + 1] - first[i]) if alive[first[i] + a]] for i in range(len(self.row))]
        own = [self.own_fall(i, a) for i, some in enumerate(labels) for a in some]
        tables = [
            [self.product(e, a, b) for a in labels[i] for b in labels[j]]
            for e, ((i, j), _) in enumerate(self.landscape.pairs)
        ]
        below = math.lcm(*(int(drop.value.q) for drop in own), *(int(one.q) for table in tables for one in table))
        unit = below * self.landscape.steps
        whole = [int((drop.value * unit).p) + self._weight(drop.edge) for drop in own]
        both = [int((one * unit).p) for table in tables for one in table]
        places = np.concatenate([[0], np.cumsum([len(some) for some in labels])])
        moves = np.array([a != 0 for some in labels for a in some], dtype=np.int64)
        ends = [ends for ends, _ in self.landscape.pairs]
        return graph(places, np.array(whole, dtype=object), moves, ends, np.array(both, dtype=object)), labels
