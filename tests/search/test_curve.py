"""Sizes by radius on numeric models, against plain evaluation."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from builders import RISING
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles import cannot_be_free, enough, subsets
from strategies import numeric_cases, wishes

import suffice
import suffice_check
from suffice import AdditiveModel, Domain, Explainer, Feature, PiecewiseLinear, Product, Steps, Table
from suffice.question.budget import Clock

TINY = Fraction(1, 10**12)
SAMPLES = [Fraction(k, 3) for k in range(19)]


def smallest(row, plains, parts, radius):
    everything = range(len(row))
    return next(
        size
        for size in range(len(row) + 1)
        if any(enough(fixed, row, plains, parts, radius) for fixed in combinations(everything, size))
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numeric_cases(most=3), st.sampled_from([math.inf, Fraction(1), Fraction(5, 2)]))
def test_the_curve_is_right_at_every_radius_tried(case, until):
    model, row, claim, plains, parts = case
    explainer = Explainer(model)
    curve = explainer.curve(row, claim=claim, until=until, unit="raw")
    ends = [step.limit.radius for step in curve.steps if step.limit.radius != math.inf]
    tried = [*SAMPLES, *ends, *(end + TINY for end in ends), *(end - TINY for end in ends)]
    for radius in sorted(r for r in tried if 0 <= r <= until):
        step = curve.at(radius)
        assert step.cost == len(step.features) == smallest(row, plains, parts, radius)
        assert explainer.is_sufficient(row, step.features, radius, claim=claim, unit="raw")
    costs = [step.cost for step in curve.steps]
    assert costs == sorted(set(costs))
    assert curve.steps[-1].limit.radius == until


def test_a_curve_by_hand():
    curve = Explainer(AdditiveModel([RISING, RISING * 3], 0, features=["a", "b"])).curve([1, 1], unit="raw")
    assert [(step.limit.radius, step.cost, step.features) for step in curve.steps] == [
        (1, 0, ()),
        (4, 1, ("b",)),
        (math.inf, 2, ("b", "a")),
    ]
    assert [" ".join(line.split()) for line in str(curve).splitlines()] == [
        "Prediction: 1 (probability 0.982)",
        "Proven: smallest sets that are enough, by radius (in the features' own units).",
        "radius up to 1: 0 features",
        "radius up to 4: 1 feature b",
        "any larger radius, and the whole domain: 2 features b, a",
    ]
    assert curve.at(4).cost == 1
    assert curve.at(4 + TINY).cost == 2


def test_a_curve_tells_what_only_the_whole_domain_needs():
    shape = Table({suffice.MISSING: -9}, otherwise=Steps([0], [1, 1]))
    domain = Domain.interval(-3, 3) | Domain.codes(suffice.MISSING)
    curve = Explainer(AdditiveModel([shape], features=[Feature("a", domain)])).curve([0], unit="raw")
    assert [" ".join(line.split()) for line in str(curve).splitlines()[-2:]] == [
        "any radius: 0 features",
        "the whole domain: 1 feature a",
    ]


def test_a_curve_may_end_within_the_enclosure_of_a_stretch():
    line, domain = PiecewiseLinear([0], [0], 1, 1), Domain.interval(-3, 3)
    features, pairs = [Feature("a", domain), Feature("b", domain)], {("a", "b"): Product(line, line * "1/8")}
    model = AdditiveModel([Steps([1], [1, -1]), Steps([2], [0, 0])], features=features, pairs=pairs)
    first, last = Explainer(model).curve([0, 0], until=1, unit="raw").steps
    assert (first.cost, first.limit.is_attained) == (0, True)
    assert 1 - TINY < first.limit.radius < 1
    assert last == ((1, True), 1, ("a",), 1)


def test_right_after_a_stretch_pair_terms_count_with_own_parts():
    # Beyond 1/2 the own part of `a` falls as fast as its pair term rises. Freed with `b` it uses up the whole margin,
    # and no more, at every radius.
    own, rising = PiecewiseLinear([0, "1/2"], [0, -1], 0, -1), PiecewiseLinear(["1/2"], [0], 0, 1)
    shapes = [own, Steps(["1/4"], [0, -2]), PiecewiseLinear([0], [0], 0, "-1/2")]
    features = [Feature(name, Domain.interval(-9, 9)) for name in "abc"]
    model = AdditiveModel(shapes, 3, features=features, pairs={("a", "b"): Product(rising, Steps([9], [1, 1]))})
    explainer = Explainer(model)
    assert explainer.is_sufficient([0, 0, 0], ["c"], 6, unit="raw")
    curve = explainer.curve([0, 0, 0], until=6, unit="raw", cost={"b": 5})
    assert [step.cost for step in curve.steps] == [0, 1]


def test_a_curve_needs_somewhere_to_go():
    explainer = Explainer(AdditiveModel([RISING], 1))
    with pytest.raises(suffice.RadiusError, match="must be above 0"):
        explainer.curve([1], until=0, unit="raw")
    with pytest.raises(suffice.RadiusError, match="the curve ends at radius 1"):
        explainer.curve([1], until=1, unit="raw").at(2)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(numeric_cases(most=4), st.sampled_from([None, None, 1, 2]), st.data())
def test_the_curve_meets_preferences_at_every_radius_tried(case, max_changed, data):
    model, row, claim, plains, parts = case
    wished = data.draw(wishes(len(row)))
    asked = {"claim": claim, "max_changed": max_changed, "unit": "raw", **wished.options(model.names)}
    until, explainer = Fraction(3), Explainer(model)

    def allowed(radius):
        return [
            fixed
            for fixed in subsets(len(row))
            if wished.allows(fixed) and enough(fixed, row, plains, parts, radius, max_changed)
        ]

    if not allowed(until):
        refused = f"{cannot_be_free(model.names, wished.free)} at every radius of the curve; free fewer, or choose a"
        refused += " smaller `until`"
        with pytest.raises(suffice.PreferenceError) as error:
            explainer.curve(row, until=until, **asked)
        assert str(error.value) == refused
        return
    curve = explainer.curve(row, until=until, **asked)
    ends = [step.limit.radius for step in curve.steps]
    tried = [*SAMPLES, *ends, *(end + TINY for end in ends), *(end - TINY for end in ends)]
    for radius in sorted(r for r in tried if 0 <= r <= until):
        step, why = curve.at(radius), explainer.explain(row, radius, **asked)
        sets = allowed(radius)
        fixed = tuple(sorted(model.names.index(name) for name in step.features))
        assert step.cost == why.cost == min(map(wished.cost, sets))
        assert fixed in sets
        assert wished.cost(fixed) == step.cost


def test_finished_stretches_are_kept_when_the_budget_ends(monkeypatch, tmp_path):
    shapes = [PiecewiseLinear([0, 1], [0, slope], left_slope=slope, right_slope=slope) for slope in (1, 2, 3, 4)]
    model = AdditiveModel(shapes, 0.5)
    model.save(tmp_path / "model.safetensors")
    content = (tmp_path / "model.safetensors").read_bytes()
    explainer, row = Explainer(model), [1, 0, 0, 0]
    whole = explainer.curve(row, unit="raw", until=2)
    assert whole.is_complete
    assert len(whole.steps) == 5
    for asked in range(1, 6):  # the clock runs out before so many further sets are sought
        left = iter([False] * asked)
        monkeypatch.setattr(Clock, "is_over", property(lambda _, left=left: next(left, True)))
        part = explainer.curve(row, unit="raw", until=2)
        monkeypatch.undo()
        if asked == 5:
            assert part.steps == whole.steps
            continue
        assert (part.is_complete, part.status) == (False, suffice.Status.BOUNDED)
        assert part.steps == whole.steps[:asked]
        assert "the budget ended" in str(part)
        assert "the budget ended" in part.document()["caveat"]
        with pytest.raises(suffice.RadiusError, match="a larger budget"):
            part.at(2)
        assert suffice_check.check(content, part.certificate().text.encode())
    monkeypatch.setattr(Clock, "is_over", property(lambda _: True))
    with pytest.raises(suffice.BudgetError):
        explainer.curve(row, unit="raw", until=2)
