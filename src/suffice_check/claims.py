"""What a claim says: inequalities `constant + Σ_j factors[j] · score_j ≥ 0`, or `> 0` where strict."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from suffice_check.exponential import exp_bounds
from suffice_check.model import Model
from suffice_check.reading import RejectedError, fields, number
from suffice_check.words import show

KINDS = {
    "same": [],
    "beats": ["other"],
    "within": ["delta"],
    "at_least": ["value"],
    "at_most": ["value"],
    "probability_at_least": ["p"],
}
Enclosure = tuple[Fraction, Fraction]


class Claim(NamedTuple):
    """What must stay true, as a certificate says it."""

    kind: str
    number: Fraction = Fraction(0)
    other: Any = None  # class to stay ahead of


class Inequality(NamedTuple):
    """One inequality over the scores."""

    factors: tuple[int, ...]  # 1, 0 or -1, not all 0
    constant: Fraction
    is_strict: bool
    gap: Fraction = Fraction(0)  # the true constant lies between `constant` and `constant + gap`

    def of(self, outputs: tuple[Fraction, ...] | list[Fraction]) -> Fraction:
        """Return `Σ_j factors[j] · outputs[j]`."""
        first, *rest = [a if f > 0 else -a for f, a in zip(self.factors, outputs, strict=True) if f]
        return sum(rest, first)


def read_claim(document: Any) -> Claim:
    """Return the claim of a certificate."""
    kind, *content = fields(document, "kind", *KINDS[document["kind"]])
    if kind == "beats":
        return Claim(kind, other=content[0])
    return Claim(kind, *map(number, content))


def inequalities(
    claim: Claim, enclosure: Enclosure | None, model: Model, scores: list[Fraction]
) -> tuple[list[Inequality], str]:
    """Return what must hold, given the scores of the row, and the same in words."""
    if claim.kind == "probability_at_least":
        return _probable(model, scores, claim.number, *(enclosure or (Fraction(0), Fraction(0))))
    if enclosure is not None:
        raise RejectedError("enclosure", "only the logarithm of a probability's odds has one")
    if claim.kind in ("same", "beats"):
        return _ahead(claim, model, scores)
    if len(scores) != 1:
        raise RejectedError("claim", f"{claim.kind!r} is about one score, but the model has {len(scores)}")
    bound, score = claim.number, "the score"
    if model.task == "binary" and model.logit_offset == 0:
        score += f" (the log-odds of {model.classes[1]!r})"
    above, below = Inequality((1,), -bound, False), Inequality((-1,), bound, False)
    if claim.kind == "at_least":
        return [above], f"{score} stays at least {show(bound)}"
    if claim.kind == "at_most":
        return [below], f"{score} stays at most {show(bound)}"
    both = [above._replace(constant=bound - scores[0]), below._replace(constant=bound + scores[0])]
    return both, f"{score} stays within {show(bound)} of the row's own"


def _probable(
    model: Model, scores: list[Fraction], p: Fraction, low: Fraction, high: Fraction
) -> tuple[list[Inequality], str]:
    """Return that the logit, towards the predicted class, stays at least log(p / (1 - p)), between `low` and `high`."""
    if model.task != "binary" or not 0 < p < 1:
        raise RejectedError("claim", "a probability must be between 0 and 1, and the model must have two classes")
    # low ≤ log(odds) ≤ high, for e^low ≤ odds ≤ e^high: shown by bounds of e that are close enough.
    odds, bits = p / (1 - p), 64 + low.denominator.bit_length() + high.denominator.bit_length()
    if (
        max(abs(low), abs(high)) > 10**4
        or bits > 10**5
        or not (exp_bounds(low, bits)[1] <= odds <= exp_bounds(high, bits)[0])
    ):
        raise RejectedError("enclosure", "the logarithm of the odds is not shown to lie in it")
    first, offset = _winner(model, scores), model.logit_offset
    if offset is None:
        raise RejectedError("claim", "the model's probability is no logistic function of its score")
    shown = "score" if offset == 0 else f"(score+{show(offset)})"
    formula = f"1/(1+exp({'-' if first else ''}{shown}))"
    text = f"the probability of {model.classes[first]!r} stays at least {show(p)} (as {formula})"
    sign = 1 if first else -1
    return [Inequality((sign,), sign * offset - high, False, high - low)], text


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
    if claim.kind == "beats":  # 1 and 1.0 are different classes
        others = [j for j in others if model.classes[j] == claim.other and type(model.classes[j]) is type(claim.other)]
        if not others:
            raise RejectedError("claim", f"there is no class to beat but {model.classes[first]!r} of that name")
        text = f"{model.classes[first]!r} stays ahead of {claim.other!r}"
    if model.task == "binary":  # a score of 0 belongs to one of the two classes: that one keeps it
        keeps_tie = (first == 1) == (model.ties == "positive")
        return [Inequality((1 if first else -1,), Fraction(0), not keeps_tie)], text
    factors = [tuple((j == first) - (j == other) for j in range(len(scores))) for other in others]
    return [Inequality(f, Fraction(0), other < first) for f, other in zip(factors, others, strict=True)], text
