"""A region whose radius grows, for a model whose drops are not affine in it: radii enclosed by halving.

Such are models with curved shapes, and with networks of so many pieces that their knots are not all known.

A drop never falls as the radius grows, and at every rational radius it is exact; so whether features suffice is decided
exactly at each radius tried, and where that changes is enclosed as closely as one likes. The radius itself is a root of
a polynomial, or of sums of square roots of such, and is not looked for.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from flint import fmpq

from suffice.core.extent import Cell, Extent
from suffice.core.radius_path import RadiusPath
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.surd import Exact, upper
from suffice.shapes.curves import Curves
from suffice.shapes.lazy import Lazy


@dataclass(frozen=True)
class CurvedPath(RadiusPath):
    """The constraints of a claim about a model with curved shapes, as functions of the radius; see `RadiusPath`."""

    close: ClassVar[Rational] = fmpq(1, 2**40)  # how closely a radius is enclosed, relative to where it is

    def reach(self, freed: Collection[int], known: Rational = ZERO) -> Extent:
        """Return up to which radius the constraints admit some freed features; they do at the one known."""
        cell = Cell(lambda radius: all(one.admits(freed) for one in self.at(radius, freed)), known)
        features = [i for i in self._moving if i in set(freed)]
        cell.cut([ONE])
        cell.cut(event for i in self.events if i in set(freed) for event in cell.inside(self.events[i]))
        if cell.high is None:
            cell.cut([last_turn(self, features)])
        if cell.high is None and any(self._grows_for_ever(i) for i in features):
            while cell.high is None:  # a drop that grows for ever uses up any margin
                cell.cut([2 * max(cell.low, ONE)])
        return self._without_end(cell, freed) if cell.high is None else self._halved(cell, cell.high)

    def _halved(self, cell: Cell, high: Rational) -> Extent:
        """Return where the property ends, between two radii close to each other."""
        while high - cell.low > max(high, ONE) * self.close:
            cell.cut([(cell.low + high) / 2])
            high = high if cell.high is None else cell.high
        return Extent(cell.low, is_attained=True, more=high - cell.low)

    def _without_end(self, cell: Cell, freed: Collection[int]) -> Extent:
        """Return how far the property holds, if it does beyond the last turn and no drop grows for ever."""
        return Extent(None, is_attained=cell.holds(None))


def last_turn(path: RadiusPath, features: Collection[int]) -> Rational:
    """Return a radius beyond which no feature meets a knot, an end or a turn any more, nor an integer next to one.

    Beyond it a drop either grows for ever or not at all.
    """
    found = [ONE]
    for i in features:
        functions, own = (one[i] for one in path.functions), path.row[i]
        assert isinstance(own, fmpq)
        turns: list[Exact] = []
        for one in functions:
            turns += [turn.place for turn in one.turns] if isinstance(one, Curves) else []
            turns += one.outermost(*path.domains[i].has_no_end) if isinstance(one, Lazy) else []
        ahead: list[Exact] = [place - own for place in turns]
        reached = [max(upper(one), upper(-one)) / path.units[i] for one in ahead]
        found += [radius + 2 / path.units[i] for radius in (*reached, *path.events[i][-1:])]
    return max(found)
