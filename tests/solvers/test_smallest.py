from fractions import Fraction
from functools import reduce
from operator import add

from hypothesis import example, given
from oracles import plain, smallest_size, sufficient
from strategies import constraints

from suffice.core.constraint import Drop
from suffice.core.drops import Separable
from suffice.numbers.exact import rational
from suffice.solvers.smallest import smallest_sufficient

ONE = rational(1)
APPROACHED = Drop(False, ONE, -1)


@given(constraints())
@example(Separable(ONE, (Drop.of(ONE),), is_strict=True))  # the tie must keep its feature
@example(Separable(ONE, (Drop.of(ONE),), is_strict=False))  # the tie may free it
@example(Separable(ONE, (APPROACHED,), is_strict=True))  # a tie that no input reaches may free it too
@example(Separable(rational(2), (Drop.of(ONE), APPROACHED, Drop.of(ONE)), is_strict=True))
@example(Separable(rational(0), (Drop.of(rational(0)), Drop.of(ONE)), is_strict=False))
@example(Separable(rational(0), (), is_strict=False))
def test_no_smaller_set_is_sufficient(constraint):
    found = smallest_sufficient(constraint)
    assert sufficient(found, *plain(constraint))
    assert len(found) == smallest_size(*plain(constraint))
    assert len(set(found)) == len(found)
    assert constraint.admits(set(range(len(constraint.drops))) - set(found))


@given(constraints())
def test_features_come_largest_drop_first(constraint):
    drops = plain(constraint)[1]
    sizes = [drops[i] for i in smallest_sufficient(constraint)]
    assert sizes == sorted(sizes, reverse=True)


def test_floats_that_guess_wrong_do_not_decide():
    # Ten tenths make one, but not in floats; and the margin is off by less than any float can tell.
    assert reduce(add, [0.1] * 10) < 1
    drops = tuple(Drop.of(rational("1/10")) for _ in range(10))
    for shift in (Fraction(0), Fraction(1, 2**200), Fraction(-1, 2**200)):
        constraint = Separable(rational(1 + shift), drops, is_strict=False)
        assert len(smallest_sufficient(constraint)) == (1 if shift < 0 else 0)


def test_numbers_beyond_all_floats():
    huge = rational(10**400)
    constraint = Separable(huge, (Drop.of(huge), Drop.of(huge + 1)), is_strict=False)
    assert smallest_sufficient(constraint) == (1,)
