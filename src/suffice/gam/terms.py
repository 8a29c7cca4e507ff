"""What a model is made of beside networks: broken lines over its columns, and surfaces over two of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.gam.hats import Floats, Grid, Hats, Places, design


@dataclass(frozen=True)
class Terms:
    """Lines over single columns and surfaces over two; of networks, what is added to their shapes.

    Parameters
    ----------
    hats : sequence of Hats
        The knots of each column.
    values : sequence of arrays (size, outputs)
        The line of each column.
    is_whole : sequence of bool
        Whether the line is the whole shape of its column; the network does not count then.
    grids : sequence of Grid
        The knots of each surface.
    surfaces : sequence of arrays (size, outputs)
        The values of each surface.
    """

    hats: tuple[Hats, ...]
    values: tuple[Floats, ...]
    is_whole: tuple[bool, ...]
    grids: tuple[Grid, ...] = ()
    surfaces: tuple[Floats, ...] = ()

    def scores(self, numbers: Floats, slots: Places) -> Floats:
        """Return what lines and surfaces add to the scores of encoded rows (rows, outputs)."""
        matrix = design(self.hats, numbers, slots, grids=self.grids)
        return np.asarray(matrix @ np.concatenate([*self.values, *self.surfaces]))
