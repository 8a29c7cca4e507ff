"""What an adapter hands over: the exact model it has read, and how to ask the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from numpy.typing import NDArray

from suffice.errors import AdapterError, FeatureNameError
from suffice.model.additive import AdditiveModel, Feature
from suffice.model.domain import Domain
from suffice.numbers.exact import ONE, ZERO, Rational
from suffice.numbers.values import UNSEEN as UNSEEN
from suffice.numbers.values import Label

Cell: TypeAlias = float | Label  # a value as the original model gets it: a float, a name, MISSING or UNSEEN
# NaN in an array is a missing cell. One that a user wrote as None is None in a list: the original may tell them apart.
Rows: TypeAlias = list[list[Cell]] | NDArray[Any]
Live: TypeAlias = Callable[[Any], NDArray[Any]]  # of `Rows`
Saturation: TypeAlias = Literal["above", "both"]
Link: TypeAlias = Literal["score", "sigmoid", "softmax", "exp"]

# Largest difference, relative to the size of the parts summed, that rounding explains. Only ever used to refuse:
# the model handed on is exact, and equal to what was read.
FLOAT64 = 1e-9
FLOAT32 = 1e-4

MOST_UNNAMED = 10_000  # features that a file may have without as much as a name for each


@dataclass(frozen=True, slots=True)
class Draft:
    """A model read from another package, not yet checked.

    Parameters
    ----------
    model : AdditiveModel
        What was read.
    source : str
        What it was read from, for messages.
    live : function, optional
        Returns the original's own predictions for rows of cells; None where only a file is there.
    link : {"score", "sigmoid", "softmax", "exp"}
        How what `live` returns follows from the scores.
    predicts : {"score", "sigmoid", "softmax", "exp"}, optional
        How the predictions that users have follow from the scores, where `live` returns something else.
    chances : function, optional
        Returns the original's own probabilities, where these are the logistic function or the softmax of its scores.
    answers : function, optional
        Returns what the original's own `predict` answers: of a classifier the place of each class (`class_places`), of
        a regression a number, as `predicts` says.
    saturates : {"above", "both"}, optional
        Said where the largest *sigmoid* of several scores decides: scores that are too large ("above"), or also those
        that are too small ("both"), have the same float for a sigmoid; see `saturation`.
    raw : Rational
        What the package's raw scores, its `decision_function`, are multiplied by to be scores.
    precision : float
        Relative difference that the original's rounding explains.
    doubt : str, optional
        What the original cannot say of itself, so that reference rows are required.
    table : function, optional
        Returns rows of cells as the table that the original takes; what is wrapped around it takes that one too.
    cut : Rational
        What a wrapper with a decision threshold took from the score, so that the sign decides as its `predict` does.
    response : function, optional
        How the probability of the second of two classes follows from the score (with `cut` added back), where that is
        not the logistic function; it increases.
    curve : function, optional
        What the original's `predict` makes of the score of a regression, where no link says it.
    hint : str
        What else to look for where the original says otherwise.
    """

    model: AdditiveModel
    source: str
    live: Live | None = None
    link: Link = "score"
    precision: float = FLOAT64
    doubt: str | None = None
    predicts: Link | None = None
    raw: Rational = ONE
    chances: Live | None = None
    answers: Live | None = None
    saturates: Saturation | None = None
    table: Callable[[Any], Any] | None = None
    cut: Rational = ZERO
    response: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    curve: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user says about a model that the model does not say of itself."""

    features: Sequence[str | Feature] | None = None
    domains: Mapping[str, Domain] | Literal["reference", "model"] | None = None
    task: str | None = None
    classes: Sequence[Any] | None = None
    layout: Any = None
    rows: Any = None  # those of the reference, for a model that does not say what categories there are


def part(obj: Any, name: str, what: str) -> Any:
    """Return an attribute of a fitted model, or say that it is not there."""
    found = getattr(obj, name, None)
    if found is None:
        raise AdapterError(f"{what} has no {name!r}: it is not fitted, or not what its class says")
    return found


def name_features(names: Sequence[Any] | None, count: int, given: Sequence[str | Feature] | None) -> list[Feature]:
    """Return the features of a model: as the user gives them, else by the model's own names, else x0, x1, ..."""
    if given is not None:
        if isinstance(given, str) or len(given) != count:
            raise AdapterError(f"the model has {count} features, but features= lists {len(given)}")
        return [one if isinstance(one, Feature) else Feature(one) for one in given]
    if names is None or len(names) != count:
        if not 1 <= count <= MOST_UNNAMED:
            raise AdapterError(
                f"the model says that it has {count} features, and names none; up to {MOST_UNNAMED} are numbered here, "
                "so name them: features=[...]"
            )
        names = [f"x{i}" for i in range(count)]
    return [Feature(str(name)) for name in names]


def with_domain(feature: Feature, domain: Domain) -> Feature:
    """Return a feature with a domain, unless the user gave it one."""
    kept = domain if feature.domain is None else feature.domain
    return Feature(feature.name, kept, feature.center, feature.scale, feature.deviation)


def with_facts(model: AdditiveModel, domains: Mapping[str, Domain], spread: Mapping[str, float]) -> AdditiveModel:
    """Return the model with the domains that a user gives by name, and standard deviations where it has none."""
    if not domains and not spread:
        return model
    for name in domains:
        if name not in model.names:
            raise FeatureNameError(name, model.names)
    features = [
        Feature(
            f.name,
            domains.get(f.name, known),
            f.center,
            f.scale,
            spread.get(f.name) if f.deviation is None else f.deviation,
        )
        for f, known in zip(model.features, model.domains, strict=True)
    ]
    return renamed(model, features, model.classes or None)


def renamed(model: AdditiveModel, features: Sequence[Feature], classes: Sequence[Any] | None) -> AdditiveModel:
    """Return a model with other features, one for each of its own, and other names for its classes."""
    return AdditiveModel.of_terms(
        model.terms, model.intercept, model.task, features, classes, model.ties, model.logit_offset
    )
