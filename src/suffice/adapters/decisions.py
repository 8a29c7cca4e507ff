"""Wrappers that change how a score of two classes decides: thresholds and calibrations.

A calibration by a sigmoid is affine in the score, so it is taken over whole. Any other increasing map only moves the
place where the decision changes. That place is a float, the first score whose own probability, computed as scikit-learn
does, reaches the threshold; it is taken from the score, so that the sign of what remains decides as `predict` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.draft import Draft
from suffice.adapters.floats import first_at_least
from suffice.adapters.parts import parts_of, with_parts
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel
from suffice.model.term import Term
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational

_FARTHEST = rational(2**1023)


def fixed_threshold(obj: Any, inside: Callable[[Any], Draft]) -> Draft:
    """Return the draft of a FixedThresholdClassifier."""
    estimator = getattr(obj, "estimator_", obj.estimator)
    method = _method(obj, estimator)
    told = obj.threshold
    threshold = (0.5 if method == "predict_proba" else 0.0) if told == "auto" else float(told)
    return _with_threshold(obj, inside(estimator), method, threshold, obj.pos_label)


def tuned_threshold(obj: Any, inside: Callable[[Any], Draft]) -> Draft:
    """Return the draft of a TunedThresholdClassifierCV."""
    scorer = obj._curve_scorer
    return _with_threshold(
        obj, inside(obj.estimator_), _method(obj, obj.estimator_), float(obj.best_threshold_), scorer._get_pos_label()
    )


def _method(obj: Any, estimator: Any) -> str:
    wanted = obj.response_method
    names = ("predict_proba", "decision_function") if wanted == "auto" else (wanted,)
    return next(name for name in names if hasattr(estimator, name))


def _with_threshold(obj: Any, inner: Draft, method: str, threshold: float, positive: Any) -> Draft:
    source = f"the {type(obj).__name__}"
    if inner.model.task != "binary":
        raise AdapterError(f"{source} decides between two classes, but the model inside has {inner.model.task} scores")
    classes = inner.model.classes
    is_first = positive is not None and positive == classes[0]
    response = response_of(inner, method, source)

    def is_second(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        values = response(scores)
        if is_first:
            return ~((1 - values if method == "predict_proba" else -values) >= threshold)
        return np.asarray(values >= threshold)

    ties: Literal["positive", "negative"] = "negative" if is_first else "positive"
    if inner.response in (None, clipped_logistic) and threshold == (0.5 if method == "predict_proba" else 0.0):
        return restored(inner, source, ties)
    return with_cut(inner, source, is_second)


def response_of(inner: Draft, method: str, source: str) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return how what a wrapper reads of the model inside it follows from the score, with its `cut` added back."""
    if method == "decision_function":
        multiple = nearest_float(inner.raw)
        return lambda scores: scores / multiple
    if inner.response is not None:
        return inner.response
    if inner.chances is None:
        raise AdapterError(
            f"{source} reads probabilities of {inner.source} that are not the logistic function of its score; use "
            "response_method='decision_function'"
        )
    return logistic


def asked_outside(rows: Any) -> NDArray[Any]:
    """Stand for probabilities that are logistic functions of scores; `wrappers` asks the outermost model for them."""
    raise AssertionError


