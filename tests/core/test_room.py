"""What is left for a fixed feature beside others that act together with it, against trying everything around it."""

from fractions import Fraction
from typing import Any

import pytest
from oracles.labellings import Line, largest_falls
from scenes import Maker, Scene

from suffice.core.constraint import Drop
from suffice.core.drops import bound_drops
from suffice.core.ground import Ground
from suffice.core.joint import Joint
from suffice.core.room import JointRoom
from suffice.numbers.exact import rational, to_fraction
from suffice.solvers.ranges import AllowedRange, widest_range

STEP = Fraction(1, 10**6)


def fall_beside(scene: Scene, i: int, value: Any, freed: tuple[int, ...], most: int) -> Drop:
    """Return how far the score falls from the row where a feature has a value and the freed ones do their worst."""
    old = [line.row for line in scene.lines]
    lines = [
        line if k in freed else Line(line.part, line.breaks, value if k == i else line.row)
        for k, line in enumerate(scene.lines)
    ]
    new = [line.row for line in lines]
    fall, is_attained = largest_falls(lines, scene.pairs, [freed], most)[freed]
    fall += scene.lines[i].part(old[i]) - scene.lines[i].part(value)
    fall += sum((pair(old[a], old[b]) - pair(new[a], new[b]) for (a, b), pair in scene.pairs.items()), Fraction(0))
    return Drop(False, rational(fall), 0 if is_attained else -1)


def beyond(line: Line, found: AllowedRange) -> list[Fraction]:
    """Return numbers of the domain next to the ends of a range, outside it."""
    step = Fraction(1) if line.is_integers else STEP
    low, high = (to_fraction(end.at) for end in (found.low, found.high))
    outside = [low if not found.low.is_included else low - step, high if not found.high.is_included else high + step]
    return [at for at in outside if line.low <= at <= line.high]


@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("below", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_range_holds_what_others_leave_room_for_and_no_more(seed: int, below: int, varies: bool) -> None:
    maker = Maker(40 + 10 * seed + below, varies=varies, below=below)
    rng, bounded = maker.rng, 0
    for _ in range(60):
        scene = maker.scene()
        i, count = rng.randrange(len(scene.row)), len(scene.row)
        line, freed = scene.lines[i], tuple(k for k in range(count) if k != i)
        most = rng.choice([count, 1])
        own = fall_beside(scene, i, line.row, freed, most)
        some = fall_beside(scene, i, rng.choice([at for at, side in line.places() if not side]), freed, most)
        margin = max(own.value, rng.choice([some.value, (own.value + some.value) / 2]))
        ground = Ground(scene.landscape, scene.row, scene.region)
        joint = Joint(margin, ground, rng.random() < 0.5, None if most == count else most)
        if not joint.allows(own):
            continue
        room = JointRoom((joint,), scene.row, scene.region, scene.region, frozenset(freed))
        found = widest_range(room.levels(i), scene.row[i], scene.region[i])
        if not isinstance(line.row, Fraction):
            assert set(found.values) <= {line.row, *line.labels}
            for label in line.labels if isinstance(line.row, str) else ():
                is_allowed = joint.allows(fall_beside(scene, i, label, freed, most))
                assert not isinstance(label, str) or (label in found.values) == is_allowed
            continue
        reach = found.reach(scene.region[i])
        for interval, _ in reach.intervals:
            low, high = to_fraction(interval.low), to_fraction(interval.high)
            inside = [at for at, side in line.places() if not side and isinstance(at, Fraction) and low < at < high]
            inside += [low] if interval.has_low else [low + STEP]
            inside += [high] if interval.has_high else [high - STEP]
            assert all(joint.allows(fall_beside(scene, i, at, freed, most)) for at in inside)
        for at in beyond(line, found):
            bounded += 1
            assert not joint.allows(fall_beside(scene, i, at, freed, most))
    assert bounded > 5


@pytest.mark.parametrize("varies", [False, True])
def test_a_feature_alone_falls_as_its_slice_of_the_score_does(varies: bool) -> None:
    maker = Maker(77, varies=varies, below=2)
    for _ in range(60):
        scene = maker.scene()
        joint = Joint(rational(1), Ground(scene.landscape, scene.row, scene.region), is_strict=False)
        functions = [scene.landscape.alone(i, scene.row) for i in range(len(scene.row))]
        here = [function(value) for function, value in zip(functions, scene.row, strict=True)]
        assert bound_drops(functions, here, scene.row, scene.region)[0] == joint.drops
