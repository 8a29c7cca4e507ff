"""The error constants of the compiled loops, attacked with numbers that make rounding as bad as it can be."""

import random
from fractions import Fraction
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from suffice import (
    AdditiveModel,
    AtLeast,
    Bins,
    Domain,
    Explainer,
    Feature,
    PairSteps,
    PiecewiseLinear,
    ReluNetwork,
    Steps,
)
from suffice.batch import charge_kernel, charges, covers, kernel, limits, weighed
from suffice.batch.answering import NO_MARKS
from suffice.batch.drop_lines import Line
from suffice.batch.lookup import anchored, line_entry, with_errors
from suffice.batch.plan import make_plan
from suffice.batch.run import batch_question
from suffice.core.rounding import Rounding, Terms
from suffice.numbers.compiling import as_python
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
        as_python(kernel.order_keys, kernel.bits_for)(drops.T.copy(), keys)
        keys.sort(axis=1)
        mask = 1 << (features - 1).bit_length()
        order = np.array([features - 1 - (key & (mask - 1)) for key in keys[0].tolist()])
        total, doubt = plain(limits.fall_of)(order, drops[0], np.zeros(features), 0.0, 0.0, most, mask)
        true = sum(sorted(map(Fraction, drops[0].tolist()))[-most:])
        counted = Fraction(plain(kernel.slack_error)(total, doubt, 0.0, 0.0, features)) + Fraction(doubt)
        assert abs(Fraction(total) - true) <= counted


@pytest.mark.parametrize("seed", range(4))
def test_a_row_that_is_cut_by_its_keys_is_cut_rightly_whatever_its_drops_truly_are(seed):
    """Drops that differ in the bits that keys leave out, or have all of them; margins next to sums of drops."""
    rng, settled = random.Random(seed), [0, 0]
    cut = as_python(kernel.cut_by_keys, kernel.slack_error, kernel.fits, kernel.exceeds)
    order_keys = as_python(kernel.order_keys, kernel.bits_for)
    for kind in rng.choices(["close", "apart", "least floats"], k=3000):
        features = rng.choice([17, 33, 65]) if kind == "apart" else rng.randint(2, 12)
        mask, near = 1 << (features - 1).bit_length(), bad(rng)
        if kind == "close":
            drops = [
                near * (1 + rng.randint(0, 6 * mask) * 2.0**-52) * rng.choice([1, 1, 1, 2]) for _ in range(features)
            ]
        elif kind == "apart":  # with as much as possible in the last bits
            drops = [(2**52 + (k << 30) + mask - 1) * 2.0**-50 for k in rng.sample(range(1000), features)]
        else:
            drops = [5e-324 * rng.randint(0, 6 * mask) for _ in range(features)]
        off = rng.choice([0.0, 2.0**-53, 2.0**-51, 2.0**-46])
        bounds = [drop * rng.choice([0.0, off]) for drop in drops]
        ascending, count = sorted(map(Fraction, drops)), rng.randint(0, features)
        margin = float(sum(ascending[:count]) * (1 + Fraction(rng.randint(-150, 150), 2 ** rng.choice([45, 50, 53]))))
        margin = margin if rng.random() < 0.7 else float(sum(ascending[:count]) + ascending[-1] / 2)
        error = margin * rng.choice([0.0, 2.0**-53, 2.0**-48])
        if not kernel.holds.py_func(margin, error):
            continue
        keys, fixed = np.empty((1, features), np.int64), np.empty(features, np.int32)
        order_keys(np.array(drops)[:, None], keys)
        keys.sort(axis=1)
        size = cut(keys[0], mask, sum(bounds), margin, error, fixed)
        settled[size != kernel.OPEN] += 1
        if size == kernel.OPEN:
            continue
        kept = fixed[:size].tolist()
        free = [i for i in range(features) if i not in kept]
        low = [Fraction(drop) - Fraction(bound) for drop, bound in zip(drops, bounds, strict=True)]
        high = [Fraction(drop) + Fraction(bound) for drop, bound in zip(drops, bounds, strict=True)]
        assert sum(high[i] for i in free) < Fraction(margin) - Fraction(error)
        assert all(low[i] > high[j] for i, j in pairwise(kept))
        if kept:
            assert all(low[kept[-1]] > high[j] for j in free)
            assert sum(low[i] for i in free) + low[kept[-1]] > Fraction(margin) + Fraction(error)
    assert min(settled) > 200


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
        as_python(weighed.weigh_items, kernel.bits_for)(drops, bounds, *items, low, high, keys, rates)
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


