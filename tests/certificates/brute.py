"""An oracle that reads model files itself and tries inputs: whether what a certificate says of a file is so.

Written from docs/model-file.md and docs/certificate.md alone, for models with and without terms over two features.
Of each feature some values are tried: all numbers at which a shape may bend or jump, ends of regions, values a hair
beside these, and one between every two. Scores of all combinations are computed; what is kept is which *sets of changed
features* break the claim. The rest is trying all sets.

What only comes close to a limit is tried a thin hair away, what lies just beyond a radius a thick one.
"""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np

getcontext().prec = 200
THICK, THIN = Fraction(1, 2**100), Fraction(1, 2**200)
FAR, FURTHER = Fraction(10**9), Fraction(10**12)
MOST_INPUTS = 150_000
WISHES = {"fix": [], "free": [], "cost": {}, "groups": {}, "max_changed": None}
TAKES = {
    "explanation": {*WISHES, "norm", "arithmetic"},
    "insufficient": {"max_changed", "norm", "arithmetic"},
    "contrast": {*WISHES, "arithmetic"},
    "counterfactual": {*WISHES, "arithmetic"},
    "radius": {"max_changed", "arithmetic"},
    "explanations": {*WISHES},
    "relevance": {*WISHES} - {"cost"},
    "curve": {*WISHES},
    "inflation": {*WISHES},
}


class NonsenseError(Exception):
    """A certificate says nothing about the model."""


class TooManyError(Exception):
    """There are more inputs than can be tried."""


class NoValueError(Exception):
    """A shape has no value somewhere."""


def value_of(cell):
    ((kind, content),) = cell.items()
    return Fraction(content) if kind == "number" else content if kind == "label" else None


def near(text):
    """A number, and on which side of it."""
    side = {"+e": 1, "-e": -1}.get(text[-2:], 0)
    return Fraction(text[:-2] if side else text), side


# --- model files ------------------------------------------------------------------------------------------------------


