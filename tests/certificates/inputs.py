"""An oracle that tries inputs: models as plain Python functions, and whether what a certificate says of them is so.

Nothing here adds up drops, sorts, or knows about trees. A model is a list of plain functions with known breakpoints.
All that matters of a feature are finitely many values: its breakpoints, the ends of its region, and values a hair
away from these, on either side. Every combination of them is tried, and what is found out is which *sets of changed
features* break the claim. Statements about sets, costs, radii and ranges are then read off these sets, by trying all
of them.

What only comes close, or lies just beyond a radius, is looked at a hair away. There are two hairs: ends of regions
are off by the thick one, values beside a breakpoint by the thin one. All other numbers are far coarser than both.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import chain, combinations, pairwise, product

from suffice import MISSING, AdditiveModel, Domain, Feature, PiecewiseLinear, ReluNetwork, Steps, Table

getcontext().prec = 200
THICK, THIN = Fraction(1, 2**100), Fraction(1, 2**200)
FAR = Fraction(10**9)  # beyond every breakpoint
FURTHER = Fraction(10**12)  # beyond that


# --- shapes as plain functions ----------------------------------------------------------------------------------------


class Bins:
    """Constants between cuts."""

    def __init__(self, cuts, rows, closed):
        self.cuts, self.rows, self.closed = cuts, rows, closed

    def __call__(self, z):
        return self.rows[sum(z > cut or (z == cut and self.closed == "left") for cut in self.cuts)]

    def breaks(self):
        return self.cuts

    def build(self):
        return Steps(self.cuts, self.rows, self.closed)


class Broken:
    """Affine between knots, and outside of them with given slopes."""

    def __init__(self, knots, rows, slopes):
        self.knots, self.rows, self.slopes = knots, rows, slopes

    def __call__(self, z):
        if z <= self.knots[0]:
            return [v + s * (z - self.knots[0]) for v, s in zip(self.rows[0], self.slopes[0], strict=True)]
        for (a, b), (low, high) in zip(pairwise(self.knots), pairwise(self.rows), strict=True):
            if z <= b:
                return [v + (w - v) * (z - a) / (b - a) for v, w in zip(low, high, strict=True)]
        return [v + s * (z - self.knots[-1]) for v, s in zip(self.rows[-1], self.slopes[1], strict=True)]

    def breaks(self):
        return self.knots

    def build(self):
        return PiecewiseLinear(self.knots, self.rows, *self.slopes)


CLAMPS = {"relu": (0, None), "relu6": (0, 6), "hard_tanh": (-1, 1)}


class Net:
    """A small network; it may bend where a unit is at a threshold, found interval by interval."""

    def __init__(self, layers, activations):
        self.layers, self.activations = layers, activations  # (weights, biases), exact; a name for each but the last

    def units(self, z, depth):
        """The units of a layer before their activation."""
        values = [z]
        for k, (weights, biases) in enumerate(self.layers[: depth + 1]):
            if k:
                low, high = CLAMPS[self.activations[k - 1]]
                values = [
                    max(v, Fraction(low)) if high is None else min(max(v, Fraction(low)), Fraction(high))
                    for v in values
                ]
            values = [
                sum((w * v for w, v in zip(row, values, strict=True)), b)
                for row, b in zip(weights, biases, strict=True)
            ]
        return values

    def __call__(self, z):
        return self.units(z, len(self.layers) - 1)

    def breaks(self):
        found = []
        for depth, name in enumerate(self.activations):
            ends = sorted({-FAR, *found, FAR})
            new = set()
            for a, b in pairwise(ends):
                for low, high in zip(self.units(a, depth), self.units(b, depth), strict=True):
                    for edge in CLAMPS[name]:
                        if edge is not None and (low - edge) * (high - edge) < 0:
                            new.add(a + (b - a) * (edge - low) / (high - low))
                        elif edge is not None:
                            new |= {t for t, v in ((a, low), (b, high)) if v == edge and abs(t) < FAR}
            found = sorted({*found, *new})
        return found

    def build(self):
        weights = [[[float(w) for w in row] for row in rows] for rows, _ in self.layers]
        return ReluNetwork(weights, [[float(b) for b in biases] for _, biases in self.layers], self.activations)


class Listed:
    """Values of labels and of some numbers, and another function for the rest."""

    def __init__(self, entries, rest=None):
        self.entries, self.rest = entries, rest

    def __call__(self, z):
        return self.entries[z] if z in self.entries else self.rest(z)

    def breaks(self):
        numbers = [key for key in self.entries if isinstance(key, Fraction)]
        return [*numbers, *(self.rest.breaks() if self.rest else [])]

    def build(self):
        return Table(self.entries, otherwise=self.rest and self.rest.build())


class Plus:
    """A sum."""

    def __init__(self, one, other):
        self.one, self.other = one, other

    def __call__(self, z):
        return [a + b for a, b in zip(self.one(z), self.other(z), strict=True)]

    def breaks(self):
        return [*self.one.breaks(), *self.other.breaks()]

    def build(self):
        return self.one.build() + self.other.build()


class Times:
    """A multiple."""

    def __init__(self, factor, inner):
        self.factor, self.inner = factor, inner

    def __call__(self, z):
        return [self.factor * a for a in self.inner(z)]

    def breaks(self):
        return self.inner.breaks()

    def build(self):
        return self.inner.build() * self.factor


class Moved:
    """A function of `(z - center) / scale`."""

    def __init__(self, center, scale, inner):
        self.center, self.scale, self.inner = center, scale, inner

    def __call__(self, z):
        return self.inner((z - self.center) / self.scale if isinstance(z, Fraction) else z)

    def breaks(self):
        return [t * self.scale + self.center for t in self.inner.breaks()]

    def build(self):
        return self.inner.build().rescaled(self.center, self.scale)


# --- models -----------------------------------------------------------------------------------------------------------


class Column:
    """A feature: what it can be, and its part of each score."""

    def __init__(self, name, shape, spans, categories=(), codes=(), center=0, scale=1, deviation=1, is_ordered=False):
        self.name, self.shape, self.spans = name, shape, spans  # spans are (low, high, whether integers only)
        self.categories, self.codes = list(categories), list(codes)
        self.center, self.scale, self.deviation = Fraction(center), Fraction(scale), deviation
        self.part, self.is_ordered = Moved(self.center, self.scale, shape), is_ordered

    def build(self):
        domain = None
        for low, high, whole in self.spans:
            ends = [sign * math.inf if end is None else end for end, sign in ((low, -1), (high, 1))]
            one = Domain.points(low) if low == high != None else (Domain.integers if whole else Domain.interval)(*ends)  # noqa: E711
            domain = one if domain is None else domain | one
        named = Domain.ordered if self.is_ordered else Domain.categories
        for some, make in ((self.categories, named), (self.codes, Domain.codes)):
            if some:
                domain = make(*some) if domain is None else domain | make(*some)
        return Feature(self.name, domain, self.center, self.scale, self.deviation)

    def is_in(self, x):
        return x in self.categories or x in self.codes or self.is_number(x)

    def is_number(self, x):
        return isinstance(x, Fraction) and any(
            (low is None or low <= x) and (high is None or x <= high) and (not whole or x.denominator == 1)
            for low, high, whole in self.spans
        )

    def values(self, low, high, more=()):
        """Numbers between two ends (None: none) that matter: all breakpoints, ends, and a hair beside them."""
        ends = [end for span in self.spans for end in span[:2] if end is not None]
        marks = {*self.part.breaks(), *ends, *more, *(end for end in (low, high) if end is not None), Fraction(0)}
        found = {-FURTHER, FURTHER, *marks, *(t + side * THIN for t in marks for side in (-1, 1))}
        found |= {(a + b) / 2 for a, b in pairwise(sorted(marks))}
        found |= {Fraction(near(t + side)) for t in marks for near in (math.floor, math.ceil) for side in (-1, 0, 1)}
        return [
            t for t in sorted(found) if self.is_number(t) and (low is None or low <= t) and (high is None or t <= high)
        ]

    def region(self, x, radius, step=None):
        """The values that matter within a radius of a value (None: of the whole domain).

        Categories without an order are a step apart, or within any radius above 0 if there is none.
        """
        if radius is None:
            return [*self.values(None, None), *self.categories, *self.codes]
        if x in self.codes:
            return [x]
        if x in self.categories:
            return [y for y in self.categories if y == x or (radius and self.far(x, y, step) <= radius)]
        return self.values(x - radius, x + radius, [x])

    def far(self, x, y, step):
        """How far two categories are apart."""
        if self.is_ordered:
            return Fraction(abs(self.categories.index(x) - self.categories.index(y)))
        return Fraction(0) if step is None or x == y else step


class World:
    """A model as plain functions."""

    def __init__(self, task, ties, intercept, columns):
        self.task, self.ties, self.intercept, self.columns = task, ties, intercept, columns
        self.names = [column.name for column in columns]
        shapes, features = [column.shape.build() for column in columns], [column.build() for column in columns]
        self.classes = {"binary": ["no", "yes"], "multiclass": ["a", "b", "c"], "regression": []}[task]
        self.model = AdditiveModel(shapes, intercept, task, features, self.classes or None, ties)

    def scores(self, row):
        parts = [column.part(x) for column, x in zip(self.columns, row, strict=True)]
        return [start + sum(column) for start, *column in zip(self.intercept, *parts, strict=True)]

    def winner(self, scores):
        if self.task == "binary":
            return int(scores[0] > 0 or (scores[0] == 0 and self.ties == "positive"))
        return min(range(len(scores)), key=lambda j: (-scores[j], j))

    def parts(self, claim, row):
        """The claim's parts: functions that say how much scores leave to spare, and whether none to spare breaks it."""
        kind, scores = claim["kind"], self.scores(row)
        if kind in ("at_least", "at_most", "within"):
            if len(scores) > 1:
                raise NonsenseError
            bound = Fraction(claim["delta" if kind == "within" else "value"])
            below = scores[0] - bound if kind == "within" else bound
            above = scores[0] + bound if kind == "within" else bound
            at_least, at_most = (lambda s: s[0] - below, False), (lambda s: above - s[0], False)
            return {"at_least": [at_least], "at_most": [at_most], "within": [at_least, at_most]}[kind]
        if self.task == "regression":
            raise NonsenseError
        first = self.winner(scores)
        if kind == "probability_at_least":
            p = Fraction(claim["p"])
            if self.task != "binary" or not 0 < p < 1:
                raise NonsenseError
            odds = Decimal(p.numerator) / Decimal(p.denominator - p.numerator)
            logit = Fraction(odds.ln()) if p != Fraction(1, 2) else Fraction(0)  # 200 digits: no tie is as close
            return [(lambda s: (s[0] if first else -s[0]) - logit, False)]
        if kind == "beats" and (claim["other"] not in self.classes or claim["other"] == self.classes[first]):
            raise NonsenseError
        if self.task == "binary":
            return [(lambda s: s[0] if first else -s[0], bool(first) != (self.ties == "positive"))]
        others = [j for j in range(3) if j != first and (kind == "same" or self.classes[j] == claim["other"])]
        return [(lambda s, j=j: s[first] - s[j], j < first) for j in others]


