"""`GAMClassifier` and `GAMRegressor`: generalized additive models in the style of scikit-learn."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from suffice.gam.base import BaseAdditive
from suffice.gam.convert import Parts, exact_rows, line_of, surfaces_of
from suffice.gam.fitting import Freely, finish, fit_freely
from suffice.gam.hats import Floats, Places
from suffice.gam.solving import Data
from suffice.gam.tasks import AdditiveClassifier, AdditiveRegressor


class BaseGAM(BaseAdditive):
    """A generalized additive model for some task; see `GAMClassifier` for the parameters."""

    _freely: Freely  # while it is fitted

    def __init__(
        self,
        *,
        pairs: int | str | Sequence[tuple[str, str]] = "auto",
        feature_budget: int | None = None,
        monotone: Mapping[str, int] | None = None,
        special_codes: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        explanation_radius: float | None = None,
        explanation_weight: float = 0.0,
    ) -> None:
        self.pairs = pairs
        self.feature_budget = feature_budget
        self.monotone = monotone
        self.special_codes = special_codes
        self.explanation_radius = explanation_radius
        self.explanation_weight = explanation_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803, D102  (inherited)
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_freely", None)  # it holds the rows

    fit.__doc__ = BaseAdditive.fit.__doc__

    def by_weight(self, X: Any, y: Any) -> Callable[[float], Self]:  # noqa: N803
        """Return a function that fits copies to a table with any explanation weight; what it has no part in, once."""
        self._check_parameters()
        if getattr(self, "calibrated", False):  # what scores are multiplied by depends on it
            return super().by_weight(X, y)
        first: Self = clone(self).set_params(explanation_weight=0.0)
        BaseAdditive.fit(first, X, y)
        return first._refitted

    def _refitted(self, weight: float) -> Self:
        """Return a copy with another explanation weight, from what the rows ask for."""
        model = copy.copy(self)
        model.explanation_weight = weight
        model._check_parameters()
        model.explanation_width_ = model._finish()
        del model._freely
        return model

    def _train(self, numbers: Floats, slots: Places, target: NDArray[Any], weights: Floats) -> float:
        start = time.perf_counter()
        taught = np.flatnonzero(weights)  # a row without weight teaches nothing, not even where a line has its knots
        targets, counted = target[taught].astype(np.float64), _as_rows(weights[taught])
        scores = np.zeros((len(taught), self._outputs))
        with threadpool_limits(1):  # with more threads, sums come out otherwise in their last digits
            self._freely = fit_freely(
                Data(numbers[taught], slots[taught], targets, counted, scores),
                self._curve(),
                [column.slots for column in self.columns_],
                self._wanted_pairs(),
                np.array(self._pairable(), dtype=np.int64),
            )
        width = self._finish()
        self.fit_seconds_ = time.perf_counter() - start
        return width

    def _finish(self) -> float:
        """Learn the terms from what the rows ask for; return their width."""
        with threadpool_limits(1):
            self.intercept_, self.terms_, width = finish(self._freely, self._wishes())
        self.pairs_ = self._pair_names(self.terms_)
        return float("nan") if self.explanation_radius is None else width

    def _sums(self, numbers: Floats, slots: Places) -> Floats:
        return self.intercept_ + self.terms_.scores(numbers, slots)

    def _parts(self) -> Parts:
        lines = zip(self.columns_, self.terms_.hats, self.terms_.values, strict=True)
        shapes = [line_of(column, hats, exact_rows(values)) for column, hats, values in lines]
        return Parts(shapes, surfaces_of(self.columns_, self.terms_), [Fraction(x) for x in self.intercept_.tolist()])


def _as_rows(weights: Floats) -> Floats:
    """Return weights that add up to the number of rows of equal weight that tell as much: few heavy ones, little."""
    return np.asarray(weights * (weights.sum() / np.sum(weights**2)))


class GAMClassifier(AdditiveClassifier, BaseGAM):
    """Generalized additive model for two or more classes: a sum of broken lines over the columns, and of surfaces.

    How smooth each line and each surface is, the rows decide. Chance has no part in it: the same rows, in the same
    order, give the same model.

    Parameters
    ----------
    pairs : int, "auto" or list of pairs of column names
        How many terms over two columns are added at most, or over which ones; "auto" adds those that make the rows
        clearly more probable, up to one for each column. What such a term says of one column alone is moved to that
        column's shape.
    feature_budget : int, optional
        How many columns the model may use at most: those are chosen that together leave the smallest loss on parts of
        the training rows that are held back in turn. The others stay in the table, and have a shape of 0.
    monotone : mapping of column name to 1 or -1
        Columns whose shapes never fall (1) or never rise (-1) from one number to a larger one; special codes and
        missing cells are free.
    special_codes : sequence of numbers, or mapping by column name
        Codes that are not measurements (-9 for "no record"); each gets a value of its own.
    class_weight : mapping, "balanced" or None
        Weights of the classes.
    calibrated : bool
        Whether the probabilities are calibrated: scores become a rising straight line of themselves, found on scores of
        rows that copies were not fitted to, where that brings probabilities closer to what happened. It takes five more
        fits.
    explanation_radius, explanation_weight : float
        Fit for short explanations: the radius that they will have (in standard deviations), and how much it counts, 0
        by default, how far shapes move within it; `choose_explanation_weight` finds a weight.

    Attributes
    ----------
    classes_ : array
        The classes; of two, the second is the positive one.
    features_ : tuple of str
        The columns that the model uses: all, or those chosen for a `feature_budget`.
    pairs_ : tuple of pairs of names
        The columns that have a term together, the strongest first.
    intercept_ : array
        What is added to the terms, for each output: one for two classes, otherwise one for each class.
    terms_ : Terms
        The lines and surfaces, by the values at their knots.
    scale_, center_ : float, array
        What scores were multiplied by, and what was then added to each, to calibrate them; 1 and 0 without.
    is_calibrated_ : bool
        Whether a calibration was asked for and helps.
    explanation_width_ : float
        How far lines and surfaces go up and down within the radius around a row, added up over columns and outputs and
        averaged over rows, up to 512 of which stand for all (of a regression, in standard deviations of the target).
        NaN without a radius.
    fit_seconds_ : float
        How long fitting lines and surfaces took.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 80).reshape(-1, 1)
    >>> y = np.where(np.abs(X[:, 0]) < 0.5, "in", "out")
    >>> gam = GAMClassifier().fit(X, y)
    >>> gam.predict([[0.0], [0.9]]).tolist()
    ['in', 'out']
    """

    def __init__(
        self,
        *,
        pairs: int | str | Sequence[tuple[str, str]] = "auto",
        feature_budget: int | None = None,
        monotone: Mapping[str, int] | None = None,
        special_codes: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        calibrated: bool = False,
        explanation_radius: float | None = None,
        explanation_weight: float = 0.0,
    ) -> None:
        super().__init__(
            pairs=pairs,
            feature_budget=feature_budget,
            monotone=monotone,
            special_codes=special_codes,
            explanation_radius=explanation_radius,
            explanation_weight=explanation_weight,
        )
        self.class_weight, self.calibrated = class_weight, calibrated


class GAMRegressor(AdditiveRegressor, BaseGAM):
    """Generalized additive model for a number: a sum of broken lines over the columns, and of surfaces.

    Parameters and attributes are those of `GAMClassifier`, but for `class_weight`, `calibrated` and what comes of them.
    `scale_` and `center_` are the standard deviation and the mean of the target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 100).reshape(-1, 1)
    >>> gam = GAMRegressor().fit(X, 3 * np.abs(X[:, 0]))
    >>> bool(abs(gam.predict([[0.5]])[0] - 1.5) < 0.1)
    True
    """
