"""Radii of models with pair terms, against trying everything at, just below and just above each of them."""

from fractions import Fraction
from typing import Any

import pytest
from flint import fmpq
from oracles.labellings import Line, largest_falls
from scenes import Maker, Scene

from suffice.core.constraint import Drop
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.joint_path import JointPath
from suffice.numbers.exact import ZERO, rational, to_fraction

STEP = Fraction(1, 10**6)  # less than any two radii of these tests are apart, unless they are equal


def line_within(line: Line, radius: Fraction, unit: Fraction) -> Line:
    """Return where a feature may go within a radius, worked out afresh."""
    if not isinstance(line.row, Fraction):
        is_category = isinstance(line.row, str)
        names = (
            [label for label in line.labels if isinstance(label, str)] if is_category and radius * unit else [line.row]
        )
        return Line(line.part, line.breaks, line.row, labels=names)
    low, high = max(line.low, line.row - radius * unit), min(line.high, line.row + radius * unit)
    return Line(line.part, line.breaks, line.row, low, high, line.is_integers)


def fall_at(scene: Scene, freed: tuple[int, ...], radius: Fraction, units: list[Fraction], most: int) -> Drop:
    lines = [line_within(line, radius, unit) for line, unit in zip(scene.lines, units, strict=True)]
    fall, is_attained = largest_falls(lines, scene.pairs, [freed], most)[freed]
    return Drop(False, rational(fall), 0 if is_attained else -1)


def path_of(scene: Scene, units: list[Fraction], joint: Joint) -> JointPath:
    return JointPath(
        (tuple(scene.landscape.mains),),
        (),
        (joint,),
        scene.row,
        scene.region,
        tuple(rational(unit) for unit in units),
        frozenset(),
        (scene.landscape,),
        float("inf"),
    )


def random_path(maker: Maker) -> tuple[Scene, list[Fraction], JointPath, tuple[int, ...], int]:
    rng = maker.rng
    scene = maker.scene()
    units = [rng.choice([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(0)]) for _ in scene.row]
    freed = tuple(i for i in range(len(scene.row)) if rng.random() < 0.8)
    most = rng.choice([None, None, 1, 2])
    few = len(scene.row) if most is None else most
    some, top = (fall_at(scene, freed, Fraction(k, 4), units, few).value for k in (rng.randint(0, 16), 24))
    margin = rng.choice([some, top * fmpq(rng.randint(0, 3), 4), (some + top) / 2])
    is_strict = rng.random() < 0.5 and margin > 0
    joint = Joint(margin, Ground(scene.landscape, scene.row, scene.region), is_strict, most)
    return scene, units, path_of(scene, units, joint), freed, few


@pytest.mark.parametrize("below", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_set_suffices_up_to_its_radius_and_no_further(seed: int, below: int) -> None:
    maker = Maker(500 + 10 * seed + below, varies=False, below=below)
    ends = 0
    for _ in range(40):
        scene, units, path, freed, few = random_path(maker)
        (limit,) = path.constraints

        def holds(radius: Any, scene: Scene = scene, units: Any = units, freed: Any = freed, few: int = few) -> bool:
            return limit.allows(fall_at(scene, freed, radius, units, few))  # noqa: B023 - called at once

        reach = path.reach(freed)
        if reach.radius is None:
            assert holds(Fraction(100))
            continue
        radius = to_fraction(reach.radius)
        ends += 1
        assert holds(radius) == reach.is_attained
        assert not holds(radius + STEP)
        assert not radius or holds(radius - STEP)
        (above,) = path.above(reach.radius)
        assert above.admits(freed) == holds(radius + STEP)
        if radius:
            (under,) = path.below(reach.radius)
            assert under.admits(freed) == holds(radius - STEP)
    assert ends >= 5


@pytest.mark.parametrize("seed", range(3))
def test_limits_above_and_below_any_radius_decide_as_radii_close_by_do(seed: int) -> None:
    maker = Maker(900 + seed, varies=False, below=3)
    for _ in range(25):
        scene, units, path, freed, few = random_path(maker)
        (limit,) = path.constraints
        for _ in range(3):
            radius = Fraction(maker.rng.randint(1, 24), 4)
            near = [fall_at(scene, freed, radius + sign * STEP, units, few) for sign in (1, -1)]
            limits = [path.above(rational(radius))[0], path.below(rational(radius))[0]]
            for joint, fall in zip(limits, near, strict=True):
                assert joint.admits(freed) == limit.allows(fall)
                assert abs(to_fraction(joint.fall(freed).value - fall.value)) < Fraction(1, 1000)


@pytest.mark.parametrize("seed", range(3))
def test_a_radius_of_terms_that_vary_is_enclosed(seed: int) -> None:
    maker = Maker(700 + seed, varies=True, below=2)
    enclosed = 0
    for _ in range(30):
        scene, units, path, freed, few = random_path(maker)
        (limit,) = path.constraints
        reach = path.reach(freed)
        if reach.radius is None or not reach.more:
            continue
        enclosed += 1
        assert reach.is_attained
        assert limit.allows(fall_at(scene, freed, to_fraction(reach.radius), units, few))
        beyond = to_fraction(reach.radius + reach.more)
        assert not limit.allows(fall_at(scene, freed, beyond, units, few))
        assert reach.more <= max(reach.radius, fmpq(1)) / 2**39
    assert enclosed > 3


def test_at_radius_0_nothing_moves() -> None:
    maker = Maker(1, varies=False, below=1)
    for _ in range(20):
        _, _, path, freed, _ = random_path(maker)
        assert path.at(ZERO)[0].fall(freed) == Drop.of(ZERO)
