"""How long and how many: connections that send slowly, read slowly or do nothing do not keep others out.

uvicorn bounds how long an answered connection may be silent, and no more. Here a clock runs until the head of the first
request, until that of the next, and whenever a client does not read what it is sent. Where there are too many
connections, a new one takes the place of the one that has been waiting for a whole request the longest.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from suffice.serve.limits import Limits

HEAD_BYTES = 16_384  # bytes of the head of a request
_HIGH, _LOW = 524_288, 65_536  # bytes in the buffer of a connection when sending stops, and when it goes on
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class Connections:
    """The connections of one server: who is there, and who has to go."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._clients: Counter[str] = Counter()
        self._waiting: dict[Connection, str] = {}  # for a request, longest first

    def protocol(self, *arguments: Any, **options: Any) -> Connection:
        """Return what uvicorn asks for when a client connects."""
        return Connection(self, *arguments, **options)

    def admit(self, client: str) -> bool:
        """Count a new connection, unless there is no place that it could take."""
        if self._clients[client] >= self.limits.max_per_client and not self._drop(client):
            return False
        if self._clients.total() >= self.limits.max_connections and not self._drop(None):
            return False
        self._clients[client] += 1
        return True

    def leave(self, connection: Connection, client: str) -> None:
        """Count a connection no more."""
        self._waiting.pop(connection, None)
        self._clients[client] -= 1
        if self._clients[client] <= 0:
            del self._clients[client]

    def waits(self, connection: Connection, client: str) -> None:
        """Remember that a connection has sent no whole request."""
        self._waiting.setdefault(connection, client)

    def works(self, connection: Connection) -> None:
        """Remember that a connection has a request under way."""
        self._waiting.pop(connection, None)

    def _drop(self, client: str | None) -> bool:
        """End the connection, of this client if one is named, that has waited for a request the longest."""
        longest = next((one for one, its in self._waiting.items() if client in (None, its)), None)
        if longest is None:
            return False
        longest.end()
        return True


class Requests(h11.Connection):
    """What h11 reads, less what costs far more to read than to send.

    h11 bounds the head of a request only while it has not arrived as a whole, and reads chunks one by one: a million
    chunks of a byte each hold the server up for many seconds. So bodies come with their length.
    """

    def __init__(self, max_head: int) -> None:
        super().__init__(h11.SERVER, max_head)
        self._max_head = max_head
        self.refused: str | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what the client sent next."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.refused = self._refused(event)
            if self.refused is not None:
                raise h11.RemoteProtocolError(self.refused)
        return event

    def _refused(self, request: h11.Request) -> str | None:
        if any(name == b"transfer-encoding" for name, _ in request.headers):
            return "Send the body with its length (Content-Length), not in chunks."
        if len(request.target) + sum(len(name) + len(value) + 4 for name, value in request.headers) > self._max_head:
            return f"The head of a request can have at most {self._max_head:,} bytes."
        return None


class Connection(H11Protocol):
    """uvicorn's connection, with clocks."""

    def __init__(self, every: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.conn = Requests(self.config.h11_max_incomplete_event_size or HEAD_BYTES)
        self._every, self._limits = every, every.limits
        self._address, self._is_admitted, self._is_counted = "", False, False
        self._clock: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, if there is room."""
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        self._is_admitted = self._every.admit(self._address)
        if not self._is_admitted:
            transport.write(_BUSY)
            transport.close()
            return
        self._is_counted = True
        transport.set_write_buffer_limits(_HIGH, _LOW)
        super().connection_made(transport)
        self._wait(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._leave()
        if self._is_admitted:
            super().connection_lost(exc)

    def end(self) -> None:
        """End at once; what the client has not read is lost."""
        self._leave()
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        if self._is_counted:
            super().data_received(data)
            self._look()

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong with a request, and close."""
        assert isinstance(self.conn, Requests)
        super().send_400_response(self.conn.refused or msg)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is there already."""
        super().on_response_complete()
        if self._is_counted and not self._is_working:
            self._wait(self._limits.stall_seconds if self.transport.is_closing() else self._limits.idle_seconds)

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(self._limits.stall_seconds, self.end)

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    @property
    def _is_working(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _look(self) -> None:
        """Stop the clock once a request has begun; until its body is there, it may have to go for another."""
        if not self._is_working:
            return
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        if self.conn.their_state is not h11.SEND_BODY:
            self._every.works(self)

    def _wait(self, seconds: float) -> None:
        if self._clock is not None:
            self._clock.cancel()
        self._clock = self.loop.call_later(seconds, self.end)
        self._every.waits(self, self._address)

    def _leave(self) -> None:
        if self._is_counted:
            self._is_counted = False
            self._every.leave(self, self._address)
        for clock in (self._clock, self._stalled):
            if clock is not None:
                clock.cancel()
        self._clock = self._stalled = None


class Seldom(logging.Filter):
    """Lets some records of a log through each minute: what clients do must not fill a disk."""

    def __init__(self, most: int = 60) -> None:
        super().__init__()
        self._most, self._minute, self._count = most, 0.0, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is let through."""
        now = time.monotonic()
        if now - self._minute >= 60:
            self._minute, self._count = now, 0
        self._count += 1
        return self._count <= self._most
