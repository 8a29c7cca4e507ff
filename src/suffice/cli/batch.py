"""`suffice batch`: explain every row of a file.

Exit codes: 0 all rows answered, 1 the question cannot be answered (one sentence on stderr), 2 wrong usage, 3 some rows
failed: their status says so, the others have their answers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from suffice.adapters.files import load_any as load_model
from suffice.answers.documents import to_text
from suffice.cli.options import (
    AsJson,
    CacheFolder,
    ModelPath,
    Quiet,
    TablePath,
    parameters_of,
    read_question,
    warnings_told,
    with_question,
)
from suffice.errors import DataError, visible
from suffice.question.documents import Json
from suffice.search.explain import explain

if TYPE_CHECKING:
    from suffice.batch.files import TableFile
    from suffice.batch.stream import Progress

SOME_FAILED = 3


class Engine(StrEnum):
    """Where the work is done."""

    LOCAL = "local"
    RAY = "ray"


def _batch(
    model: ModelPath,
    table: TablePath,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="RESULTS",
            help="File to write: .parquet, .arrow, .csv or .jsonl.",
            show_default=False,
        ),
    ],
    given: dict[str, Any],
    carry: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to copy into the results, such as an id; may be repeated."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of threads, and of processes for rows that take long; by default one for each core."
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="Where the work is done.")] = Engine.LOCAL,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster; by default on this machine.")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    cache: CacheFolder = None,
) -> None:
    """Explain every row of a file, even one larger than memory. Exit code 3 if some rows failed."""
    try:
        from suffice.batch.arrow import ArrowExplainer
        from suffice.batch.files import TableFile
        from suffice.batch.stream import explain_file
    except ImportError as error:
        raise DataError(f"batch cannot run: {error}; pip install 'suffice[batch]'") from None
    began = time.monotonic()
    question = read_question(load_model(model), given)
    with warnings_told():
        ask = ArrowExplainer(model, question, carry=carry or [], threads=threads, cache=cache)
    data = TableFile(table)
    is_shown = sys.stderr.isatty() and not quiet
    with _progress(data, is_shown=is_shown) as progress:
        if engine is Engine.RAY:
            from suffice.batch.ray import explain_on_ray

            summary = explain_on_ray(ask, data, output, address=address, progress=progress)
        else:
            summary = explain_file(ask, data, output, progress=progress)
    document = summary.document()
    if as_json:
        typer.echo(to_text({"output": str(output), "question": question.document(), **document}))
    elif not quiet:
        typer.echo(_told(document, output, time.monotonic() - began))
    if document["failed"]:
        raise typer.Exit(SOME_FAILED)


batch_command = with_question(
    explain, _batch, [one for one in parameters_of(_batch) if one.name != "given"], _batch.__doc__
)


@contextmanager
def _progress(data: TableFile, *, is_shown: bool) -> Iterator[Progress]:
    """Give a function that is told how many rows are done, and shows a bar with rate and time left.

    How many rows a CSV file has is not known before its end; by how much of it is read it is told about.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    bar = Progress(BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), console=Console(stderr=True))
    if not is_shown:
        yield lambda done: None
        return
    with bar:
        task = bar.add_task("rows", total=data.rows, rate="")

        def tell(done: int) -> None:
            total = data.rows if data.rows is not None or not data.share_read else round(done / data.share_read)
            bar.update(task, completed=done, total=total)
            speed = bar.tasks[0].speed
            bar.update(task, rate="" if speed is None else f"{speed:,.0f} rows/s")

        yield tell


def _told(document: Json, output: Path, seconds: float) -> str:
    """Return what became of the rows, as a person reads it."""
    rows = document["rows"]
    lines = [f"{rows:,} rows in {seconds:.1f} s, written to {visible(str(output))}"]
    for what in ("proven", "bounded", "failed"):
        if document[what]:
            lines.append(f"  {what:<8} {document[what]:>12,}")
    lines.append(f"Decided by exact arithmetic (error bounds were not enough): {document['exact']:,}")
    if document["sizes"]:
        lines.append("  size     " + ", ".join(f"{size}: {count:,}" for size, count in document["sizes"].items()))
    if document["features"]:
        most = list(document["features"].items())[:5]
        lines.append("  fixed    " + ", ".join(f"{visible(name)} {count:,}" for name, count in most))
    if document["failed"]:
        lines.append('Some rows failed; the column "message" says why.')
    return "\n".join(lines)
