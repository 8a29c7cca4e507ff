"""The core of the checker against brute force: trees over a few items, changes of a few items, falls over a region.

What is asked of a tree is a little more than is true: whatever tree is offered, it must not be accepted.
"""

import random
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace

import pytest

from suffice_check.claims import Inequality
from suffice_check.core import Part
from suffice_check.domain import Domain, Span
from suffice_check.ordered import ZERO, Number, total
from suffice_check.reading import RejectedError
from suffice_check.shapes import broken_line, steps
from suffice_check.tree import Choices, Cover, Node, check_changes, check_irrelevant

HALVES = [Fraction(k, 2) for k in (0, 0, 1, 2, 2, 3, 4, 6)]
MULTIPLIERS = [Fraction(k, 6) for k in (0, 0, 2, 3, 4, 6, 6, 9, 12, 18, -3, -6)]


def subsets(some):
    return (frozenset(chosen) for count in range(len(some) + 1) for chosen in combinations(sorted(some), count))


def wishes(rng):
    """Two to four items of one or two features, their costs, and some that must be fixed or free."""
    items, features = [], iter(range(9))
    for _ in range(rng.randint(2, 4)):
        items.append([next(features) for _ in range(rng.choice([1, 1, 1, 2]))])
    decided = [rng.choice(["open"] * 6 + ["fix", "free"]) for _ in items]
    fix, free = ({k for k, one in enumerate(decided) if one == kind} for kind in ("fix", "free"))
    return Choices(items, [rng.choice([1, 1, 1, 2, 3]) for _ in items], fix, free)


def falls(rng, choices, edges):
    count = sum(len(item) for item in choices.items)
    return [Number(rng.choice(HALVES), rng.choice([0, 0, 0, *edges])) for _ in range(count)]


def tree(rng, open_, leaf, depth=2):
    """A tree whose nodes decide items that are still open, or now and then one that is not."""
    if not depth or not open_ or rng.random() < 0.3:
        return [leaf()]
    k = rng.choice(sorted(open_) if rng.random() < 0.95 else [0, 1])
    kept = tree(rng, open_ - {k}, leaf, depth - 1)
    if rng.random() < 0.3:
        return [Node("fix", k), *kept]
    return [Node("branch", k), *kept, *tree(rng, open_ - {k}, leaf, depth - 1)]


def is_accepted(check, *given):
    try:
        check(*given)
    except RejectedError:
        return False
    return True


def largest(numbers, few):
    return total(sorted(numbers, reverse=True)[:few])


class Case:
    """Falls of features in one or two inequalities, and which items can be free together."""

    def __init__(self, rng):
        self.choices = wishes(rng)
        edges = [-1, 5] if rng.random() < 0.5 else []
        count = rng.randint(1, 2)
        self.falls = [falls(rng, self.choices, edges) for _ in range(count)]
        self.loose = [Number(Fraction(rng.randint(0, 8), 2), rng.choice([0, 0, -1])) for _ in range(count)]
        self.few = rng.choice([None, None, 1, 2])
        self.cover = Cover(self.loose, self.falls, self.choices, self.few)
        self.fitting = [freed for freed in subsets(self.choices.open) if self.fits(self.choices.features(freed))]

    def fits(self, features):
        each = zip(self.falls, self.loose, strict=True)
        return all(largest([row[i] for i in features], self.few) <= limit for row, limit in each)

    def bound(self, rng):
        return Node("bound", 0, [rng.choice(MULTIPLIERS) for _ in self.loose])


@pytest.mark.parametrize("seed", range(40))
def test_no_tree_shows_that_less_can_be_freed_than_can(seed):
    rng, accepted = random.Random(f"costs {seed}"), 0
    for _ in range(25):
        case = Case(rng)
        if not case.fitting:
            continue
        most = max(map(case.choices.cost, case.fitting))
        for _ in range(40):
            offered = tree(rng, case.choices.open, lambda case=case: case.bound(rng))
            assert not is_accepted(case.cover.check, offered, most - 1), (case.choices, case.falls, case.loose, offered)
            accepted += is_accepted(case.cover.check, offered, most)
    assert accepted > 20


@pytest.mark.parametrize("seed", range(20))
def test_no_tree_shows_that_a_list_of_sets_is_complete_when_it_is_not(seed):
    rng, accepted = random.Random(f"lists {seed}"), 0
    for _ in range(40):
        case = Case(rng)
        every = range(len(case.choices.items))
        allowed = [held for held in subsets(every) if held >= case.choices.fix and not held & case.choices.free]
        listed = rng.sample(allowed, min(len(allowed), rng.randint(1, 3)))
        most = rng.choice([None, rng.randint(0, 4)])

        def is_held(freed, case=case, listed=listed):
            return any(one.isdisjoint(freed | case.choices.free) for one in listed)

        dear = [freed for freed in case.fitting if most is None or case.choices.cost(freed) > most]
        is_complete = all(map(is_held, dear))

        def leaf(case=case, listed=listed):
            return case.bound(rng) if rng.random() < 0.3 else Node("listed", rng.randrange(len(listed)))

        for _ in range(30):
            found = is_accepted(case.cover.check, tree(rng, case.choices.open, leaf, 3), most, listed)
            assert is_complete or not found
            accepted += found
    assert accepted > 10


