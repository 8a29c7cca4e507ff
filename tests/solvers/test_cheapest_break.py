"""The cheapest features whose change breaks a claim, against all subsets."""

import math
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles import subsets, sufficient_for_all
from strategies import choices, systems

from suffice.core.constraint import Drop
from suffice.core.drops import Separable
from suffice.numbers.exact import rational
from suffice.question.budget import Clock
from suffice.question.preferences import Choices
from suffice.solvers.cheapest_break import cheapest_break

PATIENT = Clock(10**6)


def least_break(constraints, wished):
    """What the cheapest sets of items whose change breaks a constraint cost, and these; infinity if there is none."""
    open_ = [k for k in range(len(wished.items)) if k not in wished.fix | wished.free]
    every = range(len(constraints[0].drops))
    found = []
    for chosen in subsets(len(open_)):
        items = [*(open_[k] for k in chosen), *wished.free]
        moving = {i for k in items for i in wished.items[k]}
        if not sufficient_for_all([i for i in every if i not in moving], constraints):
            found.append((sum(wished.costs[open_[k]] for k in chosen), moving))
    least = min((cost for cost, _ in found), default=math.inf)
    return least, [moving for cost, moving in found if cost == least]


@st.composite
def problems(draw):
    constraints = draw(systems(most=6, max_changed=draw(st.sampled_from([None, None, 1, 2, 3]))))
    count = len(constraints[0].drops)
    return constraints, draw(choices(count)) if draw(st.booleans()) else Choices.single(count)


def drops_of(*values):
    return tuple(Drop.of(rational(value)) for value in values)


TWO_CHEAP_ONES = (
    [Separable(rational(4), drops_of(5, 3, 3), is_strict=False)],
    Choices(((0,), (1,), (2,)), ("a", "b", "c"), (3, 1, 1)),
)
A_GROUP = (
    [Separable(rational(4), drops_of(5, 3, 3), is_strict=False)],
    Choices(((0,), (1, 2)), ("a", "bc"), (3, 2)),
)
ONE_MAY_MOVE = (
    [Separable(rational(4), drops_of(5, 3, 3), is_strict=False, max_changed=1)],
    Choices(((0,), (1,), (2,)), ("a", "b", "c"), (3, 1, 1)),
)


@settings(max_examples=500)
@given(problems())
@example(TWO_CHEAP_ONES)  # the largest drop is not the cheapest
@example(A_GROUP)
@example(ONE_MAY_MOVE)  # two cheap ones may not move at once
def test_nothing_cheaper_breaks_a_constraint(problem):
    constraints, wished = problem
    least, cheapest = least_break(constraints, wished)
    found = cheapest_break(constraints, wished, PATIENT)
    if found is None:
        assert least == math.inf
        return
    fixed = {i for k in wished.fix for i in wished.items[k]}
    assert (found.cost, found.lower_bound) == (least, least)
    assert any(set(found.moved) <= moving for moving in cheapest)
    assert fixed.isdisjoint(found.moved)
    assert len(set(found.moved)) == len(found.moved)
    broken, every = constraints[found.part], range(len(constraints[0].drops))
    assert not sufficient_for_all([i for i in every if i not in found.moved], [broken])
    for fewer in combinations(found.moved, max(len(found.moved) - 1, 0)) if found.moved else ():
        assert sufficient_for_all([i for i in every if i not in fewer], [broken])


@settings(max_examples=500)
@given(problems(), st.integers(0, 3))
def test_a_budget_that_ends_leaves_true_bounds(problem, nodes):
    constraints, wished = problem
    least, _ = least_break(constraints, wished)
    found = cheapest_break(constraints, wished, Clock(nodes))
    assert (found is None) == (least == math.inf)
    if found is not None:
        assert found.lower_bound <= least <= found.cost
        every = range(len(constraints[0].drops))
        assert not sufficient_for_all([i for i in every if i not in found.moved], [constraints[found.part]])


@pytest.mark.parametrize("nodes", [0, 1])
def test_a_search_that_ends_at_once_does_not_call_its_guess_the_cheapest(nodes):
    values = (7, 9, 5, 9, 3, 6, 1, 3, 3, 8)
    constraints = [Separable(rational(22), drops_of(*values), is_strict=False)]
    wished = Choices(tuple((i,) for i in range(10)), tuple("abcdefghij"), (3, 4, 2, 4, 1, 3, 1, 1, 2, 3))
    least, _ = least_break(constraints, wished)
    hasty, patient = (cheapest_break(constraints, wished, Clock(n)) for n in (nodes, 10**6))
    assert patient.cost == patient.lower_bound == least
    assert hasty.lower_bound <= least < hasty.cost
