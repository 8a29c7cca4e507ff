"""Generated input, made to be awkward: ties, zeros, subnormals, weights of very different size."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from suffice.drops import INFINITE, Constraint, Drop
from suffice.preferences import Choices
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
    exact = tuple(INFINITE if rare == 0 else Drop(False, rational(v), 0 if a or not v else -1) for v, a, rare in drops)
    some = draw(st.lists(st.sampled_from(drops), max_size=most)) if drops else []
    margin = sum((value for value, _, _ in some), Fraction(0)) + (
        Fraction(1, 7) if is_strict and draw(st.booleans()) else 0
    )
    if is_strict and margin == 0:
        margin = Fraction(1)
    return Constraint(rational(margin), exact, is_strict)


@st.composite
def systems(draw, most=8, at_most=None):
    """Up to four constraints over some features, with many ties."""
    count, rows = draw(st.integers(0, most)), draw(st.integers(1, 4))
    sizes = st.sampled_from([Fraction(k, 3) for k in (0, 1, 3, 5, 6, 9)])
    infinite = st.just(INFINITE)
    # A drop of 0 is always attained: by the row itself.
    finite = st.builds(
        lambda value, is_attained: Drop(False, rational(value), 0 if is_attained or not value else -1),
        sizes,
        st.booleans(),
    )
    any_drop = st.integers(0, 15).flatmap(lambda rare: infinite if rare == 0 else finite)
    constraints = []
    for _ in range(rows):
        is_strict = draw(st.booleans())
        drops = tuple(draw(any_drop) for _ in range(count))
        margin = draw(
            st.sampled_from([Fraction(0), Fraction(1), Fraction(3), Fraction(4), Fraction(8), Fraction(10, 3)])
        )
        constraints.append(Constraint(rational(margin + (is_strict and margin == 0)), drops, is_strict, at_most))
    return constraints


@st.composite
def choices(draw, count):
    """Some groups, costs and wishes over so many features; what must be freed may break a constraint."""
    features = list(range(count))
    items = []
    while features:
        size = draw(st.sampled_from([1, 1, 1, 2, 3]))
        items.append(tuple(features[:size]))
        features = features[size:]
    costs = tuple(draw(st.sampled_from([1, 1, 2, 3, 7])) for _ in items)
    if draw(st.booleans()):
        costs = (1,) * len(items)
    wishes = [draw(st.sampled_from(["open"] * 6 + ["keep", "free"])) for _ in items]
    keep = frozenset(k for k, wish in enumerate(wishes) if wish == "keep")
    free = frozenset(k for k, wish in enumerate(wishes) if wish == "free")
    return Choices(tuple(items), costs, keep, free)