class NonsenseError(Exception):
    """A certificate says nothing about the model."""


def value_of(cell):
    ((kind, content),) = cell.items()
    return {"number": Fraction, "label": str, "missing": lambda _: MISSING}[kind](content)


def near(text):
    """A number, and on which side of it."""
    side = {"+e": 1, "-e": -1}.get(text[-2:], 0)
    return Fraction(text[:-2] if side else text), side


def subsets(of):
    return [frozenset(some) for some in chain.from_iterable(combinations(of, k) for k in range(len(of) + 1))]


# --- what is so -------------------------------------------------------------------------------------------------------

USUAL = {"fix": [], "free": [], "cost": {}, "groups": {}, "max_changed": None, "norm": "inf", "arithmetic": "exact"}
WISHES = {"fix", "free", "cost", "groups", "max_changed"}
TAKES = {
    "explanation": {*USUAL},
    "insufficient": {"max_changed", "norm", "arithmetic"},
    "contrast": {*WISHES, "arithmetic"},
    "counterfactual": {*WISHES, "arithmetic"},
    "radius": {"max_changed", "arithmetic"},
    "explanations": WISHES,
    "relevance": WISHES - {"cost"},
    "curve": WISHES,
    "inflation": WISHES,
}


def is_true(world, document) -> bool:
    """Whether a certificate says something about a model, and that is so."""
    try:
        said = {name: content for name, content in document["result"].items() if name != "kind"}
        return bool(getattr(Asked(world, document), document["result"]["kind"])(**said))
    except NonsenseError:
        return False


