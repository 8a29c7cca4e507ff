"""Small models for the corpus and the fuzzer, and the same models as plain functions that share no code with them.

`Plain` knows exact infima from known breakpoints; `truth.py` decides with them whether a certificate says what is so.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
from oracles import PlainNetwork, infimum_by_sampling

from suffice import MISSING, AdditiveModel, Domain, Feature, PiecewiseLinear, ReluNetwork, Steps, Table

getcontext().prec = 100

WEIGHTS = [
    np.array([[1.0], [-0.75], [0.5]], np.float32),
    np.array([[1.0, 0.5, -1.5], [-0.5, 2.0, 1.0]], np.float32),
    np.array([[1.0, -0.75], [0.5, 0.25], [-1.25, 1.0]], np.float32),
]
BIASES = [np.array([0.25, 0.5, -1.0], np.float32), None, np.array([0.125, 0.0, -0.25], np.float32)]
ACTIVATIONS = ["relu", "hard_tanh"]
STEPS = ([2, 5], [[1, 0, "1/3"], ["-1/2", 1, 0], [2, -1, "1/7"]])
TABLE = {"red": [0, 1, 2], "blue": [1, "1/2", 0], "green": [-2, 0, 1]}
CODES = {-9: ["1/2", 0, 1], MISSING: [-1, 1, 0]}
BROKEN = ([0, 12], [[0, 1, 0], [3, -1, "1/2"]])
JUMP = ([0, "1/2"], [[0, 0, 1], ["-1/3", 1, 0], [1, "1/2", 1]])
LINE = ["2/3", -1, "1/4"]
FEATURES = {  # scale, standard deviation
    "net": (-2, Fraction(3, 2)), "bins": (1, 2), "months": (1, 4), "colour": (1, None), "jump": (1, None),
}  # fmt: skip
CARD = {  # cuts, points, scale, standard deviation
    "age": ([30, 50], [0, 10, 20], 1, 8),
    "income": ([1000, 3000], [0, 15, 30], 100, 900),
    "years": ([2, 5], [-5, 0, 5], 1, 0),
}
CORNERS = ((3, 3), (6, 12), (1, 10), (1, 10), (3, 6), (6, 5), (11, 5), (6, 8), (7, 10))  # slopes left and right of 0


def models() -> dict[str, AdditiveModel]:
    """Return the models: a tie to either class, a regression, three classes; slopes alone, and steps alone."""
    found = {}
    for name, outputs in {"positive": 1, "negative": 1, "regression": 1, "classes": 3}.items():

        def first(rows, outputs=outputs):
            return [row[:outputs] for row in rows]

        flat = Steps([], [LINE[:outputs]])  # only to have the same number of outputs
        line = PiecewiseLinear([0], [[0] * outputs], LINE[:outputs], LINE[:outputs])
        shapes = [
            ReluNetwork([*WEIGHTS[:2], WEIGHTS[2][:outputs]], [*BIASES[:2], BIASES[2][:outputs]], ACTIVATIONS),
            Steps(STEPS[0], first(STEPS[1]), closed="right"),
            Table({key: row[:outputs] for key, row in CODES.items()}, PiecewiseLinear(BROKEN[0], first(BROKEN[1]))),
            Table({key: row[:outputs] for key, row in TABLE.items()}),
            line + Steps(JUMP[0], first(JUMP[1])) + flat * 0,
        ]
        domains = {
            "bins": Domain.interval(0, 10),
            "months": Domain.integers(0, 40) | Domain.codes(-9, MISSING),
            "jump": Domain.interval(-3) | Domain.points(-5),
        }
        features = [
            Feature(feature, domains.get(feature), "1/3" if feature == "net" else 0, scale, deviation)
            for feature, (scale, deviation) in FEATURES.items()
        ]
        intercept = ["1/5", 0, "-1/4"][:outputs]
        task = {"regression": "regression", "classes": "multiclass"}.get(name, "binary")
        classes = {"binary": ["no", "yes"], "multiclass": ["a", "b", "c"], "regression": None}[task]
        ties = "negative" if name == "negative" else "positive"
        found[name] = AdditiveModel(shapes, intercept, task, features, classes, ties)
    corners = [PiecewiseLinear([0], [0], left, right) for left, right in CORNERS]
    numbered = [Feature(f"x{i}", deviation=2) for i in range(len(CORNERS))]
    card = [Steps([Fraction(cut, scale) for cut in cuts], points, "right") for cuts, points, scale, _ in CARD.values()]
    named = [Feature(name, None, 0, scale, deviation) for name, (*_, scale, deviation) in CARD.items()]
    return {
        **found,
        "corners": AdditiveModel(corners, 0, "regression", numbered),
        "card": AdditiveModel(card, -30, "binary", named, ["refuse", "accept"]),
    }


def plain(name: str) -> Plain:
    """Return a model of that name as plain functions."""
    return PlainCorners() if name == "corners" else PlainCard() if name == "card" else Plain(name)


class Plain:
    """A model as plain functions, and the truth about it."""

    count = 5
    classes = ("no", "yes")
    features = FEATURES

    def __init__(self, name: str) -> None:
        self.name, self.outputs = name, 3 if name == "classes" else 1
        self.network = PlainNetwork(
            [*WEIGHTS[:2], WEIGHTS[2][: self.outputs]], [*BIASES[:2], BIASES[2][: self.outputs]], ACTIVATIONS
        )
        self.intercept = [Fraction(1, 5), Fraction(0), Fraction(-1, 4)][: self.outputs]
        self.classes = {"classes": ("a", "b", "c"), "regression": ()}.get(name, self.classes)

    def value(self, i: int, x) -> list[Fraction]:
        """Return a feature's part of each score."""
        if i == 0:
            return self.network((x - Fraction(1, 3)) / -2)
        if i == 1:
            return self._row(STEPS[1][sum(x > cut for cut in STEPS[0])])
        if i == 2:
            if x in CODES:
                return self._row(CODES[x])
            share = min(max(x / 12, Fraction(0)), Fraction(1))
            low, high = (self._row(row) for row in BROKEN[1])
            return [a + share * (b - a) for a, b in zip(low, high, strict=True)]
        if i == 3:
            return self._row(TABLE[x])
        jump = self._row(JUMP[1][sum(x >= Fraction(cut) for cut in JUMP[0])])
        return [a + Fraction(slope) * x for a, slope in zip(jump, LINE, strict=False)]

    def _row(self, row) -> list[Fraction]:
        return [Fraction(value) for value in row[: self.outputs]]

    def scores(self, row) -> list[Fraction]:
        parts = [self.value(i, x) for i, x in enumerate(row)]
        return [start + sum(column) for start, *column in zip(self.intercept, *parts, strict=True)]

    # --- where a feature may go -----------------------------------------------------------------------------------

    def is_inside(self, i: int, x) -> bool:
        if isinstance(x, str):
            return i == 3 and x in TABLE
        if i == 2 and (x is MISSING or x == -9):
            return True
        if not isinstance(x, Fraction) or i == 3:
            return False
        if i == 2:
            return 0 <= x <= 40 and x.denominator == 1
        return [True, 0 <= x <= 10, False, False, x >= -3 or x == -5][i]

    def reaches(self, i: int, x, radius, there) -> bool:
        """Whether a free feature may become another value."""
        if not self.is_inside(i, there):
            return False
        if radius is None or there == x:
            return True
        if i == 3:
            return there in radius if isinstance(radius, frozenset) else radius > 0
        special = (-9, MISSING)
        if i == 2 and (x in special or there in special):
            return False
        low, high = ends_of(x, radius)
        return low <= there <= high

    def drop(self, i: int, x, radius, factors) -> tuple[Fraction | float, bool]:
        """Return how far a feature can lower `Σ factors · score` within its region, and whether that is attained."""

        def part(at):
            return sum(f * a for f, a in zip(factors, self.value(i, at), strict=True))

        here = part(x)
        if i == 3 or (i == 2 and radius is not None and x in (-9, MISSING)):
            reached = [
                at for at in (*TABLE, *CODES) if self._same_kind(i, at) and self.reaches(i, x, radius, _exact(at))
            ]
            return max(here - part(_exact(at)) for at in [*reached, x]), True
        if i == 2:
            reached = [Fraction(at) for at in range(41) if self.reaches(2, x, radius, Fraction(at))]
            reached += [_exact(at) for at in CODES] if radius is None else []
            return max(here - part(at) for at in [*reached, x]), True
        return self._drop_of_numbers(i, x, radius, part, here)

    def _same_kind(self, i: int, at) -> bool:
        return at in (TABLE if i == 3 else CODES)

    def _drop_of_numbers(self, i, x, radius, part, here):
        low, high = ends_of(x, radius)
        low, high = (max(low, bound[0]), min(high, bound[1])) if (bound := _BOUNDS[i]) else (low, high)
        found = [(Fraction(0), True)]
        if i == 4 and self.reaches(4, x, radius, Fraction(-5)):
            found.append((here - part(Fraction(-5)), True))
        if low > high:
            return max(found)
        far = Fraction(10**6)  # beyond every breakpoint
        ends = [-far if low == -math.inf else low, far if high == math.inf else high]
        for end, step, bound in ((ends[0], -1, low), (ends[1], 1, high)):
            if abs(bound) == math.inf and part(end + step) < part(end):
                return math.inf, False
        places = [Fraction(2), Fraction(5), Fraction(0), Fraction(1, 2)]
        if i == 0:
            inner = sorted((end - Fraction(1, 3)) / -2 for end in ends)
            places = [Fraction(1, 3) - 2 * z for z in self.network.corners(*inner)]
        lowest, is_attained = infimum_by_sampling(part, places, *ends) if ends[0] < ends[1] else (part(ends[0]), True)
        return max(*found, (here - lowest, is_attained))

    # --- what a certificate says ----------------------------------------------------------------------------------

    def inequalities(self, claim, scores) -> list[tuple[list[int], Fraction, bool]]:
        """Return factors, constant and strictness of each; none if the claim makes no sense."""
        kind = claim["kind"]
        if kind in ("at_least", "at_most", "within"):
            if self.outputs > 1:
                return []
            bound = Fraction(claim["delta" if kind == "within" else "value"])
            if kind == "within":
                return [([1], bound - scores[0], False), ([-1], bound + scores[0], False)]
            return [([1], -bound, False)] if kind == "at_least" else [([-1], bound, False)]
        if not self.classes:
            return []
        if self.outputs == 1:
            is_yes = scores[0] > 0 or (scores[0] == 0 and self.name != "negative")
            if kind == "probability_at_least":
                p = Fraction(claim["p"])
                if not 0 < p < 1:
                    return []
                odds = Decimal(p.numerator) / Decimal(p.denominator - p.numerator)  # 100 digits: no tie is as close
                return [([1 if is_yes else -1], -Fraction(odds.ln()), False)]
            if kind == "beats" and claim["other"] != self.classes[not is_yes]:
                return []
            return [([1 if is_yes else -1], Fraction(0), is_yes == (self.name == "negative"))]
        first = scores.index(max(scores))
        others = [j for j in range(3) if j != first and (kind == "same" or claim.get("other") == self.classes[j])]
        return [([(j == first) - (j == other) for j in range(3)], Fraction(0), other < first) for other in others]

    def radii(self, question) -> list[Fraction | None] | None:
        """Return how far each feature may move, in its own units; nothing if that is not said."""
        radius, found = question["radius"], []
        if isinstance(radius, dict) and set(radius) != set(self.features):
            return None
        for i, (name, (scale, deviation)) in enumerate(self.features.items()):
            text = radius[name] if isinstance(radius, dict) else radius
            reach = None if text == "inf" else Fraction(text)
            if reach is not None and reach < 0:
                return None
            if name in question["immutable"]:
                reach = Fraction(0)
            elif reach and self.has_distance(i) and question["unit"] != "raw":
                factor = abs(scale) if question["unit"] == "model" else deviation
                if factor is None:
                    return None
                reach *= factor
            found.append(reach)
        return found

    def has_distance(self, i: int) -> bool:
        return i != 3

    def next_number(self, i: int, end: Fraction, side: int, hair: Fraction) -> Fraction | None:
        """Return the next number of the domain from one on, this included if it is one, towards a side."""
        if i == 2:
            whole = Fraction(math.ceil(end) if side > 0 else math.floor(end))
            return whole if 0 <= whole <= 40 else Fraction(40 if side < 0 else 0) if (20 - whole) * side > 0 else None
        if self.is_inside(i, end):
            return end
        if i == 4:
            return Fraction(-5) if end > -5 or side > 0 else None
        return None

    def sets(self, question) -> list[tuple[frozenset[int], Fraction]] | None:
        """Return the sets of features that may be fixed, and what each costs; nothing if the wishes contradict."""
        names = list(self.features)
        groups, cost = question["groups"], {name: Fraction(one) for name, one in question["cost"].items()}
        grouped = [name for group in groups.values() for name in group]
        items = {name: [name] for name in names if name not in grouped} | groups
        wrong = len(set(grouped)) < len(grouped) or not set(grouped) <= set(names) or not all(groups.values())
        wrong |= any(name in names and group != [name] for name, group in groups.items())
        if wrong or not set(cost) <= set(items) or any(one <= 0 for one in cost.values()):
            return None
        found = []
        for picks in product([False, True], repeat=len(items)):
            chosen = {name for name, pick in zip(items, picks, strict=True) if pick}
            fixed = {name for item in chosen for name in items[item]}
            if fixed >= set(question["fix"]) and fixed.isdisjoint(question["free"]):
                indices = frozenset(names.index(name) for name in fixed)
                found.append((indices, sum((cost.get(item, Fraction(1)) for item in chosen), Fraction(0))))
        return found


