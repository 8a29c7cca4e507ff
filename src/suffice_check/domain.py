"""The values that a feature can take: numbers in spans, categories, codes; and those within a radius of one of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.ordered import ZERO, Number, ceil, floor
from suffice_check.reading import Value, fields, has_repeats, items, number, value


class Span(NamedTuple):
    """The numbers from `low` to `high` (None: without end), or only the integers among them."""

    low: Number | None
    high: Number | None
    is_integers: bool

    def cut(self, low: Number | None, high: Number | None) -> Span | None:
        """Return the part between two ends, or nothing where that is empty."""
        start = self.low if low is None else low if self.low is None else max(low, self.low)
        end = self.high if high is None else high if self.high is None else min(high, self.high)
        if self.is_integers:
            start = None if start is None else Number(Fraction(ceil(start)))
            end = None if end is None else Number(Fraction(floor(end)))
        return Span(start, end, self.is_integers) if start is None or end is None or start <= end else None

    def holds(self, x: Number) -> bool:
        """Whether a number is in the span."""
        is_above, is_below = self.low is None or self.low <= x, self.high is None or x <= self.high
        return is_above and is_below and not (self.is_integers and (x.edge or x.value.denominator != 1))


class Domain(NamedTuple):
    """The values a feature can take, or those in reach of one of them."""

    spans: list[Span]
    categories: list[Value]
    codes: list[Value]
    is_ordered: bool = False  # categories are as far apart as their places in the list
    step: Fraction | None = None  # how far any two others are apart; None: each is in reach at any radius above 0

    def holds(self, x: Value) -> bool:
        """Whether a value is in the domain."""
        listed = x in self.categories or x in self.codes
        return listed or (isinstance(x, Number) and any(span.holds(x) for span in self.spans))

    def numbers(self, low: Number | None, high: Number | None) -> Domain:
        """Return the numbers of the spans between two ends."""
        return Domain([cut for span in self.spans if (cut := span.cut(low, high)) is not None], [], [])

    def covers(self, low: Number | None, high: Number | None) -> bool:
        """Whether every number between two ends is one of the domain."""
        return any(span.cut(low, high) == Span(low, high, is_integers=False) for span in self.spans)

    def around(self, x: Value, radius: Number | None) -> Domain:
        """Return what is within a radius of a value (None: within some finite one): the region of a free feature."""
        if x in self.codes:
            return Domain([], [], [x])
        if x in self.categories:
            return Domain([], self._categories_around(x, radius), [])
        if radius is None or not isinstance(x, Number):
            return self.numbers(None, None)
        return self.numbers(Number(x.value - radius.value, -radius.edge), Number(x.value + radius.value, radius.edge))

    def _categories_around(self, x: Value, radius: Number | None) -> list[Value]:
        if radius is None:
            return self.categories
        if self.is_ordered:
            at = self.categories.index(x)
            return [y for k, y in enumerate(self.categories) if Number(Fraction(abs(k - at))) <= radius]
        is_free = radius != ZERO if self.step is None else Number(self.step) <= radius
        return self.categories if is_free else [x]


def read_domain(document: Any) -> Domain:
    """Return the domain of a feature of a model file."""
    if isinstance(document, dict):
        document = {"ordered": False, **document}
    spans, *lists, is_ordered = fields(document, "spans", "categories", "codes", "ordered")
    categories, codes = ([value(v) for v in items(part)] for part in lists)
    read = Domain([_span(*items(span)) for span in items(spans)], categories, codes, is_ordered)
    if type(is_ordered) is not bool or (is_ordered and (read.spans or not categories)):
        raise ValueError("a domain is ordered or not, and one that is has categories and no numbers beside them")
    listed = [*categories, *codes]
    if has_repeats(listed):
        raise ValueError("a category or code is listed twice")
    if any(isinstance(v, Number) and span.holds(v) for v in listed for span in read.spans):
        raise ValueError("a value is both a number and a category or code")
    return read


def _span(low: Any, high: Any, is_integers: Any) -> Span:
    first, last = (None if end is None else Number(number(end)) for end in (low, high))
    known = [end for end in (first, last) if end is not None]
    if type(is_integers) is not bool or known != sorted(known):
        raise ValueError("a span needs a low end, a high end, and whether it holds integers only")
    if is_integers and any(end.value.denominator != 1 for end in known):
        raise ValueError("a span of integers has ends that are not integers")
    return Span(first, last, is_integers)
