"""The face of the library: `Explainer` compiles a model once and answers many questions about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import fmpq

from suffice.breaking import breaking_input, easiest_break
from suffice.claims import Claim, Inequality, Same, inequalities_at, predicted
from suffice.drops import Constraint, Drop, Worst, bound_drops, total
from suffice.errors import ClaimError, FeatureNameError, ModelError
from suffice.labels import Label, Value
from suffice.model import AdditiveModel
from suffice.rational import ONE, ZERO, Rational, brief, to_fraction
from suffice.regions import Radius, Region, Unit, read_radii, region_around
from suffice.rows import Row, read_row
from suffice.search.covering import smallest_cover
from suffice.search.smallest import smallest_sufficient
from suffice.shapes.pieces import Pieces, combine

if TYPE_CHECKING:
    from suffice.batch.result import BatchResult


class Status(Enum):
    """What is known of a result."""

    PROVEN = "proven"  # holds for the exact real-valued model, minimality included
    BOUNDED = "bounded"  # proven to suffice; the search for a smaller set ended at its budget, see `lower_bound`

    def __repr__(self) -> str:
        return f"Status.{self.name}"


SAME = Same()


class Explainer:
    """Answers questions about a model, exactly.

    Parameters
    ----------
    model : AdditiveModel, or an estimator with `to_additive()`
        Compiled to exact pieces once, here. For an estimator, every explanation also says what its own float
        arithmetic predicts, should that differ.
    max_pieces : int
        Budget of affine pieces of one network, after each of its layers.

    Raises
    ------
    PieceBudgetError
        If a network has more pieces than the budget.

    Examples
    --------
    >>> from suffice import AdditiveModel, PiecewiseLinear, Steps
    >>> model = AdditiveModel(
    ...     shapes=[Steps([18], [-1, 2]), PiecewiseLinear([0], [0], left_slope=1, right_slope=1)],
    ...     intercept=0, task="binary", features=["age", "income"])
    >>> why = Explainer(model).explain({"age": 30, "income": 0.5}, radius=1)
    >>> why.features, why.size, why.prediction, why.status
    ((), 0, 1, Status.PROVEN)
    >>> why = Explainer(model).explain({"age": 30, "income": 0.5}, radius={"age": 5, "income": 20})
    >>> why.features, why.margin, why.drops
    (('income',), Fraction(5, 2), {'age': Fraction(0, 1), 'income': Fraction(20, 1)})
    """

    def __init__(self, model: Any, *, max_pieces: int = 10_000) -> None:
        additive = model.to_additive() if hasattr(model, "to_additive") and not isinstance(model, type) else model
        if not isinstance(additive, AdditiveModel):
            raise ModelError(f"an Explainer takes an AdditiveModel or a fitted NAM, got {brief(model)}")
        self.model = additive
        self._float_predict = getattr(model, "predict_cells", None)
        self._pieces = additive.compile(max_pieces)
        self._functions: dict[tuple[int, ...], tuple[Pieces, ...]] = {}

    @property
    def pieces(self) -> Mapping[str, tuple[Pieces, ...]]:
        """The exact pieces of each feature, in the user's units, one for each output."""
        return dict(zip(self.model.names, self._pieces, strict=True))

    def score(self, x: Any) -> Fraction | tuple[Fraction, ...]:
        """Return the exact score of a row; a tuple, one for each class, if there are more than two."""
        scores = tuple(to_fraction(score) for score in self._scores(self._parts(read_row(self.model, x))))
        return scores if self.model.task == "multiclass" else scores[0]

    def predict(self, x: Any) -> Any:
        """Return what the exact score of a row decides: its class, or its value if the model is a regression."""
        return predicted(self.model, self._scores(self._parts(read_row(self.model, x))))

    def explain(
        self,
        x: Any,
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
        max_nodes: int = 100_000,
        max_seconds: float = 60.0,
    ) -> Explanation:
        """Return a smallest set of features that keeps a claim true whatever the others do in the region.

        Parameters
        ----------
        x : sequence, mapping, NumPy row or pandas Series
            The row, in the user's own units.
        radius : number, mapping by feature name, or sequence
            How far a free feature may move; infinity for its whole domain.
        unit : {"raw", "std", "model"}
            What the radius is counted in: the features' own units, their standard deviations, or the model's
            scaled units.
        held : names of features
            Features that cannot change, so that nobody needs to fix them.
        claim : Claim
            What must stay true: `Same()` (the predicted class), `Beats(other)`, `Within(delta)`, `AtLeast(value)`,
            `AtMost(value)`.
        max_nodes, max_seconds : int, float
            Budgets of the search where a claim has several parts. Past them the status is `BOUNDED`.
        """
        question = self._ask(x, radius, unit, held, claim)
        if len(question.constraints) == 1:
            kept = smallest_sufficient(question.constraints[0])
            lower_bound = len(kept)
        else:
            cover = smallest_cover(question.constraints, max_nodes=max_nodes, max_seconds=max_seconds)
            kept, lower_bound = cover.kept, cover.lower_bound
        status = Status.PROVEN if lower_bound == len(kept) else Status.BOUNDED
        return Explanation(self.model, *question, kept, lower_bound, status)

    def explain_batch(self, table: Any, radius: Radius, *, threads: int | None = None, **options: Any) -> BatchResult:
        """Return explanations of all rows of a table, in columns; each is the one that `explain` gives for the row.

        Parameters
        ----------
        table : NumPy array, pandas or Polars DataFrame, Arrow table
            The rows, in the user's own units; an array by position, all others by feature name.
        threads : int, optional
            How many to use; all by default. The result does not depend on it.
        radius, **options
            As `explain` takes them. A row that cannot be explained gets the status "failed" and a message.
        """
        from suffice.batch.run import BatchQuestion

        return BatchQuestion.of(self, radius, **options).answer(table, threads=threads)

    def is_sufficient(
        self,
        x: Any,
        features: Iterable[str],
        radius: Radius,
        *,
        unit: Unit = "raw",
        held: Iterable[str] = (),
        claim: Claim = SAME,
    ) -> bool:
        """Whether fixing these features keeps the claim true, whatever the others do in the region."""
        fixed = set(self.model.indices(features))
        constraints = self._ask(x, radius, unit, held, claim).constraints
        freed = [i for i in range(len(self.model.features)) if i not in fixed]
        return all(constraint.admits(freed) for constraint in constraints)

    def contrast(
        self, x: Any, radius: Radius, *, unit: Unit = "raw", held: Iterable[str] = (), claim: Claim = SAME
    ) -> Contrast:
        """Return a smallest set of features whose change alone can break the claim, with an input that does."""
        question = self._ask(x, radius, unit, held, claim)
        best = easiest_break(question.constraints, (), range(len(self.model.features)))
        if best is None:
            return Contrast(self.model, question.row, question.prediction, None, ())
        c, moved = best
        point = breaking_input(question.constraints[c], question.worst[c], question.row, question.region, moved)
        return Contrast(self.model, question.row, question.prediction, tuple(point), tuple(moved))

    def _ask(self, x: Any, radius: Radius, unit: Unit, held: Iterable[str], claim: Claim) -> _Question:
        row = read_row(self.model, x)
        region = region_around(self.model, row, read_radii(self.model, radius, unit=unit, held=held))
        parts = self._parts(row)
        scores = self._scores(parts)
        inequalities = inequalities_at(claim, self.model, scores)
        constraints, worst = [], []
        for inequality in inequalities:
            values = [_dot(inequality.factors, part) for part in parts]
            drops, cases = bound_drops(self._oriented(inequality.factors), values, row, region)
            constraints.append(Constraint(inequality.at(scores), drops, inequality.is_strict))
            worst.append(cases)
        prediction = predicted(self.model, scores)
        floating = prediction if self._float_predict is None else self._float_predict([_plain(value) for value in row])
        return _Question(row, region, inequalities, prediction, floating, tuple(constraints), tuple(worst))

    def _parts(self, row: Row) -> list[tuple[Rational, ...]]:
        """Return each feature's part of each score."""
        return [tuple(one(value) for one in pieces) for pieces, value in zip(self._pieces, row, strict=True)]

    def _scores(self, parts: Iterable[tuple[Rational, ...]]) -> tuple[Rational, ...]:
        return tuple(sum(column, start) for start, *column in zip(self.model.intercept, *parts, strict=True))

    def _oriented(self, factors: tuple[int, ...]) -> tuple[Pieces, ...]:
        """Return each feature's part of `Σ_j factors[j] · score_j`, made once for each claim."""
        if factors not in self._functions:
            self._functions[factors] = tuple(_weighted(factors, pieces) for pieces in self._pieces)
        return self._functions[factors]


