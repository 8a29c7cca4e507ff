"""What each feature adds to a score, compared with a reference: the average row of a table, or a row.

In: a row and a reference. Out: `Contributions`, exact numbers that add up to the difference of the two scores. An
additive model is a sum, so that nothing has to be chosen: a term adds what it is at the row, less what it is in the
reference. Without terms over two features, which are told apart, these are the Shapley values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from flint import fmpq

from suffice.answers.documents import number_document, prediction_document, values_by_name
from suffice.answers.frames import to_frame
from suffice.answers.words import counted, spoken
from suffice.core.scores import at_scores, predict
from suffice.decisions.rows import Portfolio
from suffice.errors import ProfileError
from suffice.layout.facts import Fact, Facts, Grid, Row
from suffice.layout.told import Told
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.model.domain import format_value
from suffice.numbers.enclosure import middle
from suffice.numbers.exact import Rational, to_fraction
from suffice.question.claims import predicted_class
from suffice.question.documents import Json
from suffice.question.row import Row as Values
from suffice.question.row import read_row

_BITS = 128  # how closely smooth shapes, which have no exact values, are known


class Reference(NamedTuple):
    """What a row is compared with: what each term adds there, and words for it."""

    parts: tuple[Rational, ...]
    words: str


@dataclass(frozen=True)
class Contributions(Told):
    """What each term of a model adds to the score of the predicted class, compared with a reference.

    Parameters
    ----------
    compiled : Compiled
    row : tuple of values
    factors : tuple of int
        Which scores count, and how: that of the predicted class; of two classes the one score, or its opposite.
    parts : tuple of Rational
        What each term adds at the row.
    reference : Reference
        What it adds in the reference.

    Examples
    --------
    >>> from suffice import AdditiveModel, Explainer, Steps
    >>> shapes = [Steps([18], [-1, 2]), Steps([3], [1, -4])]
    >>> model = AdditiveModel(shapes, 0, features=["age", "late"], classes=["no", "yes"])
    >>> found = Explainer(model).contributions({"age": 30, "late": 0}, {"age": 17, "late": 0})
    >>> found.values, found.base, found.score
    ({'age': Fraction(3, 1), 'late': Fraction(0, 1)}, Fraction(0, 1), Fraction(3, 1))
    """

    compiled: Compiled
    row: Values
    factors: tuple[int, ...]
    parts: tuple[Rational, ...]
    reference: Reference

    @property
    def prediction(self) -> Any:
        """What is predicted of the row."""
        return predict(self.compiled, self.row)

    @property
    def values(self) -> Mapping[str | tuple[str, str], Fraction]:
        """What each term adds, beyond what it adds in the reference, by its feature or by its two features."""
        names = self.compiled.model.names
        keys: list[str | tuple[str, str]] = [*names]
        keys += [(names[i], names[j]) for (i, j), _ in self.compiled.oriented_pairs(self.factors)]
        each = zip(keys, self.parts, self.reference.parts, strict=True)
        return {name: to_fraction(part - other) for name, part, other in each}

    @property
    def score(self) -> Fraction:
        """The score of the predicted class at the row; of two classes, how far it is from being the other one."""
        starts = zip(self.factors, self.compiled.model.intercept, strict=True)
        return to_fraction(sum((factor * start for factor, start in starts), sum(self.parts, fmpq(0))))

    @property
    def base(self) -> Fraction:
        """The score of the reference, from which the contributions lead to that of the row."""
        return self.score - sum(self.values.values(), Fraction(0))

    def facts(self) -> Facts:
        """Return what is compared, what each term adds, the largest first, and what they add up to."""
        model = self.compiled.model
        unit = " in log-odds" if model.has_probability and model.task == "binary" else ""
        what = f"the score for {self.prediction}{unit}" if model.classes else "the prediction"
        widest = max((abs(value) for value in self.values.values()), default=Fraction(0)) or Fraction(1)
        rows = [
            Row((" & ".join(names), self._shown(names), _signed(value)), float(abs(value) / widest))
            for names, value in self._ordered()
        ]
        return (
            Fact("Prediction", spoken(self.prediction)),
            Fact("Compared with", f"{self.reference.words}, where {what} is {spoken(self.base)}."),
            Grid(("feature", "value", "adds"), tuple(rows)),
            Fact("Together", f"{_signed(self.score - self.base)}, which makes {what} {spoken(self.score)}."),
        )

    def document(self) -> Json:
        """Return the same as JSON, the largest contributions first."""
        return {
            "prediction": prediction_document(self.prediction),
            "row": values_by_name(self.compiled.model.names, self.row),
            "reference": self.reference.words,
            "base": number_document(self.base),
            "score": number_document(self.score),
            "contributions": [
                {"features": list(names), "adds": number_document(value)} for names, value in self._ordered()
            ],
        }

    def to_frame(self) -> Any:
        """Return a pandas table: one line a term, with the row's value and what it adds, the largest first."""
        ordered = self._ordered()
        return to_frame(
            {
                "feature": [" & ".join(names) for names, _ in ordered],
                "value": [self._shown(names).removeprefix("= ") for names, _ in ordered],
                "adds": [float(value) for _, value in ordered],
            }
        )

    def _ordered(self) -> list[tuple[tuple[str, ...], Fraction]]:
        each = [((name,) if isinstance(name, str) else name, value) for name, value in self.values.items()]
        return sorted(each, key=lambda one: -abs(one[1]))

    def _shown(self, names: tuple[str, ...]) -> str:
        model = self.compiled.model
        return f"= {', '.join(format_value(self.row[model.index(name)]) for name in names)}"


