"""From fitted networks and their corrections to exact terms: the same parameters, read as exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.gam.columns import Categorical, Column
from suffice.gam.convert import Parts, exact_rows, line_of, placed, surfaces_of
from suffice.gam.hats import Hats
from suffice.gam.terms import Terms
from suffice.shapes import Activation, PiecewiseLinear, Readout, ReluNetwork, Shape


def network_parts(network: Any, columns: Sequence[Column], corrections: Terms | None) -> Parts:
    """Return the exact terms of networks, an AdditiveNetwork, with their corrections."""
    bases = [_network(network, member) for member in range(network.members)] if network.mix is not None else []
    shapes, offset = [], 0
    for place, column in enumerate(columns):
        slots = slice(offset, offset + column.slots)
        shapes.append(_shape(network, place, column, slots, bases, corrections))
        offset += column.slots
    pairs = {} if corrections is None else surfaces_of(columns, corrections)
    return Parts(shapes, pairs, _means(_floats(network.bias)[:, None])[0])


def _shape(
    network: Any, place: int, column: Column, slots: slice, bases: list[ReluNetwork], corrections: Terms | None
) -> Shape:
    """Return the mean of the members' shapes for one column, corrected."""
    means, line = _means(_floats(network.table)[:, slots]), None
    if corrections is not None:
        hats, own = corrections.hats[place], exact_rows(corrections.values[place])
        if corrections.is_whole[place]:
            return line_of(column, hats, own)
        knots = len(hats.knots)
        means = [
            [a + b for a, b in zip(before, after, strict=True)]
            for before, after in zip(means, own[knots:], strict=True)
        ]
        line = PiecewiseLinear(hats.knots.tolist(), own[:knots]) if knots else None
    if isinstance(column, Categorical) or column.is_flat:
        return line_of(column, Hats(np.zeros(0), 0, column.slots), means)
    place, count = network.own.index(place), len(network.own)
    if bases:
        mix = _floats(network.mix)[:, place]
        rest = _mean([Readout(basis, mix[member].T) for member, basis in enumerate(bases)])
    else:
        rest = _mean([_network(network, member * count + place) for member in range(network.members)])
    return placed(column, means, rest if line is None else rest + line)


def _means(table: NDArray[Any]) -> list[list[Fraction]]:
    """Return the mean over members of an array (members, rows, outputs)."""
    return [
        [sum(map(Fraction, values), Fraction(0)) / len(table) for values in table[:, row].T.tolist()]
        for row in range(table.shape[1])
    ]


def _mean(shapes: Sequence[Shape]) -> Shape:
    return shapes[0] if len(shapes) == 1 else reduce(Shape.__add__, shapes) * Fraction(1, len(shapes))


def _network(network: Any, k: int) -> ReluNetwork:
    stacked = network.networks
    weights = [_floats(weight)[k].T for weight in stacked.weights]
    if stacked.exu:  # the estimator takes exp of these weights in float64
        weights[0] = weights[0].astype(np.float64)
    biases = [_floats(bias)[k, 0] for bias in stacked.biases]
    first = Activation.relu_n(1.0) if stacked.exu else Activation.relu()
    rest = [Activation.relu()] * (len(weights) - 2)
    return ReluNetwork(weights, biases, [first, *rest], exu=stacked.exu)


def _floats(tensor: Any) -> NDArray[Any]:
    return np.asarray(tensor.detach().numpy())
