from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import infimum_by_sampling
from strategies import small_rationals

from suffice import MISSING, PiecewiseLinear, ShapeError, Steps, Table
from suffice.numbers.exact import ONE, rational, to_fraction
from suffice.shapes.pieces import Pieces, combine


@st.composite
def jumping(draw):
    """A shape with jumps, the same as a plain function, and the places where it is not affine."""
    places = sorted(draw(st.sets(small_rationals, min_size=1, max_size=4)))
    values = [draw(small_rationals) for _ in places]
    left, right = draw(small_rationals), draw(small_rationals)
    cuts = sorted(draw(st.sets(st.sampled_from(places) | small_rationals, max_size=3)))
    steps = [draw(st.sampled_from([Fraction(0), Fraction(1), Fraction(-2)])) for _ in range(len(cuts) + 1)]
    closed = draw(st.sampled_from(["left", "right"]))
    codes = draw(st.dictionaries(small_rationals, small_rationals, max_size=2))
    center, scale = draw(small_rationals), draw(small_rationals.filter(bool))
    factor = draw(st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(0)]))
    line, step = PiecewiseLinear(places, values, left, right), Steps(cuts, steps, closed)
    shape = Table(codes, otherwise=(line + step).rescaled(center, scale)) * factor

    def line_at(z):
        if z <= places[0]:
            return values[0] + left * (z - places[0])
        if z >= places[-1]:
            return values[-1] + right * (z - places[-1])
        k = max(k for k, place in enumerate(places) if place <= z)
        return values[k] + (values[k + 1] - values[k]) * (z - places[k]) / (places[k + 1] - places[k])

    def function(x):
        if x in codes:
            return factor * codes[x]
        z = (x - center) / scale
        below = sum(cut <= z if closed == "left" else cut < z for cut in cuts)
        return factor * (line_at(z) + steps[below])

    critical = {*codes, *(place * scale + center for place in (*places, *cuts))}
    return shape, function, critical


def test_the_example_of_an_infimum_that_is_not_attained():
    falling = PiecewiseLinear([0], [0], left_slope=-1, right_slope=-1) + Steps(
        [1], [0, 1]
    )  # -x below 1, 1 - x from there
    (pieces,) = falling.compile()
    found = pieces.infimum(rational(0), rational(1))
    assert (found.value, found.is_approached, found.at, found.side) == (rational(-1), True, rational(1), -1)
    near = pieces.point_below(found, rational("-0.999"), rational(0), rational(1))
    assert pieces(near) <= rational("-0.999")
    assert near < 1


@given(jumping(), small_rationals)
def test_values(case, x):
    shape, function, critical = case
    (pieces,) = shape.compile()
    for place in (x, *critical):
        assert to_fraction(pieces(rational(place))) == function(place)


@given(jumping(), small_rationals, small_rationals, st.fractions(min_value=0, max_value=1, max_denominator=10))
def test_infimum_over_an_interval(case, low, high, above):
    shape, function, critical = case
    low, high = min(low, high), max(low, high)
    (pieces,) = shape.compile()
    found = pieces.infimum(rational(low), rational(high))
    value, is_attained = infimum_by_sampling(function, critical, low, high)
    assert (to_fraction(found.value), found.is_approached) == (value, not is_attained)
    if is_attained or above:
        near = to_fraction(pieces.point_below(found, rational(value + above), rational(low), rational(high)))
        assert low <= near <= high
        assert function(near) <= value + above


