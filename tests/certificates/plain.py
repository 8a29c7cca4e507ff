"""Small models for the corpus and the fuzzer, and the same models as plain functions that share no code with them.

`Plain` decides by brute force whether what a certificate says is true: exact infima from known breakpoints, all sets of
features tried. It reads a certificate's statement, never its evidence.
"""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import combinations, product

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
CORNERS = ((3, 3), (6, 12), (1, 10), (1, 10), (3, 6), (6, 5), (11, 5), (6, 8), (7, 10))  # slopes left and right of 0


def models() -> dict[str, AdditiveModel]:
    """Return the models: a tie to either class, a regression, three classes."""
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
        features = [
            Feature("net", center="1/3", scale=-2, deviation=1),
            Feature("bins", Domain.interval(0, 10)),
            Feature("months", Domain.integers(0, 40) | Domain.codes(-9, MISSING)),
            Feature("colour"),
            Feature("jump", Domain.interval(-3) | Domain.points(-5)),
        ]
        intercept = ["1/5", 0, "-1/4"][:outputs]
        task = {"regression": "regression", "classes": "multiclass"}.get(name, "binary")
        classes = {"binary": ["no", "yes"], "multiclass": ["a", "b", "c"], "regression": None}[task]
        ties = "negative" if name == "negative" else "positive"
        found[name] = AdditiveModel(shapes, intercept, task, features, classes, ties)
    corners = [PiecewiseLinear([0], [0], left, right) for left, right in CORNERS]
    return {**found, "corners": AdditiveModel(corners, 0, "regression")}


def plain(name: str) -> Plain:
    """Return a model of that name as plain functions."""
    return PlainCorners() if name == "corners" else Plain(name)


