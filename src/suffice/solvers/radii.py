"""Questions about the radius: how far a set suffices, how sizes grow with it, and the nearest break."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from suffice.core.constraint import NO_DROP, Constraint
from suffice.core.extent import Extent
from suffice.core.radius_path import RadiusPath
from suffice.errors import BudgetError
from suffice.numbers.exact import ONE, ZERO, Rational, brief
from suffice.solvers.cheapest_break import Break
from suffice.solvers.proofs import Cover, Proof


class Stretch(NamedTuple):
    """Radii over which one cost is the least: up to `reach`, from where the stretch before ends."""

    reach: Extent
    cover: Cover
    proof: Proof  # that from where it begins nothing costs less
    least: int  # what any set costs at least, from where it begins; less than the cover does only at a tie


Solve: TypeAlias = Callable[[Sequence[Constraint]], tuple[Cover, int]]


def sizes_by_radius(path: RadiusPath, solve: Solve, until: Rational | None) -> tuple[tuple[Stretch, ...], bool]:
    """Return how the least cost of a sufficient set grows with the radius, with the exact radii where it does.

    With it whether that is all up to `until`. Where the budget of `solve` ends after the first set, what is known by
    then is kept: up to the end of the last stretch it is the same. `solve` returns a best set as far as is known, and
    what every one costs at least.

    Notes
    -----
    A set that is best at some radius stays best for as long as it suffices, for the least cost never falls. So the walk
    goes from the end of one set's reach to a best set just beyond, and a stretch ends where that one costs more.
    """
    stretches: list[Stretch] = []
    (cover, least), known = _best(solve, path.at(ZERO), ZERO), ZERO
    proof = cover.proof  # made where the stretch begins
    while True:
        fixed = set(cover.fixed)
        reach = path.end_of_stretch(path.reach([i for i in range(len(path.row)) if i not in fixed], known))
        if until is not None and (reach.radius is None or reach.radius + 2 * reach.more >= until):
            is_last = reach.radius is None or reach.radius > until or (reach.radius == until and reach.is_attained)
            try:
                last, bound = (cover, least) if is_last else _best(solve, path.at(until), until)
            except BudgetError:
                return (*stretches, Stretch(_up_to(reach, until), cover, proof, least)), False
            if last.cost > cover.cost:
                stretches.append(Stretch(_up_to(reach, until), cover, proof, least))
                proof, least = last.proof, bound
            return (*stretches, Stretch(Extent(until, is_attained=True), last, proof, least)), True
        if reach.radius is None:
            try:
                last, bound = (cover, least) if reach.is_attained else _best(solve, path.at(None), None)
            except BudgetError:
                return (*stretches, Stretch(reach, cover, proof, least)), False
            if last.cost > cover.cost:
                stretches.append(Stretch(reach, cover, proof, least))
                proof, least = last.proof, bound
            return (*stretches, Stretch(Extent(None, is_attained=True), last, proof, least)), True
        known = reach.radius + 2 * reach.more  # surely beyond
        beyond = path.above(known) if reach.is_attained and not reach.more else path.at(known)
        try:
            following, bound = _best(solve, beyond, reach.radius)
        except BudgetError:
            return (*stretches, Stretch(reach, cover, proof, least)), False
        if following.cost > cover.cost or bound > least:
            stretches.append(Stretch(reach, cover, proof, least))
            proof, least = following.proof, bound
        cover = following


def _up_to(reach: Extent, until: Rational) -> Extent:
    """Return how far something holds that does not hold at the end."""
    is_before = reach.radius is not None and reach.radius < until
    return reach if is_before else Extent(until, is_attained=False)


def _best(solve: Solve, constraints: Sequence[Constraint], radius: Rational | None) -> tuple[Cover, int]:
    cover, least = solve(constraints)
    if not cover.is_best:
        where = "on the whole domain" if radius is None else f"at the radius {brief(radius)}"
        raise BudgetError(
            f"{where} the least cost is only known to lie between {cover.lower_bound} and {cover.cost}; "
            "raise max_nodes or max_seconds"
        )
    return cover, least


class Nearest(NamedTuple):
    """The nearest break at least cost: nothing so cheap breaks below `radius`, nor at it unless `is_attained`."""

    radius: Rational
    is_attained: bool
    cheapest: Break  # what breaks there
    is_open: bool = False  # whether the budget ended before anything nearer was ruled out
    more: Rational = ZERO  # where the true radius is not rational: it is less than this above the one given


def nearest_break(
    path: RadiusPath, cheapest: Callable[[Sequence[Constraint]], Break | None], most: int | None = None
) -> Nearest | None:
    """Return the smallest radius at which features break a constraint as cheaply as can be within a radius of 1.

    Parameters
    ----------
    path : RadiusPath
    cheapest : callable
        Returns the cheapest features that break some constraints, or None if none can.
    most : int, optional
        What the features may cost instead, if that is more.

    Notes
    -----
    Some features that break it are taken, and the radius is shrunk to where they just do. If others can break it there
    at no more cost, or just below, they take their place; each step shrinks the radius or rules it out, and sets are
    finitely many.
    """
    if not all(constraint.allows(NO_DROP) for constraint in path.constraints):  # broken at the row itself, by charges
        here = cheapest(path.at(ZERO))
        assert here is not None
        return Nearest(ZERO, True, here, is_open=here.lower_bound < here.cost)
    best = cheapest(path.at(ONE))
    if best is None:
        return None
    lower_bound = best.lower_bound
    while True:
        cost = max(best.cost, most or 0)
        reach = path.reach(best.moved)
        if reach.radius is None or (reach.is_attained and reach.radius >= ONE):  # curves are known better by now
            again = cheapest(path.at(ONE))
            if again is None:
                return None
            best, lower_bound = again, again.lower_bound
            continue
        nearer = path.at(reach.radius) if reach.is_attained else path.below(reach.radius)
        other = cheapest(nearer)
        if other is None or other.cost > cost:
            beyond = min(ONE, reach.radius + 2 * reach.more)  # at 1 they do, if nowhere before
            at = path.above(beyond) if reach.is_attained and not reach.more else path.at(beyond)
            found = _breaking(at, best)._replace(lower_bound=lower_bound)
            # Only a bound rules out what is nearer; a search that ended early shows a cost, not that none is less.
            is_open = other is not None and other.lower_bound <= cost
            return Nearest(reach.radius, not reach.is_attained, found, is_open, reach.more)
        best = other


def _breaking(constraints: Sequence[Constraint], best: Break) -> Break:
    """Return the part that breaks, and those of the features that it needs: at another radius others may have been."""
    part = next(c for c, constraint in enumerate(constraints) if not constraint.admits(best.moved))
    moved = constraints[part].broken_by((), best.moved)
    return best._replace(part=part, moved=best.moved if moved is None else tuple(moved))
