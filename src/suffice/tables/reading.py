"""Tables as the command line gets them: CSV files, plain or gzipped, and Parquet files.

In comes a path. Out goes a `DataTable`. Guaranteed of it: no two columns have the same name, and every row has a cell
for every column. The cells of a CSV file stay text, so that "0.1" is one tenth and not the float beside it.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from suffice.errors import DataError, FeatureNameError


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

    Examples
    --------
    >>> table = DataTable("people.csv", ("age", "sex"), (("40", "f"), ("0.1", None)))
    >>> table.row(1)
    {'age': '0.1', 'sex': None}
    """

    path: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        twice = [name for k, name in enumerate(self.columns) if name in self.columns[:k]]
        if twice:
            raise DataError(f"{self.path}: two columns are called {twice[0]!r}; give each its own name")

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
        A file that ends in .csv, .csv.gz or .parquet. The first line of a CSV file names its columns; an empty cell
        is a missing one, an empty line is no row.

    Raises
    ------
    DataError
        If there is no such file, or it is no table.
    """
    file = Path(path)
    if not file.name.lower().endswith((".csv", ".csv.gz", ".parquet")):
        raise DataError(f"{path}: the name must end in .csv, .csv.gz or .parquet, which says what format it is")
    try:
        return _read_parquet(file) if file.suffix.lower() == ".parquet" else _read_csv(file)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text; save it in that encoding") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: is not a complete gzip file ({error}); compress it again") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from None


def _read_csv(file: Path) -> DataTable:
    with _open_text(file) as text:
        lines = _lines(file, text)
        header = next(lines, None)
        if header is None:
            raise DataError(f"{file}: is empty; its first line must name the columns")
        _, columns = header
        rows = []
        for number, cells in lines:
            if len(cells) != len(columns):
                raise DataError(f"{file}: line {number} has {len(cells)} cells, but there are {len(columns)} columns")
            rows.append(tuple(cell or None for cell in cells))
    return DataTable(str(file), tuple(columns), tuple(rows))


def _open_text(file: Path) -> IO[str]:
    # Spreadsheets put a byte order mark first; "utf-8-sig" reads UTF-8 with and without one.
    if file.suffix.lower() == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return open(file, encoding="utf-8-sig", newline="")


def _lines(file: Path, text: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of every line that has some, with its number; a quoted line break makes one of several lines."""
    reader = csv.reader(text, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(f"{file}: line {reader.line_num} is not a valid line of a CSV file ({error})") from None


def _read_parquet(file: Path) -> DataTable:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{file}: Parquet files need pyarrow ({error}): pip install 'suffice[data]'") from None
    with open(file, "rb") as content:
        try:
            table = parquet.ParquetFile(content).read()
        except ValueError as error:  # pyarrow's ArrowInvalid
            raise DataError(f"{file}: is not a Parquet file ({' '.join(str(error).split())})") from None
    columns = [column.to_pylist() for column in table.columns]
    rows = zip(*columns, strict=True) if columns else ()
    return DataTable(str(file), tuple(table.column_names), tuple(rows))
