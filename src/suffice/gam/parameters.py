"""Checks of the parameters that all estimators have: a sentence for each that cannot be, before anything is read."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from suffice.errors import DataError
from suffice.gam.wanted import is_whole
from suffice.numbers.exact import brief


def check_parameters(model: Any) -> None:
    """Raise an error that names the first parameter of an estimator that cannot be used, and why.

    What names columns (`pairs`, `monotone`, `special_codes`) is checked once the table is read.
    """
    if model.feature_budget is not None and not is_whole(model.feature_budget, 1):
        raise DataError(f"feature_budget must be None or a whole number from 1 up, got {brief(model.feature_budget)}")
    if hasattr(model, "calibrated"):
        check_truth(model, "calibrated")
    check_from_zero(model, "explanation_weight")
    radius = model.explanation_radius
    if radius is not None and not is_from_to(radius, 0, np.inf):
        raise DataError(f"explanation_radius must be None or a finite number from 0 up, got {brief(radius)}")
    if model.explanation_weight and radius is None:
        raise DataError("explanation_weight needs an explanation_radius, in standard deviations")


def check_from_zero(model: Any, name: str) -> None:
    """Raise an error if a parameter is not a finite number from 0 up."""
    if not is_from_to(getattr(model, name), 0, np.inf):
        raise DataError(f"{name} must be a finite number from 0 up, got {brief(getattr(model, name))}")


def check_truth(model: Any, name: str) -> None:
    """Raise an error if a parameter is neither True nor False."""
    if not isinstance(getattr(model, name), (bool, np.bool_)):
        raise DataError(f"{name} must be True or False, got {brief(getattr(model, name))}")


def check_seed(value: Any) -> None:
    """Raise an error if random numbers cannot be drawn by what is given as `random_state`."""
    try:
        check_random_state(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"random_state: {error}") from None


def is_from_to(value: Any, low: float, high: float) -> bool:
    """Whether a value is a number from `low` up and below `high`, and one that a float can hold."""
    try:
        return isinstance(value, (int, float, np.integer, np.floating)) and low <= float(value) < high
    except OverflowError:  # a whole number
        return False
