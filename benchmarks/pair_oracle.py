"""Every answer about small models with terms over two features, against trying all inputs and all sets.

    python benchmarks/pair_oracle.py [--count 2000] [--first 0] [--each 10]

Random models (`tests/oracles/worlds.py`): steps, tables, bilinear surfaces and products; categories, integers, codes,
missing cells; complete graphs, paths, isolated features; margins that features together just reach; one or several
inequalities. Of each a row, a region and options are drawn, and every question is asked through `Explainer`. Answers
are compared with what plain enumeration finds, certificates given to `suffice_check`, and forged: of what is accepted
then, too, plain enumeration must find that it is so. Differences are printed.
"""

from __future__ import annotations

import argparse
import collections
import copy
import json
import math
import random
import sys
import time
import traceback
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles.worlds import CODE, Place, World, subsets

import suffice
import suffice_check
from suffice import MISSING, Explainer, Status
from suffice.model.writing import to_bytes

NEAR = Fraction(1, 2**44)
INF = "inf"
FORGED = 1  # times each certificate


class WrongError(Exception):
    """An answer that is not so."""


def need(is_so, *what):
    if not is_so:
        raise WrongError(" ".join(map(str, what)))


def leaves(document):
    """Yield where the values of a document are, lists too."""
    for key in document if isinstance(document, dict) else range(len(document)):
        if key == "kind":
            continue
        if isinstance(document[key], (dict, list)):
            yield from leaves(document[key])
        if not isinstance(document[key], dict):
            yield document, key


def approaching(text):
    """Return radii that stand for one as certificates write it."""
    if text in ("inf", "finite"):
        return [None if text == "inf" else Fraction(1000)]
    number = Fraction(text.replace("+e", "").replace("-e", ""))
    step = NEAR if text.endswith("+e") else -NEAR if text.endswith("-e") else 0
    return [number + step] if number + step >= 0 else []


