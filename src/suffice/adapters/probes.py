"""Rows of our own at which an original is asked: where a model that was read wrongly would show.

In: a model, its exact pieces, and what its features can be. Out: rows. Each feature is tried at its knots, beside and
between them, far out, and at its labels; and some rows are put together so that the score of two classes is as close to
the decision as can be, on either side, for a threshold that is only a little off shows nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from flint import fmpq

from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes import Pieces

Compiled: TypeAlias = tuple[tuple[Pieces, ...], ...]

_FEWEST, _MOST = 256, 1024  # rows
_CELLS = 500_000  # of these rows, unless the model is wider still
_CLOSE = (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3)  # scores at which rows near the decision aim, on either side
_STARTS = 2  # for each of them
_TURNED = 32  # features that are chosen for it


def probes(model: AdditiveModel, pieces: Compiled, domains: Sequence[Domain]) -> list[Row]:
    """Return rows that try every feature at the values that tell; where there is room, each of these is in some row."""
    random = np.random.default_rng(0)
    columns = []
    for domain, functions in zip(domains, pieces, strict=True):
        numbers, labels = _numbers(domain, functions), (*domain.categories_, *domain.codes_)
        some = random.permutation(len(numbers))[: max(_MOST - len(labels), _MOST // 2)]
        columns.append([*(numbers[k] for k in sorted(some)), *labels])
    room = max(_CELLS // len(columns), _FEWEST // 4)
    count = min(max(_FEWEST, *map(len, columns)), _MOST, room)
    picks = [_shuffled(random, len(pool), count) for pool in columns]
    rows = [tuple(pool[pick[k]] for pool, pick in zip(columns, picks, strict=True)) for k in range(count)]
    return [*rows, *_near_the_decision(model, pieces, domains, columns, rows)] if model.task == "binary" else rows


def _near_the_decision(
    model: AdditiveModel,
    pieces: Compiled,
    domains: Sequence[Domain],
    columns: Sequence[Sequence[Value]],
    rows: Sequence[Row],
) -> list[Row]:
    """Return rows with scores close to 0: features are chosen one after the other, each for the best sum so far.

    Floats are good enough here: whatever row comes out, its score is computed exactly later.
    """
    random = np.random.default_rng(1)
    order = random.permutation(len(columns))[:_TURNED].tolist()
    parts = {i: np.array([nearest_float(pieces[i][0](value)) for value in columns[i]]) for i in order}
    found = []
    for start in (rows[k] for k in random.integers(len(rows), size=_STARTS).tolist()):
        here = [one[0](value) for one, value in zip(pieces, start, strict=True)]
        score = nearest_float(sum(here, model.intercept[0]))
        for aim in (sign * close for close in _CLOSE for sign in (1, -1)):
            row, total = list(start), score
            for i in order:
                others = total - nearest_float(here[i])
                best = int(np.argmin(np.abs(others + parts[i] - aim)))
                row[i], total = columns[i][best], others + float(parts[i][best])
            for i in order:
                moved = _moved(pieces[i][0], domains[i], row[i], aim - total)
                if moved is not None:
                    row[i] = moved
                    break
            found.append(tuple(row))
    return found


def _moved(function: Pieces, domain: Domain, value: Value, change: float) -> Value | None:
    """Return a number at which a function has changed by about so much, if its slope there leads to one."""
    if not isinstance(value, fmpq) or not math.isfinite(change):
        return None
    slope = nearest_float(function.slopes[function.segment_after(value)])
    place = nearest_float(value) + change / slope if slope else math.inf
    if not math.isfinite(place):
        return None
    moved = fmpq(*place.as_integer_ratio())
    reached = nearest_float(function(moved) - function(value))
    return moved if domain.holds(moved) and abs(reached - change) <= abs(change) / 2 else None


def _shuffled(random: np.random.Generator, values: int, count: int) -> list[int]:
    """Return places of values in chance order, none twice before all others were there."""
    rounds = [random.permutation(values) for _ in range(0, count, values)]
    return [int(k) for k in np.concatenate(rounds)[:count]]


def _numbers(domain: Domain, functions: tuple[Pieces, ...]) -> list[Value]:
    knots = sorted({nearest_float(knot) for one in functions for knot in one.knots})
    ends = [nearest_float(end) for span in domain.spans for end in span[:2] if end is not None]
    places = sorted({*knots, *ends}) or [0.0]
    reach = max(places[-1] - places[0], 1.0)
    floats = {*places, *((a + b) / 2 for a, b in pairwise(places))}
    floats |= {math.nextafter(place, side) for place in places for side in (-math.inf, math.inf)}
    floats |= {places[0] - 0.37 * reach, places[-1] + 0.41 * reach, places[0] - 9.3 * reach, places[-1] + 9.7 * reach}
    if any(span.is_integers for span in domain.spans):
        floats |= {float(round(place)) for place in floats if math.isfinite(place)}
    exact = (fmpq(*value.as_integer_ratio()) for value in sorted(floats) if math.isfinite(value))
    return [value for value in exact if domain.holds(value)]
