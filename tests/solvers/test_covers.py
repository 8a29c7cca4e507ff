"""The first best set in whole numbers, against trying all."""

from fractions import Fraction
from itertools import product
from unittest import mock

import numpy as np
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from oracles import fraction, sufficient_for_all
from strategies import choices, systems

from suffice.core.constraint import Drop
from suffice.core.drops import Separable
from suffice.numbers.exact import rational
from suffice.question.preferences import Choices
from suffice.solvers import cover_kernel, covers
from suffice.solvers.covering import smallest_cover


def first_of_the_dearest(weights, rooms, costs):
    """Of all choices that fit the dearest, of several the one that leaves the first items out."""
    best, found = -1, None
    for put_in in product((False, True), repeat=len(costs)):  # in this order
        taken = [sum(w for w, p in zip(row, put_in, strict=True) if p) for row in weights]
        fits = all(weight <= room for weight, room in zip(taken, rooms, strict=True))
        cost = sum(c for c, p in zip(costs, put_in, strict=True) if p)
        if fits and cost > best:
            best, found = cost, put_in
    return best, found


@st.composite
def knapsacks(draw):
    count, rows = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    room = draw(st.sampled_from([6, 30, 2**36]))
    weight = st.integers(0, room) if draw(st.booleans()) else st.sampled_from([0, 1, room // 3, room // 2, room])
    weights = [[draw(weight) for _ in range(count)] for _ in range(rows)]
    return weights, [room] * rows, [draw(st.sampled_from([1, 1, 2, 5])) for _ in range(count)]


def solved(weights, rooms, costs, *, is_plain):
    found = np.zeros(len(costs), np.int8)
    kind = object if is_plain else np.int64
    unit = max(rooms) * 2**14
    scales = np.array([unit / room for room in rooms])
    run = covers._plainly if is_plain else cover_kernel.first_best
    most, _ = run(np.array(weights, kind), np.array(rooms, kind), np.array(costs, kind), scales, unit, 10**5, found)
    return most, tuple((found == cover_kernel.FREED).tolist())


@settings(max_examples=300)
@given(knapsacks())
def test_it_is_the_first_of_the_dearest_choices(problem):
    weights, rooms, costs = problem
    assert solved(weights, rooms, costs, is_plain=False) == first_of_the_dearest(weights, rooms, costs)


@st.composite
def crowded(draw):
    """Two large items fill each knapsack up to a few units, for which tiny items compete."""
    rows, large, tiny = draw(st.integers(1, 3)), draw(st.integers(3, 6)), draw(st.integers(2, 4))
    weights = [
        [2**35 + draw(st.integers(-20, 6)) for _ in range(large)] + [draw(st.integers(0, 12)) for _ in range(tiny)]
        for _ in range(rows)
    ]
    costs = [draw(st.sampled_from([1, 5, 20, 100])) for _ in range(large)] + [draw(st.integers(1, 2))] * tiny
    return weights, [2**36] * rows, costs


TWO_LEAVE_8 = (
    [
        [2**35 + more for more in (-18, -13, 0, 6, -18, -2, -8)] + [8, 1, 8, 7, 6],
        [2**35 + more for more in (-4, -5, 4, -5, -16, -19, -11)] + [1, 9, 2, 8, 5],
        [2**35 + more for more in (-12, 0, -3, -5, -20, 5, -14)] + [2, 10, 7, 2, 9],
    ],
    [2**36] * 3,
    [20, 100, 20, 20, 100, 5, 5, 2, 1, 1, 2, 2],
)


@settings(max_examples=100)
@given(crowded())
@example(TWO_LEAVE_8)
def test_a_large_item_that_no_longer_fits_meets_no_large_multiplier(problem):
    """Where next to nothing is left, multipliers are large: their products with large weights would pass 2^63."""
    weights, rooms, costs = problem
    assert solved(weights, rooms, costs, is_plain=False) == first_of_the_dearest(weights, rooms, costs)


@settings(max_examples=100)
@given(knapsacks(), st.sampled_from([1, 3**60, 10**90 + 1]))
def test_numbers_may_have_any_size(problem, factor):
    weights, rooms, costs = problem
    larger = [[factor * weight for weight in row] for row in weights]
    expected = first_of_the_dearest(weights, rooms, costs)
    assert solved(larger, [factor * room for room in rooms], costs, is_plain=True) == expected


@settings(max_examples=100)
@given(knapsacks(), st.lists(st.floats(0, 1e4), min_size=4, max_size=4))
def test_bad_proposals_make_it_slower_not_wrong(problem, direction):
    """Whatever multipliers are proposed, whole numbers decide."""
    weights, rooms, costs = problem
    plain = covers.as_python(
        cover_kernel.first_best, cover_kernel.search, badly(direction), cover_kernel.bound, cover_kernel.fill,
        cover_kernel.fits, cover_kernel.fix_by_bound,
    )  # fmt: skip
    with mock.patch.object(covers, "_plainly", plain):
        assert solved(weights, rooms, costs, is_plain=True) == first_of_the_dearest(weights, rooms, costs)


def badly(direction):
    def propose(
        rooms, costs, scales, rates, ranked, state, rest, _, rounds, target, multipliers, order,
        proposed=tuple(direction),
    ):  # fmt: skip
        for c in range(len(rooms)):
            multipliers[c] = int(proposed[c] * scales[c])
        some = [k for k in range(len(costs)) if state[k] == 0]  # undecided
        order[:] = -1
        order[: len(some)] = some
        return some[0]

    return propose


def test_a_budget_that_ends_is_told():
    weights, rooms, costs = [[5, 5, 4, 4, 3]], [11], [5, 5, 4, 4, 3]
    found = np.zeros(5, np.int8)
    unit = 11 * 2**14
    for budget in range(3):
        most, nodes = cover_kernel.first_best(
            np.array(weights), np.array(rooms), np.array(costs), np.array([2.0**14]), unit, budget, found
        )
        assert (most == cover_kernel.ENDED) == (nodes > budget)


# --- sets of items ----------------------------------------------------------------------------------------------------


def weights_of(constraints, item):
    """What items are sorted by: the largest share of a margin as floats give it, then drops, then the place."""
    drops = [[c.drops[i] for i in item] for c in constraints]
    falls = [
        (True, Fraction(0), 0) if any(d.is_infinite for d in some)
        else (False, sum((fraction(d.value) for d in some), Fraction(0)), min((d.edge for d in some), default=0))
        for some in drops
    ]  # fmt: skip
    shares = [
        float("inf") if fall[0] else float(fall[1]) / max(float(fraction(c.margin)), 1e-300)
        for c, fall in zip(constraints, falls, strict=True)
    ]
    return max(shares), falls


def first_best(constraints, wishes):
    """The allowed set of least cost that keeps the weightiest items."""
    order = sorted(
        range(len(wishes.items)), key=lambda k: (*weights_of(constraints, wishes.items[k]), -k), reverse=True
    )
    best = None
    for keep in product((True, False), repeat=len(order)):
        kept = {k for k, is_kept in zip(order, keep, strict=True) if is_kept}
        features = [i for k in kept for i in wishes.items[k]]
        if wishes.fix <= kept and not wishes.free & kept and sufficient_for_all(features, constraints):
            cost = sum(wishes.costs[k] for k in kept)
            if best is None or cost < best[0]:
                best = cost, kept
    return best


@settings(max_examples=400)
@given(systems(most=6), st.data())
def test_of_the_best_sets_the_one_with_the_weightiest_items_is_found(constraints, data):
    wishes = data.draw(choices(len(constraints[0].drops)))
    expected = first_best(constraints, wishes)
    assume(expected is not None)  # else what must be freed breaks a constraint, which is refused before any search
    cover = smallest_cover(constraints, wishes)
    assert (cover.cost, cover.lower_bound) == (expected[0], expected[0])
    assert {k for k, item in enumerate(wishes.items) if set(item) & set(cover.fixed)} == expected[1]


@example(Fraction(1))
@given(st.fractions(min_value=Fraction(1, 10**40), max_value=10**40))
def test_the_unit_of_the_scores_does_not_matter(factor):
    rows = [(3, 0, 2, 2, 1), (0, 3, 2, 2, 1)]
    systems_ = [
        [
            Separable(rational(3) * unit, tuple(Drop.of(rational(d) * unit) for d in row), is_strict=False)
            for row in rows
        ]
        for unit in (rational(1), rational(factor))
    ]
    one, two = (smallest_cover(some, Choices.single(5)).fixed for some in systems_)
    assert one == two


def test_choices_that_tie_are_cut_off_without_exact_numbers():
    drops = [[3, 1, 2, 2, 1, 4, 2, 3], [1, 3, 2, 1, 2, 2, 4, 3]]
    constraints = [Separable(rational(9), tuple(Drop.of(rational(d)) for d in row), is_strict=True) for row in drops]
    wishes = Choices.single(8)
    expected = first_best(constraints, wishes)
    for most, is_exact in ((8, False), (1, True)):
        with (
            mock.patch.object(covers, "_MOST_CUTS", most),
            mock.patch.object(covers, "_exactly", wraps=covers._exactly) as exactly,
        ):
            assert set(smallest_cover(constraints, wishes).fixed) == expected[1]
        assert exactly.called == is_exact
