"""Rows that error bounds leave open, by the search for single rows: here, or in processes where that takes long.

In: a compiled model, a question, rows as users wrote them. Out: for each row, in order, what a batch tells of it, or
the words of its error.
Guaranteed: a row is answered by the same search, from the same exact numbers, wherever it is done. What a process does
not give back, because it was ended, or cannot take because a cell cannot be sent, is done here.

Rows are done here until they have taken some time, so that few rows start no process.
"""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from suffice.answers.explanation import Explanation
from suffice.batch.lookup import ROUNDING, TINY, WIDER
from suffice.errors import BudgetError, ClaimError, PreferenceError, RowError
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import Enclosure
from suffice.numbers.exact import nearest_float, rational
from suffice.processes import Worker, available, serve_with, shared_out
from suffice.question.question import Question
from suffice.search.explain import explain

ALONE_SECONDS = 1.0  # in which rows are done here before it is asked whether others take long
WORTH_SECONDS = 4.0  # that the others must take, for a process takes a second to start
_SHARE_SECONDS = 0.25  # of work that a process is given at once


class Told(NamedTuple):
    """What a batch tells of a row."""

    fixed: tuple[int, ...]
    prediction: Any  # a class; of a regression a float
    prediction_error: float
    margin: float
    margin_error: float
    status: str
    bound: int


Answer = Told | str  # or the words of its error


def told_of(compiled: Compiled, why: Explanation) -> Told:
    """Return what a batch tells of an explanation."""
    prediction = why.prediction
    shown, shown_error = _rounded(prediction) if compiled.model.task == "regression" else (prediction, 0.0)
    margin, margin_error = _rounded(_margin(why))
    return Told(why.fixed, shown, shown_error, margin, margin_error, why.status.value, why.bound)


def _margin(why: Explanation) -> Any:
    """Return the margin, between two numbers where the scores of smooth shapes are."""
    low, gap = rational(why.margin), why.case.constraints[why.tightest].gap
    return Enclosure(low, low + gap) if why.case.compiled.is_enclosed else why.margin


def _rounded(value: Any) -> tuple[float, float]:
    """Return the nearest float, and a bound on how far it is off."""
    if isinstance(value, Enclosure):
        half = nearest_float(value.width / 2)
        near = float(value)
        return near, (abs(near) * ROUNDING + half) * WIDER + TINY
    near = nearest_float(rational(value))
    return near, abs(near) * ROUNDING * WIDER + TINY


def answer_one(compiled: Compiled, question: Question, row: Callable[[], Sequence[Any]]) -> Answer:
    """Return what a batch tells of one row."""
    try:
        return told_of(compiled, explain(compiled, question, row()))
    except (RowError, ClaimError, PreferenceError, BudgetError) as error:
        return str(error)


def answer_rows(
    compiled: Compiled, question: Question, rows: Sequence[Callable[[], Sequence[Any]]], processes: int
) -> list[Answer]:
    """Return what a batch tells of each of some rows, which are read when they are answered.

    Parameters
    ----------
    rows : sequence of functions
        Each returns the cells of a row, or raises an error that says why it cannot.
    processes : int
        How many may be started; 1 for none.
    """
    processes = available(processes)
    found: list[Answer] = []
    began = time.monotonic()
    for k, row in enumerate(rows):
        spent = time.monotonic() - began
        if k > 0 and processes > 1 and spent > ALONE_SECONDS and spent / k * (len(rows) - k) > WORTH_SECONDS:
            return found + _in_processes(compiled, question, rows[k:], processes, spent / k)
        found.append(answer_one(compiled, question, row))
    return found


# --- processes --------------------------------------------------------------------------------------------------------


def _in_processes(
    compiled: Compiled,
    question: Question,
    rows: Sequence[Callable[[], Sequence[Any]]],
    processes: int,
    seconds: float,
) -> list[Answer]:
    """Return the answers to rows that take some seconds each; they are given out a few at a time."""
    at_once = min(max(1, int(_SHARE_SECONDS / seconds)), -(-len(rows) // processes))
    shares = [rows[start : start + at_once] for start in range(0, len(rows), at_once)]
    asked = pickle.dumps((_sent(compiled), question))

    def here(some: Sequence[Callable[[], Sequence[Any]]]) -> list[Answer]:
        return [answer_one(compiled, question, row) for row in some]

    found = shared_out(shares, [Worker(__name__, asked) for _ in range(processes)], ask_rows, here)
    return [answer for answers in found for answer in answers]


def ask_rows(worker: Worker, rows: Sequence[Callable[[], Sequence[Any]]]) -> list[Answer] | None:
    """Return the answers of a process to some rows; None if they do not come back."""
    try:
        cells = [row() for row in rows]
    except Exception:  # a row that cannot be read says why where it is answered
        return None
    answers = worker.ask(cells)
    return answers if isinstance(answers, list) and len(answers) == len(rows) else None


def _sent(compiled: Compiled) -> Compiled | bytes:
    """Return a model without the estimator that it was made of, which may be large or bound to this process.

    Polynomials and balls of flint cannot be sent: a curved model is, as its file.
    """
    if compiled.is_curved:
        return compiled.content
    bare = copy.copy(compiled)
    bare.float_predict = None
    return bare


def serve() -> None:
    """Answer rows that come in, until no more do: what a process of its own runs."""

    def begin(first: Callable[[], Any]) -> Callable[[Any], list[Answer]]:
        sent, question = first()
        compiled = Compiled.of_content(sent) if isinstance(sent, bytes) else sent
        return lambda rows: [answer_one(compiled, question, lambda row=row: row) for row in rows]  # type: ignore[misc]

    serve_with(begin)
