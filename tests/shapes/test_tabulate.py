import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import PlainNetwork
from strategies import networks, small_rationals

from suffice import Activation, PieceBudgetError, ReluNetwork
from suffice.numbers.exact import rational, to_fraction
from suffice.shapes import PieceBudget
from suffice.shapes.near_values import FloatLayer, near_values

CROSSING_AT_OLD_KNOT = ([[[1.0], [1.0]], [[1.0, -1.0]], [[1.0]]], [[0.0, 0.0], [0.0], [0.0]], ["relu", "relu"], {})
TWO_UNITS_ONE_PLACE = ([[[1.0], [2.0], [-1.0]], [[1.0, 1.0, 1.0]]], [[-1.0, -2.0, 1.0], None], ["relu"], {})
ALL_ZERO = ([[[0.0], [0.0]], [[0.0, 0.0]]], [None, None], ["relu"], {})
ZERO_ON_A_STRETCH = ([[[1.0]], [[-1.0]], [[1.0]]], [[0.0], [0.0], [1.0]], ["relu", "leaky_relu"], {})
SUBNORMAL = ([[[5e-324]], [[1e300]], [[1e30]]], [[5e-324], [-1e-20], [0.0]], ["relu", "hard_tanh"], {})


@settings(max_examples=300)
@given(networks(), st.lists(small_rationals, min_size=1, max_size=5))
@example(CROSSING_AT_OLD_KNOT, [Fraction(0), Fraction(1)])
@example(TWO_UNITS_ONE_PLACE, [Fraction(1), Fraction(2)])
@example(ALL_ZERO, [Fraction(1)])
@example(ZERO_ON_A_STRETCH, [Fraction(-1), Fraction(1)])
@example(SUBNORMAL, [Fraction(-1), Fraction(10**9)])
def test_pieces_have_the_values_of_the_network(network, points):
    weights, biases, activations, skips = network
    plain = PlainNetwork(weights, biases, activations, skips)
    compiled = ReluNetwork(weights, biases, activations, skips).compile()
    assert len(compiled) == len(weights[-1])
    knots = {to_fraction(knot) for pieces in compiled for knot in pieces.knots}
    for x in (*points, *knots, *(knot + Fraction(1, 10**6) for knot in knots)):
        assert [to_fraction(pieces(rational(x))) for pieces in compiled] == plain(x)


@settings(max_examples=150)
@given(networks(outputs=1), small_rationals, small_rationals)
@example(CROSSING_AT_OLD_KNOT, Fraction(-1), Fraction(1))
@example(TWO_UNITS_ONE_PLACE, Fraction(0), Fraction(1))  # a region that ends on a knot
@example(TWO_UNITS_ONE_PLACE, Fraction(1), Fraction(2))
@example(SUBNORMAL, Fraction(-1), Fraction(1))
def test_minimum_over_an_interval_equals_the_walk(network, low, high):
    low, high = min(low, high), max(low, high)
    weights, biases, activations, skips = network
    (pieces,) = ReluNetwork(weights, biases, activations, skips).compile()
    found = pieces.infimum(rational(low), rational(high))
    plain = PlainNetwork(weights, biases, activations, skips)
    assert to_fraction(found.value) == plain.minimum(low, high)
    assert (found.side, found.is_approached) == (0, False)
    assert plain(to_fraction(found.at)) == [to_fraction(found.value)]


@given(networks(outputs=1))
def test_every_knot_is_a_corner_and_no_two_are_equal(network):
    weights, biases, activations, skips = network
    (pieces,) = ReluNetwork(weights, biases, activations, skips).compile()
    assert all(a < b for a, b in zip(pieces.knots, pieces.knots[1:], strict=False))
    assert all(a != b for a, b in zip(pieces.slopes, pieces.slopes[1:], strict=False))


def test_slopes_may_differ_from_unit_to_unit():
    slopes = np.array([0.25, -0.5], dtype=np.float32)
    (pieces,) = ReluNetwork(
        [[[1.0], [1.0]], [[1.0, 1.0]]], [[0.0, -1.0], None], Activation.leaky_relu(slopes)
    ).compile()
    # below 0 both leak, between 0 and 1 only the second does
    assert pieces.knots == (rational(0), rational(1))
    assert pieces.slopes == (rational(-0.25), rational(0.5), rational(2))


def test_an_activation_without_thresholds_need_not_be_the_identity():
    double = Activation("double", (), np.array([[2.0, 0.5]]), np.array([3.0]))
    (pieces,) = ReluNetwork([[[1.0], [1.0]], [[1.0, 1.0]]], [None, None], double).compile()
    assert (pieces.knots, pieces.slopes, pieces.offsets) == ((), (rational(2.5),), (rational(6),))


def test_a_hard_tanh_with_other_ends_clips_there():
    (pieces,) = ReluNetwork([[[1.0]], [[1.0]]], [None, None], Activation.hard_tanh(-0.25, 3.0)).compile()
    assert [pieces(rational(x)) for x in (-9, 0, 2, 9)] == [rational(x) for x in (-0.25, 0, 2, 3)]


