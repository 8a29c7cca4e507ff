"""What other models are put into: peeled off from outside in, whatever model is inside.

Every wrapper is one function from what is inside, read by `dispatch.read`, to a draft of the whole. The outermost
object is then asked for its own probabilities and predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.behind import put_behind
from suffice.adapters.cells import class_places, plain_classes
from suffice.adapters.column import Columns, Raw, Unused
from suffice.adapters.decisions import calibrated, fixed_threshold, tuned_threshold
from suffice.adapters.dispatch import read, wrapper_of
from suffice.adapters.draft import Draft, Live, Options, name_features, renamed
from suffice.adapters.ensembles import Inside, bagging_regressor, one_vs_rest, transformed_target, voting_regressor
from suffice.adapters.transformers import REFUSED, makes_sparse, transform
from suffice.errors import AdapterError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain

# Ensembles whose parts do not add up, and why.
_REFUSED: Mapping[str, str] = {
    "VotingClassifier": "averages probabilities, or counts votes, of several models, which is no function of one sum; "
    "use one of the models, or VotingRegressor for numbers",
    "BaggingClassifier": "averages the probabilities of several models, which is no function of one sum; use one "
    "model, or an EBM, which averages scores (outer_bags=)",
    "StackingClassifier": "gives the predictions of several models to another one; use one model",
    "StackingRegressor": "gives the predictions of several models to another one; use VotingRegressor, a weighted mean",
    "OneVsOneClassifier": "lets its classes vote in pairs, so no score decides; use OneVsRestClassifier",
}


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a wrapped model."""
    draft = _peel(obj, options.rows)
    model = draft.model
    own = getattr(obj, "classes_", None)  # some wrappers number the classes of the model inside
    classes = None if model.task == "regression" else plain_classes(model.classes if own is None else own)
    answered = replace(draft, chances=_chances(obj, draft), answers=_answers(obj, draft, classes))
    names = _names(obj, model)
    features = name_features(names, len(names), options.features)
    named = [
        _renamed(one, own, domain) for one, own, domain in zip(features, model.features, model.domains, strict=True)
    ]
    known = options.classes or classes
    return replace(answered, model=renamed(model, named, known))


def _renamed(given: Feature, own: Feature, domain: Domain) -> Feature:
    """Return a feature by the name that is given; the scaling is the model's own, unless another one is given."""
    scaled = own if given.center == 0 and given.scale == 1 else given
    deviation = own.deviation if given.deviation is None else given.deviation
    return Feature(given.name, given.domain or domain, scaled.center, scaled.scale, deviation)


def _names(obj: Any, model: AdditiveModel) -> tuple[str, ...]:
    """Return the names of features: those that the wrapper knows where the model inside has none."""
    named = getattr(obj, "feature_names_in_", ())
    is_numbered = model.names == tuple(f"x{k}" for k in range(len(model.names)))
    return tuple(map(str, named)) if is_numbered and len(named) == len(model.names) else model.names


def _inside(obj: Any, rows: Any) -> Draft:
    return read(obj, Options(rows=rows))


def _peel(obj: Any, rows: Any) -> Draft:
    kind = wrapper_of(obj)
    assert kind is not None
    if kind in _REFUSED:
        raise AdapterError(f"the {type(obj).__name__} {_REFUSED[kind]}")
    return _WRAPPERS[kind](obj, Inside(_inside, rows))


def _chances(obj: Any, draft: Draft) -> Live | None:
    if draft.chances is None or draft.table is None or not hasattr(obj, "predict_proba"):
        return None
    table = draft.table
    return lambda rows: np.asarray(obj.predict_proba(table(rows)))


def _answers(obj: Any, draft: Draft, classes: list[Any] | None) -> Live | None:
    table = draft.table
    if table is None:
        return None
    if classes is not None:
        return lambda rows: class_places(obj.predict(table(rows)), classes)
    if draft.curve is not None and draft.live is not None:
        return _on_curve(obj, draft.live, table, draft.curve)
    return lambda rows: np.asarray(obj.predict(table(rows)))


def _on_curve(obj: Any, live: Live, table: Callable[[Any], Any], curve: Callable[[Any], Any]) -> Live:
    """Return predictions on the scale of the score: the score itself if the curve takes it to what is predicted."""

    def answers(rows: Any) -> NDArray[Any]:
        scores, whole = np.ravel(live(rows)), np.ravel(obj.predict(table(rows)))
        with np.errstate(all="ignore"):
            is_same = np.isclose(np.asarray(curve(scores)), whole, rtol=1e-12, atol=0, equal_nan=True)
        if not is_same.all():
            row = int(np.argmin(is_same))
            raise AdapterError(
                f"the {type(obj).__name__} predicts {whole[row]:.6g} where the score {scores[row]:.6g} alone gives "
                f"{float(np.ravel(curve(scores[row]))[0]):.6g}: it has a predict of its own; convert the model inside"
            )
        return scores

    return answers


