"""Features that act together, given as tables: which sets may be freed, by trying all labellings of all features.

A feature has labels: the first is the row's own, and lowers the score by nothing. Every other lowers it by a number,
and two labels of two features lower it by something more. A number is attained, or only approached.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product


class Tables:
    """One inequality: `lowers[i][a]` is (number, is attained), `more[i, j][a][b]` a number, 0 for a first label."""

    def __init__(self, lowers, more, margin, is_strict, max_changed=None):
        self.lowers, self.more, self.margin = lowers, more, margin
        self.is_strict, self.max_changed = is_strict, max_changed

    @property
    def count(self):
        return len(self.lowers)

    def falls(self):
        """For each set of features, as a mask, the furthest fall by changing all of these: (number, is attained)."""
        best = {}
        for labels in product(*(range(len(one)) for one in self.lowers)):
            mask = sum(1 << i for i, label in enumerate(labels) if label)
            if self.max_changed is not None and mask.bit_count() > self.max_changed:
                continue
            value = sum((self.lowers[i][a][0] for i, a in enumerate(labels)), Fraction(0))
            value += sum((table[labels[i]][labels[j]] for (i, j), table in self.more.items()), Fraction(0))
            fall = (value, all(self.lowers[i][a][1] for i, a in enumerate(labels)))
            best[mask] = max(fall, best.get(mask, fall))
        return best

    def breaking(self):
        """Masks of features that break the claim by changing all of them."""
        found = []
        for mask, (value, is_attained) in self.falls().items():
            lowest = self.margin - value
            if lowest < 0 or (lowest == 0 and self.is_strict and is_attained):
                found.append(mask)
        return found


def free_sets(systems):
    """All sets of features, as masks, that may be freed: nothing inside them breaks any of the inequalities."""
    bad = {mask for one in systems for mask in one.breaking()}
    return {mask for mask in range(1 << systems[0].count) if not any(mask & other == other for other in bad)}


class WrongTreeError(Exception):
    """A tree does not show what it should."""


def check_tree(tree, rows, wide, items, costs, fixed, base, most, systems):
    """Check a tree of scenarios by trying all sets of items at every leaf.

    `rows` are scenarios as (system, numbers, edges, products); what is freed beside the base must not cost more than
    `most`. Numbers are compared with their edges, as infinitesimals: -1 for one that is approached.
    """
    open_ = [k for k in range(len(items)) if k not in fixed and k not in base]
    _walk(tree, frozenset(), frozenset(), open_, (rows, wide, items, costs, base, most, systems))


def _walk(tree, kept, freed, open_, facts):
    _, _, items, costs, base, most, systems = facts
    name = type(tree).__name__
    if name == "Branch":
        if tree.item in kept | freed or tree.item not in open_:
            raise WrongTreeError(f"item {tree.item} is decided twice")
        _walk(tree.fixed, kept | {tree.item}, freed, open_, facts)
        if tree.freed is not None:
            _walk(tree.freed, kept, freed | {tree.item}, open_, facts)
            return
        features = [i for k in (*base, *freed, tree.item) for i in items[k]]
        mask = sum(1 << i for i in features)
        if all(not any(mask & other == other for other in one.breaking()) for one in systems):
            raise WrongTreeError(f"freeing item {tree.item} breaks nothing")
        return
    undecided = [k for k in open_ if k not in kept | freed]
    for chosen in product((0, 1), repeat=len(undecided)):
        more = {k for k, is_freed in zip(undecided, chosen, strict=True) if is_freed}
        if sum(costs[k] for k in freed | more) > most and not _refutes(tree, freed, more, set(undecided), facts):
            raise WrongTreeError(f"{tree} does not rule out {sorted(freed | more)}")


def _refutes(leaf, freed, more, undecided, facts):
    rows, wide, items, _, base, _, systems = facts
    if type(leaf).__name__ == "Few":
        movable = {i for k in (*base, *freed, *undecided) for i in items[k]}
        return _few(wide[leaf.scenario], [*base, *freed, *more], items, movable, systems)
    given = {(k, other): share for k, other, share in leaf.shares}
    total, margin, is_strict = [Fraction(0), Fraction(0)], Fraction(0), False
    item_of = {i: k for k, item in enumerate(items) for i in item}
    chosen = freed | more | set(base)
    joint = {}
    for t, multiplier in leaf.multipliers:
        assert multiplier > 0
        part, numbers, edges, products = rows[t]
        margin += multiplier * systems[part].margin
        is_strict |= systems[part].is_strict
        for i, (number, edge) in enumerate(zip(numbers, edges, strict=True)):
            if item_of[i] in chosen:
                total[0] += multiplier * number
                total[1] += multiplier * edge
        for (i, j), value in products.items():
            one, two = sorted((item_of[i], item_of[j]))
            joint[one, two] = joint.get((one, two), 0) + multiplier * value
    for (one, two), value in joint.items():
        if one in undecided and two in undecided and one != two:
            # linear: what the leaf says such a product is at least
            y, z = one in more, two in more
            if value > 0:
                total[0] += Fraction(given.get((one, two), 0), 16) * value * (y + z - 1)
            else:
                share = given.get((one, two), 8)
                assert 0 <= share <= 16
                total[0] += Fraction(share, 16) * value * y + Fraction(16 - share, 16) * value * z
        elif one in chosen and two in chosen:
            total[0] += value
    return tuple(total) > (margin, 0) or (is_strict and tuple(total) == (margin, 0))


def _few(row, chosen, items, movable, systems):
    """Whether some few of the freed features, one of each item, break the claim as they do in a scenario: by halves."""
    part, numbers, edges, products = row
    most = systems[part].max_changed
    weights = []
    for k in chosen:
        each = []
        for i in items[k]:
            below = sorted(v for pair, v in products.items() if i in pair and v < 0 and movable.issuperset(pair))
            each.append((numbers[i] + sum(below[: most - 1], Fraction(0)) / 2, edges[i]))
        weights.append(max(each))
    largest = sorted(weights, reverse=True)[:most]
    largest = [one for one in largest if one > (0, 0)]
    total = (sum((one[0] for one in largest), Fraction(0)), sum(one[1] for one in largest))
    margin = (systems[part].margin, 0)
    return total > margin or (systems[part].is_strict and total == margin)
