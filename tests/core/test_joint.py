"""Constraints of models with pair terms, against trying every value and every limit, for every set of features."""

import random
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from flint import fmpq
from oracles.labellings import largest_falls
from scenes import Maker, Scene

from suffice import (
    AdditiveModel,
    AtLeast,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewisePolynomial,
    Product,
    Table,
)
from suffice.core.case import Case, landscape_of
from suffice.core.constraint import Drop, total
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.joint_inputs import breaking_point
from suffice.core.worst_case import FAR, ceiling, sight, worst
from suffice.errors import BudgetEnded
from suffice.numbers.exact import rational, to_fraction
from suffice.question.question import Question


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
    maker = Maker(100 * seed + below, varies=varies, below=below)
    for _ in range(40):
        check(maker.scene(), maker.rng)


@pytest.mark.parametrize("seed", range(2))
def test_differences_that_units_do_not_show_are_told_apart(seed: int) -> None:
    maker = Maker(seed, varies=False, below=3, off=Fraction(1, 2**200))
    for _ in range(40):
        check(maker.scene(), maker.rng)


def tangled(rng: random.Random) -> tuple[Joint, dict[tuple[int, ...], Fraction]]:
    """Return a constraint of tables that work against each other, and how far each set falls by trying everything."""
    count, labels, off = 5, list("abc"), Fraction(1, 2**90)
    ends = list(combinations(range(count), 2))

    def number() -> Fraction:
        return Fraction(rng.randint(-4, 4), 3) + rng.randint(-1, 1) * off

    own = [[number() for _ in labels] for _ in range(count)]
    tables = {pair: [[number() for _ in labels] for _ in labels] for pair in ends}
    names, bins = [f"x{i}" for i in range(count)], Bins(keys=labels)
    model = AdditiveModel(
        [Table(dict(zip(labels, one, strict=True))) for one in own],
        features=names,
        task="regression",
        pairs={(names[i], names[j]): PairSteps(bins, bins, table) for (i, j), table in tables.items()},
    )
    case = Explainer(model).explain(["a"] * count, radius="inf", claim=AtLeast(-1000)).case

    def score(at: tuple[int, ...]) -> Fraction:
        alone = sum((one[a] for one, a in zip(own, at, strict=True)), Fraction(0))
        return alone + sum((table[at[i]][at[j]] for (i, j), table in tables.items()), Fraction(0))

    falls, here = {(): Fraction(0)}, score((0,) * count)
    for at in product(range(len(labels)), repeat=count):
        moved = tuple(i for i, label in enumerate(at) if label)
        falls[moved] = max(falls.get(moved, Fraction(0)), here - score(at))
    every = [freed for size in range(count + 1) for freed in combinations(range(count), size)]
    worst_of = {freed: max(fall for moved, fall in falls.items() if set(moved) <= set(freed)) for freed in every}
    joint = case.constraints[0]
    assert isinstance(joint, Joint)
    return joint, worst_of


def test_little_work_ends_in_the_worst_case_or_in_a_bound_on_it() -> None:
    rng, ends = random.Random(0), []
    for _ in range(6):
        joint, falls = tangled(rng)
        for freed, fall in falls.items():
            for work in (0, 20, 60, 100, 200, 400, 800, 10**9):
                try:
                    assert to_fraction(worst(joint.ground, freed, len(freed), work=work).fall.value) == fall
                    ends.append("found")
                except BudgetEnded:
                    ends.append("ended")
                most = ceiling(joint.ground, freed, len(freed), work=work)
                assert most is not None
                assert fall <= to_fraction(most)
    assert min(ends.count("found"), ends.count("ended")) > 50


def test_what_takes_too_long_to_find_is_told_as_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.core.joint.LEAST_WORK", 0)
    joint, falls = tangled(random.Random(1))
    joint.ground.known.clear()
    known = {freed: joint.known_fall(freed) for freed in falls}
    assert {one.is_exact for one in known.values()} == {True, False}
    for freed, (fall, is_exact) in known.items():
        assert to_fraction(fall.value) == falls[freed] if is_exact else to_fraction(fall.value) >= falls[freed]


def test_units_grow_with_what_a_region_reaches():
    """Products without cells give no hint how large they become: units that suit the region are taken for it."""
    line, box = PiecewisePolynomial([], [[0, 1]]), Domain.interval(-(10**6), 10**6)
    names = ["a", "b", "c"]
    model = AdditiveModel(
        [line] * 3,
        10**13,
        "binary",
        [Feature(name, box) for name in names],
        pairs={(one, other): Product(line, line) for one, other in combinations(names, 2)},
    )
    case = Case.of(Explainer(model).compiled, Question.read(model, "inf"), [1, 2, 3])
    (joint,) = case.constraints
    ground = joint.ground
    assert ground.landscape.bits < landscape_of(case.compiled, (1,)).bits
    assert sight(ground, range(3), 3, -1, FAR) is not None
    ends = [fmpq(-(10**6)), fmpq(10**6)]
    scores = [x + y + z + x * y + x * z + y * z for x, y, z in product(ends, repeat=3)]
    assert joint.fall(range(3)).value == 17 - min(scores)