def _one_inside(name: str, what: str) -> Callable[[Any, Inside], Draft]:
    """Return the reader of a wrapper that predicts as one model inside does."""

    def peel(obj: Any, inside: Inside) -> Draft:
        inner = getattr(obj, name, None)
        if inner is None:
            raise AdapterError(f"the {type(obj).__name__} has no {name}: {what}")
        return replace(inside(inner), source=f"the {type(obj).__name__}")

    return peel


def _fitted(peel: Callable[[Any, Inside], Draft], attribute: str) -> Callable[[Any, Inside], Draft]:
    """Return a reader that first sees whether its wrapper is fitted."""

    def checked(obj: Any, inside: Inside) -> Draft:
        if not hasattr(obj, attribute):
            raise AdapterError(f"the {type(obj).__name__} is not fitted; fit it first")
        return peel(obj, inside)

    return checked


# --- pipelines --------------------------------------------------------------------------------------------------------


def _pipeline(obj: Any, inside: Inside) -> Draft:
    source, steps = f"the {type(obj).__name__}", [step for _, step in obj.steps]
    names, count = _given(obj, steps[0])
    if count is None:
        for step in steps:
            if type(step).__name__ in REFUSED:
                raise AdapterError(f"the transformer {type(step).__name__} {REFUSED[type(step).__name__]}")
        raise AdapterError(f"{source} is not fitted; fit it first")
    columns: Columns = [Raw(k) for k in range(count)]
    is_sparse = False
    for step in steps[:-1]:
        columns = transform(step, columns)
        is_sparse = makes_sparse(step, is_sparse)
    final = steps[-1]
    if final is None or not hasattr(final, "predict"):
        raise AdapterError(f"{source} ends with a {type(final).__name__}, which predicts nothing; add a model")
    # XGBoost takes what a sparse table leaves out for missing, not for 0.
    has_gaps = is_sparse and any(kind.__module__.startswith("xgboost") for kind in type(final).__mro__)
    going = [step for step in steps[:-1] if hasattr(step, "transform")]  # "passthrough" and samplers do nothing
    prepare = _through(going)
    inner = inside.after(prepare)(final)
    return put_behind(inner, columns, names, count, prepare, source, has_gaps=has_gaps)


def _given(obj: Any, first: Any) -> tuple[Sequence[str] | None, int | None]:
    """Return the names and the number of the columns that a pipeline is given; neither if it is not fitted."""
    if hasattr(first, "variable_names"):  # optbinning's BinningProcess is told them
        return [str(name) for name in first.variable_names], len(first.variable_names)
    count = getattr(obj, "n_features_in_", None)
    names = getattr(obj, "feature_names_in_", getattr(first, "feature_names_in_", None))
    return None if names is None else list(names), None if count is None else int(count)


def _through(steps: Sequence[Any]) -> Callable[[Any], Any]:
    def prepare(table: Any) -> Any:
        for step in steps:
            table = step.transform(table)
        return table

    return prepare


def _chosen(obj: Any, inside: Inside) -> Draft:
    """Return the draft of a model that first leaves columns out (RFE)."""
    kept = obj.get_support().tolist()
    columns = [Raw(k) if is_kept else Unused(k, Raw(k)) for k, is_kept in enumerate(kept)]
    names = getattr(obj, "feature_names_in_", None)
    inner = inside.after(obj.transform)(obj.estimator_)
    return put_behind(inner, columns, names, len(kept), obj.transform, f"the {type(obj).__name__}")


_WRAPPERS: Mapping[str, Callable[[Any, Inside], Draft]] = {
    "Pipeline": _pipeline,
    "RFE": _fitted(_chosen, "estimator_"),
    "BaseSearchCV": _one_inside(
        "best_estimator_", "it is not fitted, or was told not to keep its best model (refit=False)"
    ),
    "FrozenEstimator": _one_inside("estimator", "it is empty"),
    "SelfTrainingClassifier": _one_inside("estimator_", "it is not fitted; fit it first"),
    "RANSACRegressor": _one_inside("estimator_", "it is not fitted; fit it first"),
    "FixedThresholdClassifier": fixed_threshold,
    "TunedThresholdClassifierCV": _fitted(tuned_threshold, "best_threshold_"),
    "CalibratedClassifierCV": _fitted(calibrated, "calibrated_classifiers_"),
    "OneVsRestClassifier": _fitted(one_vs_rest, "estimators_"),
    "VotingRegressor": _fitted(voting_regressor, "estimators_"),
    "BaggingRegressor": _fitted(bagging_regressor, "estimators_"),
    "TransformedTargetRegressor": _fitted(transformed_target, "regressor_"),
}
