"""Every question about small models with pair terms, against trying all inputs and all sets."""

import math
import random
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import pytest

import suffice
from suffice import AdditiveModel, Domain, Explainer, Feature, PairLinear, PairSteps, PiecewiseLinear, Steps, Table


class Small(NamedTuple):
    """A model of few values, its score as a plain function, a row and where each feature may go."""

    explainer: Explainer
    score: Any
    row: tuple[Any, ...]
    region: tuple[tuple[Any, ...], ...]  # representatives of all that can happen within the radius

    @property
    def names(self) -> tuple[str, ...]:
        return self.explainer.model.names

    def inputs(self, freed: Any, most: int | None = None) -> Any:
        for point in product(*(self.region[i] if i in freed else (x,) for i, x in enumerate(self.row))):
            if most is None or sum(a != b for a, b in zip(point, self.row, strict=True)) <= most:
                yield point

    def holds(self, freed: Any, most: int | None = None) -> bool:
        sign = self.score(self.row) >= 0
        return all((self.score(point) >= 0) == sign for point in self.inputs(freed, most))


def small(seed: int) -> Small:
    rng = random.Random(seed)
    count, below = rng.randint(2, 4), rng.choice([1, 3])
    kinds = [rng.choice(["number", "category"]) for _ in range(count)]
    cells = [rng.randint(2, 3) for _ in range(count)]
    number = lambda: Fraction(rng.randint(-4, 4), below)  # noqa: E731
    own = [[number() for _ in range(some)] for some in cells]
    ends = [(i, j) for i, j in combinations(range(count), 2) if rng.random() < 0.8]
    tables = {(i, j): [[number() for _ in range(cells[j])] for _ in range(cells[i])] for i, j in ends}
    intercept = Fraction(rng.randint(-3, 3), 2)
    shapes, features, bins = [], [], []
    for i, (kind, some) in enumerate(zip(kinds, cells, strict=True)):
        name = f"x{i}"
        if kind == "category":
            names = [f"v{k}" for k in range(some)]
            shapes.append(Table(dict(zip(names, own[i], strict=True))))
            features.append(Feature(name, Domain.categories(*names)))
            bins.append(suffice.Bins(keys=names))
        else:
            cuts = list(range(1, some))
            shapes.append(Steps(cuts, own[i]))
            features.append(Feature(name, Domain.interval(0, some)))
            bins.append(suffice.Bins(cuts))
    pairs = {(f"x{i}", f"x{j}"): PairSteps(bins[i], bins[j], table) for (i, j), table in tables.items()}
    model = AdditiveModel(shapes, intercept, features=features, pairs=pairs)

    def cell(i: int, value: Any) -> int:
        return int(value[1:]) if isinstance(value, str) else min(int(value), cells[i] - 1)

    def score(point: tuple[Any, ...]) -> Fraction:
        at = [cell(i, value) for i, value in enumerate(point)]
        alone = sum((own[i][k] for i, k in enumerate(at)), intercept)
        return alone + sum((table[at[i]][at[j]] for (i, j), table in tables.items()), Fraction(0))

    everything = [
        [f"v{k}" if kind == "category" else Fraction(4 * k + 1, 4) for k in range(n)]
        for kind, n in zip(kinds, cells, strict=True)
    ]
    row = tuple(rng.choice(values) for values in everything)
    return Small(Explainer(model), score, row, tuple(map(tuple, everything)))


