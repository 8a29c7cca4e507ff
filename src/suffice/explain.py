"""The face of the library: `Explainer` compiles a model once and answers many questions about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple

from flint import fmpq

from suffice.claims import Inequality, predicted, same_class
from suffice.drops import Constraint, Drop, Worst, bound_drops, total
from suffice.errors import FeatureNameError, ModelError
from suffice.labels import Label, Value
from suffice.model import AdditiveModel
from suffice.rational import ONE, ZERO, Rational, brief, nearest_float, to_fraction
from suffice.regions import Radius, Region, Unit, read_radii, region_around
from suffice.rows import Row, read_row
from suffice.search.smallest import smallest_sufficient
from suffice.shapes.pieces import Pieces, combine


class Status(Enum):
    """What is known of a result."""

    PROVEN = "proven"  # holds for the exact real-valued model, minimality included

    def __repr__(self) -> str:
        return f"Status.{self.name}"


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

    def explain(self, x: Any, radius: Radius, *, unit: Unit = "raw", held: Iterable[str] = ()) -> Explanation:
        """Return a smallest set of features that fixes the prediction whatever the others do in the region.

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
        """
        row, region, claim, prediction, constraint, worst = self._ask(x, radius, unit, held)
        kept = smallest_sufficient(constraint)
        floating = prediction if self._float_predict is None else self._float_predict([_plain(value) for value in row])
        return Explanation(self.model, row, region, claim, prediction, floating, constraint, worst, kept, Status.PROVEN)

    def is_sufficient(
        self, x: Any, features: Iterable[str], radius: Radius, *, unit: Unit = "raw", held: Iterable[str] = ()
    ) -> bool:
        """Whether fixing these features fixes the prediction, whatever the others do in the region."""
        fixed = set(self.model.indices(features))
        constraint = self._ask(x, radius, unit, held).constraint
        return constraint.admits(i for i in range(len(self.model.features)) if i not in fixed)

    def _ask(self, x: Any, radius: Radius, unit: Unit, held: Iterable[str]) -> _Question:
        row = read_row(self.model, x)
        region = region_around(self.model, row, read_radii(self.model, radius, unit=unit, held=held))
        parts = self._parts(row)
        scores = self._scores(parts)
        claim = same_class(self.model, scores)
        values = [_dot(claim.factors, part) for part in parts]
        drops, worst = bound_drops(self._oriented(claim.factors), values, row, region)
        margin = claim.constant + _dot(claim.factors, scores)
        constraint = Constraint(margin, drops, claim.is_strict)
        return _Question(row, region, claim, predicted(self.model, scores), constraint, worst)

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
    claim: Inequality
    prediction: Any
    constraint: Constraint
    worst: tuple[Worst, ...]


def _dot(factors: tuple[int, ...], values: tuple[Rational, ...]) -> Rational:
    return sum((factor * value for factor, value in zip(factors, values, strict=True)), ZERO)


def _weighted(factors: tuple[int, ...], pieces: tuple[Pieces, ...]) -> Pieces:
    used = [(fmpq(factor), one) for factor, one in zip(factors, pieces, strict=True) if factor]
    return used[0][1] if len(used) == 1 and used[0][0] == ONE else combine(used)


@dataclass(frozen=True, slots=True)
class Explanation:
    """A smallest set of features that fixes a prediction, and what is proven of it.

    `print(why)` says it in words. Numbers are exact rationals.
    """

    model: AdditiveModel
    row: Row
    region: Region
    claim: Inequality
    prediction: Any
    float_prediction: Any  # the estimator's own, in float arithmetic; the same but for scores within rounding of 0
    constraint: Constraint
    worst: tuple[Worst, ...]
    kept: tuple[int, ...]
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
    def margin(self) -> Fraction:
        """By how much the claim holds at the row: the score's distance from 0 on the side of the prediction."""
        return to_fraction(self.constraint.margin)

    @property
    def slack(self) -> Fraction:
        """What is left of the margin when every free feature does its worst."""
        kept = set(self.kept)
        freed = (drop for i, drop in enumerate(self.constraint.drops) if i not in kept)
        return to_fraction(self.constraint.margin - total(freed).value)

    @property
    def drops(self) -> dict[str, Fraction | float]:
        """How far each feature can lower the margin within the region; infinity if without bound."""
        return {name: _shown(drop) for name, drop in zip(self.model.names, self.constraint.drops, strict=True)}

    @property
    def witnesses(self) -> dict[str, Fraction | Label | None]:
        """For each feature the value that attains its drop; None where the drop is approached but not attained."""
        return {
            name: _plain(worst.value_at_most(worst.infimum.value)) if drop.is_attained else None
            for name, drop, worst in zip(self.model.names, self.constraint.drops, self.worst, strict=True)
        }

    def counterexample(self, without: str) -> dict[str, Fraction | Label]:
        """Return an input of the region with another prediction, once a kept feature is freed too.

        Parameters
        ----------
        without : str
            One of `features`. It moves, and as few of the free features as can be; the others keep the row's
            values. Numbers are short floats where the claim leaves room for them.

        Raises
        ------
        FeatureNameError
            If the feature is not kept: without it nothing changes.
        """
        if without not in self.features:
            raise FeatureNameError(without, self.features, what="kept feature")
        moved = self._moved(self.model.index(without))
        point = list(self.row)
        for i, target in zip(moved, self._targets(moved), strict=True):
            point[i] = self._short_value(i, target)
        self._check_broken(point)
        return {name: _plain(value) for name, value in zip(self.model.names, point, strict=True)}

    def _moved(self, removed: int) -> list[int]:
        """Return the removed feature and the fewest free ones that together can break the claim."""
        drops, kept = self.constraint.drops, set(self.kept)
        free = [i for i in range(len(drops)) if i not in kept and drops[i].value]
        moved, fall = [removed], drops[removed]
        for i in sorted(free, key=lambda i: drops[i], reverse=True):
            if not self.constraint.allows(fall):
                break
            moved.append(i)
            fall = total((fall, drops[i]))
        return moved

    def _targets(self, moved: list[int]) -> list[Rational]:
        """Return how low each moved feature's part must go, so that together they break the claim."""
        worst = [self.worst[i] for i in moved]
        fall = total(self.constraint.drops[i] for i in moved)
        if fall.is_infinite:  # a kept feature without bound is the only one to move
            (one,) = worst
            return [one.function(self.row[moved[0]]) - self.constraint.margin - 1]
        # Half of the excess is shared out; what is left still breaks the claim. Without any excess (a tie under
        # a strict claim) every drop is attained, and every one is needed in full.
        share = (fall.value - self.constraint.margin) / (2 * len(moved))
        return [one.infimum.value + share for one in worst]

    def _short_value(self, i: int, target: Rational) -> Value:
        """Return a value of the region with the function at most `target`: a float of few digits if there is one."""
        exact = self.worst[i].value_at_most(target)
        if not isinstance(exact, fmpq):
            return exact
        for digits in (2, 3, 4, 6, 9, 12, 17):
            near = float(f"{nearest_float(exact):.{digits}g}")
            short = fmpq(*near.as_integer_ratio()) if math.isfinite(near) else exact
            if self.region[i].holds(short) and self.worst[i].function(short) <= target:
                return short
        return exact

    def _check_broken(self, point: list[Value]) -> None:
        parts = zip(self.worst, self.row, point, strict=True)
        score = self.constraint.margin + sum((w.function(new) - w.function(old) for w, old, new in parts), fmpq(0))
        assert score < 0 or (score == 0 and self.constraint.is_strict), "a counterexample must break the claim"

    def __repr__(self) -> str:
        return f"<Explanation: {self.prediction!r}, {self.size} of {len(self.row)} features, {self.status.value}>"

    def __str__(self) -> str:
        from suffice.present.text import describe

        return describe(self)


def _shown(drop: Drop) -> Fraction | float:
    return math.inf if drop.is_infinite else to_fraction(drop.value)


def _plain(value: Value) -> Fraction | Label:
    return to_fraction(value) if isinstance(value, fmpq) else value
