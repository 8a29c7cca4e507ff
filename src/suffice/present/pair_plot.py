"""Pictures of what two features do together, as maps, with matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from suffice.answers import Explanation
from suffice.errors import DataError
from suffice.present.axes import FONT, axis_of, fitted, legend, literal, panels, short_label, size_in_points
from suffice.present.pair_outline import PairOutline, Side, pair_outline, strongest_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, WORST = "#222222", "#e69f00"
_DASHES = (0, (4, 2))


def pair(why: Explanation, features: tuple[str, str], ax: Axes | None = None, *, part: int | None = None) -> Axes:
    """Draw what the terms over two features add to the claim's score around the row, as a map.

    The darker, the more these two take from the margin together, beyond what each does alone; 0 at the row. A dashed
    frame is the region, a dot the row, a triangle where the two are when all free features together do their worst.

    Parameters
    ----------
    why : Explanation
    features : two names
    ax : matplotlib axis, optional
    part : int, optional
        Which part of the claim; the tightest if not given.

    Returns
    -------
    The axis.
    """
    is_own = ax is None
    ax = axis_of(ax, 4.6, 3.6)
    _draw(ax, pair_outline(why, features, part))
    if is_own:
        legend(ax, _entries(), above=0.13)
    return ax


def pairs(why: Explanation, features: Sequence[tuple[str, str]] | None = None, *, most: int = 6) -> Figure:
    """Return a figure with several pairs of features; by default those whose terms vary most over the region."""
    chosen = (strongest_pairs(why, most) if features is None else list(features))[:most]
    if not chosen:
        raise DataError("there are no terms over two features to draw")
    figure, axes = panels(len(chosen), 3.5, 2.9)
    for ax, names in zip(axes, chosen, strict=True):
        pair(why, names, ax)
    figure.legend(handles=_entries(), loc="outside lower center", ncols=3, frameon=False, fontsize=FONT)
    return figure


def _draw(ax: Axes, drawn: PairOutline) -> None:
    """Draw what two features do together: the darker, the more they take from the margin."""
    first, second = drawn.sides
    heights = [height for row in drawn.heights for height in row]
    low, high = min(heights), max(heights)
    for (left, right), row in zip(first.edges, drawn.heights, strict=True):
        edges = [second.edges[0][0], *(end for _, end in second.edges)]
        mesh = ax.pcolormesh([left, right], edges, [[height] for height in row], cmap="Blues_r", vmin=low, vmax=high)
    colours = ax.get_figure(root=True).colorbar(mesh, ax=ax, pad=0.02)  # type: ignore[union-attr]
    colours.ax.tick_params(labelsize=FONT - 1)
    for (left, right), (bottom, top) in product(_reached(first), _reached(second)):
        ax.add_patch(
            Rectangle(
                (left, bottom), right - left, top - bottom, fill=False, edgecolor=INK, linewidth=1, linestyle=_DASHES
            )
        )
    if first.worst is not None and second.worst is not None:
        face = WORST if drawn.is_attained else "white"
        ax.plot([first.worst], [second.worst], "v", color=INK, markerfacecolor=face, markersize=8, zorder=4)
    ax.plot([first.row], [second.row], "o", color=INK, markeredgecolor="white", markersize=7, zorder=5)
    ax.set_xlim(*first.window)
    ax.set_ylim(*second.window)
    _set_ticks(ax, first, "x")
    _set_ticks(ax, second, "y")
    width, height = size_in_points(ax)
    literal(ax.set_xlabel(_named(first, 0.8 * width), fontsize=FONT))
    literal(ax.set_ylabel(_named(second, 0.8 * height), fontsize=FONT))
    change = "" if drawn.worst is None else f"; worst case {drawn.worst:+.3g}"
    ax.set_title(f"{low:+.3g} to {high:+.3g}{change}", fontsize=FONT, loc="left")
    ax.tick_params(labelsize=FONT - 1)


def _entries() -> list[Line2D]:
    """Return what the marks of such a picture mean."""
    return [
        Line2D([], [], color=INK, linewidth=1, linestyle=_DASHES, label="region"),
        Line2D([], [], color=INK, marker="o", linestyle="none", markersize=6, label="this row"),
        Line2D(
            [],
            [],
            color=INK,
            marker="v",
            linestyle="none",
            markerfacecolor=WORST,
            markersize=7,
            label="worst case of all",
        ),
    ]


def _named(side: Side, points: float) -> str:
    return f"{fitted(short_label(side.name), points)} ({'fixed' if side.is_fixed else 'free'})"


def _reached(side: Side) -> list[tuple[float, float]]:
    """Return the stretches of an axis that lie in the region: numbers, and the strips of labels."""
    inside = [tick.x for tick in side.ticks if tick.is_in_region]
    strips = [edges for edges in side.edges if any(edges[0] <= x <= edges[1] for x in inside)]
    return [*side.region, *strips]


def _set_ticks(ax: Axes, side: Side, axis: str) -> None:
    """Put names at categories and codes, and numbers beside them if there are any."""
    line = ax.xaxis if axis == "x" else ax.yaxis
    if not side.ticks:
        line.set_major_locator(MaxNLocator(4))
        return
    first = min(tick.x for tick in side.ticks)
    numbers = (
        MaxNLocator(3).tick_values(side.window[0], first) if side.region or len(side.edges) > len(side.ticks) else []
    )
    start = side.edges[len(side.edges) - len(side.ticks)][0]
    room = (start - side.window[0]) / 8  # beside the first name
    shown = [float(x) for x in numbers if side.window[0] <= x <= start - room]
    names = [short_label(tick.text, 12) for tick in side.ticks]
    line.set_ticks([*shown, *(tick.x for tick in side.ticks)], [*(f"{x:g}" for x in shown), *names])
    for text in ax.get_xticklabels() if axis == "x" else ax.get_yticklabels():
        literal(text)
        if axis == "x" and sum(len(name) for name in names) > 24:
            text.set(rotation=40, horizontalalignment="right", rotation_mode="anchor")
