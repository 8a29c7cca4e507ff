"""Every question about models with curved shapes, against trying all sets with minima in many digits."""

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from builders import sentence
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.curves import CLOSE, PlainCurve, decimal
from oracles.sets import subsets

import suffice_check
from suffice import (
    AdditiveModel,
    ClaimError,
    Domain,
    Explainer,
    Feature,
    PiecewisePolynomial,
    ProbabilityAtLeast,
    Product,
    Status,
    Steps,
    Surd,
    Within,
    load,
)
from suffice.model.writing import to_bytes

small = st.fractions(-3, 3, max_denominator=2)
CUBIC = PiecewisePolynomial([], [[0, -3, 0, 1]])  # turns at 1, where it is -2
NEAR = CLOSE * 10**76  # sums in the oracle are rounded to 28 digits
SURD = PiecewisePolynomial([], [[0, -2, 0, 1]])  # turns at √(2/3)


@st.composite
def models(draw):
    """Curves of some features, a row at which their sum is above 0, and by how much."""
    plains, row = [], []
    for _ in range(draw(st.integers(2, 4))):
        knots = sorted(draw(st.sets(st.fractions(-1, 1, max_denominator=2), max_size=2)))
        pieces = [draw(st.lists(small, min_size=1, max_size=4)) for _ in range(len(knots) + 1)]
        plains.append(PlainCurve(knots, pieces))
        row.append(draw(st.fractions(-1, 1, max_denominator=3)))
    margin = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(9)]))
    return plains, row, margin, draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3)]))


def explainer(plains, row, margin):
    shapes = [PiecewisePolynomial(plain.knots, plain.coefficients) for plain in plains]
    here = sum((plain(x) for plain, x in zip(plains, row, strict=True)), Fraction(0))
    return Explainer(AdditiveModel(shapes, margin - here))


def drops_of(plains, row, radius):
    return [decimal(plain(x)) - plain.lowest(x - radius, x + radius) for plain, x in zip(plains, row, strict=True)]


def is_enough(fixed, drops, margin):
    """A claim that is not strict holds where all of the margin is used up, attained or not."""
    return sum(drop for i, drop in enumerate(drops) if i not in fixed) <= decimal(margin) + NEAR


def smallest(drops, margin):
    return next(len(fixed) for fixed in subsets(len(drops)) if is_enough(fixed, drops, margin))


@given(models())
def test_sets_are_those_of_trying_all(given):
    plains, row, margin, radius = given
    why = explainer(plains, row, margin).explain(row, radius, unit="raw")
    drops = drops_of(plains, row, radius)
    assert why.status is Status.PROVEN
    assert why.size == smallest(drops, margin)
    assert is_enough(why.fixed, drops, margin)
    for name, drop in zip(why.model.names, drops, strict=True):
        assert abs(decimal(exactly(why.drops[name])) - drop) < NEAR
    assert (
        abs(
            float(why.slack)
            - float(margin - sum(map(Fraction, (d for i, d in enumerate(drops) if i not in why.fixed))))
        )
        < 1e-9
    )


def exactly(number):
    """A fraction next to a number of an answer."""
    if isinstance(number, Surd):
        low, _ = number.bounds(300)
        return Fraction(int(low.p), int(low.q))
    return number


@settings(max_examples=40)
@given(models())
def test_what_breaks_is_what_trying_all_finds(given):
    plains, row, margin, radius = given
    asked = explainer(plains, row, margin)
    drops = drops_of(plains, row, radius)
    names = asked.model.names
    every = range(len(row))

    def broken(point):
        return (
            sum((plain(x) for plain, x in zip(plains, point, strict=True)), Fraction(0))
            < sum((plain(x) for plain, x in zip(plains, row, strict=True)), Fraction(0)) - margin
        )

    for fixed in subsets(len(row)):
        answer = asked.sufficiency(row, [names[i] for i in fixed], radius, unit="raw")
        assert bool(answer) == is_enough(fixed, drops, margin)
        if not answer:
            point = list(answer.counterexample.values())
            assert broken(point)
            assert all(point[i] == row[i] for i in fixed)
            assert all(abs(new - old) <= radius for new, old in zip(point, row, strict=True))
    changed = asked.contrast(row, radius, unit="raw")
    sizes = [len(moved) for moved in subsets(len(row)) if not is_enough(set(every).difference(moved), drops, margin)]
    if not sizes:
        assert changed.point is None
        assert asked.counterfactual(row, radius, unit="raw").point is None
        return
    assert len(changed.features) == min(sizes)
    assert broken(list(changed.counterexample.values()))
    nearest = asked.counterfactual(row, radius, unit="raw")
    point = list(nearest.counterexample.values())
    assert broken(point)
    assert len(nearest.features) == min(sizes)
    largest = max(abs(new - old) for new, old in zip(point, row, strict=True)) / radius
    assert largest >= nearest.least_change
    inside = drops_of(plains, row, nearest.least_change * radius * (1 - Fraction(1, 10**9)))
    assert all(is_enough(set(every).difference(moved), inside, margin) for moved in combinations(every, min(sizes)))


