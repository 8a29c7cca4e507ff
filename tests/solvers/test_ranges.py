"""Widest ranges over domains whose spans overlap, touch or interleave, against walking from value to value."""

from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from suffice import AdditiveModel, AtLeast, Domain, Explainer, Feature, Steps, Table

GRID = [Fraction(k, 4) for k in range(-8, 33)]  # every number at which something can happen, and those in between


@st.composite
def domains(draw):
    """Spans as plain data: ends and whether they are integers."""
    ends = st.integers(-4, 16).map(lambda k: Fraction(k, 2))
    spans = draw(st.lists(st.tuples(ends, ends, st.booleans()), min_size=1, max_size=4))
    spans = [(min(a, b), max(a, b), whole) for a, b, whole in spans]
    return [one for one in spans if not one[2] or any(one[0] <= k <= one[1] for k in range(-3, 9))]


def holds(spans, x):
    return any(low <= x <= high and (not whole or x.denominator == 1) for low, high, whole in spans)


def joined(spans):
    found = None
    for low, high, whole in spans:
        part = (Domain.integers if whole else Domain.interval)(low, high)
        found = part if found is None else found | part
    return found


def level(cuts, values, points, x):
    """A step function with other values at some points."""
    return points.get(x, values[sum(x >= cut for cut in cuts)])


SHAPES = st.tuples(
    st.lists(st.integers(-3, 15).map(lambda k: Fraction(k, 2)), max_size=4, unique=True).map(sorted),
    st.lists(st.integers(-3, 3), min_size=5, max_size=5),
    st.dictionaries(st.integers(-3, 15).map(lambda k: Fraction(k, 2)), st.integers(-3, 3), max_size=3),
)


@settings(max_examples=300, deadline=None)
@given(domains().filter(len), SHAPES, st.data())
@example(
    [(Fraction(0), Fraction(3), True), (Fraction(1), Fraction(8), False)], ([], [1] * 5, {Fraction(3, 2): -3}), None
)
@example(
    [(Fraction(0), Fraction(3), True), (Fraction(1), Fraction(2), False)], ([], [1] * 5, {Fraction(3, 2): -3}), None
)
@example([(Fraction(0), Fraction(2), False), (Fraction(2), Fraction(5), True)], ([], [1] * 5, {Fraction(4): -3}), None)
@example([(Fraction(0), Fraction(1), False), (Fraction(1), Fraction(2), False)], ([], [1] * 5, {}), None)
def test_a_range_over_overlapping_spans_is_the_widest_around_the_value(spans, shape, data):
    cuts, values, points = shape
    values = values[: len(cuts) + 1]
    inside = [x for x in GRID if holds(spans, x)]
    x = inside[0] if data is None else data.draw(st.sampled_from(inside))
    low = min(level(cuts, values, points, x), 0)
    table = Table(points, otherwise=Steps(cuts, values)) if points else Steps(cuts, values)
    model = AdditiveModel([table], task="regression", features=[Feature("a", joined(spans))])
    inflated = Explainer(model).inflate([x], 0, features=["a"], claim=AtLeast(low), unit="raw")
    range_ = inflated.ranges["a"]

    def is_good(y):
        return level(cuts, values, points, y) >= low

    # The grid is so fine that between two of its numbers nothing of the domain or the function begins or ends.
    good = [y for y in inside if is_good(y)]
    for side in (1, -1):
        ahead = sorted((y for y in inside if (y - x) * side > 0), key=lambda y: (y - x) * side)
        reached = next((k for k, y in enumerate(ahead) if not is_good(y)), len(ahead))
        assert all(y in range_ for y in ahead[:reached])
        assert not any(y in range_ for y in ahead[reached : reached + 1])
    assert x in range_
    assert all(y in good for y in inside if y in range_)
    assert not range_.is_integers or all(
        y.denominator == 1 for y in inside if (range_.low or x) <= y <= (range_.high or x)
    )