def sets(count: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(count), size) for size in range(count + 1)))


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_explanations_contrasts_and_roles_are_those_of_trying_everything(seed: int) -> None:
    one = small(seed)
    names, count = one.names, len(one.row)
    holds = {fixed: one.holds(set(range(count)) - set(fixed)) for fixed in sets(count)}
    least = min(len(fixed) for fixed, is_enough in holds.items() if is_enough)
    why = one.explainer.explain(one.row, radius="inf")
    assert why.status is suffice.Status.PROVEN
    assert why.size == least
    assert holds[tuple(sorted(why.fixed))]
    assert why.slack >= 0
    for name in why.features:
        broken = why.counterexample(name)
        point = tuple(broken[other] for other in names)
        assert (one.score(point) >= 0) != (one.score(one.row) >= 0)
        moved = {i for i in range(count) if point[i] != one.row[i]}
        assert names.index(name) in moved
        assert not moved & set(why.fixed) - {names.index(name)}
    assert str(why)
    assert why.document()
    for fixed, is_enough in holds.items():
        asked = one.explainer.is_sufficient(one.row, [names[i] for i in fixed], radius="inf")
        assert bool(asked) == is_enough
    breaking = [len(freed) for freed in sets(count) if not one.holds(freed)]
    what = one.explainer.contrast(one.row, radius="inf")
    assert what.is_possible == bool(breaking)
    assert not breaking or (what.size == min(breaking) and what.status is suffice.Status.PROVEN)
    minimal = {
        fixed for fixed in sets(count) if holds[fixed] and not any(holds[s] for s in sets(count) if set(s) < set(fixed))
    }
    found = one.explainer.explanations(one.row, radius="inf", minimal="subset")
    assert {tuple(sorted(names.index(name) for name in each)) for each in found} == minimal
    smallest = one.explainer.explanations(one.row, radius="inf", minimal="size")
    assert {tuple(sorted(names.index(name) for name in each)) for each in smallest} == {
        fixed for fixed in minimal if len(fixed) == least
    }
    roles = one.explainer.relevance(one.row, radius="inf")
    inside = [set(fixed) for fixed in minimal]
    assert set(roles.necessary) == {names[i] for i in range(count) if all(i in fixed for fixed in inside)}
    assert set(roles.irrelevant) == {names[i] for i in range(count) if not any(i in fixed for fixed in inside)}


@pytest.mark.parametrize("seed", SEEDS)
def test_preferences_and_limits_on_changes_are_honoured(seed: int) -> None:
    one = small(1000 + seed)
    rng = random.Random(seed)
    names, count = one.names, len(one.row)
    most = rng.randint(1, count)
    cost = {name: rng.randint(1, 4) for name in names}
    holds = {fixed: one.holds(set(range(count)) - set(fixed), most) for fixed in sets(count)}
    least = min(sum(cost[names[i]] for i in fixed) for fixed, is_enough in holds.items() if is_enough)
    why = one.explainer.explain(one.row, radius="inf", max_changed=most, cost=cost)
    assert (why.cost, why.status) == (least, suffice.Status.PROVEN)
    assert holds[tuple(sorted(why.fixed))]
    group = [names[0], names[1]]
    tied = one.explainer.explain(one.row, radius="inf", groups=[group])
    whole = {fixed: one.holds(set(range(count)) - set(fixed)) for fixed in sets(count)}
    allowed = [s for s in sets(count) if whole[s] and (0 in s) == (1 in s)]
    assert tied.cost == min(len(s) - (0 in s) for s in allowed)
    free_first = [s for s in sets(count) if whole[s] and 0 not in s]
    if free_first:
        assert one.explainer.explain(one.row, radius="inf", free=[names[0]]).size == min(map(len, free_first))
    else:
        with pytest.raises(suffice.PreferenceError, match="cannot be free"):
            one.explainer.explain(one.row, radius="inf", free=[names[0]])
    breaking = [s for s in sets(count) if not one.holds(s)]
    what = one.explainer.contrast(one.row, radius="inf", cost=cost)
    assert what.is_possible == bool(breaking)
    assert not breaking or what.cost == min(sum(cost[names[i]] for i in s) for s in breaking)
    frozen = one.explainer.explain(one.row, radius="inf", immutable=[names[0]])
    stays = [s for s in sets(count) if one.holds(set(range(count)) - set(s) - {0})]
    assert frozen.size == min(map(len, stays))


STEP = Fraction(1, 10**6)


