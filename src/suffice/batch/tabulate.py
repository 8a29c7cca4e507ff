"""The look-up table of one feature: in twofold numbers where that will do, in exact arithmetic throughout elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.batch.lookup import FeatureTable, exact_table
from suffice.batch.quick_tables import quick_table
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational
from suffice.shapes.pieces import Pieces


def tabulate(
    domain: Domain,
    radius: Rational | None,
    *,
    values: Sequence[Pieces] = (),
    drops: Sequence[Pieces] = (),
    terms: int,
) -> FeatureTable:
    """Return the table of one feature; the arguments are those of `exact_table`."""
    quick = quick_table(domain, radius, values, drops, terms)
    return exact_table(domain, radius, values=values, drops=drops, terms=terms) if quick is None else quick
