"""Short numbers that part the groups of a certificate: any between two cuts of the model file will do.

The checker tells labels apart by the cuts that stand in the file. Those of a compiled model may be fewer, so that they
are collected here from the shapes as they are written.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch

from flint import fmpq

from suffice.model.additive import AdditiveModel
from suffice.numbers.exact import Rational
from suffice.shapes.pair_shape import PairRescaled, PairScaled, PairShape, PairSum
from suffice.shapes.pair_tables import PairSteps


def file_cuts(model: AdditiveModel, i: int) -> frozenset[Rational] | None:
    """Return where the pair terms of a feature are cut in the model file; None where a term may vary between cuts."""
    found: set[Rational] = set()
    feature = model.features[i]
    for term in model.pairs:
        if i in term.features:
            cuts = _cuts(term.shape, term.features.index(i))
            if cuts is None:
                return None
            found.update(cut * feature.scale + feature.center for cut in cuts)
    return frozenset(found)


@singledispatch
def _cuts(shape: PairShape, side: int) -> list[Rational] | None:
    """Return the cuts of a shape along one of its variables; None where it may vary between them."""
    return None


@_cuts.register
def _(shape: PairSteps, side: int) -> list[Rational] | None:
    bins = (shape.rows, shape.columns)[side]
    return [*(bins.cuts or ()), *(key for key in bins.keys if isinstance(key, fmpq))]


@_cuts.register
def _(shape: PairSum, side: int) -> list[Rational] | None:
    every = [_cuts(part, side) for part in shape.parts]
    return None if None in every else [cut for cuts in every if cuts is not None for cut in cuts]


@_cuts.register
def _(shape: PairScaled, side: int) -> list[Rational] | None:
    return _cuts(shape.shape, side)


@_cuts.register
def _(shape: PairRescaled, side: int) -> list[Rational] | None:
    cuts = _cuts(shape.shape, side)
    return None if cuts is None else [cut * shape.scales[side] + shape.centers[side] for cut in cuts]


def shortened(number: Rational, others: Collection[Rational]) -> Rational:
    """Return a short number that is not above one, but above all others that are below it, or above one less."""
    below = [other for other in others if other < number]
    low = max(below) if below else number - 1
    return -_simplest(-number, -low)


def _simplest(low: Rational, high: Rational) -> Rational:
    """Return the fraction of the smallest denominator that is at least `low` and below `high`."""
    whole = fmpq(low.ceil())
    if whole < high:
        return whole if whole > 0 or high <= 0 else fmpq(0)
    base = fmpq(low.floor())
    # Both are between two neighbouring integers: what is simplest is so for the reciprocals of their distances.
    inner, outer = 1 / (high - base), 1 / (low - base)
    return base + 1 / _simplest_above(inner, outer)


def _simplest_above(low: Rational, high: Rational) -> Rational:
    """Return the fraction of the smallest denominator that is above `low` and at most `high`, for positive numbers."""
    whole = fmpq(low.floor() + 1)
    if whole <= high:
        return whole
    base = fmpq(low.floor())
    return base + 1 / _simplest(1 / (high - base), 1 / (low - base)) if low > base else high
