"""Features that act together, by trying everything: labellings of graphs, values of regions and all their limits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

NEAR = Fraction(1, 10**9)  # much less than the distances between the numbers of a test


def sums_of_labellings(
    own: Sequence[Sequence[int]],
    tables: Mapping[tuple[int, int], Sequence[Sequence[int]]],
    free: Collection[int],
    most: int,
    uncounted: Collection[int] = (),
) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield every labelling of the free features with at most so many changes that count, and its sum."""
    for labels in itertools.product(*(range(len(one)) if i in free else (0,) for i, one in enumerate(own))):
        if sum(label != 0 and i not in uncounted for i, label in enumerate(labels)) <= most:
            alone = sum(one[label] for one, label in zip(own, labels, strict=True))
            yield labels, alone + sum(table[labels[i]][labels[j]] for (i, j), table in tables.items())


@dataclass(frozen=True)
class Line:
    """A feature of an oracle: its own part, the numbers where anything happens along it, and where it may go."""

    part: Callable[[Any], Fraction]
    breaks: Collection[Fraction]
    row: Any
    low: Fraction | None = None  # None: it has no numbers
    high: Fraction | None = None
    is_integers: bool = False
    labels: Sequence[Any] = ()

    def places(self) -> list[tuple[Any, int]]:
        """Return all that matters of the region: values (side 0), and numbers approached from a side."""
        found: list[tuple[Any, int]] = [(self.row, 0), *((label, 0) for label in self.labels)]
        if self.low is None or self.high is None:
            return found
        if self.is_integers:
            first, last = -((-self.low) // 1), self.high // 1
            return [*found, *((Fraction(k), 0) for k in range(int(first), int(last) + 1))]
        at = sorted({self.low, self.high, *(one for one in self.breaks if self.low < one < self.high)})
        found += [(one, 0) for one in at]
        found += [((left + right) / 2, 0) for left, right in itertools.pairwise(at)]
        found += [(one, 1) for one in at if one < self.high] + [(one, -1) for one in at if one > self.low]
        return found


def limit(function: Callable[..., Fraction], *places: tuple[Any, int]) -> Fraction:
    """Return a function at values, or its limit where some are approached: it is affine along each of them there."""
    ways = [[(at, 1)] if not side else [(at + side * NEAR, 2), (at + 2 * side * NEAR, -1)] for at, side in places]
    total = Fraction(0)
    for chosen in itertools.product(*ways):
        weight = 1
        for _, factor in chosen:
            weight *= factor
        total += weight * function(*(at for at, _ in chosen))
    return total


def largest_falls(
    lines: Sequence[Line],
    pairs: Mapping[tuple[int, int], Callable[[Any, Any], Fraction]],
    sets: Collection[tuple[int, ...]],
    most: int,
) -> dict[tuple[int, ...], tuple[Fraction, bool]]:
    """Return for each set of free features how far the score can fall, and whether some input falls as far."""
    places = [line.places() for line in lines]
    alone = [[limit(line.part, one) for one in some] for line, some in zip(lines, places, strict=True)]
    both = {
        (i, j): [[limit(pair, one, other) for other in places[j]] for one in places[i]]
        for (i, j), pair in pairs.items()
    }
    found = {}
    for freed in sets:
        best, attained = Fraction(0), Fraction(0)
        for chosen in itertools.product(*(range(len(some)) if i in freed else (0,) for i, some in enumerate(places))):
            if sum(places[i][k] != (lines[i].row, 0) for i, k in enumerate(chosen)) > most:
                continue
            fall = sum((alone[i][0] - alone[i][k] for i, k in enumerate(chosen)), Fraction(0))
            fall += sum((table[0][0] - table[chosen[i]][chosen[j]] for (i, j), table in both.items()), Fraction(0))
            best = max(best, fall)
            if all(places[i][k][1] == 0 for i, k in enumerate(chosen)):
                attained = max(attained, fall)
        found[freed] = best, best == attained
    return found
