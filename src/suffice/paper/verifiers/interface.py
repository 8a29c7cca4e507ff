"""What a verifier must offer, and what is done with every answer, whoever gave it.

In: a query, "does `constant + Σ components ≥ 0` hold on this box?", and a limit of CPU seconds. Out: holds, a
counterexample, or unknown. Guaranteed: every call is counted and timed, and a counterexample has been evaluated in
exact arithmetic; one that does not break the claim is turned into "unknown", with the value it really has.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import Enum
from itertools import repeat
from multiprocessing import get_context
from types import TracebackType
from typing import NamedTuple

from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.values import Value
from suffice.paper.instance import Query
from suffice.paper.verifiers.reduced import reduced


class Verdict(Enum):
    """What a verifier says of a query."""

    HOLDS = "holds"
    COUNTEREXAMPLE = "counterexample"
    UNKNOWN = "unknown"


class Trust(Enum):
    """What a verifier's "holds" is worth. Its counterexamples are always checked exactly."""

    PROVEN = "proven"  # true of the exact real-valued model, without tolerance
    VERIFIED = "verified"  # by a verifier that computes in floating point
    SAMPLED = "sampled"  # at the points that were tried


class Reply(NamedTuple):
    """What a verifier itself returns, before anything is checked."""

    verdict: Verdict
    point: tuple[Value, ...] | None = None  # one value for each part of the query, in the user's units
    note: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked reply. `point` is there if and only if the verdict is a counterexample."""

    verdict: Verdict
    point: tuple[Value, ...] | None
    value: Rational | None  # the exact left side at the point
    note: str
    seconds: float  # of CPU time, of the verifier's own process included
    calls: int  # queries that were put to the verifier

    @property
    def holds(self) -> bool:
        """Whether the verifier says that the claim holds."""
        return self.verdict is Verdict.HOLDS


HOLDS = Reply(Verdict.HOLDS)
LATE = Answer(Verdict.UNKNOWN, None, None, "the time for the whole run was over", 0.0, 0)


def unknown(note: str) -> Reply:
    """Return a reply that settles nothing."""
    return Reply(Verdict.UNKNOWN, None, note)


class Verifier(ABC):
    """Answers queries; subclasses implement `reply`.

    Attributes
    ----------
    name : str
        For tables and messages.
    trust : Trust
        What a "holds" is worth.
    asked : list of (Query, Answer)
        Every query so far, in order.
    """

    name: str
    trust: Trust
    takes_any_region = False  # whether `reply` sees the query as it is; otherwise networks on intervals (see `reduced`)

    def __init__(self) -> None:
        self.asked: list[tuple[Query, Answer]] = []

    @property
    def child_seconds(self) -> float:
        """CPU seconds used by processes that the verifier keeps."""
        return 0.0

    @abstractmethod
    def reply(self, query: Query, seconds: float) -> Reply:
        """Return a verdict on one query with at least one part, within so many CPU seconds.

        Unless the verifier takes any region, every part is a network on an interval.
        """

    def ask(self, queries: Sequence[Query], seconds: float) -> Answer:
        """Return whether all of some queries hold; the first that does not is the answer."""
        spent, calls, answer = 0.0, 0, _settled(True)
        for query in queries:
            answer = self._ask_one(query, seconds)
            spent, calls = spent + answer.seconds, calls + answer.calls
            if not answer.holds:
                break
        return Answer(answer.verdict, answer.point, answer.value, answer.note, spent, calls)

    def ask_within(self, question: Sequence[Query], seconds: float, left: float) -> Answer:
        """Ask within so many CPU seconds, and within what is left of the whole run; without that, unknown at once."""
        return self.ask(question, min(seconds, left)) if left > 0 else LATE

    def ask_many(self, questions: Sequence[Sequence[Query]], seconds: float, left: float = math.inf) -> list[Answer]:
        """Return an answer to each of some questions; `Parallel` asks several at a time."""
        answers: list[Answer] = []
        for question in questions:
            answers.append(self.ask_within(question, seconds, left))
            left -= answers[-1].seconds
        return answers

    def _cpu_seconds(self) -> float:
        return time.process_time() + self.child_seconds

    def _ask_one(self, query: Query, seconds: float) -> Answer:
        if not query.parts:  # nothing is free: no network to ask about
            return _settled(_does_hold(query))
        began = self._cpu_seconds()
        ask = self.reply if self.takes_any_region else self._reply_about_networks
        verdict, point, note = ask(query, seconds)
        spent = self._cpu_seconds() - began
        value = None
        if verdict is Verdict.COUNTEREXAMPLE:
            if point is not None and query.is_broken_by(point):
                value = query.at(point)
            else:
                shown = "none was given" if point is None else f"exactly {nearest_float(query.at(point)):.6g}"
                verdict, point, note = Verdict.UNKNOWN, None, f"the counterexample breaks nothing ({shown}) {note}"
        answer = Answer(verdict, point if verdict is Verdict.COUNTEREXAMPLE else None, value, note.strip(), spent, 1)
        self.asked.append((query, answer))
        return answer

    def _reply_about_networks(self, query: Query, seconds: float) -> Reply:
        """Return a verdict on the networks of a query; what takes listed values only is settled by looking at them."""
        asked = reduced(query)
        if asked.query.parts:
            verdict, point, note = self.reply(asked.query, seconds)
            return Reply(verdict, None if point is None else asked.restored(point), note)
        if _does_hold(asked.query):
            return HOLDS
        return Reply(Verdict.COUNTEREXAMPLE, asked.restored(()))


def _does_hold(query: Query) -> bool:
    """Whether a query without free features holds."""
    return query.constant > 0 or (query.constant == 0 and not query.is_strict)


def _settled(does_hold: bool) -> Answer:
    verdict = Verdict.HOLDS if does_hold else Verdict.COUNTEREXAMPLE
    return Answer(verdict, None if does_hold else (), None, "", 0.0, 0)


class Disagreement(NamedTuple):
    """A verdict that exact arithmetic contradicts."""

    query: Query
    verdict: Verdict
    minimum: Rational | None  # the exact lowest left side over the box, where it is attained
    note: str


def disagreements(asked: Iterable[tuple[Query, Answer]], referee: Verifier, seconds: float) -> list[Disagreement]:
    """Return the verdicts that a referee refutes: "holds" where it does not, and counterexamples that are none."""
    found = []
    for query, answer in asked:
        if answer.holds:
            judged = referee.ask([query], seconds)
            if judged.verdict is Verdict.COUNTEREXAMPLE:
                found.append(Disagreement(query, answer.verdict, judged.value, answer.note))
        elif answer.note.startswith("the counterexample breaks nothing"):
            found.append(Disagreement(query, Verdict.COUNTEREXAMPLE, None, answer.note))
    return found


class Parallel(Verifier):
    """A verifier with several processes to ask in; use it in a `with` block.

    Parameters
    ----------
    verifier : Verifier
        Copied into each process.
    workers : int
        How many questions are asked at a time.
    """

    def __init__(self, verifier: Verifier, workers: int) -> None:
        super().__init__()
        self.verifier, self.workers = verifier, workers
        self.name, self.trust, self.takes_any_region = verifier.name, verifier.trust, verifier.takes_any_region
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Parallel:
        context = get_context("spawn")  # threads of numerical libraries do not survive a fork
        self._pool = ProcessPoolExecutor(self.workers, context, initializer=_adopt, initargs=(self.verifier,))
        list(self._pool.map(_warm, range(self.workers)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._pool is not None
        self._pool.shutdown(cancel_futures=True)

    def reply(self, query: Query, seconds: float) -> Reply:
        """Ask in this process: there is one question only."""
        return self.verifier.reply(query, seconds)

    def ask_many(self, questions: Sequence[Sequence[Query]], seconds: float, left: float = math.inf) -> list[Answer]:
        """Ask all questions, so many at a time; answers come in the order of the questions.

        Each has all that is left of the run: which come first depends on the machine, and no answer may.
        """
        assert self._pool is not None, "a Parallel verifier is used in a `with` block"
        results = list(self._pool.map(_ask_adopted, questions, repeat(seconds), repeat(left)))
        for _, log in results:
            self.asked += log
        return [answer for answer, _ in results]


_ADOPTED: list[Verifier] = []


def _adopt(verifier: Verifier) -> None:
    _ADOPTED[:] = [verifier]


def _warm(_: int) -> None:
    time.sleep(0.05)  # long enough that every process of the pool starts


def _ask_adopted(question: Sequence[Query], seconds: float, left: float) -> tuple[Answer, list[tuple[Query, Answer]]]:
    (verifier,) = _ADOPTED
    verifier.asked.clear()
    return verifier.ask_within(question, seconds, left), list(verifier.asked)
