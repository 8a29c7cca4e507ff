"""Pictures of results, with matplotlib (extra `plot`): each function draws on an axis and returns it.

In come results. What is drawn are their exact numbers, each rounded once to a float; shapes are drawn piece by piece,
not sampled. Without an axis a function makes a figure of pyplot's, of a size that fits: a notebook shows it, and
`plt.savefig("why.svg")` or `ax.figure.savefig("why.svg")` saves it.

Dark and light, filled and open, solid and dashed tell things apart, colour only repeats it: the pictures can be read
in greyscale and by colour-blind readers. Bars that would not fit are added up in one, so that no text overlaps.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from io import StringIO
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from suffice.answers import Curve, Explanation
from suffice.answers.words import amount
from suffice.core.constraint import Constraint
from suffice.errors import DataError
from suffice.model.domain import format_value
from suffice.numbers.exact import ZERO, in_digits, nearest_float, rational
from suffice.present.outline import Outline, outline

try:
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    from suffice.present.axes import (
        FONT,
        LINE,
        axis_of,
        fitted,
        legend,
        lines_that_fit,
        literal,
        name_lines,
        panels,
        short_label,
        size_in_points,
    )
    from suffice.present.pair_plot import pair as pair
    from suffice.present.pair_plot import pairs as pairs
    from suffice.present.trade_off_plot import trade_off as trade_off
except ImportError as error:  # pragma: no cover - the development environment has it
    raise DataError(f"pictures need matplotlib ({error}): pip install 'suffice[plot]'") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK, LIGHT, LIMIT, REGION, WORST, INK = "#12355b", "#9cc3e6", "#a3182b", "#f1e7cd", "#e69f00", "#222222"
_MOST_BARS = 60  # of a figure made here
_LARGEST = 1e290  # number that can be drawn
_DASHES = (0, (4, 2))

Found = Iterable[Explanation | Collection[str]]  # explanations, or just the names each of them fixes


if TYPE_CHECKING:
    Drawn: TypeAlias = Figure | Axes


# --- one decision -----------------------------------------------------------------------------------------------------


def waterfall(why: Explanation, ax: Axes | None = None) -> Axes:
    """Draw the drops of all features against the margin: it shows where the cut falls.

    Each free feature's bar begins where the one above it ends. They end before the margin does, which is the proof that
    all of them may move; the slack is what is left. Each fixed feature's bar begins where the free ones end, and
    crosses the margin, which is why it is fixed. With several parts of a claim, it is the tightest that is drawn; a
    feature may be fixed for another part.

    Parameters
    ----------
    why : Explanation
    ax : matplotlib axis, optional
        Default: that of a new figure with room for up to 60 features.

    Returns
    -------
    The axis.
    """
    bars = _bars(why)
    ax = axis_of(ax, 7.2, 1.1 + min(len(bars), _MOST_BARS) * 1.25 * LINE / 72)
    bars = _merged(bars, lines_that_fit(ax))
    margin = nearest_float(rational(why.margin))
    _check_drawable(margin, *(bar.start + (bar.length or 0.0) for bar in bars))
    _draw_bars(ax, bars, margin)
    ax.axvline(margin, color=LIMIT, linewidth=1.5, linestyle=_DASHES)
    name_lines(ax, [bar.name for bar in bars], [bar.is_fixed for bar in bars])
    least = "" if why.has_exact_slack else "at least "
    ax.set_xlabel(f"how far the margin can fall (slack {least}{amount(why.slack)})")
    entries: list[Patch | Line2D] = [
        Patch(color=LIGHT, label="free"),
        Patch(color=DARK, label="fixed"),
        Line2D(
            [], [], color=LIMIT, linewidth=1.5, linestyle=_DASHES, label=f"margin {format_value(rational(why.margin))}"
        ),
    ]
    if not all(bar.is_counted for bar in bars):
        entries.insert(1, Patch(facecolor="none", edgecolor=DARK, label="free, not counted"))
    legend(ax, entries)
    return ax


def _check_drawable(*numbers: float) -> None:
    """Refuse numbers at the end of all floats, which no axis can show."""
    if not max(map(abs, numbers), default=0.0) < _LARGEST:
        raise DataError("the numbers of this answer are too large to be drawn")


def _draw_bars(ax: Axes, bars: Sequence[_Bar], margin: float) -> None:
    """Draw bars with their lengths beside them; one that leaves the picture gets an arrow."""
    ends = [margin if bar.length is None else bar.start + bar.length for bar in bars]
    # Fixed features may fall so far that the margin, which matters, would be a hair's breadth.
    reach = min(max([*ends, margin]), 5 * margin) if margin else max(ends)
    ax.set_xlim(0, reach * 1.06 or 1.0)
    edge = ax.get_xlim()[1]
    for y, bar in enumerate(bars):
        end = edge if bar.length is None else min(bar.start + bar.length, edge)
        fill, line = (DARK, DARK) if bar.is_fixed else (LIGHT, LIGHT) if bar.is_counted else ("none", DARK)
        ax.barh(y, end - bar.start, left=bar.start, height=0.72, facecolor=fill, edgecolor=line, linewidth=0.8)
        if bar.length is None or bar.start + bar.length > edge:
            ax.plot([edge], [y], marker=">", color=DARK, clip_on=False)
        ax.text(1.03, y, bar.said, transform=ax.get_yaxis_transform(), fontsize=FONT, verticalalignment="center")


def shape(why: Explanation, feature: str, ax: Axes | None = None, *, part: int | None = None) -> Axes:
    """Draw one feature's part of the claim's score around the row, with its region, the row and the worst case.

    The height is the change of the margin: 0 at the row. An open triangle marks a worst case that values come close to
    but never take.

    Parameters
    ----------
    why : Explanation
    feature : str
        A fixed or a free one.
    ax : matplotlib axis, optional
    part : int, optional
        Which part of the claim; the tightest if not given.

    Returns
    -------
    The axis.
    """
    is_own = ax is None
    ax = axis_of(ax, 4.2, 2.9)
    _draw_outline(ax, outline(why, feature, part))
    if is_own:
        legend(ax, _shape_entries(), above=0.13)
    return ax


def shapes(why: Explanation, features: Sequence[str] | None = None, *, most: int = 9) -> Figure:
    """Return a figure with the shapes of several features; by default the fixed ones, then the strongest free ones."""
    chosen = (list(why.ranked) if features is None else list(features))[:most]
    if not chosen:
        raise DataError("there are no features to draw")
    figure, axes = panels(len(chosen), 3.3, 2.4)
    for ax, feature in zip(axes, chosen, strict=True):
        shape(why, feature, ax)
    figure.legend(handles=_shape_entries(), loc="outside lower center", ncols=3, frameon=False, fontsize=FONT)
    return figure


# --- many decisions ---------------------------------------------------------------------------------------------------


def curve(steps: Curve, ax: Axes | None = None, *, unit: str = "") -> Axes:
    """Draw the size of the smallest explanation against the radius; `unit` names what radii are counted in.

    A filled end of a stretch belongs to it, an open one does not.
    """
    ax = axis_of(ax, 5.4, 3.2)
    limits = [step.limit.radius for step in steps.steps]
    finite = [float(limit) for limit in limits if isinstance(limit, Fraction)]
    is_open = not isinstance(limits[-1], Fraction)
    last = (finite[-1] * 1.15 if is_open else finite[-1]) if finite and finite[-1] > 0 else 1.0
    begin, before = 0.0, None
    for step, limit in zip(steps.steps, limits, strict=True):
        end, size = (float(limit) if isinstance(limit, Fraction) else last), float(step.cost)
        if before is not None:
            ax.plot([begin, begin], [before, size], color=DARK, linewidth=0.8, linestyle=":")
        ax.plot([begin, end], [size, size], color=DARK, linewidth=2, solid_capstyle="butt")
        if isinstance(limit, Fraction):
            face = DARK if step.limit.is_attained else "white"
            ax.plot([end], [size], marker="o", markersize=5, color=DARK, markerfacecolor=face, zorder=3)
        else:
            ax.plot([end], [size], marker=">", markersize=6, color=DARK, clip_on=False)
        begin, before = end, size
    ax.set_xlim(0, last * 1.02)
    ax.set_ylim(bottom=-0.15)
    ax.margins(y=0.08)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    literal(ax.set_xlabel(f"radius{f' ({unit})' if unit else ''}"))
    ax.set_ylabel("features in the smallest set")
    ax.grid(axis="y", color="#dddddd", linewidth=0.6)
    return ax


def sizes(found: Found, ax: Axes | None = None) -> Axes:
    """Draw how many explanations have how many features.

    Parameters
    ----------
    found : iterable of Explanation, or of collections of feature names
    ax : matplotlib axis, optional
    """
    counts = Counter(len(names) for names in _names(found))
    if not counts:
        raise DataError("there are no explanations to draw; give at least one")
    ax = axis_of(ax, 5.4, 3.0)
    bars = ax.bar(list(counts), list(counts.values()), color=DARK, width=0.8)
    if max(counts) - min(counts) < 20:
        ax.bar_label(bars, fontsize=FONT, padding=1)
    ax.margins(y=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(min(counts) - 0.6, max(counts) + 0.6)
    ax.set_xlabel("features in the explanation")
    ax.set_ylabel("rows")
    return ax


def frequency(found: Found, ax: Axes | None = None) -> Axes:
    """Draw how often each feature is fixed, the most frequent first; features that are never fixed are left out."""
    fixed = list(_names(found))
    if not fixed:
        raise DataError("there are no explanations to draw; give at least one")
    counts = Counter(name for names in fixed for name in names)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    ax = axis_of(ax, 7.2, 0.9 + min(len(order), _MOST_BARS) * 1.25 * LINE / 72)
    shown = order[: lines_that_fit(ax)]
    bars = ax.barh(range(len(shown)), [counts[name] for name in shown], height=0.72, color=DARK)
    ax.bar_label(bars, fontsize=FONT, padding=2)
    ax.set_xlim(0, max(counts.values(), default=1) * 1.08)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    name_lines(ax, shown, [False] * len(shown))
    more = len(order) - len(shown)
    rest = f"; {more} more features are fixed less often" if more else ""
    ax.set_xlabel(f"explanations that fix the feature, of {len(fixed)}{rest}")
    return ax


def _names(found: Found) -> Iterable[Collection[str]]:
    for one in found:
        yield one.features if isinstance(one, Explanation) else one


# --- files ------------------------------------------------------------------------------------------------------------


def to_svg(drawn: Drawn, name: str = "figure") -> str:
    """Return a figure, or that of an axis, as an SVG element to put into a page; the same bytes each time.

    `name` keeps what one picture of a page refers to apart from the others'.
    """
    figure = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    assert figure is not None
    out = StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")  # the reader's fonts count, not those here
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


def to_svg_once(drawn: Drawn, name: str = "figure") -> str:
    """Return the same, and close the figure: for pictures that nobody will look at elsewhere."""
    svg = to_svg(drawn, name)
    pyplot.close(drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True))
    return svg


# --- parts ------------------------------------------------------------------------------------------------------------


class _Bar(NamedTuple):
    name: str
    start: float
    length: float | None  # None: without end
    said: str  # the length, in words
    is_fixed: bool
    is_counted: bool  # whether its fall counts: not if others fall further and not all may move at once


def _bars(why: Explanation) -> list[_Bar]:
    """Return the drops as bars: free ones, each from where the one before ends, then fixed ones; both ascending."""
    constraint, fixed = why.constraints[why.tightest], set(why.fixed)
    freed = sorted((i for i in range(len(why.row)) if i not in fixed), key=constraint.drops.__getitem__)
    idle: set[int] = (
        set() if constraint.max_changed is None else set(freed[: max(len(freed) - constraint.max_changed, 0)])
    )
    if why.case.has_pairs:  # then a bar is what its feature adds to those before it
        return _bars_of_pairs(why, constraint, freed)
    bars, fallen = [], ZERO
    for i in freed:
        drop = constraint.drops[i]  # of a free feature, so that it is finite
        start = ZERO if i in idle else fallen
        length, said = nearest_float(drop.value), in_digits(drop.value, 3)
        bars.append(_Bar(why.model.names[i], nearest_float(start), length, said, False, i not in idle))
        fallen = fallen if i in idle else fallen + drop.value
    for i in sorted(fixed, key=lambda i: (constraint.drops[i], i)):
        drop = constraint.drops[i]
        end = None if drop.is_infinite else nearest_float(drop.value)
        said = "any" if drop.is_infinite else in_digits(drop.value, 3)
        bars.append(_Bar(why.model.names[i], nearest_float(fallen), end, said, True, True))
    return bars


def _bars_of_pairs(why: Explanation, constraint: Constraint, freed: Sequence[int]) -> list[_Bar]:
    """Return bars of features that act together: what free ones add to those before, then fixed ones to all free."""
    names = why.model.names
    falls = [constraint.known_fall(freed[:count]).fall.value for count in range(len(freed) + 1)]
    # What some features do is at most what more of them do, and they all stay within the margin: so for bounds too.
    falls = list(accumulate(reversed(falls), min, initial=constraint.margin))[:0:-1]
    bars = []
    for i, (before, after) in zip(freed, pairwise(falls), strict=True):
        length, said = nearest_float(after - before), in_digits(after - before, 3)
        bars.append(_Bar(names[i], nearest_float(before), length, said, False, True))
    more = {i: constraint.known_fall([*freed, i]).fall for i in why.fixed}
    for i in sorted(why.fixed, key=lambda i: (more[i], i)):
        rest, is_endless = max(more[i].value - falls[-1], ZERO), more[i].is_infinite
        end, said = (None, "any") if is_endless else (nearest_float(rest), in_digits(rest, 3))
        bars.append(_Bar(names[i], nearest_float(falls[-1]), end, said, True, True))
    return bars


def _merged(bars: list[_Bar], room: int) -> list[_Bar]:
    """Return bars that fit: of the free features, then of the fixed ones, the smallest drops become one bar."""
    for is_fixed in (False, True):
        same = [bar for bar in bars if bar.is_fixed is is_fixed]
        joined = same[: min(max(len(bars) - max(room, 2) + 1, 0), len(same))]
        lengths = [bar.length for bar in joined if bar.length is not None]
        if len(joined) < 2 or len(lengths) < len(joined):
            continue
        end = max(bar.start + length for bar, length in zip(joined, lengths, strict=True))
        what = f"{len(joined)} {'fixed' if is_fixed else 'free'}, {'each' if is_fixed else 'together'} at most"
        length = end - joined[0].start
        said = f"{length:.3g}" if length else joined[-1].said
        one = _Bar(what, joined[0].start, length, said, is_fixed, joined[-1].is_counted)
        at = bars.index(joined[0])
        bars = [*bars[:at], one, *bars[at + len(joined) :]]
    return bars


def _draw_outline(ax: Axes, drawn: Outline) -> None:
    _check_drawable(*drawn.window, *(abs(x) + abs(y) for line in drawn.lines for x, y in line))
    for low, high in drawn.region:
        ax.axvspan(low, high, color=REGION, linewidth=0, zorder=0)
    half = (drawn.window[1] - drawn.window[0]) / 40
    for tick in drawn.ticks:
        if tick.is_in_region:
            ax.axvspan(tick.x - half, tick.x + half, color=REGION, linewidth=0, zorder=0)
    colour = DARK if drawn.is_fixed else "#3d7ab5"
    for line in drawn.lines:
        ax.plot([point.x for point in line], [point.y for point in line], color=colour, linewidth=1.4)
    if drawn.dots:
        ax.plot([p.x for p in drawn.dots], [p.y for p in drawn.dots], ".", color=colour, markersize=4)
    ax.axhline(0, color="#999999", linewidth=0.6, zorder=0.5)
    ax.plot([drawn.row.x], [drawn.row.y], "o", color=INK, markersize=6, zorder=4)
    if drawn.worst is not None and drawn.worst != drawn.row:
        face = WORST if drawn.is_attained else "white"
        ax.plot([drawn.worst.x], [drawn.worst.y], "v", color=INK, markerfacecolor=face, markersize=7, zorder=4)
    ax.set_xlim(*drawn.window)
    ax.margins(y=0.15)
    _set_ticks(ax, drawn)
    name = fitted(short_label(drawn.name), 1.2 * size_in_points(ax)[0])
    title = f"{name}\n{'fixed' if drawn.is_fixed else 'free'}: can take {drawn.takes}"
    literal(ax.set_title(title, fontsize=FONT, loc="left", fontweight="bold" if drawn.is_fixed else "normal"))
    ax.tick_params(labelsize=FONT - 1)


def _set_ticks(ax: Axes, drawn: Outline) -> None:
    """Put names under categories and codes, beside the numbers if there are any."""
    if not drawn.ticks:
        ax.xaxis.set_major_locator(MaxNLocator(4))
        return
    gap = (drawn.ticks[1].x - drawn.ticks[0].x) / 2 if len(drawn.ticks) > 1 else 0.0
    has_numbers = bool(drawn.lines or drawn.region) or len(drawn.dots) > len(drawn.ticks)
    numbers = MaxNLocator(4).tick_values(drawn.window[0], drawn.ticks[0].x) if has_numbers else []
    shown = [float(x) for x in numbers if drawn.window[0] <= x <= drawn.ticks[0].x - gap]
    names = [short_label(tick.text, 14) for tick in drawn.ticks]
    ax.set_xticks([*shown, *(tick.x for tick in drawn.ticks)], [*(f"{x:g}" for x in shown), *names])
    for text in ax.get_xticklabels():
        literal(text)
        if sum(len(name) for name in names) > 24:
            text.set(rotation=40, horizontalalignment="right", rotation_mode="anchor")


def _shape_entries() -> list[Line2D | Patch]:
    return [
        Patch(color=REGION, label="region"),
        Line2D([], [], color=INK, marker="o", linestyle="none", markersize=6, label="this row"),
        Line2D(
            [], [], color=INK, marker="v", linestyle="none", markerfacecolor=WORST, markersize=7, label="worst case"
        ),
    ]
