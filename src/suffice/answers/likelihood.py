"""Probabilities in words: how likely the predicted class is, and between what it stays. Ends are rounded outward."""

from __future__ import annotations

import math
from collections.abc import Collection
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from suffice.core.case import Case
from suffice.core.outlook import Extent, outlook, probability
from suffice.layout.facts import Fact
from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import Rational, nearest_float
from suffice.question.claims import predicted_class

_DIGITS = Decimal("0.001")


def has_likelihood(case: Case) -> bool:
    """Whether the class that the case is about is the predicted one, and has a probability."""
    return case.model.has_probability and case.winner == predicted_class(case.model, case.scores)


def probability_of(case: Case) -> float | None:
    """Return the probability of the predicted class at the row, to the nearest float; None if the model has none."""
    found = probability(case) if has_likelihood(case) else None
    return None if found is None or found.low is None else nearest_float(found.low)


def extent_of(case: Case, free: Collection[int]) -> Extent | None:
    """Return where the probability, or the value predicted, stays while some features are free; None if not known."""
    if case.compiled.is_enclosed or not (case.model.task == "regression" or has_likelihood(case)):
        return None
    return outlook(case, free)


def range_of(case: Case, found: Extent | None) -> tuple[float, float] | None:
    """Return between which floats the probability, or the value predicted, stays."""
    if found is None:
        return None
    widest = (-math.inf, math.inf) if case.model.task == "regression" else (0.0, 1.0)
    low = widest[0] if found.low is None else _float_beyond(found.low, -math.inf)
    high = widest[1] if found.high is None else _float_beyond(found.high, math.inf)
    return max(low, widest[0]), min(high, widest[1])


def _float_beyond(value: Rational, towards: float) -> float:
    return math.nextafter(nearest_float(value), towards)


def probability_words(case: Case) -> str:
    """Return the probability of the predicted class, "probability 0.852"; nothing if the model has none."""
    if not has_likelihood(case):
        return ""
    found = probability(case)
    assert found is not None
    assert found.low is not None
    near = nearest_float(found.low)
    if near >= 0.9995:
        return "probability above 0.999"
    return "probability below 0.001" if near < 0.0005 else f"probability {near:.3f}"


def unit_of_margin(model: AdditiveModel) -> str:
    """Return what a margin is counted in, with a space before it; a regression's is that of its predictions."""
    return "" if model.task == "regression" else " in log-odds" if model.has_probability else " of the score"


def range_fact(case: Case, found: Extent | None) -> list[Fact]:
    """Return between what the probability, or the prediction, stays; nothing where nothing is known of it."""
    is_regression = case.model.task == "regression"
    told = "" if found is None else _between(found, exact_ends=not is_regression)
    if not told:
        return []
    whatever = "whatever the free features do within the region"
    if is_regression:
        return [Fact("Range", f"{whatever}, the prediction stays {told}.")]
    return [Fact("Probability", f"{whatever}, that of {case.model.classes[case.winner]} stays {told}.")]


def _between(found: Extent, *, exact_ends: bool) -> str:
    """Return the ends of a range in words, rounded outward: probabilities to three decimals, values to six digits."""
    low = None if found.low is None else _rounded(found.low, ROUND_FLOOR, is_probability=exact_ends)
    high = None if found.high is None else _rounded(found.high, ROUND_CEILING, is_probability=exact_ends)
    low, high = (None if exact_ends and low == 0 else low), (None if exact_ends and high == 1 else high)
    if low is not None and high is not None:
        return f"between {low:f} and {high:f}"
    if low is not None:
        return f"at or above {low:f}"
    return "" if high is None else f"at or below {high:f}"


def _rounded(value: Rational, rounding: str, *, is_probability: bool) -> Decimal:
    exact = Context(prec=6 if not is_probability else 40, rounding=rounding)
    near = exact.divide(Decimal(int(value.p)), Decimal(int(value.q)))
    return near.quantize(_DIGITS, rounding=rounding) if is_probability else near.normalize()
