"""What a free feature may do: the part of its domain around the row.

In: a row, and radii as users give them. Out: one `Domain` for each feature, each holding the row's own value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from suffice.errors import NumberError, RadiusError, RowError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain, is_infinite
from suffice.numbers.exact import ONE, Number, Rational, brief, rational
from suffice.question.row import Row, by_feature

Unit: TypeAlias = Literal["raw", "std", "model"]
UNITS: tuple[Unit, ...] = ("raw", "std", "model")
Categories: TypeAlias = Literal["free", "step"]
CATEGORIES: tuple[Categories, ...] = ("free", "step")
Radius: TypeAlias = Number | Mapping[str, Number] | Sequence[Number]
Radii: TypeAlias = tuple[Rational | None, ...]  # one for each feature, in the user's units; None for infinity
Region: TypeAlias = tuple[Domain, ...]


def read_reach(model: AdditiveModel, radius: Radius) -> Radii:
    """Return a radius for each feature, in whatever unit it was given; None stands for infinity.

    Parameters
    ----------
    radius : number, mapping by feature name, or sequence
        One for all features, or one for each. Infinity asks about the whole domain.
    """
    if isinstance(radius, str) or not hasattr(radius, "__len__") or getattr(radius, "ndim", 1) == 0:
        return (read_radius("the radius", radius),) * len(model.features)
    try:
        given = by_feature(model.names, radius, what="the radius")
    except RowError as error:
        raise RadiusError(f"{error}; a radius of 0 keeps a feature at its value") from None
    return tuple(read_radius(f"the radius of {name!r}", one) for name, one in zip(model.names, given, strict=True))


def in_own_units(model: AdditiveModel, reach: Radii, unit: Unit) -> Radii:
    """Return radii in the features' own units.

    Raises
    ------
    RadiusError
        If the unit is not known, or a feature has no standard deviation.
    """
    if unit not in UNITS:
        raise RadiusError(f"unit must be one of {', '.join(map(repr, UNITS))}, got {brief(unit)}")
    if unit == "raw":
        return reach
    each = zip(model.features, model.domains, reach, strict=True)
    # Categories without an order have no deviation: their radius counts steps, or only tells 0 from more.
    return tuple(
        one * _unit_in_raw(feature, domain, unit) if one and (domain.spans or domain.is_ordered) else one
        for feature, domain, one in each
    )


def domains_as_asked(model: AdditiveModel, categories: Categories, unit: Unit) -> tuple[Domain, ...]:
    """Return the domains with the distances that a question gives categories without an order.

    With "free" they have none, with "step" any two are a radius of 1 apart, whatever the unit.
    """
    if categories == "free":
        return model.domains
    found = []
    for feature, domain in zip(model.features, model.domains, strict=True):
        is_nominal = bool(domain.categories_) and not domain.is_ordered
        # Beside numbers a radius of 1 is as much for categories as it is for these.
        is_counted = unit == "raw" or not domain.spans or (unit == "std" and not feature.deviation)
        step = ONE if is_counted else _unit_in_raw(feature, domain, unit)
        found.append(replace(domain, step=step) if is_nominal else domain)
    return tuple(found)


def region_around(domains: Sequence[Domain], row: Row, radii: Sequence[Rational | None]) -> Region:
    """Return where each feature may go when it is free."""
    return tuple(domain.around(value, radius) for domain, value, radius in zip(domains, row, radii, strict=True))


def read_radius(what: str, given: Any) -> Rational | None:
    """Return one radius; None stands for infinity."""
    if is_infinite(given, 1) or given == "inf":
        return None
    try:
        radius = rational(given)
    except NumberError as error:
        raise RadiusError(f"{what} must be 0 or more, such as 0.5, or inf: {error}") from None
    if radius < 0:
        raise RadiusError(f"{what} is {brief(given)}; it cannot be negative")
    return radius


def _unit_in_raw(feature: Feature, domain: Domain, unit: Unit) -> Rational:
    if unit == "model":
        return abs(feature.scale) if domain.spans else ONE  # the model sees labels as they are
    if feature.deviation is None:
        raise RadiusError(
            f"the radius is in standard deviations, but the model has none for {feature.name!r}; give one "
            "(Feature(..., deviation=...) or from_model(..., reference=rows)), or use unit 'raw' or 'model'"
        )
    return feature.deviation
