"""Functions put together by adapters, against plain evaluation."""

from fractions import Fraction

import numpy as np
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from suffice.adapters.assemble import compose, to_shape
from suffice.numbers.enclosure import middle
from suffice.numbers.exact import ZERO, rational
from suffice.shapes import Pieces, SmoothNetwork
from suffice.shapes.combining import combined

small = st.fractions(min_value=-4, max_value=4, max_denominator=4).map(lambda f: fmpq(f.numerator, f.denominator))


@st.composite
def functions(draw):
    """Any function of pieces, with jumps and lonely points; often flat."""
    knots = sorted(draw(st.sets(small, max_size=4)))
    numbers = st.one_of(st.just(ZERO), small)
    many = [draw(numbers) for _ in range(3 * len(knots) + 2)]
    n = len(knots)
    return Pieces.tidy(knots, many[: n + 1], many[n + 1 : 2 * n + 2], many[2 * n + 2 :])


def places(*functions):
    knots = {Fraction(int(k.p), int(k.q)) for one in functions for k in one.knots}
    near = {knot + Fraction(step, 97) for knot in knots for step in (-1, 0, 1)} | {
        Fraction(k, 3) for k in range(-30, 31)
    }
    return [fmpq(at.numerator, at.denominator) for at in sorted(near)]


@given(st.lists(functions(), min_size=1, max_size=3))
def test_a_shape_is_the_functions_it_was_made_of(parts):
    compiled = to_shape(parts, {"missing": [fmpq(7)] * len(parts)}).compile()
    for one, again in zip(parts, compiled, strict=True):
        assert again.labels == {"missing": 7}
        assert (again.knots, again.slopes, again.offsets, again.values) == (
            one.knots,
            one.slopes,
            one.offsets,
            one.values,
        )


@given(functions(), functions())
def test_a_composition_is_one_function_after_the_other(outer, inner):
    both = compose(outer, inner)
    for at in places(inner, both):
        assert both(at) == outer(inner(at))


def test_a_smooth_network_is_a_shape_again():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(4, 1)), rng.normal(size=(4, 4)), rng.normal(size=(2, 4))]
    network = SmoothNetwork(weights, [rng.normal(size=4), None, None], "tanh", skips={2: 1})
    first, second = network.compile()
    both = combined([(rational(3), first), (rational("-1/3"), second)])
    found = to_shape([first, both.rescaled(rational(1), rational(2))]).compile()
    for at in (rational(-2), rational("1/3"), rational(7)):
        inner = (at - 1) / 2
        wanted = first.value(at, 96), both.value(inner, 96)
        for one, other in zip(found, wanted, strict=True):
            assert abs(middle(one.value(at, 96)) - middle(other)) < rational("1/1000000000000")
