import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import subsets, sufficient_for_all
from strategies import systems

from suffice.core.constraint import Drop
from suffice.core.drops import Separable
from suffice.numbers.exact import rational
from suffice.solvers import covering
from suffice.solvers.covering import smallest_cover
from suffice.solvers.smallest import smallest_sufficient


def smallest_by_enumeration(constraints):
    count = len(constraints[0].drops)
    return next(len(fixed) for fixed in subsets(count) if sufficient_for_all(fixed, constraints))


def of(margins, *drops):
    columns = [tuple(Drop.of(rational(value)) for value in column) for column in zip(*drops, strict=True)]
    return [Separable(rational(m), column, is_strict=False) for m, column in zip(margins, columns, strict=True)]


NO_SINGLE_ORDER = of((3, 3), (3, 0), (0, 3), (2, 2), (2, 2))


@settings(max_examples=400)
@given(systems())
@example(NO_SINGLE_ORDER)
def test_no_smaller_set_is_sufficient(constraints):
    cover = smallest_cover(constraints)
    assert sufficient_for_all(cover.fixed, constraints)
    assert cover.is_best
    assert len(cover.fixed) == smallest_by_enumeration(constraints)


def test_an_order_by_the_larger_drop_is_not_enough():
    assert len(smallest_cover(NO_SINGLE_ORDER).fixed) == 2
    by_larger_drop = [2, 3, 0, 1]  # smallest largest drop first
    freed = []
    for i in by_larger_drop:
        if all(c.admits([*freed, i]) for c in NO_SINGLE_ORDER):
            freed.append(i)
    assert 4 - len(freed) == 3


@given(systems())
def test_one_constraint_is_sorting(constraints):
    assert len(smallest_cover(constraints[:1]).fixed) == len(smallest_sufficient(constraints[0]))


@given(systems(), st.integers(0, 2))
def test_a_budget_that_ends_leaves_true_bounds(constraints, nodes):
    cover = smallest_cover(constraints, max_nodes=nodes)
    assert sufficient_for_all(cover.fixed, constraints)
    assert cover.lower_bound <= smallest_by_enumeration(constraints) <= len(cover.fixed)


@settings(max_examples=150)
@given(systems())
@example(NO_SINGLE_ORDER)
def test_the_search_is_right_without_any_proposal(constraints):
    """Good proposals hide a bound that ends nodes too early; without them such a bound shows."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_greedy", "_solved"):
            patch.setattr(covering._Search, name, lambda self: frozenset())
        patch.setattr(covering._Search, "_offer", take_as_it_is)
        cover = smallest_cover(constraints)
    assert cover.is_best
    assert len(cover.fixed) == smallest_by_enumeration(constraints)


def take_as_it_is(search, freed):
    """Keep an allowed set if it is larger, and make no effort to extend it."""
    if search.problem.admits(freed) and len(freed) > search.most:
        search.best, search.most = freed, len(freed)
