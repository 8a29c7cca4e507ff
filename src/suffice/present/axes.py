"""Axes with text that fits: names of lines, legends, labels cut to their room."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

LONGEST_NAME = 40
FONT, LINE = 8.0, 11.5  # points: size of the letters, and height of a line of them


def new_figure(width: float, height: float) -> Figure:
    """Return a figure of pyplot's, so that a notebook shows it and `plt.savefig` saves it."""
    return pyplot.figure(figsize=(width, height), layout="constrained")


def axis_of(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axis given, or that of a new figure."""
    if ax is None:
        ax = new_figure(width, height).subplots()
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=FONT)
    ax.xaxis.label.set_fontsize(FONT)
    ax.yaxis.label.set_fontsize(FONT)
    return ax


def panels(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many axes, three in a row, with room for a legend below, and the axes."""
    columns = min(3, count)
    rows = -(-count // columns)
    figure = new_figure(width * columns, height * rows + 0.4)
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in grid[count:]:
        ax.set_axis_off()
    return figure, grid[:count]


def lines_that_fit(ax: Axes) -> int:
    """Return how many lines of text fit one above the other."""
    return max(int(size_in_points(ax)[1] / LINE), 1)


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of an axis, before its figure is laid out."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches() * 72
    place = ax.get_position()
    return place.width * width, place.height * height


def fitted(text: str, points: float) -> str:
    """Return text, without some of its middle if it is wider than so many points in bold letters."""
    for most in range(len(text), 3, -1):
        shown = short_label(text, most)
        if width_of(shown) <= points:
            return shown
    return short_label(text, 3)


def width_of(text: str) -> float:
    """Return how wide text is in bold letters, in points."""
    font = get_font(findfont(FontProperties(weight="bold")))
    font.set_size(FONT, 72)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font has not
        font.set_text(text)
    return float(font.get_width_height()[0]) / 64


def name_lines(ax: Axes, names: Sequence[str], are_bold: Sequence[bool]) -> None:
    """Write a name beside each bar, the first on top."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), [short_label(name) for name in names], fontsize=FONT)
    ax.tick_params(axis="y", length=0)
    for text, is_bold in zip(ax.get_yticklabels(), are_bold, strict=True):
        literal(text).set_fontweight("bold" if is_bold else "normal")


def legend(ax: Axes, entries: Sequence[Patch | Line2D], above: float = 0.0) -> None:
    """Write what colours and lines mean, above an axis."""
    ax.legend(
        handles=list(entries),
        loc="lower right",
        bbox_to_anchor=(1, 1 + above),
        ncols=len(entries),
        frameon=False,
        fontsize=FONT,
        borderaxespad=0.2,
    )


def literal(text: Text) -> Text:
    """Take text as it is: a dollar sign in a name begins no formula."""
    text.set_parse_math(False)
    return text


def short_label(name: str, most: int = LONGEST_NAME) -> str:
    """Return a name on one line, without its middle if it is too long."""
    line = "".join(letter if letter.isprintable() else " " for letter in name)
    if len(line) <= most:
        return line
    tail = most // 3
    return f"{line[: most - tail - 1]}…{line[len(line) - tail :]}"
