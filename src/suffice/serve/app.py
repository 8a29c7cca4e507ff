"""The application: one model, asked over HTTP, and the page that asks.

In: an explainer, the file that its certificates are for, perhaps a table. Out: an ASGI application. It reads no files
while it runs: the model, the table and the page are in memory before the first request.
"""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from decimal import Decimal
from importlib.resources import files
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import Body as FromBody
from fastapi import FastAPI, Path, Request
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp

from suffice import __version__
from suffice.explainer import Explainer
from suffice.model.domain import is_missing
from suffice.present.models import model_document
from suffice.question.documents import Json
from suffice.serve import answers
from suffice.serve.asker import Asker
from suffice.serve.bodies import Body, StrictRoute
from suffice.serve.description import describe_rows, describe_token
from suffice.serve.guard import Guard
from suffice.serve.lanes import Lanes
from suffice.serve.limits import Limits
from suffice.serve.pages import PAGE
from suffice.serve.portfolio import SURVEYED, Surveyed
from suffice.serve.problems import MEDIA_TYPE, ProblemError, add_handlers
from suffice.serve.questions import ASKED, Asked, BatchBody, CertificateBody, ReportBody
from suffice.serve.sending import Sending
from suffice.tables.reading import DataTable

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_BYTES = "application/octet-stream"
_DESCRIPTION = (
    "Proven minimal explanations of one additive model. Every number of an answer is exact, as text, beside its "
    "nearest float. Errors are problem documents (RFC 9457)."
)


def create_app(
    explainer: Explainer,
    table: DataTable | None = None,
    *,
    model_file: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
    token: str | None = None,
) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    explainer : Explainer
    table : DataTable, optional
        Rows to pick from.
    model_file : path, optional
        The file that certificates are for, which can be downloaded. Default: the one that `model.save` writes.
    limits : Limits, optional
    hosts : frozenset of str, optional
        Names that requests may use for this server; None for any.
    token : str, optional
        What requests must send to be answered, as `Authorization: Bearer TOKEN`; the page itself needs none.

    Raises
    ------
    ModelFileError
        If the file holds another model.
    """
    service = _Service(explainer, model_file, table, limits or Limits())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.lanes.start()
        yield
        service.lanes.close()

    app = FastAPI(
        title="suffice",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # that page would be loaded from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    app.router.route_class = StrictRoute
    add_handlers(app)
    describe_rows(app, explainer.model)
    if token is not None:
        describe_token(app)
    _add_page(app)
    _add_reading(app, service)
    _add_questions(app, service)
    _add_documents(app, service)
    return Guard(app, service.limits, hosts, token)


class _Service:
    """What every request works with; nothing of it changes."""

    def __init__(
        self, explainer: Explainer, file: str | os.PathLike[str] | None, table: DataTable | None, limits: Limits
    ) -> None:
        self.explainer, self.model = explainer, explainer.model
        self.hash = explainer.compiled.file_hash(file)
        self.content = explainer.compiled.content if file is None else FilePath(file).read_bytes()
        self.table, self.limits = table, limits
        self.lanes = Lanes(Asker(explainer, self.content, self.hash, limits.max_answer, table), limits)
        self.sending = Sending(limits.max_unread)

    async def answer(
        self, path: str, body: Body | bytes, kind: str = "application/json", name: str | None = None
    ) -> Response:
        """Return the answer to a request whose body was checked, as a file if it has a name."""
        asked = body if isinstance(body, bytes) else body.model_dump(exclude_unset=True)
        return self.sending.answer(await self.lanes.answer(path, asked), kind, name)


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of answers that say what is wrong."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    told = {
        400: "not JSON",
        401: "without the token",
        403: "refused",
        404: "not found",
        408: "too slow",
        413: "too large",
        422: "cannot be answered",
        503: "too busy or too long",
    }
    return {status: {"description": told[status], "content": {MEDIA_TYPE: schema}} for status in statuses}


_ASKING = _problems(400, 401, 403, 408, 413, 422, 503)


def _ok(model: type | None, description: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": description, **({"model": model} if model else {})}, **_ASKING}


# --- reading ----------------------------------------------------------------------------------------------------------


def _add_page(app: FastAPI) -> None:
    """Serve the page's files, each under one fixed name."""
    for name, (file, kind) in PAGE.items():
        content = files("suffice.serve").joinpath("page", file).read_bytes()
        app.add_api_route(f"/{name}", _fixed(content, kind), include_in_schema=False, response_class=Response)


def _fixed(content: bytes, kind: str) -> Callable[[], Coroutine[Any, Any, Response]]:
    async def answer() -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8")

    return answer


