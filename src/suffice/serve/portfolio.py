"""The questions about decisions that can be asked over HTTP: of the model, of a row, and of the served table.

Each is a method of `Explainer`, asked with the fields of its body and, where it needs one, with the table that the
server was started with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from suffice.explainer import Explainer
from suffice.layout.facts import facts_document
from suffice.layout.told import Told
from suffice.present.whole_shapes import WholeShapes
from suffice.question.documents import Json
from suffice.question.question import Question
from suffice.serve import answers
from suffice.serve.bodies import FIELDS, Body, Cells, Names, Number, Text
from suffice.serve.limits import Deadline
from suffice.serve.overview import Overview
from suffice.serve.problems import ProblemError
from suffice.tables.reading import DataTable

if TYPE_CHECKING:
    from suffice.batch.result import BatchResult
    from suffice.decisions.rows import Portfolio

_MOST_RADII, _MOST_ROWS, _FIRST_ROWS = 20, 20_000, 32

Fields = Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Surveyed:
    """A question about decisions.

    Parameters
    ----------
    name, title : str
        What it is called, and the question in words.
    answer : type
        What its answers look like.
    fields : mapping of str to field
        What requests say.
    ask : callable
        From the table, the body of a request and its time to the finding.
    """

    name: str
    title: str
    answer: type
    fields: Fields
    ask: Callable[[Survey, Any, Deadline], Told]

    @cached_property
    def body(self) -> type[Body]:
        """What requests say."""
        fields: dict[str, Any] = dict(self.fields)
        return create_model(f"{self.name.capitalize()}Body", __base__=Body, __doc__=self.title, **fields)

    def document(self, survey: Survey, body: Mapping[str, Any], deadline: Deadline) -> Json:
        """Return the answer to a request."""
        found = self.ask(survey, self.body.model_validate(body), deadline)
        return found.document() | {"facts": facts_document(found.facts())}


class Survey:
    """The model, and the table, read once for all questions about it."""

    def __init__(self, explainer: Explainer, table: DataTable | None) -> None:
        self.explainer, self._table = explainer, table

    @property
    def table(self) -> DataTable:
        """The table; an error if there is none."""
        if self._table is None:
            raise ProblemError(422, "the server was started without a table; start it with suffice serve --data TABLE")
        return self._table

    @cached_property
    def portfolio(self) -> Portfolio:
        """The rows of the table."""
        return self.explainer.portfolio(self.table)

    @property
    def rows(self) -> Portfolio | None:
        """The rows of the table, if there is one."""
        return None if self._table is None else self.portfolio

    def given(self, body: Any, *names: str) -> dict[str, Any]:
        """Return some fields of a body as the library takes them."""
        return {name: getattr(body, name) for name in names} | {"claim": self._claim(body)}

    def _claim(self, body: Any) -> Any:
        # A claim is read as part of a question, the only place that knows how one is written down.
        asked = {"claim": body.model_dump(include={"claim"}).get("claim", {"kind": "same"})}
        return Question.from_document(self.explainer.model, asked).claim


def _unaffected(survey: Survey, body: Any, _: Deadline) -> Told:
    return survey.explainer.unaffected(survey.portfolio, **survey.given(body, "by", "radius", "unit"))


def _stability(survey: Survey, body: Any, _: Deadline) -> Told:
    labels = None if body.labels is None else survey.table.column(body.labels)
    given = survey.given(body, "radii", "unit", "categories", "immutable")
    return survey.explainer.stability(survey.portfolio, labels=labels, **given)


def _assertion(survey: Survey, body: Any, deadline: Deadline) -> Told:
    claim = survey.given(body)["claim"]
    return survey.explainer.check(body.where, body.outcome, claim=claim, table=survey.rows, max_seconds=deadline.left)


def _monotone(survey: Survey, body: Any, _: Deadline) -> Told:
    return survey.explainer.monotone(body.feature, body.direction, body.outcome, table=survey.rows)


def _reasons(survey: Survey, body: Any, deadline: Deadline) -> Told:
    given = survey.given(body, "reference", "immutable", "groups", "limit")
    return survey.explainer.reasons(body.row, table=survey.rows, max_seconds=deadline.left, **given)


def _recourse(survey: Survey, body: Any, deadline: Deadline) -> Told:
    given = survey.given(body, "actions", "outcome", "relations", "alternatives")
    return survey.explainer.recourse(body.row, table=survey.rows, max_seconds=deadline.left, **given)


def _contributions(survey: Survey, body: Any, _: Deadline) -> Told:
    return survey.explainer.contributions(body.row, body.reference, table=survey.rows)


def _shapes(survey: Survey, body: Any, _: Deadline) -> Told:
    return WholeShapes(survey.portfolio, body.outcome)


def _rows(survey: Survey, body: Any, deadline: Deadline) -> Told:
    model = survey.explainer.model
    question = Question.from_document(model, body.model_dump(exclude_unset=True))
    if len(survey.portfolio) > _MOST_ROWS:
        raise ProblemError(
            422,
            f"the table has more than {_MOST_ROWS:,} rows; explain it with suffice batch, and serve some of its rows",
        )
    return Overview(model, question, _in_time(survey.portfolio, question, deadline), len(survey.portfolio))


def _in_time(portfolio: Portfolio, question: Question, deadline: Deadline) -> BatchResult:
    """Return the explanations of the first rows, of as many as there is time for."""
    rows = min(len(portfolio), _FIRST_ROWS)
    portfolio.ask(question, rows)  # compiles what these rows need, which takes its own time
    while True:
        begun = time.monotonic()
        found = portfolio.ask(question, rows)
        spent = max(time.monotonic() - begun, 1e-3)
        fits = int(rows * min(deadline.left / (2 * spent), 8))  # rows differ, so that no estimate is trusted far
        if fits <= rows or rows == len(portfolio):
            return found
        rows = min(fits, len(portfolio))


_OUTCOME: tuple[Any, Any] = (
    Text | int | float | bool | None,
    Field(default=None, description="A class of the model; of two, the second, or the other one, if it is not given."),
)
_CONDITION: Any = Number | dict[str, Number | bool | None] | list[Number | dict[str, Number | bool | None]]
_ACTION: Any = dict[Text, Number | Names | dict[Text, Number | Names] | list[Number]]
_RADIUS = (
    Number | dict[str, Number],
    Field(default="inf", description='How far they may move: one for all, or by name; "inf" for the whole domain.'),
)
_SHARED: Fields = {"unit": FIELDS["unit"], "claim": FIELDS["claim"]}

SURVEYED: Mapping[str, Surveyed] = {
    one.name: one
    for one in (
        Surveyed(
            "rows",
            "How many features do the decisions need, and which?",
            answers.RowsAnswer,
            {name: FIELDS[name] for name in ("radius", "unit", "claim", "immutable")},
            _rows,
        ),
        Surveyed(
            "shapes",
            "What does each feature add, wherever it is?",
            answers.ShapesAnswer,
            {"outcome": _OUTCOME},
            _shapes,
        ),
        Surveyed(
            "unaffected",
            "For whom do these features never matter?",
            answers.UnaffectedAnswer,
            {
                "by": (Annotated[Names, Field(min_length=1)], Field(description="Features that move, together.")),
                "radius": _RADIUS,
                **_SHARED,
            },
            _unaffected,
        ),
        Surveyed(
            "stability",
            "How stable are the decisions?",
            answers.StabilityAnswer,
            {
                "radii": (
                    Annotated[list[Number | dict[str, Number]], Field(min_length=1, max_length=_MOST_RADII)],
                    Field(description="How far all features may move; a share for each."),
                ),
                "labels": (Text | None, Field(default=None, description="Column of the table with the true class.")),
                "categories": FIELDS["categories"],
                "immutable": FIELDS["immutable"],
                **_SHARED,
            },
            _stability,
        ),
        Surveyed(
            "assertion",
            "Does this hold wherever it should?",
            answers.AssertionAnswer,
            {
                "where": (
                    dict[Text, _CONDITION],
                    Field(default={}, description='Conditions by feature: a value, a list, {"from": low, "to": high}.'),
                ),
                "outcome": _OUTCOME,
                "claim": FIELDS["claim"],
            },
            _assertion,
        ),
        Surveyed(
            "monotone",
            "Does more never hurt?",
            answers.MonotoneAnswer,
            {
                "feature": (Text, Field(description="A feature with numbers.")),
                "direction": (Literal["up", "down"], Field(description="Which way should help.")),
                "outcome": _OUTCOME,
            },
            _monotone,
        ),
        Surveyed(
            "contributions",
            "What does each feature add?",
            answers.ContributionsAnswer,
            {
                "row": (Cells, ...),
                "reference": (
                    Literal["average"] | Cells,
                    Field(default="average", description="What the row is compared with; average needs a table."),
                ),
            },
            _contributions,
        ),
        Surveyed(
            "reasons",
            "Why was it decided so?",
            answers.ReasonsAnswer,
            {
                "row": (Cells, ...),
                "reference": (
                    Literal["typical", "best"] | Cells,
                    Field(default="typical", description="What the row is compared with; typical needs a table."),
                ),
                "immutable": FIELDS["immutable"],
                "groups": FIELDS["groups"],
                "claim": FIELDS["claim"],
                "limit": (
                    Annotated[int, Field(strict=True, ge=1, le=1_000)],
                    Field(default=10, description="How many sets of reasons to return at most."),
                ),
            },
            _reasons,
        ),
        Surveyed(
            "recourse",
            "What could be done about it?",
            answers.RecourseAnswer,
            {
                "row": (Cells, ...),
                "actions": (dict[Text, _ACTION], Field(description="What can be done about each feature.")),
                "outcome": _OUTCOME,
                "claim": FIELDS["claim"],
                "relations": (
                    list[Annotated[list[Text], Field(min_length=3, max_length=3)]],
                    Field(default=[], description='What must go on to hold: ["name", "<=", "name"].'),
                ),
                "alternatives": (
                    Annotated[int, Field(strict=True, ge=0, le=20)],
                    Field(default=0, description="How many other sets of changes to return."),
                ),
            },
            _recourse,
        ),
    )
}
