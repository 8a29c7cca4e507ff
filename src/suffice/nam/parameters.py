"""Checks of the estimators' parameters: a sentence for each that cannot be, before anything is read or fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.errors import DataError
from suffice.gam.wanted import is_whole


def check_parameters(nam: Any) -> None:
    """Raise an error that names the first parameter of an estimator that cannot be used, and why.

    What names columns (`pairs`, `monotone`, `special_codes`) is checked once the table is read.
    """
    if nam.first_layer not in ("relu", "exu"):
        raise DataError(f"first_layer must be 'relu' or 'exu', got {nam.first_layer!r}")
    if nam.basis not in ("separate", "shared"):
        raise DataError(f"basis must be 'separate' or 'shared', got {nam.basis!r}")
    layers = nam.hidden_layers
    if not isinstance(layers, (Sequence, np.ndarray)) or not len(layers) or not all(is_whole(u, 1) for u in layers):
        raise DataError(f"hidden_layers must list one or more numbers of units, got {layers!r}")
    for name in ("n_bases", "n_members", "max_epochs"):
        if not is_whole(getattr(nam, name), 1):
            raise DataError(f"{name} must be a whole number from 1 up, got {getattr(nam, name)!r}")
    if nam.feature_budget is not None and not is_whole(nam.feature_budget, 1):
        raise DataError(f"feature_budget must be None or a whole number from 1 up, got {nam.feature_budget!r}")
    if nam.batch_size != "auto" and not is_whole(nam.batch_size, 1):
        raise DataError(f"batch_size must be 'auto' or a whole number from 1 up, got {nam.batch_size!r}")
    for name in ("dropout", "feature_dropout", "validation_fraction"):
        if not _is_from_to(getattr(nam, name), 0, 1):
            raise DataError(f"{name} must be at least 0 and below 1, got {getattr(nam, name)!r}")
    for name in ("learning_rate", "weight_decay", "output_penalty", "explanation_weight", "patience"):
        if not _is_from_to(getattr(nam, name), 0, np.inf):
            raise DataError(f"{name} must be a finite number from 0 up, got {getattr(nam, name)!r}")
    radius = nam.explanation_radius
    if radius is not None and not _is_from_to(radius, 0, np.inf):
        raise DataError(f"explanation_radius must be None or a finite number from 0 up, got {radius!r}")
    if nam.explanation_weight and radius is None:
        raise DataError("explanation_weight needs an explanation_radius, in standard deviations")


def _is_from_to(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number from `low` up and below `high`."""
    return isinstance(value, (int, float, np.number)) and bool(low <= value < high)
