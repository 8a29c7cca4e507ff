"""Which two columns say more together than each of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import scipy.sparse

from suffice.gam.hats import Floats, Hats
from suffice.gam.solving import Curve, Data

_DOUBT = 30.0  # rows of noise that a cell is thought to hold

Two = tuple[int, int]


def rank_pairs(
    data: Data, curve: Curve, axes: dict[int, Hats], columns: Sequence[int], but: Sequence[Two] = ()
) -> list[Two]:
    """Return pairs of columns, those first whose cells would take most from the loss beyond what either column can."""
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
        noise, doubt = float(pull @ pull / weight.sum()), _DOUBT * float(weight.mean())
        for a in range(len(columns) - 1):
            mine = one_hot[:, offsets[a] : offsets[a + 1]].T.tocsr()
            sums, masses = ((mine @ scipy.sparse.diags(each) @ one_hot).toarray() for each in (pull, weight))
            for b in range(a + 1, len(columns)):
                cells = slice(offsets[b], offsets[b + 1])
                total[a, b] += _gain(sums[:, cells], masses[:, cells], noise, doubt)
    for a, b in combinations(range(len(columns)), 2):
        pair = min(columns[a], columns[b]), max(columns[a], columns[b])
        if pair not in but:
            found.append((-total[a, b], pair))
    return [pair for gain, pair in sorted(found) if gain < 0]


def _gain(sums: Floats, masses: Floats, noise: float, doubt: float) -> float:
    """Return what a table would take from the loss, without what a sum of its rows and columns would."""
    rows, columns = np.zeros(sums.shape[0]), np.zeros(sums.shape[1])
    by_row, by_column = masses.sum(axis=1) + 1e-9, masses.sum(axis=0) + 1e-9
    for _ in range(4):
        rows = (sums.sum(axis=1) - masses @ columns) / by_row
        columns = (sums.sum(axis=0) - rows @ masses) / by_column
    left = sums - masses * (rows[:, None] + columns)
    return float(np.sum((left**2 - noise * masses) / (masses + doubt)))
