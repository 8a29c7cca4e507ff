"""Rows on which a model that was read is compared with its original: chosen where the two could differ.

Each feature is tried at its knots, beside and between them, far out, and at its labels; and some rows are put together
so that the score of two classes is as close to the decision as can be, on either side: a threshold that is only
slightly off shows nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from flint import fmpq

from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.enclosure import middle
from suffice.numbers.exact import ZERO, Rational, nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row
from suffice.shapes import Enclosed, Function
from suffice.shapes.curves import curved_form

_FEWEST, _MOST = 256, 1024  # rows
_CELLS = 500_000  # of these rows, unless the model is wider still
_CLOSE = (1e-6, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3)  # scores at which rows near the decision aim, on either side
_BITS = 64  # how closely smooth shapes are known here
_STARTS = 2  # for each of them
_TURNED, _TRIED = 16, 64  # features that are chosen for it, and values of each


def probes(compiled: Compiled, domains: Sequence[Domain]) -> list[Row]:
    """Return rows that try every feature at its knots, beside and between them, far out, and at its labels.

    The cuts of pairs are knots of both features. Where there is room for them, each of these values is in some row;
    which values meet in a row is left to chance, so that with pairs there are always as many rows as may be.
    """
    random = np.random.default_rng(0)
    columns = []
    for knots, domain in zip(_knots(compiled), domains, strict=True):
        numbers, labels = _numbers(domain, knots), (*domain.categories_, *domain.codes_)
        some = random.permutation(len(numbers))[: max(_MOST - len(labels), _MOST // 2)]
        columns.append([*(numbers[k] for k in sorted(some)), *labels])
    room = max(_CELLS // len(columns), _FEWEST // 4)
    count = _MOST if compiled.pairs else max(_FEWEST, *map(len, columns))
    count = min(count, _MOST, room)
    picks = [_shuffled(random, len(pool), count) for pool in columns]
    rows = [tuple(pool[pick[k]] for pool, pick in zip(columns, picks, strict=True)) for k in range(count)]
    return [*rows, *_near_the_decision(compiled, domains, columns, rows)] if compiled.model.task == "binary" else rows


def _near_the_decision(
    compiled: Compiled, domains: Sequence[Domain], columns: Sequence[Sequence[Value]], rows: Sequence[Row]
) -> list[Row]:
    """Return rows with scores close to 0: features are chosen one after the other, each for the best sum so far.

    Floats are good enough here: whatever row comes out, its score is computed exactly later.
    """
    random = np.random.default_rng(1)
    order = random.permutation(len(columns))[:_TURNED].tolist()
    tried = {i: [columns[i][k] for k in random.permutation(len(columns[i]))[:_TRIED]] for i in order}
    own = {i: [_near(compiled.pieces[i][0], value) for value in tried[i]] for i in order}
    found = []
    for start in (rows[k] for k in random.integers(len(rows), size=_STARTS).tolist()):
        score = middle(compiled.scores(start)[0])
        for aim in (sign * close for close in _CLOSE for sign in (1, -1)):
            row, total = list(start), score
            for i in order:
                joint = _joint(compiled, row, i)
                parts = [part + joint(value) for part, value in zip(own[i], tried[i], strict=True)]
                others = total - _near(compiled.pieces[i][0], row[i]) - joint(row[i])
                best = int(np.argmin([abs(nearest_float(others + part) - aim) for part in parts]))
                row[i], total = tried[i][best], others + parts[best]
            for i in order:
                moved = _moved(compiled.pieces[i][0], domains[i], row[i], aim - nearest_float(total))
                if moved is not None:
                    row[i] = moved
                    break
            found.append(tuple(row))
    return found


def _near(function: Function, value: Value) -> Rational:
    return middle(function.value(value, _BITS))


def _joint(compiled: Compiled, row: Sequence[Value], i: int) -> Callable[[Value], Rational]:
    """Return what the pairs of a feature add to the score, as a function of its value alone."""
    pairs = [(pair, functions[0]) for pair, functions in compiled.pairs if i in pair]
    others = [(a == i, function, row[b if a == i else a]) for (a, b), function in pairs]
    return lambda value: sum(
        (function(value, other) if first else function(other, value) for first, function, other in others), ZERO
    )


def _moved(function: Function, domain: Domain, value: Value, change: float) -> Value | None:
    """Return a number at which a function has changed by about so much, if its slope there leads to one."""
    if not isinstance(value, fmpq) or not math.isfinite(change) or function.count is None:
        return None
    slope = nearest_float(curved_form(function).polynomials[function.segment_after(value)].derivative()(value))
    place = nearest_float(value) + change / slope if slope else math.inf
    if not math.isfinite(place):
        return None
    moved = fmpq(*place.as_integer_ratio())
    reached = nearest_float(function(moved) - function(value)) if domain.holds(moved) else math.inf
    return moved if abs(reached - change) <= abs(change) / 2 else None


def _knots(compiled: Compiled) -> list[set[Rational]]:
    """Return where each feature's shape or one of its pairs may bend or jump."""
    found = [{knot for one in functions for knot in _corners(one)} for functions in compiled.pieces]
    for pair, functions in compiled.pairs:
        for function in functions:
            for i, axis in zip(pair, function.axes, strict=True):
                found[i].update(cut.place for cut in axis.cuts)
    return found


def _corners(function: Function) -> Sequence[Rational]:
    return function.chains.places if isinstance(function, Enclosed) else function.knots


def _shuffled(random: np.random.Generator, values: int, count: int) -> list[int]:
    """Return places of values in chance order, none twice before all others were there."""
    rounds = [random.permutation(values) for _ in range(0, count, values)]
    return [int(k) for k in np.concatenate(rounds)[:count]]


def _numbers(domain: Domain, exact_knots: Iterable[Rational]) -> list[Value]:
    knots = {nearest_float(knot) for knot in exact_knots}
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
