"""`suffice convert`: a model of another package becomes a model file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from suffice.adapters import Imported, Options, convert
from suffice.adapters.dispatch import DOCUMENTS
from suffice.adapters.files import Found, read_file
from suffice.adapters.layout import LAYOUTS
from suffice.answers.documents import to_text
from suffice.cli.domains import DomainsFile, Integers, Orders, Ranges, with_stated
from suffice.cli.tables import table_at
from suffice.errors import AdapterError, DataError, ModelFileError, SufficeError
from suffice.present.terminal import tell

_SOURCE = (
    "EBM, XGBoost or CatBoost JSON, LightGBM text, a scorecard as JSON or CSV, PMML, ONNX, or a state_dict in "
    "safetensors."
)


def convert_command(
    source: Annotated[Path, typer.Argument(help=_SOURCE, show_default=False)],
    output: Annotated[Path, typer.Argument(help="Model file to write.", show_default=False)],
    reference: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Rows with the original's predictions, to check against.")
    ] = None,
    score: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of the reference that holds scores or probabilities.")
    ] = "score",
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="binary, multiclass or regression, where the file does not say.")
    ] = None,
    layout: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"How a state_dict is laid out: {', '.join(LAYOUTS)}.")
    ] = None,
    integers: Integers = None,
    ranges: Ranges = None,
    orders: Orders = None,
    domains: DomainsFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Convert a model of another package exactly, check it, and write a model file."""
    for given in (source, reference):
        if given is not None and given.exists() and output.exists() and output.samefile(given):
            raise ModelFileError(output, "is an input of this command and is not overwritten; choose another output")
    found = read_file(source)
    told = found.options
    names = None
    if reference is not None:
        names, rows = _reference(reference, score)
        found = found._replace(reference=rows)
    has_names = not _is_unnamed(found)
    features = told.features if told.features or has_names else names
    options = Options(features, None, task or told.task, told.classes, layout or told.layout)
    try:
        imported = convert(found.obj, found.reference, options)
    except SufficeError as error:
        raise ModelFileError(source, str(error)) from None
    cells = None if reference is None else table_at(reference).column
    imported = imported._replace(model=with_stated(imported.model, integers, ranges, orders, domains, cells))
    imported.model.save(output)
    _tell(imported, output, as_json=as_json)


def _is_unnamed(found: Found) -> bool:
    """Whether a format has no names for its columns: state_dicts and ONNX."""
    is_document = isinstance(found.obj, dict) and any(key in found.obj for key in DOCUMENTS)
    return not is_document and not isinstance(found.obj, str)


def _reference(path: Path, score: str) -> tuple[Sequence[str], tuple[list[dict[str, Any]], list[float]]]:
    table = table_at(path)
    cells = table.column(score)
    try:
        scores = [float(cell) for cell in cells]
    except (TypeError, ValueError):
        raise DataError(f"{path}: the column {score!r} must hold a score or a probability in every row") from None
    names = [name for name in table.columns if name != score]
    if not scores:
        raise AdapterError(f"{path}: the reference has no rows")
    return names, ([{name: table.row(k)[name] for name in names} for k in range(len(scores))], scores)


def _tell(imported: Imported, output: Path, *, as_json: bool) -> None:
    model, check = imported.model, imported.check
    if as_json:
        document = {
            "model": str(output),
            "source": imported.source,
            "task": model.task,
            "features": list(model.names),
            "checked_rows": check.rows,
            "largest_difference": check.error,
        }
        typer.echo(to_text(document))
        return
    tell(f"Wrote {output}: {model.task}, {len(model.names)} features, from {imported.source}.")
    if check.rows:
        tell(f"Checked on {check.rows} rows: largest difference {check.error:.1g} of the score's size.")
    else:
        tell("Not checked: give rows with the original's predictions, --reference TABLE --score COLUMN.")
