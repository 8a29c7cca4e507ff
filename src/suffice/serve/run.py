"""Starting the server: everything is read first, then it listens."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from suffice.adapters.files import load_any
from suffice.errors import DataError, ModelFileError
from suffice.explainer import Explainer
from suffice.serve.app import LOOPBACK, create_app
from suffice.serve.guard import Limits
from suffice.tables.reading import DataTable, read_table


def serve(
    model: Path,
    data: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    announce: Callable[[str], object] = print,
) -> None:
    """Serve a model until interrupted.

    Parameters
    ----------
    model : path
        The model file, suffice's own or of another package; no request can name another.
    data : path, optional
        A table to pick rows from.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    limits : Limits, optional
    announce : callable
        Told the address, once the server listens there.
    """
    explainer = Explainer(load_any(model))
    table = None if data is None else _table(data, explainer)
    app = _app(model, explainer, table, limits, LOOPBACK if is_loopback(host) else None)
    listener = _listen(host, port)
    place = f"[{host}]" if ":" in host else host
    announce(f"http://{place}:{listener.getsockname()[1]}/  (stop with Ctrl+C)")
    if not is_loopback(host):
        announce("Warning: other machines can reach this address; there is no password.")
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, timeout_keep_alive=75)
    uvicorn.Server(config).run(sockets=[listener])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _app(
    path: Path, explainer: Explainer, table: DataTable | None, limits: Limits | None, hosts: frozenset[str] | None
) -> ASGIApp:
    """Return the application, whose certificates are for this very file if it is suffice's own."""
    make = partial(create_app, explainer, table, limits=limits, hosts=hosts)
    try:
        return make(model_file=path)
    except ModelFileError:  # of another package: they are for the model that it was converted to
        return make()


def _table(path: Path, explainer: Explainer) -> DataTable:
    table = read_table(path)
    absent = [name for name in explainer.model.names if name not in table.columns]
    if absent:
        raise DataError(f"{path}: has no column {absent[0]!r}, a feature of the model")
    return table


def _listen(host: str, port: int) -> socket.socket:
    try:
        kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(kind, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(512)
    except OSError as error:
        raise DataError(f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another") from None
    return listener
