"""The linear relaxation of quadratic knapsacks, as HiGHS sees it: floats that propose, and decide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.solvers.knapsacks import SHARES, Knapsack
from suffice.solvers.proofs import Surrogate

_FINENESS = 2**12  # multipliers are whole numbers up to this


class Floats(NamedTuple):
    """Knapsacks as floats, each divided by its largest weight."""

    weights: NDArray[np.float64]  # by knapsack and item
    products: NDArray[np.float64]  # by knapsack and pair of items
    pairs: NDArray[np.int64]  # the two items of each pair
    rooms: NDArray[np.float64]
    sizes: NDArray[np.float64]  # what each was divided by, in units of the score

    @classmethod
    def of(cls, knapsacks: Sequence[Knapsack]) -> Floats:
        """Return knapsacks rounded."""
        pairs = sorted({pair for one in knapsacks for pair in one.products})
        place = {pair: p for p, pair in enumerate(pairs)}
        weights = np.zeros((len(knapsacks), len(knapsacks[0].weights)))
        products, rooms, sizes = np.zeros((len(knapsacks), len(pairs))), np.zeros(len(knapsacks)), []
        for t, one in enumerate(knapsacks):
            size = max(1, *map(abs, one.weights), *map(abs, one.products.values()))
            weights[t] = [value / size for value in one.weights]
            for pair, value in one.products.items():
                products[t, place[pair]] = value / size
            rooms[t] = max(-1e9, min(1e9, one.room / size)) if abs(one.room) < size * 2**1000 else 1e9
            sizes.append(size / one.scale if size.bit_length() - one.scale.bit_length() < 1000 else np.inf)
        return cls(weights, products, np.array(pairs, dtype=np.int64).reshape(-1, 2), rooms, np.array(sizes))


class Relaxed(NamedTuple):
    """What the relaxation says of a node."""

    most: float  # about as much can be freed
    surrogate: Surrogate | None  # multipliers and shares that show it, rounded
    freed: NDArray[np.float64]  # the share of each undecided item that is freed


def relax(floats: Floats, costs: Sequence[int], freed: Sequence[int], open_: Sequence[int]) -> Relaxed:
    """Return the relaxation where some items are freed, some are undecided, and the others are kept.

    A product `z` of two undecided items has `z ≥ y + y' - 1` where it takes room and `z ≤ y`, `z ≤ y'` where it makes
    room; the multipliers of these are the shares.
    """
    if not open_:
        return Relaxed(0.0, None, np.zeros(0))
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    state = np.zeros(floats.weights.shape[1], dtype=np.int64)  # 0: kept, 1: freed, 2 and more: undecided
    state[list(freed)] = 1
    state[list(open_)] = 2 + np.arange(len(open_))
    one, two = state[floats.pairs[:, 0]], state[floats.pairs[:, 1]]
    rooms = floats.rooms - floats.weights[:, state == 1].sum(axis=1)
    rooms = rooms - floats.products[:, (one == 1) & (two == 1)].sum(axis=1)
    weights = floats.weights[:, list(open_)].copy()
    for near, far in ((one, two), (two, one)):
        for p in np.flatnonzero((near == 1) & (far > 1)).tolist():
            weights[:, far[p] - 2] += floats.products[:, p]
    both = np.flatnonzero((one > 1) & (two > 1) & floats.products.any(axis=0))
    products, first, second = floats.products[:, both], one[both] - 2, two[both] - 2

    count, pairs = len(open_), len(both)
    up, down = np.flatnonzero((products > 0).any(axis=0)), np.flatnonzero((products < 0).any(axis=0))
    rows = np.arange(len(up))
    above = coo_array(
        (
            np.concatenate([np.ones(2 * len(up)), -np.ones(len(up))]),
            (np.tile(rows, 3), np.concatenate([first[up], second[up], count + up])),
        ),
        shape=(len(up), count + pairs),
    )
    rows = np.arange(len(down))
    below = [
        coo_array(
            (
                np.concatenate([np.ones(len(down)), -np.ones(len(down))]),
                (np.tile(rows, 2), np.concatenate([count + down, end[down]])),
            ),
            shape=(len(down), count + pairs),
        )
        for end in (first, second)
    ]
    matrix = vstack([hstack([csr_array(weights), csr_array(products)]), above, *below]).tocsr()
    limits = np.concatenate([rooms, np.ones(len(up)), np.zeros(2 * len(down))])
    gains = np.concatenate([[-float(costs[k]) for k in open_], np.zeros(pairs)])
    found = linprog(gains, A_ub=matrix, b_ub=limits, bounds=(0, 1), method="highs")
    if found.x is None:
        return Relaxed(-1.0 if found.status == 2 else float("inf"), None, np.full(count, 0.5))
    duals = np.maximum(-found.ineqlin.marginals, 0.0)
    parts = np.split(duals, np.cumsum([len(rooms), len(up), len(down)]))
    surrogate = _surrogate(floats, parts, np.asarray(open_)[np.stack([first, second], axis=1)], products, up, down)
    return Relaxed(-float(found.fun), surrogate, found.x[:count])


def _surrogate(
    floats: Floats, duals: list[Any], pairs: NDArray[np.int64], products: NDArray[np.float64], up: Any, down: Any
) -> Surrogate | None:
    """Return the multipliers and shares that duals stand for, as whole numbers."""
    own, above, left, right = duals
    scaled = own / floats.sizes
    top = float(scaled.max(initial=0.0))
    if not (np.isfinite(top) and top > 0):
        return None
    whole = np.rint(scaled / top * _FINENESS).astype(np.int64)
    sums = own @ products
    shares = []
    rise, fall = np.zeros(len(sums)), np.full(len(sums), 0.5)
    rise[up] = above
    bears = left + right
    fall[down] = np.divide(left, bears, out=np.full(len(bears), 0.5), where=bears > 0)
    for p, (k, other) in enumerate(pairs.tolist()):
        part = rise[p] / sums[p] if sums[p] > 0 else fall[p]
        share = int(min(max(round(SHARES * float(part)), 0), SHARES))
        if share != (0 if sums[p] > 0 else SHARES // 2):
            shares.append((k, other, share))
    multipliers = tuple((t, value) for t, value in enumerate(whole.tolist()) if value)
    return Surrogate(multipliers, tuple(shares))
