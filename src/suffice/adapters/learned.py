"""What reference rows tell of features: how much they vary, and what they can be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flint import fmpq

from suffice.adapters.draft import renamed
from suffice.errors import NumberError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain
from suffice.model.observed import Observed, narrowed
from suffice.model.term import Term
from suffice.numbers.exact import nearest_float
from suffice.numbers.values import UNSEEN, Missing, Value
from suffice.question.row import Row
from suffice.shapes import Table

_NUMBERED = re.compile(r"(x|X|f|Column_|feature_)?\d+")  # what packages call columns without names
_MOST_NEW = 1000  # categories of one feature; more are no categories, but numbers of rows, or free text


def deviations(model: AdditiveModel, rows: Sequence[Row]) -> dict[str, float]:
    """Return the standard deviation of each feature over the rows that hold a number of its spans.

    Of ordered categories it is that of their ranks.
    """
    found = {}
    for name, domain, column in zip(model.names, model.domains, zip(*rows, strict=True), strict=True):
        numbers = [nearest_float(v) for v in column if isinstance(v, fmpq) and any(s.holds(v) for s in domain.spans)]
        spread = deviation_of_ranks(domain, column) if domain.is_ordered else None
        if numbers:
            found[name] = float(np.std(numbers))
        elif spread is not None:
            found[name] = spread
    return found


def deviation_of_ranks(domain: Domain, values: Iterable[Value]) -> float | None:
    """Return the standard deviation of the ranks of ordered categories; None if no value is one of them."""
    rank = {category: float(k) for k, category in enumerate(domain.categories_)}
    ranks = [rank[value] for value in values if value in rank]
    return float(np.std(ranks)) if ranks else None


def ordered_domains(model: AdditiveModel, rows: Any) -> dict[str, Domain]:
    """Return the domains of features whose column is an ordered Categorical of a pandas frame, in that order.

    One of which the frame's order leaves out a category that the model knows stays as it is.
    """
    found = {}
    for name, domain in zip(model.names, model.domains, strict=True):
        kind = getattr(rows[name], "dtype", None) if hasattr(rows, "iloc") and name in rows else None
        if domain.spans or not getattr(kind, "ordered", False):
            continue
        try:
            order = [domain.parse(cell) for cell in kind.categories.tolist()]  # type: ignore[union-attr]
        except NumberError:
            continue
        if set(domain.categories_) <= set(order) and domain.categories_:
            names = tuple(value for value in order if value in domain.categories_)
            found[name] = replace(domain, categories_=names, is_ordered=True)
    return found


def named_as(model: AdditiveModel, rows: Any, stated: Iterable[str] = ()) -> AdditiveModel:
    """Return a model that was fitted to numbered columns with the names that a table of as many columns has.

    Parameters
    ----------
    stated : names
        By which a user speaks of features; where these are the numbers, they stay.
    """
    told = getattr(rows, "columns", getattr(rows, "column_names", None))  # of pandas and Polars, or of Arrow
    names = [] if told is None else list(told)
    is_numbered = all(_NUMBERED.fullmatch(name) for name in model.names)
    if not is_numbered or len(names) != len(model.names) or not all(isinstance(name, str) for name in names):
        return model
    if set(model.names) == set(names) or not set(model.names).isdisjoint(stated):
        return model
    features = [
        Feature(name, one.domain, one.center, one.scale, one.deviation)
        for name, one in zip(names, model.features, strict=True)
    ]
    return renamed(model, features, model.classes or None)


def with_names(model: AdditiveModel, rows: Sequence[Sequence[Any]]) -> AdditiveModel:
    """Return a model that knows the categories of some rows by name, where it takes them all for one that is unseen.

    A feature that has a term together with another one keeps the categories that it has.
    """
    terms = list(model.terms)
    domains = list(model.domains)
    joined = {k for term in terms if len(term.features) > 1 for k in term.features}
    for k, domain in enumerate(domains):
        if UNSEEN not in domain.codes_ or domain.spans or k in joined:
            continue
        new = {value: None for row in rows if (value := _name(domain, row[k])) is not None}
        if not 0 < len(new) <= _MOST_NEW:
            continue
        for at, term in enumerate(terms):
            if term.features == (k,):
                unseen = [one(UNSEEN) for one in term.shape.compile()]
                terms[at] = Term(k, Table(dict.fromkeys(new, unseen), otherwise=term.shape))
        domains[k] = replace(domain, categories_=(*domain.categories_, *new), is_ordered=False)  # where, is not known
    if domains == list(model.domains):
        return model
    features = [
        Feature(f.name, domain, f.center, f.scale, f.deviation)
        for f, domain in zip(model.features, domains, strict=True)
    ]
    return AdditiveModel.of_terms(
        terms, model.intercept, model.task, features, model.classes or None, model.ties, model.logit_offset
    )


def _name(domain: Domain, cell: Any) -> Value | None:
    """Return a cell that is no category of a domain, None if it is one, or is missing."""
    try:
        value = domain.parse(cell)
    except NumberError:
        value = str(cell)
    return None if isinstance(value, Missing) or domain.holds(value) else value


def learned_domains(model: AdditiveModel, rows: Sequence[Row]) -> dict[str, Domain]:
    """Return what the features are in some rows: see `observed`; of special codes those that occur."""
    found = {}
    for name, domain, column in zip(model.names, model.domains, zip(*rows, strict=True), strict=True):
        seen = set(column)
        codes = tuple(code for code in domain.codes_ if code in seen)
        numbers = [value for value in column if isinstance(value, fmpq) and any(s.holds(value) for s in domain.spans)]
        if not (numbers or domain.categories_):  # nothing but codes: of the rest nothing is known
            continue
        kept = replace(domain, codes_=codes)
        found[name] = narrowed(kept, Observed.of(numbers)) if numbers else kept
    return found
