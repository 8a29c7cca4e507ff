"""The trade-off of short explanations and accuracy as a picture: to the left is short, up is accurate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from suffice.present.axes import FONT, axis_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DARK = "#12355b"


def trade_off(choice: Any, ax: Axes | None = None) -> Axes:
    """Draw the score of every weight tried against the mean size of explanations; the one chosen is filled.

    Where no rows were explained, the mean width of the shapes stands for the size.

    Parameters
    ----------
    choice : WeightChoice
        See `suffice.gam.choose_explanation_weight`.
    """
    ax = axis_of(ax, 5.4, 3.2)
    has_sizes = not any(math.isnan(one.size) for one in choice.tried)
    across = [one.size if has_sizes else one.width for one in choice.tried]
    ax.plot(across, [one.score for one in choice.tried], color=_DARK, linewidth=1)
    for x, one in zip(across, choice.tried, strict=True):
        face = _DARK if one.weight == choice.weight else "white"
        ax.plot([x], [one.score], marker="o", markersize=6, color=_DARK, markerfacecolor=face, zorder=3)
        ax.annotate(f"{one.weight:g}", (x, one.score), xytext=(6, 5), textcoords="offset points", fontsize=FONT)
    ax.margins(0.14)
    ax.set_xlabel("mean proven size of explanations" if has_sizes else "mean width of the shapes")
    ax.set_ylabel(f"{choice.scoring} on rows held back")
    ax.grid(color="#dddddd", linewidth=0.6)
    return ax
