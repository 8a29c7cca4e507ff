"""Lines and surfaces fitted to what a model's scores leave over, by penalised Newton steps.

*Pulls* make steps between knots smaller: of columns that shall be monotone where a step goes the wrong way, and of all
lines and surfaces where the model is trained for short explanations, each step as often as a training row's region
holds it. They act on the whole shape, the network's part included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, cg

from suffice.gam.hats import Floats, Grid, Hats, Places, design
from suffice.gam.widths import cost_of, prices_of

FEW_JUDGES = 300  # validation rows; fewer cannot tell how strong a penalty must be, or how many pairs pay
LEAST, MOST = 1.0, 9000.0  # penalty
_RIDGE = 0.05  # of the penalty, on values rather than on steps
_STEPS = 2  # of Newton's method
_PULLED_STEPS = 8
_SMALL = 1e-3  # a step below it, in deviations of the score, is pulled as a quadratic
_STIFF = 100.0  # how strongly, for each row, a step in the wrong direction is pulled
_MOST_ITERATIONS = 30  # of conjugate gradients, for each step
_CENTERS = 512  # rows of a column that stand for all

# From scores (rows, outputs) and targets: the loss of each row, its derivative and its second one in each score.
Curve = Callable[[Floats, Floats], tuple[Floats, Floats, Floats]]


class Data(NamedTuple):
    """Encoded rows: numbers and slots (rows, columns), targets and weights (rows,), the networks' scores by output."""

    numbers: Floats
    slots: Places
    targets: Floats
    weights: Floats
    scores: Floats

    def take(self, rows: Places) -> Data:
        """Return some of the rows."""
        return Data(self.numbers[rows], self.slots[rows], self.targets[rows], self.weights[rows], self.scores[rows])


@dataclass(frozen=True)
class Wishes:
    """What the lines are asked for beside a small loss.

    Parameters
    ----------
    monotone : mapping from a column's place to 1 or -1
        Directions in which shapes never fall.
    radii : sequence of float
        How far numbers of each column can move; see `explanation_radius` of the estimators.
    weight : float
        See `explanation_weight`; 0 asks for nothing.
    blocks : mapping from a column's place to places in its line
        Its categories.
    ranks : mapping from a column's place to int
        How many ranks its categories can move, where they are in order; others may become any other.
    """

    monotone: Mapping[int, int]
    radii: Sequence[float]
    weight: float
    blocks: Mapping[int, Places]
    ranks: Mapping[int, int]


class Tried(NamedTuple):
    """Values found with some penalty, and their loss on the rows that judge."""

    loss: float
    penalty: float
    strength: Floats
    values: Floats


def best_penalty(fit: Fit, judge: Fit, strength: Floats, start: Floats, penalties: Sequence[float]) -> Tried:
    """Return the best of some penalties, from strong to weak until the validation loss rises, and those beside it."""

    def tried(penalty: float, values: Floats) -> Tried:
        found = fit.solve(penalty, strength, values)
        return Tried(judge.loss(found), penalty, strength, found)

    best = tried(penalties[0], start)
    for penalty in penalties[1:]:
        weaker = tried(penalty, best.values)
        if weaker.loss >= best.loss:
            break
        best = weaker
    middle = best
    for penalty in (min(middle.penalty * 3, MOST), max(middle.penalty / 3, LEAST)):
        best = min(best, tried(penalty, middle.values), key=lambda one: one.loss)
    return best


class Lines:
    """Lines of columns, then surfaces; and what is below them: what the model says at their knots so far.

    The lines are of all columns of the table, or of those named.
    """

    def __init__(
        self, hats: Sequence[Hats], below: Floats, columns: Sequence[int] | None = None, grids: Sequence[Grid] = ()
    ) -> None:
        self.hats, self.below, self.columns, self.grids = tuple(hats), below, columns, tuple(grids)
        blocks: list[Hats | Grid] = [*hats, *grids]
        self.blocks = len(blocks)
        self.starts = np.concatenate([[0], np.cumsum([one.size for one in blocks])])
        self.size = int(self.starts[-1])
        self.block = np.repeat(np.arange(len(blocks)), [one.size for one in blocks])
        rough = scipy.sparse.block_diag([one.roughness for one in blocks], format="csr")
        self.roughness = (rough + _RIDGE * scipy.sparse.identity(self.size)).tocsr()

    def masses(self, data: Data) -> Floats:
        """Return the weight of the rows at each value."""
        return np.asarray(self.design(data).T @ data.weights)

    def design(self, data: Data) -> scipy.sparse.csr_matrix:
        """Return the matrix that takes all values to their sum in each row."""
        return design(self.hats, data.numbers, data.slots, self.columns, self.grids)


