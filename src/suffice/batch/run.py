"""Explaining many rows: the kernel first, exact arithmetic for what it leaves open.

In: a compiled model, a question, a table. Out: a `BatchResult`, every row of it as the search would answer it alone.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from suffice.batch import kernel
from suffice.batch.answering import Answers, LeaveOpen, Plan
from suffice.batch.cells import Source, read_source
from suffice.batch.open_rows import answer_rows
from suffice.batch.pairs import make_pair_plan
from suffice.batch.plan import end_to_end, make_plan
from suffice.batch.result import BOUNDED, BatchResult
from suffice.errors import DataError
from suffice.model.compiled import Compiled
from suffice.question.question import Question

_CELLS_AT_ONCE = 1 << 16  # of a chunk: its drops, errors and keys stay in the cache
_LEAST_ROWS = 1024  # of a chunk, so that a feature's table is worth loading
_MOST_PLANS = 8  # of one model that are kept
_WORTH_ROWS = 1_000  # of curved or smooth shapes: fewer take about as long one by one as their tables do

_LOCK = threading.Lock()


def batch_question(compiled: Compiled, question: Question, threads: int | None = None) -> BatchQuestion:
    """Return a question compiled for many rows; asked again of the same model it is ready.

    Tables of curved and smooth shapes take seconds: they are made once a table has enough rows. What of the model is
    not compiled yet is so first, in as many processes as threads are wanted where that takes long.
    """
    compiled.compile(processes=None if threads is None else _threads(threads))
    found = BatchQuestion(compiled, question)
    return found if compiled.is_curved else found.ready()


@dataclass(frozen=True, slots=True)
class BatchQuestion:
    """A question compiled for many rows; `answer` may be called any number of times.

    Parameters
    ----------
    compiled : Compiled
        The model.
    question : Question
        What is asked of each row.
    """

    compiled: Compiled
    question: Question

    @property
    def plan(self) -> Plan:
        """What settles most rows in floats, with proven error bounds; made when it is first asked for."""
        key = self.question.with_budget(max_nodes=None, max_seconds=0.0)  # budgets are those of single rows
        plans: OrderedDict[Question, Plan] = self.compiled.plans
        with _LOCK:
            plan = plans.get(key)
            if plan is None:
                make = make_pair_plan if self.compiled.model.pairs else make_plan
                plan = plans[key] = make(self.compiled, self.question)
            plans.move_to_end(key)
            while len(plans) > _MOST_PLANS:
                plans.popitem(last=False)
        return plan

    def ready(self) -> BatchQuestion:
        """Return the question with its plan made, and kept."""
        assert self.plan is not None
        return self

    def answer(self, table: Any, *, threads: int | None = None) -> BatchResult:
        """Answer every row of a table."""
        source = read_source(self.compiled.model, table)
        size = max(_LEAST_ROWS, _CELLS_AT_ONCE // len(source.columns))
        starts = range(0, source.rows, size)
        # By the number of rows alone, so that the same table is answered by the same steps whatever was asked before.
        is_worth = not self.compiled.is_curved or source.rows >= _WORTH_ROWS
        work = partial(_answer_chunk, self.plan if is_worth else LeaveOpen(), source, size)
        if _threads(threads) == 1 or len(starts) < 2:
            chunks = [work(start) for start in starts]
        else:
            with ThreadPoolExecutor(_threads(threads)) as pool:
                chunks = list(pool.map(work, starts))
        return self._complete(source, _join(chunks) if chunks else work(0), _threads(threads))

    def _complete(self, source: Source, found: Answers, processes: int) -> BatchResult:
        """Answer what was left open, row by row, in exact arithmetic."""
        was_exact = found.sizes == kernel.OPEN
        open_rows = np.flatnonzero(was_exact)
        statuses, bounds = np.zeros(len(was_exact), np.int8), {}
        if len(found.least):
            statuses[~was_exact & (found.least < found.sizes)] = BOUNDED
            bounds = {row: int(found.least[row]) for row in np.flatnonzero(statuses).tolist()}
        result = BatchResult(self.compiled, self.question, source, found, statuses, was_exact, bounds)
        for row in np.flatnonzero(found.sizes == kernel.REFUSED).tolist():
            result.fail(row)
        if not len(open_rows):
            return result
        fixed: list[int] = []
        rows = [partial(source.row, row) for row in open_rows.tolist()]
        answers = answer_rows(self.compiled, self.question, rows, processes)
        for row, answer in zip(open_rows.tolist(), answers, strict=True):
            if isinstance(answer, str):
                result.fail(row, answer)
            else:
                result.set(row, answer)
                fixed += answer.fixed
        settled = np.flatnonzero(~was_exact)
        groups = [
            (settled, found.sizes[settled], found.fixed),
            (open_rows, found.sizes[open_rows], np.array(fixed, np.int32)),
        ]
        return replace(result, answers=found._replace(fixed=end_to_end(found.sizes, groups)))


def _answer_chunk(plan: Plan, source: Source, size: int, start: int) -> Answers:
    return plan.answer(*source.cells(start, min(start + size, source.rows)))


def _join(chunks: Sequence[Answers]) -> Answers:
    return Answers(*(np.concatenate(columns) for columns in zip(*chunks, strict=True)))


def _threads(wanted: int | None) -> int:
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if type(wanted) is not int or wanted < 1:
        raise DataError(f"threads must be a whole number, 1 or more, got {wanted!r}")
    return wanted
