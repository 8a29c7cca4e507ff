"""What is looked at before the application sees a request: who sent it, for which host, and how much.

Answers go out in pieces, so that no more of one is in a connection's buffer than its client is about to read.
"""

from __future__ import annotations

import asyncio
import hmac
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.serve.limits import Limits
from suffice.serve.pages import PAGE
from suffice.serve.problems import ProblemError, problem

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_PIECE = 65_536
OPEN = frozenset(f"/{name}" for name in PAGE)  # the page itself, which asks for the token


class Guard:
    """Refuses bodies that are too large, requests without the token, and what a page of another site may have sent.

    A page elsewhere could send requests to this machine from its visitor's browser; such requests name another origin,
    or, where a name was made to point here, another host.
    """

    def __init__(self, app: ASGIApp, limits: Limits, hosts: frozenset[str] | None, token: str | None = None) -> None:
        self.app, self.max_bytes, self.max_seconds, self.hosts = app, limits.max_bytes, limits.max_seconds, hosts
        self._expected = None if token is None else f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _in_pieces(self._with_headers(send))
        try:
            self._check(scope["path"], Headers(raw=scope["headers"]))
            body = await asyncio.wait_for(self._read(receive), self.max_seconds)
        except ProblemError as refused:
            await problem(refused.status, refused.detail, headers=refused.headers)(scope, receive, answer)
        except TimeoutError:
            await problem(408, "the request took too long to arrive")(scope, receive, answer)
        else:
            await self.app(scope, _replayed(body, receive), answer)

    def _check(self, path: str, headers: Headers) -> None:
        host, length = (headers.get(name, "") for name in ("host", "content-length"))
        if self.hosts is not None and _split(f"//{host}").hostname not in self.hosts:
            raise ProblemError(403, "this server only answers requests for the host it was started with")
        if any(_split(origin).netloc != host for origin in headers.getlist("origin") if origin):
            raise ProblemError(403, "requests from other sites are refused")
        if self._expected is not None and path not in OPEN:
            self._check_token(headers.get("authorization", ""))
        if length and (not length.isdecimal() or len(length) > 18 or int(length) > self.max_bytes):
            raise self._too_large()

    def _check_token(self, given: str) -> None:
        assert self._expected is not None
        if not hmac.compare_digest(given.encode(), self._expected):  # takes as long wherever they differ
            said = "the server needs its token, sent as 'Authorization: Bearer TOKEN'"
            raise ProblemError(401, said, {"WWW-Authenticate": "Bearer"})

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


def _in_pieces(send: Send) -> Send:
    """Return what sends a body piece by piece: after each, sending waits until the client has read enough."""

    async def sent(message: Message) -> None:
        body = memoryview(message.get("body", b""))
        if message["type"] != "http.response.body" or len(body) <= _PIECE:
            await send(message)
            return
        for start in range(0, len(body), _PIECE):
            has_more = start + _PIECE < len(body) or message.get("more_body", False)
            await send({**message, "body": bytes(body[start : start + _PIECE]), "more_body": has_more})

    return sent
