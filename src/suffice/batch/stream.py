"""Files larger than memory: a part at a time, so that a killed run goes on where it stopped.

Finished parts lie in a folder beside the output, `<output>.parts`. The same command finds them and does only the rest;
a different question, model or input (by its content) starts anew. Parts are numbered by the rows of the input and may
be done in any order, anywhere: what comes back says which part it is, and the order of arrival means nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

import suffice
from suffice.batch.arrow import ArrowExplainer
from suffice.batch.disk import locked, whole_file
from suffice.batch.files import TableFile
from suffice.batch.outputs import writer_for
from suffice.batch.parts import Parts
from suffice.errors import DataError

PART_ROWS = 1 << 18
_MOST_WIDTH = 1 << 12  # of a cell whose type says how many bytes it has
_MOST_REPAIRS = 3  # a disk that has changed finished parts so often does not keep them


@dataclass
class Summary:
    """What became of all rows."""

    rows: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    exact: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)

    def add(self, table: Any) -> None:
        """Count the rows of one part."""
        self.rows += table.num_rows
        self.exact += _counts(table["path"])["exact"]
        self.statuses += _counts(table["status"])
        self.features += _counts(pa.compute.list_flatten(table["features"]))
        sizes = np.bincount(table["size"].drop_null().to_numpy())
        self.sizes += Counter({size: int(sizes[size]) for size in np.flatnonzero(sizes).tolist()})

    def document(self) -> dict[str, Any]:
        """Return the summary as JSON has it."""
        return {
            "rows": self.rows,
            "proven": self.statuses["proven"],
            "bounded": self.statuses["bounded"],
            "failed": self.statuses["failed"],
            "exact": self.exact,
            "sizes": {str(size): self.sizes[size] for size in sorted(self.sizes)},
            "features": dict(sorted(self.features.items(), key=lambda item: (-item[1], item[0]))),
        }


def _counts(words: Any) -> Counter[str]:
    """Return how often each word is in an encoded column."""
    found: Counter[str] = Counter()
    for chunk in words.chunks:
        names = chunk.dictionary.to_pylist()
        found += Counter(dict(zip(names, np.bincount(chunk.indices, minlength=len(names)).tolist(), strict=True)))
    return found


Progress = Callable[[int], None]  # is told how many rows are done


def check_files(explain: ArrowExplainer, table: TableFile, output: Path) -> None:
    """Refuse, before any work, a table without the columns that are needed, and an output that cannot be."""
    there = set(table.columns)
    absent = [name for name in (*explain.model.names, *explain.carry) if name not in there]
    if absent:
        what = "a feature of the model" if absent[0] in explain.model.names else "which is to be carried over"
        more = f" ({len(absent)} are missing in all)" if len(absent) > 1 else ""
        raise DataError(f"{table.path}: has no column {absent[0]!r}, {what}{more}")
    for name in (*explain.model.names, *explain.carry):
        kind = table.schema.field(name).type
        if _is_nested(kind):
            what = "the model needs one value there" if name in explain.model.names else "it cannot be carried over"
            raise DataError(f"{table.path}: column {name!r} holds a {kind} in each cell; {what}")
    clash = [name for name in explain.carry if name in (*explain.schema.names, "row")]
    if clash:
        raise DataError(f"the column {clash[0]!r} cannot be carried over: the result has one of that name; rename it")
    writer_for(output)
    if output.is_symlink():
        raise DataError(f"{output}: is a symbolic link; give the name of the file itself")
    if output.is_dir():
        raise DataError(f"{output}: cannot be written: it is a folder")
    if output.exists() and output.samefile(table.path):
        raise DataError(f"{output}: is the table itself; give the results another name")
    if output.exists() and explain.path.exists() and output.samefile(explain.path):
        raise DataError(f"{output}: is the model itself; give the results another name")
    if not output.parent.is_dir():
        raise DataError(f"{output}: cannot be written: there is no folder {output.parent}")
    table.check_quotes()


def _is_nested(kind: Any) -> bool:
    """Whether a cell of a type holds several values, a list or a structure, or so many bytes that it might as well."""
    if isinstance(kind, pa.BaseExtensionType):
        return _is_nested(kind.storage_type)
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _is_nested(kind.value_type)
    return bool(kind.num_fields) or (pa.types.is_fixed_size_binary(kind) and kind.byte_width > _MOST_WIDTH)


@dataclass(frozen=True)
class PartExplainer:
    """Explains a part of a file, given its number; can be sent to another process, which then reads the rows itself."""

    explain: ArrowExplainer
    table: TableFile
    part_rows: int

    @property
    def columns(self) -> list[str]:
        """The columns that are needed, in the order of the file."""
        wanted = {*self.explain.model.names, *self.explain.carry}
        return [name for name in self.table.columns if name in wanted]

    def read(self, first: int) -> Iterator[Any]:
        """Yield the rows of part `first` and of those after it."""
        return self.table.parts(self.columns, self.part_rows, first * self.part_rows)

    def __call__(self, k: int, rows: Any = None) -> Any:
        """Return the results of part `k`, with the number of each row in the input, and the question as metadata."""
        if rows is None:
            self.table.check_size()
            rows = next(self.read(k))
        found = self.explain(rows, encoded=True)
        start = k * self.part_rows
        numbers = pa.array(np.arange(start, start + found.num_rows))
        asked = {
            "suffice": suffice.__version__,
            "model_sha256": self.explain.model_hash,
            "question": self.explain.document,
        }
        place = found.schema.get_field_index("prediction")
        return found.add_column(place, "row", numbers).replace_schema_metadata({"suffice": json.dumps(asked)})


Shares = Iterator[tuple[int, Any]]  # the number of a part, and its rows, or None where they are to be read
Engine = Callable[[PartExplainer, Shares], Iterator[tuple[int, Any]]]  # yields (number, results), in any order


def on_this_machine(ask: PartExplainer, shares: Shares) -> Iterator[tuple[int, Any]]:
    """Do one part after the other, here."""
    for k, rows in shares:
        yield k, ask(k, rows)


def explain_file(
    explain: ArrowExplainer,
    table: TableFile,
    output: Path,
    *,
    part_rows: int = PART_ROWS,
    progress: Progress,
    engine: Engine = on_this_machine,
    reads_itself: bool = False,
) -> Summary:
    """Explain every row of a file, and write the results as one file.

    Parameters
    ----------
    part_rows : int
        How many rows are done, and kept, at once.
    engine : function
        What does the parts, in any order.
    reads_itself : bool
        Whether the engine reads the rows of a Parquet file where it does them; those of a CSV file are read here.

    Raises
    ------
    DataError
        If a file cannot be read or written, another run is writing the output, or the engine gives back other parts
        than it was given.
    """
    check_files(explain, table, output)
    folder = output.with_name(output.name + ".parts")
    ask = PartExplainer(explain, table, part_rows)
    with _disk_errors(output, folder), locked(output):
        before, identity = table.state(), _sha256(table)
        parts = Parts.open(folder, _description(explain, table, identity), part_rows)
        for _ in range(_MOST_REPAIRS):
            count = _do_missing(ask, parts, engine, progress, reads_itself=reads_itself and table.is_parquet)
            if table.state() != before and _sha256(table) != identity:
                parts.remove()
                raise DataError(f"{table.path}: was changed while it was read; run the command again")
            summary = _collect(parts, count, table, output)
            if summary is not None:
                parts.remove()
                return summary
        raise DataError(f"{folder}: finished parts keep changing on the disk; give the results a place elsewhere")


def _do_missing(ask: PartExplainer, parts: Parts, engine: Engine, progress: Progress, *, reads_itself: bool) -> int:
    """Do the parts that are not done yet; return how many there are in all."""
    progress(parts.rows)
    given: set[int] = set()
    count = 0

    def shares() -> Shares:
        nonlocal count
        for k, rows in _numbers(ask) if reads_itself else _rows(ask, parts):
            count = k + 1
            if k not in parts.done:
                given.add(k)
                yield k, rows

    for k, found in engine(ask, shares()):
        if k not in given:
            raise DataError(f"part {k} came back twice, or was never given out; run the command again")
        given.remove(k)
        parts.add(k, found)
        progress(parts.rows)
    if given:
        raise DataError(f"part {min(given)} did not come back; run the command again")
    return count or len(parts.done)


def _numbers(ask: PartExplainer) -> Shares:
    for k in range(max(1, -(-(ask.table.rows or 0) // ask.part_rows))):
        yield k, None


def _rows(ask: PartExplainer, parts: Parts) -> Shares:
    first = next(k for k in range(len(parts.done) + 1) if k not in parts.done)
    yield from enumerate(ask.read(first), start=first)


def _collect(parts: Parts, count: int, table: TableFile, output: Path) -> Summary | None:
    """Join all parts into the output; None, and no output, if one of them is not as it was added."""
    summary = Summary()
    try:
        with whole_file(output, parts.folder) as file, ExitStack() as stack:
            write = None
            for k in range(count):
                part = parts.read(k)
                # All parts are full but the last: then no row is missing, and no two have the same number.
                if part is None or summary.rows != k * parts.part_rows:
                    raise _DamagedPartError(k if part is None else k - 1)
                summary.add(part)
                write = write or stack.enter_context(writer_for(output)(file, part.schema))
                write(part)
            if table.rows is not None and summary.rows != table.rows:
                raise DataError(f"{output}: {summary.rows} rows came back of {table.rows}; run the command again")
    except _DamagedPartError as damaged:
        parts.forget(damaged.k)
        return None
    return summary


class _DamagedPartError(Exception):
    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.k = k


def _description(explain: ArrowExplainer, table: TableFile, identity: str) -> dict[str, Any]:
    """Return what tells one piece of work from another."""
    return {
        "suffice": suffice.__version__,
        "results": "encoded",
        "model": explain.model_hash,
        "question": explain.document,
        "carry": list(explain.carry),
        "input": [table.kind, identity],
    }


def _sha256(table: TableFile) -> str:
    with table.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _disk_errors(output: Path, folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kept = f"; finished parts are kept in {folder}, the same command goes on from there"
        raise DataError(f"{output}: cannot be written ({error.strerror or error}){kept}") from None
