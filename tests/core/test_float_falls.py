"""Falls in floats: they never say other than exact arithmetic, and mostly say something."""

import random
from fractions import Fraction

import numpy as np
import pytest

import suffice
from suffice import Domain, Explainer, Feature, PiecewiseLinear, Steps, Table
from suffice.core import radius_path
from suffice.core.case import Case
from suffice.core.drops import bound_drops
from suffice.numbers.exact import rational
from suffice.solvers.smallest import smallest_sufficient

NUMBERS = [-2, -1, 0, 1, 2, 0.5, -0.5, 1 / 3, 0.1, 1e-12, 1e9]


def drawn(rng):
    """A model with one or three scores, and a row that is often at a knot or an end of a domain."""
    outputs = rng.choice([1, 3])

    def value():
        one = [rng.choice([0, 1, -1, 0.5, 1 / 3, rng.uniform(-1, 1), 1e-9, 1e7]) for _ in range(outputs)]
        return one if outputs > 1 else one[0]

    shapes, features, row = [], [], []
    for i in range(rng.randint(1, 6)):
        knots = sorted({rng.choice([*NUMBERS, rng.uniform(-2, 2)]) for _ in range(rng.randint(1, 5))})
        line = PiecewiseLinear(knots, [value() for _ in knots], left_slope=value(), right_slope=value())
        steps = Steps(knots, [value() for _ in range(len(knots) + 1)], closed=rng.choice(["left", "right"]))
        domain = rng.choice(
            [
                Domain.reals(),
                Domain.interval(-2, 2),
                Domain.interval(low=-2),
                Domain.categories("a", "b"),
                Domain.integers(-2, 5),
                Domain.integers(),
            ]
        )
        if domain.labels:
            shapes.append(Table({"a": value(), "b": value()}))
            row.append("a")
        else:
            shapes.append(rng.choice([line, line, steps]))
            real = [rng.uniform(-2, 2), *[one for one in knots if -2 <= one <= 2]]
            row.append(rng.choice([-2, 2, 0, *([] if domain.is_whole else real)]))
        features.append(Feature(f"f{i}", domain, deviation=rng.choice([1, 0.1, 3])))
    task = "multiclass" if outputs > 1 else "regression"
    claim = suffice.Same() if outputs > 1 else suffice.Within(rng.choice([0.5, 1, 1e-9]))
    intercept = [0] * outputs if outputs > 1 else 0
    return Explainer(suffice.AdditiveModel(shapes, intercept, task, features)), row, claim


@pytest.mark.parametrize("seed", range(3))
def test_what_floats_tell_is_so(seed):
    rng = random.Random(seed)
    told, asked = 0, 0
    for _ in range(20):
        explainer, row, claim = drawn(rng)
        question = explainer.question(1, unit="std", claim=claim).with_unit_radius(explainer.model)
        try:
            path = Case.of(explainer.compiled, question, row).path()
        except suffice.ClaimError:
            continue
        if path._falls is None:  # no number among the features
            continue
        events = [event for some in path.events.values() for event in some]
        radii = [rational(rng.uniform(0, 3)) for _ in range(6)] + rng.sample(events, min(6, len(events)))
        radii += [radius + rational(1e-17) for radius in radii[-3:]] + [rational(1e-12), rational(50)]
        for radius in radii:
            freed = [i for i in range(len(row)) if rng.random() < 0.7]
            said = path._falls.admits(radius, freed)
            exactly = all(one.admits(freed) for one in path.exactly_at(radius, freed))
            assert said in (None, exactly)
            told, asked = told + (said is not None), asked + 1
            assert_between(path._falls.drops(radius), path.exactly_at(radius))
            assert_between(path._falls.drops(radius), path.above(radius))
            for later, plain in zip(path.at(radius), path.exactly_at(radius), strict=True):
                assert later.admits(freed) == plain.admits(freed)
                assert smallest_sufficient(later) == smallest_sufficient(plain) if plain.admits(()) else True
                assert tuple(later.drops) == plain.drops
    assert told > asked / 2


def assert_between(bounds, constraints):
    """Every exact drop lies between its bounds."""
    for low, high, constraint in zip(*bounds, constraints, strict=True):
        for least, most, drop in zip(low.tolist(), high.tolist(), constraint.drops, strict=True):
            if drop.is_infinite:
                assert most == float("inf") or most > 1e300
            else:
                assert rational(least) <= drop.value
                assert most == float("inf") or drop.value <= rational(most)


def test_a_curve_over_integers_makes_few_drops(monkeypatch):
    rng = np.random.default_rng(0)
    shapes = [PiecewiseLinear(np.arange(12), rng.normal(size=(12, 3))) for _ in range(20)]
    features = [Feature(f"x{i}", Domain.integers(0, 11), deviation=3 + i / 7) for i in range(20)]
    explainer = Explainer(suffice.AdditiveModel(shapes, [0, 0, 0], "multiclass", features))
    made = []
    monkeypatch.setattr(radius_path, "bound_drops", lambda *given: made.append(given) or bound_drops(*given))
    row = rng.integers(0, 12, size=20)
    found = explainer.curve(row, unit="std", until=1)
    assert len(found.steps) > 4
    assert len(made) < 20 * 2 * len(found.stretches)  # fewer than all drops once for each stretch


