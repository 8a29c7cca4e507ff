"""`suffice report`: decisions in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from suffice import __version__
from suffice.answers.words import region
from suffice.cli.options import (
    CacheFolder,
    ModelPath,
    TablePath,
    check_is_other_file,
    file_facts,
    parameters_of,
    with_question,
    write_file,
)
from suffice.cli.questions import Asked, certificate_of
from suffice.errors import ModelFileError
from suffice.model.compiled import Compiled
from suffice.present.terminal import tell
from suffice.search.explain import explain

_MOST_ROWS = 1_000


def _report(
    model: ModelPath,
    table: TablePath,
    rows: Annotated[
        str, typer.Option(metavar="ROWS", help="Rows to report on, counted from 0: 3, or 0-9,12.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")],
    given: dict[str, Any],
    title: Annotated[str, typer.Option(help="Headline of the report.")] = "Explained decisions",
    shapes: Annotated[int, typer.Option(min=0, max=60, help="Shapes to draw for each decision.")] = 6,
    certificates: Annotated[bool, typer.Option(help="Attach the certificates.")] = True,
    cache: CacheFolder = None,
) -> None:
    """Write a report on decisions: one HTML file with pictures, proofs and certificates."""
    from suffice.present.report import Decision, report

    asked = Asked.read(model, table, _rows(rows), given, cache=cache)
    check_is_other_file(output, model=model, table=table)
    answers = asked.answers(lambda cells: asked.explainer.explain(cells, asked.question))
    decisions = [
        Decision(f"Row {k}", why, certificate_of(why, model).text if certificates else None) for k, why in answers
    ]
    additive = asked.explainer.model
    facts = {
        **_model_facts(model, asked.explainer.compiled),
        "Task": f"{additive.task}, {len(additive.features)} features",
        "Table": table.name,
        "Region": region(asked.question, additive),
        "Made by": f"suffice {__version__}",
    }
    text = report(decisions, facts, title=title, shapes=shapes)
    write_file(output, text)
    tell(f"{output}: {len(decisions)} decision{'s' if len(decisions) > 1 else ''}, {len(text.encode()):,} bytes")


report_command = with_question(
    explain, _report, [one for one in parameters_of(_report) if one.name != "given"], _report.__doc__
)


def _model_facts(path: Path, compiled: Compiled) -> dict[str, str]:
    """Return which model the decisions are of: the file's hash only if the file holds that very model."""
    file = file_facts(path)
    known = {"Model": f"{path.name}, {file['bytes']:,} bytes"}
    try:
        return known | {"SHA-256": compiled.file_hash(path)}
    except ModelFileError:  # of another package
        converted = f"{compiled.file_hash()}, of the model file that `suffice convert` makes of it"
        return known | {"SHA-256 of this file": file["sha256"], "Explained and proven": f"SHA-256 {converted}"}


def _rows(text: str) -> list[int]:
    """Return the rows that a list of numbers and ranges names, each once."""
    found: list[int] = []
    for part in text.split(","):
        first, sign, last = part.strip().partition("-")
        if not first.isdecimal() or (sign and not last.isdecimal()) or (sign and int(first) > int(last)):
            raise typer.BadParameter(f"{part.strip()!r} is neither a row nor a range such as 0-9", param_hint="--rows")
        if int(last or first) - int(first) >= _MOST_ROWS:
            raise typer.BadParameter(f"a report can have at most {_MOST_ROWS} rows", param_hint="--rows")
        found += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(found))
