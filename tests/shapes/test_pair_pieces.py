"""Functions of two variables against a list of boxes, looked through one by one."""

from fractions import Fraction
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from suffice import MISSING
from suffice.numbers.exact import rational, to_fraction
from suffice.shapes.axis import Axis, Cut, united
from suffice.shapes.pair_pieces import PairPieces, combine_pairs, grid

PLACES = [Fraction(k, 2) for k in range(-3, 4)]
POINTS = [*PLACES, *(place + Fraction(1, 4) for place in PLACES), Fraction(-9), Fraction(9)]
NAMES = ["red", "blue", MISSING]
NUMBERS = [Fraction(0), Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(5, 2)]
small = st.sampled_from(NUMBERS)


@st.composite
def axes(draw):
    cuts = draw(st.sets(st.tuples(st.sampled_from(PLACES), st.integers(0, 1)), max_size=4))
    labels = draw(st.sets(st.sampled_from([0, 1, 2]), max_size=3))
    return sorted(cuts), [NAMES[k] for k in sorted(labels)]


class Plain:
    """A function of two variables as a list of boxes, each with its polynomial. Shares no code with ours."""

    def __init__(self, first, second, boxes):
        self.first, self.second, self.boxes = first, second, boxes

    @staticmethod
    def cell(axis, value):
        cuts, labels = axis
        if value in labels:
            return len(cuts) + 1 + labels.index(value)
        return sum(value > place if side else value >= place for place, side in cuts)

    def __call__(self, x, y):
        c, a, b, d = self.boxes[self.cell(self.first, x), self.cell(self.second, y)]
        x, y = (0 if value in NAMES else value for value in (x, y))
        return c + a * x + b * y + d * x * y


@st.composite
def functions(draw, is_steps=None):
    first, second = draw(axes()), draw(axes())
    is_steps = draw(st.booleans()) if is_steps is None else is_steps
    boxes, tables, chance = {}, [[], [], [], []], Random(draw(st.integers(0, 2**32)))
    for i in range(len(first[0]) + 1 + len(first[1])):
        rows = [[], [], [], []]
        for j in range(len(second[0]) + 1 + len(second[1])):
            has = i <= len(first[0]), j <= len(second[0])
            c, a, b, d = (chance.choice(NUMBERS) for _ in range(4))
            a, b, d = a * (has[0] and not is_steps), b * (has[1] and not is_steps), d * (all(has) and not is_steps)
            boxes[i, j] = c, a, b, d
            for row, number in zip(rows, boxes[i, j], strict=True):
                row.append(number)
        for table, row in zip(tables, rows, strict=True):
            table.append(row)
    ours = [Axis(tuple(Cut(rational(t), s) for t, s in cuts), tuple(labels)) for cuts, labels in (first, second)]
    c, a, b, d = (grid(table) for table in tables)
    pieces = PairPieces((ours[0], ours[1]), c) if is_steps else PairPieces((ours[0], ours[1]), c, (a, b), d)
    return Plain(first, second, boxes), pieces


def inputs(*plains):
    """All points and the labels that each function knows."""
    for side in ("first", "second"):
        known = [name for name in NAMES if all(name in getattr(plain, side)[1] for plain in plains)]
        yield [*POINTS, *known]


def exact(value):
    return value if value in NAMES else rational(value)


def same(pieces, expected, *plains):
    xs, ys = inputs(*plains)
    for x in xs:
        for y in ys:
            assert to_fraction(pieces(exact(x), exact(y))) == expected(x, y), (x, y)


@given(functions())
def test_values_are_those_of_the_boxes(both):
    plain, pieces = both
    same(pieces, plain, plain)
    same(pieces.tidied(), plain, plain)
    same(pieces.transposed().transposed(), plain, plain)
    same(pieces.transposed(), lambda x, y: plain(y, x), Plain(plain.second, plain.first, {}))


@given(functions(), functions(), small, small)
def test_a_combination_is_the_sum_everywhere(one, other, factor, another):
    (plain, pieces), (second, more) = one, other
    sums = combine_pairs([(rational(factor), pieces), (rational(another), more), (rational(1), pieces)])
    same(sums, lambda x, y: (factor + 1) * plain(x, y) + another * second(x, y), plain, second)
    for axis in range(2):
        assert set(sums.axes[axis].cuts) <= {*pieces.axes[axis].cuts, *more.axes[axis].cuts}


@given(functions())
@example((Plain(([], []), ([], []), {(0, 0): (0, 0, 0, 0)}), PairPieces((Axis(), Axis()), grid([[0]]))))
def test_what_cancels_leaves_nothing(both):
    _, pieces = both
    gone = combine_pairs([(rational(1), pieces), (rational(-1), pieces)])
    assert gone.is_zero
    assert gone.is_constant_in_cells
    assert not gone.axes[0].cuts
    assert not gone.axes[1].cuts


