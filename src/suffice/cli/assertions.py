"""The command that runs a file of assertions against a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from suffice.adapters.files import load_any as load_model
from suffice.answers.documents import to_text
from suffice.cli.options import (
    AsJson,
    CacheFolder,
    ModelPath,
    check_is_other_file,
    file_facts,
    warnings_told,
    write_file,
)
from suffice.cli.questions import certificate_of
from suffice.cli.tables import table_at
from suffice.errors import CertificateError, DataError
from suffice.explainer import Explainer
from suffice.layout.html import facts_html, page
from suffice.present.terminal import new_console, show_facts, tell

if TYPE_CHECKING:  # it loads the compiler of batches
    from suffice.decisions.assertions import TestReport

NOT_PROVEN = 4


def assertions_command(
    model: ModelPath,
    assertions: Annotated[Path, typer.Argument(help="A file of assertions, in TOML.", show_default=False)],
    data: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Table whose rows are counted: .csv, .csv.gz or .parquet.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as an HTML page, too.")] = None,
    certificates: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write the certificate of each verdict there, as NUMBER.json, from 1 on."),
    ] = None,
    as_json: AsJson = False,
    cache: CacheFolder = None,
) -> None:
    """Test a model against a file of assertions. Exit code: 0 all proven, 4 some are not, 1 a file cannot be read."""
    from suffice.decisions.assertions import read_assertions, run_assertions

    asserted = read_assertions(assertions)
    with warnings_told():
        explainer = Explainer(load_model(model), cache=cache)
    tested = run_assertions(explainer, asserted, None if data is None else table_at(data))
    if as_json:
        typer.echo(to_text({"model": file_facts(model), "assertions_file": str(assertions), **tested.document()}))
    else:
        show_facts(new_console(), tested.facts())
    if report is not None:
        check_is_other_file(report, model=model, assertions=assertions, table=data)
        write_file(report, page(f"{model.name}: {tested.summary}", facts_html(tested.facts(), most_rows=1000)))
    if certificates is not None:
        _save_certificates(certificates, tested, model)
    if not tested:
        raise typer.Exit(NOT_PROVEN)


def _save_certificates(folder: Path, tested: TestReport, model: Path) -> None:
    """Write what can be certified, and tell why the rest cannot."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from None
    for number, one in enumerate(tested.tested, 1):
        if one.finding is not None:
            try:
                certificate_of(one.finding, model).save(folder / f"{number}.json")
            except CertificateError as error:
                tell(f"No certificate of {one.name}: {error}", err=True)
