"""What every constraint promises the searches, tried on all sets of small ones."""

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import constraints

from suffice.core.constraint import NO_DROP, Drop, Scenario, total
from suffice.core.drops import Separable
from suffice.errors import Undecided
from suffice.numbers.exact import rational


def subsets(count: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(count), size) for size in range(count + 1)))


@given(constraints(), st.sampled_from([None, 1, 2]))
def test_an_admitted_set_leaves_room_for_every_scenario(constraint: Separable, most: int | None) -> None:
    limited = constraint.with_max_changed(most)
    sets = subsets(min(limited.features, 5))
    found = [scenario for freed in sets if (scenario := limited.scenario(freed)) is not None]
    assert len(found) == sum(not limited.admits(freed) for freed in sets)
    for freed in sets:
        if limited.admits(freed):
            assert all(limited.allows(scenario.fall(freed)) for scenario in found)


@given(constraints())
def test_a_scenario_of_a_set_breaks_the_constraint(constraint: Separable) -> None:
    everything = range(constraint.features)
    scenario = constraint.scenario(everything)
    assert (scenario is None) == constraint.admits(everything)
    assert scenario is None or not constraint.allows(scenario.fall(everything))


@given(constraints())
def test_the_fewest_that_break_it_do_and_fewer_do_not(constraint: Separable) -> None:
    sets = subsets(min(constraint.features, 6))
    others = range(min(constraint.features, 6))
    moved = constraint.broken_by((), others)
    sizes = [len(freed) for freed in sets if not constraint.admits(freed)]
    assert (moved is None) == (not sizes)
    if moved is not None:
        assert not constraint.admits(moved)
        assert len(moved) == min(sizes)


def test_products_count_only_where_both_features_change() -> None:
    scenario = Scenario((Drop.of(rational(2)), Drop(False, rational(-1), -1), NO_DROP), {(0, 1): rational("1/2")})
    assert scenario.fall([0]) == Drop.of(rational(2))
    assert scenario.fall([1]) == Drop(False, rational(-1), -1)
    assert scenario.fall([0, 1, 2]) == Drop(False, rational("3/2"), -1)


@pytest.mark.parametrize("most", [None, 2])
def test_ceilings_add_up_to_at_least_the_fall(most: int | None) -> None:
    drops = tuple(Drop.of(rational(k)) for k in (3, 0, 2, 5))
    constraint = Separable(rational(1), drops, is_strict=False, max_changed=most)
    assert all(constraint.fall(freed) <= total(constraint.ceilings[i] for i in freed) for freed in subsets(4))
    assert constraint.with_slack(rational(9)).admits([0, 2, 3])
    assert not constraint.with_slack(rational(6)).admits([0, 2, 3])


def test_drops_between_two_numbers_leave_what_lies_between_open() -> None:
    def seen(margin: object, ceiling: object, floor: object, gap: object) -> Separable:
        drops, floors = (Drop.of(rational(ceiling)),), (Drop.of(rational(floor)),)
        return Separable(rational(margin), drops, is_strict=False, gap=rational(gap), floors=floors)

    assert seen(1, 1, "1/2", 0).admits([0])
    assert not seen(1, 3, 2, "1/2").admits([0])
    for open_ in (seen(1, 2, 1, 0), seen(1, 2, "5/4", "1/2"), seen(1, "3/2", "3/2", "1/2")):
        assert not open_.inner.admits([0])
        assert open_.outer.admits([0])
        with pytest.raises(Undecided):
            open_.admits([0])
