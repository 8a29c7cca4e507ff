"""The cheapest changes of a row that reach something, proven.

In: what each feature can become and at what cost, relations between columns, and what is to be reached. Out: `Plans`.
Features act each for itself, so that a change is worth its gain in score, and the cheapest changes together are a
multiple-choice knapsack. Columns in a relation are chosen together. Gains are rounded up to whole numbers first: what
costs least then costs least of all if it does what it should in exact numbers; else exact ones of any size decide.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.core.scores import at_scores
from suffice.decisions.actions import Action, Relation, is_number
from suffice.errors import ActionError, BudgetError, ClaimError
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import ends
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.question.claim import Claim, Inequality
from suffice.question.row import Row
from suffice.shapes.pieces import Pieces
from suffice.solvers.choosing import Group, cheapest_choice

_BITS = 256  # how closely smooth shapes are enclosed
_ROUGH = 1 << 40  # gains are counted in parts of 1 so small first
_LARGEST = 1 << 50  # of a number in 64 bits, so that sums of thousands fit
_LARGEST_UNIT = 10**12  # parts of 1 that all costs are multiples of
_MOST_TOGETHER = 2_000_000  # choices of columns that are in relations with each other


class Change(NamedTuple):
    """A feature that changes, by index, what it becomes, and what that costs."""

    feature: int
    value: Value
    cost: Rational


class Plan(NamedTuple):
    """Changes that do what is asked, and what nothing that does so costs less than (of those that may still be)."""

    changes: tuple[Change, ...]
    cost: Rational
    bound: Rational

    @property
    def features(self) -> frozenset[int]:
        """Which features change."""
        return frozenset(change.feature for change in self.changes)


class Plans(NamedTuple):
    """Plans in order, whether that is proven, and whether there are no others."""

    listed: tuple[Plan, ...]
    is_proven: bool
    is_complete: bool


class Target(NamedTuple):
    """What is to be reached: a claim about a class, by index."""

    claim: Claim
    winner: int

    def inequality(self, compiled: Compiled) -> Inequality:
        """Return what must hold; an error if that is more than one inequality, or not of one score."""
        parts = self.claim.parts(compiled.model, self.winner)
        if len(parts) > 1 or parts[0].gap or parts[0].is_relative:
            raise ClaimError(
                "recourse is towards one of two classes, or towards a score that is at least or at most so high"
            )
        return parts[0].of(())


class Planner:
    """Finds cheapest changes of rows of one model; what a value can become is worked out once."""

    def __init__(
        self, compiled: Compiled, target: Target, actions: Mapping[int, Action], relations: Sequence[Relation]
    ) -> None:
        compiled.model.refuse_pairs("recourse", ActionError)
        self.compiled, self.target, self.actions, self.relations = compiled, target, actions, tuple(relations)
        self.inequality = target.inequality(compiled)
        self.functions = compiled.oriented(self.inequality.factors)
        self._known: dict[tuple[int, Value], _Options] = {}

    def plan(self, row: Row, held: frozenset[int] = frozenset(), deadline: float = math.inf) -> Plan | None:
        """Return the cheapest changes of features that are not held; None if there are none that do."""
        if self._reaches(row):
            return Plan((), ZERO, ZERO)
        # Of numbers that are only enclosed the best ends count: what costs least then costs no more than what does
        # what it should, and if it does so itself, nothing that does costs less.
        _, margin = ends(self.inequality.at(self.compiled.scores(row, bits=_BITS)))
        items = list(self._items(row, held))
        unit = math.lcm(*(item.denominator for item in items))
        if unit > _LARGEST_UNIT:
            raise ActionError("the costs have no common unit that is not tiny; write them with fewer digits")
        for scale in self._scales(items, margin):
            # Gains are rounded up and the need down, so that nothing that does is missed; exact ones are whole anyway.
            need = int((-margin * scale).floor()) + (self.inequality.is_strict and scale != _ROUGH)
            built = [item.group(unit, scale) for item in items]
            choice = cheapest_choice([group for group, _ in built], max(1, need), deadline)
            if choice is None:
                return None
            changes = [
                change
                for item, (_, places), pick in zip(items, built, choice.picks, strict=True)
                if pick >= 0
                for change in item.changes(places[pick])
            ]
            if self._reaches(changed(row, changes)):
                return Plan(tuple(sorted(changes)), fmpq(choice.cost, unit), fmpq(choice.bound, unit))
        assert self.compiled.is_enclosed, "exact numbers decide"
        raise BudgetError(
            f"scores after changes agree with what is to be reached to {_BITS} bits, so that a tie is not ruled out; "
            "change the actions slightly"
        )

    def _reaches(self, row: Row) -> bool:
        """Whether what is asked is so at a row."""
        return at_scores(self.compiled, row, self.inequality.holds_at)

    def _scales(self, items: Sequence[_Single | _Linked], margin: Rational) -> Iterator[int]:
        yield _ROUGH
        yield math.lcm(int(margin.q), *(int(gain.q) for item in items for gain in item.exact_gains))

    def plans(self, row: Row, count: int, deadline: float) -> Plans:
        """Return plans from the cheapest on; none changes all the features that an earlier one changes."""
        first = self.plan(row, deadline=deadline)
        # Of all plans that change nothing of a held set, the cheapest is known. One that no earlier one is part of
        # leaves out a feature of each, so that it is among those with one of these held.
        heap = [] if first is None else [(first.cost, 0, first, frozenset[int]())]
        seen, told, is_proven = {frozenset[int]()}, list[Plan](), first is None or first.cost == first.bound
        while heap and len(told) < count:
            _, _, plan, held = heapq.heappop(heap)
            if not any(other.features <= plan.features for other in told):
                told.append(plan)
            for feature in sorted(plan.features) if len(told) < count else ():
                more = held | {feature}
                other = None if more in seen else self.plan(row, more, deadline)
                seen.add(more)
                if other is not None:
                    is_proven &= other.cost == other.bound
                    heapq.heappush(heap, (other.cost, len(seen), other, more))
        return Plans(tuple(told), is_proven, len(told) < count)

    def broken(self, row: Row) -> list[Relation]:
        """Return the relations that the row itself breaks, which are therefore not asked of what it becomes."""
        return [one for one in self.relations if not _keeps(self.compiled, one, row[one.left], row[one.right])]

    def options(self, i: int, value: Value) -> _Options:
        """Return what a value of a feature can become, with costs and gains."""
        if (i, value) not in self._known:
            function, action = self.functions[i], self.actions.get(i)
            here, _ = ends(function.value(value, _BITS))
            found = [] if action is None else action.options(value, self._jumps(i))
            gains = [ends(function.value(option.value, _BITS))[1] - here for option in found]
            self._known[i, value] = _Options(
                [option.value for option in found], [option.cost for option in found], gains
            )
        return self._known[i, value]

    def _jumps(self, i: int) -> Sequence[Rational] | None:
        """Return where a function that is constant elsewhere jumps; None of others, and of those in relations."""
        function = self.functions[i]
        if any(i in (one.left, one.right) for one in self.relations):
            return None
        is_flat = isinstance(function, Pieces) and not any(function.slopes)
        return function.knots if isinstance(function, Pieces) and is_flat else None

    def _items(self, row: Row, held: frozenset[int]) -> Iterator[_Single | _Linked]:
        broken = self.broken(row)
        relations = [one for one in self.relations if one not in broken]
        linked = _components([(one.left, one.right) for one in relations])
        together = {i for some in linked for i in some}
        for i in self.actions:
            if i not in together and i not in held:
                yield _Single(i, self.options(i, row[i]))
        for some in linked:
            options = [_NOTHING if i in held else self.options(i, row[i]) for i in some]
            if any(one.values for one in options):
                among = [one for one in relations if one.left in some]
                yield _Linked(self.compiled, row, some, options, among)


class _Options:
    """What a value can become: values, costs and gains, and of these the ones that are worth a look."""

    def __init__(self, values: Sequence[Value], costs: Sequence[Rational], gains: Sequence[Rational]) -> None:
        self.values, self.costs, self.gains = values, costs, gains
        self.denominator = math.lcm(*(int(cost.q) for cost in costs))
        order = sorted(range(len(values)), key=lambda k: (costs[k], -gains[k]))
        self.front: list[int] = []  # each costs more than the one before, and gains more
        best = ZERO
        for k in order:
            if gains[k] > best:
                self.front.append(k)
                best = gains[k]
        self._kept: tuple[Group, list[int]] | None = None

    def group(self, unit: int, scale: int) -> tuple[Group, list[int]]:
        """Return the front in whole numbers, costs in parts of 1 and gains rounded up, and where its options stand."""
        if scale != _ROUGH:
            return self._group(unit, scale)
        if self._kept is None:
            self._kept = self._group(self.denominator, scale)
        (costs, gains), places = self._kept
        times = unit // self.denominator
        return Group(costs if times == 1 else _array([cost * times for cost in costs.tolist()]), gains), places

    def _group(self, unit: int, scale: int) -> tuple[Group, list[int]]:
        places, gains = list[int](), [0]
        for k in self.front:
            gain = int((self.gains[k] * scale).ceil())
            if gain > gains[-1]:
                places.append(k)
                gains.append(gain)
        return Group(_array([int(self.costs[k] * unit) for k in places]), _array(gains[1:])), places


_NOTHING = _Options([], [], [])


class _Single(NamedTuple):
    """A feature that is in no relation."""

    feature: int
    options: _Options

    @property
    def denominator(self) -> int:
        return self.options.denominator

    @property
    def exact_gains(self) -> list[Rational]:
        return [self.options.gains[k] for k in self.options.front]

    def group(self, unit: int, scale: int) -> tuple[Group, list[int]]:
        return self.options.group(unit, scale)

    def changes(self, place: int) -> list[Change]:
        return [Change(self.feature, self.options.values[place], self.options.costs[place])]


class _Linked:
    """Features in relations with each other, chosen together; place `k` counts through all their choices."""

    def __init__(
        self,
        compiled: Compiled,
        row: Row,
        features: Sequence[int],
        options: Sequence[_Options],
        relations: Sequence[Relation],
    ) -> None:
        self.features, self.options = features, options
        self.sizes = [len(one.values) + 1 for one in options]  # each may also stay as it is, which comes first
        if math.prod(self.sizes) > _MOST_TOGETHER:
            names = ", ".join(compiled.model.names[i] for i in features)
            raise ActionError(
                f"{names} are in relations, and have more than {_MOST_TOGETHER:,} choices together; make their steps "
                "larger or their limits tighter"
            )
        values = [(row[i], *one.values) for i, one in zip(features, options, strict=True)]
        self.is_allowed = np.ones(self.sizes, dtype=bool)
        for one in relations:
            a, b = features.index(one.left), features.index(one.right)
            grid = _kept(compiled, one, values[a], values[b])
            shape = [self.sizes[k] if k in (a, b) else 1 for k in range(len(features))]
            self.is_allowed &= (grid if a < b else grid.T).reshape(shape)

    @property
    def denominator(self) -> int:
        return math.lcm(*(one.denominator for one in self.options))

    @property
    def exact_gains(self) -> list[Rational]:
        return [gain for one in self.options for gain in one.gains]

    def group(self, unit: int, scale: int) -> tuple[Group, list[int]]:
        costs = self._sum([[0, *(int(cost * unit) for cost in one.costs)] for one in self.options])
        gains = self._sum([[0, *(int((gain * scale).ceil()) for gain in one.gains)] for one in self.options])
        places = np.flatnonzero(self.is_allowed.ravel() & (gains > 0))
        places = places[np.argsort(-gains[places], kind="stable")]
        places = places[np.argsort(costs[places], kind="stable")]
        is_better = np.ones(len(places), dtype=bool)
        is_better[1:] = gains[places][1:] > np.maximum.accumulate(gains[places])[:-1]
        front = places[is_better]
        return Group(costs[front], gains[front]), front.tolist()

    def _sum(self, each: Sequence[Sequence[int]]) -> NDArray[Any]:
        total = _array(each[0])
        for one in each[1:]:
            total = (total[:, None] + _array(one)).ravel()
        return total

    def changes(self, place: int) -> list[Change]:
        found = []
        for k in range(len(self.sizes) - 1, -1, -1):
            place, choice = divmod(place, self.sizes[k])
            if choice:
                found.append(
                    Change(self.features[k], self.options[k].values[choice - 1], self.options[k].costs[choice - 1])
                )
        return found


def _array(numbers: Sequence[int]) -> NDArray[Any]:
    is_large = any(abs(number) >= _LARGEST for number in numbers)
    return np.array(numbers, dtype=object if is_large else np.int64)


def _components(links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the features that are linked with each other."""
    found: list[set[int]] = []
    for link in links:
        touched = [some for some in found if not some.isdisjoint(link)]
        found = [some for some in found if some not in touched] + [set(link).union(*touched)]
    return [sorted(some) for some in sorted(found, key=min)]


