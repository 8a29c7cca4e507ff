"""The questions that can be asked over HTTP: every search of the library, with its body and its answer.

A search is asked in one way: by the method of `Explainer` that has its name, with a row, a question, and arguments of
its own. What a request may say beyond that is how the answer is to be shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from suffice.answers import Explanation, Explanations
from suffice.explainer import Explainer
from suffice.present.outline import Outline, outline
from suffice.present.pair_outline import PairOutline, pair_outline, strongest_pairs
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.search.asking import Search
from suffice.search.registry import SEARCHES
from suffice.serve import answers
from suffice.serve.bodies import Body, Cells, Names, Number, body_of, one_of, question_document
from suffice.serve.limits import Deadline

Fields = Mapping[str, tuple[Any, Any]]

_MOST_MAPS, _MOST_CELLS = 6, 10_000  # of pairs that are drawn, and of one of them

_SET: Fields = {"features": (Names, Field(description="The set that is fixed, by name."))}


def _as_it_is(answer: Any, body: Any) -> Json:
    document: Json = answer.document()
    return document


def _as_found(answer: Any, body: Any) -> Any:
    return answer


@dataclass(frozen=True)
class Asked:
    """A search, as it is asked over HTTP.

    Parameters
    ----------
    search : Search
    title : str
        The question in words.
    answer : type
        What its answers look like.
    own : mapping of str to field
        Arguments of the search beside the question.
    shown : mapping of str to field
        What says how the answer is to be shown.
    document : callable
        From an answer and the body of the request to what is sent.
    certified : callable
        From an answer and the body of the request to that of which there is a certificate.
    is_slow : bool
        Whether it usually takes longer than others.
    """

    search: Search[..., Any]
    title: str
    answer: Any
    own: Fields = field(default_factory=dict)
    shown: Fields = field(default_factory=dict)
    document: Callable[[Any, Any], Json] = _as_it_is
    certified: Callable[[Any, Any], Any] = _as_found
    is_slow: bool = False

    @property
    def name(self) -> str:
        """What the search is called."""
        return self.search.name

    @cached_property
    def body(self) -> type[Body]:
        """What requests say."""
        return self.body_with(self.shown, self.name.capitalize())

    def body_with(self, shown: Fields, name: str) -> type[Body]:
        """Return the body of requests that show the answer in another way."""
        return body_of(name, self.search, self.title, row=(Cells, ...), **self.own, **shown)

    def ask(self, explainer: Explainer, row: Any, question: Question, body: Body, deadline: Deadline) -> Any:
        """Return the answer; a search keeps to the time that is left."""
        own = {name: getattr(body, name) for name in self.own}
        if "max_seconds" in self.search.honours:
            question = question.with_budget(max_seconds=min(question.budget.max_seconds, deadline.left))
        place = "radius" if self.search.takes_radius else "question"
        return getattr(explainer, self.name)(row, **{place: question}, **own)


def read_question(explainer: Explainer, body: Body) -> Question:
    """Return the question that a body asks."""
    return Question.from_document(explainer.model, question_document(body))


# --- how answers are shown --------------------------------------------------------------------------------------------


def _explained(why: Explanation, body: Any) -> Json:
    """Return an explanation, and outlines of some features and of some pairs of them."""
    shapes = [outline(why, name) for name in why.ranked[: body.outlines]]
    maps = [pair_outline(why, names) for names in strongest_pairs(why, min(body.outlines, _MOST_MAPS))]
    return why.document() | {
        "outlines": [_outline_document(shape) for shape in shapes if _is_finite(shape)],
        "pair_outlines": [_pair_document(one) for one in maps if _can_be_drawn(one)],
        "adds_up": not why.case.compiled.oriented_pairs(why.inequalities[why.tightest].factors),
    }


def _outline_document(shape: Outline) -> Json:
    return shape._asdict() | {"ticks": [tick._asdict() for tick in shape.ticks]}


def _pair_document(drawn: PairOutline) -> Json:
    sides = [side._asdict() | {"ticks": [tick._asdict() for tick in side.ticks]} for side in drawn.sides]
    return drawn._asdict() | {"sides": sides}


def _can_be_drawn(drawn: PairOutline) -> bool:
    """Whether a map of two features is of floats, and of few enough cells."""
    edges = [end for side in drawn.sides for edge in side.edges for end in edge]
    heights = [height for row in drawn.heights for height in row]
    return len(heights) <= _MOST_CELLS and all(map(math.isfinite, (*edges, *heights)))


def _is_finite(shape: Outline) -> bool:
    """Whether a shape can be drawn: a number of 400 digits is no float."""
    points = (*(point for line in shape.lines for point in line), *shape.dots, shape.row, shape.worst or shape.row)
    return math.isfinite(sum(abs(x) + abs(y) for x, y in (*points, *shape.region, shape.window)))


def _listed(every: Explanations, body: Any) -> Json:
    """Return the first sets, or how many there are."""
    return (every.counted() if body.count else every.listing(body.limit)).document()


# --- all of them ------------------------------------------------------------------------------------------------------

_OUTLINES: Fields = {
    "outlines": (
        Annotated[int, Field(strict=True, ge=0, le=1_000)],
        Field(default=0, description="For how many features to return what a picture shows, fixed ones first."),
    )
}
_MINIMAL: Fields = {
    "minimal": (
        Literal["size", "subset"],
        Field(default="size", description="All sets of the smallest size, or all of which no proper subset suffices."),
    )
}
_LISTED: Fields = {
    "limit": (
        Annotated[int, Field(strict=True, ge=1, le=1_000)],
        Field(default=20, description="How many sets to return at most."),
    ),
    "count": (
        Annotated[bool, Field(strict=True)],
        Field(default=False, description="Return how many there are instead."),
    ),
}
_UNTIL: Fields = {"until": (Number, Field(default="inf", description='The largest radius to look at; "inf" for all.'))}
_ANY_SET: Fields = {
    "features": (
        Names | None,
        Field(default=None, description="The set to widen, in this order; the smallest one if it is not given."),
    )
}

ASKED: Mapping[str, Asked] = {
    one.name: one
    for one in (
        Asked(
            SEARCHES["explain"],
            "Which features are enough?",
            answers.OutlinedAnswer,
            shown=_OUTLINES,
            document=_explained,
        ),
        Asked(SEARCHES["sufficiency"], "Are these features enough?", answers.SufficiencyAnswer, own=_SET),
        Asked(SEARCHES["contrast"], "What would change it?", answers.ContrastAnswer),
        Asked(SEARCHES["counterfactual"], "What is the nearest change?", answers.CounterfactualAnswer, is_slow=True),
        Asked(SEARCHES["relevance"], "Which features matter at all?", answers.RelevanceAnswer),
        Asked(
            SEARCHES["explanations"],
            "What are all minimal sets?",
            answers.ListAnswer | answers.CountAnswer,
            own=_MINIMAL,
            shown=_LISTED,
            document=_listed,
            certified=lambda every, body: every.listing(body.limit),
            is_slow=True,
        ),
        Asked(SEARCHES["radius"], "Which radius is safe?", answers.RadiusAnswer, own=_SET),
        Asked(SEARCHES["curve"], "How does the size grow?", answers.CurveAnswer, own=_UNTIL, is_slow=True),
        Asked(SEARCHES["inflate"], "Which ranges are safe?", answers.InflatedAnswer, own=_ANY_SET),
    )
}

EXPLAIN = ASKED["explain"]


def _certificate_body(name: str) -> type[Body]:
    # Without the field it is of an explanation: the others must have it, or a body would fit several descriptions.
    of = (Literal[name], Field(default=name if name == "explain" else ..., description="What the certificate is of."))
    limit = {"limit": _LISTED["limit"]} if name == "explanations" else {}
    return ASKED[name].body_with({"of": of, **limit}, f"{name.capitalize()}Certificate")


_TITLE: Fields = {
    "title": (Annotated[str, Field(strict=True, max_length=200)], Field(default="Explained decision")),
}
CertificateBody: Any = one_of({name: _certificate_body(name) for name in ASKED}, "of", "explain")
ReportBody: Any = EXPLAIN.body_with(_TITLE, "Report")
BatchBody: Any = body_of("Batch", EXPLAIN.search, "Which features are enough, row by row?", rows=(list[Cells], ...))
