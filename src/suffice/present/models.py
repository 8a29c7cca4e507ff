"""Models and their training as documents: every number exact, as "p/q", beside its nearest float."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

from suffice.answers.documents import domain_document, number_document
from suffice.model.additive import AdditiveModel
from suffice.model.compiled import Compiled
from suffice.question.claims import CLAIMS, ProbabilityAtLeast
from suffice.question.documents import Json, class_document
from suffice.shapes import (
    Composed,
    PairLinear,
    PairShape,
    PairSteps,
    PiecewiseLinear,
    PiecewisePolynomial,
    Product,
    Readout,
    ReluNetwork,
    Shape,
    Smooth,
    SmoothNetwork,
    Steps,
    Table,
)
from suffice.shapes.pair_shape import PairRescaled, PairScaled, PairSum
from suffice.shapes.shape import Rescaled, Scaled, Sum


def model_document(compiled: Compiled) -> Json:
    """Return what a model is, and how many exact pieces each feature and each pair of features has for each output."""
    model = compiled.model
    features = [
        {
            "name": feature.name,
            "domain": domain_document(domain),
            "shape": list(kinds(term.shape)),
            "pieces": [one.count for one in pieces],
            "center": number_document(feature.center),
            "scale": number_document(feature.scale),
            "deviation": None if feature.deviation is None else number_document(feature.deviation),
        }
        for feature, domain, term, pieces in zip(
            model.features, model.domains, model.mains, compiled.pieces, strict=True
        )
    ]
    return {
        "task": model.task,
        "classes": [class_document(name) for name in model.classes],
        "ties": model.ties,
        "intercept": [number_document(value) for value in model.intercept],
        "claims": [
            {"kind": kind, "summary": claim.summary, "fields": list(claim.field_names())}
            for kind, claim in CLAIMS.items()
            if model.task in claim.tasks and (kind != ProbabilityAtLeast.kind or model.logit_offset is not None)
        ],
        "features": features,
        "pairs": [
            {
                "features": [model.names[i], model.names[j]],
                "shape": pair_kinds(model, i, j),
                "cells": [[len(axis) for axis in one.axes] for one in pieces],
            }
            for (i, j), pieces in compiled.pairs
        ],
    }


def training_document(estimator: Any, model: AdditiveModel, *, rows: int, target: str) -> Json:
    """Return how a fitted estimator was trained."""
    is_calibrated = getattr(estimator, "calibrated", False)  # if only by leaving scores as they are
    document = {
        "estimator": type(estimator).__name__,
        "rows": rows,
        "columns": list(model.names),
        "features": list(estimator.features_),
        "pairs": [list(pair) for pair in estimator.pairs_],
        "target": target,
        "task": model.task,
        "classes": [class_document(name) for name in model.classes],
        "calibration": {"slope": estimator.scale_, "shift": estimator.center_.tolist()} if is_calibrated else None,
        "seconds": estimator.fit_seconds_,
    }
    return document | (_epochs(estimator) if hasattr(estimator, "history_") else {})


def _epochs(nam: Any) -> Json:
    """Return how long networks were trained; their loss is a `training_loss` where no rows were held back."""
    loss = "validation_loss" if nam.has_validation_ else "training_loss"
    return {"epochs": int(nam.n_iter_), loss: nam.validation_curve_[nam.history_.best_epoch]}


def pair_kinds(model: AdditiveModel, i: int, j: int) -> list[str]:
    """Return what the terms over two features are made of, in words."""
    return [kind for term in model.pairs if {*term.features} == {i, j} for kind in kinds(term.shape)]


@singledispatch
def kinds(shape: Shape | PairShape) -> Iterator[str]:
    """Yield what a shape is made of, in words."""
    raise NotImplementedError(type(shape).__name__)


@kinds.register(Sum)
@kinds.register(PairSum)
def _(shape: Sum | PairSum) -> Iterator[str]:
    for part in shape.parts:
        yield from kinds(part)


@kinds.register(Scaled)
@kinds.register(Rescaled)
@kinds.register(PairScaled)
@kinds.register(PairRescaled)
def _(shape: Scaled | Rescaled | PairScaled | PairRescaled) -> Iterator[str]:
    yield from kinds(shape.shape)


@kinds.register
def _(shape: Table) -> Iterator[str]:
    yield "table"
    if shape.otherwise is not None:
        yield from kinds(shape.otherwise)


@kinds.register
def _(shape: ReluNetwork) -> Iterator[str]:
    yield "-".join(["network", *(str(len(weight)) for weight in shape.weights[:-1])])


@kinds.register
def _(shape: Readout) -> Iterator[str]:
    yield "shared network"


@kinds.register
def _(shape: Steps) -> Iterator[str]:
    yield "steps"


@kinds.register
def _(shape: PiecewiseLinear) -> Iterator[str]:
    yield "broken line"


@kinds.register
def _(shape: PiecewisePolynomial) -> Iterator[str]:
    degree = max(len(powers) for piece in shape.coefficients for powers in piece) - 1
    yield f"curve of degree {degree}"


@kinds.register
def _(shape: Smooth) -> Iterator[str]:
    yield shape.function.name


@kinds.register
def _(shape: SmoothNetwork) -> Iterator[str]:
    yield "-".join(["smooth network", *(str(len(weight)) for weight in shape.weights[:-1])])


@kinds.register
def _(shape: Composed) -> Iterator[str]:
    yield f"{'+'.join(kinds(shape.outer))} of {'+'.join(kinds(shape.inner))}"


@kinds.register
def _(shape: PairSteps) -> Iterator[str]:
    yield "table"


@kinds.register
def _(shape: PairLinear) -> Iterator[str]:
    yield "bilinear grid"


@kinds.register
def _(shape: Product) -> Iterator[str]:
    yield f"{'+'.join(kinds(shape.first))} times {'+'.join(kinds(shape.second))}"
