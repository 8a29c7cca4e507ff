"""What `Explainer` answers about a model as a whole, and about the rows of a table together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from suffice.errors import ClaimError, OptionError
from suffice.model.compiled import Compiled
from suffice.numbers.exact import brief
from suffice.question.box import Box
from suffice.question.budget import MAX_SECONDS
from suffice.question.claim import Claim
from suffice.question.claims import SAME
from suffice.question.question import Arithmetic, Question

if TYPE_CHECKING:  # batches load a compiler of their own, which questions about one row do not need
    from suffice.decisions.check import Verdict
    from suffice.decisions.monotone import Monotonicity
    from suffice.decisions.rows import Portfolio

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
        return check(self.compiled, Box.read(model, box), question, winner, self._portfolio(table))

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
        return monotone(self.compiled, index, _DIRECTIONS[direction], winner, self._portfolio(table))

    def _winner(self, what: str, outcome: Any, *, is_needed: bool) -> int:
        """Return the index of the class that is asked about; where none need be named, the second of two."""
        from suffice.decisions.words import class_index

        classes = self.compiled.model.classes
        is_default = outcome is None and not is_needed and len(classes) == 2
        return class_index(self.compiled.model, classes[1] if is_default else outcome, what)

    def _portfolio(self, table: Any) -> Portfolio | None:
        from suffice.decisions.rows import Portfolio

        return table if table is None or isinstance(table, Portfolio) else Portfolio(self.compiled, table)