@pytest.mark.parametrize("seed", range(4))
def test_an_order_of_items_that_is_called_sure_is_that_of_their_shares(seed):
    """Two items with shares that differ in their last places, of margins that are off or exact."""
    rng = random.Random(seed)
    rank = as_python(covers.rank, covers.is_equal)
    sure = 0
    for _ in range(1500):
        margins = np.array([bad(rng), bad(rng)])
        errors = margins * rng.choice([0.0, 0.0, 2.0**-53, 2.0**-41, 0.5])
        first = bad(rng)
        # In the other part the second item has nearly the same share, a few places above or below.
        second = first * (margins[1] / margins[0]) * (1 + rng.randint(-6, 6) * 2.0 ** rng.choice([-53, -52, -41, -40]))
        doubt = 1 + rng.choice([0, 0, 1]) * 2.0**-45
        low, high = np.array([[first, 0.0], [0.0, second]]), np.array([[first * doubt, 0.0], [0.0, second * doubt]])
        order, follows = np.empty(2, np.int64), np.empty(2, np.int8)
        rank(low, high, margins, errors, order, follows)
        if follows[1] == covers.BELOW:
            a, b = order.tolist()
            least = Fraction(low[a, a]) / (Fraction(margins[a]) + Fraction(errors[a]))
            most = Fraction(high[b, b]) / (Fraction(margins[b]) - Fraction(errors[b]))
            assert least > most
            sure += 1
    assert 0 < sure < 1500


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_values_are_off_by_no_more_than_is_told(seed):
    """Values off a float by nearly half a place, of both signs, that nearly cancel out."""
    rng, worst = random.Random(seed), 0.0
    half = Fraction(1, 2**53) - Fraction(1, 2**90)
    for _ in range(60):
        sign = rng.choice([-1, 1])
        values = [Fraction(bad(rng)) * (1 + sign * half) for _ in range(rng.randint(2, 9))]
        values += [-sum(values) * (1 + Fraction(rng.randint(1, 9), 2**50))]
        rng.shuffle(values)
        constant = rng.choice([Fraction(0), Fraction(bad(rng)) * (1 + sign * half)])
        shapes = [PiecewiseLinear([0], [value], left_slope=0, right_slope=0) for value in values]
        explainer = Explainer(AdditiveModel(shapes, constant, "regression"))
        question = explainer.question(1, unit="raw", claim=AtLeast(-(10**6)))
        found = make_plan(explainer.compiled, question).answer(np.zeros((len(values), 1)), NO_MARKS)
        error = abs(Fraction(found.scores[0]) - (sum(values) + constant))
        assert error <= Fraction(found.score_errors[0])
        assert abs(Fraction(found.margins[0]) - (sum(values) + constant + 10**6)) <= Fraction(found.margin_errors[0])
        worst = max(worst, float(error) / found.score_errors[0])
    assert worst > 1 / 16


@pytest.mark.parametrize("seed", range(4))
def test_a_margin_with_slack_is_off_by_no_more_than_is_counted(seed):
    rng, worst = random.Random(seed), 0.0
    for _ in range(2000):
        margin, shift = rng.choice([-1, 1]) * bad(rng), rng.choice([-1, 1]) * bad(rng)
        near, error = kernel.Slack(np.array([shift]), np.zeros(1)).on(np.array([margin]), np.zeros(1))
        off = abs(Fraction(near[0]) - Fraction(margin) - Fraction(shift))
        assert off <= Fraction(error[0])
        worst = max(worst, float(off) / error[0])
    assert worst > 1 / 5  # of two units, a sum takes half of one


