"""Radius, curve, counterfactual and inflation on numeric models, against plain evaluation.

All parameters are small rationals, so that anything that happens happens at a rational of small height: within TINY of
it on either side nothing else does.
"""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import infimum_by_sampling, sufficient

import suffice
from suffice import (
    AdditiveModel,
    AtLeast,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    ProbabilityAtLeast,
    Same,
    Steps,
    Table,
    Within,
)

TINY = Fraction(1, 10**12)
small = st.sampled_from([Fraction(k, 2) for k in (-6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6)])
SAMPLES = [Fraction(k, 3) for k in range(19)]


class Plain:
    """A function of one feature with several outputs, and where it may be asked: written without the library."""

    def __init__(self, evaluate, places, spans=(), labels=()):
        self.evaluate, self.places, self.spans, self.labels = evaluate, places, spans, labels

    def drop(self, factors, value, radius):
        """How far the combination of outputs can fall within a radius: (value, is attained)."""

        def function(at):
            return sum((f * out for f, out in zip(factors, self.evaluate(at), strict=True)), Fraction(0))

        here = function(value)
        found = [(Fraction(0), True)]
        if value in self.labels:
            found += [(here - function(label), True) for label in (self.labels if radius else ())]
        else:
            for low, high, is_integers in self.spans:
                first = value - radius if low is None else max(low, value - radius)
                last = value + radius if high is None else min(high, value + radius)
                if is_integers:
                    whole = range(math.ceil(first), math.floor(last) + 1)
                    found += [(here - function(Fraction(k)), True) for k in whole]
                elif first <= last:
                    low_value, is_attained = infimum_by_sampling(function, self.places, first, last)
                    found.append((here - low_value, is_attained))
        return max(found)


@st.composite
def features(draw, outputs):
    kind = draw(st.sampled_from(["steps", "line", "line", "table"]))
    if kind == "table":
        labels = ("a", "b", "c")[: draw(st.integers(1, 3))]
        table = {label: [draw(small) for _ in range(outputs)] for label in labels}
        return Table(table), Domain.categories(*labels), Plain(table.__getitem__, (), (), labels), "a"
    knots = sorted(draw(st.sets(small, min_size=1, max_size=4)))
    if kind == "steps":
        values = [[draw(small) for _ in range(outputs)] for _ in range(len(knots) + 1)]
        closed = draw(st.sampled_from(["left", "right"]))
        shape = Steps(knots, values, closed)

        def evaluate(at):
            return values[sum(knot <= at if closed == "left" else knot < at for knot in knots)]
    else:
        values = [[draw(small) for _ in range(outputs)] for _ in knots]
        left, right = [draw(small) for _ in range(outputs)], [draw(small) for _ in range(outputs)]
        shape = PiecewiseLinear(knots, values, left, right)

        def evaluate(at):
            if at <= knots[0]:
                return [v + s * (at - knots[0]) for v, s in zip(values[0], left, strict=True)]
            if at >= knots[-1]:
                return [v + s * (at - knots[-1]) for v, s in zip(values[-1], right, strict=True)]
            k = max(k for k, knot in enumerate(knots) if knot <= at)
            share = (at - knots[k]) / (knots[k + 1] - knots[k])
            return [a + share * (b - a) for a, b in zip(values[k], values[k + 1], strict=True)]

    domains = [
        (Domain.reals(), ((None, None, False),)),
        (Domain.interval(-2, 3), ((Fraction(-2), Fraction(3), False),)),
        (Domain.integers(-3, 4), ((Fraction(-3), Fraction(4), True),)),
        (Domain.integers(), ((None, None, True),)),
        (
            Domain.interval(-1, 1) | Domain.interval(2, 3),
            ((Fraction(-1), Fraction(1), False), (Fraction(2), Fraction(3), False)),
        ),
        (Domain.interval(-1, 1) | Domain.integers(3), ((Fraction(-1), Fraction(1), False), (Fraction(3), None, True))),
        (Domain.points(-1, 0, 1, "5/2"), tuple((v, v, False) for v in map(Fraction, ("-1", "0", "1", "5/2")))),
    ]
    domain, spans = draw(st.sampled_from(domains))
    starts = [start for start in map(Fraction, ("0", "1", "1/3")) if start in domain]
    return shape, domain, Plain(evaluate, knots, spans), draw(st.sampled_from(starts))


