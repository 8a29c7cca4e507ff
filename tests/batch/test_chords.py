"""Curved and smooth shapes as broken lines: against evaluation in fractions and in many digits, and row by row."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import fmpq
from oracles.curves import PlainCurve
from oracles.smooth import CLOSE, FUNCTIONS, PlainNetwork, exactly

import suffice
from suffice import (
    MISSING,
    AdditiveModel,
    Domain,
    Explainer,
    Feature,
    PiecewiseLinear,
    PiecewisePolynomial,
    Smooth,
    SmoothNetwork,
    Table,
)
from suffice.batch import kernel, lookup_kernel, run
from suffice.batch.chords import Chord, chords_of
from suffice.batch.lookup import flatten
from suffice.batch.tabulate import FeatureChords, tabulate
from suffice.numbers.exact import rational
from suffice.search.explain import explain


def fraction(number):
    return Fraction(int(number.p), int(number.q))


def allowed(chord, at):
    """How far a chord may be off at a number."""
    near = np.array([float(at)])
    return Fraction(chord.between(near, near)[0])


def awkward_number(rng):
    return Fraction(
        rng.choice([rng.randint(-3, 3), Fraction(rng.randint(-9, 9), 3), rng.uniform(-3, 3), 0.1, 1 + 2**-52])
    )


def drawn_curve(rng):
    """Polynomials between knots, some of them lines; continuous, smooth or with jumps."""
    knots = sorted({awkward_number(rng) for _ in range(rng.randint(0, 4))})
    size = rng.choice([1, 1, 1, Fraction(1, 10**9), 10**6])
    each = [[size * awkward_number(rng) for _ in range(rng.choice([4, 4, 3, 2, 1]))] for _ in range(len(knots) + 1)]
    if rng.random() < 0.6:  # what comes after is what was before, and a multiple of a power of what is above the knot
        for k, knot in enumerate(knots):
            power, factor = rng.choice([1, 2, 3]), size * awkward_number(rng)
            more = {1: [-knot, 1], 2: [knot**2, -2 * knot, 1], 3: [-(knot**3), 3 * knot**2, -3 * knot, 1]}[power]
            before = [*each[k], 0, 0, 0, 0]
            each[k + 1] = [a + factor * b for a, b in zip(before, [*more, 0, 0, 0], strict=False)][:4]
    values = None if rng.random() < 0.7 else [size * awkward_number(rng) for _ in knots]
    return PiecewisePolynomial(knots, each, values), PlainCurve(knots, each, values)


DOMAINS = [
    Domain.interval(-3, 4),
    Domain.interval("-7/3", "10/3"),
    Domain.reals(),
    Domain.interval(float("-inf"), 2),
    Domain.interval(-2, -1) | Domain.interval("1/3", 3) | Domain.points(5, "16/3"),
    Domain.integers(-3, 4),
    Domain.interval(-1, 1) | Domain.interval(0, float("inf")),
    Domain.interval(-3, 4) | Domain.points("1/3", 0.7),
    Domain.integers(-3) | Domain.codes(0.5, 3.5, 100.5),
    Domain.interval(float("-inf"), -4) | Domain.interval(4),
]


def places(rng, chord, domain):
    """Numbers of the domain: knots, the middle of pieces, where the error is largest, beside knots, and any."""
    knots = [fraction(knot) for knot in chord.pieces.knots]
    some = [rng.randrange(max(len(knots) - 1, 1)) for _ in range(30)] if knots else []
    found = [knots[k] for k in some] + [awkward_number(rng) for _ in range(10)]
    found += [(knots[k] + knots[k + 1]) / 2 for k in some if k + 1 < len(knots)]
    found += [Fraction(float(at)) for at in found] + [Fraction(rng.randint(-3, 4)) for _ in range(3)]
    found += [Fraction(rng.choice([-1, 1]) * 10 ** rng.randint(1, 8)) for _ in range(4)]
    return [at for at in found if rational(at) in domain]


@pytest.mark.parametrize(
    "domain",
    [
        Domain.interval(-1, 12) | Domain.points(5, "16/3"),  # single numbers among others
        Domain.integers(-1, 12) | Domain.codes(5.5),
        Domain.integers(12) | Domain.codes(50.5),  # where the function is a line
        Domain.interval(float("-inf"), -1) | Domain.interval(20),  # nothing but two lines
        Domain.interval(float("-inf"), -1) | Domain.interval("21/2", 11) | Domain.codes(10.25) | Domain.interval(20),
    ],
    ids=str,
)
def test_single_numbers_and_gaps_leave_the_line_as_near_as_is_said(domain):
    knots, each = [3, 10], [[0, 1], [0, 1, 1], [5, -2]]
    plain = PlainCurve(knots, each)
    (chord,) = chords_of(PiecewisePolynomial(knots, each).compile(), [domain], [rational(0.5)])
    numbers = [Fraction(k, 12) for k in range(-60, 300)] + [Fraction(101, 2), Fraction(1000), Fraction(-1000)]
    for at in numbers:
        if domain.holds(rational(at)):
            assert abs(fraction(chord.pieces(rational(at))) - plain(at)) <= allowed(chord, at)


def test_errors_of_a_combination_hold_however_far_out():
    # Halves of huge numbers are cut to 2^1000, and must not be taken for numbers of another stretch.
    line = PiecewiseLinear([0], [0]).compile()[0]
    ends = np.array([2.0**1001, 2.0**1002])
    one = Chord(line, ends[:1], ends[1:], np.array([3.0]), {})
    both = Chord.combined([(1, one), (-1, one)])
    assert both.between(ends, ends).tolist() == [6.0, 6.0]


@pytest.mark.parametrize("seed", range(4))
def test_a_curve_is_as_near_to_its_chord_as_is_said(seed):
    rng, ratios = random.Random(seed), []
    for _ in range(40):
        shape, plain = drawn_curve(rng)
        (curve,) = shape.compile()
        domain, radius = rng.choice(DOMAINS), rational(rng.choice([0.5, Fraction(1, 3), 2]))
        (chord,) = chords_of([curve], [domain], [radius])
        for at in places(rng, chord, domain):
            off, most = (
                abs(fraction(chord.pieces(rational(at))) - plain(at)),
                chord.between(*[np.array([float(at)])] * 2),
            )
            assert off <= most[0]
            ratios.append(off / Fraction(most[0]) if 0 < most[0] < np.inf else 0)
    assert max(ratios) > 0.9  # the bound is nearly reached


def test_a_quadratic_is_off_by_a_sixteenth_of_its_bend_times_the_step_squared_and_no_more():
    (curve,) = PiecewisePolynomial([], [[0, 0, 1]]).compile()
    (chord,) = chords_of([curve], [Domain.interval(0, 1024)], [rational(1)])
    knots = [fraction(knot) for knot in chord.pieces.knots]
    assert len(knots) == 1025  # steps of 1
    assert 2 / 16 <= chord.largest <= 2 / 16 * 1.2  # what steps differ by counts too
    offs = [fraction(chord.pieces(rational(at))) - at**2 for knot in knots[:-1] for at in (knot, knot + Fraction(1, 2))]
    assert max(offs) <= chord.largest
    assert -min(offs) <= chord.largest
    assert max(max(offs), -min(offs)) > chord.largest * 0.8


def test_lines_between_curves_stay_exact():
    shape = PiecewisePolynomial([0, 1], [["1/3", "1/7"], ["1/3", "1/7", 2], ["5/2"]])
    (curve,) = shape.compile()
    (chord,) = chords_of([curve], [Domain.reals()], [rational(0.5)])
    for at in (-100, -1, Fraction(-1, 3), Fraction(4, 3), 10**9):
        assert allowed(chord, at) == 0
        assert chord.pieces(rational(at)) == curve(rational(at))
    assert allowed(chord, Fraction(1, 2)) > 0


def random_network(activation, seed):
    rng = np.random.default_rng(seed)
    weights = [(rng.normal(size=(b, a)) * 1.5).astype(np.float32) for a, b in pairwise([1, 4, 3, 1])]
    biases = [rng.normal(size=b).astype(np.float32) for b in (4, 3, 1)]
    return SmoothNetwork(weights, biases, activation), PlainNetwork(weights, biases, [activation] * 2)


@pytest.mark.parametrize("activation", ["tanh", "gelu", "elu", "selu", "softplus"])
def test_a_smooth_network_is_as_near_to_its_chord_as_is_said(activation):
    rng, ratios = random.Random(0), []
    shape, plain = random_network(activation, 3)
    (curve,) = shape.compile()
    for domain in (Domain.interval(-2, 2.5), Domain.reals()):
        (chord,) = chords_of([curve], [domain], [rational(0.5)])
        near = [at for at in places(rng, chord, domain) if abs(at) < 10][:40]
        for at in near:
            off, most = abs(fraction(chord.pieces(rational(at))) - exactly(plain, at)), allowed(chord, at)
            assert off <= most + CLOSE
            ratios.append(off / most)
    assert max(ratios) > 1 / 4


@pytest.mark.parametrize("name", ["log", "sqrt"])
def test_a_function_that_ends_inside_its_domain_is_open_there(name):
    (curve,) = Smooth(name).compile()
    (chord,) = chords_of([curve], [Domain.interval(0, 4)], [rational(0.5)])
    plain = FUNCTIONS[name]
    assert chord.between(np.array([0.0]), np.array([0.0]))[0] == np.inf
    for at in (Fraction(1, 3), Fraction(2), Fraction(4)):
        assert abs(fraction(chord.pieces(rational(at))) - exactly(plain, at)) <= allowed(chord, at) < 1e-3


def looked_up(tables, column, at):
    """What the kernel reads for a float in tables of a value and a drop: the number and its error."""
    cells = np.array([[at]])
    if column == 0:
        (values,), (errors,) = kernel.add_up(tables, 1, cells, np.zeros((0, 0), np.bool_))
        return values[0], errors[0]
    entry = np.empty(1, np.int32)
    lookup_kernel.locate(tables, 0, cells[0], np.zeros(0, np.bool_), entry)
    anchor, base, slope, error = tables.entries[entry[0], 1]
    return base + slope * (at - anchor), error


@pytest.mark.parametrize("seed", range(3))
def test_drops_of_a_table_are_as_near_as_is_said(seed):
    rng, settled, asked = random.Random(seed), 0, 0
    for _ in range(8):
        shape, plain = drawn_curve(rng)
        (curve,) = shape.compile()
        low, high = rng.choice([(-3, 4), (Fraction(-7, 3), Fraction(10, 3))])
        domain, reach = (
            Domain.interval(rational(low), rational(high)),
            rng.choice([Fraction(1, 3), Fraction(0.5), Fraction(20)]),
        )
        (chord,) = chords_of([curve], [domain], [rational(reach)])
        tables = flatten(tabulate([FeatureChords(domain, rational(reach), [chord], [chord])], terms=1))
        for at in sorted({float(at) for at in places(rng, chord, domain)} | {float(low), float(high)}):
            x = Fraction(at)
            if not low <= x <= high:
                continue
            asked += 1
            value, error = looked_up(tables, 0, at)
            if np.isfinite(value):
                assert abs(Fraction(value) - plain(x)) <= Fraction(error)
            drop, error = looked_up(tables, 1, at)
            if np.isfinite(drop):
                true = plain(x) - Fraction(plain.lowest(max(low, x - reach), min(high, x + reach)))
                assert abs(Fraction(drop) - true) <= Fraction(error) + Fraction(1, 10**80)
                settled += 1
    assert settled > 0.9 * asked


# --- row by row -------------------------------------------------------------------------------------------------------


@pytest.fixture
def _tables_at_once(monkeypatch):
    monkeypatch.setattr(run, "_WORTH_ROWS", 0)


def assert_same_as_alone(explainer, question, rows, least=0.0):
    """Compare each row of a batch with the same row alone; of all some share must be settled by error bounds."""
    table = np.empty((len(rows), len(explainer.model.features)), dtype=object)
    for k, row in enumerate(rows):
        table[k] = row
    result = explainer.explain_batch(table, question, threads=1)
    for k, row in enumerate(rows):
        if k in result.messages:
            with pytest.raises(suffice.SufficeError) as refused:
                explain(explainer.compiled, question, list(row))
            assert result.messages[k] == str(refused.value)
            continue
        why = explain(explainer.compiled, question, list(row))
        assert (result.fixed_of(k), result.statuses[k]) == (why.fixed, why.status.value)
        assert abs(Fraction(result.margins[k]) - why.margin) <= Fraction(result.margin_errors[k])
        if explainer.model.classes:
            assert result.predictions[k] == why.prediction
    assert (~result.was_exact).mean() >= least
    return result


OPTIONS = [
    {},
    {"fix": ["x1"]},
    {"free": ["x0"]},
    {"immutable": ["x2"]},
    {"max_changed": 2},
    {"norm": 2},
    {"cost": {"x0": 2, "x3": 3}},
    {"groups": [["x0", "x1"]]},
    {"cost": {"x0": 2, "x1": 3, "x2": 5, "x3": 7}},
]


@pytest.mark.usefixtures("_tables_at_once")
@pytest.mark.parametrize("options", OPTIONS, ids=lambda one: "-".join(one) or "plain")
def test_rows_of_curves_are_answered_as_they_are_alone(options):
    rng = random.Random(str(options))
    shapes = [drawn_curve(rng)[0] for _ in range(3)] + [PiecewiseLinear([-1, 0, 1], [0.5, -1, 1 / 3])]
    features = [Feature(f"x{i}", Domain.interval(-3, 3)) for i in range(4)]
    explainer = Explainer(AdditiveModel(shapes, 0.25, features=features))
    rows = [[rng.choice([rng.uniform(-3, 3), rng.choice([-3, 0, 1 / 3, 3])]) for _ in range(4)] for _ in range(60)]
    rows += [["1/3", "0.1", 3, 7], ["0.3333333333333333333", "2.99999999999999999999", 0, 0]]
    assert_same_as_alone(explainer, explainer.question(0.5, unit="raw", **options), rows, 0.5)


@pytest.mark.usefixtures("_tables_at_once")
@pytest.mark.parametrize("options", OPTIONS[:6], ids=lambda one: "-".join(one) or "plain")
def test_rows_of_smooth_shapes_are_answered_as_they_are_alone(options):
    rng = random.Random(str(options))
    shapes = [random_network(name, seed)[0] for seed, name in enumerate(["tanh", "elu", "gelu"])] + [Smooth("log")]
    features = [Feature(f"x{i}", Domain.interval(-3, 3)) for i in range(3)] + [Feature("x3", Domain.interval(0.01, 4))]
    explainer = Explainer(AdditiveModel(shapes, 0.25, features=features))
    rows = [[*(rng.uniform(-3, 3) for _ in range(3)), rng.choice([0.01, 1, rng.uniform(0.01, 4)])] for _ in range(20)]
    assert_same_as_alone(explainer, explainer.question(0.25, unit="raw", **options), rows, 0.8)


@pytest.mark.usefixtures("_tables_at_once")
@pytest.mark.parametrize("seed", range(3))
def test_classes_codes_integers_and_domains_without_ends_are_served(seed):
    rng = random.Random(seed)

    def cubic():
        return [[rng.uniform(-1, 1) for _ in range(3)] for _ in range(3)]

    curve = PiecewisePolynomial([rng.uniform(-1, 1)], [cubic(), cubic()])
    coded = Table(
        {-9: [1, 0, 0], "odd": [0, 1, "1/3"], MISSING: [0, 0, 1]}, otherwise=PiecewisePolynomial([], [cubic()])
    )
    shapes = [curve, coded, PiecewisePolynomial([], [cubic()])]
    features = [
        Feature("x0"),
        Feature("x1", Domain.interval(-2, 2) | Domain.codes(-9, "odd", MISSING)),
        Feature("x2", Domain.integers(-4, 4)),
    ]
    explainer = Explainer(AdditiveModel(shapes, [0, 0.1, 0.2], "multiclass", features))
    rows = [
        [
            rng.choice([*(rng.gauss(0, 1) for _ in range(9)), 1e6]),
            rng.choice([rng.uniform(-2, 2), -9, "odd", None]),
            rng.randint(-4, 4),
        ]
        for _ in range(50)
    ]
    for radius in (0.5, [0.25, 0, 1], 1.5):
        assert_same_as_alone(explainer, explainer.question(radius, unit="raw"), [*rows, [0, 3, 0.5]], 0.5)


@pytest.mark.usefixtures("_tables_at_once")
def test_ties_of_curves_are_left_to_exact_arithmetic():
    # Two features with the same drop, and a margin that is used up exactly: bounds tell neither.
    square = PiecewisePolynomial([], [[0, 0, 1]])
    features = [Feature(f"x{i}", Domain.interval(-4, 4)) for i in range(2)]
    explainer = Explainer(AdditiveModel([square, square], -2, features=features, ties="positive"))
    question = explainer.question(1, unit="raw")
    result = assert_same_as_alone(explainer, question, [[2, 2], [1, 2], [1.5, 1.5], [3, 0.5]])
    assert result.was_exact.tolist()[:1] == [True]


@pytest.mark.usefixtures("_tables_at_once")
@pytest.mark.parametrize("knot", ["1e305", "1e400"])
def test_numbers_too_large_for_tables_leave_all_rows_to_exact_arithmetic(knot):
    large = PiecewisePolynomial([knot], [[0, 0, 1], [0, 1]])
    features = [
        Feature("x0", Domain.interval(0, rational(knot) * 2) | Domain.codes(MISSING)),
        Feature("x1", Domain.interval(-4, 4)),
    ]
    shapes = [Table({MISSING: 1}, otherwise=large), PiecewisePolynomial([], [[0, 0, 3]])]
    explainer = Explainer(AdditiveModel(shapes, -2, features=features))
    result = assert_same_as_alone(explainer, explainer.question(0.5, unit="raw"), [[None, 1], [0.5, 1], [1e9, 0.25]])
    assert result.was_exact.all()


@pytest.mark.usefixtures("_tables_at_once")
def test_a_single_number_among_others_does_not_change_answers_beside_it():
    features = [Feature("x0", Domain.interval(0, 10) | Domain.points(5)), Feature("x1", Domain.interval(-4, 4))]
    shapes = [PiecewisePolynomial([], [[0, 0, 1]]), PiecewisePolynomial([], [[0, 0, -1]])]
    explainer = Explainer(AdditiveModel(shapes, -25, features=features))
    rows = [[5 + k / 1000, k / 60] for k in range(1, 60)]
    assert_same_as_alone(explainer, explainer.question(0.01, unit="raw"), rows, 0.5)


def test_few_rows_go_alone_whatever_was_asked_before():
    square = PiecewisePolynomial([], [[0, 0, 1]])
    features = [Feature(f"x{i}", Domain.interval(-4, 4), deviation=1) for i in range(2)]
    explainer = Explainer(AdditiveModel([square, square], -2, features=features))
    rows = np.random.default_rng(0).uniform(-4, 4, size=(run._WORTH_ROWS, 2))
    few = explainer.explain_batch(rows[:-1], radius=0.25, threads=1)
    many = explainer.explain_batch(rows, radius=0.25, threads=1)
    assert few.was_exact.all()
    assert many.was_exact.mean() < 0.05
    assert explainer.explain_batch(rows[:-1], radius=0.25, threads=1).to_arrow().equals(few.to_arrow())
    assert [many.fixed_of(k) for k in range(len(few))] == [few.fixed_of(k) for k in range(len(few))]


def test_errors_of_a_combination_add_up():
    one, other = (
        Chord(PiecewiseLinear([0], [k]).compile()[0], np.array([-1.0]), np.array([k]), np.array([k]), {"a": k})
        for k in (1.0, 2.0)
    )
    both = Chord.combined([(1, one), (-1, other)])
    at = np.array([-0.5, 0.5, 1.5, 3.0])
    assert both.between(at, at).tolist() == [3.0, 3.0, 2.0, 0.0]
    assert both.pieces(fmpq(0)) == -1
    assert both.labels == {"a": 3.0}


@pytest.mark.parametrize("activation", ["elu", "gelu", "softplus", "tanh"])
def test_steep_networks_have_chords_though_exponentials_vanish(activation):
    # exp(-10^8) and erfc(10^8) as rationals would have millions of digits, or more than memory has room for.
    weights, biases = [[[1e8], [-3e7]], [[1.0, 2.0]]], [[0.5, 1.0], [0.0]]
    (curve,) = SmoothNetwork(weights, biases, activation).compile()
    plain = PlainNetwork(weights, biases, [activation])
    (chord,) = chords_of([curve], [Domain.interval(-2, 3)], [rational(0.5)])
    for at in (Fraction(-2), Fraction(-1, 3), Fraction(0), Fraction(1, 10**8), Fraction(5, 2)):
        value = exactly(plain, at)
        assert abs(fraction(chord.pieces(rational(at))) - value) <= allowed(chord, at) + CLOSE * 10**9
        enclosed = curve.value(rational(at), 40)
        assert fraction(enclosed.low) - CLOSE * 10**9 <= value <= fraction(enclosed.high) + CLOSE * 10**9
