"""Searches over items with costs, wishes and budgets, against trying all sets."""

from functools import reduce
from operator import add

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import least_cost, subsets, sufficient_for_all
from strategies import choices, systems

from suffice.core.constraint import Drop
from suffice.core.drops import Separable
from suffice.numbers.exact import rational
from suffice.solvers.covering import smallest_cover
from suffice.solvers.enumeration import count_smallest, minimal_sets, smallest_sets
from suffice.solvers.problem import Problem
from suffice.solvers.roles import roles


def allowed_sets(constraints, wishes):
    """All sets of fixed items that suffice and respect the wishes."""
    return [
        fixed
        for fixed in map(frozenset, subsets(len(wishes.items)))
        if wishes.fix <= fixed
        and not wishes.free & fixed
        and sufficient_for_all([i for k in fixed for i in wishes.items[k]], constraints)
    ]


@st.composite
def problems(draw):
    constraints = draw(systems(most=6, max_changed=draw(st.sampled_from([None, None, 1, 2, 3]))))
    wishes = draw(choices(len(constraints[0].drops)))
    allowed = allowed_sets(constraints, wishes)
    assume(allowed)  # else what must be freed breaks a constraint, which is refused before any search
    return constraints, wishes, allowed


def cost(wishes, fixed):
    return sum(wishes.costs[k] for k in fixed)


def test_floats_near_a_tie_do_not_decide():
    """Ten tenths, and three of them: sums that floats get wrong by one unit in the last place."""
    tenths = tuple(Drop.of(rational("1/10")) for _ in range(10))
    assert reduce(add, [0.1] * 10) < 1  # newer Pythons' `sum` makes up for what is lost
    assert not Separable(rational(1), tenths, is_strict=True).admits(range(10))
    assert Separable(rational(1), tenths, is_strict=False).admits(range(10))
    assert 0.1 + 0.1 + 0.1 > 0.3
    three = Separable(rational("3/10"), tenths[:3], is_strict=False)
    assert three.admits(range(3))
    assert Problem([three, three]).most((), (0, 1, 2), (rational(1), rational(1)), enough=0) == 3
    unit = rational(1) / rational(2**1074)
    tiny = Separable(rational("2.6") * unit, (Drop.of(rational("1.4") * unit),) * 2, is_strict=False)
    assert not tiny.admits([0, 1])  # rounded, they fit


@settings(max_examples=400)
@given(problems(), st.integers(0, 3))
def test_no_allowed_set_costs_less(case, nodes):
    constraints, wishes, allowed = case
    cover = smallest_cover(constraints, wishes)
    least = least_cost(allowed, wishes.costs)
    fixed = frozenset(k for k, item in enumerate(wishes.items) if set(item) & set(cover.fixed))
    assert fixed in allowed
    assert set(cover.fixed) == {i for k in fixed for i in wishes.items[k]}
    assert (cover.cost, cover.lower_bound, cost(wishes, fixed)) == (least, least, least)
    hasty = smallest_cover(constraints, wishes, max_nodes=nodes)
    assert hasty.lower_bound <= least <= hasty.cost


@settings(max_examples=300)
@given(problems())
def test_all_minimal_sets_come_once(case):
    constraints, wishes, allowed = case
    minimal = {fixed for fixed in allowed if not any(other < fixed for other in allowed)}
    found = list(minimal_sets(Problem(constraints, wishes)))
    assert len(found) == len(set(found))
    assert {frozenset(fixed) for fixed in found} == minimal


@settings(max_examples=300)
@given(problems())
def test_all_smallest_sets_come_once_and_are_counted(case):
    constraints, wishes, allowed = case
    problem = Problem(constraints, wishes)
    cover = smallest_cover(constraints, wishes)
    smallest = {fixed for fixed in allowed if cost(wishes, fixed) == cover.cost}
    found = list(smallest_sets(problem, cover))
    assert len(found) == len(set(found))
    assert {frozenset(fixed) for fixed in found} == smallest
    assert count_smallest(problem, cover) == (len(smallest), len(smallest))
    low, high = count_smallest(problem, cover, max_nodes=1)
    assert low <= len(smallest) <= high


@settings(max_examples=300)
@given(problems())
def test_roles_are_those_of_all_minimal_sets(case):
    constraints, wishes, allowed = case
    minimal = [fixed for fixed in allowed if not any(other < fixed for other in allowed)]
    open_ = [k for k in range(len(wishes.items)) if k not in wishes.fix | wishes.free]
    found = roles(Problem(constraints, wishes))
    assert found.necessary == tuple(k for k in open_ if all(k in fixed for fixed in minimal))
    assert found.relevant == tuple(
        k for k in open_ if any(k in fixed for fixed in minimal) and k not in found.necessary
    )
    assert found.irrelevant == tuple(k for k in open_ if not any(k in fixed for fixed in minimal))
    hasty = roles(Problem(constraints, wishes), max_nodes=1)
    assert set(hasty.relevant) <= set(found.relevant)
    assert set(hasty.irrelevant) <= set(found.irrelevant)
    assert hasty.necessary == found.necessary
