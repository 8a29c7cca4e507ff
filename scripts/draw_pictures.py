"""Draw the README's picture from the embedded model: the drops of one patient against the margin.

.venv/bin/python scripts/draw_pictures.py
"""

from __future__ import annotations

import csv
from html import escape
from pathlib import Path

import suffice

ROOT = Path(__file__).parent.parent
DATA = ROOT / "src" / "suffice" / "data"
WIDTH, LEFT, ROW = 760, 190, 15


def main() -> None:
    """Write docs/pictures/drops.svg."""
    explainer = suffice.Explainer(suffice.load(DATA / "breast_cancer.safetensors"))
    with (DATA / "breast_cancer_rows.csv").open() as file:
        patient = list(csv.DictReader(file))[1]
    why = explainer.explain({name: patient[name] for name in explainer.model.names}, radius=0.5, unit="std")
    drops = sorted(((float(drop), name) for name, drop in why.drops.items()), key=lambda one: one[0])
    margin = float(why.margin)
    unit = (WIDTH - LEFT - 60) / max(margin, sum(drop for drop, _ in drops))
    lines = [
        f'<line x1="{LEFT + margin * unit:.1f}" y1="24" x2="{LEFT + margin * unit:.1f}" y2="{ROW * len(drops) + 34}" '
        'stroke="#b2182b" stroke-width="2" stroke-dasharray="5 3"/>',
        f'<text x="{LEFT + margin * unit:.1f}" y="16" text-anchor="middle" fill="#b2182b">margin {margin:.2f}</text>',
    ]
    start = 0.0
    for k, (drop, name) in enumerate(drops):
        y, is_kept = 30 + k * ROW, name in why.features
        fill = "#2166ac" if is_kept else "#9ecae1"
        weight = ' font-weight="bold"' if is_kept else ""
        lines.append(f'<text x="{LEFT - 8}" y="{y + 10}" text-anchor="end"{weight}>{escape(name)}</text>')
        lines.append(
            f'<rect x="{LEFT + start * unit:.1f}" y="{y}" width="{max(drop * unit, 0.5):.1f}" '
            f'height="{ROW - 4}" fill="{fill}"/>'
        )
        start += drop
    height = ROW * len(drops) + 44
    style = 'font-family="sans-serif" font-size="11" fill="#222"'
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" {style}>\n'
        f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(lines) + "\n</svg>\n"
    )
    (ROOT / "docs" / "pictures" / "drops.svg").write_text(svg)


if __name__ == "__main__":
    main()
