"""Small models with terms over two features, and every question about them by trying all inputs that matter.

A `World` is a random model: built once for the library, and once as plain functions of *places*. A place is a value, or
a number approached from one side. Along a feature, with all others anywhere, every function here is affine between
neighbouring breaks: values and limits at breaks and one place between each two of them show all that can happen. A
score at all combinations of places is one array of whole numbers; everything else is a look at parts of it.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from suffice import (
    MISSING,
    AdditiveModel,
    AtLeast,
    AtMost,
    Beats,
    Bins,
    Domain,
    Feature,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    Product,
    Same,
    Steps,
    Table,
    Within,
)

FAR = Fraction(10**6)  # beyond this, nothing new happens
CODE = Fraction(-9)
KINDS = ("number", "number", "integer", "category", "coded")
NAMES = ("red", "green", "blue")


class Place(NamedTuple):
    """A value (side 0), or a number approached from above (1) or below (-1)."""

    at: Any
    side: int = 0

    @property
    def is_label(self) -> bool:
        return not isinstance(self.at, Fraction) or self.at == CODE


def past(place: Place, cut: Fraction, closed: str) -> bool:
    """Whether a place is past a cut, which belongs to the upper part if that is closed on its left."""
    if place.at != cut:
        return bool(place.at > cut)
    return place.side > 0 or (place.side == 0 and closed == "left")


class Field(NamedTuple):
    """A feature as an oracle knows it."""

    kind: str
    low: Fraction | None  # of its numbers; None where it has none
    high: Fraction | None
    categories: tuple[Any, ...]
    codes: tuple[Any, ...]


class World:
    """A random model, a row, and a claim about it."""

    def __init__(self, seed: int, *, varies: bool = False, most: int = 4, task: str | None = None) -> None:
        rng = self.rng = random.Random(f"world {seed} {varies}")
        self.varies, self.seed = varies, seed
        self.task = task or rng.choice(["binary", "binary", "binary", "multiclass", "regression"])
        self.outputs = 3 if self.task == "multiclass" else 1
        self.ties = rng.choice(["positive", "negative"])
        count = rng.randint(2, most)
        self.names = [f"x{i}" for i in range(count)]
        kinds = [rng.choice(KINDS) for _ in range(count)]
        if varies:
            kinds = ["number" if rng.random() < 0.6 else kind for kind in kinds]
        self.fields = [self._field(kind) for kind in kinds]
        shapes, self.mains = zip(*(self._main(i) for i in range(count)), strict=True)
        self.breaks = [{Fraction(k, 2) for k in range(1, 8)} for _ in kinds]
        terms, self.pairs = {}, {}
        style = rng.choice(["complete", "sparse", "path"])
        for i, j in combinations(range(count), 2):
            if style == "complete" or (style == "sparse" and rng.random() < 0.5) or (style == "path" and j == i + 1):
                a, b = (i, j) if rng.random() < 0.7 else (j, i)
                terms[self.names[a], self.names[b]], self.pairs[a, b] = self._pair(a, b)
        self.row = [self._value(i) for i in range(count)]
        self.intercept = [Fraction(rng.randint(-6, 6), 2) for _ in range(self.outputs)]
        if self.task == "binary" and rng.random() < 0.8:
            self._tie()
        features = [
            Feature(name, self._domain(field), deviation=rng.choice([1, 2]))
            for name, field in zip(self.names, self.fields, strict=True)
        ]
        self.deviations = [feature.deviation for feature in features]
        self.classes = {"binary": ["no", "yes"], "multiclass": ["a", "b", "c"], "regression": None}[self.task]
        extra = {"ties": self.ties} if self.task == "binary" else {}
        self.model = AdditiveModel(
            list(shapes), self.intercept, self.task, features, classes=self.classes, pairs=terms, **extra
        )

    # --- making -------------------------------------------------------------------------------------------------------

    def _number(self) -> Fraction:
        return Fraction(self.rng.choice([-3, -2, -1, -1, 0, 0, 1, 1, 2, 3]), self.rng.choice([1, 1, 2, 3]))

    def _numbers(self) -> Any:
        found = [self._number() for _ in range(self.outputs)]
        return found if self.outputs > 1 else found[0]

    def _field(self, kind: str) -> Field:
        rng = self.rng
        if kind == "category":
            names = NAMES[: rng.randint(1, 3)]
            return Field(kind, None, None, names, (MISSING,) if rng.random() < 0.3 else ())
        codes = ()
        if kind == "coded":
            codes = rng.choice([(MISSING,), (CODE,), (CODE, MISSING)])
        low, high = Fraction(0), Fraction(4)
        if kind == "number" and not self.varies and rng.random() < 0.15:
            low, high = -FAR, FAR
        return Field(kind, low, high, (), codes)

    def _domain(self, field: Field) -> Domain:
        if field.low is None:
            found = Domain.categories(*field.categories)
        elif field.low == -FAR:
            found = Domain.reals()
        else:
            found = Domain.integers(0, 4) if field.kind == "integer" else Domain.interval(field.low, field.high)
        return found | Domain.codes(*field.codes) if field.codes else found

    def _value(self, i: int) -> Any:
        field, rng = self.fields[i], self.rng
        able = [*field.categories, *field.codes]
        if able and (field.low is None or rng.random() < 0.25):
            return rng.choice(able)
        return Fraction(rng.randint(0, 4)) if field.kind == "integer" else Fraction(rng.randint(0, 16), 4)

    def some_row(self) -> list[Any]:
        """Return another row."""
        return [self._value(i) for i in range(len(self.fields))]

    def _main(self, i: int) -> tuple[Any, Any]:
        field, rng = self.fields[i], self.rng
        labels = {label: self._numbers() for label in (*field.categories, *field.codes)}
        if field.low is None:
            return Table(labels), lambda place: labels[place.at]
        cuts = sorted(rng.sample([Fraction(k, 2) for k in range(1, 8)], rng.randint(1, 3)))
        closed, levels = rng.choice(["left", "right"]), [self._numbers() for _ in range(len(cuts) + 1)]
        shape: Any = Steps(cuts, levels, closed)
        heights = [self._numbers() for _ in range(3)] if rng.random() < 0.4 else None
        if heights is not None:
            shape = shape + PiecewiseLinear([0, 2, 4], heights)

        def part(place: Place) -> Any:
            if place.is_label:
                return labels[place.at]
            found = levels[sum(past(place, cut, closed) for cut in cuts)]
            if heights is None:
                return found
            x = min(max(place.at, Fraction(0)), Fraction(4))
            k = 0 if x <= 2 else 1
            return add(found, mix(heights[k], heights[k + 1], (x - 2 * k) / 2))

        return (Table(labels, shape) if labels else shape), part

    def _bins(self, i: int) -> tuple[Bins, Any]:
        field, rng = self.fields[i], self.rng
        keys = [*field.categories, *field.codes]
        if field.low is None:
            return Bins(keys=keys), lambda place: keys.index(place.at)
        cuts = sorted(rng.sample([Fraction(k, 2) for k in range(1, 8)], rng.randint(1, 2)))
        closed = [rng.choice(["left", "right"]) for _ in cuts]

        def bin_(place: Place) -> int:
            if place.is_label:
                return len(cuts) + 1 + keys.index(place.at)
            return sum(past(place, cut, side) for cut, side in zip(cuts, closed, strict=True))

        return Bins(cuts, keys=keys, closed=closed), bin_

    def _pair(self, i: int, j: int) -> tuple[Any, Any]:
        rng = self.rng
        smooth = self.varies and all(not self.fields[k].codes and self.fields[k].low is not None for k in (i, j))
        able = ["steps", "surface", "product", "sum"] if smooth else ["steps", "steps", "sum"]
        kind = rng.choice([one for one in able if self.outputs == 1 or one != "product"])
        if kind == "sum":
            (one, first), (two, second) = self._steps(i, j), self._steps(i, j)
            factor = rng.choice([-1, 2])
            return one + two * factor, lambda x, y: add(first(x, y), times(factor, second(x, y)))
        if kind == "steps":
            return self._steps(i, j)
        if kind == "product":
            line, levels = [self._number() for _ in range(2)], [self._number() for _ in range(2)]
            if rng.random() < 0.5:
                shape = Product(PiecewiseLinear([0, 4], line), PiecewiseLinear([0, 4], levels))
                return shape, lambda x, y: mix(*line, x.at / 4) * mix(*levels, y.at / 4)
            shape = Product(PiecewiseLinear([0, 4], line), Steps([2], levels))
            return shape, lambda x, y: mix(*line, x.at / 4) * levels[past(y, Fraction(2), "left")]
        rows, columns = [[0, rng.choice([1, 3]), 4] for _ in range(2)]
        grid = [[self._numbers() for _ in range(3)] for _ in range(3)]

        def surface(x: Place, y: Place) -> Any:
            (a, s), (b, t) = (
                (k, (one.at - knots[k]) / Fraction(knots[k + 1] - knots[k]))
                for one, knots in ((x, rows), (y, columns))
                for k in [0 if one.at <= knots[1] else 1]
            )
            return mix(mix(grid[a][b], grid[a][b + 1], t), mix(grid[a + 1][b], grid[a + 1][b + 1], t), s)

        return PairLinear(rows, columns, grid), surface

    def _steps(self, i: int, j: int) -> tuple[Any, Any]:
        (rows, row), (columns, column) = self._bins(i), self._bins(j)
        style = self.rng.choice(["any", "any", "negative", "rare"])
        grid = []
        for _ in range(len(rows)):
            line = []
            for _ in range(len(columns)):
                value = self._numbers()
                if style == "negative" and self.outputs == 1:
                    value = -abs(value)
                if style == "rare" and self.rng.random() < 0.6:
                    value = times(0, value)
                line.append(value)
            grid.append(line)
        return PairSteps(rows, columns, grid), lambda x, y: grid[row(x)][column(y)]

    def _tie(self) -> None:
        """Move the intercept so that the margin is just what some set of features can do."""
        rng, count = self.rng, len(self.row)
        places = self.places([rng.choice([Fraction(1), Fraction(2), None])] * count)
        (score,) = self.scores(places)
        sign = rng.choice([1, -1])
        falls = []
        for freed in subsets(count):
            part = look(sign * score.values, freed)
            falls.append(Fraction(int(part.ravel()[0] - part.min()), score.scale))
        margin = rng.choice(falls) + rng.choice([0, 0, 0, Fraction(1, 6), -Fraction(1, 6)])
        here = Fraction(int(score.values.ravel()[0]), score.scale)
        self.intercept[0] += sign * margin - here

    # --- looking ------------------------------------------------------------------------------------------------------

    def places(self, radii: list[Fraction | None], *, still: tuple[int, ...] = ()) -> list[list[Place]]:
        """Return for each feature all places of its region that matter, the row's own first."""
        return [[Place(self.row[i])] if i in still else self._reach(i, radius) for i, radius in enumerate(radii)]

    def _reach(self, i: int, radius: Fraction | None) -> list[Place]:
        field, own = self.fields[i], Place(self.row[i])
        if radius == 0:
            return [own]
        labels: list[Any] = []
        low, high = field.low, field.high
        if radius is None:
            labels = [*field.categories, *field.codes]
        elif own.is_label:
            labels = list(field.categories) if own.at in field.categories else []
            low = None
        else:
            low, high = max(field.low, own.at - radius), min(field.high, own.at + radius)
        found = [own, *(Place(label) for label in labels if label != own.at)]
        if low is None or high is None:
            return found
        return found + [place for place in self.between(i, low, high) if place != own]

    def between(self, i: int, low: Fraction, high: Fraction, ends: tuple[bool, bool] = (True, True)) -> list[Place]:
        """Return the places of an interval."""
        if self.fields[i].kind == "integer":
            return [Place(Fraction(k)) for k in range(math.ceil(low), math.floor(high) + 1)
                    if (ends[0] or k != low) and (ends[1] or k != high)]  # fmt: skip
        if low == high:
            return [Place(low)]
        at = sorted({low, high, *(one for one in (*self.breaks[i], Fraction(0), Fraction(4)) if low < one < high)})
        found = [Place(one) for one in at if (one != low or ends[0]) and (one != high or ends[1])]
        found += [Place((left + right) / 2) for left, right in pairwise(at)]
        return found + [Place(one, 1) for one in at[:-1]] + [Place(one, -1) for one in at[1:]]

    def scores(self, places: list[list[Place]]) -> list[Scores]:
        """Return the scores at all combinations of places, one array for each output."""
        found = []
        for k in range(self.outputs):
            pick = (lambda value: value) if self.outputs == 1 else (lambda value, k=k: value[k])
            mains = [[pick(main(place)) for place in some] for main, some in zip(self.mains, places, strict=True)]
            tables = {
                (i, j): [[pick(pair(one, other)) for other in places[j]] for one in places[i]]
                for (i, j), pair in self.pairs.items()
            }
            numbers = [*chain.from_iterable(mains), *chain.from_iterable(chain.from_iterable(tables.values()))]
            scale = math.lcm(self.intercept[k].denominator, *(Fraction(one).denominator for one in numbers))
            size = sum(abs(Fraction(one)) for one in numbers) + abs(self.intercept[k])
            kind: Any = np.int64 if size * scale < 2**61 else object
            whole = lambda one, scale=scale: int(Fraction(one) * scale)  # noqa: E731
            count = len(places)
            total = np.full([len(some) for some in places], whole(self.intercept[k]), dtype=kind)
            for i, main in enumerate(mains):
                total = total + along(np.array([whole(one) for one in main], dtype=kind), [i], count)
            for (i, j), table in tables.items():
                values = np.array([[whole(one) for one in line] for line in table], dtype=kind)
                total = total + along(values if i < j else values.T, sorted((i, j)), count)
            found.append(Scores(total, scale))
        return found

    def score(self, point: list[Any]) -> list[Fraction]:
        """Return the scores of one input."""
        places = [[Place(x)] for x in point]
        return [Fraction(int(one.values.ravel()[0]), one.scale) for one in self.scores(places)]

    def winner(self, point: list[Any]) -> Any:
        """Return the class of an input; None for a regression."""
        scores = self.score(point)
        if self.task == "regression":
            return None
        if self.task == "binary":
            return "yes" if scores[0] > 0 or (scores[0] == 0 and self.ties == "positive") else "no"
        return self.classes[scores.index(max(scores))]

    def some_claim(self) -> Any:
        """Return a claim that makes sense."""
        rng, (first, *_) = self.rng, self.score(self.row)
        if self.task == "multiclass":
            others = [name for name in self.classes if name != self.winner(self.row)]
            return rng.choice([Same(), Same(), Beats(rng.choice(others))])
        one_sided = [Within(rng.choice([1, 2, Fraction(5, 2)])), AtLeast(first - rng.choice([0, 1, 2])),
                     AtMost(first + rng.choice([0, 1, 2]))]  # fmt: skip
        return rng.choice(one_sided if self.task == "regression" else [Same(), Same(), Same(), *one_sided])

    def sight(self, radii: list[Fraction | None], claim: Any, *, still: tuple[int, ...] = (), most: int | None = None,
              places: list[list[Place]] | None = None) -> Sight:  # fmt: skip
        """Return what can happen to a claim in a region."""
        places = self.places(radii, still=still) if places is None else places
        scores, here = self.scores(places), self.score(self.row)
        parts = []
        match claim:
            case Same() | Beats() if self.task == "binary":
                is_yes = self.winner(self.row) == "yes"
                parts.append((scores[0] * (1 if is_yes else -1), (self.ties == "positive") != is_yes))
            case Same() | Beats():
                own = self.classes.index(self.winner(self.row))
                for k, name in enumerate(self.classes):
                    if k != own and (isinstance(claim, Same) or claim.other == name):
                        parts.append((scores[own].less(scores[k]), k < own))
            case Within(delta):
                delta = Fraction(int(delta.p), int(delta.q))
                parts += [(scores[0].plus(delta - here[0]), False), ((scores[0] * -1).plus(delta + here[0]), False)]
            case AtLeast(value):
                parts.append((scores[0].plus(-Fraction(int(value.p), int(value.q))), False))
            case AtMost(value):
                parts.append(((scores[0] * -1).plus(Fraction(int(value.p), int(value.q))), False))
        count = len(places)
        attained = np.ones([1] * count, dtype=bool)
        changed = np.zeros([1] * count, dtype=int)
        for i, some in enumerate(places):
            attained = attained & along(np.array([place.side == 0 for place in some]), [i], count)
            changed = changed + along(np.array([place != Place(self.row[i]) for place in some]).astype(int), [i], count)
        return Sight(parts, attained, changed, count if most is None else most)

    def holds_at(self, point: list[Any], claim: Any) -> bool:
        """Whether the claim holds at one input."""
        places = [[Place(x)] for x in point]
        sight = self.sight([], claim, places=places)
        return sight.admits(())


