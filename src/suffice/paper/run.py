"""One run of an algorithm: asks within its limits, counts, and notes how far it has come.

In: an instance, a verifier, time limits. Out: a `Result`, with the timeline that the paper's figures show.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from suffice.paper.instance import Instance, Query
from suffice.paper.verifiers.interface import Answer, Trust, Verdict, Verifier


class Minimality(Enum):
    """What is known of the size of a set that is known to suffice."""

    CARDINAL = "cardinally-minimal"
    SUBSET = "subset-minimal"
    NONE = "not known to be minimal"


class Step(NamedTuple):
    """How far a run has come after a question, or a round of them."""

    seconds: float  # of CPU time, of all queries so far
    size: int  # of the smallest set known to suffice so far
    processed: int  # features already decided
    calls: int  # queries so far


@dataclass(frozen=True, eq=False)
class Result:
    """A set of features that suffices as far as the verifier can tell, and what it took to find it.

    `trust` is what the verifier's word is worth: `PROVEN` for exact arithmetic and bisection, `VERIFIED` for verifiers
    in floating point, `SAMPLED` for points that were tried.
    """

    names: tuple[str, ...]
    fixed: tuple[int, ...]
    trust: Trust
    minimality: Minimality
    component_calls: int  # queries about one component, of the sorting
    joint_calls: int  # queries about the whole model
    unknown: int  # questions that the verifier could not settle
    seconds: float
    sorting_seconds: float
    cpu_seconds: float  # of all questions together, whatever the machine was busy with besides
    steps: tuple[Step, ...] = field(repr=False)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features fixed."""
        return tuple(self.names[i] for i in self.fixed)

    @property
    def size(self) -> int:
        """How many features are fixed."""
        return len(self.fixed)

    @property
    def is_trivial(self) -> bool:
        """Whether all features are fixed; the paper leaves such rows out."""
        return len(self.fixed) == len(self.names)


class Run:
    """Asks a verifier on behalf of an algorithm.

    Parameters
    ----------
    timeout : float
        CPU seconds for one query.
    limit : float
        CPU seconds for all queries of the run; what is asked later is unknown at once.
    """

    def __init__(self, instance: Instance, verifier: Verifier, timeout: float, limit: float) -> None:
        self.instance, self.verifier, self.timeout = instance, verifier, timeout
        self._began = time.perf_counter()
        self.cpu_seconds, self.limit = 0.0, limit
        self.component_calls = self.joint_calls = self.unknown = 0
        self.sorting_seconds = 0.0
        self.steps: list[Step] = []
        self.note(size=instance.size, processed=0)

    def components(self, questions: Sequence[tuple[Query, ...]]) -> list[Answer]:
        """Ask a round of questions about single components, as many at a time as the verifier can."""
        answers = self.verifier.ask_many(questions, self.timeout, self.limit - self.cpu_seconds)
        self.cpu_seconds += sum(answer.seconds for answer in answers)
        self.component_calls += sum(answer.calls for answer in answers)
        self.unknown += sum(answer.verdict is Verdict.UNKNOWN for answer in answers)
        self.sorting_seconds = time.perf_counter() - self._began
        return answers

    def suffices(self, fixed: Sequence[int]) -> Answer:
        """Ask whether fixing some features is enough."""
        left = self.limit - self.cpu_seconds
        answer = self.verifier.ask_within(self.instance.sufficient(fixed), self.timeout, left)
        self.cpu_seconds += answer.seconds
        self.joint_calls += answer.calls
        self.unknown += answer.verdict is Verdict.UNKNOWN
        return answer

    def note(self, size: int, processed: int) -> None:
        """Write down how far the run has come."""
        calls = self.component_calls + self.joint_calls
        self.steps.append(Step(self.cpu_seconds, size, processed, calls))

    def finish(self, fixed: Sequence[int], minimality: Minimality) -> Result:
        """Return the result."""
        return Result(
            self.instance.names,
            tuple(fixed),
            self.verifier.trust,
            minimality,
            self.component_calls,
            self.joint_calls,
            self.unknown,
            time.perf_counter() - self._began,
            self.sorting_seconds,
            self.cpu_seconds,
            tuple(self.steps),
        )
