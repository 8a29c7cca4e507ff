"""The published system, runnable: verifiers behind one interface, and the algorithms of the paper on top of them.

Bassan et al., *Provably Explaining Neural Additive Models* (ICLR 2026). `docs/paper.md` ties each function to its place
there, and says where the printed form cannot be followed. To explain a model, use `suffice.Explainer`: it needs no
verifier, and is far faster. This package is for reproducing and comparing.
"""

from suffice.errors import VerifierError
from suffice.paper.cardinal import cardinally_minimal, interval_search, linear_search, logarithmic_search
from suffice.paper.greedy import by_sensitivity, greedy_subset_minimal, lexicographic
from suffice.paper.instance import Component, Instance, Part, Problem, Query
from suffice.paper.run import Minimality, Result, Run, Step
from suffice.paper.sorting import Interval, Sorting, parallel_interval_sorting
from suffice.paper.verifiers import (
    Answer,
    BisectionVerifier,
    Disagreement,
    ExactVerifier,
    GridSampling,
    JointSampling,
    Parallel,
    Trust,
    Verdict,
    Verifier,
    disagreements,
)

__all__ = [
    "Answer",
    "BisectionVerifier",
    "Component",
    "Disagreement",
    "ExactVerifier",
    "GridSampling",
    "Instance",
    "Interval",
    "JointSampling",
    "Minimality",
    "Parallel",
    "Part",
    "Problem",
    "Query",
    "Result",
    "Run",
    "Sorting",
    "Step",
    "Trust",
    "Verdict",
    "Verifier",
    "VerifierError",
    "by_sensitivity",
    "cardinally_minimal",
    "disagreements",
    "greedy_subset_minimal",
    "interval_search",
    "lexicographic",
    "linear_search",
    "logarithmic_search",
    "parallel_interval_sorting",
]
