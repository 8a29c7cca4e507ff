"""Which two columns say more together than each of them alone.

A table of their cells, as smooth as suits it best, is fitted to what a model leaves over, less what either column could
say of that. What counts is how much more probable the rows are with the table than without it: the logarithm of a ratio
of marginal likelihoods, so that a number above 0 speaks for the two columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import scipy.sparse
from scipy.linalg import eigh

from suffice.gam.hats import Floats, Grid, Hats
from suffice.gam.solving import Curve, Data

_PRECISIONS = (0.3, 3.0, 30.0, 300.0)
_RIDGE = 0.05  # of the penalty, on values rather than on steps
_MANY = 600  # cells; more are taken one by one

Two = tuple[int, int]


def rank_pairs(
    data: Data, curve: Curve, axes: dict[int, Hats], columns: Sequence[int], but: Sequence[Two] = ()
) -> list[tuple[float, Two]]:
    """Return how far rows speak for a table over each two columns, and these; those first that they favour most."""
    _, slope, bend = curve(data.scores, data.targets)
    places = {k: axes[k].locate(data.numbers[:, k], data.slots[:, k])[0] for k in columns}
    found: list[tuple[float, Two]] = []
    total = np.zeros((len(columns),) * 2)
    offsets = np.concatenate([[0], np.cumsum([axes[k].size for k in columns])])
    flat = np.stack([places[k] + start for k, start in zip(columns, offsets, strict=False)], axis=1)
    one_hot = scipy.sparse.csr_matrix(
        (np.ones(flat.size), flat.ravel(), np.arange(0, flat.size + 1, len(columns))), shape=(len(flat), offsets[-1])
    )
    for output in range(slope.shape[1]):
        pull, weight = -data.weights * slope[:, output], data.weights * np.maximum(bend[:, output], 1e-4)
        noise = max(float(pull @ pull / weight.sum()), 1e-12)
        for a in range(len(columns) - 1):
            mine = one_hot[:, offsets[a] : offsets[a + 1]].T.tocsr()
            sums, masses = ((mine @ scipy.sparse.diags(each) @ one_hot).toarray() for each in (pull, weight))
            for b in range(a + 1, len(columns)):
                cells = slice(offsets[b], offsets[b + 1])
                roughness = Grid((a, b), (axes[columns[a]], axes[columns[b]])).roughness
                total[a, b] += _gain(sums[:, cells] / noise, masses[:, cells] / noise, roughness)
    for a, b in combinations(range(len(columns)), 2):
        pair = min(columns[a], columns[b]), max(columns[a], columns[b])
        if pair not in but:
            found.append((-total[a, b], pair))
    return [(-gain, pair) for gain, pair in sorted(found)]


def _gain(sums: Floats, masses: Floats, roughness: scipy.sparse.csr_matrix) -> float:
    """Return the logarithm of a table's marginal likelihood, over that of none, with the best of some precisions."""
    rows, columns = np.zeros(sums.shape[0]), np.zeros(sums.shape[1])
    by_row, by_column = masses.sum(axis=1) + 1e-9, masses.sum(axis=0) + 1e-9
    for _ in range(4):
        rows = (sums.sum(axis=1) - masses @ columns) / by_row
        columns = (sums.sum(axis=0) - rows @ masses) / by_column
    left, mass = (sums - masses * (rows[:, None] + columns)).ravel(), masses.ravel()
    if len(mass) > _MANY:
        stiff = roughness.diagonal() + _RIDGE
        found = [np.sum(left**2 / (mass + p * stiff) - np.log(mass / (p * stiff) + 1)) for p in _PRECISIONS]
        return 0.5 * float(max(found))
    # In the axes in which both the masses and the penalty are diagonal, a precision is a factor of one of them.
    values, axes = eigh(np.diag(mass), roughness.toarray() + _RIDGE * np.eye(len(mass)))
    values, along = np.maximum(values, 0.0), (axes.T @ left) ** 2
    return 0.5 * float(max(np.sum(along / (values + p) - np.log(values / p + 1)) for p in _PRECISIONS))
