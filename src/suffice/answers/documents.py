"""Numbers, values and domains as JSON has them: every number exact, as "p/q", beside its nearest float."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

from suffice.model.domain import Domain
from suffice.numbers.enclosure import Enclosure
from suffice.numbers.exact import Number, Rational, nearest_float
from suffice.numbers.surd import Surd, exact
from suffice.numbers.values import Missing, Value
from suffice.question.documents import Json, class_document


def to_text(document: Json) -> str:
    """Return a document as text."""
    return json.dumps(document, indent=2, allow_nan=False)


def number_document(value: Number | Surd | Enclosure) -> Json:
    """Return a number."""
    if value == math.inf:
        return {"exact": "inf", "float": None}
    if isinstance(value, Enclosure):
        return {"exact": str(value), "float": float(value)}
    number = cast(Rational, exact(value))
    near = nearest_float(number)
    return {"exact": str(number), "float": near if math.isfinite(near) else None}


def value_document(value: Value | Fraction) -> Json:
    """Return a value of a feature."""
    if isinstance(value, Missing):
        return {"missing": True}
    return {"label": value} if isinstance(value, str) else number_document(value)


def cost_document(cost: int | Fraction) -> Any:
    """Return a cost: a whole number as it is."""
    return int(cost) if cost == int(cost) else number_document(cost)


def prediction_document(prediction: Any) -> Any:
    """Return a class, or the value of a regression."""
    return number_document(prediction) if isinstance(prediction, (Fraction, Enclosure)) else class_document(prediction)


def domain_document(domain: Domain) -> Json:
    """Return where a feature may go."""
    spans = [
        {
            "low": None if span.low is None else number_document(span.low),
            "high": None if span.high is None else number_document(span.high),
            "is_integers": span.is_integers,
        }
        for span in domain.spans
    ]
    return {
        "spans": spans,
        "categories": [value_document(value) for value in domain.categories_],
        "is_ordered": domain.is_ordered,
        "codes": [value_document(value) for value in domain.codes_],
    }


def values_by_name(names: Sequence[str], values: Sequence[Value]) -> Json:
    """Return an exact value for each feature, as JSON has it."""
    return {name: value_document(value) for name, value in zip(names, values, strict=True)}
