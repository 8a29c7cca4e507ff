"""From a fitted estimator to the exact additive model: the same parameters, read as exact numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.errors import DataError, FeatureNameError
from suffice.gam.columns import Categorical, Column, Numeric
from suffice.gam.hats import Grid, Hats
from suffice.gam.terms import Terms
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain
from suffice.shapes import (
    Activation,
    Bins,
    PairLinear,
    PairShape,
    PairSteps,
    PiecewiseLinear,
    Product,
    Readout,
    ReluNetwork,
    Shape,
    Table,
)

if TYPE_CHECKING:
    from suffice.nam.estimators import NAMClassifier, NAMRegressor


def to_additive(
    nam: NAMClassifier | NAMRegressor, given: Mapping[str, Domain] | Literal["model"] | None
) -> AdditiveModel:
    """Return the exact additive model of a fitted estimator."""
    names = [column.name for column in nam.table_columns_]
    domains = given if isinstance(given, Mapping) else {}
    if isinstance(given, str) and given != "model":
        raise DataError(f"domains must be a mapping of names to Domain, or 'model', got {given!r}")
    for name in domains:
        if name not in names:
            raise FeatureNameError(name, names)
    # A regression is trained on a standardised target, and a calibration is a line of the scores.
    stretch, centers = Fraction(nam.scale_), np.broadcast_to(nam.center_, nam.network_.outputs).tolist()
    shared = nam.network_.mix is not None
    bases = [_network(nam.network_, member) for member in range(nam.network_.members)] if shared else []
    shapes, offset = [], 0
    for place, column in enumerate(nam.columns_):
        slots = slice(offset, offset + column.slots)
        shape = _shape(nam.network_, place, column, slots, bases, nam.corrections_)
        shapes.append(shape if stretch == 1 else shape * stretch)
        offset += column.slots
    members = nam.network_.members
    bias = [
        sum((Fraction(value) for value in column), Fraction(0)) / members
        for column in _floats(nam.network_.bias).T.tolist()
    ]
    pairs = _pairs(nam.columns_, nam.corrections_, stretch)
    intercept = [value * stretch + Fraction(center) for value, center in zip(bias, centers, strict=True)]
    used = iter(shapes)
    shapes = [
        next(used) if is_used else _flat(column, nam.network_.outputs)
        for column, is_used in zip(nam.table_columns_, nam.is_used_, strict=True)
    ]
    features = [_feature(column, domains, is_learned=given != "model") for column in nam.table_columns_]
    if not hasattr(nam, "classes_"):
        return AdditiveModel(shapes, intercept, "regression", features, pairs=pairs)
    classes = [name.item() if isinstance(name, np.generic) else name for name in nam.classes_]
    task = "binary" if len(classes) == 2 else "multiclass"
    return AdditiveModel(shapes, intercept, task, features, classes, pairs=pairs)


def _feature(column: Column, domains: Mapping[str, Domain], *, is_learned: bool) -> Feature:
    feature = column.feature(is_learned=is_learned)
    domain = domains.get(column.name, feature.domain)
    return Feature(feature.name, domain, feature.center, feature.scale, feature.deviation)


def _flat(column: Column, outputs: int) -> Shape:
    """Return the shape of a column that is not used: 0 at all of its values."""
    knots = [] if isinstance(column, Categorical) else [0.0]
    return _line(column, Hats(np.array(knots), 0, column.slots), [[0] * outputs] * (len(knots) + len(column.keys)))


def _shape(
    network: Any, place: int, column: Column, slots: slice, bases: list[ReluNetwork], corrections: Terms | None
) -> Shape:
    """Return the mean of the members' shapes for one column, corrected."""
    members = network.members
    table = _floats(network.table)[:, slots]  # members, slots, outputs
    means = [
        [sum(map(Fraction, values), Fraction(0)) / members for values in table[:, k].T.tolist()]
        for k in range(column.slots)
    ]
    line, is_whole = None, False
    if corrections is not None:
        hats, is_whole = corrections.hats[place], corrections.is_whole[place]
        own = [[Fraction(value) for value in row] for row in corrections.values[place].tolist()]
        means = [
            after if is_whole else [a + b for a, b in zip(before, after, strict=True)]
            for before, after in zip(means, own[len(hats.knots) :], strict=True)
        ]
        line = PiecewiseLinear(hats.knots.tolist(), own[: len(hats.knots)]) if len(hats.knots) else None
    entries = dict(zip(column.keys, means, strict=False))
    if isinstance(column, Categorical):
        return Table(entries)
    if column.is_flat:
        rest: Shape = PiecewiseLinear([0], [means[-1]])
    elif is_whole and line is not None:
        rest = line
    elif bases:
        mix = _floats(network.mix)[:, network.own.index(place)]
        rest = _mean([Readout(basis, mix[member].T) for member, basis in enumerate(bases)])
    else:
        place, count = network.own.index(place), len(network.own)
        rest = _mean([_network(network, member * count + place) for member in range(members)])
    if line is not None and not is_whole:
        rest = rest + line
    placed = _placed(column, means)
    return Table(placed, otherwise=rest) if placed else rest


