"""The description of the API for one model: which features a row has, and what each can be.

The rows of a batch are described loosely: a wrong one is answered with a problem of its own.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from flint import fmpq

from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain, Span
from suffice.numbers.exact import nearest_float
from suffice.numbers.values import Missing
from suffice.question.documents import Json

_TEXT = {"type": "string", "pattern": r"^-?[0-9]{1,40}(\.[0-9]{1,40}|/[1-9][0-9]{0,40})?$"}


def describe_rows(app: FastAPI, model: AdditiveModel) -> None:
    """Make an application's description name the features of its model."""
    plain = app.openapi

    def described() -> Json:
        if app.openapi_schema is None:
            document = plain()
            schemas = document["components"]["schemas"]
            schemas["Row"] = _row(model)
            for body in schemas.values():
                fields = body.get("properties", {})
                if "Body" in body.get("title", "") and "row" in fields:
                    fields["row"] = {"$ref": "#/components/schemas/Row"}
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def describe_token(app: FastAPI) -> None:
    """Make an application's description say that requests need a token."""
    plain = app.openapi

    def described() -> Json:
        document = plain()
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        return document

    app.openapi = described  # type: ignore[method-assign]


def _row(model: AdditiveModel) -> Json:
    cells = {name: _cell(domain) for name, domain in zip(model.names, model.domains, strict=True)}
    return {
        "title": "Row",
        "type": "object",
        "description": "A value for each feature, in the features' own units.",
        "properties": cells,
        "required": list(model.names),
        "additionalProperties": False,
    }


def _cell(domain: Domain) -> Json:
    choices: list[Any] = [choice for span in domain.spans for choice in (_numbers(span), _TEXT)]
    named = [value for value in (*domain.categories_, *domain.codes_) if not isinstance(value, Missing)]
    if named:
        choices.append({"enum": [str(value) for value in named]})
    if any(isinstance(value, Missing) for value in domain.codes_):
        choices.append({"type": "null"})
    return {"anyOf": choices, "description": str(domain)}


def _numbers(span: Span) -> Json:
    ends: dict[str, fmpq | None] = {"minimum": span.low, "maximum": span.high}
    limits = {name: nearest_float(end) for name, end in ends.items() if end is not None}
    return {"type": "integer" if span.is_integers else "number", **limits}
