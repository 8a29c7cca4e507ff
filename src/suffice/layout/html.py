"""Facts as HTML, for notebooks and reports. Everything is escaped, marks that reorder text too; there are no scripts.

`to_html` is what `_repr_html_` of an answer returns: self-contained, readable in light and dark notebooks.
"""

from __future__ import annotations

from html import escape

from suffice.errors import visible
from suffice.layout.facts import Fact, Facts, Grid

_MOST_ROWS = 12

STYLE = """
.suffice { font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; }
.suffice p { margin: .3em 0; }
.suffice .short { font-size: 1.15em; }
.suffice .proven { border-left: 4px solid #3b7dbf; padding-left: .6em; }
.suffice table { border-collapse: collapse; margin: .6em 0; }
.suffice th, .suffice td { color: inherit; background: none; }
.suffice th, .suffice td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #8884;
  vertical-align: top; overflow-wrap: break-word; }
.suffice td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.suffice .bar { display: inline-block; height: .7em; background: #3b7dbf; margin-right: .5em; }
"""


def escaped(text: str) -> str:
    """Return text as it stands in HTML, whatever is in it."""
    return escape(visible(text))


def to_html(facts: Facts) -> str:
    """Return facts as one element, with its style."""
    return f'<div class="suffice"><style>{STYLE}</style>{facts_html(facts)}</div>'


def page(title: str, body: str, style: str = "") -> str:
    """Return a page of its own, for reading and printing: nothing is loaded, and there are no scripts."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escaped(title)}</title><style>{STYLE}{style}</style></head>\n"
        f'<body class="suffice"><h1>{escaped(title)}</h1>\n{body}\n</body></html>\n'
    )


def facts_html(facts: Facts, most_rows: int = _MOST_ROWS) -> str:
    """Return facts as paragraphs and tables, without a style."""
    return "".join(_fact(fact) if isinstance(fact, Fact) else _grid(fact, most_rows) for fact in facts)


def _fact(fact: Fact) -> str:
    kind = {"Proven": ' class="proven"', "In short": ' class="short"'}.get(fact.label, "")
    return f"<p{kind}><strong>{escaped(fact.label)}:</strong> {escaped(fact.text)}</p>"


def _grid(grid: Grid, most: int) -> str:
    heads = "".join(f'<th scope="col">{escaped(head)}</th>' for head in grid.heads)
    rows = "".join(f"<tr>{_cells(row.cells, row.share)}</tr>" for row in grid.rows[:most])
    more = f"<p>... and {len(grid.rows) - most} more</p>" if len(grid.rows) > most else ""
    head = f"<thead><tr>{heads}</tr></thead>" if any(grid.heads) else ""
    return f"<table>{head}<tbody>{rows}</tbody></table>{more}"


def _cells(cells: tuple[str, ...], share: float | None) -> str:
    if share is None:
        return "".join(f"<td>{escaped(cell)}</td>" for cell in cells)
    *others, last = cells
    bar = f'<span class="bar" style="width:{6 * share:.3f}em"></span>'
    return "".join(f"<td>{escaped(cell)}</td>" for cell in others) + f'<td class="number">{bar}{escaped(last)}</td>'
