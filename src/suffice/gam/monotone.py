"""Lines without a step in the wrong direction."""

from __future__ import annotations

import numpy as np
from sklearn.isotonic import isotonic_regression

from suffice.gam.hats import Floats, Hats, Places


def monotone_line(line: Floats, hats: Hats, numbers: Floats, slots: Places, weights: Floats, direction: int) -> Floats:
    """Return the nearest line, by the weights of the rows, whose knots never fall (1) or never rise (-1)."""
    found, count = np.array(line), len(hats.knots)
    places, shares = hats.locate(numbers, slots)
    rows = np.bincount(places, weights * (1 - shares), hats.size)
    rows += np.bincount(np.minimum(places + 1, hats.size - 1), weights * shares, hats.size)
    for output in range(line.shape[1] if count else 0):
        found[:count, output] = isotonic_regression(
            line[:count, output], sample_weight=rows[:count] + 1e-9, increasing=direction > 0
        )
    return found
