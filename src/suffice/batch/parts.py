"""The folder of finished parts, from which a killed run goes on.

In: the description of a piece of work, and tables of results, in any order. Out: the same tables, in the order of the
rows. Guaranteed: a table that comes out is the one that went in, for this very work and this very part; one that was
damaged, cut short, exchanged or put there by someone else counts as not done. Only files that bear the work's hash in
their name are ever overwritten or removed.

`work.json` lists the finished parts, with rows and checksum; each part says in its metadata whose part it is. Parts are
Arrow streams, which take next to no time to write and to read: Parquet is written once, at the end.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from suffice.batch.disk import read_plain, remove_partial_files, sync_folder, whole_file
from suffice.errors import DataError

_NOTE = "work.json"
_FORMAT = "suffice parts 2"
_METADATA = b"suffice_part"


class Finished(NamedTuple):
    """What the list says of a finished part."""

    rows: int
    sha256: str


class _Hashed(io.RawIOBase):
    """A file that is written once, and its checksum: a part is in memory once, not twice."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.sha256, self._size = file, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        """Write some bytes."""
        size = memoryview(content).nbytes
        self.sha256.update(content)
        self._file.write(content)
        self._size += size
        return size

    def tell(self) -> int:
        return self._size


class Parts:
    """The finished parts of one piece of work; only the run that holds the output's lock may have one."""

    def __init__(self, folder: Path, work: str, part_rows: int, done: dict[int, Finished]) -> None:
        self.folder, self.work, self.part_rows, self.done = folder, work, part_rows, done

    @classmethod
    def open(cls, folder: Path, description: Mapping[str, Any], part_rows: int) -> Parts:
        """Return the finished parts of a piece of work; those of another are removed."""
        work = _hash(_text({**description, "part_rows": part_rows}).encode())
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise DataError(f"{folder}: is not a folder; move it, finished parts go there")
        if not folder.exists():
            folder.mkdir()
            sync_folder(folder.parent)
        remove_partial_files(folder)
        found = _read_note(folder)
        if found is None and any(folder.iterdir()):
            raise DataError(
                f"{folder}: contains files suffice did not write, or a damaged {_NOTE}; move the folder, "
                "finished parts go there"
            )
        if found is not None and found[0] != work:
            _remove_parts(folder, found[0])
            found = None
        parts = cls(folder, work, part_rows, found[1] if found else {})
        parts.done = {k: one for k, one in parts.done.items() if parts.read(k) is not None}
        parts._write_note()
        return parts

    @property
    def rows(self) -> int:
        """How many rows are done."""
        return sum(one.rows for one in self.done.values())

    def add(self, k: int, table: Any) -> None:
        """Keep the results of part `k`; their row numbers must be those of its rows."""
        if not self._has_its_rows(k, table):
            raise DataError(f"part {k}: the results are not those of its rows; run the command again")
        note = _text({"work": self.work, "part": k, "rows": table.num_rows}).encode()
        marked = table.replace_schema_metadata({**table.schema.metadata, _METADATA: note})
        with whole_file(self._path(k), self.folder) as file:
            hashed = _Hashed(file)
            with pa.ipc.new_stream(hashed, marked.schema) as writer:
                writer.write_table(marked)
        self.done[k] = Finished(table.num_rows, hashed.sha256.hexdigest())
        self._write_note()

    def read(self, k: int) -> Any | None:
        """Return the results of part `k` as they were added, None if they are not there any more."""
        finished, content = self.done[k], read_plain(self._path(k))
        if content is None or _hash(content) != finished.sha256:
            return None
        try:
            table = pa.ipc.open_stream(pa.BufferReader(content)).read_all()
        except (pa.ArrowException, OSError, ValueError):
            return None
        metadata = dict(table.schema.metadata or {})
        note = _text({"work": self.work, "part": k, "rows": finished.rows}).encode()
        if metadata.pop(_METADATA, None) != note or not self._has_its_rows(k, table):
            return None
        return table.replace_schema_metadata(metadata)

    def forget(self, k: int) -> None:
        """Count part `k` as not done."""
        del self.done[k]
        self._write_note()

    def remove(self) -> None:
        """Remove the finished parts, and the folder unless something else is in it."""
        _remove_parts(self.folder, self.work)
        (self.folder / _NOTE).unlink()
        remove_partial_files(self.folder)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()
        sync_folder(self.folder.parent)

    def _has_its_rows(self, k: int, table: Any) -> bool:
        start, rows = k * self.part_rows, table.num_rows
        numbers = table["row"].to_numpy() if "row" in table.column_names else np.zeros(0)
        return rows <= self.part_rows and np.array_equal(numbers, np.arange(start, start + rows))

    def _path(self, k: int) -> Path:
        return self.folder / f"part-{k:08d}-{self.work[:16]}.arrow"

    def _write_note(self) -> None:
        parts = {str(k): [one.rows, one.sha256] for k, one in sorted(self.done.items())}
        content = {"format": _FORMAT, "work": self.work, "parts": parts}
        with whole_file(self.folder / _NOTE, self.folder) as file:
            file.write(_text({**content, "sha256": _hash(_text(content).encode())}).encode())


def _remove_parts(folder: Path, work: str) -> None:
    own = re.compile(rf"part-[0-9]{{8,}}-{work[:16]}\.arrow")
    for path in folder.iterdir():
        if own.fullmatch(path.name) and not stat.S_ISDIR(path.lstat().st_mode):
            os.unlink(path)


def _read_note(folder: Path) -> tuple[str, dict[int, Finished]] | None:
    """Return whose parts are in a folder, and which; None if there is no such list, or it is not as it was written."""
    content = read_plain(folder / _NOTE)
    try:
        document = json.loads((content or b"").decode())
        checksum = document.pop("sha256")
        if document["format"] != _FORMAT or checksum != _hash(_text(document).encode()):
            return None
        return document["work"], {int(k): Finished(*one) for k, one in document["parts"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True)


def _hash(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()
