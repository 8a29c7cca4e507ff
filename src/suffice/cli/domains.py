"""What columns can be, on the command line: options of `fit` and `convert`, and `suffice domains`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from suffice.adapters import from_model
from suffice.adapters.draft import with_facts
from suffice.adapters.files import load_any
from suffice.answers.documents import domain_document, to_text
from suffice.cli.options import AsJson, ModelPath, Quiet, file_facts
from suffice.cli.tables import table_at
from suffice.errors import ModelFileError
from suffice.model.additive import AdditiveModel
from suffice.model.stated import read_domains_file, said_in_options, stated_domains
from suffice.present.terminal import new_console, show_domains, tell

Integers = Annotated[
    list[str] | None,
    typer.Option("--integer", metavar="COLUMN", help="Column that is always whole; may be repeated."),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range", metavar="COLUMN=LOW:HIGH", help="What a column can be; an end may be left out. May be repeated."
    ),
]
DomainsFile = Annotated[
    Path | None, typer.Option("--domains", metavar="FILE", help="What columns can be, as TOML: age = '18:99'.")
]


def with_stated(
    model: AdditiveModel, integers: Sequence[str] | None, ranges: Sequence[str] | None, file: Path | None
) -> AdditiveModel:
    """Return a model whose features can be what the options and the file say."""
    said = (read_domains_file(file) if file is not None else {}) | said_in_options(integers, ranges)
    return with_facts(model, stated_domains(model, said), {})


def domains_command(
    model: ModelPath,
    learn: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Rows to learn from what columns can be, and how they vary.")
    ] = None,
    integers: Integers = None,
    ranges: Ranges = None,
    file: DomainsFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write, with these domains.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show what the columns of a model can be; learn it from a table, or say it, and write a new model file."""
    if output is not None and output.exists() and any(p and p.exists() and p.samefile(output) for p in (model, learn)):
        raise ModelFileError(output, "is an input of this command and is not overwritten; choose another output")
    found = load_any(model)
    if learn is not None:
        table = table_at(learn)
        for name in found.names:
            table.place(name)
        rows = [{name: table.row(k)[name] for name in found.names} for k in range(len(table.rows))]
        found = from_model(found, rows, domains="reference")
    found = with_stated(found, integers, ranges, file)
    if output is not None:
        found.save(output)
    if as_json:
        document = {
            "model": file_facts(output or model),
            "domains": {n: domain_document(d) for n, d in zip(found.names, found.domains, strict=True)},
        }
        typer.echo(to_text(document))
    elif not quiet:
        show_domains(new_console(), found)
        if output is not None:
            tell(f"Wrote {output}.")
