"""Small random models with pair terms, the same for the library and for an oracle."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
from oracles.labellings import Line

from suffice.core.landscape import Landscape
from suffice.model.domain import Domain
from suffice.numbers.exact import rational
from suffice.numbers.values import MISSING
from suffice.shapes.axis import Axis, Cut
from suffice.shapes.pair_pieces import PairPieces
from suffice.shapes.pieces import Pieces


class Scene(NamedTuple):
    """The same small model, row and region, for the library and for the oracle."""

    landscape: Landscape
    row: tuple[Any, ...]
    region: tuple[Domain, ...]
    lines: list[Line]
    pairs: dict[tuple[int, int], Callable[[Any, Any], Fraction]]

    @property
    def sets(self) -> list[tuple[int, ...]]:
        count = len(self.row)
        return list(chain.from_iterable(combinations(range(count), size) for size in range(count + 1)))


class Maker:
    """Random scenes: few numbers, so that ties and places on cuts are common."""

    def __init__(self, seed: int, *, varies: bool, below: int, off: Fraction = Fraction(0)) -> None:
        self.rng, self.varies, self.below, self.off = random.Random(seed), varies, below, off

    def number(self, most: int = 3) -> Fraction:
        return Fraction(self.rng.randint(-most, most), self.below) + self.rng.randint(-1, 1) * self.off

    def scene(self) -> Scene:
        rng = self.rng
        count = rng.randint(1, 3)
        kinds = [rng.choice(["reals", "reals", "integers", "labels"]) for _ in range(count)]
        names = [("a", "b", MISSING)[: rng.randint(1, 3)] if kind == "labels" else (MISSING,) for kind in kinds]
        density = rng.choice([0.5, 1])
        cuts: list[set[Fraction]] = [set() for _ in range(count)]
        pairs, functions = [], {}
        for i, j in combinations(range(count), 2):
            if rng.random() < density:
                pieces, function, places = self._pair(names[i], names[j])
                pairs.append(((i, j), pieces))
                functions[i, j] = function
                cuts[i] |= places[0]
                cuts[j] |= places[1]
        mains, lines, row, region = [], [], [], []
        for i, kind in enumerate(kinds):
            pieces, part, knots = self._main(names[i])
            reach, line, value = self._reach(kind, names[i], part, cuts[i] | knots)
            mains.append(pieces)
            lines.append(line)
            row.append(rational(value) if isinstance(value, Fraction) else value)
            region.append(reach)
        landscape = Landscape(mains, pairs, [f"x{i}" for i in range(count)])
        return Scene(landscape, tuple(row), tuple(region), lines, functions)

    def _main(self, labels: tuple[Any, ...]) -> tuple[Pieces, Callable[[Any], Fraction], set[Fraction]]:
        rng = self.rng
        knots = sorted(rng.sample([Fraction(k, 2) for k in range(-4, 5)], rng.randint(0, 3)))
        flat = rng.random() < 0.4
        segments = [(Fraction(0) if flat else self.number(2), self.number()) for _ in range(len(knots) + 1)]
        at = [self.number() if rng.random() < 0.5 else segments[k][0] * t + segments[k][1] for k, t in enumerate(knots)]
        named = {label: self.number() for label in labels}

        def part(x: Any) -> Fraction:
            if not isinstance(x, Fraction):
                return named[x]
            if x in knots:
                return at[knots.index(x)]
            slope, offset = segments[sum(t < x for t in knots)]
            return slope * x + offset

        columns = ([rational(one[k]) for one in segments] for k in (0, 1))
        values = {label: rational(value) for label, value in named.items()}
        pieces = Pieces.tidy([rational(t) for t in knots], *columns, [rational(one) for one in at], values)
        return pieces, part, set(knots)

    def _pair(self, one: tuple[Any, ...], two: tuple[Any, ...]) -> tuple[PairPieces, Any, tuple[set[Fraction], ...]]:
        rng = self.rng
        cuts = []
        for _ in range(2):
            places = rng.sample([Fraction(k, 2) for k in range(-4, 5)], rng.randint(0, 2))
            cuts.append(sorted({(place, side) for place in places for side in rng.choice([(0,), (1,), (0, 1)])}))
        shape = [len(some) + 1 + len(labels) for some, labels in zip(cuts, (one, two), strict=True)]
        is_flat = not (self.varies and rng.random() < 0.7)
        grids = []
        for k in range(4):
            table = [[Fraction(0) if k and is_flat else self.number(3 if not k else 1) for _ in range(shape[1])]
                     for _ in range(shape[0])]  # fmt: skip
            for a in range(shape[0]):
                for b in range(shape[1]):
                    if (a > len(cuts[0]) and k in (1, 3)) or (b > len(cuts[1]) and k in (2, 3)):
                        table[a][b] = Fraction(0)  # no slope along a label
            grids.append(table)

        def cell(x: Any, side: int) -> int:
            if not isinstance(x, Fraction):
                return len(cuts[side]) + 1 + (one, two)[side].index(x)
            return sum(x > place or (x == place and not above) for place, above in cuts[side])

        def function(x: Any, y: Any) -> Fraction:
            a, b = cell(x, 0), cell(y, 1)
            u, v = (z if isinstance(z, Fraction) else Fraction(0) for z in (x, y))
            c, p, q, d = (table[a][b] for table in grids)
            return c + p * u + q * v + d * u * v

        exact = [np.array([[rational(value) for value in row] for row in table], dtype=object) for table in grids]
        axes = tuple(
            Axis(tuple(Cut(rational(place), side) for place, side in some), labels)
            for some, labels in zip(cuts, (one, two), strict=True)
        )
        pieces = PairPieces(axes, exact[0]) if is_flat else PairPieces(axes, exact[0], (exact[1], exact[2]), exact[3])
        return pieces, function, ({place for place, _ in cuts[0]}, {place for place, _ in cuts[1]})

    def _reach(self, kind: str, labels: Any, part: Any, breaks: set[Fraction]) -> tuple[Domain, Line, Any]:
        rng = self.rng
        if kind == "labels":
            value = rng.choice(labels)
            codes = tuple(label for label in labels if label is not MISSING)
            whole = Domain(categories_=codes, codes_=(MISSING,) if MISSING in labels else ())
            return whole, Line(part, breaks, value, labels=labels), value
        low, high = sorted(Fraction(rng.randint(-5, 5), 2) for _ in range(2))
        if kind == "integers":
            low, high = Fraction(low // 1), Fraction(high // 1)
            value: Any = Fraction(rng.randint(int(low), int(high)))
            domain = Domain.integers(low, high)
        else:
            value = rng.choice([low, high, (low + high) / 2, *(one for one in breaks if low <= one <= high)])
            domain = Domain.interval(low, high)
        extra = (MISSING,) if rng.random() < 0.3 else ()
        domain = domain | Domain.codes(MISSING) if extra else domain
        if extra and rng.random() < 0.2:
            value = MISSING
        return domain, Line(part, breaks, value, low, high, kind == "integers", extra), value