@settings(max_examples=40)
@given(models())
def test_minimal_sets_and_roles_are_those_of_trying_all(given):
    plains, row, margin, radius = given
    asked, drops = explainer(plains, row, margin), drops_of(plains, row, radius)
    names = asked.model.names
    enough = {fixed for fixed in subsets(len(row)) if is_enough(fixed, drops, margin)}
    minimal = {f for f in enough if not any(set(other) < set(f) for other in enough)}
    least = {f for f in enough if len(f) == min(map(len, enough))}

    def named(sets):
        return {frozenset(names[i] for i in one) for one in sets}

    for kind, wanted in (("subset", minimal), ("size", least)):
        assert {frozenset(one) for one in asked.explanations(row, radius, unit="raw", minimal=kind)} == named(wanted)
    roles = asked.relevance(row, radius, unit="raw")
    every = set(names)
    assert set(roles.necessary) == set.intersection(*map(set, named(minimal))) if minimal else every
    assert set(roles.irrelevant) == every.difference(*named(minimal))


@settings(max_examples=40)
@given(models())
def test_radii_are_enclosed(given):
    plains, row, margin, _ = given
    asked = explainer(plains, row, margin)
    names = asked.model.names
    fixed = [0]
    found = asked.radius(row, [names[0]], unit="raw")
    if found.radius == float("inf"):
        assert is_enough(fixed, drops_of(plains, row, Fraction(10**6)), margin)
        return
    assert is_enough(fixed, drops_of(plains, row, found.radius), margin)
    assert not is_enough(
        fixed, drops_of(plains, row, found.radius * (1 + Fraction(1, 10**9)) + Fraction(1, 10**9)), margin
    )
    sizes = asked.curve(row, until=2, unit="raw")
    for step in sizes.steps:
        assert smallest(drops_of(plains, row, step.limit.radius), margin) == step.cost


@settings(max_examples=40)
@given(models(), st.data())
def test_costs_groups_and_two_sided_claims_are_those_of_trying_all(given, data):
    plains, row, margin, radius = given
    asked, names = explainer(plains, row, margin), [f"x{i}" for i in range(len(row))]
    costs = [data.draw(st.integers(1, 4)) for _ in row]
    why = asked.explain(row, radius, unit="raw", cost=dict(zip(names, costs, strict=True)))
    drops = drops_of(plains, row, radius)
    enough = [fixed for fixed in subsets(len(row)) if is_enough(fixed, drops, margin)]
    assert why.status is Status.PROVEN
    assert why.cost == min(sum(costs[i] for i in fixed) for fixed in enough)
    changes = asked.contrast(row, radius, unit="raw", cost=dict(zip(names, costs, strict=True)))
    breaking = [m for m in subsets(len(row)) if not is_enough(set(range(len(row))).difference(m), drops, margin)]
    assert (changes.point is None) == (not breaking)
    assert not breaking or changes.cost == min(sum(costs[i] for i in moved) for moved in breaking)
    # A score that stays within a distance, up and down: two inequalities.
    model = asked.model
    both = Explainer(AdditiveModel([term.shape for term in model.mains], model.intercept, "regression"))
    upward = drops_of([PlainCurve(p.knots, [[-f for f in one] for one in p.coefficients]) for p in plains], row, radius)
    within = both.explain(row, radius, unit="raw", claim=Within(margin))
    assert within.status is Status.PROVEN
    assert within.size == next(
        len(f) for f in subsets(len(row)) if is_enough(f, drops, margin) and is_enough(f, upward, margin)
    )


# --- ties -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ties", "kept"), [("positive", ()), ("negative", ("x0",))])
def test_a_drop_that_uses_up_the_margin_exactly_is_a_tie(ties, kept):
    model = AdditiveModel([CUBIC], 2, ties=ties)  # from 0 down to -2, at 1 and only there
    why = Explainer(model).explain([0], "3/2", unit="raw")
    assert (why.features, why.slack, why.witnesses["x0"]) == (kept, 0 if not kept else 2, 1)


@pytest.mark.parametrize("off", [0, 1, -1])
def test_drops_that_are_not_rational_are_ordered_exactly(off):
    """Twins up to a difference of 2^-300 in a factor: the one that falls less is freed first."""
    factor = 1 + Fraction(off, 2**300)
    model = AdditiveModel([SURD, SURD * factor], "3/2")
    why = Explainer(model).explain([0, 0], 1, unit="raw")
    assert why.size == 1
    assert why.features == (("x0",) if off <= 0 else ("x1",))
    assert (why.drops["x0"] == why.drops["x1"]) == (off == 0)
    assert all(isinstance(drop, Surd) for drop in why.drops.values())


def test_a_sum_with_a_root_never_meets_a_rational_margin():
    fall = Explainer(AdditiveModel([SURD], 9)).explain([0], 1, unit="raw").drops["x0"]
    low, high = fall.bounds(1000)
    for margin, kept in ((low, ("x0",)), (high, ())):
        for ties in ("positive", "negative"):
            model = AdditiveModel([SURD], margin, ties=ties)
            assert Explainer(model).explain([0], 1, unit="raw").features == kept