def _placed(column: Numeric, rows: Sequence[Any]) -> dict[Any, Any]:
    """Return what each code has; shapes are functions of the scaled input, so that is where a code has its place."""
    center, scale = Fraction(column.center), Fraction(column.scale)
    entries = zip(column.keys, rows, strict=False)
    return {(Fraction(key) - center) / scale if isinstance(key, float) else key: row for key, row in entries}


def _pairs(columns: Sequence[Column], corrections: Terms | None, stretch: Fraction) -> dict[tuple[str, str], PairShape]:
    """Return the surfaces over two columns."""
    if corrections is None:
        return {}
    found = {}
    for grid, values in zip(corrections.grids, corrections.surfaces, strict=True):
        first, second = (columns[k] for k in grid.columns)
        surface = _surface((first, second), grid, values)
        found[first.name, second.name] = surface if stretch == 1 else surface * stretch
    return found


def _surface(columns: tuple[Column, Column], grid: Grid, values: NDArray[np.float64]) -> PairShape:
    """Return a surface: between two columns of plain numbers as it is, otherwise as a sum of products of lines."""
    first, second = grid.axes
    table = [[[Fraction(value) for value in cell] for cell in row] for row in _table(values, first.size).tolist()]
    if not (first.slots or second.slots):
        return PairLinear(first.knots.tolist(), second.knots.tolist(), table)
    if not (len(first.knots) or len(second.knots)):
        return PairSteps(Bins(keys=columns[0].keys), Bins(keys=columns[1].keys), table)
    products: list[PairShape] = []
    if first.size < second.size:
        for k, row in enumerate(table):
            line = _line(columns[1], second, row)
            products.append(Product(_unit(columns[0], first, k, line.outputs), line))
    else:
        for k in range(second.size):
            line = _line(columns[0], first, [row[k] for row in table])
            products.append(Product(line, _unit(columns[1], second, k, line.outputs)))
    return reduce(PairShape.__add__, products)


def _table(values: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    return values.reshape(rows, len(values) // rows, values.shape[1])


def _unit(column: Column, hats: Hats, place: int, outputs: int) -> Shape:
    """Return the line that is 1 at one of its places and 0 at the others."""
    return _line(column, hats, [[int(k == place)] * outputs for k in range(hats.size)])


def _line(column: Column, hats: Hats, rows: Sequence[Sequence[Any]]) -> Shape:
    """Return a line over a column, with rows of values for its knots and then for its slots."""
    count = len(hats.knots)
    if isinstance(column, Categorical):
        return Table(dict(zip(column.keys, rows[count:], strict=True)))
    rest = PiecewiseLinear(hats.knots.tolist(), rows[:count])
    placed = _placed(column, rows[count:])
    return Table(placed, otherwise=rest) if placed else rest


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
