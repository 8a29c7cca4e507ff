"""One row of a question that is asked again and again: decided by the tables of many rows, told in exact numbers later.

In: a compiled model, a question, a row. Out: the explanation that the search gives; None where the tables do not tell,
for the question was not asked often enough to make them, a cell is not plainly a number or a label, or errors leave a
doubt.
Guaranteed: the fixed features, their order and the status are those of the search, as they are for rows of a table. All
else is worked out as the search does it, when it is first read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.answers.explanation import Explanation
from suffice.batch.lookup import LABELS, Floats, place_of_label
from suffice.core.case import Case
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.compiling import has_compiler
from suffice.question.question import Question
from suffice.search.explain import explain
from suffice.solvers.proofs import Proof

ASKED = 100  # as often must a question be asked before its tables are made, which takes about as long
_MOST_QUESTIONS = 8
_WHOLE = 2**53  # integers below are floats


class _Known:
    """A question that was asked of a model: how often, and its tables once they are made."""

    def __init__(self, question: Question) -> None:
        self.question, self.times = question, 0
        self.plan: Any = None


def is_known(compiled: Compiled, question: Question) -> bool:
    """Whether this very question was asked of the model before, so that it need not be checked again."""
    known = compiled.asked.get(id(question))
    return known is not None and known.question is question


def quick_explanation(compiled: Compiled, question: Question, x: Any) -> Explanation | None:
    """Return the explanation of a row, if the tables of the question are made and settle it."""
    known = compiled.asked.get(id(question))
    if known is None or known.question is not question:
        known = compiled.asked[id(question)] = _Known(question)
        while len(compiled.asked) > _MOST_QUESTIONS:
            compiled.asked.pop(next(iter(compiled.asked)))
    known.times += 1
    if known.times == ASKED:
        known.plan = _plan(compiled, question)
    if known.plan is None:
        return None
    row = _as_list(compiled.model, x)
    cells = None if row is None else _read(compiled.model.domains, row)
    found = None if cells is None else known.plan.single(cells)
    if row is None or found is None:
        return None
    fixed, winner = found
    return Explanation.deferred(Asked(compiled, question, tuple(row), winner), fixed)


def _plan(compiled: Compiled, question: Question) -> Any:
    """Return the tables of a question; None where they cannot settle a row as the search does."""
    # Of several best sets pairs may get another, and in a ball the best is not known.
    if compiled.model.pairs or compiled.is_curved or question.is_ball or not has_compiler():
        return None
    from suffice.batch.answering import LeaveOpen
    from suffice.batch.plan import parts_by_class
    from suffice.batch.run import batch_question

    # A number that is only enclosed may be enclosed more closely by the search, which its words show.
    every = (part for parts in parts_by_class(compiled.model, question.claim).values() for part in parts)
    plan = None if any(part.gap for part in every) else batch_question(compiled, question).plan
    return None if isinstance(plan, LeaveOpen) else plan


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked, of which row, and what is predicted there; all else is worked out from it."""

    compiled: Compiled
    question: Question
    cells: tuple[Any, ...]
    winner: int

    @property
    def model(self) -> AdditiveModel:
        """The model."""
        return self.compiled.model

    def case(self) -> Case:
        """Return the question about the row, worked out."""
        return Case.of(self.compiled, self.question, self.cells)

    def proof(self) -> Proof | None:
        """Return why no set costs less, as the search finds it."""
        return explain(self.compiled, self.question, self.cells).proof


def _as_list(model: AdditiveModel, x: Any) -> list[Any] | None:
    """Return the cells of a row as Python has them; None where that needs more than a look."""
    count = len(model.features)
    if isinstance(x, np.ndarray):
        is_plain = x.ndim == 1 and type(x) is np.ndarray and x.dtype.kind in "fiu" and x.dtype.itemsize <= 8
        return x.tolist() if is_plain and len(x) == count else None
    if type(x) in (list, tuple):
        return list(x) if len(x) == count else None
    if type(x) is dict and len(x) == count and all(name in x for name in model.names):
        return [x[name] for name in model.names]
    return None


def _read(domains: Sequence[Domain], row: Sequence[Any]) -> Floats | None:
    """Return cells as the tables take them, of shape (features, 1); None where one is not plainly a number or label."""
    cells = np.empty((len(row), 1))
    for i, cell in enumerate(row):
        kind = type(cell)
        if (isinstance(cell, float) and not abs(cell) >= LABELS) or (kind is int and -_WHOLE < cell < _WHOLE):
            cells[i, 0] = cell  # NaN is a missing cell
        elif kind is str and cell in domains[i].labels:
            cells[i, 0] = place_of_label(domains[i].labels.index(cell))
        elif cell is None:
            cells[i, 0] = np.nan
        else:
            return None
    return cells
