"""Small models with curves beside products, and their exact minima.

Nothing here knows of labels or tangents. Integers and categories are tried one by one. What is left is a quadratic form
over a box: it is lowest on some face of the box, where the gradient along the face is 0, so all faces are tried and a
linear system of fractions is solved on each. A face on which it has more than one solution, or none, is not needed: the
form is as low on a smaller one.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, product

import suffice
from suffice import MISSING, Domain, Feature, PiecewisePolynomial, Product, Table


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

    def lowest(self, part, freed, radii, reach=()):
        """Return the least value of a part of the claim where some features may move; of some it is said where to."""
        choices = []
        for i in range(self.count):
            if i in reach:
                choices.append(reach[i])
                continue
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
                right = [
                    -slope[k] - sum(bend[k][m] * at[m] for m in range(len(moving)) if at[m] is not None) for k in inner
                ]
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

    def admits(self, freed, radii, most=None, reach=()):
        sets = [freed] if most is None or len(freed) <= most else combinations(freed, most)
        for some in sets:
            for part in self.inequalities():
                least = self.lowest(part, some, radii, reach)
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
