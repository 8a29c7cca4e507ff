"""Up to which radius something holds, and narrowing down where it stops."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from suffice.model.domain import Domain, Span
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Value


@dataclass(frozen=True, slots=True)
class Extent:
    """Up to which radius something holds: at every radius below, and at this one if `is_attained`.

    A radius of None stands for all: `is_attained` then says whether it holds on the whole domain too, special codes
    included. Where the true radius is not a rational number, `radius` is one at which it holds, and the true one is
    less than `more` above it; that is not known where it `is_open`.
    """

    radius: Rational | None
    is_attained: bool
    more: Rational = ZERO
    is_open: bool = False  # whether a tie leaves open how much further it holds


class Cell:
    """The radii between which a property that holds up to some radius stops holding."""

    def __init__(self, holds: Callable[[Rational | None], bool], low: Rational) -> None:
        self.holds = holds
        self.low = low  # here it holds
        self.high: Rational | None = None  # here it does not; None: no such radius is known

    def cut(self, radii: Iterable[Rational]) -> None:
        """Narrow the cell until none of the radii is inside."""
        inside = sorted(r for r in radii if self.low < r and (self.high is None or r < self.high))
        self.cut_range(0, len(inside), inside.__getitem__)

    def inside(self, ascending: Sequence[Rational]) -> Sequence[Rational]:
        """Return those of some radii, in ascending order, that are inside the cell."""
        first = bisect_right(ascending, self.low)
        return ascending[first : len(ascending) if self.high is None else bisect_left(ascending, self.high)]

    def cut_range(self, first: int, last: int, radius: Callable[[int], Rational]) -> None:
        """Narrow the cell until none of `radius(first), ..., radius(last - 1)`, in ascending order, is inside."""
        while first < last:
            middle = (first + last) // 2
            if self.holds(radius(middle)):
                self.low, first = radius(middle), middle + 1
            else:
                self.high, last = radius(middle), middle

    def result(self) -> Extent:
        """Return where the property ends; inside the cell it holds everywhere or nowhere."""
        inside = self.low + ONE if self.high is None else (self.low + self.high) / 2
        if not self.holds(inside):
            return Extent(self.low, is_attained=True)
        return Extent(self.high, is_attained=self.high is None and self.holds(None))


def goes_on(span: Span, end: Rational, side: int) -> bool:
    """Whether a span of reals goes on beyond a point of it, towards a side."""
    if span.is_integers or not span.holds(end):
        return False
    limit = span.high if side > 0 else span.low
    return limit is None or limit != end


def leaps(domain: Domain, value: Value) -> bool:
    """Whether a value may become others at any radius above 0: a category without distances."""
    return not domain.has_distances and value in domain.categories_


def inside(low: Rational, high: Rational) -> tuple[Rational, Rational]:
    """Return two numbers between others."""
    third = (high - low) / 3
    return low + third, high - third
