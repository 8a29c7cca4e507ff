"""What requests say, checked before the library sees it.

The fields of a question are written once, in `FIELDS`; which of them a body has is what its search honours. Their
values go on to `Question.from_document` as they are, and so does everything that only the library can judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, Literal, Union

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model

from suffice.model.fields import named_once
from suffice.question.claim import Claim
from suffice.question.claims import CLAIMS
from suffice.question.documents import Json
from suffice.question.question import OPTIONS, Arithmetic
from suffice.question.region import Categories, Unit
from suffice.search.asking import Search

Text = Annotated[str, Field(strict=True, max_length=5_000)]
_Integer = Annotated[int, Field(strict=True)]
_Float = Annotated[float, Field(strict=True, allow_inf_nan=False)]
_Count = Annotated[int, Field(strict=True, ge=1, le=10_000)]
Names = list[Text]
Number = Annotated[
    Text | _Integer | _Float,
    Field(
        description='A number. Text counts at the value it spells ("0.1" is one tenth), a number as the nearest float.'
    ),
]
Cell = Annotated[Text | _Integer | _Float | None, Field(description="A number, the name of a category, or null.")]
Cells = Annotated[dict[str, Cell], Field(description="A value for each feature, in the features' own units.")]


class StrictRequest(Request):
    """A request whose body is read as JSON that says nothing twice."""

    async def json(self) -> Any:
        """Return what the body says."""
        try:
            return json.loads(await self.body(), object_pairs_hook=named_once)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError) as error:  # a field twice, no text, a number or nesting beyond all use
            raise HTTPException(400, f"the body cannot be read as JSON: {' '.join(str(error).split())[:200]}") from None


class StrictRoute(APIRoute):
    """Hands its endpoint such requests."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def answered(request: Request) -> Response:
            return await answer(StrictRequest(request.scope, request.receive))

        return answered


class Body(BaseModel):
    """What a request sends: these fields and no others."""

    model_config = ConfigDict(extra="forbid")


def _claim_body(claim: type[Claim]) -> Any:
    """Return how a claim is written down: its kind, and its fields."""
    fields: dict[str, Any] = {"kind": (Literal[claim.kind], ...), **dict.fromkeys(claim.field_names(), (Number, ...))}
    return create_model(f"{claim.__name__}Claim", __base__=Body, __doc__=_sentence(claim.summary), **fields)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


_CLAIMS: Any = tuple(_claim_body(claim) for claim in CLAIMS.values())
AnyClaim = Annotated[Union[_CLAIMS], Field(discriminator="kind")]  # noqa: UP007


def _optional(type_: Any, default: Any, description: str, **limits: Any) -> tuple[Any, Any]:
    return type_, Field(default=default, description=description, **limits)


FIELDS: Mapping[str, tuple[Any, Any]] = {
    "radius": _optional(
        Number | dict[str, Number],
        "0.5",
        'How far a free feature may move: one for all, or one for each by name; "inf" for its whole domain.',
    ),
    "unit": _optional(
        Unit, "std", "What the radius counts: standard deviations, the features' own units, or the model's scaled ones."
    ),
    "categories": _optional(
        Categories,
        "free",
        "What a category without an order may become: any other at any radius above 0, or at a radius of 1 or more.",
    ),
    "immutable": _optional(Names, [], "Features that never change and are not counted."),
    "claim": _optional(AnyClaim, {"kind": "same"}, "What must stay true."),
    "fix": _optional(Names, [], "Features that are always fixed; in a contrast, features that must not change."),
    "free": _optional(Names, [], "Features that are always free; in a contrast, features that change at no cost."),
    "cost": _optional(dict[str, Number], {}, "What a feature, or a group, costs; 1 if it is not named."),
    "groups": _optional(dict[str, Names], {}, "Features tied together, by the name of their group."),
    "max_changed": _optional(_Count | None, None, "How many features may differ from the row at once; null for all."),
    "norm": _optional(Literal["inf", "1", "2"], "inf", "The region is the ball of this norm; inf for the box."),
    "arithmetic": _optional(
        Arithmetic, "exact", "What the deployed model computes in; for floats a bound on rounding is charged."
    ),
    "max_nodes": _optional(
        Annotated[int, Field(strict=True, ge=0, le=10**9)] | None, None, "Budget of the search, in nodes."
    ),
    "max_seconds": _optional(
        _Float, 60.0, "Budget of the search, in seconds; the server's own limit always applies.", ge=0, lt=1e9
    ),
}


def fields_of(search: Search[..., Any]) -> tuple[str, ...]:
    """Return the names of the fields of a question that a search asks for."""
    honoured = tuple(name for name in OPTIONS if name in search.honours)
    return ("radius", *honoured) if search.takes_radius else honoured


def body_of(name: str, search: Search[..., Any], says: str, **own: Any) -> type[Body]:
    """Return the body of requests to a search: what it honours, and fields of its own."""
    fields: dict[str, Any] = own | {field: FIELDS[field] for field in fields_of(search)}
    return create_model(f"{name}Body", __base__=Body, __doc__=says, **fields)


def one_of(bodies: Mapping[str, type[Body]], field: str, default: str) -> Any:
    """Return a body that is one of several, told apart by the value of a field that may be left out."""

    def chosen(given: Any) -> Any:
        return given.get(field, default) if isinstance(given, dict) else getattr(given, field, default)

    tagged: Any = tuple(Annotated[body, Tag(name)] for name, body in bodies.items())
    return Annotated[Union[tagged], Discriminator(chosen)]  # noqa: UP007


def question_document(body: Body) -> Json:
    """Return what a body asks as a question is written down; whatever is left out has the library's default."""
    return body.model_dump(include=set(FIELDS), exclude_unset=True)
