"""Ranges of values of a feature: what they hold, and what they would have to hold if they were any wider."""

from __future__ import annotations

from suffice_check.certificate import Range
from suffice_check.domain import Domain
from suffice_check.ordered import Number
from suffice_check.reading import RejectedError, Value


def in_range(domain: Domain, one: Range) -> Domain:
    """Return the values of a domain in a range: numbers of its spans, some categories, or one code."""
    if one.values is not None:
        if not all(x in domain.categories for x in one.values) and not (
            len(one.values) == 1 and one.values[0] in domain.codes
        ):
            raise RejectedError("ranges", "one has values that are not categories of its feature")
        return Domain([], one.values, [])
    if (one.low is not None and one.low.edge < 0) or (one.high is not None and one.high.edge > 0):
        raise RejectedError("ranges", "an end is on the wrong side")
    return domain.numbers(one.low, one.high)


def just_beyond(domain: Domain, one: Range) -> list[Value]:
    """Return what a range would have to hold if it were any wider: the next number on each side, or each label."""
    if one.values is not None:
        is_category = all(x in domain.categories for x in one.values)
        return [x for x in domain.categories if is_category and x not in one.values]
    found: list[Value] = []
    if one.low is not None:
        below = domain.numbers(None, Number(one.low.value, one.low.edge - 1)).spans
        found += sorted(span.high for span in below if span.high is not None)[-1:]
    if one.high is not None:
        above = domain.numbers(Number(one.high.value, one.high.edge + 1), None).spans
        found += sorted(span.low for span in above if span.low is not None)[:1]
    return found