class Asked:
    """A model, a row and a question, and what is so there."""

    def __init__(self, world, document):
        self.world, self.question, self.count = world, document["question"], len(world.columns)
        question, kind = self.question, document["result"]["kind"]
        self.row = [value_of(cell) for cell in document["row"]]
        given = {name for name, usual in USUAL.items() if question[name] != usual}
        listed = [question["immutable"], question["fix"], question["free"]]
        listed.append([name for group in question["groups"].values() for name in group])
        if (
            len(self.row) != self.count
            or not all(column.is_in(x) for column, x in zip(world.columns, self.row, strict=True))
            or not given <= TAKES[kind]
            or any(len({*some}) < len(some) or not {*some} <= {*world.names} for some in listed)
            or (question["arithmetic"] == "exact" and document["charges"] is not None)
        ):
            raise NonsenseError
        self.parts = world.parts(question["claim"], self.row)
        self.charges = [Fraction(one) for one in document["charges"] or ["0"] * len(self.parts)]
        here = [spare(world.scores(self.row)) for spare, _ in self.parts]
        if len(self.charges) != len(self.parts) or min(self.charges) < 0 or min(here) < 0:
            raise NonsenseError
        self.items = self.all_items()
        fix, free = (
            {
                k
                for k, (members, _) in enumerate(self.items)
                if {*members} & {world.names.index(n) for n in question[which]}
            }
            for which in ("fix", "free")
        )
        if fix & free:
            raise NonsenseError
        self.fix, self.free = fix, free
        self.tried = {}

    def all_items(self):
        """What is fixed or changed as one, and what that costs."""
        groups, cost, names = self.question["groups"], self.question["cost"], self.world.names
        grouped = {name for group in groups.values() for name in group}
        for name, group in groups.items():
            if not group or (name in names and group != [name]):
                raise NonsenseError
        known = {name: [name] for name in names if name not in grouped} | groups
        if not {*cost} <= {*known} or any(Fraction(one) <= 0 for one in cost.values()):
            raise NonsenseError
        return [([names.index(n) for n in members], Fraction(cost.get(name, 1))) for name, members in known.items()]

    def members(self, items):
        return frozenset(i for k in items for i in self.items[k][0])

    def allowed(self):
        """The sets that may be fixed, with what each costs."""
        rest = [k for k in range(len(self.items)) if k not in self.fix | self.free]
        for some in subsets(rest):
            yield self.members(some | self.fix), sum((self.items[k][1] for k in some | self.fix), Fraction(0))

    def cost(self, fixed):
        if len({*fixed}) < len(fixed):
            return None
        return next((cost for features, cost in self.allowed() if features == frozenset(fixed)), None)

    # --- regions ------------------------------------------------------------------------------------------------------

    def radius_of(self, i):
        """How far a feature may move, in its own units (None: anywhere)."""
        column, radius = self.world.columns[i], self.question["radius"]
        if isinstance(radius, dict) and {*radius} != {*self.world.names}:
            raise NonsenseError
        text = radius[column.name] if isinstance(radius, dict) else radius
        if column.name in self.question["immutable"]:
            return Fraction(0)
        if isinstance(text, list):  # the values that it may take
            return list(map(value_of, text))
        reach = None if text == "inf" else Fraction(text)
        if reach is not None and reach < 0:
            raise NonsenseError
        if not reach or not (column.spans or column.is_ordered):
            return reach
        unit = self.unit_of(column)
        if unit is None:
            raise NonsenseError
        return reach * Fraction(unit)

    def unit_of(self, column):
        """What a radius of 1 is in a column's own units, or in ranks."""
        units = {"raw": 1, "std": column.deviation, "model": abs(column.scale) if column.spans else 1}
        return units[self.question["unit"]]

    def step_of(self, column):
        """How far categories without an order are apart; None: within any radius above 0."""
        if self.question.get("categories", "free") == "free":
            return None
        return Fraction((self.unit_of(column) if column.spans else None) or 1)

    def region(self, at="1"):
        """The values that matter of each feature at a multiple of its radius, with that radius."""
        found = []
        for i, (column, x) in enumerate(zip(self.world.columns, self.row, strict=True)):
            radius = self.radius_of(i)
            if isinstance(radius, list):
                if x not in radius or not all(map(column.is_in, radius)):
                    raise NonsenseError
                found.append((radius, None))
                continue
            if at == "inf":
                radius = Fraction(0) if column.name in self.question["immutable"] else None
            elif radius and at == "finite":
                radius = FAR
            elif radius:
                factor, side = near(at)
                if (factor, side) < (0, 0):
                    raise NonsenseError
                radius = radius * factor + side * THICK
            found.append((column.region(x, radius, self.step_of(column)), radius))
        return found

    # --- all inputs ---------------------------------------------------------------------------------------------------

    def breaking(self, at="1"):
        """The sets of changed features with which an input of the region breaks the claim: perhaps, and for certain."""
        if at not in self.tried:
            self.tried[at] = self.try_all(self.region(at))
        return self.tried[at]

    def try_all(self, region):
        perhaps, certain = set(), set()
        choices = []
        for i, (values, radius) in enumerate(region):
            column, x, found = self.world.columns[i], self.row[i], {}
            for y in [x, *values]:  # of values that do the same, the nearest
                key = (y != x, *column.part(y))
                distance = self.distance(column, x, y, radius)
                if key not in found or distance < found[key]:
                    found[key] = distance
            choices.append([(is_changed, parts, far) for (is_changed, *parts), far in found.items()])
        p = None if self.question["norm"] == "inf" else int(self.question["norm"])
        for picks in product(*choices):
            if p is not None and sum(far**p for _, _, far in picks) > 1:
                continue
            scores = [
                sum(column, start)
                for start, *column in zip(self.world.intercept, *(q for _, q, _ in picks), strict=True)
            ]
            changed = frozenset(i for i, (is_changed, _, _) in enumerate(picks) if is_changed)
            for (spare, is_strict), charge in zip(self.parts, self.charges, strict=True):
                left = spare(scores)
                if left < charge or (is_strict and left == charge):
                    perhaps.add(changed)
                if left < -charge or (is_strict and left == -charge):
                    certain.add(changed)
        return perhaps, certain

    def distance(self, column, x, y, radius):
        """How much of its radius a change takes; of what has no distances, all of it."""
        if y == x or self.question["norm"] == "inf":
            return Fraction(0)
        if radius and x in column.categories and y in column.categories:
            step = self.step_of(column)
            return column.far(x, y, step) / radius if column.is_ordered or step is not None else Fraction(1)
        return abs(y - x) / radius if radius and column.is_number(x) and column.is_number(y) else Fraction(1)

    def few(self, changed):
        most = self.question["max_changed"]
        return most is None or len(changed) <= most

    def suffices(self, fixed, at="1"):
        return not any(changed.isdisjoint(fixed) and self.few(changed) for changed in self.breaking(at)[0])

    def fails(self, fixed, at="1"):
        return any(changed.isdisjoint(fixed) and self.few(changed) for changed in self.breaking(at)[1])

    def are_features(self, listed):
        return len({*listed}) == len(listed) and {*listed} <= {*range(self.count)}

    def no_cheaper(self, bound, at="1"):
        return all(self.fails(features, at) for features, cost in self.allowed() if cost < bound)

    # --- kinds of results ---------------------------------------------------------------------------------------------

    def explanation(self, fixed, lower_bound):
        cost = self.cost(fixed)
        return (
            cost is not None
            and 0 <= Fraction(lower_bound) <= cost
            and self.suffices(fixed)
            and self.no_cheaper(Fraction(lower_bound))
        )

    def insufficient(self, fixed):
        return self.are_features(fixed) and self.fails(fixed)

    def price(self, changed):
        """What changes cost; nothing where one must not change."""
        touched = {k for k, (members, _) in enumerate(self.items) if changed & {*members}}
        return None if touched & self.fix else sum((self.items[k][1] for k in touched - self.free), Fraction(0))

    def no_change(self, is_meant, at="1"):
        return not any(
            self.few(changed) and (price := self.price(changed)) is not None and is_meant(price)
            for changed in self.breaking(at)[0]
        )

    def contrast(self, changed, lower_bound):
        price, bound = self.price(frozenset(changed)), Fraction(lower_bound)
        return (
            self.are_features(changed)
            and price is not None
            and 0 <= bound <= price
            and any(some <= {*changed} and self.few(some) for some in self.breaking()[1])
            and self.no_change(lambda cost: cost < bound)
        )

    def counterfactual(self, changed, lower_bound, least):
        if (
            not all(isinstance(self.radius_of(i), Fraction) for i in range(self.count))
            or near(least) > (1, 0)
            or near(least)[1] > 0
        ):
            return False
        price = self.price(frozenset(changed))
        return self.contrast(changed, lower_bound) and self.no_change(lambda cost: cost <= price, least)

    def radius(self, fixed, holds_at, fails_at):
        if self.question["radius"] != "1" or not self.are_features(fixed):
            return False
        return self.suffices(fixed, holds_at) and (fails_at is None or self.fails(fixed, fails_at))

    def minimal(self, enough):
        return {one for one in enough if not any(other < one for other in enough)}

    def explanations(self, minimal, sets, is_complete):
        listed = {frozenset(one) for one in sets}
        enough = {features: cost for features, cost in self.allowed() if self.suffices(features)}
        if len(listed) < len(sets) or not sets or not all(map(self.are_features, sets)) or not enough:
            return False
        least = min(enough.values())
        best = {one for one in enough if enough[one] == least} if minimal == "size" else self.minimal(enough)
        return listed <= best and (listed == best or not is_complete)

    def relevance(self, necessary, relevant, irrelevant):
        enough = [features for features, _ in self.allowed() if self.suffices(features)]
        best, roles = self.minimal(enough), [*necessary, *relevant, *irrelevant]
        if not best or not self.are_features(roles) or {*roles} & self.members(self.fix | self.free):
            return False
        every, some = frozenset.intersection(*best), frozenset.union(*best)
        return {*necessary} <= every and {*relevant} <= some - every and not {*irrelevant} & some

    def curve(self, steps):
        if self.question["radius"] != "1" or not steps or steps[0]["from"] != "0":
            return False
        for step in steps:
            cost = self.cost(step["fixed"])
            if cost is None or not self.suffices(step["fixed"], step["holds_at"]):
                return False
            if not self.no_cheaper(cost, step["from"]):
                return False
        return True

    def inflation(self, ranges, is_widest):
        ranged, region = [one["feature"] for one in ranges], self.region()
        if not self.are_features(ranged) or self.cost(ranged) is None:
            return False
        for place, one in enumerate(ranges):
            i, inside = one["feature"], [*region]
            column, x = self.world.columns[i], self.row[i]
            inside[i] = self.in_range(column, one), Fraction(1)
            if x not in inside[i][0]:
                return False
            for more in self.beyond(column, one) if is_widest else ():
                wider = [*region]
                wider[i] = [*inside[i][0], more], Fraction(1)
                for later in ranged[place + 1 :]:
                    wider[later] = [self.row[later]], Fraction(1)
                if not any(self.few(changed - {*ranged}) for changed in self.try_all(wider)[1]):
                    return False
            region = inside
        return not any(self.few(changed - {*ranged}) for changed in self.try_all(region)[0])

    def in_range(self, column, one):
        if "values" in one:
            values = list(map(value_of, one["values"]))
            is_listed = all(x in column.categories for x in values) or (len(values) == 1 and values[0] in column.codes)
            return values if is_listed else []
        (low, above), (high, below) = (near(one[end]) if one[end] else (None, 0) for end in ("low", "high"))
        if above < 0 or below > 0:
            return []
        # What is just inside an open end can come closer to it than what is just beyond another end.
        first, last = low if low is None else low + above * THIN, high if high is None else high + below * THIN
        return column.values(first, last, [x for x in self.row if isinstance(x, Fraction)])

    def beyond(self, column, one):
        """What the range would have to hold as well if it were any wider."""
        if "values" in one:
            values = list(map(value_of, one["values"]))
            return [x for x in column.categories if values[0] in column.categories and x not in values]
        found = []
        for side, text in ((-1, one["low"]), (1, one["high"])):
            if text is None:
                continue
            end, edge = near(text)
            start = end if edge else end + side * THICK  # where values begin that are left out
            marks = column.values(*((start, None) if side > 0 else (None, start)), [start])
            found += [min(marks) if side > 0 else max(marks)] if marks else []
        return found
