"""A query as verifiers of networks can be asked it: about networks of float weights, each on one interval.

In: any query. Out: one about fewer features that holds if and only if the first does, and the way back for its points.
Two steps, both exact:

- A feature that can take finitely many values only (categories, special codes, integers within reach) is put at the
  lowest of them, found by looking at each: drops add up, so that the worst case of a sum is the worst of its parts.
- All is multiplied by a whole number where factors are no floats, as the 1/3 of an ensemble's mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from suffice.numbers.exact import ZERO
from suffice.numbers.values import Value
from suffice.paper.instance import Query
from suffice.paper.verifiers.propagation import lowest


@dataclass(frozen=True, eq=False)
class Reduced:
    """A query about intervals alone, and the values at which other features of the first are lowest."""

    query: Query
    listed: tuple[Value | None, ...]  # for each part of the first query; None where it is still asked about

    def restored(self, point: Sequence[Value]) -> tuple[Value, ...]:
        """Return a point of the first query from one of this."""
        rest = iter(point)
        return tuple(next(rest) if value is None else value for value in self.listed)


def reduced(query: Query) -> Reduced:
    """Return the query without the features whose values can be listed, in whole multiples where needed."""
    worst = [None if part.values is None else lowest(part) for part in query.parts]
    constant = query.constant + sum((one.value for one in worst if one is not None), ZERO)
    open_parts = [part for part, one in zip(query.parts, worst, strict=True) if one is None]
    multiple = math.lcm(*(part.component.multiplier for part in open_parts))
    parts = tuple(part.times(multiple) for part in open_parts)
    places = tuple(None if one is None else one.at for one in worst)
    return Reduced(Query(parts, constant * multiple, query.is_strict), places)
