"""Starting the server: everything is read first, then it listens."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from suffice.adapters.files import load_any
from suffice.errors import DataError, ModelFileError
from suffice.explainer import Explainer
from suffice.serve.app import LOOPBACK, create_app
from suffice.serve.connections import HEAD_BYTES, Connections, Seldom
from suffice.serve.limits import Limits
from suffice.tables.reading import DataTable, read_table

_SHORTEST_TOKEN = 16
_BACKLOG = 100  # connections taken at once
_OTHER_FILES = 150  # that the process needs beside its connections


def serve(
    model: Path,
    data: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    token: str | None = None,
    allow_hosts: Sequence[str] = (),
    announce: Callable[[str], object] = print,
    cache: Path | None = None,
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
    token : str, optional
        What requests must send to be answered; needed where other machines can reach the address.
    allow_hosts : sequence of str
        Names that requests may use for this server, beside the address itself; needed for an address that stands for
        all of a machine's.
    announce : callable
        Told the address, once the server listens there.
    cache : path, optional
        A folder to keep compiled models in, as for `Explainer`.

    Raises
    ------
    DataError
        If it cannot listen there, or other machines could reach it without a token or by any name.
    """
    hosts = named_hosts(host, token, allow_hosts)
    limits = _within_open_files(limits or Limits())
    explainer = Explainer(load_any(model), cache=cache)
    table = None if data is None else _table(data, explainer)
    app = _app(model, explainer, table, limits, hosts, token)
    listener = _listen(host, port)
    place = f"[{host}]" if ":" in host else host
    said = [f"http://{place}:{listener.getsockname()[1]}/  (stop with Ctrl+C)"]
    if token is not None:
        said.append("Requests need the token; the page asks for it, or takes it from #token=TOKEN after its address.")
    if not is_loopback(host):
        said.append("Warning: other machines can reach this address, and nothing is encrypted.")
    _Server(configured(app, limits), lambda: [announce(line) for line in said]).run(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn's server, which tells once it can answer."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], object]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets=sockets)
        if self.started:
            self._tell()


def configured(app: ASGIApp, limits: Limits) -> uvicorn.Config:
    """Return how uvicorn is to serve an application within limits."""
    config = uvicorn.Config(
        app,
        http=Connections(limits).protocol,  # type: ignore[arg-type]
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(limits.idle_seconds) + 1,  # the connection's own clock is first
        timeout_graceful_shutdown=int(limits.stop_seconds),
        h11_max_incomplete_event_size=HEAD_BYTES,
        backlog=_BACKLOG,
    )
    for name in ("uvicorn.error", "asyncio"):
        logger = logging.getLogger(name)
        if not any(isinstance(one, Seldom) for one in logger.filters):
            logger.addFilter(Seldom())
    return config


def named_hosts(host: str, token: str | None, allow_hosts: Sequence[str]) -> frozenset[str]:
    """Return the names that requests may use for a server; an error if others could reach it too easily."""
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise DataError(f"the token must have at least {_SHORTEST_TOKEN} printable ASCII characters")
    named = frozenset(name.strip("[]").lower() for name in allow_hosts)
    if is_loopback(host):
        return LOOPBACK | named | {host.lower()}
    if token is None:
        raise DataError(
            f"{host} can be reached from other machines: set a token that requests must send, with --token or the "
            "environment variable SUFFICE_TOKEN"
        )
    if _is_any(host):
        if not named:
            raise DataError(
                f"{host} stands for all addresses of this machine: name those that requests may use for it, as in "
                "--allow-host models.example.org"
            )
        return LOOPBACK | named
    return LOOPBACK | named | {host.lower()}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _is_any(host: str) -> bool:
    try:
        return host == "" or ip_address(host).is_unspecified
    except ValueError:
        return False


def _within_open_files(limits: Limits) -> Limits:
    """Return limits with no more connections than the process may have open files."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return limits
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if most == resource.RLIM_INFINITY:
        return limits
    return replace(limits, max_connections=max(1, min(limits.max_connections, most - _OTHER_FILES)))


def _app(
    path: Path,
    explainer: Explainer,
    table: DataTable | None,
    limits: Limits,
    hosts: frozenset[str],
    token: str | None,
) -> ASGIApp:
    """Return the application, whose certificates are for this very file if it is suffice's own."""
    make = partial(create_app, explainer, table, limits=limits, hosts=hosts, token=token)
    try:
        return make(model_file=path)
    except ModelFileError:  # of another package: they are for the model that it was converted to
        return make()


def _table(path: Path, explainer: Explainer) -> DataTable:
    table = read_table(path)
    table.check_columns(explainer.model.names)
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
