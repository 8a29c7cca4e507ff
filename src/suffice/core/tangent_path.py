"""A region whose radius grows, for a model with curves beside pair terms: two joint constraints at every radius.

Up to which radius features suffice lies between the last radius tried at which they do for certain and the first at
which they do not for certain. Both are proven; tangents are taken until they are close, or how far they are apart is
told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from flint import fmpq

from suffice.core.curved_path import last_turn
from suffice.core.extent import Extent
from suffice.core.joint import Joint
from suffice.core.joint_inputs import breaking_point
from suffice.core.joint_path import JointPath
from suffice.core.landscape import Landscape, Spot
from suffice.core.tangents import Tangents
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import Value

_CLOSE = fmpq(1, 2**24)  # how close the two radii should be, relative to where they are
_MOST_ROUNDS = 12  # how often tangents are taken for that
_SIDES: tuple[Literal["inner"], Literal["outer"]] = ("inner", "outer")


@dataclass(frozen=True)
class TangentPath(JointPath):
    """The constraints of a claim about a model with curves beside pair terms, as functions of the radius.

    Parameters
    ----------
    tangents : for each constraint what is learned of its curves
    side : whether constraints are to be those that admit, or that refuse, only what is certain; both unless it is said
    """

    tangents: tuple[Tangents, ...] = ()
    side: Literal["inner", "outer"] | None = None
    _reaches: dict[object, tuple[Extent, Extent]] = field(default_factory=dict, compare=False, repr=False)

    def on(self, side: Literal["inner", "outer"]) -> TangentPath:
        """Return the constraints that admit, or refuse, only what is certain."""
        constraints = tuple(getattr(one, side) for one in self.constraints)
        return replace(self, side=side, constraints=constraints, _grounds={})

    @property
    def _learned(self) -> tuple[int, ...]:
        return tuple(one.count for one in self.tangents)

    def _on(self, region: Sequence[Domain], extra: Callable[[Landscape, int], list[Spot]] | None) -> tuple[Joint, ...]:
        assert extra is None, "no radius is known exactly, so that nothing is asked just beside one"
        found = []
        for limit, tangents in zip(self.constraints, self.tangents, strict=True):
            inner, outer = tangents.grounds(region, self.deadline)
            both = Joint(limit.margin, inner, limit.is_strict, limit.max_changed, limit.gap, outer)
            found.append(both if self.side is None else getattr(both, self.side))
        return tuple(found)

    def reach(self, freed: Collection[int], known: Rational = ZERO) -> Extent:
        """Return up to which radius the constraints admit some freed features; they do at the one known."""
        if self.side is not None:
            return self._closest(freed, known)[self.side == "outer"]
        safe, end = self._closest(freed, known)
        if safe.radius is None:
            return safe
        if end.radius is None:
            return replace(safe, is_open=True)
        return replace(safe, more=end.radius + end.more - safe.radius)

    def _closest(self, freed: Collection[int], known: Rational) -> tuple[Extent, Extent]:
        """Return up to which radius features suffice for certain, and from where on they do not for certain."""
        key = frozenset(freed), known
        if key not in self._reaches:
            inner, outer = (self if side == self.side else self.on(side) for side in _SIDES)
            tried = ONE, last_turn(self, [i for i in self._moving if i in set(freed)])
            safe, end = (one.by_halving(freed, known, tried) for one in (inner, outer))
            for _ in range(_MOST_ROUNDS):
                if safe.radius is None or time.monotonic() >= self.deadline:
                    break
                if end.radius is not None and end.radius - safe.radius <= max(end.radius, ONE) * _CLOSE:
                    break
                if not any(one.has_more for one in self.tangents):
                    break
                for one in self.tangents:
                    one.learn()
                safe = inner.by_halving(freed, safe.radius, tried)
                end = outer.by_halving(freed, known, tried)
            self._reaches[key] = safe, end
        return self._reaches[key]

    def end_of_stretch(self, reach: Extent) -> Extent:
        """Return an end as it is: every one is enclosed."""
        return reach

    def below(self, radius: Rational) -> tuple[Joint, ...]:
        """Refuse: no radius is known exactly, so that nothing is asked just below one."""
        raise NotImplementedError

    def above(self, radius: Rational) -> tuple[Joint, ...]:
        """Refuse: no radius is known exactly, so that nothing is asked just above one."""
        raise NotImplementedError

    def breaking_input(self, part: int, radius: Rational | None, moved: Sequence[int]) -> list[Value]:
        """Return an input within a radius that breaks a constraint and differs from the row in the moved features."""
        return breaking_point(self.at(radius)[part].outer, moved)
