"""What must hold of files on a disk: one run for each output, whole files only, no link followed.

Guaranteed of `whole_file`: the name stands for the earlier content or for all of the new one, even if the machine stops
in between; and of `locked`: two runs never write the same output at once, on one machine.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from suffice.errors import DataError

_OWN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_PARTIAL = re.compile(r"\.suffice-[0-9a-f]{16}\.partial")


@contextmanager
def locked(output: Path) -> Iterator[None]:
    """Hold the lock of an output, a file beside it; `DataError` if another run holds it.

    The system gives the lock back when a run ends, however it ends; a lock file that is left behind holds nothing.
    """
    path = output.with_name(output.name + ".lock")
    handle = _take(path, output)
    try:
        yield
    finally:
        if os.fstat(handle).st_size == 0:  # ours is empty; a file of that name with content is not ours
            with suppress(OSError):
                path.unlink()
        os.close(handle)


def _take(path: Path, output: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _OWN, 0o666)
        try:
            if not _try_lock(handle):
                raise DataError(f"{output}: another run is writing it; wait for that one, or give another name")
            # The run that held the lock may have removed the file in between; then the lock is that of no file.
            if _is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _try_lock(handle: int) -> bool:
    """Take a lock unless it is taken; the process gives it back as it closes the file or ends."""
    try:
        if sys.platform == "win32":  # pragma: no cover - tests run on Unix
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def whole_file(path: Path, folder: Path) -> Iterator[IO[bytes]]:
    """Give a file to write, in a folder on the same disk; it gets its name once it is whole and on the disk."""
    partial = folder / f".suffice-{secrets.token_hex(8)}.partial"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    finally:
        partial.unlink(missing_ok=True)


def remove_partial_files(folder: Path) -> None:
    """Remove what killed runs have left half written; whoever calls this holds the lock, so no run is at it."""
    for path in folder.iterdir():
        if _PARTIAL.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
            path.unlink()


def read_plain(path: Path) -> bytes | None:
    """Return the content of a file, None where there is no file or something else, such as a link."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _OWN), "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk; some systems have no such thing."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
