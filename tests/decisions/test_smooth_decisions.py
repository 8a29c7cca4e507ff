"""Decisions about curved and smooth models, against mpmath at high precision and exact algebra by hand."""

import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from suffice import (
    AdditiveModel,
    AtLeast,
    AtMost,
    BudgetError,
    CardError,
    Composed,
    Domain,
    Explainer,
    Feature,
    PairLinear,
    PiecewiseLinear,
    PiecewisePolynomial,
    ProbabilityAtLeast,
    ReluNetwork,
    Smooth,
    SmoothNetwork,
    Steps,
    Table,
    UnsettledError,
)
from suffice.numbers.exact import to_fraction

mpmath.mp.prec = 240
LOW, HIGH = -2, 2


def features(*domains):
    return [Feature(f"x{k}", domain, deviation=1) for k, domain in enumerate(domains)]


def interval(count=1):
    return [Domain.interval(LOW, HIGH)] * count


def layers(seed, units=(5, 4)):
    random, sizes = np.random.default_rng(seed), (1, *units, 1)
    weights = [np.round(random.normal(size=(b, a)) * 1.5, 3) for a, b in pairwise(sizes)]
    return weights, [np.round(random.normal(size=size), 3) for size in sizes[1:]]


ACTIVATIONS = {
    "tanh": mpmath.tanh,
    "gelu": lambda z: z * (1 + mpmath.erf(z / mpmath.sqrt(2))) / 2,
    "softplus": lambda z: mpmath.log(1 + mpmath.exp(z)),
    "relu": lambda z: max(z, mpmath.mpf(0)),
}


def by_hand(weights, biases, activation):
    """Return the network as mpmath computes it."""

    def value(x):
        h = [mpmath.mpf(x)]
        for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            h = [sum(mpmath.mpf(float(w)) * z for w, z in zip(row, h, strict=True)) + mpmath.mpf(float(b))
                 for row, b in zip(weight, bias, strict=True)]  # fmt: skip
            h = [ACTIVATIONS[activation](z) for z in h] if k + 1 < len(weights) else h
        return h[0]

    return value


def world(kind):
    """Return a model of three features, and what mpmath says each of them adds."""
    if kind == "spline":
        pieces = [["1/3", 1, 0, "0.1"], [1, -1, 1, "0.2"], ["0.5", 1, 0, "-0.1"]]
        shapes = [PiecewisePolynomial([-1, 1], pieces), PiecewisePolynomial([0], [[0, 0, 0, 0, 1], [0, "0.5"]])]

        def spline(x):
            x = mpmath.mpf(x)
            a, b, c, d = [mpmath.mpf(Fraction(str(c)).numerator) / Fraction(str(c)).denominator
                          for c in pieces[0 if x < -1 else 1 if x < 1 else 2]]  # fmt: skip
            return a + b * x + c * x**2 + d * x**3

        def quartic(x):
            x = mpmath.mpf(x)
            return x**4 if x < 0 else x / 2

        return AdditiveModel([*shapes, Steps([0], [-1, 1])], 0.1, "binary", features(*interval(3)), ["no", "yes"]), [
            spline,
            quartic,
            lambda x: mpmath.mpf(1 if x >= 0 else -1),
        ]
    if kind == "maps":
        shapes, domains = [Smooth("log"), -1 * Smooth("sqrt"), Smooth("tanh")], [(1, 90), (1, 50), (-2, 2)]
        return AdditiveModel(
            shapes, 0.5, "binary", features(*(Domain.interval(*one) for one in domains)), ["no", "yes"]
        ), [mpmath.log, lambda x: -mpmath.sqrt(x), mpmath.tanh]
    made = [layers(seed) for seed in range(3)]
    shapes = [ReluNetwork(*one) if kind == "relu" else SmoothNetwork(*one, kind) for one in made]
    model = AdditiveModel(shapes, 0, "binary", features(*interval(3)), ["no", "yes"])
    return model, [by_hand(*one, kind) for one in made]


KINDS = ["spline", "maps", "tanh", "gelu", "softplus", "relu"]