@st.composite
def cases(draw, most=4):
    """A model, a row, a claim, and its inequalities in plain terms: (factors, constant, is strict)."""
    task = draw(st.sampled_from(["binary", "multiclass", "regression"]))
    outputs = 2 if task == "multiclass" else 1
    parts = [draw(features(outputs)) for _ in range(draw(st.integers(1, most)))]
    intercept = [draw(small) for _ in range(outputs)]
    names = [Feature(f"x{i}", domain) for i, (_, domain, _, _) in enumerate(parts)]
    model = AdditiveModel([shape for shape, _, _, _ in parts], intercept, task, features=names)
    row, plains = [value for *_, value in parts], [plain for _, _, plain, _ in parts]
    here = [b + sum(p.evaluate(v)[j] for p, v in zip(plains, row, strict=True)) for j, b in enumerate(intercept)]
    if task == "multiclass":
        first = here[0] >= here[1]
        claim, plain = Same(), [((1, -1) if first else (-1, 1), Fraction(0), not first)]
    elif task == "binary" and draw(st.booleans()):
        is_positive = here[0] >= 0
        claim, plain = Same(), [((1,) if is_positive else (-1,), Fraction(0), not is_positive)]
    elif draw(st.booleans()):
        claim, plain = AtLeast(here[0] - 1), [((1,), 1 - here[0], False)]
    else:
        claim, plain = Within(1), [((1,), 1 - here[0], False), ((-1,), 1 + here[0], False)]
    margins = [sum(f * s for f, s in zip(fs, here, strict=True)) + constant for fs, constant, _ in plain]
    return model, row, claim, plains, [(fs, m, strict) for (fs, _, strict), m in zip(plain, margins, strict=True)]


def is_enough(fixed, row, plains, parts, radius):
    return all(
        sufficient(fixed, margin, [p.drop(fs, v, radius) for p, v in zip(plains, row, strict=True)], is_strict)
        for fs, margin, is_strict in parts
    )


def sides(limit):
    """Radii just inside and just outside a limit."""
    if limit.is_attained:
        return [limit.radius], [limit.radius + TINY]
    return [limit.radius - TINY], [limit.radius]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(cases(), st.data())
def test_the_radius_is_the_last_that_suffices(case, data):
    model, row, claim, plains, parts = case
    fixed = data.draw(st.sets(st.sampled_from(range(len(row)))))
    limit = Explainer(model).radius(row, [model.names[i] for i in sorted(fixed)], claim=claim)
    if limit.radius == math.inf:
        assert all(is_enough(fixed, row, plains, parts, radius) for radius in (1, 10, 1000))
        return
    inside, outside = sides(limit)
    assert all(is_enough(fixed, row, plains, parts, radius) for radius in inside)
    assert not any(is_enough(fixed, row, plains, parts, radius) for radius in outside)


