"""suffice: proven minimal explanations of additive models.

What is named here is imported when it is first used: `import suffice` itself takes next to no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.adapters import Layout, from_model
    from suffice.answers import (
        Contrast,
        Count,
        Counterfactual,
        Curve,
        Explanation,
        Explanations,
        Inflated,
        LargestRadius,
        Limit,
        Range,
        Relevance,
        Status,
        Step,
        Sufficiency,
    )
    from suffice.certificate.document import Certificate
    from suffice.errors import (
        ActionError,
        AdapterError,
        AssertionFileError,
        BoxError,
        BudgetError,
        CardError,
        CellBudgetError,
        CertificateError,
        ClaimError,
        DataError,
        FeatureNameError,
        ModelError,
        ModelFileError,
        NumberError,
        OptionError,
        PieceBudgetError,
        PreferenceError,
        ProfileError,
        RadiusError,
        RowError,
        ShapeError,
        SufficeError,
        UnsettledError,
    )
    from suffice.explainer import Explainer
    from suffice.model.additive import AdditiveModel, Feature
    from suffice.model.domain import Domain
    from suffice.model.reading import load_model as load
    from suffice.model.term import Term
    from suffice.numbers.enclosure import Enclosure
    from suffice.numbers.surd import Surd
    from suffice.numbers.values import MISSING
    from suffice.question.claims import AtLeast, AtMost, Beats, ProbabilityAtLeast, Same, Within
    from suffice.question.question import Options, Question
    from suffice.shapes import (
        Activation,
        Bins,
        Composed,
        Curves,
        Enclosed,
        PairLinear,
        PairPieces,
        PairShape,
        PairSteps,
        Pieces,
        PiecewiseLinear,
        PiecewisePolynomial,
        Product,
        Readout,
        ReluNetwork,
        Shape,
        Smooth,
        SmoothFunction,
        SmoothNetwork,
        Steps,
        Table,
    )

__all__ = [
    "ActionError",
    "Activation",
    "AdapterError",
    "AdditiveModel",
    "AssertionFileError",
    "AtLeast",
    "AtMost",
    "Beats",
    "Bins",
    "BoxError",
    "BudgetError",
    "CardError",
    "CellBudgetError",
    "Certificate",
    "CertificateError",
    "ClaimError",
    "Contrast",
    "Count",
    "Counterfactual",
    "Curve",
    "Composed",
    "Curves",
    "Enclosed",
    "Enclosure",
    "DataError",
    "Domain",
    "Explainer",
    "Explanation",
    "Explanations",
    "Feature",
    "FeatureNameError",
    "Inflated",
    "LargestRadius",
    "Layout",
    "Limit",
    "MISSING",
    "ModelError",
    "ModelFileError",
    "NumberError",
    "OptionError",
    "Options",
    "PairLinear",
    "PairPieces",
    "PairShape",
    "PairSteps",
    "PieceBudgetError",
    "Pieces",
    "PiecewiseLinear",
    "PiecewisePolynomial",
    "PreferenceError",
    "ProbabilityAtLeast",
    "Product",
    "ProfileError",
    "Question",
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
    "Smooth",
    "SmoothFunction",
    "SmoothNetwork",
    "Steps",
    "SufficeError",
    "Sufficiency",
    "Surd",
    "Table",
    "Term",
    "UnsettledError",
    "Within",
    "from_model",
    "load",
]
__version__ = "0.1.0"

_MODULES = {
    "suffice.adapters": (
        "Layout",
        "from_model",
    ),
    "suffice.answers": (
        "Contrast",
        "Count",
        "Counterfactual",
        "Curve",
        "Explanation",
        "Explanations",
        "Inflated",
        "LargestRadius",
        "Limit",
        "Range",
        "Relevance",
        "Status",
        "Step",
        "Sufficiency",
    ),
    "suffice.certificate.document": ("Certificate",),
    "suffice.errors": (
        "ActionError",
        "AdapterError",
        "AssertionFileError",
        "BoxError",
        "BudgetError",
        "CardError",
        "CellBudgetError",
        "CertificateError",
        "ClaimError",
        "DataError",
        "FeatureNameError",
        "ModelError",
        "ModelFileError",
        "NumberError",
        "OptionError",
        "PieceBudgetError",
        "PreferenceError",
        "ProfileError",
        "RadiusError",
        "RowError",
        "ShapeError",
        "SufficeError",
        "UnsettledError",
    ),
    "suffice.explainer": ("Explainer",),
    "suffice.model.additive": (
        "AdditiveModel",
        "Feature",
    ),
    "suffice.model.domain": ("Domain",),
    "suffice.model.term": ("Term",),
    "suffice.numbers.enclosure": ("Enclosure",),
    "suffice.numbers.surd": ("Surd",),
    "suffice.numbers.values": ("MISSING",),
    "suffice.question.claims": (
        "AtLeast",
        "AtMost",
        "Beats",
        "ProbabilityAtLeast",
        "Same",
        "Within",
    ),
    "suffice.question.question": (
        "Options",
        "Question",
    ),
    "suffice.shapes": (
        "Activation",
        "Bins",
        "Composed",
        "Curves",
        "Enclosed",
        "PairLinear",
        "PairPieces",
        "PairShape",
        "PairSteps",
        "Pieces",
        "PiecewiseLinear",
        "PiecewisePolynomial",
        "Product",
        "Readout",
        "ReluNetwork",
        "Shape",
        "Smooth",
        "SmoothFunction",
        "SmoothNetwork",
        "Steps",
        "Table",
    ),
}

_PLACES = {name: (module, name) for module, names in _MODULES.items() for name in names}
_PLACES["load"] = ("suffice.model.reading", "load_model")


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _PLACES[name]
    found = globals()[name] = getattr(import_module(module), original)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
