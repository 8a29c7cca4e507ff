"""Verifiers behind one interface. Those that need another package are in modules of their own.

`suffice.paper.verifiers.marabou`, `.lirpa` and `.vnnlib` import what they need when a verifier is made.
"""

from suffice.paper.verifiers.bisection import BisectionVerifier, enclose_minimum
from suffice.paper.verifiers.exact import ExactVerifier
from suffice.paper.verifiers.interface import (
    Answer,
    Disagreement,
    Parallel,
    Reply,
    Trust,
    Verdict,
    Verifier,
    disagreements,
)
from suffice.paper.verifiers.sampling import GridSampling, JointSampling

__all__ = [
    "Answer",
    "BisectionVerifier",
    "Disagreement",
    "ExactVerifier",
    "GridSampling",
    "JointSampling",
    "Parallel",
    "Reply",
    "Trust",
    "Verdict",
    "Verifier",
    "disagreements",
    "enclose_minimum",
]
