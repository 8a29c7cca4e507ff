"""Small models with all the awkward kinds of features, and the same as plain tables that can be gone through in full.

The values listed for a feature are enough: its functions are constant, or affine, between neighbours of the list.
"""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np

from suffice import MISSING, AdditiveModel, Bins, Domain, Feature, PairSteps, PiecewiseLinear, Steps, Table

FEW = [Fraction(k, 2) for k in (-3, -2, -1, -1, 0, 0, 1, 1, 2, 3)]


class Small:
    """A random model and its plain form: `values[i]` lists the values of a feature, `score(row)` adds up tables."""

    def __init__(self, seed, *, pairs=False, tasks=("binary", "binary", "multiclass", "regression"), most=4):
        self.random, self.has_pairs = random.Random(seed), pairs
        pick = self.random.choice
        self.task = pick(tasks)
        self.outputs = 3 if self.task == "multiclass" else 1
        self.ties = pick(["positive", "negative"])
        self.classes = {"binary": ["no", "yes"], "multiclass": ["a", "b", "c"], "regression": []}[self.task]
        shapes, features = [], []
        self.values, self.tables, self.codes, self.plains = [], [], [], []
        for i in range(self.random.randint(1 + pairs, most)):
            shape, domain, table, codes, plain = self._feature(pick(["categories", "integers", "steps", "line"]))
            shapes.append(shape)
            features.append(Feature(f"f{i}", domain, deviation=1))
            self.values.append(list(table))
            self.tables.append(table)
            self.codes.append(codes)
            self.plains.append(plain)
        self.names = [feature.name for feature in features]
        self.intercept = [pick(FEW) for _ in range(self.outputs)]
        self.pairs, terms = {}, {}
        for i, j in itertools.combinations(range(len(shapes)), 2) if pairs else ():
            if self.random.random() < 0.6:
                terms[f"f{i}", f"f{j}"], self.pairs[i, j] = self._pair(i, j)
        extra = {"ties": self.ties} if self.task == "binary" else {}
        self.model = AdditiveModel(
            shapes, self.intercept, self.task, features, classes=self.classes or None, pairs=terms, **extra
        )

    def _row(self):
        return [self.random.choice(FEW) for _ in range(self.outputs)]

    def _feature(self, kind):
        if kind == "categories":
            table = {label: self._row() for label in ["red", "green", "blue"][: self.random.randint(1, 3)]}
            if self.random.random() < 0.4:
                table[MISSING] = self._row()
            names = [label for label in table if label is not MISSING]
            domain = Domain.categories(*names)
            codes = [MISSING] if MISSING in table else []
            return Table(table), domain | Domain.codes(*codes) if codes else domain, table, codes, None
        codes = [code for code in (Fraction(-9), MISSING) if self.random.random() < 0.3]
        special = {code: self._row() for code in codes}
        # A sloping line with a jump of a pair on top comes close to values that it has at no listed number.
        is_integers = kind == "integers" or self.random.random() < 0.3 or (self.has_pairs and kind == "line")
        able = [Fraction(k, 2) for k in range(1, 8 if is_integers else 4)]
        knots = sorted(self.random.sample(able, self.random.randint(1, 3)))
        if kind == "line":
            heights = [self._row() for _ in knots]
            shape = PiecewiseLinear(knots, heights)
            plain = lambda at: line(knots, heights, at)  # noqa: E731
        else:
            levels = [self._row() for _ in range(len(knots) + 1)]
            closed = self.random.choice(["left", "right"])
            shape = Steps(knots, levels, closed)
            plain = lambda at: levels[sum(k <= at if closed == "left" else k < at for k in knots)]  # noqa: E731
        places = [Fraction(k) for k in range(5)] if is_integers else [Fraction(k, 4) for k in range(9)]
        domain = Domain.integers(0, 4) if is_integers else Domain.interval(0, 2)
        table = {at: plain(at) for at in places} | special
        full = Table(special, shape) if special else shape
        return full, domain | Domain.codes(*codes) if codes else domain, table, codes, plain

    def _pair(self, i, j):
        sides = []
        for k in (i, j):
            names = [value for value in self.values[k] if isinstance(value, str)]
            cuts = None if names else sorted(self.random.sample([Fraction(n, 2) for n in range(1, 8)], 2))
            sides.append((cuts, [*names, *self.codes[k]]))
        counts = [len(keys) + (len(cuts) + 1 if cuts else 0) for cuts, keys in sides]
        grid = [
            [self._row() if self.outputs > 1 else self._row()[0] for _ in range(counts[1])] for _ in range(counts[0])
        ]

        def cell(side, value):
            cuts, keys = sides[side]
            if value in keys:
                return (len(cuts) + 1 if cuts else 0) + keys.index(value)
            return sum(cut <= value for cut in cuts)

        def at(one, other):
            found = grid[cell(0, one)][cell(1, other)]
            return found if self.outputs > 1 else [found]

        return PairSteps(*(Bins(cuts, keys=keys) for cuts, keys in sides), grid), at

    # --- plain ----------------------------------------------------------------------------------------------------

    def score(self, row):
        """The scores of a row."""
        each = zip(self.tables, self.plains, row, strict=True)
        parts = [table[value] if value in table else plain(value) for table, plain, value in each]
        parts += [at(row[i], row[j]) for (i, j), at in self.pairs.items()]
        return [start + sum(part[k] for part in parts) for k, start in enumerate(self.intercept)]

    def decides(self, row):
        """The class of a row; None of a regression."""
        scores = self.score(row)
        if self.task == "regression":
            return None
        if self.task == "binary":
            (score,) = scores
            return "yes" if score > 0 or (score == 0 and self.ties == "positive") else "no"
        return self.classes[scores.index(max(scores))]

    def lead(self, row, outcome):
        """How far a class is ahead of each other one."""
        scores = self.score(row)
        if self.task == "regression":
            return scores
        if self.task == "binary":
            return [scores[0] if outcome == "yes" else -scores[0]]
        own = scores[self.classes.index(outcome)]
        return [own - score for name, score in zip(self.classes, scores, strict=True) if name != outcome]

    def some_row(self):
        """A row at random."""
        return [self.random.choice(values) for values in self.values]

    def is_number(self, i, value):
        """Whether a value has an order."""
        return isinstance(value, Fraction) and value not in self.codes[i]


def line(knots, heights, at):
    """A broken line, constant outside."""
    if at <= knots[0]:
        return heights[0]
    if at >= knots[-1]:
        return heights[-1]
    k = max(k for k, knot in enumerate(knots) if knot <= at)
    share = (at - knots[k]) / (knots[k + 1] - knots[k])
    return [a + share * (b - a) for a, b in zip(heights[k], heights[k + 1], strict=True)]


def table_of(small, rows):
    """Rows as an array of objects, a missing cell as None."""
    found = np.empty((len(rows), len(small.values)), dtype=object)
    for k, row in enumerate(rows):
        found[k] = [None if value is MISSING else value for value in row]
    return found