class Pulls:
    """Steps between knots, or between categories by rank or in the order of their values; how strongly each is pulled.

    A step of a surface along one of its columns is held by a region as far as the row lies beside it along the other.
    """

    def __init__(self, lines: Lines, data: Data, wishes: Wishes) -> None:
        self.lines, self.wishes = lines, wishes
        self.is_active = bool(wishes.weight or wishes.monotone)
        self.small = _SMALL * max(float(data.scores.std()), 1e-12)
        # places of categories, how often a row is beside them, and their column
        self.groups: list[tuple[Places, float, int]] = []
        columns = range(len(lines.hats)) if lines.columns is None else lines.columns
        steps, shares = [], data.weights / data.weights.sum()
        for k, one, start in zip(columns, lines.hats, lines.starts, strict=False):
            first = start + np.arange(max(len(one.knots) - 1, 0))
            some, counts = _some(data, [k])
            often = counts @ (_inside(one.knots, some.numbers[:, k], wishes.radii[k]) * (some.slots[:, k] < 0)[:, None])
            signs = np.full(len(first), float(wishes.monotone.get(k, 0)))
            steps.append((first, first + 1, often, signs, np.full(len(first), k)))
            if k in wishes.ranks:
                places, slots = start + wishes.blocks[k], data.slots[:, k] - one.first
                often = shares @ _inside_ranks(slots, len(places), wishes.ranks[k])
                steps.append((places[:-1], places[1:], often, np.zeros(len(often)), np.full(len(often), k)))
            elif k in wishes.blocks:
                can_change = _can_change(data.slots[:, k] - one.first, len(wishes.blocks[k]), wishes.radii[k])
                self.groups.append((start + wishes.blocks[k], float(shares @ can_change), k))
        for grid, start in zip(lines.grids, lines.starts[len(lines.hats) :], strict=False):
            places = start + np.arange(grid.size).reshape([axis.size for axis in grid.axes])
            steps += self._along(grid.columns, grid.axes, places, data)
            steps += self._along(grid.columns[::-1], grid.axes[::-1], places.T, data)
        self.low, self.high, self.often, self.signs, self.owners = (
            np.concatenate(part) for part in zip(*steps, strict=True)
        )

    def _along(
        self, columns: tuple[int, int], axes: tuple[Hats, Hats], places: Places, data: Data
    ) -> list[tuple[Places, Places, Floats, Floats, Places]]:
        """Return a surface's steps along the first of its columns, and keep its groups of categories."""
        (k, other), (one, beside) = columns, axes
        data, counts = _some(data, columns)
        near = scipy.sparse.diags(counts) @ design([beside], data.numbers, data.slots, [other])
        found = []

        def add(ends: Places, inside: Floats) -> None:
            often = (near.T @ inside).T.ravel()
            signs, owners = np.zeros(len(often)), np.full(len(often), k)
            found.append((ends[:-1].ravel(), ends[1:].ravel(), often, signs, owners))

        is_ordinary = (data.slots[:, k] < 0)[:, None]
        add(places[: len(one.knots)], _inside(one.knots, data.numbers[:, k], self.wishes.radii[k]) * is_ordinary)
        if k in self.wishes.blocks:
            categories = places[len(one.knots) :][: len(self.wishes.blocks[k])]
            slots = data.slots[:, k] - one.first
            if k in self.wishes.ranks:
                add(categories, _inside_ranks(slots, len(categories), self.wishes.ranks[k]))
            else:
                can_change = _can_change(slots, len(categories), self.wishes.radii[k])
                shares = (near.T @ can_change).tolist()
                self.groups += [(each, share, k) for each, share in zip(categories.T, shares, strict=True)]
        return found

    def steps(self, values: Floats, output: int) -> tuple[Places, Places, Floats, Floats, Places]:
        """Return the ends of every step, how often regions hold it, the sign that it must have or 0, and its column."""
        total = values[:, output] + self.lines.below[:, output]
        low, high, often, owners = [self.low], [self.high], [self.often], [self.owners]
        for places, share, column in self.groups:
            ordered, count = places[np.argsort(total[places], kind="stable")], len(places) - 1
            low.append(ordered[:-1])
            high.append(ordered[1:])
            often.append(np.full(count, share))
            owners.append(np.full(count, column))
        all_often = np.concatenate(often)
        signs = np.concatenate([self.signs, np.zeros(len(all_often) - len(self.signs))])
        return np.concatenate(low), np.concatenate(high), all_often, signs, np.concatenate(owners)

    def cost(self, values: Floats) -> float:
        """Return what steps of the whole shapes cost a row, as `explanation_weight` counts it."""
        if not self.wishes.weight:
            return 0.0
        return self.wishes.weight * float(cost_of(self.widths(values)))

    def widths(self, values: Floats) -> Floats:
        """Return how far lines and surfaces move along each column of the table within a row's region, on average."""
        total, found = values + self.lines.below, np.zeros(len(self.wishes.radii))
        for output in range(values.shape[1]):
            low, high, often, _, owners = self.steps(values, output)
            moved = often * np.abs(total[high, output] - total[low, output])
            found += np.bincount(owners, moved, len(found))
        return found

    def wrong(self, values: Floats) -> float:
        """Return what steps in the wrong direction cost a row."""
        total = values + self.lines.below
        step = (total[self.high] - total[self.low]) * self.signs[:, None]
        return 0.5 * _STIFF * float(np.sum(np.minimum(step, 0) ** 2))

    def quadratic(self, values: Floats, output: int) -> tuple[scipy.sparse.csr_matrix, Floats]:
        """Return the pulls as a matrix, and their gradient at some values, for one row."""
        low, high, often, signs, owners = self.steps(values, output)
        step = (values + self.lines.below)[high, output] - (values + self.lines.below)[low, output]
        price = self.wishes.weight * prices_of(self.widths(values))[owners]
        pull = price * often / np.maximum(np.abs(step), self.small)
        pull = pull + np.where(signs * step < 0, _STIFF, 0.0)
        count = np.arange(len(low))
        ends = np.concatenate([low, high]), np.repeat([-1.0, 1.0], len(low))
        matrix = scipy.sparse.csr_matrix((ends[1], (np.tile(count, 2), ends[0])), shape=(len(low), self.lines.size))
        return (matrix.T @ scipy.sparse.diags(pull) @ matrix).tocsr(), matrix.T @ (pull * step)


