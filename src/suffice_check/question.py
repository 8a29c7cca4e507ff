"""What was asked, as a certificate writes it, and what that means for a model: radii, items and costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.claims import Claim, read_claim
from suffice_check.domain import Domain, Span
from suffice_check.model import Feature, Model
from suffice_check.ordered import ZERO, Number
from suffice_check.reading import RejectedError, Value, fields, number, one_of, texts, value, whole
from suffice_check.tree import Choices

_LARGEST_COST = 10**12  # in the common unit of all costs
Reach = Fraction | list[Value] | None  # how far a feature may move, or the values it may take; None: the whole domain


class Question(NamedTuple):
    """The question, features and groups by name."""

    radius: Reach | dict[str, Reach]
    unit: str
    categories: str
    immutable: list[str]
    claim: Claim
    fix: list[str]
    free: list[str]
    cost: dict[str, Fraction]
    groups: dict[str, list[str]]
    max_changed: int | None
    norm: str
    arithmetic: str

    def given(self) -> set[str]:
        """Return which options are not left at their defaults, of those that not every kind of result takes."""
        usual = self._replace(fix=[], free=[], cost={}, groups={}, max_changed=None, norm="inf", arithmetic="exact")
        return {name for name, one, other in zip(self._fields, self, usual, strict=True) if one != other}

    def reach(self, name: str) -> Reach:
        """Return how far a feature may move if it is not immutable, counted in the unit, or where it may go."""
        return self.radius[name] if isinstance(self.radius, dict) else self.radius


def read_question(document: Any) -> Question:
    """Return the question of a certificate."""
    if isinstance(document, dict):
        document = {"categories": "free", **document}
    read = fields(document, *Question._fields)
    radius, unit, categories, immutable, claim, fix, free, cost, groups, most, norm, kind = read
    return Question(
        {name: _reach(one) for name, one in radius.items()} if isinstance(radius, dict) else _reach(radius),
        one_of(unit, "std", "raw", "model"),
        one_of(categories, "free", "step"),
        texts(immutable),
        read_claim(claim),
        texts(fix),
        texts(free),
        {name: number(one) for name, one in cost.items()},
        {name: texts(group) for name, group in groups.items()},
        None if most is None else whole(most, 10**4000, start=1),
        one_of(norm, "inf", "1", "2"),
        one_of(kind, "exact", "float32", "float64"),
    )


def _reach(document: Any) -> Reach:
    if isinstance(document, list):
        return [value(one) for one in document]
    return None if document == "inf" else number(document)


def indices(names: Iterable[str], model: Model, step: str) -> list[int]:
    """Return which features are named, each once."""
    place, found = {feature.name: i for i, feature in enumerate(model.features)}, []
    for name in names:
        if name not in place:
            raise RejectedError(step, f"{name!r} is not a feature, or is named twice")
        found.append(place.pop(name))
    return found


def as_asked(question: Question, model: Model) -> Model:
    """Return the model with the distances that a question gives categories without an order: a radius of 1, or none."""
    if question.categories == "free":
        return model
    found = []
    for feature in model.features:
        if feature.domain.categories and not feature.domain.is_ordered:
            # beside numbers a radius of 1 is as much for categories as it is for these
            step = (_unit(question, feature) if feature.domain.spans else None) or Fraction(1)
            feature = feature._replace(domain=feature.domain._replace(step=step))
        found.append(feature)
    return model._replace(features=found)


def _unit(question: Question, feature: Feature) -> Fraction | None:
    """Return what a radius of 1 is in a feature's own units, of which one is a rank where categories are ordered."""
    if question.unit == "std":
        return feature.deviation
    return abs(feature.shape.scale) if question.unit == "model" and feature.domain.spans else Fraction(1)


