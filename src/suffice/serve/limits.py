"""What requests may cost: bytes, rows, seconds, memory, connections; and the moment by which one is to be answered."""

from __future__ import annotations

import time
from dataclasses import dataclass

from suffice.serve.problems import ProblemError

TOO_LONG = "the request took too long; ask about fewer rows or a smaller radius"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may cost, and how many may be there at once.

    Parameters
    ----------
    max_bytes, max_rows : int
        Of the body of a request.
    max_answer : int
        Bytes of an answer.
    max_unread : int
        Bytes of all answers that are on their way.
    max_seconds : float
        For one request, waiting included; the process that works on it is ended then.
    quick_seconds : float
        Of the processor, after which a question that is usually quick goes on among the slow ones.
    max_memory : int
        Bytes that a question may take, beyond what its process has when it starts; on Linux alone.
    workers : int
        Processes for quick questions, and as many for slow ones.
    max_waiting : int
        Requests that wait for these or those.
    max_connections, max_per_client : int
        Connections, of all clients and of one address.
    head_seconds : float
        Until a connection has sent the head of its first request.
    idle_seconds : float
        Until one that was answered has sent the head of the next.
    stall_seconds : float
        Until a client that does not read takes half a megabyte.
    stop_seconds : float
        For the requests under way when the server is told to stop.
    """

    max_bytes: int = 1_000_000
    max_rows: int = 100
    max_answer: int = 10_000_000
    max_unread: int = 100_000_000
    max_seconds: float = 10.0
    quick_seconds: float = 1.0
    max_memory: int = 2_000_000_000
    workers: int = 2
    max_waiting: int = 200
    max_connections: int = 256
    max_per_client: int = 100
    head_seconds: float = 10.0
    idle_seconds: float = 75.0
    stall_seconds: float = 10.0
    stop_seconds: float = 3.0


class Deadline:
    """The moment by which a request is to be answered."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; an error if none are."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise ProblemError(503, TOO_LONG)
        return left
