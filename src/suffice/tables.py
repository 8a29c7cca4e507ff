"""Tables as the command line gets them: CSV files, plain or gzipped, and Parquet files.

In comes a path. Out goes a `DataTable`. Guaranteed of it: no two columns have the same name, and every row has a cell
for every column. The cells of a CSV file stay text, so that "0.1" is one tenth and not the float beside it.

To learn from, a table becomes a `TrainingData`: each column numbers or names, and a target without gaps.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import math
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from suffice.domain import is_missing
from suffice.errors import DataError, FeatureNameError

FEW = 20  # so many different numbers may still be names of something


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
        raise DataError(f"{path}: the name must end in .csv, .csv.gz or .parquet, which tells the format")
    try:
        return _read_parquet(file) if file.suffix.lower() == ".parquet" else _read_csv(file)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text; save it in that encoding") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: is not a whole gzip file ({error}); compress it again") from None
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
        raise DataError(f"{file}: line {reader.line_num} is no line of a CSV file ({error})") from None


def _read_parquet(file: Path) -> DataTable:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{file}: Parquet files need pyarrow ({error}): pip install 'suffice[data]'") from None
    with open(file, "rb") as content:
        try:
            table = parquet.ParquetFile(content).read()
        except ValueError as error:  # pyarrow's ArrowInvalid
            raise DataError(f"{file}: is no Parquet file ({' '.join(str(error).split())})") from None
    columns = [column.to_pylist() for column in table.columns]
    rows = zip(*columns, strict=True) if columns else ()
    return DataTable(str(file), tuple(table.column_names), tuple(rows))


# --- tables to learn from ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TrainingData:
    """Columns to learn from, and what to learn.

    Parameters
    ----------
    columns : mapping of name to cells
        Floats with NaN for a missing cell, or names (text, truth values) with None for one.
    names : tuple of str
        The columns that hold names.
    target : list
        Classes (integers, text, truth values), or floats.
    is_classification : bool
        Whether the target is one of classes.
    """

    columns: dict[str, list[Any]]
    names: tuple[str, ...]
    target: list[Any]
    is_classification: bool


def training_data(
    table: DataTable,
    target: str,
    drop: Sequence[str] = (),
    task: Literal["auto", "classification", "regression"] = "auto",
) -> TrainingData:
    """Return what there is to learn from a table.

    Parameters
    ----------
    target : str
        Column to predict.
    drop : sequence of str
        Columns to leave out.
    task : {"auto", "classification", "regression"}
        By itself a target is one of classes if it is names, or 20 different integers at most.

    Raises
    ------
    DataError
        If a column is neither numbers nor names, the target has gaps or never changes, or no column is left.

    Examples
    --------
    >>> table = DataTable("t.csv", ("age", "sex", "y"), (("40", "f", "1"), ("0.5", None, "0")))
    >>> data = training_data(table, "y")
    >>> data.columns, data.names, data.target
    ({'age': [40.0, 0.5], 'sex': ['f', None]}, ('sex',), [1, 0])
    """
    for name in (target, *drop):
        table.place(name)
    kept = [name for name in table.columns if name != target and name not in drop]
    if target in drop:
        raise DataError(f"{table.path}: the target {target!r} is dropped; keep it")
    if not kept:
        raise DataError(f"{table.path}: no column is left to learn from; drop fewer columns")
    if "" in kept:
        raise DataError(f"{table.path}: column {table.place('') + 1} has no name; give it one, or drop the column ''")
    labels, is_classification = _read_target(target, table.column(target), task)
    columns, names = {}, []
    for name in kept:
        cells = table.column(name)
        read = _numbers(name, cells)
        columns[name] = cells if read is None else read
        names += [name] if read is None else []
    return TrainingData(columns, tuple(names), labels, is_classification)


def _read_target(name: str, cells: list[Any], task: str) -> tuple[list[Any], bool]:
    """Return the target, and whether it is one of classes."""
    missing = [row for row, cell in enumerate(cells) if is_missing(cell)]
    if missing:
        raise DataError(f"the target {name!r} is missing in row {missing[0]} ({len(missing)} in all); drop those rows")
    read = _numbers(name, cells)
    if read is None and task == "regression":
        raise DataError(f"the target {name!r} holds names, such as {cells[0]!r}; a regression needs numbers")
    are_integers = read is not None and all(value.is_integer() and abs(value) < 2**53 for value in read)
    is_few = read is None or (are_integers and len(set(read)) <= FEW)
    is_classification = task == "classification" or (task == "auto" and is_few)
    values: list[Any] = cells if read is None else read
    if is_classification:
        values = [int(value) for value in values] if are_integers else [_class_name(cell) for cell in cells]
    if len(set(values)) < 2:
        what = f"is {values[0]} in every row" if values else "has no rows"
        raise DataError(f"the target {name!r} {what}; there is nothing to learn")
    return values, is_classification


def _class_name(cell: Any) -> str | bool:
    return cell if isinstance(cell, bool) else str(cell)


def _numbers(name: str, cells: Sequence[Any]) -> list[float] | None:
    """Return a column of numbers as floats, NaN where a cell is missing; None if the column holds names.

    Text that spells a number is one. Names among a few numbers make the numbers names too ("0", "1", "2+"); a name
    among many is a mistake.
    """
    read = [math.nan if is_missing(cell) else _number(name, k, cell) for k, cell in enumerate(cells)]
    found = [number for number in read if number is not None]
    if len(found) == len(read):
        return found
    row = next(k for k, number in enumerate(read) if number is None)
    different = {number for number in found if not math.isnan(number)}
    if len(different) > FEW or (different and _is_spelled_nan(cells[row])):
        raise DataError(
            f"column {name!r} holds numbers, but in row {row} it is {cells[row]!r}; mend it, "
            "leave the cell empty if it is missing, or drop the column"
        )
    return None


def _number(name: str, row: int, cell: Any) -> float | None:
    """Return the finite number that a cell holds, None for a name."""
    if isinstance(cell, bool):
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    except TypeError:
        raise DataError(f"column {name!r} is {cell!r} in row {row}, neither a number nor text; drop it") from None
    if not math.isfinite(value) and not isinstance(cell, str):
        raise DataError(f"column {name!r} is {cell!r} in row {row}; give finite numbers, or drop it")
    return value if math.isfinite(value) else None


def _is_spelled_nan(cell: Any) -> bool:
    """Whether text such as "nan" or "inf" stands in a cell."""
    try:
        return not math.isfinite(float(cell))
    except ValueError:
        return False
