"""The pieces that the checker computes are the shapes of the model file: values and limits, by plain evaluation."""

import random
from fractions import Fraction
from itertools import pairwise

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainNetwork
from strategies import networks
from wild import model as wild_model

from suffice import AdditiveModel, Domain, Feature, ReluNetwork, Steps, SufficeError
from suffice.model.writing import to_bytes
from suffice_check.domain import Span
from suffice_check.model import read_model
from suffice_check.network import Activation, Network, Tensor, read_layer
from suffice_check.ordered import Number, ceil, floor, times, total
from suffice_check.shapes import NoValueError

PLACES = st.fractions(-6, 6, max_denominator=7)


def feature_of(shape, **options):
    model = AdditiveModel([shape], 0, "regression", [Feature("x", Domain.reals(), **options)])
    return read_model(to_bytes(model)).features[0]


@settings(max_examples=150)
@given(networks(outputs=1), PLACES, st.fractions(0, 5, max_denominator=3), st.lists(PLACES, min_size=1, max_size=8))
def test_networks_are_their_pieces_within_every_interval(parts, low, length, inner):
    weights, biases, activations, skips = parts
    plain = PlainNetwork(*parts)
    feature = feature_of(ReluNetwork(weights, biases, activations, skips=skips))
    for ends in ((low, low + length), (None, low), (low, None), (None, None)):
        pieces = feature.shape.pieces(*ends)
        inside = [x for x in (*inner, low, low + length, *pieces.knots) if _is_between(x, *ends)]
        for x in inside:
            (want,) = plain(x)
            assert pieces.cell(x, 0).at(x) == (want,)
            for side in (-1, 1):  # a network is continuous, and affine up to the next knot
                if _is_between(x + side * Fraction(1, 10**9), *ends):
                    assert pieces.cell(x, side).at(x) == (want,)
        knots = [x for x in sorted({*inside, *pieces.knots}) if _is_between(x, *ends)]
        for a, b in pairwise(knots):
            if not any(a < knot < b for knot in pieces.knots):
                (middle,) = plain((a + b) / 2)
                assert pieces.cell((a + b) / 2, 0).at((a + b) / 2) == (middle,)


def _is_between(x, low, high):
    return (low is None or low <= x) and (high is None or x <= high)


@pytest.mark.parametrize("seed", range(60))
def test_every_shape_is_its_pieces(seed):
    """By the library's own pieces, which are made in another way: at knots, beside them and in between."""
    rng = random.Random(seed)
    try:
        model, _ = wild_model(rng)
    except SufficeError:
        return
    read = read_model(to_bytes(model))
    for feature, compiled in zip(read.features, model.compile(10_000), strict=True):
        low = Fraction(rng.randint(-12, 4), 2)
        pieces = feature.shape.pieces(low, low + rng.randint(0, 9))
        high = low + 9
        for x in [low + Fraction(k, 4) for k in range(36)] + [knot for knot in pieces.knots if low <= knot <= high]:
            if not feature.domain.holds(Number(x)) or not _is_between(x, low, high):
                continue
            try:
                got = feature.part(Number(x))
            except NoValueError:
                pytest.fail(f"no value at {x}")
            assert list(got) == [_fraction(one(_rational(x))) for one in compiled]


def _rational(x):
    return fmpq(x.numerator, x.denominator)


def _fraction(value):
    return Fraction(int(value.p), int(value.q))


def test_a_line_beside_a_number_is_that_of_its_side():
    """Just beyond the end of a region the shape bends: falls there are those of the piece on that side."""
    relu = Activation([Fraction(0)], [[Fraction(0)], [Fraction(1)]], [Fraction(0), Fraction(0)])
    bent = Network(
        [read_layer(Tensor("F64", (1, 1), (1.0,)), None, relu), read_layer(Tensor("F64", (1, 1), (1.0,)), None)], {}
    )
    zero = Fraction(0)
    assert [bent.pieces(zero - 1, zero + 1).cell(zero, side).slopes for side in (-1, 1)] == [(0,), (1,)]
    assert bent.pieces(zero, zero + 1).cell(zero, 1).slopes == (1,)
    assert bent.pieces(zero - 1, zero).cell(zero, -1).slopes == (0,)
    assert bent.pieces(zero, zero).cell(zero, 0).at(zero) == (0,)
    jump = feature_of(Steps([0], [1, 2], closed="right")).shape.pieces(zero, zero)
    assert [jump.cell(zero, side).at(zero) for side in (-1, 0, 1)] == [(1,), (1,), (2,)]


NUMBERS = st.builds(Number, st.fractions(-3, 3, max_denominator=3), st.integers(-2, 2))


@given(NUMBERS, NUMBERS, st.integers(-4, 4))
def test_ordered_numbers_are_those_of_every_small_number(a, b, whole):
    """`value + edge · ε` compares as with any small enough number in place of ε."""
    tiny = Fraction(1, 10**6)

    def at(one):
        return one.value + one.edge * tiny

    assert (a < b) == (at(a) < at(b))
    assert at(total([a, b])) == at(a) + at(b)
    assert at(times(Fraction(2, 3), a)) == at(a) * Fraction(2, 3)
    assert (floor(a) >= whole) == (at(a) >= whole)
    assert (ceil(a) <= whole) == (at(a) <= whole)
    assert Span(a, b, False).holds(Number(Fraction(whole))) == (at(a) <= whole <= at(b))
