"""Models over numbers and categories with finitely many inputs, in which every question is answered by trying them all.

Distances are written down here from their definition: numbers are as far apart as they are, ordered categories as many
ranks, others one step or no distance at all, codes infinitely far. All are counted in radii, in the unit of a question.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

from suffice import (
    MISSING,
    AdditiveModel,
    AtLeast,
    Bins,
    Domain,
    Feature,
    PairSteps,
    PiecewiseLinear,
    Same,
    Table,
    Within,
)

KINDS = ("numbers", "integers", "ranks", "ranks", "names", "names", "both")
LARGEST = 4000  # inputs of a model


class Column(NamedTuple):
    """A feature: its kind, its values in order, its codes, its scale and its standard deviation."""

    kind: str
    values: tuple[Any, ...]
    codes: tuple[Any, ...]
    scale: Fraction
    deviation: Fraction | None

    @property
    def every(self) -> tuple[Any, ...]:
        return (*self.values, *self.codes)

    def domain(self) -> Domain:
        numbers = [value for value in self.values if isinstance(value, Fraction)]
        names = [value for value in self.values if isinstance(value, str)]
        if self.kind == "integers":
            found = Domain.integers(numbers[0], numbers[-1])
        elif self.kind == "ranks":
            found = Domain.ordered(*names)
        else:
            parts = ([Domain.points(*numbers)] if numbers else []) + ([Domain.categories(*names)] if names else [])
            found = parts[0] if len(parts) == 1 else parts[0] | parts[1]
        return found | Domain.codes(*self.codes) if self.codes else found


class Mixed:
    """A random model of numbers and categories, a row, a claim and what a question says of distances."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(f"mixed {seed}")
        self.task = rng.choice(["binary", "binary", "multiclass", "regression"])
        self.outputs = 3 if self.task == "multiclass" else 1
        self.columns = [self._column() for _ in range(rng.randint(2, 4))]
        while math.prod(len(one.every) for one in self.columns) > LARGEST:
            self.columns.pop()
        self.names = [f"x{i}" for i in range(len(self.columns))]
        self.mains = [{value: self._numbers() for value in one.every} for one in self.columns]
        self.pairs = {}
        for i, j in combinations(range(len(self.columns)), 2):
            if rng.random() < 0.25:
                grid = {(a, b): self._numbers() for a in self.columns[i].every for b in self.columns[j].every}
                self.pairs[i, j] = grid
        self.intercept = self._numbers()
        self.row = tuple(rng.choice(one.every) for one in self.columns)
        self.unit = rng.choice(["std", "std", "raw", "model"])
        self.categories = rng.choice(["free", "step"])
        self.immutable = tuple(i for i in range(len(self.columns)) if rng.random() < 0.12)
        self.max_changed = rng.choice([None, None, None, 1, 2])
        self.claim = self._claim()
        features = [
            Feature(name, one.domain(), 0, one.scale, one.deviation)
            for name, one in zip(self.names, self.columns, strict=True)
        ]
        terms = {(self.names[i], self.names[j]): self._pair(i, j, grid) for (i, j), grid in self.pairs.items()}
        shapes = [self._shape(one, table) for one, table in zip(self.columns, self.mains, strict=True)]
        classes = ["a", "b", "c"] if self.task == "multiclass" else None
        self.model = AdditiveModel(shapes, self.intercept, self.task, features, classes=classes, pairs=terms)

    # --- making -------------------------------------------------------------------------------------------------------

    def _numbers(self) -> list[Fraction]:
        some = [Fraction(k, 2) for k in (-6, -3, -2, -1, 0, 0, 1, 2, 4)]
        return [self.rng.choice(some) for _ in range(self.outputs)]

    def _column(self) -> Column:
        rng = self.rng
        kind = rng.choice(KINDS)
        names = tuple(rng.sample(["tan", "red", "sky", "jet", "ash"], rng.randint(1, 5 if kind == "ranks" else 3)))
        numbers = {"integers": [0, 1, 2, 3], "numbers": [-1, 0, Fraction(1, 2), 2], "both": [0, 1]}.get(kind, [])
        values = (*map(Fraction, numbers), *(names if kind in ("ranks", "names", "both") else ()))
        codes = (MISSING,) if rng.random() < 0.25 else ()
        deviation = rng.choice([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 4), Fraction(0)])
        # A deviation of names is never looked at; of ranks and numbers it is needed.
        return Column(kind, values, codes, rng.choice([Fraction(1), Fraction(-2)]), deviation)

    def _claim(self) -> Any:
        first = self.scores(self.row)[0]
        if self.task == "multiclass":
            return Same()
        others = [AtLeast(first - self.rng.choice([0, 1, 2])), Within(self.rng.choice([1, 2]))]
        return self.rng.choice(others if self.task == "regression" else [Same(), Same(), *others])

    def _shape(self, column: Column, table: dict[Any, list[Fraction]]) -> Any:
        numbers = [value for value in column.values if isinstance(value, Fraction)]
        labels = {value: row for value, row in table.items() if not isinstance(value, Fraction)}
        if not numbers:
            return Table(labels)
        # The shape sees scaled numbers.
        line = sorted((value / column.scale, table[value]) for value in numbers)
        shape = PiecewiseLinear([at for at, _ in line], [row for _, row in line])
        return Table(labels, shape) if labels else shape

    def _pair(self, i: int, j: int, grid: dict[Any, list[Fraction]]) -> Any:
        bins = []
        orders = []
        for k in (i, j):
            column = self.columns[k]
            numbers = sorted(value / column.scale for value in column.values if isinstance(value, Fraction))
            keys = [value for value in column.every if not isinstance(value, Fraction)]
            cuts = {"cuts": [(a + b) / 2 for a, b in pairwise(numbers)]} if numbers else {}
            bins.append(Bins(**cuts, keys=keys))
            orders.append([*(at * column.scale for at in numbers), *keys] if numbers else keys)
        pick = (lambda row: row[0]) if self.outputs == 1 else (lambda row: row)
        return PairSteps(*bins, [[pick(grid[a, b]) for b in orders[1]] for a in orders[0]])

    # --- what is so ---------------------------------------------------------------------------------------------------

    def options(self) -> dict[str, Any]:
        """The question as the library takes it, but for its radius."""
        given: dict[str, Any] = {"unit": self.unit, "claim": self.claim, "categories": self.categories}
        if self.immutable:
            given["immutable"] = [self.names[i] for i in self.immutable]
        return given | ({"max_changed": self.max_changed} if self.max_changed else {})

    def scores(self, point: tuple[Any, ...]) -> list[Fraction]:
        found = list(self.intercept)
        for table, value in zip(self.mains, point, strict=True):
            found = [one + more for one, more in zip(found, table[value], strict=True)]
        for (i, j), grid in self.pairs.items():
            found = [one + more for one, more in zip(found, grid[point[i], point[j]], strict=True)]
        return found

    def holds(self, point: tuple[Any, ...]) -> bool:
        """Whether the claim about the row is true at a point."""
        here, there = self.scores(self.row), self.scores(point)
        if isinstance(self.claim, AtLeast):
            return there[0] >= Fraction(int(self.claim.value.p), int(self.claim.value.q))
        if isinstance(self.claim, Within):
            return abs(there[0] - here[0]) <= Fraction(int(self.claim.delta.p), int(self.claim.delta.q))
        if self.task == "binary":
            return (there[0] >= 0) == (here[0] >= 0)
        return there.index(max(there)) == here.index(max(here))

    def distance(self, i: int, value: Any) -> Fraction | float:
        """How large a radius reaches a value: 0 for what any radius above 0 does, infinity for what none does."""
        column, own = self.columns[i], self.row[i]
        if value == own:
            return Fraction(0)
        if value in column.codes or own in column.codes or isinstance(value, str) != isinstance(own, str):
            return math.inf
        unit = {"std": column.deviation, "raw": Fraction(1), "model": abs(column.scale)}[self.unit]
        if column.kind == "ranks":
            ranks = abs(column.values.index(value) - column.values.index(own))
            return _over(Fraction(ranks), Fraction(1) if self.unit == "model" else unit)
        if isinstance(value, Fraction):
            return _over(abs(value - own), unit)
        if column.kind == "both" and unit == 0:  # a radius is nothing there, for numbers and names alike
            return math.inf
        return Fraction(1) if self.categories == "step" else Fraction(0)

    def within(self, radius: Fraction | None) -> list[list[Any]]:
        """The values of each feature within a radius; None for the whole domain."""
        found = []
        for i, (column, own) in enumerate(zip(self.columns, self.row, strict=True)):
            if i in self.immutable or radius == 0:
                found.append([own])
            elif radius is None:
                found.append(list(column.every))
            else:
                found.append([value for value in column.every if self.distance(i, value) <= radius])
        return found

    def points(self, radius: Fraction | None, moving: Any = None) -> list[tuple[Any, ...]]:
        """All inputs within a radius that differ from the row in some features, and in no more than may change."""
        values = [
            some if moving is None or i in moving else [self.row[i]] for i, some in enumerate(self.within(radius))
        ]
        most = len(self.row) if self.max_changed is None else self.max_changed
        return [point for point in product(*values) if len(self.changed(point)) <= most]

    def changed(self, point: tuple[Any, ...]) -> tuple[int, ...]:
        return tuple(i for i, value in enumerate(point) if value != self.row[i])

    def breaking(self, radius: Fraction | None) -> set[tuple[int, ...]]:
        """The sets of features with a change within a radius that breaks the claim."""
        return {self.changed(point) for point in self.points(radius) if not self.holds(point)}

    def radii(self) -> list[Fraction]:
        """All radii above 0 at which some value comes within reach."""
        each = (self.distance(i, value) for i, one in enumerate(self.columns) for value in one.every)
        return sorted({one for one in each if isinstance(one, Fraction) and one > 0})

    def able(self) -> list[int]:
        return [i for i in range(len(self.row)) if i not in self.immutable]

    def sufficient(self, radius: Fraction | None) -> list[frozenset[int]]:
        """All sets of features that may change which suffice if they are fixed, the smallest first."""
        breaking, able = self.breaking(radius), self.able()
        every = (frozenset(some) for size in range(len(able) + 1) for some in combinations(able, size))
        return [fixed for fixed in every if all(fixed & set(one) for one in breaking)]


def _over(distance: Fraction, unit: Fraction | None) -> Fraction | float:
    assert unit is not None
    return distance / unit if unit else math.inf