def smallest(row, plains, parts, radius):
    everything = range(len(row))
    return next(
        size
        for size in range(len(row) + 1)
        if any(is_enough(fixed, row, plains, parts, radius) for fixed in combinations(everything, size))
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(cases(most=3), st.sampled_from([math.inf, Fraction(1), Fraction(5, 2)]))
def test_the_curve_is_right_at_every_radius_tried(case, until):
    model, row, claim, plains, parts = case
    explainer = Explainer(model)
    curve = explainer.curve(row, claim=claim, until=until)
    ends = [step.limit.radius for step in curve.steps if step.limit.radius != math.inf]
    tried = [*SAMPLES, *ends, *(end + TINY for end in ends), *(end - TINY for end in ends)]
    for radius in sorted(r for r in tried if 0 <= r <= until):
        step = curve.at(radius)
        assert step.cost == len(step.features) == smallest(row, plains, parts, radius)
        assert explainer.is_sufficient(row, step.features, radius, claim=claim)
    costs = [step.cost for step in curve.steps]
    assert costs == sorted(set(costs))
    assert curve.steps[-1].limit.radius == until


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(cases(), st.sampled_from([Fraction(1), Fraction(2), Fraction(3)]))
def test_a_counterfactual_is_the_nearest_with_fewest_changes(case, radius):
    model, row, claim, plains, parts = case
    found = Explainer(model).counterfactual(row, radius, claim=claim)
    everything = set(range(len(row)))

    def fewest(reach):
        sizes = [
            size
            for size in range(len(row) + 1)
            for moving in combinations(sorted(everything), size)
            if not is_enough(everything - set(moving), row, plains, parts, reach)
        ]
        return min(sizes, default=math.inf)

    assert found.is_possible == (fewest(radius) < math.inf)
    if not found.is_possible:
        return
    assert found.size == fewest(radius)
    least = found.least_change * radius
    inside, outside = (least, least - TINY) if found.is_attained else (least + TINY, least)
    assert fewest(inside) == found.size
    assert outside < 0 or fewest(outside) > found.size
    point = [found.counterexample[name] for name in model.names]
    there = [
        [sum(f * out for f, out in zip(fs, p.evaluate(v), strict=True)) for p, v in zip(plains, where, strict=True)]
        for fs, _, _ in parts
        for where in (row, point)
    ]
    values = [m + sum(there[2 * k + 1]) - sum(there[2 * k]) for k, (_, m, _) in enumerate(parts)]
    assert any(value < 0 or (value == 0 and strict) for value, (_, _, strict) in zip(values, parts, strict=True))
    assert max(found.changes.values()) <= found.least_change + (0 if found.is_attained else Fraction(1, 1000))
    assert {name for name, old, new in zip(model.names, row, point, strict=True) if old != new} <= set(found.features)


def ends_of(range_, value, plain):
    """Values of a range that can be worst, and values just outside it."""
    if range_.values:
        return list(range_.values), [label for label in plain.labels if label not in range_.values]
    if range_.is_integers:
        whole = [Fraction(k) for k in range(-12, 13) if Fraction(k) in range_]
        outside = [end + step for end, step in ((range_.low, -1), (range_.high, 1)) if end is not None]
        return whole, outside
    inside = [p for place in plain.places for p in (place, place - TINY, place + TINY) if p in range_] + [value]
    outside = []
    for end, has_end, step in ((range_.low, range_.has_low, TINY), (range_.high, range_.has_high, -TINY)):
        if end is not None:
            inside += [end] if has_end else []
            inside += [end + step] if end + step in range_ else []
            outside.append(end - step if has_end else end)
    return inside, outside


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(cases(), st.sampled_from([Fraction(0), Fraction(1), Fraction(2)]))
def test_ranges_hold_together_and_none_can_be_wider(case, radius):
    model, row, claim, plains, parts = case
    explainer = Explainer(model)
    inflated = explainer.inflate(row, radius, claim=claim)
    kept = [model.names.index(name) for name in inflated.ranges]
    assert set(inflated.ranges) == set(explainer.explain(row, radius, claim=claim).features)

    def slack(values):
        """The least that is left of each margin, with kept features at these values."""
        left = []
        for fs, margin, is_strict in parts:
            fall, is_attained = Fraction(0), True
            for i, (plain, at) in enumerate(zip(plains, row, strict=True)):
                if i in values:
                    new, old = (sum(f * o for f, o in zip(fs, plain.evaluate(v), strict=True)) for v in (values[i], at))
                    fall += old - new
                elif i not in kept:
                    amount, attained = plain.drop(fs, at, radius)
                    fall, is_attained = fall + amount, is_attained and attained
            left.append((margin - fall, is_strict and is_attained))
        return left

    choice = dict(zip(kept, (ends_of(inflated.ranges[model.names[i]], row[i], plains[i]) for i in kept), strict=True))
    worst = dict.fromkeys(kept)
    for part in range(len(parts)):
        for i in kept:  # features are independent: each at its own worst
            worst[i] = min(choice[i][0], key=lambda v, i=i: slack({i: v})[part][0])
        value, is_open = slack(worst)[part]
        assert value > 0 if is_open else value >= 0
    for place, i in enumerate(kept):
        for beyond in choice[i][1]:
            if not explainer.model.domains[i].__contains__(beyond):
                continue
            tries = []
            for part in range(len(parts)):
                others = {j: min(choice[j][0], key=lambda v, j=j: slack({j: v})[part][0]) for j in kept[:place]}
                tries.append(slack({**others, i: beyond})[part][0])
            assert min(tries) <= 1000 * TINY, (model.names[i], beyond)


# --- by hand ------------------------------------------------------------------------------------------------------

RISING = PiecewiseLinear([0], [0], left_slope=1, right_slope=1)


def test_a_radius_by_hand():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3], 0, features=["a", "b"]))
    assert explainer.radius([1, 1], ["b"]) == suffice.Limit(Fraction(4), is_attained=True)
    assert explainer.radius([1, 1], []) == suffice.Limit(Fraction(1), is_attained=True)
    assert explainer.radius([1, 1], ["a", "b"]) == suffice.Limit(math.inf, is_attained=True)
    negative = Explainer(AdditiveModel([RISING], -2))
    assert negative.radius([1], []) == suffice.Limit(Fraction(1), is_attained=False)  # a score of 0 is positive
    assert str(negative.radius([1], [])) == "below 1"


