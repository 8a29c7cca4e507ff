"""The error constants of the compiled loops, attacked with numbers that make rounding as bad as it can be."""

import random
from fractions import Fraction

import numpy as np
import pytest

from suffice.batch import charge_kernel, kernel, limits, weighed
from suffice.batch.drop_lines import Line
from suffice.batch.lookup import anchored, line_entry, with_errors
from suffice.numbers.exact import rational
from suffice.solvers.covers import PARTS


def plain(function):
    """Return a compiled function as Python runs it: in the same float64 operations, in the same order."""
    return getattr(function, "py_func", function)


def bad(rng):
    """Draw a float whose mantissa rounds badly: all ones, odd, or next to a power of two; of any usual size."""
    mantissa = rng.choice([2**53 - 1, 2**52 + 1, rng.getrandbits(53) | 2**52 | 1, 2**52])
    return mantissa * 2.0 ** (rng.choice([-60, -54, -53, -52, -50, -40]) + rng.randint(-2, 2))


@pytest.mark.parametrize("seed", range(4))
def test_an_entry_is_off_by_no_more_than_its_error(seed):
    rng, worst = random.Random(seed), 0.0
    for _ in range(500):
        low = rng.choice([-1, 1]) * bad(rng)
        places = np.array([low, low + bad(rng)])
        anchors, largest, reach = anchored(places)
        if not places[0] < anchors[1] < places[1]:
            continue
        # Slope and base are off a float, by nearly as much as rounding can take.
        off = 1 + rng.choice([-1, 1]) * (Fraction(1, 2**53) - Fraction(1, 2**80))
        slope, base = Fraction(bad(rng)) * off, rng.choice([-1, 1]) * Fraction(bad(rng)) * off
        anchor = Fraction(float(anchors[1]))
        line = Line(rational(slope), rational(base - slope * anchor))
        entries = np.full((3, 4), np.nan)
        entries[1, 0], entries[1, 1:] = anchors[1], line_entry(line, rational(anchor))
        entries = with_errors(entries, largest, reach, np.zeros(1))
        for x in (places[0], places[1], np.nextafter(places[1], -np.inf), low + rng.random() * (places[1] - low)):
            if not places[0] <= x <= places[1]:
                continue
            found = entries[1, 1] + entries[1, 2] * (x - entries[1, 0])
            # The cell may be text that is half a place from its float.
            for true in (Fraction(x), Fraction(x) * (1 + Fraction(1, 2**53)), Fraction(x) * (1 - Fraction(1, 2**53))):
                error = abs(Fraction(found) - (base + slope * (true - anchor)))
                assert error <= Fraction(entries[1, 3])
                worst = max(worst, float(error) / entries[1, 3])
    assert worst > 1 / 8


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_a_margin_is_off_by_no_more_than_is_counted(seed):
    rng, worst = random.Random(seed), 0.0
    slack_error = plain(kernel.slack_error)
    for _ in range(1500):
        drops = [bad(rng) for _ in range(rng.randint(1, 12))]
        margin, total = bad(rng), 0.0
        for drop in drops:
            total += drop
        error = abs(Fraction(margin - total) - (Fraction(margin) - sum(map(Fraction, drops))))
        counted = slack_error(total, 0.0, margin, 0.0, len(drops))
        assert error <= Fraction(counted)
        worst = max(worst, float(error) / counted)
    assert worst > 1 / 32


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_drops_are_told_by_keys_within_what_is_counted(seed):
    rng = random.Random(seed)
    for _ in range(400):
        features, most = rng.randint(2, 12), rng.randint(1, 3)
        near = bad(rng) if rng.random() < 0.7 else 5e-324 * rng.randint(1, 40)
        drops = np.array([[near * (1 + rng.randint(0, 20) * 2.0**-52) for _ in range(features)]])
        keys = np.empty(drops.shape, np.int64)
        plain(kernel.order_keys)(drops, keys)
        keys.sort(axis=1)
        mask = 1 << (features - 1).bit_length()
        order = np.array([features - 1 - (key & (mask - 1)) for key in keys[0].tolist()])
        total, doubt = plain(limits.fall_of)(order, drops[0], np.zeros(features), 0.0, 0.0, most, mask)
        true = sum(sorted(map(Fraction, drops[0].tolist()))[-most:])
        counted = Fraction(plain(kernel.slack_error)(total, doubt, 0.0, 0.0, features)) + Fraction(doubt)
        assert abs(Fraction(total) - true) <= counted


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_a_margin_are_rounded_to_the_safe_side(seed):
    rng = random.Random(seed)
    for _ in range(600):
        total, doubt = bad(rng), bad(rng) * 2.0**-40
        room = bad(rng)
        more = room * (1 + 2.0**-30)
        drops, bounds = np.array([[total]]), np.array([[doubt]])
        low, high = np.empty((1, 1)), np.empty((1, 1))
        keys, rates = np.empty((1, 1), np.int64), np.empty((1, 1), np.int64)
        items = np.array([0, 1]), np.array([0]), np.array([1])
        plain(weighed.weigh_items)(drops, bounds, *items, low, high, keys, rates)
        assert Fraction(low[0, 0]) <= Fraction(total) - Fraction(doubt) or low[0, 0] == 0
        assert Fraction(high[0, 0]) >= Fraction(total) + Fraction(doubt)
        light, heavy = np.zeros(1, np.int64), np.zeros(1, np.int64)
        plain(weighed.weigh)(low, high, 0, room, more, np.array([0]), np.zeros(1, np.int8), light, heavy)
        least = (Fraction(total) - Fraction(doubt)) / Fraction(more)
        most = (Fraction(total) + Fraction(doubt)) / Fraction(room)
        assert Fraction(int(light[0]), PARTS) <= max(least, 0) or light[0] == 0
        assert Fraction(int(heavy[0]), PARTS) >= min(most, 2)


@pytest.mark.parametrize("seed", range(4))
def test_ends_of_regions_lie_between_their_floats(seed):
    rng, worst = random.Random(seed), 0.0
    between = plain(charge_kernel.between)
    for _ in range(2000):
        x, radius = rng.choice([-1, 1]) * bad(rng), bad(rng)
        half = Fraction(1, 2**53)
        for sign in (-1, 1):
            low, high = between(x, sign * radius, False)
            for true in (Fraction(x) * (1 + half), Fraction(x) * (1 - half)):
                for shift in (Fraction(radius) * (1 + half), Fraction(radius) * (1 - half)):
                    end = true + sign * shift
                    assert Fraction(low) <= end <= Fraction(high)
                    off = abs(end - Fraction(x + sign * radius))
                    worst = max(worst, float(off / (Fraction(high) - Fraction(x + sign * radius))))
            low, high = between(x, sign * radius, True)
            end = Fraction(x) + sign * Fraction(radius)
            assert Fraction(low) <= end <= Fraction(high)
            assert (low == high) == (Fraction(x + sign * radius) == end)
    assert worst > 1 / 4
