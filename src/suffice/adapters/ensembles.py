"""Wrappers with several models inside, and one that changes the target of its model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import plain_classes, table_maker
from suffice.adapters.decisions import restored
from suffice.adapters.draft import Draft
from suffice.adapters.parts import Part, new_model, parts_of, sum_parts, with_parts
from suffice.errors import AdapterError
from suffice.model.additive import Feature
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.shapes import Pieces

# What a target's inverse function makes of a score, where that is not a line: the score is explained as it is.
_CURVES = ("exp", "expm1", "exp2", "sinh", "square")


@dataclass(frozen=True, slots=True)
class Inside:
    """Reads what is inside a wrapper, with reference rows as that is given them; None where there are none."""

    read: Callable[[Any, Any], Draft]
    rows: Any = None

    def __call__(self, obj: Any) -> Draft:
        """Return the draft of what is inside."""
        return self.read(obj, self.rows)

    def after(self, prepare: Callable[[Any], Any]) -> Inside:
        """Return the reader of what comes after transformers; rows that they do not take are left out."""
        if self.rows is None:
            return self
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about categories that were never seen
                return replace(self, rows=prepare(self.rows))
        except Exception:  # whatever a package raises; without rows, what needs them says so
            return replace(self, rows=None)


def one_vs_rest(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a OneVsRestClassifier: a score for each class, the largest wins."""
    source = f"the {type(obj).__name__}"
    if obj.multilabel_:
        raise AdapterError(f"{source} decides several labels at once (multilabel); fit one model for each")
    drafts = [_binary(inside(one), source) for one in obj.estimators_]
    if len(drafts) == 1:  # two classes: above 0, or a probability above one half
        return replace(restored(drafts[0], source, "negative"), chances=drafts[0].chances)
    by_class = [parts_of(draft) for draft in drafts]
    stacked = []
    for parts in zip(*by_class, strict=True):
        if len({part.domain for part in parts}) != 1:
            raise AdapterError(f"{source} has models that take different values of a column; that is not read here")
        stacked.append(Part(tuple(part.pieces[0] for part in parts), parts[0].domain))
    intercept = [draft.model.intercept[0] + draft.cut for draft in drafts]
    classes = plain_classes(obj.classes_)
    has_scores = all(hasattr(one, "decision_function") for one in obj.estimators_)
    return replace(
        drafts[0],
        model=with_parts(
            drafts[0].model, stacked, intercept, task="multiclass", classes=classes, ties="negative", logit_offset=0
        ),
        source=source,
        live=_stacked(drafts),
        chances=None,
        saturates=None if has_scores else "above",
        precision=max(draft.precision for draft in drafts),
        cut=ZERO,
        response=None,
    )


def _binary(draft: Draft, source: str) -> Draft:
    if draft.model.task != "binary" or draft.response is not None:
        raise AdapterError(f"{source} is read around models with one score each; {draft.source} is none")
    return draft


def _stacked(drafts: Sequence[Draft]) -> Callable[[Any], NDArray[Any]] | None:
    lives = [draft.live for draft in drafts if draft.live is not None]
    cuts = [nearest_float(draft.cut) for draft in drafts]
    if len(lives) < len(drafts):
        return None
    return lambda rows: np.stack([np.ravel(live(rows)) + cut for live, cut in zip(lives, cuts, strict=True)], axis=1)


