"""What must not change: small values that become inequalities over the model's scores. Ties are decided here, once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx, fmpq

from suffice.errors import ClaimError, NumberError, Undecided
from suffice.model import AdditiveModel
from suffice.rational import ZERO, Number, Rational, brief, nearest_float, rational, to_fraction


@dataclass(frozen=True, slots=True)
class Inequality:
    """`constant + Σ_j factors[j] · score_j ≥ 0`, or `> 0` where strict; `meaning` says it in words.

    A constant that is no rational number lies between `constant` and `constant + gap`.
    """

    factors: tuple[int, ...]
    constant: Rational
    is_strict: bool
    meaning: str
    gap: Rational = ZERO

    def at(self, scores: Sequence[Rational]) -> Rational:
        """Return the left side at given scores."""
        return self.constant + sum((f * s for f, s in zip(self.factors, scores, strict=True) if f), ZERO)

    def holds_at(self, scores: Sequence[Rational]) -> bool:
        """Whether the inequality holds at given scores."""
        value = self.at(scores)
        return value > 0 or (value == 0 and not self.is_strict)


class Claim(ABC):
    """Something true of a row's prediction that is to stay true."""

    @abstractmethod
    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:
        """Return what has to hold, given the scores of the row; `ClaimError` if the model has no such scores."""

    def enclosed(self, model: AdditiveModel, scores: Sequence[Rational], bits: int) -> tuple[Inequality, ...]:
        """Return the same, with numbers that are not rational enclosed to so many bits."""
        return self.inequalities(model, scores)


@dataclass(frozen=True, slots=True)
class Same(Claim):
    """The predicted class stays; of several classes, the winner beats all others."""

    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:  # noqa: D102
        if model.task == "regression":
            raise ClaimError(
                "a regression has no class that could stay; pass claim=Within(delta), AtLeast(value) or AtMost(value)"
            )
        if model.task == "binary":
            return (_sign(model, scores),)
        winner = _winner(scores)
        return tuple(_beats(model, winner, j) for j in range(len(scores)) if j != winner)


@dataclass(frozen=True, slots=True)
class Beats(Claim):
    """The winner keeps beating one other class, whatever the rest do."""

    other: Any

    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:  # noqa: D102
        if model.task == "regression" or self.other not in model.classes:
            known = ", ".join(str(name) for name in model.classes[:8]) or "no classes"
            raise ClaimError(f"{self.other!r} is not a class of this model; it has {known}")
        prediction = predicted(model, scores)
        if self.other == prediction:
            raise ClaimError(f"{self.other!r} is itself the prediction; name another class")
        if model.task == "binary":
            return (_sign(model, scores),)
        return (_beats(model, _winner(scores), model.classes.index(self.other)),)


@dataclass(frozen=True, slots=True, init=False)
class AtLeast(Claim):
    """The score (the prediction, of a regression) stays at or above a value."""

    value: Rational

    def __init__(self, value: Number) -> None:
        object.__setattr__(self, "value", _number("AtLeast", value))

    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:  # noqa: D102
        _check_one_score(model, "AtLeast")
        return (_bound(1, -self.value, f"at least {_show(self.value)}"),)


@dataclass(frozen=True, slots=True, init=False)
class AtMost(Claim):
    """The score (the prediction, of a regression) stays at or below a value."""

    value: Rational

    def __init__(self, value: Number) -> None:
        object.__setattr__(self, "value", _number("AtMost", value))

    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:  # noqa: D102
        _check_one_score(model, "AtMost")
        return (_bound(-1, self.value, f"at most {_show(self.value)}"),)


@dataclass(frozen=True, slots=True, init=False)
class Within(Claim):
    """The score (the prediction, of a regression) stays within `delta` of the row's own, both ways."""

    delta: Rational

    def __init__(self, delta: Number) -> None:
        object.__setattr__(self, "delta", _number("Within", delta))
        if self.delta < 0:
            raise ClaimError(f"Within takes a distance from 0 up, got {brief(delta)}")

    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:  # noqa: D102
        _check_one_score(model, "Within")
        low, high = scores[0] - self.delta, scores[0] + self.delta
        return (
            _bound(1, -low, f"at least {_show(low)}"),
            _bound(-1, high, f"at most {_show(high)}"),
        )


