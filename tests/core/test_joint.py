"""Constraints of models with pair terms, against trying every value and every limit, for every set of features."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from flint import fmpq

from suffice.core.constraint import Drop, total
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.joint_inputs import breaking_point
from suffice.core.landscape import Landscape
from suffice.model.domain import Domain
from suffice.numbers.exact import rational, to_fraction
from suffice.numbers.values import MISSING
from suffice.shapes.axis import Axis, Cut
from suffice.shapes.pair_pieces import PairPieces
from suffice.shapes.pieces import Pieces
from tests.oracles.labellings import Line, largest_falls


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


class _Maker:
    """Random scenes: few numbers, so that ties and places on cuts are common."""

    def __init__(self, seed: int, *, varies: bool, below: int) -> None:
        self.rng, self.varies, self.below = random.Random(seed), varies, below

    def number(self, most: int = 3) -> Fraction:
        return Fraction(self.rng.randint(-most, most), self.below)

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


def drop_of(fall: Fraction, is_attained: bool) -> Drop:
    return Drop(False, rational(fall), 0 if is_attained else -1)


def check(scene: Scene, rng: random.Random) -> None:
    ground = Ground(scene.landscape, scene.row, scene.region)
    count = len(scene.row)
    for most in (None, rng.randint(0, count)):
        falls = largest_falls(scene.lines, scene.pairs, scene.sets, count if most is None else most)
        chosen = rng.choice([fall for fall, _ in falls.values()])
        margin = chosen if rng.random() < 0.7 else chosen + Fraction(rng.randint(-2, 3), 3)
        joint = Joint(rational(margin), ground, rng.random() < 0.5, most)
        scenarios = []
        for freed, known in falls.items():
            fall = drop_of(*known)
            assert joint.fall(freed) == fall
            limit = Drop.of(rational(margin))
            is_admitted = fall < limit if joint.is_strict else fall <= limit
            assert joint.admits(freed) == is_admitted
            assert fall <= total(joint.ceilings[i] for i in freed)
            scenario = joint.scenario(freed)
            assert (scenario is None) == is_admitted
            if scenario is not None:
                scenarios.append(scenario)
                assert not joint.allows(scenario.fall(freed))
            if len(freed) == 1 and most != 0:
                assert joint.drops[freed[0]] == fall
        for freed in falls:  # every scenario is true of every set
            assert not joint.admits(freed) or all(joint.allows(one.fall(freed)) for one in scenarios)
        check_movers(scene, joint, rng)


def check_movers(scene: Scene, joint: Joint, rng: random.Random) -> None:
    count = len(scene.row)
    first = [i for i in range(count) if rng.random() < 0.3]
    others = [i for i in range(count) if i not in first]
    moved = joint.broken_by(first, others)
    breaking = [freed for freed in scene.sets if set(first) <= set(freed) and not joint.admits(freed)]
    assert (moved is None) == (not breaking)
    if moved is None:
        return
    assert set(first) <= set(moved)
    assert not joint.admits(moved)
    if joint.max_changed is None:
        assert len(moved) == min(len(freed) for freed in breaking)
    point = breaking_point(joint, moved)
    assert all(reach.holds(value) for reach, value in zip(scene.region, point, strict=True))
    assert all(value == old or i in moved for i, (value, old) in enumerate(zip(point, scene.row, strict=True)))
    score = to_fraction(joint.margin) + change(scene, point)
    assert score < 0 or (score == 0 and joint.is_strict)


def change(scene: Scene, point: list[Any]) -> Fraction:
    old, new = ([to_fraction(x) if isinstance(x, fmpq) else x for x in some] for some in (scene.row, point))
    found = sum((line.part(b) - line.part(a) for line, a, b in zip(scene.lines, old, new, strict=True)), Fraction(0))
    return found + sum(
        (pair(new[i], new[j]) - pair(old[i], old[j]) for (i, j), pair in scene.pairs.items()), Fraction(0)
    )


@pytest.mark.parametrize("below", [1, 3])  # exact in units, and not
@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_every_set_falls_as_far_as_trying_everything_says(seed: int, varies: bool, below: int) -> None:
    maker = _Maker(100 * seed + below, varies=varies, below=below)
    for _ in range(40):
        check(maker.scene(), maker.rng)
