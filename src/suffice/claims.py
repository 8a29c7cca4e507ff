"""What must not change: inequalities over the model's scores. Ties are decided here, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suffice.model import AdditiveModel
from suffice.rational import ZERO, Rational


@dataclass(frozen=True, slots=True)
class Inequality:
    """`constant + Σ_j factors[j] · score_j ≥ 0`, or `> 0` where strict."""

    factors: tuple[int, ...]
    constant: Rational
    is_strict: bool


def predicted(model: AdditiveModel, scores: Sequence[Rational]) -> Any:
    """Return the class that the scores decide for."""
    return model.classes[_is_positive(model, scores)]


def same_class(model: AdditiveModel, scores: Sequence[Rational]) -> Inequality:
    """Return the claim that the prediction stays what the scores of the row make it.

    A score of 0 belongs to one of the two classes: that one keeps it (`≥`), the other must stay clear of it (`>`).
    """
    is_positive = _is_positive(model, scores)
    keeps_zero = is_positive == (model.ties == "positive")
    return Inequality((1 if is_positive else -1,), ZERO, is_strict=not keeps_zero)


def _is_positive(model: AdditiveModel, scores: Sequence[Rational]) -> bool:
    (score,) = scores
    return score > 0 or (score == 0 and model.ties == "positive")
