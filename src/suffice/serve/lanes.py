"""Two lanes of workers: one for what is usually quick, one for what can be slow, so that neither waits for the other.

A question that turns out not to be quick is ended in its lane and asked again in the other, with the time that is left.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from suffice.serve.asker import Asker
from suffice.serve.limits import TOO_LONG, Deadline, Limits
from suffice.serve.portfolio import SURVEYED
from suffice.serve.problems import ProblemError
from suffice.serve.questions import ASKED
from suffice.serve.worker import OverrunError, Worker, packed

_SLOW = frozenset({"batch", "report", *SURVEYED, *(name for name, asked in ASKED.items() if asked.is_slow)})


class Lanes:
    """Answers requests in processes that hold the model; `close` ends them."""

    def __init__(self, asker: Asker, limits: Limits) -> None:
        self.limits = limits
        quick = packed(replace(asker, table=None))  # questions about the whole table are slow ones
        self._quick, self._slow = _Lane(quick, limits), _Lane(packed(asker), limits)

    async def answer(self, path: str, body: Mapping[str, Any] | bytes) -> bytes:
        """Return the answer to a request, or raise a problem when it takes too long or too many wait."""
        deadline = Deadline(self.limits.max_seconds)
        if path not in _SLOW:
            try:
                return await self._quick.answer(path, body, deadline, self.limits.quick_seconds)
            except OverrunError:
                pass
        return await self._slow.answer(path, body, deadline, math.inf)

    async def start(self) -> None:
        """Start all workers, so that no request has to wait for one; one that does not start is tried again later."""
        begun = [*self._quick.start(), *self._slow.start()]
        await asyncio.gather(*map(asyncio.wrap_future, begun), return_exceptions=True)

    def close(self) -> None:
        """End all workers."""
        self._quick.close()
        self._slow.close()


class _Lane:
    """A few workers, each asked from a thread that waits for it."""

    def __init__(self, asker: bytes, limits: Limits) -> None:
        self._workers = [Worker(asker, limits.max_memory) for _ in range(limits.workers)]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(limits.workers, thread_name_prefix="suffice")
        self._waiting, self._max_waiting = 0, limits.max_waiting

    async def answer(self, path: str, body: Any, deadline: Deadline, most: float) -> bytes:
        if self._waiting >= self._max_waiting:
            raise ProblemError(503, "too many requests are waiting; try again in a moment", {"Retry-After": "1"})
        self._waiting += 1
        work = self._threads.submit(self._ask, path, body, deadline, most)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), deadline.left)
        except TimeoutError:
            raise ProblemError(503, TOO_LONG) from None
        finally:
            work.cancel()  # one that has not begun need not
            self._waiting -= 1

    def _ask(self, path: str, body: Any, deadline: Deadline, most: float) -> bytes:
        worker = self._idle.get()  # there are as many threads as workers
        try:
            worker.start()
            return worker.ask(path, body, deadline.left, most)
        finally:
            self._idle.put(worker)

    def start(self) -> list[Future[None]]:
        # The one that has been idle the longest is the next.
        return [self._threads.submit(self._start_one) for _ in self._workers]

    def _start_one(self) -> None:
        worker = self._idle.get()
        try:
            worker.start()
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.close()
