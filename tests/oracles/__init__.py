"""Slow implementations too plain to be wrong, each written once.

They share no code with the library: `Fraction`, loops and trying everything. What they take from the library's objects
are numbers and names, never a decision.
"""

from oracles.finite import CLASSES, Finite, Wishes, cannot_be_free
from oracles.functions import Plain, breaks_at, enough, infimum_by_sampling, part_of
from oracles.networks import ACTIVATIONS, CORNERS, PlainNetwork, exact, push
from oracles.sets import fraction, least_cost, plain, smallest_size, subsets, sufficient, sufficient_for_all

__all__ = [
    "ACTIVATIONS",
    "CLASSES",
    "CORNERS",
    "Finite",
    "Plain",
    "PlainNetwork",
    "Wishes",
    "breaks_at",
    "cannot_be_free",
    "enough",
    "exact",
    "fraction",
    "infimum_by_sampling",
    "least_cost",
    "part_of",
    "plain",
    "push",
    "smallest_size",
    "subsets",
    "sufficient",
    "sufficient_for_all",
]
