"""What a claim says: inequalities `constant + Σ_j factors[j] · score_j ≥ 0`, or `> 0` where strict."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.exponential import exp_bounds
from suffice_check.model import Model
from suffice_check.reading import RejectedError, fields, number, whole

_CONTENT = {
    "same": [],
    "beats": ["other"],
    "within": ["delta"],
    "at_least": ["value"],
    "at_most": ["value"],
    "probability_at_least": ["p", "low", "high"],
}


class Claim(NamedTuple):
    """What must stay true, as a certificate says it."""

    kind: str
    numbers: list[Fraction]
    other: int  # class to stay ahead of; 0 where there is none


class Inequality(NamedTuple):
    """One inequality over the scores."""

    factors: tuple[int, ...]
    constant: Fraction
    is_strict: bool
    gap: Fraction = Fraction(0)  # the true constant lies between `constant` and `constant + gap`

    def of(self, outputs: tuple[Fraction, ...] | list[Fraction]) -> Fraction:
        """Return `Σ_j factors[j] · outputs[j]`."""
        return sum((f * a for f, a in zip(self.factors, outputs, strict=True) if f), Fraction(0))


def read_claim(document: Any) -> Claim:
    """Return the claim of a certificate."""
    kind = document["kind"]
    content = fields(document, "kind", *_CONTENT[kind])[1:]
    if kind == "beats":
        return Claim(kind, [], whole(content[0], 10**6))
    return Claim(kind, [number(text) for text in content], 0)


def inequalities(claim: Claim, model: Model, scores: list[Fraction]) -> tuple[list[Inequality], str]:
    """Return what must hold, given the scores of the row, and the same in words."""
    if claim.kind in ("same", "beats"):
        return _ahead(claim, model, scores)
    if len(scores) != 1:
        raise RejectedError("claim", f"{claim.kind!r} speaks of one score, the model has {len(scores)}")
    bound, *ends = claim.numbers
    above, below = Inequality((1,), -bound, False), Inequality((-1,), bound, False)
    if claim.kind == "at_least":
        return [above], f"the score stays at least {show(bound)}"
    if claim.kind == "at_most":
        return [below], f"the score stays at most {show(bound)}"
    if claim.kind == "probability_at_least":
        return _probable(model, scores, bound, *ends)
    both = [above._replace(constant=bound - scores[0]), below._replace(constant=bound + scores[0])]
    return both, f"the score stays within {show(bound)} of the row's own, {show(scores[0])}"


def _probable(
    model: Model, scores: list[Fraction], p: Fraction, low: Fraction, high: Fraction
) -> tuple[list[Inequality], str]:
    """Return that the score, towards the predicted class, stays at least log(p / (1 - p)), between `low` and `high`."""
    if model.task != "binary" or not 0 < p < 1:
        raise RejectedError("claim", "a probability between 0 and 1 speaks of a model of two classes")
    # low ≤ log(odds) ≤ high, for e^low ≤ odds ≤ e^high: shown by bounds of e that are close enough.
    odds, bits = p / (1 - p), 64 + low.denominator.bit_length() + high.denominator.bit_length()
    if (
        max(abs(low), abs(high)) > 10**4
        or bits > 10**5
        or not (exp_bounds(low, bits)[1] <= odds <= exp_bounds(high, bits)[0])
    ):
        raise RejectedError("claim", "the logarithm of the odds is not shown to lie between the bounds given")
    first = _winner(model, scores)
    formula = f"1/(1+exp({'-' if first else ''}score))"
    text = f"the probability of {model.classes[first]!r} stays at least {show(p)} (as {formula})"
    return [Inequality((1 if first else -1,), -high, False, high - low)], text


def _winner(model: Model, scores: list[Fraction]) -> int:
    """Return the index of the predicted class."""
    if model.task == "binary":
        return int(scores[0] > 0 or (scores[0] == 0 and model.ties == "positive"))
    return scores.index(max(scores))  # a tie goes to the lower index


def _ahead(claim: Claim, model: Model, scores: list[Fraction]) -> tuple[list[Inequality], str]:
    """Return the inequalities by which the predicted class beats all others, or one of them."""
    if model.task == "regression":
        raise RejectedError("claim", "a regression has no classes")
    first = _winner(model, scores)
    others = [j for j in range(len(model.classes)) if j != first]
    text = f"the prediction stays {model.classes[first]!r}"
    if claim.kind == "beats":
        if claim.other not in others:
            raise RejectedError("claim", f"class {claim.other} is not another class than the prediction, class {first}")
        others, text = [claim.other], f"{model.classes[first]!r} stays ahead of {model.classes[claim.other]!r}"
    if model.task == "binary":  # a score of 0 belongs to one of the two classes: that one keeps it
        keeps_tie = (first == 1) == (model.ties == "positive")
        return [Inequality((1 if first else -1,), Fraction(0), not keeps_tie)], text
    factors = [tuple((j == first) - (j == other) for j in range(len(scores))) for other in others]
    return [Inequality(f, Fraction(0), other < first) for f, other in zip(factors, others, strict=True)], text


def show(value: Fraction) -> str:
    """Return a number as people read it: exact where that is short."""
    text = str(value) if abs(value.numerator) < 10**12 > value.denominator else ""
    try:
        return text or f"about {float(value):.6g}"
    except OverflowError:
        return "a number beyond all floats"
