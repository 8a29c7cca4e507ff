"""Rows that error bounds leave open, by the search for single rows: here, or in processes where that takes long.

In: a compiled model, a question, rows as users wrote them. Out: for each row, in order, what a batch tells of it, or
the words of its error.
Guaranteed: a row is answered by the same search, from the same exact numbers, wherever it is done. What a process does
not give back, because it was ended, or cannot take because a cell cannot be sent, is done here.

Rows are done here until they have taken some time, so that few rows start no process. Processes are started as
`python -c`, and not by `multiprocessing`, which would run the user's script again in each of them. They end when their
input does, so also when this process is killed.
"""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import parent_process
from typing import IO, Any, NamedTuple

from suffice.answers.explanation import Explanation
from suffice.batch.lookup import ROUNDING, TINY, WIDER
from suffice.errors import BudgetError, ClaimError, PreferenceError, RowError
from suffice.model.compiled import Compiled
from suffice.numbers.enclosure import Enclosure
from suffice.numbers.exact import nearest_float, rational
from suffice.question.question import Question
from suffice.search.explain import explain

ALONE_SECONDS = 1.0  # in which rows are done here before it is asked whether others take long
WORTH_SECONDS = 4.0  # that the others must take, for a process takes a second to start
_SHARE_SECONDS = 0.25  # of work that a process is given at once
_LENGTH_BYTES = 8


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
        How many may be started; 1 for none. In a process that `multiprocessing` started, none are: it is one of
        several already.
    """
    processes = processes if parent_process() is None else 1
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
    starts = iter(range(0, len(rows), at_once))
    found: dict[int, list[Answer]] = {}
    lock = threading.Lock()
    asked = pickle.dumps((_sent(compiled), question))

    def here(some: Sequence[Callable[[], Sequence[Any]]]) -> list[Answer]:
        return [answer_one(compiled, question, row) for row in some]

    def work(worker: _Worker) -> None:
        while True:
            with lock:
                start = next(starts, None)
            if start is None:
                return
            some = rows[start : start + at_once]
            answers = worker.ask(some)
            found[start] = here(some) if answers is None else answers

    with contextlib.ExitStack() as stack, ThreadPoolExecutor(processes) as pool:
        workers = [stack.enter_context(_Worker(asked)) for _ in range(processes)]
        try:
            for done in [pool.submit(work, worker) for worker in workers]:
                done.result()
        except BaseException:
            with lock:
                starts = iter(())
            for worker in workers:
                worker.end()
            raise
    return [answer for start in sorted(found) for answer in found[start]]


def _sent(compiled: Compiled) -> Compiled | bytes:
    """Return a model without the estimator that it was made of, which may be large or bound to this process.

    Polynomials and balls of flint cannot be sent: a curved model is, as its file.
    """
    if compiled.is_curved:
        return compiled.content
    bare = copy.copy(compiled)
    bare.float_predict = None
    return bare


class _Worker:
    """A process that answers rows. Once it has ended, nothing comes back from it."""

    def __init__(self, asked: bytes) -> None:
        self._asked = asked
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._is_ended = False

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _started(self) -> subprocess.Popen[bytes] | None:
        """Return the process, which is started at the first call; None if that fails, or it was ended."""
        with self._lock:
            if self._process is None and not self._is_ended and sys.executable:
                path = os.pathsep.join(one for one in sys.path if one)
                command = [sys.executable, "-P", "-c", "from suffice.batch.open_rows import serve; serve()"]
                with contextlib.suppress(OSError):
                    self._process = subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        env={**os.environ, "PYTHONPATH": path},
                    )
                    self._send(self._process.stdin, self._asked)
            return None if self._is_ended else self._process

    def ask(self, rows: Sequence[Callable[[], Sequence[Any]]]) -> list[Answer] | None:
        """Return the answers to some rows; None if they do not come back."""
        try:
            cells = pickle.dumps([row() for row in rows])
            process = self._started()
            if process is None or process.stdout is None:
                return None
            self._send(process.stdin, cells)
            answers = pickle.loads(_receive(process.stdout))
        except Exception:
            return None
        return answers if isinstance(answers, list) and len(answers) == len(rows) else None

    @staticmethod
    def _send(pipe: IO[bytes] | None, content: bytes) -> None:
        assert pipe is not None
        pipe.write(len(content).to_bytes(_LENGTH_BYTES, "big") + content)
        pipe.flush()

    def end(self) -> None:
        """End the process, at once."""
        self._is_ended = True
        with self._lock:
            process = self._process
        if process is None:
            return
        process.kill()
        with contextlib.suppress(OSError):
            process.stdin and process.stdin.close()
        process.stdout and process.stdout.close()
        process.wait()


def _receive(pipe: IO[bytes]) -> bytes:
    """Return what was sent; `EOFError` if the other end is closed."""
    head = pipe.read(_LENGTH_BYTES)
    content = pipe.read(int.from_bytes(head, "big")) if len(head) == _LENGTH_BYTES else b""
    if not content:
        raise EOFError
    return content


def serve() -> None:
    """Answer rows that come in, until no more do: what a process of its own runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one is interrupted too, and ends it
    given = sys.stdin.buffer
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as back:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may write where answers go
        with contextlib.suppress(EOFError, BrokenPipeError):
            sent, question = pickle.loads(_receive(given))
            compiled = Compiled.of_content(sent) if isinstance(sent, bytes) else sent
            for rows in _requests(given):
                answers = [answer_one(compiled, question, lambda row=row: row) for row in rows]  # type: ignore[misc]
                _Worker._send(back, pickle.dumps(answers))


def _requests(pipe: IO[bytes]) -> Iterator[Any]:
    while True:
        yield pickle.loads(_receive(pipe))
