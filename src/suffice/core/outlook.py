"""How likely the predicted class is, or what is predicted: at the row, and wherever the free features may go.

In: a case, and the features that are free. Out: a probability or a value, between rationals that are proven to hold it.
Scores are exact, the exponential function is enclosed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from suffice.core.case import Case
from suffice.errors import ModelError
from suffice.model.additive import AdditiveModel
from suffice.numbers.enclosure import Real, ends, exactly, exp_bounds
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float
from suffice.numbers.surd import upper
from suffice.question.claim import Inequality

_BITS = 64  # how closely probabilities are enclosed, relatively
_LARGEST = 512  # beyond e to this, a probability is as good as 0 or 1, and said to be between its bound and that


class Extent(NamedTuple):
    """A number that is proven to lie from `low` to `high`; None where nothing bounds it."""

    low: Rational | None
    high: Rational | None


def probability(case: Case) -> Extent | None:
    """Return the probability of the predicted class at the row; None if the model has none."""
    if not case.model.has_probability:
        return None
    if case.model.task == "binary":
        least, most = ends(_logit(case))
        return Extent(_logistic(least)[0], _logistic(most)[1])
    winner = case.scores[case.winner]
    leads = [ends(winner - score) for k, score in enumerate(case.scores) if k != case.winner]
    return Extent(_softmax([low for low, _ in leads]).low, _softmax([high for _, high in leads]).high)


def class_probabilities(model: AdditiveModel, scores: Sequence[Rational]) -> tuple[float, ...]:
    """Return the probabilities of all classes, to the nearest floats; `ModelError` if the model has none."""
    if not model.has_probability:
        what = "a regression predicts a number" if model.task == "regression" else "this model's scores give none"
        raise ModelError(f"there are no probabilities: {what}")
    if model.logit_offset is not None and model.task == "binary":
        logit = scores[0] + model.logit_offset
        return nearest_float(_logistic(-logit)[0]), nearest_float(_logistic(logit)[0])
    places = range(len(scores))
    found = [_softmax([scores[k] - scores[j] for j in places if j != k]).low for k in places]
    return tuple(nearest_float(one) for one in found if one is not None)


def outlook(case: Case, free: Collection[int]) -> Extent | None:
    """Return where the probability of the predicted class, or the prediction of a regression, can go in the region.

    The other features keep the row's values. Of several classes only the low end is told, and of models with terms over
    two features too, for finding the other takes as long again. None if the model has no probability.
    """
    assert not case.compiled.is_enclosed
    task = case.model.task
    if task == "multiclass":
        return _several(case, free) if case.model.has_probability else None
    if task == "regression":
        falls = [_fall(case, (sign,), free) for sign in (1, -1)]
        score = exactly(case.scores[0])
        low, high = falls
        return Extent(None if low is None else score - low, None if high is None else score + high)
    if not case.model.has_probability:
        return None
    sign, logit = 1 if case.winner else -1, exactly(_logit(case))
    down, up = _fall(case, (sign,), free), None if case.has_pairs else _fall(case, (-sign,), free)
    low = ZERO if down is None else _logistic(logit - down)[0]
    return Extent(low, ONE if up is None else _logistic(logit + up)[1])


def _several(case: Case, free: Collection[int]) -> Extent:
    """Return a bound on the winner's probability: no score comes closer to the winner's than alone."""
    slacks = []
    for other in range(len(case.scores)):
        if other != case.winner:
            factors = tuple((k == case.winner) - (k == other) for k in range(len(case.scores)))
            fall = _fall(case, factors, free)
            if fall is None:
                return Extent(ZERO, None)
            slacks.append(exactly(case.scores[case.winner] - case.scores[other]) - fall)
    return Extent(_softmax(slacks).low, None)


def _fall(case: Case, factors: tuple[int, ...], free: Collection[int]) -> Rational | None:
    """Return how far a combination of scores can fall, or a bound on it; None if nothing bounds it."""
    known = case.constraint_of(Inequality(factors, ZERO, False, "")).known_fall(free)
    return None if known.fall.is_infinite else upper(known.fall.value)  # a curve's may be irrational


def _logit(case: Case) -> Real:
    offset = case.model.logit_offset
    assert offset is not None
    return (case.scores[0] + offset) * (1 if case.winner else -1)


def _logistic(logit: Rational) -> tuple[Rational, Rational]:
    """Return bounds of `1 / (1 + e^-logit)`."""
    low, high = _exponential(-logit)
    return (ZERO if high is None else 1 / (1 + high)), 1 / (1 + low)


def _softmax(leads: Sequence[Rational]) -> Extent:
    """Return bounds of a probability from how far its score leads each of the others."""
    each = [_exponential(-lead) for lead in leads]
    least = 1 + sum((low for low, _ in each), ZERO)
    highs = [high for _, high in each if high is not None]
    low = 1 / (1 + sum(highs, ZERO)) if len(highs) == len(each) else ZERO
    return Extent(low, 1 / least)


def _exponential(power: Rational) -> tuple[Rational, Rational | None]:
    """Return bounds of `e^power`, short ones where it is extreme; None where it is beyond all use."""
    if power < -_LARGEST:
        return ZERO, exp_bounds(-_LARGEST * ONE, _BITS)[1]
    if power > _LARGEST:
        return exp_bounds(_LARGEST * ONE, _BITS)[0], None
    return exp_bounds(power, _BITS)
