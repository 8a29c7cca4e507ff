"""Questions about the radius: how far a set suffices, how sizes grow with it, and the nearest break."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from suffice.breaking import easiest_break
from suffice.drops import Constraint
from suffice.errors import BudgetError
from suffice.growth import Growth, Reach
from suffice.rational import ONE, ZERO, Rational, brief
from suffice.search.covering import Cover


class Stretch(NamedTuple):
    """Radii over which one cost is the least: up to `reach`, from where the stretch before ends."""

    reach: Reach
    cover: Cover


def sizes_by_radius(
    growth: Growth, solve: Callable[[Sequence[Constraint]], Cover], until: Rational | None
) -> tuple[Stretch, ...]:
    """Return how the least cost of a sufficient set grows with the radius, with the exact radii where it does.

    Notes
    -----
    A set that is best at some radius stays best for as long as it suffices, for the least cost never falls. So the walk
    goes from the end of one set's reach to a best set just beyond, and a stretch ends where that one costs more.
    """
    stretches: list[Stretch] = []
    cover, known = _best(solve, growth.at(ZERO), ZERO), ZERO
    while True:
        kept = set(cover.kept)
        reach = growth.reach([i for i in range(len(growth.row)) if i not in kept], known)
        if until is not None and (reach.radius is None or reach.radius >= until):
            is_last = reach.radius is None or reach.radius > until or reach.is_attained
            last = cover if is_last else _best(solve, growth.at(until), until)
            if last.cost > cover.cost:
                stretches.append(Stretch(Reach(until, is_attained=False), cover))
            return (*stretches, Stretch(Reach(until, is_attained=True), last))
        if reach.radius is None:
            last = cover if reach.is_attained else _best(solve, growth.at(None), None)
            if last.cost > cover.cost:
                stretches.append(Stretch(reach, cover))
            return (*stretches, Stretch(Reach(None, is_attained=True), last))
        beyond = growth.above(reach.radius) if reach.is_attained else growth.at(reach.radius)
        following = _best(solve, beyond, reach.radius)
        if following.cost > cover.cost:
            stretches.append(Stretch(reach, cover))
        cover, known = following, reach.radius


def _best(
    solve: Callable[[Sequence[Constraint]], Cover], constraints: Sequence[Constraint], radius: Rational | None
) -> Cover:
    cover = solve(constraints)
    if not cover.is_best:
        where = "on the whole domain" if radius is None else f"at the radius {brief(radius)}"
        raise BudgetError(
            f"{where} the least cost is only known to lie between {cover.lower_bound} and {cover.cost}; "
            "raise max_nodes or max_seconds"
        )
    return cover


class Nearest(NamedTuple):
    """The nearest break by fewest features: nothing breaks below `radius`, nor at it unless `is_attained`."""

    radius: Rational
    is_attained: bool
    part: int  # which constraint breaks
    moved: tuple[int, ...]


def nearest_break(growth: Growth) -> Nearest | None:
    """Return the smallest radius at which as few features break a constraint as can within a radius of 1.

    Notes
    -----
    Some features that break it are taken, and the radius is shrunk to where they just do. If others can break it there,
    or just below, they take their place; each step shrinks the radius or rules it out, and sets are finitely many.
    """
    everything = range(len(growth.row))
    best = easiest_break(growth.at(ONE), (), everything)
    if best is None:
        return None
    size = len(best[1])
    while True:
        part, moved = best
        reach = growth.reach(moved)
        assert reach.radius is not None
        nearer = growth.at(reach.radius) if reach.is_attained else growth.below(reach.radius)
        other = easiest_break(nearer, (), everything)
        if other is None or len(other[1]) > size:
            at = growth.at(reach.radius) if not reach.is_attained else growth.above(reach.radius)
            part = next(c for c, constraint in enumerate(at) if not constraint.admits(moved))
            return Nearest(reach.radius, not reach.is_attained, part, tuple(moved))
        best = other
