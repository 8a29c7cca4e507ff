"""`suffice serve`: a page in the browser, and an HTTP API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from suffice.cli.options import CacheFolder, ModelPath
from suffice.present.terminal import tell


def serve_command(
    model: ModelPath,
    data: Annotated[
        Path | None, typer.Option(help="A table to pick rows from: .csv, .csv.gz or .parquet.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; by default only this machine can reach it.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for any free one.")] = 8000,
    max_bytes: Annotated[int, typer.Option(min=1_000, help="Maximum bytes in the body of a request.")] = 1_000_000,
    max_rows: Annotated[int, typer.Option(min=1, help="Maximum rows in one request.")] = 100,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Maximum seconds for one request.")] = 10.0,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SUFFICE_TOKEN",
            help="What requests must send to be answered; needed if other machines can reach the address.",
            show_default=False,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name that requests may use for this server; can be given again.", show_default=False),
    ] = None,
    cache: CacheFolder = None,
) -> None:
    """Serve a web page and an HTTP API to ask about a model's decisions."""
    from suffice.serve import Limits, serve

    serve(
        model,
        data,
        host=host,
        port=port,
        limits=Limits(max_bytes=max_bytes, max_rows=max_rows, max_seconds=max_seconds),
        token=token or None,
        allow_hosts=allow_host or (),
        announce=tell,
        cache=cache,
    )
