"""The tables' error bounds, against plain fractions."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import infimum_by_sampling

import suffice
from suffice.batch import kernel
from suffice.batch.plan import make_plan

heights = st.one_of(st.integers(-3, 3), st.floats(-1e6, 1e6), st.sampled_from([1e-300, 1e200, 1 / 3, 0.1]))
places = st.one_of(st.integers(-5, 5), st.floats(-1e3, 1e3), st.sampled_from([1e-12, 1 + 2**-52, 1 / 3]))


@st.composite
def broken_lines(draw):
    knots = sorted(draw(st.sets(places, min_size=1, max_size=6)))
    return knots, [draw(heights) for _ in knots], draw(heights), draw(heights)


def value_at(line, x):
    knots, values, left, right = (
        [Fraction(v) for v in part] if isinstance(part, list) else Fraction(part) for part in line
    )
    if x <= knots[0]:
        return values[0] + left * (x - knots[0])
    for k in range(1, len(knots)):
        if x <= knots[k]:
            share = (x - knots[k - 1]) / (knots[k] - knots[k - 1])
            return values[k - 1] + share * (values[k] - values[k - 1])
    return values[-1] + right * (x - knots[-1])


@settings(max_examples=80)
@given(broken_lines(), st.sampled_from([0.5, 0.1, 3, 1e-7, 1e4]), st.lists(places, min_size=1, max_size=12), st.data())
def test_values_and_drops_are_off_by_no_more_than_their_bounds(line, radius, rows, data):
    knots, values, left, right = line
    shape = suffice.PiecewiseLinear(knots, values, left_slope=left, right_slope=right)
    explainer = suffice.Explainer(suffice.AdditiveModel([shape], 0, "regression"))
    question = explainer.question(radius, claim=suffice.AtLeast(-(10**320)), unit="raw")
    plan = make_plan(explainer.compiled, question)
    marks = [knot + sign * radius for knot in knots for sign in (-1, 0, 1)]
    rows = [*rows, data.draw(st.sampled_from(marks)), math.nextafter(data.draw(st.sampled_from(marks)), math.inf)]
    cells, vague = np.array([rows], dtype=float), np.zeros((0, 0), dtype=bool)
    entry, drops, bounds, _ = kernel.scratch_of(*cells.shape)
    sums, off, _, _ = kernel.measure(plan.tables, plan.sides, cells, vague, entry, drops, bounds)
    for k, x in enumerate(map(Fraction, map(float, rows))):
        value = value_at(line, x)
        if math.isnan(sums[k]):
            continue  # left to exact arithmetic
        assert abs(Fraction(sums[k]) - value) <= Fraction(off[k])
        places_ = [Fraction(knot) for knot in knots]
        low, _ = infimum_by_sampling(lambda t: value_at(line, t), places_, x - Fraction(radius), x + Fraction(radius))
        assert abs(Fraction(drops[0, k]) - (value - low)) <= Fraction(bounds[0, k])


def test_a_plain_row_is_not_left_to_exact_arithmetic():
    rng = np.random.default_rng(0)
    shapes = [suffice.PiecewiseLinear(np.sort(rng.normal(size=20)), rng.normal(size=20)) for _ in range(12)]
    explainer = suffice.Explainer(suffice.AdditiveModel(shapes, 0.1))
    result = explainer.explain_batch(rng.normal(size=(500, 12)), radius=0.3, unit="raw")
    assert not result.was_exact.any()
    assert len(set(result.sizes.tolist())) > 5


def test_a_float_is_on_one_side_of_a_break_that_is_no_float_and_text_may_be_on_either():
    third = suffice.Steps([Fraction(1, 3)], [-1, 1])
    explainer = suffice.Explainer(suffice.AdditiveModel([third, third], 0))
    below, above = 1 / 3, math.nextafter(1 / 3, 1)
    assert Fraction(below) < Fraction(1, 3) < Fraction(above)
    short = "0.33333333333333333"  # below a third and above its float, to which all three are rounded
    assert float(short) == below < Fraction(short) < Fraction(1, 3)
    rows = [[below, below], [above, above], [0.25, 0.5], [short, short], ["1/3", "1/3"]]
    result = explainer.explain_batch(np.array(rows, dtype=object), radius=0, unit="raw")
    assert result.was_exact.tolist() == [False, False, True, True, True]  # a score of 0 is not settled by bounds either
    assert result.predictions.tolist() == [0, 1, 1, 0, 1]
    tenth = suffice.Steps([Fraction(1, 10)], [-1, 1])  # whose float is above it
    assert Fraction(math.nextafter(0.1, 0)) < Fraction(1, 10) < Fraction(0.1)
    explainer = suffice.Explainer(suffice.AdditiveModel([tenth], 0))
    result = explainer.explain_batch(np.array([[0.1], [math.nextafter(0.1, 0)]]), radius=0, unit="raw")
    assert (result.predictions.tolist(), result.was_exact.any()) == ([1, 0], False)


def test_numbers_far_out_are_answered():
    line = suffice.PiecewiseLinear([0], [0], left_slope=1, right_slope=1)
    explainer = suffice.Explainer(suffice.AdditiveModel([line, line], 0))
    rows = np.array([[1e9, 1.0], [1e280, 1.0], [-1e300, 5.0], [1e308, 1e308]])
    result = explainer.explain_batch(rows, radius=2, unit="raw")
    assert [why.fixed for why in result] == [result.fixed_of(k) for k in range(4)]
    assert result.was_exact.tolist() == [False, True, True, True]
