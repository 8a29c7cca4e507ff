"""Networks with more pieces than the budget: tabulated over the region asked about, exactly, and remembered.

In: a shape, and the units of its feature. Out: functions that know their pieces over any interval.
Guaranteed: over an interval they are those of the whole line. Only where crossings are looked for changes: a unit
is followed from one end of the interval to the other, and what it does beyond is not computed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

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

    low: Rational | None
    high: Rational | None
    outputs: tuple[Pieces, ...]

    def within(self, low: Rational | None, high: Rational | None) -> Stretch | None:
        """Return the part of the interval that lies in another one; None where they do not meet."""
        starts, ends = [x for x in (self.low, low) if x is not None], [x for x in (self.high, high) if x is not None]
        start, end = max(starts, default=None), min(ends, default=None)
        return None if start is not None and end is not None and start > end else Stretch(start, end, self.outputs)


def _holds(outer: tuple[Rational | None, Rational | None], low: Rational | None, high: Rational | None) -> bool:
    """Whether an interval holds another one."""
    start, end = outer
    return (start is None or (low is not None and start <= low)) and (end is None or (high is not None and high <= end))


@dataclass(eq=False)
class Region:
    """A feature's shape in the user's units, compiled over intervals; what was compiled is kept for the next row."""

    shape: Shape
    center: Rational
    scale: Rational
    budget: PieceBudget
    _known: OrderedDict[tuple[Rational | None, Rational | None], tuple[Stretch, ...]] = field(
        default_factory=OrderedDict, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return Region, (self.shape, self.center, self.scale, self.budget)  # what was compiled can be compiled again

    def over(self, low: Rational | None, high: Rational | None) -> tuple[Stretch, ...]:
        """Return the pieces over an interval (None: without end), cut into as many parts as the budget needs.

        Raises
        ------
        PieceBudgetError
            If there are more than some 64 times as many pieces as the budget.
        """
        with self._lock:
            wider = [ends for ends in self._known if _holds(ends, low, high)]
            known = self._known[wider[-1]] if wider else None
        if known is None:
            known = tuple(self._compiled(low, high, _MOST_PARTS))
            with self._lock:
                self._known[low, high] = known
                while len(self._known) > _MOST_REMEMBERED:
                    self._known.popitem(last=False)
        return tuple(one for part in known if (one := part.within(low, high)) is not None)

    def _compiled(self, low: Rational | None, high: Rational | None, parts: int) -> list[Stretch]:
        budget = replace(self.budget, low=low, high=high).inside(self.center, self.scale)
        try:
            functions = self.shape.compile(budget)
        except PieceBudgetError:
            if parts < 2:
                raise
            middle = self._middle(low, high)
            return self._compiled(low, middle, parts // 2) + self._compiled(middle, high, parts // 2)
        pieces = [one for one in functions if isinstance(one, Pieces)]
        if len(pieces) < len(functions):  # curves beside a network of so many pieces
            raise PieceBudgetError(self.budget.feature, self.budget.most, 0)
        return [Stretch(low, high, tuple(one.rescaled(self.center, self.scale) for one in pieces))]

    def _middle(self, low: Rational | None, high: Rational | None) -> Rational:
        """Return where to cut an interval: without an end, further out each time."""
        if low is not None and high is not None:
            return (low + high) / 2
        if low is None and high is None:
            return self.center
        end, side = (low, 1) if low is not None else (high, -1)
        assert end is not None
        return self.center + side * 4 * max(side * (end - self.center), abs(self.scale))


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

    def over(
        self, low: Rational | None, high: Rational | None
    ) -> list[tuple[Rational | None, Rational | None, Pieces]]:
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
        """Return the infimum over the closed interval from `low` to `high` (None: without end)."""
        return min(pieces.infimum(start, end) for start, end, pieces in self.over(low, high))

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return a point of the interval whose value is at most `target`; see `Lowest`."""
        return _point_below(self.over(low, high), infimum, target)

    def outermost(self, to_left: bool, to_right: bool) -> list[Rational]:
        """Return the last knots towards the sides that are asked about; what is beyond them is a line."""
        left = self.over(None, self.region.center)[0][2].knots[:1] if to_left else ()
        right = self.over(self.region.center, None)[-1][2].knots[-1:] if to_right else ()
        return [*left, *right]

    @property
    def on_integers(self) -> Lowest:
        """The function where only integers count."""
        return _AtIntegers(self)

    def falls_for_ever(self, to_left: bool, to_right: bool) -> int:
        """Return a side on which the function falls without end, of those that are asked about; 0 if on none."""
        if to_right and self.over(self.region.center, None)[-1][2].slopes[-1] < 0:
            return 1
        return -1 if to_left and self.over(None, self.region.center)[0][2].slopes[0] > 0 else 0

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

    def _over(
        self, low: Rational | None, high: Rational | None
    ) -> list[tuple[Rational | None, Rational | None, Pieces]]:
        # A part ends and begins at an integer, so that every integer is in one of them and none is left without.
        found = []
        for start, end, pieces in self.function.over(low, high):
            first = None if start is None else fmpq(start.ceil())
            last = None if end is None else fmpq(end.floor())
            if first is None or last is None or first <= last:
                found.append((first, last, pieces.on_integers))
        return found

    def infimum(self, low: Rational | None, high: Rational | None) -> Infimum:
        """Return the infimum over the integers from `low` to `high`."""
        return min(pieces.infimum(start, end) for start, end, pieces in self._over(low, high))

    def point_below(self, infimum: Infimum, target: Rational, low: Rational | None, high: Rational | None) -> Rational:
        """Return an integer of the interval whose value is at most `target`."""
        return _point_below(self._over(low, high), infimum, target)


def _point_below(
    parts: Sequence[tuple[Rational | None, Rational | None, Pieces]], infimum: Infimum, target: Rational
) -> Rational:
    for low, high, pieces in parts:
        if pieces.infimum(low, high) == infimum:
            return pieces.point_below(infimum, target, low, high)
    raise AssertionError("the infimum is that of one of the parts")