def _keeps(compiled: Compiled, relation: Relation, left: Value, right: Value) -> bool:
    """Whether two values are in a relation; of labels, missing cells and codes it says nothing."""
    each = ((relation.left, left), (relation.right, right))
    return not all(is_number(compiled.model.domains[i], value) for i, value in each) or relation.holds(left, right)


def _kept(compiled: Compiled, relation: Relation, lefts: Sequence[Value], rights: Sequence[Value]) -> NDArray[np.bool_]:
    """Return the same for all pairs of two lists: numbers are compared by their ranks."""
    domains = compiled.model.domains
    is_left = np.array([is_number(domains[relation.left], x) for x in lefts])
    is_right = np.array([is_number(domains[relation.right], x) for x in rights])
    numbers = sorted({x for x in (*lefts, *rights) if isinstance(x, fmpq)})
    rank: dict[Value, int] = {x: k for k, x in enumerate(numbers)}
    left, right = (np.array([rank.get(x, -1) for x in some]) for some in (lefts, rights))
    kept: NDArray[np.bool_] = relation.holds(left[:, None], right) | ~is_left[:, None] | ~is_right
    return kept


def changed(row: Row, changes: Sequence[Change]) -> Row:
    """Return a row after changes."""
    point = list(row)
    for change in changes:
        point[change.feature] = change.value
    return tuple(point)
