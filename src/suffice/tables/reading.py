"""Tables as the command line gets them: text (CSV, TSV, JSON lines), plain or gzipped, Parquet and Excel files.

In comes a path. Out goes a `DataTable`. Guaranteed of it: no two columns have the same name, and every row has a cell
for every column. The cells of a CSV file stay text, so that "0.1" is one tenth and not the float beside it; numbers of
JSON lines stay what they spell. A table has `MOST_CELLS` cells and `MOST_BYTES` bytes once unpacked at most, for a
small file can ask for all the memory there is.
"""

from __future__ import annotations

import contextlib
import csv
import difflib
import gzip
import importlib
import io
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from suffice.errors import DataError, FeatureNameError, SufficeError
from suffice.model.fields import first_twice, named_once
from suffice.numbers.values import is_writable

MOST_CELLS = 20_000_000  # a table is read whole, at about 100 bytes a cell
MOST_BYTES = 1 << 30  # of text, or of a Parquet file's values, once unpacked
MOST_CHARACTERS = 1 << 24  # of one row of a CSV file
_CELLS_AT_ONCE = 1 << 16
_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx")
_SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows of named cells.

    Parameters
    ----------
    path : str
        Where it was read from; errors name it.
    columns : tuple of str
        Names of the columns, in order.
    rows : tuple of tuples
        The cells of each row; None where one is missing.
    separator : str
        What separates the cells of a line of text.

    Examples
    --------
    >>> table = DataTable("people.csv", ("age", "sex"), (("40", "f"), ("0.1", None)))
    >>> table.row(1)
    {'age': '0.1', 'sex': None}
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    separator: str = ","

    def __post_init__(self) -> None:
        twice = first_twice(self.columns)
        if twice is not None:
            raise DataError(f"{self.path}: two columns are called {twice!r}; give each its own name")

    def row(self, k: int) -> dict[str, Any]:
        """Return the cells of a row by column name; rows count from 0."""
        if not 0 <= k < len(self.rows):
            some = f"its {len(self.rows)} rows count from 0 to {len(self.rows) - 1}" if self.rows else "it has no rows"
            raise DataError(f"{self.path}: there is no row {k}; {some}")
        return dict(zip(self.columns, self.rows[k], strict=True))

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column."""
        place = self.place(name)
        return [row[place] for row in self.rows]

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise an error if there is no column for each of the features of a model; it names a column that is near."""
        absent = [name for name in names if name not in self.columns]
        if not absent:
            return
        lower = {column.lower(): column for column in self.columns if column not in names}
        near = difflib.get_close_matches(absent[0].lower(), lower, n=1)
        hint = f"; is it {lower[near[0]]!r}?" if near else ""
        more = f" ({len(absent)} are missing in all)" if len(absent) > 1 else ""
        raise DataError(f"{self.path}: has no column {absent[0]!r}, a feature of the model{more}{hint}")

    def place(self, name: str) -> int:
        """Return the position of a column; `FeatureNameError` if there is none of that name."""
        if name not in self.columns:
            raise FeatureNameError(name, self.columns, what=f"column of {self.path}")
        return self.columns.index(name)


def read_table(path: str | os.PathLike[str]) -> DataTable:
    """Read a table; the end of the file's name tells its format.

    Parameters
    ----------
    path : str or path-like
        A file that ends in .csv, .tsv, .jsonl (all three also with .gz), .parquet or .xlsx; "-" for standard input, CSV
        or JSON lines. The first line of a CSV file names its columns, and shows whether commas, semicolons, tabs or
        bars separate them; an empty cell is a missing one, an empty line is no row.

    Raises
    ------
    DataError
        If there is no such file, or it is no table.
    """
    file = Path(path)
    name = file.name.lower().removesuffix(".gz")
    if str(path) != "-" and not name.endswith(_ENDINGS):
        raise DataError(f"{path}: the name must end in {', '.join(_ENDINGS)}, which says what format it is")
    try:
        if name.endswith(".parquet"):
            return _read_parquet(file)
        return _read_excel(file) if name.endswith(".xlsx") else _read_text(file)
    except SufficeError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text; save it in that encoding") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: is not a complete gzip file ({error}); compress it again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({_line(error.strerror or error)})") from None
    except (ValueError, TypeError, LookupError, ArithmeticError, MemoryError) as error:
        raise DataError(f"{path}: cannot be read as a table ({_line(error)})") from None


def _line(error: object) -> str:
    return " ".join(str(error).split())


def _check_limit(file: Path, count: int, most: int, what: str) -> None:
    if count > most:
        raise DataError(
            f"{file}: has more than {most:,} {what}, which is too large to be read whole; take fewer rows or columns, "
            "or explain it with suffice batch, which reads a part at a time"
        )


