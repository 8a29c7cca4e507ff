"""Networks in floats against exact rationals and 200 bits of flint: every bound is attacked where it is tight."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, fmpq

from suffice import AdditiveModel, Domain, Explainer, Feature, SmoothFunction, SmoothNetwork, Status
from suffice.numbers.enclosure import working
from suffice.shapes import float_network
from suffice.shapes.combining import combined
from suffice.shapes.float_network import FLOAT_PRECISION, _bins, _function, _plus, _sums, _times
from suffice.shapes.float_tables import BINS, FARTHEST, float_table

NAMES = ["tanh", "sigmoid", "silu", "gelu", "gelu_tanh", "mish", "sine", "softplus", "elu", "celu", "selu", "exp"]
FUNCTIONS = [SmoothFunction(name) for name in NAMES] + [SmoothFunction("elu", 0.5), SmoothFunction("softplus", 3)]


def exact(value):
    return Fraction(float(value))


def awkward(rng):
    """A middle and a radius, of all sizes, with and without digits to round."""
    middle = float(
        rng.choice([rng.normal(), rng.normal() * 10.0 ** rng.integers(-300, 150), 0.0, 1.0, 5e-324, 2**-540])
    )
    return middle, abs(float(rng.choice([0.0, rng.normal() * 1e-3, abs(middle) * 2**-53, abs(middle), 5e-324])))


def test_balls_are_multiplied_and_added_outwards():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        (a, r), (b, s) = awkward(rng), awkward(rng)
        for found, ends in (
            (_times(a, r, b, s), [x * y for x in _ends(a, r) for y in _ends(b, s)]),
            (_plus(a, r, b, s), [x + y for x in _ends(a, r) for y in _ends(b, s)]),
        ):
            middle, radius = map(exact, found)
            assert all(abs(end - middle) <= radius for end in ends)


def _ends(middle, radius):
    return exact(middle) - exact(radius), exact(middle) + exact(radius)


def test_sums_are_charged_for_every_rounding():
    rng = np.random.default_rng(1)
    for count in (1, 2, 7, 300):
        weights = rng.normal(size=(count, 3)) * 10.0 ** rng.integers(-8, 8, size=(count, 3))
        bias = rng.normal(size=3)
        inputs = rng.normal(size=(1, count))
        inputs[0, -1] = -float(weights[:-1, 0] @ inputs[0, :-1]) / weights[-1, 0]  # so that little is left of the sum
        spans = np.abs(rng.normal(size=(1, count))) * 1e-12
        middles, radii = np.empty((1, 3)), np.empty((1, 3))
        _sums(weights.ravel(), 0, bias, 0, inputs, spans, middles, radii)
        for i in range(3):
            for sign in (-1, 1):
                each = zip(inputs[0], spans[0], weights[:, i], strict=True)
                ends = [exact(x) + sign * _sign(w) * exact(s) for x, s, w in each]
                true = exact(bias[i]) + sum(exact(w) * x for w, x in zip(weights[:, i], ends, strict=True))
                assert abs(true - exact(middles[0, i])) <= exact(radii[0, i])


def _sign(number):
    return 1 if number >= 0 else -1


def packed(function):
    stage = SmoothNetwork([[[1.0]], [[1.0]]], [[0.0], [0.0]], function)._floats.packed
    assert stage is not None
    return stage


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_tabulated_functions_hold_their_coefficients(function):
    rng, net = np.random.default_rng(2), packed(function)
    edges = rng.integers(-FARTHEST * BINS + 1, FARTHEST * BINS - 1, size=30) / BINS
    near = [np.nextafter(0, 1), -np.nextafter(0, 1), 0.0, 1e-17, -1e-17, *edges, *np.nextafter(edges, 99)]
    places = [(float(m), 0.0) for m in near] + [(float(rng.uniform(-38, 38)), 0.0) for _ in range(60)]
    places += [(float(rng.normal() * 3), float(10.0 ** rng.uniform(-14, 0.5))) for _ in range(60)]
    out = np.empty((2, 4))
    with working(200):
        for middle, radius in places:
            _function(net, 0, middle, radius, 4, out)
            ends = [arb(middle) + arb(radius) * share for share in (-1, 0, arb(0.37), 1)]
            for z in ends:
                for k, true in enumerate(function.taylor(z)):
                    assert_holds(out[0, k], out[1, k], true)


def assert_holds(middle, radius, true):
    """No number of the true ball is surely out of the found one."""
    if np.isfinite(radius):
        assert not abs(true - arb(float(middle))) > arb(float(radius))


def test_tables_are_as_close_as_floats_allow():
    for function in FUNCTIONS:
        table = float_table(function)
        near = table.errors[(FARTHEST - 4) * BINS : (FARTHEST + 4) * BINS, 0]
        assert np.median(near) < 1e-14


def test_a_ball_beyond_the_table_is_unknown():
    for middle, radius in ((40.0, 0.0), (39.9, 0.2), (-41.0, 1.0), (np.nan, 0.0), (0.0, np.nan), (0.0, np.inf)):
        assert _bins(middle, radius) == (-1, -1, -1)


def network(activation, rng, scale=1.0, skips=None):
    sizes = [1, 3, 3, 3, 2]
    weights = [rng.normal(size=(b, a)) * scale / np.sqrt(a) for a, b in pairwise(sizes)]
    biases = [rng.normal(size=b) * scale for b in sizes[1:]]
    return SmoothNetwork(weights, biases, activation, skips)


@pytest.mark.parametrize("function", FUNCTIONS[:-1], ids=repr)
@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_jets_of_networks_hold_those_at_every_point(function, scale):
    rng = np.random.default_rng(3)
    for skips in ({}, {2: 1, 3: 1}):
        shape = network(function, rng, scale, skips)
        curve = combined(zip((fmpq(1), fmpq(1, 3)), shape.compile(), strict=True))  # a third is no float
        for _ in range(3):
            low = fmpq(int(rng.integers(-96, 96)), 32)
            high = low + fmpq(1, 2 ** int(rng.integers(0, 20)))
            with working(FLOAT_PRECISION):
                found, value = curve.chains.jet(low, high), curve.chains.value(low)
            with working(200):
                assert not abs(value - curve.chains.value(low)) > 0
                middle = curve.chains.jet((low + high) / 2, (low + high) / 2).middle
                assert all(near.overlaps(true) for near, true in zip(found.middle, middle, strict=True))
                for share in (fmpq(0), fmpq(1, 3), fmpq(7, 8), fmpq(1)):
                    at = low + share * (high - low)
                    for near, true in zip(found.cell, curve.chains.jet(at, at).middle, strict=True):
                        assert near.overlaps(true) or not near.is_finite()


def test_floats_are_used_where_few_bits_are_asked_for(monkeypatch):
    curve = network("tanh", np.random.default_rng(4)).compile()[0]
    asked = []
    monkeypatch.setattr(
        float_network, "_forward", lambda *given: asked.append(1) or np.full((2, len(given[1])), np.nan)
    )
    near = curve.value(fmpq(1, 3), 40)
    assert asked == [1]
    assert near.width < fmpq(1, 2**40)  # NaN: nothing was known, and flint was asked
    asked.clear()
    curve.value(fmpq(1, 3), 64)
    assert asked == []


def test_networks_that_floats_cannot_hold_are_decided_all_the_same():
    # Weights whose products overflow, and inputs far beyond the tables.
    huge = SmoothNetwork([[[1e200]], [[1e200]], [[1.0]]], [[0.0], [0.0], [0.0]], "tanh")
    far = SmoothNetwork([[[300.0]], [[1.0]]], [[0.0], [0.0]], "tanh")
    features = [Feature(name, domain=Domain.interval(-2, 2)) for name in "ab"]
    explainer = Explainer(AdditiveModel([huge, far], -Fraction(3, 2), features=features))
    why = explainer.explain([1, 1], radius=0.5, unit="raw")
    assert why.status is Status.PROVEN
    assert why.features == ()