@given(jumping(), st.none() | small_rationals, st.none() | small_rationals, small_rationals)
def test_infimum_over_an_interval_without_end(case, low, high, target):
    shape, function, critical = case
    if low is not None and high is not None:
        low, high = min(low, high), None
    (pieces,) = shape.compile()
    found = pieces.infimum(*(None if end is None else rational(end) for end in (low, high)))
    # Far out nothing happens any more: two far points on each open side tell whether the function falls for ever.
    reach = max([abs(end) for end in (low, high, *critical) if end is not None], default=0) + 1
    first, last = (-reach if low is None else low), (reach if high is None else high)
    falls = (low is None and function(first - 1) < function(first)) or (
        high is None and function(last + 1) < function(last)
    )
    assert found.is_bounded == (not falls)
    if falls:
        ends = [None if end is None else rational(end) for end in (low, high)]
        assert function(to_fraction(pieces.point_below(found, rational(target), *ends))) <= target
    else:
        value, is_attained = infimum_by_sampling(function, critical, first, last)
        assert (to_fraction(found.value), found.is_approached) == (value, not is_attained)


@given(jumping(), st.integers(-6, 6), st.integers(0, 9))
def test_on_integers_keeps_the_minimum_over_integers(case, low, count):
    shape, function, _ = case
    (pieces,) = shape.compile()
    found = pieces.on_integers.infimum(rational(low), rational(low + count))
    assert to_fraction(found.value) == min(function(Fraction(n)) for n in range(low, low + count + 1))
    at = to_fraction(found.at)
    assert (found.side, found.is_approached) == (0, False)
    assert at.denominator == 1
    assert low <= at <= low + count
    assert function(at) == to_fraction(found.value)


@given(jumping())
def test_equal_functions_have_equal_pieces(case):
    shape, _, _ = case
    nothing = (shape - shape).compile()
    assert nothing == (Pieces.affine(rational(0), rational(0)),)
    assert (shape + shape).compile() == (shape * 2).compile()
    opposite = -shape
    assert (-opposite).compile() == shape.compile()


@example(Fraction(1), Fraction(2))
@given(small_rationals, small_rationals.filter(bool))
def test_rescaling_and_back(center, scale):
    shape = PiecewiseLinear([0, 1], [0, 5], right_slope=2) + Steps([1], [0, 1], closed="right")
    there = shape.rescaled(center, scale)
    assert there.rescaled(-center / scale, 1 / scale).compile() == shape.compile()


def test_labels_add_up_where_both_know_them():
    first = Table({"a": 1, "b": 2, MISSING: 3})
    second = Table({"b": 10, "c": 20, MISSING: 30})
    (pieces,) = (first + second * "0.5").compile()
    assert pieces.labels == {"b": rational(7), MISSING: rational(18)}
    assert (first + second).support.labels == ("b", MISSING)


def test_nothing_in_common_cannot_be_added():
    with pytest.raises(ShapeError, match="no number or label where all have a value"):
        Table({"a": 1}) + Table({"b": 1})


def test_a_thousand_summands_are_one_sum():
    total = Steps([0], [0, 1])
    for k in range(1, 1500):
        total = total + Steps([k], [0, 1])
    (pieces,) = total.compile()
    assert pieces(rational("999.5")) == 1000
    assert len(pieces.knots) == 1500


def test_several_outputs():
    shape = Steps([0], [[1, 2], [3, 4]]) + PiecewiseLinear([0], [[0, 0]], right_slope=[1, -1])
    low, high = shape.compile()
    assert [low(rational(2)), high(rational(2))] == [rational(5), rational(2)]


def anew(function):
    """The same function, of which nothing is known yet."""
    return Pieces(function.knots, function.slopes, function.offsets, function.values, function.labels)


@given(jumping(), jumping(), st.booleans())
def test_what_sums_take_over_from_their_parts_is_what_they_would_find(one, other, is_whole):
    first, second = (shape.compile()[0] for shape in (one[0], other[0]))
    if is_whole:
        first, second = first.on_integers, second.on_integers
    for found in (combine([(ONE, first), (-ONE, second)]), combine([(ONE, first), (-ONE, first)]), first.negated):
        plain = anew(found)
        assert found.on_integers == plain.on_integers
        assert all((mine == theirs).all() for mine, theirs in zip(found.near, plain.near, strict=True))
        assert found.infimum(rational(-3), rational(4)) == plain.infimum(rational(-3), rational(4))
