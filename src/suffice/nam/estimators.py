"""`NAMClassifier` and `NAMRegressor`: neural additive models in the style of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.nn import functional

from suffice.gam.hats import Floats
from suffice.gam.tasks import AdditiveClassifier, AdditiveRegressor
from suffice.nam.base import BaseNAM
from suffice.nam.training import Loss


class NAMClassifier(AdditiveClassifier, BaseNAM):
    """Neural additive model for two or more classes.

    Parameters
    ----------
    hidden_layers : sequence of int
        Units of each hidden layer of the networks; every column of numbers has one.
    first_layer : {"relu", "exu"}
        Ordinary units, or the exponential units of Agarwal et al. for shapes with sharp jumps.
    basis : {"separate", "shared"}
        A network for each feature, or one network whose `n_bases` outputs each feature mixes in its own way (NBM).
    n_bases : int
        Outputs of the shared network.
    n_members : int
        Size of the ensemble; its mean score is additive again.
    dropout, feature_dropout, output_penalty, weight_decay : float
        Regularisation of Agarwal et al.: units, whole features, squared outputs, weights.
    learning_rate : float
        Largest learning rate; it rises over the first 5 % of the steps and falls to 0 along a cosine.
    batch_size : int or "auto"
        Rows in each step.
    max_epochs, patience : int
        Maximum number of epochs, and how many without a better validation loss end the training.
    validation_fraction : float
        Share of the rows kept for early stopping; 0 trains on all.
    explanation_radius, explanation_weight : float
        Train for short explanations: penalise how far shapes can move within a radius (in standard deviations).
    corrections : bool
        Whether broken lines are added to the shapes once the networks are trained, where the validation rows are better
        off with them. They have a knot at every value that many rows share, and can follow what is too sharp for a
        network.
    pairs : int, "auto" or list of pairs of column names
        How many terms over two columns are added at most, or over which ones; "auto" adds as few as rows not fitted to
        are as well off with as with more, up to one for each column. What such a term says of one column alone is moved
        to that column's shape.
    feature_budget : int, optional
        How many columns the model may use at most: those are chosen that together leave the smallest loss on parts of
        the training rows that are held back in turn. The others stay in the table, and have a shape of 0.
    monotone : mapping of column name to 1 or -1
        Columns whose shapes never fall (1) or never rise (-1) from one number to a larger one. Such a shape is a broken
        line; special codes and missing cells are free.
    special_codes : sequence of numbers, or mapping by column name
        Codes that are not measurements (-9 for "no record"); each gets a learned value of its own.
    class_weight : mapping, "balanced" or None
        Weights of the classes.
    calibrated : bool
        Whether the probabilities are calibrated: scores become a rising straight line of themselves, found on scores of
        rows that copies were not fitted to, where that brings probabilities closer to what happened. It takes five more
        fits.
    random_state : int, optional
        Same state, same data, same machine: same model.
    verbose : bool
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : array
        The classes; of two, the second is the positive one.
    fit_seconds_ : float
        Training time.
    validation_curve_ : tuple of float
        Validation loss after each epoch; training loss where there were too few rows to hold any back.
    has_validation_ : bool
        Whether rows were held back.
    scale_, center_ : float, array
        What scores were multiplied by, and what was then added to each, to calibrate them; 1 and 0 without.
    is_calibrated_ : bool
        Whether a calibration was asked for and helps.
    features_ : tuple of str
        The columns that the model uses: all, or those chosen for a `feature_budget`.
    pairs_ : tuple of pairs of names
        The columns that have a term together, the strongest first.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 80).reshape(-1, 1)
    >>> y = np.where(np.abs(X[:, 0]) < 0.5, "in", "out")
    >>> nam = NAMClassifier((16,), max_epochs=60, random_state=0).fit(X, y)
    >>> nam.predict([[0.0], [0.9]]).tolist()
    ['in', 'out']
    """

    def __init__(
        self,
        hidden_layers: Sequence[int] = (64, 32),
        *,
        first_layer: str = "relu",
        basis: str = "separate",
        n_bases: int = 100,
        n_members: int = 1,
        dropout: float = 0.0,
        feature_dropout: float = 0.1,
        output_penalty: float = 0.01,
        weight_decay: float = 1.0,
        learning_rate: float = 0.002,
        batch_size: int | str = "auto",
        max_epochs: int = 60,
        patience: int = 10,
        validation_fraction: float = 0.15,
        explanation_radius: float | None = None,
        explanation_weight: float = 0.0,
        corrections: bool = True,
        pairs: int | str | Sequence[tuple[str, str]] = 0,
        feature_budget: int | None = None,
        monotone: Mapping[str, int] | None = None,
        special_codes: Mapping[str, Sequence[float]] | Sequence[float] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        calibrated: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            hidden_layers,
            first_layer=first_layer,
            basis=basis,
            n_bases=n_bases,
            n_members=n_members,
            dropout=dropout,
            feature_dropout=feature_dropout,
            output_penalty=output_penalty,
            weight_decay=weight_decay,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_epochs=max_epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            explanation_radius=explanation_radius,
            explanation_weight=explanation_weight,
            corrections=corrections,
            pairs=pairs,
            feature_budget=feature_budget,
            monotone=monotone,
            special_codes=special_codes,
            random_state=random_state,
            verbose=verbose,
        )
        self.class_weight, self.calibrated = class_weight, calibrated

    def _loss(self) -> Loss:
        if len(self.classes_) == 2:
            return lambda scores, y: functional.binary_cross_entropy_with_logits(
                scores[:, 0], y.float(), reduction="none"
            )
        return lambda scores, y: functional.cross_entropy(scores, y, reduction="none")


class NAMRegressor(AdditiveRegressor, BaseNAM):
    """Neural additive model for a number.

    Parameters and attributes are those of `NAMClassifier`, but for `class_weight` and `calibrated`, with other
    defaults where a regression needs them: no regularisation, a higher learning rate, more steps an epoch. `scale_` and
    `center_` are the standard deviation and the mean of the target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 100).reshape(-1, 1)
    >>> nam = NAMRegressor((16,), max_epochs=100, random_state=0).fit(X, 3 * np.abs(X[:, 0]))
    >>> bool(abs(nam.predict([[0.5]])[0] - 1.5) < 0.3)
    True
    """

    def _scale_target(self, target: NDArray[Any], weights: Floats) -> NDArray[Any]:
        return super()._scale_target(target, weights).astype(np.float32)  # as networks compute

    def _loss(self) -> Loss:
        return lambda scores, y: (scores[:, 0] - y).square()