@dataclass(frozen=True, slots=True, init=False)
class ProbabilityAtLeast(Claim):
    """The probability of the predicted class, of two, stays at or above a value.

    It speaks of a model whose probability is `1 / (1 + exp(-score))`, as that of logistic models is; a support vector
    machine, a perceptron or a ridge classifier has no such probability. So the claim is a threshold on the score,
    `logit(p)`, which is no rational number unless p is 1/2: it is enclosed, as closely as a decision needs. Radii and
    ranges are those of the upper end of the enclosure.
    """

    p: Rational

    def __init__(self, p: Number) -> None:
        object.__setattr__(self, "p", _number("ProbabilityAtLeast", p))
        if not 0 < self.p < 1:
            raise ClaimError(f"ProbabilityAtLeast takes a probability between 0 and 1, got {brief(p)}")

    def inequalities(self, model: AdditiveModel, scores: Sequence[Rational]) -> tuple[Inequality, ...]:  # noqa: D102
        return self.enclosed(model, scores, bits=64)

    def enclosed(self, model: AdditiveModel, scores: Sequence[Rational], bits: int) -> tuple[Inequality, ...]:  # noqa: D102
        if model.task != "binary":
            raise ClaimError(
                f"ProbabilityAtLeast speaks of two classes, but this is a {model.task} model; "
                "use Same() or Beats(...), or AtLeast(value) for a score"
            )
        low, high = logit(self.p, bits)
        factor = 1 if _is_positive(model, scores) else -1
        meaning = f"at least {_show(self.p)} probable to be {predicted(model, scores)}"
        return (Inequality((factor,), -high, is_strict=False, meaning=meaning, gap=high - low),)


def logit(p: Rational, bits: int) -> tuple[Rational, Rational]:
    """Return two rationals with `log(p / (1 - p))` between them, about `2^-bits` apart."""
    odds = p / (1 - p)
    if odds == 1:
        return ZERO, ZERO
    before, ctx.prec = ctx.prec, bits + 32
    try:
        ball = arb(odds).log()
        return _dyadic(ball.lower()), _dyadic(ball.upper())
    finally:
        ctx.prec = before


def _dyadic(end: arb) -> Rational:
    mantissa, exponent = end.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def predicted(model: AdditiveModel, scores: Sequence[Rational]) -> Any:
    """Return the class that the scores decide for; of a regression the score itself, as a `Fraction`."""
    if model.task == "regression":
        return to_fraction(scores[0])
    return model.classes[_is_positive(model, scores) if model.task == "binary" else _winner(scores)]


def inequalities_at(
    claim: Claim, model: AdditiveModel, scores: Sequence[Rational], bits: int = 128
) -> tuple[Inequality, ...]:
    """Return a claim's inequalities, after checking that they hold at the row itself."""
    if not isinstance(claim, Claim):
        raise ClaimError(
            "claim must be Same(), Beats(...), Within(...), AtLeast(...), AtMost(...) or ProbabilityAtLeast(...), "
            f"got {brief(claim)}"
        )
    found = claim.enclosed(model, scores, bits)
    for inequality in found:
        if not inequality.holds_at(scores):
            if inequality.at(scores) + inequality.gap >= 0 and inequality.gap:
                raise Undecided
            raise ClaimError(
                f"the claim is false at the row itself: the score is {_show(scores[0])}, not {inequality.meaning}"
            )
    return found


def _is_positive(model: AdditiveModel, scores: Sequence[Rational]) -> bool:
    (score,) = scores
    return score > 0 or (score == 0 and model.ties == "positive")


def _winner(scores: Sequence[Rational]) -> int:
    """Return the first of the largest scores."""
    return max(range(len(scores)), key=lambda j: (scores[j], -j))


def _sign(model: AdditiveModel, scores: Sequence[Rational]) -> Inequality:
    # A score of 0 belongs to one of the two classes: that one keeps it (≥), the other must stay clear of it (>).
    is_positive = _is_positive(model, scores)
    keeps_zero = is_positive == (model.ties == "positive")
    meaning = f"ahead of {model.classes[not is_positive]}"
    return Inequality((1 if is_positive else -1,), ZERO, not keeps_zero, meaning)


def _beats(model: AdditiveModel, winner: int, other: int) -> Inequality:
    # A tie goes to the lower index: the winner keeps it against a later class, and loses it to an earlier one.
    factors = tuple((j == winner) - (j == other) for j in range(len(model.classes)))
    return Inequality(factors, ZERO, other < winner, f"ahead of {model.classes[other]}")


def _bound(factor: int, constant: Rational, meaning: str) -> Inequality:
    return Inequality((factor,), constant, is_strict=False, meaning=meaning)


def _check_one_score(model: AdditiveModel, name: str) -> None:
    if model.task == "multiclass":
        raise ClaimError(
            f"{name} speaks of one score, but this model has {len(model.classes)}; use Same() or Beats(...)"
        )


def _number(name: str, value: object) -> Rational:
    try:
        return rational(value)
    except NumberError as error:
        raise ClaimError(f"{name}: {error}") from None


def _show(value: Rational) -> str:
    return f"{nearest_float(value):.6g}"
