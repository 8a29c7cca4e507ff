"""What `Explainer` answers for those who work with a model's decisions: what could be done about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from suffice.core.scores import at_scores
from suffice.decisions.face import Decisions
from suffice.errors import OptionError
from suffice.model.compiled import Compiled
from suffice.numbers.exact import brief
from suffice.question.budget import MAX_SECONDS
from suffice.question.claim import NO_CLASS, Claim
from suffice.question.claims import SAME, predicted_class
from suffice.question.row import Row, read_row

if TYPE_CHECKING:  # batches load a compiler of their own, which questions about one row do not need
    from suffice.decisions.card import Card
    from suffice.decisions.contributions import Contributions
    from suffice.decisions.planner import Planner, Target
    from suffice.decisions.recourse import Recourse, RecourseTable
    from suffice.decisions.rows import Portfolio
    from suffice.decisions.rules import Rule, RuleSet


class Desk(Decisions):
    """The questions of `Explainer` about what can be done, beside those about boxes, features and tables."""

    def recourse(
        self,
        x: Any,
        actions: Any,
        outcome: Any = None,
        *,
        claim: Claim = SAME,
        relations: Iterable[Any] = (),
        alternatives: int = 0,
        table: Any = None,
        max_seconds: float = MAX_SECONDS,
    ) -> Recourse:
        """Return the cheapest changes of a row that lead to another decision.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row.
        actions : mapping of feature names to actions
            Features that are not named cannot change. An action is a mapping, of which everything may be left out:
            `direction` ("up", "down", "any"), `step` (numbers move by multiples of it; needed but for integers),
            `most` (how far), `low` and `high` (limits), `to` (a list of values that it can become, or a mapping from
            values to such lists), and `cost` (default 1): a number for any change, a mapping of `fixed`, `each` (a unit
            of distance) and `percentile` (of the table, a hundredth at least), one from values to numbers, or a
            function of the old and the new value.
        outcome : a class of the model
            What it should be decided instead; by default the other of two.
        claim : Claim
            In place of a class: `AtLeast(value)` or `AtMost(value)`, a score.
        relations : list of (name, sign, name)
            What must hold after the changes if it holds now, such as `("satisfactory", "<=", "trades")`.
        alternatives : int
            How many other sets of changes to list.
        table : table of rows, optional
            For costs by percentile.
        max_seconds : float
            Budget.

        Returns
        -------
        Recourse

        Raises
        ------
        ActionError, ClaimError
            If an action, a cost, a relation or the aim means nothing, or the model has terms over two features.
        """
        from suffice.decisions.recourse import recourse

        if isinstance(alternatives, bool) or not isinstance(alternatives, int) or alternatives < 0:
            raise OptionError(f"alternatives must be a whole number of sets of changes, got {brief(alternatives)}")
        row = read_row(self.compiled.model, x)
        planner = self._planner(actions, self._aim(row, outcome, claim), relations, self._portfolio(table))
        return recourse(planner, row, alternatives, max_seconds)

    def recourse_batch(
        self,
        table: Any,
        actions: Any,
        outcome: Any,
        *,
        relations: Iterable[Any] = (),
        max_seconds: float = MAX_SECONDS,
    ) -> RecourseTable:
        """Return the cheapest changes that lead to a decision, for all rows of a table that are decided otherwise.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows; percentiles are those of its columns.
        actions, outcome, relations
            As `recourse` takes them.
        max_seconds : float
            Budget of each row.

        Returns
        -------
        RecourseTable
        """
        from suffice.decisions.planner import Target
        from suffice.decisions.recourse import recourse_batch

        portfolio = self.portfolio(table)
        target = Target(SAME, self._winner("recourse_batch", outcome, is_needed=True))
        return recourse_batch(self._planner(actions, target, relations, portfolio), portfolio, max_seconds)

    def card(self, table: Any, lines: int = 60) -> Card:
        """Return a points card that decides with proof, or says to ask the model.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows for which the card is to decide as many as it can; its proofs hold for all inputs.
        lines : int
            How many lines it has at most.

        Returns
        -------
        Card

        Raises
        ------
        CardError
            If there are not two classes, terms over two features, or a feature that adds without bound.
        """
        from suffice.decisions.card import card

        if isinstance(lines, bool) or not isinstance(lines, int) or lines < 0:
            raise OptionError(f"lines must be a whole number of lines, got {brief(lines)}")
        portfolio = self.portfolio(table)
        return self._ask(lambda compiled: card(portfolio.seen_by(compiled), lines))

    def rule(self, x: Any, table: Any, *, conditions: int = 4, max_seconds: float = MAX_SECONDS) -> Rule:
        """Return the most general rule about a row: few conditions that it meets, under which all are decided as it is.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row.
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows of which the rule is to cover as many as it can; it is proven of all inputs.
        conditions : int
            How many features it may speak of.
        max_seconds : float
            Budget; when it ends, the rule still holds, and a bound says how many rows others could cover.

        Returns
        -------
        Rule

        Raises
        ------
        CardError
            If there are not two classes, terms over two features, or a feature that adds without bound.
        """
        from suffice.decisions.rules import rule

        _whole("conditions", conditions, 1)
        row = read_row(self.compiled.model, x)
        portfolio = self.portfolio(table)

        def answer(compiled: Compiled) -> Rule:
            winner = at_scores(compiled, row, lambda scores: predicted_class(compiled.model, scores))
            return rule(portfolio.seen_by(compiled), row, winner, conditions, max_seconds)

        return self._ask(answer)

    def rules(
        self, table: Any, *, conditions: int = 4, most: int = 20, max_seconds: float = 6 * MAX_SECONDS
    ) -> RuleSet:
        """Return rules that cover a table as far as they can: each next one covers most of the rows that are left.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
        conditions : int
            How many features a rule may speak of.
        most : int
            How many rules there may be.
        max_seconds : float
            Budget of all together.

        Returns
        -------
        RuleSet
            With a bound on what any rules of so many conditions could cover.

        Raises
        ------
        CardError
            As for `rule`.
        """
        from suffice.decisions.rules import rules

        _whole("conditions", conditions, 1)
        _whole("most", most, 1)
        portfolio = self.portfolio(table)
        return self._ask(lambda compiled: rules(portfolio.seen_by(compiled), conditions, most, max_seconds))

    def contributions(self, x: Any, reference: Any = "average", *, table: Any = None) -> Contributions:
        """Return what each feature adds to the score of the predicted class, compared with a reference.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row.
        reference : "average" or a row
            What is compared: for each term of the model, its average over the rows of the table, or its value at a row.
        table : table of rows, optional
            The rows of which "average" is the average.

        Returns
        -------
        Contributions
            Exact numbers that add up to the difference of the two scores.

        Raises
        ------
        ProfileError
            If there is nothing to compare with.
        """
        from suffice.decisions.contributions import contributions

        return contributions(self.compiled, read_row(self.compiled.model, x), reference, self._portfolio(table))

    def _planner(self, actions: Any, target: Target, relations: Iterable[Any], portfolio: Portfolio | None) -> Planner:
        from suffice.decisions.actions import read_actions, read_relations
        from suffice.decisions.planner import Planner

        model = self.compiled.model
        return Planner(self.compiled, target, read_actions(model, actions, portfolio), read_relations(model, relations))

    def _aim(self, row: Row, outcome: Any, claim: Claim) -> Target:
        """Return what is to be reached from a row."""
        from suffice.decisions.planner import Target
        from suffice.decisions.words import class_index

        model = self.compiled.model
        if "regression" in claim.tasks and outcome is None:
            return Target(claim, NO_CLASS)
        if outcome is None and len(model.classes) == 2:
            winner = at_scores(self.compiled, row, lambda scores: predicted_class(model, scores))
            return Target(claim, 1 - winner)
        return Target(claim, class_index(model, outcome, "recourse"))


def _whole(name: str, given: Any, least: int) -> None:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise OptionError(f"{name} must be a whole number, {least} or more, got {brief(given)}")
