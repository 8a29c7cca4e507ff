"""The claims there are: small values that become inequalities over the model's scores. Ties are decided here, once.

A new claim is one class here, one entry in `CLAIMS`, and one in the checker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from suffice.errors import ClaimError, NumberError, Undecided
from suffice.model.additive import AdditiveModel
from suffice.model.domain import format_value
from suffice.numbers.enclosure import FIRST_BITS, Enclosure, Real, logit_bounds, middle
from suffice.numbers.exact import ZERO, Number, Rational, brief, rational, to_fraction
from suffice.question.claim import NO_CLASS, Claim, Inequality, Part
from suffice.question.documents import class_document, read_class


@dataclass(frozen=True, slots=True)
class Same(Claim):
    """The predicted class stays the same: it stays ahead of all other classes.

    Examples
    --------
    >>> Same().document()
    {'kind': 'same'}
    """

    kind: ClassVar[str] = "same"
    tasks: ClassVar[tuple[str, ...]] = ("binary", "multiclass")
    summary: ClassVar[str] = "the prediction stays the same"

    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:  # noqa: D102
        if model.task == "binary":
            return (_sign(model, winner),)
        return tuple(_beats(model, winner, j) for j in range(len(model.classes)) if j != winner)

    def sentence(self, model: AdditiveModel, prediction: Any) -> str:  # noqa: D102
        return f"the prediction stays {prediction}"

    def _misfit(self, model: AdditiveModel) -> str:
        return "a regression has no class, so give a claim: Within, AtLeast or AtMost"


@dataclass(frozen=True, slots=True)
class Beats(Claim):
    """The predicted class stays ahead of one other class, whatever the rest do.

    Parameters
    ----------
    other : a class of the model
        The class to stay ahead of.

    Examples
    --------
    >>> Beats("refuse").document()
    {'kind': 'beats', 'other': 'refuse'}
    """

    kind: ClassVar[str] = "beats"
    tasks: ClassVar[tuple[str, ...]] = ("binary", "multiclass")
    summary: ClassVar[str] = "the predicted class stays ahead of this one"

    other: Any

    def check(self, model: AdditiveModel) -> None:  # noqa: D102
        if self.other not in model.classes:
            known = ", ".join(str(name) for name in model.classes[:8]) or "no classes"
            raise ClaimError(f"{self.other!r} is not a class of this model; it has {known}")

    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:  # noqa: D102
        self.check(model)
        rival = model.classes.index(self.other)
        if rival == winner:
            raise ClaimError(f"{self.other!r} is the prediction itself; name another class")
        return (_sign(model, winner) if model.task == "binary" else _beats(model, winner, rival),)

    def sentence(self, model: AdditiveModel, prediction: Any) -> str:  # noqa: D102
        return f"{prediction} stays ahead of {self.other}"

    def _field_document(self, value: Any) -> Any:
        return class_document(value)

    @classmethod
    def from_fields(cls, model: AdditiveModel, given: Mapping[str, Any]) -> Claim:  # noqa: D102
        return cls(read_class(model, given["other"]))


class _OfOneScore(Claim):
    """A claim about the one score of a model."""

    __slots__ = ()
    tasks: ClassVar[tuple[str, ...]] = ("binary", "regression")


@dataclass(frozen=True, slots=True, init=False)
class Within(_OfOneScore):
    """The score (of a regression, the prediction) stays within `delta` of the row's own, in both directions.

    Parameters
    ----------
    delta : number from 0 up
        How far it may go.

    Raises
    ------
    ClaimError
        If `delta` is not a number, or negative.

    Examples
    --------
    >>> Within("0.5").document()
    {'kind': 'within', 'delta': '1/2'}
    """

    kind: ClassVar[str] = "within"
    summary: ClassVar[str] = "the score stays within this distance of the row's own"
    reads_own_score: ClassVar[bool] = True

    delta: Rational

    def __init__(self, delta: Number) -> None:
        object.__setattr__(self, "delta", _number("Within", delta))
        if self.delta < 0:
            raise ClaimError(f"Within takes a distance of 0 or more, got {brief(delta)}")

    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:  # noqa: D102
        return _above(self.delta, is_relative=True), _below(self.delta, is_relative=True)

    def sentence(self, model: AdditiveModel, prediction: Any) -> str:  # noqa: D102
        return f"{_score_name(model)} stays within {format_value(self.delta)} of its value here"


@dataclass(frozen=True, slots=True, init=False)
class AtLeast(_OfOneScore):
    """The score (the prediction, of a regression) stays at or above a value.

    Parameters
    ----------
    value : number
        The threshold.

    Raises
    ------
    ClaimError
        If `value` is not a number.

    Examples
    --------
    >>> AtLeast(0.5).document()
    {'kind': 'at_least', 'value': '1/2'}
    """

    kind: ClassVar[str] = "at_least"
    summary: ClassVar[str] = "the score stays at or above this"

    value: Rational

    def __init__(self, value: Number) -> None:
        object.__setattr__(self, "value", _number("AtLeast", value))

    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:  # noqa: D102
        return (_above(-self.value),)

    def sentence(self, model: AdditiveModel, prediction: Any) -> str:  # noqa: D102
        return f"{_score_name(model)} stays at or above {format_value(self.value)}"


@dataclass(frozen=True, slots=True, init=False)
class AtMost(_OfOneScore):
    """The score (the prediction, of a regression) stays at or below a value.

    Parameters
    ----------
    value : number
        The threshold.

    Raises
    ------
    ClaimError
        If `value` is not a number.

    Examples
    --------
    >>> AtMost("1/3").document()
    {'kind': 'at_most', 'value': '1/3'}
    """

    kind: ClassVar[str] = "at_most"
    summary: ClassVar[str] = "the score stays at or below this"

    value: Rational

    def __init__(self, value: Number) -> None:
        object.__setattr__(self, "value", _number("AtMost", value))

    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:  # noqa: D102
        return (_below(self.value),)

    def sentence(self, model: AdditiveModel, prediction: Any) -> str:  # noqa: D102
        return f"{_score_name(model)} stays at or below {format_value(self.value)}"


@dataclass(frozen=True, slots=True, init=False)
class ProbabilityAtLeast(Claim):
    """The probability of the predicted class, of two, stays at or above a value.

    It applies to models whose probability is `1 / (1 + exp(-score))`, such as logistic models, or that of the score
    plus the model's `logit_offset`; a support vector machine, a perceptron or a ridge classifier has none. The claim
    is a threshold on the score, `logit(p)`, which is irrational unless p is 1/2, so it is enclosed as closely as a
    decision needs. A radius or a range that ends where the threshold is reached is irrational too: it is given from
    the safe side, as `BOUNDED`.

    Parameters
    ----------
    p : number between 0 and 1
        The threshold.

    Raises
    ------
    ClaimError
        If `p` is not a number between 0 and 1.

    Examples
    --------
    >>> ProbabilityAtLeast("0.9").document()
    {'kind': 'probability_at_least', 'p': '9/10'}
    """

    kind: ClassVar[str] = "probability_at_least"
    tasks: ClassVar[tuple[str, ...]] = ("binary",)
    summary: ClassVar[str] = "the probability of the predicted class stays at or above this"

    p: Rational

    def __init__(self, p: Number) -> None:
        object.__setattr__(self, "p", _number("ProbabilityAtLeast", p))
        if not 0 < self.p < 1:
            raise ClaimError(f"ProbabilityAtLeast takes a probability between 0 and 1, got {brief(p)}")

    def check(self, model: AdditiveModel) -> None:  # noqa: D102
        Claim.check(self, model)  # a class with slots is made anew, so that super() would not find it
        if model.logit_offset is None:
            raise ClaimError(
                "this model's probability is no logistic function of its score, or it has none; claim its class "
                "(Same) or its score (AtLeast, AtMost, Within) instead"
            )

    def parts(self, model: AdditiveModel, winner: int, bits: int = FIRST_BITS) -> tuple[Part, ...]:  # noqa: D102
        assert model.logit_offset is not None
        low, high = logit_bounds(self.p, bits)
        meaning = f"at least {format_value(self.p)} probable to be {model.classes[winner]}"
        sign = 1 if winner else -1
        return (Part((sign,), sign * model.logit_offset - high, False, lambda _: meaning, gap=high - low),)

    def sentence(self, model: AdditiveModel, prediction: Any) -> str:  # noqa: D102
        return f"P({prediction}) stays at or above {format_value(self.p)}"

    def _misfit(self, model: AdditiveModel) -> str:
        return (
            f"ProbabilityAtLeast needs a model of two classes, but this is a {model.task} model; "
            "use Same() or Beats(...), or AtLeast(value) for a score"
        )


CLAIMS: Mapping[str, type[Claim]] = {
    claim.kind: claim for claim in (Same, Beats, Within, AtLeast, AtMost, ProbabilityAtLeast)
}
SAME = Same()


def read_claim(model: AdditiveModel, document: Any) -> Claim:
    """Return a claim from how it is written down.

    Raises
    ------
    ClaimError
        If the kind is not known, a field is missing or unknown, or a number is none.
    """
    if isinstance(document, Claim):
        return document
    if not isinstance(document, Mapping) or str(document.get("kind")) not in CLAIMS:
        raise ClaimError(
            f"a claim is Same(), Beats(...), Within(...), AtLeast(...), AtMost(...) or ProbabilityAtLeast(...), or an "
            f"object whose kind is one of {', '.join(CLAIMS)}; got {brief(document)}"
        )
    kind = CLAIMS[str(document["kind"])]
    given = {name: value for name, value in document.items() if name != "kind"}
    wanted = kind.field_names()
    for name in (*given, *wanted):
        if name not in given or name not in wanted:
            what = "needs the field" if name in wanted else "has no field"
            raise ClaimError(f"the claim {kind.kind!r} {what} {name!r}")
    return kind.from_fields(model, given)


def predicted_class(model: AdditiveModel, scores: Sequence[Real]) -> int:
    """Return the index of the class that the scores decide for; `NO_CLASS` of a regression."""
    if model.task == "regression":
        return NO_CLASS
    if model.task == "binary":
        (score,) = scores
        return int(score >= 0 if model.ties == "positive" else score > 0)
    winner = 0
    for j in range(1, len(scores)):
        winner = j if scores[j] > scores[winner] else winner  # the first of the largest
    return winner


def predicted(model: AdditiveModel, scores: Sequence[Real]) -> Any:
    """Return the class that the scores decide for; of a regression the score, a `Fraction` or an `Enclosure`."""
    winner = predicted_class(model, scores)
    if winner != NO_CLASS:
        return model.classes[winner]
    return scores[0] if isinstance(scores[0], Enclosure) else to_fraction(scores[0])


def inequalities_at(
    claim: Claim,
    model: AdditiveModel,
    scores: Sequence[Real],
    bits: int = FIRST_BITS,
    *,
    winner: int | None = None,
) -> tuple[Inequality, ...]:
    """Return a claim's inequalities, after checking that they hold at the row itself.

    They are about the predicted class unless the index of another one is given.
    """
    about = predicted_class(model, scores) if winner is None else winner
    found = tuple(part.of(scores) for part in claim.parts(model, about, bits))
    for inequality in found:
        if not inequality.holds_at(scores):
            if inequality.at(scores) + inequality.gap >= 0 and inequality.gap:
                raise Undecided
            raise ClaimError(
                f"the claim is false at the row itself: the score is {format_value(middle(scores[0]))}, "
                f"not {inequality.meaning}"
            )
    return found


def is_true(claim: Claim, model: AdditiveModel, scores: Sequence[Real], winner: int) -> bool:
    """Whether a claim about a class holds at given scores."""
    bits = FIRST_BITS
    while True:
        found = [part.of(scores) for part in claim.parts(model, winner, bits)]
        if not any(one.gap and one.at(scores) < 0 <= one.at(scores) + one.gap for one in found):
            return all(one.holds_at(scores) for one in found)
        bits *= 2  # an end that is not rational is no score, so that this ends


def _sign(model: AdditiveModel, winner: int) -> Part:
    # A score of 0 belongs to one of the two classes: that one keeps it (≥), the other must stay clear of it (>).
    keeps_zero = (winner == 1) == (model.ties == "positive")
    meaning = f"ahead of {model.classes[1 - winner]}"
    return Part((1 if winner else -1,), ZERO, not keeps_zero, lambda _: meaning)


def _beats(model: AdditiveModel, winner: int, other: int) -> Part:
    # A tie goes to the lower index: the winner keeps it against a later class, and loses it to an earlier one.
    factors = tuple((j == winner) - (j == other) for j in range(len(model.classes)))
    meaning = f"ahead of {model.classes[other]}"
    return Part(factors, ZERO, other < winner, lambda _: meaning)


def _above(constant: Rational, *, is_relative: bool = False) -> Part:
    return Part((1,), constant, False, lambda c: f"at least {format_value(-middle(c))}", is_relative)


def _below(constant: Rational, *, is_relative: bool = False) -> Part:
    return Part((-1,), constant, False, lambda c: f"at most {format_value(middle(c))}", is_relative)


def _score_name(model: AdditiveModel) -> str:
    return "the prediction" if model.task == "regression" else "the score"


def _number(name: str, value: object) -> Rational:
    try:
        return rational(value)
    except NumberError as error:
        raise ClaimError(f"{name}: {error}") from None
