"""Tables of the command line: read, and said how where that was guessed."""

from __future__ import annotations

from pathlib import Path

from suffice.present.terminal import tell
from suffice.tables.reading import DataTable, read_table

_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars"}


def table_at(path: Path) -> DataTable:
    """Return a table; on stderr, what separates its cells if that is not the comma."""
    table = read_table(path)
    if table.separator in _NAMES and not str(path).lower().removesuffix(".gz").endswith(".tsv"):
        tell(f"{path}: cells are separated by {_NAMES[table.separator]}.", err=True)
    return table