def explainer_of(model, kind):
    return Explainer(model, max_pieces=3) if kind == "relu" else Explainer(model)


def score(model, functions, point):
    return mpmath.mpf(float(model.intercept[0])) + sum(
        f(mpmath.mpf(int(Fraction(x).numerator)) / int(Fraction(x).denominator))
        for f, x in zip(functions, point, strict=True)
    )


def sampled(model, count, seed=0):
    random = np.random.default_rng(seed)
    ends = [(float(one.spans[0].low), float(one.spans[0].high)) for one in model.domains]
    return np.column_stack([np.round(random.uniform(low, high, count), 3) for low, high in ends])


def accepted(tmp_path, model, certificate):
    """Whether the checker, in a process of its own, accepts a certificate."""
    model.save(tmp_path / "model.safetensors")
    (tmp_path / "one.json").write_text(certificate.text)
    command = [sys.executable, "-m", "suffice_check", str(tmp_path / "model.safetensors"), str(tmp_path / "one.json")]
    return subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_is_proven_or_refuted_as_mpmath_says(kind, tmp_path):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    rows = sampled(model, 300)
    scores = np.array([float(score(model, functions, row)) for row in rows])
    seen = set()
    for at in rows[:6]:
        box = {name: (max(x - 0.3, float(d.spans[0].low)), min(x + 0.3, float(d.spans[0].high)))
               for name, x, d in zip(model.names, at.tolist(), model.domains, strict=True)}  # fmt: skip
        inside = np.all([(rows[:, k] >= low) & (rows[:, k] <= high) for k, (low, high) in enumerate(box.values())], 0)
        for outcome, sign in (("yes", 1), ("no", -1)):
            found = explainer.check(box, outcome)
            seen.add(bool(found))
            if found:
                assert (sign * scores[inside] > -1e-12).all()
            else:
                point = list(found.counterexample.values())
                assert all(low <= x <= high for x, (low, high) in zip(point, box.values(), strict=True))
                assert sign * score(model, functions, point) <= 0
        assert accepted(tmp_path, model, found.certificate())
    assert seen == {True, False}


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_is_bounded_as_closely_as_sampling_shows(kind):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    grids = [np.linspace(float(one.spans[0].low), float(one.spans[0].high), 401) for one in model.domains]
    least = 0.0
    for function, grid in zip(functions, grids, strict=True):
        least += min(float(function(float(x))) for x in grid)
    least += float(model.intercept[0])
    assert explainer.check({}, claim=AtLeast(least - 0.02))
    refuted = explainer.check({}, claim=AtLeast(least + 1e-6))
    assert not refuted
    assert score(model, functions, list(refuted.counterexample.values())) < least + 1e-6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", [1, -1])
def test_monotone_is_as_mpmath_says(kind, direction, tmp_path):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    for k, function in enumerate(functions):
        low, high = (float(end) for end in (model.domains[k].spans[0].low, model.domains[k].spans[0].high))
        grid = np.linspace(low, high, 801)
        values = [function(float(x)) for x in grid]
        steps = [direction * (b - a) for a, b in pairwise(values)]
        found = explainer.monotone(f"x{k}", direction, "yes")
        if found:
            assert min(steps) > -(mpmath.mpf(10) ** -50)
            continue
        assert min(steps) < 0
        for fall in found.falls:
            before, after = fall.before[k], fall.after[k]
            assert direction * (after - before) > 0
            assert score(model, functions, [Fraction(int(x.p), int(x.q)) for x in fall.after]) < score(
                model, functions, [Fraction(int(x.p), int(x.q)) for x in fall.before]
            )
        # Every step of the grid that falls lies in a stretch that was told, but for what is next to its ends.
        told = [sorted((float(fall.start), float(fall.end))) for fall in found.falls]
        for a, b, step in zip(grid, grid[1:], steps, strict=False):
            if step < 0:
                assert any(start - 0.02 * (high - low) <= a and b <= end + 0.02 * (high - low) for start, end in told)
        assert accepted(tmp_path, model, found.certificate())


