"""A report on decisions: one HTML file with pictures, proofs and certificates in it, for reading and printing.

In: decisions (an explanation each, its certificate if there is one) and facts about where they come from. Out: text.
Guaranteed: nothing is loaded from anywhere, there are no scripts (a policy in the file forbids them too), everything
that comes from data is escaped, and the same decisions give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from suffice.answers import Explanation
from suffice.answers.words import amount, region
from suffice.layout.html import STYLE, escaped, facts_html
from suffice.model.domain import format_value, in_full
from suffice.numbers.exact import rational
from suffice.present import plots
from suffice.present.pair_outline import strongest_pairs

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; max-width: 62rem;
  padding: 0 1.2rem; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.3rem; border-top: 2px solid #12355b; padding-top: .8rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 13px; }
th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid #ccc; vertical-align: top; }
.wide { overflow-x: auto; }
.wide td { overflow-wrap: break-word; }
figure { margin: .6rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption { font-size: 13px; color: #444; }
code, pre { font-family: ui-monospace, monospace; font-size: 13px; }
pre { background: #f4f4f4; padding: .6rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
a { color: #12355b; }
@media print {
  body { margin: 0; max-width: none; font-size: 11px; } h2 { break-before: page; } figure, tr { break-inside: avoid; }
  .summary h2 { break-before: auto; }
}
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
"""


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision to report on.

    Parameters
    ----------
    title : str
        What it is called, such as "Row 3".
    why : Explanation
    certificate : str, optional
        The text of its certificate, to be attached.
    """

    title: str
    why: Explanation
    certificate: str | None = None


def report(
    decisions: Sequence[Decision], facts: Mapping[str, str], *, title: str = "Explained decisions", shapes: int = 6
) -> str:
    """Return a report as the text of one HTML file.

    Parameters
    ----------
    decisions : sequence of Decision
        One or more.
    facts : mapping of str to str
        Where they come from: model file, its hash, table, radius.
    title : str
        Headline of the report.
    shapes : int
        How many shapes to draw for each decision, the fixed features' first.
    """
    parts = [_summary(decisions, facts, title)]
    parts += [_section(k, decision, shapes) for k, decision in enumerate(decisions)]
    parts.append(_how_to_check(any(one.certificate for one in decisions)))
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escaped(title)}</title><style>{STYLE}{_STYLE}</style>"
    )
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def _summary(decisions: Sequence[Decision], facts: Mapping[str, str], title: str) -> str:
    listed = "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(fact)}</dd>" for name, fact in facts.items())
    rows = "".join(
        f'<tr><td><a href="#decision-{k}">{escaped(one.title)}</a></td><td>{escaped(_prediction(one.why))}</td>'
        f"<td>{one.why.size} of {len(one.why.row)}</td><td>{escaped(one.why.status.value)}</td>"
        f"<td>{escaped(', '.join(one.why.features) or 'none needed')}</td></tr>"
        for k, one in enumerate(decisions)
    )
    head = _head("decision", "prediction", "features that suffice", "status", "their names")
    table = f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'
    return f'<section class="summary"><h1>{escaped(title)}</h1><dl>{listed}</dl>{table}{_overview(decisions)}</section>'


def _overview(decisions: Sequence[Decision]) -> str:
    """Return pictures of all decisions together, if there are several."""
    if len(decisions) < 2:
        return ""
    every = [one.why for one in decisions]
    pictures = _figure(plots.sizes(every), "sizes", "How many decisions need how many features.")
    if any(why.size for why in every):
        pictures += _figure(plots.frequency(every), "frequency", "How often each feature is fixed.")
    return f"<h2>All decisions together</h2>{pictures}"


def _section(k: int, decision: Decision, shapes: int) -> str:
    why = decision.why
    cut = "Together the free features stay within the margin; adding any fixed one would exceed it."
    if len(why.inequalities) > 1:
        cut = "The tightest part of the claim: the free features stay within its margin. Some may be fixed for others."
    pictures = _figure(plots.waterfall(why), f"drops-{k}", cut)
    if shapes:
        around = "How the margin changes when one feature moves: its exact shape, its region, the row, the worst case."
        pictures += _figure(plots.shapes(why, most=shapes), f"shapes-{k}", around)
    if shapes and strongest_pairs(why, 1):
        both = "What two features take from the margin together, beyond what each takes alone: the darker, the more."
        pictures += _figure(plots.pairs(why, most=min(shapes, 6)), f"pairs-{k}", both)
    return (
        f'<section id="decision-{k}"><h2>{escaped(decision.title)}</h2>'
        f'<div class="suffice">{facts_html(why.facts())}</div>{pictures}'
        f"<h3>What is proven</h3>{_proof(why)}{_features(why)}{_attachment(k, decision)}</section>"
    )


def _figure(drawn: plots.Drawn, name: str, caption: str) -> str:
    svg = plots.to_svg_once(drawn, name)
    label = f'<svg role="img" aria-label="{escaped(caption)}"'
    return f"<figure>{label}{svg.removeprefix('<svg')}<figcaption>{escaped(caption)}</figcaption></figure>"


def _proof(why: Explanation) -> str:
    """Return the theorem in full."""
    claim = why.case.question.claim.sentence(why.model, _prediction(why))
    fixed = " and ".join(f"{why.model.names[i]} = {in_full(why.row[i])}" for i in why.fixed)
    whenever = f"Whenever {fixed}, and" if fixed else "Whenever"
    around = region(why.case.question, why.model)
    least = f"No set that the preferences allow costs less than {why.lower_bound}." if why.lower_bound else ""
    return (
        f"<p>{escaped(whenever)} every other feature is anywhere in its region ({escaped(around)}), "
        f"{escaped(claim)}. {escaped(least)} This holds for the real-valued function whose parameters are the exact "
        "numbers of the model file, without any tolerance.</p>"
    )


def _features(why: Explanation) -> str:
    """Return every feature: its value, where it may go, and what it can take from the margin."""
    drops, witnesses, rows = why.drops, why.witnesses, []
    for name in why.ranked:
        i, drop, witness = why.model.index(name), drops[name], witnesses[name]
        at = rational(witness) if isinstance(witness, Fraction) else witness
        worst = "not attained" if at is None else format_value(at)
        role = "fixed" if i in why.fixed else "free"
        cells = (name, format_value(why.row[i]), str(why.region[i]), role, amount(drop), worst)
        rows.append("<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in cells) + "</tr>")
    lowers = f"{'alone ' if why.case.has_pairs else ''}lowers the margin by at most"
    head = _head("feature", "value", "region", "role", lowers, "at the value")
    return f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _attachment(k: int, decision: Decision) -> str:
    """Return a link that saves the certificate, which is part of the file."""
    if decision.certificate is None:
        return ""
    content = decision.certificate.encode()
    name = f"decision-{k}.certificate.json"
    data = base64.b64encode(content).decode()
    return (
        f'<p>Certificate: <a download="{name}" href="data:application/json;base64,{data}">{name}</a>, '
        f"{len(content):,} bytes, SHA-256 <code>{hashlib.sha256(content).hexdigest()}</code></p>"
    )


def _how_to_check(has_certificates: bool) -> str:
    if not has_certificates:
        return ""
    return (
        "<section><h2>How to check this report</h2><p>Save a certificate with its link above, get the model file with "
        "the hash shown at the top, and run the checker. It is a small program that uses only Python's standard "
        "library; it shares no code with the program that made this report and trusts neither file.</p>"
        "<pre>suffice-check model.safetensors decision-0.certificate.json</pre>"
        "<p>It prints what is proven and exits with 0, or names the step that fails and exits with 1.</p></section>"
    )


def _head(*titles: str) -> str:
    return "<thead><tr>" + "".join(f'<th scope="col">{escaped(title)}</th>' for title in titles) + "</tr></thead>"


def _prediction(why: Explanation) -> str:
    return format_value(rational(why.prediction)) if why.model.task == "regression" else str(why.prediction)