@given(functions(), small, small, small.filter(bool), small.filter(bool))
def test_rescaling_moves_numbers_and_leaves_labels(both, center, other, scale, another):
    plain, pieces = both
    centers, scales = [rational(center), rational(other)], [rational(scale), rational(-another)]
    scaled = pieces.rescaled(centers, scales)
    xs, ys = inputs(plain)
    for x in xs:
        for y in ys:
            u = x if x in NAMES else x * scale + center
            v = y if y in NAMES else y * -another + other
            assert to_fraction(scaled(exact(u), exact(v))) == plain(x, y)


@given(functions())
def test_limits_continue_the_inner_of_a_cell_to_its_border(both):
    plain, pieces = both
    quarter = Fraction(1, 8)
    for i in range(pieces.axes[0].numbers):
        place = pieces.axes[0].interval(i)
        if place.high is None or place.is_point:
            continue
        high, y = to_fraction(place.high), Fraction(1, 4)
        column = pieces.axes[1].cell_of(rational(y))
        steps = [plain(high - k * quarter, y) for k in (1, 2)]  # affine within half a unit, the least distance of cuts
        if Plain.cell(plain.first, high - 2 * quarter) == i:
            assert to_fraction(pieces.limit(i, place.high, column, rational(y))) == 2 * steps[0] - steps[1]


@given(functions())
def test_a_cell_varies_where_two_of_its_points_differ(both):
    plain, pieces = both
    tidy = pieces.tidied()
    assert tidy.is_constant_in_cells == (not any(one.any() for one in tidy.varies))
    for axis, varies in enumerate(tidy.varies):
        for cell in range(tidy.axes[axis].numbers):
            inside = [p for p in POINTS if tidy.axes[axis].cell_of(rational(p)) == cell]
            others = list(inputs(plain))[1 - axis]
            columns = [[plain(*((p, o) if axis == 0 else (o, p))) for p in inside] for o in others]
            if not varies[cell]:
                assert all(len(set(column)) <= 1 for column in columns)
            elif len(inside) >= 2:
                assert any(len(set(column)) > 1 for column in columns)


@given(axes(), axes())
def test_a_united_axis_is_finer_than_both(one, other):
    ours = [Axis(tuple(Cut(rational(t), s) for t, s in cuts), tuple(labels)) for cuts, labels in (one, other)]
    finer = united(ours)
    assert set(finer.labels) == set(one[1]) & set(other[1])
    for axis, plain in zip(ours, (one, other), strict=True):
        cells = axis.cells_in(finer)
        for value in [*POINTS, *finer.labels]:
            assert axis.cell_of(exact(value)) == Plain.cell(plain, value) == cells[finer.cell_of(exact(value))]


@given(axes(), st.sampled_from(POINTS), st.sampled_from(POINTS))
def test_cells_between_are_those_that_hold_a_number_there(plain, one, other):
    low, high = sorted((one, other))
    axis = Axis(tuple(Cut(rational(t), s) for t, s in plain[0]), tuple(plain[1]))
    held = {Plain.cell(plain, p) for p in POINTS if low <= p <= high}
    assert held <= set(axis.cells_between(rational(low), rational(high)))
    for cell in axis.cells_between(rational(low), rational(high)):
        place = axis.interval(cell)
        assert place.low is None or place.low < rational(high) or (place.low == rational(high) and place.has_low)
        assert place.high is None or place.high > rational(low) or (place.high == rational(low) and place.has_high)
    assert list(axis.cells_between(None, None)) == list(range(axis.numbers))


def test_a_number_next_to_a_cut_is_told_apart_exactly():
    place = rational(Fraction(10**40 + 1, 10**40))
    axis = Axis((Cut(rational(1), 1), Cut(place, 0)))
    assert [
        axis.cell_of(rational(v)) for v in (1, Fraction(2 * 10**40 + 1, 2 * 10**40), Fraction(10**40 + 1, 10**40))
    ] == [0, 1, 2]


def test_a_label_that_is_not_there_is_an_error():
    with pytest.raises(KeyError):
        Axis((), ("red",)).cell_of("blue")


def test_a_point_that_repeats_its_neighbour_is_no_cell():
    axis = Axis((Cut(rational(1), 0), Cut(rational(1), 1)))
    line = PairPieces((axis, Axis()), grid([[0], [1], [0]]), (grid([[1], [0], [1]]), None))  # x, written as three cells
    tidy = line.tidied()
    assert tidy.axes[0].cuts == ()
    bent = PairPieces((axis, Axis()), grid([[0], [1], [-1]]), (grid([[1], [0], [2]]), None)).tidied()
    assert len(bent.axes[0].cuts) == 1
    spike = PairPieces((axis, Axis()), grid([[0], [2], [0]]), (grid([[1], [0], [1]]), None)).tidied()
    assert len(spike.axes[0].cuts) == 2
    assert spike.varies[0].tolist() == [True, False, True]