def logistic(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the logistic function, as scipy computes it."""
    from scipy.special import expit

    return np.asarray(expit(scores))


def clipped_logistic(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the logistic function of scores that are first cut at -16 and 16, as APLR computes it."""
    return logistic(np.clip(scores, -16, 16))


def restored(inner: Draft, source: str, ties: Literal["positive", "negative"]) -> Draft:
    """Return a model that decides where its score, as it is without any threshold, is 0."""
    model = _shifted(inner.model, inner.cut, ties, inner.model.logit_offset)
    return _moved(inner, source, inner.cut, model=model, cut=ZERO)


def with_cut(
    inner: Draft, source: str, is_second: Callable[[NDArray[np.float64]], NDArray[np.bool_]], **facts: Any
) -> Draft:
    """Return a model that decides for its second class from the first score on at which `is_second` says so."""
    (cut,) = first_at_least(lambda scores: is_second(scores).astype(np.float64), np.ones(1))
    if abs(cut) >= _FARTHEST:
        which = inner.model.classes[0 if cut > 0 else 1]
        raise AdapterError(f"{source} decides for {which!r} whatever the score is, so there is nothing to explain")
    # A calibration other than a sigmoid makes probabilities that are no logistic function of the score.
    is_logistic = inner.response is None and "response" not in facts
    offset = inner.model.logit_offset if is_logistic else None
    model = _shifted(inner.model, inner.cut - cut, "positive", offset)
    chances = None if model.logit_offset is None else inner.chances
    return _moved(inner, source, inner.cut - cut, model=model, cut=cut, chances=chances, **facts)


def _shifted(
    model: AdditiveModel, by: Rational, ties: Literal["positive", "negative"], logit_offset: Rational | None
) -> AdditiveModel:
    """Return a model with another intercept, but the same probability; `logit_offset` is that of the model before."""
    offset = None if logit_offset is None else logit_offset - by
    intercept = [value + by for value in model.intercept]
    return AdditiveModel.of_terms(
        model.terms, intercept, model.task, model.features, model.classes or None, ties, offset
    )


def _moved(inner: Draft, source: str, by: Rational, **facts: Any) -> Draft:
    """Return a draft whose live scores are those of another, moved."""
    shift, live = nearest_float(by), inner.live
    return replace(inner, source=source, live=None if live is None else lambda rows: live(rows) + shift, **facts)


# --- calibration ------------------------------------------------------------------------------------------------------


def calibrated(obj: Any, inside: Callable[[Any], Draft]) -> Draft:
    """Return the draft of a CalibratedClassifierCV with one model inside."""
    source = f"the {type(obj).__name__}"
    several = obj.calibrated_classifiers_
    if len(several) != 1:
        raise AdapterError(
            f"{source} averages the probabilities of {len(several)} models, which is no function of one sum; fit it "
            "with ensemble=False, or around a fitted model: CalibratedClassifierCV(FrozenEstimator(model))"
        )
    (only,) = several
    inner = inside(only.estimator)
    method = "decision_function" if hasattr(only.estimator, "decision_function") else "predict_proba"
    if obj.method == "temperature" and method == "decision_function":
        beta = rational(float(only.calibrators[0].beta_)) / inner.raw
        return _rescaled(inner, source, [(2 * beta if inner.model.task == "binary" else beta, ZERO)])
    lines = [(float(one.a_), float(one.b_)) for one in only.calibrators if hasattr(one, "a_")]
    if obj.method == "sigmoid" and method == "decision_function":
        # probability = 1 / (1 + exp(a * score + b))
        exact = [(-rational(a) / inner.raw, -rational(b)) for a, b in lines]
        if inner.model.task == "binary":
            return _rescaled(inner, source, exact)
        draft = _rescaled(inner, source, exact)
        return replace(draft, chances=None, saturates="both")
    if inner.model.task != "binary" or obj.method == "temperature" or any(a >= 0 for a, _ in lines):
        raise AdapterError(
            f"{source} with method={obj.method!r} is read for two classes; for more use method='sigmoid' or "
            "'temperature' around a model with a decision_function"
        )
    before = response_of(inner, method, source)
    (calibrator,) = only.calibrators

    def response(scores: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(calibrator.predict(before(scores)))

    return with_cut(inner, source, lambda scores: response(scores) > 1.0 - response(scores), response=response)


def _rescaled(inner: Draft, source: str, lines: list[tuple[Rational, Rational]]) -> Draft:
    """Return a draft with an affine function of each score."""
    model = inner.model
    each = lines if len(lines) == len(model.intercept) else lines * len(model.intercept)
    factors_ = [factor for factor, _ in each]
    starts = [value + inner.cut for value in model.intercept]
    intercept = [factor * start + offset for start, (factor, offset) in zip(starts, each, strict=True)]
    live = inner.live
    factors, offsets = (np.array([nearest_float(line[k]) for line in each]) for k in (0, 1))
    cut = nearest_float(inner.cut)

    def asked(rows: Any) -> NDArray[Any]:
        assert live is not None
        scores = np.asarray(live(rows), dtype=np.float64)
        return np.asarray(scores.reshape(len(scores), -1) + cut) * factors + offsets

    # The largest probability wins, the first of equal ones.
    return replace(
        inner,
        model=_times(inner, factors_, intercept),
        source=source,
        live=None if live is None else asked,
        cut=ZERO,
        raw=ONE,
        chances=asked_outside,
        response=None,
    )


def _times(inner: Draft, factors: list[Rational], intercept: list[Rational]) -> AdditiveModel:
    """Return a model with each score multiplied by a factor of its own, and another intercept."""
    model = inner.model
    if len(set(factors)) > 1:
        parts = [part.times(factors) for part in parts_of(inner)]
        return with_parts(model, parts, intercept, ties="negative", logit_offset=ZERO)
    terms = [Term(term.features, term.shape * factors[0]) for term in model.terms]
    return AdditiveModel.of_terms(terms, intercept, model.task, model.features, model.classes or None, "negative")
