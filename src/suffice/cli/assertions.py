"""The command that runs a file of assertions against a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from suffice.adapters.files import load_any as load_model
from suffice.answers.documents import to_text
from suffice.cli.options import AsJson, ModelPath, file_facts
from suffice.explainer import Explainer
from suffice.present.terminal import new_console, show_facts
from suffice.tables.reading import read_table

NOT_PROVEN = 4


def assertions_command(
    model: ModelPath,
    assertions: Annotated[Path, typer.Argument(help="A file of assertions, in TOML.", show_default=False)],
    data: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Table whose rows are counted: .csv, .csv.gz or .parquet.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test a model against a file of assertions. Exit code: 0 all proven, 4 some are not, 1 a file cannot be read."""
    from suffice.decisions.assertions import read_assertions, run_assertions

    asserted = read_assertions(assertions)
    explainer = Explainer(load_model(model))
    report = run_assertions(explainer, asserted, None if data is None else read_table(data))
    if as_json:
        typer.echo(to_text({"model": file_facts(model), "assertions_file": str(assertions), **report.document()}))
    else:
        show_facts(new_console(), report.facts())
    if not report:
        raise typer.Exit(NOT_PROVEN)
