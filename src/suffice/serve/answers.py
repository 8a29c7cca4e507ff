"""What answers look like, for the description of the API. The answers themselves are the library's documents."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Shown(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ExactNumber(_Shown):
    """A number: exactly, as "p/q" or "inf", and as the nearest float."""

    exact: str
    float: float | None


class LabelValue(_Shown):
    """The name of a category."""

    label: str


class MissingValue(_Shown):
    """A cell that holds nothing."""

    missing: Literal[True]


AnyValue = ExactNumber | LabelValue | MissingValue
Point = dict[str, AnyValue]
Cost = int | ExactNumber
StatusName = Literal["proven", "bounded"]
Prediction = ExactNumber | str | int | float | bool | None


class FactAnswer(_Shown):
    """A sentence, and the word that stands before it."""

    label: str
    text: str


class GridAnswer(_Shown):
    """A small table; a column without a head has an empty one."""

    heads: list[str]
    rows: list[list[str]]


class _Answer(_Shown):
    prediction: Prediction
    claim: dict[str, Any]
    facts: list[FactAnswer | GridAnswer]


class ExplanationAnswer(_Answer):
    """A smallest set of features that suffices, and what is proven of it."""

    status: StatusName
    size: int
    cost: Cost
    lower_bound: Cost
    caveat: str | None
    charged: list[ExactNumber]
    features: list[str]
    free: list[str]
    margin: ExactNumber
    slack: ExactNumber
    has_exact_slack: bool
    parts: list[str]
    values: Point
    region: dict[str, dict[str, Any]]
    drops: dict[str, ExactNumber]
    witnesses: dict[str, AnyValue | None]


class OutlinedAnswer(ExplanationAnswer):
    """An explanation, and what pictures of some features and of some pairs show."""

    outlines: list[dict[str, Any]]
    pair_outlines: list[dict[str, Any]]
    adds_up: bool  # whether free features together lower the margin by the sum of their drops


class SufficiencyAnswer(_Answer):
    """Whether some features suffice, with an input that breaks the claim if they do not."""

    is_sufficient: bool
    features: list[str]
    point: Point | None


class ContrastAnswer(_Answer):
    """A smallest set of features whose change breaks the claim, with an input that does."""

    status: StatusName
    is_possible: bool
    size: int
    cost: Cost
    lower_bound: Cost
    caveat: str | None
    features: list[str]
    point: Point | None


class CounterfactualAnswer(ContrastAnswer):
    """The nearest input that breaks the claim by changing as few features as can be; changes are counted in radii."""

    least_change: ExactNumber | None = None
    is_attained: bool | None = None
    changes: dict[str, ExactNumber] | None = None


class RelevanceAnswer(_Answer):
    """Features by what the subset-minimal explanations make of them."""

    status: StatusName
    necessary: list[str]
    relevant: list[str]
    irrelevant: list[str]
    undecided: list[str]


class ListAnswer(_Answer):
    """The first of all minimal sets."""

    sets: list[list[str]]
    has_more: bool


class CountAnswer(_Answer):
    """How many minimal sets there are: at least `low`, at most `high`."""

    low: int
    high: int


class RadiusAnswer(_Answer):
    """The largest radius for which some features suffice."""

    radius: ExactNumber
    is_attained: bool
    features: list[str]
    status: StatusName


class StepAnswer(_Shown):
    """A stretch of radii with one size."""

    radius: ExactNumber
    is_attained: bool
    cost: Cost
    features: list[str]


class CurveAnswer(_Answer):
    """Size against radius."""

    steps: list[StepAnswer]
    status: StatusName
    caveat: str | None


class IntervalAnswer(_Shown):
    """Numbers between two ends, without codes and categories there that are listed; null for no end."""

    low: ExactNumber | None
    high: ExactNumber | None
    has_low: bool
    has_high: bool
    is_integers: bool
    without: list[ExactNumber]


class ValuesAnswer(_Shown):
    """Some categories or codes."""

    values: list[AnyValue]


class InflatedAnswer(_Answer):
    """For each fixed feature the widest range over which the claim still holds."""

    ranges: dict[str, IntervalAnswer | ValuesAnswer]
    free: list[str]
    status: StatusName
    caveat: str | None


class Problem(_Shown):
    """What is wrong, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str


class RowAnswer(_Shown):
    """The answer for one row of a batch, or what is wrong with it."""

    row: int
    explanation: ExplanationAnswer | None = None
    problem: Problem | None = None


class BatchAnswer(_Shown):
    """An answer for each row."""

    answers: list[RowAnswer]


class CheckAnswer(_Shown):
    """What the independent checker says."""

    is_accepted: bool
    says: str


class TableRow(_Shown):
    """A row of the table that the server was started with."""

    row: int
    cells: dict[str, Any]