def _read_text(file: Path) -> DataTable:
    name = file.name.lower().removesuffix(".gz")
    with _open_text(file) as text:
        first = text.readline(MOST_CHARACTERS + 1)
        is_json = name.endswith((".jsonl", ".ndjson")) or (str(file) == "-" and first.lstrip().startswith("{"))
        rest = chain([first] if first else [], iter(lambda: text.readline(MOST_CHARACTERS + 1), ""))
        return _read_json_lines(file, rest) if is_json else _read_csv(file, rest, first)


def _read_json_lines(file: Path, lines: Iterator[str]) -> DataTable:
    """Read an object a line; a field that an object lacks is missing there."""
    columns: dict[str, None] = {}
    found: list[dict[str, Any]] = []
    cells = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=named_once)
        except (ValueError, RecursionError) as error:  # the latter: lists within lists, without an end
            raise DataError(f"{file}: line {number} cannot be read as JSON ({error})") from None
        if not isinstance(one, dict) or any(isinstance(cell, (dict, list)) for cell in one.values()):
            raise DataError(f'{file}: line {number} must be an object of plain values, such as {{"age": 42}}')
        texts = (text for pair in one.items() for text in pair if isinstance(text, str))
        if "\\u" in line and not all(map(is_writable, texts)):
            raise DataError(f"{file}: line {number} spells half of a surrogate pair, which is no text")
        columns |= dict.fromkeys(one)
        found.append(one)
        cells += len(one)
        _check_limit(file, cells, MOST_CELLS, "cells")
    if not columns:
        raise DataError(f"{file}: is empty; every line must be an object with the cells of a row")
    _check_limit(file, len(found) * len(columns), MOST_CELLS, "cells")
    rows = tuple(tuple(None if one.get(name) == "" else one.get(name) for name in columns) for one in found)
    return DataTable(str(file), tuple(columns), rows)


def _separator(file: Path, first: str) -> str:
    """Return what separates cells: what the line of names has most of, outside quotes; a comma if in doubt."""
    if file.name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    plain = "".join(first.split('"')[::2])
    return max(_SEPARATORS, key=plain.count)


def _read_csv(file: Path, text: Iterator[str], first: str) -> DataTable:
    separator = _separator(file, first)
    lines = _lines(file, text, separator)
    header = next(lines, None)
    if header is None:
        raise DataError(f"{file}: is empty; its first line must name the columns")
    _, columns = header
    _check_limit(file, len(columns), MOST_CELLS, "cells")
    rows: list[tuple[str | None, ...]] = []
    most_rows = MOST_CELLS // len(columns)
    for number, cells in lines:
        if len(cells) != len(columns):
            raise DataError(f"{file}: line {number} has {len(cells)} cells, but there are {len(columns)} columns")
        rows.append(tuple([cell or None for cell in cells]))
        if len(rows) > most_rows:
            _check_limit(file, len(rows) * len(columns), MOST_CELLS, "cells")
    return DataTable(str(file), tuple(columns), tuple(rows), separator)


