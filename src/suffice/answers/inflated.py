"""An explanation with room: ranges for the fixed features."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from flint import fmpq

from suffice.answers.answer import Answer, Status
from suffice.answers.documents import number_document, value_document
from suffice.answers.words import headline, inward, others, spoken, stays
from suffice.certificate.document import Certificate
from suffice.certificate.ranges import certify_ranges
from suffice.core.case import Case
from suffice.errors import NumberError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.model.domain import Domain
from suffice.numbers.exact import rational, to_fraction
from suffice.numbers.values import Label, to_user
from suffice.question.documents import Json
from suffice.solvers.ranges import AllowedRange


class Range(NamedTuple):
    """Values of a fixed feature for which the claim still holds: those of its domain in an interval, or some labels.

    Parameters
    ----------
    low, high : Fraction or None
        Ends of the interval; None where there is none.
    has_low, has_high : bool
        Whether the ends belong to it.
    is_integers : bool
        Whether only integers are meant.
    values : tuple
        Categories or codes; then there is no interval.
    without : tuple of Fraction
        Categories and codes between the ends, which are not in the range: it speaks of other numbers.

    Examples
    --------
    >>> wide = Range(Fraction(1), None, has_low=False, has_high=False, is_integers=False, values=())
    >>> str(wide), 1 in wide, 2 in wide
    ('(1, ∞)', False, True)
    """

    low: Fraction | None  # None: without end, or no numbers at all
    high: Fraction | None
    has_low: bool
    has_high: bool
    is_integers: bool
    values: tuple[Fraction | Label, ...]  # categories or codes; then there is no interval
    without: tuple[Fraction, ...] = ()

    @classmethod
    def of(cls, allowed: AllowedRange, domain: Domain) -> Range:
        """Return a range as users see it."""
        low, high = (None if end.at is None else to_fraction(end.at) for end in (allowed.low, allowed.high))
        values = tuple(to_user(value) for value in allowed.values)
        found = cls(low, high, allowed.low.is_included, allowed.high.is_included, allowed.is_integers, values)
        listed = [to_fraction(x) for x in (*domain.categories_, *domain.codes_) if isinstance(x, fmpq)]
        return found if values else found._replace(without=tuple(sorted(x for x in listed if x in found)))

    def __contains__(self, value: Any) -> bool:
        try:
            number = to_fraction(rational(value)) if not isinstance(value, str) else None
        except NumberError:
            number = None
        if self.values:
            return value in self.values if number is None else number in self.values
        if number is None or number in self.without or (self.is_integers and number.denominator != 1):
            return False
        above = self.low is None or number > self.low or (number == self.low and self.has_low)
        return above and (self.high is None or number < self.high or (number == self.high and self.has_high))

    def __str__(self) -> str:
        if self.values:
            return "one of " + ", ".join(spoken(value) for value in self.values)
        low = "-∞" if self.low is None else inward(self.low, is_low=True)
        high = "∞" if self.high is None else inward(self.high, is_low=False)
        without = " without " + ", ".join(map(spoken, self.without)) if self.without else ""
        if self.is_integers:
            return f"the integers from {low} to {high}{without}"
        return f"{'[' if self.has_low else '('}{low}, {high}{']' if self.has_high else ')'}{without}"

    def document(self) -> Json:
        """Return the range as JSON has it."""
        if self.values:
            return {"values": [value_document(value) for value in self.values]}
        return {
            "low": None if self.low is None else number_document(self.low),
            "high": None if self.high is None else number_document(self.high),
            "has_low": self.has_low,
            "has_high": self.has_high,
            "is_integers": self.is_integers,
            "without": [number_document(x) for x in self.without],
        }


@dataclass(frozen=True, repr=False)
class Inflated(Answer):
    """An explanation with ranges: each fixed feature may move within its range, the others within the region.

    The ranges hold together, and each is as wide as those before it allow.

    Parameters
    ----------
    case : Case
        The question and the row.
    ranges : dict of str to Range
        For each fixed feature the values it may take.
    free : tuple of str
        Names of all other features.
    allowed : tuple of (int, AllowedRange)
        The ranges as the search found them, by feature.
    caveat : str, optional
        How much wider a range may be, where its end is not a rational number.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> explainer = Explainer(AdditiveModel([Steps([18], [-1, 2])], features=["age"]))
    >>> str(explainer.inflate({"age": 20}, radius=5, unit="raw").ranges["age"])
    '[18, ∞)'
    """

    case: Case
    ranges: dict[str, Range]
    free: tuple[str, ...]
    allowed: tuple[tuple[int, AllowedRange], ...]
    caveat: str | None = None

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that the ranges hold together.

        And that none can be wider, unless there is a caveat, or a pair term varies along a feature within its cells.
        """
        return certify_ranges(self.case, self.allowed, not self.caveat, model_file)

    @property
    def status(self) -> Status:
        """Whether each range is proven to be as wide as can be."""
        return Status.BOUNDED if self.caveat else Status.PROVEN

    def facts(self) -> Facts:
        """Return the range of each fixed feature."""
        moving = f", whatever {others(len(self.free))} within the region" if self.free else ""
        proven = f"within these ranges, {stays(self.case)}{moving}:"
        if not self.ranges:
            proven = f"nothing is fixed, and {stays(self.case)} whatever changes within the region."
        rows = tuple(Row((name, f"in {range_}")) for name, range_ in self.ranges.items())
        table: list[Fact | Grid] = [Grid(("feature", "range"), rows)] if rows else []
        note = [Fact("Note", f"{self.caveat}.")] if self.caveat else []
        return (*headline(self.case), Fact("Proven", proven), *table, *note)

    def _document(self) -> Json:
        ranges = {name: range_.document() for name, range_ in self.ranges.items()}
        return {"ranges": ranges, "free": list(self.free), "status": self.status.value, "caveat": self.caveat}
