"""Smooth shapes: values and infima enclosed, against evaluation in another library at 240 bits."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from builders import sentence
from flint import arb, fmpq
from mpmath import mp
from oracles.smooth import CLOSE, FUNCTIONS, PlainNetwork, exactly, samples

from suffice import (
    Composed,
    ModelError,
    PiecewiseLinear,
    PiecewisePolynomial,
    ShapeError,
    Smooth,
    SmoothFunction,
    SmoothNetwork,
    Steps,
    Table,
)
from suffice.numbers.enclosure import Enclosure, of_ball, working
from suffice.numbers.exact import rational
from suffice.shapes.combining import combined
from suffice.shapes.far import LINES
from suffice.shapes.monotone import Cell, Kind
from suffice.shapes.smooth_functions import KINDS

ACTIVATIONS = [
    "tanh",
    "sigmoid",
    "silu",
    "gelu",
    "gelu_tanh",
    "mish",
    "hardswish",
    "sine",
    "softplus",
    "elu",
    "celu",
    "selu",
]
SPANS = {"log": (0.125, 5), "sqrt": (0.125, 5), "box_cox": (0.125, 5), "normal_quantile": (0.001, 0.999)}


def fraction(number):
    return Fraction(int(number.p), int(number.q))


def fractions(enclosure):
    return Fraction(str(enclosure.low)), Fraction(str(enclosure.high))


def random_network(activation, seed, widths=(6, 4), gain=1.5):
    rng = np.random.default_rng(seed)
    sizes = [1, *widths, 1]
    weights = [(rng.normal(size=(b, a)) * gain / np.sqrt(a)).astype(np.float32) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b).astype(np.float32) for b in sizes[1:]]
    names = activation if isinstance(activation, list) else [activation] * len(widths)
    return SmoothNetwork(weights, biases, names), PlainNetwork(weights, biases, names)


def check_value(curve, plain, at, bits=64):
    low, high = fractions(curve.value(rational(at), bits))
    true = exactly(plain, at)
    assert low - CLOSE <= true <= high + CLOSE
    assert high - low < Fraction(1, 2 ** (bits - 8)) * max(1, abs(true))


@pytest.mark.parametrize("degree", [4, 5, 9])
def test_polynomials_of_high_degree_are_enclosed(degree):
    rng = np.random.default_rng(degree)
    pieces = [[Fraction(int(c), 8) for c in rng.integers(-9, 9, size=degree + 1)] for _ in range(2)]

    def plain(z):
        return sum(c * z**power for power, c in enumerate(pieces[z >= Fraction(1, 2)]))

    (curve,) = PiecewisePolynomial([Fraction(1, 2)], pieces).compile()
    doubled = combined([(fmpq(2), curve), (fmpq(1), PiecewisePolynomial([], [[1, 1]]).compile()[0])])
    assert len(doubled.chains.each) == 1  # one polynomial, not a sum of enclosures
    for low, high in ((-1, 1), (Fraction(1, 3), Fraction(5, 4)), (0, Fraction(1, 2))):
        found = curve.lowpoint(rational(low), rational(high), 64)
        places = [low + (high - low) * Fraction(k, 400) for k in range(401)]
        lowest = min(plain(Fraction(at)) for at in places)
        at = Fraction(str(found.at))
        assert Fraction(str(found.low)) <= lowest <= Fraction(str(found.high)) + Fraction(1, 10)
        assert low <= at <= high
        assert plain(at) <= Fraction(str(found.high))
        near = fractions(doubled.value(rational(at), 64))
        assert near[0] <= 2 * plain(at) + 1 + at <= near[1]


def check_lowest(curve, plain, low, high, count=200, bits=64):
    """The infimum is below every sample, is nearly attained at the place given, and that lies in the interval."""
    found = curve.lowpoint(rational(low), rational(high), bits)
    at = Fraction(str(found.at))
    assert Fraction(low) <= at <= Fraction(high)
    assert Fraction(str(found.low)) <= Fraction(str(found.high))
    assert exactly(plain, at) <= Fraction(str(found.high)) + CLOSE
    for place in samples(Fraction(low), Fraction(high), count):
        assert Fraction(str(found.low)) <= exactly(plain, place) + CLOSE
    return found


@pytest.mark.parametrize("name", KINDS)
def test_every_function_is_the_one_of_another_library(name):
    low, high = SPANS.get(name, (-30, 30))
    (curve,) = Smooth(name).compile()
    for place in samples(Fraction(low), Fraction(high), 41):
        check_value(curve, FUNCTIONS[name], place)
        check_value(curve, FUNCTIONS[name], place, bits=150)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("width", [0.01, 0.3, 2.0])
def test_taylor_coefficients_hold_over_a_ball(name, width):
    # The n-th divided difference of a function lies between the values of its n-th coefficient in between.
    low, high = SPANS.get(name, (-6, 6))
    rng = np.random.default_rng(5)
    function = SmoothFunction(name)
    for center in rng.uniform(low, high, size=12).tolist():
        ends = max(center - width, low), min(center + width, high)
        with working(96):
            balls = function.taylor(arb(ends[0]).union(arb(ends[1])))
        for _ in range(4):
            places = sorted(Fraction(x) for x in rng.uniform(*ends, size=4).tolist())
            table = [exactly(FUNCTIONS[name], place) for place in places]
            for order, ball in enumerate(balls):
                if order:
                    table = [(b - a) / (places[k + order] - places[k]) for k, (a, b) in enumerate(pairwise(table))]
                if ball.is_finite():
                    inside = fractions(Enclosure(*ends_of(ball)))
                    loose = CLOSE / min(b - a for a, b in pairwise(places)) ** 3
                    assert all(inside[0] - loose <= one <= inside[1] + loose for one in table)


def ends_of(ball):
    found = []
    for end in (ball.lower(), ball.upper()):
        mantissa, exponent = end.man_exp()
        found.append(fmpq(mantissa) * fmpq(2) ** int(exponent))
    return found


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_networks_are_enclosed(activation, seed):
    shape, plain = random_network(activation, seed)
    (curve,) = shape.compile()
    for place in samples(Fraction(-4), Fraction(4), 17):
        check_value(curve, plain, place)
    rng = np.random.default_rng(seed)
    for center, half in zip(rng.uniform(-2, 2, size=3), rng.uniform(0.05, 2, size=3), strict=True):
        found = check_lowest(curve, plain, Fraction(center - half), Fraction(center + half), count=60)
        assert found.high - found.low < fmpq(1, 2**50)


@pytest.mark.parametrize("activation", ["tanh", "elu", "selu", "gelu", "sine", ["relu", "tanh"]])
def test_cells_are_what_they_are_said_to_be(activation):
    shape, plain = random_network(activation, 3)
    (curve,) = shape.compile()
    kinds = set()
    for cell in curve.monotone.cells(fmpq(-2), fmpq(2), 64):
        kinds.add(cell.kind)
        places = samples(Fraction(str(cell.low)), Fraction(str(cell.high)), 7)
        values = [exactly(plain, place) for place in places]
        rises = [b - a for a, b in pairwise(values)]
        if cell.kind is Kind.RISES:
            assert min(rises) >= -CLOSE
        elif cell.kind is Kind.FALLS:
            assert max(rises) <= CLOSE
        elif cell.kind is not Kind.DOUBT:
            sign = 1 if cell.kind is Kind.VALLEY else -1
            assert min(sign * (b - a) for a, b in pairwise(rises)) >= -CLOSE
        if cell.bottom is not None:
            assert min(values) >= Fraction(str(cell.bottom)) - CLOSE
    assert kinds & {Kind.RISES, Kind.FALLS}


def test_an_infimum_is_refined_as_far_as_one_likes():
    shape, plain = random_network("tanh", 3)
    (curve,) = shape.compile()
    widths = []
    for bits in (64, 128, 200):
        found = check_lowest(curve, plain, Fraction(-2), Fraction(2), count=3, bits=bits)
        widths.append(found.high - found.low)
        assert widths[-1] < fmpq(2) ** (16 - bits)
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("name", ["tanh", "gelu", "softplus"])
def test_dead_and_saturated_units_end_soon(name):
    dead = SmoothNetwork([[[0.0]], [[2.0]]], [[0.5], [1.0]], name)
    far = SmoothNetwork([[[50.0]], [[1.0]]], [[0.0], [0.0]], name)
    for shape, weights, biases in (
        (dead, [[[0.0]], [[2.0]]], [[0.5], [1.0]]),
        (far, [[[50.0]], [[1.0]]], [[0.0], [0.0]]),
    ):
        (curve,) = shape.compile()
        check_lowest(curve, PlainNetwork(weights, biases, [name]), -200, 200, count=21)
        assert curve.monotone.looked < 400


def test_a_kink_at_its_lowest_place_is_found_by_halving():
    # |x - 1/3| by two units: no derivative has a sign around the corner.
    shape = SmoothNetwork([[[3.0], [-3.0]], [[1.0, 1.0]]], [[-1.0, 1.0], [0.0]], "relu")
    (curve,) = shape.compile()
    found = check_lowest(curve, lambda z: abs(3 * z - 1), -1, 2)
    assert found.high - found.low < fmpq(1, 2**40)
    assert abs(found.at - fmpq(1, 3)) < fmpq(1, 2**40)


@pytest.mark.parametrize("side", [1, -1])
def test_a_valley_that_turns_just_beyond_its_cell_is_lowest_at_the_end(side):
    # e^x - (1 - 10^-4)·x turns at log(1 - 10^-4), just left of 0, which Newton's first step did not tell.
    slope = 1 - Fraction(1, 10**4)
    shape = Smooth("exp") - PiecewiseLinear([0], [0], slope, slope)
    (curve,) = shape.rescaled(0, side).compile()
    (low, high), place = sorted([fmpq(0), fmpq(side, 8)]), sorted([fmpq(0), fmpq(side, 100)])
    found = curve.monotone.deepest(Cell(low, high, kind=Kind.VALLEY, place=tuple(place)), 64)
    assert found.at == 0
    assert found.low <= 1 <= found.high
    assert found.high - found.low < fmpq(1, 2**60)


@pytest.mark.parametrize("bits", [8, 24, 64, 130])
@pytest.mark.parametrize(("low", "high"), [(0, 7), (4, 5), (-2, -1), (-9, 40)])
def test_the_lowest_value_of_a_sine_is_minus_1(bits, low, high):
    # No sample comes so close to a minimum as to show a bound that is a little too high; here it is known.
    (curve,) = Smooth("sine").compile()
    found = curve.lowpoint(rational(low), rational(high), bits)
    assert found.low <= -1 <= found.high
    assert found.high - found.low < fmpq(4) / 2**bits


def test_a_sharp_turn_between_samples_is_not_missed():
    # A dip of depth 1 and width 10^-3 at 0.1234, and flat elsewhere.
    weights, biases = [[[20000.0], [20000.0]], [[-0.5, 0.5]]], [[-2458.0, -2478.0], [0.0]]
    (curve,) = SmoothNetwork(weights, biases, "tanh").compile()
    found = check_lowest(curve, PlainNetwork(weights, biases, ["tanh"]), -1, 1)
    assert abs(float(found.high) + 1) < 1e-4
    assert abs(float(found.at) - 0.1234) < 1e-3


def test_sums_multiples_and_other_units():
    shape, plain = random_network("silu", 4)
    cubic = PiecewisePolynomial([0], [[0, 1], [0, 1, 0, -1]])
    both = 2 * shape.rescaled(1, 0.5) - Smooth("log").rescaled(-3) + cubic
    (curve,) = both.compile()

    def sum_of(z):
        return 2 * plain((z - 1) * 2) - FUNCTIONS["log"](z + 3) + z - (z**3 if z > 0 else 0)

    for place in samples(Fraction(-2), Fraction(3), 11):
        check_value(curve, sum_of, place)
    check_lowest(curve, sum_of, -2, 2)


def test_outputs_of_one_network_are_read_at_once():
    shape = SmoothNetwork([[[1.0], [2.0]], [[1.0, 0.0], [0.0, 1.0]]], [[0.0, 1.0], None], "tanh")
    first, second = shape.compile()
    both = combined([(fmpq(1), first), (fmpq(-1), second)])
    assert len(both.chains.each) == 1
    check_value(both, lambda z: FUNCTIONS["tanh"](z) - FUNCTIONS["tanh"](2 * z + 1), Fraction(1, 3))


def test_compositions():
    line = PiecewiseLinear([-1, 0, 2], [1, 0, 3], -1, -2)
    (curve,) = Composed(line, Smooth("log")).compile()

    def bent(z):
        y = FUNCTIONS["log"](z)
        return -y if y < 0 else y * 3 / 2 if y < 2 else 3 - 2 * (y - 2)

    for place in samples(Fraction(1, 8), Fraction(20), 23):
        check_value(curve, bent, place)
    found = check_lowest(curve, bent, Fraction(1, 4), 5)
    assert abs(float(found.at) - 1) < 1e-9
    network, plain = random_network("tanh", 5)
    (inside,) = Composed(network, Smooth("sqrt")).compile()
    check_lowest(inside, lambda z: plain(FUNCTIONS["sqrt"](z)), Fraction(1, 8), 9)


def test_jumps_before_a_smooth_function():
    steps = Steps([0, 1], [Fraction(1, 4), Fraction(3, 4), Fraction(1, 2)])
    (curve,) = Composed(Smooth("normal_quantile"), steps).compile()

    def stepped(z):
        return FUNCTIONS["normal_quantile"](0.25 if z < 0 else 0.75 if z < 1 else 0.5)

    check_lowest(curve, stepped, -1, 2)
    check_lowest(curve, stepped, 0, 2)
    found = check_lowest(curve, stepped, Fraction(1, 4), Fraction(1, 2))
    assert float(found.low) == pytest.approx(0.6744897501960817)


def test_a_limit_that_is_not_attained_counts_as_a_bound_only():
    falls = PiecewiseLinear([0], [0], 0, 0) + Steps([1], [0, 5], closed="left") - PiecewiseLinear([0, 1], [0, 1])
    (curve,) = Composed(Smooth("tanh"), falls).compile()  # falls to tanh(-1) at 1, and is tanh(4) there

    def plain(z):
        inner = -min(max(z, 0), 1) + (5 if z >= 1 else 0)
        return FUNCTIONS["tanh"](inner)

    found = check_lowest(curve, plain, 0, 1)
    assert found.at < 1
    assert float(found.low) == pytest.approx(-0.7615941559557649)


def test_values_of_a_table_over_a_smooth_shape():
    table = Table({0: -7, "none": 2}, otherwise=Smooth("tanh"))
    (curve,) = table.compile()
    assert float(curve.value("none", 64)) == 2
    assert float(curve.value(rational(0), 64)) == -7
    found = curve.lowpoint(fmpq(-1), fmpq(1), 64)
    assert (float(found.high), found.at) == (-7, 0)
    assert float(curve.lowpoint(fmpq(1, 2), fmpq(1), 64).high) == pytest.approx(0.46211715726)


def test_integers():
    (curve,) = SmoothNetwork([[[1.0]], [[1.0]]], [[0.3], [0.0]], "sine").compile()
    for low, high in ((-9, 9), (0, 2), (3, 3), (-20, 4)):
        found = curve.lowpoint(rational(low), rational(high), 64, is_integers=True)
        values = {k: exactly(lambda z: FUNCTIONS["sine"](z + 0.3), Fraction(k)) for k in range(low, high + 1)}
        best = min(values, key=values.get)
        assert found.at == best
        assert Fraction(str(found.low)) <= values[best] + CLOSE
        assert values[best] - Fraction(str(found.low)) < Fraction(1, 2**50)


@pytest.mark.parametrize("bad", [0, -1])
def test_where_there_is_no_value_nothing_is_said(bad):
    (curve,) = Smooth("log").compile()
    with pytest.raises(ModelError) as error:
        curve.value(rational(bad), 64)
    assert "has no value" in sentence(error)


@pytest.mark.parametrize(("shape", "low", "high"), [
    (-1 * Smooth("box_cox", -0.5), fmpq(1), None),
    (Smooth("exp") - 2 * Smooth("yeo_johnson", 1.5), None, None),
])  # fmt: skip
def test_a_domain_without_an_end_is_refused(shape, low, high):
    (curve,) = shape.compile()
    with pytest.raises(ModelError) as error:
        curve.lowpoint(low, high, 64)
    assert "give the feature a domain" in sentence(error)


@pytest.mark.parametrize(("shape", "low", "high", "lowest"), [
    (Smooth("tanh"), fmpq(1), None, 0.7615941559557649),  # rises for ever
    (Smooth("log") + 3 * Smooth("sqrt"), fmpq(1), None, 3.0),
    (Composed(Smooth("normal_quantile"), PiecewiseLinear([0, 1], [0.25, 0.75])), None, None, -0.6744897501960817),
    (-1 * Smooth("yeo_johnson", 0.5), fmpq(0), None, None),  # falls beyond all bounds
    (-1 * Smooth("log"), fmpq(1), None, None),
    (Smooth("yeo_johnson", 1), None, fmpq(3), None),
])  # fmt: skip
def test_a_way_out_that_is_known_needs_no_end(shape, low, high, lowest):
    (curve,) = shape.compile()
    found = curve.lowpoint(low, high, 64)
    if lowest is None:
        assert found.low is None
        assert found.high < -700
    else:
        assert float(found.low) == pytest.approx(lowest, abs=1e-12)
        assert float(found.high) == pytest.approx(lowest, abs=1e-12)


BAD = {
    "unknown smooth function": lambda: Smooth("tangent"),
    "must be above 0": lambda: SmoothFunction("elu", -1),
    "takes no parameter": lambda: SmoothFunction("tanh", 1),
    "one output": lambda: Composed(Smooth("log"), Steps([0], [[1, 2], [3, 4]])),
    "sum or a table": lambda: Composed(Smooth("log"), Smooth("exp") + Smooth("sqrt")).compile(),
    "table over a smooth": lambda: Composed(Table({0: 1}, otherwise=Smooth("log")), Smooth("exp")).compile(),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_shapes(words):
    with pytest.raises(ShapeError) as error:
        BAD[words]()
    assert words in sentence(error)


@pytest.mark.parametrize("name", LINES)
def test_activations_are_as_near_their_lines_as_is_said(name):
    """The one bound of `far.py`, against many digits: at its tightest, near 1, and far out."""
    for side, (slope, offset) in zip((-1, 1), LINES[name], strict=True):
        for k in range(240):
            z = side * (1 + Fraction(k, 16) + Fraction(k**3, 10**5))
            bound = exactly(lambda x: 2 * (1 + abs(x)) * mp.exp(-abs(x)), z)
            value, near = exactly(FUNCTIONS[name], z), fraction(slope) * z + fraction(offset)
            assert abs(value - near) <= bound + CLOSE


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_far_out_networks_are_lines_within_what_is_known(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sizes = [1, 4, 3, 1]
        weights = [rng.normal(size=(b, a)).astype(np.float32) for a, b in pairwise(sizes)]
        weights[1][0] = 0  # a unit that stays where it is
        biases = [rng.normal(size=b).astype(np.float32) for b in sizes[1:]]
        (curve,), plain = SmoothNetwork(weights, biases, name).compile(), PlainNetwork(weights, biases, [name] * 2)
        for side in (-1, 1):
            with working(72):
                start, (slope, ball) = curve.chains.far(side, fmpq(1), 40)
                offset = of_ball(ball)
            assert name == "sine" or offset.width < fmpq(1, 2**38)
            for k in range(25):
                at = fraction(start) * (1 + Fraction(k, 5) + Fraction(k**5, 50))
                rest = exactly(plain, at) - fraction(slope) * at
                assert fraction(offset.low) - CLOSE * abs(at) <= rest <= fraction(offset.high) + CLOSE * abs(at)
            low, high = (None, fmpq(2)) if side < 0 else (fmpq(-2), None)
            found = curve.lowpoint(low, high, 40)
            inside = [Fraction(-2 * side) + side * Fraction(k * k, 7) for k in range(60)]
            beyond = [fraction(start) * k for k in (Fraction(1, 9), Fraction(1, 2), 1, 2, 9, 10**6)]
            places = [x for x in (*inside, *beyond) if (x <= 2 if side < 0 else x >= -2)]
            lowest = min(exactly(plain, x) for x in places)
            where = fraction(found.at)
            assert exactly(plain, where) <= fraction(found.high) + CLOSE * max(1, abs(where))
            if found.low is None:
                assert curve.falls_for_ever(side < 0, side > 0) == side
            else:
                assert curve.falls_for_ever(side < 0, side > 0) == 0
                assert fraction(found.low) - CLOSE * 10**9 * abs(fraction(start)) <= lowest


@pytest.mark.parametrize(("shape", "low", "high", "limit"), [
    (Smooth("tanh"), None, fmpq(1), -1),  # falls towards -1, and never gets there
    (-2 * Smooth("tanh"), fmpq(1), None, -2),
    (Smooth("sigmoid").rescaled(3, -2), fmpq(1), None, 0),
    (Smooth("silu") - Smooth("softplus"), fmpq(1), None, None),  # near 0 far out, below it before
])  # fmt: skip
def test_limits_that_are_not_attained_are_lower_ends(shape, low, high, limit):
    (curve,) = shape.compile()
    found = curve.lowpoint(low, high, 64)
    assert found.high - found.low <= fmpq(1, 2**50)
    if limit is not None:
        assert found.low <= limit < curve.value(found.at, 256).high


@pytest.mark.parametrize(
    ("shape", "low", "high"),
    [
        (-1 * Smooth("log"), "-1/2", 2),  # falls over all of it: what is lowest is where it has a value
        (-1 * Smooth("log"), 0, 2),
        (Smooth("sqrt"), -1, 1),
        (-1 * Smooth("normal_quantile"), "1/2", 1),
        (Smooth("box_cox", 2), "-1/2", "1/2"),
        (-1 * Composed(Smooth("log"), PiecewiseLinear([0], [-1], -1, 1)), -2, 2),  # -log(|x| - 1)
        (Table({0: 5}, otherwise=-1 * Composed(Smooth("log"), PiecewiseLinear([0], [-1], -1, 1))), -2, 2),
    ],
)
def test_there_is_no_infimum_where_there_is_no_value(shape, low, high):
    (curve,) = shape.compile()
    for is_integers in (False, True):
        with pytest.raises(ModelError) as error:
            curve.lowpoint(rational(low), rational(high), 40, is_integers=is_integers)
        assert "has no value" in sentence(error)


def test_a_value_may_be_given_where_a_function_has_none():
    (curve,) = Table({0: 5}, otherwise=-1 * Smooth("log")).compile()
    found = curve.lowpoint(rational(0), rational(2), 40)
    assert abs(float(found.high) + np.log(2)) < 1e-9


@pytest.mark.parametrize("at", ["1e9", "1e17", "-1e9", "-1e17"])
def test_exponentials_that_no_memory_can_hold_are_not_written_down(at):
    (curve,) = (Smooth("exp") + Smooth("gelu")).compile()
    if rational(at) > 0:
        with pytest.raises(ModelError):
            curve.value(rational(at), 64)
        return
    found = curve.value(rational(at), 64)
    assert found.low <= 0 <= found.high < found.low + fmpq(1, 2**1000)
