"""What must not change: inequalities over the model's scores. Ties are decided here, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suffice.errors import ClaimError
from suffice.model import AdditiveModel
from suffice.rational import ZERO, Rational, to_fraction


@dataclass(frozen=True, slots=True)
class Inequality:
    """`constant + Σ_j factors[j] · score_j ≥ 0`, or `> 0` where strict."""

    factors: tuple[int, ...]
    constant: Rational
    is_strict: bool


def predicted(model: AdditiveModel, scores: Sequence[Rational]) -> Any:
    """Return the class that the scores decide for; of a regression the score itself, as a `Fraction`."""
    if model.task == "regression":
        return to_fraction(scores[0])
    if model.task == "binary":
        return model.classes[_is_positive(model, scores)]
    return model.classes[max(range(len(scores)), key=lambda j: (scores[j], -j))]


def same_class(model: AdditiveModel, scores: Sequence[Rational]) -> Inequality:
    """Return the claim that the prediction stays what the scores of the row make it.

    A score of 0 belongs to one of the two classes: that one keeps it (`≥`), the other must stay clear of it (`>`).
    """
    if model.task != "binary":
        raise ClaimError(f"explanations are for binary models so far; this one is a {model.task} model")
    is_positive = _is_positive(model, scores)
    keeps_zero = is_positive == (model.ties == "positive")
    return Inequality((1 if is_positive else -1,), ZERO, is_strict=not keeps_zero)


def _is_positive(model: AdditiveModel, scores: Sequence[Rational]) -> bool:
    (score,) = scores
    return score > 0 or (score == 0 and model.ties == "positive")
