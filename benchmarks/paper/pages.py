"""What the tables and figures are written with: CSV, Markdown, and curves of medians over time."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import numpy as np


class Page:
    """One table or figure: a CSV file, a picture if there is one, and a Markdown page."""

    def __init__(self, options, name, title):
        self.folder, self.name = Path(options.output), name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.lines = [f"# {title}", "", options.about, ""]

    def say(self, text):
        self.lines += [text, ""]

    def table(self, header, rows, suffix=""):
        """Write rows to the CSV file, and to the page as a table."""
        with (self.folder / f"{self.name}{suffix}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
        self.lines += ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
        self.lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]

    def data(self, header, rows):
        """Write rows to the CSV file alone."""
        with (self.folder / f"{self.name}.csv").open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])

    def draw(self, panels, draw, width=4.2):
        """Draw a panel for each key with `draw(axes, key)`, as PNG and PDF; say so where there is no matplotlib."""
        try:
            import matplotlib
        except ImportError:
            self.say("(No picture: matplotlib is not installed, `pip install 'suffice[plot]'`.)")
            return
        matplotlib.use("Agg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, len(panels), figsize=(width * len(panels), 3.2), squeeze=False)
        for one, key in zip(axes[0], panels, strict=True):
            draw(one, key)
        figure.tight_layout()
        figure.savefig(self.folder / f"{self.name}.png", dpi=130, metadata={"Software": None})
        figure.savefig(self.folder / f"{self.name}.pdf", metadata={"CreationDate": None})
        pyplot.close(figure)
        self.lines += [f"![{self.name}]({self.name}.png)", ""]

    def write(self):
        (self.folder / f"{self.name}.md").write_text("\n".join(self.lines).rstrip() + "\n")


def mean(values, digits=2):
    """Return "mean ± deviation" of some numbers, a dash for none."""
    values = list(values)
    if not values:
        return "-"
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.{digits}f} ± {spread:.{digits}f}"


def over_time(records, column, points=60):
    """Return times and the 25, 50 and 75 % quantiles of a column of the steps (1: size, 2: features processed)."""
    end = max(record["steps"][-1][0] for record in records)
    start = min(max(step[0] for step in record["steps"][:2]) for record in records)
    times = np.geomspace(max(start / 2, 1e-4), end, points)
    curves = []
    for record in records:
        seconds = np.array([step[0] for step in record["steps"]])
        values = np.array([step[column] for step in record["steps"]], dtype=float)
        curves.append(values[np.maximum(np.searchsorted(seconds, times, side="right") - 1, 0)])
    return times, np.quantile(np.array(curves), [0.25, 0.5, 0.75], axis=0)