def test_a_flat_point_of_a_polynomial_is_no_fall_and_a_dent_below_it_is():
    """x³, whose slope is 0 at 0 and positive elsewhere; and the same with a slope that is a hair less."""
    cases = [("0", True), ("1/100000000000000000000", True), ("-1/100000000000000000000", False)]
    for more, expected in cases:
        for pieces in ([[0, more, 0, 1]], [[0, more, 0, 1, 0, 1]]):  # decided by the same algebra: degrees 3 and 5
            model = AdditiveModel([PiecewisePolynomial([], pieces)], features=features(*interval()))
            found = Explainer(model).monotone("x0", "up")
            assert bool(found) is expected
            assert bool(Explainer(model).monotone("x0", "down")) is False
    (fall,) = found.falls
    assert -1e-9 < fall.start < 0 < fall.end < 1e-9


def test_ends_of_falls_of_curves_are_exact_where_they_are_rational():
    # x³ - 3x turns at -1 and 1, by 4; x³ - 6x at the square root of 2.
    model = AdditiveModel([PiecewisePolynomial([], [[0, -3, 0, 1]])], features=features(*interval()))
    (fall,) = Explainer(model).monotone("x0", "up").falls
    assert (fall.start, fall.end, fall.amount) == (-1, 1, 4)
    model = AdditiveModel([PiecewisePolynomial([], [[0, -6, 0, 1]])], features=features(*interval()))
    (fall,) = Explainer(model).monotone("x0", "up").falls
    assert fall.start**2 < 2 < (fall.start - Fraction(1, 10**15)) ** 2
    assert fall.end**2 < 2 < (fall.end + Fraction(1, 10**15)) ** 2
    assert 0 < 8 * mpmath.sqrt(2) - mpmath.mpf(fall.amount.numerator) / fall.amount.denominator < 1e-12


def test_a_jump_of_a_curve_is_a_fall():
    model = AdditiveModel([PiecewisePolynomial([0], [[1, 1, 1], [0, 1, 1]])], features=features(Domain.interval(0, 1)))
    assert Explainer(model).monotone("x0", "up")
    model = AdditiveModel([PiecewisePolynomial([0], [[1, 3, 1], [0, 1, 1]])], features=features(Domain.interval(-1, 1)))
    (fall,) = Explainer(model).monotone("x0", "up").falls
    assert (fall.start, fall.end, fall.amount) == (0, 0, 1)


def test_integers_see_only_what_lies_between_them():
    # Falls between 0 and 1, where there are no integers.
    shape = PiecewisePolynomial([], [[0, 1, -3, 2]])  # x(1 - x)(1 - 2x): 0 at 0 and 1
    model = AdditiveModel([shape], features=features(Domain.integers(-3, 3)))
    assert Explainer(model).monotone("x0", "up")
    assert not Explainer(AdditiveModel([shape], features=features(*interval()))).monotone("x0", "up")


def test_endless_domains():
    cubic = AdditiveModel([PiecewisePolynomial([], [[0, -3, 0, 1]])], features=["x0"])
    (fall,) = Explainer(cubic).monotone("x0", "up").falls
    assert (fall.start, fall.end) == (-1, 1)
    assert [one.start for one in Explainer(cubic).monotone("x0", "down").falls] == [None, -1]
    tanh = AdditiveModel([Smooth("tanh")], features=["x0"])
    assert Explainer(tanh).monotone("x0", "up")
    assert not Explainer(tanh).monotone("x0", "down")


def test_what_is_not_known_is_said_and_never_proven():
    # log x² - 2 log x is 0, which no enclosure of its slope tells; with 0.01 x it rises, with -0.01 x it falls.
    square = Composed(Smooth("log"), PiecewisePolynomial([], [[0, 0, 1]]))
    for slope, expected in ((0, None), ("0.01", True), ("-0.01", False)):
        shape = square - 2 * Smooth("log") + PiecewiseLinear([0], [0], slope, slope)
        model = AdditiveModel([shape], task="regression", features=features(Domain.interval(1, 2)))
        found = Explainer(model).monotone("x0", "up")
        assert found.document()["holds"] is expected
        if expected is None:
            assert "Open: that as x0 rises, the prediction never falls" in str(found)
            with pytest.raises(UnsettledError, match="neither proven nor refuted"):
                bool(found)


