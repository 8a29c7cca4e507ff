"""What `Explainer` answers about a model as a whole, and about the rows of a table together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from suffice.core.scores import at_scores
from suffice.errors import ClaimError, OptionError, PieceBudgetError, RadiusError
from suffice.model.compiled import Compiled
from suffice.numbers.exact import brief
from suffice.question.box import Box
from suffice.question.budget import MAX_SECONDS
from suffice.question.claim import Claim
from suffice.question.claims import SAME, predicted_class
from suffice.question.preferences import Groups
from suffice.question.question import Arithmetic, Options, Question
from suffice.question.region import Categories, Radius, Unit
from suffice.question.row import read_row

if TYPE_CHECKING:  # batches load a compiler of their own, which questions about one row do not need
    from suffice.decisions.check import Verdict
    from suffice.decisions.monotone import Monotonicity
    from suffice.decisions.reasons import Reasons
    from suffice.decisions.reasons_batch import ReasonsTable
    from suffice.decisions.rows import Portfolio
    from suffice.decisions.shares import Stability, Unaffected

Found = TypeVar("Found")
_DIRECTIONS = {1: 1, -1: -1, "up": 1, "down": -1}


class Decisions:
    """The questions of `Explainer` about boxes of inputs, whole features and tables."""

    compiled: Compiled

    def check(
        self,
        box: Any,
        outcome: Any = None,
        *,
        claim: Claim = SAME,
        table: Any = None,
        arithmetic: Arithmetic = "exact",
        max_seconds: float = MAX_SECONDS,
    ) -> Verdict:
        """Return whether a claim holds for every input that meets some conditions, whatever its other features are.

        Parameters
        ----------
        box : mapping of feature names to conditions
            A range `(low, high)`, both ends included, None for an open end; a value; or a list or set of these. Of
            features that are not named every value of the domain is meant, special codes and missing cells too.
        outcome : a class of the model
            The class that the claim is about; not needed for a score or a regression.
        claim : Claim
            `Same()`: the outcome is decided. `ProbabilityAtLeast(p)`: it is so probable. `Beats(other)`,
            `AtLeast(value)` and `AtMost(value)` as for rows.
        table : table of rows, optional
            The rows that lie in the box are counted, and those that violate the claim listed.
        arithmetic, max_seconds
            As `explain` takes them.

        Returns
        -------
        Verdict
            Proven, or refuted with an input.

        Raises
        ------
        BoxError, ClaimError, DataError, UnsettledError, BudgetError
            If a value is wrong, or the claim is neither proven nor refuted; the message says why.
        """
        from suffice.decisions.check import check

        model = self.compiled.model
        if claim.reads_own_score:
            raise ClaimError(
                f"{type(claim).__name__} is counted from a row's own score, and a box has none; use AtLeast"
            )
        question = Question.read(
            model, math.inf, unit="raw", claim=claim, arithmetic=arithmetic, max_seconds=max_seconds
        )
        winner = self._winner("the claim", outcome, is_needed="regression" not in claim.tasks)
        inputs, portfolio = Box.read(model, box), self._portfolio(table)
        return self._ask(lambda compiled: check(compiled, inputs, question, winner, _seen(portfolio, compiled)))

    def monotone(
        self, feature: str, direction: Literal[1, -1, "up", "down"], outcome: Any = None, *, table: Any = None
    ) -> Monotonicity:
        """Return whether a score never falls as a feature moves in a direction, whatever the other features are.

        Parameters
        ----------
        feature : str
            A feature with numbers; special codes and missing cells have no direction and are left out.
        direction : {1, -1}, or {"up", "down"}
            Which way should help.
        outcome : a class of the model
            The class whose score must not fall; by default the second of two. Of several classes, its lead over each
            other one. A regression has none.
        table : table of rows, optional
            Its *perverse* rows are listed: those that have the outcome, and lose it by moving in the direction.

        Returns
        -------
        Monotonicity
            Proven, or the stretches over which the score falls.
        """
        from suffice.decisions.monotone import monotone

        if isinstance(direction, bool) or direction not in _DIRECTIONS:
            raise OptionError(f"direction must be 1 or 'up', -1 or 'down', got {brief(direction)}")
        index = self.compiled.model.index(feature)
        winner = self._winner("monotone", outcome, is_needed=len(self.compiled.model.classes) > 2)
        way, portfolio = _DIRECTIONS[direction], self._portfolio(table)
        return self._ask(lambda compiled: monotone(compiled, index, way, winner, _seen(portfolio, compiled)))

    def unaffected(
        self,
        table: Any,
        by: Iterable[str],
        radius: Radius = math.inf,
        *,
        unit: Unit = "std",
        claim: Claim = SAME,
    ) -> Unaffected:
        """Return for which rows of a table some features never matter, whatever values they take together.

        The other features are held at the row's values, so that what stands in for these (proxies) is not covered.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
        by : names of features
            Those that move, alone or as a group.
        radius : number, mapping by feature name, or sequence
            How far; by default over their whole domains, special codes and missing cells included.
        unit, claim
            As `explain` takes them. A regression needs a claim, such as `Within(delta)`.

        Returns
        -------
        Unaffected
            The share of rows, each predicted class apart, and the largest effect on any input.
        """
        from suffice.decisions.shares import unaffected

        model = self.compiled.model
        moving = sorted(set(model.indices(by)))
        if not moving:
            raise OptionError("by must name at least one feature, for which to ask whether it matters")
        held = [name for i, name in enumerate(model.names) if i not in moving]
        question = Question.read(model, radius, unit=unit, claim=claim, immutable=held)
        portfolio = self.portfolio(table)
        return self._ask(lambda compiled: unaffected(portfolio.seen_by(compiled), question, moving))

    def stability(
        self,
        table: Any,
        radii: Iterable[Radius],
        *,
        labels: Any = None,
        unit: Unit = "std",
        categories: Categories = "free",
        claim: Claim = SAME,
        immutable: Iterable[str] = (),
    ) -> Stability:
        """Return for which share of a table nothing within a radius changes the decision, for several radii.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
        radii : numbers, or mappings by feature name
            All features move together, each within the radius.
        labels : sequence, optional
            The true class of each row: then the share of rows that are stable and right is counted too.
        unit, categories, claim, immutable
            As `explain` takes them.

        Returns
        -------
        Stability
        """
        from suffice.decisions.rows import right_rows
        from suffice.decisions.shares import stability

        asked, held = list(radii), list(immutable)
        if not asked:
            raise RadiusError("radii must list at least one radius")
        options: Options = {"unit": unit, "categories": categories, "claim": claim, "immutable": held}
        questions = [Question.read(self.compiled.model, one, **options) for one in asked]
        portfolio = self.portfolio(table)
        told = [one if isinstance(one, str) else brief(one) for one in asked]
        right = None if labels is None else right_rows(portfolio, labels)
        return self._ask(lambda compiled: stability(portfolio.seen_by(compiled), questions, told, right))

    def reasons(
        self,
        x: Any,
        reference: Any = "typical",
        *,
        table: Any = None,
        immutable: Iterable[str] = (),
        groups: Groups = (),
        claim: Claim = SAME,
        limit: int = 10,
        max_seconds: float = MAX_SECONDS,
    ) -> Reasons:
        """Return the fewest factors that would have changed a decision, had they been as in a reference.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row.
        reference : "typical", "best", or a row
            What it is compared with: the middle number or most frequent label of each feature among the rows of the
            table with the other decision; the values that speak most for the other decision; or a profile.
        table : table of rows, optional
            For the reference "typical".
        immutable : names of features
            Those that are never given as a reason.
        groups : mapping of names to lists of features, or lists of features
            Features that count as one factor.
        claim : Claim
            What must stay true; a regression needs one, such as `AtMost(value)`.
        limit : int
            How many sets of the smallest size to list at most.
        max_seconds : float
            Budget.

        Returns
        -------
        Reasons

        Raises
        ------
        ProfileError
            If there is no such reference.
        """
        from suffice.decisions.reasons import reasons
        from suffice.decisions.reference import read_reference

        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise OptionError(f"limit must be a whole number of sets, 1 or more, got {brief(limit)}")
        model = self.compiled.model
        row = read_row(model, x)
        question = Question.read(
            model, math.inf, unit="raw", immutable=immutable, groups=groups, claim=claim, max_seconds=max_seconds
        )
        portfolio = self._portfolio(table)

        def answer(compiled: Compiled) -> Reasons:
            winner = at_scores(compiled, row, lambda scores: predicted_class(model, scores))
            against = read_reference(compiled, reference, winner, _seen(portfolio, compiled))
            return reasons(compiled, question, row, against, limit)

        return self._ask(answer)

    def reasons_batch(
        self,
        table: Any,
        outcome: Any,
        reference: Any = "typical",
        *,
        immutable: Iterable[str] = (),
        groups: Groups = (),
        max_seconds: float = MAX_SECONDS,
    ) -> ReasonsTable:
        """Return the reasons of all rows of a table with one decision, each as `reasons` finds them.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows; a "typical" reference is made of those with the other decision.
        outcome : a class of the model
            The decision whose reasons are asked for.
        reference, immutable, groups
            As `reasons` takes them. With groups, or terms over two features, every row is answered exactly.
        max_seconds : float
            Budget of each row that floats do not settle.

        Returns
        -------
        ReasonsTable
        """
        from suffice.decisions.reasons_batch import reasons_batch
        from suffice.decisions.reference import read_reference

        winner = self._winner("reasons_batch", outcome, is_needed=True)
        portfolio = self.portfolio(table)
        question = Question.read(
            self.compiled.model, math.inf, unit="raw", immutable=immutable, groups=groups, max_seconds=max_seconds
        )

        def answer(compiled: Compiled) -> ReasonsTable:
            against = read_reference(compiled, reference, winner, portfolio.seen_by(compiled))
            return reasons_batch(portfolio.seen_by(compiled), question, against, winner)

        return self._ask(answer)

    def _ask(self, answer: Callable[[Compiled], Found]) -> Found:
        """Return an answer; where a network has too many pieces even over regions, that of its enclosure."""
        try:
            return answer(self.compiled)
        except PieceBudgetError:
            if self.compiled.bounded is None:
                raise
            return answer(self.compiled.bounded)

    def _winner(self, what: str, outcome: Any, *, is_needed: bool) -> int:
        """Return the index of the class that is asked about; where none need be named, the second of two."""
        from suffice.decisions.words import class_index

        classes = self.compiled.model.classes
        is_default = outcome is None and not is_needed and len(classes) == 2
        return class_index(self.compiled.model, classes[1] if is_default else outcome, what)

    def portfolio(self, table: Any) -> Portfolio:
        """Return a table read once, to be passed to several questions in place of it.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table

        Returns
        -------
        Portfolio

        Raises
        ------
        DataError, FeatureNameError
            If the table lacks a feature's column, has one that is none, or is not a table.
        """
        from suffice.decisions.rows import Portfolio

        return table if isinstance(table, Portfolio) else Portfolio(self.compiled, table)

    def _portfolio(self, table: Any) -> Portfolio | None:
        return None if table is None else self.portfolio(table)


def _seen(portfolio: Portfolio | None, compiled: Compiled) -> Portfolio | None:
    return None if portfolio is None else portfolio.seen_by(compiled)
