"""`suffice evaluate`: how well a model predicts the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from suffice.adapters.files import load_any
from suffice.answers.documents import to_text
from suffice.cli.options import AsJson, ModelPath, TablePath, file_facts
from suffice.cli.tables import table_at
from suffice.errors import DataError, RowError
from suffice.explainer import Explainer
from suffice.numbers.exact import nearest_float, rational
from suffice.present.terminal import tell
from suffice.question.documents import Json, read_class
from suffice.tables.quality import (
    Score,
    classification_scores,
    probability_scores,
    regression_scores,
    reliability,
)


def evaluate_command(
    model: ModelPath,
    table: TablePath,
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the true answers.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Say how well a model predicts the rows of a table, beside the simplest guess. Use rows it was not trained on."""
    explainer, data = Explainer(load_any(model)), table_at(table)
    data.check_columns(explainer.model.names)
    truth = data.column(target)
    kept: list[int] = []
    scores: list[tuple[Any, ...]] = []
    problem = ""
    for k in range(len(data.rows)):
        try:
            row = data.row(k)
            scores.append((explainer.predict({n: row[n] for n in explainer.model.names}), row))
            kept.append(k)
        except RowError as error:
            problem = problem or f"row {k}: {error}"
    if not kept:
        raise DataError(f"{data.path}: the model can read none of its rows; {problem or 'there are none'}")
    found = _scores(explainer, [truth[k] for k in kept], scores)
    curve = _reliability(explainer, [truth[k] for k in kept], scores)
    if curve is not None:
        found += probability_scores(*curve)
    refused = len(data.rows) - len(kept)
    if as_json:
        document: Json = {"model": file_facts(model), "rows": len(kept), "refused": refused}
        document["scores"] = [{"name": one.name, "model": one.model, "guess": one.guess} for one in found]
        document["reliability"] = None if curve is None else [one._asdict() for one in reliability(*curve)]
        typer.echo(to_text(document))
        return
    tell(f"Rows: {len(kept):,}" + (f"; {refused:,} cannot be read ({problem})" if refused else ""))
    for one in found:
        tell(f"{one.name}: {one.model:.4g} (the simplest guess {one.guess:.4g})")
    if curve is not None:
        tell(f"Probability of {explainer.model.classes[1]}, in groups of rows with like predictions:")
        for group in reliability(*curve):
            tell(f"  predicted {group.predicted:.3f}, happened {group.happened:.3f}, rows {group.rows:,}")


def _scores(explainer: Explainer, truth: Sequence[Any], found: Sequence[tuple[Any, ...]]) -> list[Score]:
    model = explainer.model
    if any(cell is None for cell in truth):
        raise DataError("the target is missing in some rows; leave these out")
    if model.task == "regression":
        try:
            numbers = [float(cell) for cell in truth]
        except (TypeError, ValueError):
            raise DataError("the target of a regression must hold numbers") from None
        return regression_scores(numbers, [nearest_float(rational(prediction)) for prediction, _ in found])
    named = [read_class(model, cell) for cell in truth]
    unknown = next((one for one in named if one not in model.classes), None)
    if unknown is not None:
        known = ", ".join(str(name) for name in model.classes[:8])
        raise DataError(f"the target is {unknown!r} in some row, which is not a class of the model ({known})")
    chances = None
    if model.task == "binary":  # what ranks rows is the score, whether or not it gives a probability
        chances = np.array([nearest_float(rational(_score(explainer, row))) for _, row in found])
    return classification_scores(named, [prediction for prediction, _ in found], chances, model.classes)


def _reliability(
    explainer: Explainer, truth: Sequence[Any], found: Sequence[tuple[Any, ...]]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Return the probability of the second of two classes, and whether it was that; None if the model has none."""
    model = explainer.model
    if model.task != "binary" or model.logit_offset is None:
        return None
    chances = [explainer.predict_proba({n: row[n] for n in model.names})[1] for _, row in found]
    return np.array(chances, dtype=float), np.array([read_class(model, cell) == model.classes[1] for cell in truth])


def _score(explainer: Explainer, row: dict[str, Any]) -> Any:
    return explainer.score({name: row[name] for name in explainer.model.names})
