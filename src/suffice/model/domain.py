"""Which values a feature can take at all, and which of them lie around a given one.

A domain has three parts: *spans* of numbers (an interval, its integers, or a single number), *categories*, and *special
codes* such as "missing" or -9. Within a radius of a value lie:

- of a number, the numbers of the spans that are no further away;
- of a category, where categories are *ordered*, those that are no more ranks away; where they have a *step*, all of
  them once the radius is a step or more; where they have neither, all of them once the radius is not 0;
- of a special code, nothing else: it is reached, or left, only where the whole domain is asked about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from suffice.errors import ModelError, NumberError
from suffice.numbers.exact import ZERO, Number, Rational, brief, in_digits, nearest_float, rational
from suffice.numbers.values import MISSING, Label, Missing, Value, is_writable
from suffice.shapes.shape import Support

_MOST_SHOWN = 8


class Span(NamedTuple):
    """The numbers from `low` to `high` (None: without end), or only the integers among them."""

    low: Rational | None
    high: Rational | None
    is_integers: bool = False

    def holds(self, value: Rational) -> bool:
        """Whether a number is in the span."""
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return False
        return not self.is_integers or value.q == 1

    def cut(self, low: Rational, high: Rational) -> Span | None:
        """Return the part from `low` to `high`, or None where that is empty."""
        if self.is_integers:
            low, high = fmpq(low.ceil()), fmpq(high.floor())
        low = low if self.low is None else max(low, self.low)
        high = high if self.high is None else min(high, self.high)
        return Span(low, high, self.is_integers) if low <= high else None

    def __str__(self) -> str:
        return self.told(format_value)

    def told(self, word: Callable[[Rational], str]) -> str:
        """Return the span in words, with so many digits as `word` gives a number."""
        if self.low is not None and self.low == self.high:
            return word(self.low)
        low = "-∞" if self.low is None else word(self.low)
        high = "∞" if self.high is None else word(self.high)
        if self.is_integers:
            return f"the integers from {low} to {high}"
        return f"{'(' if self.low is None else '['}{low}, {high}{')' if self.high is None else ']'}"


@dataclass(frozen=True, slots=True, repr=False)
class Domain:
    """Set of values of a feature; made by the constructors below and joined by `|`.

    Parameters
    ----------
    spans : tuple of Span
        Intervals, integers of an interval, or single numbers.
    categories_, codes_ : tuples
        Names of categories, and special codes.
    is_ordered : bool
        Whether categories are in order, so that two are as far apart as their ranks.
    step : Rational, optional
        How far any two categories without an order are apart; None if they have no distance.

    Examples
    --------
    >>> months = Domain.integers(0, 803) | Domain.codes(-9, -8)
    >>> print(months)
    the integers from 0 to 803, or one of -9, -8
    >>> 12 in months, 12.5 in months, -9 in months
    (True, False, True)
    >>> print(Domain.ordered("primary", "secondary", "tertiary") | Domain.codes(MISSING))
    primary < secondary < tertiary, or one of missing
    """

    spans: tuple[Span, ...] = ()
    categories_: tuple[Value, ...] = ()
    codes_: tuple[Value, ...] = ()
    is_ordered: bool = False
    step: Rational | None = None
    # Categories and codes, to look them up: names and missing; numbers, whose hash takes longer than an interval does.
    _names: frozenset[Label] = field(init=False, repr=False, compare=False)
    _numbers: frozenset[Rational] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        named = (*self.categories_, *self.codes_)
        object.__setattr__(self, "_names", frozenset(one for one in named if not isinstance(one, fmpq)))
        object.__setattr__(self, "_numbers", frozenset(one for one in named if isinstance(one, fmpq)))
        if not (self.categories_ or self.codes_):
            if not self.spans:
                raise ModelError("a domain needs at least one value")
            return
        if self.is_ordered and self.spans:
            raise ModelError("ordered categories cannot stand beside numbers; a radius would count both")
        for kind, values in (("category", self.categories_), ("special code", self.codes_)):
            for value in values:
                inside = [span for span in self.spans if isinstance(value, fmpq) and span.holds(value)]
                if inside or (kind == "special code" and value in self.categories_):
                    where = str(inside[0]) if inside else "the categories"
                    raise ModelError(f"the {kind} {format_value(value)} also lies in {where}; a value cannot be both")
        for label in self._names:
            if isinstance(label, str) and not is_writable(label):
                raise ModelError(f"the category {label!r} has half of a surrogate pair, which cannot be written")
        for label in self.labels if self.spans or self._numbers else ():
            if isinstance(label, str) and self._spells_number(label):
                raise ModelError(f"the label {label!r} is also a number of the domain; a cell could mean either")

    @property
    def has_no_end(self) -> tuple[bool, bool]:
        """Whether numbers have no end to the left, and to the right."""
        return any(span.low is None for span in self.spans), any(span.high is None for span in self.spans)

    @property
    def is_whole(self) -> bool:
        """Whether every number of the domain is an integer."""
        return all(span.is_integers for span in self.spans) and all(one.q == 1 for one in self._numbers)

    @classmethod
    def reals(cls) -> Domain:
        """Return all real numbers."""
        return cls((Span(None, None),))

    @classmethod
    def interval(cls, low: Number = -math.inf, high: Number = math.inf) -> Domain:
        """Return the numbers from `low` to `high`, both included; infinite ends are allowed."""
        return cls((_span(low, high, is_integers=False),))

    @classmethod
    def integers(cls, low: Number = -math.inf, high: Number = math.inf) -> Domain:
        """Return the integers from `low` to `high`, both included; infinite ends are allowed."""
        return cls((_span(low, high, is_integers=True),))

    @classmethod
    def points(cls, *numbers: Number) -> Domain:
        """Return some numbers, with the usual distance between them."""
        exact = sorted({_exact(number) for number in numbers})
        return cls(tuple(Span(number, number) for number in exact))

    @classmethod
    def categories(cls, *names: str | Number) -> Domain:
        """Return names of categories, in the order given; a number among them is a name too, without distances."""
        return cls(categories_=tuple(dict.fromkeys(name if isinstance(name, str) else _exact(name) for name in names)))

    @classmethod
    def ordered(cls, *names: str | Number) -> Domain:
        """Return names of categories from the lowest to the highest, which move by rank within a radius."""
        found = replace(cls.categories(*names), is_ordered=True)
        if len(found.categories_) < len(names):
            raise ModelError("an order names a category twice; each can stand in one place only")
        return found

    @classmethod
    def codes(cls, *values: str | Number | Missing) -> Domain:
        """Return special codes: MISSING, numbers such as -9, or text; each stands apart from all other values."""
        exact = (value if isinstance(value, (str, Missing)) else _exact_code(value) for value in values)
        return cls(codes_=tuple(dict.fromkeys(exact)))

    @classmethod
    def of_support(cls, support: Support) -> Domain:
        """Return all values at which a shape is defined."""
        spans = (Span(None, None),) if support.is_everywhere else ()
        points = () if support.is_everywhere else tuple(Span(point, point) for point in sorted(support.points))
        names = tuple(label for label in support.labels if isinstance(label, str))
        codes = tuple(label for label in support.labels if not isinstance(label, str))
        return cls(spans + points, names, codes)

    def __or__(self, other: Domain) -> Domain:
        if not isinstance(other, Domain):
            return NotImplemented
        with_categories = [one for one in (self, other) if one.categories_]
        kinds = {(one.is_ordered, one.step) for one in with_categories}
        if len(kinds) > 1 or (len(with_categories) > 1 and self.is_ordered and self.categories_ != other.categories_):
            raise ModelError("ordered categories can be joined with codes only; list all of them in one order")
        return Domain(
            tuple(dict.fromkeys((*self.spans, *other.spans))),
            tuple(dict.fromkeys((*self.categories_, *other.categories_))),
            tuple(dict.fromkeys((*self.codes_, *other.codes_))),
            *(kinds.pop() if kinds else ()),
        )

    def __contains__(self, cell: object) -> bool:
        """Whether a cell of a user's row is in the domain."""
        try:
            return self.holds(self.parse(cell))
        except NumberError:
            return False

    def holds(self, value: Value) -> bool:
        """Whether an exact value is in the domain."""
        if not isinstance(value, fmpq):
            return value in self._names
        return any(span.holds(value) for span in self.spans) or (bool(self._numbers) and value in self._numbers)

    def is_more_than(self, value: Value) -> bool:
        """Whether there are other values than one of them."""
        single = [span.low for span in self.spans if span.low is not None and span.low == span.high]
        return len(single) < len(self.spans) or [*single, *self.categories_, *self.codes_] != [value]

    @property
    def labels(self) -> tuple[Label, ...]:
        """All values that are not numbers."""
        return tuple(value for value in (*self.categories_, *self.codes_) if not isinstance(value, fmpq))

    def around(self, value: Value, radius: Rational | None) -> Domain:
        """Return where a value of the domain may go within a radius (None: anywhere)."""
        if radius is None:
            return self
        if value in self.codes_:
            return Domain(codes_=(value,))
        if value in self.categories_:
            return Domain(categories_=self._categories_around(value, radius), is_ordered=self.is_ordered)
        assert isinstance(value, fmpq)
        cuts = (span.cut(value - radius, value + radius) for span in self.spans)
        return Domain(tuple(span for span in cuts if span is not None))

    def _categories_around(self, category: Value, radius: Rational) -> tuple[Value, ...]:
        if self.is_ordered:
            place, ranks = self.categories_.index(category), int(radius.floor())
            return self.categories_[max(place - ranks, 0) : place + ranks + 1]
        is_free = radius > 0 if self.step is None else radius >= self.step
        return self.categories_ if is_free else (category,)

    def within_finite(self, value: Value) -> Domain:
        """Return where a value of the domain may go within some finite radius."""
        if value in self.codes_:
            return Domain(codes_=(value,))
        return replace(self, spans=(), codes_=()) if value in self.categories_ else Domain(self.spans)

    @property
    def has_distances(self) -> bool:
        """Whether categories have distances; if not, each is free at any radius above 0."""
        return self.is_ordered or self.step is not None

    def distance(self, one: Value, other: Value) -> Rational | None:
        """Return how far two values of the domain are apart; None where they have no distance."""
        labels = (*self.categories_, *self.codes_)
        if one in self.categories_ and other in self.categories_:
            if self.is_ordered:
                return fmpq(abs(self.categories_.index(one) - self.categories_.index(other)))
            return ZERO if one == other else self.step
        if one in labels or other in labels:
            return None
        assert isinstance(one, fmpq)
        assert isinstance(other, fmpq)
        return abs(one - other)

    def distances(self, category: Value) -> tuple[Rational, ...]:
        """Return how far the other categories are from one, each distance once, the smallest first."""
        if self.is_ordered:
            place = self.categories_.index(category)
            return tuple(fmpq(rank + 1) for rank in range(max(place, len(self.categories_) - 1 - place)))
        return (self.step,) if self.step is not None and len(self.categories_) > 1 else ()

    def lies_in(self, support: Support) -> bool:
        """Whether a shape with this support has a value everywhere on the domain."""
        if not set(self.labels) <= set(support.labels):
            return False
        numbers = {value for value in (*self.categories_, *self.codes_) if isinstance(value, fmpq)}
        return support.is_everywhere or (
            numbers <= support.points and all(_is_listed(span, support.points) for span in self.spans)
        )

    def parse(self, cell: Any) -> Value:
        """Return the value that a cell of a user's row stands for; `NumberError` if it is none at all."""
        if is_missing(cell):
            return MISSING
        if isinstance(cell, str) and (cell in self._names or not (self.spans or self._numbers)):
            return str(cell)
        return rational(cell)

    def __str__(self) -> str:
        return self.told(format_value)

    def told(self, word: Callable[[Any], str]) -> str:
        """Return the domain in words, with so many digits as `word` gives a number."""
        parts = [span.told(word) for span in self.spans]
        listed = [word(value) for value in (*self.categories_, *self.codes_)[:_MOST_SHOWN]]
        more = len(self.categories_) + len(self.codes_) - len(listed)
        parts = [*parts[:_MOST_SHOWN], *([f"{len(parts) - _MOST_SHOWN} more"] if len(parts) > _MOST_SHOWN else [])]
        if self.is_ordered:
            parts.append(self._told_in_order(word))
        elif listed:
            parts.append(f"one of {', '.join(listed)}{f' and {more} more' if more else ''}")
        return ", or ".join(parts)

    def _told_in_order(self, word: Callable[[Any], str]) -> str:
        """Return ordered categories, of many the lowest and the highest, and codes after them."""
        names = [word(value) for value in self.categories_]
        if len(names) > _MOST_SHOWN:
            names = [*names[: _MOST_SHOWN // 2], f"{len(names) - _MOST_SHOWN} more", *names[-_MOST_SHOWN // 2 :]]
        codes = [word(value) for value in self.codes_]
        more = f" and {len(codes) - _MOST_SHOWN} more" if len(codes) > _MOST_SHOWN else ""
        return " < ".join(names) + (f", or one of {', '.join(codes[:_MOST_SHOWN])}{more}" if codes else "")

    def __repr__(self) -> str:
        return f"<Domain: {self}>"

    def _spells_number(self, label: str) -> bool:
        try:
            return self.holds(rational(label))
        except NumberError:
            return False


def format_value(value: Value) -> str:
    """Return a value as a person reads it; numbers rounded to six digits."""
    if isinstance(value, (str, Missing)):
        return str(value)
    return in_digits(value) if math.isfinite(nearest_float(value)) else brief(value)


def in_full(value: Value) -> str:
    """Return a value with all digits of its float; one that is not a float is marked as rounded."""
    if not isinstance(value, fmpq):
        return str(value)
    return repr(nearest_float(value)).removesuffix(".0") if is_short(value) else f"about {_with_all_digits(value)}"


def is_short(number: Rational) -> bool:
    """Whether `in_full` writes a number as it is: a float, or a decimal as short, such as 0.3, which no float is."""
    near = nearest_float(number)
    return math.isfinite(near) and number in (rational(near), rational(repr(near)))


def _with_all_digits(number: Rational) -> str:
    near = nearest_float(number)
    return repr(near).removesuffix(".0") if math.isfinite(near) and near else format_value(number)


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: None, NaN, pandas' NA or NaT."""
    if cell is None or isinstance(cell, Missing) or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return isinstance(cell, (float, np.floating)) and math.isnan(cell)


def _is_listed(span: Span, points: frozenset[Rational]) -> bool:
    """Whether every number of a span is one of finitely many points."""
    if span.low is None or span.high is None:
        return False
    if span.low == span.high:
        return span.low in points
    return span.is_integers and sum(span.holds(point) for point in points) == span.high - span.low + 1


def _span(low: Number, high: Number, *, is_integers: bool) -> Span:
    first = None if is_infinite(low, -1) else _exact(low)
    last = None if is_infinite(high, 1) else _exact(high)
    if is_integers:
        first = first if first is None else fmpq(first.ceil())
        last = last if last is None else fmpq(last.floor())
    if first is not None and last is not None and first > last:
        kind = "integer" if is_integers else "number"
        raise ModelError(f"there is no {kind} from {brief(low)} to {brief(high)}; give the smaller end first")
    return Span(first, last, is_integers)


def _exact_code(value: object) -> Rational:
    if is_missing(value):
        raise ModelError(f"{value} is not a code; write suffice.MISSING for a missing cell")
    return _exact(value)


def is_infinite(number: object, sign: int) -> bool:
    """Whether something a user wrote means infinity of a sign."""
    return isinstance(number, (float, np.floating, Decimal)) and bool(number == sign * math.inf)


def _exact(number: object) -> Rational:
    try:
        return rational(number)
    except NumberError as error:
        raise ModelError(f"in a domain: {error}") from None
