"""Cells of smooth features, found with the checker's own arithmetic: what certificates about smooth shapes rest on.

In: a case, and how far features can lower the claim's score at most. Out: numbers that cut regions into cells so small
that what the checker computes over them is nearly as close; falls and drops are those that the checker will find.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from flint import fmpq

from suffice.core.case import Case
from suffice.core.constraint import Drop
from suffice.errors import CertificateError
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational, rational, to_fraction
from suffice.numbers.surd import lower
from suffice.numbers.values import Missing, Value
from suffice.question.region import Region

if TYPE_CHECKING:
    from suffice_check import domain as checker_domain
    from suffice_check.cells import SmoothPart
    from suffice_check.core import Part
    from suffice_check.reading import Value as CheckerValue

_MOST_CELLS = 2_000  # of one feature


class Seen:
    """The row of a case as the checker sees it; cells that were found are kept, also when numbers are refined."""

    def __init__(self, case: Case) -> None:
        self.row, self.cuts = case.row, [set[Fraction]() for _ in case.row]
        self._content, self._factors = case.compiled.content, [one.factors for one in case.inequalities]

    @classmethod
    def of(cls, case: Case) -> Seen:
        """Return that of a case, made once."""
        found: Seen = case._known.setdefault((), None) or cls(case)
        case._known[()] = found
        return found

    @cached_property
    def parts(self) -> list[Part]:
        """The features as the checker has them."""
        from suffice_check.cells import part_of
        from suffice_check.claims import Inequality
        from suffice_check.model import read_model
        from suffice_check.reading import UnreadableError

        try:
            model = read_model(self._content)
        except UnreadableError as error:
            raise CertificateError(f"the checker cannot deal with this model: {error}") from None
        inequalities = [Inequality(tuple(map(int, one)), Fraction(0), False) for one in self._factors]
        each = zip(model.features, self.row, strict=True)
        return [part_of(one, one.ends(_value(x)), inequalities, len(self.row), ()) for one, x in each]

    def fall(self, c: int, i: int, at: Value, side: int = 0) -> tuple[Rational, Rational]:
        """Return by how much an inequality falls at a place, as the checker counts it."""
        found = self.parts[i].fall(c, _value(at, side))
        return rational(found.value), rational(found.edge)

    def drops(self, i: int, reach: Domain) -> list[tuple[Rational, Rational] | None]:
        """Return how far a feature lowers each inequality over a region at most, by the cells that were found."""
        part = self.parts[i]
        part.cuts = sorted(self.cuts[i])  # type: ignore[attr-defined]
        found = part.drops(_domain(reach))
        return [None if one is None else (rational(one.value), rational(one.edge)) for one in found]

    def cover(
        self, region: Region, features: Sequence[int], drops: Sequence[Sequence[Drop]], shares: Sequence[Rational]
    ) -> None:
        """Cut the regions of features into cells over which no bound is off by more than a share of each inequality."""
        from suffice_check.cells import SmoothPart

        for i in features:
            part = self.parts[i]
            if not isinstance(part, SmoothPart):
                continue
            if any(row[i].is_infinite for row in drops):
                raise CertificateError(f"certificates need a region with ends, and {part.name!r} has none")
            allowed = [to_fraction(lower(row[i].value + share)) for row, share in zip(drops, shares, strict=True)]
            targets = [high - most for high, most in zip(part.high, allowed, strict=True)]
            for span in region[i].spans:
                if span.low is not None and span.high is not None and span.low < span.high:
                    ends = to_fraction(span.low), to_fraction(span.high)
                    self._cut(i, part, *ends, targets, is_integers=span.is_integers)

    def _cut(
        self, i: int, part: SmoothPart, low: Fraction, high: Fraction, targets: list[Fraction], *, is_integers: bool
    ) -> None:
        from suffice_check.balls import UnknownError

        stops = sorted({low, high, *(t for t in (*part.smooth.knots(low, high), *self.cuts[i]) if low < t < high)})
        stack = list(pairwise(stops))
        while stack:
            left, right = stack.pop()
            if is_integers and left.__floor__() + 1 >= right:
                continue
            try:
                found = zip(part.bounds(left, right), targets, strict=True)
                if all(one.least >= goal or part.closer(c, one) >= goal for c, (one, goal) in enumerate(found)):
                    continue
            except UnknownError:
                pass
            middle = _between(left, right, is_integers)
            self.cuts[i].add(middle)
            stack += [(left, middle), (middle, right)]
            if len(self.cuts[i]) > _MOST_CELLS:
                raise CertificateError(
                    f"a certificate would need more than {_MOST_CELLS:,} cells of {part.name!r}; ask about a smaller "
                    "radius, or leave the claim more room"
                )

    @property
    def document(self) -> list[list[str]]:
        """The cells as certificates write them."""
        return [[str(one) for one in sorted(cuts)] for cuts in self.cuts]


def _between(left: Fraction, right: Fraction, is_integers: bool) -> Fraction:
    """Return a number near the middle of two others, of few digits; an integer, if asked for."""
    middle = (left + right) / 2
    if is_integers:
        return Fraction(middle.__floor__())
    unit, width = Fraction(1), right - left
    while 4 * unit > width:
        unit /= 2
    while 4 * unit * 1024 < width:
        unit *= 2
    return round(middle / unit) * unit


def _value(x: Value, side: int = 0) -> CheckerValue:
    from suffice_check.ordered import Number

    if isinstance(x, fmpq):
        return Number(to_fraction(x), side)
    return None if isinstance(x, Missing) else x


def _domain(reach: Domain) -> checker_domain.Domain:
    from suffice_check.domain import Domain as Reach
    from suffice_check.domain import Span
    from suffice_check.ordered import Number

    ends = [[None if end is None else Number(to_fraction(end)) for end in (one.low, one.high)] for one in reach.spans]
    spans = [Span(low, high, one.is_integers) for (low, high), one in zip(ends, reach.spans, strict=True)]
    return Reach(spans, [_value(x) for x in reach.categories_], [_value(x) for x in reach.codes_])
