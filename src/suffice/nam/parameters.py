"""Checks of the parameters that only networks have: a sentence for each that cannot be, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suffice.errors import DataError
from suffice.gam.parameters import check_from_zero, check_seed, check_truth, is_from_to
from suffice.gam.wanted import is_whole
from suffice.numbers.exact import brief


def check_network_parameters(nam: Any) -> None:
    """Raise an error that names the first parameter of an estimator's networks that cannot be used, and why."""
    for name, one, other in (("first_layer", "relu", "exu"), ("basis", "separate", "shared")):
        given = getattr(nam, name)
        if not isinstance(given, str) or given not in (one, other):
            raise DataError(f"{name} must be {one!r} or {other!r}, got {brief(given)}")
    layers = nam.hidden_layers
    if not isinstance(layers, (Sequence, np.ndarray)) or not len(layers) or not all(is_whole(u, 1) for u in layers):
        raise DataError(f"hidden_layers must list one or more numbers of units, got {brief(layers)}")
    for name in ("n_bases", "n_members", "max_epochs"):
        if not is_whole(getattr(nam, name), 1):
            raise DataError(f"{name} must be a whole number from 1 up, got {brief(getattr(nam, name))}")
    batch = nam.batch_size
    if not (isinstance(batch, str) and batch == "auto") and not is_whole(batch, 1):
        raise DataError(f"batch_size must be 'auto' or a whole number from 1 up, got {brief(batch)}")
    for name in ("dropout", "feature_dropout", "validation_fraction"):
        if not is_from_to(getattr(nam, name), 0, 1):
            raise DataError(f"{name} must be at least 0 and below 1, got {brief(getattr(nam, name))}")
    for name in ("learning_rate", "weight_decay", "output_penalty", "patience"):
        check_from_zero(nam, name)
    check_truth(nam, "corrections")
    if not is_whole(nam.verbose, 0):  # as others count it
        check_truth(nam, "verbose")
    check_seed(nam.random_state)