@pytest.mark.parametrize("kind", KINDS)
def test_perverse_rows_are_those_that_lose_the_decision(kind):
    model, functions = world(kind)
    rows = sampled(model, 25, seed=3)
    found = explainer_of(model, kind).monotone("x0", "up", "yes", table=rows)
    assert not found.unsettled
    low, high = (float(end) for end in (model.domains[0].spans[0].low, model.domains[0].spans[0].high))
    grid = np.linspace(low, high, 400)
    along = np.array([float(functions[0](float(x))) for x in grid])
    for k, row in enumerate(rows):
        here = float(score(model, functions, row))
        if here <= 0:
            assert k not in found.perverse
            continue
        rest = here - float(functions[0](float(row[0])))
        worst = min([*(along[grid >= row[0]] + rest), here])
        if abs(worst) > 0.01:  # the grid is not exact
            assert (k in found.perverse) == (worst < 0)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_are_those_of_single_questions(kind, tmp_path):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    rows = sampled(model, 12, seed=5)
    stable = explainer.stability(rows, [0.05, 0.5])
    assert not any(stable.unsettled)
    for r, radius in enumerate((0.05, 0.5)):
        for k, row in enumerate(rows):
            assert stable.rows[r, k] == explainer.is_sufficient(row.tolist(), [], radius)
    free = explainer.unaffected(rows, ["x1"])
    grid = np.linspace(float(model.domains[1].spans[0].low), float(model.domains[1].spans[0].high), 400)
    along = np.array([float(functions[1](float(x))) for x in grid])
    for k, row in enumerate(rows):
        here = float(score(model, functions, row))
        moved = along + here - float(functions[1](float(row[1])))
        if min(abs(moved.min()), abs(moved.max())) > 0.02:
            assert free.rows[k] == ((moved > 0).all() if here > 0 else (moved < 0).all())
        assert accepted(tmp_path, model, free.certificate(k))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference", ["profile", "best", "typical"])
