"""What requests say, checked before the library sees it, and what answers look like: the API's description."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from suffice.claims import AtLeast, AtMost, Beats, Claim, ProbabilityAtLeast, Same, Within
from suffice.model import AdditiveModel

_Text = Annotated[str, Field(strict=True, max_length=5_000)]
_Integer = Annotated[int, Field(strict=True)]
_Float = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Number = Annotated[
    _Text | _Integer | _Float,
    Field(
        description='A number. Text counts at the value it spells ("0.1" is one tenth), a number as the nearest float.'
    ),
]
Cell = Annotated[_Text | _Integer | _Float | None, Field(description="A number, the name of a category, or null.")]
Names = Annotated[list[_Text], Field(default_factory=list, description="Names of features.")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SameClaim(_Body):
    """The predicted class stays."""

    kind: Literal["same"] = "same"


class BeatsClaim(_Body):
    """The predicted class stays ahead of another."""

    kind: Literal["beats"]
    other: _Text | _Integer


class WithinClaim(_Body):
    """The score stays within a distance of the row's own."""

    kind: Literal["within"]
    delta: Number


class AtLeastClaim(_Body):
    """The score stays at or above a value."""

    kind: Literal["at_least"]
    value: Number


class AtMostClaim(_Body):
    """The score stays at or below a value."""

    kind: Literal["at_most"]
    value: Number


class ProbabilityClaim(_Body):
    """The probability of the predicted class, of two, stays at or above a value."""

    kind: Literal["probability"]
    p: Number


AnyClaim = Annotated[
    SameClaim | BeatsClaim | WithinClaim | AtLeastClaim | AtMostClaim | ProbabilityClaim, Field(discriminator="kind")
]
Cells = Annotated[dict[str, Cell], Field(description="A value for each feature, in the features' own units.")]
RadiusBody = Annotated[
    Number | dict[str, Number], Field(description='How far a free feature may move: for all, or for each; "inf".')
]


class _Asked(_Body):
    radius: RadiusBody
    unit: Literal["raw", "std", "model"] = "raw"
    held: Names
    claim: AnyClaim = SameClaim()
    at_most: Annotated[int, Field(ge=1, le=10_000, strict=True)] | None = None

    def question(self, model: AdditiveModel) -> dict[str, Any]:
        """Return the arguments of the library's questions."""
        return {
            "radius": self.radius,
            "unit": self.unit,
            "held": self.held,
            "claim": _claim(self.claim, model),
            "at_most": self.at_most,
        }


class _Wishes(_Asked):
    keep: Names
    free: Names
    cost: Annotated[dict[str, Number], Field(default_factory=dict)]
    groups: Annotated[dict[str, list[_Text]], Field(default_factory=dict)]
    norm: Literal["inf", "1", "2"] = "inf"
    semantics: Literal["exact", "float32", "float64"] = "exact"

    def question(self, model: AdditiveModel) -> dict[str, Any]:
        """Return the arguments of `explain`."""
        wishes = {"keep": self.keep, "free": self.free, "cost": self.cost, "groups": self.groups}
        return super().question(model) | wishes | {"norm": float(self.norm), "semantics": self.semantics}


class ExplainBody(_Wishes):
    """Which features suffice?"""

    row: Cells
    outlines: Annotated[
        Annotated[int, Field(ge=0, le=1_000, strict=True)],
        Field(description="For how many features to return what a picture of their shape shows, kept ones first."),
    ] = 0


class ContrastBody(_Asked):
    """What would change it?"""

    row: Cells


class CurveBody(_Body):
    """How does the size grow with the radius?"""

    row: Cells
    until: Number
    unit: Literal["raw", "std", "model"] = "raw"
    held: Names
    claim: AnyClaim = SameClaim()

    def question(self, model: AdditiveModel) -> dict[str, Any]:
        """Return the arguments of `curve`."""
        until = math.inf if self.until == "inf" else self.until
        return {"until": until, "unit": self.unit, "held": self.held, "claim": _claim(self.claim, model)}


class BatchBody(_Wishes):
    """Which features suffice, for each of several rows?"""

    rows: list[Cells]


class ReportBody(_Wishes):
    """A report on one row."""

    row: Cells
    title: Annotated[str, Field(strict=True, max_length=200)] = "Explained decision"


def _claim(body: Any, model: AdditiveModel) -> Claim:
    match body:
        case BeatsClaim():
            # A class may be any value; over HTTP it is named by how it is written.
            return Beats(next((name for name in model.classes if str(name) == str(body.other)), body.other))
        case WithinClaim():
            return Within(body.delta)
        case AtLeastClaim():
            return AtLeast(body.value)
        case AtMostClaim():
            return AtMost(body.value)
        case ProbabilityClaim():
            return ProbabilityAtLeast(body.p)
        case _:
            return Same()


# --- answers ----------------------------------------------------------------------------------------------------------


class ExactNumber(_Body):
    """A number: exactly, as "p/q" or "inf", and as the nearest float."""

    exact: str
    float: float | None


class LabelValue(_Body):
    """The name of a category."""

    label: str


class MissingValue(_Body):
    """A cell that holds nothing."""

    missing: Literal[True]


AnyValue = ExactNumber | LabelValue | MissingValue
Prediction = ExactNumber | str | int | float | bool | None


class Problem(BaseModel):
    """What is wrong, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str


class ExplanationAnswer(BaseModel):
    """A smallest set of features that suffices, and what is proven of it."""

    prediction: Prediction
    claim: list[str]
    status: Literal["proven", "bounded"]
    size: int
    cost: int | ExactNumber
    lower_bound: int | ExactNumber
    caveat: str | None
    charged: list[ExactNumber]
    features: list[str]
    freed: list[str]
    margin: ExactNumber
    slack: ExactNumber
    values: dict[str, AnyValue]
    region: dict[str, dict[str, Any]]
    drops: dict[str, ExactNumber]
    witnesses: dict[str, AnyValue | None]
    text: list[str]
    outlines: list[dict[str, Any]]


class ContrastAnswer(BaseModel):
    """A smallest set of features whose change breaks the claim, with an input that does."""

    prediction: Prediction
    is_possible: bool
    size: int
    features: list[str]
    point: dict[str, AnyValue] | None
    text: list[str]


class StepAnswer(BaseModel):
    """A stretch of radii with one size."""

    radius: ExactNumber
    is_attained: bool
    cost: int | ExactNumber
    features: list[str]


class CurveAnswer(BaseModel):
    """Size against radius."""

    prediction: Prediction
    steps: list[StepAnswer]
    text: list[str]


class RowAnswer(BaseModel):
    """The answer for one row of a batch, or what is wrong with it."""

    row: int
    explanation: dict[str, Any] | None = None
    problem: Problem | None = None


class BatchAnswer(BaseModel):
    """An answer for each row."""

    answers: list[RowAnswer]


class CheckAnswer(BaseModel):
    """What the independent checker says."""

    is_accepted: bool
    says: str


class TableRow(BaseModel):
    """A row of the table that the server was started with."""

    row: int
    cells: dict[str, Any]
