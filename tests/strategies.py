"""Generated input, made to be awkward: ties, zeros, subnormals, weights of very different size."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from suffice.drops import INFINITE, Constraint, Drop
from suffice.rational import rational

awkward_floats = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1 / 3, 5e-324, -5e-324, 1e-40, 1e30, -1e30, 2.0**-30]),
    st.integers(-4, 4).map(float),
    st.floats(-3, 3, width=32),
)
small_rationals = st.fractions(min_value=-4, max_value=4, max_denominator=6)
activation_names = st.sampled_from(["relu", "relu1", "relu6", "leaky_relu", "hard_tanh", "abs", "identity"])


@st.composite
def networks(draw, outputs=None):
    """Arguments of a small network: weights, biases, activations, skips."""
    depth = draw(st.integers(0, 3))
    widths = [1, *(draw(st.integers(1, 4)) for _ in range(depth)), outputs or draw(st.integers(1, 2))]
    kind = draw(st.sampled_from([np.float16, np.float32, np.float64]))
    numbers = awkward_floats if kind is np.float64 else awkward_floats.filter(lambda v: abs(v) < 1e4)
    weights = [
        np.array(draw(st.lists(st.lists(numbers, min_size=i, max_size=i), min_size=o, max_size=o)), dtype=kind)
        for i, o in itertools.pairwise(widths)
    ]
    biases = [
        draw(st.none() | st.lists(numbers, min_size=o, max_size=o).map(lambda b: np.array(b, dtype=kind)))
        for o in widths[1:]
    ]
    activations = [draw(activation_names) for _ in range(depth)]
    pairs = [(to, source) for to in range(1, depth + 2) for source in range(to) if widths[to] == widths[source]]
    skips = dict([draw(st.sampled_from(pairs))]) if pairs and draw(st.booleans()) else {}
    return weights, biases, activations, skips


@st.composite
def constraints(draw, most=9):
    """A margin and drops with many ties, some only approached, some infinite."""
    sizes = st.sampled_from(
        [Fraction(0), Fraction(1), Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**20 + 1, 10**20)]
    )
    drops = draw(st.lists(st.tuples(sizes, st.booleans(), st.integers(0, 9)), max_size=most))
    is_strict = draw(st.booleans())
    exact = tuple(
        INFINITE if rare == 0 else Drop(False, rational(v), 0 if a or not v else -1) for v, a, rare in drops
    )
    some = draw(st.lists(st.sampled_from(drops), max_size=most)) if drops else []
    margin = sum((value for value, _, _ in some), Fraction(0)) + (
        Fraction(1, 7) if is_strict and draw(st.booleans()) else 0
    )
    if is_strict and margin == 0:
        margin = Fraction(1)
    return Constraint(rational(margin), exact, is_strict)
