"""Shapes of two variables: what they mean, against plain functions, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from builders import RISING, sentence
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainNetwork
from strategies import networks, small_rationals

import suffice
from suffice import MISSING, Bins, PairLinear, PairSteps, PiecewiseLinear, Product, ReluNetwork, Steps, Table
from suffice.numbers.exact import rational, to_fraction
from suffice.shapes.shape import PieceBudget

KEYS = ["red", MISSING, Fraction(-9), Fraction(1)]
cuts = st.lists(st.sampled_from([Fraction(k, 2) for k in range(-4, 5)]), unique=True, max_size=4).map(sorted)
PLACES = [Fraction(k, 4) for k in range(-10, 11)] + [Fraction(-9)]


def exact(value):
    return rational(value) if isinstance(value, Fraction) else value


@st.composite
def bins(draw):
    """Cuts or none, keys, which side."""
    keys = draw(st.lists(st.sampled_from(KEYS), unique=True, max_size=3))
    places = draw(cuts) if not keys or draw(st.booleans()) else None
    sides = st.sampled_from(["left", "right"])
    each = st.lists(sides, min_size=len(places or ()), max_size=len(places or ()))
    return places, keys, draw(st.one_of(sides, each))


def bin_of(given, value):
    """Which bin a value is in, found the plain way; None where it has none."""
    places, keys, closed = given
    first = 0 if places is None else len(places) + 1
    if value in keys:
        return first + keys.index(value)
    if places is None or not isinstance(value, Fraction):
        return None
    sides = [closed] * len(places) if isinstance(closed, str) else closed
    return sum(value >= place if side == "left" else value > place for place, side in zip(places, sides, strict=True))


def table(draw, rows, columns, outputs=1):
    entries = st.lists(small_rationals, min_size=rows * columns * outputs, max_size=rows * columns * outputs)
    return np.array(draw(entries), dtype=object).reshape(rows, columns, outputs)


@given(st.data(), bins(), bins(), st.integers(1, 2))
def test_a_table_has_the_value_of_the_two_bins(data, first, second, outputs):
    ours = [Bins(*one) for one in (first, second)]
    values = table(data.draw, len(ours[0]), len(ours[1]), outputs)
    shape = PairSteps(ours[0], ours[1], values)
    compiled = shape.compile()
    assert shape.outputs == len(compiled) == outputs
    for x in [*PLACES, *KEYS]:
        for y in [*PLACES, *KEYS]:
            i, j = bin_of(first, x), bin_of(second, y)
            is_inside = [
                (isinstance(v, Fraction) and (s.is_everywhere or exact(v) in s.points)) or v in s.labels
                for v, s in zip((x, y), shape.supports, strict=True)
            ]
            assert is_inside == [i is not None, j is not None]
            if all(is_inside):
                found = [to_fraction(one(exact(x), exact(y))) for one in compiled]
                assert found == list(values[i, j])


@given(st.data(), bins(), bins())
def test_a_compiled_table_can_be_written_as_one_again(data, first, second):
    ours = [Bins(*one) for one in (first, second)]
    values = table(data.draw, len(ours[0]), len(ours[1]), 2)
    keys = [one.keys if one.cuts is None else None for one in ours]
    shape = PairSteps(ours[0], ours[1], values)
    again = PairSteps.of_pieces(shape.compile(), keys)
    for (wide, near), own in zip(zip(shape.supports, again.supports, strict=True), keys, strict=True):
        assert (wide.is_everywhere, set(wide.labels)) == (near.is_everywhere, set(near.labels))
        assert own is None or wide.points == near.points
    pairs = list(zip(shape.compile(), again.compile(), strict=True))
    for x in [*PLACES, *KEYS]:
        for y in [*PLACES, *KEYS]:
            if bin_of(first, x) is not None and bin_of(second, y) is not None:
                assert all(one(exact(x), exact(y)) == other(exact(x), exact(y)) for one, other in pairs)


def line(knots, x):
    """Weights of the knots at a place: the plain way, one case after the other."""
    weights = [Fraction(0)] * len(knots)
    if x <= knots[0]:
        weights[0] = Fraction(1)
    elif x >= knots[-1]:
        weights[-1] = Fraction(1)
    else:
        k = next(k for k in range(len(knots)) if knots[k] <= x < knots[k + 1])
        share = (x - knots[k]) / (knots[k + 1] - knots[k])
        weights[k], weights[k + 1] = 1 - share, share
    return weights


@given(st.data(), cuts.filter(bool), cuts.filter(bool))
def test_a_bilinear_grid_goes_through_its_points_and_is_constant_beyond(data, rows, columns):
    values = table(data.draw, len(rows), len(columns))
    (pieces,) = PairLinear(rows, columns, values).compile()
    for x in PLACES:
        for y in PLACES:
            across, along = line(rows, x), line(columns, y)
            expected = sum(a * b * values[i, j, 0] for i, a in enumerate(across) for j, b in enumerate(along))
            assert to_fraction(pieces(exact(x), exact(y))) == expected


@given(networks(outputs=1), cuts, st.data(), st.sampled_from(["left", "right"]))
def test_a_product_is_the_product_everywhere(network, places, data, closed):
    values = data.draw(st.lists(small_rationals, min_size=len(places) + 1, max_size=len(places) + 1))
    keyed = Table({"red": 3, -9: "1/2"}, otherwise=Steps(places, values, closed))
    plain = PlainNetwork(*network)
    (pieces,) = Product(ReluNetwork(*network), keyed).compile()
    for x in PLACES:
        (height,) = plain(x)
        for y in [*PLACES, "red"]:
            other = {"red": Fraction(3), Fraction(-9): Fraction(1, 2)}.get(y)
            other = values[bin_of((places, [], closed), y)] if other is None else other
            assert to_fraction(pieces(exact(x), exact(y))) == height * other


def test_sums_multiples_and_scalings_are_what_they_say():
    first, second = PairSteps([0], [0], [[1, 2], [3, 4]]), Product(RISING, RISING)
    shape = (first + 2 * second - first * "1/2").rescaled((1, 2), (-2, 3))
    (pieces,) = shape.compile()
    for x in PLACES:
        for y in PLACES:
            u, v = (x - 1) / -2, (y - 2) / 3
            step = [[1, 2], [3, 4]][u >= 0][v >= 0]
            assert to_fraction(pieces(exact(x), exact(y))) == Fraction(step, 2) + 2 * u * v
    (negative,) = (-first).compile()
    assert negative(exact(Fraction(0)), exact(Fraction(0))) == -4


def test_a_table_of_entries_needs_every_combination():
    made = PairSteps.of_entries({("red", 1): 5, ("red", MISSING): 6, ("blue", MISSING): 7, ("blue", 1): 8})
    (pieces,) = made.compile()
    assert [int(pieces(a, b).p) for a in ("red", "blue") for b in (rational(1), MISSING)] == [5, 6, 8, 7]
    with pytest.raises(suffice.ShapeError, match=r"no value for \('blue', 1\)"):
        PairSteps.of_entries({("red", 1): 5, ("blue", MISSING): 7, ("red", MISSING): 6})


def test_hundreds_of_small_trees_are_summed_in_one_pass():
    trees = [PairSteps([Fraction(k, 7)], [Fraction(-k, 3)], [[0, k], [-k, 1]]) for k in range(400)]
    total = sum(trees[1:], trees[0])
    assert len(total.parts) == 400
    (pieces,) = total.compile()
    for x, y in ((Fraction(0), Fraction(0)), (Fraction(50), Fraction(-100)), (Fraction(500, 7), Fraction(-1))):
        expected = sum([[0, k], [-k, 1]][x >= Fraction(k, 7)][y >= Fraction(-k, 3)] for k in range(400))
        assert to_fraction(pieces(exact(x), exact(y))) == expected


def test_too_many_cells_are_refused_before_they_are_made():
    fine = Steps([Fraction(k, 3) for k in range(300)], range(301))
    with pytest.raises(suffice.CellBudgetError, match=r"'a' and 'b' have 301 × 301 cells.*= 90000") as error:
        Product(fine, fine).compile(PieceBudget(900, "'a' and 'b'"))
    sentence(error)
    cross = PairSteps(range(400), [], [[k] for k in range(401)]) + PairSteps([], range(400), [list(range(401))])
    with pytest.raises(suffice.CellBudgetError, match="401 × 401"):
        cross.compile(PieceBudget(900, "x"))
    Product(fine, fine).compile()


SHAPES = [
    (lambda: Bins(), "there are no bins"),
    (lambda: Bins([1, 1]), r"cuts\[0\] = 1 is followed by 1"),
    (lambda: Bins(keys=["a", "a"]), "'a' is listed twice"),
    (lambda: Bins(keys=[1, 1.0]), "1 is listed twice"),
    (lambda: Bins(keys="ab"), "keys must be a list"),
    (lambda: Bins([1], keys=[math.nan]), "a key of bins: nan"),
    (lambda: Bins([1], closed="both"), "closed must be"),
    (lambda: Bins([1], closed=["left", "both"]), "closed must be"),
    (lambda: Bins([1], closed=["left", "right"]), "closed lists 2 sides for 1 cuts"),
    (lambda: Bins([1], closed=5), "closed must be"),
    (lambda: PairSteps([0], [0], [[1, 2]]), "values needs 2 rows.*got 1"),
    (lambda: PairSteps([0], [0], [[1, 2], [3]]), r"values\[1\] needs 2 entries.*got 1"),
    (lambda: PairSteps([0], [0], [[1, 2], [3, "x"]]), r"values\[1\]\[1\]: 'x' is not a number"),
    (lambda: PairSteps([0], [0], [[1, 2], [3, [4, 5]]]), r"same number of outputs, got \[1, 2\]"),
    (lambda: PairSteps([0], [0], [[1, 2], [3, []]]), "is empty"),
    (lambda: PairSteps([0], [0], [[1, 2], [3, math.inf]]), "inf"),
    (lambda: PairSteps([0], [0], 5), "values must be a list"),
    (lambda: PairSteps(5, [0], [[1, 2]]), "rows must be a list"),
    (lambda: PairSteps([0], [0], [5, 6]), r"values\[0\] must be a list"),
    (lambda: PairSteps.of_entries({"ab": 1}), "pairs of values"),
    (lambda: PairSteps.of_entries([]), "pairs of values"),
    (lambda: PairSteps.of_entries({}), "there are no bins"),
    (lambda: PairLinear([], [0], []), "rows needs one knot"),
    (lambda: PairLinear([1, 0], [0], [[1], [2]]), "rows must increase"),
    (lambda: Product(RISING, 5), "got a int"),
    (lambda: Product(RISING, Steps([], [[1, 2]])), "1 and 2 outputs"),
    (lambda: PairSteps([0], [0], [[1, 2], [3, 4]]).rescaled((0, 0), (1, 0)), "scale of 0"),
    (lambda: PairSteps([0], [0], [[1, 2], [3, 4]]).rescaled(1, 1), "centers must be two numbers"),
    (lambda: PairSteps([], [], [[1]]) + PairSteps([], [], [[[1, 2]]]), "1 and 2 outputs"),
    (lambda: PairSteps([], Bins(keys=["a"]), [[1]]) + PairSteps([], [], [[1]]), "no number or label"),
]


@pytest.mark.parametrize(("build", "words"), SHAPES, ids=lambda v: v if isinstance(v, str) else "given")
def test_shapes_that_make_no_sense_get_one_sentence(build, words):
    with pytest.raises(suffice.ShapeError, match=words) as error:
        build()
    sentence(error)


def test_shapes_of_one_and_of_two_variables_do_not_add_up():
    with pytest.raises(TypeError):
        PairSteps([], [], [[1]]) + PiecewiseLinear([0], [0])
