"""What the library answers: values that say what is proven, and how it is said."""

from suffice.answers.answer import Answer, Status
from suffice.answers.contested import Contested
from suffice.answers.contrast import Contrast, Counterfactual
from suffice.answers.explanation import Counterexample, Explanation
from suffice.answers.explanations import Explanations, Listing
from suffice.answers.inflated import Inflated, Range
from suffice.answers.radius import Curve, LargestRadius, Limit, Step
from suffice.answers.relevance import Relevance
from suffice.answers.sufficiency import Sufficiency
from suffice.solvers.enumeration import Count

__all__ = [
    "Answer",
    "Contested",
    "Contrast",
    "Count",
    "Counterexample",
    "Counterfactual",
    "Curve",
    "Explanation",
    "Explanations",
    "Inflated",
    "LargestRadius",
    "Limit",
    "Listing",
    "Range",
    "Relevance",
    "Status",
    "Step",
    "Sufficiency",
]