def test_radii_are_mostly_told_by_floats(monkeypatch):
    rng = np.random.default_rng(0)
    shapes = [PiecewiseLinear(np.sort(rng.normal(size=30)), rng.normal(size=30)) for _ in range(12)]
    explainer = Explainer(suffice.AdditiveModel(shapes, 0.1))
    row = rng.normal(size=12)
    asked = []
    plainly = type(Case.of(explainer.compiled, explainer.question(1, unit="raw"), row).path()).at
    monkeypatch.setattr(
        "suffice.core.radius_path.RadiusPath.at", lambda self, *given: asked.append(1) or plainly(self, *given)
    )
    found = explainer.radius(row, explainer.model.names[:3], unit="raw")
    assert found.limit.radius > 0
    assert len(asked) < 10


@pytest.mark.parametrize("kind", ["limit", "gaps"])
def test_other_questions_are_left_to_exact_arithmetic(kind):
    domain = {"gaps": Domain.interval(0, 1) | Domain.interval(2, 3)}
    features = [Feature("a", domain.get(kind, Domain.reals()), deviation=1)]
    explainer = Explainer(suffice.AdditiveModel([PiecewiseLinear([0, 1], [0, 1])], 1, features=features))
    options = {"max_changed": 1} if kind == "limit" else {}
    assert Case.of(explainer.compiled, explainer.question(1, unit="raw", **options), [1]).path()._falls is None


@pytest.mark.parametrize("radius", ["0", "1/4", "1/2", "3/4", "1", "5/4", "2"])
def test_just_above_a_radius_drops_are_what_they_are_a_little_further(radius):
    shapes = [
        suffice.Steps([0, 1], [1, 0, -1]),
        suffice.Steps([0, 1], [1, 0, -1], closed="right"),
        suffice.PiecewiseLinear([-1, 0, "1/2", 1], [0, 1, -1, 3]),
        suffice.Table({"a": 0, "b": -2}),
        suffice.Table({"1/2": -5}, otherwise=suffice.PiecewiseLinear([0, 1], [0, 0])),
        suffice.PiecewiseLinear([0, 3], [0, 6]),
        suffice.PiecewiseLinear([0, 3], [0, 6]),
    ]
    domains = [suffice.Domain.reals()] * 3 + [suffice.Domain.categories("a", "b"), suffice.Domain.interval(-1, 1)]
    domains += [suffice.Domain.integers(-2, 5), suffice.Domain.interval(-1, 0) | suffice.Domain.interval(1, 2)]
    features = [suffice.Feature(f"x{i}", domain) for i, domain in enumerate(domains)]
    explainer = suffice.Explainer(suffice.AdditiveModel(shapes, 9, "regression", features))
    question = explainer.question(1, unit="raw", claim=suffice.Within(30), immutable=["x5"] if radius == "1" else [])
    path = Case.of(explainer.compiled, question, [0, 0, "1/2", "a", 0, 0, 0]).path()
    at, small = rational(radius), rational("1/1000000")
    one, other = path.at(at + small), path.at(at + 2 * small)
    for limit, near, far in zip(path.above(at), one, other, strict=True):
        for found, a, b in zip(limit.drops, near.drops, far.drops, strict=True):
            slope = (b.value - a.value) / small
            assert (found.value, found.edge) == (a.value - slope * small, 1 if slope else a.edge)


@pytest.mark.parametrize(
    ("knot", "left", "right", "at", "radius", "tolerance"),
    [
        # A slope that rounds up by a third, at a distance at which that counts.
        (0, 0, Fraction(3, 2**1075), 0, 2**1060, Fraction(7, 2**16)),
        # Beyond its knot the function falls by more than all floats, and both terms of its line are infinite.
        (2**100, 0, -(2**950), 2**99, 2**100, 1),
        # So small a radius rounds up by a third, and the slope makes much of it.
        (0, 0, 2**1000, 0, Fraction(3, 2**1075), Fraction(7, 2**77)),
    ],
    ids=["slope", "overflow", "radius"],
)
def test_near_the_ends_of_floats_nothing_is_told_that_is_not_so(knot, left, right, at, radius, tolerance):
    line = PiecewiseLinear([knot], [0], left_slope=left, right_slope=right)
    model = suffice.AdditiveModel([line], 0, "regression", [Feature("x", Domain.reals())])
    explainer = Explainer(model)
    question = explainer.question(1, unit="raw", claim=suffice.Within(tolerance)).with_unit_radius(model)
    path = Case.of(explainer.compiled, question, [at]).path()
    for reach in (rational(radius), rational(radius) / 2, rational(radius) * 2):
        exactly = all(one.admits([0]) for one in path.exactly_at(reach))
        assert path._falls is None or path._falls.admits(reach, [0]) in (None, exactly)
        for low, high, one in zip(*bounds_of(path, reach), path.exactly_at(reach), strict=True):
            assert low[0] == 0 or rational(float(low[0])) <= one.drops[0].value
            assert high[0] == np.inf or one.drops[0].value <= rational(float(high[0]))


def bounds_of(path, radius):
    nothing = np.zeros((len(path.constraints), 1))
    return (nothing, nothing + np.inf) if path._falls is None else path._falls.drops(radius)
