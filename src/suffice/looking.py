"""The commands that show results elsewhere than on the terminal: a report, and a page in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from suffice import __version__
from suffice.asking import (
    AtLeastOption,
    AtMostOption,
    BeatsOption,
    Free,
    Held,
    Keep,
    ModelPath,
    Moving,
    ProbabilityOption,
    Radii,
    TablePath,
    Unit,
    UnitOption,
    WithinOption,
    file_facts,
    read_asked,
    read_radius_options,
)
from suffice.errors import DataError

_MOST_ROWS = 1_000


def report_command(
    model: ModelPath,
    table: TablePath,
    rows: Annotated[
        str, typer.Option(metavar="ROWS", help="Rows to report on, counted from 0: 3, or 0-9,12.", show_default=False)
    ],
    radius: Radii,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="HTML file to write.")],
    unit: UnitOption = Unit.RAW,
    held: Held = None,
    within: WithinOption = None,
    at_least: AtLeastOption = None,
    at_most: AtMostOption = None,
    beats: BeatsOption = None,
    probability: ProbabilityOption = None,
    keep: Keep = None,
    free: Free = None,
    moving: Moving = None,
    title: Annotated[str, typer.Option(help="Headline of the report.")] = "Explained decisions",
    shapes: Annotated[int, typer.Option(min=0, max=60, help="Shapes to draw for each decision.")] = 6,
    certificates: Annotated[bool, typer.Option(help="Attach the certificates.")] = True,
) -> None:
    """Write a report on decisions: one HTML file with pictures, proofs and certificates in it."""
    from suffice.present.report import Decision, report

    asked = read_asked(model, table, _rows(rows), unit, held, within, at_least, at_most, beats, probability)
    for path in (model, table):
        if output.exists() and output.samefile(path):
            raise DataError(f"{output}: is the {'model' if path == model else 'table'} itself; give another name")
    radii = read_radius_options(radius, asked.model.names)
    wishes: dict[str, Any] = {"keep": keep or (), "free": free or (), "at_most": moving}
    answers = asked.answers(lambda explainer, cells: explainer.explain(cells, radii, **asked.options, **wishes))
    decisions = [Decision(f"Row {k}", why, why.certificate(model).text if certificates else None) for k, why in answers]
    file = file_facts(model)
    facts = {
        "Model": f"{model.name}, {file['bytes']:,} bytes",
        "SHA-256": file["sha256"],
        "Task": f"{asked.model.task}, {len(asked.model.features)} features",
        "Table": table.name,
        "Radius": f"{', '.join(radius)} ({_UNITS[unit]})",
        "Made by": f"suffice {__version__}",
    }
    text = report(decisions, facts, title=title, shapes=shapes)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DataError(f"{output}: cannot be written: {error.strerror}") from None
    typer.echo(f"{output}: {len(decisions)} decision{'s' if len(decisions) > 1 else ''}, {len(text.encode()):,} bytes")


_UNITS = {Unit.RAW: "the features' own units", Unit.STD: "standard deviations", Unit.MODEL: "the model's scaled units"}


def _rows(text: str) -> list[int]:
    """Return the rows that a list of numbers and ranges names, each once."""
    found: list[int] = []
    for part in text.split(","):
        first, sign, last = part.strip().partition("-")
        if not first.isdecimal() or (sign and not last.isdecimal()) or (sign and int(first) > int(last)):
            raise typer.BadParameter(f"{part.strip()!r} is neither a row nor a range such as 0-9", param_hint="--rows")
        if int(last or first) - int(first) >= _MOST_ROWS:
            raise typer.BadParameter(f"a report has {_MOST_ROWS} rows at most", param_hint="--rows")
        found += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(found))


def serve_command(
    model: ModelPath,
    data: Annotated[
        Path | None, typer.Option(help="A table to pick rows from: .csv, .csv.gz or .parquet.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; by default only this machine can reach it.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any free one.")] = 8000,
    max_bytes: Annotated[int, typer.Option(min=1_000, help="Largest body of a request.")] = 1_000_000,
    max_rows: Annotated[int, typer.Option(min=1, help="Most rows of one request.")] = 100,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Longest time for one request.")] = 10.0,
) -> None:
    """Open a page in the browser, and an HTTP API, to ask about a model's decisions."""
    from suffice.serve import Limits, serve

    serve(
        model,
        data,
        host=host,
        port=port,
        limits=Limits(max_bytes=max_bytes, max_rows=max_rows, max_seconds=max_seconds),
        announce=typer.echo,
    )
