"""Rows held back from a fit, to judge it by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from suffice.gam.hats import Places

_FEWEST = 5  # rows, on either side


def split_rows(
    rows: int, share: float, classes: NDArray[np.int64] | None, random: int | np.random.RandomState
) -> tuple[Places, Places]:
    """Return which rows to fit to and which to hold back; none of the latter where there are too few to spare any.

    Parameters
    ----------
    rows : int
        How many there are.
    share : float
        Which share of them is held back.
    classes : array of int, optional
        The place of each row's class; both sides have as much of each, where there are enough rows.
    random : int or RandomState
        Draws the rows.
    """
    every, count = np.arange(rows), round(share * rows)
    if count < _FEWEST or rows - count < _FEWEST:
        return every, every[:0]
    if classes is not None and (np.bincount(classes).min() < 2 or count < len(np.unique(classes))):
        classes = None
    kept: Any
    kept, held = train_test_split(every, test_size=count, random_state=random, stratify=classes)
    return kept, held
