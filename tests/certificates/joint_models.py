"""Small models with terms over two features, made at random, and what is so of them by trying every place.

Scores are plain functions here, made beside the model: nothing is shared with the library or the checker. Numbers are
few, so that falls and margins meet; mains jump and slope, so that some falls are only approached.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations
from typing import Any, NamedTuple

from oracles.labellings import Line, largest_falls

from suffice import (
    MISSING,
    AdditiveModel,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairLinear,
    PairSteps,
    PiecewiseLinear,
    Product,
    Steps,
    Table,
)

KINDS = ("number", "number", "integer", "category", "coded")
LOW, HIGH = Fraction(0), Fraction(3)
NAMES = ("red", "green", "blue")


class Known(NamedTuple):
    """A model at a row: margins and falls of every set of freed features, by how many may change at once."""

    explainer: Explainer
    row: tuple[Any, ...]
    is_strict: bool
    margin: Fraction
    lines: list[Line]
    pairs: dict[tuple[int, int], Any]

    @property
    def names(self) -> tuple[str, ...]:
        return self.explainer.model.names

    def within(self, radius: Fraction) -> Known:
        """Return the same with a region of a finite radius: codes stay, and are not reached."""
        lines = []
        for line, x in zip(self.lines, self.row, strict=True):
            if line.low is None:
                lines.append(line if radius else replace(line, labels=()))
            elif x is MISSING:
                lines.append(replace(line, low=None, high=None, labels=()))
            else:
                lines.append(replace(line, low=max(LOW, x - radius), high=min(HIGH, x + radius), labels=()))
        return self._replace(lines=lines)

    def holds(self, most: int | None = None) -> dict[tuple[int, ...], bool]:
        """Return for each set of freed features whether the claim holds whatever they do."""
        count = len(self.row)
        falls = largest_falls(self.lines, self.pairs, sets(count), count if most is None else most)
        return {
            freed: fall < self.margin or (fall == self.margin and not (self.is_strict and is_attained))
            for freed, (fall, is_attained) in falls.items()
        }


def sets(count: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(count), size) for size in range(count + 1)))


def known(seed: int, *, varies: bool, count: int | None = None, below: int = 1) -> Known:
    """Return a model, a row and what is known; `varies`: with bilinear terms and products."""
    rng = random.Random(f"{seed} {varies}")
    count = count or rng.randint(2, 3)
    kinds = [rng.choice(KINDS) for _ in range(count)]
    if varies:
        kinds = ["number" if rng.random() < 0.7 else kind for kind in kinds]

    def number() -> Fraction:
        return Fraction(rng.randint(-3, 3), below)

    parts, shapes, features = [], [], []
    for i, kind in enumerate(kinds):
        shape, part, domain = _main(kind, rng, number)
        shapes.append(shape)
        parts.append(part)
        features.append(Feature(f"x{i}", domain))
    pairs, plain, breaks = {}, {}, [{LOW, HIGH, Fraction(1), Fraction(2)} for _ in kinds]
    for i, j in combinations(range(count), 2):
        if rng.random() < 0.85:
            smooth = varies and kinds[i] == "number" and kinds[j] in ("number", "integer")
            pairs[f"x{i}", f"x{j}"], plain[i, j] = _pair((kinds[i], kinds[j]), rng, number, smooth=smooth)
    if not pairs:
        return known(seed + 10**6, varies=varies, count=count, below=below)
    row = tuple(_value(kind, rng) for kind in kinds)
    level = sum((part(x) for part, x in zip(parts, row, strict=True)), Fraction(0))
    level += sum((pair(row[i], row[j]) for (i, j), pair in plain.items()), Fraction(0))
    sign = rng.choice([1, -1])
    lines = [
        Line(
            lambda x, part=part: sign * part(x),
            breaks[i],
            row[i],
            *((None, None) if kind == "category" or row[i] is MISSING else (LOW, HIGH)),
            is_integers=kind == "integer",
            labels=NAMES if kind == "category" else (MISSING,) if kind == "coded" else (),
        )
        for i, (kind, part) in enumerate(zip(kinds, parts, strict=True))
    ]
    # The whole domain is asked about: special codes can be reached, and numbers from them.
    lines = [
        Line(line.part, line.breaks, line.row, LOW, HIGH, False, line.labels) if kind == "coded" else line
        for kind, line in zip(kinds, lines, strict=True)
    ]
    signed = {pair: (lambda x, y, one=one: sign * one(x, y)) for pair, one in plain.items()}
    falls = [fall for fall, _ in largest_falls(lines, signed, sets(count), count).values()]
    margin = rng.choice(falls) + (0 if rng.random() < 0.7 else Fraction(rng.randint(0, 4), 2))
    if sign < 0 and not margin:
        margin = Fraction(1, 2)
    model = AdditiveModel(shapes, sign * margin - level, features=features, pairs=pairs)
    return Known(Explainer(model), row, sign < 0, margin, lines, signed)


def _value(kind: str, rng: random.Random) -> Any:
    if kind == "category":
        return rng.choice(NAMES)
    if kind == "integer":
        return Fraction(rng.randint(0, 3))
    if kind == "coded" and rng.random() < 0.2:
        return MISSING
    return Fraction(rng.randint(0, 12), 4)


def _main(kind: str, rng: random.Random, number: Any) -> tuple[Any, Any, Domain]:
    """Return a shape of one feature, the same as a plain function, and the feature's domain."""
    if kind == "category":
        table = {name: number() for name in NAMES}
        return Table(table), table.__getitem__, Domain.categories(*NAMES)
    levels, closed, slopes = [number() for _ in range(3)], rng.choice(["left", "right"]), [number() for _ in range(4)]
    shape: Any = Steps([1, 2], levels, closed=closed)
    has_slope = rng.random() < 0.6

    def part(x: Any) -> Fraction:
        if x is MISSING:
            return levels[0]
        past = [x >= cut if closed == "left" else x > cut for cut in (1, 2)]
        found = levels[sum(past)]
        if has_slope:
            k = min(int(x), 2)
            found += slopes[k] + (x - k) * (slopes[k + 1] - slopes[k])
        return Fraction(found)

    if has_slope:
        shape = shape + PiecewiseLinear([0, 1, 2, 3], slopes)
    if kind == "coded":
        return Table({MISSING: levels[0]}, otherwise=shape), part, Domain.interval(0, 3) | Domain.codes(MISSING)
    return shape, part, Domain.integers(0, 3) if kind == "integer" else Domain.interval(0, 3)