class PlainCorners(Plain):
    """Features that fall on both sides of 0, by different slopes: hard to cover."""

    def __init__(self) -> None:
        self.name, self.outputs, self.intercept, self.count = "corners", 1, [Fraction(0)], len(CORNERS)
        self.classes, self.features = (), {f"x{i}": (1, 2) for i in range(self.count)}

    def value(self, i: int, x) -> list[Fraction]:
        left, right = CORNERS[i]
        return [Fraction(left) * x if x < 0 else Fraction(right) * x]

    def is_inside(self, i: int, x) -> bool:
        return isinstance(x, Fraction)

    def drop(self, i: int, x, radius, factors) -> tuple[Fraction | float, bool]:
        left, right = CORNERS[i]
        if radius is None:
            return (Fraction(0), True) if factors[0] * right >= 0 >= factors[0] * left else (math.inf, False)
        low, high = ends_of(x, radius)
        if (low == -math.inf and factors[0] * left > 0) or (high == math.inf and factors[0] * right < 0):
            return math.inf, False
        places = [at for at in (low, x, high, Fraction(0)) if low <= at <= high and abs(at) < math.inf]
        return factors[0] * self.value(i, x)[0] - min(factors[0] * self.value(i, at)[0] for at in places), True

    def reaches(self, i: int, x, radius, there) -> bool:
        low, high = ends_of(x, radius)
        return low <= there <= high

    def has_distance(self, i: int) -> bool:
        return True

    def next_number(self, i: int, end: Fraction, side: int, hair: Fraction) -> Fraction | None:
        return end


