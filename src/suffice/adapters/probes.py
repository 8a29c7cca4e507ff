"""Rows on which a model that was read is compared with its original: chosen where the two could differ."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from flint import fmpq

from suffice.model.compiled import Compiled
from suffice.model.domain import Domain
from suffice.numbers.exact import Rational, nearest_float
from suffice.numbers.values import Value
from suffice.question.row import Row

_FEWEST, _MOST = 256, 1024  # rows
_CELLS = 500_000  # of these rows, unless the model is wider still


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
    return [tuple(pool[pick[k]] for pool, pick in zip(columns, picks, strict=True)) for k in range(count)]


def _knots(compiled: Compiled) -> list[set[Rational]]:
    """Return where each feature's shape or one of its pairs may bend or jump."""
    found = [{knot for one in functions for knot in one.knots} for functions in compiled.pieces]
    for pair, functions in compiled.pairs:
        for function in functions:
            for i, axis in zip(pair, function.axes, strict=True):
                found[i].update(cut.place for cut in axis.cuts)
    return found


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
