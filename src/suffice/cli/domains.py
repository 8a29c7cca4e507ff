"""What columns can be, on the command line: options of `fit` and `convert`, and `suffice domains`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from suffice.adapters import from_model
from suffice.adapters.draft import renamed
from suffice.adapters.files import load_any
from suffice.adapters.learned import deviation_of_ranks
from suffice.answers.documents import domain_document, to_text
from suffice.cli.options import AsJson, ModelPath, Quiet, file_facts
from suffice.cli.tables import table_at
from suffice.errors import ModelFileError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.stated import read_domains_file, said_in_options, stated_domains
from suffice.numbers.exact import Number
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
Orders = Annotated[
    list[str] | None,
    typer.Option(
        "--ordered",
        metavar="COLUMN=A<B<C",
        help="All categories of a column from the lowest to the highest, which move by rank. May be repeated.",
    ),
]
DomainsFile = Annotated[
    Path | None, typer.Option("--domains", metavar="FILE", help="What columns can be, as TOML: age = '18:99'.")
]


def with_stated(
    model: AdditiveModel,
    integers: Sequence[str] | None,
    ranges: Sequence[str] | None,
    orders: Sequence[str] | None,
    file: Path | None,
    cells: Callable[[str], Iterable[Any]] | None = None,
) -> AdditiveModel:
    """Return a model whose features can be what the options and the file say.

    How much ranks of categories vary is learned from the cells of a column, where there are any.
    """
    said = (read_domains_file(file) if file is not None else {}) | said_in_options(integers, ranges, orders)
    domains = stated_domains(model, said)
    before = dict(zip(model.names, model.domains, strict=True))
    features = []
    for feature in model.features:
        domain = domains.get(feature.name, before[feature.name])
        spread: Number | None = feature.deviation
        if domain.is_ordered and domain != before[feature.name]:  # what a rank was is one no longer
            spread = None if cells is None else deviation_of_ranks(domain, map(domain.parse, cells(feature.name)))
        features.append(Feature(feature.name, domain, feature.center, feature.scale, spread))
    return renamed(model, features, model.classes or None) if domains else model


def domains_command(
    model: ModelPath,
    learn: Annotated[
        Path | None, typer.Option(metavar="TABLE", help="Rows to learn from what columns can be, and how they vary.")
    ] = None,
    integers: Integers = None,
    ranges: Ranges = None,
    orders: Orders = None,
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
    found, cells = load_any(model), None
    if learn is not None:
        table = table_at(learn)
        cells = table.column
        for name in found.names:
            table.place(name)
        rows = [{name: table.row(k)[name] for name in found.names} for k in range(len(table.rows))]
        found = from_model(found, rows, domains="reference")
    found = with_stated(found, integers, ranges, orders, file, cells)
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