def _some(data: Data, columns: Sequence[int]) -> tuple[Data, Floats]:
    """Return rows that stand for all, and how much each counts: of many, some at equal steps of weight, in order."""
    order = np.lexsort([part[:, k] for k in reversed(columns) for part in (data.numbers, data.slots)])
    weights = data.weights[order]
    if len(order) <= _CENTERS:
        return data.take(order), weights / weights.sum()
    total = np.cumsum(weights)
    chosen = np.searchsorted(total, (np.arange(_CENTERS) + 0.5) / _CENTERS * total[-1])
    return data.take(order[chosen]), np.full(_CENTERS, 1 / _CENTERS)


def _inside(knots: Floats, numbers: Floats, radius: float) -> Floats:
    """Return which share of each segment between knots lies within a radius of each number (numbers, segments)."""
    low, high = (np.clip(numbers[:, None] + way * radius, knots[:-1], knots[1:]) for way in (-1, 1))
    return np.asarray((high - low) / np.diff(knots))


def _can_change(slots: Places, count: int, radius: float) -> Floats:
    """Return whether each row has a category that may become any other: a missing cell stays, all do at radius 0."""
    return np.asarray((slots >= 0) & (slots < count) & (radius > 0), dtype=np.float64)


def _inside_ranks(slots: Places, count: int, by: int) -> Floats:
    """Return whether so many ranks from each row's category lead across each step between two (rows, steps)."""
    step, ranks = np.arange(count - 1), slots[:, None]
    is_category = (ranks >= 0) & (ranks < count)  # else it is missing, and stays
    return np.asarray(is_category & (ranks - by <= step) & (step < ranks + by), dtype=np.float64)


