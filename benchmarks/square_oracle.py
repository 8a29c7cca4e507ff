"""Every answer about small models with curves beside products, against the exact minima of quadratic forms.

    python benchmarks/square_oracle.py [--count 500] [--first 0]

Random models of two to four features: numbers with squares of either sign, integers with squares and cubes, categories,
missing cells; products of any two; one score, several classes or a regression; margins that some features just use up.
Of each a row, a region and options are drawn, and every question is asked through `Explainer`.

The oracle knows nothing of labels or tangents. Integers and categories are tried one by one. What is left is a
quadratic form over a box: it is lowest on some face of the box, where the gradient along the face is 0, so all faces are
tried and a linear system of fractions is solved on each (a face on which it has more than one solution, or none, is not
needed: the form is as low on a smaller one). All sets of features are tried. Answers must be proven, or say so and be
right in what they bound; how many of each is printed.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import time
import traceback
from fractions import Fraction
from itertools import combinations, product

import pandas as pd

import suffice
from suffice import MISSING, Domain, Explainer, Feature, PiecewisePolynomial, Product, Status, Table

NEAR = Fraction(1, 2**20)


class WrongError(Exception):
    """An answer that is not so."""


def need(is_so, *what):
    if not is_so:
        raise WrongError(" ".join(map(str, what)))


def solved(matrix, right):
    """Return the one solution of a linear system, or None."""
    size = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for k in range(size):
        pivot = next((r for r in range(k, size) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for r in range(size):
            if r != k and rows[r][k]:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [rows[k][-1] / rows[k][k] for k in range(size)]


class World:
    """A random model, a row and a region."""

    def __init__(self, seed):
        rng = self.rng = random.Random(f"squares {seed}")
        self.count = rng.choice([2, 2, 3, 3, 4])
        self.task = rng.choice(["binary", "binary", "binary", "regression", "multiclass"])
        self.outputs = 3 if self.task == "multiclass" else 1
        self.names = [f"x{i}" for i in range(self.count)]
        self.kinds = [rng.choice(["number", "number", "number", "gap", "integer", "category"]) for _ in self.names]
        self.kinds[0] = "number"
        some = lambda: Fraction(rng.randint(-8, 8), rng.choice([1, 2, 3, 4]))  # noqa: E731
        self.ends, self.own, self.labels, self.tables = [], [], [], []
        for kind in self.kinds:
            low = Fraction(rng.randint(-4, 0))
            self.ends.append((low, low + rng.randint(1, 5)))
            degree = rng.choice([1, 2, 2, 2, 3]) if kind == "integer" else rng.choice([1, 2, 2, 2])
            self.own.append([[some() for _ in range(degree + 1)] for _ in range(self.outputs)])
            self.labels.append(["a", "b", "c"] if kind == "category" else [MISSING] if kind == "gap" else [])
            self.tables.append({label: [some() for _ in range(self.outputs)] for label in self.labels[-1]})
        self.pairs = {}
        chance = rng.choice([0.4, 0.8, 1])
        for both in combinations(range(self.count), 2):
            if rng.random() < chance or both == (0, 1):
                self.pairs[both] = [[self._factor(rng, some, i) for i in both] for _ in range(self.outputs)]
        self.row = [self._value(rng, i) for i in range(self.count)]
        self.radii = [rng.choice([Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(3)]) for _ in self.names]
        self.intercept = [some() for _ in range(self.outputs)]
        self.claim, self.delta = None, None
        if self.task == "regression":
            self.delta = Fraction(rng.randint(1, 12), 2)
            self.claim = suffice.Within(self.delta)
        self.ties = rng.choice(["positive", "negative"])

    def _factor(self, rng, some, i):
        return {"line": (some(), some()), "labels": {label: some() for label in self.labels[i]}}

    def _value(self, rng, i):
        low, high = self.ends[i]
        if self.kinds[i] == "category" or (self.kinds[i] == "gap" and rng.random() < 0.15):
            return rng.choice(self.labels[i])
        if self.kinds[i] == "integer":
            return Fraction(rng.randint(int(low), int(high)))
        return low + (high - low) * Fraction(rng.randint(0, 8), 8)

    def model(self):
        shapes, features = [], []
        for i, kind in enumerate(self.kinds):
            low, high = self.ends[i]
            whole = len(self.tables[i]) and Table(
                {k: v if self.outputs > 1 else v[0] for k, v in self.tables[i].items()},
                **({} if kind == "category" else {"otherwise": self._polynomial(self.own[i])}),
            )
            shapes.append(whole or self._polynomial(self.own[i]))
            features.append(Feature(self.names[i], self._domain(i, low, high)))
        pairs = {}
        for (i, j), factors in self.pairs.items():
            pairs[self.names[i], self.names[j]] = Product(*(self._line(i if k == 0 else j, [one[k] for one in factors])
                                                           for k in (0, 1)))  # fmt: skip
        classes = ["a", "b", "c"] if self.task == "multiclass" else None
        return suffice.AdditiveModel(shapes, self.intercept if self.outputs > 1 else self.intercept[0], self.task,
                                     features, classes, pairs=pairs, ties=self.ties)  # fmt: skip

    def _domain(self, i, low, high):
        if self.kinds[i] == "category":
            return Domain.categories(*self.labels[i])
        found = Domain.integers(int(low), int(high)) if self.kinds[i] == "integer" else Domain.interval(low, high)
        return found | Domain.codes(MISSING) if self.kinds[i] == "gap" else found

    def _polynomial(self, own):
        longest = max(map(len, own))
        padded = [one + [Fraction(0)] * (longest - len(one)) for one in own]
        return PiecewisePolynomial([], [padded if self.outputs > 1 else padded[0]])

    def _line(self, i, factors):
        line = PiecewisePolynomial([], [[list(one["line"]) for one in factors] if self.outputs > 1
                                        else list(factors[0]["line"])])  # fmt: skip
        if not self.labels[i]:
            return line
        entries = {label: [one["labels"][label] for one in factors] for label in self.labels[i]}
        entries = entries if self.outputs > 1 else {label: value[0] for label, value in entries.items()}
        return Table(entries, **({} if self.kinds[i] == "category" else {"otherwise": line}))

    # --- exactly --------------------------------------------------------------------------------------------------

    def scores(self, point):
        found = []
        for k in range(self.outputs):
            score = self.intercept[k]
            for i, x in enumerate(point):
                score += self.tables[i][x][k] if x in self.labels[i] else sum(
                    c * x**power for power, c in enumerate(self.own[i][k]))  # fmt: skip
            for (i, j), factors in self.pairs.items():
                score += self.at(factors[k][0], point[i]) * self.at(factors[k][1], point[j])
            found.append(score)
        return found

    @staticmethod
    def at(factor, x):
        return factor["labels"][x] if x in factor["labels"] else factor["line"][0] + factor["line"][1] * x

    def inequalities(self):
        """Return weights of the scores, a constant and whether it is strict, of every part of the claim."""
        scores = self.scores(self.row)
        if self.task == "regression":
            return [([1], self.delta - scores[0], False), ([-1], self.delta + scores[0], False)]
        if self.task == "binary":
            is_positive = scores[0] > 0 or (scores[0] == 0 and self.ties == "positive")
            return [([1 if is_positive else -1], Fraction(0), (self.ties == "positive") != is_positive)]
        best = max(range(3), key=lambda k: (scores[k], -k))
        return [([int(k == best) - int(k == other) for k in range(3)], Fraction(0), other < best)
                for other in range(3) if other != best]  # fmt: skip

    def places(self, i, radius):
        """Return the values of a feature that are tried one by one, and its interval if there is one."""
        x, (low, high) = self.row[i], self.ends[i]
        if self.kinds[i] == "category":
            return [*(self.labels[i] if radius != 0 else [x])], None
        if x in self.labels[i]:
            return ([x], None) if radius is not None else ([x], (low, high))
        ends = (low, high) if radius is None else (max(low, x - radius), min(high, x + radius))
        if self.kinds[i] == "integer":
            return [Fraction(n) for n in range(-(-ends[0] // 1), ends[1] // 1 + 1)], None
        return ([*self.labels[i]] if radius is None else []), ends

    def lowest(self, part, freed, radii):
        """Return the least value of a part of the claim where some features may move."""
        choices = []
        for i in range(self.count):
            if i not in freed:
                choices.append([self.row[i]])
                continue
            single, interval = self.places(i, radii[i])
            choices.append([*single, *([interval] if interval is not None else [])])
        return min(self._lowest(part, choice) for choice in product(*choices))

    def _lowest(self, part, choice):
        weights, constant, _ = part
        moving = [i for i, one in enumerate(choice) if isinstance(one, tuple)]
        where = {i: k for k, i in enumerate(moving)}
        # The form c + b·x + x·H·x / 2, read off its values.
        def value(point):
            return constant + sum(w * s for w, s in zip(weights, self.scores(point), strict=True))

        def with_(moves):
            return [moves.get(i, Fraction(0)) if i in where else one for i, one in enumerate(choice)]

        c = value(with_({}))
        plus = [value(with_({i: Fraction(1)})) for i in moving]
        minus = [value(with_({i: Fraction(-1)})) for i in moving]
        slope = [(p - m) / 2 for p, m in zip(plus, minus, strict=True)]
        bend = [[Fraction(0)] * len(moving) for _ in moving]
        for a, i in enumerate(moving):
            bend[a][a] = plus[a] + minus[a] - 2 * c
            for b in range(a):
                both = value(with_({i: Fraction(1), moving[b]: Fraction(1)}))
                bend[a][b] = bend[b][a] = both - plus[a] - plus[b] + c
        best = None
        for face in product((0, 1, None), repeat=len(moving)):
            inner = [k for k, side in enumerate(face) if side is None]
            at = [None if side is None else choice[moving[k]][side] for k, side in enumerate(face)]
            if inner:
                right = [-slope[k] - sum(bend[k][m] * at[m] for m in range(len(moving)) if at[m] is not None) for k in inner]
                found = solved([[bend[k][m] for m in inner] for k in inner], right)
                if found is None:
                    continue
                for k, x in zip(inner, found, strict=True):
                    at[k] = x
                if any(not choice[moving[k]][0] < at[k] < choice[moving[k]][1] for k in inner):
                    continue
            now = value(with_({i: at[k] for k, i in enumerate(moving)}))
            best = now if best is None or now < best else best
        return best

    def admits(self, freed, radii, most=None):
        sets = [freed] if most is None or len(freed) <= most else combinations(freed, most)
        for some in sets:
            for part in self.inequalities():
                least = self.lowest(part, some, radii)
                if least < 0 or (least == 0 and part[2]):
                    return False
        return True

    def with_tie(self):
        """Move the intercept so that some features just use the margin up; a regression's range instead."""
        freed = tuple(i for i in range(self.count) if self.rng.random() < 0.6) or (0,)
        if self.task == "binary":
            (part,) = self.inequalities()
            self.intercept[0] -= part[0][0] * self.lowest(part, freed, self.radii)
        elif self.task == "regression":
            for part in self.inequalities():
                self.delta = max(self.delta, self.delta - self.lowest(part, freed, self.radii))
            self.claim = suffice.Within(self.delta)