def _open_text(file: Path) -> IO[str]:
    if str(file) == "-":
        raw = _Limited(file, open(sys.stdin.fileno(), "rb", buffering=0, closefd=False))  # noqa: SIM115
        return io.TextIOWrapper(io.BufferedReader(raw, 1 << 16), encoding="utf-8-sig", newline="")
    # Spreadsheets put a byte order mark first; "utf-8-sig" reads UTF-8 with and without one.
    is_packed = file.suffix.lower() == ".gz"
    content: Any = gzip.open(file) if is_packed else open(file, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    return io.TextIOWrapper(io.BufferedReader(_Limited(file, content), 1 << 16), encoding="utf-8-sig", newline="")


class _Limited(io.RawIOBase):
    """A file that can be read up to the limit and no further."""

    def __init__(self, file: Path, content: Any) -> None:
        self._file, self._content, self._count = file, content, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._content.readinto(buffer)
        self._count += count
        _check_limit(self._file, self._count, MOST_BYTES, "bytes once unpacked")
        return count

    def close(self) -> None:
        self._content.close()
        super().close()


def _lines(file: Path, text: Iterator[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every line that has some, with its number; a quoted line break makes one of several lines."""
    length = 0  # of the row that is being read

    def pieces() -> Iterator[str]:
        nonlocal length
        for piece in text:
            length += len(piece)
            if length > MOST_CHARACTERS:
                _check_limit(file, length, MOST_CHARACTERS, "characters in one row")
            yield piece

    reader = csv.reader(pieces(), strict=True, delimiter=separator)
    try:
        for cells in reader:
            length = 0
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{file}: line {reader.line_num} is not a valid line of a CSV file ({error})") from None


def check_quotes(path: Path) -> None:
    """Refuse a CSV file of any size in which quotes are not as they should be.

    Readers that are more lenient take all that follows a quote, up to the next one, for a single cell.
    """
    is_packed = path.suffix.lower() == ".gz"
    with gzip.open(path) if is_packed else open(path, "rb") as content:
        if not any(b'"' in block for block in iter(lambda: content.read(1 << 20), b"")):
            return
        content.seek(0)
        for _ in _lines(path, io.TextIOWrapper(content, encoding="utf-8-sig", newline=""), ","):
            pass


def _read_excel(file: Path) -> DataTable:
    try:
        openpyxl = importlib.import_module("openpyxl")
    except ImportError as error:
        raise DataError(f"{file}: Excel files need openpyxl ({error}): pip install openpyxl") from None
    try:
        with open(file, "rb") as content:
            with zipfile.ZipFile(content) as packed:
                _check_limit(file, sum(one.file_size for one in packed.infolist()), MOST_BYTES, "bytes once unpacked")
            book = openpyxl.load_workbook(content, read_only=True, data_only=True, keep_links=False)
            with contextlib.closing(book):
                return _read_sheet(file, book.worksheets[0])
    except (SufficeError, OSError):
        raise
    except Exception as error:  # a damaged workbook makes openpyxl raise almost anything
        raise DataError(f"{file}: cannot be read as an Excel file ({_line(error) or type(error).__name__})") from None


def _read_sheet(file: Path, sheet: Any) -> DataTable:
    """Read the first sheet as a CSV file is read: its first line names the columns, an empty line is no row."""
    sheet.reset_dimensions()  # a file may say that it has a billion cells
    columns: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    count = 0
    for number, line in enumerate(sheet.rows, 1):
        filled = [k for k, cell in enumerate(line, 1) if cell.value is not None and cell.value != ""]
        count += len(line)
        _check_limit(file, count, MOST_CELLS, "cells")
        if not filled:
            continue
        wrong = next((cell for cell in line if cell.data_type == "e"), None)
        if wrong is not None:
            raise DataError(f"{file}: {wrong.coordinate} is the error {wrong.value}; correct it, or empty the cell")
        cells = [None if cell.value == "" else cell.value for cell in line[: filled[-1]]]
        if not columns:
            columns = tuple("" if cell is None else str(cell) for cell in cells)
        elif len(cells) > len(columns):
            raise DataError(f"{file}: row {number} has {len(cells)} cells, but there are {len(columns)} columns")
        else:
            rows.append((*cells, *[None] * (len(columns) - len(cells))))
            _check_limit(file, len(rows) * len(columns), MOST_CELLS, "cells")
    if not columns:
        raise DataError(f"{file}: is empty; the first line of its first sheet must name the columns")
    return DataTable(str(file), columns, tuple(rows))


def _read_parquet(file: Path) -> DataTable:
    try:
        pyarrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{file}: Parquet files need pyarrow ({error}): pip install 'suffice[data]'") from None
    with open(file, "rb") as content:
        try:
            opened = parquet.ParquetFile(content)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{file}: is not a Parquet file ({_line(error)})") from None
        names = opened.schema_arrow.names
        for field in opened.schema_arrow:  # of lists, a page can hold far more than a file can say beforehand
            if field.type.num_fields:
                raise DataError(f"{file}: column {field.name!r} holds a {field.type} in each cell; leave it out")
        _check_limit(file, opened.metadata.num_rows * len(names), MOST_CELLS, "cells")
        _check_limit(file, _count_bytes(opened.metadata), MOST_BYTES, "bytes once unpacked")
        # Text is read as an index into its distinct values, which may stand for far more than the file's size.
        texts = [field.name for field in opened.schema_arrow if is_text(pyarrow, field.type)]
        opened = parquet.ParquetFile(content, read_dictionary=texts)
        rows: list[tuple[Any, ...]] = []
        count = 0
        for batch in opened.iter_batches(max(1, _CELLS_AT_ONCE // max(1, len(names))), use_threads=False):
            count += sum(bytes_of(pyarrow, column) for column in batch.columns)
            _check_limit(file, count, MOST_BYTES, "bytes once unpacked")
            rows.extend(zip(*(_cells(pyarrow, column) for column in batch.columns), strict=True))
    return DataTable(str(file), tuple(names), tuple(rows))


def _count_bytes(metadata: Any) -> int:
    return sum(int(metadata.row_group(g).total_byte_size) for g in range(metadata.num_row_groups))


def is_text(pyarrow: Any, kind: Any) -> bool:
    """Whether the cells of an Arrow type are of any length, so that a file may write many as one."""
    types = pyarrow.types
    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_binary))


def bytes_of(pyarrow: Any, column: Any) -> int:
    """Return how many bytes the cells of a column take, each by itself."""
    if not (pyarrow.types.is_dictionary(column.type) and is_text(pyarrow, column.type.value_type)):
        return int(column.nbytes)
    compute = importlib.import_module("pyarrow.compute")
    lengths = compute.binary_length(column.dictionary).cast("int64").take(column.indices)
    return int(compute.sum(lengths, min_count=0).as_py())


def _cells(pyarrow: Any, column: Any) -> list[Any]:
    if not pyarrow.types.is_dictionary(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    distinct = [*column.dictionary.to_pylist(), None]  # equal cells are one object
    return [distinct[-1 if k is None else k] for k in column.indices.to_pylist()]
