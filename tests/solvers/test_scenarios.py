"""Smallest sets where features act together, against trying all labellings of all sets."""

from fractions import Fraction
from random import Random

import pytest
from oracles import fraction
from oracles.tables import Tables, WrongTreeError, check_tree, free_sets
from toys import Toy, random_choices, random_tables

from suffice.core.constraint import Scenario
from suffice.question.preferences import Choices
from suffice.solvers import master
from suffice.solvers.covering import smallest_cover
from suffice.solvers.proofs import Branch, Surrogate

LONG = 10**6  # seconds: compiling for the first time may take long, and no time is tested
BLOCKS = range(12)


def systems(seed, most=6):
    rng = Random(seed)
    count, max_changed = rng.randint(1, most), rng.choice([None, None, None, 1, 2, 3])
    tables = [random_tables(rng, count, max_changed) for _ in range(rng.choice([1, 1, 2, 3]))]
    return tables, Choices.single(count) if rng.random() < 0.5 else random_choices(rng, count)


def mask_of(choices, items):
    return sum(1 << i for k in items for i in choices.items[k])


def most_freed(tables, choices):
    """What the open items cost that may be freed at most; None if what is free in any case breaks a claim."""
    allowed = free_sets(tables)
    open_ = [k for k in range(len(choices.items)) if k not in choices.fix | choices.free]
    sets = [[k for p, k in enumerate(open_) if chosen >> p & 1] for chosen in range(1 << len(open_))]
    costs = [
        sum(choices.costs[k] for k in some) for some in sets if mask_of(choices, {*some, *choices.free}) in allowed
    ]
    return max(costs, default=None)


def row_of(part, scenario):
    values = [fraction(drop.value) for drop in scenario.weights]
    products = {pair: fraction(value) for pair, value in scenario.products.items()}
    return part, values, [drop.edge for drop in scenario.weights], products


def check(proof, choices, most, tables):
    rows, wide = ([row_of(*each) for each in some] for some in (proof.scenarios, proof.wide))
    check_tree(proof.tree, rows, wide, choices.items, choices.costs, choices.fix, choices.free, most, tables)


def everything(choices):
    return sum(cost for k, cost in enumerate(choices.costs) if k not in choices.free)


@pytest.mark.parametrize("block", BLOCKS)
def test_no_allowed_set_costs_less(block):
    """Two hundred systems each: ties, approached infima, negative products, groups, costs, wishes, few changes."""
    for seed in range(200 * block, 200 * (block + 1)):
        tables, choices = systems(seed)
        most = most_freed(tables, choices)
        if most is None:
            continue
        cover = smallest_cover([Toy(one) for one in tables], choices, max_seconds=LONG)
        assert (cover.cost, cover.lower_bound) == (everything(choices) - most,) * 2, seed
        fixed = {k for k, item in enumerate(choices.items) if set(item) & set(cover.fixed)}
        assert sorted(cover.fixed) == sorted(choices.features(fixed)), seed
        assert (choices.fix - fixed, choices.free & fixed) == (set(), set()), seed
        assert mask_of(choices, set(range(len(choices.items))) - fixed) in free_sets(tables), seed
        check(cover.proof, choices, most, tables)


@pytest.mark.parametrize("block", BLOCKS[:3])
def test_without_proposals_the_tree_alone_finds_it(block, monkeypatch):
    """Good first sets hide a bound that ends nodes too early; without them such a bound shows."""
    monkeypatch.setattr("suffice.solvers.scenarios.ScenarioSearch._extend", lambda self, freed: None)
    monkeypatch.setattr("suffice.solvers.scenarios.ScenarioSearch._light", lambda self: [])
    for quick in (0, 2_000):
        monkeypatch.setattr(master, "_QUICK", quick)
        monkeypatch.setattr(master, "_DEEP", 1 if not quick else 5_000)
        for seed in range(100 * block, 100 * (block + 1)):
            tables, choices = systems(seed)
            most = most_freed(tables, choices)
            if most is not None:
                cover = smallest_cover([Toy(one) for one in tables], choices, max_seconds=LONG)
                assert (cover.cost, cover.lower_bound) == (everything(choices) - most,) * 2, seed