def test_a_curve_by_hand():
    curve = Explainer(AdditiveModel([RISING, RISING * 3], 0, features=["a", "b"])).curve([1, 1])
    assert [(step.limit.radius, step.cost, step.features) for step in curve.steps] == [
        (1, 0, ()),
        (4, 1, ("b",)),
        (math.inf, 2, ("b", "a")),
    ]
    assert "radius up to 4: 1 feature: b" in str(curve)
    assert curve.at(4).cost == 1
    assert curve.at(4 + TINY).cost == 2


def test_counterfactuals_count_changes_in_radii_and_leave_held_features_alone():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3], 0, features=["a", "b"]))
    free = explainer.counterfactual([1, 1], radius={"a": 10, "b": 10})
    assert (free.features, free.least_change, free.is_attained) == (("b",), Fraction(4, 30), False)
    held = explainer.counterfactual([1, 1], radius=10, held=["b"])
    assert (held.features, held.least_change) == (("a",), Fraction(4, 10))
    assert held.counterexample["b"] == 1
    assert "moving by little more than 0.4 radii at most" in str(held)
    assert not explainer.counterfactual([1, 1], radius=1).is_possible
    with pytest.raises(suffice.RadiusError, match="every radius must be finite"):
        explainer.counterfactual([1, 1], radius=math.inf)


def test_ranges_by_hand():
    explainer = Explainer(AdditiveModel([RISING, RISING * 3, Table({"u": 0, "v": -1, "w": -9})], 0))
    inflated = explainer.inflate([1, 1, "u"], radius=2, features=["x1", "x2"])
    assert inflated.ranges["x1"] == suffice.Range(Fraction(1, 3), None, True, False, False, ())
    assert inflated.ranges["x2"].values == ("u",)  # the first range left no room
    assert str(inflated.ranges["x1"]) == "[0.333333, ∞)"
    inflated = explainer.inflate([1, 1, "u"], radius=2, features=["x2", "x1"])
    assert inflated.ranges["x2"].values == ("u", "v")
    assert inflated.ranges["x1"].low == Fraction(2, 3)
    with pytest.raises(suffice.ClaimError, match="'x0' do not suffice"):
        explainer.inflate([1, 1, "u"], radius=2, features=["x0"])


def test_a_curve_needs_somewhere_to_go():
    explainer = Explainer(AdditiveModel([RISING], 1))
    with pytest.raises(suffice.RadiusError, match="above it"):
        explainer.curve([1], until=0)
    with pytest.raises(suffice.ClaimError, match="the curve ends at the radius 1"):
        explainer.curve([1], until=1).at(2)


def test_a_radius_for_a_probability_is_just_inside():
    explainer = Explainer(AdditiveModel([RISING], 0))
    limit = explainer.radius([4], [], claim=ProbabilityAtLeast("0.9"))
    assert abs(float(limit.radius) - (4 - math.log(9))) < 1e-14
    assert explainer.is_sufficient([4], [], limit.radius, claim=ProbabilityAtLeast("0.9"))
