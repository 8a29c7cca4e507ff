"""Pictures of results, with matplotlib (extra `plot`): each function draws on an axis and returns it.

In come results. What is drawn are their exact numbers, each rounded once to a float; shapes are drawn piece by piece,
not sampled. Without an axis a function makes a figure of a size that fits: `ax.figure.savefig("why.svg")`.

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
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from suffice.domain import show
from suffice.errors import DataError
from suffice.present.facts import ranked
from suffice.present.outline import Outline, outline
from suffice.rational import ZERO, nearest_float, rational
from suffice.results import Curve, Explanation

try:
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties, findfont, get_font
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator
except ImportError as error:  # pragma: no cover - the development environment has it
    raise DataError(f"pictures need matplotlib ({error}): pip install 'suffice[plot]'") from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

DARK, LIGHT, LIMIT, REGION, WORST, INK = "#12355b", "#9cc3e6", "#a3182b", "#f1e7cd", "#e69f00", "#222222"
_LONGEST_NAME = 40
_MOST_BARS = 60  # of a figure made here
_FONT, _LINE = 8.0, 11.5  # points: size of the letters, and height of a line of them
_DASHES = (0, (4, 2))

Found = Iterable[Explanation | Collection[str]]  # explanations, or just the names each of them keeps


if TYPE_CHECKING:
    Drawn: TypeAlias = Figure | Axes


# --- one decision -----------------------------------------------------------------------------------------------------


def waterfall(why: Explanation, ax: Axes | None = None) -> Axes:
    """Draw the drops of all features against the margin: it shows where the cut falls.

    Each free feature's bar begins where the one above it ends. They end before the margin does, which is the proof that
    all of them may move; the slack is what is left. Each kept feature's bar begins where the free ones end, and crosses
    the margin, which is why it is kept. With several parts of a claim, it is the tightest that is drawn; a feature may
    be kept for another part.

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
    ax = _axis(ax, 7.2, 1.1 + min(len(bars), _MOST_BARS) * 1.25 * _LINE / 72)
    bars = _merged(bars, _lines_that_fit(ax))
    _draw_bars(ax, bars, float(why.margin))
    ax.axvline(float(why.margin), color=LIMIT, linewidth=1.5, linestyle=_DASHES)
    _name_lines(ax, [bar.name for bar in bars], [bar.is_kept for bar in bars])
    ax.set_xlabel(f"fall of the margin (slack {show(rational(why.slack))})")
    entries: list[Patch | Line2D] = [
        Patch(color=LIGHT, label="free"),
        Patch(color=DARK, label="kept fixed"),
        Line2D([], [], color=LIMIT, linewidth=1.5, linestyle=_DASHES, label=f"margin {show(rational(why.margin))}"),
    ]
    if not all(bar.is_counted for bar in bars):
        entries.insert(1, Patch(facecolor="none", edgecolor=DARK, label="free, not counted"))
    _legend(ax, entries)
    return ax


def _draw_bars(ax: Axes, bars: Sequence[_Bar], margin: float) -> None:
    """Draw bars with their lengths beside them; one that leaves the picture gets an arrow."""
    ends = [margin if bar.length is None else bar.start + bar.length for bar in bars]
    # Kept features may fall so far that the margin, which matters, would be a hair's breadth.
    reach = min(max([*ends, margin]), 5 * margin) if margin else max(ends)
    ax.set_xlim(0, reach * 1.06 or 1.0)
    edge = ax.get_xlim()[1]
    for y, bar in enumerate(bars):
        end = edge if bar.length is None else min(bar.start + bar.length, edge)
        fill, line = (DARK, DARK) if bar.is_kept else (LIGHT, LIGHT) if bar.is_counted else ("none", DARK)
        ax.barh(y, end - bar.start, left=bar.start, height=0.72, facecolor=fill, edgecolor=line, linewidth=0.8)
        if bar.length is None or bar.start + bar.length > edge:
            ax.plot([edge], [y], marker=">", color=DARK, clip_on=False)
        said = "any" if bar.length is None else f"{bar.length:.3g}"
        ax.text(1.03, y, said, transform=ax.get_yaxis_transform(), fontsize=_FONT, verticalalignment="center")


def shape(why: Explanation, feature: str, ax: Axes | None = None, *, part: int | None = None) -> Axes:
    """Draw one feature's part of the claim's score around the row, with its region, the row and the worst case.

    The height is the change of the margin: 0 at the row. An open triangle marks a worst case that values come close to
    but never take.

    Parameters
    ----------
    why : Explanation
    feature : str
        A kept or a free one.
    ax : matplotlib axis, optional
    part : int, optional
        Which part of the claim; the tightest if not given.

    Returns
    -------
    The axis.
    """
    is_own = ax is None
    ax = _axis(ax, 4.2, 2.9)
    _draw_outline(ax, outline(why, feature, part))
    if is_own:
        _legend(ax, _shape_entries(), above=0.13)
    return ax


