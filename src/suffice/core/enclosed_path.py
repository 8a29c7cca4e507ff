"""A region whose radius grows, for a model with smooth shapes: drops between two numbers at every radius.

Up to which radius features suffice lies between the last radius tried at which they do for certain and the first at
which they do not for certain. Both are proven; how far they are apart is told.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from flint import fmpq

from suffice.core.constraint import NO_DROP, Constraint
from suffice.core.counterexamples import breaking_input
from suffice.core.curved_path import CurvedPath
from suffice.core.drops import Separable, enclose_drops
from suffice.core.extent import Cell, Extent
from suffice.numbers.enclosure import Real
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Value

_DOUBLINGS = 30  # of a radius, until it is left open whether something holds further out


@dataclass(frozen=True)
class EnclosedPath(CurvedPath):
    """The constraints of a claim about a model with smooth shapes, as functions of the radius; see `RadiusPath`.

    Parameters
    ----------
    known : for each constraint the value of each part at the row, enclosed; takes the place of `here`
    bits : how closely values are enclosed
    side : whether constraints are to be those that admit, or that refuse, only what is certain; both unless it is said
    """

    known: tuple[tuple[Real, ...], ...] = ()
    bits: int = 0
    side: Literal["inner", "outer"] | None = None

    close: ClassVar[Rational] = fmpq(1, 2**24)

    def on(self, side: Literal["inner", "outer"]) -> EnclosedPath:
        """Return the constraints that admit, or refuse, only what is certain."""
        return replace(self, side=side, constraints=tuple(getattr(one, side) for one in self.constraints))

    def at(self, radius: Rational | None, features: Collection[int] | None = None) -> tuple[Constraint, ...]:
        """Return the constraints at a radius (None: the whole domain); only these features move, if any are named."""
        chosen = tuple(range(len(self.row)) if features is None else features)
        row, region = tuple(self.row[i] for i in chosen), [self._around(i, radius) for i in chosen]
        found = []
        for functions, here, limit in zip(self.functions, self.known, self.constraints, strict=True):
            some = enclose_drops([functions[i] for i in chosen], [here[i] for i in chosen], row, region, self.bits)
            ceilings, floors = [NO_DROP] * len(self.row), [NO_DROP] * len(self.row)
            for i, ceiling, floor in zip(chosen, some.ceilings, some.floors, strict=True):
                ceilings[i], floors[i] = ceiling, floor
            both = Separable(
                limit.margin, tuple(ceilings), limit.is_strict, limit.max_changed, limit.gap, tuple(floors)
            )
            found.append(both if self.side is None else getattr(both, self.side))
        return tuple(found)

    def reach(self, freed: Collection[int], known: Rational = ZERO) -> Extent:
        """Return up to which radius the constraints admit some freed features; they do at the one known."""
        if self.side is not None:
            return CurvedPath.reach(self, freed, known)
        safe = self.on("inner").reach(freed, known)
        if safe.radius is None:
            return safe
        end = self.on("outer").reach(freed, safe.radius)
        if end.radius is None or end.is_open:
            return replace(safe, is_open=True)
        return replace(safe, more=end.radius + end.more - safe.radius, is_open=False)

    def _without_end(self, cell: Cell, freed: Collection[int]) -> Extent:
        """Return how far the property holds: smooth functions may turn, or near their limits, at any distance."""
        if cell.holds(None):
            return Extent(None, is_attained=True)
        # Each number and category of a domain is in reach at some radius, from any of them; special codes never are.
        reached = tuple(
            one.around(x, ZERO) if x in one.codes_ else replace(one, codes_=())
            for one, x in zip(self.domains, self.row, strict=True)
        )
        if all(one.admits(freed) for one in replace(self, domains=reached).at(None, freed)):
            return Extent(None, is_attained=False)
        for _ in range(_DOUBLINGS):
            cell.cut([2 * max(cell.low, ONE)])
            if cell.high is not None:
                return self._halved(cell, cell.high)
        return Extent(cell.low, is_attained=True, is_open=True)

    def below(self, radius: Rational) -> tuple[Constraint, ...]:
        """Refuse: no radius is known exactly, so that nothing is asked just below one."""
        raise NotImplementedError

    def above(self, radius: Rational) -> tuple[Constraint, ...]:
        """Refuse: no radius is known exactly, so that nothing is asked just above one."""
        raise NotImplementedError

    def breaking_input(self, part: int, radius: Rational | None, moved: Sequence[int]) -> list[Value]:
        """Return an input within a radius that breaks a constraint and differs from the row in the moved features."""
        region = self.region(radius)
        found = enclose_drops(self.functions[part], self.known[part], self.row, region, self.bits)
        limit = self.constraints[part].outer
        constraint = Separable(limit.margin, found.floors, limit.is_strict, limit.max_changed)
        return breaking_input(constraint, found.worst, self.row, region, moved)
