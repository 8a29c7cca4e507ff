"""What a claim is: something true of a row's prediction that is to stay true.

A claim owns all its facts: its `kind` and fields (which are also how it is written down), for which tasks it makes
sense, what its inequalities are for each class that may be predicted, and how it is said in words. Certificates, HTTP
bodies, options of the command line, the page and the batch plan ask the claim; none of them tests its type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

from suffice.errors import ClaimError
from suffice.model.additive import AdditiveModel
from suffice.numbers.enclosure import FIRST_BITS, Real
from suffice.numbers.exact import ZERO, Rational
from suffice.question.documents import Json

NO_CLASS = -1  # what a regression predicts, as the index of a class


@dataclass(frozen=True, slots=True)
class Inequality:
    """`constant + Σ_j factors[j] · score_j ≥ 0`, or `> 0` where strict; `meaning` says it in words.

    A constant that is not a rational number lies between `constant` and `constant + gap`.
    """

    factors: tuple[int, ...]
    constant: Real
    is_strict: bool
    meaning: str
    gap: Rational = ZERO

    def at(self, scores: Sequence[Real]) -> Real:
        """Return the left side at given scores."""
        return self.constant + dot(self.factors, scores)

    def holds_at(self, scores: Sequence[Real]) -> bool:
        """Whether the inequality holds at given scores; `Undecided` where these are not known well enough."""
        value = self.at(scores)
        return value > 0 if self.is_strict else value >= 0


class Part(NamedTuple):
    """An inequality of a claim before the row's scores are known; these matter only where it `is_relative` to them."""

    factors: tuple[int, ...]
    constant: Rational
    is_strict: bool
    meaning: Callable[[Real], str]  # in words, given the constant
    is_relative: bool = False  # whether the constant is counted from the row's own score
    gap: Rational = ZERO

    def of(self, scores: Sequence[Real]) -> Inequality:
        """Return the inequality for a row with these scores."""
        constant = self.constant - dot(self.factors, scores) if self.is_relative else self.constant
        return Inequality(self.factors, constant, self.is_strict, self.meaning(constant), self.gap)


class Claim(ABC):
    """Something true of a row's prediction that is to stay true."""

    kind: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]  # the kinds of models that it can be said of
    summary: ClassVar[str]  # what it says, for help texts and pages
    reads_own_score: ClassVar[bool] = False  # whether a deployed model computes the row's own score to check it

    @abstractmethod
    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:
        """Return what has to hold for a row whose predicted class has this index.

        Numbers that are not rational are enclosed to so many bits. `ClaimError` if the claim cannot be made of the row.
        """

    @abstractmethod
    def sentence(self, model: AdditiveModel, prediction: Any) -> str:
        """Return what stays true, in words."""

    def check(self, model: AdditiveModel) -> None:
        """Raise `ClaimError` if the claim can be made of no row of this model."""
        if model.task not in self.tasks:
            raise ClaimError(self._misfit(model))

    def _misfit(self, model: AdditiveModel) -> str:
        name = type(self).__name__
        if model.task == "multiclass":
            return f"{name} is about a single score, but this model has {len(model.classes)}; use Same() or Beats(...)"
        return f"{name} is about classes, and a regression has none; give a claim: Within, AtLeast or AtMost"

    def document(self) -> Json:
        """Return the claim as it is written down: its kind, and its fields."""
        written = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: self._field_document(value) for name, value in written.items()}

    def _field_document(self, value: Any) -> Any:
        return str(value)

    @classmethod
    def from_fields(cls, model: AdditiveModel, given: Mapping[str, Any]) -> Claim:
        """Return the claim with some fields, as they are written down."""
        return cls(**given)

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return what is written down beside the kind."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]


def dot(factors: Sequence[int], values: Sequence[Real]) -> Real:
    """Return `Σ_j factors[j] · values[j]`."""
    if len(factors) == 1 and factors[0] == 1:
        return values[0]
    return sum((f * value for f, value in zip(factors, values, strict=True) if f), ZERO)