def contributions(compiled: Compiled, row: Values, given: Any, portfolio: Portfolio | None) -> Contributions:
    """Return what each term adds to the score of a row's class, compared with the average row, or with a row given."""
    winner = at_scores(compiled, row, lambda scores: predicted_class(compiled.model, scores))
    factors = score_of(compiled.model, winner)
    parts = _parts(compiled, factors, row)
    if not isinstance(given, str):
        profile = _parts(compiled, factors, read_row(compiled.model, given))
        return Contributions(compiled, row, factors, parts, Reference(profile, "the profile"))
    if given != "average":
        raise ProfileError(f"contributions are compared with 'average' or with a row, got {given!r}")
    if portfolio is None:
        raise ProfileError(
            "'average' needs a table of rows, to know what is average; give one, or a row to compare with"
        )
    average, rows = averages(portfolio, factors), int(portfolio.readable().sum())
    words = f"the average of {counted(rows, 'row')}"
    return Contributions(compiled, row, factors, parts, Reference(average, words))


def averages(portfolio: Portfolio, factors: tuple[int, ...]) -> tuple[Rational, ...]:
    """Return what each term adds on average to `Σ_j factors[j] · score_j`, over the rows that the model can read."""
    if factors not in portfolio.averages:
        portfolio.averages[factors] = _averages(portfolio, factors)
    return portfolio.averages[factors]


def _averages(portfolio: Portfolio, factors: tuple[int, ...]) -> tuple[Rational, ...]:
    compiled = portfolio.compiled
    columns = [portfolio.values(i) for i in range(len(compiled.model.names))]
    if not columns[0]:
        raise ProfileError("the model can read no row of the table, so that there is no average")
    own = [
        _mean((middle(function.value(value, _BITS)), count) for value, count in Counter(column).items())
        for column, function in zip(columns, compiled.oriented(factors), strict=True)
    ]
    joint = [
        _mean((pieces(*both), count) for both, count in Counter(zip(columns[i], columns[j], strict=True)).items())
        for (i, j), pieces in compiled.oriented_pairs(factors)
    ]
    return (*own, *joint)


def _mean(counted_values: Iterable[tuple[Rational, int]]) -> Rational:
    total, rows = fmpq(0), 0
    for value, count in counted_values:
        total, rows = total + value * count, rows + count
    return total / rows


def _parts(compiled: Compiled, factors: tuple[int, ...], row: Values) -> tuple[Rational, ...]:
    own = [middle(value) for value in compiled.oriented_parts(factors, row, _BITS)]
    return (*own, *(pieces(row[i], row[j]) for (i, j), pieces in compiled.oriented_pairs(factors)))


def score_of(model: AdditiveModel, winner: int) -> tuple[int, ...]:
    """Return the factors by which scores count where one class is looked at; of two classes there is one score."""
    if not model.classes:
        return (1,)
    if model.task == "binary":
        return (1 if winner else -1,)
    return tuple(int(k == winner) for k in range(len(model.classes)))


def _signed(value: Fraction) -> str:
    return f"+{spoken(value)}" if value > 0 else spoken(value)