def radii(question: Question, model: Model) -> list[Reach]:
    """Return how far each feature may move in the user's own units; None: over its whole domain."""
    immutable, found = {*indices(question.immutable, model, "immutable")}, []
    if isinstance(question.radius, dict) and len(indices(question.radius, model, "radius")) != len(model.features):
        raise RejectedError("radius", "every feature needs one")
    for i, feature in enumerate(model.features):
        radius = question.reach(feature.name)
        if isinstance(radius, Fraction) and radius < 0:
            raise RejectedError("radius", f"that of {feature.name!r} is negative")
        if i in immutable:
            radius = Fraction(0)
        elif radius and isinstance(radius, Fraction) and (feature.domain.spans or feature.domain.is_ordered):
            # other categories have no unit: their radius counts steps, or only tells 0 from more
            unit = _unit(question, feature)
            if unit is None:
                raise RejectedError("radius", f"the model has no standard deviation for {feature.name!r}")
            radius *= unit
        found.append(radius)
    return found


def regions(model: Model, row: list[Value], radii: list[Reach], at: Number | str, still: set[int]) -> list[Domain]:
    """Return where each feature may go when it is free, at a multiple of its radius.

    The multiple may also be "finite", for all finite ones together, or "inf", for the whole domain, which only features
    that stay as they are do not have.
    """
    found = []
    for i, (feature, x, radius) in enumerate(zip(model.features, row, radii, strict=True)):
        if isinstance(radius, list):
            if x not in radius or not all(map(feature.domain.holds, radius)):
                raise RejectedError("radius", f"{feature.name!r} leaves out the row or its domain")
            found.append(_among(feature.domain, radius))
        elif at == "inf" or radius is None:
            found.append(feature.domain.around(x, ZERO) if i in still else feature.domain)
        elif not isinstance(at, Number):
            found.append(feature.domain.around(x, None if radius else ZERO))
        else:
            found.append(feature.domain.around(x, Number(radius * at.value, at.edge if radius else 0)))
    return found


def _among(domain: Domain, values: list[Value]) -> Domain:
    """Return some values of a domain."""
    categories, codes = ([x for x in values if x in known] for known in (domain.categories, domain.codes))
    numbers = [x for x in values if isinstance(x, Number) and x not in (*categories, *codes)]
    return Domain([Span(x, x, is_integers=False) for x in numbers], categories, codes)


def choices(question: Question, model: Model) -> Choices:
    """Return what a set of features may be made of: items in the order of their first features, and their costs."""
    indices([name for members in question.groups.values() for name in members], model, "groups")
    item = {feature.name: feature.name for feature in model.features}
    for group, members in question.groups.items():
        if not members or (group in item and members != [group]):
            raise RejectedError("groups", f"{group!r} is empty, or has the name of a feature")
        item |= dict.fromkeys(members, group)
    items: dict[str, list[int]] = {}
    for i, name in enumerate(item.values()):
        items.setdefault(name, []).append(i)
    item_of = {i: k for k, item in enumerate(items.values()) for i in item}
    fix, free = ({item_of[i] for i in indices(part, model, "choices")} for part in (question.fix, question.free))
    if fix & free:
        raise RejectedError("choices", "an item must be both fixed and free")
    for name, cost in question.cost.items():
        if name not in items or cost <= 0:
            raise RejectedError("cost", f"{name!r} is not a feature or group with a cost, or its cost is not above 0")
    costs = [question.cost.get(name, Fraction(1)) for name in items]
    unit = _common(costs)
    return Choices(list(items.values()), [int(cost / unit) for cost in costs], fix, free, unit)


def _common(costs: list[Fraction]) -> Fraction:
    """Return the largest number of which all costs are multiples."""
    unit, largest = costs[0], max(costs)
    for p, q in (cost.as_integer_ratio() for cost in costs):
        unit = Fraction(math.gcd(unit.numerator * q, p * unit.denominator), unit.denominator * q)
        if largest > _LARGEST_COST * unit:
            raise RejectedError("cost", f"the costs have no common unit above 1/{_LARGEST_COST} of the largest")
    return unit
