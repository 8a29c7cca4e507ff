"""Tables made in twofold numbers: against plain fractions, and against the tables of exact arithmetic."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from oracles import infimum_by_sampling

from suffice.batch import quick_lines
from suffice.batch.lookup import exact_table
from suffice.batch.quick_tables import FeatureAsked, quick_tables
from suffice.model.domain import Domain
from suffice.numbers.values import MISSING
from suffice.shapes.pieces import Pieces

STYLES = [
    lambda rng: Fraction(rng.randint(-3, 3)),
    lambda rng: Fraction(rng.choice([0.0, 0.5, 1.0, 0.1, 0.2, 0.3, 1 / 3, -0.7])),
    lambda rng: Fraction(rng.uniform(-5, 5)),
    lambda rng: Fraction(rng.randint(-50, 50), rng.choice([1, 2, 3, 7, 10])),
    lambda rng: Fraction(rng.uniform(-5, 5)) / rng.randint(1, 9) + Fraction(rng.uniform(-1, 1) * 2.0**-60),
    lambda rng: Fraction(rng.choice([1e-300, 1e200, 5e-324, 1.0, 0.0, -1e-12, 1 + 2**-52])),
]


def exact(number):
    return fmpq(number.numerator, number.denominator)


class Drawn:
    """A function drawn at random, in fractions: knots, values there, slope and offset between them."""

    def __init__(self, rng, labels):
        places, heights = rng.choice(STYLES), rng.choice(STYLES)
        self.knots = sorted({places(rng) for _ in range(rng.randint(0, 8))})
        count, kind = len(self.knots), rng.choice(["continuous", "flat", "steps", "jumps"])
        self.values = [heights(rng) for _ in self.knots]
        self.slopes = [rng.choice([Fraction(0), heights(rng)]) for _ in range(count + 1)]
        self.offsets = [heights(rng) for _ in range(count + 1)]
        if kind in ("continuous", "flat") and count:
            if kind == "flat":
                self.values = [rng.choice(self.values[:2]) for _ in self.values]
            for k in range(1, count):
                run, rise = self.knots[k] - self.knots[k - 1], self.values[k] - self.values[k - 1]
                self.slopes[k] = rise / run
            ends = [0, *range(count)]
            self.offsets = [
                self.values[at] - slope * self.knots[at] for at, slope in zip(ends, self.slopes, strict=True)
            ]
        elif kind == "steps":
            self.slopes = [Fraction(0)] * (count + 1)
            self.values = [rng.choice(self.offsets[k : k + 2]) for k in range(count)]
        self.labels = {label: heights(rng) for label in labels}

    def __call__(self, x):
        if x in self.knots:
            return self.values[self.knots.index(x)]
        k = sum(knot < x for knot in self.knots)
        return self.slopes[k] * x + self.offsets[k]

    @property
    def pieces(self):
        columns = ([exact(one) for one in part] for part in (self.knots, self.slopes, self.offsets, self.values))
        return Pieces.tidy(*columns, {label: exact(value) for label, value in self.labels.items()})

    def drop(self, x, low, high, labels=()):
        """How far the function can fall from x to a number between two (None: no end), or to a label.

        A number, or infinity, and whether it is attained.
        """
        first = min([x, *self.knots]) - 1 if low is None else low
        last = max([x, *self.knots]) + 1 if high is None else high
        if (low is None and self.slopes[0] > 0) or (high is None and self.slopes[-1] < 0):
            return math.inf, True
        value, is_attained = infimum_by_sampling(self, self.knots, first, last)
        least = min([(value, not is_attained), *((self.labels[label], False) for label in labels)])
        fall, is_attained = self(x) - least[0], not least[1]
        return fall, is_attained or not fall


def drawn_domain(rng):
    low, high = sorted(rng.choice(STYLES[:4])(rng) for _ in range(2))
    high += low == high
    low, high = exact(low), exact(high)
    every = [Domain.reals(), Domain.interval(low, high), Domain.interval(low=low), Domain.interval(high=high)]
    domain = rng.choice(every)
    return (domain | Domain.codes(MISSING, "a"), (MISSING, "a")) if rng.random() < 0.2 else (domain, ())


def region(domain, x, radius):
    (span,) = domain.spans
    ends = [None if end is None else Fraction(int(end.p), int(end.q)) for end in (span.low, span.high)]
    if radius is None:
        return ends
    low, high = x - radius, x + radius
    return (low if ends[0] is None else max(low, ends[0])), (high if ends[1] is None else min(high, ends[1]))


def look_up(table, x):
    k = int(np.searchsorted(table.breaks, x, "left"))
    return table.entries[2 * k + (k < len(table.breaks) and table.breaks[k] == x)]


def probes(rng, table):
    """Every break, the floats beside it, and something between any two."""
    breaks = [one for one in table.breaks.tolist() if abs(one) < 2.0**900]
    found = {near for one in breaks for near in (one, math.nextafter(one, math.inf), math.nextafter(one, -math.inf))}
    found.update(low + (high - low) * rng.random() for low, high in itertools.pairwise(breaks))
    return sorted(found)


@pytest.mark.parametrize("seed", range(4))
def test_values_and_drops_are_off_by_no_more_than_their_bounds(seed):
    rng = random.Random(seed)
    settled, opened, more = 0, 0, 0
    for _ in range(30):
        domain, labels = drawn_domain(rng)
        first, second = Drawn(rng, labels), Drawn(rng, labels)
        radius = rng.choice([Fraction(0), None, Fraction(1, 2), Fraction(1), Fraction(0.1), Fraction(1, 3)])
        one, two = first.pieces, second.pieces
        drops, by = ([one, two], [first, second]) if rng.random() < 0.5 else ([one, one.negated], [first, None])
        reach = None if radius is None else exact(radius)
        (table,) = quick_tables([FeatureAsked(domain, reach, [one], drops)], terms=5)
        plain = exact_table(domain, reach, values=[one], drops=drops, terms=5)
        if table is None:
            continue
        places = table.breaks[: len(table.breaks) - len(labels)]
        for x in probes(rng, plain):
            entry, at = look_up(table, x), Fraction(x)
            if not domain.holds(exact(at)):
                assert np.isnan(entry[1:]).all()
                continue
            if np.isnan(entry[1]):
                # The outermost places need not be the same, and breaks with one float count here even if nothing
                # happens at one of them.
                is_more = not np.isnan(look_up(plain, x)[1]) and places[0] < x < places[-1]
                assert not is_more or x in places
                opened, more = opened + 1, more + is_more
                continue
            within = (*region(domain, at, radius), labels if radius is None else ())
            wanted = [(first(at), True), *(one.drop(at, *within) for one in by if one)]
            for c, (number, is_attained) in enumerate(wanted):
                base, slope, error = entry[1 + 3 * c : 4 + 3 * c]
                if number == math.inf:
                    assert (base, error) == (math.inf, 0)
                    continue
                found = base + slope * (x - entry[0])
                if math.isfinite(found) and math.isfinite(error):
                    assert abs(Fraction(found) - number) <= Fraction(error)
                    assert error > 0 or is_attained
                    settled += 1
    assert settled > 2_000
    assert opened > 50
    assert more < opened / 10


@pytest.mark.parametrize("seed", range(2))
def test_integers_have_the_tables_of_exact_arithmetic(seed):
    rng = random.Random(seed)
    for _ in range(25):
        one = Drawn(rng, ()).pieces
        domain = rng.choice([Domain.integers(-4, 5), Domain.integers(), Domain.integers(0)])
        radius = rng.choice([None, exact(Fraction(1)), exact(Fraction(5, 2)), exact(Fraction(1, 2))])
        (table,) = quick_tables([FeatureAsked(domain, radius, [one], [one, one.negated])], terms=3)
        plain = exact_table(domain, radius, values=[one], drops=[one, one.negated], terms=3)
        if table is None:
            continue
        for x in range(-12, 13):
            mine, theirs = look_up(table, float(x)), look_up(plain, float(x))
            assert np.array_equal(np.isnan(mine[1:]), np.isnan(theirs[1:]))
            near, error = mine[1::3] + mine[2::3] * (x - mine[0]), mine[3::3]
            other, bound = theirs[1::3] + theirs[2::3] * (x - theirs[0]), theirs[3::3]
            with np.errstate(invalid="ignore"):  # two infinite drops
                is_far = (near != other) & (np.abs(near - other) > error + bound)
            assert not is_far.any()
            assert not ((error == 0) & (bound > 0)).any()


def test_networks_seldom_need_exact_arithmetic(monkeypatch):
    rng = np.random.default_rng(0)
    knots, values = np.sort(rng.normal(size=200)), rng.normal(size=200)
    asked = []
    plainly = quick_lines.stretch_lines
    monkeypatch.setattr(quick_lines, "stretch_lines", lambda *given: asked.append(1) or plainly(*given))
    points = [(Fraction(float(x)) / 3, Fraction(float(y)) / 7) for x, y in zip(knots, values, strict=True)]
    slopes = [
        Fraction(1),
        *((d - b) / (c - a) for (a, b), (c, d) in itertools.pairwise(points)),
        Fraction(-1),
    ]
    offsets = [points[0][1] - points[0][0], *(y - s * x for (x, y), s in zip(points, slopes[1:], strict=True))]
    columns = (
        [exact(one) for one in part] for part in ([x for x, _ in points], slopes, offsets, [y for _, y in points])
    )
    one = Pieces.tidy(*columns)
    (table,) = quick_tables([FeatureAsked(Domain.reals(), exact(Fraction(1, 9)), [one], [one, one.negated])], terms=1)
    assert len(table.breaks) > 250
    assert not asked
