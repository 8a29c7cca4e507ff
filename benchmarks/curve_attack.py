"""Tables of curved and smooth shapes against rows alone, and both against evaluation by another method.

    python benchmarks/curve_attack.py [--models 1000] [--rows 20] [--seed 0] [--seconds 3600]

Models are drawn to be awkward: cubics with jumps, double roots and pieces that are lines or constant, sizes from 1e-9
to 1e6 beside offsets of 1e9, knots that are no floats; functions by name, saturated and steep networks in float32; the
same shape twice; intercepts that make a row a tie. Domains are intervals, half-lines, two of them with a gap, integers
with codes between them, single numbers inside intervals. Rows lie at knots, at ends, a radius away from them and one
float beside. Every claim and option is asked in a batch, by tables, with one thread and two and in another order, which
must say the same; and of each row alone, which must get the same set in the same order. Where each feature's lowest
value is known by formulas of another kind (fractions, decimals of 150 digits, mpmath at 240 bits; networks at sampled
places, which bound it from above), sets are judged by these: none may break the claim, and no cheaper one may suffice.
Prints how many rows there were, how many tables settled, how many were judged; a difference is an error.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations
from math import inf, nextafter
from pathlib import Path

import numpy as np
from identity import alone, digest, drawn_options, is_near

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles.curves import PlainCurve
from oracles.smooth import FUNCTIONS, PlainNetwork, exactly, samples

import suffice
from suffice import (
    AtLeast,
    AtMost,
    Beats,
    Domain,
    Explainer,
    Feature,
    PiecewisePolynomial,
    ProbabilityAtLeast,
    Same,
    Smooth,
    SmoothNetwork,
    Table,
    Within,
)
from suffice.batch import chords, run

CLOSE = Fraction(1, 2**150)  # of the largest number of a row: what formulas leave open
RISING = {"log": (0.01, 6), "sqrt": (0.25, 9), "exp": (-4, 3), "tanh": (-30, 30), "softplus": (-40, 9), "elu": (-5, 5)}
ACTIVATIONS = ("tanh", "elu", "gelu", "selu", "sigmoid", "softplus", "silu", "mish")


# --- functions, as formulas of another kind ---------------------------------------------------------------------------


class Curve:
    """Polynomials between knots, one list for each output."""

    is_exact = True

    def __init__(self, knots, outputs, codes):
        self.knots, self.outputs, self.codes = knots, outputs, codes

    def part(self, factors):
        zipped = zip(*self.outputs, strict=True)
        mixed = [
            [sum(f * c for f, c in zip(factors, cs, strict=True)) for cs in zip(*one, strict=True)] for one in zipped
        ]
        return PlainCurve(self.knots, mixed)

    def value(self, factors, at):
        if at in self.codes:
            return sum(f * c for f, c in zip(factors, self.codes[at], strict=True))
        return self.part(factors)(at)

    def lowest(self, factors, low, high):
        return Fraction(self.part(factors).lowest(low, high))


class Rising:
    """A multiple of a function that rises."""

    is_exact, knots, codes = True, (), {}

    def __init__(self, name, factor):
        self.function, self.factor = FUNCTIONS[name], Fraction(factor)

    def value(self, factors, at):
        return factors[0] * self.factor * exactly(self.function, at)

    def lowest(self, factors, low, high):
        return min(self.value(factors, end) for end in (low, high))


class Sampled(Rising):
    """A network, known at some places."""

    is_exact = False

    def __init__(self, network):
        self.function, self.factor = network, Fraction(1)

    def lowest(self, factors, low, high):
        return min(self.value(factors, at) for at in samples(low, high, 12))


# --- drawing ----------------------------------------------------------------------------------------------------------


def drawn_number(rng):
    third = Fraction(rng.randint(-9, 9), 3)
    return Fraction(rng.choice([rng.randint(-3, 3), third, rng.uniform(-3, 3), 0.1, 1 + 2**-52, 0]))


def drawn_polynomial(rng, size):
    kind = rng.choice(["any", "any", "any", "double", "line", "constant", "near"])
    a, b, c = (drawn_number(rng) for _ in range(3))
    powers = {
        "any": [c, *(drawn_number(rng) for _ in range(3))],
        "double": [-a * a * b, a * a + 2 * a * b, -2 * a - b, Fraction(1)],  # (x - a)² (x - b)
        "near": [c, 3 * a * (a + Fraction(1, 2**40)), -3 * (2 * a + Fraction(1, 2**40)) / 2, Fraction(1)],
        "line": [c, a, Fraction(0), Fraction(0)],
        "constant": [c, Fraction(0), Fraction(0), Fraction(0)],
    }[kind]
    return [size * one for one in powers]


def drawn_curve(rng, outputs, size):
    """Draw polynomials between knots; most of them continuous, some with lines on both sides."""
    knots = sorted({drawn_number(rng) for _ in range(rng.randint(0, 4))})
    lists = [[drawn_polynomial(rng, size) for _ in range(len(knots) + 1)] for _ in range(outputs)]
    if knots and rng.random() < 0.4:
        for some in lists:
            some[0], some[-1] = ([*one[:2], Fraction(0), Fraction(0)] for one in (some[0], some[-1]))
    if rng.random() < 0.7:  # shifted, so that pieces meet
        for some in lists:
            for k, knot in enumerate(knots):
                before, after = (sum(c * knot**j for j, c in enumerate(one)) for one in some[k : k + 2])
                some[k + 1] = [some[k + 1][0] + before - after, *some[k + 1][1:]]
    shift = rng.choice([0, 0, 0, 10**9, Fraction(1, 3)])
    for one in lists[0]:
        one[0] += shift
    return knots, lists, shift


def drawn_domain(rng):
    """Draw a domain with its spans, and codes that have values of their own."""
    half = Fraction(rng.choice([1, 3, 4, Fraction(7, 3)]))
    return rng.choice(
        [
            (Domain.interval(-half, half), [(-half, half)], False),
            (Domain.interval(-half, half), [(-half, half)], False),
            (Domain.reals(), [(-inf, inf)], False),
            (Domain.interval(-inf, half), [(-inf, half)], False),
            (Domain.interval(-inf, -half) | Domain.interval(half), [(-inf, -half), (half, inf)], False),
            (Domain.interval(-3, 3) | Domain.points(half / 5, 5), [(-3, 3), (5, 5)], False),
            (Domain.integers(-4, 5), [(-4, 5)], True),
        ]
    )


class Drawn:
    """A feature: its shape, its formulas, its domain, and numbers that are awkward for it."""

    def __init__(self, rng, outputs, size, radius):
        self.radius, self.codes, self.is_whole = Fraction(radius), {}, False
        kind = rng.choice([*["curve"] * 5, *["rising"] * 3, "network"]) if outputs == 1 else "curve"
        if kind == "curve":
            knots, lists, _ = drawn_curve(rng, outputs, size)
            self.domain, self.spans, self.is_whole = drawn_domain(rng)
            pieces = lists[0] if outputs == 1 else [list(some) for some in zip(*lists, strict=True)]
            self.shape = PiecewisePolynomial(knots, pieces)
            if rng.random() < 0.3:
                code = Fraction(rng.choice([Fraction(1, 2), Fraction(201, 2)]) if self.is_whole else 77)
                if not any(low <= code <= high for low, high in self.spans) or self.is_whole:
                    self.codes = {code: [drawn_number(rng) * size for _ in range(outputs)]}
                    value = self.codes[code]
                    self.shape = Table({code: value[0] if outputs == 1 else value}, otherwise=self.shape)
                    self.domain = self.domain | Domain.codes(code)
            self.plain = Curve(knots, lists, self.codes)
        elif kind == "rising":
            name, factor = rng.choice(list(RISING)), rng.choice([1, -1, 0.3, -1e-6])
            self.shape, self.plain = factor * Smooth(name), Rising(name, factor)
            self._within(*RISING[name])
        else:
            name, gain = rng.choice(ACTIVATIONS), rng.choice([0.7, 2, 30, 1e8])
            draw = np.random.default_rng(rng.randrange(2**32))
            weights = [
                (draw.normal(size=shape) * one).astype(np.float32) for shape, one in (((3, 1), gain), ((1, 3), 1))
            ]
            biases = [draw.normal(size=count).astype(np.float32) for count in (3, 1)]
            self.shape = SmoothNetwork(weights, biases, name)
            self.plain = Sampled(PlainNetwork(weights, biases, [name]))
            self._within(-2, 3)
        ends = [end for span in self.spans for end in span if abs(end) < inf]
        near = [*ends, *self.plain.knots, 0]
        self.near = [one + shift for one in near for shift in (0, self.radius, -self.radius)]

    def _within(self, low, high):
        self.domain, self.spans = Domain.interval(low, high), [(Fraction(low), Fraction(high))]

    def cell(self, rng):
        """Draw a cell: mostly of the domain."""
        if self.codes and rng.random() < 0.15:
            return next(iter(self.codes))
        if self.is_whole:
            return Fraction(rng.randint(-4, 5))
        at = Fraction(rng.choice(self.near)) if rng.random() < 0.4 else Fraction(rng.uniform(-3, 4))
        near = float(at)
        moved = rng.choice([at, near, near, nextafter(near, inf), nextafter(near, -inf)])
        found = Fraction(moved)
        if not any(low <= found <= high for low, high in self.spans):
            low, high = rng.choice(self.spans)
            found = Fraction(rng.uniform(max(low, Fraction(-9)), min(high, Fraction(9))))
            found = min(max(found, Fraction(low)) if low > -inf else found, high)
        return Fraction(found)

    def drop(self, factors, at):
        """How far it may lower a score, from a cell."""
        own = self.plain.value(factors, at)
        if at in self.codes:
            return Fraction(0)
        reach = []
        for low, high in self.spans:
            start, end = max(low, at - self.radius), min(high, at + self.radius)
            if start > end:
                continue
            if self.is_whole:
                whole = range(-(-start.numerator // start.denominator), end.numerator // end.denominator + 1)
                reach += [self.plain.value(factors, Fraction(one)) for one in whole]
            else:
                reach.append(self.plain.lowest(factors, Fraction(start), Fraction(end)))
        return max(own - min(reach), Fraction(0))


def drawn_claim(rng, task, size):
    if task == "multiclass":
        return rng.choice([Same(), Same(), Beats(1)])
    if task == "regression":
        return rng.choice([AtLeast(-size), AtMost(size), Within(size)])
    return rng.choice([Same(), Same(), Same(), AtLeast(-size), Within(size), ProbabilityAtLeast(0.3), Beats(0)])


# --- judging ----------------------------------------------------------------------------------------------------------


def parts_of(claim, task, scores):
    """Each inequality of a claim at a row: factors of the scores, and the margin; None where formulas do not judge."""
    if isinstance(claim, Same) and task == "binary":
        return [((1,), scores[0])] if scores[0] > 0 else [((-1,), -scores[0])]
    if isinstance(claim, Same):
        best = max(range(len(scores)), key=scores.__getitem__)
        others = [j for j in range(len(scores)) if j != best]
        return [(tuple((k == best) - (k == j) for k in range(len(scores))), scores[best] - scores[j]) for j in others]
    if isinstance(claim, AtLeast):
        return [((1,), scores[0] - fraction(claim.value))]
    if isinstance(claim, AtMost):
        return [((-1,), fraction(claim.value) - scores[0])]
    if isinstance(claim, Within):
        return [((1,), fraction(claim.delta)), ((-1,), fraction(claim.delta))]
    return None


def fraction(number):
    return Fraction(int(number.p), int(number.q))


def judge(drawn, intercept, claim, task, options, row, fixed, is_proven):
    """Whether formulas can judge a set; it must not break the claim, nor may a cheaper one suffice."""
    if "norm" in options or "groups" in options:
        return False
    names = [f"f{i}" for i in range(len(drawn))]
    units = [tuple(int(j == k) for k in range(len(intercept))) for j in range(len(intercept))]
    scores = [
        Fraction(intercept[j]) + sum(one.plain.value(units[j], at) for one, at in zip(drawn, row, strict=True))
        for j in range(len(intercept))
    ]
    parts = parts_of(claim, task, scores)
    if parts is None:
        return False
    each = [
        [Fraction(0) if name in options.get("immutable", ()) else one.drop(factors, at)
         for name, one, at in zip(names, drawn, row, strict=True)]
        for factors, _ in parts
    ]  # fmt: skip
    sizes = [abs(one.plain.value(unit, at)) for unit in units for one, at in zip(drawn, row, strict=True)]
    close = CLOSE * (1 + max([*sizes, *(abs(one) for one in scores), *(abs(drop) for some in each for drop in some)]))
    most = options.get("max_changed", len(drawn))

    def slack(kept):
        """How much of the tightest margin is left, as far as formulas tell."""
        falls = [sorted((d for i, d in enumerate(drops) if i not in kept), reverse=True)[:most] for drops in each]
        return min(margin - sum(fall) for (_, margin), fall in zip(parts, falls, strict=True))

    assert slack(fixed) > -close, "a set that does not suffice"
    if not is_proven or not all(one.plain.is_exact for one in drawn):
        return True
    costs = [options.get("cost", {}).get(name, 1) for name in names]
    must = {names.index(name) for name in options.get("fix", ())}
    barred = {names.index(name) for name in (*options.get("free", ()), *options.get("immutable", ()))}
    cost = sum(costs[i] for i in fixed)
    for kept in chain.from_iterable(combinations(range(len(drawn)), k) for k in range(len(drawn) + 1)):
        if must <= set(kept) and not barred & set(kept) and sum(costs[i] for i in kept) < cost:
            assert slack(kept) < close, "a cheaper set suffices"
    return True


def attack(seed, count):
    """Attack one model; return how many rows there were, how many tables settled, and how many were judged."""
    rng = random.Random(seed)
    chords.CURVE_CHORDS = chords.SMOOTH_CHORDS = rng.choice([8, 32, 128])  # coarse lines, on which bounds matter most
    task = rng.choice(["binary", "binary", "regression", "multiclass"])
    outputs, size = 3 if task == "multiclass" else 1, Fraction(rng.choice([1, 1, 1, Fraction(1, 10**9), 10**6]))
    radii = [rng.choice([0.5, Fraction(1, 3), 0.25, 2, 1e-7, 0]) for _ in range(rng.randint(2, 4))]
    drawn = [Drawn(rng, outputs, size, radius) for radius in radii]
    if rng.random() < 0.2:  # the same twice: drops tie
        drawn[1] = drawn[0]
        radii[1] = radii[0]
    rows = [[one.cell(rng) for one in drawn] for _ in range(count)]
    if drawn[0] is drawn[1]:
        rows = [[row[0], row[0] if k % 3 else row[1], *row[2:]] for k, row in enumerate(rows)]
    units = [tuple(int(j == k) for k in range(outputs)) for j in range(outputs)]
    middle = rows[rng.randrange(count)]
    here = [sum(one.plain.value(unit, at) for one, at in zip(drawn, middle, strict=True)) for unit in units]
    is_tie = rng.random() < 0.1 and all(isinstance(one.plain, Curve) for one in drawn)
    intercept = [-one + (0 if is_tie else size * Fraction(rng.uniform(-2, 2))) for one in here]
    intercept = intercept if is_tie else [Fraction(float(one)) for one in intercept]
    features = [Feature(f"f{i}", one.domain, deviation=1) for i, one in enumerate(drawn)]
    model = suffice.AdditiveModel(
        [one.shape for one in drawn], intercept if outputs > 1 else intercept[0], task, features
    )
    explainer, claim = Explainer(model), drawn_claim(rng, task, size)
    options = drawn_options(rng, [one.name for one in features])
    try:
        question = explainer.question(radii, unit="raw", claim=claim, **options)
    except suffice.SufficeError:  # asked of no row
        return Counter()
    table = np.empty((count, len(drawn)), dtype=object)
    for k, row in enumerate(rows):
        table[k] = [float(at) if Fraction(float(at)) == at else str(at) for at in row]
    result = explainer.explain_batch(table, question, threads=1)
    if seed % 10 == 0:
        assert digest(explainer.explain_batch(table, question, threads=2)) == digest(result), seed
        back = explainer.explain_batch(table[::-1], question, threads=1)
        assert all(k in result.messages or back.fixed_of(count - 1 - k) == result.fixed_of(k) for k in range(count)), (
            seed
        )
    told = Counter(models=1, rows=count, settled=int((~result.was_exact).sum()))
    for k, row in enumerate(rows):
        why = alone(explainer, question, table[k])
        if isinstance(why, str):
            assert result.messages.get(k) == why, (seed, k, why)
            told["refused"] += 1
            continue
        found = result.fixed_of(k), result.statuses[k]
        assert found == (why.fixed, why.status.value), (seed, k, found, why.fixed, why.status)
        told[why.status.value] += 1
        if all(isinstance(one.plain, Curve) for one in drawn):  # else what a row alone tells is rounded itself
            assert is_near(result.margins[k], result.margin_errors[k], why.margin), (seed, k, "margin")
        if model.classes:
            assert result.predictions[k] == why.prediction, (seed, k)
        try:
            told["judged"] += judge(
                drawn, intercept, claim, task, options, row, set(why.fixed), why.status.value == "proven"
            )
        except AssertionError as error:
            raise AssertionError((seed, k, str(error), why.fixed)) from error
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=inf, help="begin no further model after so long")
    asked = parser.parse_args()
    run._WORTH_ROWS = 0  # tables however few rows there are
    began, until, total, wrong = time.process_time(), time.monotonic() + asked.seconds, Counter(), 0
    for seed in range(asked.seed, asked.seed + asked.models):
        if time.monotonic() > until:
            break
        try:
            total += attack(seed, asked.rows)
        except Exception as error:  # the rest is told, too
            wrong += 1
            print(f"model {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(", ".join(f"{count:,} {what}" for what, count in total.items()))
    print(f"{wrong} models with a difference, in {time.process_time() - began:.0f} s of CPU time")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
