"""The application: one model, asked over HTTP, and the page that asks.

In: an explainer, the bytes of its model file, perhaps a table. Out: an ASGI application. It reads no files while it
runs: the model, the table and the page are in memory before the first request.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from decimal import Decimal
from importlib.resources import files
from typing import Annotated, Any

from fastapi import FastAPI, Path, Request
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp

from suffice import __version__
from suffice.certificate import Certificate
from suffice.domain import is_missing
from suffice.errors import SufficeError
from suffice.explain import Explainer
from suffice.present.facts import ranked
from suffice.present.json import Json, answer_document, contrast_document, curve_document, model_document
from suffice.present.outline import Outline, outline
from suffice.results import Explanation
from suffice.serve import bodies
from suffice.serve.description import describe_rows
from suffice.serve.limits import Deadline, Guard, Limits, Workers
from suffice.serve.problems import MEDIA_TYPE, ProblemError, add_handlers, problem_document
from suffice.tables import DataTable
from suffice_check import RejectedError, UnreadableError, check

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_PAGE = {
    "": ("index.html", "text/html"),
    "page.css": ("page.css", "text/css"),
    "page.js": ("page.js", "text/javascript"),
}
_DESCRIPTION = (
    "Proven minimal explanations of one additive model. Every number of an answer is exact, as text, beside its "
    "nearest float. Errors are problem documents (RFC 9457)."
)


def create_app(
    explainer: Explainer,
    model_bytes: bytes,
    table: DataTable | None = None,
    *,
    limits: Limits | None = None,
    hosts: frozenset[str] | None = LOOPBACK,
) -> ASGIApp:
    """Return the application.

    Parameters
    ----------
    explainer : Explainer
    model_bytes : bytes
        The model file that the explainer's model was read from; certificates are for it.
    table : DataTable, optional
        Rows to pick from.
    limits : Limits, optional
    hosts : frozenset of str, optional
        Names that requests may use for this server; None for any.
    """
    service = _Service(explainer, model_bytes, table, limits or Limits())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        service.workers.close()

    app = FastAPI(
        title="suffice",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # that page would be loaded from elsewhere
        redoc_url=None,
        lifespan=lifespan,
    )
    add_handlers(app)
    describe_rows(app, explainer.model)
    _add_page(app)
    _add_reading(app, service)
    _add_questions(app, service)
    _add_documents(app, service)
    return Guard(app, service.limits, hosts)


class _Service:
    """What every request works with; nothing of it changes."""

    def __init__(self, explainer: Explainer, model_bytes: bytes, table: DataTable | None, limits: Limits) -> None:
        self.explainer, self.model, self.model_bytes = explainer, explainer.model, model_bytes
        self.hash = hashlib.sha256(model_bytes).hexdigest()
        self.table, self.limits, self.workers = table, limits, Workers(limits)
        self.drawing = threading.Lock()  # matplotlib's settings are the process's

    def explain(self, body: bodies.ExplainBody | bodies.ReportBody, deadline: Deadline) -> Explanation:
        """Answer a question within the time that is left."""
        return self.explainer.explain(body.row, **body.question(self.model), max_seconds=deadline.left)

    def certificate(self, why: Explanation) -> str:
        """Return the certificate of an answer, for the very file that was read."""
        return Certificate(why.certificate().document | {"model": self.hash}).text


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of answers that say what is wrong."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    told = {
        400: "no JSON",
        403: "refused",
        404: "not there",
        408: "too slow",
        413: "too large",
        422: "cannot be answered",
        503: "too busy or too long",
    }
    return {status: {"description": told[status], "content": {MEDIA_TYPE: schema}} for status in statuses}


_ASKING = _problems(400, 403, 408, 413, 422, 503)


def _ok(model: type | None, description: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": description, **({"model": model} if model else {})}, **_ASKING}


# --- reading ----------------------------------------------------------------------------------------------------------


def _add_page(app: FastAPI) -> None:
    """Serve the page's three files, each under one fixed name."""
    for name, (file, kind) in _PAGE.items():
        content = files("suffice.serve").joinpath("page", file).read_bytes()
        app.add_api_route(f"/{name}", _fixed(content, kind), include_in_schema=False, response_class=Response)


def _fixed(content: bytes, kind: str) -> Callable[[], Coroutine[Any, Any, Response]]:
    async def answer() -> Response:
        return Response(content, media_type=f"{kind}; charset=utf-8")

    return answer


