"""What a request may cost: bytes, rows, seconds, and how many are worked on at once.

`Guard` looks at every request before the application does. `Workers` runs questions in a few threads, gives each the
time that is left to it, and turns requests away when too many wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.serve.problems import ProblemError, problem

Answer = TypeVar("Answer")

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may cost, and how many may be there at once."""

    max_bytes: int = 1_000_000
    max_rows: int = 100
    max_seconds: float = 10.0
    workers: int = 2
    max_waiting: int = 200


class Guard:
    """Refuses bodies that are too large, and requests that a page of another site may have made.

    A page elsewhere could send requests to this machine from its visitor's browser; such requests name another origin,
    or, where a name was made to point here, another host.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: frozenset[str] | None) -> None:
        self.app, self.max_bytes, self.max_seconds, self.hosts = app, limits.max_bytes, limits.max_seconds, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = self._with_headers(send)
        try:
            self._check({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
            body = await asyncio.wait_for(self._read(receive), self.max_seconds)
        except ProblemError as refused:
            await problem(refused.status, refused.detail)(scope, receive, answer)
        except TimeoutError:
            await problem(408, "the request took too long to arrive")(scope, receive, answer)
        else:
            await self.app(scope, _replayed(body, receive), answer)

    def _check(self, headers: Mapping[str, str]) -> None:
        host, origin, length = (headers.get(name, "") for name in ("host", "origin", "content-length"))
        if self.hosts is not None and _split(f"//{host}").hostname not in self.hosts:
            raise ProblemError(403, "this server only answers requests for the host it was started with")
        if origin and _split(origin).netloc != host:
            raise ProblemError(403, "requests from other sites are refused")
        if length and (not length.isdecimal() or len(length) > 18 or int(length) > self.max_bytes):
            raise self._too_large()

    async def _read(self, receive: Receive) -> bytes:
        """Return the whole body; a problem as soon as it is too large."""
        parts, size, has_more = [], 0, True
        while has_more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.max_bytes:
                raise self._too_large()
            has_more = message["type"] == "http.request" and message.get("more_body", False)
        return b"".join(parts)

    def _too_large(self) -> ProblemError:
        return ProblemError(413, f"a request can have at most {self.max_bytes:,} bytes")

    def _with_headers(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        return sent


def _split(address: str) -> SplitResult:
    """Return the parts of an address; none of one that is no address."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a stream that gives a body that was read already, then goes on."""
    is_given = False

    async def replayed() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


class Deadline:
    """The moment by which a request is to be answered."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; an error if none are."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise ProblemError(503, "the request took too long; ask about fewer rows or a smaller radius")
        return left


class Workers:
    """A few threads that answer questions.

    Searches keep to the seconds they are given. What is no search (exact sums) cannot be stopped: the client hears that
    it took too long, and the thread is free again once it is done.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._pool = ThreadPoolExecutor(limits.workers, thread_name_prefix="suffice")
        self._waiting = 0

    async def run(self, answer: Callable[[Deadline], Answer]) -> Answer:
        """Return an answer, or raise a problem when it takes too long or too many wait."""
        if self._waiting >= self.limits.max_waiting:
            raise ProblemError(503, "too many requests are waiting; try again in a moment", {"Retry-After": "1"})
        deadline, loop = Deadline(self.limits.max_seconds), asyncio.get_running_loop()
        self._waiting += 1
        work = self._pool.submit(answer, deadline)
        work.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), deadline.left)
        except TimeoutError:
            work.cancel()  # one that has not begun need not
            raise ProblemError(503, "the request took too long; ask about fewer rows or a smaller radius") from None

    def _leave(self) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown(wait=False, cancel_futures=True)
