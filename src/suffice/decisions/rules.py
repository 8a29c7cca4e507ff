"""Rules: few conditions under which a model decides so, whatever all other features are; each proven.

In: the rows of a table, and perhaps one row that the rule must be about. Out: a `Rule` that covers as many rows as can
be, or a `RuleSet`, of which each next rule covers most of the rows that are left. How many rows any rules of so many
conditions could cover is known before one is looked for.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.answers.answer import Status
from suffice.answers.words import counted
from suffice.certificate.document import Certificate
from suffice.certificate.ranges import certify_ranges
from suffice.core.case import Case
from suffice.decisions.card import all_cells, columns_of
from suffice.decisions.cells import Cell, most_of_least, places_of, together
from suffice.decisions.rows import Portfolio
from suffice.decisions.rule_search import Finder, Found, Option
from suffice.decisions.shares import Share
from suffice.decisions.words import failed_facts
from suffice.errors import CertificateError
from suffice.layout.facts import Fact, Facts, Grid
from suffice.layout.facts import Row as Line
from suffice.layout.told import Told
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import FIRST_BITS, ends
from suffice.numbers.exact import ZERO, Rational
from suffice.numbers.values import Value
from suffice.question.documents import Json, class_document
from suffice.question.question import Question
from suffice.question.row import Row, read_row
from suffice.shapes.lazy import Lazy
from suffice.shapes.pieces import Pieces


class Condition(NamedTuple):
    """A feature, by index, and the values that it may have: a range, labels, or both."""

    feature: int
    cells: tuple[Cell, ...]

    def holds(self, row: Row) -> bool:
        """Whether a row meets it."""
        return any(cell.holds(row[self.feature]) for cell in self.cells)


@dataclass(frozen=True)
class Rule(Told):
    """Conditions under which a model decides so, whatever all other features are.

    Parameters
    ----------
    compiled : Compiled
        The model.
    winner : int
        The class that is decided, by index.
    conditions : tuple of Condition, or None
        None if no rule of so many conditions is about the row.
    share : Share
        Of the table's rows with this decision those that the rule covers.
    bound : int
        What no rule of so many conditions covers more than; of a set's later rules, which are about what is left, all.
    most : int
        How many conditions there may be.
    example : tuple of values
        A row that the rule covers, or the one that it was asked for.
    is_whole : bool
        Whether all ranges were looked at: the model's features are steps; else only those between some cuts were.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> shapes = [Steps([20, 40], [-2, 0, 2]), Steps([3], [1, -1])]
    >>> explainer = Explainer(AdditiveModel(shapes, -1, features=["income", "late"], classes=["no", "yes"]))
    >>> table = np.array([[10, 1], [30, 5], [50, 0], [50, 2], [30, 1]])
    >>> print(explainer.rule([30, 1], table, conditions=1))
    Rule: no rule of 1 condition is about this row, proven.
    >>> print(explainer.rule([50, 0], table, conditions=2))
    Rule: if income is 20 or more and late is less than 3, then yes; proven, whatever the other features are.
    Covers: 100.0 % (3 of 3) of the rows decided yes; no rule of 2 conditions covers more.
    """

    compiled: Compiled
    winner: int
    conditions: tuple[Condition, ...] | None
    share: Share
    bound: int
    most: int
    example: Row
    is_whole: bool

    @property
    def outcome(self) -> Any:
        """What is decided."""
        return self.compiled.model.classes[self.winner]

    @property
    def status(self) -> Status:
        """Whether no rule is proven to cover more rows; that the rule holds is proven always."""
        return Status.PROVEN if self.is_whole and self.bound == self.share.count else Status.BOUNDED

    def holds(self, x: Any) -> bool:
        """Whether a row meets all conditions, so that it is decided so."""
        row = read_row(self.compiled.model, x)
        return self.conditions is not None and all(one.holds(row) for one in self.conditions)

    @property
    def sentence(self) -> str:
        """The rule in words."""
        if self.conditions is None:
            return f"no rule of {self._count} is about this row"
        names = self.compiled.model.names
        each = [f"{names[one.feature]} is {' or '.join(map(str, one.cells))}" for one in self.conditions]
        return f"if {' and '.join(each)}, then {self.outcome}" if each else f"always {self.outcome}"

    @property
    def _count(self) -> str:
        return counted(self.most, "condition")

    def certificate(self, model_file: str | os.PathLike[str] | None = None) -> Certificate:
        """Return the proof that whatever meets the conditions is decided so.

        Raises
        ------
        CertificateError
            If there is no rule, or a condition joins ranges or special codes with other values.
        """
        names, domains = self.compiled.model.names, self.compiled.model.domains
        if self.conditions is None:
            raise CertificateError("there is no rule, and that there is none has no certificate: it is about all rules")
        for i, cells in self.conditions:
            if len(cells) > 1:
                raise CertificateError(f"the condition on {names[i]!r} joins a range with labels; certificates do not")
        ranges = [(i, cells[0].as_range(names[i], domains[i])) for i, cells in self.conditions]
        question = Question.read(self.compiled.model, "inf", unit="raw")
        return certify_ranges(Case.of(self.compiled, question, self.example), ranges, False, model_file)

    def facts(self) -> Facts:
        """Return the rule and how many rows it covers."""
        if self.conditions is None:
            known = "proven" if not self.bound else "as far as was looked: its time was up, or features slope"
            return (Fact("Rule", f"{self.sentence}, {known}."),)
        known = f"no rule of {self._count} covers more"
        if self.bound != self.share.count:
            known = f"none of {self._count} covers more than {self.bound:,}"
        known += "" if self.is_whole else ", of those with ends at the cuts that were looked at"
        if self.compiled.is_curved and not self.compiled.is_rational:
            known += " and more than a hair to spare"
        told = f"{self.sentence}; proven, whatever the other features are."
        return Fact("Rule", told), Fact("Covers", f"{self.share} of the rows decided {self.outcome}; {known}.")

    def document(self) -> Json:
        """Return the rule as JSON."""
        names = self.compiled.model.names
        told = None
        if self.conditions is not None:
            told = {names[one.feature]: [str(cell) for cell in one.cells] for one in self.conditions}
        return {
            "kind": "rule",
            "outcome": class_document(self.outcome),
            "conditions": told,
            "covers": self.share.document(),
            "bound": self.bound,
            "status": self.status.value,
        }


@dataclass(frozen=True)
class RuleSet(Told):
    """Rules for a table, each proven; a row that none is about must be asked of the model.

    Parameters
    ----------
    compiled : Compiled
        The model.
    rules : tuple of Rule
        From the one that covers most on; each next one covers most of what is left. Their shares are of all rows.
    most : int
        How many conditions a rule may have.
    coverable : mapping
        For each class, of the rows decided so those that any rules of so many conditions could cover at most.
    covered : mapping
        The same for these rules.
    failed : mapping of int to str
        Rows of the table that the model cannot read, and why.
    """

    compiled: Compiled
    rules: tuple[Rule, ...]
    most: int
    coverable: Mapping[Any, Share]
    covered: Mapping[Any, Share]
    failed: Mapping[int, str]

    @property
    def share(self) -> Share:
        """The share of all rows that the rules cover."""
        return _sum(self.covered)

    def decides(self, x: Any) -> Any:
        """Return the class that a rule proves for a row; None where the model must be asked."""
        return next((rule.outcome for rule in self.rules if rule.holds(x)), None)

    def on(self, portfolio: Portfolio) -> RuleSet:
        """Return the same rules with the shares of another table, as `Explainer.portfolio` reads it."""
        rows, table = list(zip(*columns_of(portfolio), strict=True)), _Table(portfolio)
        rules, met = [], np.zeros((2, len(rows)), dtype=bool)
        for rule in self.rules:
            each = np.ones(len(rows), dtype=bool)
            for one in rule.conditions or ():
                known: dict[Value, bool] = {row[one.feature]: one.holds(row) for row in rows}
                each &= np.array([known[row[one.feature]] for row in rows], dtype=bool)
            met[rule.winner] |= each
            rules.append(replace(rule, share=Share(int(each.sum()), int(table.decided[rule.winner].sum()))))
        covered = {
            name: Share(int((met[k] & table.decided[k]).sum()), int(table.decided[k].sum()))
            for k, name in enumerate(self.compiled.model.classes)
        }
        coverable = table.coverable(self.most)
        return replace(self, rules=tuple(rules), coverable=coverable, covered=covered, failed=portfolio.failed)

    def facts(self) -> Facts:
        """Return what rules could cover at most, the rules, and what they cover."""
        count = counted(self.most, "condition")
        whole = _sum(self.coverable)
        bound = f"no rules of at most {count} cover more than {whole.count:,} of the table's {whole.rows:,} rows."
        covered = Fact("Covered", f"{self.share}, with proof.")
        rules = [Fact(f"Rule {number}", f"{one.sentence} ({one.share}).") for number, one in enumerate(self.rules, 1)]
        head = Fact("Bound", bound), _shares("at most", self.coverable), covered, _shares("covered", self.covered)
        return (*head, *rules, Fact("Else", "ask the model."), *failed_facts(self.failed))

    def document(self) -> Json:
        """Return the rules as JSON."""
        return {
            "kind": "rules",
            "conditions": self.most,
            "coverable": [{"class": class_document(one), **n.document()} for one, n in self.coverable.items()],
            "covered": [{"class": class_document(one), **n.document()} for one, n in self.covered.items()],
            "rules": [
                {key: rule.document()[key] for key in ("outcome", "conditions", "covers")} for rule in self.rules
            ],
            "failed": {str(k): text for k, text in self.failed.items()},
        }


def _sum(shares: Mapping[Any, Share]) -> Share:
    return Share(sum(one.count for one in shares.values()), sum(one.rows for one in shares.values()))


def _shares(what: str, shares: Mapping[Any, Share]) -> Grid:
    return Grid(("predicted", what), tuple(Line((str(name), str(one))) for name, one in shares.items()))


class _Table:
    """The rows of a table as cells, and what speaks for each of two decisions."""

    def __init__(self, portfolio: Portfolio, *more: Row) -> None:
        self.portfolio, self.compiled = portfolio, portfolio.compiled
        self.cells = all_cells(portfolio, "rules")
        columns = [[*column, *(row[i] for row in more)] for i, column in enumerate(columns_of(portfolio))]
        self.values = columns
        self.places = np.array(
            [_places(ranges, labels, column) for (ranges, labels), column in zip(self.cells, columns, strict=True)]
        ).reshape(len(columns), -1)
        readable = portfolio.readable()
        self.decided = [portfolio.predicts(k)[readable] for k in range(2)]
        every = [cell for ranges, labels in self.cells for cell in (*ranges, *labels)]
        self.is_whole = all(cell.least == cell.most for cell in every)

    def finder(self, winner: int, slack: Rational = ZERO) -> Finder:
        """Return what looks for rules that decide so; with slack, for more than those that are known to."""
        model = self.compiled.model
        gains, need = [], (-model.intercept[0] if winner else model.intercept[0]) - slack
        for ranges, labels in self.cells:
            own = [cell.least if winner else -cell.most for cell in (*ranges, *labels)]
            worst = min(own)
            gains.append([one - worst for one in own])
            need -= worst
        is_strict = (model.ties == "positive") != bool(winner)
        return Finder(gains, [len(ranges) for ranges, _ in self.cells], need, is_strict, self.places)

    def coverable(self, conditions: int) -> dict[Any, Share]:
        """Return of the rows of each class those that some rule could cover."""
        found = {}
        for k, name in enumerate(self.compiled.model.classes):
            some = self.could_cover(k, conditions)[: len(self.decided[k])] & self.decided[k]
            found[name] = Share(int(some.sum()), int(self.decided[k].sum()))
        return found

    def could_cover(self, winner: int, conditions: int) -> NDArray[np.bool_]:
        """Return which rows some rule for a class could cover, however narrow."""
        own, slack, functions = [], ZERO, self.compiled.oriented((1 if winner else -1,))
        every = zip(self.cells, functions, self.compiled.model.domains, self.values, strict=True)
        for (ranges, labels), function, domain, values in every:
            worst = min(cell.least if winner else -cell.most for cell in (*ranges, *labels))
            if not isinstance(function, Pieces | Lazy):  # the worst is bounded from below only
                more = most_of_least(function, domain)
                slack, worst = slack + more - worst, more
            # Of a value that is only enclosed, the most: what is covered at most is asked for.
            known = {value: ends(function.value(value, FIRST_BITS))[1] - worst for value in set(values)}
            own.append([known[value] for value in values])
        return self.finder(winner, slack).coverable(own, conditions)

    def rule(self, finder: Finder, winner: int, found: Found, conditions: int, through: int | None) -> Rule:
        """Return what was found as a rule, each condition as wide as can be."""
        picks = finder.widened(found.picks, through)
        met = np.ones(len(self.decided[winner]), dtype=bool)
        for i, option in picks:
            met &= option.cells[self.places[i, : len(met)]]
        example = tuple(column[int(found.rows[0])] for column in self.values)
        told = tuple(Condition(i, self._joined(i, option)) for i, option in picks)
        share = Share(int(met.sum()), int(self.decided[winner].sum()))
        return Rule(
            self.compiled, winner, told, share, max(share.count, found.bound), conditions, example, self.is_whole
        )

    def _joined(self, i: int, option: Option) -> tuple[Cell, ...]:
        ranges, labels = self.cells[i]
        on = option.cells.tolist()
        some = [[cell for cell, is_in in zip(each, part, strict=True) if is_in]
                for each, part in ((ranges, on[: len(ranges)]), (labels, on[len(ranges) :]))]  # fmt: skip
        return tuple(together(each) for each in some if each)


def _places(ranges: list[Cell], labels: list[Cell], column: list[Value]) -> list[int]:
    """Return in which cell each value of a column is; labels count on after the ranges."""
    known: dict[Value, int] = {label: len(ranges) + k for k, cell in enumerate(labels) for label in cell.labels}
    numbers = [value for value in set(column) if value not in known and isinstance(value, fmpq)]
    known |= dict(zip(numbers, places_of(ranges, numbers), strict=True))
    return [known[value] for value in column]


def rule(portfolio: Portfolio, row: Row, winner: int, conditions: int, max_seconds: float) -> Rule:
    """Return the rule about a row that covers most rows of a table."""
    table = _Table(portfolio, row)
    finder, last = table.finder(winner), table.places.shape[1] - 1
    conditions = min(conditions, len(table.cells))
    among = np.append(np.flatnonzero(table.decided[winner]), last)
    found = finder.best(among, conditions, last, time.monotonic() + max_seconds)
    if found is None or not len(found.rows):
        # Only if the row's own values do not reach it either is there no rule at all, however narrow.
        bound = len(among) - 1 if found is not None or bool(table.could_cover(winner, conditions)[last]) else 0
        share = Share(0, len(among) - 1)
        return Rule(table.compiled, winner, None, share, bound, conditions, row, table.is_whole)
    # The row itself is not one of the table's.
    made = table.rule(finder, winner, found._replace(bound=found.bound - 1), conditions, last)
    return replace(made, example=row)


def rules(portfolio: Portfolio, conditions: int, most: int, max_seconds: float) -> RuleSet:
    """Return rules, from the one that covers most on, until nothing is left to cover or there are enough."""
    table, deadline = _Table(portfolio), time.monotonic() + max_seconds
    conditions = min(conditions, len(table.cells))
    left = [np.flatnonzero(one) for one in table.decided]
    finders = [table.finder(k) for k in range(2)]
    next_ones = [finders[k].best(left[k], conditions, None, deadline) for k in range(2)]
    found: list[Rule] = []
    while len(found) < most:
        k = max(range(2), key=lambda k: 0 if (one := next_ones[k]) is None else len(one.rows))
        chosen = next_ones[k]
        if chosen is None or not len(chosen.rows):
            break
        made = table.rule(finders[k], k, chosen, conditions, None)
        is_first = len(left[k]) == made.share.rows
        found.append(made if is_first else replace(made, bound=made.share.rows))
        met = np.ones(len(left[k]), dtype=bool)
        for i, option in finders[k].widened(chosen.picks, None):
            met &= option.cells[table.places[i, left[k]]]
        left[k] = left[k][~met]
        next_ones[k] = finders[k].best(left[k], conditions, None, deadline) if len(left[k]) else None
    covered = {
        name: Share(int(one.sum()) - len(rest), int(one.sum()))
        for name, one, rest in zip(table.compiled.model.classes, table.decided, left, strict=True)
    }
    return RuleSet(table.compiled, tuple(found), conditions, table.coverable(conditions), covered, portfolio.failed)
