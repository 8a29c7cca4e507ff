"""All minimal sets, their number, what features are for, and the cheapest break, where features act together."""

from fractions import Fraction
from random import Random

import pytest
from oracles.tables import Tables, free_sets
from toys import Toy, random_choices, random_tables

from suffice.core.constraint import Constraint
from suffice.errors import BudgetEnded
from suffice.question.budget import Clock
from suffice.question.preferences import Choices
from suffice.solvers.cheapest_break import cheapest_break
from suffice.solvers.covering import smallest_cover
from suffice.solvers.enumeration import count_minimal, count_smallest, minimal_sets, smallest_sets
from suffice.solvers.problem import Problem
from suffice.solvers.roles import roles

LONG = 10**6  # seconds: compiling for the first time may take long, and no time is tested
BLOCKS = range(6)


def systems(seed, most=5):
    rng = Random(1_000_000 + seed)
    count, max_changed = rng.randint(1, most), rng.choice([None, None, None, 1, 2, 3])
    tables = [random_tables(rng, count, max_changed) for _ in range(rng.choice([1, 1, 2]))]
    return tables, Choices.single(count) if rng.random() < 0.5 else random_choices(rng, count)


def mask_of(choices, items):
    return sum(1 << i for k in items for i in choices.items[k])


def fixed_sets(tables, choices):
    """All sets of fixed items that suffice and respect the wishes."""
    every, allowed = range(len(choices.items)), free_sets(tables)
    found = []
    for chosen in range(1 << len(every)):
        fixed = frozenset(k for k in every if chosen >> k & 1)
        if choices.fix <= fixed and not choices.free & fixed and mask_of(choices, set(every) - fixed) in allowed:
            found.append(fixed)
    return found


def cases(block, size=100):
    for seed in range(size * block, size * (block + 1)):
        tables, choices = systems(seed)
        found = fixed_sets(tables, choices)
        if found:
            yield seed, tables, choices, found


@pytest.mark.parametrize("block", BLOCKS)
def test_all_minimal_and_all_smallest_sets_come_once_and_are_counted(block):
    for seed, tables, choices, allowed in cases(block):
        problem = Problem([Toy(one) for one in tables], choices)
        minimal = {one for one in allowed if not any(other < one for other in allowed)}
        found = list(minimal_sets(problem))
        assert len(found) == len(set(found)), seed
        assert {frozenset(one) for one in found} == minimal, seed
        assert count_minimal(problem) == (len(minimal),) * 2, seed
        cover = smallest_cover(problem.constraints, choices, max_seconds=LONG)
        smallest = {one for one in allowed if sum(choices.costs[k] for k in one) == cover.cost}
        found = list(smallest_sets(problem, cover))
        assert len(found) == len(set(found)), seed
        assert {frozenset(one) for one in found} == smallest, seed
        assert count_smallest(problem, cover) == (len(smallest),) * 2, seed
        low, high = count_smallest(problem, cover, max_nodes=1)
        assert low <= len(smallest) <= high, seed


@pytest.mark.parametrize("block", BLOCKS)
def test_roles_are_those_of_all_minimal_sets(block):
    for seed, tables, choices, allowed in cases(block):
        minimal = [one for one in allowed if not any(other < one for other in allowed)]
        open_ = [k for k in range(len(choices.items)) if k not in choices.fix | choices.free]
        found = roles(Problem([Toy(one) for one in tables], choices), max_seconds=LONG)
        assert found.necessary == tuple(k for k in open_ if all(k in one for one in minimal)), seed
        assert found.irrelevant == tuple(k for k in open_ if not any(k in one for one in minimal)), seed
        assert found.undecided == ()


@pytest.mark.parametrize("block", BLOCKS)
def test_nothing_cheaper_breaks_a_claim(block):
    """Items that are fixed stay, those that are free change at no cost; changes are those of whole items."""
    for seed, tables, choices, _ in cases(block):
        every, allowed = range(len(choices.items)), free_sets(tables)
        costs = []
        for chosen in range(1 << len(every)):
            moved = {k for k in every if chosen >> k & 1}
            if not moved & choices.fix and mask_of(choices, moved | choices.free) not in allowed:
                costs.append(sum(choices.costs[k] for k in moved - choices.free))
        found = cheapest_break([Toy(one) for one in tables], choices, Clock(100_000))
        assert (found is None) == (not costs), seed
        if found is not None:
            assert (found.cost, found.lower_bound) == (min(costs),) * 2, seed
            assert sum(1 << i for i in found.moved) not in free_sets([tables[found.part]]), seed


class Tired(Toy):
    """A constraint that gives up on sets of three features and more."""

    def scenario(self, freed):
        return self._tired(freed) or super().scenario(freed)

    def admits(self, freed):
        return self._tired(freed) or super().admits(freed)

    def _tired(self, freed):
        if len(freed) > 2:
            raise BudgetEnded


def test_what_is_not_known_of_some_sets_leaves_true_bounds():
    done = 0
    for seed in range(150):
        rng = Random(seed)
        tables = random_tables(rng, 4)
        allowed = free_sets([tables])
        least = 4 - max(mask.bit_count() for mask in allowed)
        cover = smallest_cover([Tired(tables)], max_seconds=LONG)
        assert cover.lower_bound <= least <= cover.cost
        assert sum(1 << i for i in range(4) if i not in cover.fixed) in allowed
        found = roles(Problem([Tired(tables)]))
        fixed = [15 ^ mask for mask in allowed]
        minimal = [one for one in fixed if not any(one & other == other != one for other in fixed)]
        assert all(any(one >> k & 1 for one in minimal) for k in found.relevant)
        assert not any(one >> k & 1 for one in minimal for k in found.irrelevant)
        low, high = count_minimal(Problem([Tired(tables)]))
        assert low <= len(minimal) <= high
        done += bool(found.undecided)
    assert done  # the budget did end


def test_a_toy_is_what_searches_ask_for():
    toy = Toy(Tables([[(Fraction(0), True), (Fraction(2), True)]], {}, Fraction(1), True))
    assert isinstance(toy, Constraint)
    assert not toy.admits([0])
    assert toy.with_slack(toy.margin).admits([])
    assert toy.with_max_changed(0).admits([0])
