"""Files larger than memory: a part at a time, so that a killed run goes on where it stopped.

Finished parts lie in a folder beside the output, `<output>.parts`, with a description of the work. The same command
finds them and does only the rest; a different question, model or input starts anew. Each part, and at the end the whole
output, is written under another name and then renamed: a file that bears its name is whole.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet

import suffice
from suffice.batch.arrow import ArrowExplainer
from suffice.batch.files import TableFile
from suffice.errors import DataError

PART_ROWS = 1 << 18


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
        self.exact += pa.compute.sum(pa.compute.equal(table["path"], "exact"), min_count=0).as_py()
        counters: tuple[tuple[Counter[Any], Any], ...] = (
            (self.statuses, table["status"]),
            (self.sizes, table["size"].drop_null()),
            (self.features, pa.compute.list_flatten(table["features"])),
        )
        for counter, column in counters:
            for entry in pa.compute.value_counts(column).to_pylist():
                counter[entry["values"]] += entry["counts"]

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


Progress = Callable[[int], None]  # is told how many rows are done


def check_files(explain: ArrowExplainer, table: TableFile, output: Path) -> None:
    """Refuse, before any work, a table without the columns that are needed, and an output that cannot be."""
    needed = (*explain.model.names, *explain.carry)
    absent = [name for name in needed if name not in table.columns]
    if absent:
        what = "a feature of the model" if absent[0] in explain.model.names else "which is to be carried over"
        more = f" ({len(absent)} are missing in all)" if len(absent) > 1 else ""
        raise DataError(f"{table.path}: has no column {absent[0]!r}, {what}{more}")
    clash = [name for name in explain.carry if name in (*explain.schema.names, "row")]
    if clash:
        raise DataError(f"the column {clash[0]!r} cannot be carried over: the result has one of that name; rename it")
    if output.suffix.lower() != ".parquet":
        raise DataError(f"{output}: results are written as Parquet; give a name that ends in .parquet")
    if output.is_dir():
        raise DataError(f"{output}: cannot be written: it is a folder")
    if output.exists() and output.samefile(table.path):
        raise DataError(f"{output}: is the table itself; give the results another name")
    if output.exists() and explain.path.exists() and output.samefile(explain.path):
        raise DataError(f"{output}: is the model itself; give the results another name")
    if not output.parent.is_dir():
        raise DataError(f"{output}: cannot be written: there is no folder {output.parent}")


def explain_file(
    explain: ArrowExplainer, table: TableFile, output: Path, *, part_rows: int = PART_ROWS, progress: Progress
) -> Summary:
    """Explain every row of a file, and write the results as one Parquet file."""
    check_files(explain, table, output)
    folder = output.with_name(output.name + ".parts")
    with _disk_errors(output, folder):
        done = _open_folder(folder, _work(explain, table, part_rows))
        progress(done * part_rows)
        columns = [name for name in table.columns if name in (*explain.model.names, *explain.carry)]
        for k, part in enumerate(table.parts(columns, part_rows, done * part_rows), start=done):
            write_whole(_part_path(folder, k), [_numbered(explain, explain(part), k * part_rows)])
            progress(k * part_rows + part.num_rows)
        return _collect(folder, output)


def write_table(explain: ArrowExplainer, tables: Iterable[Any], output: Path, progress: Progress) -> Summary:
    """Write results that come in the order of the rows, from another engine say, as one file."""
    summary = Summary()

    def counted() -> Iterator[Any]:
        for table in tables:
            numbered = _numbered(explain, table, summary.rows)
            summary.add(numbered)
            progress(summary.rows)
            yield numbered

    with _disk_errors(output, None):
        write_whole(output, counted())
    return summary


def _numbered(explain: ArrowExplainer, table: Any, start: int) -> Any:
    """Return results with the number of each row in the input, and with the question in the file's metadata."""
    place = table.schema.get_field_index("prediction")
    numbers = pa.array(np.arange(start, start + table.num_rows))
    asked = {"suffice": suffice.__version__, "model_sha256": explain.model_hash, "question": explain.document}
    return table.add_column(place, "row", numbers).replace_schema_metadata({"suffice": json.dumps(asked)})


def _work(explain: ArrowExplainer, table: TableFile, part_rows: int) -> str:
    """Return what tells one piece of work from another."""
    state = table.path.stat()
    return json.dumps(
        {
            "suffice": suffice.__version__,
            "model": explain.model_hash,
            "question": explain.document,
            "carry": explain.carry,
            "input": [str(table.path.resolve()), state.st_size, state.st_mtime_ns],
            "part_rows": part_rows,
        }
    )


def _part_path(folder: Path, k: int) -> Path:
    return folder / f"part-{k:08d}.parquet"


def _open_folder(folder: Path, work: str) -> int:
    """Return how many parts of this very work are finished; parts of another are thrown away."""
    note = folder / "work.json"
    if folder.exists() and not (note.exists() and note.read_text() == work):
        if any(not path.name.startswith(("part-", "work.json")) for path in folder.iterdir()):
            raise DataError(f"{folder}: contains files suffice did not write; move them, finished parts go there")
        shutil.rmtree(folder)
    if not folder.exists():
        folder.mkdir()
        partial = note.with_suffix(".json.partial")
        partial.write_text(work)
        os.replace(partial, note)
    done = 0
    while _is_whole(_part_path(folder, done)):
        done += 1
    return done


def _is_whole(part: Path) -> bool:
    """Whether a part is there and can be read to its end; one that the disk has lost some of is done again."""
    try:
        with pa.parquet.ParquetFile(part) as file:
            for _ in file.iter_batches(use_threads=False):
                pass
    except (FileNotFoundError, pa.ArrowException, OSError):
        return False
    return True


def _collect(folder: Path, output: Path) -> Summary:
    """Join all parts into the output, and remove them."""
    summary = Summary()

    def tables() -> Iterator[Any]:
        for path in sorted(folder.glob("part-*.parquet")):
            table = pa.parquet.read_table(path)
            summary.add(table)
            yield table

    write_whole(output, tables())
    shutil.rmtree(folder)
    return summary


def write_whole(path: Path, tables: Iterable[Any]) -> None:
    """Write tables as one Parquet file that bears its name only once it is whole and on the disk."""
    partial = path.with_name(path.name + ".partial")
    writer = None
    try:
        with partial.open("wb") as file:
            for table in tables:
                writer = writer or pa.parquet.ParquetWriter(file, table.schema)
                writer.write_table(table)
            if writer is not None:
                writer.close()
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _disk_errors(output: Path, folder: Path | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kept = f"; finished parts are kept in {folder}, the same command goes on from there" if folder else ""
        raise DataError(f"{output}: cannot be written ({error.strerror or error}){kept}") from None
