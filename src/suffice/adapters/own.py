"""Estimators of suffice's own: they hand over their exact model themselves."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.adapters.cells import class_places, table_maker
from suffice.adapters.draft import Draft, Options
from suffice.model.additive import AdditiveModel
from suffice.numbers.values import MISSING


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted estimator with `to_additive()`."""
    # All values that the estimator takes; what it learned of its columns means nothing behind a scaler.
    can_tell = "domains" in signature(obj.to_additive).parameters
    model: AdditiveModel = obj.to_additive("model") if can_tell else obj.to_additive()
    source = f"the {type(obj).__name__}"
    if not hasattr(obj, "predict"):
        return Draft(model, source)
    named = getattr(obj, "feature_names_in_", None)
    table = table_maker(named, len(model.names), range(len(model.names)), [{MISSING: None}] * len(model.names))

    def scores(rows: Any) -> NDArray[Any]:
        return np.asarray((obj.predict if model.task == "regression" else obj.decision_function)(table(rows)))

    if model.task == "regression":
        return Draft(model, source, scores, table=table)
    return Draft(
        model,
        source,
        scores,
        chances=lambda rows: np.asarray(obj.predict_proba(table(rows))),
        answers=lambda rows: class_places(obj.predict(table(rows)), model.classes),
        table=table,
    )
