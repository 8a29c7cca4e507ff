"""Cells of smooth features, found with the checker's own arithmetic: what certificates about smooth shapes rest on.

In: a case, and how far features can lower the claim's score at most. Out: numbers that cut regions into cells so small
that what the checker computes over them is nearly as close; falls and drops are those that the checker will find.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from flint import fmpq

from suffice.core.case import Case
from suffice.core.constraint import Constraint, Drop
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
    from suffice_check.roots import Roots

_MOST_CELLS = 2_000  # of one feature


class Seen:
    """The row of a case as the checker sees it; cells that were found are kept, also when numbers are refined."""

    def __init__(self, case: Case) -> None:
        self.row, self.cuts = case.row, [set[Fraction]() for _ in case.row]
        self._drops: dict[object, list[tuple[Rational, Rational] | None]] = {}
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
        return [None if one is None else (_above(one.value), rational(one.edge)) for one in found]

    def fits(
        self, features: Collection[int], region: Region, constraints: Sequence[Constraint], at_once: int | None
    ) -> bool:
        """Whether features break nothing, no more at once than may, by what the checker computes over the cells."""
        each = [self._known(i, region[i]) for i in features]
        for c, one in enumerate(constraints):
            drops = [drops[c] for drops in each]
            known = sorted((drop for drop in drops if drop is not None), reverse=True)
            total = [sum(column, fmpq(0)) for column in zip(*known[:at_once], (fmpq(0), fmpq(0)), strict=True)]
            if len(known) < len(drops) or tuple(total) > (one.margin, fmpq(-1 if one.is_strict else 0)):
                return False
        return True

    def _known(self, i: int, reach: Domain) -> list[tuple[Rational, Rational] | None]:
        key = i, tuple(sorted(self.cuts[i])), reach
        if key not in self._drops:
            self._drops[key] = self.drops(i, reach)
        return self._drops[key]

    def cover(
        self,
        region: Region,
        features: Sequence[int],
        drops: Sequence[Sequence[Drop]],
        spare: Sequence[Rational],
        at_once: int | None = None,
    ) -> None:
        """Cut the regions of features into few cells over which bounds are off by no more than can be spared in all.

        Each feature may be off by an equal part of what is left, those with small drops first: what one does not need
        is left to the others. Where few features move at once, only theirs add up, and each may be off by as much.
        """
        from suffice_check.cells import SmoothPart

        left = [to_fraction(lower(one)) * 15 / 16 for one in spare]
        smooth = [i for i in features if isinstance(self.parts[i], SmoothPart)]
        for i in smooth:
            if any(row[i].is_infinite for row in drops):
                raise CertificateError(f"certificates need a region with ends, and {self.parts[i].name!r} has none")
        for done, i in enumerate(
            sorted(smooth, key=lambda i: (max(to_fraction(lower(row[i].value)) for row in drops), i))
        ):
            part = self.parts[i]
            assert isinstance(part, SmoothPart)
            known = [to_fraction(lower(row[i].value)) for row in drops]
            among = len(smooth) - done if at_once is None else min(at_once, len(smooth))
            allowed = [drop + share / among for drop, share in zip(known, left, strict=True)]
            targets = [high - most for high, most in zip(part.high, allowed, strict=True)]
            reached = [high - drop for high, drop in zip(part.high, known, strict=True)]
            for span in region[i].spans:
                if span.low is not None and span.high is not None and span.low < span.high:
                    ends = to_fraction(span.low), to_fraction(span.high)
                    least = self._cut(i, part, *ends, targets, is_integers=span.is_integers)
                    reached = list(map(min, reached, least))
            if at_once is None:
                used = (high - drop - low for high, drop, low in zip(part.high, known, reached, strict=True))
                left = [share - one for share, one in zip(left, used, strict=True)]

    def _cut(
        self, i: int, part: SmoothPart, low: Fraction, high: Fraction, targets: list[Fraction], *, is_integers: bool
    ) -> list[Fraction]:
        """Cut an interval from left to right into cells as wide as reach the targets; return the least bounds."""
        stops = sorted({low, high, *(t for t in (*part.smooth.knots(low, high), *self.cuts[i]) if low < t < high)})
        found, tried = list(part.high), 0
        for start, end in pairwise(stops):
            at, width = start, end - start
            while at < end:
                last = end if 4 * (end - at) <= 5 * width else _near(at + width, width, is_integers)
                is_empty = is_integers and at.__floor__() + 1 >= last  # no integer is inside
                bounds = found if is_empty else _bounds(part, at, last, targets)
                tried += 1
                if bounds is None:  # a quarter of the whole first, and then less and less
                    width = (last - at) * (Fraction(2, 3) if tried > 1 else Fraction(1, 4))
                else:  # the next may be wider
                    found, width = list(map(min, found, bounds)), (last - at) * Fraction(4, 3)
                    self.cuts[i].update({last} - {end})
                    at = last
                if tried > _MOST_CELLS or width * 2**40 < high - low:
                    raise CertificateError(
                        f"a certificate would need more than {_MOST_CELLS:,} cells of {part.name!r}, or tiny ones; "
                        "ask about a smaller radius, or leave the claim more room"
                    )
        return found

    @property
    def document(self) -> list[list[str]]:
        """The cells as certificates write them."""
        return [[str(one) for one in sorted(cuts)] for cuts in self.cuts]


def _bounds(part: SmoothPart, left: Fraction, right: Fraction, targets: Sequence[Fraction]) -> list[Fraction] | None:
    """Return what each inequality is not below in a cell, as far as that matters; None if a target is not reached."""
    from suffice_check.balls import UnknownError

    try:
        found = part.bounds(left, right)
        least = [
            one.least if one.least >= goal else part.closer(c, one)
            for c, (one, goal) in enumerate(zip(found, targets, strict=True))
        ]
    except UnknownError:
        return None
    return least if all(one >= goal for one, goal in zip(least, targets, strict=True)) else None


def _near(number: Fraction, width: Fraction, is_integers: bool) -> Fraction:
    """Return a number of few digits near another; an integer, if asked for."""
    if is_integers:
        return Fraction(number.__ceil__())
    unit = Fraction(1)
    while 8 * unit > width:
        unit /= 2
    while 16 * unit < width:
        unit *= 2
    return round(number / unit) * unit


def _above(number: Fraction | Roots) -> Rational:
    """Return a number, or one next to it that is not below it, if it has roots."""
    return rational(number if isinstance(number, Fraction) else number.bounds(256)[1])


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