class Trial:
    """A world, options, and what the oracle says."""

    def __init__(self, seed, counts):
        self.counts, world = counts, World(seed)
        if seed % 3 == 0:
            world.with_tie()
        rng = self.rng = world.rng
        self.world, self.names, self.count = world, world.names, world.count
        self.explainer = Explainer(world.model())
        self.options = {"unit": "raw"} | ({"claim": world.claim} if world.claim is not None else {})
        self.given = dict(zip(self.names, world.radii, strict=True))
        self.still = (rng.randrange(self.count),) if rng.random() < 0.15 else ()
        if self.still:
            self.options["immutable"] = [self.names[i] for i in self.still]
        self.most = rng.choice([1, 2]) if rng.random() < 0.2 else None
        if self.most is not None:
            self.options["max_changed"] = self.most
        self.able = [i for i in range(self.count) if i not in self.still]
        self.admitted = {}
        for size in range(len(self.able) + 1):
            for freed in combinations(self.able, size):
                self.admitted[freed] = world.admits(freed, world.radii, self.most)

    def index(self, names):
        return tuple(sorted(self.names.index(name) for name in names))

    def others(self, fixed):
        return tuple(i for i in self.able if i not in set(fixed))

    def check_point(self, point, moved, radii):
        world = self.world
        values = [point[name] for name in self.names]
        values = [x if x in world.labels[i] else Fraction(x) for i, x in enumerate(values)]
        for i, (x, own) in enumerate(zip(values, world.row, strict=True)):
            if x == own:
                continue
            need(i in moved, "moved", i)
            single, interval = world.places(i, radii[i])
            inside = interval is not None and not isinstance(x, str) and x is not MISSING
            need(x in single or (inside and interval[0] <= x <= interval[1]), "outside", i, x)
        parts = world.inequalities()
        scores = world.scores(values)
        broken = False
        for weights, constant, is_strict in parts:
            value = constant + sum(w * s for w, s in zip(weights, scores, strict=True))
            broken |= value < 0 or (value == 0 and is_strict)
        need(broken, "a counterexample that does not break the claim", values)

    def told(self, what, status):
        self.counts[f"{what}, {status.name}"] += 1

    def explain(self):
        rng, given = self.rng, {}
        costs = dict.fromkeys(self.able, Fraction(1))
        if rng.random() < 0.4:
            costs = {i: Fraction(rng.choice([1, 2, 3])) for i in self.able}
            given["cost"] = {self.names[i]: cost for i, cost in costs.items()}
        fix = [i for i in self.able if rng.random() < 0.08]
        free = [i for i in self.able if i not in fix and rng.random() < 0.08]
        if fix:
            given["fix"] = [self.names[i] for i in fix]
        if free:
            given["free"] = [self.names[i] for i in free]
        try:
            why = self.explainer.explain(self.world.row, self.given, **self.options, **given)
        except suffice.PreferenceError:
            need(not self.admitted[tuple(free)], "refused to free what can be")
            return
        except suffice.UnsettledError:
            need(free, "explain: unsettled without free features")
            self.counts["explain, free not settled"] += 1
            return
        need(self.admitted[tuple(free)], "free features that break the claim were taken")
        allowed = [f for f, is_so in self.admitted.items() if is_so and set(free) <= set(f) and not set(fix) & set(f)]
        best = min(sum((costs[i] for i in self.able if i not in f), Fraction(0)) for f in allowed)
        fixed = self.index(why.features)
        need(self.admitted[self.others(fixed)], "explain: not sufficient", fixed)
        need(why.lower_bound <= best <= why.cost, "explain: cost", why.lower_bound, best, why.cost)
        self.told("explain", why.status)
        least = min(self.world.lowest(p, self.others(fixed), self.world.radii) for p in self.world.inequalities())
        need(self.most is not None or 0 <= why.slack <= least, "slack", why.slack, least)
        for name in why.features:
            found = why.broken_without(name)
            more = tuple(sorted({*self.others(fixed), self.names.index(name)}))
            if found is not None:
                need(not self.admitted[more], "broken without", name)
                self.check_point(why.counterexample(name), more, self.world.radii)
        need(str(why) and why.document(), "no words")
        try:
            why.certificate()
        except suffice.CertificateError:
            pass
        else:
            self.counts["certificates"] += 1

    def batch(self):
        table = pd.DataFrame([[None if x is MISSING else x if isinstance(x, str) else float(x) for x in self.world.row]],
                             columns=self.names)  # fmt: skip
        found = self.explainer.explain_batch(table, self.given, **self.options)
        why = self.explainer.explain(self.world.row, self.given, **self.options)
        need(found.sizes[0] == why.size, "batch", found.sizes[0], why.size)

    def sufficiency(self):
        for freed, is_so in self.admitted.items():
            fixed = [self.names[i] for i in range(self.count) if i not in freed]
            try:
                found = self.explainer.sufficiency(self.world.row, fixed, self.given, **self.options)
            except suffice.UnsettledError:
                self.counts["sufficiency, not settled"] += 1
                continue
            self.counts["sufficiency, settled"] += 1
            need(bool(found) == is_so, "sufficiency", freed, bool(found))
            if not is_so:
                self.check_point(found.counterexample, freed, self.world.radii)

    def contrast(self):
        found = self.explainer.contrast(self.world.row, self.given, **self.options)
        least = min((len(freed) for freed, is_so in self.admitted.items() if not is_so), default=None)
        self.told("contrast", found.status)
        if found.point is None:
            need(least is None or found.status is not Status.PROVEN, "contrast: none", least)
            return
        need(least is not None and found.lower_bound <= least <= len(found.features), "contrast", found, least)
        self.check_point(found.counterexample, self.index(found.features), self.world.radii)

    def counterfactual(self):
        found = self.explainer.counterfactual(self.world.row, self.given, **self.options)
        least = min((len(freed) for freed, is_so in self.admitted.items() if not is_so), default=None)
        self.told("counterfactual", found.status)
        if found.point is None:
            need(least is None or found.status is not Status.PROVEN, "counterfactual: none", least)
            return
        need(least is not None and found.lower_bound <= least <= len(found.features), "counterfactual", least)
        self.check_point(found.counterexample, self.index(found.features), self.world.radii)
        if len(found.features) == least and found.least_change > NEAR:  # nothing so small breaks it within less
            nearer = [r * (found.least_change - NEAR) for r in self.world.radii]
            for freed in combinations(self.able, least):
                need(self.world.admits(freed, nearer, self.most), "nearer", freed, found.least_change)

    def radius(self):
        fixed = [i for i in self.able if self.rng.random() < 0.4]
        free = self.others(fixed)
        found = self.explainer.radius(self.world.row, [self.names[i] for i in fixed], **self.options)
        self.told("radius", found.status)

        def admits(radius):
            return self.world.admits(free, [radius] * self.count, self.most)

        if found.radius == float("inf"):
            need(admits(Fraction(100)), "radius: all finite ones")
            return
        r = found.radius
        need(r == 0 or admits(r), "radius: not so far", r)
        more = NEAR * max(r, 1)
        if admits(r + more):
            self.counts["radius, not close"] += 1
            need(found.caveat, "radius: further", r)

    def curve(self):
        if self.most is not None or self.still:
            return
        try:
            found = self.explainer.curve(self.world.row, until=2, **self.options)
        except suffice.BudgetError:
            self.counts["curve, not settled"] += 1
            return
        self.told("curve", found.status)
        before = Fraction(0)
        for step in found.steps:
            r = min(Fraction(2), Fraction(step.limit.radius) if step.limit.radius != float("inf") else Fraction(2))
            at = (before + r) / 2
            radii = [at] * self.count
            need(self.world.admits(self.others(self.index(step.features)), radii), "curve: set", at)
            sizes = [len(self.able) - len(f) for f in self.admitted if self.world.admits(f, radii)]
            if r - before > NEAR:
                need(min(sizes) == step.cost, "curve", at, step, min(sizes))
            before = r

    def refused(self):
        for ask in (
            lambda: self.explainer.relevance(self.world.row, self.given, **self.options),
            lambda: self.explainer.explanations(self.world.row, self.given, **self.options),
            lambda: self.explainer.inflate(self.world.row, self.given, **self.options),
        ):
            try:
                ask()
            except suffice.SufficeError as error:
                need(str(error).strip(), "no words")
            else:
                self.counts["not refused"] += 1


QUESTIONS = ("explain", "batch", "sufficiency", "contrast", "counterfactual", "radius", "curve", "refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=list(QUESTIONS))
    arguments = parser.parse_args()
    counts, wrong, start = collections.Counter(), 0, time.process_time()
    for seed in range(arguments.first, arguments.first + arguments.count):
        try:
            trial = Trial(seed, counts)
            if not trial.admitted[()]:
                counts["claims that do not hold at the row"] += 1
                continue
        except Exception:
            wrong += 1
            print("world", seed, traceback.format_exc(), flush=True)
            continue
        counts["worlds"] += 1
        for what in arguments.only:
            counts[f"asked, {what}"] += 1
            try:
                getattr(trial, what)()
            except Exception as error:
                wrong += 1
                told = str(error) if isinstance(error, WrongError) else traceback.format_exc()[-1800:]
                print(f"{what} {seed} ({trial.world.task}, {trial.given}, {trial.options}): {told}", flush=True)
    for name, number in sorted(counts.items()):
        print(f"{name}: {number}")
    print(f"{wrong} wrong; {time.process_time() - start:.0f} s of CPU")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