class Model:
    """A model file: its document, and its shapes as functions."""

    def __init__(self, content):
        (length,) = struct.unpack("<Q", content[:8])
        header, data = json.loads(content[8 : 8 + length]), content[8 + length :]
        self.document = json.loads(header.pop("__metadata__")["suffice"])
        self.tensors = {}
        for name, entry in header.items():
            kind = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}[entry["dtype"]]
            start, end = entry["data_offsets"]
            floats = np.frombuffer(data[start:end], kind).reshape(entry["shape"])
            self.tensors[name] = [[Fraction(float(x)) for x in row] for row in np.atleast_2d(floats)]
        self.features, terms = self.document["features"], self.document["terms"]
        self.names, self.count = [one["name"] for one in self.features], len(self.features)
        self.mains = [term["shape"] for term in terms[: self.count]]
        self.pairs = [(*term["features"], term["shape"]) for term in terms[self.count :]]
        self.moves = [(Fraction(one["center"]), Fraction(one["scale"])) for one in self.features]

    def rows(self, numbers):
        ((kind, content),) = numbers.items()
        return self.tensors[content] if kind == "tensor" else [[Fraction(x) for x in row] for row in content]

    def inside(self, i, x):
        return (x - self.moves[i][0]) / self.moves[i][1] if isinstance(x, Fraction) else x

    def of(self, shape, z):
        """The outputs of a shape."""
        kind = shape["kind"]
        if not isinstance(z, Fraction) and kind in ("network", "readout", "steps", "piecewise_linear"):
            raise NoValueError
        if kind in ("network", "readout"):
            return self.network(*self.layers(shape), z)
        if kind == "steps":
            cuts, values = self.rows(shape["cuts"])[0], self.rows(shape["values"])
            return values[sum(cut <= z if shape["closed"] == "left" else cut < z for cut in cuts)]
        if kind == "piecewise_linear":
            (knots,), values, slopes = (self.rows(shape[name]) for name in ("knots", "values", "slopes"))
            k = sum(knot <= z for knot in knots)
            if k == 0 or k == len(knots):
                at = max(k - 1, 0)
                return [v + s * (z - knots[at]) for v, s in zip(values[at], slopes[k > 0], strict=True)]
            share = (z - knots[k - 1]) / (knots[k] - knots[k - 1])
            return [a + share * (b - a) for a, b in zip(values[k - 1], values[k], strict=True)]
        if kind == "table":
            keys = [value_of(key) for key in shape["keys"]]
            if z in keys:
                return self.rows(shape["values"])[keys.index(z)]
            if shape["otherwise"] is None:
                raise NoValueError
            return self.of(shape["otherwise"], z)
        if kind == "sum":
            return [sum(each) for each in zip(*(self.of(part, z) for part in shape["parts"]), strict=True)]
        if kind == "scaled":
            return [Fraction(shape["factor"]) * one for one in self.of(shape["shape"], z)]
        moved = (z - Fraction(shape["center"])) / Fraction(shape["scale"]) if isinstance(z, Fraction) else z
        return self.of(shape["shape"], moved)

    def layers(self, shape):
        """The layers of a network, (weights, biases, activation or nothing), and its skips."""
        last = []
        if shape["kind"] == "readout":
            last = [(self.tensors[shape["weights"]], None, None)]
            shape = self.document["bases"][shape["basis"]]
        if shape["exu"]:
            raise TooManyError
        biases = [None if name is None else self.tensors[name][0] for name in shape["biases"]]
        weights = [self.tensors[name] for name in shape["weights"]]
        return [*zip(weights, biases, [*shape["activations"], None], strict=True), *last], shape["skips"]

    def network(self, layers, skips, z, upto=None):
        """The outputs of a network, or the units of a layer before its activation."""
        outputs = [[z]]
        for k, (weights, biases, activation) in enumerate(layers, start=1):
            units = [sum(w * h for w, h in zip(row, outputs[-1], strict=True)) for row in weights]
            units = [y + b for y, b in zip(units, biases or [Fraction(0)] * len(units), strict=True)]
            if upto == k:
                return units
            if activation is not None:
                after = []
                for u, y in enumerate(units):
                    q = sum(y > Fraction(t) for t in activation["thresholds"])
                    slopes = activation["slopes"][q]
                    slope = slopes[u % len(slopes)]
                    after.append(Fraction(slope) * y + Fraction(activation["offsets"][q]))
                units = after
            for to, source in skips:
                if to == k:
                    units = [a + b for a, b in zip(units, outputs[source], strict=True)]
            outputs.append(units)
        return outputs[-1]

    def marks(self, shape):
        """Numbers at which a shape may bend or jump."""
        kind = shape["kind"]
        if kind == "steps":
            return {*self.rows(shape["cuts"])[0]}
        if kind == "piecewise_linear":
            return {*self.rows(shape["knots"])[0]}
        if kind == "table":
            keys = {key for key in map(value_of, shape["keys"]) if isinstance(key, Fraction)}
            return keys | (self.marks(shape["otherwise"]) if shape["otherwise"] else set())
        if kind == "sum":
            return set().union(*map(self.marks, shape["parts"]))
        if kind == "scaled":
            return self.marks(shape["shape"])
        if kind == "rescaled":
            return {t * Fraction(shape["scale"]) + Fraction(shape["center"]) for t in self.marks(shape["shape"])}
        layers, skips = self.layers(shape)
        found = {-FURTHER * 4, FURTHER * 4}
        for k, (_, _, activation) in enumerate(layers, start=1):
            new = set()
            for a, b in pairwise(sorted(found)) if activation else ():
                ends = zip(self.network(layers, skips, a, k), self.network(layers, skips, b, k), strict=True)
                for low, high in ends:  # each unit is a line in between
                    for t in map(Fraction, activation["thresholds"]):
                        if low != high and 0 <= (share := (t - low) / (high - low)) <= 1:
                            new.add(a + share * (b - a))
            found |= new
        return {t for t in found if abs(t) < FAR}

    def pair(self, shape, z, w):
        """The outputs of a shape of two variables."""
        kind = shape["kind"]
        if kind == "pair_steps":
            r, c = self.bin(shape["rows"], z), self.bin(shape["columns"], w)
            return self.rows(shape["values"])[r * self.bins(shape["columns"]) + c]
        if kind == "pair_linear":
            rows, columns = (self.rows(shape[name])[0] for name in ("rows", "columns"))
            values, found = self.rows(shape["values"]), None
            for r, share in weights_of(rows, z):
                for c, other in weights_of(columns, w):
                    part = [share * other * one for one in values[r * len(columns) + c]]
                    found = part if found is None else [a + b for a, b in zip(found, part, strict=True)]
            return found
        if kind == "product":
            each = self.of(shape["first"], z), self.of(shape["second"], w)
            return [a * b for a, b in zip(*each, strict=True)]
        if kind == "pair_sum":
            return [sum(each) for each in zip(*(self.pair(part, z, w) for part in shape["parts"]), strict=True)]
        if kind == "pair_scaled":
            return [Fraction(shape["factor"]) * one for one in self.pair(shape["shape"], z, w)]
        moved = [
            (at - Fraction(center)) / Fraction(scale) if isinstance(at, Fraction) else at
            for at, center, scale in zip((z, w), shape["centers"], shape["scales"], strict=True)
        ]
        return self.pair(shape["shape"], *moved)

    def bins(self, bins):
        return len(bins["keys"]) + (0 if bins["cuts"] is None else len(self.rows(bins["cuts"])[0]) + 1)

    def bin(self, bins, at):
        keys, cuts = list(map(value_of, bins["keys"])), None if bins["cuts"] is None else self.rows(bins["cuts"])[0]
        if at in keys:
            return keys.index(at) + (0 if cuts is None else len(cuts) + 1)
        if cuts is None or not isinstance(at, Fraction):
            raise NoValueError
        sides = bins["closed"] if isinstance(bins["closed"], list) else [bins["closed"]] * len(cuts)
        return sum(cut <= at if side == "left" else cut < at for cut, side in zip(cuts, sides, strict=True))

    def pair_marks(self, shape, side):
        kind = shape["kind"]
        if kind in ("pair_steps", "pair_linear"):
            along = shape[("rows", "columns")[side]]
            if kind == "pair_linear":
                return {*self.rows(along)[0]}
            keys = {key for key in map(value_of, along["keys"]) if isinstance(key, Fraction)}
            return keys | (set() if along["cuts"] is None else {*self.rows(along["cuts"])[0]})
        if kind == "product":
            return self.marks(shape[("first", "second")[side]])
        if kind == "pair_sum":
            return set().union(*(self.pair_marks(part, side) for part in shape["parts"]))
        found = self.pair_marks(shape["shape"], side)
        if kind == "pair_rescaled":
            found = {t * Fraction(shape["scales"][side]) + Fraction(shape["centers"][side]) for t in found}
        return found

    def bends(self, i):
        """Numbers, in the user's units, at which what a feature does may bend or jump."""
        found = set(self.marks(self.mains[i]))
        for a, b, shape in self.pairs:
            found |= set().union(*(self.pair_marks(shape, side) for side, j in enumerate((a, b)) if j == i))
        return {t * self.moves[i][1] + self.moves[i][0] for t in found}

    def scores(self, row):
        z = [self.inside(i, x) for i, x in enumerate(row)]
        parts = [self.of(shape, at) for shape, at in zip(self.mains, z, strict=True)]
        parts += [self.pair(shape, z[a], z[b]) for a, b, shape in self.pairs]
        return [Fraction(start) + sum(each) for start, *each in zip(self.document["intercept"], *parts, strict=True)]

    def is_number(self, i, x):
        return isinstance(x, Fraction) and any(
            (low is None or Fraction(low) <= x)
            and (high is None or x <= Fraction(high))
            and (not whole or x.denominator == 1)
            for low, high, whole in self.features[i]["domain"]["spans"]
        )

    def labels(self, i, which):
        return list(map(value_of, self.features[i]["domain"][which]))

    def is_in(self, i, x):
        return x in [*self.labels(i, "categories"), *self.labels(i, "codes")] or self.is_number(i, x)


