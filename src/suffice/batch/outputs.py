"""The formats that results are written in: Parquet, Arrow IPC, CSV, JSON lines. The name of the file says which.

In: an open file and tables of results, encoded, one after the other. Out: one file of all of them, with words as text.
Parquet and Arrow IPC keep types, lists and the question. CSV has the fixed features of a row as a JSON list in one
cell; JSON lines have an object for each row, and null for what is missing or not a number.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from suffice.batch.result import ENCODED
from suffice.errors import DataError
from suffice.tables.reading import is_text

Write = Callable[[Any], None]  # takes a table of results
Writer = Callable[[IO[bytes], Any], AbstractContextManager[Write]]


def writer_for(output: Path) -> Writer:
    """Return what writes a file of that name; `DataError` if the name does not say how."""
    for ending, writer in FORMATS.items():
        if output.name.lower().endswith(ending):
            return writer
    *most, last = FORMATS
    raise DataError(f"{output}: the name must end in {', '.join(most)} or {last}, which says what format to write")


def plain_schema(schema: Any) -> Any:
    """Return the schema of results whose words are text again."""
    for name in ENCODED:
        place = schema.get_field_index(name)
        if place >= 0:
            kind = pa.list_(pa.string()) if pa.types.is_list(schema.field(place).type) else pa.string()
            schema = schema.set(place, pa.field(name, kind))
    return schema


@contextmanager
def _parquet(file: IO[bytes], schema: Any) -> Iterator[Write]:
    # Cells that repeat are looked for in text alone: numbers seldom do. What is encoded is written as it is, far
    # faster, and read as text: the schema that readers see is the plain one.
    kinds = {name: schema.field(name).type for name in schema.names}
    texts = [name for name, kind in kinds.items() if is_text(pa, kind) or pa.types.is_dictionary(kind)]
    lists = [f"{name}.list.element" for name, kind in kinds.items() if pa.types.is_list(kind)]
    flat = [name for name, kind in kinds.items() if not pa.types.is_list(kind)]
    with pa.parquet.ParquetWriter(
        file,
        schema,
        use_dictionary=[*texts, *lists],
        write_statistics=flat,  # no reader skips rows by the first and the last of all names in their lists
        write_batch_size=1 << 16,
        store_schema=False,
    ) as writer:
        shown = base64.b64encode(plain_schema(schema).serialize().to_pybytes())
        writer.add_key_value_metadata({**(schema.metadata or {}), b"ARROW:schema": shown})
        yield writer.write_table


@contextmanager
def _arrow(file: IO[bytes], schema: Any) -> Iterator[Write]:
    plain = plain_schema(schema)
    with pa.ipc.new_file(file, plain) as writer:
        yield lambda table: writer.write_table(table.cast(plain))


@contextmanager
def _csv(file: IO[bytes], schema: Any) -> Iterator[Write]:
    plain = plain_schema(schema)
    flat = pa.schema([(one.name, one.type if _is_flat(one.type) else pa.string()) for one in plain])
    with pa.csv.CSVWriter(file, flat) as writer:
        yield lambda table: writer.write_table(_flat(table.cast(plain), flat))


def _flat(table: Any, schema: Any) -> Any:
    """Return a table with lists as JSON text, and as text whatever else Arrow does not write to CSV."""
    columns = [column if _is_flat(column.type) else _as_text(column) for column in table.columns]
    return pa.table(columns, schema=schema)


def _is_flat(kind: Any) -> bool:
    types = pa.types
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return bool(is_number or types.is_string(kind) or types.is_date(kind) or types.is_timestamp(kind))


def _as_text(column: Any) -> Any:
    cells = column.to_pylist()
    texts = [_text(cell) if isinstance(cell, list) else cell if cell is None else str(cell) for cell in cells]
    return pa.chunked_array([pa.array(texts, pa.string())])


@contextmanager
def _json_lines(file: IO[bytes], schema: Any) -> Iterator[Write]:
    def write(table: Any) -> None:
        for batch in table.to_batches(max_chunksize=1 << 12):
            file.write("".join(f"{_text(row)}\n" for row in batch.to_pylist()).encode())

    yield write


def _text(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it; numbers that are infinite, dates and the like become text."""
    match value:
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case float() if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


FORMATS: dict[str, Writer] = {
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".csv": _csv,
    ".jsonl": _json_lines,
}
