"""suffice: proven minimal explanations of additive models."""

from suffice.adapters import Layout, from_model
from suffice.claims import AtLeast, AtMost, Beats, Same, Within
from suffice.domain import Domain
from suffice.errors import (
    AdapterError,
    ClaimError,
    DataError,
    FeatureNameError,
    ModelError,
    ModelFileError,
    NumberError,
    PieceBudgetError,
    RadiusError,
    RowError,
    ShapeError,
    SufficeError,
)
from suffice.explain import Contrast, Explainer, Explanation, Status
from suffice.labels import MISSING
from suffice.model import AdditiveModel, Feature
from suffice.model_file import load_model as load
from suffice.shapes import Activation, Pieces, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table

__all__ = [
    "MISSING",
    "Activation",
    "AdapterError",
    "AdditiveModel",
    "AtLeast",
    "AtMost",
    "Beats",
    "Contrast",
    "Domain",
    "Explainer",
    "Explanation",
    "Feature",
    "FeatureNameError",
    "Layout",
    "ClaimError",
    "DataError",
    "ModelError",
    "ModelFileError",
    "NumberError",
    "PieceBudgetError",
    "Pieces",
    "PiecewiseLinear",
    "RadiusError",
    "Readout",
    "ReluNetwork",
    "RowError",
    "Same",
    "Shape",
    "ShapeError",
    "Status",
    "Steps",
    "SufficeError",
    "Table",
    "Within",
    "from_model",
    "load",
]
__version__ = "0.1.0"
