"""What answers look like, for the description of the API. The answers themselves are the library's documents."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


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
    probability: float | None  # of the predicted class, where the model has one
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
    probability_range: list[float] | None
    prediction_range: list[float | None] | None  # of a regression; null for an end that nothing bounds
    witnesses: dict[str, AnyValue | None]


class OutlinedAnswer(ExplanationAnswer):
    """An explanation, and what pictures of some features and of some pairs show."""

    outlines: list[dict[str, Any]]
    pair_outlines: list[dict[str, Any]]
    adds_up: bool  # whether free features together lower the margin by the sum of their drops


class SufficiencyAnswer(_Answer):
    """Whether some features suffice, with an input that breaks the claim if they do not; null if neither is proven."""

    is_sufficient: bool | None
    status: StatusName
    caveat: str | None
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
    status: StatusName
    caveat: str | None


class CountAnswer(_Answer):
    """How many minimal sets there are: at least `low`, at most `high`."""

    low: int
    high: int
    status: StatusName
    caveat: str | None


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
    lower_bound: Cost
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


class ShareAnswer(_Shown):
    """Of so many rows, so many."""

    count: int
    rows: int


class ClassShareAnswer(ShareAnswer):
    """The share of the rows that are predicted to be of a class."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    name: str | int | float | bool = Field(alias="class")


class _TableAnswer(_Shown):
    facts: list[FactAnswer | GridAnswer]
    failed: dict[str, str]  # rows that could not be read, and why


class UnaffectedAnswer(_TableAnswer):
    """For which share of the rows some features never matter, and for which rows they do."""

    question: dict[str, Any]
    features: list[str]
    share: ShareAnswer
    by_class: list[ClassShareAnswer]
    effect: ExactNumber | None
    affected: list[int]
    unsettled: list[int]


class RowsAnswer(_TableAnswer):
    """The explanations of all rows, in columns; null for a row that the model cannot read."""

    question: dict[str, Any]
    names: list[str]
    predictions: list[str | int | float | bool | None]
    probabilities: list[float | None] | None  # of the predicted class, in floats; of two classes only
    sizes: list[int | None]
    margins: list[float | None]
    features: list[list[int]]  # places in `names`


class ShapesAnswer(_Shown):
    """What each feature adds to the score of a class, wherever it is, and how many rows are where; all in floats."""

    outcome: str | int | float | bool | None
    shapes: list[dict[str, Any]]
    facts: list[FactAnswer | GridAnswer]


class RadiusShareAnswer(_Shown):
    """The share of rows that are stable at a radius; with labels, of those that are right as well."""

    question: dict[str, Any]
    stable: ShareAnswer
    unsettled: list[int]
    stable_and_right: ShareAnswer | None = None


class StabilityAnswer(_TableAnswer):
    """For which share of the rows nothing within a radius changes the prediction."""

    radii: list[RadiusShareAnswer]


class _Verdict(_Shown):
    kind: str
    holds: bool | None  # null where it is neither proven nor refuted
    sentence: str
    about: str | int | float | bool | None
    facts: list[FactAnswer | GridAnswer]
    rows: int | None = None  # of the table, if there is one
    violations: list[int] | None = None
    failed: dict[str, str] | None = None


class AssertionAnswer(_Verdict):
    """Whether a claim holds everywhere in a box of inputs, with an input at which it does not."""

    claim: dict[str, Any]
    margin: ExactNumber | None
    counterexample: Point | None


class MonotoneAnswer(_Verdict):
    """Whether a score never falls along a feature, or where it does; the violations are rows that lose by it."""

    feature: str
    direction: Literal["up", "down"]
    falls: list[dict[str, Any]]
    doubts: list[list[ExactNumber | None]]


class ReasonsAnswer(_Shown):
    """The fewest factors that would have changed a decision, had they been as in a reference."""

    prediction: Prediction
    row: Point
    reference: dict[str, Any]
    is_possible: bool
    status: StatusName
    reasons: list[str]
    size: int
    instead: Prediction
    alternatives: list[list[str]]
    is_complete: bool
    necessary: list[str]
    alone: list[str]
    facts: list[FactAnswer | GridAnswer]


class ContributionAnswer(_Shown):
    """What a term of a model adds, beyond what it adds in the reference."""

    features: list[str]
    adds: ExactNumber


class ContributionsAnswer(_Shown):
    """What each term adds to the score of the predicted class, compared with a reference; the largest first."""

    prediction: Prediction
    row: Point
    reference: str
    base: ExactNumber
    score: ExactNumber
    contributions: list[ContributionAnswer]
    facts: list[FactAnswer | GridAnswer]


class PlanAnswer(_Shown):
    """Changes, and what they cost."""

    cost: ExactNumber
    changes: dict[str, dict[str, Any]]


class RecourseAnswer(_Shown):
    """The cheapest changes that lead to a decision, and others; none if there are none."""

    kind: str
    aim: str
    row: Point
    is_possible: bool
    status: StatusName
    is_complete: bool
    lower_bound: ExactNumber | None
    plans: list[PlanAnswer]
    relations: list[str]
    broken_in_the_row: list[str]
    facts: list[FactAnswer | GridAnswer]


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