def _bins(kind: str, rng: random.Random) -> tuple[Bins, Any]:
    """Return bins of a feature, and the bin of each value."""
    if kind == "category":
        return Bins(keys=NAMES), NAMES.index
    cuts = rng.choice([[1], [2], [1, 2]])
    closed = [rng.choice(["left", "right"]) for _ in cuts]
    keys = [MISSING] if kind == "coded" else []

    def place(x: Any) -> int:
        if x is MISSING:
            return len(cuts) + 1
        return sum(x >= cut if side == "left" else x > cut for cut, side in zip(cuts, closed, strict=True))

    return Bins(cuts, keys=keys, closed=closed), place


def _pair(kinds: tuple[str, str], rng: random.Random, number: Any, *, smooth: bool) -> tuple[Any, Any]:
    """Return a shape of two features, and the same as a plain function."""
    if smooth and rng.random() < 0.5:
        grid = [[number() for _ in range(3)] for _ in range(3)]
        knots = [0, rng.choice([1, 2]), 3]

        def surface(x: Fraction, y: Fraction) -> Fraction:
            (i, s), (j, t) = (_between(knots, one) for one in (x, y))
            rows = [(1 - t) * grid[k][j] + t * grid[k][j + 1] for k in (i, i + 1)]
            return Fraction((1 - s) * rows[0] + s * rows[1])

        return PairLinear(knots, knots, grid), surface
    if smooth:
        line, steps = [number() for _ in range(2)], [number() for _ in range(2)]
        shape = Product(PiecewiseLinear([0, 3], line), Steps([2], steps))
        return shape, lambda x, y: (line[0] + x * (line[1] - line[0]) / 3) * steps[y >= 2]
    (rows, row), (columns, column) = (_bins(kind, rng) for kind in kinds)
    table = [[number() for _ in range(len(columns))] for _ in range(len(rows))]
    return PairSteps(rows, columns, table), lambda x, y: table[row(x)][column(y)]


def _between(knots: list[int], x: Fraction) -> tuple[int, Fraction]:
    k = 0 if x < knots[1] else 1
    return k, Fraction(x - knots[k]) / (knots[k + 1] - knots[k])
