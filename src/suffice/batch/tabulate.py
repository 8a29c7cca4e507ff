"""The look-up tables of features: in twofold numbers where that will do, in exact arithmetic throughout elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.batch.lookup import FeatureTable, exact_table
from suffice.batch.quick_tables import FeatureAsked, quick_tables


def tabulate(features: Sequence[FeatureAsked], terms: int) -> list[FeatureTable]:
    """Return the table of each feature; see `exact_table`."""
    return [
        exact_table(one.domain, one.radius, values=one.values, drops=one.drops, terms=terms) if quick is None else quick
        for one, quick in zip(features, quick_tables(features, terms), strict=True)
    ]
