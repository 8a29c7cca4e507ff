"""What a free feature may do: the part of its domain around the row.

In: a row, and radii as users give them. Out: one `Domain` for each feature, each holding the row's own value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from suffice.domain import Domain, is_infinite
from suffice.errors import NumberError, RadiusError, RowError
from suffice.model import AdditiveModel, Feature
from suffice.rational import ZERO, Number, Rational, brief, rational
from suffice.rows import Row, by_feature

Unit: TypeAlias = Literal["raw", "std", "model"]
Radius: TypeAlias = Number | Mapping[str, Number] | Sequence[Number]
Radii: TypeAlias = tuple[Rational | None, ...]  # one for each feature, in the user's units; None for infinity
Region: TypeAlias = tuple[Domain, ...]


def read_radii(
    model: AdditiveModel, radius: Radius, *, unit: Unit = "raw", held: Iterable[str] = ()
) -> tuple[Rational | None, ...]:
    """Return a radius for each feature, in the user's units; None stands for infinity.

    Parameters
    ----------
    radius : number, mapping by feature name, or sequence
        One for all features, or one for each. Infinity asks about the whole domain.
    unit : {"raw", "std", "model"}
        The features' own units, their standard deviations, or the model's scaled units.
    held : names of features
        Features that cannot change at all, as if their radius were 0.
    """
    if unit not in ("raw", "std", "model"):
        raise RadiusError(f"unit must be 'raw', 'std' or 'model', got {unit!r}")
    fixed = model.indices(held)
    radii = _read_radii(model, radius)
    if unit != "raw":
        each = zip(model.features, model.domains, radii, strict=True)
        # A feature without numbers has no distances, so no unit: its radius only tells 0 from more.
        radii = [one * _unit_in_raw(feature, unit) if one and domain.spans else one for feature, domain, one in each]
    return tuple(ZERO if i in fixed else one for i, one in enumerate(radii))


def region_around(model: AdditiveModel, row: Row, radii: Sequence[Rational | None]) -> Region:
    """Return where each feature may go when it is free."""
    return tuple(domain.around(value, radius) for domain, value, radius in zip(model.domains, row, radii, strict=True))


def _read_radii(model: AdditiveModel, radius: Any) -> list[Rational | None]:
    if isinstance(radius, str) or not hasattr(radius, "__len__") or getattr(radius, "ndim", 1) == 0:
        return [read_radius("the radius", radius)] * len(model.features)
    try:
        given = by_feature(model.names, radius, what="the radius")
    except RowError as error:
        raise RadiusError(f"{error}; 0 holds a feature fixed") from None
    return [read_radius(f"the radius of {name!r}", one) for name, one in zip(model.names, given, strict=True)]


def read_radius(what: str, given: Any) -> Rational | None:
    """Return one radius; None stands for infinity."""
    if is_infinite(given, 1) or given == "inf":
        return None
    try:
        radius = rational(given)
    except NumberError as error:
        raise RadiusError(f"{what}: {error}; give a number from 0 up, or math.inf") from None
    if radius < 0:
        raise RadiusError(f"{what} is {brief(given)}; it cannot be negative")
    return radius


def _unit_in_raw(feature: Feature, unit: Unit) -> Rational:
    if unit == "model":
        return abs(feature.scale)
    if feature.deviation is None:
        raise RadiusError(
            f"feature {feature.name!r} has no standard deviation; give it one (Feature(..., deviation=...)), "
            "or a radius in unit 'raw' or 'model'"
        )
    return feature.deviation