class _Question(NamedTuple):
    row: Row
    region: Region
    inequalities: tuple[Inequality, ...]
    prediction: Any
    float_prediction: Any
    constraints: tuple[Constraint, ...]
    worst: tuple[tuple[Worst, ...], ...]


def _dot(factors: tuple[int, ...], values: tuple[Rational, ...]) -> Rational:
    if len(factors) == 1:
        return values[0] if factors[0] == 1 else factors[0] * values[0]
    return sum((factor * value for factor, value in zip(factors, values, strict=True) if factor), ZERO)


def _weighted(factors: tuple[int, ...], pieces: tuple[Pieces, ...]) -> Pieces:
    used = [(fmpq(factor), one) for factor, one in zip(factors, pieces, strict=True) if factor]
    return used[0][1] if len(used) == 1 and used[0][0] == ONE else combine(used)


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """A smallest set of features that keeps a claim true, and what is proven of it.

    `print(why)` says it in words. Numbers are exact rationals. A claim may have several parts (the winner against each
    other class); `margin`, `drops` and `witnesses` are those of the tightest part, the one with the least slack.
    """

    model: AdditiveModel
    row: Row
    region: Region
    inequalities: tuple[Inequality, ...]
    prediction: Any
    float_prediction: Any  # the estimator's own, in float arithmetic; the same but for scores within rounding of 0
    constraints: tuple[Constraint, ...]
    worst: tuple[tuple[Worst, ...], ...]
    kept: tuple[int, ...]
    lower_bound: int  # no sufficient set has fewer features
    status: Status

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features to keep fixed, largest drop first."""
        names = self.model.names
        return tuple(names[i] for i in self.kept)

    @property
    def size(self) -> int:
        """How many features are kept fixed."""
        return len(self.kept)

    @property
    def freed(self) -> tuple[str, ...]:
        """Names of all other features, in the order of the model."""
        kept = set(self.kept)
        return tuple(name for i, name in enumerate(self.model.names) if i not in kept)

    @property
    def tightest(self) -> int:
        """Which part of the claim has the least slack."""
        return min(range(len(self.constraints)), key=self._slack)

    @property
    def margin(self) -> Fraction:
        """By how much the claim holds at the row: the score's distance from breaking it."""
        return to_fraction(self.constraints[self.tightest].margin)

    @property
    def slack(self) -> Fraction:
        """What is left of the margin when every free feature does its worst."""
        return to_fraction(self._slack(self.tightest))

    def _slack(self, part: int) -> Rational:
        kept, constraint = set(self.kept), self.constraints[part]
        return constraint.margin - total(drop for i, drop in enumerate(constraint.drops) if i not in kept).value

    @property
    def drops(self) -> dict[str, Fraction | float]:
        """How far each feature can lower the margin within the region; infinity if without bound."""
        drops = self.constraints[self.tightest].drops
        return {name: _shown(drop) for name, drop in zip(self.model.names, drops, strict=True)}

    @property
    def witnesses(self) -> dict[str, Fraction | Label | None]:
        """For each feature the value that attains its drop; None where the drop is approached but not attained."""
        part = self.tightest
        return {
            name: _plain(worst.value_at_most(worst.infimum.value)) if drop.is_attained else None
            for name, drop, worst in zip(self.model.names, self.constraints[part].drops, self.worst[part], strict=True)
        }

    def counterexample(self, without: str) -> dict[str, Fraction | Label]:
        """Return an input of the region that breaks the claim, once a kept feature is freed too.

        Parameters
        ----------
        without : str
            One of `features`. It moves, and as few of the free features as can be; the others keep the row's
            values. Numbers are short floats where the claim leaves room for them.

        Raises
        ------
        FeatureNameError
            If the feature is not kept: without it nothing changes.
        ClaimError
            If the set is not known to be smallest, and suffices without this feature too.
        """
        if without not in self.features:
            raise FeatureNameError(without, self.features, what="kept feature")
        removed, kept = self.model.index(without), set(self.kept)
        free = [i for i in range(len(self.row)) if i not in kept]
        best = easiest_break(self.constraints, [removed], free)
        if best is None:
            raise ClaimError(f"the claim holds without {without!r} too: this set is not a smallest one")
        c, moved = best
        point = breaking_input(self.constraints[c], self.worst[c], self.row, self.region, moved)
        return {name: _plain(value) for name, value in zip(self.model.names, point, strict=True)}

    def __repr__(self) -> str:
        return f"<Explanation: {self.prediction!r}, {self.size} of {len(self.row)} features, {self.status.value}>"

    def __str__(self) -> str:
        from suffice.present.text import describe

        return describe(self)


