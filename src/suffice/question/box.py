"""A box of inputs: for each feature the values that it may take, wherever no row is in the middle.

In: conditions as users write them, by feature name. Out: a `Box`, whose region is one `Domain` for each feature, all of
its own domain where nothing is said of it. A box is a region like any other; what differs is only that no row made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flint import fmpq

from suffice.errors import BoxError, FeatureNameError, NumberError
from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span, format_value, in_full, is_infinite
from suffice.numbers.exact import ZERO, Rational, brief, rational
from suffice.numbers.values import MISSING, Value
from suffice.question.region import Region
from suffice.question.row import Row

_FORMS = "a range (low, high) or {'from': low, 'to': high}, one value, or a list of values and ranges"


@dataclass(frozen=True, slots=True)
class Box:
    """Inputs that meet some conditions, whatever their other features are.

    Parameters
    ----------
    names : tuple of str
        The features of the model.
    region : tuple of Domain
        The values of each feature.
    conditions : tuple of int
        The features of which something is said, by index, in the order in which it was said.

    Examples
    --------
    >>> from suffice import AdditiveModel, Steps, Table
    >>> model = AdditiveModel([Steps([18], [-1, 2]), Table({"own": 1, "rent": 0})], features=["age", "housing"])
    >>> print(Box.read(model, {"age": (30, None), "housing": {"own"}}))
    wherever age is in [30, ∞) and housing is one of own
    """

    names: tuple[str, ...]
    region: Region
    conditions: tuple[int, ...]

    @classmethod
    def read(cls, model: AdditiveModel, given: Any) -> Box:
        """Return the box that conditions describe.

        Parameters
        ----------
        given : mapping of feature names to conditions
            A condition is a range `(low, high)`, in which None leaves an end open and both ends belong to it, or
            `{"from": low, "to": high}`, which may lack one; a value; or a list or set of values and ranges. A missing
            cell is `suffice.MISSING` or `{"missing": True}`. A range speaks of numbers: special codes are not in it.

        Raises
        ------
        BoxError, FeatureNameError
            If a name is not that of a feature, a condition cannot be read, or no value of the feature meets it.
        """
        if not isinstance(given, Mapping):
            raise BoxError(f"a box is a mapping of feature names to conditions, got {brief(given)}")
        for name in given:
            if name not in model.names:
                raise FeatureNameError(name, model.names)
        region = tuple(
            _condition(name, domain, given[name]) if name in given else domain
            for name, domain in zip(model.names, model.domains, strict=True)
        )
        return cls(model.names, region, tuple(model.index(name) for name in given))

    def anchor(self) -> Row:
        """Return an input of the box."""
        return tuple(some_value(domain) for domain in self.region)

    def __str__(self) -> str:
        # What is proven of a box is said of exactly that box: 0.9999999 is not 1.
        told = [(self.names[i], "in " if self.region[i].spans else "", self.region[i]) for i in self.conditions]
        each = [f"{name} is {where}{domain.told(in_full)}" for name, where, domain in told]
        return f"wherever {' and '.join(each)}" if each else "everywhere"


def from_on(domain: Domain, value: Rational, direction: int) -> Domain:
    """Return the numbers of a domain from one of them on, up or down."""
    low, high = (value, None) if direction > 0 else (None, value)
    return Domain(tuple(cut for span in domain.spans if (cut := _cut(span, low, high)) is not None))


def _condition(name: str, domain: Domain, given: Any) -> Domain:
    is_many = isinstance(given, (list, set, frozenset))
    # The order of a set is not its own: what is said must be the same every time.
    many = sorted(given, key=repr) if isinstance(given, (set, frozenset)) else given if is_many else [given]
    if not many:
        raise BoxError(f"the condition on {name!r} lists no value, so that no input meets it")
    parts = [_part(name, domain, one) for one in many]
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found


def _part(name: str, domain: Domain, given: Any) -> Domain:
    if isinstance(given, Mapping) and dict(given) == {"missing": True}:
        given = MISSING
    if isinstance(given, (tuple, Mapping)):
        return _range(name, domain, *_ends(name, given))
    try:
        value = domain.parse(given)
    except NumberError as error:
        raise BoxError(f"the condition on {name!r}: {error}; give {_FORMS}") from None
    if not domain.holds(value):
        raise BoxError(f"the condition on {name!r} names {format_value(value)}, outside its domain: {domain}")
    if value in domain.codes_:
        return Domain(codes_=(value,))
    if value in domain.categories_:
        return Domain(categories_=(value,))
    assert isinstance(value, fmpq)
    return Domain((Span(value, value),))


def _ends(name: str, given: Any) -> tuple[Rational | None, Rational | None]:
    """Return the two ends of a range; None for one that is open."""
    if isinstance(given, tuple) and len(given) == 2:
        low, high = given
    elif isinstance(given, Mapping) and given and set(given) <= {"from", "to"}:
        low, high = given.get("from"), given.get("to")
    else:
        raise BoxError(f"the condition on {name!r} is {brief(given)}; give {_FORMS}")
    try:
        return (
            None if low is None or is_infinite(low, -1) else rational(low),
            None if high is None or is_infinite(high, 1) else rational(high),
        )
    except NumberError as error:
        raise BoxError(f"the condition on {name!r}: {error}") from None


def _range(name: str, domain: Domain, low: Rational | None, high: Rational | None) -> Domain:
    spans = tuple(cut for span in domain.spans if (cut := _cut(span, low, high)) is not None)
    if not spans:
        raise BoxError(f"no number of {name!r} lies in the range of its condition; its domain: {domain}")
    return Domain(spans)


def _cut(span: Span, low: Rational | None, high: Rational | None) -> Span | None:
    """Return the part of a span from `low` to `high`; None where that is empty."""
    if span.is_integers:
        low = low if low is None else fmpq(low.ceil())
        high = high if high is None else fmpq(high.floor())
    lows = [end for end in (low, span.low) if end is not None]
    highs = [end for end in (high, span.high) if end is not None]
    found = Span(max(lows) if lows else None, min(highs) if highs else None, span.is_integers)
    is_empty = found.low is not None and found.high is not None and found.low > found.high
    return None if is_empty else found


def listed(domain: Domain, values: Iterable[Value]) -> Domain:
    """Return the domain of some values of another one."""
    each = tuple(dict.fromkeys(values))
    categories, codes = (tuple(x for x in each if x in known) for known in (domain.categories_, domain.codes_))
    numbers = (x for x in each if isinstance(x, fmpq) and x not in (*categories, *codes))
    return Domain(tuple(Span(x, x) for x in numbers), categories, codes)


def some_value(domain: Domain) -> Value:
    """Return a value of a domain."""
    for span in domain.spans:
        return span.low if span.low is not None else span.high if span.high is not None else ZERO
    return (*domain.categories_, *domain.codes_)[0]