class Plain:
    """A model as plain functions, and the truth about it."""

    count = 5

    def __init__(self, name: str) -> None:
        self.name, self.outputs = name, 3 if name == "classes" else 1
        self.network = PlainNetwork(
            [*WEIGHTS[:2], WEIGHTS[2][: self.outputs]], [*BIASES[:2], BIASES[2][: self.outputs]], ACTIVATIONS
        )
        self.intercept = [Fraction(1, 5), Fraction(0), Fraction(-1, 4)][: self.outputs]

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
            return radius > 0
        special = (-9, MISSING)
        if i == 2 and (x in special or there in special):
            return False
        return abs(there - x) <= radius

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
        low, high = (-math.inf, math.inf) if radius is None else (x - radius, x + radius)
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
        """Return factors, constant and strictness of each."""
        kind = claim["kind"]
        if kind == "at_least":
            return [([1], -Fraction(claim["value"]), False)]
        if kind == "at_most":
            return [([-1], Fraction(claim["value"]), False)]
        if kind == "within":
            delta = Fraction(claim["delta"])
            return [([1], delta - scores[0], False), ([-1], delta + scores[0], False)]
        if kind == "probability_at_least":
            p = Fraction(claim["p"])
            odds = Decimal(p.numerator) / Decimal(p.denominator - p.numerator)  # to 100 digits, and no tie is as close
            is_yes = scores[0] > 0 or (scores[0] == 0 and self.name != "negative")
            return [([1 if is_yes else -1], -Fraction(odds.ln()), False)]
        if self.outputs == 1:
            is_yes = scores[0] > 0 or (scores[0] == 0 and self.name != "negative")
            return [([1 if is_yes else -1], Fraction(0), is_yes == (self.name == "negative"))]
        first = scores.index(max(scores))
        others = [claim["other"]] if kind == "beats" else [j for j in range(3) if j != first]
        return [([(j == first) - (j == other) for j in range(3)], Fraction(0), other < first) for other in others]

    def is_true(self, document) -> bool:
        """Whether the result of a certificate is so, by brute force."""
        row = [_value(cell) for cell in document["row"]]
        radii = [None if radius is None else Fraction(radius) for radius in document["radii"]]
        if not len(row) == len(radii) == self.count or any(r is not None and r < 0 for r in radii):
            return False
        if not all(self.is_inside(i, x) for i, x in enumerate(row)):
            return False
        parts = self.inequalities(document["claim"], self.scores(row))
        if document["result"]["kind"] == "radius":
            return self._is_radius(document, radii)
        scores = self.scores(row)
        margins = [
            constant + sum(f * s for f, s in zip(factors, scores, strict=True)) for factors, constant, _ in parts
        ]
        drops = [[self.drop(i, row[i], radii[i], factors) for i in range(self.count)] for factors, _, _ in parts]
        charges = [Fraction(charge) for charge in document["charges"] or ["0"] * len(parts)]
        if len(charges) != len(parts) or min(charges) < 0:
            return False

        def can_break(moved, charge=-1, at_most=document["at_most"]) -> bool:
            """Whether changing some features, no more at once than are allowed to, can break the claim."""
            most = len(moved) if at_most is None else at_most
            for (_, _, is_strict), margin, falls, extra in zip(parts, margins, drops, charges, strict=True):
                for some in combinations(moved, min(most, len(moved))):
                    fall = sum((falls[i][0] for i in some), Fraction(0)) - charge * extra
                    is_attained = all(falls[i][1] for i in some)
                    if fall > margin or (fall == margin and is_strict and is_attained):
                        return True
            return False

        result = document["result"]
        chosen = result["moved" if result["kind"] == "contrast" else "kept"]
        if len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(self.count)):
            return False
        if result["kind"] == "insufficient":
            return can_break([i for i in range(self.count) if i not in chosen])
        if result["kind"] == "contrast":
            least = result["lower_bound"]
            fewer = combinations(range(self.count), least - 1) if least else []
            return can_break(chosen) and not any(can_break(some) for some in fewer)
        return self._is_explanation(document, chosen, can_break)

    def _is_radius(self, document, units) -> bool:
        """Whether a set suffices up to a radius, seen a hair below it, at it, and a hair beyond it."""
        result, hair = document["result"], Fraction(1, 2**60)
        if None in units or document["at_most"] is not None:
            return False

        def suffices(radius) -> bool:
            reaches = [None if radius is None and unit else (radius or 0) * unit for unit in units]
            kept = {"kind": "explanation", "kept": result["kept"], "lower_bound": 0}
            radii = [None if reach is None else str(reach) for reach in reaches]
            return self.is_true({**document, "radii": radii, "result": kept})

        if result["radius"] is None:
            return suffices(Fraction(10**9)) and suffices(None) == result["is_attained"]
        radius = Fraction(result["radius"])
        below = suffices(max(radius - hair, Fraction(0))) if radius else True
        return radius >= 0 and below and suffices(radius) == result["is_attained"] and not suffices(radius + hair)

    def _is_explanation(self, document, chosen, can_break) -> bool:
        choices = document["choices"] or {
            "items": [[i] for i in range(self.count)],
            "costs": [1] * self.count,
            "keep": [],
            "free": [],
        }
        items, costs = choices["items"], choices["costs"]
        if (
            sorted(i for item in items for i in item) != list(range(self.count))
            or len(costs) != len(items)
            or min(costs) < 1
        ):
            return False
        if can_break([i for i in range(self.count) if i not in chosen]):
            return False
        # What is ruled out is ruled out even with the charges given back, and in a ball by single changes.
        single = {"at_most": 1} if document["norm"] else {}
        allowed, is_ruled_out = set(), True
        for picks in product([False, True], repeat=len(items)):
            kept = {k for k, pick in enumerate(picks) if pick}
            if kept >= set(choices["keep"]) and not kept & set(choices["free"]):
                features = frozenset(i for k in kept for i in items[k])
                allowed.add(features)
                if sum(costs[k] for k in kept) < document["result"]["lower_bound"]:
                    is_ruled_out &= can_break([i for i in range(self.count) if i not in features], 1, **single)
        return frozenset(chosen) in allowed and is_ruled_out


class PlainCorners(Plain):
    """Features that fall on both sides of 0, by different slopes: hard to cover."""

    def __init__(self) -> None:
        self.name, self.outputs, self.intercept, self.count = "corners", 1, [Fraction(0)], len(CORNERS)

    def value(self, i: int, x) -> list[Fraction]:
        left, right = CORNERS[i]
        return [Fraction(left) * x if x < 0 else Fraction(right) * x]

    def is_inside(self, i: int, x) -> bool:
        return isinstance(x, Fraction)

    def drop(self, i: int, x, radius, factors) -> tuple[Fraction | float, bool]:
        left, right = CORNERS[i]
        if radius is None:
            return (Fraction(0), True) if factors[0] * right >= 0 >= factors[0] * left else (math.inf, False)
        places = [at for at in (x - radius, x, x + radius, Fraction(0)) if abs(at - x) <= radius]
        return factors[0] * self.value(i, x)[0] - min(factors[0] * self.value(i, at)[0] for at in places), True

    def reaches(self, i: int, x, radius, there) -> bool:
        return radius is None or abs(there - x) <= radius


_BOUNDS = {0: (-math.inf, math.inf), 1: (Fraction(0), Fraction(10)), 4: (Fraction(-3), math.inf)}


def _exact(value):
    return Fraction(value) if isinstance(value, int) else value


def _value(cell):
    ((kind, content),) = cell.items()
    return {"number": Fraction, "label": str, "missing": lambda _: MISSING}[kind](content)