@pytest.mark.parametrize("seed", range(20))
def test_no_tree_shows_that_an_item_is_irrelevant_when_it_is_not(seed):
    rng, accepted = random.Random(f"roles {seed}"), 0
    for _ in range(40):
        case = Case(rng)

        def enough(fixed, _, case=case):
            if not case.fits([i for i in case.choices.members(case.choices.all) if i not in fixed]):
                raise RejectedError("sufficiency", "no")

        for item in case.choices.open:
            others = [freed for freed in case.fitting if item not in freed]
            is_irrelevant = all(case.fits(case.choices.features(freed | {item})) for freed in others)
            for _ in range(8):
                offered = tree(rng, case.choices.open - {item}, lambda: Node("fits"), 3)
                found = is_accepted(check_irrelevant, offered, item, case.cover, case.choices, enough)
                assert is_irrelevant or not found
                accepted += found
    assert accepted > 10


@pytest.mark.parametrize("seed", range(30))
def test_no_tree_shows_that_cheap_changes_do_less_than_they_can(seed):
    rng, accepted = random.Random(f"changes {seed}"), 0
    for _ in range(30):
        choices, budget, most = wishes(rng), rng.randint(0, 5), rng.choice([None, None, 1, 2])
        drops = falls(rng, choices, [-1])
        cheap = [changed for changed in subsets(choices.open) if choices.cost(changed) <= budget]
        worst = max(largest([drops[i] for i in choices.features(changed)], most) for changed in cheap)
        short = Number(worst.value, worst.edge - 1)

        def leaf(most=most):
            each = Fraction(0) if most is None and rng.random() < 0.8 else rng.choice(MULTIPLIERS)
            return Node("bound", 0, [each, rng.choice(MULTIPLIERS)])

        for _ in range(40):
            offered = tree(rng, choices.open, leaf)
            assert not is_accepted(check_changes, offered, short, drops, choices, budget, most), (offered, drops)
            accepted += is_accepted(check_changes, offered, worst, drops, choices, budget, most)
    assert accepted > 10


def shape_of(rng):
    places = sorted(rng.sample([Fraction(k, 2) for k in range(-6, 7)], rng.randint(1, 4)))
    values = [(Fraction(rng.randint(-4, 4)),) for _ in range(len(places) + 1)]
    if rng.random() < 0.5:
        return steps(places, values, rng.choice(["left", "right"]))
    return broken_line(places, values[1:], [(Fraction(rng.randint(-2, 2)),) for _ in range(2)])


@pytest.mark.parametrize("is_integers", [False, True])
def test_the_largest_fall_over_a_region_is_exact(is_integers):
    """Attained where it is said to be, only approached where not; ends that are left out do not count."""
    rng, tiny, edges = random.Random(f"falls {is_integers}"), Fraction(1, 10**6), set()
    for _ in range(600):
        shape = shape_of(rng)
        low, high = sorted(Number(Fraction(rng.randint(-8, 8), 2)) for _ in range(2))
        if not is_integers and low < high:
            low, high = Number(low.value, rng.choice([0, 1])), Number(high.value, rng.choice([0, -1]))
        span = Span(None, None, is_integers).cut(low, high)
        if span is None:
            continue
        side = rng.choice([1, -1])

        def at(y, shape=shape, side=side):
            return side * shape.pieces(y, y).cell(y, 0).at(y)[0]

        part = Part(
            SimpleNamespace(name="x", shape=shape),
            shape.pieces(low.value, low.value).cell(low.value, 0).at(low.value),
            [Inequality((side,), Fraction(0), is_strict=False)],
            3,
        )
        (found,) = part.drops(Domain([span], [], []))
        knots = [low.value, high.value, *(Fraction(k, 2) for k in range(-6, 7))]
        near = [knot + step for knot in knots for step in (0, tiny, -tiny)] + [Fraction(k) for k in range(-4, 5)]
        inside = [y for y in near if span.holds(Number(y))]
        tops = [Fraction(0), *(at(low.value) - at(y) for y in inside)]
        assert all(Number(top) <= found for top in tops)
        assert max(tops) > found.value - 100 * tiny
        assert (found.value in tops) == (found.edge == 0)
        edges.add(found.edge)
    assert edges == ({0} if is_integers else {0, -1})


def test_what_falls_without_end_has_no_largest_fall():
    line = broken_line([Fraction(0)], [(Fraction(0),)], [(Fraction(1),), (Fraction(0),)])
    part = Part(SimpleNamespace(name="x", shape=line), (Fraction(0),), [Inequality((1,), Fraction(0), False)], 1)
    for is_integers in (False, True):
        ends = [Span(None, ZERO, is_integers), Span(ZERO, None, is_integers), Span(None, None, is_integers)]
        assert [part.drops(Domain([span], [], [])) for span in ends] == [[None], [ZERO], [None]]