def shapes(why: Explanation, features: Sequence[str] | None = None, *, most: int = 9) -> Figure:
    """Return a figure with the shapes of several features; by default the kept ones, then the strongest free ones."""
    chosen = (ranked(why) if features is None else list(features))[:most]
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = Figure(figsize=(3.3 * columns, 2.4 * rows + 0.4), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for ax, feature in zip(grid, chosen, strict=False):
        shape(why, feature, ax)
    for ax in list(grid)[len(chosen) :]:
        ax.set_axis_off()
    figure.legend(handles=_shape_entries(), loc="outside lower center", ncols=3, frameon=False, fontsize=_FONT)
    return figure


# --- many decisions ---------------------------------------------------------------------------------------------------


def curve(steps: Curve, ax: Axes | None = None, *, unit: str = "") -> Axes:
    """Draw the size of the smallest explanation against the radius; `unit` names what radii are counted in.

    A filled end of a stretch belongs to it, an open one does not.
    """
    ax = _axis(ax, 5.4, 3.2)
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
    _plain(ax.set_xlabel(f"radius{f' ({unit})' if unit else ''}"))
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
    counts = Counter(len(names) for names in _kept_names(found))
    if not counts:
        raise DataError("there are no explanations to draw; give one at least")
    ax = _axis(ax, 5.4, 3.0)
    bars = ax.bar(list(counts), list(counts.values()), color=DARK, width=0.8)
    if max(counts) - min(counts) < 20:
        ax.bar_label(bars, fontsize=_FONT, padding=1)
    ax.margins(y=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(min(counts) - 0.6, max(counts) + 0.6)
    ax.set_xlabel("features in the explanation")
    ax.set_ylabel("rows")
    return ax


def frequency(found: Found, ax: Axes | None = None) -> Axes:
    """Draw how often each feature is kept, the most frequent first; features that are never kept are left out."""
    kept = list(_kept_names(found))
    if not kept:
        raise DataError("there are no explanations to draw; give one at least")
    counts = Counter(name for names in kept for name in names)
    order = sorted(counts, key=lambda name: (-counts[name], name))
    ax = _axis(ax, 7.2, 0.9 + min(len(order), _MOST_BARS) * 1.25 * _LINE / 72)
    shown = order[: _lines_that_fit(ax)]
    bars = ax.barh(range(len(shown)), [counts[name] for name in shown], height=0.72, color=DARK)
    ax.bar_label(bars, fontsize=_FONT, padding=2)
    ax.set_xlim(0, max(counts.values(), default=1) * 1.08)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _name_lines(ax, shown, [False] * len(shown))
    more = len(order) - len(shown)
    rest = f"; {more} more features are kept less often" if more else ""
    ax.set_xlabel(f"explanations that keep the feature, of {len(kept)}{rest}")
    return ax


def _kept_names(found: Found) -> Iterable[Collection[str]]:
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


# --- parts ------------------------------------------------------------------------------------------------------------


class _Bar(NamedTuple):
    name: str
    start: float
    length: float | None  # None: without end
    is_kept: bool
    is_counted: bool  # whether its fall counts: not if others fall further and not all may move at once


def _bars(why: Explanation) -> list[_Bar]:
    """Return the drops as bars: free ones, each from where the one before ends, then kept ones; both ascending."""
    constraint, kept = why.constraints[why.tightest], set(why.kept)
    freed = sorted((i for i in range(len(why.row)) if i not in kept), key=constraint.drops.__getitem__)
    idle: set[int] = set() if constraint.at_most is None else set(freed[: max(len(freed) - constraint.at_most, 0)])
    bars, fallen = [], ZERO
    for i in freed:
        drop = constraint.drops[i]  # of a free feature, so that it is finite
        start = ZERO if i in idle else fallen
        bars.append(_Bar(why.model.names[i], nearest_float(start), nearest_float(drop.value), False, i not in idle))
        fallen = fallen if i in idle else fallen + drop.value
    for i in sorted(kept, key=lambda i: (constraint.drops[i], i)):
        drop = constraint.drops[i]
        length = None if drop.is_infinite else nearest_float(drop.value)
        bars.append(_Bar(why.model.names[i], nearest_float(fallen), length, True, True))
    return bars


def _merged(bars: list[_Bar], room: int) -> list[_Bar]:
    """Return bars that fit: of the free features, then of the kept ones, the smallest drops become one bar."""
    for is_kept in (False, True):
        same = [bar for bar in bars if bar.is_kept is is_kept]
        joined = same[: min(max(len(bars) - max(room, 2) + 1, 0), len(same))]
        lengths = [bar.length for bar in joined if bar.length is not None]
        if len(joined) < 2 or len(lengths) < len(joined):
            continue
        end = max(bar.start + length for bar, length in zip(joined, lengths, strict=True))
        what = f"{len(joined)} {'kept' if is_kept else 'free'}, {'each' if is_kept else 'together'} at most"
        one = _Bar(what, joined[0].start, end - joined[0].start, is_kept, joined[-1].is_counted)
        at = bars.index(joined[0])
        bars = [*bars[:at], one, *bars[at + len(joined) :]]
    return bars


def _draw_outline(ax: Axes, drawn: Outline) -> None:
    for low, high in drawn.region:
        ax.axvspan(low, high, color=REGION, linewidth=0, zorder=0)
    half = (drawn.window[1] - drawn.window[0]) / 40
    for tick in drawn.ticks:
        if tick.is_in_region:
            ax.axvspan(tick.x - half, tick.x + half, color=REGION, linewidth=0, zorder=0)
    colour = DARK if drawn.is_kept else "#3d7ab5"
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
    drop = "any amount" if drawn.drop is None else f"{drawn.drop:.3g}"
    name = _fitted(_label(drawn.name), 1.2 * _size_in_points(ax)[0])
    title = f"{name}\n{'kept' if drawn.is_kept else 'free'}: can take {drop}"
    _plain(ax.set_title(title, fontsize=_FONT, loc="left", fontweight="bold" if drawn.is_kept else "normal"))
    ax.tick_params(labelsize=_FONT - 1)


def _set_ticks(ax: Axes, drawn: Outline) -> None:
    """Put names under categories and codes, beside the numbers if there are any."""
    if not drawn.ticks:
        ax.xaxis.set_major_locator(MaxNLocator(4))
        return
    gap = (drawn.ticks[1].x - drawn.ticks[0].x) / 2 if len(drawn.ticks) > 1 else 0.0
    has_numbers = bool(drawn.lines or drawn.region) or len(drawn.dots) > len(drawn.ticks)
    numbers = MaxNLocator(4).tick_values(drawn.window[0], drawn.ticks[0].x) if has_numbers else []
    shown = [float(x) for x in numbers if drawn.window[0] <= x <= drawn.ticks[0].x - gap]
    names = [_label(tick.text, 14) for tick in drawn.ticks]
    ax.set_xticks([*shown, *(tick.x for tick in drawn.ticks)], [*(f"{x:g}" for x in shown), *names])
    for text in ax.get_xticklabels():
        _plain(text)
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


def _axis(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axis given, or that of a new figure."""
    if ax is None:
        ax = Figure(figsize=(width, height), layout="constrained").subplots()
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.tick_params(labelsize=_FONT)
    ax.xaxis.label.set_fontsize(_FONT)
    ax.yaxis.label.set_fontsize(_FONT)
    return ax


def _lines_that_fit(ax: Axes) -> int:
    """Return how many lines of text fit one above the other."""
    return max(int(_size_in_points(ax)[1] / _LINE), 1)


def _size_in_points(ax: Axes) -> tuple[float, float]:
    """Return width and height of an axis, before its figure is laid out."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches() * 72
    place = ax.get_position()
    return place.width * width, place.height * height


def _fitted(text: str, points: float) -> str:
    """Return text, without some of its middle if it is wider than so many points in bold letters."""
    for most in range(len(text), 3, -1):
        shown = _label(text, most)
        if _width(shown) <= points:
            return shown
    return _label(text, 3)


def _width(text: str) -> float:
    font = get_font(findfont(FontProperties(weight="bold")))
    font.set_size(_FONT, 72)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font has not
        font.set_text(text)
    return float(font.get_width_height()[0]) / 64


def _name_lines(ax: Axes, names: Sequence[str], are_bold: Sequence[bool]) -> None:
    """Write a name beside each bar, the first on top."""
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_yticks(range(len(names)), [_label(name) for name in names], fontsize=_FONT)
    ax.tick_params(axis="y", length=0)
    for text, is_bold in zip(ax.get_yticklabels(), are_bold, strict=True):
        _plain(text).set_fontweight("bold" if is_bold else "normal")


def _legend(ax: Axes, entries: Sequence[Patch | Line2D], above: float = 0.0) -> None:
    ax.legend(
        handles=list(entries),
        loc="lower right",
        bbox_to_anchor=(1, 1 + above),
        ncols=len(entries),
        frameon=False,
        fontsize=_FONT,
        borderaxespad=0.2,
    )


def _plain(text: Text) -> Text:
    """Take text as it is: a dollar sign in a name begins no formula."""
    text.set_parse_math(False)
    return text


def _label(name: str, most: int = _LONGEST_NAME) -> str:
    """Return a name on one line, without its middle if it is too long."""
    line = "".join(letter if letter.isprintable() else " " for letter in name)
    if len(line) <= most:
        return line
    tail = most // 3
    return f"{line[: most - tail - 1]}…{line[len(line) - tail :]}"
