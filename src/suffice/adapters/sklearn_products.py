"""scikit-learn's polynomial features before a linear model: products of two columns, each of which is a term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq

from suffice.adapters.assemble import to_shape
from suffice.adapters.draft import part
from suffice.adapters.sklearn_column import Column, Finite, as_number, value_of
from suffice.errors import AdapterError
from suffice.model.domain import Domain
from suffice.model.term import Term
from suffice.numbers.exact import ZERO, Rational, nearest_float, rational
from suffice.numbers.values import MISSING
from suffice.shapes import Product, Shape, Table
from suffice.shapes.pieces import combine

Weights = tuple[Rational, ...]  # one for each score


class Expanded(NamedTuple):
    """A linear model of polynomial features, in terms of the columns that these are made of."""

    columns: list[Column]
    weights: list[Weights]  # of each column
    products: list[tuple[Column, Column, Weights]]
    constant: list[Rational]  # what the column of ones adds


def expanded(step: Any, columns: Sequence[Column], weights: Sequence[Weights]) -> Expanded:
    """Return what weights of polynomial features are as weights of columns and of products of two."""
    powers = np.asarray(part(step, "powers_", "the PolynomialFeatures"))
    outputs = len(weights[0])
    every, own = list(columns), [(ZERO,) * outputs for _ in columns]
    products, constant = [], (ZERO,) * outputs
    for row, weight in zip(powers.tolist(), weights, strict=True):
        used = [k for k, power in enumerate(row) for _ in range(power)]
        if not any(weight):
            continue
        if not used:
            constant = _added(constant, weight)
        elif len(used) == 1:
            own[used[0]] = _added(own[used[0]], weight)
        elif len(used) == 2:
            first, second = (columns[k] for k in used)
            if first.source != second.source:
                products.append((first, second, weight))
            else:
                every.append(_same_source(first, second))
                own.append(weight)
        else:
            raise AdapterError(
                f"the PolynomialFeatures multiply {len(used)} columns; products of two can be explained exactly: "
                "use degree=2"
            )
    return Expanded(every, own, products, list(constant))


def _added(one: Weights, other: Weights) -> Weights:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _same_source(first: Column, second: Column) -> Finite:
    """Return the product of two columns made of the same one, which must be of categories."""
    if not isinstance(first, Finite) or not isinstance(second, Finite):
        raise AdapterError(
            "the PolynomialFeatures square a number, which is no piecewise-linear function; use "
            "PolynomialFeatures(degree=2, interaction_only=True), which only multiplies different columns"
        )
    both = {
        cell: float(first.values[cell]) * float(second.values[cell]) for cell in first.values if cell in second.values
    }
    return Finite(first.source, both, first.originals)


def product_terms(products: Sequence[tuple[Column, Column, Weights]], domains: Mapping[int, Domain]) -> list[Term]:
    """Return products of two columns as terms over the two features that these come from."""
    place = {source: k for k, source in enumerate(domains)}
    terms = []
    for first, second, weights in products:
        ones = (rational(1),) * len(weights)
        shapes = _factor(first, domains[first.source], weights), _factor(second, domains[second.source], ones)
        terms.append(Term((place[first.source], place[second.source]), Product(*shapes)))
    return terms


def _factor(column: Column, domain: Domain, weights: Weights) -> Shape:
    """Return a column as a function of the user's, times each of some weights."""
    if not domain.spans:
        entries: dict[Any, list[Rational]] = {}
        for key in (*domain.categories_, *domain.codes_):
            value = value_of(column, nearest_float(key) if isinstance(key, fmpq) else key)
            assert value is not None  # the domain has only cells that every column takes
            entries[key] = [weight * rational(value) for weight in weights]
        return Table(entries)
    number = as_number(column, "model")
    if number.pieces is None:
        raise AdapterError(f"{number.smooth}, so the model has no exact pieces; use another map before the products")
    labels = {}
    if MISSING in domain.codes_:
        assert number.missing is not None
        labels[MISSING] = [weight * rational(number.missing) for weight in weights]
    return to_shape([combine([(weight, number.pieces)]) for weight in weights], labels)
