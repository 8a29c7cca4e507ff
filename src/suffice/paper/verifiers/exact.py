"""The exact verifier: the project's own pieces, in rational arithmetic. Its verdicts are proofs, and never unknown."""

from __future__ import annotations

from suffice.core.constraint import Drop
from suffice.core.counterexamples import breaking_input
from suffice.core.drops import Separable, Worst, bound_drops
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.paper.instance import Query
from suffice.paper.verifiers.interface import HOLDS, Reply, Trust, Verdict, Verifier


class ExactVerifier(Verifier):
    """Decides by the exact minimum of each component; takes any shape and any region.

    `PieceBudgetError` if a network has more pieces than its problem's budget: bisection takes those.
    """

    name = "exact"
    trust = Trust.PROVEN
    takes_any_region = True

    def reply(self, query: Query, seconds: float) -> Reply:
        """Return what the minima decide; the time limit is not needed."""
        drops, worst = _drops(query)
        row, region = [part.at for part in query.parts], [part.region for part in query.parts]
        constraint = Separable(query.margin, drops, query.is_strict)
        if constraint.admits(range(len(drops))):
            return HOLDS
        if all(drop.is_attained for drop in drops):
            point: tuple[Value, ...] = tuple(case.value_at_most(case.infimum.value) for case in worst)
        else:
            point = tuple(breaking_input(constraint, worst, tuple(row), region, range(len(drops))))
        return Reply(Verdict.COUNTEREXAMPLE, point)


def lowest_side(query: Query) -> Rational | None:
    """Return the exact infimum of a query's left side over its box; None if it has none."""
    drops, _ = _drops(query)
    return None if any(drop.is_infinite for drop in drops) else query.margin - sum((d.value for d in drops), ZERO)


def _drops(query: Query) -> tuple[tuple[Drop, ...], tuple[Worst, ...]]:
    functions = [part.component.pieces for part in query.parts]
    row, region = tuple(part.at for part in query.parts), [part.region for part in query.parts]
    return bound_drops(functions, [part.here for part in query.parts], row, region)
