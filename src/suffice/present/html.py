"""Results as pieces of HTML, for notebooks and reports. What comes from data is escaped; there are no scripts.

`to_html` is what `_repr_html_` of a result returns: self-contained, readable in light and dark notebooks.
"""

from __future__ import annotations

from html import escape
from typing import Any

from suffice.domain import show
from suffice.present.text import describe_break, notes, statement
from suffice.rational import rational
from suffice.results import Explanation

_MOST_ROWS = 12

STYLE = """
.suffice { font: 14px/1.45 system-ui, sans-serif; max-width: 60rem; }
.suffice p { margin: .3em 0; }
.suffice .proven { border-left: 4px solid #12355b; padding-left: .6em; }
.suffice table { border-collapse: collapse; margin: .6em 0; }
.suffice th, .suffice td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #8884;
  vertical-align: top; overflow-wrap: break-word; }
.suffice td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.suffice .bar { display: inline-block; height: .7em; background: #12355b; margin-right: .5em; }
.suffice pre { white-space: pre-wrap; }
"""


def to_html(result: Any) -> str:
    """Return a result as one element, with its style."""
    body = explanation_html(result) if isinstance(result, Explanation) else f"<pre>{escape(str(result))}</pre>"
    return f'<div class="suffice"><style>{STYLE}</style>{body}</div>'


def explanation_html(why: Explanation) -> str:
    """Return what `print(why)` says, its kept features as a table."""
    headline, proven = statement(why)
    kept = kept_table(why) if why.size else ""
    rest = "".join(f"<p>{escape(note)}</p>" for note in notes(why))
    return f'<p>{_labelled(headline)}</p><p class="proven">{_labelled(proven)}</p>{kept}{rest}'


def kept_table(why: Explanation, most: int = _MOST_ROWS) -> str:
    """Return the kept features: value, drop as a bar and a number, what would break the claim."""
    drops = why.drops
    finite = [float(drop) for drop in drops.values() if drop != float("inf")]
    widest = max(finite, default=0.0) or 1.0
    rows = []
    for i in why.kept[:most]:
        name = why.model.names[i]
        drop = drops[name]
        is_finite = drop != float("inf")
        width = float(drop) / widest if is_finite else 1.0
        amount = show(rational(drop)) if is_finite else "any amount"
        rows.append(
            f"<tr><td>{escape(name)}</td><td>{escape(show(why.row[i]))}</td>"
            f'<td class="number"><span class="bar" style="width:{6 * width:.3f}em"></span>{escape(amount)}</td>'
            f"<td>{escape(describe_break(why, name))}</td></tr>"
        )
    head = "".join(
        f'<th scope="col">{title}</th>'
        for title in ("kept feature", "value", "could lower the margin by", "if free, broken by")
    )
    more = f"<p>... and {why.size - most} more</p>" if why.size > most else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"


def _labelled(sentence: str) -> str:
    """Return a sentence with what stands before its first colon in bold."""
    label, sign, rest = sentence.partition(":")
    return f"<strong>{escape(label)}{sign}</strong>{escape(rest)}"
