"""Every answer about small models with curves beside products, against the exact minima of quadratic forms.

    python benchmarks/square_oracle.py [--count 500] [--first 0]

Random models of two to four features: numbers with squares of either sign, integers with squares and cubes, categories,
missing cells; products of any two; one score, several classes or a regression; margins that some features just use up.
Of each a row, a region and options are drawn, and every question is asked through `Explainer`.

The oracle (`tests/oracles/squares.py`) solves quadratic forms on all faces of boxes, and tries all sets of features.
Answers must be proven, or say that they are not and be right in what they bound; how many of each is printed. Their
certificates are given to `suffice_check`, and forged: of what is accepted the oracle must say the same.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import traceback
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import pair_oracle
from oracles.squares import World
from pair_oracle import WrongError, need

import suffice
from suffice import MISSING, Explainer, Status

NEAR = Fraction(1, 2**20)


class Trial(pair_oracle.Trial):
    """A world, options, and what the oracle says; certificates are forged and judged as those of other worlds."""

    def __init__(self, seed, counts):
        self.counts, world = counts, World(seed)
        world.varies = True
        if seed % 3 == 0:
            world.with_tie()
        rng = self.rng = world.rng
        self.world, self.names, self.count = world, world.names, world.count
        self.explainer = Explainer(world.model())
        self.content = self.explainer.compiled.content
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
        self.certify(why, "explanation")

    def batch(self):
        cells = [None if x is MISSING else x if isinstance(x, str) else float(x) for x in self.world.row]
        table = pd.DataFrame([cells], columns=self.names)
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
            self.certify(found, "sufficiency")
            if not is_so:
                self.check_point(found.counterexample, freed, self.world.radii)

    def contrast(self):
        found = self.explainer.contrast(self.world.row, self.given, **self.options)
        least = min((len(freed) for freed, is_so in self.admitted.items() if not is_so), default=None)
        self.told("contrast", found.status)
        self.certify(found, "contrast")
        if found.point is None:
            need(least is None or found.status is not Status.PROVEN, "contrast: none", least)
            return
        need(least is not None and found.lower_bound <= least <= len(found.features), "contrast", found, least)
        self.check_point(found.counterexample, self.index(found.features), self.world.radii)

    def counterfactual(self):
        found = self.explainer.counterfactual(self.world.row, self.given, **self.options)
        least = min((len(freed) for freed, is_so in self.admitted.items() if not is_so), default=None)
        self.told("counterfactual", found.status)
        self.certify(found, "counterfactual")
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
        self.certify(found, "radius")

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
        self.certify(found, "curve")
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

    def minimal(self):
        """Return all sets that suffice while none of their proper subsets does."""
        return [frozenset(self.others(freed)) for freed in self.freest()]

    def radius_is_true(self, said):
        free = self.others(said["fixed"])
        for name, is_wanted in (("holds_at", True), ("fails_at", False)):
            for at in [] if said[name] is None else pair_oracle.approaching(said[name]):
                radii = [None if at is None else at] * self.count
                if self.world.admits(free, radii, self.most) != is_wanted:
                    return False
        return True

    def freest(self):
        """Return all freed sets beyond which nothing more can be freed."""
        most = []
        for freed, is_so in self.admitted.items():
            more = (tuple(sorted({*freed, k})) for k in self.able if k not in freed)
            if is_so and not any(self.admitted[one] for one in more):
                most.append(freed)
        return most

    def relevance(self):
        found = self.explainer.relevance(self.world.row, self.given, **self.options)
        self.told("relevance", found.status)
        self.certify(found, "relevance")
        kept = self.minimal()
        for i in self.able:
            in_all, in_some = all(i in one for one in kept), any(i in one for one in kept)
            role = "necessary" if in_all else "relevant" if in_some else "irrelevant"
            name = self.names[i]
            need(name in getattr(found, role) or name in found.undecided, "relevance", name, role, found)
        need(not any(self.names[i] in found.necessary + found.relevant for i in self.still), "roles of what stays")

    def explanations(self):
        for minimal in ("subset", "size"):
            sets = self.freest()
            if minimal == "size":
                sets = [freed for freed in sets if len(freed) == max(map(len, sets))]
            wanted = {self.others(freed) for freed in sets}
            try:
                found = self.explainer.explanations(self.world.row, self.given, minimal=minimal, **self.options)
                each = [self.index(names) for names in found]
                number = found.count()
            except suffice.UnsettledError:
                self.counts[f"explanations by {minimal}, not settled"] += 1
                continue
            self.counts[f"explanations by {minimal}, settled"] += 1
            need(len(each) == len(set(each)) and set(each) == wanted, "explanations", minimal, each, wanted)
            need(number.low <= len(wanted) <= number.high, "count", number, len(wanted))
            self.certify(found, "explanations")

    def inflate(self):
        try:
            found = self.explainer.inflate(self.world.row, self.given, **self.options)
        except suffice.UnsettledError:
            self.counts["inflate, not settled"] += 1
            return
        self.told("inflate", found.status)
        self.certify(found, "inflation")
        if any(not (one.has_low and one.has_high) for one in found.ranges.values() if not one.values):
            self.counts["inflate, ends left out, not compared"] += 1  # only where the draw has no curve at all
            return
        fixed = self.index(found.ranges)
        free = self.others(fixed)
        before, all_radii = {}, self.world.radii
        for i in map(self.names.index, found.ranges):
            one, own = found.ranges[self.names[i]], self.world.row[i]
            need(own in one, "inflate: the row is outside", i)
            inside, beyond = self.stretch(i, one)
            reach = {**before, i: inside}
            need(self.world.admits(free, all_radii, self.most, reach), "inflate: not so far", i, one)
            for more in beyond:
                if self.world.admits(free, all_radii, self.most, {**before, i: [*inside, more]}):
                    self.counts["inflate, not close"] += 1
                    need(found.caveat, "inflate: further", i, one, more)
            before = reach

    def stretch(self, i, one):
        """Return what a range holds, as places and intervals, and a little more on each side."""
        world, own = self.world, self.world.row[i]
        if one.values:
            every = world.labels[i] if world.kinds[i] == "category" else [own]
            return list(one.values), [label for label in every if label not in one.values]
        (start, stop), (low, high) = world.ends[i], (Fraction(one.low), Fraction(one.high))
        if world.kinds[i] == "integer":
            inside = [Fraction(n) for n in range(int(start), int(stop) + 1) if low <= n <= high]
            return inside, [n for n in (inside[0] - 1, inside[-1] + 1) if start <= n <= stop]
        wide = [(low - NEAR, low)] if low > start + NEAR else []
        wide += [(high, high + NEAR)] if high < stop - NEAR else []
        need(start <= low <= own <= high <= stop, "inflate: outside the domain")
        return [(low, high)], wide


QUESTIONS = ("explain", "batch", "sufficiency", "contrast", "counterfactual", "radius", "curve", "relevance",
             "explanations", "inflate")  # fmt: skip


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