@dataclass(frozen=True, slots=True, repr=False)
class Contrast:
    """A smallest set of features whose change alone breaks a claim, and an input that shows it.

    Where nothing in the region breaks the claim there is no such set: `is_possible` is False.
    """

    model: AdditiveModel
    row: Row
    prediction: Any
    point: tuple[Value, ...] | None
    moved: tuple[int, ...]

    @property
    def is_possible(self) -> bool:
        """Whether any input of the region breaks the claim."""
        return self.point is not None

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that change, largest drop first; no smaller set is enough."""
        names = self.model.names
        return tuple(names[i] for i in self.moved)

    @property
    def size(self) -> int:
        """How many features change."""
        return len(self.moved)

    @property
    def counterexample(self) -> dict[str, Fraction | Label]:
        """An input where the claim is false, by feature name; `ClaimError` if there is none."""
        if self.point is None:
            raise ClaimError("no input of the region breaks the claim")
        return {name: _plain(value) for name, value in zip(self.model.names, self.point, strict=True)}

    def __repr__(self) -> str:
        what = f"{self.size} of {len(self.row)} features" if self.is_possible else "impossible"
        return f"<Contrast: {self.prediction!r}, {what}, proven>"

    def __str__(self) -> str:
        from suffice.present.text import describe_contrast

        return describe_contrast(self)


def _shown(drop: Drop) -> Fraction | float:
    return math.inf if drop.is_infinite else to_fraction(drop.value)


def _plain(value: Value) -> Fraction | Label:
    return to_fraction(value) if isinstance(value, fmpq) else value
