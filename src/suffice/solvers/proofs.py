"""Sets that suffice, and why no cheaper one does: trees over items with bounds at their leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

from suffice.core.constraint import Scenario
from suffice.numbers.exact import Rational

Multipliers: TypeAlias = tuple[Rational, ...]


class Bound(NamedTuple):
    """A leaf: with these multipliers of the constraints, no allowed set below it frees more than the proof says."""

    multipliers: Multipliers


class Surrogate(NamedTuple):
    """A leaf: a linear inequality that follows from scenarios; how much can be freed is then a matter of sorting.

    Every scenario says of a set that may be freed, with 1 for a freed item and 0 for a kept one, that
    `Σ u·y + Σ q·y·y' ≤ margin`. Scenarios times multipliers, all positive, add up to one such inequality. In it, a
    product of two items that are both undecided at the leaf counts as linear:

    - `q·y·y' ≥ s/16·q·(y + y' - 1)` if it is positive (`s` = 0 where no share is given),
    - `q·y·y' ≥ s/16·q·y + (16 - s)/16·q·y'` if it is negative (`s` = 8 where no share is given),

    which holds for 0 and 1 and any `s` from 0 to 16. A product with a decided item is linear by itself. Without any
    scenario it says that all that is undecided costs too little.
    """

    multipliers: tuple[tuple[int, int], ...]  # scenario and multiplier, for scores as they are
    shares: tuple[tuple[int, int, int], ...] = ()  # two items, the smaller first, and the share `s` of the first


class Few(NamedTuple):
    """A leaf where few of the freed features may change at once: the largest weights of a scenario show it."""

    scenario: int  # one of `Scenarios.wide`


class Branch(NamedTuple):
    """A node that decides one item.

    Where drops add up, an item that is fixed keeps all worse ones, and an item that is freed frees all better ones
    (`Problem.better`). In a tree of scenarios it decides nothing but itself.
    """

    item: int
    fixed: Tree
    freed: Tree | None  # None: freeing it breaks a constraint


Tree: TypeAlias = Bound | Surrogate | Few | Branch


@dataclass(frozen=True)
class Scenarios:
    """A proof by scenarios: a set that may be freed leaves room for each of them.

    Parameters
    ----------
    scenarios : tuple of pairs
        For each the constraint it belongs to, by its number, and the scenario.
    wide : tuple of pairs
        The same for scenarios that change more features than may change at once.
    grow : callable
        Makes the tree.
    """

    scenarios: tuple[tuple[int, Scenario], ...]
    wide: tuple[tuple[int, Scenario], ...]
    grow: Callable[[], Tree]

    @cached_property
    def tree(self) -> Tree:
        """The tree, made when it is first asked for: smaller than the one of the search, and made with more care."""
        return self.grow()


@dataclass(frozen=True)
class Grown:
    """A proof whose tree is made when it is first asked for: most answers are never certified.

    Parameters
    ----------
    grow : callable
        Makes the tree. Its leaves need not all close: what writes a certificate goes on from there.
    """

    grow: Callable[[], Tree]

    @cached_property
    def tree(self) -> Tree:
        """The tree."""
        return self.grow()


Proof: TypeAlias = Tree | Grown | Scenarios


@dataclass(frozen=True, slots=True)
class Cover:
    """A sufficient set, and a proven bound on how little one can cost.

    `fixed` is sufficient, at this cost; no allowed set costs less than `lower_bound`. The two meet where it is best.
    """

    fixed: tuple[int, ...]  # features, the weightiest first
    cost: int
    lower_bound: int
    nodes: int
    proof: Proof

    @property
    def is_best(self) -> bool:
        """Whether it is proven that no allowed set costs less."""
        return self.cost == self.lower_bound