def _add_reading(app: FastAPI, service: _Service) -> None:
    document = _model_document(service)

    @app.get("/v1/model", summary="What the model is", responses=_problems(401, 403))
    async def model() -> JSONResponse:
        return JSONResponse(document)

    @app.get(
        "/v1/model.safetensors",
        summary="The model file that certificates are for",
        response_class=Response,
        responses={200: {"description": "the file", "content": {_BYTES: {}}}, **_problems(401, 403)},
    )
    async def model_file() -> Response:
        return Response(
            service.content,
            media_type=_BYTES,
            headers={"Content-Disposition": 'attachment; filename="model.safetensors"'},
        )

    @app.get(
        "/v1/rows/{row}",
        summary="A row of the table",
        responses={200: {"model": answers.TableRow}, **_problems(401, 403, 404, 422)},
        response_model=None,
    )
    async def table_row(row: Annotated[int, Path(ge=0, le=2**53)]) -> JSONResponse:
        if service.table is None or row >= len(service.table.rows):
            raise ProblemError(404, f"there is no row {row}; the table has {document['rows']}, counted from 0")
        cells = service.table.row(row)
        return JSONResponse({"row": row, "cells": {name: _cell(cells.get(name)) for name in service.model.names}})


def _model_document(service: _Service) -> Json:
    """Return what the model is, and what can be asked of it."""
    asked = [{"name": one.name, "title": one.title, "fields": list(one.body.model_fields)} for one in ASKED.values()]
    limits = service.limits
    surveyed = [
        {"name": one.name, "title": one.title, "fields": list(one.body.model_fields)} for one in SURVEYED.values()
    ]
    return model_document(service.explainer.compiled) | {
        "sha256": service.hash,
        "rows": 0 if service.table is None else len(service.table.rows),
        "table": None if service.table is None else FilePath(service.table.path).name,
        "columns": [] if service.table is None else list(service.table.columns),
        "questions": asked,
        "portfolio_questions": surveyed,
        "limits": {"bytes": limits.max_bytes, "rows": limits.max_rows, "seconds": limits.max_seconds},
    }


def _cell(cell: Any) -> Any:
    """Return a cell as JSON has it, without changing its value."""
    if is_missing(cell):
        return None
    if isinstance(cell, bool) or not isinstance(cell, (int, float, Decimal)):
        return str(cell)
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else str(cell)
    return cell if isinstance(cell, int) and abs(cell) < 2**53 else str(cell)


# --- questions --------------------------------------------------------------------------------------------------------


def _add_questions(app: FastAPI, service: _Service) -> None:
    for name, asked in ASKED.items():
        app.post(
            f"/v1/{name}",
            name=name,
            summary=asked.title,
            description=asked.search.__doc__ or "",
            responses=_ok(asked.answer, "the answer"),
        )(_answering(service, asked))
    for name, surveyed in SURVEYED.items():
        app.post(
            f"/v1/{name}",
            name=name,
            summary=surveyed.title,
            description=f"{surveyed.title} See the chapter on decisions.",
            responses=_ok(surveyed.answer, "the answer"),
        )(_answering(service, surveyed))

    @app.post(
        "/v1/batch",
        summary="Which features are enough, row by row?",
        responses=_ok(answers.BatchAnswer, "an answer for each row"),
    )
    async def batch(body: BatchBody) -> Response:
        if len(body.rows) > service.limits.max_rows:
            raise ProblemError(413, f"a request can have at most {service.limits.max_rows} rows, got {len(body.rows)}")
        return await service.answer("batch", body)


def _answering(service: _Service, asked: Asked | Surveyed) -> Callable[..., Coroutine[Any, Any, Response]]:
    """Return what answers requests to a question."""

    async def answer(body: Body) -> Response:
        return await service.answer(asked.name, body)

    answer.__annotations__["body"] = asked.body  # FastAPI reads from it what the body is
    return answer


# --- documents --------------------------------------------------------------------------------------------------------


def _add_documents(app: FastAPI, service: _Service) -> None:
    @app.post("/v1/certificate", summary="The proof, for others to check", responses=_ok(None, "a certificate"))
    async def certificate(body: Annotated[CertificateBody, FromBody()]) -> Response:
        return await service.answer("certificate", body, name="certificate.json")

    @app.post(
        "/v1/report",
        summary="A report on one decision",
        response_class=Response,
        responses={200: {"description": "an HTML file", "content": {"text/html": {}}}, **_ASKING},
    )
    async def report(body: ReportBody) -> Response:
        return await service.answer("report", body, "text/html; charset=utf-8", "report.html")

    schema = {"type": "object", "description": "A certificate, as it is in its file."}
    content = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

    @app.post(
        "/v1/check",
        summary="Does a certificate hold?",
        responses=_ok(answers.CheckAnswer, "what the checker says"),
        openapi_extra=content,
    )
    async def check_certificate(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise ProblemError(422, "send the certificate as application/json")
        return await service.answer("check", await request.body())
