"""Networks with more pieces than the budget: tabulated over the region asked about, exactly, and remembered.

In: a shape, and the units of its feature. Out: functions that know their pieces over any interval with ends.
Guaranteed: over an interval they are those of the whole line. Only where crossings are looked for changes: a unit
is followed from one end of the interval to the other, and what it does beyond is not computed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from flint import fmpq

from suffice.errors import PieceBudgetError
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Label, Value
from suffice.shapes.function import Function, Lowest
from suffice.shapes.infimum import Infimum
from suffice.shapes.pieces import Pieces, combine

if TYPE_CHECKING:  # which sums functions up, these among them
    from suffice.shapes.shape import PieceBudget, Shape

_MOST_REMEMBERED = 256  # intervals of one feature
_MOST_PARTS = 64  # that an interval with too many pieces is cut into


class Stretch(NamedTuple):
    """An interval, and functions that hold on it and nowhere else."""

    low: Rational
    high: Rational
    outputs: tuple[Pieces, ...]


@dataclass(eq=False)
class Region:
    """A feature's shape in the user's units, compiled over intervals; what was compiled is kept for the next row."""

    shape: Shape
    center: Rational
    scale: Rational
    budget: PieceBudget
    _known: OrderedDict[tuple[Rational, Rational], tuple[Stretch, ...]] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def over(self, low: Rational, high: Rational) -> tuple[Stretch, ...]:
        """Return the pieces over an interval, cut into as many parts as the budget needs.

        Raises
        ------
        PieceBudgetError
            If there are more than some 64 times as many pieces as the budget.
        """
        with self._lock:
            wider = [ends for ends in self._known if ends[0] <= low and high <= ends[1]]
            known = self._known[wider[-1]] if wider else None
        if known is None:
            known = tuple(self._compiled(low, high, _MOST_PARTS))
            with self._lock:
                self._known[low, high] = known
                while len(self._known) > _MOST_REMEMBERED:
                    self._known.popitem(last=False)
        meeting = (part for part in known if part.low <= high and low <= part.high)
        return tuple(Stretch(max(part.low, low), min(part.high, high), part.outputs) for part in meeting)

    def _compiled(self, low: Rational, high: Rational, parts: int) -> list[Stretch]:
        ends = sorted((end - self.center) / self.scale for end in (low, high))
        try:
            functions = self.shape.compile(replace(self.budget, low=ends[0], high=ends[1]))
        except PieceBudgetError:
            if parts < 2:
                raise
            middle = (low + high) / 2
            return self._compiled(low, middle, parts // 2) + self._compiled(middle, high, parts // 2)
        pieces = [one for one in functions if isinstance(one, Pieces)]
        if len(pieces) < len(functions):  # curves beside a network of so many pieces
            raise PieceBudgetError(self.budget.feature, self.budget.most, 0)
        return [Stretch(low, high, tuple(one.rescaled(self.center, self.scale) for one in pieces))]


@dataclass(frozen=True, eq=False)
class Lazy(Function):
    """A linear combination of the outputs of a shape that has too many pieces to be compiled as a whole.

    Parameters
    ----------
    region : Region
        The shape.
    factors : tuple of Rational
        One for each output.
    """

    region: Region
    factors: tuple[Rational, ...]
    knots: tuple[Rational, ...] = ()  # not known as a whole
    values: tuple[Rational, ...] = ()
    labels: Mapping[Label, Rational] = field(default_factory=dict)

    @classmethod
    def outputs(cls, shape: Shape, center: Rational, scale: Rational, budget: PieceBudget) -> tuple[Lazy, ...]:
        """Return a shape's outputs, in the user's units."""
        region = Region(shape, center, scale, budget)
        each = range(shape.outputs)
        return tuple(cls(region, tuple(fmpq(j == k) for k in each)) for j in each)

    def over(self, low: Rational, high: Rational) -> list[tuple[Rational, Rational, Pieces]]:
        """Return the function over an interval: parts of it, one after the other, and the pieces on each."""
        return [
            (part.low, part.high, combine(zip(self.factors, part.outputs, strict=True)))
            for part in self.region.over(low, high)
        ]

    @property
    def count(self) -> None:
        """How many pieces there are is not known."""

    def __call__(self, at: Value) -> Rational:
        """Return the exact value at a number or a label."""
        place = at if isinstance(at, fmpq) else ZERO
        (_, _, pieces), *_ = self.over(place, place)
        return pieces(at)

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the closed interval from `low` to `high`, which must have ends."""
        return min(pieces.infimum(start, end) for start, end, pieces in self._over(low, high))

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a point of the interval whose value is at most `target`; see `Lowest`."""
        return _point_below(self._over(low, high), infimum, target)

    def _over(self, low: Rational | None, high: Rational | None) -> list[tuple[Rational, Rational, Pieces]]:
        if low is None or high is None:
            raise PieceBudgetError(self.region.budget.feature, self.region.budget.most, 0)
        return self.over(low, high)

    @property
    def on_integers(self) -> Lowest:
        """The function where only integers count."""
        return _AtIntegers(self)

    def falls_for_ever(self, to_left: bool, to_right: bool) -> int:
        """Refuse to say where the function goes, if it has no end there."""
        if to_left or to_right:
            raise PieceBudgetError(self.region.budget.feature, self.region.budget.most, 0)
        return 0

    def combined(self, parts: Sequence[tuple[Rational, Lazy]]) -> Lazy:
        """Return a linear combination of functions of the same shape."""
        assert all(part.region is self.region for _, part in parts)
        columns = zip(*(part.factors for _, part in parts), strict=True)
        scales = [factor for factor, _ in parts]
        return Lazy(self.region, tuple(sum((f * x for f, x in zip(scales, one, strict=True)), ZERO) for one in columns))

    def rescaled(self, center: Rational, scale: Rational) -> Lazy:
        """Return `x -> self((x - center) / scale)` for a scale other than 0; labels keep their values."""
        mine = self.region
        units = mine.center * scale + center, mine.scale * scale
        return Lazy(Region(mine.shape, *units, mine.budget), self.factors)

    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Function:
        """Refuse: values are overwritten in shapes, before these are compiled."""
        raise NotImplementedError

    def with_labels(self, labels: Mapping[Label, Rational]) -> Function:
        """Refuse: labels belong to shapes, before these are compiled."""
        raise NotImplementedError


class _AtIntegers:
    """A lazy function where only integers count."""

    def __init__(self, function: Lazy) -> None:
        self.function = function

    def _over(self, low: Rational | None, high: Rational | None) -> list[tuple[Rational, Rational, Pieces]]:
        # A part ends and begins at an integer, so that every integer is in one of them and none is left without.
        found = []
        for start, end, pieces in self.function._over(low, high):
            first, last = fmpq(start.ceil()), fmpq(end.floor())
            if first <= last:
                found.append((first, last, pieces.on_integers))
        return found

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the integers from `low` to `high`."""
        return min(pieces.infimum(start, end) for start, end, pieces in self._over(low, high))

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return an integer of the interval whose value is at most `target`."""
        return _point_below(self._over(low, high), infimum, target)


def _point_below(parts: Sequence[tuple[Rational, Rational, Pieces]], infimum: Infimum, target: Rational) -> Rational:
    for low, high, pieces in parts:
        if pieces.infimum(low, high) == infimum:
            return pieces.point_below(infimum, target, low, high)
    raise AssertionError("the infimum is that of one of the parts")