class PlainCard(PlainCorners):
    """A scorecard: points for each bin, and a cut belongs to the bin below it."""

    def __init__(self) -> None:
        self.name, self.outputs, self.intercept, self.count = "card", 1, [Fraction(-30)], len(CARD)
        self.classes, self.features = ("refuse", "accept"), {name: each[2:] for name, each in CARD.items()}

    def value(self, i: int, x) -> list[Fraction]:
        cuts, points, *_ = list(CARD.values())[i]
        return [Fraction(points[sum(x > cut for cut in cuts)])]

    def drop(self, i: int, x, radius, factors) -> tuple[Fraction | float, bool]:
        cuts = [Fraction(cut) for cut in list(CARD.values())[i][0]]
        low, high = ends_of(x, radius)
        ends = [max(low, min(cuts) - 1, key=float), min(high, max(cuts) + 1, key=float)]
        ends = [min(ends[0], x), max(ends[1], x)]
        places = sorted({x, *ends, *(cut for cut in cuts if ends[0] <= cut <= ends[1])})
        places += [(a + b) / 2 for a, b in pairwise(places)]
        return max(factors[0] * (self.value(i, x)[0] - self.value(i, at)[0]) for at in places), True


_BOUNDS = {0: (-math.inf, math.inf), 1: (Fraction(0), Fraction(10)), 4: (Fraction(-3), math.inf)}


def ends_of(x, radius):
    """The interval within a radius (None: without end), or the one that is given in place of a radius."""
    if radius is None or not isinstance(x, Fraction):
        return -math.inf, math.inf
    return radius if isinstance(radius, tuple) else (x - radius, x + radius)


def _exact(value):
    return Fraction(value) if isinstance(value, int) else value


def value_of(cell):
    ((kind, content),) = cell.items()
    return {"number": Fraction, "label": str, "missing": lambda _: MISSING}[kind](content)
