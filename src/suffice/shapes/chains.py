"""What smooth functions are made of: chains of stages with factors, summed up in balls."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from flint import arb, ctx, fmpq

from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Label, Value
from suffice.shapes.curves import Curves, added
from suffice.shapes.far import Far
from suffice.shapes.jets import ExactStage, FormulaStage, Jet, NetworkStage, Stage

_MOST_KEPT = 10_000  # cells of one chain
_DOUBLINGS = 100  # of a distance, until a function is known to be a line from there on


@dataclass(frozen=True)
class Chain:
    """A multiple of a function that is computed in stages.

    Parameters
    ----------
    factor : Rational
        What the rest is multiplied by.
    center, scale : Rational
        The stages take `(x - center) / scale`.
    first : Curves, optional
        An exact function that comes before the stages, so that its knots are known exactly.
    stages : tuple of Stage
    points, labels : mappings
        Other values, to be multiplied by the factor, at some numbers and labels.
    """

    factor: Rational
    center: Rational
    scale: Rational
    first: Curves | None
    stages: tuple[Stage, ...]
    points: Mapping[Rational, Rational] = field(default_factory=dict)
    labels: Mapping[Label, Rational] = field(default_factory=dict)
    _jets: dict[tuple[Rational, Rational, int], Jet] = field(default_factory=dict, compare=False, repr=False)
    # what was computed over cells, without the factor: multiples of a chain, such as both sides of a claim, share it

    @cached_property
    def corners(self) -> dict[Rational, bool]:
        """Where formulas meet, with whether the function is continuous there."""
        found = {}
        if self.first is not None:
            for k, (knot, value) in enumerate(zip(self.first.knots, self.first.values, strict=True)):
                sides = (self.first.polynomials[j](knot) for j in (k, k + 1))
                found[knot * self.scale + self.center] = all(one == value for one in sides)
        return found | dict.fromkeys(self.points, False)

    def trend(self, low: Rational, high: Rational) -> int:
        """Return 1 where the chain never falls over a cell, -1 where it never rises, by what its stages are; else 0."""
        trend = (1 if self.scale > 0 else -1) * (1 if self.factor > 0 else -1)
        if self.first is not None:
            slope = self.first.polynomials[self.first.segment_after(self._inner((low + high) / 2))]
            if slope.degree() > 1:
                return 0
            trend *= 1 if slope[1] >= 0 else -1
        for stage in self.stages:
            trend *= stage.trend
        return trend

    def is_constant(self, at: Rational) -> bool:
        """Whether the chain is known to be constant on the piece that holds a number, or begins there."""
        return self.first is not None and self.first.polynomials[self.first.segment_after(self._inner(at))].degree() < 1

    def jet(self, low: Rational, high: Rational) -> Jet:
        """Return the coefficients over a cell without a corner inside, not yet times the factor."""
        key = low, high, ctx.prec
        found = self._jets.get(key)
        if found is None:
            if len(self._jets) >= _MOST_KEPT:
                self._jets.clear()
            found = self._jets[key] = self._jet(low, high)
        return found

    def _jet(self, low: Rational, high: Rational) -> Jet:
        jet = Jet.variable(low, high, self.center, self.scale)
        if self.first is not None:
            k = self.first.segment_after(self._inner((low + high) / 2))
            jet = ExactStage(Curves((), (self.first.polynomials[k],), ())).jet(jet)
        for stage in self.stages:
            jet = stage.jet(jet)
        return jet

    def value(self, at: Value, side: int = 0) -> arb:
        """Return the value at a place, or the limit there from one side."""
        ball = self._value(at, side)
        return ball if self.factor == 1 else arb(self.factor) * ball

    def _value(self, at: Value, side: int) -> arb:
        if not isinstance(at, fmpq):
            if at in self.labels:
                return arb(self.labels[at])
            assert self.first is not None
            inner = self.first.labels[at]
        elif self.points and not side and at in self.points:
            return arb(self.points[at])
        else:
            inner = self._inner(at)
            if self.first is not None:
                inner = self._first(inner, side if self.scale > 0 else -side)
        count = next((k for k, one in enumerate(self.stages) if not isinstance(one, ExactStage)), len(self.stages))
        for stage in self.stages[:count] if not side else ():  # as long as the number is rational, exactly
            assert isinstance(stage, ExactStage)
            inner = stage.function(inner)
        ball = arb(inner)
        for stage in self.stages[0 if side else count :]:
            ball = stage.value(ball)
        return ball

    def far(self, start: Rational) -> Far | None:
        """Return what the chain is beyond a number, outwards from 0, which must lie beyond all corners."""
        found: Far | None = Far(1 / self.scale, arb(-self.center / self.scale))
        for stage in (*(() if self.first is None else (ExactStage(self.first),)), *self.stages):
            found = None if found is None else stage.far(found, start)
        return None if found is None else found.times(self.factor)

    def exact(self, at: Rational) -> Rational:
        """Return the value at a number, not yet times the factor, of a chain that is polynomials alone."""
        if self.stages or self.first is None:
            raise NotImplementedError
        return self.points[at] if at in self.points else self.first(self._inner(at))

    def _inner(self, at: Rational) -> Rational:
        return (at - self.center) / self.scale

    def _first(self, inner: Rational, side: int) -> Rational:
        assert self.first is not None
        if not side:
            return self.first(inner)
        k = self.first.segment_after(inner) if side > 0 else self.first.segment_before(inner)
        return self.first.polynomials[k](inner)

    def rescaled(self, center: Rational, scale: Rational) -> Chain:
        """Return the chain of `(x - center) / scale`."""
        points = {at * scale + center: value for at, value in self.points.items()}
        return replace(self, center=self.center * scale + center, scale=self.scale * scale, points=points, _jets={})

    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Chain:
        """Return the chain with other values at some numbers and labels."""
        return replace(
            self,
            points={**self.points, **{at: value / self.factor for at, value in points.items()}},
            labels={**self.labels, **{label: value / self.factor for label, value in labels.items()}},
        )

    def is_read_with(self, other: Chain) -> bool:
        """Whether one evaluation serves both: outputs of one network for one input, or polynomials between knots."""
        if self.points or self.labels or other.points or other.labels:
            return False
        if not self.stages and not other.stages:
            return (self.center, self.scale) == (other.center, other.scale)
        if not self.stages or not other.stages:
            return False
        mine, theirs = self.stages[-1], other.stages[-1]
        return (
            isinstance(mine, NetworkStage)
            and isinstance(theirs, NetworkStage)
            and mine.layers is theirs.layers
            and self.first is other.first
            and (self.center, self.scale, self.stages[:-1]) == (other.center, other.scale, other.stages[:-1])
        )

    def plus(self, other: Chain) -> Chain:
        """Return the sum with a chain that is read with this one."""
        if not self.stages:
            assert self.first is not None
            assert other.first is not None
            knots, polynomials, values, labels = added([(self.factor, self.first), (other.factor, other.first)])
            whole = Curves(tuple(knots), tuple(polynomials), tuple(values), labels)
            return replace(self, factor=ONE, first=whole, _jets={})
        mine, theirs = self.stages[-1], other.stages[-1]
        assert isinstance(mine, NetworkStage)
        assert isinstance(theirs, NetworkStage)
        columns = zip(mine.readout, theirs.readout, strict=True)
        stage = mine.read_by([self.factor * a + other.factor * b for a, b in columns])
        return replace(self, factor=ONE, stages=(*self.stages[:-1], stage), _jets={})


class Chains:
    """A sum of chains."""

    def __init__(self, chains: Iterable[Chain]) -> None:
        each: list[Chain] = []
        for chain in chains:
            known = next((k for k, other in enumerate(each) if other.is_read_with(chain)), None)
            if known is None:
                each.append(chain)
            else:
                each[known] = each[known].plus(chain)
        self.each = tuple(each)
        self._far: dict[tuple[int, int], tuple[Rational, Far]] = {}  # by side and bits

    @cached_property
    def corners(self) -> dict[Rational, bool]:
        """Where formulas meet, in order, with whether the function is continuous there."""
        found: dict[Rational, bool] = {}
        for chain in self.each:
            for corner, is_continuous in chain.corners.items():
                found[corner] = found.get(corner, True) and is_continuous
        return dict(sorted(found.items()))

    @cached_property
    def is_partial(self) -> bool:
        """Whether there may be numbers at which a function by name has no value."""
        stages = (stage for chain in self.each for stage in chain.stages)
        return any(isinstance(stage, FormulaStage) and stage.function.is_partial for stage in stages)

    def is_continuous(self, at: Rational) -> bool:
        """Whether the function is known to be continuous at a place."""
        return not self.corners or self.corners.get(at, True)

    @cached_property
    def places(self) -> list[Rational]:
        """The corners alone."""
        return list(self.corners)

    def distance_beside(self, at: Rational) -> Rational:
        """Return a distance from a corner within which there is no other."""
        k = bisect_left(self.places, at)
        gaps = [abs(other - at) for other in self.places[max(k - 1, 0) : k + 2] if other != at]
        return min([ONE, *gaps]) / 2

    def trend(self, low: Rational, high: Rational) -> int:
        """Return 1 where no chain falls over a cell, -1 where none rises; 0 where that is not known."""
        middle = (low + high) / 2
        trends = {chain.trend(low, high) for chain in self.each if not chain.is_constant(middle)}
        return trends.pop() if len(trends) == 1 else int(not trends)

    def tail(self, side: int) -> tuple[Rational, int | None]:
        """Return where the last piece towards a side begins, and how the function goes on from there.

        That is 1 where it never falls on the way out, -1 where it falls beyond all bounds, 0 where it is constant, None
        where none of these is known.
        """
        start = self.places[-1 if side > 0 else 0] if self.places else ZERO
        inside = start + side
        if all(chain.is_constant(inside) for chain in self.each):
            return start, 0
        way = side * self.trend(min(start, inside), max(start, inside))
        moving = [chain for chain in self.each if not chain.is_constant(inside)]
        is_unbounded = any(all(stage.is_unbounded for stage in chain.stages) for chain in moving)
        return start, way if way > 0 or (way < 0 and is_unbounded) else None

    def far(self, side: int, beyond: Rational, bits: int) -> tuple[Rational, Far] | None:
        """Return a whole number beyond all corners and another number, and what the function is from there on outwards.

        The offset is known to about so many bits, if that is to be had; None where no line is known.
        """
        known = self._far.get((side, bits))
        if known is not None and abs(known[0]) >= beyond:
            return known
        start = side * max([ONE, fmpq(beyond.ceil()), *(fmpq(abs(place).ceil()) + 1 for place in self.places)])
        known = None
        for _ in range(_DOUBLINGS):
            parts = [chain.far(start) for chain in self.each]
            sums = Far(ZERO, arb(0))
            for part in parts:
                sums = Far(ZERO, arb.nan()) if part is None else sums.plus(part)
            if sums.offset.is_finite():
                if known is not None and sums.offset.rad() >= known[1].offset.rad():
                    break  # what is left is rounding, or never known
                known = start, sums
                if sums.offset.rad() * 2**bits <= 1:
                    break
            start *= 2
        if known is not None:
            self._far[side, bits] = known
        return known

    def jet(self, low: Rational, high: Rational) -> Jet:
        """Return the coefficients over a cell without a corner inside."""
        jets = [chain.jet(low, high) for chain in self.each]
        factors = [arb(chain.factor) for chain in self.each]

        def summed(parts: Sequence[Sequence[arb]]) -> list[arb]:
            columns = zip(*parts, strict=True)
            return [sum((f * one for f, one in zip(factors, column, strict=True)), arb(0)) for column in columns]

        return jets[0].with_(summed([jet.middle for jet in jets]), summed([jet.cell for jet in jets]))

    def value(self, at: Value, side: int = 0) -> arb:
        """Return the value at a place, or the limit there from one side."""
        return sum((chain.value(at, side) for chain in self.each), arb(0))

    def overwritten(self, points: Mapping[Rational, Rational], labels: Mapping[Label, Rational]) -> Chains:
        """Return the sum with other values at some numbers and labels."""
        first, *rest = self.each
        nothing = dict.fromkeys(points, ZERO), dict.fromkeys(labels, ZERO)
        return Chains([first.overwritten(points, labels), *(one.overwritten(*nothing) for one in rest)])