class Scores(NamedTuple):
    """Scores at all combinations of places, as whole numbers of 1 / scale."""

    values: Any
    scale: int

    def __mul__(self, factor: int) -> Scores:  # type: ignore[override]
        return Scores(self.values * factor, self.scale)

    def plus(self, number: Fraction) -> Scores:
        scale = math.lcm(self.scale, number.denominator)
        return Scores(self._in(scale, abs(number)) + int(number * scale), scale)

    def less(self, other: Scores) -> Scores:
        scale = math.lcm(self.scale, other.scale)
        return Scores(self._in(scale) - other._in(scale), scale)

    def _in(self, scale: int, more: Fraction = Fraction(0)) -> Any:
        """Return the values as whole numbers of another scale, of any size where 64 bits may not do."""
        factor = scale // self.scale
        largest = int(np.abs(self.values).max()) * factor + math.ceil(more * scale)
        return (self.values.astype(object) if largest >= 2**61 else self.values) * factor


class Sight(NamedTuple):
    """What features can do to the parts of a claim, each strict or not."""

    parts: list[tuple[Scores, bool]]
    attained: Any
    changed: Any
    most: int

    def admits(self, freed: Any) -> bool:
        """Whether the claim holds whatever these features do."""
        is_near = look(self.changed, freed) <= self.most
        for score, is_strict in self.parts:
            values = look(score.values, freed)
            if ((values < 0) & is_near).any():
                return False
            if is_strict and ((values == 0) & is_near & look(self.attained, freed)).any():
                return False
        return True

    def slack(self, freed: Any) -> list[Fraction]:
        """Return what is left of each margin at the worst."""
        is_near = look(self.changed, freed) <= self.most
        return [Fraction(int(look(s.values, freed)[is_near].min()), s.scale) for s, _ in self.parts]


