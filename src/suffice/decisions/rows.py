"""The rows of a table: which of them lie in a box, what is decided of them, and for which a claim is false.

In: a compiled model and a table. Out: a `Portfolio`. Its decisions are those of exact scores: floats with error bounds
settle most rows, exact arithmetic the others. Rows that the model cannot read are counted apart and never judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from suffice.batch.cells import Source, read_source
from suffice.batch.lookup import WIDER
from suffice.batch.result import BatchResult
from suffice.batch.run import batch_question
from suffice.core.scores import at_scores
from suffice.errors import DataError, NumberError
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import brief, nearest_float
from suffice.numbers.values import MISSING, Value
from suffice.question.box import Box
from suffice.question.claim import Claim
from suffice.question.claims import Same, Within, is_true
from suffice.question.documents import read_class
from suffice.question.question import Question
from suffice.question.row import Row, read_row
from suffice.tables.reading import DataTable

Mask = NDArray[np.bool_]
Found = TypeVar("Found")


class Portfolio:
    """The rows of a table, seen by a model.

    Parameters
    ----------
    compiled : Compiled
    table : NumPy array, pandas or Polars DataFrame, Arrow table, DataTable
    """

    def __init__(self, compiled: Compiled, table: Any) -> None:
        self.compiled = compiled
        self.source = _source_of(compiled.model, table)
        self._numbers: dict[int, tuple[fmpq, ...]] = {}
        self._values: dict[int, tuple[Value, ...]] = {}
        self.averages: dict[tuple[int, ...], tuple[fmpq, ...]] = {}  # of each term, kept by `contributions`

    def __len__(self) -> int:
        return self.source.rows

    def seen_by(self, compiled: Compiled) -> Portfolio:
        """Return the same rows, seen by the same model with its shapes known in another way."""
        if compiled is self.compiled:
            return self
        other = copy(self)
        other.compiled = compiled
        other._numbers, other._values, other.averages = {}, {}, {}
        other.__dict__.pop("decided", None)
        return other

    @cached_property
    def decided(self) -> BatchResult:
        """What is predicted of each row."""
        claim = Same() if self.compiled.model.classes else Within(1)  # which is so at any row
        return self.ask(Question.read(self.compiled.model, 0, unit="raw", claim=claim))

    def ask(self, question: Question, rows: int | None = None) -> BatchResult:
        """Return the explanations of all rows, or of the first ones."""
        source = self.source
        if rows is not None and rows < source.rows:
            source = Source(source.model, tuple(column[:rows] for column in source.columns), rows)
        return batch_question(self.compiled, question).answer(source)

    @property
    def failed(self) -> Mapping[int, str]:
        """Rows that the model cannot read, and why."""
        return self.decided.messages

    def row(self, k: int) -> Row:
        """Return a row, exactly."""
        return read_row(self.compiled.model, self.source.row(k))

    def numbers(self, i: int) -> tuple[fmpq, ...]:
        """Return the numbers of a feature in order, without codes, labels and what cannot be read."""
        if i not in self._numbers:
            domain, unread = self.compiled.model.domains[i], cast("Value", MISSING)
            values = each_value(self.source.columns[i], domain, lambda value: value, otherwise=unread)
            some = (x for x in values if isinstance(x, fmpq) and any(span.holds(x) for span in domain.spans))
            self._numbers[i] = tuple(sorted(some))
        return self._numbers[i]

    def values(self, i: int) -> tuple[Value, ...]:
        """Return the values of a feature in the rows that the model can read, row by row."""
        if i not in self._values:
            domain, unread = self.compiled.model.domains[i], cast("Value", MISSING)  # such rows are left out
            values = each_value(self.source.columns[i], domain, lambda value: value, otherwise=unread)
            self._values[i] = tuple(values[k] for k in np.flatnonzero(self.readable()).tolist())
        return self._values[i]

    def readable(self) -> Mask:
        """Return which rows the model can read."""
        mask = np.ones(len(self), dtype=bool)
        mask[list(self.failed)] = False
        return mask

    def within(self, box: Box) -> Mask:
        """Return which readable rows lie in a box."""
        mask = self.readable()
        for i in box.conditions:
            column, domain = self.source.columns[i], self.compiled.model.domains[i]
            mask &= np.array(each_value(column, domain, box.region[i].holds, otherwise=False), dtype=bool)
        return mask

    def predicts(self, winner: int) -> Mask:
        """Return which rows are predicted to be of a class."""
        return np.asarray(self.decided.answers.classes == winner)

    def breaks(self, claim: Claim, winner: int, among: Mask) -> NDArray[np.int64]:
        """Return the rows among some at which a claim about a class is false."""
        if isinstance(claim, Same):
            return np.flatnonzero(among & ~self.predicts(winner))
        is_false, is_open = self._by_scores(claim, winner)
        for k in np.flatnonzero(among & is_open).tolist():
            is_false[k] = not at_scores(
                self.compiled, self.row(k), lambda scores: is_true(claim, self.compiled.model, scores, winner)
            )
        return np.flatnonzero(among & is_false)

    def _by_scores(self, claim: Claim, winner: int) -> tuple[Mask, Mask]:
        """Return for which rows floats prove a claim false, and which they leave open."""
        scores, errors = self.decided.answers.scores, self.decided.answers.score_errors
        parts = claim.parts(self.compiled.model, winner)
        is_false, is_open = np.zeros(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
        for part in parts:
            # The float of the constant is off by half a unit of its last place, as the sum is of its own.
            constant, gap = nearest_float(part.constant), nearest_float(part.gap)
            value = part.factors[0] * scores + constant
            doubt = (errors + gap + 4 * np.finfo(float).eps * (abs(constant) + np.abs(value))) * WIDER + 1e-300
            is_false |= value < -doubt
            is_open |= ~(np.abs(value) > doubt)  # what is not a number is open too
        settled = ~self.decided.was_exact  # of a row that was left open no float counts
        return is_false & settled, (is_open & ~is_false) | ~settled


def _source_of(model: AdditiveModel, table: Any) -> Source:
    if not isinstance(table, DataTable):
        return read_source(model, table)
    table.check_columns(model.names)
    columns = []
    for name in model.names:
        column = np.empty(len(table.rows), dtype=object)
        column[:] = table.column(name)
        columns.append(column)
    return Source(model, tuple(columns), len(table.rows))


def each_value(column: Any, domain: Domain, of: Callable[[Value], Found], otherwise: Found) -> list[Found]:
    """Return something of the value of each cell of a column; equal cells are read once."""
    known: dict[Any, Found] = {}
    cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    found = []
    for cell in cells:
        key = type(cell), cell
        try:
            if key not in known:
                known[key] = of(domain.parse(cell))
            found.append(known[key])
        except (TypeError, NumberError):  # a list, a word: such a row is not readable
            found.append(otherwise)
    return found


def right_rows(portfolio: Portfolio, labels: Any) -> Mask:
    """Return which rows are predicted to be of the class that they are labelled with."""
    model = portfolio.compiled.model
    given = list(labels)
    if not model.classes:
        raise DataError("labels are compared with predicted classes, and a regression has none")
    if len(given) != len(portfolio):
        raise DataError(f"there must be one label for each row: {len(portfolio)} rows, {len(given)} labels")
    index: dict[Any, int] = {}
    for label in set(given):
        found = read_class(model, label.item() if isinstance(label, np.generic) else label)
        if found not in model.classes:
            known = ", ".join(str(name) for name in model.classes[:8])
            raise DataError(f"the label {brief(label)} is not a class of the model ({known})")
        index[label] = model.classes.index(found)
    return np.asarray(portfolio.decided.answers.classes == np.array([index[label] for label in given], dtype=np.int64))
