"""From exact pieces to shapes: how adapters put functions of one column together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any, overload

import numpy as np
from flint import fmpq_poly

from suffice.errors import AdapterError
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.shapes import (
    Composed,
    Curves,
    Enclosed,
    Function,
    Pieces,
    PiecewiseLinear,
    PiecewisePolynomial,
    Shape,
    Smooth,
    SmoothNetwork,
    Steps,
    Table,
)
from suffice.shapes.chains import Chain
from suffice.shapes.combining import combined, straight
from suffice.shapes.curves import curved_form, tidy
from suffice.shapes.enclosed import chains_of
from suffice.shapes.jets import ExactStage, FormulaStage, NetworkStage, Stage
from suffice.shapes.shape import Sum
from suffice.shapes.smooth import composed

IDENTITY = Pieces.affine(ONE, ZERO)


@overload
def compose(outer: Pieces, inner: Pieces) -> Pieces: ...


@overload
def compose(outer: Function, inner: Function) -> Function: ...


def compose(outer: Function, inner: Function) -> Function:
    """Return `x -> outer(inner(x))`.

    Knots are those of the inner function, and where its pieces meet a knot of the outer one. Of a curve only a line
    without knots can be made.
    """
    if isinstance(inner, Enclosed) or isinstance(outer, Enclosed):
        return composed(outer, inner)
    if not isinstance(inner, Pieces):
        return _line_of(outer, inner)
    places = _composed_knots(outer, inner)
    if not isinstance(outer, Pieces):
        return _curve_of(curved_form(outer), inner, places)
    slopes, offsets = [], []
    for k in range(len(places) + 1):
        inside = _inside(places, k)
        at = _segment(inner, inside)
        slope, offset = inner.slopes[at], inner.offsets[at]
        # No knot lies inside, so one piece of the outer function holds here, unless the inner one is constant.
        middle = slope * inside + offset
        over = _segment(outer, middle)
        if slope == 0:
            slopes.append(ZERO)
            offsets.append(outer(middle))
        else:
            slopes.append(outer.slopes[over] * slope)
            offsets.append(outer.slopes[over] * offset + outer.offsets[over])
    return Pieces.tidy(places, slopes, offsets, [outer(inner(place)) for place in places])


def _line_of(outer: Function, inner: Function) -> Function:
    if not isinstance(outer, Pieces) or outer.knots:
        raise AdapterError(
            "a curved column is followed by a step that bends or jumps; only lines are read after curves"
        )
    return combined([(outer.slopes[0], inner), (ONE, Pieces.affine(ZERO, outer.offsets[0]))])


def _curve_of(outer: Curves, inner: Pieces, places: Sequence[Rational]) -> Function:
    polynomials = []
    for k in range(len(places) + 1):
        inside = _inside(places, k)
        at = _segment(inner, inside)
        slope, offset = inner.slopes[at], inner.offsets[at]
        middle = slope * inside + offset
        whole = outer.polynomials[_segment(outer, middle)](fmpq_poly([offset, slope]))
        polynomials.append(whole if slope else fmpq_poly([outer(middle)]))
    return tidy(places, polynomials, [outer(inner(place)) for place in places])


def _composed_knots(outer: Function, inner: Pieces) -> list[Rational]:
    knots = set(inner.knots)
    for k, (slope, offset) in enumerate(zip(inner.slopes, inner.offsets, strict=True)):
        if slope != 0:
            found = ((knot - offset) / slope for knot in outer.knots)
            knots.update(at for at in found if _segment(inner, at) == k or at in knots)
    return sorted(knots)


def is_continuous(curve: Curves) -> bool:
    """Whether a curve jumps nowhere."""
    sides = zip(curve.knots, curve.values, pairwise(curve.polynomials), strict=True)
    return all(before(knot) == value == after(knot) for knot, value, (before, after) in sides)


def _segment(pieces: Function, at: Rational) -> int:
    """Return the index of the piece that holds a point, or begins there."""
    return pieces.segment_after(at)


def _inside(places: Sequence[Rational], k: int) -> Rational:
    """Return a point strictly inside the k-th stretch between places."""
    if not places:
        return ZERO
    if k == 0:
        return places[0] - 1
    return places[-1] + 1 if k == len(places) else (places[k - 1] + places[k]) / 2


def to_shape(functions: Sequence[Function], labels: Mapping[Any, Sequence[Rational]] | None = None) -> Shape:
    """Return a shape with one output for each function, and values at labels.

    A function with jumps is a broken line without them, plus steps, plus single points where it is neither limit.
    """
    pieces = straight(functions)
    if any(isinstance(one, Enclosed) for one in functions):
        return _smooth_shape([chains_of(one) for one in functions], labels)
    if pieces is None:
        return _curved_shape([curved_form(one) for one in functions], labels)
    knots = sorted({knot for one in pieces for knot in one.knots})
    columns = [_split(one, knots) for one in pieces]
    parts: list[Shape] = []
    if any(any(one.slopes) for one in pieces):
        if knots:
            values = [[line[k] for line, _, _ in columns] for k in range(len(knots))]
            left, right = [one.slopes[0] for one in pieces], [one.slopes[-1] for one in pieces]
            parts.append(PiecewiseLinear(knots, values, left, right))
        else:
            slopes = [one.slopes[0] for one in pieces]
            parts.append(PiecewiseLinear([0], [[ZERO] * len(pieces)], slopes, slopes))
    steps = [list(row) for row in zip(*(jumps for _, jumps, _ in columns), strict=True)]
    if not parts or any(any(row) for row in steps):
        kept = [k for k in range(len(knots)) if steps[k] != steps[k + 1]]
        parts.append(Steps([knots[k] for k in kept], [steps[0], *(steps[k + 1] for k in kept)]))
    shape = parts[0] if len(parts) == 1 else Sum(tuple(parts))
    points = {
        knot: [one(knot) for one in pieces] for k, knot in enumerate(knots) if any(odd[k] for _, _, odd in columns)
    }
    entries: dict[Any, Any] = {**points, **(labels or {})}
    return Table(entries, otherwise=shape) if entries else shape


def _smooth_shape(functions: Sequence[Sequence[Chain]], labels: Mapping[Any, Sequence[Rational]] | None) -> Shape:
    """Return a sum of smooth shapes, each with a factor for every output, and single points beside it."""
    parts: list[tuple[Chain, list[Rational]]] = []
    points = sorted({at for chains in functions for chain in chains for at in chain.points})
    for j, chains in enumerate(functions):
        for chain in chains:
            plain = replace(chain, factor=ONE, points={}, labels={})
            factors = next((own for known, own in parts if known == plain), None)
            if factors is None:
                factors = [ZERO] * len(functions)
                parts.append((plain, factors))
            factors[j] += chain.factor
    shapes = [_multiples(_chain_shape(chain), factors) for chain, factors in parts]
    shape = shapes[0] if len(shapes) == 1 else Sum(tuple(shapes))
    entries: dict[Any, Any] = {at: [_at_point(chains, at) for chains in functions] for at in points}
    entries |= labels or {}
    return Table(entries, otherwise=shape) if entries else shape


def _multiples(shape: Shape, factors: Sequence[Rational]) -> Shape:
    if len(factors) == 1:
        return shape * factors[0]
    return Composed(PiecewiseLinear([0], [[ZERO] * len(factors)], factors, factors), shape)


def _at_point(chains: Sequence[Chain], at: Rational) -> Rational:
    """Return the value at a number that all chains have a value of their own at."""
    if not all(at in chain.points for chain in chains):
        raise AdapterError(
            "a smooth column has a value of its own at one number, and another part of it has none there"
        )
    return sum((chain.factor * chain.points[at] for chain in chains), ZERO)


def _chain_shape(chain: Chain) -> Shape:
    """Return the shape that compiles to a chain."""
    each = [_stage_shape(stage) for stage in chain.stages]
    if chain.first is not None:
        each.insert(0, _curved_shape([chain.first], {label: [one] for label, one in chain.first.labels.items()}))
    shape = reduce(lambda inner, outer: Composed(outer, inner), each)
    is_changed = (chain.center, chain.scale) != (ZERO, ONE)
    return shape.rescaled(chain.center, chain.scale) if is_changed else shape


def _stage_shape(stage: Stage) -> Shape:
    if isinstance(stage, FormulaStage):
        return Smooth(stage.function)
    if isinstance(stage, ExactStage):
        return _curved_shape([stage.function], None)
    assert isinstance(stage, NetworkStage)
    network, each = stage.shape, stage.readout
    assert isinstance(network, SmoothNetwork)
    if each == (ONE,):
        return network
    units = np.eye(len(each))
    parts = [network.read_by(units[k : k + 1]) * factor for k, factor in enumerate(each) if factor]
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def _curved_shape(curves: Sequence[Curves], labels: Mapping[Any, Sequence[Rational]] | None) -> Shape:
    knots = sorted({knot for one in curves for knot in one.knots})
    segments = [[0, *map(one.segment_after, knots)] for one in curves]
    rows = [
        [one.polynomials[at[k]].coeffs() or [ZERO] for one, at in zip(curves, segments, strict=True)]
        for k in range(len(knots) + 1)
    ]
    shape = PiecewisePolynomial(knots, rows, [[one(knot) for one in curves] for knot in knots])
    return Table(dict(labels), otherwise=shape) if labels else shape


def _split(pieces: Pieces, knots: Sequence[Rational]) -> tuple[list[Rational], list[Rational], list[bool]]:
    """Return a continuous function's values at knots, the steps to add between them, and where a knot stands apart."""
    segments = [0, *(pieces.segment_after(knot) for knot in knots)]
    slopes = [pieces.slopes[k] for k in segments]
    offsets = [pieces.offsets[k] for k in segments]
    # The line begins at 0 in the first knot; between knots it rises as the function does.
    line = [ZERO]
    for k in range(1, len(knots)):
        line.append(line[-1] + slopes[k] * (knots[k] - knots[k - 1]))
    if not knots:
        return [], [offsets[0]], []
    jumps = [slopes[0] * knots[0] + offsets[0]]
    jumps += [slopes[k + 1] * knots[k] + offsets[k + 1] - line[k] for k in range(len(knots))]
    odd = [pieces(knots[k]) != line[k] + jumps[k + 1] for k in range(len(knots))]
    return line, jumps, odd


def split_jumps(pieces: Pieces) -> tuple[Pieces, list[Rational], list[Rational]]:
    """Return a function as a continuous one, the steps to add between its knots, and what to add at each knot."""
    if not pieces.knots:
        return Pieces.affine(pieces.slopes[0], ZERO), [pieces.offsets[0]], []
    values, steps, _ = _split(pieces, pieces.knots)
    (line,) = PiecewiseLinear(pieces.knots, values, pieces.slopes[0], pieces.slopes[-1]).compile()
    return line, steps, [pieces(knot) - value for knot, value in zip(pieces.knots, values, strict=True)]


def step_pieces(cuts: Sequence[Rational], values: Sequence[Rational], closed: str) -> Pieces:
    """Return a step function; of equal cuts the value between them is nowhere taken."""
    if len(values) != len(cuts) + 1:
        raise AdapterError(f"{len(cuts)} cuts make {len(cuts) + 1} bins, got {len(values)} values")
    kept = [k for k in range(len(cuts)) if k + 1 == len(cuts) or cuts[k] != cuts[k + 1]]
    rows = [[values[0]], *([values[k + 1]] for k in kept)]
    (pieces,) = Steps([cuts[k] for k in kept], rows, "left" if closed == "left" else "right").compile()
    return pieces
