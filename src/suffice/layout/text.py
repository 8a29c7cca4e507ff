"""Facts as plain text."""

from __future__ import annotations

from suffice.errors import visible
from suffice.layout.facts import Fact, Facts, Grid

_MOST_ROWS = 12


def to_text(facts: Facts, most_rows: int = _MOST_ROWS) -> str:
    """Return facts as lines of text: a sentence each, tables in columns."""
    return "\n".join(line for fact in facts for line in _lines(fact, most_rows))


def _lines(fact: Fact | Grid, most: int) -> list[str]:
    if isinstance(fact, Fact):
        return [f"{visible(fact.label)}: {visible(fact.text)}"]
    shown = [tuple(visible(cell) for cell in row.cells) for row in fact.rows[:most]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ["  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in shown]
    more = len(fact.rows) - len(shown)
    return [*(line.rstrip() for line in lines), *([f"  ... and {more} more"] if more else [])]