def test_a_threshold_that_is_not_rational_is_decided():
    model = AdditiveModel([SURD, CUBIC], 4)
    why = Explainer(model).explain([0, 0], 1, unit="raw", claim=ProbabilityAtLeast(0.7))
    assert (why.status, why.size) == (Status.PROVEN, 0)
    less = Explainer(model).explain([0, 0], 1, unit="raw", claim=ProbabilityAtLeast(0.75))
    assert (less.status, less.size) == (Status.PROVEN, 1)


# --- domains, other faces, and what is refused ------------------------------------------------------------------------


def test_domains_end_curves_and_integers_are_stepped_over():
    features = [Feature("a", Domain.interval(0, "1/2")), Feature("b", Domain.integers(0, 5)), "c"]
    model = AdditiveModel([SURD, SURD * 4, PiecewisePolynomial([0], [[5], [5]])], -1, features=features)
    why = Explainer(model).explain([0, 0, 7], 3, unit="raw")
    assert why.drops == {"a": Fraction(7, 8), "b": 4, "c": 0}
    assert why.witnesses == {"a": Fraction(1, 2), "b": 1, "c": 7}
    assert why.features == ("b",)


def test_a_curve_that_falls_for_ever_has_a_drop_without_bound():
    why = Explainer(AdditiveModel([PiecewisePolynomial([], [[0, 0, -1]])], 1)).explain([0], "inf", unit="raw")
    assert why.drops["x0"] == float("inf")
    assert why.features == ("x0",)


def test_many_rows_get_the_answer_of_each_alone():
    asked = Explainer(AdditiveModel([SURD, CUBIC, Steps([0], [0, 1])], 1))
    rows = np.random.default_rng(3).uniform(-1.5, 1.5, (20, 3))
    result = asked.explain_batch(rows, 0.5, unit="raw")
    alone = [asked.explain(row, 0.5, unit="raw").size for row in rows]
    assert result.sizes.tolist() == alone
    assert len(set(alone)) > 1


def test_a_file_keeps_the_curve(tmp_path):
    shape = PiecewisePolynomial(
        [0, "1/3"], [[[1], [0, 1]], [[1, 0, 1], [0, 1]], [["1/7", 2, 0, 4], [3]]], [[1, 2], [3, 4]]
    )
    model = AdditiveModel([shape, PiecewisePolynomial([], [[[0, 0, 0.5], [1]]])], [0, 1], "multiclass")
    model.save(tmp_path / "curves.safetensors")
    again = load(tmp_path / "curves.safetensors")
    assert [term.shape for term in again.mains] == [term.shape for term in model.mains]
    again.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "curves.safetensors").read_bytes()


def test_pictures_follow_the_curve():
    from suffice.present.outline import outline

    why = Explainer(AdditiveModel([SURD, PiecewisePolynomial([0], [[0], [1, 0, 1]])], 9)).explain([0, 1], 1, unit="raw")
    shown = outline(why, "x0")
    (line,) = shown.lines
    assert abs(min(p.y for p in line if -1 <= p.x <= 1) + float(why.drops["x0"])) < 1e-3
    assert all(abs(p.y - (p.x**3 - 2 * p.x)) < 1e-9 for p in line)
    assert shown.worst.y == -float(why.drops["x0"])
    jump = outline(why, "x1")
    assert len(jump.lines) == 2


def test_ranges_end_where_a_cubic_crosses_the_margin():
    # x³ - 2x + 2 over [-9, 9] is 0 at -1.769292 and nowhere else: there x may go no further down.
    model = AdditiveModel([SURD], 2, features=[Feature("x", Domain.interval(-9, 9))])
    found = Explainer(model).inflate([0], 1, unit="raw", features=["x"])
    low, high = found.ranges["x"].low, found.ranges["x"].high
    assert (low**3 - 2 * low + 2 >= 0, high) == (True, 9)
    below = low - Fraction(1, 10**8)
    assert below**3 - 2 * below + 2 < 0
    assert "the true end lies less than" in found.caveat
    certificate, content = found.certificate(), to_bytes(model)
    assert "'x' is in [" in suffice_check.check(content, certificate.text.encode())
    forged = json.loads(certificate.text)
    forged["result"]["ranges"][0]["low"] = str(below)
    with pytest.raises(suffice_check.RejectedError):
        suffice_check.check(content, json.dumps(forged).encode())


def test_what_is_not_there_yet_is_refused_in_one_sentence():
    asked = Explainer(AdditiveModel([SURD, CUBIC], 3))
    refused = [
        (ClaimError, lambda: asked.explain([0, 0], 1, unit="raw", arithmetic="float32")),
        (Exception, lambda: Explainer(_with_pairs(Product(SURD, CUBIC)))),
    ]
    for kind, ask in refused:
        with pytest.raises(kind) as error:
            ask()
        assert sentence(error)


def _with_pairs(shape):
    return AdditiveModel([SURD, CUBIC], 3, pairs={("x0", "x1"): shape})
