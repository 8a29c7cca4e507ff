"""Results as JSON documents: every number exact, as "p/q", beside its nearest float.

In come explanations, models and fitted estimators. Out go dictionaries; `to_text` writes one out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from suffice.domain import Domain
from suffice.labels import Label, Missing, Value
from suffice.model import AdditiveModel
from suffice.rational import Number, nearest_float, rational
from suffice.results import Contrast, Counterfactual, Curve, Explanation, Inflated, Limit, Range, Relevance
from suffice.shapes import Pieces, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table
from suffice.shapes.shape import Rescaled, Scaled, Sum

Json = dict[str, Any]


class Change(NamedTuple):
    """An input of the region with another prediction, once a kept feature is free too."""

    without: str
    point: Mapping[str, Fraction | Label]
    prediction: Any


def to_text(document: Json) -> str:
    """Return a document as text."""
    return json.dumps(document, indent=2, allow_nan=False)


def answer_document(why: Explanation, change: Change | None = None) -> Json:
    """Return an explanation, and a counterexample if there is one."""
    names = why.model.names
    document = {
        "prediction": _prediction(why.prediction),
        "claim": [inequality.meaning for inequality in why.inequalities],
        "status": why.status.value,
        "size": why.size,
        "cost": _cost(why.cost),
        "lower_bound": _cost(why.lower_bound),
        "caveat": why.caveat,
        "charged": [_number(charge) for charge in why.charged],
        "features": list(why.features),
        "freed": list(why.freed),
        "margin": _number(why.margin),
        "slack": _number(why.slack),
        "values": {name: _value(value) for name, value in zip(names, why.row, strict=True)},
        "region": {name: _domain(part) for name, part in zip(names, why.region, strict=True)},
        "drops": {name: _number(drop) for name, drop in why.drops.items()},
        "witnesses": {name: None if at is None else _value(at) for name, at in why.witnesses.items()},
    }
    if change is not None:
        point = {name: _value(value) for name, value in change.point.items()}
        other = _prediction(change.prediction)
        document["counterexample"] = {"without": change.without, "prediction": other, "point": point}
    return document


def contrast_document(contrast: Contrast) -> Json:
    """Return a contrast; its point is null where nothing in the region breaks the claim."""
    point = {name: _value(value) for name, value in contrast.counterexample.items()} if contrast.is_possible else None
    return {
        "prediction": _prediction(contrast.prediction),
        "is_possible": contrast.is_possible,
        "size": contrast.size,
        "features": list(contrast.features),
        "point": point,
    }


def counterfactual_document(contrast: Counterfactual) -> Json:
    """Return a contrast with how far its features move, in radii."""
    document = contrast_document(contrast)
    if contrast.is_possible:
        document["least_change"] = _number(contrast.least_change)
        document["is_attained"] = contrast.is_attained
        document["changes"] = {name: _number(change) for name, change in contrast.changes.items()}
    return document


def relevance_document(relevance: Relevance) -> Json:
    """Return features by their role."""
    return {
        "prediction": _prediction(relevance.prediction),
        "status": relevance.status.value,
        "necessary": list(relevance.necessary),
        "relevant": list(relevance.relevant),
        "irrelevant": list(relevance.irrelevant),
        "undecided": list(relevance.undecided),
    }


class Listing(NamedTuple):
    """Some of all minimal explanations, or how many there are (at least, at most)."""

    sets: tuple[tuple[str, ...], ...]
    number: tuple[int, int] | None
    has_more: bool

    def __str__(self) -> str:
        if self.number is not None:
            low, high = self.number
            return f"There {'is' if low == 1 else 'are'} {low}." if low == high else f"There are {low} to {high}."
        lines = [f"  {', '.join(names) or 'no feature at all'}" for names in self.sets]
        return "\n".join([*lines, *(["  ... and more"] if self.has_more else [])])


def listing_document(listing: Listing) -> Json:
    """Return a list of sets, or their number."""
    if listing.number is not None:
        return {"at_least": listing.number[0], "at_most": listing.number[1]}
    return {"sets": [list(names) for names in listing.sets], "has_more": listing.has_more}


def limit_document(limit: Limit) -> Json:
    """Return a largest radius."""
    return {"radius": _number(limit.radius), "is_attained": limit.is_attained}


def curve_document(curve: Curve) -> Json:
    """Return a curve as its steps."""
    steps = [
        {**limit_document(step.limit), "cost": _cost(step.cost), "features": list(step.features)}
        for step in curve.steps
    ]
    return {"prediction": _prediction(curve.prediction), "steps": steps}


def inflated_document(inflated: Inflated) -> Json:
    """Return the range of each kept feature."""
    ranges = {name: _range(range_) for name, range_ in inflated.ranges.items()}
    return {"prediction": _prediction(inflated.prediction), "ranges": ranges, "freed": list(inflated.freed)}


def _range(range_: Range) -> Json:
    if range_.values:
        return {"values": [_value(value) for value in range_.values]}
    return {
        "low": None if range_.low is None else _number(range_.low),
        "high": None if range_.high is None else _number(range_.high),
        "has_low": range_.has_low,
        "has_high": range_.has_high,
        "is_integers": range_.is_integers,
    }


def model_document(model: AdditiveModel, pieces: Mapping[str, tuple[Pieces, ...]]) -> Json:
    """Return what a model is, and how many exact pieces each feature has for each output."""
    features = [
        {
            "name": feature.name,
            "domain": _domain(domain),
            "shape": list(kinds(term.shape)),
            "pieces": [len(one.slopes) for one in pieces[feature.name]],
            "center": _number(feature.center),
            "scale": _number(feature.scale),
            "deviation": None if feature.deviation is None else _number(feature.deviation),
        }
        for feature, domain, term in zip(model.features, model.domains, model.terms, strict=True)
    ]
    return {
        "task": model.task,
        "classes": list(model.classes),
        "ties": model.ties,
        "intercept": [_number(value) for value in model.intercept],
        "features": features,
    }


def training_document(estimator: Any, model: AdditiveModel, *, rows: int, target: str) -> Json:
    """Return how a fitted NAM was trained; its loss is a `training_loss` where no rows were held back."""
    loss = "validation_loss" if estimator.has_validation_ else "training_loss"
    return {
        "rows": rows,
        "columns": list(model.names),
        "target": target,
        "task": model.task,
        "classes": list(model.classes),
        "epochs": int(estimator.n_iter_),
        "seconds": estimator.fit_seconds_,
        loss: estimator.validation_curve_[estimator.history_.best_epoch],
    }


def kinds(shape: Shape) -> Iterator[str]:
    """Yield what a shape is made of, in words."""
    match shape:
        case Sum():
            for part in shape.parts:
                yield from kinds(part)
        case Scaled() | Rescaled():
            yield from kinds(shape.shape)
        case Table():
            yield "table"
            if shape.otherwise is not None:
                yield from kinds(shape.otherwise)
        case ReluNetwork():
            yield "-".join(["network", *(str(len(weight)) for weight in shape.weights[:-1])])
        case Readout():
            yield "shared network"
        case Steps():
            yield "steps"
        case PiecewiseLinear():
            yield "broken line"
        case _:
            yield type(shape).__name__


def _cost(cost: int | Fraction) -> Any:
    return int(cost) if cost == int(cost) else _number(cost)


def _prediction(prediction: Any) -> Any:
    return _number(prediction) if isinstance(prediction, Fraction) else prediction


def _domain(domain: Domain) -> Json:
    spans = [
        {
            "low": None if span.low is None else _number(span.low),
            "high": None if span.high is None else _number(span.high),
            "is_integers": span.is_integers,
        }
        for span in domain.spans
    ]
    categories, codes = ([_value(value) for value in values] for values in (domain.categories_, domain.codes_))
    return {"spans": spans, "categories": categories, "codes": codes}


def _value(value: Value | Fraction) -> Json:
    if isinstance(value, Missing):
        return {"missing": True}
    return {"label": value} if isinstance(value, str) else _number(value)


def _number(value: Number) -> Json:
    if value == math.inf:
        return {"exact": "inf", "float": None}
    exact = rational(value)
    near = nearest_float(exact)
    return {"exact": str(exact), "float": near if math.isfinite(near) else None}
