"""Answers on their way: all of them together may only take so much memory, however slowly they are read."""

from __future__ import annotations

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from suffice.serve.problems import problem

_SMALL = 65_536  # bytes that a connection takes at once


class Sending:
    """How many bytes of large answers are held until their clients have read them."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    def answer(self, content: bytes, kind: str, name: str | None = None) -> Response:
        """Return an answer, as a file if it has a name."""
        headers = {} if name is None else {"Content-Disposition": f'attachment; filename="{name}"'}
        return _Answer(self, content, media_type=kind, headers=headers)


class _Answer(Response):
    """An answer that counts while it is sent, or is not sent at all."""

    def __init__(self, sending: Sending, content: bytes, media_type: str, headers: dict[str, str]) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._sending, self._size = sending, len(content) if len(content) > _SMALL else 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = self._sending
        if self._size and sending.held + self._size > sending.most:
            busy = problem(
                503, "too many large answers are on their way; try again in a moment", headers={"Retry-After": "1"}
            )
            await busy(scope, receive, send)
            return
        sending.held += self._size
        try:
            await super().__call__(scope, receive, send)
        finally:
            sending.held -= self._size
