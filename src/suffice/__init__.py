"""suffice: proven minimal explanations of additive models."""

from suffice.domain import Domain
from suffice.errors import (
    FeatureNameError,
    ModelError,
    NumberError,
    PieceBudgetError,
    RadiusError,
    RowError,
    ShapeError,
    SufficeError,
)
from suffice.explain import Explainer, Explanation, Status
from suffice.labels import MISSING
from suffice.model import AdditiveModel, Feature
from suffice.shapes import Activation, Pieces, PiecewiseLinear, ReluNetwork, Shape, Steps, Table

__all__ = [
    "MISSING",
    "Activation",
    "AdditiveModel",
    "Domain",
    "Explainer",
    "Explanation",
    "Feature",
    "FeatureNameError",
    "ModelError",
    "NumberError",
    "PieceBudgetError",
    "Pieces",
    "PiecewiseLinear",
    "RadiusError",
    "ReluNetwork",
    "RowError",
    "Shape",
    "ShapeError",
    "Status",
    "Steps",
    "SufficeError",
    "Table",
]
__version__ = "0.1.0"