def weights_of(knots, at):
    """The knots around a number, and how much of each it has."""
    if not isinstance(at, Fraction):
        raise NoValueError
    k = sum(knot <= at for knot in knots)
    if k == 0 or k == len(knots):
        return [(max(k - 1, 0), Fraction(1))]
    share = (at - knots[k - 1]) / (knots[k] - knots[k - 1])
    return [(k - 1, 1 - share), (k, share)]


# --- what is so -------------------------------------------------------------------------------------------------------


class Asked:
    """A model, a row and a question."""

    def __init__(self, model, document):
        self.model, self.question, self.count = model, document["question"], model.count
        self.kind, question = document["result"]["kind"], self.question
        self.row = list(map(value_of, document["row"]))
        if len(self.row) != self.count or not all(model.is_in(i, x) for i, x in enumerate(self.row)):
            raise NonsenseError
        usual = {**WISHES, "norm": "inf", "arithmetic": "exact"}
        if any(question[name] != one and name not in TAKES[self.kind] for name, one in usual.items()):
            raise NonsenseError
        lists = [question[name] for name in ("immutable", "fix", "free")]
        for listed in [*lists, [name for group in question["groups"].values() for name in group]]:
            if len({*listed}) < len(listed) or not {*listed} <= {*model.names}:
                raise NonsenseError
        scores = model.scores(self.row)
        self.parts = self.claim(question["claim"], scores)
        self.charges = list(map(Fraction, document["charges"] or ["0"] * len(self.parts)))
        if len(self.charges) != len(self.parts) or min(self.charges) < 0:
            raise NonsenseError
        if document["charges"] is not None and question["arithmetic"] == "exact":
            raise NonsenseError
        for factors, constant, _ in self.parts:
            if constant + sum(f * s for f, s in zip(factors, scores, strict=True)) < 0:
                raise NonsenseError
        self.read_items()
        self.known = {}

    def claim(self, claim, scores):
        """The parts of a claim: factors, a constant, and whether 0 breaks it."""
        kind, task, classes = claim["kind"], self.model.document["task"], self.model.document["classes"]
        if kind in ("at_least", "at_most", "within"):
            if len(scores) > 1:
                raise NonsenseError
            number = Fraction(claim["delta" if kind == "within" else "value"])
            low, high = (scores[0] - number, scores[0] + number) if kind == "within" else (number, number)
            above, below = ([1], -low, False), ([-1], high, False)
            return {"at_least": [above], "at_most": [below], "within": [above, below]}[kind]
        if task == "regression":
            raise NonsenseError
        ties = self.model.document["ties"]
        winner = int(scores[0] > 0 or (scores[0] == 0 and ties == "positive")) if task == "binary" else None
        if kind == "probability_at_least":
            p, offset = Fraction(claim["p"]), self.model.document.get("logit_offset", "0")
            if task != "binary" or not 0 < p < 1 or offset is None:
                raise NonsenseError
            odds = (Decimal(p.numerator) / Decimal(p.denominator - p.numerator)).ln()
            sign = 1 if winner else -1
            return [([sign], sign * Fraction(offset) - Fraction(odds), False)]
        if task == "binary":
            if kind == "beats" and claim["other"] != classes[1 - winner]:
                raise NonsenseError
            return [([1 if winner else -1], Fraction(0), bool(winner) != (ties == "positive"))]
        winner = max(range(len(scores)), key=lambda j: (scores[j], -j))
        others = [j for j in range(len(scores)) if j != winner and (kind == "same" or classes[j] == claim["other"])]
        if not others:
            raise NonsenseError
        return [([(j == winner) - (j == k) for j in range(len(scores))], Fraction(0), k < winner) for k in others]

    def read_items(self):
        names, groups, cost = self.model.names, self.question["groups"], self.question["cost"]
        for name, group in groups.items():
            if not group or (name in names and group != [name]):
                raise NonsenseError
        in_group = {name for group in groups.values() for name in group}
        known = {name: [name] for name in names if name not in in_group} | groups
        if not {*cost} <= {*known} or any(Fraction(one) <= 0 for one in cost.values()):
            raise NonsenseError
        self.items = [({names.index(n) for n in group}, Fraction(cost.get(name, 1))) for name, group in known.items()]
        self.fix, self.free = (
            {k for k, (item, _) in enumerate(self.items) if item & {names.index(n) for n in self.question[which]}}
            for which in ("fix", "free")
        )
        if self.fix & self.free:
            raise NonsenseError

    def allowed(self):
        """All sets that may be fixed: (features, cost)."""
        rest = [k for k in range(len(self.items)) if k not in self.fix | self.free]
        for size in range(len(rest) + 1):
            for some in combinations(rest, size):
                chosen = [self.items[k] for k in {*some} | self.fix]
                yield frozenset().union(*(item for item, _ in chosen)), sum((c for _, c in chosen), Fraction(0))

    def cost(self, fixed):
        if len({*fixed}) < len(fixed):
            return None
        return dict(self.allowed()).get(frozenset(fixed))

    def price(self, changed):
        """What changes cost; None where one must not change."""
        touched = {k for k, (item, _) in enumerate(self.items) if item & changed}
        return None if touched & self.fix else sum((self.items[k][1] for k in touched - self.free), Fraction(0))

    # --- regions ------------------------------------------------------------------------------------------------------

    def reach(self, i):
        """How far a feature may move in its own units; None: anywhere; or a list of values."""
        radius, feature = self.question["radius"], self.model.features[i]
        if isinstance(radius, dict):
            if {*radius} != {*self.model.names}:
                raise NonsenseError
            radius = radius[feature["name"]]
        if feature["name"] in self.question["immutable"]:
            return Fraction(0)
        if isinstance(radius, list):
            return list(map(value_of, radius))
        if radius == "inf":
            return None
        if Fraction(radius) < 0:
            raise NonsenseError
        domain = feature["domain"]
        if not (domain["spans"] or domain.get("ordered", False)) or Fraction(radius) == 0:
            return Fraction(radius)
        unit = self.unit(feature)
        if unit is None:
            raise NonsenseError
        return Fraction(radius) * unit

    def unit(self, feature):
        """What a radius of 1 is in a feature's own units, or in ranks; None where that is not known."""
        if self.question["unit"] == "std":
            return None if feature["deviation"] is None else Fraction(feature["deviation"])
        is_scaled = self.question["unit"] == "model" and feature["domain"]["spans"]
        return abs(Fraction(feature["scale"])) if is_scaled else Fraction(1)

    def far(self, i, x, y):
        """How far two categories are apart; None where they have no distance."""
        feature, categories = self.model.features[i], self.model.labels(i, "categories")
        if feature["domain"].get("ordered", False):
            return Fraction(abs(categories.index(x) - categories.index(y)))
        if self.question.get("categories", "free") == "free":
            return None
        return Fraction(0) if x == y else (self.unit(feature) if feature["domain"]["spans"] else None) or Fraction(1)

    def numbers(self, i, low, high):
        """The numbers of a feature's spans between two ends that are tried."""
        ends = [
            Fraction(end) for span in self.model.features[i]["domain"]["spans"] for end in span[:2] if end is not None
        ]
        x = [self.row[i]] if isinstance(self.row[i], Fraction) else []
        marks = {*self.model.bends(i), *ends, *x, *(end for end in (low, high) if end is not None)}
        found = {-FURTHER, FURTHER, Fraction(0), *marks, *(t + side * THIN for t in marks for side in (-1, 1))}
        found |= {(a + b) / 2 for a, b in pairwise(sorted(marks))}
        found |= {Fraction(math.floor(t) + step) for t in marks for step in (-1, 0, 1, 2)}
        if marks:
            found |= {min(marks) - 1, max(marks) + 1}
        return [
            t
            for t in sorted(found)
            if self.model.is_number(i, t) and (low is None or low <= t) and (high is None or t <= high)
        ]

    def region(self, at="1"):
        """The values of each feature that are tried, at a multiple of its radius; with that radius."""
        found = []
        for i, x in enumerate(self.row):
            reach, model = self.reach(i), self.model
            categories, codes = model.labels(i, "categories"), model.labels(i, "codes")
            if isinstance(reach, list):
                if x not in reach or not all(model.is_in(i, y) for y in reach):
                    raise NonsenseError
                found.append((reach, None))
                continue
            if at == "inf":
                reach = Fraction(0) if model.names[i] in self.question["immutable"] else None
            elif reach and at == "finite":
                reach = FAR
            elif reach:
                factor, side = near(at)
                if (factor, side) < (0, 0):
                    raise NonsenseError
                reach = reach * factor + side * THICK
            if reach is None:
                found.append(([*self.numbers(i, None, None), *categories, *codes], None))
            elif x in codes or (x in categories and not reach):
                found.append(([x], reach))
            elif x in categories:
                far = {y: self.far(i, x, y) for y in categories}
                found.append(([y for y in categories if far[y] is None or far[y] <= reach], reach))
            else:
                found.append((self.numbers(i, x - reach, x + reach), reach))
        return found

    def breaking(self, at="1"):
        if at not in self.known:
            self.known[at] = self.try_all(self.region(at))
        return self.known[at]

    def try_all(self, region):
        """The sets of changed features with which some input breaks the claim: perhaps, and for certain."""
        model, outputs = self.model, len(self.model.document["intercept"])
        perhaps, certain, choices = set(), set(), []
        for i, (values, _) in enumerate(region):
            choices.append([self.row[i]])
            for y in values:
                try:
                    model.scores([*self.row[:i], y, *self.row[i + 1 :]])
                    choices[i] += [y] if y != self.row[i] else []
                except NoValueError:  # nothing holds there
                    perhaps.add(frozenset([i]))
        inside = [[model.inside(i, y) for y in some] for i, some in enumerate(choices)]
        mains = [[model.of(model.mains[i], z) for z in some] for i, some in enumerate(inside)]
        tables = [[[model.pair(shape, z, w) for w in inside[b]] for z in inside[a]] for a, b, shape in model.pairs]
        kept = []
        for i, some in enumerate(choices):  # of values that do the same, one
            seen = {}
            for k in range(len(some)):
                both = [t[k] for t, (a, _, _) in zip(tables, model.pairs, strict=True) if a == i]
                both += [[row[k] for row in t] for t, (_, b, _) in zip(tables, model.pairs, strict=True) if b == i]
                far = self.distance(i, some[k], region[i][1])
                seen.setdefault(json.dumps([k > 0, mains[i][k], both, far], default=str), k)
            kept.append(list(seen.values()))
        if math.prod(map(len, kept)) > MOST_INPUTS:
            raise TooManyError
        axes = [tuple(-1 if j == i else 1 for j in range(self.count)) for i in range(self.count)]
        masks = sum(np.array([k > 0 for k in some], int).reshape(axes[i]) << i for i, some in enumerate(kept))
        is_in = np.ones(masks.shape, bool)
        if self.question["norm"] != "inf":
            p, parts = int(self.question["norm"]), []
            for i, some in enumerate(kept):
                each = [self.distance(i, choices[i][k], region[i][1]) ** p for k in some]
                parts.append(np.array(each, object).reshape(axes[i]))
            is_in = sum(parts) <= 1
        scores = []
        for j in range(outputs):
            score = np.full((1,) * self.count, Fraction(model.document["intercept"][j]), object)
            for i, some in enumerate(kept):
                score = score + np.array([mains[i][k][j] for k in some], object).reshape(axes[i])
            for (a, b, _), table in zip(model.pairs, tables, strict=True):
                grid = np.empty((len(kept[a]), len(kept[b])), object)
                grid[:] = [[table[k][m][j] for m in kept[b]] for k in kept[a]]
                wide = grid if a < b else grid.T
                score = score + wide.reshape(tuple(len(kept[i]) if i in (a, b) else 1 for i in range(self.count)))
            scores.append(score)
        for (factors, constant, is_strict), charge in zip(self.parts, self.charges, strict=True):
            left = constant + sum(f * score for f, score in zip(factors, scores, strict=True) if f)
            left = np.broadcast_to(left, masks.shape)
            for found, limit in ((perhaps, charge), (certain, -charge)):
                broken = (left <= limit if is_strict else left < limit) & is_in
                found |= {
                    frozenset(i for i in range(self.count) if m >> i & 1)
                    for m in {*masks[broken.astype(bool)].tolist()}
                }
        return perhaps, certain

    def distance(self, i, y, radius):
        """How much of its radius a change takes; where there are no distances, all of it."""
        x = self.row[i]
        if y == x or self.question["norm"] == "inf":
            return Fraction(0)
        categories = self.model.labels(i, "categories")
        if radius and x in categories and y in categories:
            far = self.far(i, x, y)
            return Fraction(1) if far is None else far / radius
        return (
            abs(y - x) / radius if radius and self.model.is_number(i, x) and self.model.is_number(i, y) else Fraction(1)
        )

    # --- statements ---------------------------------------------------------------------------------------------------

    def few(self, changed):
        return self.question["max_changed"] is None or len(changed) <= self.question["max_changed"]

    def suffices(self, fixed, at="1"):
        return not any(self.few(changed) and not changed & {*fixed} for changed in self.breaking(at)[0])

    def fails(self, fixed, at="1"):
        return any(self.few(changed) and not changed & {*fixed} for changed in self.breaking(at)[1])

    def are_features(self, listed):
        return len({*listed}) == len(listed) and {*listed} <= {*range(self.count)}

    def none_below(self, cost, at="1"):
        return all(self.fails(fixed, at) for fixed, price in self.allowed() if price < cost)

    def explanation(self, fixed, lower_bound):
        cost, bound = self.cost(fixed), Fraction(lower_bound)
        return cost is not None and bound <= cost and self.suffices(fixed) and self.none_below(bound)

    def insufficient(self, fixed):
        return self.are_features(fixed) and self.fails(fixed)

    def no_change(self, at, is_meant):
        prices = [self.price(changed) for changed in self.breaking(at)[0] if self.few(changed)]
        return not any(price is not None and is_meant(price) for price in prices)

    def contrast(self, changed, lower_bound):
        price = self.price({*changed})
        is_so = self.are_features(changed) and price is not None and Fraction(lower_bound) <= price
        is_so = is_so and any(some <= {*changed} and self.few(some) for some in self.breaking()[1])
        return is_so and self.no_change("1", lambda cost: cost < Fraction(lower_bound))

    def counterfactual(self, changed, lower_bound, least):
        value, side = near(least)
        if (
            not all(isinstance(self.reach(i), Fraction) for i in range(self.count))
            or side > 0
            or (value, side) > (1, 0)
        ):
            return False
        if not self.contrast(changed, lower_bound):
            return False
        price = self.price({*changed})
        return self.no_change(least, lambda cost: cost <= price)

    def radius(self, fixed, holds_at, fails_at):
        if self.question["radius"] != "1" or not self.are_features(fixed):
            return False
        return self.suffices(fixed, holds_at) and (fails_at is None or self.fails(fixed, fails_at))

    def smallest(self, enough):
        return [one for one in enough if not any(other < one for other in enough)]

    def explanations(self, minimal, sets, is_complete):
        enough = {fixed: cost for fixed, cost in self.allowed() if self.suffices(fixed)}
        if not enough or not sets or not all(map(self.are_features, sets)):
            return False
        listed = {frozenset(one) for one in sets}
        least = min(enough.values())
        best = {*self.smallest(enough)} if minimal == "subset" else {o for o, cost in enough.items() if cost == least}
        return len(listed) == len(sets) and listed <= best and (not is_complete or listed == best)

    def relevance(self, necessary, relevant, irrelevant):
        best = self.smallest([fixed for fixed, _ in self.allowed() if self.suffices(fixed)])
        roles, decided = (
            [*necessary, *relevant, *irrelevant],
            {i for k in self.fix | self.free for i in self.items[k][0]},
        )
        if not best or not self.are_features(roles) or decided & {*roles}:
            return False
        every, some = frozenset.intersection(*best), frozenset().union(*best)
        return {*necessary} <= every and {*relevant} <= some - every and not some & {*irrelevant}

    def curve(self, steps):
        if self.question["radius"] != "1" or not steps or near(steps[0]["from"]) != (0, 0):
            return False
        costs = [self.cost(step["fixed"]) for step in steps]
        return None not in costs and all(
            self.suffices(step["fixed"], step["holds_at"]) and self.none_below(cost, step["from"])
            for step, cost in zip(steps, costs, strict=True)
        )

    def inflation(self, ranges, is_widest):
        ranged, region = [one["feature"] for one in ranges], self.region()
        if not self.are_features(ranged) or self.cost(ranged) is None:
            return False
        for place, one in enumerate(ranges):
            i = one["feature"]
            values, wider = self.in_range(i, one)
            if self.row[i] not in values:
                return False
            later = {j: ([self.row[j]], None) for j in ranged[place + 1 :]}
            for more in wider if is_widest else ():
                here = [later.get(j, ([*values, more], None) if j == i else old) for j, old in enumerate(region)]
                if not any(self.few(changed - {*ranged}) for changed in self.try_all(here)[1]):
                    return False
            region[i] = values, None
        return not any(self.few(changed - {*ranged}) for changed in self.try_all(region)[0])

    def in_range(self, i, one):
        """The values of a range that are tried, and those that it would hold next if it were any wider."""
        categories, codes = self.model.labels(i, "categories"), self.model.labels(i, "codes")
        if "values" in one:
            values = list(map(value_of, one["values"]))
            if values and all(x in categories for x in values):
                return values, [x for x in categories if x not in values]
            return (values, []) if len(values) == 1 and values[0] in codes else ([], [])
        ends, wider = [], []
        for name, side in (("low", -1), ("high", 1)):
            if one[name] is None:
                ends.append(None)
                continue
            value, edge = near(one[name])
            if edge * side > 0:
                return [], []
            ends.append(value + edge * THIN)
            start = value if edge else value + side * THICK
            beyond = self.numbers(i, *((None, start) if side < 0 else (start, None)))
            wider += [max(beyond) if side < 0 else min(beyond)] if beyond else []
        return self.numbers(i, *ends), wider


def is_true(model, document):
    """Whether a certificate says something about a model, and that is so."""
    try:
        said = {name: content for name, content in document["result"].items() if name != "kind"}
        return bool(getattr(Asked(model, document), document["result"]["kind"])(**said))
    except (NonsenseError, NoValueError):
        return False
