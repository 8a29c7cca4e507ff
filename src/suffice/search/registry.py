"""All searches by name."""

from collections.abc import Mapping
from typing import Any

from suffice.search.asking import Search
from suffice.search.contrast import contrast
from suffice.search.counterfactual import counterfactual
from suffice.search.curve import curve
from suffice.search.explain import explain
from suffice.search.explanations import explanations
from suffice.search.inflate import inflate
from suffice.search.radius import radius
from suffice.search.relevance import relevance
from suffice.search.sufficiency import sufficiency

SEARCHES: Mapping[str, Search[..., Any]] = {
    one.name: one
    for one in (
        explain,
        sufficiency,
        contrast,
        counterfactual,
        relevance,
        explanations,
        radius,
        curve,
        inflate,
    )
}
