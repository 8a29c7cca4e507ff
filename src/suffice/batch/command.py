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
from typing import TYPE_CHECKING, Any

import typer

from suffice.errors import DataError
from suffice.present.json import to_text

if TYPE_CHECKING:
    from suffice.batch.stream import Progress

SOME_FAILED = 3


class Engine(StrEnum):
    """Where the work is done."""

    LOCAL = "local"
    RAY = "ray"


def run_batch(
    model: Path,
    table: Path,
    output: Path,
    options: dict[str, Any],
    *,
    keep: list[str],
    threads: int | None,
    engine: Engine,
    address: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Explain every row of a file, say what became of them, and exit."""
    try:
        from suffice.batch.arrow import ArrowExplainer
        from suffice.batch.files import TableFile
        from suffice.batch.stream import explain_file
    except ImportError as error:
        raise DataError(f"batch cannot run: {error}; pip install 'suffice[batch]'") from None
    began = time.monotonic()
    explain = ArrowExplainer(model, **options, keep=keep, threads=threads)
    data = TableFile(table)
    is_shown = sys.stderr.isatty() and not quiet
    with _progress(data.rows, is_shown=is_shown) as progress:
        if engine is Engine.RAY:
            from suffice.batch.engine import explain_on_ray

            summary = explain_on_ray(explain, data, output, address=address, progress=progress)
        else:
            summary = explain_file(explain, data, output, progress=progress)
    document = summary.document()
    if as_json:
        typer.echo(to_text({"output": str(output), **document}))
    elif not quiet:
        typer.echo(_told(document, output, time.monotonic() - began))
    if document["failed"]:
        raise typer.Exit(SOME_FAILED)


@contextmanager
def _progress(rows: int | None, *, is_shown: bool) -> Iterator[Progress]:
    """Give a function that is told how many rows are done, and shows a bar with rate and time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    bar = Progress(BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), console=Console(stderr=True))
    if not is_shown:
        yield lambda done: None
        return
    with bar:
        task = bar.add_task("rows", total=rows, rate="")

        def tell(done: int) -> None:
            bar.update(task, completed=done)
            speed = bar.tasks[0].speed
            bar.update(task, rate="" if speed is None else f"{speed:,.0f} rows/s")

        yield tell


def _told(document: dict[str, Any], output: Path, seconds: float) -> str:
    """Return what became of the rows, as a person reads it."""
    rows = document["rows"]
    lines = [f"{rows:,} rows in {seconds:.1f} s, written to {output}"]
    for what in ("proven", "bounded", "failed"):
        if document[what]:
            lines.append(f"  {what:<8} {document[what]:>12,}")
    lines.append(f"  {'exact':<8} {document['exact']:>12,}  (error bounds left these open)")
    if document["sizes"]:
        lines.append("  size     " + ", ".join(f"{size}: {count:,}" for size, count in document["sizes"].items()))
    if document["kept"]:
        most = list(document["kept"].items())[:5]
        lines.append("  kept     " + ", ".join(f"{name} {count:,}" for name, count in most))
    if document["failed"]:
        lines.append('Some rows failed; the column "message" says why.')
    return "\n".join(lines)