@pytest.mark.parametrize("block", BLOCKS[:3])
def test_a_budget_that_ends_leaves_true_bounds(block):
    for seed in range(100 * block, 100 * (block + 1)):
        tables, choices = systems(seed)
        most = most_freed(tables, choices)
        if most is None:
            continue
        for nodes in (0, 1):
            cover = smallest_cover([Toy(one) for one in tables], choices, max_nodes=nodes, max_seconds=LONG)
            assert cover.lower_bound <= everything(choices) - most <= cover.cost
            check(cover.proof, choices, everything(choices) - cover.lower_bound, tables)


@pytest.mark.parametrize("block", BLOCKS[:3])
def test_numbers_too_long_for_64_bits_are_compared_exactly(block):
    """Thirds of thirds of thirds: rounded, ties look like anything; and the last digit decides."""
    for seed in range(100 * block, 100 * (block + 1)):
        rng = Random(seed)
        tables = random_tables(rng, rng.randint(2, 6))
        factor = 1 + fraction_of(rng)
        longer = Tables(
            [[(value * factor, is_attained) for value, is_attained in labels] for labels in tables.lowers],
            {pair: [[value * factor for value in row] for row in table] for pair, table in tables.more.items()},
            tables.margin * factor + rng.choice([-1, 0, 0, 1]) * fraction_of(rng) ** 2,
            tables.is_strict,
        )
        choices = Choices.single(tables.count)
        most = most_freed([longer], choices)
        if most is not None:
            cover = smallest_cover([Toy(longer)], max_seconds=LONG)
            assert (cover.cost, cover.lower_bound) == (tables.count - most,) * 2, seed


def fraction_of(rng):
    return Fraction(1, 3 ** rng.randint(60, 80))


def test_a_wrong_tree_is_refused():
    """The checker of these tests can fail: a leaf too early, a share that is not one, a needed item that is not."""
    tables, choices, proof, most = next(
        (tables, choices, cover.proof, most)
        for tables, choices in map(systems, range(500))
        if (most := most_freed(tables, choices)) is not None
        and (cover := smallest_cover([Toy(one) for one in tables], choices, max_seconds=LONG)).proof.scenarios
        and most
    )
    check(proof, choices, most, tables)
    with pytest.raises(WrongTreeError):
        check(proof, choices, most - 1, tables)
    for tree in (Surrogate(()), Branch(0, proof.tree, None)):
        forged = type(proof)(proof.scenarios, proof.wide, lambda tree=tree: tree)
        with pytest.raises(WrongTreeError):
            check(forged, choices, most, tables)


def test_the_same_question_has_the_same_answer():
    for seed in range(50):
        tables, choices = systems(seed)
        if most_freed(tables, choices) is not None:
            one, two = (smallest_cover([Toy(one) for one in tables], choices, max_seconds=LONG) for _ in range(2))
            assert (one.fixed, one.proof.tree) == (two.fixed, two.proof.tree)


def test_scenarios_of_toys_hold_for_every_set_that_may_be_freed():
    """What the search takes for granted of a constraint, of the toys that it is tried on."""
    for seed in range(100):
        rng = Random(seed)
        tables = random_tables(rng, rng.randint(1, 5), rng.choice([None, 2]))
        toy, allowed = Toy(tables), free_sets([tables])
        for mask in range(1 << tables.count):
            freed = [i for i in range(tables.count) if mask >> i & 1]
            scenario = toy.scenario(freed)
            assert (scenario is None) == (mask in allowed) == toy.admits(freed)
            assert scenario is None or isinstance(scenario, Scenario)
            if scenario is not None:
                for other in allowed:
                    assert toy.allows(scenario.fall([i for i in range(tables.count) if other >> i & 1]))