class Trial:
    """A world, a question, and what the oracle says of it."""

    def __init__(self, seed, counts):
        self.counts = counts
        varies = seed % 3 == 2
        world = self.world = World(seed, varies=varies, most=3 if varies else 4)
        rng = self.rng = random.Random(f"trial {seed}")
        self.names, self.count = world.names, len(world.names)
        self.explainer = Explainer(world.model)
        self.content = to_bytes(world.model)
        self.claim = world.some_claim()
        style = rng.choice(["one", "one", "each", "inf"])
        self.given = {"one": lambda: rng.choice([Fraction(1, 2), 1, Fraction(3, 2), 2]),
                      "each": lambda: {name: rng.choice([0, Fraction(1, 2), 1, 2, INF]) for name in self.names},
                      "inf": lambda: INF}[style]()  # fmt: skip
        self.unit = rng.choice(["raw", "std"])
        self.radii = [self._raw(i, self.given[n] if style == "each" else self.given) for i, n in enumerate(self.names)]
        self.options = {"unit": self.unit, "claim": self.claim}
        self.still = ()
        if rng.random() < 0.2:
            self.still = (rng.randrange(self.count),)
            self.options["immutable"] = [self.names[i] for i in self.still]
        self.most = None
        if rng.random() < 0.25:
            self.most = self.options["max_changed"] = rng.choice([1, 2])
        self.sight = world.sight(self.radii, self.claim, still=self.still, most=self.most)
        self.able = [i for i in range(self.count) if i not in self.still]
        self.admitted = {
            freed: self.sight.admits(freed) for freed in subsets(self.count) if not {*freed} & {*self.still}
        }

    def _raw(self, i, given):
        if given == INF:
            return None
        return Fraction(given) * (self._deviation(i) if self.unit == "std" else 1)

    def _deviation(self, i):
        one = self.world.deviations[i]
        return Fraction(int(one.p), int(one.q))

    def scaled(self, factor):
        """The radii of a question without one: the same for all."""
        return [None if factor is None else factor * (self._deviation(i) if self.unit == "std" else 1)
                for i in range(self.count)]  # fmt: skip

    def index(self, names):
        return tuple(sorted(self.names.index(name) for name in names))

    def point(self, given):
        return [given[name] for name in self.names]

    def others(self, fixed):
        return tuple(i for i in self.able if i not in set(fixed))

    # --- options --------------------------------------------------------------------------------------------------

    def preferences(self):
        """Random preferences, the items they make, and what each costs."""
        rng, given = self.rng, {}
        items = [(i,) for i in self.able]
        if rng.random() < 0.3 and len(self.able) >= 2:
            tied = tuple(sorted(rng.sample(self.able, 2)))
            items = [item for item in items if item[0] not in tied] + [tied]
            given["groups"] = {"both": [self.names[i] for i in tied]}
        names = {item: "both" if len(item) > 1 else self.names[item[0]] for item in items}
        costs = dict.fromkeys(items, Fraction(1))
        if rng.random() < 0.4:
            for item in items:
                if rng.random() < 0.6:
                    costs[item] = Fraction(rng.choice([1, 2, 3, Fraction(1, 2)]))
            given["cost"] = {names[item]: cost for item, cost in costs.items()}
        fix, free = [], []
        for item in items:
            roll = rng.random()
            if roll < 0.1:
                fix.append(item)
            elif roll < 0.2:
                free.append(item)
        if fix:
            given["fix"] = [self.names[i] for item in fix for i in item]
        if free:
            given["free"] = [self.names[i] for item in free for i in item]
        return given, items, costs, fix, free

    def item_sets(self, items, fix, free):
        """All choices of items beside those that are decided, as (chosen, features of the chosen and `free`)."""
        open_ = [item for item in items if item not in fix and item not in free]
        for size in range(len(open_) + 1):
            yield from combinations(open_, size)

    def features(self, *lists):
        return tuple(sorted(i for items in lists for item in items for i in item))

    # --- certificates ---------------------------------------------------------------------------------------------

    def certify(self, answer, kind, is_surely=True):
        try:
            written = answer.certificate()
        except suffice.CertificateError as error:
            self.counts[f"no certificate, {kind}: {str(error)[:60]}"] += 1
            need(not is_surely or self.world.varies, kind, "refused:", error)
            return None
        document = json.dumps(written.document).encode()
        try:
            text = suffice_check.check(self.content, document)
        except (suffice_check.RejectedError, suffice_check.UnreadableError) as error:
            raise WrongError(f"{kind} certificate rejected: {error}") from None
        self.counts[f"certificates, {kind}"] += 1
        self.forge(written.document)
        return written.document, text

    # --- forgeries ------------------------------------------------------------------------------------------------

    def forge(self, document):
        """Change a certificate at random: what is still accepted must be so."""
        for _ in range(FORGED):
            forged = copy.deepcopy(document)
            part = self.rng.choice(["result", "result", "evidence"])
            spot = self.rng.choice(list(leaves(forged[part])) or [None])
            if spot is None:
                continue
            holder, key = spot
            holder[key] = self.other(holder[key])
            if part == "evidence" and self.rng.random() < 0.5:  # and say more
                for holder, key in leaves(forged["result"]):
                    if key in ("lower_bound", "is_complete", "is_widest", "fails_at"):
                        holder[key] = self.other(holder[key])
            self.counts["forged"] += 1
            try:
                suffice_check.check(self.content, json.dumps(forged).encode())
            except (suffice_check.RejectedError, suffice_check.UnreadableError):
                continue
            self.counts["forged, and accepted"] += 1
            if forged["result"] != document["result"]:
                need(self.is_true(forged), "forged and accepted:", forged["result"], "for", document["result"])

    def other(self, value):
        """Another value of the same kind."""
        rng = self.rng
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return max(0, value + rng.choice([-1, 1, 1, 2])) if rng.random() < 0.7 else rng.randint(-3, self.count)
        if isinstance(value, list):
            return rng.choice([value[:-1], [*value, *value[:1]], value[::-1], [], [*value, rng.randrange(self.count)]])
        if isinstance(value, str):
            try:
                number = Fraction(value)
            except ValueError:
                return rng.choice(["0", "1", value + "+e", value.replace("-e", "").replace("+e", ""), "inf", "finite"])
            return rng.choice([str(number + 1), str(number / 2), str(-number), f"{value}+e", f"{value}-e", "0", "1/3"])
        return rng.choice([None, "0", [], 0])

    def is_true(self, document):
        """Whether what a certificate says is so."""
        said, kind = document["result"], document["result"]["kind"]
        question = document["question"]
        if any(question[name] for name in ("fix", "free", "cost", "groups")):
            return True  # not judged
        every = self.admitted

        def enough(fixed):
            return every[self.others(fixed)]

        if any(i >= self.count for name in ("fixed", "changed") for i in said.get(name, ())):
            return False
        if kind == "explanation":
            best = min(len(self.able) - len(freed) for freed, is_so in every.items() if is_so)
            return enough(said["fixed"]) and Fraction(said["lower_bound"]) <= best
        if kind == "insufficient":
            return not enough(said["fixed"])
        if kind in ("contrast", "counterfactual"):
            least = min((len(freed) for freed, is_so in every.items() if not is_so), default=0)
            chosen = tuple(sorted(set(said["changed"]) - set(self.still)))
            return not every[chosen] and Fraction(said["lower_bound"]) <= least
        if kind == "explanations":
            minimal, sets = self.minimal(), {frozenset(one) - set(self.still) for one in said["sets"]}
            if said["minimal"] == "size":
                minimal = [one for one in minimal if len(one) == min(map(len, minimal))]
            return sets <= set(minimal) and (not said["is_complete"] or sets == set(minimal))
        if kind == "relevance":
            sets = self.minimal()
            some, all_ = set().union(*sets), set(self.able).intersection(*sets)
            return (
                set(said["necessary"]) <= all_
                and set(said["relevant"]) <= some - all_
                and not set(said["irrelevant"]) & some
            )
        if kind == "radius":
            return self.radius_is_true(said)
        self.counts[f"not judged, {kind}"] += 1
        return True

    def radius_is_true(self, said):
        free = self.others(said["fixed"])
        for name, is_wanted in (("holds_at", True), ("fails_at", False)):
            if said[name] is None:
                continue
            for at in approaching(said[name]):
                sight = self.world.sight(self.scaled(at), self.claim, still=self.still, most=self.most)
                if sight.admits(free) != is_wanted:
                    return False
        return True

    # --- questions ------------------------------------------------------------------------------------------------

    def ask(self, what):
        self.counts[f"asked, {what}"] += 1
        getattr(self, what)()

    def explain(self):
        given, items, costs, fix, free = self.preferences() if self.rng.random() < 0.5 else (
            {}, [(i,) for i in self.able], {(i,): Fraction(1) for i in self.able}, [], [])  # fmt: skip
        forced = self.admitted[self.features(free)]
        ask = lambda: self.explainer.explain(self.world.row, self.given, **self.options, **given)  # noqa: E731
        if not forced:
            try:
                ask()
            except suffice.PreferenceError:
                return
            raise WrongError("free features that break the claim were taken")
        why = ask()
        best = None
        for freed in self.item_sets(items, fix, free):
            if self.admitted[self.features(freed, free)]:
                cost = sum((costs[item] for item in items if item not in freed and item not in free), Fraction(0))
                best = cost if best is None or cost < best else best
        fixed = self.index(why.features)
        need(why.status is Status.PROVEN, "explain", why.status)
        need(self.admitted[self.others(fixed)], "explain: not sufficient", fixed)
        need(why.cost == best == why.lower_bound, "explain: cost", why.cost, why.lower_bound, "best", best)
        freed = self.others(fixed)
        slacks = self.sight.slack(freed)
        need(not why.has_exact_slack or why.slack in slacks, "slack", why.slack, slacks)
        need(why.slack == min(slacks) or len(slacks) > 1, "slack", why.slack, slacks)
        for name in why.features:
            found = why.broken_without(name)
            able = not self.admitted[tuple(sorted((*freed, self.names.index(name))))]
            need((found is not None) == able, "broken without", name, found, able)
            if found is not None:
                point = self.point(why.counterexample(name))
                self.check_point(point, (*freed, self.names.index(name)))
        str(why)
        why.document()
        self.certify(why, "explain")

    def check_point(self, point, moved, radii=None):
        need(not self.world.holds_at(point, self.claim), "a counterexample that does not break the claim", point)
        for i, (x, own) in enumerate(zip(point, self.world.row, strict=True)):
            need(x == own or i in moved, "moved", i)
            radius = (self.radii if radii is None else radii)[i]
            if x == own:
                continue
            field = self.world.fields[i]
            if isinstance(x, Fraction) and x != CODE and isinstance(own, Fraction) and own != CODE:
                need(field.low <= x <= field.high, "outside", x)
                need(radius is None or abs(x - own) <= radius, "too far", x, own, radius)
                need(field.kind != "integer" or x.denominator == 1, "no integer")
            else:
                need(radius is None or (x in field.categories and own in field.categories and radius), "jump", x)
        changed = sum(x != own for x, own in zip(point, self.world.row, strict=True))
        need(self.most is None or changed <= self.most, "too many changes", changed, self.most)

    def batch(self):
        rows = [self.world.row, *(self.world.some_row() for _ in range(3))]
        table = np.empty((len(rows), self.count), dtype=object)
        for k, row in enumerate(rows):
            table[k] = [None if x is MISSING else x for x in row]
        claims = [self.claim]
        found = self.explainer.explain_batch(table, self.given, **self.options)
        for k, row in enumerate(rows):
            try:
                why = self.explainer.explain(row, self.given, **self.options)
            except suffice.SufficeError as error:
                need(found.statuses[k] == "failed" and found.messages[k] == str(error), "batch error", k, error)
                continue
            self.counts["batch rows"] += 1
            self.counts["batch rows by exact arithmetic"] += bool(found.was_exact[k])
            need(found.statuses[k] == why.status.value, "batch status")
            need(found.sizes[k] == why.size, "batch size", found.sizes[k], why.size)
            if tuple(found.features_of(k)) != why.features:
                self.counts["batch sets that differ"] += 1
                need(not STRICT, "batch set", found.features_of(k), why.features)
        del claims

    def sufficiency(self):
        for freed in self.rng.sample(list(self.admitted), min(4, len(self.admitted))):
            fixed = [self.names[i] for i in self.able if i not in freed]
            told = self.explainer.sufficiency(self.world.row, fixed, self.given, **self.options)
            need(bool(told) == self.admitted[freed], "sufficiency", fixed, bool(told))
            if not told:
                self.check_point(self.point(told.counterexample), freed)
            self.certify(told, "sufficiency")

    def least_change(self, items, costs, fix, free, admitted):
        """The least cost of changes that break the claim, and the sets that do."""
        best, which = None, []
        for chosen in self.item_sets(items, fix, free):
            if not admitted(self.features(chosen, free)):
                cost = sum((costs[item] for item in chosen), Fraction(0))
                if best is None or cost < best:
                    best, which = cost, []
                if cost == best:
                    which.append(self.features(chosen, free))
        return best, which

    def contrast(self):
        given, items, costs, fix, free = self.preferences() if self.rng.random() < 0.5 else (
            {}, [(i,) for i in self.able], {(i,): Fraction(1) for i in self.able}, [], [])  # fmt: skip
        what = self.explainer.contrast(self.world.row, self.given, **self.options, **given)
        best, _ = self.least_change(items, costs, fix, free, self.admitted.__getitem__)
        need(what.is_possible == (best is not None), "contrast possible", what.is_possible, best)
        need(what.status is Status.PROVEN, "contrast status")
        if best is not None:
            need(what.cost == best, "contrast cost", what.cost, best, given)
            self.check_point(self.point(what.counterexample), self.index(what.features))
        str(what)
        self.certify(what, "contrast")

    def counterfactual(self):
        given, items, costs, fix, free = self.preferences() if self.rng.random() < 0.3 else (
            {}, [(i,) for i in self.able], {(i,): Fraction(1) for i in self.able}, [], [])  # fmt: skip
        if self.given == INF or (isinstance(self.given, dict) and INF in self.given.values()):
            return
        what = self.explainer.counterfactual(self.world.row, self.given, **self.options, **given)
        best, _ = self.least_change(items, costs, fix, free, self.admitted.__getitem__)
        need(what.is_possible == (best is not None), "counterfactual possible")
        if best is None:
            return
        need(what.cost == best, "counterfactual cost", what.cost, best)
        self.check_point(self.point(what.counterexample), self.index(what.features))
        least, more = what.least_change, 0 if what.status is Status.PROVEN else Fraction(1, 2**38)

        def breaks(factor):
            radii = [factor * radius for radius in self.radii]
            sight = self.world.sight(radii, self.claim, still=self.still, most=self.most)
            cost, _ = self.least_change(items, costs, fix, free, sight.admits)
            return cost is not None and cost <= best

        # A category changes at any size above 0; a size of 0 is attained where only these change.
        if least > NEAR:
            need(not breaks(least - NEAR), "counterfactual: nearer", least)
        need(least + NEAR + more > 1 or breaks(least + NEAR + more), "counterfactual: not so near", least)
        if least and not more:
            need(breaks(least) == what.is_attained, "counterfactual attained", least)
        str(what)
        self.certify(what, "counterfactual")

    def minimal(self):
        """All subset-minimal sufficient sets."""
        enough = [frozenset(self.able) - set(freed) for freed, is_so in self.admitted.items() if is_so]
        return [one for one in enough if not any(other < one for other in enough)]

    def relevance(self):
        found = self.explainer.relevance(self.world.row, self.given, **self.options)
        sets = self.minimal()
        some, every = set().union(*sets), set(self.able).intersection(*sets)
        need(set(self.index(found.necessary)) == every, "necessary", found.necessary, sorted(every))
        need(set(self.index(found.relevant)) | every == some, "relevant", found.relevant, sorted(some))
        need(set(self.index(found.irrelevant)) == set(range(self.count)) - some, "irrelevant", found.irrelevant)
        need(not found.undecided, "undecided")
        str(found)
        self.certify(found, "relevance")

    def explanations(self):
        sets = self.minimal()
        least = min(map(len, sets))
        for minimal, wanted in (("subset", sets), ("size", [one for one in sets if len(one) == least])):
            every = self.explainer.explanations(self.world.row, self.given, minimal=minimal, **self.options)
            listed = [frozenset(self.index(one)) for one in every]
            need(len(listed) == len(set(listed)), "twice")
            need(set(listed) == set(wanted), "explanations", minimal, listed, wanted)
            if minimal == "size":
                need(every.count() == (len(wanted), len(wanted)), "count", every.count(), len(wanted))
            self.certify(every, f"explanations by {minimal}")

    def radius(self):
        fixed = [name for i, name in enumerate(self.names) if i in self.able and self.rng.random() < 0.4]
        free = self.others(self.index(fixed))
        found = self.explainer.radius(self.world.row, fixed, **self.options)
        more = 0 if found.status is Status.PROVEN else Fraction(1, 2**38)

        def admits(radius):
            return self.world.sight(self.scaled(radius), self.claim, still=self.still, most=self.most).admits(free)

        if found.radius == math.inf:
            need(admits(Fraction(100)), "radius: all finite ones")
            need(admits(None) == found.is_attained, "radius: whole domain")
        else:
            r = found.radius
            need(more or admits(r) == found.is_attained, "radius attained", r, found.is_attained)
            need(r == 0 or admits(r - NEAR if r > NEAR else r / 2), "radius: not so far", r)
            need(not admits(r + NEAR + more), "radius: further", r)
        str(found)
        self.certify(found, "radius", is_surely=not more)

    def curve(self):
        given, items, costs, fix, free = self.preferences() if self.rng.random() < 0.3 else (
            {}, [(i,) for i in self.able], {(i,): Fraction(1) for i in self.able}, [], [])  # fmt: skip
        until = self.rng.choice([2, 3])
        try:
            found = self.explainer.curve(self.world.row, until=until, **self.options, **given)
        except suffice.PreferenceError:
            need(free, "curve refused")
            return
        more = 0 if found.status is Status.PROVEN else Fraction(1, 2**38)

        def best(radius):
            sight = self.world.sight(self.scaled(radius), self.claim, still=self.still, most=self.most)
            sizes = [
                sum((costs[item] for item in items if item not in freed and item not in free), Fraction(0))
                for freed in self.item_sets(items, fix, free)
                if sight.admits(self.features(freed, free))
            ]
            return min(sizes)

        before = Fraction(0)
        for step in found.steps:
            r = step.reach.radius if hasattr(step, "reach") else step.limit.radius
            attained = (step.reach if hasattr(step, "reach") else step.limit).is_attained
            r = Fraction(until) if r == math.inf else r
            middle = (before + r) / 2
            for at in [middle, *([r] if attained else [])]:
                if at > before:
                    sight = self.world.sight(self.scaled(at), self.claim, still=self.still, most=self.most)
                    need(sight.admits(self.others(self.index(step.features))), "curve: set", at, step)
                    need(
                        best(at) == step.cost if hasattr(step, "cost") else best(at) == step.size,
                        "curve size",
                        at,
                        step,
                        best(at),
                    )
            if r < until:
                need(
                    best(r + NEAR + more) > (step.cost if hasattr(step, "cost") else step.size), "curve grows", r, step
                )
            before = r + more
        str(found)
        self.certify(found, "curve", is_surely=not more)

    def inflate(self):
        why = self.explainer.explain(self.world.row, self.given, **self.options)
        features = list(why.features)
        found = self.explainer.inflate(self.world.row, self.given, features=features, **self.options)
        if self.most is not None:  # what counts as a change is another matter then
            self.certify(found, "inflate")
            return
        freed = self.others(self.index(features))
        base = self.world.places(self.radii, still=self.still)
        places = [base[i] if i in freed else [Place(self.world.row[i])] for i in range(self.count)]
        order = list(found.ranges)
        for name in order:
            i, got = self.names.index(name), found.ranges[name]
            own = Place(self.world.row[i])

            def with_(more, i=i, own=own, places=places):
                return [[own, *(p for p in more if p != own)] if k == i else some for k, some in enumerate(places)]

            def admits(some):
                sight = self.world.sight([], self.claim, places=some)
                return sight.admits(tuple(range(self.count)))

            field = self.world.fields[i]
            if got.values:
                need(admits(with_([Place(x) for x in got.values])), "range of labels does not hold", got)
                if own.at in field.categories:
                    for label in (*field.categories,):
                        if label not in got.values:
                            need(not admits(with_([Place(label)])), "a label left out", name, label)
                places = with_([Place(x) for x in got.values])
                continue
            low = field.low if got.low is None else got.low
            high = field.high if got.high is None else got.high
            inside = self.world.between(
                i, low, high, (got.has_low or got.low is None, got.has_high or got.high is None)
            )
            need(admits(with_(inside)), "range does not hold", name, got)
            if field.kind == "integer":
                for at in (low - 1, high + 1):
                    if field.low <= at <= field.high:
                        need(not admits(with_([Place(at)])), "range can be wider", name, got)
            else:
                if low > field.low:
                    wider = self.world.between(i, low - NEAR, low, (True, True))
                    need(not admits(with_(wider)), "range can go lower", name, got)
                if high < field.high:
                    wider = self.world.between(i, high, high + NEAR, (True, True))
                    need(not admits(with_(wider)), "range can go higher", name, got)
                for end, has in ((low, got.has_low), (high, got.has_high)):
                    if not has and field.low <= end <= field.high and (got.low if end == low else got.high) is not None:
                        need(not admits(with_([Place(end)])), "an end left out", name, got)
            places = with_(inside)
        self.certify(found, "inflate")