@pytest.mark.parametrize("seed", range(80))
def test_ranges_are_as_wide_as_trying_every_cell_says(seed: int) -> None:
    one = small(2000 + seed)
    names, count = one.names, len(one.row)
    rng = random.Random(seed)
    most = rng.choice([None, None, 1, 2])
    needed = one.explainer.explain(one.row, radius="inf", max_changed=most).fixed
    fixed = [*needed, *(i for i in range(count) if i not in needed and rng.random() < 0.6)]
    rng.shuffle(fixed)
    found = one.explainer.inflate(one.row, radius="inf", features=[names[i] for i in fixed], max_changed=most)
    free = [i for i in range(count) if i not in fixed]
    gone: dict[int, tuple[Any, ...]] = {}

    def holds(i: int, value: Any) -> bool:
        """Whether the answer stays where a feature has a value, those let go before are anywhere in their ranges."""
        sign = one.score(one.row) >= 0
        few = count if most is None else most
        for point in product(*(one.region[k] if k in free else gone.get(k, (x,)) for k, x in enumerate(one.row))):
            if sum(point[k] != one.row[k] for k in free) <= few:
                moved = (*point[:i], value, *point[i + 1 :])
                if (one.score(moved) >= 0) != sign:
                    return False
        return True

    for i in fixed:
        at, values = one.region[i].index(one.row[i]), one.region[i]
        allowed = found.ranges[names[i]]
        if isinstance(one.row[i], str):
            gone[i] = tuple(value for value in values if holds(i, value))
            assert set(allowed.values) == set(gone[i])
            continue
        low, high = at, at
        while low > 0 and holds(i, values[low - 1]):
            low -= 1
        while high < len(values) - 1 and holds(i, values[high + 1]):
            high += 1
        gone[i] = values[low : high + 1]
        assert (allowed.low, allowed.has_low) == (low, True)
        assert (allowed.high, allowed.has_high) == (high + 1, high == len(values) - 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_radius_is_where_a_set_stops_to_suffice(seed: int) -> None:
    one = small(3000 + seed)
    rng = random.Random(seed)
    fixed = [name for name in one.names if rng.random() < 0.4]
    reach = one.explainer.radius(one.row, fixed, unit="raw")
    if reach.limit.radius == math.inf:
        assert one.explainer.is_sufficient(one.row, fixed, radius=100, unit="raw")
        return
    assert one.explainer.is_sufficient(one.row, fixed, radius=reach.limit.radius, unit="raw") == reach.limit.is_attained
    assert not one.explainer.is_sufficient(one.row, fixed, radius=reach.limit.radius + STEP, unit="raw")
    if reach.limit.radius:
        assert one.explainer.is_sufficient(one.row, fixed, radius=reach.limit.radius - STEP, unit="raw")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_curve_has_the_sizes_of_explanations_at_every_radius(seed: int) -> None:
    one = small(4000 + seed)
    begin = Fraction(0)
    for step in one.explainer.curve(one.row, unit="raw").steps:
        if step.limit.radius == math.inf:
            inside = begin + 1
        else:
            inside = (begin + step.limit.radius) / 2
            if step.limit.is_attained:
                assert one.explainer.explain(one.row, radius=step.limit.radius, unit="raw").size == step.cost
            begin = step.limit.radius
        assert one.explainer.explain(one.row, radius=inside or STEP, unit="raw").size == step.cost or not inside


@pytest.mark.parametrize("seed", SEEDS)
def test_a_counterfactual_is_nearest(seed: int) -> None:
    one = small(5000 + seed)
    what = one.explainer.counterfactual(one.row, radius=4, unit="raw")
    if not what.is_possible:
        assert one.explainer.is_sufficient(one.row, [], radius=4, unit="raw")
        return
    point = tuple(what.counterexample[name] for name in one.names)
    assert (one.score(point) >= 0) != (one.score(one.row) >= 0)
    assert what.size == one.explainer.contrast(one.row, radius=4, unit="raw").size
    least = 4 * what.least_change
    if least > STEP:
        nearer = one.explainer.contrast(one.row, radius=least - STEP, unit="raw")
        assert not nearer.is_possible or nearer.size > what.size
    further = one.explainer.contrast(one.row, radius=least + STEP, unit="raw")
    assert further.size == what.size
    assert str(what)


ENDLESS = [Domain.reals(), Domain.integers(-math.inf, math.inf), Domain.interval(-math.inf, 5)]


@pytest.mark.parametrize("domain", ENDLESS)
def test_a_feature_that_falls_for_ever_ends_a_radius_however_far_out(domain):
    """Beside a pair term that varies, and beyond every knot and cut."""
    falling = PiecewiseLinear([0], [0], left_slope="1/100", right_slope=0)
    varying = PairLinear([0, 5, 10], [0, 5, 10], [[0, 0.1, 0], [0.1, -0.1, 0.2], [0, 0.2, 0.1]])
    features = [Feature("a", domain), Feature("b", Domain.interval(0, 10))]
    model = AdditiveModel([falling, None], 1, features=features, pairs={("a", "b"): varying})
    explainer = Explainer(model)
    found = explainer.radius([2, 5], [], unit="raw").limit
    assert 100 <= found.radius < 110
    for radius, holds in ((found.radius, True), (110, False), (10**6, False)):
        assert explainer.is_sufficient([2, 5], [], radius, unit="raw") == holds
