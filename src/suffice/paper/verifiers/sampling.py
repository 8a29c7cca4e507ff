"""The sampling baselines: try points in place of a proof. Two kinds, which behave very differently.

Jointly sampled points see each feature move, but hardly ever all features at their worst together. Evenly spaced points
for each feature alone, put together by additivity, miss only what lies between two neighbours.
"""

from __future__ import annotations

import numpy as np

from suffice.numbers.exact import nearest_float, rational
from suffice.paper.instance import Part, Query
from suffice.paper.layers import Floats
from suffice.paper.verifiers.interface import HOLDS, Reply, Trust, Verdict, Verifier


class GridSampling(Verifier):
    """Evenly spaced points for each feature; the lowest of each are put together.

    Parameters
    ----------
    points : int
        How many for each feature, both ends included; the paper takes 1,000.
    """

    name = "sampling, evenly spaced per feature"
    trust = Trust.SAMPLED

    def __init__(self, points: int = 1_000) -> None:
        super().__init__()
        self.points = points

    def reply(self, query: Query, seconds: float) -> Reply:
        """Return a counterexample if the lowest points of all features make one."""
        total, lowest = nearest_float(query.constant), []
        for part in query.parts:
            low, high = map(nearest_float, part.scaled)
            grid = np.linspace(low, high, self.points)
            values = part.component.layers.near(grid)
            total += float(values.min())
            lowest.append(float(grid[values.argmin()]))
        return _judge(query, total, lowest)


class JointSampling(Verifier):
    """Points drawn uniformly from the box of all free features at once.

    Parameters
    ----------
    points : int
        How many.
    seed : int
        Same seed, same query: same points.
    """

    name = "sampling, joint"
    trust = Trust.SAMPLED

    def __init__(self, points: int = 1_000, seed: int = 0) -> None:
        super().__init__()
        self.points, self.seed = points, seed

    def reply(self, query: Query, seconds: float) -> Reply:
        """Return the lowest of the points as a counterexample, if it is one."""
        rng = np.random.default_rng(self.seed)
        drawn = [self._draw(part, rng) for part in query.parts]
        totals = np.full(self.points, nearest_float(query.constant))
        for part, points in zip(query.parts, drawn, strict=True):
            totals += part.component.layers.near(points)
        best = int(totals.argmin())
        return _judge(query, float(totals[best]), [float(points[best]) for points in drawn])

    def _draw(self, part: Part, rng: np.random.Generator) -> Floats:
        low, high = map(nearest_float, part.scaled)
        return rng.uniform(low, high, self.points)


def _judge(query: Query, total: float, scaled: list[float]) -> Reply:
    if total > 0 or (total == 0 and not query.is_strict):
        return HOLDS
    point = tuple(part.value_of(rational(t)) for part, t in zip(query.parts, scaled, strict=True))
    return Reply(Verdict.COUNTEREXAMPLE, point) if query.is_broken_by(point) else HOLDS
