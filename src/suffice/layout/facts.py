"""What an answer says, as data: labelled sentences and small tables. Texts, notebooks and pages lay it out."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from suffice.errors import visible


class Fact(NamedTuple):
    """A sentence, and the word that stands before it."""

    label: str
    text: str


class Row(NamedTuple):
    """A line of a table."""

    cells: tuple[str, ...]
    share: float | None = None  # of the largest amount in the table, from 0 to 1: how long a bar is


class Grid(NamedTuple):
    """A table; `heads` name its columns where these are shown."""

    heads: tuple[str, ...]
    rows: tuple[Row, ...]


Facts: TypeAlias = tuple[Fact | Grid, ...]


def facts_document(facts: Facts) -> list[dict[str, Any]]:
    """Return facts as JSON has them: sentences to be shown, so that names in them are made visible."""
    return [
        {"label": visible(one.label), "text": visible(one.text)}
        if isinstance(one, Fact)
        else {"heads": list(one.heads), "rows": [[visible(cell) for cell in row.cells] for row in one.rows]}
        for one in facts
    ]
