"""Checks of the parameters that only networks have: a sentence for each that cannot be, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from suffice.errors import DataError
from suffice.gam.parameters import check_from_zero, is_from_to
from suffice.gam.wanted import is_whole


def check_network_parameters(nam: Any) -> None:
    """Raise an error that names the first parameter of an estimator's networks that cannot be used, and why."""
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
    if nam.batch_size != "auto" and not is_whole(nam.batch_size, 1):
        raise DataError(f"batch_size must be 'auto' or a whole number from 1 up, got {nam.batch_size!r}")
    for name in ("dropout", "feature_dropout", "validation_fraction"):
        if not is_from_to(getattr(nam, name), 0, 1):
            raise DataError(f"{name} must be at least 0 and below 1, got {getattr(nam, name)!r}")
    for name in ("learning_rate", "weight_decay", "output_penalty", "patience"):
        check_from_zero(nam, name)
    try:
        check_random_state(nam.random_state)
    except ValueError as error:
        raise DataError(f"random_state: {error}") from None