def look(values: Any, freed: Any) -> Any:
    """Return the part of an array where only these features leave their first place."""
    return values[tuple(slice(None) if i in set(freed) else slice(0, 1) for i in range(values.ndim))]


def along(values: Any, axes: list[int], count: int) -> Any:
    """Return an array over some axes as one over all."""
    shape = [1] * count
    for axis, size in zip(axes, values.shape, strict=True):
        shape[axis] = size
    return values.reshape(shape)


def subsets(count: int) -> list[tuple[int, ...]]:
    """Return all sets of so many features, the small ones first."""
    return list(chain.from_iterable(combinations(range(count), size) for size in range(count + 1)))


def mix(one: Any, other: Any, share: Fraction) -> Any:
    """Return what lies between two numbers, or two lists of them."""
    if isinstance(one, list):
        return [mix(a, b, share) for a, b in zip(one, other, strict=True)]
    return (1 - share) * one + share * other


def add(one: Any, other: Any) -> Any:
    """Return a sum of numbers, or of lists."""
    return [a + b for a, b in zip(one, other, strict=True)] if isinstance(one, list) else one + other


def times(factor: Any, one: Any) -> Any:
    """Return a multiple of a number, or of a list."""
    return [factor * a for a in one] if isinstance(one, list) else factor * one