def voting_regressor(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a VotingRegressor: the weighted mean of models over the same columns."""
    source = f"the {type(obj).__name__}"
    given = obj._weights_not_none
    weights = [ONE] * len(obj.estimators_) if given is None else [rational(float(weight)) for weight in given]
    drafts = [_numbers(inside(one), source) for one in obj.estimators_]
    return _mean(drafts, weights, source, None)


def bagging_regressor(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a BaggingRegressor: the mean of models over some of the columns each."""
    source = f"the {type(obj).__name__}"
    each = replace(inside, rows=None)  # a model is given some of the columns, without their names
    drafts = [_numbers(each(one), source) for one in obj.estimators_]
    return _mean(drafts, [ONE] * len(drafts), source, obj)


def _numbers(draft: Draft, source: str) -> Draft:
    is_sum = draft.link == "score" and draft.predicts in (None, "score") and draft.curve is None
    if draft.model.task != "regression" or not is_sum:
        raise AdapterError(f"{source} is read around regressors that predict a sum; {draft.source} does not")
    return draft


def _mean(drafts: Sequence[Draft], weights: Sequence[Rational], source: str, bag: Any) -> Draft:
    shares = [weight / sum(weights, ZERO) for weight in weights]
    count = len(drafts[0].model.names) if bag is None else int(bag.n_features_in_)
    chosen = [list(range(count)) if bag is None else [int(k) for k in some] for some in _features(bag, drafts)]
    parts: list[list[tuple[Rational, Part]]] = [[] for _ in range(count)]
    for draft, share, places in zip(drafts, shares, chosen, strict=True):
        for part, k in zip(parts_of(draft), places, strict=True):
            parts[k].append((share, part))
    nothing = Part((Pieces.affine(ZERO, ZERO),))
    summed = [sum_parts(some) if some else nothing for some in parts]
    intercept = [sum((share * draft.model.intercept[0] for draft, share in zip(drafts, shares, strict=True)), ZERO)]
    named = None if bag is None else getattr(bag, "feature_names_in_", None)
    names = list(drafts[0].model.names) if bag is None else named if named is not None else _numbered(count)
    model = new_model(summed, intercept, "regression", [Feature(str(name)) for name in names], None)
    lives, floats = [draft.live for draft in drafts], [nearest_float(share) for share in shares]
    table = drafts[0].table if bag is None else table_maker(named, count, range(count), [{}] * count)

    def live(rows: Any) -> NDArray[Any]:
        asked = ([[row[k] for k in places] for row in rows] for places in chosen)
        found = [np.ravel(one(some)) * share for one, some, share in zip(lives, asked, floats, strict=True) if one]
        return np.asarray(sum(found))

    is_live = all(one is not None for one in lives)
    precision = max(draft.precision for draft in drafts)
    return Draft(model, source, live if is_live else None, precision=precision, table=table)


def _features(bag: Any, drafts: Sequence[Draft]) -> Sequence[Any]:
    return [None] * len(drafts) if bag is None else bag.estimators_features_


def _numbered(count: int) -> list[str]:
    return [f"x{k}" for k in range(count)]


# --- targets ----------------------------------------------------------------------------------------------------------


def transformed_target(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a TransformedTargetRegressor.

    A scaler of the target is a line, so that the model predicts in the target's own units. A curve such as the
    exponential is left out: then the score is what the regressor inside predicts.
    """
    source = f"the {type(obj).__name__}"
    inner = _numbers(inside(obj.regressor_), source)
    step = obj.transformer_
    line = _line(step)
    if line is None:
        inverse = getattr(getattr(step, "inverse_func", None), "__name__", "")
        if type(step).__name__ != "FunctionTransformer" or inverse not in _CURVES:
            raise AdapterError(
                f"{source} turns the target by {type(step).__name__}({inverse}); scalers are read, and the inverse "
                f"functions {', '.join(_CURVES)} of NumPy"
            )
        return replace(inner, source=source, curve=step.inverse_func)
    factor, offset = line
    parts = [part.times([factor]) for part in parts_of(inner)]
    model = with_parts(inner.model, parts, [factor * inner.model.intercept[0] + offset])
    a, b, live = nearest_float(factor), nearest_float(offset), inner.live
    return replace(inner, model=model, source=source, live=None if live is None else lambda rows: live(rows) * a + b)


def _line(step: Any) -> tuple[Rational, Rational] | None:
    """Return the factor and the offset of a scaler's way back, None if it is no scaler."""
    name = type(step).__name__
    if name == "FunctionTransformer" and step.inverse_func is None:
        return ONE, ZERO
    if name == "StandardScaler":
        scale, offset = (step.scale_, step.mean_)
    elif name == "RobustScaler":
        scale, offset = (step.scale_, step.center_)
    elif name == "MaxAbsScaler":
        scale, offset = (step.scale_, None)
    elif name == "MinMaxScaler":
        factor = 1 / rational(float(step.scale_[0]))
        return factor, -rational(float(step.min_[0])) * factor
    else:
        return None
    factor = ONE if scale is None else rational(float(scale[0]))
    return factor, ZERO if offset is None else rational(float(offset[0]))
