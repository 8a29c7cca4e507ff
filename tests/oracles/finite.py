"""Models with finitely many inputs: every question is answered by looking at all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from oracles.sets import fraction, subsets

CLASSES = ("k0", "k1", "k2", "k3")


@dataclass
class Wishes:
    """Preferences by index: what may not be chosen freely, what is tied together, what choosing costs."""

    fix: set = field(default_factory=set)
    free: set = field(default_factory=set)
    group: set = field(default_factory=set)
    price: dict = field(default_factory=dict)  # of features outside the group; 1 where not named
    group_price: Fraction = Fraction(1)

    def cost(self, chosen):
        """What choosing some features costs; what is free in any case costs nothing."""
        alone = sum(self.price.get(i, 1) for i in chosen if i not in self.group | self.free)
        return alone + (self.group_price if self.group & set(chosen) else 0)

    def allows(self, fixed):
        """Whether a set of fixed features is one that the wishes allow."""
        fixed = set(fixed)
        return self.fix <= fixed and not self.free & fixed and len(self.group & fixed) in (0, len(self.group))

    def options(self, names):
        """The same as the library takes it."""
        cost = {names[i]: price for i, price in self.price.items() if i not in self.group}
        tied = {"tied": [names[i] for i in sorted(self.group)]} if self.group else {}
        return {
            "fix": [names[i] for i in sorted(self.fix)],
            "free": [names[i] for i in sorted(self.free)],
            "cost": cost | ({"tied": self.group_price} if self.group else {}),
            "groups": tied,
        }


def cannot_be_free(names, free):
    """Which features cannot be free, one or several."""
    what = ", ".join(repr(names[i]) for i in sorted(free))
    return f"{what} cannot be free" if len(free) == 1 else f"{what} cannot all be free"


@dataclass
class Finite:
    """A model whose features have finitely many values each, as tables, seen from a row.

    tables : for each feature a mapping from its values (labels, or numbers with distances) to outputs
    """

    task: str
    tables: list
    intercepts: list
    row: tuple

    @property
    def here(self):
        return self.scores(self.row)

    def scores(self, point):
        return [
            start + sum((table[value][j] for table, value in zip(self.tables, point, strict=True)), Fraction(0))
            for j, start in enumerate(self.intercepts)
        ]

    def holds(self, claim, point):
        """Whether a claim about the row is true at a point, from its definition in words."""
        here, there, kind = self.here, self.scores(point), type(claim).__name__
        if kind == "AtLeast":
            return there[0] >= fraction(claim.value)
        if kind == "AtMost":
            return there[0] <= fraction(claim.value)
        if kind == "Within":
            return abs(there[0] - here[0]) <= fraction(claim.delta)
        if self.task == "binary":
            return (there[0] >= 0) == (here[0] >= 0)
        winner = here.index(max(here))
        if kind == "Same":
            return there.index(max(there)) == winner
        other = CLASSES.index(claim.other)
        return there[winner] > there[other] or (there[winner] == there[other] and winner < other)

    def gaps(self, claim, point):
        """How far a point is from breaking each inequality of a claim, and whether a gap of 0 breaks it."""
        here, there, kind = self.here, self.scores(point), type(claim).__name__
        if kind == "AtLeast":
            return [(there[0] - fraction(claim.value), False)]
        if kind == "AtMost":
            return [(fraction(claim.value) - there[0], False)]
        if kind == "Within":
            return [(fraction(claim.delta) + sign * (there[0] - here[0]), False) for sign in (1, -1)]
        if self.task == "binary":
            return [(there[0], False) if here[0] >= 0 else (-there[0], True)]
        winner = here.index(max(here))
        others = [CLASSES.index(claim.other)] if kind == "Beats" else range(len(here))
        return [(there[winner] - there[other], other < winner) for other in others if other != winner]

    def refusal(self, claim, names, free, radius, max_changed=None):
        """What is said where features that must be free break the claim: of its first inequality that breaks."""
        every = zip(*(self.gaps(claim, p) for p in self.points(radius, free, max_changed)), strict=True)
        for (start, is_strict), gaps in zip(self.gaps(claim, self.row), every, strict=True):
            least = min(gap for gap, _ in gaps)
            if least < 0 or (least == 0 and is_strict):
                lowered = f"the margin of {float(start):.6g} by {float(start - least):.6g}"
                who = ": it can lower " if len(free) == 1 else ": together they can lower "
                return f"{cannot_be_free(names, free)}{who}{lowered}; free fewer, or make the radius smaller"
        raise AssertionError("they may all be free")

    def change(self, i, value):
        """How far a value is from the row's own; a change of label is no distance."""
        return Fraction(0) if isinstance(value, str) else abs(value - self.row[i])

    def points(self, radius, moving=None, max_changed=None):
        """All inputs within a radius (of each feature, or one for all) that differ from the row in some features."""
        radii = radius if isinstance(radius, (list, tuple)) else [radius] * len(self.row)
        values = [
            [v for v in table if v == self.row[i] or (radii[i] and self.change(i, v) <= radii[i])]
            if moving is None or i in moving
            else [self.row[i]]
            for i, table in enumerate(self.tables)
        ]
        every = product(*values)
        return (p for p in every if max_changed is None or len(self.changed(p)) <= max_changed)

    def changed(self, point):
        return [i for i, value in enumerate(point) if value != self.row[i]]

    def sufficient(self, claim, fixed, radius, max_changed=None):
        """Whether the claim holds everywhere with some features fixed."""
        moving = set(range(len(self.row))) - set(fixed)
        return all(self.holds(claim, p) for p in self.points(radius, moving, max_changed))

    def sufficient_sets(self, claim, radius, wishes, max_changed=None):
        """All sufficient sets that the wishes allow."""
        return [
            set(fixed)
            for fixed in subsets(len(self.row))
            if wishes.allows(fixed) and self.sufficient(claim, fixed, radius, max_changed)
        ]

    def breaks(self, claim, radius, wishes, max_changed=None):
        """All inputs that break the claim without changing what is to be fixed."""
        moving = set(range(len(self.row))) - wishes.fix
        return [p for p in self.points(radius, moving, max_changed) if not self.holds(claim, p)]