class Fit:
    """Some rows, and lines to fit to them; how closely Newton's steps are solved, `tolerance` says."""

    def __init__(
        self, lines: Lines, data: Data, curve: Curve, pulls: Pulls | None = None, *, tolerance: float = 1e-5
    ) -> None:
        self.lines, self.data, self.curve = lines, data, curve
        self.pulls = pulls if pulls is not None and pulls.is_active else None
        self.tolerance, self.spread = tolerance, max(float(data.scores.std()), 1e-12)
        self.matrix = lines.design(data)
        self.back = self.matrix.T.tocsr()
        self.squares = self.back.multiply(self.back).tocsr()

    def loss(self, values: Floats) -> float:
        """Return the mean loss of the rows, with what the steps cost."""
        return float(self.each(values) @ self.data.weights / self.data.weights.sum()) + self.cost(values)

    def is_better(self, values: Floats, others: Floats) -> bool:
        """Whether some values have a smaller loss than others, by more than chance would do on so few rows."""
        gain = self.each(others) - self.each(values) + self.cost(others) - self.cost(values)
        return exceeds(gain, self.data.weights, 2.0)

    def each(self, values: Floats) -> Floats:
        """Return the loss of each row."""
        return self.curve(self.data.scores + self.matrix @ values, self.data.targets)[0]

    def cost(self, values: Floats) -> float:
        """Return what the steps cost a row, as `explanation_weight` counts it."""
        return 0.0 if self.pulls is None else self.pulls.cost(values)

    def deviations(self, values: Floats) -> Floats:
        """Return how much each line and surface varies over the rows."""
        found = []
        for start, end in zip(self.lines.starts[:-1], self.lines.starts[1:], strict=True):
            found.append(np.linalg.norm((self.matrix[:, start:end] @ values[start:end]).std(axis=0)))
        return np.array(found)

    def solve(self, penalty: float, strength: Floats, values: Floats) -> Floats:
        """Return the values that minimise the penalised loss, from some values on."""
        scale = scipy.sparse.diags(np.sqrt(penalty * strength)[self.lines.block])
        rough, rows = (scale @ self.lines.roughness @ scale).tocsr(), float(self.data.weights.sum())
        for _ in range(_PULLED_STEPS if self.pulls is not None else _STEPS):
            _, slope, bend = self.curve(self.data.scores + self.matrix @ values, self.data.targets)
            move = np.zeros_like(values)
            for k in range(values.shape[1]):
                stiff, gradient = rough, self.back @ (self.data.weights * slope[:, k]) + rough @ values[:, k]
                if self.pulls is not None:
                    pull, more = self.pulls.quadratic(values, k)
                    stiff, gradient = rough + rows * pull, gradient + rows * more
                move[:, k] = self._newton(self.data.weights * np.maximum(bend[:, k], 1e-4), stiff, -gradient)
            values, is_done = self._step(values, move, rough)
            if is_done:
                break
        return values

    def _newton(self, bend: Floats, stiff: scipy.sparse.csr_matrix, right: Floats) -> Floats:
        size = self.lines.size
        diagonal = self.squares @ bend + stiff.diagonal()
        whole = LinearOperator((size, size), lambda v: self.back @ (bend * (self.matrix @ v)) + stiff @ v)
        ahead = LinearOperator((size, size), lambda v: v / diagonal)
        found, _ = cg(
            whole, right, atol=self.tolerance * float(np.linalg.norm(right)), maxiter=_MOST_ITERATIONS, M=ahead
        )
        return np.asarray(found)

    def _step(self, values: Floats, move: Floats, rough: scipy.sparse.csr_matrix) -> tuple[Floats, bool]:
        """Return values moved as far as the objective falls, and whether that is nowhere, or hardly anywhere."""
        rows = float(self.data.weights.sum())

        def objective(at: Floats) -> float:
            wrong = 0.0 if self.pulls is None else self.pulls.wrong(at)
            return self.loss(at) * rows + 0.5 * float(np.sum(at * (rough @ at))) + wrong * rows

        now, share = objective(values), 1.0
        while share > 0.05:
            moved = values + share * move
            if objective(moved) < now:
                return moved, bool(np.abs(self.matrix @ (share * move)).max() < 0.01 * self.spread)
            share /= 2
        return values, True


def exceeds(differences: Floats, weights: Floats, errors: float) -> bool:
    """Whether the mean of differences is above 0 by so many of its standard errors."""
    weights = weights / weights.sum()
    mean = float(weights @ differences)
    return mean > errors * float(np.sqrt(np.sum(weights**2 * (differences - mean) ** 2)))