@pytest.mark.parametrize("shared", [False, True])
def test_exponential_units(shared):
    exponents = np.array([[0.0], [-2.5], [1.0]], dtype=np.float32)
    bias = np.array([0.3] if shared else [0.3, -0.1, 0.2], dtype=np.float32)
    out = np.array([[1.0, -2.0, 0.5]], dtype=np.float32)
    (pieces,) = ReluNetwork([exponents, out], [bias, None], "relu1", exu=True).compile()
    # numpy's float64 exp, rounded to float32, is the correctly rounded value for these three
    grown = [Fraction(float(np.float32(np.exp(float(w))))) for w in exponents[:, 0]]
    plain = PlainNetwork([exponents, out], [bias, None], ["relu1"], exu=grown)
    for x in (Fraction(k, 7) for k in range(-20, 30)):
        assert [to_fraction(pieces(rational(x)))] == plain(x)


def saw(depth):
    """Network of two units a layer that folds [0, 1] onto itself again and again: 2^depth teeth."""
    fold = [[[2.0], [4.0]], [[2.0, -4.0], [2.0, -4.0]]]
    first = [[[1.0], [1.0]]]
    middle = [[[2.0, -4.0], [2.0, -4.0]]] * (depth - 1)
    biases = [[0.0, -0.5]] * depth
    return ReluNetwork([*first, *middle, fold[1][:1]], [*biases, [0.0]])


def test_the_number_of_pieces_can_double_with_every_layer():
    (pieces,) = saw(6).compile()
    assert len(pieces.knots) == 2**6 + 1


def test_too_many_pieces_stop_early_and_name_the_feature():
    began = time.process_time()
    with pytest.raises(PieceBudgetError, match=r"'wavy'.*max_pieces = 500.*layer 9") as caught:
        saw(60).compile(PieceBudget(500, "wavy"))
    assert (caught.value.feature, caught.value.budget, caught.value.layer) == ("wavy", 500, 9)
    assert time.process_time() - began < 60  # 2^60 pieces would take for ever; this is a guard, not a measurement


def test_pieces_agree_with_pytorch_on_ten_thousand_points():
    torch = pytest.importorskip("torch", reason="compares with PyTorch's forward pass")
    torch.manual_seed(0)
    sizes = [1, 64, 64, 32, 3]
    layers = []
    for i, o in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(i, o), torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers[:-1])
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    compiled = ReluNetwork([layer.weight for layer in linear], [layer.bias for layer in linear]).compile()
    points = torch.linspace(-5, 5, 10_000, dtype=torch.float32)
    with torch.no_grad():
        theirs = module(points[:, None]).numpy()
    ours = np.array([[float(to_fraction(pieces(rational(x)))) for pieces in compiled] for x in points.tolist()])
    assert np.abs(ours - theirs).max() < 1e-5
    with torch.no_grad():
        double = module.double()(points.double()[:, None]).numpy()
    assert np.abs(ours - double).max() < 1e-12


def _pieces(network):
    weights, biases, activations, skips = network
    return ReluNetwork(weights, biases, activations, skips).compile()


@settings(max_examples=60)
@given(networks())
@example(CROSSING_AT_OLD_KNOT)
@example(ZERO_ON_A_STRETCH)
@example(SUBNORMAL)
def test_pieces_are_the_same_where_floats_tell_no_sign(network):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("suffice.shapes.tabulate.near_values", lambda *_: None)
        exactly = _pieces(network)
    assert _pieces(network) == exactly


@pytest.mark.parametrize("seed", range(4))
def test_signs_in_floats_are_told_only_where_they_are_so(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    sizes = [1, 24, 16, 16, 2]
    weights = [rng.normal(size=(b, a)).astype(np.float32) for a, b in itertools.pairwise(sizes)]
    biases = [rng.normal(size=b).astype(np.float32) for b in sizes[1:]]
    weights[1][5], biases[1][5] = weights[1][4], biases[1][4]  # a unit twice,
    weights[2][:, 5] = -weights[2][:, 4]  # so that both cancel
    biases[2][3] = np.nextafter(biases[2][2], np.float32(9))  # and one that is nearly another
    weights[2][3] = weights[2][2]
    network = (weights, biases, ["relu", "leaky_relu" if seed % 2 else "relu", "hard_tanh"], {})
    found, told = _pieces(network), []

    def near(*given):
        told.append(near_values(*given))
        assert told[-1] is not None
        return

    monkeypatch.setattr("suffice.shapes.tabulate.near_values", near)
    assert _pieces(network) == found
    plain = PlainNetwork(weights[:3], biases[:3], ["relu", "leaky_relu" if seed % 2 else "relu"], {})
    monkeypatch.undo()
    layers = [FloatLayer.of(layer) for layer in ReluNetwork(*network)._integer_layers()][:3]
    points = [Fraction(float(at)) for at in rng.normal(size=20) * 10 ** rng.uniform(-3, 3, size=20)] + [Fraction(1, 3)]
    values, errors = near_values(layers, {}, [rational(point) for point in points])
    for k, point in enumerate(points):
        for value, error, exactly in zip(values[:, k], errors[:, k], plain(point), strict=True):
            assert abs(Fraction(float(value)) - exactly) <= Fraction(float(error))
            assert error < 1e-6 * max(1, abs(value))
