"""What every way to look at an explanation tells of it: the strongest free features, and what would break the claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from flint import fmpq

from suffice.domain import show
from suffice.errors import ClaimError
from suffice.labels import Label, Value
from suffice.rational import nearest_float, rational

if TYPE_CHECKING:
    from suffice.results import Explanation


class Move(NamedTuple):
    """A feature that changes: its name, the row's value and the new one, in full."""

    name: str
    old: str
    new: str


def ranked(why: Explanation) -> list[str]:
    """Return all features: the kept ones, then the free ones, each with the largest drop first."""
    drops, kept = why.drops, set(why.features)
    return [*why.features, *sorted((name for name in drops if name not in kept), key=drops.__getitem__, reverse=True)]


def strongest_free(why: Explanation, most: int = 3) -> list[str]:
    """Return the free features that can lower the margin most, those that cannot at all left out."""
    drops = why.drops
    return [name for name in ranked(why)[why.size :] if drops[name]][:most]


def breaks(why: Explanation, without: str) -> list[Move]:
    """Return what breaks the claim once a kept feature is free too, that feature first.

    Nothing, where the set is not known to be smallest and suffices without this feature as well.
    """
    try:
        return moves(why, without, why.counterexample(without))
    except ClaimError:
        return []


def moves(why: Explanation, first: str, point: Mapping[str, Fraction | Label]) -> list[Move]:
    """Return the features in which an input differs from the row, one of them first."""
    pairs = zip(why.model.names, why.row, strict=True)
    changed = [(name, old, _exact(point[name])) for name, old in pairs]
    found = [Move(name, show(old), in_full(new)) for name, old, new in changed if old != new]
    return sorted(found, key=lambda move: move.name != first)


def in_full(value: Value) -> str:
    """Return a value with all digits of its float; one that is no float is marked as rounded."""
    if not isinstance(value, fmpq):
        return str(value)
    near = nearest_float(value)
    if not math.isfinite(near):
        return f"about {show(value)}"
    text = repr(near).removesuffix(".0")
    return text if fmpq(*near.as_integer_ratio()) == value else f"about {text}"


def _exact(value: Value | Fraction) -> Value:
    return rational(value) if isinstance(value, Fraction) else value
