"""What wide shapes cost where a model is trained for short explanations: few wide ones less than many narrow ones.

An explanation leaves free the features that move the score least, as many as cannot move it over the margin together.
Let n features move it by a_1 <= ... <= a_n. With a margin from a_1 + ... + a_(i-1) up to a_1 + ... + a_i, i - 1 of them
are free and n - i + 1 fixed; with a larger one than all of them together, none is fixed. So if the margin may be
anything up to a bound that is no smaller than their sum, all of it equally likely, the mean number of fixed features is
the sum of (n - i + 1) a_i over that bound: a width counts the more, the more others are wider. That sum is the cost.
Features that do not move the score change nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Widths = TypeVar("Widths", "Tensor", NDArray[np.float64])


def cost_of(widths: Widths) -> Widths:
    """Return what the widths of all columns cost, a single number."""
    found: Widths = widths[widths.argsort()].cumsum(0).sum()
    return found


def prices_of(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the derivative of the cost by each width."""
    prices = np.empty(len(widths))
    prices[np.argsort(widths, kind="stable")] = np.arange(len(widths), 0, -1)
    return prices
