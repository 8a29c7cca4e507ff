"""Tables in files, read a part at a time: Parquet by row groups, CSV by blocks of text.

In: a path. Out: its column names, and Arrow tables of so many rows each, from any row on.
Guaranteed: no more than a part and a row group's pages are in memory, however much a small file stands for; the cells
of a CSV file stay text.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from suffice.errors import DataError, SufficeError
from suffice.model.fields import first_twice
from suffice.tables.reading import bytes_of, check_quotes, is_text

MOST_BYTES = 1 << 29  # of the cells of so many rows of a Parquet file
_BLOCK_BYTES = 8 << 20
_ROWS_AT_ONCE = 1 << 16


class TableFile:
    """A file of rows: .parquet, .csv or .csv.gz."""

    def __init__(self, path: Path) -> None:
        self.path = path
        name = path.name.lower()
        if not name.endswith((".csv", ".csv.gz", ".parquet")):
            raise DataError(f"{path}: the name must end in .csv, .csv.gz or .parquet, which says what format it is")
        self.is_parquet = name.endswith(".parquet")
        self.kind = "parquet" if self.is_parquet else "csv.gz" if name.endswith(".gz") else "csv"
        with _errors_of(path):
            self.size = path.stat().st_size
            if self.is_parquet:
                with pa.parquet.ParquetFile(path) as file:
                    self.schema = file.schema_arrow
                    self.rows: int | None = file.metadata.num_rows
            else:
                with path.open("rb") as file:
                    compression = "gzip" if name.endswith(".gz") else None
                    with pa.input_stream(file, compression=compression) as stream:
                        names = _open_csv(stream, []).schema.names
                self.schema = pa.schema([(name, pa.string()) for name in names])
                self.rows = None
        self.columns = tuple(self.schema.names)
        self._place = 0  # in the file, up to which it is read
        twice = first_twice(self.columns)
        if twice is not None:
            raise DataError(f"{path}: two columns are called {twice!r}; give each its own name")

    @property
    def share_read(self) -> float:
        """How much of a CSV file is read, of 1: what tells about how many rows it has."""
        return self._place / max(self.size, 1)

    def state(self) -> tuple[int, int, int]:
        """Return what changes whenever the file is written again, and now and then without."""
        with _errors_of(self.path):
            state = self.path.stat()
        return state.st_size, state.st_mtime_ns, state.st_ino

    def check_size(self) -> None:
        """Refuse a file of another size than this one: on another machine the name may be that of another file."""
        if self.state()[0] != self.size:
            raise DataError(f"{self.path}: is not the same file on every machine, or was changed")

    def check_quotes(self) -> None:
        """Refuse a CSV file whose quotes would let rows vanish into a cell."""
        if not self.is_parquet:
            with _errors_of(self.path):
                check_quotes(self.path)

    def parts(self, columns: Sequence[str], size: int, start: int = 0) -> Iterator[Any]:
        """Yield tables of `size` rows (the last may have fewer) with these columns, from row `start` on."""
        with _errors_of(self.path):
            batches = self._parquet(columns, start) if self.is_parquet else self._csv(columns, start)
            wanted = pa.schema([self.schema.field(name) for name in columns])
            waiting: list[Any] = []
            count, is_empty = 0, start == 0
            for batch in batches:
                is_empty = is_empty and not batch.num_rows
                waiting.append(batch)
                count += batch.num_rows
                while count >= size:
                    table = pa.Table.from_batches(waiting, wanted)
                    yield table.slice(0, size)
                    waiting = table.slice(size).to_batches()
                    count -= size
            if count or is_empty:  # a table without rows is one part, so that the result has its columns too
                yield pa.Table.from_batches(waiting, wanted)

    def _parquet(self, columns: Sequence[str], start: int) -> Iterator[Any]:
        # Text is read as an index into its distinct values: a few bytes of a file may stand for any number of cells.
        texts = [name for name in columns if is_text(pa, self.schema.field(name).type)]
        wanted = pa.schema([self.schema.field(name) for name in columns])
        with pa.parquet.ParquetFile(self.path, pre_buffer=False, read_dictionary=texts) as file:
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if start >= rows:
                    start -= rows
                    continue
                for batch in file.iter_batches(
                    _ROWS_AT_ONCE, row_groups=[group], columns=list(columns), use_threads=False
                ):
                    if start < batch.num_rows:
                        found = batch.slice(start).select(list(columns))
                        self._check_bytes(found)
                        cells = [one.cast(field.type) for one, field in zip(found.columns, wanted, strict=True)]
                        yield pa.RecordBatch.from_arrays(cells, schema=wanted)
                    start = max(0, start - batch.num_rows)

    def _check_bytes(self, batch: Any) -> None:
        if sum(bytes_of(pa, column) for column in batch.columns) > MOST_BYTES:
            raise DataError(
                f"{self.path}: {batch.num_rows:,} rows have more than {MOST_BYTES:,} bytes in the columns that are "
                "needed; shorten their texts"
            )

    def _csv(self, columns: Sequence[str], start: int) -> Iterator[Any]:
        compression = "gzip" if self.path.suffix.lower() == ".gz" else None
        with self.path.open("rb") as file, pa.input_stream(file, compression=compression) as stream:
            for batch in _open_csv(stream, columns):
                self._place = file.tell()
                if start < batch.num_rows:
                    yield batch.slice(start)
                start = max(0, start - batch.num_rows)


def csv_options(columns: Sequence[str]) -> dict[str, Any]:
    """Return how Arrow is to read a CSV file: every cell as text, an empty one as missing."""
    return {
        "read_options": pa.csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False),
        "parse_options": pa.csv.ParseOptions(newlines_in_values=True),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            include_columns=list(columns) or None,
            null_values=[""],
            strings_can_be_null=True,
        ),
    }


def _open_csv(stream: Any, columns: Sequence[str]) -> Any:
    return pa.csv.open_csv(stream, **csv_options(columns))


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with a file."""
    try:
        yield
    except SufficeError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({' '.join((error.strerror or str(error)).split())})") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text; save it in that encoding") from None
    except (
        pa.ArrowException,
        EOFError,
        zlib.error,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        MemoryError,
    ) as error:
        raise DataError(f"{path}: cannot be read as a table ({' '.join(str(error).split())})") from None
