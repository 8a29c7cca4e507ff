"""suffice: proven minimal explanations of additive models."""

from suffice.adapters import Layout, from_model
from suffice.certificate import Certificate
from suffice.claims import AtLeast, AtMost, Beats, ProbabilityAtLeast, Same, Within
from suffice.domain import Domain
from suffice.errors import (
    AdapterError,
    BudgetError,
    CertificateError,
    ClaimError,
    DataError,
    FeatureNameError,
    ModelError,
    ModelFileError,
    NumberError,
    PieceBudgetError,
    PreferenceError,
    RadiusError,
    RowError,
    ShapeError,
    SufficeError,
)
from suffice.explain import Explainer
from suffice.labels import MISSING
from suffice.model import AdditiveModel, Feature
from suffice.model_file import load_model as load
from suffice.results import (
    Contrast,
    Counterfactual,
    Curve,
    Explanation,
    Explanations,
    Inflated,
    Limit,
    Range,
    Relevance,
    Status,
    Step,
)
from suffice.shapes import Activation, Pieces, PiecewiseLinear, Readout, ReluNetwork, Shape, Steps, Table

__all__ = [
    "MISSING",
    "Activation",
    "AdapterError",
    "AdditiveModel",
    "AtLeast",
    "AtMost",
    "Beats",
    "BudgetError",
    "Certificate",
    "CertificateError",
    "Contrast",
    "Counterfactual",
    "Curve",
    "Domain",
    "Explainer",
    "Explanation",
    "Explanations",
    "Feature",
    "FeatureNameError",
    "Layout",
    "ClaimError",
    "DataError",
    "Inflated",
    "Limit",
    "ModelError",
    "ModelFileError",
    "NumberError",
    "PieceBudgetError",
    "Pieces",
    "PiecewiseLinear",
    "PreferenceError",
    "ProbabilityAtLeast",
    "RadiusError",
    "Range",
    "Readout",
    "Relevance",
    "ReluNetwork",
    "RowError",
    "Same",
    "Shape",
    "ShapeError",
    "Status",
    "Step",
    "Steps",
    "SufficeError",
    "Table",
    "Within",
    "from_model",
    "load",
]
__version__ = "0.1.0"