QUESTIONS = ("explain", "batch", "sufficiency", "contrast", "counterfactual", "relevance", "explanations", "radius",
             "curve", "inflate")  # fmt: skip
STRICT = False


def main():
    global STRICT
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--each", type=int, default=len(QUESTIONS), help="questions of a world, drawn from all")
    parser.add_argument("--same-sets", action="store_true", help="batches must give the very sets of single rows")
    arguments = parser.parse_args()
    STRICT = arguments.same_sets
    counts, wrong, start = collections.Counter(), 0, time.process_time()
    for seed in range(arguments.first, arguments.first + arguments.count):
        try:
            trial = Trial(seed, counts)
        except Exception:
            wrong += 1
            print("world", seed, traceback.format_exc(), flush=True)
            continue
        counts["worlds"] += 1
        if counts["worlds"] % 100 == 0:
            print(f"{counts['worlds']} worlds, {wrong} wrong", file=sys.stderr, flush=True)
        if not trial.admitted[()]:
            counts["claims that do not hold at the row"] += 1
            continue
        for what in trial.rng.sample(arguments.only, min(arguments.each, len(arguments.only))):
            try:
                trial.ask(what)
            except Exception as error:
                wrong += 1
                is_ours = isinstance(error, WrongError)
                told = str(error) if is_ours else traceback.format_exc()[-1500:]
                print(f"{what} {seed} ({trial.world.task}, {trial.given}, {trial.options}): {told}", flush=True)
    for name, number in sorted(counts.items()):
        print(f"{name}: {number}")
    print(f"{wrong} wrong; {time.process_time() - start:.0f} s of CPU")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
