"""Errors as problem documents (RFC 9457): what is wrong and what to do, never where in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from suffice.errors import SufficeError

MEDIA_TYPE = "application/problem+json"
_MOST_ERRORS = 5


class ProblemError(Exception):
    """A request that cannot be answered, with the status to say so."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, kind: str = "") -> None:
        super().__init__(status, detail, headers, kind)
        self.status, self.detail, self.headers, self.kind = status, detail, headers, kind


def problem(status: int, detail: str, kind: str = "", headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return a response that says what is wrong."""
    document = problem_document(status, detail, kind)
    return JSONResponse(document, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def problem_document(status: int, detail: str, kind: str = "") -> dict[str, Any]:
    """Return what is wrong as a document; `kind` names the library's error class, if it is one."""
    return {
        "type": f"urn:suffice:problem:{kind}" if kind else "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }


def add_handlers(app: FastAPI) -> None:
    """Make an application answer every error with a problem document."""

    @app.exception_handler(ProblemError)
    async def _(request: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, error.detail, error.kind, error.headers)

    @app.exception_handler(SufficeError)
    async def _(request: Request, error: SufficeError) -> JSONResponse:
        return problem(422, str(error), type(error).__name__)

    @app.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> JSONResponse:
        return problem(422, _describe(error.errors()))

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> JSONResponse:
        return problem(error.status_code, str(error.detail), headers=error.headers)

    @app.exception_handler(Exception)
    async def _(request: Request, error: Exception) -> JSONResponse:
        return problem(500, "the server failed to answer; its log says why")


def _describe(errors: Sequence[Any]) -> str:
    """Return in one line which parts of a body are wrong, without repeating what they hold."""
    told = [f"{'.'.join(str(place) for place in error['loc'])}: {error['msg']}" for error in errors[:_MOST_ERRORS]]
    more = f"; {len(errors) - _MOST_ERRORS} more" if len(errors) > _MOST_ERRORS else ""
    return "; ".join(told)[:2_000] + more
