"""What wide shapes cost where a model is trained for short explanations: few wide ones less than many narrow ones.

An explanation is short if few features can move the score far, however far these few do. So widths do not just add up:
their cost is that of n equal widths, n the number of columns, with the same sum of powers. It is as large as the sum if
all are equal, less if some are wide and the others flat, and grows as the scores do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

_POWER = 0.5
_SMALL = 1e-4  # added to each width, so that a flat shape is not held flat for ever

Widths = TypeVar("Widths", "Tensor", NDArray[np.float64])


def cost_of(widths: Widths) -> Widths:
    """Return what the widths of all columns cost, a single number."""
    found: Widths = ((widths + _SMALL) ** _POWER).mean() ** (1 / _POWER) * len(widths)
    return found


def prices_of(widths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the derivative of the cost by each width."""
    return (cost_of(widths) / len(widths) / (widths + _SMALL)) ** (1 - _POWER)
