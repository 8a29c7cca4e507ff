"""A constraint over tables, which asks all labellings: what searches are tried on, whatever the true one does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product

from oracles.tables import Tables

from suffice.core.constraint import NO_DROP, Constraint, Drop, Scenario
from suffice.numbers.exact import rational
from suffice.question.preferences import Choices


@dataclass(frozen=True, eq=False)
class Toy(Constraint):
    tables: Tables

    def __post_init__(self):
        self.__dict__["known"] = {}
        self.__dict__["margin"] = rational(self.tables.margin)
        self.__dict__["is_strict"] = self.tables.is_strict
        self.__dict__["max_changed"] = self.tables.max_changed
        self.__dict__["gap"] = rational(0)
        self.__dict__["drops"] = tuple(self.fall([i]) for i in range(self.tables.count))

    @property
    def ceilings(self):
        found = list(self.drops)
        for pair, table in self.tables.more.items():
            most = rational(max(0, *(value for row in table for value in row)))
            for i in pair:
                found[i] = found[i]._replace(value=found[i].value + most)
        # A feature with a label of its own may change something, if only together with others.
        return tuple(
            drop._replace(edge=1) if len(labels) > 1 else drop
            for drop, labels in zip(found, self.tables.lowers, strict=True)
        )

    def admits(self, freed):
        return self.allows(self.fall(freed))

    def fall(self, freed):
        return max(self._fall(labels) for labels in self._labellings(freed))

    def scenario(self, freed):
        labels = max(self._labellings(freed), key=self._fall)
        if self.allows(self._fall(labels)):
            return None
        labels, tables = list(labels), self.tables
        for i in range(tables.count):  # improve outside, one at a time
            moved = sum(label > 0 for label in labels)
            if i not in freed and (tables.max_changed is None or moved < tables.max_changed):
                labels[i] = max(
                    range(len(tables.lowers[i])), key=lambda a, i=i: self._fall([*labels[:i], a, *labels[i + 1 :]])
                )
        weights = tuple(self._drop(i, a) for i, a in enumerate(labels))
        products = {(i, j): rational(t[labels[i]][labels[j]]) for (i, j), t in tables.more.items()}
        return Scenario(weights, {pair: value for pair, value in products.items() if value}, tuple(labels))

    def broken_by(self, first, others):
        others = list(others)
        for count in range(len(others) + 1):
            for more in combinations(others, count):
                if not self.admits([*first, *more]):
                    return [*first, *more]
        return None

    def _replace(self, **changes):
        tables = self.tables
        margin = Fraction(int(changes["margin"].p), int(changes["margin"].q)) if "margin" in changes else tables.margin
        most = changes.get("max_changed", tables.max_changed)
        return replace(self, tables=Tables(tables.lowers, tables.more, margin, tables.is_strict, most))

    def _labellings(self, freed):
        some = set(freed)
        for labels in product(*(range(len(one)) if i in some else (0,) for i, one in enumerate(self.tables.lowers))):
            if self.tables.max_changed is None or sum(label > 0 for label in labels) <= self.tables.max_changed:
                yield labels

    def _drop(self, i, label):
        value, is_attained = self.tables.lowers[i][label]
        return Drop(False, rational(value), 0 if is_attained else -1) if label else NO_DROP

    def _fall(self, labels):
        key = tuple(labels)
        if key not in self.known:
            self.known[key] = self._computed(key)
        return self.known[key]

    def _computed(self, labels):
        drops = [self._drop(i, a) for i, a in enumerate(labels)]
        value = sum((drop.value for drop in drops), rational(0))
        for (i, j), table in self.tables.more.items():
            value += rational(table[labels[i]][labels[j]])
        return Drop(False, value, min((drop.edge for drop in drops), default=0))


def random_tables(rng, count, max_changed=None, scale=None):
    """One inequality with small numbers, so that ties abound: `rng` is a `random.Random`."""
    unit = scale or rng.choice([Fraction(1), Fraction(1), Fraction(1, 3), Fraction(1, 8)])
    is_approached = rng.random() < 0.4
    lowers = []
    for _ in range(count):
        labels = rng.choice([1, 2, 2, 3, 3]) if count > 1 else 2
        lowers.append(
            [(Fraction(0), True)]
            + [(unit * rng.randint(-3, 5), not (is_approached and rng.random() < 0.4)) for _ in range(labels - 1)]
        )
    more, density = {}, rng.choice([0.2, 0.5, 1.0])
    low, high = rng.choice([(-4, 4), (-6, 0), (0, 4), (-2, 5)])
    for i, j in combinations(range(count), 2):
        if rng.random() < density:
            more[i, j] = [
                [unit * rng.randint(low, high) if a and b else Fraction(0) for b in range(len(lowers[j]))]
                for a in range(len(lowers[i]))
            ]
    # Mostly so much that no single feature breaks it, and all together do.
    largest = [max(value for value, _ in labels) for labels in lowers]
    margin = max(largest) + rng.choice([0, 0, unit, 2 * unit, sum(largest) / 3, sum(largest) / 2])
    margin = unit * rng.randint(0, 9) if rng.random() < 0.2 else margin
    is_strict = rng.random() < 0.5
    return Tables(lowers, more, margin + (unit if is_strict and not margin else 0), is_strict, max_changed)


def random_choices(rng, count):
    """Some groups, costs and wishes over so many features."""
    features, items = list(range(count)), []
    while features:
        size = rng.choice([1, 1, 1, 2, 3])
        items.append(tuple(features[:size]))
        features = features[size:]
    costs = tuple(rng.choice([1, 1, 2, 3, 7, 10**12]) for _ in items)
    if rng.random() < 0.5:
        costs = (1,) * len(items)
    wishes = [rng.choice(["open"] * 6 + ["fix", "free"]) for _ in items]
    fix, free = (frozenset(k for k, wish in enumerate(wishes) if wish == kind) for kind in ("fix", "free"))
    return Choices(tuple(items), tuple(f"item {k}" for k in range(len(items))), costs, fix, free)
