"""What a search may choose among: features to fix or to free, alone or tied together, and what choosing one costs.

In: preferences by feature name, as users write them. Out: `Choices`, by index.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from flint import fmpq

from suffice.errors import FeatureNameError, NumberError, PreferenceError
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import ONE, Number, Rational, brief, rational, to_fraction
from suffice.question.documents import Json

_LARGEST_COST = 10**12  # in the common unit of all costs: a float counts them without error

Groups: TypeAlias = Mapping[str, Iterable[str]] | Iterable[Iterable[str]]


@dataclass(frozen=True, slots=True)
class Choices:
    """Items to fix or free; an item is one feature, or a group of features that are tied together.

    Parameters
    ----------
    items : tuple of tuples of int
        The features of each item; every feature is in one item. Items are in the order of their first features.
    names : tuple of str
        What each item is called: its feature, or its group.
    costs : tuple of int
        What choosing each item costs, from 1 up, counted in `unit`.
    fix, free : frozenset of int
        Items that are fixed, or free, in any case.
    unit : Rational
        What a cost of 1 stands for.
    """

    items: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    costs: tuple[int, ...]
    fix: frozenset[int] = frozenset()
    free: frozenset[int] = frozenset()
    unit: Rational = ONE

    @classmethod
    def single(cls, count: int) -> Choices:
        """Return the choice among so many features, each for itself, none preferred."""
        return cls(tuple((i,) for i in range(count)), tuple(f"x{i}" for i in range(count)), (1,) * count)

    @property
    def is_plain(self) -> bool:
        """Whether every feature is for itself, costs the same, and may be fixed or freed."""
        return not (self.fix or self.free) and self.is_counting and not self.has_groups

    @property
    def is_counting(self) -> bool:
        """Whether all items cost the same."""
        return set(self.costs) <= {1}

    @property
    def has_groups(self) -> bool:
        """Whether features are tied together."""
        return any(len(item) > 1 for item in self.items)

    def features(self, items: Iterable[int]) -> list[int]:
        """Return the features of some items."""
        return [feature for item in items for feature in self.items[item]]

    def cost(self, features: Iterable[int]) -> int:
        """Return what choosing some features costs, each item with them in whole."""
        chosen = set(features)
        return sum(cost for item, cost in zip(self.items, self.costs, strict=True) if chosen.intersection(item))

    def document(self, features: Sequence[str]) -> Json:
        """Return the preferences as they are written down, by the names of all features."""
        each = list(zip(self.names, self.items, strict=True))
        return {
            "fix": [features[i] for i in sorted(self.features(self.fix))],
            "free": [features[i] for i in sorted(self.features(self.free))],
            "cost": {
                name: str(self.unit * cost)
                for name, cost in zip(self.names, self.costs, strict=True)
                if self.unit * cost != 1
            },
            "groups": {
                name: [features[i] for i in item] for name, item in each if len(item) > 1 or name != features[item[0]]
            },
        }


def read_choices(
    model: AdditiveModel,
    *,
    fix: Iterable[str] = (),
    free: Iterable[str] = (),
    cost: Mapping[str, Number] | None = None,
    groups: Groups = (),
) -> Choices:
    """Return the choices that a user's preferences leave.

    Parameters
    ----------
    fix, free : names of features
        Features that are fixed, or free, in any case. A feature of a group takes its group along.
    cost : mapping of names to numbers above 0
        What choosing a feature, or a group, costs; 1 for those not named.
    groups : mapping of names to lists of features, or lists of features
        Features tied together: all of a group are chosen, or none; a group costs as much as one feature.

    Raises
    ------
    PreferenceError
        If the preferences contradict each other, a group is empty, or a cost is not above 0.
    FeatureNameError
        If a name is not that of a feature.
    """
    named = _read_groups(model, groups)
    member = {feature: name for name, features in named.items() for feature in features}
    items: list[tuple[int, ...]] = []
    names: list[str] = []
    place: dict[str, int] = {}
    for feature, own in enumerate(model.names):
        name = member.get(feature, own)
        if name not in place:
            place[name] = len(items)
            items.append(named.get(name, (feature,)) if feature in member else (feature,))
            names.append(name)
    item_of = {feature: k for k, item in enumerate(items) for feature in item}
    fixed = frozenset(item_of[i] for i in model.indices(fix))
    freed = frozenset(item_of[i] for i in model.indices(free))
    for k in sorted(fixed & freed):
        what = f"{names[k]!r}" if len(items[k]) == 1 else f"the group {names[k]!r}"
        raise PreferenceError(f"{what} is named both in fix and in free; remove it from one of them")
    costs, unit = _read_costs(names, member, model.names, {} if cost is None else cost)
    return Choices(tuple(items), tuple(names), costs, fixed, freed, unit)


def _read_groups(model: AdditiveModel, groups: Groups) -> dict[str, tuple[int, ...]]:
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise PreferenceError(f"groups must be lists of features, or a mapping of names to lists, got {brief(groups)}")
    pairs: list[tuple[Any, Any]] = list(groups.items() if isinstance(groups, Mapping) else ((None, g) for g in groups))
    named: dict[str, tuple[int, ...]] = {}
    seen: dict[int, str] = {}
    for name, features in pairs:
        members = tuple(sorted(set(model.indices(features))))
        label = str(name) if name is not None else " + ".join(model.names[i] for i in members)
        if not members:
            raise PreferenceError(f"the group {label!r} is empty; name its features or leave it out")
        if label in named or (label in model.names and (label,) != tuple(model.names[i] for i in members)):
            raise PreferenceError(f"the name {label!r} is taken; call the group something else")
        for i in members:
            if i in seen:
                raise PreferenceError(
                    f"{model.names[i]!r} is in the groups {seen[i]!r} and {label!r}; a feature can be in one group only"
                )
            seen[i] = label
        named[label] = members
    return named


def _read_costs(
    names: Sequence[str], member: Mapping[int, str], features: Sequence[str], given: Mapping[str, Number]
) -> tuple[tuple[int, ...], Rational]:
    """Return the costs as whole numbers without a common factor, and the unit that they count."""
    if not isinstance(given, Mapping):
        raise PreferenceError(f"cost must be a mapping of feature names to numbers, got {brief(given)}")
    for name in given:
        if name not in names:
            inside = [member[i] for i, own in enumerate(features) if own == name and i in member]
            if not inside:
                raise FeatureNameError(name, names, what="feature or group")
            raise PreferenceError(f"{name!r} is in the group {inside[0]!r}; give the cost of the group instead")
    exact = [_read_cost(name, given[name]) if name in given else ONE for name in names]
    below = math.lcm(*(int(cost.q) for cost in exact))
    whole = [int(cost.p) * (below // int(cost.q)) for cost in exact]
    common = math.gcd(*whole)
    if max(whole) // common > _LARGEST_COST:
        raise PreferenceError(f"the costs have no common unit above 1/{_LARGEST_COST:,} of the largest; round them")
    return tuple(cost // common for cost in whole), fmpq(common, below)


def _read_cost(name: str, given: Number) -> Rational:
    try:
        cost = rational(given)
    except NumberError as error:
        raise PreferenceError(f"the cost of {name!r}: {error}") from None
    if cost <= 0:
        raise PreferenceError(
            f"the cost of {name!r} is {brief(given)}; it must be above 0 (to fix a feature always, use fix=)"
        )
    return cost


def cost_of(units: int, unit: Rational) -> int | Fraction:
    """Return a cost as users see it: a whole number where it is one."""
    cost = unit * units
    return int(cost.p) if cost.q == 1 else to_fraction(cost)
