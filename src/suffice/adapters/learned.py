"""What reference rows tell of features: how much they vary, and what they can be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import fmpq

from suffice.model.additive import AdditiveModel
from suffice.model.domain import Domain
from suffice.numbers.exact import nearest_float
from suffice.question.row import Row


def deviations(model: AdditiveModel, rows: Sequence[Row]) -> dict[str, float]:
    """Return the standard deviation of each feature over the rows that hold a number of its spans."""
    found = {}
    for name, domain, column in zip(model.names, model.domains, zip(*rows, strict=True), strict=True):
        numbers = [nearest_float(v) for v in column if isinstance(v, fmpq) and any(s.holds(v) for s in domain.spans)]
        if numbers:
            found[name] = float(np.std(numbers))
    return found


def learned_domains(model: AdditiveModel, rows: Sequence[Row]) -> dict[str, Domain]:
    """Return what the features that can be any number are in some rows; categories stay as they are."""
    found = {}
    for name, domain, column in zip(model.names, model.domains, zip(*rows, strict=True), strict=True):
        numbers = [value for value in column if isinstance(value, fmpq) and value not in domain.codes_]
        if not domain.spans or not numbers:
            continue
        span = Domain.integers if all(value.q == 1 for value in numbers) else Domain.interval
        learned = span(min(numbers), max(numbers))
        codes = [code for code in domain.codes_ if code in column]
        found[name] = learned | Domain.codes(*codes) if codes else learned
    return found
