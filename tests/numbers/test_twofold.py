"""Twofold numbers against plain fractions: with values chosen to make every rounding as bad as it can be."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq

from suffice.numbers.exact import nearest_float
from suffice.numbers.twofold import PRODUCT_ERROR, SUM_ERROR, Twofold


def fractions_of(numbers):
    return [Fraction(float(high)) + Fraction(float(low)) for high, low in zip(numbers.high, numbers.low, strict=True)]


def twofold(pairs):
    high = np.array([one for one, _ in pairs])
    low = np.array([one for _, one in pairs])
    return Twofold(high, low, np.zeros(len(high)))


def worst_floats(rng):
    """Floats whose sums and products round badly: odd mantissas, all ones, powers of two and their neighbours."""
    mantissas = [
        2**53 - 1,
        2**53 - 3,
        2**52 + 1,
        2**52,
        2**26 + 1,
        2**27 - 1,
        3 * 2**51 + 1,
        94906267,
        6369051672525773,
    ]
    mantissas += [rng.getrandbits(52) | 2**52 | 1 for _ in range(4)]
    return rng.choice(mantissas) * 2.0 ** rng.randint(-60, 8) * rng.choice([-1, 1])


def pair(rng):
    """A float and a remainder of at most half its last place, often as large as may be."""
    high = worst_floats(rng)
    share = rng.choice([1, 1 - 2**-52, -1, 0.5 + 2**-52, rng.uniform(-1, 1), 0])
    low = math.ulp(high) / 2 * share
    if high + low != high:  # it would round to another float
        low = math.ulp(high) / 4 * share
    assert high + low == high
    return high, low


def cases(count, seed):
    rng = random.Random(seed)
    one, two = [pair(rng) for _ in range(count)], [pair(rng) for _ in range(count)]
    for k in range(0, count, 3):  # sums that cancel to the last places
        high, low = one[k]
        two[k] = (-high + rng.choice([0, 1, -1, 2]) * math.ulp(high), low * rng.choice([-1, 1, 0.5]))
        if sum(two[k]) != two[k][0]:
            two[k] = (-high, -low / 2)
    return twofold(one), twofold(two)


@pytest.mark.parametrize("seed", range(2))
def test_sums_and_products_leave_out_no_more_than_their_bounds(seed):
    one, two = cases(4_000, seed)
    exact = list(zip(fractions_of(one), fractions_of(two), strict=True))
    most = {}
    for name, found, wanted, sizes in (
        ("plus", one.plus(two), [a + b for a, b in exact], [abs(a) + abs(b) for a, b in exact]),
        ("minus", one.minus(two), [a - b for a, b in exact], [abs(a) + abs(b) for a, b in exact]),
        ("times", one.times(two), [a * b for a, b in exact], [abs(a * b) for a, b in exact]),
    ):
        assert np.array_equal(found.high, found.high + found.low)
        off = [abs(got - right) for got, right in zip(fractions_of(found), wanted, strict=True)]
        assert all(one <= Fraction(float(bound)) for one, bound in zip(off, found.error, strict=True))
        most[name] = max(float(one / size) for one, size in zip(off, sizes, strict=True) if size)
    # The attack comes near the constants: bounds an eighth as large would be found wrong.
    assert SUM_ERROR / 8 < most["plus"] < SUM_ERROR
    assert PRODUCT_ERROR / 8 < most["times"] < PRODUCT_ERROR


@pytest.mark.parametrize("seed", range(2))
def test_errors_are_carried_through_long_sums(seed):
    rng = random.Random(seed)
    count, exact = 50, [Fraction(rng.getrandbits(200) - 2**199, rng.getrandbits(150) | 1) for _ in range(400)]
    numbers = Twofold.of([fmpq(one.numerator, one.denominator) for one in exact])
    total, wanted = numbers.take(range(count)), exact[:count]
    for start in range(count, 400, count):
        part, right = numbers.take(range(start, start + count)), exact[start : start + count]
        if start % 100:
            total, wanted = total.times(part), [a * b for a, b in zip(wanted, right, strict=True)]
        else:
            total, wanted = total.minus(part), [a - b for a, b in zip(wanted, right, strict=True)]
    for got, right, bound in zip(fractions_of(total), wanted, total.error, strict=True):
        assert abs(got - right) <= Fraction(float(bound))


def test_a_sum_of_two_floats_is_exact():
    rng = random.Random(0)
    one, two = (Twofold.exact(np.array([worst_floats(rng) for _ in range(500)])) for _ in range(2))
    for found, wanted in ((one.plus(two), Fraction.__add__), (one.times(two), Fraction.__mul__)):
        assert not found.error.any()
        exact = [wanted(a, b) for a, b in zip(fractions_of(one), fractions_of(two), strict=True)]
        assert fractions_of(found) == exact


def midpoints():
    """Numbers between two floats, and a little beside the middle, where rounding is decided far behind the point."""
    for base in (1.0, 1.5, 2.0, 3.0, 1 + 2**-52, 2 - 2**-52, 0.1, 1e-300, 1e300):
        for step in (math.ulp(base), -math.ulp(base) / (2 if base in (1.0, 2.0) else 1)):
            for beside in (0, 2**-120, -(2**-120), 2**-60, -(2**-60), Fraction(1, 3 * 2**110)):
                yield Fraction(base) + Fraction(step) * (Fraction(1, 2) + Fraction(beside))


def test_rounding_asks_for_the_number_where_bounds_do_not_tell():
    numbers = [*midpoints(), Fraction(3, 4), Fraction(0), Fraction(1, 3), Fraction(1) + Fraction(1, 2**1100)]
    exact = [fmpq(one.numerator, one.denominator) for one in numbers]
    asked = []

    def exactly(k):
        asked.append(k)
        return exact[k]

    near, is_itself = Twofold.of(exact).rounded(exactly)
    assert near.tolist() == [nearest_float(one) for one in exact]
    assert is_itself.tolist() == [Fraction(float(one)) == number for one, number in zip(near, numbers, strict=True)]
    assert asked
    assert len(asked) < len(numbers)


def test_numbers_beyond_floats_settle_nothing():
    huge = Twofold.of([fmpq(10) ** 400, fmpq(1)])
    product = Twofold.exact(np.array([1e200, 1e-200])).times(Twofold.exact(np.array([1e200, 1e-200])))
    for numbers in (huge.take([0]), product.take([0])):
        assert not numbers.is_positive.any()
        assert not numbers.is_negative.any()
    assert not product.is_negative.any()
    assert product.error[1] >= 1e-320  # 1e-400 is lost, and may be
