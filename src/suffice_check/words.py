"""Numbers, values and lists as people read them: exact, or rounded so that no more is said than is proven."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from suffice_check.domain import Domain
from suffice_check.ordered import Number
from suffice_check.reading import MISSING, Value

_MOST = 6  # entries of a list, and digits of a number


def show(number: Fraction) -> str:
    """Return a number: exactly where that is short, else between two bounds, for either may say too much."""
    if abs(number) < 10**300 and Fraction(float(number)) == number and not _is_short(number):
        return f"{float(number)!r} (as a float64)"
    low, high = _rounded(number, ROUND_FLOOR), _rounded(number, ROUND_CEILING)
    return low if low == high else f"a number between {low} and {high}"


def show_floor(number: Fraction) -> str:
    """Return a number that is said to be reached: exactly, or rounded down."""
    return _rounded(number, ROUND_FLOOR)


def show_exactly(number: Fraction) -> str:
    """Return a number in full; Python's own text of an `int` has a limit, which the ends of a region can exceed."""
    return "/".join(str(Decimal(part)) for part in number.as_integer_ratio()).removesuffix("/1")


def show_value(value: Value, *, is_exact: bool = False) -> str:
    """Return a value of a feature; text is escaped, so that it stays on its line whatever it holds."""
    if not isinstance(value, Number):
        return "missing" if value is MISSING else repr(value)
    if is_exact or _is_short(value.value):
        return show_exactly(value.value)
    return f"about {_rounded(value.value, ROUND_HALF_EVEN)}"


def show_interval(low: Number | None, high: Number | None, *, is_exact: bool = True) -> str:
    """Return an interval, with ends that belong to it or not; long ones are rounded inwards unless asked exactly."""
    first = "(-inf" if low is None else f"{'(' if low.edge else '['}"
    first += "" if low is None else show_exactly(low.value) if is_exact else _rounded(low.value, ROUND_CEILING)
    last = "inf)" if high is None else show_exactly(high.value) if is_exact else _rounded(high.value, ROUND_FLOOR)
    return f"{first}, {last}{'' if high is None else ')' if high.edge else ']'}"


def show_domain(domain: Domain) -> str:
    """Return all values of a domain, exactly."""
    spans = [("the integers in " if s.is_integers else "") + show_interval(s.low, s.high) for s in domain.spans]
    return " or ".join([*spans, *(show_value(x, is_exact=True) for x in (*domain.categories, *domain.codes))])


def listed(texts: Iterable[str], most: int = _MOST) -> str:
    """Return a list in words: the first few entries, and how many more there are."""
    every = list(texts)
    shown = [*every[:most], f"{len(every) - most} more"] if len(every) > most else every
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def quoted(names: Iterable[str], most: int = _MOST) -> str:
    """Return names in words, escaped."""
    return listed(map(repr, names), most)


def _is_short(number: Fraction) -> bool:
    return abs(number.numerator) < 10**12 > number.denominator


def _rounded(number: Fraction, rounding: str) -> str:
    context = Context(prec=_MOST, rounding=rounding, Emax=MAX_EMAX, Emin=MIN_EMIN)
    return str(number if _is_short(number) else context.divide(*map(Decimal, number.as_integer_ratio())))
