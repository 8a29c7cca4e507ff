"""Products of two columns, as scikit-learn's PolynomialFeatures make them, before a linear model.

In: the columns that come to a model, products among them, and the model's parts. Out: the columns and parts without
products, and a term over two of the user's columns for each product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from suffice.adapters.assemble import compose, to_shape
from suffice.adapters.column import Column, Columns, Finite, Times, Unused, as_number, mapped, used
from suffice.adapters.draft import part as read_part
from suffice.adapters.parts import Part
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import ONE, ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Enclosed, Pieces, PiecewisePolynomial, Product, Shape, Table
from suffice.shapes.combining import combined, straight
from suffice.shapes.curves import MOST_DEGREE
from suffice.shapes.polynomial import HIGHEST_DEGREE


def powers(step: Any, columns: Sequence[Column]) -> list[Column | Times]:
    """Return the columns of PolynomialFeatures: ones, columns themselves, and products of two."""
    made: list[Column | Times] = []
    for row in read_part(step, "powers_", "the PolynomialFeatures").tolist():
        powers = [(columns[k], power) for k, power in enumerate(row) if power]
        factors = [column for column, power in powers for _ in range(power)]
        # Beside products of columns only curves can be explained, which higher powers are not.
        if len(powers) == 1 and 1 < powers[0][1] <= (HIGHEST_DEGREE if len(columns) == 1 else MOST_DEGREE):
            made.append(_power_of(*powers[0]))
        elif len(factors) > 2:
            raise AdapterError(
                f"PolynomialFeatures(degree={step.degree}) multiplies {len(factors)} columns; squares, cubes and "
                "products of two can be explained: use degree=2"
            )
        elif len(factors) < 2:
            made.append(factors[0] if factors else _constant(columns[0]))
        elif factors[0].source != factors[1].source:
            made.append(Times(factors[0], factors[1]))
        else:
            made.append(_same_source(step, *factors))
    return made


def _power_of(column: Column, power: int) -> Column:
    """Return a power of a column."""
    if isinstance(column, Finite):
        return mapped(column, lambda values: values**power, "PolynomialFeatures")
    number = as_number(column, "PolynomialFeatures")
    if number.pieces is None:
        raise AdapterError(f"{number.smooth}, and so are powers of it; leave it out")
    (curve,) = PiecewisePolynomial([], [[0] * power + [1]]).compile()
    missing = None if number.missing is None or np.isnan(number.missing) else number.missing**power
    points = {at: value**power for at, value in number.points.items()}
    return replace(number, pieces=compose(curve, number.pieces), floats=None, missing=missing, smooth="", points=points)


def _constant(column: Column) -> Column:
    if isinstance(column, Finite):
        return replace(column, values={cell: v if v is None else 1.0 for cell, v in column.values.items()}, rest=1.0)
    number = as_number(column, "PolynomialFeatures")
    missing = None if number.missing is None or np.isnan(number.missing) else 1.0
    return replace(number, pieces=Pieces.affine(ZERO, ONE), floats=None, missing=missing, smooth="", points={})


def _same_source(step: Any, first: Column, second: Column) -> Column:
    """Return the product of two columns made of one, which must be of categories."""
    if not (isinstance(first, Finite) and isinstance(second, Finite)):
        raise AdapterError(
            f"PolynomialFeatures(degree={step.degree}) multiplies two columns that an earlier step made of one; leave "
            "that step out, or give it to the model beside the products"
        )

    def at(cell: Any) -> float | None:
        one, other = (column.values.get(cell, column.rest) for column in (first, second))
        return None if one is None or other is None else float(one) * float(other)

    cells = [cell for cell in first.cells if cell in second.cells]
    return replace(first, values={cell: at(cell) for cell in cells}, rest=None)


class Apart(NamedTuple):
    """What comes to a model, with products of two columns taken out."""

    columns: Columns
    parts: list[Part]
    products: list[tuple[Times, tuple[Rational, ...]]]  # each with its weight in every score
    constant: list[Rational]  # what they add to every score beside that


def set_apart(columns: Columns, parts: Sequence[Part], pairs: Sequence[Term], outputs: int) -> Apart:
    """Return what comes to a model without products of two columns, and these."""
    joined = {k for term in pairs for k in term.features}
    plain: list[Column] = []
    unused = [column for column in columns if isinstance(column, Unused)]
    kept: list[Part] = []
    products: list[tuple[Times, tuple[Rational, ...]]] = []
    constant = [ZERO] * outputs
    for k, (column, part) in enumerate(zip(used(columns), parts, strict=True)):
        if not isinstance(column, Times):
            plain.append(column)
            kept.append(part)
            continue
        lines = straight(part.pieces)
        if k in joined or lines is None or any(one.knots for one in lines) or part.domain != Domain.reals():
            raise AdapterError(
                "the model bends or jumps in a product of two columns that PolynomialFeatures made; only linear models "
                "can be explained after it"
            )
        weights = tuple(one.slopes[0] * column.factor for one in lines)
        offsets = [one.offsets[0] + one.slopes[0] * column.offset for one in lines]
        constant = [a + b for a, b in zip(constant, offsets, strict=True)]
        unused += [Unused(factor.source, factor) for factor in (column.first, column.second)]
        if any(weights):
            products.append((column, weights))
    return Apart([*plain, *unused], kept, products, constant)


def product_terms(apart: Apart, sources: Sequence[int], parts: Sequence[Part], names: Sequence[str]) -> list[Term]:
    """Return products as terms over the features that their columns are made of.

    `sources` and `parts`: which of the user's columns are features, and what the model makes of each alone.
    """
    place = {source: k for k, source in enumerate(sources)}
    terms = []
    for times, weights in apart.products:
        places = place[times.first.source], place[times.second.source]
        ones = (ONE,) * len(weights)
        first = _factor(times.first, parts[places[0]].domain, weights, names)
        terms.append(Term(places, Product(first, _factor(times.second, parts[places[1]].domain, ones, names))))
    return terms


def _factor(column: Column, domain: Domain, weights: tuple[Rational, ...], names: Sequence[str]) -> Shape:
    """Return a column as a function of the user's, times each of some weights."""
    if isinstance(column, Finite):
        entries: dict[Any, list[Rational]] = {}
        for key in (*domain.categories_, *domain.codes_):
            value = column.values.get(nearest_float(key) if isinstance(key, fmpq) else key, column.rest)
            assert value is not None  # the domain has only cells that every column takes
            entries[key] = [weight * rational(float(value)) for weight in weights]
        return Table(entries)
    number, name = as_number(column, "model"), repr(names[column.source])
    if number.pieces is None or isinstance(number.pieces, Enclosed):
        why = number.smooth or "an earlier step is a smooth curve"
        raise AdapterError(f"{why}, so {name} times another column has no exact pieces; use another map")
    if number.points or not domain.spans:
        raise AdapterError(
            f"PolynomialFeatures multiply {name}, in which an earlier step gives some values a meaning of their own, "
            "with another column; leave that step out"
        )
    labels: dict[Any, list[Rational]] = {}
    if MISSING in domain.codes_:
        assert number.missing is not None
        labels[MISSING] = [weight * rational(number.missing) for weight in weights]
    return to_shape([combined([(weight, number.pieces)]) for weight in weights], labels)
