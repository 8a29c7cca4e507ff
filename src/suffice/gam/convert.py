"""From a fitted estimator to the exact additive model: the same parameters, read as exact numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.errors import DataError, FeatureNameError
from suffice.gam.columns import Categorical, Column, Numeric
from suffice.gam.hats import Grid, Hats
from suffice.gam.terms import Terms
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain
from suffice.shapes import Bins, PairLinear, PairShape, PairSteps, PiecewiseLinear, Product, Shape, Table


class Parts(NamedTuple):
    """Exact terms, before what takes their sum to scores.

    Parameters
    ----------
    shapes : sequence of Shape
        Of each column that is used.
    pairs : mapping from two places of columns to PairShape
        Surfaces.
    intercept : sequence of Fraction
        What is added, for each output.
    """

    shapes: Sequence[Shape]
    pairs: Mapping[tuple[int, int], PairShape]
    intercept: Sequence[Fraction]


def assemble(model: Any, parts: Parts, given: Mapping[str, Domain] | Literal["model"] | None) -> AdditiveModel:
    """Return the exact additive model of a fitted estimator (a BaseAdditive) that has these parts."""
    names = [column.name for column in model.table_columns_]
    domains = given if isinstance(given, Mapping) else {}
    if isinstance(given, str) and given != "model":
        raise DataError(f"domains must be a mapping of names to Domain, or 'model', got {given!r}")
    for name in domains:
        if name not in names:
            raise FeatureNameError(name, names)
    # A regression is trained on a standardised target, and a calibration is a line of the scores.
    stretch, outputs = Fraction(model.scale_), len(parts.intercept)
    centers = np.broadcast_to(model.center_, outputs).tolist()
    intercept = [value * stretch + Fraction(center) for value, center in zip(parts.intercept, centers, strict=True)]
    used = iter(parts.shapes if stretch == 1 else [shape * stretch for shape in parts.shapes])
    shapes = [
        next(used) if is_used else _flat(column, outputs)
        for column, is_used in zip(model.table_columns_, model.is_used_, strict=True)
    ]
    pairs = {
        (model.columns_[i].name, model.columns_[j].name): surface if stretch == 1 else surface * stretch
        for (i, j), surface in parts.pairs.items()
    }
    features = [_feature(column, domains, is_learned=given != "model") for column in model.table_columns_]
    if not hasattr(model, "classes_"):
        return AdditiveModel(shapes, intercept, "regression", features, pairs=pairs)
    classes = [name.item() if isinstance(name, np.generic) else name for name in model.classes_]
    task = "binary" if len(classes) == 2 else "multiclass"
    return AdditiveModel(shapes, intercept, task, features, classes, pairs=pairs)


def _feature(column: Column, domains: Mapping[str, Domain], *, is_learned: bool) -> Feature:
    feature = column.feature(is_learned=is_learned)
    domain = domains.get(column.name, feature.domain)
    return Feature(feature.name, domain, feature.center, feature.scale, feature.deviation)


def _flat(column: Column, outputs: int) -> Shape:
    """Return the shape of a column that is not used: 0 at all of its values."""
    knots = [] if isinstance(column, Categorical) else [0.0]
    hats = Hats(np.array(knots), 0, column.slots)
    return line_of(column, hats, [[0] * outputs] * hats.size)


def line_of(column: Column, hats: Hats, rows: Sequence[Sequence[Any]]) -> Shape:
    """Return a line over a column, with rows of values for its knots and then for its slots."""
    count = len(hats.knots)
    if isinstance(column, Categorical):
        return Table(dict(zip(column.keys, rows[count:], strict=True)))
    if column.is_flat:  # the last slot is that of all ordinary numbers
        return placed(column, rows[count:], PiecewiseLinear([0], rows[-1:]))
    return placed(column, rows[count:], PiecewiseLinear(hats.knots.tolist(), rows[:count]))


def placed(column: Numeric, rows: Sequence[Any], rest: Shape) -> Shape:
    """Return a shape with the values of the slots in their places, and the rest everywhere else.

    Shapes are functions of the scaled input, so that is where a code has its place.
    """
    center, scale = Fraction(column.center), Fraction(column.scale)
    entries = {
        (Fraction(key) - center) / scale if isinstance(key, float) else key: row
        for key, row in zip(column.keys, rows, strict=False)
    }
    return Table(entries, otherwise=rest) if entries else rest


def surfaces_of(columns: Sequence[Column], terms: Terms) -> dict[tuple[int, int], PairShape]:
    """Return the surfaces over two columns, by the places of these."""
    return {
        grid.columns: _surface((columns[grid.columns[0]], columns[grid.columns[1]]), grid, values)
        for grid, values in zip(terms.grids, terms.surfaces, strict=True)
    }


def _surface(columns: tuple[Column, Column], grid: Grid, values: NDArray[np.float64]) -> PairShape:
    """Return a surface: between two columns of plain numbers as it is, otherwise as a sum of products of lines."""
    first, second = grid.axes
    table = [exact_rows(row) for row in values.reshape(first.size, second.size, -1)]
    if not (first.slots or second.slots):
        return PairLinear(first.knots.tolist(), second.knots.tolist(), table)
    if not (len(first.knots) or len(second.knots)):
        return PairSteps(Bins(keys=columns[0].keys), Bins(keys=columns[1].keys), table)
    products: list[PairShape] = []
    if first.size < second.size:
        for k, row in enumerate(table):
            line = line_of(columns[1], second, row)
            products.append(Product(_unit(columns[0], first, k, line.outputs), line))
    else:
        for k in range(second.size):
            line = line_of(columns[0], first, [row[k] for row in table])
            products.append(Product(line, _unit(columns[1], second, k, line.outputs)))
    return reduce(PairShape.__add__, products)


def _unit(column: Column, hats: Hats, place: int, outputs: int) -> Shape:
    """Return the line that is 1 at one of its places and 0 at the others."""
    return line_of(column, hats, [[int(k == place)] * outputs for k in range(hats.size)])


def exact_rows(values: NDArray[Any]) -> list[list[Fraction]]:
    """Return an array of two dimensions as exact numbers."""
    return [[Fraction(value) for value in row] for row in values.tolist()]
