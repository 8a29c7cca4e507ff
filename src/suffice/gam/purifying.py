"""What a surface says of one column alone belongs to that column's line: functional ANOVA on the knots of a grid."""

from __future__ import annotations

import numpy as np

from suffice.gam.hats import Floats
from suffice.gam.solving import Data, Lines
from suffice.gam.terms import Terms


def deviations(lines: Lines, values: Floats, data: Data) -> Floats:
    """Return how much each surface varies over the rows, without what it says of either column alone."""
    if not lines.grids:
        return np.zeros(0)
    masses, found = lines.masses(data), []
    for grid, start in zip(lines.grids, lines.starts[len(lines.hats) :], strict=False):
        shape, place = (grid.axes[0].size, grid.axes[1].size), slice(start, start + grid.size)
        mass = masses[place].reshape(shape)
        left = [purify(one.reshape(shape), mass)[0] for one in values[place].T]
        found.append(sum(float(np.sum(mass * one**2)) for one in left) / max(float(mass.sum()), 1e-300))
    return np.sqrt(found)


def purified(lines: Lines, values: Floats, data: Data, corrections: Terms) -> Terms:
    """Return corrections with surfaces, and with lines that have what surfaces and their lines say of one column."""
    masses, kept, surfaces = lines.masses(data), list(corrections.values), []
    parts = [values[start:end] for start, end in zip(lines.starts[:-1], lines.starts[1:], strict=True)]
    for k, part in zip(lines.columns or (), parts, strict=False):
        kept[k] = kept[k] + part
    own = len(lines.hats)
    for grid, part, start in zip(lines.grids, parts[own:], lines.starts[own:], strict=False):
        shape = (grid.axes[0].size, grid.axes[1].size)
        mass = masses[start : start + grid.size].reshape(shape)
        found = [purify(one.reshape(shape), mass) for one in part.T]
        surface, *taken = (np.stack([each.ravel() for each in one], axis=1) for one in zip(*found, strict=True))
        surfaces.append(surface.astype(np.float32).astype(np.float64))
        for k, axis, more in zip(grid.columns, grid.axes, taken, strict=True):
            kept[k] = kept[k] + corrections.hats[k].resampled(axis, more)
    rounded = tuple(line.astype(np.float32).astype(np.float64) for line in kept)
    return Terms(corrections.hats, rounded, corrections.is_whole, lines.grids, tuple(surfaces))


def purify(table: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a table whose rows and columns have weighted means of about 0, and what was taken from each of them."""
    left, rows, columns = table.copy(), np.zeros(table.shape[0]), np.zeros(table.shape[1])
    weights = mass + 1e-3 * mass.mean() + 1e-12
    for _ in range(50):
        mean = (left * weights).sum(axis=1) / weights.sum(axis=1)
        left, rows = left - mean[:, None], rows + mean
        other = (left * weights).sum(axis=0) / weights.sum(axis=0)
        left, columns = left - other, columns + other
        if np.abs(other).max() < 1e-9 * max(float(np.abs(table).max()), 1e-300):
            break
    return left, rows, columns