@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(3))
def test_a_charge_that_is_looked_up_holds_that_of_a_single_row(seed, arithmetic):
    """The terms of features are given; what is tested is how both add them up, multiply and round."""
    rng, worst = random.Random(seed), 0.0
    for _ in range(60):
        count = rng.randint(1, 12)
        network = ReluNetwork([[[1.0]], [[1.0]]], [[0.0], [0.0]])
        model = AdditiveModel([network] * count, bad(rng), "binary")
        rounding, region = Rounding(model, arithmetic), Domain.interval(0, 1)
        records = []
        for i in range(count):
            above, below, error = (np.array([[bad(rng)]]) for _ in range(3))
            error *= 2.0 ** rng.choice([-70, -24, -20])
            terms = Terms(above, below, np.array([[float(rng.randint(1, 40))]]), error, above + below)
            rounding._found[i, region] = terms
            records.append(charges._records(terms, 1e30)[0])
        (single,) = rounding.errors([region] * count)
        looked_up = charges.Charges.__new__(charges.Charges)
        looked_up.kind, looked_up.outputs, looked_up.times = rounding.kind, 1, 1
        looked_up.base = charges._records(rounding.entry(model.intercept), 1e30)[0]
        looked_up.each = [SimpleNamespace(add=adder(record)) for record in records]
        charge = looked_up.of(np.zeros((count, 1)), NO_MARKS)
        middle, off = Fraction(charge.middle[0, 0]), Fraction(charge.off[0, 0])
        single = Fraction(int(single.p), int(single.q))
        assert middle - off <= single <= middle + off
        worst = max(worst, float(abs(single - middle) / off))
    assert worst > 1 / 16


def adder(record):
    def add(column, vague, low, high, most, more):
        most += record

    return add


@pytest.mark.parametrize("seed", range(4))
def test_pair_terms_are_off_by_no_more_than_their_units(seed):
    """Every number half-way between two units, less a little: all of them round the same way."""
    rng, worst = random.Random(seed), 0.0
    rows = np.array([[x, y, z] for x in (-1.5, 0.5) for y in (-0.5, 3) for z in (-2, 0.25)])
    for _ in range(12):
        start = rng.random()
        bits = pair_bits(Explainer(pair_model(start, 0)))
        shift = rng.choice([-1, 1]) * Fraction(2**20 - 1, 2**21) / 2**bits
        explainer = Explainer(pair_model(start, shift))
        assert pair_bits(explainer) == bits
        result = explainer.explain_batch(rows, 1, unit="raw")
        for k, row in enumerate(rows):
            why = explainer.explain(row, 1, unit="raw")
            assert result.fixed_of(k) == why.fixed
            error = abs(Fraction(result.margins[k]) - why.margin)
            assert error <= Fraction(result.margin_errors[k])
            worst = max(worst, float(error) / result.margin_errors[k])
    assert worst > 1 / 16


def pair_model(seed, shift):
    rng = random.Random(seed)

    def number():
        return Fraction(rng.randint(-400, 600), 1024) + shift

    names = ["a", "b", "c"]
    mains = [Steps([0], [number(), number()]) for _ in names]
    pairs = {
        two: PairSteps(Bins([0]), Bins([0]), [[number() for _ in range(2)] for _ in range(2)])
        for two in combinations(names, 2)
    }
    return AdditiveModel(mains, number(), "binary", [Feature(name, deviation=1) for name in names], pairs=pairs)


def pair_bits(explainer):
    return batch_question(explainer.compiled, explainer.question(1, unit="raw")).plan.landscape.bits