def test_reasons_are_the_fewest_that_change_the_decision(kind, reference, tmp_path):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    rows = sampled(model, 20, seed=9)
    scores = [score(model, functions, row) for row in rows]
    x = rows[0].tolist()
    other = next(row.tolist() for row, s in zip(rows, scores, strict=True) if (s > 0) != (scores[0] > 0))
    why = explainer.reasons(x, other if reference == "profile" else reference, table=rows)
    against = [Fraction(int(v.p), int(v.q)) for v in why.reference.row]
    sizes = []
    for bits in range(8):
        mixed = [b if bits >> k & 1 else a for k, (a, b) in enumerate(zip(x, against, strict=True))]
        if (score(model, functions, mixed) > 0) != (scores[0] > 0):
            sizes.append(bits.bit_count())
    assert why.is_possible == bool(sizes)
    if sizes:
        assert why.size == min(sizes)
        assert 1 + len(why.alternatives) == sizes.count(min(sizes))
        assert why.letter()
    assert accepted(tmp_path, model, why.certificate())
    table = explainer.reasons_batch(rows, explainer.predict(x), other if reference == "profile" else reference)
    assert not table.unsettled
    assert table.sizes[table.rows.tolist().index(0)] == (min(sizes) if sizes else 0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_values_are_as_good_as_sampling_finds(kind):
    model, functions = world(kind)
    why = explainer_of(model, kind).reasons(sampled(model, 1)[0].tolist(), "best")
    sign = 1 if explainer_of(model, kind).predict(sampled(model, 1)[0].tolist()) == "no" else -1
    for function, value, domain in zip(functions, why.reference.row, model.domains, strict=True):
        grid = np.linspace(float(domain.spans[0].low), float(domain.spans[0].high), 401)
        best = max(sign * function(float(x)) for x in grid)
        assert sign * function(mpmath.mpf(int(value.p)) / int(value.q)) > best - mpmath.mpf(10) ** -15


def test_a_tie_of_a_spline_is_decided():
    # x² - 2 over [-2, 2] beside a label that adds 2: it is 0 at the square root of 2 twice, and -2 + 2 at 0.
    shapes = [PiecewisePolynomial([], [[0, 0, 1]]), Table({"a": 0, "b": 1})]
    for ties, expected in (("positive", True), ("negative", False)):
        model = AdditiveModel(shapes, 0, features=[Feature("x", Domain.interval(-2, 2)), "t"], ties=ties)
        assert bool(Explainer(model).check({}, 1)) is expected
    model = AdditiveModel(shapes, 0, features=[Feature("x", Domain.interval(-2, 2)), "t"])
    assert Explainer(model).check({}, claim=AtLeast(0))
    assert not Explainer(model).check({}, claim=AtLeast("1/10000000000000000000000000"))
    assert Explainer(model).check({}, claim=AtMost(5))


def test_a_tie_of_smooth_shapes_is_left_open_with_a_sentence():
    # log 2 + log 3 = log 6, which no enclosure tells.
    domain = Domain.interval(1, 10)
    model = AdditiveModel([Smooth("log"), Smooth("log"), -1 * Smooth("log")], features=features(*[domain] * 3))
    explainer = Explainer(model)
    assert explainer.check({"x0": (2, 4), "x1": (3, 4), "x2": (1, "5.999")}, claim=AtLeast(0))
    assert not explainer.check({"x0": (2, 4), "x1": (3, 4), "x2": (1, "6.001")}, claim=AtLeast(0))
    with pytest.raises((UnsettledError, BudgetError), match=r"neither proven nor refuted|a tie is not ruled out"):
        explainer.check({"x0": (2, 4), "x1": (3, 4), "x2": (1, 6)}, claim=AtLeast(0))
    rows = np.array([[3.0, 3.0, 5.0], [2.0, 2.0, 5.0], [9.0, 9.0, 2.0]])
    stable = explainer.stability(rows, [{"x0": 1, "x1": 0, "x2": 1}], unit="raw", claim=AtLeast(0))
    assert stable.rows.tolist() == [[False, False, True]]
    assert stable.unsettled == ((0,),)  # 2 · 3 = 6
    assert "Not settled: 1 row, where it is a tie or close to one: 0." in str(stable)
    assert list(stable.failed) == [1]
    free = explainer.unaffected(rows, ["x0", "x2"], {"x0": 1, "x1": 0, "x2": 1}, unit="raw", claim=AtLeast(0))
    assert free.unsettled == (0,)
    assert free.document()["affected"] == []


def test_probabilities_and_regressions():
    model = AdditiveModel([Smooth("tanh")], 0.25, features=features(*interval()), classes=["no", "yes"])
    explainer = Explainer(model)
    least = 1 / (1 + mpmath.exp(-(mpmath.tanh(-2) + 0.25)))
    assert explainer.check({}, "yes", claim=ProbabilityAtLeast(str(least - mpmath.mpf(10) ** -30)[:40]))
    assert not explainer.check({}, "yes", claim=ProbabilityAtLeast(str(least + mpmath.mpf(10) ** -30)[:40]))
    line = AdditiveModel([Smooth("tanh")], 0.25, features=features(*interval()), task="regression")
    found = Explainer(line).check({}, claim=AtMost(1), table=np.array([[0.0], [2.0], [1.5]]))
    assert not found
    assert found.violations == (1, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_cards_and_rules_decide_as_mpmath_does(kind, tmp_path):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    rows = sampled(model, 60, seed=11)
    others = sampled(model, 150, seed=12)
    card = explainer.card(rows, lines=40)
    rules = explainer.rules(rows, conditions=2, most=4)
    decided = []
    for row in others.tolist():
        expected = "yes" if score(model, functions, row) > 0 else "no"
        told = card.decides(row)
        decided += [] if told is None else [row]
        assert told in (None, expected)
        assert rules.decides(row) in (None, expected)
    assert decided
    assert accepted(tmp_path, model, card.certificate(decided[0]))
    assert any(share.count for share in rules.covered.values())
    assert all(a.count <= b.count for a, b in zip(rules.covered.values(), rules.coverable.values(), strict=True))
    covered = rules.rules[0]
    assert accepted(tmp_path, model, covered.certificate())
    # What a line is worth at least and at most holds at values on it, and at its ends.
    for i, cell, _, _ in card.lines:
        span = model.domains[i].spans[0]
        low, high = (float(end if one is None else one) for one, end in ((cell.low, span.low), (cell.high, span.high)))
        for x in np.linspace(low, high, 9)[1:-1]:
            assert float(cell.least) - 1e-9 <= float(functions[i](float(x))) <= float(cell.most) + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_recourse_is_as_cheap_as_trying_everything_finds(kind, tmp_path):
    model, functions = world(kind)
    explainer = explainer_of(model, kind)
    actions = {
        "x0": {"direction": "any", "step": "0.5", "cost": {"each": 1}},
        "x2": {"direction": "any", "step": "0.25", "cost": {"fixed": 1, "each": 2}},
    }
    seen = set()
    for row in sampled(model, 6, seed=13).tolist():
        exact = [Fraction(x) for x in row]
        here = score(model, functions, exact) > 0
        found, best = explainer.recourse(row, actions), None
        steps = []
        for k, (step, fixed, each) in ((0, (Fraction(1, 2), 0, 1)), (2, (Fraction(1, 4), 1, 2))):
            low, high = (Fraction(str(end)) for end in (model.domains[k].spans[0].low, model.domains[k].spans[0].high))
            reach = [exact[k] + step * n for n in range(-400, 401) if low <= exact[k] + step * n <= high]
            steps.append([(x, 0 if x == exact[k] else fixed + each * abs(x - exact[k])) for x in reach])
        parts = [{x: functions[k](mpmath.mpf(x.numerator) / x.denominator) for x, _ in some}
                 for k, some in zip((0, 2), steps, strict=True)]  # fmt: skip
        rest = score(model, functions, exact) - parts[0][exact[0]] - parts[1][exact[2]]
        for a, cost in steps[0]:
            for b, more in steps[1]:
                if (rest + parts[0][a] + parts[1][b] > 0) != here and (best is None or cost + more < best):
                    best = cost + more
        assert found.is_possible == (best is not None)
        seen.add(found.is_possible)
        if best is not None:
            assert to_fraction(found.plans.listed[0].cost) == best
            after = [Fraction(int(x.p), int(x.q)) for x in found.point()]
            assert (score(model, functions, after) > 0) != here
        assert accepted(tmp_path, model, found.certificate())
    assert True in seen


def test_a_tie_of_one_row_leaves_the_recourse_of_the_others():
    tanh = [SmoothNetwork([[[1.0]], [[sign]]], [[0.0], [0.0]], "tanh") for sign in (1.0, -1.0)]
    model = AdditiveModel(tanh, features=["x", "y"], classes=["no", "yes"])
    actions = {"x": {"direction": "up", "step": 2, "most": 2, "cost": {"each": 1}}}
    rows = np.array([[-1, 1], [-1, 0.5], [-2, 1.5]])  # the first becomes (1, 1), where both sum to exactly 0
    found = Explainer(model).recourse_batch(rows, actions, "yes")
    assert found.rows.tolist() == [1, 2]
    assert [plan is not None for plan in found.plans] == [True, False]
    assert list(found.failed) == [0]
    assert "tie is not ruled out" in found.failed[0]
    assert "Left out: 1 row; row 0: " in str(found)


@pytest.mark.parametrize(("slope", "up", "down"), [(-4, (0, 6), (1, 0.25)), (0, (0, 2), (1, 4)), (3, None, (1, 7))])
def test_beside_a_pair_a_curve_is_taken_at_its_worst_in_either_direction(slope, up, down):
    # x² + slope · x, and between -3x and 3x more: the slope at worst is another one on the way down.
    pair = PairLinear([0, 1], [0, 1], [[0, 0], [3, -3]])
    shapes = [PiecewisePolynomial([], [[0, slope, 1]]), None]
    model = AdditiveModel(
        shapes, 0, "regression", features(Domain.interval(0, 1), Domain.interval(0, 1)), pairs={("x0", "x1"): pair}
    )
    for direction, expected in (("up", up), ("down", down)):
        found = Explainer(model).monotone("x0", direction)
        assert bool(found) is (expected is None)
        for fall in found.falls:
            assert (fall.start, fall.amount) == expected
            assert Explainer(model).score(fall.after) < Explainer(model).score(fall.before)


def test_a_jump_at_an_integer_is_seen_among_integers():
    # It rises on either side of 0, and falls at it.
    shape = PiecewisePolynomial([0], [[5, 0, 0, 1], [0, 0, 0, 1]])
    for domain in (Domain.integers(-3, 3), Domain.points(-1, 0, 1), Domain.interval(-3, 3)):
        model = AdditiveModel([shape], features=features(domain))
        assert not Explainer(model).monotone("x0", "up")
    assert Explainer(AdditiveModel([shape], features=features(Domain.integers(0, 3)))).monotone("x0", "up")


def test_a_tie_that_enclosures_tell_goes_to_the_class_that_ties_go_to():
    # tanh 0 = 0, of which flint is certain.
    for ties, expected, other in (("positive", "yes", -1), ("negative", "no", 1)):
        model = AdditiveModel([Smooth("tanh")], 0, "binary", features(*interval()), ["no", "yes"], ties)
        explainer = Explainer(model)
        assert explainer.predict([0]) == expected
        assert explainer.explain([0], 0.5).prediction == expected
        assert explainer.reasons([0], [other]).size == 1
        assert not explainer.reasons([0], [-other]).is_possible
        assert explainer.recourse([0], {"x0": {"step": 1, "direction": "any"}}).is_possible


def test_scores_that_are_known_equally_well_need_not_be_equal():
    # Shares of e^-65536 and e^-32768, both of which are too small to be told from 0: the second is larger.
    weights = [[[-16384], [-8192], [0]], [[1, 0, 0], [0, 1, 0], [0, 0, 0]]]
    net = SmoothNetwork(weights, [[0, 0, 0], [0, 0, -1]], "sigmoid")
    model = AdditiveModel([net], [0, 0, 0], "multiclass", features(Domain.interval(0, 4)))
    with pytest.raises(BudgetError, match="a tie is not ruled out"):
        Explainer(model).predict([4])
    assert Explainer(model).predict([0.001]) == 1


def test_what_has_a_bound_is_not_said_to_have_none():
    shape = -1 * Smooth("sqrt") + Composed(Smooth("sine"), PiecewiseLinear([0], [0], "0.5", "0.5"))
    rows = np.array([[0.0], [1.0], [2.0]])
    for low, told in ((0, "no bound is known of what 'x0' adds"), ("0.001", None)):
        model = AdditiveModel([shape], "0.5", features=features(Domain.interval(low, 2)))
        if told is None:
            assert Explainer(model).card(rows[1:]).lines
            continue
        with pytest.raises(CardError, match=told):
            Explainer(model).card(rows)


def test_falls_of_smooth_shapes_end_where_they_turn():
    # sin turns at π/2 and 3π/2; silu(x) + x²/4 where its slope is 0, which mpmath finds.
    model = AdditiveModel([Smooth("sine")], task="regression", features=features(Domain.interval(0, 6)))
    (fall,) = Explainer(model).monotone("x0", "up").falls
    assert abs(float(fall.start) - mpmath.pi / 2) < 1e-15
    assert abs(float(fall.end) - 3 * mpmath.pi / 2) < 1e-15
    shape = Smooth("silu") + PiecewisePolynomial([], [[0, 0, "0.25"]])
    model = AdditiveModel([shape], task="regression", features=features(Domain.interval(-3, 2)))
    (fall,) = Explainer(model).monotone("x0", "up").falls
    turn = mpmath.findroot(mpmath.diffun(lambda x: x / (1 + mpmath.exp(-x)) + x * x / 4), -0.5)
    assert abs(float(fall.end) - turn) < 1e-15
