"""What every compiled function of one variable offers, whatever it is made of between its knots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Protocol

from suffice.numbers.enclosure import Real
from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.values import Label, Value
from suffice.shapes.infimum import Infimum


class Lowest(Protocol):
    """What is looked for over a region: the infimum, and points close to it."""

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the closed interval from `low` to `high` (None: without end on that side)."""

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a point of the interval whose value is at most `target`.

        `infimum` is that of the interval; `target` lies above it, or equals it where it is attained.
        """


class Function(ABC):
    """A compiled function of one variable: `Pieces`, which are affine between knots, `Curves`, `Lazy` or `Enclosed`.

    Attributes
    ----------
    knots : tuple of Rational
        Strictly increasing; between two of them the function is one piece, on open ends too.
    values : tuple of Rational
        The value at each knot; where the function jumps it may differ from the pieces on either side.
    labels : mapping of Label to Rational
        Values beside the real line.
    """

    knots: tuple[Rational, ...]
    values: tuple[Rational, ...]
    labels: Mapping[Label, Rational]
    is_exact: ClassVar[bool] = True  # whether values are rationals; if not, `value` and `lowpoint` enclose them

    @property
    def count(self) -> int | None:
        """How many pieces there are; None where that is not known."""
        return len(self.knots) + 1

    @abstractmethod
    def __call__(self, at: Value) -> Rational:
        """Return the exact value at a number or a label."""

    def value(self, at: Value, bits: int) -> Real:
        """Return the value at a number or a label: exact, or enclosed to about so many bits."""
        return self(at)

    @abstractmethod
    def rescaled(self, center: Rational, scale: Rational) -> Function:
        """Return `x -> self((x - center) / scale)` for a scale other than 0; labels keep their values."""

    @abstractmethod
    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Function:
        """Return the function with other values at some numbers and labels."""

    @abstractmethod
    def with_labels(self, labels: Mapping[Label, Rational]) -> Function:
        """Return the function with these labels in place of its own."""

    @property
    @abstractmethod
    def on_integers(self) -> Lowest:
        """The function where only integers count."""

    @abstractmethod
    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the closed interval from `low` to `high` (None: without end on that side)."""

    @abstractmethod
    def falls_for_ever(self, to_left: bool, to_right: bool) -> int:
        """Return the side on which the function falls without bound, of those that are asked about; 0 if on none."""

    @abstractmethod
    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a point of the interval whose value is at most `target`; see `Lowest`."""

    @cached_property
    def _float_knots(self) -> list[float]:
        return [nearest_float(knot) for knot in self.knots]

    def segment_before(self, at: Rational) -> int:
        """Return the index of the piece just left of `at`: the number of knots below it."""
        # Rounding is monotone: a knot whose float is smaller (larger) than that of `at` is smaller (larger) itself.
        approximate = nearest_float(at)
        start = bisect_left(self._float_knots, approximate)
        return bisect_left(self.knots, at, start, bisect_right(self._float_knots, approximate, start))

    def segment_after(self, at: Rational) -> int:
        """Return the index of the piece just right of `at`: the number of knots at or below it."""
        k = self.segment_before(at)
        return k + 1 if k < len(self.knots) and self.knots[k] == at else k
