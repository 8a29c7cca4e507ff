"""What a feature can be, learned from the values that it had.

In: a domain, and numbers of a column. Out: a domain that speaks of values that exist. The rules, which
`docs/domains.md` tells users:

- numbers that were all whole stay whole;
- an end at which at least five values and one in a hundred stand is a limit (0 or 100 percent, a capped amount);
- any other end is where the sample happened to stop: it is moved outward by `SLACK` of the observed range, but not past
  0, nor to 0 where all values were whole and none was 0;
- an end that the domain has already stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import NamedTuple

from flint import fmpq

from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational

SLACK = fmpq(1, 4)  # of the observed range
LIMIT_COUNT, LIMIT_SHARE = 5, 100  # so many values, and one in so many, make an end a limit


class Observed(NamedTuple):
    """What the numbers of a column were."""

    low: Rational
    high: Rational
    is_whole: bool
    has_low_limit: bool
    has_high_limit: bool

    @classmethod
    def of(cls, numbers: Sequence[Rational]) -> Observed:
        """Return what there is to say of one or more numbers."""
        low, high = min(numbers), max(numbers)
        limits = (is_limit(numbers.count(end), len(numbers)) for end in (low, high))
        return cls(low, high, all(number.q == 1 for number in numbers), *limits)

    def ends(self) -> tuple[Rational, Rational]:
        """Return from where to where numbers like these can be."""
        slack = SLACK * (self.high - self.low)
        low = self.low if self.has_low_limit else self._up_to_zero(self.low, self.low - slack)
        high = self.high if self.has_high_limit else self._up_to_zero(self.high, self.high + slack)
        return low, high

    def _up_to_zero(self, seen: Rational, end: Rational) -> Rational:
        """Return an end that was moved outward, but on the side of 0 on which all numbers were."""
        nearest = ONE if self.is_whole and seen else ZERO
        if self.low >= 0:
            return max(end, min(nearest, seen))
        return min(end, max(-nearest, seen)) if self.high <= 0 else end


def is_limit(count: int, total: int) -> bool:
    """Whether an end is a limit at which so many of all values stand."""
    return count >= LIMIT_COUNT and count * LIMIT_SHARE >= total


def narrowed(domain: Domain, observed: Observed) -> Domain:
    """Return a domain whose numbers have the ends that were observed, where it has none of its own.

    A domain that has both ends, or a column with one value only, of which nothing is learned, stays as it is.
    """
    lows, highs = [span.low for span in domain.spans], [span.high for span in domain.spans]
    if (None not in lows and None not in highs) or observed.low == observed.high:
        return domain
    first, last = observed.ends()
    low, high = first if None in lows else None, last if None in highs else None
    spans = limited(domain.spans, low, high, is_whole=observed.is_whole)
    return replace(domain, spans=spans)


def limited(spans: Iterable[Span], low: Rational | None, high: Rational | None, *, is_whole: bool) -> tuple[Span, ...]:
    """Return the numbers from `low` to `high` (None: no such end) of some spans, or the whole ones among these."""
    cuts = (_cut(span, low, high, is_whole=is_whole) for span in spans)
    return tuple(span for span in cuts if span is not None)


def reals_without(codes: Iterable[float]) -> Domain:
    """Return the real line up to the floats next to each code, so that no number is a code."""
    ends = [-math.inf]
    for code in sorted(codes):
        ends += [math.nextafter(code, -math.inf), math.nextafter(code, math.inf)]
    ends.append(math.inf)
    pairs = zip(ends[::2], ends[1::2], strict=True)
    # Two codes may be neighbours among the floats, or the last float of all: then nothing lies between.
    spans = [Domain.interval(low, high) for low, high in pairs if low <= high and low < math.inf and high > -math.inf]
    return reduce(Domain.__or__, spans)


def _cut(span: Span, low: Rational | None, high: Rational | None, *, is_whole: bool) -> Span | None:
    """Return the part of a span from `low` to `high`, of whole numbers if asked for; None where it is empty."""
    lows = [end for end in (span.low, low) if end is not None]
    highs = [end for end in (span.high, high) if end is not None]
    first, last, is_whole = max(lows, default=None), min(highs, default=None), is_whole or span.is_integers
    if is_whole:
        first = None if first is None else fmpq(first.ceil())
        last = None if last is None else fmpq(last.floor())
    return Span(first, last, is_whole) if first is None or last is None or first <= last else None
