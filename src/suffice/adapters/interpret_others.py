"""InterpretML's linear models; its trees and rule lists are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.adapters.cells import class_places, float_table
from suffice.adapters.dispatch import read
from suffice.adapters.draft import Draft, Options, part
from suffice.errors import AdapterError


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted model."""
    source = f"the {type(obj).__name__} of interpret"
    if not hasattr(obj, "linear_class"):
        raise AdapterError(
            f"{source} decides by rules over several columns; use ExplainableBoostingClassifier or -Regressor instead"
        )
    inner = part(obj, "sk_model_", source)
    kinds = [str(kind) for kind in part(obj, "feature_types_in_", source)]
    names = [str(name) for name in obj.feature_names_in_]
    others = [name for name, kind in zip(names, kinds, strict=True) if kind != "continuous"]
    if others:
        raise AdapterError(
            f"{source} numbers the categories of {others[0]!r} by itself; use a pipeline of OneHotEncoder and "
            f"scikit-learn's {type(obj).__name__}"
        )
    draft = read(inner, Options(options.features or names, None, None, options.classes))
    # The outer model is asked, as users do: it checks and converts the table itself.
    if draft.model.task == "regression":
        return Draft(draft.model, source, draft.live, draft.link, answers=lambda rows: obj.predict(float_table(rows)))
    return Draft(
        draft.model,
        source,
        draft.live,
        chances=None if draft.chances is None else lambda rows: np.asarray(obj.predict_proba(float_table(rows))),
        answers=lambda rows: class_places(obj.predict(float_table(rows)), obj.classes_),
        table=float_table,
    )
