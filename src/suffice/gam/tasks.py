"""What models of classes and models of numbers do in their own way: reading the target, the loss, predicting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from suffice.errors import DataError
from suffice.gam.base import BaseAdditive
from suffice.gam.calibrating import calibrate
from suffice.gam.columns import mean_and_deviation
from suffice.gam.curves import logistic_curve, softmax_curve, squared_curve
from suffice.gam.hats import Floats
from suffice.gam.solving import Curve
from suffice.model.domain import is_missing


class AdditiveClassifier(ClassifierMixin, BaseAdditive):  # type: ignore[misc]
    """An additive model for two or more classes."""

    class_weight: Mapping[Any, float] | str | None
    calibrated: bool

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _read_target(self, y: Any) -> NDArray[Any]:
        y = _one_column(y)
        if any(is_missing(cell) for cell in y.tolist()):
            raise DataError("Input y contains NaN; drop the rows without a target")
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise DataError("Input y contains infinity; a class is text or a finite number")
        try:
            check_classification_targets(y)
        except ValueError as error:
            raise DataError(str(error)) from None
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(f"the target y has one class only ({self.classes_[0]}); a classifier needs two or more")
        return np.asarray(codes, dtype=np.int64)

    def _scale_target(self, target: NDArray[Any], weights: Floats) -> NDArray[Any]:
        self.scale_, self.center_ = 1.0, np.zeros(self._outputs)
        return target

    def _row_weights(self, target: NDArray[Any], weights: Floats) -> Floats:
        if self.class_weight is None:
            return weights
        names = self.classes_.tolist()
        try:
            if isinstance(self.class_weight, Mapping):
                unknown = [name for name in self.class_weight if name not in names]
                if unknown:
                    raise DataError(f"class_weight names the class {unknown[0]!r}, which the target does not have")
                each = np.array([self.class_weight.get(name, 1.0) for name in names], dtype=np.float64)
            else:
                each = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[target])
        except (OverflowError, TypeError, ValueError) as error:
            raise DataError(f"class_weight: {error}") from None
        if not (np.isfinite(each).all() and (each >= 0).all()):
            raise DataError(f"class_weight must hold finite numbers from 0 up, got {self.class_weight!r}")
        # Times a power of two, which changes nothing: the sum of weights shall be a number.
        return np.asarray(weights * np.ldexp(each, -np.frexp(each.max())[1])[target])

    def _curve(self) -> Curve:
        return logistic_curve if len(self.classes_) == 2 else softmax_curve

    def _calibrate(self, X: Any, target: NDArray[Any], counts: Floats) -> float:  # noqa: N803
        found = calibrate(self, X, target, counts, self._curve()) if self.calibrated else None
        self.is_calibrated_ = found is not None
        if found is not None:
            self.scale_, self.center_ = found
        return self.scale_

    def decision_function(self, X: Any) -> Floats:  # noqa: N803
        """Return scores: log-odds of the positive class, or one score for each of several classes."""
        check_is_fitted(self)
        scores = self._score(self._read_table(X, is_new=False))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> Floats:  # noqa: N803
        """Return the probability of each class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            positive = expit(scores)
            return np.stack([1 - positive, positive], 1)
        return np.asarray(softmax(scores, axis=1))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the class of each row; a score of exactly 0 goes to the positive class."""
        return self._decide(self.decision_function(X))

    def predict_cells(self, cells: Sequence[Any]) -> Any:
        """Return the class of one row in float arithmetic, to compare with the exact one; None on overflow."""
        try:
            scores = self._score(self._read_cells(cells))
        except DataError:
            return None
        if not np.isfinite(scores).all():
            return None
        return self._decide(scores[:, 0] if len(self.classes_) == 2 else scores)[0]

    def _decide(self, scores: Floats) -> NDArray[Any]:
        chosen = (scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(1)
        return np.asarray(self.classes_[chosen])


class AdditiveRegressor(RegressorMixin, BaseAdditive):  # type: ignore[misc]
    """An additive model for a number."""

    @property
    def _outputs(self) -> int:
        return 1

    def _read_target(self, y: Any) -> NDArray[Any]:
        values = _one_column(y)
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            other = type(self).__name__.replace("Regressor", "Classifier")
            raise DataError(f"the target y must hold numbers; use {other} for classes") from None
        except OverflowError:
            raise DataError("the target y holds a number larger than any float; rescale it first") from None
        if not np.isfinite(values).all():
            what = "NaN" if np.isnan(values).any() else "infinity"
            raise DataError(f"Input y contains {what}; drop the rows without a target")
        return np.asarray(values)

    def _scale_target(self, target: NDArray[Any], weights: Floats) -> NDArray[Any]:
        self.center_, spread = mean_and_deviation(target, weights)
        if not np.isfinite([self.center_, spread]).all():
            raise DataError("the target y holds numbers too large to standardise; rescale it first")
        self.scale_ = spread if spread > 0 else 1.0
        return np.asarray((target - self.center_) / self.scale_)

    def _curve(self) -> Curve:
        return squared_curve

    def predict(self, X: Any) -> Floats:  # noqa: N803
        """Return the prediction for each row."""
        check_is_fitted(self)
        return self._score(self._read_table(X, is_new=False))[:, 0]


def _one_column(y: Any) -> NDArray[Any]:
    try:
        return np.asarray(column_or_1d(y, warn=True))
    except (TypeError, ValueError) as error:
        raise DataError(f"target: {error}") from None