def _add_reading(app: FastAPI, service: _Service) -> None:
    document = model_document(service.model, service.explainer.pieces) | {
        "sha256": service.hash,
        "rows": 0 if service.table is None else len(service.table.rows),
        "limits": {
            "bytes": service.limits.max_bytes,
            "rows": service.limits.max_rows,
            "seconds": service.limits.max_seconds,
        },
    }

    @app.get("/v1/model", summary="What the model is", responses=_problems(403))
    async def model() -> JSONResponse:
        return JSONResponse(document)

    @app.get(
        "/v1/rows/{row}",
        summary="A row of the table",
        responses={200: {"model": bodies.TableRow}, **_problems(403, 404, 422)},
        response_model=None,
    )
    async def table_row(row: Annotated[int, Path(ge=0, le=2**53)]) -> JSONResponse:
        if service.table is None or row >= len(service.table.rows):
            raise ProblemError(404, f"there is no row {row}; the table has {document['rows']}, counted from 0")
        cells = service.table.row(row)
        return JSONResponse({"row": row, "cells": {name: _cell(cells.get(name)) for name in service.model.names}})


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
    explainer, run = service.explainer, service.workers.run

    @app.post(
        "/v1/explain", summary="Which features suffice?", responses=_ok(bodies.ExplanationAnswer, "the smallest set")
    )
    async def explain(body: bodies.ExplainBody) -> JSONResponse:
        return JSONResponse(await run(lambda deadline: _explained(service.explain(body, deadline), body.outlines)))

    @app.post(
        "/v1/contrast", summary="What would change it?", responses=_ok(bodies.ContrastAnswer, "the smallest change")
    )
    async def contrast(body: bodies.ContrastBody) -> JSONResponse:
        def answer(deadline: Deadline) -> Json:
            found = explainer.contrast(body.row, **body.question(service.model))
            return contrast_document(found) | {"text": str(found).splitlines()}

        return JSONResponse(await run(answer))

    @app.post(
        "/v1/curve", summary="How does the size grow with the radius?", responses=_ok(bodies.CurveAnswer, "steps")
    )
    async def curve(body: bodies.CurveBody) -> JSONResponse:
        def answer(deadline: Deadline) -> Json:
            found = explainer.curve(body.row, **body.question(service.model), max_seconds=deadline.left)
            return curve_document(found) | {"text": str(found).splitlines()}

        return JSONResponse(await run(answer))

    @app.post("/v1/batch", summary="Which features suffice, row by row?", responses=_ok(bodies.BatchAnswer, "answers"))
    async def batch(body: bodies.BatchBody) -> JSONResponse:
        if len(body.rows) > service.limits.max_rows:
            raise ProblemError(413, f"a request has {service.limits.max_rows} rows at most, got {len(body.rows)}")
        return JSONResponse({"answers": await run(lambda deadline: _each(service, body, deadline))})


def _explained(why: Explanation, outlines: int) -> Json:
    """Return an explanation with its text, and outlines of some features."""
    shapes = [outline(why, name) for name in ranked(why)[:outlines]]
    shown = [_outline_document(shape) for shape in shapes if _is_finite(shape)]
    return answer_document(why) | {"text": str(why).splitlines(), "outlines": shown}


def _outline_document(shape: Outline) -> Json:
    return shape._asdict() | {"ticks": [tick._asdict() for tick in shape.ticks]}


def _is_finite(shape: Outline) -> bool:
    """Whether a shape can be drawn: a number of 400 digits is no float."""
    points = (*(point for line in shape.lines for point in line), *shape.dots, shape.row, shape.worst or shape.row)
    return math.isfinite(sum(abs(x) + abs(y) for x, y in (*points, *shape.region, shape.window)) + (shape.drop or 0.0))


def _each(service: _Service, body: bodies.BatchBody, deadline: Deadline) -> list[Json]:
    """Return an answer for each row; a row that cannot be answered says so and spares the others."""
    question, answers = body.question(service.model), []
    for k, row in enumerate(body.rows):
        try:
            why = service.explainer.explain(row, **question, max_seconds=deadline.left)
            answers.append({"row": k, "explanation": answer_document(why)})
        except SufficeError as error:
            answers.append({"row": k, "problem": problem_document(422, str(error), type(error).__name__)})
    return answers


# --- documents --------------------------------------------------------------------------------------------------------


def _add_documents(app: FastAPI, service: _Service) -> None:
    run = service.workers.run

    @app.post("/v1/certificate", summary="The proof, to be checked by others", responses=_ok(None, "a certificate"))
    async def certificate(body: bodies.ExplainBody) -> Response:
        text = await run(lambda deadline: service.certificate(service.explain(body, deadline)))
        return _file(text, "application/json", "certificate.json")

    @app.post(
        "/v1/report",
        summary="A report on one decision",
        response_class=Response,
        responses={200: {"description": "an HTML file", "content": {"text/html": {}}}, **_ASKING},
    )
    async def report(body: bodies.ReportBody) -> Response:
        text = await run(lambda deadline: _report(service, body, deadline))
        return _file(text, "text/html; charset=utf-8", "report.html")

    schema = {"type": "object", "description": "A certificate, as it is in its file."}
    content = {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

    @app.post(
        "/v1/check",
        summary="Does a certificate hold?",
        responses=_ok(bodies.CheckAnswer, "what the checker says"),
        openapi_extra=content,
    )
    async def check_certificate(request: Request) -> JSONResponse:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise ProblemError(422, "send the certificate as application/json")
        given = await request.body()
        return JSONResponse(await run(lambda deadline: _checked(service.model_bytes, given)))


def _checked(model: bytes, certificate: bytes) -> Json:
    """Return what the checker says; it shares no code with the explainer."""
    try:
        return {"is_accepted": True, "says": check(model, certificate)}
    except RejectedError as error:
        return {"is_accepted": False, "says": f"Rejected: {error}"}
    except UnreadableError as error:
        raise ProblemError(422, f"this is no certificate: {error}") from None


def _report(service: _Service, body: bodies.ReportBody, deadline: Deadline) -> str:
    from suffice.present.report import Decision, report

    why = service.explain(body, deadline)
    facts = {
        "Model": f"{len(service.model_bytes):,} bytes",
        "SHA-256": service.hash,
        "Task": f"{service.model.task}, {len(service.model.features)} features",
        "Radius": f"{body.radius} ({body.unit})",
        "Made by": f"suffice {__version__}",
    }
    with service.drawing:
        return report([Decision("Decision", why, service.certificate(why))], facts, title=body.title)


def _file(text: str, kind: str, name: str) -> Response:
    return Response(text.encode(), media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
