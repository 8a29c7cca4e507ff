"""optbinning's Scorecard: bins of each variable, the weight of evidence of a bin, and a linear model over these.

What it decides, and with which probability, is that of its linear model. Asked for as `task="regression"`, its points
are read instead: the score that its table adds up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.adapters.behind import put_behind
from suffice.adapters.cells import class_places
from suffice.adapters.column import Raw
from suffice.adapters.dispatch import read
from suffice.adapters.draft import Draft, Options, name_features
from suffice.adapters.named_transformers import binning_process, made_by
from suffice.adapters.parts import Part, new_model
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.numbers.exact import rational
from suffice.shapes import Table


def convert(obj: Any, options: Options) -> Draft:
    """Return the draft of a fitted scorecard."""
    source = f"the {type(obj).__name__}"
    if type(obj).__name__ != "Scorecard":
        raise AdapterError(
            f"{source} of optbinning predicts nothing by itself; give a Scorecard, or a pipeline of a BinningProcess "
            "and a linear model"
        )
    if not getattr(obj, "_is_fitted", False):
        raise AdapterError(f"{source} is not fitted; fit it first")
    process = obj.binning_process_
    names = [str(name) for name in process.variable_names]
    columns = [Raw(k) for k in range(len(names))]
    if options.task == "regression":
        metrics: dict[str, Any] = {"metric": "indices", "metric_special": "empirical", "metric_missing": "empirical"}
        inner = _points(obj, source)
    else:
        metrics = {"metric": None, "metric_special": obj._metric_special, "metric_missing": obj._metric_missing}
        inner = read(obj.estimator_, Options())
    made = made_by(binning_process(process, **metrics), columns, source)
    draft = put_behind(inner, made, names, len(names), lambda table: process.transform(table, **metrics), source)
    table = draft.table
    assert table is not None
    if options.task == "regression":
        return Draft(
            draft.model, source, draft.live, answers=lambda rows: np.asarray(obj.score(table(rows))), table=table
        )
    classes = list(draft.model.classes)
    chances = None if inner.chances is None else lambda rows: np.asarray(obj.predict_proba(table(rows)))
    answers = (
        (lambda rows: class_places(obj.predict(table(rows)), classes))
        if classes
        else lambda rows: np.asarray(obj.predict(table(rows)))
    )
    return Draft(draft.model, source, draft.live, draft.link, chances=chances, answers=answers, table=table)


def _points(obj: Any, source: str) -> Draft:
    """Return the points of each bin as a model over the numbers of the bins."""
    card = obj._df_scorecard
    variables = [str(name) for name in obj.binning_process_.get_support(names=True)]
    parts = []
    for variable in variables:
        points = [float(value) for value in card[card.Variable == variable].Points]
        entries = {float(k): [rational(value)] for k, value in enumerate(points)}
        parts.append(Part(Table(entries).compile(), Domain.categories(*entries)))  # type: ignore[arg-type]
    features = name_features(variables, len(variables), None)
    model = new_model(parts, [rational(float(obj.intercept_))], "regression", features, None)
    tables = [[float(value) for value in card[card.Variable == variable].Points] for variable in variables]

    def live(rows: Any) -> Any:
        places = np.asarray(rows, dtype=np.int64)
        return float(obj.intercept_) + sum(np.array(tables[k])[places[:, k]] for k in range(len(tables)))

    return Draft(model, source, live)
